// The walk over a text model: arguments, rope tables, embedding, layers, head.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/xla/emit/emit_internal.h"

cel_emit_weight *cel_emit_weight_of(cel_emit *e, cel_weight_role role, int layer) {
  return &e->weights[(int64_t)(layer + 1) * CEL_W_COUNT + role];
}

const cel_hlo_func *cel_emit_begin(cel_emit *e, cel_emit_scope *scope, const char *name, const char *key_fmt, ...) {
  char key[160];
  va_list args;
  va_start(args, key_fmt);
  vsnprintf(key, sizeof key, key_fmt, args);
  va_end(args);
  for (const cel_emit_function *f = e->functions; f; f = f->next) {
    if (!strcmp(f->key, key)) return f->func;
  }
  cel_hlo_builder *b = &e->b;
  *scope = (cel_emit_scope){b->func, b->block, cel_arena_dup(&b->module->arena, key, strlen(key))};
  cel_hlo_func_begin(b, cel_hlo_fresh_symbol(b, name), true);
  return NULL;
}

const cel_hlo_func *cel_emit_end(cel_emit *e, cel_emit_scope *scope, hlo result) {
  return cel_emit_end_many(e, scope, &result, 1);
}

const cel_hlo_func *cel_emit_end_many(cel_emit *e, cel_emit_scope *scope, const hlo *results, int n) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_return(b, results, n);
  cel_emit_function *f = CEL_NEW(&b->module->arena, cel_emit_function);
  const cel_hlo_func *made = b->func;
  b->func = scope->func;
  b->block = scope->block;
  if (!f || !scope->key) {
    cel_hlo_refuse(b, CEL_OOM, "out of memory in the emitter");
    return NULL;
  }
  *f = (cel_emit_function){scope->key, made, e->functions};
  e->functions = f;
  return made;
}

// ---- arguments ---------------------------------------------------------------------------------

static hlo input(cel_emit *e, const char *name, cel_etype type, int rank, int64_t d0, int64_t d1) {
  int64_t dims[2] = {d0, d1};
  hlo arg = cel_hlo_arg(&e->b, name, cel_hlo_tensor(e->b.module, type, rank, dims));
  if (arg) cel_hlo_arg_attr_string(&e->b, arg, "mlxcel.input", name);
  cel_emit_shard_input(e, arg);
  return arg;
}

static void state_argument(cel_emit *e, cel_state which, int result) {
  cel_state_shape s = cel_state_shape_of(e->arch, which, e->options.rows, e->options.capacity, e->options.kv);
  hlo arg = cel_hlo_arg(&e->b, s.name, cel_hlo_tensor(e->b.module, s.type, 5, s.dims));
  if (arg) {
    cel_hlo_arg_attr_string(&e->b, arg, "mlxcel.state", s.name);
    cel_hlo_arg_attr_int(&e->b, arg, "tf.aliasing_output", result);
  }
  cel_emit_shard_state(e, which, arg);
  e->state[which] = arg;
}

static void inputs(cel_emit *e) {
  bool prefill = e->options.entry == CEL_ENTRY_PREFILL;
  e->tokens = input(e, "tokens", CEL_ET_I32, 1, e->n, 0);
  e->positions = input(e, "positions", CEL_ET_I32, 1, e->n, 0);
  e->slots = prefill ? input(e, "slot", CEL_ET_I32, 0, 0, 0) : input(e, "slots", CEL_ET_I32, 1, e->n, 0);
  if (prefill && e->options.logits == CEL_LOGITS_LAST) e->last = input(e, "last", CEL_ET_I32, 0, 0, 0);
  for (int i = 0; i < e->arch->n_ropes; i++) {
    const cel_rope *r = &e->arch->ropes[i];
    if (!cel_rope_depends_on_length(r)) continue;
    const char *name = cel_arena_printf(&e->b.module->arena, "rope_freqs_%d", i);
    e->rope_freqs[i] = input(e, name, CEL_ET_F32, 2, e->n, cel_rope_columns(r));
  }
  int result = e->options.logits == CEL_LOGITS_NONE ? 0 : 1;
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (cel_state_shape_of(e->arch, (cel_state)i, 1, 1, e->options.kv).dims[0] > 0) state_argument(e, (cel_state)i, result++);
  }
}

