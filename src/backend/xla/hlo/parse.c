// StableHLO text to a module: the file's level (aliases, module, functions), and the parser's small tools.
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/parse.h"

// ---- tools -------------------------------------------------------------------------------------

cel_status cel_parse_oom(cel_parse *p) { return cel_fail_oom(p->err, "a StableHLO module"); }

cel_status cel_parse_enter(cel_parse *p) {
  if (++p->depth > p->deepest) p->deepest = p->depth;
  if (p->depth <= CEL_LEX_MAX_DEPTH) return CEL_OK;
  return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "nests deeper than %d", CEL_LEX_MAX_DEPTH);
}

void *cel_parse_grow(void *at, int n, int *cap, size_t size) {
  if (n < *cap) return at;
  int wider = *cap ? *cap : 16;
  if (wider > INT_MAX / 2) return NULL;
  void *moved = realloc(at, (size_t)(wider * 2) * size);
  if (moved) *cap = wider * 2;
  return moved;
}

#define PUSH(stack, item)                                                              \
  void *grown = cel_parse_grow((stack).at, (stack).n, &(stack).cap, sizeof *(stack).at); \
  if (!grown) return cel_parse_oom(p);                                                  \
  (stack).at = grown;                                                                   \
  (stack).at[(stack).n++] = (item);                                                     \
  return CEL_OK

cel_status cel_parse_push_value(cel_parse *p, cel_hlo_value *v) { PUSH(p->operands, v); }
cel_status cel_parse_push_type(cel_parse *p, const cel_hlo_type *t) { PUSH(p->types, t); }
cel_status cel_parse_push_int(cel_parse *p, int64_t i) { PUSH(p->ints, i); }
cel_status cel_parse_push_attr(cel_parse *p, cel_hlo_attr *a) {
  if (!a) return cel_parse_oom(p);
  PUSH(p->attrs, a);
}

// ---- aliases -----------------------------------------------------------------------------------

enum { ALIAS_TIMES = 16, ALIAS_BYTES = 16 << 20 };  // what uses of aliases may stand for: 16 texts and 16 MiB

cel_status cel_parse_use_alias(cel_parse *p, const cel_parse_name *alias) {
  int64_t text_bytes = p->lex.end - p->lex.begin;
  p->deepest = CEL_MAX(p->deepest, p->depth + alias->depth);
  p->alias_bytes += alias->cost;
  if (p->depth + alias->depth > CEL_LEX_MAX_DEPTH)
    return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "with its alias nests deeper than %d", CEL_LEX_MAX_DEPTH);
  if (p->alias_bytes > text_bytes * ALIAS_TIMES + ALIAS_BYTES)
    return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "the aliases up to here stand for over %lld bytes of text",
                        (long long)(text_bytes * ALIAS_TIMES + ALIAS_BYTES));
  return CEL_OK;
}

// "#name = attribute", "#name = loc(...)" or "!name = type"
static cel_status alias(cel_parse *p) {
  cel_str text = p->lex.text;
  bool is_type = p->lex.kind == CEL_TOK_BANG;
  const cel_hlo_type *type = NULL;
  cel_hlo_attr *attr = NULL;
  if (cel_parse_find(&p->aliases, text))
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "the alias %.*s is defined a second time", CEL_STR_ARG(text));
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '=', "'=' and what the alias stands for"));
  if (!is_type && cel_lex_word(&p->lex, "loc")) return cel_parse_loc_alias(p, text);
  const char *start = p->lex.text.p;
  int64_t before = p->alias_bytes;
  p->deepest = p->depth;
  if (is_type) CEL_TRY(cel_parse_type(p, &type));
  else CEL_TRY(cel_parse_attr(p, NULL, &attr));
  cel_parse_name *name = cel_parse_add(&p->aliases, text);
  if (!name) return cel_parse_oom(p);
  name->type = type;
  name->attr = attr;
  name->depth = p->deepest - p->depth;
  name->cost = p->lex.text.p - start + (p->alias_bytes - before);
  return CEL_OK;
}

// ---- modules -----------------------------------------------------------------------------------

