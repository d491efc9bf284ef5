// Rules of operations with regions.
#include <string.h>

#include "backend/xla/hlo/shape.h"

enum { R = CEL_HLO_MAX_RANK };

static const cel_hlo_type *scalar(cel_shape *s, cel_etype e) { return cel_hlo_scalar_type(s->m, e); }

cel_status cel_shape_reducer(cel_shape *s, int region, int n, int first, int rank, const int64_t *dims) {
  const cel_hlo_op *end;
  CEL_TRY(cel_shape_region(s, region, NULL, -1, &end));
  const cel_hlo_block *b = s->op->regions[region];
  if (end->n_operands != n || b->n_args != 2 * n)
    return cel_shape_fail(s, "the region has %d arguments and returns %d values, it takes %d and returns %d", b->n_args,
                          end->n_operands, 2 * n, n);
  CEL_TRY(cel_shape_room(s, n));
  for (int i = 0; i < n; i++) {
    const cel_hlo_type *e = end->operands[i]->type, *from = cel_shape_in(s, first + i);
    cel_shape_text a, w;
    // spec (C6): a scalar; producers also reduce rows into rows ("tensor<4xf32>"), which has no meaning here
    if (!cel_hlo_is_scalar(e) || !cel_shape_promotable(from->etype, e->etype))
      return cel_shape_fail(s, "the region returns %s for %s, it must return a scalar of that element type or a wider "
                            "one",
                            cel_shape_show(&a, e), cel_shape_show(&w, from));
    for (int k = i; k < 2 * n; k += n)
      if (!cel_hlo_type_equal(b->args[k]->type, e))
        return cel_shape_fail(s, "argument %d of the region is %s, it must be %s", k,
                              cel_shape_show(&a, b->args[k]->type), cel_shape_show(&w, e));
    CEL_TRY(cel_shape_tensor(s, e->etype, rank, dims, &s->types[i]));
  }
  return CEL_OK;
}

// n inputs of one shape, then n scalars of their element types.
static cel_status check_inits(cel_shape *s, int *n) {
  *n = s->op->n_operands / 2;
  if (s->op->n_operands != 2 * *n)
    return cel_shape_fail(s, "%d operands, it takes as many inputs as initial values", s->op->n_operands);
  for (int i = 0; i < *n; i++) {
    const cel_hlo_type *x = cel_shape_in(s, i), *init = cel_shape_in(s, *n + i);
    cel_shape_text a, b;
    if (!cel_shape_same_dims(x, cel_shape_in(s, 0)))
      return cel_shape_fail(s, "input %d is %s, it must have the shape of %s", i, cel_shape_show(&a, x),
                            cel_shape_show(&b, cel_shape_in(s, 0)));
    if (init->rank || init->etype != x->etype)
      return cel_shape_fail(s, "initial value %d is %s, it must be a scalar of %s", i, cel_shape_show(&a, init),
                            cel_etype_spelling(x->etype));
  }
  return CEL_OK;
}

cel_status cel_rule_reduce(cel_shape *s) {
  int64_t over[R], dims[R];
  int n, n_over, rank = 0;
  CEL_TRY(check_inits(s, &n));
  const cel_hlo_type *x = cel_shape_in(s, 0);
  if (!cel_hlo_find_attr(s->op, "dimensions")) return cel_shape_fail(s, "attribute dimensions is missing");
  CEL_TRY(cel_shape_dims(s, "dimensions", x->rank, over, &n_over));
  for (int i = 0; i < x->rank; i++)
    if (!cel_shape_has(over, n_over, i)) dims[rank++] = x->dims[i];
  return cel_shape_reducer(s, 0, n, 0, rank, dims);
}

