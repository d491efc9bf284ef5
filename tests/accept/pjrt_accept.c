// XLA, reached through a PJRT plugin: does it take a module, and what does the module give?
//
//   pjrt_accept PLUGIN compile FILE...          a line per file: `accepted FILE` or `refused FILE: why`
//   pjrt_accept PLUGIN run FILE OUT ARGUMENT... result k, raw bytes in row-major order, goes to OUT.k
//
// An ARGUMENT is what iree-run-module takes: "6x64xbf16=@bytes.bin", "i32=@bytes.bin".
// Ends with 0, with 1 when a file is refused or a run fails, with 2 when the plugin or the command line is no good.
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/pjrt/pjrt_abi.h"
#include "base/file.h"
#include "base/macros.h"

enum { ARGUMENTS_MOST = 1024, RANK_MOST = 8, RESULTS_MOST = 64, REFUSED = 1, UNUSABLE = 2 };

typedef struct session {
  const cel_pjrt_api *api;
  cel_pjrt_client *client;
  cel_pjrt_device *device;
} session;

#define HEAD(type, last) \
  { CEL_PJRT_SIZE(type, last), NULL }

CEL_PRINTF(1, 2) static int complain(const char *fmt, ...) {
  va_list list;
  va_start(list, fmt);
  fputs("pjrt_accept: ", stderr);
  vfprintf(stderr, fmt, list);
  fputc('\n', stderr);
  va_end(list);
  return UNUSABLE;
}

// ---- errors and events ----------------------------------------------------------------------------------

// True when there is no error; else its text is in `why` and the error is gone.
static bool fine(const session *s, cel_pjrt_error *error, char *why, size_t why_bytes) {
  if (!error) return true;
  cel_pjrt_error_message_args m = {.head = HEAD(cel_pjrt_error_message_args, text_bytes), .error = error};
  s->api->error_message(&m);
  snprintf(why, why_bytes, "%.*s", (int)CEL_MIN(m.text_bytes, why_bytes - 1), m.text);
  cel_pjrt_error_args d = {.head = HEAD(cel_pjrt_error_args, error), .error = error};
  s->api->error_destroy(&d);
  for (char *c = why; *c; c++) {
    if (*c == '\n') *c = ' ';
  }
  return false;
}

// Waits, and gives the event back.
static bool finished(const session *s, cel_pjrt_event *event, char *why, size_t why_bytes) {
  if (!event) return true;
  cel_pjrt_event_args a = {.head = HEAD(cel_pjrt_event_args, event), .event = event};
  bool ok = fine(s, s->api->event_await(&a), why, why_bytes);
  char other[200];
  return fine(s, s->api->event_destroy(&a), other, sizeof other) && ok;
}

// ---- opening --------------------------------------------------------------------------------------------

static int load(session *s, const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) return complain("%s", dlerror());
  void *symbol = dlsym(library, "GetPjrtApi");
  if (!symbol) return complain("%s exports no GetPjrtApi", path);
  cel_pjrt_get_api get;
  memcpy(&get, &symbol, sizeof get);  // ISO C has no cast from object to function pointer; POSIX has the value
  s->api = get();
  if (!s->api) return complain("%s: GetPjrtApi returns nothing", path);
  if (s->api->version.major != CEL_PJRT_MAJOR || s->api->version.minor < CEL_PJRT_MINOR_LEAST) {
    return complain("%s: PJRT %d.%d; this program speaks %d.%d and later minor versions", path, s->api->version.major,
                    s->api->version.minor, CEL_PJRT_MAJOR, CEL_PJRT_MINOR_LEAST);
  }
  size_t least = CEL_PJRT_SIZE(cel_pjrt_api, buffer_to_host);
  if (s->api->head.size < least) return complain("%s: a table of %zu bytes, %zu are needed", path, s->api->head.size, least);
  return 0;
}

