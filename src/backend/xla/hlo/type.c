// Element types, and the interned types of a module. The same table finds functions by name.
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/infer.h"
#include "base/checked.h"

// ---- element types -----------------------------------------------------------------------------

typedef struct etype_row {
  const char *spelling;
  int bits, bytes;
  char class;
} etype_row;

static const etype_row etypes[] = {
#define CEL_ETYPE(code, spelling, bits, bytes, class) {spelling, bits, bytes, #class[0]},
#include "backend/xla/hlo/etype.def"
#undef CEL_ETYPE
};

static const etype_row *row_of(cel_etype t) {
  static const etype_row none = {"?", 0, 0, '?'};
  return (unsigned)t < CEL_ET_COUNT ? &etypes[t] : &none;
}

const char *cel_etype_spelling(cel_etype t) { return row_of(t)->spelling; }
int cel_etype_bits(cel_etype t) { return row_of(t)->bits; }
int cel_etype_bytes(cel_etype t) { return row_of(t)->bytes; }
char cel_etype_class(cel_etype t) { return row_of(t)->class; }
bool cel_etype_is_float(cel_etype t) { return cel_etype_class(t) == 'F'; }
bool cel_etype_is_int(cel_etype t) { return cel_etype_class(t) == 'S' || cel_etype_class(t) == 'U'; }

bool cel_etype_by_spelling(cel_str s, cel_etype *out) {
  for (int i = 0; i < CEL_ET_COUNT; i++) {
    if (!cel_str_is(s, etypes[i].spelling)) continue;
    *out = (cel_etype)i;
    return true;
  }
  return false;
}

// ---- the two tables ----------------------------------------------------------------------------

typedef struct type_node {
  cel_hlo_type type;  // first: a type is its node
  uint64_t hash;
  struct type_node *next;
} type_node;

typedef struct func_node {
  cel_hlo_func *func;
  uint64_t hash;
  struct func_node *next;
} func_node;

struct cel_hlo_interned {
  type_node **types;  // [type_cap] chains
  func_node **funcs;  // [func_cap]
  size_t n_types, type_cap, n_funcs, func_cap;  // caps are powers of two
};

enum { FIRST_CAP = 64 };

bool cel_hlo_tables_init(cel_hlo_module *m) {
  struct cel_hlo_interned *t = CEL_NEW(&m->arena, struct cel_hlo_interned);
  if (!t) return false;
  t->type_cap = t->func_cap = FIRST_CAP;
  t->types = CEL_NEW_ARRAY(&m->arena, type_node *, FIRST_CAP);
  t->funcs = CEL_NEW_ARRAY(&m->arena, func_node *, FIRST_CAP);
  m->types = t;
  return t->types && t->funcs;
}

// FNV-1a over 64-bit words, with a final mix so that the low bits carry everything.
static uint64_t hash_word(uint64_t h, uint64_t w) { return (h ^ w) * 0x100000001B3u; }
static uint64_t hash_end(uint64_t h) { return h ^ h >> 29 ^ h >> 47; }

static uint64_t hash_name(cel_str s) {
  uint64_t h = 0xCBF29CE484222325u;
  for (size_t i = 0; i < s.n; i++) h = hash_word(h, (unsigned char)s.p[i]);
  return hash_end(h);
}

static uint64_t hash_type(const cel_hlo_type *t) {
  uint64_t h = hash_word(0xCBF29CE484222325u, (uint64_t)t->kind);
  if (t->kind == CEL_HLO_KIND_TENSOR) {
    h = hash_word(hash_word(h, (uint64_t)t->etype), (uint64_t)t->rank);
    for (int i = 0; i < t->rank; i++) h = hash_word(h ^ h >> 31, (uint64_t)t->dims[i]);
  }
  for (int i = 0; i < t->n_parts; i++) h = hash_word(h ^ h >> 31, (uint64_t)(uintptr_t)t->parts[i]);
  return hash_end(h);
}

