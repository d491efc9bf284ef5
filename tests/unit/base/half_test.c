#include "base/half.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

// The value of a half by the definition, in f64.
static double f16_value(uint16_t h) {
  int exp = h >> 10 & 31, man = h & 1023;
  double sign = h & 0x8000 ? -1 : 1;
  if (exp == 31) return man ? NAN : sign * INFINITY;
  return sign * (exp ? ldexp(1024 + man, exp - 25) : ldexp(man, -24));
}

static void every_half_widens_to_its_value(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    double want = f16_value((uint16_t)h);
    float got = cel_f16_to_f32((uint16_t)h);
    if (isnan(want)) assert_true(isnan(got));
    else assert_true((double)got == want && !signbit(got) == !(h & 0x8000));
  }
}

static void every_half_survives_the_round_trip(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 65536; h++) {
    uint16_t back = cel_f32_to_f16(cel_f16_to_f32((uint16_t)h));
    if (isnan(f16_value((uint16_t)h))) assert_true(isnan(f16_value(back)) && (back & 0x200));
    else assert_int_equal(back, h);
    float wide = cel_bf16_to_f32((uint16_t)h);
    uint16_t b = cel_f32_to_bf16(wide);
    if (isnan(wide)) assert_true(isnan(cel_bf16_to_f32(b)));
    else assert_int_equal(b, h);
  }
}

// Between neighbours: the nearer one, and in the middle the even one.
static void narrowing_rounds_to_nearest_even(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x7BFF; h++) {
    float low = cel_f16_to_f32((uint16_t)h), high = cel_f16_to_f32((uint16_t)(h + 1)), mid = (low + high) / 2;
    assert_int_equal(cel_f32_to_f16(mid), h % 2 ? h + 1 : h);
    assert_int_equal(cel_f32_to_f16(nextafterf(mid, 0)), h);
    assert_int_equal(cel_f32_to_f16(nextafterf(mid, 1e9f)), h + 1);
    assert_int_equal(cel_f32_to_f16(-mid), (h % 2 ? h + 1 : h) | 0x8000);
  }
  for (uint32_t h = 0; h < 0x7F7F; h++) {
    float mid = cel_f32_from_bits(h << 16 | 0x8000);
    assert_int_equal(cel_f32_to_bf16(mid), h % 2 ? h + 1 : h);
    assert_int_equal(cel_f32_to_bf16(cel_f32_from_bits(h << 16 | 0x7FFF)), h);
    assert_int_equal(cel_f32_to_bf16(cel_f32_from_bits(h << 16 | 0x8001)), h + 1);
  }
}

static void too_large_for_a_half_is_infinity(void **state) {
  (void)state;
  assert_int_equal(cel_f32_to_f16(65504.0f), 0x7BFF);
  assert_int_equal(cel_f32_to_f16(nextafterf(65520.0f, 0)), 0x7BFF);
  assert_int_equal(cel_f32_to_f16(65520.0f), 0x7C00);
  assert_int_equal(cel_f32_to_f16(-1e30f), 0xFC00);
  assert_int_equal(cel_f32_to_f16(INFINITY), 0x7C00);
  assert_int_equal(cel_f32_to_bf16(0x1.fffffep127f), 0x7F80);
  assert_int_equal(cel_f32_to_f16(0x1p-26f), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_half_widens_to_its_value),
    cmocka_unit_test(every_half_survives_the_round_trip),
    cmocka_unit_test(narrowing_rounds_to_nearest_even),
    cmocka_unit_test(too_large_for_a_half_is_infinity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
