/* How neighbours of a ring find each other: each listens, offers its place to the
 * left one by the coordinator's texts, and connects to where the right one is. All do
 * both at once, so nobody waits for somebody who waits for him. A connection counts
 * when both know of it: hello, welcome, ready. */
#include "group_ring.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_offer.h"

#define CONNECT_S 1 /* for each address */
#define ANSWER_S  4 /* for its welcome: it may be trying addresses itself */
#define TEXT_S    0.01
#define LOOK_MS   10

struct meeting {
	struct group *g;
	const char *only;
	struct net_offer ours, theirs; /* theirs: of the right one, once heard */
	int listener, left, right;     /* descriptors, -1: none; not yet proved */
	bool heard, left_met, right_met;
	bool left_off, right_off; /* given up */
	int next;                 /* address of theirs to try */
	int64_t until_ns, answer_ns;
	struct str tried;
	struct group_trouble trouble;
};

static int64_t until(const struct meeting *m, double seconds)
{
	int64_t ns = clock_now(m->g->ctx->clock) + (int64_t)(seconds * 1e9);

	return ns < m->until_ns ? ns : m->until_ns;
}

static const char *name(const struct meeting *m, int peer)
{
	return m->g->ctx->peers[peer];
}

/* Gives a side up; the first reason stays. The other side is still waited for: it is
 * to hear of it. */
static void unmet(struct meeting *m, bool *off, int peer, const char *text)
{
	*off = true;
	if (m->trouble.why != GROUP_WELL)
		return;
	m->trouble = (struct group_trouble){.why = GROUP_UNMET,
	                                    .peer = peer,
	                                    .seen = m->g->self,
	                                    .text = arena_str(m->g->ctx->arena, text)};
}

/* A whole frame: 1; nothing yet: 0; it ended: -1. */
static int frame_here(int fd)
{
	struct net_frame frame;
	ssize_t n = recv(fd, &frame, sizeof(frame), MSG_PEEK | MSG_DONTWAIT);

	if (n == (ssize_t)sizeof(frame))
		return 1;
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ? -1 : 0;
}

