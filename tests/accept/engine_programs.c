// Programs that check themselves (StableHLO's own), run on an engine of MLXCEL_XLA_DEVICE:
//
//   engine_programs FILE...      a line per function: `passed`, `refused`, `wrong` or `died`, a tab, FILE:LINE @FUNCTION, a tab,
//                                and why
//
// An engine knows no check operations, so each is taken out of the function, which returns their operands instead; what comes
// back is held to the rules of ref/check.h. The engine runs in a process of its own: when that dies, the function it was at has
// `died`, and another process goes on with the next one.
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/xla/engine/engine.h"
#include "backend/xla/engine/native/ref/check.h"
#include "base/file.h"

enum { CHECKS_MOST = 64, RESULTS_MOST = 2 * CHECKS_MOST, SECONDS_MOST = 120 };

typedef struct checks {
  const cel_hlo_op *op[CHECKS_MOST];
  int first[CHECKS_MOST];  // which result its first operand is
  int n, n_results;
} checks;

// ---- functions that return what they checked ----------------------------------------------------------

static cel_status take_check(cel_hlo_op *op, checks *c, cel_hlo_value **results, cel_err *err) {
  if (c->n == CHECKS_MOST || c->n_results + op->n_operands > RESULTS_MOST) return cel_fail(err, CEL_UNSUPPORTED, "more than %d checks", CHECKS_MOST);
  for (int i = 0; i < op->n_operands; i++) {
    const cel_hlo_type *t = op->operands[i]->type;
    if (t->kind != CEL_HLO_KIND_TENSOR) return cel_fail(err, CEL_UNSUPPORTED, "a check of something that is no tensor");
    if (t->etype != CEL_ET_PRED && cel_etype_bits(t->etype) < 8) return cel_fail(err, CEL_UNSUPPORTED, "no result has less than a byte per element");
    results[c->n_results + i] = op->operands[i];
  }
  c->op[c->n] = op;
  c->first[c->n++] = c->n_results;
  c->n_results += op->n_operands;
  return CEL_OK;
}

static void unlink_op(cel_hlo_op *op) {
  if (op->prev) op->prev->next = op->next;
  else op->parent->first = op->next;
  if (op->next) op->next->prev = op->prev;
  else op->parent->last = op->prev;
}

static void drop_checks(cel_hlo_func *f) {
  for (cel_hlo_op *op = f->body ? f->body->first : NULL; op; op = op->next) {
    if (cel_check_is(op)) unlink_op(op);
  }
}

// The function becomes the module's only public one, @main; its results become what its checks looked at.
static cel_status lift(cel_hlo_module *m, cel_hlo_func *f, checks *c, cel_err *err) {
  cel_hlo_value **results = CEL_NEW_ARRAY(&m->arena, cel_hlo_value *, RESULTS_MOST);
  const cel_hlo_type **types = CEL_NEW_ARRAY(&m->arena, const cel_hlo_type *, RESULTS_MOST);
  if (!results || !types) return cel_fail_oom(err, "results");
  for (cel_hlo_op *op = f->body->first; op; op = op->next) {
    if (!cel_check_is(op)) continue;
    CEL_TRY(take_check(op, c, results, err));
    unlink_op(op);
  }
  if (c->n == 0) return cel_fail(err, CEL_UNSUPPORTED, "no checks at its top level");
  for (int i = 0; i < c->n_results; i++) types[i] = results[i]->type;
  f->body->last->operands = results;
  f->body->last->n_operands = f->n_results = c->n_results;
  f->result_types = types;
  f->result_attrs = NULL;
  f->name = "main";
  for (cel_hlo_func *g = m->first_func; g; g = g->next) {
    g->is_private = g != f;
    if (g != f) drop_checks(g);
  }
  return CEL_OK;
}

// ---- one function on the engine -----------------------------------------------------------------------

typedef struct machine {
  const cel_engine_driver *driver;
  cel_engine *engine;
} machine;

static cel_status compare(const checks *c, const void *const *results, cel_err *err) {
  for (int i = 0; i < c->n; i++) {
    cel_ref_tensor in[8] = {{0}};
    for (int k = 0; k < c->op[i]->n_operands && k < 8; k++) {
      in[k] = (cel_ref_tensor){c->op[i]->operands[k]->type, (void *)(uintptr_t)results[c->first[i] + k]};
    }
    CEL_TRY(cel_check_holds(c->op[i], in, err));
  }
  return CEL_OK;
}

// CEL_INVALID: it computed something else. Anything else: the engine does not take or not run it.
static cel_status run_program(const machine *m, cel_program *p, const checks *c, cel_err *err) {
  const void *results[RESULTS_MOST] = {NULL};
  cel_executable *x = NULL;
  cel_status s = m->driver->compile(m->engine, p, NULL, &x, err);
  if (s == CEL_OK) s = m->driver->execute(x, NULL, NULL, results, err);
  if (s == CEL_INVALID) s = CEL_UNSUPPORTED;
  if (s == CEL_OK) s = compare(c, results, err);
  m->driver->discard(x);
  return s;
}

