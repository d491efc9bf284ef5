// Pre-tokenizers: ByteLevel, Split, Digits, Metaspace, Whitespace, WhitespaceSplit, Punctuation, BertPreTokenizer,
// CharDelimiterSplit, FixedLength.
#include "text/steps.h"
#include "text/unicode.h"

void cel_pieces_deinit(cel_pieces *p) {
  cel_buf_deinit(&p->text);
  cel_buf_deinit(&p->spare);
  cel_spans_deinit(&p->spans);
  cel_spans_deinit(&p->spare_spans);
}

// The pieces that come out of one piece: what the behaviour makes of a row of matches and gaps.
typedef struct cutter {
  cel_spans *out;
  cel_split_kind behavior;
  bool invert;
  size_t at, end;   // the piece that is being put together, [at, end)
  bool any, last;   // there is one; what came last was a match
} cutter;

static void flush(cutter *c) {
  if (c->any) cel_spans_add(c->out, c->at, c->end - c->at);
  c->any = false;
}

// The next part of the text; parts follow each other without a gap.
static void part(cutter *c, size_t at, size_t end, bool match) {
  match ^= c->invert;
  bool join = false;
  switch (c->behavior) {
    case CEL_SPLIT_REMOVED:
      if (match) {
        flush(c);
        return;
      }
      break;
    case CEL_SPLIT_ISOLATED: break;
    case CEL_SPLIT_CONTIGUOUS: join = c->any && match == c->last; break;
    case CEL_SPLIT_MERGED_PREVIOUS: join = c->any && match && !c->last; break;
    case CEL_SPLIT_MERGED_NEXT: join = c->any && c->last && !match; break;
  }
  if (!join) {
    flush(c);
    c->at = at;
    c->any = true;
  }
  c->end = end;
  c->last = match;
}

static cel_status cut_by_pattern(const cel_pre *s, cutter *c, const cel_pieces *p, cel_span piece, cel_err *err) {
  cel_find f = {.pattern = &s->find, .run = p->regex, .text = {p->text.p + piece.at, piece.n}};
  size_t done = 0;
  for (bool found;;) {
    CEL_TRY(cel_find_next(&f, &found, err));
    if (!found) break;
    if (f.start > done) part(c, piece.at + done, piece.at + f.start, false);
    part(c, piece.at + f.start, piece.at + f.end, true);
    done = f.end;
  }
  if (done < piece.n) part(c, piece.at + done, piece.at + piece.n, false);
  return CEL_OK;
}

static void cut_by_char(const cel_pre *s, cutter *c, const cel_pieces *p, cel_span piece) {
  const char *text = p->text.p + piece.at;
  size_t gap = 0;
  for (size_t i = 0; i < piece.n;) {
    size_t start = i;
    if (!s->is(cel_char_next(text, &i))) continue;
    if (start > gap) part(c, piece.at + gap, piece.at + start, false);
    part(c, piece.at + start, piece.at + i, true);
    gap = i;
  }
  if (gap < piece.n) part(c, piece.at + gap, piece.at + piece.n, false);
}

static cel_status swap_spans(cel_pieces *p, cel_err *err) {
  cel_spans t = p->spans;
  p->spans = p->spare_spans;
  p->spare_spans = t;
  return p->spans.failed ? cel_fail_oom(err, "the pieces of a text") : CEL_OK;
}

static cel_status run_split(const cel_pre *s, cel_pieces *p, cel_err *err) {
  p->spare_spans.n = 0;
  for (size_t i = 0; i < p->spans.n; i++) {
    cutter c = {.out = &p->spare_spans, .behavior = s->behavior, .invert = s->invert};
    if (s->is) {
      cut_by_char(s, &c, p, p->spans.p[i]);
    } else {
      CEL_TRY(cut_by_pattern(s, &c, p, p->spans.p[i], err));
    }
    flush(&c);
  }
  return swap_spans(p, err);
}

