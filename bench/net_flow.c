/* What the pair probe measures, step by step on both sides of the control
 * connection. The receiver's clock rules a direction: what a sender hands to its
 * kernel has not arrived. */
#include "net.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define WARM_PINGS  10
#define LEAST_PINGS 10
/* Far apart or on a busy network fewer pings must do. */
#define PING_NS     (NS_PER_S / 2)
#define STREAM_BITS 8

/* --- common -------------------------------------------------------------------------------- */

static bool lose(struct net *n, int errnum)
{
	const char *const *peers = n->ctx->peers;

	net_blame(n, &n->trouble, OUTCOME_NOT_MEASURED, MSG_net_peer_gone, peers[n->self],
	          peers[n->other], strerror(errnum));
	return false;
}

static int say_kind(struct net *n, enum net_kind kind)
{
	return net_frame_send(n->control, kind, 0, NULL);
}

static int await_kind(struct net *n, enum net_kind kind, double seconds)
{
	struct net_frame f;
	int failed = net_frame_recv(n->control, &f, n->ctx->clock, net_until(n, seconds));

	return failed ? failed : f.kind == kind ? 0 : EPROTO;
}

/* CPU time of this process, the kernel's part in its name included. */
static double cpu_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- latency ----------------------------------------------------------------------------------- */

static int ping(struct net *n, uint64_t number, double *us)
{
	struct net_frame f = {0};
	int64_t start = clock_now(n->ctx->clock);
	int failed = net_frame_send(n->control, NET_PING, number, NULL);

	if (!failed)
		failed = net_frame_next(n->control, &f);
	*us = (double)(clock_now(n->ctx->clock) - start) / 2e3;
	return failed ? failed : f.kind == NET_PONG && f.number == number ? 0 : EPROTO;
}

static int send_pings(struct net *n)
{
	int64_t start = clock_now(n->ctx->clock);
	int failed = 0;

	for (int i = -WARM_PINGS; i < n->pings && !failed; i++) {
		double us;

		if (i >= LEAST_PINGS && clock_now(n->ctx->clock) - start > PING_NS)
			break;
		failed = ping(n, (uint64_t)(i + WARM_PINGS), &us);
		if (!failed && i >= 0)
			samples_add(&n->latency, us);
	}
	return failed ? failed : say_kind(n, NET_PINGED);
}

static int answer_pings(struct net *n)
{
	struct net_frame f;
	int failed;

	for (;;) {
		failed = net_frame_next(n->control, &f);
		if (failed || f.kind == NET_PINGED)
			return failed;
		if (f.kind != NET_PING)
			return EPROTO;
		failed = net_frame_send(n->control, NET_PONG, f.number, NULL);
		if (failed)
			return failed;
	}
}

bool net_latency(struct net *n)
{
	int failed = net_patience(n->control, n->silence_s);

	if (!failed)
		failed = n->self == 0 ? send_pings(n) : answer_pings(n);
	return failed ? lose(n, failed) : true;
}

/* --- streams of a direction ------------------------------------------------------------------------ */

static int connect_streams(struct net *n, int direction, struct net_streams *s)
{
	const struct net_address *from = net_source(n, n->to.at.any.sa_family);
	int64_t until = net_until(n, n->silence_s);
	int failed = 0;

	for (int i = 0; i < n->streams && !failed; i++) {
		uint64_t number = (uint64_t)direction << STREAM_BITS | (uint64_t)i;
		int fd;

		failed = net_connect(&fd, &n->to, n->offer.port, from, n->ctx->clock, until);
		if (failed)
			break;
		net_streams_set(s, (uint64_t)i, fd);
		failed = net_frame_send(fd, NET_STREAM, number, n->offer.token);
	}
	return failed ? failed : await_kind(n, NET_READY, n->silence_s);
}

/* Until then; the other one has nothing to say before NET_STOP, but may go. */
static int wait_tick(struct net *n, int64_t until_ns)
{
	struct net_frame f;
	int failed = net_frame_recv(n->control, &f, n->ctx->clock, until_ns);

	return failed == ETIMEDOUT ? 0 : failed ? failed : EPROTO;
}

static int accept_streams(struct net *n, int direction, struct net_streams *s)
{
	int64_t until = net_until(n, n->silence_s);
	struct net_frame hello;

	for (int have = 0; have < n->streams;) {
		int64_t look = clock_now(n->ctx->clock) + NET_TICK_NS;
		int fd, failed = net_accept(n->listener, &fd, &hello, n->offer.token, n->ctx->clock,
		                            look < until ? look : until);

		/* While nobody comes: is the other one still there? */
		if (failed == ETIMEDOUT && look < until)
			failed = wait_tick(n, look);
		else if (!failed && hello.kind == NET_STREAM &&
		         hello.number >> STREAM_BITS == (uint64_t)direction &&
		         net_streams_set(s, hello.number & ((1 << STREAM_BITS) - 1), fd))
			have++;
		else if (!failed)
			close(fd);
		if (failed)
			return failed;
	}
	return say_kind(n, NET_READY);
}

/* --- receiving ---------------------------------------------------------------------------------------- */

static void blame_silence(struct net *n, int direction, double seconds)
{
	const char *const *peers = n->ctx->peers;

	net_blame(n, &n->flows[direction].fault, OUTCOME_TIMED_OUT, MSG_net_stalled,
	          peers[direction], peers[!direction], tmpf("%.1f", seconds));
}

