// Types, attributes, elements, names of operations and functions.
#include <math.h>

#include "hlo_make.h"

static cel_hlo_module *new_module(void) {
  cel_hlo_module *m;
  cel_err err;
  assert_int_equal(cel_hlo_module_new("t", &m, &err), CEL_OK);
  return m;
}

static void equal_types_are_the_same_pointer(void **state) {
  (void)state;
  cel_hlo_module *m = new_module();
  const cel_hlo_type *kept[500];
  for (int64_t i = 0; i < 500; i++) kept[i] = cel_hlo_tensor(m, CEL_ET_F32, 2, (int64_t[]){i, 7});
  for (int64_t i = 0; i < 500; i++) assert_ptr_equal(cel_hlo_tensor(m, CEL_ET_F32, 2, (int64_t[]){i, 7}), kept[i]);
  assert_ptr_not_equal(kept[3], cel_hlo_tensor(m, CEL_ET_F32, 2, (int64_t[]){7, 3}));
  assert_ptr_not_equal(kept[3], cel_hlo_tensor(m, CEL_ET_I32, 2, (int64_t[]){3, 7}));
  assert_ptr_not_equal(kept[3], cel_hlo_tensor(m, CEL_ET_F32, 1, (int64_t[]){3}));
  assert_ptr_equal(cel_hlo_token(m), cel_hlo_token(m));
  const cel_hlo_type *parts[2] = {kept[1], cel_hlo_token(m)}, *pair = cel_hlo_tuple(m, 2, parts);
  assert_ptr_equal(pair, cel_hlo_tuple(m, 2, parts));
  assert_ptr_not_equal(pair, cel_hlo_tuple(m, 1, parts));
  parts[0] = kept[2];
  assert_ptr_equal(pair->parts[0], kept[1]);
  cel_hlo_module_free(m);
}

static void types_of_two_modules_are_equal_by_structure(void **state) {
  (void)state;
  cel_hlo_module *m = new_module(), *n = new_module();
  const cel_hlo_type *a = cel_hlo_tensor(m, CEL_ET_F32, 1, (int64_t[]){4});
  const cel_hlo_type *b = cel_hlo_tensor(n, CEL_ET_F32, 1, (int64_t[]){4});
  assert_true(cel_hlo_type_equal(a, b));
  assert_true(cel_hlo_type_equal(cel_hlo_tuple(m, 1, &a), cel_hlo_tuple(n, 1, &b)));
  assert_false(cel_hlo_type_equal(a, cel_hlo_tensor(n, CEL_ET_F32, 1, (int64_t[]){5})));
  assert_false(cel_hlo_type_equal(a, cel_hlo_token(n)));
  cel_hlo_module_free(m);
  cel_hlo_module_free(n);
}

static void types_that_cannot_be_are_refused(void **state) {
  (void)state;
  cel_hlo_module *m = new_module();
  int64_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  assert_non_null(cel_hlo_tensor(m, CEL_ET_F32, 8, ones));
  assert_null(cel_hlo_tensor(m, CEL_ET_F32, 9, ones));
  assert_null(cel_hlo_tensor(m, CEL_ET_F32, -1, ones));
  assert_null(cel_hlo_tensor(m, CEL_ET_F32, 1, (int64_t[]){-1}));
  assert_null(cel_hlo_tensor(m, CEL_ET_COUNT, 0, NULL));
  assert_null(cel_hlo_tensor(m, CEL_ET_F32, 2, (int64_t[]){INT64_MAX, 2}));
  assert_null(cel_hlo_tensor(m, CEL_ET_F32, 1, (int64_t[]){INT64_MAX / 2}));
  assert_null(cel_hlo_tensor(m, CEL_ET_F32, 3, (int64_t[]){0, INT64_MAX, INT64_MAX}));
  assert_non_null(cel_hlo_tensor(m, CEL_ET_I8, 1, (int64_t[]){INT64_MAX}));
  cel_hlo_module_free(m);
}

static void sizes_and_texts(void **state) {
  (void)state;
  cel_hlo_module *m = new_module();
  const cel_hlo_type *t = cel_hlo_tensor(m, CEL_ET_BF16, 2, (int64_t[]){3, 5}), *parts[2] = {t, cel_hlo_token(m)};
  char text[80], cut[8];
  assert_int_equal(cel_hlo_elements(t), 15);
  assert_int_equal(cel_hlo_bytes(t), 30);
  assert_int_equal(cel_hlo_elements(cel_hlo_scalar_type(m, CEL_ET_C128)), 1);
  assert_int_equal(cel_hlo_bytes(cel_hlo_scalar_type(m, CEL_ET_C128)), 16);
  assert_int_equal(cel_hlo_elements(cel_hlo_token(m)), 0);
  cel_hlo_type_text(cel_hlo_tuple(m, 2, parts), text, sizeof text);
  assert_string_equal(text, "tuple<tensor<3x5xbf16>, !stablehlo.token>");
  cel_hlo_type_text(cel_hlo_scalar_type(m, CEL_ET_C64), text, sizeof text);
  assert_string_equal(text, "tensor<complex<f32>>");
  cel_hlo_type_text(t, cut, sizeof cut);
  assert_string_equal(cut, "tensor<");
  cel_hlo_type_text(NULL, text, sizeof text);
  assert_string_equal(text, "no type");
  cel_hlo_module_free(m);
}