// Puts the rewritten text of all pieces in place of the old one.
static cel_status swap_text(cel_pieces *p, cel_err *err) {
  cel_buf t = p->text;
  p->text = p->spare;
  p->spare = t;
  if (p->text.failed) return cel_fail_oom(err, "the pieces of a text");
  if (p->text.n > CEL_TEXT_MOST) {
    return cel_fail(err, CEL_TOO_LONG, "a text grows to %zu bytes in the tokenizer, at most %d are supported",
                    p->text.n, CEL_TEXT_MOST);
  }
  return swap_spans(p, err);
}

static cel_status run_byte_level(const cel_pre *s, cel_pieces *p, cel_err *err) {
  if (s->prefix) {
    cel_buf_clear(&p->spare);
    p->spare_spans.n = 0;
    for (size_t i = 0; i < p->spans.n; i++) {
      cel_span piece = p->spans.p[i];
      size_t at = p->spare.n;
      if (p->text.p[piece.at] != ' ') cel_buf_addc(&p->spare, ' ');
      cel_buf_add(&p->spare, p->text.p + piece.at, piece.n);
      cel_spans_add(&p->spare_spans, at, p->spare.n - at);
    }
    CEL_TRY(swap_text(p, err));
  }
  if (s->split) CEL_TRY(run_split(s, p, err));
  cel_buf_clear(&p->spare);
  p->spare_spans.n = 0;
  for (size_t i = 0; i < p->spans.n; i++) {
    size_t at = p->spare.n;
    cel_byte_chars_encode(s->bytes, (cel_str){p->text.p + p->spans.p[i].at, p->spans.p[i].n}, &p->spare);
    cel_spans_add(&p->spare_spans, at, p->spare.n - at);
  }
  return swap_text(p, err);
}

static cel_status run_metaspace(const cel_pre *s, cel_pieces *p, cel_err *err) {
  cel_buf_clear(&p->spare);
  p->spare_spans.n = 0;
  for (size_t i = 0; i < p->spans.n; i++) {
    cel_str piece = {p->text.p + p->spans.p[i].at, p->spans.p[i].n};
    size_t at = p->spare.n;
    bool has = piece.p[0] == ' ' || cel_str_starts(piece, s->with);
    if (s->prefix && !has && (!s->first_only || (p->at_start && i == 0))) cel_buf_adds(&p->spare, s->with);
    for (size_t k = 0; k < piece.n; k++) {
      if (piece.p[k] == ' ') {
        cel_buf_adds(&p->spare, s->with);
      } else {
        cel_buf_addc(&p->spare, piece.p[k]);
      }
    }
    cel_spans_add(&p->spare_spans, at, p->spare.n - at);
  }
  CEL_TRY(swap_text(p, err));
  return s->split ? run_split(s, p, err) : CEL_OK;
}

// \w+|[^\w\s]+ : runs of word characters and runs of what is neither that nor white space.
static cel_status run_whitespace(const cel_pre *s, cel_pieces *p, cel_err *err) {
  (void)s;
  p->spare_spans.n = 0;
  for (size_t i = 0; i < p->spans.n; i++) {
    cel_span piece = p->spans.p[i];
    const char *text = p->text.p + piece.at;
    int before = 0;  // 0 white space, 1 word, 2 other
    size_t start = 0;
    for (size_t k = 0; k < piece.n;) {
      size_t at = k;
      uint32_t cp = cel_char_next(text, &k);
      int kind = cel_char_is_word(cp) ? 1 : cel_char_is_space(cp) ? 0 : 2;
      if (kind == before) continue;
      if (before) cel_spans_add(&p->spare_spans, piece.at + start, at - start);
      before = kind;
      start = at;
    }
    if (before) cel_spans_add(&p->spare_spans, piece.at + start, piece.n - start);
  }
  return swap_spans(p, err);
}

static cel_status add(cel_text_build *b, cel_pres *pres, const cel_pre *step, cel_err *err) {
  if (pres->n == CEL_STEPS_MOST) return cel_steps_full(b, "pre_tokenizer", err);
  pres->step[pres->n++] = *step;
  return CEL_OK;
}

