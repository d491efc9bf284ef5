// A tokenizer.json as GGUF's vocabulary.
#include <stdio.h>
#include <stdlib.h>

#include "base/macros.h"
#include "text/carry_private.h"
#include "text/gguf_pre.h"
#include "text/scan.h"
#include "text/tokenizer.h"

enum { NORMAL = CEL_GGUF_TOKEN_NORMAL, UNKNOWN = CEL_GGUF_TOKEN_UNKNOWN, CONTROL = CEL_GGUF_TOKEN_CONTROL,
       USER_DEFINED = CEL_GGUF_TOKEN_USER_DEFINED, UNUSED = CEL_GGUF_TOKEN_UNUSED, BYTE = CEL_GGUF_TOKEN_BYTE };

#define LOW_LINE_BLOCK CEL_SPACE_MARK

typedef cel_carrier carrier;

static cel_status refuse(const carrier *c, const char *what) { return cel_carry_refuse(c, what); }

static cel_status oom(const carrier *c) { return cel_fail_oom(c->err, "a vocabulary"); }

static void note(const carrier *c, const char *text) {
  if (c->note) c->note(c->context, text);
}

static cel_str str_of(const cel_json *v) { return cel_carry_str(v); }
static bool is_type(const cel_json *step, const char *type) { return cel_carry_is(step, type); }

// ---- which kind -------------------------------------------------------------------------------------------

typedef struct cutting {
  cel_str regexes[CEL_GGUF_PRE_REGEXES];
  int n;
  bool byte_level, metaspace, prefix;
  const char *odd;  // a step without a place in GGUF
} cutting;

static void add_regex(cutting *k, cel_str regex) {
  if (k->n == CEL_GGUF_PRE_REGEXES) k->odd = "a pre_tokenizer of many steps";
  else k->regexes[k->n++] = regex;
}

static void read_split(const cel_json *step, cutting *k) {
  const cel_json *pattern = cel_json_get(step, "pattern"), *regex = cel_json_get(pattern, "Regex");
  const char *behavior = cel_json_string(step, "behavior", "");
  bool invert = cel_json_bool(step, "invert", false);
  bool keeps = (!strcmp(behavior, "Isolated") && !invert) || (!strcmp(behavior, "Removed") && invert);
  const char *literal = cel_json_string(pattern, "String", "");
  if (cel_json_is_string(regex) && keeps) add_regex(k, str_of(regex));
  else if (strcmp(literal, " ") != 0) k->odd = "a pre_tokenizer Split of another manner than isolated expressions";
}

static void read_pre(const cel_json *step, cutting *k) {
  if (!step) return;
  if (is_type(step, "Sequence")) {
    const cel_json *list = cel_json_get(step, "pretokenizers");
    for (size_t i = 0; i < cel_json_array_size(list); i++) {
      const cel_json *one = cel_json_array_get(list, i);
      if (is_type(one, "Sequence")) k->odd = "pre_tokenizers in one another";
      else read_pre(one, k);
    }
  } else if (is_type(step, "Split")) {
    read_split(step, k);
  } else if (is_type(step, "Digits")) {
    add_regex(k, cel_json_bool(step, "individual_digits", false) ? CEL_STR("\\p{N}") : CEL_STR("\\p{N}+"));
  } else if (is_type(step, "ByteLevel")) {
    k->byte_level = true;
    if (cel_json_bool(step, "add_prefix_space", true)) k->odd = "a pre_tokenizer ByteLevel that puts a space ahead";
    if (cel_json_bool(step, "use_regex", true)) add_regex(k, cel_str_of(cel_pattern_gpt2));
  } else if (is_type(step, "Metaspace")) {
    k->metaspace = true;
    k->prefix |= strcmp(cel_json_string(step, "prepend_scheme", "always"), "never") != 0;
  } else {
    k->odd = "a pre_tokenizer of another type than Split, Digits, ByteLevel and Metaspace";
  }
}

