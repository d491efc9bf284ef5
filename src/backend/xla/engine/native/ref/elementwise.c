// Elementwise operations over whole tensors; scalar.c has what happens to one element.
#include <math.h>

#include "backend/xla/engine/native/ref/internal.h"

// ---- loops -------------------------------------------------------------------------------------

static bool same_shape(const cel_hlo_type *a, const cel_hlo_type *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d]) return false;
  return true;
}

static cel_etype part_of(cel_etype t) { return t == CEL_ET_C64 ? CEL_ET_F32 : CEL_ET_F64; }

// abs, real, imag of complex numbers give floats.
static cel_status complex_to_float(const cel_ref_call *c, int64_t n) {
  cel_etype t = c->in[0].type->etype;
  if (c->out[0].type->etype != part_of(t)) return cel_ref_misfit(c, "the result must have the type of the parts");
  for (int64_t i = 0; i < n; i++) {
    cel_ref_complex x = cel_ref_get_complex(t, c->in[0].data, i);
    double y = c->op->opcode == CEL_HLO_ABS ? cabs(x) : c->op->opcode == CEL_HLO_REAL ? creal(x) : cimag(x);
    cel_ref_put_float(part_of(t), c->out[0].data, i, y);
  }
  return CEL_OK;
}

static cel_status unary(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  cel_hlo_opcode op = c->op->opcode;
  cel_etype t = x->type->etype;
  int64_t n = cel_hlo_elements(x->type);
  cel_ref_unary f;
  if (c->op->n_operands != 1 || !same_shape(x->type, y->type)) return cel_ref_misfit(c, "operand and result differ");
  if (cel_ref_class(t) == 'C' && (op == CEL_HLO_ABS || op == CEL_HLO_REAL || op == CEL_HLO_IMAG))
    return complex_to_float(c, n);
  if (y->type->etype != t) return cel_ref_misfit(c, "operand and result have different element types");
  if (!cel_ref_unary_of(op, t, &f)) return cel_ref_refuse(c, x->type);
  for (int64_t i = 0; i < n; i++) cel_ref_apply1(&f, t, x->data, y->data, i);
  return CEL_OK;
}

static cel_status binary(const cel_ref_call *c) {
  const cel_ref_tensor *a = &c->in[0], *b = &c->in[1], *y = &c->out[0];
  cel_etype t = a->type->etype;
  cel_ref_binary f;
  if (c->op->n_operands != 2 || !same_shape(a->type, b->type) || !same_shape(a->type, y->type) ||
      b->type->etype != t || y->type->etype != t)
    return cel_ref_misfit(c, "operands and result have different types");
  if (!cel_ref_binary_of(c->op->opcode, t, &f)) return cel_ref_refuse(c, a->type);
  for (int64_t i = 0, n = cel_hlo_elements(a->type); i < n; i++)
    cel_ref_apply2(&f, t, a->data, i, b->data, i, y->data, i);
  return CEL_OK;
}

static cel_status is_finite(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0];
  if (!cel_etype_is_float(x->type->etype)) return cel_ref_refuse(c, x->type);
  if (!same_shape(x->type, c->out[0].type) || c->out[0].type->etype != CEL_ET_PRED)
    return cel_ref_misfit(c, "the result must be i1 of the operand's shape");
  for (int64_t i = 0, n = cel_hlo_elements(x->type); i < n; i++)
    cel_ref_put_int(CEL_ET_PRED, c->out[0].data, i, isfinite(cel_ref_get_float(x->type->etype, x->data, i)) ? 1 : 0);
  return CEL_OK;
}

static cel_status complex_(const cel_ref_call *c) {
  const cel_ref_tensor *re = &c->in[0], *im = &c->in[1], *y = &c->out[0];
  cel_etype t = re->type->etype;
  if (c->op->n_operands != 2 || cel_ref_class(y->type->etype) != 'C' || part_of(y->type->etype) != t ||
      im->type->etype != t || !same_shape(re->type, im->type) || !same_shape(re->type, y->type))
    return cel_ref_misfit(c, "operands and result do not fit");
  for (int64_t i = 0, n = cel_hlo_elements(y->type); i < n; i++)
    cel_ref_put_complex(y->type->etype, y->data, i,
                        cel_ref_complex_of(cel_ref_get_float(t, re->data, i), cel_ref_get_float(t, im->data, i)));
  return CEL_OK;
}

// ---- compare -----------------------------------------------------------------------------------

