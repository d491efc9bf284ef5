// Python's operators on values.
#include <math.h>
#include <stdlib.h>

#include "text/template/tmpl_render.h"
#include "text/template/tmpl_text.h"

bool cel_ttruth(cel_trender *r, cel_tval v) {
  (void)r;
  switch (v.kind) {
    case CEL_T_MISSING:
    case CEL_T_UNDEFINED:
    case CEL_T_NONE: return false;
    case CEL_T_BOOL: return v.as.b;
    case CEL_T_INT: return v.as.i != 0;
    case CEL_T_FLOAT: return v.as.f != 0;
    case CEL_T_STR: return v.n != 0;
    case CEL_T_LIST:
    case CEL_T_TUPLE: return v.as.list->n != 0;
    case CEL_T_DICT:
    case CEL_T_VIEW: return v.as.dict->n != 0;
    case CEL_T_RANGE: return v.as.range->n != 0;
    default: return true;
  }
}

// ---- comparing ----

// Exact also where an int has no double: the int is compared with the double's integer part.
static int order_int_float(int64_t i, double f) {
  if (f >= 9223372036854775808.0) return -1;
  if (f < -9223372036854775808.0) return 1;
  int64_t whole = (int64_t)f;
  if (i != whole) return i < whole ? -1 : 1;
  double rest = f - (double)whole;
  return rest > 0 ? -1 : rest < 0 ? 1 : 0;
}

static int order_numbers(cel_tval a, cel_tval b, bool *nan) {
  *nan = (a.kind == CEL_T_FLOAT && isnan(a.as.f)) || (b.kind == CEL_T_FLOAT && isnan(b.as.f));
  if (*nan) return 1;
  if (cel_tis_int(a) && cel_tis_int(b)) return (cel_tint_of(a) > cel_tint_of(b)) - (cel_tint_of(a) < cel_tint_of(b));
  if (cel_tis_int(a)) return order_int_float(cel_tint_of(a), b.as.f);
  if (cel_tis_int(b)) return -order_int_float(cel_tint_of(b), a.as.f);
  return (a.as.f > b.as.f) - (a.as.f < b.as.f);
}

static cel_status equal(cel_trender *r, cel_tval a, cel_tval b, int depth, bool *out);

static cel_status equal_lists(cel_trender *r, const cel_tlist *a, const cel_tlist *b, int depth, bool *out) {
  *out = a->n == b->n;
  for (int64_t i = 0; *out && a != b && i < a->n; i++) CEL_TRY(equal(r, a->at[i], b->at[i], depth + 1, out));
  return CEL_OK;
}

static cel_status equal_dicts(cel_trender *r, const cel_tdict *a, const cel_tdict *b, int depth, bool *out) {
  *out = a->n == b->n;
  for (int64_t i = 0; *out && a != b && i < a->n; i++) {
    cel_tval other;
    CEL_TRY(cel_tdict_get(r, b, a->at[i].key, &other));
    *out = cel_tgiven(other);
    if (*out) CEL_TRY(equal(r, a->at[i].value, other, depth + 1, out));
  }
  return CEL_OK;
}

static bool equal_ranges(const cel_trange *a, const cel_trange *b) {
  return a->n == b->n && (a->n == 0 || (a->start == b->start && (a->n == 1 || a->step == b->step)));
}

