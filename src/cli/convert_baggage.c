// Tokenizer, templates and further files of a model that is being converted.
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/convert.h"
#include "model/tensor_list.h"
#include "text/carry.h"

enum { FILE_MOST = 256 << 20 };

void cli_baggage_drop(cli_baggage *b) {
  free(b->files);
  cel_arena_deinit(&b->arena);
  *b = (cli_baggage){0};
}

// Copies what it is given.
static cel_status add_file(cli_baggage *b, const char *name, const void *data, int64_t bytes, cel_err *err) {
  void *items = b->files;
  if (!cel_grow(&items, b->n_files, &b->cap_files, sizeof *b->files)) return cel_fail_oom(err, name);
  b->files = items;
  cel_extra_file f = {.name = cel_arena_dup(&b->arena, name, strlen(name)), .data = cel_arena_dup(&b->arena, data, (size_t)bytes),
                      .bytes = bytes};
  if (!f.name || !f.data) return cel_fail_oom(err, name);
  b->files[b->n_files++] = f;
  return CEL_OK;
}

// ---- from a folder to a folder: files as they are ---------------------------------------------------------

static bool is_companion(const char *name) {
  static const char *const tails[] = {".json", ".jinja", ".txt", ".model", ".tiktoken"}, *const whole[] = {"LICENSE", "NOTICE"};
  cel_str s = cel_str_of(name);
  if (name[0] == '.' || !strcmp(name, "config.json") || cel_str_ends(s, CEL_STR(".safetensors.index.json"))) return false;
  for (int i = 0; i < CEL_COUNT(tails); i++) {
    if (cel_str_ends(s, cel_str_of(tails[i]))) return true;
  }
  return !strcmp(name, whole[0]) || !strcmp(name, whole[1]);
}

static cel_status copy_file(cli_baggage *b, const char *dir, const char *name, cel_err *err) {
  cel_buf path = {0};
  char *data = NULL;
  int64_t bytes;
  cel_buf_printf(&path, "%s/%s", dir, name);
  cel_status s = path.failed ? cel_fail_oom(err, name) : CEL_OK;
  if (s == CEL_OK && cel_is_file(path.p)) {
    s = cel_read_file(path.p, FILE_MOST, &data, &bytes, err);
    if (s == CEL_OK) s = add_file(b, name, data, bytes, err);
  }
  free(data);
  cel_buf_deinit(&path);
  return s;
}

static cel_status copy_folder(cli_baggage *b, const char *dir, cel_err *err) {
  DIR *d = opendir(dir);
  if (!d) return cel_fail(err, CEL_IO, "%s: %s", dir, strerror(errno));
  cel_status s = CEL_OK;
  for (const struct dirent *e; s == CEL_OK && (e = readdir(d));) {
    if (is_companion(e->d_name)) s = copy_file(b, dir, e->d_name, err);
  }
  closedir(d);
  return s == CEL_OK ? copy_file(b, dir, "additional_chat_templates/tool_use.jinja", err) : s;
}

// ---- from GGUF to a folder ----------------------------------------------------------------------------------

static cel_status add_json(cli_baggage *b, const char *name, const cel_json *v, cel_err *err) {
  cel_buf text = {0};
  cel_json_write(&text, v, (cel_json_style){.indent = 2});
  cel_status s = text.failed ? cel_fail_oom(err, name) : add_file(b, name, text.p, (int64_t)text.n, err);
  cel_buf_deinit(&text);
  return s;
}

static cel_status add_text(cli_baggage *b, const char *name, const char *text, cel_err *err) {
  return text ? add_file(b, name, text, (int64_t)strlen(text), err) : CEL_OK;
}

static cel_status add_tokenizer_config(cli_baggage *b, const cel_json *from, cel_err *err) {
  cel_json *config = cel_json_deep_copy(from);
  cel_status s = CEL_OK;
  if (!config || cel_json_object_set_new(config, "tokenizer_class", cel_json_string_new(cel_str_of("PreTrainedTokenizerFast"))) != 0 ||
      cel_json_object_set_new(config, "clean_up_tokenization_spaces", cel_json_boolean(false)) != 0) {
    s = cel_fail_oom(err, "tokenizer_config.json");
  }
  if (s == CEL_OK) s = add_json(b, "tokenizer_config.json", config, err);
  cel_json_decref(config);
  return s;
}

static cel_status unpack_gguf(cli_baggage *b, const cel_checkpoint *c, cel_err *err) {
  cel_buf text = {0};
  cel_status s = CEL_OK;
  if (c->gguf_vocab) {
    s = cel_carry_to_json(c->gguf_vocab, c->path, &text, err);
    if (s == CEL_OK) s = add_file(b, "tokenizer.json", text.p, (int64_t)text.n, err);
    if (s == CEL_OK) s = add_tokenizer_config(b, c->tokenizer_config, err);
    b->carried = true;
  }
  cel_buf_deinit(&text);
  if (s == CEL_OK && c->generation_config) s = add_json(b, "generation_config.json", c->generation_config, err);
  if (s == CEL_OK) s = add_text(b, "chat_template.jinja", c->chat_template, err);
  return s == CEL_OK ? add_text(b, "additional_chat_templates/tool_use.jinja", c->chat_template_tools, err) : s;
}

// ---- from a folder to GGUF ------------------------------------------------------------------------------------

