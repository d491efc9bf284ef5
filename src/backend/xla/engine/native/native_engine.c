// The embedded engine behind engine.h: host buffers, states as reserved address space, plans.
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backend/xla/engine/common/state_row.h"
#include "backend/xla/engine/engine.h"
#include "backend/xla/engine/native/plan/plan.h"
#include "backend/xla/engine/native/run.h"
#include "base/cpu.h"
#include "base/env.h"
#include "base/pool.h"

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

struct cel_engine {
  uint32_t cpu_bits;
  cel_linear_precision precision;
  cel_pool *pool;
  char isa[64];
  void *arena, *arena_raw;      // shared by all executables: one runs at a time
  int64_t arena_bytes, scratch_bytes;
  uint8_t *scratch, *scratch_raw;
};

struct cel_buffer {
  cel_hlo_type type;
  int64_t bytes;
  void *data;  // NULL: in parts, and nothing has asked for one piece
  const void **parts;  // lent, ended by NULL; NULL: in one piece
  enum { BUFFER_LENT, BUFFER_OWNED, BUFFER_MAPPED } storage;
};

struct cel_executable {
  cel_engine *engine;
  cel_plan *plan;
  void **weights;                     // [n_params]
  const void *const **parts;          // [n_params], of weights in parts
  cel_run run;
};

static cel_status native_probe(cel_err *err) {
  (void)err;
  return CEL_OK;
}

static cel_status choose_precision(const char *word, cel_linear_precision *out, cel_err *err) {
  *out = CEL_LIN_PREC_I16;
  if (!*word) return CEL_OK;
  for (int i = 0; i < CEL_COUNT(cel_linear_precision_names); i++) {
    *out = (cel_linear_precision)i;
    if (!strcmp(word, cel_linear_precision_names[i])) return CEL_OK;
  }
  return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_PRECISION=%s: the native engine computes in f32, i16 (the default) or i8", word);
}

static void native_close(cel_engine *e) {
  if (!e) return;
  cel_pool_free(e->pool);
  free(e->arena_raw);
  free(e->scratch_raw);
  free(e);
}

static cel_status native_open(const cel_engine_options *o, cel_engine **out, cel_err *err) {
  *out = NULL;
  if (*o->device && strcmp(o->device, "cpu") != 0) {
    return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_DEVICE=native:%s: the native engine has one device, cpu", o->device);
  }
  cel_engine *e = calloc(1, sizeof *e);
  if (!e) return cel_fail_oom(err, "the native engine");
  int n_threads = o->n_threads > 0 ? o->n_threads : cel_cpu_cores();
  uint32_t bits = cel_cpu_detect();
  const char *level = cel_env(CEL_ENV_CPU);
  cel_status s = level ? cel_cpu_limit(bits, level, &e->cpu_bits, err) : CEL_OK;
  if (s != CEL_OK) cel_err_prefix(err, "MLXCEL_CPU=%.40s", level);
  if (s == CEL_OK && !level) e->cpu_bits = bits;
  if (s == CEL_OK) s = choose_precision(o->precision, &e->precision, err);
  if (s == CEL_OK) s = cel_pool_new(n_threads, &e->pool, err);
  if (s != CEL_OK) {
    native_close(e);
    return s;
  }
  snprintf(e->isa, sizeof e->isa, "%s", cel_kernels_for(e->cpu_bits).isa);
  *out = e;
  return CEL_OK;
}

static void native_describe(const cel_engine *e, cel_engine_description *out) {
  *out = (cel_engine_description){.engine = "native", .device = "cpu", .isa = e->isa,
                                  .precision = cel_linear_precision_names[e->precision],
                                  .n_threads = cel_pool_members(e->pool),
                                  .arena_bytes = e->arena_bytes + e->scratch_bytes};
}

// ---- buffers ---------------------------------------------------------------------------------------

static cel_buffer *new_buffer(const cel_hlo_type *t, cel_err *err) {
  cel_buffer *b = calloc(1, sizeof *b);
  if (!b) {
    cel_fail_oom(err, "a buffer");
    return NULL;
  }
  b->type = *t;
  b->bytes = cel_hlo_bytes(t);
  return b;
}

