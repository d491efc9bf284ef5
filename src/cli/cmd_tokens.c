// mlxcel tokenize, detokenize.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static cel_status open_tokenizer(const cli_options *o, cel_tokenizer **out, cel_err *err) {
  cel_buf path = {0};
  cli_options model_only = *o;
  model_only.n_operands = 0;
  cel_status s = cli_model_path(&model_only, &path, err);
  if (s == CEL_OK) s = cel_lm_tokenizer(path.p, out, err);
  cel_buf_deinit(&path);
  return s;
}

static int print_ids(const int32_t *ids, int64_t n, cel_err *err) {
  cel_buf b = {0};
  cli_add_ids(&b, ids, n);
  cel_buf_addc(&b, '\n');
  return cli_print(&b, err);
}

int cmd_tokenize(const cli_options *o) {
  if (!o->model) return cli_usage("give the tokenizer with -m: a folder, a tokenizer.json or a GGUF file");
  cel_err err = {0};
  cel_tokenizer *t;
  if (open_tokenizer(o, &t, &err) != CEL_OK) return cli_fail(&err);
  char *read = NULL;
  cel_str text = {0};
  cel_status s = CEL_OK;
  if (o->n_operands) {
    text = cel_str_of(o->operands[0]);
  } else {
    int64_t bytes = 0;
    s = cli_read_stdin(&read, &bytes, &err);
    text = (cel_str){read, (size_t)bytes};
  }
  int32_t *ids = NULL;
  int64_t n = 0;
  cel_encode_options how = {.add_special = !o->no_special, .parse_special = !o->no_parse_special};
  if (s == CEL_OK) s = cel_encode(t, text, how, &ids, &n, &err);
  int status = s == CEL_OK ? print_ids(ids, n, &err) : cli_fail(&err);
  free(ids);
  free(read);
  cel_tokenizer_free(t);
  return status;
}

static cel_status check_ids(const cel_tokenizer *t, const int32_t *ids, int64_t n, cel_err *err) {
  for (int64_t i = 0; i < n; i++) {
    if (ids[i] < cel_tokenizer_size(t)) continue;
    return cel_fail(err, CEL_INVALID, "token %lld is %d, the tokenizer has ids 0 to %lld", (long long)i, ids[i],
                    (long long)cel_tokenizer_size(t) - 1);
  }
  return CEL_OK;
}

int cmd_detokenize(const cli_options *o) {
  if (!o->model) return cli_usage("give the tokenizer with -m: a folder, a tokenizer.json or a GGUF file");
  if (o->n_operands < 1) return cli_usage("give the ids: mlxcel detokenize -m MODEL 1,2,3");
  cel_err err = {0};
  cel_tokenizer *t = NULL;
  int32_t *ids = NULL;
  int64_t n = 0;
  cel_buf list = {0}, text = {0};
  for (int i = 0; i < o->n_operands; i++) cel_buf_printf(&list, "%s ", o->operands[i]);
  cel_status s = list.failed ? cel_fail_oom(&err, "the ids") : cli_parse_ids(list.p, &ids, &n, &err);
  if (s == CEL_OK) s = open_tokenizer(o, &t, &err);
  if (s == CEL_OK) s = check_ids(t, ids, n, &err);
  if (s == CEL_OK) s = cel_decode(t, ids, n, o->no_special, &text, &err);
  cel_buf_addc(&text, '\n');
  int status = EXIT_OK;
  if (s == CEL_OK) {
    status = cli_print(&text, &err);
  } else {
    cel_buf_deinit(&text);
    status = cli_fail(&err);
  }
  cel_buf_deinit(&list);
  free(ids);
  cel_tokenizer_free(t);
  return status;
}
