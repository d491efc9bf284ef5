// Constants: literals, and everything that depends on literals and small bound weights alone, is computed
// here, once, by the reference evaluator (norm weights widened from 16 bits, tables, broadcasts of them).
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"
#include "backend/xla/engine/native/ref/ref.h"

enum { FOLD_BYTES_MOST = 8 << 20, WEIGHT_BYTES_MOST = 1 << 20 };

static void literal(cel_plan *p, const cel_node *n) {
  const cel_hlo_attr *value = cel_hlo_find_attr(n->op, "value");
  if (!value || value->kind != CEL_HLO_ATTR_DENSE) return;
  cel_slot *s = &p->slots[n->out[0]];
  s->kind = CEL_SLOT_CONST;
  s->data = value->data;
  s->splat = value->splat;
}

// Small bound weights count as constants: norms and biases.
static void bind_small_weights(cel_plan *p) {
  for (int i = 0; i < p->n_slots; i++) {
    cel_slot *s = &p->slots[i];
    if (s->kind != CEL_SLOT_PARAM || !p->weights[s->index] || s->bytes > WEIGHT_BYTES_MOST || s->type->rank > 1) continue;
    int size = cel_etype_bytes(s->type->etype);
    const void *data = p->weights[s->index];
    if ((uintptr_t)data % (uintptr_t)size) {  // a file promises no alignment
      void *copy = cel_arena_alloc(&p->memory, (size_t)s->bytes);
      if (!copy) continue;
      data = memcpy(copy, data, (size_t)s->bytes);
    }
    s->kind = CEL_SLOT_CONST;
    s->data = data;
  }
}

static bool is_alias(const cel_node *n) {
  return n->op->opcode == CEL_HLO_RESHAPE || n->op->opcode == CEL_HLO_OPTIMIZATION_BARRIER ||
         (n->op->opcode == CEL_HLO_CONVERT && n->op->operands[0]->type == n->op->results[0].type);
}

static void alias(cel_plan *p, const cel_node *n) {
  for (int i = 0; i < n->n_out; i++) {
    cel_slot *s = &p->slots[n->out[i]], *from = &p->slots[n->in[i]];
    if (from->kind == CEL_SLOT_CONST) {
      s->kind = CEL_SLOT_CONST;
      s->data = from->data;
      s->splat = from->splat;
    } else {
      s->kind = CEL_SLOT_ALIAS;
      s->index = n->in[i];
    }
  }
}

static bool all_constant(const cel_plan *p, const cel_node *n) {
  for (int i = 0; i < n->n_in; i++) {
    if (p->slots[n->in[i]].kind != CEL_SLOT_CONST) return false;
  }
  return true;
}

// A broadcast of one value stays one value.
static bool broadcast_splat(cel_plan *p, const cel_node *n) {
  if (n->op->opcode != CEL_HLO_BROADCAST_IN_DIM) return false;
  const cel_slot *from = &p->slots[n->in[0]];
  if (!from->splat && cel_hlo_elements(from->type) != 1) return false;
  cel_slot *s = &p->slots[n->out[0]];
  s->kind = CEL_SLOT_CONST;
  s->data = from->data;
  s->splat = true;
  return true;
}

static cel_status evaluate(cel_plan *p, const cel_node *n, cel_err *err) {
  cel_ref_tensor in[8], out[8];
  if (n->n_in > CEL_COUNT(in) || n->n_out > CEL_COUNT(out)) return CEL_OK;
  for (int i = 0; i < n->n_out; i++) {
    if (p->slots[n->out[i]].bytes > FOLD_BYTES_MOST) return CEL_OK;
  }
  for (int i = 0; i < n->n_in; i++) {
    in[i] = (cel_ref_tensor){p->slots[n->in[i]].type, (void *)(uintptr_t)cel_plan_constant(p, n->in[i])};
    if (!in[i].data) return cel_fail_oom(err, "a constant");
  }
  for (int i = 0; i < n->n_out; i++) {
    const cel_slot *s = &p->slots[n->out[i]];
    out[i] = (cel_ref_tensor){s->type, cel_arena_alloc(&p->memory, (size_t)s->bytes)};
    if (!out[i].data) return cel_fail_oom(err, "a constant");
  }
  CEL_TRY(cel_ref_op(p->program->module, n->op, in, out, NULL, NULL, NULL, err));
  for (int i = 0; i < n->n_out; i++) {
    p->slots[n->out[i]].kind = CEL_SLOT_CONST;
    p->slots[n->out[i]].data = out[i].data;
  }
  return CEL_OK;
}

cel_status cel_plan_fold(cel_plan *p, cel_err *err) {
  bind_small_weights(p);
  for (int i = 0; i < p->n_nodes; i++) {
    cel_node *n = &p->nodes[i];
    if (n->dead) continue;
    if (n->op->opcode == CEL_HLO_CONSTANT) {
      literal(p, n);
    } else if (is_alias(n)) {
      alias(p, n);
    } else if (n->n_in > 0 && n->op->n_regions == 0 && n->op->opcode != CEL_HLO_COMPOSITE && all_constant(p, n)) {
      if (!broadcast_splat(p, n)) CEL_TRY(evaluate(p, n, err));
    } else if (n->op->opcode == CEL_HLO_IOTA) {
      CEL_TRY(evaluate(p, n, err));
    }
  }
  return CEL_OK;
}
