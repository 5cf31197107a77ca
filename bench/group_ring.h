/* Inside of a group: what goes over its connections, and the loop in which all of
 * it happens. To the right go the items of calls, each a head and its bytes, and
 * between them words; to the left only words, so that they never wait for data. */
#ifndef ASSAY_BENCH_GROUP_RING_H
#define ASSAY_BENCH_GROUP_RING_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/clock.h"
#include "group.h"

#define GROUP_CHUNK (128 << 10) /* bytes of an item at most */
#define GROUP_MAGIC (0x617373617931ULL << 16)

/* Calls, with the name of each. */
#define GROUP_CALL_LIST(X)                                                                         \
	X(JOIN, join)                                                                              \
	X(BARRIER, barrier)                                                                        \
	X(ALL_REDUCE, all_reduce)

enum group_kind {
#define X(name, text) GROUP_##name,
	GROUP_CALL_LIST(X)
#undef X
	/* words */
	GROUP_ASK,   /* to the left: do you still wait? */
	GROUP_ALIVE, /* to the right: yes */
	GROUP_FAIL,  /* both ways, and passed on */
	GROUP_BYE,   /* both ways: leaves, all is well */
};

enum group_why {
	GROUP_WELL,
	GROUP_GONE,   /* its connection ended */
	GROUP_LEFT,   /* closed its group though calls were due */
	GROUP_SILENT, /* no answer */
	GROUP_UNMET,  /* not even connected */
	GROUP_MIXED,  /* at another call, or it is no node of ours */
	GROUP_SLOW,   /* all answer: nobody is to blame */
	GROUP_WHYS
};

struct group_trouble {
	enum group_why why;
	int peer, seen;   /* whose fault, and who says so; peer -1: nobody's */
	uint64_t detail;  /* GONE: an errno value or 0; SILENT: ms without an answer */
	const char *text; /* UNMET, where it happened: all of it in words */
};

/* 48 bytes, in the order of the machine. */
struct group_head {
	uint64_t kind;  /* and GROUP_MAGIC, which also tells the order of bytes */
	uint64_t call;  /* running number, which all agree on */
	uint64_t shape; /* ALL_REDUCE: elements */
	uint64_t item;  /* of the call, from 0; FAIL: detail */
	uint32_t size;  /* bytes that follow */
	uint32_t more;  /* ALL_REDUCE: bytes of an element; FAIL: why */
	int32_t peer;   /* BARRIER, JOIN: whose; FAIL: whose fault */
	int32_t seen;   /* FAIL */
};

struct group_reader {
	struct group_head head;
	size_t have; /* bytes of head and what follows */
};

struct group {
	struct probe_ctx *ctx;
	int n, self, left, right;
	int left_fd, right_fd;  /* -1: none */
	struct net_address end; /* ours of the right one */
	uint64_t call;
	unsigned char *chunk; /* what came from the left */
	struct group_reader from_left, from_right;
	struct {
		struct group_head head;
		const void *bytes;
		size_t done;
		bool busy;
	} out;           /* to the right */
	bool right_over; /* said BYE, or that the next call fails */
	struct group_trouble trouble;
	struct group_trouble later; /* … of the next call, which others have begun */
	enum group_kind at;         /* the call it broke in … */
	int arrived;                /* … and, of a barrier, how many were known to be there */
};

/* One call as a stream of items: each has its place, and number k may be sent as
 * soon as k < lead + received. */
struct group_job {
	enum group_kind kind;
	uint64_t shape;
	uint32_t more;
	uint64_t to_send, to_recv, lead, sent, received;
	/* Number job->sent: its bytes, which stay until they are sent, and head->peer. */
	const void *(*give)(struct group *g, struct group_job *job, struct group_head *head);
	/* Number job->received; false: that cannot be it. */
	bool (*take)(struct group *g, struct group_job *job, const struct group_head *head);
	void *arg;
};

/* --- group_turn.c */

/* Does the job, or finds out who is to blame. */
enum status group_turn(struct group *g, struct group_job *job, int64_t deadline_ns,
                       struct error *err);
/* Breaks the group: the first trouble stays. Tells both sides. */
void group_break(struct group *g, enum group_kind at, struct group_trouble trouble);
/* What is said of trouble. */
enum status group_say(const struct group *g, struct error *err);
void group_bye(struct group *g);

/* --- group_meet.c: both connections; false: g->trouble. */
bool group_meet(struct group *g, const char *interface, int64_t until_ns);

#endif
