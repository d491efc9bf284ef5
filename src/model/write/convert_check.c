// Is what will be written the model that was read? The new description goes through the reader, and what the two say of the
// computation is compared, so that a family's odd case is refused and not lost.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "model/tensor_list.h"
#include "model/write/conversion_private.h"

// ---- two descriptions -------------------------------------------------------------------------------

typedef struct comparison {
  const cel_arch *a, *b;
  const char *what;  // the first thing that differs
  bool oom;          // there was no memory to compare with
  char text[160];
} comparison;

static bool near(double x, double y) { return x == y || fabs(x - y) <= 2e-6 * fmax(fabs(x), fabs(y)); }

static void number(comparison *c, const char *what, double x, double y) {
  if (c->what || near(x, y)) return;
  c->what = what;
  snprintf(c->text, sizeof c->text, "%s would be read as %.9g, it is %.9g", what, y, x);
}

// Of one layer.
static void word(comparison *c, const char *what, int layer, const char *x, const char *y) {
  if (c->what || !strcmp(x, y)) return;
  c->what = what;
  snprintf(c->text, sizeof c->text, "%s: layer %d would be read as one %s, it is one %s", what, layer, y, x);
}

static void compare_sizes(comparison *c) {
  const cel_arch *a = c->a, *b = c->b;
  number(c, "the number of layers", a->n_layers, b->n_layers);
  number(c, "hidden_size", (double)a->hidden, (double)b->hidden);
  number(c, "vocab_size", (double)a->vocab, (double)b->vocab);
  number(c, "the number of heads", a->n_q, b->n_q);
  number(c, "the number of key and value heads", a->n_kv, b->n_kv);
  number(c, "head_dim", a->head_dim, b->head_dim);
}

static bool one_is_folded(cel_norm x, cel_norm y) {
  return (x == CEL_NORM_RMS_PLUS_ONE && y == CEL_NORM_RMS) || (x == CEL_NORM_LAYER_PLUS_ONE && y == CEL_NORM_LAYER);
}

static void compare_switches(comparison *c, bool folded) {
  const cel_arch *a = c->a, *b = c->b;
  bool norms = a->norm == b->norm || (folded && (one_is_folded(a->norm, b->norm) || one_is_folded(b->norm, a->norm)));
  number(c, "the kind of norms", norms, 1);
  number(c, "the eps of norms", a->norm_eps, b->norm_eps);
  number(c, "whether norms have biases", a->norm_bias, b->norm_bias);
  number(c, "where norms stand", a->placement, b->placement);
  number(c, "the norms of q and k", a->qk_norm, b->qk_norm);
  number(c, "whether q and k are normed after the rotation", a->qk_norm_after_rope, b->qk_norm_after_rope);
  number(c, "a norm of v", a->v_norm, b->v_norm);
  number(c, "biases of q, k and v", a->qkv_bias, b->qkv_bias);
  number(c, "a bias of the attention's output", a->o_bias, b->o_bias);
  number(c, "biases of the MLP", a->mlp_bias, b->mlp_bias);
  number(c, "a bias of the head", a->head_bias, b->head_bias);
  number(c, "clip_qkv", a->clip_qkv, b->clip_qkv);
  number(c, "sinks", a->sinks, b->sinks);
  number(c, "a gate of the attention's output", a->out_gate, b->out_gate);
  number(c, "queries that grow with their position", a->q_pos_beta, b->q_pos_beta);
  number(c, "the activation (hidden_act)", a->act, b->act);
}

static void compare_scales(comparison *c) {
  const cel_arch *a = c->a, *b = c->b;
  number(c, "the scale of attention scores", a->attn_scale, b->attn_scale);
  number(c, "the soft cap of attention scores", a->attn_softcap, b->attn_softcap);
  number(c, "the multiplier of embeddings", a->embed_mul, b->embed_mul);
  number(c, "the multiplier of residuals", a->residual_mul, b->residual_mul);
  number(c, "the multiplier of logits", a->logit_mul, b->logit_mul);
  number(c, "the soft cap of logits", a->final_softcap, b->final_softcap);
}