static void element_types_know_themselves(void **state) {
  (void)state;
  for (int i = 0; i < CEL_ET_COUNT; i++) {
    cel_etype e = CEL_ET_COUNT;
    assert_true(cel_etype_by_spelling(cel_str_of(cel_etype_spelling((cel_etype)i)), &e));
    assert_int_equal(e, i);
    assert_true(cel_etype_bytes(e) * 8 >= cel_etype_bits(e));
  }
  cel_etype e;
  assert_false(cel_etype_by_spelling(CEL_STR("f31"), &e));
  assert_true(cel_etype_is_float(CEL_ET_F8E5M2));
  assert_false(cel_etype_is_int(CEL_ET_PRED));
  assert_true(cel_etype_is_int(CEL_ET_UI4));
  assert_string_equal(cel_etype_spelling((cel_etype)999), "?");
}

static void operations_are_found_by_name(void **state) {
  (void)state;
  for (int i = 0; i < CEL_HLO_FOREIGN; i++)
    assert_int_equal(cel_hlo_opcode_by_name(cel_hlo_opcode_name((cel_hlo_opcode)i)), i);
  assert_int_equal(cel_hlo_opcode_by_name("stablehlo.ad"), CEL_HLO_FOREIGN);
  assert_int_equal(cel_hlo_opcode_by_name(""), CEL_HLO_FOREIGN);
  assert_int_equal(cel_hlo_opcode_of((cel_str){"stablehlo.adder", 13}), CEL_HLO_ADD);
}

static void elements_from_numbers(void **state) {
  (void)state;
  unsigned char out[16] = {0};
  assert_true(cel_hlo_element_from_double(CEL_ET_I8, -128, out));
  assert_int_equal(out[0], 0x80);
  assert_false(cel_hlo_element_from_double(CEL_ET_I8, 128, out));
  assert_false(cel_hlo_element_from_double(CEL_ET_I32, 0.5, out));
  assert_false(cel_hlo_element_from_double(CEL_ET_I64, (double)NAN, out));
  assert_false(cel_hlo_element_from_double(CEL_ET_I64, 0x1p63, out));
  assert_true(cel_hlo_element_from_double(CEL_ET_UI64, 0x1p63, out));
  assert_int_equal(out[7], 0x80);
  assert_false(cel_hlo_element_from_double(CEL_ET_UI64, -1, out));
  assert_false(cel_hlo_element_from_int(CEL_ET_UI4, 16, out));
  assert_true(cel_hlo_element_from_int(CEL_ET_I4, -8, out));
  assert_int_equal(out[0], 0xF8);
  assert_false(cel_hlo_element_from_int(CEL_ET_PRED, 2, out));
  assert_false(cel_hlo_element_from_int(CEL_ET_F32, 2, out));
  assert_true(cel_hlo_element_from_double(CEL_ET_F16, 65519, out));  // rounds down to the largest
  assert_int_equal(out[0] | out[1] << 8, 0x7BFF);
  assert_true(cel_hlo_element_from_double(CEL_ET_F16, 65520, out));  // a tie: up to infinity
  assert_int_equal(out[0] | out[1] << 8, 0x7C00);
  assert_true(cel_hlo_element_from_double(CEL_ET_F16, -0x1p-25, out));  // a tie: to even, zero
  assert_int_equal(out[0] | out[1] << 8, 0x8000);
  assert_true(cel_hlo_element_from_double(CEL_ET_BF16, 1 + 0x1p-8 + 0x1p-40, out));  // no step over f32
  assert_int_equal(out[0] | out[1] << 8, 0x3F81);
  assert_true(cel_hlo_element_from_double(CEL_ET_F8E4M3FN, 448, out));
  assert_int_equal(out[0], 0x7E);
  assert_true(cel_hlo_element_from_double(CEL_ET_F8E4M3FN, 1000, out));
  assert_int_equal(out[0], 0x7F);
  assert_true(cel_hlo_element_from_double(CEL_ET_F8E5M2, -(double)INFINITY, out));
  assert_int_equal(out[0], 0xFC);
}

