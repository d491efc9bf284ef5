#include "text/bpe.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "text/unicode.h"

// --- tables -------------------------------------------------------------------------------------------

void cel_bpe_index(cel_bpe *b) {
  for (int i = 0; i < 256; i++) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
    b->byte_ids[i] = cel_vocab_get(b->vocab, cel_str_of(name));
  }
  for (int i = 0; i < CEL_COUNT(b->char_ids); i++) {
    char text[4];
    b->char_ids[i] = cel_vocab_get(b->vocab, (cel_str){text, (size_t)cel_utf8_put(text, (uint32_t)i)});
  }
}

static uint64_t pair_of(int32_t left, int32_t right) {
  return ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) + 1;
}

static uint32_t slot_of(const cel_bpe *b, uint64_t pair) {
  pair *= b->merges_key;
  pair ^= pair >> 32;
  return (uint32_t)(pair * UINT64_C(0xBF58476D1CE4E5B9) >> b->merges_shift);
}

bool cel_bpe_merges_init(cel_bpe *b, cel_arena *arena, int64_t n) {
  if (n < 0 || n > CEL_VOCAB_MOST) return false;
  uint32_t slots = 16;
  b->merges_shift = 60;
  for (; slots < (uint64_t)n + (uint64_t)n / 2; slots *= 2) b->merges_shift--;
  b->merges = CEL_NEW_ARRAY(arena, cel_bpe_merge, slots);
  b->merges_mask = slots - 1;
  b->merges_key = cel_seed(b->merges) | 1;
  return b->merges != NULL;
}

static void add_pair(cel_bpe *b, uint64_t pair, uint32_t k, int32_t rank, int32_t id, bool replace) {
  while (b->merges[k].pair && b->merges[k].pair != pair) k = (k + 1) & b->merges_mask;
  if (b->merges[k].pair && !replace) return;
  b->merges[k] = (cel_bpe_merge){pair, rank, id};
}

void cel_bpe_add_merge(cel_bpe *b, int32_t left, int32_t right, int32_t rank, int32_t id, bool replace) {
  uint64_t pair = pair_of(left, right);
  add_pair(b, pair, slot_of(b, pair), rank, id, replace);
}

void cel_bpe_batch_add(cel_bpe *b, const cel_bpe_batch *batch, int32_t rank, bool replace) {
  uint64_t pair[CEL_VOCAB_BATCH];
  bool held[CEL_VOCAB_BATCH];
  for (int i = 0; i < batch->n; i++) pair[i] = pair_of(batch->left_id[i], batch->right_id[i]);
  for (int i = 0; i < batch->n; i++) held[i] = b->merges[slot_of(b, pair[i])].pair != 0;
  for (int i = 0; i < batch->n; i++) {
    if (batch->left_id[i] < 0 || batch->right_id[i] < 0 || batch->id[i] < 0) continue;
    uint32_t k = slot_of(b, pair[i]);
    if (held[i] || b->merges[k].pair) add_pair(b, pair[i], k, rank + i, batch->id[i], replace);
    else b->merges[k] = (cel_bpe_merge){pair[i], rank + i, batch->id[i]};
  }
}

static const cel_bpe_merge *find_merge(const cel_bpe *b, int32_t left, int32_t right) {
  uint64_t pair = pair_of(left, right);
  for (uint32_t k = slot_of(b, pair); b->merges[k].pair; k = (k + 1) & b->merges_mask) {
    if (b->merges[k].pair == pair) return &b->merges[k];
  }
  return NULL;
}

void cel_bpe_batch_find(cel_bpe_batch *batch, const cel_vocab *vocab, size_t skip) {
  cel_vocab_get_batch(vocab, batch->left, batch->n, batch->left_id);
  cel_vocab_get_batch(vocab, batch->right, batch->n, batch->right_id);
  for (int i = 0; i < batch->n; i++) {
    size_t k = CEL_MIN(skip, batch->right[i].n);
    cel_str rest = {batch->right[i].p + k, batch->right[i].n - k};
    batch->id[i] = cel_vocab_get_joined(vocab, batch->left[i], rest, &batch->guess);
  }
}

typedef struct scored {
  float score;
  int32_t id;
} scored;

static int best_first(const void *a, const void *b) {
  float x = ((const scored *)a)->score, y = ((const scored *)b)->score;
  return (x < y) - (x > y);
}

bool cel_bpe_set_scores(cel_bpe *b, cel_arena *arena, const float *scores, int32_t n) {
  scored *list = malloc(((size_t)n + 1) * sizeof *list);
  int32_t *order = CEL_NEW_ARRAY(arena, int32_t, n);
  if (!list || !order) return free(list), false;
  for (int32_t i = 0; i < n; i++) {
    float x = scores ? scores[i] : 0;
    list[i] = (scored){x == x ? x : -3e38f, i};  // NaN would break the order
  }
  qsort(list, (size_t)n, sizeof *list, best_first);
  int32_t rank = 0;
  for (int32_t i = 0; i < n; i++) {
    if (i > 0 && list[i].score < list[i - 1].score) rank = i;
    order[list[i].id] = rank;
  }
  free(list);
  b->order = order;
  b->n_order = n;
  return true;
}

