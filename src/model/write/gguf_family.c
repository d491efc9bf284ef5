#include "model/write/gguf_family.h"

#include <stdio.h>
#include <string.h>

#include "base/macros.h"

static const cel_gguf_family families[] = {
  // family, architecture, class, activation, neighbours, plus one, window
  {"llama", "llama", "LlamaForCausalLM", CEL_ACT_SILU, true, false, false},
  {"mistral", "llama", "MistralForCausalLM", CEL_ACT_SILU, true, false, false},
  {"qwen2", "qwen2", "Qwen2ForCausalLM", CEL_ACT_SILU, false, false, false},
  {"qwen3", "qwen3", "Qwen3ForCausalLM", CEL_ACT_SILU, false, false, false},
  {"gemma3", "gemma3", "Gemma3ForCausalLM", CEL_ACT_GELU_TANH, false, true, true},
};

// By what a weight does; families differ in the module paths only.
static const char *const words[CEL_W_COUNT] = {
  [CEL_W_EMBED] = "token_embd",     [CEL_W_FINAL_NORM] = "output_norm",  [CEL_W_HEAD] = "output",
  [CEL_W_ATTN_NORM] = "attn_norm",  [CEL_W_Q] = "attn_q",                [CEL_W_K] = "attn_k",
  [CEL_W_V] = "attn_v",             [CEL_W_O] = "attn_output",           [CEL_W_Q_NORM] = "attn_q_norm",
  [CEL_W_K_NORM] = "attn_k_norm",   [CEL_W_ATTN_POST_NORM] = "post_attention_norm",
  [CEL_W_MLP_NORM] = "ffn_norm",    [CEL_W_GATE] = "ffn_gate",           [CEL_W_UP] = "ffn_up",
  [CEL_W_DOWN] = "ffn_down",        [CEL_W_MLP_POST_NORM] = "post_ffw_norm",
};

cel_status cel_gguf_family_of(const cel_arch *a, const cel_gguf_family **out, cel_err *err) {
  cel_buf known = {0};
  for (int i = 0; i < CEL_COUNT(families); i++) {
    if (!strcmp(a->family->name, families[i].family)) {
      *out = &families[i];
      cel_buf_deinit(&known);
      return CEL_OK;
    }
    cel_buf_printf(&known, "%s%s", i ? ", " : "", families[i].family);
  }
  cel_status s = cel_fail(err, CEL_UNSUPPORTED, "models of the family %s are not converted between Hugging Face's names and GGUF's; "
                          "these are: %s", a->family->name, known.p ? known.p : "");
  cel_buf_deinit(&known);
  return s;
}

// Is `module` the path `form` with a number for {i}? *layer is -1 where the form has none.
static bool matches(const char *form, cel_str module, int *layer) {
  const char *hole = strstr(form, "{i}");
  *layer = -1;
  if (!hole) return cel_str_is(module, form);
  size_t head = (size_t)(hole - form), at = head;
  if (module.n <= head || memcmp(module.p, form, head) != 0) return false;
  int n = 0;
  while (at < module.n && module.p[at] >= '0' && module.p[at] <= '9' && n < 1000000) n = n * 10 + module.p[at++] - '0';
  *layer = n;
  return at > head && cel_str_is((cel_str){module.p + at, module.n - at}, hole + 3);
}

bool cel_gguf_name_of(const cel_arch *a, const char *canonical, char *out, int out_bytes, cel_weight_role *role) {
  const char *dot = strrchr(canonical, '.');
  if (!dot || (strcmp(dot, ".weight") != 0 && strcmp(dot, ".bias") != 0)) return false;
  cel_str module = {canonical, (size_t)(dot - canonical)};
  for (int r = 0; r < CEL_W_COUNT; r++) {
    int layer;
    if (!a->names[r] || !words[r] || !matches(a->names[r], module, &layer) || layer >= a->n_layers) continue;
    int n = layer < 0 ? snprintf(out, (size_t)out_bytes, "%s%s", words[r], dot)
                      : snprintf(out, (size_t)out_bytes, "blk.%d.%s%s", layer, words[r], dot);
    *role = (cel_weight_role)r;
    return n > 0 && n < out_bytes;
  }
  return false;
}
