// One render: limits, memory, scopes, text being built. Every function that can fail leaves its sentence in
// r->err and returns its status; the whole render then ends, so nobody cleans up on the way.
#ifndef CEL_TEXT_TEMPLATE_TMPL_RENDER_H
#define CEL_TEXT_TEMPLATE_TMPL_RENDER_H

#include "base/arena.h"
#include "text/template/template.h"
#include "text/template/tmpl_node.h"
#include "text/template/tmpl_value.h"

enum { CEL_T_DATA_DEPTH = 500 };  // of nested lists and dicts, for whoever walks them

// Text that grows; freed at the end of the render at the latest.
typedef struct cel_ttext {
  cel_buf b;
  struct cel_ttext *below;  // where output went before, or the next free one
} cel_ttext;

typedef struct cel_tvar {
  uint32_t name;
  cel_tval value;
} cel_tvar;

typedef struct cel_tframe {
  struct cel_tframe *outer;  // where names are looked up next
  cel_tvar *vars;
  int n, cap;
  bool kept;  // a macro refers to it: it must not be reused
} cel_tframe;

typedef enum cel_tflow { CEL_FLOW_ON, CEL_FLOW_BREAK, CEL_FLOW_CONTINUE } cel_tflow;

typedef struct cel_trender {
  const cel_template *t;
  cel_template_limits limits;
  cel_arena arena;
  cel_err *err;
  cel_status failed;    // of an allocation that found no memory or no room
  const cel_tnode *at;  // for messages
  int64_t steps, memory;
  int depth;
  cel_ttext *out;   // top of the stack of texts
  cel_ttext *free_texts;
  cel_tframe *frame, *top;
  cel_tval *globals;  // [n_names]
  cel_tflow flow;
} cel_trender;

struct cel_tmacro {
  const cel_tnode_macro *node;
  cel_tframe *frame;  // where it was defined
};

struct cel_tloop {
  struct cel_twalk *walk;           // where the items come from
  int64_t length;                   // -1 while unknown
  const cel_tnode *node;            // the for statement
  int64_t index0, depth0;
  cel_tval current, before, after;  // MISSING when there is none; `after` was looked at in advance
  cel_tval changed;                 // the last arguments of loop.changed() as a tuple, or MISSING
  cel_tframe *frame;                // around the loop
};

// Arguments of a call, evaluated.
typedef struct cel_targs {
  cel_tval *pos;   // [n]
  cel_tpair *kw;   // [n_kw], the keys are strings
  int n, n_kw;
} cel_targs;

enum { CEL_T_MAX_PARAMS = 8 };

// ---- failing ----
cel_status cel_tfail(cel_trender *r, const char *fmt, ...) CEL_PRINTF(2, 3);           // CEL_MALFORMED
cel_status cel_tfail_limit(cel_trender *r, const char *fmt, ...) CEL_PRINTF(2, 3);     // CEL_TOO_LONG
cel_status cel_tfail_undefined(cel_trender *r, cel_tval undefined);                    // "... is undefined"
// Counts work: n is a number of bytes or items looked at.
CEL_MUST_CHECK cel_status cel_tcharge(cel_trender *r, int64_t n);
CEL_MUST_CHECK cel_status cel_tenter(cel_trender *r);  // one level deeper
static inline void cel_tleave(cel_trender *r) { r->depth--; }

// ---- memory ----
// NULL when there is none: return r->failed.
void *cel_talloc(cel_trender *r, int64_t n, size_t each);
#define CEL_TNEW(r, type, n) ((type *)cel_talloc((r), (n), sizeof(type)))
CEL_MUST_CHECK cel_status cel_tlist_new(cel_trender *r, int64_t n, cel_tlist **out);
CEL_MUST_CHECK cel_status cel_tcopy_str(cel_trender *r, cel_str s, cel_tval *out);
cel_status cel_tprintf_str(cel_trender *r, cel_tval *out, const char *fmt, ...) CEL_PRINTF(3, 4);
CEL_MUST_CHECK cel_status cel_tfrom_json(cel_trender *r, const cel_json *j, int depth, cel_tval *out);

// A growing list.
typedef struct cel_tgrow {
  cel_tval *at;
  int64_t n, cap;
} cel_tgrow;
CEL_MUST_CHECK cel_status cel_tgrow_add(cel_trender *r, cel_tgrow *g, cel_tval v);
CEL_MUST_CHECK cel_status cel_tgrow_list(cel_trender *r, const cel_tgrow *g, cel_tkind kind, cel_tval *out);
CEL_MUST_CHECK cel_status cel_titer_of(cel_trender *r, cel_tlist *list, cel_tval *out);  // a generator over it