// --- scratch ------------------------------------------------------------------------------------------

void cel_bpe_scratch_deinit(cel_bpe_scratch *s) {
  free(s->symbols);
  free(s->heap);
  cel_vocab_parts_deinit(&s->parts);
  cel_buf_deinit(&s->text);
  *s = (cel_bpe_scratch){0};
}

static bool more_symbols(cel_bpe_scratch *s, size_t more) {
  enum { MOST = 1 << 30 };  // symbols are numbered by int32_t
  if (more > MOST || s->n_symbols > MOST - more) return false;
  if (more <= s->cap_symbols - s->n_symbols) return true;
  size_t cap = CEL_MAX(s->cap_symbols * 2, s->n_symbols + more + 64);
  void *p = realloc(s->symbols, cap * sizeof *s->symbols);
  if (!p) return false;
  s->symbols = p;
  s->cap_symbols = cap;
  return true;
}

static bool more_heap(cel_bpe_scratch *s, size_t more) {
  if (more <= s->cap_heap - s->n_heap) return true;
  size_t cap = CEL_MAX(s->cap_heap * 2, s->n_heap + more + 64);
  void *p = realloc(s->heap, cap * sizeof *s->heap);
  if (!p) return false;
  s->heap = p;
  s->cap_heap = cap;
  return true;
}

// --- joins --------------------------------------------------------------------------------------------

static void sift_up(cel_bpe_join *heap, size_t i) {
  cel_bpe_join x = heap[i];
  for (size_t up; i > 0 && heap[up = (i - 1) / 2].key > x.key; i = up) heap[i] = heap[up];
  heap[i] = x;
}

static cel_bpe_join pop(cel_bpe_scratch *s) {
  cel_bpe_join *h = s->heap, top = h[0], x = h[--s->n_heap];
  size_t i = 0;
  for (size_t k; (k = 2 * i + 1) < s->n_heap; i = k) {
    if (k + 1 < s->n_heap && h[k + 1].key < h[k].key) k++;
    if (h[k].key >= x.key) break;
    h[i] = h[k];
  }
  h[i] = x;
  return top;
}

// What joining symbol `left` with its right neighbour would give; false when they do not join.
static bool join_of(const cel_bpe *b, const cel_bpe_scratch *s, cel_str piece, int32_t left, cel_bpe_join *out) {
  const cel_bpe_symbol *l = &s->symbols[left], *r = &s->symbols[l->next];
  int64_t rank;
  out->n = l->n + r->n;
  if (b->order) {
    if (out->n > b->vocab->longest) return false;
    uint64_t hash = cel_vocab_part_hash(&s->parts, l->at, out->n);
    out->id = cel_vocab_get_hashed(b->vocab, hash, (cel_str){piece.p + l->at, out->n});
    if (out->id < 0 || out->id >= b->n_order || cel_vocab_bars(b->barred, out->id)) return false;
    rank = b->order[out->id];
  } else {
    const cel_bpe_merge *m = find_merge(b, l->id, r->id);
    if (!m) return false;
    out->id = m->id;
    rank = m->rank;
  }
  out->key = (uint64_t)rank << 32 | (uint32_t)left;
  return true;
}

static void offer(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece, int32_t left) {
  cel_bpe_join j;
  if (left < 0 || s->symbols[left].next < 0 || !join_of(b, s, piece, left, &j)) return;
  s->heap[s->n_heap] = j;
  sift_up(s->heap, s->n_heap++);
}

// Does the join still describe what stands there? By score: the same bytes. By rank: the pair that stands
// there now gives the same token, as the reference asks it.
static bool is_current(const cel_bpe *b, const cel_bpe_scratch *s, const cel_bpe_join *j, int32_t left) {
  const cel_bpe_symbol *l = &s->symbols[left];
  if (l->n == 0 || l->next < 0) return false;
  if (b->order) return l->n + s->symbols[l->next].n == j->n;
  const cel_bpe_merge *m = find_merge(b, l->id, s->symbols[l->next].id);
  return m && m->id == j->id;
}

static bool join_all(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece) {
  // One offer per symbol, two per join, and there are fewer joins than symbols.
  s->n_heap = 0;
  if (!more_heap(s, 3 * s->n_symbols)) return false;
  for (size_t i = 0; i + 1 < s->n_symbols; i++) offer(b, s, piece, (int32_t)i);
  while (s->n_heap > 0) {
    cel_bpe_join j = pop(s);
    int32_t left = (int32_t)(uint32_t)j.key;
    if (!is_current(b, s, &j, left)) continue;
    cel_bpe_symbol *l = &s->symbols[left], *r = &s->symbols[l->next];
    l->id = j.id;
    l->n += r->n;
    l->next = r->next;
    r->n = 0;
    if (l->next >= 0) s->symbols[l->next].prev = left;
    offer(b, s, piece, l->prev);
    offer(b, s, piece, left);
  }
  return true;
}

