// The builder: result types of every function, errors that stick and say where.
#include "hlo_make.h"

static void check_error(fixture *f, const char *want) {
  assert_int_equal(f->b.err.status, CEL_INVALID);
  if (!strstr(f->b.err.text, want)) fail_msg("\"%s\" is not in \"%s\"", want, f->b.err.text);
}

static void constants_have_their_type(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  check_type(cel_hlo_splat(b, CEL_ET_BF16, 2, (int64_t[]){2, 3}, 1.5), "tensor<2x3xbf16>");
  check_type(cel_hlo_scalar(b, CEL_ET_PRED, 1), "tensor<i1>");
  check_type(cel_hlo_scalar(b, CEL_ET_C64, 1), "tensor<complex<f32>>");
  check_type(cel_hlo_iota(b, CEL_ET_UI8, 2, (int64_t[]){4, 5}, 0), "tensor<4x5xui8>");
  hlo d = cel_hlo_dense(b, CEL_ET_I32, 1, (int64_t[]){3}, (int32_t[]){7, 8, 9});
  check_type(d, "tensor<3xi32>");
  assert_int_equal(cel_hlo_dense_int(cel_hlo_find_attr(d->def, "value"), 2), 9);
  hlo same = cel_hlo_dense(b, CEL_ET_I32, 1, (int64_t[]){3}, (int32_t[]){7, 7, 7});
  assert_true(cel_hlo_find_attr(same->def, "value")->splat);
  check_ok(&f);
  cel_hlo_module_free(f.m);
}

static void elementwise_types(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 2, 2, 8, 0, 0), n = arg(&f, CEL_ET_I8, 2, 2, 8, 0, 0);
  check_type(cel_hlo_unary(b, CEL_HLO_RSQRT, x), "tensor<2x8xf32>");
  check_type(cel_hlo_unary(b, CEL_HLO_IS_FINITE, x), "tensor<2x8xi1>");
  check_type(cel_hlo_binary(b, CEL_HLO_DIVIDE, x, x), "tensor<2x8xf32>");
  check_type(cel_hlo_binary(b, CEL_HLO_COMPLEX, x, x), "tensor<2x8xcomplex<f32>>");
  check_type(cel_hlo_binary_scalar(b, CEL_HLO_SHIFT_LEFT, n, 4), "tensor<2x8xi8>");
  hlo p = cel_hlo_compare(b, "GE", x, x);
  check_type(p, "tensor<2x8xi1>");
  check_type(cel_hlo_select(b, p, n, n), "tensor<2x8xi8>");
  check_type(cel_hlo_convert(b, n, CEL_ET_F32), "tensor<2x8xf32>");
  assert_ptr_equal(cel_hlo_convert(b, n, CEL_ET_I8), n);
  check_type(cel_hlo_bitcast(b, x, CEL_ET_I32), "tensor<2x8xi32>");
  check_type(cel_hlo_bitcast(b, x, CEL_ET_UI8), "tensor<2x8x4xui8>");
  check_type(cel_hlo_bitcast(b, n, CEL_ET_F64), "tensor<2xf64>");
  check_type(cel_hlo_bitcast(b, n, CEL_ET_UI4), "tensor<2x8x2xui4>");
  check_ok(&f);
  cel_hlo_module_free(f.m);
}

static void scalar_operand_of_a_scalar_is_not_broadcast(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo s = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
  hlo y = cel_hlo_binary_scalar(&f.b, CEL_HLO_ADD, s, 2);
  assert_int_equal(y->def->operands[1]->def->opcode, CEL_HLO_CONSTANT);
  cel_hlo_module_free(f.m);
}

