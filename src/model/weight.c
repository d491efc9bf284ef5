// Linear and embedding weights: plain matrices, GGUF blocks, MLX's words with scales (and biases).
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "model/checkpoint_private.h"

static const cel_tensor *find_part(const cel_checkpoint *c, const char *module, const char *part) {
  char name[1024];
  int n = snprintf(name, sizeof name, "%s.%s", module, part);
  return n > 0 && (size_t)n < sizeof name ? cel_checkpoint_find(c, name) : NULL;
}

static cel_status bad_tensor(const cel_tensor *t, cel_status status, const char *problem, cel_err *err) {
  return cel_fail(err, status, "%s: tensor \"%s\" (%s %s): %s", t->file, cel_show(cel_str_of(t->name)).text,
                  cel_dtype_of(t->dtype)->name, cel_show_dims(t->dims, t->rank).text, problem);
}

// The two shapes that do not go together.
static cel_status bad_pair(const cel_weight *w, const char *problem, cel_err *err) {
  const cel_tensor *t = w->tensor, *s = w->scales;
  return cel_fail(err, CEL_MALFORMED, "%s: tensor \"%s\" (%s %s) with scales %s %s: %s", t->file,
                  cel_show(cel_str_of(t->name)).text, cel_dtype_of(t->dtype)->name, cel_show_dims(t->dims, t->rank).text,
                  cel_dtype_of(s->dtype)->name, cel_show_dims(s->dims, s->rank).text, problem);
}

static cel_status plain(cel_weight *w, cel_err *err) {
  const cel_tensor *t = w->tensor;
  if (!cel_dtype_of(t->dtype)->widen) {
    return bad_tensor(t, CEL_MALFORMED, t->dtype == CEL_DT_U32 ? "packed words without a .scales tensor beside them"
                                                               : "integers are no weights", err);
  }
  w->cols = t->dims[t->rank - 1];
  return CEL_OK;
}

// In all but, with `but_last`, the last dimension.
static bool same_dims(const cel_tensor *a, const cel_tensor *b, bool but_last) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank - but_last; i++) {
    if (a->dims[i] != b->dims[i]) return false;
  }
  return true;
}

static bool same_shape(const cel_tensor *a, const cel_tensor *b) { return a->dtype == b->dtype && same_dims(a, b, false); }

static int64_t last_dim(const cel_tensor *t) { return t->dims[t->rank - 1]; }

static bool is_float(cel_dtype t) { return t == CEL_DT_F32 || t == CEL_DT_F16 || t == CEL_DT_BF16; }

static bool known_mode(const char *mode) {
  static const char *const modes[] = {"affine", "mxfp4", "mxfp8", "nvfp4"};
  for (int i = 0; i < CEL_COUNT(modes); i++)
    if (!strcmp(mode, modes[i])) return true;
  return false;
}

// Words, scales and biases by themselves, and the config's mode against the scales' type.
static cel_status check_parts(const cel_weight *w, const char *mode, cel_err *err) {
  const cel_tensor *t = w->tensor, *s = w->scales;
  bool bytes = s->dtype == CEL_DT_U8;
  char problem[144];
  if (mode && !known_mode(mode)) {
    snprintf(problem, sizeof problem, "quantization mode \"%.30s\" is not supported; affine, mxfp4, mxfp8 and nvfp4 are", mode);
    return bad_tensor(t, CEL_UNSUPPORTED, problem, err);
  }
  if (mode && bytes != (strcmp(mode, "affine") != 0)) {
    snprintf(problem, sizeof problem, "the config's mode \"%s\" has scales of %s", mode, bytes ? "floats" : "bytes (U8)");
    return bad_pair(w, problem, err);
  }
  if (t->dtype != CEL_DT_U32) return bad_pair(w, "scaled weights are packed in U32 words", err);
  if (s->rank != t->rank || (!bytes && !is_float(s->dtype))) {
    return bad_pair(w, "scales are F32, F16, BF16 or U8, in as many dimensions as the weight", err);
  }
  if (bytes && w->biases) return bad_pair(w, "scales of bytes go without biases", err);
  if (!bytes && (!w->biases || !same_shape(s, w->biases))) {
    return bad_pair(w, "biases of the scales' type and shape are needed", err);
  }
  if (!same_dims(s, t, true) || last_dim(s) < 1) return bad_pair(w, "both need the same rows, and groups", err);
  return CEL_OK;
}

