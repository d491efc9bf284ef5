// Tokenizers of published GGUF vocabularies against the ids that come with them: for NAME.gguf the texts of
// NAME.gguf.inp, ended by a line of their own, and the ids of each on a line of NAME.gguf.out. Vocabularies without
// such files must load, and decode what they encode.
//
//   vocab_pairs [FOLDER]     otherwise the folder is MLXCEL_TEST_VOCABS; without one it skips
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/file.h"
#include "model/gguf.h"
#include "model/gguf_convert.h"
#include "text/carry.h"
#include "text/tokenizer.h"

static const char text_end[] = "\n__ggml_vocab_test__\n";

typedef struct vocabulary {
  char path[1024];
  cel_map map;
  cel_arena arena;
  const cel_gguf_vocab *words;
  cel_tokenizer *t;
  double ms;  // of processor time that loading took
} vocabulary;

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);  // others may be at work
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static cel_status load(vocabulary *v, cel_err *err) {
  cel_gguf g;
  CEL_TRY(cel_map_open(v->path, &v->map, err));
  double start = now_ms();
  CEL_TRY(cel_gguf_read(v->map.data, v->map.bytes, v->path, &v->arena, &g, err));
  CEL_TRY(cel_gguf_read_vocab(&g, &v->arena, &v->words, err));
  if (!v->words) return cel_fail(err, CEL_MALFORMED, "%s: no vocabulary", v->path);
  CEL_TRY(cel_tokenizer_from_gguf(v->words, v->path, &v->t, err));
  v->ms = now_ms() - start;
  return CEL_OK;
}

static void unload(vocabulary *v) {
  cel_tokenizer_free(v->t);
  cel_arena_deinit(&v->arena);
  cel_map_close(&v->map);
}

static void say(const char *what, const int32_t *ids, int64_t n) {
  printf("#   %s", what);
  for (int64_t i = 0; i < n && i < 40; i++) printf(" %d", (int)ids[i]);
  puts("");
}

// Ids of one line of the .out file; moves *p behind it.
static int64_t read_line(const char **p, int32_t *ids, int64_t most) {
  int64_t n = 0;
  for (; **p && **p != '\n';) {
    char *end;
    long id = strtol(*p, &end, 10);
    if (end == *p) break;
    if (n < most) ids[n++] = (int32_t)id;
    for (*p = end; **p == ' ';) ++*p;
  }
  if (**p == '\n') ++*p;
  return n;
}

static bool same(const vocabulary *v, cel_str text, const int32_t *want, int64_t n_want) {
  int32_t *ids;
  int64_t n;
  cel_err err = {0};
  if (cel_encode(v->t, text, (cel_encode_options){0}, &ids, &n, &err) != CEL_OK) {
    printf("# %s\n", err.text);
    return false;
  }
  bool ok = n == n_want && memcmp(ids, want, (size_t)n * sizeof *ids) == 0;
  if (!ok) {
    printf("# \"%.*s\"\n", CEL_STR_ARG(text));
    say("gives   ", ids, n);
    say("right is", want, n_want);
  }
  free(ids);
  return ok;
}

// Number of pairs, or -1 when some differ.
static int compare(const vocabulary *v, const char *texts, const char *ids) {
  enum { MOST = 4096 };
  static int32_t want[MOST];
  int n = 0, wrong = 0;
  for (const char *end; (end = strstr(texts, text_end)); texts = end + sizeof text_end - 1, n++) {
    int64_t n_want = read_line(&ids, want, MOST);
    wrong += !same(v, (cel_str){texts, (size_t)(end - texts)}, want, n_want);
  }
  return wrong || n == 0 ? -1 : n;
}

