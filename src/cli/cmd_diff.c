// mlxcel diff: a model's graph on one engine beside a reference, value by value in the graph's order.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/prompt.h"

#ifdef CEL_WITH_XLA_DIAGNOSTICS

#include "backend/xla/xla_taps.h"

typedef struct diff {
  const cli_options *o;
  const cel_lm *lm;
  bool folder;                // the reference is one
  cli_prompt prompt;
  char *module;               // text of --module
  cel_xla_taps reference, candidate;  // reference: of an engine
  cel_criterion criterion;
  cel_buf text, json;
  int n_compared, n_different, n_missing;
} diff;

static bool is_folder(const char *path) {
  struct stat s;
  return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

// ---- the two sides -------------------------------------------------------------------------------------

static const char *const every[] = {"*"};

static cel_status run_engine(const diff *d, const char *engine, const char *precision, const char *module, cel_xla_taps *out, cel_err *err) {
  const cli_options *o = d->o;
  cel_xla_taps_options q = {.device = engine, .precision = precision, .n_threads = (int)o->threads,
                            .taps = o->tap.n ? o->tap.items : every, .n_taps = o->tap.n ? o->tap.n : 1};
  if (module) {
    q.module = cel_str_of(module);
    q.module_name = o->module;
  }
  return cel_xla_taps_run(&d->lm->arch, d->lm->checkpoint, d->prompt.ids, d->prompt.n, &q, out, err);
}

// The ids that a folder's manifest says its values are of, when none are given.
static cel_status ids_of_folder(diff *d, cel_err *err) {
  cel_buf path = {0};
  cel_json *manifest = NULL;
  cel_buf_printf(&path, "%s/taps.json", d->o->reference);
  cel_status s = path.failed ? cel_fail_oom(err, "a path") : cli_read_json_file(path.p, &manifest, err);
  const cel_json *ids = s == CEL_OK ? cel_json_get(manifest, "ids") : NULL;
  size_t n = cel_json_array_size(ids);
  if (s == CEL_OK && n == 0) s = cel_fail(err, CEL_INVALID, "%s: there are no \"ids\"; give the prompt with --ids", path.p);
  d->prompt.ids = s == CEL_OK ? malloc(n * sizeof *d->prompt.ids) : NULL;
  if (s == CEL_OK && !d->prompt.ids) s = cel_fail_oom(err, "token ids");
  for (size_t i = 0; s == CEL_OK && i < n; i++) {
    const cel_json *v = cel_json_array_get(ids, i);
    int64_t id = cel_json_is_integer(v) ? cel_json_integer_value(v) : -1;
    if (id < 0 || id > INT32_MAX) s = cel_fail(err, CEL_INVALID, "%s: ids[%zu] is no token id", path.p, i);
    else d->prompt.ids[d->prompt.n++] = (int32_t)id;
  }
  cel_json_decref(manifest);
  cel_buf_deinit(&path);
  return s;
}

static cel_status make_prompt(diff *d, cel_err *err) {
  const cli_options *o = d->o;
  if (o->ids || o->prompt || o->messages) return cli_prompt_make(o, d->lm, &d->prompt, err);
  return ids_of_folder(d, err);
}

static cel_status run_both(diff *d, cel_err *err) {
  const cli_options *o = d->o;
  int64_t n;
  if (o->module) CEL_TRY(cel_read_file(o->module, (int64_t)1 << 32, &d->module, &n, err));
  if (!d->folder) CEL_TRY(run_engine(d, o->reference, o->ref_precision, NULL, &d->reference, err));
  return run_engine(d, o->engine, o->precision, d->module, &d->candidate, err);
}

// ---- one value -----------------------------------------------------------------------------------------

// CEL_NOT_FOUND when the reference has no such value.
static cel_status find_reference(const diff *d, const char *name, cli_npy *file, cel_diag_array *out, cel_err *err) {
  for (int i = 0; i < d->reference.n; i++) {
    if (strcmp(d->reference.arrays[i].name, name) != 0) continue;
    *out = d->reference.arrays[i];
    return CEL_OK;
  }
  if (!d->folder) return CEL_NOT_FOUND;
  cel_buf path = {0};
  struct stat there;
  cel_buf_printf(&path, "%s/%s.npy", d->o->reference, name);
  cel_status s = path.failed ? cel_fail_oom(err, "a path") : stat(path.p, &there) != 0 ? CEL_NOT_FOUND : cli_npy_read(path.p, file, err);
  cel_buf_deinit(&path);
  if (s != CEL_OK) return s;
  *out = (cel_diag_array){.name = name, .rank = file->rank, .data = file->data};
  memcpy(out->dtype, file->dtype, sizeof out->dtype);
  memcpy(out->dims, file->dims, sizeof out->dims);
  return CEL_OK;
}

static void add_value(diff *d, const cel_diag_array *a, const cel_comparison *c, const char *refused) {
  cel_buf *b = &d->json;
  if (d->n_compared > 1) cel_buf_addc(b, ',');
  cel_buf_addz(b, "{\"name\":");
  cel_json_add_string(b, cel_str_of(a->name));
  cel_buf_addz(b, ",\"shape\":[");
  for (int i = 0; i < a->rank; i++) cel_buf_printf(b, "%s%lld", i ? "," : "", (long long)a->dims[i]);
  cel_buf_addz(b, "],");
  if (refused) {
    cel_buf_addz(b, "\"error\":");
    cel_json_add_string(b, cel_str_of(refused));
    cel_buf_addz(b, ",\"passed\":false");
  } else {
    cel_comparison_json(c, a->rank, b);
  }
  cel_buf_addc(b, '}');
}

static void say_difference(cel_buf *b, const cel_diag_array *a, const cel_difference *x) {
  cel_buf_printf(b, "%s[", a->name);
  for (int i = 0; i < a->rank; i++) cel_buf_printf(b, "%s%lld", i ? ", " : "", (long long)x->coordinate[i]);
  cel_buf_printf(b, "]: reference %.9g (0x%08X), candidate %.9g (0x%08X), off by %.3g", x->reference, x->reference_bits, x->candidate,
                 x->candidate_bits, x->abs);
}

static void say_value(diff *d, const cel_diag_array *a, const cel_comparison *c, const char *refused) {
  bool first = d->n_different == 1 && (refused || !c->passed);
  if (first) {
    cel_buf_addz(&d->text, "first difference: ");
    if (refused) cel_buf_addz(&d->text, refused);
    else say_difference(&d->text, a, &c->first);
    if (!refused) cel_buf_printf(&d->text, "; %lld of %lld elements", (long long)c->failures, (long long)c->n);
    cel_buf_addc(&d->text, '\n');
  }
  if (!d->o->verbose || refused) return;
  cel_buf_printf(&d->text, "%-4s %-28s max abs %-10.3g max rel %-10.3g rms %-10.3g of %-10.3g ulp %lld", c->passed ? "ok" : "DIFF", a->name,
                 c->max_abs, c->max_rel, c->rms, c->reference_rms, (long long)c->max_ulp);
  if (c->rows_unequal) cel_buf_printf(&d->text, ", top-1 differs in %lld of %lld rows", (long long)c->rows_unequal, (long long)c->rows);
  cel_buf_addc(&d->text, '\n');
}

static cel_status compare_value(diff *d, const cel_diag_array *a, cel_err *err) {
  cli_npy file = {0};
  cel_diag_array reference;
  cel_comparison c = {0};
  cel_status s = find_reference(d, a->name, &file, &reference, err);
  if (s == CEL_NOT_FOUND) {
    d->n_missing++;
    return CEL_OK;
  }
  if (s != CEL_OK) return s;
  cel_err why = {0};
  bool refused = cel_compare(&reference, a, &d->criterion, &c, &why) != CEL_OK;
  d->n_compared++;
  d->n_different += refused || !c.passed;
  add_value(d, a, &c, refused ? why.text : NULL);
  say_value(d, a, &c, refused ? why.text : NULL);
  cli_npy_free(&file);
  return CEL_OK;
}

// ---- all of them ---------------------------------------------------------------------------------------

static void side(cel_buf *b, const char *key, const cel_xla_taps *t, const char *folder) {
  cel_buf_printf(b, ",\"%s\":{", key);
  if (folder) {
    cel_buf_addz(b, "\"folder\":");
    cel_json_add_string(b, cel_str_of(folder));
  } else {
    const char *const names[] = {"engine", "device", "precision", "isa"}, *const values[] = {t->engine, t->device, t->precision, t->isa};
    for (int i = 0; i < CEL_COUNT(names); i++) {
      cli_add_key(b, names[i]);
      cel_json_add_string(b, cel_str_of(values[i]));
    }
  }
  cel_buf_addc(b, '}');
}

static cel_status compare_all(diff *d, cel_err *err) {
  cel_buf *b = &d->json;
  cel_buf_addz(b, "{\"schema\":\"mlxcel-diff-v1\",\"program\":\"mlxcel " CEL_VERSION "\",\"model\":");
  cel_json_add_string(b, cel_str_of(d->o->model));
  cel_buf_addz(b, ",\"ids\":");
  cli_add_ids(b, d->prompt.ids, d->prompt.n);
  side(b, "reference", &d->reference, d->folder ? d->o->reference : NULL);
  side(b, "candidate", &d->candidate, NULL);
  cel_buf_addz(b, ",\"criterion\":");
  cel_criterion_json(&d->criterion, b);
  cel_buf_addz(b, ",\"values\":[");
  const char *first = NULL;
  for (int i = 0; i < d->candidate.n; i++) {
    CEL_TRY(compare_value(d, &d->candidate.arrays[i], err));
    if (!first && d->n_different) first = d->candidate.arrays[i].name;
  }
  if (d->n_compared == 0) {
    return cel_fail(err, CEL_NOT_FOUND, "%s: the reference has none of the %d values, such as %s", d->o->reference, d->candidate.n,
                    d->candidate.arrays[0].name);
  }
  cel_buf_addz(b, "],\"first_difference\":");
  if (first) cel_json_add_string(b, cel_str_of(first));
  else cel_buf_addz(b, "null");
  cel_buf_printf(b, ",\"compared\":%d,\"different\":%d,\"not_in_reference\":%d,\"passed\":%s}\n", d->n_compared, d->n_different,
                 d->n_missing, d->n_different ? "false" : "true");
  cel_buf_printf(&d->text, "%d values compared (%s), %d differ", d->n_compared, cel_criterion_name(d->criterion.kind), d->n_different);
  if (d->n_missing) cel_buf_printf(&d->text, "; %d are not in the reference", d->n_missing);
  cel_buf_addc(&d->text, '\n');
  return CEL_OK;
}

static int with_model(diff *d, cel_err *err) {
  cel_status s = make_prompt(d, err);
  if (s == CEL_OK) s = run_both(d, err);
  if (s != CEL_OK) (void)cel_lm_blame(d->lm, s, err);
  if (s == CEL_OK) s = compare_all(d, err);
  int status = s == CEL_OK ? cli_print(d->o->json ? &d->json : &d->text, err) : cli_fail(err);
  cel_xla_taps_deinit(&d->reference);
  cel_xla_taps_deinit(&d->candidate);
  cel_buf_deinit(&d->text);
  cel_buf_deinit(&d->json);
  free(d->prompt.ids);
  free(d->module);
  return status ? status : d->n_different ? EXIT_RUNTIME : EXIT_OK;
}

int cmd_diff(const cli_options *o) {
  diff d = {.o = o, .criterion = {.abs = o->atol, .rel = o->rtol, .ulp = o->ulp}};
  if (!o->model) return cli_usage("give the model with -m");
  if (!o->reference) return cli_usage("say what to compare with: --ref DIR, or --ref ENGINE");
  if (!cel_criterion_by_name(o->compare, &d.criterion.kind)) return cli_usage("--compare takes close, bits, ulp or top1");
  if (o->rtol < 0) return cli_usage("--rtol takes a number from 0");
  d.folder = is_folder(o->reference);
  bool prompt = o->ids || o->prompt || o->messages;
  if (!prompt && !d.folder) return cli_usage("give the prompt with --ids, -p or --messages");
  int status = cli_prompt_check(o);
  if (status) return status;
  cel_err err = {0};
  cel_lm *lm;
  if (cli_open(o, false, prompt && !o->ids, 1, 0, &lm, &err) != CEL_OK) return cli_fail(&err);
  d.lm = lm;
  status = with_model(&d, &err);
  cel_lm_close(lm);
  return status;
}

#else

int cmd_diff(const cli_options *o) {
  (void)o;
  cel_err err = {0};
  cel_fail(&err, CEL_UNSUPPORTED, "comparing values of the graph is not in this build: configure with CEL_XLA_DIAGNOSTICS=ON");
  return cli_fail(&err);
}

#endif
