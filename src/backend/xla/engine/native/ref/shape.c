// Constants and operations that only move elements by places known before the run.
#include "backend/xla/engine/native/ref/internal.h"
#include "base/checked.h"

static cel_status constant(const cel_ref_call *c) {
  const cel_hlo_attr *a = cel_hlo_find_attr(c->op, "value");
  const cel_ref_tensor *y = &c->out[0];
  if (!a || a->kind != CEL_HLO_ATTR_DENSE || a->type->kind != CEL_HLO_KIND_TENSOR ||
      a->type->etype != y->type->etype || cel_hlo_elements(a->type) != cel_hlo_elements(y->type))
    return cel_ref_misfit(c, "its value is no literal of the result's type");
  int64_t n = cel_hlo_elements(y->type);
  int bytes = cel_ref_bytes(y->type->etype);
  if (!a->splat && n) memcpy(y->data, a->data, (size_t)n * (size_t)bytes);
  for (int64_t i = 0; a->splat && i < n; i++) cel_ref_move(bytes, a->data, 0, y->data, i);
  return CEL_OK;
}

static void put_number(cel_etype t, void *p, int64_t i, int64_t x) {
  if (t == CEL_ET_PRED)
    cel_ref_put_int(t, p, i, x != 0);
  else
    cel_ref_convert_element(CEL_ET_I64, &x, 0, t, p, i);
}

static cel_status iota(const cel_ref_call *c) {
  const cel_ref_tensor *y = &c->out[0];
  int64_t dim, index[CEL_HLO_MAX_RANK] = {0};
  CEL_TRY(cel_ref_int_attr(c, "iota_dimension", 0, 0, y->type->rank, &dim));
  for (int64_t i = 0, n = cel_hlo_elements(y->type); i < n; i++) {
    put_number(y->type->etype, y->data, i, index[dim]);
    (void)cel_ref_next(y->type->rank, y->type->dims, index);
  }
  return CEL_OK;
}

static cel_ref_side whole(const cel_ref_tensor *t) {
  cel_ref_side s = {.t = t};
  cel_ref_strides(t->type->rank, t->type->dims, s.strides);
  return s;
}

static cel_status broadcast_in_dim(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t map[CEL_HLO_MAX_RANK];
  CEL_TRY(cel_ref_ints(c, "broadcast_dimensions", x->type->rank, 0, 0, y->type->rank, map));
  cel_ref_side to = whole(y), from = {.t = x}, natural = whole(x);
  for (int d = 0; d < x->type->rank; d++)  // a dimension of 1 is read again and again
    from.strides[map[d]] = x->type->dims[d] == 1 ? 0 : natural.strides[d];
  return cel_ref_copy(c, y->type->rank, y->type->dims, &to, &from);
}

static cel_status transpose(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t permutation[CEL_HLO_MAX_RANK];
  if (x->type->rank != y->type->rank) return cel_ref_misfit(c, "operand and result have different ranks");
  CEL_TRY(cel_ref_ints(c, "permutation", x->type->rank, 0, 0, x->type->rank, permutation));
  cel_ref_side to = whole(y), from = {.t = x}, natural = whole(x);
  for (int d = 0; d < x->type->rank; d++) from.strides[d] = natural.strides[permutation[d]];
  return cel_ref_copy(c, y->type->rank, y->type->dims, &to, &from);
}

static cel_status slice(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t start[CEL_HLO_MAX_RANK], stride[CEL_HLO_MAX_RANK];
  if (x->type->rank != y->type->rank) return cel_ref_misfit(c, "operand and result have different ranks");
  CEL_TRY(cel_ref_ints(c, "start_indices", x->type->rank, -1, 0, INT32_MAX, start));
  CEL_TRY(cel_ref_ints(c, "strides", x->type->rank, 1, 1, INT32_MAX, stride));
  cel_ref_side to = whole(y), from = whole(x);
  for (int d = 0; d < x->type->rank; d++) {
    int64_t last = x->type->dims[d] - 1 - start[d], n = y->type->dims[d];
    if (n > 0 && (last < 0 || (n - 1) > last / stride[d])) return cel_ref_misfit(c, "reaches outside the operand");
    if (n == 0) return CEL_OK;
    from.base += start[d] * from.strides[d];
    from.strides[d] *= stride[d];
  }
  return cel_ref_copy(c, y->type->rank, y->type->dims, &to, &from);
}

