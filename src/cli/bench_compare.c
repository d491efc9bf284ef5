// A former report beside this one.
#include "cli/bench.h"

#include <string.h>

#include "cli/cli.h"

cel_status bench_load(const char *path, const bench_figure *figures, int n, cel_json **out, cel_err *err) {
  enum { MOST = 1 << 20 };
  *out = NULL;
  cel_json *j;
  CEL_TRY(cel_json_load(path, MOST, &j, err));
  cel_status s = CEL_OK;
  if (!cel_json_is_object(j)) s = cel_fail(err, CEL_MALFORMED, "%s: not what bench --json wrote: no JSON object", path);
  for (int i = 0; s == CEL_OK && i < n; i++) {
    const cel_json *v = cel_json_object_get(j, figures[i].key);
    bool needed = i < BENCH_ALWAYS;
    if (v ? cel_json_is_number(v) && cel_json_number_value(v) >= 0 : !needed) continue;
    s = cel_fail(err, CEL_MALFORMED, "%s: not what bench --json wrote: \"%s\" is %s", path, figures[i].key,
                 v ? "no number from 0 on" : "missing");
  }
  if (s == CEL_OK) *out = j;
  else cel_json_decref(j);
  return s;
}

static bool same(const cel_json *a, const cel_json *b) {
  if (cel_json_is_number(a) && cel_json_is_number(b)) return cel_json_number_value(a) == cel_json_number_value(b);
  return cel_json_is_string(a) && cel_json_is_string(b) && !strcmp(cel_json_string_value(a), cel_json_string_value(b));
}

static void add_setting(cel_buf *b, const cel_json *v) {
  if (cel_json_is_string(v)) cel_buf_addz(b, cel_json_string_value(v));
  else if (cel_json_is_number(v)) cel_buf_printf(b, "%g", cel_json_number_value(v));
  else cel_buf_addz(b, "not said");
}

// Settings that were others: their names in JSON, both values in text.
static void add_differences(const cel_json *former, const cel_json *now, bool json, cel_buf *b) {
  size_t k;
  cel_str name;
  cel_json *v;
  if (json) cli_add_key(b, "differs"), cel_buf_addc(b, '[');
  int found = 0;
  cel_json_object_foreach(now, k, name, v) {
    const cel_json *then = cel_json_object_getn(former, name.p, (size_t)name.n);
    if (same(then, v)) continue;
    if (found++ && json) cel_buf_addc(b, ',');
    if (json) {
      cel_json_add_string(b, name);
      continue;
    }
    cel_buf_printf(b, "not the same: %.*s was ", (int)name.n, name.p);
    add_setting(b, then);
    cel_buf_addz(b, ", is ");
    add_setting(b, v);
    cel_buf_addc(b, '\n');
  }
  if (json) cel_buf_addc(b, ']');
}

void bench_compare(const cel_json *former, const char *path, const bench_figure *figures, int n, const cel_json *now, bool json,
                   cel_buf *b) {
  if (json) cli_add_key(b, "compared"), cel_buf_addc(b, '{');
  else cel_buf_printf(b, "against %s:\n", path);
  for (int i = 0; i < n; i++) {
    double then = cel_json_number_value(cel_json_object_get(former, figures[i].key));
    if (then == 0) continue;
    if (json) cli_add_ms(b, figures[i].key, figures[i].value / then);
    else cel_buf_printf(b, "  %-16s %10.4g, was %10.4g: x %.3f\n", figures[i].key, figures[i].value, then, figures[i].value / then);
  }
  if (json) cel_buf_addc(b, '}');
  add_differences(former, now, json, b);
}
