// Ids to text. A token enters the first decoder step, and what a step is sure of goes on to the next one at
// once; what may still change it keeps. So streaming and decoding at once are the same code.
#include <stdlib.h>

#include "text/decode_words.h"
#include "text/tokenizer_impl.h"

enum { BEGIN = 1, END = 2 };  // a fragment is the first, the last of its token

typedef struct step_state {
  cel_buf held;        // bytes that wait
  cel_buf run;         // ByteFallback: bytes of the byte tokens so far; CTC: the token before
  int32_t matched;     // bytes of the pattern (Replace, Metaspace) or character (Strip) matched so far
  int stripped;        // Strip: characters taken from the head
  bool open;           // ByteLevel, Fuse: the one token that goes on has begun
  bool passing;        // ByteFallback: the token is too long for a byte token; Strip: the head is done
  bool first;          // Metaspace: this is the first token
  bool started;        // some token came
  bool waiting;        // BPEDecoder: a whole token waits for the next one, or the end
} step_state;

struct cel_detokenizer {
  const cel_tokenizer *t;
  bool skip_special, failed, started;
  cel_err err;         // of a failure that is not want of memory
  size_t entered;      // bytes of all tokens so far,
  size_t moved;        // and of all that went from step to step
  cel_buf *out;
  cel_buf tail;        // the start of a character that is not whole yet
  cel_regex_run regex;
  step_state state[];  // [t->decoder.n]
};

static void feed(cel_detokenizer *d, int k, cel_str s, int flags);

// ---- growth ------------------------------------------------------------------------------------------

// A decoder's replacements could make any amount of text of one token: see CEL_TEXT_GROWTH.
static size_t room(const cel_detokenizer *d) {
  return CEL_MIN(d->entered, (size_t)CEL_TEXT_MOST) * CEL_TEXT_GROWTH + CEL_TEXT_SLACK;
}

static void fail_growth(cel_detokenizer *d) {
  if (d->err.status == CEL_OK) {
    cel_fail(&d->err, CEL_TOO_LONG, "tokens of %zu bytes grow to more than %zu in the tokenizer's decoder", d->entered, room(d));
  }
  d->failed = true;
}

// --- UTF-8 --------------------------------------------------------------------------------------------

static const char bad_char[] = "\xEF\xBF\xBD";

// Appends s to *held and moves what is whole to *out, bad bytes as U+FFFD; all of it when `last`.
static void take_whole(cel_buf *held, cel_str s, bool last, cel_buf *out) {
  cel_buf_adds(held, s);
  if (held->failed) return;
  cel_str h = cel_buf_str(held);
  size_t ready = last ? h.n : h.n - cel_utf8_partial_tail(h.p, h.n);
  if (cel_utf8_valid(h.p, ready)) {
    cel_buf_add(out, h.p, ready);
  } else {
    for (size_t i = 0; i < ready;) {
      char c[4];
      cel_buf_add(out, c, (size_t)cel_utf8_put(c, cel_utf8_next(h.p, ready, &i)));
    }
  }
  if (held->n) memmove(held->p, held->p + ready, held->n - ready);
  held->n -= ready;
}

// Behind the last step: the text itself.
static void sink(cel_detokenizer *d, cel_str s, int flags) {
  if ((flags & BEGIN) && d->t->decoder.joined_by_space) {
    if (d->started) take_whole(&d->tail, CEL_STR(" "), false, d->out);
    d->started = true;
  }
  take_whole(&d->tail, s, false, d->out);
}

// --- the steps ----------------------------------------------------------------------------------------

// A step that makes one token of all: `flags` for its next fragment.
static int going_on(step_state *y) {
  int flags = y->open ? 0 : BEGIN;
  y->open = true;
  return flags;
}

static void feed_byte_level(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str s,
                            int flags) {
  if (flags & BEGIN) cel_buf_clear(&y->held);
  cel_buf_adds(&y->held, s);
  if (!(flags & END) || y->held.failed) return;
  cel_buf bytes = {0}, text = {0};
  if (!cel_byte_chars_decode(step->bytes, cel_buf_str(&y->held), &bytes)) cel_buf_adds(&bytes, cel_buf_str(&y->held));
  take_whole(&y->run, cel_buf_str(&bytes), false, &text);
  if (bytes.failed || text.failed) d->failed = true;
  if (text.n) feed(d, k + 1, cel_buf_str(&text), going_on(y));
  cel_buf_deinit(&bytes);
  cel_buf_deinit(&text);
}

