// Numbers at their edges: NaN, zeros, overflow, wrapping, shifts, saturation, rounding.
#include <math.h>

#include "unit/xla_ref/ref_kit.h"

static const float nan32 = (float)NAN, inf32 = (float)INFINITY;

static void maximum_and_minimum_let_nan_win_and_order_zeros(void **state) {
  float x[] = {1, nan32, -0.0f, 0.0f, -inf32}, y[] = {nan32, 1, 0.0f, -0.0f, 3}, r[5];
  kit_map(*state, CEL_HLO_MAXIMUM, CEL_ET_F32, CEL_ET_F32, 5, x, y, r);
  assert_true(isnan(r[0]) && isnan(r[1]) && r[4] == 3);
  assert_false(signbit(r[2]));
  assert_false(signbit(r[3]));
  kit_map(*state, CEL_HLO_MINIMUM, CEL_ET_F32, CEL_ET_F32, 5, x, y, r);
  assert_true(isnan(r[0]) && isnan(r[1]) && r[4] == -inf32);
  assert_true(signbit(r[2]) && signbit(r[3]));
}

static void compare(kit *k, const char *direction, const char *type, const float *x, const float *y, int64_t n,
                    uint8_t *r) {
  const cel_hlo_type *t = kit_vector(k, CEL_ET_F32, n), *in[2] = {t, t};
  const void *data[2] = {x, y};
  cel_hlo_op *op = kit_op(k, CEL_HLO_COMPARE, in, 2, kit_vector(k, CEL_ET_PRED, n));
  assert_true(cel_hlo_op_add_attr(k->m, op, cel_hlo_make_enum(k->m, "comparison_direction", cel_str_of(direction))));
  assert_true(cel_hlo_op_add_attr(k->m, op, cel_hlo_make_enum(k->m, "compare_type", cel_str_of(type))));
  if (kit_eval(k, op, data, r) != CEL_OK) fail_msg("%s", k->err.text);
}

static void compare_of_nan_is_false_but_for_ne(void **state) {
  float x[] = {nan32, nan32, 1}, y[] = {nan32, 1, nan32};
  static const char *const directions[] = {"EQ", "GE", "GT", "LE", "LT", "NE"};
  for (int d = 0; d < 6; d++) {
    uint8_t r[3];
    compare(*state, directions[d], "FLOAT", x, y, 3, r);
    for (int i = 0; i < 3; i++) assert_int_equal(r[i], d == 5);
  }
}

static void total_order_puts_every_float_in_its_place(void **state) {
  float x[] = {-nan32, -inf32, -1, -0.0f, 0.0f, 1, inf32}, y[] = {-inf32, -1, -0.0f, 0.0f, 1, inf32, nan32};
  uint8_t r[7];
  compare(*state, "LT", "TOTALORDER", x, y, 7, r);
  for (int i = 0; i < 7; i++) assert_int_equal(r[i], 1);
  compare(*state, "EQ", "TOTALORDER", x, x, 7, r);
  for (int i = 0; i < 7; i++) assert_int_equal(r[i], 1);
}

static void integers_wrap(void **state) {
  int8_t x[] = {127, -128, 100, -1}, y[] = {1, -1, 3, -128}, r[4];
  kit_map(*state, CEL_HLO_ADD, CEL_ET_I8, CEL_ET_I8, 4, x, y, r);
  assert_memory_equal(r, ((int8_t[]){-128, 127, 103, 127}), 4);
  kit_map(*state, CEL_HLO_MULTIPLY, CEL_ET_I8, CEL_ET_I8, 4, x, y, r);
  assert_memory_equal(r, ((int8_t[]){127, -128, 44, -128}), 4);
  kit_map(*state, CEL_HLO_ABS, CEL_ET_I8, CEL_ET_I8, 4, x, NULL, r);
  assert_memory_equal(r, ((int8_t[]){127, -128, 100, 1}), 4);
  int64_t big[] = {INT64_MIN, INT64_MAX}, one[] = {1, 1}, wide[2];
  kit_map(*state, CEL_HLO_SUBTRACT, CEL_ET_I64, CEL_ET_I64, 2, big, one, wide);
  assert_true(wide[0] == INT64_MAX && wide[1] == INT64_MAX - 1);
  int8_t a4[] = {7, -8, 5}, b4[] = {1, -1, 5}, r4[3];
  kit_map(*state, CEL_HLO_ADD, CEL_ET_I4, CEL_ET_I4, 3, a4, b4, r4);
  assert_memory_equal(r4, ((int8_t[]){-8, 7, -6}), 3);
}

