// PCRE2 behind cel_regex. Where Oniguruma's Ruby syntax and Perl's differ in what published tokenizers
// use, the pattern is rewritten before it is compiled: see translate().
#include "text/regex.h"

#include "base/clock.h"
#include "text/regex_set.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

enum { MATCH_LIMIT = 20000000, HEAP_LIMIT_KIB = 256 * 1024, JIT_STACK_MAX = 32 << 20 };
enum { CALLS_BETWEEN = 64, ALLOWED_S = 2, ALLOWED_US_A_BYTE = 10 };  // hundred times what published patterns take

struct cel_regex {
  pcre2_code *code;
};

// Members of a class: White_Space (PCRE2's own \s has U+180E as well) and what Oniguruma calls a word
// character: letters, marks, decimal and letter numbers, connectors, circled letters, and of the other numbers
// those of Latin-1.
static const char SPACES[] =
    "\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";
#define WORDS                                                                                             \
  "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}" \
  "\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}"

// Puts what stands for the escape \c; false when the escape is kept. A negated set inside a set is PCRE2's
// own: \S differs at U+180E only, \W at marks.
static bool put_escape(cel_buf *out, char c, bool in_class) {
  const char *open = in_class ? "" : "[", *close = in_class ? "" : "]";
  switch (c) {
    case 's': cel_buf_printf(out, "%s%s%s", open, SPACES, close); return true;
    case 'w': cel_buf_printf(out, "%s%s%s", open, WORDS, close); return true;
    case 'h': cel_buf_printf(out, "%s0-9a-fA-F%s", open, close); return true;  // a hex digit in Ruby
    default: break;
  }
  if (in_class) return false;
  switch (c) {
    case 'S': cel_buf_printf(out, "[^%s]", SPACES); return true;
    case 'W': cel_buf_printf(out, "[^%s]", WORDS); return true;
    case 'H': cel_buf_addz(out, "[^0-9a-fA-F]"); return true;
    case 'b': cel_buf_addz(out, "(?:(?<=[" WORDS "])(?![" WORDS "])|(?<![" WORDS "])(?=[" WORDS "]))"); return true;
    case 'B': cel_buf_addz(out, "(?:(?<=[" WORDS "])(?=[" WORDS "])|(?<![" WORDS "])(?![" WORDS "]))"); return true;
    default: return false;
  }
}

// The inline flags after a parenthesis: "?mi:" becomes "?si:". Returns how many bytes were taken.
static size_t put_flags(cel_buf *out, cel_str p, size_t i) {
  if (i >= p.n || p.p[i] != '?') return 0;
  size_t e = i + 1;
  while (e < p.n && (p.p[e] == 'i' || p.p[e] == 'm' || p.p[e] == 'x' || p.p[e] == '-')) e++;
  if (e >= p.n || (p.p[e] != ':' && p.p[e] != ')')) return 0;
  for (size_t k = i; k < e; k++) cel_buf_addc(out, p.p[k] == 'm' ? 's' : p.p[k]);
  return e - i;
}

// Ruby: \h is a hex digit; (?m) is what Perl calls s, and ^ and $ always match at line ends (an option of
// pcre2_compile). For sets of sets see regex_set.h.
static cel_status translate(cel_str p, const char *where, cel_buf *out, cel_err *err) {
  int depth = 0;  // of [
  for (size_t i = 0; i < p.n; i++) {
    char c = p.p[i];
    if (c == '\\' && i + 1 < p.n) {
      i++;
      if (!put_escape(out, p.p[i], depth > 0)) cel_buf_add(out, p.p + i - 1, 2);
      continue;
    }
    if (depth == 0 && c == '[' && cel_regex_set_is_compound(p, i)) {
      CEL_TRY(cel_regex_put_set(p, &i, put_escape, where, out, err));
      i--;
      continue;
    }
    if (depth == 0 && c == '[') {
      depth = 1;
      cel_buf_addc(out, c);
      if (i + 1 < p.n && p.p[i + 1] == '^') cel_buf_addc(out, p.p[++i]);
      if (i + 1 < p.n && p.p[i + 1] == ']') cel_buf_addz(out, "\\]"), i++;
      continue;
    }
    if (depth > 0 && c == '[') {  // [:name:]
      size_t e = i + 2;
      while (e + 1 < p.n && !(p.p[e] == ':' && p.p[e + 1] == ']')) e++;
      e = CEL_MIN(e + 2, p.n);
      cel_buf_add(out, p.p + i, e - i);
      i = e - 1;
      continue;
    }
    if (c == ']') depth = 0;
    cel_buf_addc(out, c);
    if (depth == 0 && c == '(') i += put_flags(out, p, i + 1);
  }
  return out->failed ? cel_fail_oom(err, "a pattern") : CEL_OK;
}