static void compare_blocks(comparison *c) {
  const cel_mla *m = &c->a->mla, *n = &c->b->mla;
  const cel_moe *e = &c->a->moe, *f = &c->b->moe;
  number(c, "q_lora_rank", m->q_rank, n->q_rank);
  number(c, "kv_lora_rank", m->kv_rank, n->kv_rank);
  number(c, "qk_nope_head_dim", m->nope, n->nope);
  number(c, "qk_rope_head_dim", m->rope, n->rope);
  number(c, "v_head_dim", m->v, n->v);
  number(c, "the number of experts", e->n_experts, f->n_experts);
  number(c, "the taps of convolutions", c->a->conv.kernel, c->b->conv.kernel);
  number(c, "the bias of convolutions", c->a->conv.bias, c->b->conv.bias);
  number(c, "linear_conv_kernel_dim", c->a->delta.kernel, c->b->delta.kernel);
  number(c, "linear_num_key_heads", c->a->delta.n_k, c->b->delta.n_k);
  number(c, "linear_num_value_heads", c->a->delta.n_v, c->b->delta.n_v);
  number(c, "linear_key_head_dim", c->a->delta.d_k, c->b->delta.d_k);
  number(c, "linear_value_head_dim", c->a->delta.d_v, c->b->delta.d_v);
  number(c, "altup_num_inputs", c->a->gemma3n.planes, c->b->gemma3n.planes);
  number(c, "altup_active_idx", c->a->gemma3n.active, c->b->gemma3n.active);
  number(c, "altup_correct_scale", c->a->gemma3n.scale_corrected, c->b->gemma3n.scale_corrected);
  number(c, "hidden_size_per_layer_input", (double)c->a->gemma3n.ple, (double)c->b->gemma3n.ple);
  number(c, "laurel_rank", (double)c->a->gemma3n.laurel, (double)c->b->gemma3n.laurel);
  if (e->n_experts == 0) return;
  number(c, "the number of experts that a token has", e->top_k, f->top_k);
  number(c, "the width of experts", (double)e->inter, (double)f->inter);
  number(c, "the kind of router", e->router, f->router);
  number(c, "norm_topk_prob", e->renorm, f->renorm);
  number(c, "the least sum of the experts' weights", e->renorm_min + e->renorm_add, f->renorm_min + f->renorm_add);
  number(c, "routed_scaling_factor", e->scale, f->scale);
  number(c, "n_group", e->n_group, f->n_group);
  number(c, "topk_group", e->topk_group, f->topk_group);
  number(c, "a bias of the router", e->router_bias, f->router_bias);
  number(c, "a bias that chooses experts", e->correction_bias, f->correction_bias);
  number(c, "biases of experts", e->expert_bias, f->expert_bias);
  number(c, "the router's jitter", e->jitter, f->jitter);
  number(c, "the clamp of experts", e->clamp, f->clamp);
  number(c, "the experts' alpha", e->alpha, f->alpha);
  number(c, "the kind of shared experts", e->shared, f->shared);
  number(c, "the width of shared experts", (double)e->shared_inter, (double)f->shared_inter);
}

// At lengths before and behind every border that a rotation may have.
static void compare_ropes(comparison *c, const cel_rope *x, const cel_rope *y, int64_t most) {
  const int64_t lengths[] = {1, (int64_t)x->original_max_position, (int64_t)x->original_max_position + 1, most};
  if (x->dims != y->dims || x->interleaved != y->interleaved || x->dims > 4096) {
    number(c, "the number of rotated columns", x->dims + (x->interleaved ? 0.5 : 0), y->dims + (y->interleaved ? 0.5 : 0));
    return;
  }
  float *f = malloc(sizeof *f * (size_t)(x->dims + 2)), *g = f ? f + x->dims / 2 + 1 : NULL;
  for (int k = 0; f && k < CEL_COUNT(lengths); k++) {
    float p, q;
    if (lengths[k] < 1 || lengths[k] > most) continue;
    cel_rope_frequencies(x, lengths[k], f, &p);
    cel_rope_frequencies(y, lengths[k], g, &q);
    number(c, "the amplitude of the rotation", p, q);
    for (int j = 0; j < x->dims / 2; j++) {
      if (fabsf(f[j] - g[j]) > 1e-5f * fabsf(f[j])) number(c, "a frequency of the rotation (rope_theta, rope_scaling)", f[j], g[j]);
    }
  }
  if (!f) c->oom = true;
  free(f);
}

static const char *const mixer_words[] = {
  [CEL_MIXER_ATTENTION] = "of attention", [CEL_MIXER_CONV] = "of convolution", [CEL_MIXER_DELTA] = "with a gated delta net"};
static const char *const attention_words[] = {[CEL_ATTENTION_FULL] = "of full attention", [CEL_ATTENTION_SLIDING] = "that slides"};
static const char *const rotation_words[] = {"without rotation", "with rotation"};
static const char *const mlp_words[] = {
  [CEL_FFN_GATED] = "with a gated MLP", [CEL_FFN_PLAIN] = "with an MLP without a gate", [CEL_FFN_MOE] = "with experts"};

