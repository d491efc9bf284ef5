// Nodes to steps. A composite with a kernel becomes that kernel's step; plain operations become groups of
// elementwise work, copies, or a call of the reference evaluator.
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

// ---- what kernels read -----------------------------------------------------------------------------

static int64_t int_of(const cel_hlo_op *op, const char *name, int64_t otherwise) {
  const cel_hlo_attr *a = cel_plan_attribute(op, name);
  return a && (a->kind == CEL_HLO_ATTR_INT || a->kind == CEL_HLO_ATTR_BOOL) ? a->i : otherwise;
}
static double float_of(const cel_hlo_op *op, const char *name, double otherwise) {
  const cel_hlo_attr *a = cel_plan_attribute(op, name);
  return a && a->kind == CEL_HLO_ATTR_FLOAT ? a->f : otherwise;
}
static const char *string_of(const cel_hlo_op *op, const char *name) {
  const cel_hlo_attr *a = cel_plan_attribute(op, name);
  return a && a->kind == CEL_HLO_ATTR_STRING ? a->s : "";
}
static const char *composite_name(const cel_hlo_op *op) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, "name");
  return a && a->kind == CEL_HLO_ATTR_STRING ? a->s : "";
}

static bool has_dims(const cel_hlo_type *t, int64_t rows, int64_t cols) {
  return t->rank == 2 && t->dims[0] == rows && t->dims[1] == cols;
}

static int64_t columns(const cel_hlo_op *op) {  // a linear's x has them; an embedding's result does
  const cel_hlo_type *x = op->operands[0]->type, *y = op->results[0].type;
  const cel_hlo_type *t = x->etype == CEL_ET_F32 ? x : y;
  return t->rank ? t->dims[t->rank - 1] : 0;
}

static bool known_format(const cel_hlo_op *op, cel_linear_format *out) {
  if (op->n_operands < 2 || op->n_results != 1 || op->operands[1]->type->rank != 2) return false;
  return cel_plan_weight_format(op, 1, op->n_operands - 1, columns(op), out);
}

bool cel_plan_linear(const cel_plan *p, const cel_node *node, int first, cel_linear *out) {
  if (!cel_plan_weight(p, node, first, node->n_in - first, columns(node->op), out)) return false;
  const uint8_t *bytes[3] = {0};
  for (int i = first; i < node->n_in; i++) {
    if (!(bytes[i - first] = cel_plan_bytes(p, node->in[i]))) return false;
  }
  out->w = bytes[0];
  out->scales = bytes[1];
  out->biases = bytes[2];
  return true;
}

static bool f32_operands(const cel_hlo_op *op, int n, int rank) {
  if (op->n_operands < n || op->n_results != 1 || op->results[0].type->etype != CEL_ET_F32) return false;
  for (int i = 0; i < n; i++) {
    const cel_hlo_type *t = op->operands[i]->type;
    if (t->etype != CEL_ET_F32 || (rank && t->rank != rank)) return false;
  }
  return true;
}

// How a cache that kernels know keeps vectors.
static cel_kv kv_of(const cel_hlo_type *t) {
  switch (t->etype) {
    case CEL_ET_F16: return CEL_KV_F16;
    case CEL_ET_I16: return CEL_KV_I16;
    case CEL_ET_I8: return CEL_KV_I8;
    default: return CEL_KV_F32;
  }
}

// Do kernels know this cache, of vectors of d?
static bool is_cache(const cel_hlo_type *t, int64_t d) {
  return t->rank == 5 && (t->etype == CEL_ET_F32 || kv_of(t) != CEL_KV_F32) && d <= CEL_ATTENTION_WIDEST &&
         t->dims[4] == cel_kv_width(kv_of(t), (int)d);
}

static bool i32_operands(const cel_hlo_op *op, int from, int to) {
  for (int i = from; i < to; i++) {
    if (op->operands[i]->type->etype != CEL_ET_I32 || op->operands[i]->type->rank > 1) return false;
  }
  return true;
}

