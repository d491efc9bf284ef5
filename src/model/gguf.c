#include "model/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "model/tensor_list.h"
#include "model/widen.h"

enum {
  MAGIC_BYTES = 4,
  MIN_VALUE_BYTES = 8 + 4 + 1,           // key length, type, the shortest value
  MIN_TENSOR_BYTES = 8 + 4 + 8 + 4 + 8,  // name length, rank, one dimension, type, offset
  MAX_NESTING = 8,                       // arrays in arrays
  DEFAULT_ALIGNMENT = 32,
  MAX_ALIGNMENT = 1 << 20,
};

// A place in the file; `where` says what is being read, for messages.
typedef struct cursor {
  const uint8_t *data;
  int64_t at, bytes;
  const char *file;
  cel_err *err;
  char where[200];
} cursor;

static cel_status fail(cursor *c, const char *field, uint64_t value, const char *problem) {
  return cel_fail(c->err, CEL_MALFORMED, "%s: %s: %s %llu %s", c->file, c->where, field, (unsigned long long)value,
                  problem);
}

static int64_t left(const cursor *c) { return c->bytes - c->at; }

static cel_status need(cursor *c, int64_t bytes, const char *field) {
  if (bytes <= left(c)) return CEL_OK;
  return cel_fail(c->err, CEL_MALFORMED, "%s: %s: the file ends (at byte %lld) in its %s: cut off?", c->file, c->where,
                  (long long)c->bytes, field);
}

static cel_status read_u32(cursor *c, const char *field, uint32_t *out) {
  CEL_TRY(need(c, 4, field));
  *out = cel_load_u32(c->data + c->at);
  c->at += 4;
  return CEL_OK;
}

static cel_status read_u64(cursor *c, const char *field, uint64_t *out) {
  CEL_TRY(need(c, 8, field));
  *out = cel_load_u64(c->data + c->at);
  c->at += 8;
  return CEL_OK;
}

static cel_status read_string(cursor *c, const char *field, cel_str *out) {
  uint64_t n;
  CEL_TRY(read_u64(c, field, &n));
  if (n > (uint64_t)left(c)) return fail(c, field, n, "is more than the rest of the file");
  *out = (cel_str){(const char *)c->data + c->at, (size_t)n};
  c->at += (int64_t)n;
  return CEL_OK;
}

// ---- metadata -------------------------------------------------------------------------------------

static cel_status read_type(cursor *c, const char *field, cel_gguf_type *out) {
  uint32_t type;
  CEL_TRY(read_u32(c, field, &type));
  if (type >= CEL_GGUF_TYPES) return fail(c, field, type, "is not a value type (0 to 12)");
  *out = (cel_gguf_type)type;
  return CEL_OK;
}

static cel_status skip_bools(cursor *c, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (c->data[c->at + i] > 1) return fail(c, "value", c->data[c->at + i], "is not a boolean (0 or 1)");
  }
  c->at += n;
  return CEL_OK;
}

// Moves behind `n` values of one type.
static cel_status skip_items(cursor *c, cel_gguf_type type, uint64_t n, int depth) {
  int size = cel_gguf_type_bytes(type), least = size ? size : type == CEL_GGUF_STRING ? 8 : 12;
  if (n > (uint64_t)left(c) / (uint64_t)least) return fail(c, "item count", n, "is more than the file has bytes for");
  if (type == CEL_GGUF_BOOL) return skip_bools(c, (int64_t)n);
  if (size) {
    c->at += (int64_t)n * size;
    return CEL_OK;
  }
  for (uint64_t i = 0; i < n; i++) {
    if (type == CEL_GGUF_STRING) {
      cel_str s;
      CEL_TRY(read_string(c, "string length", &s));
      continue;
    }
    cel_gguf_type inner;
    uint64_t count;
    if (depth >= MAX_NESTING) return fail(c, "arrays nested more than", MAX_NESTING, "deep are not read");
    CEL_TRY(read_type(c, "array item type", &inner));
    CEL_TRY(read_u64(c, "item count", &count));
    CEL_TRY(skip_items(c, inner, count, depth + 1));
  }
  return CEL_OK;
}

