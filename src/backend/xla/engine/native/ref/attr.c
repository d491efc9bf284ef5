// Attributes and indices, with the checks that keep a wrong module from reading outside its tensors.
#include <inttypes.h>

#include "backend/xla/engine/native/ref/internal.h"
#include "base/checked.h"

cel_status cel_ref_misfit(const cel_ref_call *c, const char *what) {
  return cel_fail(c->err, CEL_INVALID, "%s: %s", c->op->name, what);
}

cel_status cel_ref_refuse(const cel_ref_call *c, const cel_hlo_type *t) {
  char text[128];
  cel_hlo_type_text(t, text, (int)sizeof text);
  return cel_fail(c->err, CEL_UNSUPPORTED, "%s on %s is not evaluated", c->op->name, text);
}

static cel_status check_range(const cel_ref_call *c, const char *name, const int64_t *x, int n, int64_t lo,
                              int64_t hi) {
  for (int i = 0; i < n; i++)
    if (x[i] < lo || x[i] >= hi)
      return cel_fail(c->err, CEL_INVALID, "%s: %s[%d] is %" PRId64 ", it must be in [%" PRId64 ", %" PRId64 ")",
                      c->op->name, name, i, x[i], lo, hi);
  return CEL_OK;
}

cel_status cel_ref_ints(const cel_ref_call *c, const char *name, int want, int64_t otherwise, int64_t lo, int64_t hi,
                        int64_t *out) {
  int n = cel_hlo_attr_ints(c->op, name, out, want, -1);
  if (n < 0) {
    for (int i = 0; i < want; i++) out[i] = otherwise;
    n = want;
  }
  if (n != want)
    return cel_fail(c->err, CEL_INVALID, "%s: %s has %d entries, it needs %d", c->op->name, name, n, want);
  return check_range(c, name, out, n, lo, hi);
}

cel_status cel_ref_list(const cel_ref_call *c, const char *name, int64_t lo, int64_t hi, int64_t *out, int *n) {
  *n = cel_hlo_attr_ints(c->op, name, out, CEL_HLO_MAX_RANK, 0);
  if (*n > CEL_HLO_MAX_RANK)
    return cel_fail(c->err, CEL_INVALID, "%s: %s has %d entries, at most %d are possible", c->op->name, name, *n,
                    (int)CEL_HLO_MAX_RANK);
  return check_range(c, name, out, *n, lo, hi);
}

cel_status cel_ref_pairs(const cel_ref_call *c, const char *name, int n, int64_t *low, int64_t *high) {
  for (int i = 0; i < n; i++) low[i] = high[i] = 0;
  const cel_hlo_attr *a = cel_hlo_find_attr(c->op, name);
  if (!a) return CEL_OK;
  if (a->kind != CEL_HLO_ATTR_DENSE || a->type->kind != CEL_HLO_KIND_TENSOR || a->type->etype != CEL_ET_I64 ||
      cel_hlo_elements(a->type) != 2 * (int64_t)n)
    return cel_fail(c->err, CEL_INVALID, "%s: %s must be a dense i64 tensor of %d pairs", c->op->name, name, n);
  for (int i = 0; i < n; i++) {
    low[i] = cel_ref_get_int(CEL_ET_I64, a->data, a->splat ? 0 : 2 * i);
    high[i] = cel_ref_get_int(CEL_ET_I64, a->data, a->splat ? 0 : 2 * i + 1);
  }
  CEL_TRY(check_range(c, name, low, n, -INT32_MAX, INT32_MAX));
  return check_range(c, name, high, n, -INT32_MAX, INT32_MAX);
}

cel_status cel_ref_int_attr(const cel_ref_call *c, const char *name, int64_t otherwise, int64_t lo, int64_t hi,
                            int64_t *out) {
  *out = cel_hlo_attr_int(c->op, name, otherwise);
  if (*out < lo || *out >= hi)
    return cel_fail(c->err, CEL_INVALID, "%s: %s is %" PRId64 ", it must be in [%" PRId64 ", %" PRId64 ")",
                    c->op->name, name, *out, lo, hi);
  return CEL_OK;
}

const char *cel_ref_word(const cel_hlo_op *op, const char *name, const char *otherwise) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, name);
  if (!a || !a->s) return otherwise;
  return a->kind == CEL_HLO_ATTR_ENUM || a->kind == CEL_HLO_ATTR_STRING || a->kind == CEL_HLO_ATTR_SYMBOL ? a->s
                                                                                                          : otherwise;
}

bool cel_ref_next(int rank, const int64_t *dims, int64_t *index) {
  for (int d = rank - 1; d >= 0; d--) {
    if (++index[d] < dims[d]) return true;
    index[d] = 0;
  }
  return false;
}

void cel_ref_strides(int rank, const int64_t *dims, int64_t *strides) {
  int64_t s = 1;
  for (int d = rank - 1; d >= 0; d--) {
    strides[d] = s;
    s *= dims[d];
  }
}

int64_t cel_ref_at(int rank, const int64_t *strides, const int64_t *index) {
  int64_t at = 0;
  for (int d = 0; d < rank; d++) at += strides[d] * index[d];
  return at;
}

int cel_ref_others(int rank, const int64_t *list, int n, int64_t *dims) {
  int count = 0;
  for (int d = 0; d < rank; d++) {
    bool listed = false;
    for (int i = 0; i < n; i++) listed |= list[i] == d;
    if (!listed) dims[count++] = d;
  }
  return count;
}

// Whether all places base + i*stride of a side lie inside its tensor.
static bool inside(int rank, const int64_t *dims, const cel_ref_side *s) {
  int64_t low = s->base, high = s->base, reach, n = cel_hlo_elements(s->t->type);
  if (low < 0 || high >= n) return false;
  for (int d = 0; d < rank; d++) {
    int64_t stride = s->strides[d];
    if (stride == INT64_MIN || !cel_mul_i64(dims[d] - 1, stride < 0 ? -stride : stride, &reach)) return false;
    if (reach >= n) return false;
    if (stride < 0)
      low -= reach;
    else
      high += reach;
    if (low < 0 || high >= n) return false;
  }
  return true;
}

// The innermost dimension: n elements.
static void copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n, int bytes) {
  if (dst_stride == 1 && src_stride == 1) {
    memcpy(dst, src, (size_t)n * (size_t)bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++) cel_ref_move(bytes, src, i * src_stride, dst, i * dst_stride);
}

cel_status cel_ref_copy(const cel_ref_call *c, int rank, const int64_t *dims, const cel_ref_side *dst,
                        const cel_ref_side *src) {
  for (int d = 0; d < rank; d++)
    if (dims[d] <= 0) return CEL_OK;
  if (dst->t->type->etype != src->t->type->etype) return cel_ref_misfit(c, "element types differ");
  if (!inside(rank, dims, dst) || !inside(rank, dims, src)) return cel_ref_misfit(c, "reaches outside a tensor");
  int64_t index[CEL_HLO_MAX_RANK] = {0};
  int bytes = cel_ref_bytes(src->t->type->etype);
  int outer = rank > 0 ? rank - 1 : 0;
  int64_t n = rank > 0 ? dims[outer] : 1;
  do {
    int64_t to = dst->base + cel_ref_at(outer, dst->strides, index);
    int64_t from = src->base + cel_ref_at(outer, src->strides, index);
    copy_row((char *)dst->t->data + to * bytes, rank ? dst->strides[outer] : 1,
             (const char *)src->t->data + from * bytes, rank ? src->strides[outer] : 1, n, bytes);
  } while (cel_ref_next(outer, dims, index));
  return CEL_OK;
}
