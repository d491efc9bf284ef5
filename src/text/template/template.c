#include "text/template/template.h"

#include <stdlib.h>

#include "text/template/tmpl_parse.h"
#include "text/template/tmpl_render.h"

const cel_template_limits cel_template_default_limits = {
    .steps = 10 * 1000 * 1000, .output_bytes = 16 << 20, .memory_bytes = 48 << 20, .depth = 400};

static cel_status compile(cel_template *t, cel_str source, const char *name, cel_err *err) {
  cel_ttoken *tokens;
  int64_t n;
  t->name = cel_arena_dup(&t->arena, name, strlen(name));
  if (!t->name) return cel_fail_oom(err, "a template");
  cel_arena scratch;  // the tokens; what they point to stays
  cel_arena_init(&scratch);
  cel_status s = cel_tlex(&t->arena, &scratch, source, t->name, &tokens, &n, err);
  if (s == CEL_OK) {
    cel_tparser p = {.t = t, .err = err, .tok = tokens};
    s = cel_tparse(&p);
  }
  cel_arena_deinit(&scratch);
  return s;
}

cel_status cel_template_compile(cel_str source, const char *name, cel_template **out, cel_err *err) {
  cel_template *t = calloc(1, sizeof *t);
  *out = NULL;
  if (!t) return cel_fail_oom(err, "a template");
  cel_arena_init(&t->arena);
  cel_status s = compile(t, source, name, err);
  if (s != CEL_OK) {
    cel_template_free(t);
    return s;
  }
  *out = t;
  return CEL_OK;
}

void cel_template_free(cel_template *t) {
  if (!t) return;
  cel_arena_deinit(&t->arena);
  free(t);
}

// The value of every name the template uses: variables first, builtins behind them.
static cel_status resolve_globals(cel_trender *r, const cel_json *variables) {
  r->globals = CEL_TNEW(r, cel_tval, r->t->n_names);
  if (!r->globals) return r->failed;
  for (uint32_t i = 0; i < r->t->n_names; i++) {
    cel_str name = r->t->names[i];
    const cel_json *v = cel_json_object_getn(variables, name.p, name.n);
    if (v) {
      CEL_TRY(cel_tfrom_json(r, v, 0, &r->globals[i]));
    } else {
      r->globals[i] = cel_tglobal(name);
    }
  }
  return CEL_OK;
}

static cel_status render(cel_trender *r, const cel_json *variables, cel_buf *out) {
  if (variables && !cel_json_is_object(variables)) return cel_fail(r->err, CEL_INVALID, "the variables of a template are no object");
  CEL_TRY(resolve_globals(r, variables));
  CEL_TRY(cel_tframe_new(r, NULL, &r->frame));
  r->top = r->frame;
  r->top->kept = true;
  CEL_TRY(cel_ttext_begin(r));
  CEL_TRY(cel_texec(r, r->t->body));
  cel_buf_add(out, r->out->b.p ? r->out->b.p : "", r->out->b.n);
  return out->failed ? cel_fail_oom(r->err, "the text of a template") : CEL_OK;
}

static void free_texts(cel_ttext *t) {
  while (t) {
    cel_ttext *below = t->below;
    cel_buf_deinit(&t->b);
    free(t);
    t = below;
  }
}

cel_status cel_template_render(const cel_template *t, const cel_json *variables, const cel_template_limits *limits,
                               cel_buf *out, cel_err *err) {
  cel_err unwanted;
  cel_trender r = {.t = t, .limits = limits ? *limits : cel_template_default_limits, .err = err ? err : &unwanted};
  cel_arena_init(&r.arena);
  cel_status s = render(&r, variables, out);
  free_texts(r.out);
  free_texts(r.free_texts);
  cel_arena_deinit(&r.arena);
  return s;
}
