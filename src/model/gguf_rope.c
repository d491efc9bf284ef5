// Rotation and windows of GGUF metadata in the words of config.json: rope_theta, partial_rotary_factor, rope_scaling,
// sliding_window, layer_types.
#include <math.h>
#include <string.h>

#include "model/gguf_reading.h"

static cel_status make_partial_rotary(cel_gguf_maker *m) {
  int64_t dims;
  CEL_TRY(cel_gguf_size(m, "rope.dimension_count", &dims));
  if (!dims || m->arch->traits & CEL_GGUF_LATENT) return CEL_OK;
  if (dims == m->s.head_dim && !(m->arch->traits & CEL_GGUF_PARTIAL)) return CEL_OK;
  if (dims > m->s.head_dim) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, heads have only %lld", m->g->file, m->key,
                    (long long)dims, (long long)m->s.head_dim);
  }
  double f = (double)dims / (double)m->s.head_dim;
  if ((int64_t)((double)m->s.head_dim * f) < dims) f = nextafter(f, 1);  // readers cut off the product
  return cel_gguf_put_num(m, m->config, "partial_rotary_factor", f);
}

// llama.cpp multiplies attn_factor with the amplitude of the formula; transformers replaces it, and yarn_attn_factor is
// transformers' number.
static cel_status make_yarn(cel_gguf_maker *m, cel_json *scaling, double factor) {
  double attn = 1;
  bool found;
  CEL_TRY(cel_gguf_copy_real(m, scaling, "rope.scaling.yarn_beta_fast", "beta_fast"));
  CEL_TRY(cel_gguf_copy_real(m, scaling, "rope.scaling.yarn_beta_slow", "beta_slow"));
  CEL_TRY(cel_gguf_copy_real(m, scaling, "rope.scaling.yarn_attn_factor", "attention_factor"));
  CEL_TRY(cel_gguf_real(m, "rope.scaling.attn_factor", &attn, &found));
  if (!found || attn == 1) return CEL_OK;
  return cel_gguf_put_num(m, scaling, "attention_factor", attn * (factor > 1 ? 0.1 * log(factor) + 1 : 1));
}

static cel_status fill_scaling(cel_gguf_maker *m, cel_json *scaling, cel_str type, double factor) {
  CEL_TRY(cel_gguf_put(scaling, "rope_type", cel_json_string_new(type), m->err));
  CEL_TRY(cel_gguf_put_num(m, scaling, "factor", factor));
  CEL_TRY(cel_gguf_copy_real(m, scaling, "rope.scaling.original_context_length", "original_max_position_embeddings"));
  if (cel_str_is(type, "yarn")) return make_yarn(m, scaling, factor);
  return CEL_OK;
}

// A tensor of divisors as a list of numbers.
static cel_status put_divisors(cel_gguf_maker *m, cel_json *scaling, const cel_tensor *t, const char *key) {
  if (t->dtype != CEL_DT_F32 || t->rank != 1) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: tensor \"%s\" is %s %s; a list of F32 is needed", t->file, t->name,
                    cel_dtype_of(t->dtype)->name, cel_show_dims(t->dims, t->rank).text);
  }
  cel_json *list = cel_json_array();
  CEL_TRY(cel_gguf_put(scaling, key, list, m->err));
  list = cel_json_object_get(scaling, key);
  for (int64_t i = 0; i < t->dims[0]; i++) {
    float f;
    memcpy(&f, (const char *)t->data + 4 * i, sizeof f);
    if (!(f > 0) || !isfinite(f)) {
      return cel_fail(m->err, CEL_MALFORMED, "%s: tensor \"%s\", entry %lld, is %g; a positive number is needed", t->file,
                      t->name, (long long)i, (double)f);
    }
    if (cel_json_array_append_new(list, cel_json_real(f)) != 0) return cel_fail_oom(m->err, "a config");
  }
  return CEL_OK;
}

