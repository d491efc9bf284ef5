// The plan in words, like a database's query plan: one line a step.
#include "backend/xla/engine/native/plan/plan.h"

static const char *const kind_names[] = {
    [CEL_STEP_LINEAR] = "linear",       [CEL_STEP_EMBED] = "embed",           [CEL_STEP_RMS_NORM] = "rms_norm", [CEL_STEP_LAYER_NORM] = "layer_norm",
    [CEL_STEP_ROPE] = "rope",           [CEL_STEP_GATED] = "gated",           [CEL_STEP_APPEND] = "kv_append",
    [CEL_STEP_ATTENTION] = "attention", [CEL_STEP_SHORT_CONV] = "short_conv", [CEL_STEP_DELTA] = "gated_delta",
    [CEL_STEP_ELEMENTWISE] = "elementwise", [CEL_STEP_CONVERT] = "convert",
    [CEL_STEP_SLICE_ROWS] = "slice_rows", [CEL_STEP_SLICE_COLUMNS] = "slice_columns",
    [CEL_STEP_CONCAT] = "concat",     [CEL_STEP_HEADS] = "head_linear",
    [CEL_STEP_TOP_K] = "top_k",         [CEL_STEP_EXPERTS] = "experts",       [CEL_STEP_REFERENCE] = "reference"};
static void weight_line(cel_buf *out, const cel_linear *w) {
  cel_buf_printf(out, " %s[%lld, %lld]", cel_linear_traits_of(w->format)->name, (long long)w->rows, (long long)w->cols);
  if (w->group) cel_buf_printf(out, "/%d bits, group %d", w->bits, w->group);
}

static void step_line(const cel_plan *p, const cel_step *s, cel_buf *out) {
  cel_buf_printf(out, " %c%c %-12s", s->barrier ? '=' : ' ', s->solo ? '1' : '*', kind_names[s->kind]);
  cel_buf_printf(out, "%-22s", s->path ? s->path : "");
  switch (s->kind) {
    case CEL_STEP_LINEAR:
      cel_buf_printf(out, " x%d", s->u.linear.tokens);
      for (int i = 0; i < s->u.linear.n; i++) weight_line(out, &s->u.linear.w[i]);
      break;
    case CEL_STEP_EMBED:
      weight_line(out, &s->u.embed.w);
      break;
    case CEL_STEP_ATTENTION:
      cel_buf_printf(out, " x%lld, %d/%d heads of %d%s", (long long)s->u.attention.a.n, s->u.attention.a.n_q,
                     s->u.attention.a.n_kv, s->u.attention.a.d, s->u.attention.a.window ? ", window" : "");
      break;
    case CEL_STEP_HEADS:
      cel_buf_printf(out, " x%lld, %lld heads, rows %lld + %lld of %lld%s", (long long)s->u.heads.tokens, (long long)s->u.heads.heads,
                     (long long)s->u.heads.first, (long long)s->u.heads.rows, (long long)s->u.heads.per_head,
                     s->u.heads.transposed ? " transposed" : "");
      weight_line(out, &s->u.heads.w);
      break;
    case CEL_STEP_EXPERTS:
      cel_buf_printf(out, " x%lld, %lld of %lld%s", (long long)s->u.experts->tokens, (long long)s->u.experts->k,
                     (long long)s->u.experts->experts, s->u.experts->combine ? " combined" : "");
      for (int i = 0; i < s->u.experts->n; i++) weight_line(out, &s->u.experts->stack[i].w);
      break;
    case CEL_STEP_SHORT_CONV:
      cel_buf_printf(out, " x%lld, %d taps of %lld channels", (long long)s->u.conv.c.n, s->u.conv.c.taps,
                     (long long)s->u.conv.c.channels);
      break;
    case CEL_STEP_DELTA:
      cel_buf_printf(out, " x%lld, %d/%d heads of %dx%d", (long long)s->u.delta.d.n, s->u.delta.d.n_v, s->u.delta.d.n_k,
                     s->u.delta.d.d_k, s->u.delta.d.d_v);
      break;
    case CEL_STEP_ELEMENTWISE:
      cel_buf_printf(out, " %d operations on %lld", s->u.elementwise.n, (long long)s->u.elementwise.elements);
      break;
    case CEL_STEP_REFERENCE:
      cel_buf_printf(out, " %s", s->u.reference->name);
      break;
    default:
      break;
  }
  if (s->n_out) cel_buf_printf(out, " -> @%lld", (long long)p->slots[cel_plan_root(p, s->out[0])].offset);
  cel_buf_addc(out, '\n');
}

cel_status cel_plan_explain(const cel_plan *p, cel_buf *out, cel_err *err) {
  int n_barriers = 0, n_reference = 0;
  for (int i = 0; i < p->n_steps; i++) {
    n_barriers += p->steps[i].barrier;
    n_reference += p->steps[i].kind == CEL_STEP_REFERENCE;
  }
  cel_buf_printf(out, "@%s on the native engine: %d steps, %d barriers, %d by the reference evaluator\n", p->program->entry->name,
                 p->n_steps, n_barriers, n_reference);
  cel_buf_printf(out, "kernels: %s, linear precision %s, %d threads; arena %lld bytes, scratch %lld bytes a thread\n",
                 p->kernels.isa, cel_linear_precision_names[p->precision], p->n_threads, (long long)p->arena_bytes,
                 (long long)p->scratch_bytes);
  cel_buf_addz(out, "(= waits for the team first, 1 one thread, * all threads; @ place in the arena)\n");
  for (int i = 0; i < p->n_steps; i++) step_line(p, &p->steps[i], out);
  return out->failed ? cel_fail_oom(err, "the plan's text") : CEL_OK;
}
