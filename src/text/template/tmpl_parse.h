// Tokens to tree. The parser's state, shared by statements (tmpl_parse.c) and expressions (tmpl_parse_expr.c).
#ifndef CEL_TEXT_TEMPLATE_TMPL_PARSE_H
#define CEL_TEXT_TEMPLATE_TMPL_PARSE_H

#include "text/template/tmpl_lex.h"
#include "text/template/tmpl_node.h"

enum { CEL_TPARSE_DEPTH = 200 };

typedef struct cel_tparser {
  cel_template *t;
  cel_err *err;
  const cel_ttoken *tok;  // the current one; the last is EOF
  int depth;
  int loops;  // loops around this place that "break" could end
  uint32_t *slots;  // hash of names: id + 1; a power of two
  uint32_t n_slots, names_cap;
  struct cel_tmacro_scope {  // macros whose body is being read, innermost first
    cel_tnode_macro *macro;
    struct cel_tmacro_scope *outer;
  } *macros;
} cel_tparser;

// A growing list of nodes in the arena.
typedef struct cel_tnodes {
  cel_tnode **at;
  int n, cap;
} cel_tnodes;

cel_status cel_tparse_fail(cel_tparser *p, const char *fmt, ...) CEL_PRINTF(2, 3);  // at the current token
CEL_MUST_CHECK cel_status cel_tnode_new(cel_tparser *p, cel_tnode_kind kind, const cel_ttoken *at, cel_tnode **out);
CEL_MUST_CHECK cel_status cel_tnodes_add(cel_tparser *p, cel_tnodes *list, cel_tnode *n);
CEL_MUST_CHECK cel_status cel_tparse_name_id(cel_tparser *p, cel_str name, uint32_t *id);
CEL_MUST_CHECK cel_status cel_tparse_deeper(cel_tparser *p);  // p->depth-- when done

bool cel_tat_op(const cel_tparser *p, const char *op);
bool cel_tat_name(const cel_tparser *p, const char *name);
bool cel_tskip_op(cel_tparser *p, const char *op);
bool cel_tskip_name(cel_tparser *p, const char *name);
CEL_MUST_CHECK cel_status cel_texpect_op(cel_tparser *p, const char *op);
CEL_MUST_CHECK cel_status cel_texpect_name(cel_tparser *p, cel_str *out);  // any name

// An expression; without the "a if b else c" form when !cond.
CEL_MUST_CHECK cel_status cel_tparse_expression(cel_tparser *p, bool cond, cel_tnode **out);
// One, or several with commas between them as a tuple.
CEL_MUST_CHECK cel_status cel_tparse_tuple(cel_tparser *p, bool cond, bool parenthesized, cel_tnode **out);
// What may stand left of "=" and after "for".
CEL_MUST_CHECK cel_status cel_tparse_target(cel_tparser *p, bool with_namespace, cel_tnode **out);
// "| name(...) | ..." behind `subject`; with `inline_first` the first "|" is left out.
CEL_MUST_CHECK cel_status cel_tparse_filters(cel_tparser *p, cel_tnode *subject, bool inline_first, cel_tnode **out);
// The whole template into p->t->body.
CEL_MUST_CHECK cel_status cel_tparse(cel_tparser *p);

#endif
