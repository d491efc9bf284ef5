#include "backend/xla/xla_tools.h"

#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/engine.h"
#include "backend/xla/xla_artifacts.h"
#include "backend/xla/xla_options.h"
#include "backend/xla/xla_storage.h"
#include "model/arch_of_files.h"
#include "base/json.h"
#ifdef CEL_WITH_XLA_NATIVE
#include "backend/xla/engine/native/ref/check.h"
#include "backend/xla/engine/native/ref/ref.h"
#endif

static cel_status emit(const cel_arch *arch, const cel_checkpoint *c, const cel_emit_options *options, cel_hlo_module **out,
                       cel_err *err) {
  float *divisors = calloc((size_t)arch->head_dim, sizeof *divisors);
  if (!divisors) return cel_fail_oom(err, "rope divisors");
  cel_arch a = cel_checkpoint_arch(arch, c, divisors);
  cel_storage_source storage = cel_xla_storage(c);
  cel_status s = cel_emit_text(&a, &storage, options, out, err);
  free(divisors);
  return s;
}

cel_status cel_xla_tool_emit(const cel_arch *arch, const cel_checkpoint *c, const cel_emit_options *options, cel_buf *out,
                             cel_err *err) {
  cel_hlo_module *m;
  CEL_TRY(emit(arch, c, options, &m, err));
  cel_status s = cel_hlo_print(m, out, err);
  cel_hlo_module_free(m);
  return s;
}

static const char *safetensors_word(cel_etype e) {
  static const char *const words[] = {
      [CEL_ET_PRED] = "BOOL", [CEL_ET_I8] = "I8",     [CEL_ET_I16] = "I16",   [CEL_ET_I32] = "I32", [CEL_ET_I64] = "I64",
      [CEL_ET_UI8] = "U8",    [CEL_ET_UI16] = "U16",  [CEL_ET_UI32] = "U32",  [CEL_ET_UI64] = "U64", [CEL_ET_BF16] = "BF16",
      [CEL_ET_F16] = "F16",   [CEL_ET_F32] = "F32",   [CEL_ET_F64] = "F64",
  };
  return (int)e >= 0 && (int)e < CEL_COUNT(words) ? words[e] : NULL;
}

static cel_status tell(const char *kind, const char *name, const cel_hlo_type *t, int donated,
                       void (*value)(void *context, const cel_xla_value *v), void *context, cel_err *err) {
  char type[160];
  cel_hlo_type_text(t, type, sizeof type);
  const char *word = t->kind == CEL_HLO_KIND_TENSOR ? safetensors_word(t->etype) : NULL;
  if (!word) return cel_fail(err, CEL_UNSUPPORTED, "%s is %s, for which safetensors has no word", name, type);
  cel_xla_value v = {kind, name, type, word, t->rank, t->dims, cel_hlo_bytes(t), donated};
  value(context, &v);
  return CEL_OK;
}

static cel_status tell_all(const cel_program *p, void (*value)(void *context, const cel_xla_value *v), void *context, cel_err *err) {
  static const char *const kinds[] = {[CEL_PARAM_WEIGHT] = "weight", [CEL_PARAM_INPUT] = "input", [CEL_PARAM_STATE] = "state"};
  for (int i = 0; i < p->n_params; i++) {
    const cel_param *q = &p->params[i];
    CEL_TRY(tell(kinds[q->kind], q->name, q->type, q->kind == CEL_PARAM_STATE ? q->alias_result : -1, value, context, err));
  }
  for (int r = 0; r < p->n_results; r++) {
    const char *name = "logits";
    for (int i = 0; i < p->n_params; i++) {
      if (p->params[i].kind == CEL_PARAM_STATE && p->params[i].alias_result == r) name = p->params[i].name;
    }
    CEL_TRY(tell("result", name, p->entry->result_types[r], -1, value, context, err));
  }
  return CEL_OK;
}

