/* The world of one rank: what it sends to itself waits for the next poll. It
 * lets the coordinator be one program for a node and for a cluster. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "coord/comm.h"

struct message {
	struct message *next;
	size_t len;
	char bytes[];
};

struct local {
	struct comm comm;
	struct message *first, *last;
	size_t queued;
};

enum status comm_trouble(struct error *err, enum status st, const char *words)
{
	if (st == ST_RANGE)
		return error_set(err, st, MSG_comm_too_long);
	if (st == ST_NOSPACE)
		return error_set(err, st, MSG_comm_full);
	return error_set(err, st, MSG_comm_trouble, words);
}

static enum status local_send(struct comm *c, int to, const void *bytes, size_t len,
                              struct error *err)
{
	struct local *l = (struct local *)c;
	struct message *m;

	(void)to;
	if (len > COMM_MESSAGE_MAX)
		return comm_trouble(err, ST_RANGE, NULL);
	if (l->queued + len > COMM_QUEUE_MAX)
		return comm_trouble(err, ST_NOSPACE, NULL);
	m = malloc(sizeof(*m) + len);
	if (!m)
		die_nomem();
	m->next = NULL;
	m->len = len;
	if (len)
		memcpy(m->bytes, bytes, len);
	*(l->first ? &l->last->next : &l->first) = m;
	l->last = m;
	l->queued += len;
	return ST_OK;
}

/* Those that are there now: what they cause to be sent comes with the next. */
static enum status local_poll(struct comm *c,
                              void (*take)(void *arg, int from, const void *bytes, size_t len),
                              void *arg, bool *moved, struct error *err)
{
	struct local *l = (struct local *)c;
	const struct message *end = l->last;
	bool more = l->first != NULL;

	(void)err;
	if (moved)
		*moved = more;
	while (more) {
		struct message *m = l->first;

		l->first = m->next;
		l->queued -= m->len;
		more = m != end;
		take(arg, 0, m->bytes, m->len);
		free(m);
	}
	return ST_OK;
}

static size_t local_queued(const struct comm *c, int to)
{
	(void)to;
	return ((const struct local *)c)->queued;
}

static bool local_broken(const struct comm *c, int rank)
{
	(void)c;
	(void)rank;
	return false;
}

static void local_forget(struct comm *c, int rank)
{
	(void)c;
	(void)rank;
}

static bool local_close(struct comm *c, bool all_alive, double seconds, int code)
{
	struct local *l = (struct local *)c;

	(void)all_alive;
	(void)seconds;
	(void)code;
	while (l->first) {
		struct message *m = l->first;

		l->first = m->next;
		free(m);
	}
	free(l);
	return true;
}

static const struct comm_ops ops = {
	.send = local_send,
	.poll = local_poll,
	.queued = local_queued,
	.broken = local_broken,
	.forget = local_forget,
	.close = local_close,
};

struct comm *comm_local(void)
{
	struct local *l = calloc(1, sizeof(*l));

	if (!l)
		die_nomem();
	l->comm = (struct comm){.ops = &ops,
	                        .size = 1,
	                        .kind = "local",
	                        .library = "",
	                        .recovery = COMM_RECOVERY_ON};
	return &l->comm;
}
