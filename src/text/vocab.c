// Open addressing, at most half full.
#include "text/vocab.h"

uint64_t cel_vocab_hash(cel_str text) {
  uint64_t h = 0;
  for (size_t i = 0; i < text.n; i++) h = h * CEL_VOCAB_BASE + (unsigned char)text.p[i] + 1;
  return h;
}

static uint32_t spread(uint64_t h) {
  h ^= h >> 32;
  h *= UINT64_C(0xD6E8FEB86659FD93);
  return (uint32_t)(h >> 32);
}

bool cel_vocab_init(cel_vocab *v, cel_arena *arena, int64_t cap) {
  *v = (cel_vocab){0};
  if (cap < 0 || cap > CEL_VOCAB_MOST) return false;
  uint32_t slots = 16;
  while (slots < 2 * (uint64_t)cap) slots *= 2;
  v->entries = CEL_NEW_ARRAY(arena, cel_vocab_entry, cap);
  v->slots = CEL_NEW_ARRAY(arena, uint32_t, slots);
  v->mask = slots - 1;
  v->cap = (int32_t)cap;
  return v->entries && v->slots;
}

int32_t cel_vocab_get_hashed(const cel_vocab *v, uint64_t hash, cel_str text) {
  if (!v->slots) return -1;
  for (uint32_t k = spread(hash) & v->mask; v->slots[k]; k = (k + 1) & v->mask) {
    const cel_vocab_entry *e = &v->entries[v->slots[k] - 1];
    if (e->hash == hash && cel_str_eq(e->text, text)) return e->id;
  }
  return -1;
}

int32_t cel_vocab_get(const cel_vocab *v, cel_str text) {
  if (text.n > v->longest) return -1;
  return cel_vocab_get_hashed(v, cel_vocab_hash(text), text);
}

bool cel_vocab_put(cel_vocab *v, cel_str text, int32_t id) {
  if (v->n == v->cap) return false;
  uint64_t hash = cel_vocab_hash(text);
  uint32_t k = spread(hash) & v->mask;
  for (; v->slots[k]; k = (k + 1) & v->mask) {
    const cel_vocab_entry *e = &v->entries[v->slots[k] - 1];
    if (e->hash == hash && cel_str_eq(e->text, text)) return false;
  }
  v->entries[v->n] = (cel_vocab_entry){.hash = hash, .text = text, .id = id};
  v->slots[k] = (uint32_t)++v->n;
  v->longest = CEL_MAX(v->longest, text.n);
  return true;
}
