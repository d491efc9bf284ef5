#include "text/template/tmpl_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const size_t most_bytes = (size_t)64 << 20;  // of a compiled template

static cel_status parse_until(cel_tparser *p, const char *const *ends, cel_tnode **out);

// ---- helpers shared with the expressions ----

cel_status cel_tparse_fail(cel_tparser *p, const char *fmt, ...) {
  char what[CEL_ERR_TEXT_BYTES], got[260];
  va_list args;
  va_start(args, fmt);
  vsnprintf(what, sizeof what, fmt, args);
  va_end(args);
  switch (p->tok->kind) {
    case CEL_TK_EOF: snprintf(got, sizeof got, "the end of the template"); break;
    case CEL_TK_DATA: snprintf(got, sizeof got, "text"); break;
    case CEL_TK_STRING: snprintf(got, sizeof got, "a string"); break;
    default: snprintf(got, sizeof got, "\"%.*s\"", CEL_STR_ARG(p->tok->text)); break;
  }
  return cel_fail(p->err, CEL_MALFORMED, "%s:%u:%u: %.400s, found %s", p->t->name, p->tok->line, p->tok->column, what, got);
}

cel_status cel_tnode_new(cel_tparser *p, cel_tnode_kind kind, const cel_ttoken *at, cel_tnode **out) {
  if (p->t->arena.total_bytes > most_bytes) return cel_tparse_fail(p, "the compiled template needs more than 64 MiB");
  cel_tnode *n = CEL_NEW(&p->t->arena, cel_tnode);
  if (!n) return cel_fail_oom(p->err, "a template");
  n->kind = (uint8_t)kind, n->line = at->line, n->column = at->column;
  *out = n;
  return CEL_OK;
}

cel_status cel_tnodes_add(cel_tparser *p, cel_tnodes *list, cel_tnode *n) {
  if (list->n == list->cap) {
    int cap = list->cap ? list->cap * 2 : 4;
    cel_tnode **more = CEL_NEW_ARRAY(&p->t->arena, cel_tnode *, cap);
    if (!more) return cel_fail_oom(p->err, "a template");
    if (list->n) memcpy(more, list->at, (size_t)list->n * sizeof *more);
    list->at = more, list->cap = cap;
  }
  list->at[list->n++] = n;
  return CEL_OK;
}

static uint32_t hash_name(cel_str s) {
  uint32_t h = 2166136261u;  // FNV-1a
  for (size_t i = 0; i < s.n; i++) h = (h ^ (unsigned char)s.p[i]) * 16777619u;
  return h;
}

static void put_slot(cel_tparser *p, uint32_t id) {
  uint32_t i = hash_name(p->t->names[id]) & (p->n_slots - 1);
  while (p->slots[i]) i = (i + 1) & (p->n_slots - 1);
  p->slots[i] = id + 1;
}

static cel_status grow_names(cel_tparser *p) {
  uint32_t cap = p->names_cap ? p->names_cap * 2 : 64;
  cel_str *names = CEL_NEW_ARRAY(&p->t->arena, cel_str, cap);
  uint32_t *slots = CEL_NEW_ARRAY(&p->t->arena, uint32_t, cap * 2);
  if (!names || !slots) return cel_fail_oom(p->err, "the names of a template");
  if (p->t->n_names) memcpy(names, p->t->names, p->t->n_names * sizeof *names);
  p->t->names = names, p->names_cap = cap;
  p->slots = slots, p->n_slots = cap * 2;
  for (uint32_t id = 0; id < p->t->n_names; id++) put_slot(p, id);
  return CEL_OK;
}

cel_status cel_tparse_name_id(cel_tparser *p, cel_str name, uint32_t *id) {
  for (uint32_t i = p->n_slots ? hash_name(name) & (p->n_slots - 1) : 0; p->n_slots && p->slots[i];
       i = (i + 1) & (p->n_slots - 1)) {
    *id = p->slots[i] - 1;
    if (cel_str_eq(p->t->names[*id], name)) return CEL_OK;
  }
  if (p->t->n_names == p->names_cap) CEL_TRY(grow_names(p));
  *id = p->t->n_names++;
  p->t->names[*id] = name;
  put_slot(p, *id);
  return CEL_OK;
}

cel_status cel_tparse_deeper(cel_tparser *p) {
  if (++p->depth <= CEL_TPARSE_DEPTH) return CEL_OK;
  return cel_tparse_fail(p, "nested deeper than %d", CEL_TPARSE_DEPTH);
}

