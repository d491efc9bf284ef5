// Short forms: operands and parts separated by commas, attributes, types. How the types that are written
// stand for those of operands and results depends on the operation.
#include <string.h>

#include "backend/xla/hlo/parse.h"

typedef enum typing {
  SAME,      // ": t": of every operand and result
  FUNCTION,  // ": (t, t) -> t"
  RESULT,    // ": t": of the result alone
  SELECT,    // ": t_pred, t"
  PAIRWISE,  // ": t, t": of operand i and result i
  OPERANDS,  // ": t, t": of the operands; no results
} typing;

static typing typing_of(cel_hlo_opcode code) {
  switch (code) {
    case CEL_HLO_RETURN:
    case CEL_HLO_REGION_RETURN: return OPERANDS;
    case CEL_HLO_IOTA:
    case CEL_HLO_CONSTANT:
    case CEL_HLO_COMPLEX:
    case CEL_HLO_TUPLE: return RESULT;
    case CEL_HLO_SELECT: return SELECT;
    case CEL_HLO_OPTIMIZATION_BARRIER: return PAIRWISE;
    // op.def has the elementwise operations before CLAMP; those among them of several types use (t) -> t.
    default: return code <= CEL_HLO_CLAMP || code == CEL_HLO_REVERSE || code == CEL_HLO_CHLO_ERF ? SAME : FUNCTION;
  }
}

// ---- types -------------------------------------------------------------------------------------

static cel_status push_operand_types(cel_parse *p, cel_parse_op *o) {
  for (int i = 0, n = cel_parse_n_operands(p, o); i < n; i++)
    CEL_TRY(cel_parse_push_type(p, p->operands.at[o->operands + i]->type));
  return CEL_OK;
}

static cel_status push_same(cel_parse *p, const cel_hlo_type *t, int n) {
  for (int i = 0; i < n; i++) CEL_TRY(cel_parse_push_type(p, t));
  return CEL_OK;
}

static cel_status wrong_count(cel_parse *p, int n, const char *what) {
  return cel_lex_fail(&p->lex, CEL_MALFORMED, "found %d types, expected %s", n, what);
}

// Types of an operation of another dialect: one stands for all results, otherwise one for each; operands have
// those they have, but where the number fits they must be the ones told.
static cel_status foreign_types(cel_parse *p, cel_parse_op *o, int n) {
  int operands = cel_parse_n_operands(p, o), told = o->types;
  if (o->n_names && n != 1 && n != o->n_names) return wrong_count(p, n, "one, or one for each result");
  if (o->n_names == 0 && n == operands) {
    o->n_in = n;
    return CEL_OK;
  }
  CEL_TRY(push_operand_types(p, o));
  for (int i = 0; i < o->n_names; i++) CEL_TRY(cel_parse_push_type(p, p->types.at[told + (n == 1 ? 0 : i)]));
  p->types.n -= n;  // those told give way
  memmove(p->types.at + told, p->types.at + told + n, (size_t)(p->types.n - told) * sizeof *p->types.at);
  o->n_in = operands;
  o->n_out = o->n_names;
  return CEL_OK;
}

// n types lie on the stack since o->types.
static cel_status spread_types(cel_parse *p, cel_parse_op *o, int n) {
  int operands = cel_parse_n_operands(p, o);
  o->typed = true;
  if (o->code == CEL_HLO_FOREIGN) return foreign_types(p, o, n);
  const cel_hlo_type *last = p->types.at[p->types.n - 1];
  o->n_in = operands;
  o->n_out = 1;
  switch (typing_of(o->code)) {
    case SAME:
      if (n != 1) return wrong_count(p, n, "one, or (types) -> type");
      return push_same(p, last, operands);  // with the one there: operands + 1
    case SELECT:
      if (n != 2 || operands != 3) return wrong_count(p, n, "two and three operands, or (types) -> type");
      return push_same(p, last, 2);
    case RESULT:
      if (n != 1) return wrong_count(p, n, "one, of the result");
      p->types.n--;
      CEL_TRY(push_operand_types(p, o));
      return cel_parse_push_type(p, last);
    case OPERANDS:
      o->n_in = n;
      o->n_out = 0;
      return CEL_OK;
    case PAIRWISE:
      o->n_in = o->n_out = n;
      for (int i = 0; i < n; i++) CEL_TRY(cel_parse_push_type(p, p->types.at[o->types + i]));
      return CEL_OK;
    default: return cel_lex_fail(&p->lex, CEL_MALFORMED, "this operation needs (types) -> types");
  }
}

