// What convert and quantize share.
#ifndef CEL_CLI_CONVERT_H
#define CEL_CLI_CONVERT_H

#include "cli/cli.h"
#include "model/write/conversion.h"

// Everything of a new model that is not its weights: its tokenizer, templates and further files.
typedef struct cli_baggage {
  cel_arena arena;
  cel_gguf_vocab vocab;
  bool has_vocab;
  cel_extra_file *files;  // malloc'ed
  int64_t n_files, cap_files;
  bool carried;           // the tokenizer was translated: to be compared
} cli_baggage;

// convert_baggage.c
cel_status cli_baggage_pack(cli_baggage *b, const cel_checkpoint *c, cel_format to, cel_write_note *note, void *context, cel_err *err);
void cli_baggage_drop(cli_baggage *b);
// Both models' tokenizers on a list of texts; the first text they cut differently is an error.
cel_status cli_compare_tokenizers(const char *from, const char *to, cel_err *err);

#endif