static bool is(const cel_hlo_op *op, const char *name) { return !strcmp(composite_name(op), name); }

// One number for each query head of q [N, heads, D].
static bool is_sinks(const cel_hlo_type *t, const cel_hlo_type *q) {
  return t->etype == CEL_ET_F32 && t->rank == 1 && q->rank == 3 && t->dims[0] == q->dims[1];
}

// x alone, with a weight row [D] or one for each head [heads, D], and a bias row with it.
static bool norm_operands(const cel_hlo_op *op) {
  const cel_hlo_type *x = op->operands[0]->type;
  if (op->n_operands < 1 || op->n_operands > 3 || x->rank < 1 || x->dims[x->rank - 1] < 1) return false;
  for (int i = 1; i < op->n_operands; i++) {
    const cel_hlo_type *v = op->operands[i]->type;
    int most = i == 1 ? CEL_MIN(2, x->rank) : 1;
    if (v->rank < 1 || v->rank > most) return false;
    for (int k = 1; k <= v->rank; k++) {
      if (v->dims[v->rank - k] != x->dims[x->rank - k]) return false;
    }
  }
  return true;
}

bool cel_plan_has_kernel(const cel_hlo_op *op) {
  cel_linear_format f;
  if (is(op, "mlxcel.linear") || is(op, "mlxcel.quantized_linear")) {
    return known_format(op, &f) && f32_operands(op, 1, 2) &&
           has_dims(op->results[0].type, op->operands[0]->type->dims[0], op->operands[1]->type->dims[0]);
  }
  if (is(op, "mlxcel.embedding") || is(op, "mlxcel.quantized_embedding")) {
    return known_format(op, &f) && f32_operands(op, 0, 0) && i32_operands(op, 0, 1) &&
           has_dims(op->results[0].type, cel_hlo_elements(op->operands[0]->type), columns(op));
  }
  if (is(op, "mlxcel.rms_norm")) return f32_operands(op, 2, 0) && op->n_operands == 2 && op->operands[1]->type->rank == 1;
  if (is(op, "mlxcel.layer_norm")) return f32_operands(op, op->n_operands, 0) && norm_operands(op);
  if (is(op, "mlxcel.rope")) return f32_operands(op, 3, 0) && op->operands[0]->type->rank == 3;
  if (is(op, "mlxcel.gated_act")) {
    const char *act = string_of(op, "act");
    return f32_operands(op, 2, 0) && (!strcmp(act, "silu") || !strcmp(act, "gelu_tanh"));
  }
  if (is(op, "mlxcel.kv_append")) {
    const cel_hlo_type *fresh = op->n_operands == 5 ? op->operands[1]->type : NULL;
    return fresh && fresh->etype == CEL_ET_F32 && fresh->rank == 3 && is_cache(op->operands[0]->type, fresh->dims[2]) &&
           op->results[0].type == op->operands[0]->type && i32_operands(op, 2, 5);
  }
  if (is(op, "mlxcel.head_linear")) return cel_plan_has_heads(op);
  if (is(op, "mlxcel.top_k") || is(op, "mlxcel.expert_linear") || is(op, "mlxcel.expert_combine")) return cel_plan_has_experts(op);
  if (cel_plan_is_recurrent(composite_name(op))) return cel_plan_has_recurrent_kernel(op, composite_name(op));
  if (!is(op, "mlxcel.attention") || (op->n_operands != 6 && op->n_operands != 7)) return false;
  if (op->n_operands == 7 && !is_sinks(op->operands[6]->type, op->operands[0]->type)) return false;
  const cel_hlo_type *q = op->operands[0]->type, *k = op->operands[1]->type, *y = op->results[0].type;
  return f32_operands(op, 1, 3) && is_cache(k, q->dims[2]) && k == op->operands[2]->type && i32_operands(op, 3, 6) &&
         q->dims[2] % 4 == 0 && k->dims[2] > 0 &&
         q->dims[1] % k->dims[2] == 0 && y->rank == 3 && y->dims[2] % 4 == 0 && y->dims[2] <= q->dims[2];
}

