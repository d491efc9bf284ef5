// Completions for bash, zsh and fish.
#include "tables.h"

static void word(FILE *to, const char *name, int n) { fprintf(to, " %.*s", n, name); }
static void pattern(FILE *to, const char *name, int n) { fprintf(to, "%.*s|", n, name); }

static void command_pattern(FILE *to, const tool_command *c) {
  fprintf(to, "%s%s%s", c->name, c->alias ? "|" : "", c->alias ? c->alias : "");
}

// ---- bash --------------------------------------------------------------------------------------------

static void bash_values(FILE *to) {
  fputs("  case $previous in\n    ", to);
  for (const tool_option *o = tool_options; o->names; o++) {
    if (tool_is_path(o)) tool_each_name(o, pattern, to);
  }
  fputs("-m|-o)\n      COMPREPLY=($(compgen -f -- \"$current\"))\n      compopt -o filenames 2>/dev/null\n      return ;;\n    ", to);
  for (const tool_option *o = tool_options; o->names; o++) {
    if (o->argument && !tool_is_path(o)) tool_each_name(o, pattern, to);
  }
  fputs("-)\n      return ;;\n  esac\n", to);
}

void tool_bash(FILE *to) {
  fputs("# bash completion of mlxcel, made from its tables\n_mlxcel() {\n"
        "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} words\n"
        "  if [[ $COMP_CWORD == 1 ]]; then\n    COMPREPLY=($(compgen -W \"", to);
  for (const tool_command *c = tool_commands; c->name; c++) fprintf(to, "%s ", c->name);
  fputs("--help --version\" -- \"$current\"))\n    return\n  fi\n", to);
  bash_values(to);
  fputs("  case ${COMP_WORDS[1]} in\n", to);
  for (const tool_command *c = tool_commands; c->name; c++) {
    fputs("    ", to);
    command_pattern(to, c);
    fputs(") words=\"--help", to);
    for (const tool_option *o = tool_options; o->names; o++) {
      if (tool_takes(c, o)) tool_each_name(o, word, to);
    }
    fputs("\" ;;\n", to);
  }
  fputs("    *) return ;;\n  esac\n"
        "  if [[ $current == -* ]]; then\n    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "  else\n    COMPREPLY=($(compgen -f -- \"$current\"))\n    compopt -o filenames 2>/dev/null\n  fi\n}\n"
        "complete -F _mlxcel mlxcel\n", to);
}

// ---- zsh ---------------------------------------------------------------------------------------------

// Inside a '...' specification of _arguments, where [ ] : and \ mean something.
static void zsh_text(FILE *to, const char *s) {
  for (; *s; s++) {
    if (strchr("[]:\\", *s)) fputc('\\', to);
    if (*s == '\'') fputs("'\\''", to);
    else fputc(*s, to);
  }
}

static void zsh_spec(FILE *to, const tool_option *o, const char *name, int n) {
  fprintf(to, "        '%s%.*s%s[", strcmp(o->kind, "LIST") ? "" : "*", n, name, o->argument && n > 2 ? "=" : "");
  zsh_text(to, o->help);
  fputc(']', to);
  if (o->argument) {
    fputc(':', to);
    zsh_text(to, o->argument);
    fputs(tool_is_path(o) ? ":_files" : ": ", to);
  }
  fputs("' \\\n", to);
}

static void zsh_option(FILE *to, const tool_option *o) {
  char letter[3] = {'-', o->letter, 0};
  if (o->letter) zsh_spec(to, o, letter, 2);
  for (const char *p = o->names; *p; p += *p == ' ') {
    size_t n = strcspn(p, " ");
    zsh_spec(to, o, p, (int)n);
    p += n;
  }
}

void tool_zsh(FILE *to) {
  fputs("#compdef mlxcel\n# zsh completion of mlxcel, made from its tables\n_mlxcel() {\n  local -a commands\n  commands=(\n", to);
  for (const tool_command *c = tool_commands; c->name; c++) {
    fprintf(to, "    '%s:", c->name);
    zsh_text(to, c->summary);
    fputs("'\n", to);
  }
  fputs("  )\n  if (( CURRENT == 2 )); then\n    _describe -t commands command commands\n    return\n  fi\n"
        "  local command=${words[2]}\n  shift words\n  (( CURRENT-- ))\n  case $command in\n", to);
  for (const tool_command *c = tool_commands; c->name; c++) {
    fputs("    ", to);
    command_pattern(to, c);
    fputs(")\n      _arguments \\\n", to);
    for (const tool_option *o = tool_options; o->names; o++) {
      if (tool_takes(c, o)) zsh_option(to, o);
    }
    fputs("        '(- *)'{-h,--help}'[a summary of the options]' \\\n        '*:operand:_files' ;;\n", to);
  }
  fputs("  esac\n}\n_mlxcel \"$@\"\n", to);
}

// ---- fish --------------------------------------------------------------------------------------------

static void fish_long(FILE *to, const char *name, int n) { fprintf(to, " -l %.*s", n - 2, name + 2); }

// Inside '...' of fish, where \ and ' are escaped with a backslash.
static void fish_text(FILE *to, const char *s) {
  for (; *s; s++) {
    if (*s == '\'' || *s == '\\') fputc('\\', to);
    fputc(*s, to);
  }
}

static void fish_option(FILE *to, const tool_option *o) {
  fputs("complete -c mlxcel -n '__fish_seen_subcommand_from", to);
  for (const tool_command *c = tool_commands; c->name; c++) {
    if (tool_takes(c, o)) fprintf(to, " %s%s%s", c->name, c->alias ? " " : "", c->alias ? c->alias : "");
  }
  fputc('\'', to);
  if (o->letter) fprintf(to, " -s %c", o->letter);
  tool_each_name(o, fish_long, to);
  if (o->argument) fputs(tool_is_path(o) ? " -r -F" : " -x", to);
  fputs(" -d '", to);
  fish_text(to, o->help);
  fputs("'\n", to);
}

void tool_fish(FILE *to) {
  fputs("# fish completion of mlxcel, made from its tables\n", to);
  for (const tool_command *c = tool_commands; c->name; c++) {
    fprintf(to, "complete -c mlxcel -n __fish_use_subcommand -f -a %s -d '", c->name);
    fish_text(to, c->summary);
    fputs("'\n", to);
  }
  for (const tool_option *o = tool_options; o->names; o++) fish_option(to, o);
  fputs("complete -c mlxcel -s h -l help -d 'a summary of the options'\n", to);
}
