// Values of the template language: what Python values a template can meet. They are immutable but for
// namespaces, iterators and the state of a loop, and live in the arena of one render.
#ifndef CEL_TEXT_TEMPLATE_TMPL_VALUE_H
#define CEL_TEXT_TEMPLATE_TMPL_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

typedef enum cel_tkind {
  CEL_T_MISSING,  // an argument that was not given; never seen by a template
  CEL_T_UNDEFINED,
  CEL_T_NONE,
  CEL_T_BOOL,
  CEL_T_INT,
  CEL_T_FLOAT,
  CEL_T_STR,
  CEL_T_LIST,
  CEL_T_TUPLE,
  CEL_T_DICT,
  CEL_T_VIEW,   // dict.keys(), .values(), .items(): `sub` is a cel_tview
  CEL_T_RANGE,
  CEL_T_ITER,   // what Python's generators are here: can be walked once
  CEL_T_FUNCTION,  // a global: `sub` is a cel_tfunction
  CEL_T_METHOD,    // of a value: as.method
  CEL_T_MACRO,
  CEL_T_NAMESPACE,
  CEL_T_LOOP,
  CEL_T_CYCLER,
  CEL_T_JOINER,
} cel_tkind;

typedef enum cel_tview { CEL_TVIEW_KEYS, CEL_TVIEW_VALUES, CEL_TVIEW_ITEMS } cel_tview;

enum {
  CEL_TFLAG_SAFE = 1,    // a string that `safe` or `escape` made
  CEL_TFLAG_GROUP = 2,   // a tuple of groupby: has .grouper and .list
  CEL_TFLAG_UNSAFE = 4,  // undefined because the sandbox forbids it
};

typedef struct cel_tlist cel_tlist;
typedef struct cel_tdict cel_tdict;
typedef struct cel_trange cel_trange;
typedef struct cel_titems cel_titems;
typedef struct cel_tmethod cel_tmethod;
typedef struct cel_tmacro cel_tmacro;
typedef struct cel_tloop cel_tloop;
typedef struct cel_tcycle cel_tcycle;

typedef struct cel_tval {
  uint8_t kind, flag;
  uint16_t sub;
  uint32_t n;  // bytes of a string; of the hint of an undefined
  union {
    bool b;
    int64_t i;
    double f;
    const char *s;  // UTF-8, not terminated; of an undefined: why, for messages
    cel_tlist *list;  // lists and tuples
    cel_tdict *dict;  // dicts, views, namespaces
    cel_trange *range;
    cel_titems *iter;
    cel_tmethod *method;
    cel_tmacro *macro;
    cel_tloop *loop;
    cel_tcycle *cycle;  // cyclers and joiners
  } as;
} cel_tval;

struct cel_tlist {
  int64_t n;
  cel_tval *at;  // [n]
};

typedef struct cel_tpair {
  cel_tval key, value;
} cel_tpair;

struct cel_tdict {
  int64_t n, cap;
  cel_tpair *at;     // [n] in order of insertion
  uint32_t *index;   // [n_index] place + 1 in `at`, 0 when free; NULL while the dict is small
  uint32_t n_index;  // a power of two
};

struct cel_trange {
  int64_t start, step, n;
};

struct cel_titems {
  cel_tlist *list;
  int64_t next;
};

struct cel_tmethod {
  cel_tval self;
  const struct cel_tmethod_row *row;
};

struct cel_tcycle {
  cel_tlist *items;  // of a joiner: the separator alone
  int64_t next;
};

static inline cel_tval cel_tnone(void) { return (cel_tval){.kind = CEL_T_NONE}; }
static inline cel_tval cel_tbool(bool b) { return (cel_tval){.kind = CEL_T_BOOL, .as.b = b}; }
static inline cel_tval cel_tint(int64_t i) { return (cel_tval){.kind = CEL_T_INT, .as.i = i}; }
static inline cel_tval cel_tfloat(double f) { return (cel_tval){.kind = CEL_T_FLOAT, .as.f = f}; }
// The bytes are borrowed; at most UINT32_MAX of them, which the limits see to.
static inline cel_tval cel_tstr(cel_str s) { return (cel_tval){.kind = CEL_T_STR, .n = (uint32_t)s.n, .as.s = s.p}; }
static inline cel_tval cel_tstrz(const char *z) { return cel_tstr(cel_str_of(z)); }
static inline cel_tval cel_tundefined(const char *why) {
  return (cel_tval){.kind = CEL_T_UNDEFINED, .n = (uint32_t)strlen(why), .as.s = why};
}
static inline cel_tval cel_tseq(cel_tkind kind, cel_tlist *l) { return (cel_tval){.kind = (uint8_t)kind, .as.list = l}; }
static inline cel_tval cel_tdictv(cel_tdict *d) { return (cel_tval){.kind = CEL_T_DICT, .as.dict = d}; }
static inline cel_str cel_tview_str(cel_tval v) { return (cel_str){v.as.s, v.n}; }
static inline bool cel_tgiven(cel_tval v) { return v.kind != CEL_T_MISSING; }
static inline bool cel_tis(cel_tval v, cel_tkind kind) { return v.kind == kind; }
// Lists and tuples.
static inline bool cel_tis_seq(cel_tval v) { return v.kind == CEL_T_LIST || v.kind == CEL_T_TUPLE; }
// bool is an int in Python.
static inline bool cel_tis_int(cel_tval v) { return v.kind == CEL_T_INT || v.kind == CEL_T_BOOL; }
static inline bool cel_tis_number(cel_tval v) { return cel_tis_int(v) || v.kind == CEL_T_FLOAT; }
static inline int64_t cel_tint_of(cel_tval v) { return v.kind == CEL_T_BOOL ? v.as.b : v.as.i; }
static inline double cel_tfloat_of(cel_tval v) {
  return v.kind == CEL_T_FLOAT ? v.as.f : (double)cel_tint_of(v);
}

// Python's name of the type, for messages.
const char *cel_ttype(cel_tval v);

#endif
