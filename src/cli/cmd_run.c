// mlxcel run: a chat on the terminal. Ctrl-C stops the answer, not the program; Ctrl-D leaves.
#define _DEFAULT_SOURCE
#define _DARWIN_C_SOURCE
#include <errno.h>
#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/env.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/prompt.h"

typedef struct repl {
  const cli_options *o;
  const cel_lm *lm;
  cel_request request;
  cel_generation generation;
  cel_json *messages;
  EditLine *edit;  // NULL when standard input is no terminal
  History *history;
  cel_buf line;
  bool more;       // inside """
  bool dropped;    // the message of several lines that was begun: Ctrl-C
  bool too_long;   // more in one message than anybody types
} repl;

static const char help[] =
    "\"\"\"          begins and ends a message of several lines\n"
    "/clear       forgets the conversation\n"
    "/bye         leaves (Ctrl-D too)\n"
    "Ctrl-C       stops the answer\n";

static bool print_piece(void *context, cel_str piece) {
  (void)context;
  fwrite(piece.p, 1, piece.n, stdout);
  return fflush(stdout) == 0 && !ferror(stdout);
}

static char *prompt_text(EditLine *e) {
  static char first[] = ">>> ", next[] = "... ";
  void *r = NULL;
  el_get(e, EL_CLIENTDATA, &r);
  return r && ((repl *)r)->more ? next : first;
}

static cel_status reset(repl *r, cel_err *err) {
  cel_json_decref(r->messages);
  r->messages = cel_json_array();
  if (!r->messages) return cel_fail_oom(err, "the conversation");
  if (!r->o->system) return CEL_OK;
  return cli_add_message(r->messages, "system", cel_str_of(r->o->system), "--system", err);
}

// One line without its newline in r->line, of a message that has `held` bytes already. False at the end of input, or
// when it is too long.
static bool read_line(repl *r, size_t held) {
  cel_buf_clear(&r->line);
  if (r->edit) {
    int n = 0;
    const char *text = el_gets(r->edit, &n);
    while (!text && cli_interrupted) {  // Ctrl-C at the prompt: a fresh line
      cli_interrupted = 0;
      fputc('\n', stdout);
      el_reset(r->edit);
      if ((r->dropped = r->more)) return true;
      text = el_gets(r->edit, &n);
    }
    cli_interrupted = 0;
    if (!text || n <= 0) return false;
    cel_buf_add(&r->line, text, (size_t)n);
  } else {
    int c;
    while ((c = getc(stdin)) != EOF && c != '\n' && !r->too_long) {
      cel_buf_addc(&r->line, (char)c);
      r->too_long = r->line.failed || held + r->line.n > CLI_STDIN_MOST;
    }
    if (c == EOF && r->line.n == 0) return false;
    cel_buf_addc(&r->line, '\n');
  }
  while (r->line.n && (r->line.p[r->line.n - 1] == '\n' || r->line.p[r->line.n - 1] == '\r')) r->line.p[--r->line.n] = 0;
  return !r->line.failed && !r->too_long;
}

// A whole message: one line, or what stands between """ and """.
static bool read_message(repl *r, cel_buf *out) {
  do {
    cel_buf_clear(out);
    r->more = r->dropped = false;
    if (!read_line(r, 0)) return false;
    if (!cel_str_starts(cel_buf_str(&r->line), CEL_STR("\"\"\""))) {
      cel_buf_adds(out, cel_buf_str(&r->line));
      return true;
    }
    cel_buf_add(out, r->line.p + 3, r->line.n - 3);
    r->more = true;
    while (!cel_str_ends(cel_buf_str(out), CEL_STR("\"\"\"")) && read_line(r, out->n) && !r->dropped) {
      if (out->n) cel_buf_addc(out, '\n');
      cel_buf_adds(out, cel_buf_str(&r->line));
    }
    r->more = false;
    if (r->too_long) return false;
  } while (r->dropped);
  if (cel_str_ends(cel_buf_str(out), CEL_STR("\"\"\""))) out->p[out->n -= 3] = 0;
  return true;
}

static cel_status say(repl *r, cel_str text, cel_err *err) {
  CEL_TRY(cli_add_message(r->messages, "user", text, "the message", err));
  cli_prompt p = {0};
  cel_reply reply = {0};
  cel_status s = cli_prompt_chat(r->o, r->lm, r->messages, &p, err);
  r->request.ids = p.ids;
  r->request.n = p.n;
  cli_interrupted = 0;
  if (s == CEL_OK) s = cel_generate(r->lm, &r->generation, &r->request, &cli_interrupted, &reply, err);
  free(p.ids);
  if (s != CEL_OK) {  // the turn never happened
    cel_json_array_remove(r->messages, cel_json_array_size(r->messages) - 1);
    return s;
  }
  fputs(cli_interrupted ? " [stopped]\n" : "\n", stdout);
  fflush(stdout);
  if (r->o->verbose) cli_print_speed(r->lm, &reply);
  s = cli_add_message(r->messages, "assistant", cel_buf_str(&reply.text), "the answer", err);
  cel_reply_deinit(&reply);
  cli_interrupted = 0;
  return s;
}

