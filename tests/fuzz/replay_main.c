// Runs a fuzz target over every file of the folders (or the files) given, without libFuzzer: the corpus
// as a plain test, on any compiler. Fails when a folder cannot be read or holds nothing.
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// One file, in a block of exactly its size so that a sanitizer sees a read past the end.
static int replay_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) return perror(path), -1;
  struct stat st;
  uint8_t *data = NULL;
  int n = -1;
  if (fstat(fileno(f), &st) == 0 && (data = malloc(st.st_size > 0 ? (size_t)st.st_size : 1)) != NULL &&
      fread(data, 1, (size_t)st.st_size, f) == (size_t)st.st_size) {
    LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
    n = 1;
  } else {
    fprintf(stderr, "%s: cannot be read\n", path);
  }
  free(data);
  fclose(f);
  return n;
}

// Number of inputs run under `path`, or -1.
static int replay(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return perror(path), -1;
  if (!S_ISDIR(st.st_mode)) return replay_file(path);
  DIR *dir = opendir(path);
  if (!dir) return perror(path), -1;
  int total = 0;
  for (struct dirent *e; total >= 0 && (e = readdir(dir));) {
    if (e->d_name[0] == '.') continue;
    char name[4096];
    int length = snprintf(name, sizeof name, "%s/%s", path, e->d_name);
    int n = length < (int)sizeof name ? replay_file(name) : -1;
    total = n < 0 ? -1 : total + n;
  }
  closedir(dir);
  return total;
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 1; i < argc; i++) {
    int n = replay(argv[i]);
    if (n < 0) return 1;
    total += n;
  }
  printf("%d inputs replayed\n", total);
  return total > 0 ? 0 : 1;
}