static void shape_types(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 3, 2, 3, 8, 0), i = arg(&f, CEL_ET_I32, 0, 0, 0, 0, 0);
  hlo u = arg(&f, CEL_ET_F32, 3, 1, 3, 8, 0);
  check_type(cel_hlo_reshape(b, x, 2, (int64_t[]){6, 8}), "tensor<6x8xf32>");
  check_type(cel_hlo_reshape(b, u, 4, (int64_t[]){1, 1, 3, 8}), "tensor<1x1x3x8xf32>");
  check_type(cel_hlo_broadcast(b, u, 4, (int64_t[]){4, 2, 3, 8}, (int64_t[]){1, 2, 3}), "tensor<4x2x3x8xf32>");
  check_type(cel_hlo_transpose(b, x, (int64_t[]){2, 0, 1}), "tensor<8x2x3xf32>");
  check_type(cel_hlo_slice(b, x, (int64_t[]){0, 1, 1}, (int64_t[]){2, 1, 8}, (int64_t[]){1, 1, 3}),
             "tensor<2x0x3xf32>");
  check_type(cel_hlo_slice(b, x, (int64_t[]){0, 1, 1}, (int64_t[]){2, 3, 8}, NULL), "tensor<2x2x7xf32>");
  check_type(cel_hlo_slice_dim(b, x, 2, 4, 8, 1), "tensor<2x3x4xf32>");
  check_type(cel_hlo_concat(b, (hlo[]){x, u}, 2, 0), "tensor<3x3x8xf32>");
  check_type(cel_hlo_dynamic_slice(b, x, (hlo[]){i, i, i}, (int64_t[]){1, 3, 2}), "tensor<1x3x2xf32>");
  check_type(cel_hlo_dynamic_update_slice(b, x, u, (hlo[]){i, i, i}), "tensor<2x3x8xf32>");
  check_ok(&f);
  cel_hlo_module_free(f.m);
}

static void contraction_reduction_and_index_types(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo q = arg(&f, CEL_ET_I8, 4, 2, 6, 5, 16), k = arg(&f, CEL_ET_I8, 4, 2, 6, 7, 16);
  cel_hlo_dot_dims d = {.n_batch = 2, .n_contract = 1, .lhs_batch = {0, 1}, .rhs_batch = {0, 1}, .lhs_contract = {3},
                        .rhs_contract = {3}};
  check_type(cel_hlo_dot(b, q, k, &d, CEL_ET_I32), "tensor<2x6x5x7xi32>");
  static const cel_hlo_opcode folds[] = {CEL_HLO_ADD,     CEL_HLO_MULTIPLY, CEL_HLO_MAXIMUM,
                                         CEL_HLO_MINIMUM, CEL_HLO_AND,      CEL_HLO_OR};
  for (int i = 0; i < CEL_COUNT(folds); i++)
    check_type(cel_hlo_reduce(b, folds[i], q, (int64_t[]){3, 1}, 2), "tensor<2x5xi8>");
  hlo table = arg(&f, CEL_ET_F32, 0, 0, 0, 0, 0);
  assert_null(table);  // arguments come first
  cel_hlo_module_free(f.m);

  open_module(&f);
  table = arg(&f, CEL_ET_F32, 3, 10, 4, 2, 0);
  hlo ids = arg(&f, CEL_ET_I32, 1, 5, 0, 0, 0), pairs = arg(&f, CEL_ET_I64, 2, 5, 2, 0, 0);
  hlo rows = cel_hlo_take_rows(b, table, ids);
  check_type(rows, "tensor<5x4x2xf32>");
  cel_hlo_gather_dims g = {.n_offset = 1, .offset = {0}, .n_collapsed = 2, .collapsed = {0, 1}, .n_index_map = 2,
                           .index_map = {0, 1}, .index_vector_dim = 1, .slice_sizes = {1, 1, 2}};
  check_type(cel_hlo_gather(b, table, pairs, &g), "tensor<2x5xf32>");
  cel_hlo_scatter_dims s = {.n_window = 2, .window = {1, 2}, .n_inserted = 1, .n_index_map = 1, .index_vector_dim = 1};
  check_type(cel_hlo_scatter(b, table, ids, rows, &s, false), "tensor<10x4x2xf32>");
  check_type(cel_hlo_scatter(b, table, ids, rows, &s, true), "tensor<10x4x2xf32>");
  check_ok(&f);
  cel_hlo_module_free(f.m);
}

