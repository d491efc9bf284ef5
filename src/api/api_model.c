#include <stdlib.h>

#include "api/api.h"
#include "model/store.h"

static const mlxcel_model_options defaults = {.max_sessions = 1};

void mlxcel_model_options_init(mlxcel_model_options *options, size_t struct_size) {
  cel_api_defaults(options, struct_size, &defaults, sizeof defaults);
}

static cel_status read_options(const mlxcel_model_options *given, mlxcel_model_options *o, cel_err *err) {
  *o = defaults;
  CEL_TRY(cel_api_read(o, sizeof *o, sizeof *o, given, "mlxcel_model_options", err));
  CEL_TRY(cel_api_range("context", o->context, 0, INT32_MAX, err));
  CEL_TRY(cel_api_range("threads", o->threads, 0, MLXCEL_MAX_THREADS, err));
  CEL_TRY(cel_api_range("max_sessions", o->max_sessions, 0, MLXCEL_MAX_SESSIONS, err));
  if (o->max_sessions == 0) o->max_sessions = 1;
  return cel_api_range("prefill_chunk", o->prefill_chunk, 0, MLXCEL_MAX_PREFILL_CHUNK, err);
}

// Rows of the output head: what logits have, and what ids are checked against.
static int64_t vocab(const cel_lm *lm) {
  static const cel_weight_role roles[] = {CEL_W_HEAD, CEL_W_EMBED};
  cel_err ignored;
  cel_weight w;
  char name[200];
  for (int i = 0; i < CEL_COUNT(roles); i++) {
    if (!cel_arch_weight_name(&lm->arch, roles[i], -1, name, sizeof name)) continue;
    if (cel_checkpoint_weight(lm->checkpoint, name, &w, &ignored) == CEL_OK) return w.rows;
  }
  return lm->arch.vocab;
}

static void describe(mlxcel_model *m, const mlxcel_model_options *o) {
  const cel_lm *lm = m->lm;
  mlxcel_model_info *info = &m->info;
  *info = (mlxcel_model_info){.path = lm->checkpoint->path, .model_type = lm->arch.model_type, .family = lm->arch.family->name,
                              .format = lm->checkpoint->format == CEL_FORMAT_GGUF ? "gguf" : "safetensors",
                              .backend = "", .engine = "", .device = "", .precision = "", .isa = "",
                              .max_sessions = o->max_sessions, .vocab = vocab(lm), .context = lm->arch.max_position,
                              .layers = lm->arch.n_layers, .hidden = lm->arch.hidden, .file_bytes = lm->checkpoint->file_bytes,
                              .has_tokenizer = lm->tokenizer != NULL, .has_chat_template = lm->checkpoint->chat_template != NULL};
  if (!lm->model) return;
  cel_description d;
  lm->backend->describe(lm->model, &d);
  info->context = lm->backend->context(lm->model);
  info->backend = d.backend;
  info->engine = d.engine;
  info->device = d.device;
  info->precision = d.precision;
  info->isa = d.isa;
  info->threads = d.n_threads;
}

static cel_status open_lm(mlxcel_model *m, const char *name, const mlxcel_model_options *o, cel_err *err) {
  cel_lm_options q = {.need_backend = !o->files_only, .backend = o->backend, .adapter = o->adapter};
  q.load = (cel_load_options){.n_threads = o->threads, .context = o->context, .max_sessions = o->max_sessions,
                              .prefill_chunk = o->prefill_chunk, .progress = o->progress, .progress_context = o->progress_context};
  cel_buf path = {0};
  cel_status s = cel_store_resolve(name, o->models_dir, &path, err);
  if (s == CEL_OK && path.failed) s = cel_fail_oom(err, "a path");
  if (s == CEL_OK) s = cel_lm_open(path.p, &q, &m->lm, err);
  cel_buf_deinit(&path);
  return s;
}

static cel_status open_model(const char *name, const mlxcel_model_options *given, mlxcel_model **out, cel_err *err) {
  mlxcel_model_options o;
  CEL_TRY(read_options(given, &o, err));
  mlxcel_model *m = calloc(1, sizeof *m);
  if (!m) return cel_fail_oom(err, "a model");
  atomic_init(&m->uses, 1);
  m->events = calloc((size_t)o.max_sessions, sizeof *m->events);
  m->batch = calloc((size_t)o.max_sessions, sizeof *m->batch);
  cel_status s = m->events && m->batch ? open_lm(m, name, &o, err) : cel_fail_oom(err, "a model");
  if (s != CEL_OK) {
    cel_api_drop(m);
    return s;
  }
  describe(m, &o);
  *out = m;
  return CEL_OK;
}

mlxcel_status mlxcel_model_open(const char *name, const mlxcel_model_options *options, mlxcel_model **out,
                                mlxcel_error *error) {
  if (!out) return cel_api_null("out", error);
  *out = NULL;
  if (!name) return cel_api_null("name", error);
  cel_err err = {0};
  return cel_api_done(open_model(name, options, out, &err), &err, error);
}

void mlxcel_model_close(mlxcel_model *model) { cel_api_drop(model); }

mlxcel_model *cel_api_hold(mlxcel_model *m) {
  atomic_fetch_add(&m->uses, 1);
  return m;
}

void cel_api_drop(mlxcel_model *m) {
  if (!m || atomic_fetch_sub(&m->uses, 1) > 1) return;
  cel_lm_close(m->lm);
  free(m->events);
  free(m->batch);
  free(m);
}

cel_status cel_api_need_backend(const mlxcel_model *m, cel_err *err) {
  if (m->lm->model) return CEL_OK;
  return cel_fail(err, CEL_INVALID, "%s was opened with files_only: it cannot be run", m->info.path);
}

cel_status cel_api_need_tokenizer(const mlxcel_model *m, cel_err *err) {
  return m->lm->tokenizer ? CEL_OK : cel_fail(err, CEL_UNSUPPORTED, "%s has no tokenizer", m->info.path);
}

// ---- looking -----------------------------------------------------------------------------------------

const mlxcel_model_info *mlxcel_model_describe(const mlxcel_model *model) { return model ? &model->info : NULL; }
int64_t mlxcel_model_vocab(const mlxcel_model *model) { return model ? model->info.vocab : 0; }
int64_t mlxcel_model_context(const mlxcel_model *model) { return model ? model->info.context : 0; }

int64_t mlxcel_model_memory(const mlxcel_model *model, mlxcel_memory what) {
  if (!model) return -1;
  cel_memory_report r = {0};
  if (model->lm->model) model->lm->backend->memory(model->lm->model, &r);
  switch (what) {
    case MLXCEL_MEMORY_WEIGHTS: return r.weights_bytes;
    case MLXCEL_MEMORY_KV: return r.kv_bytes;
    case MLXCEL_MEMORY_ARENA: return r.arena_bytes;
  }
  return -1;
}

const char *mlxcel_backend_name(int32_t index) {
  for (int32_t i = 0; cel_backends[i]; i++) {
    if (i == index) return cel_backends[i]->name;
  }
  return NULL;
}
