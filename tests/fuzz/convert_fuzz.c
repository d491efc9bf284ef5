// A conversion from end to end: a folder or a GGUF file is made of what the input says, converted, and what came out is opened.
// The input: four letters (see take_options), then the parts of the source, each ended by a NUL.
//   of a folder:    config.json, tokenizer.json, tokenizer_config.json, tensors
//   of a GGUF file: metadata, a line each ("u llama.block_count 2"; see add_value), tensors
// A tensor is a line "NAME TYPE DIM DIM ...", outermost first. Its bytes are ours, so that the files fit their headers.
// links: cel_write cel_text cel_model
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "model/store.h"
#include "model/write/conversion.h"
#include "text/carry.h"
#include "text/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { DATA_MOST = 1 << 19, RANK = 4, TENSORS_MOST = 200, LIST_MOST = 600 };

static char place[64];

static void check(bool holds) {
  if (!holds) abort();
}

static void told(cel_status s, const cel_err *err) {
  check(s != CEL_OOM && s != CEL_IO && err->text[0] && !strchr(err->text, '\n'));
}

static const char *in_place(const char *name) {
  static char path[160];
  snprintf(path, sizeof path, "%s/%s", place, name);
  return path;
}

static void put_file(const char *name, const void *p, size_t n) { check(cel_write_file(in_place(name), p, (int64_t)n, NULL) == CEL_OK); }

static void clean(void) { check(cel_store_delete_tree(place, NULL) == CEL_OK); }

static void make_place(void) {
  struct stat st;
  if (!place[0]) {
    snprintf(place, sizeof place, "%s/mlxcel-fuzz-XXXXXX", stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
    check(mkdtemp(place) != NULL && atexit(clean) == 0);
    return;
  }
  clean();
  check(mkdir(place, 0700) == 0);
}

// ---- tensors ----------------------------------------------------------------------------------------

typedef struct row {
  cel_str name;
  cel_dtype dtype;
  int rank;
  int64_t dims[RANK], offset, bytes;
} row;

typedef struct table {
  row rows[TENSORS_MOST];
  int n;
  int64_t bytes;
} table;

// The next piece up to `mark`, and the rest behind it.
static cel_str cut(cel_str *rest, char mark) {
  const char *p = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
  cel_str head = {rest->p, p ? (size_t)(p - rest->p) : rest->n};
  size_t step = p ? head.n + 1 : head.n;
  *rest = (cel_str){rest->p + step, rest->n - step};
  return head;
}

static int64_t number_of(cel_str s) {
  char text[24];
  snprintf(text, sizeof text, "%.*s", (int)CEL_MIN(s.n, (size_t)20), s.p);
  return strtoll(text, NULL, 10);
}

static bool dtype_of(cel_str word, cel_dtype *out) {
  for (int t = 0; t < CEL_DTYPE_COUNT; t++) {
    if (!cel_str_is(word, cel_dtype_of((cel_dtype)t)->name)) continue;
    *out = (cel_dtype)t;
    return true;
  }
  return false;
}

static bool read_row(cel_str line, row *r) {
  int64_t n = 1;
  r->name = cut(&line, ' ');
  if (!dtype_of(cut(&line, ' '), &r->dtype)) return false;
  for (r->rank = 0; line.n && r->rank < RANK; r->rank++) {
    int64_t d = r->dims[r->rank] = number_of(cut(&line, ' '));
    if (d < 0 || d > DATA_MOST || (n *= d) > DATA_MOST * 8) return false;
  }
  return cel_dtype_bytes(r->dtype, n, &r->bytes);
}

static void read_table(cel_str text, int64_t alignment, table *t) {
  t->n = 0;
  t->bytes = 0;
  while (text.n && t->n < TENSORS_MOST) {
    row *r = &t->rows[t->n];
    if (!read_row(cut(&text, '\n'), r) || t->bytes + r->bytes > DATA_MOST) continue;
    r->offset = t->bytes;
    t->bytes = (r->offset + r->bytes + alignment - 1) / alignment * alignment;
    t->n++;
  }
}

// Divisors of a rotation that both sides have words for.
static void add_rotation(cel_buf *b, int64_t n) {
  float divisors[256];
  const cel_rope r = {.type = CEL_ROPE_LLAMA3, .theta = 500000, .dims = (int)(n / 4 * 2), .factor = 8, .low_freq_factor = 1,
                      .high_freq_factor = 4, .original_max_position = 64};
  check(cel_rope_divisors(&r, divisors));
  cel_buf_add(b, (const char *)divisors, (size_t)n);
}

// Bytes that are finite numbers in every format, and differ.
static void add_data(cel_buf *b, const table *t) {
  size_t from = b->n;
  for (int i = 0; i < t->n; i++) {
    const row *r = &t->rows[i];
    while (b->n < from + (size_t)r->offset) cel_buf_addc(b, 0);
    if (cel_str_starts(r->name, CEL_STR("rope_f")) && r->dtype == CEL_DT_F32 && r->bytes <= 1024) add_rotation(b, r->bytes);
    else for (int64_t k = 0; k < r->bytes; k++) cel_buf_addc(b, (char)((uint32_t)(k + r->offset) * 40503u >> 7 & 0x3F));
  }
  while (b->n < from + (size_t)t->bytes) cel_buf_addc(b, 0);
}

// ---- the source -------------------------------------------------------------------------------------

static void put_word(cel_buf *b, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) cel_buf_addc(b, (char)(v >> 8 * i & 255));
}