// A vocabulary without pairs: some texts survive the way there and back. How words are parted may be lost.
static bool returns(const vocabulary *v) {
  static const char *const texts[] = {"hello world", "the quick brown fox", "one two three"};
  for (int i = 0; i < CEL_COUNT(texts); i++) {
    int32_t *ids;
    int64_t n;
    cel_buf out = {0};
    cel_err err = {0};
    cel_status s = cel_encode(v->t, cel_str_of(texts[i]), (cel_encode_options){0}, &ids, &n, &err);
    if (s == CEL_OK) s = cel_decode(v->t, ids, n, true, &out, &err);
    bool ok = s == CEL_OK && cel_str_is(cel_buf_str(&out), texts[i]);
    if (!ok) printf("# \"%s\" gives \"%s\" %s\n", texts[i], out.p ? out.p : "", err.text);
    if (s == CEL_OK) free(ids);
    cel_buf_deinit(&out);
    if (!ok) return false;
  }
  return true;
}

// The tokenizer in place of the file's, made of the tokenizer.json that the file's is carried to.
static bool carry(vocabulary *v) {
  cel_buf text = {0};
  cel_json *json = NULL;
  cel_tokenizer *t = NULL;
  cel_err err = {0};
  cel_status s = cel_carry_to_json(v->words, v->path, &text, &err);
  if (s == CEL_OK) s = cel_json_parse(cel_buf_str(&text), "tokenizer.json", &json, &err);
  if (s == CEL_OK) s = cel_tokenizer_from_json(json, NULL, "tokenizer.json", &t, &err);
  if (s != CEL_OK) printf("# %s\n", err.text);
  if (t) cel_tokenizer_free(v->t), v->t = t;
  cel_json_decref(json);
  cel_buf_deinit(&text);
  return t != NULL;
}

static bool unpaired_or_same(const vocabulary *v, const char *texts, const char *ids) {
  return texts ? ids && compare(v, texts, ids) > 0 : returns(v);
}

// One line of TAP; whether it is ok.
static bool check(const char *folder, const char *name) {
  vocabulary v = {0};
  char *texts = NULL, *ids = NULL, path[1100];
  cel_err err = {0};
  bool ok = false;
  snprintf(v.path, sizeof v.path, "%s/%s", folder, name);
  cel_arena_init(&v.arena);
  if (load(&v, &err) != CEL_OK) {
    printf("not ok - %s: %s\n", name, err.text);
  } else {
    snprintf(path, sizeof path, "%s.inp", v.path);
    int n = 0;
    if (cel_read_file(path, 1 << 24, &texts, NULL, &err) == CEL_OK) {
      snprintf(path, sizeof path, "%s.out", v.path);
      n = cel_read_file(path, 1 << 24, &ids, NULL, &err) == CEL_OK ? compare(&v, texts, ids) : -1;
      ok = n > 0;
    } else {
      ok = returns(&v);
    }
    if (ok && !(carry(&v) && unpaired_or_same(&v, texts, ids))) puts("# as a tokenizer.json:"), ok = false;
    printf("%s - %s: %lld tokens in %.0f ms, %d pairs\n", ok ? "ok" : "not ok", name,
           (long long)cel_tokenizer_size(v.t), v.ms, n);
  }
  free(texts);
  free(ids);
  unload(&v);
  return ok;
}

int main(int argc, char **argv) {
  enum { SKIP = 77, MOST = 256 };
  const char *folder = argc > 1 ? argv[1] : getenv("MLXCEL_TEST_VOCABS");
  if (!folder || !*folder) {
    puts("skipped: MLXCEL_TEST_VOCABS does not name the folder that scripts/vocab_cache.py makes");
    return SKIP;
  }
  struct dirent **names;
  int n = scandir(folder, &names, NULL, alphasort), files = 0, wrong = 0;
  for (int i = 0; i < n; i++) {
    if (cel_str_ends(cel_str_of(names[i]->d_name), CEL_STR(".gguf"))) {
      wrong += !check(folder, names[i]->d_name);
      files++;
    }
    free(names[i]);
  }
  if (n >= 0) free(names);
  if (files == 0) printf("not ok - %s holds no vocabulary\n", folder);
  return wrong || files == 0;
}