// Norm weights and biases in f32, once, ahead of the walk.
static void widen_vectors(cel_emit *e) {
  int64_t n = (int64_t)(e->arch->n_layers + 1) * CEL_W_COUNT;
  cel_hlo_path(&e->b, "weights");
  for (int64_t i = 0; i < n; i++) {
    cel_emit_weight *w = &e->weights[i];
    if (w->vector) w->vector = cel_hlo_convert(&e->b, w->vector, CEL_ET_F32);
    if (w->bias && w->storage.experts == 0) w->bias = cel_hlo_convert(&e->b, w->bias, CEL_ET_F32);
    if (w->global_scale) w->global_scale = cel_hlo_convert(&e->b, w->global_scale, CEL_ET_F32);
  }
}

// ---- the walk ----------------------------------------------------------------------------------

static hlo mix(cel_emit *e, int layer, hlo h) {
  switch (e->arch->layers[layer].mixer) {
    case CEL_MIXER_CONV: return cel_emit_tap(e, layer, "conv_out", cel_emit_conv(e, layer, h));
    case CEL_MIXER_DELTA: return cel_emit_tap(e, layer, "delta_out", cel_emit_delta(e, layer, h));
    case CEL_MIXER_ATTENTION: break;
  }
  hlo y = e->arch->mla.kv_rank > 0 ? cel_emit_mla(e, layer, h) : cel_emit_attention(e, layer, h);
  return cel_emit_tap(e, layer, "attn_out", y);
}

static hlo feed_forward(cel_emit *e, int layer, hlo h) {
  hlo y = e->arch->layers[layer].ffn == CEL_FFN_MOE ? cel_emit_moe(e, layer, h) : cel_emit_mlp(e, layer, h);
  return cel_emit_tap(e, layer, "ffn", y);
}

static hlo add_to(cel_emit *e, hlo x, hlo y) {
  if (e->arch->residual_mul != 1) y = cel_hlo_binary_scalar(&e->b, CEL_HLO_MULTIPLY, y, e->arch->residual_mul);
  return cel_hlo_binary(&e->b, CEL_HLO_ADD, x, y);
}

const char *cel_emit_norm_name(cel_weight_role role) {
  switch (role) {
    case CEL_W_ATTN_NORM: return "attn_norm";
    case CEL_W_ATTN_POST_NORM: return "attn_post_norm";
    case CEL_W_MLP_NORM: return "ffn_norm";
    default: return "ffn_post_norm";
  }
}

static hlo norm_at(cel_emit *e, cel_weight_role role, int layer, hlo x) {
  const char *half = role == CEL_W_ATTN_NORM || role == CEL_W_ATTN_POST_NORM ? "attn" : "mlp";
  const char *place = role == CEL_W_ATTN_NORM || role == CEL_W_MLP_NORM ? "norm" : "post_norm";
  cel_hlo_path(&e->b, "layers.%d.%s_%s", layer, half, place);
  return cel_emit_tap(e, layer, cel_emit_norm_name(role), cel_emit_norm(e, role, layer, x));
}

static hlo sublayer(cel_emit *e, int layer, hlo x, cel_weight_role norm, cel_weight_role post,
                    hlo (*block)(cel_emit *e, int layer, hlo h)) {
  cel_placement p = e->arch->placement;
  hlo y = block(e, layer, p == CEL_POST_NORM ? x : norm_at(e, norm, layer, x));
  if (p == CEL_PRE_POST_NORM || p == CEL_POST_NORM) y = norm_at(e, post, layer, y);
  return add_to(e, x, y);
}

