// The mlx backend's table, and how it runs tokens: a walk for each chunk of a prompt, one for all sessions of a step.
#include <stdlib.h>
#include <string.h>

#include "backend/mlx/mlx_walk.h"

static const cel_mlx_model *model_of(const cel_model_handle *m) { return (const cel_mlx_model *)(const void *)m; }

static cel_status mlx_probe(cel_err *err) {
  CEL_TRY(cel_mlx_check_version(cel_mlx_version(), cel_mlx_built_for(), err));
  if (cel_mlx_available(CEL_MLX_GPU) || cel_mlx_available(CEL_MLX_CPU)) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "MLX %s has no device here", cel_mlx_version());
}

static const char *mlx_reservation(void) {
  return cel_mlx_available(CEL_MLX_GPU) ? NULL : "MLX has no GPU here, and its CPU device is for checking results, not for speed";
}

static void mlx_describe(const cel_model_handle *m, cel_description *out) {
  static const char *const types[] = {[CEL_MLX_F32] = "f32", [CEL_MLX_F16] = "f16", [CEL_MLX_BF16] = "bf16"};
  *out = (cel_description){.backend = "mlx", .engine = "mlx", .device = cel_mlx_device_name(model_of(m)->device),
                           .precision = types[model_of(m)->type], .isa = cel_mlx_version()};
}

static void mlx_memory(const cel_model_handle *m, cel_memory_report *out) {
  const cel_mlx_model *x = model_of(m);
  cel_mlx_memory all;
  cel_mlx_memory_of(&all);
  int64_t kv = cel_mlx_state_bytes(x);
  *out = (cel_memory_report){.weights_bytes = x->mapped_bytes + x->copied_bytes, .kv_bytes = kv,
                             .arena_bytes = CEL_MAX(all.peak - x->copied_bytes - kv, 0)};
}

static int64_t chunk_size(const cel_model_handle *m, int64_t n, int64_t most) {
  (void)m;
  return CEL_MIN(n, most);
}

// Computes the logits (NULL: none are wanted) and what the walks left in the rows.
static cel_status evaluate(cel_mlx_model *m, arr logits, const int32_t *rows, int n, cel_err *err) {
  int most = cel_mlx_row_most(m), count = 0;
  arr *all = malloc((size_t)(n * most + 1) * sizeof *all);
  if (!all) {
    cel_mlx_end_scope(m->c);
    return cel_fail_oom(err, "a list of arrays");
  }
  cel_mlx_release(m->c, m->logits);
  m->logits = logits ? cel_mlx_keep(m->c, logits) : NULL;
  all[count++] = m->logits;
  for (int i = 0; i < n; i++) count += cel_mlx_row_arrays(m, rows[i], all + count);
  cel_mlx_path(m->c, "%s", "");
  cel_mlx_end_scope(m->c);  // no handle but these: memory is reused on the way, and states are written in place
  cel_status s = cel_mlx_eval(m->c, all, count, logits != NULL, err);
  free(all);
  return cel_checkpoint_intact(m->checkpoint, s, err);  // weights are read where they are mapped
}

// A walk that failed may have written over some layers of a row, and not over others.
static cel_status settle(cel_mlx_model *m, const int32_t *rows, int n, cel_status s) {
  for (int i = 0; s != CEL_OK && i < n; i++) cel_mlx_forget_row(m, rows[i], true);
  return s;
}

static cel_status prefill(cel_model_handle *handle, int row, const int32_t *tokens, int64_t from, int64_t count, int64_t end,
                          cel_sequence_logits want, const float **logits, cel_err *err) {
  cel_mlx_model *m = cel_mlx_model_of(handle);
  int32_t rows[1] = {row};
  cel_mlx_span span = {.row = &m->rows[row], .n = count, .from = from, .length = end};
  arr out = cel_mlx_walk_text(m, &span, 1, tokens, want);
  CEL_TRY(settle(m, rows, 1, evaluate(m, out, rows, 1, err)));
  *logits = out ? cel_mlx_floats(m->logits) : NULL;
  return CEL_OK;
}

static cel_status decode(cel_model_handle *handle, int n, const int32_t *tokens, const int32_t *positions,
                         const int32_t *rows, const float **logits, cel_err *err) {
  cel_mlx_model *m = cel_mlx_model_of(handle);
  for (int i = 0; i < n; i++) {
    m->spans[i] = (cel_mlx_span){.row = &m->rows[rows[i]], .n = 1, .from = positions[i], .length = positions[i] + 1};
  }
  arr all = cel_mlx_walk_text(m, m->spans, n, tokens, CEL_SEQUENCE_LAST);
  CEL_TRY(settle(m, rows, n, evaluate(m, all, rows, n, err)));
  *logits = cel_mlx_floats(m->logits);
  return CEL_OK;
}

static void forget(cel_model_handle *m, int row, bool all) { cel_mlx_forget_row(cel_mlx_model_of(m), row, all); }

static cel_status copy(cel_model_handle *m, int from, int to, int64_t n, cel_err *err) {
  (void)n;  // what lies behind is written before it is read
  return cel_mlx_copy_row(cel_mlx_model_of(m), from, to, err);
}

const cel_sequence_runner cel_mlx_runner = {
    .failure_loses_rows = true, .chunk_size = chunk_size, .prefill = prefill, .decode = decode, .forget = forget, .copy = copy};

const cel_backend cel_backend_mlx = {
    .name = "mlx",
    .summary = "MLX: Metal and CUDA; its CPU device for checking results",
    .reservation = mlx_reservation,
    .probe = mlx_probe,
    .load = cel_mlx_load,
    .unload = cel_mlx_unload,
    .describe = mlx_describe,
    .memory = mlx_memory,
    .context = cel_sequence_context,
    .open = cel_sequence_open,
    .close = cel_sequence_close,
    .prefill = cel_sequence_prefill,
    .step = cel_sequence_step,
    .cancel = cel_sequence_cancel,
    .truncate = cel_sequence_truncate,
    .fork = cel_sequence_fork,
    .length = cel_sequence_length,
    .tokens = cel_sequence_tokens,
    .logits = cel_sequence_logits_of,
};
