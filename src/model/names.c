#include "model/names.h"

#include <stdio.h>

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
  {"audio_tower.", NULL}, {"model.audio_tower.", NULL}, {"audio_model.", NULL},
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

typedef struct renaming { const char *gguf, *two_norms, *sandwich; } renaming;

static const renaming outside[] = {
  {"token_embd", "model.embed_tokens", "model.embed_tokens"},
  {"output_norm", "model.norm", "model.norm"},
  {"output", "lm_head", "lm_head"},
};

static const renaming in_block[] = {
  {"attn_norm", "input_layernorm", "input_layernorm"},
  {"attn_q", "self_attn.q_proj", "self_attn.q_proj"},
  {"attn_k", "self_attn.k_proj", "self_attn.k_proj"},
  {"attn_v", "self_attn.v_proj", "self_attn.v_proj"},
  {"attn_output", "self_attn.o_proj", "self_attn.o_proj"},
  {"attn_q_norm", "self_attn.q_norm", "self_attn.q_norm"},
  {"attn_k_norm", "self_attn.k_norm", "self_attn.k_norm"},
  {"ffn_norm", "post_attention_layernorm", "pre_feedforward_layernorm"},
  {"ffn_gate", "mlp.gate_proj", "mlp.gate_proj"},
  {"ffn_up", "mlp.up_proj", "mlp.up_proj"},
  {"ffn_down", "mlp.down_proj", "mlp.down_proj"},
  {"post_attention_norm", NULL, "post_attention_layernorm"},
  {"post_ffw_norm", NULL, "post_feedforward_layernorm"},
};

static const char *lookup(const renaming *rows, int n, cel_str name, bool sandwich) {
  for (int i = 0; i < n; i++) {
    if (cel_str_is(name, rows[i].gguf)) return sandwich ? rows[i].sandwich : rows[i].two_norms;
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

bool cel_name_from_gguf(cel_str raw, bool sandwich, char *out, size_t bytes) {
  cel_str a, b, number, what, kind;
  const char *to = NULL;
  int n = -1;
  if (raw.n >= bytes) return false;
  if (cut(raw, &a, &b) && cel_str_is(a, "blk") && cut(b, &number, &b) && all_digits(number) && cut(b, &what, &kind)) {
    to = lookup(in_block, CEL_COUNT(in_block), what, sandwich);
    if (to) n = snprintf(out, bytes, "model.layers.%.*s.%s.%.*s", (int)number.n, number.p, to, (int)kind.n, kind.p);
  } else if (cut(raw, &what, &kind)) {
    to = lookup(outside, CEL_COUNT(outside), what, sandwich);
    if (to) n = snprintf(out, bytes, "%s.%.*s", to, (int)kind.n, kind.p);
  }
  if (to) return n >= 0 && (size_t)n < bytes;
  memcpy(out, raw.p, raw.n);
  out[raw.n] = 0;
  return true;
}
