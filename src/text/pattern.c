#include "text/pattern.h"

enum { LONGEST_LITERAL = 1 << 20 };

cel_status cel_pattern_regex(cel_text_build *b, cel_str text, const char *where, cel_pattern *out, cel_err *err) {
  *out = (cel_pattern){.scan = cel_scan_find(text)};
  if (out->scan) return CEL_OK;
  cel_regex_list *node = CEL_NEW(b->arena, cel_regex_list);
  if (!node) return cel_fail_oom(err, b->name);
  CEL_TRY(cel_regex_new(text, where, &node->re, err));
  node->next = *b->regexes;
  *b->regexes = node;
  out->re = node->re;
  return CEL_OK;
}

int32_t cel_pattern_step(const cel_pattern *p, int32_t state, char c) {
  while (state > 0 && ((size_t)state == p->literal.n || p->literal.p[state] != c)) state = p->fail[state];
  return state < (int32_t)p->literal.n && p->literal.p[state] == c ? state + 1 : 0;
}

cel_status cel_pattern_literal(cel_text_build *b, cel_str text, const char *where, cel_pattern *out, cel_err *err) {
  if (text.n == 0) return cel_pattern_regex(b, text, where, out, err);
  if (text.n > LONGEST_LITERAL) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: a string of %zu bytes to look for, at most %d are supported", where,
                    text.n, LONGEST_LITERAL);
  }
  char *copy = cel_arena_dup(b->arena, text.p, text.n);
  int32_t *fail = CEL_NEW_ARRAY(b->arena, int32_t, text.n + 1);
  if (!copy || !fail) return cel_fail_oom(err, b->name);
  *out = (cel_pattern){.literal = {copy, text.n}, .fail = fail};
  for (size_t i = 1; i < text.n; i++) {  // fail[i]: the longest border of the first i bytes
    int32_t k = fail[i];
    while (k > 0 && copy[k] != copy[i]) k = fail[k];
    fail[i + 1] = copy[k] == copy[i] ? k + 1 : 0;
  }
  return CEL_OK;
}

cel_status cel_pattern_read(cel_text_build *b, const cel_json *json, const char *where, cel_pattern *out,
                            cel_err *err) {
  const cel_json *literal = cel_json_get(json, "String"), *regex = cel_json_get(json, "Regex");
  if (cel_json_is_string(json)) literal = json;
  if (cel_json_is_string(literal)) {
    return cel_pattern_literal(b, (cel_str){cel_json_string_value(literal), cel_json_string_length(literal)}, where, out, err);
  }
  if (cel_json_is_string(regex)) {
    return cel_pattern_regex(b, (cel_str){cel_json_string_value(regex), cel_json_string_length(regex)}, where, out, err);
  }
  return cel_fail(err, CEL_MALFORMED, "%s: must be {\"String\": text} or {\"Regex\": text}", where);
}

static bool find_literal(cel_find *f) {
  const cel_pattern *p = f->pattern;
  int32_t state = 0;
  for (size_t i = f->from; i < f->text.n; i++) {
    if (state == 0) {  // most of a text is not part of a match: let memchr run over it
      const char *hit = memchr(f->text.p + i, p->literal.p[0], f->text.n - i);
      if (!hit) return false;
      i = (size_t)(hit - f->text.p);
    }
    state = cel_pattern_step(p, state, f->text.p[i]);
    if ((size_t)state < p->literal.n) continue;
    f->end = f->from = i + 1;
    f->start = f->end - p->literal.n;
    return true;
  }
  return false;
}

static size_t char_end(cel_str s, size_t i) {
  do i++;
  while (i < s.n && ((unsigned char)s.p[i] & 0xC0) == 0x80);
  return i;
}

cel_status cel_find_next(cel_find *f, bool *found, cel_err *err) {
  *found = false;
  if (f->pattern->fail) {
    *found = find_literal(f);
    return CEL_OK;
  }
  if (f->pattern->scan && cel_scan_leaves_gaps(f->pattern->scan)) {
    *found = cel_scan_match(f->pattern->scan, f->text, &f->from, &f->digits, &f->start, &f->end);
    return CEL_OK;
  }
  if (f->pattern->scan) {
    if (f->from >= f->text.n) return CEL_OK;
    *found = true;
    f->start = f->from;
    f->end = f->from = cel_scan_next(f->pattern->scan, f->text.p, f->text.n, f->start);
    return CEL_OK;
  }
  while (f->from <= f->text.n) {
    CEL_TRY(cel_regex_find(f->pattern->re, f->run, f->text, f->from, found, &f->start, &f->end, err));
    if (!*found) return CEL_OK;
    if (f->start == f->end && f->any && f->last_end == f->end) {
      f->from = char_end(f->text, f->from);
      continue;
    }
    f->from = f->last_end = f->end;
    f->any = true;
    return CEL_OK;
  }
  *found = false;
  return CEL_OK;
}
