// Attribute values and dictionaries. What the IR has no kind for (attributes of other dialects, affine maps,
// numbers of type index) is kept as its text.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/parse.h"

static cel_status made(cel_parse *p, cel_hlo_attr *a, cel_hlo_attr **out) {
  *out = a;
  return a ? CEL_OK : cel_parse_oom(p);
}

static cel_status make_raw(cel_parse *p, const char *name, cel_hlo_attr **out) {
  if (p->text.failed) return cel_parse_oom(p);
  return made(p, cel_hlo_make_raw(p->m, name, cel_buf_str(&p->text)), out);
}

// ---- numbers -----------------------------------------------------------------------------------

typedef struct number {
  const char *where;
  cel_str text;
  int kind;
  bool negative;
} number;

static cel_status read_number(cel_parse *p, number *n) {
  *n = (number){.where = p->lex.text.p};
  n->negative = cel_lex_take(&p->lex, '-');
  n->text = p->lex.text;
  n->kind = p->lex.kind;
  if (n->kind != CEL_TOK_INT && n->kind != CEL_TOK_HEX && n->kind != CEL_TOK_FLOAT)
    return cel_lex_expected(&p->lex, "a number");
  cel_lex_next(&p->lex);
  return CEL_OK;
}

static cel_status out_of_range(cel_parse *p, const number *n, const char *type) {
  return cel_lex_fail_at(&p->lex, n->where, CEL_MALFORMED, "the number %s%.*s is not a value of type %s",
                         n->negative ? "-" : "", (int)CEL_MIN(n->text.n, 60), n->text.p, type);
}

static cel_status int_attr(cel_parse *p, const number *n, cel_etype e, const char *name, cel_hlo_attr **out) {
  uint64_t magnitude;
  int64_t value;
  if (n->kind == CEL_TOK_FLOAT || !cel_parse_uint(n->text, &magnitude) ||
      !cel_parse_fits(e, n->negative, magnitude, &value))
    return out_of_range(p, n, cel_etype_spelling(e));
  if (e == CEL_ET_PRED) return made(p, cel_hlo_make_bool(p->m, name, value != 0), out);
  return made(p, cel_hlo_make_int(p->m, name, e, value), out);
}

// A decimal is rounded to the type; a hexadecimal number is its bits.
static cel_status float_attr(cel_parse *p, const number *n, cel_etype e, const char *name, cel_hlo_attr **out) {
  unsigned char element[16] = {0};
  uint64_t bits = 0;
  double value;
  int bytes = cel_etype_bytes(e);
  if (n->kind == CEL_TOK_FLOAT) {
    if (!cel_parse_double(n->text, &value) || !cel_hlo_element_from_double(e, n->negative ? -value : value, element))
      return out_of_range(p, n, cel_etype_spelling(e));
  } else {
    if (n->kind == CEL_TOK_INT || n->negative || !cel_parse_uint(n->text, &bits) ||
        (bytes < 8 && bits >> (8 * bytes)))
      return out_of_range(p, n, cel_etype_spelling(e));
    for (int i = 0; i < bytes; i++) element[i] = (unsigned char)(bits >> (8 * i));
  }
  return made(p, cel_hlo_make_float(p->m, name, e, cel_hlo_element_to_double(e, element)), out);
}

// A number of a type that is none here, index or i128: kept as text.
static cel_status foreign_number(cel_parse *p, const number *n, const char *name, cel_hlo_attr **out) {
  cel_buf_clear(&p->text);
  if (n->negative) cel_buf_addc(&p->text, '-');
  cel_buf_adds(&p->text, n->text);
  cel_buf_addz(&p->text, " : ");
  CEL_TRY(cel_parse_verbatim(p));
  return make_raw(p, name, out);
}

