// IREE behind engine.h: the compiler makes a module of a program's text, the runtime runs it on one of its devices. Weights
// are uploaded once, or read in place; IREE updates a donated state where it lies (tf.aliasing_output), so that no cache ever
// passes through the host.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/common/binding.h"
#include "backend/xla/engine/common/results.h"
#include "backend/xla/engine/common/state_row.h"
#include "backend/xla/engine/engine.h"
#include "backend/xla/engine/iree/iree_compiler.h"
#include "backend/xla/engine/iree/iree_device.h"
#include "backend/xla/engine/iree/iree_target.h"

struct cel_engine {
  cel_iree_target target;
  cel_iree_device device;
  cel_iree_compiler compiler;
  cel_artifact_store *artifacts;  // lent
  bool broken;                    // a run failed after its states were donated: what they held is lost
  cel_results results;            // host copies of the last run's results
};

struct cel_buffer {
  cel_engine *engine;
  cel_hlo_type type;
  iree_hal_buffer_view_t *view;
};

struct cel_executable {
  cel_engine *engine;
  const cel_program *program;
  char key[CEL_SHA256_HEX_BYTES];  // the artifact's
  cel_iree_program loaded;
  iree_hal_buffer_view_t **arguments;  // [n_params]; weights stay, the rest is filled for each run
  int *state_of;                       // [n_results]: the parameter whose new value it is; -1: none
};

// ---- open and close ---------------------------------------------------------------------------------

static cel_status iree_probe(cel_err *err) {
  (void)err;  // the runtime is linked in; the compiler is looked for when an engine is opened
  return CEL_OK;
}

static void iree_close(cel_engine *e) {
  if (!e) return;
  cel_results_free(&e->results);
  cel_iree_compiler_close(&e->compiler);
  cel_iree_device_close(&e->device);
  free(e);
}

static cel_status open_parts(cel_engine *e, const cel_engine_options *o, cel_err *err) {
  cel_buf path = {0};
  cel_status s = cel_iree_target_find(o->device, o->precision, o->rocm_target ? o->rocm_target : "", &e->target, err);
  if (s == CEL_OK) s = cel_iree_find(o->compiler ? o->compiler : "", o->plugin_folders ? o->plugin_folders : "", &path, err);
  if (s == CEL_OK) s = cel_iree_compiler_open(path.p, &e->compiler, err);
  if (s == CEL_OK) s = cel_iree_device_open(e->target.driver, o->n_threads, &e->device, err);
  cel_buf_deinit(&path);
  return s;
}

static cel_status iree_open(const cel_engine_options *o, cel_engine **out, cel_err *err) {
  *out = NULL;
  cel_engine *e = calloc(1, sizeof *e);
  if (!e) return cel_fail_oom(err, "the IREE engine");
  e->artifacts = o->artifacts;
  cel_status s = open_parts(e, o, err);
  if (s != CEL_OK) {
    iree_close(e);
    return s;
  }
  *out = e;
  return CEL_OK;
}

static void iree_describe(const cel_engine *e, cel_engine_description *out) {
  *out = (cel_engine_description){.engine = "iree", .device = e->target.name, .precision = e->target.precision, .isa = "",
                                  .version = e->compiler.version.p, .target = e->target.artifact,
                                  .arena_bytes = cel_results_bytes(&e->results) + cel_iree_modules_bytes(e->device.modules)};
}

// ---- buffers ----------------------------------------------------------------------------------------

static void iree_release(cel_buffer *b) {
  if (!b) return;
  iree_hal_buffer_view_release(b->view);
  free(b);
}

// A buffer without its device half.
static cel_status new_buffer(cel_engine *e, const cel_hlo_type *t, cel_buffer **out, cel_err *err) {
  *out = calloc(1, sizeof **out);
  if (!*out) return cel_fail_oom(err, "a buffer");
  **out = (cel_buffer){.engine = e, .type = *t};
  return CEL_OK;
}

static cel_status give(cel_buffer *b, cel_status s, cel_buffer **out) {
  if (s == CEL_OK) *out = b;
  else iree_release(b);
  return s;
}

static cel_status iree_upload(cel_engine *e, const cel_hlo_type *t, const void *host, bool lent, cel_buffer **out, cel_err *err) {
  cel_buffer *b;
  CEL_TRY(new_buffer(e, t, &b, err));
  return give(b, cel_iree_upload(&e->device, t, host, lent, &b->view, err), out);
}

static cel_status iree_state(cel_engine *e, const cel_hlo_type *t, cel_buffer **out, cel_err *err) {
  cel_buffer *b;
  CEL_TRY(new_buffer(e, t, &b, err));
  return give(b, cel_iree_zeros(&e->device, t, &b->view, err), out);
}

