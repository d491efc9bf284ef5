#include "model/write/encode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "model/tensor_list.h"
#include "model/write/quantize.h"

enum { BAND_VALUES = 2 << 20 };  // 8 MiB of f32 in all members' hands together

typedef struct band {
  const cel_move *move;
  int64_t first, n;                     // rows
  uint8_t *pieces[CEL_MOVE_PIECES];     // room for n rows of each
  float *scratch;                       // a row for each member, two where columns change places
  float *block;                         // for a turned segment: rows of its source, as many as the new tensor has columns
  const cel_segment *held;              // whose the block is, from source row held_row on; NULL: nobody's
  int64_t held_row;
  int64_t *bad;                         // [members]: a row that does not fit, -1
} band;

// ---- a row ------------------------------------------------------------------------------------------

// Which row of the source becomes row r.
static int64_t source_of(const cel_reorder *o, int64_t r) {
  if (o->kind == CEL_ROWS_AS_THEY_ARE || r < o->first) return r;
  int64_t head = (r - o->first) / o->width, k = (r - o->first) % o->width, half = o->width / 2;
  if (o->kind == CEL_ROWS_BY_TURNS) head = head % o->across * o->down + head / o->across;
  if (o->kind == CEL_ROWS_TO_NEIGHBOURS) k = k / 2 + k % 2 * half;
  if (o->kind == CEL_ROWS_TO_HALVES) k = k % half * 2 + k / half;
  return o->first + head * o->width + k;
}

static int64_t source_row(const cel_move *m, int64_t r) { return source_of(&m->rows, r); }

static bool all_finite(const float *x, int64_t n) {
  float all = 0;
  for (int64_t i = 0; i < n; i++) all += x[i] * 0;  // NaN once it has met a NaN or an infinity
  return all == 0;
}

// Values beyond F16 must not become infinite in silence; infinities that are there stay.
static bool fits(const float *x, cel_dtype type, int64_t n) {
  if (type != CEL_DT_F16) return true;
  for (int64_t i = 0; i < n; i++) {
    if (fabsf(x[i]) >= 65520 && isfinite(x[i])) return false;
  }
  return true;
}

static bool encode(const cel_move *m, float *x, uint8_t *const out[]) {
  const cel_scheme *s = &m->to;
  int64_t n = m->from.cols;
  if (s->kind == CEL_SCHEME_PLAIN) {
    cel_narrow(x, s->dtype, out[0], n);
    return fits(x, s->dtype, n);
  }
  if (!all_finite(x, n)) return false;
  if (s->kind == CEL_SCHEME_BLOCKS) {
    (s->dtype == CEL_DT_Q8_0 ? cel_quantize_q8_0 : cel_quantize_q4_0)(x, out[0], n);
    return true;
  }
  if (!fits(x, s->dtype, n)) return false;
  cel_round_to(x, s->dtype, n);
  if (s->kind == CEL_SCHEME_AFFINE) cel_quantize_affine(x, n, s->bits, s->group, s->dtype, out[0], out[1], out[2]);
  else cel_quantize_micro(x, n, s->bits, s->group, s->dtype, out[0], out[1]);
  return true;
}

// The segment row r comes from, and which of its own rows that is; of a turned one the first of the block.
static const cel_segment *find_segment(const cel_move *m, int64_t r, int64_t *row, int64_t *k) {
  const cel_segment *s = m->segments;
  int64_t group = r / m->group_rows;
  for (*k = r % m->group_rows; *k >= s->n; s++) *k -= s->n;
  int64_t within = s->run ? *k / s->run * s->jump + *k % s->run * s->step : *k * s->step;
  *row = group * s->stride + s->first + (s->turned ? 0 : within);
  return s;
}

// Rows of the source, all members together. Rows of a group follow one another, so each block is read once.
static void read_block(void *context, int member, int members) {
  band *b = context;
  const cel_move *m = b->move;
  int64_t cols = b->held->from.cols, n = m->from.cols, to = n * (member + 1) / members;
  for (int64_t i = n * member / members; i < to; i++) {
    const cel_segment *s = m->woven ? &m->segments[i % 2] : b->held;
    cel_weight_row(&s->from, b->held_row + (m->woven ? i / 2 : i), b->block + i * cols);
  }
}

