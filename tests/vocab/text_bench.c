// Times of the text tools, for bench/text.py. Prints one JSON line: the median of the rounds in seconds of processor time.
//
//   text_bench load FILE ROUNDS             a tokenizer.json, parsed and made, or the vocabulary of a .gguf file
//   text_bench encode FILE TEXT ROUNDS      also how many ids came, and their FNV-1a hash
//   text_bench render FILE ROUNDS           {"template": text, "variables": {...}}: rendered, without compiling
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "model/gguf.h"
#include "model/gguf_convert.h"
#include "text/template/template.h"
#include "text/tokenizer.h"

enum { MOST = 1 << 29 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void must(cel_status s, const cel_err *err) {
  if (s == CEL_OK) return;
  fprintf(stderr, "text_bench: %s\n", err->text);
  exit(1);
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *times, int n) {
  qsort(times, (size_t)n, sizeof *times, by_size);
  return times[n / 2];
}

static cel_tokenizer *load_gguf(const char *path) {
  cel_arena arena;
  cel_map map;
  cel_gguf g;
  cel_err err = {0};
  const cel_gguf_vocab *words;
  cel_tokenizer *t;
  cel_arena_init(&arena);
  must(cel_map_open(path, &map, &err), &err);
  must(cel_gguf_read(map.data, map.bytes, path, &arena, &g, &err), &err);
  must(cel_gguf_read_vocab(&g, &arena, &words, &err), &err);
  if (!words) must(cel_fail(&err, CEL_MALFORMED, "%s: no vocabulary", path), &err);
  must(cel_tokenizer_from_gguf(words, path, &t, &err), &err);
  cel_arena_deinit(&arena);
  cel_map_close(&map);
  return t;
}

static cel_tokenizer *load(const char *path) {
  if (cel_str_ends(cel_str_of(path), CEL_STR(".gguf"))) return load_gguf(path);
  cel_json *json;
  cel_tokenizer *t;
  cel_err err = {0};
  must(cel_json_load(path, MOST, &json, &err), &err);
  must(cel_tokenizer_from_json(json, NULL, path, &t, &err), &err);
  cel_json_decref(json);
  return t;
}

static void time_load(const char *path, double *times, int rounds) {
  for (int i = 0; i < rounds; i++) {
    double start = now();
    cel_tokenizer *t = load(path);
    times[i] = now() - start;
    cel_tokenizer_free(t);
  }
  printf("{\"seconds\": %.6f}\n", median(times, rounds));
}

static void time_encode(const char *path, const char *text_path, double *times, int rounds) {
  cel_tokenizer *t = load(path);
  char *text;
  int64_t bytes, n = 0;
  cel_err err = {0};
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  must(cel_read_file(text_path, MOST, &text, &bytes, &err), &err);
  for (int i = 0; i < rounds; i++) {
    int32_t *ids;
    double start = now();
    must(cel_encode(t, (cel_str){text, (size_t)bytes}, (cel_encode_options){0}, &ids, &n, &err), &err);
    times[i] = now() - start;
    for (int64_t k = 0; i == 0 && k < n; k++) {
      for (int b = 0; b < 32; b += 8) hash = (hash ^ ((uint32_t)ids[k] >> b & 0xFF)) * UINT64_C(0x100000001B3);
    }
    free(ids);
  }
  free(text);
  cel_tokenizer_free(t);
  printf("{\"seconds\": %.6f, \"ids\": %lld, \"hash\": \"%016llx\"}\n", median(times, rounds), (long long)n,
         (unsigned long long)hash);
}

static void time_render(const char *path, double *times, int rounds) {
  cel_json *job;
  cel_template *t;
  cel_err err = {0};
  size_t bytes = 0;
  must(cel_json_load(path, MOST, &job, &err), &err);
  const cel_json *source = cel_json_get(job, "template");
  must(cel_template_compile((cel_str){cel_json_string_value(source), cel_json_string_length(source)}, path, &t, &err),
       &err);
  for (int i = 0; i < rounds; i++) {
    cel_buf out = {0};
    double start = now();
    must(cel_template_render(t, cel_json_get(job, "variables"), NULL, &out, &err), &err);
    times[i] = now() - start;
    bytes = out.n;
    cel_buf_deinit(&out);
  }
  cel_template_free(t);
  cel_json_decref(job);
  printf("{\"seconds\": %.9f, \"bytes\": %zu}\n", median(times, rounds), bytes);
}

int main(int argc, char **argv) {
  enum { ROUNDS_MOST = 10000 };
  static double times[ROUNDS_MOST];
  int rounds = argc > 3 ? atoi(argv[argc - 1]) : 0;
  if (rounds < 1 || rounds > ROUNDS_MOST) {
    fputs("text_bench load|encode|render FILE [TEXT] ROUNDS\n", stderr);
    return 2;
  }
  if (strcmp(argv[1], "load") == 0)
    time_load(argv[2], times, rounds);
  else if (strcmp(argv[1], "encode") == 0 && argc == 5)
    time_encode(argv[2], argv[3], times, rounds);
  else if (strcmp(argv[1], "render") == 0)
    time_render(argv[2], times, rounds);
  else
    return 2;
  return 0;
}
