// The store, and folders of programs compiled ahead.
#include "backend/xla/xla_artifacts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/xla_buckets.h"
#include "base/env.h"
#include "base/json.h"
#include "base/log.h"

#define MANIFEST "manifest.json"
enum { MANIFEST_VERSION = 1, MANIFEST_BYTES_MOST = 1 << 20 };

bool cel_xla_artifact_folder(cel_buf *out) {
  const char *cache = cel_env(CEL_ENV_CACHE_DIR), *home = cel_env(CEL_ENV_HOME);
  if (cache) cel_buf_printf(out, "%s/artifacts", cache);
  else if (home) cel_buf_printf(out, "%s/.cache/mlxcel/artifacts", home);
  return out->p && !out->failed;
}

static cel_status open_shared(cel_xla_model *m, const cel_xla_options *x, cel_err *err) {
  cel_buf folder = {0};
  cel_status s = CEL_OK;
  if (x->artifact_limit > 0 && cel_xla_artifact_folder(&folder)) {
    cel_artifact_options o = {.folder = folder.p, .limit_bytes = x->artifact_limit};
    s = cel_artifact_open(&o, &m->artifacts, err);
  }
  cel_buf_deinit(&folder);
  return s;
}

cel_status cel_xla_open_artifacts(cel_xla_model *m, const cel_load_options *o, const cel_xla_options *x, cel_err *err) {
  if (m->driver->quick_compile) {
    if (!o->artifact) return CEL_OK;
    return cel_fail(err, CEL_UNSUPPORTED, "the engine %s compiles in milliseconds and keeps nothing: artifacts are for engines "
                    "that take seconds, as MLXCEL_XLA_DEVICE=pjrt:cpu", m->driver->name);
  }
  if (!o->artifact) return open_shared(m, x, err);
  cel_artifact_options a = {.folder = o->artifact, .only = o->artifact_use == CEL_ARTIFACT_USE};
  return cel_artifact_open(&a, &m->artifacts, err);
}

// ---- the manifest ------------------------------------------------------------------------------------

// What programs depend on of a checkpoint: names, types and shapes of its tensors. Their values are arguments.
static void digest_layout(const cel_checkpoint *c, char out[CEL_SHA256_HEX_BYTES]) {
  cel_sha256 s;
  cel_buf line = {0};
  cel_sha256_init(&s);
  for (int64_t i = 0; i < c->n_tensors; i++) {
    const cel_tensor *t = &c->tensors[i];
    cel_buf_clear(&line);
    cel_buf_printf(&line, "%s %s", t->name, cel_dtype_of(t->dtype)->name);
    for (int k = 0; k < t->rank; k++) cel_buf_printf(&line, " %lld", (long long)t->dims[k]);
    cel_buf_addc(&line, '\n');
    if (line.p) cel_sha256_add(&s, line.p, line.n);
  }
  cel_buf_deinit(&line);
  cel_sha256_end_hex(&s, out);
}

typedef struct row {
  const char *key, *text;  // a text, or
  int64_t number;          // a number where text is NULL
} row;
enum { ROWS = 13 };

static void describe(const cel_xla_model *m, const char *layout, const char *buckets, row out[ROWS]) {
  cel_engine_description d;
  m->driver->describe(m->engine, &d);
  const row rows[ROWS] = {{"mlxcel", CEL_VERSION, 0},       {"engine", d.engine, 0},
                          {"engine_version", d.version ? d.version : "", 0},
                          {"target", d.target ? d.target : "", 0},
                          {"precision", d.precision, 0},    {"model_type", m->base.arch.model_type, 0},
                          {"checkpoint_layout", layout, 0}, {"devices", NULL, m->n_devices},
                          {"capacity", NULL, m->base.capacity}, {"buckets", buckets, 0},
                          {"quantized_weights", m->widened ? "widened" : "packed", 0},  {"rows", NULL, m->base.n_rows},
                          {"prefill_chunk", NULL, m->base.prefill_chunk}};
  memcpy(out, rows, sizeof rows);
}