// True when the line was a command (and *leave, when it ends the chat).
static bool command(repl *r, cel_str line, bool *leave) {
  cel_err err = {0};
  *leave = cel_str_is(line, "/bye") || cel_str_is(line, "/exit") || cel_str_is(line, "/quit");
  if (*leave || line.n == 0) return true;
  if (cel_str_is(line, "/?") || cel_str_is(line, "/help")) {
    fputs(help, stdout);
  } else if (cel_str_is(line, "/clear")) {
    if (reset(r, &err) != CEL_OK) cli_fail(&err);
  } else if (line.p[0] == '/') {
    printf("there is no command %.*s; /? lists them\n", CEL_STR_ARG(line));
  } else {
    return false;
  }
  return true;
}

static int chat(repl *r) {
  cel_buf message = {0};
  bool leave = false;
  while (!leave && read_message(r, &message)) {
    cel_str text = cel_buf_str(&message);
    if (command(r, text, &leave)) continue;
    HistEvent event;
    if (r->history) history(r->history, &event, H_ENTER, message.p);
    cel_err err = {0};
    if (say(r, text, &err) != CEL_OK) cli_fail(&err);
  }
  cel_buf_deinit(&message);
  cel_err err = {0};
  if (r->too_long) (void)cli_stdin_too_long(&err);
  return r->too_long ? cli_fail(&err) : EXIT_OK;
}

static void history_file(cel_buf *out) {
  const char *cache = cel_env(CEL_ENV_CACHE_DIR), *home = cel_env(CEL_ENV_HOME);
  if (cache) cel_buf_printf(out, "%s/history", cache);
  else if (home) cel_buf_printf(out, "%s/.cache/mlxcel/history", home);
}

static void open_editor(repl *r) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  r->edit = el_init("mlxcel", stdin, stdout, stderr);
  r->history = history_init();
  if (!r->edit || !r->history) return;
  HistEvent event;
  history(r->history, &event, H_SETSIZE, 1000);
  el_set(r->edit, EL_CLIENTDATA, r);
  el_set(r->edit, EL_PROMPT, prompt_text);
  el_set(r->edit, EL_EDITOR, "emacs");
  el_set(r->edit, EL_SIGNAL, 0);
  el_set(r->edit, EL_HIST, history, r->history);
  cel_buf file = {0};
  history_file(&file);
  if (file.p) history(r->history, &event, H_LOAD, file.p);
  cel_buf_deinit(&file);
}

static void close_editor(repl *r) {
  cel_buf file = {0};
  HistEvent event;
  history_file(&file);
  char *slash = file.p ? strrchr(file.p, '/') : NULL;
  if (slash) {  // a folder that cannot be made: no history, and nothing that would need one
    *slash = 0;
    if (cel_make_dirs(file.p, NULL) != CEL_OK) slash = NULL;
    else *slash = '/';
  }
  if (r->history && slash) {
    mode_t old = umask(077);  // what was typed is nobody else's business
    history(r->history, &event, H_SAVE, file.p);
    umask(old);
  }
  cel_buf_deinit(&file);
  if (r->edit) el_end(r->edit);
  if (r->history) history_end(r->history);
}

static int with_model(const cli_options *o, const cel_lm *lm, cel_err *err) {
  cel_logit_bias *bias = NULL;
  cel_str stops[CLI_LIST_MOST];
  repl r = {.o = o, .lm = lm};
  r.request = (cel_request){.max_tokens = o->max_tokens, .ignore_end = o->ignore_eos, .stops = stops, .n_stops = o->stop.n,
                            .text = print_piece};
  for (int i = 0; i < o->stop.n; i++) stops[i] = cel_str_of(o->stop.items[i]);
  if (cli_sampling(o, &r.request.sampling, &bias, err) != CEL_OK) {
    free(bias);
    return cli_usage("%s", err->text);
  }
  int status = EXIT_OK;
  if (reset(&r, err) != CEL_OK) {
    status = cli_fail(err);
  } else {
    cli_warn_no_template(lm);
    open_editor(&r);
    if (r.edit) puts("/? for help, /bye to leave");
    status = chat(&r);
    close_editor(&r);
  }
  cel_generation_close(&r.generation, lm);
  cel_json_decref(r.messages);
  cel_buf_deinit(&r.line);
  free(bias);
  return status;
}

int cmd_run(const cli_options *o) {
  if (o->prompt || o->ids || o->messages) return cmd_generate(o);
  int status = cli_one_model(o);
  if (status) return status;
  if (o->no_chat_template) return cli_usage("--no-chat-template is for one prompt: give it with -p");
  if (o->logprobs >= 0) return cli_usage("--logprobs are part of the JSON: use mlxcel generate with --json");
  if ((status = cli_prompt_check(o)) != EXIT_OK) return status;
  cel_err err = {0};
  cel_lm *lm;
  cli_catch_interrupts();
  if (cli_open(o, true, true, 1, o->context, &lm, &err) != CEL_OK) return cli_fail(&err);
  status = with_model(o, lm, &err);
  cel_lm_close(lm);
  return status;
}
