// Shared by the tests of arch/: a config text in, an arch or a message out.
#ifndef CEL_TESTS_ARCH_TEST_H
#define CEL_TESTS_ARCH_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "arch/arch.h"

typedef struct fixture {
  cel_arena arena;
  cel_arch arch;
  cel_err err;
  cel_json *config, *generation;
} fixture;

static inline cel_json *parse(const char *text) {
  cel_json *v = NULL;
  cel_err err = {0};
  if (cel_json_parse(cel_str_of(text), "test", &v, &err) != CEL_OK) fail_msg("test's own JSON: %s", err.text);
  return v;
}

// Reads the config and keeps all until drop().
static inline cel_status read_with(fixture *f, const char *config, const char *generation) {
  *f = (fixture){.config = parse(config)};
  cel_arena_init(&f->arena);
  if (generation) f->generation = parse(generation);
  return cel_arch_from_config(f->config, f->generation, &f->arena, &f->arch, &f->err);
}

static inline void drop(fixture *f) {
  cel_arena_deinit(&f->arena);
  cel_json_decref(f->config);
  cel_json_decref(f->generation);
}

static inline void accept(fixture *f, const char *config) {
  if (read_with(f, config, NULL) != CEL_OK) fail_msg("refused: %s", f->err.text);
}

// The config must be refused with a message that holds every one of the words (ended by NULL).
static inline void refuse(const char *config, cel_status status, const char *const *words) {
  fixture f;
  cel_status got = read_with(&f, config, NULL);
  if (got != status) fail_msg("status %d instead of %d, message \"%s\", for %s", got, status, f.err.text, config);
  for (; *words; words++)
    if (!strstr(f.err.text, *words)) fail_msg("\"%s\" is missing in \"%s\"", *words, f.err.text);
  drop(&f);
}
#define REFUSE(config, status, ...) refuse((config), (status), (const char *const[]){__VA_ARGS__, NULL})

#endif