// Spaces become U+2581, with one put ahead or without.
static void read_norm(const cel_json *step, cutting *k, bool *blocks, bool *nfc) {
  if (!step) return;
  if (is_type(step, "Sequence")) {
    const cel_json *list = cel_json_get(step, "normalizers");
    for (size_t i = 0; i < cel_json_array_size(list); i++) {
      const cel_json *one = cel_json_array_get(list, i);
      if (is_type(one, "Sequence")) k->odd = "normalizers in one another";
      else read_norm(one, k, blocks, nfc);
    }
  } else if (is_type(step, "Prepend") && !strcmp(cel_json_string(step, "prepend", ""), LOW_LINE_BLOCK)) {
    k->prefix = true;
  } else if (is_type(step, "Replace") && !strcmp(cel_json_string(step, "content", ""), LOW_LINE_BLOCK) &&
             !strcmp(cel_json_string(cel_json_get(step, "pattern"), "String", ""), " ")) {
    *blocks = true;
  } else if (is_type(step, "NFC")) {
    *nfc = true;
  } else {
    k->odd = "a normalizer other than NFC and U+2581 for spaces";
  }
}

static bool is_unigram(const carrier *c) { return cel_str_is(c->out->model, "t5"); }
static bool is_wordpiece(const carrier *c) { return cel_str_is(c->out->model, "bert"); }

static cel_status find_kind(carrier *c) {
  cutting k = {0};
  const char *type = cel_json_string(c->model, "type", "");
  if (!strcmp(type, "Unigram")) return cel_carry_unigram_kind(c);
  if (!strcmp(type, "WordPiece")) return cel_carry_wordpiece_kind(c);
  bool blocks = false, nfc = false, fallback = cel_json_bool(c->model, "byte_fallback", false);
  read_norm(cel_json_get(c->from->json, "normalizer"), &k, &blocks, &nfc);
  read_pre(cel_json_get(c->from->json, "pre_tokenizer"), &k);
  if (k.odd) return refuse(c, k.odd);
  if (nfc) note(c, "the tokenizer's NFC normalizer is left out, GGUF has none: texts that are not in that form may be cut otherwise");
  bool ignore = cel_json_bool(c->model, "ignore_merges", false);
  if (k.byte_level && !blocks) {
    c->out->model = CEL_STR("gpt2");
    if (cel_gguf_pre_match(k.regexes, k.n, ignore, false, &c->out->pre)) return CEL_OK;
    return refuse(c, "its pre_tokenizer is none that has a name in tokenizer.ggml.pre");
  }
  if ((!blocks && !k.metaspace) || !fallback) return refuse(c, "a BPE model that is neither byte-level nor SentencePiece's with byte_fallback");
  if (k.n) {
    c->out->model = CEL_STR("gemma4");
    if (!k.prefix && cel_gguf_pre_match(k.regexes, k.n, ignore, true, &c->out->pre)) return CEL_OK;
    return refuse(c, "its pre_tokenizer is none that has a name in tokenizer.ggml.pre");
  }
  c->spm = true;
  c->out->model = CEL_STR("llama");
  c->out->pre = CEL_STR("default");
  c->out->add_space_prefix = k.prefix;
  return CEL_OK;
}

// ---- tokens -----------------------------------------------------------------------------------------------

static cel_status put_token(carrier *c, const cel_json *id, cel_str text, int type) {
  int64_t i = cel_json_is_integer(id) ? (int64_t)cel_json_integer_value(id) : -1;
  if (i >= 0 && i < c->out->n_tokens) {
    c->tokens[i] = text;
    c->types[i] = type;
    return CEL_OK;
  }
  return cel_fail(c->err, CEL_INVALID, "%s: token \"%.*s\" has the id %lld; the model's embedding has %lld rows", c->from->name,
                  CEL_STR_ARG(text), (long long)i, (long long)c->out->n_tokens);
}

static bool is_byte_token(cel_str s) {
  return s.n == 6 && !memcmp(s.p, "<0x", 3) && s.p[5] == '>';
}

static cel_status put_vocab(carrier *c) {
  size_t at;
  cel_str text;
  cel_json *id;
  bool bytes = cel_json_bool(c->model, "byte_fallback", false);
  cel_json_object_foreach(c->vocab, at, text, id) {
    CEL_TRY(put_token(c, id, text, bytes && is_byte_token(text) ? BYTE : NORMAL));
  }
  return CEL_OK;
}

