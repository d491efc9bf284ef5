// Composites of mixtures of experts: the choice, and products with the chosen experts' weights alone.
//   mlxcel.top_k           (x f32 [rows, n]) {k}                                  -> i32 [rows, k]
//   mlxcel.expert_linear   (x [N, in], ids i32 [N, k], weight..., [bias [E * out]])  -> [N, k, out]
//   mlxcel.expert_combine  (a [N, k, in], ids, weights [N, k], weight..., [bias])   -> [N, out]
// {format, bits, group, biased: the last operand is a bias, of any float type}
#include <string.h>

#include "backend/xla/engine/native/plan/plan.h"

static bool named(const cel_hlo_op *op, const char *name) {
  const cel_hlo_attr *a = cel_hlo_find_attr(op, "name");
  return a && a->kind == CEL_HLO_ATTR_STRING && !strcmp(a->s, name);
}

static int64_t number(const cel_hlo_op *op, const char *name) {
  const cel_hlo_attr *a = cel_plan_attribute(op, name);
  return a && (a->kind == CEL_HLO_ATTR_INT || a->kind == CEL_HLO_ATTR_BOOL) ? a->i : 0;
}

static bool is(const cel_hlo_type *t, cel_etype e, int rank) { return t->etype == e && t->rank == rank; }

static bool has_top_k(const cel_hlo_op *op) {
  if (op->n_operands != 1 || op->n_results != 1) return false;
  const cel_hlo_type *x = op->operands[0]->type, *y = op->results[0].type;
  int64_t k = number(op, "k");
  return is(x, CEL_ET_F32, 2) && is(y, CEL_ET_I32, 2) && x->dims[0] == y->dims[0] && y->dims[1] == k && k > 0 &&
         k <= x->dims[1];
}

// Where the operands are.
typedef struct operands {
  bool combine, biased;
  int first, n;  // of the weight
} operands;

static operands operands_of(const cel_hlo_op *op) {
  operands o = {.combine = named(op, "mlxcel.expert_combine"), .biased = number(op, "biased") != 0};
  o.first = o.combine ? 3 : 2;
  o.n = op->n_operands - o.first - o.biased;
  return o;
}

static bool fits(const cel_hlo_op *op, operands o) {
  const cel_hlo_type *x = op->operands[0]->type, *ids = op->operands[1]->type, *y = op->results[0].type;
  const cel_hlo_type *w = op->operands[o.first]->type;
  if (!is(ids, CEL_ET_I32, 2) || !is(x, CEL_ET_F32, o.combine ? 3 : 2) || !is(y, CEL_ET_F32, o.combine ? 2 : 3))
    return false;
  int64_t n = ids->dims[0], k = ids->dims[1], rows = w->dims[1];
  if (w->rank != 3 || w->dims[0] < 1 || rows < 1 || k < 1 || n < 1 || n * k > INT32_MAX / 2 || x->dims[0] != n ||
      y->dims[0] != n)
    return false;
  if (o.biased) {
    const cel_hlo_type *b = op->operands[op->n_operands - 1]->type;
    bool is_float = b->etype == CEL_ET_F32 || b->etype == CEL_ET_F16 || b->etype == CEL_ET_BF16;
    if (!is_float || b->rank != 1 || b->dims[0] != w->dims[0] * rows) return false;
  }
  if (!o.combine) return y->dims[1] == k && y->dims[2] == rows;
  const cel_hlo_type *weights = op->operands[2]->type;
  return is(weights, CEL_ET_F32, 2) && weights->dims[0] == n && weights->dims[1] == k && x->dims[1] == k &&
         y->dims[1] == rows;
}

bool cel_plan_has_experts(const cel_hlo_op *op) {
  if (named(op, "mlxcel.top_k")) return has_top_k(op);
  operands o = operands_of(op);
  cel_linear_format f;
  if (o.n < 1 || op->n_results != 1) return false;
  const cel_hlo_type *x = op->operands[0]->type;
  return cel_plan_weight_format(op, o.first, o.n, x->rank ? x->dims[x->rank - 1] : 0, &f) && fits(op, o);
}

// ---- steps -----------------------------------------------------------------------------------------

static cel_status top_k_step(cel_plan *p, const cel_node *n, cel_err *err) {
  cel_step *s = cel_plan_step(p, CEL_STEP_TOP_K, n);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  const cel_hlo_type *x = n->op->operands[0]->type;
  s->u.top_k.rows = x->dims[0];
  s->u.top_k.n = x->dims[1];
  s->u.top_k.k = number(n->op, "k");
  s->solo = cel_hlo_elements(x) < 8192;
  return CEL_OK;
}

// The matrices of a stack, one pointer each: parts as they lie, or cut out of one piece.
static const uint8_t *const *pieces(cel_plan *p, int slot, int64_t n) {
  const cel_slot *s = &p->slots[cel_plan_root(p, slot)];
  const void *const *parts = s->kind == CEL_SLOT_PARAM && p->parts ? p->parts[s->index] : NULL;
  const uint8_t *whole = parts ? NULL : cel_plan_bytes(p, slot);
  if (!parts && !whole) return NULL;
  const uint8_t **out = CEL_NEW_ARRAY(&p->memory, const uint8_t *, n);
  for (int64_t i = 0; out && i < n; i++) {
    out[i] = parts ? parts[i] : whole + i * (s->bytes / n);
    if (!out[i]) return NULL;  // fewer parts than experts
  }
  return parts && parts[n] ? NULL : out;
}

