#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>

void cel_buf_deinit(cel_buf *b) {
  free(b->p);
  *b = (cel_buf){0};
}

void cel_buf_clear(cel_buf *b) {
  b->n = 0;
  if (b->p) b->p[0] = 0;
}

bool cel_buf_reserve(cel_buf *b, size_t more) {
  if (b->failed) return false;
  if (more < b->cap - b->n && b->p) return true;  // room for the NUL as well
  size_t want = b->n + more + 1;
  if (want < more) return !(b->failed = true);
  size_t cap = b->cap ? b->cap : 64;
  while (cap < want) cap = cap > SIZE_MAX / 2 ? want : cap * 2;
  char *p = realloc(b->p, cap);
  if (!p) return !(b->failed = true);
  b->p = p;
  b->cap = cap;
  return true;
}

void cel_buf_add(cel_buf *b, const char *p, size_t n) {
  if (!cel_buf_reserve(b, n)) return;
  if (n) memcpy(b->p + b->n, p, n);
  b->n += n;
  b->p[b->n] = 0;
}

void cel_buf_addc(cel_buf *b, char c) { cel_buf_add(b, &c, 1); }
void cel_buf_addz(cel_buf *b, const char *z) { cel_buf_add(b, z, strlen(z)); }

void cel_buf_printf(cel_buf *b, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n < 0 || !cel_buf_reserve(b, (size_t)n)) return;
  va_start(args, fmt);
  vsnprintf(b->p + b->n, (size_t)n + 1, fmt, args);
  va_end(args);
  b->n += (size_t)n;
}

char *cel_buf_take(cel_buf *b) {
  if (!b->failed) cel_buf_reserve(b, 0);
  char *p = b->failed ? NULL : b->p;
  if (p) p[b->n] = 0;
  if (!p) free(b->p);
  *b = (cel_buf){0};
  return p;
}

// Length by first byte and the range allowed for the second one (Unicode 3.9, table 3-7).
static int sequence(unsigned char c, unsigned char *lo, unsigned char *hi) {
  *lo = 0x80, *hi = 0xBF;
  if (c < 0x80) return 1;
  if (c >= 0xC2 && c <= 0xDF) return 2;
  if (c >= 0xE0 && c <= 0xEF) {
    if (c == 0xE0) *lo = 0xA0;
    if (c == 0xED) *hi = 0x9F;
    return 3;
  }
  if (c >= 0xF0 && c <= 0xF4) {
    if (c == 0xF0) *lo = 0x90;
    if (c == 0xF4) *hi = 0x8F;
    return 4;
  }
  return 0;
}

uint32_t cel_utf8_next(const char *s, size_t n, size_t *i) {
  const unsigned char *u = (const unsigned char *)s;
  unsigned char lo, hi, c = u[(*i)++];
  int len = sequence(c, &lo, &hi);
  if (len == 1) return c;
  if (len == 0) return 0xFFFD;
  uint32_t cp = c & (0xFFu >> (len + 1));
  for (int k = 1; k < len; k++) {
    if (*i >= n || u[*i] < lo || u[*i] > hi) return 0xFFFD;
    cp = cp << 6 | (u[(*i)++] & 0x3F);
    lo = 0x80, hi = 0xBF;
  }
  return cp;
}

int cel_utf8_put(char out[4], uint32_t cp) {
  if (cp > 0x10FFFF || (cp >= 0xD800 && cp <= 0xDFFF)) cp = 0xFFFD;
  if (cp < 0x80) {
    out[0] = (char)cp;
    return 1;
  }
  int len = cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
  for (int k = len - 1; k > 0; k--, cp >>= 6) out[k] = (char)(0x80 | (cp & 0x3F));
  out[0] = (char)((0xF00u >> len & 0xFF) | cp);
  return len;
}

size_t cel_utf8_partial_tail(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  for (size_t back = 1; back <= 3 && back <= n; back++) {
    unsigned char lo, hi;
    int len = sequence(u[n - back], &lo, &hi);
    if (len == 0) continue;  // a continuation byte, or never valid
    if ((size_t)len <= back) return 0;
    if (back >= 2 && (u[n - back + 1] < lo || u[n - back + 1] > hi)) return 0;
    return back;
  }
  return 0;
}

bool cel_utf8_valid(const char *s, size_t n) {
  const unsigned char *u = (const unsigned char *)s;
  for (size_t i = 0; i < n;) {
    unsigned char lo, hi;
    int len = sequence(u[i], &lo, &hi);
    if (len == 0 || (size_t)len > n - i) return false;
    for (int k = 1; k < len; k++, lo = 0x80, hi = 0xBF) {
      if (u[i + (size_t)k] < lo || u[i + (size_t)k] > hi) return false;
    }
    i += (size_t)len;
  }
  return true;
}
