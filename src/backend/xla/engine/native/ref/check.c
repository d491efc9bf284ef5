// The check operations, and the walk over programs and functions.
#include "backend/xla/engine/native/ref/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/xla/engine/native/ref/internal.h"

// ---- comparing one element ---------------------------------------------------------------------

typedef enum rule { EQUAL, ALMOST, CLOSE } rule;

typedef struct expectation {
  const char *name;
  rule rule;
  double tolerance;
  uint64_t min_ulp, max_ulp;
} expectation;

static bool same_number(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

// Steps between neighbouring floats from a to b; UINT64_MAX when only one of them is a finite number.
static uint64_t ulp_distance(cel_etype t, uint64_t a_bits, double a, uint64_t b_bits, double b) {
  if (same_number(a, b)) return 0;
  if (!isfinite(a) || !isfinite(b)) return UINT64_MAX;
  uint64_t sign = (uint64_t)1 << (cel_ref_bits(t) - 1);
  uint64_t x = a_bits & ~sign, y = b_bits & ~sign;
  if ((a_bits & sign) != (b_bits & sign)) return x + y;
  return x > y ? x - y : y - x;
}

static bool holds_float(const expectation *e, cel_etype t, const void *p, const void *q, int64_t i) {
  double a = cel_ref_get_float(t, p, i), b = cel_ref_get_float(t, q, i);
  if (e->rule == EQUAL) return same_number(a, b);
  if (e->rule == ALMOST) return same_number(a, b) || fabs(a - b) <= e->tolerance;
  uint64_t distance = ulp_distance(t, cel_ref_get_bits(t, p, i), a, cel_ref_get_bits(t, q, i), b);
  return distance >= e->min_ulp && distance <= e->max_ulp;
}

static bool holds(const expectation *e, cel_etype t, const void *p, const void *q, int64_t i) {
  char class = cel_ref_class(t);
  if (class == 'F') return holds_float(e, t, p, q, i);
  if (class != 'C') return cel_ref_get_int(t, p, i) == cel_ref_get_int(t, q, i);
  cel_etype part = t == CEL_ET_C64 ? CEL_ET_F32 : CEL_ET_F64;  // two floats side by side
  return holds_float(e, part, p, q, 2 * i) && holds_float(e, part, p, q, 2 * i + 1);
}

// ---- saying what differs -----------------------------------------------------------------------

static void number_text(cel_etype t, const void *p, int64_t i, char *out, size_t n) {
  char class = cel_ref_class(t);
  if (class == 'C') {
    cel_ref_complex z = cel_ref_get_complex(t, p, i);
    snprintf(out, n, "(%.17g, %.17g)", creal(z), cimag(z));
  } else if (class == 'F') {
    snprintf(out, n, "%.*g (0x%0*" PRIX64 ")", t == CEL_ET_F64 ? 17 : 9, cel_ref_get_float(t, p, i),
             cel_ref_bytes(t) * 2, cel_ref_get_bits(t, p, i));
  } else if (class == 'U') {
    snprintf(out, n, "%" PRIu64, (uint64_t)cel_ref_get_int(t, p, i));
  } else {
    snprintf(out, n, "%" PRId64, cel_ref_get_int(t, p, i));
  }
}

static void index_text(const cel_hlo_type *t, int64_t i, char *out, size_t n) {
  int64_t strides[CEL_HLO_MAX_RANK];
  size_t used = 0;
  cel_ref_strides(t->rank, t->dims, strides);
  out[0] = 0;
  for (int d = 0; d < t->rank && used < n; d++) {
    int w = snprintf(out + used, n - used, "%s%" PRId64, d ? ", " : "", i / strides[d] % t->dims[d]);
    used += w > 0 ? (size_t)w : 0;
  }
}

static cel_status differs(const expectation *e, const cel_ref_tensor *a, const void *b, int64_t i, int64_t count,
                          cel_err *err) {
  char got[96], want[96], index[160], rule_text[96] = "";
  number_text(a->type->etype, a->data, i, got, sizeof got);
  number_text(a->type->etype, b, i, want, sizeof want);
  index_text(a->type, i, index, sizeof index);
  if (e->rule == ALMOST) snprintf(rule_text, sizeof rule_text, " within %g", e->tolerance);
  if (e->rule == CLOSE)
    snprintf(rule_text, sizeof rule_text, " within [%" PRIu64 ", %" PRIu64 "] units in the last place", e->min_ulp,
             e->max_ulp);
  return cel_fail(err, CEL_INVALID,
                  "%s: element [%s] is %s, expected %s%s (%" PRId64 " of %" PRId64 " elements differ)", e->name,
                  index, got, want, rule_text, count, cel_hlo_elements(a->type));
}

// b holds the expected elements; step 0: one for all.
static cel_status compare(const expectation *e, const cel_ref_tensor *a, const char *b, cel_err *err) {
  int64_t count = 0, first = 0;
  for (int64_t i = 0, n = cel_hlo_elements(a->type); i < n; i++) {
    if (holds(e, a->type->etype, a->data, b, i)) continue;
    if (count++ == 0) first = i;
  }
  return count ? differs(e, a, b, first, count, err) : CEL_OK;
}

// ---- the operations ----------------------------------------------------------------------------

// "check.expect_almost_eq_const": which rule, and whether the expected value is a literal.
static bool known(const char *name, expectation *e, bool *literal) {
  static const struct {
    const char *name;
    rule rule;
    bool literal;
  } table[] = {{"check.expect_eq", EQUAL, false},
               {"check.expect_eq_const", EQUAL, true},
               {"check.expect_almost_eq", ALMOST, false},
               {"check.expect_almost_eq_const", ALMOST, true},
               {"check.expect_close", CLOSE, false}};
  for (int i = 0; i < CEL_COUNT(table); i++) {
    if (strcmp(name, table[i].name) != 0) continue;
    *e = (expectation){.name = table[i].name, .rule = table[i].rule, .tolerance = 1e-4};
    *literal = table[i].literal;
    return true;
  }
  return false;
}

static cel_status with_literal(const expectation *e, const cel_hlo_op *op, const cel_ref_tensor *a, cel_err *err) {
  const cel_hlo_attr *value = cel_hlo_find_attr(op, "value");
  const cel_hlo_type *t = a->type;
  if (op->n_operands != 1 || !value || value->kind != CEL_HLO_ATTR_DENSE ||
      value->type->kind != CEL_HLO_KIND_TENSOR || value->type->etype != t->etype ||
      cel_hlo_elements(value->type) != cel_hlo_elements(t))
    return cel_fail(err, CEL_INVALID, "%s needs one operand and a literal of its type", e->name);
  if (!value->splat) return compare(e, a, value->data, err);
  int64_t n = cel_hlo_elements(t);
  int bytes = cel_ref_bytes(t->etype);
  char *all = malloc((size_t)cel_hlo_bytes(t) + 1);
  if (!all) return cel_fail_oom(err, "a literal");
  for (int64_t i = 0; i < n; i++) cel_ref_move(bytes, value->data, 0, all, i);
  cel_status status = compare(e, a, all, err);
  free(all);
  return status;
}

bool cel_check_is(const cel_hlo_op *op) {
  expectation e;
  bool literal;
  return known(op->opcode == CEL_HLO_CUSTOM_CALL ? cel_ref_word(op, "call_target_name", "?") : op->name, &e, &literal);
}

cel_status cel_check_holds(const cel_hlo_op *op, const cel_ref_tensor *in, cel_err *err) {
  bool custom = op->opcode == CEL_HLO_CUSTOM_CALL, literal = false;
  const char *name = custom ? cel_ref_word(op, "call_target_name", "?") : op->name;
  expectation e;
  if (!known(name, &e, &literal))
    return cel_fail(err, CEL_UNSUPPORTED, "%s%s is not evaluated", custom ? "custom_call @" : "", name);
  for (int i = 0; i < op->n_operands; i++)
    if (in[i].type->kind != CEL_HLO_KIND_TENSOR)
      return cel_fail(err, CEL_UNSUPPORTED, "%s on something that is no tensor is not evaluated", name);
  const cel_hlo_attr *tolerance = cel_hlo_find_attr(op, "tolerance");
  if (custom) e.tolerance = 1e-3;
  if (tolerance && tolerance->kind == CEL_HLO_ATTR_FLOAT) e.tolerance = tolerance->f;
  e.min_ulp = (uint64_t)cel_hlo_attr_int(op, "min_ulp_difference", 0);
  e.max_ulp = (uint64_t)cel_hlo_attr_int(op, "max_ulp_difference", custom ? 3 : 1);
  if (op->n_operands < 1) return cel_fail(err, CEL_INVALID, "%s needs operands", name);
  if (literal) return with_literal(&e, op, &in[0], err);
  if (op->n_operands != 2 || in[0].type->etype != in[1].type->etype || in[0].type->rank != in[1].type->rank ||
      memcmp(in[0].type->dims, in[1].type->dims, (size_t)in[0].type->rank * sizeof in[0].type->dims[0]) != 0)
    return cel_fail(err, CEL_INVALID, "%s needs two operands of one type", name);
  return compare(&e, &in[0], in[1].data, err);
}

static cel_status check_op(void *context, const cel_hlo_op *op, const cel_ref_tensor *in, cel_err *err) {
  (void)context;
  return cel_check_holds(op, in, err);
}

// ---- functions and programs --------------------------------------------------------------------

typedef struct walk {
  const char *name;
  int line;  // where the program begins
  const cel_ref_limits *limits;
  cel_check_report *report;
  void *context;
  cel_check_counts *counts;
} walk;

static void tell(const walk *w, const cel_hlo_func *f, cel_status status, const cel_err *err) {
  char where[512];
  snprintf(where, sizeof where, "%s:%d%s%s", w->name, w->line, f ? " @" : "", f ? f->name : "");
  cel_check_outcome o = status == CEL_OK            ? CEL_CHECK_PASSED
                        : status == CEL_UNSUPPORTED ? CEL_CHECK_REFUSED
                                                    : CEL_CHECK_FAILED;
  *(o == CEL_CHECK_PASSED   ? &w->counts->passed
    : o == CEL_CHECK_FAILED ? &w->counts->failed
                            : &w->counts->refused) += 1;
  if (w->report) w->report(w->context, o, where, status == CEL_OK ? "" : err->text);
}

static cel_status run_func(const walk *w, const cel_hlo_module *m, const cel_hlo_func *f, cel_err *err) {
  cel_ref_run run;
  cel_ref_run_init(&run, m, w->limits, err);
  run.foreign = check_op;
  cel_ref_value *results = calloc((size_t)f->n_results + 1, sizeof *results);
  if (!results) return cel_fail_oom(err, "results");
  cel_status status = cel_ref_call_func(&run, f, NULL, 0, results);
  for (int i = 0; i < f->n_results; i++) cel_ref_value_drop(&run, &results[i]);
  free(results);
  return status;
}

static void run_module(const walk *w, const cel_hlo_module *m) {
  bool any = false;
  for (const cel_hlo_func *f = m->first_func; f; f = f->next) {
    if (f->is_private || !f->body || f->body->n_args) continue;
    cel_err err = {0};
    any = true;
    cel_status status = run_func(w, m, f, &err);
    tell(w, f, status, &err);
  }
  cel_err none = {0};
  if (!any && m->first_func)
    tell(w, NULL, cel_fail(&none, CEL_UNSUPPORTED, "no public function without arguments, nothing to run"), &none);
}

static bool is_blank(cel_str s) {  // white space and comments
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '/' && i + 1 < s.n && s.p[i + 1] == '/')
      while (i < s.n && s.p[i] != '\n') i++;
    else if (!strchr(" \t\r\n", s.p[i]) || s.p[i] == 0)
      return false;
  }
  return true;
}

