/* How the two children of a pair find each other: the first listens and says where
 * by the coordinator's texts, the second tries one address after the other. Tokens
 * prove both sides, since private addresses occur twice in a cluster and a port may
 * be somebody else's. */
#include "net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"

#define CONNECT_S 1 /* for each address */
#define ANSWER_S  2 /* for the first frame of the other side */
#define LOOK_S    0.05
#define TEXT_S    0.01

/* --- what was tried --------------------------------------------------------------------- */

static void blame_no_peer(struct net *n, struct str *tried, int errnum)
{
	const char *const *peers = n->ctx->peers;

	net_blame(n, &n->trouble, OUTCOME_NOT_MEASURED, MSG_net_no_peer, peers[n->self],
	          peers[n->other], tried->len ? tried->data : strerror(errnum));
	str_release(tried);
}

const struct net_address *net_source(const struct net *n, int family)
{
	return n->only ? net_address_of(&n->mine, family) : NULL;
}

static bool has_address(struct net *n)
{
	if (n->mine.count)
		return true;
	net_blame(n, &n->trouble, OUTCOME_NOT_MEASURED, MSG_net_no_address, n->ctx->peers[n->self],
	          n->only ? n->only : "*");
	return false;
}

/* --- the first --------------------------------------------------------------------------- */

static enum status offer(struct net *n)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	enum status st;

	n->offer.addresses = n->mine;
	json_object_begin(&j, NULL);
	net_offer_put(&j, &n->offer);
	json_put_string(&j, "seed", tmpf("%016llx", (unsigned long long)n->seed));
	json_object_end(&j);
	st = n->ctx->send_text(n->ctx, n->other, text.data);
	str_release(&text);
	return st;
}

/* The other one comes, or says that it cannot. */
static int await_peer(struct net *n)
{
	const struct clock_source *clock = n->ctx->clock;
	int64_t until = net_until(n, n->meet_s);
	struct net_frame hello;
	const char *text;

	while (clock_now(clock) < until) {
		int fd, failed = net_accept(n->listener, &fd, &hello, n->offer.token, clock,
		                            net_until(n, LOOK_S));
		enum status st;

		if (!failed && hello.kind == NET_CONTROL) {
			n->control = fd;
			return net_frame_send(fd, NET_WELCOME, 0, n->offer.answer);
		}
		if (!failed)
			close(fd);
		else if (failed != ETIMEDOUT)
			return failed;
		st = n->ctx->recv_text(n->ctx, n->other, TEXT_S, &text);
		if (st == ST_OK && net_hear(n, text))
			return 0;
		if (st != ST_OK && st != ST_TIMEOUT)
			return ECONNRESET;
	}
	return ETIMEDOUT;
}

static bool meet_listening(struct net *n)
{
	struct str tried = {0};
	int failed =
		has_address(n) ? net_listen(&n->listener, &n->offer.port, n->only) : EADDRNOTAVAIL;

	if (!failed && !net_offer_tokens(&n->offer))
		failed = EAGAIN;
	/* Without a port it need not wait. */
	if (failed)
		n->offer.port = 0;
	if (offer(n) != ST_OK && !failed)
		failed = EMSGSIZE;
	if (!failed)
		failed = await_peer(n);
	if (!failed)
		return n->control >= 0;
	for (int i = 0; i < n->mine.count; i++)
		net_tried_add(&tried, i, &n->mine.list[i], failed);
	blame_no_peer(n, &tried, failed);
	return false;
}

/* --- the second ------------------------------------------------------------------------------ */

static bool read_offer(struct net *n, const char *text)
{
	struct json_doc doc;
	bool ok;

	if (json_parse(&doc, "offer", text, strlen(text), JSON_STRICT, NULL) != ST_OK)
		return false;
	ok = net_offer_read(&n->offer, n->ctx->arena, doc.root);
	n->seed = strtoull(json_string(doc.root, "seed", "0"), NULL, 16);
	json_release(&doc);
	return ok;
}

static int try_address(struct net *n, const struct net_address *a)
{
	const struct clock_source *clock = n->ctx->clock;
	const struct net_address *from = net_source(n, a->at.any.sa_family);
	struct net_frame f;
	int failed;

	if (n->only && !from)
		return EADDRNOTAVAIL;
	failed = net_connect(&n->control, a, n->offer.port, from, clock, net_until(n, CONNECT_S));
	if (!failed)
		failed = net_frame_send(n->control, NET_CONTROL, 0, n->offer.token);
	if (!failed)
		failed = net_frame_recv(n->control, &f, clock, net_until(n, ANSWER_S));
	/* Somebody else's port. */
	if (!failed && (f.kind != NET_WELCOME || memcmp(f.token, n->offer.answer, NET_TOKEN) != 0))
		failed = EPROTO;
	if (failed && n->control >= 0) {
		close(n->control);
		n->control = -1;
	}
	return failed;
}

static bool meet_connecting(struct net *n)
{
	struct net_addresses *theirs = &n->offer.addresses;
	int64_t until = net_until(n, n->meet_s);
	struct str tried = {0};
	const char *text;
	int failed = EADDRNOTAVAIL;

	if (n->ctx->recv_text(n->ctx, n->other, n->meet_s, &text) != ST_OK ||
	    !read_offer(n, text) || !has_address(n))
		return false;
	net_addresses_order(theirs, &n->mine);
	for (int i = 0; i < theirs->count && clock_now(n->ctx->clock) < until; i++) {
		n->to = theirs->list[i];
		failed = try_address(n, &n->to);
		if (!failed)
			break;
		net_tried_add(&tried, i, &n->to, failed);
	}
	if (!failed)
		str_release(&tried);
	else
		blame_no_peer(n, &tried, failed);
	return !failed;
}

bool net_meet(struct net *n)
{
	bool met = n->self == 0 ? meet_listening(n) : meet_connecting(n);

	if (met)
		n->ends[n->self] = net_local_end(n->ctx->arena, n->control, &n->mine);
	return met;
}
