// GGUF's vocabulary as a tokenizer.json.
#include <stdlib.h>

#include "base/macros.h"
#include "text/carry_private.h"
#include "text/gguf_pre.h"

enum { NORMAL = CEL_GGUF_TOKEN_NORMAL, UNKNOWN = CEL_GGUF_TOKEN_UNKNOWN, CONTROL = CEL_GGUF_TOKEN_CONTROL,
       USER_DEFINED = CEL_GGUF_TOKEN_USER_DEFINED, UNUSED = CEL_GGUF_TOKEN_UNUSED };

#define LOW_LINE_BLOCK CEL_SPACE_MARK

typedef cel_json_maker maker;

static int type_of(const maker *m, int64_t id) { return cel_carry_type(m, id); }

static cel_status oom(const maker *m) { return cel_fail_oom(m->err, "a tokenizer.json"); }

static void put(maker *m, const char *text) { cel_buf_addz(m->out, text); }
static void put_text(maker *m, cel_str s) { cel_json_add_string(m->out, s); }

// ---- vocabulary -----------------------------------------------------------------------------------------

static int64_t find(maker *m, const char *p, size_t n) {
  const cel_json *id = cel_json_object_getn(m->ids, p, n);
  return id ? (int64_t)cel_json_integer_value(id) : -1;
}

// The first of two tokens with one text keeps it, as readers of GGUF have it.
static cel_status index_tokens(maker *m) {
  for (int64_t i = 0; i < m->v->n_tokens; i++) {
    cel_str t = m->v->tokens[i];
    if (!cel_utf8_valid(t.p, t.n) || (t.n && memchr(t.p, 0, t.n))) {
      if (type_of(m, i) == UNUSED) continue;
      return cel_fail(m->err, CEL_UNSUPPORTED, "%s: token %lld is no text (UTF-8): a tokenizer.json cannot hold it", m->name, (long long)i);
    }
    if (find(m, t.p, t.n) >= 0) continue;
    if (cel_json_object_setn_new(m->ids, t.p, t.n, cel_json_integer(i)) != 0) return oom(m);
  }
  return CEL_OK;
}

static void put_vocab(maker *m) {
  bool any = false;
  for (int64_t i = 0; i < m->v->n_tokens; i++) {
    cel_str t = m->v->tokens[i];
    if (find(m, t.p, t.n) != i) continue;
    put(m, any ? ",\n" : "\n");
    put_text(m, t);
    cel_buf_printf(m->out, ":%lld", (long long)i);
    any = true;
  }
}

static void put_added(maker *m) {
  bool any = false;
  for (int64_t i = 0; i < m->v->n_tokens; i++) {
    cel_str t = m->v->tokens[i];
    int type = type_of(m, i);
    if ((type != CONTROL && type != UNKNOWN && type != USER_DEFINED) || t.n == 0) continue;
    cel_buf_printf(m->out, "%s\n{\"id\":%lld,\"content\":", any ? "," : "", (long long)i);
    put_text(m, t);
    cel_buf_printf(m->out, ",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false,\"special\":%s}",
                   type != USER_DEFINED ? "true" : "false");
    any = true;
  }
}

// ---- merges ---------------------------------------------------------------------------------------------

static void put_pair(maker *m, bool first, cel_str a, cel_str b) {
  put(m, first ? "\n[" : ",\n[");
  put_text(m, a);
  put(m, ",");
  put_text(m, b);
  put(m, "]");
}

// Of a byte-level vocabulary, in the file's order. A merge of tokens that are not there has no use.
static cel_status copy_merges(maker *m) {
  bool first = true;
  for (int64_t i = 0; i < m->v->n_merges; i++) {
    cel_str row = m->v->merges[i];
    const char *space = row.n > 1 ? memchr(row.p + 1, ' ', row.n - 1) : NULL;
    if (!space) return cel_fail(m->err, CEL_MALFORMED, "%s: tokenizer.ggml.merges[%lld] is not \"left right\"", m->name, (long long)i);
    cel_str a = {row.p, (size_t)(space - row.p)}, b = {space + 1, row.n - a.n - 1};
    cel_buf_clear(&m->text);
    cel_buf_adds(&m->text, a);
    cel_buf_adds(&m->text, b);
    if (m->text.failed) return oom(m);
    if (find(m, a.p, a.n) < 0 || find(m, b.p, b.n) < 0 || find(m, m->text.p, m->text.n) < 0) continue;
    put_pair(m, first, a, b);
    first = false;
  }
  return CEL_OK;
}

