#include "model/write/write_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "model/tensor_list.h"

void cel_write_plan_deinit(cel_write_plan *p) {
  free(p->moves);
  free(p->file_data);
  *p = (cel_write_plan){.arena = p->arena};
}

// ---- sources ----------------------------------------------------------------------------------------

static bool is_part_of_quantized(const cel_checkpoint *c, cel_str name) {
  static const char *const tails[] = {".scales", ".biases"};
  for (int i = 0; i < CEL_COUNT(tails); i++) {
    cel_str tail = cel_str_of(tails[i]);
    char weight[1024];
    if (!cel_str_ends(name, tail)) continue;
    int n = snprintf(weight, sizeof weight, "%.*s.weight", (int)(name.n - tail.n), name.p);
    const cel_tensor *w = n > 0 && (size_t)n < sizeof weight ? cel_checkpoint_find(c, weight) : NULL;
    if (w && w->dtype == CEL_DT_U32) return true;
  }
  return false;
}

// A tensor by itself: rows of its last dimension.
static cel_weight alone(const cel_tensor *t) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < t->rank; i++) rows *= t->dims[i];  // the reader has checked the product
  return (cel_weight){.name = t->name, .rows = rows, .cols = t->rank ? t->dims[t->rank - 1] : 1, .tensor = t};
}

cel_status cel_write_plan_source(const cel_checkpoint *c, const cel_tensor *t, cel_weight *out, bool *skip, cel_err *err) {
  cel_str name = cel_str_of(t->name), tail = CEL_STR(".weight");
  *skip = is_part_of_quantized(c, name);
  *out = alone(t);
  if (*skip || t->dtype != CEL_DT_U32 || !cel_str_ends(name, tail)) return CEL_OK;
  char module[1024];
  int n = snprintf(module, sizeof module, "%.*s", (int)(name.n - tail.n), name.p);
  if (n < 0 || (size_t)n >= sizeof module) return cel_fail(err, CEL_MALFORMED, "%s: a tensor's name is too long", t->file);
  CEL_TRY(cel_checkpoint_weight(c, module, out, err));
  if (out->experts) out->rows *= out->experts;
  out->experts = 0;
  return CEL_OK;
}

// ---- pieces -----------------------------------------------------------------------------------------

bool cel_scheme_fits(const cel_scheme *s, int64_t cols) {
  switch (s->kind) {
    case CEL_SCHEME_AFFINE: return cols > 0 && cols % s->group == 0;
    case CEL_SCHEME_MICRO: return cols > 0 && cols % 32 == 0;  // words of nvfp4 hold two groups in mlx
    case CEL_SCHEME_BLOCKS: return cols > 0 && cols % cel_dtype_of(s->dtype)->block == 0;
    default: return true;
  }
}

static cel_status set_bytes(cel_piece *p, cel_err *err) {
  int64_t n = 1;
  for (int i = 0; i < p->rank; i++) {
    if (!cel_mul_i64(n, p->dims[i], &n)) return cel_fail(err, CEL_MALFORMED, "tensor \"%s\" is too large", cel_show(cel_str_of(p->name)).text);
  }
  if (cel_dtype_bytes(p->dtype, n, &p->bytes)) return CEL_OK;
  return cel_fail(err, CEL_UNSUPPORTED, "tensor \"%s\" cannot be stored as %s", cel_show(cel_str_of(p->name)).text,
                  cel_dtype_of(p->dtype)->name);
}

// A piece with the source's outer dimensions and a last one of `last`.
static cel_status add_piece(cel_move *m, cel_arena *arena, cel_str stem, const char *tail, cel_dtype dtype, int64_t last,
                            cel_err *err) {
  const cel_tensor *t = m->from.tensor;
  cel_piece *p = &m->pieces[m->n_pieces];
  *p = (cel_piece){.dtype = dtype, .rank = t ? t->rank : 1, .name = cel_arena_printf(arena, "%.*s%s", (int)stem.n, stem.p, tail)};
  if (!p->name) return cel_fail_oom(err, "a tensor's name");
  if (t) memcpy(p->dims, t->dims, sizeof p->dims);
  if (p->rank) p->dims[p->rank - 1] = last;
  CEL_TRY(set_bytes(p, err));
  m->row_bytes[m->n_pieces++] = m->from.rows ? p->bytes / m->from.rows : 0;
  return CEL_OK;
}

static cel_status make_pieces(cel_move *m, cel_arena *arena, const char *name, cel_err *err) {
  cel_str whole = cel_str_of(name), stem = whole, tail = CEL_STR(".weight");
  const cel_scheme *s = &m->to;
  const cel_tensor *t = m->from.tensor;
  int64_t cols = m->from.cols;
  m->n_pieces = 0;
  if (s->kind == CEL_SCHEME_KEEP) return add_piece(m, arena, whole, "", t->dtype, t->rank ? t->dims[t->rank - 1] : 1, err);
  if (s->kind == CEL_SCHEME_PLAIN || s->kind == CEL_SCHEME_BLOCKS) {  // a vector whose values are moved counts as rows of one
    bool as_it_is = t && t->rank && (t->rank == 1 || m->n_segments);
    return add_piece(m, arena, whole, "", s->dtype, as_it_is ? t->dims[t->rank - 1] : cols, err);
  }
  if (cel_str_ends(stem, tail)) stem.n -= tail.n;
  CEL_TRY(add_piece(m, arena, stem, ".weight", CEL_DT_U32, cols * s->bits / 32, err));
  cel_dtype scales = s->kind == CEL_SCHEME_AFFINE ? s->dtype : CEL_DT_U8;
  CEL_TRY(add_piece(m, arena, stem, ".scales", scales, cols / s->group, err));
  return s->kind == CEL_SCHEME_AFFINE ? add_piece(m, arena, stem, ".biases", scales, cols / s->group, err) : CEL_OK;
}

cel_status cel_write_plan_add(cel_write_plan *p, const cel_move *move, const char *name, cel_err *err) {
  void *items = p->moves;
  if (!cel_grow(&items, p->n, &p->cap, sizeof *p->moves)) return cel_fail_oom(err, "a plan");
  p->moves = items;
  cel_move *m = &p->moves[p->n];
  *m = *move;
  CEL_TRY(make_pieces(m, p->arena, name, err));
  p->n++;
  return CEL_OK;
}

int64_t cel_write_plan_bytes(const cel_write_plan *p) {
  int64_t n = 0;
  for (int64_t i = 0; i < p->n; i++) {
    for (int k = 0; k < p->moves[i].n_pieces; k++) n += p->moves[i].pieces[k].bytes;
  }
  return n;
}
