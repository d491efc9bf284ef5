// Tests: what may stand behind "is".
#include "text/template/tmpl_filter.h"
#include "text/template/tmpl_text.h"

static cel_status yes_no(bool yes, cel_tval *out) {
  *out = cel_tbool(yes);
  return CEL_OK;
}

static cel_status t_defined(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind != CEL_T_UNDEFINED, out);
}
static cel_status t_undefined(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_UNDEFINED, out);
}
static cel_status t_none(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_NONE, out);
}
static cel_status t_boolean(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_BOOL, out);
}
static cel_status t_true(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_BOOL && c->self.as.b, out);
}
static cel_status t_false(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_BOOL && !c->self.as.b, out);
}
static cel_status t_integer(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_INT, out);
}
static cel_status t_float(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_FLOAT, out);
}
static cel_status t_number(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(cel_tis_number(c->self), out);
}
static cel_status t_string(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_STR, out);
}
static cel_status t_mapping(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_DICT, out);
}
static cel_status t_sequence(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  uint8_t k = c->self.kind;
  return yes_no(k == CEL_T_UNDEFINED || k == CEL_T_STR || cel_tis_seq(c->self) || k == CEL_T_DICT || k == CEL_T_RANGE, out);
}
static cel_status t_iterable(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(cel_titerable(c->self) || c->self.kind == CEL_T_LOOP, out);
}
static cel_status t_callable(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  uint8_t k = c->self.kind;
  return yes_no(k == CEL_T_UNDEFINED || k == CEL_T_FUNCTION || k == CEL_T_METHOD || k == CEL_T_MACRO || k == CEL_T_LOOP ||
                    k == CEL_T_JOINER,
                out);
}
static cel_status t_escaped(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  return yes_no(c->self.kind == CEL_T_STR && c->self.flag & CEL_TFLAG_SAFE, out);
}

static cel_status t_filter(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  if (!cel_thashable(c->self)) return cel_tfail(r, "the name of a filter is a string, not %s", cel_ttype(c->self));
  return yes_no(c->self.kind == CEL_T_STR && cel_tfilter_exists(cel_tview_str(c->self)), out);
}
static cel_status t_test(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  if (!cel_thashable(c->self)) return cel_tfail(r, "the name of a test is a string, not %s", cel_ttype(c->self));
  return yes_no(c->self.kind == CEL_T_STR && cel_ttest_exists(cel_tview_str(c->self)), out);
}

static cel_status t_sameas(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  (void)r;
  cel_tval a = c->self, b = c->arg[0];
  if (a.kind != b.kind) return yes_no(false, out);
  switch (a.kind) {
    case CEL_T_NONE: return yes_no(true, out);
    case CEL_T_BOOL: return yes_no(a.as.b == b.as.b, out);
    case CEL_T_INT: return yes_no(a.as.i == b.as.i && a.as.i >= -5 && a.as.i <= 256, out);  // CPython shares these
    case CEL_T_STR: return yes_no(cel_str_eq(cel_tview_str(a), cel_tview_str(b)), out);
    default: return yes_no(a.as.s == b.as.s, out);
  }
}

static cel_status compare(cel_trender *r, cel_top op, const cel_tcallee *c, cel_tval *out) {
  bool yes;
  CEL_TRY(cel_tcompare(r, op, c->self, c->arg[0], &yes));
  return yes_no(yes, out);
}
static cel_status t_eq(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_EQ, c, out); }
static cel_status t_ne(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_NE, c, out); }
static cel_status t_lt(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_LT, c, out); }
static cel_status t_le(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_LE, c, out); }
static cel_status t_gt(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_GT, c, out); }
static cel_status t_ge(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_GE, c, out); }
static cel_status t_in(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return compare(r, CEL_OP_IN, c, out); }

static cel_status remainder_is(cel_trender *r, const cel_tcallee *c, cel_tval divisor, int64_t want, cel_tval *out) {
  cel_tval rest;
  bool yes;
  CEL_TRY(cel_tbinary(r, CEL_OP_MOD, c->self, divisor, &rest));
  CEL_TRY(cel_tequal(r, rest, cel_tint(want), &yes));
  return yes_no(yes, out);
}
static cel_status t_odd(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return remainder_is(r, c, cel_tint(2), 1, out); }
static cel_status t_even(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return remainder_is(r, c, cel_tint(2), 0, out); }
static cel_status t_divisibleby(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  return remainder_is(r, c, c->arg[0], 0, out);
}

static cel_status cased(cel_trender *r, const cel_tcallee *c, const char *method, cel_tval *out) {
  cel_tval s;
  cel_targs none = {0};
  bool unsafe;
  CEL_TRY(cel_tstr_of(r, c->self, &s));
  return cel_tcall_row(r, cel_tfind_method(s, cel_str_of(method), &unsafe), s, &none, out);
}
static cel_status t_lower(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return cased(r, c, "islower", out); }
static cel_status t_upper(cel_trender *r, const cel_tcallee *c, cel_tval *out) { return cased(r, c, "isupper", out); }

static const struct cel_tmethod_row tests[] = {
    {"odd", "", t_odd}, {"even", "", t_even}, {"divisibleby", "num", t_divisibleby},
    {"defined", "", t_defined}, {"undefined", "", t_undefined}, {"filter", "", t_filter}, {"test", "", t_test},
    {"none", "", t_none}, {"boolean", "", t_boolean}, {"false", "", t_false}, {"true", "", t_true},
    {"integer", "", t_integer}, {"float", "", t_float}, {"lower", "", t_lower}, {"upper", "", t_upper},
    {"string", "", t_string}, {"mapping", "", t_mapping}, {"number", "", t_number}, {"sequence", "", t_sequence},
    {"iterable", "", t_iterable}, {"callable", "", t_callable}, {"sameas", "other", t_sameas},
    {"escaped", "", t_escaped}, {"in", "seq", t_in}, {"==", "/b", t_eq}, {"eq", "/b", t_eq}, {"equalto", "/b", t_eq},
    {"!=", "/b", t_ne}, {"ne", "/b", t_ne}, {">", "/b", t_gt}, {"gt", "/b", t_gt}, {"greaterthan", "/b", t_gt},
    {"ge", "/b", t_ge}, {">=", "/b", t_ge}, {"<", "/b", t_lt}, {"lt", "/b", t_lt}, {"lessthan", "/b", t_lt},
    {"<=", "/b", t_le}, {"le", "/b", t_le}, {NULL, NULL, NULL},
};

bool cel_ttest_exists(cel_str name) { return cel_tfind_row(tests, name) != NULL; }

cel_status cel_ttest(cel_trender *r, cel_str name, cel_tval v, const cel_targs *args, bool *out) {
  const struct cel_tmethod_row *row = cel_tfind_row(tests, name);
  cel_tval yes;
  if (!row) return cel_tfail(r, "there is no test \"%.*s\"", CEL_STR_ARG(name));
  CEL_TRY(cel_tcall_row(r, row, v, args, &yes));
  *out = cel_ttruth(r, yes);
  return CEL_OK;
}
