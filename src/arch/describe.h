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
};
#define CEL_ARCH_MAX_POSITION INT64_C(0x7fffffff)

// What a config class gives for absent keys (text-architectures §1.1.5, §1.3). The sizes count for
// nested text configs only: at the root a missing size is an error.
typedef struct cel_class_defaults {
  int64_t vocab, hidden, inter, layers, n_q, n_kv;  // n_kv 0: as n_q
  int64_t head_dim;                                 // 0: hidden / n_q
  int64_t max_position;
  double eps;
  const char *act_key, *act;
  bool tied;
  int32_t bos, eos;  // -1: none
} cel_class_defaults;

// Sizes, head width, eps, activation, tied, bos, the default eos; scale D^-1/2, plain pre-norm RMS and
// the Llama names. The family then changes what sets it apart.
CEL_MUST_CHECK cel_status cel_arch_read_common(const cel_json *cfg, const cel_json *root,
                                               const cel_class_defaults *d, cel_arch *a, cel_err *err);

// --- rope_config.c --------------------------------------------------------------------------------
typedef struct cel_rope_defaults {
  double theta;
  double local_theta;  // > 0: sliding layers have an own plain table with rope_local_base_freq (Gemma 3)
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

// layer_types when present, else the rule. a->window, n_layers and ropes must be set.
CEL_MUST_CHECK cel_status cel_arch_read_layers(const cel_json *cfg, cel_layer_rule rule, int64_t argument,
                                               const int rope_of[2], cel_arena *arena, cel_arch *a, cel_err *err);
// sliding_window: `otherwise` when absent, 0 when null.
CEL_MUST_CHECK cel_status cel_arch_read_window(const cel_json *cfg, int64_t otherwise, int64_t *window,
                                               cel_err *err);
// Qwen's form: sliding_window counts only with use_sliding_window, from layer max_window_layers (*first) on.
// Without a window *first is n_layers.
CEL_MUST_CHECK cel_status cel_arch_read_upper_window(const cel_json *cfg, cel_arch *a, int64_t *first, cel_err *err);

#endif