static cel_status put_added(carrier *c) {
  const cel_json *list = cel_json_get(c->from->json, "added_tokens");
  const char *unk = cel_json_string(c->model, "unk_token", is_unigram(c) && c->out->unk >= 0 ? c->tokens[c->out->unk].p : NULL);
  bool flags = false;
  for (size_t i = 0; i < cel_json_array_size(list); i++) {
    const cel_json *a = cel_json_array_get(list, i), *content = cel_json_get(a, "content"), *id = cel_json_get(a, "id");
    if (!cel_json_is_string(content) || cel_json_string_length(content) == 0) continue;
    bool special = cel_json_bool(a, "special", false), is_unk = (c->spm || is_unigram(c)) && unk && !strcmp(cel_json_string_value(content), unk);
    flags |= cel_json_bool(a, "lstrip", false) || cel_json_bool(a, "rstrip", false) || cel_json_bool(a, "single_word", false);
    const cel_json *known = cel_json_object_get(c->vocab, cel_json_string_value(content));
    CEL_TRY(put_token(c, known ? known : id, str_of(content), is_unk ? UNKNOWN : special ? CONTROL : USER_DEFINED));
  }
  if (flags) note(c, "some added tokens take spaces or words beside them into account (lstrip, rstrip, single_word): GGUF has no words for it");
  return CEL_OK;
}

static cel_status make_tokens(carrier *c) {
  int64_t n = c->from->n_tokens;
  c->tokens = CEL_NEW_ARRAY(c->arena, cel_str, n + 1);
  c->types = CEL_NEW_ARRAY(c->arena, int32_t, n + 1);
  if (!c->tokens || !c->types) return oom(c);
  c->out->tokens = c->tokens;
  c->out->types = c->types;
  c->out->n_tokens = n;
  if (is_unigram(c)) CEL_TRY(cel_carry_unigram_tokens(c));
  else CEL_TRY(is_wordpiece(c) ? cel_carry_wordpiece_tokens(c) : put_vocab(c));
  CEL_TRY(put_added(c));
  for (int64_t i = 0; i < n; i++) {
    if (c->tokens[i].p) continue;
    char *text = cel_arena_printf(c->arena, "[PAD%lld]", (long long)i);
    if (!text) return oom(c);
    c->tokens[i] = cel_str_of(text);
    c->types[i] = UNUSED;
  }
  return CEL_OK;
}

// ---- merges -------------------------------------------------------------------------------------------------

static bool merge_parts(const cel_json *row, cel_str *a, cel_str *b) {
  const cel_json *left = cel_json_array_get(row, 0), *right = cel_json_array_get(row, 1);
  if (cel_json_array_size(row) == 2 && cel_json_is_string(left) && cel_json_is_string(right)) {
    *a = str_of(left);
    *b = str_of(right);
    return true;
  }
  cel_str s = cel_json_is_string(row) ? str_of(row) : CEL_STR("");
  const char *space = s.n ? memchr(s.p, ' ', s.n) : NULL;
  if (!space) return false;
  *a = (cel_str){s.p, (size_t)(space - s.p)};
  *b = (cel_str){space + 1, s.n - a->n - 1};
  return true;
}

static cel_status bad_merge(const carrier *c, size_t i) {
  return cel_fail(c->err, CEL_MALFORMED, "%s: model.merges[%zu] must be \"left right\" or [\"left\", \"right\"]", c->from->name, i);
}

// "left right"; a space inside of a part could not be told from the one between.
static cel_status copy_merges(carrier *c, const cel_json *list, size_t n) {
  cel_str *out = CEL_NEW_ARRAY(c->arena, cel_str, n + 1);
  if (!out) return oom(c);
  for (size_t i = 0; i < n; i++) {
    cel_str a, b;
    if (!merge_parts(cel_json_array_get(list, i), &a, &b)) return bad_merge(c, i);
    if ((a.n && memchr(a.p, ' ', a.n)) || (b.n && memchr(b.p, ' ', b.n))) return refuse(c, "a merge of tokens with spaces in them");
    char *text = cel_arena_alloc(c->arena, a.n + b.n + 1);
    if (!text) return oom(c);
    memcpy(text, a.p, a.n);
    text[a.n] = ' ';
    memcpy(text + a.n + 1, b.p, b.n);
    out[i] = (cel_str){text, a.n + b.n + 1};
  }
  c->out->merges = out;
  c->out->n_merges = (int64_t)n;
  return CEL_OK;
}

// SentencePiece merges any two neighbours whose whole is a token, best score first. So the rank of a token's first merge
// is its score, and every way to cut a token in two must be among the merges.
typedef struct rank { int64_t first; int32_t ways; } rank;

