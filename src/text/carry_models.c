// Unigram and WordPiece tokenizers between tokenizer.json and GGUF ("t5", "bert").
#include <math.h>
#include <stdlib.h>

#include "base/macros.h"
#include "text/carry_private.h"

#define AT_ENDS "\\A +| +\\z"  // spaces that GGUF's reader takes away

// ---- steps of a tokenizer.json ------------------------------------------------------------------------

typedef void step_reader(cel_carrier *c, const cel_json *step, const char **odd);

// One step, or those of a Sequence, one level deep.
static void each_step(cel_carrier *c, const cel_json *step, const char *list_key, step_reader *read, const char **odd) {
  if (!step) return;
  if (!cel_carry_is(step, "Sequence")) {
    read(c, step, odd);
    return;
  }
  const cel_json *list = cel_json_get(step, list_key);
  for (size_t i = 0; i < cel_json_array_size(list); i++) {
    const cel_json *one = cel_json_array_get(list, i);
    if (cel_carry_is(one, "Sequence")) *odd = "steps of steps in its normalizer or pre_tokenizer";
    else read(c, one, odd);
  }
}

static int digit_of(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// The reader of the tokenizer has refused what is no base64.
static bool read_charsmap(cel_carrier *c, cel_str text) {
  char *out = cel_arena_alloc(c->arena, text.n / 4 * 3 + 3);
  size_t n = 0;
  uint32_t bits = 0;
  int held = 0;
  for (size_t i = 0; out && i < text.n; i++) {
    int d = digit_of(text.p[i]);
    if (d < 0) continue;
    bits = bits << 6 | (uint32_t)d;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[n++] = (char)(bits >> held & 0xFF);
  }
  c->out->charsmap = (cel_str){out, n};
  return out != NULL;
}

// ---- Unigram to GGUF ----------------------------------------------------------------------------------

static void read_unigram_norm(cel_carrier *c, const cel_json *step, const char **odd) {
  const cel_json *pattern = cel_json_get(step, "pattern");
  const char *regex = cel_json_string(pattern, "Regex", ""), *literal = cel_json_string(pattern, "String", "");
  const char *content = cel_json_string(step, "content", "");
  if (cel_carry_is(step, "Precompiled")) {
    if (c->out->charsmap.n || c->out->merge_spaces == 1) *odd = "a precompiled normalizer behind others";
    else c->oom |= !read_charsmap(c, cel_carry_str(cel_json_get(step, "precompiled_charsmap")));
  } else if (cel_carry_is(step, "Strip") || (cel_carry_is(step, "Replace") && (!strcmp(regex, " {2,}") || !strcmp(regex, AT_ENDS)))) {
    c->out->merge_spaces = 1;
  } else if (cel_carry_is(step, "Prepend") && !strcmp(cel_json_string(step, "prepend", ""), CEL_SPACE_MARK)) {
    c->out->add_space_prefix = 1;
  } else if (!cel_carry_is(step, "Replace") || strcmp(literal, " ") != 0 || strcmp(content, CEL_SPACE_MARK) != 0) {
    *odd = "a normalizer other than Precompiled, spaces made one, and U+2581 for them";
  } else {
    c->spm = true;
  }
}

static void read_unigram_pre(cel_carrier *c, const cel_json *step, const char **odd) {
  if (cel_carry_is(step, "WhitespaceSplit")) {
    c->out->merge_spaces = 1;
  } else if (cel_carry_is(step, "Metaspace")) {
    bool prefix = strcmp(cel_json_string(step, "prepend_scheme", "always"), "never") != 0 && cel_json_bool(step, "add_prefix_space", true);
    if (prefix) c->out->add_space_prefix = 1;
    c->spm = true;
  } else {
    *odd = "a pre_tokenizer of another type than WhitespaceSplit and Metaspace";
  }
}

cel_status cel_carry_unigram_kind(cel_carrier *c) {
  const char *odd = NULL;
  c->out->model = CEL_STR("t5");
  c->out->pre = CEL_STR("default");
  c->out->merge_spaces = c->out->add_space_prefix = 0;
  each_step(c, cel_json_get(c->from->json, "normalizer"), "normalizers", read_unigram_norm, &odd);
  each_step(c, cel_json_get(c->from->json, "pre_tokenizer"), "pretokenizers", read_unigram_pre, &odd);
  if (!odd && !c->spm) odd = "a Unigram model without U+2581 for spaces";
  if (!odd && c->out->merge_spaces && !c->out->add_space_prefix) odd = "a Unigram model whose spaces are made one without one ahead of a text";
  c->spm = false;
  if (c->oom) return cel_fail_oom(c->err, "a normalizer");
  return odd ? cel_carry_refuse(c, odd) : CEL_OK;
}

static bool is_byte_token(cel_str s) { return s.n == 6 && !memcmp(s.p, "<0x", 3) && s.p[5] == '>'; }

cel_status cel_carry_unigram_tokens(cel_carrier *c) {
  const float unused = -10000;
  float *scores = CEL_NEW_ARRAY(c->arena, float, c->out->n_tokens + 1);
  bool bytes = cel_json_bool(c->model, "byte_fallback", false);
  int64_t n = (int64_t)cel_json_array_size(c->vocab), unk = cel_json_int(c->model, "unk_id", -1);
  if (!scores) return cel_fail_oom(c->err, "a vocabulary");
  if (n > c->out->n_tokens) {
    return cel_fail(c->err, CEL_INVALID, "%s: model.vocab has %lld tokens; the model's embedding has %lld rows", c->from->name, (long long)n,
                    (long long)c->out->n_tokens);
  }
  for (int64_t i = 0; i < n; i++) {
    const cel_json *row = cel_json_array_get(c->vocab, (size_t)i);
    cel_str text = cel_carry_str(cel_json_array_get(row, 0));
    if (!text.p) return cel_fail(c->err, CEL_MALFORMED, "%s: model.vocab[%lld] must be [token, score]", c->from->name, (long long)i);
    c->tokens[i] = text;
    c->types[i] = i == unk ? CEL_GGUF_TOKEN_UNKNOWN : bytes && is_byte_token(text) ? CEL_GGUF_TOKEN_BYTE : CEL_GGUF_TOKEN_NORMAL;
    scores[i] = (float)cel_json_number_value(cel_json_array_get(row, 1));
  }
  for (int64_t i = n; i < c->out->n_tokens; i++) scores[i] = unused;
  c->out->scores = scores;
  c->out->unk = unk >= 0 && unk < n ? (int32_t)unk : -1;
  return CEL_OK;
}

// ---- WordPiece to GGUF --------------------------------------------------------------------------------

cel_status cel_carry_wordpiece_kind(cel_carrier *c) {
  const cel_json *norm = cel_json_get(c->from->json, "normalizer"), *pre = cel_json_get(c->from->json, "pre_tokenizer");
  enum { LONGEST_WORD = 100 };
  if (!cel_carry_is(norm, "BertNormalizer") || !cel_json_bool(norm, "clean_text", true) || !cel_json_bool(norm, "handle_chinese_chars", true)) {
    return cel_carry_refuse(c, "a WordPiece model without BERT's normalizer");
  }
  if (!cel_carry_is(pre, "BertPreTokenizer")) return cel_carry_refuse(c, "a WordPiece model without BERT's pre_tokenizer");
  if (strcmp(cel_json_string(c->model, "continuing_subword_prefix", "##"), "##") != 0 ||
      cel_json_int(c->model, "max_input_chars_per_word", LONGEST_WORD) != LONGEST_WORD) {
    return cel_carry_refuse(c, "a WordPiece model with another prefix than ## or words of more than 100 characters");
  }
  c->out->model = CEL_STR("bert");
  c->out->pre = CEL_STR("default");
  c->out->lowercase = cel_json_bool(norm, "lowercase", true);
  c->out->strip_accents = cel_json_bool(norm, "strip_accents", c->out->lowercase);
  return CEL_OK;
}

// What begins a word has U+2581 before it, what goes on has nothing; names in brackets stay.
static cel_status carry_word(cel_carrier *c, cel_str t, cel_str *out) {
  if (t.n > 1 && t.p[0] == '[' && t.p[t.n - 1] == ']') return *out = t, CEL_OK;
  if (t.n > 2 && t.p[0] == '#' && t.p[1] == '#') return *out = (cel_str){t.p + 2, t.n - 2}, CEL_OK;
  char *text = cel_arena_printf(c->arena, CEL_SPACE_MARK "%.*s", (int)CEL_MIN(t.n, (size_t)1 << 20), t.p);
  if (!text) return cel_fail_oom(c->err, "a vocabulary");
  *out = cel_str_of(text);
  return CEL_OK;
}

cel_status cel_carry_wordpiece_tokens(cel_carrier *c) {
  const char *unk = cel_json_string(c->model, "unk_token", "[UNK]");
  size_t at;
  cel_str text;
  cel_json *id;
  cel_json_object_foreach(c->vocab, at, text, id) {
    int64_t i = cel_json_is_integer(id) ? cel_json_integer_value(id) : -1;
    if (i < 0 || i >= c->out->n_tokens) {
      return cel_fail(c->err, CEL_INVALID, "%s: token \"%.*s\" has the id %lld; the model's embedding has %lld rows", c->from->name,
                      CEL_STR_ARG(text), (long long)i, (long long)c->out->n_tokens);
    }
    CEL_TRY(carry_word(c, text, &c->tokens[i]));
    c->types[i] = cel_str_is(text, unk) ? CEL_GGUF_TOKEN_UNKNOWN : CEL_GGUF_TOKEN_NORMAL;
    if (cel_str_is(text, unk)) c->tokens[i] = text, c->out->unk = (int32_t)i;
  }
  return CEL_OK;
}

// ---- from GGUF ----------------------------------------------------------------------------------------

static void put(cel_json_maker *m, const char *text) { cel_buf_addz(m->out, text); }

static void put_base64(cel_json_maker *m, cel_str s) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < s.n; i += 3) {
    uint32_t bits = 0;
    char four[4];
    for (size_t k = 0; k < 3; k++) bits = bits << 8 | (i + k < s.n ? (unsigned char)s.p[i + k] : 0);
    for (int k = 0; k < 4; k++) four[k] = i + (size_t)k <= s.n ? digits[bits >> (18 - 6 * k) & 63] : '=';
    if (i + 1 == s.n) four[2] = '=';
    if (i + 2 >= s.n) four[3] = '=';
    cel_buf_add(m->out, four, 4);
  }
}

