// Modules, functions, blocks and operations: making them and linking them together.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/infer.h"

cel_status cel_hlo_module_new(const char *name, cel_hlo_module **out, cel_err *err) {
  cel_hlo_module *m = calloc(1, sizeof *m);
  if (!m) return cel_fail_oom(err, "a StableHLO module");
  cel_arena_init(&m->arena);
  if (name) m->name = cel_arena_dup(&m->arena, name, strlen(name));
  if ((name && !m->name) || !cel_hlo_tables_init(m)) {
    cel_hlo_module_free(m);
    return cel_fail_oom(err, "a StableHLO module");
  }
  *out = m;
  return CEL_OK;
}

void cel_hlo_module_free(cel_hlo_module *m) {
  if (!m) return;
  cel_arena_deinit(&m->arena);
  free(m);
}

// ---- growing arrays of pointers ----------------------------------------------------------------

// The array of n pointers, moved when there is no room for one more: room is the next power of two (at
// least 4) of the length, so no capacity is kept.
static void *room(cel_arena *arena, void *array, int n) {
  if (n && (n < 4 || (n & (n - 1)))) return array;
  void *wider = cel_arena_array(arena, n ? (size_t)n * 2 : 4, sizeof(void *));
  if (wider && n) memcpy(wider, array, (size_t)n * sizeof(void *));
  return wider;
}

static bool push_attr(cel_arena *arena, cel_hlo_attr ***attrs, int *n, cel_hlo_attr *attr) {
  cel_hlo_attr **array = attr ? room(arena, *attrs, *n) : NULL;
  if (!array) return false;
  array[(*n)++] = attr;
  *attrs = array;
  return true;
}

// The same for a list ended by NULL.
static bool push_ended(cel_arena *arena, cel_hlo_attr ***list, cel_hlo_attr *attr) {
  if (!attr) return false;
  int n = 0;
  while (*list && (*list)[n]) n++;
  cel_hlo_attr **longer = CEL_NEW_ARRAY(arena, cel_hlo_attr *, n + 2);
  if (!longer) return false;
  if (n) memcpy(longer, *list, (size_t)n * sizeof *longer);
  longer[n] = attr;
  *list = longer;
  return true;
}

// ---- functions ---------------------------------------------------------------------------------

cel_hlo_func *cel_hlo_func_new(cel_hlo_module *m, cel_str name, bool is_private) {
  cel_hlo_func *f = CEL_NEW(&m->arena, cel_hlo_func);
  if (!f) return NULL;
  f->name = cel_arena_dup(&m->arena, name.p, name.n);
  f->is_private = is_private;
  f->is_declaration = true;
  f->module = m;
  if (!f->name || !cel_hlo_tables_add_func(m, f)) return NULL;
  if (m->last_func) m->last_func->next = f;
  else m->first_func = f;
  m->last_func = f;
  return f;
}

cel_hlo_block *cel_hlo_func_body(cel_hlo_func *f) {
  cel_hlo_block *b = CEL_NEW(&f->module->arena, cel_hlo_block);
  if (!b) return NULL;
  b->func = f;
  f->body = b;
  f->is_declaration = false;
  return b;
}

bool cel_hlo_func_set_results(cel_hlo_func *f, const cel_hlo_type *const *types, int n) {
  cel_arena *arena = &f->module->arena;
  f->result_types = CEL_NEW_ARRAY(arena, const cel_hlo_type *, n);
  f->result_attrs = CEL_NEW_ARRAY(arena, cel_hlo_attr **, n);
  if (!f->result_types || !f->result_attrs) return false;
  if (n) memcpy(f->result_types, types, (size_t)n * sizeof *types);
  f->n_results = n;
  return true;
}

bool cel_hlo_func_add_arg_attr(cel_hlo_func *f, int i, cel_hlo_attr *attr) {
  return push_ended(&f->module->arena, &f->arg_attrs[i], attr);
}

bool cel_hlo_func_add_result_attr(cel_hlo_func *f, int i, cel_hlo_attr *attr) {
  return push_ended(&f->module->arena, &f->result_attrs[i], attr);
}

