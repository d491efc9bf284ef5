// Keys of an object: searched one by one while they are few, then by a hash that a file cannot aim at.
#include <string.h>

#include "base/json_private.h"

static uint64_t rotate(uint64_t x, int b) { return x << b | x >> (64 - b); }

static void mix(uint64_t v[4]) {
  v[0] += v[1], v[2] += v[3];
  v[1] = rotate(v[1], 13) ^ v[0], v[3] = rotate(v[3], 16) ^ v[2];
  v[0] = rotate(v[0], 32);
  v[2] += v[1], v[0] += v[3];
  v[1] = rotate(v[1], 17) ^ v[2], v[3] = rotate(v[3], 21) ^ v[0];
  v[2] = rotate(v[2], 32);
}

// SipHash-1-3 (Aumasson and Bernstein, 2012), keyed anew for each document.
uint32_t cel_json_hash(const cel_json_doc *doc, cel_str key) {
  uint64_t k0 = doc->seed[0], k1 = doc->seed[1], word;
  uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d), k0 ^ UINT64_C(0x6c7967656e657261),
                   k1 ^ UINT64_C(0x7465646279746573)};
  size_t i = 0;
  for (; i + 8 <= key.n; i += 8) {
    memcpy(&word, key.p + i, 8);
    v[3] ^= word;
    mix(v);
    v[0] ^= word;
  }
  word = (uint64_t)key.n << 56;
  for (size_t j = i; j < key.n; j++) word |= (uint64_t)(unsigned char)key.p[j] << 8 * (j - i);
  v[3] ^= word;
  mix(v);
  v[0] ^= word;
  v[2] ^= 0xff;
  mix(v), mix(v), mix(v);
  uint64_t h = v[0] ^ v[1] ^ v[2] ^ v[3];
  return (uint32_t)(h ^ h >> 32);
}

static bool same(const cel_json_member *m, uint32_t hash, cel_str key) {
  return m->hash == hash && m->n == key.n && memcmp(m->key, key.p, key.n) == 0;
}

// The member of this key before member `end`; -1 when there is none, and *free_slot is where it would stand in the index.
static int64_t find(const cel_json_members *in, uint32_t hash, cel_str key, uint32_t end, uint32_t *free_slot) {
  *free_slot = 0;
  if (!in->slots) {
    for (uint32_t i = 0; i < end; i++) {
      if (same(&in->at[i], hash, key)) return i;
    }
    return -1;
  }
  uint32_t mask = in->mask, k = hash & mask;
  for (; in->slots[k]; k = (k + 1) & mask) {
    if ((in->slots[k] ^ hash) & ~mask) continue;
    uint32_t i = (in->slots[k] & mask) - 1;
    if (same(&in->at[i], hash, key)) return i;
  }
  *free_slot = k;
  return -1;
}

static uint32_t slot_value(const cel_json_members *in, uint32_t i) { return (in->at[i].hash & ~in->mask) | (i + 1); }

static void put(cel_json_members *in, uint32_t i) {
  uint32_t k = in->at[i].hash & in->mask;
  while (in->slots[k]) k = (k + 1) & in->mask;
  in->slots[k] = slot_value(in, i);
}

// At most half full. Sized for the room the members have, so that an object read from a file gets its index once.
static bool enlarge(cel_json *o, uint32_t i) {
  cel_json_members *in = o->as.object.in;
  uint64_t slots = 32;
  while (slots < 2 * (uint64_t)CEL_MAX(in->cap, i + 1)) slots *= 2;
  uint32_t *fresh = slots <= UINT32_MAX ? CEL_NEW_ARRAY(&o->doc->arena, uint32_t, slots) : NULL;
  if (!fresh) return false;
  in->slots = fresh;
  in->mask = (uint32_t)slots - 1;
  for (uint32_t j = 0; j < i; j++) put(in, j);
  return true;
}

int cel_json_index_add(cel_json *o, uint32_t i) {
  cel_json_members *in = o->as.object.in;
  cel_json_member *m = &in->at[i];
  cel_str key = {m->key, m->n};
  uint32_t k;
  m->hash = cel_json_hash(o->doc, key);
  bool full = in->slots ? 2 * ((uint64_t)i + 1) > (uint64_t)in->mask + 1 : i >= CEL_JSON_FEW;
  if (full && !enlarge(o, i)) return -1;
  if (find(in, m->hash, key, i, &k) >= 0) return 1;
  if (in->slots) in->slots[k] = slot_value(in, i);
  return 0;
}

// Members *i to end, no more than fit `held`: hashes and slots are fetched for all at once, so that waiting for memory overlaps.
static int add_batch(cel_json *o, uint32_t *i, uint32_t end, uint32_t *held) {
  cel_json_members *in = o->as.object.in;
  uint32_t first = *i, k;
  for (uint32_t j = first; j < end; j++) in->at[j].hash = cel_json_hash(o->doc, (cel_str){in->at[j].key, in->at[j].n});
  for (uint32_t j = first; j < end; j++) held[j - first] = in->slots ? in->slots[in->at[j].hash & in->mask] : 1;
  for (; *i < end; ++*i) {
    const cel_json_member *m = &in->at[*i];
    k = m->hash & in->mask;
    if ((held[*i - first] || in->slots[k]) && find(in, m->hash, (cel_str){m->key, m->n}, *i, &k) >= 0) return 1;
    if (in->slots) in->slots[k] = slot_value(in, *i);
    o->as.object.n++;
  }
  return 0;
}

int cel_json_index_all(cel_json *o, uint32_t n, uint32_t *i) {
  uint32_t held[32];
  *i = 0;
  if (n > CEL_JSON_FEW && !enlarge(o, 0)) return -1;
  while (*i < n) {
    int found = add_batch(o, i, CEL_MIN(n, *i + (uint32_t)CEL_COUNT(held)), held);
    if (found) return found;
  }
  return 0;
}

bool cel_json_members_grow(cel_json *o, size_t cap) {
  cel_json_members *in = o->as.object.in;
  if (cap > UINT32_MAX / 4) return false;
  cel_json_members *more = cel_arena_alloc(&o->doc->arena, sizeof *more + cap * sizeof *more->at);
  if (!more) return false;
  if (in) {
    *more = *in;
    memcpy(more->at, in->at, o->as.object.n * sizeof *in->at);
  }
  more->cap = (uint32_t)cap;
  o->as.object.in = more;
  return true;
}

cel_json *cel_json_object_getn(const cel_json *o, const char *key, size_t n) {
  if (!cel_json_is_object(o) || !key || o->as.object.n == 0) return NULL;
  cel_str k = {key, n};
  uint32_t slot;
  int64_t i = find(o->as.object.in, cel_json_hash(o->doc, k), k, o->as.object.n, &slot);
  return i < 0 ? NULL : o->as.object.in->at[i].value;
}

cel_json *cel_json_object_get(const cel_json *o, const char *key) { return key ? cel_json_object_getn(o, key, strlen(key)) : NULL; }