static void integer_division_never_traps(void **state) {
  int32_t x[] = {INT32_MIN, 7, -7, 0, 17, -17}, y[] = {-1, 0, 0, 0, -3, 3}, r[6];
  kit_map(*state, CEL_HLO_DIVIDE, CEL_ET_I32, CEL_ET_I32, 6, x, y, r);
  assert_memory_equal(r, ((int32_t[]){INT32_MIN, -1, -1, -1, -5, -5}), sizeof r);
  kit_map(*state, CEL_HLO_REMAINDER, CEL_ET_I32, CEL_ET_I32, 6, x, y, r);
  assert_memory_equal(r, ((int32_t[]){0, 7, -7, 0, 2, -2}), sizeof r);
  int64_t a[] = {INT64_MIN}, b[] = {-1}, q[1];
  kit_map(*state, CEL_HLO_DIVIDE, CEL_ET_I64, CEL_ET_I64, 1, a, b, q);
  assert_true(q[0] == INT64_MIN);
  kit_map(*state, CEL_HLO_REMAINDER, CEL_ET_I64, CEL_ET_I64, 1, a, b, q);
  assert_true(q[0] == 0);
}

static void shifts_by_the_width_or_more_give_zero_or_the_sign(void **state) {
  int8_t x[] = {-128, -128, 64, -1, 1}, by[] = {7, 8, 100, -1, 3}, r[5];
  kit_map(*state, CEL_HLO_SHIFT_LEFT, CEL_ET_I8, CEL_ET_I8, 5, x, by, r);
  assert_memory_equal(r, ((int8_t[]){0, 0, 0, 0, 8}), 5);
  kit_map(*state, CEL_HLO_SHIFT_RIGHT_LOGICAL, CEL_ET_I8, CEL_ET_I8, 5, x, by, r);
  assert_memory_equal(r, ((int8_t[]){1, 0, 0, 0, 0}), 5);
  kit_map(*state, CEL_HLO_SHIFT_RIGHT_ARITHMETIC, CEL_ET_I8, CEL_ET_I8, 5, x, by, r);
  assert_memory_equal(r, ((int8_t[]){-1, -1, 0, -1, 0}), 5);
  uint32_t u[] = {0x80000000u, 0x80000000u}, ub[] = {31, 32}, ur[2];
  kit_map(*state, CEL_HLO_SHIFT_RIGHT_ARITHMETIC, CEL_ET_UI32, CEL_ET_UI32, 2, u, ub, ur);
  assert_true(ur[0] == 0xFFFFFFFFu && ur[1] == 0xFFFFFFFFu);
}

