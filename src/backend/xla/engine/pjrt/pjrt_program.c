#include "backend/xla/engine/pjrt/pjrt_program.h"

#include <stdlib.h>
#include <string.h>

static bool type_of(cel_etype e, cel_pjrt_type *out) {
  static const cel_pjrt_type types[] = {
      [CEL_ET_PRED] = CEL_PJRT_PRED, [CEL_ET_I8] = CEL_PJRT_S8,    [CEL_ET_I16] = CEL_PJRT_S16,  [CEL_ET_I32] = CEL_PJRT_S32,
      [CEL_ET_I64] = CEL_PJRT_S64,   [CEL_ET_UI8] = CEL_PJRT_U8,   [CEL_ET_UI16] = CEL_PJRT_U16, [CEL_ET_UI32] = CEL_PJRT_U32,
      [CEL_ET_UI64] = CEL_PJRT_U64,  [CEL_ET_BF16] = CEL_PJRT_BF16, [CEL_ET_F16] = CEL_PJRT_F16, [CEL_ET_F32] = CEL_PJRT_F32,
      [CEL_ET_F64] = CEL_PJRT_F64,
  };
  *out = (int)e >= 0 && (int)e < CEL_COUNT(types) ? types[e] : CEL_PJRT_INVALID;
  return *out != CEL_PJRT_INVALID;
}

// ---- tensors ------------------------------------------------------------------------------------------

static cel_status upload_part(const cel_pjrt *p, cel_pjrt_from_host_args *a, size_t part, cel_pjrt_buffer **out, cel_err *err) {
  a->device = p->devices[part];
  a->done = NULL;
  CEL_TRY(cel_pjrt_check(p, p->api->client_buffer_from_host(a), "uploading to the device", err));
  *out = a->buffer;
  // Data lent for the buffer's life needs no waiting for; the event tells when the buffer lets go of it.
  if (a->host != CEL_PJRT_HOST_ALIASED) return cel_pjrt_wait(p, a->done, "uploading to the device", err);
  if (!a->done) return CEL_OK;
  cel_pjrt_event_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_event_args, event), .event = a->done};
  cel_pjrt_ignore(p, p->api->event_destroy(&d));
  return CEL_OK;
}

cel_status cel_pjrt_upload(const cel_pjrt *p, const cel_hlo_type *t, int axis, const void *data, cel_pjrt_host host,
                           cel_pjrt_array *out, cel_err *err) {
  int64_t dims[CEL_HLO_MAX_RANK], strides[CEL_HLO_MAX_RANK], stride = cel_etype_bytes(t->etype);
  cel_pjrt_from_host_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_from_host_args, buffer), .client = p->client,
                               .dims = dims, .n_dims = (size_t)t->rank, .host = host};
  memset(out, 0, sizeof *out);
  if (!type_of(t->etype, &a.type)) {
    char text[128];
    cel_hlo_type_text(t, text, sizeof text);
    return cel_fail(err, CEL_UNSUPPORTED, "%s: no PJRT buffer has this element type", text);
  }
  for (int i = t->rank - 1; i >= 0; i--) {
    dims[i] = t->dims[i];
    strides[i] = stride;
    stride *= t->dims[i];
  }
  int64_t step = 0;  // bytes from part to part
  if (axis >= 0) {
    dims[axis] /= (int64_t)p->n_parts;
    step = dims[axis] * strides[axis];
  }
  if (axis > 0) {  // rows of a part do not lie together
    a.strides = strides;
    a.n_strides = (size_t)t->rank;
    if (host == CEL_PJRT_HOST_ALIASED) a.host = CEL_PJRT_HOST_DURING_CALL;
  }
  cel_status s = CEL_OK;
  for (size_t i = 0; s == CEL_OK && i < p->n_parts; i++) {
    a.data = (const char *)data + (int64_t)i * step;
    s = upload_part(p, &a, i, &out->parts[i], err);
  }
  if (s != CEL_OK) cel_pjrt_drop_array(p, out);
  return s;
}

cel_status cel_pjrt_download(const cel_pjrt *p, const cel_pjrt_array *b, void *data, int64_t bytes, cel_err *err) {
  cel_pjrt_to_host_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_to_host_args, done), .buffer = b->parts[0], .data = data,
                             .bytes = (size_t)bytes};
  CEL_TRY(cel_pjrt_check(p, p->api->buffer_to_host(&a), "reading a result from the device", err));
  return cel_pjrt_wait(p, a.done, "reading a result from the device", err);
}

void cel_pjrt_drop_array(const cel_pjrt *p, cel_pjrt_array *b) {
  for (size_t i = 0; i < p->n_parts; i++) {
    cel_pjrt_buffer_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_buffer_args, buffer), .buffer = b->parts[i]};
    if (a.buffer) cel_pjrt_ignore(p, p->api->buffer_destroy(&a));
    b->parts[i] = NULL;
  }
}

