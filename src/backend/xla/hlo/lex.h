// The lexer of StableHLO text: one token of look-ahead over a borrowed text, positions for messages, and
// raw reading where MLIR's grammar is not made of tokens (tensor dimensions, dense literals, the bodies of
// attributes of other dialects). Nothing here allocates but cel_lex_raw and cel_lex_string.
// Threads: one lexer, one thread.
#ifndef CEL_XLA_HLO_LEX_H
#define CEL_XLA_HLO_LEX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

// A token's kind: the character itself for one-character punctuation, else one of these.
enum {
  CEL_TOK_END = 0,
  CEL_TOK_WORD = 256,  // tensor, stablehlo.add, dense (dots belong to the word)
  CEL_TOK_VALUE,       // %0, %arg1 (a following #1 is a HASH of its own)
  CEL_TOK_SYMBOL,      // @main, @"any text"
  CEL_TOK_BLOCK,       // ^bb0
  CEL_TOK_HASH,        // #loc3, #stablehlo.dot
  CEL_TOK_BANG,        // !stablehlo.token
  CEL_TOK_INT,         // 12; the sign is punctuation
  CEL_TOK_HEX,         // 0x1F
  CEL_TOK_FLOAT,       // 1.5, 1., 2.0e-3
  CEL_TOK_STRING,      // "...", quotes included, escapes not yet undone
  CEL_TOK_ARROW,       // ->
  CEL_TOK_SCOPE,       // ::
  CEL_TOK_RESOURCES,   // {-#
  CEL_TOK_BAD,         // a character or a string that no token starts or ends with
};

enum { CEL_LEX_MAX_DEPTH = 200 };  // of nesting, in every construct that nests

typedef struct cel_lex {
  const char *name;          // of the text, for messages
  const char *begin, *end;   // the whole text
  const char *p;             // behind the current token
  const char *line_begin;    // of the line p is in
  int line;                  // of p, from 1
  int kind;                  // of the current token
  cel_str text;              // the current token, sigil or quotes included
  int token_line, token_column;  // from 1; columns count bytes
  cel_err *err;
} cel_lex;

void cel_lex_init(cel_lex *l, cel_str text, const char *name, cel_err *err);  // reads the first token
void cel_lex_next(cel_lex *l);

// Is the current token this word? / this punctuation or kind?
static inline bool cel_lex_word(const cel_lex *l, const char *word) {
  return l->kind == CEL_TOK_WORD && cel_str_is(l->text, word);
}
static inline bool cel_lex_take(cel_lex *l, int kind) {
  if (l->kind != kind) return false;
  cel_lex_next(l);
  return true;
}
bool cel_lex_take_word(cel_lex *l, const char *word);
// Consumes the token or fails with "found X, expected WHAT".
CEL_MUST_CHECK cel_status cel_lex_need(cel_lex *l, int kind, const char *what);
CEL_MUST_CHECK cel_status cel_lex_need_word(cel_lex *l, const char *word);

// Failures: "NAME:LINE:COLUMN: sentence" at the current token, or at a place in the text.
cel_status cel_lex_fail(cel_lex *l, cel_status status, const char *fmt, ...) CEL_PRINTF(3, 4);
cel_status cel_lex_fail_at(cel_lex *l, const char *where, cel_status status, const char *fmt, ...) CEL_PRINTF(4, 5);
cel_status cel_lex_expected(cel_lex *l, const char *what);  // "found X, expected WHAT", CEL_MALFORMED

// The characters of a quoted token (STRING, or SYMBOL with its @) with escapes undone, appended to out.
CEL_MUST_CHECK cel_status cel_lex_string(cel_lex *l, cel_str quoted, cel_buf *out);

// The current token is < ( [ or {: appends the text up to its match, both included, with white space and
// comments folded to one blank, and reads the token behind. Brackets and strings nest.
CEL_MUST_CHECK cel_status cel_lex_raw(cel_lex *l, cel_buf *out);

// The current token is '<': *body is the text up to the next '>' that is neither in a string nor in a
// comment; reads the token behind that '>'.
CEL_MUST_CHECK cel_status cel_lex_body(cel_lex *l, cel_str *body);

// Behind the current token: reads "2x3x" (white space allowed) into dims. Stops at what is neither digit
// nor 'x'. *rank may come out larger than `most`: the numbers beyond are read and dropped.
CEL_MUST_CHECK cel_status cel_lex_dims(cel_lex *l, int64_t *dims, int most, int *rank);

// The next character behind the current token, white space and comments skipped; 0 at the end.
char cel_lex_peek(cel_lex *l);

#endif
