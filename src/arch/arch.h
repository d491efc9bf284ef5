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

typedef enum cel_norm {
  CEL_NORM_RMS,
  CEL_NORM_RMS_PLUS_ONE,  // weight is 1 + w
  CEL_NORM_LAYER,         // mean subtracted, biased variance; weight, and a bias with norm_bias
  CEL_NORM_LAYER_PLUS_ONE,  // the same with a weight of 1 + w
  CEL_NORM_LAYER_PLAIN,   // the same without weight or bias: no tensors
} cel_norm;
static inline bool cel_norm_takes_mean(cel_norm n) { return n >= CEL_NORM_LAYER; }
typedef enum cel_placement {
  CEL_PRE_NORM,       // x += f(N(x))
  CEL_PRE_POST_NORM,  // x += Npost(f(Npre(x))): Gemma's four norms
  CEL_POST_NORM,      // x += N(f(x)): the norms are those of the ..._POST_NORM roles
  CEL_PARALLEL,       // x += attention(h) + mlp(h), h = N(x): one norm, the role ATTN_NORM
} cel_placement;
typedef enum cel_qk_norm {
  CEL_QK_NORM_NONE,
  CEL_QK_NORM_HEAD,        // RMS over D of each head, one weight [D]
  CEL_QK_NORM_FLAT,        // RMS over the whole projection, ahead of the split into heads: weight [heads * D]
  CEL_QK_NORM_HEAD_LAYER,  // layer norm over D, a weight row per head: [heads, D]
} cel_qk_norm;
typedef enum cel_act {
  CEL_ACT_SILU, CEL_ACT_GELU_TANH, CEL_ACT_GELU_ERF, CEL_ACT_RELU, CEL_ACT_RELU2 /* max(0, x)^2 */,
  CEL_ACT_XIELU,  // Apertus: two parabolas and an exponential with four numbers of their own in every layer
} cel_act;
typedef enum cel_attention_kind { CEL_ATTENTION_FULL, CEL_ATTENTION_SLIDING } cel_attention_kind;
// What mixes the tokens of a layer.
typedef enum cel_mixer {
  CEL_MIXER_ATTENTION,  // grouped-query, or latent when cel_arch.mla is set
  CEL_MIXER_CONV,       // LFM2's short convolution
  CEL_MIXER_DELTA,      // the gated delta rule (Qwen3-Next)
} cel_mixer;
typedef enum cel_ffn {
  CEL_FFN_GATED,  // down(act(gate x) * up x)
  CEL_FFN_PLAIN,  // down(act(up x))
  CEL_FFN_MOE,
} cel_ffn;

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
  double short_mscale, long_mscale;  // Phi-3.5-MoE: amplitudes of the two, whose frequencies are both the short ones; 0: absent
  const float *divisors;  // GGUF rope_freqs [R/2]: frequency j is divided by divisors[j]; NULL: none
} cel_rope;

// Inverse frequencies f[dims/2] in f32 as transformers computes them, and the amplitude that multiplies
// cos and sin. `length` is the sequence length the frequencies are for (dynamic, longrope); others ignore
// it. Pure.
void cel_rope_frequencies(const cel_rope *r, int64_t length, float *f, float *amplitude);
bool cel_rope_depends_on_length(const cel_rope *r);
// Of one row of frequencies that are given at run time: R/2, and one more where the amplitude depends on the length, too.
int cel_rope_columns(const cel_rope *r);

typedef struct cel_layer {
  cel_mixer mixer;
  cel_attention_kind attention;
  int rope;       // index into cel_arch.ropes; -1: no rotation
  // Which entry of the KV cache (attention) or of the recurrent state (the others, each kind counted by itself) is
  // the layer's. A layer with kv_shared reads the entry of an earlier one and computes no keys or values itself.
  int state;
  bool kv_shared;
  cel_ffn ffn;
  int64_t inter;  // width of the dense MLP; 0 for MOE
  bool cut;         // Gemma 3n: what the gate has below mean + sparsity * std of its row is cut off
  double sparsity;
} cel_layer;

