/* A group: the children of one unit of all nodes (ctx->peers), joined to a ring of
 * TCP connections of their own, for sums without GPUs. Each is connected to its right
 * neighbour, peers[(self_index + 1) % n_peers], and to its left one; one node alone is
 * a group too.
 *
 * Calls are made by all, in the same order and with the same shapes. Numbers travel
 * in the byte order of the machine; one of another order is refused as `mixed`, so
 * is another call than ours. TCP's checksum is all that guards them on the way.
 *
 * Every call ends at its deadline (of ctx->clock, and no later than that of the
 * probe), 0.1 s later at most. Its last third, at most 2 s, is for finding out who
 * is to blame: each who has waited in vain asks its left neighbour, who answers if
 * it waits too and asks on. Who does not answer is silent, and those who know tell
 * all others round the ring both ways. So give all about the same deadline.
 * ST_IO: one is gone; ST_TIMEOUT: one is silent, or did not come, or there was too
 * little time and all answer; ST_CORRUPT: mixed. `err` names the one and who noticed.
 * Any of them breaks the group: later calls fail the same way at once. What a failed
 * call was to fill holds anything.
 * A call that succeeds here may fail for others; only a barrier says more.
 *
 * Memory of a group: 128 KiB, from malloc; all else is the probe's arena. */
#ifndef ASSAY_BENCH_GROUP_H
#define ASSAY_BENCH_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "assay/probe.h"
#include "base/error.h"
#include "net_link.h"

struct group;

/* Joins; successful only if all have. Neighbours meet by ctx->send_text and
 * recv_text, one text each: nobody else may wait for texts between neighbours
 * meanwhile. `interface`: only over that one ("eth0"), or NULL. *group is set in any
 * case and to be closed. */
enum status group_open(struct probe_ctx *ctx, const char *interface, int64_t deadline_ns,
                       struct group **group, struct error *err);
/* Leaves, and lets the others know. NULL: nothing. */
void group_close(struct group *g);

/* Returns once all have called it. */
enum status group_barrier(struct group *g, int64_t deadline_ns, struct error *err);

/* Each element becomes its sum over all nodes, the same bits everywhere. The array
 * is cut in n segments, the first count % n of them one longer than count / n;
 * that of number s is summed up from x[s] to the right: ((x[s] + x[s+1]) + …) + x[s-1].
 * Each node sends 2(n-1)/n of the array and receives as much at the same time:
 * algbw = bytes / seconds, busbw = algbw * 2(n-1)/n (as nccl-tests count it). */
enum status group_all_reduce_float(struct group *g, float *data, size_t count, int64_t deadline_ns,
                                   struct error *err);
enum status group_all_reduce_double(struct group *g, double *data, size_t count,
                                    int64_t deadline_ns, struct error *err);

/* Index of the one that broke the group; -1: none did, or nobody can be named. */
int group_blamed(const struct group *g);
/* Our end of the connection to the right; text NULL: there is none. */
struct net_address group_end(const struct group *g);

#endif