static void make_safetensors(const table *t) {
  cel_buf head = {0}, file = {0};
  cel_buf_addc(&head, '{');
  for (int i = 0; i < t->n; i++) {
    const row *r = &t->rows[i];
    const char *word = cel_dtype_of(r->dtype)->safetensors;
    cel_buf_addz(&head, i ? "," : "");
    cel_json_add_string(&head, r->name);
    cel_buf_printf(&head, ":{\"dtype\":\"%s\",\"shape\":[", word ? word : "?");
    for (int k = 0; k < r->rank; k++) cel_buf_printf(&head, "%s%lld", k ? "," : "", (long long)r->dims[k]);
    cel_buf_printf(&head, "],\"data_offsets\":[%lld,%lld]}", (long long)r->offset, (long long)(r->offset + r->bytes));
  }
  cel_buf_addc(&head, '}');
  put_word(&file, head.n, 8);
  cel_buf_adds(&file, cel_buf_str(&head));
  add_data(&file, t);
  put_file("from/model.safetensors", file.p, file.n);
  cel_buf_deinit(&head);
  cel_buf_deinit(&file);
}

static void make_folder(cel_str rest, table *t) {
  static const char *const names[] = {"from/config.json", "from/tokenizer.json", "from/tokenizer_config.json"};
  check(mkdir(in_place("from"), 0700) == 0);
  for (int i = 0; i < CEL_COUNT(names); i++) {
    cel_str part = cut(&rest, 0);
    if (part.n) put_file(names[i], part.p, part.n);
  }
  read_table(rest, 1, t);
  make_safetensors(t);
}

// s: a text; S: texts with tabs between them; u, i, f, b: a number; I, F, B: numbers with tabs between them.
static void add_value(cel_gguf_head *h, cel_str line) {
  static cel_str texts[LIST_MOST];
  static int32_t ints[LIST_MOST];
  static float floats[LIST_MOST];
  static bool bools[LIST_MOST];
  cel_str type = cut(&line, ' '), name = cut(&line, ' ');
  char key[100], kind = type.n == 1 ? type.p[0] : 0;
  int n = 0;
  snprintf(key, sizeof key, "%.*s", (int)CEL_MIN(name.n, sizeof key - 1), name.p);
  if (kind == 's') cel_gguf_add_string(h, key, line);
  if (kind == 'u') cel_gguf_add_u32(h, key, (uint32_t)number_of(line));
  if (kind == 'i') cel_gguf_add_i32(h, key, (int32_t)number_of(line));
  if (kind == 'b') cel_gguf_add_bool(h, key, number_of(line) != 0);
  if (kind == 'f') cel_gguf_add_f32(h, key, (double)number_of(line) / 1e9);
  if (!strchr("SIFB", kind)) return;
  for (; line.n && n < LIST_MOST; n++) {
    texts[n] = cut(&line, '\t');
    ints[n] = (int32_t)number_of(texts[n]);
    floats[n] = (float)ints[n] / 1000;
    bools[n] = ints[n] != 0;
  }
  if (kind == 'S') cel_gguf_add_strings(h, key, texts, n);
  if (kind == 'I') cel_gguf_add_i32s(h, key, ints, n);
  if (kind == 'F') cel_gguf_add_f32s(h, key, floats, n);
  if (kind == 'B') cel_gguf_add_bools(h, key, bools, n);
}

static void add_info(cel_buf *b, const row *r) {
  put_word(b, r->name.n, 8);
  cel_buf_adds(b, r->name);
  put_word(b, (uint64_t)r->rank, 4);
  for (int k = r->rank - 1; k >= 0; k--) put_word(b, (uint64_t)r->dims[k], 8);
  put_word(b, (uint64_t)cel_dtype_of(r->dtype)->gguf_type, 4);
  put_word(b, (uint64_t)r->offset, 8);
}

