// A program made ready to run on the CPU: a straight list of steps over slots, with every buffer placed in
// one arena and every kernel argument settled. Planning may fail and allocates; running does neither.
//
// The passes, in order (each in its file):
//   flatten.c      calls and composites without a kernel are inlined: one list of nodes over slots
//   fold.c         nodes whose operands are constants or small bound weights are evaluated once
//   steps.c        nodes to steps: kernels for composites, products that share an operand together
//   recurrent.c    those of the composites that carry a state through a sequence
//   elementwise.c  runs of f32 elementwise nodes become one step each
//   memory.c       lifetimes, one arena, barriers between steps that touch the same memory
//
// Threads: planned by one; run by one team (run.c).
#ifndef CEL_XLA_NATIVE_PLAN_H
#define CEL_XLA_NATIVE_PLAN_H

#include "backend/xla/engine/native/kernel/kernel.h"
#include "backend/xla/program/program.h"

typedef enum cel_slot_kind {
  CEL_SLOT_NONE,   // nobody needs it
  CEL_SLOT_PARAM,  // index: which parameter
  CEL_SLOT_CONST,  // data
  CEL_SLOT_ARENA,  // offset
  CEL_SLOT_ALIAS,  // index: another slot with the same bytes (reshape, in-place update)
} cel_slot_kind;

typedef struct cel_slot {
  const cel_hlo_type *type;
  cel_slot_kind kind;
  int index;
  const void *data;    // CONST; when splat, one element
  bool splat;
  bool pinned;         // a result of the program: lives to the end
  bool view_only;      // a broadcast that is read through, never stored
  int64_t offset, bytes;
  int node;            // that defines it, -1: a parameter
  int n_uses;          // by live nodes and as a result
  int first, last;     // steps between which the arena space is needed
} cel_slot;

// One operation of the flattened program.
typedef struct cel_node {
  const cel_hlo_op *op;
  int *in, *out;       // slots
  int n_in, n_out;
  bool dead;
} cel_node;

typedef enum cel_step_kind {
  CEL_STEP_LINEAR, CEL_STEP_EMBED, CEL_STEP_RMS_NORM, CEL_STEP_LAYER_NORM, CEL_STEP_ROPE, CEL_STEP_GATED, CEL_STEP_APPEND,
  CEL_STEP_ATTENTION, CEL_STEP_SHORT_CONV, CEL_STEP_DELTA, CEL_STEP_ELEMENTWISE, CEL_STEP_CONVERT, CEL_STEP_SLICE_ROWS,
  CEL_STEP_SLICE_COLUMNS, CEL_STEP_CONCAT, CEL_STEP_HEADS, CEL_STEP_TOP_K, CEL_STEP_EXPERTS, CEL_STEP_REFERENCE,
} cel_step_kind;

enum { CEL_LINEAR_MOST = 4 };
enum { CEL_HEADS_PANEL = 16 };  // rows of head_linear that are widened together

// ---- elementwise groups: a small program over tiles -----------------------------------------------

typedef void cel_binary_kernel(float *y, const float *a, const float *b, int64_t n);
typedef void cel_unary_kernel(float *y, const float *a, int64_t n);

typedef enum cel_view { CEL_VIEW_FULL, CEL_VIEW_SPLAT, CEL_VIEW_ROW /* [D] along the last dim */,
                        CEL_VIEW_COLUMN /* one value per row */, CEL_VIEW_TEMP } cel_view;
typedef struct cel_operand {
  cel_view view;
  int slot;     // FULL, ROW, COLUMN
  int temp;     // TEMP: which tile register
  float value;  // SPLAT
} cel_operand;
typedef struct cel_micro {
  cel_binary_kernel *binary;  // or
  cel_unary_kernel *unary;
  cel_operand a, b;
  int temp;  // where the result goes
  int slot;  // and where it is stored as well; -1: nowhere
} cel_micro;

// ---- products with the experts that a router chose --------------------------------------------------

