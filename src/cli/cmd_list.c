// mlxcel list: what the store holds, as a table, as names, or as JSON.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/env.h"
#include "cli/cli.h"
#include "model/hub/hub.h"
#include "model/store.h"

enum { NAME_COLUMNS = 40 };

static int by_size(const void *a, const void *b) {
  const cel_store_entry *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  return strcmp(x->id, y->id);
}

static int by_time(const void *a, const void *b) {
  const cel_store_entry *x = a, *y = b;
  if (x->modified != y->modified) return x->modified > y->modified ? -1 : 1;
  return strcmp(x->id, y->id);
}

// Unfinished downloads are told of below the table, not in it. Moves them to the end; returns how many are whole.
static int whole_ones(cel_store_listing *l) {
  int n = 0;
  for (int i = 0; i < l->n; i++) {
    if (l->entries[i].partial) continue;
    cel_store_entry e = l->entries[i];
    memmove(l->entries + n + 1, l->entries + n, (size_t)(i - n) * sizeof e);
    l->entries[n++] = e;
  }
  return n;
}

static void add_age(cel_buf *b, int64_t modified, int64_t now) {
  static const struct {
    int64_t seconds;
    const char *word;
  } units[] = {{365 * 86400LL, "year"}, {28 * 86400LL, "month"}, {7 * 86400LL, "week"}, {86400, "day"}, {3600, "hour"}, {60, "min"}};
  if (modified < 0) {
    cel_buf_addc(b, '-');
    return;
  }
  for (int i = 0; i < CEL_COUNT(units); i++) {
    int64_t n = (now - modified) / (i == 1 ? 30 * 86400LL : units[i].seconds);  // months begin at 28 days, and last 30
    if (now - modified < units[i].seconds) continue;
    n = CEL_MAX(n, 1);
    cel_buf_printf(b, "%lld %s%s ago", (long long)n, units[i].word, n > 1 && i < 5 ? "s" : "");
    return;
  }
  cel_buf_addz(b, "just now");
}

static void add_name(cel_buf *b, const char *id) {
  int n = (int)strlen(id);
  if (n > NAME_COLUMNS) cel_buf_printf(b, "%.*s\xe2\x80\xa6  ", NAME_COLUMNS - 1, id);
  else cel_buf_printf(b, "%-*s  ", NAME_COLUMNS, id);
}

static void add_root(cel_buf *b, const char *root) {
  const char *home = cel_env(CEL_ENV_HOME);
  size_t n = home ? strlen(home) : 0;
  if (n > 1 && !strncmp(root, home, n) && (root[n] == '/' || !root[n])) cel_buf_printf(b, "~%s", root + n);
  else cel_buf_addz(b, root);
}

static void add_padded_size(cel_buf *b, int64_t bytes) {
  cel_buf size = {0};
  cel_hub_add_size(&size, bytes);
  cel_buf_printf(b, "%10s  ", size.p ? size.p : "");
  b->failed = b->failed || size.failed;
  cel_buf_deinit(&size);
}

static void table(cel_buf *b, const cel_store_listing *l, int n, const char *root, bool paths) {
  int64_t total = 0, now = (int64_t)time(NULL);
  for (int i = 0; i < n; i++) total += CEL_MIN(l->entries[i].bytes, INT64_MAX - total);
  cel_buf_printf(b, "%d model%s \xc2\xb7 ", n, n == 1 ? "" : "s");
  cel_hub_add_size(b, total);
  cel_buf_addz(b, " \xc2\xb7 ");
  add_root(b, root);
  cel_buf_printf(b, "\n%-*s  %10s  %-14s%s\n", NAME_COLUMNS, "NAME", "SIZE", "MODIFIED", paths ? "  PATH" : "");
  for (int i = 0; i < n; i++) {
    const cel_store_entry *e = &l->entries[i];
    add_name(b, e->id);
    add_padded_size(b, e->bytes);
    size_t at = b->n;
    add_age(b, e->modified, now);
    if (paths) cel_buf_printf(b, "%*s  %s", (int)(b->n - at < 14 ? 14 - (b->n - at) : 0), "", e->path);
    cel_buf_addc(b, '\n');
  }
}

static void unfinished(cel_buf *b, const cel_store_listing *l, int n) {
  for (int i = n; i < l->n; i++) {
    cel_buf_printf(b, "unfinished: %s, ", l->entries[i].id);
    cel_hub_add_size(b, l->entries[i].bytes);
    cel_buf_printf(b, " (mlxcel download %s goes on with it)\n", l->entries[i].id);
  }
}

static void as_json(cel_buf *b, const cel_store_listing *l, int n) {
  cel_buf_addc(b, '[');
  for (int i = 0; i < n; i++) {
    const cel_store_entry *e = &l->entries[i];
    cel_buf_addz(b, i ? ",{" : "{");
    cli_add_key(b, "repo_id");
    cel_json_add_string(b, cel_str_of(e->id));
    cli_add_key(b, "size_bytes");
    cel_buf_printf(b, "%lld", (long long)e->bytes);
    cli_add_key(b, "path");
    cel_json_add_string(b, cel_str_of(e->path));
    cli_add_key(b, "modified");
    if (e->modified < 0) cel_buf_addz(b, "null");
    else cel_buf_printf(b, "%lld", (long long)e->modified);
    cel_buf_addc(b, '}');
  }
  cel_buf_addz(b, "]\n");
}

static void print_all(cel_buf *b, const cli_options *o, const cel_store_listing *l, int n, const char *root) {
  if (o->json) {
    as_json(b, l, n);
  } else if (o->quiet) {
    for (int i = 0; i < n; i++) cel_buf_printf(b, "%s\n", l->entries[i].id);
  } else if (n == 0) {
    cel_buf_addz(b, "no models in ");
    add_root(b, root);
    cel_buf_addz(b, "\nmlxcel download OWNER/NAME fetches one; mlxcel arch says which kinds run here\n");
    unfinished(b, l, n);
  } else {
    table(b, l, n, root, o->paths);
    unfinished(b, l, n);
  }
}

int cmd_list(const cli_options *o) {
  bool size = !strcmp(o->sort, "size"), modified = !strcmp(o->sort, "modified");
  if (o->json + o->quiet + o->paths > 1) return cli_usage("--json, --quiet and --verbose exclude each other");
  if (!size && !modified && strcmp(o->sort, "name") != 0) return cli_usage("--sort takes name, size or modified, not \"%.80s\"", o->sort);
  cel_err err = {0};
  cel_buf root = {0}, out = {0};
  cel_store_listing l = {0};
  cel_status s = cel_store_root(o->models_dir, &root, &err);
  if (s == CEL_OK) s = cel_store_list(root.p, &l, &err);
  int status;
  if (s == CEL_OK) {
    int n = whole_ones(&l);
    if (n && (size || modified)) qsort(l.entries, (size_t)n, sizeof *l.entries, size ? by_size : by_time);
    print_all(&out, o, &l, n, root.p);
    status = cli_print(&out, &err);
  } else {
    status = cli_fail(&err);
  }
  cel_store_listing_deinit(&l);
  cel_buf_deinit(&root);
  return status;
}