static hlo layer_of(cel_emit *e, int layer, hlo x) {
  if (e->arch->placement == CEL_PARALLEL) {
    hlo h = norm_at(e, CEL_W_ATTN_NORM, layer, x), f = feed_forward(e, layer, h);
    x = cel_emit_tap(e, layer, "attn_residual", add_to(e, x, mix(e, layer, h)));
    return cel_emit_tap(e, layer, "output", add_to(e, x, f));
  }
  x = cel_emit_tap(e, layer, "attn_residual", sublayer(e, layer, x, CEL_W_ATTN_NORM, CEL_W_ATTN_POST_NORM, mix));
  return cel_emit_tap(e, layer, "output", sublayer(e, layer, x, CEL_W_MLP_NORM, CEL_W_MLP_POST_NORM, feed_forward));
}

static hlo head(cel_emit *e, hlo x) {
  cel_hlo_builder *b = &e->b;
  cel_hlo_path(b, "head");
  if (e->last) {
    hlo starts[2] = {e->last, cel_hlo_scalar(b, CEL_ET_I32, 0)};
    int64_t sizes[2] = {1, e->arch->hidden};
    x = cel_hlo_dynamic_slice(b, x, starts, sizes);
    e->n = 1;
  }
  x = cel_emit_tap(e, -1, "final_norm", cel_emit_norm(e, CEL_W_FINAL_NORM, -1, x));
  x = cel_emit_linear(e, CEL_W_HEAD, -1, x);
  if (e->arch->logit_mul != 1) x = cel_hlo_binary_scalar(b, CEL_HLO_MULTIPLY, x, e->arch->logit_mul);
  return cel_emit_tap(e, -1, "logits", cel_emit_softcap(b, x, e->arch->final_softcap));
}

// The results: logits (NULL: none), states, taps.
static void finish(cel_emit *e, hlo logits) {
  hlo *results = CEL_NEW_ARRAY(&e->b.module->arena, hlo, 1 + CEL_STATE_COUNT + e->n_taps);
  int n = 0;
  if (!results) {
    cel_hlo_refuse(&e->b, CEL_OOM, "out of memory in the emitter");
    return;
  }
  if (e->options.logits != CEL_LOGITS_NONE) results[n++] = logits;
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    if (e->state[i]) results[n++] = e->state[i];
  }
  int first = n;
  n += cel_emit_tap_results(e, results + n);
  cel_hlo_return(&e->b, results, n);
  cel_emit_name_taps(e, first);
}

static void walk(cel_emit *e) {
  cel_hlo_builder *b = &e->b;
  widen_vectors(e);
  cel_emit_rope_tables(e);
  cel_hlo_path(b, "embed");
  hlo x = cel_emit_tap(e, -1, "embedding", cel_emit_embedding(e, e->tokens));
  if (e->arch->gemma3n.planes > 0) {
    x = cel_emit_gemma3n(e, x);
  } else {
    for (int layer = 0; layer < e->arch->n_layers; layer++) x = layer_of(e, layer, x);
  }
  finish(e, e->options.logits != CEL_LOGITS_NONE ? head(e, x) : NULL);
  cel_emit_shard_results(e);
}

static int64_t kept_width(cel_emit_kv kv, int d) {
  return kv == CEL_EMIT_KV_I16 ? cel_kept_width_i16(d) : kv == CEL_EMIT_KV_I8 ? cel_kept_width_i8(d) : d;
}

