// Context buckets: on engines whose programs have fixed shapes, states of a few capacities. A sequence's row is in one
// bucket at a time, the smallest that holds its prompt and the new tokens asked for; where it outgrows that, its states are
// copied to the next. Programs and states of a bucket are made when a row first enters it, and its states are given back
// when the last row has left. Which rows share a bucket changes nobody's arithmetic: shapes depend on the bucket alone.
#ifndef CEL_XLA_BUCKETS_H
#define CEL_XLA_BUCKETS_H

#include "backend/xla/xla_model.h"
#include "backend/xla/xla_options.h"

// Sets m->buckets and the context of sessions, which is the largest one: from the variables and the options, else one of
// the model's own limit (bounded on engines that take all of a state at once). Fails where the engine has one capacity only.
CEL_MUST_CHECK cel_status cel_xla_choose_buckets(cel_xla_model *m, const cel_load_options *o, const cel_xla_options *x, cel_err *err);
// The same from a list that was chosen before (`text` as cel_xla_buckets_text makes it); false where it is none.
bool cel_xla_take_buckets(cel_xla_model *m, const char *text);
void cel_xla_buckets_text(const cel_xla_model *m, cel_buf *out);  // "256,1024"

// The states of a bucket, made where they are not there.
CEL_MUST_CHECK cel_status cel_xla_bucket_open(cel_xla_model *m, int bucket, cel_err *err);
void cel_xla_buckets_release(cel_xla_model *m);
// The bucket of a capacity; -1: none.
int cel_xla_bucket_of_capacity(const cel_xla_model *m, int64_t capacity);

// Ahead of a run that writes positions up to `end` of a row whose first n_kv positions are filled: the row is in a bucket that
// holds `end` afterwards; where it has to move, in the smallest that holds `wanted`, as far as there is one.
CEL_MUST_CHECK cel_status cel_xla_bucket_settle(cel_xla_model *m, int row, int64_t n_kv, int64_t end, int64_t wanted, cel_err *err);
// The row is given up.
void cel_xla_bucket_leave(cel_xla_model *m, int row);
// Row `to`, which holds nothing, enters the bucket of row `from`.
CEL_MUST_CHECK cel_status cel_xla_bucket_join(cel_xla_model *m, int from, int to, cel_err *err);
// Compiles what moving between buckets needs (for folders of programs made ahead).
CEL_MUST_CHECK cel_status cel_xla_bucket_try_moves(cel_xla_model *m, cel_err *err);

#endif