static cel_status fill_stack(cel_plan *p, const cel_node *n, operands o, cel_expert_stack *out, cel_err *err) {
  const cel_hlo_type *x = n->op->operands[0]->type;
  int64_t experts = n->op->operands[o.first]->type->dims[0];
  int last = n->n_in - 1;
  *out = (cel_expert_stack){.bias_type = n->op->operands[last]->type->etype, .y = n->out[0]};
  bool ok = cel_plan_weight(p, n, o.first, o.n, x->dims[x->rank - 1], &out->w);
  ok = ok && (out->weights = pieces(p, n->in[o.first], experts)) != NULL;
  ok = ok && (o.n < 2 || (out->scales = pieces(p, n->in[o.first + 1], experts)) != NULL);
  ok = ok && (o.n < 3 || (out->biases = pieces(p, n->in[o.first + 2], experts)) != NULL);
  ok = ok && (!o.biased || (out->bias = pieces(p, n->in[last], experts)) != NULL);
  if (ok) return CEL_OK;
  return cel_fail(err, CEL_INVALID,
                  "%s: the experts' weights must be bound when the program is compiled, as many as there are experts",
                  n->op->path ? n->op->path : "mlxcel.expert_linear");
}

// gate and up: the same rows, the same choice, one packing.
static cel_step *open_experts(cel_plan *p, const cel_node *n, const cel_expert_stack *stack) {
  cel_step *s = p->n_steps ? &p->steps[p->n_steps - 1] : NULL;
  if (!s || s->kind != CEL_STEP_EXPERTS || s->u.experts->combine || s->u.experts->n == CEL_EXPERT_STACKS) return NULL;
  bool same = cel_plan_root(p, s->in[0]) == cel_plan_root(p, n->in[0]) &&
              cel_plan_root(p, s->in[1]) == cel_plan_root(p, n->in[1]);
  return same && cel_linear_same_pack(&s->u.experts->stack[0].w, &stack->w) ? s : NULL;
}

static cel_step *new_experts(cel_plan *p, const cel_node *n, operands o, const cel_expert_stack *stack) {
  const cel_hlo_type *ids = n->op->operands[1]->type;
  cel_step *s = cel_plan_step(p, CEL_STEP_EXPERTS, n);
  cel_experts *e = s ? CEL_NEW(&p->memory, cel_experts) : NULL;
  if (!e) return NULL;
  s->n_in = o.first;  // the weights are read through their own pointers
  s->n_out = 0;
  *e = (cel_experts){.combine = o.combine,
                     .experts = n->op->operands[o.first]->type->dims[0],
                     .tokens = ids->dims[0],
                     .k = ids->dims[1],
                     .pack_bytes = cel_linear_pack_bytes(&stack->w),
                     .private_pack = ids->dims[0] <= 4};
  e->sources = e->combine ? e->tokens * e->k : e->tokens;
  s->u.experts = e;
  return s;
}

cel_status cel_plan_experts(cel_plan *p, const cel_node *n, cel_err *err) {
  if (named(n->op, "mlxcel.top_k")) return top_k_step(p, n, err);
  operands o = operands_of(n->op);
  cel_expert_stack stack;
  CEL_TRY(fill_stack(p, n, o, &stack, err));
  cel_step *s = o.combine ? NULL : open_experts(p, n, &stack);
  if (!s) s = new_experts(p, n, o, &stack);
  if (!s) return cel_fail_oom(err, "the plan's steps");
  s->u.experts->stack[s->u.experts->n++] = stack;
  s->out[s->n_out++] = stack.y;
  return CEL_OK;
}

// ---- memory ----------------------------------------------------------------------------------------

// The next place for `bytes` in something that is *end long.
static int64_t claim(int64_t *end, int64_t bytes) {
  int64_t at = *end;
  *end += (bytes + 63) & ~(int64_t)63;
  return at;
}

void cel_plan_experts_space(const cel_plan *p, cel_experts *e, int64_t *shared, int64_t *scratch) {
  int64_t rows = 0, mul = 0, pairs = e->tokens * e->k;
  for (int i = 0; i < e->n; i++) {
    rows = CEL_MAX(rows, e->stack[i].w.rows);
    int64_t bytes = cel_linear_scratch_bytes(&e->stack[i].w);
    mul = CEL_MAX(mul, bytes);
  }
  int64_t mine = (rows + 7) / 8 / p->n_threads * 8 + 8, most = CEL_MIN(e->tokens, CEL_EXPERT_BLOCK);
  *shared = *scratch = 0;
  e->order_at = claim(scratch, (e->experts + 1 + pairs) * (int64_t)sizeof(int32_t));
  e->packs_at = claim(e->private_pack ? scratch : shared, e->sources * e->pack_bytes);
  e->block_at = claim(scratch, most > 1 ? most * e->pack_bytes : 0);
  e->temp_at = claim(scratch, most > 1 ? most * mine * (int64_t)sizeof(float) : 0);
  e->scratch_at = claim(scratch, mul);
  e->products_at = e->combine ? claim(shared, pairs * rows * (int64_t)sizeof(float)) : 0;
}
