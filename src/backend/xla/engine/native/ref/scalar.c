// The arithmetic of single elements. Floats are computed in double and rounded once when stored, integers in
// 64 bits and wrapped when stored, complex numbers in pairs of double. One small function per operation.
#include "backend/xla/engine/native/ref/scalar.h"

#include <math.h>

// ---- floats ------------------------------------------------------------------------------------

static double f_negate(double x) { return -x; }
static double f_rsqrt(double x) { return 1 / sqrt(x); }
static double f_logistic(double x) { return 1 / (1 + exp(-x)); }
static double f_sign(double x) { return isnan(x) || x == 0 ? x : x < 0 ? -1 : 1; }
static double f_real(double x) { return x; }
static double f_imag(double x) { return (void)x, 0; }

static cel_ref_float1 *float1_of(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_ABS: return fabs;
    case CEL_HLO_CBRT: return cbrt;
    case CEL_HLO_CEIL: return ceil;
    case CEL_HLO_COSINE: return cos;
    case CEL_HLO_EXPONENTIAL: return exp;
    case CEL_HLO_EXPONENTIAL_MINUS_ONE: return expm1;
    case CEL_HLO_FLOOR: return floor;
    case CEL_HLO_IMAG: return f_imag;
    case CEL_HLO_LOG: return log;
    case CEL_HLO_LOG_PLUS_ONE: return log1p;
    case CEL_HLO_LOGISTIC: return f_logistic;
    case CEL_HLO_NEGATE: return f_negate;
    case CEL_HLO_REAL: return f_real;
    case CEL_HLO_ROUND_NEAREST_AFZ: return round;
    case CEL_HLO_ROUND_NEAREST_EVEN: return rint;  // nothing here changes the rounding mode
    case CEL_HLO_RSQRT: return f_rsqrt;
    case CEL_HLO_SIGN: return f_sign;
    case CEL_HLO_SINE: return sin;
    case CEL_HLO_SQRT: return sqrt;
    case CEL_HLO_TAN: return tan;
    case CEL_HLO_TANH: return tanh;
    case CEL_HLO_CHLO_ERF: return erf;
    default: return NULL;
  }
}

static double f_add(double a, double b) { return a + b; }
static double f_subtract(double a, double b) { return a - b; }
static double f_multiply(double a, double b) { return a * b; }
static double f_divide(double a, double b) { return a / b; }
// IEEE-754 maximum and minimum: NaN wins, -0 < +0.
static double f_maximum(double a, double b) {
  if (isnan(a) || isnan(b)) return a + b;
  return a > b || (a == b && !signbit(a)) ? a : b;
}
static double f_minimum(double a, double b) {
  if (isnan(a) || isnan(b)) return a + b;
  return a < b || (a == b && signbit(a)) ? a : b;
}

static cel_ref_float2 *float2_of(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_ADD: return f_add;
    case CEL_HLO_ATAN2: return atan2;
    case CEL_HLO_DIVIDE: return f_divide;
    case CEL_HLO_MAXIMUM: return f_maximum;
    case CEL_HLO_MINIMUM: return f_minimum;
    case CEL_HLO_MULTIPLY: return f_multiply;
    case CEL_HLO_POWER: return pow;
    case CEL_HLO_REMAINDER: return fmod;
    case CEL_HLO_SUBTRACT: return f_subtract;
    default: return NULL;
  }
}

// ---- integers ----------------------------------------------------------------------------------
// Operands come sign- or zero-extended to 64 bits; results are cut to the element's width when stored.

static bool negative(uint64_t x, bool is_signed) { return is_signed && x >> 63; }
static uint64_t low_bits(uint64_t x, int bits) { return bits == 64 ? x : x & (((uint64_t)1 << bits) - 1); }

static uint64_t i_abs(uint64_t x, int bits, bool s) { return (void)bits, negative(x, s) ? 0 - x : x; }
static uint64_t i_negate(uint64_t x, int bits, bool s) { return (void)bits, (void)s, 0 - x; }
static uint64_t i_not(uint64_t x, int bits, bool s) { return (void)s, bits == 1 ? !x : ~x; }
static uint64_t i_real(uint64_t x, int bits, bool s) { return (void)bits, (void)s, x; }
static uint64_t i_sign(uint64_t x, int bits, bool s) { return (void)bits, negative(x, s) ? ~(uint64_t)0 : x != 0; }
static uint64_t i_popcnt(uint64_t x, int bits, bool s) {
  uint64_t n = 0;
  for ((void)s, x = low_bits(x, bits); x; x &= x - 1) n++;
  return n;
}
static uint64_t i_clz(uint64_t x, int bits, bool s) {
  uint64_t n = (uint64_t)bits;
  for ((void)s, x = low_bits(x, bits); x; x >>= 1) n--;
  return n;
}

