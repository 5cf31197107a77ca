/* Messages between the ranks of a run, one rank a node: point to point, never
 * blocking, and indifferent to the death of a rank. Two doubles of the seam: a
 * world of one (coord/comm_local.c) and MPI (coord/comm_mpi.c, a module that is
 * opened only under a launcher, coord/comm.h).
 *
 * Nothing here finds out that a peer is dead: MPI says nothing when a host
 * falls silent. The caller keeps a deadline per peer, believes in answers only,
 * and calls forget.
 *
 * All functions from one thread. They may be called from inside `take`, except
 * poll and close. Ranks outside 0..size-1 are a bug of the caller. */
#ifndef ASSAY_COMM_H
#define ASSAY_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assay/status.h"

struct comm;
struct error;

#define COMM_MESSAGE_MAX ((size_t)64 << 20)  /* bytes of one message */
#define COMM_QUEUE_MAX   ((size_t)192 << 20) /* bytes waiting for one peer */

struct comm_ops {
	/* Copies and queues; `bytes` is free on return. A message to oneself
	 * comes with a later poll. To a peer that was forgotten or is broken:
	 * ST_OK, and nothing is sent. ST_RANGE: longer than COMM_MESSAGE_MAX.
	 * ST_NOSPACE: the peer does not keep up, the message was not queued. */
	enum status (*send)(struct comm *c, int to, const void *bytes, size_t len,
	                    struct error *err);
	/* Moves what can be moved now and hands over complete messages, those of
	 * one sender in the order they were sent; `bytes` only during the call.
	 * Never waits. *moved (may be NULL): something went out or came in, so
	 * another poll is worth while at once; otherwise sleep first.
	 * ST_IO: the transport as a whole refuses; err has its words. */
	enum status (*poll)(struct comm *c,
	                    void (*take)(void *arg, int from, const void *bytes, size_t len),
	                    void *arg, bool *moved, struct error *err);
	/* Bytes for this peer that its process has not taken yet. 0 does not say
	 * that its caller has seen them. */
	size_t (*queued)(const struct comm *c, int to);
	/* The transport says itself that the peer is out of reach, or what came
	 * from it makes no sense: sooner than a deadline, and never sure to come. */
	bool (*broken)(const struct comm *c, int rank);
	/* The peer is lost: nothing is sent to it or taken from it any more. Its
	 * buffers are abandoned, not waited for. */
	void (*forget)(struct comm *c, int rank);
	/* The comm is no more. With all_alive (every rank says so, and nothing is
	 * queued anywhere) the transport is shut down in order; where that takes
	 * longer than `seconds` the process ends here with `code`, so all else must
	 * be saved by now. Otherwise the transport is not touched again. False: it
	 * is still there, and the process is to be left by _exit. */
	bool (*close)(struct comm *c, bool all_alive, double seconds, int code);
};

/* Whether the other ranks live on when one dies. */
enum comm_recovery { COMM_RECOVERY_UNKNOWN, COMM_RECOVERY_OFF, COMM_RECOVERY_ON };

struct comm {
	const struct comm_ops *ops;
	int rank, size;
	const char *kind;    /* "local", "mpi" */
	const char *library; /* as it says itself, one line; "" for local */
	enum comm_recovery recovery;
};

/* --- between assay and a module --------------------------------------------- */

/* Raised with every change of this header or of enum status: a module may have
 * been built elsewhere and long ago. */
#define COMM_ABI 1u

/* What a module needs of the program: it links nothing of it. */
struct comm_host {
	/* Fills err (may be NULL): ST_IO with the transport's words; ST_RANGE and
	 * ST_NOSPACE as of send, without. Returns st. */
	enum status (*trouble)(struct error *err, enum status st, const char *words);
	/* Out of memory: ends the program. */
	void (*nomem)(void);
};

struct comm_module {
	unsigned abi;
	const char *family; /* whose launcher it needs: "openmpi" or "mpich" */
	/* Joins the world; may take seconds and waits for all ranks. */
	enum status (*open)(struct comm **out, const struct comm_host *host, struct error *err);
};

/* The one symbol a module exports, a const struct comm_module. */
#define COMM_MODULE_SYMBOL "assay_comm_module"

#endif