static void batched_gather_type(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 4, 5, 200, 100, 300), i = arg(&f, CEL_ET_I32, 3, 5, 10, 2, 0);
  cel_hlo_gather_dims g = {.n_offset = 1, .offset = {2}, .n_collapsed = 2, .collapsed = {1, 2}, .n_operand_batch = 1,
                           .n_index_map = 2, .index_map = {1, 2}, .index_vector_dim = 2,
                           .slice_sizes = {1, 1, 1, 300}};
  check_type(cel_hlo_gather(&f.b, x, i, &g), "tensor<5x10x300xf32>");
  cel_hlo_module_free(f.m);
}

static int64_t init_of(fixture *f, cel_hlo_opcode code, cel_etype e) {
  fixture g = *f;
  cel_hlo_func_begin(&g.b, cel_hlo_fresh_symbol(&g.b, "r"), true);
  hlo y = cel_hlo_reduce(&g.b, code, arg(&g, e, 1, 4, 0, 0, 0), (int64_t[]){0}, 1);
  assert_non_null(y);
  const cel_hlo_attr *value = cel_hlo_find_attr(y->def->operands[1]->def, "value");
  return (int64_t)cel_hlo_element_bits(e, value->data);
}

static void reductions_start_from_the_identity(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  assert_int_equal(init_of(&f, CEL_HLO_ADD, CEL_ET_F32), 0);
  assert_int_equal(init_of(&f, CEL_HLO_MULTIPLY, CEL_ET_F32), 0x3F800000);
  assert_int_equal(init_of(&f, CEL_HLO_MAXIMUM, CEL_ET_BF16), 0xFF80);
  assert_int_equal(init_of(&f, CEL_HLO_MINIMUM, CEL_ET_F16), 0x7C00);
  assert_int_equal(init_of(&f, CEL_HLO_MAXIMUM, CEL_ET_F8E4M3FN), 0xFE);
  assert_int_equal(init_of(&f, CEL_HLO_MAXIMUM, CEL_ET_I32), 0x80000000);
  assert_int_equal(init_of(&f, CEL_HLO_MINIMUM, CEL_ET_I8), 0x7F);
  assert_true(init_of(&f, CEL_HLO_MINIMUM, CEL_ET_UI64) == -1);
  assert_int_equal(init_of(&f, CEL_HLO_MAXIMUM, CEL_ET_PRED), 0);
  assert_int_equal(init_of(&f, CEL_HLO_AND, CEL_ET_PRED), 1);
  assert_int_equal(init_of(&f, CEL_HLO_AND, CEL_ET_I16), 0xFFFF);
  cel_hlo_module_free(f.m);
}