cel_status cel_rule_reduce_window(cel_shape *s) {
  int64_t window[R], stride[R], base[R], dilation[R], low[R], high[R], dims[R];
  int n;
  CEL_TRY(check_inits(s, &n));
  const cel_hlo_type *x = cel_shape_in(s, 0);
  CEL_TRY(cel_shape_ints(s, "window_dimensions", x->rank, 1, window));
  CEL_TRY(cel_shape_ints_or(s, "window_strides", x->rank, 1, 1, stride));
  CEL_TRY(cel_shape_ints_or(s, "base_dilations", x->rank, 1, 1, base));
  CEL_TRY(cel_shape_ints_or(s, "window_dilations", x->rank, 1, 1, dilation));
  CEL_TRY(cel_shape_padding(s, x->rank, low, high));
  for (int i = 0; i < x->rank; i++)
    CEL_TRY(cel_shape_windows(s, x->dims[i], base[i], low[i], high[i], window[i], dilation[i], stride[i], &dims[i]));
  return cel_shape_reducer(s, 0, n, 0, x->rank, dims);
}

cel_status cel_rule_map(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  int n = s->op->n_operands, n_over;
  int64_t over[R];
  CEL_TRY(cel_shape_dims(s, "dimensions", x->rank, over, &n_over));
  for (int i = 0; i < x->rank; i++)
    if (n_over != x->rank || over[i] != i) return cel_shape_fail(s, "dimensions must be 0 .. %d in order", x->rank - 1);
  const cel_hlo_op *end;
  CEL_TRY(cel_shape_region(s, 0, NULL, -1, &end));
  const cel_hlo_block *b = s->op->regions[0];
  if (b->n_args != n) return cel_shape_fail(s, "the region has %d arguments, it takes %d", b->n_args, n);
  for (int i = 0; i < n; i++) {
    cel_shape_text a, w;
    if (!cel_shape_same_dims(cel_shape_in(s, i), x))
      return cel_shape_fail(s, "operand %d is %s, it must have the shape of %s", i,
                            cel_shape_show(&a, cel_shape_in(s, i)), cel_shape_show(&w, x));
    if (!cel_hlo_is_scalar(b->args[i]->type) || b->args[i]->type->etype != cel_shape_in(s, i)->etype)
      return cel_shape_fail(s, "argument %d of the region is %s, it must be a scalar of %s", i,
                            cel_shape_show(&a, b->args[i]->type), cel_etype_spelling(cel_shape_in(s, i)->etype));
  }
  if (end->n_operands != 1 || !cel_hlo_is_scalar(end->operands[0]->type))
    return cel_shape_fail(s, "the region must return one scalar");
  return cel_shape_give_tensor(s, end->operands[0]->type->etype, x->rank, x->dims);
}

// The region takes two scalars of e per input and returns one i1 scalar.
static cel_status check_predicate(cel_shape *s, int region, int n) {
  const cel_hlo_op *end;
  const cel_hlo_type **args = CEL_NEW_ARRAY(&s->m->arena, const cel_hlo_type *, 2 * n);
  if (!args) return cel_fail_oom(s->err, "argument types");
  for (int i = 0; i < 2 * n; i++)
    if (!(args[i] = scalar(s, cel_shape_in(s, i / 2)->etype))) return cel_fail_oom(s->err, "argument types");
  CEL_TRY(cel_shape_region(s, region, args, 2 * n, &end));
  if (end->n_operands != 1 || !cel_hlo_is_scalar(end->operands[0]->type) ||
      end->operands[0]->type->etype != CEL_ET_PRED)
    return cel_shape_fail(s, "region %d must return one tensor<i1>", region);
  return CEL_OK;
}

cel_status cel_rule_select_and_scatter(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *source = cel_shape_in(s, 1), *init = cel_shape_in(s, 2);
  int64_t window[R], stride[R], low[R], high[R];
  if (source->etype != x->etype || source->rank != x->rank || init->rank || init->etype != x->etype)
    return cel_shape_fail(s, "source and initial value must have the operand's element type, and the source its rank");
  CEL_TRY(cel_shape_ints(s, "window_dimensions", x->rank, 1, window));
  CEL_TRY(cel_shape_ints_or(s, "window_strides", x->rank, 1, 1, stride));
  CEL_TRY(cel_shape_padding(s, x->rank, low, high));
  for (int i = 0; i < x->rank; i++) {
    int64_t n;
    CEL_TRY(cel_shape_windows(s, x->dims[i], 1, low[i], high[i], window[i], 1, stride[i], &n));
    if (n != source->dims[i])
      return cel_shape_fail(s, "dimension %d of the source is %lld, there are %lld windows", i,
                            (long long)source->dims[i], (long long)n);
  }
  CEL_TRY(check_predicate(s, 0, 1));
  return cel_shape_reducer(s, 1, 1, 0, x->rank, x->dims);
}

