// Checkpoints in eight-bit floats (DeepSeek-V3's and Ministral 3's published files): M.weight in E4M3, and beside it
// M.weight_scale_inv, one number for a block of 128 x 128 values, or one for the whole matrix. A value is f32(E4M3 * scale).
// They become what MLX's modes are, so that nothing above sees a layout of its own: words M.weight (the file's own bytes)
// and M.scales, f32, one per row and group of columns; mode "fp8". The scales are the one copy that is made: 4 bytes for
// each group of a row, 3 % of the weights in groups of 128. Scales of activations are left out: ours stay as they are.
#include <string.h>

#include "base/checked.h"
#include "model/checkpoint_private.h"

static const char weight_tail[] = ".weight", scale_tail[] = ".weight_scale_inv", activation_tail[] = ".activation_scale";

static cel_status bad(const cel_tensor *t, const cel_tensor *s, const char *what, cel_err *err) {
  return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" (%s %s) with weight_scale_inv %s %s: %s", t->file,
                  cel_show(cel_str_of(t->name)).text, cel_dtype_of(t->dtype)->name, cel_show_dims(t->dims, t->rank).text,
                  cel_dtype_of(s->dtype)->name, cel_show_dims(s->dims, s->rank).text, what);
}

// Rows and columns of a block: the config's weight_block_size; null or absent: none.
static cel_status read_block_size(const cel_checkpoint *c, int64_t block[2], cel_err *err) {
  const cel_json *list = cel_json_get(c->priv->fp8, "weight_block_size");
  block[0] = block[1] = 0;
  if (!list) return CEL_OK;
  for (int i = 0; i < 2 && cel_json_array_size(list) == 2; i++) {
    const cel_json *v = cel_json_array_get(list, (size_t)i);
    block[i] = cel_json_is_integer(v) ? cel_json_integer_value(v) : 0;
  }
  if (block[0] > 0 && block[1] > 0) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s/config.json: quantization_config.weight_block_size must be two positive sizes", c->dir);
}

// The widest group that lies within one block and divides the row; 0: none.
static int64_t group_of(int64_t cols, int64_t block) {
  for (int64_t g = 128; g >= 32; g /= 2) {
    if (cols % g == 0 && (block % g == 0 || block >= cols)) return g;
  }
  return 0;
}

typedef struct grid {  // of scales
  int64_t block[2], n[2];
} grid;

static cel_status read_grid(const cel_tensor *t, const cel_tensor *s, const int64_t block[2], grid *g, cel_err *err) {
  bool one = true;
  for (int i = 0; i < s->rank; i++) one = one && s->dims[i] == 1;
  if (s->dtype != CEL_DT_F32 && s->dtype != CEL_DT_BF16 && s->dtype != CEL_DT_F16) return bad(t, s, "scales are F32, BF16 or F16", err);
  for (int i = 0; i < 2; i++) {
    g->block[i] = one ? t->dims[i] : block[i];
    if (g->block[i] < 1) return bad(t, s, "the config's quantization_config has no weight_block_size", err);
    g->n[i] = (t->dims[i] - 1) / g->block[i] + 1;
  }
  if (one || (s->rank == 2 && s->dims[0] == g->n[0] && s->dims[1] == g->n[1])) return CEL_OK;
  return bad(t, s, "the config's weight_block_size asks for another number of scales", err);
}

// The scales of every row, f32 [rows, cols / group].
static cel_status spread(cel_checkpoint *c, const cel_tensor *t, const cel_tensor *s, const grid *g, int64_t group, cel_tensor *out,
                         cel_err *err) {
  const cel_dtype_traits *type = cel_dtype_of(s->dtype);
  int64_t rows = t->dims[0], groups = t->dims[1] / group, n;
  if (!cel_mul_i64(rows, groups, &n) || !cel_mul_i64(n, 4, &out->bytes)) return bad(t, s, "too large", err);
  float *scales = cel_arena_alloc(&c->priv->arena, (size_t)out->bytes), one;
  if (!scales) return cel_fail_oom(err, t->name);
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < groups; k++) {
      int64_t at = r / g->block[0] * g->n[1] + k * group / g->block[1];
      type->widen((const uint8_t *)s->data + at * type->block_bytes, &one, 1);
      scales[r * groups + k] = one;
    }
  }
  out->dtype = CEL_DT_F32;
  out->rank = 2;
  out->dims[0] = rows;
  out->dims[1] = groups;
  out->data = scales;
  out->file = t->file;
  return CEL_OK;
}

// Adds M.weight as words and M.scales.
static cel_status take(cel_checkpoint *c, const cel_tensor *t, const cel_tensor *s, const int64_t block[2], cel_tensor_list *out,
                       cel_err *err) {
  grid g;
  cel_tensor words = *t, scales = {0};
  cel_str name = cel_str_of(t->name);
  name.n -= strlen(weight_tail);
  CEL_TRY(read_grid(t, s, block, &g, err));
  int64_t group = group_of(t->dims[1], g.block[1]);
  if (!group) return bad(t, s, "columns, and those of a block, must be multiples of 32", err);
  CEL_TRY(spread(c, t, s, &g, group, &scales, err));
  words.dtype = CEL_DT_U32;
  words.dims[1] /= 4;
  CEL_TRY(cel_tensor_list_add(out, &words, CEL_STR(""), cel_str_of(t->name), err));
  return cel_tensor_list_add(out, &scales, name, CEL_STR(".scales"), err);
}

// M.weight_scale_inv of M.weight; NULL: it has none.
static const cel_tensor *scale_of(const cel_tensor_list *l, const cel_tensor *t) {
  char name[512];
  size_t n = strlen(t->name), tail = strlen(weight_tail);
  if (t->dtype != CEL_DT_F8_E4M3 || t->rank != 2 || t->bytes == 0 || !cel_str_ends(cel_str_of(t->name), cel_str_of(weight_tail)) ||
      n - tail + sizeof scale_tail > sizeof name) {
    return NULL;
  }
  memcpy(name, t->name, n - tail);
  memcpy(name + n - tail, scale_tail, sizeof scale_tail);
  return cel_tensor_list_find(l->items, l->n, name);
}

static cel_status take_all(cel_checkpoint *c, cel_tensor_list *out, cel_err *err) {
  const cel_tensor_list *l = &c->priv->list;
  int64_t block[2];
  CEL_TRY(read_block_size(c, block, err));
  for (int64_t i = 0; i < l->n; i++) {
    const cel_tensor *t = &l->items[i], *s = scale_of(l, t);
    cel_str name = cel_str_of(t->name);
    if (cel_str_ends(name, cel_str_of(scale_tail)) || cel_str_ends(name, cel_str_of(activation_tail))) continue;
    CEL_TRY(s ? take(c, t, s, block, out, err) : cel_tensor_list_add(out, t, CEL_STR(""), name, err));
  }
  return cel_tensor_list_sort(out, err);
}

cel_status cel_checkpoint_take_fp8(cel_checkpoint *c, cel_err *err) {
  if (!c->priv->fp8) return CEL_OK;
  cel_tensor_list out = {.arena = &c->priv->arena}, *list = &c->priv->list;
  cel_status s = take_all(c, &out, err);
  if (s == CEL_OK) {
    cel_tensor_list old = *list;
    *list = out;
    out = old;
  }
  cel_tensor_list_deinit(&out);
  return s;
}