static void calls_take_the_callees_types(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_func *outer = b->func;
  cel_hlo_block *at = b->block;
  cel_hlo_func *two = cel_hlo_func_begin(b, "two", true);  // begun while main is open
  hlo y = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_return(b, (hlo[]){cel_hlo_convert(b, y, CEL_ET_F64), y}, 2);
  b->func = outer;
  b->block = at;
  hlo r = cel_hlo_call(b, two, &x, 1);
  check_type(r, "tensor<4xf64>");
  check_type(&r->def->results[1], "tensor<4xf32>");
  hlo c = cel_hlo_composite(b, "m.two", &x, 1, NULL, 0, two);
  check_type(c, "tensor<4xf64>");
  assert_null(cel_hlo_find_attr(c->def, "composite_attributes"));
  cel_hlo_return(b, &c, 1);
  check_ok(&f);
  cel_err err;
  if (cel_hlo_verify(f.m, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_hlo_module_free(f.m);
}

static void the_first_error_sticks_and_says_where(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  cel_hlo_builder *b = &f.b;
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0), y = arg(&f, CEL_ET_F32, 1, 5, 0, 0, 0);
  cel_hlo_path(b, "layers.%d.mlp", 7);
  hlo bad = cel_hlo_binary(b, CEL_HLO_ADD, x, y);
  assert_null(bad);
  check_error(&f, "@main: layers.7.mlp: stablehlo.add: operand 0 is tensor<4xf32> and operand 1 is tensor<5xf32>");
  char first[CEL_ERR_TEXT_BYTES];
  strcpy(first, f.b.err.text);
  assert_null(cel_hlo_unary(b, CEL_HLO_TANH, x));
  assert_null(cel_hlo_reduce(b, CEL_HLO_ADD, bad, (int64_t[]){0}, 1));
  assert_null(cel_hlo_binary_scalar(b, CEL_HLO_ADD, bad, 1));
  assert_null(cel_hlo_take_rows(b, bad, bad));
  assert_null(cel_hlo_slice_dim(b, bad, 3, 0, 1, 1));
  assert_null(cel_hlo_func_begin(b, "other", true));
  cel_hlo_arg_attr_int(b, bad, "k", 1);
  cel_hlo_return(b, &bad, 1);
  cel_hlo_refuse(b, CEL_UNSUPPORTED, "later");
  assert_string_equal(f.b.err.text, first);
  assert_null(b->func->body->last);
  cel_hlo_module_free(f.m);
}

static void null_operands_are_no_error_of_their_own(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  assert_null(cel_hlo_binary(&f.b, CEL_HLO_ADD, x, NULL));
  assert_null(cel_hlo_concat(&f.b, (hlo[]){x, NULL}, 2, 0));
  assert_null(cel_hlo_convert(&f.b, NULL, CEL_ET_F32));
  check_ok(&f);
  cel_hlo_refuse(&f.b, CEL_UNSUPPORTED, "no %s", "such block");
  assert_int_equal(f.b.err.status, CEL_UNSUPPORTED);
  assert_string_equal(f.b.err.text, "@main: no such block");
  cel_hlo_module_free(f.m);
}

// Each case builds one thing that cannot be; the text names operation and what is wrong.
typedef hlo wrong_case(cel_hlo_builder *b, hlo x, hlo i, hlo p);
static hlo w_reshape(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_reshape(b, x, 1, (int64_t[]){7});
}
static hlo w_rank(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_reshape(b, x, 9, (int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 6});
}
static hlo w_broadcast(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_broadcast(b, x, 2, (int64_t[]){2, 4}, (int64_t[]){0, 1});
}
static hlo w_twice(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_transpose(b, x, (int64_t[]){1, 1});
}
static hlo w_slice(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_slice_dim(b, x, 1, 1, 4, 1);
}
static hlo w_float_not(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_unary(b, CEL_HLO_NOT, x);
}
static hlo w_direction(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_compare(b, "LESS", x, x);
}
static hlo w_select(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)p;
  return cel_hlo_select(b, i, x, x);
}
static hlo w_dot(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_dot(b, x, x, &(cel_hlo_dot_dims){.n_contract = 1, .lhs_contract = {0}, .rhs_contract = {1}},
                     CEL_ET_F32);
}
static hlo w_reduce(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_reduce(b, CEL_HLO_ADD, x, (int64_t[]){2}, 1);
}
static hlo w_and(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_reduce(b, CEL_HLO_AND, x, (int64_t[]){1}, 1);
}
static hlo w_start(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)p;
  return cel_hlo_dynamic_slice(b, x, (hlo[]){i, x}, (int64_t[]){1, 1});
}
static hlo w_update(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)p;
  return cel_hlo_dynamic_update_slice(b, cel_hlo_slice_dim(b, x, 0, 0, 1, 1), x, (hlo[]){i, i});
}
static hlo w_concat(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i;
  return cel_hlo_concat(b, (hlo[]){x, p}, 2, 0);
}
static hlo w_scalar(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)x, (void)p;
  return cel_hlo_binary_scalar(b, CEL_HLO_ADD, i, 0.5);
}
static hlo w_rows(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)i, (void)p;
  return cel_hlo_take_rows(b, x, x);
}
static hlo w_iota(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)x, (void)i, (void)p;
  return cel_hlo_iota(b, CEL_ET_I32, 1, (int64_t[]){4}, 1);
}
static hlo w_size(cel_hlo_builder *b, hlo x, hlo i, hlo p) {
  (void)x, (void)i, (void)p;
  return cel_hlo_splat(b, CEL_ET_I32, 2, (int64_t[]){4, -1}, 1);
}

