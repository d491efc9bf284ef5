#include "backend/xla/engine/engine.h"

#include <string.h>

#define CEL_ENGINE(symbol) extern const cel_engine_driver symbol;
#include "backend/xla/engine/engine.def"
#undef CEL_ENGINE

const cel_engine_driver *const cel_engine_drivers[] = {
#define CEL_ENGINE(symbol) &symbol,
#include "backend/xla/engine/engine.def"
#undef CEL_ENGINE
    NULL,
};

static cel_status none_fits(const char *device, cel_err *err) {
  cel_buf names = {0};
  for (int i = 0; cel_engine_drivers[i]; i++) cel_buf_printf(&names, "%s%s", i ? ", " : "", cel_engine_drivers[i]->name);
  cel_status s;
  if (!cel_engine_drivers[0]) {
    s = cel_fail(err, CEL_UNSUPPORTED, "no engine was built in: this build has the StableHLO emitter only");
  } else {
    s = cel_fail(err, CEL_INVALID, "MLXCEL_XLA_DEVICE=%s: this build has the engines: %s", device, names.p ? names.p : "");
  }
  cel_buf_deinit(&names);
  return s;
}

// "native", "pjrt:cpu": true, and where the device's part begins.
static bool is_named(const cel_engine_driver *d, const char *device, const char **rest) {
  size_t n = strlen(d->name);
  if (strncmp(device, d->name, n) != 0 || (device[n] && device[n] != ':')) return false;
  *rest = device[n] ? device + n + 1 : "";
  return true;
}

static bool has_device(const cel_engine_driver *d, const char *device) {
  for (int i = 0; d->devices && d->devices[i]; i++) {
    if (!strcmp(d->devices[i], device)) return true;
  }
  return false;
}

cel_status cel_engine_find(const char *device, const cel_engine_driver **out, const char **rest, cel_err *err) {
  if (!device) device = "";
  *rest = device;
  for (int i = 0; cel_engine_drivers[i]; i++) {
    const cel_engine_driver *d = cel_engine_drivers[i];
    if (*device && !is_named(d, device, rest) && !has_device(d, device)) continue;
    *out = d;
    return d->probe(err);
  }
  return none_fits(device, err);
}
