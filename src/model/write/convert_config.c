// config.json of a new folder.
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "model/write/conversion_private.h"

static cel_status put(cel_json *obj, const char *key, cel_json *value, cel_err *err) {
  return value && cel_json_object_set_new(obj, key, value) == 0 ? CEL_OK : cel_fail_oom(err, "a config");
}

// Not taken over: what the new weights say anew, and keys of ours that GGUF files get when they are read.
static bool is_dropped(const char *key) {
  static const char *const keys[] = {"quantization", "quantization_config", "mlxcel_norm_plus_one_folded", "mlxcel_delta_separate", "mlxcel_delta_tiled"};
  for (int i = 0; i < CEL_COUNT(keys); i++) {
    if (!strcmp(key, keys[i])) return true;
  }
  return false;
}

// Readers that are strict about kinds want this one whole; GGUF has it as a real number, or as one over its root.
static cel_json *copy_value(const char *key, const cel_json *value) {
  double x = cel_json_real_value(value), whole = rint(x);
  bool near = whole >= 1 && whole <= 1e9 && fabs(x - whole) <= 1e-6 * whole;
  if (near && !strcmp(key, "query_pre_attn_scalar")) return cel_json_integer((int64_t)whole);
  return cel_json_deep_copy(value);
}

static cel_status copy_members(const cel_json *from, cel_json *to, cel_err *err) {
  size_t at;
  cel_str key;
  cel_json *value;
  cel_json_object_foreach(from, at, key, value) {
    if (!is_dropped(key.p)) CEL_TRY(put(to, key.p, copy_value(key.p, value), err));
  }
  return CEL_OK;
}

// The text level of a wrapper stands for itself: the new folder holds the text model alone.
static cel_status text_level(const cel_json *root, cel_json *out, cel_err *err) {
  static const char *const inherited[] = {"bos_token_id", "eos_token_id", "pad_token_id", "tie_word_embeddings", "torch_dtype", "dtype"};
  const cel_json *text = cel_json_get(root, "text_config");
  if (!cel_json_is_object(text)) return copy_members(root, out, err);
  CEL_TRY(copy_members(text, out, err));
  for (int i = 0; i < CEL_COUNT(inherited); i++) {
    const cel_json *value = cel_json_object_get(root, inherited[i]);
    if (value && !cel_json_object_get(out, inherited[i])) CEL_TRY(put(out, inherited[i], cel_json_deep_copy(value), err));
  }
  return CEL_OK;
}

static cel_json *quantization_block(const cel_scheme *s, cel_err *err) {
  cel_json *block = cel_json_object();
  const char *mode = s->kind == CEL_SCHEME_AFFINE ? "affine" : cel_micro_name(s->bits, s->group);
  bool ok = block && put(block, "group_size", cel_json_integer(s->group), err) == CEL_OK &&
            put(block, "bits", cel_json_integer(s->bits), err) == CEL_OK && put(block, "mode", cel_json_string_new(cel_str_of(mode)), err) == CEL_OK;
  if (ok) return block;
  cel_json_decref(block);
  return NULL;
}

// Under both keys, as mlx-lm writes it.
static cel_status put_quantization(const cel_conversion *v, cel_json *config, cel_err *err) {
  const cel_scheme *s = &v->o->scheme;
  if (s->kind != CEL_SCHEME_AFFINE && s->kind != CEL_SCHEME_MICRO) return CEL_OK;
  CEL_TRY(put(config, "quantization", quantization_block(s, err), err));
  return put(config, "quantization_config", quantization_block(s, err), err);
}

static cel_json *rope_block(const cel_rope *r, cel_err *err) {
  const struct { const char *key; double value; } rows[] = {
    {"factor", r->factor}, {"low_freq_factor", r->low_freq_factor}, {"high_freq_factor", r->high_freq_factor}};
  cel_json *block = cel_json_object();
  bool ok = block && put(block, "rope_type", cel_json_string_new(cel_str_of("llama3")), err) == CEL_OK &&
            put(block, "original_max_position_embeddings", cel_json_integer((int64_t)r->original_max_position), err) == CEL_OK;
  for (int i = 0; ok && i < CEL_COUNT(rows); i++) ok = put(block, rows[i].key, cel_json_real(rows[i].value), err) == CEL_OK;
  if (ok) return block;
  cel_json_decref(block);
  return NULL;
}

// Llama 3's rotation, which a GGUF file has as a tensor.
static cel_status put_rope(const cel_conversion *v, cel_json *config, cel_err *err) {
  const cel_tensor *t = cel_checkpoint_find(v->c, "rope_freqs.weight");
  cel_rope r;
  float divisors[1024];
  if (!t) return CEL_OK;
  bool readable = t->dtype == CEL_DT_F32 && t->rank == 1 && t->dims[0] * 2 == v->arch.ropes[0].dims && t->dims[0] <= 1024;
  if (readable) cel_dtype_of(t->dtype)->widen(t->data, divisors, t->dims[0]);
  if (!readable || !cel_rope_from_divisors(divisors, (int)t->dims[0], v->arch.ropes[0].theta, &r)) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: tensor \"rope_freqs.weight\" is no rotation of Llama 3's kind: a config.json has no words "
                    "for it", t->file);
  }
  return put(config, "rope_scaling", rope_block(&r, err), err);
}

