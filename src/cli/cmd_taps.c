// mlxcel xla taps: named values of the graph on any engine, as NumPy files beside a manifest.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/prompt.h"

#ifdef CEL_WITH_XLA_DIAGNOSTICS

#include "backend/xla/xla_taps.h"

static void add_text(cel_buf *b, const char *key, const char *value) {
  cli_add_key(b, key);
  cel_json_add_string(b, cel_str_of(value));
}

static void add_array(cel_buf *b, const cel_diag_array *a) {
  cel_buf_addc(b, '{');
  add_text(b, "name", a->name);
  cli_add_key(b, "file");
  cel_buf_printf(b, "\"%s.npy\"", a->name);
  add_text(b, "dtype", a->dtype);
  cli_add_key(b, "shape");
  cel_buf_addc(b, '[');
  for (int i = 0; i < a->rank; i++) cel_buf_printf(b, "%s%lld", i ? "," : "", (long long)a->dims[i]);
  cel_buf_addz(b, "]}");
}

static void manifest(const cli_options *o, const cli_prompt *p, const cel_xla_taps *t, cel_buf *b) {
  cel_buf_addz(b, "{\"schema\":\"mlxcel-taps-v1\"");
  add_text(b, "program", "mlxcel " CEL_VERSION);
  add_text(b, "model", o->model);
  add_text(b, "engine", t->engine);
  add_text(b, "device", t->device);
  add_text(b, "precision", t->precision);
  add_text(b, "isa", t->isa);
  cli_add_key(b, "ids");
  cli_add_ids(b, p->ids, p->n);
  cli_add_key(b, "taps");
  cel_buf_addc(b, '[');
  for (int i = 0; i < t->n; i++) {
    if (i) cel_buf_addc(b, ',');
    add_array(b, &t->arrays[i]);
  }
  cel_buf_addz(b, "]}\n");
}

static cel_status write_file(const char *folder, const char *name, const cel_diag_array *a, const cel_buf *text, cel_err *err) {
  cel_buf path = {0};
  cel_buf_printf(&path, "%s/%s%s", folder, name, a ? ".npy" : "");
  cel_status s = path.failed || (text && text->failed) ? cel_fail_oom(err, "a file's text") : CEL_OK;
  if (s == CEL_OK && a) s = cli_npy_write(path.p, a->dtype, a->data, a->rank, a->dims, err);
  if (s == CEL_OK && text) s = cel_write_file(path.p, text->p, (int64_t)text->n, err);
  cel_buf_deinit(&path);
  return s;
}

static cel_status write_all(const cli_options *o, const cli_prompt *p, const cel_xla_taps *t, cel_err *err) {
  if (mkdir(o->output, 0777) != 0 && errno != EEXIST) return cel_fail(err, CEL_IO, "%s: %s", o->output, strerror(errno));
  for (int i = 0; i < t->n; i++) CEL_TRY(write_file(o->output, t->arrays[i].name, &t->arrays[i], NULL, err));
  cel_buf text = {0};
  manifest(o, p, t, &text);
  cel_status s = write_file(o->output, "taps.json", NULL, &text, err);
  if (s == CEL_OK && o->json) fwrite(text.p, 1, text.n, stdout);
  cel_buf_deinit(&text);
  return s;
}

static cel_status read_module(const cli_options *o, char **text, cel_xla_taps_options *out, cel_err *err) {
  int64_t n;
  *text = NULL;
  if (!o->module) return CEL_OK;
  CEL_TRY(cel_read_file(o->module, (int64_t)1 << 32, text, &n, err));
  out->module = (cel_str){*text, (size_t)n};
  out->module_name = o->module;
  return CEL_OK;
}

static const char *const every[] = {"*"};

static cel_status run(const cli_options *o, const cel_lm *lm, cel_err *err) {
  cli_prompt p = {0};
  cel_xla_taps t = {0};
  char *text = NULL;
  cel_xla_taps_options q = {.device = o->engine, .precision = o->precision, .n_threads = (int)o->threads,
                            .taps = o->tap.n ? o->tap.items : every, .n_taps = o->tap.n ? o->tap.n : 1};
  cel_status s = cli_prompt_make(o, lm, &p, err);
  if (s == CEL_OK) s = read_module(o, &text, &q, err);
  if (s == CEL_OK) s = cel_xla_taps_run(&lm->arch, lm->checkpoint, p.ids, p.n, &q, &t, err);
  if (s == CEL_OK) s = write_all(o, &p, &t, err);
  cel_xla_taps_deinit(&t);
  free(text);
  free(p.ids);
  return s;
}

static int list(const cli_options *o, const cel_lm *lm, cel_err *err) {
  cel_buf b = {0};
  cel_status s = cel_xla_taps_list(&lm->arch, lm->checkpoint, o->tap.n ? o->tap.items : every, o->tap.n ? o->tap.n : 1, &b, err);
  if (s == CEL_OK) return cli_print(&b, err);
  cel_buf_deinit(&b);
  (void)cel_lm_blame(lm, s, err);
  return cli_fail(err);
}

int cli_xla_taps(const cli_options *o) {
  if (!o->model) return cli_usage("give the model with -m");
  if (!o->list && !o->output) return cli_usage("say which folder the values go to: -o DIR (or --list, for their names)");
  if (!o->list && !o->ids && !o->prompt && !o->messages) return cli_usage("give the prompt with --ids, -p or --messages");
  int status = cli_prompt_check(o);
  if (status) return status;
  cel_err err = {0};
  cel_lm *lm;
  if (cli_open(o, false, !o->list && !o->ids, 1, 0, &lm, &err) != CEL_OK) return cli_fail(&err);
  if (o->list) {
    status = list(o, lm, &err);
  } else {
    cel_status s = run(o, lm, &err);
    if (s != CEL_OK) (void)cel_lm_blame(lm, s, &err);
    status = s == CEL_OK ? EXIT_OK : cli_fail(&err);
  }
  cel_lm_close(lm);
  return status;
}

#else

int cli_xla_taps(const cli_options *o) {
  (void)o;
  cel_err err = {0};
  cel_fail(&err, CEL_UNSUPPORTED, "taps are not in this build: configure with CEL_XLA_DIAGNOSTICS=ON");
  return cli_fail(&err);
}

#endif