static void drop(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* --- the left one comes ----------------------------------------------------------------- */

/* `why` nobody listens, or NULL. */
static enum status offer(struct meeting *m, const char *why)
{
	struct probe_ctx *ctx = m->g->ctx;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	enum status st;

	json_object_begin(&j, NULL);
	net_offer_put(&j, &m->ours);
	json_put_string(&j, "why", why);
	json_object_end(&j);
	st = ctx->send_text(ctx, m->g->left, text.data);
	str_release(&text);
	return st;
}

static void open_door(struct meeting *m)
{
	struct probe_ctx *ctx = m->g->ctx;
	int failed = 0;

	m->ours.addresses = net_addresses_read(ctx->arena, ctx->sys_root, m->only);
	if (m->ours.addresses.count == 0)
		failed = EADDRNOTAVAIL;
	if (!failed)
		failed = net_listen(&m->listener, &m->ours.port, m->only);
	if (!failed && !net_offer_tokens(&m->ours))
		failed = EAGAIN;
	/* Without a port the left one need not wait. */
	if (failed)
		m->ours.port = 0;
	if (offer(m, failed ? strerror(failed) : NULL) != ST_OK && !failed)
		failed = EMSGSIZE;
	if (failed)
		unmet(m, &m->left_off, m->g->self,
		      say(MSG_group_no_listen, name(m, m->g->self), name(m, m->g->left),
		          strerror(failed)));
}

static void let_in(struct meeting *m)
{
	const struct clock_source *clock = m->g->ctx->clock;
	struct net_frame hello;
	int failed = net_accept(m->listener, &m->left, &hello, m->ours.token, clock,
	                        clock_now(clock) + LOOK_MS * NS_PER_MS);

	if (!failed && (hello.kind != NET_CONTROL ||
	                net_frame_send(m->left, NET_WELCOME, 0, m->ours.answer) != 0))
		drop(&m->left);
	else if (failed && failed != ETIMEDOUT)
		unmet(m, &m->left_off, m->g->self,
		      say(MSG_group_no_listen, name(m, m->g->self), name(m, m->g->left),
		          strerror(failed)));
}

/* It may have given this connection up for another one. */
static void await_ready(struct meeting *m)
{
	int here = frame_here(m->left);
	struct net_frame ready;

	if (here == 0)
		return;
	if (here > 0 && net_frame_recv(m->left, &ready, m->g->ctx->clock, m->until_ns) == 0 &&
	    ready.kind == NET_READY)
		m->left_met = true;
	else
		drop(&m->left);
}

/* --- to the right one ---------------------------------------------------------------------- */

static void take_offer(struct meeting *m, const cJSON *root)
{
	m->heard = net_offer_read(&m->theirs, m->g->ctx->arena, root);
	net_addresses_order(&m->theirs.addresses, &m->ours.addresses);
	if (!m->heard)
		unmet(m, &m->right_off, m->g->right,
		      say(MSG_group_no_listen, name(m, m->g->right), name(m, m->g->self),
		          json_string(root, "why", "?")));
}

static void hear(struct meeting *m)
{
	struct probe_ctx *ctx = m->g->ctx;
	struct json_doc doc;
	const char *text;
	enum status st = ctx->recv_text(ctx, m->g->right, TEXT_S, &text);

	if (st == ST_TIMEOUT)
		return;
	if (st == ST_OK)
		st = json_parse(&doc, "offer", text, strlen(text), JSON_STRICT, NULL);
	if (st != ST_OK) {
		unmet(m, &m->right_off, m->g->right,
		      say(MSG_group_no_word, name(m, m->g->right), name(m, m->g->self)));
		return;
	}
	take_offer(m, doc.root);
	json_release(&doc);
}

static void gave_no_way(struct meeting *m, int errnum)
{
	net_tried_add(&m->tried, m->next, &m->theirs.addresses.list[m->next], errnum);
	m->next++;
	drop(&m->right);
}

static void dial(struct meeting *m)
{
	const struct clock_source *clock = m->g->ctx->clock;
	const struct net_address *to = &m->theirs.addresses.list[m->next], *from = NULL;
	int failed = 0;

	if (m->next == m->theirs.addresses.count) {
		unmet(m, &m->right_off, m->g->right,
		      say(MSG_net_no_peer, name(m, m->g->self), name(m, m->g->right),
		          m->tried.len ? m->tried.data : "-"));
		return;
	}
	if (m->only) {
		from = net_address_of(&m->ours.addresses, to->at.any.sa_family);
		failed = from ? 0 : EADDRNOTAVAIL;
	}
	if (!failed)
		failed = net_connect(&m->right, to, m->theirs.port, from, clock,
		                     until(m, CONNECT_S));
	if (!failed)
		failed = net_frame_send(m->right, NET_CONTROL, 0, m->theirs.token);
	m->answer_ns = until(m, ANSWER_S);
	if (failed)
		gave_no_way(m, failed);
}

static void await_welcome(struct meeting *m)
{
	const struct clock_source *clock = m->g->ctx->clock;
	int here = frame_here(m->right), failed = 0;
	struct net_frame f;

	if (here == 0 && clock_now(clock) < m->answer_ns)
		return;
	if (here <= 0)
		failed = here < 0 ? ECONNRESET : ETIMEDOUT;
	if (!failed)
		failed = net_frame_recv(m->right, &f, clock, m->until_ns);
	/* Somebody else's port. */
	if (!failed && (f.kind != NET_WELCOME || memcmp(f.token, m->theirs.answer, NET_TOKEN) != 0))
		failed = EPROTO;
	if (!failed)
		failed = net_frame_send(m->right, NET_READY, 0, m->theirs.token);
	if (failed)
		gave_no_way(m, failed);
	else
		m->right_met = true;
}

/* --- both --------------------------------------------------------------------------------------- */

static void look(const struct meeting *m)
{
	bool left = !m->left_met && !m->left_off, right = !m->right_met && !m->right_off;
	struct pollfd p[2] = {
		{.fd = !left          ? -1
	               : m->left >= 0 ? m->left
	                              : m->listener,
	         .events = POLLIN},
		{.fd = right ? m->right : -1, .events = POLLIN},
	};

	poll(p, 2, LOOK_MS);
}

static void advance_right(struct meeting *m)
{
	if (!m->heard)
		hear(m);
	else if (m->right < 0)
		dial(m);
	else
		await_welcome(m);
}

static void advance_left(struct meeting *m)
{
	if (m->left < 0)
		let_in(m);
	else
		await_ready(m);
}

static void miss_right(struct meeting *m)
{
	const char *self = name(m, m->g->self), *right = name(m, m->g->right);

	if (!m->heard)
		unmet(m, &m->right_off, m->g->right, say(MSG_group_no_word, right, self));
	else
		unmet(m, &m->right_off, m->g->right,
		      say(MSG_net_no_peer, self, right,
		          m->tried.len ? m->tried.data : strerror(ETIMEDOUT)));
}

static void miss_left(struct meeting *m)
{
	unmet(m, &m->left_off, m->g->left,
	      say(MSG_group_no_call, name(m, m->g->left), name(m, m->g->self),
	          tmpf("%d", m->ours.port)));
}

/* Until both sides are met or given up. */
static void meet(struct meeting *m)
{
	for (;;) {
		bool left = !m->left_met && !m->left_off, right = !m->right_met && !m->right_off;
		bool over = clock_now(m->g->ctx->clock) >= m->until_ns;

		if (!left && !right)
			return;
		if (right)
			(over ? miss_right : advance_right)(m);
		if (left)
			(over ? miss_left : advance_left)(m);
		if (!over && (m->heard || m->right_off))
			look(m);
	}
}

/* Hands over what is proved. */
static void conclude(struct meeting *m)
{
	if (m->left_met)
		m->g->left_fd = m->left;
	else
		drop(&m->left);
	if (m->right_met) {
		m->g->right_fd = m->right;
		m->g->end = net_local_end(m->g->ctx->arena, m->right, &m->ours.addresses);
	} else {
		drop(&m->right);
	}
	drop(&m->listener);
	str_release(&m->tried);
	if (m->trouble.why != GROUP_WELL)
		group_break(m->g, GROUP_JOIN, m->trouble);
}

bool group_meet(struct group *g, const char *interface, int64_t until_ns)
{
	struct meeting m = {.g = g,
	                    .only = interface,
	                    .listener = -1,
	                    .left = -1,
	                    .right = -1,
	                    .until_ns = until_ns};

	open_door(&m);
	meet(&m);
	conclude(&m);
	return g->trouble.why == GROUP_WELL;
}
