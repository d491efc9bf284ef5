// What the shape rules share: messages, result types, attributes, windows, regions.
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/shape.h"
#include "base/checked.h"

unsigned cel_shape_class(cel_etype e) {
  switch (cel_etype_class(e)) {
    case 'P': return CEL_SH_P;
    case 'S': return CEL_SH_S;
    case 'U': return CEL_SH_U;
    case 'F': return CEL_SH_F;
    case 'C': return CEL_SH_C;
    default: return 0;
  }
}

cel_status cel_shape_fail(cel_shape *s, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cel_status status = cel_failv(s->err, CEL_INVALID, fmt, args);
  va_end(args);
  if (s->err) cel_err_prefix(s->err, "%.100s", s->op->name);
  return status;
}

const char *cel_shape_show(cel_shape_text *t, const cel_hlo_type *type) {
  cel_hlo_type_text(type, t->p, sizeof t->p);
  return t->p;
}

// ---- results -----------------------------------------------------------------------------------

cel_status cel_shape_room(cel_shape *s, int n) {
  s->types = CEL_NEW_ARRAY(&s->m->arena, const cel_hlo_type *, n);
  if (!s->types) return cel_fail_oom(s->err, "result types");
  s->n = n;
  return CEL_OK;
}

cel_status cel_shape_give(cel_shape *s, const cel_hlo_type *type) {
  CEL_TRY(cel_shape_room(s, 1));
  s->types[0] = type;
  return CEL_OK;
}

cel_status cel_shape_tensor(cel_shape *s, cel_etype e, int rank, const int64_t *dims, const cel_hlo_type **out) {
  if (rank > CEL_HLO_MAX_RANK)
    return cel_shape_fail(s, "the result would have rank %d, at most %d is supported", rank, CEL_HLO_MAX_RANK);
  if (!cel_hlo_tensor_fits(e, rank, dims))
    return cel_shape_fail(s, "the result type does not fit: a size is negative, or its bytes pass 63 bits");
  *out = cel_hlo_tensor(s->m, e, rank, dims);
  return *out ? CEL_OK : cel_fail_oom(s->err, "a result type");
}

cel_status cel_shape_give_tensor(cel_shape *s, cel_etype e, int rank, const int64_t *dims) {
  const cel_hlo_type *t;
  CEL_TRY(cel_shape_tensor(s, e, rank, dims, &t));
  return cel_shape_give(s, t);
}

cel_status cel_shape_declared(cel_shape *s, const cel_hlo_type **out) {
  if (s->op->n_results != 1) return cel_shape_fail(s, "%d results, it gives 1", s->op->n_results);
  *out = s->op->results[0].type;
  cel_shape_text text;
  if ((*out)->kind != CEL_HLO_KIND_TENSOR)
    return cel_shape_fail(s, "the result is %s, it must be a tensor", cel_shape_show(&text, *out));
  return CEL_OK;
}

cel_status cel_shape_tensors(cel_shape *s, int first) {
  for (int i = first; i < s->op->n_operands; i++) {
    cel_shape_text text;
    if (cel_shape_in(s, i)->kind != CEL_HLO_KIND_TENSOR)
      return cel_shape_fail(s, "operand %d is %s, it must be a tensor", i, cel_shape_show(&text, cel_shape_in(s, i)));
  }
  return CEL_OK;
}

cel_status cel_shape_same_type(cel_shape *s, int a, int b) {
  const cel_hlo_type *x = cel_shape_in(s, a), *y = cel_shape_in(s, b);
  if (cel_hlo_type_equal(x, y)) return CEL_OK;
  cel_shape_text tx, ty;
  return cel_shape_fail(s, "operand %d is %s and operand %d is %s, they must be equal", a, cel_shape_show(&tx, x), b,
                        cel_shape_show(&ty, y));
}