// Behind the colon.
static cel_status types(cel_parse *p, cel_parse_op *o) {
  if (p->lex.kind == '(') return cel_parse_function_type(p, o);
  CEL_TRY(cel_parse_type_list(p));
  int n = p->types.n - o->types;
  if (!cel_lex_take(&p->lex, CEL_TOK_ARROW)) return spread_types(p, o, n);
  CEL_TRY(cel_parse_result_types(p));  // chlo: "t -> t"
  o->n_in = n;
  o->n_out = p->types.n - o->types - n;
  o->typed = true;
  return CEL_OK;
}

// ---- operands and parts ------------------------------------------------------------------------

static cel_status operand(cel_parse *p, cel_parse_op *o) {
  int64_t index;
  CEL_TRY(cel_parse_operand(p));
  if (o->code == CEL_HLO_SLICE && p->lex.kind == '[') return cel_parse_slice_range(p);
  if (o->code != CEL_HLO_GET_TUPLE_ELEMENT || !cel_lex_take(&p->lex, '[')) return CEL_OK;
  CEL_TRY(cel_parse_int64(p, &index));
  if (index < 0 || index > INT32_MAX) return cel_lex_fail(&p->lex, CEL_MALFORMED, "the index of a tuple is out of range");
  CEL_TRY(cel_parse_push_attr(p, cel_hlo_make_int(p->m, "index", CEL_ET_I32, index)));
  return cel_lex_need(&p->lex, ']', "']' behind the index of a tuple");
}

// "LT" before the operands of compare, "TOTALORDER" behind them.
static cel_status compare_word(cel_parse *p, cel_parse_op *o) {
  return cel_parse_enum_attr(p, cel_parse_n_operands(p, o) ? "compare_type" : "comparison_direction");
}

// A literal among the operands: the value of check.expect_eq_const and the like.
static cel_status literal(cel_parse *p) {
  cel_hlo_attr *a;
  cel_lex_next(&p->lex);
  CEL_TRY(cel_parse_dense(p, "value", true, &a));
  return cel_parse_push_attr(p, a);
}

// The dialects whose short forms are those of items().
static bool knows_form(const cel_parse_op *o) {
  static const char *const dialects[] = {"check.", "interpreter."};
  for (int i = 0; i < CEL_COUNT(dialects); i++)
    if (cel_str_starts(cel_str_of(o->name), cel_str_of(dialects[i]))) return true;
  return false;
}

static cel_status items(cel_parse *p, cel_parse_op *o) {
  do {
    bool foreign = o->code == CEL_HLO_FOREIGN;
    if (p->lex.kind == CEL_TOK_VALUE) CEL_TRY(operand(p, o));
    else if (o->code == CEL_HLO_COMPARE && p->lex.kind == CEL_TOK_WORD) CEL_TRY(compare_word(p, o));
    else if (foreign && cel_lex_word(&p->lex, "dense")) CEL_TRY(literal(p));
    else if (foreign && !knows_form(o)) return cel_lex_expected(&p->lex, "an operand");
    else CEL_TRY(cel_parse_clause(p, o));
  } while (cel_lex_take(&p->lex, ','));
  return CEL_OK;
}

// A word begins the parts of these alone; behind any other operation it is the next one, or its location.
static bool begins_with_word(const cel_parse_op *o) {
  return o->code == CEL_HLO_COMPARE || o->code == CEL_HLO_IOTA || o->code == CEL_HLO_FOREIGN;
}

// ---- operations with a form of their own ---------------------------------------------------------

// "{attrs} dense<...> : t", or the generic form without quotes.
static cel_status constant(cel_parse *p, cel_parse_op *o) {
  cel_hlo_attr *a;
  if (p->lex.kind == '(') return cel_parse_generic(p, o);
  if (p->lex.kind == '{') CEL_TRY(cel_parse_dict(p, o->code));
  CEL_TRY(cel_parse_attr(p, "value", &a));
  CEL_TRY(cel_parse_push_attr(p, a));
  if (a->kind != CEL_HLO_ATTR_DENSE)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "the value of a constant needs the form dense<...> : type");
  CEL_TRY(cel_parse_push_type(p, a->type));
  o->typed = true;
  o->n_out = 1;
  return CEL_OK;
}

// "@f(%a, %b) {attrs} : (t, t) -> t", of call and custom_call.
static cel_status callee(cel_parse *p, cel_parse_op *o) {
  const char *name;
  bool custom = o->code == CEL_HLO_CUSTOM_CALL;
  CEL_TRY(cel_parse_symbol(p, &name, "@ and the name of what is called"));
  cel_str s = cel_str_of(name);
  CEL_TRY(cel_parse_push_attr(p, custom ? cel_hlo_make_string(p->m, "call_target_name", s)
                                        : cel_hlo_make_symbol(p->m, "callee", s)));
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' and operands"));
  CEL_TRY(cel_parse_operand_list(p));
  return cel_lex_need(&p->lex, ')', "',' or ')' in a list of operands");
}

