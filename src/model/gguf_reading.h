// What the parts that turn GGUF metadata into config.json's keys share. Private to model/.
#ifndef CEL_MODEL_GGUF_READING_H
#define CEL_MODEL_GGUF_READING_H

#include "model/gguf_convert.h"
#include "model/names.h"

typedef struct cel_gguf_sizes {
  int64_t layers, hidden, inter, heads, kv_heads, head_dim, context;
} cel_gguf_sizes;

typedef struct cel_gguf_maker {
  const cel_gguf *g;
  const cel_tensor_list *list;        // sorted, canonical names
  const struct cel_gguf_arch *arch;
  cel_gguf_sizes s;
  cel_json *config;
  cel_err *err;
  char key[128];  // the last one looked up, whole
} cel_gguf_maker;

// What differs from a plain Llama file.
typedef enum cel_gguf_trait {
  CEL_GGUF_NEIGHBOURS = 1,   // converters permute the rows of q and k, so rope turns pairs (2j, 2j + 1)
  CEL_GGUF_PLUS_ONE = 2,     // norm weights hold 1 + w
  CEL_GGUF_LAYER_NORM = 4,   // eps is that of norms with a mean
  CEL_GGUF_NO_QKV_KEY = 8,   // biases of q, k and v need no key: the class has them or has none
  CEL_GGUF_LATENT = 16,      // the widths of a head are those of latent attention
  CEL_GGUF_HALF_HEADS = 32,  // no width of heads in the config: always hidden / heads
  CEL_GGUF_GELU = 64,        // hidden_activation is tanh-gelu
  CEL_GGUF_PARTIAL = 128,     // the class rotates a part of a head, so the whole must be said too
  CEL_GGUF_KV_BY_LAYER = 256,  // head_count_kv is a list with zeros where a layer has no attention
  CEL_GGUF_SPLIT_KV = 512,    // kv_b is kept in two parts, that of k turned
  CEL_GGUF_WINDOW = 1024,     // has a key for its sliding window
  CEL_GGUF_WINDOW_LIST = 2048,  // and a list of the layers that slide
  CEL_GGUF_READ_ONLY = 4096,  // files of it are read, and not written
  CEL_GGUF_WIDTHS = 8192,     // feed_forward_length is a list, a width for each layer
  CEL_GGUF_TILED = 16384,     // value heads of delta nets: the first of each key head, then the second of each, ...
} cel_gguf_trait;

// One row per general.architecture that is read.
typedef struct cel_gguf_arch {
  const char *arch, *model_type;
  int traits;
  const char *eps_key;         // NULL: rms_norm_eps; "": no key
  const cel_gguf_name *names;  // of its own, before the common ones; NULL: none
  cel_status (*more)(cel_gguf_maker *m);  // what only this one has; NULL: nothing
  // Adds what a folder has as tensors of its own; the list is not sorted yet. NULL: nothing.
  cel_status (*tensors)(const cel_gguf *g, cel_tensor_list *list, cel_err *err);
} cel_gguf_arch;

const cel_gguf_arch *cel_gguf_find_arch(const cel_gguf *g);  // NULL: no row, or no general.architecture
// The row a model of this model_type is written as; NULL: GGUF has none.
const cel_gguf_arch *cel_gguf_arch_of_type(const char *model_type);
// The number of layers of Gemma 2 and 3's largest models, which scale scores by another width; 0 for other architectures.
int cel_gguf_layers_of_largest(const cel_gguf_arch *arch);

// ---- gguf_keys.c ------------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_gguf_put_int(cel_gguf_maker *m, const char *key, int64_t v);
CEL_MUST_CHECK cel_status cel_gguf_put_bool(cel_gguf_maker *m, const char *key, bool v);
CEL_MUST_CHECK cel_status cel_gguf_put_word(cel_gguf_maker *m, const char *key, const char *v);
CEL_MUST_CHECK cel_status cel_gguf_put_null(cel_gguf_maker *m, const char *key);
CEL_MUST_CHECK cel_status cel_gguf_put_num(cel_gguf_maker *m, cel_json *obj, const char *key, double v);  // finite

