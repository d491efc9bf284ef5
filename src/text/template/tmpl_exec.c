// Statements, scopes and macros.
#include "text/template/tmpl_render.h"

// ---- scopes ----

cel_status cel_tframe_new(cel_trender *r, cel_tframe *outer, cel_tframe **out) {
  cel_tframe *f = CEL_TNEW(r, cel_tframe, 1);
  if (!f) return r->failed;
  f->outer = outer;
  *out = f;
  return CEL_OK;
}

cel_status cel_tset_var(cel_trender *r, cel_tframe *f, uint32_t name, cel_tval v) {
  for (int i = 0; i < f->n; i++) {
    if (f->vars[i].name != name) continue;
    f->vars[i].value = v;
    return CEL_OK;
  }
  if (f->n == f->cap) {
    int cap = f->cap ? f->cap * 2 : 4;
    cel_tvar *more = CEL_TNEW(r, cel_tvar, cap);
    if (!more) return r->failed;
    if (f->n) memcpy(more, f->vars, (size_t)f->n * sizeof *more);
    f->vars = more, f->cap = cap;
  }
  f->vars[f->n++] = (cel_tvar){name, v};
  return cel_tcharge(r, f->n);
}

cel_tval cel_tget_var(cel_trender *r, uint32_t name) {
  for (const cel_tframe *f = r->frame; f; f = f->outer) {
    for (int i = 0; i < f->n; i++) {
      if (f->vars[i].name == name) return f->vars[i].value;
    }
  }
  return r->globals[name];
}

static cel_status push_frame(cel_trender *r) { return cel_tframe_new(r, r->frame, &r->frame); }
static void pop_frame(cel_trender *r) { r->frame = r->frame->outer; }

// ---- assignment ----

static cel_status assign_tuple(cel_trender *r, const cel_tnode *target, cel_tval v) {
  cel_tlist *l;
  r->at = target;
  CEL_TRY(cel_tcollect(r, v, &l));
  if (l->n != target->n_items) {
    return cel_tfail(r, "%lld values for %d names", (long long)l->n, target->n_items);
  }
  for (int i = 0; i < target->n_items; i++) CEL_TRY(cel_tassign(r, target->items[i], l->at[i]));
  return CEL_OK;
}

static cel_status assign_namespace(cel_trender *r, const cel_tnode *target, cel_tval v) {
  cel_tval ns = cel_tget_var(r, target->name);
  r->at = target;
  if (ns.kind != CEL_T_NAMESPACE) return cel_tfail(r, "only the attributes of a namespace can be set, this is %s", cel_ttype(ns));
  if (target->value.n && target->value.as.s[0] == '_') return cel_tfail(r, "attributes of a namespace may not begin with \"_\"");
  return cel_tdict_set(r, ns.as.dict, target->value, v);
}

cel_status cel_tassign(cel_trender *r, const cel_tnode *target, cel_tval v) {
  if (target->kind == CEL_N_NAME) return cel_tset_var(r, r->frame, target->name, v);
  return target->kind == CEL_N_TUPLE ? assign_tuple(r, target, v) : assign_namespace(r, target, v);
}

// ---- macros ----

static cel_status macro_value(cel_trender *r, const cel_tnode_macro *node, cel_tval *out) {
  cel_tmacro *m = CEL_TNEW(r, cel_tmacro, 1);
  if (!m) return r->failed;
  m->node = node, m->frame = r->frame;
  for (cel_tframe *f = r->frame; f && !f->kept; f = f->outer) f->kept = true;
  *out = (cel_tval){.kind = CEL_T_MACRO, .as.macro = m};
  return CEL_OK;
}

static int find_param(const cel_tnode_macro *m, cel_str name) {
  for (int i = 0; i < m->n_params; i++) {
    if (cel_str_eq(m->param_names[i], name)) return i;
  }
  return -1;
}

// Keywords that are no parameters: the caller, and **kwargs when the macro looks at them.
static cel_status extra_keywords(cel_trender *r, const cel_tnode_macro *m, const cel_targs *args, cel_tdict *rest,
                                 cel_tval *given, cel_tval *caller) {
  for (int i = 0; i < args->n_kw; i++) {
    cel_str name = cel_tview_str(args->kw[i].key);
    int p = find_param(m, name);
    if (p >= 0) {
      if (cel_tgiven(given[p])) return cel_tfail(r, "macro %.*s: \"%.*s\" is given twice", CEL_STR_ARG(m->name), CEL_STR_ARG(name));
      given[p] = args->kw[i].value;
    } else if (m->uses_caller && cel_str_is(name, "caller")) {
      *caller = args->kw[i].value;
    } else if (m->uses_kwargs) {
      CEL_TRY(cel_tdict_set(r, rest, args->kw[i].key, args->kw[i].value));
    } else {
      return cel_tfail(r, "macro %.*s has no parameter \"%.*s\"", CEL_STR_ARG(m->name), CEL_STR_ARG(name));
    }
  }
  return CEL_OK;
}

