#include "backend/xla/engine/iree/iree_device.h"

#include <iree/base/tooling/flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cel_status cel_iree_check(iree_status_t status, const char *what, cel_err *err) {
  if (iree_status_is_ok(status)) return CEL_OK;
  iree_allocator_t allocator = iree_allocator_system();
  char *text = NULL;
  iree_host_size_t n = 0;
  cel_status ours = iree_status_is_resource_exhausted(status) ? CEL_OOM : CEL_IO;
  bool told = iree_status_to_string(status, &allocator, &text, &n);
  for (iree_host_size_t i = 0; told && i < n; i++) {
    if (text[i] == '\n') text[i] = ' ';
  }
  cel_fail(err, ours, "IREE, %s: %s", what, told ? text : iree_status_code_string(iree_status_code(status)));
  if (told) iree_allocator_free(allocator, text);
  iree_status_free(status);
  return ours;
}

// ---- open and close ---------------------------------------------------------------------------------

// The drivers take what is for them from the library's own command-line flags, and from nowhere else.
static cel_status set_threads(int n, cel_err *err) {
  char name[] = "mlxcel", flag[48];
  snprintf(flag, sizeof flag, "--task_topology_group_count=%d", n);
  char *words[] = {name, flag, NULL}, **argv = words;
  int argc = 2;
  return cel_iree_check(iree_flags_parse(IREE_FLAGS_PARSE_MODE_UNDEFINED_OK, &argc, &argv), "choosing the number of threads", err);
}

static cel_status open_device(const char *driver, cel_iree_device *d, iree_hal_device_t **device, cel_err *err) {
  iree_runtime_instance_options_t options;
  iree_runtime_instance_options_initialize(&options);
  iree_runtime_instance_options_use_all_available_drivers(&options);
  CEL_TRY(cel_iree_check(iree_runtime_instance_create(&options, iree_allocator_system(), &d->instance), "starting the runtime", err));
  return cel_iree_check(iree_runtime_instance_try_create_default_device(d->instance, iree_make_cstring_view(driver), device),
                        "opening the device", err);
}

static cel_status open_session(const char *driver, cel_iree_device *d, iree_hal_device_t *device, cel_err *err) {
  iree_runtime_session_options_t options;
  iree_runtime_session_options_initialize(&options);
  CEL_TRY(cel_iree_check(iree_runtime_session_create_with_device(d->instance, &options, device, iree_allocator_system(), &d->session),
                         "opening the device", err));
  d->hal = iree_runtime_session_device(d->session);
  d->reads_host = !strncmp(driver, "local", 5);
  return CEL_OK;
}

cel_status cel_iree_device_open(const char *driver, int n_threads, cel_iree_device *out, cel_err *err) {
  iree_hal_device_t *device = NULL;
  *out = (cel_iree_device){0};
  cel_status s = set_threads(n_threads, err);
  if (s == CEL_OK) s = open_device(driver, out, &device, err);
  if (s == CEL_OK) s = open_session(driver, out, device, err);
  iree_hal_device_release(device);
  if (s != CEL_OK) cel_iree_device_close(out);
  return s;
}

void cel_iree_device_close(cel_iree_device *d) {
  iree_runtime_session_release(d->session);
  cel_iree_modules_free(d->modules);
  iree_runtime_instance_release(d->instance);
  *d = (cel_iree_device){0};
}

// ---- tensors ----------------------------------------------------------------------------------------

