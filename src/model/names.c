#include "model/names.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"

// First match wins. NULL: not part of the text model.
static const struct { const char *head, *becomes; } hf_heads[] = {
  {"language_model.model.", "model."},
  {"model.language_model.", "model."},
  {"language_model.lm_head.", "lm_head."},
  {"vision_tower.", NULL}, {"model.vision_tower.", NULL}, {"vision_model.", NULL}, {"model.vision_model.", NULL},
  {"visual.", NULL}, {"model.visual.", NULL}, {"vision_encoder.", NULL}, {"model.vision_encoder.", NULL},
  {"vision_embed_tokens.", NULL}, {"model.vision_embed_tokens.", NULL},
  {"embed_vision.", NULL}, {"model.embed_vision.", NULL}, {"embed_audio.", NULL}, {"model.embed_audio.", NULL},
  {"multi_modal_projector.", NULL}, {"model.multi_modal_projector.", NULL}, {"mm_projector.", NULL},
  {"model.mm_projector.", NULL}, {"connector.", NULL}, {"model.connector.", NULL},
  {"model.embed_tokens_extend.", NULL}, {"audio_tower.", NULL}, {"model.audio_tower.", NULL}, {"audio_model.", NULL},
  {"mtp.", NULL}, {"model.mtp_", NULL},
};

static const char *const hf_dropped_tails[] = {".rotary_emb.inv_freq", ".rope.inv_freq"};

bool cel_name_from_hf(cel_str raw, cel_str *head, cel_str *tail) {
  for (int i = 0; i < CEL_COUNT(hf_dropped_tails); i++) {
    if (cel_str_ends(raw, cel_str_of(hf_dropped_tails[i]))) return false;
  }
  *head = CEL_STR("");
  *tail = raw;
  for (int i = 0; i < CEL_COUNT(hf_heads); i++) {
    cel_str h = cel_str_of(hf_heads[i].head);
    if (!cel_str_starts(raw, h)) continue;
    if (!hf_heads[i].becomes) return false;
    *head = cel_str_of(hf_heads[i].becomes);
    *tail = (cel_str){raw.p + h.n, raw.n - h.n};
    return true;
  }
  return true;
}

static const cel_gguf_name outside[] = {
  {"token_embd", "model.embed_tokens"}, {"output_norm", "model.norm"}, {"output", "lm_head"}, {NULL, NULL},
};

