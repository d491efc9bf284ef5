// tokenizer.json (Hugging Face tokenizers) and what tokenizer_config.json adds to it.
#include "text/json_loader.h"

// --- steps --------------------------------------------------------------------------------------------

static cel_status read_steps(cel_json_loader *l, cel_err *err) {
  cel_tokenizer *t = l->t;
  const cel_json *root = l->root;
  const cel_json *norm = cel_json_get(root, "normalizer"), *pre = cel_json_get(root, "pre_tokenizer");
  const cel_json *post = cel_json_get(root, "post_processor"), *decoder = cel_json_get(root, "decoder");
  if (norm) CEL_TRY(cel_norms_read(&l->b, norm, &t->norms, err));
  if (pre) CEL_TRY(cel_pres_read(&l->b, pre, &t->pres, err));
  if (post) CEL_TRY(cel_posts_read(&l->b, post, &t->posts, err));
  if (decoder) CEL_TRY(cel_decode_steps_read(&l->b, decoder, &t->decoder, err));
  t->decoder.joined_by_space = !decoder;
  for (int i = 0; i < t->posts.n; i++) {
    for (int k = 0; k < t->posts.step[i].n; k++) {
      int32_t id = t->posts.step[i].ids[k];
      if (id == CEL_POST_TEXT || (id < t->size && (t->tokens[id].flags & CEL_TOKEN_KNOWN))) continue;
      return cel_fail(err, CEL_MALFORMED, "%s: post_processor adds id %d, which no token has", l->b.name, (int)id);
    }
  }
  return CEL_OK;
}

// A special token of tokenizer_config.json: "text" or {"content": "text"}; -1 when absent or no token.
static int32_t config_token(const cel_json_loader *l, const char *key) {
  const cel_json *v = cel_json_get(l->config, key);
  if (cel_json_is_object(v)) v = cel_json_get(v, "content");
  return cel_json_is_string(v) ? cel_tokenizer_find(l->t, cel_json_text(v)) : -1;
}

// What tokenizer_config.json adds: which token begins a text and which ends it. Its add_bos_token and
// add_eos_token do not count beside a tokenizer.json, whose post-processor says what is added (as in
// transformers 5).
static void apply_config(cel_json_loader *l) {
  cel_tokenizer *t = l->t;
  int32_t bos = config_token(l, "bos_token");
  if (t->posts.n && t->posts.step[0].n && t->posts.step[0].ids[0] != CEL_POST_TEXT) t->bos = t->posts.step[0].ids[0];
  if (bos >= 0) t->bos = bos;
  cel_tokenizer_add_end(t, config_token(l, "eos_token"));
}

cel_status cel_tokenizer_from_json(const cel_json *json, const cel_json *config, const char *name, cel_tokenizer **out,
                                   cel_err *err) {
  CEL_TRY(cel_tokenizer_new(out, err));
  cel_tokenizer *t = *out;
  cel_json_loader l = {.t = t, .b = {&t->arena, &t->regexes, name}, .root = json, .config = config};
  cel_status s;
  CEL_TRY_DONE(s, cel_json_read_model(&l, err));
  CEL_TRY_DONE(s, read_steps(&l, err));
  CEL_TRY_DONE(s, cel_tokenizer_index(t, err));
  apply_config(&l);
  CEL_TRY_DONE(s, cel_tokenizer_finish(t, err));
done:
  if (s != CEL_OK) {
    cel_tokenizer_free(t);
    *out = NULL;
  }
  return s;
}
