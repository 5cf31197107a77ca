/* How much a rail carries: requests are kept under way on each queue pair, one in
 * several of them tells when it is done, and who asked counts what is done by his
 * clock: for all three operations that means the other end has it, or gave it. Who
 * only serves sleeps; who asks looks for completions and sleeps when there are none. */
#include "rdma.h"
#include "talk.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>

#define UNDERWAY ((size_t)16 << 20) /* bytes at once, where messages are large */
#define LEAST_Q  2                  /* requests of a queue pair */
#define TOLD     16                 /* one in so many, or a quarter of what is under way */
#define LOOKS    64                 /* at the queue before going to sleep */
#define SLEEP_MS 20
/* A second is whole when a tick came this much early. */
#define EARLY_NS (20 * NS_PER_MS)

struct stream {
	int underway;
	uint64_t posted, done;
};

struct run {
	struct rdma *r;
	struct rdma_rail *rail;
	struct rdma_flow *f;
	int direction, most, told, slots;
	size_t region;
	struct stream streams[VERBS_QPS_MOST];
	int64_t start, seen; /* seen: by the machine's clock */
	bool last;           /* nothing new is begun */
};

/* --- sizes ------------------------------------------------------------------------------ */

static size_t region_of(size_t size)
{
	return size > RDMA_REGION ? size : RDMA_REGION / size * size;
}

size_t rdma_memory_needed(const struct rdma *r)
{
	size_t most = 2 * RDMA_REGION;

	for (int s = 0; s < r->n_sizes; s++) {
		size_t bytes = region_of((size_t)r->sizes[s]) * (size_t)r->most_qps;

		most = bytes > most ? bytes : most;
	}
	return most;
}

