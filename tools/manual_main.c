// manual FOLDER: writes mlxcel.1, mlxcel-COMMAND.1 and mlxcel.{bash,zsh,fish} into it.
#include <errno.h>
#include <stdlib.h>

#include "tables.h"

static FILE *create(const char *folder, const char *name) {
  char path[4096];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) errno = ENAMETOOLONG;
  FILE *f = errno ? NULL : fopen(path, "w");
  if (f) return f;
  fprintf(stderr, "manual: %s/%s: %s\n", folder, name, strerror(errno));
  exit(1);
}

static void finish(FILE *f, const char *name) {
  bool bad = ferror(f);
  if (fclose(f) == 0 && !bad) return;
  fprintf(stderr, "manual: %s could not be written\n", name);
  exit(1);
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*print)(FILE *to);
  } shells[] = {{"mlxcel.bash", tool_bash}, {"mlxcel.zsh", tool_zsh}, {"mlxcel.fish", tool_fish}};
  if (argc != 2) {
    fputs("usage: manual FOLDER\n", stderr);
    return 2;
  }
  for (int i = 0; i < CEL_COUNT(shells); i++) {
    FILE *f = create(argv[1], shells[i].name);
    shells[i].print(f);
    finish(f, shells[i].name);
  }
  FILE *f = create(argv[1], "mlxcel.1");
  tool_manual(NULL, f);
  finish(f, "mlxcel.1");
  for (const tool_command *c = tool_commands; c->name; c++) {
    char name[64];
    snprintf(name, sizeof name, "mlxcel-%s.1", c->name);
    f = create(argv[1], name);
    tool_manual(c, f);
    finish(f, name);
  }
  return 0;
}