static void native_release(cel_buffer *b) {
  if (!b) return;
  if (b->storage == BUFFER_OWNED) free(b->data);
  free(b->parts);
  if (b->storage == BUFFER_MAPPED && b->bytes) munmap(b->data, (size_t)b->bytes);
  free(b);
}

static cel_status native_upload(cel_engine *e, const cel_hlo_type *t, const void *host, bool lent, cel_buffer **out,
                                cel_err *err) {
  (void)e;
  *out = NULL;
  cel_buffer *b = new_buffer(t, err);
  if (!b) return CEL_OOM;
  if (lent) {
    b->data = (void *)(uintptr_t)host;
  } else {
    b->storage = BUFFER_OWNED;
    b->data = malloc((size_t)b->bytes + 1);
    if (!b->data) {
      free(b);
      return cel_fail_oom(err, "a tensor's copy");
    }
    memcpy(b->data, host, (size_t)b->bytes);
  }
  *out = b;
  return CEL_OK;
}

static cel_status native_upload_parts(cel_engine *e, const cel_hlo_type *t, const void *const *parts, int64_t n,
                                      cel_buffer **out, cel_err *err) {
  (void)e;
  *out = NULL;
  if (n < 1 || cel_hlo_bytes(t) % n != 0) return cel_fail(err, CEL_INVALID, "%lld parts do not make up the tensor", (long long)n);
  cel_buffer *b = new_buffer(t, err);
  if (!b) return CEL_OOM;
  b->parts = calloc((size_t)n + 1, sizeof *b->parts);
  if (!b->parts) {
    native_release(b);
    return cel_fail_oom(err, "a tensor's parts");
  }
  memcpy(b->parts, parts, (size_t)n * sizeof *parts);
  *out = b;
  return CEL_OK;
}

// Copies the parts together, for steps that want one piece.
static cel_status join_parts(cel_buffer *b, cel_err *err) {
  if (!b->parts || b->data) return CEL_OK;
  b->data = malloc((size_t)b->bytes + 1);
  if (!b->data) return cel_fail_oom(err, "a tensor's copy");
  b->storage = BUFFER_OWNED;
  int64_t n = 0;
  while (b->parts[n]) n++;
  for (int64_t i = 0, bytes = b->bytes / n; i < n; i++) memcpy((char *)b->data + i * bytes, b->parts[i], (size_t)bytes);
  return CEL_OK;
}