// Row `to` of every layer of a rank-5 state becomes row `from`, or zero where that is negative.
static cel_status set_row(cel_buffer *b, int64_t from, int64_t to, cel_err *err) {
  const int64_t *d = b->type.dims;
  int64_t row_bytes = d[0] && d[1] ? cel_hlo_bytes(&b->type) / (d[0] * d[1]) : 0;
  for (int64_t layer = 0; layer < d[0]; layer++) {
    int64_t first = layer * d[1] * row_bytes;
    CEL_TRY(cel_iree_move(&b->engine->device, from < 0 ? NULL : b->view, first + from * row_bytes, b->view, first + to * row_bytes,
                          row_bytes, err));
  }
  return CEL_OK;
}

static cel_status iree_copy_row(cel_buffer *b, int64_t from, int64_t to, int64_t n, cel_err *err) {
  CEL_TRY(cel_state_check_copy(b->type.rank, b->type.dims, from, to, n, err));
  return from == to ? CEL_OK : set_row(b, from, to, err);
}

// The positions of a head lie together, so it is a copy for each head of each layer.
static cel_status iree_move_row(cel_buffer *from, cel_buffer *to, int64_t row, int64_t n, cel_err *err) {
  CEL_TRY(cel_state_check_move(&from->type, &to->type, row, n, err));
  const int64_t *d = from->type.dims, *e = to->type.dims;
  int64_t position = d[4] * cel_etype_bytes(from->type.etype);
  for (int64_t i = 0; i < d[0] * d[2]; i++) {
    int64_t head = (i / d[2] * d[1] + row) * d[2] + i % d[2];  // of [layers, rows, heads]
    CEL_TRY(cel_iree_move(&from->engine->device, from->view, head * d[3] * position, to->view, head * e[3] * position, n * position, err));
  }
  return CEL_OK;
}

static void iree_forget_row(cel_buffer *b, int64_t row) {
  if (!cel_state_has_row(b->type.rank, b->type.dims, row) || b->engine->broken) return;
  if (set_row(b, -1, row, NULL) != CEL_OK) b->engine->broken = true;
}

// ---- compile ----------------------------------------------------------------------------------------

static void iree_discard(cel_executable *x) {
  if (!x) return;
  cel_iree_program_drop(&x->loaded);
  free(x->arguments);
  free(x->state_of);
  free(x);
}

static cel_status make_lists(cel_executable *x, cel_buffer *const *weights, cel_err *err) {
  const cel_program *p = x->program;
  x->arguments = calloc((size_t)p->n_params + 1, sizeof *x->arguments);
  x->state_of = malloc(((size_t)p->n_results + 1) * sizeof *x->state_of);
  if (!x->arguments || !x->state_of) return cel_fail_oom(err, "an executable");
  CEL_TRY(cel_binding_compile(p, weights, x->state_of, err));
  for (int i = 0; i < p->n_params; i++) {
    if (p->params[i].kind == CEL_PARAM_WEIGHT) x->arguments[i] = weights[i]->view;
  }
  return CEL_OK;
}

static cel_status load(cel_executable *x, const void *code, size_t n, cel_err *err) {
  return cel_iree_program_load(&x->engine->device, x->key, code, n, x->program->entry->name, &x->loaded, err);
}

static cel_status compile_text(cel_executable *x, const cel_buf *text, cel_artifact *entry, cel_err *err) {
  const cel_iree_target *t = &x->engine->target;
  cel_buf code = {0};
  cel_status s = cel_iree_compile(&x->engine->compiler, text, t->argv, t->n_flags, &code, err);
  if (s == CEL_OK) s = load(x, code.p, code.n, err);
  if (s == CEL_OK) cel_artifact_put(entry, code.p, (int64_t)code.n);
  cel_buf_deinit(&code);
  return s;
}

// From the store of compiled programs, or by the compiler.
static cel_status get_code(cel_executable *x, const cel_buf *text, const cel_artifact_parts *parts, cel_err *err) {
  cel_artifact entry = {0};
  cel_err why = {0};
  CEL_TRY(cel_artifact_begin(x->engine->artifacts, parts, &entry, err));
  cel_status s = CEL_OK;
  if (entry.bytes && load(x, entry.bytes, (size_t)entry.n, &why) != CEL_OK) s = cel_artifact_reject(&entry, why.text, err);
  if (s == CEL_OK && !entry.bytes) s = compile_text(x, text, &entry, err);
  cel_artifact_end(&entry);
  return s;
}