bool cel_shape_same_dims(const cel_hlo_type *a, const cel_hlo_type *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

// ---- attributes --------------------------------------------------------------------------------

static cel_status missing(cel_shape *s, const char *name) {
  return cel_shape_fail(s, "attribute %s is missing", name);
}

cel_status cel_shape_int_or(cel_shape *s, const char *name, int64_t otherwise, int64_t least, int64_t most,
                            int64_t *out) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, name);
  *out = otherwise;
  if (!a) return CEL_OK;
  if (a->kind != CEL_HLO_ATTR_INT) return cel_shape_fail(s, "attribute %s is not an integer", name);
  if (a->i < least || a->i > most)
    return cel_shape_fail(s, "%s = %lld, it must be in %lld .. %lld", name, (long long)a->i, (long long)least,
                          (long long)most);
  *out = a->i;
  return CEL_OK;
}

cel_status cel_shape_int(cel_shape *s, const char *name, int64_t least, int64_t most, int64_t *out) {
  if (!cel_hlo_find_attr(s->op, name)) return missing(s, name);
  return cel_shape_int_or(s, name, 0, least, most, out);
}

cel_status cel_shape_ints(cel_shape *s, const char *name, int n, int64_t least, int64_t *out) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, name);
  if (!a) return missing(s, name);
  int got = cel_hlo_attr_ints(s->op, name, out, n, -1);
  if (got < 0) return cel_shape_fail(s, "attribute %s is not a list of integers", name);
  if (got != n) return cel_shape_fail(s, "%s has %d entries, it must have %d", name, got, n);
  for (int i = 0; i < n; i++)
    if (out[i] < least)
      return cel_shape_fail(s, "%s[%d] = %lld, it must be at least %lld", name, i, (long long)out[i],
                            (long long)least);
  return CEL_OK;
}

cel_status cel_shape_ints_or(cel_shape *s, const char *name, int n, int64_t otherwise, int64_t least, int64_t *out) {
  if (cel_hlo_find_attr(s->op, name)) return cel_shape_ints(s, name, n, least, out);
  for (int i = 0; i < n; i++) out[i] = otherwise;
  return CEL_OK;
}

cel_status cel_shape_dims(cel_shape *s, const char *name, int rank, int64_t *out, int *n) {
  *n = 0;
  if (!cel_hlo_find_attr(s->op, name)) return CEL_OK;
  int got = cel_hlo_attr_ints(s->op, name, out, CEL_HLO_MAX_RANK, -1);
  if (got < 0) return cel_shape_fail(s, "attribute %s is not a list of integers", name);
  if (got > rank) return cel_shape_fail(s, "%s has %d entries for a rank of %d", name, got, rank);
  for (int i = 0; i < got; i++) {
    if (out[i] < 0 || out[i] >= rank)
      return cel_shape_fail(s, "%s[%d] = %lld, it must be in 0 .. %d", name, i, (long long)out[i], rank - 1);
    if (cel_shape_has(out, i, out[i])) return cel_shape_fail(s, "%s names %lld twice", name, (long long)out[i]);
  }
  *n = got;
  return CEL_OK;
}

cel_status cel_shape_sorted(cel_shape *s, const char *name, const int64_t *dims, int n) {
  for (int i = 1; i < n; i++)
    if (dims[i] <= dims[i - 1])
      return cel_shape_fail(s, "%s is not in ascending order at entry %d (%lld after %lld)", name, i,
                            (long long)dims[i], (long long)dims[i - 1]);
  return CEL_OK;
}

cel_status cel_shape_disjoint(cel_shape *s, const char *name_a, const int64_t *a, int n_a, const char *name_b,
                              const int64_t *b, int n_b) {
  for (int i = 0; i < n_a; i++)
    if (cel_shape_has(b, n_b, a[i]))
      return cel_shape_fail(s, "dimension %lld is both in %s and in %s", (long long)a[i], name_a, name_b);
  return CEL_OK;
}

cel_status cel_shape_padding(cel_shape *s, int n, int64_t *low, int64_t *high) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, "padding");
  for (int i = 0; i < n; i++) low[i] = high[i] = 0;
  if (!a) return CEL_OK;
  if (a->kind != CEL_HLO_ATTR_DENSE || !cel_etype_is_int(a->type->etype) || a->type->rank != 2 ||
      a->type->dims[0] != n || a->type->dims[1] != 2)
    return cel_shape_fail(s, "padding must be a dense tensor<%dx2xi64>", n);
  for (int i = 0; i < n; i++) {
    low[i] = cel_hlo_dense_int(a, 2 * (int64_t)i);
    high[i] = cel_hlo_dense_int(a, 2 * (int64_t)i + 1);
  }
  return CEL_OK;
}

