// mlxcel bench: prefill and decode speed of one model, beside what the machine can read and multiply.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "cli/bench.h"
#include "cli/cli.h"

typedef struct figures {
  double prefill, decode, first_token_ms;
  double p50_ms, p95_ms;  // of the decode steps
} figures;

// ---- the model -------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

void bench_sort(double *v, int64_t n) { qsort(v, (size_t)n, sizeof *v, by_value); }

static double median(double *v, int n) {
  bench_sort(v, n);
  return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static cel_status step(const cel_lm *lm, cel_session **sessions, int rows, cel_event *events, cel_err *err) {
  CEL_TRY(lm->backend->step(lm->model, sessions, rows, events, err));
  for (int r = 0; r < rows; r++) {
    if (events[r].finish == CEL_FINISH_ERROR) {
      *err = events[r].err;
      return err->status;
    }
  }
  return CEL_OK;
}

static cel_status decode(const cli_options *o, const cel_lm *lm, cel_session **sessions, cel_event *events, figures *out,
                         cel_err *err) {
  int rows = (int)o->rows;
  int64_t n = o->bench_gen;
  double *times = malloc((size_t)n * sizeof *times);
  if (!times) return cel_fail_oom(err, "the times of steps");
  cel_status s = CEL_OK;
  double begin = cel_now_ms(), before = begin;
  for (int64_t i = 0; s == CEL_OK && i < n; i++) {
    s = step(lm, sessions, rows, events, err);
    double now = cel_now_ms();
    times[i] = now - before;
    before = now;
  }
  out->decode = 1000.0 * (double)(n * rows) / (before - begin);
  bench_sort(times, n);
  out->p50_ms = times[n / 2];
  out->p95_ms = times[(n * 95 + 99) / 100 - 1];
  free(times);
  return s;
}

static cel_status prefill(const cli_options *o, const cel_lm *lm, const cel_prompt *p, cel_session **sessions,
                          cel_event *events, figures *out, cel_err *err) {
  cel_session_options s = {.max_tokens = -1, .ignore_end = true};
  cel_sampling_init(&s.sampling);
  s.sampling.temperature = 0;  // the model is measured, not the draw
  double start = cel_now_ms();
  for (int r = 0; r < (int)o->rows; r++) {
    CEL_TRY(lm->backend->open(lm->model, &s, &sessions[r], err));
    CEL_TRY(lm->backend->prefill(sessions[r], p, err));
  }
  double ms = cel_now_ms() - start;
  out->prefill = 1000.0 * (double)(p->n * o->rows) / ms;
  CEL_TRY(step(lm, sessions, (int)o->rows, events, err));
  out->first_token_ms = (cel_now_ms() - start) / (double)o->rows;
  return CEL_OK;
}

static cel_status one_run(const cli_options *o, const cel_lm *lm, const cel_prompt *p, figures *out, cel_err *err) {
  cel_session **sessions = calloc((size_t)o->rows, sizeof *sessions);
  cel_event *events = calloc((size_t)o->rows, sizeof *events);
  cel_status s = sessions && events ? CEL_OK : cel_fail_oom(err, "sessions");
  if (s == CEL_OK) s = prefill(o, lm, p, sessions, events, out, err);
  if (s == CEL_OK && o->bench_gen > 0) s = decode(o, lm, sessions, events, out, err);
  for (int64_t r = 0; sessions && r < o->rows; r++) lm->backend->close(sessions[r]);
  free(sessions);
  free(events);
  return s;
}

static cel_status all_runs(const cli_options *o, const cel_lm *lm, figures *out, cel_err *err) {
  enum { RUNS_MOST = 100 };
  double prefills[RUNS_MOST], decodes[RUNS_MOST], firsts[RUNS_MOST], p50s[RUNS_MOST], p95s[RUNS_MOST];
  int32_t *ids = malloc((size_t)o->bench_prompt * sizeof *ids);
  if (!ids) return cel_fail_oom(err, "the prompt");
  for (int64_t i = 0; i < o->bench_prompt; i++) ids[i] = (int32_t)((40 + i % 200) % lm->arch.vocab);
  cel_prompt p = {.ids = ids, .n = o->bench_prompt};
  cel_status s = CEL_OK;
  int n = (int)CEL_MIN(CEL_MAX(o->runs, 1), RUNS_MOST);
  for (int i = 0; s == CEL_OK && i < n; i++) {
    figures f = {0};
    s = one_run(o, lm, &p, &f, err);
    prefills[i] = f.prefill;
    decodes[i] = f.decode;
    firsts[i] = f.first_token_ms;
    p50s[i] = f.p50_ms;
    p95s[i] = f.p95_ms;
  }
  free(ids);
  if (s != CEL_OK) return s;
  *out = (figures){median(prefills, n), median(decodes, n), median(firsts, n), median(p50s, n), median(p95s, n)};
  return CEL_OK;
}

// ---- the report ------------------------------------------------------------------------------------

typedef struct report {
  cel_description d;
  cel_memory_report m;
  bench_reading read;                     // what the machine can, in 1e9 a second
  double f32, i16;
  double step_bytes;                            // of weights that a decode step reads
  double used_read, used_prefill, used_decode;  // what the model did
  int64_t peak;                           // of the process before the probes took their own memory
} report;

// Integers multiply where activations are integers.
static double limit_of(const report *r) { return r->d.precision[0] == 'i' ? r->i16 : r->f32; }

static report measure(const cli_options *o, const cel_lm *lm, const figures *f) {
  report r = {.peak = cel_peak_rss_bytes()};
  lm->backend->describe(lm->model, &r.d);
  lm->backend->memory(lm->model, &r.m);
  int n_threads = r.d.n_threads > 0 ? r.d.n_threads : cel_cpu_cores();
  r.read = bench_read_gb_s(n_threads);
  r.f32 = bench_f32_gmul_s(n_threads);
  r.i16 = bench_i16_gmul_s(n_threads);
  double layers = bench_products(lm), head = (double)lm->arch.vocab * lm->arch.hidden;
  r.step_bytes = bench_step_bytes(lm, o->rows, r.m.weights_bytes);
  r.used_read = f->decode / (double)o->rows * r.step_bytes / 1e9;
  r.used_prefill = f->prefill * (layers + head / (double)o->bench_prompt) / 1e9;
  r.used_decode = f->decode * (layers + head) / 1e9;
  return r;
}

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static void in_words(const cli_options *o, const cel_lm *lm, const figures *f, const report *r, cel_buf *b) {
  const cel_description *d = &r->d;
  cel_buf_printf(b, "%s: %s %s, %s", lm->checkpoint->path, d->engine, *d->isa ? d->isa : d->device, d->precision);
  if (d->n_threads > 0) cel_buf_printf(b, ", %d threads", d->n_threads);  // others have their own
  cel_buf_printf(b, "\nprefill  %9.1f tok/s  (%lld tokens x %lld)\n", f->prefill, (long long)o->bench_prompt, (long long)o->rows);
  cel_buf_printf(b, "decode   %9.1f tok/s  (%lld tokens x %lld), a step %.2f ms, 95 %% within %.2f ms\n", f->decode,
                 (long long)o->bench_gen, (long long)o->rows, f->p50_ms, f->p95_ms);
  cel_buf_printf(b, "reads    %9.1f GB/s of weights in decode; the machine %.1f in the median (%.0f %%), %.1f at best (%.0f %%)\n", r->used_read,
                 r->read.median, percent(r->used_read, r->read.median), r->read.best, percent(r->used_read, r->read.best));
  cel_buf_printf(b, "products %9.1f G/s with weights in prefill, %.1f in decode;", r->used_prefill, r->used_decode);
  cel_buf_printf(b, " in registers the CPU does %.0f of i16, %.0f of f32 (%.0f %%)\n", r->i16, r->f32,
                 percent(r->used_prefill, limit_of(r)));
  cel_buf_printf(b, "load %.1f ms, first token %.1f ms, peak memory %.1f MiB\n", lm->open_ms + lm->load_ms, f->first_token_ms,
                 (double)r->peak / 1048576.0);
}

enum { FIGURES = 21 };

static void figures_of(const cel_lm *lm, const figures *f, const report *r, bench_figure *out) {
  const bench_figure all[FIGURES] = {
      {"prefill_tok_s", f->prefill}, {"decode_tok_s", f->decode}, {"step_p50_ms", f->p50_ms}, {"step_p95_ms", f->p95_ms},
      {"read_gb_s", r->read.best}, {"read_median_gb_s", r->read.median}, {"decode_gb_s", r->used_read},
      {"decode_of_read", percent(r->used_read, r->read.best) / 100},
      {"decode_of_read_median", percent(r->used_read, r->read.median) / 100},
      {"f32_gmul_s", r->f32}, {"i16_gmul_s", r->i16}, {"prefill_gmul_s", r->used_prefill}, {"decode_gmul_s", r->used_decode},
      {"prefill_of_gmul", percent(r->used_prefill, limit_of(r)) / 100}, {"load_ms", lm ? lm->open_ms + lm->load_ms : 0},
      {"first_token_ms", f->first_token_ms}, {"peak_rss", (double)r->peak}, {"weights_bytes", (double)r->m.weights_bytes},
      {"step_bytes", r->step_bytes},
      {"kv_bytes", (double)r->m.kv_bytes}, {"arena_bytes", (double)r->m.arena_bytes}};
  memcpy(out, all, sizeof all);
}

static void in_json(const bench_figure *all, const cel_json *settings, cel_buf *b) {
  cel_buf_addc(b, '{');
  for (int i = 0; i < FIGURES; i++) {
    bool whole = strstr(all[i].key, "_bytes") || !strcmp(all[i].key, "peak_rss");
    if (!whole) {
      cli_add_ms(b, all[i].key, all[i].value);
      continue;
    }
    cli_add_key(b, all[i].key);
    cel_buf_printf(b, "%.0f", all[i].value);
  }
  size_t k;
  cel_str name;
  cel_json *v;
  cel_json_object_foreach(settings, k, name, v) {
    cli_add_key(b, name.p);
    if (cel_json_is_string(v)) cel_json_add_string(b, cel_str_of(cel_json_string_value(v)));
    else cel_buf_printf(b, "%lld", (long long)cel_json_integer_value(v));
  }
}

// What a comparison should find the same.
static cel_json *settings_of(const cli_options *o, const cel_lm *lm, const report *r) {
  cel_json *s = cel_json_object(), *model = cel_json_string_of(lm->checkpoint->path);
  int bad = cel_json_object_set_new(s, "prompt", cel_json_integer(o->bench_prompt));
  bad |= cel_json_object_set_new(s, "generated", cel_json_integer(o->bench_gen));
  bad |= cel_json_object_set_new(s, "rows", cel_json_integer(o->rows));
  bad |= cel_json_object_set_new(s, "threads", cel_json_integer(r->d.n_threads));
  bad |= cel_json_object_set_new(s, "engine", cel_json_string_of(r->d.engine));
  bad |= cel_json_object_set_new(s, "isa", cel_json_string_of(r->d.isa));
  bad |= cel_json_object_set_new(s, "precision", cel_json_string_of(r->d.precision));
  if (model) bad |= cel_json_object_set_new(s, "model", model);  // a path need not be UTF-8
  if (!bad) return s;
  cel_json_decref(s);
  return NULL;
}

static cel_status say(const cli_options *o, const cel_lm *lm, const figures *f, const cel_json *former, cel_buf *b, cel_err *err) {
  report r = measure(o, lm, f);
  bench_figure all[FIGURES];
  figures_of(lm, f, &r, all);
  cel_json *settings = settings_of(o, lm, &r);
  if (!settings) return cel_fail_oom(err, "a report");
  if (o->json) in_json(all, settings, b);
  else in_words(o, lm, f, &r, b);
  if (former) bench_compare(former, o->bench_compare, all, FIGURES, settings, o->json, b);
  if (o->json) cel_buf_addz(b, "}\n");
  cel_json_decref(settings);
  return CEL_OK;
}

static int run(const cli_options *o, const cel_json *former, cel_err *err) {
  cel_lm *lm;
  int64_t context = o->context ? o->context : o->bench_prompt + o->bench_gen + 8;
  if (cli_open(o, true, false, (int)o->rows, context, &lm, err) != CEL_OK) return cli_fail(err);
  figures f;
  cel_buf b = {0};
  cel_status s = all_runs(o, lm, &f, err);
  if (s == CEL_OK) s = say(o, lm, &f, former, &b, err);
  int status = s == CEL_OK ? cli_print(&b, err) : cli_fail(err);
  if (s != CEL_OK) cel_buf_deinit(&b);
  cel_lm_close(lm);
  return status;
}

int cmd_bench(const cli_options *o) {
  if (!o->model) return cli_usage("give the model with -m");
  if (o->bench_prompt < 1 || o->bench_gen < 0 || o->rows < 1 || o->rows > 256) {
    return cli_usage("bench takes -p of at least 1, -n of at least 0 and -b from 1 to 256");
  }
  cel_err err = {0};
  cel_json *former = NULL;
  bench_figure names[FIGURES];
  figures_of(NULL, &(figures){0}, &(report){.d = {.precision = ""}}, names);
  if (o->bench_compare && bench_load(o->bench_compare, names, FIGURES, &former, &err) != CEL_OK) return cli_fail(&err);
  int status = run(o, former, &err);
  cel_json_decref(former);
  return status;
}
