// Where the compiler lies.
#include <string.h>

#include "backend/xla/engine/common/packages.h"
#include "backend/xla/engine/iree/iree_compiler.h"
#include "base/file.h"

#ifndef CEL_IREE_COMPILE  // of the tree that this program was built against; "" where it has no compiler
#define CEL_IREE_COMPILE ""
#endif

static bool in_folder(void *context, const char *folder, size_t n) {
  static const char *const below[] = {"iree/compiler/_mlir_libs/libIREECompiler.so",
                                      "iree/compiler/_mlir_libs/libIREECompiler.dylib"};
  cel_buf *path = context;
  for (int i = 0; i < CEL_COUNT(below); i++) {
    cel_buf_clear(path);
    cel_buf_printf(path, "%.*s/%s", (int)n, folder, below[i]);
    if (path->p && cel_is_file(path->p)) return true;
  }
  return false;
}

cel_status cel_iree_find(const char *name, const char *folders, cel_buf *path, cel_err *err) {
  cel_buf_clear(path);
  const char *given = *name ? name : cel_is_file(CEL_IREE_COMPILE) ? CEL_IREE_COMPILE : "";
  if (*given) {
    cel_buf_addz(path, given);
    if (!path->p) return cel_fail_oom(err, "a compiler's path");
    return cel_is_file(given) ? CEL_OK : cel_fail(err, CEL_NOT_FOUND, "MLXCEL_XLA_IREE_COMPILE=%s: there is no such file", given);
  }
  if (cel_packages_find(folders, in_folder, path)) return CEL_OK;
  return cel_fail(err, CEL_NOT_FOUND, "IREE's compiler is not installed (looked in MLXCEL_XLA_PJRT_PATH, VIRTUAL_ENV and the Python "
                  "packages of user and system): pip install iree-base-compiler, or name libIREECompiler.so or iree-compile in "
                  "MLXCEL_XLA_IREE_COMPILE");
}