static void integer_power_and_bit_counts(void **state) {
  int32_t x[] = {-1, -1, -3, 1, 0, 3}, y[] = {-3, -2, -3, -9, 0, 21}, r[6];
  kit_map(*state, CEL_HLO_POWER, CEL_ET_I32, CEL_ET_I32, 6, x, y, r);
  assert_memory_equal(r, ((int32_t[]){-1, 1, 0, 1, 1, (int32_t)(10460353203 - 2 * 4294967296)}), sizeof r);
  int8_t b[] = {-1, 0, 1}, c[3];
  kit_map(*state, CEL_HLO_POPCNT, CEL_ET_I8, CEL_ET_I8, 3, b, NULL, c);
  assert_memory_equal(c, ((int8_t[]){8, 0, 1}), 3);
  kit_map(*state, CEL_HLO_COUNT_LEADING_ZEROS, CEL_ET_I8, CEL_ET_I8, 3, b, NULL, c);
  assert_memory_equal(c, ((int8_t[]){0, 8, 7}), 3);
  kit_map(*state, CEL_HLO_COUNT_LEADING_ZEROS, CEL_ET_UI4, CEL_ET_UI4, 3, ((uint8_t[]){15, 0, 1}), NULL, c);
  assert_memory_equal(c, ((int8_t[]){0, 4, 3}), 3);
}

static void convert_to_integers_truncates_and_saturates(void **state) {
  float x[] = {1.9f, -1.9f, 300, -300, nan32, inf32, -inf32, 127.5f};
  int8_t s[8];
  uint8_t u[8];
  int64_t w[8];
  uint64_t v[8];
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, CEL_ET_I8, 8, x, NULL, s);
  assert_memory_equal(s, ((int8_t[]){1, -1, 127, -128, 0, 127, -128, 127}), 8);
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, CEL_ET_UI8, 8, x, NULL, u);
  assert_memory_equal(u, ((uint8_t[]){1, 0, 255, 0, 0, 255, 0, 127}), 8);
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, CEL_ET_I64, 8, x, NULL, w);
  assert_true(w[5] == INT64_MAX && w[6] == INT64_MIN && w[4] == 0 && w[3] == -300);
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, CEL_ET_UI64, 8, x, NULL, v);
  assert_true(v[5] == UINT64_MAX && v[6] == 0 && v[2] == 300);
  double edge[] = {9223372036854775807.0, -9223372036854775808.0, 18446744073709549568.0};
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F64, CEL_ET_I64, 3, edge, NULL, w);
  assert_true(w[0] == INT64_MAX && w[1] == INT64_MIN && w[2] == INT64_MAX);
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F64, CEL_ET_UI64, 3, edge, NULL, v);
  assert_true(v[0] == (uint64_t)1 << 63 && v[1] == 0 && v[2] == 18446744073709549568u);
}

static void convert_rounds_once(void **state) {
  // 2^54 + 2^30 + 1 lies just above the tie between two floats; through double the 1 would be lost.
  int64_t x[] = {((int64_t)1 << 54) + ((int64_t)1 << 30) + 1, INT64_MAX, -3};
  float f[3];
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_I64, CEL_ET_F32, 3, x, NULL, f);
  assert_true(f[0] == ldexpf(1, 54) + ldexpf(1, 31) && f[1] == ldexpf(1, 63) && f[2] == -3);
  // 1 + 2^-11 + 2^-40 is above the tie of two f16; through f32 it would be the tie itself.
  double d[] = {1 + ldexp(1, -11) + ldexp(1, -40), 65519.99, 65520, ldexp(1, -25), ldexp(1.0001, -25)};
  uint16_t h[5];
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F64, CEL_ET_F16, 5, d, NULL, h);
  assert_memory_equal(h, ((uint16_t[]){0x3C01, 0x7BFF, 0x7C00, 0, 1}), sizeof h);
  double b[] = {1 + ldexp(1, -8) + ldexp(1, -40), 3.4e38, (double)NAN};
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F64, CEL_ET_BF16, 3, b, NULL, h);
  assert_true(h[0] == 0x3F81 && h[1] == 0x7F80 && (h[2] & 0x7FFF) > 0x7F80);
}

