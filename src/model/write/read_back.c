// Opens what was written as a reader would, and compares every tensor: there, of the right type and shape, with the bytes
// that were meant.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "model/checkpoint_private.h"
#include "model/names.h"
#include "model/safetensors.h"
#include "model/write/conversion_private.h"

static cel_status differs(const cel_piece *p, const char *file, const char *what, cel_err *err) {
  return cel_fail(err, CEL_IO, "%s: read back, tensor \"%s\" %s: the disk or its driver is not to be trusted; nothing is left of it",
                  file, cel_show(cel_str_of(p->name)).text, what);
}

static cel_status compare(const cel_piece *p, const char *file, cel_dtype dtype, int rank, const int64_t *dims, const void *data,
                          int64_t bytes, cel_err *err) {
  cel_digest d = {0};
  bool same = dtype == p->dtype && rank == p->rank && bytes == p->bytes;
  for (int i = 0; same && i < rank; i++) same = dims[i] == p->dims[i];
  if (!same) return differs(p, file, "has another type or shape", err);
  cel_digest_add(&d, data, bytes);
  return cel_digest_end(&d) == p->digest ? CEL_OK : differs(p, file, "has other bytes", err);
}

static const cel_gguf_tensor *find(const cel_gguf *g, int64_t expected, const char *name) {
  return expected < g->n_tensors && cel_str_is(g->tensors[expected].name, name) ? &g->tensors[expected] : NULL;
}

static cel_status compare_gguf(const cel_conversion *v, const cel_gguf *g, cel_err *err) {
  int64_t n = 0;
  for (int64_t i = 0; i < v->plan.n; i++) {
    for (int k = 0; k < v->plan.moves[i].n_pieces; k++) {
      const cel_piece *p = &v->plan.moves[i].pieces[k];
      const cel_gguf_tensor *t = find(g, n++, p->name);
      int64_t dims[CEL_GGUF_MAX_RANK];
      if (!t) return differs(p, g->file, "is not there", err);
      for (int d = 0; d < t->rank; d++) dims[d] = t->dims[t->rank - 1 - d];
      CEL_TRY(compare(p, g->file, t->dtype, p->rank ? t->rank : 0, dims, g->data + t->offset, t->bytes, err));
    }
  }
  return CEL_OK;
}

static cel_status read_back_gguf(const cel_conversion *v, cel_err *err) {
  cel_map map = {0};
  cel_arena arena;
  cel_gguf g;
  cel_arena_init(&arena);
  const char *path = cel_out_path(v->out);
  cel_status s = cel_map_open(path, &map, err);
  if (s == CEL_OK) s = cel_gguf_read(map.data, map.bytes, path, &arena, &g, err);
  if (s == CEL_OK) s = compare_gguf(v, &g, err);
  cel_map_close(&map);
  cel_arena_deinit(&arena);
  return s;
}

// The reader leaves out what stands ahead of a text model's names in a larger one.
static const cel_tensor *find_listed(const cel_tensor_list *list, const char *name) {
  char bare[1024];
  cel_str head, tail;
  if (!cel_name_from_hf(cel_str_of(name), &head, &tail)) return NULL;
  int n = snprintf(bare, sizeof bare, "%.*s%.*s", (int)head.n, head.p, (int)tail.n, tail.p);
  return n > 0 && (size_t)n < sizeof bare ? cel_tensor_list_find(list->items, list->n, bare) : NULL;
}

static cel_status compare_list(const cel_conversion *v, const cel_checkpoint *c, const cel_tensor_list *list, cel_err *err) {
  for (int64_t i = 0; i < v->plan.n; i++) {
    for (int k = 0; k < v->plan.moves[i].n_pieces; k++) {
      const cel_piece *p = &v->plan.moves[i].pieces[k];
      const cel_tensor *t = find_listed(list, p->name);
      if (!t) return differs(p, c->path, "is not there", err);
      CEL_TRY(compare(p, t->file, t->dtype, t->rank, t->dims, t->data, t->bytes, err));
    }
  }
  return CEL_OK;
}

// The checkpoint has its own names for what a family's files name otherwise: the files' are read again.
static cel_status compare_folder(const cel_conversion *v, const cel_checkpoint *c, cel_err *err) {
  cel_arena arena;
  cel_arena_init(&arena);
  cel_tensor_list list = {.arena = &arena};
  cel_status s = CEL_OK;
  for (int64_t i = 0; s == CEL_OK && i < c->priv->n_maps; i++) {
    const cel_mapped_file *f = &c->priv->maps[i];
    s = cel_safetensors_read(f->map.data, f->map.bytes, f->path, &list, err);
  }
  if (s == CEL_OK) s = cel_tensor_list_sort(&list, err);
  if (s == CEL_OK) s = compare_list(v, c, &list, err);
  cel_tensor_list_deinit(&list);
  cel_arena_deinit(&arena);
  return s;
}

cel_status cel_conversion_read_back(const cel_conversion *v, cel_err *err) {
  cel_checkpoint *c;
  if (v->o->to == CEL_FORMAT_GGUF) return read_back_gguf(v, err);
  CEL_TRY(cel_checkpoint_open(cel_out_path(v->out), &c, err));
  cel_status s = compare_folder(v, c, err);
  cel_checkpoint_close(c);
  return s;
}
