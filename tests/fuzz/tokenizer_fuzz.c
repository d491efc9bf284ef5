// Tokenizers from hostile files, and hostile texts through good tokenizers. What an input is goes by its first byte:
//   {…} NUL text   a tokenizer.json, and a text to encode with it
//   g lines        a GGUF vocabulary: model, pre, then "type score token", "m merge" or "c charsmap",
//                  then an empty line and a text
//   t text         a text, through one of the tokenizers below, by its first byte
// links: cel_text
#include <stdio.h>
#include <stdlib.h>

#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MODEL                                                                                                             \
  "\"model\":{\"type\":\"BPE\",\"unk_token\":\"?\",\"byte_fallback\":true,\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"?\":"     \
  "3,\"▁\":4,"                                                                                                          \
  "\"▁a\":5,\"<0x41>\":6,\"Ġ\":7,\"Ġa\":8,\"ð\":9,\"Ł\":10,\"aab\":11},\"merges\":[\"a b\",\"▁ a\",\"Ġ a\",\"a " \
  "ab\"]},"                                                                                                               \
  "\"added_tokens\":[{\"id\":12,\"content\":\"<s>\",\"special\":true},{\"id\":13,\"content\":\"aa\",\"normalized\":"      \
  "true,"                                                                                                                 \
  "\"single_word\":true},{\"id\":14,\"content\":\"<m>\",\"special\":true,\"lstrip\":true,\"rstrip\":true}]"
#define LLAMA3                                                                           \
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}| " \
  "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|"                                             \
  "\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"

#define CHARSMAP "EAAAAACAAQBhDQAAAAAAgAAAAABiAA=="  // a to b
#define ADDED                                                                                                  \
  "\"added_tokens\":[{\"id\":0,\"content\":\"[U]\",\"special\":true},{\"id\":40,\"content\":\"zz\",\"lstrip\":true}]"

static const char *const good[] = {
    "{" MODEL ",\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"decoder\":{\"type\":\"ByteLevel\"}}",
    "{" MODEL
    ",\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
    "\"Split\","
    "\"pattern\":{\"Regex\":\"" LLAMA3
    "\"},\"behavior\":\"Isolated\"},{\"type\":\"ByteLevel\",\"use_regex\":false}]},"
    "\"decoder\":{\"type\":\"ByteLevel\"}}",
    "{" MODEL
    ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"▁\"},{\"type\":"
    "\"Replace\","
    "\"pattern\":{\"String\":\" "
    "\"},\"content\":\"▁\"}]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\","
    "\"pattern\":{\"String\":\"▁\"},\"content\":\" "
    "\"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},{\"type\":\"Strip\","
    "\"content\":\" \",\"start\":1,\"stop\":1}]}}",
    "{" MODEL
    ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":\"Lowercase\"},{\"type\":"
    "\"Strip\"}]},"
    "\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Metaspace\",\"replacement\":\"▁\","
    "\"prepend_scheme\":"
    "\"first\"},{\"type\":\"Punctuation\"},{\"type\":\"Digits\"}]},\"decoder\":{\"type\":\"Metaspace\",\"replacement\":"
    "\"▁\"}}",
    "{" ADDED
    ",\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"byte_fallback\":true,\"vocab\":[[\"[U]\",0],[\"▁\",-2],[\"a\",-3],[\"▁a\",-2.5],"
    "[\"ab\",-4],[\"<0xE6>\",0],[\"<0xAD>\",0],[\"<0xAA>\",0],[\"b▁\",-1],[\"aaa\",-1]]},\"normalizer\":{\"type\":\"Sequence\","
    "\"normalizers\":[{\"type\":\"Precompiled\",\"precompiled_charsmap\":\"" CHARSMAP "\"},{\"type\":\"Nmt\"},{\"type\":\"StripAccents\"},"
    "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"▁\"}]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":"
    "[{\"type\":\"ByteFallback\"},{\"type\":\"Metaspace\",\"replacement\":\"▁\"}]}}",
    "{" ADDED
    ",\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[U]\",\"max_input_chars_per_word\":9,\"vocab\":{\"[U]\":0,\"a\":1,\"##a\":2,"
    "\"##b\":3,\"ab\":4,\".\":5,\"歪\":6,\"##ab\":7}},\"normalizer\":{\"type\":\"BertNormalizer\"},\"pre_tokenizer\":{\"type\":"
    "\"BertPreTokenizer\"},\"decoder\":{\"type\":\"WordPiece\"},\"post_processor\":{\"type\":\"BertProcessing\",\"cls\":[\"a\",1],"
    "\"sep\":[\".\",5]}}",
    "{" ADDED
    ",\"model\":{\"type\":\"WordLevel\",\"unk_token\":\"[U]\",\"vocab\":{\"[U]\":0,\"a\":1,\"|\":2,\"b</w>\":3}},\"normalizer\":{\"type\":"
    "\"ByteLevel\"},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"CharDelimiterSplit\",\"delimiter\":\".\"},"
    "{\"type\":\"FixedLength\",\"length\":2}]},\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"CTC\",\"pad_token\":\"b\"},"
    "{\"type\":\"BPEDecoder\"}]}}",
};

static void need(bool ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "tokenizer_fuzz: %s\n", what);
  abort();
}

