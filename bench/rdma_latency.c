/* How long a small message takes. Of write and send both ends play ping-pong and half
 * the round trip counts; of read the asker alone measures, and the whole one counts.
 * Here and only here the CPU spins: waking up would be most of what is measured.
 *
 * The memory: what goes out at its beginning, what comes in a page further. The queue
 * pair is one of its own, since receives that were not needed stay in it. */
#include "rdma.h"

#include <errno.h>
#include <string.h>

#define IN_AT    4096
#define WARM     20
#define LEAST    20
#define PING_NS  (NS_PER_S / 2) /* far apart, fewer must do */
#define LOOKS    1024           /* at memory, between two looks at the clock */
#define RECEIVES 16
#define LAST     UINT64_MAX /* number of the message that ends it */

struct ping {
	struct rdma *r;
	struct rdma_rail *rail;
	struct net_fault *fault;
	enum verbs_op op;
	bool by_memory; /* the message is seen in memory, not by its completion */
	bool counted; /* of a card: numbers are not looked at, it would take longer than all else */
	int underway; /* requests without their completion */
	int arrived;  /* receives, not taken yet */
	int taken;    /* and not posted again yet */
	int64_t until; /* silence; 0: its clock was not looked at */
};

/* --- common ----------------------------------------------------------------------------- */

static bool well(const struct ping *p)
{
	return !p->fault->reason.code;
}

static void reap(struct ping *p)
{
	struct verbs_done done[8];
	int n = verbs_poll(p->rail->dev, done, 8);

	if (n < 0)
		rdma_blame_call(p->r, p->rail, p->fault, "ibv_poll_cq", -n);
	for (int i = 0; i < n && well(p); i++) {
		if (done[i].status != 0)
			rdma_blame_done(p->r, p->rail, p->fault, p->r->self, &done[i]);
		else if (done[i].received)
			p->arrived++;
		else
			p->underway--;
	}
}

/* The clock of silence starts with the first look at it: what is over before takes no
 * time for that. */
static void be_patient(struct ping *p)
{
	p->until = 0;
}

static void look_at_clock(struct ping *p)
{
	if (!p->until)
		p->until = rdma_until(p->r, p->r->silence_s);
	else if (clock_now(p->r->ctx->clock) > p->until)
		rdma_blame_silence(p->r, p->rail, p->fault);
}

static void post(struct ping *p, size_t at, uint64_t remote_at)
{
	struct verbs_device *dev = p->rail->dev;
	const struct verbs_work work = {
		.op = p->op,
		.qp = p->r->most_qps,
		.at = at,
		.bytes = RDMA_PING,
		.remote_address = p->rail->far.address + remote_at,
		.remote_key = p->rail->far.key,
		.told = true,
		.copied = p->op != VERBS_READ && !p->counted && dev->inline_bytes >= RDMA_PING,
	};
	int failed = verbs_post(dev, &work);

	p->underway++;
	if (failed)
		rdma_blame_call(p->r, p->rail, p->fault, "ibv_post_send", failed);
}

static void post_receive(struct ping *p)
{
	int failed = verbs_post_receive(p->rail->dev, p->r->most_qps, 0, IN_AT, RDMA_PING);

	if (failed)
		rdma_blame_call(p->r, p->rail, p->fault, "ibv_post_recv", failed);
}

/* Until nothing of ours is under way. Receives are posted again here, while nobody waits. */
static void settle(struct ping *p)
{
	for (; p->taken > 0 && well(p); p->taken--)
		post_receive(p);
	be_patient(p);
	for (int i = 1; p->underway > 0 && well(p); i++) {
		reap(p);
		if (i % LOOKS == 0)
			look_at_clock(p);
	}
}

/* --- ping-pong ------------------------------------------------------------------------------ */

static uint64_t in_memory(const struct ping *p)
{
	const struct rdma_memory *m = &p->rail->memory;

	return *(volatile const uint64_t *)((const char *)m->at + IN_AT);
}

