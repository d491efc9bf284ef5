// Both spellings of the rotary keys become cel_rope tables (text-architectures §1.5): the old one spreads
// rope_theta, rope_scaling and rope_local_base_freq over the top level, the new one has rope_parameters,
// plain or with one entry per layer type.
#include "arch/describe.h"

// What one table is read from: its own dict, and the level where its keys may also stand.
typedef struct source {
  cel_keys dict;   // may be empty (obj NULL): a plain table
  cel_keys top;    // the text config
  cel_keys outer;  // where yarn's `truncate` stands: HF reads it beside nested entries, not in them
  double theta;
  const cel_rope_defaults *defaults;
} source;

static const struct { const char *name; cel_rope_type type; } types[] = {
    {"default", CEL_ROPE_DEFAULT}, {"linear", CEL_ROPE_LINEAR}, {"dynamic", CEL_ROPE_DYNAMIC},
    {"llama3", CEL_ROPE_LLAMA3},   {"yarn", CEL_ROPE_YARN},     {"longrope", CEL_ROPE_LONGROPE},
    {"su", CEL_ROPE_LONGROPE},     // Phi-3's first name for it
    {"mrope", CEL_ROPE_DEFAULT},   // three equal rows of positions for text: a plain rotation
};

static cel_status read_type(cel_keys k, cel_rope *r, cel_err *err) {
  const char *name = "default";
  CEL_TRY(cel_keys_string(k, "type", &name, err));
  CEL_TRY(cel_keys_string(k, "rope_type", &name, err));
  for (int i = 0; i < CEL_COUNT(types); i++) {
    if (strcmp(name, types[i].name) != 0) continue;
    r->type = types[i].type;
    return CEL_OK;
  }
  const char *key = cel_json_get(k.obj, "rope_type") ? "rope_type" : "type";
  return cel_keys_refuse(k, key, cel_json_get(k.obj, key), CEL_UNSUPPORTED,
                         "one of default, linear, dynamic, llama3, yarn, longrope", err);
}

// Called from the weakest source of a base to the strongest.
static cel_status read_theta(cel_keys k, const char *key, double *theta, cel_err *err) {
  return cel_keys_num(k, key, 1.0001, 1e18, theta, err);
}

// A family that never rotates a part of a head would compute a file that asks for it wrongly: refused.
static cel_status read_dims(const source *s, const cel_arch *a, cel_rope *r, cel_err *err) {
  double whole = s->defaults->partial, part = whole > 0 ? whole : 1;
  CEL_TRY(cel_keys_num(s->top, "partial_rotary_factor", 0, 1, &part, err));
  CEL_TRY(cel_keys_num(s->dict, "partial_rotary_factor", 0, 1, &part, err));
  if (part != 1 && whole == 0)
    return cel_fail(err, CEL_UNSUPPORTED, "config key partial_rotary_factor is %g; %s rotates whole heads (1)", part,
                    a->family->name);
  r->dims = (int)(a->head_dim * part);
  if (r->dims >= 2 && r->dims % 2 == 0) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "config key partial_rotary_factor is %g: of heads of width %d that rotates %d "
                  "columns; it must be an even number above 0", part, a->head_dim, r->dims);
}

static cel_status read_original(const source *s, const cel_arch *a, cel_rope *r, cel_err *err) {
  const char *key = "original_max_position_embeddings";
  const double most = (double)CEL_ARCH_MAX_POSITION;
  r->original_max_position = (double)a->max_position;
  CEL_TRY(cel_keys_num(s->dict, key, 2, most, &r->original_max_position, err));
  return cel_keys_num(s->top, key, 2, most, &r->original_max_position, err);  // the top level wins
}

static cel_status read_factor(cel_keys k, bool needed, cel_rope *r, cel_err *err) {
  if (needed) CEL_TRY(cel_keys_need(k, "factor", err));
  return cel_keys_num(k, "factor", 1e-3, 1e6, &r->factor, err);
}

static cel_status read_llama3(cel_keys k, cel_rope *r, cel_err *err) {
  CEL_TRY(read_factor(k, true, r, err));
  CEL_TRY(cel_keys_need(k, "low_freq_factor", err));
  CEL_TRY(cel_keys_need(k, "high_freq_factor", err));
  CEL_TRY(cel_keys_num(k, "low_freq_factor", 1e-3, 1e6, &r->low_freq_factor, err));
  CEL_TRY(cel_keys_num(k, "high_freq_factor", 1e-3, 1e6, &r->high_freq_factor, err));
  if (r->high_freq_factor > r->low_freq_factor) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "config key %shigh_freq_factor is %g; it must be above low_freq_factor %g",
                  k.path, r->high_freq_factor, r->low_freq_factor);
}