static cel_ref_int1 *int1_of(cel_hlo_opcode op, cel_etype t) {
  if (op == CEL_HLO_NOT) return i_not;
  if (t == CEL_ET_PRED) return NULL;
  switch (op) {
    case CEL_HLO_ABS: return i_abs;
    case CEL_HLO_COUNT_LEADING_ZEROS: return i_clz;
    case CEL_HLO_NEGATE: return i_negate;
    case CEL_HLO_POPCNT: return i_popcnt;
    case CEL_HLO_REAL: return i_real;
    case CEL_HLO_SIGN: return i_sign;
    default: return NULL;
  }
}

#define INT2(name, expression) \
  static uint64_t name(uint64_t a, uint64_t b, int bits, bool s) { return (void)bits, (void)s, (expression); }
INT2(i_add, a + b)
INT2(i_subtract, a - b)
INT2(i_multiply, a *b)
INT2(i_and, a &b)
INT2(i_or, a | b)
INT2(i_xor, a ^ b)
static bool less(uint64_t a, uint64_t b, bool s) {  // signed order is unsigned order with the sign bit flipped
  uint64_t flip = s ? (uint64_t)1 << 63 : 0;
  return (a ^ flip) < (b ^ flip);
}
INT2(i_maximum, less(a, b, s) ? b : a)
INT2(i_minimum, less(b, a, s) ? b : a)
INT2(i_shift_left, low_bits(b, bits) >= (uint64_t)bits ? 0 : a << low_bits(b, bits))
INT2(i_shift_right_logical, low_bits(b, bits) >= (uint64_t)bits ? 0 : low_bits(a, bits) >> low_bits(b, bits))

static uint64_t i_shift_right_arithmetic(uint64_t a, uint64_t b, int bits, bool s) {
  uint64_t by = low_bits(b, bits), top = a >> (bits - 1) & 1;  // unsigned types shift their top bit in, too
  (void)s;
  if (by >= (uint64_t)bits) return top ? ~(uint64_t)0 : 0;
  uint64_t x = low_bits(a, bits) >> by;
  return top ? x | ~(low_bits(~(uint64_t)0, bits) >> by) : x;
}

static uint64_t i_divide(uint64_t a, uint64_t b, int bits, bool s) {
  (void)bits;
  if (b == 0) return ~(uint64_t)0;
  bool na = negative(a, s), nb = negative(b, s);
  uint64_t q = (na ? 0 - a : a) / (nb ? 0 - b : b);
  return na != nb ? 0 - q : q;
}

static uint64_t i_remainder(uint64_t a, uint64_t b, int bits, bool s) {
  (void)bits;
  if (b == 0) return a;
  bool na = negative(a, s);
  uint64_t r = (na ? 0 - a : a) % (negative(b, s) ? 0 - b : b);
  return na ? 0 - r : r;
}

static uint64_t i_power(uint64_t a, uint64_t b, int bits, bool s) {
  (void)bits;
  if (negative(b, s)) return a == 1 ? 1 : a == ~(uint64_t)0 ? (b & 1 ? a : 1) : 0;
  uint64_t result = 1;
  for (; b; b >>= 1, a *= a)
    if (b & 1) result *= a;
  return result;
}

// For booleans add and maximum are OR, multiply and minimum are AND.
static cel_ref_int2 *bool2_of(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_ADD:
    case CEL_HLO_MAXIMUM:
    case CEL_HLO_OR: return i_or;
    case CEL_HLO_MULTIPLY:
    case CEL_HLO_MINIMUM:
    case CEL_HLO_AND: return i_and;
    case CEL_HLO_XOR: return i_xor;
    default: return NULL;
  }
}

static cel_ref_int2 *int2_of(cel_hlo_opcode op, cel_etype t) {
  if (t == CEL_ET_PRED) return bool2_of(op);
  switch (op) {
    case CEL_HLO_ADD: return i_add;
    case CEL_HLO_AND: return i_and;
    case CEL_HLO_DIVIDE: return i_divide;
    case CEL_HLO_MAXIMUM: return i_maximum;
    case CEL_HLO_MINIMUM: return i_minimum;
    case CEL_HLO_MULTIPLY: return i_multiply;
    case CEL_HLO_OR: return i_or;
    case CEL_HLO_POWER: return i_power;
    case CEL_HLO_REMAINDER: return i_remainder;
    case CEL_HLO_SHIFT_LEFT: return i_shift_left;
    case CEL_HLO_SHIFT_RIGHT_ARITHMETIC: return i_shift_right_arithmetic;
    case CEL_HLO_SHIFT_RIGHT_LOGICAL: return i_shift_right_logical;
    case CEL_HLO_SUBTRACT: return i_subtract;
    case CEL_HLO_XOR: return i_xor;
    default: return NULL;
  }
}

