// Attributes whose text depends on the operation they belong to: dimension numbers are stored flat, enumerations
// as their word, and lists of integers of older StableHLO (dense<[0, 1]> : tensor<2xi64>) as those of today.
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/parse.h"

// ---- #stablehlo.KIND<field = [...], field = 1> ---------------------------------------------------

static const char *const dot_fields[] = {"lhs_batching_dimensions", "rhs_batching_dimensions",
                                         "lhs_contracting_dimensions", "rhs_contracting_dimensions", NULL};
static const char *const gather_fields[] = {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
                                            "start_indices_batching_dims", "start_index_map", "index_vector_dim",
                                            NULL};
static const char *const scatter_fields[] = {"update_window_dims", "inserted_window_dims", "input_batching_dims",
                                             "scatter_indices_batching_dims", "scatter_dims_to_operand_dims",
                                             "index_vector_dim", NULL};
static const char *const conv_fields[] = {
    "input_batch_dimension",    "input_feature_dimension",         "input_spatial_dimensions",
    "kernel_spatial_dimensions", "kernel_input_feature_dimension", "kernel_output_feature_dimension",
    "output_batch_dimension",   "output_feature_dimension",        "output_spatial_dimensions",
    NULL};

// "dim" and "dimension" fields are one number, "dims", "dimensions" and "map" are lists.
static bool is_number(const char *field) {
  size_t n = strlen(field);
  return strcmp(field + n - 3, "dim") == 0 || strcmp(field + n - 9, "dimension") == 0;
}

static cel_status one_field(cel_parse *p, const char *const *fields) {
  int i = 0;
  while (fields[i] && !cel_lex_word(&p->lex, fields[i])) i++;
  if (!fields[i]) return cel_lex_expected(&p->lex, "the name of a dimension number");
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '=', "'=' behind a dimension number"));
  if (!is_number(fields[i])) return cel_parse_ints_attr(p, fields[i]);
  int64_t value;
  CEL_TRY(cel_parse_int64(p, &value));
  return cel_parse_push_attr(p, cel_hlo_make_int(p->m, fields[i], CEL_ET_I64, value));
}

