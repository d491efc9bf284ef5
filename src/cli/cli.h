// The command line: options by table, one file per command.
#ifndef CEL_CLI_CLI_H
#define CEL_CLI_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"
#include "generate/generate.h"

enum { EXIT_OK = 0, EXIT_RUNTIME = 1, EXIT_USAGE = 2 };

enum {
  G_MODEL = 1 << 0, G_FILES = 1 << 1, G_PROMPT = 1 << 2, G_LENGTH = 1 << 3, G_SAMPLING = 1 << 4, G_JSON = 1 << 5,
  G_IDS = 1 << 6, G_LOGITS = 1 << 7, G_TOKENIZE = 1 << 8, G_TEMPLATE = 1 << 9, G_BENCH = 1 << 10, G_XLA = 1 << 11,
  G_CONTEXT = 1 << 12, G_TAPS = 1 << 13, G_DIFF = 1 << 14,
  G_STORE = 1 << 20, G_DOWNLOAD = 1 << 21, G_LIST = 1 << 22, G_REMOVE = 1 << 23,
  G_CONVERT = 1 << 24, G_QUANTIZE = 1 << 25, G_RUN = 1 << 26, G_COMPILE = 1 << 27,
};

enum { CLI_LIST_MOST = 32, CLI_THREADS_MOST = 256 };
typedef struct cli_list {
  const char *items[CLI_LIST_MOST];
  int n;
} cli_list;

typedef const char *cli_STR;
typedef int64_t cli_INT;
typedef int64_t cli_NAT;
typedef uint64_t cli_U64;
typedef double cli_NUM;
typedef bool cli_FLAG;
typedef cli_list cli_LIST;

typedef struct cli_options {
#define CEL_OPTION(kind, field, otherwise, names, letter, group, argument, help) cli_##kind field;
#include "cli/option.def"
#undef CEL_OPTION
  bool seed_given;
  bool help;
  const char *operands[CLI_LIST_MOST];  // what is no option
  int n_operands;
} cli_options;

typedef struct cli_command {
  const char *name, *alias;
  int (*run)(const cli_options *o);
  int groups;
  const char *operands, *summary, *more;
} cli_command;

extern const cli_command cli_commands[];
extern const int cli_n_commands;

// Fills *o from argv[from..argc). Prints a sentence on a usage error and returns EXIT_USAGE.
int cli_parse(const cli_command *c, int argc, char **argv, int from, cli_options *o);
void cli_print_help(const cli_command *c, FILE *to);  // NULL: the program's

// ---- common.c --------------------------------------------------------------------------------------

int cli_fail(const cel_err *err);                                  // prints "error: ..."; EXIT_RUNTIME
int cli_usage(const char *fmt, ...) CEL_PRINTF(1, 2);              // prints "error: ..."; EXIT_USAGE
int cli_print(cel_buf *b, cel_err *err);                           // to stdout, whole; frees b
// Opens the model of -m (or of the operand) with a progress bar on a terminal when it takes long.
cel_status cli_open(const cli_options *o, bool need_backend, bool need_tokenizer, int max_sessions, int64_t context,
                    cel_lm **out, cel_err *err);
// The same, its programs compiled into the folder of -o.
cel_status cli_open_to_compile(const cli_options *o, cel_lm **out, cel_err *err);
// The files alone, of a model of any family: out->arch.family may be NULL.
cel_status cli_open_files(const cli_options *o, cel_lm **out, cel_err *err);
cel_status cli_model_path(const cli_options *o, cel_buf *out, cel_err *err);
// EXIT_OK, or says that the model of -m (or of the operand, where the command has one) is missing or given twice.
int cli_one_model(const cli_options *o);
cel_status cli_parse_ids(const char *text, int32_t **ids, int64_t *n, cel_err *err);
cel_status cli_read_json_file(const char *path, cel_json **out, cel_err *err);  // "-": standard input
enum { CLI_STDIN_MOST = 256 << 20 };  // bytes of standard input that one text may have: it may have no end
cel_status cli_read_stdin(char **text, int64_t *n, cel_err *err);
cel_status cli_stdin_too_long(cel_err *err);
// Sampling from the options; *bias (malloc'ed, may stay NULL) must live as long as *out.
cel_status cli_sampling(const cli_options *o, cel_sampling *out, cel_logit_bias **bias, cel_err *err);
void cli_add_ids(cel_buf *b, const int32_t *ids, int64_t n);
void cli_add_key(cel_buf *b, const char *key);  // ,"key":  (no comma behind { or [)
void cli_add_ms(cel_buf *b, const char *key, double ms);

// ---- guess.c: "did you mean" -----------------------------------------------------------------------

typedef struct cli_guess {
  const char *typed, *best;  // best: NULL while nothing comes near
  int best_n, distance;
} cli_guess;
void cli_guess_try(cli_guess *g, const char *candidate, size_t n);
// For printf("...%s%.*s%s", CLI_GUESS_ARG(g)).
#define CLI_GUESS_ARG(g) (g).best ? "; did you mean " : "", (g).best_n, (g).best ? (g).best : "", (g).best ? "?" : ""

// ---- npy.c -----------------------------------------------------------------------------------------

typedef struct cli_npy {
  char dtype[8];  // "<f4"
  int rank;
  int64_t dims[8];
  const void *data;
  int64_t bytes;
  char *owned;
} cli_npy;
// dtype: "<f4", "<i4", ... of elements of 1 to 8 bytes.
cel_status cli_npy_write(const char *path, const char *dtype, const void *data, int rank, const int64_t *dims, cel_err *err);
cel_status cli_npy_read(const char *path, cli_npy *out, cel_err *err);
void cli_npy_free(cli_npy *a);

// ---- cmd_taps.c: mlxcel xla taps -------------------------------------------------------------------------

int cli_xla_taps(const cli_options *o);
int cli_xla_export(const cli_options *o);  // cmd_xla_export.c
int cli_xla_micro(const cli_options *o);  // cmd_micro.c: mlxcel xla micro-oracle

// ---- interrupt.c: Ctrl-C -----------------------------------------------------------------------------

extern volatile int cli_interrupted;  // set by SIGINT (and what else is) caught
void cli_catch_interrupts(void);
// Also whatever else asks a program to end, so that unfinished files are removed; a file too large is an error of write.
void cli_catch_ends(void);

#define CEL_COMMAND(name, alias, function, groups, operands, summary, more) int function(const cli_options *o);
#include "cli/command.def"
#undef CEL_COMMAND

#endif
