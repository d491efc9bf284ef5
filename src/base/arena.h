// A growing region with one lifetime: allocate many, free all at once. One per model, program,
// session or request. Like zstd's workspace, unlike malloc: nothing is freed alone.
// Threads: one at a time.
#ifndef CEL_BASE_ARENA_H
#define CEL_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

typedef struct cel_arena_block cel_arena_block;

typedef struct cel_arena {
  cel_arena_block *head;  // newest block
  size_t block_bytes;     // size of the next ordinary block
  size_t total_bytes;     // what was asked from malloc, for memory reports
} cel_arena;

void cel_arena_init(cel_arena *a);    // no allocation yet
void cel_arena_deinit(cel_arena *a);  // frees all; the arena is as after init
void cel_arena_reset(cel_arena *a);   // forgets all, keeps the newest block for reuse

// `bytes` zeroed bytes aligned to 16, NULL when memory is out or the size is absurd. 0 bytes gives a
// valid pointer.
void *cel_arena_alloc(cel_arena *a, size_t bytes);
// count * size with the product checked.
void *cel_arena_array(cel_arena *a, size_t count, size_t size);
// Copies n bytes and adds a NUL.
char *cel_arena_dup(cel_arena *a, const char *p, size_t n);
char *cel_arena_printf(cel_arena *a, const char *fmt, ...) CEL_PRINTF(2, 3);

#define CEL_NEW(arena, type) ((type *)cel_arena_alloc((arena), sizeof(type)))
#define CEL_NEW_ARRAY(arena, type, n) ((type *)cel_arena_array((arena), (size_t)(n), sizeof(type)))

#endif
