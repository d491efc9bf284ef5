// Asks a language model one question and prints the answer as it comes.
//
//   cc chat.c $(pkg-config --cflags --libs mlxcel) -o chat
//   ./chat MODEL "Why is the sky blue?"
//
// MODEL is a folder with config.json and safetensors, a GGUF file, or a name in the model store.
#include <mlxcel/mlxcel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Every call that can fail returns a status and, when it is not MLXCEL_OK, leaves one sentence in the error.
static int fail(const mlxcel_error *error) {
  fprintf(stderr, "%s: %s\n", mlxcel_status_word(error->status), error->text);
  return 1;
}

// Called with each piece of text that is final: whole characters, in order. Returning false would stop the answer.
static bool print_piece(void *context, const char *piece, size_t bytes) {
  (void)context;
  return fwrite(piece, 1, bytes, stdout) == bytes && fflush(stdout) == 0;
}

// A chat is a JSON array of messages. Programs with a JSON library build it with that; here only the question has to
// be put between quotes. The caller frees the result.
static char *one_message(const char *question) {
  static const char head[] = "[{\"role\":\"user\",\"content\":\"", tail[] = "\"}]";
  char *json = malloc(sizeof head + 6 * strlen(question) + sizeof tail);
  if (!json) return NULL;
  char *p = json + sprintf(json, "%s", head);
  for (const unsigned char *q = (const unsigned char *)question; *q; q++) {
    if (*q == '"' || *q == '\\') p += sprintf(p, "\\%c", *q);
    else if (*q < 0x20) p += sprintf(p, "\\u%04x", *q);
    else *p++ = (char)*q;
  }
  memcpy(p, tail, sizeof tail);
  return json;
}

// The question as token ids. Models that were taught to chat have a template, which says how a conversation is
// written down; others get the plain text.
static mlxcel_status make_prompt(const mlxcel_model *model, const char *question, int32_t **ids, int64_t *n,
                                 mlxcel_error *error) {
  if (!mlxcel_model_describe(model)->has_chat_template) {
    return mlxcel_tokenize(model, question, strlen(question), MLXCEL_ADD_SPECIAL | MLXCEL_PARSE_SPECIAL, ids, n, error);
  }
  char *messages = one_message(question);
  if (!messages) abort();
  mlxcel_status status = mlxcel_chat_tokenize(model, messages, NULL, ids, n, error);
  free(messages);
  return status;
}

static int answer(mlxcel_model *model, const char *question) {
  mlxcel_error error;
  int32_t *ids;
  int64_t n;
  if (make_prompt(model, question, &ids, &n, &error) != MLXCEL_OK) return fail(&error);

  // Option structs are filled by their init function first. What is not changed then is a good default.
  mlxcel_sampling sampling;
  mlxcel_sampling_init(&sampling, sizeof sampling);
  sampling.temperature = 0.7f;  // 0 would always take the most likely token
  sampling.top_p = 0.95f;
  sampling.seed = 1;            // the same seed gives the same answer

  mlxcel_generate_options options;
  mlxcel_generate_options_init(&options, sizeof options);
  options.sampling = &sampling;
  options.max_tokens = -1;  // until the model ends its answer, or the context is full
  options.text = print_piece;

  mlxcel_result *result;
  mlxcel_status status = mlxcel_generate(model, ids, n, &options, &result, &error);
  mlxcel_free(ids);
  if (status != MLXCEL_OK) return fail(&error);

  fprintf(stderr, "\n[%lld prompt tokens, %lld tokens, %s]\n", (long long)result->n_prompt, (long long)result->n_ids,
          result->finish == MLXCEL_FINISH_END ? "finished" : "cut off");
  mlxcel_result_free(result);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL QUESTION\n", argv[0]);
    return 2;
  }
  mlxcel_error error;
  mlxcel_model *model;
  if (mlxcel_model_open(argv[1], NULL, &model, &error) != MLXCEL_OK) return fail(&error);
  int status = answer(model, argv[2]);
  mlxcel_model_close(model);
  return status;
}
