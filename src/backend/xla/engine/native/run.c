#include "backend/xla/engine/native/run.h"

#include <string.h>

#include "backend/xla/engine/native/ref/ref.h"
#include "backend/xla/engine/native/run_member.h"

// ---- products --------------------------------------------------------------------------------------

// Rows of all matrices of a step, counted on from one to the next.
static void multiply_rows(const member *m, const cel_step *s, range rows, const uint8_t *packed, void *scratch) {
  const cel_kernels *k = &m->r->plan->kernels;
  int64_t before = 0;
  for (int i = 0; i < s->u.linear.n; i++) {
    const cel_linear *w = &s->u.linear.w[i];
    int64_t begin = CEL_MAX(rows.begin - before, 0), end = CEL_MIN(rows.end - before, w->rows);
    before += w->rows;
    if (begin >= end) continue;
    k->linear_mul(w, packed, s->u.linear.pack_bytes, s->u.linear.tokens, at(m, s->u.linear.y[i]), w->rows, begin, end, scratch);
  }
}

// Cores differ in speed, by what else they run: each member begins with its own share of the rows, piece by piece.
static void multiply(const member *m, const cel_step *s, const uint8_t *packed, void *scratch) {
  enum { PIECES = 32 };  // at most, of a member
  const int tile = cel_linear_row_tile(&s->u.linear.w[0]), grain = s->u.linear.tokens > 8 ? 4 * tile : tile;
  cel_pool_piece piece;
  range all = {0, 0};
  for (int i = 0; i < s->u.linear.n; i++) all.end += s->u.linear.w[i].rows;
  if (m->n == 1) {
    multiply_rows(m, s, all, packed, scratch);
    return;
  }
  const int64_t each = (all.end + m->n - 1) / m->n, grains = (each + grain - 1) / grain;
  const int pieces = (int)CEL_MIN(PIECES, CEL_MAX(grains, 1));
  while (cel_pool_take(m->r->pool, m->index, (uint16_t)m->step, pieces, &piece))
    multiply_rows(m, s, part(part(all, piece.owner, m->n, tile), piece.index, pieces, grain), packed, scratch);
}

static void run_linear(const member *m, const cel_step *s) {
  const cel_kernels *k = &m->r->plan->kernels;
  const cel_linear *w = &s->u.linear.w[0];
  const float *x = at(m, s->in[0]);
  int64_t tokens = s->u.linear.tokens, bytes = s->u.linear.pack_bytes;
  if (s->u.linear.private_pack) {
    k->linear_pack(w, x, w->cols, tokens, m->scratch, bytes);
    multiply(m, s, m->scratch, m->scratch + bytes * tokens);
    return;
  }
  uint8_t *packed = at(m, s->scratch_slot);
  range mine = share(m, false, tokens, 1);
  k->linear_pack(w, x + mine.begin * w->cols, w->cols, mine.end - mine.begin, packed + mine.begin * bytes, bytes);
  cel_pool_barrier(m->r->pool, m->index);
  multiply(m, s, packed, m->scratch);
}

static void run_embed(const member *m, const cel_step *s) {
  const cel_linear *w = &s->u.embed.w;
  const int32_t *ids = at(m, s->in[0]);
  float *y = at(m, s->out[0]);
  range mine = share(m, s->solo, s->u.embed.tokens, 1);
  for (int64_t t = mine.begin; t < mine.end; t++) {
    int64_t id = ids[t] < 0 ? 0 : ids[t] >= w->rows ? w->rows - 1 : ids[t];  // a gather clamps
    m->r->plan->kernels.linear_row(w, id, y + t * w->cols);
  }
}

// ---- blocks ----------------------------------------------------------------------------------------

static void run_norm(const member *m, const cel_step *s) {
  const float *x = at(m, s->in[0]), *w = at(m, s->in[1]);
  float *y = at(m, s->out[0]);
  int64_t n = s->u.norm.n;
  range mine = share(m, s->solo, s->u.norm.rows, 1);
  for (int64_t r = mine.begin; r < mine.end; r++) {
    m->r->plan->kernels.rms_norm(y + r * n, x + r * n, w, s->u.norm.plus, s->u.norm.eps, n);
  }
}

static void run_layer_norm(const member *m, const cel_step *s) {
  const float *x = at(m, s->in[0]), *w = s->u.norm.weight_rows ? at(m, s->in[1]) : NULL;
  const float *bias = s->u.norm.biased ? at(m, s->in[2]) : NULL;
  float *y = at(m, s->out[0]);
  int64_t n = s->u.norm.n;
  range mine = share(m, s->solo, s->u.norm.rows, 1);
  for (int64_t r = mine.begin; r < mine.end; r++) {
    const float *row = w ? w + r % s->u.norm.weight_rows * n : NULL;
    m->r->plan->kernels.layer_norm(y + r * n, x + r * n, row, bias, s->u.norm.eps, n);
  }
}

