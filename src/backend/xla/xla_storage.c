#include "backend/xla/xla_storage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static cel_status upload(const cel_engine_driver *driver, cel_engine *engine, const cel_hlo_type *type, int shard,
                         const void *host, bool lent, cel_buffer **out, cel_err *err) {
  if (shard < 0) return driver->upload(engine, type, host, lent, out, err);
  return driver->upload_split(engine, type, shard, host, lent, out, err);
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