// ---- steps -----------------------------------------------------------------------------------------

bool cel_plan_layer(cel_plan *p, int slot, int64_t layers, int64_t *out) {
  const int32_t *value = cel_plan_constant(p, slot);
  if (!value || *value < 0 || *value >= layers) return false;
  *out = *value;
  return true;
}

static bool same_input(const cel_plan *p, const cel_step *s, const cel_node *n, const cel_linear *w) {
  return s->kind == CEL_STEP_LINEAR && s->u.linear.n < CEL_LINEAR_MOST &&
         cel_plan_root(p, s->in[0]) == cel_plan_root(p, n->in[0]) && cel_linear_same_pack(&s->u.linear.w[0], w);
}

// Products of one operand (q, k, v; gate, up) share its packing: the node joins the step before, as long as
// only such products, or views, lie between.
static cel_step *open_linear(cel_plan *p, const cel_node *n, const cel_linear *w) {
  cel_step *last = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;
  return last && same_input(p, last, n, w) ? last : NULL;
}

static cel_status linear_step(cel_plan *p, const cel_node *n, cel_err *err) {
  cel_linear w;
  if (!cel_plan_linear(p, n, 1, &w)) {
    return cel_fail(err, CEL_INVALID, "%s: the weight of a linear product must be bound when the program is compiled",
                    n->op->path ? n->op->path : "mlxcel.linear");
  }
  cel_step *s = open_linear(p, n, &w);
  if (!s) {
    s = cel_plan_step(p, CEL_STEP_LINEAR, n);
    if (!s) return cel_fail_oom(err, "the plan's steps");
    s->n_in = 1;
    s->n_out = 0;
    s->u.linear.tokens = (int)n->op->operands[0]->type->dims[0];
    s->u.linear.pack_bytes = cel_linear_pack_bytes(&w);
    s->u.linear.private_pack = s->u.linear.tokens <= 4;
  }
  s->u.linear.y[s->u.linear.n] = n->out[0];
  s->u.linear.w[s->u.linear.n++] = w;
  s->out[s->n_out++] = n->out[0];
  return CEL_OK;
}

static cel_status embed_step(cel_plan *p, const cel_node *n, cel_err *err) {
  cel_linear w;
  if (!cel_plan_linear(p, n, 1, &w)) return cel_fail(err, CEL_INVALID, "the embedding's weight must be bound");
  cel_step *s = cel_plan_step(p, CEL_STEP_EMBED, n);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  s->n_in = 1;
  s->u.embed.w = w;
  s->u.embed.tokens = cel_hlo_elements(n->op->operands[0]->type);
  s->solo = s->u.embed.tokens < 8;
  return CEL_OK;
}

static void norm_step(cel_step *s, const cel_hlo_op *op) {
  const cel_hlo_type *t = op->operands[0]->type;
  s->u.norm.n = t->dims[t->rank - 1];
  s->u.norm.rows = cel_hlo_elements(t) / s->u.norm.n;
  s->u.norm.eps = (float)float_of(op, "eps", 1e-6);
  s->u.norm.plus = (float)float_of(op, "plus", 0);
  s->solo = s->u.norm.rows * s->u.norm.n < 8192;
}

static void layer_norm_step(cel_step *s, const cel_hlo_op *op) {
  norm_step(s, op);
  s->u.norm.eps = (float)float_of(op, "eps", 1e-5);
  const cel_hlo_type *w = op->n_operands > 1 ? op->operands[1]->type : NULL;
  s->u.norm.weight_rows = w ? cel_hlo_elements(w) / s->u.norm.n : 0;
  s->u.norm.biased = op->n_operands > 2;
}