static void read_row(const band *b, int64_t r, float *x) {
  const cel_move *m = b->move;
  int64_t at = source_row(m, r), row, k;
  if (m->computed) {
    memcpy(x, m->computed, (size_t)m->from.cols * sizeof *x);
  } else if (m->n_segments == 0) {
    cel_weight_row(&m->from, at, x);
  } else {
    const cel_segment *s = find_segment(m, at, &row, &k);
    for (int64_t i = 0; s->turned && i < m->from.cols; i++) x[i] = b->block[i * s->from.cols + k];
    if (!s->turned) cel_weight_row(&s->from, row, x);
  }
  for (int64_t i = 0; m->add != 0 && i < m->from.cols; i++) x[i] += m->add;
}

static void read_values(const band *b, int64_t r, float *x) {
  const cel_move *m = b->move;
  float *as_filed = m->columns.kind ? x + m->from.cols : x;
  read_row(b, r, as_filed);
  for (int64_t i = 0; m->columns.kind && i < m->from.cols; i++) x[i] = as_filed[source_of(&m->columns, i)];
}

static int64_t scratch_values(const cel_move *m) { return m->columns.kind ? 2 * m->from.cols : m->from.cols; }

// Rows that are kept, byte by byte; of a segment that is not turned.
static const void *row_bytes(const cel_move *m, int64_t r) {
  int64_t row, k;
  if (m->n_segments == 0) return cel_tensor_row(m->from.tensor, source_row(m, r), m->from.rows);
  const cel_segment *s = find_segment(m, source_row(m, r), &row, &k);
  return cel_tensor_row(s->from.tensor, row, s->from.rows);
}

static void encode_rows(void *context, int member, int members) {
  band *b = context;
  const cel_move *m = b->move;
  float *x = b->scratch + member * scratch_values(m);
  int64_t from = b->n * member / members, to = b->n * (member + 1) / members;
  b->bad[member] = -1;
  for (int64_t i = from; i < to; i++) {
    uint8_t *out[CEL_MOVE_PIECES];
    for (int k = 0; k < m->n_pieces; k++) out[k] = b->pieces[k] + i * m->row_bytes[k];
    if (m->to.kind == CEL_SCHEME_KEEP) {
      memcpy(out[0], row_bytes(m, b->first + i), (size_t)m->row_bytes[0]);
      continue;
    }
    read_values(b, b->first + i, x);
    if (!encode(m, x, out) && b->bad[member] < 0) b->bad[member] = b->first + i;
  }
}

static cel_status check_band(const band *b, int members, cel_err *err) {
  const cel_move *m = b->move;
  for (int i = 0; i < members; i++) {
    if (b->bad[i] < 0) continue;
    bool half = m->to.dtype == CEL_DT_F16;
    return cel_fail(err, CEL_INVALID, "%s: tensor \"%s\", row %lld: a value that is infinite, no number%s; it cannot be stored as "
                    "asked%s", m->from.tensor ? m->from.tensor->file : "(computed)", cel_show(cel_str_of(m->pieces[0].name)).text,
                    (long long)b->bad[i], half ? " or too large for F16" : "", half ? " (--dtype bf16 holds large ones)" : "");
  }
  return CEL_OK;
}

// ---- all of them ------------------------------------------------------------------------------------

typedef struct runner {
  cel_write_plan *plan;
  cel_out *out;
  const int *files;
  cel_pool *pool;
  const cel_write_watch *watch;
  int64_t done, total;
  band b;
  cel_err *err;
} runner;

static cel_status report(runner *r) {
  if (!r->watch || !r->watch->progress || r->watch->progress(r->watch->context, r->done, r->total)) return CEL_OK;
  return cel_fail(r->err, CEL_CANCELLED, "interrupted");
}

static int64_t values_of(const cel_move *m) { return m->from.rows * m->from.cols; }

