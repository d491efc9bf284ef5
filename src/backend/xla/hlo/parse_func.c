// Functions in both forms.
#include <string.h>

#include "backend/xla/hlo/parse.h"

// The list ended by NULL of the attributes pushed since `from`, NULL when there are none. Pops them.
static cel_status pop_ended(cel_parse *p, int from, cel_hlo_attr ***out) {
  int n = p->attrs.n - from;
  *out = NULL;
  if (n == 0) return CEL_OK;
  CEL_TRY(cel_parse_unique(p, from, "an argument or result"));
  cel_hlo_attr **list = CEL_NEW_ARRAY(&p->m->arena, cel_hlo_attr *, n + 1);
  if (!list) return cel_parse_oom(p);
  memcpy(list, p->attrs.at + from, (size_t)n * sizeof *list);
  p->attrs.n = from;
  *out = list;
  return CEL_OK;
}

// ---- arguments ---------------------------------------------------------------------------------

// "%arg0: t {attrs} loc(...)" or, of a declaration, "t {attrs}".
static cel_status argument(cel_parse *p) {
  const cel_hlo_type *type;
  bool named = p->lex.kind == CEL_TOK_VALUE;
  int from = p->attrs.n;
  if (named) {
    cel_lex_next(&p->lex);
    CEL_TRY(cel_lex_need(&p->lex, ':', "':' and the type of an argument"));
  }
  CEL_TRY(cel_parse_type(p, &type));
  if (p->lex.kind == '{') CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
  CEL_TRY(cel_parse_loc(p, NULL));
  if (!cel_hlo_block_add_arg(p->block, type, NULL)) return cel_parse_oom(p);
  return pop_ended(p, from, &p->func->arg_attrs[p->block->n_args - 1]);
}

// Defines the names of "%arg0: t {...}, ..."; *named tells how many arguments have one. Attributes hold no
// VALUE tokens, so the names are the only ones.
static cel_status define_arguments(cel_parse *p, cel_lex names, const char *end, int *named) {
  *named = 0;
  for (; names.text.p < end && names.kind != CEL_TOK_END; cel_lex_next(&names)) {
    if (names.kind != CEL_TOK_VALUE) continue;
    if (*named < p->block->n_args) CEL_TRY(cel_parse_define(p, names.text, p->block->args[*named], 1));
    (*named)++;
  }
  return CEL_OK;
}

static cel_status arguments(cel_parse *p, int *named) {
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' and the arguments of a function"));
  cel_lex names = p->lex;
  while (p->lex.kind != ')') {
    CEL_TRY(argument(p));
    if (p->lex.kind == ')') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ')' in a list of arguments"));
  }
  CEL_TRY(define_arguments(p, names, p->lex.text.p, named));
  cel_lex_next(&p->lex);
  return CEL_OK;
}

// ---- results -----------------------------------------------------------------------------------

static cel_status result(cel_parse *p, cel_hlo_attr ***attrs) {
  const cel_hlo_type *type;
  int from = p->attrs.n;
  CEL_TRY(cel_parse_type(p, &type));
  CEL_TRY(cel_parse_push_type(p, type));
  if (p->lex.kind == '{') CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
  return pop_ended(p, from, attrs);
}