static void rope_step(cel_step *s, const cel_hlo_op *op) {
  const cel_hlo_type *t = op->operands[0]->type;
  s->u.rope.tokens = t->dims[0];
  s->u.rope.heads = (int)t->dims[1];
  s->u.rope.d = (int)t->dims[2];
  s->u.rope.dims = (int)int_of(op, "dims", t->dims[2]);
  s->u.rope.interleaved = int_of(op, "interleaved", 0) != 0;
  s->solo = cel_hlo_elements(t) < 8192;
}

// Is a slot read by a node behind `from`, or returned?
static bool read_later(const cel_plan *p, int slot, const cel_node *from) {
  if (p->slots[slot].pinned) return true;
  for (const cel_node *n = from + 1; n < p->nodes + p->n_nodes; n++) {
    for (int i = 0; i < n->n_in && !n->dead; i++) {
      if (n->in[i] == slot) return true;
    }
  }
  return false;
}

cel_status cel_plan_in_place(cel_plan *p, const cel_node *n, int in, int out, const char *name, cel_err *err) {
  const cel_slot *root = &p->slots[cel_plan_root(p, n->in[in])];
  bool donated = root->kind == CEL_SLOT_PARAM && p->program->params[root->index].kind == CEL_PARAM_STATE;
  if (!donated || read_later(p, n->in[in], n)) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s works in place: its cache must be a state whose old value nobody reads "
                    "afterwards", name);
  }
  p->slots[n->out[out]].kind = CEL_SLOT_ALIAS;
  p->slots[n->out[out]].index = n->in[in];
  return CEL_OK;
}

static cel_status append_step(cel_plan *p, cel_step *s, const cel_node *n, cel_err *err) {
  const cel_hlo_op *op = n->op;
  s->u.append.cache = op->operands[0]->type;
  s->u.append.kv = kv_of(s->u.append.cache);
  s->u.append.tokens = op->operands[1]->type->dims[0];
  s->u.append.d = op->operands[1]->type->dims[2];
  s->u.append.slot_per_token = op->operands[2]->type->rank == 1;
  s->solo = s->u.append.tokens < 8;
  if (!cel_plan_layer(p, n->in[4], s->u.append.cache->dims[0], &s->u.append.layer)) {
    return cel_fail(err, CEL_INVALID, "mlxcel.kv_append: the layer must be a constant within the cache");
  }
  return cel_plan_in_place(p, n, 0, 0, "mlxcel.kv_append", err);
}

static cel_status attention_step(cel_plan *p, cel_step *s, const cel_node *n, cel_err *err) {
  const cel_hlo_op *op = n->op;
  const cel_hlo_type *q = op->operands[0]->type, *k = op->operands[1]->type;
  s->u.attention.cache = k;
  s->u.attention.a = (cel_attention){
      .slot_stride = k->dims[2] * k->dims[3] * k->dims[4], .head_stride = k->dims[3] * k->dims[4],
      .slot_step = op->operands[3]->type->rank, .n = q->dims[0], .n_q = (int)q->dims[1], .n_kv = (int)k->dims[2],
      .kv = kv_of(k), .width = (int)k->dims[4], .d = (int)q->dims[2], .dv = (int)op->results[0].type->dims[2],
      .scale = (float)float_of(op, "scale", 1), .softcap = (float)float_of(op, "softcap", 0),
      .window = int_of(op, "window", 0)};
  if (!cel_plan_layer(p, n->in[5], k->dims[0], &s->u.attention.layer)) {
    return cel_fail(err, CEL_INVALID, "mlxcel.attention: the layer must be a constant within the cache");
  }
  p->scratch_bytes = CEL_MAX(p->scratch_bytes, cel_attention_scratch_bytes(&s->u.attention.a));
  return CEL_OK;
}