// --- characters ---------------------------------------------------------------------------------------

static void push_symbol(cel_bpe_scratch *s, int32_t id, size_t at, size_t n) {
  int32_t i = (int32_t)s->n_symbols++;
  s->symbols[i] = (cel_bpe_symbol){.id = id, .prev = i - 1, .next = i + 1, .at = (uint32_t)at, .n = (uint32_t)n};
}

static int32_t char_id(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece, size_t at, size_t end, uint32_t cp) {
  bool first = at == 0, last = end == piece.n;
  cel_str text = {piece.p + at, end - at};
  if ((first || !b->prefix.n) && (!last || !b->suffix.n)) {
    return cel_bpe_char(b, cp, text);
  }
  cel_buf_clear(&s->text);
  if (!first) cel_buf_adds(&s->text, b->prefix);
  cel_buf_adds(&s->text, text);
  if (last) cel_buf_adds(&s->text, b->suffix);
  return cel_vocab_get(b->vocab, cel_buf_str(&s->text));
}

// The bytes of a character that has no token, when all of them have one. `text` is the character as the
// vocabulary would hold it.
static bool push_bytes(const cel_bpe *b, cel_bpe_scratch *s, cel_str text, size_t at) {
  for (size_t i = 0; i < text.n; i++) {
    if (b->byte_ids[(unsigned char)text.p[i]] < 0) return false;
  }
  for (size_t i = 0; i < text.n; i++) push_symbol(s, b->byte_ids[(unsigned char)text.p[i]], at, 1);
  return true;
}

// By rank: each character becomes its token, else its bytes, else the unknown token (joined with the one
// before when fuse_unk), else nothing.
static bool split_chars(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece) {
  size_t unk_at = 0, unk_n = 0;  // an unknown token that waits for the next one to be fused with
  s->n_symbols = 0;
  for (size_t i = 0; i < piece.n;) {
    size_t at = i;
    uint32_t cp = cel_char_next(piece.p, &i);
    if (!more_symbols(s, 8 + b->prefix.n + b->suffix.n)) return false;
    int32_t id = char_id(b, s, piece, at, i, cp);
    if (id >= 0) {
      if (unk_n) push_symbol(s, b->unk, unk_at, unk_n);
      unk_n = 0;
      push_symbol(s, id, at, i - at);
      continue;
    }
    bool plain = (at == 0 || !b->prefix.n) && (i < piece.n || !b->suffix.n);
    cel_str text = plain ? (cel_str){piece.p + at, i - at} : cel_buf_str(&s->text);
    if ((b->byte_fallback && push_bytes(b, s, text, at)) || b->unk < 0) continue;
    if (unk_n && !b->fuse_unk) push_symbol(s, b->unk, unk_at, unk_n), unk_n = 0;
    if (!unk_n) unk_at = at;
    unk_n += i - at;
  }
  if (!more_symbols(s, 1)) return false;
  if (unk_n) push_symbol(s, b->unk, unk_at, unk_n);
  return !s->text.failed;
}

// By score: every character is a symbol, also one that is no token.
static bool split_scored(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece) {
  s->n_symbols = 0;
  if (!more_symbols(s, piece.n) || !cel_vocab_parts_of(&s->parts, piece)) return false;
  for (size_t i = 0; i < piece.n;) {
    size_t at = i;
    uint32_t cp = cel_char_next(piece.p, &i);
    push_symbol(s, cel_bpe_char(b, cp, (cel_str){piece.p + at, i - at}), at, i - at);
  }
  return true;
}

static void put_symbol(const cel_bpe *b, cel_str piece, const cel_bpe_symbol *y, cel_ids *out) {
  if (y->id >= 0) {
    cel_ids_add(out, y->id);
    return;
  }
  for (uint32_t i = 0; i < y->n; i++) {  // by score only: a character that is no token
    int32_t id = b->byte_ids[(unsigned char)piece.p[y->at + i]];
    if (id < 0) id = b->unk;
    if (id >= 0) cel_ids_add(out, id);
  }
}

cel_status cel_bpe_encode(const cel_bpe *b, cel_bpe_scratch *s, cel_str piece, cel_ids *out, cel_err *err) {
  if (b->ignore_merges) {
    int32_t id = cel_vocab_get(b->vocab, piece);
    if (id >= 0 && !cel_vocab_bars(b->barred, id)) {
      cel_ids_add(out, id);
      return CEL_OK;
    }
  }
  if (!(b->order ? split_scored(b, s, piece) : split_chars(b, s, piece))) return cel_fail_oom(err, "encoding a text");
  if (s->n_symbols == 0) return CEL_OK;
  s->symbols[s->n_symbols - 1].next = -1;
  if (!join_all(b, s, piece)) return cel_fail_oom(err, "encoding a text");
  for (int32_t i = 0; i >= 0; i = s->symbols[i].next) put_symbol(b, piece, &s->symbols[i], out);
  return CEL_OK;
}
