// Rules of elementwise operations.
#include <string.h>

#include "backend/xla/hlo/shape.h"

static cel_etype part_of(cel_etype e) {
  return e == CEL_ET_C64 ? CEL_ET_F32 : e == CEL_ET_C128 ? CEL_ET_F64 : e;
}

cel_status cel_rule_same(cel_shape *s) { return cel_shape_give(s, cel_shape_in(s, 0)); }

cel_status cel_rule_abs(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  return cel_shape_give_tensor(s, part_of(x->etype), x->rank, x->dims);
}

cel_status cel_rule_real_imag(cel_shape *s) { return cel_rule_abs(s); }

cel_status cel_rule_is_finite(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  return cel_shape_give_tensor(s, CEL_ET_PRED, x->rank, x->dims);
}

cel_status cel_rule_reduce_precision(cel_shape *s) {
  int64_t bits;
  CEL_TRY(cel_shape_int(s, "exponent_bits", 1, 64, &bits));
  CEL_TRY(cel_shape_int(s, "mantissa_bits", 0, 64, &bits));
  return cel_rule_same(s);
}

cel_status cel_rule_barrier(cel_shape *s) {
  CEL_TRY(cel_shape_room(s, s->op->n_operands));
  for (int i = 0; i < s->n; i++) s->types[i] = cel_shape_in(s, i);
  return CEL_OK;
}

cel_status cel_rule_binary(cel_shape *s) {
  CEL_TRY(cel_shape_same_type(s, 0, 1));
  return cel_rule_same(s);
}

cel_status cel_rule_compare(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  const char *direction, *kind;
  CEL_TRY(cel_shape_same_type(s, 0, 1));
  CEL_TRY(cel_shape_word(s, "comparison_direction", "EQ NE GE GT LE LT", true, &direction));
  const char *kinds = "FLOAT";
  switch (cel_etype_class(x->etype)) {
    case 'S': kinds = "SIGNED"; break;
    case 'U':
    case 'P': kinds = "UNSIGNED"; break;
    case 'F': kinds = "FLOAT TOTALORDER"; break;
    default: break;
  }
  // NOTYPE is what older producers write for "not said".
  CEL_TRY(cel_shape_word(s, "compare_type", "FLOAT TOTALORDER SIGNED UNSIGNED NOTYPE", false, &kind));
  if (kind && strcmp(kind, "NOTYPE") != 0) CEL_TRY(cel_shape_word(s, "compare_type", kinds, false, &kind));
  return cel_shape_give_tensor(s, CEL_ET_PRED, x->rank, x->dims);
}

cel_status cel_rule_complex(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  cel_shape_text text;
  CEL_TRY(cel_shape_same_type(s, 0, 1));
  if (x->etype != CEL_ET_F32 && x->etype != CEL_ET_F64)
    return cel_shape_fail(s, "operand 0 is %s, it must be of f32 or f64", cel_shape_show(&text, x));
  return cel_shape_give_tensor(s, x->etype == CEL_ET_F32 ? CEL_ET_C64 : CEL_ET_C128, x->rank, x->dims);
}

// Operand i is a scalar of x's element type, or has x's type.
static cel_status check_bound(cel_shape *s, int i, const cel_hlo_type *x) {
  const cel_hlo_type *bound = cel_shape_in(s, i);
  if (bound->etype == x->etype && (bound->rank == 0 || cel_shape_same_dims(bound, x))) return CEL_OK;
  cel_shape_text a, b;
  return cel_shape_fail(s, "operand %d is %s, it must be %s or a scalar of its element type", i,
                        cel_shape_show(&a, bound), cel_shape_show(&b, x));
}

cel_status cel_rule_clamp(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 1);
  CEL_TRY(check_bound(s, 0, x));
  CEL_TRY(check_bound(s, 2, x));
  return cel_shape_give(s, x);
}

cel_status cel_rule_select(cel_shape *s) {
  const cel_hlo_type *pred = cel_shape_in(s, 0), *x = cel_shape_in(s, 1);
  CEL_TRY(cel_shape_same_type(s, 1, 2));
  cel_shape_text a, b;
  if (pred->etype != CEL_ET_PRED || (pred->rank && !cel_shape_same_dims(pred, x)))
    return cel_shape_fail(s, "operand 0 is %s, it must be tensor<i1> or i1 in the shape of %s",
                          cel_shape_show(&a, pred), cel_shape_show(&b, x));
  return cel_shape_give(s, x);
}

cel_status cel_rule_convert(cel_shape *s) {
  (void)s;  // the declared type says
  return CEL_OK;
}

cel_status cel_check_convert(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0), *y;
  CEL_TRY(cel_shape_declared(s, &y));
  cel_shape_text a, b;
  if (!cel_shape_same_dims(x, y))
    return cel_shape_fail(s, "the result is %s, it must have the shape of %s", cel_shape_show(&a, y),
                          cel_shape_show(&b, x));
  return CEL_OK;
}
