// Functions, blocks and operations: values are kept in frames and dropped after their last use.
#include "backend/xla/engine/native/ref/internal.h"

#include <stdlib.h>

// ---- frames ------------------------------------------------------------------------------------

static cel_ref_value *slot_of(const cel_ref_frame *f, const cel_hlo_value *v) {
  return v->id >= f->first && v->id - f->first < f->n ? &f->slots[v->id - f->first] : NULL;
}

// The operation of v's own block that contains (or is) op.
static const cel_hlo_op *user_in_block(const cel_hlo_value *v, const cel_hlo_op *op) {
  while (op && op->parent != v->block) op = op->parent ? op->parent->parent_op : NULL;
  return op;
}

static void note_uses(cel_ref_frame *f, const cel_hlo_op *op) {
  for (int i = 0; i < op->n_operands; i++)
    if (slot_of(f, op->operands[i])) f->last_use[op->operands[i]->id - f->first] = user_in_block(op->operands[i], op);
  for (int r = 0; r < op->n_regions; r++)
    for (const cel_hlo_op *o = op->regions[r] ? op->regions[r]->first : NULL; o; o = o->next) note_uses(f, o);
}

// The smallest and largest value id a block and its regions define.
static void id_range(const cel_hlo_block *b, int *lo, int *hi) {
  for (int i = 0; i < b->n_args; i++) {
    *lo = CEL_MIN(*lo, b->args[i]->id);
    *hi = CEL_MAX(*hi, b->args[i]->id);
  }
  for (const cel_hlo_op *op = b->first; op; op = op->next) {
    for (int i = 0; i < op->n_results; i++) {
      *lo = CEL_MIN(*lo, op->results[i].id);
      *hi = CEL_MAX(*hi, op->results[i].id);
    }
    for (int r = 0; r < op->n_regions; r++)
      if (op->regions[r]) id_range(op->regions[r], lo, hi);
  }
}

static cel_status frame_init(cel_ref_frame *f, cel_ref_run *run, int lo, int hi) {
  *f = (cel_ref_frame){.run = run, .first = lo, .n = hi >= lo ? hi - lo + 1 : 0};
  f->slots = calloc((size_t)f->n + 1, sizeof *f->slots);
  f->last_use = calloc((size_t)f->n + 1, sizeof *f->last_use);
  return f->slots && f->last_use ? CEL_OK : cel_fail_oom(run->err, "the values of a function");
}

static void frame_deinit(cel_ref_frame *f) {
  for (int i = 0; f->slots && i < f->n; i++) cel_ref_value_drop(f->run, &f->slots[i]);
  free(f->slots);
  free(f->last_use);
}

// ---- one operation -----------------------------------------------------------------------------

cel_ref_fn *cel_ref_find(cel_hlo_opcode op) {
  cel_ref_fn *fn = cel_ref_find_elementwise(op);
  if (!fn) fn = cel_ref_find_convert(op);
  if (!fn) fn = cel_ref_find_shape(op);
  if (!fn) fn = cel_ref_find_index(op);
  if (!fn) fn = cel_ref_find_reduce(op);
  if (!fn) fn = cel_ref_find_sort(op);
  if (!fn && op == CEL_HLO_DOT_GENERAL) fn = cel_ref_dot_general;
  if (!fn && op == CEL_HLO_CONVOLUTION) fn = cel_ref_convolution;
  if (!fn && op == CEL_HLO_RNG_BIT_GENERATOR) fn = cel_ref_rng_bit_generator;
  return fn;
}

bool cel_ref_knows(cel_hlo_opcode op) { return cel_ref_find(op) || cel_ref_is_control(op); }

static int64_t size_of(const cel_ref_tensor *t) {
  return t->type->kind == CEL_HLO_KIND_TENSOR ? cel_hlo_elements(t->type) : 1;
}

