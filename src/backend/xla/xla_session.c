// The xla backend's table, and how it runs tokens: chunks of one row of the states, or one token for each of many.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/xla_buckets.h"

static cel_status xla_probe(cel_err *err) {
  const cel_engine_driver *driver;
  const char *rest;
  return cel_engine_find("", &driver, &rest, err);
}

static const char *xla_engine(int i) {
  for (int k = 0; cel_engine_drivers[k]; k++) {
    if (k == i) return cel_engine_drivers[k]->name;
  }
  return NULL;
}

static const cel_xla_model *model_of(const cel_model_handle *m) { return (const cel_xla_model *)(const void *)m; }

static void xla_describe(const cel_model_handle *m, cel_description *out) {
  cel_engine_description e;
  model_of(m)->driver->describe(model_of(m)->engine, &e);
  *out = (cel_description){.backend = "xla", .engine = e.engine, .device = e.device, .precision = e.precision,
                           .isa = e.isa, .n_threads = e.n_threads};
}

static void xla_memory(const cel_model_handle *m, cel_memory_report *out) {
  enum { PAGE = 4096 };
  const cel_xla_model *x = model_of(m);
  cel_engine_description e;
  x->driver->describe(x->engine, &e);
  int64_t kv = 0;
  for (int i = 0; i < m->n_rows; i++) {
    for (int k = 0; m->by_row[i] && k < CEL_STATE_COUNT; k++) {
      cel_state_shape s = cel_state_shape_of(&m->arch, (cel_state)k, m->n_rows, m->capacity, x->kv);
      int64_t bytes = (s.by_position ? m->by_row[i]->n_kv : s.dims[3]) * s.dims[4] * cel_etype_bytes(s.type);
      kv += s.dims[0] * s.dims[2] * ((bytes + PAGE - 1) / PAGE * PAGE);
    }
  }
  *out = (cel_memory_report){.weights_bytes = x->weights_bytes,
                               .weights_device_bytes = x->n_devices > 1 ? x->weights_device_bytes : 0, .kv_bytes = kv, .arena_bytes = e.arena_bytes};
}

// ---- runs ------------------------------------------------------------------------------------------

static int64_t power_of_two_below(int64_t n) {
  int64_t p = 1;
  while (p * 2 <= n) p *= 2;
  return p;
}

// Where compiling is slow, prompts of all lengths share the programs of a few sizes: 37 tokens are 32, 4 and 1.
static int64_t chunk_size(const cel_model_handle *m, int64_t n, int64_t most) {
  n = CEL_MIN(n, most);
  return model_of(m)->driver->quick_compile ? n : power_of_two_below(n);
}

// Tokens a session will hold, as far as that is known: its request's new ones behind those it has.
static int64_t wanted(const cel_model_handle *m, int row, int64_t end) {
  const cel_session *s = m->by_row[row];
  return s && s->options.max_tokens > 0 ? end + CEL_MIN(s->options.max_tokens, m->capacity) : end;
}

// Where compiling is slow, programs are shared: a chunk of one token is a decode of one row; and one that nobody wants logits of
// is one whose last token has some, for one more row through the head costs less than ever compiling a second program.
static cel_status program_of_chunk(cel_xla_model *m, int row, int64_t count, cel_sequence_logits want, cel_xla_program **out, cel_err *err) {
  static const cel_emit_logits kinds[] = {[CEL_SEQUENCE_LAST] = CEL_LOGITS_LAST, [CEL_SEQUENCE_ALL] = CEL_LOGITS_ALL,
                                          [CEL_SEQUENCE_NONE] = CEL_LOGITS_NONE};
  cel_emit_logits kind = kinds[want];
  cel_entry entry = CEL_ENTRY_PREFILL;
  if (!m->driver->quick_compile && kind == CEL_LOGITS_NONE) kind = CEL_LOGITS_LAST;
  if (!m->driver->quick_compile && count == 1) {
    kind = CEL_LOGITS_ALL;
    entry = CEL_ENTRY_DECODE;
  }
  return cel_xla_program_for(m, m->bucket_of[row], entry, count, kind, out, err);
}

static cel_status prefill(cel_model_handle *handle, int row, const int32_t *tokens, int64_t from, int64_t count, int64_t end,
                          cel_sequence_logits want, const float **logits, cel_err *err) {
  cel_xla_model *m = cel_xla_model_of(handle);
  cel_xla_program *program;
  CEL_TRY(cel_xla_bucket_settle(m, row, from, end, wanted(handle, row, end), err));
  CEL_TRY(program_of_chunk(m, row, count, want, &program, err));
  for (int64_t i = 0; i < count; i++) m->positions[i] = (int32_t)(from + i);
  m->slots[0] = row;
  return cel_xla_run(m, program, tokens, m->positions, m->slots, (int32_t)count - 1, end,
                     want == CEL_SEQUENCE_NONE ? NULL : logits, err);
}

