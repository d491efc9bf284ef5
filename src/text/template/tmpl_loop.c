// The for statement and its `loop`. Items are pulled one at a time, filter and all, so that a condition sees what
// the body has changed meanwhile; loop.last and its like look one item ahead.
#include "text/template/tmpl_render.h"

static const cel_tval missing = {.kind = CEL_T_MISSING};

// The next item that passes the loop's condition.
static cel_status pull(cel_trender *r, cel_tloop *loop, cel_tval *out) {
  cel_tval test;
  for (;;) {
    CEL_TRY(cel_twalk_next(r, loop->walk, out));
    if (!cel_tgiven(*out) || !loop->node->c) return CEL_OK;
    cel_tframe *inside = r->frame;
    CEL_TRY(cel_tframe_new(r, loop->frame, &r->frame));
    CEL_TRY(cel_tassign(r, loop->node->a, *out));
    CEL_TRY(cel_teval(r, loop->node->c, &test));
    r->frame = inside;
    if (cel_ttruth(r, test)) return CEL_OK;
  }
}

static cel_status peek(cel_trender *r, cel_tloop *loop) {
  return cel_tgiven(loop->after) ? CEL_OK : pull(r, loop, &loop->after);
}

static cel_status advance(cel_trender *r, cel_tloop *loop, cel_tval *out) {
  *out = loop->after;
  loop->after = missing;
  if (!cel_tgiven(*out)) CEL_TRY(pull(r, loop, out));
  loop->index0++;
  loop->before = loop->current;
  loop->current = *out;
  return CEL_OK;
}

// Without a known length the rest is pulled to count it.
cel_status cel_tloop_length(cel_trender *r, cel_tloop *loop, int64_t *out) {
  if (loop->length < 0) {
    cel_tgrow rest = {0};
    cel_tval item, list;
    for (;;) {
      CEL_TRY(pull(r, loop, &item));
      if (!cel_tgiven(item)) break;
      CEL_TRY(cel_tgrow_add(r, &rest, item));
    }
    CEL_TRY(cel_tgrow_list(r, &rest, CEL_T_LIST, &list));
    CEL_TRY(cel_twalk_begin(r, list, loop->walk));
    loop->length = rest.n + loop->index0 + 1 + cel_tgiven(loop->after);
    // what was pulled has passed the condition already
    cel_tnode *plain = CEL_TNEW(r, cel_tnode, 1);
    if (!plain) return r->failed;
    *plain = *loop->node;
    plain->c = NULL;
    loop->node = plain;
  }
  *out = loop->length;
  return CEL_OK;
}

static cel_status loop_method(cel_trender *r, cel_tloop *loop, const struct cel_tmethod_row *row, cel_tval *out) {
  cel_tmethod *m = CEL_TNEW(r, cel_tmethod, 1);
  if (!m) return r->failed;
  *m = (cel_tmethod){{.kind = CEL_T_LOOP, .as.loop = loop}, row};
  *out = (cel_tval){.kind = CEL_T_METHOD, .as.method = m};
  return CEL_OK;
}

cel_status cel_tloop_attr(cel_trender *r, cel_tloop *loop, cel_str name, cel_tval *out) {
  static const struct cel_tmethod_row cycle = {"cycle", "*", cel_tloop_cycle}, changed = {"changed", "*", cel_tloop_changed};
  int64_t n;
  if (cel_str_is(name, "index")) *out = cel_tint(loop->index0 + 1);
  if (cel_str_is(name, "index0")) *out = cel_tint(loop->index0);
  if (cel_str_is(name, "first")) *out = cel_tbool(loop->index0 == 0);
  if (cel_str_is(name, "depth")) *out = cel_tint(loop->depth0 + 1);
  if (cel_str_is(name, "depth0")) *out = cel_tint(loop->depth0);
  if (cel_str_is(name, "previtem")) {
    *out = loop->index0 == 0 ? cel_tundefined("there is no previous item") : loop->before;
  }
  if (cel_str_is(name, "last") || cel_str_is(name, "nextitem")) {
    CEL_TRY(peek(r, loop));
    bool last = !cel_tgiven(loop->after);
    *out = cel_str_is(name, "last") ? cel_tbool(last) : last ? cel_tundefined("there is no next item") : loop->after;
  }
  if (cel_str_is(name, "length") || cel_str_is(name, "revindex") || cel_str_is(name, "revindex0")) {
    CEL_TRY(cel_tloop_length(r, loop, &n));
    *out = cel_tint(cel_str_is(name, "length") ? n : n - loop->index0 - cel_str_is(name, "revindex0"));
  }
  if (cel_str_is(name, "cycle")) return loop_method(r, loop, &cycle, out);
  return cel_str_is(name, "changed") ? loop_method(r, loop, &changed, out) : CEL_OK;
}

