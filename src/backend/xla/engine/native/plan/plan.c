#include "backend/xla/engine/native/plan/plan.h"

#include <stdlib.h>
#include <string.h>

// Grows an array of the plan's own memory by doubling; the old one stays in the arena until the plan goes.
static void *grown(cel_arena *a, void *old, int n, int *cap, size_t size) {
  if (n < *cap) return old;
  int want = *cap ? *cap * 2 : 256;
  void *p = cel_arena_array(a, (size_t)want, size);
  if (!p) return NULL;
  if (n) memcpy(p, old, (size_t)n * size);
  *cap = want;
  return p;
}

int cel_plan_slot(cel_plan *p, const cel_hlo_type *type, int node) {
  cel_slot *slots = grown(&p->memory, p->slots, p->n_slots, &p->cap_slots, sizeof *slots);
  if (!slots) return -1;
  p->slots = slots;
  p->slots[p->n_slots] = (cel_slot){.type = type, .node = node, .first = -1, .last = -1, .bytes = cel_hlo_bytes(type)};
  return p->n_slots++;
}

cel_step *cel_plan_step(cel_plan *p, cel_step_kind kind, const cel_node *node) {
  cel_step *steps = grown(&p->memory, p->steps, p->n_steps, &p->cap_steps, sizeof *steps);
  if (!steps) return NULL;
  p->steps = steps;
  cel_step *s = &p->steps[p->n_steps++];
  *s = (cel_step){.kind = kind, .scratch_slot = -1};
  if (!node) return s;
  s->path = node->op->path;
  for (int i = 0; i < node->n_in && i < CEL_COUNT(s->in); i++) s->in[s->n_in++] = node->in[i];
  for (int i = 0; i < node->n_out && i < CEL_COUNT(s->out); i++) s->out[s->n_out++] = node->out[i];
  return s;
}

int cel_plan_root(const cel_plan *p, int slot) {
  while (p->slots[slot].kind == CEL_SLOT_ALIAS) slot = p->slots[slot].index;
  return slot;
}

const void *cel_plan_constant(cel_plan *p, int slot) {
  slot = cel_plan_root(p, slot);
  cel_slot *s = &p->slots[slot];
  if (s->kind != CEL_SLOT_CONST) return NULL;
  if (!s->splat) return s->data;
  int size = cel_etype_bytes(s->type->etype);
  char *whole = cel_arena_alloc(&p->memory, (size_t)s->bytes);
  if (!whole) return NULL;
  for (int64_t i = 0; i < s->bytes; i += size) memcpy(whole + i, s->data, (size_t)size);
  s->data = whole;
  s->splat = false;
  return whole;
}

static void count_uses(cel_plan *p) {
  for (int i = 0; i < p->n_slots; i++) p->slots[i].n_uses = 0;
  for (int i = 0; i < p->program->n_results; i++) p->slots[p->results[i]].n_uses++;
  // Backwards: a node without a used result is dead, and then uses nothing itself.
  for (int i = p->n_nodes - 1; i >= 0; i--) {
    cel_node *n = &p->nodes[i];
    bool used = false;
    for (int r = 0; r < n->n_out; r++) used |= p->slots[n->out[r]].n_uses > 0;
    n->dead = !used;
    for (int a = 0; used && a < n->n_in; a++) p->slots[n->in[a]].n_uses++;
  }
}

bool cel_plan_wants_whole(const cel_plan *p, int param) {
  for (int i = 0; i < p->n_steps; i++) {
    const cel_step *s = &p->steps[i];
    for (int k = 0; k < s->n_in; k++) {
      const cel_slot *slot = &p->slots[cel_plan_root(p, s->in[k])];
      if (slot->kind == CEL_SLOT_PARAM && slot->index == param) return true;
    }
  }
  return false;
}

cel_status cel_plan_new(const cel_program *program, void *const *weights, const void *const *const *parts,
                        uint32_t cpu_bits, cel_linear_precision precision, int n_threads, cel_plan **out, cel_err *err) {
  *out = NULL;
  cel_plan *p = calloc(1, sizeof *p);
  if (!p) return cel_fail_oom(err, "a plan");
  cel_arena_init(&p->memory);
  p->program = program;
  p->kernels = cel_kernels_for(cpu_bits);
  p->precision = precision;
  p->n_threads = n_threads;
  p->weights = weights;
  p->parts = parts;
  cel_status s = cel_plan_flatten(p, err);
  if (s == CEL_OK) {
    count_uses(p);
    s = cel_plan_fold(p, err);
  }
  if (s == CEL_OK) {
    count_uses(p);
    s = cel_plan_steps(p, err);
  }
  if (s == CEL_OK) s = cel_plan_memory(p, err);
  if (s != CEL_OK) {
    cel_plan_free(p);
    return s;
  }
  *out = p;
  return CEL_OK;
}

void cel_plan_free(cel_plan *p) {
  if (!p) return;
  cel_arena_deinit(&p->memory);
  free(p);
}
