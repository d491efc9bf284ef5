// Locations. loc("name") and loc("name"(...)) say where in the model an operation comes from and become its
// path; lines of source files, call sites and fused locations are read and dropped.
#include "backend/xla/hlo/parse.h"

typedef struct location {
  const char *path;
  cel_str alias;
} location;

static cel_status any_location(cel_parse *p, location *out);

// "12:5" or "12:5 to 14:2" or "12:5 to :7" behind a file's name and the first colon.
static cel_status file_place(cel_parse *p) {
  CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_INT, "a line number"));
  CEL_TRY(cel_lex_need(&p->lex, ':', "':' and a column"));
  CEL_TRY(cel_lex_need(&p->lex, CEL_TOK_INT, "a column"));
  if (!cel_lex_take_word(&p->lex, "to")) return CEL_OK;
  cel_lex_take(&p->lex, CEL_TOK_INT);
  CEL_TRY(cel_lex_need(&p->lex, ':', "':' and a column"));
  return cel_lex_need(&p->lex, CEL_TOK_INT, "a column");
}

static cel_status named_location(cel_parse *p, location *out) {
  location inner;
  cel_str quoted = p->lex.text;
  cel_lex_next(&p->lex);
  if (cel_lex_take(&p->lex, ':')) return file_place(p);
  CEL_TRY(cel_parse_plain_text(p, quoted, "the name of a location", &out->path));
  if (!*out->path) out->path = NULL;
  if (!cel_lex_take(&p->lex, '(')) return CEL_OK;
  CEL_TRY(any_location(p, &inner));
  return cel_lex_need(&p->lex, ')', "')' behind a location");
}

static cel_status callsite(cel_parse *p) {
  location inner;
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' behind callsite"));
  CEL_TRY(any_location(p, &inner));
  CEL_TRY(cel_lex_need_word(&p->lex, "at"));
  CEL_TRY(any_location(p, &inner));
  return cel_lex_need(&p->lex, ')', "')' behind a call site");
}

static cel_status fused(cel_parse *p) {
  location inner;
  cel_buf_clear(&p->text);
  if (p->lex.kind == '<') CEL_TRY(cel_lex_raw(&p->lex, &p->text));
  CEL_TRY(cel_lex_need(&p->lex, '[', "'[' and locations behind fused"));
  do CEL_TRY(any_location(p, &inner));
  while (cel_lex_take(&p->lex, ','));
  return cel_lex_need(&p->lex, ']', "',' or ']' in a list of locations");
}

static cel_status any_location(cel_parse *p, location *out) {
  *out = (location){0};
  CEL_TRY(cel_parse_enter(p));
  if (p->lex.kind == CEL_TOK_STRING) {
    CEL_TRY(named_location(p, out));
  } else if (p->lex.kind == CEL_TOK_HASH) {
    out->alias = p->lex.text;
    cel_lex_next(&p->lex);
  } else if (cel_lex_take_word(&p->lex, "callsite")) {
    CEL_TRY(callsite(p));
  } else if (cel_lex_take_word(&p->lex, "fused")) {
    CEL_TRY(fused(p));
  } else if (!cel_lex_take_word(&p->lex, "unknown")) {
    return cel_lex_expected(&p->lex, "a location: \"name\", unknown, callsite, fused or an alias");
  }
  cel_parse_leave(p);
  return CEL_OK;
}

// "loc(...)", at "loc"
static cel_status whole(cel_parse *p, location *out) {
  cel_lex_next(&p->lex);
  CEL_TRY(cel_lex_need(&p->lex, '(', "'(' behind loc"));
  CEL_TRY(any_location(p, out));
  return cel_lex_need(&p->lex, ')', "')' behind a location");
}

cel_status cel_parse_loc(cel_parse *p, cel_hlo_op *op) {
  if (!cel_lex_word(&p->lex, "loc")) return CEL_OK;
  location at;
  CEL_TRY(whole(p, &at));
  if (!op) return CEL_OK;
  op->path = at.path;
  if (!at.alias.n) return CEL_OK;
  void *grown = cel_parse_grow(p->late.at, p->late.n, &p->late.cap, sizeof *p->late.at);
  if (!grown) return cel_parse_oom(p);
  p->late.at = grown;
  p->late.at[p->late.n++] = (cel_parse_late){op, at.alias};
  return CEL_OK;
}

cel_status cel_parse_loc_alias(cel_parse *p, cel_str name) {
  location at;
  CEL_TRY(whole(p, &at));
  cel_parse_name *alias = cel_parse_add(&p->aliases, name);
  if (!alias) return cel_parse_oom(p);
  alias->path = at.path;
  alias->path_alias = at.alias;
  return CEL_OK;
}

cel_status cel_parse_late_locs(cel_parse *p) {
  for (int i = 0; i < p->late.n; i++) {
    cel_str name = p->late.at[i].alias;
    for (int hops = 0; name.n && hops < CEL_LEX_MAX_DEPTH; hops++) {
      const cel_parse_name *alias = cel_parse_find(&p->aliases, name);
      if (!alias)
        return cel_lex_fail_at(&p->lex, name.p, CEL_MALFORMED, "the location %.*s is defined nowhere",
                               CEL_STR_ARG(name));
      p->late.at[i].op->path = alias->path;
      name = alias->path ? (cel_str){0} : alias->path_alias;
    }
  }
  return CEL_OK;
}