// Into buffers. Tokens and tuples reach no function that works on buffers.
static cel_status into_buffers(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_tensor *in,
                               const cel_ref_tensor *out) {
  cel_ref_fn *fn = cel_ref_find(op->opcode);
  if (!fn) return cel_fail(f->run->err, CEL_UNSUPPORTED, "%s is not evaluated", op->name);
  cel_ref_call call = {f, op, in, out, f->run->err};
  bool source = op->opcode == CEL_HLO_CONSTANT || op->opcode == CEL_HLO_IOTA;
  if (op->n_results < 1 || (op->n_operands < 1 && !source))
    return cel_ref_misfit(&call, "operands or results are missing");
  for (int i = 0; i < op->n_operands; i++)
    if (in[i].type->kind != CEL_HLO_KIND_TENSOR) return cel_ref_refuse(&call, in[i].type);
  for (int i = 0; i < op->n_results; i++) {
    if (out[i].type->kind != CEL_HLO_KIND_TENSOR) return cel_ref_refuse(&call, out[i].type);
    CEL_TRY(cel_ref_spend(f->run, size_of(&out[i])));
  }
  return fn(&call);
}

static cel_status find_operand(const cel_ref_frame *f, const cel_hlo_value *v, cel_ref_value *out) {
  const cel_ref_value *s = slot_of(f, v);
  *out = s ? *s : (cel_ref_value){0};
  if (!out->t.type && f->lookup && f->lookup(f->lookup_context, v, &out->t)) out->owner = NULL;
  if (!out->t.type || (v->type->kind == CEL_HLO_KIND_TENSOR && !out->t.data))
    return cel_fail(f->run->err, CEL_INVALID, "value %%%s (id %d) is used before it has a value",
                    v->name ? v->name : "", v->id);
  return CEL_OK;
}

static bool equal_types(const cel_hlo_type *a, const cel_hlo_type *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->etype != b->etype || a->rank != b->rank || a->n_parts != b->n_parts) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  for (int i = 0; i < a->n_parts; i++)
    if (!equal_types(a->parts[i], b->parts[i])) return false;
  return true;
}

// Fails when the module's own types and those of the values differ: everything after relies on them.
static cel_status same_type(cel_ref_run *run, const cel_hlo_type *want, const cel_hlo_type *got, const char *what,
                            int i) {
  char a[128], b[128];
  if (equal_types(want, got)) return CEL_OK;
  cel_hlo_type_text(want, a, (int)sizeof a);
  cel_hlo_type_text(got, b, (int)sizeof b);
  return cel_fail(run->err, CEL_INVALID, "%s %d has type %s, it should be %s", what, i, b, a);
}

static cel_status make_results(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_value *out,
                               cel_ref_tensor *tensors) {
  for (int i = 0; i < op->n_operands; i++) tensors[i] = in[i].t;
  for (int i = 0; i < op->n_results; i++) {
    CEL_TRY(cel_ref_value_new(f->run, op->results[i].type, &out[i]));
    tensors[op->n_operands + i] = out[i].t;
  }
  return into_buffers(f, op, tensors, tensors + op->n_operands);
}

// Foreign operations and custom calls have operands only.
static cel_status foreign(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_value *in, cel_ref_tensor *tensors) {
  cel_ref_run *run = f->run;
  const char *target = op->opcode == CEL_HLO_CUSTOM_CALL ? cel_ref_word(op, "call_target_name", "?") : "";
  for (int i = 0; i < op->n_operands; i++) tensors[i] = in[i].t;
  if (run->foreign && op->n_results == 0) return run->foreign(run->foreign_context, op, tensors, run->err);
  return cel_fail(run->err, CEL_UNSUPPORTED, "%s%s%s is not evaluated", op->name, *target ? " @" : "", target);
}

static cel_status eval_in(cel_ref_frame *f, const cel_hlo_op *op, cel_ref_value *in, cel_ref_value *out,
                          cel_ref_tensor *tensors) {
  for (int i = 0; i < op->n_operands; i++) {
    CEL_TRY(find_operand(f, op->operands[i], &in[i]));
    CEL_TRY(same_type(f->run, op->operands[i]->type, in[i].t.type, "operand", i));
  }
  CEL_TRY(cel_ref_spend(f->run, 1));
  if (op->opcode == CEL_HLO_FOREIGN || op->opcode == CEL_HLO_CUSTOM_CALL) return foreign(f, op, in, tensors);
  bool done = false;
  CEL_TRY(cel_ref_control(f, op, in, out, &done));
  return done ? CEL_OK : make_results(f, op, in, out, tensors);
}