// Parts compare by pointer: they are interned in the same module.
static bool same_here(const cel_hlo_type *a, const cel_hlo_type *b) {
  if (a->kind != b->kind || a->etype != b->etype || a->rank != b->rank || a->n_parts != b->n_parts) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  for (int i = 0; i < a->n_parts; i++)
    if (a->parts[i] != b->parts[i]) return false;
  return true;
}

static void grow_types(cel_hlo_module *m) {
  struct cel_hlo_interned *t = m->types;
  type_node **wider = CEL_NEW_ARRAY(&m->arena, type_node *, t->type_cap * 2);
  if (!wider) return;  // the chains get longer, nothing breaks
  for (size_t i = 0; i < t->type_cap; i++)
    for (type_node *n = t->types[i], *next; n; n = next) {
      type_node **slot = &wider[n->hash & (t->type_cap * 2 - 1)];
      next = n->next;
      n->next = *slot;
      *slot = n;
    }
  t->types = wider;
  t->type_cap *= 2;
}

// `t`: complete but for parts, which are copied when the type is new.
static const cel_hlo_type *intern(cel_hlo_module *m, const cel_hlo_type *t) {
  struct cel_hlo_interned *table = m->types;
  uint64_t hash = hash_type(t);
  for (type_node *n = table->types[hash & (table->type_cap - 1)]; n; n = n->next)
    if (n->hash == hash && same_here(&n->type, t)) return &n->type;
  type_node *n = CEL_NEW(&m->arena, type_node);
  if (!n) return NULL;
  n->type = *t;
  n->hash = hash;
  if (t->n_parts) {
    const cel_hlo_type **parts = CEL_NEW_ARRAY(&m->arena, const cel_hlo_type *, t->n_parts);
    if (!parts) return NULL;
    memcpy(parts, t->parts, (size_t)t->n_parts * sizeof *parts);
    n->type.parts = parts;
  }
  if (++table->n_types > table->type_cap) grow_types(m);
  type_node **slot = &table->types[hash & (table->type_cap - 1)];
  n->next = *slot;
  *slot = n;
  return &n->type;
}

// A dimension of 0 must not hide an overflow of the others: products of parts are computed, too.
bool cel_hlo_tensor_fits(cel_etype e, int rank, const int64_t *dims) {
  if ((unsigned)e >= CEL_ET_COUNT || rank < 0 || rank > CEL_HLO_MAX_RANK) return false;
  int64_t bytes = cel_etype_bytes(e);
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0 || !cel_mul_i64(bytes, dims[i] ? dims[i] : 1, &bytes)) return false;
  return true;
}

const cel_hlo_type *cel_hlo_tensor(cel_hlo_module *m, cel_etype e, int rank, const int64_t *dims) {
  if (!cel_hlo_tensor_fits(e, rank, dims)) return NULL;
  cel_hlo_type t = {.kind = CEL_HLO_KIND_TENSOR, .etype = e, .rank = rank};
  for (int i = 0; i < rank; i++) t.dims[i] = dims[i];
  return intern(m, &t);
}

const cel_hlo_type *cel_hlo_scalar_type(cel_hlo_module *m, cel_etype e) { return cel_hlo_tensor(m, e, 0, NULL); }

const cel_hlo_type *cel_hlo_token(cel_hlo_module *m) { return intern(m, &(cel_hlo_type){.kind = CEL_HLO_KIND_TOKEN}); }

const cel_hlo_type *cel_hlo_tuple(cel_hlo_module *m, int n, const cel_hlo_type *const *parts) {
  if (n < 0) return NULL;
  return intern(m, &(cel_hlo_type){.kind = CEL_HLO_KIND_TUPLE, .n_parts = n, .parts = parts});
}

int64_t cel_hlo_elements(const cel_hlo_type *t) {
  int64_t n = t->kind == CEL_HLO_KIND_TENSOR;
  for (int i = 0; i < t->rank; i++) n *= t->dims[i];
  return n;
}

