#include "text/decode_words.h"

void cel_decode_replace(const cel_pattern *find, cel_str with, cel_str in, cel_buf *out) {
  cel_find f = {.pattern = find, .text = in};
  size_t done = 0, most = in.n * CEL_TEXT_GROWTH + CEL_TEXT_SLACK;
  for (bool found; out->n <= most && cel_find_next(&f, &found, NULL) == CEL_OK && found; done = f.end) {
    cel_buf_add(out, in.p + done, f.start - done);
    cel_buf_adds(out, with);
  }
  cel_buf_add(out, in.p + done, in.n - done);
}

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 32;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int cel_decode_byte_of(cel_str s) {
  if (s.n != 6 || memcmp(s.p, "<0x", 3) != 0 || s.p[5] != '>') return -1;
  int high = hex(s.p[3]), low = hex(s.p[4]);
  return high < 0 || low < 0 ? -1 : high << 4 | low;
}

static void replace_all(cel_buf *text, cel_buf *spare, cel_str find, cel_str with) {
  cel_buf_clear(spare);
  for (size_t i = 0; i < text->n;) {
    if (cel_str_starts((cel_str){text->p + i, text->n - i}, find)) {
      cel_buf_adds(spare, with);
      i += find.n;
    } else {
      cel_buf_addc(spare, text->p[i++]);
    }
  }
  if (text->failed) spare->failed = true;
  cel_buf t = *text;
  *text = *spare;
  *spare = t;
}

// English spacing, one rule after the other, as the reference has them.
static void clean_up(cel_buf *text, cel_buf *spare) {
  static const char *const rules[][2] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},    {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
  };
  if (!text->n || !memchr(text->p, ' ', text->n)) return;  // every rule begins with a space
  for (int i = 0; i < CEL_COUNT(rules); i++) replace_all(text, spare, cel_str_of(rules[i][0]), cel_str_of(rules[i][1]));
}

static void finish(cel_buf *text, cel_buf *spare, cel_buf *out) {
  cel_buf_adds(out, cel_buf_str(text));
  if (text->failed) out->failed = true;
  cel_buf_deinit(text);
  cel_buf_deinit(spare);
}

void cel_decode_wordpiece(const cel_decode_step *step, cel_str token, bool first, cel_buf *out) {
  cel_buf text = {0}, spare = {0};
  cel_str mark = step->with.n ? step->with : step->prefix;  // of a token that begins a word, or of one that goes on
  bool marked = cel_str_starts(token, mark), begins = step->with.n ? marked : !marked;
  if (!first && begins) cel_buf_addc(&text, ' ');
  size_t skip = marked && (step->with.n || !first) ? mark.n : 0;
  cel_buf_add(&text, token.p + skip, token.n - skip);
  if (step->cleanup) clean_up(&text, &spare);
  finish(&text, &spare, out);
}

void cel_decode_ctc(const cel_decode_step *step, cel_str token, cel_buf *out) {
  cel_buf text = {0}, spare = {0};
  cel_decode_replace(&step->find, CEL_STR(""), token, &text);
  if (step->cleanup) {
    clean_up(&text, &spare);
    replace_all(&text, &spare, step->prefix, CEL_STR(" "));
  }
  finish(&text, &spare, out);
}
