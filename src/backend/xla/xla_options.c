#include "backend/xla/xla_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const cel_env_row cel_xla_environment[] = {
    {"MLXCEL_XLA_DEVICE", "native, native:cpu", "native", "engine and device that run the emitted StableHLO"},
    {"MLXCEL_XLA_PRECISION", "f32, i16", "i16",
     "products with quantized weights: f32, or exact integer products of activations kept at 16 bits per group"},
    {"MLXCEL_XLA_CONTEXT_CAPACITY", "1 .. 1048576", "the model's own limit", "most tokens of one session"},
    {"MLXCEL_CPU", "scalar, avx2, avx512, vnni, neon, dotprod", "the best this processor has",
     "level of the CPU kernels, for comparing them"},
    {0}};

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static cel_status one_of(const char *name, const char *value, const char *const *accepted, cel_err *err) {
  if (!*value) return CEL_OK;
  cel_buf list = {0};
  for (int i = 0; accepted[i]; i++) {
    if (!strcmp(value, accepted[i])) {
      cel_buf_deinit(&list);
      return CEL_OK;
    }
    cel_buf_printf(&list, "%s%s", i ? ", " : "", accepted[i]);
  }
  cel_status s = cel_fail(err, CEL_INVALID, "%s=%s: accepted are %s", name, value, list.p ? list.p : "");
  cel_buf_deinit(&list);
  return s;
}

static cel_status integer(const char *name, const char *value, int64_t most, int64_t *out, cel_err *err) {
  *out = 0;
  if (!*value) return CEL_OK;
  char *end;
  errno = 0;
  long long n = strtoll(value, &end, 10);
  if (errno || *end || n < 1 || n > most) {
    return cel_fail(err, CEL_INVALID, "%s=%s: accepted is a whole number from 1 to %lld", name, value, (long long)most);
  }
  *out = n;
  return CEL_OK;
}

cel_status cel_xla_options_read(cel_xla_options *out, cel_err *err) {
  static const char *const precisions[] = {"f32", "i16", NULL};
  *out = (cel_xla_options){.device = variable("MLXCEL_XLA_DEVICE"), .precision = variable("MLXCEL_XLA_PRECISION")};
  CEL_TRY(one_of("MLXCEL_XLA_PRECISION", out->precision, precisions, err));
  return integer("MLXCEL_XLA_CONTEXT_CAPACITY", variable("MLXCEL_XLA_CONTEXT_CAPACITY"), 1 << 20, &out->capacity, err);
}
