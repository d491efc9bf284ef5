// Builder functions: constants, elementwise and shape operations.
#include <string.h>

#include "backend/xla/hlo/build_core.h"

enum { R = CEL_HLO_MAX_RANK };

// ---- constants ---------------------------------------------------------------------------------

static hlo constant(cel_hlo_builder *b, const cel_hlo_type *t, const void *data, bool splat) {
  cel_hlo_op *op = t ? cel_build_op(b, CEL_HLO_CONSTANT, NULL, 0, 0) : NULL;
  if (!op) return NULL;
  cel_build_attr(b, op, cel_hlo_make_dense(b->module, "value", t, data, splat));
  return cel_build_finish(b, op);
}

hlo cel_hlo_splat(cel_hlo_builder *b, cel_etype e, int rank, const int64_t *dims, double value) {
  unsigned char element[16];
  const cel_hlo_type *t = cel_build_type(b, "stablehlo.constant", e, rank, dims);
  if (!t) return NULL;
  if (!cel_hlo_element_from_double(e, value, element)) {
    cel_hlo_refuse(b, CEL_INVALID, "stablehlo.constant: %s cannot hold %g", cel_etype_spelling(e), value);
    return NULL;
  }
  return constant(b, t, element, true);
}

hlo cel_hlo_dense(cel_hlo_builder *b, cel_etype e, int rank, const int64_t *dims, const void *data) {
  return constant(b, cel_build_type(b, "stablehlo.constant", e, rank, dims), data, false);
}

hlo cel_hlo_scalar(cel_hlo_builder *b, cel_etype e, double value) { return cel_hlo_splat(b, e, 0, NULL, value); }

hlo cel_hlo_iota(cel_hlo_builder *b, cel_etype e, int rank, const int64_t *dims, int dim) {
  const cel_hlo_type *t = cel_build_type(b, "stablehlo.iota", e, rank, dims);
  cel_hlo_op *op = t ? cel_build_op(b, CEL_HLO_IOTA, NULL, 0, 0) : NULL;
  cel_build_int(b, op, "iota_dimension", dim);
  return cel_build_finish_as(b, op, t);
}

// ---- elementwise -------------------------------------------------------------------------------

hlo cel_hlo_unary(cel_hlo_builder *b, cel_hlo_opcode code, hlo x) {
  return cel_build_finish(b, cel_build_op(b, code, &x, 1, 0));
}

hlo cel_hlo_binary(cel_hlo_builder *b, cel_hlo_opcode code, hlo x, hlo y) {
  return cel_build_finish(b, cel_build_op(b, code, (hlo[]){x, y}, 2, 0));
}

hlo cel_hlo_binary_scalar(cel_hlo_builder *b, cel_hlo_opcode code, hlo x, double y) {
  if (!x || !cel_build_ok(b)) return NULL;
  if (x->type->kind != CEL_HLO_KIND_TENSOR) {
    cel_hlo_refuse(b, CEL_INVALID, "%s: the operand is not a tensor", cel_hlo_opcode_name(code));
    return NULL;
  }
  hlo scalar = cel_hlo_scalar(b, x->type->etype, y);
  if (x->type->rank) scalar = cel_hlo_broadcast(b, scalar, x->type->rank, x->type->dims, NULL);
  return cel_hlo_binary(b, code, x, scalar);
}

static void add_word(cel_hlo_builder *b, cel_hlo_op *op, const char *name, const char *word) {
  if (op) cel_build_attr(b, op, cel_hlo_make_enum(b->module, name, cel_str_of(word)));
}

hlo cel_hlo_compare(cel_hlo_builder *b, const char *direction, hlo x, hlo y) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_COMPARE, (hlo[]){x, y}, 2, 0);
  if (!op) return NULL;
  add_word(b, op, "comparison_direction", direction);
  const char *kind = "FLOAT";
  switch (x->type->kind == CEL_HLO_KIND_TENSOR ? cel_etype_class(x->type->etype) : 'F') {
    case 'S': kind = "SIGNED"; break;
    case 'U':
    case 'P': kind = "UNSIGNED"; break;
    default: break;
  }
  add_word(b, op, "compare_type", kind);
  return cel_build_finish(b, op);
}

hlo cel_hlo_select(cel_hlo_builder *b, hlo pred, hlo on_true, hlo on_false) {
  return cel_build_finish(b, cel_build_op(b, CEL_HLO_SELECT, (hlo[]){pred, on_true, on_false}, 3, 0));
}

