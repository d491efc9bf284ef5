// cel_arch -> GGUF's metadata keys, in the words of llama.cpp's converter. What a reader makes of them is compared with the
// description afterwards (convert_check.c), so this says what there are words for and leaves the refusals to that.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "model/write/gguf_family.h"

typedef struct writer {
  cel_gguf_description *d;
  const cel_arch *a;
  cel_gguf_head *h;
  cel_err *err;
  char key[96];
} writer;

static const char *full(writer *w, const char *suffix) {
  snprintf(w->key, sizeof w->key, "%s.%s", w->d->row->arch, suffix);
  return w->key;
}

static void put_int(writer *w, const char *suffix, int64_t v) { cel_gguf_add_u32(w->h, full(w, suffix), (uint32_t)v); }
static void put_num(writer *w, const char *suffix, double v) { cel_gguf_add_f32(w->h, full(w, suffix), v); }
static bool has(const writer *w, cel_gguf_trait trait) { return w->d->row->traits & trait; }
static bool is_arch(const writer *w, const char *arch) { return !strcmp(w->d->row->arch, arch); }
static bool is_granite(const writer *w) { return is_arch(w, "granite") || is_arch(w, "granitemoe"); }

static cel_status refuse(const writer *w, const char *what) {
  return cel_fail(w->err, CEL_UNSUPPORTED, "GGUF has no words for %s in a model of the architecture %s", what, w->d->row->arch);
}

// ---- lists by layer -----------------------------------------------------------------------------------

enum { LAYERS_MOST = 1024 };

static cel_status check_layers(const writer *w) {
  return w->a->n_layers > LAYERS_MOST ? refuse(w, "so many layers") : CEL_OK;
}

typedef int32_t of_layer(const cel_arch *a, const cel_layer *l);

static int32_t width_of(const cel_arch *a, const cel_layer *l) { return (void)a, (int32_t)l->inter; }
static int32_t kv_heads_of(const cel_arch *a, const cel_layer *l) { return l->mixer == CEL_MIXER_ATTENTION ? a->n_kv : 0; }
static int32_t slides(const cel_arch *a, const cel_layer *l) { return (void)a, l->attention == CEL_ATTENTION_SLIDING; }
static int32_t is_delta(const cel_arch *a, const cel_layer *l) { return (void)a, l->mixer == CEL_MIXER_DELTA; }

static cel_status put_by_layer(writer *w, const char *suffix, of_layer *of) {
  int32_t list[LAYERS_MOST];
  CEL_TRY(check_layers(w));
  for (int i = 0; i < w->a->n_layers; i++) list[i] = of(w->a, &w->a->layers[i]);
  cel_gguf_add_i32s(w->h, full(w, suffix), list, w->a->n_layers);
  return CEL_OK;
}

static cel_status put_flags_by_layer(writer *w, const char *suffix, of_layer *of) {
  bool list[LAYERS_MOST];
  CEL_TRY(check_layers(w));
  for (int i = 0; i < w->a->n_layers; i++) list[i] = of(w->a, &w->a->layers[i]) != 0;
  cel_gguf_add_bools(w->h, full(w, suffix), list, w->a->n_layers);
  return CEL_OK;
}

// ---- sizes --------------------------------------------------------------------------------------------

static int64_t width_of_mlp(const writer *w) {
  int64_t of_config = cel_json_int(w->d->config, "intermediate_size", 0);
  if (w->a->inter) return w->a->inter;
  return of_config > 0 ? of_config : w->a->moe.inter;
}

static cel_status put_widths(writer *w) {
  if (has(w, CEL_GGUF_WIDTHS)) return put_by_layer(w, "feed_forward_length", width_of);
  put_int(w, "feed_forward_length", width_of_mlp(w));
  return CEL_OK;
}

static cel_status put_kv_heads(writer *w) {
  if (has(w, CEL_GGUF_KV_BY_LAYER)) return put_by_layer(w, "attention.head_count_kv", kv_heads_of);
  put_int(w, "attention.head_count_kv", has(w, CEL_GGUF_LATENT) && !has(w, CEL_GGUF_SPLIT_KV) ? w->a->n_q : w->a->n_kv);
  return CEL_OK;
}