static cel_status number_attr(cel_parse *p, const char *name, bool bare, cel_hlo_attr **out) {
  number n;
  CEL_TRY(read_number(p, &n));
  cel_etype e = n.kind == CEL_TOK_FLOAT ? CEL_ET_F64 : CEL_ET_I64;
  if (!bare && cel_lex_take(&p->lex, ':')) {
    if (p->lex.kind != CEL_TOK_WORD && p->lex.kind != CEL_TOK_BANG)
      return cel_lex_expected(&p->lex, "a type such as i64 or f32");
    if (p->lex.kind == CEL_TOK_BANG || !cel_etype_by_spelling(p->lex.text, &e))
      return foreign_number(p, &n, name, out);
    cel_lex_next(&p->lex);
  }
  return cel_etype_is_float(e) ? float_attr(p, &n, e, name, out) : int_attr(p, &n, e, name, out);
}

cel_status cel_parse_int64(cel_parse *p, int64_t *out) {
  number n;
  uint64_t magnitude;
  CEL_TRY(read_number(p, &n));
  if (n.kind == CEL_TOK_FLOAT || !cel_parse_uint(n.text, &magnitude) ||
      magnitude > (uint64_t)INT64_MAX + n.negative || !cel_parse_fits(CEL_ET_I64, n.negative, magnitude, out))
    return out_of_range(p, &n, "i64");
  return CEL_OK;
}

// ---- lists of numbers and words ------------------------------------------------------------------