hlo cel_hlo_convert(cel_hlo_builder *b, hlo x, cel_etype e) {
  if (!x || !cel_build_ok(b) || (x->type->kind == CEL_HLO_KIND_TENSOR && x->type->etype == e))
    return cel_build_ok(b) ? x : NULL;
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_CONVERT, &x, 1, 0);
  return cel_build_finish_as(b, op, cel_build_type(b, "stablehlo.convert", e, x->type->rank, x->type->dims));
}

hlo cel_hlo_bitcast(cel_hlo_builder *b, hlo x, cel_etype e) {
  if (!x || !cel_build_ok(b)) return NULL;
  int from = cel_etype_bits(x->type->etype), to = cel_etype_bits(e), rank = x->type->rank;
  int64_t dims[R + 1];
  memcpy(dims, x->type->dims, sizeof x->type->dims);
  // Narrower: the parts become a last dimension. Wider: the last dimension goes into the elements.
  if (to && from > to) dims[rank++] = from / to;
  else if (from < to) rank--;
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_BITCAST_CONVERT, &x, 1, 0);
  return cel_build_finish_as(b, op, cel_build_type(b, "stablehlo.bitcast_convert", e, rank, dims));
}

// ---- shape -------------------------------------------------------------------------------------

hlo cel_hlo_reshape(cel_hlo_builder *b, hlo x, int rank, const int64_t *dims) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_RESHAPE, &x, 1, 0);
  if (!op) return NULL;
  return cel_build_finish_as(b, op, cel_build_type(b, "stablehlo.reshape", x->type->etype, rank, dims));
}

hlo cel_hlo_broadcast(cel_hlo_builder *b, hlo x, int rank, const int64_t *dims, const int64_t *map) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_BROADCAST_IN_DIM, &x, 1, 0);
  if (!op) return NULL;
  cel_build_ints(b, op, "broadcast_dimensions", map, x->type->rank);
  return cel_build_finish_as(b, op, cel_build_type(b, "stablehlo.broadcast_in_dim", x->type->etype, rank, dims));
}

hlo cel_hlo_transpose(cel_hlo_builder *b, hlo x, const int64_t *permutation) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_TRANSPOSE, &x, 1, 0);
  if (op) cel_build_ints(b, op, "permutation", permutation, x->type->rank);
  return cel_build_finish(b, op);
}

hlo cel_hlo_slice(cel_hlo_builder *b, hlo x, const int64_t *start, const int64_t *limit, const int64_t *strides) {
  static const int64_t ones[R] = {1, 1, 1, 1, 1, 1, 1, 1};
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_SLICE, &x, 1, 0);
  if (!op) return NULL;
  cel_build_ints(b, op, "start_indices", start, x->type->rank);
  cel_build_ints(b, op, "limit_indices", limit, x->type->rank);
  cel_build_ints(b, op, "strides", strides ? strides : ones, x->type->rank);
  return cel_build_finish(b, op);
}

hlo cel_hlo_slice_dim(cel_hlo_builder *b, hlo x, int dim, int64_t start, int64_t limit, int64_t stride) {
  int64_t starts[R] = {0}, limits[R], strides[R] = {1, 1, 1, 1, 1, 1, 1, 1};
  if (!x || !cel_build_ok(b)) return NULL;
  if (dim < 0 || dim >= x->type->rank) {
    cel_hlo_refuse(b, CEL_INVALID, "stablehlo.slice: dimension %d of a rank of %d", dim, x->type->rank);
    return NULL;
  }
  memcpy(limits, x->type->dims, sizeof limits);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return cel_hlo_slice(b, x, starts, limits, strides);
}

hlo cel_hlo_concat(cel_hlo_builder *b, const hlo *parts, int n, int dim) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_CONCATENATE, parts, n, 0);
  cel_build_int(b, op, "dimension", dim);
  return cel_build_finish(b, op);
}

hlo cel_hlo_dynamic_slice(cel_hlo_builder *b, hlo x, const hlo *starts, const int64_t *sizes) {
  hlo operands[1 + R] = {x};
  if (!x || !cel_build_ok(b)) return NULL;
  for (int i = 0; i < x->type->rank; i++) operands[1 + i] = starts[i];
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_DYNAMIC_SLICE, operands, 1 + x->type->rank, 0);
  cel_build_ints(b, op, "slice_sizes", sizes, x->type->rank);
  return cel_build_finish(b, op);
}

hlo cel_hlo_dynamic_update_slice(cel_hlo_builder *b, hlo x, hlo update, const hlo *starts) {
  hlo operands[2 + R] = {x, update};
  if (!x || !cel_build_ok(b)) return NULL;
  for (int i = 0; i < x->type->rank; i++) operands[2 + i] = starts[i];
  return cel_build_finish(b, cel_build_op(b, CEL_HLO_DYNAMIC_UPDATE_SLICE, operands, 2 + x->type->rank, 0));
}