static cel_status bind_varargs(cel_trender *r, const cel_tnode_macro *m, const cel_targs *args) {
  int n = args->n > m->n_params ? args->n - m->n_params : 0;
  if (!m->uses_varargs) {
    if (!n) return CEL_OK;
    return cel_tfail(r, "macro %.*s takes %d arguments, %d were given", CEL_STR_ARG(m->name), m->n_params, args->n);
  }
  cel_tlist *l;
  CEL_TRY(cel_tlist_new(r, n, &l));
  for (int i = 0; i < n; i++) l->at[i] = args->pos[m->n_params + i];
  return cel_tset_var(r, r->frame, CEL_NAME_VARARGS, cel_tseq(CEL_T_TUPLE, l));
}

// Sets the parameters in the new frame, defaults seeing those before them.
static cel_status bind_macro(cel_trender *r, const cel_tnode_macro *m, const cel_targs *args) {
  cel_tval *given = CEL_TNEW(r, cel_tval, m->n_params), caller = {.kind = CEL_T_MISSING};  // all MISSING
  cel_tdict *rest;
  if (!given) return r->failed;
  CEL_TRY(cel_tdict_new(r, 0, &rest));
  for (int i = 0; i < m->n_params && i < args->n; i++) given[i] = args->pos[i];
  CEL_TRY(extra_keywords(r, m, args, rest, given, &caller));
  CEL_TRY(bind_varargs(r, m, args));
  if (m->uses_kwargs) CEL_TRY(cel_tset_var(r, r->frame, CEL_NAME_KWARGS, cel_tdictv(rest)));
  if (m->uses_caller && find_param(m, CEL_STR("caller")) < 0) {
    if (!cel_tgiven(caller)) caller = cel_tundefined("no caller is defined: the macro was not called by a call block");
    CEL_TRY(cel_tset_var(r, r->frame, CEL_NAME_CALLER, caller));
  }
  for (int i = 0; i < m->n_params; i++) {
    if (!cel_tgiven(given[i]) && m->defaults[i]) CEL_TRY(cel_teval(r, m->defaults[i], &given[i]));
    if (!cel_tgiven(given[i])) {
      CEL_TRY(cel_tprintf_str(r, &given[i], "parameter \"%.*s\" was not provided", CEL_STR_ARG(m->param_names[i])));
      given[i].kind = CEL_T_UNDEFINED;
    }
    CEL_TRY(cel_tset_var(r, r->frame, m->params[i], given[i]));
  }
  return CEL_OK;
}

cel_status cel_tcall_macro(cel_trender *r, const cel_tmacro *m, const cel_targs *args, cel_tval *out) {
  cel_tframe *calling = r->frame;
  CEL_TRY(cel_tenter(r));
  CEL_TRY(cel_tframe_new(r, m->frame, &r->frame));
  CEL_TRY(bind_macro(r, m->node, args));
  CEL_TRY(cel_ttext_begin(r));
  CEL_TRY(cel_texec(r, m->node->body));
  CEL_TRY(cel_ttext_end(r, out));
  r->frame = calling;
  cel_tleave(r);
  return CEL_OK;
}

static cel_status exec_call_block(cel_trender *r, const cel_tnode *n) {
  cel_tval callee, out;
  cel_targs args;
  const cel_tnode *call = n->a;
  CEL_TRY(cel_teval(r, call->a, &callee));
  CEL_TRY(cel_teval_args(r, call->args, &args));
  cel_tpair *kw = CEL_TNEW(r, cel_tpair, args.n_kw + 1);
  if (!kw) return r->failed;
  for (int i = 0; i < args.n_kw; i++) kw[i] = args.kw[i];
  kw[args.n_kw].key = cel_tstrz("caller");
  CEL_TRY(macro_value(r, n->macro, &kw[args.n_kw].value));
  args.kw = kw, args.n_kw++;
  r->at = n;
  CEL_TRY(cel_tcall(r, callee, &args, &out));
  return cel_tput_str(r, out);
}

// ---- blocks of text ----

// The body's text, in a scope of its own.
static cel_status capture(cel_trender *r, const cel_tnode *body, cel_tval *out) {
  CEL_TRY(push_frame(r));
  CEL_TRY(cel_ttext_begin(r));
  CEL_TRY(cel_texec(r, body));
  CEL_TRY(cel_ttext_end(r, out));
  pop_frame(r);
  return CEL_OK;
}

// The filters of a chain whose innermost subject is `text`.
static cel_status filter_text(cel_trender *r, const cel_tnode *filter, cel_tval text, cel_tval *out) {
  cel_targs args;
  CEL_TRY(cel_tenter(r));
  if (filter->a) CEL_TRY(filter_text(r, filter->a, text, &text));
  CEL_TRY(cel_teval_args(r, filter->args, &args));
  r->at = filter;
  cel_tleave(r);
  return cel_tfilter(r, cel_tview_str(filter->value), text, &args, out);
}