static cel_status compile(cel_str pattern, cel_str text, const char *where, cel_regex *re, cel_err *err) {
  int code;
  PCRE2_SIZE at;
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C;
  pcre2_compile_context *cc = pcre2_compile_context_create(NULL);
  if (!cc) return cel_fail_oom(err, "a pattern");
  pcre2_set_newline(cc, PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(cc, 100);
  re->code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &code, &at, cc);
  pcre2_compile_context_free(cc);
  if (!re->code) {
    char why[160] = "";
    pcre2_get_error_message(code, (PCRE2_UCHAR *)why, sizeof why);
    return cel_fail(err, CEL_MALFORMED, "%s: the pattern \"%.*s\" can not be used: %s", where, CEL_STR_ARG(pattern),
                    why);
  }
  (void)pcre2_jit_compile(re->code, PCRE2_JIT_COMPLETE);  // where there is no JIT the interpreter runs
  return CEL_OK;
}

cel_status cel_regex_new(cel_str pattern, const char *where, cel_regex **out, cel_err *err) {
  *out = NULL;
  cel_regex *re = calloc(1, sizeof *re);
  if (!re) return cel_fail_oom(err, "a pattern");
  cel_buf text = {0};
  cel_status s = translate(pattern, where, &text, err);
  if (s == CEL_OK) s = compile(pattern, cel_buf_str(&text), where, re, err);
  cel_buf_deinit(&text);
  if (s != CEL_OK) {
    cel_regex_free(re);
    return s;
  }
  *out = re;
  return CEL_OK;
}

void cel_regex_free(cel_regex *re) {
  if (!re) return;
  pcre2_code_free(re->code);
  free(re);
}

static bool ready(cel_regex_run *run) {
  if (run->data) return true;
  run->data = pcre2_match_data_create(1, NULL);
  run->context = pcre2_match_context_create(NULL);
  run->stack = pcre2_jit_stack_create(32 << 10, JIT_STACK_MAX, NULL);
  if (!run->data || !run->context) return false;
  pcre2_set_match_limit(run->context, MATCH_LIMIT);
  pcre2_set_heap_limit(run->context, HEAP_LIMIT_KIB);
  if (run->stack) pcre2_jit_stack_assign(run->context, NULL, run->stack);
  return true;
}

void cel_regex_run_deinit(cel_regex_run *run) {
  pcre2_match_data_free(run->data);
  pcre2_match_context_free(run->context);
  pcre2_jit_stack_free(run->stack);
  *run = (cel_regex_run){0};
}

void cel_regex_run_restart(cel_regex_run *run) {
  run->calls = 0;
  run->moved = 0;
}

// A pattern that looks ahead over the whole text at every place has no match that is too long by itself.
static cel_status check_time(cel_regex_run *run, size_t bytes, cel_err *err) {
  if (run->calls++ % CALLS_BETWEEN) return CEL_OK;
  if (run->calls == 1) run->began_ms = cel_thread_cpu_ms();
  double allowed_ms = ALLOWED_S * 1e3 + (double)run->moved * ALLOWED_US_A_BYTE * 1e-3;
  if (cel_thread_cpu_ms() - run->began_ms <= allowed_ms) return CEL_OK;
  return cel_fail(err, CEL_TOO_LONG, "the tokenizer's pattern needs more than %d s for %zu bytes of a text of %zu bytes", ALLOWED_S,
                  run->moved, bytes);
}

cel_status cel_regex_find(const cel_regex *re, cel_regex_run *run, cel_str text, size_t from, bool *found,
                          size_t *start, size_t *end, cel_err *err) {
  *found = false;
  if (!ready(run)) return cel_fail_oom(err, "a pattern match");
  CEL_TRY(check_time(run, text.n, err));
  PCRE2_SPTR subject = (PCRE2_SPTR)(text.p ? text.p : "");
  int rc = pcre2_match(re->code, subject, text.n, from, PCRE2_NO_UTF_CHECK, run->data, run->context);
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
    rc = pcre2_match(re->code, subject, text.n, from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT, run->data, run->context);
  }
  if (rc == PCRE2_ERROR_NOMATCH) {
    run->moved += text.n - from;
    return CEL_OK;
  }
  if (rc == PCRE2_ERROR_NOMEMORY) return cel_fail_oom(err, "a pattern match");
  if (rc < 0) {
    return cel_fail(err, CEL_TOO_LONG,
                    "the tokenizer's pattern needs more than %d steps or %d MiB at byte %zu of a text of %zu bytes",
                    MATCH_LIMIT, HEAP_LIMIT_KIB / 1024, from, text.n);
  }
  const PCRE2_SIZE *at = pcre2_get_ovector_pointer(run->data);
  *found = true;
  *start = at[0];
  *end = at[1] < at[0] ? at[0] : at[1];  // \K may put the start behind the end
  if (*end > from) run->moved += *end - from;
  return CEL_OK;
}