static void make_gguf(cel_str rest, table *t) {
  cel_str values = cut(&rest, 0);
  cel_gguf_head h = {0};
  cel_buf b = {0};
  while (values.n) add_value(&h, cut(&values, '\n'));
  read_table(rest, 32, t);
  cel_buf_addz(&b, "GGUF");
  put_word(&b, 3, 4);
  put_word(&b, (uint64_t)t->n, 8);
  put_word(&b, (uint64_t)h.n, 8);
  cel_buf_adds(&b, cel_buf_str(&h.values));
  for (int i = 0; i < t->n; i++) add_info(&b, &t->rows[i]);
  while (b.n % 32) cel_buf_addc(&b, 0);
  add_data(&b, t);
  put_file("from.gguf", b.p, b.n);
  cel_gguf_head_deinit(&h);
  cel_buf_deinit(&b);
}

// ---- the conversion ---------------------------------------------------------------------------------

typedef struct job {
  bool from_gguf;
  cel_conversion_options o;
  cel_checkpoint *from;
  cel_arena arena;
  cel_json *json;           // tokenizer.json of a folder
  cel_gguf_vocab vocab;
  cel_buf words;            // the new tokenizer.json
  cel_extra_file file;
} job;

static void take_options(job *j, const uint8_t *p) {
  static const cel_dtype types[] = {CEL_DT_F32, CEL_DT_F16, CEL_DT_BF16};
  static const cel_scheme schemes[] = {
    {.kind = CEL_SCHEME_AFFINE, .bits = 4, .group = 32}, {.kind = CEL_SCHEME_AFFINE, .bits = 3, .group = 64}, {.kind = CEL_SCHEME_MICRO, .bits = 4, .group = 32},
    {.kind = CEL_SCHEME_MICRO, .bits = 8, .group = 32}, {.kind = CEL_SCHEME_MICRO, .bits = 4, .group = 16}};
  static const cel_dtype blocks[] = {CEL_DT_Q8_0, CEL_DT_Q4_0};
  bool gguf = p[1] % 2, quantize = p[3] % 2;
  j->from_gguf = p[0] % 2;
  j->o = (cel_conversion_options){.to = gguf ? CEL_FORMAT_GGUF : CEL_FORMAT_SAFETENSORS, .name = "fuzz", .dtype_given = p[2] % 4 > 0,
                                  .shard_bytes = p[3] % 3 ? 0 : 2000};
  if (j->o.dtype_given) j->o.dtype = types[p[2] % 4 - 1];
  j->o.scheme = (cel_scheme){.kind = j->o.dtype_given ? CEL_SCHEME_PLAIN : CEL_SCHEME_KEEP, .dtype = j->o.dtype};
  if (quantize && gguf) j->o.scheme = (cel_scheme){.kind = CEL_SCHEME_BLOCKS, .dtype = blocks[p[3] / 2 % CEL_COUNT(blocks)]};
  if (quantize && !gguf) j->o.scheme = schemes[p[3] / 2 % CEL_COUNT(schemes)];
}

// The tokenizer goes along, as mlxcel convert has it.
static cel_status pack(job *j, cel_err *err) {
  const cel_checkpoint *c = j->from;
  cel_arch a;
  const cel_tensor *embed = cel_checkpoint_find(c, "model.embed_tokens.weight");
  if (j->from_gguf == (j->o.to == CEL_FORMAT_GGUF)) return CEL_OK;
  if (j->from_gguf) {
    if (!c->gguf_vocab) return CEL_OK;
    CEL_TRY(cel_carry_to_json(c->gguf_vocab, "fuzz", &j->words, err));
    j->file = (cel_extra_file){"tokenizer.json", j->words.p, (int64_t)j->words.n};
    j->o.files = &j->file;
    j->o.n_files = 1;
    return CEL_OK;
  }
  if (!cel_is_file(in_place("from/tokenizer.json"))) return CEL_OK;
  CEL_TRY(cel_json_load(in_place("from/tokenizer.json"), 1 << 20, &j->json, err));
  CEL_TRY(cel_arch_from_config(c->config, c->generation_config, &j->arena, &a, err));
  cel_carry_source from = {.json = j->json, .config = c->tokenizer_config, .ends = a.eos, .n_ends = a.n_eos,
                           .n_tokens = embed && embed->rank == 2 ? embed->dims[0] : a.vocab, .name = "tokenizer.json"};
  CEL_TRY(cel_carry_to_gguf(&from, &j->arena, &j->vocab, NULL, NULL, err));
  j->o.vocab = &j->vocab;
  return CEL_OK;
}

