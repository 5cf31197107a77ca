/* Two children of a pair as two processes, their texts over a socket, and what can
 * come between them: a relay that delays, spoils, freezes or cuts what passes. */
#ifndef ASSAY_TESTS_NET_KIT_H
#define ASSAY_TESTS_NET_KIT_H

#include "probe_harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"

extern const struct probe probe_net;

enum harm { HARM_NONE, HARM_FLIP, HARM_DROP, HARM_FREEZE, HARM_CUT, HARM_MUTE };

struct relay {
	double delay_s; /* each way */
	enum harm harm;
	bool to_second; /* to what the second gets, else what the first gets */
	bool all;       /* freeze: the control connection too */
	size_t after;   /* bytes of data connections that way */
	pid_t pid;
	int listener, port; /* of the relay */
	int target;         /* port of the first */
};

/* One end; the harness comes first, it is what ctx.self points to. */
struct end {
	struct harness h;
	int texts;
	/* Of the first: changes what it offers. */
	void (*meddle)(struct end *e, cJSON *offer);
	struct relay *relay;
	pid_t kill_on_measuring;
};

struct pair {
	struct end end[2];
	struct relay relay;
	pid_t child;
	int net_ns;                          /* of the second: -1, ours */
	bool no_wire;                        /* no networks to be had */
	void (*instead)(struct end *second); /* of the second's run */
};

/* --- texts ------------------------------------------------------------------------------- */

static inline enum status kit_send(struct probe_ctx *ctx, int to, const char *text)
{
	struct end *e = ctx->self;
	cJSON *offer;
	char *changed;

	assert_int_equal(to, !ctx->self_index);
	assert_true(strlen(text) <= PEER_TEXT_MAX);
	if (!e->meddle)
		return send(e->texts, text, strlen(text) + 1, MSG_NOSIGNAL) < 0 ? ST_IO : ST_OK;
	offer = cJSON_Parse(text);
	e->meddle(e, offer);
	changed = cJSON_PrintUnformatted(offer);
	cJSON_Delete(offer);
	assert_true(send(e->texts, changed, strlen(changed) + 1, MSG_NOSIGNAL) > 0);
	cJSON_free(changed);
	return ST_OK;
}

static inline enum status kit_recv(struct probe_ctx *ctx, int from, double seconds,
                                   const char **text)
{
	struct end *e = ctx->self;
	struct pollfd p = {.fd = e->texts, .events = POLLIN};
	char buffer[PEER_TEXT_MAX + 1];
	ssize_t n;

	assert_int_equal(from, !ctx->self_index);
	if (poll(&p, 1, (int)(seconds * 1000)) == 0)
		return ST_TIMEOUT;
	n = recv(e->texts, buffer, sizeof(buffer), 0);
	if (n <= 0)
		return ST_IO;
	*text = arena_strn(ctx->arena, buffer, (size_t)n);
	return ST_OK;
}

static inline void kit_progress(struct probe_ctx *ctx, enum stage stage, double done, enum msg what)
{
	struct end *e = ctx->self;

	(void)done;
	(void)what;
	if (stage == STAGE_MEASURING && e->kill_on_measuring > 0) {
		kill(e->kill_on_measuring, SIGKILL);
		e->kill_on_measuring = 0;
	}
}

/* --- a pair -------------------------------------------------------------------------------- */

