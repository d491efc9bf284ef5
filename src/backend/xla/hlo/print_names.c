// Names of values, unique within what a use can see.
#include <stdio.h>
#include <string.h>

#include "backend/xla/hlo/print.h"

typedef struct used {
  const char *name;
  uint64_t hash;
  struct used *next;    // in its bucket
  struct used *before;  // the one inserted before it
} used;

typedef struct namer {
  cel_print *p;
  used **buckets;  // [cap], a power of two
  size_t cap;
  used *last;      // newest first: a scope is left by taking off what came in it
  int next_value, next_arg, next_conflict;
} namer;

static uint64_t hash_of(const char *s) {
  uint64_t h = 0xCBF29CE484222325u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001B3u;
  return h ^ h >> 32;
}

static bool taken(const namer *n, const char *name) {
  uint64_t h = hash_of(name);
  for (used *u = n->buckets[h & (n->cap - 1)]; u; u = u->next)
    if (u->hash == h && strcmp(u->name, name) == 0) return true;
  return false;
}

static void take(namer *n, const char *name) {
  used *u = CEL_NEW(&n->p->scratch, used);
  if (!u) {
    n->p->failed = true;
    return;
  }
  uint64_t h = hash_of(name);
  used **bucket = &n->buckets[h & (n->cap - 1)];
  *u = (used){name, h, *bucket, n->last};
  *bucket = u;
  n->last = u;
}

static void leave_scope(namer *n, used *mark) {
  for (; n->last != mark; n->last = n->last->before) n->buckets[n->last->hash & (n->cap - 1)] = n->last->next;
}

static bool plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '.' || c == '-';
}

// A name MLIR's lexer takes: other characters become '_', a leading digit gets one in front.
static const char *clean(namer *n, const char *name) {
  bool good = *name && !(*name >= '0' && *name <= '9');
  for (const char *c = name; good && *c; c++) good = plain(*c);
  if (good) return name;
  char *copy = cel_arena_printf(&n->p->scratch, "_%s", name);
  if (!copy) return NULL;
  for (char *c = copy; *c; c++)
    if (!plain(*c)) *c = '_';
  return copy;
}

static void give(namer *n, const cel_hlo_value *v, const char *wanted) {
  const char *base = clean(n, wanted), *name = base;
  while (name && taken(n, name)) name = cel_arena_printf(&n->p->scratch, "%s_%d", base, n->next_conflict++);
  if (!name) {
    n->p->failed = true;
    return;
  }
  take(n, name);
  n->p->names[v->id].text = name;
}

static void name_arg(namer *n, const cel_hlo_value *v) {
  if (v->name) {
    give(n, v, v->name);
    return;
  }
  char text[24];
  do snprintf(text, sizeof text, "arg%d", n->next_arg++);
  while (taken(n, text));
  char *copy = cel_arena_dup(&n->p->scratch, text, strlen(text));
  if (copy) give(n, v, copy);
  else n->p->failed = true;
}

static void name_result(namer *n, const cel_hlo_value *v, const char *otherwise) {
  const char *name = v->name ? v->name : otherwise;
  if (name) give(n, v, name);
  else n->p->names[v->id].number = n->next_value++;
}

// Two operations whose results MLIR names one by one, with these names.
static const char *result_name(const cel_hlo_op *op, int i) {
  if (op->opcode == CEL_HLO_RNG_BIT_GENERATOR) return i ? "output" : "output_state";
  if (op->opcode == CEL_HLO_CHLO_TOP_K) return i ? "indices" : "values";
  if (op->opcode != CEL_HLO_CONSTANT || op->results[0].type->kind != CEL_HLO_KIND_TENSOR) return NULL;
  char class = cel_etype_class(op->results[0].type->etype);
  return class == 'F' || class == 'C' ? "cst" : "c";
}

static void name_results(namer *n, const cel_hlo_op *op) {
  if (op->n_results == 0) return;
  bool spread = op->n_results == 1 || (!op->results[0].name && result_name(op, 0));
  for (int i = 1; i < op->n_results; i++) spread = spread || op->results[i].name;
  n->p->names[op->results[0].id].grouped = !spread;
  for (int i = 0; i < (spread ? op->n_results : 1); i++)
    name_result(n, &op->results[i], spread ? result_name(op, i) : NULL);
}

static void name_block(namer *n, const cel_hlo_block *b);

// The regions of a while carry one list of names: the body's arguments are called as the condition's, which
// come out the same because both regions start from the same names and counters.
static const char *while_arg_name(const cel_hlo_op *op, int k) {
  const cel_hlo_block *cond = op->regions[0];
  return cond && k < cond->n_args && cond->args[k]->name ? cond->args[k]->name : "iterArg";
}

static void name_region(namer *n, const cel_hlo_op *op, int i) {
  const cel_hlo_block *b = op->regions[i];
  if (!b) return;
  namer outer = *n;
  for (int k = 0; k < b->n_args; k++) {
    if (op->opcode == CEL_HLO_WHILE) give(n, b->args[k], while_arg_name(op, k));
    else name_arg(n, b->args[k]);
  }
  name_block(n, b);
  leave_scope(n, outer.last);
  n->next_value = outer.next_value;
  n->next_arg = outer.next_arg;
  n->next_conflict = outer.next_conflict;
}

static void name_block(namer *n, const cel_hlo_block *b) {
  for (const cel_hlo_op *op = b->first; op; op = op->next) name_results(n, op);
  for (const cel_hlo_op *op = b->first; op; op = op->next)
    for (int i = 0; i < op->n_regions; i++) name_region(n, op, i);
}

bool cel_print_name_values(cel_print *p, const cel_hlo_func *f) {
  namer n = {.p = p, .cap = 16};
  while (n.cap < (size_t)f->n_values) n.cap *= 2;
  p->n_names = f->n_values;
  p->names = CEL_NEW_ARRAY(&p->scratch, cel_print_name, f->n_values);
  n.buckets = CEL_NEW_ARRAY(&p->scratch, used *, n.cap);
  if (!p->names || !n.buckets) return false;
  if (f->body) {
    for (int i = 0; i < f->body->n_args; i++) name_arg(&n, f->body->args[i]);
    name_block(&n, f->body);
  }
  return !p->failed;
}

// A module nobody verified may use a value of another function: it has no name here.
static const cel_print_name *name_of(const cel_print *p, const cel_hlo_value *v) {
  static const cel_print_name none = {.text = "not_of_this_function"};
  return v->id >= 0 && v->id < p->n_names ? &p->names[v->id] : &none;
}

void cel_print_value_name(cel_print *p, const cel_hlo_value *v) {
  const cel_print_name *name = name_of(p, v);
  cel_buf_addc(p->out, '%');
  if (name->text) cel_buf_addz(p->out, name->text);
  else cel_print_int(p->out, name->number);
}

void cel_print_value(cel_print *p, const cel_hlo_value *v) {
  if (!v->def || !name_of(p, &v->def->results[0])->grouped) {
    cel_print_value_name(p, v);
    return;
  }
  cel_print_value_name(p, &v->def->results[0]);
  cel_buf_addc(p->out, '#');
  cel_print_int(p->out, v->index);
}

void cel_print_results(cel_print *p, const cel_hlo_op *op) {
  bool grouped = op->n_results && p->names[op->results[0].id].grouped;
  for (int i = 0; i < (grouped ? 1 : op->n_results); i++) {
    if (i) cel_buf_addz(p->out, ", ");
    cel_print_value_name(p, &op->results[i]);
  }
  if (grouped) cel_buf_printf(p->out, ":%d", op->n_results);
  if (op->n_results) cel_buf_addz(p->out, " = ");
}
