#include "backend/xla/xla_buckets.h"

#include <string.h>

#include "base/env.h"

// ---- choosing ------------------------------------------------------------------------------------------

// Ascending, without duplicates, none above `most`, which takes the place of those that were.
static void set_buckets(cel_xla_model *m, const int64_t *list, int n, int64_t most) {
  m->n_buckets = 0;
  for (int i = 0; i < n; i++) {
    int64_t c = CEL_MIN(list[i], most);
    if (m->n_buckets && m->buckets[m->n_buckets - 1].capacity >= c) continue;
    m->buckets[m->n_buckets++] = (cel_xla_bucket){.capacity = c};
  }
  m->base.capacity = m->buckets[m->n_buckets - 1].capacity;
}

// Where all of a cache is taken at once, nobody gets the whole of a long context unasked.
static int64_t one_capacity(const cel_xla_model *m, const cel_load_options *o, const cel_xla_options *x) {
  enum { EAGER_CAPACITY = 4096, UNASKED_CAPACITY = 1 << 20 };
  if (x->capacity > 0) return o->context > 0 ? CEL_MIN(o->context, x->capacity) : x->capacity;
  if (o->context > 0) return CEL_MIN(o->context, CEL_XLA_CAPACITY_MOST);
  int64_t n = CEL_MIN(cel_sequence_limit(&m->base.arch), UNASKED_CAPACITY);
  return m->driver->lazy_states ? n : CEL_MIN(n, EAGER_CAPACITY);
}

cel_status cel_xla_choose_buckets(cel_xla_model *m, const cel_load_options *o, const cel_xla_options *x, cel_err *err) {
  if (x->n_buckets > 1 && x->capacity == 0) {  // a capacity pins one
    if (!m->driver->move_row) {
      return cel_fail(err, CEL_UNSUPPORTED, "MLXCEL_XLA_CONTEXT_BUCKETS: the engine %s cannot move a session from one capacity to "
                      "another; set MLXCEL_XLA_CONTEXT_CAPACITY", m->driver->name);
    }
    set_buckets(m, x->buckets, x->n_buckets, o->context > 0 ? o->context : CEL_XLA_CAPACITY_MOST);
    return CEL_OK;
  }
  cel_xla_options one = *x;
  if (x->n_buckets == 1 && x->capacity == 0) one.capacity = x->buckets[0];
  int64_t capacity = one_capacity(m, o, &one);
  set_buckets(m, &capacity, 1, capacity);
  return CEL_OK;
}

bool cel_xla_take_buckets(cel_xla_model *m, const char *text) {
  int64_t list[CEL_XLA_BUCKETS_MOST];
  int n;
  if (!cel_env_read_integers(CEL_ENV_XLA_CONTEXT_BUCKETS, text, list, CEL_XLA_BUCKETS_MOST, &n)) return false;
  set_buckets(m, list, n, CEL_XLA_CAPACITY_MOST);
  return true;
}

void cel_xla_buckets_text(const cel_xla_model *m, cel_buf *out) {
  for (int i = 0; i < m->n_buckets; i++) cel_buf_printf(out, "%s%lld", i ? "," : "", (long long)m->buckets[i].capacity);
}

int cel_xla_bucket_of_capacity(const cel_xla_model *m, int64_t capacity) {
  for (int i = 0; i < m->n_buckets; i++) {
    if (m->buckets[i].capacity == capacity) return i;
  }
  return -1;
}

// ---- states --------------------------------------------------------------------------------------------

static cel_status make_state(cel_xla_model *m, cel_xla_bucket *b, cel_state which, cel_err *err) {
  cel_state_shape shape = cel_state_shape_of(&m->base.arch, which, m->base.n_rows, b->capacity, m->kv);
  if (shape.dims[0] == 0) return CEL_OK;
  cel_hlo_module *types;  // a state's type has to live somewhere
  CEL_TRY(cel_hlo_module_new(shape.name, &types, err));
  const cel_hlo_type *t = cel_hlo_tensor(types, shape.type, 5, shape.dims);
  cel_status s = t ? CEL_OK : cel_fail(err, CEL_TOO_LONG, "the state %s of %lld tokens and %d rows has more bytes than can be counted",
                                       shape.name, (long long)b->capacity, m->base.n_rows);
  int shard = cel_state_shard(&m->base.arch, which, m->n_devices);
  if (s == CEL_OK && shard < 0) s = m->driver->state(m->engine, t, &b->states[which], err);
  if (s == CEL_OK && shard >= 0) s = m->driver->state_split(m->engine, t, shard, &b->states[which], err);
  cel_hlo_module_free(types);
  return s;
}