// A state is address space; the operating system gives memory to the pages that are written. Huge pages are
// declined: each head's region is touched from its beginning only.
static cel_status native_state(cel_engine *e, const cel_hlo_type *t, cel_buffer **out, cel_err *err) {
  (void)e;
  *out = NULL;
  cel_buffer *b = new_buffer(t, err);
  if (!b) return CEL_OOM;
  b->storage = BUFFER_MAPPED;
  b->data = mmap(NULL, (size_t)CEL_MAX(b->bytes, 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b->data == MAP_FAILED) {
    int64_t gib = b->bytes >> 30;
    free(b);
    return cel_fail(err, CEL_OOM, "cannot reserve %lld GiB of address space for the KV cache: choose a smaller context",
                    (long long)gib);
  }
#ifdef MADV_NOHUGEPAGE
  (void)madvise(b->data, (size_t)b->bytes, MADV_NOHUGEPAGE);
#endif
  *out = b;
  return CEL_OK;
}

static cel_status native_copy_row(cel_buffer *b, int64_t from, int64_t to, int64_t n, cel_err *err) {
  CEL_TRY(cel_state_check_copy(b->type.rank, b->type.dims, from, to, n, err));
  const int64_t *d = b->type.dims, position = d[4] * cel_etype_bytes(b->type.etype), head = d[3] * position;
  for (int64_t l = 0; l < d[0]; l++) {
    for (int64_t h = 0; h < d[2]; h++) {
      char *row0 = (char *)b->data + (l * d[1] * d[2] + h) * head;
      memcpy(row0 + to * d[2] * head, row0 + from * d[2] * head, (size_t)(n * position));
    }
  }
  return CEL_OK;
}

static cel_status native_move_row(cel_buffer *from, cel_buffer *to, int64_t row, int64_t n, cel_err *err) {
  const int64_t *d = from->type.dims, *e = to->type.dims;
  CEL_TRY(cel_state_check_move(&from->type, &to->type, row, n, err));
  int64_t position = d[4] * cel_etype_bytes(from->type.etype);
  for (int64_t l = 0; l < d[0]; l++) {
    for (int64_t h = 0; h < d[2]; h++) {
      int64_t at = (l * d[1] + row) * d[2] + h;
      memcpy((char *)to->data + at * e[3] * position, (const char *)from->data + at * d[3] * position, (size_t)(n * position));
    }
  }
  return CEL_OK;
}

// Whole pages are mapped anew, which gives their memory back and zeroes them; what a row shares with its neighbours is
// zeroed by hand.
static void forget_bytes(char *p, int64_t bytes) {
  int64_t page = sysconf(_SC_PAGESIZE), before = (page - (int64_t)((uintptr_t)p % (uintptr_t)page)) % page;
  before = CEL_MIN(before, bytes);
  int64_t pages = (bytes - before) / page * page;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (pages && mmap(p + before, (size_t)pages, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) pages = 0;
#ifdef MADV_NOHUGEPAGE
  if (pages) (void)madvise(p + before, (size_t)pages, MADV_NOHUGEPAGE);
#endif
  memset(p, 0, (size_t)before);
  memset(p + before + pages, 0, (size_t)(bytes - before - pages));
}

static void native_forget_row(cel_buffer *b, int64_t row) {
  if (!cel_state_has_row(b->type.rank, b->type.dims, row)) return;
  const int64_t *d = b->type.dims, bytes = d[2] * d[3] * d[4] * cel_etype_bytes(b->type.etype);
  for (int64_t l = 0; l < d[0]; l++) forget_bytes((char *)b->data + (l * d[1] + row) * bytes, bytes);
}

// ---- executables -----------------------------------------------------------------------------------

static void native_discard(cel_executable *x) {
  if (!x) return;
  cel_plan_free(x->plan);
  free(x->weights);
  free(x->parts);
  free(x->run.at);
  free(x);
}

static cel_status grow(void **raw, void **aligned, int64_t *have, int64_t want, cel_err *err) {
  if (want <= *have && *raw) return CEL_OK;
  void *p = malloc((size_t)want + 64);
  if (!p) return cel_fail_oom(err, "the engine's arena");
  free(*raw);
  *raw = p;
  *aligned = (void *)(((uintptr_t)p + 63) & ~(uintptr_t)63);
  *have = want;
  return CEL_OK;
}

static cel_status bind_weights(cel_executable *x, const cel_program *program, cel_buffer *const *weights, cel_err *err) {
  x->weights = calloc((size_t)program->n_params + 1, sizeof *x->weights);
  x->parts = calloc((size_t)program->n_params + 1, sizeof *x->parts);
  if (!x->weights || !x->parts) return cel_fail_oom(err, "an executable");
  for (int i = 0; i < program->n_params; i++) {
    if (program->params[i].kind != CEL_PARAM_WEIGHT) continue;
    if (!weights || !weights[i]) return cel_fail(err, CEL_INVALID, "weight %s is not bound", program->params[i].name);
    x->weights[i] = weights[i]->data;
    x->parts[i] = weights[i]->parts;
  }
  return CEL_OK;
}

static cel_status join_what_must(cel_executable *x, cel_buffer *const *weights, cel_err *err) {
  for (int i = 0; i < x->plan->program->n_params; i++) {
    if (!x->parts[i] || !cel_plan_wants_whole(x->plan, i)) continue;
    CEL_TRY(join_parts(weights[i], err));
    x->weights[i] = weights[i]->data;
  }
  return CEL_OK;
}

static cel_status native_compile(cel_engine *e, const cel_program *program, cel_buffer *const *weights,
                                 cel_executable **out, cel_err *err) {
  *out = NULL;
  cel_executable *x = calloc(1, sizeof *x);
  if (!x) return cel_fail_oom(err, "an executable");
  x->engine = e;
  cel_status s = bind_weights(x, program, weights, err);
  int n_threads = cel_pool_members(e->pool);
  if (s == CEL_OK) s = cel_plan_new(program, x->weights, x->parts, e->cpu_bits, e->precision, n_threads, &x->plan, err);
  if (s == CEL_OK) s = join_what_must(x, weights, err);
  if (s == CEL_OK) {
    x->run.at = calloc((size_t)x->plan->n_slots + 1, sizeof *x->run.at);
    if (!x->run.at) s = cel_fail_oom(err, "an executable");
  }
  if (s == CEL_OK) s = grow(&e->arena_raw, &e->arena, &e->arena_bytes, x->plan->arena_bytes, err);
  void *scratch = e->scratch;
  void *raw = e->scratch_raw;
  if (s == CEL_OK) s = grow(&raw, &scratch, &e->scratch_bytes, x->plan->scratch_bytes * n_threads, err);
  e->scratch_raw = raw;
  e->scratch = scratch;
  if (s != CEL_OK) {
    native_discard(x);
    return s;
  }
  *out = x;
  return CEL_OK;
}

static void place_slots(cel_executable *x, cel_buffer *const *states, const void *const *inputs) {
  const cel_plan *p = x->plan;
  for (int i = 0; i < p->n_slots; i++) {
    const cel_slot *s = &p->slots[i];
    if (s->kind == CEL_SLOT_CONST) x->run.at[i] = (void *)(uintptr_t)s->data;
    if (s->kind == CEL_SLOT_ARENA) x->run.at[i] = (char *)x->engine->arena + s->offset;
    if (s->kind != CEL_SLOT_PARAM) continue;
    const cel_param *param = &p->program->params[s->index];
    x->run.at[i] = param->kind == CEL_PARAM_WEIGHT  ? x->weights[s->index]
                   : param->kind == CEL_PARAM_STATE ? states[s->index]->data
                                                    : (void *)(uintptr_t)inputs[s->index];
  }
  for (int i = 0; i < p->n_slots; i++) {
    if (p->slots[i].kind == CEL_SLOT_ALIAS) x->run.at[i] = x->run.at[cel_plan_root(p, i)];
  }
}

static cel_status native_execute(cel_executable *x, cel_buffer *const *states, const void *const *inputs,
                                 const void **results, cel_err *err) {
  const cel_plan *p = x->plan;
  for (int i = 0; i < p->program->n_params; i++) {
    const cel_param *param = &p->program->params[i];
    bool missing = (param->kind == CEL_PARAM_STATE && !(states && states[i])) ||
                   (param->kind == CEL_PARAM_INPUT && !(inputs && inputs[i]));
    if (missing) return cel_fail(err, CEL_INVALID, "parameter %s of @%s was not given", param->name, p->program->entry->name);
  }
  place_slots(x, states, inputs);
  x->run.plan = p;
  x->run.pool = x->engine->pool;
  x->run.scratch = x->engine->scratch;
  x->run.scratch_stride = p->scratch_bytes;
  CEL_TRY(cel_run_plan(&x->run, err));
  for (int i = 0; i < p->program->n_results; i++) {
    bool aliased = false;
    for (int k = 0; k < p->program->n_params; k++) aliased |= p->program->params[k].alias_result == i;
    results[i] = aliased ? NULL : x->run.at[p->results[i]];
  }
  return CEL_OK;
}

static cel_status native_explain(const cel_executable *x, cel_buf *out, cel_err *err) {
  return cel_plan_explain(x->plan, out, err);
}

const cel_engine_driver cel_engine_native = {
    .name = "native",
    .summary = "the embedded CPU engine: the emitted StableHLO in process, with fused kernels",
    .lazy_states = true,
    .quick_compile = true,
    .probe = native_probe,
    .open = native_open,
    .close = native_close,
    .describe = native_describe,
    .upload = native_upload,
    .upload_parts = native_upload_parts,
    .state = native_state,
    .release = native_release,
    .copy_row = native_copy_row,
    .move_row = native_move_row,
    .forget_row = native_forget_row,
    .compile = native_compile,
    .discard = native_discard,
    .execute = native_execute,
    .explain = native_explain,
};
