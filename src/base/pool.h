// A persistent team of threads that run one function together.
//
//   cel_pool_run(pool, work, context)   every member calls work(context, member, n_members) once; the
//                                       caller is member 0; returns when all are back.
//   cel_pool_barrier(pool, member)      inside work: nobody passes before everybody is there.
//
// Members spin for a short while between calls, then sleep: an idle program uses no CPU.
// Threads: run is called by one thread at a time.
#ifndef CEL_BASE_POOL_H
#define CEL_BASE_POOL_H

#include "base/status.h"

typedef struct cel_pool cel_pool;
typedef void cel_pool_work(void *context, int member, int n_members);

// 1 <= n_members <= 256; one member means no thread is made.
CEL_MUST_CHECK cel_status cel_pool_new(int n_members, cel_pool **out, cel_err *err);
void cel_pool_free(cel_pool *pool);
int cel_pool_members(const cel_pool *pool);
void cel_pool_run(cel_pool *pool, cel_pool_work *work, void *context);
void cel_pool_barrier(cel_pool *pool, int member);

#endif
