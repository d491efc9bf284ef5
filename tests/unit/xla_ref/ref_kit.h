// Makes single operations by hand and evaluates them: for tests of numbers, without text.
#ifndef CEL_TESTS_REF_KIT_H
#define CEL_TESTS_REF_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants the four above first
#include <cmocka.h>

#include "backend/xla/engine/native/ref/ref.h"
#include "backend/xla/hlo/infer.h"

typedef struct kit {
  cel_hlo_module *m;
  cel_hlo_func *f;
  cel_hlo_block *b;
  cel_err err;
} kit;

static inline int kit_setup(void **state) {
  static kit k;
  memset(&k, 0, sizeof k);
  assert_int_equal(cel_hlo_module_new(NULL, &k.m, &k.err), CEL_OK);
  k.f = cel_hlo_func_new(k.m, CEL_STR("f"), false);
  k.b = cel_hlo_func_body(k.f);
  assert_non_null(k.b);
  *state = &k;
  return 0;
}

static inline int kit_teardown(void **state) {
  cel_hlo_module_free(((kit *)*state)->m);
  return 0;
}

static inline const cel_hlo_type *kit_vector(kit *k, cel_etype e, int64_t n) {
  const cel_hlo_type *t = cel_hlo_tensor(k->m, e, 1, &n);
  assert_non_null(t);
  return t;
}

// An operation on n operands of the given types with one result.
static inline cel_hlo_op *kit_op(kit *k, cel_hlo_opcode code, const cel_hlo_type *const *in, int n,
                                 const cel_hlo_type *out) {
  cel_hlo_value *operands[8];
  for (int i = 0; i < n; i++) operands[i] = cel_hlo_block_add_arg(k->b, in[i], NULL);
  cel_hlo_op *op = cel_hlo_op_new(k->m, code, NULL, operands, n, cel_hlo_opcode_regions(code));
  assert_non_null(op);
  assert_true(cel_hlo_set_results(k->f, op, &out, 1));
  cel_hlo_block_append(k->b, op);
  return op;
}

static inline cel_status kit_eval(kit *k, const cel_hlo_op *op, const void *const *data, void *out) {
  cel_ref_tensor in[8], result = {op->results[0].type, out};
  for (int i = 0; i < op->n_operands; i++) {
    union {
      const void *read;
      void *any;
    } p = {data[i]};  // operands are only read
    in[i] = (cel_ref_tensor){op->operands[i]->type, p.any};
  }
  return cel_ref_op(k->m, op, in, &result, NULL, NULL, NULL, &k->err);
}

// An elementwise operation on vectors of n; y may be NULL for one operand.
static inline void kit_map(kit *k, cel_hlo_opcode code, cel_etype from, cel_etype to, int64_t n, const void *x,
                           const void *y, void *out) {
  const cel_hlo_type *t = kit_vector(k, from, n), *in[2] = {t, t};
  const void *data[2] = {x, y};
  cel_hlo_op *op = kit_op(k, code, in, y ? 2 : 1, kit_vector(k, to, n));
  cel_status status = kit_eval(k, op, data, out);
  if (status != CEL_OK) fail_msg("%s", k->err.text);
}

#define KIT_TEST(f) cmocka_unit_test_setup_teardown(f, kit_setup, kit_teardown)

#endif