static cel_status equal(cel_trender *r, cel_tval a, cel_tval b, int depth, bool *out) {
  bool nan;
  if (depth > CEL_T_DATA_DEPTH) return cel_tfail_limit(r, "values nested deeper than %d", CEL_T_DATA_DEPTH);
  CEL_TRY(cel_tcharge(r, 1));
  *out = false;
  if (cel_tis_number(a) && cel_tis_number(b)) {
    *out = order_numbers(a, b, &nan) == 0;
    return CEL_OK;
  }
  if (a.kind != b.kind) return CEL_OK;
  switch (a.kind) {
    case CEL_T_UNDEFINED:
    case CEL_T_NONE: *out = true; return CEL_OK;
    case CEL_T_STR:
      *out = cel_str_eq(cel_tview_str(a), cel_tview_str(b));
      return *out ? cel_tcharge(r, a.n) : CEL_OK;
    case CEL_T_LIST:
    case CEL_T_TUPLE: return equal_lists(r, a.as.list, b.as.list, depth, out);
    case CEL_T_DICT: return equal_dicts(r, a.as.dict, b.as.dict, depth, out);
    case CEL_T_RANGE: *out = equal_ranges(a.as.range, b.as.range); return CEL_OK;
    case CEL_T_FUNCTION: *out = a.sub == b.sub; return CEL_OK;
    default: *out = a.as.s == b.as.s; return CEL_OK;  // the same object
  }
}

cel_status cel_tequal(cel_trender *r, cel_tval a, cel_tval b, bool *out) { return equal(r, a, b, 0, out); }

static int order_bytes(cel_tval a, cel_tval b) {  // UTF-8 has the order of its code points
  uint32_t n = CEL_MIN(a.n, b.n);
  int c = n ? memcmp(a.as.s, b.as.s, n) : 0;
  return c ? c : (a.n > b.n) - (a.n < b.n);
}

static cel_status order(cel_trender *r, cel_tval a, cel_tval b, const char *op, int depth, int *out) {
  bool nan = false, same;
  if (depth > CEL_T_DATA_DEPTH) return cel_tfail_limit(r, "values nested deeper than %d", CEL_T_DATA_DEPTH);
  CEL_TRY(cel_tcharge(r, 1));
  if (cel_tis_number(a) && cel_tis_number(b)) {
    *out = order_numbers(a, b, &nan);
    if (nan) *out = 2;
    return CEL_OK;
  }
  if (a.kind == CEL_T_STR && b.kind == CEL_T_STR) {
    *out = order_bytes(a, b);
    return cel_tcharge(r, CEL_MIN(a.n, b.n));
  }
  if (a.kind == CEL_T_UNDEFINED || b.kind == CEL_T_UNDEFINED) {
    return cel_tfail_undefined(r, a.kind == CEL_T_UNDEFINED ? a : b);
  }
  if (a.kind != b.kind || !cel_tis_seq(a)) {
    return cel_tfail(r, "\"%s\" is not supported between %s and %s", op, cel_ttype(a), cel_ttype(b));
  }
  int64_t n = CEL_MIN(a.as.list->n, b.as.list->n);
  for (int64_t i = 0; i < n; i++) {
    CEL_TRY(equal(r, a.as.list->at[i], b.as.list->at[i], depth + 1, &same));
    if (!same) return order(r, a.as.list->at[i], b.as.list->at[i], op, depth + 1, out);
  }
  *out = (a.as.list->n > b.as.list->n) - (a.as.list->n < b.as.list->n);
  return CEL_OK;
}

cel_status cel_torder(cel_trender *r, cel_tval a, cel_tval b, const char *op, int *out) {
  return order(r, a, b, op, 0, out);
}

cel_status cel_tcompare(cel_trender *r, cel_top op, cel_tval a, cel_tval b, bool *out) {
  static const char *const signs[] = {[CEL_OP_LT] = "<", [CEL_OP_LE] = "<=", [CEL_OP_GT] = ">", [CEL_OP_GE] = ">="};
  if (op == CEL_OP_EQ || op == CEL_OP_NE) {
    CEL_TRY(cel_tequal(r, a, b, out));
    *out ^= op == CEL_OP_NE;
    return CEL_OK;
  }
  if (op == CEL_OP_IN || op == CEL_OP_NOT_IN) {
    CEL_TRY(cel_tcontains(r, b, a, out));
    *out ^= op == CEL_OP_NOT_IN;
    return CEL_OK;
  }
  int o;
  CEL_TRY(cel_torder(r, a, b, signs[op], &o));
  if (o == 2) {  // NaN
    *out = false;
  } else {
    *out = op == CEL_OP_LT ? o < 0 : op == CEL_OP_LE ? o <= 0 : op == CEL_OP_GT ? o > 0 : o >= 0;
  }
  return CEL_OK;
}

