// Expressions, with jinja2's levels of precedence (loosest first): if-else, or, and, not, comparisons, + -, ~,
// * / // %, **, unary. Filters and tests bind tighter than all of these.
#include "text/template/tmpl_parse.h"

enum { LEVEL_OR = 1, LEVEL_AND, LEVEL_NOT, LEVEL_COMPARE, LEVEL_SUM, LEVEL_CONCAT, LEVEL_PRODUCT, LEVEL_POWER };

static cel_status parse_operators(cel_tparser *p, int level, cel_tnode **out);

typedef struct binary {
  const char *text;
  int level;
  cel_top op;
} binary;

static const binary operators[] = {
    {"==", LEVEL_COMPARE, CEL_OP_EQ}, {"!=", LEVEL_COMPARE, CEL_OP_NE},    {"<", LEVEL_COMPARE, CEL_OP_LT},
    {"<=", LEVEL_COMPARE, CEL_OP_LE}, {">", LEVEL_COMPARE, CEL_OP_GT},     {">=", LEVEL_COMPARE, CEL_OP_GE},
    {"+", LEVEL_SUM, CEL_OP_ADD},     {"-", LEVEL_SUM, CEL_OP_SUB},        {"~", LEVEL_CONCAT, CEL_OP_ADD},
    {"*", LEVEL_PRODUCT, CEL_OP_MUL}, {"/", LEVEL_PRODUCT, CEL_OP_DIV},    {"//", LEVEL_PRODUCT, CEL_OP_FLOORDIV},
    {"%", LEVEL_PRODUCT, CEL_OP_MOD}, {"**", LEVEL_POWER, CEL_OP_POW},
};

// The operator at the current token; level 0 when there is none.
static binary operator_here(const cel_tparser *p) {
  const cel_ttoken *t = p->tok;
  if (t->kind == CEL_TK_NAME) {
    if (cel_tat_name(p, "or")) return (binary){"or", LEVEL_OR, CEL_OP_ADD};
    if (cel_tat_name(p, "and")) return (binary){"and", LEVEL_AND, CEL_OP_ADD};
    if (cel_tat_name(p, "in")) return (binary){"in", LEVEL_COMPARE, CEL_OP_IN};
    if (cel_tat_name(p, "not") && t[1].kind == CEL_TK_NAME && cel_str_is(t[1].text, "in")) {
      return (binary){"not in", LEVEL_COMPARE, CEL_OP_NOT_IN};
    }
  }
  for (int i = 0; t->kind == CEL_TK_OP && i < CEL_COUNT(operators); i++) {
    if (cel_str_is(t->text, operators[i].text)) return operators[i];
  }
  return (binary){"", 0, CEL_OP_ADD};
}

static void add_items(cel_tnode *n, const cel_tnodes *list) {
  n->items = list->at, n->n_items = list->n;
}

static cel_status parse_constant(cel_tparser *p, cel_tval value, cel_tnode **out) {
  CEL_TRY(cel_tnode_new(p, CEL_N_CONST, p->tok, out));
  (*out)->value = value;
  p->tok++;
  return CEL_OK;
}

static void note_special_name(cel_tparser *p, cel_str name) {
  bool caller = cel_str_is(name, "caller"), varargs = cel_str_is(name, "varargs"), kwargs = cel_str_is(name, "kwargs");
  for (struct cel_tmacro_scope *m = p->macros; m; m = m->outer) {
    m->macro->uses_caller |= caller;
    m->macro->uses_varargs |= varargs;
    m->macro->uses_kwargs |= kwargs;
  }
}

static cel_status parse_name(cel_tparser *p, cel_tnode **out) {
  cel_str s = p->tok->text;
  if (cel_str_is(s, "true") || cel_str_is(s, "True")) return parse_constant(p, cel_tbool(true), out);
  if (cel_str_is(s, "false") || cel_str_is(s, "False")) return parse_constant(p, cel_tbool(false), out);
  if (cel_str_is(s, "none") || cel_str_is(s, "None")) return parse_constant(p, cel_tnone(), out);
  CEL_TRY(cel_tnode_new(p, CEL_N_NAME, p->tok, out));
  (*out)->value = cel_tstr(s);
  note_special_name(p, s);
  p->tok++;
  return cel_tparse_name_id(p, s, &(*out)->name);
}