static void feed_literal(cel_detokenizer *d, int k, const cel_pattern *find, cel_str with, step_state *y, cel_str s,
                         int flags) {
  cel_buf text = {0};  // what leaves the automaton; its state stands for the first `matched` bytes of the literal
  if (flags & BEGIN) y->matched = 0;
  for (size_t i = 0; i < s.n; i++) {
    int32_t was = y->matched, now = cel_pattern_step(find, was, s.p[i]);
    if (now > 0) {
      cel_buf_add(&text, find->literal.p, (size_t)(was + 1 - now));
    } else {
      cel_buf_add(&text, find->literal.p, (size_t)was);
      cel_buf_addc(&text, s.p[i]);
    }
    y->matched = now;
    if ((size_t)now == find->literal.n) {
      cel_buf_adds(&text, with);
      y->matched = 0;
      if (text.n > room(d)) break;  // feed says so
    }
  }
  if (flags & END) {
    cel_buf_add(&text, find->literal.p, (size_t)y->matched);
    y->matched = 0;
  }
  if (text.failed) d->failed = true;
  feed(d, k + 1, cel_buf_str(&text), flags);
  cel_buf_deinit(&text);
}

// A regular expression sees the whole token.
static void feed_regex(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str s, int flags) {
  if (flags & BEGIN) cel_buf_clear(&y->held);
  cel_buf_adds(&y->held, s);
  if (!(flags & END) || y->held.failed) return;
  cel_str in = cel_buf_str(&y->held);
  cel_buf valid = {0}, text = {0};
  if (!cel_utf8_valid(in.p, in.n)) {
    cel_buf none = {0};
    take_whole(&none, in, true, &valid);
    cel_buf_deinit(&none);
    in = cel_buf_str(&valid);
  }
  cel_find f = {.pattern = &step->find, .run = &d->regex, .text = in};
  size_t done = 0;
  cel_regex_run_restart(&d->regex);
  for (bool found = true; found;) {
    if (cel_find_next(&f, &found, &d->err) != CEL_OK) d->failed = true, found = false;
    if (!found || text.n > room(d)) break;
    cel_buf_add(&text, in.p + done, f.start - done);
    cel_buf_adds(&text, step->with);
    done = f.end;
  }
  cel_buf_add(&text, in.p + done, in.n - done);
  if (text.failed || valid.failed) d->failed = true;
  feed(d, k + 1, cel_buf_str(&text), BEGIN | END);
  cel_buf_deinit(&text);
  cel_buf_deinit(&valid);
}

// The bytes of a run of byte tokens: their text when it is UTF-8, else one U+FFFD for each byte, as the
// reference has it. So a run goes on only when it has ended.
static void flush_run(cel_detokenizer *d, int k, step_state *y) {
  cel_str run = cel_buf_str(&y->run);
  if (run.n == 0) return;
  if (cel_utf8_valid(run.p, run.n)) {
    feed(d, k + 1, run, BEGIN | END);
  } else {
    for (size_t i = 0; i < run.n; i++) feed(d, k + 1, cel_str_of(bad_char), BEGIN | END);
  }
  cel_buf_clear(&y->run);
}

static void feed_byte_fallback(cel_detokenizer *d, int k, step_state *y, cel_str s, int flags) {
  enum { BYTE_TOKEN = 6 };
  if (flags & BEGIN) {
    cel_buf_clear(&y->held);
    y->passing = false;
  }
  if (y->passing) {
    feed(d, k + 1, s, flags & END);
    return;
  }
  cel_buf_adds(&y->held, s);
  if (!(flags & END) && y->held.n <= BYTE_TOKEN) return;
  int byte = flags & END ? cel_decode_byte_of(cel_buf_str(&y->held)) : -1;
  if (byte >= 0) {
    cel_buf_addc(&y->run, (char)byte);
    return;
  }
  flush_run(d, k, y);
  y->passing = true;
  feed(d, k + 1, cel_buf_str(&y->held), BEGIN | (flags & END));
}

// How much of the token's end may have to go: whole characters `with`, at most `stop` of them. For a
// character of several bytes its start may be at the very end, so all that could matter is kept.
static size_t strip_keep(const cel_decode_step *step, cel_str s) {
  size_t most = (size_t)step->stop * step->with.n, n = 0;
  if (step->with.n > 1) return CEL_MIN(s.n, step->stop ? most + step->with.n - 1 : 0);
  while (n < s.n && n < most && s.p[s.n - 1 - n] == step->with.p[0]) n++;
  return n;
}

static cel_str strip_end(const cel_decode_step *step, cel_str s) {
  for (int i = 0; i < step->stop && cel_str_ends(s, step->with); i++) s.n -= step->with.n;
  return s;
}

