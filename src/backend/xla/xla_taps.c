#include "backend/xla/xla_taps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/xla_model.h"
#include "backend/xla/xla_options.h"
#include "backend/xla/xla_storage.h"
#include "model/arch_of_files.h"

static const char *tap_name(const cel_hlo_func *f, int result) {
  cel_hlo_attr **attrs = f->result_attrs ? f->result_attrs[result] : NULL;
  for (; attrs && *attrs; attrs++) {
    if ((*attrs)->kind == CEL_HLO_ATTR_STRING && !strcmp((*attrs)->name, CEL_EMIT_TAP_ATTR)) return (*attrs)->s;
  }
  return NULL;
}

static const char *numpy_word(cel_etype e) {
  switch (e) {
    case CEL_ET_F32: return "<f4";
    case CEL_ET_I32: return "<i4";
    case CEL_ET_PRED: return "|b1";
    default: return NULL;
  }
}

static cel_status describe(const cel_hlo_type *t, const char *name, cel_diag_array *out, cel_err *err) {
  const char *word = t->kind == CEL_HLO_KIND_TENSOR ? numpy_word(t->etype) : NULL;
  if (!word || t->rank > CEL_DIAG_RANK_MOST) {
    char text[128];
    cel_hlo_type_text(t, text, sizeof text);
    return cel_fail(err, CEL_UNSUPPORTED, "the value %s is %s; f32, i32 and booleans are shown", name, text);
  }
  *out = (cel_diag_array){.name = name, .rank = t->rank};
  memcpy(out->dtype, word, sizeof out->dtype);
  memcpy(out->dims, t->dims, (size_t)t->rank * sizeof *t->dims);
  return CEL_OK;
}

// ---- running -------------------------------------------------------------------------------------------

static cel_status take(const cel_xla_program *p, int result, const char *name, cel_xla_taps *out, cel_err *err) {
  cel_diag_array *a = &out->arrays[out->n];
  const cel_hlo_type *t = p->program->entry->result_types[result];
  CEL_TRY(describe(t, cel_arena_dup(&out->memory, name, strlen(name)), a, err));
  size_t bytes = (size_t)cel_hlo_bytes(t);
  void *copy = cel_arena_alloc(&out->memory, bytes);
  if (!a->name || !copy) return cel_fail_oom(err, name);
  memcpy(copy, p->results[result], bytes);
  a->data = copy;
  out->n++;
  return CEL_OK;
}

static cel_status take_all(const cel_xla_program *p, cel_xla_taps *out, cel_err *err) {
  const cel_hlo_func *f = p->program->entry;
  out->arrays = CEL_NEW_ARRAY(&out->memory, cel_diag_array, f->n_results);
  if (!out->arrays) return cel_fail_oom(err, "the tapped values");
  for (int i = 0; i < f->n_results; i++) {
    const char *name = tap_name(f, i);
    if (name && p->results[i]) CEL_TRY(take(p, i, name, out, err));
  }
  if (out->n == 0) return cel_fail(err, CEL_INVALID, "@%s has no result with a " CEL_EMIT_TAP_ATTR, f->name);
  return CEL_OK;
}

// A module from outside must take what the prompt gives.
static cel_status check_module(const cel_xla_model *m, const cel_xla_program *p, int64_t n, cel_err *err) {
  const cel_program *q = p->program;
  const char *needed = p->tokens < 0 ? "tokens" : p->positions < 0 ? "positions" : p->slots < 0 ? "slot" : NULL;
  if (needed) return cel_fail(err, CEL_INVALID, "@%s has no input %s: emit it with --entry prefill", q->entry->name, needed);
  for (int i = 0; i < q->n_params; i++) {
    const cel_param *a = &q->params[i];
    int64_t elements = cel_hlo_elements(a->type), want = elements;
    if (i == p->tokens || i == p->positions) want = n;
    if (i == p->slots || i == p->last) want = 1;
    for (int k = 0; k < CEL_STATE_COUNT; k++) {
      cel_state_shape s = cel_state_shape_of(&m->base.arch, (cel_state)k, m->base.n_rows, m->base.capacity, m->kv);
      if (a->kind != CEL_PARAM_STATE || strcmp(a->name, s.name) != 0) continue;
      want = s.dims[0] * s.dims[1] * s.dims[2] * s.dims[3] * s.dims[4];
      if (a->type->etype == s.type) continue;
      return cel_fail(err, CEL_INVALID, "@%s: %s is %s, MLXCEL_XLA_KV_CACHE asks for %s", q->entry->name, a->name,
                      cel_etype_spelling(a->type->etype), cel_etype_spelling(s.type));
    }
    if (elements == want) continue;
    return cel_fail(err, CEL_INVALID, "@%s: %s has %lld elements, a prompt of %lld tokens needs %lld: emit it with --tokens %lld --capacity %lld",
                    q->entry->name, a->name, (long long)elements, (long long)n, (long long)want, (long long)n, (long long)m->base.capacity);
  }
  return CEL_OK;
}