static int64_t id_of(const carrier *c, const char *p, size_t n) {
  const cel_json *id = cel_json_object_getn(c->vocab, p, n);
  int64_t i = cel_json_is_integer(id) ? (int64_t)cel_json_integer_value(id) : -1;
  return i < c->out->n_tokens ? i : -1;
}

static cel_status read_ranks(carrier *c, const cel_json *list, size_t n, rank *ranks) {
  cel_buf whole = {0};
  cel_status s = CEL_OK;
  for (size_t i = 0; s == CEL_OK && i < n; i++) {
    cel_str a, b;
    cel_buf_clear(&whole);
    if (!merge_parts(cel_json_array_get(list, i), &a, &b)) s = bad_merge(c, i);
    if (s != CEL_OK) break;
    cel_buf_adds(&whole, a);
    cel_buf_adds(&whole, b);
    int64_t id = whole.failed ? -1 : id_of(c, whole.p, whole.n);
    if (whole.failed) s = oom(c);
    else if (id < 0) s = cel_fail(c->err, CEL_MALFORMED, "%s: model.merges[%zu] makes a token that model.vocab does not have", c->from->name, i);
    else if (ranks[id].ways++ == 0) ranks[id].first = (int64_t)i;
  }
  cel_buf_deinit(&whole);
  return s;
}

static int32_t ways_to_cut(const carrier *c, cel_str t) {
  int32_t n = 0;
  for (size_t cut = 1; cut < t.n; cut++) {
    if (((unsigned char)t.p[cut] & 0xC0) == 0x80) continue;
    int64_t a = id_of(c, t.p, cut), b = id_of(c, t.p + cut, t.n - cut);
    n += a >= 0 && b >= 0 && c->types[a] == NORMAL && c->types[b] == NORMAL;
  }
  return n;
}

static cel_status set_scores(carrier *c, const rank *ranks) {
  float *scores = CEL_NEW_ARRAY(c->arena, float, c->out->n_tokens + 1);
  if (!scores) return oom(c);
  for (int64_t i = 0; i < c->out->n_tokens; i++) {
    if (ranks[i].ways) scores[i] = -(float)ranks[i].first;
    if (c->types[i] != NORMAL || c->tokens[i].n > 512 || ranks[i].ways >= ways_to_cut(c, c->tokens[i])) continue;
    cel_status s = refuse(c, "its merges are not those of a SentencePiece vocabulary");
    return cel_err_prefix(c->err, "token \"%.*s\"", CEL_STR_ARG(c->tokens[i])), s;
  }
  c->out->scores = scores;
  return CEL_OK;
}

static cel_status make_scores(carrier *c, const cel_json *list, size_t n) {
  rank *ranks = calloc((size_t)c->out->n_tokens + 1, sizeof *ranks);
  if (!ranks) return oom(c);
  cel_status s = read_ranks(c, list, n, ranks);
  if (s == CEL_OK) s = set_scores(c, ranks);
  free(ranks);
  return s;
}

// ---- special tokens -----------------------------------------------------------------------------------------

static int32_t find_token(const carrier *c, const cel_json *v) {
  if (cel_json_is_object(v)) v = cel_json_get(v, "content");
  if (!cel_json_is_string(v)) return -1;
  cel_str text = str_of(v);
  for (int64_t i = 0; i < c->out->n_tokens; i++) {
    if (cel_str_eq(c->tokens[i], text)) return (int32_t)i;
  }
  return -1;
}

static void find_ids(carrier *c) {
  cel_gguf_vocab *v = c->out;
  const cel_json *config = c->from->config;
  v->bos = find_token(c, cel_json_get(config, "bos_token"));
  v->eos = find_token(c, cel_json_get(config, "eos_token"));
  v->pad = find_token(c, cel_json_get(config, "pad_token"));
  if (v->unk < 0) v->unk = find_token(c, cel_json_get(c->model, "unk_token"));
  if (v->unk < 0) v->unk = find_token(c, cel_json_get(config, "unk_token"));
  v->eot = v->eom = -1;
  for (int i = 0; i < c->from->n_ends; i++) {
    int32_t id = c->from->ends[i];
    if (id < 0 || id >= v->n_tokens || id == v->eos) continue;
    if (v->eos < 0) v->eos = id;
    else if (v->eot < 0) v->eot = id;
    else if (v->eom < 0) v->eom = id;
    else note(c, "more than three tokens end a text: GGUF has words for three");
  }
}