// ---- searching ----

cel_status cel_tfind(cel_trender *r, cel_str hay, cel_str needle, size_t from, int64_t *out) {
  *out = -1;
  if (from > hay.n || needle.n > hay.n - from) return CEL_OK;
  if (!needle.n) {
    *out = (int64_t)from;
    return CEL_OK;
  }
  const char *p = hay.p + from, *last = hay.p + hay.n - needle.n;
  int64_t work = 0;
  while (p <= last) {
    const char *hit = memchr(p, needle.p[0], (size_t)(last - p) + 1);
    if (!hit) break;
    size_t same = 1;
    while (same < needle.n && hit[same] == needle.p[same]) same++;
    if (same == needle.n) {
      *out = hit - hay.p;
      return cel_tcharge(r, work + (hit - p));
    }
    work += (hit - p) + 8 * (int64_t)same;
    if (work > 1 << 16) {
      CEL_TRY(cel_tcharge(r, work));
      work = 0;
    }
    p = hit + 1;
  }
  return cel_tcharge(r, work + (last - p > 0 ? last - p : 0));
}

static cel_status contains_range(const cel_trange *g, cel_tval item, bool *out) {
  int64_t x = cel_tis_int(item) ? cel_tint_of(item) : 0;
  *out = false;
  if (item.kind == CEL_T_FLOAT) {
    if (item.as.f != floor(item.as.f) || fabs(item.as.f) > 9e15) return CEL_OK;
    x = (int64_t)item.as.f;
  } else if (!cel_tis_int(item)) {
    return CEL_OK;
  }
  // |start| and |step| are bounded by what range() accepts
  if (g->n == 0 || x < INT64_MIN / 4 || x > INT64_MAX / 4) return CEL_OK;
  int64_t d = x - g->start;
  *out = d % g->step == 0 && d / g->step >= 0 && d / g->step < g->n;
  return CEL_OK;
}

cel_status cel_tcontains(cel_trender *r, cel_tval c, cel_tval item, bool *out) {
  cel_tval found;
  cel_twalk w;
  switch (c.kind) {
    case CEL_T_STR: {
      int64_t at;
      if (item.kind != CEL_T_STR) return cel_tfail(r, "\"in\" a string needs a string on the left, not %s", cel_ttype(item));
      CEL_TRY(cel_tfind(r, cel_tview_str(c), cel_tview_str(item), 0, &at));
      *out = at >= 0;
      return CEL_OK;
    }
    case CEL_T_DICT:
      CEL_TRY(cel_tdict_get(r, c.as.dict, item, &found));
      *out = cel_tgiven(found);
      return CEL_OK;
    case CEL_T_RANGE: return contains_range(c.as.range, item, out);
    default: break;
  }
  if (!cel_titerable(c)) return cel_tfail(r, "\"in\" does not work on %s", cel_ttype(c));
  *out = false;
  CEL_TRY(cel_twalk_begin(r, c, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &found));
    if (!cel_tgiven(found)) return CEL_OK;
    CEL_TRY(cel_tequal(r, found, item, out));
    if (*out) return CEL_OK;
  }
}

// ---- arithmetic ----

static cel_status too_big(cel_trender *r) { return cel_tfail_limit(r, "an integer that needs more than 64 bits"); }

static bool add_fits(int64_t a, int64_t b, int64_t *out) {
  if ((b > 0 && a > INT64_MAX - b) || (b < 0 && a < INT64_MIN - b)) return false;
  *out = a + b;
  return true;
}

