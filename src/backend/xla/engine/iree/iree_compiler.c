#include "backend/xla/engine/iree/iree_compiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { API_MAJOR = 1, API_MINOR = 4, PIPELINE_WHOLE = 0, SEVERITY_ERROR = 2 };  // as compiler.def

// ---- the library ------------------------------------------------------------------------------------

static bool ends_in(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && !strcmp(path + n - m, end);
}

static cel_status load(const char *path, cel_iree_library *out, cel_err *err) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return cel_fail(err, CEL_IO, "IREE's compiler cannot be loaded: %s", dlerror());
  static const char *const names[] = {
#define CEL_IREE_SYMBOL(type, name, arguments) #name,
#include "backend/xla/engine/iree/compiler.def"
#undef CEL_IREE_SYMBOL
  };
  void *found[CEL_COUNT(names)];
  _Static_assert(sizeof *out == sizeof found, "a library is a list of functions");
  for (int i = 0; i < CEL_COUNT(names); i++) {
    found[i] = dlsym(handle, names[i]);
    if (!found[i]) return cel_fail(err, CEL_UNSUPPORTED, "%s: no compiler of IREE that is known here: %s is missing", path, names[i]);
  }
  memcpy(out, found, sizeof found);
  return CEL_OK;
}

static cel_status open_library(cel_iree_compiler *c, cel_err *err) {
  CEL_TRY(load(c->path.p, &c->library, err));
  int version = c->library.ireeCompilerGetAPIVersion(), major = version >> 16, minor = version & 0xffff;
  if (major != API_MAJOR || minor < API_MINOR) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: its interface has version %d.%d, this program speaks %d.%d and later ones of %d", c->path.p,
                    major, minor, API_MAJOR, API_MINOR, API_MAJOR);
  }
  c->library.ireeCompilerGlobalInitialize();
  cel_buf_printf(&c->version, "%s, interface %d.%d", c->library.ireeCompilerGetRevision(), major, minor);
  return c->version.failed ? cel_fail_oom(err, "a compiler's version") : CEL_OK;
}

cel_status cel_iree_compiler_open(const char *path, cel_iree_compiler *out, cel_err *err) {
  *out = (cel_iree_compiler){.is_program = !ends_in(path, ".so") && !ends_in(path, ".dylib")};
  cel_buf_addz(&out->path, path);
  cel_status s = out->path.failed   ? cel_fail_oom(err, "a compiler's path")
                 : out->is_program ? cel_iree_program_version(path, &out->version, err)
                                   : open_library(out, err);
  if (s != CEL_OK) cel_iree_compiler_close(out);
  return s;
}

void cel_iree_compiler_close(cel_iree_compiler *c) {
  cel_buf_deinit(&c->path);
  cel_buf_deinit(&c->version);
}

// ---- one compilation --------------------------------------------------------------------------------

// What the compiler says while it works; it may say it from any of its threads.
typedef struct messages {
  pthread_mutex_t mutex;
  cel_buf text;
} messages;

static void hear(int severity, const char *text, size_t n, void *context) {
  messages *m = context;
  if (severity != SEVERITY_ERROR) return;
  pthread_mutex_lock(&m->mutex);
  if (m->text.n) cel_buf_addz(&m->text, "; ");
  cel_buf_add(&m->text, text, n);
  pthread_mutex_unlock(&m->mutex);
}

static cel_status failed(messages *m, cel_err *err) {
  pthread_mutex_lock(&m->mutex);
  cel_status s = cel_fail(err, CEL_UNSUPPORTED, "IREE's compiler: %s", m->text.n ? m->text.p : "it failed without a word");
  pthread_mutex_unlock(&m->mutex);
  return s;
}

// Turns an error of the library into ours, and lets it go. NULL: CEL_OK.
static cel_status check(const cel_iree_library *l, cel_iree_error *error, cel_err *err) {
  if (!error) return CEL_OK;
  cel_status s = cel_fail(err, CEL_UNSUPPORTED, "IREE's compiler: %s", l->ireeCompilerErrorGetMessage(error));
  l->ireeCompilerErrorDestroy(error);
  return s;
}

static cel_status take_output(const cel_iree_library *l, cel_iree_invocation *run, cel_buf *out, cel_err *err) {
  cel_iree_output *output = NULL;
  void *bytes = NULL;
  uint64_t n = 0;
  cel_status s = check(l, l->ireeCompilerOutputOpenMembuffer(&output), err);
  if (s == CEL_OK) s = check(l, l->ireeCompilerInvocationOutputVMBytecode(run, output), err);
  if (s == CEL_OK) s = check(l, l->ireeCompilerOutputMapMemory(output, &bytes, &n), err);
  if (s == CEL_OK) {
    cel_buf_add(out, bytes, (size_t)n);
    if (out->failed) s = cel_fail_oom(err, "a compiled program");
  }
  if (output) l->ireeCompilerOutputDestroy(output);
  return s;
}

static cel_status invoke(const cel_iree_library *l, cel_iree_session *session, cel_iree_source *source, cel_buf *out,
                         cel_err *err) {
  messages said = {.text = {0}};
  if (pthread_mutex_init(&said.mutex, NULL) != 0) return cel_fail_oom(err, "a lock");
  cel_iree_invocation *run = l->ireeCompilerInvocationCreate(session);
  l->ireeCompilerInvocationEnableCallbackDiagnostics(run, 0, hear, &said);
  bool ok = l->ireeCompilerInvocationParseSource(run, source) && l->ireeCompilerInvocationPipeline(run, PIPELINE_WHOLE);
  cel_status s = ok ? take_output(l, run, out, err) : failed(&said, err);
  l->ireeCompilerInvocationDestroy(run);
  pthread_mutex_destroy(&said.mutex);
  cel_buf_deinit(&said.text);
  return s;
}

cel_status cel_iree_compile(const cel_iree_compiler *c, const cel_buf *text, const char *const *flags, int n, cel_buf *out,
                            cel_err *err) {
  if (c->is_program) return cel_iree_program_compile(c->path.p, text, flags, n, out, err);
  const cel_iree_library *l = &c->library;
  cel_iree_session *session = l->ireeCompilerSessionCreate();
  cel_iree_source *source = NULL;
  cel_status s = check(l, l->ireeCompilerSessionSetFlags(session, n, flags), err);
  // A text is told with the zero behind it.
  if (s == CEL_OK) s = check(l, l->ireeCompilerSourceWrapBuffer(session, "program.mlir", text->p, text->n + 1, true, &source), err);
  if (s == CEL_OK) s = invoke(l, session, source, out, err);
  if (source) l->ireeCompilerSourceDestroy(source);
  l->ireeCompilerSessionDestroy(session);
  return s;
}
