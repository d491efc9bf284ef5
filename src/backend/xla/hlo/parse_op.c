// Operations: names of results, operands, the generic form, and putting together what was read.
#include <string.h>

#include "backend/xla/hlo/parse.h"

// ---- values ------------------------------------------------------------------------------------

cel_status cel_parse_define(cel_parse *p, cel_str token, cel_hlo_value *first, int count) {
  if (cel_parse_find(&p->values, token))
    return cel_lex_fail_at(&p->lex, token.p, CEL_MALFORMED, "the value %.*s is defined a second time",
                           CEL_STR_ARG(token));
  cel_parse_name *name = cel_parse_add(&p->values, token);
  if (!name) return cel_parse_oom(p);
  name->first = first;
  name->count = count;
  if (count == 0 || (token.p[1] >= '0' && token.p[1] <= '9')) return CEL_OK;  // numbers are given anew
  first->name = cel_arena_dup(&p->m->arena, token.p + 1, token.n - 1);
  return first->name ? CEL_OK : cel_parse_oom(p);
}

cel_status cel_parse_operand(cel_parse *p) {
  cel_lex *l = &p->lex;
  if (l->kind != CEL_TOK_VALUE) return cel_lex_expected(l, "a value such as %0");
  const cel_parse_name *name = cel_parse_find(&p->values, l->text);
  if (!name)
    return cel_lex_fail(l, CEL_MALFORMED, "the value %.*s is used before its definition", CEL_STR_ARG(l->text));
  uint64_t i = 0;
  const char *where = l->text.p;
  cel_lex_next(l);
  if (l->kind == CEL_TOK_HASH) {
    cel_str digits = {l->text.p + 1, l->text.n - 1};
    if (digits.p[0] < '0' || digits.p[0] > '9' || !cel_parse_uint(digits, &i))
      return cel_lex_expected(l, "the number of a result, as in %0#1");
    cel_lex_next(l);
  }
  if (i >= (uint64_t)name->count)
    return cel_lex_fail_at(l, where, CEL_MALFORMED, "result %llu of a group of %d is used", (unsigned long long)i,
                           name->count);
  return cel_parse_push_value(p, name->first + i);
}

cel_status cel_parse_operand_list(cel_parse *p) {
  if (p->lex.kind != CEL_TOK_VALUE) return CEL_OK;
  do CEL_TRY(cel_parse_operand(p));
  while (cel_lex_take(&p->lex, ','));
  return CEL_OK;
}

// "%0:2, %x" of "... =": counts the results, or with `op` names them. Leaves the lexer at '='.
static cel_status result_names(cel_parse *p, cel_lex *l, cel_hlo_op *op, int *total) {
  uint64_t n = 0;
  do {
    cel_str token = l->text;
    uint64_t count = 1;
    CEL_TRY(cel_lex_need(l, CEL_TOK_VALUE, "a value such as %0"));
    if (cel_lex_take(l, ':')) {
      if (l->kind != CEL_TOK_INT || !cel_parse_uint(l->text, &count) || count == 0 || count > INT32_MAX)
        return cel_lex_expected(l, "the number of results");
      cel_lex_next(l);
    }
    if (n + count > INT32_MAX) return cel_lex_expected(l, "fewer results");
    if (op) CEL_TRY(cel_parse_define(p, token, op->results + n, (int)count));
    n += count;
  } while (cel_lex_take(l, ','));
  *total = (int)n;
  return CEL_OK;
}

// ---- putting together --------------------------------------------------------------------------

static const char *op_name(const cel_parse_op *o) { return o->name ? o->name : cel_hlo_opcode_name(o->code); }

static cel_status fail_op(cel_parse *p, const cel_parse_op *o, cel_status status, const char *fmt, ...)
    CEL_PRINTF(4, 5);
