#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, FIRST_BLOCK = 4096, LARGEST_BLOCK = 1 << 20 };

struct cel_arena_block {
  cel_arena_block *next;
  size_t used, cap;
  _Alignas(ALIGN) unsigned char data[];
};

void cel_arena_init(cel_arena *a) { *a = (cel_arena){.block_bytes = FIRST_BLOCK}; }

static void free_chain(cel_arena_block *b) {
  while (b) {
    cel_arena_block *next = b->next;
    free(b);
    b = next;
  }
}

void cel_arena_deinit(cel_arena *a) {
  free_chain(a->head);
  cel_arena_init(a);
}

void cel_arena_reset(cel_arena *a) {
  if (!a->head) return;
  free_chain(a->head->next);
  a->head->next = NULL;
  a->head->used = 0;
  a->total_bytes = a->head->cap;
}

static cel_arena_block *grow(cel_arena *a, size_t bytes) {
  size_t cap = CEL_MAX(a->block_bytes, bytes);
  cel_arena_block *b = malloc(sizeof *b + cap);
  if (!b) return NULL;
  *b = (cel_arena_block){.next = a->head, .cap = cap};
  a->head = b;
  a->total_bytes += cap;
  if (a->block_bytes < LARGEST_BLOCK) a->block_bytes *= 2;
  return b;
}

void *cel_arena_alloc(cel_arena *a, size_t bytes) {
  if (bytes > SIZE_MAX / 2) return NULL;
  bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
  if (!a->block_bytes) cel_arena_init(a);
  cel_arena_block *b = a->head;
  if (!b || b->cap - b->used < bytes) b = grow(a, bytes);
  if (!b) return NULL;
  void *p = b->data + b->used;
  b->used += bytes;
  return memset(p, 0, bytes);
}

void *cel_arena_array(cel_arena *a, size_t count, size_t size) {
  if (size && count > SIZE_MAX / 2 / size) return NULL;
  return cel_arena_alloc(a, count * size);
}

char *cel_arena_dup(cel_arena *a, const char *p, size_t n) {
  char *s = cel_arena_alloc(a, n + 1);
  if (s && n) memcpy(s, p, n);
  return s;
}

char *cel_arena_printf(cel_arena *a, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  int n = vsnprintf(NULL, 0, fmt, args);
  va_end(args);
  if (n < 0) return NULL;
  char *s = cel_arena_alloc(a, (size_t)n + 1);
  if (!s) return NULL;
  va_start(args, fmt);
  vsnprintf(s, (size_t)n + 1, fmt, args);
  va_end(args);
  return s;
}