static void release(cel_xla_model *m, cel_xla_bucket *b) {
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    m->driver->release(b->states[i]);
    b->states[i] = NULL;
  }
  b->open = false;
}

cel_status cel_xla_bucket_open(cel_xla_model *m, int bucket, cel_err *err) {
  cel_xla_bucket *b = &m->buckets[bucket];
  for (int i = 0; i < CEL_STATE_COUNT && !b->open; i++) {
    cel_status s = make_state(m, b, (cel_state)i, err);
    if (s == CEL_OK) continue;
    release(m, b);
    return s;
  }
  b->open = true;
  return CEL_OK;
}

void cel_xla_buckets_release(cel_xla_model *m) {
  for (int i = 0; i < m->n_buckets; i++) release(m, &m->buckets[i]);
}

// ---- rows ----------------------------------------------------------------------------------------------

// Of several buckets, one that nobody is in gives its memory back; the only one keeps it.
static void leave_empty(cel_xla_model *m, int bucket) {
  if (m->n_buckets == 1) return;
  for (int i = 0; i < m->base.n_rows; i++) {
    if (m->bucket_of[i] == bucket) return;
  }
  release(m, &m->buckets[bucket]);
}

static cel_status move(cel_xla_model *m, int row, int from, int to, int64_t n_kv, cel_err *err) {
  CEL_TRY(cel_xla_bucket_open(m, to, err));
  for (int i = 0; n_kv > 0 && i < CEL_STATE_COUNT; i++) {
    if (!m->buckets[from].states[i]) continue;
    cel_state_shape s = cel_state_shape_of(&m->base.arch, (cel_state)i, m->base.n_rows, m->buckets[from].capacity, m->kv);
    int64_t n = s.by_position ? n_kv : s.dims[3];
    CEL_TRY(m->driver->move_row(m->buckets[from].states[i], m->buckets[to].states[i], row, n, err));
  }
  return CEL_OK;
}

static int smallest_for(const cel_xla_model *m, int64_t wanted) {
  int i = 0;
  while (i < m->n_buckets - 1 && m->buckets[i].capacity < wanted) i++;
  return i;
}

cel_status cel_xla_bucket_settle(cel_xla_model *m, int row, int64_t n_kv, int64_t end, int64_t wanted, cel_err *err) {
  int from = m->bucket_of[row];
  if (from >= 0 && n_kv > 0 && m->buckets[from].capacity >= end) return CEL_OK;
  int to = smallest_for(m, CEL_MAX(end, wanted));
  if (to == from) return CEL_OK;
  if (from < 0) CEL_TRY(cel_xla_bucket_open(m, to, err));
  else CEL_TRY(move(m, row, from, to, n_kv, err));
  m->bucket_of[row] = (int8_t)to;
  if (from < 0) return CEL_OK;
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (m->buckets[from].states[i]) m->driver->forget_row(m->buckets[from].states[i], row);
  }
  leave_empty(m, from);
  return CEL_OK;
}

void cel_xla_bucket_leave(cel_xla_model *m, int row) {
  int from = m->bucket_of[row];
  if (from < 0) return;
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (m->buckets[from].states[i]) m->driver->forget_row(m->buckets[from].states[i], row);
  }
  m->bucket_of[row] = -1;
  leave_empty(m, from);
}

cel_status cel_xla_bucket_join(cel_xla_model *m, int from, int to, cel_err *err) {
  int bucket = m->bucket_of[from];
  if (bucket < 0 || m->bucket_of[to] == bucket) return CEL_OK;
  cel_xla_bucket_leave(m, to);
  CEL_TRY(cel_xla_bucket_open(m, bucket, err));
  m->bucket_of[to] = (int8_t)bucket;
  return CEL_OK;
}

cel_status cel_xla_bucket_try_moves(cel_xla_model *m, cel_err *err) {
  for (int to = 1; to < m->n_buckets; to++) {
    for (int from = 0; from < to; from++) {
      CEL_TRY(cel_xla_bucket_open(m, from, err));
      CEL_TRY(move(m, 0, from, to, 1, err));
    }
  }
  return CEL_OK;
}
