#include "backend/xla/xla_micro.h"

#include <stdlib.h>
#include <string.h>

#include "backend/xla/diag/probe.h"
#include "backend/xla/engine/engine.h"
#include "backend/xla/xla_options.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/sha256.h"

#define SCHEMA "mlxcel-xla-micro-oracle-v1"

typedef struct bench {
  const cel_engine_driver *driver;
  cel_engine *engine;
  cel_engine_description about;
} bench;

typedef struct probed {
  void *operands[CEL_PROBE_OPERANDS_MOST];  // malloc'ed
  int n_operands;
  float *reference, *candidate;
  cel_comparison comparison;
  double run_ms, compile_ms;
  cel_err err;  // why it could not be run
} probed;

// ---- running -------------------------------------------------------------------------------------------

static cel_status make_operands(const cel_probe *p, probed *d, cel_err *err) {
  for (; d->n_operands < CEL_PROBE_OPERANDS_MOST && p->operands[d->n_operands].name; d->n_operands++) {
    d->operands[d->n_operands] = calloc((size_t)cel_probe_elements(&p->operands[d->n_operands]), 4);
    if (!d->operands[d->n_operands]) return cel_fail_oom(err, "a probe's operands");
  }
  size_t n = (size_t)cel_probe_elements(&p->result);
  d->reference = calloc(n, sizeof *d->reference);
  d->candidate = calloc(n, sizeof *d->candidate);
  if (!d->reference || !d->candidate) return cel_fail_oom(err, "a probe's results");
  p->fill(d->operands);
  p->reference((const void *const *)d->operands, d->reference);
  return CEL_OK;
}

// Operands that the program calls weights are bound when it is compiled, as a model's are.
static cel_status bind(const bench *b, const cel_program *program, const probed *d, cel_buffer **weights, cel_err *err) {
  for (int i = 0; i < d->n_operands; i++) {
    const cel_param *a = &program->params[i];
    if (a->kind == CEL_PARAM_WEIGHT) CEL_TRY(b->driver->upload(b->engine, a->type, d->operands[i], true, &weights[i], err));
  }
  return CEL_OK;
}

static cel_status execute(const bench *b, const cel_probe *p, const cel_program *program, cel_executable *x, probed *d, cel_err *err) {
  const void *results[1] = {NULL}, *inputs[CEL_PROBE_OPERANDS_MOST] = {NULL};
  for (int i = 0; i < d->n_operands; i++) inputs[i] = program->params[i].kind == CEL_PARAM_WEIGHT ? NULL : d->operands[i];
  cel_buffer *states[CEL_PROBE_OPERANDS_MOST] = {NULL};
  double start = cel_now_ms();
  CEL_TRY(b->driver->execute(x, states, inputs, results, err));
  d->run_ms = cel_now_ms() - start;
  memcpy(d->candidate, results[0], (size_t)cel_probe_elements(&p->result) * sizeof *d->candidate);
  return CEL_OK;
}

static cel_status run(const bench *b, const cel_probe *p, probed *d, cel_err *err) {
  cel_hlo_module *m;
  cel_program *program;
  CEL_TRY(cel_hlo_parse(cel_str_of(p->text), p->name, &m, err));
  CEL_TRY(cel_program_new(m, NULL, &program, err));
  cel_buffer *weights[CEL_PROBE_OPERANDS_MOST] = {NULL};
  cel_executable *x = NULL;
  double start = cel_now_ms();
  cel_status s = CEL_OK;
  if (program->n_params != d->n_operands || program->n_results != 1) {
    s = cel_fail(err, CEL_INVALID, "%s: @main takes %d operands, the probe has %d", p->name, program->n_params, d->n_operands);
  }
  if (s == CEL_OK) s = bind(b, program, d, weights, err);
  if (s == CEL_OK) s = b->driver->compile(b->engine, program, weights, &x, err);
  d->compile_ms = cel_now_ms() - start;
  if (s == CEL_OK) s = execute(b, p, program, x, d, err);
  b->driver->discard(x);
  for (int i = 0; i < CEL_PROBE_OPERANDS_MOST; i++) b->driver->release(weights[i]);
  cel_program_free(program);
  return s;
}

