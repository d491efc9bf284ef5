// What the families share while they fill a cel_arch: keys read with one way to complain, the defaults a
// class has for absent keys, rotary tables and the layer schedule. Private to arch/.
#ifndef CEL_ARCH_DESCRIBE_H
#define CEL_ARCH_DESCRIBE_H

#include "arch/arch.h"

// --- keys.c ---------------------------------------------------------------------------------------
// An object of the config and the path that leads to it, for messages ("" or "rope_scaling.").
typedef struct cel_keys {
  const cel_json *obj;  // NULL: every key is absent
  const char *path;
} cel_keys;

// Each reader leaves *inout alone when the key is absent or null, and refuses a wrong kind or a value
// outside lo..hi (both inclusive) by naming key, value and range.
CEL_MUST_CHECK cel_status cel_keys_int(cel_keys k, const char *key, int64_t lo, int64_t hi, int64_t *inout,
                                       cel_err *err);
// The same for a value in hand (an entry of a list); `key` is for the message.
CEL_MUST_CHECK cel_status cel_keys_int_of(cel_keys k, const char *key, const cel_json *v, int64_t lo, int64_t hi,
                                          int64_t *out, cel_err *err);
CEL_MUST_CHECK cel_status cel_keys_num(cel_keys k, const char *key, double lo, double hi, double *inout,
                                       cel_err *err);
CEL_MUST_CHECK cel_status cel_keys_bool(cel_keys k, const char *key, bool *inout, cel_err *err);
CEL_MUST_CHECK cel_status cel_keys_string(cel_keys k, const char *key, const char **inout, cel_err *err);
// A list of exactly n positive numbers; *out stays when the key is absent.
CEL_MUST_CHECK cel_status cel_keys_floats(cel_keys k, const char *key, int n, cel_arena *arena,
                                          const float **out, cel_err *err);
// A sub-object; *out stays when absent or null.
CEL_MUST_CHECK cel_status cel_keys_object(cel_keys k, const char *key, const cel_json **out, cel_err *err);
CEL_MUST_CHECK cel_status cel_keys_need(cel_keys k, const char *key, cel_err *err);  // absent or null is refused
// "config key <path><key> is <v>; it must be <right>"; returns `status`.
cel_status cel_keys_refuse(cel_keys k, const char *key, const cel_json *v, cel_status status, const char *right,
                           cel_err *err);
bool cel_keys_is_null(cel_keys k, const char *key);  // there, and null

// --- common.c -------------------------------------------------------------------------------------
enum {
  CEL_ARCH_MAX_LAYERS = 4096,
  CEL_ARCH_MAX_DIM = 1 << 24,
  CEL_ARCH_MAX_HEADS = 1 << 16,
  CEL_ARCH_MAX_HEAD_DIM = 512,
  CEL_ARCH_MAX_TAPS = 64,  // of a short convolution
};
#define CEL_ARCH_MAX_POSITION INT64_C(0x7fffffff)

// What a config class gives for absent keys (text-architectures §1.1.5, §1.3). The sizes count for
// nested text configs only: at the root a missing size is an error.
typedef struct cel_class_defaults {
  int64_t vocab, hidden, inter, layers, n_q, n_kv;  // n_kv 0: as n_q
  int64_t head_dim;                                 // 0: hidden / n_q
  int64_t max_position;
  double eps;
  const char *eps_key;                              // NULL: rms_norm_eps; "": there is none
  const char *act_key, *act;
  bool tied;
  int32_t bos, eos;  // -1: none
  // Other names of keys in older files; NULL: none. The standard name wins.
  const char *layers_alias, *eps_alias, *act_alias;
  const char *inter_alias;  // this one wins over intermediate_size (LFM2)
  bool inter_by_layer;      // intermediate_size may be a list: left to the family (Gemma 3n)
} cel_class_defaults;

// Sizes, head width, eps, activation, tied, bos, the default eos; scale D^-1/2, plain pre-norm RMS and
// the Llama names. The family then changes what sets it apart.
CEL_MUST_CHECK cel_status cel_arch_read_common(const cel_json *cfg, const cel_json *root,
                                               const cel_class_defaults *d, cel_arch *a, cel_err *err);
// One key for the biases of all four projections of the attention (q, k, v, o).
CEL_MUST_CHECK cel_status cel_arch_read_attention_bias(cel_keys k, const char *key, bool otherwise, cel_arch *a,
                                                       cel_err *err);
// Norms of weight 1 + w; GGUF files hold them with the 1 already added, and the loader says so with a key of ours.
CEL_MUST_CHECK cel_status cel_arch_read_gemma_norm(cel_keys k, cel_arch *a, cel_err *err);
// scale_emb, scale_depth and dim_model_base of MiniCPM; what is absent changes nothing. minicpm.c.
CEL_MUST_CHECK cel_status cel_arch_read_minicpm_scales(cel_keys k, cel_arch *a, cel_err *err);
void cel_arch_mlps_without_gate(cel_arch *a);  // of all layers, once they are read
// q_norm and k_norm, the names of most families that have such norms.
void cel_arch_name_qk_norms(cel_arch *a);
// Four norms a layer, as Gemma names them; post norms only, as OLMo 2 names them.
void cel_arch_name_four_norms(cel_arch *a);
void cel_arch_name_post_norms(cel_arch *a);

