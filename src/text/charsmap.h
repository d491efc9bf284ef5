// SentencePiece's precompiled normalizer: a blob of a trie (Darts double array) and the texts its leaves lead to.
// Threads: read-only.
#ifndef CEL_TEXT_CHARSMAP_H
#define CEL_TEXT_CHARSMAP_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct cel_charsmap {
  const unsigned char *units;  // [n_units] of 4 bytes, little-endian
  size_t n_units;
  cel_str texts;  // ended by NUL each
} cel_charsmap;

// `blob`: bytes of the trie (u32, little-endian), the trie, the texts. Copied to the arena. `where` names the field
// for messages.
CEL_MUST_CHECK cel_status cel_charsmap_read(cel_arena *arena, cel_str blob, const char *where, const cel_charsmap **out,
                                            cel_err *err);
// The same from base64 text.
CEL_MUST_CHECK cel_status cel_charsmap_read_base64(cel_arena *arena, cel_str text, const char *where,
                                                   const cel_charsmap **out, cel_err *err);
// Appends the text normalized as the reference does it: grapheme by grapheme, those of 6 bytes and more character by
// character. `in` is valid UTF-8 and so is what is appended. Stops when *out has more than `most` bytes.
CEL_MUST_CHECK cel_status cel_charsmap_run(const cel_charsmap *m, cel_str in, size_t most, cel_buf *out, cel_err *err);

#endif
