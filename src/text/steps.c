// What all lists of steps share: reading by type name, Sequence, and the refusals.
#include "text/steps.h"

#include <stdio.h>

enum { SEQUENCE_DEPTH = 16 };

static cel_status refuse(cel_text_build *b, const char *type, const char *what, const cel_step_row *rows, int n,
                         cel_err *err) {
  char list[400] = "";
  size_t at = 0;
  for (int i = 0; i < n && at < sizeof list - 1; i++) {
    int k = snprintf(list + at, sizeof list - at, "%s%s", i ? ", " : "", rows[i].type);
    at += k > 0 ? (size_t)k : 0;
  }
  return cel_fail(err, CEL_UNSUPPORTED, "%s: %s type \"%.100s\" is not supported; supported are %s, Sequence", b->name,
                  what, type, list);
}

static cel_status read(cel_text_build *b, const cel_json *json, const char *what, const char *list,
                       const cel_step_row *rows, int n_rows, void *steps, int depth, cel_err *err) {
  const char *type = cel_json_string(json, "type", NULL);
  if (!type) return cel_fail(err, CEL_MALFORMED, "%s: %s must be an object with a string \"type\"", b->name, what);
  if (strcmp(type, "Sequence") != 0) {
    for (int i = 0; i < n_rows; i++) {
      if (strcmp(type, rows[i].type) == 0) return rows[i].read(b, json, steps, err);
    }
    return refuse(b, type, what, rows, n_rows, err);
  }
  const cel_json *all = cel_json_get(json, list);
  if (!cel_json_is_array(all))
    return cel_fail(err, CEL_MALFORMED, "%s: %s Sequence needs a list \"%s\"", b->name, what, list);
  if (depth >= SEQUENCE_DEPTH) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: %s Sequences are nested deeper than %d", b->name, what, SEQUENCE_DEPTH);
  }
  for (size_t i = 0; i < cel_json_array_size(all); i++) {
    CEL_TRY(read(b, cel_json_array_get(all, i), what, list, rows, n_rows, steps, depth + 1, err));
  }
  return CEL_OK;
}

cel_status cel_steps_read(cel_text_build *b, const cel_json *json, const char *what, const char *list,
                          const cel_step_row *rows, int n_rows, void *steps, cel_err *err) {
  return read(b, json, what, list, rows, n_rows, steps, 0, err);
}

cel_status cel_steps_full(cel_text_build *b, const char *what, cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "%s: %s has more than %d steps", b->name, what, CEL_STEPS_MOST);
}

cel_status cel_step_string(cel_text_build *b, const cel_json *json, const char *key, const char *what, cel_str *out,
                           cel_err *err) {
  const cel_json *v = cel_json_get(json, key);
  if (!cel_json_is_string(v)) {
    return cel_fail(err, CEL_MALFORMED, "%s: %s needs a string \"%s\"", b->name, what, key);
  }
  char *copy = cel_arena_dup(b->arena, cel_json_string_value(v), cel_json_string_length(v));
  if (!copy) return cel_fail_oom(err, b->name);
  *out = (cel_str){copy, cel_json_string_length(v)};
  return CEL_OK;
}
