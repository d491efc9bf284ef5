// Names of repositories and files, and addresses made of them.
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/env.h"
#include "model/hub/hub.h"

cel_status cel_hub_endpoint(cel_buf *out, cel_err *err) {
  const char *e = cel_env_or(CEL_ENV_HF_ENDPOINT, "https://huggingface.co");
  size_t n = strlen(e), scheme = !strncasecmp(e, "https://", 8) ? 8 : !strncasecmp(e, "http://", 7) ? 7 : 0;
  while (n && e[n - 1] == '/') n--;
  if (memchr(e, '@', n)) {
    return cel_fail(err, CEL_INVALID, "HF_ENDPOINT holds a user name or password (an @); give the token with --token or HF_TOKEN");
  }
  bool good = scheme && n > scheme;
  for (size_t i = 0; i < n; i++) good = good && (unsigned char)e[i] > ' ' && e[i] != 127 && !strchr("?#\\\"<>", e[i]);
  if (!good) return cel_fail(err, CEL_INVALID, "HF_ENDPOINT=%.200s is no address: accepted is http(s)://HOST[:PORT][/PATH]", e);
  cel_buf_add(out, e, n);
  return out->failed ? cel_fail_oom(err, "an address") : CEL_OK;
}

static bool good_part(const char *s, size_t n) {
  if (n == 0 || n > 96 || s[0] == '.') return false;
  for (size_t i = 0; i < n; i++) {
    if (!isalnum((unsigned char)s[i]) && !strchr("._-", s[i])) return false;
    if (s[i] == '.' && i + 1 < n && s[i + 1] == '.') return false;
  }
  return true;
}

cel_status cel_hub_repo_name(const char *typed, cel_buf *out, cel_err *err) {
  cel_buf_clear(out);
  const char *slash = strchr(typed, '/'), *org = cel_env_or(CEL_ENV_DEFAULT_ORG, "mlx-community"), *name = slash ? slash + 1 : typed;
  if ((slash && !good_part(typed, (size_t)(slash - typed))) || !good_part(name, strlen(name))) {
    return cel_fail(err, CEL_INVALID, "\"%.200s\" does not name a model: accepted are OWNER/NAME and NAME, of letters, digits, . _ and -", typed);
  }
  if (!slash && !good_part(org, strlen(org))) {
    return cel_fail(err, CEL_INVALID, "MLXCEL_DEFAULT_ORG=%.200s is no owner: accepted are letters, digits, . _ and -", org);
  }
  cel_str end = cel_str_of(name);
  if (cel_str_ends(end, CEL_STR(".partial")) || cel_str_ends(end, CEL_STR(".lock"))) {
    return cel_fail(err, CEL_UNSUPPORTED, "%.200s: names that end in .partial or .lock are the store's own; use --local-dir", typed);
  }
  if (!slash) cel_buf_printf(out, "%s/", org);
  cel_buf_addz(out, typed);
  return out->failed ? cel_fail_oom(err, "a model's name") : CEL_OK;
}

bool cel_hub_safe_path(const char *path) {
  size_t total = strlen(path);
  if (total == 0 || total > CEL_HUB_PATH_BYTES_MOST || !cel_utf8_valid(path, total)) return false;
  for (const char *p = path; *p; p++) {
    if ((unsigned char)*p < ' ' || *p == 127 || *p == '\\') return false;
  }
  for (const char *p = path;; p++) {
    size_t n = strcspn(p, "/");
    if (n == 0 || n > 240 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.')) return false;
    p += n;
    if (!*p) return true;
  }
}

static bool ends(const char *s, const char *tail) {
  size_t n = strlen(s), t = strlen(tail);
  return n >= t && !strcasecmp(s + n - t, tail);
}

static bool starts(const char *s, const char *head) { return !strncasecmp(s, head, strlen(head)); }

static bool any_end(const char *name, const char *const *tails, int n) {
  for (int i = 0; i < n; i++) {
    if (ends(name, tails[i])) return true;
  }
  return false;
}

bool cel_hub_is_model_file(const char *path) {
  static const char *const good[] = {".safetensors", ".json", ".tiktoken", ".jinja", ".model", ".gguf"};
  static const char *const bad[] = {".bin.index.json", ".bin", ".pt", ".pth", ".onnx", ".py", ".md", ".yaml", ".yml", ".png",
                                    ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".mp3", ".mp4", ".wav", ".pdf", ".h5", ".msgpack"};
  if (path[0] == '.' || strstr(path, "/.")) return false;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  if (starts(name, "readme") || starts(name, "license") || any_end(name, bad, CEL_COUNT(bad))) return false;
  return any_end(name, good, CEL_COUNT(good)) || starts(name, "vocab") || starts(name, "merges") ||
         (starts(name, "token") && ends(name, ".txt"));
}

void cel_hub_split_tag(const char *typed, cel_buf *repo, cel_buf *pattern) {
  size_t n = strcspn(typed, ":");
  cel_buf_add(repo, typed, n);
  if (!typed[n] || strstr(typed, "://")) {
    cel_buf_addz(repo, typed + n);
    return;
  }
  cel_buf_addc(pattern, '*');
  for (const char *p = typed + n + 1; *p; p++) {  // tags are written in either case
    if (isalpha((unsigned char)*p)) cel_buf_printf(pattern, "[%c%c]", toupper((unsigned char)*p), tolower((unsigned char)*p));
    else if (isalnum((unsigned char)*p) || strchr("_-.", *p)) cel_buf_addc(pattern, *p);
    else cel_buf_printf(pattern, "\\%c", *p);
  }
  cel_buf_addz(pattern, "[.-]*gguf");  // before the ending, or before a part's number
}

void cel_hub_add_escaped(cel_buf *url, const char *path, bool slashes) {
  for (const char *p = path; *p; p++) {
    if (isalnum((unsigned char)*p) || strchr("-._~", *p) || (slashes && *p == '/')) cel_buf_addc(url, *p);
    else cel_buf_printf(url, "%%%02X", (unsigned)(unsigned char)*p);
  }
}

void cel_hub_add_size(cel_buf *out, int64_t bytes) {
  double n = (double)bytes;
  if (n >= 1 << 30) cel_buf_printf(out, "%.2f GiB", n / (1 << 30));
  else if (n >= 1 << 20) cel_buf_printf(out, "%.1f MiB", n / (1 << 20));
  else if (n >= 1 << 10) cel_buf_printf(out, "%.1f KiB", n / (1 << 10));
  else cel_buf_printf(out, "%lld B", (long long)bytes);
}
