// Norms, activations, elementwise kernels: tails, special values, in place, and distance from libm in f64.
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernel/check.h"

typedef void unary(float *, const float *, int64_t);
typedef void binary(float *, const float *, const float *, int64_t);

static const float special[] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 1e-45f, -1e-45f, 1e38f, -1e38f, 88.8f,
                                -88.8f, 104, -104, 0.625f, -0.625f, 1e-20f, 20, -20, 88.72f, -87.4f};

static void fill(check *c, float *x, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t r = random_bits(c) % 8;
    x[i] = r == 0 ? special[random_bits(c) % CEL_COUNT(special)] : r == 1 ? awkward(c) : normal(c) * (r == 2 ? 30 : 2);
  }
}

static void check_binary(check *c, const char *name, binary *ref, binary *now) {
  for (int n = 0; n <= 67; n++) {
    float *a = guarded_floats(n), *b = guarded_floats(n), *want = guarded_floats(n), *got = guarded_floats(n);
    fill(c, a, n);
    fill(c, b, n);
    ref(want, a, b, n);
    now(got, a, b, n);
    int64_t at = first_difference(got, want, n);
    expect(c, at < 0, "%s n %d: element %d", name, n, (int)at);
    now(b, a, b, n);
    expect(c, first_difference(b, want, n) < 0, "%s n %d onto its second operand", name, n);
    now(a, a, want, 0);
    release_all();
  }
}

static void check_unary_exact(check *c, const char *name, unary *ref, unary *now) {
  for (int n = 0; n <= 67; n++) {
    float *a = guarded_floats(n), *want = guarded_floats(n);
    fill(c, a, n);
    ref(want, a, n);
    now(a, a, n);
    int64_t at = first_difference(a, want, n);
    expect(c, at < 0, "%s n %d in place: element %d", name, n, (int)at);
    release_all();
  }
}

static double logistic_f64(double x) { return 1 / (1 + exp(-x)); }

static void check_unary_near(check *c, const char *name, unary *now, double f(double)) {
  enum { N = 4099 };
  for (int round = 0; round < 40; round++) {
    float *a = guarded_floats(N), *y = guarded_floats(N);
    double worst = 0;
    int at = 0;
    fill(c, a, N);
    for (int i = 0; i < N && round % 4 == 1; i++) a[i] = uniform(c) * 105;
    for (int i = 0; i < N && round % 4 == 2; i++) a[i] = uniform(c);
    for (int i = 0; i < N && round % 4 == 3; i++) a[i] = uniform(c) * 1e6f;
    now(y, a, round < 30 ? N : round);
    for (int i = 0; i < (round < 30 ? N : round); i++) {
      double e = ulps(y[i], f((double)a[i]));
      if (e > worst) {
        worst = e;
        at = i;
      }
      if (f == tanh) expect(c, !(fabsf(y[i]) > 1), "tanh(%.9g) is %.9g", (double)a[i], (double)y[i]);
    }
    expect(c, worst <= 4, "%s(%.9g) is %.9g, %g ulp off", name, (double)a[at], (double)y[at], worst);
    release_all();
  }
}

static double silu_f64(double x, double up) { return x * logistic_f64(x) * up; }
static double gelu_f64(double x, double up) { return x * logistic_f64(2 * 0.79788456080286535588 * (x + 0.044715 * x * x * x)) * up; }

static void check_gated(check *c, const char *name, binary *now, double f(double, double)) {
  for (int n = 0; n <= 67; n++) {
    float *a = guarded_floats(n), *b = guarded_floats(n), *y = guarded_floats(n);
    for (int i = 0; i < n; i++) {
      a[i] = normal(c) * 4;
      b[i] = normal(c);
    }
    now(y, a, b, n);
    for (int i = 0; i < n; i++) {
      // The exponent is rounded to f32 first: its relative error grows with its size.
      double want = f((double)a[i], (double)b[i]), bound = 1e-6 * (1 + fabs((double)a[i] * (double)a[i] * (double)a[i]) / 8);
      expect(c, fabs((double)y[i] - want) <= bound * fabs(want) + 1e-40, "%s(%.9g, %.9g) is %.9g, not %.9g", name,
             (double)a[i], (double)b[i], (double)y[i], want);
    }
    now(a, a, b, n);
    expect(c, first_difference(a, y, n) < 0, "%s n %d onto the gate", name, n);
    release_all();
  }
}

