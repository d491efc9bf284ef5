// For tests of the IR: operations the builder has no function for, made from their parts.
#ifndef CEL_TESTS_HLO_MAKE_H
#define CEL_TESTS_HLO_MAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/hlo/build.h"
#include "backend/xla/hlo/infer.h"

// A module with an open function @main and a builder on it.
typedef struct fixture {
  cel_hlo_module *m;
  cel_hlo_builder b;
} fixture;

static inline void open_module(fixture *f) {
  cel_err err;
  assert_int_equal(cel_hlo_module_new(NULL, &f->m, &err), CEL_OK);
  cel_hlo_builder_init(&f->b, f->m);
  assert_non_null(cel_hlo_func_begin(&f->b, "main", false));
}

static inline const cel_hlo_type *tensor(fixture *f, cel_etype e, int rank, int64_t a, int64_t b, int64_t c,
                                         int64_t d) {
  const cel_hlo_type *t = cel_hlo_tensor(f->m, e, rank, (int64_t[]){a, b, c, d});
  assert_non_null(t);
  return t;
}

static inline hlo arg(fixture *f, cel_etype e, int rank, int64_t a, int64_t b, int64_t c, int64_t d) {
  return cel_hlo_arg(&f->b, NULL, tensor(f, e, rank, a, b, c, d));
}

static inline void check_type(hlo v, const char *want) {
  char text[160];
  assert_non_null(v);
  cel_hlo_type_text(v->type, text, sizeof text);
  assert_string_equal(text, want);
}

static inline void check_ok(fixture *f) {
  if (f->b.err.status != CEL_OK) fail_msg("%s", f->b.err.text);
}

// An operation that is in no block yet.
static inline cel_hlo_op *make_op(fixture *f, cel_hlo_opcode code, int n, hlo *operands, int n_regions) {
  cel_hlo_op *op = cel_hlo_op_new(f->m, code, NULL, operands, n, n_regions);
  assert_non_null(op);
  return op;
}

static inline void with(fixture *f, cel_hlo_op *op, cel_hlo_attr *attr) {
  assert_true(cel_hlo_op_add_attr(f->m, op, attr));
}

static inline void with_int(fixture *f, cel_hlo_op *op, const char *name, int64_t v) {
  with(f, op, cel_hlo_make_int(f->m, name, CEL_ET_I64, v));
}

static inline void with_ints(fixture *f, cel_hlo_op *op, const char *name, int n, int64_t a, int64_t b) {
  with(f, op, cel_hlo_make_ints(f->m, name, (int64_t[]){a, b}, n));
}

static inline void with_word(fixture *f, cel_hlo_op *op, const char *name, const char *word) {
  with(f, op, cel_hlo_make_enum(f->m, name, cel_str_of(word)));
}

// Opens region i with these argument types; the builder then works inside it.
static inline cel_hlo_block *open_region(fixture *f, cel_hlo_op *op, int i, int n, const cel_hlo_type **types) {
  cel_hlo_block *b = cel_hlo_region_new(f->b.func, op, i, types, n);
  assert_non_null(b);
  f->b.block = b;
  return b;
}

static inline void region_return(fixture *f, int n, hlo *values) {
  cel_hlo_op *op = make_op(f, CEL_HLO_REGION_RETURN, n, values, 0);
  assert_true(cel_hlo_set_results(f->b.func, op, NULL, 0));
  cel_hlo_block_append(f->b.block, op);
}

// (a, b) -> code a, b on scalars of e.
static inline void fold_with(fixture *f, cel_hlo_op *op, int i, cel_hlo_opcode code, cel_etype e) {
  cel_hlo_block *outer = f->b.block;
  const cel_hlo_type *t = cel_hlo_scalar_type(f->m, e), *types[2] = {t, t};
  cel_hlo_block *b = open_region(f, op, i, 2, types);
  hlo v = code == CEL_HLO_COMPARE ? cel_hlo_compare(&f->b, "GT", b->args[0], b->args[1])
                                  : cel_hlo_binary(&f->b, code, b->args[0], b->args[1]);
  check_ok(f);
  region_return(f, 1, &v);
  f->b.block = outer;
}

// Infers and appends; the first result.
static inline hlo finish(fixture *f, cel_hlo_op *op) {
  cel_err err = {0};
  const cel_hlo_type **types;
  int n;
  if (cel_hlo_infer(f->m, op, &types, &n, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_true(n >= 0);
  assert_true(cel_hlo_set_results(f->b.func, op, types, n));
  cel_hlo_block_append(f->b.block, op);
  return n ? &op->results[0] : NULL;
}

// As finish with declared types, which must pass the check.
static inline hlo finish_as(fixture *f, cel_hlo_op *op, int n, const cel_hlo_type **types) {
  cel_err err = {0};
  assert_true(cel_hlo_set_results(f->b.func, op, types, n));
  if (cel_hlo_check(f->m, op, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_hlo_block_append(f->b.block, op);
  return n ? &op->results[0] : NULL;
}

static inline void check_prints(fixture *f, const char *want) {
  cel_buf out = {0};
  cel_err err = {0};
  check_ok(f);
  if (cel_hlo_verify(f->m, &err) != CEL_OK) fail_msg("%s", err.text);
  assert_int_equal(cel_hlo_print(f->m, &out, &err), CEL_OK);
  const char *dump = getenv("CEL_TEST_DUMP");
  if (dump) {
    FILE *file = fopen(dump, "a");
    if (file) fprintf(file, "%s// -----\n", out.p), fclose(file);
  }
  assert_string_equal(out.p, want);
  cel_buf_deinit(&out);
}

#endif