static bool known_bits(int64_t b) { return (b >= 2 && b <= 6) || b == 8; }
static bool known_group(int64_t g) { return g == 32 || g == 64 || g == 128; }

static cel_status bits_per_group(const cel_weight *w, int64_t *out, cel_err *err) {
  int64_t stream, groups = last_dim(w->scales);
  if (!cel_mul_i64(last_dim(w->tensor), 32, &stream) || stream % groups != 0 || stream / groups > 8 * 128) {
    return bad_pair(w, "the words of a row do not divide into its groups", err);
  }
  *out = stream / groups;
  return CEL_OK;
}

static cel_status accept(cel_weight *w, const char *mode, int64_t bits, int64_t group, cel_err *err) {
  w->mode = mode;
  w->bits = (int)bits;
  w->group = (int)group;
  return cel_mul_i64(last_dim(w->scales), group, &w->cols) ? CEL_OK : bad_pair(w, "too many columns", err);
}

// A group of g elements of b bits takes words * 32 / groups bits. What the config leaves open follows from
// that; what it says must agree.
static cel_status fit_affine(cel_weight *w, cel_quantization q, int64_t per_group, cel_err *err) {
  char problem[160];
  int64_t group = q.group, bits = q.bits;
  if (!group) group = known_bits(bits) ? per_group / bits : 64;
  if (!bits && known_group(group)) bits = per_group / group;
  if (known_group(group) && known_bits(bits) && bits * group == per_group) return accept(w, "affine", bits, group, err);
  snprintf(problem, sizeof problem, "%lld bits per group; the config's %lld bits in groups of %lld take %lld (2 to 6 and "
           "8 bits, groups of 32, 64, 128 are known)", (long long)per_group, (long long)bits, (long long)group,
           known_bits(bits) && known_group(group) ? (long long)(bits * group) : -1LL);
  return bad_pair(w, problem, err);
}

// The three floating modes differ in the bits of a group.
static cel_status fit_micro(cel_weight *w, cel_quantization q, int64_t per_group, cel_err *err) {
  int bits = per_group == 256 ? 8 : 4, group = per_group == 64 ? 16 : 32;
  const char *mode = bits * group == per_group ? cel_micro_name(bits, group) : NULL;
  if (mode && (!q.mode || !strcmp(q.mode, mode)) && (!q.bits || q.bits == bits) && (!q.group || q.group == group)) {
    return accept(w, mode, bits, group, err);
  }
  char problem[224];
  snprintf(problem, sizeof problem, "%lld bits per group; the config says %.30s with %lld bits in groups of %lld (mxfp4 has 4 "
           "in 32, mxfp8 8 in 32, nvfp4 4 in 16)", (long long)per_group, q.mode ? q.mode : "no mode", (long long)q.bits,
           (long long)q.group);
  return bad_pair(w, problem, err);
}

// Bytes of E4M3 as words, and the scales that fp8.c spread.
static cel_status fit_fp8(cel_weight *w, cel_err *err) {
  const cel_tensor *t = w->tensor, *s = w->scales;
  int64_t cols, groups = s->rank > 0 ? last_dim(s) : 0;
  if (t->dtype != CEL_DT_U32 || s->dtype != CEL_DT_F32 || !same_dims(s, t, true) || groups < 1 ||
      !cel_mul_i64(last_dim(t), 4, &cols) || cols % groups != 0 || !known_group(cols / groups)) {
    return bad_pair(w, "words of eight-bit floats go with F32 scales for groups of 32, 64 or 128", err);
  }
  return accept(w, "fp8", 8, cols / groups, err);
}

static cel_status fit(cel_weight *w, cel_quantization q, cel_err *err) {
  int64_t per_group;
  CEL_TRY(check_parts(w, q.mode, err));
  CEL_TRY(bits_per_group(w, &per_group, err));
  return w->biases ? fit_affine(w, q, per_group, err) : fit_micro(w, q, per_group, err);
}