// Numbers up to the token `close`, which is consumed.
static cel_status ints_until(cel_parse *p, int close, const char *what) {
  while (p->lex.kind != close) {
    int64_t i;
    if (cel_lex_take_word(&p->lex, "true")) i = 1;
    else if (cel_lex_take_word(&p->lex, "false")) i = 0;
    else CEL_TRY(cel_parse_int64(p, &i));
    CEL_TRY(cel_parse_push_int(p, i));
    if (p->lex.kind == close) break;
    CEL_TRY(cel_lex_need(&p->lex, ',', what));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

cel_status cel_parse_int_list(cel_parse *p) {
  CEL_TRY(cel_lex_need(&p->lex, '[', "'[' and a list of integers"));
  return ints_until(p, ']', "',' or ']' in a list of integers");
}

static cel_status pop_ints(cel_parse *p, int from, const char *name, cel_hlo_attr **out) {
  *out = cel_hlo_make_ints(p->m, name, p->ints.at + from, p->ints.n - from);
  p->ints.n = from;
  return *out ? CEL_OK : cel_parse_oom(p);
}

cel_status cel_parse_ints_attr(cel_parse *p, const char *name) {
  int from = p->ints.n;
  cel_hlo_attr *a;
  CEL_TRY(cel_parse_int_list(p));
  CEL_TRY(pop_ints(p, from, name, &a));
  return cel_parse_push_attr(p, a);
}

// At '<' behind "array": "<i64: 1, 2>" is INTS, other arrays are kept as text.
static cel_status array_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_lex open = p->lex;
  int from = p->ints.n;
  CEL_TRY(cel_lex_need(&p->lex, '<', "'<' behind array"));
  if (cel_lex_take_word(&p->lex, "i64")) {
    if (!cel_lex_take(&p->lex, '>')) {
      CEL_TRY(cel_lex_need(&p->lex, ':', "':' or '>' behind array<i64"));
      CEL_TRY(ints_until(p, '>', "',' or '>' in an array"));
    }
    return pop_ints(p, from, name, out);
  }
  p->lex = open;
  cel_buf_clear(&p->text);
  cel_buf_addz(&p->text, "array");
  CEL_TRY(cel_lex_raw(&p->lex, &p->text));
  return make_raw(p, name, out);
}

static cel_status pop_list(cel_parse *p, int from, const char *name, cel_hlo_attr **out) {
  *out = cel_hlo_make_list(p->m, name, p->attrs.at + from, p->attrs.n - from);
  p->attrs.n = from;
  return *out ? CEL_OK : cel_parse_oom(p);
}

cel_status cel_parse_enum_attr(cel_parse *p, const char *name) {
  if (p->lex.kind != CEL_TOK_WORD) return cel_lex_expected(&p->lex, "a word in capitals");
  CEL_TRY(cel_parse_push_attr(p, cel_hlo_make_enum(p->m, name, p->lex.text)));
  cel_lex_next(&p->lex);
  return CEL_OK;
}

cel_status cel_parse_enum_list_attr(cel_parse *p, const char *name) {
  int from = p->attrs.n;
  CEL_TRY(cel_lex_need(&p->lex, '[', "'[' and a list of words"));
  while (p->lex.kind != ']') {
    CEL_TRY(cel_parse_enum_attr(p, NULL));
    if (p->lex.kind == ']') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ']' in a list of words"));
  }
  cel_lex_next(&p->lex);
  cel_hlo_attr *a;
  CEL_TRY(pop_list(p, from, name, &a));
  return cel_parse_push_attr(p, a);
}

// ---- texts -------------------------------------------------------------------------------------

cel_status cel_parse_plain_text(cel_parse *p, cel_str token, const char *what, const char **out) {
  cel_buf_clear(&p->text);
  if (token.p[token.n - 1] == '"') {
    CEL_TRY(cel_lex_string(&p->lex, token, &p->text));
  } else {
    size_t sigil = token.p[0] == '@';
    cel_buf_add(&p->text, token.p + sigil, token.n - sigil);
  }
  cel_str s = cel_buf_str(&p->text);
  if (memchr(s.p, 0, s.n)) return cel_lex_fail_at(&p->lex, token.p, CEL_UNSUPPORTED, "a zero byte in %s is not supported", what);
  *out = p->text.failed ? NULL : cel_arena_dup(&p->m->arena, s.p, s.n);
  return *out ? CEL_OK : cel_parse_oom(p);
}

static cel_status take_text(cel_parse *p, const char **out, const char *what) {
  CEL_TRY(cel_parse_plain_text(p, p->lex.text, what, out));
  cel_lex_next(&p->lex);
  return CEL_OK;
}

cel_status cel_parse_name_text(cel_parse *p, const char **out) {
  if (p->lex.kind != CEL_TOK_WORD && p->lex.kind != CEL_TOK_STRING)
    return cel_lex_expected(&p->lex, "the name of an attribute");
  return take_text(p, out, "a name");
}

cel_status cel_parse_symbol(cel_parse *p, const char **out, const char *what) {
  if (p->lex.kind != CEL_TOK_SYMBOL) return cel_lex_expected(&p->lex, what);
  return take_text(p, out, "a symbol");
}

static cel_status string_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_buf_clear(&p->text);
  CEL_TRY(cel_lex_string(&p->lex, p->lex.text, &p->text));
  cel_lex_next(&p->lex);
  return made(p, cel_hlo_make_string(p->m, name, cel_buf_str(&p->text)), out);
}

// @f, or the nested @module::@f, which stays text.
static cel_status symbol_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_lex at = p->lex;
  const char *s;
  CEL_TRY(cel_parse_symbol(p, &s, "a symbol"));
  if (p->lex.kind != CEL_TOK_SCOPE) return made(p, cel_hlo_make_symbol(p->m, name, cel_str_of(s)), out);
  cel_buf_clear(&p->text);
  cel_buf_adds(&p->text, at.text);
  while (cel_lex_take(&p->lex, CEL_TOK_SCOPE)) {
    if (p->lex.kind != CEL_TOK_SYMBOL) return cel_lex_expected(&p->lex, "a symbol behind '::'");
    cel_buf_addz(&p->text, "::");
    cel_buf_adds(&p->text, p->lex.text);
    cel_lex_next(&p->lex);
  }
  return make_raw(p, name, out);
}

static cel_status verbatim_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_buf_clear(&p->text);
  CEL_TRY(cel_parse_verbatim(p));
  return make_raw(p, name, out);
}

