// The record of a repository, and the choice among its files.
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json.h"
#include "model/hub/hub.h"

void cel_hub_record_deinit(cel_hub_record *r) {
  for (int i = 0; i < r->n_files; i++) free(r->files[i].path);
  free(r->files);
  *r = (cel_hub_record){0};
}

// A path as it may be printed: what a hub calls a file may hold anything.
static const char *printable(const char *path, char out[81]) {
  int n = 0;
  for (; path[n] && n < 80; n++) out[n] = (unsigned char)path[n] < ' ' || path[n] == 127 ? '?' : path[n];
  out[n] = 0;
  return out;
}

static cel_status read_digest(const cel_json *lfs, const char *repo, cel_hub_file *f, cel_err *err) {
  const char *digest = cel_json_string(lfs, "sha256", NULL);
  if (!digest) digest = cel_json_string(lfs, "oid", "");  // older records
  if (!cel_sha256_is_hex(digest)) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s: lfs.sha256 \"%.80s\" is not 64 hexadecimal digits", repo, f->path, digest);
  }
  for (int i = 0; i <= 64; i++) f->sha256[i] = (char)tolower((unsigned char)digest[i]);
  int64_t bytes = cel_json_int(lfs, "size", f->bytes);
  if (bytes != f->bytes) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s: size %lld, but lfs.size %lld", repo, f->path, (long long)f->bytes, (long long)bytes);
  }
  return CEL_OK;
}

static cel_status read_file(const cel_json *row, const char *repo, cel_hub_file *f, cel_err *err) {
  char shown[81];
  const char *path = cel_json_string(row, "rfilename", NULL);
  if (!path) return cel_fail(err, CEL_MALFORMED, "%s: a row of siblings has no rfilename", repo);
  if (!cel_hub_safe_path(path)) {
    return cel_fail(err, CEL_MALFORMED, "%s: the file name \"%s\" may lead out of its folder; nothing was fetched", repo, printable(path, shown));
  }
  f->path = strdup(path);
  if (!f->path) return cel_fail_oom(err, "a file name");
  const cel_json *lfs = cel_json_get(row, "lfs");
  f->bytes = cel_json_int(row, "size", lfs ? cel_json_int(lfs, "size", -1) : -1);
  if (f->bytes < 0) return cel_fail(err, CEL_MALFORMED, "%s: %s: the hub's record gives no size for it", repo, path);
  return lfs ? read_digest(lfs, repo, f, err) : CEL_OK;
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const cel_hub_file *)a)->path, ((const cel_hub_file *)b)->path);
}

static cel_status read_files(const cel_json *rows, const char *repo, cel_hub_record *r, cel_err *err) {
  size_t n = cel_json_array_size(rows);
  if (!cel_json_is_array(rows)) return cel_fail(err, CEL_MALFORMED, "%s: the hub's record has no array \"siblings\"", repo);
  if (n > CEL_HUB_FILES_MOST) return cel_fail(err, CEL_UNSUPPORTED, "%s: %zu files, at most %d are read", repo, n, CEL_HUB_FILES_MOST);
  r->files = calloc(n + 1, sizeof *r->files);
  if (!r->files) return cel_fail_oom(err, "a record of files");
  for (size_t i = 0; i < n; i++) {
    r->n_files++;
    CEL_TRY(read_file(cel_json_array_get(rows, i), repo, &r->files[i], err));
  }
  qsort(r->files, n, sizeof *r->files, by_path);
  for (size_t i = 1; i < n; i++) {
    if (!by_path(&r->files[i - 1], &r->files[i])) return cel_fail(err, CEL_MALFORMED, "%s: %s stands twice in the record", repo, r->files[i].path);
  }
  return CEL_OK;
}

cel_status cel_hub_parse(cel_str text, const char *repo, cel_hub_record *r, cel_err *err) {
  *r = (cel_hub_record){0};
  cel_json *json;
  char name[256];
  snprintf(name, sizeof name, "the hub's record of %.200s", repo);
  CEL_TRY(cel_json_parse(text, name, &json, err));
  const char *commit = cel_json_string(json, "sha", "");
  size_t n = strlen(commit), digits = strspn(commit, "0123456789abcdefABCDEF");
  cel_status s = CEL_OK;
  if (n == 0 || n > 64 || digits != n) {
    s = cel_fail(err, CEL_MALFORMED, "%s: \"sha\": \"%.80s\" is no commit (hexadecimal digits)", name, commit);
  } else {
    memcpy(r->commit, commit, n + 1);
    s = read_files(cel_json_object_get(json, "siblings"), repo, r, err);
  }
  cel_json_decref(json);
  if (s != CEL_OK) cel_hub_record_deinit(r);
  return s;
}

