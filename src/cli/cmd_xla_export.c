// mlxcel xla export: a folder that any StableHLO compiler can run a model from: prefill.mlir, decode.mlir, the weights and a
// manifest that says how they go together.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

#ifdef CEL_WITH_XLA

#include "backend/xla/xla_tools.h"
#include "base/sha256.h"
#include "model/write/out.h"

enum { EXPORT_VERSION = 1 };

typedef struct weight {  // of either entry point, once
  const cel_tensor *tensor;
  char dtype[8];
  int rank;
  int64_t dims[CEL_TENSOR_MAX_RANK];
  int64_t bytes, offset;  // in weights.safetensors, behind its header
} weight;

typedef struct export {
  const cli_options *o;
  const cel_lm *lm;
  cel_out *out;
  bool reference;
  weight *weights;  // [n]
  int64_t n, cap;
  cel_buf manifest;
  cel_buf entry;    // the entry's values as JSON, while it is told
  int n_values;
  bool results;     // values are results by now
  int64_t vocab;
  cel_status status;
  cel_err *err;
} export;

static void add_shape(cel_buf *b, int rank, const int64_t *dims) {
  cli_add_key(b, "shape");
  for (int i = 0; i < rank; i++) cel_buf_printf(b, "%s%lld", i ? "," : "[", (long long)dims[i]);
  cel_buf_addz(b, rank ? "]" : "[]");
}

static void add_text(cel_buf *b, const char *key, const char *text) {
  cli_add_key(b, key);
  cel_json_add_string(b, cel_str_of(text));
}

static void add_number(cel_buf *b, const char *key, int64_t n) {
  cli_add_key(b, key);
  cel_buf_printf(b, "%lld", (long long)n);
}

// ---- entry points ------------------------------------------------------------------------------------

static cel_status keep_weight(export *e, const cel_xla_value *v) {
  const cel_tensor *t = cel_checkpoint_find(e->lm->checkpoint, v->name);
  if (!t || t->bytes != v->bytes) return cel_fail(e->err, CEL_NOT_FOUND, "the tensor %s is missing or has another size", v->name);
  for (int64_t i = 0; i < e->n; i++) {
    if (e->weights[i].tensor == t) return CEL_OK;
  }
  if (e->n == e->cap) {
    int64_t cap = e->cap ? 2 * e->cap : 256;
    weight *p = realloc(e->weights, (size_t)cap * sizeof *p);
    if (!p) return cel_fail_oom(e->err, "a list of weights");
    e->weights = p;
    e->cap = cap;
  }
  weight w = {.tensor = t, .rank = v->rank, .bytes = v->bytes};
  snprintf(w.dtype, sizeof w.dtype, "%s", v->dtype);
  if (v->rank > CEL_TENSOR_MAX_RANK) return cel_fail(e->err, CEL_UNSUPPORTED, "%s has %d dimensions", v->name, v->rank);
  memcpy(w.dims, v->dims, (size_t)v->rank * sizeof *w.dims);
  e->weights[e->n++] = w;
  return CEL_OK;
}

static void take_value(void *context, const cel_xla_value *v) {
  export *e = context;
  cel_buf *b = &e->entry;
  if (e->status != CEL_OK) return;
  bool result = !strcmp(v->kind, "result");
  if (!strcmp(v->kind, "weight")) e->status = keep_weight(e, v);
  if (result && !e->results) {
    cel_buf_addz(b, "],\n   \"results\":[");
    e->results = true;
    e->n_values = 0;
  }
  cel_buf_printf(b, "%s\n    {", e->n_values++ ? "," : "");
  if (!result) add_text(b, "kind", v->kind);
  add_text(b, "name", v->name);
  add_text(b, "type", v->type);
  add_text(b, "dtype", v->dtype);
  add_shape(b, v->rank, v->dims);
  if (v->donated >= 0) add_number(b, "donated_to_result", v->donated);
  if (result && !strcmp(v->name, "logits")) e->vocab = v->dims[v->rank - 1];
  cel_buf_addc(b, '}');
}