// "(t, t) -> t", as in function_type: text.
static cel_status function_type_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_buf_clear(&p->text);
  CEL_TRY(cel_lex_raw(&p->lex, &p->text));
  CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_ARROW, "'->' in a function type"));
  cel_buf_addz(&p->text, " -> ");
  if (p->lex.kind == '(') CEL_TRY(cel_lex_raw(&p->lex, &p->text));
  else if (p->lex.kind == CEL_TOK_WORD || p->lex.kind == CEL_TOK_BANG) CEL_TRY(cel_parse_verbatim(p));
  else return cel_lex_expected(&p->lex, "a type behind '->'");
  return make_raw(p, name, out);
}

// A type as an attribute: known ones are TYPE, others text.
static cel_status type_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_lex at = p->lex;
  const cel_hlo_type *type;
  cel_status status = cel_parse_type(p, &type);
  if (status == CEL_OK) return made(p, cel_hlo_make_type(p->m, name, type), out);
  if (status != CEL_UNSUPPORTED) return status;
  p->lex = at;
  return verbatim_attr(p, name, out);
}

// #name is an alias of this file; #dialect.name and #dialect<...> belong to a dialect.
static cel_status hash_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  bool dialect = memchr(p->lex.text.p, '.', p->lex.text.n) || (p->lex.p < p->lex.end && *p->lex.p == '<');
  if (dialect) return verbatim_attr(p, name, out);
  const cel_parse_name *alias = cel_parse_find(&p->aliases, p->lex.text);
  if (!alias || !alias->attr) return cel_lex_expected(&p->lex, "an attribute (no alias of this name is defined above)");
  CEL_TRY(cel_parse_use_alias(p, alias));
  cel_lex_next(&p->lex);
  cel_hlo_attr *copy = CEL_NEW(&p->m->arena, cel_hlo_attr);
  if (!copy) return cel_parse_oom(p);
  *copy = *alias->attr;
  copy->name = name ? cel_arena_dup(&p->m->arena, name, strlen(name)) : NULL;
  return made(p, name && !copy->name ? NULL : copy, out);
}

// ---- containers --------------------------------------------------------------------------------

static cel_status list_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  int from = p->attrs.n;
  cel_lex_next(&p->lex);
  while (p->lex.kind != ']') {
    cel_hlo_attr *item;
    CEL_TRY(cel_parse_attr(p, NULL, &item));
    CEL_TRY(cel_parse_push_attr(p, item));
    if (p->lex.kind == ']') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ']' in a list of attributes"));
  }
  cel_lex_next(&p->lex);
  return pop_list(p, from, name, out);
}

