// Tiny checkpoints made in tests: bytes of GGUF and safetensors files, folders that vanish again.
#ifndef TESTS_UNIT_MODEL_FILES_H
#define TESTS_UNIT_MODEL_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/half.h"
#include "base/str.h"

// ---- bytes ----------------------------------------------------------------------------------------

static inline void put_bytes(cel_buf *b, uint64_t v, int n) {
  for (int i = 0; i < n; i++) cel_buf_addc(b, (char)(v >> 8 * i & 255));
}
static inline void put_u32(cel_buf *b, uint32_t v) { put_bytes(b, v, 4); }
static inline void put_u64(cel_buf *b, uint64_t v) { put_bytes(b, v, 8); }
static inline void put_text(cel_buf *b, const char *s) {
  put_u64(b, strlen(s));
  cel_buf_addz(b, s);
}
static inline void put_zeros(cel_buf *b, size_t n) {
  for (size_t i = 0; i < n; i++) cel_buf_addc(b, 0);
}
static inline void patch_u32(cel_buf *b, size_t at, uint32_t v) {
  for (int i = 0; i < 4; i++) b->p[at + (size_t)i] = (char)(v >> 8 * i & 255);
}
static inline void patch_u64(cel_buf *b, size_t at, uint64_t v) {
  patch_u32(b, at, (uint32_t)v);
  patch_u32(b, at + 4, (uint32_t)(v >> 32));
}

// ---- GGUF -----------------------------------------------------------------------------------------

typedef struct gguf_maker {
  cel_buf values, infos, data;
  int64_t n_values, n_tensors;
} gguf_maker;

static inline void kv(gguf_maker *m, const char *key, uint32_t type) {
  put_text(&m->values, key);
  put_u32(&m->values, type);
  m->n_values++;
}
static inline void kv_u32(gguf_maker *m, const char *key, uint32_t v) { kv(m, key, 4); put_u32(&m->values, v); }
static inline void kv_f32(gguf_maker *m, const char *key, float v) { kv(m, key, 6); put_u32(&m->values, cel_f32_bits(v)); }
static inline void kv_bool(gguf_maker *m, const char *key, int v) { kv(m, key, 7); cel_buf_addc(&m->values, (char)v); }
static inline void kv_text(gguf_maker *m, const char *key, const char *v) { kv(m, key, 8); put_text(&m->values, v); }
static inline void kv_array(gguf_maker *m, const char *key, uint32_t item_type, uint64_t n) {
  kv(m, key, 9);
  put_u32(&m->values, item_type);
  put_u64(&m->values, n);
}
static inline void kv_texts(gguf_maker *m, const char *key, const char *const *texts, int n) {
  kv_array(m, key, 8, (uint64_t)n);
  for (int i = 0; i < n; i++) put_text(&m->values, texts[i]);
}
// A tensor of ggml type `type`, dims innermost first (0: none), `bytes` of zeros.
static inline void tensor_of(gguf_maker *m, const char *name, uint32_t type, uint64_t d0, uint64_t d1, size_t bytes) {
  put_text(&m->infos, name);
  put_u32(&m->infos, d1 ? 2 : 1);
  put_u64(&m->infos, d0);
  if (d1) put_u64(&m->infos, d1);
  put_u32(&m->infos, type);
  put_u64(&m->infos, m->data.n);
  put_zeros(&m->data, (bytes + 31) / 32 * 32);
  m->n_tensors++;
}
static inline void tensor_f32(gguf_maker *m, const char *name, uint64_t d0, uint64_t d1) {
  tensor_of(m, name, 0, d0, d1, (size_t)(d0 * (d1 ? d1 : 1) * 4));
}
static inline cel_buf gguf_done(gguf_maker *m) {
  cel_buf b = {0};
  cel_buf_addz(&b, "GGUF");
  put_u32(&b, 3);
  put_u64(&b, (uint64_t)m->n_tensors);
  put_u64(&b, (uint64_t)m->n_values);
  cel_buf_adds(&b, cel_buf_str(&m->values));
  cel_buf_adds(&b, cel_buf_str(&m->infos));
  put_zeros(&b, (32 - b.n % 32) % 32);
  cel_buf_adds(&b, cel_buf_str(&m->data));
  cel_buf_deinit(&m->values);
  cel_buf_deinit(&m->infos);
  cel_buf_deinit(&m->data);
  assert_false(b.failed);
  return b;
}

// ---- safetensors ----------------------------------------------------------------------------------

// Header text, then `data` zero bytes.
static inline cel_buf safetensors_of(const char *header, size_t data) {
  cel_buf b = {0};
  put_text(&b, header);
  put_zeros(&b, data);
  assert_false(b.failed);
  return b;
}

// ---- folders --------------------------------------------------------------------------------------

typedef struct folder { char path[200]; } folder;

static inline folder folder_new(void) {
  folder f;
  const char *base = getenv("TMPDIR");
  snprintf(f.path, sizeof f.path, "%s/cel_model_XXXXXX", base && strlen(base) < 150 ? base : "/tmp");
  assert_non_null(mkdtemp(f.path));
  return f;
}
static inline const char *in_folder(const folder *f, const char *name) {
  static char path[400];
  snprintf(path, sizeof path, "%s/%s", f->path, name);
  return path;
}
static inline void add_bytes(const folder *f, const char *name, cel_buf *b) {
  assert_int_equal(cel_write_file(in_folder(f, name), b->p ? b->p : "", (int64_t)b->n, NULL), CEL_OK);
  cel_buf_deinit(b);
}
static inline void add_text(const folder *f, const char *name, const char *text) {
  assert_int_equal(cel_write_file(in_folder(f, name), text, (int64_t)strlen(text), NULL), CEL_OK);
}
static inline void folder_remove(folder *f) {
  char command[300];
  snprintf(command, sizeof command, "rm -rf '%s'", f->path);
  assert_int_equal(system(command), 0);
}

// ---- messages -------------------------------------------------------------------------------------

// Every one of the NULL-ended parts is in the text, which is one line.
static inline void assert_says(const char *text, ...) {
  va_list parts;
  const char *part;
  va_start(parts, text);
  while ((part = va_arg(parts, const char *))) {
    if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
  }
  va_end(parts);
  assert_null(strchr(text, '\n'));
}

#endif
