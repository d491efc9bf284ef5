// The vocabulary in which every architecture is described: plain data, filled by a family from a config
// (Hugging Face's keys, both layouts), walked by the emitter and by the MLX backend. A family is written
// once. text-architectures §1.9 lists the switches; a switch is added here with the first family that
// needs it.
// Threads: filled by one, read by many.
#ifndef CEL_ARCH_ARCH_H
#define CEL_ARCH_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/status.h"

typedef enum cel_norm { CEL_NORM_RMS, CEL_NORM_RMS_PLUS_ONE /* weight is 1 + w */ } cel_norm;
typedef enum cel_placement {
  CEL_PRE_NORM,       // x += f(N(x))
  CEL_PRE_POST_NORM,  // x += Npost(f(Npre(x))): Gemma's four norms
} cel_placement;
typedef enum cel_qk_norm { CEL_QK_NORM_NONE, CEL_QK_NORM_HEAD /* RMS over D of each head, before rope */ } cel_qk_norm;
typedef enum cel_act { CEL_ACT_SILU, CEL_ACT_GELU_TANH, CEL_ACT_GELU_ERF, CEL_ACT_RELU } cel_act;
typedef enum cel_attention_kind { CEL_ATTENTION_FULL, CEL_ATTENTION_SLIDING } cel_attention_kind;

typedef enum cel_rope_type {
  CEL_ROPE_DEFAULT,
  CEL_ROPE_LINEAR,
  CEL_ROPE_DYNAMIC,   // frequencies depend on the length
  CEL_ROPE_LLAMA3,
  CEL_ROPE_YARN,
  CEL_ROPE_LONGROPE,  // likewise
} cel_rope_type;

// One table of rotary frequencies. text-architectures §1.5.
typedef struct cel_rope {
  cel_rope_type type;
  double theta;
  int dims;          // R: rotated columns of a head, even, <= head_dim
  bool interleaved;  // pairs (2j, 2j+1); otherwise (j, j + R/2)
  double factor;     // 1 when absent
  double low_freq_factor, high_freq_factor;  // llama3
  double original_max_position;              // llama3, yarn, longrope
  double max_position;                       // dynamic
  double beta_fast, beta_slow;               // yarn
  double attention_factor;                   // 0: by formula
  double mscale, mscale_all_dim;             // yarn; 0: absent
  bool truncate;                             // yarn: floor/ceil of the correction range
  const float *long_factor, *short_factor;   // longrope [R/2]
  const float *divisors;  // GGUF rope_freqs [R/2]: frequency j is divided by divisors[j]; NULL: none
} cel_rope;

// Inverse frequencies f[dims/2] in f32 as transformers computes them, and the amplitude that multiplies
// cos and sin. `length` is the sequence length the frequencies are for (dynamic, longrope); others ignore
// it. Pure.
void cel_rope_frequencies(const cel_rope *r, int64_t length, float *f, float *amplitude);
bool cel_rope_depends_on_length(const cel_rope *r);

typedef struct cel_layer {
  cel_attention_kind attention;
  int rope;  // index into cel_arch.ropes; -1: no rotation
} cel_layer;

enum { CEL_ARCH_MAX_ROPES = 2, CEL_ARCH_MAX_EOS = 16 };

// Weights of a text model. The module path of each is names[...] with {i} for the layer.
typedef enum cel_weight_role {
  CEL_W_EMBED, CEL_W_FINAL_NORM, CEL_W_HEAD,
  CEL_W_ATTN_NORM, CEL_W_Q, CEL_W_K, CEL_W_V, CEL_W_O, CEL_W_Q_NORM, CEL_W_K_NORM, CEL_W_ATTN_POST_NORM,
  CEL_W_MLP_NORM, CEL_W_GATE, CEL_W_UP, CEL_W_DOWN, CEL_W_MLP_POST_NORM,
  CEL_W_COUNT,
  CEL_W_FIRST_OF_LAYER = CEL_W_ATTN_NORM,
} cel_weight_role;

typedef struct cel_family cel_family;

typedef struct cel_arch {
  const cel_family *family;
  const char *model_type;
  int64_t vocab, hidden, inter, max_position;
  int n_layers, n_q, n_kv, head_dim;
  const cel_layer *layers;  // [n_layers]
  cel_rope ropes[CEL_ARCH_MAX_ROPES];
  int n_ropes;
  cel_norm norm;
  double norm_eps;
  cel_placement placement;
  cel_qk_norm qk_norm;
  bool qkv_bias, o_bias, mlp_bias;
  double attn_scale;      // multiplies q.k
  double attn_softcap;    // 0: none
  int64_t window;         // keys a sliding layer sees, the query's own included; 0: none
  cel_act act;            // gate activation of the gated MLP
  double embed_mul;       // 1: none
  double final_softcap;   // 0: none
  bool tied;              // the config's (or the class default's) word; the loader has the last one (§1.7)
  int32_t bos;            // -1: none
  int32_t eos[CEL_ARCH_MAX_EOS];  // config's and generation_config's, united, sorted, no duplicates
  int n_eos;
  const char *names[CEL_W_COUNT];  // module paths; NULL where the family has no such weight
} cel_arch;

struct cel_family {
  const char *name;                // "llama"
  const char *model_types[8];      // strings of config.json, ended by NULL
  const char *gguf_archs[4];       // general.architecture strings, ended by NULL
  const char *special;             // one line for `mlxcel arch`: what sets it apart
  // Fills the whole of *a from the text level of the config (defaults of the class applied). Memory from
  // `arena`. `root` is the outer config (equal to cfg when there is no wrapper).
  cel_status (*describe)(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err);
};

extern const cel_family *const cel_families[];  // from family.def, ended by NULL

// Finds the family by model_type, unwraps text_config, describes and validates (every size positive,
// within bounds, divisible as needed). An unknown model_type is refused with the list of those known.
// `generation_config` may be NULL: its eos_token_id joins the set.
CEL_MUST_CHECK cel_status cel_arch_from_config(const cel_json *config, const cel_json *generation_config,
                                               cel_arena *arena, cel_arch *out, cel_err *err);
// Writes the module path of a weight ("model.layers.3.mlp.up_proj") into out; false when the family has
// none or it does not fit.
bool cel_arch_weight_name(const cel_arch *a, cel_weight_role role, int layer, char *out, int out_bytes);

#endif
