#include "backend/xla/engine/pjrt/pjrt_program.h"

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

cel_status cel_pjrt_upload(const cel_pjrt *p, const cel_hlo_type *t, const void *data, cel_pjrt_host host,
                           cel_pjrt_buffer **out, cel_err *err) {
  *out = NULL;
  cel_pjrt_from_host_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_from_host_args, buffer), .client = p->client, .data = data,
                               .dims = t->dims, .n_dims = (size_t)t->rank, .host = host, .device = p->device};
  if (!type_of(t->etype, &a.type)) {
    char text[128];
    cel_hlo_type_text(t, text, sizeof text);
    return cel_fail(err, CEL_UNSUPPORTED, "%s: no PJRT buffer has this element type", text);
  }
  CEL_TRY(cel_pjrt_check(p, p->api->client_buffer_from_host(&a), "uploading to the device", err));
  *out = a.buffer;
  // Data lent for the buffer's life needs no waiting for; the event tells when the buffer lets go of it.
  if (host != CEL_PJRT_HOST_ALIASED) return cel_pjrt_wait(p, a.done, "uploading to the device", err);
  if (!a.done) return CEL_OK;
  cel_pjrt_event_args d = {.head = CEL_PJRT_HEAD(cel_pjrt_event_args, event), .event = a.done};
  cel_pjrt_ignore(p, p->api->event_destroy(&d));
  return CEL_OK;
}

cel_status cel_pjrt_download(const cel_pjrt *p, cel_pjrt_buffer *b, void *data, int64_t bytes, cel_err *err) {
  cel_pjrt_to_host_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_to_host_args, done), .buffer = b, .data = data, .bytes = (size_t)bytes};
  CEL_TRY(cel_pjrt_check(p, p->api->buffer_to_host(&a), "reading a result from the device", err));
  return cel_pjrt_wait(p, a.done, "reading a result from the device", err);
}

cel_status cel_pjrt_run(const cel_pjrt *p, cel_pjrt_loaded *program, cel_pjrt_buffer *const *arguments, size_t n_arguments,
                        cel_pjrt_buffer **results, cel_err *err) {
  cel_pjrt_execute_options options = {.head = CEL_PJRT_HEAD(cel_pjrt_execute_options, incarnations)};
  cel_pjrt_event *done = NULL;
  cel_pjrt_buffer *const *lists[1] = {arguments};
  cel_pjrt_buffer **const result_lists[1] = {results};
  cel_pjrt_execute_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_execute_args, device), .loaded = program, .options = &options,
                             .arguments = lists, .n_devices = 1, .n_arguments = n_arguments, .results = result_lists,
                             .done = &done};
  CEL_TRY(cel_pjrt_check(p, p->api->loaded_execute(&a), "running on the device", err));
  return cel_pjrt_wait(p, done, "running on the device", err);
}

cel_status cel_pjrt_zeros(const cel_pjrt *p, const cel_hlo_type *t, cel_pjrt_buffer **out, cel_err *err) {
  char type[128];
  cel_buf text = {0};
  cel_pjrt_loaded *program = NULL;
  *out = NULL;
  cel_hlo_type_text(t, type, sizeof type);
  cel_buf_printf(&text, "module @zeros {\n  func.func public @main() -> %s {\n    %%z = stablehlo.constant dense<0.0> : %s\n"
                 "    return %%z : %s\n  }\n}\n", type, type, type);
  cel_status s = text.failed ? cel_fail_oom(err, "a program") : cel_pjrt_compile(p, cel_buf_str(&text), "zeros", &program, err);
  if (s == CEL_OK) s = cel_pjrt_run(p, program, NULL, 0, out, err);
  cel_pjrt_drop_program(p, program);
  cel_buf_deinit(&text);
  return s;
}

void cel_pjrt_drop_buffer(const cel_pjrt *p, cel_pjrt_buffer *b) {
  cel_pjrt_buffer_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_buffer_args, buffer), .buffer = b};
  if (b) cel_pjrt_ignore(p, p->api->buffer_destroy(&a));
}

void cel_pjrt_drop_program(const cel_pjrt *p, cel_pjrt_loaded *x) {
  cel_pjrt_loaded_args a = {.head = CEL_PJRT_HEAD(cel_pjrt_loaded_args, loaded), .loaded = x};
  if (x) cel_pjrt_ignore(p, p->api->loaded_destroy(&a));
}
