// A persistent team of threads that run one function together.
//
//   cel_pool_run(pool, work, context)   every member calls work(context, member, n_members) once; the
//                                       caller is member 0; returns when all are back.
//   cel_pool_barrier(pool, member)      inside work: nobody passes before everybody is there.
//   cel_pool_take(pool, member, ..)     inside work: pieces of work by turns, so that who is fast helps who is slow.
//
// Members spin for a short while between calls, then sleep: an idle program uses no CPU.
// Threads: run is called by one thread at a time.
#ifndef CEL_BASE_POOL_H
#define CEL_BASE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct cel_pool cel_pool;
typedef void cel_pool_work(void *context, int member, int n_members);

// 1 <= n_members <= 256; one member means no thread is made.
CEL_MUST_CHECK cel_status cel_pool_new(int n_members, cel_pool **out, cel_err *err);
void cel_pool_free(cel_pool *pool);
int cel_pool_members(const cel_pool *pool);
void cel_pool_run(cel_pool *pool, cel_pool_work *work, void *context);
void cel_pool_barrier(cel_pool *pool, int member);

typedef struct cel_pool_piece {
  int owner, index;  // piece `index` of those of member `owner`
} cel_pool_piece;
// A round of work of which every member has n pieces, 1 <= n <= CEL_POOL_MOST_PIECES: takes one of `member`'s own, in order, or,
// when those are gone, one of a member that has begun the round too. False: nothing is left to take; others may still work at
// theirs. Each piece is given out once. Every member calls it until then, with the same number and n for a round; the number is another
// than that of the round before.
enum { CEL_POOL_MOST_PIECES = 0xFFFF };
CEL_MUST_CHECK bool cel_pool_take(cel_pool *pool, int member, uint16_t round, int n, cel_pool_piece *out);

#endif