// Strings that stand side by side are one.
static cel_status parse_string(cel_tparser *p, cel_tnode **out) {
  const cel_ttoken *first = p->tok;
  size_t n = 0;
  for (const cel_ttoken *t = first; t->kind == CEL_TK_STRING; t++) n += t->text.n;
  CEL_TRY(parse_constant(p, first->value, out));
  if (p->tok->kind != CEL_TK_STRING) return CEL_OK;
  char *s = cel_arena_alloc(&p->t->arena, n + 1), *end = s;
  if (!s) return cel_fail_oom(p->err, "a template");
  for (const cel_ttoken *t = first; t->kind == CEL_TK_STRING; t++) {
    if (t->text.n) memcpy(end, t->text.p, t->text.n);
    end += t->text.n, p->tok = t + 1;
  }
  (*out)->value = cel_tstr((cel_str){s, n});
  return CEL_OK;
}

static cel_status parse_list(cel_tparser *p, cel_tnode **out) {
  cel_tnodes items = {0};
  CEL_TRY(cel_tnode_new(p, CEL_N_LIST, p->tok++, out));
  while (!cel_tat_op(p, "]")) {
    cel_tnode *item;
    if (items.n) CEL_TRY(cel_texpect_op(p, ","));
    if (cel_tat_op(p, "]")) break;
    CEL_TRY(cel_tparse_expression(p, true, &item));
    CEL_TRY(cel_tnodes_add(p, &items, item));
  }
  add_items(*out, &items);
  return cel_texpect_op(p, "]");
}

static cel_status parse_dict(cel_tparser *p, cel_tnode **out) {
  cel_tnodes items = {0};
  CEL_TRY(cel_tnode_new(p, CEL_N_DICT, p->tok++, out));
  while (!cel_tat_op(p, "}")) {
    cel_tnode *key, *value;
    if (items.n) CEL_TRY(cel_texpect_op(p, ","));
    if (cel_tat_op(p, "}")) break;
    CEL_TRY(cel_tparse_expression(p, true, &key));
    CEL_TRY(cel_texpect_op(p, ":"));
    CEL_TRY(cel_tparse_expression(p, true, &value));
    CEL_TRY(cel_tnodes_add(p, &items, key));
    CEL_TRY(cel_tnodes_add(p, &items, value));
  }
  add_items(*out, &items);
  return cel_texpect_op(p, "}");
}

static cel_status parse_primary(cel_tparser *p, cel_tnode **out) {
  switch (p->tok->kind) {
    case CEL_TK_NAME: return parse_name(p, out);
    case CEL_TK_STRING: return parse_string(p, out);
    case CEL_TK_INT:
    case CEL_TK_FLOAT: return parse_constant(p, p->tok->value, out);
    default: break;
  }
  if (cel_tskip_op(p, "(")) {
    CEL_TRY(cel_tparse_tuple(p, true, true, out));
    return cel_texpect_op(p, ")");
  }
  if (cel_tat_op(p, "[")) return parse_list(p, out);
  if (cel_tat_op(p, "{")) return parse_dict(p, out);
  return cel_tparse_fail(p, "an expression is expected here");
}

// ---- calls, attributes, subscripts ----

typedef struct kwargs {
  struct cel_tnode_kwarg *at;
  int n, cap;
} kwargs;

static cel_status add_kwarg(cel_tparser *p, kwargs *list, cel_str name, cel_tnode *value) {
  if (list->n == list->cap) {
    int cap = list->cap ? list->cap * 2 : 4;
    struct cel_tnode_kwarg *more = CEL_NEW_ARRAY(&p->t->arena, struct cel_tnode_kwarg, cap);
    if (!more) return cel_fail_oom(p->err, "a template");
    if (list->n) memcpy(more, list->at, (size_t)list->n * sizeof *more);
    list->at = more, list->cap = cap;
  }
  for (int i = 0; i < list->n; i++) {
    if (cel_str_eq(list->at[i].name, name)) return cel_tparse_fail(p, "keyword argument repeated: %.*s", CEL_STR_ARG(name));
  }
  list->at[list->n].name = name;
  list->at[list->n++].value = value;
  return CEL_OK;
}