static int open_session(session *s, const char *path) {
  char why[1000];
  int status = load(s, path);
  if (status) return status;
  cel_pjrt_plugin_args p = {.head = HEAD(cel_pjrt_plugin_args, head)};
  if (!fine(s, s->api->plugin_initialize(&p), why, sizeof why)) return complain("%s", why);
  cel_pjrt_client_create_args c = {.head = HEAD(cel_pjrt_client_create_args, kv_try_get_context)};
  if (!fine(s, s->api->client_create(&c), why, sizeof why)) return complain("%s", why);
  s->client = c.client;
  cel_pjrt_devices_args d = {.head = HEAD(cel_pjrt_devices_args, n), .client = s->client};
  if (!fine(s, s->api->client_addressable_devices(&d), why, sizeof why)) return complain("%s", why);
  if (d.n < 1) return complain("%s: no device", path);
  s->device = d.devices[0];
  return 0;
}

static void close_session(session *s) {
  char why[200];
  cel_pjrt_client_args a = {.head = HEAD(cel_pjrt_client_args, client), .client = s->client};
  if (s->client && !fine(s, s->api->client_destroy(&a), why, sizeof why)) complain("%s", why);
}

// ---- compile --------------------------------------------------------------------------------------------

static cel_pjrt_loaded *compile(const session *s, const char *file, char *why, size_t why_bytes) {
  cel_err err = {0};
  char *text;
  int64_t n;
  if (cel_read_file(file, 1 << 28, &text, &n, &err) != CEL_OK) {
    snprintf(why, why_bytes, "%s", err.text);
    return NULL;
  }
  cel_pjrt_program program = {.head = HEAD(cel_pjrt_program, format_bytes),
                              .code = text, .code_bytes = (size_t)n, .format = "mlir", .format_bytes = 4};
  cel_pjrt_compile_args a = {.head = HEAD(cel_pjrt_compile_args, executable), .client = s->client, .program = &program,
                             .options = CEL_PJRT_ONE_DEVICE, .options_bytes = CEL_PJRT_ONE_DEVICE_BYTES};
  bool ok = fine(s, s->api->client_compile(&a), why, why_bytes);
  free(text);
  return ok ? a.executable : NULL;
}

static void release_program(const session *s, cel_pjrt_loaded *program) {
  char why[200];
  cel_pjrt_loaded_args a = {.head = HEAD(cel_pjrt_loaded_args, loaded), .loaded = program};
  if (!fine(s, s->api->loaded_destroy(&a), why, sizeof why)) complain("%s", why);
}

static int compile_files(const session *s, char **files, int n) {
  int status = 0;
  for (int i = 0; i < n; i++) {
    char why[4000];
    cel_pjrt_loaded *program = compile(s, files[i], why, sizeof why);
    if (program) {
      printf("accepted %s\n", files[i]);
      release_program(s, program);
    } else {
      printf("refused %s: %s\n", files[i], why);
      status = REFUSED;
    }
    fflush(stdout);
  }
  return status;
}

// ---- run ------------------------------------------------------------------------------------------------

typedef struct argument {
  cel_pjrt_type type;
  int64_t dims[RANK_MOST];
  size_t n_dims, bytes;
  char *data;
} argument;

static const struct {
  const char *name;
  cel_pjrt_type type;
  size_t bytes;
} types[] = {{"i1", CEL_PJRT_PRED, 1},  {"i8", CEL_PJRT_S8, 1},   {"i16", CEL_PJRT_S16, 2},  {"i32", CEL_PJRT_S32, 4},
             {"i64", CEL_PJRT_S64, 8},  {"ui8", CEL_PJRT_U8, 1},  {"ui16", CEL_PJRT_U16, 2}, {"ui32", CEL_PJRT_U32, 4},
             {"f16", CEL_PJRT_F16, 2},  {"f32", CEL_PJRT_F32, 4}, {"f64", CEL_PJRT_F64, 8},  {"bf16", CEL_PJRT_BF16, 2}};