static void wrong_operations_are_refused_with_reasons(void **state) {
  (void)state;
  static const struct {
    wrong_case *make;
    const char *want;
  } cases[] = {
      {w_reshape, "stablehlo.reshape: from tensor<2x3xf32> (6 elements) to tensor<7xf32> (7)"},
      {w_rank, "stablehlo.reshape: no such type"},
      {w_broadcast, "stablehlo.broadcast_in_dim: dimension 1 of tensor<2x3xf32> goes to dimension 1"},
      {w_twice, "stablehlo.transpose: permutation names 1 twice"},
      {w_slice, "stablehlo.slice: dimension 1: [1:4] of a size of 3"},
      {w_float_not, "stablehlo.not: operand 0 is tensor<2x3xf32>, it must be of an integer type or i1"},
      {w_direction, "stablehlo.compare: comparison_direction is \"LESS\", it must be one of EQ NE GE GT LE LT"},
      {w_select, "stablehlo.select: operand 0 is tensor<i32>, it must be tensor<i1>"},
      {w_dot, "stablehlo.dot_general: contracting dimensions 0 of tensor<2x3xf32> and 1 of"},
      {w_reduce, "stablehlo.reduce: dimensions[0] = 2, it must be in 0 .. 1"},
      {w_and, "stablehlo.reduce: there is no stablehlo.and over f32"},
      {w_start, "stablehlo.dynamic_slice: start index 1 is tensor<2x3xf32>, it must be an integer scalar"},
      {w_update, "stablehlo.dynamic_update_slice: the update is tensor<2x3xf32>"},
      {w_concat, "stablehlo.concatenate: operand 1 is tensor<2x3xi1>"},
      {w_scalar, "stablehlo.constant: i32 cannot hold 0.5"},
      {w_rows, "stablehlo.gather: rows of a rank of 2 by ids of a rank of 2"},
      {w_iota, "stablehlo.iota: iota_dimension = 1, it must be in 0 .. 0"},
      {w_size, "stablehlo.constant: no such type: i32 of shape [4x-1]"},
  };
  for (int k = 0; k < CEL_COUNT(cases); k++) {
    fixture f;
    open_module(&f);
    hlo x = arg(&f, CEL_ET_F32, 2, 2, 3, 0, 0), i = arg(&f, CEL_ET_I32, 0, 0, 0, 0, 0);
    hlo p = arg(&f, CEL_ET_PRED, 2, 2, 3, 0, 0);
    assert_null(cases[k].make(&f.b, x, i, p));
    check_error(&f, cases[k].want);
    cel_hlo_module_free(f.m);
  }
}