static void compare_layers(comparison *c, bool windowless) {
  const cel_arch *a = c->a, *b = c->b;
  int64_t most = windowless ? a->window : a->max_position;
  bool slides = false;
  for (int i = 0; !c->what && !c->oom && i < a->n_layers; i++) {
    const cel_layer *x = &a->layers[i], *y = &b->layers[i];
    slides = slides || x->attention == CEL_ATTENTION_SLIDING;
    word(c, "what mixes tokens", i, mixer_words[x->mixer], mixer_words[y->mixer]);
    if (!windowless) word(c, "which layers slide (layer_types)", i, attention_words[x->attention], attention_words[y->attention]);
    word(c, "which layers are rotated", i, rotation_words[x->rope >= 0], rotation_words[y->rope >= 0]);
    word(c, "which layers have experts", i, mlp_words[x->ffn], mlp_words[y->ffn]);
    number(c, "which layers share keys and values", x->kv_shared, y->kv_shared);
    number(c, "activation_sparsity_pattern", x->cut ? x->sparsity : -1e9, y->cut ? y->sparsity : -1e9);
    if (x->ffn != CEL_FFN_MOE) number(c, "intermediate_size", (double)x->inter, (double)y->inter);
    if (!c->what && x->rope >= 0 && x->mixer == CEL_MIXER_ATTENTION) compare_ropes(c, &a->ropes[x->rope], &b->ropes[y->rope], most);
  }
  if (slides && !windowless) number(c, "sliding_window", (double)a->window, (double)b->window);
}

cel_status cel_arch_same(const cel_arch *a, const cel_arch *b, bool folded, bool windowless, cel_err *err) {
  comparison c = {.a = a, .b = b};
  compare_sizes(&c);
  compare_switches(&c, folded);
  compare_scales(&c);
  compare_blocks(&c);
  if (!c.what) compare_layers(&c, windowless);
  if (c.oom) return cel_fail_oom(err, "a rotation");
  if (!c.what) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "the new files have no words for what this model of the family %s is: %s", a->family->name,
                  c.text);
}

// ---- the new files' ---------------------------------------------------------------------------------

static cel_status list_pieces(const cel_conversion *v, cel_tensor_list *list, cel_err *err) {
  char name[512];
  for (int64_t i = 0; i < v->plan.n; i++) {
    const cel_move *m = &v->plan.moves[i];
    const cel_piece *p = &m->pieces[0];
    cel_tensor t = {.dtype = p->dtype, .rank = p->rank, .data = m->computed, .bytes = p->bytes, .file = "(new)"};
    memcpy(t.dims, p->dims, sizeof t.dims);
    if (!cel_name_from_gguf(cel_str_of(p->name), v->row->names, name, sizeof name)) return cel_fail_oom(err, "a name");
    CEL_TRY(cel_tensor_list_add(list, &t, CEL_STR(""), cel_str_of(name), err));
  }
  return cel_tensor_list_sort(list, err);
}

static cel_status read_new_gguf(const cel_conversion *v, cel_arena *arena, cel_json **config, cel_err *err) {
  cel_buf bytes = {0};
  cel_gguf g;
  cel_tensor_list list = {.arena = arena};
  cel_status s = cel_gguf_head_bytes(&v->head, &bytes, err);
  if (s == CEL_OK) s = cel_gguf_read((const uint8_t *)bytes.p, (int64_t)bytes.n, "(new)", arena, &g, err);
  if (s == CEL_OK) s = list_pieces(v, &list, err);
  if (s == CEL_OK) s = cel_gguf_config(&g, &list, NULL, config, err);
  cel_tensor_list_deinit(&list);
  cel_buf_deinit(&bytes);
  return s;
}

static cel_status compare(const cel_conversion *v, const cel_json *config, cel_arena *arena, cel_err *err) {
  cel_arch b, a = v->arch;
  float *divisors = CEL_NEW_ARRAY(arena, float, a.ropes[0].dims / 2 + 1);
  if (!divisors) return cel_fail_oom(err, "a rotation");
  CEL_TRY(cel_arch_from_config(config, NULL, arena, &b, err));
  bool gguf = v->o->to == CEL_FORMAT_GGUF, table = a.n_ropes && b.n_ropes && gguf && cel_rope_divisors(&a.ropes[0], divisors);
  if (table) b.ropes[0].divisors = divisors;
  if (!gguf) {
    const cel_tensor *t = cel_checkpoint_find(v->c, "rope_freqs.weight");
    if (t && t->dtype == CEL_DT_F32 && t->rank == 1 && t->dims[0] == a.ropes[0].dims / 2) {
      memcpy(divisors, t->data, (size_t)t->bytes);
      a.ropes[0].divisors = divisors;
    }
  }
  return cel_arch_same(&a, &b, v->row->traits & CEL_GGUF_PLUS_ONE, v->window_cut, err);
}

cel_status cel_conversion_check(const cel_conversion *v, cel_err *err) {
  cel_arena arena;
  cel_json *config = NULL;
  cel_arena_init(&arena);
  cel_status s = v->o->to == CEL_FORMAT_GGUF ? read_new_gguf(v, &arena, &config, err) : CEL_OK;
  if (s == CEL_OK) s = compare(v, config ? config : v->config, &arena, err);
  if (s != CEL_OK) cel_err_prefix(err, "%s", v->c->path);
  cel_json_decref(config);
  cel_arena_deinit(&arena);
  return s;
}
