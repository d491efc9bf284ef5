// IREE's compiler: StableHLO text in, a module of IREE's virtual machine out. It is a library, libIREECompiler, loaded when
// the first program is compiled (the wheel iree-base-compiler has it), or the program iree-compile.
//
//   cel_iree_find(name, folders, &path) ─► cel_iree_compiler_open(path) ─► cel_iree_compile ... ─► cel_iree_compiler_close
//
// Threads: one at a time per cel_iree_compiler. A library once loaded stays, and its global state with it.
#ifndef CEL_XLA_ENGINE_IREE_IREE_COMPILER_H
#define CEL_XLA_ENGINE_IREE_IREE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

typedef struct cel_iree_error cel_iree_error;
typedef struct cel_iree_session cel_iree_session;
typedef struct cel_iree_invocation cel_iree_invocation;
typedef struct cel_iree_source cel_iree_source;
typedef struct cel_iree_output cel_iree_output;

typedef struct cel_iree_library {
#define CEL_IREE_SYMBOL(type, name, arguments) type(*name) arguments;
#include "backend/xla/engine/iree/compiler.def"
#undef CEL_IREE_SYMBOL
} cel_iree_library;

typedef struct cel_iree_compiler {  // zeroed: none
  cel_buf path;
  bool is_program;
  cel_iree_library library;  // unless it is a program
  cel_buf version;           // as the compiler says it
} cel_iree_compiler;

// The compiler's path: `name` (MLXCEL_XLA_IREE_COMPILE) where that is given; else what was found when this program was built;
// else the library in Python's packages, those of `folders` first (common/packages.h).
// Fails: CEL_NOT_FOUND, with all that was looked through.
CEL_MUST_CHECK cel_status cel_iree_find(const char *name, const char *folders, cel_buf *path, cel_err *err);
// Loads the library (its name ends in .so or .dylib) or asks the program for its version.
CEL_MUST_CHECK cel_status cel_iree_compiler_open(const char *path, cel_iree_compiler *out, cel_err *err);
void cel_iree_compiler_close(cel_iree_compiler *c);  // a zeroed one is fine
// flags[n]: as for iree-compile. What the compiler has to say about an error is carried up.
CEL_MUST_CHECK cel_status cel_iree_compile(const cel_iree_compiler *c, const cel_buf *text, const char *const *flags, int n,
                                           cel_buf *out, cel_err *err);

// iree_program.c
CEL_MUST_CHECK cel_status cel_iree_program_version(const char *path, cel_buf *version, cel_err *err);
CEL_MUST_CHECK cel_status cel_iree_program_compile(const char *path, const cel_buf *text, const char *const *flags, int n,
                                                   cel_buf *out, cel_err *err);

#endif