static void run_rope(const member *m, const cel_step *s) {
  const float *x = at(m, s->in[0]), *cs = at(m, s->in[1]), *sn = at(m, s->in[2]);
  float *y = at(m, s->out[0]);
  int64_t width = (int64_t)s->u.rope.heads * s->u.rope.d, half = s->u.rope.dims / 2;
  range mine = share(m, s->solo, s->u.rope.tokens, 1);
  for (int64_t t = mine.begin; t < mine.end; t++) {
    m->r->plan->kernels.rope(y + t * width, x + t * width, cs + t * half, sn + t * half, s->u.rope.heads, s->u.rope.d,
                             s->u.rope.dims, s->u.rope.interleaved);
  }
}

static void run_gated(const member *m, const cel_step *s) {
  const cel_kernels *k = &m->r->plan->kernels;
  const float *gate = at(m, s->in[0]), *up = at(m, s->in[1]);
  float *y = at(m, s->out[0]);
  range mine = share(m, s->solo, s->u.gated.n, 64);
  if (mine.begin >= mine.end) return;
  (s->u.gated.gelu ? k->gelu_tanh_mul : k->silu_mul)(y + mine.begin, gate + mine.begin, up + mine.begin, mine.end - mine.begin);
}

static void keep(const member *m, cel_kv kv, void *to, const float *x, int64_t n) {
  switch (kv) {
    case CEL_KV_F32: memcpy(to, x, (size_t)n * sizeof *x); break;
    case CEL_KV_F16: m->r->plan->kernels.narrow_f16(to, x, n); break;
    case CEL_KV_I16: m->r->plan->kernels.narrow_i16(to, x, n); break;
    case CEL_KV_I8: m->r->plan->kernels.narrow_i8(to, x, n); break;
    case CEL_KV_KINDS: break;
  }
}

// Writes each token's heads at (layer, slot, head, position); what lies outside the cache is dropped, as the
// scatter of the decomposition does.
static void run_append(const member *m, const cel_step *s) {
  const int64_t *d = s->u.append.cache->dims;
  char *cache = at(m, s->in[0]);
  const float *fresh = at(m, s->in[1]);
  const int32_t *slots = at(m, s->in[2]), *positions = at(m, s->in[3]);
  range mine = share(m, s->solo, s->u.append.tokens, 1);
  for (int64_t t = mine.begin; t < mine.end; t++) {
    int64_t slot = slots[s->u.append.slot_per_token ? t : 0], position = positions[t];
    if (slot < 0 || slot >= d[1] || position < 0 || position >= d[3]) continue;
    for (int64_t h = 0; h < d[2]; h++) {
      int64_t element = ((((s->u.append.layer * d[1]) + slot) * d[2] + h) * d[3] + position) * d[4];
      keep(m, s->u.append.kv, cache + element * cel_kv_bytes(s->u.append.kv), fresh + (t * d[2] + h) * s->u.append.d, s->u.append.d);
    }
  }
}

static void run_attention(const member *m, const cel_step *s) {
  cel_attention a = s->u.attention.a;
  const int64_t *d = s->u.attention.cache->dims;
  int64_t layer = s->u.attention.layer * d[1] * d[2] * d[3] * d[4];
  a.q = at(m, s->in[0]);
  layer *= cel_kv_bytes(a.kv);
  a.k = (const char *)at(m, s->in[1]) + layer;
  a.v = (const char *)at(m, s->in[2]) + layer;
  a.slots = at(m, s->in[3]);
  a.positions = at(m, s->in[4]);
  if (s->n_in > 6) a.sinks = at(m, s->in[6]);
  a.out = at(m, s->out[0]);
  a.workers = m->n;
  // Late queries see more keys than early ones: items are dealt out in turn, not in halves.
  const int64_t items = cel_attention_items(&a), turns = (items + m->n - 1) / m->n;
  const int pieces = (int)CEL_MIN(turns, CEL_POOL_MOST_PIECES);
  cel_pool_piece piece;
  while (cel_pool_take(m->r->pool, m->index, (uint16_t)m->step, pieces, &piece)) {
    for (int64_t turn = piece.index; turn < turns; turn += pieces) {
      const int64_t i = turn * m->n + piece.owner;
      if (i < items) m->r->plan->kernels.attention(&a, i, i + 1, m->scratch);
    }
  }
}