static int by_text(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

cel_status cel_parse_unique(cel_parse *p, int from, const char *where) {
  int n = p->attrs.n - from;
  if (n < 2) return CEL_OK;
  const char **names = malloc((size_t)n * sizeof *names);
  if (!names) return cel_parse_oom(p);
  for (int i = 0; i < n; i++) names[i] = p->attrs.at[from + i]->name;
  qsort(names, (size_t)n, sizeof *names, by_text);
  const char *twice = NULL;
  for (int i = 1; i < n && !twice; i++)
    if (strcmp(names[i - 1], names[i]) == 0) twice = names[i];
  free(names);
  if (!twice) return CEL_OK;
  return cel_lex_fail(&p->lex, CEL_MALFORMED, "%s has the attribute '%.60s' twice", where, twice);
}

static cel_status dict_entry(cel_parse *p, cel_hlo_opcode code) {
  const char *name;
  cel_hlo_attr *a = NULL;
  bool done = false;
  CEL_TRY(cel_parse_name_text(p, &name));
  if (!cel_lex_take(&p->lex, '=')) return cel_parse_push_attr(p, cel_hlo_make_unit(p->m, name));
  if (code != CEL_HLO_FOREIGN) CEL_TRY(cel_parse_op_attr(p, code, name, &done));
  if (done) return CEL_OK;
  CEL_TRY(cel_parse_attr(p, name, &a));
  return cel_parse_push_attr(p, a);
}

cel_status cel_parse_dict(cel_parse *p, cel_hlo_opcode code) {
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and attributes"));
  while (p->lex.kind != '}') {
    CEL_TRY(dict_entry(p, code));
    if (p->lex.kind == '}') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or '}' in a list of attributes"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

static cel_status dict_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  int from = p->attrs.n;
  CEL_TRY(cel_parse_dict(p, CEL_HLO_FOREIGN));
  CEL_TRY(cel_parse_unique(p, from, "a dictionary"));
  *out = cel_hlo_make_dict(p->m, name, p->attrs.at + from, p->attrs.n - from);
  p->attrs.n = from;
  return *out ? CEL_OK : cel_parse_oom(p);
}

// ---- any ---------------------------------------------------------------------------------------

static bool is_type_word(cel_str s) {
  static const char *const words[] = {"tensor", "tuple", "index", "none", "memref", "vector", "complex"};
  for (int i = 0; i < CEL_COUNT(words); i++)
    if (cel_str_is(s, words[i])) return true;
  // i32, ui8, f32, bf16, f8E4M3FN
  return s.n > 1 && (s.p[0] == 'i' || s.p[0] == 'f' || s.p[0] == 'u' || s.p[0] == 's' || s.p[0] == 't' ||
                       s.p[0] == 'b') &&
         s.p[s.n - 1] >= '0' && (s.p[1] <= '9' || (s.n > 2 && s.p[2] >= '0' && s.p[2] <= '9'));
}

static cel_status word_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  cel_lex *l = &p->lex;
  if (cel_lex_take_word(l, "true")) return made(p, cel_hlo_make_bool(p->m, name, true), out);
  if (cel_lex_take_word(l, "false")) return made(p, cel_hlo_make_bool(p->m, name, false), out);
  if (cel_lex_take_word(l, "unit")) return made(p, cel_hlo_make_unit(p->m, name), out);
  if (cel_lex_take_word(l, "dense")) return cel_parse_dense(p, name, name && strcmp(name, "value") == 0, out);
  if (cel_lex_take_word(l, "array")) return array_attr(p, name, out);
  if (cel_lex_word(l, "dense_resource") || cel_lex_word(l, "sparse") || cel_lex_word(l, "distinct"))
    return cel_lex_fail(l, CEL_UNSUPPORTED, "a literal of kind %.*s is not supported, only dense<...>",
                        CEL_STR_ARG(l->text));
  if (cel_lex_word(l, "affine_map") || cel_lex_word(l, "affine_set")) return verbatim_attr(p, name, out);
  if (is_type_word(l->text)) return type_attr(p, name, out);
  return cel_lex_expected(l, "an attribute");
}

static cel_status any_attr(cel_parse *p, const char *name, bool bare, cel_hlo_attr **out) {
  switch (p->lex.kind) {
    case '-':
    case CEL_TOK_INT:
    case CEL_TOK_HEX:
    case CEL_TOK_FLOAT: return number_attr(p, name, bare, out);
    case CEL_TOK_STRING: return string_attr(p, name, out);
    case CEL_TOK_SYMBOL: return symbol_attr(p, name, out);
    case CEL_TOK_HASH: return hash_attr(p, name, out);
    case CEL_TOK_BANG: return type_attr(p, name, out);
    case CEL_TOK_WORD: return word_attr(p, name, out);
    case '[': return list_attr(p, name, out);
    case '{': return dict_attr(p, name, out);
    case '(': return function_type_attr(p, name, out);
    default: return cel_lex_expected(&p->lex, "an attribute");
  }
}

cel_status cel_parse_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  CEL_TRY(cel_parse_enter(p));
  CEL_TRY(any_attr(p, name, false, out));
  cel_parse_leave(p);
  return CEL_OK;
}

cel_status cel_parse_bare_attr(cel_parse *p, const char *name, cel_hlo_attr **out) {
  return any_attr(p, name, true, out);
}
