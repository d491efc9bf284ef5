// Control flow, calls, tuples: the operations that pass values on instead of computing elements.
#include <inttypes.h>
#include <stdlib.h>

#include "backend/xla/engine/native/ref/internal.h"

static cel_status call_symbol(cel_ref_frame *f, const cel_hlo_op *op, const char *attr, const cel_ref_value *in,
                              cel_ref_value *out) {
  cel_ref_run *run = f->run;
  const char *name = cel_ref_word(op, attr, "");
  const cel_hlo_func *fn = run->module ? cel_hlo_find_func(run->module, name) : NULL;
  if (!fn) return cel_fail(run->err, CEL_INVALID, "there is no function @%s", name);
  if (fn->n_results != op->n_results)
    return cel_fail(run->err, CEL_INVALID, "@%s has %d results, %d are expected", name, fn->n_results, op->n_results);
  return cel_ref_call_func(run, fn, in, op->n_operands, out);
}

static cel_status call(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  return call_symbol(f, op, "callee", in, out);
}

// A composite is its decomposition.
static cel_status composite(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  return call_symbol(f, op, "decomposition", in, out);
}

static cel_status branch(cel_ref_frame *f, const cel_hlo_op *op, int64_t chosen, cel_ref_value *out) {
  return cel_ref_block(f, op->regions[chosen], NULL, 0, out, op->n_results);
}

static cel_status scalar_int(cel_ref_frame *f, const cel_ref_value *v, int64_t *out) {
  const cel_hlo_type *t = v->t.type;
  if (t->kind != CEL_HLO_KIND_TENSOR || t->rank != 0 || (t->etype != CEL_ET_PRED && !cel_etype_is_int(t->etype)))
    return cel_fail(f->run->err, CEL_INVALID, "the condition or index is no integer scalar");
  *out = cel_ref_get_int(t->etype, v->t.data, 0);
  return CEL_OK;
}

static cel_status if_(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  int64_t pred;
  if (op->n_operands != 1 || op->n_regions != 2)
    return cel_fail(f->run->err, CEL_INVALID, "if needs one operand and two regions");
  CEL_TRY(scalar_int(f, &in[0], &pred));
  return branch(f, op, pred ? 0 : 1, out);
}

static cel_status case_(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  int64_t index;
  if (op->n_operands != 1 || op->n_regions < 1)
    return cel_fail(f->run->err, CEL_INVALID, "case needs one operand and at least one region");
  CEL_TRY(scalar_int(f, &in[0], &index));
  return branch(f, op, index < 0 || index >= op->n_regions ? op->n_regions - 1 : index, out);
}

// One turn: *go says whether the condition held; then `state` has been replaced.
static cel_status turn(cel_ref_frame *f, const cel_hlo_op *op, cel_ref_value *state, cel_ref_value *next, bool *go) {
  int n = op->n_operands;
  cel_ref_value cond;
  int64_t yes = 0;
  CEL_TRY(cel_ref_block(f, op->regions[0], state, n, &cond, 1));
  cel_status status = scalar_int(f, &cond, &yes);
  cel_ref_value_drop(f->run, &cond);
  *go = yes != 0;
  if (status != CEL_OK || !*go) return status;
  CEL_TRY(cel_ref_spend(f->run, 1));
  CEL_TRY(cel_ref_block(f, op->regions[1], state, n, next, n));
  for (int i = 0; i < n; i++) {
    cel_ref_value_drop(f->run, &state[i]);
    state[i] = next[i];
  }
  return CEL_OK;
}

static cel_status while_(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  int n = op->n_operands;
  if (op->n_regions != 2 || op->n_results != n)
    return cel_fail(f->run->err, CEL_INVALID, "while needs two regions and as many results as operands");
  cel_ref_value *next = calloc((size_t)n + 1, sizeof *next);
  if (!next) return cel_fail_oom(f->run->err, "the state of a loop");
  for (int i = 0; i < n; i++) out[i] = cel_ref_value_share(in[i]);
  cel_status status = CEL_OK;
  for (bool go = true; status == CEL_OK && go;) status = turn(f, op, out, next, &go);
  free(next);
  return status;
}

static cel_status tuple(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  if (op->n_results != 1 || op->results[0].type->kind != CEL_HLO_KIND_TUPLE ||
      op->results[0].type->n_parts != op->n_operands)
    return cel_fail(f->run->err, CEL_INVALID, "the result is no tuple of the operands");
  CEL_TRY(cel_ref_value_new(f->run, op->results[0].type, &out[0]));
  cel_ref_value *parts = out[0].t.data;
  for (int i = 0; i < op->n_operands; i++) parts[i] = cel_ref_value_share(in[i]);
  return CEL_OK;
}

static cel_status get_tuple_element(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in,
                                    cel_ref_value *out) {
  int64_t index = cel_hlo_attr_int(op, "index", -1);
  if (op->n_operands != 1 || in[0].t.type->kind != CEL_HLO_KIND_TUPLE || index < 0 || index >= in[0].t.type->n_parts)
    return cel_fail(f->run->err, CEL_INVALID, "element %" PRId64 " of something that has no such element", index);
  const cel_ref_value *parts = in[0].t.data;
  out[0] = cel_ref_value_share(parts[index]);
  return CEL_OK;
}

static cel_status optimization_barrier(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in,
                                       cel_ref_value *out) {
  if (op->n_operands != op->n_results)
    return cel_fail(f->run->err, CEL_INVALID, "%d operands, but %d results", op->n_operands, op->n_results);
  for (int i = 0; i < op->n_operands; i++) out[i] = cel_ref_value_share(in[i]);
  return CEL_OK;
}

// Row-major order stays as it is, so the memory is shared.
static cel_status reshape(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out) {
  const cel_hlo_type *to = op->results[0].type, *from = in[0].t.type;
  if (op->n_operands != 1 || to->kind != CEL_HLO_KIND_TENSOR || from->kind != CEL_HLO_KIND_TENSOR ||
      to->etype != from->etype || cel_hlo_elements(to) != cel_hlo_elements(from))
    return cel_fail(f->run->err, CEL_INVALID, "operand and result have different sizes or element types");
  out[0] = cel_ref_value_share(in[0]);
  out[0].t.type = to;
  return CEL_OK;
}

typedef cel_status control_fn(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out);

static control_fn *find(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_CALL: return call;
    case CEL_HLO_COMPOSITE: return composite;
    case CEL_HLO_IF: return if_;
    case CEL_HLO_CASE: return case_;
    case CEL_HLO_WHILE: return while_;
    case CEL_HLO_TUPLE: return tuple;
    case CEL_HLO_GET_TUPLE_ELEMENT: return get_tuple_element;
    case CEL_HLO_OPTIMIZATION_BARRIER: return optimization_barrier;
    case CEL_HLO_RESHAPE: return reshape;
    default: return NULL;
  }
}

bool cel_ref_is_control(cel_hlo_opcode op) { return find(op) != NULL; }

cel_status cel_ref_control(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out,
                           bool *done) {
  control_fn *fn = find(op->opcode);
  *done = fn != NULL;
  return fn ? fn(f, op, in, out) : CEL_OK;
}