// ---- recurrent states ------------------------------------------------------------------------------

static void run_short_conv(const member *m, const cel_step *s) {
  cel_short_conv c = s->u.conv.c;
  c.u = at(m, s->in[0]);
  c.weight = at(m, s->in[1]);
  c.state = (float *)at(m, s->in[2]) + s->u.conv.layer * c.rows * c.slot_stride;
  c.slots = at(m, s->in[3]);
  c.y = at(m, s->out[0]);
  range mine = share(m, s->solo, c.channels, 64);
  if (mine.begin < mine.end) m->r->plan->kernels.short_conv(&c, mine.begin, mine.end);
}

static void run_delta(const member *m, const cel_step *s) {
  cel_gated_delta d = s->u.delta.d;
  d.q = at(m, s->in[0]);
  d.k = at(m, s->in[1]);
  d.v = at(m, s->in[2]);
  d.g = at(m, s->in[3]);
  d.beta = at(m, s->in[4]);
  d.state = (float *)at(m, s->in[5]) + s->u.delta.layer * d.rows * d.slot_stride;
  d.slots = at(m, s->in[6]);
  d.o = at(m, s->out[0]);
  range mine = share(m, s->solo, cel_delta_items(&d), 1);
  if (mine.begin < mine.end) m->r->plan->kernels.gated_delta(&d, mine.begin, mine.end);
}

// ---- elementwise -----------------------------------------------------------------------------------

enum { TILE = 256 };

static const float *operand(const member *m, const cel_operand *o, int64_t i, int64_t n, int64_t row, float *spare,
                            float *temps) {
  switch (o->view) {
    case CEL_VIEW_FULL:
      return (const float *)at(m, o->slot) + i;
    case CEL_VIEW_ROW:
      return (const float *)at(m, o->slot) + i % row;
    case CEL_VIEW_TEMP:
      return temps + o->temp * TILE;
    case CEL_VIEW_SPLAT:
    case CEL_VIEW_COLUMN:
      break;
  }
  float value = o->view == CEL_VIEW_SPLAT ? o->value : ((const float *)at(m, o->slot))[i / row];
  for (int64_t k = 0; k < n; k++) spare[k] = value;
  return spare;
}

static bool has_broadcast(const cel_step *s) {
  for (int i = 0; i < s->u.elementwise.n; i++) {
    const cel_micro *u = &s->u.elementwise.micros[i];
    if (u->a.view == CEL_VIEW_ROW || u->a.view == CEL_VIEW_COLUMN) return true;
    if (u->binary && (u->b.view == CEL_VIEW_ROW || u->b.view == CEL_VIEW_COLUMN)) return true;
  }
  return false;
}

static void tile(const member *m, const cel_step *s, int64_t i, int64_t n) {
  float *temps = (float *)(void *)m->scratch, *spare = temps + (int64_t)s->u.elementwise.n_temps * TILE;
  int64_t row = s->u.elementwise.row;
  for (int k = 0; k < s->u.elementwise.n; k++) {
    const cel_micro *u = &s->u.elementwise.micros[k];
    const float *a = operand(m, &u->a, i, n, row, spare, temps);
    float *y = temps + u->temp * TILE;
    if (u->binary) {
      u->binary(y, a, operand(m, &u->b, i, n, row, spare + TILE, temps), n);
    } else {
      u->unary(y, a, n);
    }
    if (u->slot >= 0) memcpy((float *)at(m, u->slot) + i, y, (size_t)n * sizeof *y);
  }
}

static void run_elementwise(const member *m, const cel_step *s) {
  range mine = share(m, s->solo, s->u.elementwise.elements, 64);
  int64_t row = has_broadcast(s) ? s->u.elementwise.row : INT64_MAX;
  for (int64_t i = mine.begin; i < mine.end;) {
    int64_t n = CEL_MIN((int64_t)TILE, mine.end - i);
    if (row != INT64_MAX) n = CEL_MIN(n, row - i % row);
    tile(m, s, i, n);
    i += n;
  }
}

// ---- the rest --------------------------------------------------------------------------------------

static void run_convert(const member *m, const cel_step *s) {
  const int32_t *x = at(m, s->in[0]);
  float *y = at(m, s->out[0]);
  int64_t n = cel_hlo_elements(m->r->plan->slots[s->out[0]].type);
  for (int64_t i = 0; i < n; i++) y[i] = (float)x[i];
}

