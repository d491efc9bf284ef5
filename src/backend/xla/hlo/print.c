// A module as StableHLO text: functions and their signatures.
#include "backend/xla/hlo/print.h"

static void attr_list(cel_print *p, cel_hlo_attr *const *list) {
  int n = 0;
  while (list && list[n]) n++;
  cel_print_attrs(p, list, n, "");
}

static void arguments(cel_print *p, const cel_hlo_func *f) {
  cel_buf_addc(p->out, '(');
  for (int i = 0; f->body && i < f->body->n_args; i++) {
    const cel_hlo_value *v = f->body->args[i];
    if (i) cel_buf_addz(p->out, ", ");
    if (!f->is_declaration) {
      cel_print_value_name(p, v);
      cel_buf_addz(p->out, ": ");
    }
    cel_hlo_type_print(p->out, v->type);
    if (f->arg_attrs) attr_list(p, f->arg_attrs[i]);
  }
  cel_buf_addc(p->out, ')');
}

static void results(cel_print *p, const cel_hlo_func *f) {
  if (f->n_results == 0) return;
  bool alone = f->n_results == 1 && !(f->result_attrs && f->result_attrs[0]);
  cel_buf_addz(p->out, alone ? " -> " : " -> (");
  for (int i = 0; i < f->n_results; i++) {
    if (i) cel_buf_addz(p->out, ", ");
    cel_hlo_type_print(p->out, f->result_types[i]);
    if (f->result_attrs) attr_list(p, f->result_attrs[i]);
  }
  if (!alone) cel_buf_addc(p->out, ')');
}

static void keyword_attrs(cel_print *p, cel_hlo_attr *const *attrs, int n) {
  if (n == 0) return;
  cel_buf_addz(p->out, " attributes");
  cel_print_attrs(p, attrs, n, "");
}

static bool print_func(cel_print *p, const cel_hlo_func *f) {
  cel_arena_reset(&p->scratch);
  if (!cel_print_name_values(p, f)) return false;
  cel_print_line(p);
  cel_buf_addz(p->out, f->is_private ? "func.func private " : "func.func ");
  cel_print_symbol(p->out, f->name);
  arguments(p, f);
  results(p, f);
  keyword_attrs(p, f->attrs, f->n_attrs);
  if (f->is_declaration || !f->body) return !p->failed;
  cel_buf_addz(p->out, " {");
  cel_print_block_ops(p, f->body);
  cel_print_line(p);
  cel_buf_addc(p->out, '}');
  return !p->failed;
}

cel_status cel_hlo_print(const cel_hlo_module *m, cel_buf *out, cel_err *err) {
  cel_print p = {.out = out, .indent = 2};
  cel_arena_init(&p.scratch);
  cel_buf_addz(out, "module");
  if (m->name) {
    cel_buf_addc(out, ' ');
    cel_print_symbol(out, m->name);
  }
  keyword_attrs(&p, m->attrs, m->n_attrs);
  cel_buf_addz(out, " {");
  if (m->mesh > 0) cel_buf_printf(out, "\n  sdy.mesh @mesh = <[\"model\"=%d]>", m->mesh);
  bool good = true;
  for (const cel_hlo_func *f = m->first_func; good && f; f = f->next) good = print_func(&p, f);
  cel_buf_addz(out, "\n}\n");
  cel_arena_deinit(&p.scratch);
  return good && !out->failed ? CEL_OK : cel_fail_oom(err, "the text of a StableHLO module");
}