// Puts the operation's name and place before a message, once.
static cel_status place(cel_ref_run *run, const cel_hlo_op *op, cel_status status) {
  if (run->placed || !run->err || status == CEL_OOM) return status;
  run->placed = true;
  bool named = strncmp(run->err->text, op->name, strlen(op->name)) == 0;
  if (!named) status = cel_err_prefix(run->err, "%s", op->name);
  if (op->path) return cel_err_prefix(run->err, "%s", op->path);
  return op->line ? cel_err_prefix(run->err, "line %d", op->line) : status;
}

// Evaluates op and puts its results into the frame.
static cel_status eval_op(cel_ref_frame *f, const cel_hlo_op *op) {
  enum { FEW = 8 };
  cel_ref_value few[2 * FEW] = {{{0}, 0}}, *values = few;
  cel_ref_tensor few_tensors[2 * FEW], *tensors = few_tensors;
  int n = op->n_operands + op->n_results;
  if (n > 2 * FEW) {
    values = calloc((size_t)n, sizeof *values);
    tensors = calloc((size_t)n, sizeof *tensors);
  }
  cel_ref_value *out = values ? values + op->n_operands : NULL;
  cel_status status =
      values && tensors ? eval_in(f, op, values, out, tensors) : cel_fail_oom(f->run->err, "operands");
  for (int i = 0; out && i < op->n_results; i++) {
    cel_ref_value *s = slot_of(f, &op->results[i]);
    if (status == CEL_OK && s) {
      cel_ref_value_drop(f->run, s);
      *s = out[i];
    } else {
      cel_ref_value_drop(f->run, &out[i]);
    }
  }
  if (values != few) free(values);
  if (tensors != few_tensors) free(tensors);
  return status == CEL_OK ? status : place(f->run, op, status);
}

// ---- blocks and functions ----------------------------------------------------------------------

static void drop_dead(cel_ref_frame *f, const cel_hlo_block *b, const cel_hlo_op *op) {
  for (int i = 0; i < op->n_operands; i++) {
    const cel_hlo_value *v = op->operands[i];
    cel_ref_value *s = slot_of(f, v);
    if (s && v->block == b && f->last_use[v->id - f->first] == op) cel_ref_value_drop(f->run, s);
  }
  for (int i = 0; i < op->n_results; i++)
    if (slot_of(f, &op->results[i]) && !f->last_use[op->results[i].id - f->first])
      cel_ref_value_drop(f->run, slot_of(f, &op->results[i]));
}

static void drop_all(cel_ref_frame *f, const cel_hlo_block *b) {
  for (int i = 0; i < b->n_args; i++)
    if (slot_of(f, b->args[i])) cel_ref_value_drop(f->run, slot_of(f, b->args[i]));
  for (const cel_hlo_op *op = b->first; op; op = op->next)
    for (int i = 0; i < op->n_results; i++)
      if (slot_of(f, &op->results[i])) cel_ref_value_drop(f->run, slot_of(f, &op->results[i]));
}

static cel_status run_ops(cel_ref_frame *f, const cel_hlo_block *b, cel_ref_value *results, int n_results) {
  for (const cel_hlo_op *op = b->first; op && op != b->last; op = op->next) {
    CEL_TRY(eval_op(f, op));
    drop_dead(f, b, op);
  }
  const cel_hlo_op *end = b->last;
  if (!end || (end->opcode != CEL_HLO_RETURN && end->opcode != CEL_HLO_REGION_RETURN))
    return cel_fail(f->run->err, CEL_INVALID, "a block ends without a return");
  if (end->n_operands != n_results)
    return cel_fail(f->run->err, CEL_INVALID, "a block returns %d values, %d are expected", end->n_operands,
                    n_results);
  for (int i = 0; i < n_results; i++) {
    cel_ref_value v;
    CEL_TRY(find_operand(f, end->operands[i], &v));
    results[i] = cel_ref_value_share(v);
  }
  return CEL_OK;
}

