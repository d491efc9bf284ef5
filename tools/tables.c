#include "tables.h"

const tool_option tool_options[] = {
#define CEL_OPTION(kind, field, otherwise, names, letter, group, argument, help) \
  {#kind, names, letter, group, argument, help},
#include "cli/option.def"
#undef CEL_OPTION
    {0}};

const tool_command tool_commands[] = {
#define CEL_COMMAND(name, alias, function, groups, operands, summary, more) \
  {name, alias, groups, operands, summary, more},
#include "cli/command.def"
#undef CEL_COMMAND
    {0}};

bool tool_takes(const tool_command *c, const tool_option *o) { return (c->groups & o->groups) != 0; }

bool tool_is_path(const tool_option *o) {
  static const char *const words[] = {"FILE", "DIR", "MODEL"};
  for (int i = 0; o->argument && i < CEL_COUNT(words); i++) {
    if (strstr(o->argument, words[i])) return true;
  }
  return false;
}

void tool_each_name(const tool_option *o, void (*each)(FILE *to, const char *name, int n), FILE *to) {
  for (const char *p = o->names; *p; p += *p == ' ') {
    size_t n = strcspn(p, " ");
    each(to, p, (int)n);
    p += n;
  }
}
