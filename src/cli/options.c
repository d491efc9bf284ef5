// Option parsing and help, from option.def and command.def.
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef enum kind { STR, INT, NAT, U64, NUM, FLAG, LIST } kind;
typedef struct option {
  kind kind;
  size_t at;
  const char *names;
  char letter;
  int groups;
  const char *argument, *help;
} option;

static const option options[] = {
#define CEL_OPTION(kind, field, otherwise, names, letter, group, argument, help) \
  {kind, offsetof(cli_options, field), names, letter, group, argument, help},
#include "cli/option.def"
#undef CEL_OPTION
};

const cli_command cli_commands[] = {
#define CEL_COMMAND(name, alias, function, groups, operands, summary, more) \
  {name, alias, function, groups, operands, summary, more},
#include "cli/command.def"
#undef CEL_COMMAND
};
const int cli_n_commands = CEL_COUNT(cli_commands);

// C has no default initializer for list fields in the table: they start empty as all else that is not named.
static void set_defaults(cli_options *o) {
  memset(o, 0, sizeof *o);
#define STR(field, value) o->field = value
#define INT(field, value) o->field = value
#define NAT(field, value) o->field = value
#define U64(field, value) o->field = value
#define NUM(field, value) o->field = value
#define FLAG(field, value) o->field = value
#define LIST(field, value) (void)o->field
#define CEL_OPTION(kind, field, otherwise, names, letter, group, argument, help) kind(field, otherwise);
#include "cli/option.def"
#undef CEL_OPTION
#undef STR
#undef INT
#undef NAT
#undef U64
#undef NUM
#undef FLAG
#undef LIST
}

// Is `name` (n bytes) one of the words of `names`?
static bool named(const char *names, const char *name, size_t n) {
  for (const char *p = names; *p;) {
    size_t w = strcspn(p, " ");
    if (w == n && memcmp(p, name, n) == 0) return true;
    p += w + (p[w] == ' ');
  }
  return false;
}

static const option *find_long(const char *arg, size_t n, int groups) {
  for (int i = 0; i < CEL_COUNT(options); i++) {
    if ((options[i].groups & groups) && named(options[i].names, arg, n)) return &options[i];
  }
  return NULL;
}

static const option *find_short(char letter, int groups) {
  for (int i = 0; i < CEL_COUNT(options); i++) {
    if ((options[i].groups & groups) && options[i].letter == letter) return &options[i];
  }
  return NULL;
}

static int set_number(const option *q, cli_options *o, const char *name, const char *value) {
  char *end;
  errno = 0;
  if (q->kind == INT || q->kind == NAT) {
    long long n = strtoll(value, &end, 10);
    if (errno || *end || end == value) return cli_usage("%s takes a whole number, not \"%s\"", name, value);
    if (q->kind == NAT && n < 0) return cli_usage("%s takes a whole number from 0, not %s", name, value);
    *(int64_t *)(void *)((char *)o + q->at) = n;
  } else if (q->kind == U64) {
    bool negative = *value == '-';
    unsigned long long n = strtoull(value, &end, 10);
    if (errno || *end || end == value) return cli_usage("%s takes a whole number, not \"%s\"", name, value);
    if (q->at == offsetof(cli_options, seed)) o->seed_given = !negative;  // -1, as elsewhere: a random one
    *(uint64_t *)(void *)((char *)o + q->at) = n;
  } else {
    double x = strtod(value, &end);
    if (errno == ERANGE || *end || end == value || isnan(x)) return cli_usage("%s takes a number, not \"%s\"", name, value);
    *(double *)(void *)((char *)o + q->at) = x;
  }
  return EXIT_OK;
}

static int unknown(const cli_command *c, const char *arg, int n) {
  char typed[64];
  snprintf(typed, sizeof typed, "%.*s", n, arg);
  cli_guess g = {.typed = typed};
  for (int i = 0; i < CEL_COUNT(options); i++) {
    if (!(options[i].groups & c->groups)) continue;
    for (const char *p = options[i].names; *p; p += *p == ' ') {
      size_t w = strcspn(p, " ");
      cli_guess_try(&g, p, w);
      p += w;
    }
  }
  return cli_usage("mlxcel %s has no option %.*s%s%.*s%s (mlxcel %s --help lists them)", c->name, n, arg, CLI_GUESS_ARG(g), c->name);
}

