/* A company: the children of one unit on several nodes, each a process of its own
 * here, their texts over sockets. The first runs in the test and is looked at; what
 * the others say can be changed or swallowed on its way. */
#ifndef ASSAY_TESTS_COMPANY_KIT_H
#define ASSAY_TESTS_COMPANY_KIT_H

#include "probe_harness.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"

#define COMPANY_MOST 4

struct companion {
	struct harness h; /* first: what ctx.self points to */
	int texts[COMPANY_MOST];
	/* Before text number n (from 0) goes out; false: it and all others do not. */
	bool (*meddle)(cJSON *text, int n);
	int sent;
	bool mute, dies; /* dies: by a signal of its own */
	double ahead_s;  /* of its wall clock, whatever ctx says of it */
	struct clock_source clock;
	const char *path; /* PATH; NULL: ours */
};

struct company {
	struct companion all[COMPANY_MOST];
	int count;
	pid_t pid[COMPANY_MOST];
};

static const char *const company_nodes[COMPANY_MOST] = {"n001", "n002", "n003", "n004"};

/* --- clocks ----------------------------------------------------------------------- */

static inline int64_t company_now(void *self)
{
	(void)self;
	return clock_now(&clock_system);
}

static inline int64_t company_wall(void *self)
{
	const struct companion *c = self;

	return clock_wall(&clock_system) + (int64_t)(c->ahead_s * 1e9);
}

static inline void company_sleep(void *self, int64_t ns)
{
	(void)self;
	clock_sleep(&clock_system, ns);
}

/* --- texts -------------------------------------------------------------------------- */

static inline enum status company_send(struct probe_ctx *ctx, int to, const char *text)
{
	struct companion *c = ctx->self;
	int fd = c->texts[to];
	cJSON *json = c->meddle ? cJSON_Parse(text) : NULL;
	char *changed;
	bool well;

	assert_int_not_equal(to, ctx->self_index);
	assert_true(strlen(text) <= PEER_TEXT_MAX);
	c->mute = c->mute || (json && !c->meddle(json, c->sent));
	c->sent++;
	changed = json ? cJSON_PrintUnformatted(json) : strdup(text);
	well = c->mute ||
	       send(fd, changed, strlen(changed) + 1, MSG_NOSIGNAL) == (ssize_t)strlen(changed) + 1;
	free(changed);
	cJSON_Delete(json);
	/* Who is gone hears nothing: that is no error of the sender. */
	return well || ctx->self_index == 0 ? ST_OK : ST_IO;
}

static inline enum status company_recv(struct probe_ctx *ctx, int from, double seconds,
                                       const char **text)
{
	struct companion *c = ctx->self;
	struct pollfd p = {.fd = c->texts[from], .events = POLLIN};
	static char buffer[PEER_TEXT_MAX + 1];
	ssize_t n;

	if (poll(&p, 1, (int)(seconds * 1000) + 1) == 0)
		return ST_TIMEOUT;
	n = recv(p.fd, buffer, sizeof(buffer), 0);
	if (n <= 0)
		return ST_IO;
	*text = arena_strn(ctx->arena, buffer, (size_t)n);
	return ST_OK;
}

/* --- together ------------------------------------------------------------------------- */

static inline void company_init(struct company *c, const struct probe *probe, int count,
                                const char *subject)
{
	*c = (struct company){.count = count};
	for (int i = 0; i < count; i++) {
		struct companion *one = &c->all[i];

		one->texts[i] = -1;
		for (int k = 0; k < i; k++) {
			int ends[2];

			assert_int_equal(
				socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
			one->texts[k] = ends[0];
			c->all[k].texts[i] = ends[1];
		}
		harness_init(&one->h, probe);
		one->clock = (struct clock_source){company_now, company_wall, company_sleep, one};
		one->h.ctx.clock = &one->clock;
		one->h.ctx.node = company_nodes[i];
		one->h.ctx.peers = company_nodes;
		one->h.ctx.n_peers = count;
		one->h.ctx.self_index = i;
		one->h.ctx.subject_id = subject;
		one->h.ctx.send_text = company_send;
		one->h.ctx.recv_text = company_recv;
		one->h.ctx.deadline_ns = clock_now(&clock_system) + 120 * NS_PER_S;
	}
}

static inline void company_set(struct company *c, const char *key, const char *value)
{
	for (int i = 0; i < c->count; i++)
		harness_set(&c->all[i].h, key, value);
}

static inline void company_hang_up(struct company *c, int i)
{
	for (int k = 0; k < c->count; k++)
		if (k != i)
			close(c->all[i].texts[k]);
}

static inline void company_release(struct company *c)
{
	for (int i = 0; i < c->count; i++) {
		if (c->pid[i] > 0) {
			kill(c->pid[i], SIGKILL);
			waitpid(c->pid[i], NULL, 0);
		}
		company_hang_up(c, i);
		harness_release(&c->all[i].h);
	}
}

static inline _Noreturn void company_child(struct company *c, int i)
{
	struct companion *one = &c->all[i];
	enum status st;

	/* The others' ends: who is gone must look gone. */
	for (int k = 0; k < c->count; k++)
		if (k != i)
			company_hang_up(c, k);
	if (one->path)
		setenv("PATH", one->path, 1);
	st = one->h.ctx.probe->run(&one->h.ctx);
	/* Only the first speaks. */
	if (one->h.n_readings > 0)
		st = ST_INTERNAL;
	for (int k = 0; k < c->count; k++)
		harness_release(&c->all[k].h);
	free(c);
	exit(st);
}

/* Runs all to their end. c is from malloc. */
static inline void company_run(struct company *c)
{
	fflush(NULL);
	for (int i = 1; i < c->count; i++) {
		c->pid[i] = fork();
		assert_true(c->pid[i] >= 0);
		if (c->pid[i] == 0)
			company_child(c, i);
	}
	harness_run(&c->all[0].h, ST_OK);
	for (int i = 1; i < c->count; i++) {
		int how;

		assert_int_equal(waitpid(c->pid[i], &how, 0), c->pid[i]);
		c->pid[i] = 0;
		assert_true(c->all[i].dies ? WIFSIGNALED(how) : WIFEXITED(how));
		if (!c->all[i].mute && !c->all[i].dies)
			assert_int_equal(WEXITSTATUS(how), 0);
	}
}

#endif
