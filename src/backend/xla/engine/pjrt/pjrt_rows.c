#include "backend/xla/engine/pjrt/pjrt_rows.h"

#include <stdio.h>
#include <string.h>

void cel_pjrt_rows_free(cel_pjrt_rows *r, const cel_pjrt *p) {
  for (int i = 0; i < r->n; i++) {
    cel_pjrt_drop_program(p, r->of[i].clear);
    cel_pjrt_drop_program(p, r->of[i].copy);
  }
  for (int i = 0; i < r->n_moves; i++) cel_pjrt_drop_program(p, r->moves[i].program);
  r->n = r->n_moves = 0;
}

// One row of a state.
static void row_type(const cel_hlo_type *t, char *out, size_t n) {
  cel_hlo_type row = *t;
  row.dims[1] = 1;
  cel_hlo_type_text(&row, out, n);
}

// main(state, from, to): row `to` becomes row `from`, or zero.
static void write_program(const cel_pjrt *p, cel_buf *out, const char *type, const cel_hlo_type *t, int axis, bool copy) {
  char row[128];
  const int64_t *d = t->dims;
  row_type(t, row, sizeof row);
  const char *comma = p->n_parts > 1 ? ", " : "";
  cel_buf_addz(out, "module @rows {\n");
  cel_pjrt_add_mesh(p, out);
  cel_buf_printf(out, "  func.func public @main(%%state: %s {tf.aliasing_output = 0 : i32%s", type, comma);
  cel_pjrt_add_sharding(p, out, t->rank, axis);
  for (int i = 0; i < 2; i++) {
    cel_buf_printf(out, "}, %%%s: tensor<i32> {", i ? "to" : "from");
    cel_pjrt_add_sharding(p, out, 0, -1);
  }
  cel_buf_printf(out, "}) -> (%s {", type);
  cel_pjrt_add_sharding(p, out, t->rank, axis);
  cel_buf_addz(out, "}) {\n    %0 = stablehlo.constant dense<0> : tensor<i32>\n");
  if (copy) {
    cel_buf_printf(out, "    %%r = stablehlo.dynamic_slice %%state, %%0, %%from, %%0, %%0, %%0, sizes = [%lld, 1, %lld, %lld, %lld] : "
                   "(%s, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> %s\n", (long long)d[0], (long long)d[2],
                   (long long)d[3], (long long)d[4], type, row);
  } else {
    cel_buf_printf(out, "    %%r = stablehlo.constant dense<%s> : %s\n", cel_pjrt_zero(t), row);
  }
  cel_buf_printf(out, "    %%s = stablehlo.dynamic_update_slice %%state, %%r, %%0, %%to, %%0, %%0, %%0 : (%s, %s, tensor<i32>, "
                 "tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> %s\n    return %%s : %s\n  }\n}\n", type, row, type, type);
}

static cel_status program_of(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis, bool copy,
                             cel_pjrt_loaded **out, cel_err *err) {
  char type[128];
  cel_hlo_type_text(t, type, sizeof type);
  int i = 0;
  while (i < r->n && strcmp(r->of[i].type, type) != 0) i++;
  if (i == CEL_PJRT_ROW_TYPES) return cel_fail(err, CEL_UNSUPPORTED, "a model with more than %d kinds of states", CEL_PJRT_ROW_TYPES);
  if (i == r->n) {
    r->n++;
    memset(&r->of[i], 0, sizeof r->of[i]);
    memcpy(r->of[i].type, type, sizeof type);
  }
  cel_pjrt_loaded **program = copy ? &r->of[i].copy : &r->of[i].clear;
  cel_buf text = {0};
  cel_status s = CEL_OK;
  if (!*program) {
    write_program(p, &text, type, t, axis, copy);
    s = text.failed ? cel_fail_oom(err, "a program") : cel_pjrt_compile(p, cel_buf_str(&text), copy ? "copy a row" : "clear a row", program, err);
  }
  cel_buf_deinit(&text);
  *out = *program;
  return s;
}

static cel_status run(const cel_pjrt *p, cel_pjrt_loaded *program, cel_pjrt_array *state, int64_t from, int64_t to,
                      cel_err *err) {
  static const cel_hlo_type scalar = {.kind = CEL_HLO_KIND_TENSOR, .etype = CEL_ET_I32};
  const int32_t rows[2] = {(int32_t)from, (int32_t)to};
  cel_pjrt_array arguments[3] = {*state}, result = {0};
  cel_status s = CEL_OK;
  for (int i = 0; i < 2 && s == CEL_OK; i++) s = cel_pjrt_upload(p, &scalar, -1, &rows[i], CEL_PJRT_HOST_DURING_CALL, &arguments[i + 1], err);
  if (s == CEL_OK) s = cel_pjrt_run(p, program, arguments, 3, &result, 1, err);
  for (int i = 1; i < 3; i++) cel_pjrt_drop_array(p, &arguments[i]);
  if (s != CEL_OK) return s;
  cel_pjrt_drop_array(p, state);
  *state = result;
  return CEL_OK;
}

