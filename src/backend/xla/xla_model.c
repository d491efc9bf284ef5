// Loading: engine, weights, cache. Nothing is read from the files but what the first run touches, and that
// is touched here, with progress, so that the first token does not wait for the disk.
#include "backend/xla/xla_model.h"

#include <stdlib.h>
#include <string.h>

#include "backend/xla/xla_artifacts.h"
#include "backend/xla/xla_buckets.h"
#include "backend/xla/xla_options.h"
#include "backend/xla/xla_storage.h"
#include "base/checked.h"
#include "model/arch_of_files.h"

static cel_status head_rows(const cel_xla_model *m, int64_t *rows, cel_err *err) {
  cel_err missing = {0};
  cel_storage s;
  char name[200];
  for (int i = 0; i < 2; i++) {
    cel_weight_role role = i ? CEL_W_EMBED : CEL_W_HEAD;
    if (!cel_arch_weight_name(&m->base.arch, role, -1, name, sizeof name)) continue;
    cel_status status = m->storage.matrix(m->storage.context, name, &s, &missing);
    if (status == CEL_OK) {
      *rows = s.rows;
      return CEL_OK;
    }
    if (status != CEL_NOT_FOUND) break;
  }
  return cel_fail(err, missing.status, "%s", missing.text);
}

static cel_status make_buffers(cel_xla_model *m, cel_err *err) {
  size_t n = (size_t)CEL_MAX(2 * m->base.n_rows, m->base.prefill_chunk);  // twice: rows of padding
  m->weights = calloc((size_t)m->checkpoint->n_tensors + 1, sizeof *m->weights);
  m->positions = calloc(n, sizeof *m->positions);
  m->slots = calloc(n, sizeof *m->slots);
  m->tokens = calloc(n, sizeof *m->tokens);
  m->bucket_of = malloc((size_t)m->base.n_rows);
  bool several = m->n_buckets > 1 && m->base.n_rows > 1;
  int64_t logits_bytes = 0;
  if (several && cel_mul_i64(m->base.n_rows * (int64_t)sizeof(float), m->base.vocab, &logits_bytes)) m->logits = malloc((size_t)logits_bytes);
  bool ok = m->weights && m->positions && m->slots && m->tokens && m->bucket_of && (!several || m->logits);
  if (m->bucket_of) memset(m->bucket_of, -1, (size_t)m->base.n_rows);
  for (int i = 0; i < m->base.arch.n_ropes && ok; i++) {
    if (!cel_rope_depends_on_length(&m->base.arch.ropes[i])) continue;
    m->rope_freqs[i] = calloc(n * (size_t)cel_rope_columns(&m->base.arch.ropes[i]), sizeof(float));
    ok = m->rope_freqs[i] != NULL;
  }
  return ok ? CEL_OK : cel_fail_oom(err, "a model's tables");
}

// How keys and values are kept: as asked for, else by the precision of products.
static cel_emit_kv kept_as(const char *asked, const char *precision) {
  static const char *const words[CEL_EMIT_KV_KINDS] = {"f32", "f16", "i16", "i8"};
  for (int i = 0; i < CEL_EMIT_KV_KINDS; i++) {
    if (!strcmp(asked, words[i])) return (cel_emit_kv)i;
  }
  if (!strcmp(precision, "i16") || !strcmp(precision, "i8")) return CEL_EMIT_KV_I16;
  return strcmp(precision, "f32") != 0 ? CEL_EMIT_KV_F16 : CEL_EMIT_KV_F32;
}