// The attributes of result i are known before the function has room for them: they wait on the stack, in the
// list of one holder for each result.
static cel_status results_in_parens(cel_parse *p) {
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' and the results of a function"));
  while (p->lex.kind != ')') {
    cel_hlo_attr *holder = CEL_NEW(&p->m->arena, cel_hlo_attr), **list;
    if (!holder) return cel_parse_oom(p);
    CEL_TRY(result(p, &list));
    holder->list = list;
    CEL_TRY(cel_parse_push_attr(p, holder));
    if (p->lex.kind == ')') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ')' in a list of results"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

static cel_status results(cel_parse *p) {
  int types = p->types.n, attrs = p->attrs.n;
  if (cel_lex_take(&p->lex, CEL_TOK_ARROW)) {
    if (p->lex.kind == '(') CEL_TRY(results_in_parens(p));
    else CEL_TRY(cel_parse_result_types(p));
  }
  int n = p->types.n - types;
  if (!cel_hlo_func_set_results(p->func, p->types.at + types, n)) return cel_parse_oom(p);
  for (int i = 0; i < p->attrs.n - attrs; i++)
    p->func->result_attrs[i] = (cel_hlo_attr **)p->attrs.at[attrs + i]->list;
  p->types.n = types;
  p->attrs.n = attrs;
  return CEL_OK;
}

// ---- the short form ----------------------------------------------------------------------------

static cel_status begin(cel_parse *p, const char *name, const char *where, bool is_private) {
  if (cel_hlo_find_func(p->m, name))
    return cel_lex_fail_at(&p->lex, where, CEL_MALFORMED, "the function @%.80s is defined a second time", name);
  p->func = cel_hlo_func_new(p->m, cel_str_of(name), is_private);
  p->block = p->func ? cel_hlo_func_body(p->func) : NULL;
  p->had_func = true;
  return p->block ? CEL_OK : cel_parse_oom(p);
}

static void end(cel_parse *p) {
  cel_parse_drop(&p->values, 0);
  p->func = NULL;
  p->block = NULL;
}

static cel_status add_attrs(cel_parse *p, int from) {
  CEL_TRY(cel_parse_unique(p, from, "a function"));
  for (int i = from; i < p->attrs.n; i++)
    if (!cel_hlo_func_add_attr(p->func, p->attrs.at[i])) return cel_parse_oom(p);
  p->attrs.n = from;
  return CEL_OK;
}

static cel_status body(cel_parse *p, int named) {
  if (p->lex.kind != '{') {
    p->func->is_declaration = true;
    return CEL_OK;
  }
  if (named != p->block->n_args)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "function @%.80s has a body, but not every argument a name",
                        p->func->name);
  cel_lex_next(&p->lex);
  return cel_parse_block_body(p);
}

cel_status cel_parse_func(cel_parse *p) {
  cel_lex *l = &p->lex;
  const char *name;
  int named, attrs = p->attrs.n;
  bool is_private = cel_lex_take_word(l, "private");
  if (!is_private && !cel_lex_take_word(l, "public")) cel_lex_take_word(l, "nested");
  const char *where = l->text.p;
  CEL_TRY(cel_parse_symbol(p, &name, "@ and the name of a function"));
  CEL_TRY(begin(p, name, where, is_private));
  CEL_TRY(arguments(p, &named));
  CEL_TRY(results(p));
  if (cel_lex_take_word(l, "attributes")) CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
  CEL_TRY(add_attrs(p, attrs));
  CEL_TRY(body(p, named));
  end(p);
  return cel_parse_loc(p, NULL);
}

// ---- the generic form --------------------------------------------------------------------------
// "func.func"() <{function_type = (t) -> t, sym_name = "f", arg_attrs = [{}], ...}> ({ ^bb0(...): ... }) : () -> ()
// The attributes may stand behind the region: then the region is skipped first.

typedef struct header {
  const char *name, *where;
  bool is_private;
  const cel_hlo_attr *arg_attrs, *result_attrs;
  int types, n_in, attrs;
} header;

static cel_status header_type(cel_parse *p, header *h) {
  cel_parse_op as_op = {.types = p->types.n};
  CEL_TRY(cel_parse_function_type(p, &as_op));
  h->types = as_op.types;
  h->n_in = as_op.n_in;
  return CEL_OK;
}

static cel_status header_entry(cel_parse *p, header *h) {
  const char *key;
  cel_hlo_attr *a;
  const char *where = p->lex.text.p;
  CEL_TRY(cel_parse_name_text(p, &key));
  if (!cel_lex_take(&p->lex, '=')) return cel_parse_push_attr(p, cel_hlo_make_unit(p->m, key));
  if (strcmp(key, "function_type") == 0 && h->n_in < 0) return header_type(p, h);
  CEL_TRY(cel_parse_attr(p, key, &a));
  if (strcmp(key, "sym_name") == 0 && a->kind == CEL_HLO_ATTR_STRING && strlen(a->s) == (size_t)a->n) {
    h->name = a->s;
    h->where = where;
  } else if (strcmp(key, "sym_visibility") == 0 && a->kind == CEL_HLO_ATTR_STRING) {
    h->is_private = strcmp(a->s, "private") == 0;
  } else if (strcmp(key, "arg_attrs") == 0 && a->kind == CEL_HLO_ATTR_LIST) {
    h->arg_attrs = a;
  } else if (strcmp(key, "res_attrs") == 0 && a->kind == CEL_HLO_ATTR_LIST) {
    h->result_attrs = a;
  } else {
    return cel_parse_push_attr(p, a);
  }
  return CEL_OK;
}

static cel_status header_dict(cel_parse *p, header *h) {
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and attributes"));
  while (p->lex.kind != '}') {
    CEL_TRY(header_entry(p, h));
    if (p->lex.kind == '}') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or '}' in a list of attributes"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

// A list of dictionaries, one for each argument or result, into lists ended by NULL.
static cel_status spread_attrs(cel_parse *p, const cel_hlo_attr *list, cel_hlo_attr ***out, int n) {
  if (!list) return CEL_OK;
  if (list->n != n)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "%lld dictionaries of attributes for %d arguments or results",
                        (long long)list->n, n);
  for (int i = 0; i < n; i++) {
    int from = p->attrs.n;
    const cel_hlo_attr *dict = list->list[i];
    if (dict->kind != CEL_HLO_ATTR_DICT)
      return cel_lex_fail(&p->lex, CEL_MALFORMED, "attributes of an argument or result need {...}");
    for (int64_t k = 0; k < dict->n; k++) CEL_TRY(cel_parse_push_attr(p, dict->list[k]));
    CEL_TRY(pop_ended(p, from, &out[i]));
  }
  return CEL_OK;
}

static cel_status make_function(cel_parse *p, const header *h) {
  if (!h->name || h->n_in < 0)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "a function needs sym_name and function_type");
  CEL_TRY(begin(p, h->name, h->where, h->is_private));
  for (int i = 0; i < h->n_in; i++)
    if (!cel_hlo_block_add_arg(p->block, p->types.at[h->types + i], NULL)) return cel_parse_oom(p);
  int n_out = p->types.n - h->types - h->n_in;
  if (!cel_hlo_func_set_results(p->func, p->types.at + h->types + h->n_in, n_out))
    return cel_parse_oom(p);
  CEL_TRY(spread_attrs(p, h->arg_attrs, p->func->arg_attrs, h->n_in));
  CEL_TRY(spread_attrs(p, h->result_attrs, p->func->result_attrs, n_out));
  return add_attrs(p, h->attrs);
}

// "{ ^bb0(%a: t): ... }": the label's types are those of function_type.
static cel_status generic_body(cel_parse *p) {
  int types = p->types.n, named = 0;
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and the body of a function"));
  if (cel_lex_take(&p->lex, '}')) {
    p->func->is_declaration = true;
    return CEL_OK;
  }
  cel_lex names = p->lex;
  if (cel_lex_take(&p->lex, CEL_TOK_BLOCK)) {
    if (cel_lex_take(&p->lex, '(')) CEL_TRY(cel_parse_typed_names(p));
    CEL_TRY(define_arguments(p, names, p->lex.text.p, &named));
    CEL_TRY(cel_lex_need(&p->lex, ':', "':' behind the label of a block"));
  }
  bool same = p->types.n - types == p->block->n_args;
  for (int i = 0; same && i < p->block->n_args; i++) same = p->types.at[types + i] == p->block->args[i]->type;
  if (!same)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "the arguments of the block are not those of function_type");
  p->types.n = types;
  return cel_parse_block_body(p);
}

