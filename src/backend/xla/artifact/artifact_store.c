// A store: looking entries up, making them one process at a time.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "backend/xla/artifact/artifact_file.h"
#include "base/log.h"

struct cel_artifact_store {
  char *folder;
  int64_t limit_bytes;
  bool only;
  bool warned;  // that nothing can be stored
  cel_artifact_counts counts;
};

static void add_part(cel_sha256 *s, const char *p, size_t n) {
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)n >> 8 * i);
  cel_sha256_add(s, length, sizeof length);
  cel_sha256_add(s, p, n);
}

void cel_artifact_key(const cel_artifact_parts *parts, char out[CEL_SHA256_HEX_BYTES]) {
  cel_sha256 s;
  cel_sha256_init(&s);
  add_part(&s, parts->program.p, parts->program.n);
  add_part(&s, parts->engine, strlen(parts->engine));
  add_part(&s, parts->version, strlen(parts->version));
  add_part(&s, parts->flags, strlen(parts->flags));
  add_part(&s, parts->target, strlen(parts->target));
  cel_sha256_end_hex(&s, out);
}

cel_status cel_artifact_open(const cel_artifact_options *o, cel_artifact_store **out, cel_err *err) {
  *out = NULL;
  cel_artifact_store *s = calloc(1, sizeof *s);
  if (s) s->folder = malloc(strlen(o->folder) + 1);
  if (!s || !s->folder) {
    free(s);
    return cel_fail_oom(err, "the artifact store");
  }
  memcpy(s->folder, o->folder, strlen(o->folder) + 1);
  s->limit_bytes = o->limit_bytes;
  s->only = o->only;
  *out = s;
  return CEL_OK;
}

void cel_artifact_close(cel_artifact_store *s) {
  if (!s) return;
  free(s->folder);
  free(s);
}

void cel_artifact_count(const cel_artifact_store *s, cel_artifact_counts *out) {
  *out = s ? s->counts : (cel_artifact_counts){0};
}

// ---- locks -------------------------------------------------------------------------------------------

static void file_name(char *out, size_t bytes, const cel_artifact *a) { snprintf(out, bytes, "%s%s", a->key, CEL_ARTIFACT_SUFFIX); }

static void warn_once(cel_artifact_store *s, const char *why) {
  if (!s->warned) cel_log(CEL_LOG_WARN, "compiled programs are not kept: %s", why);
  s->warned = true;
}

// Whoever makes an entry holds its lock. Without one (the folder cannot be written to) it is made all the same.
static void lock(cel_artifact *a) {
  cel_err err = {0};
  if (a->lock >= 0 || a->store->only) return;
  if (cel_make_dirs(a->store->folder, &err) != CEL_OK) {
    warn_once(a->store, err.text);
    return;
  }
  a->lock = cel_artifact_lock(a->store->folder, a->key, true);
  if (a->lock >= 0) return;
  cel_fail(&err, CEL_IO, "%s: %s", a->store->folder, strerror(errno));
  warn_once(a->store, err.text);
}

static void unlock(cel_artifact *a) {
  if (a->lock >= 0) cel_artifact_unlock(a->store->folder, a->key, a->lock);
  a->lock = -1;
}

// ---- looking up --------------------------------------------------------------------------------------

// Tells eviction that the entry is in use; where it cannot be told, the entry is as old as it is.
static void touch(const char *path) { (void)utimensat(AT_FDCWD, path, NULL, 0); }

// Fills a->bytes when there is a whole entry. A damaged one is as good as none.
static void look(cel_artifact *a) {
  cel_artifact_header h;
  cel_err err = {0};
  cel_buf path = {0};
  char wrong[CEL_ARTIFACT_WRONG_BYTES];
  cel_buf_printf(&path, "%s/%s%s", a->store->folder, a->key, CEL_ARTIFACT_SUFFIX);
  if (path.p && cel_map_open(path.p, &a->map, &err) == CEL_OK) {
    bool whole = cel_artifact_check(a->map.data, a->map.bytes, a->key, &h, wrong);
    if (whole && cel_map_check(&a->map, path.p, &err) != CEL_OK) {
      snprintf(wrong, sizeof wrong, "it became shorter while it was read");
      whole = false;
    }
    if (whole) {
      a->bytes = a->map.data + CEL_ARTIFACT_HEADER_BYTES;
      a->n = h.payload_bytes;
      touch(path.p);
    } else {
      if (!a->damaged) cel_log(CEL_LOG_WARN, "%s is damaged (%s)%s", path.p, wrong, a->store->only ? "" : ": it is made anew");
      a->damaged = true;
      cel_map_close(&a->map);
      a->map = (cel_map){0};
    }
  }
  cel_buf_deinit(&path);
}

