// mlxcel download: a model from a hub into the store, with a progress bar on a terminal and a line a file elsewhere.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"
#include "cli/cli.h"
#include "model/hub/fetch.h"
#include "model/hub/hub.h"
#include "model/store.h"

// ---- progress ------------------------------------------------------------------------------------------------

typedef struct meter {
  bool bar, shown;
  double began_ms, drawn_ms;
  int64_t skipped;     // bytes that were there when it began: no part of the rate
  double rate;         // bytes per second, smoothed
  int64_t last_done;
} meter;

static void wipe(meter *m) {
  if (m->shown) fputs("\r\033[K", stderr);
  m->shown = false;
}

static void note(void *context, const char *text) {
  wipe(context);
  fprintf(stderr, "%s\n", text);
}

static void add_time_left(cel_buf *b, double seconds) {
  if (seconds >= 360000) cel_buf_addz(b, "--:--");
  else if (seconds >= 3600) cel_buf_printf(b, "%d:%02d:%02d", (int)seconds / 3600, (int)seconds / 60 % 60, (int)seconds % 60);
  else cel_buf_printf(b, "%02d:%02d", (int)seconds / 60, (int)seconds % 60);
}

// A name from a hub may hold what a terminal obeys; it is cut to fit the line as well.
static void add_name(cel_buf *b, const char *name, int most) {
  const char *slash = strrchr(name, '/');
  name = slash ? slash + 1 : name;
  for (int n = 0; *name && n < most; n++, name++) cel_buf_addc(b, (unsigned char)*name < ' ' || (unsigned char)*name >= 127 ? '?' : *name);
}

// 79 columns at most, so that the line never wraps on an ordinary terminal.
static void draw(meter *m, const cel_fetch_progress *p) {
  double now = cel_now_ms(), since = now - m->drawn_ms, fraction = p->total ? (double)p->done / (double)p->total : 1;
  if (m->shown && since < 200) return;
  if (m->drawn_ms > 0 && since > 0 && p->done >= m->last_done) {
    double rate = (double)(p->done - m->last_done) / since * 1e3, weight = CEL_MIN(since / 3000, 1.0);
    m->rate = m->rate > 0 ? m->rate + (rate - m->rate) * weight : rate;
  }
  m->drawn_ms = now;
  m->last_done = p->done;
  cel_buf b = {0};
  int n = (int)(fraction * 14);
  cel_buf_printf(&b, "\r\033[K[%.*s%.*s] %3d %% of ", n, "##############", 14 - n, "..............", (int)(fraction * 100));
  cel_hub_add_size(&b, p->total);
  cel_buf_addz(&b, "  ");
  cel_hub_add_size(&b, (int64_t)m->rate);
  cel_buf_addz(&b, "/s  ");
  if (m->rate > 0) add_time_left(&b, (double)(p->total - p->done) / m->rate);
  else cel_buf_addz(&b, "--:--");
  cel_buf_printf(&b, "  %d/%d ", p->file, p->n_files);
  add_name(&b, p->path, 79 + 4 - (int)b.n);
  if (!b.failed) fputs(b.p, stderr);
  cel_buf_deinit(&b);
  m->shown = true;
}

static bool progress(void *context, const cel_fetch_progress *p) {
  meter *m = context;
  if (cli_interrupted) return false;
  if (!p->path) return true;  // still asking for the record
  if (m->bar) {
    draw(m, p);
  } else if (p->file_ended) {
    cel_buf b = {0};
    cel_buf_printf(&b, "[%d/%d] ", p->file, p->n_files);
    add_name(&b, p->path, 200);
    cel_buf_addz(&b, "  ");
    cel_hub_add_size(&b, p->file_bytes);
    if (!b.failed) fprintf(stderr, "%s\n", b.p);
    cel_buf_deinit(&b);
  }
  return true;
}

// ---- what was asked for --------------------------------------------------------------------------------------

static cel_status read_offline(const cli_options *o, bool *offline, cel_err *err) {
  CEL_TRY(cel_env_switch(CEL_ENV_LLAMA_ARG_OFFLINE, false, offline, err));
  *offline = *offline || o->offline;
  return CEL_OK;
}

static cel_status read_stall(int *seconds, cel_err *err) {
  int64_t n;
  CEL_TRY(cel_env_integer(CEL_ENV_HF_HUB_DOWNLOAD_TIMEOUT, 0, &n, err));
  *seconds = (int)n;
  return CEL_OK;
}

static const char *find_token(const cli_options *o) {
  if (o->token && *o->token) return o->token;
  return cel_env_or(CEL_ENV_HF_TOKEN, cel_env(CEL_ENV_HUGGING_FACE_HUB_TOKEN));
}

