// Any PJRT plugin behind engine.h: XLA on CPUs, GPUs and TPUs. Weights are uploaded once, states are donated and come
// back as results, so that no cache ever passes through the host.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/common/binding.h"
#include "backend/xla/engine/common/results.h"
#include "backend/xla/engine/common/state_row.h"
#include "backend/xla/engine/pjrt/pjrt_plugin.h"
#include "backend/xla/engine/pjrt/pjrt_program.h"
#include "backend/xla/engine/pjrt/pjrt_rows.h"

struct cel_engine {
  cel_pjrt pjrt;
  cel_pjrt_rows rows;
  char precision[8];
  bool broken;  // a run failed after its states were donated: what they held is lost
  cel_results results;  // host copies of the last run's results
};

struct cel_buffer {
  cel_engine *engine;
  cel_hlo_type type;
  int axis;  // along which the devices share it; -1: each has all of it
  cel_pjrt_array device;
};

struct cel_executable {
  cel_engine *engine;
  const cel_program *program;
  cel_pjrt_loaded *loaded;
  cel_pjrt_array *arguments;  // [n_params]; weights stay, the rest is filled for each run
  cel_pjrt_array *results;    // [n_results]
  int *state_of;                // [n_results]: the parameter whose new value it is; -1: none
};

// ---- open and close ---------------------------------------------------------------------------------

static cel_status pjrt_probe(cel_err *err) {
  (void)err;  // whether a plugin is there is seen when one is asked for by name
  return CEL_OK;
}

static void pjrt_close(cel_engine *e) {
  if (!e) return;
  cel_pjrt_rows_free(&e->rows, &e->pjrt);
  cel_results_free(&e->results);
  cel_pjrt_close(&e->pjrt);
  free(e);
}

// Several devices that are parts of one processor have to be asked for.
static cel_status open_client(cel_engine *e, const cel_engine_options *o, const char *path, cel_err *err) {
  cel_buf options = {0};
  cel_buf_addz(&options, o->plugin_options ? o->plugin_options : "");
  if (o->n_devices > 1 && strstr(path, "cpu") && options.p && !strstr(options.p, "cpu_device_count")) {
    cel_buf_printf(&options, "%scpu_device_count=%d", options.n ? "," : "", o->n_devices);
  }
  cel_status s = options.failed ? cel_fail_oom(err, "a plugin's options")
                                : cel_pjrt_open(path, options.p ? options.p : "", o->n_devices, &e->pjrt, err);
  cel_buf_deinit(&options);
  return s;
}

static cel_status open_plugin(cel_engine *e, const cel_engine_options *o, cel_err *err) {
  cel_buf path = {0};
  cel_status s = cel_pjrt_find(o->device, o->plugin_folders ? o->plugin_folders : "", &path, err);
  if (s == CEL_OK) s = open_client(e, o, path.p, err);
  if (s == CEL_OK) cel_pjrt_identify(&e->pjrt, path.p);
  cel_buf_deinit(&path);
  e->pjrt.artifacts = o->artifacts;
  snprintf(e->precision, sizeof e->precision, "%s", *o->precision ? o->precision : "f32");
  return s;
}

static cel_status pjrt_open(const cel_engine_options *o, cel_engine **out, cel_err *err) {
  *out = NULL;
  static const char *const accepted = "f32, f16, bf16";
  const char *p = o->precision;
  if (*p && strcmp(p, "f32") != 0 && strcmp(p, "f16") != 0 && strcmp(p, "bf16") != 0) {
    return cel_fail(err, CEL_INVALID, "MLXCEL_XLA_PRECISION=%s: with PJRT products are taken in one of %s (default f32)", p, accepted);
  }
  cel_engine *e = calloc(1, sizeof *e);
  if (!e) return cel_fail_oom(err, "the PJRT engine");
  cel_status s = open_plugin(e, o, err);
  if (s != CEL_OK) {
    pjrt_close(e);
    return s;
  }
  *out = e;
  return CEL_OK;
}

static void pjrt_describe(const cel_engine *e, cel_engine_description *out) {
  *out = (cel_engine_description){.engine = "pjrt", .device = e->pjrt.platform, .precision = e->precision, .isa = "",
                                  .version = e->pjrt.version, .target = e->pjrt.target,
                                  .arena_bytes = cel_results_bytes(&e->results)};
}

// ---- buffers ----------------------------------------------------------------------------------------