static cel_status open_engine(cel_xla_model *m, const cel_load_options *o, const cel_xla_options *x, cel_err *err) {
  const char *rest;
  CEL_TRY(cel_engine_find(o->device ? o->device : x->device, &m->driver, &rest, err));
  if (m->n_devices > 1 && !m->driver->upload_split) {
    return cel_fail(err, CEL_UNSUPPORTED, "the engine %s runs on one device, %d are asked for", m->driver->name, m->n_devices);
  }
  CEL_TRY(cel_emit_check_devices(&m->base.arch, m->n_devices, err));
  CEL_TRY(cel_xla_open_artifacts(m, o, x, err));
  cel_engine_options engine = {.device = rest, .precision = x->precision, .n_threads = o->n_threads, .n_devices = m->n_devices,
                               .plugin_folders = x->plugin_folders, .plugin_options = x->plugin_options,
                               .compiler = x->compiler, .rocm_target = x->rocm_target, .artifacts = m->artifacts};
  CEL_TRY(m->driver->open(&engine, &m->engine, err));
  cel_engine_description d;
  m->driver->describe(m->engine, &d);
  m->widened = !m->driver->quick_compile && !x->packed;
  if (m->widened) m->storage = cel_xla_storage_widened(m->checkpoint);
  m->kv = kept_as(x->kv_cache, d.precision);
  bool kernels = m->driver->quick_compile;  // composites run as kernels there, which no precision of products concerns
  m->dots = kernels                       ? CEL_HLO_DOTS_PLAIN
            : !strcmp(d.precision, "f16")  ? CEL_HLO_DOTS_F16
            : !strcmp(d.precision, "bf16") ? CEL_HLO_DOTS_BF16
                                           : CEL_HLO_DOTS_F32;
  return CEL_OK;
}

// Emitting and compiling the smallest program checks every tensor's presence and shape at load.
static cel_status check_weights(cel_xla_model *m, cel_err *err) {
  cel_xla_program *p;
  return cel_xla_program_for(m, 0, CEL_ENTRY_DECODE, 1, CEL_LOGITS_ALL, &p, err);
}

cel_status cel_xla_load(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                        cel_model_handle **out, cel_err *err) {
  *out = NULL;
  cel_xla_options x;
  CEL_TRY(cel_xla_options_read(&x, err));
  return cel_xla_load_with(arch, checkpoint, options, &x, true, out, err);
}

cel_status cel_xla_load_with(const cel_arch *arch, const cel_checkpoint *checkpoint, const cel_load_options *options,
                             const cel_xla_options *x, bool check, cel_model_handle **out, cel_err *err) {
  *out = NULL;
  cel_xla_model *m = calloc(1, sizeof *m);
  if (!m) return cel_fail_oom(err, "a model");
  m->base.run = &cel_xla_runner;
  m->checkpoint = checkpoint;
  m->rope_divisors = calloc((size_t)arch->head_dim, sizeof *m->rope_divisors);
  if (!m->rope_divisors) {
    free(m);
    return cel_fail_oom(err, "a model");
  }
  m->base.arch = cel_checkpoint_arch(arch, checkpoint, m->rope_divisors);
  m->storage = cel_xla_storage(checkpoint);
  m->n_devices = options->n_devices > 1 ? options->n_devices : 1;
  m->capacity_given = x->capacity > 0 || x->n_buckets > 0 || options->context > 0;
  m->base.n_rows = options->max_sessions > 0 ? options->max_sessions : 1;
  m->base.prefill_chunk = options->prefill_chunk > 0 ? CEL_MIN(options->prefill_chunk, 1 << 16) : CEL_XLA_PREFILL_CHUNK;
  cel_status s = head_rows(m, &m->base.vocab, err);
  if (s == CEL_OK) s = open_engine(m, options, x, err);
  if (s == CEL_OK) s = cel_xla_choose_buckets(m, options, x, err);
  bool make = false;
  if (s == CEL_OK) s = cel_xla_settle_artifacts(m, options, &make, err);
  if (s == CEL_OK) s = cel_sequences_init(&m->base, err);
  if (s == CEL_OK) s = make_buffers(m, err);
  if (s == CEL_OK) s = cel_xla_bucket_open(m, 0, err);
  if (s == CEL_OK && check) s = check_weights(m, err);
  if (s == CEL_OK && make) s = cel_xla_make_artifacts(m, options, err);
  if (s == CEL_OK) s = cel_checkpoint_intact(checkpoint, cel_checkpoint_touch(checkpoint, options->progress, options->progress_context, err), err);
  if (s != CEL_OK) {
    cel_xla_unload(&m->base);
    return s;
  }
  *out = &m->base;
  return CEL_OK;
}

void cel_xla_program_drop(cel_xla_model *m, cel_xla_program *p) {
  if (!p) return;
  m->driver->discard(p->executable);
  cel_program_free(p->program);
  free(p->inputs);
  free(p->states);
  free(p->results);
  free(p);
}