static cel_status parse_argument(cel_tparser *p, cel_tnode_args *args, cel_tnodes *pos, kwargs *kw) {
  const char *order = "the order of arguments is: values, name=value, *values, **names";
  cel_tnode *value;
  if (cel_tat_op(p, "*")) {
    if (args->star || args->star_star) return cel_tparse_fail(p, "%s", order);
    p->tok++;
    return cel_tparse_expression(p, true, &args->star);
  }
  if (cel_tat_op(p, "**")) {
    if (args->star_star) return cel_tparse_fail(p, "%s", order);
    p->tok++;
    return cel_tparse_expression(p, true, &args->star_star);
  }
  if (p->tok->kind == CEL_TK_NAME && p->tok[1].kind == CEL_TK_OP && cel_str_is(p->tok[1].text, "=")) {
    cel_str name = p->tok->text;
    if (args->star_star) return cel_tparse_fail(p, "%s", order);
    p->tok += 2;
    CEL_TRY(cel_tparse_expression(p, true, &value));
    return add_kwarg(p, kw, name, value);
  }
  if (args->star || args->star_star || kw->n) return cel_tparse_fail(p, "%s", order);
  CEL_TRY(cel_tparse_expression(p, true, &value));
  return cel_tnodes_add(p, pos, value);
}

static cel_status parse_arguments(cel_tparser *p, cel_tnode_args **out) {
  cel_tnode_args *args = CEL_NEW(&p->t->arena, cel_tnode_args);
  cel_tnodes pos = {0};
  kwargs kw = {0};
  if (!args) return cel_fail_oom(p->err, "a template");
  CEL_TRY(cel_texpect_op(p, "("));
  for (bool comma = false; !cel_tat_op(p, ")"); comma = true) {
    if (comma) CEL_TRY(cel_texpect_op(p, ","));
    if (cel_tat_op(p, ")")) break;
    CEL_TRY(parse_argument(p, args, &pos, &kw));
  }
  args->pos = pos.at, args->n_pos = pos.n;
  args->kw = kw.at, args->n_kw = kw.n;
  *out = args;
  return cel_texpect_op(p, ")");
}

static cel_status parse_call(cel_tparser *p, cel_tnode **node) {
  cel_tnode *n;
  CEL_TRY(cel_tnode_new(p, CEL_N_CALL, p->tok, &n));
  n->a = *node;
  *node = n;
  return parse_arguments(p, &n->args);
}

static bool at_slice_end(const cel_tparser *p) { return cel_tat_op(p, ":") || cel_tat_op(p, "]") || cel_tat_op(p, ","); }

static cel_status parse_index(cel_tparser *p, cel_tnode **out) {
  const cel_ttoken *first = p->tok;
  cel_tnode **part = CEL_NEW_ARRAY(&p->t->arena, cel_tnode *, 3);
  if (!part) return cel_fail_oom(p->err, "a template");
  if (!cel_tat_op(p, ":")) {
    CEL_TRY(cel_tparse_expression(p, true, out));
    if (!cel_tat_op(p, ":")) return CEL_OK;
    part[0] = *out;
  }
  for (int i = 1; i < 3 && cel_tskip_op(p, ":"); i++) {
    if (!at_slice_end(p)) CEL_TRY(cel_tparse_expression(p, true, &part[i]));
  }
  CEL_TRY(cel_tnode_new(p, CEL_N_SLICE, first, out));
  (*out)->items = part, (*out)->n_items = 3;
  return CEL_OK;
}

static cel_status parse_subscript(cel_tparser *p, cel_tnode **node) {
  const cel_ttoken *first = p->tok;
  cel_tnode *n, *tuple;
  cel_tnodes items = {0};
  CEL_TRY(cel_tnode_new(p, CEL_N_ITEM, p->tok++, &n));
  n->a = *node;
  while (!cel_tat_op(p, "]")) {
    if (items.n) CEL_TRY(cel_texpect_op(p, ","));
    CEL_TRY(parse_index(p, &n->b));
    CEL_TRY(cel_tnodes_add(p, &items, n->b));
  }
  if (items.n != 1) {
    CEL_TRY(cel_tnode_new(p, CEL_N_TUPLE, first, &tuple));
    add_items(tuple, &items);
    n->b = tuple;
  }
  *node = n;
  return cel_texpect_op(p, "]");
}