static cel_status composite_step(cel_plan *p, const cel_node *n, cel_err *err) {
  const cel_hlo_op *op = n->op;
  if (is(op, "mlxcel.linear") || is(op, "mlxcel.quantized_linear")) return linear_step(p, n, err);
  if (is(op, "mlxcel.embedding") || is(op, "mlxcel.quantized_embedding")) return embed_step(p, n, err);
  if (is(op, "mlxcel.head_linear")) return cel_plan_heads(p, n, err);
  if (is(op, "mlxcel.top_k") || is(op, "mlxcel.expert_linear") || is(op, "mlxcel.expert_combine")) return cel_plan_experts(p, n, err);
  if (cel_plan_is_recurrent(composite_name(op))) return cel_plan_recurrent_step(p, n, composite_name(op), err);
  cel_step_kind kind = is(op, "mlxcel.rms_norm")    ? CEL_STEP_RMS_NORM
                       : is(op, "mlxcel.layer_norm") ? CEL_STEP_LAYER_NORM
                       : is(op, "mlxcel.rope")      ? CEL_STEP_ROPE
                       : is(op, "mlxcel.gated_act") ? CEL_STEP_GATED
                       : is(op, "mlxcel.kv_append") ? CEL_STEP_APPEND
                                                    : CEL_STEP_ATTENTION;
  cel_step *s = cel_plan_step(p, kind, n);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  if (kind == CEL_STEP_APPEND) return append_step(p, s, n, err);
  if (kind == CEL_STEP_ATTENTION) return attention_step(p, s, n, err);
  if (kind == CEL_STEP_RMS_NORM) norm_step(s, op);
  if (kind == CEL_STEP_LAYER_NORM) layer_norm_step(s, op);
  if (kind == CEL_STEP_ROPE) rope_step(s, op);
  if (kind == CEL_STEP_GATED) {
    s->u.gated.n = cel_hlo_elements(op->operands[0]->type);
    s->u.gated.gelu = !strcmp(string_of(op, "act"), "gelu_tanh");
    s->solo = s->u.gated.n < 2048;
  }
  return CEL_OK;
}

// Rows of a matrix from a start known only at run time: the head's choice of the last token.
static bool slice_rows_step(cel_plan *p, const cel_node *n) {
  if (n->op->opcode != CEL_HLO_DYNAMIC_SLICE || n->op->operands[1]->type->etype != CEL_ET_I32) return false;
  const cel_hlo_type *x = n->op->operands[0]->type, *y = n->op->results[0].type;
  for (int d = 1; d < x->rank; d++) {
    if (x->dims[d] != y->dims[d]) return false;
  }
  cel_step *s = cel_plan_step(p, CEL_STEP_SLICE_ROWS, n);
  if (!s) return false;
  s->n_in = 2;
  s->solo = true;
  s->u.slice.rows_in = x->dims[0];
  s->u.slice.rows_out = y->dims[0];
  s->u.slice.row_bytes = x->dims[0] ? cel_hlo_bytes(x) / x->dims[0] : 0;
  return true;
}

// Columns of a matrix, in steps: halves of a fused product, gpt-oss's every second one.
static bool slice_columns_step(cel_plan *p, const cel_node *n) {
  if (n->op->opcode != CEL_HLO_SLICE || n->op->operands[0]->type->etype != CEL_ET_F32) return false;
  const cel_hlo_type *x = n->op->operands[0]->type, *y = n->op->results[0].type;
  int64_t start[CEL_HLO_MAX_RANK], stride[CEL_HLO_MAX_RANK];
  int last = x->rank - 1;
  if (last < 0 || cel_hlo_attr_ints(n->op, "start_indices", start, CEL_HLO_MAX_RANK, 0) != x->rank) return false;
  if (cel_hlo_attr_ints(n->op, "strides", stride, CEL_HLO_MAX_RANK, 0) != x->rank) stride[last] = 1;
  for (int d = 0; d < last; d++) {
    if (x->dims[d] != y->dims[d]) return false;
  }
  cel_step *s = cel_plan_step(p, CEL_STEP_SLICE_COLUMNS, n);
  if (!s) return false;
  s->u.columns.from = x->dims[last];
  s->u.columns.to = y->dims[last];
  s->u.columns.start = start[last];
  s->u.columns.stride = stride[last];
  s->u.columns.rows = y->dims[last] ? cel_hlo_elements(y) / y->dims[last] : 0;
  s->solo = cel_hlo_elements(y) < 8192;
  return true;
}