cel_status cel_xla_tool_describe(const cel_arch *arch, const cel_checkpoint *c, const cel_emit_options *options, cel_buf *out,
                                 void (*value)(void *context, const cel_xla_value *v), void *context, cel_err *err) {
  cel_hlo_module *m;
  cel_program *p;
  cel_emit_options o = *options;
  o.dots = CEL_HLO_DOTS_F32;  // other compilers are told the precision
  CEL_TRY(emit(arch, c, &o, &m, err));
  CEL_TRY(cel_program_new(m, NULL, &p, err));
  cel_status s = cel_hlo_print(p->module, out, err);
  if (s == CEL_OK) s = tell_all(p, value, context, err);
  cel_program_free(p);
  return s;
}

// ---- explain ---------------------------------------------------------------------------------------

static cel_status bind(const cel_engine_driver *d, cel_engine *e, const cel_program *p, const cel_checkpoint *c,
                       cel_buffer **weights, cel_err *err) {
  for (int i = 0; i < p->n_params; i++) {
    if (p->params[i].kind != CEL_PARAM_WEIGHT) continue;
    const cel_tensor *t = cel_checkpoint_find(c, p->params[i].name);
    if (!t || t->bytes != cel_hlo_bytes(p->params[i].type)) {
      return cel_fail(err, CEL_NOT_FOUND, "the tensor %s is missing or has another size", p->params[i].name);
    }
    CEL_TRY(cel_xla_upload(d, e, p->params[i].type, p->params[i].shard, t, &weights[i], err));
  }
  return CEL_OK;
}

static cel_status explain(const cel_engine_driver *d, cel_engine *e, const cel_program *p, const cel_checkpoint *c,
                          cel_buf *out, cel_err *err) {
  if (!d->explain) return cel_fail(err, CEL_UNSUPPORTED, "the engine %s does not explain its plans", d->name);
  cel_buffer **weights = calloc((size_t)p->n_params + 1, sizeof *weights);
  cel_executable *x = NULL;
  cel_status s = weights ? bind(d, e, p, c, weights, err) : cel_fail_oom(err, "a program's weights");
  if (s == CEL_OK) s = d->compile(e, p, weights, &x, err);
  if (s == CEL_OK) s = d->explain(x, out, err);
  d->discard(x);
  for (int i = 0; weights && i < p->n_params; i++) d->release(weights[i]);
  free(weights);
  return s;
}

cel_status cel_xla_tool_explain(const cel_arch *arch, const cel_checkpoint *c, const cel_emit_options *options,
                                int n_threads, cel_buf *out, cel_err *err) {
  cel_xla_options x;
  const cel_engine_driver *d;
  const char *rest;
  CEL_TRY(cel_xla_options_read(&x, err));
  CEL_TRY(cel_engine_find(x.device, &d, &rest, err));
  cel_hlo_module *m;
  CEL_TRY(emit(arch, c, options, &m, err));
  cel_program *p;
  CEL_TRY(cel_program_new(m, NULL, &p, err));
  cel_engine *e = NULL;
  cel_engine_options o = {.device = rest, .precision = x.precision, .n_threads = n_threads};
  cel_status s = d->open(&o, &e, err);
  if (s == CEL_OK) s = explain(d, e, p, c, out, err);
  if (e) d->close(e);
  cel_program_free(p);
  return s;
}

// ---- the store -------------------------------------------------------------------------------------

bool cel_xla_tool_cache_folder(cel_buf *out) { return cel_xla_artifact_folder(out); }

cel_status cel_xla_tool_cache(const char *folder, bool whole, void (*entry)(void *context, const cel_xla_cache_entry *e),
                              void *context, cel_err *err) {
  return cel_artifact_each(folder, whole, entry, context, err);
}

cel_status cel_xla_tool_cache_clear(const char *folder, int64_t *n, int64_t *bytes, cel_err *err) {
  return cel_artifact_clear(folder, n, bytes, err);
}

// ---- run and check -----------------------------------------------------------------------------------

#ifdef CEL_WITH_XLA_NATIVE

