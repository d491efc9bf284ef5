// Regions on scalars: prepared once per operation, applied per element.
#include "backend/xla/engine/native/ref/internal.h"

static bool is_scalar(const cel_hlo_type *t) { return t->kind == CEL_HLO_KIND_TENSOR && t->rank == 0; }

// A body of one binary operation on its two arguments.
static void find_short_cut(cel_ref_body *b) {
  const cel_hlo_op *op = b->block->first, *end = b->block->last;
  if (end->n_operands != b->n_results) return;
  if (b->n_results == 1 && op == end && !end->operands[0]->def && end->operands[0]->block == b->block) {
    b->returned = end->operands[0]->index;
    return;
  }
  if (b->n_args != 2 || b->n_results != 1 || op->next != end || op->n_operands != 2 || op->n_results != 1) return;
  const cel_hlo_value *x = b->block->args[0], *y = b->block->args[1];
  b->swapped = op->operands[0] == y && op->operands[1] == x;
  if (!b->swapped && (op->operands[0] != x || op->operands[1] != y)) return;
  if (end->operands[0] != &op->results[0] || x->type != y->type || x->type != op->results[0].type) return;
  b->is_binary = cel_ref_binary_of(op->opcode, b->etype, &b->binary);
}

cel_status cel_ref_body_init(cel_ref_body *b, const cel_ref_call *c, int region, int n_args, int n_results) {
  *b = (cel_ref_body){.call = c, .n_args = n_args, .n_results = n_results, .returned = -1};
  b->block = region < c->op->n_regions ? c->op->regions[region] : NULL;
  if (!b->block || !b->block->last) return cel_ref_misfit(c, "its region is empty");
  if (n_args > CEL_REF_MAX_SCALARS)
    return cel_fail(c->err, CEL_UNSUPPORTED, "%s with %d arguments of its region, at most %d are possible",
                    c->op->name, n_args, (int)CEL_REF_MAX_SCALARS);
  if (b->block->n_args != n_args)
    return cel_fail(c->err, CEL_INVALID, "%s: its region has %d arguments, it needs %d", c->op->name,
                    b->block->n_args, n_args);
  for (int i = 0; i < n_args; i++)
    if (!is_scalar(b->block->args[i]->type)) return cel_ref_misfit(c, "an argument of its region is no scalar");
  if (n_args > 0) b->etype = b->block->args[0]->type->etype;
  find_short_cut(b);
  return CEL_OK;
}

bool cel_ref_body_returns(const cel_ref_body *b, int k, cel_etype t) {
  const cel_hlo_op *end = b->block->last;
  return end->n_operands == b->n_results && is_scalar(end->operands[k]->type) && end->operands[k]->type->etype == t;
}

static cel_status apply_block(const cel_ref_body *b, const void *const *args, void *const *results) {
  cel_ref_frame *f = b->call->frame;
  char copies[CEL_REF_MAX_SCALARS][CEL_REF_SCALAR_BYTES];  // results may overwrite what arguments point to
  cel_ref_value in[CEL_REF_MAX_SCALARS], out[CEL_REF_MAX_SCALARS];
  for (int i = 0; i < b->n_args; i++) {
    const cel_hlo_type *t = b->block->args[i]->type;
    memcpy(copies[i], args[i], (size_t)cel_ref_bytes(t->etype));
    in[i] = (cel_ref_value){{t, copies[i]}, NULL};
  }
  CEL_TRY(cel_ref_block(f, b->block, in, b->n_args, out, b->n_results));
  bool scalars = true;
  for (int i = 0; i < b->n_results; i++) {
    scalars = scalars && is_scalar(out[i].t.type);
    if (scalars) memcpy(results[i], out[i].t.data, (size_t)cel_ref_bytes(out[i].t.type->etype));
    cel_ref_value_drop(f->run, &out[i]);
  }
  return scalars ? CEL_OK : cel_ref_misfit(b->call, "a result of its region is no scalar");
}

cel_status cel_ref_body_apply(const cel_ref_body *b, const void *const *args, void *const *results) {
  const void *x = args[b->swapped ? 1 : 0], *y = args[b->n_args < 2 || b->swapped ? 0 : 1];
  CEL_TRY(cel_ref_spend(b->call->frame->run, 1));
  if (b->returned >= 0) {
    int bytes = cel_ref_bytes(b->block->args[b->returned]->type->etype);
    memmove(results[0], args[b->returned], (size_t)bytes);
  } else if (b->is_binary) {
    cel_ref_apply2(&b->binary, b->etype, x, 0, y, 0, results[0], 0);
  } else {
    return apply_block(b, args, results);
  }
  return CEL_OK;
}