static cel_diag_array array_of(const cel_probe *p, const float *data) {
  cel_diag_array a = {.name = p->name, .dtype = "<f4", .rank = p->result.rank, .data = data};
  memcpy(a.dims, p->result.dims, sizeof p->result.dims);
  return a;
}

// Whether the probe could be run is the probe's own matter.
static cel_status probe(const bench *b, const cel_probe *p, probed *d, cel_err *err) {
  CEL_TRY(make_operands(p, d, err));
  if (run(b, p, d, &d->err) != CEL_OK) return CEL_OK;
  cel_diag_array reference = array_of(p, d->reference), candidate = array_of(p, d->candidate);
  return cel_compare(&reference, &candidate, &p->criterion, &d->comparison, err);
}

// ---- the report ----------------------------------------------------------------------------------------

static void text_member(cel_buf *b, const char *key, const char *value) {
  cel_buf_printf(b, ",\"%s\":", key);
  if (value && *value) cel_json_add_string(b, cel_str_of(value));
  else cel_buf_addz(b, "null");
}

static void digest(const void *data, size_t bytes, char out[CEL_SHA256_HEX_BYTES]) {
  cel_sha256 s;
  cel_sha256_init(&s);
  cel_sha256_add(&s, data, bytes);
  cel_sha256_end_hex(&s, out);
}

static void shape(cel_buf *b, const cel_probe_tensor *t) {
  cel_buf_addc(b, '[');
  for (int i = 0; i < t->rank; i++) cel_buf_printf(b, "%s%lld", i ? "," : "", (long long)t->dims[i]);
  cel_buf_addc(b, ']');
}

static void operands(cel_buf *b, const cel_probe *p, const probed *d) {
  cel_buf_addz(b, ",\"operands\":[");
  for (int i = 0; i < d->n_operands; i++) {
    const cel_probe_tensor *t = &p->operands[i];
    char hex[CEL_SHA256_HEX_BYTES];
    digest(d->operands[i], (size_t)cel_probe_elements(t) * 4, hex);
    cel_buf_printf(b, "%s{\"name\":\"%s\",\"shape\":", i ? "," : "", t->name);
    shape(b, t);
    cel_buf_printf(b, ",\"dtype\":\"%s\",\"sha256\":\"%s\"}", t->dtype, hex);
  }
  cel_buf_addc(b, ']');
}

// Who computed one side. Neither side's algorithm is observed: the reference is the contract, an engine's is its own matter.
static void side(cel_buf *b, const char *key, const char *runtime, const char *compiler, const char *flags, const char *target,
                 const char *device, const char *fingerprint) {
  cel_buf_printf(b, ",\"%s\":{\"runtime\":", key);
  cel_json_add_string(b, cel_str_of(runtime));
  text_member(b, "revision", CEL_VERSION);
  text_member(b, "patch", NULL);
  text_member(b, "compiler", compiler);
  text_member(b, "flags", flags);
  text_member(b, "target", target);
  text_member(b, "device", device);
  text_member(b, "artifact_fingerprint", fingerprint);
  cel_buf_addz(b, ",\"algorithm_observed\":false}");
}

static void sides(cel_buf *b, const bench *e, const cel_probe *p) {
  char hex[CEL_SHA256_HEX_BYTES];
  digest(p->text, strlen(p->text), hex);
  const cel_engine_description *a = &e->about;
  side(b, "reference", "mlxcel f32 reference", NULL, p->contract, NULL, "cpu", NULL);
  side(b, "candidate", a->engine, a->version, a->precision, a->target && *a->target ? a->target : a->isa, a->device, hex);
}

