// Attributes as text.
#include <stdlib.h>
#include <string.h>

#include "backend/xla/hlo/print.h"

void cel_print_string(cel_buf *out, cel_str s) {
  static const char hex[] = "0123456789ABCDEF";
  cel_buf_addc(out, '"');
  for (size_t i = 0; i < s.n; i++) {
    unsigned char c = (unsigned char)s.p[i];
    if (c == '\\') {
      cel_buf_addz(out, "\\\\");
    } else if (c >= 0x20 && c < 0x7F && c != '"') {
      cel_buf_addc(out, (char)c);
    } else {
      char escape[3] = {'\\', hex[c >> 4], hex[c & 15]};
      cel_buf_add(out, escape, 3);
    }
  }
  cel_buf_addc(out, '"');
}

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static bool is_bare(const char *s) {
  if (!letter(*s)) return false;
  for (s++; *s; s++)
    if (!letter(*s) && !(*s >= '0' && *s <= '9') && *s != '$' && *s != '.') return false;
  return true;
}

void cel_print_symbol(cel_buf *out, const char *name) {
  cel_buf_addc(out, '@');
  if (is_bare(name)) cel_buf_addz(out, name);
  else cel_print_string(out, cel_str_of(name));
}

void cel_print_int_list(cel_buf *out, const int64_t *v, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    if (i) cel_buf_addz(out, ", ");
    cel_print_int(out, v[i]);
  }
}

// The MLIR name of the enumeration an attribute holds.
static const char *enum_kind(const char *name) {
  if (!name) return "precision";  // the one enumeration that comes in lists
  if (strcmp(name, "compare_type") == 0) return "comparison_type";
  if (strcmp(name, "transpose_a") == 0) return "transpose";
  return name;
}

static void print_ints(cel_buf *out, const cel_hlo_attr *a) {
  bool flags = a->name && strcmp(a->name, "window_reversal") == 0;
  cel_buf_addz(out, flags ? "array<i1" : "array<i64");
  for (int64_t i = 0; i < a->n; i++) {
    cel_buf_addz(out, i ? ", " : ": ");
    if (flags) cel_buf_addz(out, a->ints[i] ? "true" : "false");
    else cel_print_int(out, a->ints[i]);
  }
  cel_buf_addc(out, '>');
}

static void print_etype(cel_buf *out, const cel_hlo_attr *a, cel_etype silent) {
  if (a->type->etype == silent && !a->name) return;  // MLIR leaves i64 and f64 away inside lists
  cel_buf_addz(out, " : ");
  cel_buf_addz(out, cel_etype_spelling(a->type->etype));
}

static void print_number(cel_buf *out, const cel_hlo_attr *a) {
  if (a->kind == CEL_HLO_ATTR_INT) {
    unsigned char bits[8];
    if (a->type->etype == CEL_ET_UI64 && a->i < 0 && cel_hlo_element_from_int(CEL_ET_UI64, a->i, bits))
      cel_buf_printf(out, "%llu", (unsigned long long)cel_hlo_element_bits(CEL_ET_UI64, bits));
    else
      cel_print_int(out, a->i);
    print_etype(out, a, CEL_ET_I64);
  } else {
    unsigned char element[16];
    cel_hlo_element_from_double(a->type->etype, a->f, element);
    cel_print_float(out, a->type->etype, element);
    print_etype(out, a, CEL_ET_F64);
  }
}

static void print_items(cel_buf *out, const cel_hlo_attr *a, bool named) {
  for (int64_t i = 0; i < a->n; i++) {
    if (i) cel_buf_addz(out, ", ");
    if (named) cel_print_named(out, a->list[i]);
    else cel_print_attr(out, a->list[i]);
  }
}

void cel_print_attr(cel_buf *out, const cel_hlo_attr *a) {
  switch (a->kind) {
    case CEL_HLO_ATTR_UNIT: cel_buf_addz(out, "unit"); break;
    case CEL_HLO_ATTR_BOOL: cel_buf_addz(out, a->i ? "true" : "false"); break;
    case CEL_HLO_ATTR_INT:
    case CEL_HLO_ATTR_FLOAT: print_number(out, a); break;
    case CEL_HLO_ATTR_STRING: cel_print_string(out, (cel_str){a->s, (size_t)a->n}); break;
    case CEL_HLO_ATTR_SYMBOL: cel_print_symbol(out, a->s); break;
    case CEL_HLO_ATTR_ENUM:
      cel_buf_printf(out, "#stablehlo<%s %s>", enum_kind(a->name), a->s);
      break;
    case CEL_HLO_ATTR_INTS: print_ints(out, a); break;
    case CEL_HLO_ATTR_LIST:
      cel_buf_addc(out, '[');
      print_items(out, a, false);
      cel_buf_addc(out, ']');
      break;
    case CEL_HLO_ATTR_DICT:
      cel_buf_addc(out, '{');
      print_items(out, a, true);
      cel_buf_addc(out, '}');
      break;
    case CEL_HLO_ATTR_DENSE:
      cel_print_dense(out, a);
      cel_buf_addz(out, " : ");
      cel_hlo_type_print(out, a->type);
      break;
    case CEL_HLO_ATTR_TYPE: cel_hlo_type_print(out, a->type); break;
    case CEL_HLO_ATTR_RAW: cel_buf_addz(out, a->s); break;
  }
}

void cel_print_named(cel_buf *out, const cel_hlo_attr *a) {
  const char *name = a->name ? a->name : "";
  if (is_bare(name)) cel_buf_addz(out, name);
  else cel_print_string(out, cel_str_of(name));
  if (a->kind == CEL_HLO_ATTR_UNIT) return;
  cel_buf_addz(out, " = ");
  cel_print_attr(out, a);
}

bool cel_print_name_in(const char *name, const char *names) {
  size_t n = strlen(name);
  for (const char *p = names; *p;) {
    size_t length = strcspn(p, " ");
    if (length == n && memcmp(p, name, n) == 0) return true;
    p += length;
    p += *p == ' ';
  }
  return false;
}

static int by_name(const void *a, const void *b) {
  const cel_hlo_attr *x = *(cel_hlo_attr *const *)a, *y = *(cel_hlo_attr *const *)b;
  return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

bool cel_print_attrs(cel_print *p, cel_hlo_attr *const *attrs, int n, const char *except) {
  if (n == 0) return false;
  cel_hlo_attr **sorted = CEL_NEW_ARRAY(&p->scratch, cel_hlo_attr *, n);
  int kept = 0;
  if (!sorted) return p->failed = true, false;
  for (int i = 0; i < n; i++)
    if (!attrs[i]->name || !cel_print_name_in(attrs[i]->name, except)) sorted[kept++] = attrs[i];
  if (kept == 0) return false;
  qsort(sorted, (size_t)kept, sizeof *sorted, by_name);
  for (int i = 0; i < kept; i++) {
    cel_buf_addz(p->out, i ? ", " : " {");
    cel_print_named(p->out, sorted[i]);
  }
  cel_buf_addc(p->out, '}');
  return true;
}
