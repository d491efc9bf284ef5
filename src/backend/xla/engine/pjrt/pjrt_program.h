// Programs and buffers through the interface: one call each, errors as ours.
#ifndef CEL_XLA_ENGINE_PJRT_PJRT_PROGRAM_H
#define CEL_XLA_ENGINE_PJRT_PJRT_PROGRAM_H

#include "backend/xla/engine/pjrt/pjrt_plugin.h"
#include "backend/xla/hlo/hlo.h"

// Fills version and target of a plugin whose device is known.
void cel_pjrt_identify(cel_pjrt *p, const char *path);
// A dense row-major tensor of host memory, copied or, where `host` allows and the plugin can, read in place.
CEL_MUST_CHECK cel_status cel_pjrt_upload(const cel_pjrt *p, const cel_hlo_type *t, const void *data, cel_pjrt_host host,
                                          cel_pjrt_buffer **out, cel_err *err);
// Waits for the buffer's value and copies it, `bytes` in all.
CEL_MUST_CHECK cel_status cel_pjrt_download(const cel_pjrt *p, cel_pjrt_buffer *b, void *data, int64_t bytes, cel_err *err);
// A tensor of zeros made on the device.
CEL_MUST_CHECK cel_status cel_pjrt_zeros(const cel_pjrt *p, const cel_hlo_type *t, cel_pjrt_buffer **out, cel_err *err);
// From the store of compiled programs where it has this one, else compiled and put there. `note`: a word for people who
// look at the store.
CEL_MUST_CHECK cel_status cel_pjrt_compile(const cel_pjrt *p, cel_str text, const char *note, cel_pjrt_loaded **out,
                                           cel_err *err);
// results[number of results]: filled; the caller's to drop. Donated arguments are consumed even by a run that fails.
CEL_MUST_CHECK cel_status cel_pjrt_run(const cel_pjrt *p, cel_pjrt_loaded *program, cel_pjrt_buffer *const *arguments,
                                       size_t n_arguments, cel_pjrt_buffer **results, cel_err *err);
void cel_pjrt_drop_buffer(const cel_pjrt *p, cel_pjrt_buffer *b);     // NULL is fine
void cel_pjrt_drop_program(const cel_pjrt *p, cel_pjrt_loaded *x);  // NULL is fine

#endif
