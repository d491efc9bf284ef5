// mlxcel xla: emit a module, run one, explain a plan.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/cli.h"

#ifdef CEL_WITH_XLA

#include "backend/xla/xla_tools.h"

static int emit_options(const cli_options *o, cel_emit_options *out) {
  *out = (cel_emit_options){.tokens = o->tokens, .rows = o->rows, .capacity = o->capacity, .logits = CEL_LOGITS_LAST,
                            .devices = (int)CEL_MIN(o->devices, 1024),
                            .taps = o->tap.items, .n_taps = o->tap.n};
  if (o->tap.n) out->logits = CEL_LOGITS_ALL;
  if (!o->entry || !cel_entry_by_name(o->entry, &out->entry)) return cli_usage("--entry takes prefill or decode");
  if (o->tokens < 1 || o->rows < 1 || o->capacity < 1) return cli_usage("--tokens, --rows and --capacity are at least 1");
  if (out->entry == CEL_ENTRY_DECODE) {
    out->tokens = o->rows;
    out->logits = CEL_LOGITS_ALL;
  }
  return EXIT_OK;
}

static int write_out(const cli_options *o, cel_buf *b, cel_err *err) {
  if (!o->output) return cli_print(b, err);
  cel_status s = b->failed ? cel_fail_oom(err, "the module's text") : cel_write_file(o->output, b->p, (int64_t)b->n, err);
  cel_buf_deinit(b);
  return s == CEL_OK ? EXIT_OK : cli_fail(err);
}

static int emit_or_explain(const cli_options *o, bool explain) {
  cel_err err = {0};
  cel_emit_options e;
  int status = emit_options(o, &e);
  if (status) return status;
  if (!o->model) return cli_usage("give the model with -m");
  cel_lm *lm;
  if (cli_open(o, false, false, 1, 0, &lm, &err) != CEL_OK) return cli_fail(&err);
  cel_buf b = {0};
  cel_status s = explain ? cel_xla_tool_explain(&lm->arch, lm->checkpoint, &e, (int)o->threads, &b, &err)
                         : cel_xla_tool_emit(&lm->arch, lm->checkpoint, &e, &b, &err);
  if (s != CEL_OK) (void)cel_lm_blame(lm, s, &err);
  cel_lm_close(lm);
  if (s == CEL_OK) return write_out(o, &b, &err);
  cel_buf_deinit(&b);
  return cli_fail(&err);
}

static cel_status read_argument(const char *word, cli_npy *array, cel_xla_argument *out, cel_err *err) {
  char *end;
  double x = strtod(word, &end);
  *out = (cel_xla_argument){.dtype = "", .splat = x};
  if (end != word && !*end) return CEL_OK;
  CEL_TRY(cli_npy_read(word, array, err));
  *out = (cel_xla_argument){.dtype = array->dtype, .rank = array->rank, .dims = array->dims, .data = array->data,
                            .bytes = array->bytes};
  return CEL_OK;
}

static cel_status run_file(const cli_options *o, const char *file, cel_str text, cel_buf *b, cel_err *err) {
  cli_npy arrays[CLI_LIST_MOST] = {0};
  cel_xla_argument args[CLI_LIST_MOST];
  cel_status s = CEL_OK;
  for (int i = 0; s == CEL_OK && i < o->input.n; i++) s = read_argument(o->input.items[i], &arrays[i], &args[i], err);
  if (s == CEL_OK) s = cel_xla_tool_run(text, file, o->entry, args, o->input.n, b, err);
  for (int i = 0; i < o->input.n; i++) cli_npy_free(&arrays[i]);
  return s;
}

static cel_status check_file(const cli_options *o, const char *file, cel_str text, cel_buf *b, int64_t *failed, cel_err *err) {
  cel_xla_check_counts c;
  CEL_TRY(cel_xla_tool_check(text, file, &c, b, err));
  *failed = c.failed;
  if (o->json) cel_buf_clear(b);
  cel_buf_printf(b, o->json ? "{\"passed\":%lld,\"failed\":%lld,\"refused\":%lld}\n" : "%lld passed, %lld failed, %lld refused by name\n",
                 (long long)c.passed, (long long)c.failed, (long long)c.refused);
  return CEL_OK;
}

static int run(const cli_options *o) {
  if (o->n_operands != 2) return cli_usage("mlxcel xla run FILE.mlir");
  cel_err err = {0};
  char *text;
  int64_t n, failed = 0;
  const char *file = o->operands[1];
  if (cel_read_file(file, (int64_t)1 << 32, &text, &n, &err) != CEL_OK) return cli_fail(&err);
  cel_buf b = {0};
  cel_str view = {text, (size_t)n};
  cel_status s = o->check ? check_file(o, file, view, &b, &failed, &err) : run_file(o, file, view, &b, &err);
  free(text);
  if (s != CEL_OK) {
    cel_buf_deinit(&b);
    return cli_fail(&err);
  }
  int status = cli_print(&b, &err);
  return status ? status : failed ? EXIT_RUNTIME : EXIT_OK;
}