static void encode_some(const cel_tokenizer *t) {
  int32_t *ids;
  int64_t n;
  cel_err err = {0};
  if (cel_encode(t, CEL_STR("a b <s> \xE6\xAD\xAA it's 12"), (cel_encode_options){true, true}, &ids, &n, &err) == CEL_OK) free(ids);
  else check(err.text[0] != 0);
  cel_tokenizer_free((cel_tokenizer *)(uintptr_t)t);
}

// Of what should be the same numbers, with another name and in another file.
static void compare_values(const cel_checkpoint *a, const cel_checkpoint *b) {
  static const char *const modules[] = {"model.embed_tokens", "model.layers.0.mlp.down_proj", "model.layers.0.self_attn.v_proj"};
  for (int i = 0; i < CEL_COUNT(modules); i++) {
    cel_weight x, y;
    if (cel_checkpoint_weight(a, modules[i], &x, NULL) != CEL_OK || x.mode) continue;
    check(cel_checkpoint_weight(b, modules[i], &y, NULL) == CEL_OK && x.rows == y.rows && x.cols == y.cols);
    float *p = malloc((size_t)x.cols * 2 * sizeof *p + 1), *q = p + x.cols;
    check(p != NULL);
    for (int64_t r = 0; r < x.rows; r++) {
      cel_weight_row(&x, r, p);
      cel_weight_row(&y, r, q);
      for (int64_t k = 0; k < x.cols; k++) check(p[k] == q[k] || p[k] != p[k]);
    }
    free(p);
  }
}

static void look_at(const job *j, const char *path) {
  cel_checkpoint *c;
  cel_tokenizer *t;
  cel_err err = {0};
  if (cel_checkpoint_open(path, &c, &err) != CEL_OK) {
    // Metadata that goes from GGUF to GGUF as it is may be as bad as it was.
    check(j->from_gguf && j->o.to == CEL_FORMAT_GGUF);
    return;
  }
  bool exact = j->o.scheme.kind == CEL_SCHEME_PLAIN && j->o.dtype == CEL_DT_F32;
  if (exact) compare_values(j->from, c);
  if (j->words.n) {
    cel_json *json;
    check(cel_json_parse(cel_buf_str(&j->words), "new", &json, &err) == CEL_OK);
    if (cel_tokenizer_from_json(json, c->tokenizer_config, "new", &t, &err) == CEL_OK) encode_some(t);
    cel_json_decref(json);
  }
  if (j->o.vocab) {
    check(c->gguf_vocab && c->gguf_vocab->n_tokens == j->vocab.n_tokens);
    if (cel_tokenizer_from_gguf(c->gguf_vocab, "new", &t, &err) == CEL_OK) encode_some(t);
  }
  cel_checkpoint_close(c);
}

static cel_status convert(job *j, cel_pool *pool, cel_err *err) {
  cel_conversion *v = NULL;
  char to[160];
  snprintf(to, sizeof to, "%s", in_place(j->o.to == CEL_FORMAT_GGUF ? "to.gguf" : "to"));
  CEL_TRY(cel_checkpoint_open(in_place(j->from_gguf ? "from.gguf" : "from"), &j->from, err));
  CEL_TRY(pack(j, err));
  cel_status s = cel_conversion_new(j->from, &j->o, &v, err);
  if (s == CEL_OK) s = cel_conversion_write(v, to, false, pool, NULL, err);
  if (s == CEL_OK) s = cel_conversion_commit(v, err);
  cel_conversion_free(v);
  if (s == CEL_OK) look_at(j, to);
  else check(!cel_is_file(to) && !cel_is_dir(to));
  return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static table tensors;
  static cel_pool *pool;  // of one: no threads
  job j = {0};
  cel_err err = {0};
  if (n < 4) return 0;
  if (!pool) check(cel_pool_new(1, &pool, NULL) == CEL_OK);
  make_place();
  take_options(&j, data);
  cel_arena_init(&j.arena);
  cel_str rest = {(const char *)data + 4, n - 4};
  if (j.from_gguf) make_gguf(rest, &tensors);
  else make_folder(rest, &tensors);
  cel_status s = convert(&j, pool, &err);
  if (s != CEL_OK) told(s, &err);
  cel_checkpoint_close(j.from);
  cel_json_decref(j.json);
  cel_buf_deinit(&j.words);
  cel_arena_deinit(&j.arena);
  return 0;
}