static cel_status exec_set_block(cel_trender *r, const cel_tnode *n) {
  cel_tval text;
  CEL_TRY(capture(r, n->c, &text));
  if (r->flow != CEL_FLOW_ON) return CEL_OK;
  if (n->b) CEL_TRY(filter_text(r, n->b, text, &text));
  return cel_tassign(r, n->a, text);
}

static cel_status exec_filter_block(cel_trender *r, const cel_tnode *n) {
  cel_tval text;
  CEL_TRY(capture(r, n->b, &text));
  if (r->flow != CEL_FLOW_ON) return CEL_OK;
  CEL_TRY(filter_text(r, n->a, text, &text));
  return cel_tput_str(r, text);
}

static cel_status exec_with(cel_trender *r, const cel_tnode *n) {
  int last = n->n_items - 1;
  cel_tval *values = CEL_TNEW(r, cel_tval, n->n_items);
  if (!values) return r->failed;
  for (int i = 0; i < last; i += 2) CEL_TRY(cel_teval(r, n->items[i + 1], &values[i]));  // all before any is set
  CEL_TRY(push_frame(r));
  for (int i = 0; i < last; i += 2) CEL_TRY(cel_tassign(r, n->items[i], values[i]));
  CEL_TRY(cel_texec(r, n->items[last]));
  pop_frame(r);
  return CEL_OK;
}

static cel_status exec_scope(cel_trender *r, const cel_tnode *n) {
  cel_tframe *outside = r->frame;
  CEL_TRY(cel_tframe_new(r, n->kind == CEL_N_BLOCK ? r->top : outside, &r->frame));
  CEL_TRY(cel_texec(r, n->a));
  r->frame = outside;
  return CEL_OK;
}



static cel_status exec_if(cel_trender *r, const cel_tnode *n) {
  cel_tval test;
  for (int i = 0; i + 1 < n->n_items; i += 2) {
    CEL_TRY(cel_teval(r, n->items[i], &test));
    if (cel_ttruth(r, test)) return cel_texec(r, n->items[i + 1]);
  }
  return n->n_items & 1 ? cel_texec(r, n->items[n->n_items - 1]) : CEL_OK;
}

static cel_status exec_set(cel_trender *r, const cel_tnode *n) {
  cel_tval v;
  CEL_TRY(cel_teval(r, n->b, &v));
  return cel_tassign(r, n->a, v);
}

static cel_status exec_macro(cel_trender *r, const cel_tnode *n) {
  cel_tval v;
  CEL_TRY(macro_value(r, n->macro, &v));
  return cel_tset_var(r, r->frame, n->macro->name_id, v);
}

static cel_status exec_print(cel_trender *r, const cel_tnode *n) {
  cel_tval v;
  CEL_TRY(cel_teval(r, n->a, &v));
  r->at = n;
  return cel_tput_str(r, v);
}

static cel_status exec_body(cel_trender *r, const cel_tnode *n) {
  for (int i = 0; i < n->n_items && r->flow == CEL_FLOW_ON; i++) CEL_TRY(cel_texec(r, n->items[i]));
  return CEL_OK;
}

static cel_status exec_inner(cel_trender *r, const cel_tnode *n) {
  switch (n->kind) {
    case CEL_N_DATA: return cel_tput(r, n->value.as.s, n->value.n);
    case CEL_N_PRINT: return exec_print(r, n);
    case CEL_N_IF: return exec_if(r, n);
    case CEL_N_FOR: return cel_texec_for(r, n);
    case CEL_N_SET: return exec_set(r, n);
    case CEL_N_SET_BLOCK: return exec_set_block(r, n);
    case CEL_N_MACRO: return exec_macro(r, n);
    case CEL_N_CALL_BLOCK: return exec_call_block(r, n);
    case CEL_N_FILTER_BLOCK: return exec_filter_block(r, n);
    case CEL_N_WITH: return exec_with(r, n);
    case CEL_N_SCOPE:
    case CEL_N_BLOCK: return exec_scope(r, n);
    case CEL_N_BODY: return exec_body(r, n);
    case CEL_N_BREAK: r->flow = CEL_FLOW_BREAK; return CEL_OK;
    case CEL_N_CONTINUE: r->flow = CEL_FLOW_CONTINUE; return CEL_OK;
    default: return cel_tfail(r, "%.*s", CEL_STR_ARG(cel_tview_str(n->value)));
  }
}

cel_status cel_texec(cel_trender *r, const cel_tnode *n) {
  r->at = n;
  CEL_TRY(cel_tcharge(r, 1));
  CEL_TRY(cel_tenter(r));
  CEL_TRY(exec_inner(r, n));
  cel_tleave(r);
  return CEL_OK;
}