static const cel_gguf_name in_block[] = {
  {"attn_norm", "input_layernorm"},
  {"attn_q", "self_attn.q_proj"},
  {"attn_k", "self_attn.k_proj"},
  {"attn_v", "self_attn.v_proj"},
  {"attn_qkv", "self_attn.qkv_proj"},
  {"attn_output", "self_attn.o_proj"},
  {"attn_q_norm", "self_attn.q_norm"},
  {"attn_k_norm", "self_attn.k_norm"},
  {"attn_sinks.weight", "self_attn.sinks"},
  {"attn_q_a", "self_attn.q_a_proj"},
  {"attn_q_a_norm", "self_attn.q_a_layernorm"},
  {"attn_q_b", "self_attn.q_b_proj"},
  {"attn_kv_a_mqa", "self_attn.kv_a_proj_with_mqa"},
  {"attn_kv_a_norm", "self_attn.kv_a_layernorm"},
  {"attn_kv_b", "self_attn.kv_b_proj"},
  {"attn_k_b", "self_attn.embed_q"},      // [heads, rank, width]: kv_b_proj's part of k, turned
  {"attn_v_b", "self_attn.unembed_out"},  // [heads, width, rank]: its part of v
  {"ffn_norm", "post_attention_layernorm"},  // this one on the way back, but where an architecture has another for it
  {"post_attention_norm", "post_attention_layernorm"},
  {"ffn_gate", "mlp.gate_proj"},
  {"ffn_up", "mlp.up_proj"},
  {"ffn_down", "mlp.down_proj"},
  {"post_ffw_norm", "post_feedforward_layernorm"},
  {"ffn_gate_inp", "mlp.gate"},
  {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
  {"ffn_gate_exps", "mlp.experts.gate_proj"},
  {"ffn_up_exps", "mlp.experts.up_proj"},
  {"ffn_down_exps", "mlp.experts.down_proj"},
  {"ffn_gate_up_exps", "mlp.experts.gate_up_proj"},
  {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
  {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
  {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
  {"ffn_gate_inp_shexp", "mlp.shared_expert_gate"},
  {NULL, NULL},
};

// *rest: what stays behind the row's name (".weight"), empty where the row has all.
static const char *lookup(const cel_gguf_name *rows, cel_str path, cel_str *rest) {
  for (; rows && rows->gguf; rows++) {
    size_t n = strlen(rows->gguf);
    if (path.n < n || memcmp(path.p, rows->gguf, n) != 0) continue;
    *rest = (cel_str){path.p + n, path.n - n};
    if (rest->n == 0 || (rest->p[0] == '.' && !memchr(rest->p + 1, '.', rest->n - 1))) return rows->hf;
  }
  return NULL;
}

// Cuts s at its first dot; false when there is none.
static bool cut(cel_str s, cel_str *before, cel_str *after) {
  const char *dot = s.n ? memchr(s.p, '.', s.n) : NULL;
  if (!dot) return false;
  *before = (cel_str){s.p, (size_t)(dot - s.p)};
  *after = (cel_str){dot + 1, s.n - before->n - 1};
  return true;
}

static bool all_digits(cel_str s) {
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] < '0' || s.p[i] > '9') return false;
  }
  return s.n > 0 && s.n <= 9;
}

bool cel_name_from_gguf(cel_str raw, const cel_gguf_name *own, char *out, size_t bytes) {
  cel_str a, number = CEL_STR(""), path = raw, rest;
  if (raw.n >= bytes) return false;
  bool block = cut(raw, &a, &path) && cel_str_is(a, "blk") && cut(path, &number, &path) && all_digits(number);
  if (!block) path = raw;
  const char *to = lookup(own, path, &rest);
  if (!to) to = lookup(block ? in_block : outside, path, &rest);
  if (to) {
    int n = block ? snprintf(out, bytes, "model.layers.%.*s.%s%.*s", (int)number.n, number.p, to, (int)rest.n, rest.p)
                  : snprintf(out, bytes, "%s%.*s", to, (int)rest.n, rest.p);
    return n >= 0 && (size_t)n < bytes;
  }
  memcpy(out, raw.p, raw.n);
  out[raw.n] = 0;
  return true;
}

// ---- the way back ------------------------------------------------------------------------------------

static bool has_row(const cel_gguf_name *rows, const char *gguf) {
  for (; rows && rows->gguf; rows++) {
    if (!strcmp(rows->gguf, gguf)) return true;
  }
  return false;
}

// The row whose `hf` is the beginning of path, the whole of it before a module's; one that `own` has under its GGUF name
// means something else there.
static const char *look_back(const cel_gguf_name *rows, const cel_gguf_name *own, cel_str path, cel_str *rest) {
  const char *found = NULL;
  for (; rows && rows->gguf; rows++) {
    size_t n = strlen(rows->hf);
    if (path.n < n || memcmp(path.p, rows->hf, n) != 0 || (own && has_row(own, rows->gguf))) continue;
    cel_str behind = {path.p + n, path.n - n};
    bool whole = behind.n == 0, module = !whole && behind.p[0] == '.' && !memchr(behind.p + 1, '.', behind.n - 1);
    if (!whole && (found || !module)) continue;
    *rest = behind;
    found = rows->gguf;
    if (whole) break;
  }
  return found;
}

bool cel_name_to_gguf(const char *name, const cel_gguf_name *own, char *out, size_t bytes) {
  cel_str path = cel_str_of(name), head = CEL_STR("model.layers."), number = CEL_STR(""), rest;
  bool block = cel_str_starts(path, head);
  if (block) {
    path = (cel_str){path.p + head.n, path.n - head.n};
    if (!cut(path, &number, &path) || !all_digits(number)) return false;
  }
  const char *to = look_back(own, NULL, path, &rest);
  if (!to) to = look_back(block ? in_block : outside, own, path, &rest);
  if (!to) return false;
  int n = block ? snprintf(out, bytes, "blk.%.*s.%s%.*s", (int)number.n, number.p, to, (int)rest.n, rest.p)
                : snprintf(out, bytes, "%s%.*s", to, (int)rest.n, rest.p);
  return n >= 0 && (size_t)n < bytes;
}