cel_status cel_checkpoint_weight(const cel_checkpoint *c, const char *module, cel_weight *out, cel_err *err) {
  cel_weight w = {.tensor = find_part(c, module, "weight"), .scales = find_part(c, module, "scales"),
                  .biases = find_part(c, module, "biases")};
  if (!w.tensor) {
    return cel_fail(err, CEL_NOT_FOUND, "%s: tensor \"%s.weight\" is missing", c->path, cel_show(cel_str_of(module)).text);
  }
  w.name = c->priv->modules[w.tensor - c->tensors];
  const cel_tensor *t = w.tensor;
  if ((t->rank != 2 && t->rank != 3) || t->bytes == 0) return bad_tensor(t, CEL_MALFORMED, "a matrix or a stack of them is needed", err);
  w.experts = t->rank == 3 ? t->dims[0] : 0;
  w.rows = t->dims[t->rank - 2];
  if (w.scales) {
    const cel_tensor *global = w.experts ? NULL : find_part(c, module, "global_scale");
    if (global) return bad_tensor(global, CEL_UNSUPPORTED, "a scale of the whole matrix is not supported", err);
    bool fp8 = c->priv->fp8 && !w.biases;
    CEL_TRY(fp8 ? fit_fp8(&w, err) : fit(&w, cel_checkpoint_quantization_of(c, module), err));
  } else {
    CEL_TRY(plain(&w, err));
  }
  *out = w;
  return CEL_OK;
}

bool cel_checkpoint_has_matrix(void *checkpoint, const char *module) {
  cel_weight unused;
  cel_err err = {0};
  return cel_checkpoint_weight(checkpoint, module, &unused, &err) != CEL_NOT_FOUND;
}

cel_status cel_checkpoint_floats(const cel_checkpoint *c, const char *name, const cel_tensor **out, int64_t *n, cel_err *err) {
  const cel_tensor *t = cel_checkpoint_find(c, name);
  if (!t) return cel_fail(err, CEL_NOT_FOUND, "%s: the tensor %s is missing", c->path, name);
  if (!is_float(t->dtype)) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s must be of F32, F16 or BF16, it is %s", t->file, name,
                    cel_dtype_of(t->dtype)->name);
  }
  *n = 1;
  for (int i = 0; i < t->rank; i++) *n *= t->dims[i];  // counted when the file was opened
  *out = t;
  return CEL_OK;
}

// Row r of a stack whose file has columns where rows should be.
static void swapped_row(const cel_weight *w, int64_t r, float *dst) {
  const cel_dtype_traits *t = cel_dtype_of(w->tensor->dtype);
  int64_t rows = w->tensor->dims[1];  // of one matrix; w->rows may be those of all
  const uint8_t *expert = cel_tensor_row(w->tensor, r / rows, w->tensor->dims[0]);
  for (int64_t i = 0; i < w->cols; i++) t->widen(expert + (i * rows + r % rows) * t->block_bytes, dst + i, 1);
}

void cel_weight_row(const cel_weight *w, int64_t r, float *dst) {
  int64_t n = w->rows * CEL_MAX(w->experts, 1);
  if (w->tensor->swapped) {
    swapped_row(w, r, dst);
    return;
  }
  const void *data = cel_tensor_row(w->tensor, r, n);
  if (!w->scales) {
    cel_dtype_of(w->tensor->dtype)->widen(data, dst, w->cols);
    return;
  }
  const void *scales = cel_tensor_row(w->scales, r, n);
  if (w->scales->dtype == CEL_DT_F32 && !w->biases) {
    cel_fp8_widen(data, scales, w->group, w->cols, dst);
    return;
  }
  if (!w->biases) {
    cel_micro_widen(data, scales, w->bits, w->group, w->cols, dst);
    return;
  }
  cel_affine_widen(data, scales, cel_tensor_row(w->biases, r, n), w->scales->dtype, w->bits, w->group, w->cols, dst);
}
