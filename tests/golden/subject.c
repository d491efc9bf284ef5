#include "golden/subject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

void subject_open(subject *s, const char *model) {
  cel_err err = {0};
  char path[600];
  cel_arch a;
  snprintf(path, sizeof path, "%s/data/oracle/%s", CEL_TEST_DATA, model);
  cel_arena_init(&s->arena);
  cel_status status = cel_checkpoint_open(path, &s->checkpoint, &err);
  if (status == CEL_OK) status = cel_arch_from_config(s->checkpoint->config, NULL, &s->arena, &a, &err);
  if (status != CEL_OK) fail_msg("%s: %s", path, err.text);
  s->arch = cel_checkpoint_arch(&a, s->checkpoint, s->divisors);
  s->storage = cel_xla_storage(s->checkpoint);
}

void subject_close(subject *s) {
  cel_checkpoint_close(s->checkpoint);
  cel_arena_deinit(&s->arena);
}
