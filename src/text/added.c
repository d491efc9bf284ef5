#include "text/added.h"

#include <stdlib.h>

#include "text/unicode.h"

static int32_t child_of(const cel_added *a, int32_t node, unsigned char byte) {
  if (node == 0) return a->root[byte];
  int32_t k = a->nodes[node].child;
  while (k && a->nodes[k].byte != byte) k = a->nodes[k].sibling;
  return k;
}

static int32_t add_child(cel_added *a, int32_t node, unsigned char byte) {
  int32_t k = a->n_nodes++;
  a->nodes[k] = (cel_added_node){.byte = byte, .sibling = node ? a->nodes[node].child : 0};
  if (node) a->nodes[node].child = k;
  else a->root[byte] = k;
  return k;
}

static void insert(cel_added *a, int32_t token) {
  cel_str c = a->tokens[token].content;
  int32_t node = 0;
  for (size_t i = c.n; i-- > 0;) {
    int32_t k = child_of(a, node, (unsigned char)c.p[i]);
    node = k ? k : add_child(a, node, (unsigned char)c.p[i]);
  }
  if (!a->nodes[node].longest) a->nodes[node].longest = token + 1;
}

static int32_t step(const cel_added *a, int32_t node, unsigned char byte) {
  for (int32_t k; node; node = a->nodes[node].fail) {
    if ((k = child_of(a, node, byte))) return k;
  }
  return a->root[byte];
}

// Breadth first, so that a node's failure node is finished before it.
static bool link(cel_added *a) {
  int32_t *queue = malloc(((size_t)a->n_nodes + 1) * sizeof *queue);
  if (!queue) return false;
  int32_t n = 0;
  for (int i = 0; i < 256; i++) {
    if (a->root[i]) queue[n++] = a->root[i];
  }
  for (int32_t i = 0; i < n; i++) {
    cel_added_node *node = &a->nodes[queue[i]];
    if (!node->longest) node->longest = a->nodes[node->fail].longest;
    for (int32_t k = node->child; k; k = a->nodes[k].sibling) {
      a->nodes[k].fail = step(a, node->fail, a->nodes[k].byte);
      queue[n++] = k;
    }
  }
  free(queue);
  return true;
}

cel_status cel_added_build(cel_added *a, cel_arena *arena, const cel_added_token *tokens, int32_t n, bool normalized,
                           cel_err *err) {
  enum { MOST = 1 << 27 };
  size_t bytes = 1;
  *a = (cel_added){.tokens = tokens};
  for (int32_t i = 0; i < n; i++) bytes += tokens[i].normalized == normalized ? tokens[i].content.n : 0;
  if (bytes == 1) return CEL_OK;
  if (bytes > MOST)
    return cel_fail(err, CEL_UNSUPPORTED, "added tokens of %zu bytes in all, at most %d are supported", bytes, MOST);
  a->nodes = CEL_NEW_ARRAY(arena, cel_added_node, bytes);
  a->root = CEL_NEW_ARRAY(arena, int32_t, 256);
  if (!a->nodes || !a->root) return cel_fail_oom(err, "added tokens");
  a->n_nodes = 1;
  for (int32_t i = 0; i < 2 * n; i++) {  // of equal contents the special one counts, then the first
    const cel_added_token *t = &tokens[i % n];
    if (t->normalized == normalized && t->content.n && t->special == (i < n)) insert(a, i % n);
  }
  return link(a) ? CEL_OK : cel_fail_oom(err, "added tokens");
}

void cel_added_parts_deinit(cel_added_parts *p) {
  free(p->p);
  cel_spans_deinit(&p->hits);
  *p = (cel_added_parts){0};
}

static void put(cel_added_parts *v, size_t at, size_t n, int32_t id) {
  if (v->failed) return;
  if (v->n == v->cap) {
    size_t cap = v->cap ? v->cap * 2 : 16;
    void *p = realloc(v->p, cap * sizeof *v->p);
    if (!p) {
      v->failed = true;
      return;
    }
    v->p = p;
    v->cap = cap;
  }
  v->p[v->n++] = (cel_added_part){at, n, id};
}

// Every place where a token starts, last one first: at = the place, n = token number + 1.
static void find_hits(const cel_added *a, cel_str text, cel_spans *hits) {
  int32_t node = 0;
  hits->n = 0;
  for (size_t i = text.n; i-- > 0;) {
    node = step(a, node, (unsigned char)text.p[i]);
    if (a->nodes[node].longest) cel_spans_add(hits, i, (size_t)a->nodes[node].longest);
  }
}

static bool word_before(cel_str s, size_t i) {
  if (i == 0) return false;
  i = cel_char_before(s.p, i);
  return cel_char_is_word(cel_char_next(s.p, &i));
}

static bool word_at(cel_str s, size_t i) { return i < s.n && cel_char_is_word(cel_char_next(s.p, &i)); }

static size_t spaces_before(cel_str s, size_t i, size_t least) {
  while (i > least) {
    size_t at = cel_char_before(s.p, i), k = at;
    if (!cel_char_is_space(cel_char_next(s.p, &k))) break;
    i = at;
  }
  return CEL_MAX(i, least);
}

static size_t spaces_after(cel_str s, size_t i) {
  for (size_t k = i; k < s.n && cel_char_is_space(cel_char_next(s.p, &k));) i = k;
  return i;
}

cel_status cel_added_split(const cel_added *a, cel_str text, bool with_special, cel_added_parts *out, cel_err *err) {
  size_t done = 0, searched = 0;  // what is cut off already; where the next match may start
  size_t blank = 0, blank_end = 0;  // the run of white space that was seen last
  out->n = 0;
  if (a->nodes) find_hits(a, text, &out->hits);
  for (size_t h = a->nodes ? out->hits.n : 0; h-- > 0;) {
    const cel_added_token *t = &a->tokens[out->hits.p[h].n - 1];
    size_t start = out->hits.p[h].at, stop = start + t->content.n;
    if (start < searched) continue;
    searched = stop;
    if (t->special && !with_special) continue;
    if (t->single_word && (word_before(text, start) || word_at(text, stop))) continue;
    if (t->lstrip) start = spaces_before(text, start, CEL_MIN(done, start));
    if (t->rstrip && (stop < blank || stop >= blank_end)) blank = stop, blank_end = spaces_after(text, stop);
    if (t->rstrip) stop = blank_end;
    if (start > done) put(out, done, start - done, -1);
    put(out, start, stop - start, t->id);
    done = stop;
  }
  if (done < text.n) put(out, done, text.n - done, -1);
  return out->failed || out->hits.failed ? cel_fail_oom(err, "the parts of a text") : CEL_OK;
}