static void eight_bit_floats_keep_their_own_rules(void **state) {
  float x[] = {448, 464, 465, inf32, -0.0f, 0x1p-9f, 0x1p-10f, 0x1.8p-10f, -448};
  uint8_t r[9];
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, CEL_ET_F8E4M3FN, 9, x, NULL, r);
  assert_memory_equal(r, ((uint8_t[]){0x7E, 0x7E, 0x7F, 0x7F, 0x80, 1, 0, 1, 0xFE}), 9);
  kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, CEL_ET_F8E5M2, 4, ((float[]){57344, 61440, inf32, 0x1p-16f}), NULL, r);
  assert_memory_equal(r, ((uint8_t[]){0x7B, 0x7C, 0x7C, 1}), 4);
  // Every code but the NaNs comes back unchanged.
  uint8_t all[256], back[256];
  float wide[256];
  for (int i = 0; i < 256; i++) all[i] = (uint8_t)i;
  static const cel_etype types[] = {CEL_ET_F8E4M3FN, CEL_ET_F8E5M2};
  for (int t = 0; t < 2; t++) {
    kit_map(*state, CEL_HLO_CONVERT, types[t], CEL_ET_F32, 256, all, NULL, wide);
    kit_map(*state, CEL_HLO_CONVERT, CEL_ET_F32, types[t], 256, wide, NULL, back);
    for (int i = 0; i < 256; i++) assert_true(isnan(wide[i]) || back[i] == i);
  }
}

static void narrow_floats_round_per_operation(void **state) {
  // bf16: 256 + 1 is a tie and goes to even; f16: 2048 + 1 likewise.
  uint16_t x[] = {0x4380}, one[] = {0x3F80}, r[1];
  kit_map(*state, CEL_HLO_ADD, CEL_ET_BF16, CEL_ET_BF16, 1, x, one, r);
  assert_int_equal(r[0], 0x4380);
  uint16_t h[] = {0x6800, 0x7BFF}, ones[] = {0x3C00, 0x7BFF}, s[2];
  kit_map(*state, CEL_HLO_ADD, CEL_ET_F16, CEL_ET_F16, 2, h, ones, s);
  assert_int_equal(s[0], 0x6800);
  assert_int_equal(s[1], 0x7C00);
}

static void f32_arithmetic_is_that_of_the_machine(void **state) {
  float x[64], y[64], r[64];
  uint32_t seed = 1;
  for (int i = 0; i < 64; i++) {
    seed = seed * 1664525u + 1013904223u;
    x[i] = (float)(int32_t)seed * 0x1p-20f;
    seed = seed * 1664525u + 1013904223u;
    y[i] = (float)(int32_t)seed * 0x1p-27f;
  }
  kit_map(*state, CEL_HLO_DIVIDE, CEL_ET_F32, CEL_ET_F32, 64, x, y, r);
  for (int i = 0; i < 64; i++) assert_true(r[i] == x[i] / y[i]);
  kit_map(*state, CEL_HLO_MULTIPLY, CEL_ET_F32, CEL_ET_F32, 64, x, y, r);
  for (int i = 0; i < 64; i++) assert_true(r[i] == x[i] * y[i]);
  kit_map(*state, CEL_HLO_SUBTRACT, CEL_ET_F32, CEL_ET_F32, 64, x, y, r);
  for (int i = 0; i < 64; i++) assert_true(r[i] == x[i] - y[i]);
}

static void sign_and_rounding_keep_the_sign_of_zero(void **state) {
  float x[] = {-0.0f, 0.5f, -0.5f, 2.5f, nan32}, r[5];
  kit_map(*state, CEL_HLO_SIGN, CEL_ET_F32, CEL_ET_F32, 5, x, NULL, r);
  assert_true(r[0] == 0 && signbit(r[0]) && r[1] == 1 && r[2] == -1 && isnan(r[4]));
  kit_map(*state, CEL_HLO_ROUND_NEAREST_EVEN, CEL_ET_F32, CEL_ET_F32, 5, x, NULL, r);
  assert_true(signbit(r[0]) && r[1] == 0 && r[2] == 0 && signbit(r[2]) && r[3] == 2);
  kit_map(*state, CEL_HLO_ROUND_NEAREST_AFZ, CEL_ET_F32, CEL_ET_F32, 5, x, NULL, r);
  assert_true(r[1] == 1 && r[2] == -1 && r[3] == 3);
}

