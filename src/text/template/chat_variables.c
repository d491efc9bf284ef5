// The variables transformers' apply_chat_template gives a chat template.
#include "text/template/template.h"

static const char *const reasoning_keys[] = {"reasoning_content", "thinking", "reasoning"};

// Putting a value somewhere counts its document and changes nothing in it.
static cel_json *writable(const cel_json *j) {
  union {
    const cel_json *in;
    cel_json *out;
  } u = {j};
  return u.out;
}

static bool put(cel_json *to, const char *key, size_t n, const cel_json *value) {
  return cel_json_object_setn(to, key, n, writable(value)) == 0;
}

static bool put_all(cel_json *to, const cel_json *from, bool drop_null) {
  size_t i;
  cel_str key;
  cel_json *v;
  cel_json_object_foreach(from, i, key, v) {
    if (drop_null && cel_json_is_null(v)) continue;
    if (!put(to, key.p, key.n, v)) return false;
  }
  return true;
}

static const cel_json *reasoning_of(const cel_json *message) {
  for (int i = 0; i < CEL_COUNT(reasoning_keys); i++) {
    const cel_json *v = cel_json_get(message, reasoning_keys[i]);
    if (v) return v;
  }
  return NULL;
}

// Without null-valued keys; reasoning goes by the names templates look for, "thinking" first.
static cel_json *normalize(const cel_json *message) {
  cel_json *m = cel_json_object();
  const cel_json *reasoning = reasoning_of(message);
  bool ok = m != NULL;
  if (ok && reasoning) ok = put(m, "thinking", 8, reasoning);
  ok = ok && put_all(m, message, true);
  if (ok && reasoning) ok = put(m, "reasoning_content", 17, reasoning);
  if (ok) return m;
  cel_json_decref(m);
  return NULL;
}

static cel_status normalize_all(const cel_json *messages, cel_json *list, cel_err *err) {
  if (!cel_json_is_array(messages) || !cel_json_array_size(messages)) {
    return cel_fail(err, CEL_INVALID, "messages must be a list with at least one message");
  }
  for (size_t i = 0; i < cel_json_array_size(messages); i++) {
    const cel_json *m = cel_json_array_get(messages, i);
    if (!cel_json_is_object(m)) return cel_fail(err, CEL_INVALID, "messages[%zu] is no object", i);
    cel_json *copy = normalize(m);
    if (!copy || cel_json_array_append_new(list, copy) != 0) return cel_fail_oom(err, "the messages");
  }
  return CEL_OK;
}

static cel_status check_arguments(const cel_json *tools, const cel_json *special, const cel_json *kwargs, cel_err *err) {
  if (tools && !cel_json_is_array(tools)) return cel_fail(err, CEL_INVALID, "tools must be a list");
  for (size_t i = 0; tools && i < cel_json_array_size(tools); i++) {
    if (!cel_json_is_object(cel_json_array_get(tools, i))) return cel_fail(err, CEL_INVALID, "tools[%zu] is no object", i);
  }
  if (special && !cel_json_is_object(special)) return cel_fail(err, CEL_INVALID, "the special tokens are no object");
  if (kwargs && !cel_json_is_object(kwargs)) return cel_fail(err, CEL_INVALID, "the template's arguments are no object");
  static const char *const taken[] = {"messages", "tools", "add_generation_prompt"};
  for (int i = 0; kwargs && i < CEL_COUNT(taken); i++) {
    if (cel_json_object_get(kwargs, taken[i])) {
      return cel_fail(err, CEL_INVALID, "\"%s\" cannot be among the template's arguments, it is set already", taken[i]);
    }
  }
  return CEL_OK;
}

cel_status cel_chat_variables(const cel_json *messages, const cel_json *tools, const cel_json *special_tokens,
                              const cel_json *kwargs, bool add_generation_prompt, cel_json **out, cel_err *err) {
  *out = NULL;
  if (cel_json_is_null(tools)) tools = NULL;
  if (cel_json_is_null(special_tokens)) special_tokens = NULL;
  if (cel_json_is_null(kwargs)) kwargs = NULL;
  CEL_TRY(check_arguments(tools, special_tokens, kwargs, err));
  cel_json *o = cel_json_object(), *list = cel_json_array();
  cel_status s = o && list ? normalize_all(messages, list, err) : cel_fail_oom(err, "the variables of a template");
  bool ok = s == CEL_OK && cel_json_object_set_new(o, "documents", cel_json_null()) == 0;
  if (ok && special_tokens) ok = put_all(o, special_tokens, false);
  if (ok && kwargs) ok = put_all(o, kwargs, false);
  ok = ok && cel_json_object_set(o, "messages", list) == 0 && (tools ? put(o, "tools", 5, tools) : cel_json_object_set_new(o, "tools", cel_json_null()) == 0) &&
       cel_json_object_set_new(o, "add_generation_prompt", cel_json_boolean(add_generation_prompt)) == 0;
  cel_json_decref(list);
  if (ok) {
    *out = o;
    return CEL_OK;
  }
  cel_json_decref(o);
  return s == CEL_OK ? cel_fail_oom(err, "the variables of a template") : s;
}
