// Continues several prompts at once: every step gives one token to each of them. Reading the weights is what costs time,
// so a step for four costs little more than a step for one.
//
//   cc batch.c $(pkg-config --cflags --libs mlxcel) -o batch
//   ./batch MODEL "Once upon a time" "The capital of France is" "1, 2, 3,"
#include <mlxcel/mlxcel.h>
#include <stdio.h>
#include <string.h>

enum { PROMPTS_MOST = 16, TOKENS_MOST = 32 };

static int fail(const mlxcel_error *error) {
  fprintf(stderr, "%s: %s\n", mlxcel_status_word(error->status), error->text);
  return 1;
}

// A session is one sequence: it remembers its tokens and what the model computed for them. This opens one for a prompt.
static mlxcel_status begin(mlxcel_model *model, const char *prompt, mlxcel_session **out, mlxcel_error *error) {
  int32_t *ids;
  int64_t n;
  mlxcel_status status = mlxcel_tokenize(model, prompt, strlen(prompt), MLXCEL_ADD_SPECIAL | MLXCEL_PARSE_SPECIAL, &ids,
                                         &n, error);
  if (status != MLXCEL_OK) return status;

  mlxcel_session_options options;
  mlxcel_session_options_init(&options, sizeof options);
  options.max_tokens = TOKENS_MOST;  // without `sampling` the most likely token is taken
  status = mlxcel_session_open(model, &options, out, error);
  if (status == MLXCEL_OK) status = mlxcel_session_prompt(*out, ids, n, error);
  mlxcel_free(ids);
  return status;
}

// Prints what a session holds: the prompt and what came behind it.
static mlxcel_status print(const mlxcel_model *model, const mlxcel_session *session, mlxcel_error *error) {
  char *text;
  mlxcel_status status = mlxcel_detokenize(model, mlxcel_session_tokens(session), mlxcel_session_length(session), 0, &text,
                                           NULL, error);
  if (status != MLXCEL_OK) return status;
  printf("--- %lld tokens: %s\n", (long long)mlxcel_session_length(session), text);
  mlxcel_free(text);
  return status;
}

// Steps all sessions until each has finished. A session that has drops out of the batch; the others do not notice:
// what a session says never depends on its neighbours.
static mlxcel_status run(mlxcel_model *model, mlxcel_session *const *sessions, int32_t n, mlxcel_error *error) {
  mlxcel_session *active[PROMPTS_MOST];
  mlxcel_event events[PROMPTS_MOST];
  memcpy(active, sessions, (size_t)n * sizeof *active);
  while (n > 0) {
    mlxcel_status status = mlxcel_step(model, active, n, events, error);
    if (status != MLXCEL_OK) return status;
    int32_t left = 0;
    for (int32_t i = 0; i < n; i++) {
      if (events[i].finish == MLXCEL_FINISH_ERROR) fprintf(stderr, "one prompt failed: %s\n", events[i].text);
      if (events[i].finish == MLXCEL_FINISH_NONE) active[left++] = active[i];
    }
    n = left;
  }
  return MLXCEL_OK;
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > 2 + PROMPTS_MOST) {
    fprintf(stderr, "usage: %s MODEL PROMPT... (at most %d prompts)\n", argv[0], PROMPTS_MOST);
    return 2;
  }
  int32_t n = argc - 2;
  mlxcel_error error;
  mlxcel_model *model;
  mlxcel_session *sessions[PROMPTS_MOST] = {0};

  // How many sessions can be open at once is decided when the model is opened, for their memory is set aside then.
  mlxcel_model_options options;
  mlxcel_model_options_init(&options, sizeof options);
  options.max_sessions = n;
  if (mlxcel_model_open(argv[1], &options, &model, &error) != MLXCEL_OK) return fail(&error);

  mlxcel_status status = MLXCEL_OK;
  for (int32_t i = 0; i < n && status == MLXCEL_OK; i++) status = begin(model, argv[2 + i], &sessions[i], &error);
  if (status == MLXCEL_OK) status = run(model, sessions, n, &error);
  for (int32_t i = 0; i < n && status == MLXCEL_OK; i++) status = print(model, sessions[i], &error);

  for (int32_t i = 0; i < n; i++) mlxcel_session_close(sessions[i]);  // NULL is fine
  mlxcel_model_close(model);
  return status == MLXCEL_OK ? 0 : fail(&error);
}