static void attributes_copy_and_are_found(void **state) {
  (void)state;
  cel_hlo_module *m = new_module();
  char name[] = "key", text[] = "value";
  cel_hlo_attr *s = cel_hlo_make_string(m, name, cel_str_of(text));
  name[0] = text[0] = 'X';
  assert_string_equal(s->name, "key");
  assert_string_equal(s->s, "value");
  cel_hlo_attr *items[3] = {cel_hlo_make_int(m, "zz", CEL_ET_I32, 3), s, cel_hlo_make_bool(m, "a", true)};
  cel_hlo_attr *dict = cel_hlo_make_dict(m, "d", items, 3);
  assert_ptr_equal(cel_hlo_dict_get(dict, "key"), s);
  assert_null(cel_hlo_dict_get(dict, "nothing"));
  assert_null(cel_hlo_dict_get(s, "key"));
  assert_null(cel_hlo_dict_get(NULL, "key"));
  assert_string_equal(dict->list[0]->name, "a");
  assert_string_equal(dict->list[2]->name, "zz");
  assert_ptr_equal(items[0]->type, cel_hlo_scalar_type(m, CEL_ET_I32));
  items[1] = NULL;
  assert_null(cel_hlo_make_list(m, "l", items, 3));
  cel_hlo_module_free(m);
}

static void lists_of_integers_come_from_dense_data_too(void **state) {
  (void)state;
  cel_hlo_module *m = new_module();
  cel_hlo_op *op = cel_hlo_op_new(m, CEL_HLO_PAD, NULL, NULL, 0, 0);
  int64_t out[4] = {9, 9, 9, 9};
  const cel_hlo_type *t = cel_hlo_tensor(m, CEL_ET_I16, 1, (int64_t[]){3});
  assert_true(cel_hlo_op_add_attr(m, op, cel_hlo_make_ints(m, "a", (int64_t[]){1, 2, 3}, 3)));
  assert_true(cel_hlo_op_add_attr(m, op, cel_hlo_make_dense(m, "b", t, (int16_t[]){-1, 2, 3}, false)));
  assert_true(cel_hlo_op_add_attr(m, op, cel_hlo_make_dense(m, "c", t, (int16_t[]){5, 5, 5}, false)));
  assert_true(cel_hlo_op_add_attr(m, op, cel_hlo_make_int(m, "d", CEL_ET_I64, 12)));
  assert_int_equal(cel_hlo_attr_ints(op, "a", out, 2, -1), 3);
  assert_int_equal(out[1], 2);
  assert_int_equal(out[2], 9);  // never more than asked for
  assert_int_equal(cel_hlo_attr_ints(op, "b", out, 4, -1), 3);
  assert_int_equal(out[0], -1);
  assert_true(cel_hlo_find_attr(op, "c")->splat);
  assert_int_equal(cel_hlo_attr_ints(op, "c", out, 4, -1), 3);
  assert_int_equal(out[2], 5);
  assert_int_equal(cel_hlo_attr_ints(op, "d", out, 4, -1), -1);
  assert_int_equal(cel_hlo_attr_ints(op, "e", out, 4, 7), 7);
  assert_int_equal(cel_hlo_attr_int(op, "d", 0), 12);
  assert_int_equal(cel_hlo_attr_int(op, "a", 4), 4);
  cel_hlo_module_free(m);
}

static void functions_are_found_by_name(void **state) {
  (void)state;
  cel_hlo_module *m = new_module();
  char name[16];
  for (int i = 0; i < 300; i++) {
    int n = snprintf(name, sizeof name, "f%d", i);
    assert_non_null(cel_hlo_func_new(m, (cel_str){name, (size_t)n}, true));
  }
  for (int i = 0; i < 300; i++) {
    snprintf(name, sizeof name, "f%d", i);
    assert_string_equal(cel_hlo_find_func(m, name)->name, name);
  }
  assert_null(cel_hlo_find_func(m, "f300"));
  cel_hlo_module_free(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_types_are_the_same_pointer),
      cmocka_unit_test(types_of_two_modules_are_equal_by_structure),
      cmocka_unit_test(types_that_cannot_be_are_refused),
      cmocka_unit_test(sizes_and_texts),
      cmocka_unit_test(element_types_know_themselves),
      cmocka_unit_test(operations_are_found_by_name),
      cmocka_unit_test(elements_from_numbers),
      cmocka_unit_test(attributes_copy_and_are_found),
      cmocka_unit_test(lists_of_integers_come_from_dense_data_too),
      cmocka_unit_test(functions_are_found_by_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
