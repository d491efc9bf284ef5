// Where everything lies, and when the team must wait. Lifetimes are ranges of steps; the arena is filled
// largest first, each into the lowest gap that is free while it lives (as XNNPACK's planner does). A
// barrier stands before a step that touches memory another member may still be working on.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

enum { ALIGN = 64 };

static int64_t aligned(int64_t n) { return (n + ALIGN - 1) & ~(int64_t)(ALIGN - 1); }

// ---- lifetimes -------------------------------------------------------------------------------------

static void touch(cel_plan *p, int slot, int step, bool defines) {
  cel_slot *s = &p->slots[cel_plan_root(p, slot)];
  if (s->kind != CEL_SLOT_NONE && s->kind != CEL_SLOT_ARENA) return;
  s->kind = CEL_SLOT_ARENA;
  if (defines && s->first < 0) s->first = step;
  s->last = CEL_MAX(s->last, step);
}

// Steps read whole arrays: a constant kept as one value is spread out when something but a view reads it.
static cel_status spread_constants(cel_plan *p, cel_err *err) {
  for (int i = 0; i < p->n_steps; i++) {
    const cel_step *s = &p->steps[i];
    for (int k = 0; k < s->n_in; k++) {
      int root = cel_plan_root(p, s->in[k]);
      if (p->slots[root].kind == CEL_SLOT_CONST && !cel_plan_constant(p, root)) return cel_fail_oom(err, "a constant");
    }
  }
  for (int i = 0; i < p->program->n_results; i++) {
    int root = cel_plan_root(p, p->results[i]);
    if (p->slots[root].kind == CEL_SLOT_CONST && !cel_plan_constant(p, root)) return cel_fail_oom(err, "a constant");
  }
  return CEL_OK;
}

static cel_status lifetimes(cel_plan *p, cel_err *err) {
  for (int i = 0; i < p->n_steps; i++) {
    cel_step *s = &p->steps[i];
    for (int k = 0; k < s->n_in; k++) touch(p, s->in[k], i, false);
    for (int k = 0; k < s->n_out; k++) touch(p, s->out[k], i, true);
    if (s->scratch_slot >= 0) touch(p, s->scratch_slot, i, true);
  }
  for (int i = 0; i < p->program->n_results; i++) touch(p, p->results[i], p->n_steps, false);
  for (int i = 0; i < p->n_slots; i++) {
    if (p->slots[i].kind == CEL_SLOT_ARENA && p->slots[i].first < 0) {
      return cel_fail(err, CEL_ENGINE, "the plan reads slot %d, which no step writes", i);
    }
  }
  return CEL_OK;
}

static cel_status experts_space(cel_plan *p, cel_step *s, cel_err *err) {
  int64_t scratch, dims[1];
  cel_plan_experts_space(p, s->u.experts, &dims[0], &scratch);
  p->scratch_bytes = CEL_MAX(p->scratch_bytes, scratch);
  if (!dims[0]) return CEL_OK;
  const cel_hlo_type *t = cel_hlo_tensor(p->program->module, CEL_ET_UI8, 1, dims);
  s->scratch_slot = t ? cel_plan_slot(p, t, -1) : -1;
  return s->scratch_slot < 0 ? cel_fail_oom(err, "the plan's slots") : CEL_OK;
}

// Packed activations of products over many tokens are shared by the team.
static cel_status pack_space(cel_plan *p, cel_err *err) {
  for (int i = 0; i < p->n_steps; i++) {
    cel_step *s = &p->steps[i];
    if (s->kind == CEL_STEP_EXPERTS) CEL_TRY(experts_space(p, s, err));
    if (s->kind != CEL_STEP_LINEAR) continue;
    int64_t scratch = 0, dims[1] = {s->u.linear.pack_bytes * s->u.linear.tokens};
    for (int k = 0; k < s->u.linear.n; k++) {
      int64_t bytes = cel_linear_scratch_bytes(&s->u.linear.w[k]);
      scratch = CEL_MAX(scratch, bytes);
    }
    if (s->u.linear.private_pack) {
      scratch += dims[0];
    } else {
      const cel_hlo_type *t = cel_hlo_tensor(p->program->module, CEL_ET_UI8, 1, dims);
      s->scratch_slot = t ? cel_plan_slot(p, t, -1) : -1;
      if (s->scratch_slot < 0) return cel_fail_oom(err, "the plan's slots");
    }
    p->scratch_bytes = CEL_MAX(p->scratch_bytes, scratch);
  }
  return CEL_OK;
}

// ---- the arena -------------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  const cel_slot *x = *(cel_slot *const *)a, *y = *(cel_slot *const *)b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->first != y->first ? (x->first < y->first ? -1 : 1) : (x < y ? -1 : x > y);
}