static cel_status read_manifest(const char *folder, cel_json **out, cel_err *err) {
  cel_buf path = {0};
  cel_buf_printf(&path, "%s/" MANIFEST, folder);
  *out = NULL;
  cel_status s = path.p ? cel_json_load(path.p, MANIFEST_BYTES_MOST, out, err) : cel_fail_oom(err, "a file name");
  if (s == CEL_OK && !cel_json_is_object(*out)) {
    s = cel_fail(err, CEL_MALFORMED, "%s: expected an object", path.p);
    cel_json_decref(*out);
    *out = NULL;
  }
  cel_buf_deinit(&path);
  return s;
}

static int64_t number_of(const cel_json *manifest, const char *key) {
  const cel_json *j = cel_json_object_get(manifest, key);
  return cel_json_is_integer(j) ? cel_json_integer_value(j) : -1;
}

// What the caller left open is as the folder has it.
static void take_sizes(cel_xla_model *m, const cel_load_options *o, const cel_json *manifest) {
  int64_t rows = number_of(manifest, "rows"), chunk = number_of(manifest, "prefill_chunk");
  const char *buckets = cel_json_string_value(cel_json_object_get(manifest, "buckets"));
  if (!m->capacity_given && buckets) (void)cel_xla_take_buckets(m, buckets);  // a wrong one differs from what is here
  if (rows >= m->base.n_rows && rows <= 1 << 16) m->base.n_rows = (int)rows;
  if (o->prefill_chunk == 0 && chunk > 0 && chunk <= 1 << 16) m->base.prefill_chunk = (int)chunk;
}

static cel_status compare(const char *folder, const cel_json *manifest, const row *rows, cel_err *err) {
  if (number_of(manifest, "version") != MANIFEST_VERSION) {
    return cel_fail(err, CEL_UNSUPPORTED, "%s/" MANIFEST ": version %lld of the format, this program reads %d", folder,
                    (long long)number_of(manifest, "version"), MANIFEST_VERSION);
  }
  for (int i = 0; i < ROWS; i++) {
    const cel_json *j = cel_json_object_get(manifest, rows[i].key);
    char is[160], right[160];
    if (rows[i].text) {
      const char *v = cel_json_string_value(j);
      snprintf(is, sizeof is, "%.150s", v ? v : "");
      snprintf(right, sizeof right, "%.150s", rows[i].text);
    } else {
      snprintf(is, sizeof is, "%lld", (long long)number_of(manifest, rows[i].key));
      snprintf(right, sizeof right, "%lld", (long long)rows[i].number);
    }
    if (!strcmp(is, right)) continue;
    return cel_fail(err, CEL_INVALID, "%s was compiled for %s %s, here it is %s: make it again with mlxcel compile, or give "
                    "--artifact-rebuild", folder, rows[i].key, *is ? is : "(none)", right);
  }
  return CEL_OK;
}

cel_status cel_xla_settle_artifacts(cel_xla_model *m, const cel_load_options *o, bool *make, cel_err *err) {
  *make = false;
  if (!o->artifact) return CEL_OK;
  cel_json *manifest = NULL;
  char layout[CEL_SHA256_HEX_BYTES];
  row rows[ROWS];
  cel_buf buckets = {0};
  digest_layout(m->checkpoint, layout);
  cel_status s = o->artifact_use == CEL_ARTIFACT_MAKE ? CEL_NOT_FOUND : read_manifest(o->artifact, &manifest, err);
  if (s == CEL_OK) {
    take_sizes(m, o, manifest);
    cel_xla_buckets_text(m, &buckets);
    describe(m, layout, buckets.p ? buckets.p : "", rows);
    s = compare(o->artifact, manifest, rows, err);
    cel_json_decref(manifest);
  }
  cel_buf_deinit(&buckets);
  if (s == CEL_OK || o->artifact_use == CEL_ARTIFACT_USE) return s;
  if (o->artifact_use == CEL_ARTIFACT_REBUILD) cel_log(CEL_LOG_WARN, "%s; it is compiled anew", err ? err->text : o->artifact);
  int64_t n, bytes;
  CEL_TRY(cel_artifact_clear(o->artifact, &n, &bytes, err));
  *make = true;
  return CEL_OK;
}

// ---- making ------------------------------------------------------------------------------------------