static inline int pair_set_up(void **state)
{
	static const char *const nodes[] = {"n001", "n002"};
	struct pair *p = calloc(1, sizeof(*p));
	int fds[2];

	assert_non_null(p);
	signal(SIGPIPE, SIG_DFL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	p->net_ns = -1;
	for (int i = 0; i < 2; i++) {
		struct end *e = &p->end[i];

		harness_init(&e->h, &probe_net);
		e->texts = fds[i];
		e->h.ctx.node = nodes[i];
		e->h.ctx.peers = nodes;
		e->h.ctx.n_peers = 2;
		e->h.ctx.self_index = i;
		e->h.ctx.subject_id = "n001|n002";
		e->h.ctx.send_text = kit_send;
		e->h.ctx.recv_text = kit_recv;
		e->h.ctx.progress = kit_progress;
		harness_set(&e->h, "ramp_s", "0.1");
		harness_set(&e->h, "seconds", "0.2");
		harness_set(&e->h, "pings", "50");
	}
	*state = p;
	return 0;
}

static inline void pair_set(struct pair *p, const char *key, const char *value)
{
	harness_set(&p->end[0].h, key, value);
	harness_set(&p->end[1].h, key, value);
}

static inline _Noreturn void second(struct pair *p)
{
	struct end *e = &p->end[1];
	enum status st = ST_OK;

	close(p->end[0].texts);
	if (p->net_ns >= 0 && setns(p->net_ns, CLONE_NEWNET) != 0)
		_exit(40);
	if (p->instead)
		p->instead(e);
	else
		st = probe_net.run(&e->h.ctx);
	/* Only the first speaks. */
	if (e->h.n_readings > 0)
		st = ST_INTERNAL;
	harness_release(&p->end[0].h);
	harness_release(&e->h);
	free(p);
	exit(st);
}

/* Runs both to their end; the second must end well unless it is to be killed. */
static inline void pair_run(struct pair *p)
{
	bool killed = p->end[0].kill_on_measuring != 0;
	int how;

	fflush(NULL);
	p->child = fork();
	assert_true(p->child >= 0);
	if (p->child == 0)
		second(p);
	close(p->end[1].texts);
	p->end[1].texts = -1;
	if (killed)
		p->end[0].kill_on_measuring = p->child;
	harness_run(&p->end[0].h, ST_OK);
	close(p->end[0].texts);
	p->end[0].texts = -1;
	assert_int_equal(waitpid(p->child, &how, 0), p->child);
	if (killed)
		assert_true(WIFSIGNALED(how));
	else
		assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

static inline int pair_tear_down(void **state)
{
	struct pair *p = *state;

	if (p->relay.pid > 0) {
		kill(p->relay.pid, SIGKILL);
		waitpid(p->relay.pid, NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		if (p->end[i].texts >= 0)
			close(p->end[i].texts);
		harness_release(&p->end[i].h);
	}
	if (p->net_ns >= 0)
		close(p->net_ns);
	free(p);
	return 0;
}

/* The reading of a direction: 0, the first sends. */
static inline const struct reading *pair_reading(const struct pair *p, const char *metric,
                                                 int direction)
{
	const char *id = direction == 0 ? "n001|n002" : "n002|n001";
	const struct harness *h = &p->end[0].h;
	const struct reading *found = NULL;

	for (int i = 0; i < h->n_readings; i++)
		if (strcmp(h->readings[i].metric, metric) == 0 &&
		    strcmp(h->readings[i].subject.id, id) == 0) {
			assert_null(found);
			found = &h->readings[i];
		}
	if (!found)
		fail_msg("%s: no reading of %s", metric, id);
	return found;
}

static inline const struct reading *pair_expect(const struct pair *p, const char *metric,
                                                int direction, enum outcome outcome,
                                                const char *code)
{
	const struct reading *r = pair_reading(p, metric, direction);

	if (r->outcome != outcome)
		fail_msg("%s: %s (%s)", metric, outcome_name(r->outcome),
		         r->reason.text ? r->reason.text : "");
	if (code)
		assert_string_equal(r->reason.code, code);
	return r;
}

/* --- the relay --------------------------------------------------------------------------------- */

struct chunk {
	struct chunk *next;
	int64_t due_ns;
	size_t len, done;
	unsigned char bytes[65536];
};

/* One way of one connection. */
struct way {
	int from, to;
	bool data, to_second;
	struct chunk *first, **last;
	int queued;
	size_t passed;
};

static inline size_t harm_chunk(const struct relay *r, struct way *w, struct chunk *c, size_t seen)
{
	size_t at = r->after - seen;

	if (!w->data || w->to_second != r->to_second || seen > r->after ||
	    seen + c->len <= r->after)
		return c->len;
	if (r->harm == HARM_FLIP)
		c->bytes[at] ^= 0x10;
	if (r->harm != HARM_DROP)
		return c->len;
	memmove(c->bytes + at, c->bytes + at + 1, c->len - at - 1);
	return c->len - 1;
}

static inline bool way_read(struct way *w, const struct relay *r, size_t *seen)
{
	struct chunk *c = malloc(sizeof(*c));
	ssize_t n = recv(w->from, c->bytes, sizeof(c->bytes), MSG_DONTWAIT);

	if (n <= 0) {
		free(c);
		return n < 0 && errno == EAGAIN;
	}
	c->len = (size_t)n;
	c->done = 0;
	c->next = NULL;
	c->due_ns = clock_now(&clock_system) + (int64_t)(r->delay_s * 1e9);
	c->len = harm_chunk(r, w, c, *seen);
	if (w->data && w->to_second == r->to_second)
		*seen += (size_t)n;
	*w->last = c;
	w->last = &c->next;
	w->queued++;
	w->passed += (size_t)n;
	return true;
}

static inline bool way_write(struct way *w)
{
	while (w->first && w->first->due_ns <= clock_now(&clock_system)) {
		struct chunk *c = w->first;
		ssize_t n = send(w->to, c->bytes + c->done, c->len - c->done,
		                 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN;
		c->done += (size_t)n;
		if (c->done < c->len)
			return true;
		w->first = c->next;
		if (!w->first)
			w->last = &w->first;
		w->queued--;
		free(c);
	}
	return true;
}

static inline bool way_frozen(const struct way *w, const struct relay *r, bool over)
{
	if (r->harm == HARM_MUTE)
		return !w->data && w->to_second == r->to_second && w->passed >= r->after;
	return r->harm == HARM_FREEZE && (r->all ? over : w->data && w->passed > r->after);
}

static inline int relay_dial(int port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)port),
	                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		_exit(41);
	return fd;
}

static inline void relay_accept(const struct relay *r, struct way *ways, int *count)
{
	int on = 1, ends[2] = {accept(r->listener, NULL, NULL), relay_dial(r->target)};

	for (int i = 0; i < 2; i++) {
		struct way *w = &ways[*count + i];

		setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		/* The second is who dials. */
		*w = (struct way){
			.from = ends[i], .to = ends[!i], .data = *count > 0, .to_second = i == 1};
		w->last = &w->first;
	}
	*count += 2;
}

static inline void way_close(struct way *pair)
{
	const struct linger cut = {.l_onoff = 1};

	setsockopt(pair[0].from, SOL_SOCKET, SO_LINGER, &cut, sizeof(cut));
	setsockopt(pair[1].from, SOL_SOCKET, SO_LINGER, &cut, sizeof(cut));
	close(pair[0].from);
	close(pair[1].from);
	pair[0].from = pair[1].from = -1;
}

static inline _Noreturn void relay_main(const struct relay *r)
{
	static struct way ways[64];
	int count = 0;
	size_t seen = 0;
	bool done = false;

	for (;;) {
		struct pollfd p[65] = {{.fd = r->listener, .events = POLLIN}};
		bool over = seen > r->after;

		for (int i = 0; i < count; i++) {
			bool frozen = way_frozen(&ways[i], r, over);
			bool open = ways[i].queued < 16 && !frozen;

			p[i + 1].fd = open ? ways[i].from : -1;
			p[i + 1].events = POLLIN;
		}
		poll(p, (nfds_t)count + 1, 1);
		for (int i = 0; i < count; i += 2) {
			bool well = ways[i].from >= 0;

			for (int k = i; k < i + 2 && well; k++)
				well = (!(p[k + 1].revents) || way_read(&ways[k], r, &seen)) &&
				       way_write(&ways[k]);
			if (over && r->harm == HARM_CUT && ways[i].data && !done) {
				done = true;
				well = false;
			}
			if (!well && ways[i].from >= 0)
				way_close(&ways[i]);
		}
		if (p[0].revents && count < 64)
			relay_accept(r, ways, &count);
	}
}

/* Puts itself where the first is said to be. */
static inline void relay_meddle(struct end *e, cJSON *offer)
{
	struct relay *r = e->relay;
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	cJSON *place = cJSON_CreateObject(), *places = cJSON_CreateArray();

	r->target = cJSON_GetObjectItem(offer, "port")->valueint;
	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(r->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(r->listener, 64), 0);
	getsockname(r->listener, (struct sockaddr *)&at, &len);
	fflush(NULL);
	r->pid = fork();
	if (r->pid == 0) {
		close(e->texts);
		relay_main(r);
	}
	close(r->listener);
	cJSON_AddStringToObject(place, "address", "127.0.0.1");
	cJSON_AddStringToObject(place, "interface", "relay");
	cJSON_AddItemToArray(places, place);
	cJSON_ReplaceItemInObject(offer, "addresses", places);
	cJSON_ReplaceItemInObject(offer, "port", cJSON_CreateNumber(ntohs(at.sin_port)));
	e->meddle = NULL;
}

static inline void pair_relay(struct pair *p, struct relay relay)
{
	p->relay = relay;
	p->end[0].relay = &p->relay;
	p->end[0].meddle = relay_meddle;
}

#endif