static cel_status print_and_compile(cel_executable *x, cel_err *err) {
  const cel_engine *e = x->engine;
  char note[128];
  cel_binding_note(x->program, note, sizeof note);
  cel_buf flags = {0}, text = {0};
  for (int i = 0; i < e->target.n_flags; i++) cel_buf_printf(&flags, "%s%s", i ? " " : "", e->target.argv[i]);
  cel_status s = flags.failed ? cel_fail_oom(err, "the compiler's flags") : cel_hlo_print(x->program->module, &text, err);
  if (s == CEL_OK) {
    const cel_artifact_parts parts = {.program = cel_buf_str(&text), .engine = "iree", .version = e->compiler.version.p, .flags = flags.p,
                                      .target = e->target.artifact, .note = note};
    cel_artifact_key(&parts, x->key);
    if (!cel_iree_program_known(&e->device, x->key, x->program->entry->name, &x->loaded)) s = get_code(x, &text, &parts, err);
  }
  cel_buf_deinit(&flags);
  cel_buf_deinit(&text);
  return s;
}

static cel_status iree_compile(cel_engine *e, const cel_program *program, cel_buffer *const *weights, cel_executable **out,
                               cel_err *err) {
  *out = NULL;
  cel_executable *x = calloc(1, sizeof *x);
  if (!x) return cel_fail_oom(err, "an executable");
  x->engine = e;
  x->program = program;
  cel_status s = make_lists(x, weights, err);
  if (s == CEL_OK) s = print_and_compile(x, err);
  if (s != CEL_OK) {
    iree_discard(x);
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
    if (p->params[i].kind == CEL_PARAM_STATE) x->arguments[i] = states[i]->view;
    if (p->params[i].kind != CEL_PARAM_INPUT) continue;
    CEL_TRY(cel_iree_upload(&x->engine->device, p->params[i].type, inputs[i], false, &x->arguments[i], err));
  }
  return CEL_OK;
}

static void drop_arguments(cel_executable *x) {
  for (int i = 0; i < x->program->n_params; i++) {
    if (x->program->params[i].kind == CEL_PARAM_WEIGHT) continue;
    if (x->program->params[i].kind == CEL_PARAM_INPUT) iree_hal_buffer_view_release(x->arguments[i]);
    x->arguments[i] = NULL;
  }
}

static cel_status fetch(cel_executable *x, int i, iree_hal_buffer_view_t *result, const void **out, cel_err *err) {
  int64_t bytes = cel_hlo_bytes(x->program->entry->result_types[i]);
  void *room;
  CEL_TRY(cel_results_room(&x->engine->results, i, bytes, &room, err));
  *out = room;
  return cel_iree_download(&x->engine->device, result, room, bytes, err);
}

// The states' new values take the places of the old ones, which the run has consumed.
static cel_status take_results(cel_executable *x, cel_buffer *const *states, const void **results, cel_err *err) {
  cel_status s = CEL_OK;
  for (int i = 0; i < x->program->n_results && s == CEL_OK; i++) {
    iree_hal_buffer_view_t *result = cel_iree_program_result(&x->loaded, i);
    results[i] = NULL;
    if (!result) {
      s = cel_fail(err, CEL_IO, "IREE gave no result %d", i);
    } else if (x->state_of[i] >= 0) {
      cel_buffer *state = states[x->state_of[i]];
      iree_hal_buffer_view_retain(result);
      iree_hal_buffer_view_release(state->view);
      state->view = result;
    } else {
      s = fetch(x, i, result, &results[i], err);
    }
  }
  cel_iree_program_forget(&x->loaded);
  return s;
}

static cel_status iree_execute(cel_executable *x, cel_buffer *const *states, const void *const *inputs, const void **results,
                               cel_err *err) {
  cel_engine *e = x->engine;
  if (e->broken) return cel_binding_lost(err);
  cel_status s = give_arguments(x, states, inputs, err);
  if (s == CEL_OK) {
    s = cel_iree_program_run(&x->loaded, x->arguments, x->program->n_params, err);
    if (s == CEL_OK) s = take_results(x, states, results, err);
    if (s != CEL_OK && cel_binding_has_states(x->program)) e->broken = true;
  }
  drop_arguments(x);
  return s;
}

const cel_engine_driver cel_engine_iree = {
    .name = "iree",
    .summary = "IREE: CPUs, CUDA, Metal, ROCm, Vulkan",
    .devices = cel_iree_targets,
    .probe = iree_probe,
    .open = iree_open,
    .close = iree_close,
    .describe = iree_describe,
    .upload = iree_upload,
    .state = iree_state,
    .release = iree_release,
    .copy_row = iree_copy_row,
    .move_row = iree_move_row,
    .forget_row = iree_forget_row,
    .compile = iree_compile,
    .discard = iree_discard,
    .execute = iree_execute,
};