static bool type_of(cel_etype e, iree_hal_element_type_t *out) {
  static const iree_hal_element_type_t types[] = {
      [CEL_ET_PRED] = IREE_HAL_ELEMENT_TYPE_BOOL_8,    [CEL_ET_I8] = IREE_HAL_ELEMENT_TYPE_INT_8,
      [CEL_ET_I16] = IREE_HAL_ELEMENT_TYPE_INT_16,     [CEL_ET_I32] = IREE_HAL_ELEMENT_TYPE_INT_32,
      [CEL_ET_I64] = IREE_HAL_ELEMENT_TYPE_INT_64,     [CEL_ET_UI8] = IREE_HAL_ELEMENT_TYPE_UINT_8,
      [CEL_ET_UI16] = IREE_HAL_ELEMENT_TYPE_UINT_16,   [CEL_ET_UI32] = IREE_HAL_ELEMENT_TYPE_UINT_32,
      [CEL_ET_UI64] = IREE_HAL_ELEMENT_TYPE_UINT_64,   [CEL_ET_BF16] = IREE_HAL_ELEMENT_TYPE_BFLOAT_16,
      [CEL_ET_F16] = IREE_HAL_ELEMENT_TYPE_FLOAT_16,   [CEL_ET_F32] = IREE_HAL_ELEMENT_TYPE_FLOAT_32,
      [CEL_ET_F64] = IREE_HAL_ELEMENT_TYPE_FLOAT_64,
  };
  *out = (int)e >= 0 && (int)e < CEL_COUNT(types) ? types[e] : IREE_HAL_ELEMENT_TYPE_NONE;
  return *out != IREE_HAL_ELEMENT_TYPE_NONE;
}

static iree_hal_buffer_params_t on_device(void) {
  return (iree_hal_buffer_params_t){.type = IREE_HAL_MEMORY_TYPE_DEVICE_LOCAL, .access = IREE_HAL_MEMORY_ACCESS_ALL,
                                    .usage = IREE_HAL_BUFFER_USAGE_DEFAULT};
}

// Takes one reference of `buffer`, on success and on failure.
static cel_status view(const cel_hlo_type *t, iree_hal_buffer_t *buffer, iree_hal_buffer_view_t **out, cel_err *err) {
  iree_hal_dim_t dims[CEL_HLO_MAX_RANK];
  iree_hal_element_type_t type;
  cel_status s = CEL_OK;
  for (int i = 0; i < t->rank; i++) dims[i] = (iree_hal_dim_t)t->dims[i];
  if (!type_of(t->etype, &type)) {
    char text[128];
    cel_hlo_type_text(t, text, sizeof text);
    s = cel_fail(err, CEL_UNSUPPORTED, "%s: no buffer of IREE has this element type", text);
  } else {
    s = cel_iree_check(iree_hal_buffer_view_create(buffer, (iree_host_size_t)t->rank, dims, type, IREE_HAL_ENCODING_TYPE_DENSE_ROW_MAJOR,
                                                   iree_allocator_system(), out), "making a tensor", err);
  }
  iree_hal_buffer_release(buffer);
  return s;
}

// Host memory as it is, where that is the device's own, and aligned to 64. A GPU would fetch it over its bus in each run.
static iree_hal_buffer_t *import(const cel_iree_device *d, const void *data, int64_t bytes) {
  iree_hal_external_buffer_t external = {.type = IREE_HAL_EXTERNAL_BUFFER_TYPE_HOST_ALLOCATION, .size = (iree_device_size_t)bytes};
  external.handle.host_allocation.ptr = (void *)(uintptr_t)data;
  iree_hal_buffer_params_t params = on_device();
  params.access = IREE_HAL_MEMORY_ACCESS_READ;
  iree_hal_buffer_t *buffer = NULL;
  if (!d->reads_host || bytes == 0 || (uintptr_t)data % 64 != 0) return NULL;
  iree_status_t status = iree_hal_allocator_import_buffer(iree_hal_device_allocator(d->hal), params, &external,
                                                          iree_hal_buffer_release_callback_null(), &buffer);
  if (!iree_status_is_ok(status)) iree_status_free(status);  // then it is copied
  return buffer;
}

static cel_status allocate(const cel_iree_device *d, int64_t bytes, iree_hal_buffer_t **out, cel_err *err) {
  return cel_iree_check(iree_hal_allocator_allocate_buffer(iree_hal_device_allocator(d->hal), on_device(),
                                                           (iree_device_size_t)CEL_MAX(bytes, 1), out), "taking memory", err);
}