// ---- runs ---------------------------------------------------------------------------------------------

// The interface wants a list per device, we keep one per tensor.
static cel_status run_lists(const cel_pjrt *p, cel_pjrt_loaded *program, const cel_pjrt_array *arguments, size_t n_arguments,
                            cel_pjrt_array *results, size_t n_results, cel_pjrt_buffer **room, cel_err *err) {
  size_t n = p->n_parts;
  cel_pjrt_buffer **out = room + n * n_arguments;
  cel_pjrt_buffer *const *argument_lists[CEL_PJRT_PARTS_MOST];
  cel_pjrt_buffer **result_lists[CEL_PJRT_PARTS_MOST];
  cel_pjrt_event *done[CEL_PJRT_PARTS_MOST] = {0};
  for (size_t d = 0; d < n; d++) {
    for (size_t i = 0; i < n_arguments; i++) room[d * n_arguments + i] = arguments[i].parts[d];
    argument_lists[d] = room + d * n_arguments;
    result_lists[d] = out + d * n_results;
  }
  cel_pjrt_execute_options options = {.head = CEL_PJRT_HEAD(cel_pjrt_execute_options, incarnations)};
  cel_pjrt_execute_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_execute_args, device), .loaded = program, .options = &options,
                             .arguments = argument_lists, .n_devices = n, .n_arguments = n_arguments, .results = result_lists,
                             .done = done};
  CEL_TRY(cel_pjrt_check(p, p->api->loaded_execute(&a), "running on the device", err));
  cel_status s = CEL_OK;
  for (size_t d = 0; d < n; d++) {
    cel_status t = cel_pjrt_wait(p, done[d], "running on the device", s == CEL_OK ? err : NULL);
    if (s == CEL_OK) s = t;
    for (size_t i = 0; i < n_results; i++) results[i].parts[d] = out[d * n_results + i];
  }
  for (size_t i = 0; s != CEL_OK && i < n_results; i++) cel_pjrt_drop_array(p, &results[i]);
  return s;
}

cel_status cel_pjrt_run(const cel_pjrt *p, cel_pjrt_loaded *program, const cel_pjrt_array *arguments, size_t n_arguments,
                        cel_pjrt_array *results, size_t n_results, cel_err *err) {
  cel_pjrt_buffer **room = calloc(p->n_parts * (n_arguments + n_results) + 1, sizeof *room);
  if (!room) return cel_fail_oom(err, "the arguments of a run");
  cel_status s = run_lists(p, program, arguments, n_arguments, results, n_results, room, err);
  free(room);
  return s;
}

void cel_pjrt_add_mesh(const cel_pjrt *p, cel_buf *text) {
  if (p->n_parts > 1) cel_buf_printf(text, "  sdy.mesh @mesh = <[\"model\"=%zu]>\n", p->n_parts);
}

void cel_pjrt_add_sharding(const cel_pjrt *p, cel_buf *text, int rank, int axis) {
  if (p->n_parts <= 1) return;
  cel_buf_addz(text, "sdy.sharding = #sdy.sharding<@mesh, [");
  for (int i = 0; i < rank; i++) cel_buf_printf(text, "%s{%s}", i ? ", " : "", i == axis ? "\"model\"" : "");
  cel_buf_addz(text, "]>");
}

const char *cel_pjrt_zero(const cel_hlo_type *t) { return cel_etype_is_float(t->etype) ? "0.0" : "0"; }

cel_status cel_pjrt_zeros(const cel_pjrt *p, const cel_hlo_type *t, int axis, cel_pjrt_array *out, cel_err *err) {
  char type[128];
  cel_buf text = {0};
  cel_pjrt_loaded *program = NULL;
  memset(out, 0, sizeof *out);
  cel_hlo_type_text(t, type, sizeof type);
  cel_buf_addz(&text, "module @zeros {\n");
  cel_pjrt_add_mesh(p, &text);
  cel_buf_printf(&text, "  func.func public @main() -> (%s {", type);
  cel_pjrt_add_sharding(p, &text, t->rank, axis);
  cel_buf_printf(&text, "}) {\n    %%z = stablehlo.constant dense<%s> : %s\n    return %%z : %s\n  }\n}\n", cel_pjrt_zero(t), type, type);
  cel_status s = text.failed ? cel_fail_oom(err, "a program") : cel_pjrt_compile(p, cel_buf_str(&text), "zeros", &program, err);
  if (s == CEL_OK) s = cel_pjrt_run(p, program, NULL, 0, out, 1, err);
  cel_pjrt_drop_program(p, program);
  cel_buf_deinit(&text);
  return s;
}

void cel_pjrt_drop_program(const cel_pjrt *p, cel_pjrt_loaded *x) {
  cel_pjrt_loaded_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_loaded_args, loaded), .loaded = x};
  if (x) cel_pjrt_ignore(p, p->api->loaded_destroy(&a));
}
