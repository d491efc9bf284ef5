// The composite mlxcel.head_linear: every head of x with its own rows of one weight.
//   x f32 [N, heads, in], weight [heads * per_head, cols] {format, bits, group, per_head, first, transposed}
//   -> [N, heads, out]: rows [first, first + out) of a head times x (in = cols), or x times rows [first, first + in) (out = cols)
#include "backend/xla/engine/native/plan/plan.h"

static int64_t number(const cel_hlo_op *op, const char *name) {
  const cel_hlo_attr *a = cel_plan_attribute(op, name);
  return a && (a->kind == CEL_HLO_ATTR_INT || a->kind == CEL_HLO_ATTR_BOOL) ? a->i : 0;
}

bool cel_plan_has_heads(const cel_hlo_op *op) {
  if (op->n_operands < 2 || op->n_results != 1) return false;
  const cel_hlo_type *x = op->operands[0]->type, *w = op->operands[1]->type, *y = op->results[0].type;
  if (x->etype != CEL_ET_F32 || y->etype != CEL_ET_F32 || x->rank != 3 || y->rank != 3 || w->rank != 2) return false;
  if (x->dims[0] != y->dims[0] || x->dims[1] != y->dims[1] || x->dims[0] < 1 || x->dims[1] < 1) return false;
  bool transposed = number(op, "transposed") != 0;
  int64_t rows = transposed ? x->dims[2] : y->dims[2], cols = transposed ? y->dims[2] : x->dims[2];
  int64_t first = number(op, "first"), per_head = w->dims[0] / x->dims[1];
  cel_linear_format f;
  return rows > 0 && number(op, "per_head") == per_head && w->dims[0] % x->dims[1] == 0 && first >= 0 && first <= per_head - rows &&
         cel_plan_weight_format(op, 1, op->n_operands - 1, cols, &f);
}

cel_status cel_plan_heads(cel_plan *p, const cel_node *n, cel_err *err) {
  const cel_hlo_op *op = n->op;
  const cel_hlo_type *x = op->operands[0]->type, *y = op->results[0].type;
  bool transposed = number(op, "transposed") != 0;
  cel_linear w;
  const uint8_t *bytes[3] = {0};
  bool bound = cel_plan_weight(p, n, 1, n->n_in - 1, transposed ? y->dims[2] : x->dims[2], &w);
  for (int i = 1; i < n->n_in; i++) bound = bound && (bytes[i - 1] = cel_plan_bytes(p, n->in[i]));
  if (!bound) return cel_fail(err, CEL_INVALID, "%s: the weight of mlxcel.head_linear must be bound when the program is compiled",
                              op->path ? op->path : "");
  w.w = bytes[0];
  w.scales = bytes[1];
  w.biases = bytes[2];
  cel_step *s = cel_plan_step(p, CEL_STEP_HEADS, n);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  s->n_in = 1;
  s->u.heads.w = w;
  s->u.heads.tokens = x->dims[0];
  s->u.heads.heads = x->dims[1];
  s->u.heads.per_head = w.rows / x->dims[1];
  s->u.heads.first = number(op, "first");
  s->u.heads.rows = transposed ? x->dims[2] : y->dims[2];
  s->u.heads.transposed = transposed;
  s->u.heads.pack_bytes = cel_linear_pack_bytes(&w);
  int64_t panel = CEL_HEADS_PANEL * w.cols * (int64_t)sizeof(float);
  int64_t packs = s->u.heads.pack_bytes * x->dims[0] + cel_linear_scratch_bytes(&w);
  p->scratch_bytes = CEL_MAX(p->scratch_bytes, transposed ? panel : packs);
  return CEL_OK;
}
