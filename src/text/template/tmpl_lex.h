// Template text to tokens, white space control included (trim_blocks and lstrip_blocks on).
#ifndef CEL_TEXT_TEMPLATE_TMPL_LEX_H
#define CEL_TEXT_TEMPLATE_TMPL_LEX_H

#include "base/arena.h"
#include "base/status.h"
#include "text/template/tmpl_value.h"

typedef enum cel_ttoken_kind {
  CEL_TK_EOF,
  CEL_TK_DATA,
  CEL_TK_PRINT_BEGIN,
  CEL_TK_PRINT_END,
  CEL_TK_BLOCK_BEGIN,
  CEL_TK_BLOCK_END,
  CEL_TK_NAME,
  CEL_TK_STRING,
  CEL_TK_INT,
  CEL_TK_FLOAT,
  CEL_TK_OP,  // text is the operator
} cel_ttoken_kind;

typedef struct cel_ttoken {
  uint8_t kind;
  uint32_t line, column;
  cel_str text;    // data, name, operator as written
  cel_tval value;  // string, int, float
} cel_ttoken;

// The source as the tokens see it: newlines are "\n", one at the very end is gone. Tokens end with EOF and lie in
// `token_arena`; the text they point to lies in `arena`.
CEL_MUST_CHECK cel_status cel_tlex(cel_arena *arena, cel_arena *token_arena, cel_str source, const char *name,
                                   cel_ttoken **tokens, int64_t *n, cel_err *err);

#endif