cel_status cel_ref_block(cel_ref_frame *f, const cel_hlo_block *b, const cel_ref_value *args, int n_args,
                         cel_ref_value *results, int n_results) {
  cel_ref_run *run = f->run;
  for (int i = 0; i < n_results; i++) results[i] = (cel_ref_value){0};
  if (!b) return cel_fail(run->err, CEL_INVALID, "an empty region is evaluated");
  if (b->n_args != n_args)
    return cel_fail(run->err, CEL_INVALID, "a region has %d arguments, %d are given", b->n_args, n_args);
  if (run->depth >= run->max_depth)
    return cel_fail(run->err, CEL_TOO_LONG,
                    "calls and regions are nested deeper than %d, the limit of this evaluation", run->max_depth);
  for (int i = 0; i < n_args; i++) {
    CEL_TRY(same_type(run, b->args[i]->type, args[i].t.type, "argument", i));
    cel_ref_value *s = slot_of(f, b->args[i]);
    if (s) *s = cel_ref_value_share(args[i]);
  }
  run->depth++;
  cel_status status = run_ops(f, b, results, n_results);
  run->depth--;
  drop_all(f, b);
  for (int i = 0; status != CEL_OK && i < n_results; i++) cel_ref_value_drop(run, &results[i]);
  return status;
}

cel_status cel_ref_call_func(cel_ref_run *run, const cel_hlo_func *fn, const cel_ref_value *args, int n,
                             cel_ref_value *results) {
  if (!fn->body) return cel_fail(run->err, CEL_UNSUPPORTED, "function @%s has no body", fn->name);
  int lo = INT32_MAX, hi = -1;
  id_range(fn->body, &lo, &hi);
  cel_ref_frame f;
  cel_status status = frame_init(&f, run, lo, hi);
  if (status == CEL_OK) {
    for (const cel_hlo_op *op = fn->body->first; op; op = op->next) note_uses(&f, op);
    status = cel_ref_block(&f, fn->body, args, n, results, fn->n_results);
    for (int i = 0; status == CEL_OK && i < fn->n_results; i++)
      status = same_type(run, fn->result_types[i], results[i].t.type, "result", i);
  }
  frame_deinit(&f);
  return status;
}

// ---- the public functions ----------------------------------------------------------------------

void cel_ref_tensor_free(cel_ref_tensor *t) {
  if (!t->type) return;
  cel_ref_tensor *parts = t->data;
  for (int i = 0; t->type->kind == CEL_HLO_KIND_TUPLE && parts && i < t->type->n_parts; i++)
    cel_ref_tensor_free(&parts[i]);
  free(t->data);
  *t = (cel_ref_tensor){0};
}

// Values to tensors of the caller's own, made with malloc.
static cel_status copy_out(cel_ref_run *run, const cel_ref_value *v, cel_ref_tensor *out) {
  const cel_hlo_type *t = v->t.type;
  size_t bytes = t->kind == CEL_HLO_KIND_TENSOR ? (size_t)cel_hlo_bytes(t) : 0;
  if (t->kind == CEL_HLO_KIND_TUPLE) bytes = (size_t)t->n_parts * sizeof(cel_ref_tensor);
  *out = (cel_ref_tensor){t, calloc(1, bytes + 1)};
  if (!out->data) return cel_fail_oom(run->err, "a result");
  if (t->kind == CEL_HLO_KIND_TENSOR) memcpy(out->data, v->t.data, bytes);
  const cel_ref_value *from = v->t.data;
  for (int i = 0; t->kind == CEL_HLO_KIND_TUPLE && i < t->n_parts; i++)
    CEL_TRY(copy_out(run, &from[i], (cel_ref_tensor *)out->data + i));
  return CEL_OK;
}

// Tensors to values; tuples are taken apart into borrowed values.
static cel_status borrow(cel_ref_run *run, const cel_ref_tensor *t, cel_ref_value *out) {
  *out = (cel_ref_value){*t, NULL};
  if (t->type->kind != CEL_HLO_KIND_TUPLE) return CEL_OK;
  CEL_TRY(cel_ref_value_new(run, t->type, out));
  for (int i = 0; i < t->type->n_parts; i++)
    CEL_TRY(borrow(run, (const cel_ref_tensor *)t->data + i, (cel_ref_value *)out->t.data + i));
  return CEL_OK;
}