cel_status cel_tloop_cycle(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  if (!c->args->n) return cel_tfail(r, "loop.cycle() needs values to choose from");
  *out = c->args->pos[c->self.as.loop->index0 % c->args->n];
  return CEL_OK;
}

cel_status cel_tloop_changed(cel_trender *r, const cel_tcallee *c, cel_tval *out) {
  cel_tloop *loop = c->self.as.loop;
  cel_tlist *now;
  bool same = false;
  CEL_TRY(cel_tlist_new(r, c->args->n, &now));
  for (int i = 0; i < c->args->n; i++) now->at[i] = c->args->pos[i];
  cel_tval v = cel_tseq(CEL_T_TUPLE, now);
  if (cel_tgiven(loop->changed)) CEL_TRY(cel_tequal(r, loop->changed, v, &same));
  if (!same) loop->changed = v;
  *out = cel_tbool(!same);
  return CEL_OK;
}

// One turn's scope: a fresh one, or the last turn's when nothing refers to it.
static cel_status turn_frame(cel_trender *r, cel_tframe *outer, cel_tframe **frame) {
  if (!*frame || (*frame)->kept) return cel_tframe_new(r, outer, frame);
  (*frame)->n = 0;
  return CEL_OK;
}

static cel_status run_turns(cel_trender *r, cel_tloop *loop, const cel_tnode *n, bool *any) {
  cel_tframe *frame = NULL;
  cel_tval item, self = {.kind = CEL_T_LOOP, .as.loop = loop};
  for (;;) {
    r->at = n;
    CEL_TRY(advance(r, loop, &item));
    if (!cel_tgiven(item)) return CEL_OK;
    CEL_TRY(turn_frame(r, loop->frame, &frame));
    r->frame = frame;
    CEL_TRY(cel_tset_var(r, frame, CEL_NAME_LOOP, self));
    CEL_TRY(cel_tassign(r, n->a, item));
    CEL_TRY(cel_texec(r, n->items[0]));
    r->frame = loop->frame;
    cel_tflow flow = r->flow;
    r->flow = CEL_FLOW_ON;
    *any |= flow == CEL_FLOW_ON;  // else also follows when no turn reached its end, as in jinja2
    if (flow == CEL_FLOW_BREAK) return CEL_OK;
  }
}

static cel_status run_loop(cel_trender *r, const cel_tnode *n, cel_tval items, int64_t depth0) {
  bool any = false;
  cel_tloop *loop = CEL_TNEW(r, cel_tloop, 1);
  cel_twalk *walk = CEL_TNEW(r, cel_twalk, 1);
  if (!loop || !walk) return r->failed;
  r->at = n;
  CEL_TRY(cel_twalk_begin(r, items, walk));
  *loop = (cel_tloop){.walk = walk, .length = -1, .node = n, .index0 = -1, .depth0 = depth0, .frame = r->frame};
  if (!n->c && items.kind != CEL_T_ITER) CEL_TRY(cel_tlength(r, items, &loop->length));
  CEL_TRY(run_turns(r, loop, n, &any));
  return !any && n->n_items > 1 ? cel_texec(r, n->items[1]) : CEL_OK;
}

cel_status cel_texec_for(cel_trender *r, const cel_tnode *n) {
  cel_tval items;
  CEL_TRY(cel_teval(r, n->b, &items));
  return run_loop(r, n, items, 0);
}

cel_status cel_tcall_loop(cel_trender *r, cel_tloop *loop, const cel_targs *args, cel_tval *out) {
  if (!loop->node->flag) return cel_tfail(r, "only a loop marked \"recursive\" can be called");
  if (args->n != 1 || args->n_kw) return cel_tfail(r, "a recursive loop is called with one iterable");
  cel_tframe *calling = r->frame;
  r->frame = loop->frame;
  CEL_TRY(cel_ttext_begin(r));
  CEL_TRY(run_loop(r, loop->node, args->pos[0], loop->depth0 + 1));
  CEL_TRY(cel_ttext_end(r, out));
  r->frame = calling;
  return CEL_OK;
}