static cel_status write_manifest(const cel_xla_model *m, const char *folder, cel_err *err) {
  cel_buf b = {0}, path = {0}, buckets = {0};
  char layout[CEL_SHA256_HEX_BYTES];
  row rows[ROWS];
  digest_layout(m->checkpoint, layout);
  cel_xla_buckets_text(m, &buckets);
  describe(m, layout, buckets.p ? buckets.p : "", rows);
  cel_buf_printf(&b, "{\n  \"format\": \"mlxcel-artifact\",\n  \"version\": %d", MANIFEST_VERSION);
  for (int i = 0; i < ROWS; i++) {
    cel_buf_printf(&b, ",\n  \"%s\": ", rows[i].key);
    if (rows[i].text) cel_json_add_string(&b, cel_str_of(rows[i].text));
    else cel_buf_printf(&b, "%lld", (long long)rows[i].number);
  }
  cel_buf_addz(&b, "\n}\n");
  cel_buf_printf(&path, "%s/" MANIFEST, folder);
  cel_status s = b.failed || path.failed ? cel_fail_oom(err, "a manifest") : cel_write_file(path.p, b.p, (int64_t)b.n, err);
  cel_buf_deinit(&b);
  cel_buf_deinit(&path);
  cel_buf_deinit(&buckets);
  return s;
}

// Prompts are run in chunks of powers of two, batches too; each chunk's program has logits of its last token, and that of one
// token is a decode.
typedef struct want {
  cel_entry entry;
  int64_t tokens;
  cel_emit_logits logits;
} want;
enum { WANTS_MOST = 80 };

static int list_programs(const cel_xla_model *m, bool all_logits, want out[WANTS_MOST]) {
  int n = 0;
  for (int64_t t = 1; t < 2 * (int64_t)m->base.n_rows && n < WANTS_MOST; t *= 2) out[n++] = (want){CEL_ENTRY_DECODE, t, CEL_LOGITS_ALL};
  for (int64_t t = 2; t <= m->base.prefill_chunk && n < WANTS_MOST - 2; t *= 2) {
    out[n++] = (want){CEL_ENTRY_PREFILL, t, CEL_LOGITS_LAST};
    if (all_logits && t <= CEL_SEQUENCE_LOGITS_CHUNK && n < WANTS_MOST) out[n++] = (want){CEL_ENTRY_PREFILL, t, CEL_LOGITS_ALL};
  }
  return n;
}

// The engine's own small programs: what closing and forking sessions does to a row.
static cel_status touch_rows(cel_xla_model *m, int bucket, cel_err *err) {
  CEL_TRY(cel_xla_bucket_open(m, bucket, err));
  for (int i = 0; i < CEL_STATE_COUNT; i++) {
    cel_buffer *state = m->buckets[bucket].states[i];
    if (!state) continue;
    CEL_TRY(m->driver->copy_row(state, 0, 0, 0, err));
    m->driver->forget_row(state, 0);
  }
  return CEL_OK;
}

static cel_status compile_all(cel_xla_model *m, const cel_load_options *o, cel_err *err) {
  want wants[WANTS_MOST];
  cel_xla_program *p;
  int n = list_programs(m, o->artifact_logits, wants);
  for (int bucket = 0; bucket < m->n_buckets; bucket++) {
    CEL_TRY(touch_rows(m, bucket, err));
    for (int i = 0; i < n; i++) {
      double fraction = (double)(bucket * n + i + 1) / (m->n_buckets * n);
      if (wants[i].tokens > m->buckets[bucket].capacity) continue;
      CEL_TRY(cel_xla_program_for(m, bucket, wants[i].entry, wants[i].tokens, wants[i].logits, &p, err));
      if (o->progress && !o->progress(o->progress_context, fraction)) return cel_fail(err, CEL_CANCELLED, "compiling was cancelled");
    }
  }
  return cel_xla_bucket_try_moves(m, err);
}

cel_status cel_xla_make_artifacts(cel_xla_model *m, const cel_load_options *o, cel_err *err) {
  cel_artifact_counts counts;
  CEL_TRY(cel_make_dirs(o->artifact, err));
  CEL_TRY(compile_all(m, o, err));
  cel_artifact_count(m->artifacts, &counts);
  if (counts.kept == 0) {
    return cel_fail(err, CEL_UNSUPPORTED, "no program could be stored in %s: the engine %s does not write its programs down, or the "
                    "folder cannot be written to", o->artifact, m->driver->name);
  }
  return write_manifest(m, o->artifact, err);
}
