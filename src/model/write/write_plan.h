// What is to be written, tensor by tensor: where each comes from, what becomes of its values, and which pieces of the
// new files it makes. Made whole before the first byte is written, so that every refusal comes early.
// Threads: made by one; read by many.
#ifndef CEL_MODEL_WRITE_WRITE_PLAN_H
#define CEL_MODEL_WRITE_WRITE_PLAN_H

#include "base/arena.h"
#include "model/checkpoint.h"

typedef enum cel_scheme_kind {
  CEL_SCHEME_KEEP,    // the bytes as they are
  CEL_SCHEME_PLAIN,   // F32, F16 or BF16: `dtype`
  CEL_SCHEME_AFFINE,  // MLX: words, scales and biases of `dtype`
  CEL_SCHEME_MICRO,   // MLX: words and bytes of scale; values are rounded to `dtype` first
  CEL_SCHEME_BLOCKS,  // GGUF: `dtype` is Q8_0 or Q4_0
} cel_scheme_kind;

typedef struct cel_scheme {
  cel_scheme_kind kind;
  cel_dtype dtype;
  int bits, group;  // AFFINE, MICRO
} cel_scheme;

// The rows of a head's rotated halves: pairs (j, j + D/2) as in Hugging Face files, or neighbours (2j, 2j + 1).
typedef enum cel_row_order {
  CEL_ROWS_AS_THEY_ARE,
  CEL_ROWS_TO_NEIGHBOURS,
  CEL_ROWS_TO_HALVES,
  CEL_ROWS_BY_TURNS,  // whole heads: head h of the new ones is head h % across * down + h / across of the old
} cel_row_order;
typedef struct cel_reorder {
  cel_row_order kind;
  int64_t first;         // those ahead of it stay where they are
  int64_t width;         // rows of one head
  int64_t across, down;  // BY_TURNS; their product is the number of heads
} cel_reorder;

typedef struct cel_piece {  // one tensor of a new file
  const char *name;
  cel_dtype dtype;
  int rank;
  int64_t dims[CEL_TENSOR_MAX_RANK];  // outermost first
  int64_t bytes;
  int file;        // which of the new files
  int64_t offset;  // in its data part until it is laid out, then in the file
  uint64_t digest; // of the bytes written
} cel_piece;

enum { CEL_MOVE_PIECES = 3 };  // weight, scales, biases
enum { CEL_MOVE_SEGMENTS = 4 };

// Where rows of a tensor come from that no file has as it is: products that are joined or cut, stacks, heads. The new
// tensor's rows are equal groups (a head, an expert, or one for all), and every segment in turn gives n rows to each.
typedef struct cel_segment {
  cel_weight from;  // experts 0: a stack counts as one long matrix
  int64_t n;
  int64_t stride;   // rows of the source from one group to the next
  int64_t first, step;  // within a group: the first one, and from one to the next
  int64_t run, jump;    // run > 0: the group's rows come in runs of so many, jump rows from one run's first to the next's
  bool turned;      // row k of a group is column k of the source's rows from `first` on, as many as the new tensor has columns
} cel_segment;

typedef struct cel_move {
  cel_weight from;          // rows x cols of values; only .tensor (and rows, cols) for what is no matrix. With segments: the
                            // first one's, but rows, cols and the tensor's dims are the new tensor's
  cel_segment segments[CEL_MOVE_SEGMENTS];
  int n_segments;           // 0: from `from` itself
  bool woven;               // the two segments are turned, and their rows are the new tensor's columns in turn
  int64_t group_rows;       // the sum of the segments' n; woven: the first one's
  const float *computed;    // instead of a tensor: values [cols] in one row
  cel_scheme to;
  cel_reorder rows, columns;  // columns: of no move whose bytes are kept
  float add;                // added to every value (Gemma's norms)
  cel_piece pieces[CEL_MOVE_PIECES];
  int n_pieces;
  int64_t row_bytes[CEL_MOVE_PIECES];
} cel_move;

typedef struct cel_write_plan {
  cel_arena *arena;   // names live here
  cel_move *moves;    // malloc'ed
  int64_t n, cap;
  int n_files;        // of tensors
  int64_t *file_data; // malloc'ed, [n_files]: bytes of each file's data part
} cel_write_plan;

void cel_write_plan_deinit(cel_write_plan *p);

// The source of a move: the matrix MODULE of a checkpoint when `t` is its weight, else the tensor by itself. Scales and
// biases of MLX weights are no moves of their own: *skip.
CEL_MUST_CHECK cel_status cel_write_plan_source(const cel_checkpoint *c, const cel_tensor *t, cel_weight *out, bool *skip,
                                          cel_err *err);
// Can rows of this many values be stored so?
bool cel_scheme_fits(const cel_scheme *s, int64_t cols);
// Adds a move and makes its pieces: `name` is that of the weight; scales and biases take its stem.
CEL_MUST_CHECK cel_status cel_write_plan_add(cel_write_plan *p, const cel_move *m, const char *name, cel_err *err);
// Bytes of all pieces.
int64_t cel_write_plan_bytes(const cel_write_plan *p);

#endif
