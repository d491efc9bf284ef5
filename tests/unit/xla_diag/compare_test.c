// The comparator: what differs, where first, by how much; and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/diag/compare.h"
#include "base/json.h"

static cel_diag_array f32(const float *data, int rank, int64_t d0, int64_t d1) {
  return (cel_diag_array){.name = "x", .dtype = "<f4", .rank = rank, .dims = {d0, d1}, .data = data};
}

static cel_comparison compare(cel_diag_array r, cel_diag_array c, cel_criterion k) {
  cel_comparison out;
  cel_err err = {0};
  if (cel_compare(&r, &c, &k, &out, &err) != CEL_OK) fail_msg("%s", err.text);
  return out;
}

static const cel_criterion bits = {.kind = CEL_CRITERION_BITS}, close = {.abs = 0.01, .rel = 0.1}, of_rms = {.abs = -0.5},
                           ulp1 = {.kind = CEL_CRITERION_ULP, .ulp = 1}, top1 = {.kind = CEL_CRITERION_TOP1};

static void the_first_that_fails_is_named(void **state) {
  (void)state;
  static const float r[6] = {1, 2, 3, 4, 5, 6}, c[6] = {1, 2.1f, 3, 4, 6, 5};
  cel_comparison x = compare(f32(r, 2, 2, 3), f32(c, 2, 2, 3), close);
  assert_int_equal(x.failures, 2);
  assert_int_equal(x.unequal_bits, 3);
  assert_false(x.passed);
  assert_int_equal(x.first.at, 4);
  assert_int_equal(x.first.coordinate[0], 1);
  assert_int_equal(x.first.coordinate[1], 1);
  assert_int_equal(x.first.reference_bits, 0x40A00000);
  assert_int_equal(x.first.candidate_bits, 0x40C00000);
  assert_true(x.max_abs == 1 && fabs(x.max_rel - 0.2) < 1e-12);
  assert_true(fabs(x.rms - sqrt((0.1 * 0.1 + 2) / 6)) < 1e-6);
  x = compare(f32(r, 2, 2, 3), f32(c, 2, 2, 3), bits);
  assert_int_equal(x.first.at, 1);
  assert_int_equal(x.failures, 3);
  x = compare(f32(r, 2, 2, 3), f32(r, 2, 2, 3), bits);
  assert_true(x.passed && x.first.at == -1 && x.worst.at == -1 && x.rms == 0);
}

static void a_bound_may_be_a_part_of_the_size(void **state) {
  (void)state;
  static const float r[2] = {3, 4}, c[2] = {3, 5.7f}, d[2] = {3, 5.8f};  // root mean square 3.5355
  assert_true(compare(f32(r, 1, 2, 0), f32(c, 1, 2, 0), of_rms).passed);
  assert_false(compare(f32(r, 1, 2, 0), f32(d, 1, 2, 0), of_rms).passed);
}

static void steps_between_floats(void **state) {
  (void)state;
  float r[4] = {1, -0.0f, 1e-45f, -1}, c[4] = {1, 0, -1e-45f, 0};
  c[0] = nextafterf(1, 2);
  c[3] = nextafterf(nextafterf(-1, 0), 0);
  cel_comparison x = compare(f32(r, 1, 4, 0), f32(c, 1, 4, 0), ulp1);
  assert_int_equal(x.max_ulp, 2);
  assert_int_equal(x.failures, 2);  // one above zero to one below: 2; the last: 2
  assert_int_equal(x.first.at, 2);
  assert_int_equal(compare(f32(r, 1, 4, 0), f32(c, 1, 4, 0), bits).failures, 4);  // 0 and -0 are two patterns
}

static void what_is_no_number_never_passes(void **state) {
  (void)state;
  static const float r[4] = {NAN, 1, INFINITY, INFINITY}, c[4] = {NAN, NAN, INFINITY, -INFINITY};
  static const cel_criterion wide = {.abs = 1e30, .rel = 1e30};
  cel_comparison x = compare(f32(r, 1, 4, 0), f32(c, 1, 4, 0), wide);
  assert_int_equal(x.non_finite, 2);
  assert_int_equal(x.failures, 2);
  assert_int_equal(x.first.at, 1);
}

