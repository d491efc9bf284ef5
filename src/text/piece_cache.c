#include "text/piece_cache.h"

#include <stdlib.h>

enum { SLOTS = 1 << 14, TEXT = 1 << 19, IDS = 1 << 17, TRIES = 4 };

typedef struct cached {
  uint64_t hash;
  uint32_t at, ids;   // where in text and ids
  uint16_t n, n_ids;  // n = 0: free
} cached;

struct cel_piece_cache {
  cached slot[SLOTS];
  char text[TEXT];
  int32_t ids[IDS];
  uint32_t n_text, n_ids;
};

cel_piece_cache *cel_piece_cache_new(void) { return calloc(1, sizeof(cel_piece_cache)); }
void cel_piece_cache_free(cel_piece_cache *c) { free(c); }

// Eight bytes at a time; a collision costs a comparison.
static uint64_t quick_hash(cel_str p) {
  uint64_t h = p.n * UINT64_C(0x9E3779B97F4A7C15), w;
  size_t i = 0;
  for (; i + 8 <= p.n; i += 8) {
    memcpy(&w, p.p + i, 8);
    h = (h ^ w) * UINT64_C(0xD6E8FEB86659FD93);
    h ^= h >> 32;
  }
  w = 0;
  if (p.n > i) memcpy(&w, p.p + i, p.n - i);
  h = (h ^ w) * UINT64_C(0xD6E8FEB86659FD93);
  return h ^ h >> 32;
}

bool cel_piece_cache_get(const cel_piece_cache *c, cel_str piece, cel_piece_place *place, cel_ids *out) {
  *place = (cel_piece_place){quick_hash(piece), -1};
  for (unsigned k = 0; k < TRIES; k++) {
    int32_t at = (int32_t)((place->hash + k) & (SLOTS - 1));
    const cached *slot = &c->slot[at];
    if (slot->n == 0) {
      place->slot = at;
      return false;
    }
    if (slot->hash != place->hash || !cel_str_eq((cel_str){c->text + slot->at, slot->n}, piece)) continue;
    if (!cel_ids_reserve(out, slot->n_ids)) return true;  // `failed` sticks in *out
    if (slot->n_ids) memcpy(out->p + out->n, c->ids + slot->ids, slot->n_ids * sizeof *out->p);
    out->n += slot->n_ids;
    return true;
  }
  return false;
}

void cel_piece_cache_put(cel_piece_cache *c, cel_piece_place place, cel_str piece, const int32_t *ids, size_t n) {
  if (place.slot < 0 || n > UINT16_MAX || c->n_text + piece.n > TEXT || c->n_ids + n > IDS) return;
  c->slot[place.slot] = (cached){place.hash, c->n_text, c->n_ids, (uint16_t)piece.n, (uint16_t)n};
  memcpy(c->text + c->n_text, piece.p, piece.n);
  if (n) memcpy(c->ids + c->n_ids, ids, n * sizeof *ids);
  c->n_text += (uint32_t)piece.n;
  c->n_ids += (uint32_t)n;
}
