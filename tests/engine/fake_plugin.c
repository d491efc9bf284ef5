// PJRT plugins with one thing wrong each; FAKE_WORKS goes as far as a client with one device.
#include <string.h>

#include "backend/xla/engine/pjrt/pjrt_abi.h"

#ifndef FAKE_SYMBOL

struct cel_pjrt_error {
  const char *text;
};
struct cel_pjrt_client {
  int64_t cpu_device_count;
};

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