// "name" %a, %b
static cel_status composite(cel_parse *p) {
  cel_hlo_attr *a;
  if (p->lex.kind != CEL_TOK_STRING) return cel_lex_expected(&p->lex, "the name of a composite in quotes");
  CEL_TRY(cel_parse_attr(p, "name", &a));
  CEL_TRY(cel_parse_push_attr(p, a));
  return cel_parse_operand_list(p);
}

static cel_status operands_and_parts(cel_parse *p, cel_parse_op *o) {
  if (o->code == CEL_HLO_CALL || o->code == CEL_HLO_CUSTOM_CALL) return callee(p, o);
  if (o->code == CEL_HLO_COMPOSITE) return composite(p);
  if (!cel_lex_take(&p->lex, '(')) {
    bool starts = p->lex.kind == CEL_TOK_VALUE || (p->lex.kind == CEL_TOK_WORD && begins_with_word(o));
    return starts ? items(p, o) : CEL_OK;
  }
  if (p->lex.kind != ')') CEL_TRY(items(p, o));
  CEL_TRY(cel_lex_need(&p->lex, ')', "',' or ')' in a list of operands"));
  return o->code == CEL_HLO_CONVOLUTION ? items(p, o) : CEL_OK;  // dim_numbers = ..., window = ...
}

// The type of a literal among the parts, or NULL.
static const cel_hlo_type *literal_type(const cel_parse *p, const cel_parse_op *o) {
  for (int i = o->attrs; i < p->attrs.n; i++)
    if (p->attrs.at[i]->kind == CEL_HLO_ATTR_DENSE) return p->attrs.at[i]->type;
  return NULL;
}

// What may do without types: nothing to return, no barrier, a check or a constant whose literal has them.
static bool types_may_be_left_out(const cel_parse *p, const cel_parse_op *o) {
  if (o->code == CEL_HLO_FOREIGN) return o->n_names == 0 || (o->n_names == 1 && literal_type(p, o));
  typing t = typing_of(o->code);
  return (t == OPERANDS || t == PAIRWISE) && cel_parse_n_operands(p, o) == 0;
}

static cel_status no_types(cel_parse *p, cel_parse_op *o) {
  o->typed = true;
  o->n_in = cel_parse_n_operands(p, o);
  CEL_TRY(push_operand_types(p, o));
  if (o->n_names == 0) return CEL_OK;
  o->n_out = 1;
  return cel_parse_push_type(p, literal_type(p, o));
}

// Of all others only "%a, %b {attrs} : types" is taken, which nearly all dialects write alike, and arith.constant.
static bool is_unknown_form(const cel_parse *p, const cel_parse_op *o) {
  return !knows_form(o) && p->lex.kind != CEL_TOK_VALUE && p->lex.kind != ':' && p->lex.kind != '{' &&
         !cel_lex_word(&p->lex, "dense");
}

static cel_status common_form(cel_parse *p, cel_parse_op *o) {
  cel_lex *l = &p->lex;
  CEL_TRY(operands_and_parts(p, o));
  if (l->kind == '{') CEL_TRY(cel_parse_dict(p, o->code));
  if (cel_lex_take(l, ':')) return types(p, o);
  if (types_may_be_left_out(p, o)) return no_types(p, o);
  return cel_lex_expected(l, "':' and types");
}

// A word that is no operation and no location goes on with a form we don't know ("cast %0 : t to t").
static bool op_may_end_here(const cel_parse *p) {
  cel_str s = p->lex.text;
  return p->lex.kind != CEL_TOK_WORD || memchr(s.p, '.', s.n) || cel_str_is(s, "loc") || cel_str_is(s, "return") ||
         cel_str_is(s, "call");
}

static cel_status foreign_form(cel_parse *p, cel_parse_op *o) {
  if (is_unknown_form(p, o))
    return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "the short form of %.80s is not supported, only \"%.80s\"(...)",
                        o->name, o->name);
  cel_status status = common_form(p, o);
  if (status == CEL_OK && !op_may_end_here(p)) status = cel_lex_expected(&p->lex, "the next operation");
  if (status != CEL_MALFORMED || knows_form(o)) return status;
  cel_err_prefix(p->err, "%s:%d:%d: the short form of %.80s is not supported, only \"%.80s\"(...)", p->lex.name, o->line,
                 o->column, o->name, o->name);
  return p->err->status = CEL_UNSUPPORTED;
}

cel_status cel_parse_pretty(cel_parse *p, cel_parse_op *o) {
  switch (o->code) {
    case CEL_HLO_CONSTANT: return constant(p, o);
    case CEL_HLO_REDUCE: return cel_parse_reduce(p, o);
    case CEL_HLO_WHILE: return cel_parse_while(p, o);
    case CEL_HLO_FOREIGN: return foreign_form(p, o);
    default: return common_form(p, o);
  }
}