// ---- complex numbers ---------------------------------------------------------------------------

static cel_ref_complex c_negate(cel_ref_complex x) { return cel_ref_complex_of(-creal(x), -cimag(x)); }
static cel_ref_complex c_rsqrt(cel_ref_complex x) { return 1 / csqrt(x); }
static cel_ref_complex c_logistic(cel_ref_complex x) { return 1 / (1 + cexp(-x)); }
static cel_ref_complex c_cbrt(cel_ref_complex x) { return cpow(x, 1.0 / 3); }
static cel_ref_complex c_expm1(cel_ref_complex x) {  // expm1(a) cos b - 2 sin^2(b/2) + i e^a sin b
  double a = creal(x), b = cimag(x), half = sin(b / 2);
  return cel_ref_complex_of(expm1(a) * cos(b) - 2 * half * half, b == 0 ? b : exp(a) * sin(b));
}
static cel_ref_complex c_log1p(cel_ref_complex x) {
  // |1+x|^2 - 1 = a(2+a) + b^2 keeps what 1+a would lose when both parts are small.
  double a = creal(x), b = cimag(x), m = hypot(a + 1, b);
  bool small = fabs(a) < 0.5 && fabs(b) < 0.5;
  return cel_ref_complex_of(small ? 0.5 * log1p(a * (2 + a) + b * b) : log(m), atan2(b, a + 1));
}
static cel_ref_complex c_sign(cel_ref_complex x) {
  double a = creal(x), b = cimag(x), m = cabs(x);
  if (isnan(a) || isnan(b)) return cel_ref_complex_of((double)NAN, (double)NAN);
  return a == 0 && b == 0 ? cel_ref_complex_of(0, 0) : cel_ref_complex_of(a / m, b / m);
}

static cel_ref_complex1 *complex1_of(cel_hlo_opcode op) {
  switch (op) {
    case CEL_HLO_CBRT: return c_cbrt;
    case CEL_HLO_COSINE: return ccos;
    case CEL_HLO_EXPONENTIAL: return cexp;
    case CEL_HLO_EXPONENTIAL_MINUS_ONE: return c_expm1;
    case CEL_HLO_LOG: return clog;
    case CEL_HLO_LOG_PLUS_ONE: return c_log1p;
    case CEL_HLO_LOGISTIC: return c_logistic;
    case CEL_HLO_NEGATE: return c_negate;
    case CEL_HLO_RSQRT: return c_rsqrt;
    case CEL_HLO_SIGN: return c_sign;
    case CEL_HLO_SINE: return csin;
    case CEL_HLO_SQRT: return csqrt;
    case CEL_HLO_TAN: return ctan;
    case CEL_HLO_TANH: return ctanh;
    default: return NULL;
  }
}

static bool c_less(cel_ref_complex a, cel_ref_complex b) {  // (real, imaginary) in lexicographic order
  return creal(a) == creal(b) ? cimag(a) < cimag(b) : creal(a) < creal(b);
}
static cel_ref_complex c_add(cel_ref_complex a, cel_ref_complex b) { return a + b; }
static cel_ref_complex c_subtract(cel_ref_complex a, cel_ref_complex b) { return a - b; }
static cel_ref_complex c_multiply(cel_ref_complex a, cel_ref_complex b) {
  return cel_ref_complex_multiply(CEL_ET_C128, a, b);
}
static cel_ref_complex c_multiply_f32(cel_ref_complex a, cel_ref_complex b) {
  return cel_ref_complex_multiply(CEL_ET_C64, a, b);
}
static cel_ref_complex c_divide(cel_ref_complex a, cel_ref_complex b) { return a / b; }
static cel_ref_complex c_maximum(cel_ref_complex a, cel_ref_complex b) { return c_less(b, a) ? a : b; }
static cel_ref_complex c_minimum(cel_ref_complex a, cel_ref_complex b) { return c_less(a, b) ? a : b; }
static cel_ref_complex c_power(cel_ref_complex a, cel_ref_complex b) {
  if (a == 0) return b == 0 ? 1 : creal(b) > 0 ? 0 : cpow(a, b);
  return cpow(a, b);
}
// atan2(a, b) = -i log((b + i a) / sqrt(a^2 + b^2))
static cel_ref_complex c_atan2(cel_ref_complex a, cel_ref_complex b) {
  cel_ref_complex i = cel_ref_complex_of(0, 1), z = clog((b + i * a) / csqrt(a * a + b * b));
  return cel_ref_complex_of(cimag(z), -creal(z));
}