// Pieces of up to eight operands, side by side along one dimension.
static bool concat_step(cel_plan *p, const cel_node *n) {
  if (n->op->opcode != CEL_HLO_CONCATENATE || n->n_in > 8 || !cel_hlo_elements(n->op->results[0].type)) return false;
  const cel_hlo_attr *dim = cel_hlo_find_attr(n->op, "dimension");
  if (!dim || dim->kind != CEL_HLO_ATTR_INT) return false;
  const cel_hlo_type *y = n->op->results[0].type;
  cel_step *s = cel_plan_step(p, CEL_STEP_CONCAT, n);
  if (!s) return false;
  s->u.concat.outer = 1;
  for (int d = 0; d < dim->i; d++) s->u.concat.outer *= y->dims[d];
  for (int i = 0; i < n->n_in; i++) s->u.concat.bytes[i] = cel_hlo_bytes(n->op->operands[i]->type) / s->u.concat.outer;
  s->solo = cel_hlo_elements(y) < 8192;
  return true;
}

// Do the regions of op use values from around it?
static bool captures(const cel_hlo_op *op, const cel_hlo_op *outer) {
  for (int r = 0; r < op->n_regions; r++) {
    for (const cel_hlo_op *q = op->regions[r] ? op->regions[r]->first : NULL; q; q = q->next) {
      for (int i = 0; i < q->n_operands; i++) {
        const cel_hlo_block *b = q->operands[i]->block;
        while (b && b->parent_op && b->parent_op != outer) b = b->parent_op->parent;
        if (!b || !b->parent_op) return true;
      }
      if (captures(q, outer)) return true;
    }
  }
  return false;
}

static cel_status reference_step(cel_plan *p, const cel_node *n, cel_err *err) {
  if (n->n_in > 8 || n->n_out > 8) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: %d operands and %d results; the native engine takes 8 at most", n->op->name,
                    n->n_in, n->n_out);
  }
  if (captures(n->op, n->op)) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: its region uses values from outside, which the native plan has no way for yet",
                    n->op->name);
  }
  for (int i = 0; i < n->n_in; i++) (void)cel_plan_constant(p, n->in[i]);  // splats in full
  cel_step *s = cel_plan_step(p, CEL_STEP_REFERENCE, n);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  s->u.reference = n->op;
  s->solo = true;
  return CEL_OK;
}

static bool convert_step(cel_plan *p, const cel_node *n) {
  const cel_hlo_op *op = n->op;
  if (op->opcode != CEL_HLO_CONVERT || op->operands[0]->type->etype != CEL_ET_I32) return false;
  if (op->results[0].type->etype != CEL_ET_F32) return false;
  cel_step *s = cel_plan_step(p, CEL_STEP_CONVERT, n);
  if (!s) return false;
  s->solo = true;
  return true;
}

cel_status cel_plan_steps(cel_plan *p, cel_err *err) {
  cel_plan_mark_views(p);
  for (int i = 0; i < p->n_nodes;) {
    const cel_node *n = &p->nodes[i];
    bool settled = n->n_out > 0 && p->slots[n->out[0]].kind != CEL_SLOT_NONE;  // folded or a view
    cel_micro micro;
    if (n->dead || settled || p->slots[n->out[0]].view_only) {
      i++;
    } else if (n->op->opcode == CEL_HLO_COMPOSITE) {
      CEL_TRY(composite_step(p, n, err));
      i++;
    } else if (cel_plan_micro(p, n, &micro)) {
      CEL_TRY(cel_plan_elementwise(p, i, &i, err));
    } else {
      if (!convert_step(p, n) && !slice_rows_step(p, n) && !slice_columns_step(p, n) && !concat_step(p, n)) CEL_TRY(reference_step(p, n, err));
      i++;
    }
  }
  return CEL_OK;
}
