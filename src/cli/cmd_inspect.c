// mlxcel inspect: what a model file is, and what running it takes.
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

typedef struct tally {
  const char *format;
  int64_t tensors, bytes, values;
} tally;

// Logical values of a tensor: words of MLX affine weights hold several.
static int64_t values_of(const cel_lm *lm, const cel_tensor *t) {
  int64_t n = 1;
  for (int i = 0; i < t->rank; i++) n *= t->dims[i];
  cel_str name = cel_str_of(t->name);
  if (t->dtype != CEL_DT_U32 || !cel_str_ends(name, CEL_STR(".weight"))) return n;
  char module[256];
  snprintf(module, sizeof module, "%.*s", (int)(name.n - 7), t->name);
  cel_weight w;
  cel_err ignored;
  return cel_checkpoint_weight(lm->checkpoint, module, &w, &ignored) == CEL_OK ? CEL_MAX(w.experts, 1) * w.rows * w.cols : n;
}

static bool is_auxiliary(const cel_tensor *t) {
  cel_str name = cel_str_of(t->name);
  return cel_str_ends(name, CEL_STR(".scales")) || cel_str_ends(name, CEL_STR(".biases"));
}

static int tally_formats(const cel_lm *lm, tally *out, int most, int64_t *parameters) {
  int n = 0;
  *parameters = 0;
  for (int64_t i = 0; i < lm->checkpoint->n_tensors; i++) {
    const cel_tensor *t = &lm->checkpoint->tensors[i];
    const char *format = cel_dtype_of(t->dtype)->name;
    int64_t values = is_auxiliary(t) ? 0 : values_of(lm, t);
    *parameters += values;
    int k = 0;
    while (k < n && strcmp(out[k].format, format) != 0) k++;
    if (k == n && n < most) out[n++] = (tally){.format = format};
    if (k == n) continue;
    out[k].tensors++;
    out[k].bytes += t->bytes;
    out[k].values += values;
  }
  return n;
}

static int64_t state_bytes(const cel_arch *a) { return (int64_t)sizeof(float) * cel_arch_recurrent_size(a); }

// In f32: an upper bound, since a cache of 16 bits takes half.
static int64_t kv_bytes(const cel_arch *a, int64_t context) {
  int64_t width = a->mla.kv_rank > 0 ? cel_arch_key_width(a) : 2 * a->head_dim;
  return (int64_t)sizeof(float) * a->n_kv_layers * a->n_kv * width * context;
}

static void text_tensors(const cel_lm *lm, cel_buf *b) {
  for (int64_t i = 0; i < lm->checkpoint->n_tensors; i++) {
    const cel_tensor *t = &lm->checkpoint->tensors[i];
    cel_buf_printf(b, "  %s %s [", t->name, cel_dtype_of(t->dtype)->name);
    for (int d = 0; d < t->rank; d++) cel_buf_printf(b, "%s%lld", d ? ", " : "", (long long)t->dims[d]);
    cel_buf_addz(b, "]\n");
  }
}

static const char *container(const cel_lm *lm) { return lm->checkpoint->format == CEL_FORMAT_GGUF ? "GGUF" : "safetensors"; }

static const char *template_word(const cel_lm *lm) { return lm->chat_err.status ? lm->chat_err.text : lm->chat ? "yes" : "no"; }

static void text_shape(const cel_lm *lm, cel_buf *b) {
  const cel_arch *a = &lm->arch;
  if (!a->family) {
    cel_buf_printf(b, "family        not one this program runs, %s\n              %s\n", container(lm), lm->arch_err.text);
    return;
  }
  cel_buf_printf(b, "family        %s (model_type %s), %s\n", a->family->name, a->model_type, container(lm));
  cel_buf_printf(b, "shape         %d layers, width %lld, mlp %lld, %d query and %d key-value heads of %d\n", a->n_layers,
                 (long long)a->hidden, (long long)a->inter, a->n_q, a->n_kv, a->head_dim);
  cel_buf_printf(b, "vocabulary    %lld, context %lld%s\n", (long long)a->vocab, (long long)a->max_position,
                 a->window ? ", sliding window" : "");
}

