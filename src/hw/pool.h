/* Threads that each sit on one logical CPU and do their part of a job together.
 * They sleep between jobs. */
#ifndef ASSAY_HW_POOL_H
#define ASSAY_HW_POOL_H

#include <stdbool.h>

#include "base/error.h"

struct pool;

/* Called on every thread: part 0 … parts - 1, on the CPU given for it. */
typedef void (*pool_fn)(void *arg, int part, int parts);

/* One thread per entry of cpus. Threads that cannot be bound (a CPU that went
 * offline) run unbound; pool_bound counts the others. */
enum status pool_start(struct pool **out, const int *cpus, int count, struct error *err);
/* Runs fn on all threads and returns when every one is done. */
void pool_run(struct pool *p, pool_fn fn, void *arg);
int pool_bound(const struct pool *p);
void pool_stop(struct pool *p); /* NULL is allowed */

/* Binds the calling thread to these CPUs; false: refused by the kernel. */
bool thread_bind(const int *cpus, int count);

#endif