static void report(cel_buf *b, const bench *e, const cel_probe *p, const probed *d, bool first) {
  char hex[CEL_SHA256_HEX_BYTES];
  digest(p->contract, strlen(p->contract), hex);
  cel_buf_printf(b, "%s{\"schema\":\"" SCHEMA "\",\"probe\":\"%s\"", first ? "" : ",\n", p->name);
  text_member(b, "operation", p->operation);
  text_member(b, "claim", p->claim);
  operands(b, p, d);
  text_member(b, "contract", p->contract);
  text_member(b, "contract_sha256", hex);
  sides(b, e, p);
  cel_buf_addz(b, ",\"output_shape\":");
  shape(b, &p->result);
  cel_buf_addz(b, ",\"criterion\":");
  cel_criterion_json(&p->criterion, b);
  cel_buf_addz(b, ",\"comparison\":");
  if (d->err.status == CEL_OK) {
    cel_buf_addc(b, '{');
    cel_comparison_json(&d->comparison, p->result.rank, b);
    cel_buf_addc(b, '}');
  } else {
    cel_buf_addz(b, "null");
  }
  text_member(b, "error", d->err.text);
  cel_buf_addz(b, ",\"timing\":{\"compile_ms\":");
  cel_json_add_number(b, d->compile_ms);
  cel_buf_addz(b, ",\"run_ms\":");
  cel_json_add_number(b, d->run_ms);
  cel_buf_printf(b, "},\"passed\":%s,\"production_qualified\":false}", d->err.status == CEL_OK && d->comparison.passed ? "true" : "false");
}

static void say(cel_buf *b, const cel_probe *p, const probed *d) {
  const cel_comparison *c = &d->comparison;
  if (d->err.status != CEL_OK) {
    cel_buf_printf(b, "FAILED %-18s %s\n", p->name, d->err.text);
    return;
  }
  cel_buf_printf(b, "%-6s %-18s %lld of %lld bit patterns equal, max abs %.3g, max ulp %lld", c->passed ? "ok" : "FAILED", p->name,
                 (long long)(c->n - c->unequal_bits), (long long)c->n, c->max_abs, (long long)c->max_ulp);
  if (!c->passed) {
    cel_buf_printf(b, "; element %lld: reference %.9g (0x%08X), candidate %.9g (0x%08X)", (long long)c->first.at, c->first.reference,
                   c->first.reference_bits, c->first.candidate, c->first.candidate_bits);
  }
  cel_buf_addc(b, '\n');
}

// ---- all of them ---------------------------------------------------------------------------------------

static void drop(probed *d) {
  for (int i = 0; i < d->n_operands; i++) free(d->operands[i]);
  free(d->reference);
  free(d->candidate);
}

static cel_status run_all(const bench *b, bool text, cel_buf *out, cel_xla_micro_counts *counts, cel_err *err) {
  cel_status s = CEL_OK;
  if (!text) cel_buf_addc(out, '[');
  for (int i = 0; s == CEL_OK && i < cel_n_probes; i++) {
    probed d = {.operands = {NULL}};
    s = probe(b, &cel_probes[i], &d, err);
    bool passed = s == CEL_OK && d.err.status == CEL_OK && d.comparison.passed;
    counts->passed += passed;
    counts->failed += !passed;
    if (s == CEL_OK && text) say(out, &cel_probes[i], &d);
    if (s == CEL_OK && !text) report(out, b, &cel_probes[i], &d, i == 0);
    drop(&d);
  }
  if (!text) cel_buf_addz(out, "]\n");
  return s;
}

cel_status cel_xla_micro_oracle(const cel_xla_micro_options *options, bool text, cel_buf *out, cel_xla_micro_counts *counts, cel_err *err) {
  cel_xla_options x;
  bench b = {0};
  const char *rest;
  *counts = (cel_xla_micro_counts){0};
  CEL_TRY(cel_xla_options_read(&x, err));
  CEL_TRY(cel_engine_find(options->device ? options->device : x.device, &b.driver, &rest, err));
  cel_engine_options o = {.device = rest, .precision = "f32", .n_threads = options->n_threads,
                          .plugin_folders = x.plugin_folders, .plugin_options = x.plugin_options, .compiler = x.compiler,
                          .rocm_target = x.rocm_target};
  CEL_TRY(b.driver->open(&o, &b.engine, err));
  b.driver->describe(b.engine, &b.about);
  cel_status s = run_all(&b, text, out, counts, err);
  b.driver->close(b.engine);
  return s;
}