static cel_status parse_dot(cel_tparser *p, cel_tnode **node) {
  const cel_ttoken *dot = p->tok++;
  cel_tnode *n;
  if (p->tok->kind == CEL_TK_NAME) {
    CEL_TRY(cel_tnode_new(p, CEL_N_ATTR, dot, &n));
    n->value = cel_tstr(p->tok->text);
    p->tok++;
  } else if (p->tok->kind == CEL_TK_INT) {
    CEL_TRY(cel_tnode_new(p, CEL_N_ITEM, dot, &n));
    CEL_TRY(parse_constant(p, p->tok->value, &n->b));
  } else {
    return cel_tparse_fail(p, "a name or a number is expected after \".\"");
  }
  n->a = *node;
  *node = n;
  return CEL_OK;
}

static cel_status parse_postfix(cel_tparser *p, cel_tnode **node) {
  for (;;) {
    if (cel_tat_op(p, ".")) {
      CEL_TRY(parse_dot(p, node));
    } else if (cel_tat_op(p, "[")) {
      CEL_TRY(parse_subscript(p, node));
    } else if (cel_tat_op(p, "(")) {
      CEL_TRY(parse_call(p, node));
    } else {
      return CEL_OK;
    }
  }
}

// ---- filters and tests ----

// A name with dots in it, as one string.
static cel_status parse_dotted(cel_tparser *p, cel_tval *out) {
  cel_str name, part;
  CEL_TRY(cel_texpect_name(p, &name));
  while (cel_tskip_op(p, ".")) {
    CEL_TRY(cel_texpect_name(p, &part));
    char *s = cel_arena_printf(&p->t->arena, "%.*s.%.*s", (int)name.n, name.p, (int)part.n, part.p);
    if (!s) return cel_fail_oom(p->err, "a template");
    name = cel_str_of(s);
  }
  *out = cel_tstr(name);
  return CEL_OK;
}

cel_status cel_tparse_filters(cel_tparser *p, cel_tnode *subject, bool inline_first, cel_tnode **out) {
  *out = subject;
  while (inline_first || cel_tskip_op(p, "|")) {
    cel_tnode *n;
    inline_first = false;
    CEL_TRY(cel_tnode_new(p, CEL_N_FILTER, p->tok, &n));
    CEL_TRY(parse_dotted(p, &n->value));
    if (cel_tat_op(p, "(")) CEL_TRY(parse_arguments(p, &n->args));
    n->a = *out;
    *out = n;
  }
  return CEL_OK;
}

static bool at_bare_test_argument(const cel_tparser *p) {
  switch (p->tok->kind) {
    case CEL_TK_NAME: return !cel_tat_name(p, "else") && !cel_tat_name(p, "or") && !cel_tat_name(p, "and");
    case CEL_TK_STRING:
    case CEL_TK_INT:
    case CEL_TK_FLOAT: return true;
    default: return cel_tat_op(p, "[") || cel_tat_op(p, "{");
  }
}

static cel_status parse_test(cel_tparser *p, cel_tnode **node) {
  const cel_ttoken *is = p->tok++;
  bool negated = cel_tskip_name(p, "not");
  cel_tnode *n, *arg;
  CEL_TRY(cel_tnode_new(p, CEL_N_TEST, is, &n));
  CEL_TRY(parse_dotted(p, &n->value));
  n->a = *node;
  if (cel_tat_op(p, "(")) {
    CEL_TRY(parse_arguments(p, &n->args));
  } else if (at_bare_test_argument(p)) {
    cel_tnodes pos = {0};
    if (cel_tat_name(p, "is")) return cel_tparse_fail(p, "tests with \"is\" cannot be chained");
    CEL_TRY(parse_primary(p, &arg));
    CEL_TRY(parse_postfix(p, &arg));
    CEL_TRY(cel_tnodes_add(p, &pos, arg));
    n->args = CEL_NEW(&p->t->arena, cel_tnode_args);
    if (!n->args) return cel_fail_oom(p->err, "a template");
    n->args->pos = pos.at, n->args->n_pos = 1;
  }
  *node = n;
  if (negated) {
    CEL_TRY(cel_tnode_new(p, CEL_N_NOT, is, node));
    (*node)->a = n;
  }
  return CEL_OK;
}

