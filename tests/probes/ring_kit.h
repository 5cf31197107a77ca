/* Groups of real processes on one machine, each with a context and texts of its own,
 * and what each of them found. */
#ifndef ASSAY_TESTS_RING_KIT_H
#define ASSAY_TESTS_RING_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.h"
#include "group_ring.h"

#define MOST      8
#define ROUNDS    20
#define LIMIT_S   60 /* of what is to succeed */
#define PATIENT_S 6  /* of what is not: a sixth of it is for answers of the living */

/* What a member found, seen by the test. */
struct found {
	enum status st;
	int blamed;
	double seconds; /* of the call */
	char text[700];
};

struct shared {
	struct found found[MOST];
	atomic_int arrived[ROUNDS];
};

struct ring;

struct member {
	struct probe_ctx ctx;
	struct arena arena;
	struct ring *ring;
	int texts[MOST];
	struct clock_source clock;
	int signal, after; /* sent to itself when it has looked at the clock so often */
	/* Sees and changes its offer before it goes out. */
	void (*meddle)(struct member *m, cJSON *offer);
	const char *interface;
	int stranger;
};

struct ring {
	int n;
	struct member m[MOST];
	pid_t pid[MOST];
	struct shared *shared;
	/* In the process of member i: 0, or the line that was wrong. */
	int (*act)(struct ring *r, int i);
};

#define CHECK(what)                                                                                \
	do {                                                                                       \
		if (!(what)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                 \
			return __LINE__;                                                           \
		}                                                                                  \
	} while (0)

/* --- contexts --------------------------------------------------------------------------- */

static inline int64_t in_s(double seconds)
{
	return clock_now(&clock_system) + (int64_t)(seconds * 1e9);
}

static inline int64_t member_now(void *self)
{
	struct member *m = self;

	if (m->signal && m->after-- == 0)
		raise(m->signal);
	return clock_now(&clock_system);
}

static inline enum status member_send(struct probe_ctx *ctx, int to, const char *text)
{
	struct member *m = ctx->self;
	cJSON *json = cJSON_Parse(text);
	char *changed;
	ssize_t n;

	if (m->meddle)
		m->meddle(m, json);
	changed = cJSON_PrintUnformatted(json);
	n = send(m->texts[to], changed, strlen(changed) + 1, MSG_NOSIGNAL);
	cJSON_free(changed);
	cJSON_Delete(json);
	/* Who is gone hears nothing: that is no error of the sender. */
	return n == 0 ? ST_IO : ST_OK;
}

static inline enum status member_recv(struct probe_ctx *ctx, int from, double seconds,
                                      const char **text)
{
	struct member *m = ctx->self;
	struct pollfd p = {.fd = m->texts[from], .events = POLLIN};
	static char buffer[PEER_TEXT_MAX + 1];
	ssize_t n;

	if (poll(&p, 1, (int)(seconds * 1000)) == 0)
		return ST_TIMEOUT;
	n = recv(m->texts[from], buffer, sizeof(buffer), MSG_DONTWAIT);
	if (n <= 0)
		return ST_TIMEOUT;
	*text = arena_strn(ctx->arena, buffer, (size_t)n);
	return ST_OK;
}

static const char *const nodes[MOST] = {"n001", "n002", "n003", "n004",
                                        "n005", "n006", "n007", "n008"};

static inline struct ring *ring_new(int n, int (*act)(struct ring *, int))
{
	/* Not from malloc: the children of other rings would leak it. */
	struct ring *r =
		mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(r != MAP_FAILED);
	r->n = n;
	r->act = act;
	r->shared = mmap(NULL, sizeof(*r->shared), PROT_READ | PROT_WRITE,
	                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(r->shared != MAP_FAILED);
	for (int i = 0; i < n; i++) {
		struct member *m = &r->m[i];

		*m = (struct member){.ring = r, .interface = "lo", .stranger = -1};
		m->clock = (struct clock_source){member_now, NULL, NULL, m};
		m->ctx = (struct probe_ctx){.arena = &m->arena,
		                            .clock = &m->clock,
		                            .node = nodes[i],
		                            .deadline_ns = INT64_MAX,
		                            .sys_root = "",
		                            .peers = nodes,
		                            .n_peers = n,
		                            .self_index = i,
		                            .send_text = member_send,
		                            .recv_text = member_recv,
		                            .self = m};
	}
	for (int i = 0; i < n; i++) {
		r->m[i].texts[i] = -1;
		for (int k = 0; k < i; k++) {
			int ends[2];

			assert_int_equal(
				socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
			r->m[i].texts[k] = ends[0];
			r->m[k].texts[i] = ends[1];
		}
	}
	return r;
}

static inline void member_close(struct member *m)
{
	for (int k = 0; k < m->ring->n; k++)
		if (m->texts[k] >= 0)
			close(m->texts[k]);
	arena_release(&m->arena);
}

static inline void ring_free(struct ring *r)
{
	munmap(r->shared, sizeof(*r->shared));
	munmap(r, sizeof(*r));
}

static inline void ring_start(struct ring *r)
{
	fflush(NULL);
	for (int i = 0; i < r->n; i++) {
		r->pid[i] = fork();
		assert_true(r->pid[i] >= 0);
		if (r->pid[i] == 0) {
			int wrong;

			for (int k = 0; k < r->n; k++)
				if (k != i)
					member_close(&r->m[k]);
			wrong = r->act(r, i);
			member_close(&r->m[i]);
			ring_free(r);
			exit(wrong ? 1 : 0);
		}
	}
	for (int i = 0; i < r->n; i++)
		member_close(&r->m[i]);
}

/* Waits for all; `odd`, if any, is killed once the others have ended. */
static inline void ring_end(struct ring *r, int odd)
{
	int how;

	for (int i = 0; i < r->n; i++) {
		if (i == odd)
			continue;
		assert_int_equal(waitpid(r->pid[i], &how, 0), r->pid[i]);
		if (!WIFEXITED(how) || WEXITSTATUS(how) != 0)
			fail_msg("%s of %d: %x", nodes[i], r->n, (unsigned)how);
	}
	if (odd >= 0) {
		kill(r->pid[odd], SIGKILL);
		assert_int_equal(waitpid(r->pid[odd], &how, 0), r->pid[odd]);
		assert_true(WIFSIGNALED(how));
	}
}

/* Everyone but `odd` blames `blamed`, with this in words. */
static inline void expect(const struct ring *r, int odd, enum status st, int blamed,
                          const char *words)
{
	for (int i = 0; i < r->n; i++) {
		const struct found *f = &r->shared->found[i];

		if (i == odd)
			continue;
		if (f->st != st || f->blamed != blamed)
			fail_msg("%s: %s, blames %d: %s", nodes[i], status_name(f->st), f->blamed,
			         f->text);
		if (blamed >= 0 && !strstr(f->text, nodes[blamed]))
			fail_msg("%s: %s is not in: %s", nodes[i], nodes[blamed], f->text);
		if (!strstr(f->text, words))
			fail_msg("%s: \"%s\" is not in: %s", nodes[i], words, f->text);
	}
}

static inline int note(struct ring *r, int i, const struct group *g, enum status st,
                       struct error *err, int64_t began)
{
	struct found *f = &r->shared->found[i];

	f->st = st;
	f->blamed = group_blamed(g);
	f->seconds = (double)(clock_now(&clock_system) - began) / 1e9;
	snprintf(f->text, sizeof(f->text), "%s", str_text(&err->text));
	CHECK(err->status == st);
	error_release(err);
	return 0;
}

#endif
