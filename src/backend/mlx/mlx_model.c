// Loading: device, weights, rows.
#include "backend/mlx/mlx_model.h"

#include <stdlib.h>
#include <string.h>

#include "backend/mlx/mlx_walk.h"
#include "model/arch_of_files.h"

// The type that the checkpoint's floats have; GGUF's blocks have f16 scales.
static cel_mlx_type type_of_floats(const cel_mlx_model *m) {
  char name[200];
  cel_weight w;
  cel_err err = {0};
  if (!cel_arch_weight_name(&m->base.arch, CEL_W_EMBED, -1, name, sizeof name)) return CEL_MLX_F32;
  if (cel_checkpoint_weight(m->checkpoint, name, &w, &err) != CEL_OK) return CEL_MLX_F32;
  cel_dtype t = w.biases ? w.scales->dtype : w.scales ? CEL_DT_BF16 : w.tensor->dtype;
  return t == CEL_DT_F32 ? CEL_MLX_F32 : t == CEL_DT_BF16 ? CEL_MLX_BF16 : CEL_MLX_F16;
}

static cel_mlx_type choose_type(const cel_mlx_model *m, cel_mlx_precision p) {
  switch (p) {
    case CEL_MLX_AS_F32: return CEL_MLX_F32;
    case CEL_MLX_AS_F16: return CEL_MLX_F16;
    case CEL_MLX_AS_BF16: return CEL_MLX_BF16;
    case CEL_MLX_OF_WEIGHTS: break;
  }
  return type_of_floats(m);
}

static int64_t choose_capacity(const cel_arch *a, const cel_load_options *o) {
  int64_t n = o->context > 0 ? o->context : cel_sequence_limit(a);
  return CEL_MIN(n, 1 << 20);
}

static cel_status make_buffers(cel_mlx_model *m, cel_err *err) {
  size_t width = (size_t)CEL_MAX(m->base.arch.head_dim, 1);
  m->angles = calloc((size_t)CEL_MAX(m->base.prefill_chunk, m->base.n_rows) * width, sizeof *m->angles);
  m->freqs = calloc(width, sizeof *m->freqs);
  m->spans = calloc((size_t)m->base.n_rows, sizeof *m->spans);
  m->parts = calloc((size_t)m->base.n_rows, sizeof(arr));
  return m->angles && m->freqs && m->spans && m->parts ? CEL_OK : cel_fail_oom(err, "a model's tables");
}

// On Metal the weights stay where the GPU reads them.
static void keep_resident(const cel_mlx_model *m) {
  if (m->device == CEL_MLX_GPU) cel_mlx_wire(m->mapped_bytes + m->copied_bytes);
}

static cel_status load(cel_mlx_model *m, const cel_load_options *o, cel_err *err) {
  const cel_checkpoint *c = m->checkpoint;
  CEL_TRY(cel_checkpoint_intact(c, cel_checkpoint_touch(c, o->progress, o->progress_context, err), err));
  CEL_TRY(cel_checkpoint_intact(c, cel_mlx_load_weights(m, err), err));
  if (m->n_ranks > 1) CEL_TRY(cel_mlx_shard(m, err));
  keep_resident(m);
  CEL_TRY(cel_sequences_init(&m->base, err));
  CEL_TRY(make_buffers(m, err));
  return cel_mlx_make_rows(m, err);
}

static cel_status check_options(const cel_load_options *o, cel_err *err) {
  if (o->artifact) return cel_fail(err, CEL_UNSUPPORTED, "--artifact: the mlx backend compiles nothing ahead; --backend xla does");
  return CEL_OK;
}

cel_status cel_mlx_load(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                        cel_model_handle **out, cel_err *err) {
  *out = NULL;
  cel_mlx_options x;
  CEL_TRY(check_options(options, err));
  CEL_TRY(cel_mlx_options_read(options->device, &x, err));
  cel_mlx_model *m = calloc(1, sizeof *m);
  if (!m) return cel_fail_oom(err, "a model");
  m->checkpoint = checkpoint;
  m->device = x.device;
  m->n_ranks = CEL_MAX(options->n_devices, 1);
  m->rope_divisors = calloc((size_t)CEL_MAX(arch->head_dim, 1), sizeof *m->rope_divisors);
  cel_status s = m->rope_divisors ? cel_mlx_open(x.device, &m->c, err) : cel_fail_oom(err, "a model");
  if (s == CEL_OK) {
    m->base.run = &cel_mlx_runner;
    m->base.arch = cel_checkpoint_arch(arch, checkpoint, m->rope_divisors);
    m->base.n_rows = options->max_sessions > 0 ? options->max_sessions : 1;
    m->base.prefill_chunk = options->prefill_chunk > 0 ? CEL_MIN(options->prefill_chunk, 1 << 16) : CEL_MLX_PREFILL_CHUNK;
    m->base.capacity = choose_capacity(arch, options);
    m->type = choose_type(m, x.precision);
    if (m->n_ranks > 1) s = cel_mlx_join(m->c, m->n_ranks, &m->rank, err);
    if (s == CEL_OK) s = load(m, options, err);
  }
  if (s != CEL_OK) {
    cel_mlx_unload(&m->base);
    return s;
  }
  *out = &m->base;
  return CEL_OK;
}

void cel_mlx_unload(cel_model_handle *handle) {
  if (!handle) return;
  cel_mlx_model *m = cel_mlx_model_of(handle);
  if (m->c) {
    cel_mlx_end_scope(m->c);
    cel_mlx_release(m->c, m->logits);
    cel_mlx_free_rows(m);
    cel_mlx_release_weights(m);
    cel_mlx_close(m->c);
    cel_mlx_clear_cache();
  }
  cel_sequences_deinit(handle);
  free(m->angles);
  free(m->freqs);
  free(m->spans);
  free(m->parts);
  free(m->rope_divisors);
  free(m);
}
