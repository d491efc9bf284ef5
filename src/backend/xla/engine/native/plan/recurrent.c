// Composites that carry a state through a sequence: the short convolution and the gated delta rule.
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

static const char short_conv[] = "mlxcel.short_conv", gated_delta[] = "mlxcel.gated_delta";

bool cel_plan_is_recurrent(const char *name) { return !strcmp(name, short_conv) || !strcmp(name, gated_delta); }

static bool is_f32(const cel_hlo_type *t, int rank, const int64_t *dims) {
  if (t->etype != CEL_ET_F32 || t->rank != rank) return false;
  for (int i = 0; i < rank; i++) {
    if (t->dims[i] != dims[i]) return false;
  }
  return true;
}

static bool is_i32(const cel_hlo_type *t, int rank) { return t->etype == CEL_ET_I32 && t->rank == rank; }

// [layers, rows, d2, d3, d4] with sane sizes, slots for n tokens, a layer, and the state again as result 1.
static bool fits_state(const cel_hlo_op *op, int at, int64_t n, int64_t d2, int64_t d3, int64_t d4) {
  const cel_hlo_type *t = op->operands[at]->type, *slots = op->operands[at + 1]->type;
  if (op->n_results != 2 || op->n_operands != at + 3 || t->etype != CEL_ET_F32 || t->rank != 5) return false;
  if (t->dims[2] != d2 || t->dims[3] != d3 || t->dims[4] != d4 || op->results[1].type != t) return false;
  return (is_i32(slots, 0) || (is_i32(slots, 1) && slots->dims[0] == n)) && is_i32(op->operands[at + 2]->type, 0);
}

static bool fits_conv(const cel_hlo_op *op) {
  if (op->n_operands != 5) return false;
  const cel_hlo_type *u = op->operands[0]->type, *w = op->operands[1]->type;
  if (u->etype != CEL_ET_F32 || u->rank != 2 || w->etype != CEL_ET_F32 || w->rank != 2) return false;
  int64_t taps = w->dims[0], channels = u->dims[1];
  return w->dims[1] == channels && channels > 0 && taps >= 2 && taps < INT32_MAX && op->results[0].type == u &&
         fits_state(op, 2, u->dims[0], 1, taps - 1, channels);
}

static bool fits_delta(const cel_hlo_op *op) {
  if (op->n_operands != 8) return false;
  const cel_hlo_type *q = op->operands[0]->type, *v = op->operands[2]->type;
  if (q->etype != CEL_ET_F32 || q->rank != 3 || v->etype != CEL_ET_F32 || v->rank != 3 || v->dims[0] != q->dims[0]) return false;
  if (op->operands[1]->type != q || op->results[0].type != v) return false;
  for (int i = 1; i < 3; i++) {
    if (q->dims[i] < 1 || q->dims[i] > 1 << 20 || v->dims[i] < 1 || v->dims[i] > 1 << 20) return false;
  }
  return v->dims[1] % q->dims[1] == 0 && is_f32(op->operands[3]->type, 2, v->dims) && is_f32(op->operands[4]->type, 2, v->dims) &&
         fits_state(op, 5, v->dims[0], v->dims[1], q->dims[2], v->dims[2]);
}

bool cel_plan_has_recurrent_kernel(const cel_hlo_op *op, const char *name) {
  return !strcmp(name, short_conv) ? fits_conv(op) : fits_delta(op);
}

static void conv_step(cel_step *s, const cel_hlo_op *op) {
  const cel_hlo_type *u = op->operands[0]->type, *state = op->operands[2]->type;
  s->u.conv.c = (cel_short_conv){.slot_stride = state->dims[3] * state->dims[4], .rows = state->dims[1],
                                 .slot_step = op->operands[3]->type->rank, .n = u->dims[0], .channels = u->dims[1],
                                 .taps = (int)op->operands[1]->type->dims[0]};
  s->solo = cel_hlo_elements(u) < 8192;
}

static void delta_step(cel_step *s, const cel_hlo_op *op) {
  const cel_hlo_type *q = op->operands[0]->type, *v = op->operands[2]->type, *state = op->operands[5]->type;
  s->u.delta.d = (cel_gated_delta){.slot_stride = state->dims[2] * state->dims[3] * state->dims[4], .rows = state->dims[1],
                                   .slot_step = op->operands[6]->type->rank, .n = q->dims[0], .n_k = (int)q->dims[1],
                                   .n_v = (int)v->dims[1], .d_k = (int)q->dims[2], .d_v = (int)v->dims[2]};
}

cel_status cel_plan_recurrent_step(cel_plan *p, const cel_node *n, const char *name, cel_err *err) {
  bool conv = !strcmp(name, short_conv);
  int state = conv ? 2 : 5;
  cel_step *s = cel_plan_step(p, conv ? CEL_STEP_SHORT_CONV : CEL_STEP_DELTA, n);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  if (conv) conv_step(s, n->op);
  else delta_step(s, n->op);
  int64_t layer;
  if (!cel_plan_layer(p, n->in[state + 2], n->op->operands[state]->type->dims[0], &layer)) {
    return cel_fail(err, CEL_INVALID, "%s: the layer must be a constant within the state", name);
  }
  if (conv) s->u.conv.layer = layer;
  else s->u.delta.layer = layer;
  return cel_plan_in_place(p, n, state, 1, name, err);
}