static void feed_strip(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str s, int flags) {
  if (flags & BEGIN) {
    cel_buf_clear(&y->held);
    y->stripped = y->matched = 0;
    y->passing = step->start == 0;
  }
  size_t i = 0;
  for (; !y->passing && i < s.n; i++) {
    if (s.p[i] != step->with.p[y->matched]) {
      y->passing = true;
      break;
    }
    if ((size_t)++y->matched < step->with.n) continue;
    y->matched = 0;
    y->passing = ++y->stripped == step->start;
  }
  if (y->passing || (flags & END)) {
    cel_buf_add(&y->held, step->with.p, (size_t)y->matched);
    y->matched = 0;
  }
  cel_buf_add(&y->held, s.p + i, s.n - i);
  if (y->held.failed) return;
  cel_str text = cel_buf_str(&y->held);
  size_t keep = 0;
  if (flags & END) {
    text = strip_end(step, text);
  } else {
    keep = strip_keep(step, text);
    text.n -= keep;
  }
  feed(d, k + 1, text, flags);
  if (keep) memmove(y->held.p, y->held.p + text.n, keep);
  y->held.n = keep;
}

// Keeps the fragments of a token; true when it is whole.
static bool gather(step_state *y, cel_str s, int flags) {
  if (flags & BEGIN) cel_buf_clear(&y->held);
  cel_buf_adds(&y->held, s);
  return (flags & END) && !y->held.failed;
}

static void pass_on(cel_detokenizer *d, int k, cel_buf *text) {
  if (text->failed) d->failed = true;
  feed(d, k + 1, cel_buf_str(text), BEGIN | END);
  cel_buf_deinit(text);
}

static void feed_wordpiece(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str s,
                           int flags) {
  cel_buf text = {0};
  if (!gather(y, s, flags)) return;
  cel_decode_wordpiece(step, cel_buf_str(&y->held), !y->started, &text);
  y->started = true;
  pass_on(d, k, &text);
}

// In the last token the suffix goes, in all others it becomes a space: one that has it waits.
static void release(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str with) {
  cel_buf text = {0};
  if (!y->waiting) return;
  y->waiting = false;
  cel_decode_replace(&step->find, with, cel_buf_str(&y->held), &text);
  pass_on(d, k, &text);
}

static void feed_suffix(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str s, int flags) {
  if (flags & BEGIN) release(d, k, step, y, step->with);
  if (!gather(y, s, flags)) return;
  y->waiting = true;
  cel_find f = {.pattern = &step->find, .text = cel_buf_str(&y->held)};
  bool found = false;
  if (cel_find_next(&f, &found, NULL) == CEL_OK && !found) release(d, k, step, y, step->with);
}

// Of equal tokens in a row one counts, and padding does not.
static void feed_ctc(cel_detokenizer *d, int k, const cel_decode_step *step, step_state *y, cel_str s, int flags) {
  cel_buf text = {0};
  if (!gather(y, s, flags)) return;
  if (y->started && cel_str_eq(cel_buf_str(&y->held), cel_buf_str(&y->run))) return;
  y->started = true;
  cel_buf_clear(&y->run);
  cel_buf_adds(&y->run, cel_buf_str(&y->held));
  cel_decode_ctc(step, cel_buf_str(&y->held), &text);
  if (text.n || text.failed) pass_on(d, k, &text);
  else cel_buf_deinit(&text);
}

static void feed(cel_detokenizer *d, int k, cel_str s, int flags) {
  if (d->failed) return;
  d->moved += s.n + 1;
  if (s.n > room(d) || d->moved / (size_t)(d->t->decoder.n + 1) > room(d)) {
    fail_growth(d);
    return;
  }
  if (k == d->t->decoder.n) {
    sink(d, s, flags);
    return;
  }
  const cel_decode_step *step = &d->t->decoder.step[k];
  step_state *y = &d->state[k];
  switch (step->kind) {
    case CEL_DECODE_BYTE_LEVEL: feed_byte_level(d, k, step, y, s, flags); return;
    case CEL_DECODE_BYTE_FALLBACK: feed_byte_fallback(d, k, y, s, flags); return;
    case CEL_DECODE_FUSE: feed(d, k + 1, s, going_on(y)); return;
    case CEL_DECODE_STRIP: feed_strip(d, k, step, y, s, flags); return;
    case CEL_DECODE_WORDPIECE: feed_wordpiece(d, k, step, y, s, flags); return;
    case CEL_DECODE_SUFFIX: feed_suffix(d, k, step, y, s, flags); return;
    case CEL_DECODE_CTC: feed_ctc(d, k, step, y, s, flags); return;
    case CEL_DECODE_METASPACE:
      if (flags & BEGIN) {
        y->first = !y->started;
        y->started = true;
      }
      feed_literal(d, k, &step->find, y->first && step->drop_first ? CEL_STR("") : step->with, y, s, flags);
      return;
    case CEL_DECODE_REPLACE:
      if (step->find.fail) {
        feed_literal(d, k, &step->find, step->with, y, s, flags);
      } else {
        feed_regex(d, k, step, y, s, flags);
      }
      return;
  }
}

