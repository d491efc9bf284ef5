// Shared by the files of emit/: the walk's state and the blocks.
#ifndef CEL_XLA_EMIT_EMIT_INTERNAL_H
#define CEL_XLA_EMIT_EMIT_INTERNAL_H

#include "backend/xla/emit/emit.h"
#include "backend/xla/hlo/build.h"
#include "base/kept.h"

typedef struct cel_emit_weight {
  bool present;
  cel_storage storage;        // of a matrix
  hlo w, scales, biases;      // arguments; scales for MLX only, biases for affine only; of a stack with [experts] in front
  hlo bias;                   // f32 [rows], or of a stack [experts * rows] as stored; NULL when the layer has none
  hlo global_scale;           // nvfp4 stacks may have one: f32 [experts], a stack is times this / (448 * 6)
  struct cel_emit_weight *low, *high;  // an adapter's lora_A and lora_B beside a matrix; NULL: none
  hlo adapter_scale;          // f32 [1]
  hlo vector;                 // a norm's weight, or another tensor of floats, as f32 [n]
} cel_emit_weight;

typedef struct cel_emit_function {  // a decomposition made before: same key, same function
  const char *key;
  const cel_hlo_func *func;
  struct cel_emit_function *next;
} cel_emit_function;

typedef struct cel_emit_tapped {
  const char *name;
  hlo value;
  struct cel_emit_tapped *next;
} cel_emit_tapped;

typedef struct cel_emit {
  cel_hlo_builder b;
  const cel_arch *arch;
  const cel_storage_source *source;
  cel_emit_options options;
  cel_emit_weight *weights;  // [1 + n_layers][CEL_W_COUNT]; row 0 holds what belongs to no layer
  cel_emit_function *functions;
  int64_t n;                 // token rows of this entry point
  hlo tokens, positions, slots, last;
  hlo state[CEL_STATE_COUNT];  // NULL: none; the blocks put the new value in place of the old
  hlo rope_freqs[CEL_ARCH_MAX_ROPES];  // inputs of length-dependent tables, else NULL
  hlo cos[CEL_ARCH_MAX_ROPES], sin[CEL_ARCH_MAX_ROPES];  // [N, R/2]
  hlo q_scale;               // [N], of queries by their position; NULL: none
  struct cel_emit_tapped *taps, *last_tap;  // in the order of the walk
  int n_taps;
  cel_weight_role placing;   // the weight whose arguments are being made
  uint64_t taps_seen;        // which patterns have found a value
} cel_emit;

// layer -1: weights that belong to none.
cel_emit_weight *cel_emit_weight_of(cel_emit *e, cel_weight_role role, int layer);

// Begins the private function that decomposes a composite unless one with this key exists: returns it,
// or NULL with the builder inside the new function (call cel_emit_end afterwards).
typedef struct cel_emit_scope {
  cel_hlo_func *func;
  cel_hlo_block *block;
  const char *key;
} cel_emit_scope;
const cel_hlo_func *cel_emit_begin(cel_emit *e, cel_emit_scope *scope, const char *name, const char *key_fmt, ...)
    CEL_PRINTF(4, 5);
const cel_hlo_func *cel_emit_end(cel_emit *e, cel_emit_scope *scope, hlo result);
const cel_hlo_func *cel_emit_end_many(cel_emit *e, cel_emit_scope *scope, const hlo *results, int n);

// shard.c: what each device of options.devices has of the arguments and results. Nothing where there is one.
void cel_emit_shard_weight(cel_emit *e, hlo arg);
void cel_emit_shard_input(cel_emit *e, hlo arg);
void cel_emit_shard_state(cel_emit *e, cel_state which, hlo arg);
void cel_emit_shard_results(cel_emit *e);  // behind cel_hlo_return