static cel_status run(cel_xla_model *m, const int32_t *ids, int64_t n, const cel_xla_taps_options *o, cel_xla_taps *out, cel_err *err) {
  cel_emit_options e = {.entry = CEL_ENTRY_PREFILL, .tokens = n, .rows = 1, .capacity = m->base.capacity, .logits = CEL_LOGITS_ALL,
                        .dots = m->dots, .kv = m->kv, .taps = o->taps, .n_taps = o->n_taps};
  cel_hlo_module *module = NULL;
  if (o->module.n) CEL_TRY(cel_hlo_parse(o->module, o->module_name, &module, err));
  cel_xla_program *p;
  CEL_TRY(cel_xla_program_make(m, &e, module, &p, err));
  for (int64_t i = 0; i < n; i++) m->positions[i] = (int32_t)i;
  m->slots[0] = 0;
  cel_status s = check_module(m, p, n, err);
  if (s == CEL_OK) s = cel_xla_run(m, p, ids, m->positions, m->slots, (int32_t)n - 1, n, NULL, err);
  if (s == CEL_OK) s = take_all(p, out, err);
  cel_xla_program_drop(m, p);
  return s;
}

static cel_status check_ids(const cel_xla_model *m, const int32_t *ids, int64_t n, cel_err *err) {
  for (int64_t i = 0; i < n; i++) {
    if (ids[i] >= 0 && ids[i] < m->base.vocab) continue;
    return cel_fail(err, CEL_INVALID, "token %lld of the prompt is %d, the vocabulary has ids 0 to %lld", (long long)i, ids[i],
                    (long long)m->base.vocab - 1);
  }
  return CEL_OK;
}

static cel_status say_engine(const cel_xla_model *m, cel_xla_taps *out, cel_err *err) {
  cel_engine_description d;
  m->driver->describe(m->engine, &d);
  const char *from[4] = {d.engine, d.device, d.precision, d.isa}, **to[4] = {&out->engine, &out->device, &out->precision, &out->isa};
  for (int i = 0; i < 4; i++) {
    *to[i] = cel_arena_dup(&out->memory, from[i] ? from[i] : "", from[i] ? strlen(from[i]) : 0);
    if (!*to[i]) return cel_fail_oom(err, "the engine's name");
  }
  return CEL_OK;
}

cel_status cel_xla_taps_run(const cel_arch *arch, const cel_checkpoint *checkpoint, const int32_t *ids, int64_t n,
                            const cel_xla_taps_options *o, cel_xla_taps *out, cel_err *err) {
  enum { TOKENS_MOST = 4096 };
  *out = (cel_xla_taps){0};
  cel_arena_init(&out->memory);
  if (n < 1 || n > TOKENS_MOST) return cel_fail(err, CEL_INVALID, "a prompt of %lld tokens; taps take 1 to %d", (long long)n, TOKENS_MOST);
  cel_xla_options x;
  CEL_TRY(cel_xla_options_read(&x, err));
  if (o->device) x.device = o->device;
  if (o->precision) x.precision = o->precision;
  if (o->module.n && !*x.kv_cache) x.kv_cache = "f32";  // as modules are emitted
  x.capacity = 0;
  cel_load_options load = {.n_threads = o->n_threads, .context = n, .max_sessions = 1, .prefill_chunk = (int)n};
  cel_model_handle *handle;
  CEL_TRY(cel_xla_load_with(arch, checkpoint, &load, &x, false, &handle, err));
  cel_xla_model *m = cel_xla_model_of(handle);
  cel_status s = check_ids(m, ids, n, err);
  if (s == CEL_OK) s = say_engine(m, out, err);
  if (s == CEL_OK) s = run(m, ids, n, o, out, err);
  cel_xla_unload(handle);
  if (s != CEL_OK) cel_xla_taps_deinit(out);
  return s;
}

void cel_xla_taps_deinit(cel_xla_taps *t) {
  cel_arena_deinit(&t->memory);
  *t = (cel_xla_taps){0};
}

// ---- listing -------------------------------------------------------------------------------------------

static void list_line(const char *name, const cel_diag_array *a, cel_buf *out) {
  cel_buf_printf(out, "%s %s [", name, a->dtype);
  for (int i = 0; i < a->rank; i++) cel_buf_printf(out, "%s%lld", i ? ", " : "", (long long)a->dims[i]);
  cel_buf_addz(out, "]\n");
}

cel_status cel_xla_taps_list(const cel_arch *arch, const cel_checkpoint *checkpoint, const char *const *taps, int n_taps, cel_buf *out,
                             cel_err *err) {
  cel_emit_options e = {.entry = CEL_ENTRY_PREFILL, .tokens = 1, .rows = 1, .capacity = 1, .logits = CEL_LOGITS_ALL, .taps = taps, .n_taps = n_taps};
  float *divisors = calloc((size_t)arch->head_dim, sizeof *divisors);
  if (!divisors) return cel_fail_oom(err, "rope divisors");
  cel_arch a = cel_checkpoint_arch(arch, checkpoint, divisors);
  cel_storage_source storage = cel_xla_storage(checkpoint);
  cel_hlo_module *m = NULL;
  cel_status s = cel_emit_text(&a, &storage, &e, &m, err);
  const cel_hlo_func *f = s == CEL_OK ? cel_hlo_find_func(m, "main") : NULL;
  for (int i = 0; f && s == CEL_OK && i < f->n_results; i++) {
    cel_diag_array shape;
    if (!tap_name(f, i)) continue;
    s = describe(f->result_types[i], tap_name(f, i), &shape, err);
    if (s == CEL_OK) list_line(tap_name(f, i), &shape, out);
  }
  cel_hlo_module_free(m);
  free(divisors);
  return s;
}
