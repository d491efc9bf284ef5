// The parts of a tokenizer that are lists of steps, as tokenizer.json names them:
//
//   text → normalizer → (added tokens) → pre-tokenizer → model → post-processor → ids
//   ids → tokens → decoder → text
//
// A step is a function and its parameters. Each list has one table of rows (type name, reader); a type that
// has no row is refused by name, with the list of those that have.
#ifndef CEL_TEXT_STEPS_H
#define CEL_TEXT_STEPS_H

#include "text/charsmap.h"
#include "text/pattern.h"
#include "text/spans.h"

// A text may grow in the steps to at most CEL_TEXT_GROWTH times its size (NFKC's worst is 18), and never
// over CEL_TEXT_MOST bytes.
enum { CEL_STEPS_MOST = 64, CEL_TEXT_GROWTH = 64, CEL_TEXT_SLACK = 1 << 16, CEL_TEXT_MOST = 1 << 28 };

// Byte-level text: each byte is written as one printable character (GPT-2's table).
typedef struct cel_byte_chars {
  char text[256][2];       // UTF-8 of the character of a byte
  unsigned char bytes[256];  // 1 or 2
  int16_t byte_of[324];    // code point → byte, -1
} cel_byte_chars;
void cel_byte_chars_init(cel_byte_chars *t);
// Appends the characters of s[0..n).
void cel_byte_chars_encode(const cel_byte_chars *t, cel_str s, cel_buf *out);
// Appends the bytes that token stands for; false (and nothing appended) when a character is not in the table.
bool cel_byte_chars_decode(const cel_byte_chars *t, cel_str token, cel_buf *out);

// Normalizer. `in` is valid UTF-8 and so is what is appended to *out.
typedef struct cel_norm_run {  // zero-initialize but for `regex`
  cel_regex_run *regex;
  cel_buf buffers[2];
  bool moved;  // what the text began with was taken away
} cel_norm_run;
void cel_norm_run_deinit(cel_norm_run *run);  // leaves the regex_run alone

typedef struct cel_norm cel_norm;
struct cel_norm {
  cel_status (*run)(const cel_norm *n, cel_str in, cel_buf *out, cel_norm_run *run, cel_err *err);
  cel_pattern find;
  cel_str with;
  bool left, right;
  int form;
  bool (*drops)(uint32_t cp);  // characters that are taken out
  const cel_byte_chars *bytes;
  const cel_charsmap *map;
};
typedef struct cel_norms {
  cel_norm step[CEL_STEPS_MOST];
  int n;
} cel_norms;

CEL_MUST_CHECK cel_status cel_norms_read(cel_text_build *b, const cel_json *json, cel_norms *out, cel_err *err);
// The text after all steps: `in` itself when there are none, else held by one of the run's buffers.
CEL_MUST_CHECK cel_status cel_norms_run(const cel_norms *norms, cel_str in, cel_norm_run *run, cel_str *out,
                                        cel_err *err);
// Single steps, for vocabularies that do not come as tokenizer.json. Texts are borrowed.
CEL_MUST_CHECK cel_status cel_norm_prepend(cel_text_build *b, cel_norms *norms, cel_str text, cel_err *err);
CEL_MUST_CHECK cel_status cel_norm_charsmap(cel_text_build *b, cel_norms *norms, cel_str blob, cel_err *err);
// Runs of spaces become one, those at the ends none.
CEL_MUST_CHECK cel_status cel_norm_merge_spaces(cel_text_build *b, cel_norms *norms, cel_err *err);
CEL_MUST_CHECK cel_status cel_norm_lowercase(cel_text_build *b, cel_norms *norms, cel_err *err);
CEL_MUST_CHECK cel_status cel_norm_bert(cel_text_build *b, cel_norms *norms, bool lowercase, bool strip_accents,
                                        cel_err *err);
CEL_MUST_CHECK cel_status cel_norm_replace_spaces(cel_text_build *b, cel_norms *norms, cel_str with, cel_err *err);

// Pre-tokenizer: cuts a text into pieces, and may rewrite it.
typedef struct cel_pieces {
  cel_buf text, spare;
  cel_spans spans, spare_spans;
  cel_regex_run *regex;
  bool at_start;  // the text begins where the whole input begins
} cel_pieces;
void cel_pieces_deinit(cel_pieces *p);

typedef enum cel_split_kind {
  CEL_SPLIT_REMOVED,
  CEL_SPLIT_ISOLATED,
  CEL_SPLIT_MERGED_PREVIOUS,
  CEL_SPLIT_MERGED_NEXT,
  CEL_SPLIT_CONTIGUOUS,
} cel_split_kind;

