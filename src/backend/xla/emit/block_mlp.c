// The dense feed-forward. Gated: down(act(gate x) * (up x)), SwiGLU (Shazeer 2020) with SiLU, GeGLU with GELU.
// Plain: down(act(up x)).
#include "backend/xla/emit/emit_internal.h"

static const char *act_name(cel_act act) {
  static const char *const names[] = {[CEL_ACT_SILU] = "silu", [CEL_ACT_GELU_TANH] = "gelu_tanh",
                                      [CEL_ACT_GELU_ERF] = "gelu_erf", [CEL_ACT_RELU] = "relu",
                                      [CEL_ACT_RELU2] = "relu2", [CEL_ACT_XIELU] = "xielu"};
  return names[act];
}

// gelu, tanh form: x/2 * (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
static hlo gelu_tanh(cel_hlo_builder *b, hlo x) {
  hlo cube = cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, x), x);
  hlo inner = cel_hlo_binary(b, CEL_HLO_ADD, x, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, cube, 0.044715));
  hlo t = cel_hlo_unary(b, CEL_HLO_TANH, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, inner, 0.7978845608028654));
  hlo one = cel_hlo_binary_scalar(b, CEL_HLO_ADD, t, 1);
  return cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, 0.5), one);
}

// gelu, erf form: x/2 * (1 + erf(x / sqrt 2)) = max(x, 0) - |x|/2 * erfc(z), z = |x| / sqrt 2, with
// erfc(z) = t exp(P(t) - z^2), t = 1 / (1 + z/2): P fits ln(erfc(z) / t) + z^2 over z from 0 to 6. Within 2.4e-7 of gelu
// everywhere in f32, and of plain operations only: erf itself is no operation of StableHLO.
static hlo gelu_erf(cel_hlo_builder *b, hlo x) {
  static const double p[] = {-1.2659926414489746, 1.0056663751602173, 0.3541452884674072, 0.07950081676244736,
                             0.1440277248620987, -0.795175313949585,  0.6408024430274963, -0.16297519207000732};
  hlo size = cel_hlo_unary(b, CEL_HLO_ABS, x), z = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, size, 0.7071067811865476);
  hlo under = cel_hlo_binary_scalar(b, CEL_HLO_ADD, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, z, 0.5), 1);
  if (!under) return NULL;
  hlo one = cel_hlo_splat(b, CEL_ET_F32, under->type->rank, under->type->dims, 1);
  hlo t = cel_hlo_binary(b, CEL_HLO_DIVIDE, one, under);
  hlo sum = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, t, p[CEL_COUNT(p) - 1]);
  for (int i = CEL_COUNT(p) - 2; i > 0; i--) {
    sum = cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_binary_scalar(b, CEL_HLO_ADD, sum, p[i]), t);
  }
  sum = cel_hlo_binary_scalar(b, CEL_HLO_ADD, sum, p[0]);
  sum = cel_hlo_binary(b, CEL_HLO_SUBTRACT, sum, cel_hlo_binary(b, CEL_HLO_MULTIPLY, z, z));
  hlo tail = cel_hlo_binary(b, CEL_HLO_MULTIPLY, t, cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, sum));
  tail = cel_hlo_binary(b, CEL_HLO_MULTIPLY, tail, cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, size, 0.5));
  return cel_hlo_binary(b, CEL_HLO_SUBTRACT, cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, x, 0), tail);
}

static hlo activate(cel_hlo_builder *b, cel_act act, hlo x) {
  switch (act) {
    case CEL_ACT_SILU:
      return cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, cel_hlo_unary(b, CEL_HLO_LOGISTIC, x));
    case CEL_ACT_GELU_TANH:
      return gelu_tanh(b, x);
    case CEL_ACT_RELU:
      return cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, x, 0);
    case CEL_ACT_RELU2:
      x = cel_hlo_binary_scalar(b, CEL_HLO_MAXIMUM, x, 0);
      return cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, x);
    case CEL_ACT_GELU_ERF:
      return gelu_erf(b, x);
    case CEL_ACT_XIELU:
      break;
  }
  cel_hlo_refuse(b, CEL_UNSUPPORTED, "the activation %s has numbers of its own in every layer, which only plain MLPs have",
                 act_name(act));
  return NULL;
}

static const cel_hlo_func *decomposition(cel_emit *e, hlo gate) {
  if (!gate) return NULL;
  cel_emit_scope scope;
  const cel_hlo_type *t = gate->type;
  const cel_hlo_func *made = cel_emit_begin(e, &scope, "gated_act", "gated_act %d %lld %lld", t->rank,
                                            (long long)cel_hlo_elements(t), (long long)t->dims[t->rank - 1]);
  if (made) return made;
  cel_hlo_builder *b = &e->b;
  hlo g = cel_hlo_arg(b, "gate", gate->type), u = cel_hlo_arg(b, "up", gate->type);
  return cel_emit_end(e, &scope, cel_hlo_binary(b, CEL_HLO_MULTIPLY, activate(b, e->arch->act, g), u));
}