static cel_status export_entry(export *e, cel_entry entry, int64_t tokens, cel_err *err) {
  cel_emit_options o = {.entry = entry, .tokens = tokens, .rows = e->o->rows, .capacity = e->o->capacity,
                        .logits = entry == CEL_ENTRY_DECODE ? CEL_LOGITS_ALL : CEL_LOGITS_LAST};
  const char *name = cel_entry_name(entry);
  cel_buf text = {0};
  char file[40];
  snprintf(file, sizeof file, "%s.mlir", name);
  cel_buf_clear(&e->entry);
  e->n_values = 0;
  e->results = false;
  e->err = err;
  cel_status s = cel_xla_tool_describe(&e->lm->arch, e->lm->checkpoint, &o, &text, take_value, e, err);
  if (s == CEL_OK) s = e->status;
  if (s == CEL_OK) s = text.failed || e->entry.failed ? cel_fail_oom(err, "a module's text") : cel_out_add_whole(e->out, file, text.p, (int64_t)text.n, err);
  cel_buf *b = &e->manifest;
  cel_buf_addz(b, entry == CEL_ENTRY_PREFILL ? "\n  {" : ",\n  {");
  add_text(b, "name", name);
  add_text(b, "file", file);
  add_text(b, "function", "main");
  add_number(b, "tokens", tokens);
  cel_buf_addz(b, ",\n   \"arguments\":[");
  cel_buf_adds(b, cel_buf_str(&e->entry));
  cel_buf_addz(b, "]}");
  cel_buf_deinit(&text);
  return s;
}

// ---- weights -----------------------------------------------------------------------------------------

static cel_status copy_weights(export *e, cel_err *err) {
  cel_buf head = {0};
  int64_t at = 0;
  int file;
  cel_buf_addc(&head, '{');
  for (int64_t i = 0; i < e->n; i++) {
    weight *w = &e->weights[i];
    w->offset = at;
    cli_add_key(&head, w->tensor->name);
    cel_buf_addc(&head, '{');
    add_text(&head, "dtype", w->dtype);
    add_shape(&head, w->rank, w->dims);
    at += w->bytes;  // no more than the checkpoint's files have
    cel_buf_printf(&head, ",\"data_offsets\":[%lld,%lld]}", (long long)w->offset, (long long)at);
  }
  cel_buf_addc(&head, '}');
  while (head.n % 64 != 56) cel_buf_addc(&head, ' ');  // with the length before it, tensors begin at a multiple of 64
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)((uint64_t)head.n >> 8 * i);
  int64_t first = 8 + (int64_t)head.n;
  cel_status s = head.failed ? cel_fail_oom(err, "a header") : cel_out_add(e->out, "weights.safetensors", first + at, &file, err);
  if (s == CEL_OK) s = cel_out_put(e->out, file, 0, length, 8, err);
  if (s == CEL_OK) s = cel_out_put(e->out, file, 8, head.p, (int64_t)head.n, err);
  for (int64_t i = 0; s == CEL_OK && i < e->n; i++) {
    const weight *w = &e->weights[i];
    void *whole = w->tensor->parts || w->tensor->swapped ? malloc((size_t)w->bytes + 1) : NULL;
    if (whole) cel_tensor_copy(w->tensor, whole);
    else if (w->tensor->parts || w->tensor->swapped) s = cel_fail_oom(err, w->tensor->name);
    if (s == CEL_OK) s = cel_out_put(e->out, file, first + w->offset, whole ? whole : w->tensor->data, w->bytes, err);
    free(whole);
  }
  cel_buf_deinit(&head);
  return cel_checkpoint_intact(e->lm->checkpoint, s, err);
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

// Each file once: its name, bytes and digest; and where in it each tensor lies.
static cel_status refer_to_weights(export *e, cel_err *err) {
  cel_buf files = {0}, tensors = {0};
  const char *last = NULL;
  cel_status s = CEL_OK;
  for (int64_t i = 0; s == CEL_OK && i < e->n; i++) {
    const weight *w = &e->weights[i];
    const char *file;
    int64_t offset;
    if (!cel_checkpoint_place(e->lm->checkpoint, w->tensor, &file, &offset)) {
      s = cel_fail(err, CEL_UNSUPPORTED, "%s is not in the checkpoint's files as the program takes it: export with --weights copy", w->tensor->name);
      break;
    }
    cel_buf_printf(&tensors, "%s\n   ", i ? "," : "");
    cel_json_add_string(&tensors, cel_str_of(w->tensor->name));
    cel_buf_addz(&tensors, ":{");
    add_text(&tensors, "file", base_name(file));
    add_number(&tensors, "offset", offset);
    add_number(&tensors, "bytes", w->bytes);
    cel_buf_addc(&tensors, '}');
    char key[300];
    snprintf(key, sizeof key, "\"%.280s\"", base_name(file));
    if (file == last || (files.p && strstr(files.p, key))) continue;
    last = file;
    cel_sha256 hash;
    cel_map map;
    char hex[CEL_SHA256_HEX_BYTES];
    s = cel_map_open(file, &map, err);
    if (s != CEL_OK) break;
    cel_sha256_init(&hash);
    cel_sha256_add(&hash, map.data, (size_t)map.bytes);
    cel_sha256_end_hex(&hash, hex);
    cel_buf_addz(&files, files.n ? ",{" : "{");
    add_text(&files, "file", base_name(file));
    add_number(&files, "bytes", map.bytes);
    add_text(&files, "sha256", hex);
    cel_buf_addc(&files, '}');
    s = cel_map_check(&map, file, err);
    cel_map_close(&map);
  }
  cel_buf_addz(&e->manifest, "{\"how\":\"reference\",\"files\":[");
  cel_buf_adds(&e->manifest, cel_buf_str(&files));
  cel_buf_addz(&e->manifest, "],\"tensors\":{");
  cel_buf_adds(&e->manifest, cel_buf_str(&tensors));
  cel_buf_addz(&e->manifest, "}}");
  if (files.failed || tensors.failed) s = cel_fail_oom(err, "a manifest");
  cel_buf_deinit(&files);
  cel_buf_deinit(&tensors);
  return s;
}

