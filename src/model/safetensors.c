#include "model/safetensors.h"

#include <stdlib.h>

#include "base/checked.h"
#include "model/names.h"
#include "model/widen.h"

enum { PREFIX = 8, MAX_HEADER = 100 * 1000 * 1000 };  // the reference reader's limit on headers

typedef struct span {
  int64_t begin, end;
  const char *name;  // the header's, borrowed from the JSON value
} span;

typedef struct reading {
  const char *file;
  const uint8_t *data;  // the tensors' part
  int64_t bytes;        // of it
  span *spans;
  int64_t n_spans;
  cel_tensor_list *out;
  cel_err *err;
} reading;

static cel_status bad(const reading *r, const char *name, const char *problem) {
  return cel_fail(r->err, CEL_MALFORMED, "%s: tensor \"%s\": %s", r->file, cel_show(cel_str_of(name)).text, problem);
}

static cel_status header_length(const uint8_t *data, int64_t bytes, const char *file, int64_t *length, cel_err *err) {
  if (bytes < PREFIX) {
    return cel_fail(err, CEL_MALFORMED, "%s: %lld bytes; a safetensors file starts with an 8-byte header length", file,
                    (long long)bytes);
  }
  uint64_t n = cel_load_u64(data);
  if (n > MAX_HEADER) {
    return cel_fail(err, CEL_MALFORMED, "%s: header length %llu; at most %d are read", file, (unsigned long long)n,
                    (int)MAX_HEADER);
  }
  if ((int64_t)n > bytes - PREFIX) {
    return cel_fail(err, CEL_MALFORMED, "%s: header length %llu, but the file has only %lld bytes after it (cut off?)",
                    file, (unsigned long long)n, (long long)(bytes - PREFIX));
  }
  if (n < 2 || data[PREFIX] != '{') {
    return cel_fail(err, CEL_MALFORMED, "%s: the header (%llu bytes) does not start with '{'", file,
                    (unsigned long long)n);
  }
  *length = (int64_t)n;
  return CEL_OK;
}

static cel_status read_dtype(const reading *r, const char *name, const cel_json *entry, cel_dtype *dtype) {
  const cel_json *v = cel_json_object_get(entry, "dtype");
  if (!cel_json_is_string(v)) return bad(r, name, "dtype is missing or not a string");
  if (cel_dtype_by_safetensors(cel_json_string_value(v), dtype)) return CEL_OK;
  return cel_fail(r->err, CEL_UNSUPPORTED, "%s: tensor \"%s\": dtype \"%s\" is not known (F64 F32 F16 BF16 F8_E4M3 "
                  "F8_E5M2, I and U 8 to 64, BOOL are)", r->file, cel_show(cel_str_of(name)).text,
                  cel_show(cel_str_of(cel_json_string_value(v))).text);
}

static cel_status read_shape(const reading *r, const char *name, const cel_json *entry, cel_tensor *t) {
  const cel_json *v = cel_json_object_get(entry, "shape");
  if (!cel_json_is_array(v)) return bad(r, name, "shape is missing or not a list");
  size_t rank = cel_json_array_size(v);
  if (rank > CEL_TENSOR_MAX_RANK) {
    return cel_fail(r->err, CEL_UNSUPPORTED, "%s: tensor \"%s\": shape has %zu dimensions, at most %d are read", r->file,
                    cel_show(cel_str_of(name)).text, rank, (int)CEL_TENSOR_MAX_RANK);
  }
  int64_t n = 1;
  t->rank = (int)rank;
  for (size_t i = 0; i < rank; i++) {
    const cel_json *d = cel_json_array_get(v, i);
    if (!cel_json_is_integer(d) || cel_json_integer_value(d) < 0) return bad(r, name, "shape holds something other than sizes");
    t->dims[i] = cel_json_integer_value(d);
    if (!cel_mul_i64(n, t->dims[i], &n)) return bad(r, name, "the product of shape is too large");
  }
  if (!cel_dtype_bytes(t->dtype, n, &t->bytes)) return bad(r, name, "the size in bytes is too large");
  return CEL_OK;
}

static cel_status read_offsets(const reading *r, const char *name, const cel_json *entry, span *s) {
  const cel_json *v = cel_json_object_get(entry, "data_offsets");
  const cel_json *b = cel_json_array_get(v, 0), *e = cel_json_array_get(v, 1);
  if (cel_json_array_size(v) != 2 || !cel_json_is_integer(b) || !cel_json_is_integer(e)) {
    return bad(r, name, "data_offsets is not a list of two integers");
  }
  *s = (span){cel_json_integer_value(b), cel_json_integer_value(e), name};
  if (s->begin >= 0 && s->begin <= s->end && s->end <= r->bytes) return CEL_OK;
  return cel_fail(r->err, CEL_MALFORMED, "%s: tensor \"%s\": data_offsets [%lld, %lld] do not lie in the file's %lld data "
                  "bytes", r->file, cel_show(cel_str_of(name)).text, (long long)s->begin, (long long)s->end,
                  (long long)r->bytes);
}

