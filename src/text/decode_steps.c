// Decoders as tokenizer.json names them: ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace, WordPiece,
// BPEDecoder, CTC. What they do is in detokenize.c and decode_words.c.
#include "text/steps.h"

cel_status cel_decode_add(cel_text_build *b, cel_decode_steps *steps, const cel_decode_step *step, cel_err *err) {
  if (steps->n == CEL_STEPS_MOST) return cel_steps_full(b, "decoder", err);
  steps->step[steps->n] = *step;
  if (step->kind == CEL_DECODE_BYTE_LEVEL) {
    cel_byte_chars *t = CEL_NEW(b->arena, cel_byte_chars);
    if (!t) return cel_fail_oom(err, b->name);
    cel_byte_chars_init(t);
    steps->step[steps->n].bytes = t;
  }
  steps->n++;
  return CEL_OK;
}

static cel_status read_byte_level(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return cel_decode_add(b, steps, &(cel_decode_step){.kind = CEL_DECODE_BYTE_LEVEL}, err);
}

static cel_status read_byte_fallback(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return cel_decode_add(b, steps, &(cel_decode_step){.kind = CEL_DECODE_BYTE_FALLBACK}, err);
}

static cel_status read_fuse(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)json;
  return cel_decode_add(b, steps, &(cel_decode_step){.kind = CEL_DECODE_FUSE}, err);
}

static cel_status read_replace(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_decode_step s = {.kind = CEL_DECODE_REPLACE};
  const char *where = cel_arena_printf(b->arena, "%s: decoder Replace.pattern", b->name);
  if (!where) return cel_fail_oom(err, b->name);
  CEL_TRY(cel_step_string(b, json, "content", "decoder Replace", &s.with, err));
  CEL_TRY(cel_pattern_read(b, cel_json_get(json, "pattern"), where, &s.find, err));
  return cel_decode_add(b, steps, &s, err);
}

static cel_status read_strip(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  enum { MOST = 1 << 20 };
  cel_decode_step s = {.kind = CEL_DECODE_STRIP};
  int64_t start = cel_json_int(json, "start", 0), stop = cel_json_int(json, "stop", 0);
  CEL_TRY(cel_step_string(b, json, "content", "decoder Strip", &s.with, err));
  if (s.with.n == 0 || s.with.n > 4) {
    return cel_fail(err, CEL_MALFORMED, "%s: decoder Strip.content must be one character", b->name);
  }
  if (start < 0 || start > MOST || stop < 0 || stop > MOST) {
    return cel_fail(err, CEL_MALFORMED, "%s: decoder Strip takes %lld and %lld characters; 0 to %d is right", b->name,
                    (long long)start, (long long)stop, MOST);
  }
  s.start = (int)start;
  s.stop = (int)stop;
  return cel_decode_add(b, steps, &s, err);
}

static cel_status read_metaspace(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_decode_step s = {.kind = CEL_DECODE_METASPACE, .drop_first = true};
  cel_str replacement;
  CEL_TRY(cel_step_string(b, json, "replacement", "decoder Metaspace", &replacement, err));
  if (!replacement.n) return cel_fail(err, CEL_MALFORMED, "%s: decoder Metaspace.replacement is empty", b->name);
  if (strcmp(cel_json_string(json, "prepend_scheme", "always"), "never") == 0) s.drop_first = false;
  if (!cel_json_get(json, "prepend_scheme") && !cel_json_bool(json, "add_prefix_space", true)) s.drop_first = false;
  s.with = CEL_STR(" ");
  CEL_TRY(cel_pattern_literal(b, replacement, b->name, &s.find, err));
  return cel_decode_add(b, steps, &s, err);
}

static cel_status read_wordpiece(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_decode_step s = {.kind = CEL_DECODE_WORDPIECE, .prefix = CEL_STR("##")};
  if (cel_json_get(json, "prefix")) CEL_TRY(cel_step_string(b, json, "prefix", "decoder WordPiece", &s.prefix, err));
  s.cleanup = cel_json_bool(json, "cleanup", true);
  return cel_decode_add(b, steps, &s, err);
}

static cel_status read_suffix(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_decode_step s = {.kind = CEL_DECODE_SUFFIX, .with = CEL_STR(" ")};
  cel_str suffix = CEL_STR("</w>");
  if (cel_json_get(json, "suffix")) CEL_TRY(cel_step_string(b, json, "suffix", "decoder BPEDecoder", &suffix, err));
  if (!suffix.n) return cel_fail(err, CEL_UNSUPPORTED, "%s: decoder BPEDecoder.suffix is empty", b->name);
  CEL_TRY(cel_pattern_literal(b, suffix, b->name, &s.find, err));
  return cel_decode_add(b, steps, &s, err);
}

static cel_status read_ctc(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_decode_step s = {.kind = CEL_DECODE_CTC, .prefix = CEL_STR("|")};
  cel_str pad = CEL_STR("<pad>");
  if (cel_json_get(json, "pad_token")) CEL_TRY(cel_step_string(b, json, "pad_token", "decoder CTC", &pad, err));
  if (cel_json_get(json, "word_delimiter_token")) {
    CEL_TRY(cel_step_string(b, json, "word_delimiter_token", "decoder CTC", &s.prefix, err));
  }
  if (!pad.n || !s.prefix.n) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: decoder CTC: an empty pad_token or word_delimiter_token", b->name);
  }
  s.cleanup = cel_json_bool(json, "cleanup", true);
  CEL_TRY(cel_pattern_literal(b, pad, b->name, &s.find, err));
  return cel_decode_add(b, steps, &s, err);
}

static const cel_step_row rows[] = {
    {"ByteLevel", read_byte_level}, {"Replace", read_replace}, {"ByteFallback", read_byte_fallback},
    {"Fuse", read_fuse},            {"Strip", read_strip},     {"Metaspace", read_metaspace},
    {"WordPiece", read_wordpiece},  {"BPEDecoder", read_suffix}, {"CTC", read_ctc},
};

cel_status cel_decode_steps_read(cel_text_build *b, const cel_json *json, cel_decode_steps *out, cel_err *err) {
  return cel_steps_read(b, json, "decoder", "decoders", rows, CEL_COUNT(rows), out, err);
}
