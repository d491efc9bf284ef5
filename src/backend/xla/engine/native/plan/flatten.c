// Calls, and composites that no kernel knows, are inlined; what is left is one list of nodes over slots.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

enum { DEPTH_MOST = 64, NODES_MOST = 4000000 };

typedef struct frame {
  int *slots;  // by value id of the function
  int depth;
} frame;

static cel_node *new_node(cel_plan *p, const cel_hlo_op *op, cel_err *err) {
  if (p->n_nodes == p->cap_nodes) {
    int want = p->cap_nodes ? p->cap_nodes * 2 : 1024;
    cel_node *nodes = want > NODES_MOST ? NULL : cel_arena_array(&p->memory, (size_t)want, sizeof *nodes);
    if (!nodes) {
      cel_fail_oom(err, "the plan's nodes");
      return NULL;
    }
    if (p->n_nodes) memcpy(nodes, p->nodes, (size_t)p->n_nodes * sizeof *nodes);
    p->nodes = nodes;
    p->cap_nodes = want;
  }
  cel_node *n = &p->nodes[p->n_nodes];
  *n = (cel_node){.op = op, .n_in = op->n_operands, .n_out = op->n_results};
  n->in = CEL_NEW_ARRAY(&p->memory, int, n->n_in);
  n->out = CEL_NEW_ARRAY(&p->memory, int, n->n_out);
  if (!n->in || !n->out) {
    cel_fail_oom(err, "the plan's nodes");
    return NULL;
  }
  return n;
}

static cel_status add_node(cel_plan *p, const cel_hlo_op *op, frame *f, cel_err *err) {
  cel_node *n = new_node(p, op, err);
  if (!n) return CEL_OOM;
  for (int i = 0; i < n->n_in; i++) n->in[i] = f->slots[op->operands[i]->id];
  for (int i = 0; i < n->n_out; i++) {
    if (op->results[i].type->kind != CEL_HLO_KIND_TENSOR) {
      return cel_fail(err, CEL_UNSUPPORTED, "%s: the native engine has tensors only, no tuples or tokens", op->name);
    }
    n->out[i] = cel_plan_slot(p, op->results[i].type, p->n_nodes);
    if (n->out[i] < 0) return cel_fail_oom(err, "the plan's slots");
    f->slots[op->results[i].id] = n->out[i];
  }
  p->n_nodes++;
  return CEL_OK;
}

static const char *callee_of(const cel_hlo_op *op) {
  if (op->opcode == CEL_HLO_COMPOSITE && cel_plan_has_kernel(op)) return NULL;
  const char *key = op->opcode == CEL_HLO_CALL ? "callee" : op->opcode == CEL_HLO_COMPOSITE ? "decomposition" : NULL;
  const cel_hlo_attr *a = key ? cel_hlo_find_attr(op, key) : NULL;
  return a ? a->s : NULL;
}

static cel_status walk(cel_plan *p, const cel_hlo_func *func, frame *f, int *results, cel_err *err);

static cel_status inline_call(cel_plan *p, const cel_hlo_op *op, const char *callee, frame *outer, cel_err *err) {
  const cel_hlo_func *g = cel_hlo_find_func(p->program->module, callee);
  if (!g || g->is_declaration) return cel_fail(err, CEL_MALFORMED, "@%s has no body to call", callee);
  if (outer->depth >= DEPTH_MOST) return cel_fail(err, CEL_TOO_LONG, "calls nested deeper than %d", DEPTH_MOST);
  frame inner = {.slots = calloc((size_t)g->n_values + 1, sizeof(int)), .depth = outer->depth + 1};
  int *results = calloc((size_t)g->n_results + 1, sizeof(int));
  cel_status s = CEL_OK;
  if (!inner.slots || !results) s = cel_fail_oom(err, "an inlined call");
  for (int i = 0; s == CEL_OK && i < op->n_operands; i++) {
    inner.slots[g->body->args[i]->id] = outer->slots[op->operands[i]->id];
  }
  if (s == CEL_OK) s = walk(p, g, &inner, results, err);
  for (int i = 0; s == CEL_OK && i < op->n_results; i++) outer->slots[op->results[i].id] = results[i];
  free(inner.slots);
  free(results);
  return s;
}

static cel_status walk(cel_plan *p, const cel_hlo_func *func, frame *f, int *results, cel_err *err) {
  for (const cel_hlo_op *op = func->body->first; op; op = op->next) {
    if (op->opcode == CEL_HLO_RETURN) {
      for (int i = 0; i < op->n_operands; i++) results[i] = f->slots[op->operands[i]->id];
      return CEL_OK;
    }
    const char *callee = callee_of(op);
    CEL_TRY(callee ? inline_call(p, op, callee, f, err) : add_node(p, op, f, err));
  }
  return cel_fail(err, CEL_MALFORMED, "@%s does not return", func->name);
}

cel_status cel_plan_flatten(cel_plan *p, cel_err *err) {
  const cel_hlo_func *entry = p->program->entry;
  frame f = {.slots = calloc((size_t)entry->n_values + 1, sizeof(int))};
  p->results = CEL_NEW_ARRAY(&p->memory, int, p->program->n_results);
  cel_status s = f.slots && p->results ? CEL_OK : cel_fail_oom(err, "the plan's frame");
  for (int i = 0; s == CEL_OK && i < p->program->n_params; i++) {
    const cel_hlo_value *arg = entry->body->args[i];
    if (arg->type->kind != CEL_HLO_KIND_TENSOR) {
      s = cel_fail(err, CEL_UNSUPPORTED, "argument %d of @%s is not a tensor", i, entry->name);
      break;
    }
    int slot = cel_plan_slot(p, arg->type, -1);
    if (slot < 0) {
      s = cel_fail_oom(err, "the plan's slots");
      break;
    }
    p->slots[slot].kind = CEL_SLOT_PARAM;
    p->slots[slot].index = i;
    f.slots[arg->id] = slot;
  }
  if (s == CEL_OK) s = walk(p, entry, &f, p->results, err);
  for (int i = 0; s == CEL_OK && i < p->program->n_results; i++) p->slots[p->results[i]].pinned = true;
  free(f.slots);
  return s;
}
