// Open addressing, at most two thirds full: the tags in the slots keep other texts from being looked at.
#include "text/vocab.h"

#include <stdlib.h>

#include "base/clock.h"

uint64_t cel_vocab_hash(cel_str text) {
  uint64_t h = 0;
  for (size_t i = 0; i < text.n; i++) h = h * CEL_VOCAB_BASE + (unsigned char)text.p[i] + 1;
  return h;
}

enum { CROWD = 16 };

static uint64_t spread(const cel_vocab *v, uint64_t h) {
  h *= v->key;
  h ^= h >> 32;
  return h * UINT64_C(0xD6E8FEB86659FD93);
}

// The high bits of a spread hash choose the slot, the low ones are kept in the slot's high half.
static uint32_t home_of(const cel_vocab *v, uint64_t h) { return (uint32_t)(h >> v->shift); }
static uint64_t tag_of(uint64_t h) { return h << 32; }
static uint64_t tag_in(uint64_t slot) { return slot & UINT64_C(0xFFFFFFFF00000000); }

// The slot of a text, or the free one where it would go. *strangers: other texts on the way with the same tag.
static uint32_t find_slot(const cel_vocab *v, uint64_t hash, cel_str text, int *strangers) {
  uint64_t h = spread(v, hash), tag = tag_of(h);
  uint32_t k = home_of(v, h);
  *strangers = 0;
  for (; v->slots[k]; k = (k + 1) & v->mask) {
    if (tag_in(v->slots[k]) != tag) continue;
    if (cel_str_eq(cel_vocab_text(v, (int32_t)((uint32_t)v->slots[k] - 1)), text)) break;
    ++*strangers;
  }
  return k;
}

bool cel_vocab_init(cel_vocab *v, cel_arena *arena, int64_t cap, const char *base) {
  *v = (cel_vocab){.base = base};
  if (cap < 0 || cap > CEL_VOCAB_MOST) return false;
  uint32_t slots = 16;
  v->shift = 60;
  for (; slots < (uint64_t)cap + (uint64_t)cap / 2; slots *= 2) v->shift--;
  v->entries = CEL_NEW_ARRAY(arena, cel_vocab_entry, cap);
  v->slots = CEL_NEW_ARRAY(arena, uint64_t, slots);
  v->mask = slots - 1;
  v->cap = (int32_t)cap;
  v->key = cel_seed(v->slots) | 1;
  return v->entries && v->slots;
}

int32_t cel_vocab_get_hashed(const cel_vocab *v, uint64_t hash, cel_str text) {
  int strangers;
  if (!v->slots) return -1;
  uint64_t slot = v->slots[find_slot(v, hash, text, &strangers)];
  return slot ? v->entries[(uint32_t)slot - 1].id : -1;
}

int32_t cel_vocab_get(const cel_vocab *v, cel_str text) {
  if (text.n > v->longest) return -1;
  return cel_vocab_get_hashed(v, cel_vocab_hash(text), text);
}

static int32_t entry_of(uint64_t slot) { return (int32_t)((uint32_t)slot - 1); }

void cel_vocab_get_batch(const cel_vocab *v, const cel_str *texts, int n, int32_t *ids) {
  uint64_t hash[CEL_VOCAB_BATCH], slot[CEL_VOCAB_BATCH];
  if (!v->slots) {
    for (int i = 0; i < n; i++) ids[i] = -1;
    return;
  }
  for (int i = 0; i < n; i++) hash[i] = cel_vocab_hash(texts[i]);
  for (int i = 0; i < n; i++) slot[i] = v->slots[home_of(v, spread(v, hash[i]))];
  for (int i = 0; i < n; i++) {  // first the entries, then the texts they lead to
    ids[i] = slot[i] ? v->entries[entry_of(slot[i])].id : -1;
  }
  for (int i = 0; i < n; i++) {
    if (!slot[i]) continue;
    bool same = tag_in(slot[i]) == tag_of(spread(v, hash[i])) && cel_str_eq(cel_vocab_text(v, entry_of(slot[i])), texts[i]);
    if (!same) ids[i] = cel_vocab_get_hashed(v, hash[i], texts[i]);
  }
}

static bool is_joined(const cel_vocab *v, int32_t entry, cel_str a, cel_str b) {
  cel_str text = cel_vocab_text(v, entry);
  return text.n == a.n + b.n && (a.n == 0 || memcmp(text.p, a.p, a.n) == 0) &&
         (b.n == 0 || memcmp(text.p + a.n, b.p, b.n) == 0);
}