static void pjrt_release(cel_buffer *b) {
  if (!b) return;
  cel_pjrt_drop_array(&b->engine->pjrt, &b->device);
  free(b);
}

// A buffer without its device half.
static cel_status new_buffer(cel_engine *e, const cel_hlo_type *t, int axis, cel_buffer **out, cel_err *err) {
  *out = calloc(1, sizeof **out);
  if (!*out) return cel_fail_oom(err, "a buffer");
  **out = (cel_buffer){.engine = e, .type = *t, .axis = axis};
  return CEL_OK;
}

static cel_status pjrt_upload_split(cel_engine *e, const cel_hlo_type *t, int axis, const void *host, bool lent,
                                    cel_buffer **out, cel_err *err) {
  cel_buffer *b;
  CEL_TRY(new_buffer(e, t, axis, &b, err));
  cel_pjrt_host kind = lent ? CEL_PJRT_HOST_ALIASED : CEL_PJRT_HOST_DURING_CALL;
  cel_status s = cel_pjrt_upload(&e->pjrt, t, axis, host, kind, &b->device, err);
  if (s != CEL_OK) {
    pjrt_release(b);
    return s;
  }
  *out = b;
  return CEL_OK;
}

static cel_status pjrt_upload(cel_engine *e, const cel_hlo_type *t, const void *host, bool lent, cel_buffer **out,
                              cel_err *err) {
  return pjrt_upload_split(e, t, -1, host, lent, out, err);
}

static cel_status pjrt_state_split(cel_engine *e, const cel_hlo_type *t, int axis, cel_buffer **out, cel_err *err) {
  cel_buffer *b;
  CEL_TRY(new_buffer(e, t, axis, &b, err));
  cel_status s = cel_pjrt_zeros(&e->pjrt, &b->type, axis, &b->device, err);
  if (s != CEL_OK) {
    pjrt_release(b);
    return s;
  }
  *out = b;
  return CEL_OK;
}

static cel_status pjrt_state(cel_engine *e, const cel_hlo_type *t, cel_buffer **out, cel_err *err) {
  return pjrt_state_split(e, t, -1, out, err);
}

static cel_status pjrt_copy_row(cel_buffer *b, int64_t from, int64_t to, int64_t n, cel_err *err) {
  CEL_TRY(cel_state_check_copy(b->type.rank, b->type.dims, from, to, n, err));
  return cel_pjrt_rows_copy(&b->engine->rows, &b->engine->pjrt, &b->type, b->axis, &b->device, from, to, err);
}

static cel_status pjrt_move_row(cel_buffer *from, cel_buffer *to, int64_t row, int64_t n, cel_err *err) {
  CEL_TRY(cel_state_check_move(&from->type, &to->type, row, n, err));
  cel_engine *g = from->engine;
  cel_status s = cel_pjrt_rows_move(&g->rows, &g->pjrt, &from->type, &from->device, &to->type, from->axis, &to->device, row, err);
  if (s != CEL_OK) g->broken = true;
  return s;
}

static void pjrt_forget_row(cel_buffer *b, int64_t row) {
  if (!cel_state_has_row(b->type.rank, b->type.dims, row) || b->engine->broken) return;
  if (cel_pjrt_rows_clear(&b->engine->rows, &b->engine->pjrt, &b->type, b->axis, &b->device, row, NULL) != CEL_OK) b->engine->broken = true;
}

// ---- compile ----------------------------------------------------------------------------------------

static void pjrt_discard(cel_executable *x) {
  if (!x) return;
  cel_pjrt_drop_program(&x->engine->pjrt, x->loaded);
  free(x->arguments);
  free(x->results);
  free(x->state_of);
  free(x);
}

static cel_status make_lists(cel_executable *x, cel_buffer *const *weights, cel_err *err) {
  const cel_program *p = x->program;
  size_t n = (size_t)p->n_params + 1, r = (size_t)p->n_results + 1;
  x->arguments = calloc(n, sizeof *x->arguments);
  x->results = calloc(r, sizeof *x->results);
  x->state_of = malloc(r * sizeof *x->state_of);
  if (!x->arguments || !x->results || !x->state_of) return cel_fail_oom(err, "an executable");
  CEL_TRY(cel_binding_compile(p, weights, x->state_of, err));
  for (int i = 0; i < p->n_params; i++) {
    if (p->params[i].kind == CEL_PARAM_WEIGHT) x->arguments[i] = weights[i]->device;
  }
  return CEL_OK;
}