bool cel_hlo_func_add_attr(cel_hlo_func *f, cel_hlo_attr *attr) {
  return push_attr(&f->module->arena, &f->attrs, &f->n_attrs, attr);
}

bool cel_hlo_module_add_attr(cel_hlo_module *m, cel_hlo_attr *attr) {
  return push_attr(&m->arena, &m->attrs, &m->n_attrs, attr);
}

// ---- operations and blocks ---------------------------------------------------------------------

cel_hlo_op *cel_hlo_op_new(cel_hlo_module *m, cel_hlo_opcode opcode, const char *name,
                           cel_hlo_value *const *operands, int n_operands, int n_regions) {
  cel_hlo_op *op = CEL_NEW(&m->arena, cel_hlo_op);
  if (!op) return NULL;
  op->opcode = opcode;
  op->name = opcode != CEL_HLO_FOREIGN ? cel_hlo_opcode_name(opcode) : cel_arena_dup(&m->arena, name, strlen(name));
  op->operands = CEL_NEW_ARRAY(&m->arena, cel_hlo_value *, n_operands);
  op->regions = CEL_NEW_ARRAY(&m->arena, cel_hlo_block *, n_regions);
  if (!op->name || !op->operands || !op->regions) return NULL;
  if (n_operands) memcpy(op->operands, operands, (size_t)n_operands * sizeof *operands);
  op->n_operands = n_operands;
  op->n_regions = n_regions;
  return op;
}

bool cel_hlo_op_add_attr(cel_hlo_module *m, cel_hlo_op *op, cel_hlo_attr *attr) {
  return push_attr(&m->arena, &op->attrs, &op->n_attrs, attr);
}

cel_hlo_value *cel_hlo_block_add_arg(cel_hlo_block *b, const cel_hlo_type *type, const char *name) {
  cel_arena *arena = &b->func->module->arena;
  cel_hlo_value *v = CEL_NEW(arena, cel_hlo_value);
  if (!v) return NULL;
  *v = (cel_hlo_value){.type = type, .block = b, .index = b->n_args, .id = b->func->n_values};
  if (name && !(v->name = cel_arena_dup(arena, name, strlen(name)))) return NULL;
  cel_hlo_value **args = room(arena, b->args, b->n_args);
  if (!args) return NULL;
  b->args = args;
  if (b == b->func->body) {  // a function's arguments have a list of attributes each
    cel_hlo_attr ***lists = room(arena, b->func->arg_attrs, b->n_args);
    if (!lists) return NULL;
    lists[b->n_args] = NULL;
    b->func->arg_attrs = lists;
  }
  args[b->n_args++] = v;
  b->func->n_values++;
  return v;
}

cel_hlo_block *cel_hlo_region_new(cel_hlo_func *f, cel_hlo_op *op, int i, const cel_hlo_type *const *types,
                                  int n) {
  cel_hlo_block *b = CEL_NEW(&f->module->arena, cel_hlo_block);
  if (!b) return NULL;
  b->func = f;
  b->parent_op = op;
  for (int k = 0; k < n; k++)
    if (!cel_hlo_block_add_arg(b, types[k], NULL)) return NULL;
  op->regions[i] = b;
  return b;
}

bool cel_hlo_set_results(cel_hlo_func *f, cel_hlo_op *op, const cel_hlo_type *const *types, int n) {
  op->results = CEL_NEW_ARRAY(&f->module->arena, cel_hlo_value, n);
  if (!op->results) return false;
  op->n_results = n;
  for (int i = 0; i < n; i++)
    op->results[i] =
        (cel_hlo_value){.type = types[i], .def = op, .block = op->parent, .index = i, .id = f->n_values++};
  return true;
}

void cel_hlo_block_append(cel_hlo_block *b, cel_hlo_op *op) {
  op->parent = b;
  op->prev = b->last;
  op->next = NULL;
  if (b->last) b->last->next = op;
  else b->first = op;
  b->last = op;
  for (int i = 0; i < op->n_results; i++) op->results[i].block = b;
}