bool cel_tat_op(const cel_tparser *p, const char *op) { return p->tok->kind == CEL_TK_OP && cel_str_is(p->tok->text, op); }
bool cel_tat_name(const cel_tparser *p, const char *name) {
  return p->tok->kind == CEL_TK_NAME && cel_str_is(p->tok->text, name);
}

bool cel_tskip_op(cel_tparser *p, const char *op) {
  bool here = cel_tat_op(p, op);
  p->tok += here;
  return here;
}

bool cel_tskip_name(cel_tparser *p, const char *name) {
  bool here = cel_tat_name(p, name);
  p->tok += here;
  return here;
}

cel_status cel_texpect_op(cel_tparser *p, const char *op) {
  return cel_tskip_op(p, op) ? CEL_OK : cel_tparse_fail(p, "\"%s\" is expected here", op);
}

cel_status cel_texpect_name(cel_tparser *p, cel_str *out) {
  if (p->tok->kind != CEL_TK_NAME) return cel_tparse_fail(p, "a name is expected here");
  *out = p->tok++->text;
  return CEL_OK;
}

static cel_status expect_block_end(cel_tparser *p) {
  if (p->tok->kind != CEL_TK_BLOCK_END) return cel_tparse_fail(p, "\"%%}\" is expected here");
  p->tok++;
  return CEL_OK;
}

// ---- statements ----

// The body of a statement up to one of the words in `ends` (NULL at the end), which becomes the current token.
static cel_status parse_body(cel_tparser *p, const char *const *ends, cel_tnode **out) {
  cel_tskip_op(p, ":");
  CEL_TRY(expect_block_end(p));
  return parse_until(p, ends, out);
}

static cel_status parse_whole_body(cel_tparser *p, const char *end, cel_tnode **out) {
  const char *const ends[] = {end, NULL};
  CEL_TRY(parse_body(p, ends, out));
  p->tok++;
  return CEL_OK;
}

static cel_status parse_if(cel_tparser *p, cel_tnode **out) {
  static const char *const ends[] = {"elif", "else", "endif", NULL};
  cel_tnodes items = {0};
  cel_tnode *n, *body, *test;
  CEL_TRY(cel_tnode_new(p, CEL_N_IF, p->tok, &n));
  do {
    p->tok++;
    CEL_TRY(cel_tparse_tuple(p, false, false, &test));
    CEL_TRY(parse_body(p, ends, &body));
    CEL_TRY(cel_tnodes_add(p, &items, test));
    CEL_TRY(cel_tnodes_add(p, &items, body));
  } while (cel_tat_name(p, "elif"));
  if (cel_tskip_name(p, "else")) {
    CEL_TRY(parse_whole_body(p, "endif", &body));
    CEL_TRY(cel_tnodes_add(p, &items, body));
  } else {
    p->tok++;
  }
  n->items = items.at, n->n_items = items.n;
  *out = n;
  return CEL_OK;
}

static cel_status parse_for(cel_tparser *p, cel_tnode **out) {
  static const char *const ends[] = {"endfor", "else", NULL};
  cel_tnodes items = {0};
  cel_tnode *n, *body;
  CEL_TRY(cel_tnode_new(p, CEL_N_FOR, p->tok++, &n));
  CEL_TRY(cel_tparse_target(p, false, &n->a));
  if (!cel_tskip_name(p, "in")) return cel_tparse_fail(p, "\"in\" is expected here");
  CEL_TRY(cel_tparse_tuple(p, false, false, &n->b));
  if (cel_tskip_name(p, "if")) CEL_TRY(cel_tparse_expression(p, true, &n->c));
  n->flag = cel_tskip_name(p, "recursive");
  p->loops++;
  CEL_TRY(parse_body(p, ends, &body));
  p->loops--;
  CEL_TRY(cel_tnodes_add(p, &items, body));
  if (cel_tskip_name(p, "else")) {
    CEL_TRY(parse_whole_body(p, "endfor", &body));
    CEL_TRY(cel_tnodes_add(p, &items, body));
  } else {
    p->tok++;
  }
  n->items = items.at, n->n_items = items.n;
  *out = n;
  return CEL_OK;
}

