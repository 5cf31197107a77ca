/* Counters of the machine that can contradict fio: sectors of the disks at the
 * bottom of a path, or bytes of the network when a server is there. They are
 * believed only after they have seen the test data being written: a container's
 * own network, or a path whose way down nobody knows, has counters that count
 * something else.
 *
 *     storage_counters_find, _read, write and fsync, _read, storage_counters_see;
 *     if seen: _read before and after the reads, and compare.
 *
 * What others do at the same time is counted too. So a growth below the bytes
 * read is proof of a cache; a greater one proves nothing. */
#ifndef ASSAY_BENCH_STORAGE_COUNTERS_H
#define ASSAY_BENCH_STORAGE_COUNTERS_H

#include <stdbool.h>

#include "assay/probe.h"
#include "base/arena.h"
#include "storage_place.h"

enum counter_kind { COUNTER_NONE, COUNTER_BLOCK, COUNTER_NET };

struct counter {
	const char *read, *written;  /* files below the root */
	int read_word, written_word; /* which word of them, from 0 */
	double unit;                 /* bytes */
};

struct storage_counters {
	enum counter_kind kind; /* BLOCK: disks, perhaps with network beside them */
	const char *names;      /* "nvme0n1 nvme1n1", "eth0 mlx5_0/1"; "": none */
	/* Every disk of the machine, because those below the path are unknown: the
	 * growth is the most that the path's own can have grown. */
	bool all_disks;
	const struct counter *list;
	int count;
};

struct counted {
	double read_bytes, written_bytes;
};

/* All texts in the arena. What offers no counters is left out. */
void storage_counters_find(struct storage_counters *out, struct arena *arena, const char *root,
                           const struct storage_place *place);
/* Sums since boot; false: none there, or one of them is gone. */
bool storage_counters_read(const struct storage_counters *counters, const char *root,
                           struct counted *now);
/* Whether the writing of test data (bytes > 0, incompressible, fsynced) showed:
 * at least 0.9 of it. */
bool storage_counters_see(const struct counted *before, const struct counted *after, double bytes);
/* The reason, when storage_counters_see says no or there are no counters (before
 * and after may then be NULL). */
void storage_counters_blind(struct probe_ctx *ctx, struct reason *reason,
                            const struct storage_counters *counters, const struct counted *before,
                            const struct counted *after, double bytes);

/* What the network of this machine can carry in one direction, bytes/s: the sum
 * over links that are up; 0 when the speed of any is unknown, or there is none. */
double storage_link_bytes_per_s(const char *root);

/* Smallest of several TCP round trips to the server of an NFS mount, in us. Takes
 * 2 s at most and asks no name server. ST_UNSUPPORTED: the mount does not say who
 * the server is, or is reached by RDMA, which is faster than TCP can show;
 * ST_TIMEOUT: nobody answers. */
enum status storage_round_trip(double *us, struct arena *arena, const struct storage_place *place,
                               const struct clock_source *clock, struct error *err);

#endif
