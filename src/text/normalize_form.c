// The normalization forms of Unicode: NFC, NFD, NFKC, NFKD.
#include <stdlib.h>
#include <utf8proc.h>

#include "text/norm_run.h"
#include "text/unicode.h"

typedef struct points {  // code points of a text that is being normalized
  int32_t *p;
  size_t n, cap;
} points;

static bool reserve(points *v, size_t more) {
  if (more <= v->cap - v->n) return true;
  size_t cap = CEL_MAX(v->cap * 2, v->n + more + 64);
  int32_t *p = realloc(v->p, cap * sizeof *p);
  if (!p) return false;
  v->p = p;
  v->cap = cap;
  return true;
}

static bool decompose(cel_str in, int options, points *v) {
  enum { LONGEST = 32 };  // the longest decomposition has 18 code points
  for (size_t i = 0; i < in.n;) {
    uint32_t c = cel_char_next(in.p, &i);
    if (!reserve(v, LONGEST)) return false;
    if (c < 0x80) {
      v->p[v->n++] = (int32_t)c;
      continue;
    }
    int boundary = 0;
    utf8proc_ssize_t k =
        utf8proc_decompose_char((utf8proc_int32_t)c, v->p + v->n, LONGEST, (utf8proc_option_t)options, &boundary);
    if (k > 0 && k <= LONGEST) {
      v->n += (size_t)k;
    } else {
      v->p[v->n++] = (int32_t)c;
    }
  }
  return true;
}

static int combining(int32_t c) { return c < 0x300 ? 0 : utf8proc_get_property(c)->combining_class; }

// Stable sort of a run of marks by combining class: insertion while short, counting when long (a hostile
// run may have any length).
static bool sort_marks(int32_t *p, size_t n, points *spare) {
  if (n <= 32) {
    for (size_t i = 1; i < n; i++) {
      int32_t c = p[i];
      size_t k = i;
      for (int cc = combining(c); k > 0 && combining(p[k - 1]) > cc; k--) p[k] = p[k - 1];
      p[k] = c;
    }
    return true;
  }
  size_t at[257] = {0};
  spare->n = 0;
  if (!reserve(spare, n)) return false;
  for (size_t i = 0; i < n; i++) at[combining(p[i]) + 1]++;
  for (int k = 0; k < 256; k++) at[k + 1] += at[k];
  for (size_t i = 0; i < n; i++) spare->p[at[combining(p[i])]++] = p[i];
  memcpy(p, spare->p, n * sizeof *p);
  return true;
}

static bool reorder(points *v, points *spare) {
  for (size_t i = 0; i < v->n;) {
    size_t e = i;
    while (e < v->n && combining(v->p[e]) != 0) e++;
    if (e > i + 1 && !sort_marks(v->p + i, e - i, spare)) return false;
    i = e + 1;
  }
  return true;
}

static bool is_ascii(cel_str s) {
  unsigned char all = 0;
  for (size_t i = 0; i < s.n; i++) all |= (unsigned char)s.p[i];
  return all < 0x80;
}

cel_status cel_norm_run_form(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  (void)run;
  if (is_ascii(in)) {
    cel_buf_adds(out, in);
    return CEL_OK;
  }
  points v = {0}, spare = {0};
  int options = UTF8PROC_STABLE | n->form;
  bool ok = decompose(in, (options & ~UTF8PROC_COMPOSE) | UTF8PROC_DECOMPOSE, &v) && reorder(&v, &spare);
  if (ok && (n->form & UTF8PROC_COMPOSE)) {
    utf8proc_ssize_t k = utf8proc_normalize_utf32(v.p, (utf8proc_ssize_t)v.n, (utf8proc_option_t)options);
    if (k >= 0) v.n = (size_t)k;
  }
  for (size_t i = 0; ok && i < v.n; i++) {
    char c[4];
    cel_buf_add(out, c, (size_t)cel_utf8_put(c, (uint32_t)v.p[i]));
  }
  free(v.p);
  free(spare.p);
  return ok ? CEL_OK : cel_fail_oom(err, "normalizing a text");
}