void cel_xla_unload(cel_model_handle *handle) {
  if (!handle) return;
  cel_xla_model *m = cel_xla_model_of(handle);
  for (int i = 0; i < CEL_XLA_PROGRAMS_MOST; i++) cel_xla_program_drop(m, m->programs[i]);
  for (int64_t i = 0; m->weights && i < m->checkpoint->n_tensors; i++) m->driver->release(m->weights[i]);
  if (m->engine) {
    cel_xla_buckets_release(m);
    m->driver->close(m->engine);
  }
  cel_artifact_close(m->artifacts);
  for (int i = 0; i < CEL_ARCH_MAX_ROPES; i++) free(m->rope_freqs[i]);
  free(m->weights);
  free(m->positions);
  free(m->slots);
  free(m->tokens);
  free(m->bucket_of);
  free(m->logits);
  cel_sequences_deinit(handle);
  free(m->rope_divisors);
  free(m);
}

// ---- programs --------------------------------------------------------------------------------------

// The buffer of a checkpoint's tensor, uploaded once, shared by all programs.
static cel_status weight_buffer(cel_xla_model *m, const cel_param *param, cel_buffer **out, cel_err *err) {
  const cel_tensor *t = cel_checkpoint_find(m->checkpoint, param->name);
  if (!t) return cel_fail(err, CEL_NOT_FOUND, "%s: the tensor %s is missing", m->checkpoint->path, param->name);
  bool widen = m->widened && t->bytes != cel_hlo_bytes(param->type);
  if (!widen && t->bytes != cel_hlo_bytes(param->type)) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s has %lld bytes, the program expects %lld", t->file, t->name,
                    (long long)t->bytes, (long long)cel_hlo_bytes(param->type));
  }
  cel_buffer **slot = &m->weights[t - m->checkpoint->tensors];
  if (!*slot) {
    if (widen) CEL_TRY(cel_xla_upload_widened(m->driver, m->engine, param->type, param->shard, m->checkpoint, param->name, slot, err));
    else CEL_TRY(cel_xla_upload(m->driver, m->engine, param->type, param->shard, t, slot, err));
    int64_t bytes = cel_hlo_bytes(param->type);
    m->weights_bytes += bytes;
    m->weights_device_bytes += param->shard < 0 ? bytes : bytes / m->n_devices;
  }
  *out = *slot;
  return CEL_OK;
}

static cel_status compile(cel_xla_model *m, cel_xla_program *p, cel_err *err) {
  int n = p->program->n_params;
  cel_buffer **weights = calloc((size_t)n + 1, sizeof *weights);
  cel_status s = weights ? CEL_OK : cel_fail_oom(err, "a program's weights");
  for (int i = 0; s == CEL_OK && i < n; i++) {
    if (p->program->params[i].kind == CEL_PARAM_WEIGHT) s = weight_buffer(m, &p->program->params[i], &weights[i], err);
  }
  if (s == CEL_OK) s = m->driver->compile(m->engine, p->program, weights, &p->executable, err);
  free(weights);
  return s;
}

static cel_status find_params(cel_xla_model *m, cel_xla_program *p, cel_err *err) {
  const cel_program *q = p->program;
  p->inputs = calloc((size_t)q->n_params + 1, sizeof *p->inputs);
  p->states = calloc((size_t)q->n_params + 1, sizeof *p->states);
  p->results = calloc((size_t)q->n_results + 1, sizeof *p->results);
  if (!p->inputs || !p->states || !p->results) return cel_fail_oom(err, "a program's arguments");
  p->tokens = cel_program_param(q, "tokens");
  p->positions = cel_program_param(q, "positions");
  p->slots = cel_program_param(q, p->options.entry == CEL_ENTRY_PREFILL ? "slot" : "slots");
  p->last = cel_program_param(q, "last");
  for (int i = 0; i < CEL_STATE_COUNT; i++) p->state[i] = cel_program_param(q, cel_state_shape_of(&m->base.arch, (cel_state)i, 1, 1, m->kv).name);
  static const char *const names[CEL_ARCH_MAX_ROPES] = {"rope_freqs_0", "rope_freqs_1"};
  for (int i = 0; i < CEL_ARCH_MAX_ROPES; i++) p->rope_freqs[i] = cel_program_param(q, names[i]);
  return CEL_OK;
}