typedef struct merge {
  float score;       // of the whole
  int64_t id;        // of the whole
  size_t cut, chars; // bytes and characters of the left part
} merge;

// By the whole's score, best first; of one score the longer left part first (as the reference converts SentencePiece).
static int by_score(const void *a, const void *b) {
  const merge *x = a, *y = b;
  if (x->score != y->score) return x->score > y->score ? -1 : 1;
  if (x->chars != y->chars) return x->chars > y->chars ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

// Every way to make a token of two others; counts only where `out` is NULL.
static int64_t splits_of(maker *m, int64_t id, merge *out) {
  cel_str t = m->v->tokens[id];
  int64_t n = 0;
  size_t chars = 0;
  for (size_t cut = 1; cut < t.n; cut++) {
    if (((unsigned char)t.p[cut] & 0xC0) == 0x80) continue;
    chars++;
    if (find(m, t.p, cut) < 0 || find(m, t.p + cut, t.n - cut) < 0) continue;
    if (out) out[n] = (merge){m->v->scores[id], id, cut, chars};
    n++;
  }
  return n;
}

static bool is_piece(const maker *m, int64_t id) {
  int type = type_of(m, id);
  return (type == NORMAL || type == USER_DEFINED) && m->v->tokens[id].n > 1 && m->v->tokens[id].n <= 512;
}

static cel_status merges_of_scores(maker *m) {
  int64_t n = 0, at = 0;
  for (int64_t i = 0; i < m->v->n_tokens; i++) n += is_piece(m, i) ? splits_of(m, i, NULL) : 0;
  merge *all = malloc(((size_t)n + 1) * sizeof *all);
  if (!all) return oom(m);
  for (int64_t i = 0; i < m->v->n_tokens; i++) at += is_piece(m, i) ? splits_of(m, i, all + at) : 0;
  if (n) qsort(all, (size_t)n, sizeof *all, by_score);
  for (int64_t i = 0; i < n; i++) {
    cel_str t = m->v->tokens[all[i].id];
    put_pair(m, i == 0, (cel_str){t.p, all[i].cut}, (cel_str){t.p + all[i].cut, t.n - all[i].cut});
  }
  free(all);
  return CEL_OK;
}

// ---- steps ----------------------------------------------------------------------------------------------

#define BYTE_LEVEL "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":false}"
#define TO_BLOCKS "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"" LOW_LINE_BLOCK "\"}"
#define TO_SPACES "{\"type\":\"Replace\",\"pattern\":{\"String\":\"" LOW_LINE_BLOCK "\"},\"content\":\" \"}"

static void put_normalizer(maker *m, bool plain, bool prefix) {
  put(m, ",\n\"normalizer\":");
  if (!plain) put(m, "null");
  else if (!prefix) put(m, TO_BLOCKS);
  else put(m, "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"" LOW_LINE_BLOCK "\"}," TO_BLOCKS "]}");
}

static void put_pre_tokenizer(maker *m, const cel_gguf_pre *pre) {
  put(m, ",\n\"pre_tokenizer\":");
  if (!pre) {
    put(m, "null");
    return;
  }
  put(m, "{\"type\":\"Sequence\",\"pretokenizers\":[");
  for (int i = 0; i < CEL_GGUF_PRE_REGEXES && pre->regexes[i]; i++) {
    put(m, i ? ",{\"type\":\"Split\",\"pattern\":{\"Regex\":" : "{\"type\":\"Split\",\"pattern\":{\"Regex\":");
    put_text(m, cel_str_of(pre->regexes[i]));
    put(m, "},\"behavior\":\"Isolated\",\"invert\":false}");
  }
  if (!pre->plain) put(m, pre->regexes[0] ? "," BYTE_LEVEL : BYTE_LEVEL);
  put(m, "]}");
}

static void put_decoder(maker *m, bool plain, bool strip) {
  put(m, ",\n\"decoder\":");
  if (!plain) {
    put(m, BYTE_LEVEL);
    return;
  }
  put(m, "{\"type\":\"Sequence\",\"decoders\":[" TO_SPACES ",{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}");
  if (strip) put(m, ",{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}");
  put(m, "]}");
}

static void put_special(maker *m, int32_t id) {
  put(m, "{\"SpecialToken\":{\"id\":");
  put_text(m, m->v->tokens[id]);
  put(m, ",\"type_id\":0}}");
}

static void put_special_entry(maker *m, int32_t id) {
  put_text(m, m->v->tokens[id]);
  put(m, ":{\"id\":");
  put_text(m, m->v->tokens[id]);
  cel_buf_printf(m->out, ",\"ids\":[%d],\"tokens\":[", (int)id);
  put_text(m, m->v->tokens[id]);
  put(m, "]}");
}

void cel_carry_put_post_processor(maker *m, int32_t ahead, int32_t behind) {
  bool bos = ahead >= 0, eos = behind >= 0;
  put(m, ",\n\"post_processor\":");
  if (!bos && !eos) {
    put(m, "null");
    return;
  }
  bool both = bos && eos && ahead != behind;
  put(m, "{\"type\":\"TemplateProcessing\",\"single\":[");
  if (bos) put_special(m, ahead), put(m, ",");
  put(m, "{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}");
  if (eos) put(m, ","), put_special(m, behind);
  put(m, "],\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\",\"type_id\":1}}],\"special_tokens\":{");
  put_special_entry(m, bos ? ahead : behind);
  if (both) put(m, ","), put_special_entry(m, behind);
  put(m, "}}");
}

// ---- kinds ----------------------------------------------------------------------------------------------

typedef struct kind {
  const cel_gguf_pre *pre;  // NULL: SentencePiece
  bool bos, prefix;
} kind;

static cel_status find_kind(const maker *m, kind *k) {
  cel_str pre = m->v->pre.n ? m->v->pre : CEL_STR("default");
  bool gemma4 = cel_str_is(m->v->model, "gemma4");
  *k = (kind){.bos = true, .prefix = m->v->add_space_prefix != 0};
  if (cel_str_is(m->v->model, "llama") && m->v->scores) return CEL_OK;
  if (gemma4) pre = m->v->model;
  if (gemma4 || cel_str_is(m->v->model, "gpt2")) k->pre = cel_gguf_pre_find(pre);
  if (!k->pre) {
    return cel_fail(m->err, CEL_UNSUPPORTED, "%s: a tokenizer of the kind tokenizer.ggml.model \"%.*s\", pre \"%.*s\" cannot be made a "
                    "tokenizer.json", m->name, CEL_STR_ARG(m->v->model), CEL_STR_ARG(m->v->pre));
  }
  k->bos = k->pre->add_bos;
  k->prefix = false;
  return CEL_OK;
}

static void put_steps(maker *m, const kind *k) {
  const cel_gguf_vocab *v = m->v;
  bool bos = v->bos >= 0 && (v->add_bos >= 0 ? v->add_bos : k->bos), eos = v->eos >= 0 && v->add_eos == 1;
  bool plain = !k->pre || k->pre->plain;
  put_normalizer(m, plain, k->prefix);
  put_pre_tokenizer(m, k->pre);
  cel_carry_put_post_processor(m, bos ? v->bos : -1, eos ? v->eos : -1);
  put_decoder(m, plain, k->prefix);
}

static cel_status put_model(maker *m, const kind *k) {
  bool spm = !k->pre, bytes = spm || k->pre->plain, ignore = k->pre && k->pre->ignore_merges;
  put(m, ",\n\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":");
  if (m->v->unk >= 0) put_text(m, m->v->tokens[m->v->unk]);
  else put(m, "null");
  cel_buf_printf(m->out, ",\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":%s,\"byte_fallback\":%s,"
                 "\"ignore_merges\":%s,\n\"vocab\":{", spm ? "true" : "false", bytes ? "true" : "false", ignore ? "true" : "false");
  put_vocab(m);
  put(m, "},\n\"merges\":[");
  CEL_TRY(spm ? merges_of_scores(m) : copy_merges(m));
  put(m, "]}}\n");
  return CEL_OK;
}

static cel_status make(maker *m) {
  kind k;
  bool unigram = cel_str_is(m->v->model, "t5"), words = cel_str_is(m->v->model, "bert");
  if (!unigram && !words) CEL_TRY(find_kind(m, &k));
  CEL_TRY(index_tokens(m));
  put(m, "{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\n\"added_tokens\":[");
  put_added(m);
  put(m, "]");
  if (unigram || words) {
    CEL_TRY(unigram ? cel_carry_put_unigram(m) : cel_carry_put_wordpiece(m));
  } else {
    put_steps(m, &k);
    CEL_TRY(put_model(m, &k));
  }
  return m->out->failed || m->text.failed ? oom(m) : CEL_OK;
}

cel_status cel_carry_to_json(const cel_gguf_vocab *v, const char *name, cel_buf *out, cel_err *err) {
  maker m = {.v = v, .name = name, .ids = cel_json_object(), .out = out, .err = err};
  cel_status s = m.ids ? make(&m) : oom(&m);
  cel_buf_deinit(&m.text);
  cel_json_decref(m.ids);
  return s;
}