int32_t cel_vocab_get_joined(const cel_vocab *v, cel_str a, cel_str b, int32_t *guess) {
  enum { NEAR = 3 };
  if (!v->slots) return -1;
  for (int32_t e = *guess; e < v->n && e < *guess + NEAR; e++) {
    if (is_joined(v, e, a, b)) return *guess = e, v->entries[e].id;
  }
  uint64_t hash = cel_vocab_hash(a);
  for (size_t i = 0; i < b.n; i++) hash = hash * CEL_VOCAB_BASE + (unsigned char)b.p[i] + 1;
  uint64_t h = spread(v, hash), tag = tag_of(h);
  for (uint32_t k = home_of(v, h); v->slots[k]; k = (k + 1) & v->mask) {
    int32_t e = entry_of(v->slots[k]);
    if (tag_in(v->slots[k]) == tag && is_joined(v, e, a, b)) return *guess = e, v->entries[e].id;
  }
  return -1;
}

static void take_slot(cel_vocab *v, uint32_t k, uint64_t hash, cel_str text, int32_t id) {
  v->entries[v->n] = (cel_vocab_entry){(uint32_t)(text.p - v->base), (uint32_t)text.n, id};
  v->slots[k] = tag_of(spread(v, hash)) | (uint32_t)++v->n;
  v->longest = CEL_MAX(v->longest, text.n);
}

bool cel_vocab_put(cel_vocab *v, cel_str text, int32_t id) {
  int strangers;
  if (v->n == v->cap || v->crowded) return false;
  uint64_t hash = cel_vocab_hash(text);
  uint32_t k = find_slot(v, hash, text, &strangers);
  if (strangers > CROWD) v->crowded = true;
  if (v->slots[k]) return false;
  take_slot(v, k, hash, text, id);
  return true;
}

void cel_vocab_put_batch(cel_vocab *v, const cel_str *texts, const int32_t *ids, int n, bool replace) {
  uint64_t hash[CEL_VOCAB_BATCH], held[CEL_VOCAB_BATCH];
  for (int i = 0; i < n; i++) hash[i] = cel_vocab_hash(texts[i]);
  for (int i = 0; i < n; i++) held[i] = v->slots[home_of(v, spread(v, hash[i]))];
  for (int i = 0; i < n && !v->crowded; i++) {
    int strangers = 0;
    uint32_t k = home_of(v, spread(v, hash[i]));
    if (held[i] || v->slots[k]) k = find_slot(v, hash[i], texts[i], &strangers);
    if (strangers > CROWD) v->crowded = true;
    if (v->slots[k] && replace) v->entries[entry_of(v->slots[k])].id = ids[i];
    else if (!v->slots[k] && v->n < v->cap) take_slot(v, k, hash[i], texts[i], ids[i]);
  }
}

cel_status cel_vocab_check(const cel_vocab *v, const char *name, cel_err *err) {
  if (!v->crowded) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: more than %d tokens have the same hash, which does not happen by chance", name, CROWD);
}

void cel_vocab_parts_deinit(cel_vocab_parts *h) {
  free(h->heads);
  free(h->powers);
  *h = (cel_vocab_parts){0};
}

bool cel_vocab_parts_of(cel_vocab_parts *h, cel_str text) {
  if (h->cap < text.n + 1) {
    size_t cap = CEL_MAX(h->cap * 2, text.n + 64);
    void *p = realloc(h->heads, cap * sizeof *h->heads);
    if (p) h->heads = p;
    void *q = realloc(h->powers, cap * sizeof *h->powers);
    if (q) h->powers = q;
    if (!p || !q) return false;
    h->powers[0] = 1;
    for (size_t i = 1; i < cap; i++) h->powers[i] = h->powers[i - 1] * CEL_VOCAB_BASE;
    h->cap = cap;
  }
  h->heads[0] = 0;
  for (size_t i = 0; i < text.n; i++) h->heads[i + 1] = h->heads[i] * CEL_VOCAB_BASE + (unsigned char)text.p[i] + 1;
  return true;
}

bool cel_vocab_lengths_of(const cel_vocab *v, cel_arena *arena, cel_vocab_lengths *out) {
  unsigned char *seen = calloc(1, v->longest / 8 + 1);
  if (!seen) return false;
  int32_t n = 0;
  for (int32_t e = 0; e < v->n; e++) {
    uint32_t k = v->entries[e].n;
    unsigned char bit = (unsigned char)(1 << k % 8);
    n += k > 0 && !(seen[k / 8] & bit);
    seen[k / 8] |= bit;
  }
  uint32_t *p = CEL_NEW_ARRAY(arena, uint32_t, n);
  *out = (cel_vocab_lengths){p, p ? n : 0};
  n = 0;
  for (size_t k = 1; p && k <= v->longest; k++) {
    if (seen[k / 8] >> k % 8 & 1) p[n++] = (uint32_t)k;
  }
  free(seen);
  return p != NULL;
}
