// Libraries that are no compiler of IREE: FAKE_IREE_SYMBOL lacks most functions, FAKE_IREE_OLD has an interface that is too old,
// FAKE_IREE_NEW one of another major version.
#ifdef FAKE_IREE_SYMBOL
int ireeCompilerGetAPIVersion(void);
int ireeCompilerGetAPIVersion(void) { return 1 << 16 | 4; }
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/xla/engine/iree/iree_compiler.h"

#define CEL_IREE_SYMBOL(type, name, arguments) type name arguments;
#include "backend/xla/engine/iree/compiler.def"
#undef CEL_IREE_SYMBOL

#ifdef FAKE_IREE_OLD
int ireeCompilerGetAPIVersion(void) { return 1 << 16 | 3; }
#else
int ireeCompilerGetAPIVersion(void) { return 2 << 16 | 0; }
#endif
// None of these is ever called.
void ireeCompilerGlobalInitialize(void) {}
const char *ireeCompilerGetRevision(void) { return ""; }
void ireeCompilerErrorDestroy(cel_iree_error *e) { (void)e; }
const char *ireeCompilerErrorGetMessage(cel_iree_error *e) { return (void)e, ""; }
cel_iree_session *ireeCompilerSessionCreate(void) { return NULL; }
void ireeCompilerSessionDestroy(cel_iree_session *s) { (void)s; }
cel_iree_error *ireeCompilerSessionSetFlags(cel_iree_session *s, int n, const char *const *f) { return (void)s, (void)n, (void)f, NULL; }
cel_iree_invocation *ireeCompilerInvocationCreate(cel_iree_session *s) { return (void)s, NULL; }
void ireeCompilerInvocationDestroy(cel_iree_invocation *i) { (void)i; }
void ireeCompilerInvocationEnableCallbackDiagnostics(cel_iree_invocation *i, int f, void (*c)(int, const char *, size_t, void *), void *d) {
  (void)i, (void)f, (void)c, (void)d;
}
bool ireeCompilerInvocationParseSource(cel_iree_invocation *i, cel_iree_source *s) { return (void)i, (void)s, false; }
bool ireeCompilerInvocationPipeline(cel_iree_invocation *i, int p) { return (void)i, (void)p, false; }
cel_iree_error *ireeCompilerInvocationOutputVMBytecode(cel_iree_invocation *i, cel_iree_output *o) { return (void)i, (void)o, NULL; }
cel_iree_error *ireeCompilerSourceWrapBuffer(cel_iree_session *s, const char *n, const char *b, size_t z, bool t, cel_iree_source **o) {
  return (void)s, (void)n, (void)b, (void)z, (void)t, (void)o, NULL;
}
void ireeCompilerSourceDestroy(cel_iree_source *s) { (void)s; }
cel_iree_error *ireeCompilerOutputOpenMembuffer(cel_iree_output **o) { return (void)o, NULL; }
cel_iree_error *ireeCompilerOutputMapMemory(cel_iree_output *o, void **p, uint64_t *n) { return (void)o, (void)p, (void)n, NULL; }
void ireeCompilerOutputDestroy(cel_iree_output *o) { (void)o; }
#endif
