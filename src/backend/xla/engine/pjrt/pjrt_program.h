// Programs and buffers through the interface: one call each, errors as ours.
#ifndef CEL_XLA_ENGINE_PJRT_PJRT_PROGRAM_H
#define CEL_XLA_ENGINE_PJRT_PJRT_PROGRAM_H

#include "backend/xla/engine/pjrt/pjrt_plugin.h"
#include "backend/xla/hlo/hlo.h"

// Fills version and target of a plugin whose device is known.
void cel_pjrt_identify(cel_pjrt *p, const char *path);
// A tensor on the devices that run programs together: a part of it, or all of it, on each.
typedef struct cel_pjrt_array {
  cel_pjrt_buffer *parts[CEL_PJRT_PARTS_MOST];  // [n_parts]
} cel_pjrt_array;

// A dense row-major tensor of host memory, copied or, where `host` allows and the plugin can, read in place. Along dimension
// `axis` each device gets an equal part; axis -1: each gets all of it.
CEL_MUST_CHECK cel_status cel_pjrt_upload(const cel_pjrt *p, const cel_hlo_type *t, int axis, const void *data,
                                          cel_pjrt_host host, cel_pjrt_array *out, cel_err *err);
// Waits for the value of a tensor that the first device has all of, and copies it, `bytes` in all.
CEL_MUST_CHECK cel_status cel_pjrt_download(const cel_pjrt *p, const cel_pjrt_array *b, void *data, int64_t bytes, cel_err *err);
// Zero as a constant of this type is written.
const char *cel_pjrt_zero(const cel_hlo_type *t);
// A tensor of zeros made on the devices.
CEL_MUST_CHECK cel_status cel_pjrt_zeros(const cel_pjrt *p, const cel_hlo_type *t, int axis, cel_pjrt_array *out, cel_err *err);
// What a module's text says of a program for several devices, nothing for one: the mesh, as a line ahead of the functions, and
// the attribute (without braces) of an argument or result.
void cel_pjrt_add_mesh(const cel_pjrt *p, cel_buf *text);
void cel_pjrt_add_sharding(const cel_pjrt *p, cel_buf *text, int rank, int axis);
// From the store of compiled programs where it has this one, else compiled and put there. `note`: a word for people who
// look at the store.
CEL_MUST_CHECK cel_status cel_pjrt_compile(const cel_pjrt *p, cel_str text, const char *note, cel_pjrt_loaded **out,
                                           cel_err *err);
// arguments[n_arguments], results[n_results]: the results are filled; the caller's to drop. Donated arguments are consumed even
// by a run that fails.
CEL_MUST_CHECK cel_status cel_pjrt_run(const cel_pjrt *p, cel_pjrt_loaded *program, const cel_pjrt_array *arguments,
                                       size_t n_arguments, cel_pjrt_array *results, size_t n_results, cel_err *err);
void cel_pjrt_drop_array(const cel_pjrt *p, cel_pjrt_array *b);     // an empty one is fine; it is empty afterwards
void cel_pjrt_drop_program(const cel_pjrt *p, cel_pjrt_loaded *x);  // NULL is fine

#endif