enum { CEL_ARCH_MAX_ROPES = 2, CEL_ARCH_MAX_EOS = 16 };

// ---- the blocks some families have; all-zero: the family has none ------------------------------------

// Multi-head latent attention (DeepSeek-V2, section 2.1; text-architectures §2.9). The cache holds per token one
// head of kv_rank + rope columns: the normed latent and the rotated shared key. n_kv is 1, head_dim is
// nope + rope. Inner norms have eps 1e-6 whatever norm_eps says.
typedef struct cel_mla {
  int q_rank;         // 0: plain q
  int kv_rank;        // > 0: the family has this block
  int nope, rope, v;  // columns of a head
} cel_mla;

typedef enum cel_router {  // text-architectures §2.2
  CEL_ROUTER_SOFTMAX,         // R1: softmax over all, then the top k (R4 with groups: best expert per group)
  CEL_ROUTER_TOPK_SOFTMAX,    // R2: top k of the logits, softmax over those
  CEL_ROUTER_SIGMOID,         // R3: sigmoid; the correction bias selects, does not weigh
  CEL_ROUTER_SPARSEMIXER,     // R5
  CEL_ROUTER_SOFTMAX_BIASED,  // R6: softmax; the correction bias selects
} cel_router;
typedef enum cel_shared_expert { CEL_SHARED_NONE, CEL_SHARED_PLAIN, CEL_SHARED_GATED } cel_shared_expert;
typedef struct cel_moe {
  int n_experts, top_k;    // n_experts > 0: the family has this block
  int64_t inter;           // width of an expert
  cel_router router;
  bool renorm;             // weights of the chosen divided by their sum
  double renorm_add, renorm_min;  // denominator: max(sum + add, min)
  double scale;            // routed_scaling_factor, behind the renorm; 1: none
  int n_group, topk_group; // 1, 1: none. Group score: best of a softmax router, sum of the two best of a sigmoid one
  bool router_bias;        // a bias of the router's linear
  bool correction_bias;    // role ROUTER_CORRECTION [E]
  bool expert_bias;        // gpt-oss
  bool interleaved;        // rows of EXPERT_GATE_UP, where a file fuses the two: gate even, up odd; otherwise gate first
  double jitter;           // SPARSEMIXER: epsilon
  double clamp, alpha;     // gpt-oss: (up + 1) * gate * sigmoid(alpha * gate), clamped; clamp 0: the usual gated act
  cel_shared_expert shared;
  int64_t shared_inter;
} cel_moe;

typedef struct cel_conv {  // LFM2's short convolution; kernel > 0: the family has this block
  int kernel;              // taps
  bool bias;
} cel_conv;

typedef struct cel_delta {  // gated delta net; kernel > 0: the family has this block
  int kernel, n_k, n_v, d_k, d_v;  // taps of the convolution; heads and their widths
  bool tiled;  // value head h goes with key head h % n_k (Qwen 3.5's GGUF files); otherwise with h / (n_v / n_k)
} cel_delta;

typedef struct cel_gemma3n {  // text-architectures §2.13; planes > 0: the family has these blocks
  int planes, active;         // AltUp
  int64_t ple, ple_vocab;     // width and rows of the per-layer embedding
  int64_t laurel;             // rank
  bool scale_corrected;       // altup_correct_scale
} cel_gemma3n;