/* Notes what came wrong. */
static void look_at_blocks(struct net *n, int direction, const struct net_streams *s)
{
	const char *const *peers = n->ctx->peers;
	struct net_wrong w;

	if (net_streams_wrong(s, &w))
		net_blame(n, &n->flows[direction].fault, OUTCOME_FAILED, MSG_net_wrong,
		          peers[direction], peers[!direction],
		          tmpf("%llu", (unsigned long long)w.block), tmpf("%d", w.stream),
		          tmpf("%zu", w.at));
}

/* Whether it makes no sense to go on; why is noted. */
static bool spoilt(struct net *n, int direction, const struct net_streams *s)
{
	const char *const *peers = n->ctx->peers;
	struct net_fault *fault = &n->flows[direction].fault;
	int broken = net_streams_broken(s);

	look_at_blocks(n, direction, s);
	if (broken)
		net_blame(n, fault, OUTCOME_NOT_MEASURED, MSG_net_peer_gone, peers[n->self],
		          peers[n->other], strerror(broken));
	return fault->reason.code != NULL;
}

static void add_point(struct net_flow *f, int64_t ns, uint64_t bytes)
{
	f->points[f->n_points++] = (struct net_point){ns, bytes};
}

/* Looks in on the streams at each tick; `counts`: and notes what has come. Ends
 * early when something is wrong. */
static int watch(struct net *n, int direction, const struct net_streams *s, int64_t ticks,
                 bool counts)
{
	struct net_flow *f = &n->flows[direction];
	int64_t start = clock_now(n->ctx->clock);
	uint64_t first = net_streams_bytes(s);

	if (counts)
		add_point(f, 0, 0);
	for (int64_t k = 1; k <= ticks;) {
		int failed = wait_tick(n, start + k * NET_TICK_NS);
		int64_t now = clock_now(n->ctx->clock);
		uint64_t bytes = net_streams_bytes(s);

		if (failed)
			return failed;
		if (spoilt(n, direction, s))
			return 0;
		if (counts)
			add_point(f, now - start, bytes - first);
		if (bytes != f->seen) {
			f->seen = bytes;
			f->seen_ns = now;
		} else if ((double)(now - f->seen_ns) / 1e9 > n->silence_s) {
			blame_silence(n, direction, n->silence_s);
			return 0;
		}
		/* After a pause of ours the ticks that went by are left out. */
		k = k + 1 > (now - start) / NET_TICK_NS + 1 ? k + 1
		                                            : (now - start) / NET_TICK_NS + 1;
	}
	if (counts && f->points[f->n_points - 1].bytes == 0)
		blame_silence(n, direction, n->seconds);
	return 0;
}

static int64_t ticks_of(double seconds)
{
	int64_t ticks = llround(seconds * 1e9 / NET_TICK_NS);

	return ticks > 0 ? ticks : 1;
}

static int receive(struct net *n, int direction, struct net_streams *s)
{
	struct net_flow *f = &n->flows[direction];
	int64_t ticks = ticks_of(n->seconds);
	double cpu;
	int failed = net_streams_start(s, false);

	f->points = arena_array(n->ctx->arena, (size_t)ticks + 1, sizeof(*f->points));
	if (!failed)
		failed = say_kind(n, NET_GO);
	f->seen_ns = clock_now(n->ctx->clock);
	if (!failed)
		failed = watch(n, direction, s, ticks_of(n->ramp_s), false);
	if (!failed && !f->fault.reason.code) {
		failed = say_kind(n, NET_BEGIN);
		cpu = cpu_now();
		if (!failed)
			failed = watch(n, direction, s, ticks, true);
		f->cpu_s[n->self] = cpu_now() - cpu;
	}
	if (!failed)
		failed = say_kind(n, NET_STOP);
	if (!failed)
		failed = await_kind(n, NET_STOPPED, n->silence_s);
	/* What was still under way does not count and is not missed: the sender cuts it
	 * off. What came is looked at. */
	if (!failed)
		look_at_blocks(n, direction, s);
	return failed;
}

/* --- sending -------------------------------------------------------------------------------------------- */

static int send_side(struct net *n, int direction, struct net_streams *s)
{
	struct net_flow *f = &n->flows[direction];
	struct net_frame frame = {0};
	double cpu, wait = n->silence_s * 2 + n->ramp_s;
	int failed = await_kind(n, NET_GO, n->silence_s);

	if (!failed)
		failed = net_streams_start(s, true);
	if (!failed)
		failed = net_frame_recv(n->control, &frame, n->ctx->clock, net_until(n, wait));
	cpu = cpu_now();
	if (!failed && frame.kind == NET_BEGIN) {
		wait += n->seconds;
		failed = net_frame_recv(n->control, &frame, n->ctx->clock, net_until(n, wait));
		f->cpu_s[n->self] = cpu_now() - cpu;
	}
	if (!failed && frame.kind != NET_STOP)
		failed = EPROTO;
	if (!failed) {
		net_streams_tcp(s, &f->tcp);
		failed = say_kind(n, NET_STOPPED);
	}
	return failed;
}

bool net_flow(struct net *n, int direction)
{
	struct net_streams *s =
		net_streams_new(n->ctx->arena, n->streams, n->block, n->seed + (uint64_t)direction);
	int failed =
		n->self == 0 ? accept_streams(n, direction, s) : connect_streams(n, direction, s);

	if (!failed)
		failed = n->self == direction ? send_side(n, direction, s)
		                              : receive(n, direction, s);
	net_streams_end(s);
	if (!failed)
		return true;
	/* Figures of a connection that is gone by their end say nothing of the link. */
	lose(n, failed);
	net_blame(n, &n->flows[direction].fault, n->trouble.outcome, MSG_net_peer_gone,
	          n->ctx->peers[n->self], n->ctx->peers[n->other], strerror(failed));
	return false;
}