static void store(void *out, cel_etype e, double x) {
  switch (cel_etype_bytes(e)) {
    case 8:
      if (e == CEL_ET_F64) memcpy(out, &x, 8);
      else memcpy(out, &(int64_t){(int64_t)x}, 8);
      break;
    case 4:
      if (e == CEL_ET_F32) memcpy(out, &(float){(float)x}, 4);
      else memcpy(out, &(uint32_t){(uint32_t)(int64_t)x}, 4);
      break;
    case 2:
      memcpy(out, &(uint16_t){(uint16_t)(int64_t)x}, 2);
      break;
    default:
      *(uint8_t *)out = (uint8_t)(int64_t)x;
  }
}

static const char *numpy_word(cel_etype e) {
  switch (e) {
    case CEL_ET_PRED: return "|b1";
    case CEL_ET_I8: return "|i1";
    case CEL_ET_I16: return "<i2";
    case CEL_ET_I32: return "<i4";
    case CEL_ET_I64: return "<i8";
    case CEL_ET_UI8: return "|u1";
    case CEL_ET_UI16: return "<u2";
    case CEL_ET_UI32: return "<u4";
    case CEL_ET_UI64: return "<u8";
    case CEL_ET_F16: return "<f2";
    case CEL_ET_F32: return "<f4";
    case CEL_ET_F64: return "<f8";
    default: return "";
  }
}

static cel_status fill_argument(const cel_xla_argument *a, int i, const cel_hlo_type *t, void *data, cel_err *err) {
  char text[128];
  cel_hlo_type_text(t, text, sizeof text);
  int64_t n = cel_hlo_elements(t);
  int size = cel_etype_bytes(t->etype);
  if (!*a->dtype) {
    bool whole = cel_etype_is_int(t->etype) || t->etype == CEL_ET_PRED;
    if (!whole && t->etype != CEL_ET_F32 && t->etype != CEL_ET_F64) {
      return cel_fail(err, CEL_UNSUPPORTED, "argument %d is %s: give it as an array file, not as one value", i, text);
    }
    for (int64_t k = 0; k < n; k++) store((char *)data + k * size, t->etype, a->splat);
    return CEL_OK;
  }
  bool same = a->rank == t->rank && !strcmp(a->dtype, numpy_word(t->etype)) && a->bytes == cel_hlo_bytes(t);
  for (int d = 0; same && d < t->rank; d++) same = a->dims[d] == t->dims[d];
  if (!same) return cel_fail(err, CEL_INVALID, "argument %d must be %s; the array given has another type or shape", i, text);
  memcpy(data, a->data, (size_t)a->bytes);
  return CEL_OK;
}

static double value_at(const cel_ref_tensor *t, int64_t i) {
  const char *p = (const char *)t->data + i * cel_etype_bytes(t->type->etype);
  switch (t->type->etype) {
    case CEL_ET_F32: { float x; memcpy(&x, p, 4); return (double)x; }
    case CEL_ET_F64: { double x; memcpy(&x, p, 8); return x; }
    case CEL_ET_I64: case CEL_ET_UI64: { int64_t x; memcpy(&x, p, 8); return (double)x; }
    case CEL_ET_I32: { int32_t x; memcpy(&x, p, 4); return x; }
    case CEL_ET_UI32: { uint32_t x; memcpy(&x, p, 4); return x; }
    case CEL_ET_I16: { int16_t x; memcpy(&x, p, 2); return x; }
    case CEL_ET_UI16: case CEL_ET_F16: case CEL_ET_BF16: { uint16_t x; memcpy(&x, p, 2); return x; }
    case CEL_ET_I8: case CEL_ET_I4: case CEL_ET_I2: return (double)*(const int8_t *)p;
    default: return (double)*(const uint8_t *)p;
  }
}

