#include "generate/lm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/env.h"
#include "base/file.h"
#include "generate/parts.h"

enum { TOKENIZER_BYTES_MOST = 256 << 20 };

// ---- tokenizer -------------------------------------------------------------------------------------

static cel_status tokenizer_from_file(const char *file, const cel_json *config, cel_tokenizer **out, cel_err *err) {
  cel_json *json;
  CEL_TRY(cel_json_load(file, TOKENIZER_BYTES_MOST, &json, err));
  cel_status s = cel_tokenizer_from_json(json, config, file, out, err);
  cel_json_decref(json);
  return s;
}

static cel_status tokenizer_of(const cel_checkpoint *c, cel_tokenizer **out, cel_err *err) {
  if (c->gguf_vocab) return cel_tokenizer_from_gguf(c->gguf_vocab, c->path, out, err);
  cel_buf file = {0};
  cel_buf_printf(&file, "%s/tokenizer.json", c->dir);
  cel_status s = file.failed ? cel_fail_oom(err, "a file name") : tokenizer_from_file(file.p, c->tokenizer_config, out, err);
  cel_buf_deinit(&file);
  return s;
}

static bool ends_with(const char *s, const char *tail) { return cel_str_ends(cel_str_of(s), cel_str_of(tail)); }

// tokenizer_config.json beside a tokenizer.json, when there is one.
static cel_status config_beside(const char *file, cel_json **out, cel_err *err) {
  const char *slash = strrchr(file, '/');
  cel_buf name = {0};
  cel_buf_printf(&name, "%.*stokenizer_config.json", slash ? (int)(slash - file + 1) : 0, file);
  *out = NULL;
  cel_status s = name.failed ? cel_fail_oom(err, "a file name") : CEL_OK;
  if (s == CEL_OK && cel_is_file(name.p)) s = cel_json_load(name.p, TOKENIZER_BYTES_MOST, out, err);
  cel_buf_deinit(&name);
  return s;
}

static cel_status tokenizer_beside(const char *file, cel_tokenizer **out, cel_err *err) {
  cel_json *config;
  CEL_TRY(config_beside(file, &config, err));
  cel_status s = tokenizer_from_file(file, config, out, err);
  cel_json_decref(config);
  return s;
}

cel_status cel_lm_tokenizer(const char *path, cel_tokenizer **out, cel_err *err) {
  *out = NULL;
  if (ends_with(path, ".json")) return tokenizer_beside(path, out, err);
  if (cel_is_dir(path)) {
    cel_buf file = {0};
    cel_buf_printf(&file, "%s/tokenizer.json", path);
    cel_status s = file.failed ? cel_fail_oom(err, "a file name") : CEL_OK;
    bool there = s == CEL_OK && cel_is_file(file.p);
    if (there) s = tokenizer_beside(file.p, out, err);
    cel_buf_deinit(&file);
    if (there || s != CEL_OK) return s;
  }
  cel_checkpoint *c;
  CEL_TRY(cel_checkpoint_open(path, &c, err));
  cel_status s = cel_checkpoint_intact(c, tokenizer_of(c, out, err), err);
  cel_checkpoint_close(c);
  if (s == CEL_OK) return s;
  cel_tokenizer_free(*out);
  *out = NULL;
  return s;
}

// ---- opening ---------------------------------------------------------------------------------------

