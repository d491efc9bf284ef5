// A table of names where the newest go first: definitions lie in order in an array, and a hash table of
// indices finds them. Because names leave in the reverse order of their coming, and the table is rebuilt in
// order when it grows, emptying the slot of the newest name never cuts the probe chain of an older one.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/parse.h"

static uint32_t hash_of(cel_str s) {
  uint64_t h = 0x9E3779B97F4A7C15u ^ s.n;
  for (size_t i = 0; i < s.n; i++) {
    h = (h ^ (unsigned char)s.p[i]) * 0xBF58476D1CE4E5B9u;
    h ^= h >> 29;
  }
  return (uint32_t)(h ^ h >> 32);
}

// The slot where `text` is, or the empty one where it would be.
static uint32_t slot_of(const cel_parse_names *names, cel_str text, uint32_t hash) {
  uint32_t mask = names->n_slots - 1, i = hash & mask;
  for (; names->slots[i] >= 0; i = (i + 1) & mask) {
    const cel_parse_name *name = &names->at[names->slots[i]];
    if (name->hash == hash && cel_str_eq(name->text, text)) break;
  }
  return i;
}

cel_parse_name *cel_parse_find(cel_parse_names *names, cel_str text) {
  if (names->n == 0) return NULL;
  int32_t i = names->slots[slot_of(names, text, hash_of(text))];
  return i >= 0 ? &names->at[i] : NULL;
}

// At most half full, so that probes stay short.
static bool widen(cel_parse_names *names) {
  uint32_t n_slots = names->n_slots ? names->n_slots * 2 : 64;
  int32_t *slots = malloc(n_slots * sizeof *slots);
  if (!slots) return false;
  for (uint32_t i = 0; i < n_slots; i++) slots[i] = -1;
  free(names->slots);
  names->slots = slots;
  names->n_slots = n_slots;
  for (int32_t i = 0; i < names->n; i++) slots[slot_of(names, names->at[i].text, names->at[i].hash)] = i;
  return true;
}

cel_parse_name *cel_parse_add(cel_parse_names *names, cel_str text) {
  void *at = cel_parse_grow(names->at, names->n, &names->cap, sizeof *names->at);
  if (!at) return NULL;
  names->at = at;
  if ((uint32_t)names->n >= names->n_slots / 2 && !widen(names)) return NULL;
  cel_parse_name *name = &names->at[names->n];
  *name = (cel_parse_name){.text = text, .hash = hash_of(text)};
  names->slots[slot_of(names, text, name->hash)] = names->n++;
  return name;
}

void cel_parse_drop(cel_parse_names *names, int n) {
  while (names->n > n) {
    const cel_parse_name *last = &names->at[names->n - 1];
    names->slots[slot_of(names, last->text, last->hash)] = -1;
    names->n--;
  }
}

void cel_parse_names_deinit(cel_parse_names *names) {
  free(names->at);
  free(names->slots);
}
