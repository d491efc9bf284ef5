#include "model/write/conversion.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "model/arch_of_files.h"
#include "model/write/conversion_private.h"
#include "model/write/safetensors_write.h"

#define SHARD_BYTES ((int64_t)5 << 30)

bool cel_conversion_is_raw(const cel_conversion *v) {
  return v->c->format == CEL_FORMAT_GGUF && v->o->to == CEL_FORMAT_GGUF;
}

bool cel_conversion_is_mlx(const cel_conversion *v) {
  return v->o->to == CEL_FORMAT_SAFETENSORS && (v->o->scheme.kind == CEL_SCHEME_AFFINE || v->o->scheme.kind == CEL_SCHEME_MICRO);
}

// Names change, so the family must be one that has names on both sides.
static cel_status find_family(cel_conversion *v, cel_err *err) {
  cel_status s = cel_arch_from_config(v->c->config, v->c->generation_config, &v->arena, &v->arch, err);
  if (s != CEL_OK) return cel_err_prefix(err, "%s", v->c->path), s;
  return cel_gguf_family_of(&v->arch, &v->row, err);
}

// From folder to folder most tensors stay as they are. Those do not that the loader has cut, joined or renamed: stacks of
// experts, and what the rules of the family's files are about; nor those that mlx-lm's files have in another form.
static bool is_rearranged(const cel_conversion *v) {
  static const char *const inside[] = {".experts.", ".linear_attn.conv1d.", ".conv.conv.", ".kv_b_proj.", ".embed_q."};
  const cel_family *f = cel_arch_family_of(v->c->config);
  bool found = f && f->files;
  for (int64_t i = 0; i < v->c->n_tensors && !found; i++) {
    for (int k = 0; k < CEL_COUNT(inside); k++) found = found || strstr(v->c->tensors[i].name, inside[k]);
  }
  return found;
}

static cel_status find_arrangement(cel_conversion *v, cel_err *err) {
  if (v->o->to == CEL_FORMAT_GGUF || !is_rearranged(v)) return CEL_OK;
  v->rearranged = true;
  cel_status s = cel_arch_from_config(v->c->config, v->c->generation_config, &v->arena, &v->arch, err);
  if (s != CEL_OK) cel_err_prefix(err, "%s", v->c->path);
  return s;
}

static cel_status prepare(cel_conversion *v, cel_err *err) {
  if (v->c->format != v->o->to) CEL_TRY(find_family(v, err));
  else CEL_TRY(find_arrangement(v, err));
  v->norms_have_one = v->c->format == CEL_FORMAT_GGUF || cel_checkpoint_norms_have_one(&v->arch, v->c);
  CEL_TRY(cel_conversion_plan(v, err));
  CEL_TRY(v->o->to == CEL_FORMAT_GGUF ? cel_conversion_make_head(v, err) : cel_conversion_make_config(v, err));
  return v->row ? cel_conversion_check(v, err) : CEL_OK;
}

cel_status cel_conversion_new(const cel_checkpoint *c, const cel_conversion_options *o, cel_conversion **out, cel_err *err) {
  cel_conversion *v = calloc(1, sizeof *v);
  *out = NULL;
  if (!v) return cel_fail_oom(err, "a conversion");
  v->c = c;
  v->o = o;
  cel_arena_init(&v->arena);
  cel_status s = prepare(v, err);
  if (s != CEL_OK) {
    cel_conversion_free(v);
    return s;
  }
  *out = v;
  return CEL_OK;
}

void cel_conversion_free(cel_conversion *v) {
  if (!v) return;
  cel_out_end(v->out);
  cel_write_plan_deinit(&v->plan);
  cel_gguf_head_deinit(&v->head);
  cel_json_decref(v->config);
  free(v->files);
  cel_arena_deinit(&v->arena);
  free(v);
}

cel_conversion_facts cel_conversion_ask(const cel_conversion *v) {
  cel_conversion_facts f = {.bytes = cel_write_plan_bytes(&v->plan), .n_quantized = v->n_quantized, .n_left = v->n_left,
                            .n_files = v->plan.n_files};
  for (int64_t i = 0; i < v->plan.n; i++) {
    f.n_tensors += v->plan.moves[i].n_pieces;
    f.n_values += v->plan.moves[i].from.rows * v->plan.moves[i].from.cols;
  }
  return f;
}

static cel_status write_config(cel_conversion *v, cel_err *err) {
  cel_buf text = {0};
  cel_json_write(&text, v->config, (cel_json_style){.indent = 2});
  cel_status s = text.failed ? cel_fail_oom(err, "config.json") : cel_out_add_whole(v->out, "config.json", text.p, (int64_t)text.n, err);
  cel_buf_deinit(&text);
  return s;
}

static cel_status begin_folder(cel_conversion *v, cel_err *err) {
  bool mlx = cel_conversion_is_mlx(v);
  CEL_TRY(write_config(v, err));
  for (int i = 0; i < v->o->n_files; i++) {
    CEL_TRY(cel_out_add_whole(v->out, v->o->files[i].name, v->o->files[i].data, v->o->files[i].bytes, err));
  }
  return cel_safetensors_begin(&v->plan, v->out, v->o->shard_bytes ? v->o->shard_bytes : SHARD_BYTES, mlx ? "mlx" : "pt",
                               &v->files, err);
}

static cel_status begin_file(cel_conversion *v, cel_err *err) {
  v->files = calloc(1, sizeof *v->files);
  if (!v->files) return cel_fail_oom(err, "a list of files");
  return cel_gguf_begin(&v->plan, &v->head, v->out, v->files, err);
}

cel_status cel_conversion_write(cel_conversion *v, const char *destination, bool replace, cel_pool *pool, const cel_write_watch *watch,
                                cel_err *err) {
  bool folder = v->o->to == CEL_FORMAT_SAFETENSORS;
  CEL_TRY(cel_out_begin(destination, folder, replace, &v->out, err));
  CEL_TRY(folder ? begin_folder(v, err) : begin_file(v, err));
  CEL_TRY(cel_write_plan_run(&v->plan, v->out, v->files, pool, watch, err));
  CEL_TRY(cel_out_flush(v->out, err));
  cel_status s = cel_conversion_read_back(v, err);
  return cel_checkpoint_intact(v->c, s, err);  // what was read of the source may have been zeros
}

const char *cel_conversion_path(const cel_conversion *v) { return cel_out_path(v->out); }

cel_status cel_conversion_commit(cel_conversion *v, cel_err *err) { return cel_out_commit(v->out, err); }