static cel_status read_yarn(const source *s, const cel_arch *a, cel_rope *r, cel_err *err) {
  cel_keys k = s->dict;
  r->factor = (double)a->max_position / r->original_max_position;  // when absent or null
  CEL_TRY(read_factor(k, false, r, err));
  r->beta_fast = 32;
  r->beta_slow = 1;
  CEL_TRY(cel_keys_num(k, "beta_fast", 1e-6, 1e6, &r->beta_fast, err));
  CEL_TRY(cel_keys_num(k, "beta_slow", 1e-6, 1e6, &r->beta_slow, err));
  CEL_TRY(cel_keys_num(k, "attention_factor", 1e-6, 1e6, &r->attention_factor, err));
  CEL_TRY(cel_keys_num(k, "mscale", 0, 1e3, &r->mscale, err));
  CEL_TRY(cel_keys_num(k, "mscale_all_dim", 0, 1e3, &r->mscale_all_dim, err));
  return cel_keys_bool(s->outer, "truncate", &r->truncate, err);
}

static cel_status read_mscales(cel_keys k, cel_rope *r, cel_err *err) {
  CEL_TRY(cel_keys_need(k, "short_mscale", err));
  CEL_TRY(cel_keys_need(k, "long_mscale", err));
  CEL_TRY(cel_keys_num(k, "short_mscale", 1e-6, 1e6, &r->short_mscale, err));
  return cel_keys_num(k, "long_mscale", 1e-6, 1e6, &r->long_mscale, err);
}

static cel_status read_longrope(const source *s, const cel_arch *a, cel_arena *arena, cel_rope *r, cel_err *err) {
  cel_keys k = s->dict;
  if (s->defaults->mscales) CEL_TRY(read_mscales(k, r, err));
  r->factor = (double)a->max_position / r->original_max_position;
  CEL_TRY(read_factor(k, false, r, err));
  CEL_TRY(cel_keys_num(k, "attention_factor", 1e-6, 1e6, &r->attention_factor, err));
  CEL_TRY(cel_keys_need(k, "long_factor", err));
  CEL_TRY(cel_keys_need(k, "short_factor", err));
  CEL_TRY(cel_keys_floats(k, "long_factor", r->dims / 2, arena, &r->long_factor, err));
  return cel_keys_floats(k, "short_factor", r->dims / 2, arena, &r->short_factor, err);
}

static cel_status read_table(const source *s, const cel_arch *a, cel_arena *arena, cel_rope *r, cel_err *err) {
  *r = (cel_rope){.factor = 1, .truncate = true, .max_position = (double)a->max_position};
  r->theta = s->theta;
  r->interleaved = s->defaults->interleaved;
  CEL_TRY(read_type(s->dict, r, err));
  if (s->defaults->yarn_is_longrope && r->type == CEL_ROPE_YARN) r->type = CEL_ROPE_LONGROPE;
  CEL_TRY(read_dims(s, a, r, err));
  switch (r->type) {
    case CEL_ROPE_DEFAULT: return CEL_OK;
    case CEL_ROPE_LINEAR: return read_factor(s->dict, true, r, err);
    case CEL_ROPE_DYNAMIC:
      if (r->dims < 4)
        return cel_fail(err, CEL_UNSUPPORTED, "config key head_dim is %d; rope_type dynamic needs 4", r->dims);
      return read_factor(s->dict, true, r, err);
    case CEL_ROPE_LLAMA3: CEL_TRY(read_original(s, a, r, err)); return read_llama3(s->dict, r, err);
    case CEL_ROPE_YARN: CEL_TRY(read_original(s, a, r, err)); return read_yarn(s, a, r, err);
    case CEL_ROPE_LONGROPE:
      CEL_TRY(read_original(s, a, r, err));
      return read_longrope(s, a, arena, r, err);
  }
  return CEL_OK;
}

// --- Which dict belongs to which kind of layer --------------------------------------------------------
static const char *const kind_words[2] = {[CEL_ATTENTION_FULL] = "full_attention",
                                          [CEL_ATTENTION_SLIDING] = "sliding_attention"};

