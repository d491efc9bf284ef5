#include "model/write/safetensors_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/json.h"
#include "base/macros.h"

enum { PREFIX = 8 };

// ---- which piece goes where ---------------------------------------------------------------------------

static int64_t bytes_of(const cel_move *m) {
  int64_t n = 0;
  for (int k = 0; k < m->n_pieces; k++) n += m->pieces[k].bytes;
  return n;
}

static void choose_files(cel_write_plan *p, int64_t shard_bytes) {
  int64_t held = 0;
  int file = 0;
  for (int64_t i = 0; i < p->n; i++) {
    int64_t bytes = bytes_of(&p->moves[i]);
    if (held > 0 && held > shard_bytes - bytes) {
      file++;
      held = 0;
    }
    held += bytes;
    for (int k = 0; k < p->moves[i].n_pieces; k++) p->moves[i].pieces[k].file = file;
  }
  p->n_files = file + 1;
}

// Wider types first: so every tensor starts at a multiple of its element, although the format knows no padding.
static int by_place(const void *a, const void *b) {
  const cel_piece *x = *(cel_piece *const *)a, *y = *(cel_piece *const *)b;
  int wx = cel_dtype_of(x->dtype)->block_bytes, wy = cel_dtype_of(y->dtype)->block_bytes;
  if (x->file != y->file) return x->file < y->file ? -1 : 1;
  if (wx != wy) return wx > wy ? -1 : 1;
  return strcmp(x->name, y->name);
}

static cel_status order_pieces(cel_write_plan *p, cel_piece ***out, int64_t *n, cel_err *err) {
  cel_piece **list = malloc(((size_t)p->n * CEL_MOVE_PIECES + 1) * sizeof *list);
  if (!list) return cel_fail_oom(err, "a list of tensors");
  *n = 0;
  for (int64_t i = 0; i < p->n; i++) {
    for (int k = 0; k < p->moves[i].n_pieces; k++) list[(*n)++] = &p->moves[i].pieces[k];
  }
  if (*n) qsort(list, (size_t)*n, sizeof *list, by_place);
  *out = list;
  return CEL_OK;
}

static cel_status set_offsets(cel_write_plan *p, cel_piece **list, int64_t n, cel_err *err) {
  p->file_data = calloc((size_t)p->n_files, sizeof *p->file_data);
  if (!p->file_data) return cel_fail_oom(err, "a list of files");
  for (int64_t i = 0; i < n; i++) {
    int64_t *end = &p->file_data[list[i]->file];
    list[i]->offset = *end;
    if (!cel_add_i64(*end, list[i]->bytes, end)) return cel_fail(err, CEL_UNSUPPORTED, "more bytes than a file can have");
  }
  return CEL_OK;
}

// ---- headers --------------------------------------------------------------------------------------------

static void add_entry(cel_buf *b, const cel_piece *p) {
  cel_buf_addc(b, ',');
  cel_json_add_string(b, cel_str_of(p->name));
  cel_buf_printf(b, ":{\"dtype\":\"%s\",\"shape\":[", cel_dtype_of(p->dtype)->safetensors);
  for (int i = 0; i < p->rank; i++) cel_buf_printf(b, "%s%lld", i ? "," : "", (long long)p->dims[i]);
  cel_buf_printf(b, "],\"data_offsets\":[%lld,%lld]}", (long long)p->offset, (long long)(p->offset + p->bytes));
}

static void make_header(cel_buf *b, cel_piece *const *list, int64_t n, const char *format) {
  cel_buf_printf(b, "{\"__metadata__\":{\"format\":\"%s\"}", format);
  for (int64_t i = 0; i < n; i++) add_entry(b, list[i]);
  cel_buf_addc(b, '}');
  while (b->n % 8 != 0 && !b->failed) cel_buf_addc(b, ' ');  // data begins at a multiple of 8
}

static const char *file_name(const cel_write_plan *p, int file, char out[64]) {
  if (p->n_files == 1) return "model.safetensors";
  snprintf(out, 64, "model-%05d-of-%05d.safetensors", file + 1, p->n_files);
  return out;
}

static cel_status write_header(const cel_write_plan *p, cel_out *out, int file, const cel_buf *header, int *index, cel_err *err) {
  char name[64];
  uint8_t length[PREFIX];
  int64_t bytes;
  if (header->failed) return cel_fail_oom(err, "a header");
  for (int i = 0; i < PREFIX; i++) length[i] = (uint8_t)((uint64_t)header->n >> 8 * i);
  if (!cel_add_i64((int64_t)header->n + PREFIX, p->file_data[file], &bytes)) return cel_fail(err, CEL_UNSUPPORTED, "a file too large");
  CEL_TRY(cel_out_add(out, file_name(p, file, name), bytes, index, err));
  CEL_TRY(cel_out_put(out, *index, 0, length, PREFIX, err));
  return cel_out_put(out, *index, PREFIX, header->p, (int64_t)header->n, err);
}

static cel_status begin_file(cel_write_plan *p, cel_out *out, cel_piece **list, int64_t n, const char *format, int file, int *index,
                             cel_err *err) {
  cel_buf header = {0};
  make_header(&header, list, n, format);
  cel_status s = write_header(p, out, file, &header, index, err);
  for (int64_t i = 0; i < n; i++) list[i]->offset += PREFIX + (int64_t)header.n;
  cel_buf_deinit(&header);
  return s;
}

static cel_status write_index(const cel_write_plan *p, cel_out *out, cel_piece *const *list, int64_t n, cel_err *err) {
  cel_buf b = {0};
  char name[64];
  cel_buf_printf(&b, "{\n \"metadata\": {\"total_size\": %lld},\n \"weight_map\": {", (long long)cel_write_plan_bytes(p));
  for (int64_t i = 0; i < n; i++) {
    cel_buf_printf(&b, "%s\n  ", i ? "," : "");
    cel_json_add_string(&b, cel_str_of(list[i]->name));
    cel_buf_printf(&b, ": \"%s\"", file_name(p, list[i]->file, name));
  }
  cel_buf_addz(&b, "\n }\n}\n");
  cel_status s = b.failed ? cel_fail_oom(err, "an index") : cel_out_add_whole(out, "model.safetensors.index.json", b.p, (int64_t)b.n, err);
  cel_buf_deinit(&b);
  return s;
}

static cel_status begin_files(cel_write_plan *p, cel_out *out, cel_piece **list, int64_t n, const char *format, int *files, cel_err *err) {
  CEL_TRY(set_offsets(p, list, n, err));
  for (int64_t at = 0, end; at < n; at = end) {
    int file = list[at]->file;
    for (end = at; end < n && list[end]->file == file;) end++;
    CEL_TRY(begin_file(p, out, list + at, end - at, format, file, &files[file], err));
  }
  return p->n_files > 1 ? write_index(p, out, list, n, err) : CEL_OK;
}

cel_status cel_safetensors_begin(cel_write_plan *p, cel_out *out, int64_t shard_bytes, const char *format, int **files, cel_err *err) {
  cel_piece **list;
  int64_t n;
  choose_files(p, shard_bytes);
  CEL_TRY(order_pieces(p, &list, &n, err));
  *files = calloc((size_t)p->n_files, sizeof **files);
  cel_status s = *files ? begin_files(p, out, list, n, format, *files, err) : cel_fail_oom(err, "a list of files");
  free(list);
  return s;
}