static int by_id(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

static cel_status unite_end_ids(cel_lm *lm, cel_err *err) {
  enum { MOST = 64 };
  int32_t ids[CEL_ARCH_MAX_EOS + MOST];
  int n = 0;
  for (int i = 0; i < lm->arch.n_eos; i++) ids[n++] = lm->arch.eos[i];
  if (lm->tokenizer) n += CEL_MIN(cel_tokenizer_end_ids(lm->tokenizer, ids + n, MOST), MOST);
  qsort(ids, (size_t)n, sizeof *ids, by_id);
  lm->end_ids = CEL_NEW_ARRAY(&lm->arena, int32_t, n + 1);
  if (!lm->end_ids) return cel_fail_oom(err, "end ids");
  for (int i = 0; i < n; i++) {
    if (ids[i] >= 0 && (i == 0 || ids[i] != ids[i - 1])) lm->end_ids[lm->n_end_ids++] = ids[i];
  }
  return CEL_OK;
}

// The texts templates know by name: bos_token, eos_token and their kin, as strings or {"content": ...}.
static cel_status read_special_tokens(cel_lm *lm, cel_err *err) {
  static const char *const names[] = {"bos_token", "eos_token", "unk_token", "pad_token", "sep_token", "cls_token", "mask_token"};
  lm->special_tokens = cel_json_object();
  if (!lm->special_tokens) return cel_fail_oom(err, "special tokens");
  for (int i = 0; i < CEL_COUNT(names); i++) {
    const cel_json *v = cel_json_get(lm->checkpoint->tokenizer_config, names[i]);
    const char *text = cel_json_is_string(v) ? cel_json_string_value(v) : cel_json_string(v, "content", NULL);
    if (text && cel_json_object_set_new(lm->special_tokens, names[i], cel_json_string_of(text)) != 0) return cel_fail_oom(err, "special tokens");
  }
  return CEL_OK;
}

static cel_status compile_template(cel_lm *lm, const char *source, const char *what, cel_template **out) {
  cel_status s = cel_template_compile(cel_str_of(source), what, out, &lm->chat_err);
  return s == CEL_OK ? s : cel_err_prefix(&lm->chat_err, "%s", lm->checkpoint->path);
}

// A template that cannot be read matters only to those who render it.
static cel_status compile_templates(cel_lm *lm, cel_err *err) {
  const cel_checkpoint *c = lm->checkpoint;
  cel_status s = CEL_OK;
  if (c->chat_template) s = compile_template(lm, c->chat_template, "chat template", &lm->chat);
  if (s == CEL_OK && c->chat_template_tools) {
    s = compile_template(lm, c->chat_template_tools, "chat template tool_use", &lm->chat_tools);
  }
  if (s != CEL_OOM) return CEL_OK;
  *err = lm->chat_err;
  return s;
}

static cel_status no_tokenizer(const cel_lm *lm, cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "%s has no tokenizer (tokenizer.json): give token ids with --ids", lm->checkpoint->path);
}

static cel_status open_tokenizer(cel_lm *lm, const cel_lm_options *o, cel_err *err) {
  cel_status s = tokenizer_of(lm->checkpoint, &lm->tokenizer, err);
  if (s != CEL_NOT_FOUND) return s;
  return o->need_tokenizer ? no_tokenizer(lm, err) : CEL_OK;
}

static cel_status describe(cel_lm *lm, const cel_lm_options *o, cel_err *err) {
  const cel_json *config = lm->checkpoint->config;
  cel_status s = cel_arch_from_config(config, lm->checkpoint->generation_config, &lm->arena, &lm->arch, err);
  if (s == CEL_OK) return s;
  cel_err_prefix(err, "%s", lm->checkpoint->path);
  bool unnamed = !cel_json_get(config, "model_type") && !cel_json_get(config, "text_config");
  if (!o->any_family || !(s == CEL_UNSUPPORTED || unnamed)) return s;
  lm->arch = (cel_arch){.bos = -1};
  lm->arch_err = *err;
  return CEL_OK;
}

cel_status cel_lm_blame(const cel_lm *lm, cel_status s, cel_err *err) {
  bool of_the_files = s == CEL_MALFORMED || s == CEL_NOT_FOUND || s == CEL_UNSUPPORTED;
  if (!err || !of_the_files || cel_str_starts(cel_str_of(err->text), cel_str_of(lm->checkpoint->path))) return s;
  return cel_err_prefix(err, "%s", lm->checkpoint->path);
}

// MLXCEL_BACKEND=xla means nothing to a build without that path.
static const char *backend_of_environment(void) {
  const char *name = cel_env(CEL_ENV_BACKEND);
#ifndef CEL_WITH_XLA
  if (name && !strcmp(name, "xla")) return NULL;
#endif
  return name;
}

static cel_status load_backend(cel_lm *lm, const cel_lm_options *o, cel_err *err) {
  double start = cel_now_ms();
  CEL_TRY(cel_env_check(err));
  CEL_TRY(cel_backend_find(o->backend ? o->backend : backend_of_environment(), &lm->backend, err));
  cel_status s = lm->backend->load(&lm->arch, lm->checkpoint, &o->load, &lm->model, err);
  if (s != CEL_OK) return cel_lm_blame(lm, s, err);
  lm->load_ms = cel_now_ms() - start;
  return CEL_OK;
}

