#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "model/store.h"

int cli_fail(const cel_err *err) {
  fflush(stdout);
  fprintf(stderr, "error: %s\n", err->text[0] ? err->text : cel_status_word(err->status));
  return EXIT_RUNTIME;
}

int cli_usage(const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fputs("error: ", stderr);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fputc('\n', stderr);
  return EXIT_USAGE;
}

int cli_print(cel_buf *b, cel_err *err) {
  int status = EXIT_OK;
  if (b->failed) {
    cel_fail_oom(err, "the output");
    status = cli_fail(err);
  } else if (b->n && fwrite(b->p, 1, b->n, stdout) != b->n) {
    cel_fail(err, CEL_IO, "standard output: %s", strerror(errno));
    status = cli_fail(err);
  }
  cel_buf_deinit(b);
  return status;
}

// ---- models ----------------------------------------------------------------------------------------

typedef struct bar {
  double start_ms;
  bool shown;
} bar;

// On a terminal, and only when it takes more than a second.
static bool progress(void *context, double fraction) {
  bar *b = context;
  if (cli_interrupted) return false;
  if (!isatty(STDERR_FILENO) || cel_now_ms() - b->start_ms < 1000) return true;
  b->shown = true;
  int n = (int)(fraction * 30);
  fprintf(stderr, "\rloading [%.*s%*s] %3d %%", n, "##############################", 30 - n, "", (int)(fraction * 100));
  return true;
}

cel_status cli_model_path(const cli_options *o, cel_buf *out, cel_err *err) {
  const char *name = o->model ? o->model : o->n_operands ? o->operands[0] : NULL;
  if (!name) return cel_fail(err, CEL_INVALID, "no model: give one with -m (a path, OWNER/NAME, or NAME)");
  return cel_store_resolve(name, o->models_dir, out, err);
}

int cli_one_model(const cli_options *o) {
  if (!o->model && !o->n_operands) return cli_usage("give the model (a path, OWNER/NAME, or NAME in the store), or -m MODEL");
  if (o->model && o->n_operands) return cli_usage("the model is given twice: -m %.200s and %.200s", o->model, o->operands[0]);
  return EXIT_OK;
}

cel_status cli_open_files(const cli_options *o, cel_lm **out, cel_err *err) {
  cel_buf path = {0};
  cel_lm_options q = {.any_family = true};
  cel_status s = cli_model_path(o, &path, err);
  if (s == CEL_OK) s = cel_lm_open(path.p, &q, out, err);
  cel_buf_deinit(&path);
  return s;
}

// Everything the options of a model say. `seen` draws the bar.
static cel_load_options load_options(const cli_options *o, int max_sessions, int64_t context, bar *seen) {
  *seen = (bar){.start_ms = cel_now_ms()};
  return (cel_load_options){.n_threads = (int)CEL_MIN(o->threads, CLI_THREADS_MOST), .context = context,
                            .max_sessions = max_sessions, .prefill_chunk = (int)CEL_MIN(o->prefill_chunk, 65536),
                            .device = o->device, .n_devices = (int)CEL_MIN(o->devices, 1024), .artifact = o->artifact,
                            .artifact_use = o->artifact_rebuild ? CEL_ARTIFACT_REBUILD : CEL_ARTIFACT_USE,
                            .progress = progress, .progress_context = seen};
}

static cel_status open_with(const cli_options *o, const cel_lm_options *q, const bar *b, cel_lm **out, cel_err *err) {
  cel_buf path = {0};
  cel_status s = cli_model_path(o, &path, err);
  if (s == CEL_OK) s = cel_lm_open(path.p, q, out, err);
  if (b->shown) fputs("\r\033[K", stderr);
  cel_buf_deinit(&path);
  return s;
}

cel_status cli_open(const cli_options *o, bool need_backend, bool need_tokenizer, int max_sessions, int64_t context,
                    cel_lm **out, cel_err *err) {
  bar b;
  cel_lm_options q = {.need_backend = need_backend, .need_tokenizer = need_tokenizer, .backend = o->backend, .adapter = o->adapter};
  q.load = load_options(o, max_sessions, context, &b);
  return open_with(o, &q, &b, out, err);
}

cel_status cli_open_to_compile(const cli_options *o, cel_lm **out, cel_err *err) {
  bar b;
  cel_lm_options q = {.need_backend = true, .backend = o->backend, .adapter = o->adapter};
  q.load = load_options(o, (int)o->rows, o->context, &b);
  q.load.artifact = o->artifact_folder;
  q.load.artifact_use = CEL_ARTIFACT_MAKE;
  q.load.artifact_logits = o->with_logits;
  return open_with(o, &q, &b, out, err);
}

// ---- input -----------------------------------------------------------------------------------------

cel_status cli_parse_ids(const char *text, int32_t **ids, int64_t *n, cel_err *err) {
  *n = 0;
  *ids = malloc((strlen(text) / 2 + 2) * sizeof **ids);
  if (!*ids) return cel_fail_oom(err, "token ids");
  const char *p = text;
  for (;;) {
    p += strspn(p, " \t\r\n,[]");
    if (!*p) break;
    char *end;
    errno = 0;
    long v = strtol(p, &end, 10);
    if (end == p || errno || v < 0 || v > INT32_MAX || (*end && !strchr(" \t\r\n,]", *end))) {
      free(*ids);
      *ids = NULL;
      return cel_fail(err, CEL_INVALID, "token ids are whole numbers separated by commas; \"%.*s\" is not one",
                      (int)CEL_MIN(strcspn(p, " \t\r\n,]"), 20), p);
    }
    (*ids)[(*n)++] = (int32_t)v;
    p = end;
  }
  return CEL_OK;
}

