// Metadata of a new GGUF file: described from a folder, or taken over from another GGUF file.
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "model/checkpoint_private.h"
#include "model/write/conversion_private.h"

// llama.cpp's numbers for what most of a file is in.
static uint32_t file_type(const cel_conversion *v) {
  cel_dtype t = v->o->scheme.kind == CEL_SCHEME_BLOCKS ? v->o->scheme.dtype : v->plain;
  return t == CEL_DT_Q4_0 ? 2 : t == CEL_DT_Q8_0 ? 7 : t == CEL_DT_BF16 ? 32 : t == CEL_DT_F16 ? 1 : 0;
}

static void put_quantization(cel_conversion *v) {
  cel_gguf_add_u32(&v->head, "general.file_type", file_type(v));
  if (v->o->scheme.kind == CEL_SCHEME_BLOCKS) cel_gguf_add_u32(&v->head, "general.quantization_version", 2);
}

// ---- from a GGUF file -----------------------------------------------------------------------------------

// Not of the new file: what is said of parts, and of the formats where these change.
static bool is_replaced(const cel_conversion *v, cel_str key) {
  bool changes = v->o->scheme.kind != CEL_SCHEME_KEEP || v->o->dtype_given;
  if (cel_str_starts(key, CEL_STR("split."))) return true;
  return changes && (cel_str_is(key, "general.file_type") || cel_str_is(key, "general.quantization_version"));
}

static cel_status copy_head(cel_conversion *v, cel_err *err) {
  const cel_gguf *g = &v->c->priv->parts[0];
  for (int64_t i = 0; i < g->n_values; i++) {
    if (!is_replaced(v, g->values[i].key)) cel_gguf_add_value(&v->head, &g->values[i]);
  }
  CEL_TRY(cel_gguf_int(g, "general.alignment", &v->head.alignment, NULL, err));
  if (v->o->scheme.kind != CEL_SCHEME_KEEP || v->o->dtype_given) put_quantization(v);
  return CEL_OK;
}

// ---- from a folder --------------------------------------------------------------------------------------

static void put_sampling(cel_conversion *v) {
  static const struct { const char *from, *key; bool whole; } rows[] = {
    {"temperature", "general.sampling.temp", false}, {"top_k", "general.sampling.top_k", true},
    {"top_p", "general.sampling.top_p", false},      {"min_p", "general.sampling.min_p", false},
    {"repetition_penalty", "general.sampling.penalty_repeat", false},
  };
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    const cel_json *x = cel_json_get(v->c->generation_config, rows[i].from);
    double value = cel_json_number_value(x);
    if (!cel_json_is_number(x) || fabs(value) > INT32_MAX) continue;
    if (rows[i].whole) cel_gguf_add_i32(&v->head, rows[i].key, (int32_t)value);
    else cel_gguf_add_f32(&v->head, rows[i].key, value);
  }
}

static void put_templates(cel_conversion *v) {
  const cel_checkpoint *c = v->c;
  cel_str names[] = {CEL_STR("tool_use")};
  if (c->chat_template) cel_gguf_add_string(&v->head, "tokenizer.chat_template", cel_str_of(c->chat_template));
  if (!c->chat_template_tools) return;
  cel_gguf_add_string(&v->head, "tokenizer.chat_template.tool_use", cel_str_of(c->chat_template_tools));
  cel_gguf_add_strings(&v->head, "tokenizer.chat_templates", names, 1);
}

static cel_status describe(cel_conversion *v, cel_err *err) {
  cel_gguf_head *h = &v->head;
  const cel_json *text = cel_json_get(v->c->config, "text_config");
  cel_gguf_description d = {.a = &v->arch, .row = v->row, .config = cel_json_is_object(text) ? text : v->c->config, .note = v->o->note,
                            .context = v->o->note_context};
  CEL_TRY(cel_gguf_describe(&d, h, err));
  v->window_cut = d.window_cut;
  CEL_TRY(cel_conversion_put_metadata(v, err));
  cel_gguf_add_string(h, "general.type", CEL_STR("model"));
  if (v->o->name && cel_utf8_valid(v->o->name, strlen(v->o->name))) cel_gguf_add_string(h, "general.name", cel_str_of(v->o->name));
  put_quantization(v);
  put_sampling(v);
  if (v->o->vocab) cel_gguf_add_vocab(h, v->o->vocab);
  put_templates(v);
  return CEL_OK;
}

cel_status cel_conversion_make_head(cel_conversion *v, cel_err *err) {
  CEL_TRY(cel_conversion_is_raw(v) ? copy_head(v, err) : describe(v, err));
  return v->head.values.failed ? cel_fail_oom(err, "GGUF metadata") : CEL_OK;
}
