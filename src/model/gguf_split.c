#include "model/gguf_split.h"

#include <stdio.h>
#include <string.h>

#include "model/gguf_convert.h"

enum { TAIL = sizeof "-00001-of-00003.gguf" - 1 };

typedef struct place { int64_t no, count, tensors; } place;  // split.*

// The numbers of a part's name: NO from 1. False for other names.
static bool name_numbers(const char *path, int *no, int *count) {
  size_t n = strlen(path);
  const char *p = path + n - TAIL;
  if (n < TAIL) return false;
  for (size_t i = 0; i < TAIL; i++) {
    bool digit = (i >= 1 && i <= 5) || (i >= 10 && i <= 14);
    if (digit ? p[i] < '0' || p[i] > '9' : p[i] != "-00001-of-00003.gguf"[i]) return false;
  }
  return sscanf(p, "-%5d-of-%5d.gguf", no, count) == 2;
}

bool cel_gguf_are_parts(const char *const *names, int64_t n) {
  int no, count, others;
  if (n < 1 || !name_numbers(names[0], &no, &count)) return false;
  size_t bytes = strlen(names[0]);
  for (int64_t i = 1; i < n; i++) {
    if (strlen(names[i]) != bytes || memcmp(names[i], names[0], bytes - TAIL) != 0) return false;
    if (!name_numbers(names[i], &no, &others) || others != count) return false;
  }
  return true;
}

static cel_status read_place(const cel_gguf *g, place *p, cel_err *err) {
  *p = (place){-1, 0, -1};
  CEL_TRY(cel_gguf_int(g, "split.count", &p->count, NULL, err));
  CEL_TRY(cel_gguf_int(g, "split.no", &p->no, NULL, err));
  return cel_gguf_int(g, "split.tensors.count", &p->tensors, NULL, err);
}

static cel_status check_first(const cel_gguf *g, const place *p, cel_err *err) {
  int no, count;
  if (p->no < 0 || p->no >= p->count || p->tensors < 0) {
    return cel_fail(err, CEL_MALFORMED, "%s: split.no %lld, split.count %lld, split.tensors.count %lld; a part's number is below "
                    "the count and all three are there", g->file, (long long)p->no, (long long)p->count, (long long)p->tensors);
  }
  if (!name_numbers(g->file, &no, &count)) {
    return cel_fail(err, CEL_INVALID, "%s: part %lld of %lld of a split GGUF file, whose name must end in -%05lld-of-%05lld.gguf so "
                    "that the others can be found", g->file, (long long)p->no + 1, (long long)p->count, (long long)p->no + 1,
                    (long long)p->count);
  }
  if (no == p->no + 1 && count == p->count) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: the name says part %d of %d, split.no and split.count say %lld of %lld (renamed?)",
                  g->file, no, count, (long long)p->no + 1, (long long)p->count);
}

// A part against the one that was opened first.
static cel_status check_part(const cel_gguf *g, const place *p, int64_t no, const place *first, cel_err *err) {
  if (p->no == no && p->count == first->count && p->tensors == first->tensors) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: split.no %lld, split.count %lld, split.tensors.count %lld; %lld, %lld and %lld belong "
                  "here: not a part of the same model", g->file, (long long)p->no, (long long)p->count, (long long)p->tensors,
                  (long long)no, (long long)first->count, (long long)first->tensors);
}

static cel_status open_part(cel_checkpoint *c, const cel_gguf *opened, int64_t no, const place *first, cel_gguf *out,
                            cel_err *err) {
  cel_map map = {0};
  const char *file, *path = cel_arena_printf(&c->priv->arena, "%.*s-%05lld-of-%05lld.gguf", (int)(strlen(opened->file) - TAIL),
                                             opened->file, (long long)no + 1, (long long)first->count);
  place p;
  if (!path) return cel_fail_oom(err, "a part's name");
  cel_status s = cel_checkpoint_map(c, path, &map, &file, err);
  if (s == CEL_NOT_FOUND) return cel_err_prefix(err, "part %lld of %lld is missing", (long long)no + 1, (long long)first->count);
  CEL_TRY(s);
  CEL_TRY(cel_gguf_read(map.data, map.bytes, file, &c->priv->arena, out, err));
  CEL_TRY(read_place(out, &p, err));
  return check_part(out, &p, no, first, err);
}

// All parts into `parts`; the opened one is among them already.
static cel_status open_others(cel_checkpoint *c, const cel_gguf *g, const place *opened, cel_gguf *parts, cel_err *err) {
  int64_t tensors = 0;
  for (int64_t i = 0; i < opened->count; i++) {
    if (i == opened->no) parts[i] = *g;
    else CEL_TRY(open_part(c, g, i, opened, &parts[i], err));
    tensors += parts[i].n_tensors;
  }
  if (tensors == opened->tensors) return CEL_OK;
  return cel_fail(err, CEL_MALFORMED, "%s: the %lld parts hold %lld tensors, split.tensors.count is %lld", parts[0].file,
                  (long long)opened->count, (long long)tensors, (long long)opened->tensors);
}

cel_status cel_gguf_open_parts(cel_checkpoint *c, cel_gguf *g, cel_err *err) {
  place p;
  CEL_TRY(read_place(g, &p, err));
  if (p.count > 1) CEL_TRY(check_first(g, &p, err));
  int64_t n = CEL_MAX(p.count, 1);
  cel_gguf *parts = CEL_NEW_ARRAY(&c->priv->arena, cel_gguf, n);
  if (!parts) return cel_fail_oom(err, "the parts of a model");
  parts[0] = *g;
  if (n > 1) CEL_TRY(open_others(c, g, &p, parts, err));
  c->priv->parts = parts;
  c->priv->n_parts = n;
  *g = parts[0];
  for (int64_t i = 1; i < n; i++) {
    cel_gguf part = parts[i];
    part.values = parts[0].values;  // what names mean is said in the first part alone
    part.n_values = parts[0].n_values;
    CEL_TRY(cel_gguf_tensors(&part, &c->priv->list, err));
  }
  return CEL_OK;
}