static cel_status put(const cel_iree_device *d, iree_hal_buffer_t *buffer, int64_t at, const void *data, int64_t bytes, cel_err *err) {
  if (bytes == 0) return CEL_OK;
  return cel_iree_check(iree_hal_device_transfer_h2d(d->hal, data, buffer, (iree_device_size_t)at, (iree_device_size_t)bytes,
                                                     IREE_HAL_TRANSFER_BUFFER_FLAG_DEFAULT, iree_infinite_timeout()),
                        "writing to the device", err);
}

// Bytes [at, at + n) become zero, in pieces.
static cel_status zero(const cel_iree_device *d, iree_hal_buffer_t *buffer, int64_t at, int64_t n, cel_err *err) {
  enum { PIECE = 1 << 20 };
  void *zeros = calloc(1, PIECE);
  if (!zeros) return cel_fail_oom(err, "zeros");
  cel_status s = CEL_OK;
  for (int64_t done = 0; done < n && s == CEL_OK; done += PIECE) s = put(d, buffer, at + done, zeros, CEL_MIN(n - done, PIECE), err);
  free(zeros);
  return s;
}

cel_status cel_iree_upload(const cel_iree_device *d, const cel_hlo_type *t, const void *data, bool lent, iree_hal_buffer_view_t **out,
                           cel_err *err) {
  int64_t bytes = cel_hlo_bytes(t);
  iree_hal_buffer_t *buffer = lent ? import(d, data, bytes) : NULL;
  *out = NULL;
  if (!buffer) {
    CEL_TRY(allocate(d, bytes, &buffer, err));
    cel_status s = put(d, buffer, 0, data, bytes, err);
    if (s != CEL_OK) {
      iree_hal_buffer_release(buffer);
      return s;
    }
  }
  return view(t, buffer, out, err);
}

cel_status cel_iree_zeros(const cel_iree_device *d, const cel_hlo_type *t, iree_hal_buffer_view_t **out, cel_err *err) {
  iree_hal_buffer_t *buffer = NULL;
  *out = NULL;
  CEL_TRY(allocate(d, cel_hlo_bytes(t), &buffer, err));
  cel_status s = zero(d, buffer, 0, cel_hlo_bytes(t), err);
  if (s != CEL_OK) {
    iree_hal_buffer_release(buffer);
    return s;
  }
  return view(t, buffer, out, err);
}

cel_status cel_iree_download(const cel_iree_device *d, iree_hal_buffer_view_t *v, void *data, int64_t bytes, cel_err *err) {
  int64_t there = (int64_t)iree_hal_buffer_view_byte_length(v);
  if (there != bytes) return cel_fail(err, CEL_IO, "IREE gave a result of %lld bytes, expected %lld", (long long)there, (long long)bytes);
  if (bytes == 0) return CEL_OK;
  return cel_iree_check(iree_hal_device_transfer_d2h(d->hal, iree_hal_buffer_view_buffer(v), 0, data, (iree_device_size_t)bytes,
                                                     IREE_HAL_TRANSFER_BUFFER_FLAG_DEFAULT, iree_infinite_timeout()),
                        "reading from the device", err);
}

cel_status cel_iree_move(const cel_iree_device *d, iree_hal_buffer_view_t *from, int64_t from_at, iree_hal_buffer_view_t *to,
                         int64_t to_at, int64_t n, cel_err *err) {
  if (n == 0) return CEL_OK;
  if (!from) return zero(d, iree_hal_buffer_view_buffer(to), to_at, n, err);
  return cel_iree_check(iree_hal_device_transfer_d2d(d->hal, iree_hal_buffer_view_buffer(from), (iree_device_size_t)from_at,
                                                     iree_hal_buffer_view_buffer(to), (iree_device_size_t)to_at, (iree_device_size_t)n,
                                                     IREE_HAL_TRANSFER_BUFFER_FLAG_DEFAULT, iree_infinite_timeout()),
                        "copying on the device", err);
}
