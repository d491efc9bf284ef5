// From a token's text to its id: a hash table that is sized once. The hash is a polynomial over the bytes,
// so the hash of a join follows from the hashes of its parts (merging by score needs that). Where a hash goes depends on a
// number of this table alone, so that no file can choose texts that meet in few slots; texts that all have one hash can be
// chosen, and make the table `crowded`.
// Threads: read-only once filled.
#ifndef CEL_TEXT_VOCAB_H
#define CEL_TEXT_VOCAB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

typedef struct cel_vocab_entry {
  uint32_t at, n;  // the text: n bytes at base + at
  int32_t id;
} cel_vocab_entry;

typedef struct cel_vocab {
  const char *base;          // all texts lie behind it
  cel_vocab_entry *entries;  // [cap], n used
  uint64_t *slots;           // [mask + 1] low half: entry number + 1, 0 = free; high half: part of its hash
  uint32_t mask;
  int shift;                 // the slot's number is what is left of a spread hash behind it
  uint64_t key;              // odd
  bool crowded;              // many texts with one hash: what came behind is left out, and whoever fills it refuses
  int32_t n, cap;
  size_t longest;  // bytes of the longest text
} cel_vocab;

enum { CEL_VOCAB_MOST = 1 << 27 };  // entries
enum { CEL_VOCAB_BATCH = 64 };

// Room for `cap` entries, taken from the arena; every text lies less than 4 GiB behind `base`. False when memory
// is out or cap is over CEL_VOCAB_MOST.
CEL_MUST_CHECK bool cel_vocab_init(cel_vocab *v, cel_arena *arena, int64_t cap, const char *base);
// `text` is borrowed. A text that is there already keeps its id and false comes back; false as well when full.
bool cel_vocab_put(cel_vocab *v, cel_str text, int32_t id);
// Many texts at once, n at most CEL_VOCAB_BATCH, as cel_vocab_get_batch. Those there already keep their ids, or get the new
// ones (`replace`).
void cel_vocab_put_batch(cel_vocab *v, const cel_str *texts, const int32_t *ids, int n, bool replace);
int32_t cel_vocab_get(const cel_vocab *v, cel_str text);  // -1 when absent

// Ids of many texts at once, -1 for those absent: step by step for all, so that waiting for memory overlaps.
void cel_vocab_get_batch(const cel_vocab *v, const cel_str *texts, int n, int32_t *ids);
// The id of the text a + b, -1 when absent. *guess is a number of an entry near which the last one was found: lists of
// joins follow the order of the vocabulary.
int32_t cel_vocab_get_joined(const cel_vocab *v, cel_str a, cel_str b, int32_t *guess);

// hash("") = 0; hash(s + byte) = hash(s) * CEL_VOCAB_BASE + byte + 1.
#define CEL_VOCAB_BASE UINT64_C(0x9E3779B97F4A7C55)
uint64_t cel_vocab_hash(cel_str text);
static inline cel_str cel_vocab_text(const cel_vocab *v, int32_t entry) {
  return (cel_str){v->base + v->entries[entry].at, v->entries[entry].n};
}
// Refuses a vocabulary of `name` that has become crowded.
CEL_MUST_CHECK cel_status cel_vocab_check(const cel_vocab *v, const char *name, cel_err *err);
int32_t cel_vocab_get_hashed(const cel_vocab *v, uint64_t hash, cel_str text);

// Bits by id: tokens that no text ever becomes through a model. NULL: there are none.
static inline bool cel_vocab_bars(const uint8_t *barred, int32_t id) {
  return barred && id >= 0 && (barred[id / 8] >> id % 8 & 1);
}

// Hashes of all heads of a text, so that the hash of any part of it is one multiplication away. Zero-initialize.
typedef struct cel_vocab_parts {
  uint64_t *heads, *powers;  // [n + 1] hash of the first i bytes; CEL_VOCAB_BASE to the i
  size_t cap;
} cel_vocab_parts;
void cel_vocab_parts_deinit(cel_vocab_parts *h);
CEL_MUST_CHECK bool cel_vocab_parts_of(cel_vocab_parts *h, cel_str text);
static inline uint64_t cel_vocab_part_hash(const cel_vocab_parts *h, size_t at, size_t n) {
  return h->heads[at + n] - h->heads[at] * h->powers[n];
}

// The lengths that texts of a vocabulary have, each once, ascending. Whoever tries all parts of a text tries
// these: there are at most sqrt(2 * bytes of the vocabulary) of them, however long one text is.
typedef struct cel_vocab_lengths {
  const uint32_t *p;
  int32_t n;
} cel_vocab_lengths;
CEL_MUST_CHECK bool cel_vocab_lengths_of(const cel_vocab *v, cel_arena *arena, cel_vocab_lengths *out);

#endif