int64_t cel_hlo_bytes(const cel_hlo_type *t) { return cel_hlo_elements(t) * cel_etype_bytes(t->etype); }

bool cel_hlo_is_scalar(const cel_hlo_type *t) { return t->kind == CEL_HLO_KIND_TENSOR && t->rank == 0; }

// Depth of tuples is bounded by whoever made them (the parser).
bool cel_hlo_type_equal(const cel_hlo_type *a, const cel_hlo_type *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->etype != b->etype || a->rank != b->rank || a->n_parts != b->n_parts) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  for (int i = 0; i < a->n_parts; i++)
    if (!cel_hlo_type_equal(a->parts[i], b->parts[i])) return false;
  return true;
}

// ---- text --------------------------------------------------------------------------------------

static void add_number(cel_buf *out, int64_t v) {
  char digits[24];
  int n = 0;
  uint64_t u = (uint64_t)v;  // dims are never negative
  do digits[n++] = (char)('0' + u % 10);
  while (u /= 10);
  while (n) cel_buf_addc(out, digits[--n]);
}

void cel_hlo_type_print(cel_buf *out, const cel_hlo_type *t) {
  if (t->kind == CEL_HLO_KIND_TOKEN) {
    cel_buf_addz(out, "!stablehlo.token");
  } else if (t->kind == CEL_HLO_KIND_TENSOR) {
    cel_buf_addz(out, "tensor<");
    for (int i = 0; i < t->rank; i++) {
      add_number(out, t->dims[i]);
      cel_buf_addc(out, 'x');
    }
    cel_buf_addz(out, cel_etype_spelling(t->etype));
    cel_buf_addc(out, '>');
  } else {
    cel_buf_addz(out, "tuple<");
    for (int i = 0; i < t->n_parts; i++) {
      if (i) cel_buf_addz(out, ", ");
      cel_hlo_type_print(out, t->parts[i]);
    }
    cel_buf_addc(out, '>');
  }
}

void cel_hlo_type_text(const cel_hlo_type *t, char *out, int out_bytes) {
  cel_buf b = {0};
  if (t) cel_hlo_type_print(&b, t);
  if (out_bytes > 0) snprintf(out, (size_t)out_bytes, "%s", !t ? "no type" : b.failed || !b.p ? "a type" : b.p);
  cel_buf_deinit(&b);
}

// ---- functions by name -------------------------------------------------------------------------

static void grow_funcs(cel_hlo_module *m) {
  struct cel_hlo_interned *t = m->types;
  func_node **wider = CEL_NEW_ARRAY(&m->arena, func_node *, t->func_cap * 2);
  if (!wider) return;
  for (size_t i = 0; i < t->func_cap; i++)
    for (func_node *n = t->funcs[i], *next; n; n = next) {
      func_node **slot = &wider[n->hash & (t->func_cap * 2 - 1)];
      next = n->next;
      n->next = *slot;
      *slot = n;
    }
  t->funcs = wider;
  t->func_cap *= 2;
}

bool cel_hlo_tables_add_func(cel_hlo_module *m, cel_hlo_func *f) {
  if (cel_hlo_find_func(m, f->name)) return true;  // the first of a name is the one found
  struct cel_hlo_interned *t = m->types;
  func_node *n = CEL_NEW(&m->arena, func_node);
  if (!n) return false;
  n->func = f;
  n->hash = hash_name(cel_str_of(f->name));
  if (++t->n_funcs > t->func_cap) grow_funcs(m);
  func_node **slot = &t->funcs[n->hash & (t->func_cap - 1)];
  n->next = *slot;
  *slot = n;
  return true;
}

cel_hlo_func *cel_hlo_find_func(const cel_hlo_module *m, const char *name) {
  const struct cel_hlo_interned *t = m->types;
  uint64_t hash = hash_name(cel_str_of(name));
  for (func_node *n = t->funcs[hash & (t->func_cap - 1)]; n; n = n->next)
    if (n->hash == hash && strcmp(n->func->name, name) == 0) return n->func;
  return NULL;
}
