// Programs in the session's context. A context cannot let go of a module, so those that were loaded stay, and are found again
// by the digest of what they were compiled from.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/iree/iree_device.h"
#include "base/sha256.h"

struct cel_iree_module {
  char key[CEL_SHA256_HEX_BYTES];
  iree_vm_module_t *module;  // lent by the session
  void *code;                // which it reads in place
  int64_t bytes;             // of the code
  cel_iree_module *next;
};

void cel_iree_modules_free(cel_iree_module *first) {
  while (first) {
    cel_iree_module *next = first->next;
    free(first->code);
    free(first);
    first = next;
  }
}

int64_t cel_iree_modules_bytes(const cel_iree_module *first) {
  int64_t bytes = 0;
  for (; first; first = first->next) bytes += first->bytes;
  return bytes;
}

static cel_status new_module(const char *key, const void *code, size_t n, cel_iree_module **out, cel_err *err) {
  enum { ALIGNMENT = 64 };
  cel_iree_module *m = calloc(1, sizeof *m);
  if (m) m->code = n < SIZE_MAX - ALIGNMENT ? aligned_alloc(ALIGNMENT, (n / ALIGNMENT + 1) * ALIGNMENT) : NULL;
  if (!m || !m->code) {
    free(m);
    return cel_fail_oom(err, "a compiled program");
  }
  m->bytes = (int64_t)n;
  strncpy(m->key, key, sizeof m->key - 1);
  memcpy(m->code, code, n);
  *out = m;
  return CEL_OK;
}

// The session's context has the module at its end afterwards.
static cel_status append(cel_iree_device *d, cel_iree_module *m, size_t n, cel_err *err) {
  CEL_TRY(cel_iree_check(iree_runtime_session_append_bytecode_module_from_memory(d->session, iree_make_const_byte_span(m->code, n),
                                                                                 iree_allocator_null()), "loading a program", err));
  const iree_vm_context_t *context = iree_runtime_session_context(d->session);
  m->module = iree_vm_context_module_at(context, iree_vm_context_module_count(context) - 1);
  m->next = d->modules;
  d->modules = m;
  return CEL_OK;
}

// A way to call a module's function.
static cel_status open_program(const cel_iree_device *d, const cel_iree_module *m, const char *name, cel_iree_program *p, cel_err *err) {
  iree_vm_type_def_t any = iree_vm_make_undefined_type_def();
  iree_status_t status = iree_vm_module_lookup_function_by_name(m->module, IREE_VM_FUNCTION_LINKAGE_EXPORT,
                                                                iree_make_cstring_view(name), &p->function);
  if (iree_status_is_ok(status)) status = iree_vm_list_create(any, 8, iree_allocator_system(), &p->arguments);
  if (iree_status_is_ok(status)) status = iree_vm_list_create(any, 8, iree_allocator_system(), &p->results);
  p->session = d->session;
  return cel_iree_check(status, "loading a program", err);
}

bool cel_iree_program_known(const cel_iree_device *d, const char *key, const char *name, cel_iree_program *out) {
  const cel_iree_module *m = d->modules;
  *out = (cel_iree_program){0};
  while (m && strcmp(m->key, key) != 0) m = m->next;
  if (!m) return false;
  if (open_program(d, m, name, out, NULL) == CEL_OK) return true;
  cel_iree_program_drop(out);
  return false;
}

cel_status cel_iree_program_load(cel_iree_device *d, const char *key, const void *code, size_t n, const char *name,
                                 cel_iree_program *out, cel_err *err) {
  cel_iree_module *m;
  *out = (cel_iree_program){0};
  CEL_TRY(new_module(key, code, n, &m, err));
  cel_status s = append(d, m, n, err);
  if (s != CEL_OK) {
    cel_iree_modules_free(m);
    return s;
  }
  s = open_program(d, m, name, out, err);
  if (s != CEL_OK) cel_iree_program_drop(out);
  return s;
}

void cel_iree_program_drop(cel_iree_program *p) {
  iree_vm_list_release(p->arguments);
  iree_vm_list_release(p->results);
  *p = (cel_iree_program){0};
}

static iree_status_t push(iree_vm_list_t *list, iree_hal_buffer_view_t *v) {
  iree_vm_ref_t ref = iree_hal_buffer_view_retain_ref(v);
  return iree_vm_list_push_ref_move(list, &ref);
}

cel_status cel_iree_program_run(cel_iree_program *p, iree_hal_buffer_view_t *const *arguments, int n, cel_err *err) {
  iree_status_t status = iree_ok_status();
  iree_vm_list_clear(p->arguments);
  iree_vm_list_clear(p->results);
  for (int i = 0; i < n && iree_status_is_ok(status); i++) status = push(p->arguments, arguments[i]);
  if (iree_status_is_ok(status)) status = iree_runtime_session_call(p->session, &p->function, p->arguments, p->results);
  iree_vm_list_clear(p->arguments);
  return cel_iree_check(status, "running a program", err);
}

iree_hal_buffer_view_t *cel_iree_program_result(const cel_iree_program *p, int i) {
  return iree_vm_list_get_ref_deref(p->results, (iree_host_size_t)i, iree_hal_buffer_view_type());
}

void cel_iree_program_forget(cel_iree_program *p) { iree_vm_list_clear(p->results); }
