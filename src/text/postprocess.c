// Post-processors: TemplateProcessing (of one text), BertProcessing and RobertaProcessing (one token before it, one
// behind), ByteLevel (which changes offsets only).
#include "text/steps.h"

enum { LONGEST_TEMPLATE = 4096 };

static cel_status read_byte_level(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  (void)b, (void)json, (void)steps, (void)err;
  return CEL_OK;
}

static cel_status special_ids(cel_text_build *b, const cel_json *json, const char *id, cel_ids *out, cel_err *err) {
  const cel_json *ids = cel_json_get(cel_json_get(cel_json_get(json, "special_tokens"), id), "ids");
  if (!cel_json_is_array(ids)) {
    return cel_fail(err, CEL_MALFORMED,
                    "%s: post_processor.special_tokens has no \"ids\" for \"%.80s\", which the template uses", b->name,
                    id);
  }
  for (size_t i = 0; i < cel_json_array_size(ids); i++) {
    const cel_json *v = cel_json_array_get(ids, i);
    int64_t k = cel_json_integer_value(v);
    if (!cel_json_is_integer(v) || k < 0 || k > INT32_MAX) {
      return cel_fail(err, CEL_MALFORMED, "%s: post_processor.special_tokens[\"%.80s\"].ids must hold token ids",
                      b->name, id);
    }
    cel_ids_add(out, (int32_t)k);
    if (out->n > LONGEST_TEMPLATE) {
      return cel_fail(err, CEL_UNSUPPORTED, "%s: post_processor adds more than %d tokens", b->name, LONGEST_TEMPLATE);
    }
  }
  return CEL_OK;
}

static cel_status read_pieces(cel_text_build *b, const cel_json *json, cel_ids *out, cel_err *err) {
  const cel_json *single = cel_json_get(json, "single");
  if (!cel_json_is_array(single)) {
    return cel_fail(err, CEL_MALFORMED, "%s: post_processor TemplateProcessing needs a list \"single\"", b->name);
  }
  int texts = 0;
  for (size_t i = 0; i < cel_json_array_size(single); i++) {
    const cel_json *piece = cel_json_array_get(single, i), *token = cel_json_get(piece, "SpecialToken");
    const char *id = cel_json_string(token, "id", NULL);
    if (id) {
      CEL_TRY(special_ids(b, json, id, out, err));
    } else if (strcmp(cel_json_string(cel_json_get(piece, "Sequence"), "id", ""), "A") == 0) {
      cel_ids_add(out, CEL_POST_TEXT);
      texts++;
    } else {
      return cel_fail(err, CEL_MALFORMED, "%s: post_processor.single[%zu] is neither a SpecialToken nor the Sequence A",
                      b->name, i);
    }
  }
  if (texts > 1) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s: post_processor.single repeats the text %d times, once is supported",
                    b->name, texts);
  }
  return out->failed ? cel_fail_oom(err, b->name) : CEL_OK;
}

static cel_status read_template(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_posts *posts = steps;
  if (posts->n == CEL_STEPS_MOST) return cel_steps_full(b, "post_processor", err);
  cel_ids ids = {0};
  cel_status s = read_pieces(b, json, &ids, err);
  int32_t *copy = s == CEL_OK ? CEL_NEW_ARRAY(b->arena, int32_t, ids.n) : NULL;
  if (s == CEL_OK && !copy) s = cel_fail_oom(err, b->name);
  if (s == CEL_OK && ids.n) memcpy(copy, ids.p, ids.n * sizeof *copy);
  if (s == CEL_OK) posts->step[posts->n++] = (cel_post){copy, (int)ids.n};
  cel_ids_deinit(&ids);
  return s;
}

// "cls" and "sep": ["[CLS]", 101].
static cel_status pair_id(cel_text_build *b, const cel_json *json, const char *key, int32_t *out, cel_err *err) {
  const cel_json *pair = cel_json_get(json, key), *id = cel_json_array_get(pair, 1);
  int64_t k = cel_json_integer_value(id);
  if (cel_json_array_size(pair) != 2 || !cel_json_is_integer(id) || k < 0 || k > INT32_MAX) {
    return cel_fail(err, CEL_MALFORMED, "%s: post_processor.%s must be [token, id]", b->name, key);
  }
  *out = (int32_t)k;
  return CEL_OK;
}

static cel_status read_pair(cel_text_build *b, const cel_json *json, void *steps, cel_err *err) {
  cel_posts *posts = steps;
  if (posts->n == CEL_STEPS_MOST) return cel_steps_full(b, "post_processor", err);
  int32_t *ids = CEL_NEW_ARRAY(b->arena, int32_t, 3);
  if (!ids) return cel_fail_oom(err, b->name);
  CEL_TRY(pair_id(b, json, "cls", &ids[0], err));
  CEL_TRY(pair_id(b, json, "sep", &ids[2], err));
  ids[1] = CEL_POST_TEXT;
  posts->step[posts->n++] = (cel_post){ids, 3};
  return CEL_OK;
}

static const cel_step_row rows[] = {
    {"TemplateProcessing", read_template},
    {"ByteLevel", read_byte_level},
    {"BertProcessing", read_pair},
    {"RobertaProcessing", read_pair},
};

cel_status cel_posts_read(cel_text_build *b, const cel_json *json, cel_posts *out, cel_err *err) {
  return cel_steps_read(b, json, "post_processor", "processors", rows, CEL_COUNT(rows), out, err);
}