static bool mul_fits(int64_t a, int64_t b, int64_t *out) {
  if (a == 0 || b == 0) {
    *out = 0;
    return true;
  }
  if (a == INT64_MIN || b == INT64_MIN) return a == 1 || b == 1 ? (*out = INT64_MIN, true) : false;
  if (llabs(a) > INT64_MAX / llabs(b)) return false;
  *out = a * b;
  return true;
}

static bool pow_fits(int64_t a, int64_t n, int64_t *out) {
  int64_t result = 1;
  for (;;) {
    if ((n & 1) && !mul_fits(result, a, &result)) return false;
    n >>= 1;
    if (!n) break;
    if (!mul_fits(a, a, &a)) return false;
  }
  *out = result;
  return true;
}

// Rounded towards minus infinity, b not 0; the one overflow is caught by the caller.
static int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

static double float_mod(double a, double b) {
  double m = fmod(a, b);
  if (m == 0) return copysign(0, b);
  return (m < 0) != (b < 0) ? m + b : m;
}

static double float_floordiv(double a, double b) {
  double m = fmod(a, b), d = (a - m) / b;
  if (m != 0 && (m < 0) != (b < 0)) d -= 1;
  if (d == 0) return copysign(0, a / b);
  double f = floor(d);
  return d - f > 0.5 ? f + 1 : f;
}

static cel_status float_arithmetic(cel_trender *r, cel_top op, double a, double b, cel_tval *out) {
  if (b == 0 && (op == CEL_OP_DIV || op == CEL_OP_FLOORDIV || op == CEL_OP_MOD)) return cel_tfail(r, "division by zero");
  switch (op) {
    case CEL_OP_ADD: *out = cel_tfloat(a + b); return CEL_OK;
    case CEL_OP_SUB: *out = cel_tfloat(a - b); return CEL_OK;
    case CEL_OP_MUL: *out = cel_tfloat(a * b); return CEL_OK;
    case CEL_OP_DIV: *out = cel_tfloat(a / b); return CEL_OK;
    case CEL_OP_MOD: *out = cel_tfloat(float_mod(a, b)); return CEL_OK;
    case CEL_OP_FLOORDIV: *out = cel_tfloat(float_floordiv(a, b)); return CEL_OK;
    default: break;
  }
  if (a == 0 && b < 0) return cel_tfail(r, "0.0 cannot be raised to a negative power");
  double p = pow(a, b);
  if (isnan(p) && !isnan(a) && !isnan(b)) return cel_tfail(r, "a power that is a complex number");
  if (isinf(p) && !isinf(a) && !isinf(b)) return cel_tfail(r, "a power too large for a float");
  *out = cel_tfloat(p);
  return CEL_OK;
}

static cel_status int_arithmetic(cel_trender *r, cel_top op, int64_t a, int64_t b, cel_tval *out) {
  int64_t x = 0;
  bool fits = true;
  switch (op) {
    case CEL_OP_ADD: fits = add_fits(a, b, &x); break;
    case CEL_OP_SUB: fits = b == INT64_MIN ? a < 0 && (x = a - b, true) : add_fits(a, -b, &x); break;
    case CEL_OP_MUL: fits = mul_fits(a, b, &x); break;
    case CEL_OP_DIV: return float_arithmetic(r, op, (double)a, (double)b, out);
    case CEL_OP_FLOORDIV:
    case CEL_OP_MOD:
      if (b == 0) return cel_tfail(r, "division by zero");
      if (b == -1) {
        fits = op == CEL_OP_MOD || a != INT64_MIN;
        x = op == CEL_OP_MOD || !fits ? 0 : -a;
      } else {
        x = op == CEL_OP_MOD ? a - floor_div(a, b) * b : floor_div(a, b);
      }
      break;
    default:
      if (b < 0) return float_arithmetic(r, op, (double)a, (double)b, out);
      fits = pow_fits(a, b, &x);
  }
  *out = cel_tint(x);
  return fits ? CEL_OK : too_big(r);
}