static void whole_numbers_are_exact(void **state) {
  (void)state;
  static const int32_t r[3] = {1000000, 7, -3}, c[3] = {1000000, 8, -3};
  cel_diag_array a = {.name = "ids", .dtype = "<i4", .rank = 1, .dims = {3}, .data = r}, b = a;
  b.data = c;
  assert_false(compare(a, b, of_rms).passed);
  assert_int_equal(compare(a, b, close).first.at, 1);
  assert_true(compare(a, a, bits).passed);
  static const uint8_t small[3] = {0, 255, 1};
  cel_diag_array u = {.name = "u", .dtype = "|u1", .rank = 1, .dims = {3}, .data = small}, i = u;
  strcpy(i.dtype, "|i1");
  assert_true(compare(i, u, bits).first.reference == -1);
}

static void types_and_ones_of_a_shape_do_not_matter(void **state) {
  (void)state;
  static const float r[2] = {0.5f, 2};
  static const double d[2] = {0.5, 2};
  static const uint16_t h[2] = {0x3800, 0x4000};
  cel_diag_array wide = {.name = "x", .dtype = "<f8", .rank = 3, .dims = {1, 2, 1}, .data = d};
  cel_diag_array half = {.name = "x", .dtype = "<f2", .rank = 1, .dims = {2}, .data = h};
  assert_true(compare(wide, f32(r, 1, 2, 0), bits).passed);
  assert_true(compare(half, f32(r, 2, 2, 1), bits).passed);
}

static void the_largest_of_each_row(void **state) {
  (void)state;
  static const float r[6] = {1, 3, 2, 9, 8, 7}, c[6] = {1, 2.5f, 2, 8.5f, 8.6f, 7};
  cel_comparison x = compare(f32(r, 2, 2, 3), f32(c, 2, 2, 3), top1);
  assert_int_equal(x.rows, 2);
  assert_int_equal(x.rows_unequal, 1);
  assert_false(x.passed);
  assert_int_equal(x.first.coordinate[0], 1);
  static const float d[6] = {0, 9, 2, 9, 1, 7};
  assert_true(compare(f32(r, 2, 2, 3), f32(d, 2, 2, 3), top1).passed);
}

static void other_shapes_and_types_are_refused(void **state) {
  (void)state;
  static const float r[6] = {0};
  cel_diag_array a = f32(r, 2, 2, 3), b = f32(r, 2, 3, 2), c = a;
  strcpy(c.dtype, "<c8");
  cel_comparison out;
  cel_err err = {0};
  assert_int_equal(cel_compare(&a, &b, &bits, &out, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "[2, 3]"));
  assert_int_equal(cel_compare(&a, &c, &bits, &out, &err), CEL_INVALID);
  assert_non_null(strstr(err.text, "<c8"));
}

static void a_report_is_json(void **state) {
  (void)state;
  static const float r[2] = {1, 2}, c[2] = {1, NAN};
  cel_comparison x = compare(f32(r, 1, 2, 0), f32(c, 1, 2, 0), close);
  cel_buf b = {0};
  cel_err err = {0};
  cel_json *v;
  cel_buf_addc(&b, '{');
  cel_comparison_json(&x, 1, &b);
  cel_buf_addz(&b, ",\"criterion\":");
  cel_criterion_json(&of_rms, &b);
  cel_buf_addc(&b, '}');
  if (cel_json_parse(cel_buf_str(&b), "report", &v, &err) != CEL_OK) fail_msg("%s: %s", err.text, b.p);
  const cel_json *first = cel_json_get(v, "first");
  assert_string_equal(cel_json_string(first, "candidate_bits", ""), "0x7FC00000");
  assert_true(cel_json_is_null(cel_json_object_get(first, "candidate")));
  assert_string_equal(cel_json_string(cel_json_get(v, "criterion"), "kind", ""), "close");
  cel_json_decref(v);
  cel_buf_deinit(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_that_fails_is_named), cmocka_unit_test(a_bound_may_be_a_part_of_the_size),
      cmocka_unit_test(steps_between_floats), cmocka_unit_test(what_is_no_number_never_passes),
      cmocka_unit_test(whole_numbers_are_exact), cmocka_unit_test(types_and_ones_of_a_shape_do_not_matter),
      cmocka_unit_test(the_largest_of_each_row), cmocka_unit_test(other_shapes_and_types_are_refused), cmocka_unit_test(a_report_is_json)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
