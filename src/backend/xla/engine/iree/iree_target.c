#include "backend/xla/engine/iree/iree_target.h"

#include <stdio.h>
#include <string.h>

#include "backend/xla/engine/common/processor.h"
#include "base/str.h"

#ifdef __APPLE__
#define DEFAULT_DEVICE "metal"
#else
#define DEFAULT_DEVICE "local-task"
#endif

typedef struct row {
  const char *name, *driver, *precision;
  bool bf16;
  const char *flags[CEL_IREE_FLAGS_MOST];
} row;

static const row rows[] = {
#define CEL_IREE_TARGET(name, driver, precision, bf16, ...) {name, driver, precision, bf16, {__VA_ARGS__}},
#include "backend/xla/engine/iree/target.def"
#undef CEL_IREE_TARGET
};

const char *const cel_iree_targets[] = {
#define CEL_IREE_TARGET(name, ...) name,
#include "backend/xla/engine/iree/target.def"
#undef CEL_IREE_TARGET
    NULL,
};

static cel_status unknown(const char *device, cel_err *err) {
  cel_buf names = {0};
  for (int i = 0; cel_iree_targets[i]; i++) cel_buf_printf(&names, "%s%s", i ? ", " : "", cel_iree_targets[i]);
  cel_status s = cel_fail(err, CEL_INVALID, "MLXCEL_XLA_DEVICE=iree:%s: accepted are %s", device, names.p ? names.p : "");
  cel_buf_deinit(&names);
  return s;
}

static cel_status find_precision(const row *r, const char *asked, cel_iree_target *out, cel_err *err) {
  const char *p = *asked ? asked : r->precision;
  bool known = !strcmp(p, "f32") || !strcmp(p, "f16") || (r->bf16 && !strcmp(p, "bf16"));
  if (!known) {
    return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_PRECISION=%s: with IREE on %s products are taken in one of f32, f16%s (default %s)",
                    p, r->name, r->bf16 ? ", bf16" : "", r->precision);
  }
  snprintf(out->precision, sizeof out->precision, "%s", p);
  return CEL_OK;
}

// gfx, three to five hexadecimal digits, and perhaps features behind a colon.
static cel_status check_rocm(const char *target, cel_err *err) {
  size_t n = strncmp(target, "gfx", 3) == 0 ? strspn(target + 3, "0123456789abcdef") : 0;
  const char *rest = n >= 3 && n <= 5 ? target + 3 + n : "?";
  size_t features = *rest == ':' ? strspn(rest + 1, "abcdefghijklmnopqrstuvwxyz:+-") : 0;
  if (!*rest || (features > 0 && !rest[1 + features])) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_ROCM_TARGET=%s: the device hip needs the GPU's name in LLVM's words, as in gfx1100 or "
                  "gfx90a:xnack+", target);
}

static cel_status add_flag(const char *flag, const char *rocm_target, cel_iree_target *out, cel_err *err) {
  const char *place = strstr(flag, "%s");
  if (place) CEL_TRY(check_rocm(rocm_target, err));
  size_t n = place ? (size_t)(place - flag) : strlen(flag);
  int written = snprintf(out->flags[out->n_flags], CEL_IREE_FLAG_BYTES, "%.*s%s", (int)n, flag, place ? rocm_target : "");
  if (written >= CEL_IREE_FLAG_BYTES) return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_ROCM_TARGET=%s is too long", rocm_target);
  out->argv[out->n_flags] = out->flags[out->n_flags];
  out->n_flags++;
  return CEL_OK;
}

cel_status cel_iree_target_find(const char *device, const char *precision, const char *rocm_target, cel_iree_target *out,
                                cel_err *err) {
  const row *r = NULL;
  *out = (cel_iree_target){0};
  for (int i = 0; i < CEL_COUNT(rows) && !r; i++) {
    if (!strcmp(rows[i].name, *device ? device : DEFAULT_DEVICE)) r = &rows[i];
  }
  if (!r) return unknown(device, err);
  out->name = r->name;
  out->driver = r->driver;
  CEL_TRY(find_precision(r, precision, out, err));
  CEL_TRY(add_flag("--iree-input-type=stablehlo", "", out, err));
  for (int i = 0; i < CEL_COUNT(r->flags) && r->flags[i]; i++) CEL_TRY(add_flag(r->flags[i], rocm_target, out, err));
  char processor[64] = "";
  if (!strncmp(r->driver, "local", 5)) cel_processor_name(processor, sizeof processor);
  snprintf(out->artifact, sizeof out->artifact, "%s%s%s", *processor ? "cpu" : r->name, *processor ? " " : "", processor);
  return CEL_OK;
}
