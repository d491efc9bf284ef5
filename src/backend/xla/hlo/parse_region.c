// Regions, and the two operations whose short form has any: reduce and while. A region has one block; its names
// end with it.
#include <string.h>

#include "backend/xla/hlo/parse.h"

typedef struct scope {
  cel_hlo_block *block;
  int n_names;
} scope;

// One more entry of op->regions, NULL so far.
static cel_status add_region(cel_parse *p, cel_parse_op *o) {
  CEL_TRY(cel_parse_make(p, o));
  int n = o->op->n_regions;
  if ((n & (n - 1)) == 0) {  // room is the next power of two
    cel_hlo_block **wider = CEL_NEW_ARRAY(&p->m->arena, cel_hlo_block *, n ? 2 * n : 1);
    if (!wider) return cel_parse_oom(p);
    if (n) memcpy(wider, o->op->regions, (size_t)n * sizeof *wider);
    o->op->regions = wider;
  }
  o->op->regions[o->op->n_regions++] = NULL;
  return CEL_OK;
}

// A new region with one argument per type pushed since `types`, and its scope.
static cel_status begin(cel_parse *p, cel_parse_op *o, int types, scope *outer) {
  CEL_TRY(add_region(p, o));
  *outer = (scope){p->block, p->values.n};
  p->block = cel_hlo_region_new(p->func, o->op, o->op->n_regions - 1, p->types.at + types,
                                p->types.n - types);
  return p->block ? CEL_OK : cel_parse_oom(p);
}

static void end(cel_parse *p, const scope *outer) {
  p->block = outer->block;
  cel_parse_drop(&p->values, outer->n_names);
}

cel_status cel_parse_block_body(cel_parse *p) {
  while (p->lex.kind != '}') {
    if (p->lex.kind == CEL_TOK_BLOCK)
      return cel_lex_fail(&p->lex, CEL_UNSUPPORTED, "a second block in a region is not supported");
    if (p->lex.kind == CEL_TOK_END) return cel_lex_expected(&p->lex, "an operation or '}'");
    CEL_TRY(cel_parse_one_op(p));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

cel_status cel_parse_typed_names(cel_parse *p) {
  while (p->lex.kind != ')') {
    const cel_hlo_type *type;
    CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_VALUE, "an argument such as %arg0, or ')'"));
    CEL_TRY(cel_lex_need(&p->lex, ':', "':' and the type of an argument"));
    CEL_TRY(cel_parse_type(p, &type));
    CEL_TRY(cel_parse_push_type(p, type));
    CEL_TRY(cel_parse_loc(p, NULL));
    if (p->lex.kind == ')') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ')' in a list of arguments"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

// The k-th name among the tokens of `names`, which start at a list of typed names, belongs to the argument
// place(k): k itself, or with `pairs` > 0 the (k % 2)-th half.
static cel_status define_args(cel_parse *p, cel_lex names, int pairs) {
  int n = p->block->n_args;
  for (int k = 0; k < n; cel_lex_next(&names)) {
    if (names.kind != CEL_TOK_VALUE) continue;
    int i = pairs ? k / 2 + (k % 2) * pairs : k;
    CEL_TRY(cel_parse_define(p, names.text, p->block->args[i], 1));
    k++;
  }
  return CEL_OK;
}

cel_status cel_parse_region(cel_parse *p, cel_parse_op *o) {
  int types = p->types.n;
  scope outer;
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and a region"));
  if (cel_lex_take(&p->lex, '}')) return add_region(p, o);
  cel_lex names = p->lex;
  if (cel_lex_take(&p->lex, CEL_TOK_BLOCK)) {
    if (cel_lex_take(&p->lex, '(')) CEL_TRY(cel_parse_typed_names(p));
    CEL_TRY(cel_lex_need(&p->lex, ':', "':' behind the label of a block"));
  }
  CEL_TRY(begin(p, o, types, &outer));
  p->types.n = types;
  CEL_TRY(define_args(p, names, 0));
  CEL_TRY(cel_parse_block_body(p));
  end(p, &outer);
  return CEL_OK;
}

// ---- while -------------------------------------------------------------------------------------

// "%iterArg = %0, ..." up to ')': pushes the operands.
static cel_status while_operands(cel_parse *p) {
  while (p->lex.kind != ')') {
    CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_VALUE, "an argument such as %iterArg, or ')'"));
    CEL_TRY(cel_lex_need(&p->lex, '=', "'=' and the first value of an argument"));
    CEL_TRY(cel_parse_operand(p));
    if (p->lex.kind == ')') break;
    CEL_TRY(cel_lex_need(&p->lex, ',', "',' or ')' in the arguments of while"));
  }
  cel_lex_next(&p->lex);
  return CEL_OK;
}

