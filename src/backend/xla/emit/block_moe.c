// Mixtures of experts (Shazeer et al. 2017): each token's router chooses k gated MLPs of E; their outputs are summed
// with the router's weights. Beside them, in some families, one MLP that every token goes through.
#include "backend/xla/emit/emit_internal.h"

// gpt-oss: (up + 1) * gate * sigmoid(alpha * gate), gate cut off above, up on both sides.
static hlo clamped_act(cel_hlo_builder *b, const cel_moe *m, hlo gate, hlo up) {
  gate = cel_hlo_binary_scalar(b, CEL_HLO_MINIMUM, gate, m->clamp);
  up = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, cel_hlo_binary_scalar(b, CEL_HLO_MINIMUM, up, m->clamp), -m->clamp);
  hlo glu = cel_hlo_unary(b, CEL_HLO_LOGISTIC, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, gate, m->alpha));
  glu = cel_hlo_binary(b, CEL_HLO_MULTIPLY, gate, glu);
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_binary_scalar(b, CEL_HLO_ADD, up, 1), glu);
}

static void gate_and_up(cel_emit *e, int layer, hlo h, hlo ids, hlo *gate, hlo *up) {
  cel_hlo_builder *b = &e->b;
  int64_t inter = e->arch->moe.inter;
  if (!cel_emit_weight_of(e, CEL_W_EXPERT_GATE_UP, layer)->present) {
    *gate = cel_emit_expert_linear(e, CEL_W_EXPERT_GATE, layer, h, ids);
    *up = cel_emit_expert_linear(e, CEL_W_EXPERT_UP, layer, h, ids);
    return;
  }
  hlo both = cel_emit_expert_linear(e, CEL_W_EXPERT_GATE_UP, layer, h, ids);
  bool interleaved = e->arch->moe.interleaved;
  *gate = cel_hlo_slice_dim(b, both, 2, 0, interleaved ? 2 * inter : inter, interleaved ? 2 : 1);
  *up = cel_hlo_slice_dim(b, both, 2, interleaved ? 1 : inter, 2 * inter, interleaved ? 2 : 1);
}

static hlo shared(cel_emit *e, int layer, hlo h) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "layers.%d.shared", layer);
  hlo y = cel_emit_gated(e, CEL_W_SHARED_GATE, CEL_W_SHARED_UP, CEL_W_SHARED_DOWN, layer, h);
  if (e->arch->moe.shared == CEL_SHARED_PLAIN || !y) return y;
  hlo by = cel_hlo_unary(b, CEL_HLO_LOGISTIC, cel_emit_linear(e, CEL_W_SHARED_SWITCH, layer, h));  // [N, 1]
  int64_t n = y->type->dims[0], map[1] = {0};
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, y,
                        cel_hlo_broadcast(b, cel_hlo_reshape(b, by, 1, &n), 2, y->type->dims, map));
}

hlo cel_emit_moe(cel_emit *e, int layer, hlo h) {
  cel_hlo_builder *b = &e->b;
  const cel_moe *m = &e->arch->moe;
  hlo gate, up;
  cel_hlo_path(b, "layers.%d.router", layer);
  cel_chosen c = cel_emit_route(e, layer, h);
  cel_hlo_path(b, "layers.%d.experts", layer);
  gate_and_up(e, layer, h, c.ids, &gate, &up);
  hlo a = m->clamp > 0 ? clamped_act(b, m, gate, up) : cel_emit_gated_act(e, gate, up);
  cel_emit_tap(e, layer, "moe_act", a);
  hlo y = cel_emit_tap(e, layer, "moe_experts", cel_emit_expert_combine(e, CEL_W_EXPERT_DOWN, layer, a, c));
  if (m->shared == CEL_SHARED_NONE) return y;
  return cel_hlo_binary(b, CEL_HLO_ADD, y, cel_emit_tap(e, layer, "moe_shared", shared(e, layer, h)));
}