// Two tables of divisors, whatever the type says: files of Phi 3 do not name it.
static cel_status make_longrope(cel_gguf_maker *m, const cel_tensor *longer, const cel_tensor *shorter) {
  int64_t original;
  CEL_TRY(cel_gguf_put(m->config, "rope_scaling", cel_json_object(), m->err));
  cel_json *scaling = cel_json_object_get(m->config, "rope_scaling");
  CEL_TRY(cel_gguf_put(scaling, "rope_type", cel_json_string_of("longrope"), m->err));
  CEL_TRY(put_divisors(m, scaling, longer, "long_factor"));
  CEL_TRY(put_divisors(m, scaling, shorter, "short_factor"));
  CEL_TRY(cel_gguf_size(m, "rope.scaling.original_context_length", &original));
  CEL_TRY(cel_gguf_put(scaling, "original_max_position_embeddings", cel_json_integer(original ? original : m->s.context),
                       m->err));
  return cel_gguf_copy_real(m, scaling, "rope.scaling.attn_factor", "attention_factor");
}

static cel_status make_scaling(cel_gguf_maker *m) {
  cel_str type = CEL_STR("linear");  // of files that give only a factor
  double factor = 1;
  bool typed, found;
  const cel_tensor *longer = cel_gguf_tensor_of(m, "rope_factors_long.weight");
  const cel_tensor *shorter = cel_gguf_tensor_of(m, "rope_factors_short.weight");
  if (longer && shorter) return make_longrope(m, longer, shorter);
  CEL_TRY(cel_gguf_string(m->g, cel_gguf_key(m, "rope.scaling.type"), &type, &typed, m->err));
  if (typed && !cel_str_is(type, "none") && !cel_str_is(type, "linear") && !cel_str_is(type, "yarn") &&
      !cel_str_is(type, "longrope")) {
    return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" is \"%s\"; none, linear, yarn and longrope are known",
                    m->g->file, m->key, cel_show(type).text);
  }
  if (cel_str_is(type, "longrope")) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is \"longrope\", but the tensor \"rope_factors_%s.weight\" is "
                    "missing", m->g->file, m->key, longer ? "short" : "long");
  }
  CEL_TRY(cel_gguf_real(m, "rope.scaling.factor", &factor, &found));
  if (!found) CEL_TRY(cel_gguf_real(m, "rope.scale_linear", &factor, NULL));
  if (cel_str_is(type, "none") || (cel_str_is(type, "linear") && (factor == 0 || factor == 1))) return CEL_OK;
  CEL_TRY(cel_gguf_put(m->config, "rope_scaling", cel_json_object(), m->err));
  return fill_scaling(m, cel_json_object_get(m->config, "rope_scaling"), type, factor);
}

cel_status cel_gguf_make_rope(cel_gguf_maker *m) {
  double theta = 1e4;
  CEL_TRY(cel_gguf_real(m, "rope.freq_base", &theta, NULL));
  CEL_TRY(cel_gguf_put_num(m, m->config, "rope_theta", theta));
  CEL_TRY(make_partial_rotary(m));
  return make_scaling(m);
}

// true: the layer slides.
static cel_status put_layer_types(cel_gguf_maker *m, const cel_gguf_value *slides) {
  cel_json *list = cel_json_array();
  CEL_TRY(cel_gguf_put(m->config, "layer_types", list, m->err));
  list = cel_json_object_get(m->config, "layer_types");
  for (int64_t i = 0; i < m->s.layers; i++) {
    const char *word = cel_gguf_item(slides, i) ? "sliding_attention" : "full_attention";
    if (cel_json_array_append_new(list, cel_json_string_of(word)) != 0) return cel_fail_oom(m->err, "a config");
  }
  return CEL_OK;
}

cel_status cel_gguf_make_window(cel_gguf_maker *m) {
  const cel_gguf_value *slides;
  int64_t window;
  CEL_TRY(cel_gguf_size(m, "attention.sliding_window", &window));
  if (!window) return cel_gguf_put_null(m, "sliding_window");
  CEL_TRY(cel_gguf_put_int(m, "sliding_window", window));
  CEL_TRY(cel_gguf_per_layer(m, "attention.sliding_window_pattern", &slides));
  if (slides) return put_layer_types(m, slides);
  return cel_gguf_copy_size(m, "attention.sliding_window_pattern", "sliding_window_pattern");
}