static cel_status parse_set(cel_tparser *p, cel_tnode **out) {
  const cel_ttoken *first = p->tok++;
  cel_tnode *target;
  CEL_TRY(cel_tparse_target(p, true, &target));
  bool inline_form = cel_tskip_op(p, "=");
  CEL_TRY(cel_tnode_new(p, inline_form ? CEL_N_SET : CEL_N_SET_BLOCK, first, out));
  (*out)->a = target;
  if (inline_form) return cel_tparse_tuple(p, true, false, &(*out)->b);
  CEL_TRY(cel_tparse_filters(p, NULL, false, &(*out)->b));
  return parse_whole_body(p, "endset", &(*out)->c);
}

static cel_status add_param(cel_tparser *p, cel_tnode_macro *m, int *cap) {
  cel_arena *arena = &p->t->arena;
  if (m->n_params == *cap) {
    int more = *cap ? *cap * 2 : 4;
    uint32_t *ids = CEL_NEW_ARRAY(arena, uint32_t, more);
    cel_str *names = CEL_NEW_ARRAY(arena, cel_str, more);
    cel_tnode **defaults = CEL_NEW_ARRAY(arena, cel_tnode *, more);
    if (!ids || !names || !defaults) return cel_fail_oom(p->err, "a template");
    for (int i = 0; i < m->n_params; i++) ids[i] = m->params[i], names[i] = m->param_names[i], defaults[i] = m->defaults[i];
    m->params = ids, m->param_names = names, m->defaults = defaults, *cap = more;
  }
  int i = m->n_params;
  if (p->tok->kind != CEL_TK_NAME) return cel_tparse_fail(p, "the name of a parameter is expected here");
  for (int k = 0; k < i; k++) {
    if (cel_str_eq(m->param_names[k], p->tok->text)) return cel_tparse_fail(p, "two parameters have this name");
  }
  m->param_names[i] = p->tok->text;
  CEL_TRY(cel_tparse_name_id(p, p->tok->text, &m->params[i]));
  p->tok++;
  if (cel_tskip_op(p, "=")) {
    CEL_TRY(cel_tparse_expression(p, true, &m->defaults[i]));
  } else if (i > 0 && m->defaults[i - 1]) {
    return cel_tparse_fail(p, "a parameter without default follows one with a default");
  }
  m->n_params++;
  return CEL_OK;
}

static cel_status parse_signature(cel_tparser *p, cel_tnode_macro *m) {
  int cap = 0;
  CEL_TRY(cel_texpect_op(p, "("));
  while (!cel_tat_op(p, ")")) {
    if (m->n_params) CEL_TRY(cel_texpect_op(p, ","));
    CEL_TRY(add_param(p, m, &cap));
  }
  return cel_texpect_op(p, ")");
}

static cel_status parse_macro_body(cel_tparser *p, cel_tnode_macro *m, const char *end) {
  struct cel_tmacro_scope scope = {m, p->macros};
  int loops = p->loops;
  p->macros = &scope, p->loops = 0;
  CEL_TRY(parse_whole_body(p, end, &m->body));
  p->macros = scope.outer, p->loops = loops;
  return CEL_OK;
}

static cel_status new_macro(cel_tparser *p, cel_tnode *n) {
  n->macro = CEL_NEW(&p->t->arena, cel_tnode_macro);
  if (!n->macro) return cel_fail_oom(p->err, "a template");
  n->macro->name = CEL_STR("");
  return CEL_OK;
}

static cel_status parse_macro(cel_tparser *p, cel_tnode **out) {
  CEL_TRY(cel_tnode_new(p, CEL_N_MACRO, p->tok++, out));
  CEL_TRY(new_macro(p, *out));
  cel_tnode_macro *m = (*out)->macro;
  CEL_TRY(cel_texpect_name(p, &m->name));
  CEL_TRY(cel_tparse_name_id(p, m->name, &m->name_id));
  CEL_TRY(parse_signature(p, m));
  return parse_macro_body(p, m, "endmacro");
}

static cel_status parse_call_block(cel_tparser *p, cel_tnode **out) {
  CEL_TRY(cel_tnode_new(p, CEL_N_CALL_BLOCK, p->tok++, out));
  CEL_TRY(new_macro(p, *out));
  if (cel_tat_op(p, "(")) CEL_TRY(parse_signature(p, (*out)->macro));
  CEL_TRY(cel_tparse_expression(p, true, &(*out)->a));
  if ((*out)->a->kind != CEL_N_CALL) return cel_tparse_fail(p, "a call is expected after \"call\"");
  return parse_macro_body(p, (*out)->macro, "endcall");
}