typedef struct cel_expert_stack {
  cel_linear w;  // of one expert, its pointers those of experts[e]
  const uint8_t *const *weights, *const *scales, *const *biases;  // [experts], the latter two as the format has them
  const uint8_t *const *bias;  // [experts] rows of numbers of bias_type, alignment 1; NULL: none
  cel_etype bias_type;
  int y;         // slot [tokens, k, rows]; of a combination [tokens, rows]
} cel_expert_stack;
enum { CEL_EXPERT_STACKS = 2, CEL_EXPERT_BLOCK = 32 };
typedef struct cel_experts {
  int n;                 // stacks that share x and ids: gate and up
  cel_expert_stack stack[CEL_EXPERT_STACKS];
  bool combine;          // x is [tokens, k, in], and the k products of a token are summed with weights
  int64_t experts, k, tokens;
  int64_t sources;       // rows of x: tokens, or tokens * k
  int64_t pack_bytes;
  bool private_pack;     // few tokens: every member packs for itself
  // Where things lie in a member's scratch and (packs ahead of them) in the step's arena space, in bytes.
  int64_t order_at, packs_at, block_at, temp_at, scratch_at, products_at;
} cel_experts;

typedef struct cel_step {
  cel_step_kind kind;
  bool barrier;        // before it
  bool solo;           // member 0 alone
  const char *path;    // of the model, for explain
  int in[8], out[8];   // slots read and written, for memory.c
  int n_in, n_out;
  int scratch_slot;    // arena space of the step's own (packed activations), -1: none
  union {
    struct {
      int n, tokens;
      int y[CEL_LINEAR_MOST];
      cel_linear w[CEL_LINEAR_MOST];
      int64_t pack_bytes;
      bool private_pack;  // few tokens: every member packs for itself
    } linear;
    struct {
      cel_linear w;
      int64_t tokens;
    } embed;
    struct {
      int64_t rows, n;
      float eps, plus;
      int64_t weight_rows;  // LAYER_NORM: 0: no weight; row r takes weight row r % weight_rows
      bool biased;
    } norm;
    struct {
      int64_t tokens;
      int heads, d, dims;
      bool interleaved;
    } rope;
    struct {
      int64_t n;
      bool gelu;
    } gated;
    struct {
      int64_t tokens, layer, d;
      const cel_hlo_type *cache;
      cel_kv kv;
      bool slot_per_token;
    } append;
    struct {
      cel_attention a;  // pointers are filled when it runs
      int64_t layer;
      const cel_hlo_type *cache;
    } attention;
    struct {
      cel_short_conv c;  // pointers likewise
      int64_t layer;
    } conv;
    struct {
      cel_gated_delta d;
      int64_t layer;
    } delta;
    struct {
      cel_micro *micros;
      int n, n_temps;
      int64_t elements, row;  // row: length of the last dimension
    } elementwise;
    struct {
      int64_t row_bytes, rows_in, rows_out;  // slice_rows: contiguous rows from a dynamic start
    } slice;
    struct {
      int64_t rows, from, to, start, stride;  // slice_columns: elements of a row before and after
    } columns;
    struct {
      int64_t outer;  // concat: how often a piece of each operand follows the next
      int64_t bytes[8];  // of a piece
    } concat;
    struct {
      cel_linear w;            // [heads * per_head, cols]
      int64_t tokens, heads, per_head, first, rows, pack_bytes;
      bool transposed;         // x times the rows [first, first + rows) of each head; else the rows times x
    } heads;
    struct {
      int64_t rows, n, k;
    } top_k;
    cel_experts *experts;
    const cel_hlo_op *reference;
  } u;
} cel_step;

typedef struct cel_plan {
  cel_arena memory;  // of the plan itself
  const cel_program *program;
  cel_kernels kernels;
  cel_linear_precision precision;
  int n_threads;
  cel_slot *slots;
  int n_slots, cap_slots;
  cel_node *nodes;
  int n_nodes, cap_nodes;
  cel_step *steps;
  int n_steps, cap_steps;
  int *results;            // [n_results] slots
  void *const *weights;    // [n_params] host bytes of bound weights, NULL elsewhere
  const void *const *const *parts;  // [n_params] of weights in equal parts, ended by NULL; NULL: none, entries too
  int64_t arena_bytes, scratch_bytes;  // scratch is per thread
} cel_plan;

