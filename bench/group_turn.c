/* The loop of a group: sends, receives, waits, and finds out who is to blame. In a
 * ring one who stops makes everybody wait for his left neighbour; only who asks
 * round it learns where the silence begins. */
#include "group_ring.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define GRACE_LEAST_NS (20 * NS_PER_MS)
#define GRACE_MOST_NS  NS_PER_S
#define TELL_NS        (50 * NS_PER_MS) /* for what is under way to the right */

_Static_assert(sizeof(struct group_head) == 48, "no gaps: it goes over the wire as it is");

/* One call under way. */
struct turn {
	struct group *g;
	struct group_job *job;
	int64_t began_ns, ask_ns, grace_ns; /* ask_ns: when to ask, then when it was */
	bool asking, answered, alive_due;
	struct group_trouble trouble;
};

static int64_t now(const struct group *g)
{
	return clock_now(g->ctx->clock);
}

/* --- to the right, to the left ------------------------------------------------------ */

static struct group_head word(enum group_kind kind)
{
	return (struct group_head){.kind = GROUP_MAGIC | kind};
}

/* Words to the left meet an empty connection: one that does not fit is lost with it. */
static void tell_left(const struct group *g, struct group_head head)
{
	if (g->left_fd >= 0)
		(void)!send(g->left_fd, &head, sizeof(head), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void start(struct group *g, struct group_head head, const void *bytes)
{
	g->out.head = head;
	g->out.bytes = bytes;
	g->out.done = 0;
	g->out.busy = true;
}

/* What is under way, as far as it goes: 0 or an errno value. */
static int push(struct group *g)
{
	size_t head = sizeof(g->out.head), all = head + g->out.head.size;

	while (g->out.busy) {
		size_t at = g->out.done, skip = at > head ? at - head : 0;
		struct iovec parts[2] = {
			{(char *)&g->out.head + (at < head ? at : head), at < head ? head - at : 0},
			{(char *)g->out.bytes + skip, g->out.head.size - skip}};
		struct msghdr m = {.msg_iov = parts, .msg_iovlen = g->out.head.size ? 2 : 1};
		ssize_t n = sendmsg(g->right_fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno;
		g->out.done += n > 0 ? (size_t)n : 0;
		g->out.busy = g->out.done < all;
	}
	return 0;
}

static void tell_right(struct group *g, struct group_head head)
{
	int64_t until = now(g) + TELL_NS;
	int failed = g->right_fd < 0 || g->right_over ? EPIPE : push(g);

	while (!failed && g->out.busy && now(g) < until) {
		struct pollfd p = {.fd = g->right_fd, .events = POLLOUT};

		poll(&p, 1, (int)(TELL_NS / NS_PER_MS));
		failed = push(g);
	}
	if (failed || g->out.busy)
		return;
	start(g, head, NULL);
	push(g);
}

/* A whole frame more: 1; not yet: 0; else an errno value with a minus. */
static int pull(int fd, struct group_reader *r, unsigned char *bytes, size_t most)
{
	const size_t head = sizeof(r->head);

	for (;;) {
		bool in_head = r->have < head;
		size_t all = in_head ? head : head + r->head.size;
		ssize_t n;

		if (!in_head && r->have == all) {
			r->have = 0;
			return 1;
		}
		n = recv(fd, in_head ? (unsigned char *)&r->head + r->have : bytes + r->have - head,
		         all - r->have, MSG_DONTWAIT);
		if (n == 0)
			return -EPIPE;
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		r->have += n > 0 ? (size_t)n : 0;
		if (in_head && r->have == head &&
		    ((r->head.kind & ~0xffULL) != GROUP_MAGIC || r->head.size > most))
			return -EPROTO;
	}
}

/* --- trouble --------------------------------------------------------------------------- */

static void blame(struct turn *t, enum group_why why, int peer, uint64_t detail)
{
	if (t->trouble.why == GROUP_WELL)
		t->trouble = (struct group_trouble){
			.why = why, .peer = peer, .seen = t->g->self, .detail = detail};
}

static void blame_lost(struct turn *t, int peer, int failed)
{
	if (failed == EPROTO)
		blame(t, GROUP_MIXED, peer, 0);
	else
		blame(t, GROUP_GONE, peer, failed == EPIPE ? 0 : (uint64_t)failed);
}

/* What another one found out. Who is a call ahead of us has finished this one, and
 * so can we: what we need is on its way to us from the left. */
static void believe(struct turn *t, const struct group_head *head, int from)
{
	struct group *g = t->g;
	int least = head->more == GROUP_SLOW ? -1 : 0;
	bool ahead = head->call > g->call && from == g->right;
	struct group_trouble *to = ahead ? &g->later : &t->trouble;

	if (head->more == GROUP_WELL || head->more >= GROUP_WHYS || head->peer < least ||
	    head->peer >= g->n || head->seen < 0 || head->seen >= g->n)
		blame(t, GROUP_MIXED, from, 0);
	else if (to->why == GROUP_WELL)
		*to = (struct group_trouble){.why = (enum group_why)head->more,
		                             .peer = head->peer,
		                             .seen = head->seen,
		                             .detail = head->item};
	/* It will go, and has nothing to say of this call. */
	g->right_over = g->right_over || ahead;
}

void group_break(struct group *g, enum group_kind at, struct group_trouble trouble)
{
	struct group_head head = word(GROUP_FAIL);

	g->trouble = trouble;
	g->at = at;
	head.call = g->call;
	head.more = trouble.why;
	head.peer = trouble.peer;
	head.seen = trouble.seen;
	head.item = trouble.detail;
	tell_left(g, head);
	tell_right(g, head);
}

/* Somebody's time is up, ours or that of one who asks. */
static void ask(struct turn *t)
{
	if (t->asking)
		return;
	t->asking = true;
	t->ask_ns = now(t->g);
	tell_left(t->g, word(GROUP_ASK));
}

/* When to do something, whatever comes. */
static int64_t next_step(const struct turn *t)
{
	return t->ask_ns + t->grace_ns * (!t->asking ? 0 : t->answered ? 2 : 1);
}

static void step(struct turn *t)
{
	if (!t->asking)
		ask(t);
	else if (t->answered)
		blame(t, GROUP_SLOW, -1, 0);
	else
		blame(t, GROUP_SILENT, t->g->left,
		      (uint64_t)((now(t->g) - t->began_ns) / NS_PER_MS));
}

/* --- items ------------------------------------------------------------------------------- */

static bool may_send(const struct turn *t)
{
	const struct group_job *j = t->job;

	return !t->asking && j->sent < j->to_send && j->sent < j->lead + j->received;
}

static bool may_receive(const struct turn *t)
{
	const struct group_job *j = t->job;

	return t->asking || j->received < j->to_recv;
}

static bool done(const struct turn *t)
{
	const struct group_job *j = t->job;

	return !t->asking && !t->g->out.busy && j->sent == j->to_send && j->received == j->to_recv;
}

static void start_next(struct turn *t)
{
	struct group_job *j = t->job;
	struct group_head head = word(j->kind);
	const void *bytes;

	if (t->alive_due) {
		t->alive_due = false;
		start(t->g, word(GROUP_ALIVE), NULL);
	} else if (may_send(t)) {
		head.call = t->g->call;
		head.shape = j->shape;
		head.more = j->more;
		head.item = j->sent;
		bytes = j->give(t->g, j, &head);
		start(t->g, head, bytes);
		j->sent++;
	}
}

static void take_item(struct turn *t, const struct group_head *head)
{
	struct group_job *j = t->job;

	/* Too late: others have given up. */
	if (t->asking)
		return;
	if (head->kind != (GROUP_MAGIC | j->kind) || head->call != t->g->call ||
	    head->shape != j->shape || head->more != j->more || head->item != j->received ||
	    !j->take(t->g, j, head))
		blame(t, GROUP_MIXED, t->g->left, 0);
	else
		j->received++;
}

static void from_left(struct turn *t)
{
	struct group *g = t->g;
	int got = pull(g->left_fd, &g->from_left, g->chunk, GROUP_CHUNK);

	if (got < 0)
		blame_lost(t, g->left, -got);
	if (got <= 0)
		return;
	switch ((enum group_kind)(g->from_left.head.kind & 0xff)) {
	case GROUP_ALIVE:
		t->answered = true;
		break;
	case GROUP_FAIL:
		believe(t, &g->from_left.head, g->left);
		break;
	case GROUP_BYE:
		blame(t, GROUP_LEFT, g->left, 0);
		break;
	default:
		take_item(t, &g->from_left.head);
	}
}

/* False: nothing whole came. */
static bool from_right(struct turn *t)
{
	struct group *g = t->g;
	int got = pull(g->right_fd, &g->from_right, NULL, 0);

	if (got < 0)
		blame_lost(t, g->right, -got);
	if (got <= 0)
		return false;
	switch ((enum group_kind)(g->from_right.head.kind & 0xff)) {
	case GROUP_ASK:
		t->alive_due = true;
		ask(t);
		break;
	case GROUP_FAIL:
		believe(t, &g->from_right.head, g->right);
		break;
	case GROUP_BYE:
		g->right_over = true;
		break;
	default:
		blame(t, GROUP_MIXED, g->right, 0);
	}
	return true;
}

static void to_right(struct turn *t)
{
	int failed;

	if (!t->g->out.busy)
		start_next(t);
	failed = push(t->g);
	if (!failed)
		return;
	/* It may have said why before it went. */
	while (t->trouble.why == GROUP_WELL && !t->g->right_over && from_right(t))
		;
	if (t->g->right_over)
		blame(t, GROUP_LEFT, t->g->right, 0);
	else
		blame_lost(t, t->g->right, failed);
}

/* --- the loop ------------------------------------------------------------------------------ */

static void look(struct turn *t)
{
	struct group *g = t->g;
	bool sends = g->out.busy || t->alive_due || may_send(t);
	int64_t left = next_step(t) - now(g);
	struct timespec wait = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};
	struct pollfd p[2] = {
		{.fd = may_receive(t) ? g->left_fd : -1, .events = POLLIN},
		{.fd = g->right_over ? -1 : g->right_fd,
	         .events = (short)(POLLIN | (sends ? POLLOUT : 0))},
	};

	if (left <= 0) {
		step(t);
		return;
	}
	if (g->right_over && (g->out.busy || t->job->sent < t->job->to_send)) {
		blame(t, GROUP_LEFT, g->right, 0);
		return;
	}
	if (ppoll(p, 2, &wait, NULL) <= 0)
		return;
	/* The right one's words first: they say why a connection ends. */
	if (p[1].revents & (POLLIN | POLLERR | POLLHUP))
		from_right(t);
	if (p[0].revents)
		from_left(t);
	if (p[1].revents & POLLOUT && t->trouble.why == GROUP_WELL)
		to_right(t);
}

enum status group_turn(struct group *g, struct group_job *job, int64_t deadline_ns,
                       struct error *err)
{
	struct turn t = {.g = g, .job = job, .began_ns = now(g)};
	int64_t time;

	if (g->trouble.why != GROUP_WELL)
		return group_say(g, err);
	g->call++;
	if (g->n == 1)
		return ST_OK;
	t.trouble = g->later;
	if (deadline_ns > g->ctx->deadline_ns)
		deadline_ns = g->ctx->deadline_ns;
	time = (deadline_ns - t.began_ns) / 6;
	t.grace_ns = time < GRACE_LEAST_NS  ? GRACE_LEAST_NS
	             : time > GRACE_MOST_NS ? GRACE_MOST_NS
	                                    : time;
	t.ask_ns = deadline_ns - 2 * t.grace_ns;
	while (t.trouble.why == GROUP_WELL && !done(&t))
		look(&t);
	if (t.trouble.why == GROUP_WELL)
		return ST_OK;
	g->arrived = (int)job->received + 1;
	group_break(g, job->kind, g->later.why != GROUP_WELL ? g->later : t.trouble);
	return group_say(g, err);
}

/* --- words for a person ---------------------------------------------------------------------- */

static const enum msg call_names[] = {
#define X(name, text) MSG_group_##text,
	GROUP_CALL_LIST(X)
#undef X
};

static const char *why(const struct group *g)
{
	const struct group_trouble *t = &g->trouble;
	const char *const *peers = g->ctx->peers, *seen = peers[t->seen];
	const char *who = t->peer >= 0 ? peers[t->peer] : "";
	const char *waited = tmpf("%.1f", (double)t->detail / 1e3);

	if (t->text)
		return t->text;
	switch (t->why) {
	case GROUP_GONE:
		return say(MSG_group_gone, who, seen,
		           t->detail ? strerror((int)t->detail) : say(MSG_group_closed));
	case GROUP_LEFT:
		return say(MSG_group_left, who, seen);
	case GROUP_SILENT:
		if (g->at != GROUP_BARRIER && g->at != GROUP_JOIN)
			return say(MSG_group_silent, who, seen, waited);
		return say(MSG_group_absent, who, seen, waited, peers[g->self],
		           tmpf("%d", g->arrived), tmpf("%d", g->n));
	case GROUP_UNMET:
		return say(MSG_group_unmet, who, seen);
	case GROUP_MIXED:
		return say(MSG_group_mixed, who, seen);
	default:
		return say(MSG_group_slow);
	}
}

enum status group_say(const struct group *g, struct error *err)
{
	enum status st = ST_TIMEOUT;

	if (g->trouble.why == GROUP_GONE || g->trouble.why == GROUP_LEFT)
		st = ST_IO;
	else if (g->trouble.why == GROUP_MIXED)
		st = ST_CORRUPT;
	return error_set(err, st, MSG_group_at, say(call_names[g->at]), tmpf("%d", g->n), why(g));
}

/* --- the end ------------------------------------------------------------------------------------ */

/* What is unread at the end would make the kernel throw away what is unsent. */
static void hang_up(int *fd)
{
	char rest[4096];

	if (*fd < 0)
		return;
	for (int i = 0; i < 1024 && recv(*fd, rest, sizeof(rest), MSG_DONTWAIT) > 0; i++)
		;
	close(*fd);
	*fd = -1;
}

void group_bye(struct group *g)
{
	if (g->trouble.why == GROUP_WELL) {
		tell_left(g, word(GROUP_BYE));
		tell_right(g, word(GROUP_BYE));
	}
	hang_up(&g->left_fd);
	hang_up(&g->right_fd);
}
