// Builder functions: contraction, reduction, gather and scatter, calls and composites.
#include <math.h>
#include <string.h>

#include "backend/xla/hlo/build_core.h"

enum { R = CEL_HLO_MAX_RANK };

static bool both_f32(hlo x, hlo y) { return x && y && x->type->etype == CEL_ET_F32 && y->type->etype == CEL_ET_F32; }

// precision_config = [HIGHEST, HIGHEST]
static void ask_for_f32(cel_hlo_builder *b, cel_hlo_op *op) {
  cel_arena *arena = &b->module->arena;
  cel_hlo_attr *list = CEL_NEW(arena, cel_hlo_attr), *word = CEL_NEW(arena, cel_hlo_attr);
  cel_hlo_attr **words = CEL_NEW_ARRAY(arena, cel_hlo_attr *, 2);
  if (!list || !word || !words) {
    cel_build_oom(b);
    return;
  }
  *word = (cel_hlo_attr){.kind = CEL_HLO_ATTR_ENUM, .s = "HIGHEST", .n = 7};
  words[0] = words[1] = word;
  *list = (cel_hlo_attr){.name = "precision_config", .kind = CEL_HLO_ATTR_LIST, .list = words, .n = 2};
  cel_build_attr(b, op, list);
}

hlo cel_hlo_dot(cel_hlo_builder *b, hlo x, hlo y, const cel_hlo_dot_dims *d, cel_etype result) {
  cel_hlo_dots dots = both_f32(x, y) ? b->dots : CEL_HLO_DOTS_PLAIN;
  if (dots == CEL_HLO_DOTS_F16 || dots == CEL_HLO_DOTS_BF16) {
    cel_etype narrow = dots == CEL_HLO_DOTS_F16 ? CEL_ET_F16 : CEL_ET_BF16;
    x = cel_hlo_convert(b, x, narrow);
    y = cel_hlo_convert(b, y, narrow);
  }
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_DOT_GENERAL, (hlo[]){x, y}, 2, 0);
  const cel_hlo_type **types;
  int n;
  if (!op) return NULL;
  cel_build_ints(b, op, "lhs_batching_dimensions", d->lhs_batch, d->n_batch);
  cel_build_ints(b, op, "rhs_batching_dimensions", d->rhs_batch, d->n_batch);
  cel_build_ints(b, op, "lhs_contracting_dimensions", d->lhs_contract, d->n_contract);
  cel_build_ints(b, op, "rhs_contracting_dimensions", d->rhs_contract, d->n_contract);
  if (dots == CEL_HLO_DOTS_F32) ask_for_f32(b, op);
  if (!cel_build_ok(b)) return NULL;
  // The rules give the shape; the element type is the caller's. An error is made to stick by finish.
  if (cel_hlo_infer(b->module, op, &types, &n, NULL) != CEL_OK) return cel_build_finish(b, op);
  return cel_build_finish_as(b, op, cel_build_type(b, op->name, result, types[0]->rank, types[0]->dims));
}

// ---- regions -----------------------------------------------------------------------------------

// Region 0 of op: (a, b) -> op a, b, or -> b when `code` is REGION_RETURN. Scalars of e. Its operations
// carry no path: the one around them says where they come from.
static void fold_region(cel_hlo_builder *b, cel_hlo_op *op, cel_hlo_opcode code, cel_etype e) {
  if (!op || !cel_build_ok(b)) return;
  cel_hlo_block *outer = b->block;
  const cel_hlo_type *t = cel_hlo_scalar_type(b->module, e), *types[2] = {t, t};
  cel_hlo_block *block = t ? cel_hlo_region_new(b->func, op, 0, types, 2) : NULL;
  if (!block) {
    cel_build_oom(b);
    return;
  }
  b->block = block;
  hlo value = code == CEL_HLO_REGION_RETURN ? block->args[1] : cel_hlo_binary(b, code, block->args[0], block->args[1]);
  cel_build_finish(b, cel_build_op(b, CEL_HLO_REGION_RETURN, &value, 1, 0));
  for (cel_hlo_op *inner = block->first; inner; inner = inner->next) inner->path = NULL;
  b->block = outer;
}