static cel_status nothing_there(cel_artifact *a, cel_err *err) {
  cel_status s = cel_fail(err, CEL_NOT_FOUND, "%s has no compiled program for %s (engine %s, version %s, target %s)",
                          a->store->folder, *a->note ? a->note : "what is asked", a->engine, a->version, a->target);
  a->store = NULL;
  return s;
}

cel_status cel_artifact_begin(cel_artifact_store *store, const cel_artifact_parts *parts, cel_artifact *a, cel_err *err) {
  *a = (cel_artifact){.store = store, .lock = -1};
  if (!store) return CEL_OK;
  cel_artifact_key(parts, a->key);
  snprintf(a->engine, sizeof a->engine, "%s", parts->engine);
  snprintf(a->version, sizeof a->version, "%s", parts->version);
  snprintf(a->target, sizeof a->target, "%s", parts->target);
  snprintf(a->note, sizeof a->note, "%s", parts->note ? parts->note : "");
  look(a);
  if (!a->bytes && store->only) return nothing_there(a, err);
  if (!a->bytes) {
    lock(a);
    if (a->lock >= 0) look(a);  // somebody may have made it while we waited
    if (a->bytes) unlock(a);
  }
  if (a->bytes) store->counts.found++;
  return CEL_OK;
}

cel_status cel_artifact_reject(cel_artifact *a, const char *why, cel_err *err) {
  cel_map_close(&a->map);
  a->map = (cel_map){0};
  a->bytes = NULL;
  a->n = 0;
  cel_log(CEL_LOG_WARN, "a compiled program in %s cannot be loaded%s: %s", a->store->folder,
          a->store->only ? "" : " and is made anew", why);
  a->store->counts.found--;
  if (a->store->only) return nothing_there(a, err);
  lock(a);
  return CEL_OK;
}

// ---- storing -----------------------------------------------------------------------------------------

void cel_artifact_put(cel_artifact *a, const void *bytes, int64_t n) {
  cel_artifact_store *s = a->store;
  if (!s) return;
  s->counts.made++;
  bool fits = s->limit_bytes == 0 || n <= s->limit_bytes - CEL_ARTIFACT_HEADER_BYTES;
  if (!fits) warn_once(s, "one of them is larger than the whole store may be");
  if (a->lock < 0 || !fits) return;
  cel_artifact_header h = {.created_s = (int64_t)time(NULL)};
  for (int i = 0; i < CEL_SHA256_BYTES; i++) {
    unsigned x = 0;
    sscanf(a->key + 2 * i, "%2x", &x);
    h.key[i] = (uint8_t)x;
  }
  memcpy(h.engine, a->engine, sizeof h.engine);
  memcpy(h.version, a->version, sizeof h.version);
  memcpy(h.target, a->target, sizeof h.target);
  memcpy(h.note, a->note, sizeof h.note);
  char name[CEL_SHA256_HEX_BYTES + sizeof CEL_ARTIFACT_SUFFIX];
  cel_err err = {0};
  file_name(name, sizeof name, a);
  if (cel_artifact_write(s->folder, name, &h, bytes, n, &err) != CEL_OK) warn_once(s, err.text);
  else s->counts.kept++;
  if (s->limit_bytes > 0) cel_artifact_evict(s->folder, s->limit_bytes, name);
  unlock(a);
}

void cel_artifact_end(cel_artifact *a) {
  if (!a->store) return;
  unlock(a);
  cel_map_close(&a->map);
  *a = (cel_artifact){.lock = -1};
}