static void text_report(const cel_lm *lm, const tally *t, int n, int64_t parameters, int64_t context, cel_buf *b) {
  const cel_arch *a = &lm->arch;
  cel_buf_printf(b, "%s\n", lm->checkpoint->path);
  text_shape(lm, b);
  const cel_checkpoint *c = lm->checkpoint;
  cel_buf_printf(b, "parameters    %.1f million in %lld tensors, %.1f MiB on disk", (double)parameters / 1e6, (long long)c->n_tensors,
                 (double)c->file_bytes / 1048576.0);
  if (c->n_files > 1) cel_buf_printf(b, " in %lld files", (long long)c->n_files);
  cel_buf_printf(b, " (%.2f bits each)\n", parameters ? 8.0 * (double)c->file_bytes / (double)parameters : 0.0);
  for (int i = 0; i < n; i++) {
    cel_buf_printf(b, "  %-11s %lld tensors, %.1f MiB\n", t[i].format, (long long)t[i].tensors, (double)t[i].bytes / 1048576.0);
  }
  if (a->family) {
    cel_buf_printf(b, "memory        %.1f MiB of weights + %.1f MiB of KV cache at %lld tokens in f32 (half in 16 bits)",
                   (double)lm->checkpoint->file_bytes / 1048576.0, (double)kv_bytes(a, context) / 1048576.0, (long long)context);
    if (cel_arch_recurrent(a)) cel_buf_printf(b, " + %.1f MiB of recurrent state", (double)state_bytes(a) / 1048576.0);
    cel_buf_addc(b, '\n');
  }
  cel_buf_printf(b, "tokenizer     %s; chat template: %s\n", lm->tokenizer ? "yes" : "no", template_word(lm));
  cel_buf_addz(b, "end tokens    ");
  cli_add_ids(b, lm->end_ids, lm->n_end_ids);
  cel_buf_printf(b, ", begin token %d\n", lm->tokenizer ? cel_tokenizer_bos(lm->tokenizer) : a->bos);
}

static void add_int(cel_buf *b, const char *key, int64_t v) {
  cli_add_key(b, key);
  cel_buf_printf(b, "%lld", (long long)v);
}
static void add_string(cel_buf *b, const char *key, const char *v) {
  cli_add_key(b, key);
  cel_json_add_string(b, cel_str_of(v));
}

// Bits that a value of these takes.
static void add_bits(cel_buf *b, int64_t bytes, int64_t values) {
  cli_add_key(b, "bits");
  cel_json_add_number(b, values ? 8.0 * (double)bytes / (double)values : 0);
}

static void special_tokens(const cel_lm *lm, cel_buf *b) {
  bool any = false;
  cli_add_key(b, "special_tokens");
  cel_buf_addc(b, '[');
  for (int64_t id = 0; lm->tokenizer && id < cel_tokenizer_size(lm->tokenizer); id++) {
    if (!cel_tokenizer_is_special(lm->tokenizer, (int32_t)id)) continue;
    cel_buf_addz(b, any ? ",{" : "{");
    add_int(b, "id", id);
    cli_add_key(b, "text");
    cel_json_add_string(b, cel_tokenizer_bytes(lm->tokenizer, (int32_t)id));
    cel_buf_addc(b, '}');
    any = true;
  }
  cel_buf_addc(b, ']');
}

static void tensor_list(const cel_lm *lm, cel_buf *b) {
  cli_add_key(b, "tensors");
  cel_buf_addc(b, '[');
  for (int64_t i = 0; i < lm->checkpoint->n_tensors; i++) {
    const cel_tensor *t = &lm->checkpoint->tensors[i];
    if (i) cel_buf_addc(b, ',');
    cel_buf_addc(b, '{');
    add_string(b, "name", t->name);
    add_string(b, "dtype", cel_dtype_of(t->dtype)->name);
    cli_add_key(b, "shape");
    cel_buf_addc(b, '[');
    for (int d = 0; d < t->rank; d++) cel_buf_printf(b, "%s%lld", d ? "," : "", (long long)t->dims[d]);
    cel_buf_addz(b, "]");
    add_int(b, "bytes", t->bytes);
    add_bits(b, t->bytes, values_of(lm, t));
    cel_buf_addc(b, '}');
  }
  cel_buf_addc(b, ']');
}