// Weights of a text model. The module path of each is names[...] with {i} for the layer; those of experts are stacks
// [E, out, in], however a file keeps them (model/experts.c). block_weights.c of the emitter says the shape of each.
typedef enum cel_weight_role {
  CEL_W_EMBED, CEL_W_FINAL_NORM, CEL_W_HEAD,
  CEL_W_PLE_EMBED, CEL_W_PLE_PROJECTION, CEL_W_PLE_NORM,  // Gemma 3n
  CEL_W_ATTN_NORM, CEL_W_Q, CEL_W_K, CEL_W_V, CEL_W_O, CEL_W_Q_NORM, CEL_W_K_NORM, CEL_W_ATTN_POST_NORM,
  CEL_W_QKV,    // fused and grouped per kv head (InternLM2): q heads of the group, k, v. Row blocks q|k|v the loader splits
  CEL_W_SINKS,  // vector [n_q]
  CEL_W_Q_A, CEL_W_Q_A_NORM, CEL_W_Q_B, CEL_W_KV_A, CEL_W_KV_A_NORM, CEL_W_KV_B,  // MLA
  CEL_W_EMBED_Q, CEL_W_UNEMBED_OUT,                                               // MLA, MLX's split of KV_B
  CEL_W_CONV_IN, CEL_W_CONV, CEL_W_CONV_OUT,
  CEL_W_DELTA_QKVZ, CEL_W_DELTA_BA,  // grouped per key head (Qwen3-Next); the next four: all q, k, v, then all z, ... (Qwen 3.5)
  CEL_W_DELTA_QKV, CEL_W_DELTA_Z, CEL_W_DELTA_B, CEL_W_DELTA_A,
  CEL_W_DELTA_CONV, CEL_W_DELTA_A_LOG, CEL_W_DELTA_DT_BIAS, CEL_W_DELTA_NORM,
  CEL_W_DELTA_OUT,
  CEL_W_ACT_ALPHA_P, CEL_W_ACT_ALPHA_N, CEL_W_ACT_BETA, CEL_W_ACT_EPS,  // one number each
  CEL_W_MLP_NORM, CEL_W_GATE, CEL_W_UP, CEL_W_DOWN, CEL_W_MLP_POST_NORM,
  CEL_W_ROUTER, CEL_W_ROUTER_CORRECTION,
  CEL_W_EXPERT_GATE, CEL_W_EXPERT_UP, CEL_W_EXPERT_GATE_UP, CEL_W_EXPERT_DOWN,
  CEL_W_SHARED_GATE, CEL_W_SHARED_UP, CEL_W_SHARED_DOWN, CEL_W_SHARED_SWITCH /* [1, H], its logistic weighs */,
  CEL_W_LAUREL_LEFT, CEL_W_LAUREL_RIGHT, CEL_W_LAUREL_NORM,  // Gemma 3n
  CEL_W_ALTUP_PROJECTION, CEL_W_ALTUP_UNEMBED,  // of plane i + 1, not of layer i
  CEL_W_ALTUP_ROUTER, CEL_W_ALTUP_ROUTER_NORM, CEL_W_ALTUP_PREDICT, CEL_W_ALTUP_CORRECT, CEL_W_ALTUP_SCALE,
  CEL_W_PLE_GATE, CEL_W_PLE_UP, CEL_W_PLE_POST_NORM,
  CEL_W_COUNT,
  CEL_W_FIRST_OF_LAYER = CEL_W_ATTN_NORM,
} cel_weight_role;

typedef struct cel_family cel_family;

typedef struct cel_arch {
  const cel_family *family;
  const char *model_type;
  int64_t vocab, hidden, inter, max_position;  // inter 0: every layer is a mixture of experts
  int n_layers, n_q, n_kv, head_dim;
  cel_layer *layers;  // [n_layers]; a family's, nobody else's, to write
  int n_kv_layers, n_conv_layers, n_delta_layers;  // entries of each state
  cel_rope ropes[CEL_ARCH_MAX_ROPES];
  int n_ropes;
  cel_norm norm;
  double norm_eps;
  bool norm_bias;
  cel_placement placement;
  cel_qk_norm qk_norm;
  bool qk_norm_after_rope;
  bool v_norm;            // RMS over D without a weight (Gemma 3n)
  bool qkv_bias, o_bias, mlp_bias, head_bias;
  double clip_qkv;        // q, k and v held to [-clip, clip] behind the norms; 0: none
  double attn_scale;      // multiplies q.k
  double attn_softcap;    // 0: none
  bool sinks;             // one more column per head in the softmax, dropped behind it
  bool out_gate;          // q_proj has [q | gate] per head; the attention's output is multiplied by sigmoid(gate)
  double q_pos_beta, q_pos_original;  // q at position p times 1 + beta * ln(1 + floor(p / original)); beta 0: none
  int64_t window;         // keys a sliding layer sees, the query's own included; 0: none
  cel_act act;            // of the MLP
  double embed_mul;       // 1: none
  double residual_mul;    // of each sublayer's output, before it is added; 1: none
  double logit_mul;       // 1: none
  double final_softcap;   // behind logit_mul; 0: none
  cel_mla mla;
  cel_moe moe;
  cel_conv conv;
  cel_delta delta;
  cel_gemma3n gemma3n;
  bool tied;              // the config's (or the class default's) word; the loader has the last one (§1.7)
  int32_t bos;            // -1: none
  int32_t eos[CEL_ARCH_MAX_EOS];  // config's and generation_config's, united, sorted, no duplicates
  int n_eos;
  const char *names[CEL_W_COUNT];  // module paths; NULL where the family has no such weight
} cel_arch;

