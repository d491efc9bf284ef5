#include "backend/xla/program/program.h"

#include <stdlib.h>
#include <string.h>

static const cel_hlo_func *find_entry(const cel_hlo_module *m, const char *entry, cel_err *err) {
  if (entry) {
    const cel_hlo_func *f = cel_hlo_find_func(m, entry);
    if (!f) cel_fail(err, CEL_NOT_FOUND, "the module has no function @%s", entry);
    return f;
  }
  const cel_hlo_func *only = NULL, *main_func = cel_hlo_find_func(m, "main");
  int n_public = 0;
  for (const cel_hlo_func *f = m->first_func; f; f = f->next) {
    if (f->is_private || f->is_declaration) continue;
    only = f;
    n_public++;
  }
  if (main_func) return main_func;
  if (n_public == 1) return only;
  cel_fail(err, CEL_INVALID, "the module has %d public functions and no @main: name the entry", n_public);
  return NULL;
}

static cel_param read_param(const cel_hlo_func *f, int i, cel_arena *arena) {
  cel_param p = {.kind = CEL_PARAM_INPUT, .type = f->body->args[i]->type, .shard = -1, .alias_result = -1};
  static const struct {
    const char *key;
    cel_param_kind kind;
  } kinds[] = {{"mlxcel.weight", CEL_PARAM_WEIGHT}, {"mlxcel.input", CEL_PARAM_INPUT}, {"mlxcel.state", CEL_PARAM_STATE}};
  cel_hlo_attr **attrs = f->arg_attrs ? f->arg_attrs[i] : NULL;
  for (; attrs && *attrs; attrs++) {
    const cel_hlo_attr *a = *attrs;
    if (!strcmp(a->name, "tf.aliasing_output") && a->kind == CEL_HLO_ATTR_INT) p.alias_result = (int)a->i;
    if (!strcmp(a->name, "mlxcel.shard") && a->kind == CEL_HLO_ATTR_INT && a->i < p.type->rank) p.shard = (int)a->i;
    for (int k = 0; k < CEL_COUNT(kinds); k++) {
      if (a->kind != CEL_HLO_ATTR_STRING || strcmp(a->name, kinds[k].key) != 0) continue;
      p.kind = kinds[k].kind;
      p.name = a->s;
    }
  }
  if (!p.name) p.name = cel_arena_printf(arena, "arg%d", i);
  return p;
}

static cel_status check_param(const cel_hlo_func *f, const cel_param *p, cel_err *err) {
  if (!p->name) return cel_fail_oom(err, "a parameter's name");
  if (p->kind != CEL_PARAM_STATE) return CEL_OK;
  if (p->alias_result < 0 || p->alias_result >= f->n_results || f->result_types[p->alias_result] != p->type) {
    return cel_fail(err, CEL_MALFORMED, "state %s of @%s needs tf.aliasing_output = the index of a result of its type",
                    p->name, f->name);
  }
  return CEL_OK;
}

cel_status cel_program_new(cel_hlo_module *module, const char *entry, cel_program **out, cel_err *err) {
  *out = NULL;
  cel_program *p = calloc(1, sizeof *p);
  if (!p) {
    cel_hlo_module_free(module);
    return cel_fail_oom(err, "a program");
  }
  p->module = module;
  p->entry = find_entry(module, entry, err);
  cel_status s = p->entry ? CEL_OK : err ? err->status : CEL_INVALID;
  if (s == CEL_OK && p->entry->is_declaration) s = cel_fail(err, CEL_INVALID, "@%s has no body", p->entry->name);
  if (s == CEL_OK) {
    p->n_params = p->entry->body->n_args;
    p->n_results = p->entry->n_results;
    p->params = CEL_NEW_ARRAY(&module->arena, cel_param, p->n_params);
    if (!p->params) s = cel_fail_oom(err, "a program's signature");
  }
  for (int i = 0; s == CEL_OK && i < p->n_params; i++) {
    p->params[i] = read_param(p->entry, i, &module->arena);
    s = check_param(p->entry, &p->params[i], err);
  }
  if (s != CEL_OK) {
    cel_program_free(p);
    return s;
  }
  *out = p;
  return CEL_OK;
}

void cel_program_free(cel_program *p) {
  if (!p) return;
  cel_hlo_module_free(p->module);
  free(p);
}

int cel_program_param(const cel_program *p, const char *name) {
  for (int i = 0; i < p->n_params; i++) {
    if (!strcmp(p->params[i].name, name)) return i;
  }
  return -1;
}