// Up to '>'; a comma may stand before it.
static cel_status fields_until_close(cel_parse *p, const char *const *fields) {
  while (p->lex.kind != '>') {
    CEL_TRY(one_field(p, fields));
    if (p->lex.kind == '>') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or '>' in dimension numbers"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

static cel_status need_hash(cel_parse *p, const char *hash) {
  if (p->lex.kind == CEL_TOK_HASH && cel_str_is(p->lex.text, hash)) {
    cel_lex_next(&p->lex);
    return cel_lex_need(&p->lex, '<', "'<'");
  }
  char what[64];
  snprintf(what, sizeof what, "%s<...>", hash);
  return cel_lex_expected(&p->lex, what);
}

static cel_status dims_attr(cel_parse *p, const char *hash, const char *const *fields) {
  CEL_TRY(need_hash(p, hash));
  return fields_until_close(p, fields);
}

// ---- convolutions ------------------------------------------------------------------------------

// One bracket of "[b, f, 0, 1]": the places of two letters and of the spatial dimensions.
typedef struct conv_layout {
  int64_t first, second, spatial[CEL_HLO_MAX_RANK];
  int n_spatial;
} conv_layout;

static cel_status conv_entry(cel_parse *p, const char *letters, int64_t place, conv_layout *out) {
  cel_lex *l = &p->lex;
  if (l->kind == CEL_TOK_WORD && l->text.n == 1 && (*l->text.p == letters[0] || *l->text.p == letters[1])) {
    int64_t *at = *l->text.p == letters[0] ? &out->first : &out->second;
    if (*at >= 0) return cel_lex_fail(l, CEL_MALFORMED, "'%c' twice in a convolution's dimensions", *l->text.p);
    *at = place;
    cel_lex_next(l);
    return CEL_OK;
  }
  if (l->kind == '?') return cel_lex_fail(l, CEL_UNSUPPORTED, "unknown dimensions (?) of a convolution are not supported");
  if (l->kind != CEL_TOK_INT) return cel_lex_expected(l, "a letter or the number of a spatial dimension");
  int64_t i;
  const char *where = l->text.p;
  CEL_TRY(cel_parse_int64(p, &i));
  if (i >= CEL_HLO_MAX_RANK || out->spatial[i] >= 0)
    return cel_lex_fail_at(l, where, CEL_MALFORMED, "the spatial dimension %lld of a convolution is there twice or too "
                           "large", (long long)i);
  out->spatial[i] = place;
  out->n_spatial++;
  return CEL_OK;
}

static cel_status conv_bracket(cel_parse *p, const char *letters, conv_layout *out) {
  cel_lex *l = &p->lex;
  const char *where = l->text.p;
  out->first = out->second = -1;
  out->n_spatial = 0;
  for (int i = 0; i < CEL_HLO_MAX_RANK; i++) out->spatial[i] = -1;
  CEL_TRY(cel_lex_need(l, '[', "'[' and the dimensions of a convolution"));
  int64_t place = 0;
  do CEL_TRY(conv_entry(p, letters, place++, out));
  while (cel_lex_take(l, ','));
  CEL_TRY(cel_lex_need(l, ']', "',' or ']' in a convolution's dimensions"));
  bool whole = out->first >= 0 && out->second >= 0;
  for (int i = 0; i < out->n_spatial; i++) whole = whole && out->spatial[i] >= 0;
  if (whole) return CEL_OK;
  return cel_lex_fail_at(l, where, CEL_MALFORMED, "a convolution's dimensions need '%c', '%c' and 0, 1, ... once each",
                         letters[0], letters[1]);
}

static cel_status push_number(cel_parse *p, const char *prefix, const char *name, int64_t value) {
  char whole[64];
  snprintf(whole, sizeof whole, "%s_%s_dimension", prefix, name);
  return cel_parse_push_attr(p, cel_hlo_make_int(p->m, whole, CEL_ET_I64, value));
}

static cel_status push_spatial(cel_parse *p, const char *prefix, const conv_layout *c) {
  char whole[64];
  snprintf(whole, sizeof whole, "%s_spatial_dimensions", prefix);
  return cel_parse_push_attr(p, cel_hlo_make_ints(p->m, whole, c->spatial, c->n_spatial));
}

cel_status cel_parse_conv_dims(cel_parse *p) {
  conv_layout input, kernel, output;
  CEL_TRY(conv_bracket(p, "bf", &input));
  CEL_TRY(cel_lex_need_word(&p->lex, "x"));
  CEL_TRY(conv_bracket(p, "io", &kernel));
  CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_ARROW, "'->' in a convolution's dimensions"));
  CEL_TRY(conv_bracket(p, "bf", &output));
  CEL_TRY(push_number(p, "input", "batch", input.first));
  CEL_TRY(push_number(p, "input", "feature", input.second));
  CEL_TRY(push_spatial(p, "input", &input));
  CEL_TRY(push_number(p, "kernel", "input_feature", kernel.first));
  CEL_TRY(push_number(p, "kernel", "output_feature", kernel.second));
  CEL_TRY(push_spatial(p, "kernel", &kernel));
  CEL_TRY(push_number(p, "output", "batch", output.first));
  CEL_TRY(push_number(p, "output", "feature", output.second));
  return push_spatial(p, "output", &output);
}

static cel_status conv_attr(cel_parse *p) {
  CEL_TRY(need_hash(p, "#stablehlo.conv"));
  if (cel_lex_take_word(&p->lex, "raw")) return fields_until_close(p, conv_fields);
  CEL_TRY(cel_parse_conv_dims(p));
  return cel_lex_need(&p->lex, '>', "'>' behind a convolution's dimensions");
}

// ---- enumerations ------------------------------------------------------------------------------

// "#stablehlo<kind WORD>"
static cel_status enum_value(cel_parse *p, const char *kind, const char *name) {
  CEL_TRY(need_hash(p, "#stablehlo"));
  CEL_TRY(cel_lex_need_word(&p->lex, kind));
  CEL_TRY(cel_parse_enum_attr(p, name));
  return cel_lex_need(&p->lex, '>', "'>'");
}

static cel_status precision_list(cel_parse *p, const char *name) {
  int from = p->attrs.n;
  CEL_TRY(cel_lex_need(&p->lex, '[', "'[' and #stablehlo<precision ...>"));
  while (p->lex.kind != ']') {
    CEL_TRY(enum_value(p, "precision", NULL));
    if (p->lex.kind == ']') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ']' in a list of precisions"));
  }
  cel_lex_next(&p->lex);
  cel_hlo_attr *a = cel_hlo_make_list(p->m, name, p->attrs.at + from, p->attrs.n - from);
  p->attrs.n = from;
  return cel_parse_push_attr(p, a);
}

// ---- lists of integers -------------------------------------------------------------------------