cel_status cli_stdin_too_long(cel_err *err) {
  return cel_fail(err, CEL_TOO_LONG, "standard input: a text of more than %d bytes", CLI_STDIN_MOST);
}

cel_status cli_read_stdin(char **text, int64_t *n, cel_err *err) {
  cel_buf b = {0};
  char part[65536];
  size_t got;
  while (b.n <= CLI_STDIN_MOST && !b.failed && (got = fread(part, 1, sizeof part, stdin)) > 0) cel_buf_add(&b, part, got);
  if (ferror(stdin) || b.n > CLI_STDIN_MOST) {
    cel_buf_deinit(&b);
    if (ferror(stdin)) return cel_fail(err, CEL_IO, "standard input: %s", strerror(errno));
    return cli_stdin_too_long(err);
  }
  *n = (int64_t)b.n;
  *text = cel_buf_take(&b);
  return *text ? CEL_OK : cel_fail_oom(err, "standard input");
}

cel_status cli_read_json_file(const char *path, cel_json **out, cel_err *err) {
  if (strcmp(path, "-") != 0) return cel_json_load(path, 64 << 20, out, err);
  char *text;
  int64_t n;
  *out = NULL;
  CEL_TRY(cli_read_stdin(&text, &n, err));
  cel_status s = cel_json_parse((cel_str){text, (size_t)n}, "standard input", out, err);
  free(text);
  return s;
}

// ---- sampling --------------------------------------------------------------------------------------

static uint64_t random_seed(void) {
  uint64_t seed = 0;
  int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, &seed, sizeof seed) : 0;
  if (fd >= 0) close(fd);
  return n == (ssize_t)sizeof seed ? seed : (uint64_t)time(NULL);
}

static cel_status parse_bias(const char *text, cel_sampling *s, cel_logit_bias **bias, cel_err *err) {
  cel_json *json;
  CEL_TRY(cel_json_parse(cel_str_of(text), "--logit-bias", &json, err));
  cel_status status = CEL_OK;
  size_t n = cel_json_object_size(json);
  *bias = calloc(n + 1, sizeof **bias);
  if (!cel_json_is_object(json)) status = cel_fail(err, CEL_INVALID, "--logit-bias takes an object {\"ID\": bias, ...}");
  else if (!*bias) status = cel_fail_oom(err, "logit biases");
  size_t i;
  cel_str key;
  cel_json *value;
  if (status == CEL_OK) {
    cel_json_object_foreach(json, i, key, value) {
      char *end;
      long id = strtol(key.p, &end, 10);
      if (end != key.p + key.n || end == key.p || id < 0 || id > INT32_MAX || !cel_json_is_number(value)) {
        status = cel_fail(err, CEL_INVALID, "--logit-bias: \"%s\" must be a token id with a number", key.p);
        break;
      }
      double x = cel_json_number_value(value);
      (*bias)[s->n_bias++] = (cel_logit_bias){(int32_t)id, (float)(x <= -1e9 ? -(double)INFINITY : x)};
    }
  }
  cel_json_decref(json);
  s->bias = *bias;
  return status;
}

static int32_t clamp(int64_t v) { return (int32_t)CEL_MIN(CEL_MAX(v, INT32_MIN), INT32_MAX); }

cel_status cli_sampling(const cli_options *o, cel_sampling *s, cel_logit_bias **bias, cel_err *err) {
  *bias = NULL;
  cel_sampling_init(s);
  s->temperature = (float)o->temp;
  s->top_k = clamp(o->top_k);
  s->top_p = (float)o->top_p;
  s->min_p = (float)o->min_p;
  s->typical_p = (float)o->typical_p;
  s->top_n_sigma = (float)o->top_n_sigma;
  s->xtc_probability = (float)o->xtc_probability;
  s->xtc_threshold = (float)o->xtc_threshold;
  s->repetition_penalty = (float)o->repetition_penalty;
  s->frequency_penalty = (float)o->frequency_penalty;
  s->presence_penalty = (float)o->presence_penalty;
  s->penalty_last_n = clamp(o->penalty_last_n);
  s->dry_multiplier = (float)o->dry_multiplier;
  s->dry_base = (float)o->dry_base;
  s->dry_allowed_length = clamp(o->dry_allowed_length);
  s->dry_last_n = clamp(o->dry_last_n);
  s->seed = o->seed_given ? o->seed : random_seed();
  s->n_logprobs = (int32_t)o->logprobs;
  if (o->logprobs < -1 || o->logprobs > CEL_EVENT_MAX_LOGPROBS) {
    return cel_fail(err, CEL_INVALID, "--logprobs takes 0 to %d, not %lld", CEL_EVENT_MAX_LOGPROBS, (long long)o->logprobs);
  }
  if (o->logit_bias) CEL_TRY(parse_bias(o->logit_bias, s, bias, err));
  return cel_sampling_check(s, err);
}

// ---- JSON output -----------------------------------------------------------------------------------

void cli_add_ids(cel_buf *b, const int32_t *ids, int64_t n) {
  cel_buf_addc(b, '[');
  for (int64_t i = 0; i < n; i++) cel_buf_printf(b, "%s%d", i ? "," : "", ids[i]);
  cel_buf_addc(b, ']');
}

void cli_add_key(cel_buf *b, const char *key) {
  char last = b->n ? b->p[b->n - 1] : '{';
  if (last != '{' && last != '[') cel_buf_addc(b, ',');
  cel_json_add_string(b, cel_str_of(key));
  cel_buf_addc(b, ':');
}

void cli_add_ms(cel_buf *b, const char *key, double ms) {
  cli_add_key(b, key);
  cel_buf_printf(b, "%.3f", ms);
}