static cel_status parse_unary(cel_tparser *p, bool with_filter, cel_tnode **out) {
  CEL_TRY(cel_tparse_deeper(p));
  if (cel_tat_op(p, "-") || cel_tat_op(p, "+")) {
    cel_tnode *n;
    CEL_TRY(cel_tnode_new(p, cel_tat_op(p, "-") ? CEL_N_NEG : CEL_N_POS, p->tok, &n));
    p->tok++;
    CEL_TRY(parse_unary(p, false, &n->a));
    *out = n;
  } else {
    CEL_TRY(parse_primary(p, out));
  }
  CEL_TRY(parse_postfix(p, out));
  while (with_filter) {
    if (cel_tat_op(p, "|")) {
      CEL_TRY(cel_tparse_filters(p, *out, false, out));
    } else if (cel_tat_name(p, "is")) {
      CEL_TRY(parse_test(p, out));
    } else if (cel_tat_op(p, "(")) {
      CEL_TRY(parse_call(p, out));
    } else {
      break;
    }
  }
  p->depth--;
  return CEL_OK;
}

// ---- operators ----

static cel_status parse_comparisons(cel_tparser *p, cel_tnode **left) {
  cel_tnodes items = {0};
  uint8_t *ops = NULL;
  cel_tnode *n, *operand;
  CEL_TRY(cel_tnode_new(p, CEL_N_COMPARE, p->tok, &n));
  CEL_TRY(cel_tnodes_add(p, &items, *left));
  for (binary b = operator_here(p); b.level == LEVEL_COMPARE; b = operator_here(p)) {
    p->tok += b.op == CEL_OP_NOT_IN ? 2 : 1;
    CEL_TRY(parse_operators(p, LEVEL_SUM, &operand));
    CEL_TRY(cel_tnodes_add(p, &items, operand));
    uint8_t *more = cel_arena_alloc(&p->t->arena, (size_t)items.n);
    if (!more) return cel_fail_oom(p->err, "a template");
    if (ops) memcpy(more, ops, (size_t)items.n - 1);
    ops = more;
    ops[items.n - 1] = (uint8_t)b.op;
    if (items.n > CEL_TPARSE_DEPTH) return cel_tparse_fail(p, "more than %d comparisons in a chain", CEL_TPARSE_DEPTH);
  }
  n->ops = ops;
  *left = n;
  add_items(n, &items);
  return CEL_OK;
}

static cel_status parse_concat(cel_tparser *p, cel_tnode **left) {
  cel_tnodes items = {0};
  cel_tnode *n, *operand;
  CEL_TRY(cel_tnode_new(p, CEL_N_CONCAT, p->tok, &n));
  CEL_TRY(cel_tnodes_add(p, &items, *left));
  while (cel_tskip_op(p, "~")) {
    CEL_TRY(parse_operators(p, LEVEL_PRODUCT, &operand));
    CEL_TRY(cel_tnodes_add(p, &items, operand));
  }
  *left = n;
  add_items(n, &items);
  return CEL_OK;
}

static cel_status parse_binary(cel_tparser *p, binary b, cel_tnode **left) {
  cel_tnode *n;
  cel_tnode_kind kind = b.level == LEVEL_OR ? CEL_N_OR : b.level == LEVEL_AND ? CEL_N_AND : CEL_N_BINARY;
  CEL_TRY(cel_tnode_new(p, kind, p->tok++, &n));
  n->a = *left, n->op = (uint8_t)b.op;
  *left = n;
  return b.level == LEVEL_POWER ? parse_unary(p, true, &n->b) : parse_operators(p, b.level + 1, &n->b);
}

static cel_status parse_operators(cel_tparser *p, int level, cel_tnode **out) {
  if (level <= LEVEL_NOT && cel_tat_name(p, "not")) {
    cel_tnode *n;
    CEL_TRY(cel_tparse_deeper(p));
    CEL_TRY(cel_tnode_new(p, CEL_N_NOT, p->tok++, &n));
    CEL_TRY(parse_operators(p, LEVEL_NOT, &n->a));
    p->depth--;
    *out = n;
  } else {
    CEL_TRY(parse_unary(p, true, out));
  }
  for (binary b = operator_here(p); b.level && b.level >= level; b = operator_here(p)) {
    if (b.level == LEVEL_COMPARE) {
      CEL_TRY(parse_comparisons(p, out));
    } else if (b.level == LEVEL_CONCAT) {
      CEL_TRY(parse_concat(p, out));
    } else {
      CEL_TRY(parse_binary(p, b, out));
    }
  }
  return CEL_OK;
}