static void booleans_add_as_or_and_multiply_as_and(void **state) {
  uint8_t x[] = {0, 0, 1, 1}, y[] = {0, 1, 0, 1}, r[4];
  kit_map(*state, CEL_HLO_ADD, CEL_ET_PRED, CEL_ET_PRED, 4, x, y, r);
  assert_memory_equal(r, ((uint8_t[]){0, 1, 1, 1}), 4);
  kit_map(*state, CEL_HLO_MULTIPLY, CEL_ET_PRED, CEL_ET_PRED, 4, x, y, r);
  assert_memory_equal(r, ((uint8_t[]){0, 0, 0, 1}), 4);
  kit_map(*state, CEL_HLO_NOT, CEL_ET_PRED, CEL_ET_PRED, 4, x, NULL, r);
  assert_memory_equal(r, ((uint8_t[]){1, 1, 0, 0}), 4);
}

static void reduce_precision_rounds_overflows_and_flushes(void **state) {
  kit *k = *state;
  float x[] = {1 + 0x1p-11f, 1 + 0x1.8p-10f, 65520, 0x1p-14f, 0x1p-15f, -0x1p-20f, nan32}, r[7];
  const cel_hlo_type *t = kit_vector(k, CEL_ET_F32, 7);
  const void *data[1] = {x};
  cel_hlo_op *op = kit_op(k, CEL_HLO_REDUCE_PRECISION, &t, 1, t);
  assert_true(cel_hlo_op_add_attr(k->m, op, cel_hlo_make_int(k->m, "exponent_bits", CEL_ET_I32, 5)));
  assert_true(cel_hlo_op_add_attr(k->m, op, cel_hlo_make_int(k->m, "mantissa_bits", CEL_ET_I32, 10)));
  assert_int_equal(kit_eval(k, op, data, r), CEL_OK);
  assert_true(r[0] == 1 && r[1] == 1 + 0x1p-9f && r[2] == inf32 && r[3] == 0x1p-14f && r[4] == 0);
  assert_true(r[5] == 0 && signbit(r[5]) && isnan(r[6]));
}

static void an_operation_on_a_wrong_type_is_refused_by_name(void **state) {
  kit *k = *state;
  const cel_hlo_type *t = kit_vector(k, CEL_ET_I32, 2);
  int32_t x[2] = {1, 2}, r[2];
  const void *data[1] = {x};
  cel_hlo_op *op = kit_op(k, CEL_HLO_SINE, &t, 1, t);
  assert_int_equal(kit_eval(k, op, data, r), CEL_UNSUPPORTED);
  assert_non_null(strstr(k->err.text, "stablehlo.sine"));
  assert_non_null(strstr(k->err.text, "tensor<2xi32>"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      KIT_TEST(maximum_and_minimum_let_nan_win_and_order_zeros),
      KIT_TEST(compare_of_nan_is_false_but_for_ne),
      KIT_TEST(total_order_puts_every_float_in_its_place),
      KIT_TEST(integers_wrap),
      KIT_TEST(integer_division_never_traps),
      KIT_TEST(shifts_by_the_width_or_more_give_zero_or_the_sign),
      KIT_TEST(integer_power_and_bit_counts),
      KIT_TEST(convert_to_integers_truncates_and_saturates),
      KIT_TEST(convert_rounds_once),
      KIT_TEST(eight_bit_floats_keep_their_own_rules),
      KIT_TEST(narrow_floats_round_per_operation),
      KIT_TEST(f32_arithmetic_is_that_of_the_machine),
      KIT_TEST(sign_and_rounding_keep_the_sign_of_zero),
      KIT_TEST(booleans_add_as_or_and_multiply_as_and),
      KIT_TEST(reduce_precision_rounds_overflows_and_flushes),
      KIT_TEST(an_operation_on_a_wrong_type_is_refused_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
