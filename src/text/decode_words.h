// Decoders that look at whole tokens: WordPiece, BPEDecoder, CTC. For detokenize.c and token_bytes.c alone.
#ifndef CEL_TEXT_DECODE_WORDS_H
#define CEL_TEXT_DECODE_WORDS_H

#include "text/steps.h"

// Appends what the WordPiece decoder makes of a token; `first`: no token came before it.
void cel_decode_wordpiece(const cel_decode_step *step, cel_str token, bool first, cel_buf *out);
// Appends what the CTC decoder makes of a token that differs from the one before it.
void cel_decode_ctc(const cel_decode_step *step, cel_str token, cel_buf *out);
// Appends `in` with `with` in place of every match of a literal.
void cel_decode_replace(const cel_pattern *find, cel_str with, cel_str in, cel_buf *out);
// The byte of <0xHH>, -1 for another token.
int cel_decode_byte_of(cel_str token);

#endif