// ---- dicts ----
CEL_MUST_CHECK cel_status cel_tdict_new(cel_trender *r, int64_t room, cel_tdict **out);
CEL_MUST_CHECK cel_status cel_tdict_set(cel_trender *r, cel_tdict *d, cel_tval key, cel_tval value);
// *out is MISSING when the key is absent; an unhashable key is an error.
CEL_MUST_CHECK cel_status cel_tdict_get(cel_trender *r, const cel_tdict *d, cel_tval key, cel_tval *out);
cel_tval cel_tdict_get_str(const cel_tdict *d, cel_str key);  // MISSING when absent
bool cel_thashable(cel_tval v);

// ---- text being built ----
CEL_MUST_CHECK cel_status cel_ttext_begin(cel_trender *r);            // output goes into a new text
CEL_MUST_CHECK cel_status cel_ttext_end(cel_trender *r, cel_tval *out);  // back, and the text as a string
CEL_MUST_CHECK cel_status cel_tput(cel_trender *r, const char *p, size_t n);
CEL_MUST_CHECK cel_status cel_tputz(cel_trender *r, const char *z);
CEL_MUST_CHECK cel_status cel_tput_str(cel_trender *r, cel_tval v);   // str(v)
CEL_MUST_CHECK cel_status cel_tput_repr(cel_trender *r, cel_tval v);  // repr(v)
struct cel_tjson_style;
CEL_MUST_CHECK cel_status cel_tput_json(cel_trender *r, cel_tval v, const struct cel_tjson_style *style);
CEL_MUST_CHECK cel_status cel_tstr_of(cel_trender *r, cel_tval v, cel_tval *out);  // str(v); v itself when a string
void cel_tfloat_repr(double x, char out[32]);

typedef struct cel_tjson_style {
  cel_str item, key;     // separators
  bool has_indent, ascii, sort;
  cel_str indent;        // one level
} cel_tjson_style;

