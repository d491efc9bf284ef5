#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/env.h"
#include "base/log.h"
#include "cli/cli.h"

static void print_log(void *context, cel_log_level level, const char *text) {
  (void)context;
  static const char *const words[] = {"error: ", "warning: ", "", "", ""};
  fprintf(stderr, "%s%s\n", words[level], text);
}

static const cli_command *find(const char *name) {
  for (int i = 0; i < cli_n_commands; i++) {
    const cli_command *c = &cli_commands[i];
    if (!strcmp(c->name, name) || (c->alias && !strcmp(c->alias, name))) return c;
  }
  return NULL;
}

static int unknown(const char *name) {
  cli_guess g = {.typed = name};
  for (int i = 0; i < cli_n_commands; i++) cli_guess_try(&g, cli_commands[i].name, strlen(cli_commands[i].name));
  return cli_usage("there is no command \"%.200s\"%s%.*s%s (mlxcel --help lists them)", name, CLI_GUESS_ARG(g));
}

static int help(const char *about) {
  const cli_command *c = about ? find(about) : NULL;
  if (about && !c) return unknown(about);
  cli_print_help(c, stdout);
  return EXIT_OK;
}

// What was printed must also have arrived.
static int finish(int status) {
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  if (status == EXIT_OK) fprintf(stderr, "error: standard output: %s\n", errno ? strerror(errno) : "not all of it could be written");
  return status == EXIT_OK ? EXIT_RUNTIME : status;
}

int main(int argc, char **argv) {
  if (argc < 2) {
    cli_print_help(NULL, stderr);
    return EXIT_USAGE;
  }
  if (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
    return finish(help(argc > 2 ? argv[2] : NULL));
  }
  const char *name = !strcmp(argv[1], "-V") || !strcmp(argv[1], "--version") ? "version" : argv[1];
  const cli_command *c = find(name);
  if (!c) return unknown(name);
  cli_options o;
  int status = cli_parse(c, argc, argv, 2, &o);
  if (status) return status;
  if (o.help) {
    cli_print_help(c, stdout);
    return finish(EXIT_OK);
  }
  // A choice that was made is said to people; programs that read what is said here wait for errors.
  cel_log_set(print_log, NULL, o.verbose ? CEL_LOG_DEBUG : isatty(STDERR_FILENO) ? CEL_LOG_NOTICE : CEL_LOG_WARN);
  cel_err err = {0};
  bool looks = c->run == cmd_env || c->run == cmd_version;  // what helps to find out what is wrong
  if (!looks && cel_env_check(&err) != CEL_OK) return cli_fail(&err);
  return finish(c->run(&o));
}
