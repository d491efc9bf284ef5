// PJRT plugins with one thing wrong each; FAKE_WORKS goes as far as a client with one device.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/pjrt/pjrt_abi.h"

#ifndef FAKE_SYMBOL

struct cel_pjrt_error {
  const char *text;
};
struct cel_pjrt_client {
  int64_t cpu_device_count;
};

extern int fake_compilations;

static const char refusal[] = "the driver is\nolder than the plugin";
static struct cel_pjrt_error the_error = {refusal};
static struct cel_pjrt_client the_client;
static char the_device;

static void error_destroy(cel_pjrt_error_args *a) { (void)a; }
static void error_message(cel_pjrt_error_message_args *a) {
  a->text = a->error->text;
  a->text_bytes = strlen(a->text);
}
static cel_pjrt_error *initialize(cel_pjrt_plugin_args *a) {
  (void)a;
  return NULL;
}

static cel_pjrt_error *client_create(cel_pjrt_client_create_args *a) {
#ifdef FAKE_REFUSES
  (void)a;
  return &the_error;
#else
  for (size_t i = 0; i < a->n_options; i++) {  // as a plugin does: an option it does not know is an error
    bool known = a->options[i].name_size == 16 && !memcmp(a->options[i].name, "cpu_device_count", 16);
    if (!known || a->options[i].type != CEL_PJRT_OPTION_INT) return &the_error;
    the_client.cpu_device_count = a->options[i].value.integer;
  }
  a->client = &the_client;
  return NULL;
#endif
}
static cel_pjrt_error *client_destroy(cel_pjrt_client_args *a) {
  (void)a;
  return NULL;
}
static cel_pjrt_error *platform_name(cel_pjrt_client_name_args *a) {
  a->text = "fake";
  a->text_bytes = 4;
  return NULL;
}
static cel_pjrt_error *devices(cel_pjrt_devices_args *a) {
  static cel_pjrt_device *list[4];
  for (int i = 0; i < 4; i++) list[i] = (cel_pjrt_device *)(void *)&the_device;
  a->devices = list;
#ifdef FAKE_EMPTY
  a->n = 0;
#else
  a->n = the_client.cpu_device_count > 0 ? (size_t)the_client.cpu_device_count : 1;
#endif
  return NULL;
}

// ---- programs: a compiled one is its own text behind a mark -------------------------------------------------

int fake_compilations;  // so far, for tests to look at
static const char mark[5] = "FAKE:";

struct cel_pjrt_loaded {
  char *text;
  size_t n;
};

static struct cel_pjrt_loaded *loaded_of(const char *text, size_t n) {
  struct cel_pjrt_loaded *l = malloc(sizeof *l);
  *l = (struct cel_pjrt_loaded){malloc(n + 1), n};
  memcpy(l->text, text, n);
  return l;
}
static cel_pjrt_error *compile(cel_pjrt_compile_args *a) {
  fake_compilations++;
  a->executable = loaded_of(a->program->code, a->program->code_bytes);
  return NULL;
}
static cel_pjrt_error *loaded_destroy(cel_pjrt_loaded_args *a) {
  free(a->loaded->text);
  free(a->loaded);
  return NULL;
}
static cel_pjrt_error *get_executable(cel_pjrt_get_executable_args *a) {
  a->executable = (cel_pjrt_executable *)(void *)a->loaded;
  return NULL;
}
static cel_pjrt_error *executable_destroy(cel_pjrt_executable_args *a) {
  (void)a;
  return NULL;
}
static void free_bytes(cel_pjrt_serialized *bytes_of) { free(bytes_of); }
static cel_pjrt_error *serialize(cel_pjrt_serialize_args *a) {
  const struct cel_pjrt_loaded *l = (const void *)a->executable;
  a->n = sizeof mark + l->n;
  char *bytes = malloc(a->n);
  memcpy(bytes, mark, sizeof mark);
  memcpy(bytes + sizeof mark, l->text, l->n);
  a->bytes = bytes;
  a->bytes_of = (cel_pjrt_serialized *)(void *)bytes;
  a->free_bytes = free_bytes;
  return NULL;
}
static cel_pjrt_error *deserialize(cel_pjrt_deserialize_args *a) {
  if (a->n < sizeof mark || memcmp(a->bytes, mark, sizeof mark) != 0) return &the_error;
  a->loaded = loaded_of(a->bytes + sizeof mark, a->n - sizeof mark);
  return NULL;
}

static cel_pjrt_api table = {
    .head = {CEL_PJRT_SIZE(cel_pjrt_api, buffer_to_host), NULL},
    .version = {{0, NULL}, CEL_PJRT_MAJOR, CEL_PJRT_MINOR_LEAST},
    .error_destroy = error_destroy,
    .error_message = error_message,
    .plugin_initialize = initialize,
    .client_create = client_create,
    .client_destroy = client_destroy,
    .client_platform_name = platform_name,
    .client_addressable_devices = devices,
    .client_compile = compile,
    .executable_destroy = executable_destroy,
    .executable_serialize = serialize,
    .loaded_destroy = loaded_destroy,
    .loaded_get_executable = get_executable,
    .executable_deserialize = deserialize,
};

const cel_pjrt_api *GetPjrtApi(void);
const cel_pjrt_api *GetPjrtApi(void) {
#if defined FAKE_NOTHING
  return NULL;
#elif defined FAKE_MAJOR
  table.version.major = CEL_PJRT_MAJOR + 1;
#elif defined FAKE_MINOR
  table.version.minor = CEL_PJRT_MINOR_LEAST - 1;
#elif defined FAKE_SHORT
  table.head.size = CEL_PJRT_SIZE(cel_pjrt_api, client_create);
#endif
  return &table;
}

#else

int fake_plugin(void);
int fake_plugin(void) { return 0; }

#endif
