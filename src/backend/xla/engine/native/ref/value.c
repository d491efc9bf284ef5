// Limits, and the memory of values: counted, shared, freed with the last reference.
#include <inttypes.h>
#include <stdlib.h>

#include "backend/xla/engine/native/ref/internal.h"

struct cel_ref_buffer {
  int64_t refs, bytes;
  int n_parts;  // > 0: a tuple, data is an array of cel_ref_value
};
enum { HEAD_BYTES = 32 };  // keeps data aligned to 16

// ---- limits and memory -------------------------------------------------------------------------

void cel_ref_run_init(cel_ref_run *run, const cel_hlo_module *m, const cel_ref_limits *limits, cel_err *err) {
  *run = (cel_ref_run){
      .module = m, .err = err, .max_bytes = (int64_t)8 << 30, .max_steps = 1000000000000, .max_depth = 64};
  if (!limits) return;
  if (limits->bytes > 0) run->max_bytes = limits->bytes;
  if (limits->steps > 0) run->max_steps = limits->steps;
  if (limits->depth > 0) run->max_depth = limits->depth;
}

cel_status cel_ref_spend(cel_ref_run *run, int64_t n) {
  if (n < 0 || n > run->max_steps - run->steps)
    return cel_fail(run->err, CEL_TOO_LONG,
                    "the program needs more than %" PRId64 " steps, the limit of this evaluation", run->max_steps);
  run->steps += n;
  return CEL_OK;
}

static cel_status take(cel_ref_run *run, int64_t bytes, void **out) {
  if (bytes > run->max_bytes - run->bytes)
    return cel_fail(run->err, CEL_TOO_LONG,
                    "values of %" PRId64 " bytes are alive and %" PRId64 " more are asked for, the limit is %" PRId64,
                    run->bytes, bytes, run->max_bytes);
  cel_ref_buffer *b = calloc(1, HEAD_BYTES + (size_t)bytes + (bytes == 0));
  if (!b) return cel_fail_oom(run->err, "a value");
  *b = (cel_ref_buffer){.refs = 1, .bytes = bytes};
  run->bytes += bytes;
  *out = b;
  return CEL_OK;
}

static void give_back(cel_ref_run *run, cel_ref_buffer *b) {
  run->bytes -= b->bytes;
  free(b);
}

cel_status cel_ref_value_new(cel_ref_run *run, const cel_hlo_type *t, cel_ref_value *out) {
  void *memory;
  int64_t bytes = t->kind == CEL_HLO_KIND_TENSOR ? cel_hlo_bytes(t) : 0;
  if (t->kind == CEL_HLO_KIND_TUPLE) bytes = (int64_t)sizeof(cel_ref_value) * t->n_parts;
  CEL_TRY(take(run, bytes, &memory));
  cel_ref_buffer *b = memory;
  if (t->kind == CEL_HLO_KIND_TUPLE) b->n_parts = t->n_parts;
  *out = (cel_ref_value){{t, (char *)memory + HEAD_BYTES}, b};
  return CEL_OK;
}

void cel_ref_value_drop(cel_ref_run *run, cel_ref_value *v) {
  cel_ref_buffer *b = v->owner;
  if (b && --b->refs == 0) {
    cel_ref_value *parts = v->t.data;
    for (int i = 0; i < b->n_parts; i++) cel_ref_value_drop(run, &parts[i]);
    give_back(run, b);
  }
  *v = (cel_ref_value){0};
}

cel_ref_value cel_ref_value_share(cel_ref_value v) {
  if (v.owner) v.owner->refs++;
  return v;
}

cel_status cel_ref_scratch(const cel_ref_call *c, int64_t count, int64_t size, void **out) {
  void *memory;
  *out = NULL;
  if (count < 0 || size <= 0 || count > INT64_MAX / size) return cel_ref_misfit(c, "scratch memory of absurd size");
  CEL_TRY(take(c->frame->run, count * size, &memory));
  *out = (char *)memory + HEAD_BYTES;
  return CEL_OK;
}

void cel_ref_scratch_free(const cel_ref_call *c, void *p) {
  if (p) give_back(c->frame->run, (cel_ref_buffer *)(void *)((char *)p - HEAD_BYTES));
}
