// Mixtures of experts, under one set of names whatever the file:
//   ...mlp.gate                    the router (with .bias, .e_score_correction_bias)
//   ...mlp.experts.gate_proj       a stack [E, out, in]; up_proj and down_proj likewise,
//   ...mlp.experts.gate_up_proj    or gate and up in one (gate rows first; gpt-oss interleaves them)
//   ...mlp.shared_experts.gate_proj, ...mlp.shared_expert_gate
// Hugging Face keeps experts apart (experts.3.up_proj, Mixtral's experts.3.w3) or fuses them (experts.gate_up_proj,
// Granite's input_linear), MLX stacks them (switch_mlp.up_proj), gpt-oss has blocks and scales of its own. Experts kept
// apart become one tensor in parts; nothing is copied.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "model/checkpoint_private.h"

// ---- names -----------------------------------------------------------------------------------------

enum { NAME_MOST = 512, EXPERTS_MOST = 1 << 16 };

typedef struct exchange {
  const char *from, *to;
} exchange;

// Whole segments, in this order.
static const exchange segments[] = {
    {".block_sparse_moe.router.layer", ".mlp.gate"},
    {".block_sparse_moe.input_linear", ".mlp.experts.gate_up_proj"},
    {".block_sparse_moe.output_linear", ".mlp.experts.down_proj"},
    {".block_sparse_moe", ".mlp"},
    {".mlp.router", ".mlp.gate"},
    {".mlp.moe_statics.e_score_correction_bias", ".mlp.gate.e_score_correction_bias"},
    {".mlp.e_score_correction_bias", ".mlp.gate.e_score_correction_bias"},
    {".mlp.shared_expert", ".mlp.shared_experts"},
    {".switch_mlp", ".experts"},
    {".feed_forward.gate_proj", ".feed_forward.w1"},  // MLX's names of LFM2's dense layers
    {".feed_forward.up_proj", ".feed_forward.w3"},
    {".feed_forward.down_proj", ".feed_forward.w2"},
};
// Behind "experts." (and a number).
static const exchange projections[] = {{"w1", "gate_proj"}, {"w3", "up_proj"}, {"w2", "down_proj"}};
// The end of a tensor's name: stacks that are parameters themselves, not modules.
static const exchange ends[] = {{"_proj", "_proj.weight"},
                                {"_proj_bias", "_proj.bias"},
                                {"_proj_blocks", "_proj.weight"},
                                {"_proj_scales", "_proj.scales"}};

// Puts `to` in place of n bytes at `at`; false when it does not fit.
static bool put(char *name, size_t bytes, char *at, size_t n, const char *to) {
  size_t rest = strlen(at + n) + 1, k = strlen(to);
  if ((size_t)(at - name) + k + rest > bytes) return false;
  memmove(at + k, at + n, rest);
  memcpy(at, to, k);
  return true;
}

static char *find_segments(char *name, const char *from) {
  size_t n = strlen(from);
  for (char *at = strstr(name, from); at; at = strstr(at + 1, from)) {
    if (at[n] == '.' || !at[n]) return at;
  }
  return NULL;
}

// "17." at the beginning of text; -1 when it is no number with a dot.
static int64_t number_of(const char *text, size_t *used) {
  int64_t n = 0;
  size_t i = 0;
  while (i < 6 && text[i] >= '0' && text[i] <= '9') n = n * 10 + (text[i++] - '0');
  *used = i + 1;
  return i > 0 && text[i] == '.' ? n : -1;
}

static bool rename_projection(char *name, size_t bytes, char *rest, bool tensor) {
  for (int i = 0; i < CEL_COUNT(projections); i++) {
    size_t n = strlen(projections[i].from);
    if (strncmp(rest, projections[i].from, n) != 0 || (rest[n] && rest[n] != '.')) continue;
    return put(name, bytes, rest, n, projections[i].to);
  }
  cel_str tail = cel_str_of(rest);
  if (!tensor || memchr(tail.p, '.', tail.n)) return true;
  for (int i = 0; i < CEL_COUNT(ends); i++) {
    size_t n = strlen(ends[i].from);
    if (cel_str_ends(tail, cel_str_of(ends[i].from))) return put(name, bytes, rest + tail.n - n, n, ends[i].to);
  }
  return true;
}