static cel_status put_escaped(cel_trender *r, cel_tval v) {
  if (v.flag & CEL_TFLAG_SAFE) return cel_tput(r, v.as.s, v.n);
  for (uint32_t i = 0; i < v.n; i++) {
    char c = v.as.s[i];
    const char *e = c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '\'' ? "&#39;" : c == '"' ? "&#34;" : NULL;
    CEL_TRY(e ? cel_tputz(r, e) : cel_tput(r, &c, 1));
  }
  return cel_tcharge(r, v.n);
}

static cel_status join_strings(cel_trender *r, cel_tval a, cel_tval b, cel_tval *out) {
  CEL_TRY(cel_ttext_begin(r));
  if ((a.flag | b.flag) & CEL_TFLAG_SAFE) {  // text that is safe escapes what joins it
    CEL_TRY(put_escaped(r, a));
    CEL_TRY(put_escaped(r, b));
    CEL_TRY(cel_ttext_end(r, out));
    out->flag |= CEL_TFLAG_SAFE;
    return CEL_OK;
  }
  CEL_TRY(cel_tput(r, a.as.s, a.n));
  CEL_TRY(cel_tput(r, b.as.s, b.n));
  return cel_ttext_end(r, out);
}

static cel_status join_lists(cel_trender *r, cel_tval a, cel_tval b, cel_tval *out) {
  cel_tlist *l;
  CEL_TRY(cel_tlist_new(r, a.as.list->n + b.as.list->n, &l));
  CEL_TRY(cel_tcharge(r, 16 * l->n));
  if (a.as.list->n) memcpy(l->at, a.as.list->at, (size_t)a.as.list->n * sizeof *l->at);
  if (b.as.list->n) memcpy(l->at + a.as.list->n, b.as.list->at, (size_t)b.as.list->n * sizeof *l->at);
  *out = cel_tseq((cel_tkind)a.kind, l);
  return CEL_OK;
}

static cel_status repeat(cel_trender *r, cel_tval v, int64_t times, cel_tval *out) {
  if (times < 0) times = 0;
  if (v.kind == CEL_T_STR) {
    if (v.n && times > r->limits.output_bytes / v.n) {
      return cel_tfail_limit(r, "text of more than %lld bytes", (long long)r->limits.output_bytes);
    }
    char *p = CEL_TNEW(r, char, times * v.n);
    if (!p) return r->failed;
    for (int64_t i = 0; v.n && i < times; i++) memcpy(p + i * v.n, v.as.s, v.n);
    *out = cel_tstr((cel_str){p, (size_t)times * v.n});
    out->flag = v.flag;
    return cel_tcharge(r, times * v.n);
  }
  cel_tlist *l;
  int64_t n = v.as.list->n;
  if (n && times > INT32_MAX / n) return cel_tfail_limit(r, "a list of more than %d items", INT32_MAX);
  CEL_TRY(cel_tlist_new(r, times * n, &l));
  CEL_TRY(cel_tcharge(r, 16 * l->n));
  for (int64_t i = 0; i < l->n; i++) l->at[i] = v.as.list->at[i % n];
  *out = cel_tseq((cel_tkind)v.kind, l);
  return CEL_OK;
}