cel_status cel_ref_eval_func(const cel_hlo_module *m, const cel_hlo_func *f, const cel_ref_tensor *args, int n,
                             cel_ref_tensor *results, const cel_ref_limits *limits, cel_err *err) {
  cel_ref_run run;
  cel_ref_run_init(&run, m, limits, err);
  for (int i = 0; i < f->n_results; i++) results[i] = (cel_ref_tensor){0};
  cel_ref_value *in = calloc((size_t)n + 1, sizeof *in), *out = calloc((size_t)f->n_results + 1, sizeof *out);
  cel_status status = in && out ? CEL_OK : cel_fail_oom(err, "arguments");
  for (int i = 0; status == CEL_OK && i < n; i++) status = borrow(&run, &args[i], &in[i]);
  if (status == CEL_OK) status = cel_ref_call_func(&run, f, in, n, out);
  for (int i = 0; status == CEL_OK && i < f->n_results; i++) status = copy_out(&run, &out[i], &results[i]);
  for (int i = 0; out && i < f->n_results; i++) cel_ref_value_drop(&run, &out[i]);
  for (int i = 0; in && i < n; i++) cel_ref_value_drop(&run, &in[i]);
  free(in);
  free(out);
  for (int i = 0; status != CEL_OK && i < f->n_results; i++) cel_ref_tensor_free(&results[i]);
  return status;
}

static cel_status op_in_frame(cel_ref_frame *f, const cel_hlo_op *op, const cel_ref_tensor *operands,
                              const cel_ref_tensor *results) {
  cel_ref_run *run = f->run;
  int n = op->n_operands + op->n_results;
  cel_ref_value *values = calloc((size_t)n + 1, sizeof *values), *out = values ? values + op->n_operands : NULL;
  if (!values) return cel_fail_oom(run->err, "operands");
  cel_status status = CEL_OK;
  for (int i = 0; status == CEL_OK && i < op->n_results; i++)
    if (results[i].type->kind == CEL_HLO_KIND_TUPLE)
      status = cel_fail(run->err, CEL_UNSUPPORTED, "%s with a tuple as result", op->name);
  for (int i = 0; status == CEL_OK && i < op->n_operands; i++) status = borrow(run, &operands[i], &values[i]);
  bool done = false;
  if (status == CEL_OK) status = cel_ref_control(f, op, values, out, &done);
  if (status == CEL_OK && !done) status = into_buffers(f, op, operands, results);
  for (int i = 0; i < op->n_results; i++) {
    if (status == CEL_OK && done) status = same_type(run, results[i].type, out[i].t.type, "result", i);
    if (status == CEL_OK && done && results[i].type->kind == CEL_HLO_KIND_TENSOR)
      memcpy(results[i].data, out[i].t.data, (size_t)cel_hlo_bytes(results[i].type));
    cel_ref_value_drop(run, &out[i]);
  }
  for (int i = 0; i < op->n_operands; i++) cel_ref_value_drop(run, &values[i]);
  free(values);
  return status == CEL_OK ? status : place(run, op, status);
}

cel_status cel_ref_op(const cel_hlo_module *m, const cel_hlo_op *op, const cel_ref_tensor *operands,
                      const cel_ref_tensor *results, cel_ref_lookup *lookup, void *context,
                      const cel_ref_limits *limits, cel_err *err) {
  cel_ref_run run;
  cel_ref_run_init(&run, m, limits, err);
  for (int i = 0; i < op->n_operands; i++)
    CEL_TRY(same_type(&run, op->operands[i]->type, operands[i].type, "operand", i));
  for (int i = 0; i < op->n_results; i++) CEL_TRY(same_type(&run, op->results[i].type, results[i].type, "result", i));
  int lo = INT32_MAX, hi = -1;
  for (int r = 0; r < op->n_regions; r++)
    if (op->regions[r]) id_range(op->regions[r], &lo, &hi);
  cel_ref_frame f;
  cel_status status = frame_init(&f, &run, lo, hi);
  f.lookup = lookup;
  f.lookup_context = context;
  if (status == CEL_OK) {
    note_uses(&f, op);
    status = op_in_frame(&f, op, operands, results);
  }
  frame_deinit(&f);
  return status;
}
