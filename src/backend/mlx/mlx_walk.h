// The walk over a text model, as the emitter's (backend/xla/emit): the same description, the same blocks under the same
// names, operations of MLX. One walk takes N tokens, in spans of one sequence each: a chunk of a prompt is one span, a step
// of S sessions S spans of one token. Products and norms are taken over all tokens at once; what reads or writes a
// sequence's states (attention, convolutions, the delta rule) is done span by span.
#ifndef CEL_MLX_WALK_H
#define CEL_MLX_WALK_H

#include "backend/mlx/mlx_model.h"

// Tokens that follow each other in one sequence.
typedef struct cel_mlx_span {
  cel_mlx_row *row;
  int64_t at, n;   // where its tokens are among the walk's, and how many there are
  int64_t from;    // the position of the first
  int64_t length;  // of the sequence that length-dependent rotations are for
  arr mask[2];     // of full and of sliding layers, made when first asked for
} cel_mlx_span;

typedef struct cel_mlx_walk {
  cel_mlx *c;
  cel_mlx_model *m;
  const cel_arch *arch;
  cel_mlx_type type;
  cel_mlx_span *spans;  // [n_spans]
  int n_spans;
  int64_t n;        // tokens of all spans
  arr tokens;       // i32 [N]
  arr cos[CEL_ARCH_MAX_ROPES], sin[CEL_ARCH_MAX_ROPES];  // f32 [N, R/2]; NULL: by periods
  arr periods[CEL_ARCH_MAX_ROPES];                       // f32 [R/2]
  arr starts;       // i32 [n_spans], the positions of first tokens; with periods and several spans
  arr q_scale;      // f32 [N, 1], of queries by their position; NULL: none
} cel_mlx_walk;

// Logits f32 [rows, vocab], rows by `want` (CEL_SEQUENCE_LAST: one for each span); NULL where none are wanted, and on an
// error (which sticks). The rows' states hold graphs then that are to be evaluated with it. Spans come with row, n, from and
// length set, distinct rows; tokens [sum of n], span behind span. Several spans have one token each.
arr cel_mlx_walk_text(cel_mlx_model *m, cel_mlx_span *spans, int n_spans, const int32_t *tokens, cel_sequence_logits want);

// The part of x (along `dim`, all tokens) that belongs to a span; x itself where there is no other span.
arr cel_mlx_part(cel_mlx_walk *w, const cel_mlx_span *s, arr x, int dim);
// f of each span, one behind the other along dimension 0. f asks for no such list itself.
arr cel_mlx_each_span(cel_mlx_walk *w, arr (*f)(cel_mlx_walk *w, cel_mlx_span *s, void *context), void *context);

// mlx_state.c
void cel_mlx_replace(cel_mlx_walk *w, arr *slot, arr x);
void cel_mlx_make_room(cel_mlx_walk *w, cel_mlx_row *row, int64_t end);
// fresh [heads, N, width]: each span's part behind what its row holds of a layer's keys or values.
void cel_mlx_append(cel_mlx_walk *w, int state, bool values, arr fresh);

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
// mlx_walk_attention.c: q [n_q, N, D] over the keys and values that the rows hold: [N, n_q * width], width that of a value
// (with MLA the leading columns of a key).
arr cel_mlx_attend(cel_mlx_walk *w, int layer, arr q);
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