hlo cel_emit_gated_act(cel_emit *e, hlo gate, hlo up) {
  cel_hlo_builder *b = &e->b;
  hlo operands[2] = {gate, up};
  const cel_hlo_func *f = decomposition(e, gate);
  cel_hlo_attr *act = cel_hlo_new_string(b, "act", act_name(e->arch->act));
  return cel_hlo_composite(b, "mlxcel.gated_act", operands, 2, &act, 1, f);
}

hlo cel_emit_gated(cel_emit *e, cel_weight_role gate, cel_weight_role up, cel_weight_role down, int layer, hlo h) {
  bool own = gate == CEL_W_GATE;  // not the shared expert's
  hlo g = cel_emit_linear(e, gate, layer, h), u = cel_emit_linear(e, up, layer, h);
  cel_emit_tap(e, layer, own ? "ffn_gate" : "moe_shared_gate", g);
  cel_emit_tap(e, layer, own ? "ffn_up" : "moe_shared_up", u);
  hlo a = cel_emit_tap(e, layer, own ? "ffn_act" : "moe_shared_act", cel_emit_gated_act(e, g, u));
  return cel_emit_linear(e, down, layer, a);
}

// A number of the layer as it is, or its softplus ln(1 + e^x), in x's shape.
static hlo number(cel_emit *e, cel_weight_role role, int layer) { return cel_emit_weight_of(e, role, layer)->vector; }

static hlo softplus(cel_hlo_builder *b, hlo x) {
  return cel_hlo_unary(b, CEL_HLO_LOG, cel_hlo_binary_scalar(b, CEL_HLO_ADD, cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, x), 1));
}

static hlo everywhere(cel_hlo_builder *b, hlo one, hlo like) {
  if (!one || !like) return NULL;
  return cel_hlo_broadcast(b, cel_hlo_reshape(b, one, 0, NULL), like->type->rank, like->type->dims, NULL);
}

// xIELU (Huang and Schlag 2024), with P = softplus(alpha_p) and N = beta + softplus(alpha_n):
// x > 0: P x^2 + beta x, otherwise N (e^min(x, eps) - 1 - x) + beta x.
static hlo xielu(cel_emit *e, int layer, hlo x) {
  cel_hlo_builder *b = &e->b;
  hlo beta = number(e, CEL_W_ACT_BETA, layer), n = softplus(b, number(e, CEL_W_ACT_ALPHA_N, layer));
  hlo up = everywhere(b, softplus(b, number(e, CEL_W_ACT_ALPHA_P, layer)), x);
  hlo down = everywhere(b, cel_hlo_binary(b, CEL_HLO_ADD, n, beta), x);
  hlo linear = cel_hlo_binary(b, CEL_HLO_MULTIPLY, x, everywhere(b, beta, x));
  hlo right = cel_hlo_binary(b, CEL_HLO_MULTIPLY, cel_hlo_binary(b, CEL_HLO_MULTIPLY, up, x), x);
  hlo left = cel_hlo_binary(b, CEL_HLO_MINIMUM, x, everywhere(b, number(e, CEL_W_ACT_EPS, layer), x));
  left = cel_hlo_binary_scalar(b, CEL_HLO_SUBTRACT, cel_hlo_unary(b, CEL_HLO_EXPONENTIAL, left), 1);
  left = cel_hlo_binary(b, CEL_HLO_MULTIPLY, down, cel_hlo_binary(b, CEL_HLO_SUBTRACT, left, x));
  if (!x) return NULL;
  hlo zero = cel_hlo_splat(b, CEL_ET_F32, x->type->rank, x->type->dims, 0);
  hlo y = cel_hlo_select(b, cel_hlo_compare(b, "GT", x, zero), right, left);
  return cel_hlo_binary(b, CEL_HLO_ADD, y, linear);
}

hlo cel_emit_mlp(cel_emit *e, int layer, hlo h) {
  cel_hlo_path(&e->b, "layers.%d.mlp", layer);
  if (e->arch->layers[layer].ffn == CEL_FFN_GATED) return cel_emit_gated(e, CEL_W_GATE, CEL_W_UP, CEL_W_DOWN, layer, h);
  hlo x = cel_emit_tap(e, layer, "ffn_up", cel_emit_linear(e, CEL_W_UP, layer, h));
  x = e->arch->act == CEL_ACT_XIELU ? xielu(e, layer, x) : activate(&e->b, e->arch->act, x);
  return cel_emit_linear(e, CEL_W_DOWN, layer, cel_emit_tap(e, layer, "ffn_act", x));
}
