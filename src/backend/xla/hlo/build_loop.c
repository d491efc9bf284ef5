// Builder functions: the counted loop, a stablehlo.while whose regions use nothing from around them but what is carried.
#include "backend/xla/hlo/build_core.h"

// Region `i` of the loop, with the builder inside it; NULL after an error.
static cel_hlo_block *open_region(cel_hlo_builder *b, cel_hlo_op *op, int i) {
  const cel_hlo_type *types[CEL_HLO_LOOP_MOST + 1];
  for (int k = 0; k < op->n_operands; k++) types[k] = op->operands[k]->type;
  cel_hlo_block *block = cel_hlo_region_new(b->func, op, i, types, op->n_operands);
  if (block) b->block = block;
  else cel_build_oom(b);
  return block;
}

hlo cel_hlo_loop_begin(cel_hlo_builder *b, cel_hlo_loop *l, int64_t turns, const hlo *carried, int n) {
  *l = (cel_hlo_loop){.outer = b->block, .n = n};
  if (n > CEL_HLO_LOOP_MOST) {
    cel_hlo_refuse(b, CEL_INVALID, "stablehlo.while: a loop of %d values, at most %d", n, CEL_HLO_LOOP_MOST);
    return NULL;
  }
  hlo operands[CEL_HLO_LOOP_MOST + 1] = {cel_hlo_scalar(b, CEL_ET_I32, 0)};
  for (int i = 0; i < n; i++) operands[i + 1] = carried[i];
  l->op = cel_build_op(b, CEL_HLO_WHILE, operands, n + 1, 2);
  cel_hlo_block *condition = l->op ? open_region(b, l->op, 0) : NULL;
  if (!condition) return NULL;
  hlo go = cel_hlo_compare(b, "LT", condition->args[0], cel_hlo_scalar(b, CEL_ET_I32, (double)turns));
  cel_build_finish(b, cel_build_op(b, CEL_HLO_REGION_RETURN, &go, 1, 0));
  cel_hlo_block *body = cel_build_ok(b) ? open_region(b, l->op, 1) : NULL;
  if (!body) return NULL;
  for (int i = 0; i < n; i++) l->carried[i] = body->args[i + 1];
  return l->counter = body->args[0];
}

void cel_hlo_loop_end(cel_hlo_builder *b, cel_hlo_loop *l, const hlo *next) {
  hlo values[CEL_HLO_LOOP_MOST + 1] = {0};
  if (l->op && cel_build_ok(b)) {
    values[0] = cel_hlo_binary(b, CEL_HLO_ADD, l->counter, cel_hlo_scalar(b, CEL_ET_I32, 1));
    for (int i = 0; i < l->n; i++) values[i + 1] = next[i];
    cel_build_finish(b, cel_build_op(b, CEL_HLO_REGION_RETURN, values, l->n + 1, 0));
  }
  b->block = l->outer;
  for (int i = 0; i < l->n; i++) l->carried[i] = NULL;
  if (!l->op || !cel_build_ok(b) || !cel_build_finish(b, l->op)) return;
  for (int i = 0; i < l->n; i++) l->carried[i] = &l->op->results[i + 1];
}