static cel_status read_value(cursor *c, cel_gguf_value *v) {
  *v = (cel_gguf_value){.count = 1};
  CEL_TRY(read_string(c, "key length", &v->key));
  if (v->key.n == 0 || v->key.n > 65535) return fail(c, "key length", v->key.n, "is not 1 to 65535");
  snprintf(c->where, sizeof c->where, "metadata \"%s\"", cel_show(v->key).text);
  CEL_TRY(read_type(c, "value type", &v->type));
  if (v->type != CEL_GGUF_ARRAY) {
    v->at = c->data + c->at;
    return skip_items(c, v->type, 1, 0);
  }
  uint64_t count;
  CEL_TRY(read_type(c, "array item type", &v->item_type));
  CEL_TRY(read_u64(c, "item count", &count));
  v->at = c->data + c->at;
  CEL_TRY(skip_items(c, v->item_type, count, 1));
  v->count = (int64_t)count;
  return CEL_OK;
}

static int compare_keys(cel_str a, cel_str b) {
  int order = memcmp(a.p, b.p, CEL_MIN(a.n, b.n));
  return order ? order : a.n < b.n ? -1 : a.n > b.n;
}

static int by_key(const void *a, const void *b) {
  return compare_keys(((const cel_gguf_value *)a)->key, ((const cel_gguf_value *)b)->key);
}

// Copies a malloc'ed list into the arena (one spare element, so that an empty list is no NULL).
static cel_status keep(cel_arena *arena, const void *items, int64_t n, size_t size, const void **out, cel_err *err) {
  void *p = cel_arena_array(arena, (size_t)n + 1, size);
  if (!p) return cel_fail_oom(err, "a GGUF header");
  if (n) memcpy(p, items, (size_t)n * size);
  *out = p;
  return CEL_OK;
}

static cel_status read_values_into(cursor *c, uint64_t n, cel_gguf_value **list) {
  int64_t cap = 0;
  for (int64_t i = 0; i < (int64_t)n; i++) {
    void *items = *list;
    if (!cel_grow(&items, i, &cap, sizeof **list)) return cel_fail_oom(c->err, "GGUF metadata");
    *list = items;
    snprintf(c->where, sizeof c->where, "metadata entry %lld of %lld", (long long)i + 1, (long long)n);
    CEL_TRY(read_value(c, &(*list)[i]));
  }
  if (n) qsort(*list, (size_t)n, sizeof **list, by_key);
  for (uint64_t i = 1; i < n; i++) {
    if (!cel_str_eq((*list)[i - 1].key, (*list)[i].key)) continue;
    return cel_fail(c->err, CEL_MALFORMED, "%s: metadata \"%s\" is there twice", c->file, cel_show((*list)[i].key).text);
  }
  return CEL_OK;
}

static cel_status read_values(cursor *c, uint64_t n, cel_arena *arena, cel_gguf *g) {
  cel_gguf_value *list = NULL;
  const void *kept = NULL;
  if (n > (uint64_t)left(c) / MIN_VALUE_BYTES) return fail(c, "metadata_kv_count", n, "is more than the file can hold");
  cel_status status = read_values_into(c, n, &list);
  if (status == CEL_OK) status = keep(arena, list, (int64_t)n, sizeof *list, &kept, c->err);
  free(list);
  if (status != CEL_OK) return status;
  g->values = kept;
  g->n_values = (int64_t)n;
  return CEL_OK;
}

// ---- tensors --------------------------------------------------------------------------------------

static const char *const type_names[] = {  // ggml's, for refusals; NULL: removed or never given
  "F32", "F16", "Q4_0", "Q4_1", "Q4_2", "Q4_3", "Q5_0", "Q5_1", "Q8_0", "Q8_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
  "Q8_K", "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8", "I16", "I32", "I64",
  "F64", "IQ1_M", "BF16", "Q4_0_4_4", "Q4_0_4_8", "Q4_0_8_8", "TQ1_0", "TQ2_0", "IQ4_NL_4_4", "IQ4_NL_4_8",
  "IQ4_NL_8_8", "MXFP4", "NVFP4", "Q1_0",
};

static cel_status read_tensor_type(cursor *c, cel_dtype *out) {
  uint32_t type;
  CEL_TRY(read_u32(c, "type", &type));
  if (type <= INT32_MAX && cel_dtype_by_gguf((int)type, out)) return CEL_OK;
  const char *name = type < CEL_COUNT(type_names) ? type_names[type] : "unknown";
  cel_buf known = {0};
  for (int i = 0; i < CEL_DTYPE_COUNT; i++) {
    const cel_dtype_traits *t = cel_dtype_of((cel_dtype)i);
    if (t->gguf_type >= 0) cel_buf_printf(&known, " %s", t->name);
  }
  cel_status s = cel_fail(c->err, CEL_UNSUPPORTED, "%s: %s: type %u (%s) is not supported; these are:%s", c->file,
                          c->where, type, name, known.p ? known.p : "");
  cel_buf_deinit(&known);
  return s;
}

