// A file or folder that comes to be whole or not at all: written beside its destination as .NAME.partial, flushed to
// disk, renamed. A lock (.NAME.lock) keeps two writers of one destination apart.
// Threads: one at a time, but cel_out_put, which any number may call for different bytes.
#ifndef CEL_MODEL_WRITE_OUT_H
#define CEL_MODEL_WRITE_OUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cel_out cel_out;

// `folder`: what is made is a folder of files. With `replace` a destination that is there makes room, if it is of the
// same kind; a folder only if it is empty or a model's (config.json, and no folders of its own).
//   Fails: CEL_INVALID  the destination is there, or may not be replaced; its parent is no folder
//          CEL_BUSY     another process writes the same destination
CEL_MUST_CHECK cel_status cel_out_begin(const char *destination, bool folder, bool replace, cel_out **out, cel_err *err);
// The path while it is being written.
const char *cel_out_path(const cel_out *out);

// Makes a file of the folder (`name` may lead through one folder: "a/b.txt"), or the file itself (name NULL), of
// `bytes`; *index stands for it. Space is taken at once where the system can.
CEL_MUST_CHECK cel_status cel_out_add(cel_out *out, const char *name, int64_t bytes, int *index, cel_err *err);
CEL_MUST_CHECK cel_status cel_out_put(cel_out *out, int index, int64_t offset, const void *data, int64_t bytes,
                                      cel_err *err);
// A small file of the folder, whole.
CEL_MUST_CHECK cel_status cel_out_add_whole(cel_out *out, const char *name, const void *data, int64_t bytes,
                                            cel_err *err);
// Everything written so far is on disk, and what is read next comes from there where the system can be told so.
CEL_MUST_CHECK cel_status cel_out_flush(cel_out *out, cel_err *err);
// Flushes and renames. The destination is there afterwards, or as it was before.
CEL_MUST_CHECK cel_status cel_out_commit(cel_out *out, cel_err *err);
// In any case, at the end: what has not been committed is removed. NULL is fine.
void cel_out_end(cel_out *out);

#endif