cel_state_shape cel_state_shape_of(const cel_arch *a, cel_state state, int64_t rows, int64_t capacity, cel_emit_kv kv) {
  static const cel_etype kept[CEL_EMIT_KV_KINDS] = {CEL_ET_F32, CEL_ET_F16, CEL_ET_I16, CEL_ET_I8};
  int64_t channels = a->hidden, taps = a->conv.kernel;
  int n_conv = a->n_conv_layers;
  if (a->delta.kernel > 0) {
    channels = 2 * (int64_t)a->delta.n_k * a->delta.d_k + (int64_t)a->delta.n_v * a->delta.d_v;
    taps = a->delta.kernel;
    n_conv = a->n_delta_layers;
  }
  switch (state) {
    case CEL_STATE_KEYS:
      return (cel_state_shape){"kcache", kept[kv], {a->n_kv_layers, rows, a->n_kv, capacity, kept_width(kv, cel_arch_key_width(a))}, true};
    case CEL_STATE_VALUES:
      return (cel_state_shape){
          "vcache", kept[kv], {a->mla.kv_rank > 0 ? 0 : a->n_kv_layers, rows, a->n_kv, capacity, kept_width(kv, a->head_dim)}, true};
    case CEL_STATE_CONV:
      return (cel_state_shape){"conv", CEL_ET_F32, {n_conv, rows, 1, taps - 1, channels}, false};
    case CEL_STATE_DELTA:
      return (cel_state_shape){"delta", CEL_ET_F32, {a->n_delta_layers, rows, a->delta.n_v, a->delta.d_k, a->delta.d_v}, false};
    case CEL_STATE_COUNT:
      break;
  }
  return (cel_state_shape){0};
}

static cel_status check_options(const cel_arch *a, const cel_emit_options *o, cel_err *err) {
  if (o->tokens < 1 || o->tokens > 1 << 20 || o->rows < 1 || o->rows > 1 << 16 || o->capacity < 1) {
    return cel_fail(err, CEL_INVALID, "entry %s: tokens %lld, rows %lld, capacity %lld: each must be positive and in reason",
                    cel_entry_name(o->entry), (long long)o->tokens, (long long)o->rows, (long long)o->capacity);
  }
  CEL_TRY(cel_emit_check_devices(a, o->devices, err));
  if (a->n_ropes > CEL_ARCH_MAX_ROPES) return cel_fail(err, CEL_INVALID, "%d rope tables", a->n_ropes);
  return cel_emit_check_taps(o, err);
}

cel_status cel_emit_text(const cel_arch *arch, const cel_storage_source *weights, const cel_emit_options *options,
                         cel_hlo_module **out, cel_err *err) {
  *out = NULL;
  CEL_TRY(check_options(arch, options, err));
  cel_hlo_module *m;
  char name[200];
  snprintf(name, sizeof name, "%s_%s", arch->model_type, cel_entry_name(options->entry));
  CEL_TRY(cel_hlo_module_new(name, &m, err));
  cel_emit e = {.arch = arch, .source = weights, .options = *options, .n = options->tokens};
  e.weights = CEL_NEW_ARRAY(&m->arena, cel_emit_weight, (int64_t)(arch->n_layers + 1) * CEL_W_COUNT);
  if (!e.weights) {
    cel_hlo_module_free(m);
    return cel_fail_oom(err, "the emitter's weight table");
  }
  if (options->devices > 1) m->mesh = options->devices;
  cel_hlo_builder_init(&e.b, m);
  e.b.dots = options->dots;
  cel_hlo_func_begin(&e.b, "main", false);
  cel_emit_weight_arguments(&e);
  inputs(&e);
  if (e.b.err.status == CEL_OK) walk(&e);  // a weight that was refused has no storage to speak of
  cel_status s = e.b.err.status;
  if (s != CEL_OK) {
    if (err) *err = e.b.err;
    cel_hlo_module_free(m);
    return s;
  }
  *out = m;
  return CEL_OK;
}

static const char *const entry_names[] = {[CEL_ENTRY_PREFILL] = "prefill", [CEL_ENTRY_DECODE] = "decode"};

const char *cel_entry_name(cel_entry entry) { return entry_names[entry]; }

bool cel_entry_by_name(const char *name, cel_entry *out) {
  for (int i = 0; i < CEL_COUNT(entry_names); i++) {
    if (strcmp(name, entry_names[i]) != 0) continue;
    *out = (cel_entry)i;
    return true;
  }
  return false;
}