static cel_status byte_level(cel_text_build *b, cel_pre *s, bool split, cel_err *err) {
  cel_byte_chars *t = CEL_NEW(b->arena, cel_byte_chars);
  if (!t) return cel_fail_oom(err, b->name);
  cel_byte_chars_init(t);
  *s = (cel_pre){.run = run_byte_level, .bytes = t, .split = split, .behavior = CEL_SPLIT_ISOLATED};
  return cel_pattern_regex(b, cel_str_of(cel_pattern_gpt2), b->name, &s->find, err);
}

static cel_status read_byte_level(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_pre s;
  CEL_TRY(byte_level(b, &s, cel_json_bool(json, "use_regex", true), err));
  s.prefix = cel_json_bool(json, "add_prefix_space", true);
  return add(b, steps, &s, err);
}

static cel_status read_behavior(cel_text_build *b, const cel_json *json, const char *what, cel_split_kind otherwise,
                                cel_split_kind *out, cel_err *err) {
  static const char *const names[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  const char *name = cel_json_string(json, "behavior", NULL);
  *out = otherwise;
  if (!name) return CEL_OK;
  for (int i = 0; i < CEL_COUNT(names); i++) {
    if (strcmp(name, names[i]) == 0) return *out = (cel_split_kind)i, CEL_OK;
  }
  return cel_fail(
      err, CEL_UNSUPPORTED,
      "%s: %s behavior \"%.60s\" is not one of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous",
      b->name, what, name);
}

static cel_status read_split(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_pre s = {.run = run_split, .invert = cel_json_bool(json, "invert", false)};
  const char *where = cel_arena_printf(b->arena, "%s: pre_tokenizer Split.pattern", b->name);
  if (!where) return cel_fail_oom(err, b->name);
  CEL_TRY(cel_pattern_read(b, cel_json_get(json, "pattern"), where, &s.find, err));
  CEL_TRY(read_behavior(b, json, "pre_tokenizer Split", CEL_SPLIT_ISOLATED, &s.behavior, err));
  return add(b, steps, &s, err);
}

static cel_status read_digits(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  bool each = cel_json_bool(json, "individual_digits", false);
  return add(b, steps, &(cel_pre){.run = run_split, .is = cel_char_is_number,
                                  .behavior = each ? CEL_SPLIT_ISOLATED : CEL_SPLIT_CONTIGUOUS}, err);
}

static cel_status read_punctuation(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_pre s = {.run = run_split, .is = cel_char_is_punctuation};
  CEL_TRY(read_behavior(b, json, "pre_tokenizer Punctuation", CEL_SPLIT_ISOLATED, &s.behavior, err));
  return add(b, steps, &s, err);
}

static cel_status read_whitespace(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return add(b, steps, &(cel_pre){.run = run_whitespace}, err);
}

static cel_status read_whitespace_split(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return cel_pre_spaces(b, steps, err);
}

static const cel_pre at_spaces = {.run = run_split, .is = cel_char_is_space, .behavior = CEL_SPLIT_REMOVED};

static cel_status read_bert(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return cel_pre_bert(b, steps, err);
}

static cel_status read_delimiter(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_pre s = {.run = run_split, .behavior = CEL_SPLIT_REMOVED};
  cel_str delimiter;
  size_t end = 0;
  CEL_TRY(cel_step_string(b, json, "delimiter", "pre_tokenizer CharDelimiterSplit", &delimiter, err));
  if (delimiter.n) cel_utf8_next(delimiter.p, delimiter.n, &end);
  if (end == 0 || end != delimiter.n) {
    return cel_fail(err, CEL_MALFORMED, "%s: pre_tokenizer CharDelimiterSplit.delimiter must be one character", b->name);
  }
  CEL_TRY(cel_pattern_literal(b, delimiter, b->name, &s.find, err));
  return add(b, steps, &s, err);
}

static cel_status run_fixed_length(const cel_pre *s, cel_pieces *p, cel_err *err) {
  p->spare_spans.n = 0;
  for (size_t i = 0; i < p->spans.n; i++) {
    cel_span piece = p->spans.p[i];
    for (size_t at = 0, end = 0; at < piece.n; at = end) {
      for (int64_t k = 0; k < s->length && end < piece.n; k++) cel_char_next(p->text.p + piece.at, &end);
      cel_spans_add(&p->spare_spans, piece.at + at, end - at);
    }
  }
  return swap_spans(p, err);
}

static cel_status read_fixed_length(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_pre s = {.run = run_fixed_length, .length = cel_json_int(json, "length", 5)};
  if (s.length < 1) {
    return cel_fail(err, CEL_MALFORMED, "%s: pre_tokenizer FixedLength.length is %lld; 1 and more are right", b->name,
                    (long long)s.length);
  }
  return add(b, steps, &s, err);
}

static cel_status read_metaspace(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_pre s = {.run = run_metaspace, .behavior = CEL_SPLIT_MERGED_NEXT, .split = cel_json_bool(json, "split", true)};
  CEL_TRY(cel_step_string(b, json, "replacement", "pre_tokenizer Metaspace", &s.with, err));
  if (!s.with.n) return cel_fail(err, CEL_MALFORMED, "%s: pre_tokenizer Metaspace.replacement is empty", b->name);
  const char *scheme = cel_json_string(json, "prepend_scheme", "always");
  s.prefix = strcmp(scheme, "never") != 0;
  s.first_only = strcmp(scheme, "first") == 0;
  if (!cel_json_get(json, "prepend_scheme") && !cel_json_bool(json, "add_prefix_space", true)) s.prefix = false;
  CEL_TRY(cel_pattern_literal(b, s.with, b->name, &s.find, err));
  return add(b, steps, &s, err);
}

static const cel_step_row rows[] = {
    {"ByteLevel", read_byte_level},     {"Split", read_split},
    {"Digits", read_digits},            {"Metaspace", read_metaspace},
    {"Whitespace", read_whitespace},    {"WhitespaceSplit", read_whitespace_split},
    {"Punctuation", read_punctuation},  {"BertPreTokenizer", read_bert},
    {"CharDelimiterSplit", read_delimiter}, {"FixedLength", read_fixed_length},
};

cel_status cel_pres_read(cel_text_build *b, const cel_json *json, cel_pres *out, cel_err *err) {
  return cel_steps_read(b, json, "pre_tokenizer", "pretokenizers", rows, CEL_COUNT(rows), out, err);
}

cel_status cel_pre_split(cel_text_build *b, cel_pres *pres, cel_str regex, cel_err *err) {
  cel_pre s = {.run = run_split, .behavior = CEL_SPLIT_ISOLATED};
  CEL_TRY(cel_pattern_regex(b, regex, b->name, &s.find, err));
  return add(b, pres, &s, err);
}

cel_status cel_pre_spaces(cel_text_build *b, cel_pres *pres, cel_err *err) { return add(b, pres, &at_spaces, err); }

cel_status cel_pre_bert(cel_text_build *b, cel_pres *pres, cel_err *err) {
  CEL_TRY(add(b, pres, &at_spaces, err));
  return add(b, pres, &(cel_pre){.run = run_split, .is = cel_char_is_punctuation, .behavior = CEL_SPLIT_ISOLATED},
             err);
}

cel_status cel_pre_byte_level(cel_text_build *b, cel_pres *pres, cel_err *err) {
  cel_pre s;
  CEL_TRY(byte_level(b, &s, false, err));
  return add(b, pres, &s, err);
}

cel_status cel_pres_run(const cel_pres *pres, cel_pieces *p, cel_err *err) {
  p->spans.n = 0;
  cel_spans_add(&p->spans, 0, p->text.n);
  if (p->spans.failed) return cel_fail_oom(err, "the pieces of a text");
  for (int i = 0; i < pres->n; i++) CEL_TRY(pres->step[i].run(&pres->step[i], p, err));
  return p->spans.failed ? cel_fail_oom(err, "the pieces of a text") : CEL_OK;
}