cel_status cel_lm_open(const char *path, const cel_lm_options *options, cel_lm **out, cel_err *err) {
  *out = NULL;
  double start = cel_now_ms();
  cel_lm *lm = calloc(1, sizeof *lm);
  if (!lm) return cel_fail_oom(err, "a model");
  cel_arena_init(&lm->arena);
  cel_status s = cel_checkpoint_open_adapted(path, options->adapter, &lm->checkpoint, err);
  if (s == CEL_OK) s = describe(lm, options, err);
  if (s == CEL_OK) s = open_tokenizer(lm, options, err);
  if (s == CEL_OK) s = read_special_tokens(lm, err);
  if (s == CEL_OK) s = compile_templates(lm, err);
  if (s == CEL_OK) s = unite_end_ids(lm, err);
  lm->open_ms = cel_now_ms() - start;
  if (s == CEL_OK && options->need_backend) s = load_backend(lm, options, err);
  if (lm->checkpoint) s = cel_checkpoint_intact(lm->checkpoint, s, err);
  if (s != CEL_OK) {
    cel_lm_close(lm);
    return s;
  }
  *out = lm;
  return CEL_OK;
}

void cel_lm_close(cel_lm *lm) {
  if (!lm) return;
  if (lm->model) lm->backend->unload(lm->model);
  cel_template_free(lm->chat);
  cel_template_free(lm->chat_tools);
  cel_tokenizer_free(lm->tokenizer);
  cel_json_decref(lm->special_tokens);
  cel_checkpoint_close(lm->checkpoint);
  cel_arena_deinit(&lm->arena);
  free(lm);
}

// ---- prompts ---------------------------------------------------------------------------------------

// The messages as this template can take them; *fit stays NULL when that is as they are.
static cel_status fit_messages(const cel_lm *lm, const cel_template *t, const cel_json *messages, cel_json **fit, cel_err *err) {
  bool takes = true;
  if (cel_messages_have_parts(messages)) CEL_TRY(cel_template_takes_parts(t, lm->special_tokens, &takes, err));
  if (!takes) CEL_TRY(cel_messages_join_parts(messages, fit, err));
  if (!cel_messages_have_developer(messages)) return CEL_OK;
  cel_json *joined = *fit;
  cel_status s = cel_template_takes_developer(t, lm->special_tokens, &takes, err);
  if (s == CEL_OK && takes) return CEL_OK;
  *fit = NULL;
  if (s == CEL_OK) s = cel_messages_without_developer(joined ? joined : messages, fit, err);
  cel_json_decref(joined);
  return s;
}

cel_status cel_lm_render(const cel_lm *lm, const cel_json *messages, const cel_json *tools, const cel_json *kwargs,
                         bool add_generation_prompt, cel_buf *out, cel_err *err) {
  const cel_template *t = tools && lm->chat_tools ? lm->chat_tools : lm->chat;
  if (!t && lm->chat_err.status != CEL_OK) {
    if (err) *err = lm->chat_err;
    return lm->chat_err.status;
  }
  if (!t) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s has no chat template: give raw text with --no-chat-template",
                    lm->checkpoint->path);
  }
  cel_json *variables = NULL, *fit = NULL;
  cel_status s = fit_messages(lm, t, messages, &fit, err);
  if (s == CEL_OK) {
    s = cel_chat_variables(fit ? fit : messages, tools, lm->special_tokens, kwargs, add_generation_prompt, &variables, err);
  }
  if (s == CEL_OK) s = cel_template_render(t, variables, NULL, out, err);
  cel_json_decref(fit);
  cel_json_decref(variables);
  return s;
}

cel_status cel_lm_encode(const cel_lm *lm, cel_str text, bool rendered, int32_t **ids, int64_t *n, cel_err *err) {
  *ids = NULL;
  if (!lm->tokenizer) return no_tokenizer(lm, err);
  cel_encode_options how = {.add_special = !rendered, .parse_special = true};
  return cel_encode(lm->tokenizer, text, how, ids, n, err);
}
