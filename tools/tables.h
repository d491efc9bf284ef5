// The tables of the command line (command.def, option.def), for what is made from them: manual and completions.
#ifndef CEL_TOOLS_TABLES_H
#define CEL_TOOLS_TABLES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

typedef struct tool_option {
  const char *kind;   // "STR", "FLAG", ...
  const char *names;  // long names, separated by spaces
  char letter;        // 0: none
  int groups;
  const char *argument, *help;  // argument is NULL for flags
} tool_option;

typedef struct tool_command {
  const char *name, *alias;
  int groups;
  const char *operands, *summary, *more;
} tool_command;

extern const tool_option tool_options[];  // ended by NULL names
extern const tool_command tool_commands[];  // ended by a NULL name

bool tool_takes(const tool_command *c, const tool_option *o);
bool tool_is_path(const tool_option *o);  // its value is a file, a folder, or a model (which may be one)
// Calls `each` for every long name of an option ("--top-k").
void tool_each_name(const tool_option *o, void (*each)(FILE *to, const char *name, int n), FILE *to);

// manual.c
void tool_manual(const tool_command *c, FILE *to);  // NULL: the program's own page
// completion.c
void tool_bash(FILE *to);
void tool_zsh(FILE *to);
void tool_fish(FILE *to);

#endif