// ---- what Python does with values ----
bool cel_ttruth(cel_trender *r, cel_tval v);
CEL_MUST_CHECK cel_status cel_tequal(cel_trender *r, cel_tval a, cel_tval b, bool *out);
// < 0, 0, > 0; an error where Python has no order.
CEL_MUST_CHECK cel_status cel_torder(cel_trender *r, cel_tval a, cel_tval b, const char *op, int *out);
CEL_MUST_CHECK cel_status cel_tcompare(cel_trender *r, cel_top op, cel_tval a, cel_tval b, bool *out);
CEL_MUST_CHECK cel_status cel_tbinary(cel_trender *r, cel_top op, cel_tval a, cel_tval b, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tnegate(cel_trender *r, cel_tval a, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tcontains(cel_trender *r, cel_tval container, cel_tval item, bool *out);
CEL_MUST_CHECK cel_status cel_tlength(cel_trender *r, cel_tval v, int64_t *out);
CEL_MUST_CHECK cel_status cel_tpercent(cel_trender *r, cel_str format, cel_tval args, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tformat(cel_trender *r, cel_str format, const cel_targs *args, cel_tval *out);
// Byte offset of the first `needle` at or after `from`, or -1.
CEL_MUST_CHECK cel_status cel_tfind(cel_trender *r, cel_str hay, cel_str needle, size_t from, int64_t *out);
CEL_MUST_CHECK cel_status cel_tsort(cel_trender *r, cel_tval *items, const cel_tval *keys, int64_t n, bool reverse);

// Walking anything iterable.
typedef struct cel_twalk {
  cel_tval v;
  int64_t i, byte;
} cel_twalk;
CEL_MUST_CHECK cel_status cel_twalk_begin(cel_trender *r, cel_tval v, cel_twalk *w);
CEL_MUST_CHECK cel_status cel_twalk_next(cel_trender *r, cel_twalk *w, cel_tval *out);  // MISSING at the end
bool cel_titerable(cel_tval v);
CEL_MUST_CHECK cel_status cel_tcollect(cel_trender *r, cel_tval v, cel_tlist **out);  // list(v)

CEL_MUST_CHECK cel_status cel_tget_attr(cel_trender *r, cel_tval v, cel_str name, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tget_item(cel_trender *r, cel_tval v, cel_tval key, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tget_slice(cel_trender *r, cel_tval v, const cel_tval part[3], cel_tval *out);
// "a.b.0" as the filters take it.
CEL_MUST_CHECK cel_status cel_tget_path(cel_trender *r, cel_tval v, cel_tval path, cel_tval otherwise, cel_tval *out);

// ---- calls ----
// What a builtin filter, test, method or function is given: its arguments as they came and sorted by parameter.
typedef struct cel_tcallee {
  cel_tval self;                   // subject of a filter or test, owner of a method
  const cel_targs *args;
  cel_tval arg[CEL_T_MAX_PARAMS];  // MISSING where not given
} cel_tcallee;
typedef cel_status (*cel_tbuiltin)(cel_trender *r, const cel_tcallee *c, cel_tval *out);

struct cel_tmethod_row {
  const char *name, *params;  // see cel_tbind; "*": whatever comes
  cel_tbuiltin call;
};
extern const struct cel_tmethod_row cel_tstr_methods[];  // ends with a NULL name
CEL_MUST_CHECK cel_status cel_tcall_row(cel_trender *r, const struct cel_tmethod_row *row, cel_tval self,
                                        const cel_targs *args, cel_tval *out);
// Arguments with a type: a MISSING one gives `otherwise`.
CEL_MUST_CHECK cel_status cel_targ_int(cel_trender *r, const cel_tcallee *c, int i, int64_t otherwise, int64_t *out);
CEL_MUST_CHECK cel_status cel_targ_str(cel_trender *r, const cel_tcallee *c, int i, const char *otherwise, cel_str *out);
bool cel_targ_true(cel_trender *r, const cel_tcallee *c, int i);

// Sorts arguments into `out` by a list of names: "a b? /c" ("?": optional, "/" in front: by position only).
CEL_MUST_CHECK cel_status cel_tbind(cel_trender *r, const char *what, const char *params, const cel_targs *args,
                                    cel_tval out[CEL_T_MAX_PARAMS]);
CEL_MUST_CHECK cel_status cel_tcall(cel_trender *r, cel_tval callee, const cel_targs *args, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tfilter(cel_trender *r, cel_str name, cel_tval v, const cel_targs *args, cel_tval *out);
CEL_MUST_CHECK cel_status cel_ttest(cel_trender *r, cel_str name, cel_tval v, const cel_targs *args, bool *out);
bool cel_tfilter_exists(cel_str name);
bool cel_ttest_exists(cel_str name);
cel_tval cel_tglobal(cel_str name);  // range, namespace ...; MISSING when there is none
// A method of a builtin type: NULL when there is none. *unsafe: it exists, but would change the value.
const struct cel_tmethod_row *cel_tfind_method(cel_tval v, cel_str name, bool *unsafe);
CEL_MUST_CHECK cel_status cel_tloop_attr(cel_trender *r, cel_tloop *loop, cel_str name, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tloop_cycle(cel_trender *r, const cel_tcallee *c, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tloop_changed(cel_trender *r, const cel_tcallee *c, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tloop_length(cel_trender *r, cel_tloop *loop, int64_t *out);

// ---- evaluation ----
CEL_MUST_CHECK cel_status cel_teval(cel_trender *r, const cel_tnode *n, cel_tval *out);
CEL_MUST_CHECK cel_status cel_teval_args(cel_trender *r, const cel_tnode_args *n, cel_targs *out);
CEL_MUST_CHECK cel_status cel_texec(cel_trender *r, const cel_tnode *n);
CEL_MUST_CHECK cel_status cel_texec_for(cel_trender *r, const cel_tnode *n);
CEL_MUST_CHECK cel_status cel_tassign(cel_trender *r, const cel_tnode *target, cel_tval v);
CEL_MUST_CHECK cel_status cel_tset_var(cel_trender *r, cel_tframe *f, uint32_t name, cel_tval v);
cel_tval cel_tget_var(cel_trender *r, uint32_t name);
CEL_MUST_CHECK cel_status cel_tframe_new(cel_trender *r, cel_tframe *outer, cel_tframe **out);
CEL_MUST_CHECK cel_status cel_tcall_macro(cel_trender *r, const cel_tmacro *m, const cel_targs *args, cel_tval *out);
CEL_MUST_CHECK cel_status cel_tcall_loop(cel_trender *r, cel_tloop *loop, const cel_targs *args, cel_tval *out);

#endif