// The value that changes nothing; false where the operation or the type has none.
static bool identity_of(cel_hlo_opcode code, cel_etype e, unsigned char out[16]) {
  char class = cel_etype_class(e);
  int bits = cel_etype_bits(e);
  bool is_float = class == 'F', ordered = class != 'C';
  int64_t most = class == 'P' ? 1 : class == 'S' ? INT64_MAX >> (64 - bits) : 0, least = class == 'S' ? -most - 1 : 0;
  if (class == 'U') most = bits == 64 ? -1 : (int64_t)(((uint64_t)1 << bits) - 1);
  switch (code) {
    case CEL_HLO_ADD: return cel_hlo_element_from_double(e, 0, out);
    case CEL_HLO_MULTIPLY: return cel_hlo_element_from_double(e, 1, out);
    case CEL_HLO_MAXIMUM:
      if (!ordered) return false;
      if (!is_float) return cel_hlo_element_from_int(e, least, out);
      return cel_hlo_element_from_double(e, e == CEL_ET_F8E4M3FN ? -448.0 : -(double)INFINITY, out);
    case CEL_HLO_MINIMUM:
      if (!ordered) return false;
      if (!is_float) return cel_hlo_element_from_int(e, most, out);
      return cel_hlo_element_from_double(e, e == CEL_ET_F8E4M3FN ? 448.0 : (double)INFINITY, out);
    case CEL_HLO_AND:
      return ordered && !is_float && cel_hlo_element_from_int(e, class == 'S' ? -1 : most, out);
    case CEL_HLO_OR: return ordered && !is_float && cel_hlo_element_from_int(e, 0, out);
    default: return false;
  }
}

hlo cel_hlo_reduce(cel_hlo_builder *b, cel_hlo_opcode code, hlo x, const int64_t *dims, int n) {
  unsigned char identity[16];
  if (!x || !cel_build_ok(b)) return NULL;
  cel_etype e = x->type->etype;
  if (x->type->kind != CEL_HLO_KIND_TENSOR || !identity_of(code, e, identity)) {
    cel_hlo_refuse(b, CEL_INVALID, "stablehlo.reduce: there is no %s over %s", cel_hlo_opcode_name(code),
                   cel_etype_spelling(e));
    return NULL;
  }
  hlo init = cel_hlo_dense(b, e, 0, NULL, identity);
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_REDUCE, (hlo[]){x, init}, 2, 1);
  cel_build_ints(b, op, "dimensions", dims, n);
  fold_region(b, op, code, e);
  return cel_build_finish(b, op);
}

hlo cel_hlo_gather(cel_hlo_builder *b, hlo x, hlo indices, const cel_hlo_gather_dims *d) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_GATHER, (hlo[]){x, indices}, 2, 0);
  if (!op) return NULL;
  cel_build_ints(b, op, "offset_dims", d->offset, d->n_offset);
  cel_build_ints(b, op, "collapsed_slice_dims", d->collapsed, d->n_collapsed);
  cel_build_ints(b, op, "operand_batching_dims", d->operand_batch, d->n_operand_batch);
  cel_build_ints(b, op, "start_indices_batching_dims", d->indices_batch, d->n_operand_batch);
  cel_build_ints(b, op, "start_index_map", d->index_map, d->n_index_map);
  cel_build_int(b, op, "index_vector_dim", d->index_vector_dim);
  cel_build_ints(b, op, "slice_sizes", d->slice_sizes, x->type->rank);
  cel_build_attr(b, op, cel_hlo_make_bool(b->module, "indices_are_sorted", false));
  return cel_build_finish(b, op);
}

hlo cel_hlo_take_rows(cel_hlo_builder *b, hlo x, hlo ids) {
  if (!x || !ids || !cel_build_ok(b)) return NULL;
  if (x->type->rank < 1 || ids->type->rank != 1) {
    cel_hlo_refuse(b, CEL_INVALID, "stablehlo.gather: rows of a rank of %d by ids of a rank of %d (1 and more, and 1)",
                   x->type->rank, ids->type->rank);
    return NULL;
  }
  cel_hlo_gather_dims d = {.n_offset = x->type->rank - 1, .n_collapsed = 1, .n_index_map = 1, .index_vector_dim = 1};
  for (int i = 1; i < x->type->rank; i++) d.offset[i - 1] = i;
  memcpy(d.slice_sizes, x->type->dims, sizeof d.slice_sizes);
  d.slice_sizes[0] = 1;
  return cel_hlo_gather(b, x, ids, &d);
}