cel_status cel_tparse_expression(cel_tparser *p, bool cond, cel_tnode **out) {
  CEL_TRY(cel_tparse_deeper(p));
  CEL_TRY(parse_operators(p, LEVEL_OR, out));
  while (cond && cel_tat_name(p, "if")) {
    cel_tnode *n;
    CEL_TRY(cel_tnode_new(p, CEL_N_COND, p->tok++, &n));
    n->a = *out;
    CEL_TRY(parse_operators(p, LEVEL_OR, &n->b));
    if (cel_tskip_name(p, "else")) CEL_TRY(cel_tparse_expression(p, true, &n->c));
    *out = n;
  }
  p->depth--;
  return CEL_OK;
}

static bool at_tuple_end(const cel_tparser *p) {
  return p->tok->kind == CEL_TK_PRINT_END || p->tok->kind == CEL_TK_BLOCK_END || cel_tat_op(p, ")");
}

// The shared shape of tuples of expressions (targets: false) and of targets.
static cel_status parse_commas(cel_tparser *p, bool targets, bool cond, bool with_namespace, cel_tnodes *items,
                               bool *is_tuple) {
  *is_tuple = false;
  for (;;) {
    cel_tnode *item;
    if (items->n) CEL_TRY(cel_texpect_op(p, ","));
    if (at_tuple_end(p)) return CEL_OK;
    if (!targets) {
      CEL_TRY(cel_tparse_expression(p, cond, &item));
    } else if (with_namespace && p->tok->kind == CEL_TK_NAME && p->tok[1].kind == CEL_TK_OP &&
               cel_str_is(p->tok[1].text, ".")) {
      cel_str name = p->tok->text, attr;
      CEL_TRY(cel_tnode_new(p, CEL_N_NSREF, p->tok, &item));
      p->tok += 2;
      CEL_TRY(cel_texpect_name(p, &attr));
      item->value = cel_tstr(attr);
      CEL_TRY(cel_tparse_name_id(p, name, &item->name));
    } else {
      CEL_TRY(parse_primary(p, &item));
    }
    CEL_TRY(cel_tnodes_add(p, items, item));
    if (!cel_tat_op(p, ",")) return CEL_OK;
    *is_tuple = true;
  }
}

static cel_status finish_tuple(cel_tparser *p, const cel_ttoken *first, cel_tnodes *items, bool is_tuple,
                               bool may_be_empty, cel_tnode **out) {
  if (!is_tuple && items->n) {
    *out = items->at[0];
    return CEL_OK;
  }
  if (!is_tuple && !may_be_empty) return cel_tparse_fail(p, "an expression is expected here");
  CEL_TRY(cel_tnode_new(p, CEL_N_TUPLE, first, out));
  add_items(*out, items);
  return CEL_OK;
}

cel_status cel_tparse_tuple(cel_tparser *p, bool cond, bool parenthesized, cel_tnode **out) {
  const cel_ttoken *first = p->tok;
  cel_tnodes items = {0};
  bool is_tuple;
  CEL_TRY(parse_commas(p, false, cond, false, &items, &is_tuple));
  return finish_tuple(p, first, &items, is_tuple, parenthesized, out);
}

static cel_status check_target(cel_tparser *p, const cel_tnode *n, int depth) {
  if (n->kind == CEL_N_NAME || n->kind == CEL_N_NSREF) return CEL_OK;
  if (n->kind != CEL_N_TUPLE) return cel_tparse_fail(p, "this cannot be assigned to");
  for (int i = 0; i < n->n_items && depth < CEL_TPARSE_DEPTH; i++) CEL_TRY(check_target(p, n->items[i], depth + 1));
  return CEL_OK;
}

cel_status cel_tparse_target(cel_tparser *p, bool with_namespace, cel_tnode **out) {
  const cel_ttoken *first = p->tok;
  cel_tnodes items = {0};
  bool is_tuple;
  CEL_TRY(parse_commas(p, true, false, with_namespace, &items, &is_tuple));
  CEL_TRY(finish_tuple(p, first, &items, is_tuple, false, out));
  return check_target(p, *out, 0);
}