cel_status cel_xla_program_make(cel_xla_model *m, const cel_emit_options *options, cel_hlo_module *module,
                                cel_xla_program **out, cel_err *err) {
  *out = NULL;
  if (!module) CEL_TRY(cel_emit_text(&m->base.arch, &m->storage, options, &module, err));
  cel_xla_program *p = calloc(1, sizeof *p);
  if (!p) {
    cel_hlo_module_free(module);
    return cel_fail_oom(err, "a program");
  }
  p->options = *options;
  p->bucket = cel_xla_bucket_of_capacity(m, options->capacity);
  cel_status s = cel_program_new(module, NULL, &p->program, err);
  if (s == CEL_OK) s = find_params(m, p, err);
  if (s == CEL_OK) s = compile(m, p, err);
  if (s != CEL_OK) {
    cel_xla_program_drop(m, p);
    return s;
  }
  *out = p;
  return CEL_OK;
}

cel_status cel_xla_program_for(cel_xla_model *m, int bucket, cel_entry entry, int64_t tokens, cel_emit_logits logits,
                               cel_xla_program **out, cel_err *err) {
  int oldest = 0;
  m->clock++;
  for (int i = 0; i < CEL_XLA_PROGRAMS_MOST; i++) {
    cel_xla_program *p = m->programs[i];
    if (p && p->bucket == bucket && p->options.entry == entry && p->options.tokens == tokens && p->options.logits == logits) {
      p->last_used = m->clock;
      *out = p;
      return CEL_OK;
    }
    cel_xla_program *q = m->programs[oldest];
    if (q && (!p || p->last_used < q->last_used)) oldest = i;
  }
  cel_emit_options options = {.entry = entry, .tokens = tokens, .rows = m->base.n_rows, .capacity = m->buckets[bucket].capacity, .logits = logits,
                              .devices = m->n_devices, .dots = m->dots, .kv = m->kv};
  cel_xla_program *made;
  CEL_TRY(cel_xla_program_make(m, &options, NULL, &made, err));
  made->last_used = m->clock;
  cel_xla_program_drop(m, m->programs[oldest]);
  m->programs[oldest] = made;
  *out = made;
  return CEL_OK;
}

// Frequencies of length-dependent tables, one row per token: a prompt's keys take the length of the whole
// prompt, a decoded one that of its own position (text-architectures §4.7).
static void fill_rope(cel_xla_model *m, const cel_xla_program *p, const int32_t *positions, int64_t length) {
  for (int i = 0; i < m->base.arch.n_ropes; i++) {
    if (!m->rope_freqs[i]) continue;
    int64_t half = m->base.arch.ropes[i].dims / 2, columns = cel_rope_columns(&m->base.arch.ropes[i]);
    for (int64_t t = 0; t < p->options.tokens; t++) {
      float amplitude, *row = m->rope_freqs[i] + t * columns;
      if (t && length) {
        memcpy(row, m->rope_freqs[i], (size_t)columns * sizeof(float));
      } else {
        cel_rope_frequencies(&m->base.arch.ropes[i], length ? length : positions[t] + 1, row, &amplitude);
        if (columns > half) row[half] = amplitude;
      }
    }
  }
}

cel_status cel_xla_run(cel_xla_model *m, cel_xla_program *p, const int32_t *tokens, const int32_t *positions,
                       const int32_t *slots, int32_t last, int64_t length, const float **logits, cel_err *err) {
  fill_rope(m, p, positions, length);
  p->inputs[p->tokens] = tokens;
  p->inputs[p->positions] = positions;
  p->inputs[p->slots] = slots;
  if (p->last >= 0) p->inputs[p->last] = &last;
  for (int i = 0; i < m->base.arch.n_ropes; i++) {
    if (p->rope_freqs[i] >= 0) p->inputs[p->rope_freqs[i]] = m->rope_freqs[i];
  }
  if (p->bucket >= 0) CEL_TRY(cel_xla_bucket_open(m, p->bucket, err));
  for (int i = 0; p->bucket >= 0 && i < CEL_STATE_COUNT; i++) {
    if (p->state[i] >= 0) p->states[p->state[i]] = m->buckets[p->bucket].states[i];
  }
  cel_status s = m->driver->execute(p->executable, p->states, p->inputs, p->results, err);
  CEL_TRY(cel_checkpoint_intact(m->checkpoint, s, err));  // weights are read where they are mapped
  if (logits) *logits = p->results[0];
  return CEL_OK;
}