static void calls_that_do_not_fit_are_refused(void **state) {
  (void)state;
  for (int k = 0; k < 8; k++) {
    fixture f;
    open_module(&f);
    cel_hlo_builder *b = &f.b;
    cel_hlo_func *open = b->func;
    hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
    cel_hlo_func *g = cel_hlo_func_begin(b, "g", true);
    hlo y = arg(&f, CEL_ET_F32, 1, 3, 0, 0, 0);
    if (k == 0) cel_hlo_call(b, open, &y, 1);
    cel_hlo_return(b, &y, 1);
    b->func = open;
    b->block = open->body;
    if (k == 1) cel_hlo_call(b, g, &x, 1);
    if (k == 2) cel_hlo_composite(b, "nodot", &x, 0, NULL, 0, g);
    if (k == 3) cel_hlo_unary(b, CEL_HLO_TANH, y);
    hlo z = cel_hlo_slice_dim(b, x, 0, 0, 3, 1);
    static const char *const names[] = {"plain", "0.f", "m.", "m.f.%"};
    if (k >= 4) cel_hlo_composite(b, names[k - 4], &z, 1, NULL, 0, g);
    static const char *const want[] = {"func.call: @main is not finished",
                                       "func.call: argument 0 of @g is tensor<4xf32>, it must be tensor<3xf32>",
                                       "stablehlo.composite: @g takes 1 arguments, there are 0",
                                       "stablehlo.tanh: operand 0 belongs to function @g",
                                       "stablehlo.composite: name is \"plain\", it must be of the form namespace.name",
                                       "name is \"0.f\"", "name is \"m.\"", "name is \"m.f.%\""};
    check_error(&f, want[k]);
    cel_hlo_module_free(f.m);
  }
}

static void names_of_functions_are_unique(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  assert_string_equal(cel_hlo_fresh_symbol(&f.b, "main"), "main_1");
  assert_null(cel_hlo_func_begin(&f.b, "main", false));
  check_error(&f, "there is a function @main already");
  cel_hlo_module_free(f.m);
}

static void operations_carry_the_path(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo x = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  cel_hlo_path(&f.b, "layers.%d", 1);
  hlo y = cel_hlo_unary(&f.b, CEL_HLO_TANH, x);
  hlo r = cel_hlo_reduce(&f.b, CEL_HLO_ADD, y, (int64_t[]){0}, 1);
  cel_hlo_path(&f.b, "%s", "");
  hlo z = cel_hlo_unary(&f.b, CEL_HLO_TANH, y);
  assert_string_equal(y->def->path, "layers.1");
  assert_string_equal(r->def->path, "layers.1");
  assert_null(r->def->regions[0]->first->path);
  assert_null(z->def->path);
  cel_hlo_module_free(f.m);
}

static void values_are_numbered_in_order(void **state) {
  (void)state;
  fixture f;
  open_module(&f);
  hlo first = arg(&f, CEL_ET_F32, 1, 4, 0, 0, 0);
  for (int i = 1; i < 40; i++) assert_int_equal(arg(&f, CEL_ET_F32, 1, i, 0, 0, 0)->id, i);
  assert_int_equal(first->id, 0);
  assert_ptr_equal(f.b.func->body->args[0], first);  // did not move
  assert_int_equal(cel_hlo_unary(&f.b, CEL_HLO_TANH, first)->id, 40);
  assert_int_equal(f.b.func->n_values, 41);
  cel_hlo_module_free(f.m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_have_their_type),
      cmocka_unit_test(elementwise_types),
      cmocka_unit_test(scalar_operand_of_a_scalar_is_not_broadcast),
      cmocka_unit_test(shape_types),
      cmocka_unit_test(contraction_reduction_and_index_types),
      cmocka_unit_test(batched_gather_type),
      cmocka_unit_test(reductions_start_from_the_identity),
      cmocka_unit_test(calls_take_the_callees_types),
      cmocka_unit_test(the_first_error_sticks_and_says_where),
      cmocka_unit_test(null_operands_are_no_error_of_their_own),
      cmocka_unit_test(wrong_operations_are_refused_with_reasons),
      cmocka_unit_test(calls_that_do_not_fit_are_refused),
      cmocka_unit_test(names_of_functions_are_unique),
      cmocka_unit_test(operations_carry_the_path),
      cmocka_unit_test(values_are_numbered_in_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