static void put_unigram_steps(cel_json_maker *m, bool merge, bool prefix) {
  put(m, ",\n\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
  if (m->v->charsmap.n) {
    put(m, "{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"");
    put_base64(m, m->v->charsmap);
    put(m, "\"},");
  }
  if (merge) {
    put(m, "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"\\\\A +| +\\\\z\"},\"content\":\"\"},"
           "{\"type\":\"Replace\",\"pattern\":{\"Regex\":\" {2,}\"},\"content\":\" \"},");
  }
  if (prefix) put(m, "{\"type\":\"Prepend\",\"prepend\":\"" CEL_SPACE_MARK "\"},");
  put(m, "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" CEL_SPACE_MARK "\"}]},\n\"pre_tokenizer\":null");
}

static void put_plain_decoder(cel_json_maker *m, bool strip) {
  put(m, ",\n\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":\"" CEL_SPACE_MARK
         "\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}");
  if (strip) put(m, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}");
  put(m, "]}");
}

// The least score that a text could choose: what control tokens and bytes are given, which no text chooses.
static double least_score(const cel_json_maker *m) {
  double least = 0;
  for (int64_t i = 0; i < m->v->n_tokens; i++) {
    if (isfinite(m->v->scores[i])) least = fmin(least, (double)m->v->scores[i]);
  }
  return least;
}

static void put_unigram_vocab(cel_json_maker *m, bool *bytes) {
  double least = least_score(m);
  for (int64_t i = 0; i < m->v->n_tokens; i++) {
    double score = (double)m->v->scores[i];
    *bytes = *bytes || cel_carry_type(m, i) == CEL_GGUF_TOKEN_BYTE;
    put(m, i ? ",\n[" : "\n[");
    cel_json_add_string(m->out, m->v->tokens[i]);
    put(m, ",");
    cel_json_add_number(m->out, isfinite(score) ? score : least);
    put(m, "]");
  }
}

cel_status cel_carry_put_unigram(cel_json_maker *m) {
  enum { UNKNOWN = 2, END = 1 };
  const cel_gguf_vocab *v = m->v;
  bool merge = v->merge_spaces == 1, prefix = v->add_space_prefix == 1 || merge, bytes = false;
  int32_t unk = v->unk >= 0 ? v->unk : UNKNOWN < v->n_tokens ? UNKNOWN : -1, end = v->eos >= 0 ? v->eos : END < v->n_tokens ? END : -1;
  if (!v->scores) return cel_fail(m->err, CEL_MALFORMED, "%s: tokenizer.ggml.scores is missing", m->name);
  put_unigram_steps(m, merge, prefix);
  cel_carry_put_post_processor(m, v->add_bos == 1 ? v->bos : -1, v->add_eos != 0 ? end : -1);
  put_plain_decoder(m, prefix);
  put(m, ",\n\"model\":{\"type\":\"Unigram\",\"vocab\":[");
  put_unigram_vocab(m, &bytes);
  put(m, "],\"unk_id\":");
  if (unk >= 0) cel_buf_printf(m->out, "%d", (int)unk);
  else put(m, "null");
  cel_buf_printf(m->out, ",\"byte_fallback\":%s}}\n", bytes ? "true" : "false");
  return CEL_OK;
}

// The text of a WordPiece token as BERT's files write it; into m->text.
static void word_of(cel_json_maker *m, int64_t id) {
  cel_str t = m->v->tokens[id], mark = CEL_STR(CEL_SPACE_MARK);
  int type = cel_carry_type(m, id);
  bool named = (t.n > 1 && t.p[0] == '[' && t.p[t.n - 1] == ']') || (type != CEL_GGUF_TOKEN_NORMAL && type != CEL_GGUF_TOKEN_UNUSED);
  cel_buf_clear(&m->text);
  if (cel_str_starts(t, mark)) {
    cel_buf_add(&m->text, t.p + mark.n, t.n - mark.n);
    return;
  }
  if (!named) cel_buf_addz(&m->text, "##");
  cel_buf_adds(&m->text, t);
}

static cel_status put_words(cel_json_maker *m, int32_t unk) {
  cel_json *seen = cel_json_object();
  cel_status s = seen ? CEL_OK : cel_fail_oom(m->err, "a tokenizer.json");
  bool any = false;
  for (int64_t i = 0; s == CEL_OK && i < m->v->n_tokens; i++) {
    if (i == unk) {
      cel_buf_clear(&m->text);
      cel_buf_adds(&m->text, m->v->tokens[i]);
    } else {
      word_of(m, i);
    }
    if (cel_json_object_getn(seen, m->text.p, m->text.n)) continue;
    if (cel_json_object_setn_new(seen, m->text.p, m->text.n, cel_json_null()) != 0) s = cel_fail_oom(m->err, "a tokenizer.json");
    put(m, any ? ",\n" : "\n");
    cel_json_add_string(m->out, cel_buf_str(&m->text));
    cel_buf_printf(m->out, ":%lld", (long long)i);
    any = true;
  }
  cel_json_decref(seen);
  return s;
}

static int32_t or_usual(const cel_json_maker *m, int32_t id, int32_t usual) { return id >= 0 ? id : usual < m->v->n_tokens ? usual : -1; }

cel_status cel_carry_put_wordpiece(cel_json_maker *m) {
  enum { CLS = 101, SEP = 102, UNKNOWN = 100 };  // as in bert-base-uncased, whose files do not say so
  const cel_gguf_vocab *v = m->v;
  bool lowercase = v->lowercase != 0, strip = v->strip_accents >= 0 ? v->strip_accents == 1 : lowercase;
  int32_t unk = or_usual(m, v->unk, UNKNOWN);
  cel_buf_printf(m->out, ",\n\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"strip_accents\":%s,"
                 "\"lowercase\":%s},\n\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}", strip ? "true" : "false", lowercase ? "true" : "false");
  cel_carry_put_post_processor(m, or_usual(m, v->cls >= 0 ? v->cls : v->bos, CLS), or_usual(m, v->sep, SEP));
  put(m, ",\n\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},\n\"model\":{\"type\":\"WordPiece\",\"unk_token\":");
  if (unk >= 0) cel_json_add_string(m->out, v->tokens[unk]);
  else put(m, "\"[UNK]\"");
  put(m, ",\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":100,\"vocab\":{");
  CEL_TRY(put_words(m, unk));
  put(m, "}}}\n");
  return CEL_OK;
}
