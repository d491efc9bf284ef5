// Whether a module says something: scoping, terminators, links, and every operation by its rule.
#include "backend/xla/hlo/verify.h"

#include <stdlib.h>
#include <string.h>

cel_status cel_verify_locate(cel_verify *v, const cel_hlo_op *op) {
  if (op && op->path) cel_err_prefix(v->err, "%.200s", op->path);
  if (op && op->line) cel_err_prefix(v->err, "%d:%d", op->line, op->column);
  return v->func ? cel_err_prefix(v->err, "@%.100s", v->func->name) : v->err->status;
}

cel_status cel_verify_fail(cel_verify *v, const cel_hlo_op *op, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cel_failv(v->err, CEL_INVALID, fmt, args);
  va_end(args);
  if (op) cel_err_prefix(v->err, "%.100s", op->name);
  return cel_verify_locate(v, op);
}

static cel_status define(cel_verify *v, const cel_hlo_op *op, const cel_hlo_value *value) {
  if (!value->type) return cel_verify_fail(v, op, "value %d has no type", value->id);
  if (value->id < 0 || value->id >= v->func->n_values || v->seen[value->id])
    return cel_verify_fail(v, op, "value number %d is given twice or out of range", value->id);
  v->seen[value->id] = value;
  return CEL_OK;
}

static cel_status check_operands(cel_verify *v, const cel_hlo_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    const cel_hlo_value *x = op->operands[i];
    if (!x) return cel_verify_fail(v, op, "operand %d is missing", i);
    if (x->id >= 0 && x->id < v->func->n_values && v->seen[x->id] == x) continue;
    if (x->block && x->block->func != v->func)
      return cel_verify_fail(v, op, "operand %d belongs to function @%.100s", i, x->block->func->name);
    return cel_verify_fail(v, op, "operand %d (%%%.60s) is used before it is defined, or outside its region", i,
                           x->name ? x->name : "unnamed");
  }
  return CEL_OK;
}

static int by_name(const void *a, const void *b) {
  return strcmp((*(cel_hlo_attr *const *)a)->name, (*(cel_hlo_attr *const *)b)->name);
}

static cel_status check_attrs(cel_verify *v, const cel_hlo_op *op) {
  if (op->n_attrs == 0) return CEL_OK;
  for (int i = 0; i < op->n_attrs; i++)
    if (!op->attrs[i]->name) return cel_verify_fail(v, op, "attribute %d has no name", i);
  cel_hlo_attr **sorted = CEL_NEW_ARRAY(&v->scratch->arena, cel_hlo_attr *, op->n_attrs);
  if (!sorted) return cel_fail_oom(v->err, "verifying a StableHLO module");
  memcpy(sorted, op->attrs, (size_t)op->n_attrs * sizeof *sorted);
  qsort(sorted, (size_t)op->n_attrs, sizeof *sorted, by_name);
  for (int i = 1; i < op->n_attrs; i++)
    if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
      return cel_verify_fail(v, op, "attribute %.60s is given twice", sorted[i]->name);
  return CEL_OK;
}

static bool is_terminator(const cel_hlo_op *op) {
  return op->opcode == CEL_HLO_RETURN || op->opcode == CEL_HLO_REGION_RETURN;
}

// Where a terminator may stand, and what func.return gives.
static cel_status check_terminator(cel_verify *v, const cel_hlo_op *op) {
  const cel_hlo_block *b = op->parent;
  cel_hlo_opcode want = b->parent_op ? CEL_HLO_REGION_RETURN : CEL_HLO_RETURN;
  if (op->next) return cel_verify_fail(v, op, "operations follow it in its block");
  if (op->opcode != want)
    return cel_verify_fail(v, op, "the block must end in %s", cel_hlo_opcode_name(want));
  if (want != CEL_HLO_RETURN) return CEL_OK;
  const cel_hlo_func *f = v->func;
  if (op->n_operands != f->n_results)
    return cel_verify_fail(v, op, "%d values, the function gives %d", op->n_operands, f->n_results);
  for (int i = 0; i < f->n_results; i++) {
    char got[160], said[160];
    if (cel_hlo_type_equal(op->operands[i]->type, f->result_types[i])) continue;
    cel_hlo_type_text(op->operands[i]->type, got, sizeof got);
    cel_hlo_type_text(f->result_types[i], said, sizeof said);
    return cel_verify_fail(v, op, "value %d is %s, the function says %s", i, got, said);
  }
  return CEL_OK;
}

