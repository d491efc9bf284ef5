#include "base/env.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "base/process.h"

const cel_env_row cel_env_rows[CEL_ENV_COUNT] = {
#define CEL_ENV(id, name, check, accepted, unset, read, meaning) {name, check, accepted, unset, read, meaning},
#include "base/env.def"
#undef CEL_ENV
};

const char *cel_env(cel_env_id id) {
  const char *value = getenv(cel_env_rows[id].name);
  return value && *value ? value : NULL;
}

const char *cel_env_or(cel_env_id id, const char *otherwise) {
  const char *value = cel_env(id);
  return value ? value : otherwise;
}

const char *cel_env_shown(cel_env_id id) {
  const char *value = cel_env(id);
  return value && !strcmp(cel_env_rows[id].check, "secret") ? "(set)" : value;
}

// ---- values --------------------------------------------------------------------------------------------

static bool whole(const char *value, const char **end, int64_t *out) {
  char *stop;
  errno = 0;
  long long n = strtoll(value, &stop, 10);
  *out = n;
  *end = stop;
  return *value >= '0' && *value <= '9' && errno == 0;
}

// "int LOW HIGH"
static bool in_range(const char *check, const char *value, int64_t *out) {
  const char *end;
  char *rest;
  int64_t low = strtoll(check + 4, &rest, 10), high = strtoll(rest, NULL, 10);
  return whole(value, &end, out) && !*end && *out >= low && *out <= high;
}

static bool add_sorted(int64_t *list, int most, int *n, int64_t x) {
  int at = 0;
  while (at < *n && list[at] < x) at++;
  if (at < *n && list[at] == x) return true;
  if (*n == most) return false;
  memmove(list + at + 1, list + at, (size_t)(*n - at) * sizeof *list);
  list[at] = x;
  *n += 1;
  return true;
}

// "ints LOW HIGH MOST"
static bool integers(const char *check, const char *value, int64_t *out, int most, int *n) {
  char *rest;
  int64_t low = strtoll(check + 5, &rest, 10), high = strtoll(rest, &rest, 10), x;
  most = (int)CEL_MIN(strtoll(rest, NULL, 10), most);
  *n = 0;
  for (const char *p = value, *end;; p = end + 1) {
    if (!whole(p, &end, &x) || (*end && *end != ',') || x < low || x > high || !add_sorted(out, most, n, x)) return false;
    if (!*end) return true;
  }
}

static bool size(const char *value, int64_t *out) {
  static const char units[] = "KMGT";
  const char *end;
  if (!whole(value, &end, out)) return false;
  const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;
  int64_t factor = unit ? (int64_t)1 << 10 * (unit - units + 1) : 1;
  return (unit ? !end[1] : !*end) && cel_mul_i64(*out, factor, out);
}

static bool on_or_off(const char *value, bool *out) {
  static const char *const on[] = {"1", "true", "on", "yes", "enabled"}, *const off[] = {"0", "false", "off", "no", "disabled"};
  for (int i = 0; i < CEL_COUNT(on); i++) {
    if (!strcasecmp(value, on[i])) return *out = true, true;
    if (!strcasecmp(value, off[i])) return *out = false, true;
  }
  return false;
}

static bool one_of(const char *words, const char *value) {
  char word[64];
  for (const char *p = words; *p; p += *p == '|') {
    size_t n = strcspn(p, "|");
    if (n < sizeof word) {
      memcpy(word, p, n);
      word[n] = 0;
      if (fnmatch(word, value, 0) == 0) return true;
    }
    p += n;
  }
  return false;
}

enum { LIST_MOST = 64 };

bool cel_env_accepts(const char *check, const char *value) {
  int64_t n, list[LIST_MOST];
  int n_list;
  bool b;
  if (!*check || !strcmp(check, "secret")) return true;
  if (!strncmp(check, "int ", 4)) return in_range(check, value, &n);
  if (!strncmp(check, "ints ", 5)) return integers(check, value, list, LIST_MOST, &n_list);
  if (!strcmp(check, "size")) return size(value, &n);
  if (!strcmp(check, "switch")) return on_or_off(value, &b);
  return one_of(check, value);
}

