// Weights against exp in double, masses and draws against sums in double.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "sample/sample.h"
#include "sample/softmax.h"

enum { MOST = 1500 };

static void weights_are_those_of_exp(void **state) {
  (void)state;
  double worst = 0;
  for (int i = 0; i <= 870000; i++) {
    const float z = -(float)i * 1e-4f;
    if (z < -87) break;
    worst = fmax(worst, fabs((double)cel_softmax_weight(z) / exp((double)z) - 1));
  }
  assert_true(worst < 2e-7);
  assert_true(cel_softmax_weight(0) == 1);
  assert_true(cel_softmax_weight(-87) > 0);
  assert_true(cel_softmax_weight(nextafterf(-87, -88)) == 0 && cel_softmax_weight(-1e30f) == 0 && cel_softmax_weight(-INFINITY) == 0);
}

static int64_t some_logits(float *x, int64_t n, uint64_t seed) {
  int64_t best = 0;
  for (int64_t i = 0; i < n; i++) {
    x[i] = (float)(20 * cel_uniform(seed, (uint64_t)i) - 10);
    if (i % 7 == 3) x[i] = -INFINITY;
    if (x[i] > x[best]) best = i;
  }
  return best;
}

// Element i has [sum of those before, that and its own).
static void draws_fall_where_the_weights_lie(void **state) {
  (void)state;
  static const int64_t sizes[] = {1, 2, 7, 8, 9, 255, 256, 257, 513, MOST};
  static const float temperatures[] = {0.05f, 0.7f, 1, 3};
  float x[MOST];
  int checked = 0;
  for (int s = 0; s < 10; s++)
    for (int t = 0; t < 4; t++) {
      const int64_t n = sizes[s], best = some_logits(x, n, (uint64_t)s);
      double sum = 0;
      for (int64_t i = 0; i < n; i++) sum += exp((double)((x[i] - x[best]) / temperatures[t]));
      assert_true(fabs(cel_softmax_mass(x, n, x[best], temperatures[t]) / sum - 1) < 1e-6);
      for (int k = 0; k < 300; k++) {
        const double u = cel_uniform(99, (uint64_t)(k + 1000 * s));
        const int64_t got = cel_softmax_draw(x, n, x[best], temperatures[t], u);
        assert_in_range(got, 0, n - 1);
        double before = 0;
        for (int64_t i = 0; i < got; i++) before += exp((double)((x[i] - x[best]) / temperatures[t]));
        const double own = exp((double)((x[got] - x[best]) / temperatures[t]));
        assert_true(own > 0);
        assert_true(u * sum >= before - 1e-6 * sum && u * sum <= before + own + 1e-6 * sum);
        checked++;
      }
    }
  assert_int_equal(checked, 12000);
}

static void what_cannot_be_drawn_is_not(void **state) {
  (void)state;
  float x[MOST];
  for (int i = 0; i < MOST; i++) x[i] = i == 700 ? 0 : i % 2 ? -INFINITY : -200;
  const double almost = nextafter(1, 0);
  assert_int_equal(cel_softmax_draw(x, MOST, 0, 1, 0), 700);
  assert_int_equal(cel_softmax_draw(x, MOST, 0, 1, almost), 700);
  for (int i = 0; i < MOST; i++) x[i] = -3 - (float)(i % 5);
  x[0] = 0;
  assert_int_equal(cel_softmax_draw(x, MOST, 0, 1, 0), 0);
  assert_int_equal(cel_softmax_draw(x, MOST, 0, 1, almost), MOST - 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_are_those_of_exp),
      cmocka_unit_test(draws_fall_where_the_weights_lie),
      cmocka_unit_test(what_cannot_be_drawn_is_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