// "6x64xbf16=@FILE"
static bool read_argument(const char *word, argument *a) {
  cel_err err = {0};
  const char *at = word, *equals = strstr(word, "=@");
  if (!equals) return complain("%s: expected TYPE=@FILE", word), false;
  size_t elements = 1;
  for (a->n_dims = 0; *at >= '0' && *at <= '9' && a->n_dims < RANK_MOST; a->n_dims++) {
    char *end;
    a->dims[a->n_dims] = strtoll(at, &end, 10);
    elements *= (size_t)a->dims[a->n_dims];
    if (*end != 'x') return complain("%s: no type", word), false;
    at = end + 1;
  }
  for (int i = 0; i < CEL_COUNT(types); i++) {
    size_t n = strlen(types[i].name);
    if ((size_t)(equals - at) != n || strncmp(at, types[i].name, n) != 0) continue;
    a->type = types[i].type;
    a->bytes = elements * types[i].bytes;
  }
  if (a->type == CEL_PJRT_INVALID) return complain("%s: unknown element type", word), false;
  int64_t bytes;
  if (cel_read_file(equals + 2, 1 << 28, &a->data, &bytes, &err) != CEL_OK) return complain("%s", err.text), false;
  if ((size_t)bytes == a->bytes) return true;
  return complain("%s has %lld bytes, not %zu", equals + 2, (long long)bytes, a->bytes), false;
}

static cel_pjrt_buffer *upload(const session *s, const argument *a, char *why, size_t why_bytes) {
  cel_pjrt_from_host_args u = {.head = HEAD(cel_pjrt_from_host_args, buffer), .client = s->client, .data = a->data,
                               .type = a->type, .dims = a->dims, .n_dims = a->n_dims,
                               .host = CEL_PJRT_HOST_DURING_CALL, .device = s->device};
  if (!fine(s, s->api->client_buffer_from_host(&u), why, why_bytes)) return NULL;
  return finished(s, u.done, why, why_bytes) ? u.buffer : NULL;
}

static void release_buffer(const session *s, cel_pjrt_buffer *buffer) {
  char why[200];
  cel_pjrt_buffer_args a = {.head = HEAD(cel_pjrt_buffer_args, buffer), .buffer = buffer};
  if (buffer && !fine(s, s->api->buffer_destroy(&a), why, sizeof why)) complain("%s", why);
}

static bool save(const session *s, cel_pjrt_buffer *buffer, const char *path, char *why, size_t why_bytes) {
  cel_err err = {0};
  cel_pjrt_to_host_args a = {.head = HEAD(cel_pjrt_to_host_args, done), .buffer = buffer};
  if (!fine(s, s->api->buffer_to_host(&a), why, why_bytes)) return false;
  char *data = malloc(a.bytes + 1);
  if (!data) return snprintf(why, why_bytes, "out of memory"), false;
  a.data = data;
  a.done = NULL;
  bool ok = fine(s, s->api->buffer_to_host(&a), why, why_bytes) && finished(s, a.done, why, why_bytes);
  if (ok && cel_write_file(path, data, (int64_t)a.bytes, &err) != CEL_OK) {
    snprintf(why, why_bytes, "%s", err.text);
    ok = false;
  }
  free(data);
  return ok;
}

// 0 with the sentence in `why` on an error: programs of ours have results.
static size_t count_results(const session *s, cel_pjrt_loaded *program, char *why, size_t why_bytes) {
  cel_pjrt_get_executable_args g = {.head = HEAD(cel_pjrt_get_executable_args, executable), .loaded = program};
  if (!fine(s, s->api->loaded_get_executable(&g), why, why_bytes)) return 0;
  cel_pjrt_count_args c = {.head = HEAD(cel_pjrt_count_args, n), .executable = g.executable};
  bool ok = fine(s, s->api->executable_results(&c), why, why_bytes);
  cel_pjrt_executable_args d = {.head = HEAD(cel_pjrt_executable_args, executable), .executable = g.executable};
  char other[200];
  fine(s, s->api->executable_destroy(&d), other, sizeof other);
  if (ok && (c.n < 1 || c.n > RESULTS_MOST)) snprintf(why, why_bytes, "%zu results; 1 to %d are expected", c.n, RESULTS_MOST);
  return ok && c.n <= RESULTS_MOST ? c.n : 0;
}

