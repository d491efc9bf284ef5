// iree-compile as a program: text and result pass through files in a folder of their own.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/xla/engine/iree/iree_compiler.h"
#include "base/env.h"
#include "base/file.h"
#include "base/process.h"

enum { FLAGS_MOST = 32, FILE_PLACES = 3 };

// What it said, on one line and without its white space at both ends.
static const char *words(cel_buf *said) {
  if (!said->p) return "";
  for (size_t i = 0; i < said->n; i++) {
    if (said->p[i] == '\n') said->p[i] = ' ';
  }
  while (said->n && said->p[said->n - 1] == ' ') said->p[--said->n] = 0;
  return said->p + strspn(said->p, " ");
}

static cel_status run(const char *const *argv, cel_buf *said, cel_err *err) {
  int code;
  CEL_TRY(cel_process_run(argv, said, &code, err));
  if (code == 0) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "%s ended with %d: %s", argv[0], code, words(said));
}

cel_status cel_iree_program_version(const char *path, cel_buf *version, cel_err *err) {
  const char *argv[] = {path, "--version", NULL};
  CEL_TRY(run(argv, version, err));
  const char *said = words(version);
  cel_buf line = {0};
  cel_buf_addz(&line, said);
  cel_buf_deinit(version);
  *version = line;
  return line.failed ? cel_fail_oom(err, "a compiler's version") : CEL_OK;
}

// A new folder that nobody else can look into.
static cel_status make_folder(cel_buf *folder, cel_err *err) {
  cel_buf_printf(folder, "%s/mlxcel-iree-XXXXXX", cel_env_or(CEL_ENV_TMPDIR, "/tmp"));
  if (folder->failed) return cel_fail_oom(err, "a folder's name");
  return mkdtemp(folder->p) ? CEL_OK : cel_fail(err, CEL_IO, "%s cannot be made: %s", folder->p, strerror(errno));
}

static cel_status read_result(const char *path, cel_buf *out, cel_err *err) {
  char *bytes = NULL;
  int64_t n = 0;
  CEL_TRY(cel_read_file(path, INT64_MAX, &bytes, &n, err));
  cel_buf_add(out, bytes, (size_t)n);
  free(bytes);
  return out->failed ? cel_fail_oom(err, "a compiled program") : CEL_OK;
}

static cel_status compile_in(const char *path, const char *from, const char *to, const cel_buf *text, const char *const *flags, int n,
                             cel_buf *out, cel_err *err) {
  const char *argv[FLAGS_MOST + FILE_PLACES + 2] = {path, from, "-o", to};
  cel_buf said = {0};
  if (n > FLAGS_MOST) return cel_fail(err, CEL_INVALID, "%d flags for the compiler, at most %d are passed on", n, FLAGS_MOST);
  for (int i = 0; i < n; i++) argv[1 + FILE_PLACES + i] = flags[i];
  cel_status s = cel_write_file(from, text->p, (int64_t)text->n, err);
  if (s == CEL_OK) s = run(argv, &said, err);
  if (s == CEL_OK) s = read_result(to, out, err);
  cel_buf_deinit(&said);
  return s;
}

cel_status cel_iree_program_compile(const char *path, const cel_buf *text, const char *const *flags, int n, cel_buf *out,
                                    cel_err *err) {
  cel_buf folder = {0}, from = {0}, to = {0};
  cel_status s = make_folder(&folder, err);
  if (s == CEL_OK) {
    cel_buf_printf(&from, "%s/program.mlir", folder.p);
    cel_buf_printf(&to, "%s/program.vmfb", folder.p);
    s = from.failed || to.failed ? cel_fail_oom(err, "a file's name") : compile_in(path, from.p, to.p, text, flags, n, out, err);
    if (from.p) unlink(from.p);
    if (to.p) unlink(to.p);
    rmdir(folder.p);
  }
  cel_buf_deinit(&folder);
  cel_buf_deinit(&from);
  cel_buf_deinit(&to);
  return s;
}