static cel_status read_dims(cursor *c, cel_gguf_tensor *t, int64_t *elements) {
  uint32_t rank;
  CEL_TRY(read_u32(c, "n_dims", &rank));
  if (rank < 1 || rank > CEL_GGUF_MAX_RANK) return fail(c, "n_dims", rank, "is not 1 to 4");
  t->rank = (int)rank;
  *elements = 1;
  for (int i = 0; i < t->rank; i++) {
    uint64_t d;
    CEL_TRY(read_u64(c, "dimensions", &d));
    if (d == 0 || d > INT64_MAX) return fail(c, "dimension", d, "is not a positive 63-bit number");
    t->dims[i] = (int64_t)d;
    if (!cel_mul_i64(*elements, t->dims[i], elements)) return fail(c, "dimension", d, "makes the tensor too large");
  }
  return CEL_OK;
}

// The offset is still relative to the data part here.
static cel_status read_tensor(cursor *c, int64_t alignment, cel_gguf_tensor *t) {
  int64_t elements = 0;
  uint64_t offset;
  *t = (cel_gguf_tensor){0};
  CEL_TRY(read_string(c, "name length", &t->name));
  if (t->name.n == 0 || memchr(t->name.p, 0, t->name.n)) return fail(c, "name length", t->name.n, "(empty, or with NUL)");
  snprintf(c->where, sizeof c->where, "tensor \"%s\"", cel_show(t->name).text);
  if (!cel_utf8_valid(t->name.p, t->name.n)) return fail(c, "name length", t->name.n, "(not UTF-8)");
  CEL_TRY(read_dims(c, t, &elements));
  CEL_TRY(read_tensor_type(c, &t->dtype));
  const cel_dtype_traits *traits = cel_dtype_of(t->dtype);
  if (t->dims[0] % traits->block != 0) {
    return cel_fail(c->err, CEL_MALFORMED, "%s: %s: rows of %lld elements are not whole %s blocks of %d", c->file,
                    c->where, (long long)t->dims[0], traits->name, traits->block);
  }
  if (!cel_dtype_bytes(t->dtype, elements, &t->bytes)) return fail(c, "elements", (uint64_t)elements, "are too many");
  CEL_TRY(read_u64(c, "offset", &offset));
  if (offset > INT64_MAX) return fail(c, "offset", offset, "lies outside the file");
  if (offset % (uint64_t)alignment != 0) return fail(c, "offset", offset, "is not a multiple of general.alignment");
  t->offset = (int64_t)offset;
  return CEL_OK;
}

static cel_status place_tensors(cursor *c, int64_t start, cel_gguf_tensor *t, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t end, relative = t[i].offset;
    if (cel_add_i64(relative, start, &t[i].offset) && cel_add_i64(t[i].offset, t[i].bytes, &end) && end <= c->bytes) {
      continue;
    }
    return cel_fail(c->err, CEL_MALFORMED, "%s: tensor \"%s\": offset %lld and %lld bytes, counted from data byte %lld, "
                    "end behind the file's %lld bytes: cut off?", c->file, cel_show(t[i].name).text, (long long)relative,
                    (long long)t[i].bytes, (long long)start, (long long)c->bytes);
  }
  return CEL_OK;
}