// ---- cache -------------------------------------------------------------------------------------------

typedef struct listing {
  cel_buf *out;
  const char *folder;
  bool json, only_wrong;
  int64_t n, wrong, bytes;
} listing;

static void add_text(cel_buf *b, const char *key, const char *text) {
  cli_add_key(b, key);
  cel_json_add_string(b, cel_str_of(text));
}

static void add_entry(void *context, const cel_xla_cache_entry *e) {
  listing *l = context;
  l->n++;
  l->wrong += e->wrong != NULL;
  l->bytes += e->bytes;
  if (l->only_wrong && !e->wrong && !l->json) return;
  if (l->json) {
    cel_buf_addz(l->out, l->n > 1 ? ",{" : "{");
    add_text(l->out, "file", e->file);
    cli_add_key(l->out, "bytes");
    cel_buf_printf(l->out, "%lld", (long long)e->bytes);
    cli_add_key(l->out, "created");
    cel_buf_printf(l->out, "%lld", (long long)e->created_s);
    cli_add_key(l->out, "used");
    cel_buf_printf(l->out, "%lld", (long long)e->used_s);
    add_text(l->out, "engine", e->engine);
    add_text(l->out, "engine_version", e->version);
    add_text(l->out, "target", e->target);
    add_text(l->out, "note", e->note);
    if (e->wrong) add_text(l->out, "wrong", e->wrong);
    cel_buf_addc(l->out, '}');
  } else if (e->wrong) {
    cel_buf_printf(l->out, "%s/%s: damaged: %s\n", l->folder, e->file, e->wrong);
  } else {
    cel_buf_printf(l->out, "%.12s %9.1f MB  %s %s  %s\n", e->file, (double)e->bytes / 1e6, e->engine, e->target, e->note);
  }
}

static int cache_list(const cli_options *o, const char *folder, bool whole) {
  cel_err err = {0};
  cel_buf b = {0};
  listing l = {.out = &b, .folder = folder, .json = o->json, .only_wrong = whole};
  if (o->json) cel_buf_addc(&b, '[');
  if (cel_xla_tool_cache(folder, whole, add_entry, &l, &err) != CEL_OK) {
    cel_buf_deinit(&b);
    return cli_fail(&err);
  }
  if (o->json) cel_buf_addz(&b, "]\n");
  else cel_buf_printf(&b, "%s: %lld programs, %.1f MB%s", folder, (long long)l.n, (double)l.bytes / 1e6, whole ? "" : "\n");
  if (!o->json && whole) cel_buf_printf(&b, ", %lld damaged\n", (long long)l.wrong);
  int status = cli_print(&b, &err);
  return status ? status : whole && l.wrong ? EXIT_RUNTIME : EXIT_OK;
}

static int cache_clear(const char *folder) {
  cel_err err = {0};
  cel_buf b = {0};
  int64_t n, bytes;
  if (cel_xla_tool_cache_clear(folder, &n, &bytes, &err) != CEL_OK) return cli_fail(&err);
  cel_buf_printf(&b, "%s: %lld programs removed, %.1f MB\n", folder, (long long)n, (double)bytes / 1e6);
  return cli_print(&b, &err);
}

static int cache(const cli_options *o) {
  const char *what = o->n_operands > 1 ? o->operands[1] : "";
  cel_buf folder = {0};
  int status = EXIT_USAGE;
  if (!cel_xla_tool_cache_folder(&folder)) {
    status = cli_usage("there is no cache folder: neither MLXCEL_CACHE_DIR nor HOME is set");
  } else if (!strcmp(what, "list") || !strcmp(what, "verify")) {
    status = cache_list(o, folder.p, *what == 'v');
  } else if (!strcmp(what, "clear")) {
    status = cache_clear(folder.p);
  } else {
    status = cli_usage("mlxcel xla cache takes list, verify or clear");
  }
  cel_buf_deinit(&folder);
  return status;
}

int cmd_xla(const cli_options *o) {
  const char *what = o->n_operands ? o->operands[0] : "";
  if (!strcmp(what, "emit")) return emit_or_explain(o, false);
  if (!strcmp(what, "explain")) return emit_or_explain(o, true);
  if (!strcmp(what, "run")) return run(o);
  if (!strcmp(what, "cache")) return cache(o);
  if (!strcmp(what, "export")) return cli_xla_export(o);
  if (!strcmp(what, "micro-oracle")) return cli_xla_micro(o);
  if (!strcmp(what, "taps")) return cli_xla_taps(o);
  return cli_usage("say which tool: mlxcel xla emit, export, run, explain, cache, taps or micro-oracle (mlxcel xla --help shows how)");
}

#else

int cmd_xla(const cli_options *o) {
  (void)o;
  cel_err err = {0};
  cel_fail(&err, CEL_UNSUPPORTED, "the OpenXLA path is not in this build: configure with CEL_XLA_BACKEND=ON");
  return cli_fail(&err);
}

#endif