static void print_result(const cel_ref_tensor *t, cel_buf *out) {
  enum { SHOWN_MOST = 1000 };
  char type[160];
  cel_hlo_type_text(t->type, type, sizeof type);
  cel_buf_printf(out, "%s = ", type);
  if (t->type->kind != CEL_HLO_KIND_TENSOR || cel_etype_class(t->type->etype) == 'C') {
    cel_buf_addz(out, "(not printed)\n");
    return;
  }
  int64_t n = cel_hlo_elements(t->type);
  cel_buf_addc(out, '[');
  for (int64_t i = 0; i < n && i < SHOWN_MOST; i++) {
    if (i) cel_buf_addz(out, ", ");
    double x = value_at(t, i);
    if (x != x) cel_buf_addz(out, "nan");
    else if (x - x != 0) cel_buf_addz(out, x > 0 ? "inf" : "-inf");
    else cel_json_add_number(out, x);
  }
  cel_buf_addz(out, n > SHOWN_MOST ? ", ...]\n" : "]\n");
}

static cel_status run_function(const cel_program *p, const cel_xla_argument *arguments, cel_buf *out, cel_err *err) {
  cel_ref_tensor *args = calloc((size_t)p->n_params + 1, sizeof *args);
  cel_ref_tensor *results = calloc((size_t)p->n_results + 1, sizeof *results);
  cel_status s = args && results ? CEL_OK : cel_fail_oom(err, "arguments");
  for (int i = 0; s == CEL_OK && i < p->n_params; i++) {
    args[i] = (cel_ref_tensor){p->params[i].type, malloc((size_t)cel_hlo_bytes(p->params[i].type) + 1)};
    s = args[i].data ? fill_argument(&arguments[i], i, args[i].type, args[i].data, err) : cel_fail_oom(err, "an argument");
  }
  if (s == CEL_OK) s = cel_ref_eval_func(p->module, p->entry, args, p->n_params, results, NULL, err);
  for (int i = 0; s == CEL_OK && i < p->n_results; i++) {
    print_result(&results[i], out);
    cel_ref_tensor_free(&results[i]);
  }
  for (int i = 0; args && i < p->n_params; i++) free(args[i].data);
  free(args);
  free(results);
  return s;
}

cel_status cel_xla_tool_run(cel_str text, const char *name, const char *entry, const cel_xla_argument *arguments, int n,
                            cel_buf *out, cel_err *err) {
  cel_hlo_module *m;
  cel_program *p;
  CEL_TRY(cel_hlo_parse(text, name, &m, err));
  CEL_TRY(cel_program_new(m, entry, &p, err));
  cel_status s = n == p->n_params ? CEL_OK : cel_fail(err, CEL_INVALID, "%s: @%s takes %d arguments, %d were given with --input",
                                                      name, p->entry->name, p->n_params, n);
  for (int i = 0; s == CEL_OK && i < p->n_params; i++) {
    if (p->params[i].type->kind != CEL_HLO_KIND_TENSOR) s = cel_fail(err, CEL_UNSUPPORTED, "%s: argument %d of @%s is no tensor", name, i, p->entry->name);
  }
  if (s == CEL_OK) s = run_function(p, arguments, out, err);
  cel_program_free(p);
  return s;
}

static void report(void *context, cel_check_outcome outcome, const char *where, const char *text) {
  if (outcome == CEL_CHECK_PASSED) return;
  cel_buf_printf(context, "%s: %s: %s\n", where, outcome == CEL_CHECK_FAILED ? "FAILED" : "refused", text);
}

cel_status cel_xla_tool_check(cel_str text, const char *name, cel_xla_check_counts *counts, cel_buf *out, cel_err *err) {
  cel_check_counts c = {0};
  CEL_TRY(cel_check_file(text, name, NULL, report, out, &c, err));
  *counts = (cel_xla_check_counts){c.passed, c.failed, c.refused};
  return CEL_OK;
}

#else

static cel_status not_built(cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "this build has the StableHLO emitter only, nothing that runs modules");
}
cel_status cel_xla_tool_run(cel_str text, const char *name, const char *entry, const cel_xla_argument *arguments, int n,
                            cel_buf *out, cel_err *err) {
  (void)text, (void)name, (void)entry, (void)arguments, (void)n, (void)out;
  return not_built(err);
}
cel_status cel_xla_tool_check(cel_str text, const char *name, cel_xla_check_counts *counts, cel_buf *out, cel_err *err) {
  (void)text, (void)name, (void)counts, (void)out;
  return not_built(err);
}

#endif