static cel_status pjrt_compile(cel_engine *e, const cel_program *program, cel_buffer *const *weights, cel_executable **out,
                               cel_err *err) {
  *out = NULL;
  cel_executable *x = calloc(1, sizeof *x);
  if (!x) return cel_fail_oom(err, "an executable");
  x->engine = e;
  x->program = program;
  cel_buf text = {0};
  char note[128];
  cel_binding_note(program, note, sizeof note);
  cel_status s = make_lists(x, weights, err);
  if (s == CEL_OK) s = cel_hlo_print(program->module, &text, err);
  if (s == CEL_OK) s = cel_pjrt_compile(&e->pjrt, cel_buf_str(&text), note, &x->loaded, err);
  cel_buf_deinit(&text);
  if (s != CEL_OK) {
    pjrt_discard(x);
    return s;
  }
  *out = x;
  return CEL_OK;
}

// ---- execute ----------------------------------------------------------------------------------------

static cel_status give_arguments(cel_executable *x, cel_buffer *const *states, const void *const *inputs, cel_err *err) {
  const cel_program *p = x->program;
  CEL_TRY(cel_binding_execute(p, states, inputs, err));
  for (int i = 0; i < p->n_params; i++) {
    const cel_param *param = &p->params[i];
    if (param->kind == CEL_PARAM_STATE) x->arguments[i] = states[i]->device;
    if (param->kind != CEL_PARAM_INPUT) continue;
    CEL_TRY(cel_pjrt_upload(&x->engine->pjrt, param->type, -1, inputs[i], CEL_PJRT_HOST_DURING_CALL, &x->arguments[i], err));
  }
  return CEL_OK;
}

static void drop_inputs(cel_executable *x) {
  for (int i = 0; i < x->program->n_params; i++) {
    if (x->program->params[i].kind == CEL_PARAM_INPUT) cel_pjrt_drop_array(&x->engine->pjrt, &x->arguments[i]);
  }
}

static cel_status fetch(cel_executable *x, int i, const void **out, cel_err *err) {
  int64_t bytes = cel_hlo_bytes(x->program->entry->result_types[i]);
  void *room;
  CEL_TRY(cel_results_room(&x->engine->results, i, bytes, &room, err));
  *out = room;
  return cel_pjrt_download(&x->engine->pjrt, &x->results[i], room, bytes, err);
}

// The states' new values take the places of the old ones, whose buffers the run has consumed.
static cel_status take_results(cel_executable *x, cel_buffer *const *states, const void **results, cel_err *err) {
  cel_pjrt *p = &x->engine->pjrt;
  cel_status s = CEL_OK;
  for (int i = 0; i < x->program->n_results; i++) {
    results[i] = NULL;
    if (x->state_of[i] >= 0) {
      cel_buffer *state = states[x->state_of[i]];
      cel_pjrt_drop_array(p, &state->device);
      state->device = x->results[i];
    } else {
      if (s == CEL_OK) s = fetch(x, i, &results[i], err);
      cel_pjrt_drop_array(p, &x->results[i]);
    }
  }
  return s;
}

static cel_status pjrt_execute(cel_executable *x, cel_buffer *const *states, const void *const *inputs, const void **results,
                               cel_err *err) {
  cel_engine *e = x->engine;
  if (e->broken) return cel_binding_lost(err);
  cel_status s = give_arguments(x, states, inputs, err);
  if (s == CEL_OK) {
    s = cel_pjrt_run(&e->pjrt, x->loaded, x->arguments, (size_t)x->program->n_params, x->results,
                     (size_t)x->program->n_results, err);
    if (s != CEL_OK && cel_binding_has_states(x->program)) e->broken = true;
  }
  drop_inputs(x);
  return s == CEL_OK ? take_results(x, states, results, err) : s;
}

const cel_engine_driver cel_engine_pjrt = {
    .name = "pjrt",
    .summary = "any PJRT plugin: XLA on CPU, CUDA, ROCm, TPU",
    .probe = pjrt_probe,
    .open = pjrt_open,
    .close = pjrt_close,
    .describe = pjrt_describe,
    .upload = pjrt_upload,
    .upload_split = pjrt_upload_split,
    .state_split = pjrt_state_split,
    .state = pjrt_state,
    .release = pjrt_release,
    .copy_row = pjrt_copy_row,
    .move_row = pjrt_move_row,
    .forget_row = pjrt_forget_row,
    .compile = pjrt_compile,
    .discard = pjrt_discard,
    .execute = pjrt_execute,
};