static cel_status take_memory(runner *r, const cel_move *m, int64_t rows) {
  int members = cel_pool_members(r->pool);
  bool ok = true;
  for (int k = 0; k < m->n_pieces; k++) ok &= (r->b.pieces[k] = malloc((size_t)(rows * m->row_bytes[k]) + 1)) != NULL;
  int64_t cols = m->to.kind == CEL_SCHEME_KEEP ? 0 : m->from.cols;
  r->b.scratch = malloc((size_t)(cols ? scratch_values(m) : 0) * (size_t)members * sizeof(float) + 1);
  r->b.bad = malloc((size_t)members * sizeof *r->b.bad);
  int64_t block = 0;
  for (int i = 0; i < m->n_segments; i++) {
    if (m->segments[i].turned) block = CEL_MAX(block, cols * m->segments[i].from.cols);
  }
  if (block) ok &= (r->b.block = malloc((size_t)block * sizeof(float))) != NULL;
  return ok && r->b.scratch && r->b.bad ? CEL_OK : cel_fail_oom(r->err, "a band of rows");
}

static void drop_memory(band *b) {
  for (int k = 0; k < CEL_MOVE_PIECES; k++) free(b->pieces[k]);
  free(b->scratch);
  free(b->bad);
  free(b->block);
  *b = (band){0};
}

static cel_status write_band(runner *r, cel_move *m, cel_digest *digests) {
  for (int k = 0; k < m->n_pieces; k++) {
    int64_t bytes = r->b.n * m->row_bytes[k];
    cel_digest_add(&digests[k], r->b.pieces[k], bytes);
    CEL_TRY(cel_out_put(r->out, r->files[m->pieces[k].file], m->pieces[k].offset + r->b.first * m->row_bytes[k], r->b.pieces[k],
                        bytes, r->err));
  }
  return CEL_OK;
}

// Rows from `at` on that go together. Those of a turned segment do up to the end of its group; its block is read for them.
static int64_t begin_band(runner *r, const cel_move *m, int64_t at, int64_t rows) {
  int64_t row, k;
  rows = CEL_MIN(rows, m->from.rows - at);
  if (!r->b.block) return rows;
  const cel_segment *s = find_segment(m, at, &row, &k);
  if (s->turned && (r->b.held != s || r->b.held_row != row)) {
    r->b.held = s;
    r->b.held_row = row;
    cel_pool_run(r->pool, read_block, &r->b);
  }
  return CEL_MIN(rows, s->n - k);
}

static cel_status run_bands(runner *r, cel_move *m, int64_t rows) {
  cel_digest digests[CEL_MOVE_PIECES] = {{0}};
  CEL_TRY(take_memory(r, m, rows));
  r->b.move = m;
  for (int64_t at = 0; at < m->from.rows; at += r->b.n) {
    r->b.first = at;
    r->b.n = begin_band(r, m, at, rows);
    cel_pool_run(r->pool, encode_rows, &r->b);
    CEL_TRY(check_band(&r->b, cel_pool_members(r->pool), r->err));
    CEL_TRY(write_band(r, m, digests));
    r->done += r->b.n * m->from.cols;
    CEL_TRY(report(r));
  }
  for (int k = 0; k < m->n_pieces; k++) m->pieces[k].digest = cel_digest_end(&digests[k]);
  return CEL_OK;
}

static cel_status run_move(runner *r, cel_move *m) {
  int64_t rows = BAND_VALUES / CEL_MAX(m->from.cols, 1);
  for (int k = 0; k < m->n_pieces; k++) m->pieces[k].digest = cel_digest_end(&(cel_digest){0});
  if (values_of(m) == 0) return CEL_OK;
  rows = CEL_MAX(CEL_MIN(rows, m->from.rows), 1);
  cel_status s = run_bands(r, m, rows);
  drop_memory(&r->b);
  return s;
}

cel_status cel_write_plan_run(cel_write_plan *p, cel_out *out, const int *files, cel_pool *pool, const cel_write_watch *watch, cel_err *err) {
  runner r = {.plan = p, .out = out, .files = files, .pool = pool, .watch = watch, .err = err};
  for (int64_t i = 0; i < p->n; i++) r.total += values_of(&p->moves[i]);
  CEL_TRY(report(&r));
  for (int64_t i = 0; i < p->n; i++) CEL_TRY(run_move(&r, &p->moves[i]));
  return CEL_OK;
}
