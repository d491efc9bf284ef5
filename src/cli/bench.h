// What mlxcel bench measures beside the model: the machine it runs on, and how a former report compares.
#ifndef CEL_CLI_BENCH_H
#define CEL_CLI_BENCH_H

#include "base/json.h"
#include "base/str.h"
#include "generate/lm.h"

// ---- the machine (bench_machine.c): 0 where there is no memory or no thread for it ---------------------------

// Bytes per second all threads together read from memory, in 1e9, of several passes over 256 MiB. What a step is to be held against is
// the median, as a step's own time is none at best.
typedef struct bench_reading {
  double best, median;
} bench_reading;
bench_reading bench_read_gb_s(int n_threads);
// Products with their sums per second of all threads together, in 1e9, operands in registers, by the widest instructions of
// this processor: of f32, and of 16-bit integers into 32-bit sums. The best of several passes.
double bench_f32_gmul_s(int n_threads);
double bench_i16_gmul_s(int n_threads);

void bench_sort(double *v, int64_t n);  // the smallest first (cmd_bench.c)

// ---- the model (bench_work.c) --------------------------------------------------------------------------------

// Products with weights that a token takes, without the head's; attention multiplies beside them.
double bench_products(const cel_lm *lm);
// Of `all` bytes of weights, those that a decode step of `rows` sequences reads: no embedding tables but a row, and of stacks of
// experts what the sequences can choose at most.
double bench_step_bytes(const cel_lm *lm, int64_t rows, int64_t all);

// ---- a former report (bench_compare.c) -----------------------------------------------------------------------

// A figure of a report: a member of the JSON object.
typedef struct bench_figure {
  const char *key;
  double value;
} bench_figure;

enum { BENCH_ALWAYS = 2 };  // the first ones, which every report has
// Reads what `mlxcel bench --json` wrote; the caller owns *out. Refuses what is no such report, naming the member.
CEL_MUST_CHECK cel_status bench_load(const char *path, const bench_figure *figures, int n, cel_json **out, cel_err *err);
// This report over the former one, figure by figure: lines of text, or the members "compared" and "differs" (what was not the
// same for both: settings, a JSON object of this run). Figures the former one has not, or as 0, are left out.
void bench_compare(const cel_json *former, const char *path, const bench_figure *figures, int n, const cel_json *now, bool json,
                   cel_buf *b);

#endif