// `names` starts at "%iterArg = %0": the name before each '=' is the argument's.
static cel_status while_region(cel_parse *p, cel_parse_op *o, cel_lex names) {
  scope outer;
  int types = p->types.n, n = cel_parse_n_operands(p, o);
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and a region"));
  for (int i = 0; i < n; i++) CEL_TRY(cel_parse_push_type(p, p->operands.at[o->operands + i]->type));
  CEL_TRY(begin(p, o, types, &outer));
  p->types.n = types;
  for (int i = 0; i < n; i++) {
    cel_str name = names.text;
    for (cel_lex_next(&names); names.kind != ',' && names.kind != ')';) cel_lex_next(&names);
    cel_lex_next(&names);
    CEL_TRY(cel_parse_define(p, name, p->block->args[i], 1));
  }
  CEL_TRY(cel_parse_block_body(p));
  end(p, &outer);
  return CEL_OK;
}

cel_status cel_parse_while(cel_parse *p, cel_parse_op *o) {
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' and the arguments of while"));
  cel_lex names = p->lex;
  CEL_TRY(while_operands(p));
  int n = cel_parse_n_operands(p, o);
  if (cel_lex_take(&p->lex, ':')) CEL_TRY(cel_parse_type_list(p));
  o->typed = true;
  o->n_in = o->n_out = p->types.n - o->types;
  for (int i = 0; i < o->n_in; i++) CEL_TRY(cel_parse_push_type(p, p->types.at[o->types + i]));
  if (o->n_in != n)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "while has %d arguments, but %d types for them", n, o->n_in);
  if (cel_lex_take_word(&p->lex, "attributes")) CEL_TRY(cel_parse_dict(p, o->code));
  CEL_TRY(cel_lex_need_word(&p->lex, "cond"));
  CEL_TRY(while_region(p, o, names));
  CEL_TRY(cel_lex_need_word(&p->lex, "do"));
  return while_region(p, o, names);
}

// ---- reduce ------------------------------------------------------------------------------------

// "(%x init: %0), (%y init: %1)": pushes all inputs, then all initial values.
static cel_status reduce_operands(cel_parse *p, cel_parse_op *o) {
  do {
    CEL_TRY(cel_lex_need(&p->lex, '(', "'(' and an input of reduce"));
    CEL_TRY(cel_parse_operand(p));
    CEL_TRY(cel_lex_need_word(&p->lex, "init"));
    CEL_TRY(cel_lex_need(&p->lex, ':', "':' and an initial value"));
    CEL_TRY(cel_parse_operand(p));
    CEL_TRY(cel_lex_need(&p->lex, ')', "')' behind an initial value"));
  } while (cel_lex_take(&p->lex, ','));
  int n = cel_parse_n_operands(p, o) / 2;
  for (int i = 0; i < n; i++) CEL_TRY(cel_parse_push_value(p, p->operands.at[o->operands + 2 * i + 1]));
  cel_hlo_value **at = p->operands.at + o->operands;
  for (int i = 0; i < n; i++) at[i] = at[2 * i];
  memcpy(at + n, at + 2 * n, (size_t)n * sizeof *at);
  p->operands.n -= n;
  return CEL_OK;
}

static cel_hlo_op *append(cel_parse *p, cel_parse_op *o, cel_hlo_opcode code, cel_hlo_value *const *operands, int n) {
  cel_hlo_op *op = cel_hlo_op_new(p->m, code, NULL, operands, n, 0);
  if (!op) return NULL;
  op->line = o->line;
  op->column = o->column;
  if (!cel_hlo_set_results(p->func, op, &p->block->args[0]->type, code == CEL_HLO_REGION_RETURN ? 0 : 1)) return NULL;
  cel_hlo_block_append(p->block, op);
  return op;
}