static cel_status reverse(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t dims[CEL_HLO_MAX_RANK];
  int n;
  if (x->type->rank != y->type->rank) return cel_ref_misfit(c, "operand and result have different ranks");
  CEL_TRY(cel_ref_list(c, "dimensions", 0, x->type->rank, dims, &n));
  cel_ref_side to = whole(y), from = whole(x);
  for (int i = 0; i < n; i++) {
    int64_t d = dims[i];
    if (from.strides[d] < 0) return cel_ref_misfit(c, "a dimension is listed twice");
    from.base += (x->type->dims[d] - 1) * from.strides[d];
    from.strides[d] = -from.strides[d];
  }
  return cel_ref_copy(c, y->type->rank, y->type->dims, &to, &from);
}

static cel_status concatenate(const cel_ref_call *c) {
  const cel_ref_tensor *y = &c->out[0];
  int64_t dim;
  CEL_TRY(cel_ref_int_attr(c, "dimension", 0, 0, y->type->rank, &dim));
  cel_ref_side to = whole(y);
  int64_t total = 0;
  for (int k = 0; k < c->op->n_operands; k++) {
    const cel_ref_tensor *x = &c->in[k];
    if (x->type->rank != y->type->rank) return cel_ref_misfit(c, "operands and result have different ranks");
    cel_ref_side from = whole(x);
    CEL_TRY(cel_ref_copy(c, x->type->rank, x->type->dims, &to, &from));
    to.base += x->type->dims[dim] * to.strides[dim];
    total += x->type->dims[dim];
  }
  return total == y->type->dims[dim] ? CEL_OK : cel_ref_misfit(c, "the operands do not fill the result");
}

static void fill(const cel_ref_tensor *y, const void *element) {
  int bytes = cel_ref_bytes(y->type->etype);
  for (int64_t i = 0, n = cel_hlo_elements(y->type); i < n; i++) cel_ref_move(bytes, element, 0, y->data, i);
}

// result[low + i * (interior + 1)] = operand[i] where that lies inside; low and high may be negative.
static cel_status pad(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int rank = x->type->rank;
  int64_t low[CEL_HLO_MAX_RANK], interior[CEL_HLO_MAX_RANK], index[CEL_HLO_MAX_RANK] = {0};
  if (c->op->n_operands != 2 || rank != y->type->rank || x->type->etype != y->type->etype ||
      c->in[1].type->etype != x->type->etype || c->in[1].type->rank != 0)
    return cel_ref_misfit(c, "operands and result do not fit");
  CEL_TRY(cel_ref_ints(c, "edge_padding_low", rank, 0, -INT32_MAX, INT32_MAX, low));
  CEL_TRY(cel_ref_ints(c, "interior_padding", rank, 0, 0, INT32_MAX, interior));
  for (int d = 0; d < rank; d++) {
    int64_t reach;
    if (x->type->dims[d] > 0 && (!cel_mul_i64(x->type->dims[d], interior[d] + 1, &reach) || reach > INT64_MAX / 2))
      return cel_ref_misfit(c, "a dimension becomes too large");
  }
  fill(y, c->in[1].data);
  int bytes = cel_ref_bytes(x->type->etype);
  cel_ref_side to = whole(y);
  for (int64_t i = 0, n = cel_hlo_elements(x->type); i < n; i++, (void)cel_ref_next(rank, x->type->dims, index)) {
    int64_t at = 0;
    bool inside = true;
    for (int d = 0; d < rank; d++) {
      int64_t place = low[d] + index[d] * (interior[d] + 1);
      inside = inside && place >= 0 && place < y->type->dims[d];
      if (inside) at += place * to.strides[d];
    }
    if (inside) cel_ref_move(bytes, x->data, i, y->data, at);
  }
  return CEL_OK;
}

