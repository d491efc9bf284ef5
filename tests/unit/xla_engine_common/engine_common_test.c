// What engines that are not ours share: is a copy of a state's row, or a move to a longer state, one that fits; what a kept program
// is called.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "backend/xla/engine/common/binding.h"
#include "backend/xla/engine/common/results.h"
#include "backend/xla/engine/common/state_row.h"

static cel_hlo_type state_of(cel_etype etype, int64_t rows, int64_t positions) {
  return (cel_hlo_type){.kind = CEL_HLO_KIND_TENSOR, .etype = etype, .rank = 5, .dims = {2, rows, 3, positions, 4}};
}

static void a_copy_fits_rows_and_positions(void **state) {
  (void)state;
  cel_hlo_type t = state_of(CEL_ET_F32, 4, 16);
  static const struct {
    int64_t from, to, n;
    bool fits;
  } rows[] = {{0, 3, 16, true}, {3, 0, 0, true}, {0, 4, 1, false}, {4, 0, 1, false}, {-1, 0, 1, false}, {0, -1, 1, false}, {0, 1, 17, false}, {0, 1, -1, false}};
  for (int i = 0; i < CEL_COUNT(rows); i++) {
    cel_err err = {0};
    bool fits = cel_state_check_copy(t.rank, t.dims, rows[i].from, rows[i].to, rows[i].n, &err) == CEL_OK;
    if (fits != rows[i].fits) fail_msg("row %d: %s", i, err.text);
  }
}

static void a_move_goes_to_as_many_positions_or_more(void **state) {
  (void)state;
  cel_err err = {0};
  cel_hlo_type small = state_of(CEL_ET_F32, 4, 8), large = state_of(CEL_ET_F32, 4, 16), other = state_of(CEL_ET_F16, 4, 16), wide = large, flat = large;
  wide.dims[4] = 8;
  flat.rank = 4;
  assert_int_equal(cel_state_check_move(&small, &large, 3, 8, &err), CEL_OK);
  assert_int_equal(cel_state_check_move(&large, &large, 0, 0, &err), CEL_OK);
  const cel_hlo_type *const unlike[][2] = {{&large, &small}, {&small, &other}, {&small, &wide}, {&small, &flat}, {&flat, &large}};
  for (int i = 0; i < CEL_COUNT(unlike); i++) assert_int_equal(cel_state_check_move(unlike[i][0], unlike[i][1], 0, 1, &err), CEL_INVALID);
  assert_int_equal(cel_state_check_move(&small, &large, 4, 1, &err), CEL_INVALID);
  assert_int_equal(cel_state_check_move(&small, &large, -1, 1, &err), CEL_INVALID);
  assert_int_equal(cel_state_check_move(&small, &large, 0, 9, &err), CEL_INVALID);
  assert_string_equal(err.text, "9 positions of row 0 do not fit from one state into the other");
}

static void blocks_of_results_are_kept_and_grow(void **state) {
  (void)state;
  cel_results r = {0};
  cel_err err = {0};
  void *a, *b, *again;
  assert_int_equal(cel_results_room(&r, 2, 100, &a, &err), CEL_OK);
  assert_int_equal(cel_results_room(&r, 0, 8, &b, &err), CEL_OK);
  memset(a, 1, 100);
  memset(b, 2, 8);
  assert_int_equal(cel_results_room(&r, 2, 50, &again, &err), CEL_OK);
  assert_ptr_equal(again, a);
  assert_int_equal(cel_results_bytes(&r), 108);
  assert_int_equal(cel_results_room(&r, 2, 200, &a, &err), CEL_OK);
  assert_int_equal(((unsigned char *)a)[99], 1);
  assert_int_equal(cel_results_bytes(&r), 208);
  cel_results_free(&r);
  assert_int_equal(cel_results_bytes(&r), 0);
}

static void a_kept_program_is_called_by_module_and_inputs(void **state) {
  (void)state;
  static const char text[] = "module @tiny_decode {\n"
                             "  func.func @main(%a: tensor<2x3xf32> {mlxcel.weight = \"w\"}, %b: tensor<4xi32>, %c: tensor<i32>) -> tensor<4xi32> {\n"
                             "    return %b : tensor<4xi32>\n  }\n}\n";
  cel_err err = {0};
  cel_hlo_module *m;
  cel_program *p;
  char note[64];
  if (cel_hlo_parse(cel_str_of(text), "note.mlir", &m, &err) != CEL_OK) fail_msg("%s", err.text);
  if (cel_program_new(m, NULL, &p, &err) != CEL_OK) fail_msg("%s", err.text);
  cel_binding_note(p, note, sizeof note);
  assert_string_equal(note, "tiny_decode tensor<4xi32> tensor<i32>");
  cel_binding_note(p, note, 20);
  assert_string_equal(note, "tiny_decode tensor<");
  assert_int_equal(cel_binding_compile(p, NULL, (int[2]){0}, &err), CEL_INVALID);
  assert_string_equal(err.text, "weight w is not bound");
  assert_false(cel_binding_has_states(p));
  cel_program_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_copy_fits_rows_and_positions), cmocka_unit_test(a_move_goes_to_as_many_positions_or_more),
                                     cmocka_unit_test(blocks_of_results_are_kept_and_grow), cmocka_unit_test(a_kept_program_is_called_by_module_and_inputs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
