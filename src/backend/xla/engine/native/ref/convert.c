// convert, bitcast_convert, reduce_precision.
#include "backend/xla/engine/native/ref/internal.h"

static cel_status convert(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  int64_t n = cel_hlo_elements(x->type);
  if (n != cel_hlo_elements(y->type)) return cel_ref_misfit(c, "operand and result have different shapes");
  for (int64_t i = 0; i < n; i++) cel_ref_convert_element(x->type->etype, x->data, i, y->type->etype, y->data, i);
  return CEL_OK;
}

// Narrow elements make up wide ones little end first; sub-byte types count their own bits, not their byte's.
static cel_status bitcast_convert(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  cel_etype from = x->type->etype, to = y->type->etype;
  int64_t nx = cel_hlo_elements(x->type), ny = cel_hlo_elements(y->type);
  int from_bits = cel_ref_bits(from), to_bits = cel_ref_bits(to);
  if (from_bits <= 0 || to_bits <= 0 || nx > INT64_MAX / 128 || ny > INT64_MAX / 128 ||
      nx * from_bits != ny * to_bits)
    return cel_ref_misfit(c, "operand and result have different numbers of bits");
  if (from_bits >= 8 && to_bits >= 8) {
    memcpy(y->data, x->data, (size_t)cel_hlo_bytes(x->type));
    return CEL_OK;
  }
  if (from_bits > 64 || to_bits > 64) return cel_ref_refuse(c, x->type);
  if (from_bits >= to_bits) {
    int parts = from_bits / to_bits;
    for (int64_t i = 0; i < ny; i++)
      cel_ref_put_bits(to, y->data, i, cel_ref_get_bits(from, x->data, i / parts) >> (i % parts * to_bits));
    return CEL_OK;
  }
  int parts = to_bits / from_bits;
  for (int64_t i = 0; i < ny; i++) {
    uint64_t wide = 0;
    for (int p = 0; p < parts; p++) wide |= cel_ref_get_bits(from, x->data, i * parts + p) << (p * from_bits);
    cel_ref_put_bits(to, y->data, i, wide);
  }
  return CEL_OK;
}

// One value on its bits: mantissa rounded to nearest even, then the exponent range cut.
static uint64_t reduce_bits(uint64_t bits, cel_ref_format f, int64_t ebits, int64_t mbits) {
  uint64_t sign = bits & (uint64_t)1 << (f.ebits + f.mbits);
  uint64_t a = bits ^ sign, exp_mask = (((uint64_t)1 << f.ebits) - 1) << f.mbits;
  if (a > exp_mask) return mbits > 0 ? bits : sign | exp_mask;  // NaN; without mantissa only infinity is left
  if (mbits < f.mbits) {
    uint64_t last = (uint64_t)1 << (f.mbits - mbits);
    a = (a + (last >> 1) - 1 + ((a & last) != 0)) & ~(last - 1);
  }
  if (ebits < f.ebits) {
    uint64_t bias = ((uint64_t)1 << (f.ebits - 1)) - 1, reach = ((uint64_t)1 << (ebits - 1)) - 1;
    if (a >> f.mbits > bias + reach) a = exp_mask;
    if (a >> f.mbits <= bias - reach) a = 0;  // subnormals of the small format are flushed
  }
  return sign | a;
}

static cel_status reduce_precision(const cel_ref_call *c) {
  const cel_ref_tensor *x = &c->in[0], *y = &c->out[0];
  cel_etype t = x->type->etype;
  int64_t ebits, mbits;
  cel_ref_format f = cel_ref_format_of(t);
  if (!cel_etype_is_float(t) || f.finite_only) return cel_ref_refuse(c, x->type);
  if (y->type->etype != t || cel_hlo_elements(x->type) != cel_hlo_elements(y->type))
    return cel_ref_misfit(c, "operand and result differ");
  CEL_TRY(cel_ref_int_attr(c, "exponent_bits", 0, 1, 64, &ebits));
  CEL_TRY(cel_ref_int_attr(c, "mantissa_bits", -1, 0, 64, &mbits));
  for (int64_t i = 0, n = cel_hlo_elements(x->type); i < n; i++)
    cel_ref_put_bits(t, y->data, i, reduce_bits(cel_ref_get_bits(t, x->data, i), f, ebits, mbits));
  return CEL_OK;
}

cel_ref_fn *cel_ref_find_convert(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_CONVERT: return convert;
    case CEL_HLO_BITCAST_CONVERT: return bitcast_convert;
    case CEL_HLO_REDUCE_PRECISION: return reduce_precision;
    default: return NULL;
  }
}