static cel_status fail_op(cel_parse *p, const cel_parse_op *o, cel_status status, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cel_failv(p->err, status, fmt, args);
  va_end(args);
  cel_err_prefix(p->err, "%s:%d:%d: %.80s", p->lex.name, o->line, o->column, op_name(o));
  return status;
}

cel_status cel_parse_make(cel_parse *p, cel_parse_op *o) {
  if (o->op) return CEL_OK;
  o->op = cel_hlo_op_new(p->m, o->code, o->name, p->operands.at + o->operands,
                         cel_parse_n_operands(p, o), 0);
  if (!o->op) return cel_parse_oom(p);
  o->op->line = o->line;
  o->op->column = o->column;
  return CEL_OK;
}

static cel_status check_operands(cel_parse *p, cel_parse_op *o) {
  if (o->n_in != o->op->n_operands)
    return fail_op(p, o, CEL_MALFORMED, "%d operands, but %d types for them", o->op->n_operands, o->n_in);
  for (int i = 0; i < o->n_in; i++) {
    const cel_hlo_type *type = p->types.at[o->types + i];
    if (o->op->operands[i]->type == type) continue;
    char has[96], told[96];
    cel_hlo_type_text(o->op->operands[i]->type, has, sizeof has);
    cel_hlo_type_text(type, told, sizeof told);
    return fail_op(p, o, CEL_MALFORMED, "operand %d has type %s, the text says %s", i, has, told);
  }
  return CEL_OK;
}

cel_status cel_parse_rule_broken(cel_parse *p, int line, int column) {
  cel_err_prefix(p->err, "%s:%d:%d", p->lex.name, line, column);
  if (p->err->status == CEL_INVALID) p->err->status = CEL_MALFORMED;
  return p->err->status;
}

static cel_status set_results(cel_parse *p, cel_parse_op *o) {
  const cel_hlo_type **types = NULL;
  int n = o->n_out;
  if (o->typed) {
    CEL_TRY(check_operands(p, o));
    if (n) types = p->types.at + o->types + o->n_in;
  } else {
    if (cel_hlo_infer(p->m, o->op, &types, &n, p->err) != CEL_OK) return cel_parse_rule_broken(p, o->line, o->column);
    if (n < 0) return fail_op(p, o, CEL_MALFORMED, "needs ':' and types");
  }
  return cel_hlo_set_results(p->func, o->op, types, n) ? CEL_OK : cel_parse_oom(p);
}

static cel_status finish(cel_parse *p, cel_parse_op *o) {
  CEL_TRY(cel_parse_make(p, o));
  CEL_TRY(cel_parse_unique(p, o->attrs, op_name(o)));
  for (int i = o->attrs; i < p->attrs.n; i++)
    if (!cel_hlo_op_add_attr(p->m, o->op, p->attrs.at[i])) return cel_parse_oom(p);
  CEL_TRY(set_results(p, o));
  if (o->n_names && o->n_names != o->op->n_results)
    return fail_op(p, o, CEL_MALFORMED, "%d results, but %d names for them", o->op->n_results, o->n_names);
  if (cel_hlo_check(p->m, o->op, p->err) != CEL_OK) return cel_parse_rule_broken(p, o->line, o->column);
  return CEL_OK;
}

// ---- the generic form --------------------------------------------------------------------------

cel_status cel_parse_function_type(cel_parse *p, cel_parse_op *o) {
  int from = p->types.n;
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' and the types of the operands"));
  if (p->lex.kind != ')') CEL_TRY(cel_parse_type_list(p));
  CEL_TRY(cel_lex_need(&p->lex, ')', "',' or ')' in a list of types"));
  o->n_in = p->types.n - from;
  CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_ARROW, "'->' and the types of the results"));
  CEL_TRY(cel_parse_result_types(p));
  o->n_out = p->types.n - from - o->n_in;
  o->typed = true;
  return CEL_OK;
}

