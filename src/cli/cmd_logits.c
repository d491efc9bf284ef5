// mlxcel logits: the scores of every position of a prompt of ids.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

// The k best of one row, by repeated search: k is small.
static void add_top(cel_buf *b, float *row, int64_t vocab, int64_t k) {
  cel_buf_addc(b, '[');
  for (int64_t i = 0; i < k && i < vocab; i++) {
    int64_t best = 0;
    for (int64_t v = 1; v < vocab; v++) {
      if (row[v] > row[best]) best = v;
    }
    cel_buf_printf(b, "%s{\"id\":%lld,\"logit\":", i ? "," : "", (long long)best);
    cel_json_add_number(b, row[best]);
    cel_buf_addc(b, '}');
    row[best] = -INFINITY;
  }
  cel_buf_addc(b, ']');
}

static int64_t head_rows(const cel_lm *lm) {
  cel_err ignored;
  cel_weight w;
  for (int i = 0; i < 2; i++) {
    char name[200];
    if (!cel_arch_weight_name(&lm->arch, i ? CEL_W_EMBED : CEL_W_HEAD, -1, name, sizeof name)) continue;
    if (cel_checkpoint_weight(lm->checkpoint, name, &w, &ignored) == CEL_OK) return w.rows;
  }
  return lm->arch.vocab;
}

static int write_logits(const cli_options *o, float *logits, int64_t n, int64_t vocab, cel_err *err) {
  if (o->npy && cli_npy_write(o->npy, "<f4", logits, 2, (const int64_t[]){n, vocab}, err) != CEL_OK) return cli_fail(err);
  if (o->top <= 0) return EXIT_OK;
  cel_buf b = {0};
  cel_buf_printf(&b, "{\"n\":%lld,\"vocab\":%lld,\"top\":[", (long long)n, (long long)vocab);
  for (int64_t t = 0; t < n; t++) {
    if (t) cel_buf_addc(&b, ',');
    add_top(&b, logits + t * vocab, vocab, o->top);
  }
  cel_buf_addz(&b, "]}\n");
  return cli_print(&b, err);
}

static int with_model(const cli_options *o, const cel_lm *lm, cel_err *err) {
  int32_t *ids;
  int64_t n, vocab = head_rows(lm);
  if (cli_parse_ids(o->ids, &ids, &n, err) != CEL_OK) return cli_fail(err);
  float *logits = n > 0 && n <= (1 << 20) ? malloc((size_t)(n * vocab) * sizeof *logits) : NULL;
  int status = EXIT_OK;
  if (!logits) {
    if (n < 1) cel_fail(err, CEL_INVALID, "--ids holds no token");
    else cel_fail_oom(err, "the logits");
    status = cli_fail(err);
  } else {
    cel_prompt p = {.ids = ids, .n = n};
    status = lm->backend->logits(lm->model, &p, logits, err) == CEL_OK ? write_logits(o, logits, n, vocab, err) : cli_fail(err);
  }
  free(logits);
  free(ids);
  return status;
}

int cmd_logits(const cli_options *o) {
  if (!o->model) return cli_usage("give the model with -m");
  if (!o->ids) return cli_usage("give the prompt with --ids 1,2,3");
  if (!o->npy && o->top <= 0) return cli_usage("say where the logits go: --npy FILE, or --top K");
  cel_err err = {0};
  cel_lm *lm;
  if (cli_open(o, true, false, 1, o->context, &lm, &err) != CEL_OK) return cli_fail(&err);
  int status = with_model(o, lm, &err);
  cel_lm_close(lm);
  return status;
}
