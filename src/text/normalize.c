// Normalizers: NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip.
#include <stdlib.h>
#include <utf8proc.h>

#include "text/steps.h"
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

static cel_status run_form(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
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

static cel_status run_lowercase(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  (void)n, (void)run, (void)err;
  for (size_t i = 0; i < in.n;) {
    uint32_t c = cel_char_next(in.p, &i);
    char text[4];
    if (c == 0x130) {  // the one character whose lower case is two (SpecialCasing.txt)
      cel_buf_addz(out, "i\xCC\x87");
      continue;
    }
    if (c >= 'A' && c <= 'Z') c |= 32;
    if (c >= 0x80) c = (uint32_t)utf8proc_tolower((utf8proc_int32_t)c);
    cel_buf_add(out, text, (size_t)cel_utf8_put(text, c));
  }
  return CEL_OK;
}

static cel_status run_replace(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  cel_find f = {.pattern = &n->find, .run = run->regex, .text = in};
  size_t done = 0, most = in.n * CEL_TEXT_GROWTH + CEL_TEXT_SLACK;
  for (bool found;;) {
    CEL_TRY(cel_find_next(&f, &found, err));
    if (!found || out->n > most) break;  // over the limit: the caller reports it
    cel_buf_add(out, in.p + done, f.start - done);
    cel_buf_adds(out, n->with);
    if (f.start == 0 && f.end > 0 && n->with.n == 0) run->moved = true;
    done = f.end;
  }
  cel_buf_add(out, in.p + done, in.n - done);
  return CEL_OK;
}

static cel_status run_prepend(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  (void)run, (void)err;
  if (in.n) cel_buf_adds(out, n->with);
  cel_buf_adds(out, in);
  return CEL_OK;
}

static cel_status run_strip(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  (void)err;
  size_t from = 0, to = in.n;
  for (size_t i = 0; n->left && i < in.n && cel_char_is_space(cel_char_next(in.p, &i));) from = i;
  while (n->right && to > from) {
    size_t start = cel_char_before(in.p, to), i = start;
    if (!cel_char_is_space(cel_char_next(in.p, &i))) break;
    to = start;
  }
  if (from > 0) run->moved = true;
  cel_buf_add(out, in.p + from, to - from);
  return CEL_OK;
}

static cel_status add(cel_text_build *b, cel_norms *norms, const cel_norm *step, cel_err *err) {
  if (norms->n == CEL_STEPS_MOST) return cel_steps_full(b, "normalizer", err);
  norms->step[norms->n++] = *step;
  return CEL_OK;
}

static cel_status read_form(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  const char *type = cel_json_string(json, "type", "");
  cel_norm n = {.run = run_form};
  n.form |= strchr(type, 'C') ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  n.form |= strchr(type, 'K') ? UTF8PROC_COMPAT : 0;
  return add(b, steps, &n, err);
}

static cel_status read_lowercase(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return add(b, steps, &(cel_norm){.run = run_lowercase}, err);
}

static cel_status read_replace(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_norm n = {.run = run_replace};
  const char *where = cel_arena_printf(b->arena, "%s: normalizer Replace.pattern", b->name);
  if (!where) return cel_fail_oom(err, b->name);
  CEL_TRY(cel_step_string(b, json, "content", "normalizer Replace", &n.with, err));
  CEL_TRY(cel_pattern_read(b, cel_json_get(json, "pattern"), where, &n.find, err));
  return add(b, steps, &n, err);
}

static cel_status read_prepend(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_norm n = {.run = run_prepend};
  CEL_TRY(cel_step_string(b, json, "prepend", "normalizer Prepend", &n.with, err));
  return add(b, steps, &n, err);
}

static cel_status read_strip(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  return add(b, steps, &(cel_norm){.run = run_strip,
                                   .left = cel_json_bool(json, "strip_left", true),
                                   .right = cel_json_bool(json, "strip_right", true)}, err);
}

static const cel_step_row rows[] = {
    {"NFC", read_form},         {"NFD", read_form},         {"NFKC", read_form},       {"NFKD", read_form},
    {"Lowercase", read_lowercase}, {"Replace", read_replace}, {"Prepend", read_prepend}, {"Strip", read_strip},
};

cel_status cel_norms_read(cel_text_build *b, const cel_json *json, cel_norms *out, cel_err *err) {
  return cel_steps_read(b, json, "normalizer", "normalizers", rows, CEL_COUNT(rows), out, err);
}

cel_status cel_norm_prepend(cel_text_build *b, cel_norms *norms, cel_str text, cel_err *err) {
  return add(b, norms, &(cel_norm){.run = run_prepend, .with = text}, err);
}

cel_status cel_norm_replace_spaces(cel_text_build *b, cel_norms *norms, cel_str with, cel_err *err) {
  cel_norm n = {.run = run_replace, .with = with};
  CEL_TRY(cel_pattern_literal(b, CEL_STR(" "), b->name, &n.find, err));
  return add(b, norms, &n, err);
}

void cel_norm_run_deinit(cel_norm_run *run) {
  cel_buf_deinit(&run->buffers[0]);
  cel_buf_deinit(&run->buffers[1]);
}

cel_status cel_norms_run(const cel_norms *norms, cel_str in, cel_norm_run *run, cel_str *out, cel_err *err) {
  size_t most = CEL_MIN(in.n * CEL_TEXT_GROWTH + CEL_TEXT_SLACK, (size_t)CEL_TEXT_MOST);
  *out = in;
  run->moved = false;
  for (int i = 0; i < norms->n; i++) {
    cel_buf *b = &run->buffers[i & 1];
    cel_buf_clear(b);
    CEL_TRY(norms->step[i].run(&norms->step[i], *out, b, run, err));
    if (b->failed) return cel_fail_oom(err, "normalizing a text");
    if (b->n > most) {
      return cel_fail(err, CEL_TOO_LONG, "a text of %zu bytes grows to more than %zu in the tokenizer's normalizer",
                      in.n, most);
    }
    *out = cel_buf_str(b);
  }
  return CEL_OK;
}