// ---- checking ------------------------------------------------------------------------------------------

cel_status cel_env_check_one(cel_env_id id, cel_err *err) {
  const cel_env_row *r = &cel_env_rows[id];
  bool list = !strncmp(r->check, "ints ", 5);
  const char *value = list ? getenv(r->name) : cel_env(id);  // an empty list is none
  if (!value || cel_env_accepts(r->check, value)) return CEL_OK;
  bool one = !strncmp(r->check, "int ", 4) || !strcmp(r->check, "size");
  return cel_fail(err, CEL_INVALID, "%s=%.200s: accepted %s %s", r->name, value, one ? "is" : "are", r->accepted);
}

// Of all builds: a variable of a part that is left out here has no effect, which is not an error.
static const char *const all_names[] = {
#define CEL_ENV_ALL
#define CEL_ENV(id, name, ...) name,
#include "base/env.def"
#undef CEL_ENV
#undef CEL_ENV_ALL
};

static bool known(const char *setting, size_t n) {
  for (int i = 0; i < CEL_COUNT(all_names); i++) {
    if (strlen(all_names[i]) == n && !strncmp(all_names[i], setting, n)) return true;
  }
  return false;
}

// A name that looks like a switch of a part that is here, and is none, would be believed to have done something.
static cel_status check_names(cel_err *err) {
  static const char *const ours[] = {
#ifdef CEL_WITH_XLA
      "MLXCEL_XLA_",
#endif
#ifdef CEL_WITH_MLX
      "MLXCEL_MLX_",
#endif
      NULL};
  char *const *set = cel_process_environment();
  for (int i = 0; set && set[i]; i++) {
    size_t n = strcspn(set[i], "=");
    for (int k = 0; ours[k]; k++) {
      if (!set[i][n] || !set[i][n + 1] || strncmp(set[i], ours[k], strlen(ours[k])) != 0 || known(set[i], n)) continue;
      return cel_fail(err, CEL_INVALID, "%.*s: there is no such variable; mlxcel env lists those there are", (int)CEL_MIN(n, (size_t)100), set[i]);
    }
  }
  return CEL_OK;
}

cel_status cel_env_check(cel_err *err) {
  for (int i = 0; i < CEL_ENV_COUNT; i++) CEL_TRY(cel_env_check_one((cel_env_id)i, err));
  return check_names(err);
}

cel_status cel_env_integer(cel_env_id id, int64_t otherwise, int64_t *out, cel_err *err) {
  CEL_TRY(cel_env_check_one(id, err));
  *out = otherwise;
  if (cel_env(id)) (void)in_range(cel_env_rows[id].check, cel_env(id), out);
  return CEL_OK;
}

cel_status cel_env_integers(cel_env_id id, int64_t *out, int most, int *n, cel_err *err) {
  CEL_TRY(cel_env_check_one(id, err));
  *n = 0;
  if (cel_env(id)) (void)integers(cel_env_rows[id].check, cel_env(id), out, most, n);
  return CEL_OK;
}

bool cel_env_read_integers(cel_env_id id, const char *value, int64_t *out, int most, int *n) {
  return integers(cel_env_rows[id].check, value, out, most, n);
}

cel_status cel_env_size(cel_env_id id, int64_t otherwise, int64_t *out, cel_err *err) {
  CEL_TRY(cel_env_check_one(id, err));
  *out = otherwise;
  if (cel_env(id)) (void)size(cel_env(id), out);
  return CEL_OK;
}

cel_status cel_env_switch(cel_env_id id, bool otherwise, bool *out, cel_err *err) {
  CEL_TRY(cel_env_check_one(id, err));
  *out = otherwise;
  if (cel_env(id)) (void)on_or_off(cel_env(id), out);
  return CEL_OK;
}
