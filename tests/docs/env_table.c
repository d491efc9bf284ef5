// Prints docs/environment-variables.md: the table of environment variables, those of all builds.
#include <stdio.h>
#include <string.h>

#define CEL_ENV_ALL
static const struct {
  const char *name, *accepted, *unset, *read, *meaning;
} rows[] = {
#define CEL_ENV(id, name, check, accepted, unset, read, meaning) {name, accepted, unset, read, meaning},
#include "base/env.def"
#undef CEL_ENV
};

static const char intro[] =
    "# Environment variables\n"
    "\n"
    "<!-- Printed by tests/docs/env_table.c; `make docs` writes it anew. -->\n"
    "\n"
    "All that is read from the environment is in one table, `src/base/env.def`. It is checked as a whole when the program starts:\n"
    "a value outside the accepted set is an error that names variable, value and set, whatever the command (but for `mlxcel\n"
    "env` and `mlxcel version`, which help to find it). An empty variable counts as unset. `mlxcel env` prints the variables of\n"
    "a build with their values, `mlxcel env --json` the same for programs. Options go before variables.\n"
    "\n"
    "Variables named `MLXCEL_XLA_...` exist in builds with the OpenXLA path (`CEL_XLA_BACKEND`) only, and those named\n"
    "`MLXCEL_MLX_...` in builds with MLX; elsewhere they have no effect, and neither has `MLXCEL_BACKEND=xla`. Where they exist, a\n"
    "name that begins so and is not in the table is an error.\n";

static void heading(const char *name) {
  static const struct {
    const char *first, *title;
  } parts[] = {{"MLXCEL_BACKEND", "What runs"}, {"MLXCEL_XLA_DEVICE", "The OpenXLA path"}, {"MLXCEL_MODELS_DIR", "Models"},
               {"CURL_CA_BUNDLE", "Of the system"}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strcmp(parts[i].first, name) != 0) continue;
    printf("\n## %s\n\n| variable | accepted | unset | read | meaning |\n|---|---|---|---|---|\n", parts[i].title);
  }
}

int main(void) {
  fputs(intro, stdout);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    heading(rows[i].name);
    printf("| `%s` | %s | %s | %s | %s |\n", rows[i].name, rows[i].accepted, rows[i].unset, rows[i].read, rows[i].meaning);
  }
  return 0;
}