cel_status cel_tbinary(cel_trender *r, cel_top op, cel_tval a, cel_tval b, cel_tval *out) {
  static const char *const signs[] = {"+", "-", "*", "/", "//", "%", "**"};
  if (cel_tis_int(a) && cel_tis_int(b)) return int_arithmetic(r, op, cel_tint_of(a), cel_tint_of(b), out);
  if (cel_tis_number(a) && cel_tis_number(b)) return float_arithmetic(r, op, cel_tfloat_of(a), cel_tfloat_of(b), out);
  if (op == CEL_OP_MOD && a.kind == CEL_T_STR) return cel_tpercent(r, cel_tview_str(a), b, out);
  if (a.kind == CEL_T_UNDEFINED || b.kind == CEL_T_UNDEFINED) {
    return cel_tfail_undefined(r, a.kind == CEL_T_UNDEFINED ? a : b);
  }
  if (op == CEL_OP_ADD && a.kind == CEL_T_STR && b.kind == CEL_T_STR) return join_strings(r, a, b, out);
  if (op == CEL_OP_ADD && cel_tis_seq(a) && a.kind == b.kind) return join_lists(r, a, b, out);
  if (op == CEL_OP_MUL && cel_tis_int(b) && (a.kind == CEL_T_STR || cel_tis_seq(a))) {
    return repeat(r, a, cel_tint_of(b), out);
  }
  if (op == CEL_OP_MUL && cel_tis_int(a) && (b.kind == CEL_T_STR || cel_tis_seq(b))) {
    return repeat(r, b, cel_tint_of(a), out);
  }
  return cel_tfail(r, "\"%s\" is not supported between %s and %s", signs[op], cel_ttype(a), cel_ttype(b));
}

cel_status cel_tnegate(cel_trender *r, cel_tval a, cel_tval *out) {
  if (a.kind == CEL_T_UNDEFINED) return cel_tfail_undefined(r, a);
  if (!cel_tis_number(a)) return cel_tfail(r, "%s has no negative", cel_ttype(a));
  if (a.kind == CEL_T_FLOAT) {
    *out = cel_tfloat(-a.as.f);
    return CEL_OK;
  }
  if (cel_tint_of(a) == INT64_MIN) return too_big(r);
  *out = cel_tint(-cel_tint_of(a));
  return CEL_OK;
}

// ---- walking ----

cel_status cel_tlength(cel_trender *r, cel_tval v, int64_t *out) {
  switch (v.kind) {
    case CEL_T_UNDEFINED: *out = 0; return CEL_OK;
    case CEL_T_STR:
      *out = cel_tchars(cel_tview_str(v));
      return v.n < 64 ? CEL_OK : cel_tcharge(r, v.n);
    case CEL_T_LIST:
    case CEL_T_TUPLE: *out = v.as.list->n; return CEL_OK;
    case CEL_T_DICT:
    case CEL_T_VIEW: *out = v.as.dict->n; return CEL_OK;
    case CEL_T_RANGE: *out = v.as.range->n; return CEL_OK;
    case CEL_T_LOOP: return cel_tloop_length(r, v.as.loop, out);
    default: return cel_tfail(r, "%s has no length", cel_ttype(v));
  }
}

bool cel_titerable(cel_tval v) {
  switch (v.kind) {
    case CEL_T_UNDEFINED:
    case CEL_T_STR:
    case CEL_T_LIST:
    case CEL_T_TUPLE:
    case CEL_T_DICT:
    case CEL_T_VIEW:
    case CEL_T_RANGE:
    case CEL_T_ITER: return true;
    default: return false;
  }
}

cel_status cel_twalk_begin(cel_trender *r, cel_tval v, cel_twalk *w) {
  *w = (cel_twalk){.v = v};
  return cel_titerable(v) ? CEL_OK : cel_tfail(r, "%s cannot be walked through", cel_ttype(v));
}

static cel_status view_item(cel_trender *r, cel_tval v, const cel_tpair *p, cel_tval *out) {
  if (v.kind == CEL_T_DICT || v.sub == CEL_TVIEW_KEYS) {
    *out = p->key;
  } else if (v.sub == CEL_TVIEW_VALUES) {
    *out = p->value;
  } else {
    cel_tlist *l;
    CEL_TRY(cel_tlist_new(r, 2, &l));
    l->at[0] = p->key, l->at[1] = p->value;
    *out = cel_tseq(CEL_T_TUPLE, l);
  }
  return CEL_OK;
}