// What a reader of GGUF calls by one name has others in Hugging Face's classes.
static cel_status rename_keys(const cel_conversion *v, cel_json *config, cel_err *err) {
  static const struct { const char *model_type, *from, *to; } rows[] = {
    {"mixtral", "num_experts", "num_local_experts"},    {"phimoe", "num_experts", "num_local_experts"},
    {"granitemoe", "num_experts", "num_local_experts"}, {"granitemoeshared", "num_experts", "num_local_experts"},
    {"granitemoehybrid", "num_experts", "num_local_experts"},
    {"deepseek", "num_experts", "n_routed_experts"},    {"deepseek_v2", "num_experts", "n_routed_experts"},
    {"deepseek_v3", "num_experts", "n_routed_experts"}, {"glm4_moe", "num_experts", "n_routed_experts"},
    {"dots1", "num_experts", "n_routed_experts"},       {"ernie4_5_moe", "num_experts", "moe_num_experts"},
    {"ernie4_5_moe", "num_experts_per_tok", "moe_k"},   {"gpt_oss", "num_experts", "num_local_experts"},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    const cel_json *value = cel_json_get(config, rows[i].from);
    if (strcmp(rows[i].model_type, v->arch.model_type) != 0 || !value) continue;
    CEL_TRY(put(config, rows[i].to, cel_json_deep_copy(value), err));
  }
  if (v->arch.mla.kv_rank) CEL_TRY(put(config, "num_key_value_heads", cel_json_integer(v->arch.n_q), err));  // GGUF counts the latent
  const cel_rope *r = &v->arch.ropes[0];
  if (v->arch.n_ropes && r->type == CEL_ROPE_LONGROPE) {  // transformers looks for it here, too
    CEL_TRY(put(config, "original_max_position_embeddings", cel_json_integer((int64_t)r->original_max_position), err));
  }
  // A class's default may be an id that this vocabulary does not have.
  return cel_json_object_get(config, "pad_token_id") ? CEL_OK : put(config, "pad_token_id", cel_json_null(), err);
}

static cel_status put_class(const cel_conversion *v, cel_json *config, cel_err *err) {
  const char *name = cel_hf_class_of(v->arch.model_type);
  if (!name) return cel_fail(err, CEL_UNSUPPORTED, "%s: no class of Hugging Face's is known for models of the type %s", v->c->path, v->arch.model_type);
  cel_json *list = cel_json_array();
  if (list && cel_json_array_append_new(list, cel_json_string_new(cel_str_of(name))) != 0) {
    cel_json_decref(list);
    list = NULL;
  }
  return put(config, "architectures", list, err);
}

static const char *dtype_word(cel_dtype t) { return t == CEL_DT_F32 ? "float32" : t == CEL_DT_F16 ? "float16" : "bfloat16"; }

// mlx-lm knows some text models by other names than Hugging Face. Back only where the name is that of a whole with other parts.
static cel_status put_type(const cel_conversion *v, cel_json *config, cel_err *err) {
  static const struct { const char *hf, *mlx; bool back; } rows[] = {
    {"qwen3_5_text", "qwen3_5", true}, {"qwen3_5_moe_text", "qwen3_5_moe", true}, {"youtu", "youtu_llm", false},
  };
  const char *type = cel_json_string(config, "model_type", "");
  bool mlx = cel_conversion_is_mlx(v);
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    if (!mlx && !rows[i].back) continue;
    if (!strcmp(type, mlx ? rows[i].hf : rows[i].mlx)) {
      return put(config, "model_type", cel_json_string_new(cel_str_of(mlx ? rows[i].mlx : rows[i].hf)), err);
    }
  }
  return CEL_OK;
}

static cel_status adapt(const cel_conversion *v, cel_json *config, cel_err *err) {
  CEL_TRY(put_quantization(v, config, err));
  CEL_TRY(put_type(v, config, err));
  if (v->has_beyond && cel_json_object_get(config, "num_nextn_predict_layers")) {
    CEL_TRY(put(config, "num_nextn_predict_layers", cel_json_integer(0), err));
  }
  if (v->c->format == CEL_FORMAT_GGUF) {
    CEL_TRY(rename_keys(v, config, err));
    CEL_TRY(put_class(v, config, err));
    CEL_TRY(put_rope(v, config, err));
  }
  const char *key = cel_json_object_get(config, "dtype") ? "dtype" : "torch_dtype";
  return put(config, key, cel_json_string_new(cel_str_of(dtype_word(v->plain))), err);
}

bool cel_conversion_is_inner(const cel_conversion *v) {
  const cel_json *text = cel_json_get(v->c->config, "text_config");
  return cel_conversion_is_mlx(v) && !strcmp(cel_json_string(text ? text : v->c->config, "model_type", ""), "gemma3n_text");
}

// The text model's config inside one of the whole, which says the same.
static cel_status wrap(cel_json *config, cel_err *err) {
  cel_json *text = cel_json_deep_copy(config);
  CEL_TRY(put(config, "text_config", text, err));
  return put(config, "model_type", cel_json_string_new(CEL_STR("gemma3n")), err);
}

cel_status cel_conversion_make_config(cel_conversion *v, cel_err *err) {
  if (!(v->config = cel_json_object())) return cel_fail_oom(err, "a config");
  CEL_TRY(text_level(v->c->config, v->config, err));
  if (cel_json_is_object(cel_json_get(v->c->config, "text_config")) && v->o->note) {
    v->o->note(v->o->note_context, "only the text model is written: vision and audio parts are left out");
  }
  CEL_TRY(adapt(v, v->config, err));
  return cel_conversion_is_inner(v) ? wrap(v->config, err) : CEL_OK;
}
