// The "key = value" parts of short forms, in one table: which operation, the key in the text, and the attribute
// the IR keeps.
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/parse.h"

typedef enum clause_kind {
  INTEGER,    // dim = 0
  INTEGERS,   // dims = [0, 1]
  WORD,       // algorithm = PHILOX
  WORDS,      // precision = [DEFAULT, HIGHEST]
  PAIR,       // batching_dims = [0] x [0]: lhs_ and rhs_ of the attribute's name
  FORMAT,     // format = e5m10
  ALGORITHM,  // algorithm = <...>: kept as text
  CONV_DIMS,  // dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f]
  WINDOW,     // window = {stride = [...], pad = [[...]], ...}
} clause_kind;

typedef struct clause {
  cel_hlo_opcode code;
  const char *key, *attr;
  clause_kind kind;
} clause;

static const clause clauses[] = {
    {CEL_HLO_IOTA, "dim", "iota_dimension", INTEGER},
    {CEL_HLO_CONCATENATE, "dim", "dimension", INTEGER},
    {CEL_HLO_GET_DIMENSION_SIZE, "dim", "dimension", INTEGER},
    {CEL_HLO_BROADCAST_IN_DIM, "dims", "broadcast_dimensions", INTEGERS},
    {CEL_HLO_TRANSPOSE, "dims", "permutation", INTEGERS},
    {CEL_HLO_REVERSE, "dims", "dimensions", INTEGERS},
    {CEL_HLO_DYNAMIC_SLICE, "sizes", "slice_sizes", INTEGERS},
    {CEL_HLO_PAD, "low", "edge_padding_low", INTEGERS},
    {CEL_HLO_PAD, "high", "edge_padding_high", INTEGERS},
    {CEL_HLO_PAD, "interior", "interior_padding", INTEGERS},
    {CEL_HLO_REDUCE_PRECISION, "format", NULL, FORMAT},
    {CEL_HLO_RNG_BIT_GENERATOR, "algorithm", "rng_algorithm", WORD},
    {CEL_HLO_DOT_GENERAL, "batching_dims", "batching_dimensions", PAIR},
    {CEL_HLO_DOT_GENERAL, "contracting_dims", "contracting_dimensions", PAIR},
    {CEL_HLO_DOT_GENERAL, "precision", "precision_config", WORDS},
    {CEL_HLO_DOT_GENERAL, "algorithm", "algorithm", ALGORITHM},
    {CEL_HLO_CONVOLUTION, "dim_numbers", NULL, CONV_DIMS},
    {CEL_HLO_CONVOLUTION, "window", NULL, WINDOW},
    {CEL_HLO_CHLO_TOP_K, "k", "k", INTEGER},
};

static cel_status integer(cel_parse *p, const char *attr) {
  int64_t value;
  CEL_TRY(cel_parse_int64(p, &value));
  return cel_parse_push_attr(p, cel_hlo_make_int(p->m, attr, CEL_ET_I64, value));
}

static cel_status pair(cel_parse *p, const char *attr) {
  char name[48];
  snprintf(name, sizeof name, "lhs_%s", attr);
  CEL_TRY(cel_parse_ints_attr(p, name));
  CEL_TRY(cel_lex_need_word(&p->lex, "x"));
  name[0] = 'r';
  return cel_parse_ints_attr(p, name);
}

// e5m10: exponent and mantissa bits
static cel_status format(cel_parse *p) {
  cel_str s = p->lex.text;
  const char *m = p->lex.kind == CEL_TOK_WORD ? memchr(s.p, 'm', s.n) : NULL;
  int bits[2] = {0, 0};
  bool good = m && s.p[0] == 'e' && m > s.p + 1 && m < s.p + s.n - 1;
  for (const char *q = s.p + 1; good && q < s.p + s.n; q++) {
    if (q == m) continue;
    int *at = &bits[q > m];
    good = *q >= '0' && *q <= '9' && *at < 10000;
    *at = *at * 10 + (*q - '0');
  }
  if (!good) return cel_lex_expected(&p->lex, "a format such as e5m10");
  cel_lex_next(&p->lex);
  CEL_TRY(cel_parse_push_attr(p, cel_hlo_make_int(p->m, "exponent_bits", CEL_ET_I32, bits[0])));
  return cel_parse_push_attr(p, cel_hlo_make_int(p->m, "mantissa_bits", CEL_ET_I32, bits[1]));
}

static cel_status algorithm(cel_parse *p, const char *attr) {
  if (p->lex.kind != '<') return cel_lex_expected(&p->lex, "'<' and a dot algorithm");
  cel_buf_clear(&p->text);
  cel_buf_addz(&p->text, "#stablehlo.dot_algorithm");
  CEL_TRY(cel_lex_raw(&p->lex, &p->text));
  return cel_parse_push_attr(p, cel_hlo_make_raw(p->m, attr, cel_buf_str(&p->text)));
}