static double cpu_now(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static int clamp(size_t value, int least, int most)
{
	return value < (size_t)least ? least : value > (size_t)most ? most : (int)value;
}

static struct run run_of(struct rdma *r, struct rdma_rail *rail, struct rdma_flow *f, int direction)
{
	struct run n = {.r = r, .rail = rail, .f = f, .direction = direction};

	n.region = region_of(f->size);
	n.slots = (int)(n.region / f->size);
	n.most = clamp(UNDERWAY / f->size / (size_t)f->qps, LEAST_Q, rail->dev->depth);
	n.told = clamp((size_t)n.most / 4, 1, TOLD);
	return n;
}

/* --- asking ---------------------------------------------------------------------------------- */

static bool well(const struct run *n)
{
	return !n->f->fault.reason.code;
}

static void post(struct run *n, int qp)
{
	struct stream *s = &n->streams[qp];
	size_t at = (size_t)qp * n->region + s->posted % (uint64_t)n->slots * n->f->size;
	const struct verbs_work work = {
		.op = n->f->op,
		.qp = qp,
		.id = (uint64_t)qp,
		.at = at,
		.bytes = n->f->size,
		.remote_address = n->rail->far.address + at,
		.remote_key = n->rail->far.key,
		.told = ++s->posted % (uint64_t)n->told == 0,
	};
	int failed = verbs_post(n->rail->dev, &work);

	s->underway++;
	if (failed)
		rdma_blame_call(n->r, n->rail, &n->f->fault, "ibv_post_send", failed);
}

/* What is begun ends with one that tells. */
static void fill_stream(struct run *n, int qp)
{
	struct stream *s = &n->streams[qp];

	while (well(n) && s->underway < n->most && (!n->last || s->posted % (uint64_t)n->told != 0))
		post(n, qp);
}

/* Returns how many messages are done. */
static int take_done(struct run *n)
{
	struct verbs_done done[TOLD];
	int found = verbs_poll(n->rail->dev, done, TOLD), messages = 0;

	if (found < 0)
		rdma_blame_call(n->r, n->rail, &n->f->fault, "ibv_poll_cq", -found);
	for (int i = 0; i < found && well(n); i++) {
		struct stream *s = &n->streams[done[i].id % VERBS_QPS_MOST];

		if (done[i].status != 0) {
			rdma_blame_done(n->r, n->rail, &n->f->fault, n->direction, &done[i]);
			break;
		}
		/* A receive that somebody sent to before. */
		if (done[i].received)
			continue;
		s->underway -= n->told;
		s->done += (uint64_t)n->told;
		messages += n->told;
		fill_stream(n, (int)done[i].id);
	}
	return messages;
}

static void add_point(struct rdma_flow *f, int64_t ns, int most)
{
	const struct net_point *last = &f->points[f->n_points - 1];

	if (f->n_points < most && ns - last->ns >= RDMA_TICK)
		f->points[f->n_points++] = (struct net_point){ns, f->bytes};
}

static int underway(const struct run *n)
{
	int sum = 0;

	for (int q = 0; q < n->f->qps; q++)
		sum += n->streams[q].underway;
	return sum;
}

/* Something may be done; false: not for silence_s. */
static void rest(struct run *n, int *looks)
{
	int failed = 0;

	if (++*looks < LOOKS)
		return;
	/* Armed first and looked at again: between both nothing gets lost. */
	if (*looks == LOOKS)
		failed = verbs_arm(n->rail->dev, false);
	else
		failed = verbs_sleep(n->rail->dev, SLEEP_MS), *looks = 0;
	if (failed < 0)
		rdma_blame_call(n->r, n->rail, &n->f->fault, "ibv_req_notify_cq", -failed);
	if ((double)(clock_now(n->r->ctx->clock) - n->seen) / 1e9 > n->r->silence_s)
		rdma_blame_silence(n->r, n->rail, &n->f->fault);
}

static void ask(struct run *n, double seconds)
{
	const struct clock_source *clock = n->r->clock, *real = n->r->ctx->clock;
	struct rdma_flow *f = n->f;
	int most = (int)(seconds * 1e9 / RDMA_TICK) + 2, looks = 0;
	double cpu = cpu_now();

	f->points = arena_array(n->r->ctx->arena, (size_t)most, sizeof(*f->points));
	f->n_points = 1;
	n->start = clock_now(clock);
	n->seen = clock_now(real);
	for (int q = 0; q < f->qps; q++)
		fill_stream(n, q);
	while (well(n) && underway(n) > 0) {
		int messages = take_done(n);

		if (messages == 0) {
			rest(n, &looks);
			continue;
		}
		looks = 0;
		f->bytes += (uint64_t)messages * f->size;
		f->ns = clock_now(clock) - n->start;
		n->seen = clock == real ? n->start + f->ns : clock_now(real);
		add_point(f, f->ns, most);
		if (!n->last && (double)f->ns / 1e9 >= seconds) {
			n->last = true;
			for (int q = 0; q < f->qps; q++)
				fill_stream(n, q);
		}
	}
	f->cpu_s[n->r->self] = cpu_now() - cpu;
}

/* --- serving ----------------------------------------------------------------------------------- */

static void post_receive(struct run *n, int qp)
{
	struct stream *s = &n->streams[qp];
	size_t at = (size_t)qp * n->region + s->posted % (uint64_t)n->slots * n->f->size;
	int failed = verbs_post_receive(n->rail->dev, qp, (uint64_t)qp, at, n->f->size);

	s->posted++;
	if (failed)
		rdma_blame_call(n->r, n->rail, &n->f->fault, "ibv_post_recv", failed);
}

static int take_received(struct run *n)
{
	struct verbs_done done[TOLD];
	int found = verbs_poll(n->rail->dev, done, TOLD);

	if (found < 0)
		rdma_blame_call(n->r, n->rail, &n->f->fault, "ibv_poll_cq", -found);
	for (int i = 0; i < found && well(n); i++) {
		if (done[i].status != 0) {
			rdma_blame_done(n->r, n->rail, &n->f->fault, n->direction, &done[i]);
			break;
		}
		n->streams[done[i].id].done++;
		post_receive(n, (int)done[i].id);
	}
	return found;
}

/* Until the asker's text says that all is done. To be waked by each message would cost
 * more than to take it. */
static bool serve_sends(struct run *n, struct json_doc *doc, double seconds)
{
	int64_t until = rdma_until(n->r, seconds);
	enum status st = ST_TIMEOUT;
	int looks = 0;

	while (well(n) && st == ST_TIMEOUT && clock_now(n->r->ctx->clock) < until) {
		if (take_received(n) > 0) {
			looks = 0;
		} else if (++looks == LOOKS) {
			verbs_arm(n->rail->dev, true);
		} else if (looks > LOOKS) {
			looks = 0;
			verbs_sleep(n->rail->dev, SLEEP_MS);
			st = rdma_text_look(n->r, doc, &n->f->fault, 0);
		}
	}
	if (st == ST_OK)
		return true;
	return rdma_text_await(n->r, doc, &n->f->fault, st == ST_TIMEOUT ? n->r->silence_s : 0);
}

/* --- both ----------------------------------------------------------------------------------------- */

/* Where the data have to be right by now: the first bytes of each region. */
static void check(struct run *n, uint64_t seed)
{
	const struct rdma_end *ends = n->rail->ends;

	for (int q = 0; q < n->f->qps && well(n); q++) {
		uint64_t messages = n->streams[q].done;
		size_t bytes =
			messages < (uint64_t)n->slots ? (size_t)messages * n->f->size : n->region;
		size_t at = (size_t)q * n->region, wrong;

		wrong = rdma_check(&n->rail->memory, at, bytes, seed);
		if (wrong == bytes)
			continue;
		rdma_blame(n->r, &n->f->fault, OUTCOME_FAILED, MSG_rdma_wrong,
		           rdma_op_names[n->f->op], ends[n->direction].node,
		           ends[n->direction].at.device, ends[!n->direction].node,
		           ends[!n->direction].at.device, tmpf("%d", q),
		           wrong == SIZE_MAX ? "?" : tmpf("%zu", wrong));
	}
}

static void tell(struct run *n, struct rdma_text *t)
{
	struct rdma_flow *f = n->f;

	rdma_text_begin(n->r, t, &f->fault);
	json_put_int(&t->j, "bytes", (int64_t)f->bytes);
	json_put_int(&t->j, "ns", f->ns);
	json_put_number(&t->j, "cpu_s", f->cpu_s[n->r->self]);
	json_array_begin(&t->j, "points");
	for (int i = 1; i < f->n_points; i++) {
		json_put_int(&t->j, NULL, f->points[i].ns);
		json_put_int(&t->j, NULL, (int64_t)f->points[i].bytes);
	}
	json_array_end(&t->j);
	json_array_begin(&t->j, "messages");
	for (int q = 0; q < f->qps; q++)
		json_put_int(&t->j, NULL, (int64_t)n->streams[q].done);
	json_array_end(&t->j);
}

static void hear(struct run *n, const cJSON *o)
{
	struct rdma_flow *f = n->f;
	const cJSON *points = json_get(o, "points"), *item;
	int count = points ? cJSON_GetArraySize(points) / 2 : 0, q = 0;

	f->cpu_s[n->r->other] = json_number(o, "cpu_s", NAN);
	if (n->r->self == n->direction)
		return;
	f->bytes = (uint64_t)json_int64(o, "bytes", 0);
	f->ns = json_int64(o, "ns", 0);
	f->points = arena_array(n->r->ctx->arena, (size_t)count + 1, sizeof(*f->points));
	f->n_points = 1;
	item = points ? points->child : NULL;
	for (int i = 0; i < count && item && item->next; i++, item = item->next->next) {
		int64_t ns = talk_count(item, TALK_COUNT),
			bytes = talk_count(item->next, TALK_COUNT);

		if (ns < 0 || bytes < 0)
			break;
		f->points[f->n_points++] = (struct net_point){ns, (uint64_t)bytes};
	}
	cJSON_ArrayForEach(item, json_get(o, "messages"))
	{
		if (q < f->qps)
			n->streams[q++].done = (uint64_t)fmax(talk_count(item, TALK_COUNT), 0);
	}
}

static bool serve(struct run *n, uint64_t seed, double seconds)
{
	double wait = seconds + 2 * n->r->silence_s, cpu = cpu_now();
	struct json_doc doc;
	struct rdma_text t;
	bool came = n->f->op == VERBS_SEND ? serve_sends(n, &doc, wait)
	                                   : rdma_text_await(n->r, &doc, &n->f->fault, wait);

	n->f->cpu_s[n->r->self] = cpu_now() - cpu;
	if (!came)
		return false;
	hear(n, doc.root);
	json_release(&doc);
	if (well(n) && n->f->op != VERBS_READ)
		check(n, seed);
	tell(n, &t);
	return rdma_text_send(n->r, &t);
}

static bool demand(struct run *n, uint64_t seed, double seconds)
{
	struct json_doc doc;
	struct rdma_text t;

	ask(n, seconds);
	if (well(n) && n->f->op == VERBS_READ)
		check(n, seed);
	tell(n, &t);
	if (!rdma_text_send(n->r, &t) ||
	    !rdma_text_await(n->r, &doc, &n->f->fault, 2 * n->r->silence_s))
		return false;
	hear(n, doc.root);
	json_release(&doc);
	return true;
}

bool rdma_flow(struct rdma *r, struct rdma_rail *rail, struct rdma_flow *f, int direction,
               enum verbs_op op, size_t size, int qps, double seconds)
{
	bool asks = r->self == direction, gives = asks == (op != VERBS_READ), going;
	uint64_t seed = r->seed ^ (uint64_t)(r->step + 1) << 32;
	struct run n;

	*f = (struct rdma_flow){.op = op, .size = size, .qps = qps, .cpu_s = {NAN, NAN}};
	n = run_of(r, rail, f, direction);
	if (gives && !rdma_fill(&rail->memory, 0, n.region * (size_t)qps, seed))
		rdma_blame_call(r, rail, &f->fault, "cuMemcpy", EIO);
	for (int q = 0; q < qps && !asks && op == VERBS_SEND; q++)
		for (int i = 0; i < n.most && well(&n); i++)
			post_receive(&n, q);
	going = rdma_agree(r, &f->fault);
	if (going)
		going = asks ? demand(&n, seed, seconds) : serve(&n, seed, seconds);
	if (r->trouble.reason.code && !f->fault.reason.code)
		f->fault = r->trouble;
	/* Queue pairs with an error carry nothing more. */
	if (f->fault.reason.code && !rail->fault.reason.code)
		rail->fault = f->fault;
	return going && !f->fault.reason.code;
}

/* --- figures ------------------------------------------------------------------------------------------ */

double rdma_gbps(const struct rdma_flow *f)
{
	return f->fault.reason.code || f->ns <= 0 ? NAN : 8 * (double)f->bytes / (double)f->ns;
}

double rdma_worst_second(const struct rdma_flow *f, int *count)
{
	const struct net_point *from = f->points;
	double least = INFINITY;

	*count = 0;
	for (int i = 1; i < f->n_points; i++) {
		const struct net_point *p = &f->points[i];

		if (p->ns - from->ns < NS_PER_S - EARLY_NS)
			continue;
		least = fmin(least,
		             8 * (double)(p->bytes - from->bytes) / (double)(p->ns - from->ns));
		from = p;
		++*count;
	}
	return least / rdma_gbps(f);
}
