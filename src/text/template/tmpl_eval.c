// Expressions to values.
#include "text/template/tmpl_render.h"

static cel_status eval_list(cel_trender *r, const cel_tnode *n, cel_tkind kind, cel_tval *out) {
  cel_tlist *l;
  CEL_TRY(cel_tlist_new(r, n->n_items, &l));
  for (int i = 0; i < n->n_items; i++) CEL_TRY(cel_teval(r, n->items[i], &l->at[i]));
  *out = cel_tseq(kind, l);
  return CEL_OK;
}

static cel_status eval_dict(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tdict *d;
  CEL_TRY(cel_tdict_new(r, n->n_items / 2, &d));
  for (int i = 0; i < n->n_items; i += 2) {
    cel_tval key, value;
    CEL_TRY(cel_teval(r, n->items[i], &key));
    CEL_TRY(cel_teval(r, n->items[i + 1], &value));
    r->at = n;
    CEL_TRY(cel_tdict_set(r, d, key, value));
  }
  *out = cel_tdictv(d);
  return CEL_OK;
}

static cel_status eval_name(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  *out = cel_tget_var(r, n->name);
  if (cel_tgiven(*out)) return CEL_OK;
  CEL_TRY(cel_tprintf_str(r, out, "\"%.*s\" is undefined", CEL_STR_ARG(cel_tview_str(n->value))));
  *out = (cel_tval){.kind = CEL_T_UNDEFINED, .n = out->n, .as.s = out->as.s};
  return CEL_OK;
}

static cel_status eval_item(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval v, key, part[3];
  CEL_TRY(cel_teval(r, n->a, &v));
  if (n->b->kind != CEL_N_SLICE) {
    CEL_TRY(cel_teval(r, n->b, &key));
    r->at = n;
    return cel_tget_item(r, v, key, out);
  }
  for (int i = 0; i < 3; i++) {
    part[i] = (cel_tval){.kind = CEL_T_MISSING};
    if (n->b->items[i]) CEL_TRY(cel_teval(r, n->b->items[i], &part[i]));
  }
  r->at = n;
  return cel_tget_slice(r, v, part, out);
}

static cel_status eval_compare(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval left, right;
  bool yes = true;
  CEL_TRY(cel_teval(r, n->items[0], &left));
  for (int i = 1; yes && i < n->n_items; i++) {
    CEL_TRY(cel_teval(r, n->items[i], &right));
    r->at = n;
    CEL_TRY(cel_tcompare(r, (cel_top)n->ops[i], left, right, &yes));
    left = right;
  }
  *out = cel_tbool(yes);
  return CEL_OK;
}

static cel_status eval_concat(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval few[8], *parts = few;
  if (n->n_items > 8) {
    parts = CEL_TNEW(r, cel_tval, n->n_items);
    if (!parts) return r->failed;
  }
  for (int i = 0; i < n->n_items; i++) CEL_TRY(cel_teval(r, n->items[i], &parts[i]));
  r->at = n;
  CEL_TRY(cel_ttext_begin(r));
  for (int i = 0; i < n->n_items; i++) CEL_TRY(cel_tput_str(r, parts[i]));
  return cel_ttext_end(r, out);
}

static cel_status add_star(cel_trender *r, const cel_tnode *n, cel_tgrow *pos) {
  cel_tval v, item;
  cel_twalk w;
  CEL_TRY(cel_teval(r, n, &v));
  r->at = n;
  CEL_TRY(cel_twalk_begin(r, v, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) return CEL_OK;
    CEL_TRY(cel_tgrow_add(r, pos, item));
  }
}

static cel_status add_star_star(cel_trender *r, const cel_tnode *n, const cel_tnode_args *a, cel_targs *out) {
  cel_tval v;
  CEL_TRY(cel_teval(r, n, &v));
  r->at = n;
  if (v.kind != CEL_T_DICT) return cel_tfail(r, "** needs a dict, this is %s", cel_ttype(v));
  int64_t more = v.as.dict->n;
  cel_tpair *kw = CEL_TNEW(r, cel_tpair, a->n_kw + more);
  if (!kw) return r->failed;
  for (int i = 0; i < out->n_kw; i++) kw[i] = out->kw[i];
  out->kw = kw;
  for (int64_t i = 0; i < more; i++) {
    const cel_tpair *p = &v.as.dict->at[i];
    if (p->key.kind != CEL_T_STR) return cel_tfail(r, "the names of arguments are strings, not %s", cel_ttype(p->key));
    for (int k = 0; k < out->n_kw; k++) {
      if (cel_str_eq(cel_tview_str(kw[k].key), cel_tview_str(p->key))) return cel_tfail(r, "an argument is given twice");
    }
    CEL_TRY(cel_tcharge(r, 64LL * out->n_kw));
    kw[out->n_kw++] = *p;
  }
  return CEL_OK;
}