cel_status cel_twalk_next(cel_trender *r, cel_twalk *w, cel_tval *out) {
  cel_tval v = w->v;
  *out = (cel_tval){.kind = CEL_T_MISSING};
  CEL_TRY(cel_tcharge(r, 1));
  switch (v.kind) {
    case CEL_T_STR:
      if (w->byte < v.n) {
        size_t n = cel_tchar_bytes(v.as.s + w->byte);
        *out = cel_tstr((cel_str){v.as.s + w->byte, n});
        w->byte += (int64_t)n;
      }
      return CEL_OK;
    case CEL_T_LIST:
    case CEL_T_TUPLE:
      if (w->i < v.as.list->n) *out = v.as.list->at[w->i++];
      return CEL_OK;
    case CEL_T_DICT:
    case CEL_T_VIEW: return w->i < v.as.dict->n ? view_item(r, v, &v.as.dict->at[w->i++], out) : CEL_OK;
    case CEL_T_RANGE:
      if (w->i < v.as.range->n) *out = cel_tint(v.as.range->start + v.as.range->step * w->i++);
      return CEL_OK;
    case CEL_T_ITER:
      if (v.as.iter->next < v.as.iter->list->n) *out = v.as.iter->list->at[v.as.iter->next++];
      return CEL_OK;
    default: return CEL_OK;  // undefined is empty
  }
}

cel_status cel_tcollect(cel_trender *r, cel_tval v, cel_tlist **out) {
  cel_tgrow g = {0};
  cel_tval item, list;
  cel_twalk w;
  if (cel_tis_seq(v)) {  // immutable, so it can be shared
    *out = v.as.list;
    return CEL_OK;
  }
  CEL_TRY(cel_twalk_begin(r, v, &w));
  for (;;) {
    CEL_TRY(cel_twalk_next(r, &w, &item));
    if (!cel_tgiven(item)) break;
    CEL_TRY(cel_tgrow_add(r, &g, item));
  }
  CEL_TRY(cel_tgrow_list(r, &g, CEL_T_LIST, &list));
  *out = list.as.list;
  return CEL_OK;
}

// ---- sorting: merge sort, stable; `reverse` keeps equal ones in their order as Python does ----

typedef struct sorted {
  cel_tval key, item;
} sorted;

static cel_status merge(cel_trender *r, const sorted *a, int64_t na, const sorted *b, int64_t nb, bool reverse, sorted *out) {
  int64_t i = 0, j = 0;
  while (i < na && j < nb) {
    int o;
    CEL_TRY(reverse ? cel_torder(r, a[i].key, b[j].key, "<", &o) : cel_torder(r, b[j].key, a[i].key, "<", &o));
    out[i + j] = o < 0 ? b[j] : a[i];
    if (o < 0) j++;
    else i++;
  }
  if (i < na) memcpy(out + i + j, a + i, (size_t)(na - i) * sizeof *out);
  if (j < nb) memcpy(out + i + j, b + j, (size_t)(nb - j) * sizeof *out);
  return CEL_OK;
}

cel_status cel_tsort(cel_trender *r, cel_tval *items, const cel_tval *keys, int64_t n, bool reverse) {
  sorted *from = CEL_TNEW(r, sorted, n), *to = CEL_TNEW(r, sorted, n);
  if (!from || !to) return r->failed;
  for (int64_t i = 0; i < n; i++) from[i] = (sorted){keys[i], items[i]};
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t i = 0; i < n; i += 2 * width) {
      int64_t mid = CEL_MIN(i + width, n), end = CEL_MIN(i + 2 * width, n);
      CEL_TRY(merge(r, from + i, mid - i, from + mid, end - mid, reverse, to + i));
    }
    sorted *swap = from;
    from = to, to = swap;
  }
  for (int64_t i = 0; i < n; i++) items[i] = from[i].item;
  return CEL_OK;
}
