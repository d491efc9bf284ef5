// Runs of f32 elementwise nodes become one step: a list of micro operations over tiles that stay in L1.
// Broadcast operands are read as views (one value, a row, a column) instead of being spread out in memory.
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

enum { TEMPS_MOST = 24, MICROS_MOST = 64 };

static bool kernel_of(const cel_kernels *k, cel_hlo_opcode op, cel_micro *m) {
  *m = (cel_micro){.slot = -1};
  switch (op) {
    case CEL_HLO_ADD: m->binary = k->add; return true;
    case CEL_HLO_SUBTRACT: m->binary = k->sub; return true;
    case CEL_HLO_MULTIPLY: m->binary = k->mul; return true;
    case CEL_HLO_DIVIDE: m->binary = k->div; return true;
    case CEL_HLO_MAXIMUM: m->binary = k->max; return true;
    case CEL_HLO_MINIMUM: m->binary = k->min; return true;
    case CEL_HLO_NEGATE: m->unary = k->neg; return true;
    case CEL_HLO_ABS: m->unary = k->abs; return true;
    case CEL_HLO_SQRT: m->unary = k->sqrt; return true;
    case CEL_HLO_RSQRT: m->unary = k->rsqrt; return true;
    case CEL_HLO_EXPONENTIAL: m->unary = k->exp; return true;
    case CEL_HLO_LOG: m->unary = k->log; return true;
    case CEL_HLO_LOG_PLUS_ONE: m->unary = k->log1p; return true;
    case CEL_HLO_TANH: m->unary = k->tanh; return true;
    case CEL_HLO_LOGISTIC: m->unary = k->logistic; return true;
    case CEL_HLO_SINE: m->unary = k->sin; return true;
    case CEL_HLO_COSINE: m->unary = k->cos; return true;
    default: return false;
  }
}

bool cel_plan_micro(const cel_plan *p, const cel_node *node, cel_micro *out) {
  if (node->n_out != 1 || node->op->results[0].type->etype != CEL_ET_F32) return false;
  if (cel_hlo_elements(node->op->results[0].type) == 0) return false;
  return kernel_of(&p->kernels, node->op->opcode, out);
}

// The broadcast node behind a slot, when it spreads a vector along the last or the other dimensions.
static bool broadcast_view(const cel_plan *p, int slot, cel_operand *out) {
  const cel_slot *s = &p->slots[slot];
  if (s->node < 0 || s->kind != CEL_SLOT_NONE) return false;
  const cel_node *n = &p->nodes[s->node];
  if (n->op->opcode != CEL_HLO_BROADCAST_IN_DIM) return false;
  const cel_hlo_type *from = n->op->operands[0]->type, *to = n->op->results[0].type;
  int64_t map[CEL_HLO_MAX_RANK];
  int rank = cel_hlo_attr_ints(n->op, "broadcast_dimensions", map, CEL_HLO_MAX_RANK, 0);
  if (rank != from->rank || from->rank == 0 || to->rank == 0) return false;
  int last = to->rank - 1;
  bool row = from->rank == 1 && map[0] == last && from->dims[0] == to->dims[last];
  bool column = true;  // all leading dimensions in order, the last one spread
  for (int i = 0; i < from->rank; i++) column &= map[i] == i && i < last && from->dims[i] == to->dims[i];
  column &= from->rank == last || (from->rank == last + 1 && from->dims[last] == 1);
  if (!row && !column) return false;
  out->view = row ? CEL_VIEW_ROW : CEL_VIEW_COLUMN;
  out->slot = n->in[0];
  return true;
}

typedef struct group {
  cel_micro micros[MICROS_MOST];
  int outs[MICROS_MOST];  // the slot each micro defines
  int n;
  int64_t elements, row;
} group;

static cel_operand operand(cel_plan *p, const group *g, int slot) {
  cel_operand o = {.view = CEL_VIEW_FULL, .slot = slot};
  int root = cel_plan_root(p, slot);
  for (int i = 0; i < g->n; i++) {
    if (g->outs[i] == root) return (cel_operand){.view = CEL_VIEW_TEMP, .slot = slot, .temp = g->micros[i].temp};
  }
  const cel_slot *s = &p->slots[root];
  if (s->kind == CEL_SLOT_CONST && (s->splat || s->bytes == 4)) {
    o.view = CEL_VIEW_SPLAT;
    memcpy(&o.value, s->data, 4);
    return o;
  }
  (void)broadcast_view(p, slot, &o);
  return o;
}

static bool fits(const cel_plan *p, const group *g, const cel_node *n) {
  const cel_hlo_type *t = p->slots[n->out[0]].type;
  if (g->n == 0) return true;
  return g->n < MICROS_MOST && g->n < TEMPS_MOST && cel_hlo_elements(t) == g->elements &&
         (t->rank ? t->dims[t->rank - 1] : 1) == g->row;
}