// ---- choice ------------------------------------------------------------------------------------------

static bool has_end(const char *path, const char *tail) {
  size_t n = strlen(path), t = strlen(tail);
  return n >= t && !strcasecmp(path + n - t, tail);
}

static bool hidden(const char *path) { return path[0] == '.' || strstr(path, "/."); }

// Of NAME-00002-of-00005.gguf the length of NAME; of any other the length before the ending. Parts are one model.
static size_t gguf_stem(const char *path) {
  size_t n = strlen(path) - 5;
  const char *p = path + n;
  if (n < 15 || p[-15] != '-' || strncmp(p - 9, "-of-", 4) != 0) return n;
  for (int i = 1; i <= 5; i++) {
    if (!isdigit((unsigned char)p[-i]) || !isdigit((unsigned char)p[-9 - i])) return n;
  }
  return n - 15;
}

static bool same_gguf(const char *a, const char *b) {
  size_t n = gguf_stem(a);
  return n == gguf_stem(b) && !memcmp(a, b, n);
}

// A projector belongs to a model beside it and is none by itself.
static bool is_gguf_model(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  return has_end(path, ".gguf") && !hidden(path) && strncasecmp(name, "mmproj", 6) != 0;
}

static int add_gguf_list(const cel_hub_record *r, cel_buf *list) {
  int n = 0;
  for (int i = 0; i < r->n_files; i++) {
    const char *path = r->files[i].path;
    if (!is_gguf_model(path)) continue;
    bool first = true;  // files are sorted, but other names may stand between parts
    for (int j = 0; first && j < i; j++) first = !(is_gguf_model(r->files[j].path) && same_gguf(r->files[j].path, path));
    if (!first) continue;
    int64_t bytes = 0;
    for (int j = i; j < r->n_files; j++) {
      if (is_gguf_model(r->files[j].path) && same_gguf(r->files[j].path, path) && bytes <= INT64_MAX - r->files[j].bytes) bytes += r->files[j].bytes;
    }
    if (list->n < 700) {
      cel_buf_printf(list, "%s%s (", n ? ", " : "", path);
      cel_hub_add_size(list, bytes);
      cel_buf_addc(list, ')');
    } else if (list->p && list->p[list->n - 1] != '.') {
      cel_buf_addz(list, ", ...");
    }
    n++;
  }
  return n;
}

static cel_status by_kind(cel_hub_record *r, const char *repo, cel_err *err) {
  bool safetensors = false;
  for (int i = 0; i < r->n_files; i++) safetensors = safetensors || (has_end(r->files[i].path, ".safetensors") && !hidden(r->files[i].path));
  cel_buf list = {0};
  int n_gguf = safetensors ? 0 : add_gguf_list(r, &list);
  cel_status s = CEL_OK;
  if (list.failed) {
    s = cel_fail_oom(err, "a list of files");
  } else if (n_gguf > 1) {
    s = cel_fail(err, CEL_INVALID, "%s holds %d GGUF models; choose with --include: %s", repo, n_gguf, list.p);
  } else if (!safetensors && n_gguf == 0) {
    s = cel_fail(err, CEL_UNSUPPORTED, "%s holds no .safetensors and no .gguf file among its %d; --include GLOB fetches other files", repo, r->n_files);
  }
  cel_buf_deinit(&list);
  for (int i = 0; s == CEL_OK && i < r->n_files; i++) {
    cel_hub_file *f = &r->files[i];
    f->wanted = cel_hub_is_model_file(f->path) && !(safetensors && has_end(f->path, ".gguf"));
  }
  return s;
}

cel_status cel_hub_select(cel_hub_record *r, const char *repo, const char *const *patterns, int n_patterns, cel_err *err) {
  for (int i = 0; i < r->n_files; i++) r->files[i].wanted = false;
  if (n_patterns == 0) return by_kind(r, repo, err);
  for (int p = 0; p < n_patterns; p++) {
    bool found = false;
    for (int i = 0; i < r->n_files; i++) {
      if (hidden(r->files[i].path) || fnmatch(patterns[p], r->files[i].path, 0) != 0) continue;
      r->files[i].wanted = found = true;
    }
    if (found) continue;
    cel_buf list = {0};
    int n = add_gguf_list(r, &list);
    cel_status s = cel_fail(err, CEL_NOT_FOUND, "%s holds no file that --include %.200s matches%s%s", repo, patterns[p],
                            n ? "; its GGUF models: " : "", n && list.p ? list.p : "");
    cel_buf_deinit(&list);
    return s;
  }
  return CEL_OK;
}
