// What became of the pieces seen before: worth it for longer texts, whose words repeat. Never grows beyond a
// fixed size, forgets nothing, changes no result.
// Threads: belongs to one call chain.
#ifndef CEL_TEXT_PIECE_CACHE_H
#define CEL_TEXT_PIECE_CACHE_H

#include "text/spans.h"

typedef struct cel_piece_cache cel_piece_cache;

enum { CEL_PIECE_CACHE_LONGEST = 64 };  // bytes; longer pieces seldom come again

cel_piece_cache *cel_piece_cache_new(void);  // NULL when memory is out
void cel_piece_cache_free(cel_piece_cache *c);

// Where a piece is, or would go. Appends its ids to *out and returns true when it is known.
typedef struct cel_piece_place {
  uint64_t hash;
  int32_t slot;  // -1: no room for it
} cel_piece_place;
bool cel_piece_cache_get(const cel_piece_cache *c, cel_str piece, cel_piece_place *place, cel_ids *out);
// Remembers the ids [n] of a piece that was not known; `place` is what get() said.
void cel_piece_cache_put(cel_piece_cache *c, cel_piece_place place, cel_str piece, const int32_t *ids, size_t n);

#endif
