// Manual pages in man(7): one of the program, one of each command.
#include "tables.h"

// Text in running roff: minus signs that can be pasted, no line that looks like a request.
static void roff(FILE *to, const char *s, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool first = i == 0 || s[i - 1] == '\n';
    if (first && (s[i] == '.' || s[i] == '\'')) fputs("\\&", to);
    if (s[i] == '\\') fputs("\\e", to);
    else if (s[i] == '-') fputs("\\-", to);
    else fputc(s[i], to);
  }
}

static void text(FILE *to, const char *s) { roff(to, s, strlen(s)); }

static void head(FILE *to, const char *title, const char *name, const char *summary) {
  fprintf(to, ".TH %s 1 \"\" \"mlxcel %s\" \"mlxcel\"\n.SH NAME\n", title, CEL_VERSION);
  text(to, name);
  fputs(" \\- ", to);
  text(to, summary);
  fputs("\n", to);
}

static void option(FILE *to, const tool_option *o) {
  fputs(".TP\n", to);
  if (o->letter) fprintf(to, "\\fB\\-%c\\fR, ", o->letter);
  for (const char *p = o->names; *p; p += *p == ' ') {
    size_t n = strcspn(p, " ");
    if (p != o->names) fputs(", ", to);
    fputs("\\fB", to);
    roff(to, p, n);
    fputs("\\fR", to);
    p += n;
  }
  if (o->argument) {
    fputs(" \\fI", to);
    text(to, o->argument);
    fputs("\\fR", to);
  }
  fputc('\n', to);
  text(to, o->help);
  fputc('\n', to);
}

static const char statuses[] =
    ".SH EXIT STATUS\n.TP\n0\nit worked\n.TP\n1\nit failed; one line on standard error says why\n"
    ".TP\n2\nthe command line was wrong\n";

static void command_page(const tool_command *c, FILE *to) {
  char title[64], full[64];
  snprintf(full, sizeof full, "mlxcel-%s", c->name);
  snprintf(title, sizeof title, "MLXCEL\\-%s", c->name);
  for (char *p = title; *p; p++) *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
  head(to, title, full, c->summary);
  fprintf(to, ".SH SYNOPSIS\n.B mlxcel %s\n[\\fIoptions\\fR]", c->name);
  if (*c->operands) {
    fputc(' ', to);
    text(to, c->operands);
  }
  fputs("\n.SH DESCRIPTION\n", to);
  fputc(*c->summary - (*c->summary >= 'a' && *c->summary <= 'z' ? 'a' - 'A' : 0), to);
  text(to, c->summary + 1);
  fputs(".\n", to);
  if (c->alias) fprintf(to, "May also be written\n.BR \"mlxcel %s\" .\n", c->alias);
  if (*c->more) {
    fputs(".PP\n.nf\n", to);
    text(to, c->more);
    fputs(".fi\n", to);
  }
  fputs(".SH OPTIONS\n", to);
  for (const tool_option *o = tool_options; o->names; o++) {
    if (tool_takes(c, o)) option(to, o);
  }
  fputs(".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nprints a summary of this page\n", to);
  fputs(statuses, to);
  fputs(".SH SEE ALSO\n.BR mlxcel (1)\n", to);
}

static const char description[] =
    ".SH DESCRIPTION\nmlxcel runs language models from their published checkpoints: a folder with\n.I config.json\n"
    "and safetensors, or a GGUF file.\nA model is named by its path, by\n.IR OWNER/NAME ,\nor by a bare\n.IR NAME .\n"
    "Names are looked up in\n.IR ./models/NAME ,\nin the Hugging Face cache, and in the store.\n"
    ".PP\n.B mlxcel\n.I COMMAND\n.B \\-\\-help\nlists the options of a command;\n.B mlxcel \\-\\-version\nsays what this build is.\n";

static const char environment[] =
    ".SH ENVIRONMENT\n.B mlxcel env\nlists every variable this build reads, with what it accepts and its value now.\n"
    ".SH FILES\n.TP\n.I ~/.cache/mlxcel/models/OWNER/NAME\nthe model store (MLXCEL_MODELS_DIR, MLXCEL_CACHE_DIR)\n";

static void program_page(FILE *to) {
  head(to, "MLXCEL", "mlxcel", "runs language models from their published checkpoints");
  fputs(".SH SYNOPSIS\n.B mlxcel\n.I COMMAND\n[\\fIoptions\\fR]\n", to);
  fputs(description, to);
  fputs(".SH COMMANDS\n", to);
  for (const tool_command *c = tool_commands; c->name; c++) {
    fprintf(to, ".TP\n.BR mlxcel\\-%s (1)\n", c->name);
    text(to, c->summary);
    fputc('\n', to);
  }
  fputs(environment, to);
  fputs(statuses, to);
  fputs(".SH SEE ALSO\n", to);
  for (const tool_command *c = tool_commands; c->name; c++) fprintf(to, ".BR mlxcel\\-%s (1)%s\n", c->name, c[1].name ? "," : "");
}

void tool_manual(const tool_command *c, FILE *to) {
  if (c) command_page(c, to);
  else program_page(to);
}
