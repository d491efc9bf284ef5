// Typed reading of config keys. A wrong value is named together with its key and what would be right.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/describe.h"

static const cel_json *find(cel_keys k, const char *key) { return cel_json_get(k.obj, key); }

// The value as the file has it, in ASCII and cut to a readable length.
static void show(const cel_json *v, char out[64]) {
  cel_buf text = {0};
  if (v) cel_json_write(&text, v, (cel_json_style){.ascii = true, .real_digits = 9});
  snprintf(out, 64, "%.56s%s", text.p ? text.p : "?", text.n > 56 ? "..." : "");
  cel_buf_deinit(&text);
}

cel_status cel_keys_refuse(cel_keys k, const char *key, const cel_json *v, cel_status status, const char *right,
                           cel_err *err) {
  char text[64];
  show(v, text);
  return cel_fail(err, status, "config key %s%s is %s; it must be %s", k.path, key, text, right);
}

static cel_status wrong_kind(cel_keys k, const char *key, const cel_json *v, const char *right, cel_err *err) {
  return cel_keys_refuse(k, key, v, CEL_MALFORMED, right, err);
}

// transformers writes non-finite numbers as {"__float__": "Infinity"}.
static bool as_number(const cel_json *v, double *out) {
  if (cel_json_is_number(v)) {
    *out = cel_json_number_value(v);
    return true;
  }
  const char *word = cel_json_string(v, "__float__", NULL);
  if (!word) return false;
  if (strcmp(word, "Infinity") == 0) *out = HUGE_VAL;
  else if (strcmp(word, "-Infinity") == 0) *out = -HUGE_VAL;
  else *out = (double)NAN;
  return true;
}

cel_status cel_keys_int_of(cel_keys k, const char *key, const cel_json *v, int64_t lo, int64_t hi, int64_t *out,
                           cel_err *err) {
  double x = 0;
  // Every bound is below 2^53, so a real that holds an integer is compared exactly.
  bool number = as_number(v, &x) && x == floor(x) && x >= (double)lo && x <= (double)hi;
  if (!number) {
    char right[96];
    snprintf(right, sizeof right, "an integer from %lld to %lld", (long long)lo, (long long)hi);
    return wrong_kind(k, key, v, right, err);
  }
  *out = cel_json_is_integer(v) ? (int64_t)cel_json_integer_value(v) : (int64_t)x;
  return CEL_OK;
}

cel_status cel_keys_int(cel_keys k, const char *key, int64_t lo, int64_t hi, int64_t *inout, cel_err *err) {
  const cel_json *v = find(k, key);
  return v ? cel_keys_int_of(k, key, v, lo, hi, inout, err) : CEL_OK;
}

cel_status cel_keys_num(cel_keys k, const char *key, double lo, double hi, double *inout, cel_err *err) {
  const cel_json *v = find(k, key);
  if (!v) return CEL_OK;
  double x = 0;
  if (!as_number(v, &x) || !(x >= lo && x <= hi)) {
    char right[96];
    snprintf(right, sizeof right, "a number from %g to %g", lo, hi);
    return wrong_kind(k, key, v, right, err);
  }
  *inout = x;
  return CEL_OK;
}

cel_status cel_keys_bool(cel_keys k, const char *key, bool *inout, cel_err *err) {
  const cel_json *v = find(k, key);
  if (!v) return CEL_OK;
  if (!cel_json_is_boolean(v)) return wrong_kind(k, key, v, "true or false", err);
  *inout = cel_json_is_true(v);
  return CEL_OK;
}

cel_status cel_keys_string(cel_keys k, const char *key, const char **inout, cel_err *err) {
  const cel_json *v = find(k, key);
  if (!v) return CEL_OK;
  if (!cel_json_is_string(v)) return wrong_kind(k, key, v, "a string", err);
  *inout = cel_json_string_value(v);
  return CEL_OK;
}

cel_status cel_keys_floats(cel_keys k, const char *key, int n, cel_arena *arena, const float **out, cel_err *err) {
  const cel_json *v = find(k, key);
  if (!v) return CEL_OK;
  if (!cel_json_is_array(v) || cel_json_array_size(v) != (size_t)n) {
    char right[64];
    snprintf(right, sizeof right, "a list of %d numbers", n);
    return wrong_kind(k, key, v, right, err);
  }
  float *list = CEL_NEW_ARRAY(arena, float, n);
  if (!list) return cel_fail_oom(err, key);
  for (int i = 0; i < n; i++) {
    const cel_json *item = cel_json_array_get(v, (size_t)i);
    double x = cel_json_is_number(item) ? cel_json_number_value(item) : 0;
    if (!(x >= 1e-6 && x <= 1e9)) return wrong_kind(k, key, item, "a list of numbers from 1e-06 to 1e+09", err);
    list[i] = (float)x;
  }
  *out = list;
  return CEL_OK;
}

cel_status cel_keys_object(cel_keys k, const char *key, const cel_json **out, cel_err *err) {
  const cel_json *v = find(k, key);
  if (!v) return CEL_OK;
  if (!cel_json_is_object(v)) return wrong_kind(k, key, v, "an object", err);
  *out = v;
  return CEL_OK;
}

cel_status cel_keys_need(cel_keys k, const char *key, cel_err *err) {
  if (find(k, key)) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "config key %s%s is missing and has no default here", k.path, key);
}

bool cel_keys_is_null(cel_keys k, const char *key) { return cel_json_is_null(cel_json_object_get(k.obj, key)); }