static cel_status change(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis, bool copy, cel_pjrt_array *state,
                         int64_t from, int64_t to, cel_err *err) {
  cel_pjrt_loaded *program;
  CEL_TRY(program_of(r, p, t, axis, copy, &program, err));
  return run(p, program, state, from, to, err);
}

cel_status cel_pjrt_rows_clear(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis, cel_pjrt_array *state,
                               int64_t row, cel_err *err) {
  return change(r, p, t, axis, false, state, row, row, err);
}

cel_status cel_pjrt_rows_copy(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, int axis, cel_pjrt_array *state,
                              int64_t from, int64_t to, cel_err *err) {
  return change(r, p, t, axis, true, state, from, to, err);
}

// ---- between capacities --------------------------------------------------------------------------------

// main(from, to, row): the row of `from` over the first positions of the row of `to`.
static void write_move(const cel_pjrt *p, cel_buf *out, const char *from, const char *to, const cel_hlo_type *t, int axis) {
  char row[128];
  const int64_t *d = t->dims;
  row_type(t, row, sizeof row);
  cel_buf_addz(out, "module @move {\n");
  cel_pjrt_add_mesh(p, out);
  cel_buf_printf(out, "  func.func public @main(%%from: %s {", from);
  cel_pjrt_add_sharding(p, out, t->rank, axis);
  cel_buf_printf(out, "}, %%to: %s {tf.aliasing_output = 0 : i32%s", to, p->n_parts > 1 ? ", " : "");
  cel_pjrt_add_sharding(p, out, t->rank, axis);
  cel_buf_addz(out, "}, %row: tensor<i32> {");
  cel_pjrt_add_sharding(p, out, 0, -1);
  cel_buf_printf(out, "}) -> (%s {", to);
  cel_pjrt_add_sharding(p, out, t->rank, axis);
  cel_buf_printf(out, "}) {\n    %%0 = stablehlo.constant dense<0> : tensor<i32>\n"
                 "    %%r = stablehlo.dynamic_slice %%from, %%0, %%row, %%0, %%0, %%0, sizes = [%lld, 1, %lld, %lld, %lld] : (%s, "
                 "tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> %s\n", (long long)d[0], (long long)d[2],
                 (long long)d[3], (long long)d[4], from, row);
  cel_buf_printf(out, "    %%s = stablehlo.dynamic_update_slice %%to, %%r, %%0, %%row, %%0, %%0, %%0 : (%s, %s, tensor<i32>, "
                 "tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> %s\n    return %%s : %s\n  }\n}\n", to, row, to, to);
}

static cel_status move_program(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, const cel_hlo_type *u, int axis,
                               cel_pjrt_loaded **out, cel_err *err) {
  char from[128], to[128];
  cel_hlo_type_text(t, from, sizeof from);
  cel_hlo_type_text(u, to, sizeof to);
  int i = 0;
  while (i < r->n_moves && (strcmp(r->moves[i].from, from) != 0 || strcmp(r->moves[i].to, to) != 0)) i++;
  if (i == CEL_PJRT_MOVES) return cel_fail(err, CEL_UNSUPPORTED, "more than %d pairs of capacities", CEL_PJRT_MOVES);
  if (i == r->n_moves) {
    cel_buf text = {0};
    cel_pjrt_loaded *made = NULL;
    write_move(p, &text, from, to, t, axis);
    cel_status s = text.failed ? cel_fail_oom(err, "a program") : cel_pjrt_compile(p, cel_buf_str(&text), "move a row", &made, err);
    cel_buf_deinit(&text);
    if (s != CEL_OK) return s;
    memcpy(r->moves[i].from, from, sizeof from);
    memcpy(r->moves[i].to, to, sizeof to);
    r->moves[i].program = made;
    r->n_moves++;
  }
  *out = r->moves[i].program;
  return CEL_OK;
}

cel_status cel_pjrt_rows_move(cel_pjrt_rows *r, const cel_pjrt *p, const cel_hlo_type *t, const cel_pjrt_array *from,
                              const cel_hlo_type *u, int axis, cel_pjrt_array *to, int64_t row, cel_err *err) {
  static const cel_hlo_type scalar = {.kind = CEL_HLO_KIND_TENSOR, .etype = CEL_ET_I32};
  cel_pjrt_loaded *program;
  CEL_TRY(move_program(r, p, t, u, axis, &program, err));
  const int32_t at = (int32_t)row;
  cel_pjrt_array arguments[3] = {*from, *to}, result = {0};
  CEL_TRY(cel_pjrt_upload(p, &scalar, -1, &at, CEL_PJRT_HOST_DURING_CALL, &arguments[2], err));
  cel_status s = cel_pjrt_run(p, program, arguments, 3, &result, 1, err);
  cel_pjrt_drop_array(p, &arguments[2]);
  if (s != CEL_OK) return s;
  cel_pjrt_drop_array(p, to);
  *to = result;
  return CEL_OK;
}