static cel_status run_function(const machine *m, cel_str text, const char *name, int which, cel_err *err) {
  cel_hlo_module *module;
  cel_program *p;
  checks c = {.n = 0};
  if (cel_hlo_parse(text, name, &module, err) != CEL_OK) return CEL_UNSUPPORTED;
  cel_hlo_func *f = module->first_func;
  for (int i = 0; i < which; i++) f = f->next;
  cel_status s = lift(module, f, &c, err);
  if (s != CEL_OK) {
    cel_hlo_module_free(module);
    return s;
  }
  CEL_TRY(cel_program_new(module, NULL, &p, err));  // the one public function
  s = run_program(m, p, &c, err);
  cel_program_free(p);
  return s;
}

// ---- all functions of all files -----------------------------------------------------------------------

typedef struct item {
  const char *file, *function;  // function NULL: the program cannot be read, text says why
  char *why;
  cel_str text;
  int line, which;
} item;

typedef struct items {
  item *at;
  size_t n, room;
} items;

static void add(items *all, item one) {
  if (all->n == all->room) {
    all->room = all->room ? 2 * all->room : 1024;
    all->at = realloc(all->at, all->room * sizeof *all->at);
    if (!all->at) exit(1);
  }
  all->at[all->n++] = one;
}

static bool runs_alone(const cel_hlo_func *f) { return !f->is_private && f->body && f->body->n_args == 0; }

static void add_program(items *all, const char *file, cel_str text, int line) {
  cel_hlo_module *m;
  cel_err err = {0};
  item one = {.file = file, .text = text, .line = line};
  if (cel_hlo_parse(text, file, &m, &err) != CEL_OK) {
    one.why = strdup(err.text);
    add(all, one);
    return;
  }
  for (const cel_hlo_func *f = m->first_func; f; f = f->next, one.which++) {
    if (!runs_alone(f)) continue;
    one.function = strdup(f->name);
    add(all, one);
  }
  cel_hlo_module_free(m);
}

// Programs are parted by "// -----" on a line of its own. The text stays for good.
static void add_file(items *all, const char *file) {
  char *text;
  int64_t n;
  cel_err err = {0};
  if (cel_read_file(file, 1 << 28, &text, &n, &err) != CEL_OK) {
    fprintf(stderr, "engine_programs: %s\n", err.text);
    exit(2);
  }
  int line = 1, begin_line = 1;
  char *begin = text;
  for (char *p = text; *p;) {
    char *end = strchr(p, '\n');
    end = end ? end + 1 : p + strlen(p);
    line++;
    if (!strncmp(p, "// -----", 8)) {
      add_program(all, file, (cel_str){begin, (size_t)(p - begin)}, begin_line);
      begin = end;
      begin_line = line;
    }
    p = end;
  }
  add_program(all, file, (cel_str){begin, strlen(begin)}, begin_line);
}

static void say(const char *outcome, const item *i, const char *why) {
  printf("%s\t%s:%d @%s\t", outcome, i->file, i->line, i->function ? i->function : "-");
  for (; *why; why++) putchar(*why == '\n' || *why == '\t' ? ' ' : *why);
  putchar('\n');
  fflush(stdout);
}

// The engine's process: from item `from` on, a byte into `fd` for each that was finished.
static void work(const items *all, size_t from, int fd) {
  machine m;
  cel_err err = {0};
  const char *rest, *folders = getenv("MLXCEL_XLA_PJRT_PATH"), *compiler = getenv("MLXCEL_XLA_IREE_COMPILE");
  cel_status s = cel_engine_find(getenv("MLXCEL_XLA_DEVICE"), &m.driver, &rest, &err);
  cel_engine_options o = {.device = rest, .precision = "f32", .n_threads = 1, .plugin_folders = folders ? folders : "",
                          .plugin_options = "", .compiler = compiler ? compiler : "", .rocm_target = "", .n_devices = 1};
  if (s == CEL_OK) s = m.driver->open(&o, &m.engine, &err);
  if (s != CEL_OK) {
    fprintf(stderr, "engine_programs: %s\n", err.text);
    _exit(2);
  }
  for (size_t i = from; i < all->n; i++) {
    const item *one = &all->at[i];
    cel_err why = {0};
    alarm(SECONDS_MOST);
    s = one->function ? run_function(&m, one->text, one->file, one->which, &why) : CEL_UNSUPPORTED;
    say(s == CEL_OK ? "passed" : s == CEL_INVALID ? "wrong" : "refused", one, one->function ? why.text : one->why);
    if (write(fd, "", 1) != 1) _exit(1);
  }
  _exit(0);
}

int main(int argc, char **argv) {
  items all = {0};
  for (int i = 1; i < argc; i++) add_file(&all, argv[i]);
  for (size_t done = 0; done < all.n;) {
    int ends[2], status = 0;
    char byte;
    fflush(stdout);
    if (pipe(ends) != 0) return 2;
    pid_t pid = fork();
    if (pid < 0) return 2;
    if (pid == 0) {
      close(ends[0]);
      work(&all, done, ends[1]);
    }
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], &byte, 1)) != 0;) {
      if (n > 0) done++;
      else if (errno != EINTR) return 2;
    }
    close(ends[0]);
    waitpid(pid, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) return 2;
    if (done < all.n) {
      char why[64];
      snprintf(why, sizeof why, "%s %d", WIFSIGNALED(status) ? "signal" : "status", WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
      say("died", &all.at[done++], why);
    }
  }
  return 0;
}