typedef struct wish {
  cel_buf repo, tag, folder;
  const char *patterns[CLI_LIST_MOST + 1];
  int n_patterns;
  bool offline;
  cel_fetch_options fetch;
} wish;

static void forget(wish *w) {
  cel_buf_deinit(&w->repo);
  cel_buf_deinit(&w->tag);
  cel_buf_deinit(&w->folder);
}

static cel_status read_wish(const cli_options *o, wish *w, cel_err *err) {
  cel_buf typed = {0};
  cel_hub_split_tag(o->operands[0], &typed, &w->tag);
  cel_status s = typed.failed || w->tag.failed ? cel_fail_oom(err, "a model's name") : cel_hub_repo_name(typed.p ? typed.p : "", &w->repo, err);
  cel_buf_deinit(&typed);
  CEL_TRY(s);
  for (int i = 0; i < o->include.n; i++) w->patterns[w->n_patterns++] = o->include.items[i];
  if (w->tag.n) w->patterns[w->n_patterns++] = w->tag.p;
  if (o->local_dir) {
    cel_buf_addz(&w->folder, o->local_dir);
  } else {
    CEL_TRY(cel_store_root(o->models_dir, &w->folder, err));
    cel_buf_printf(&w->folder, "/%s", w->repo.p);
  }
  if (w->folder.failed) return cel_fail_oom(err, "a folder name");
  CEL_TRY(read_offline(o, &w->offline, err));
  w->fetch = (cel_fetch_options){.repo = w->repo.p, .revision = o->revision, .token = find_token(o), .folder = w->folder.p,
                                 .patterns = w->patterns, .n_patterns = w->n_patterns, .in_place = o->local_dir != NULL, .force = o->force};
  return read_stall(&w->fetch.stall_s, err);
}

// ---- the command -----------------------------------------------------------------------------------------------

static cel_status without_network(const wish *w, cel_err *err) {
  cel_buf what = {0};
  cel_status s = CEL_OK;
  if (cel_store_missing(w->folder.p, &what)) {
    s = cel_fail(err, CEL_NOT_FOUND, "%s is not in %s (it lacks %s), and --offline or LLAMA_ARG_OFFLINE forbids to fetch it", w->repo.p, w->folder.p,
                 what.p ? what.p : "files");
  }
  cel_buf_deinit(&what);
  return s;
}

static void print_end(const wish *w, const cel_fetch_result *r, double ms) {
  cel_buf b = {0};
  if (r->n_fetched == 0) {
    cel_buf_printf(&b, "%s is there", w->repo.p);
  } else {
    cel_buf_printf(&b, "%s: %d file%s, ", w->repo.p, r->n_fetched, r->n_fetched == 1 ? "" : "s");
    cel_hub_add_size(&b, r->bytes_fetched);
    cel_buf_printf(&b, " in %.1f s", ms / 1e3);
  }
  if (!b.failed) fprintf(stderr, "%s (commit %.12s)\n", b.p, r->commit);
  cel_buf_deinit(&b);
}

static cel_status fetch(wish *w, cel_err *err) {
  const char *terminal = cel_env(CEL_ENV_TERM);
  meter m = {.bar = isatty(STDERR_FILENO) && !(terminal && !strcmp(terminal, "dumb")), .began_ms = cel_now_ms()};
  cel_fetch_watch watch = {progress, note, &m};
  cel_fetch_result r;
  w->fetch.watch = &watch;
  cli_catch_interrupts();
  cel_status s = cel_fetch(&w->fetch, &r, err);
  wipe(&m);
  if (s == CEL_OK) print_end(w, &r, cel_now_ms() - m.began_ms);
  if (s == CEL_CANCELLED) {
    s = cel_fail(err, s, "interrupted; the same command goes on where this one stopped");
  }
  return s;
}

int cmd_download(const cli_options *o) {
  if (o->n_operands != 1) return cli_usage("give the model to download: OWNER/NAME");
  if (o->local_dir && o->models_dir) return cli_usage("--local-dir and --models-dir exclude each other");
  if (o->local_dir && !*o->local_dir) return cli_usage("--local-dir needs a folder's name");
  if (o->revision && !*o->revision) return cli_usage("--revision needs a branch, tag or commit");
  cel_err err = {0};
  wish w = {0};
  cel_status s = read_wish(o, &w, &err);
  if (s == CEL_OK) s = w.offline ? without_network(&w, &err) : fetch(&w, &err);
  int status = s == CEL_OK ? EXIT_OK : cli_fail(&err);
  if (s == CEL_OK) printf("%s\n", w.folder.p);
  forget(&w);
  return status;
}