bool cel_name_of_experts(const char *name, bool tensor, char *out, size_t bytes, int64_t *expert) {
  static const char stack[] = ".experts.";
  *expert = -1;
  if (strlen(name) >= bytes) return false;
  memcpy(out, name, strlen(name) + 1);
  for (int i = 0; i < CEL_COUNT(segments); i++) {
    char *at = find_segments(out, segments[i].from);
    if (at && !put(out, bytes, at, strlen(segments[i].from), segments[i].to)) return false;
  }
  char *rest = strstr(out, stack);
  if (rest) {
    rest += strlen(stack);
    size_t used;
    *expert = number_of(rest, &used);
    if (*expert >= 0) memmove(rest, rest + used, strlen(rest + used) + 1);
    if (!rename_projection(out, bytes, rest, tensor)) return false;
  }
  return strcmp(out, name) != 0;
}

// ---- stacks ----------------------------------------------------------------------------------------

typedef struct named {
  const char *name;
  int64_t expert;  // -1: no part of a stack
  const cel_tensor *tensor;
} named;

static int by_name_and_expert(const void *a, const void *b) {
  const named *x = a, *y = b;
  int order = strcmp(x->name, y->name);
  return order ? order : (x->expert > y->expert) - (x->expert < y->expert);
}

static bool alike(const cel_tensor *a, const cel_tensor *b) {
  return a->dtype == b->dtype && a->rank == b->rank && a->bytes == b->bytes &&
         memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

// What is wrong with `here`, which stands where expert `want` should be.
static cel_status bad_expert(const named *first, const named *here, int64_t want, cel_err *err) {
  const cel_tensor *a = first->tensor, *b = here->tensor;
  if (here->expert < want) {
    return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\": expert %lld is there twice", b->file,
                    cel_show(cel_str_of(b->name)).text, (long long)here->expert);
  }
  if (here->expert > want) {
    return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" is there, the one of expert %lld is missing", b->file,
                    cel_show(cel_str_of(b->name)).text, (long long)want);
  }
  return cel_fail(
      err, CEL_MALFORMED, "%s: tensor \"%s\" is %s %s, that of expert %lld is %s %s; experts are of one shape and type",
      b->file, cel_show(cel_str_of(b->name)).text, cel_dtype_of(b->dtype)->name, cel_show_dims(b->dims, b->rank).text,
      (long long)first->expert, cel_dtype_of(a->dtype)->name, cel_show_dims(a->dims, a->rank).text);
}

// Experts 0 .. n - 1 of one name.
static cel_status stack(cel_arena *arena, const named *group, int64_t n, cel_tensor *out, cel_err *err) {
  const cel_tensor *first = group->tensor;
  for (int64_t i = 0; i < n; i++) {
    if (group[i].expert != i || !alike(first, group[i].tensor)) return bad_expert(group, &group[i], i, err);
  }
  const void **parts = CEL_NEW_ARRAY(arena, const void *, n);
  if (!parts) return cel_fail_oom(err, group->name);
  *out = *first;
  out->name = group->name;
  if (n > EXPERTS_MOST || first->rank >= CEL_TENSOR_MAX_RANK || !cel_mul_i64(first->bytes, n, &out->bytes)) {
    return cel_fail(err, CEL_MALFORMED, "%s: %lld experts of %s %s are too many for one stack", first->file,
                    (long long)n, cel_show(cel_str_of(group->name)).text, cel_show_dims(first->dims, first->rank).text);
  }
  memmove(out->dims + 1, out->dims, (size_t)first->rank * sizeof *out->dims);
  out->dims[0] = n;
  out->rank++;
  for (int64_t i = 0; i < n; i++) parts[i] = group[i].tensor->data;
  out->parts = parts;
  out->data = NULL;
  return CEL_OK;
}

static bool is_plain(cel_dtype t) { return t == CEL_DT_F32 || t == CEL_DT_F16 || t == CEL_DT_BF16; }

// gpt-oss: 16-bit stacks are [E, in, out]; blocks of 32 4-bit floats are [E, out, in / 32, 16 bytes], the very words
// that MLX has for them.
static void turn_gpt_oss(const char *raw, bool gpt_oss, cel_tensor *t) {
  cel_str name = cel_str_of(raw);
  if (cel_str_ends(name, CEL_STR("_blocks")) && t->rank == 4 && t->dtype == CEL_DT_U8 && t->dims[3] == 16) {
    t->rank = 3;
    t->dtype = CEL_DT_U32;
    t->dims[2] *= 4;
  } else if (gpt_oss && cel_str_ends(name, CEL_STR("_proj")) && t->rank == 3 && is_plain(t->dtype)) {
    int64_t columns = t->dims[1];
    t->dims[1] = t->dims[2];
    t->dims[2] = columns;
    t->swapped = true;
  }
}

