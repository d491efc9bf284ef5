// GGUF metadata -> config.json's keys (the layout before transformers 5: top-level rope_theta, rope_scaling).
#include <string.h>

#include "model/gguf_reading.h"

// key_length, or what the first q matrix says, or hidden / heads.
static cel_status find_head_dim(cel_gguf_maker *m) {
  cel_gguf_sizes *s = &m->s;
  int64_t value_length;
  const cel_tensor *q = cel_gguf_tensor_of(m, "model.layers.0.self_attn.q_proj.weight");
  if (m->arch->traits & CEL_GGUF_LATENT) return CEL_OK;
  CEL_TRY(cel_gguf_size(m, "attention.key_length", &s->head_dim));
  CEL_TRY(cel_gguf_size(m, "attention.value_length", &value_length));
  if (!s->head_dim) s->head_dim = (q && q->rank == 2 ? q->dims[0] : s->hidden) / s->heads;
  if (s->head_dim < 1) return cel_fail(m->err, CEL_MALFORMED, "%s: attention heads without width", m->g->file);
  if (value_length && value_length != s->head_dim) {
    return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" is %lld, other than the width of keys, %lld", m->g->file,
                    m->key, (long long)value_length, (long long)s->head_dim);
  }
  return m->arch->traits & CEL_GGUF_HALF_HEADS ? CEL_OK : cel_gguf_put_int(m, "head_dim", s->head_dim);
}

// The number of kv heads of the layers that have any.
static cel_status find_kv_heads(cel_gguf_maker *m) {
  const cel_gguf_value *list = NULL;
  if (m->arch->traits & CEL_GGUF_KV_BY_LAYER) CEL_TRY(cel_gguf_per_layer(m, "attention.head_count_kv", &list));
  if (!list) return cel_gguf_size(m, "attention.head_count_kv", &m->s.kv_heads);
  for (int64_t i = 0; i < m->s.layers; i++) {
    int64_t n = cel_gguf_item(list, i);
    if (n < 0 || n > INT32_MAX || (n && m->s.kv_heads && n != m->s.kv_heads)) {
      return cel_fail(m->err, CEL_UNSUPPORTED, "%s: metadata \"%s\" has %lld and %lld; all layers with attention must have as many",
                      m->g->file, m->key, (long long)m->s.kv_heads, (long long)n);
    }
    if (n) m->s.kv_heads = n;
  }
  return CEL_OK;
}

// Layers that predict further tokens are counted with the others, but follow them.
static cel_status find_layers(cel_gguf_maker *m) {
  int64_t more;
  CEL_TRY(cel_gguf_size(m, "nextn_predict_layers", &more));
  CEL_TRY(cel_gguf_require_size(m, "block_count", NULL, &m->s.layers));
  if (more >= m->s.layers) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is %lld, fewer than one more than the %lld of nextn_predict_layers",
                    m->g->file, m->key, (long long)m->s.layers, (long long)more);
  }
  m->s.layers -= more;
  return cel_gguf_put_int(m, "num_hidden_layers", m->s.layers);
}

// intermediate_size: one width, or one for each layer.
static cel_status find_widths(cel_gguf_maker *m) {
  const cel_gguf_value *widths = NULL;
  if (m->arch->traits & CEL_GGUF_WIDTHS) CEL_TRY(cel_gguf_per_layer(m, "feed_forward_length", &widths));
  if (!widths) {
    int64_t of_experts;  // whose layers are all of experts may not say another width
    CEL_TRY(cel_gguf_size(m, "expert_feed_forward_length", &of_experts));
    bool said = cel_gguf_find(m->g, cel_gguf_key(m, "feed_forward_length")) != NULL;
    return of_experts && !said ? CEL_OK : cel_gguf_require_size(m, "feed_forward_length", "intermediate_size", &m->s.inter);
  }
  CEL_TRY(cel_gguf_put(m->config, "intermediate_size", cel_json_array(), m->err));
  cel_json *list = cel_json_object_get(m->config, "intermediate_size");
  for (int64_t i = 0; i < m->s.layers; i++) {
    if (cel_json_array_append_new(list, cel_json_integer(cel_gguf_item(widths, i))) != 0) return cel_fail_oom(m->err, "a config");
  }
  return CEL_OK;
}