// "[[1, 1], [0, 2]]": DENSE i64 [n,2]
static cel_status padding(cel_parse *p) {
  int from = p->ints.n;
  CEL_TRY(cel_lex_need(&p->lex, '[', "'[' and pairs of paddings"));
  while (p->lex.kind != ']') {
    int before = p->ints.n;
    CEL_TRY(cel_parse_int_list(p));
    if (p->ints.n != before + 2) return cel_lex_fail(&p->lex, CEL_MALFORMED, "a padding needs two numbers");
    if (p->lex.kind == ']') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ']' in the paddings"));
  }
  cel_lex_next(&p->lex);
  int64_t dims[2] = {(p->ints.n - from) / 2, 2};
  const cel_hlo_type *type = cel_hlo_tensor(p->m, CEL_ET_I64, 2, dims);
  if (!type) return cel_parse_oom(p);
  cel_hlo_attr *a = cel_hlo_make_dense(p->m, "padding", type, p->ints.at + from, false);
  p->ints.n = from;
  return cel_parse_push_attr(p, a);
}

static cel_status window_entry(cel_parse *p) {
  static const char *const keys[][2] = {{"stride", "window_strides"},
                                        {"lhs_dilate", "lhs_dilation"},
                                        {"rhs_dilate", "rhs_dilation"},
                                        {"reverse", "window_reversal"}};
  bool is_pad = cel_lex_word(&p->lex, "pad");
  int i = 0;
  while (!is_pad && i < CEL_COUNT(keys) && !cel_lex_word(&p->lex, keys[i][0])) i++;
  if (i == CEL_COUNT(keys)) return cel_lex_expected(&p->lex, "stride, pad, lhs_dilate, rhs_dilate or reverse");
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '=', "'=' in a window"));
  return is_pad ? padding(p) : cel_parse_ints_attr(p, keys[i][1]);
}

static cel_status window(cel_parse *p) {
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and a window"));
  while (p->lex.kind != '}') {
    CEL_TRY(window_entry(p));
    if (p->lex.kind == '}') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or '}' in a window"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

// Operations of other dialects: any key, any attribute; the type of a number belongs to the operation.
static cel_status foreign_clause(cel_parse *p) {
  const char *name;
  cel_hlo_attr *a;
  CEL_TRY(cel_parse_name_text(p, &name));
  CEL_TRY(cel_lex_need(&p->lex, '=', "'='"));
  CEL_TRY(cel_parse_bare_attr(p, name, &a));
  return cel_parse_push_attr(p, a);
}

cel_status cel_parse_clause(cel_parse *p, cel_parse_op *o) {
  if (o->code == CEL_HLO_FOREIGN) return foreign_clause(p);
  int i = 0;
  while (i < CEL_COUNT(clauses) && !(clauses[i].code == o->code && cel_lex_word(&p->lex, clauses[i].key))) i++;
  if (i == CEL_COUNT(clauses)) return cel_lex_expected(&p->lex, "an operand or a part of this operation");
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '=', "'='"));
  const char *attr = clauses[i].attr;
  switch (clauses[i].kind) {
    case INTEGER: return integer(p, attr);
    case INTEGERS: return cel_parse_ints_attr(p, attr);
    case WORD: return cel_parse_enum_attr(p, attr);
    case WORDS: return cel_parse_enum_list_attr(p, attr);
    case PAIR: return pair(p, attr);
    case FORMAT: return format(p);
    case ALGORITHM: return algorithm(p, attr);
    case CONV_DIMS: return cel_parse_conv_dims(p);
    default: return window(p);
  }
}

cel_status cel_parse_slice_range(cel_parse *p) {
  int from = p->ints.n, n = 0;
  CEL_TRY(cel_lex_need(&p->lex, '[', "'[' and the range of a slice"));
  while (p->lex.kind != ']') {
    int64_t part[3] = {0, 0, 1};
    CEL_TRY(cel_parse_int64(p, &part[0]));
    CEL_TRY(cel_lex_need(&p->lex, ':', "':' and the end of a range"));
    CEL_TRY(cel_parse_int64(p, &part[1]));
    if (cel_lex_take(&p->lex, ':')) CEL_TRY(cel_parse_int64(p, &part[2]));
    for (int i = 0; i < 3; i++) CEL_TRY(cel_parse_push_int(p, part[i]));
    n++;
    if (p->lex.kind == ']') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ']' in the ranges of a slice"));
  }
  cel_lex_next(&p->lex);
  static const char *const names[3] = {"start_indices", "limit_indices", "strides"};
  for (int part = 0; part < 3; part++) {
    int at = p->ints.n;
    for (int i = 0; i < n; i++) CEL_TRY(cel_parse_push_int(p, p->ints.at[from + 3 * i + part]));
    CEL_TRY(cel_parse_push_attr(p, cel_hlo_make_ints(p->m, names[part], p->ints.at + at, n)));
  }
  p->ints.n = from;
  return CEL_OK;
}
