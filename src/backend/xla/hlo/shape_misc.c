// Rules of the rest: terminators, calls, tuples, random bits.
#include <string.h>

#include "backend/xla/hlo/shape.h"

enum { R = CEL_HLO_MAX_RANK };

cel_status cel_rule_return(cel_shape *s) { return cel_shape_room(s, 0); }

static cel_status need(cel_shape *s, const char *name, cel_hlo_attr_kind kind, const char *what) {
  const cel_hlo_attr *a = cel_hlo_find_attr(s->op, name);
  if (!a) return cel_shape_fail(s, "attribute %s is missing", name);
  if (a->kind != kind) return cel_shape_fail(s, "attribute %s is not %s", name, what);
  return CEL_OK;
}

cel_status cel_rule_call(cel_shape *s) { return need(s, "callee", CEL_HLO_ATTR_SYMBOL, "a symbol"); }

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool word_char(char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; }

// spec: is_namespaced_op_name, [a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+
static bool is_namespaced(const char *s) {
  if (!letter(*s)) return false;
  while (word_char(*s)) s++;
  if (*s != '.') return false;
  while (*s == '.') {
    const char *part = ++s;
    while (word_char(*s) || *s == '$') s++;
    if (s == part) return false;
  }
  return *s == 0;
}

cel_status cel_rule_composite(cel_shape *s) {
  CEL_TRY(need(s, "name", CEL_HLO_ATTR_STRING, "a string"));
  CEL_TRY(need(s, "decomposition", CEL_HLO_ATTR_SYMBOL, "a symbol"));
  const cel_hlo_attr *attrs = cel_hlo_find_attr(s->op, "composite_attributes");
  if (attrs && attrs->kind != CEL_HLO_ATTR_DICT) return cel_shape_fail(s, "composite_attributes is not a dictionary");
  const char *name = cel_hlo_find_attr(s->op, "name")->s;
  if (!is_namespaced(name))
    return cel_shape_fail(s, "name is \"%.60s\", it must be of the form namespace.name", name);
  return CEL_OK;
}

cel_status cel_rule_custom_call(cel_shape *s) {
  return need(s, "call_target_name", CEL_HLO_ATTR_STRING, "a string");
}

cel_status cel_rule_tuple(cel_shape *s) {
  int n = s->op->n_operands;
  const cel_hlo_type **parts = CEL_NEW_ARRAY(&s->m->arena, const cel_hlo_type *, n);
  if (!parts) return cel_fail_oom(s->err, "a tuple type");
  for (int i = 0; i < n; i++) parts[i] = cel_shape_in(s, i);
  const cel_hlo_type *t = cel_hlo_tuple(s->m, n, parts);
  return t ? cel_shape_give(s, t) : cel_fail_oom(s->err, "a tuple type");
}

cel_status cel_rule_get_tuple_element(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  cel_shape_text text;
  int64_t i;
  if (x->kind != CEL_HLO_KIND_TUPLE)
    return cel_shape_fail(s, "operand 0 is %s, it must be a tuple", cel_shape_show(&text, x));
  CEL_TRY(cel_shape_int(s, "index", 0, x->n_parts - 1, &i));
  return cel_shape_give(s, x->parts[i]);
}

cel_status cel_rule_rng_bit_generator(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  const char *algorithm;
  cel_shape_text text;
  CEL_TRY(cel_shape_word(s, "rng_algorithm", "DEFAULT THREE_FRY PHILOX", true, &algorithm));
  int64_t n = x->rank == 1 ? x->dims[0] : -1;
  bool fits = algorithm[0] == 'D' ? n >= 0 : algorithm[0] == 'T' ? n == 2 : n == 2 || n == 3;
  if (x->etype != CEL_ET_UI64 || !fits)
    return cel_shape_fail(s, "the state is %s, %s takes tensor<2xui64>%s", cel_shape_show(&text, x), algorithm,
                          algorithm[0] == 'P' ? " or tensor<3xui64>" : "");
  return CEL_OK;
}

cel_status cel_check_rng_bit_generator(cel_shape *s) {
  const cel_hlo_op *op = s->op;
  cel_shape_text a, b;
  if (op->n_results != 2) return cel_shape_fail(s, "%d results, it gives 2", op->n_results);
  if (!cel_hlo_type_equal(op->results[0].type, cel_shape_in(s, 0)))
    return cel_shape_fail(s, "the new state is %s, it must be %s", cel_shape_show(&a, op->results[0].type),
                          cel_shape_show(&b, cel_shape_in(s, 0)));
  const cel_hlo_type *y = op->results[1].type;
  if (y->kind != CEL_HLO_KIND_TENSOR || !(cel_etype_is_int(y->etype) || cel_etype_is_float(y->etype)))
    return cel_shape_fail(s, "the output is %s, it must be a tensor of integers or floats", cel_shape_show(&a, y));
  return CEL_OK;
}

cel_status cel_rule_top_k(cel_shape *s) {
  const cel_hlo_type *x = cel_shape_in(s, 0);
  int64_t k, dims[R];
  if (x->rank < 1) return cel_shape_fail(s, "operand 0 is a scalar, it needs a dimension");
  CEL_TRY(cel_shape_int(s, "k", 0, x->dims[x->rank - 1], &k));
  memcpy(dims, x->dims, sizeof dims);
  dims[x->rank - 1] = k;
  CEL_TRY(cel_shape_room(s, 2));
  CEL_TRY(cel_shape_tensor(s, x->etype, x->rank, dims, &s->types[0]));
  return cel_shape_tensor(s, CEL_ET_I32, x->rank, dims, &s->types[1]);
}
