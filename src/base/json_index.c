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

// The member of this key before member `end`; -1 when there is none.
static int64_t find(const cel_json *o, uint32_t hash, cel_str key, uint32_t end) {
  const cel_json_member *at = o->as.object.at;
  if (!o->as.object.slots) {
    for (uint32_t i = 0; i < end; i++) {
      if (same(&at[i], hash, key)) return i;
    }
    return -1;
  }
  for (uint32_t k = hash & o->as.object.mask; o->as.object.slots[k]; k = (k + 1) & o->as.object.mask) {
    uint32_t i = o->as.object.slots[k] - 1;
    if (same(&at[i], hash, key)) return i;
  }
  return -1;
}

static void put(cel_json *o, uint32_t i) {
  uint32_t k = o->as.object.at[i].hash & o->as.object.mask;
  while (o->as.object.slots[k]) k = (k + 1) & o->as.object.mask;
  o->as.object.slots[k] = i + 1;
}

// At most half full. Sized for the room the members have, so that an object read from a file gets its index once.
static bool enlarge(cel_json *o, uint32_t i) {
  uint64_t slots = 32;
  while (slots < 2 * (uint64_t)CEL_MAX(o->as.object.cap, i + 1)) slots *= 2;
  uint32_t *fresh = slots <= UINT32_MAX ? CEL_NEW_ARRAY(&o->doc->arena, uint32_t, slots) : NULL;
  if (!fresh) return false;
  o->as.object.slots = fresh;
  o->as.object.mask = (uint32_t)slots - 1;
  for (uint32_t j = 0; j < i; j++) put(o, j);
  return true;
}

int cel_json_index_add(cel_json *o, uint32_t i) {
  cel_json_member *m = &o->as.object.at[i];
  m->hash = cel_json_hash(o->doc, (cel_str){m->key, m->n});
  bool full = o->as.object.slots ? 2 * ((uint64_t)i + 1) > (uint64_t)o->as.object.mask + 1 : i >= CEL_JSON_FEW;
  if (full && !enlarge(o, i)) return -1;
  if (find(o, m->hash, (cel_str){m->key, m->n}, i) >= 0) return 1;
  if (o->as.object.slots) put(o, i);
  return 0;
}

cel_json *cel_json_object_getn(const cel_json *o, const char *key, size_t n) {
  if (!cel_json_is_object(o) || !key || o->as.object.n == 0) return NULL;
  cel_str k = {key, n};
  int64_t i = find(o, cel_json_hash(o->doc, k), k, o->as.object.n);
  return i < 0 ? NULL : o->as.object.at[i].value;
}

cel_json *cel_json_object_get(const cel_json *o, const char *key) { return key ? cel_json_object_getn(o, key, strlen(key)) : NULL; }
