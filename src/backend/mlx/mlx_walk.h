// The walk over a text model, as the emitter's (backend/xla/emit): the same description, the same blocks under the same
// names, operations of MLX. One walk takes N tokens of one sequence, behind those before; a step of many sessions is many
// walks in one evaluation, so no token depends on its batch mates.
#ifndef CEL_MLX_WALK_H
#define CEL_MLX_WALK_H

#include "backend/mlx/mlx_model.h"

typedef struct cel_mlx_walk {
  cel_mlx *c;
  cel_mlx_model *m;
  const cel_arch *arch;
  cel_mlx_type type;
  cel_mlx_row *row;
  int64_t n, from;  // tokens, and the position of the first
  int64_t length;   // of the sequence that length-dependent rotations are for
  arr tokens;       // i32 [N]
  arr cos[CEL_ARCH_MAX_ROPES], sin[CEL_ARCH_MAX_ROPES];  // f32 [N, R/2]; NULL: by periods
  arr periods[CEL_ARCH_MAX_ROPES];                       // f32 [R/2]
  arr q_scale;      // f32 [N, 1], of queries by their position; NULL: none
  arr mask[2];      // of full and of sliding layers, made when first asked for
} cel_mlx_walk;

// Logits f32 [rows, vocab], rows by `want`; NULL where none are wanted, and on an error (which sticks). The row's states
// hold graphs then that are to be evaluated with it.
arr cel_mlx_walk_text(cel_mlx_model *m, int row, const int32_t *tokens, int64_t from, int64_t count, int64_t length,
                      cel_sequence_logits want);

// mlx_state.c
void cel_mlx_replace(cel_mlx_walk *w, arr *slot, arr x);
void cel_mlx_make_room(cel_mlx_walk *w, int64_t end);
arr cel_mlx_append(cel_mlx_walk *w, arr *slot, arr fresh);

// mlx_walk_linear.c
arr cel_mlx_product(cel_mlx_walk *w, cel_weight_role role, int layer, arr x);  // x [..., in] -> [..., out], bias added
arr cel_mlx_lookup(cel_mlx_walk *w, cel_weight_role role, arr ids);            // rows of a table that belongs to no layer
// mlx_walk_norm.c: over the last dimension.
arr cel_mlx_norm(cel_mlx_walk *w, cel_weight_role role, int layer, arr x);  // of the description's kind
arr cel_mlx_rms(cel_mlx_walk *w, cel_weight_role role, int layer, arr x, double eps);
arr cel_mlx_softcap(cel_mlx_walk *w, arr x, double cap);  // cap * tanh(x / cap); x itself when cap is 0
// mlx_walk_rope.c
void cel_mlx_rope_tables(cel_mlx_walk *w);
arr cel_mlx_rotate(cel_mlx_walk *w, int table, arr x);  // x [heads, N, D]
// mlx_walk_qkv.c: [heads, N, D] each. gate [N, n_q * D] with cel_arch.out_gate, else NULL.
typedef struct cel_mlx_qkv { arr q, k, v, gate; } cel_mlx_qkv;
cel_mlx_qkv cel_mlx_project(cel_mlx_walk *w, int layer, arr h);
// The mixers and the feed-forward halves of a layer: h [N, hidden], normed -> [N, hidden].
arr cel_mlx_attend_layer(cel_mlx_walk *w, int layer, arr h);  // mlx_walk_attention.c
arr cel_mlx_latent(cel_mlx_walk *w, int layer, arr h);        // mlx_walk_mla.c
arr cel_mlx_conv(cel_mlx_walk *w, int layer, arr h);          // mlx_walk_conv.c
arr cel_mlx_delta(cel_mlx_walk *w, int layer, arr h);         // mlx_walk_delta.c
arr cel_mlx_mlp(cel_mlx_walk *w, int layer, arr h);           // mlx_walk_mlp.c
arr cel_mlx_moe(cel_mlx_walk *w, int layer, arr h);           // mlx_walk_moe.c
// mlx_walk_gemma3n.c: all layers, from the embedded rows to those of the final norm, [N, hidden].
arr cel_mlx_gemma3n(cel_mlx_walk *w, arr x);
// mlx_walk_attention.c: q [n_q, N, D] over keys [1, kv heads, capacity, D] and values, of which the positions so far count:
// [N, n_q * width], width that of a value.
arr cel_mlx_attend(cel_mlx_walk *w, int layer, arr q, arr keys, arr values);
// mlx_walk_conv.c: u [N, C] through a convolution and its state; weight f32 [C * taps], a channel's taps together.
arr cel_mlx_short_conv(cel_mlx_walk *w, int layer, arr u, arr weight);
// mlx_walk_mlp.c
arr cel_mlx_gated(cel_mlx_walk *w, cel_weight_role gate, cel_weight_role up, cel_weight_role down, int layer, arr h);
arr cel_mlx_gated_act(cel_mlx_walk *w, arr gate, arr up);  // act(gate) * up
// mlx_walk_router.c: the experts of each token, u32 [N, k], and their weights, f32 [N, k].
typedef struct cel_mlx_chosen { arr ids, weights; } cel_mlx_chosen;
cel_mlx_chosen cel_mlx_route(cel_mlx_walk *w, int layer, arr h);

static inline arr cel_mlx_add(cel_mlx_walk *w, arr x, arr y) { return cel_mlx_binary_op(w->c, CEL_MLX_ADD, x, y); }
static inline arr cel_mlx_sub(cel_mlx_walk *w, arr x, arr y) { return cel_mlx_binary_op(w->c, CEL_MLX_SUB, x, y); }
static inline arr cel_mlx_mul(cel_mlx_walk *w, arr x, arr y) { return cel_mlx_binary_op(w->c, CEL_MLX_MUL, x, y); }
static inline arr cel_mlx_div(cel_mlx_walk *w, arr x, arr y) { return cel_mlx_binary_op(w->c, CEL_MLX_DIV, x, y); }
static inline arr cel_mlx_by(cel_mlx_walk *w, arr x, double y) { return cel_mlx_scalar_op(w->c, CEL_MLX_MUL, x, y); }
static inline arr cel_mlx_plus(cel_mlx_walk *w, arr x, double y) { return cel_mlx_scalar_op(w->c, CEL_MLX_ADD, x, y); }
static inline arr cel_mlx_sigmoid(cel_mlx_walk *w, arr x) { return cel_mlx_unary_op(w->c, CEL_MLX_SIGMOID, x); }
static inline arr cel_mlx_silu(cel_mlx_walk *w, arr x) { return cel_mlx_mul(w, x, cel_mlx_sigmoid(w, x)); }
static inline arr cel_mlx_f32(cel_mlx_walk *w, arr x) { return cel_mlx_cast(w->c, x, CEL_MLX_F32); }
static inline arr cel_mlx_shape2(cel_mlx_walk *w, arr x, int64_t a, int64_t b) { return cel_mlx_reshape(w->c, x, 2, (int64_t[]){a, b}); }
static inline arr cel_mlx_shape3(cel_mlx_walk *w, arr x, int64_t a, int64_t b, int64_t d) {
  return cel_mlx_reshape(w->c, x, 3, (int64_t[]){a, b, d});
}

#endif
