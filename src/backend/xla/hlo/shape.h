// Inside the shape rules: one function per operation or family, and what they share. See infer.h.
//
// A rule reads s->op and either fails, or fills s->types and s->n with the result types, or leaves s->n at
// -1 where only the declared results say. `s->op` may be anything a text can hold: every attribute and
// region is asked for through the functions here.
#ifndef CEL_XLA_HLO_SHAPE_H
#define CEL_XLA_HLO_SHAPE_H

#include "backend/xla/hlo/infer.h"

typedef struct cel_shape {
  cel_hlo_module *m;  // where types are made
  const cel_hlo_op *op;
  const cel_hlo_type **types;
  int n;
  cel_err *err;
} cel_shape;

typedef cel_status cel_shape_rule(cel_shape *s);

// Element type classes as bits.
enum { CEL_SH_P = 1, CEL_SH_S = 2, CEL_SH_U = 4, CEL_SH_F = 8, CEL_SH_C = 16, CEL_SH_ANY = 31 };
unsigned cel_shape_class(cel_etype e);

// "stablehlo.add: ..."; CEL_INVALID.
cel_status cel_shape_fail(cel_shape *s, const char *fmt, ...) CEL_PRINTF(2, 3);
// The text of a type for messages, in one of the caller's buffers.
typedef struct cel_shape_text {
  char p[160];
} cel_shape_text;
const char *cel_shape_show(cel_shape_text *t, const cel_hlo_type *type);

static inline const cel_hlo_type *cel_shape_in(const cel_shape *s, int i) { return s->op->operands[i]->type; }

// Result types.
CEL_MUST_CHECK cel_status cel_shape_room(cel_shape *s, int n);  // s->types[n], s->n = n
CEL_MUST_CHECK cel_status cel_shape_give(cel_shape *s, const cel_hlo_type *type);  // exactly one result
CEL_MUST_CHECK cel_status cel_shape_tensor(cel_shape *s, cel_etype e, int rank, const int64_t *dims,
                                           const cel_hlo_type **out);
CEL_MUST_CHECK cel_status cel_shape_give_tensor(cel_shape *s, cel_etype e, int rank, const int64_t *dims);
// The one declared result (for rules that leave s->n at -1): fails unless it is a tensor.
CEL_MUST_CHECK cel_status cel_shape_declared(cel_shape *s, const cel_hlo_type **out);

// Operands `first` and on are tensors.
CEL_MUST_CHECK cel_status cel_shape_tensors(cel_shape *s, int first);
CEL_MUST_CHECK cel_status cel_shape_same_type(cel_shape *s, int a, int b);
bool cel_shape_same_dims(const cel_hlo_type *a, const cel_hlo_type *b);

// Attributes.
CEL_MUST_CHECK cel_status cel_shape_int(cel_shape *s, const char *name, int64_t least, int64_t most, int64_t *out);
// As above, with the value for when it is absent.
CEL_MUST_CHECK cel_status cel_shape_int_or(cel_shape *s, const char *name, int64_t otherwise, int64_t least,
                                           int64_t most, int64_t *out);
// A list of exactly n integers; absent is an error, or all `otherwise`.
CEL_MUST_CHECK cel_status cel_shape_ints(cel_shape *s, const char *name, int n, int64_t least, int64_t *out);
CEL_MUST_CHECK cel_status cel_shape_ints_or(cel_shape *s, const char *name, int n, int64_t otherwise,
                                            int64_t least, int64_t *out);
// A list of distinct dimensions 0 <= d < rank, of any length; absent is the empty list.
CEL_MUST_CHECK cel_status cel_shape_dims(cel_shape *s, const char *name, int rank, int64_t *out, int *n);
CEL_MUST_CHECK cel_status cel_shape_sorted(cel_shape *s, const char *name, const int64_t *dims, int n);
CEL_MUST_CHECK cel_status cel_shape_disjoint(cel_shape *s, const char *name_a, const int64_t *a, int n_a,
                                             const char *name_b, const int64_t *b, int n_b);
// padding: [n, 2] in rows low, high; absent is all zero.
CEL_MUST_CHECK cel_status cel_shape_padding(cel_shape *s, int n, int64_t *low, int64_t *high);
// An ENUM or STRING attribute that is one of the words (separated by spaces); NULL into *out when absent
// and not `needed`.
CEL_MUST_CHECK cel_status cel_shape_word(cel_shape *s, const char *name, const char *words, bool needed,
                                         const char **out);
CEL_MUST_CHECK cel_status cel_shape_bool(cel_shape *s, const char *name);  // absent or a BOOL
bool cel_shape_has(const int64_t *dims, int n, int64_t d);

// Windows (spec: num_windows), for one dimension; fails on overflow or a padding beyond the operand.
CEL_MUST_CHECK cel_status cel_shape_windows(cel_shape *s, int64_t size, int64_t base_dilation, int64_t low,
                                            int64_t high, int64_t window, int64_t window_dilation,
                                            int64_t stride, int64_t *out);

// Regions: the block of region i, which ends in stablehlo.return; its arguments must have these types
// (n_args < 0: not asked).
CEL_MUST_CHECK cel_status cel_shape_region(cel_shape *s, int i, const cel_hlo_type *const *args, int n_args,
                                           const cel_hlo_op **terminator);
// A region that folds n values into n, given `first` operands of those element types: checks it (two
// scalars per value, spec: (tensor<E>..., tensor<E>...) -> tensor<E>..., element types promotable to E) and
// gives n results of those E and the shape.
CEL_MUST_CHECK cel_status cel_shape_reducer(cel_shape *s, int region, int n, int first, int rank,
                                            const int64_t *dims);
// spec: is_promotable.
bool cel_shape_promotable(cel_etype from, cel_etype to);

// The families.
cel_shape_rule cel_rule_same, cel_rule_abs, cel_rule_real_imag, cel_rule_is_finite, cel_rule_reduce_precision,
    cel_rule_barrier, cel_rule_binary, cel_rule_compare, cel_rule_complex, cel_rule_clamp, cel_rule_select,
    cel_rule_convert;
cel_shape_rule cel_rule_constant, cel_rule_iota, cel_rule_bitcast, cel_rule_broadcast_in_dim, cel_rule_concatenate,
    cel_rule_dynamic_slice, cel_rule_dynamic_update_slice, cel_rule_get_dimension_size, cel_rule_pad,
    cel_rule_reshape, cel_rule_reverse, cel_rule_slice, cel_rule_transpose;
cel_shape_rule cel_rule_dot_general, cel_rule_convolution, cel_rule_gather, cel_rule_scatter;
cel_shape_rule cel_rule_reduce, cel_rule_reduce_window, cel_rule_map, cel_rule_select_and_scatter, cel_rule_sort,
    cel_rule_if, cel_rule_case, cel_rule_while;
cel_shape_rule cel_rule_return, cel_rule_call, cel_rule_rng_bit_generator, cel_rule_tuple,
    cel_rule_get_tuple_element, cel_rule_custom_call, cel_rule_composite, cel_rule_top_k;
// What is left to say about declared results where the rule above left s->n at -1; run by check only.
cel_shape_rule cel_check_iota, cel_check_bitcast, cel_check_broadcast_in_dim,
    cel_check_reshape, cel_check_convert, cel_check_rng_bit_generator;

#endif