cel_status cel_rule_sort(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  int n = s->op->n_operands;
  int64_t d;
  for (int i = 1; i < n; i++) {
    cel_shape_text a, b;
    if (!cel_shape_same_dims(cel_shape_in(s, i), x))
      return cel_shape_fail(s, "operand %d is %s, it must have the shape of %s", i,
                            cel_shape_show(&a, cel_shape_in(s, i)), cel_shape_show(&b, x));
  }
  CEL_TRY(cel_shape_int_or(s, "dimension", -1, -x->rank, x->rank - 1, &d));
  CEL_TRY(cel_shape_bool(s, "is_stable"));
  CEL_TRY(check_predicate(s, 0, n));
  CEL_TRY(cel_shape_room(s, n));
  for (int i = 0; i < n; i++) s->types[i] = cel_shape_in(s, i);
  return CEL_OK;
}

// Branches without arguments that return the same types; those are the results.
static cel_status check_branches(cel_shape *s) {
  const cel_hlo_op *first, *end;
  if (s->op->n_regions < 1) return cel_shape_fail(s, "it has no branches");
  CEL_TRY(cel_shape_region(s, 0, NULL, 0, &first));
  for (int i = 1; i < s->op->n_regions; i++) {
    CEL_TRY(cel_shape_region(s, i, NULL, 0, &end));
    if (end->n_operands != first->n_operands)
      return cel_shape_fail(s, "branch %d returns %d values, branch 0 returns %d", i, end->n_operands,
                            first->n_operands);
    for (int k = 0; k < end->n_operands; k++) {
      cel_shape_text a, b;
      if (!cel_hlo_type_equal(end->operands[k]->type, first->operands[k]->type))
        return cel_shape_fail(s, "branch %d returns %s as value %d, branch 0 returns %s", i,
                              cel_shape_show(&a, end->operands[k]->type), k,
                              cel_shape_show(&b, first->operands[k]->type));
    }
  }
  CEL_TRY(cel_shape_room(s, first->n_operands));
  for (int k = 0; k < s->n; k++) s->types[k] = first->operands[k]->type;
  return CEL_OK;
}

cel_status cel_rule_if(cel_shape *s) {
  cel_shape_text text;
  if (cel_shape_in(s, 0)->rank)
    return cel_shape_fail(s, "operand 0 is %s, it must be tensor<i1>", cel_shape_show(&text, cel_shape_in(s, 0)));
  return check_branches(s);
}

cel_status cel_rule_case(cel_shape *s) {
  const cel_hlo_type *index = cel_shape_in(s, 0);
  cel_shape_text text;
  if (index->rank || index->etype != CEL_ET_I32)
    return cel_shape_fail(s, "operand 0 is %s, it must be tensor<i32>", cel_shape_show(&text, index));
  return check_branches(s);
}

cel_status cel_rule_while(cel_shape *s) {
  int n = s->op->n_operands;
  const cel_hlo_op *end;
  CEL_TRY(cel_shape_room(s, n));
  for (int i = 0; i < n; i++) s->types[i] = cel_shape_in(s, i);
  CEL_TRY(cel_shape_region(s, 0, s->types, n, &end));
  if (end->n_operands != 1 || !cel_hlo_is_scalar(end->operands[0]->type) ||
      end->operands[0]->type->etype != CEL_ET_PRED)
    return cel_shape_fail(s, "the condition must return one tensor<i1>");
  CEL_TRY(cel_shape_region(s, 1, s->types, n, &end));
  if (end->n_operands != n) return cel_shape_fail(s, "the body returns %d values, it carries %d", end->n_operands, n);
  for (int i = 0; i < n; i++) {
    cel_shape_text a, b;
    if (!cel_hlo_type_equal(end->operands[i]->type, s->types[i]))
      return cel_shape_fail(s, "the body returns %s as value %d, it must be %s",
                            cel_shape_show(&a, end->operands[i]->type), i, cel_shape_show(&b, s->types[i]));
  }
  return CEL_OK;
}