static bool is_int_list(const char *name) {
  static const char *const names[] = {
      "broadcast_dimensions", "permutation",       "dimensions",       "start_indices",     "limit_indices",
      "strides",              "slice_sizes",       "edge_padding_low", "edge_padding_high", "interior_padding",
      "window_dimensions",    "window_strides",    "base_dilations",   "window_dilations",  "lhs_dilation",
      "rhs_dilation",         "window_reversal"};
  for (int i = 0; i < CEL_COUNT(names); i++)
    if (strcmp(name, names[i]) == 0) return true;
  return false;
}

static cel_status ints_of_dense(cel_parse *p, const cel_hlo_attr *dense, const char *name) {
  int from = p->ints.n;
  for (int64_t i = 0; i < cel_hlo_elements(dense->type); i++)
    CEL_TRY(cel_parse_push_int(p, cel_hlo_dense_int(dense, i)));
  cel_hlo_attr *a = cel_hlo_make_ints(p->m, name, p->ints.at + from, p->ints.n - from);
  p->ints.n = from;
  return cel_parse_push_attr(p, a);
}

// array<i1: true, false> of window_reversal, at '<'
static cel_status bool_array(cel_parse *p, const char *name) {
  int from = p->ints.n;
  CEL_TRY(cel_lex_need(&p->lex, '<', "'<' behind array"));
  CEL_TRY(cel_lex_need_word(&p->lex, "i1"));
  if (p->lex.kind != '>') CEL_TRY(cel_lex_need(&p->lex, ':', "':' behind array<i1"));
  while (p->lex.kind != '>') {
    bool value = cel_lex_word(&p->lex, "true");
    if (!value && !cel_lex_word(&p->lex, "false")) return cel_lex_expected(&p->lex, "true or false");
    cel_lex_next(&p->lex);
    CEL_TRY(cel_parse_push_int(p, value));
    if (p->lex.kind == '>') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or '>' in an array"));
  }
  cel_lex_next(&p->lex);
  cel_hlo_attr *a = cel_hlo_make_ints(p->m, name, p->ints.at + from, p->ints.n - from);
  p->ints.n = from;
  return cel_parse_push_attr(p, a);
}

static cel_status int_list(cel_parse *p, const char *name) {
  cel_hlo_attr *a;
  if (strcmp(name, "window_reversal") == 0 && cel_lex_take_word(&p->lex, "array")) return bool_array(p, name);
  CEL_TRY(cel_parse_attr(p, name, &a));
  bool old = a->kind == CEL_HLO_ATTR_DENSE && a->type->rank == 1 && a->type->dims[0] <= CEL_HLO_MAX_RANK &&
             !cel_etype_is_float(a->type->etype) && cel_etype_class(a->type->etype) != 'C';
  return old ? ints_of_dense(p, a, name) : cel_parse_push_attr(p, a);
}

cel_status cel_parse_op_attr(cel_parse *p, cel_hlo_opcode code, const char *name, bool *done) {
  *done = true;
  bool is_numbers = strcmp(name, "dimension_numbers") == 0;
  if (code == CEL_HLO_DOT_GENERAL && strcmp(name, "dot_dimension_numbers") == 0)
    return dims_attr(p, "#stablehlo.dot", dot_fields);
  if (code == CEL_HLO_GATHER && is_numbers) return dims_attr(p, "#stablehlo.gather", gather_fields);
  if (code == CEL_HLO_SCATTER && strcmp(name, "scatter_dimension_numbers") == 0)
    return dims_attr(p, "#stablehlo.scatter", scatter_fields);
  if (code == CEL_HLO_CONVOLUTION && is_numbers) return conv_attr(p);
  bool contracts = code == CEL_HLO_DOT_GENERAL || code == CEL_HLO_CONVOLUTION;
  if (contracts && strcmp(name, "precision_config") == 0) return precision_list(p, name);
  if (code == CEL_HLO_COMPARE && strcmp(name, "comparison_direction") == 0)
    return enum_value(p, "comparison_direction", name);
  if (code == CEL_HLO_COMPARE && strcmp(name, "compare_type") == 0) return enum_value(p, "comparison_type", name);
  if (code == CEL_HLO_RNG_BIT_GENERATOR && strcmp(name, "rng_algorithm") == 0)
    return enum_value(p, "rng_algorithm", name);
  bool free_names = code == CEL_HLO_CUSTOM_CALL || code == CEL_HLO_COMPOSITE || code == CEL_HLO_CALL;
  if (!free_names && is_int_list(name)) return int_list(p, name);
  *done = false;
  return CEL_OK;
}