static cel_status parse_filter_block(cel_tparser *p, cel_tnode **out) {
  CEL_TRY(cel_tnode_new(p, CEL_N_FILTER_BLOCK, p->tok++, out));
  CEL_TRY(cel_tparse_filters(p, NULL, true, &(*out)->a));
  return parse_whole_body(p, "endfilter", &(*out)->b);
}

static cel_status parse_with(cel_tparser *p, cel_tnode **out) {
  cel_tnodes items = {0};
  cel_tnode *n, *target, *value, *body;
  CEL_TRY(cel_tnode_new(p, CEL_N_WITH, p->tok++, &n));
  while (p->tok->kind != CEL_TK_BLOCK_END) {
    if (items.n) CEL_TRY(cel_texpect_op(p, ","));
    CEL_TRY(cel_tparse_target(p, false, &target));
    CEL_TRY(cel_texpect_op(p, "="));
    CEL_TRY(cel_tparse_expression(p, true, &value));
    CEL_TRY(cel_tnodes_add(p, &items, target));
    CEL_TRY(cel_tnodes_add(p, &items, value));
  }
  CEL_TRY(parse_whole_body(p, "endwith", &body));
  CEL_TRY(cel_tnodes_add(p, &items, body));
  n->items = items.at, n->n_items = items.n;
  *out = n;
  return CEL_OK;
}

static cel_status parse_generation(cel_tparser *p, cel_tnode **out) {
  int loops = p->loops;
  CEL_TRY(cel_tnode_new(p, CEL_N_SCOPE, p->tok++, out));
  p->loops = 0;
  CEL_TRY(parse_whole_body(p, "endgeneration", &(*out)->a));
  p->loops = loops;
  return CEL_OK;
}

static cel_status parse_autoescape(cel_tparser *p, cel_tnode **out) {
  cel_tnode *on;
  CEL_TRY(cel_tnode_new(p, CEL_N_SCOPE, p->tok++, out));
  CEL_TRY(cel_tparse_expression(p, true, &on));
  if (on->kind != CEL_N_CONST || on->value.kind != CEL_T_BOOL || on->value.as.b) {
    return cel_tparse_fail(p, "\"autoescape\" is supported with false only");
  }
  return parse_whole_body(p, "endautoescape", &(*out)->a);
}

static cel_status parse_block(cel_tparser *p, cel_tnode **out) {
  cel_str name;
  CEL_TRY(cel_tnode_new(p, CEL_N_BLOCK, p->tok++, out));
  CEL_TRY(cel_texpect_name(p, &name));
  if (cel_tskip_name(p, "scoped")) (*out)->kind = CEL_N_SCOPE;
  if (cel_tat_name(p, "required")) return cel_tparse_fail(p, "required blocks need template inheritance, which is not supported");
  CEL_TRY(parse_whole_body(p, "endblock", &(*out)->a));
  if (p->tok->kind == CEL_TK_NAME && cel_str_eq(p->tok->text, name)) p->tok++;
  return CEL_OK;
}

static cel_status parse_print(cel_tparser *p, cel_tnode **out) {
  cel_tnodes items = {0};
  cel_tnode *n, *print;
  CEL_TRY(cel_tnode_new(p, CEL_N_BODY, p->tok++, &n));
  while (p->tok->kind != CEL_TK_BLOCK_END) {
    if (items.n) CEL_TRY(cel_texpect_op(p, ","));
    CEL_TRY(cel_tnode_new(p, CEL_N_PRINT, p->tok, &print));
    CEL_TRY(cel_tparse_expression(p, true, &print->a));
    CEL_TRY(cel_tnodes_add(p, &items, print));
  }
  n->items = items.at, n->n_items = items.n;
  *out = n;
  return CEL_OK;
}

static cel_status parse_jump(cel_tparser *p, cel_tnode **out) {
  if (!p->loops) return cel_tparse_fail(p, "\"break\" and \"continue\" belong into a loop");
  CEL_TRY(cel_tnode_new(p, cel_tat_name(p, "break") ? CEL_N_BREAK : CEL_N_CONTINUE, p->tok, out));
  p->tok++;
  return CEL_OK;
}

