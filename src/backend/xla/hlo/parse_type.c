// Types: tensor<2x3xf32>, !stablehlo.token, tuple<...>, and their aliases. What the IR does not have (dynamic
// and bounded dimensions, quantized and other small floats, memref ...) is refused by its name.
#include <stdio.h>

#include "backend/xla/hlo/parse.h"
#include "base/checked.h"

static cel_status refuse(cel_parse *p, const char *what) {
  char shown[64];
  snprintf(shown, sizeof shown, "%.*s", (int)CEL_MIN(p->lex.text.n, 60), p->lex.text.p);
  return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "%s %s is not supported", what, shown);
}

// Words that MLIR would take for an element type: i128, si8, f4E2M1FN, index ...
static bool looks_like_element(cel_str s) {
  if (cel_str_is(s, "index") || cel_str_is(s, "none")) return true;
  size_t i = 0;
  if (i < s.n && (s.p[i] == 's' || s.p[i] == 't' || s.p[i] == 'u' || s.p[i] == 'b')) i++;
  if (i < s.n && (s.p[i] == 'i' || s.p[i] == 'f')) i++;
  return i > 0 && i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

static cel_status complex_type(cel_parse *p, cel_etype *out) {
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '<', "'<' behind complex"));
  if (cel_lex_take_word(&p->lex, "f32")) *out = CEL_ET_C64;
  else if (cel_lex_take_word(&p->lex, "f64")) *out = CEL_ET_C128;
  else if (p->lex.kind == CEL_TOK_WORD) return refuse(p, "element type complex of");
  else return cel_lex_expected(&p->lex, "f32 or f64");
  return cel_lex_need(&p->lex, '>', "'>' behind complex<f32 or complex<f64");
}

static cel_status element_type(cel_parse *p, cel_etype *out) {
  cel_lex *l = &p->lex;
  if (cel_lex_word(l, "complex")) return complex_type(p, out);
  if (l->kind == CEL_TOK_WORD && cel_etype_by_spelling(l->text, out)) {
    cel_lex_next(l);
    return CEL_OK;
  }
  if (l->kind == CEL_TOK_BANG || (l->kind == CEL_TOK_WORD && looks_like_element(l->text)))
    return refuse(p, "element type");
  return cel_lex_expected(l, "an element type such as f32, bf16, i32 or i1");
}

static cel_status tensor_type(cel_parse *p, const cel_hlo_type **out) {
  cel_lex *l = &p->lex;
  int64_t dims[CEL_HLO_MAX_RANK], bytes;
  int rank;
  const char *start = l->text.p;
  cel_lex_next(l);
  if (l->kind != '<') return cel_lex_expected(l, "'<' behind tensor");
  CEL_TRY(cel_lex_dims(l, dims, CEL_HLO_MAX_RANK, &rank));
  cel_lex_next(l);
  if (l->kind == '?') return cel_lex_fail(l, CEL_UNSUPPORTED, "a dynamic dimension (?) is not supported");
  if (l->kind == '*') return cel_lex_fail(l, CEL_UNSUPPORTED, "an unranked tensor (*) is not supported");
  cel_etype e;
  CEL_TRY(element_type(p, &e));
  if (l->kind == ',') {
    cel_lex_next(l);
    return refuse(p, "the tensor encoding");
  }
  CEL_TRY(cel_lex_need(l, '>', "'>' at the end of a tensor type"));
  if (rank > CEL_HLO_MAX_RANK)
    return cel_lex_fail_at(l, start, CEL_UNSUPPORTED, "a tensor of rank %d is not supported, only up to %d", rank,
                           CEL_HLO_MAX_RANK);
  bytes = cel_etype_bytes(e);
  for (int i = 0; i < rank; i++)
    if (!cel_mul_i64(bytes, dims[i] ? dims[i] : 1, &bytes))
      return cel_lex_fail_at(l, start, CEL_MALFORMED, "a tensor type is larger than 2^63 bytes");
  *out = cel_hlo_tensor(p->m, e, rank, dims);
  return *out ? CEL_OK : cel_parse_oom(p);
}

static cel_status tuple_type(cel_parse *p, const cel_hlo_type **out) {
  int from = p->types.n;
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '<', "'<' behind tuple"));
  CEL_TRY(cel_parse_enter(p));
  if (p->lex.kind != '>') CEL_TRY(cel_parse_type_list(p));
  cel_parse_leave(p);
  CEL_TRY(cel_lex_need(&p->lex, '>', "',' or '>' in a tuple type"));
  *out = cel_hlo_tuple(p->m, p->types.n - from, p->types.at + from);
  p->types.n = from;
  return *out ? CEL_OK : cel_parse_oom(p);
}

static cel_status bang_type(cel_parse *p, const cel_hlo_type **out) {
  if (cel_str_is(p->lex.text, "!stablehlo.token")) {
    *out = cel_hlo_token(p->m);
    if (!*out) return cel_parse_oom(p);
  } else {
    const cel_parse_name *alias = cel_parse_find(&p->aliases, p->lex.text);
    if (!alias || !alias->type) return refuse(p, "type");
    CEL_TRY(cel_parse_use_alias(p, alias));
    *out = alias->type;
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

cel_status cel_parse_type(cel_parse *p, const cel_hlo_type **out) {
  cel_lex *l = &p->lex;
  if (l->kind == CEL_TOK_BANG) return bang_type(p, out);
  if (cel_lex_word(l, "tensor")) return tensor_type(p, out);
  if (cel_lex_word(l, "tuple")) return tuple_type(p, out);
  cel_etype e;
  if (l->kind == '(' || cel_lex_word(l, "memref") || cel_lex_word(l, "vector") || cel_lex_word(l, "complex") ||
      (l->kind == CEL_TOK_WORD && (looks_like_element(l->text) || cel_etype_by_spelling(l->text, &e))))
    return refuse(p, "a value of type");
  return cel_lex_expected(l, "a type: tensor<...>, tuple<...> or !stablehlo.token");
}

cel_status cel_parse_type_list(cel_parse *p) {
  do {
    const cel_hlo_type *t;
    CEL_TRY(cel_parse_type(p, &t));
    CEL_TRY(cel_parse_push_type(p, t));
  } while (cel_lex_take(&p->lex, ','));
  return CEL_OK;
}

cel_status cel_parse_result_types(cel_parse *p) {
  const cel_hlo_type *t;
  if (cel_lex_take(&p->lex, '(')) {
    if (p->lex.kind != ')') CEL_TRY(cel_parse_type_list(p));
    return cel_lex_need(&p->lex, ')', "',' or ')' in a list of types");
  }
  CEL_TRY(cel_parse_type(p, &t));
  return cel_parse_push_type(p, t);
}

cel_status cel_parse_verbatim(cel_parse *p) {
  bool brackets = p->lex.p < p->lex.end && *p->lex.p == '<';  // "a <" is not "a<"
  cel_buf_adds(&p->text, p->lex.text);
  cel_lex_next(&p->lex);
  if (brackets) return cel_lex_raw(&p->lex, &p->text);
  return p->text.failed ? cel_parse_oom(p) : CEL_OK;
}
