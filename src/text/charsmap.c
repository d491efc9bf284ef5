#include "text/charsmap.h"

#include <stdlib.h>
#include <utf8proc.h>

#include "text/unicode.h"

static uint32_t load_u32(const unsigned char *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

cel_status cel_charsmap_read(cel_arena *arena, cel_str blob, const char *where, const cel_charsmap **out,
                             cel_err *err) {
  const char *copy = cel_arena_dup(arena, blob.p, blob.n);
  cel_charsmap *m = CEL_NEW(arena, cel_charsmap);
  if (!copy || !m) return cel_fail_oom(err, where);
  size_t trie = blob.n >= 4 ? load_u32((const unsigned char *)copy) : 0;
  if (trie < 4 || trie % 4 != 0 || trie > blob.n - 4) {
    return cel_fail(err, CEL_MALFORMED,
                    "%s: a trie of %zu bytes in a map of %zu; whole 4-byte units inside it are right", where, trie,
                    blob.n);
  }
  m->units = (const unsigned char *)copy + 4;
  m->n_units = trie / 4;
  m->texts = (cel_str){copy + 4 + trie, blob.n - 4 - trie};
  if (!cel_utf8_valid(m->texts.p, m->texts.n)) {
    return cel_fail(err, CEL_MALFORMED, "%s: the texts of the map are not UTF-8", where);
  }
  *out = m;
  return CEL_OK;
}

static int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

cel_status cel_charsmap_read_base64(cel_arena *arena, cel_str text, const char *where, const cel_charsmap **out,
                                    cel_err *err) {
  size_t n = text.n;
  while (n > 0 && text.n - n < 2 && text.p[n - 1] == '=') n--;
  char *bytes = malloc(n / 4 * 3 + 3);
  if (!bytes) return cel_fail_oom(err, where);
  uint32_t bits = 0;
  size_t k = 0;
  for (size_t i = 0; i < n; i++) {
    int digit = digit_of(text.p[i]);
    if (digit < 0 || text.n % 4 != 0) {
      free(bytes);
      return cel_fail(err, CEL_MALFORMED, "%s: not base64 (%zu characters, at %zu)", where, text.n, i);
    }
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4 > 0) bytes[k++] = (char)(bits >> (6 - 2 * (i % 4)));
  }
  cel_status s = cel_charsmap_read(arena, (cel_str){bytes, k}, where, out, err);
  free(bytes);
  return s;
}

// The text for a grapheme or character: that of its shortest head in the trie. NULL: it stays.
static const char *find(const cel_charsmap *m, cel_str key, size_t *n) {
  size_t at = 0;
  uint32_t unit = load_u32(m->units);
  for (size_t i = 0; i <= key.n; i++) {
    at ^= (size_t)(unit >> 10) << ((unit & (1u << 9)) >> 6);  // where this node's children lie
    if (i > 0 && (unit >> 8 & 1)) {                           // it has a text
      if (at >= m->n_units) return NULL;
      size_t text = load_u32(m->units + 4 * at) & 0x7FFFFFFF;
      const char *end = text < m->texts.n ? memchr(m->texts.p + text, 0, m->texts.n - text) : NULL;
      if (!end || ((unsigned char)m->texts.p[text] & 0xC0) == 0x80) return NULL;
      *n = (size_t)(end - (m->texts.p + text));
      return m->texts.p + text;
    }
    if (i == key.n || key.p[i] == 0) return NULL;
    at ^= (unsigned char)key.p[i];
    if (at >= m->n_units) return NULL;
    unit = load_u32(m->units + 4 * at);
    if ((unit & 0x800000FF) != (unsigned char)key.p[i]) return NULL;
  }
  return NULL;
}

static bool replace(const cel_charsmap *m, cel_str part, cel_buf *out) {
  size_t n;
  const char *text = find(m, part, &n);
  if (text) cel_buf_add(out, text, n);
  return text != NULL;
}

// The end of the grapheme that begins at `at`.
static size_t grapheme(cel_str in, size_t at) {
  size_t end = at;
  uint32_t before = cel_char_next(in.p, &end);
  utf8proc_int32_t state = 0;
  for (size_t next = end; next < in.n; end = next) {
    uint32_t cp = cel_char_next(in.p, &next);
    if (before < 0x80 && cp < 0x80 && before != '\r') break;
    if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)before, (utf8proc_int32_t)cp, &state)) break;
    before = cp;
  }
  return end;
}

cel_status cel_charsmap_run(const cel_charsmap *m, cel_str in, size_t most, cel_buf *out, cel_err *err) {
  enum { SHORT = 6 };
  for (size_t at = 0, end; at < in.n && out->n <= most; at = end) {
    end = grapheme(in, at);
    if (end - at < SHORT && replace(m, (cel_str){in.p + at, end - at}, out)) continue;
    for (size_t i = at, next; i < end && out->n <= most; i = next) {
      next = i;
      cel_char_next(in.p, &next);
      cel_str one = {in.p + i, next - i};
      if (!replace(m, one, out)) cel_buf_adds(out, one);
    }
  }
  return out->failed ? cel_fail_oom(err, "normalizing a text") : CEL_OK;
}
