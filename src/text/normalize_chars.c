// Normalizers that go over a text character by character: lower case, marks, BERT's cleaning, Nmt's.
#include <utf8proc.h>

#include "text/norm_run.h"
#include "text/unicode.h"

cel_status cel_norm_run_lowercase(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err) {
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

static bool within(uint32_t c, uint32_t lo, uint32_t hi) { return c - lo <= hi - lo; }

static void put(cel_buf *out, uint32_t c) {
  char text[4];
  cel_buf_add(out, text, (size_t)cel_utf8_put(text, c));
}

CEL_NORM_RUN(drop) {
  (void)err;
  for (size_t i = 0; i < in.n;) {
    size_t at = i;
    if (!n->drops(cel_char_next(in.p, &i)))
      cel_buf_add(out, in.p + at, i - at);
    else if (at == 0)
      run->moved = true;
  }
  return CEL_OK;
}

CEL_NORM_RUN(clean) {
  (void)n, (void)err;
  for (size_t i = 0; i < in.n;) {
    size_t at = i;
    uint32_t c = cel_char_next(in.p, &i);
    bool space = c == '\t' || c == '\n' || c == '\r';
    if (!space && (c == 0 || c == 0xFFFD || cel_char_is_hidden(c))) {
      if (at == 0) run->moved = true;
    } else if (space || cel_char_is_space(c)) {
      cel_buf_addc(out, ' ');
    } else {
      cel_buf_add(out, in.p + at, i - at);
    }
  }
  return CEL_OK;
}

// The blocks of Chinese characters as BERT has them. The reference leaves U+2B820 to U+2B91F out.
static bool is_chinese(uint32_t c) {
  return within(c, 0x4E00, 0x9FFF) || within(c, 0x3400, 0x4DBF) || within(c, 0x20000, 0x2A6DF) ||
         within(c, 0x2A700, 0x2B81F) || within(c, 0x2B920, 0x2CEAF) || within(c, 0xF900, 0xFAFF) ||
         within(c, 0x2F800, 0x2FA1F);
}

CEL_NORM_RUN(chinese) {
  (void)n, (void)run, (void)err;
  for (size_t i = 0; i < in.n;) {
    size_t at = i;
    bool spaced = is_chinese(cel_char_next(in.p, &i));
    if (spaced) cel_buf_addc(out, ' ');
    cel_buf_add(out, in.p + at, i - at);
    if (spaced) cel_buf_addc(out, ' ');
  }
  return CEL_OK;
}

// SentencePiece's rules for machine translation: control characters go, odd white space becomes a space.
CEL_NORM_RUN(nmt) {
  (void)n, (void)err;
  for (size_t i = 0; i < in.n;) {
    size_t at = i;
    uint32_t c = cel_char_next(in.p, &i);
    if (within(c, 1, 8) || c == 0xB || within(c, 0xE, 0x1F) || c == 0x7F || c == 0x8F || c == 0x9F) {
      if (at == 0) run->moved = true;
      continue;
    }
    bool space = c == 9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 || within(c, 0x200B, 0x200F) ||
                 c == 0x2028 || c == 0x2029 || c == 0x2581 || c == 0xFEFF || c == 0xFFFD;
    put(out, space ? ' ' : c);
  }
  return CEL_OK;
}

CEL_NORM_RUN(merge_spaces) {
  (void)n, (void)run, (void)err;
  for (size_t i = 0; i < in.n; i++) {
    if (in.p[i] != ' ')
      cel_buf_addc(out, in.p[i]);
    else if (out->n > 0 && i + 1 < in.n && in.p[i + 1] != ' ')
      cel_buf_addc(out, ' ');
  }
  return CEL_OK;
}