// Decoding id by id gives whole characters, and together what decoding at once gives.
static void decode(const cel_tokenizer *t, const int32_t *ids, int64_t n, bool skip) {
  cel_buf whole = {0}, deltas = {0};
  cel_detokenizer *d;
  need(cel_decode(t, ids, n, skip, &whole, NULL) == CEL_OK, "decode fails");
  need(cel_detokenizer_new(t, skip, &d, NULL) == CEL_OK, "no detokenizer");
  for (int64_t i = 0; i < n; i++) {
    size_t before = deltas.n;
    cel_detokenizer_push(d, ids[i], &deltas);
    need(deltas.n == before || cel_utf8_valid(deltas.p + before, deltas.n - before), "half a character");
  }
  cel_detokenizer_finish(d, &deltas);
  cel_detokenizer_free(d);
  need(cel_str_eq(cel_buf_str(&whole), cel_buf_str(&deltas)), "deltas differ from the whole");
  cel_buf_deinit(&whole);
  cel_buf_deinit(&deltas);
}

static void use(const cel_tokenizer *t, cel_str text, bool decoding) {
  for (int how = 0; how < 4; how++) {
    int32_t *ids, ends[4];
    int64_t n;
    cel_err err;
    if (cel_encode(t, text, (cel_encode_options){how & 1, how & 2}, &ids, &n, &err) != CEL_OK) continue;
    for (int64_t i = 0; i < n; i++) need(ids[i] >= 0 && ids[i] < cel_tokenizer_size(t), "an id out of range");
    if (decoding && how % 3 == 0) decode(t, ids, n, how & 1);
    free(ids);
    cel_tokenizer_end_ids(t, ends, 4);
    cel_tokenizer_find(t, text);
  }
  if (!decoding) return;
  int32_t ids[64];
  size_t n = CEL_MIN(text.n, (size_t)64);
  for (size_t i = 0; i < n; i++) ids[i] = (unsigned char)text.p[i] - 2;
  decode(t, ids, (int64_t)n, false);
}

static void fuzz_json(const char *p, size_t n) {
  size_t end = 0;
  cel_json *json;
  cel_tokenizer *t;
  cel_err err;
  while (end < n && p[end]) end++;
  if (cel_json_parse((cel_str){p, end}, "f", &json, &err) != CEL_OK) return;
  if (cel_tokenizer_from_json(json, json, "f", &t, &err) == CEL_OK) {
    // A regular expression in a decoder may fail at its limits, which a decoder can not tell apart from no memory.
    bool regex = strstr(p, "Regex") != NULL;
    use(t, end < n ? (cel_str){p + end + 1, n - end - 1} : CEL_STR("a b\xFF<s>ab \xE6\xAD\xAA 12\n"), !regex);
    cel_tokenizer_free(t);
  } else {
    need(err.text[0] && !strchr(err.text, '\n'), "an error without one line of text");
  }
  cel_json_decref(json);
}

static cel_str next_line(const char **p, const char *end) {
  const char *start = *p, *stop = start < end ? memchr(start, '\n', (size_t)(end - start)) : NULL;
  if (!stop) stop = end;
  *p = stop < end ? stop + 1 : end;
  return (cel_str){start, (size_t)(stop - start)};
}

static void fuzz_gguf(const char *p, size_t n) {
  enum { MOST = 64 };
  cel_str tokens[MOST], merges[MOST];
  float scores[MOST];
  int32_t types[MOST];
  const char *end = p + n;
  cel_gguf_vocab v = {.tokens = tokens,
                      .scores = scores,
                      .types = types,
                      .merges = merges,
                      .bos = 0,
                      .eos = 1,
                      .unk = 2,
                      .pad = -1,
                      .eot = -1,
                      .eom = -1,
                      .sep = 1,
                      .cls = -1,
                      .add_bos = -1,
                      .add_eos = 1,
                      .add_space_prefix = (int)(n % 3) - 1,
                      .merge_spaces = (int)(n % 2),
                      .lowercase = (int)(n / 2 % 3) - 1,
                      .strip_accents = -1};
  v.model = next_line(&p, end);
  v.pre = next_line(&p, end);
  for (cel_str line; (line = next_line(&p, end)).n;) {
    if (line.p[0] == 'm' && v.n_merges < MOST) {
      merges[v.n_merges++] = (cel_str){line.p + 1, line.n - 1};
    } else if (line.p[0] == 'c') {
      v.charsmap = (cel_str){line.p + 1, line.n - 1};
    } else if (line.n > 2 && v.n_tokens < MOST) {
      types[v.n_tokens] = line.p[0] - '0';
      scores[v.n_tokens] = (float)(line.p[1] - 'a');
      tokens[v.n_tokens++] = (cel_str){line.p + 2, line.n - 2};
    }
  }
  cel_tokenizer *t;
  cel_err err;
  if (cel_tokenizer_from_gguf(&v, "f", &t, &err) != CEL_OK) return;
  use(t, (cel_str){p, (size_t)(end - p)}, true);
  cel_tokenizer_free(t);
}

// Made once: making one takes longer than most texts do.
static const cel_tokenizer *good_one(int which) {
  static cel_tokenizer *made[CEL_COUNT(good)];
  cel_json *json;
  if (made[which]) return made[which];
  need(cel_json_parse(cel_str_of(good[which]), "good", &json, NULL) == CEL_OK, "a good JSON is refused");
  need(cel_tokenizer_from_json(json, NULL, "good", &made[which], NULL) == CEL_OK, "a good tokenizer is refused");
  cel_json_decref(json);
  return made[which];
}

static void fuzz_text(cel_str text) { use(good_one(text.n ? (unsigned char)text.p[0] % CEL_COUNT(good) : 0), text, true); }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (n == 0) return 0;
  char *copy = malloc(n + 1);  // with a NUL, for strstr
  if (!copy) return 0;
  memcpy(copy, data, n);
  copy[n] = 0;
  if (copy[0] == '{') fuzz_json(copy, n);
  if (copy[0] == 'g') fuzz_gguf(copy + 1, n - 1);
  if (copy[0] == 't') fuzz_text((cel_str){copy + 1, n - 1});
  free(copy);
  return 0;
}