static void put_heads(writer *w) {
  const cel_mla *m = &w->a->mla;
  if (!m->kv_rank) {
    put_int(w, "attention.key_length", w->a->head_dim);
    put_int(w, "attention.value_length", w->a->head_dim);
    return;
  }
  bool split = has(w, CEL_GGUF_SPLIT_KV);
  put_int(w, "attention.key_length", split ? m->kv_rank + m->rope : m->nope + m->rope);
  put_int(w, "attention.value_length", split ? m->kv_rank : m->v);
  if (split) put_int(w, "attention.key_length_mla", m->nope + m->rope);
  if (split) put_int(w, "attention.value_length_mla", m->v);
  if (m->q_rank) put_int(w, "attention.q_lora_rank", m->q_rank);
  put_int(w, "attention.kv_lora_rank", m->kv_rank);
}

static void put_norm(writer *w) {
  bool mean = has(w, CEL_GGUF_LAYER_NORM) || is_arch(w, "olmo");  // as readers look for it
  put_num(w, mean ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", w->a->norm_eps);
  if (is_arch(w, "nemotron")) put_num(w, "attention.layer_norm_rms_epsilon", w->a->norm_eps);
}

// ---- windows ------------------------------------------------------------------------------------------

static int count_sliding(const cel_arch *a) {
  int n = 0;
  for (int i = 0; i < a->n_layers; i++) n += slides(a, &a->layers[i]);
  return n;
}

// One full layer in `period`; 0 when the layers follow no such rule.
static int find_period(const cel_arch *a) {
  int period = 1;
  while (period <= a->n_layers && a->layers[period - 1].attention != CEL_ATTENTION_FULL) period++;
  for (int i = 0; i < a->n_layers; i++) {
    bool full_one = (i + 1) % period == 0;
    if (full_one != (a->layers[i].attention == CEL_ATTENTION_FULL)) return 0;
  }
  return period;
}

static cel_status put_window(writer *w) {
  enum { USUAL = 6 };  // Gemma 3's; the others' is their class's
  bool some = count_sliding(w->a) > 0;
  if (!has(w, CEL_GGUF_WINDOW)) return CEL_OK;
  if (some) put_int(w, "attention.sliding_window", w->a->window);
  else if (is_arch(w, "phi3") || is_arch(w, "phimoe")) put_int(w, "attention.sliding_window", 0);
  if (some && has(w, CEL_GGUF_WINDOW_LIST)) return put_flags_by_layer(w, "attention.sliding_window_pattern", slides);
  int period = some && is_arch(w, "gemma3") ? find_period(w->a) : USUAL;
  if (!period) return refuse(w, "sliding layers in another order than every n-th full");
  if (period != USUAL) put_int(w, "attention.sliding_window_pattern", period);
  return CEL_OK;
}

// Up to the window's length a sliding layer sees what a full one does.
static int64_t context_of(writer *w) {
  const cel_arch *a = w->a;
  char text[240];
  if (has(w, CEL_GGUF_WINDOW) || !count_sliding(a)) return a->max_position;
  w->d->window_cut = true;
  if (a->window >= a->max_position) return a->max_position;
  snprintf(text, sizeof text, "GGUF has no sliding window for %s: context_length is set to %lld (the window), up to which the model "
           "computes the same; it was %lld", w->d->row->arch, (long long)a->window, (long long)a->max_position);
  if (w->d->note) w->d->note(w->d->context, text);
  return a->window;
}

// ---- rotation -----------------------------------------------------------------------------------------

static double yarn_amplitude(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1; }

static void put_yarn(writer *w, const cel_rope *r) {
  put_num(w, "rope.scaling.factor", r->factor);
  put_int(w, "rope.scaling.original_context_length", (int64_t)r->original_max_position);
  put_num(w, "rope.scaling.yarn_beta_fast", r->beta_fast);
  put_num(w, "rope.scaling.yarn_beta_slow", r->beta_slow);
  bool latent = is_arch(w, "deepseek2");
  if (latent || is_arch(w, "mistral3")) {  // readers know the rest
    if (r->mscale_all_dim > 0) put_num(w, "rope.scaling.yarn_log_multiplier", (latent ? 0.1 : 1) * r->mscale_all_dim);
    return;
  }
  double by_formula = yarn_amplitude(r->factor, 1), amplitude = by_formula;  // readers multiply this one themselves
  if (r->attention_factor > 0) amplitude = r->attention_factor;
  else if (r->mscale > 0 && r->mscale_all_dim > 0)
    amplitude = yarn_amplitude(r->factor, r->mscale) / yarn_amplitude(r->factor, r->mscale_all_dim);
  if (is_arch(w, "olmo2")) put_num(w, "rope.scaling.yarn_attn_factor", amplitude);
  else if (amplitude != by_formula) put_num(w, "rope.scaling.attn_factor", amplitude / by_formula);
}

static cel_status put_longrope(writer *w, const cel_rope *r) {
  float f[2048], amplitude;
  if (r->dims > 4096 || r->short_mscale != r->long_mscale) return refuse(w, "a rotation with an amplitude for each of its two tables");
  cel_rope_frequencies(r, w->a->max_position, f, &amplitude);
  put_int(w, "rope.scaling.original_context_length", (int64_t)r->original_max_position);
  put_num(w, "rope.scaling.attn_factor", amplitude);
  return CEL_OK;
}

static cel_status put_scaling(writer *w, const cel_rope *r) {
  switch (r->type) {
    case CEL_ROPE_DEFAULT:
    case CEL_ROPE_LLAMA3: return CEL_OK;  // the latter is a tensor
    case CEL_ROPE_LINEAR:
      cel_gguf_add_string(w->h, full(w, "rope.scaling.type"), CEL_STR("linear"));
      put_num(w, "rope.scaling.factor", r->factor);
      return CEL_OK;
    case CEL_ROPE_YARN:
      cel_gguf_add_string(w->h, full(w, "rope.scaling.type"), CEL_STR("yarn"));
      put_yarn(w, r);
      return CEL_OK;
    case CEL_ROPE_DYNAMIC: return CEL_OK;  // a plain one up to context_length
    case CEL_ROPE_LONGROPE: return put_longrope(w, r);
  }
  return CEL_OK;
}

// Qwen 3.5's three axes of positions share a head's pairs; text has the same position on all.
static cel_status put_sections(writer *w) {
  int32_t list[4] = {11, 11, 10, 0};  // the class's
  const cel_json *block = cel_json_get(w->d->config, "rope_parameters");
  const cel_json *given = cel_json_get(block ? block : cel_json_get(w->d->config, "rope_scaling"), "mrope_section");
  if (!has(w, CEL_GGUF_TILED)) return CEL_OK;
  for (size_t i = 0; cel_json_is_array(given) && i < 4; i++) {
    double x = cel_json_number_value(cel_json_array_get(given, i));
    if (!(x >= 0 && x <= 4096)) return refuse(w, "this mrope_section");
    list[i] = (int32_t)x;
  }
  cel_gguf_add_i32s(w->h, full(w, "rope.dimension_sections"), list, 4);
  return CEL_OK;
}

static const cel_rope *rope_of(const cel_arch *a, cel_attention_kind kind) {
  for (int i = 0; i < a->n_layers; i++) {
    const cel_layer *l = &a->layers[i];
    if (l->mixer == CEL_MIXER_ATTENTION && l->attention == kind && l->rope >= 0) return &a->ropes[l->rope];
  }
  return NULL;
}

// Such a rotation changes once a sequence is longer than max_position_embeddings, which context_length is.
static void tell_of_dynamic(writer *w, const cel_rope *r) {
  char text[200];
  if (r->type != CEL_ROPE_DYNAMIC || r->factor == 1 || !w->d->note) return;
  snprintf(text, sizeof text, "GGUF has no rope_type dynamic: it is left out, and the model computes the same up to its context_length, %lld",
           (long long)w->a->max_position);
  w->d->note(w->d->context, text);
}

static cel_status put_rope(writer *w) {
  const cel_arch *a = w->a;
  const cel_rope *slide = rope_of(a, CEL_ATTENTION_SLIDING), *r = rope_of(a, CEL_ATTENTION_FULL);
  bool rotated = r || slide;
  if (is_granite(w) && (!rotated || !strcmp(a->model_type, "granitemoehybrid"))) cel_gguf_add_bool(w->h, full(w, "rope.scaling.finetuned"), rotated);
  if (!r) r = slide;
  if (!r && is_granite(w)) r = &a->ropes[0];
  if (!r) return refuse(w, "a model without rotation");
  tell_of_dynamic(w, r);
  put_int(w, "rope.dimension_count", r->dims);
  put_num(w, "rope.freq_base", r->theta);
  CEL_TRY(put_sections(w));
  if (slide && slide != r) put_num(w, "rope.freq_base_swa", slide->theta);
  return put_scaling(w, r);
}

// ---- experts ------------------------------------------------------------------------------------------

static int64_t dense_ahead(const cel_arch *a) {
  int n = 0;
  while (n < a->n_layers && a->layers[n].ffn != CEL_FFN_MOE) n++;
  return n;
}

// Where files say how experts are weighed; the others' classes know.
static void put_router(writer *w) {
  const cel_moe *m = &w->a->moe;
  bool sigmoid = m->router == CEL_ROUTER_SIGMOID;
  if (sigmoid) put_int(w, "expert_gating_func", 2);
  if (sigmoid || m->n_group > 1) put_int(w, "expert_group_count", m->n_group);
  if (sigmoid || m->n_group > 1) put_int(w, "expert_group_used_count", m->topk_group);
  if (m->scale != 1) put_num(w, "expert_weights_scale", m->scale);
  if (sigmoid || is_arch(w, "deepseek") || is_arch(w, "deepseek2")) cel_gguf_add_bool(w->h, full(w, "expert_weights_norm"), m->renorm);
}

static void put_experts(writer *w) {
  const cel_moe *m = &w->a->moe;
  static const char *const counting[] = {"deepseek", "deepseek2", "dots1", "glm4moe", "ernie4_5-moe", "lfm2moe", "exaone-moe"};
  bool counted = false;
  for (int i = 0; i < CEL_COUNT(counting); i++) counted = counted || is_arch(w, counting[i]);
  if (!m->n_experts) {
    if (is_arch(w, "deepseek2")) put_int(w, "leading_dense_block_count", w->a->n_layers), put_int(w, "expert_shared_count", 0);
    return;
  }
  put_int(w, "expert_count", m->n_experts);
  put_int(w, "expert_used_count", m->top_k);
  put_int(w, "expert_feed_forward_length", m->inter);
  if (counted) put_int(w, "leading_dense_block_count", dense_ahead(w->a));
  if (counted && !is_arch(w, "lfm2moe")) put_int(w, "expert_shared_count", m->inter ? m->shared_inter / m->inter : 0);
  if (m->shared_inter && (!counted || is_arch(w, "ernie4_5-moe") || is_arch(w, "exaone-moe"))) {  // Ernie's is that of one of them
    int64_t each = cel_json_int(w->d->config, "moe_intermediate_size", m->inter);
    put_int(w, "expert_shared_feed_forward_length", is_arch(w, "ernie4_5-moe") ? each : m->shared_inter);
  }
  if (is_arch(w, "ernie4_5-moe")) put_int(w, "interleave_moe_layer_step", cel_json_int(w->d->config, "moe_layer_interval", 1));
  if (is_arch(w, "exaone-moe")) put_int(w, "nextn_predict_layers", 0);  // those layers are left out
  put_router(w);
}

// ---- scales -------------------------------------------------------------------------------------------

// Readers know the scale of Gemma's scores by the model's size: hidden / heads for the largest.
static void put_gemma_scale(writer *w) {
  const cel_arch *a = w->a;
  int largest = cel_gguf_layers_of_largest(w->d->row);
  double usual = largest && a->n_layers == largest ? (double)a->hidden / a->n_q : (double)a->head_dim;
  double scalar = 1 / (a->attn_scale * a->attn_scale);
  if (!largest || fabs(scalar - usual) < 1e-6 * usual) return;
  put_num(w, "attention.scale", a->attn_scale);
  if (w->d->note) w->d->note(w->d->context, "query_pre_attn_scalar is none of Gemma's own: it is written as attention.scale, which other "
                             "readers may not know");
}

static void put_scales(writer *w) {
  const cel_arch *a = w->a;
  put_gemma_scale(w);
  if (is_granite(w)) put_num(w, "attention.scale", a->attn_scale);
  if (is_granite(w) || is_arch(w, "minicpm")) {
    put_num(w, "embedding_scale", a->embed_mul);
    put_num(w, "residual_scale", a->residual_mul);
    put_num(w, "logit_scale", 1 / a->logit_mul);
  }
  if (is_arch(w, "command-r") || is_arch(w, "cohere2")) put_num(w, "logit_scale", a->logit_mul);
  if (a->attn_softcap != 0) put_num(w, "attn_logit_softcapping", a->attn_softcap);
  if (a->final_softcap != 0) put_num(w, "final_logit_softcapping", a->final_softcap);
  if (a->clip_qkv != 0) put_num(w, "attention.clamp_kqv", a->clip_qkv);
  if (is_arch(w, "stablelm")) cel_gguf_add_bool(w->h, full(w, "use_parallel_residual"), a->placement == CEL_PARALLEL);
  if (a->conv.kernel) put_int(w, "shortconv.l_cache", a->conv.kernel);
  if (is_arch(w, "mistral3")) put_num(w, "attention.temperature_scale", a->q_pos_beta);
}

static cel_status put_delta(writer *w) {
  const cel_arch *a = w->a;
  if (!a->delta.kernel) return CEL_OK;
  put_int(w, "ssm.conv_kernel", a->delta.kernel);
  put_int(w, "ssm.state_size", a->delta.d_k);
  put_int(w, "ssm.group_count", a->delta.n_k);
  put_int(w, "ssm.time_step_rank", a->delta.n_v);
  put_int(w, "ssm.inner_size", (int64_t)a->delta.n_v * a->delta.d_v);
  CEL_TRY(put_flags_by_layer(w, "attention.recurrent_layers", is_delta));
  put_int(w, "full_attention_interval", cel_json_int(w->d->config, "full_attention_interval", 4));
  return CEL_OK;
}

static cel_status put_planes(writer *w) {
  float list[LAYERS_MOST];
  const cel_arch *a = w->a;
  int shared = 0;
  if (!a->gemma3n.planes) return CEL_OK;
  CEL_TRY(check_layers(w));
  for (int i = 0; i < a->n_layers; i++) {
    list[i] = a->layers[i].cut ? (float)a->layers[i].sparsity : -INFINITY;
    shared += a->layers[i].kv_shared;
  }
  put_int(w, "altup.active_idx", a->gemma3n.active);
  put_int(w, "altup.num_inputs", a->gemma3n.planes);
  if (a->gemma3n.planes != 4 && w->d->note) w->d->note(w->d->context, "altup_num_inputs is not 4: other readers of GGUF may not know that");
  put_int(w, "embedding_length_per_layer_input", a->gemma3n.ple);
  put_int(w, "attention.shared_kv_layers", shared);
  cel_gguf_add_f32s(w->h, full(w, "activation_sparsity_scale"), list, a->n_layers);
  return CEL_OK;
}

cel_status cel_gguf_describe(cel_gguf_description *d, cel_gguf_head *h, cel_err *err) {
  writer w = {.d = d, .a = d->a, .h = h, .err = err};
  d->window_cut = false;
  cel_gguf_add_string(h, "general.architecture", cel_str_of(d->row->arch));
  put_int(&w, "block_count", w.a->n_layers);
  put_int(&w, "context_length", context_of(&w));
  put_int(&w, "embedding_length", w.a->hidden);
  CEL_TRY(put_widths(&w));
  put_int(&w, "attention.head_count", w.a->n_q);
  CEL_TRY(put_kv_heads(&w));
  put_heads(&w);
  put_norm(&w);
  put_int(&w, "vocab_size", w.a->vocab);
  CEL_TRY(put_window(&w));
  put_scales(&w);
  put_experts(&w);
  CEL_TRY(put_delta(&w));
  CEL_TRY(put_planes(&w));
  return put_rope(&w);
}