// Width of one head's keys and values in the cache: those of the latent form with MLA, whose values are the first
// mla.kv_rank columns of the keys.
int cel_arch_key_width(const cel_arch *a);
// Has it a state that tokens flow through (convolution, delta rule)? Such a session cannot be cut back: it starts anew.
bool cel_arch_recurrent(const cel_arch *a);
// Numbers in the recurrent states of one sequence, whatever its length.
int64_t cel_arch_recurrent_size(const cel_arch *a);

// Where the files of a family name or group weights otherwise than its `names` do. The loader puts the canonical modules
// in place when it opens a checkpoint; a row block of a matrix is a view, nothing is copied. {i} is the layer. A rule counts
// where the model has a weight of the name parts[0]. Rules with the same parts are forms that files have in turn.
typedef enum cel_file_form {
  CEL_FILE_RENAMED,  // parts[0] under another name
  CEL_FILE_QKV,      // the rows of q, then k, then v
  CEL_FILE_HALVES,   // two blocks of as many rows (gate, then up)
  CEL_FILE_JOINED,   // module has {e}: its tensors 0, 1, 2 ... follow one another in parts[0]
} cel_file_form;
typedef struct cel_file_rule {
  cel_file_form form;
  const char *module;    // as in the files; NULL ends a list of rules
  const char *parts[3];  // canonical
} cel_file_rule;

struct cel_family {
  const char *name;                // "llama"
  const char *model_types[8];      // strings of config.json, ended by NULL
  const char *gguf_archs[4];       // general.architecture strings, ended by NULL
  const cel_file_rule *files;      // NULL: files have the names of `names`
  const char *special;             // one line for `mlxcel arch`: what sets it apart
  // Fills the whole of *a from the text level of the config (defaults of the class applied), except the layers' `state`
  // and the counts of states, which follow from it. Memory from `arena`. `root` is the outer config (equal to cfg when there is no wrapper).
  cel_status (*describe)(const cel_json *cfg, const cel_json *root, cel_arena *arena, cel_arch *a, cel_err *err);
};

extern const cel_family *const cel_families[];  // from family.def, ended by NULL

// The family of a config, by its model_type; NULL when none has it.
const cel_family *cel_arch_family_of(const cel_json *config);
// Finds the family by model_type, unwraps text_config, describes and validates (every size positive,
// within bounds, divisible as needed). An unknown model_type is refused with the list of those known.
// `generation_config` may be NULL: its eos_token_id joins the set.
CEL_MUST_CHECK cel_status cel_arch_from_config(const cel_json *config, const cel_json *generation_config,
                                               cel_arena *arena, cel_arch *out, cel_err *err);
// Writes the module path of a weight ("model.layers.3.mlp.up_proj") into out; false when the family has
// none or it does not fit.
bool cel_arch_weight_name(const cel_arch *a, cel_weight_role role, int layer, char *out, int out_bytes);
// Is `module` the path of the role's weight in some layer?
bool cel_arch_weight_is(const cel_arch *a, cel_weight_role role, const char *module);
// The role whose name is this form, the first one; CEL_W_COUNT: the model has none.
cel_weight_role cel_arch_role_named(const cel_arch *a, const char *form);
// Is the role's weight a matrix [out, in] that rows are multiplied with as it is? An adapter can stand beside those only.
bool cel_arch_is_linear(cel_weight_role role);

#endif