// ---- the folder --------------------------------------------------------------------------------------

static void begin_manifest(export *e) {
  cel_buf *b = &e->manifest;
  cel_buf_addz(b, "{");
  add_text(b, "format", "mlxcel-export");
  add_number(b, "version", EXPORT_VERSION);
  add_text(b, "mlxcel", CEL_VERSION);
  add_text(b, "model_type", e->lm->arch.model_type);
  add_number(b, "rows", e->o->rows);
  add_number(b, "capacity", e->o->capacity);
  cli_add_key(b, "end_ids");
  cli_add_ids(b, e->lm->end_ids, e->lm->n_end_ids);
  add_text(b, "kv_layout", "[layers, rows, key/value heads, positions, width]; zeros to begin with; each run gives the new value "
           "as a result that takes the argument's place");
  add_text(b, "inputs", "tokens, positions: one per token of the call. prefill: slot, the row that the tokens belong to, and last, "
           "the index of the token whose scores are given. decode: slots, the row of each token; slot = rows: a token of no row. "
           "rope_freqs_N: of rotations that depend on the length, the frequencies of each token");
  cel_buf_addz(b, ",\n \"entries\":[");
}

static cel_status write_folder(export *e, cel_err *err) {
  begin_manifest(e);
  CEL_TRY(export_entry(e, CEL_ENTRY_PREFILL, e->o->tokens, err));
  CEL_TRY(export_entry(e, CEL_ENTRY_DECODE, e->o->rows, err));
  cel_buf_addz(&e->manifest, "\n ],\n \"vocab\":");
  cel_buf_printf(&e->manifest, "%lld,\n \"weights\":", (long long)e->vocab);
  if (e->reference) {
    CEL_TRY(refer_to_weights(e, err));
  } else {
    cel_buf_addz(&e->manifest, "{\"how\":\"copy\",\"file\":\"weights.safetensors\"}");
    CEL_TRY(copy_weights(e, err));
  }
  cel_buf_addz(&e->manifest, "\n}\n");
  if (e->manifest.failed) return cel_fail_oom(err, "a manifest");
  return cel_out_add_whole(e->out, "manifest.json", e->manifest.p, (int64_t)e->manifest.n, err);
}

int cli_xla_export(const cli_options *o) {
  cel_err err = {0};
  cel_lm *lm;
  if (!o->model) return cli_usage("give the model with -m");
  if (!o->output || !*o->output) return cli_usage("give the folder to make with -o");
  if (o->tokens < 1 || o->rows < 1 || o->capacity < 1) return cli_usage("--tokens, --rows and --capacity are at least 1");
  export e = {.o = o, .reference = !strcmp(o->weights, "reference")};
  if (!e.reference && strcmp(o->weights, "copy") != 0) return cli_usage("--weights takes copy or reference, not \"%.60s\"", o->weights);
  cli_catch_ends();
  if (cli_open(o, false, false, 1, 0, &lm, &err) != CEL_OK) return cli_fail(&err);
  e.lm = lm;
  cel_status s = cel_out_begin(o->output, true, false, &e.out, &err);
  if (s == CEL_OK) s = write_folder(&e, &err);
  if (s == CEL_OK) s = cel_out_commit(e.out, &err);
  cel_out_end(e.out);
  cel_buf b = {0};
  int64_t bytes = 0;
  for (int64_t i = 0; i < e.n; i++) bytes += e.weights[i].bytes;
  cel_buf_printf(&b, "%s: prefill of %lld tokens, decode of %lld rows, %lld tensors of %.1f MB%s\n", o->output, (long long)o->tokens,
                 (long long)o->rows, (long long)e.n, (double)bytes / 1e6, e.reference ? ", where they are" : "");
  if (s != CEL_OK) (void)cel_lm_blame(lm, s, &err);
  cel_lm_close(lm);
  free(e.weights);
  cel_buf_deinit(&e.manifest);
  cel_buf_deinit(&e.entry);
  if (s == CEL_OK) return cli_print(&b, &err);
  cel_buf_deinit(&b);
  return cli_fail(&err);
}

#endif
