// A model in several GGUF files, NAME-00001-of-00003.gguf and so on, as gguf-split writes them: the first holds the
// metadata, each its share of the tensors. split.no counts from 0, split.count is the number of files,
// split.tensors.count that of all tensors.
#ifndef CEL_MODEL_GGUF_SPLIT_H
#define CEL_MODEL_GGUF_SPLIT_H

#include "model/checkpoint_private.h"
#include "model/gguf.h"

// *g is the header of c->path or of a file in it, whichever part that is. A file by itself is left as it is.
// Otherwise all parts are mapped and checked against each other, the tensors of all but the first are listed (not
// sorted yet), and *g becomes the first part.
//   Fails: CEL_NOT_FOUND  a part is missing; the text names it
//          CEL_MALFORMED  counts, numbers or names that contradict each other
CEL_MUST_CHECK cel_status cel_gguf_open_parts(cel_checkpoint *c, cel_gguf *g, cel_err *err);

// Do the sorted names belong to one split model (same stem and count)? They need not be complete.
bool cel_gguf_are_parts(const char *const *names, int64_t n);

#endif