static void json_shape(const cel_lm *lm, int64_t context, cel_buf *b) {
  const cel_arch *a = &lm->arch;
  add_string(b, "family", a->family->name);
  add_string(b, "model_type", a->model_type);
  add_int(b, "layers", a->n_layers);
  add_int(b, "hidden", a->hidden);
  add_int(b, "intermediate", a->inter);
  add_int(b, "heads", a->n_q);
  add_int(b, "kv_heads", a->n_kv);
  add_int(b, "head_dim", a->head_dim);
  add_int(b, "vocab", a->vocab);
  add_int(b, "context", a->max_position);
  add_int(b, "kv_context", context);
  add_int(b, "kv_bytes_total", kv_bytes(a, context));
  add_int(b, "state_bytes", state_bytes(a));
  add_int(b, "total_bytes", lm->checkpoint->file_bytes + kv_bytes(a, context) + state_bytes(a));
}

static void json_report(const cel_lm *lm, const tally *t, int n, int64_t parameters, int64_t context, cel_buf *b) {
  cel_buf_addc(b, '{');
  add_string(b, "path", lm->checkpoint->path);
  add_string(b, "container", lm->checkpoint->format == CEL_FORMAT_GGUF ? "gguf" : "safetensors");
  add_int(b, "parameters", parameters);
  add_int(b, "weights_bytes", lm->checkpoint->file_bytes);
  add_int(b, "files", lm->checkpoint->n_files);
  if (lm->arch.family) {
    json_shape(lm, context, b);
  } else {
    cli_add_key(b, "family");
    cel_buf_addz(b, "null");
    add_string(b, "refusal", lm->arch_err.text);
  }
  cli_add_key(b, "formats");
  cel_buf_addc(b, '{');
  for (int i = 0; i < n; i++) {
    cli_add_key(b, t[i].format);
    cel_buf_printf(b, "{\"tensors\":%lld,\"bytes\":%lld}", (long long)t[i].tensors, (long long)t[i].bytes);
  }
  cel_buf_addc(b, '}');
  cli_add_key(b, "tokenizer");
  cel_buf_addz(b, lm->tokenizer ? "true" : "false");
  cli_add_key(b, "chat_template");
  if (lm->checkpoint->chat_template) cel_json_add_string(b, cel_str_of(lm->checkpoint->chat_template));
  else cel_buf_addz(b, "null");
  cli_add_key(b, "end_ids");
  cli_add_ids(b, lm->end_ids, lm->n_end_ids);
  add_int(b, "bos", lm->tokenizer ? cel_tokenizer_bos(lm->tokenizer) : lm->arch.bos);
  special_tokens(lm, b);
  tensor_list(lm, b);
  cel_buf_addz(b, "}\n");
}

int cmd_inspect(const cli_options *o) {
  cel_err err = {0};
  cel_lm *lm;
  int status = cli_one_model(o);
  if (status) return status;
  if (cli_open_files(o, &lm, &err) != CEL_OK) return cli_fail(&err);
  tally t[CEL_DTYPE_COUNT];
  int64_t parameters, context = o->context ? o->context : CEL_MIN(lm->arch.max_position, 8192);
  int n = tally_formats(lm, t, CEL_COUNT(t), &parameters);
  cel_buf b = {0};
  (o->json ? json_report : text_report)(lm, t, n, parameters, context, &b);
  if (!o->json && (o->verbose || !lm->arch.family)) text_tensors(lm, &b);
  cel_lm_close(lm);
  return cli_print(&b, &err);
}