static int by_offset(const void *a, const void *b) {
  const cel_gguf_tensor *x = *(const cel_gguf_tensor *const *)a, *y = *(const cel_gguf_tensor *const *)b;
  return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static cel_status refuse_overlap(cursor *c, const cel_gguf_tensor *t, int64_t n) {
  const cel_gguf_tensor **order = malloc(((size_t)n + 1) * sizeof *order);
  cel_status status = CEL_OK;
  if (!order) return cel_fail_oom(c->err, "a list of tensors");
  for (int64_t i = 0; i < n; i++) order[i] = &t[i];
  if (n) qsort(order, (size_t)n, sizeof *order, by_offset);
  for (int64_t i = 1; i < n && status == CEL_OK; i++) {
    const cel_gguf_tensor *a = order[i - 1], *b = order[i];
    if (a->offset + a->bytes <= b->offset) continue;
    status = cel_fail(c->err, CEL_MALFORMED, "%s: tensor \"%s\" (offset %lld, %lld bytes) overlaps tensor \"%s\" (offset "
                      "%lld)", c->file, cel_show(a->name).text, (long long)a->offset, (long long)a->bytes,
                      cel_show(b->name).text, (long long)b->offset);
  }
  free(order);
  return status;
}

static cel_status read_tensors_into(cursor *c, int64_t n, int64_t alignment, cel_gguf_tensor **list) {
  int64_t cap = 0, start;
  for (int64_t i = 0; i < n; i++) {
    void *items = *list;
    if (!cel_grow(&items, i, &cap, sizeof **list)) return cel_fail_oom(c->err, "GGUF tensor infos");
    *list = items;
    snprintf(c->where, sizeof c->where, "tensor %lld of %lld", (long long)i + 1, (long long)n);
    CEL_TRY(read_tensor(c, alignment, &(*list)[i]));
  }
  snprintf(c->where, sizeof c->where, "header");
  if (n == 0) return CEL_OK;
  if (!cel_align_i64(c->at, alignment, &start) || start > c->bytes) return need(c, left(c) + 1, "padding before the data");
  CEL_TRY(place_tensors(c, start, *list, n));
  return refuse_overlap(c, *list, n);
}

static cel_status read_tensors(cursor *c, uint64_t n, int64_t alignment, cel_arena *arena, cel_gguf *g) {
  cel_gguf_tensor *list = NULL;
  const void *kept = NULL;
  cel_status status = read_tensors_into(c, (int64_t)n, alignment, &list);
  if (status == CEL_OK) status = keep(arena, list, (int64_t)n, sizeof *list, &kept, c->err);
  free(list);
  if (status != CEL_OK) return status;
  g->tensors = kept;
  g->n_tensors = (int64_t)n;
  return CEL_OK;
}

// ---- header ---------------------------------------------------------------------------------------

static cel_status read_version(cursor *c, cel_gguf *g) {
  uint32_t version;
  CEL_TRY(need(c, MAGIC_BYTES, "magic \"GGUF\""));
  if (memcmp(c->data, "GGUF", MAGIC_BYTES) != 0) {
    return cel_fail(c->err, CEL_MALFORMED, "%s: not a GGUF file: it starts with \"%s\", not \"GGUF\"", c->file,
                    cel_show((cel_str){(const char *)c->data, MAGIC_BYTES}).text);
  }
  c->at = MAGIC_BYTES;
  CEL_TRY(read_u32(c, "version", &version));
  if (version != 0 && (version & 0xFFFF) == 0) {
    return cel_fail(c->err, CEL_UNSUPPORTED, "%s: a big-endian GGUF file (version word %u); little-endian files are read",
                    c->file, version);
  }
  if (version != 2 && version != 3) {
    return cel_fail(c->err, CEL_UNSUPPORTED, "%s: GGUF version %u; versions 2 and 3 are read", c->file, version);
  }
  g->version = (int)version;
  return CEL_OK;
}

static cel_status read_alignment(const cel_gguf *g, int64_t *out, cel_err *err) {
  *out = DEFAULT_ALIGNMENT;
  CEL_TRY(cel_gguf_int(g, "general.alignment", out, NULL, err));
  if (*out > 0 && *out <= MAX_ALIGNMENT && (*out & (*out - 1)) == 0) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: general.alignment %lld is not a power of two up to %d", g->file,
                  (long long)*out, (int)MAX_ALIGNMENT);
}

cel_status cel_gguf_read(const uint8_t *data, int64_t bytes, const char *file, cel_arena *arena, cel_gguf *out,
                         cel_err *err) {
  cursor c = {.data = data, .bytes = bytes, .file = file, .err = err, .where = "header"};
  uint64_t n_tensors, n_values;
  int64_t alignment;
  *out = (cel_gguf){.file = file, .data = data};
  CEL_TRY(read_version(&c, out));
  CEL_TRY(read_u64(&c, "tensor_count", &n_tensors));
  CEL_TRY(read_u64(&c, "metadata_kv_count", &n_values));
  if (n_tensors > (uint64_t)left(&c) / MIN_TENSOR_BYTES) {
    return fail(&c, "tensor_count", n_tensors, "is more than the file can hold");
  }
  CEL_TRY(read_values(&c, n_values, arena, out));
  CEL_TRY(read_alignment(out, &alignment, err));
  return read_tensors(&c, n_tensors, alignment, arena, out);
}
