// The builder's heart: errors that stick, functions, and finishing an operation.
#include "backend/xla/hlo/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/build_core.h"

void cel_hlo_builder_init(cel_hlo_builder *b, cel_hlo_module *m) { *b = (cel_hlo_builder){.module = m}; }

// ---- errors ------------------------------------------------------------------------------------

// Puts function and path in front of what b->err says.
static void locate(cel_hlo_builder *b) {
  if (b->path) cel_err_prefix(&b->err, "%.200s", b->path);
  if (b->func) cel_err_prefix(&b->err, "@%.100s", b->func->name);
}

void cel_hlo_refuse(cel_hlo_builder *b, cel_status status, const char *fmt, ...) {
  if (!cel_build_ok(b)) return;
  va_list args;
  va_start(args, fmt);
  cel_failv(&b->err, status, fmt, args);
  va_end(args);
  locate(b);
}

void cel_build_oom(cel_hlo_builder *b) {
  if (!cel_build_ok(b)) return;
  cel_fail_oom(&b->err, "a StableHLO module");
  locate(b);
}

void cel_hlo_path(cel_hlo_builder *b, const char *fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  if (n <= 0) {
    b->path = NULL;
    return;
  }
  b->path = cel_arena_dup(&b->module->arena, text, strlen(text));
  if (!b->path) cel_build_oom(b);
}

// ---- functions ---------------------------------------------------------------------------------

cel_hlo_func *cel_hlo_func_begin(cel_hlo_builder *b, const char *name, bool is_private) {
  if (!cel_build_ok(b)) return NULL;
  if (cel_hlo_find_func(b->module, name)) {
    cel_hlo_refuse(b, CEL_INVALID, "there is a function @%.100s already", name);
    return NULL;
  }
  cel_hlo_func *f = cel_hlo_func_new(b->module, cel_str_of(name), is_private);
  if (!f || !cel_hlo_func_body(f)) {
    cel_build_oom(b);
    return NULL;
  }
  b->func = f;
  b->block = f->body;
  return f;
}

hlo cel_hlo_arg(cel_hlo_builder *b, const char *name, const cel_hlo_type *type) {
  if (!cel_build_ok(b)) return NULL;
  if (!type || !b->func || b->block != b->func->body || b->block->first) {
    cel_hlo_refuse(b, CEL_INVALID, "argument %.100s: %s", name ? name : "",
                   !type ? "it has no type" : "arguments come before the first operation of a function");
    return NULL;
  }
  hlo v = cel_hlo_block_add_arg(b->block, type, name);
  if (!v) cel_build_oom(b);
  return v;
}

static void add_arg_attr(cel_hlo_builder *b, hlo arg, cel_hlo_attr *attr) {
  if (arg->def || arg->block != arg->block->func->body)
    cel_hlo_refuse(b, CEL_INVALID, "attributes go on arguments of functions only");
  else if (!cel_hlo_func_add_arg_attr(arg->block->func, arg->index, attr))
    cel_build_oom(b);
}

void cel_hlo_arg_attr_string(cel_hlo_builder *b, hlo arg, const char *key, const char *value) {
  if (cel_build_ok(b) && arg) add_arg_attr(b, arg, cel_hlo_make_string(b->module, key, cel_str_of(value)));
}

void cel_hlo_arg_attr_int(cel_hlo_builder *b, hlo arg, const char *key, int64_t value) {
  if (cel_build_ok(b) && arg) add_arg_attr(b, arg, cel_hlo_make_int(b->module, key, CEL_ET_I32, value));
}

void cel_hlo_return(cel_hlo_builder *b, const hlo *values, int n) {
  cel_hlo_op *op = cel_build_op(b, CEL_HLO_RETURN, values, n, 0);
  if (!op) return;
  const cel_hlo_type **types = CEL_NEW_ARRAY(&b->module->arena, const cel_hlo_type *, n);
  for (int i = 0; types && i < n; i++) types[i] = values[i]->type;
  if (!types || !cel_hlo_func_set_results(b->func, types, n)) {
    cel_build_oom(b);
    return;
  }
  cel_build_finish(b, op);
}

// #sdy.sharding<@mesh, [{}, {"model"}]>
static cel_hlo_attr *sharding(cel_hlo_builder *b, int rank, int axis) {
  cel_buf text = {0};
  cel_buf_addz(&text, "#sdy.sharding<@mesh, [");
  for (int i = 0; i < rank; i++) cel_buf_printf(&text, "%s{%s}", i ? ", " : "", i == axis ? "\"model\"" : "");
  cel_buf_addz(&text, "]>");
  cel_hlo_attr *a = text.failed ? NULL : cel_hlo_make_raw(b->module, "sdy.sharding", cel_buf_str(&text));
  cel_buf_deinit(&text);
  return a;
}

void cel_hlo_arg_shard(cel_hlo_builder *b, hlo arg, int axis) {
  if (!cel_build_ok(b) || !arg) return;
  add_arg_attr(b, arg, sharding(b, arg->type->rank, axis));
  cel_hlo_arg_attr_int(b, arg, "mlxcel.shard", axis);
}

void cel_hlo_result_shard(cel_hlo_builder *b, int result, int axis) {
  if (!cel_build_ok(b)) return;
  const cel_hlo_type *t = result < b->func->n_results ? b->func->result_types[result] : NULL;
  if (!t || !cel_hlo_func_add_result_attr(b->func, result, sharding(b, t->rank, axis))) cel_build_oom(b);
}