static cel_status check_block(cel_verify *v, const cel_hlo_block *b);

static cel_status check_op(cel_verify *v, const cel_hlo_op *op) {
  CEL_TRY(check_operands(v, op));
  CEL_TRY(check_attrs(v, op));
  if (is_terminator(op)) CEL_TRY(check_terminator(v, op));
  for (int i = 0; i < op->n_regions; i++) {
    const cel_hlo_block *b = op->regions[i];
    if (!b) continue;
    if (b->parent_op != op || b->func != v->func) return cel_verify_fail(v, op, "region %d is not linked to it", i);
    CEL_TRY(check_block(v, b));
  }
  for (int i = 0; i < op->n_results; i++) {
    if (op->results[i].def != op || op->results[i].block != op->parent)
      return cel_verify_fail(v, op, "result %d is not linked to it", i);
    CEL_TRY(define(v, op, &op->results[i]));
  }
  if (cel_hlo_check(v->scratch, op, v->err) != CEL_OK) return cel_verify_locate(v, op);
  if (op->opcode == CEL_HLO_CALL || op->opcode == CEL_HLO_COMPOSITE) CEL_TRY(cel_verify_call(v, op));
  return CEL_OK;
}

static void forget(cel_verify *v, const cel_hlo_block *b) {
  for (int i = 0; i < b->n_args; i++) v->seen[b->args[i]->id] = NULL;
  for (const cel_hlo_op *op = b->first; op; op = op->next)
    for (int i = 0; i < op->n_results; i++) v->seen[op->results[i].id] = NULL;
}

static cel_status check_block(cel_verify *v, const cel_hlo_block *b) {
  for (int i = 0; i < b->n_args; i++) CEL_TRY(define(v, b->parent_op, b->args[i]));
  const cel_hlo_op *before = NULL;
  for (const cel_hlo_op *op = b->first; op; before = op, op = op->next) {
    if (op->parent != b || op->prev != before) return cel_verify_fail(v, op, "it is not linked into its block");
    CEL_TRY(check_op(v, op));
  }
  bool foreign = b->parent_op && b->parent_op->opcode == CEL_HLO_FOREIGN;
  if (!foreign && (!b->last || before != b->last || !is_terminator(b->last)))
    return cel_verify_fail(v, b->last ? b->last : b->parent_op, "the block does not end in %s",
                           b->parent_op ? "stablehlo.return" : "func.return");
  forget(v, b);
  return CEL_OK;
}

static cel_status check_func(cel_verify *v, const cel_hlo_func *f) {
  v->func = f;
  if (cel_hlo_find_func(v->m, f->name) != f) return cel_verify_fail(v, NULL, "there are two functions of this name");
  if (f->is_declaration) return CEL_OK;
  if (!f->body || f->body->parent_op || f->body->func != f) return cel_verify_fail(v, NULL, "the function has no body");
  v->seen = CEL_NEW_ARRAY(&v->scratch->arena, const cel_hlo_value *, f->n_values);
  if (!v->seen) return cel_fail_oom(v->err, "verifying a StableHLO module");
  return check_block(v, f->body);
}

cel_status cel_hlo_verify(const cel_hlo_module *m, cel_err *err) {
  cel_err own;  // messages are put together in place, so there must be one
  cel_verify v = {.m = m, .err = err ? err : &own};
  cel_status status = cel_hlo_module_new(NULL, &v.scratch, v.err);
  if (status != CEL_OK) return status;
  for (const cel_hlo_func *f = m->first_func; status == CEL_OK && f; f = f->next) status = check_func(&v, f);
  v.func = NULL;
  if (status == CEL_OK) status = cel_verify_recursion(&v);
  cel_hlo_module_free(v.scratch);
  return status;
}