typedef struct cel_pre cel_pre;
struct cel_pre {
  cel_status (*run)(const cel_pre *step, cel_pieces *p, cel_err *err);
  cel_pattern find;
  bool (*is)(uint32_t cp);  // instead of `find`: each such character is a match
  cel_split_kind behavior;
  bool invert, prefix, split, first_only;
  int64_t length;  // FixedLength: characters of a piece
  cel_str with;  // Metaspace: what stands for a space
  const cel_byte_chars *bytes;
};
typedef struct cel_pres {
  cel_pre step[CEL_STEPS_MOST];
  int n;
} cel_pres;

CEL_MUST_CHECK cel_status cel_pres_read(cel_text_build *b, const cel_json *json, cel_pres *out, cel_err *err);
// p->text holds the text and p->spans is empty; afterwards the spans are the pieces, in order, none empty.
CEL_MUST_CHECK cel_status cel_pres_run(const cel_pres *pres, cel_pieces *p, cel_err *err);
CEL_MUST_CHECK cel_status cel_pre_split(cel_text_build *b, cel_pres *pres, cel_str regex, cel_err *err);
CEL_MUST_CHECK cel_status cel_pre_bert(cel_text_build *b, cel_pres *pres, cel_err *err);
CEL_MUST_CHECK cel_status cel_pre_spaces(cel_text_build *b, cel_pres *pres, cel_err *err);  // at white space
CEL_MUST_CHECK cel_status cel_pre_byte_level(cel_text_build *b, cel_pres *pres, cel_err *err);

// Post-processor: what is put around the ids of the text. CEL_POST_TEXT stands for them.
enum { CEL_POST_TEXT = -1 };
typedef struct cel_post {
  const int32_t *ids;  // [n]
  int n;
} cel_post;
typedef struct cel_posts {
  cel_post step[CEL_STEPS_MOST];
  int n;
} cel_posts;

CEL_MUST_CHECK cel_status cel_posts_read(cel_text_build *b, const cel_json *json, cel_posts *out, cel_err *err);

// Decoder: tokens flow through the steps one after the other. Each step keeps its state in a cel_decode_state.
typedef enum cel_decode_kind {
  CEL_DECODE_BYTE_LEVEL,
  CEL_DECODE_REPLACE,
  CEL_DECODE_BYTE_FALLBACK,
  CEL_DECODE_FUSE,
  CEL_DECODE_STRIP,
  CEL_DECODE_METASPACE,
  CEL_DECODE_WORDPIECE,
  CEL_DECODE_SUFFIX,
  CEL_DECODE_CTC,
} cel_decode_kind;
typedef struct cel_decode_step {
  cel_decode_kind kind;
  cel_pattern find;  // Replace: what is replaced; Metaspace: what stands for a space; suffix; CTC: padding
  cel_str with;      // Replace: content; Strip: the character; Metaspace, suffix: a space
  int start, stop;   // Strip: at most so many characters
  cel_str prefix;    // WordPiece: what marks a token that goes on a word; CTC: what parts words
  bool drop_first;   // Metaspace: in the first token the replacement is dropped
  bool cleanup;      // WordPiece, CTC: no space before punctuation
  const cel_byte_chars *bytes;
} cel_decode_step;
typedef struct cel_decode_steps {
  cel_decode_step step[CEL_STEPS_MOST];
  int n;
  bool joined_by_space;  // no decoder in the file: tokens are joined with a space
} cel_decode_steps;

CEL_MUST_CHECK cel_status cel_decode_steps_read(cel_text_build *b, const cel_json *json, cel_decode_steps *out,
                                                cel_err *err);
CEL_MUST_CHECK cel_status cel_decode_add(cel_text_build *b, cel_decode_steps *steps, const cel_decode_step *step,
                                         cel_err *err);

// Reads a list of steps: an object with "type" is looked up in `rows`; "Sequence" goes through its `list` key.
typedef struct cel_step_row {
  const char *type;
  cel_status (*read)(cel_text_build *b, const cel_json *json, void *steps, cel_err *err);
} cel_step_row;
CEL_MUST_CHECK cel_status cel_steps_read(cel_text_build *b, const cel_json *json, const char *what, const char *list,
                                         const cel_step_row *rows, int n_rows, void *steps, cel_err *err);
// "too many steps" for a full list.
cel_status cel_steps_full(cel_text_build *b, const char *what, cel_err *err);
CEL_MUST_CHECK cel_status cel_step_string(cel_text_build *b, const cel_json *json, const char *key, const char *what,
                                          cel_str *out, cel_err *err);

#endif
