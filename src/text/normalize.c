// Normalizers: NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend, Strip, StripAccents, BertNormalizer, Nmt,
// Precompiled, ByteLevel. What a step does to a text is in normalize_form.c, normalize_chars.c and here.
#include <utf8proc.h>

#include "text/norm_run.h"
#include "text/unicode.h"

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
  cel_norm n = {.run = cel_norm_run_form};
  n.form |= strchr(type, 'C') ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  n.form |= strchr(type, 'K') ? UTF8PROC_COMPAT : 0;
  return add(b, steps, &n, err);
}

static cel_status read_lowercase(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return add(b, steps, &(cel_norm){.run = cel_norm_run_lowercase}, err);
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

static cel_status read_strip_accents(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return add(b, steps, &(cel_norm){.run = cel_norm_run_drop, .drops = cel_char_is_mark}, err);
}

static cel_status read_nmt(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return add(b, steps, &(cel_norm){.run = cel_norm_run_nmt}, err);
}

typedef struct bert {
  bool clean, chinese, accents, lowercase;
} bert;

static cel_status add_bert(cel_text_build *b, cel_norms *norms, bert how, cel_err *err) {
  if (how.clean) CEL_TRY(add(b, norms, &(cel_norm){.run = cel_norm_run_clean}, err));
  if (how.chinese) CEL_TRY(add(b, norms, &(cel_norm){.run = cel_norm_run_chinese}, err));
  if (how.accents) {
    CEL_TRY(add(b, norms, &(cel_norm){.run = cel_norm_run_form, .form = UTF8PROC_DECOMPOSE}, err));
    CEL_TRY(add(b, norms, &(cel_norm){.run = cel_norm_run_drop, .drops = cel_char_is_nonspacing}, err));
  }
  return how.lowercase ? add(b, norms, &(cel_norm){.run = cel_norm_run_lowercase}, err) : CEL_OK;
}

static cel_status read_bert(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  bert how = {.clean = cel_json_bool(json, "clean_text", true),
              .chinese = cel_json_bool(json, "handle_chinese_chars", true),
              .lowercase = cel_json_bool(json, "lowercase", true)};
  how.accents = cel_json_bool(json, "strip_accents", how.lowercase);  // null: as lowercase
  return add_bert(b, steps, how, err);
}

static cel_status run_charsmap(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  (void)run;
  return cel_charsmap_run(n->map, in, in.n * CEL_TEXT_GROWTH + CEL_TEXT_SLACK, out, err);
}

static cel_status read_precompiled(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_norm n = {.run = run_charsmap};
  cel_str text;
  const char *where = cel_arena_printf(b->arena, "%s: normalizer Precompiled.precompiled_charsmap", b->name);
  if (!where) return cel_fail_oom(err, b->name);
  CEL_TRY(cel_step_string(b, json, "precompiled_charsmap", "normalizer Precompiled", &text, err));
  CEL_TRY(cel_charsmap_read_base64(b->arena, text, where, &n.map, err));
  return add(b, steps, &n, err);
}

static cel_status run_byte_level(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
  (void)run, (void)err;
  cel_byte_chars_encode(n->bytes, in, out);
  return CEL_OK;
}

static cel_status read_byte_level(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  cel_byte_chars *t = CEL_NEW(b->arena, cel_byte_chars);
  if (!t) return cel_fail_oom(err, b->name);
  cel_byte_chars_init(t);
  return add(b, steps, &(cel_norm){.run = run_byte_level, .bytes = t}, err);
}

static const cel_step_row rows[] = {
    {"NFC", read_form},         {"NFD", read_form},         {"NFKC", read_form},       {"NFKD", read_form},
    {"Lowercase", read_lowercase}, {"Replace", read_replace}, {"Prepend", read_prepend}, {"Strip", read_strip},
    {"StripAccents", read_strip_accents}, {"BertNormalizer", read_bert}, {"Nmt", read_nmt},
    {"Precompiled", read_precompiled}, {"ByteLevel", read_byte_level},
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

cel_status cel_norm_charsmap(cel_text_build *b, cel_norms *norms, cel_str blob, cel_err *err) {
  cel_norm n = {.run = run_charsmap};
  CEL_TRY(cel_charsmap_read(b->arena, blob, b->name, &n.map, err));
  return add(b, norms, &n, err);
}

cel_status cel_norm_lowercase(cel_text_build *b, cel_norms *norms, cel_err *err) {
  return add(b, norms, &(cel_norm){.run = cel_norm_run_lowercase}, err);
}

cel_status cel_norm_merge_spaces(cel_text_build *b, cel_norms *norms, cel_err *err) {
  return add(b, norms, &(cel_norm){.run = cel_norm_run_merge_spaces}, err);
}

cel_status cel_norm_bert(cel_text_build *b, cel_norms *norms, bool lowercase, bool strip_accents, cel_err *err) {
  return add_bert(b, norms, (bert){true, true, strip_accents, lowercase}, err);
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
