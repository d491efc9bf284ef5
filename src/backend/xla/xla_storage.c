#include "backend/xla/xla_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static bool plain_etype(cel_dtype t, cel_etype *out) {
  *out = t == CEL_DT_F16 ? CEL_ET_F16 : t == CEL_DT_BF16 ? CEL_ET_BF16 : CEL_ET_F32;
  return t == CEL_DT_F16 || t == CEL_DT_BF16 || t == CEL_DT_F32;
}

static cel_status matrix(void *context, const char *module, cel_storage *out, cel_err *err) {
  cel_weight w;
  CEL_TRY(cel_checkpoint_weight(context, module, &w, err));
  const cel_dtype_traits *t = cel_dtype_of(w.tensor->dtype);
  *out = (cel_storage){.format = t->name, .rows = w.rows, .cols = w.cols, .experts = w.experts};
  cel_etype type;
  if (w.scales) {
    out->format = w.mode;
    out->bits = w.bits;
    out->group = w.group;
    if (!plain_etype(w.scales->dtype, &out->scale_type)) out->scale_type = CEL_ET_UI8;
    return CEL_OK;
  }
  if (plain_etype(w.tensor->dtype, &type)) return CEL_OK;
  if (t->block > 1) {
    out->row_bytes = w.cols / t->block * t->block_bytes;
    return CEL_OK;
  }
  return cel_fail(err, CEL_UNSUPPORTED, "%s: %s.weight is stored as %s, which no graph form reads", w.tensor->file, module, t->name);
}

static cel_status vector(void *context, const char *name, cel_etype *type, int64_t *n, cel_err *err) {
  const cel_tensor *t;
  CEL_TRY(cel_checkpoint_floats(context, name, &t, n, err));
  plain_etype(t->dtype, type);
  return CEL_OK;
}

cel_storage_source cel_xla_storage(const cel_checkpoint *checkpoint) {
  return (cel_storage_source){(void *)(uintptr_t)checkpoint, matrix, vector};
}

static cel_status widened_matrix(void *context, const char *module, cel_storage *out, cel_err *err) {
  CEL_TRY(matrix(context, module, out, err));
  if (out->group == 0 && out->row_bytes == 0) return CEL_OK;
  if (out->experts > 0 && out->group > 0 && !strcmp(out->format, "nvfp4")) return CEL_OK;
  *out = (cel_storage){.format = "F32", .rows = out->rows, .cols = out->cols, .experts = out->experts};
  return CEL_OK;
}

cel_storage_source cel_xla_storage_widened(const cel_checkpoint *checkpoint) {
  return (cel_storage_source){(void *)(uintptr_t)checkpoint, widened_matrix, vector};
}

static cel_status widen(const cel_checkpoint *checkpoint, const char *name, float **out, int64_t *bytes, cel_err *err) {
  char module[256];
  cel_weight w;
  int64_t rows;
  size_t n = strlen(name), tail = strlen(".weight");
  if (n <= tail || n - tail >= sizeof module || strcmp(name + n - tail, ".weight") != 0) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s has another size than the program expects", checkpoint->path, name);
  }
  memcpy(module, name, n - tail);
  module[n - tail] = 0;
  CEL_TRY(cel_checkpoint_weight(checkpoint, module, &w, err));
  bool fits = cel_mul_i64(w.rows, CEL_MAX(w.experts, 1), &rows) && cel_mul_i64(rows, w.cols, bytes) && cel_mul_i64(*bytes, 4, bytes);
  if (!fits) return cel_fail(err, CEL_TOO_LONG, "%s: widened to f32, %s has more bytes than can be counted", checkpoint->path, name);
  *out = malloc((size_t)*bytes + 1);
  if (!*out) return cel_fail_oom(err, name);
  for (int64_t r = 0; r < rows; r++) cel_weight_row(&w, r, *out + r * w.cols);
  return CEL_OK;
}

static cel_status upload(const cel_engine_driver *driver, cel_engine *engine, const cel_hlo_type *type, int shard,
                         const void *host, bool lent, cel_buffer **out, cel_err *err) {
  if (shard < 0) return driver->upload(engine, type, host, lent, out, err);
  return driver->upload_split(engine, type, shard, host, lent, out, err);
}

cel_status cel_xla_upload_widened(const cel_engine_driver *driver, cel_engine *engine, const cel_hlo_type *type, int shard,
                                  const cel_checkpoint *checkpoint, const char *name, cel_buffer **out, cel_err *err) {
  float *wide;
  int64_t bytes;
  CEL_TRY(widen(checkpoint, name, &wide, &bytes, err));
  cel_status s = bytes == cel_hlo_bytes(type) ? CEL_OK : cel_fail(err, CEL_MALFORMED, "%s: %s widened to f32 has %lld bytes, the program "
                                                                  "expects %lld", checkpoint->path, name, (long long)bytes, (long long)cel_hlo_bytes(type));
  if (s == CEL_OK) s = upload(driver, engine, type, shard, wide, false, out, err);
  free(wide);
  return s;
}

cel_status cel_xla_upload(const cel_engine_driver *driver, cel_engine *engine, const cel_hlo_type *type, int shard,
                          const cel_tensor *t, cel_buffer **out, cel_err *err) {
  if (t->parts && !t->swapped && shard < 0 && driver->upload_parts) {
    return driver->upload_parts(engine, type, t->parts, t->dims[0], out, err);
  }
  if (!t->parts && !t->swapped) return upload(driver, engine, type, shard, t->data, true, out, err);
  void *copy = malloc((size_t)t->bytes + 1);
  if (!copy) return cel_fail_oom(err, t->name);
  cel_tensor_copy(t, copy);
  cel_status s = upload(driver, engine, type, shard, copy, false, out, err);
  free(copy);
  return s;
}