static cel_status run_program(const walk *w, cel_str text, cel_err *err) {
  cel_hlo_module *m = NULL;
  cel_err parse = {0};
  if (is_blank(text)) return CEL_OK;
  cel_status status = cel_hlo_parse(text, w->name, &m, &parse);
  if (status == CEL_OOM) return cel_fail_oom(err, w->name);
  if (status != CEL_OK)
    tell(w, NULL, status, &parse);
  else
    run_module(w, m);
  if (status == CEL_OK) cel_hlo_module_free(m);
  return CEL_OK;
}

cel_status cel_check_file(cel_str text, const char *name, const cel_ref_limits *limits, cel_check_report *report,
                          void *context, cel_check_counts *counts, cel_err *err) {
  walk w = {name, 1, limits, report, context, counts};
  size_t begin = 0;
  int line = 1;
  for (size_t i = 0; i < text.n;) {
    const char *nl = memchr(text.p + i, '\n', text.n - i);
    size_t end = nl ? (size_t)(nl - text.p) + 1 : text.n;
    cel_str l = {text.p + i, end - i};
    line++;
    if (cel_str_starts(l, CEL_STR("// -----"))) {
      CEL_TRY(run_program(&w, (cel_str){text.p + begin, i - begin}, err));
      begin = end;
      w.line = line;
    }
    i = end;
  }
  return run_program(&w, (cel_str){text.p + begin, text.n - begin}, err);
}