const char *cel_gguf_key(cel_gguf_maker *m, const char *suffix);  // "llama." + suffix, kept in m->key
// A size; one per layer is accepted when all are equal. 0 when absent (some writers put 0 for none).
CEL_MUST_CHECK cel_status cel_gguf_size(cel_gguf_maker *m, const char *suffix, int64_t *out);
CEL_MUST_CHECK cel_status cel_gguf_require_size(cel_gguf_maker *m, const char *suffix, const char *key, int64_t *out);
CEL_MUST_CHECK cel_status cel_gguf_real(cel_gguf_maker *m, const char *suffix, double *out, bool *found);
// An array of exactly one integer or boolean per layer; NULL when the key is absent or no array.
CEL_MUST_CHECK cel_status cel_gguf_per_layer(cel_gguf_maker *m, const char *suffix, const cel_gguf_value **out);
int64_t cel_gguf_item(const cel_gguf_value *list, int64_t i);

// Copy metadata into a key of the config when the file has it; sizes of 0 count as absent.
CEL_MUST_CHECK cel_status cel_gguf_copy_size(cel_gguf_maker *m, const char *suffix, const char *key);
CEL_MUST_CHECK cel_status cel_gguf_copy_real(cel_gguf_maker *m, cel_json *obj, const char *suffix, const char *key);
CEL_MUST_CHECK cel_status cel_gguf_copy_bool(cel_gguf_maker *m, const char *suffix, const char *key);

const cel_tensor *cel_gguf_tensor_of(const cel_gguf_maker *m, const char *canonical);
// Does any layer have this module (".weight" or ".bias" included in `tail`)? Layers may differ.
bool cel_gguf_in_layers(const cel_gguf_maker *m, const char *tail);

// ---- gguf_rope.c ------------------------------------------------------------------------------------

// rope_theta, rope_scaling and the rest of the old layout.
CEL_MUST_CHECK cel_status cel_gguf_make_rope(cel_gguf_maker *m);
// sliding_window (or null), and layer_types or sliding_window_pattern where the file says which layers slide.
CEL_MUST_CHECK cel_status cel_gguf_make_window(cel_gguf_maker *m);

// ---- gguf_experts.c ---------------------------------------------------------------------------------

// Numbers of experts and their widths, the router's switches; nothing without experts.
CEL_MUST_CHECK cel_status cel_gguf_make_experts(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_llama(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_qwen2moe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_qwen3moe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_phimoe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_deepseek(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_deepseek2(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_minicpm3(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_glm4moe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_erniemoe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_exaonemoe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_gptoss(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_lfm2(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_lfm2moe(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_granitemoe(cel_gguf_maker *m);

// ---- gguf_layers.c -----------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_gguf_apertus_tensors(const cel_gguf *g, cel_tensor_list *list, cel_err *err);
// Granite's files without positions, which readers know by rope.scaling.finetuned: in Hugging Face's words a hybrid without
// layers of Mamba. `shared`: the width of the MLP that all tokens have.
CEL_MUST_CHECK cel_status cel_gguf_granite_positions(cel_gguf_maker *m, int64_t shared);
CEL_MUST_CHECK cel_status cel_gguf_granitehybrid(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_gemma3n(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_gemma3n_tensors(const cel_gguf *g, cel_tensor_list *list, cel_err *err);
CEL_MUST_CHECK cel_status cel_gguf_qwen3next(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_qwen35(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_qwen3next_tensors(const cel_gguf *g, cel_tensor_list *list, cel_err *err);

// ---- gguf_dense.c -----------------------------------------------------------------------------------

CEL_MUST_CHECK cel_status cel_gguf_gemma2(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_gemma3(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_phi3(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_granite(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_minicpm(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_cohere(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_stablelm(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_use_bias(cel_gguf_maker *m);  // one key for all biases
CEL_MUST_CHECK cel_status cel_gguf_olmo(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_olmo2(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_seed_oss(cel_gguf_maker *m);
CEL_MUST_CHECK cel_status cel_gguf_mistral3(cel_gguf_maker *m);

#endif
