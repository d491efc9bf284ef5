// Programs: compiled, or loaded as the plugin once wrote them down.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/pjrt/pjrt_program.h"
#include "base/env.h"
#include "base/log.h"

static cel_status compile_text(const cel_pjrt *p, cel_str text, cel_pjrt_loaded **out, cel_err *err) {
  cel_pjrt_program program = {.head = CEL_PJRT_HEAD(cel_pjrt_program, format_bytes), .code = text.p, .code_bytes = text.n,
                              .format = "mlir", .format_bytes = 4};
  cel_pjrt_compile_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_compile_args, executable), .client = p->client,
                             .program = &program, .options = CEL_PJRT_ONE_DEVICE, .options_bytes = CEL_PJRT_ONE_DEVICE_BYTES};
  char shared[CEL_PJRT_SHARED_BYTES + 1] = CEL_PJRT_SHARED;
  shared[CEL_PJRT_AT_PARTITIONS] = (char)p->n_parts;
  if (p->n_parts > 1) {
    a.options = shared;
    a.options_bytes = CEL_PJRT_SHARED_BYTES;
  }
  CEL_TRY(cel_pjrt_check(p, p->api->client_compile(&a), "compiling for the device", err));
  *out = a.executable;
  return CEL_OK;
}

static cel_status load_bytes(const cel_pjrt *p, const cel_artifact *a, cel_pjrt_loaded **out, cel_err *err) {
  cel_pjrt_deserialize_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_deserialize_args, options_bytes), .client = p->client,
                                 .bytes = (const char *)a->bytes, .n = (size_t)a->n};
  if (!p->api->executable_deserialize) return cel_fail(err, CEL_UNSUPPORTED, "the plugin cannot load compiled programs");
  CEL_TRY(cel_pjrt_check(p, p->api->executable_deserialize(&d), "loading a compiled program", err));
  *out = d.loaded;
  return d.loaded ? CEL_OK : cel_fail(err, CEL_IO, "the plugin made nothing of a compiled program");
}

static cel_status serialize(const cel_pjrt *p, cel_pjrt_loaded *loaded, cel_artifact *a, cel_err *err) {
  cel_pjrt_get_executable_args g = {.head = CEL_PJRT_HEAD(cel_pjrt_get_executable_args, executable), .loaded = loaded};
  if (!p->api->executable_serialize) return cel_fail(err, CEL_UNSUPPORTED, "the plugin cannot write programs down");
  CEL_TRY(cel_pjrt_check(p, p->api->loaded_get_executable(&g), "writing a program down", err));
  cel_pjrt_serialize_args s = {.head = CEL_PJRT_HEAD(cel_pjrt_serialize_args, free_bytes), .executable = g.executable};
  cel_status status = cel_pjrt_check(p, p->api->executable_serialize(&s), "writing a program down", err);
  if (status == CEL_OK) cel_artifact_put(a, s.bytes, (int64_t)s.n);
  if (status == CEL_OK && s.free_bytes) s.free_bytes(s.bytes_of);
  cel_pjrt_executable_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_executable_args, executable), .executable = g.executable};
  cel_pjrt_ignore(p, p->api->executable_destroy(&d));
  return status;
}

// XLA reads flags from the environment too.
static const char *flags(void) {
  return cel_env_or(CEL_ENV_XLA_FLAGS, "");
}

cel_status cel_pjrt_compile(const cel_pjrt *p, cel_str text, const char *note, cel_pjrt_loaded **out, cel_err *err) {
  *out = NULL;
  cel_artifact a;
  cel_err why = {0};
  cel_artifact_parts parts = {text, "pjrt", p->version, flags(), p->target, note};
  CEL_TRY(cel_artifact_begin(p->artifacts, &parts, &a, err));
  cel_status s = CEL_OK;
  if (a.bytes && load_bytes(p, &a, out, &why) != CEL_OK) s = cel_artifact_reject(&a, why.text, err);
  if (s == CEL_OK && !a.bytes) {
    s = compile_text(p, text, out, err);
    if (s == CEL_OK && p->artifacts && serialize(p, *out, &a, &why) != CEL_OK) {
      cel_log(CEL_LOG_DEBUG, "a compiled program is not kept: %s", why.text);
    }
  }
  cel_artifact_end(&a);
  return s;
}