// --- rope_config.c --------------------------------------------------------------------------------
typedef struct cel_rope_defaults {
  double theta;
  double local_theta;  // > 0: sliding layers have an own plain table with rope_local_base_freq (Gemma 3)
  double partial;      // the class's partial_rotary_factor; 0: the family always rotates whole heads
  bool interleaved;
  bool yarn_is_longrope;      // Phi-3
  bool mscales;               // longrope has short_mscale and long_mscale (Phi-3.5-MoE)
  const cel_rope *otherwise;  // the table of a file without any; dims and max_position are filled in
} cel_rope_defaults;

enum { CEL_ROPE_ABSENT = -2 };  // no table was given for this kind of layer

// Fills a->ropes from either layout; rope_of[kind] is the table of a layer of that kind (-1: no
// rotation, CEL_ROPE_ABSENT: refuse such a layer).
CEL_MUST_CHECK cel_status cel_arch_read_ropes(const cel_json *cfg, const cel_rope_defaults *d, cel_arena *arena,
                                              cel_arch *a, int rope_of[2], cel_err *err);

// --- layers.c -------------------------------------------------------------------------------------
// The rule for files without layer_types. Pure.
typedef cel_attention_kind (*cel_layer_rule)(int layer, int64_t argument);
cel_attention_kind cel_layer_all_full(int layer, int64_t unused);
cel_attention_kind cel_layer_all_sliding(int layer, int64_t unused);
cel_attention_kind cel_layer_sliding_from(int layer, int64_t first);       // layer >= first slides
cel_attention_kind cel_layer_full_every(int layer, int64_t period);        // full iff (layer+1) % period == 0
cel_attention_kind cel_layer_even_sliding(int layer, int64_t unused);

// layer_types when present, else the rule. a->window, n_layers and ropes must be set.
CEL_MUST_CHECK cel_status cel_arch_read_layers(const cel_json *cfg, cel_layer_rule rule, int64_t argument,
                                               const int rope_of[2], cel_arena *arena, cel_arch *a, cel_err *err);
// sliding_window: `otherwise` when absent, 0 when null.
CEL_MUST_CHECK cel_status cel_arch_read_window(const cel_json *cfg, int64_t otherwise, int64_t *window,
                                               cel_err *err);
// sliding_window_pattern, or _sliding_window_pattern as transformers also saves it: every so many layers one is full.
CEL_MUST_CHECK cel_status cel_arch_read_period(const cel_json *cfg, int64_t otherwise, int64_t *period, cel_err *err);
// No rotation in the layers that see everything (they are told apart by their window alone).
void cel_arch_full_layers_without_rope(cel_arch *a);
// Qwen's form: sliding_window counts only with use_sliding_window, from layer max_window_layers (*first) on.
// Without a window *first is n_layers.
CEL_MUST_CHECK cel_status cel_arch_read_upper_window(const cel_json *cfg, cel_arch *a, int64_t *first, cel_err *err);

// --- mla.c ----------------------------------------------------------------------------------------
// Latent attention: cel_mla with `d` for absent keys (a null q_lora_rank: plain q), names, biases, rotations, scale. The
// common keys must be read.
CEL_MUST_CHECK cel_status cel_arch_read_mla(const cel_json *cfg, const cel_mla *d, const cel_rope_defaults *ropes,
                                            int rope_of[2], cel_arena *arena, cel_arch *a, cel_err *err);

// --- moe.c ----------------------------------------------------------------------------------------
// What a class gives for absent keys of its experts.
typedef struct cel_moe_defaults {
  int64_t n_experts, top_k;  // 0: the key is needed
  int64_t inter;             // moe_intermediate_size; 0: intermediate_size is the width of an expert
  cel_router router;
  const char *renorm_key;    // "norm_topk_prob"; NULL: `renorm` always
  bool renorm;
} cel_moe_defaults;

// Numbers of experts (under any of the names files have for them), their width, norm_topk_prob, routed_scaling_factor
// and the canonical names (model/experts.c). The rest is the family's.
CEL_MUST_CHECK cel_status cel_arch_read_moe(const cel_json *cfg, const cel_moe_defaults *d, cel_arch *a, cel_err *err);
// n_group and topk_group; every group as large as the next, and enough experts in the chosen ones.
CEL_MUST_CHECK cel_status cel_arch_read_expert_groups(const cel_json *cfg, int64_t n_group, int64_t topk_group, cel_arch *a,
                                                      cel_err *err);
// `key` times the width of an expert, as one plain MLP beside the experts; 0: none.
CEL_MUST_CHECK cel_status cel_arch_read_shared_experts(const cel_json *cfg, const char *key, int64_t otherwise, cel_arch *a,
                                                       cel_err *err);
// The role ROUTER_CORRECTION.
void cel_arch_correct_router(cel_arch *a);
// Which layers have experts: mlp_layer_types (dense, sparse) when present, else the rule. Layers must be read.
typedef bool (*cel_sparse_rule)(int layer, const int64_t *arguments);
bool cel_sparse_all(int layer, const int64_t *unused);
bool cel_sparse_from(int layer, const int64_t *first);  // layer >= first
CEL_MUST_CHECK cel_status cel_arch_read_sparse_layers(const cel_json *cfg, cel_sparse_rule rule, const int64_t *arguments,
                                                      cel_arch *a, cel_err *err);
// Qwen's form: not the layers of mlp_only_layers, of the others each decoder_sparse_step-th.
CEL_MUST_CHECK cel_status cel_arch_read_qwen_sparse_layers(const cel_json *cfg, cel_arch *a, cel_err *err);

#endif