static cel_status regions_in_parens(cel_parse *p, cel_parse_op *o) {
  cel_lex_next(&p->lex);
  do CEL_TRY(cel_parse_region(p, o));
  while (cel_lex_take(&p->lex, ','));
  return cel_lex_need(&p->lex, ')', "',' or ')' behind a region");
}

cel_status cel_parse_generic(cel_parse *p, cel_parse_op *o) {
  cel_lex *l = &p->lex;
  CEL_TRY(cel_lex_need(l, '(', "'(' and operands"));
  CEL_TRY(cel_parse_operand_list(p));
  CEL_TRY(cel_lex_need(l, ')', "',' or ')' in a list of operands"));
  if (l->kind == '[') return cel_lex_fail(l, CEL_UNSUPPORTED, "jumps to other blocks are not supported");
  if (cel_lex_take(l, '<')) {
    CEL_TRY(cel_parse_dict(p, o->code));
    CEL_TRY(cel_lex_need(l, '>', "'>' behind the properties"));
  }
  if (l->kind == '(') CEL_TRY(regions_in_parens(p, o));
  if (l->kind == '{') CEL_TRY(cel_parse_dict(p, o->code));
  CEL_TRY(cel_lex_need(l, ':', "':' and types"));
  return cel_parse_function_type(p, o);
}

// ---- one operation -----------------------------------------------------------------------------

static cel_status set_name(cel_parse *p, cel_parse_op *o, cel_str name) {
  if (cel_str_is(name, "return")) name = CEL_STR("func.return");
  if (cel_str_is(name, "call")) name = CEL_STR("func.call");
  if (!memchr(name.p, '.', name.n) || memchr(name.p, 0, name.n))
    return cel_lex_expected(&p->lex, "an operation such as stablehlo.add");
  if (cel_str_is(name, "func.func") || cel_str_is(name, "builtin.module"))
    return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "%.*s inside a function is not supported", CEL_STR_ARG(name));
  o->code = cel_hlo_opcode_of(name);
  if (o->code != CEL_HLO_FOREIGN) return CEL_OK;
  o->name = cel_arena_dup(&p->m->arena, name.p, name.n);
  return o->name ? CEL_OK : cel_parse_oom(p);
}

static cel_status name_and_rest(cel_parse *p, cel_parse_op *o) {
  cel_lex *l = &p->lex;
  if (l->kind == CEL_TOK_STRING) {
    cel_buf_clear(&p->text);
    CEL_TRY(cel_lex_string(l, l->text, &p->text));
    CEL_TRY(set_name(p, o, cel_buf_str(&p->text)));
    cel_lex_next(l);
    return cel_parse_generic(p, o);
  }
  if (l->kind != CEL_TOK_WORD) return cel_lex_expected(l, "an operation");
  CEL_TRY(set_name(p, o, l->text));
  cel_lex_next(l);
  return cel_parse_pretty(p, o);
}

cel_status cel_parse_one_op(cel_parse *p) {
  cel_lex names = p->lex;
  cel_parse_op o = {.operands = p->operands.n, .attrs = p->attrs.n, .types = p->types.n};
  CEL_TRY(cel_parse_enter(p));
  if (p->lex.kind == CEL_TOK_VALUE) {
    CEL_TRY(result_names(p, &p->lex, NULL, &o.n_names));
    CEL_TRY(cel_lex_need(&p->lex, '=', "',' or '=' behind the names of results"));
  }
  o.line = p->lex.token_line;
  o.column = p->lex.token_column;
  CEL_TRY(name_and_rest(p, &o));
  CEL_TRY(finish(p, &o));
  CEL_TRY(cel_parse_loc(p, o.op));
  if (o.n_names) CEL_TRY(result_names(p, &names, o.op, &o.n_names));
  cel_hlo_block_append(p->block, o.op);
  p->operands.n = o.operands;
  p->attrs.n = o.attrs;
  p->types.n = o.types;
  cel_parse_leave(p);
  return CEL_OK;
}