static int set(const option *q, cli_options *o, const char *name, const char *value) {
  void *field = (char *)o + q->at;
  if (q->kind == STR) {
    *(const char **)field = value;
  } else if (q->kind == LIST) {
    cli_list *list = field;
    if (list->n == CLI_LIST_MOST) return cli_usage("%s is given more than %d times", name, CLI_LIST_MOST);
    list->items[list->n++] = value;
  } else {
    return set_number(q, o, name, value);
  }
  return EXIT_OK;
}

static int take(const cli_command *c, int argc, char **argv, int *i, cli_options *o) {
  const char *arg = argv[*i], *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
  size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
  const option *q = arg[1] == '-' ? find_long(arg, n, c->groups) : n == 2 ? find_short(arg[1], c->groups) : NULL;
  if (!q) return unknown(c, arg, (int)CEL_MIN(n, 200));
  if (q->kind == FLAG) {
    if (equals) return cli_usage("%.*s takes no value", (int)n, arg);
    *(bool *)((char *)o + q->at) = true;
    return EXIT_OK;
  }
  if (!equals && *i + 1 >= argc) return cli_usage("%s needs a value: %s", arg, q->argument);
  char name[64];
  snprintf(name, sizeof name, "%.*s", (int)n, arg);
  return set(q, o, name, equals ? equals + 1 : argv[++*i]);
}

// How many operands a command takes.
static int operands_most(const cli_command *c) {
  int n = 0;
  for (const char *p = c->operands; *p; p += *p == ' ') {
    p += strcspn(p, " ");
    n++;
  }
  return cel_str_ends(cel_str_of(c->operands), CEL_STR("...")) ? CLI_LIST_MOST : n;
}

int cli_parse(const cli_command *c, int argc, char **argv, int from, cli_options *o) {
  set_defaults(o);
  bool only_operands = false;
  for (int i = from; i < argc; i++) {
    const char *arg = argv[i];
    if (!only_operands && (!strcmp(arg, "-h") || !strcmp(arg, "--help"))) {
      o->help = true;
    } else if (!only_operands && !strcmp(arg, "--")) {
      only_operands = true;
    } else if (!only_operands && arg[0] == '-' && arg[1]) {
      int status = take(c, argc, argv, &i, o);
      if (status) return status;
    } else if (o->n_operands == operands_most(c)) {
      return cli_usage("mlxcel %s takes %s%s, not \"%.200s\" as well (quote a text of several words)", c->name,
                       *c->operands ? c->operands : "options only", *c->operands ? " only" : "", arg);
    } else {
      o->operands[o->n_operands++] = arg;
    }
  }
  if (o->threads > CLI_THREADS_MOST) return cli_usage("--threads takes at most %d", CLI_THREADS_MOST);
  return EXIT_OK;
}

static void print_option(const option *q, FILE *to) {
  char left[96];
  int n = q->letter ? snprintf(left, sizeof left, "-%c, ", q->letter) : snprintf(left, sizeof left, "    ");
  size_t w = strcspn(q->names, " ");
  snprintf(left + n, sizeof left - (size_t)n, "%.*s%s%s", (int)w, q->names, q->argument ? " " : "", q->argument ? q->argument : "");
  fprintf(to, "  %-34s %s\n", left, q->help);
}

static void print_program_help(FILE *to) {
  fputs("mlxcel runs language models from their published checkpoints.\n\nusage: mlxcel COMMAND [options]\n\n", to);
  for (int i = 0; i < cli_n_commands; i++) fprintf(to, "  %-12s %s\n", cli_commands[i].name, cli_commands[i].summary);
  fputs("\nmlxcel COMMAND --help lists a command's options; mlxcel --version says what this is.\n", to);
}

void cli_print_help(const cli_command *c, FILE *to) {
  if (!c) {
    print_program_help(to);
    return;
  }
  fprintf(to, "mlxcel %s: %s\n\nusage: mlxcel %s [options]%s%s\n\n", c->name, c->summary, c->name, *c->operands ? " " : "", c->operands);
  if (*c->more) fprintf(to, "%s\n", c->more);
  for (int i = 0; i < CEL_COUNT(options); i++) {
    if (options[i].groups & c->groups) print_option(&options[i], to);
  }
  fprintf(to, "  %-34s %s\n", "-h, --help", "this text");
}
