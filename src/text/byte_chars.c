// GPT-2's table: printable Latin-1 bytes stand for themselves, the 68 others for U+0100 and up, in order.
#include "text/steps.h"
#include "text/unicode.h"

void cel_byte_chars_init(cel_byte_chars *t) {
  uint32_t spare = 0x100;
  memset(t->byte_of, 0xFF, sizeof t->byte_of);
  for (uint32_t b = 0; b < 256; b++) {
    bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    uint32_t cp = printable ? b : spare++;
    char text[4];
    t->bytes[b] = (unsigned char)cel_utf8_put(text, cp);
    memcpy(t->text[b], text, 2);
    t->byte_of[cp] = (int16_t)b;
  }
}

bool cel_byte_chars_decode(const cel_byte_chars *t, cel_str token, cel_buf *out) {
  if (!cel_buf_reserve(out, token.n)) return true;  // *out says so
  const unsigned char *u = (const unsigned char *)token.p;
  char *w = out->p + out->n;
  for (size_t i = 0; i < token.n;) {
    uint32_t cp = u[i++];
    if (cp >= 0x80) {  // all others of the table have two bytes
      if (cp < 0xC2 || cp > 0xDF || i == token.n || (u[i] & 0xC0) != 0x80) return false;
      cp = (cp & 0x1F) << 6 | (u[i++] & 0x3F);
    }
    int byte = cp < (uint32_t)CEL_COUNT(t->byte_of) ? t->byte_of[cp] : -1;
    if (byte < 0) return false;
    *w++ = (char)byte;
  }
  *w = 0;
  out->n = (size_t)(w - out->p);
  return true;
}

void cel_byte_chars_encode(const cel_byte_chars *t, cel_str s, cel_buf *out) {
  if (!cel_buf_reserve(out, 2 * s.n + 2)) return;
  char *w = out->p + out->n;
  for (size_t i = 0; i < s.n; i++) {
    unsigned char b = (unsigned char)s.p[i];
    memcpy(w, t->text[b], 2);
    w += t->bytes[b];
  }
  out->n = (size_t)(w - out->p);
}