static void run_slice_rows(const member *m, const cel_step *s) {
  int64_t start = *(const int32_t *)at(m, s->in[1]), most = s->u.slice.rows_in - s->u.slice.rows_out;
  start = start < 0 ? 0 : start > most ? most : start;  // a dynamic slice clamps
  memcpy(at(m, s->out[0]), (const char *)at(m, s->in[0]) + start * s->u.slice.row_bytes,
         (size_t)(s->u.slice.rows_out * s->u.slice.row_bytes));
}

static void run_slice_columns(const member *m, const cel_step *s) {
  const float *x = at(m, s->in[0]);
  float *y = at(m, s->out[0]);
  int64_t from = s->u.columns.from, to = s->u.columns.to, stride = s->u.columns.stride;
  range mine = share(m, s->solo, s->u.columns.rows, 1);
  for (int64_t r = mine.begin; r < mine.end; r++) {
    const float *row = x + r * from + s->u.columns.start;
    for (int64_t i = 0; i < to; i++) y[r * to + i] = row[i * stride];
  }
}

static void run_concat(const member *m, const cel_step *s) {
  const int64_t *bytes = s->u.concat.bytes;
  int64_t row = 0, at_column = 0;
  for (int i = 0; i < s->n_in; i++) row += bytes[i];
  range mine = share(m, s->solo, s->u.concat.outer, 1);
  for (int i = 0; i < s->n_in; at_column += bytes[i++]) {
    const char *x = at(m, s->in[i]);
    char *y = (char *)at(m, s->out[0]) + at_column;
    for (int64_t r = mine.begin; r < mine.end; r++) memcpy(y + r * row, x + r * bytes[i], (size_t)bytes[i]);
  }
}

static void run_reference(const member *m, const cel_step *s) {
  const cel_plan *p = m->r->plan;
  cel_ref_tensor in[8], out[8];
  for (int i = 0; i < s->n_in; i++) in[i] = (cel_ref_tensor){p->slots[s->in[i]].type, at(m, s->in[i])};
  for (int i = 0; i < s->n_out; i++) out[i] = (cel_ref_tensor){p->slots[s->out[i]].type, at(m, s->out[i])};
  cel_status status = cel_ref_op(p->program->module, s->u.reference, in, out, NULL, NULL, NULL, &m->r->err);
  if (status != CEL_OK && m->r->status == CEL_OK) m->r->status = status;
}

static void run_step(const member *m, const cel_step *s) {
  if (s->solo && m->index != 0) return;
  switch (s->kind) {
    case CEL_STEP_LINEAR: run_linear(m, s); break;
    case CEL_STEP_EMBED: run_embed(m, s); break;
    case CEL_STEP_RMS_NORM: run_norm(m, s); break;
    case CEL_STEP_LAYER_NORM: run_layer_norm(m, s); break;
    case CEL_STEP_ROPE: run_rope(m, s); break;
    case CEL_STEP_GATED: run_gated(m, s); break;
    case CEL_STEP_APPEND: run_append(m, s); break;
    case CEL_STEP_ATTENTION: run_attention(m, s); break;
    case CEL_STEP_SHORT_CONV: run_short_conv(m, s); break;
    case CEL_STEP_DELTA: run_delta(m, s); break;
    case CEL_STEP_ELEMENTWISE: run_elementwise(m, s); break;
    case CEL_STEP_CONVERT: run_convert(m, s); break;
    case CEL_STEP_SLICE_ROWS: run_slice_rows(m, s); break;
    case CEL_STEP_SLICE_COLUMNS: run_slice_columns(m, s); break;
    case CEL_STEP_CONCAT: run_concat(m, s); break;
    case CEL_STEP_HEADS: cel_run_heads(m, s); break;
    case CEL_STEP_TOP_K: cel_run_top_k(m, s); break;
    case CEL_STEP_EXPERTS: cel_run_experts(m, s); break;
    case CEL_STEP_REFERENCE: run_reference(m, s); break;
  }
}

static void work(void *context, int index, int n) {
  cel_run *r = context;
  member m = {.r = r, .index = index, .n = n, .scratch = r->scratch + index * r->scratch_stride};
  for (int i = 0; i < r->plan->n_steps; i++) {
    const cel_step *s = &r->plan->steps[i];
    m.step = i;
    if (s->barrier) cel_pool_barrier(r->pool, index);
    run_step(&m, s);
  }
}

cel_status cel_run_plan(cel_run *r, cel_err *err) {
  r->status = CEL_OK;
  cel_pool_run(r->pool, work, r);
  if (r->status != CEL_OK && err) *err = r->err;
  return r->status;
}
