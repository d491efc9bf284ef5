// mlxcel bench: prefill and decode speed of one model, beside what the machine can read.
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/pool.h"
#include "cli/cli.h"

typedef struct figures {
  double prefill, decode, first_token_ms;
  double p50_ms, p95_ms;  // of the decode steps
} figures;

// ---- read bandwidth --------------------------------------------------------------------------------

typedef struct reading {
  const uint64_t *data;
  int64_t words;
  uint64_t sums[256];
} reading;

static void read_share(void *context, int member, int n) {
  reading *r = context;
  int64_t begin = r->words / n * member, end = member == n - 1 ? r->words : begin + r->words / n;
  uint64_t s[8] = {0};
  for (int64_t i = begin; i + 8 <= end; i += 8) {
    for (int k = 0; k < 8; k++) s[k] += r->data[i + k];
  }
  r->sums[member] = s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7];
}

// Bytes per second all threads together read from memory: the best of several passes over 256 MiB.
static double read_gb_s(int n_threads) {
  enum { BYTES = 256 << 20, PASSES = 7 };
  cel_pool *pool;
  cel_err err;
  reading r = {.words = BYTES / 8};
  uint64_t *data = malloc(BYTES);
  if (!data || cel_pool_new(n_threads, &pool, &err) != CEL_OK) {
    free(data);
    return 0;
  }
  memset(data, 1, BYTES);
  r.data = data;
  double best = 0;
  for (int i = 0; i < PASSES; i++) {
    double start = cel_now_ms();
    cel_pool_run(pool, read_share, &r);
    double ms = cel_now_ms() - start;
    if (ms > 0 && BYTES / ms / 1e6 > best) best = BYTES / ms / 1e6;
  }
  cel_pool_free(pool);
  free(data);
  return best;
}

// ---- the model -------------------------------------------------------------------------------------

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *v, int n) {
  qsort(v, (size_t)n, sizeof *v, by_value);
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
  qsort(times, (size_t)n, sizeof *times, by_value);
  out->p50_ms = times[n / 2];
  out->p95_ms = times[(n * 95 + 99) / 100 - 1];
  free(times);
  return s;
}

static cel_status prefill(const cli_options *o, const cel_lm *lm, const cel_prompt *p, cel_session **sessions,
                          cel_event *events, figures *out, cel_err *err) {
  cel_session_options s = {.max_tokens = -1, .ignore_end = true};
  cel_sampling_init(&s.sampling);
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

// `peak`: of the process before the bandwidth probe took its own memory.
static void report(const cli_options *o, const cel_lm *lm, const figures *f, double gb_s, int64_t peak, cel_buf *b) {
  cel_description d;
  cel_memory_report m;
  lm->backend->describe(lm->model, &d);
  lm->backend->memory(lm->model, &m);
  double rate = f->decode / (double)o->rows, used = rate * (double)m.weights_bytes / 1e9;
  if (!o->json) {
    cel_buf_printf(b, "%s: %s %s, %s", lm->checkpoint->path, d.engine, *d.isa ? d.isa : d.device, d.precision);
    if (d.n_threads > 0) cel_buf_printf(b, ", %d threads", d.n_threads);  // others have their own
    cel_buf_addz(b, "\n");
    cel_buf_printf(b, "prefill  %9.1f tok/s  (%lld tokens x %lld)\n", f->prefill, (long long)o->bench_prompt, (long long)o->rows);
    cel_buf_printf(b, "decode   %9.1f tok/s  (%lld tokens x %lld), a step %.2f ms, 95 %% within %.2f ms\n", f->decode,
                   (long long)o->bench_gen, (long long)o->rows, f->p50_ms, f->p95_ms);
    cel_buf_printf(b, "reads    %9.1f GB/s of weights in decode, %.1f GB/s the machine's best (%.0f %%)\n", used, gb_s,
                   gb_s > 0 ? 100 * used / gb_s : 0);
    cel_buf_printf(b, "load %.1f ms, first token %.1f ms, peak memory %.1f MiB\n", lm->open_ms + lm->load_ms, f->first_token_ms,
                   (double)peak / 1048576.0);
    return;
  }
  cel_buf_addc(b, '{');
  cli_add_ms(b, "prefill_tok_s", f->prefill);
  cli_add_ms(b, "decode_tok_s", f->decode);
  cli_add_ms(b, "step_p50_ms", f->p50_ms);
  cli_add_ms(b, "step_p95_ms", f->p95_ms);
  cli_add_ms(b, "read_gb_s", gb_s);
  cli_add_ms(b, "decode_gb_s", used);
  cli_add_ms(b, "load_ms", lm->open_ms + lm->load_ms);
  cli_add_ms(b, "first_token_ms", f->first_token_ms);
  cel_buf_printf(b, ",\"peak_rss\":%lld,\"prompt\":%lld,\"generated\":%lld,\"rows\":%lld,\"threads\":%d", (long long)peak,
                 (long long)o->bench_prompt, (long long)o->bench_gen, (long long)o->rows, d.n_threads);
  cel_buf_printf(b, ",\"weights_bytes\":%lld,\"kv_bytes\":%lld,\"arena_bytes\":%lld", (long long)m.weights_bytes,
                 (long long)m.kv_bytes, (long long)m.arena_bytes);
  cli_add_key(b, "engine");
  cel_json_add_string(b, cel_str_of(d.engine));
  cli_add_key(b, "isa");
  cel_json_add_string(b, cel_str_of(d.isa));
  cli_add_key(b, "precision");
  cel_json_add_string(b, cel_str_of(d.precision));
  cel_buf_addz(b, "}\n");
}

int cmd_bench(const cli_options *o) {
  if (!o->model) return cli_usage("give the model with -m");
  if (o->bench_prompt < 1 || o->bench_gen < 0 || o->rows < 1 || o->rows > 256) {
    return cli_usage("bench takes -p of at least 1, -n of at least 0 and -b from 1 to 256");
  }
  cel_err err = {0};
  cel_lm *lm;
  int64_t context = o->context ? o->context : o->bench_prompt + o->bench_gen + 8;
  if (cli_open(o, true, false, (int)o->rows, context, &lm, &err) != CEL_OK) return cli_fail(&err);
  figures f;
  int status = EXIT_OK;
  if (all_runs(o, lm, &f, &err) != CEL_OK) {
    status = cli_fail(&err);
  } else {
    cel_buf b = {0};
    cel_description d;
    lm->backend->describe(lm->model, &d);
    int64_t peak = cel_peak_rss_bytes();
    report(o, lm, &f, read_gb_s(d.n_threads > 0 ? d.n_threads : cel_cpu_cores()), peak, &b);
    status = cli_print(&b, &err);
  }
  cel_lm_close(lm);
  return status;
}
