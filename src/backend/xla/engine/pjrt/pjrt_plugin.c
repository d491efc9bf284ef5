// Loading a plugin: library, version, client, device.
#define _POSIX_C_SOURCE 200809L
#include "backend/xla/engine/pjrt/pjrt_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

// ---- errors and events ----------------------------------------------------------------------------------

void cel_pjrt_ignore(const cel_pjrt *p, cel_pjrt_error *error) {
  cel_pjrt_error_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_error_args, error), .error = error};
  if (error) p->api->error_destroy(&d);
}

cel_status cel_pjrt_check(const cel_pjrt *p, cel_pjrt_error *error, const char *what, cel_err *err) {
  if (!error) return CEL_OK;
  cel_pjrt_error_message_args m = {.head = CEL_PJRT_HEAD(cel_pjrt_error_message_args, text_bytes), .error = error};
  p->api->error_message(&m);
  cel_status s = cel_fail(err, CEL_IO, "%s: %.*s", what, (int)CEL_MIN(m.text_bytes, CEL_ERR_TEXT_BYTES), m.text ? m.text : "");
  cel_pjrt_ignore(p, error);
  for (char *c = err ? err->text : NULL; c && *c; c++) {
    if (*c == '\n') *c = ' ';
  }
  return s;
}

cel_status cel_pjrt_wait(const cel_pjrt *p, cel_pjrt_event *event, const char *what, cel_err *err) {
  if (!event) return CEL_OK;
  cel_pjrt_event_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_event_args, event), .event = event};
  cel_status s = cel_pjrt_check(p, p->api->event_await(&a), what, err);
  cel_pjrt_ignore(p, p->api->event_destroy(&a));
  return s;
}

// ---- the library ----------------------------------------------------------------------------------------

// NVIDIA's wheels lie beside the plugin's (site-packages/nvidia/*/lib): loaded ahead of it, they are found without
// LD_LIBRARY_PATH. What cannot be loaded is the plugin's to complain of.
static void preload_beside(const char *path) {
  const char *mark = strstr(path, "/jax_plugins/");
  cel_buf pattern = {0};
  glob_t found = {0};
  if (!mark) return;
  cel_buf_printf(&pattern, "%.*s/nvidia/*/lib/lib*.so.*", (int)(mark - path), path);
  for (int pass = 0; pattern.p && pass < 2; pass++) {  // once more for those that need others
    if (glob(pattern.p, 0, NULL, &found) != 0) break;
    for (size_t i = 0; i < found.gl_pathc; i++) (void)dlopen(found.gl_pathv[i], RTLD_LAZY | RTLD_GLOBAL);
    globfree(&found);
    found = (glob_t){0};
  }
  cel_buf_deinit(&pattern);
}

static cel_status load(const char *path, cel_pjrt *p, cel_err *err) {
  preload_beside(path);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return cel_fail(err, CEL_IO, "%s", dlerror());
  void *symbol = dlsym(library, "GetPjrtApi");
  if (!symbol) return cel_fail(err, CEL_UNSUPPORTED, "%s exports no GetPjrtApi: it is no PJRT plugin", path);
  cel_pjrt_get_api get;
  memcpy(&get, &symbol, sizeof get);  // ISO C has no cast from object to function pointer; POSIX has the value
  p->api = get();
  if (!p->api) return cel_fail(err, CEL_IO, "%s: GetPjrtApi returns nothing", path);
  int major = p->api->version.major, minor = p->api->version.minor;
  if (major != CEL_PJRT_MAJOR || minor < CEL_PJRT_MINOR_LEAST) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s speaks PJRT %d.%d; version %d.%d or a later minor one is needed", path, major,
                    minor, CEL_PJRT_MAJOR, CEL_PJRT_MINOR_LEAST);
  }
  size_t least = CEL_PJRT_SIZE(cel_pjrt_api, buffer_to_host);
  if (p->api->head.size >= least) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%s has a table of %zu bytes, %zu are needed", path, p->api->head.size, least);
}

// ---- create options -------------------------------------------------------------------------------------

enum { OPTIONS_MOST = 16 };

