#define _POSIX_C_SOURCE 200809L
#include "model/hub/http_head.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

void cel_http_copy_printable(char *out, size_t size, const char *p, size_t n) {
  size_t w = 0;
  for (size_t i = 0; i < n && w + 1 < size; i++) out[w++] = (unsigned char)p[i] < ' ' || p[i] == 127 ? ' ' : p[i];
  while (w && out[w - 1] == ' ') w--;
  out[w] = 0;
}

// Is the line the header `name`? Then *value is what follows its colon.
static bool header(cel_str line, const char *name, cel_str *value) {
  size_t n = strlen(name);
  if (line.n <= n || line.p[n] != ':' || strncasecmp(line.p, name, n) != 0) return false;
  *value = (cel_str){line.p + n + 1, line.n - n - 1};
  while (value->n && isspace((unsigned char)*value->p)) value->p++, value->n--;
  while (value->n && isspace((unsigned char)value->p[value->n - 1])) value->n--;
  return true;
}

static int64_t whole_number(cel_str s) {  // all of s; -1: no such thing
  int64_t v = 0;
  if (s.n == 0 || s.n > 18) return -1;
  for (size_t i = 0; i < s.n; i++) {
    if (!isdigit((unsigned char)s.p[i])) return -1;
    v = v * 10 + (s.p[i] - '0');
  }
  return v;
}

// "bytes 100-199/200"; a total of "*" stays unknown.
static void read_range(cel_http_head *h, cel_str v) {
  cel_str unit = CEL_STR("bytes ");
  if (!cel_str_starts(v, unit)) return;
  cel_str range = {v.p + unit.n, v.n - unit.n};
  const char *dash = memchr(range.p, '-', range.n), *slash = memchr(range.p, '/', range.n);
  if (!dash || !slash || slash < dash) return;
  h->range_from = whole_number((cel_str){range.p, (size_t)(dash - range.p)});
  h->range_total = whole_number((cel_str){slash + 1, range.n - (size_t)(slash - range.p) - 1});
}

void cel_http_head_init(cel_http_head *h) { *h = (cel_http_head){-1, -1, -1, "", ""}; }

void cel_http_head_line(cel_http_head *h, cel_str line) {
  cel_str v;
  if (cel_str_starts(line, CEL_STR("HTTP/"))) cel_http_head_init(h);
  else if (header(line, "Content-Length", &v)) h->content_length = whole_number(v);
  else if (header(line, "Content-Range", &v)) read_range(h, v);
  else if (header(line, "X-Error-Code", &v)) cel_http_copy_printable(h->error_code, sizeof h->error_code, v.p, v.n);
  else if (header(line, "X-Error-Message", &v)) cel_http_copy_printable(h->message, sizeof h->message, v.p, v.n);
}