// What encoding puts around a text, as the tokenizer itself does it.
static cel_status find_frame(carrier *c, const int32_t *with, int64_t n_with, const int32_t *bare, int64_t n_bare) {
  int64_t ahead = 0;
  while (ahead + n_bare <= n_with && memcmp(with + ahead, bare, (size_t)n_bare * sizeof *bare) != 0) ahead++;
  int64_t behind = n_with - n_bare - ahead;
  if (behind < 0 || ahead > 1 || behind > 1) return refuse(c, "a post_processor that adds more than one token ahead or behind");
  if (is_wordpiece(c)) {
    if (!ahead || !behind) return refuse(c, "a WordPiece model that puts no tokens around a text");
    c->out->cls = with[0];
    c->out->sep = with[n_with - 1];
    return CEL_OK;
  }
  c->out->add_bos = ahead == 1;
  c->out->add_eos = behind == 1;
  if (ahead) c->out->bos = with[0];
  if (behind && c->out->eos < 0) c->out->eos = with[n_with - 1];
  if (behind && c->out->eos != with[n_with - 1]) return refuse(c, "a post_processor that ends texts with another token than eos_token");
  return CEL_OK;
}

static cel_status read_frame(carrier *c) {
  cel_tokenizer *t;
  int32_t *with = NULL, *bare = NULL;
  int64_t n_with = 0, n_bare = 0;
  CEL_TRY(cel_tokenizer_from_json(c->from->json, c->from->config, c->from->name, &t, c->err));
  cel_status s = cel_encode(t, CEL_STR("a"), (cel_encode_options){.add_special = true}, &with, &n_with, c->err);
  if (s == CEL_OK) s = cel_encode(t, CEL_STR("a"), (cel_encode_options){.add_special = false}, &bare, &n_bare, c->err);
  if (s == CEL_OK) s = find_frame(c, with, n_with, bare, n_bare);
  free(with);
  free(bare);
  cel_tokenizer_free(t);
  return s;
}

// ---- all of it ----------------------------------------------------------------------------------------------

static cel_status check_model(carrier *c) {
  static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
  const char *type = cel_json_string(c->model, "type", cel_json_get(c->model, "merges") ? "BPE" : "");
  char text[96];
  snprintf(text, sizeof text, "a tokenizer model of the type %.40s", *type ? type : "(none)");
  bool list = !strcmp(type, "Unigram"), known = list || !strcmp(type, "BPE") || !strcmp(type, "WordPiece");
  if (!known) return refuse(c, text);
  if (list ? !cel_json_is_array(c->vocab) : !cel_json_is_object(c->vocab)) {
    return cel_fail(c->err, CEL_MALFORMED, "%s: model.vocab must be %s", c->from->name, list ? "a list" : "an object");
  }
  if (strcmp(type, "BPE") != 0) return CEL_OK;
  for (int i = 0; i < CEL_COUNT(affixes); i++) {
    if (*cel_json_string(c->model, affixes[i], "")) return refuse(c, affixes[i]);
  }
  return CEL_OK;
}

cel_status cel_carry_to_gguf(const cel_carry_source *from, cel_arena *arena, cel_gguf_vocab *out, cel_carry_note *note_to, void *context,
                             cel_err *err) {
  carrier c = {.from = from, .model = cel_json_get(from->json, "model"), .arena = arena, .out = out, .note = note_to,
               .context = context, .err = err};
  c.vocab = cel_json_get(c.model, "vocab");
  *out = (cel_gguf_vocab){.model = CEL_STR(""), .pre = CEL_STR(""), .charsmap = CEL_STR(""), .bos = -1, .eos = -1, .unk = -1, .pad = -1,
                          .eot = -1, .eom = -1, .add_bos = -1, .add_eos = -1, .add_space_prefix = -1, .sep = -1, .cls = -1,
                          .merge_spaces = -1, .lowercase = -1, .strip_accents = -1};
  CEL_TRY(check_model(&c));
  CEL_TRY(find_kind(&c));
  CEL_TRY(make_tokens(&c));
  const cel_json *merges = cel_json_get(c.model, "merges");
  if (!is_unigram(&c) && !is_wordpiece(&c)) {
    CEL_TRY(c.spm ? make_scores(&c, merges, cel_json_array_size(merges)) : copy_merges(&c, merges, cel_json_array_size(merges)));
  }
  find_ids(&c);
  return read_frame(&c);
}