static bool execute(const session *s, cel_pjrt_loaded *program, cel_pjrt_buffer **arguments, size_t n_arguments,
                    cel_pjrt_buffer **results, char *why, size_t why_bytes) {
  cel_pjrt_execute_options options = {.head = HEAD(cel_pjrt_execute_options, incarnations)};
  cel_pjrt_event *done = NULL;
  cel_pjrt_buffer *const *lists[1] = {arguments};
  cel_pjrt_buffer **const result_lists[1] = {results};
  cel_pjrt_execute_args a = {.head = HEAD(cel_pjrt_execute_args, device), .loaded = program, .options = &options,
                             .arguments = lists, .n_devices = 1, .n_arguments = n_arguments, .results = result_lists,
                             .done = &done};
  return fine(s, s->api->loaded_execute(&a), why, why_bytes) && finished(s, done, why, why_bytes);
}

static bool run_program(const session *s, cel_pjrt_loaded *program, const argument *arguments, size_t n,
                        const char *out, char *why, size_t why_bytes) {
  cel_pjrt_buffer *buffers[ARGUMENTS_MOST] = {0}, *results[RESULTS_MOST] = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < n; i++) ok = (buffers[i] = upload(s, &arguments[i], why, why_bytes)) != NULL;
  size_t n_results = ok ? count_results(s, program, why, why_bytes) : 0;
  ok = n_results > 0 && execute(s, program, buffers, n, results, why, why_bytes);
  for (size_t k = 0; ok && k < n_results; k++) {
    char path[1200];
    snprintf(path, sizeof path, "%s.%zu", out, k);
    ok = save(s, results[k], path, why, why_bytes);
  }
  for (size_t i = 0; i < n; i++) release_buffer(s, buffers[i]);
  for (size_t k = 0; k < n_results; k++) release_buffer(s, results[k]);
  return ok;
}

static int run(const session *s, const char *file, const char *out, char **words, int n) {
  if (n > ARGUMENTS_MOST) return complain("%d arguments; at most %d", n, ARGUMENTS_MOST);
  argument *arguments = calloc((size_t)n + 1, sizeof *arguments);
  if (!arguments) return complain("out of memory");
  char why[4000] = "";
  int status = 0;
  for (int i = 0; i < n && !status; i++) status = read_argument(words[i], &arguments[i]) ? 0 : UNUSABLE;
  cel_pjrt_loaded *program = status ? NULL : compile(s, file, why, sizeof why);
  if (program) {
    status = run_program(s, program, arguments, (size_t)n, out, why, sizeof why) ? 0 : REFUSED;
    release_program(s, program);
  } else if (!status) {
    status = REFUSED;
  }
  if (status == REFUSED) printf("refused %s: %s\n", file, why);
  for (int i = 0; i < n; i++) free(arguments[i].data);
  free(arguments);
  return status;
}

int main(int argc, char **argv) {
  bool to_run = argc > 4 && !strcmp(argv[2], "run");
  if (!to_run && (argc < 4 || strcmp(argv[2], "compile") != 0)) {
    return complain("usage: pjrt_accept PLUGIN compile FILE... | PLUGIN run FILE OUT ARGUMENT...");
  }
  session s = {0};
  int status = open_session(&s, argv[1]);
  if (!status) status = to_run ? run(&s, argv[3], argv[4], argv + 5, argc - 5) : compile_files(&s, argv + 3, argc - 3);
  close_session(&s);
  return status;
}