static bool is_nested(cel_keys k) {
  return cel_json_object_get(k.obj, kind_words[0]) != NULL || cel_json_object_get(k.obj, kind_words[1]) != NULL;
}

// One table per entry. A null entry: no rotation for that kind, but in Gemma 3 a plain table.
static cel_status read_nested(cel_keys dict, cel_keys scaling, cel_keys top, const cel_rope_defaults *d,
                              cel_arena *arena, cel_arch *a, int rope_of[2], cel_err *err) {
  static const char *const paths[2] = {"rope_parameters.full_attention.", "rope_parameters.sliding_attention."};
  bool local = d->local_theta > 0;
  for (int kind = 0; kind < 2; kind++) {
    const cel_json *entry = NULL;
    CEL_TRY(cel_keys_object(dict, kind_words[kind], &entry, err));
    if (!entry && !local) {
      rope_of[kind] = cel_keys_is_null(dict, kind_words[kind]) ? -1 : CEL_ROPE_ABSENT;
      continue;
    }
    const bool own_base = local && kind == CEL_ATTENTION_SLIDING;
    source s = {{entry, paths[kind]}, top, dict, own_base ? d->local_theta : d->theta, d};
    CEL_TRY(read_theta(top, own_base ? "rope_local_base_freq" : "rope_theta", &s.theta, err));
    CEL_TRY(read_theta(s.dict, "rope_theta", &s.theta, err));
    if (scaling.obj && !own_base) {
      s.dict = s.outer = scaling;
      CEL_TRY(read_theta(scaling, "rope_theta", &s.theta, err));
    }
    rope_of[kind] = a->n_ropes;
    CEL_TRY(read_table(&s, a, arena, &a->ropes[a->n_ropes++], err));
  }
  return CEL_OK;
}

static cel_status read_flat(cel_keys dict, cel_keys top, const cel_rope_defaults *d, cel_arena *arena, cel_arch *a,
                            int rope_of[2], cel_err *err) {
  source s = {dict, top, dict, d->theta, d};
  CEL_TRY(read_theta(top, "rope_theta", &s.theta, err));
  CEL_TRY(read_theta(dict, "rope_theta", &s.theta, err));
  rope_of[0] = rope_of[1] = 0;
  a->n_ropes = 1;
  CEL_TRY(read_table(&s, a, arena, &a->ropes[0], err));
  if (d->local_theta <= 0) return CEL_OK;
  source plain = {{NULL, ""}, top, {NULL, ""}, d->local_theta, d};
  CEL_TRY(read_theta(top, "rope_local_base_freq", &plain.theta, err));
  rope_of[CEL_ATTENTION_SLIDING] = 1;
  a->n_ropes = 2;
  return read_table(&plain, a, arena, &a->ropes[1], err);
}

// A file that says nothing of rotations at all, of a class whose default is no plain table.
static void take_default(const cel_rope_defaults *d, cel_arch *a, int rope_of[2]) {
  cel_rope *r = &a->ropes[0];
  *r = *d->otherwise;
  r->dims = a->head_dim;
  r->max_position = (double)a->max_position;
  r->interleaved = d->interleaved;
  rope_of[0] = rope_of[1] = 0;
  a->n_ropes = 1;
}

// A non-empty rope_scaling beats rope_parameters, as in transformers; Gemma 3 lays it over the full entry.
cel_status cel_arch_read_ropes(const cel_json *cfg, const cel_rope_defaults *d, cel_arena *arena, cel_arch *a,
                               int rope_of[2], cel_err *err) {
  cel_keys top = {cfg, ""}, scaling = {NULL, "rope_scaling."}, dict = {NULL, "rope_parameters."};
  CEL_TRY(cel_keys_object(top, "rope_scaling", &scaling.obj, err));
  CEL_TRY(cel_keys_object(top, "rope_parameters", &dict.obj, err));
  if (cel_json_object_size(scaling.obj) == 0) scaling.obj = NULL;
  a->n_ropes = 0;
  if (d->otherwise && !scaling.obj && !dict.obj && !cel_json_get(cfg, "rope_theta")) {
    take_default(d, a, rope_of);
    return CEL_OK;
  }
  if (d->local_theta > 0 && is_nested(dict)) return read_nested(dict, scaling, top, d, arena, a, rope_of, err);
  if (scaling.obj) dict = scaling;
  if (is_nested(dict)) return read_nested(dict, (cel_keys){NULL, ""}, top, d, arena, a, rope_of, err);
  return read_flat(dict, top, d, arena, a, rope_of, err);
}