static bool is_one_of(const char *word, const char *words) {
  size_t n = strlen(word);
  for (const char *p = words; *p;) {
    size_t length = strcspn(p, " ");
    if (length == n && memcmp(p, word, n) == 0) return true;
    p += length;
    p += *p == ' ';
  }
  return false;
}

cel_status cel_shape_word(cel_shape *s, const char *name, const char *words, bool needed, const char **out) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, name);
  *out = NULL;
  if (!a) return needed ? missing(s, name) : CEL_OK;
  if (a->kind != CEL_HLO_ATTR_ENUM && a->kind != CEL_HLO_ATTR_STRING)
    return cel_shape_fail(s, "attribute %s is not a word", name);
  if (!is_one_of(a->s, words)) return cel_shape_fail(s, "%s is \"%.60s\", it must be one of %s", name, a->s, words);
  *out = a->s;
  return CEL_OK;
}

cel_status cel_shape_bool(cel_shape *s, const char *name) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, name);
  if (a && a->kind != CEL_HLO_ATTR_BOOL) return cel_shape_fail(s, "attribute %s is not true or false", name);
  return CEL_OK;
}

bool cel_shape_has(const int64_t *dims, int n, int64_t d) {
  for (int i = 0; i < n; i++)
    if (dims[i] == d) return true;
  return false;
}

// ---- windows -----------------------------------------------------------------------------------

// (size - 1) * dilation + 1, and 0 for 0.
static bool dilate(int64_t size, int64_t dilation, int64_t *out) {
  if (size == 0) return *out = 0, true;
  return cel_mul_i64(size - 1, dilation, out) && cel_add_i64(*out, 1, out);
}

cel_status cel_shape_windows(cel_shape *s, int64_t size, int64_t base_dilation, int64_t low, int64_t high,
                             int64_t window, int64_t window_dilation, int64_t stride, int64_t *out) {
  const int64_t far = INT64_C(1) << 60;
  int64_t padded, span;
  if (!dilate(size, base_dilation, &padded) || !dilate(window, window_dilation, &span) || padded > far || low > far ||
      low < -far || high > far || high < -far)
    return cel_shape_fail(s, "window, dilation or padding is too large");
  padded += low + high;
  if (padded < 0)
    return cel_shape_fail(s, "padding of %lld and %lld leaves less than nothing", (long long)low, (long long)high);
  *out = padded == 0 || span > padded ? 0 : (padded - span) / stride + 1;
  return CEL_OK;
}

// ---- regions -----------------------------------------------------------------------------------

cel_status cel_shape_region(cel_shape *s, int i, const cel_hlo_type *const *args, int n_args,
                            const cel_hlo_op **terminator) {
  const cel_hlo_block *b = i < s->op->n_regions ? s->op->regions[i] : NULL;
  if (!b) return cel_shape_fail(s, "region %d is empty", i);
  if (!b->last || b->last->opcode != CEL_HLO_REGION_RETURN)
    return cel_shape_fail(s, "region %d does not end in stablehlo.return", i);
  *terminator = b->last;
  if (n_args < 0) return CEL_OK;
  if (b->n_args != n_args) return cel_shape_fail(s, "region %d has %d arguments, it takes %d", i, b->n_args, n_args);
  for (int k = 0; k < n_args; k++) {
    cel_shape_text got, want;
    if (!cel_hlo_type_equal(b->args[k]->type, args[k]))
      return cel_shape_fail(s, "argument %d of region %d is %s, it must be %s", k, i,
                            cel_shape_show(&got, b->args[k]->type), cel_shape_show(&want, args[k]));
  }
  return CEL_OK;
}

bool cel_shape_promotable(cel_etype from, cel_etype to) {
  return cel_etype_class(from) == cel_etype_class(to) && cel_etype_bits(from) <= cel_etype_bits(to);
}