// The value stays alive in the arena's lifetime: its strings are copied.
static cel_status keep_strings(cli_baggage *b, cel_str *list, int64_t n, cel_err *err) {
  for (int64_t i = 0; i < n; i++) {
    if (!(list[i].p = cel_arena_dup(&b->arena, list[i].p, list[i].n))) return cel_fail_oom(err, "a vocabulary");
  }
  return CEL_OK;
}

static cel_status carry(cli_baggage *b, const cel_checkpoint *c, const cel_json *json, const char *file, cel_write_note *note, void *context,
                        cel_err *err) {
  cel_arch a;
  const cel_tensor *embed = cel_checkpoint_find(c, "model.embed_tokens.weight");
  CEL_TRY(cel_arch_from_config(c->config, c->generation_config, &b->arena, &a, err));
  cel_carry_source from = {.json = json, .config = c->tokenizer_config, .ends = a.eos, .n_ends = a.n_eos,
                           .n_tokens = embed && embed->rank == 2 ? embed->dims[0] : a.vocab, .name = file};
  CEL_TRY(cel_carry_to_gguf(&from, &b->arena, &b->vocab, note, context, err));
  CEL_TRY(keep_strings(b, (cel_str *)(uintptr_t)b->vocab.tokens, b->vocab.n_tokens, err));
  b->has_vocab = b->carried = true;
  return keep_strings(b, (cel_str *)(uintptr_t)b->vocab.merges, b->vocab.n_merges, err);
}

static cel_status pack_gguf(cli_baggage *b, const cel_checkpoint *c, cel_write_note *note, void *context, cel_err *err) {
  cel_buf file = {0};
  cel_json *json = NULL;
  cel_buf_printf(&file, "%s/tokenizer.json", c->dir);
  cel_status s = file.failed ? cel_fail_oom(err, "a path") : CEL_OK;
  if (s == CEL_OK && !cel_is_file(file.p)) {
    note(context, "there is no tokenizer.json: the GGUF file gets no tokenizer, and takes token ids only");
  } else if (s == CEL_OK) {
    s = cel_json_load(file.p, FILE_MOST, &json, err);
    if (s == CEL_OK) s = carry(b, c, json, file.p, note, context, err);
  }
  cel_json_decref(json);
  cel_buf_deinit(&file);
  return s;
}

cel_status cli_baggage_pack(cli_baggage *b, const cel_checkpoint *c, cel_format to, cel_write_note *note, void *context, cel_err *err) {
  *b = (cli_baggage){0};
  cel_arena_init(&b->arena);
  if (to == CEL_FORMAT_SAFETENSORS) return c->format == CEL_FORMAT_GGUF ? unpack_gguf(b, c, err) : copy_folder(b, c->dir, err);
  return c->format == CEL_FORMAT_GGUF ? CEL_OK : pack_gguf(b, c, note, context, err);
}

// ---- the check ------------------------------------------------------------------------------------------------

static cel_status differ(const char *text, cel_err *err) {
  return cel_fail(err, CEL_UNSUPPORTED, "the tokenizer cannot be carried over: read back, it cuts \"%s\" differently", text);
}

static cel_status compare_on(const cel_tokenizer *a, const cel_tokenizer *b, const char *text, cel_err *err) {
  const cel_encode_options how = {.add_special = true, .parse_special = true};
  int32_t *x = NULL, *y = NULL;
  int64_t n = 0, m = 0;
  cel_status s = cel_encode(a, cel_str_of(text), how, &x, &n, err);
  if (s == CEL_OK) s = cel_encode(b, cel_str_of(text), how, &y, &m, err);
  if (s == CEL_OK && (n != m || (n && memcmp(x, y, (size_t)n * sizeof *x) != 0))) s = differ(text, err);
  free(x);
  free(y);
  return s;
}

cel_status cli_compare_tokenizers(const char *from, const char *to, cel_err *err) {
  static const char *const texts[] = {
    "", "a", " a", "Hello, world! It's 12345.678 o'clock.", "  two  spaces   and\ttabs\n\n\nlines \n",
    "for (int i = 0; i < n; i++) { x[i] += 0x1F; } // done", "The quick brown fox jumps over the lazy dog, doesn't it?",
    "na\303\257ve caf\303\251 \303\234ber \303\221", "\xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82, \xD0\xBC\xD0\xB8\xD1\x80",
    "\xE4\xBD\xA0\xE5\xA5\xBD\xE4\xB8\x96\xE7\x95\x8C\xE3\x80\x82\xE3\x81\x93\xE3\x82\x93\xE3\x81\xAB\xE3\x81\xA1\xE3\x81\xAF",
    "\xF0\x9F\x98\x80\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7 \xE2\x9C\x93", "2024-12-31T23:59:59Z 1,000,000 3.14e-10",
    "<s>user</s> <|im_start|>x<|im_end|> <bos><eos>", "ALLCAPS CamelCase snake_case kebab-case", "\"quotes\" 'single' `ticks` (a)[b]{c}",
  };
  cel_tokenizer *a = NULL, *b = NULL;
  cel_status s = cel_lm_tokenizer(from, &a, err);
  if (s == CEL_OK) s = cel_lm_tokenizer(to, &b, err);
  for (int i = 0; s == CEL_OK && i < CEL_COUNT(texts); i++) s = compare_on(a, b, texts[i], err);
  cel_tokenizer_free(a);
  cel_tokenizer_free(b);
  return s;
}
