#include "text/regex_set.h"

enum { DEPTH_MOST = 8 };

typedef struct set_reader {
  cel_str p;
  bool (*put_escape)(cel_buf *out, char c, bool in_class);
  const char *where;
  cel_err *err;
} set_reader;

static bool at(cel_str p, size_t i, const char *text) {
  return cel_str_starts((cel_str){p.p + CEL_MIN(i, p.n), p.n - CEL_MIN(i, p.n)}, cel_str_of(text));
}

// The end of [:name:] at p[i].
static size_t posix_end(cel_str p, size_t i) {
  while (i < p.n && !at(p, i, ":]")) i++;
  return CEL_MIN(i + 2, p.n);
}

// Behind '[' and an optional '^'.
static size_t open_end(cel_str p, size_t i, bool *negated) {
  i++;
  *negated = i < p.n && p.p[i] == '^';
  return i + *negated;
}

bool cel_regex_set_is_compound(cel_str p, size_t i) {
  bool negated;
  i = open_end(p, i, &negated);
  if (i < p.n && p.p[i] == ']') i++;
  for (; i < p.n && p.p[i] != ']'; i++) {
    if (p.p[i] == '\\')
      i++;
    else if (at(p, i, "[:"))
      i = posix_end(p, i) - 1;
    else if (p.p[i] == '[' || at(p, i, "&&"))
      return true;
  }
  return false;
}

static cel_status put_set(set_reader *r, size_t *i, int depth, cel_buf *out);

// Appends one side of an intersection: alternatives of plain items and of sets. Stops at && or ].
static cel_status put_side(set_reader *r, size_t *i, int depth, cel_buf *out) {
  bool plain = false, any = false;  // inside [ ]; something has been written
  for (; *i < r->p.n && r->p.p[*i] != ']' && !at(r->p, *i, "&&");) {
    bool set = r->p.p[*i] == '[' && !at(r->p, *i, "[:");
    if (plain && set) cel_buf_addc(out, ']');
    if (any && !(plain && !set)) cel_buf_addc(out, '|');
    if (!plain && !set) cel_buf_addc(out, '[');
    plain = !set;
    any = true;
    if (set) {
      CEL_TRY(put_set(r, i, depth + 1, out));
    } else if (r->p.p[*i] == '\\' && *i + 1 < r->p.n) {
      if (!r->put_escape(out, r->p.p[*i + 1], true)) cel_buf_add(out, r->p.p + *i, 2);
      *i += 2;
    } else {
      size_t end = at(r->p, *i, "[:") ? posix_end(r->p, *i) : *i + 1;
      cel_buf_add(out, r->p.p + *i, end - *i);
      *i = end;
    }
  }
  if (plain) cel_buf_addc(out, ']');
  if (any) return CEL_OK;
  return cel_fail(r->err, CEL_MALFORMED, "%s: the pattern has an empty character set at byte %zu", r->where, *i);
}

// a&&b&&c is a where b and c match as well.
static cel_status put_sides(set_reader *r, size_t *i, int depth, cel_buf *out) {
  cel_buf first = {0};
  cel_status s = put_side(r, i, depth, &first);
  while (s == CEL_OK && at(r->p, *i, "&&")) {
    *i += 2;
    cel_buf_addz(out, "(?=");
    s = put_side(r, i, depth, out);
    cel_buf_addc(out, ')');
  }
  cel_buf_printf(out, "(?:%s)", first.p ? first.p : "");
  if (first.failed) out->failed = true;
  cel_buf_deinit(&first);
  return s;
}

static cel_status put_set(set_reader *r, size_t *i, int depth, cel_buf *out) {
  if (depth > DEPTH_MOST) {
    return cel_fail(r->err, CEL_UNSUPPORTED, "%s: the pattern nests character sets deeper than %d (at byte %zu)",
                    r->where, DEPTH_MOST, *i);
  }
  bool negated;
  size_t start = *i;
  *i = open_end(r->p, *i, &negated);
  cel_buf_addz(out, negated ? "(?:(?!" : "(?:");
  CEL_TRY(put_sides(r, i, depth, out));
  cel_buf_addz(out, negated ? ")(?s:.))" : ")");
  if (*i >= r->p.n) {
    return cel_fail(r->err, CEL_MALFORMED, "%s: the character set at byte %zu of the pattern has no end", r->where,
                    start);
  }
  ++*i;
  return CEL_OK;
}

cel_status cel_regex_put_set(cel_str p, size_t *i, bool (*put_escape)(cel_buf *out, char c, bool in_class),
                             const char *where, cel_buf *out, cel_err *err) {
  set_reader r = {p, put_escape, where, err};
  return put_set(&r, i, 0, out);
}