// Where compiling is slow, rows of padding bring a batch up to a power of two: they belong to no cache row.
static int pad_rows(cel_xla_model *m, int rows) {
  int all = rows;
  if (!m->driver->quick_compile) all = (int)power_of_two_below(2 * (int64_t)rows - 1);
  for (int i = rows; i < all; i++) {
    m->tokens[i] = m->positions[i] = 0;
    m->slots[i] = m->base.n_rows;
  }
  return all;
}

// The rows of one bucket; *n_run of them.
static cel_status decode_bucket(cel_xla_model *m, int bucket, int n, const int32_t *tokens, const int32_t *positions,
                                const int32_t *rows, int *n_run, const float **logits, cel_err *err) {
  cel_xla_program *program;
  int k = 0;
  for (int i = 0; i < n; i++) {
    if (m->bucket_of[rows[i]] != bucket) continue;
    m->tokens[k] = tokens[i];
    m->positions[k] = positions[i];
    m->slots[k++] = rows[i];
  }
  *n_run = k;
  if (k == 0) return CEL_OK;
  CEL_TRY(cel_xla_program_for(m, bucket, CEL_ENTRY_DECODE, pad_rows(m, k), CEL_LOGITS_ALL, &program, err));
  return cel_xla_run(m, program, m->tokens, m->positions, m->slots, 0, 0, logits, err);
}

static cel_status decode(cel_model_handle *handle, int n, const int32_t *tokens, const int32_t *positions,
                         const int32_t *rows, const float **logits, cel_err *err) {
  cel_xla_model *m = cel_xla_model_of(handle);
  for (int i = 0; i < n; i++) CEL_TRY(cel_xla_bucket_settle(m, rows[i], positions[i], (int64_t)positions[i] + 1, 0, err));
  for (int bucket = 0; bucket < m->n_buckets; bucket++) {
    int n_run;
    const float *some = NULL;
    CEL_TRY(decode_bucket(m, bucket, n, tokens, positions, rows, &n_run, &some, err));
    if (n_run == n) {
      *logits = some;
      return CEL_OK;
    }
    for (int i = 0, k = 0; n_run > 0 && i < n; i++) {
      if (m->bucket_of[rows[i]] == bucket) memcpy(m->logits + i * handle->vocab, some + k++ * handle->vocab, (size_t)handle->vocab * sizeof *some);
    }
  }
  *logits = m->logits;
  return CEL_OK;
}

// Keys are written before they are read, a recurrent state must be as new.
static void forget(cel_model_handle *handle, int row, bool all) {
  cel_xla_model *m = cel_xla_model_of(handle);
  if (all) {
    cel_xla_bucket_leave(m, row);
    return;
  }
  for (int i = 0; m->bucket_of[row] >= 0 && i < CEL_STATE_COUNT; i++) {
    cel_buffer *state = m->buckets[m->bucket_of[row]].states[i];
    if (state && !cel_state_shape_of(&handle->arch, (cel_state)i, 1, 1, m->kv).by_position) m->driver->forget_row(state, row);
  }
}

static cel_status copy(cel_model_handle *handle, int from, int to, int64_t n, cel_err *err) {
  cel_xla_model *m = cel_xla_model_of(handle);
  CEL_TRY(cel_xla_bucket_join(m, from, to, err));
  for (int i = 0; m->bucket_of[from] >= 0 && i < CEL_STATE_COUNT; i++) {
    const cel_xla_bucket *b = &m->buckets[m->bucket_of[from]];
    if (!b->states[i]) continue;
    cel_state_shape shape = cel_state_shape_of(&handle->arch, (cel_state)i, handle->n_rows, b->capacity, m->kv);
    CEL_TRY(m->driver->copy_row(b->states[i], from, to, shape.by_position ? n : shape.dims[3], err));
  }
  return CEL_OK;
}

const cel_sequence_runner cel_xla_runner = {
    .chunk_size = chunk_size, .prefill = prefill, .decode = decode, .forget = forget, .copy = copy};

const cel_backend cel_backend_xla = {
    .name = "xla",
    .summary = "OpenXLA: emits StableHLO for each architecture and runs it on an engine",
    .engine = xla_engine,
    .probe = xla_probe,
    .load = cel_xla_load,
    .unload = cel_xla_unload,
    .describe = xla_describe,
    .memory = xla_memory,
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