static unsigned wanted(const char *direction) {
  static const struct {
    char word[3];
    unsigned set;
  } table[] = {{"EQ", CEL_REF_SAME},
               {"NE", CEL_REF_BELOW | CEL_REF_ABOVE | CEL_REF_UNORDERED},
               {"GE", CEL_REF_SAME | CEL_REF_ABOVE},
               {"GT", CEL_REF_ABOVE},
               {"LE", CEL_REF_SAME | CEL_REF_BELOW},
               {"LT", CEL_REF_BELOW}};
  for (int i = 0; i < CEL_COUNT(table); i++)
    if (strcmp(direction, table[i].word) == 0) return table[i].set;
  return 0;
}

static cel_status compare(const cel_ref_call *c) {
  const cel_ref_tensor *a = &c->in[0], *b = &c->in[1], *y = &c->out[0];
  const char *direction = cel_ref_word(c->op, "comparison_direction", "");
  unsigned set = wanted(direction);
  bool total = strcmp(cel_ref_word(c->op, "compare_type", ""), "TOTALORDER") == 0;
  if (!set) return cel_fail(c->err, CEL_INVALID, "compare: direction \"%s\" is none of EQ NE GE GT LE LT", direction);
  if (c->op->n_operands != 2 || a->type->etype != b->type->etype || !same_shape(a->type, b->type) ||
      !same_shape(a->type, y->type) || y->type->etype != CEL_ET_PRED)
    return cel_ref_misfit(c, "operands differ, or the result is not i1 of their shape");
  for (int64_t i = 0, n = cel_hlo_elements(a->type); i < n; i++)
    cel_ref_put_int(CEL_ET_PRED, y->data, i, (cel_ref_order(a->type->etype, a->data, b->data, i, total) & set) != 0);
  return CEL_OK;
}

// ---- three operands ----------------------------------------------------------------------------

static cel_status select(const cel_ref_call *c) {
  const cel_ref_tensor *pred = &c->in[0], *yes = &c->in[1], *no = &c->in[2], *y = &c->out[0];
  if (c->op->n_operands != 3 || pred->type->etype != CEL_ET_PRED || yes->type->etype != no->type->etype ||
      yes->type->etype != y->type->etype || !same_shape(yes->type, no->type) || !same_shape(yes->type, y->type) ||
      (pred->type->rank && !same_shape(pred->type, yes->type)))
    return cel_ref_misfit(c, "operands and result do not fit");
  int64_t step = pred->type->rank ? 1 : 0;
  int bytes = cel_ref_bytes(y->type->etype);
  for (int64_t i = 0, n = cel_hlo_elements(y->type); i < n; i++) {
    const cel_ref_tensor *from = cel_ref_get_int(CEL_ET_PRED, pred->data, i * step) ? yes : no;
    cel_ref_move(bytes, from->data, i, y->data, i);
  }
  return CEL_OK;
}

// minimum(maximum(x, low), high)
static cel_status clamp(const cel_ref_call *c) {
  const cel_ref_tensor *lo = &c->in[0], *x = &c->in[1], *hi = &c->in[2], *y = &c->out[0];
  cel_etype t = x->type->etype;
  if (c->op->n_operands != 3 || lo->type->etype != t || hi->type->etype != t || y->type->etype != t ||
      !same_shape(x->type, y->type) || (lo->type->rank && !same_shape(lo->type, x->type)) ||
      (hi->type->rank && !same_shape(hi->type, x->type)))
    return cel_ref_misfit(c, "operands and result do not fit");
  cel_ref_binary maximum, minimum;
  if (!cel_ref_binary_of(CEL_HLO_MAXIMUM, t, &maximum) || !cel_ref_binary_of(CEL_HLO_MINIMUM, t, &minimum))
    return cel_ref_refuse(c, x->type);
  int64_t lo_step = lo->type->rank ? 1 : 0, hi_step = hi->type->rank ? 1 : 0;
  for (int64_t i = 0, n = cel_hlo_elements(x->type); i < n; i++) {
    cel_ref_apply2(&maximum, t, x->data, i, lo->data, i * lo_step, y->data, i);
    cel_ref_apply2(&minimum, t, y->data, i, hi->data, i * hi_step, y->data, i);
  }
  return CEL_OK;
}

// ------------------------------------------------------------------------------------------------

cel_ref_fn *cel_ref_find_elementwise(cel_hlo_opcode op) {
  cel_ref_unary u;
  cel_ref_binary b;
  if (cel_ref_unary_of(op, CEL_ET_F32, &u) || cel_ref_unary_of(op, CEL_ET_I32, &u)) return unary;
  if (cel_ref_binary_of(op, CEL_ET_F32, &b) || cel_ref_binary_of(op, CEL_ET_I32, &b)) return binary;
  switch (op) {
    case CEL_HLO_IS_FINITE: return is_finite;
    case CEL_HLO_COMPLEX: return complex_;
    case CEL_HLO_COMPARE: return compare;
    case CEL_HLO_SELECT: return select;
    case CEL_HLO_CLAMP: return clamp;
    default: return NULL;
  }
}
