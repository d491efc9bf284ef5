// IREE's runtime: one device, tensors on it, programs that run there. Errors of IREE come up as ours, with its own text.
// Threads: one at a time per cel_iree_device.
#ifndef CEL_XLA_ENGINE_IREE_IREE_DEVICE_H
#define CEL_XLA_ENGINE_IREE_IREE_DEVICE_H

#include <iree/modules/hal/types.h>
#include <iree/runtime/api.h>

#include "backend/xla/hlo/hlo.h"

typedef struct cel_iree_module cel_iree_module;

typedef struct cel_iree_device {  // zeroed: none
  iree_runtime_instance_t *instance;
  iree_runtime_session_t *session;
  iree_hal_device_t *hal;    // lent by the session
  bool reads_host;           // it computes where host memory is
  cel_iree_module *modules;  // all that were loaded: the session keeps them to its end
} cel_iree_device;

// `driver`: "local-task", "cuda", ... as the runtime was built with. n_threads: of local-task; 0: as many as IREE likes.
CEL_MUST_CHECK cel_status cel_iree_device_open(const char *driver, int n_threads, cel_iree_device *out, cel_err *err);
void cel_iree_device_close(cel_iree_device *d);  // a zeroed one is fine

// A dense row-major tensor of host memory. `lent`: memory that outlives the tensor is read in place where the device can.
CEL_MUST_CHECK cel_status cel_iree_upload(const cel_iree_device *d, const cel_hlo_type *t, const void *data, bool lent,
                                          iree_hal_buffer_view_t **out, cel_err *err);
CEL_MUST_CHECK cel_status cel_iree_zeros(const cel_iree_device *d, const cel_hlo_type *t, iree_hal_buffer_view_t **out, cel_err *err);
CEL_MUST_CHECK cel_status cel_iree_download(const cel_iree_device *d, iree_hal_buffer_view_t *v, void *data, int64_t bytes, cel_err *err);
// Bytes [to_at, to_at + n) of `to` become bytes [from_at, from_at + n) of `from`, or zero where that is NULL. The two ranges do
// not overlap.
CEL_MUST_CHECK cel_status cel_iree_move(const cel_iree_device *d, iree_hal_buffer_view_t *from, int64_t from_at,
                                        iree_hal_buffer_view_t *to, int64_t to_at, int64_t n, cel_err *err);

typedef struct cel_iree_program {  // zeroed: none
  iree_runtime_session_t *session;  // lent
  iree_vm_function_t function;
  iree_vm_list_t *arguments, *results;  // of buffer views
} cel_iree_program;

// The program of this key (the artifact's: a SHA-256 in hexadecimal), when it was loaded before. False: it was not.
bool cel_iree_program_known(const cel_iree_device *d, const char *key, const char *name, cel_iree_program *out);
// code[n]: a compiled module, copied. Its function `name` is the one that runs.
CEL_MUST_CHECK cel_status cel_iree_program_load(cel_iree_device *d, const char *key, const void *code, size_t n, const char *name,
                                                cel_iree_program *out, cel_err *err);
void cel_iree_program_drop(cel_iree_program *p);  // a zeroed one is fine
// arguments[n]: lent.
CEL_MUST_CHECK cel_status cel_iree_program_run(cel_iree_program *p, iree_hal_buffer_view_t *const *arguments, int n, cel_err *err);
iree_hal_buffer_view_t *cel_iree_program_result(const cel_iree_program *p, int i);  // lent; NULL where there is none
void cel_iree_program_forget(cel_iree_program *p);  // lets go of the results
int64_t cel_iree_modules_bytes(const cel_iree_module *first);  // of compiled code, in all
void cel_iree_modules_free(cel_iree_module *first);  // once the session is gone

// Turns a status of IREE into ours, "what: text", and lets it go.
CEL_MUST_CHECK cel_status cel_iree_check(iree_status_t status, const char *what, cel_err *err);

#endif
