// mlxcel rm: removes a model from the store, after a question on a terminal.
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "model/hub/hub.h"
#include "model/store.h"

typedef struct target {
  cel_buf repo, root, path, partial;
} target;

static void forget(target *t) {
  cel_buf *all[] = {&t->repo, &t->root, &t->path, &t->partial};
  for (int i = 0; i < CEL_COUNT(all); i++) cel_buf_deinit(all[i]);
}

static cel_status name_target(const cli_options *o, target *t, cel_err *err) {
  CEL_TRY(cel_hub_repo_name(o->operands[0], &t->repo, err));
  CEL_TRY(cel_store_root(o->models_dir, &t->root, err));
  cel_buf_printf(&t->path, "%s/%s", t->root.p, t->repo.p);
  cel_buf_printf(&t->partial, "%s.partial", t->path.p ? t->path.p : "");
  return t->path.failed || t->partial.failed ? cel_fail_oom(err, "a path") : CEL_OK;
}

static cel_status not_there(const target *t, cel_err *err) {
  cel_buf cache = {0};
  cel_status s = cel_store_hub_cache(t->repo.p, &cache, NULL);
  if (s == CEL_OK && cache.n) {
    s = cel_fail(err, CEL_UNSUPPORTED, "%s lies in the Hugging Face cache only (%s), and that is not mlxcel's to change", t->repo.p, cache.p);
  } else {
    s = cel_fail(err, CEL_NOT_FOUND, "the store (%s) has no model %s (mlxcel list says what it has)", t->root.p, t->repo.p);
  }
  cel_buf_deinit(&cache);
  return s;
}

static cel_status check_revision(const cli_options *o, const target *t, cel_err *err) {
  cel_store_origin there;
  if (!o->revision) return CEL_OK;
  if (!cel_store_origin_read(cel_is_dir(t->path.p) ? t->path.p : t->partial.p, &there)) {
    return cel_fail(err, CEL_INVALID, "%s has no record of its revision; leave --revision away to remove it", t->path.p);
  }
  if (!strcmp(o->revision, there.revision) || !strcmp(o->revision, there.commit)) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s is of revision %s (commit %s), not %.200s", t->path.p, there.revision, there.commit, o->revision);
}

// 1: yes, 0: no; a size to know what is at stake.
static int ask(const target *t) {
  int64_t whole, partial;
  cel_buf size = {0};
  char line[64];
  cel_store_measure(t->path.p, &whole, NULL);
  cel_store_measure(t->partial.p, &partial, NULL);
  cel_hub_add_size(&size, whole + partial);
  fprintf(stderr, "remove %s (%s) from %s? [y/N] ", t->repo.p, size.p ? size.p : "", t->root.p);
  fflush(stderr);
  cel_buf_deinit(&size);
  if (!fgets(line, sizeof line, stdin)) return 0;
  line[strcspn(line, "\r\n")] = 0;
  for (char *p = line; *p; p++) *p = (char)tolower((unsigned char)*p);
  return !strcmp(line, "y") || !strcmp(line, "yes");
}

static cel_status remove_it(const target *t, cel_err *err) {
  int64_t bytes;
  CEL_TRY(cel_store_remove(t->root.p, t->repo.p, &bytes, err));
  cel_buf size = {0};
  cel_hub_add_size(&size, bytes);
  printf("removed %s (%s)\n", t->repo.p, size.p ? size.p : "");
  cel_buf_deinit(&size);
  return CEL_OK;
}

static cel_status run(const cli_options *o, target *t, cel_err *err) {
  CEL_TRY(name_target(o, t, err));
  if (!cel_is_dir(t->path.p) && !cel_is_dir(t->partial.p) && access(t->path.p, F_OK) != 0) return not_there(t, err);
  CEL_TRY(check_revision(o, t, err));
  if (!o->yes) {
    if (!isatty(STDIN_FILENO)) return cel_fail(err, CEL_INVALID, "standard input is no terminal to ask on: give --yes to remove %s", t->repo.p);
    if (!ask(t)) {
      puts("Aborted");
      return CEL_OK;
    }
  }
  return remove_it(t, err);
}

int cmd_rm(const cli_options *o) {
  if (o->n_operands != 1) return cli_usage("give the model to remove: OWNER/NAME");
  cel_err err = {0};
  target t = {{0}, {0}, {0}, {0}};
  int status = run(o, &t, &err) == CEL_OK ? EXIT_OK : cli_fail(&err);
  forget(&t);
  return status;
}