static cel_status get_dimension_size(const cel_ref_call *c) {
  int64_t dim;
  CEL_TRY(cel_ref_int_attr(c, "dimension", -1, 0, c->in[0].type->rank, &dim));
  if (cel_hlo_elements(c->out[0].type) != 1) return cel_ref_misfit(c, "the result is no scalar");
  put_number(c->out[0].type->etype, c->out[0].data, 0, c->in[0].type->dims[dim]);
  return CEL_OK;
}

// start[d] = clamp(0, index operand d, dim - size), of a slice of `sizes` in x.
static cel_status starts(const cel_ref_call *c, int first, const cel_hlo_type *x, const int64_t *sizes,
                         int64_t *start) {
  if (c->op->n_operands != first + x->rank) return cel_ref_misfit(c, "it needs one start index per dimension");
  for (int d = 0; d < x->rank; d++) {
    const cel_ref_tensor *s = &c->in[first + d];
    if (s->type->rank != 0 || !cel_etype_is_int(s->type->etype))
      return cel_ref_misfit(c, "a start index is no integer scalar");
    int64_t i = cel_ref_get_int(s->type->etype, s->data, 0), most = x->dims[d] - sizes[d];
    if (i < 0 && cel_ref_class(s->type->etype) == 'U') i = INT64_MAX;
    if (most < 0) return cel_ref_misfit(c, "the slice is larger than the operand");
    start[d] = i < 0 ? 0 : i > most ? most : i;
  }
  return CEL_OK;
}

static cel_status dynamic_slice(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t start[CEL_HLO_MAX_RANK];
  if (x->type->rank != y->type->rank) return cel_ref_misfit(c, "operand and result have different ranks");
  CEL_TRY(starts(c, 1, x->type, y->type->dims, start));
  cel_ref_side to = whole(y), from = whole(x);
  from.base = cel_ref_at(x->type->rank, from.strides, start);
  return cel_ref_copy(c, y->type->rank, y->type->dims, &to, &from);
}

static cel_status dynamic_update_slice(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t start[CEL_HLO_MAX_RANK];
  if (c->op->n_operands < 2 || c->in[1].type->rank != x->type->rank || y->type->rank != x->type->rank)
    return cel_ref_misfit(c, "operand, update and result have different ranks");
  const cel_ref_tensor *update = &c->in[1];
  CEL_TRY(starts(c, 2, x->type, update->type->dims, start));
  cel_ref_side to = whole(y), from = whole(x), part = whole(update);
  CEL_TRY(cel_ref_copy(c, x->type->rank, x->type->dims, &to, &from));
  to.base = cel_ref_at(x->type->rank, to.strides, start);
  return cel_ref_copy(c, update->type->rank, update->type->dims, &to, &part);
}

cel_ref_fn *cel_ref_find_shape(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_CONSTANT: return constant;
    case CEL_HLO_IOTA: return iota;
    case CEL_HLO_BROADCAST_IN_DIM: return broadcast_in_dim;
    case CEL_HLO_TRANSPOSE: return transpose;
    case CEL_HLO_SLICE: return slice;
    case CEL_HLO_REVERSE: return reverse;
    case CEL_HLO_CONCATENATE: return concatenate;
    case CEL_HLO_PAD: return pad;
    case CEL_HLO_GET_DIMENSION_SIZE: return get_dimension_size;
    case CEL_HLO_DYNAMIC_SLICE: return dynamic_slice;
    case CEL_HLO_DYNAMIC_UPDATE_SLICE: return dynamic_update_slice;
    default: return NULL;
  }
}
