// Youtu: latent attention as in DeepSeek V3, dense MLPs, tied. Files of the vision model keep the text keys at the root.
#include "arch/describe.h"

extern const cel_family cel_family_youtu;

static const cel_class_defaults defaults = {
    .vocab = 128256, .hidden = 2048, .inter = 6144, .layers = 32, .n_q = 16, .n_kv = 16, .head_dim = 64, .max_position = 131072,
    .eps = 1e-6, .act_key = "hidden_act", .act = "silu", .tied = true, .bos = 128000, .eos = 128001,
};

static cel_status describe(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err) {
  int rope_of[2];
  cel_rope_defaults ropes = {.theta = 1e4, .interleaved = true};
  CEL_TRY(cel_arch_read_common(cfg, root, &defaults, a, err));
  CEL_TRY(cel_keys_bool((cel_keys){cfg, ""}, "rope_interleave", &ropes.interleaved, err));
  CEL_TRY(cel_arch_read_mla(cfg, &(cel_mla){.q_rank = 1536, .kv_rank = 512, .nope = 128, .rope = 64, .v = 128}, &ropes,
                            rope_of, arena, a, err));
  return cel_arch_read_layers(cfg, cel_layer_all_full, 0, rope_of, arena, a, err);
}

const cel_family cel_family_youtu = {
    .name = "youtu",
    .model_types = {"youtu", "youtu_llm", "youtu_vl"},
    .gguf_archs = {NULL},
    .special = "latent attention, absorbed, dense; tied",
    .describe = describe,
};
