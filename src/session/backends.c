#include <string.h>

#include "base/log.h"
#include "session/session.h"

#define CEL_BACKEND(symbol) extern const cel_backend symbol;
#include "session/backend.def"
#undef CEL_BACKEND

const cel_backend *const cel_backends[] = {
#define CEL_BACKEND(symbol) &symbol,
#include "session/backend.def"
#undef CEL_BACKEND
    NULL,
};

static cel_status by_name(const char *name, const cel_backend **out, cel_err *err) {
  cel_buf list = {0};
  for (int i = 0; cel_backends[i]; i++) {
    if (!strcmp(cel_backends[i]->name, name)) {
      *out = cel_backends[i];
      cel_buf_deinit(&list);
      return cel_backends[i]->probe(err);
    }
    cel_buf_printf(&list, "%s%s", i ? ", " : "", cel_backends[i]->name);
  }
  cel_status s = cel_fail(err, CEL_INVALID, "there is no backend %s in this build; it has: %s", name, list.p ? list.p : "none");
  cel_buf_deinit(&list);
  return s;
}

static const char *reservation_of(const cel_backend *b) { return b->reservation ? b->reservation() : NULL; }

// Which backend was taken, where one that usually goes first has a reservation.
static void say(const cel_backend *taken) {
  for (int i = 0; cel_backends[i]; i++) {
    const char *why = reservation_of(cel_backends[i]), *other = cel_backends[i]->name;
    if (why && cel_backends[i] != taken) cel_log(CEL_LOG_NOTICE, "%s: running on %s (MLXCEL_BACKEND=%s overrides)", why, taken->name, other);
  }
}

cel_status cel_backend_find(const char *name, const cel_backend **out, cel_err *err) {
  *out = NULL;
  if (name && *name) return by_name(name, out, err);
  if (!cel_backends[0]) {
    return cel_fail(err, CEL_UNSUPPORTED, "no backend is built into this program: configure it with the release preset");
  }
  cel_status s = CEL_OK;
  for (int reserved = 0; reserved < 2; reserved++) {
    for (int i = 0; cel_backends[i]; i++) {
      if ((reservation_of(cel_backends[i]) != NULL) != reserved) continue;
      s = cel_backends[i]->probe(err);
      if (s != CEL_OK) continue;
      say(cel_backends[i]);
      *out = cel_backends[i];
      return CEL_OK;
    }
  }
  return s;
}