// include, import, from, extends: there is one template only, so reaching one of them is an error.
static cel_status parse_other_template(cel_tparser *p, cel_tnode **out) {
  CEL_TRY(cel_tnode_new(p, CEL_N_REFUSE, p->tok, out));
  (*out)->value = cel_tstrz("include, import and extends need other templates, and there is this one only");
  while (p->tok->kind != CEL_TK_BLOCK_END && p->tok->kind != CEL_TK_EOF) p->tok++;
  return CEL_OK;
}

static const struct {
  const char *name;
  cel_status (*parse)(cel_tparser *p, cel_tnode **out);
} statements[] = {
    {"if", parse_if},
    {"for", parse_for},
    {"set", parse_set},
    {"macro", parse_macro},
    {"call", parse_call_block},
    {"filter", parse_filter_block},
    {"with", parse_with},
    {"generation", parse_generation},
    {"autoescape", parse_autoescape},
    {"block", parse_block},
    {"print", parse_print},
    {"break", parse_jump},
    {"continue", parse_jump},
    {"include", parse_other_template},
    {"import", parse_other_template},
    {"from", parse_other_template},
    {"extends", parse_other_template},
};

static cel_status parse_statement(cel_tparser *p, const char *const *ends, cel_tnode **out) {
  if (p->tok->kind != CEL_TK_NAME) return cel_tparse_fail(p, "the name of a statement is expected here");
  for (int i = 0; i < CEL_COUNT(statements); i++) {
    if (!cel_str_is(p->tok->text, statements[i].name)) continue;
    CEL_TRY(cel_tparse_deeper(p));
    CEL_TRY(statements[i].parse(p, out));
    p->depth--;
    return CEL_OK;
  }
  if (!ends) return cel_tparse_fail(p, "no statement has this name");
  char list[64] = "";
  for (int i = 0; ends[i]; i++) {
    if (i) strncat(list, " or ", sizeof list - strlen(list) - 1);
    strncat(list, ends[i], sizeof list - strlen(list) - 1);
  }
  return cel_tparse_fail(p, "%s is expected here, or a statement", list);
}

static bool at_end_word(const cel_tparser *p, const char *const *ends) {
  for (int i = 0; ends && ends[i]; i++) {
    if (cel_tat_name(p, ends[i])) return true;
  }
  return false;
}

static cel_status parse_output(cel_tparser *p, cel_tnode **out) {
  const cel_ttoken *first = p->tok++;
  if (first->kind == CEL_TK_DATA) {
    CEL_TRY(cel_tnode_new(p, CEL_N_DATA, first, out));
    (*out)->value = cel_tstr(first->text);
    return CEL_OK;
  }
  CEL_TRY(cel_tnode_new(p, CEL_N_PRINT, first, out));
  CEL_TRY(cel_tparse_tuple(p, true, false, &(*out)->a));
  if (p->tok->kind != CEL_TK_PRINT_END) return cel_tparse_fail(p, "\"}}\" is expected here");
  p->tok++;
  return CEL_OK;
}

static cel_status parse_until(cel_tparser *p, const char *const *ends, cel_tnode **out) {
  cel_tnodes items = {0};
  cel_tnode *body, *n;
  CEL_TRY(cel_tnode_new(p, CEL_N_BODY, p->tok, &body));
  for (;;) {
    if (p->tok->kind == CEL_TK_EOF) {
      if (ends) return cel_tparse_fail(p, "\"%s\" is missing", ends[0]);
      break;
    }
    if (p->tok->kind == CEL_TK_BLOCK_BEGIN) {
      p->tok++;
      if (at_end_word(p, ends)) break;
      CEL_TRY(parse_statement(p, ends, &n));
      CEL_TRY(expect_block_end(p));
    } else {
      CEL_TRY(parse_output(p, &n));
    }
    CEL_TRY(cel_tnodes_add(p, &items, n));
  }
  body->items = items.at, body->n_items = items.n;
  *out = body;
  return CEL_OK;
}

cel_status cel_tparse(cel_tparser *p) {
  static const char *const fixed[] = {"loop", "caller", "varargs", "kwargs"};  // in the order of CEL_NAME_...
  for (int i = 0; i < CEL_COUNT(fixed); i++) {
    uint32_t id;
    CEL_TRY(cel_tparse_name_id(p, cel_str_of(fixed[i]), &id));
  }
  return parse_until(p, NULL, &p->t->body);
}