static bool is_gpt_oss(const cel_json *config) {
  const char *type = cel_json_string(config, "model_type", "");
  return !strcmp(type, "gpt_oss") ||
         !strcmp(cel_json_string(cel_json_get(config, "text_config"), "model_type", ""), "gpt_oss");
}

// The canonical names of all tensors, sorted; *changed: there is something to do.
static cel_status name_all(cel_checkpoint *c, named *all, bool *changed, cel_err *err) {
  cel_tensor_list *l = &c->priv->list;
  char name[NAME_MOST];
  for (int64_t i = 0; i < l->n; i++) {
    all[i] = (named){l->items[i].name, -1, &l->items[i]};
    if (!cel_name_of_experts(l->items[i].name, true, name, sizeof name, &all[i].expert)) {
      all[i].expert = -1;
      continue;
    }
    *changed = true;
    all[i].name = cel_arena_dup(&c->priv->arena, name, strlen(name));
    if (!all[i].name) return cel_fail_oom(err, "tensor names");
  }
  if (l->n) qsort(all, (size_t)l->n, sizeof *all, by_name_and_expert);
  return CEL_OK;
}

static cel_status gather(cel_checkpoint *c, const named *all, int64_t n, cel_tensor *items, int64_t *n_items,
                         cel_err *err) {
  bool gpt_oss = is_gpt_oss(c->config);
  *n_items = 0;
  for (int64_t i = 0, end; i < n; i = end) {
    cel_tensor *t = &items[(*n_items)++];
    for (end = i + 1; all[i].expert >= 0 && end < n && !strcmp(all[end].name, all[i].name);) end++;
    if (all[i].expert >= 0) {
      CEL_TRY(stack(&c->priv->arena, all + i, end - i, t, err));
      continue;
    }
    *t = *all[i].tensor;
    t->name = all[i].name;
    turn_gpt_oss(all[i].tensor->name, gpt_oss, t);
  }
  return CEL_OK;
}

cel_status cel_checkpoint_stack_experts(cel_checkpoint *c, cel_err *err) {
  cel_tensor_list *l = &c->priv->list;
  bool changed = false;
  named *all = malloc(((size_t)l->n + 1) * sizeof *all);
  if (!all) return cel_fail_oom(err, "tensor names");
  cel_status s = name_all(c, all, &changed, err);
  cel_tensor *items = s == CEL_OK && changed ? malloc(((size_t)l->n + 1) * sizeof *items) : NULL;
  if (s == CEL_OK && changed && !items) s = cel_fail_oom(err, "tensors");
  int64_t n = 0;
  if (items) s = gather(c, all, l->n, items, &n, err);
  free(all);
  if (s != CEL_OK || !items) {
    free(items);
    return s;
  }
  int64_t cap = l->n + 1;
  free(l->items);
  l->items = items;
  l->n = n;
  l->cap = cap;
  return cel_tensor_list_sort(l, err);
}

// ---- reading ---------------------------------------------------------------------------------------

const void *cel_tensor_row(const cel_tensor *t, int64_t r, int64_t n_rows) {
  int64_t row = t->bytes / n_rows;
  if (!t->parts) return (const uint8_t *)t->data + r * row;
  int64_t per_part = n_rows / t->dims[0];
  return (const uint8_t *)t->parts[r / per_part] + r % per_part * row;
}

// [in, out] -> [out, in] of one matrix.
static void turn(const uint8_t *from, int64_t rows, int64_t cols, int item, uint8_t *to) {
  for (int64_t r = 0; r < rows; r++) {
    for (int64_t k = 0; k < cols; k++) memcpy(to + (r * cols + k) * item, from + (k * rows + r) * item, (size_t)item);
  }
}

void cel_tensor_copy(const cel_tensor *t, void *dst) {
  if (!t->parts && !t->swapped) {
    memcpy(dst, t->data, (size_t)t->bytes);
    return;
  }
  int64_t n = t->dims[0], part = t->bytes / n;
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *from = cel_tensor_row(t, i, n);
    uint8_t *to = (uint8_t *)dst + i * part;
    if (t->swapped) turn(from, t->dims[1], t->dims[2], cel_dtype_of(t->dtype)->block_bytes, to);
    else memcpy(to, from, (size_t)part);
  }
}