static cel_status read_entry(reading *r, const char *name, const cel_json *entry) {
  cel_tensor t = {.file = r->file};
  span *s = &r->spans[r->n_spans];
  cel_str head, tail;
  if (!cel_json_is_object(entry)) return bad(r, name, "its header entry is not an object");
  CEL_TRY(read_dtype(r, name, entry, &t.dtype));
  CEL_TRY(read_offsets(r, name, entry, s));
  r->n_spans++;
  if (!cel_name_from_hf(cel_str_of(name), &head, &tail)) return CEL_OK;
  CEL_TRY(read_shape(r, name, entry, &t));
  if (t.bytes != s->end - s->begin) {
    return cel_fail(r->err, CEL_MALFORMED, "%s: tensor \"%s\": %s %s takes %lld bytes, data_offsets give %lld", r->file,
                    cel_show(cel_str_of(name)).text, cel_dtype_of(t.dtype)->name, cel_show_dims(t.dims, t.rank).text,
                    (long long)t.bytes, (long long)(s->end - s->begin));
  }
  t.data = r->data + s->begin;
  return cel_tensor_list_add(r->out, &t, head, tail, r->err);
}

static cel_status read_metadata(const reading *r, const cel_json *v) {
  size_t i;
  cel_str key;
  cel_json *item;
  if (!cel_json_is_object(v)) return cel_fail(r->err, CEL_MALFORMED, "%s: __metadata__ is not an object", r->file);
  cel_json_object_foreach(v, i, key, item) {
    if (cel_json_is_string(item)) continue;
    return cel_fail(r->err, CEL_MALFORMED, "%s: __metadata__ \"%s\" is not a string", r->file, cel_show(key).text);
  }
  return CEL_OK;
}

static int by_place(const void *a, const void *b) {
  const span *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

// Sorted by place, every range must start where the one before ended, and the last end with the file.
static cel_status check_cover(const reading *r) {
  int64_t at = 0;
  if (r->n_spans) qsort(r->spans, (size_t)r->n_spans, sizeof *r->spans, by_place);
  for (int64_t i = 0; i < r->n_spans; i++) {
    const span *s = &r->spans[i];
    if (s->begin != at) {
      return cel_fail(r->err, CEL_MALFORMED, "%s: tensor \"%s\": data_offsets start at %lld, %s the tensor before ends at "
                      "%lld", r->file, cel_show(cel_str_of(s->name)).text, (long long)s->begin,
                      s->begin < at ? "overlapping:" : "leaving a gap:", (long long)at);
    }
    at = s->end;
  }
  if (at == r->bytes) return CEL_OK;
  return cel_fail(r->err, CEL_MALFORMED, "%s: tensors end at data byte %lld, the file at %lld", r->file, (long long)at,
                  (long long)r->bytes);
}

static cel_status read_header(reading *r, const cel_json *header) {
  size_t i;
  cel_str name;
  cel_json *entry;
  cel_json_object_foreach(header, i, name, entry) {
    if (memchr(name.p, 0, name.n)) {
      return cel_fail(r->err, CEL_MALFORMED, "%s: tensor \"%s\": a name with a NUL byte inside", r->file, cel_show(name).text);
    }
    CEL_TRY(cel_str_is(name, "__metadata__") ? read_metadata(r, entry) : read_entry(r, name.p, entry));
  }
  return check_cover(r);
}

cel_status cel_safetensors_read(const uint8_t *data, int64_t bytes, const char *file, cel_tensor_list *out,
                                cel_err *err) {
  int64_t length = 0;
  cel_json *header;
  CEL_TRY(header_length(data, bytes, file, &length, err));
  cel_status status = cel_json_parse((cel_str){(const char *)data + PREFIX, (size_t)length}, "header", &header, err);
  if (status != CEL_OK) return cel_err_prefix(err, "%s", file), status;
  reading r = {.file = file, .data = data + PREFIX + length, .bytes = bytes - PREFIX - length, .out = out, .err = err};
  r.spans = malloc((cel_json_object_size(header) + 1) * sizeof *r.spans);
  if (!cel_json_is_object(header)) {
    status = cel_fail(err, CEL_MALFORMED, "%s: the header is not a JSON object", file);
  } else if (!r.spans) {
    status = cel_fail_oom(err, file);
  } else {
    status = read_header(&r, header);
  }
  free(r.spans);
  cel_json_decref(header);
  return status;
}