static cel_status add_module_attrs(cel_parse *p) {
  CEL_TRY(cel_parse_unique(p, 0, "the module"));
  for (int i = 0; i < p->attrs.n; i++)
    if (!cel_hlo_module_add_attr(p->m, p->attrs.at[i])) return cel_parse_oom(p);
  p->attrs.n = 0;
  return CEL_OK;
}

static cel_status begin_module(cel_parse *p) {
  if (p->in_module) return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "a module within a module is not supported");
  if (p->had_module || p->had_func)
    return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "a second module, or functions outside of it, are not supported");
  p->in_module = p->had_module = true;
  return CEL_OK;
}

static cel_status function_or_nothing(cel_parse *p, bool *found);

static cel_status functions_until_brace(cel_parse *p) {
  while (p->lex.kind != '}') {
    bool found;
    CEL_TRY(function_or_nothing(p, &found));
    if (!found) return cel_lex_expected(&p->lex, "func.func or '}'");
  }
  cel_lex_next(&p->lex);
  p->in_module = false;
  return CEL_OK;
}

// "@name attributes {...} { ... }", behind "module"
static cel_status module(cel_parse *p) {
  cel_lex *l = &p->lex;
  if (l->kind == CEL_TOK_SYMBOL) CEL_TRY(cel_parse_symbol(p, &p->m->name, "a name"));
  if (cel_lex_take_word(l, "attributes")) CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
  CEL_TRY(add_module_attrs(p));
  CEL_TRY(cel_lex_need(l, '{', "'{' and the functions of the module"));
  CEL_TRY(functions_until_brace(p));
  return cel_parse_loc(p, NULL);
}

// The name is an attribute of the generic form.
static cel_status take_module_name(cel_parse *p) {
  for (int i = 0; i < p->attrs.n; i++) {
    const cel_hlo_attr *a = p->attrs.at[i];
    if (strcmp(a->name, "sym_name") != 0 || a->kind != CEL_HLO_ATTR_STRING) continue;
    p->m->name = a->s;
    p->attrs.at[i] = p->attrs.at[--p->attrs.n];
    break;
  }
  return add_module_attrs(p);
}

// "builtin.module"() <{...}> ({ ... }) {...} : () -> (), behind the name
static cel_status generic_module(cel_parse *p) {
  cel_lex *l = &p->lex;
  CEL_TRY(cel_lex_need(l, '(', "'()'"));
  CEL_TRY(cel_lex_need(l, ')', "')': a module has no operands"));
  if (cel_lex_take(l, '<')) {
    CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
    CEL_TRY(cel_lex_need(l, '>', "'>' behind the properties"));
    CEL_TRY(take_module_name(p));
  }
  CEL_TRY(cel_lex_need(l, '(', "'({' and the functions of the module"));
  CEL_TRY(cel_lex_need(l, '{', "'{' and the functions of the module"));
  if (cel_lex_take(l, CEL_TOK_BLOCK)) CEL_TRY(cel_lex_need(l, ':', "':' behind the label of a block"));
  CEL_TRY(functions_until_brace(p));
  CEL_TRY(cel_lex_need(l, ')', "')' behind the functions of the module"));
  if (l->kind == '{') CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
  CEL_TRY(take_module_name(p));
  cel_parse_op as_op = {0};
  CEL_TRY(cel_lex_need(l, ':', "': () -> ()' behind a module"));
  CEL_TRY(cel_parse_function_type(p, &as_op));
  p->types.n = 0;
  return cel_parse_loc(p, NULL);
}

static cel_status function_or_nothing(cel_parse *p, bool *found) {
  cel_lex *l = &p->lex;
  bool quoted = l->kind == CEL_TOK_STRING;
  cel_str name = quoted ? (cel_str){l->text.p + 1, l->text.n - 2} : l->text;
  *found = quoted || l->kind == CEL_TOK_WORD;
  if (!*found) return CEL_OK;
  if (cel_str_is(name, "func.func")) {
    cel_lex_next(l);
    return quoted ? cel_parse_generic_func(p) : cel_parse_func(p);
  }
  if (cel_str_is(name, "builtin.module") || (!quoted && cel_str_is(name, "module"))) {
    CEL_TRY(begin_module(p));
    cel_lex_next(l);
    return quoted ? generic_module(p) : module(p);
  }
  *found = memchr(name.p, '.', name.n) != NULL;
  if (!*found) return CEL_OK;
  return cel_lex_fail(l, CEL_UNSUPPORTED, "%.*s outside of functions is not supported", CEL_STR_ARG(name));
}

