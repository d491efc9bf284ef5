// Calls and composites: who is called, with what, and that no chain of calls closes.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/verify.h"

static const cel_hlo_attr *callee_of(const cel_hlo_op *op) {
  if (op->opcode == CEL_HLO_CALL) return cel_hlo_find_attr(op, "callee");
  if (op->opcode == CEL_HLO_COMPOSITE) return cel_hlo_find_attr(op, "decomposition");
  return NULL;
}

static cel_status differ(cel_verify *v, const cel_hlo_op *op, const char *what, int i, const cel_hlo_type *got,
                         const cel_hlo_func *f, const cel_hlo_type *want) {
  char a[160], b[160];
  cel_hlo_type_text(got, a, sizeof a);
  cel_hlo_type_text(want, b, sizeof b);
  return cel_verify_fail(v, op, "%s %d is %s, @%.100s says %s", what, i, a, f->name, b);
}

cel_status cel_verify_call(cel_verify *v, const cel_hlo_op *op) {
  const cel_hlo_attr *callee = callee_of(op);
  const cel_hlo_func *f = callee && callee->s ? cel_hlo_find_func(v->m, callee->s) : NULL;
  if (!f) return cel_verify_fail(v, op, "there is no function @%.100s", callee && callee->s ? callee->s : "");
  int n_args = f->body ? f->body->n_args : 0;
  if (op->n_operands != n_args || op->n_results != f->n_results)
    return cel_verify_fail(v, op, "%d arguments and %d results, @%.100s has %d and %d", op->n_operands, op->n_results,
                           f->name, n_args, f->n_results);
  for (int i = 0; i < n_args; i++)
    if (!cel_hlo_type_equal(op->operands[i]->type, f->body->args[i]->type))
      return differ(v, op, "argument", i, op->operands[i]->type, f, f->body->args[i]->type);
  for (int i = 0; i < f->n_results; i++)
    if (!cel_hlo_type_equal(op->results[i].type, f->result_types[i]))
      return differ(v, op, "result", i, op->results[i].type, f, f->result_types[i]);
  return CEL_OK;
}

// ---- recursion ---------------------------------------------------------------------------------

// The graph of calls: functions by number, the callees of function i in to[first[i] .. first[i+1]).
typedef struct graph {
  const cel_hlo_func **funcs;   // [n] in the module's order
  const cel_hlo_func **sorted;  // [n] by address
  int *number;                  // [n] of sorted[i]
  int n;
  int *first, *to;  // [n + 1], [n_edges]
  int n_edges;
} graph;

static int by_address(const void *a, const void *b) {
  uintptr_t x = (uintptr_t)*(const cel_hlo_func *const *)a, y = (uintptr_t)*(const cel_hlo_func *const *)b;
  return (x > y) - (x < y);
}

static int number_of(const graph *g, const cel_hlo_func *f) {
  const cel_hlo_func **at = bsearch(&f, g->sorted, (size_t)g->n, sizeof *g->sorted, by_address);
  return at ? g->number[at - g->sorted] : -1;
}

// Counts the calls of a block, and writes them down when g->to is there.
static void walk_calls(const cel_verify *v, graph *g, const cel_hlo_block *b) {
  for (const cel_hlo_op *op = b->first; op; op = op->next) {
    const cel_hlo_attr *callee = callee_of(op);
    const cel_hlo_func *f = callee && callee->s ? cel_hlo_find_func(v->m, callee->s) : NULL;
    if (f) {
      if (g->to) g->to[g->n_edges] = number_of(g, f);
      g->n_edges++;
    }
    for (int i = 0; i < op->n_regions; i++)
      if (op->regions[i]) walk_calls(v, g, op->regions[i]);
  }
}

static void walk_funcs(const cel_verify *v, graph *g) {
  g->n_edges = 0;
  for (int i = 0; i < g->n; i++) {
    g->first[i] = g->n_edges;
    if (g->funcs[i]->body) walk_calls(v, g, g->funcs[i]->body);
  }
  g->first[g->n] = g->n_edges;
}

static bool make_graph(const cel_verify *v, graph *g) {
  cel_arena *arena = &v->scratch->arena;
  for (const cel_hlo_func *f = v->m->first_func; f; f = f->next) g->n++;
  g->funcs = CEL_NEW_ARRAY(arena, const cel_hlo_func *, g->n);
  g->sorted = CEL_NEW_ARRAY(arena, const cel_hlo_func *, g->n);
  g->number = CEL_NEW_ARRAY(arena, int, g->n);
  g->first = CEL_NEW_ARRAY(arena, int, g->n + (int64_t)1);
  if (!g->funcs || !g->sorted || !g->number || !g->first) return false;
  int n = 0;
  for (const cel_hlo_func *f = v->m->first_func; f; f = f->next) g->funcs[n] = g->sorted[n] = f, n++;
  if (n) qsort(g->sorted, (size_t)n, sizeof *g->sorted, by_address);
  for (int i = 0; i < n; i++) {
    const cel_hlo_func **at = bsearch(&g->funcs[i], g->sorted, (size_t)n, sizeof *g->sorted, by_address);
    g->number[at - g->sorted] = i;
  }
  walk_funcs(v, g);
  g->to = CEL_NEW_ARRAY(arena, int, g->n_edges);
  if (!g->to) return false;
  walk_funcs(v, g);
  return true;
}

// Takes away functions that call nobody who is left, until nothing changes; `left` counts open calls. With
// callers by callee this is linear; returns how many functions remain, all of them calling a remaining one.
static int take_leaves(cel_arena *arena, const graph *g, int *left) {
  int *first = CEL_NEW_ARRAY(arena, int, g->n + (int64_t)2), *from = CEL_NEW_ARRAY(arena, int, g->n_edges);
  int *queue = CEL_NEW_ARRAY(arena, int, g->n), n_queue = 0, done = 0;
  if (!first || !from || !queue) return -1;
  for (int e = 0; e < g->n_edges; e++) first[g->to[e] + 2]++;
  for (int i = 2; i < g->n + 2; i++) first[i] += first[i - 1];
  for (int i = 0; i < g->n; i++)
    for (int e = g->first[i]; e < g->first[i + 1]; e++) from[first[g->to[e] + 1]++] = i;
  for (int i = 0; i < g->n; i++) {
    left[i] = g->first[i + 1] - g->first[i];
    if (left[i] == 0) queue[n_queue++] = i;
  }
  while (done < n_queue) {
    int callee = queue[done++];
    for (int e = first[callee]; e < first[callee + 1]; e++)
      if (--left[from[e]] == 0) queue[n_queue++] = from[e];
  }
  return g->n - n_queue;
}

cel_status cel_verify_recursion(cel_verify *v) {
  graph g = {0};
  int *left = NULL, rest = -1;
  if (make_graph(v, &g) && (left = CEL_NEW_ARRAY(&v->scratch->arena, int, g.n)))
    rest = take_leaves(&v->scratch->arena, &g, left);
  if (rest < 0) return cel_fail_oom(v->err, "verifying a StableHLO module");
  if (rest == 0) return CEL_OK;
  int at = 0, caller = 0;
  while (!left[at]) at++;
  for (int steps = 0; steps <= g.n; steps++) {  // after n steps we are on the cycle
    caller = at;
    int e = g.first[at];
    while (!left[g.to[e]]) e++;
    at = g.to[e];
  }
  return cel_verify_fail(v, NULL, "recursion: @%.100s calls @%.100s, which comes back to it",
                         g.funcs[caller]->name, g.funcs[at]->name);
}