hlo cel_hlo_scatter(cel_hlo_builder *b, hlo x, hlo indices, hlo updates, const cel_hlo_scatter_dims *d, bool add) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_SCATTER, (hlo[]){x, indices, updates}, 3, 1);
  if (!op) return NULL;
  cel_build_ints(b, op, "update_window_dims", d->window, d->n_window);
  cel_build_ints(b, op, "inserted_window_dims", d->inserted, d->n_inserted);
  cel_build_ints(b, op, "input_batching_dims", d->input_batch, d->n_input_batch);
  cel_build_ints(b, op, "scatter_indices_batching_dims", d->indices_batch, d->n_input_batch);
  cel_build_ints(b, op, "scatter_dims_to_operand_dims", d->index_map, d->n_index_map);
  cel_build_int(b, op, "index_vector_dim", d->index_vector_dim);
  cel_build_attr(b, op, cel_hlo_make_bool(b->module, "indices_are_sorted", false));
  cel_build_attr(b, op, cel_hlo_make_bool(b->module, "unique_indices", false));
  fold_region(b, op, add ? CEL_HLO_ADD : CEL_HLO_REGION_RETURN, x->type->etype);
  return cel_build_finish(b, op);
}

// ---- calls and composites ----------------------------------------------------------------------

// The callee is whole and takes these arguments.
static bool callable(cel_hlo_builder *b, const char *what, const cel_hlo_func *f, const hlo *args, int n) {
  if (!f || !cel_build_ok(b)) return false;
  for (int i = 0; i < n; i++)
    if (!args[i]) return false;
  if (!f->body || !f->body->last || f->body->last->opcode != CEL_HLO_RETURN) {
    cel_hlo_refuse(b, CEL_INVALID, "%s: @%.100s is not finished, its results are not known", what, f->name);
    return false;
  }
  if (f->body->n_args != n) {
    cel_hlo_refuse(b, CEL_INVALID, "%s: @%.100s takes %d arguments, there are %d", what, f->name, f->body->n_args, n);
    return false;
  }
  for (int i = 0; i < n; i++) {
    char got[160], want[160];
    if (args[i]->type == f->body->args[i]->type) continue;
    cel_hlo_type_text(args[i]->type, got, sizeof got);
    cel_hlo_type_text(f->body->args[i]->type, want, sizeof want);
    cel_hlo_refuse(b, CEL_INVALID, "%s: argument %d of @%.100s is %s, it must be %s", what, i, f->name, got, want);
    return false;
  }
  return true;
}

hlo cel_hlo_call(cel_hlo_builder *b, const cel_hlo_func *callee, const hlo *args, int n) {
  if (!callable(b, "func.call", callee, args, n)) return NULL;
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_CALL, args, n, 0);
  if (op) cel_build_attr(b, op, cel_hlo_make_symbol(b->module, "callee", cel_str_of(callee->name)));
  return cel_build_finish_many(b, op, callee->result_types, callee->n_results);
}

static cel_hlo_attr *or_oom(cel_hlo_builder *b, cel_hlo_attr *a) {
  if (!a) cel_build_oom(b);
  return a;
}

cel_hlo_attr *cel_hlo_new_int(cel_hlo_builder *b, const char *name, cel_etype e, int64_t value) {
  return or_oom(b, cel_hlo_make_int(b->module, name, e, value));
}
cel_hlo_attr *cel_hlo_new_float(cel_hlo_builder *b, const char *name, cel_etype e, double value) {
  return or_oom(b, cel_hlo_make_float(b->module, name, e, value));
}
cel_hlo_attr *cel_hlo_new_string(cel_hlo_builder *b, const char *name, const char *value) {
  return or_oom(b, cel_hlo_make_string(b->module, name, cel_str_of(value)));
}
cel_hlo_attr *cel_hlo_new_bool(cel_hlo_builder *b, const char *name, bool value) {
  return or_oom(b, cel_hlo_make_bool(b->module, name, value));
}

hlo cel_hlo_composite(cel_hlo_builder *b, const char *name, const hlo *args, int n, cel_hlo_attr **attrs, int n_attrs,
                      const cel_hlo_func *decomposition) {
  if (!callable(b, "stablehlo.composite", decomposition, args, n)) return NULL;
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_COMPOSITE, args, n, 0);
  if (!op) return NULL;
  cel_build_attr(b, op, cel_hlo_make_string(b->module, "name", cel_str_of(name)));
  if (n_attrs) cel_build_attr(b, op, cel_hlo_make_dict(b->module, "composite_attributes", attrs, n_attrs));
  cel_build_attr(b, op, cel_hlo_make_symbol(b->module, "decomposition", cel_str_of(decomposition->name)));
  return cel_build_finish_many(b, op, decomposition->result_types, decomposition->n_results);
}
