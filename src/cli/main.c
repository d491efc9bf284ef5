#include <string.h>

#include "base/log.h"
#include "cli/cli.h"

static void print_log(void *context, cel_log_level level, const char *text) {
  (void)context;
  static const char *const words[] = {"error: ", "warning: ", "", ""};
  fprintf(stderr, "%s%s\n", words[level], text);
}

static const cli_command *find(const char *name) {
  for (int i = 0; i < cli_n_commands; i++) {
    const cli_command *c = &cli_commands[i];
    if (!strcmp(c->name, name) || (c->alias && !strcmp(c->alias, name))) return c;
  }
  return NULL;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    cli_print_help(NULL, stderr);
    return EXIT_USAGE;
  }
  if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
    const cli_command *about = argc > 2 ? find(argv[2]) : NULL;
    cli_print_help(about, stdout);
    return EXIT_OK;
  }
  const char *name = !strcmp(argv[1], "-V") || !strcmp(argv[1], "--version") ? "version" : argv[1];
  const cli_command *c = find(name);
  if (!c) return cli_usage("there is no command \"%s\"; mlxcel --help lists them", name);
  cli_options o;
  int status = cli_parse(c, argc, argv, 2, &o);
  if (status) return status;
  if (o.help) {
    cli_print_help(c, stdout);
    return EXIT_OK;
  }
  cel_log_set(print_log, NULL, o.verbose ? CEL_LOG_DEBUG : CEL_LOG_WARN);
  status = c->run(&o);
  if (fflush(stdout) != 0 && status == EXIT_OK) status = EXIT_RUNTIME;
  return status;
}