static cel_status make_sizes(cel_gguf_maker *m) {
  cel_gguf_sizes *s = &m->s;
  CEL_TRY(find_layers(m));
  CEL_TRY(cel_gguf_require_size(m, "embedding_length", "hidden_size", &s->hidden));
  CEL_TRY(find_widths(m));
  CEL_TRY(cel_gguf_require_size(m, "attention.head_count", "num_attention_heads", &s->heads));
  CEL_TRY(cel_gguf_require_size(m, "context_length", "max_position_embeddings", &s->context));
  CEL_TRY(find_kv_heads(m));
  CEL_TRY(cel_gguf_put_int(m, "num_key_value_heads", s->kv_heads ? s->kv_heads : s->heads));
  return find_head_dim(m);
}

static cel_status make_norm(cel_gguf_maker *m) {
  bool mean = m->arch->traits & CEL_GGUF_LAYER_NORM, found;
  const char *key = m->arch->eps_key ? m->arch->eps_key : "rms_norm_eps";
  double eps;
  if (m->arch->traits & CEL_GGUF_PLUS_ONE) CEL_TRY(cel_gguf_put_bool(m, "mlxcel_norm_plus_one_folded", true));
  if (!*key) return CEL_OK;
  CEL_TRY(cel_gguf_real(m, mean ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon", &eps, &found));
  if (!found) return cel_fail(m->err, CEL_MALFORMED, "%s: metadata \"%s\" is missing", m->g->file, m->key);
  return cel_gguf_put_num(m, m->config, key, eps);
}

static cel_status make_tensor_facts(cel_gguf_maker *m) {
  const cel_tensor *embed = cel_gguf_tensor_of(m, "model.embed_tokens.weight");
  if (!embed || embed->rank != 2) {
    return cel_fail(m->err, CEL_MALFORMED, "%s: tensor \"token_embd.weight\" is missing or not a matrix", m->g->file);
  }
  CEL_TRY(cel_gguf_put_int(m, "vocab_size", embed->dims[0]));
  CEL_TRY(cel_gguf_put_bool(m, "tie_word_embeddings", !cel_gguf_tensor_of(m, "lm_head.weight")));
  CEL_TRY(cel_gguf_put_bool(m, "mlp_bias", cel_gguf_in_layers(m, "mlp.gate_proj.bias")));
  if (m->arch->traits & CEL_GGUF_NO_QKV_KEY) return CEL_OK;
  return cel_gguf_put_bool(m, "attention_bias", cel_gguf_in_layers(m, "self_attn.q_proj.bias"));
}

// The activation is that of the class but for Gemma and Llama's kin.
static cel_status make_activation(cel_gguf_maker *m) {
  if (m->arch->traits & CEL_GGUF_GELU) return cel_gguf_put_word(m, "hidden_activation", "gelu_pytorch_tanh");
  return CEL_OK;
}

static cel_status fill_config(cel_gguf_maker *m, const cel_gguf_vocab *vocab) {
  CEL_TRY(cel_gguf_put_word(m, "model_type", m->arch->model_type));
  CEL_TRY(make_sizes(m));
  CEL_TRY(make_norm(m));
  CEL_TRY(cel_gguf_make_rope(m));
  CEL_TRY(make_tensor_facts(m));
  CEL_TRY(make_activation(m));
  CEL_TRY(cel_gguf_make_experts(m));
  if (m->arch->more) CEL_TRY(m->arch->more(m));
  return vocab ? cel_gguf_put_ids(m->config, vocab, m->err) : CEL_OK;
}

cel_status cel_gguf_config(const cel_gguf *g, const cel_tensor_list *list, const cel_gguf_vocab *vocab, cel_json **out,
                           cel_err *err) {
  cel_str arch;
  bool found;
  *out = NULL;
  CEL_TRY(cel_gguf_string(g, "general.architecture", &arch, &found, err));
  cel_gguf_maker m = {.g = g, .list = list, .arch = found ? cel_gguf_find_arch(g) : NULL, .config = cel_json_object(), .err = err};
  if (!m.config) return cel_fail_oom(err, "a config");
  cel_status status = CEL_OK;
  if (found) status = m.arch ? fill_config(&m, vocab) : cel_gguf_put_word(&m, "model_type", cel_show(arch).text);
  if (status != CEL_OK) {
    cel_json_decref(m.config);
    return status;
  }
  *out = m.config;
  return CEL_OK;
}