static cel_ref_complex2 *complex2_of(cel_hlo_opcode op, cel_etype t) {
  switch (op) {
    case CEL_HLO_ADD: return c_add;
    case CEL_HLO_ATAN2: return c_atan2;
    case CEL_HLO_DIVIDE: return c_divide;
    case CEL_HLO_MAXIMUM: return c_maximum;
    case CEL_HLO_MINIMUM: return c_minimum;
    case CEL_HLO_MULTIPLY: return t == CEL_ET_C64 ? c_multiply_f32 : c_multiply;
    case CEL_HLO_POWER: return c_power;
    case CEL_HLO_SUBTRACT: return c_subtract;
    default: return NULL;
  }
}

// ---- order -------------------------------------------------------------------------------------

static unsigned order_float(double a, double b) {
  return a < b ? CEL_REF_BELOW : a > b ? CEL_REF_ABOVE : a == b ? CEL_REF_SAME : CEL_REF_UNORDERED;
}

static unsigned order_int(uint64_t a, uint64_t b, bool s) {
  return a == b ? CEL_REF_SAME : less(a, b, s) ? CEL_REF_BELOW : CEL_REF_ABOVE;
}

// IEEE-754 totalOrder: -NaN < -inf < ... < -0 < +0 < ... < inf < NaN, by the bits.
static uint64_t total_key(uint64_t bits, int width) {
  uint64_t top = (uint64_t)1 << (width - 1);
  return bits & top ? low_bits(~bits, width) : bits | top;
}

unsigned cel_ref_order(cel_etype t, const void *a, const void *b, int64_t i, bool total) {
  int width = cel_ref_bits(t);
  char class = cel_ref_class(t);
  if (class == 'F' && total)
    return order_int(total_key(cel_ref_get_bits(t, a, i), width), total_key(cel_ref_get_bits(t, b, i), width), false);
  if (class == 'F') return order_float(cel_ref_get_float(t, a, i), cel_ref_get_float(t, b, i));
  if (class != 'C')
    return order_int((uint64_t)cel_ref_get_int(t, a, i), (uint64_t)cel_ref_get_int(t, b, i), class == 'S');
  cel_ref_complex x = cel_ref_get_complex(t, a, i), y = cel_ref_get_complex(t, b, i);
  unsigned first = order_float(creal(x), creal(y));
  return first == CEL_REF_SAME ? order_float(cimag(x), cimag(y)) : first;
}

// ---- for all element types ---------------------------------------------------------------------

bool cel_ref_unary_of(cel_hlo_opcode op, cel_etype t, cel_ref_unary *out) {
  char class = cel_ref_class(t);
  *out = (cel_ref_unary){.f = class == 'F' ? float1_of(op) : NULL,
                         .z = class == 'C' ? complex1_of(op) : NULL,
                         .i = class != 'F' && class != 'C' ? int1_of(op, t) : NULL};
  return out->f || out->z || out->i;
}

bool cel_ref_binary_of(cel_hlo_opcode op, cel_etype t, cel_ref_binary *out) {
  char class = cel_ref_class(t);
  *out = (cel_ref_binary){.f = class == 'F' ? float2_of(op) : NULL,
                          .z = class == 'C' ? complex2_of(op, t) : NULL,
                          .i = class != 'F' && class != 'C' ? int2_of(op, t) : NULL};
  return out->f || out->z || out->i;
}

void cel_ref_apply1(const cel_ref_unary *u, cel_etype t, const void *x, void *y, int64_t i) {
  if (u->f)
    cel_ref_put_float(t, y, i, u->f(cel_ref_get_float(t, x, i)));
  else if (u->z)
    cel_ref_put_complex(t, y, i, u->z(cel_ref_get_complex(t, x, i)));
  else
    cel_ref_put_int(t, y, i, u->i((uint64_t)cel_ref_get_int(t, x, i), cel_ref_bits(t), cel_ref_class(t) == 'S'));
}

void cel_ref_apply2(const cel_ref_binary *u, cel_etype t, const void *a, int64_t i, const void *b, int64_t j, void *y,
                    int64_t k) {
  if (u->f)
    cel_ref_put_float(t, y, k, u->f(cel_ref_get_float(t, a, i), cel_ref_get_float(t, b, j)));
  else if (u->z)
    cel_ref_put_complex(t, y, k, u->z(cel_ref_get_complex(t, a, i), cel_ref_get_complex(t, b, j)));
  else
    cel_ref_put_int(t, y, k,
                    u->i((uint64_t)cel_ref_get_int(t, a, i), (uint64_t)cel_ref_get_int(t, b, j), cel_ref_bits(t),
                         cel_ref_class(t) == 'S'));
}