// The end of the stream, for step k; the steps before it have ended.
static void end_step(cel_detokenizer *d, int k) {
  step_state *y = &d->state[k];
  switch (d->t->decoder.step[k].kind) {
    case CEL_DECODE_BYTE_LEVEL: {
      cel_buf text = {0};
      take_whole(&y->run, CEL_STR(""), true, &text);
      if (text.failed) d->failed = true;
      feed(d, k + 1, cel_buf_str(&text), going_on(y) | END);
      cel_buf_deinit(&text);
      return;
    }
    case CEL_DECODE_FUSE: feed(d, k + 1, CEL_STR(""), going_on(y) | END); return;
    case CEL_DECODE_BYTE_FALLBACK: flush_run(d, k, y); return;
    case CEL_DECODE_SUFFIX: release(d, k, &d->t->decoder.step[k], y, CEL_STR("")); return;
    case CEL_DECODE_WORDPIECE:
    case CEL_DECODE_CTC:
    case CEL_DECODE_REPLACE:
    case CEL_DECODE_STRIP:
    case CEL_DECODE_METASPACE: return;
  }
}

// --- the interface ------------------------------------------------------------------------------------

cel_status cel_detokenizer_new(const cel_tokenizer *t, bool skip_special, cel_detokenizer **out, cel_err *err) {
  cel_detokenizer *d = calloc(1, sizeof *d + (size_t)t->decoder.n * sizeof d->state[0]);
  *out = d;
  if (!d) return cel_fail_oom(err, "a detokenizer");
  d->t = t;
  d->skip_special = skip_special;
  return CEL_OK;
}

void cel_detokenizer_free(cel_detokenizer *d) {
  if (!d) return;
  for (int k = 0; k < d->t->decoder.n; k++) {
    cel_buf_deinit(&d->state[k].held);
    cel_buf_deinit(&d->state[k].run);
  }
  cel_buf_deinit(&d->tail);
  cel_regex_run_deinit(&d->regex);
  free(d);
}

// A step that found no memory has lost text: the caller's buffer says so.
static void report(cel_detokenizer *d, cel_buf *out) {
  bool failed = d->failed || d->tail.failed;
  for (int k = 0; k < d->t->decoder.n; k++) failed = failed || d->state[k].held.failed || d->state[k].run.failed;
  if (failed) out->failed = true;
}

cel_status cel_detokenizer_failure(const cel_detokenizer *d, cel_err *err) {
  return d->err.status == CEL_OK ? cel_fail_oom(err, "decoding tokens") : cel_fail(err, d->err.status, "%s", d->err.text);
}

void cel_detokenizer_push(cel_detokenizer *d, int32_t id, cel_buf *out) {
  const cel_tokenizer *t = d->t;
  if (id < 0 || id >= t->size || !(t->tokens[id].flags & CEL_TOKEN_KNOWN)) return;
  if (d->skip_special && (t->tokens[id].flags & CEL_TOKEN_SPECIAL)) return;
  d->out = out;
  d->entered += t->tokens[id].text.n + 1;
  feed(d, 0, t->tokens[id].text, BEGIN | END);
  report(d, out);
}

void cel_detokenizer_finish(cel_detokenizer *d, cel_buf *out) {
  d->out = out;
  for (int k = 0; k < d->t->decoder.n; k++) end_step(d, k);
  take_whole(&d->tail, CEL_STR(""), true, out);
  report(d, out);
}

cel_status cel_decode(const cel_tokenizer *t, const int32_t *ids, int64_t n, bool skip_special, cel_buf *out,
                      cel_err *err) {
  cel_detokenizer *d;
  CEL_TRY(cel_detokenizer_new(t, skip_special, &d, err));
  for (int64_t i = 0; i < n; i++) cel_detokenizer_push(d, ids[i], out);
  cel_detokenizer_finish(d, out);
  cel_status s = out->failed ? cel_detokenizer_failure(d, err) : CEL_OK;
  cel_detokenizer_free(d);
  return s;
}
