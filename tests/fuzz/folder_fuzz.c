// A model folder: config.json, model.safetensors.index.json and tokenizer_config.json, ended by a NUL each (an empty one
// is not there), then the bytes of model-00001-of-00002.safetensors; the second shard is a good one. Opened as models are.
// links: cel_model
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { PARTS = 4 };
static const char *const names[PARTS] = {"config.json", "model.safetensors.index.json", "tokenizer_config.json",
                                         "model-00001-of-00002.safetensors"};
static const char second[] = "model-00002-of-00002.safetensors";
static char folder[64];

static void check(bool holds) {
  if (!holds) abort();
}

static void put(const char *name, const void *p, size_t n) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  check(fd >= 0 && (n == 0 || write(fd, p, n) == (ssize_t)n));
  close(fd);
}

static void drop(const char *name) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  unlink(path);
}

static void clean_up(void) {
  for (int i = 0; i < PARTS; i++) drop(names[i]);
  drop(second);
  rmdir(folder);
}

static void make_folder(void) {
  static const char good[] = "\x40\0\0\0\0\0\0\0{\"b.weight\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}     12345678";
  struct stat st;
  snprintf(folder, sizeof folder, "%s/mlxcel-fuzz-XXXXXX", stat("/dev/shm", &st) == 0 ? "/dev/shm" : "/tmp");
  check(mkdtemp(folder) != NULL);
  atexit(clean_up);
  put(second, good, sizeof good - 1);
}

static void use(const cel_checkpoint *c) {
  for (int64_t i = 0; i < c->n_tensors; i++) {
    const cel_tensor *t = &c->tensors[i];
    volatile unsigned char last = t->bytes ? ((const unsigned char *)t->data)[t->bytes - 1] : 0;
    (void)last;
    char module[64];
    size_t n = strlen(t->name);
    if (n < 8 || n >= sizeof module || strcmp(t->name + n - 7, ".weight") != 0) continue;
    snprintf(module, sizeof module, "%.*s", (int)(n - 7), t->name);
    cel_weight w;
    cel_err err;
    if (cel_checkpoint_weight(c, module, &w, &err) != CEL_OK || w.cols > 1 << 20) continue;
    float *row = malloc((size_t)w.cols * sizeof *row);
    check(row != NULL);
    cel_weight_row(&w, w.rows - 1, row);
    free(row);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  if (!folder[0]) make_folder();
  for (int i = 0; i < PARTS; i++) {
    const uint8_t *nul = n && i + 1 < PARTS ? memchr(data, 0, n) : NULL;
    size_t part = nul ? (size_t)(nul - data) : n;
    if (part) put(names[i], data, part);
    else drop(names[i]);
    size_t step = nul ? part + 1 : part;
    data += step, n -= step;
  }
  cel_checkpoint *c = NULL;
  cel_err err = {0};
  cel_status s = cel_checkpoint_open(folder, &c, &err);
  if (s == CEL_OK) use(c);
  else check(s != CEL_OOM && err.text[0] && !strchr(err.text, '\n'));
  cel_checkpoint_close(c);
  return 0;
}