static void check_rms_norm(check *c) {
  for (int n = 1; n <= 600; n += n < 70 ? 1 : 53)
    for (int with = 0; with < 2; with++) {
      float *x = guarded_floats(n), *w = guarded_floats(n), *want = guarded_floats(n);
      for (int i = 0; i < n; i++) {
        x[i] = normal(c) * 3;
        w[i] = normal(c);
      }
      c->ref->rms_norm(want, x, with ? w : NULL, with ? 1.0f : 0, 1e-5f, n);
      double sum = 0;
      for (int i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
      double exact = (double)x[n - 1] / sqrt(sum / n + 1e-5) * (with ? 1 + (double)w[n - 1] : 1);
      expect(c, fabs((double)want[n - 1] - exact) <= 1e-6 * fabs(exact) + 1e-7, "rms_norm n %d against f64: %.9g, not %.9g", n,
             (double)want[n - 1], exact);
      c->now->rms_norm(x, x, with ? w : NULL, with ? 1.0f : 0, 1e-5f, n);
      int64_t at = first_difference(x, want, n);
      expect(c, at < 0, "rms_norm n %d weight %d: element %d", n, with, (int)at);
      release_all();
    }
}

static double exact_layer_norm(const float *x, const float *w, const float *b, int n) {
  double mean = 0, variance = 0;
  for (int i = 0; i < n; i++) mean += (double)x[i] / n;
  for (int i = 0; i < n; i++) variance += ((double)x[i] - mean) * ((double)x[i] - mean) / n;
  double y = ((double)x[n - 1] - mean) / sqrt(variance + 1e-5) * (w ? (double)w[n - 1] : 1);
  return b ? y + (double)b[n - 1] : y;
}

static void check_layer_norm(check *c) {
  for (int n = 1; n <= 600; n += n < 70 ? 1 : 53)
    for (int with = 0; with < 3; with++) {
      float *x = guarded_floats(n), *w = guarded_floats(n), *b = guarded_floats(n), *want = guarded_floats(n);
      for (int i = 0; i < n; i++) {
        x[i] = normal(c) * 3 + 1;
        w[i] = normal(c);
        b[i] = normal(c);
      }
      const float *weight = with > 0 ? w : NULL, *bias = with > 1 ? b : NULL;
      c->ref->layer_norm(want, x, weight, bias, 1e-5f, n);
      double exact = exact_layer_norm(x, weight, bias, n);
      expect(c, fabs((double)want[n - 1] - exact) <= 3e-6 * (1 + fabs(exact)), "layer_norm n %d against f64: %.9g, not %.9g",
             n, (double)want[n - 1], exact);
      c->now->layer_norm(x, x, weight, bias, 1e-5f, n);
      int64_t at = first_difference(x, want, n);
      expect(c, at < 0, "layer_norm n %d weights %d: element %d", n, with, (int)at);
      release_all();
    }
}

static void check_rope(check *c) {
  static const int dims[][2] = {{64, 64}, {64, 32}, {8, 8}, {6, 2}, {80, 20}, {128, 128}, {96, 90}};
  for (int i = 0; i < CEL_COUNT(dims); i++)
    for (int pairs = 0; pairs < 2; pairs++) {
      int d = dims[i][0], r = dims[i][1], heads = 1 + i % 3, n = heads * d;
      float *x = guarded_floats(n), *cs = guarded_floats(r / 2), *sn = guarded_floats(r / 2), *want = guarded_floats(n);
      for (int j = 0; j < n; j++) x[j] = normal(c);
      for (int j = 0; j < r / 2; j++) {
        cs[j] = uniform(c);
        sn[j] = uniform(c);
      }
      c->ref->rope(want, x, cs, sn, heads, d, r, pairs);
      int a = pairs ? 0 : 0, b = pairs ? 1 : r / 2;
      expect(c, want[a] == x[a] * cs[0] - x[b] * sn[0] && want[b] == x[b] * cs[0] + x[a] * sn[0],
             "rope d %d dims %d pairs %d: the first pair", d, r, pairs);
      c->now->rope(x, x, cs, sn, heads, d, r, pairs);
      int64_t at = first_difference(x, want, n);
      expect(c, at < 0, "rope d %d dims %d pairs %d in place: element %d", d, r, pairs, (int)at);
      release_all();
    }
}

void check_math(check *c) {
#define EXACT2(name) check_binary(c, #name, c->ref->name, c->now->name);
#define EXACT1(name) check_unary_exact(c, #name, c->ref->name, c->now->name);
  EXACT2(add) EXACT2(sub) EXACT2(mul) EXACT2(div) EXACT2(max) EXACT2(min)
  EXACT1(neg) EXACT1(abs) EXACT1(sqrt) EXACT1(rsqrt)
  check_unary_near(c, "exp", c->now->exp, exp);
  check_unary_near(c, "log", c->now->log, log);
  check_unary_near(c, "log1p", c->now->log1p, log1p);
  check_unary_near(c, "tanh", c->now->tanh, tanh);
  check_unary_near(c, "logistic", c->now->logistic, logistic_f64);
  check_unary_near(c, "sin", c->now->sin, sin);
  check_unary_near(c, "cos", c->now->cos, cos);
  check_gated(c, "silu_mul", c->now->silu_mul, silu_f64);
  check_gated(c, "gelu_tanh_mul", c->now->gelu_tanh_mul, gelu_f64);
  check_rms_norm(c);
  check_layer_norm(c);
  check_rope(c);
}
