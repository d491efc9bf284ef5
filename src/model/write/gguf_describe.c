// cel_arch -> GGUF's metadata keys.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "model/write/gguf_family.h"

typedef struct writer {
  const cel_arch *a;
  const cel_gguf_family *f;
  cel_gguf_head *h;
  cel_write_note *note;
  void *context;
  cel_err *err;
  char key[96];
} writer;

static const char *full(writer *w, const char *suffix) {
  snprintf(w->key, sizeof w->key, "%s.%s", w->f->arch, suffix);
  return w->key;
}

static void put_int(writer *w, const char *suffix, int64_t v) { cel_gguf_add_u32(w->h, full(w, suffix), (uint32_t)v); }
static void put_num(writer *w, const char *suffix, double v) { cel_gguf_add_f32(w->h, full(w, suffix), v); }

static cel_status refuse(const writer *w, const char *what) {
  return cel_fail(w->err, CEL_UNSUPPORTED, "GGUF has no words for %s in a model of the architecture %s", what, w->f->arch);
}

// ---- layers -------------------------------------------------------------------------------------------

static int count_sliding(const cel_arch *a) {
  int n = 0;
  for (int i = 0; i < a->n_layers; i++) n += a->layers[i].attention == CEL_ATTENTION_SLIDING;
  return n;
}

// One full layer in `period`; 0 when the layers follow no such rule.
static int find_period(const cel_arch *a) {
  int period = 1;
  while (period <= a->n_layers && a->layers[period - 1].attention != CEL_ATTENTION_FULL) period++;
  for (int i = 0; i < a->n_layers; i++) {
    bool full = (i + 1) % period == 0;
    if (full != (a->layers[i].attention == CEL_ATTENTION_FULL)) return 0;
  }
  return period;
}

static cel_status put_own_window(writer *w) {
  enum { USUAL = 6 };
  int period = find_period(w->a);
  if (!period) return refuse(w, "sliding layers in another order than every n-th full");
  put_int(w, "attention.sliding_window", w->a->window);
  if (period != USUAL) put_int(w, "attention.sliding_window_pattern", period);
  return CEL_OK;
}

// Up to the window's length a sliding layer sees what a full one does.
static int64_t context_within_window(writer *w) {
  const cel_arch *a = w->a;
  char text[240];
  if (!count_sliding(a) || a->window >= a->max_position) return a->max_position;
  snprintf(text, sizeof text, "GGUF has no sliding window for %s: context_length is set to %lld (the window), up to which the model "
           "computes the same; it was %lld", w->f->arch, (long long)a->window, (long long)a->max_position);
  if (w->note) w->note(w->context, text);
  return a->window;
}

// ---- rotation -----------------------------------------------------------------------------------------

static double yarn_amplitude(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1; }

static cel_status put_yarn(writer *w, const cel_rope *r) {
  if (!r->truncate) return refuse(w, "a yarn rotation with truncate = false");
  put_num(w, "rope.scaling.factor", r->factor);
  put_int(w, "rope.scaling.original_context_length", (int64_t)r->original_max_position);
  put_num(w, "rope.scaling.yarn_beta_fast", r->beta_fast);
  put_num(w, "rope.scaling.yarn_beta_slow", r->beta_slow);
  double by_formula = yarn_amplitude(r->factor, 1), amplitude = by_formula;  // readers multiply this one themselves
  if (r->attention_factor > 0) amplitude = r->attention_factor;
  else if (r->mscale > 0 && r->mscale_all_dim > 0)
    amplitude = yarn_amplitude(r->factor, r->mscale) / yarn_amplitude(r->factor, r->mscale_all_dim);
  if (amplitude != by_formula) put_num(w, "rope.scaling.attn_factor", amplitude / by_formula);
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
      return put_yarn(w, r);
    case CEL_ROPE_DYNAMIC: return refuse(w, "rope_type dynamic");
    case CEL_ROPE_LONGROPE: return refuse(w, "rope_type longrope");
  }
  return CEL_OK;
}

static const cel_rope *rope_of(const cel_arch *a, cel_attention_kind kind) {
  for (int i = 0; i < a->n_layers; i++) {
    if (a->layers[i].attention == kind) return a->layers[i].rope >= 0 ? &a->ropes[a->layers[i].rope] : NULL;
  }
  return NULL;
}

static cel_status put_rope(writer *w) {
  const cel_arch *a = w->a;
  const cel_rope *slide = rope_of(a, CEL_ATTENTION_SLIDING), *r = rope_of(a, CEL_ATTENTION_FULL);
  if (!r) r = slide;
  for (int i = 0; i < a->n_layers; i++) {
    if (a->layers[i].rope < 0) return refuse(w, "layers without rotation");
  }
  if (!r) return refuse(w, "a model without rotation");
  put_int(w, "rope.dimension_count", r->dims);
  put_num(w, "rope.freq_base", r->theta);
  if (slide && slide != r) {
    if (!w->f->window || slide->type != CEL_ROPE_DEFAULT) return refuse(w, "a second rotation for sliding layers");
    put_num(w, "rope.freq_base_swa", slide->theta);
  }
  return put_scaling(w, r);
}

// ---- all of it ------------------------------------------------------------------------------------------

// Readers know the scale of Gemma's scores by the model's size: hidden / heads for the one of 62 layers.
static void put_scale(writer *w) {
  const cel_arch *a = w->a;
  double usual = a->n_layers == 62 ? (double)a->hidden / a->n_q : (double)a->head_dim;
  double scalar = 1 / (a->attn_scale * a->attn_scale);
  if (fabs(scalar - usual) < 1e-6 * usual) return;
  put_num(w, "attention.scale", a->attn_scale);
  if (w->note) w->note(w->context, "query_pre_attn_scalar is none of Gemma 3's own: it is written as attention.scale, which other "
                       "readers may not know");
}

static cel_status check_usual(writer *w) {
  const cel_arch *a = w->a;
  double usual = 1 / sqrt((double)a->head_dim);
  if (a->act != w->f->act) return refuse(w, "this activation (hidden_act)");
  if (a->attn_softcap != 0) return refuse(w, "a soft cap of attention scores");
  if (!w->f->plus_one && fabs(a->attn_scale - usual) > 1e-6 * usual) return refuse(w, "a scale of attention scores of its own");
  return CEL_OK;
}

cel_status cel_gguf_describe(const cel_arch *a, const cel_gguf_family *f, cel_gguf_head *h, cel_write_note *note, void *context,
                             cel_err *err) {
  writer w = {.a = a, .f = f, .h = h, .note = note, .context = context, .err = err};
  CEL_TRY(check_usual(&w));
  cel_gguf_add_string(h, "general.architecture", cel_str_of(f->arch));
  put_int(&w, "block_count", a->n_layers);
  put_int(&w, "context_length", f->window ? a->max_position : context_within_window(&w));
  put_int(&w, "embedding_length", a->hidden);
  put_int(&w, "feed_forward_length", a->inter);
  put_int(&w, "attention.head_count", a->n_q);
  put_int(&w, "attention.head_count_kv", a->n_kv);
  put_int(&w, "attention.key_length", a->head_dim);
  put_int(&w, "attention.value_length", a->head_dim);
  put_num(&w, "attention.layer_norm_rms_epsilon", a->norm_eps);
  put_int(&w, "vocab_size", a->vocab);
  if (f->window && count_sliding(a)) CEL_TRY(put_own_window(&w));
  if (f->plus_one) put_scale(&w);
  if (a->final_softcap != 0) put_num(&w, "final_logit_softcapping", a->final_softcap);
  return put_rope(&w);
}