// The region that "applies stablehlo.add" stands for: the operation of its two arguments, which are scalars of
// the input's element type.
static cel_status applied_region(cel_parse *p, cel_parse_op *o, cel_hlo_opcode code) {
  scope outer;
  int types = p->types.n;
  if (cel_parse_n_operands(p, o) != 2)
    return cel_lex_fail(&p->lex, CEL_MALFORMED, "applies needs one input, reduce has %d",
                        cel_parse_n_operands(p, o) / 2);
  const cel_hlo_type *input = p->operands.at[o->operands]->type;
  if (input->kind != CEL_HLO_KIND_TENSOR) return cel_lex_fail(&p->lex, CEL_MALFORMED, "reduce needs a tensor");
  const cel_hlo_type *scalar = cel_hlo_scalar_type(p->m, input->etype);
  if (!scalar) return cel_parse_oom(p);
  CEL_TRY(cel_parse_push_type(p, scalar));
  CEL_TRY(cel_parse_push_type(p, scalar));
  CEL_TRY(begin(p, o, types, &outer));
  p->types.n = types;
  cel_hlo_op *op = append(p, o, code, p->block->args, 2);
  cel_hlo_value *result = op ? &op->results[0] : NULL;
  if (!op || !append(p, o, CEL_HLO_REGION_RETURN, &result, 1)) return cel_parse_oom(p);
  if (cel_hlo_check(p->m, op, p->err) != CEL_OK) return cel_parse_rule_broken(p, o->line, o->column);
  end(p, &outer);
  return CEL_OK;
}

// "reducer(%a: t, %b: t) (%c: t, %d: t) { ... }": the first of each pair, then the second of each.
static cel_status reducer(cel_parse *p, cel_parse_op *o) {
  scope outer;
  int types = p->types.n;
  CEL_TRY(cel_lex_need_word(&p->lex, "reducer"));
  cel_lex names = p->lex;
  while (cel_lex_take(&p->lex, '(')) {
    int before = p->types.n;
    CEL_TRY(cel_parse_typed_names(p));
    if (p->types.n != before + 2) return cel_lex_fail(&p->lex, CEL_MALFORMED, "a reducer takes its arguments in pairs");
  }
  int pairs = (p->types.n - types) / 2;
  CEL_TRY(cel_lex_need(&p->lex, '{', "'{' and a region"));
  for (int i = 0; i < pairs; i++) CEL_TRY(cel_parse_push_type(p, p->types.at[types + 2 * i]));
  for (int i = 0; i < pairs; i++) CEL_TRY(cel_parse_push_type(p, p->types.at[types + 2 * i + 1]));
  CEL_TRY(begin(p, o, types + 2 * pairs, &outer));
  p->types.n = types;
  CEL_TRY(define_args(p, names, pairs));
  CEL_TRY(cel_parse_block_body(p));
  end(p, &outer);
  return CEL_OK;
}

cel_status cel_parse_reduce(cel_parse *p, cel_parse_op *o) {
  cel_hlo_opcode applied = CEL_HLO_FOREIGN;
  CEL_TRY(reduce_operands(p, o));
  if (cel_lex_take_word(&p->lex, "applies")) {
    applied = p->lex.kind == CEL_TOK_WORD ? cel_hlo_opcode_of(p->lex.text) : CEL_HLO_FOREIGN;
    if (applied == CEL_HLO_FOREIGN || applied == CEL_HLO_RETURN || applied == CEL_HLO_REGION_RETURN)
      return cel_lex_expected(&p->lex, "an operation of two arguments such as stablehlo.add");
    cel_lex_next(&p->lex);
  }
  CEL_TRY(cel_lex_need_word(&p->lex, "across"));
  CEL_TRY(cel_lex_need_word(&p->lex, "dimensions"));
  CEL_TRY(cel_lex_need(&p->lex, '=', "'=' behind dimensions"));
  CEL_TRY(cel_parse_ints_attr(p, "dimensions"));
  if (p->lex.kind == '{') CEL_TRY(cel_parse_dict(p, o->code));
  CEL_TRY(cel_lex_need(&p->lex, ':', "':' and types"));
  CEL_TRY(cel_parse_function_type(p, o));
  return applied == CEL_HLO_FOREIGN ? reducer(p, o) : applied_region(p, o, applied);
}