// taps.c: says that x is the value `name` of a layer (-1: of none) and returns x. Only for values of @main.
hlo cel_emit_tap(cel_emit *e, int layer, const char *name, hlo x);
hlo cel_emit_tap_part(cel_emit *e, int layer, const char *name, int part, hlo x);  // NAME.PART: one of several planes
CEL_MUST_CHECK cel_status cel_emit_check_taps(const cel_emit_options *options, cel_err *err);
// The tapped values into results [n_taps]; refuses a pattern that found none. Then, behind cel_hlo_return, their names.
int cel_emit_tap_results(cel_emit *e, hlo *results);
void cel_emit_name_taps(cel_emit *e, int first);
// block_weights.c: arguments of the whole walk.
void cel_emit_weight_arguments(cel_emit *e);
// block_linear.c
hlo cel_emit_linear(cel_emit *e, cel_weight_role role, int layer, hlo x);   // x [N, in] -> [N, out], bias added
hlo cel_emit_embedding(cel_emit *e, hlo ids);                              // [N] -> [N, hidden]
hlo cel_emit_lookup(cel_emit *e, cel_weight_role role, hlo ids);           // rows of a table that belongs to no layer
// The operands a weight brings along (1, with scales 2, with biases 3), and the attributes that describe it (1 or 3).
int cel_emit_weight_operands(const cel_emit_weight *w, hlo *out);
int cel_emit_storage_attrs(cel_hlo_builder *b, const cel_storage *s, cel_hlo_attr **attrs);
// block_dequant.c: storage [rows, ...] to f32 [rows, cols]; w (scales, biases) may be gathered rows.
hlo cel_emit_dequantize(cel_hlo_builder *b, const cel_storage *s, hlo w, hlo scales, hlo biases, int64_t rows);
// block_norm.c: norm over the last dimension with the weight of (role, layer).
hlo cel_emit_norm(cel_emit *e, cel_weight_role role, int layer, hlo x);
const char *cel_emit_norm_name(cel_weight_role role);  // its tap: "attn_norm"
hlo cel_emit_rms_norm(cel_emit *e, hlo x, hlo weight, double plus, double eps);  // the composite; weight [D]
// The composite; weight [D], or [heads, D] for x [N, heads, D]; bias [D] with a weight only. NULL: none.
hlo cel_emit_layer_norm(cel_emit *e, hlo x, hlo weight, hlo bias, double eps);
// block_rope.c
void cel_emit_rope_tables(cel_emit *e);
hlo cel_emit_rope(cel_emit *e, int table, hlo x);
// block_qkv.c: queries [N, n_q, D], keys and values [N, n_kv, D], normed and rotated. A layer with kv_shared has no keys
// and values of its own: NULL. gate [N, n_q * D] with cel_arch.out_gate, else NULL.
typedef struct cel_qkv { hlo q, k, v, gate; } cel_qkv;
cel_qkv cel_emit_qkv(cel_emit *e, int layer, hlo h);
// The mixers and the feed-forward halves of a layer: h [N, hidden], normed -> [N, hidden].
hlo cel_emit_attention(cel_emit *e, int layer, hlo h);  // block_attention.c
hlo cel_emit_mla(cel_emit *e, int layer, hlo h);        // block_mla.c
hlo cel_emit_conv(cel_emit *e, int layer, hlo h);       // block_conv.c
hlo cel_emit_delta(cel_emit *e, int layer, hlo h);      // block_delta.c
hlo cel_emit_mlp(cel_emit *e, int layer, hlo h);        // block_mlp.c: gated or plain
hlo cel_emit_moe(cel_emit *e, int layer, hlo h);        // block_moe.c
// block_gemma3n.c: all layers, from the embedded rows to those of the final norm, [N, hidden].
hlo cel_emit_gemma3n(cel_emit *e, hlo x);
// block_router.c: the experts of each token, i32 [N, k], and their weights, f32 [N, k].
typedef struct cel_chosen { hlo ids, weights; } cel_chosen;
cel_chosen cel_emit_route(cel_emit *e, int layer, hlo h);
hlo cel_emit_top_k(cel_emit *e, hlo x, int64_t k);          // [R, n] -> i32 [R, k], the largest first: the composite
hlo cel_emit_pick(cel_hlo_builder *b, hlo x, hlo ids);      // x [R, n] at ids [R, k] -> [R, k]
// block_experts.c: products with a stack's chosen matrices.
hlo cel_emit_expert_linear(cel_emit *e, cel_weight_role role, int layer, hlo x, hlo ids);  // [N, in] -> [N, k, out]
hlo cel_emit_expert_combine(cel_emit *e, cel_weight_role role, int layer, hlo a, cel_chosen c);  // [N, k, in] -> [N, out]
// The gated MLP of any three roles (a shared expert's, too).
hlo cel_emit_gated(cel_emit *e, cel_weight_role gate, cel_weight_role up, cel_weight_role down, int layer, hlo h);
// act(gate) * up of equal shapes, as a composite.
hlo cel_emit_gated_act(cel_emit *e, hlo gate, hlo up);
// Writes fresh [N, heads, width] into a state at (entry, slots, positions); block_attention.c, used by block_mla.c too.
void cel_emit_append(cel_emit *e, cel_state state, hlo entry, hlo fresh);  // entry: i32[], cel_layer.state
// q [N, n_q, D] over the layer's keys and values, of which the first `width` columns count: [N, n_q, width]. The
// composite; block_attention.c.
hlo cel_emit_attend(cel_emit *e, int layer, hlo entry, hlo q, hlo keys, hlo values, int64_t width);
// block_state.c: of a recurrent state, the rows that this step goes on from, [1 or N, dims[2], dims[3], dims[4]], and the
// state with such rows put back. entry: i32[], cel_layer.state.
hlo cel_emit_state_rows(cel_hlo_builder *b, hlo state, hlo entry, hlo slots);
hlo cel_emit_state_write(cel_hlo_builder *b, hlo state, hlo entry, hlo slots, hlo fresh);
// Makes rows of padding (slots [N] >= rows) repeat what row 0 writes, in slots and in the n values [N, ...] of rest.
// StableHLO drops a write out of range, so this changes nothing; IREE 3.13 has no such check and would write past the state.
void cel_emit_repeat_first(cel_hlo_builder *b, int64_t rows, hlo *slots, hlo *const *rest, int n);
// block_conv.c: u [N, C] through the layer's convolution and its state; weight [C * taps], a channel's taps together.
hlo cel_emit_short_conv(cel_emit *e, int layer, hlo u, hlo weight);
// cap * tanh(x / cap); x itself when cap is 0 (none).
hlo cel_emit_softcap(cel_hlo_builder *b, hlo x, double cap);
// Broadcasts of the shapes the blocks need: v [D] along the last of x's dimensions.
hlo cel_emit_along_last(cel_hlo_builder *b, hlo v, hlo like);
// v, one value per row of x (of all dimensions but the last), along x's rows; and the mean of each row of x.
hlo cel_emit_along_rows(cel_hlo_builder *b, hlo v, hlo like);
hlo cel_emit_row_mean(cel_hlo_builder *b, hlo x);
// Over the last dimension and one more logit, the sink [all others], whose share nobody gets. NULL: none.
hlo cel_emit_softmax(cel_hlo_builder *b, hlo x, hlo sink);

#endif
