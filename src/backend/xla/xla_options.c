#include "backend/xla/xla_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

const cel_env_row cel_xla_environment[] = {
    {"MLXCEL_XLA_DEVICE", "native, native:cpu, iree, iree:DEVICE, DEVICE, pjrt, pjrt:NAME, pjrt:PATH", "native, else iree, else pjrt",
     "engine and device that run the emitted StableHLO; DEVICE is local-task, local-sync, cuda, metal, hip or vulkan, NAME is cpu, "
     "cuda, rocm, oneapi, tpu or metal, PATH a PJRT plugin"},
    {"MLXCEL_XLA_PRECISION", "f32, i16 (native); f32, f16, bf16 (iree, pjrt)", "i16 (native), f32 (pjrt; iree on CPUs), f16 (iree on GPUs)",
     "operands of products: f32, exact integer products of activations kept at 16 bits per group, f16 or bf16; sums are f32"},
    {"MLXCEL_XLA_PJRT_PATH", "folders, parted by ':'", "none",
     "where Python packages with PJRT plugins lie, ahead of the usual places"},
    {"MLXCEL_XLA_PJRT_OPTIONS", "name=value, parted by commas", "none",
     "given to the PJRT plugin when its client is made, for instance preallocate=false"},
    {"MLXCEL_XLA_IREE_COMPILE", "path of libIREECompiler or of iree-compile", "the one of the tree that was built against, else of the "
     "wheel iree-base-compiler", "what compiles programs for the iree engine"},
    {"MLXCEL_XLA_ROCM_TARGET", "gfx and three to five digits, as in gfx1100", "none: hip needs it", "the GPU that is compiled for on hip"},
    {"MLXCEL_XLA_CONTEXT_CAPACITY", "1 .. 1048576", "the model's own limit", "most tokens of one session"},
    {"MLXCEL_XLA_ARTIFACT_LIMIT", "bytes, or a number with K, M, G or T behind it; 0: none are kept", "4G",
     "most bytes of compiled programs in MLXCEL_CACHE_DIR/artifacts; the least recently used go"},
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

static cel_status size(const char *name, const char *value, int64_t otherwise, int64_t *out, cel_err *err) {
  static const char units[] = "KMGT";
  *out = otherwise;
  if (!*value) return CEL_OK;
  char *end;
  errno = 0;
  long long n = strtoll(value, &end, 10);
  const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
  int64_t factor = unit ? (int64_t)1 << 10 * (unit - units + 1) : 1;
  bool ok = !errno && *value >= '0' && *value <= '9' && (unit ? !end[1] : !*end) && cel_mul_i64(n, factor, out);
  return ok ? CEL_OK : cel_fail(err, CEL_INVALID, "%s=%s: accepted is a whole number from 0, with K, M, G or T behind it", name, value);
}

cel_status cel_xla_options_read(cel_xla_options *out, cel_err *err) {
  static const char *const precisions[] = {"f32", "i16", "f16", "bf16", NULL};
  *out = (cel_xla_options){.device = variable("MLXCEL_XLA_DEVICE"), .precision = variable("MLXCEL_XLA_PRECISION"),
                           .plugin_folders = variable("MLXCEL_XLA_PJRT_PATH"),
                           .plugin_options = variable("MLXCEL_XLA_PJRT_OPTIONS"),
                           .compiler = variable("MLXCEL_XLA_IREE_COMPILE"), .rocm_target = variable("MLXCEL_XLA_ROCM_TARGET")};
  CEL_TRY(one_of("MLXCEL_XLA_PRECISION", out->precision, precisions, err));
  CEL_TRY(size("MLXCEL_XLA_ARTIFACT_LIMIT", variable("MLXCEL_XLA_ARTIFACT_LIMIT"), (int64_t)4 << 30, &out->artifact_limit, err));
  return integer("MLXCEL_XLA_CONTEXT_CAPACITY", variable("MLXCEL_XLA_CONTEXT_CAPACITY"), 1 << 20, &out->capacity, err);
}