/* The number that came; what it was before is `last`. */
static uint64_t await_message(struct ping *p, uint64_t last)
{
	uint64_t number = last;

	be_patient(p);
	for (int i = 1; well(p); i++) {
		if (p->by_memory)
			number = in_memory(p);
		else
			reap(p);
		if (p->by_memory ? number != last : p->arrived > 0)
			break;
		if (i % LOOKS == 0) {
			/* An error of ours would keep the answer from coming. */
			reap(p);
			look_at_clock(p);
		}
	}
	if (p->by_memory || !well(p))
		return number;
	p->arrived--;
	p->taken++;
	return p->counted ? last + 1 : in_memory(p);
}

static void send_message(struct ping *p, uint64_t number)
{
	if (!p->counted)
		memcpy(p->rail->memory.at, &number, sizeof(number));
	post(p, 0, IN_AT);
}

static void ask(struct ping *p, struct samples *s)
{
	const struct clock_source *clock = p->r->clock;
	int64_t begin = clock_now(clock), start, end;
	uint64_t last = 0;

	for (int i = -WARM; i < p->r->pings && well(p); i++) {
		uint64_t number = (uint64_t)(i + WARM) + 1, back;

		start = clock_now(clock);
		if (!p->counted && i >= LEAST && start - begin > PING_NS)
			break;
		send_message(p, number);
		back = await_message(p, last);
		end = clock_now(clock);
		if (well(p) && back != number)
			rdma_blame(p->r, p->fault, OUTCOME_FAILED, MSG_rdma_wrong_ping,
			           p->rail->ends[0].node, p->rail->ends[0].at.device,
			           p->rail->ends[1].node, p->rail->ends[1].at.device,
			           tmpf("%llu", (unsigned long long)number),
			           tmpf("%llu", (unsigned long long)back));
		last = back;
		/* Its completion came with the answer, or nearly. */
		settle(p);
		if (well(p) && i >= 0)
			samples_add(s, (double)(end - start) / 2e3);
	}
	if (well(p) && !p->counted)
		send_message(p, LAST);
	settle(p);
}

static void answer(struct ping *p)
{
	uint64_t last = 0, count = (uint64_t)(WARM + p->r->pings);

	while (well(p) && !(p->counted && last == count)) {
		last = await_message(p, last);
		if (!well(p) || last == LAST)
			break;
		send_message(p, last);
		settle(p);
	}
}

/* --- read ------------------------------------------------------------------------------------- */

static void ask_by_reading(struct ping *p, struct samples *s)
{
	const struct clock_source *clock = p->r->clock;
	int64_t begin = clock_now(clock);

	for (int i = -WARM; i < p->r->pings && well(p); i++) {
		int64_t start = clock_now(clock);

		if (i >= LEAST && start - begin > PING_NS)
			break;
		post(p, IN_AT, 0);
		settle(p);
		if (well(p) && i >= 0)
			samples_add(s, (double)(clock_now(clock) - start) / 1e3);
	}
}

/* --- both ----------------------------------------------------------------------------------------- */

static void clear_memory(struct ping *p)
{
	static const char nothing[IN_AT + RDMA_PING];
	struct rdma_memory *m = &p->rail->memory;

	if (m->write)
		m->write(m->self, 0, nothing, sizeof(nothing));
	else
		memset(m->at, 0, sizeof(nothing));
}

bool rdma_latency(struct rdma *r, struct rdma_rail *rail, enum verbs_op op)
{
	struct samples *s = &rail->latency[op];
	struct ping p = {.r = r,
	                 .rail = rail,
	                 .fault = &rail->fault,
	                 .op = op,
	                 .by_memory = op == VERBS_WRITE,
	                 .counted = rail->memory.write != NULL};

	clear_memory(&p);
	for (int i = 0; op == VERBS_SEND && i < RECEIVES && i < rail->dev->depth && well(&p); i++)
		post_receive(&p);
	if (!rdma_agree(r, p.fault))
		return false;
	if (r->self == 0 && op == VERBS_READ)
		ask_by_reading(&p, s);
	else if (r->self == 0)
		ask(&p, s);
	else if (op != VERBS_READ)
		answer(&p);
	/* Also what went wrong for the other one, who may have waited for us in vain. */
	return rdma_agree(r, p.fault);
}