// ---- the file ----------------------------------------------------------------------------------

// "{-# ... #-}": what other tools keep beside the program. Literals that lie there are refused where used.
static cel_status skip_resources(cel_parse *p) {
  const char *start = p->lex.text.p;
  for (const char *q = p->lex.p; q + 2 < p->lex.end; q++) {
    if (*q == '\n') {
      p->lex.line++;
      p->lex.line_begin = q + 1;
    }
    if (q[0] != '#' || q[1] != '-' || q[2] != '}') continue;
    p->lex.p = q + 3;
    cel_lex_next(&p->lex);
    return CEL_OK;
  }
  return cel_lex_fail_at(&p->lex, start, CEL_MALFORMED, "'{-#' has no matching '#-}'");
}

static cel_status file(cel_parse *p) {
  while (p->lex.kind != CEL_TOK_END) {
    bool found = true;
    if (p->lex.kind == CEL_TOK_HASH || p->lex.kind == CEL_TOK_BANG) CEL_TRY(alias(p));
    else if (p->lex.kind == CEL_TOK_RESOURCES) CEL_TRY(skip_resources(p));
    else if (p->had_module && p->lex.kind != CEL_TOK_BAD) return cel_lex_expected(&p->lex, "the end of the text");
    else CEL_TRY(function_or_nothing(p, &found));
    if (!found) return cel_lex_expected(&p->lex, "module, func.func or an alias");
  }
  return cel_parse_late_locs(p);
}

// The stacks have room from the start, so that at + 0 is a pointer.
static bool init(cel_parse *p) {
  p->operands.at = cel_parse_grow(NULL, 0, &p->operands.cap, sizeof *p->operands.at);
  p->types.at = cel_parse_grow(NULL, 0, &p->types.cap, sizeof *p->types.at);
  p->attrs.at = cel_parse_grow(NULL, 0, &p->attrs.cap, sizeof *p->attrs.at);
  p->ints.at = cel_parse_grow(NULL, 0, &p->ints.cap, sizeof *p->ints.at);
  return p->operands.at && p->types.at && p->attrs.at && p->ints.at;
}

static void deinit(cel_parse *p) {
  cel_parse_names_deinit(&p->values);
  cel_parse_names_deinit(&p->aliases);
  free(p->late.at);
  free(p->operands.at);
  free(p->types.at);
  free(p->attrs.at);
  free(p->ints.at);
  cel_buf_deinit(&p->text);
}

cel_status cel_hlo_parse(cel_str text, const char *name, cel_hlo_module **out, cel_err *err) {
  cel_err own;
  cel_parse p = {.err = err ? err : &own};
  *out = NULL;
  if (text.n > INT_MAX)
    return cel_fail(err, CEL_UNSUPPORTED, "%s: %zu bytes of text are not supported, only up to 2 GiB", name, text.n);
  CEL_TRY(cel_hlo_module_new(NULL, &p.m, err));
  cel_lex_init(&p.lex, text, name, p.err);
  cel_status status = init(&p) ? file(&p) : cel_parse_oom(&p);
  if (status == CEL_OK && cel_hlo_verify(p.m, p.err) != CEL_OK) {
    cel_err_prefix(p.err, "%s", name);
    status = p.err->status == CEL_INVALID ? CEL_MALFORMED : p.err->status;
    p.err->status = status;
  }
  deinit(&p);
  if (status != CEL_OK) {
    cel_hlo_module_free(p.m);
    return status;
  }
  *p.err = (cel_err){0};  // what was tried and kept as text may have left its refusal
  *out = p.m;
  return CEL_OK;
}