// `weights[n_params]`: the bytes of bound weights, NULL for one in parts; `parts[n_params]`: those of such; lent for the
// life of the plan.
CEL_MUST_CHECK cel_status cel_plan_new(const cel_program *program, void *const *weights, const void *const *const *parts,
                                       uint32_t cpu_bits, cel_linear_precision precision, int n_threads, cel_plan **out, cel_err *err);
// Does a step read parameter i in one piece?
bool cel_plan_wants_whole(const cel_plan *p, int param);
void cel_plan_free(cel_plan *p);
CEL_MUST_CHECK cel_status cel_plan_explain(const cel_plan *p, cel_buf *out, cel_err *err);

// ---- between the passes ----------------------------------------------------------------------------

cel_status cel_plan_flatten(cel_plan *p, cel_err *err);
cel_status cel_plan_fold(cel_plan *p, cel_err *err);
cel_status cel_plan_steps(cel_plan *p, cel_err *err);
cel_status cel_plan_memory(cel_plan *p, cel_err *err);

int cel_plan_slot(cel_plan *p, const cel_hlo_type *type, int node);  // -1: out of memory
cel_step *cel_plan_step(cel_plan *p, cel_step_kind kind, const cel_node *node);  // NULL: out of memory
int cel_plan_root(const cel_plan *p, int slot);                      // through aliases
// Does a kernel exist for this composite, judging by its name, attributes and operand types?
bool cel_plan_has_kernel(const cel_hlo_op *composite);
// recurrent.c: the same for short_conv and gated_delta, and their steps.
bool cel_plan_has_recurrent_kernel(const cel_hlo_op *composite, const char *name);
bool cel_plan_is_recurrent(const char *name);
cel_status cel_plan_recurrent_step(cel_plan *p, const cel_node *node, const char *name, cel_err *err);
// The value of a constant i32[] slot within [0, layers).
bool cel_plan_layer(cel_plan *p, int slot, int64_t layers, int64_t *out);
// Makes result `out` of a node the operand `in`, updated in place: a state whose old value nobody reads afterwards.
// Fails with the composite's name otherwise.
cel_status cel_plan_in_place(cel_plan *p, const cel_node *node, int in, int out, const char *name, cel_err *err);
// Describes a weight operand of a linear or embedding composite: format and bytes from attributes and
// operands; false when no kernel reads it.
bool cel_plan_linear(const cel_plan *p, const cel_node *node, int first_weight, cel_linear *out);
// weights.c: an attribute of a composite, NULL when it has none.
const cel_hlo_attr *cel_plan_attribute(const cel_hlo_op *composite, const char *name);
// The kernel's format of the weight in operands [first, first + n) (words, scales, biases; matrices, or stacks of three
// dimensions) with rows of `cols`, if the operands are what that format has.
bool cel_plan_weight_format(const cel_hlo_op *op, int first, int n, int64_t cols, cel_linear_format *out);
// The same as a matrix (of one expert) without its bytes.
bool cel_plan_weight(const cel_plan *p, const cel_node *node, int first, int n, int64_t cols, cel_linear *out);
const uint8_t *cel_plan_bytes(const cel_plan *p, int slot);  // of a bound weight or constant in one piece, else NULL
// heads.c: head_linear.
bool cel_plan_has_heads(const cel_hlo_op *composite);
cel_status cel_plan_heads(cel_plan *p, const cel_node *node, cel_err *err);
// experts.c: top_k, expert_linear, expert_combine.
bool cel_plan_has_experts(const cel_hlo_op *composite);
cel_status cel_plan_experts(cel_plan *p, const cel_node *node, cel_err *err);
// Settles what a step needs: bytes of arena space of its own and of each member's scratch.
void cel_plan_experts_space(const cel_plan *p, cel_experts *e, int64_t *shared, int64_t *scratch);
// An elementwise f32 node that a group can take; fills the kernels.
bool cel_plan_micro(const cel_plan *p, const cel_node *node, cel_micro *out);
// Turns the run of elementwise nodes that starts at node i into one step; *next: the node behind it.
cel_status cel_plan_elementwise(cel_plan *p, int i, int *next, cel_err *err);
void cel_plan_mark_views(cel_plan *p);
// Makes slot's value a whole constant array (a splat repeated) if it is a constant; NULL when it is none.
const void *cel_plan_constant(cel_plan *p, int slot);

#endif