// From '{' to behind its '}'.
static cel_status skip_braces(cel_parse *p) {
  int64_t depth = 0;
  do {
    if (p->lex.kind == '{') depth++;
    if (p->lex.kind == '}') depth--;
    if (p->lex.kind == CEL_TOK_END) return cel_lex_expected(&p->lex, "'}'");
    cel_lex_next(&p->lex);
  } while (depth > 0);
  return CEL_OK;
}

cel_status cel_parse_generic_func(cel_parse *p) {
  cel_lex *l = &p->lex;
  header h = {.n_in = -1, .types = p->types.n, .attrs = p->attrs.n};
  int types = p->types.n;
  CEL_TRY(cel_lex_need(l, '(', "'()'"));
  CEL_TRY(cel_lex_need(l, ')', "')': a function has no operands"));
  if (cel_lex_take(l, '<')) {
    CEL_TRY(header_dict(p, &h));
    CEL_TRY(cel_lex_need(l, '>', "'>' behind the properties"));
  }
  CEL_TRY(cel_lex_need(l, '(', "'({' and the body of a function"));
  cel_lex at_body = *l;
  if (l->kind != '{') return cel_lex_expected(l, "'{' and the body of a function");
  CEL_TRY(skip_braces(p));
  CEL_TRY(cel_lex_need(l, ')', "')' behind the body of a function"));
  if (l->kind == '{') CEL_TRY(header_dict(p, &h));
  cel_lex behind = *l;
  CEL_TRY(make_function(p, &h));
  *l = at_body;
  CEL_TRY(generic_body(p));
  end(p);
  p->types.n = types;
  *l = behind;
  CEL_TRY(cel_lex_need(l, ':', "': () -> ()' behind a function"));
  cel_parse_op as_op = {.types = types};
  CEL_TRY(cel_parse_function_type(p, &as_op));
  p->types.n = types;
  return cel_parse_loc(p, NULL);
}