cel_status cel_teval_args(cel_trender *r, const cel_tnode_args *a, cel_targs *out) {
  *out = (cel_targs){0};
  if (!a) return CEL_OK;
  cel_tgrow pos = {0};
  if (a->n_pos) {
    pos.at = CEL_TNEW(r, cel_tval, a->n_pos);
    if (!pos.at) return r->failed;
    pos.cap = a->n_pos;
  }
  for (int i = 0; i < a->n_pos; i++) CEL_TRY(cel_teval(r, a->pos[i], &pos.at[pos.n++]));
  if (a->star) CEL_TRY(add_star(r, a->star, &pos));
  if (pos.n > 1 << 20) return cel_tfail_limit(r, "a call with more than %d arguments", 1 << 20);
  out->pos = pos.at, out->n = (int)pos.n;
  if (a->n_kw) {
    out->kw = CEL_TNEW(r, cel_tpair, a->n_kw);
    if (!out->kw) return r->failed;
  }
  for (int i = 0; i < a->n_kw; i++) {
    out->kw[i].key = cel_tstr(a->kw[i].name);
    CEL_TRY(cel_teval(r, a->kw[i].value, &out->kw[i].value));
    out->n_kw++;
  }
  return a->star_star ? add_star_star(r, a->star_star, a, out) : CEL_OK;
}

static cel_status eval_call(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval callee;
  cel_targs args;
  CEL_TRY(cel_teval(r, n->a, &callee));
  CEL_TRY(cel_teval_args(r, n->args, &args));
  r->at = n;
  return cel_tcall(r, callee, &args, out);
}

static cel_status eval_filter(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval v;
  cel_targs args;
  CEL_TRY(cel_teval(r, n->a, &v));
  CEL_TRY(cel_teval_args(r, n->args, &args));
  r->at = n;
  return cel_tfilter(r, cel_tview_str(n->value), v, &args, out);
}

static cel_status eval_test(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval v;
  cel_targs args;
  bool yes;
  CEL_TRY(cel_teval(r, n->a, &v));
  CEL_TRY(cel_teval_args(r, n->args, &args));
  r->at = n;
  CEL_TRY(cel_ttest(r, cel_tview_str(n->value), v, &args, &yes));
  *out = cel_tbool(yes);
  return CEL_OK;
}

static cel_status eval_logic(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  CEL_TRY(cel_teval(r, n->a, out));
  if (n->kind == CEL_N_NOT) {
    *out = cel_tbool(!cel_ttruth(r, *out));
    return CEL_OK;
  }
  return cel_ttruth(r, *out) == (n->kind == CEL_N_AND) ? cel_teval(r, n->b, out) : CEL_OK;
}

static cel_status eval_cond(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  CEL_TRY(cel_teval(r, n->b, out));
  if (cel_ttruth(r, *out)) return cel_teval(r, n->a, out);
  if (n->c) return cel_teval(r, n->c, out);
  *out = cel_tundefined("the inline if has no else, and its condition was false, so the value is undefined");
  return CEL_OK;
}

static cel_status eval_arithmetic(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval a, b;
  CEL_TRY(cel_teval(r, n->a, &a));
  if (n->kind == CEL_N_BINARY) CEL_TRY(cel_teval(r, n->b, &b));
  r->at = n;
  if (n->kind == CEL_N_BINARY) return cel_tbinary(r, (cel_top)n->op, a, b, out);
  if (n->kind == CEL_N_NEG) return cel_tnegate(r, a, out);
  if (a.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, a);
  if (!cel_tis_number(a)) return cel_tfail(r, "unary + does not work on %s", cel_ttype(a));
  *out = a.kind == CEL_T_BOOL ? cel_tint(a.as.b) : a;
  return CEL_OK;
}

static cel_status eval_attr(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  cel_tval v;
  CEL_TRY(cel_teval(r, n->a, &v));
  r->at = n;
  return cel_tget_attr(r, v, cel_tview_str(n->value), out);
}

static cel_status eval_inner(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  switch (n->kind) {
    case CEL_N_CONST: *out = n->value; return CEL_OK;
    case CEL_N_NAME: return eval_name(r, n, out);
    case CEL_N_LIST: return eval_list(r, n, CEL_T_LIST, out);
    case CEL_N_TUPLE: return eval_list(r, n, CEL_T_TUPLE, out);
    case CEL_N_DICT: return eval_dict(r, n, out);
    case CEL_N_ATTR: return eval_attr(r, n, out);
    case CEL_N_ITEM: return eval_item(r, n, out);
    case CEL_N_CALL: return eval_call(r, n, out);
    case CEL_N_FILTER: return eval_filter(r, n, out);
    case CEL_N_TEST: return eval_test(r, n, out);
    case CEL_N_NOT:
    case CEL_N_AND:
    case CEL_N_OR: return eval_logic(r, n, out);
    case CEL_N_COMPARE: return eval_compare(r, n, out);
    case CEL_N_CONCAT: return eval_concat(r, n, out);
    case CEL_N_COND: return eval_cond(r, n, out);
    case CEL_N_NEG:
    case CEL_N_POS:
    case CEL_N_BINARY: return eval_arithmetic(r, n, out);
    default: return cel_tfail(r, "a slice cannot stand in a tuple here");
  }
}

cel_status cel_teval(cel_trender *r, const cel_tnode *n, cel_tval *out) {
  r->at = n;
  CEL_TRY(cel_tcharge(r, 1));
  CEL_TRY(cel_tenter(r));
  CEL_TRY(eval_inner(r, n, out));
  cel_tleave(r);
  return CEL_OK;
}