static void read_value(char *text, cel_pjrt_named *o) {
  char *end;
  o->value_size = 1;
  if (!strcmp(text, "true") || !strcmp(text, "false")) {
    o->type = CEL_PJRT_OPTION_BOOL;
    o->value.boolean = *text == 't';
    return;
  }
  errno = 0;
  o->value.integer = strtoll(text, &end, 10);
  o->type = CEL_PJRT_OPTION_INT;
  if (*text && !*end && !errno) return;
  double real;
  o->type = CEL_PJRT_OPTION_FLOAT;
  if (cel_parse_double(cel_str_of(text), &real)) {
    o->value.real = (float)real;
    return;
  }
  o->type = CEL_PJRT_OPTION_STRING;
  o->value.text = text;
  o->value_size = strlen(text);
}

// Cuts `text` in place.
static cel_status read_options(char *text, cel_pjrt_named *out, size_t *n, cel_err *err) {
  for (*n = 0; *text;) {
    char *name = text, *equals = strchr(text, '='), *comma = strchr(text, ',');
    text = comma ? comma + 1 : text + strlen(text);
    if (comma) *comma = 0;
    if (!equals || equals == name || (comma && equals > comma) || *n == OPTIONS_MOST) {
      return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_PJRT_OPTIONS: \"%s\" is no name=value (at most %d, parted by commas)", name,
                      OPTIONS_MOST);
    }
    *equals = 0;
    out[*n] = (cel_pjrt_named){.head = CEL_PJRT_HEAD(cel_pjrt_named, value_size), .name = name, .name_size = strlen(name)};
    read_value(equals + 1, &out[(*n)++]);
  }
  return CEL_OK;
}

// ---- client and device ----------------------------------------------------------------------------------

static cel_status make_client(cel_pjrt *p, const char *options, cel_err *err) {
  cel_pjrt_named named[OPTIONS_MOST];
  cel_buf text = {0};
  cel_pjrt_client_create_args c = {.head = CEL_PJRT_HEAD(cel_pjrt_client_create_args, kv_try_get_context), .options = named};
  cel_buf_addz(&text, options);
  cel_status s = text.p ? read_options(text.p, named, &c.n_options, err) : CEL_OK;
  if (s == CEL_OK) s = cel_pjrt_check(p, p->api->client_create(&c), "making the PJRT client", err);
  cel_buf_deinit(&text);
  if (s == CEL_OK) p->client = c.client;
  return s;
}

static cel_status look_at_client(cel_pjrt *p, cel_err *err) {
  cel_pjrt_client_name_args name = {.head = CEL_PJRT_HEAD(cel_pjrt_client_name_args, text_bytes), .client = p->client};
  CEL_TRY(cel_pjrt_check(p, p->api->client_platform_name(&name), "the PJRT platform's name", err));
  snprintf(p->platform, sizeof p->platform, "%.*s", (int)CEL_MIN(name.text_bytes, sizeof p->platform), name.text);
  cel_pjrt_devices_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_devices_args, n), .client = p->client};
  CEL_TRY(cel_pjrt_check(p, p->api->client_addressable_devices(&d), "the PJRT devices", err));
  if (d.n < 1) return cel_fail(err, CEL_UNSUPPORTED, "the PJRT platform %s has no device here", p->platform);
  p->devices = d.devices;
  p->n_devices = d.n;
  if (p->n_parts <= d.n && p->n_parts <= CEL_PJRT_PARTS_MOST) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%zu devices are asked for, the PJRT platform %s has %zu here%s", p->n_parts, p->platform,
                  d.n, d.n >= p->n_parts ? ", and at most 64 share a model" : "");
}

cel_status cel_pjrt_open(const char *path, const char *options, int parts, cel_pjrt *out, cel_err *err) {
  *out = (cel_pjrt){.n_parts = parts > 1 ? (size_t)parts : 1};
  CEL_TRY(load(path, out, err));
  cel_pjrt_plugin_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_plugin_args, head)};
  cel_status s = cel_pjrt_check(out, out->api->plugin_initialize(&a), path, err);
  if (s == CEL_OK) s = make_client(out, options, err);
  if (s == CEL_OK) s = look_at_client(out, err);
  if (s != CEL_OK) cel_pjrt_close(out);
  return s;
}

void cel_pjrt_close(cel_pjrt *p) {
  if (p->client) {
    cel_pjrt_client_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_client_args, client), .client = p->client};
    cel_pjrt_ignore(p, p->api->client_destroy(&a));
  }
  *p = (cel_pjrt){0};
}