static int by_offset(const void *a, const void *b) {
  const cel_slot *x = *(cel_slot *const *)a, *y = *(cel_slot *const *)b;
  return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : (x < y ? -1 : x > y);
}

// The lowest offset where s fits between those placed before it that live at the same time.
static int64_t lowest_gap(const cel_slot *s, cel_slot **placed, int n, cel_slot **near) {
  int n_near = 0;
  for (int i = 0; i < n; i++) {
    if (placed[i]->first <= s->last && s->first <= placed[i]->last) near[n_near++] = placed[i];
  }
  qsort(near, (size_t)n_near, sizeof *near, by_offset);
  int64_t at = 0;
  for (int i = 0; i < n_near; i++) {
    if (at + aligned(s->bytes) <= near[i]->offset) break;
    at = CEL_MAX(at, near[i]->offset + aligned(near[i]->bytes));
  }
  return at;
}

static cel_status place(cel_plan *p, cel_err *err) {
  cel_slot **order = malloc(((size_t)p->n_slots * 2 + 1) * sizeof *order);
  if (!order) return cel_fail_oom(err, "the memory plan");
  int n = 0;
  for (int i = 0; i < p->n_slots; i++) {
    if (p->slots[i].kind == CEL_SLOT_ARENA) order[n++] = &p->slots[i];
  }
  qsort(order, (size_t)n, sizeof *order, by_size);
  for (int i = 0; i < n; i++) {
    order[i]->offset = lowest_gap(order[i], order, i, order + p->n_slots);
    p->arena_bytes = CEL_MAX(p->arena_bytes, order[i]->offset + aligned(order[i]->bytes));
  }
  free(order);
  return CEL_OK;
}

// ---- barriers --------------------------------------------------------------------------------------

typedef struct touched {
  int root;      // of a parameter; -1: arena range
  int64_t from, to;
  bool written, solo;
} touched;

static touched range_of(const cel_plan *p, int slot, bool written, bool solo) {
  int root = cel_plan_root(p, slot);
  const cel_slot *s = &p->slots[root];
  if (s->kind == CEL_SLOT_ARENA) return (touched){-1, s->offset, s->offset + s->bytes, written, solo};
  return (touched){root, 0, 1, written, solo};
}

static bool conflict(const touched *a, const touched *b) {
  if (!a->written && !b->written) return false;
  if (a->solo && b->solo) return false;  // one member, in order
  return a->root == b->root && a->from < b->to && b->from < a->to;
}

static int ranges(const cel_plan *p, const cel_step *s, touched *out) {
  int n = 0;
  for (int k = 0; k < s->n_in; k++) {
    if (p->slots[cel_plan_root(p, s->in[k])].kind != CEL_SLOT_CONST) out[n++] = range_of(p, s->in[k], false, s->solo);
  }
  for (int k = 0; k < s->n_out; k++) out[n++] = range_of(p, s->out[k], true, s->solo);
  if (s->scratch_slot >= 0) out[n++] = range_of(p, s->scratch_slot, true, s->solo);
  return n;
}

static void barriers(cel_plan *p) {
  enum { OPEN_MOST = 256 };
  touched open[OPEN_MOST];
  int n_open = 0;
  for (int i = 0; i < p->n_steps; i++) {
    cel_step *s = &p->steps[i];
    touched now[17];
    int n = ranges(p, s, now);
    bool wait = n_open + n > OPEN_MOST;
    for (int a = 0; a < n && !wait; a++) {
      for (int b = 0; b < n_open && !wait; b++) wait = conflict(&now[a], &open[b]);
    }
    s->barrier = wait;
    if (wait) n_open = 0;
    memcpy(open + n_open, now, (size_t)n * sizeof *now);
    n_open += n;
  }
}

cel_status cel_plan_memory(cel_plan *p, cel_err *err) {
  CEL_TRY(pack_space(p, err));
  CEL_TRY(spread_constants(p, err));
  CEL_TRY(lifetimes(p, err));
  CEL_TRY(place(p, err));
  barriers(p);
  int64_t tile = 256 * (int64_t)sizeof(float);
  for (int i = 0; i < p->n_steps; i++) {
    const cel_step *s = &p->steps[i];
    if (s->kind != CEL_STEP_ELEMENTWISE) continue;
    int64_t need = (s->u.elementwise.n_temps + 2) * tile;
    p->scratch_bytes = CEL_MAX(p->scratch_bytes, need);
  }
  p->scratch_bytes = aligned(p->scratch_bytes);
  return CEL_OK;
}