void cel_hlo_result_attr_string(cel_hlo_builder *b, int result, const char *key, const char *value) {
  if (!cel_build_ok(b)) return;
  if (!b->func || result < 0 || result >= b->func->n_results)
    cel_hlo_refuse(b, CEL_INVALID, "there is no result %d to give %.60s to", result, key);
  else if (!cel_hlo_func_add_result_attr(b->func, result, cel_hlo_make_string(b->module, key, cel_str_of(value))))
    cel_build_oom(b);
}

const char *cel_hlo_fresh_symbol(cel_hlo_builder *b, const char *base) {
  const char *name = cel_arena_dup(&b->module->arena, base, strlen(base));
  for (int i = 1; name && cel_hlo_find_func(b->module, name); i++)
    name = cel_arena_printf(&b->module->arena, "%s_%d", base, i);
  if (!name) cel_build_oom(b);
  return name;
}

// ---- operations --------------------------------------------------------------------------------

cel_hlo_op *cel_build_op(cel_hlo_builder *b, cel_hlo_opcode opcode, const hlo *operands, int n, int n_regions) {
  if (!cel_build_ok(b)) return NULL;
  for (int i = 0; i < n; i++) {
    if (!operands[i]) return NULL;
    if (operands[i]->block->func != b->func) {
      cel_hlo_refuse(b, CEL_INVALID, "%s: operand %d belongs to function @%.100s", cel_hlo_opcode_name(opcode), i,
                     operands[i]->block->func->name);
      return NULL;
    }
  }
  if (!b->block || (b->block->last && b->block->last->opcode == CEL_HLO_RETURN)) {
    cel_hlo_refuse(b, CEL_INVALID, "%s: no function is open", cel_hlo_opcode_name(opcode));
    return NULL;
  }
  cel_hlo_op *op = cel_hlo_op_new(b->module, opcode, NULL, operands, n, n_regions);
  if (!op) cel_build_oom(b);
  else op->path = b->path;
  return op;
}

void cel_build_attr(cel_hlo_builder *b, cel_hlo_op *op, cel_hlo_attr *attr) {
  if (op && cel_build_ok(b) && !cel_hlo_op_add_attr(b->module, op, attr)) cel_build_oom(b);
}

void cel_build_ints(cel_hlo_builder *b, cel_hlo_op *op, const char *name, const int64_t *values, int n) {
  if (op) cel_build_attr(b, op, cel_hlo_make_ints(b->module, name, values, n));
}

void cel_build_int(cel_hlo_builder *b, cel_hlo_op *op, const char *name, int64_t value) {
  if (op) cel_build_attr(b, op, cel_hlo_make_int(b->module, name, CEL_ET_I64, value));
}

static hlo append(cel_hlo_builder *b, cel_hlo_op *op) {
  op->line = 0;
  cel_hlo_block_append(b->block, op);
  return op->n_results ? &op->results[0] : NULL;
}

hlo cel_build_finish(cel_hlo_builder *b, cel_hlo_op *op) {
  const cel_hlo_type **types;
  int n;
  if (!op || !cel_build_ok(b)) return NULL;
  if (cel_hlo_infer(b->module, op, &types, &n, &b->err) != CEL_OK) {
    locate(b);
    return NULL;
  }
  if (n < 0) {
    cel_hlo_refuse(b, CEL_INVALID, "%s: its result type must be said", op->name);
    return NULL;
  }
  if (!cel_hlo_set_results(b->func, op, types, n)) {
    cel_build_oom(b);
    return NULL;
  }
  return append(b, op);
}

hlo cel_build_finish_many(cel_hlo_builder *b, cel_hlo_op *op, const cel_hlo_type *const *types, int n) {
  if (!op || !cel_build_ok(b)) return NULL;
  if (!cel_hlo_set_results(b->func, op, types, n)) {
    cel_build_oom(b);
    return NULL;
  }
  if (cel_hlo_check(b->module, op, &b->err) != CEL_OK) {
    locate(b);
    return NULL;
  }
  return append(b, op);
}

hlo cel_build_finish_as(cel_hlo_builder *b, cel_hlo_op *op, const cel_hlo_type *type) {
  return type ? cel_build_finish_many(b, op, &type, 1) : NULL;
}

const cel_hlo_type *cel_build_type(cel_hlo_builder *b, const char *what, cel_etype e, int rank, const int64_t *dims) {
  if (!cel_build_ok(b)) return NULL;
  const cel_hlo_type *t = cel_hlo_tensor(b->module, e, rank, dims);
  if (t) return t;
  if (cel_hlo_tensor_fits(e, rank, dims)) {
    cel_build_oom(b);
    return NULL;
  }
  char text[200] = "";
  int n = 0;
  for (int i = 0; i < rank && i < CEL_HLO_MAX_RANK; i++)
    n += snprintf(text + n, sizeof text - (size_t)n, "%s%lld", i ? "x" : "", (long long)dims[i]);
  cel_hlo_refuse(b, CEL_INVALID, "%s: no such type: %s of shape [%s], rank %d (at most %d, sizes from 0, bytes in 63 bits)",
                 what, cel_etype_spelling(e), text, rank, CEL_HLO_MAX_RANK);
  return NULL;
}
