// Text: a borrowed view, and a growing buffer whose out-of-memory sticks until it is asked for.
#ifndef CEL_BASE_STR_H
#define CEL_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"

typedef struct cel_str {
  const char *p;  // not NUL-terminated in general
  size_t n;       // bytes
} cel_str;

#define CEL_STR(literal) ((cel_str){(literal), sizeof(literal) - 1})
// For printf("%.*s", CEL_STR_ARG(s)).
#define CEL_STR_ARG(s) (int)((s).n > 200 ? 200 : (s).n), (s).p

static inline cel_str cel_str_of(const char *z) { return (cel_str){z, strlen(z)}; }
static inline bool cel_str_eq(cel_str a, cel_str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}
static inline bool cel_str_is(cel_str a, const char *z) { return cel_str_eq(a, cel_str_of(z)); }
static inline bool cel_str_starts(cel_str s, cel_str head) {
  return s.n >= head.n && (head.n == 0 || memcmp(s.p, head.p, head.n) == 0);
}
static inline bool cel_str_ends(cel_str s, cel_str tail) {
  return s.n >= tail.n && (tail.n == 0 || memcmp(s.p + s.n - tail.n, tail.p, tail.n) == 0);
}

// A growing byte buffer. Every append is safe after a failure (it does nothing); check `failed` once
// at the end. p is NUL-terminated whenever it is not NULL. Zero-initialize; free with deinit.
typedef struct cel_buf {
  char *p;
  size_t n, cap;
  bool failed;  // some append found no memory
} cel_buf;

void cel_buf_deinit(cel_buf *b);
void cel_buf_clear(cel_buf *b);  // n = 0, memory kept
bool cel_buf_reserve(cel_buf *b, size_t more);
void cel_buf_add(cel_buf *b, const char *p, size_t n);
void cel_buf_addc(cel_buf *b, char c);
void cel_buf_addz(cel_buf *b, const char *z);
void cel_buf_printf(cel_buf *b, const char *fmt, ...) CEL_PRINTF(2, 3);
static inline void cel_buf_adds(cel_buf *b, cel_str s) { cel_buf_add(b, s.p, s.n); }
static inline cel_str cel_buf_str(const cel_buf *b) { return (cel_str){b->p ? b->p : "", b->n}; }
// Hands the memory over (free() it); the buffer is empty afterwards. NULL when it failed.
char *cel_buf_take(cel_buf *b);

// UTF-8. Decodes the code point at s[*i] and moves *i behind it. A malformed sequence gives U+FFFD and
// moves by one maximal invalid part, as the Unicode standard recommends (3.9, table 3-8).
uint32_t cel_utf8_next(const char *s, size_t n, size_t *i);
// Appends a code point; returns the number of bytes (1..4). Surrogates and > 10FFFF give U+FFFD.
int cel_utf8_put(char out[4], uint32_t code_point);
// How many bytes at the end of s[0..n) are the start of a code point that is not complete yet (0..3).
size_t cel_utf8_partial_tail(const char *s, size_t n);
bool cel_utf8_valid(const char *s, size_t n);

#endif