static void take(cel_plan *p, group *g, const cel_node *n) {
  cel_micro m;
  (void)cel_plan_micro(p, n, &m);
  const cel_hlo_type *t = p->slots[n->out[0]].type;
  if (g->n == 0) {
    g->elements = cel_hlo_elements(t);
    g->row = t->rank ? t->dims[t->rank - 1] : 1;
  }
  m.a = operand(p, g, n->in[0]);
  if (m.binary) m.b = operand(p, g, n->in[1]);
  m.temp = g->n;
  g->outs[g->n] = n->out[0];
  g->micros[g->n++] = m;
}

// Which results are needed outside: those with more uses than the group itself makes of them.
static void find_outputs(cel_plan *p, group *g) {
  for (int i = 0; i < g->n; i++) {
    int inside = 0;
    for (int k = 0; k < g->n; k++) {
      inside += g->micros[k].a.view == CEL_VIEW_TEMP && g->micros[k].a.temp == i;
      inside += g->micros[k].binary && g->micros[k].b.view == CEL_VIEW_TEMP && g->micros[k].b.temp == i;
    }
    if (p->slots[g->outs[i]].n_uses > inside || p->slots[g->outs[i]].pinned) g->micros[i].slot = g->outs[i];
  }
}

static bool note(int *list, int *n, int slot) {
  for (int i = 0; i < *n; i++) {
    if (list[i] == slot) return true;
  }
  if (*n == 8) return false;
  list[(*n)++] = slot;
  return true;
}

// Slots the step reads and writes; false when they are more than a step can name.
static bool name_slots(cel_step *s, const group *g) {
  for (int i = 0; i < g->n; i++) {
    const cel_operand *ops[2] = {&g->micros[i].a, g->micros[i].binary ? &g->micros[i].b : NULL};
    for (int k = 0; k < 2; k++) {
      if (!ops[k] || ops[k]->view == CEL_VIEW_SPLAT || ops[k]->view == CEL_VIEW_TEMP) continue;
      if (!note(s->in, &s->n_in, ops[k]->slot)) return false;
    }
    if (g->micros[i].slot >= 0 && !note(s->out, &s->n_out, g->micros[i].slot)) return false;
  }
  return true;
}

// A view of something this very group computes would be read before it is written.
static bool reads_own_output(const cel_plan *p, const group *g, const cel_micro *m) {
  const cel_operand *ops[2] = {&m->a, m->binary ? &m->b : NULL};
  for (int k = 0; k < 2; k++) {
    if (!ops[k] || (ops[k]->view != CEL_VIEW_ROW && ops[k]->view != CEL_VIEW_COLUMN)) continue;
    for (int i = 0; i < g->n; i++) {
      if (g->outs[i] == cel_plan_root(p, ops[k]->slot)) return true;
    }
  }
  return false;
}

// A broadcast that only elementwise groups read, each as a view, is never spread out in memory.
void cel_plan_mark_views(cel_plan *p) {
  int *uses = CEL_NEW_ARRAY(&p->memory, int, p->n_slots);
  for (int i = 0; uses && i < p->n_nodes; i++) {
    const cel_node *n = &p->nodes[i];
    cel_micro m;
    if (n->dead || !cel_plan_micro(p, n, &m)) continue;
    for (int k = 0; k < n->n_in; k++) uses[n->in[k]]++;
  }
  for (int i = 0; uses && i < p->n_nodes; i++) {
    const cel_node *n = &p->nodes[i];
    cel_operand view;
    if (n->dead || n->op->opcode != CEL_HLO_BROADCAST_IN_DIM || !broadcast_view(p, n->out[0], &view)) continue;
    p->slots[n->out[0]].view_only = uses[n->out[0]] == p->slots[n->out[0]].n_uses;
  }
}

cel_status cel_plan_elementwise(cel_plan *p, int i, int *next, cel_err *err) {
  group *g = CEL_NEW(&p->memory, group);
  if (!g) return cel_fail_oom(err, "an elementwise group");
  cel_step probe;
  int j = i;
  for (; j < p->n_nodes; j++) {
    const cel_node *n = &p->nodes[j];
    cel_micro m;
    if (n->dead || p->slots[n->out[0]].kind != CEL_SLOT_NONE) continue;
    if (p->slots[n->out[0]].view_only) continue;
    if (!cel_plan_micro(p, n, &m) || !fits(p, g, n)) break;
    group saved = *g;
    take(p, g, n);
    find_outputs(p, g);
    probe = (cel_step){0};
    if (name_slots(&probe, g) && !reads_own_output(p, &saved, &g->micros[g->n - 1])) continue;
    *g = saved;
    break;
  }
  find_outputs(p, g);
  cel_step *s = cel_plan_step(p, CEL_STEP_ELEMENTWISE, NULL);
  cel_micro *micros = CEL_NEW_ARRAY(&p->memory, cel_micro, g->n);
  if (!s || !micros || g->n == 0) return cel_fail_oom(err, "an elementwise group");
  memcpy(micros, g->micros, (size_t)g->n * sizeof *micros);
  (void)name_slots(s, g);
  s->path = p->nodes[i].op->path;
  s->u.elementwise.micros = micros;
  s->u.elementwise.n = g->n;
  s->u.elementwise.n_temps = g->n;
  s->u.elementwise.elements = g->elements;
  s->u.elementwise.row = g->row;
  s->solo = g->elements < 8192;
  *next = j;
  return CEL_OK;
}
