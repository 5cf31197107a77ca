/* What ranks send and what must come of it. Every rank's data is known from its
 * number, so all elements of every result are compared on the card that has it,
 * without a second copy of it anywhere.
 *
 * Data is a ramp: element i is base + 8 i, with another base for each rank and
 * turn. Where contributions are added up, every second rank sends the complement
 * of its ramp, so that ramps cancel out and the sum is a ramp again; one more rank
 * sends a constant when their number is even. A chunk that is lost, doubled,
 * stale or in a wrong place changes the sum. */
#include "collective.h"

#include "kernels/kernels.h"

#define WORD sizeof(uint64_t)

static bool adds_up(enum collective_op op)
{
	return op == OP_ALL_REDUCE || op == OP_REDUCE_SCATTER;
}

/* Bits of a 64-bit number that have nothing to do with one another. */
static uint64_t scatter(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Of the data of a rank of the communicator that card r is in. */
static uint64_t base_of(const struct collective *c, int r, int number)
{
	return scatter(c->base + (uint64_t)number * 0x9e3779b97f4a7c15u +
	               (uint64_t)c->rank[r].rail * 0xd1b54a32d192ed03u);
}

uint64_t collective_sent(const struct collective_job *job, int n)
{
	bool whole = job->op == OP_REDUCE_SCATTER || job->op == OP_ALL_TO_ALL;

	return job->words * (whole ? (uint64_t)n : 1);
}

uint64_t collective_received(const struct collective_job *job, int n)
{
	bool whole = job->op == OP_ALL_GATHER || job->op == OP_ALL_TO_ALL;

	return job->words * (whole ? (uint64_t)n : 1);
}

cu_ptr collective_from(const struct collective *c, const struct collective_job *job, int rank)
{
	uint64_t number = (uint64_t)c->rank[rank].number;
	uint64_t skip = job->op == OP_ALL_GATHER ? number * job->words : 0;

	return job->in_place ? c->rank[rank].recv + skip * WORD : c->rank[rank].send;
}

cu_ptr collective_to(const struct collective *c, const struct collective_job *job, int rank)
{
	uint64_t number = (uint64_t)c->rank[rank].number;
	uint64_t skip = job->op == OP_REDUCE_SCATTER ? number * job->words : 0;

	return job->in_place ? c->rank[rank].recv + skip * WORD : c->rank[rank].recv;
}

static bool sends(const struct collective_job *job, int rank)
{
	return job->op != OP_PAIR || rank == job->from;
}

static bool receives(const struct collective_job *job, int rank)
{
	return job->op != OP_PAIR || rank == job->to;
}

/* --- what is sent ---------------------------------------- */

/* Which part a rank plays in a sum changes from turn to turn. */
static int part_of(const struct collective *c, int number)
{
	return (int)(((uint32_t)number + c->turn) % (uint32_t)c->ranks);
}

static bool sends_constant(const struct collective *c, int number)
{
	return c->ranks % 2 == 0 && part_of(c, number) == c->ranks - 1;
}

static enum status send_data(struct collective *c, const struct collective_job *job, int r,
                             struct error *err)
{
	cu_ptr at = collective_from(c, job, r);
	int number = c->rank[r].number;
	uint64_t n = collective_sent(job, c->ranks), base = base_of(c, r, number), invert = 0;
	uint32_t kind = PATTERN_ADDRESS;

	if (adds_up(job->op) && sends_constant(c, number))
		kind = PATTERN_CONSTANT;
	else if (adds_up(job->op) && part_of(c, number) % 2)
		invert = ~(uint64_t)0;
	return device_cuda_wide(c->team.cards[r].dev, c->rank[r].write,
	                        (void *[]){&at, &n, &kind, &base, &base, &invert}, err);
}

enum status collective_prepare(struct collective *c, const struct collective_job *job,
                               struct error *err)
{
	uint64_t poisoned = collective_received(job, c->ranks) * WORD;
	enum status st = ST_OK;

	c->turn++;
	c->base = scatter(c->ctx->seed ^ c->turn);
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		st = team_use(&c->team, r, err);
		if (st == ST_OK && receives(job, r))
			st = CUDA_TRY(&c->team.cuda, err, set8, c->rank[r].recv, 0xff, poisoned,
			              c->team.cards[r].dev->stream);
		if (st == ST_OK && sends(job, r))
			st = send_data(c, job, r, err);
	}
	return st;
}

/* --- what must come ---------------------------------------- */

/* ~x = -x - 1, so ramps and their complements leave one ramp. */
static uint64_t base_of_sum(const struct collective *c, int r)
{
	uint64_t sum = 0;

	for (int k = 0; k < c->ranks; k++)
		sum += sends_constant(c, k) || part_of(c, k) % 2 == 0 ? base_of(c, r, k)
		                                                      : ~base_of(c, r, k);
	return sum;
}

/* Base of segment s of what rank r received. */
static uint64_t expected_base(const struct collective *c, const struct collective_job *job, int r,
                              int s)
{
	int number = c->rank[r].number;
	uint64_t own = 8 * (uint64_t)number * job->words;

	switch (job->op) {
	case OP_ALL_REDUCE:
		return base_of_sum(c, r);
	case OP_REDUCE_SCATTER:
		return base_of_sum(c, r) + own;
	case OP_ALL_TO_ALL:
		return base_of(c, r, s) + own;
	case OP_BROADCAST:
		return base_of(c, r, job->root);
	case OP_SEND_RECV:
		return base_of(c, r, (number + c->ranks - 1) % c->ranks);
	case OP_PAIR:
		return base_of(c, r, job->from);
	default:
		return base_of(c, r, s);
	}
}

static int segments(const struct collective *c, const struct collective_job *job)
{
	return (int)(collective_received(job, c->ranks) / job->words);
}

static enum status queue_check(struct collective *c, const struct collective_job *job, int r,
                               struct error *err)
{
	struct cuda *cuda = &c->team.cuda;
	struct device_cuda *dev = c->team.cards[r].dev;
	size_t bytes = (size_t)c->n * sizeof(struct kernel_check);
	uint64_t words = job->words, none = 0;
	uint32_t kind = PATTERN_ADDRESS, rewrite = 0;
	enum status st = team_use(&c->team, r, err);

	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, copy_to_device, c->rank[r].checks, c->shared.blank, bytes,
		              dev->stream);
	for (int s = 0; s < segments(c, job) && receives(job, r) && st == ST_OK; s++) {
		cu_ptr at = collective_to(c, job, r) + (uint64_t)s * words * WORD;
		cu_ptr check = c->rank[r].checks + (uint64_t)s * sizeof(struct kernel_check);
		uint64_t base = expected_base(c, job, r, s);

		st = device_cuda_wide(
			dev, c->rank[r].check,
			(void *[]){&at, &words, &kind, &base, &none, &none, &rewrite, &check}, err);
	}
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, copy_to_host, c->shared.found + (size_t)r * (size_t)c->n,
		              c->rank[r].checks, bytes, dev->stream);
	return st;
}

/* Keeps what the first wrong element is. */
static enum status look_at(struct collective *c, const struct collective_job *job, int r, int s,
                           struct error *err)
{
	const struct kernel_check *found = &c->shared.found[r * c->n + s];
	cu_ptr at = collective_to(c, job, r) + ((uint64_t)s * job->words + found->first) * WORD;
	enum status st = team_use(&c->team, r, err);

	if (st == ST_OK)
		st = CUDA_TRY(&c->team.cuda, err, copy_to_host, c->shared.got, at, WORD,
		              c->team.cards[r].dev->stream);
	if (st == ST_OK)
		st = collective_wait(c, "copy", err);
	c->first = (struct collective_wrong){
		.job = *job,
		.rank = r,
		.segment = s,
		.index = found->first,
		.expected = expected_base(c, job, r, s) + 8 * found->first,
		.got = *c->shared.got,
		.bits = found->bits,
	};
	return st;
}

enum status collective_check(struct collective *c, const struct collective_job *job,
                             uint64_t *wrong, struct error *err)
{
	enum status st = ST_OK;

	*wrong = 0;
	for (int r = 0; r < c->n && st == ST_OK; r++)
		st = queue_check(c, job, r, err);
	if (st == ST_OK)
		st = collective_wait(c, collective_op_name(job->op), err);
	for (int r = 0; r < c->n && st == ST_OK; r++)
		for (int s = 0; s < segments(c, job) && receives(job, r) && st == ST_OK; s++) {
			uint64_t bad = c->shared.found[r * c->n + s].bad;

			c->words_checked += job->words;
			c->wrong_of[r] += bad;
			*wrong += bad;
			if (bad && c->wrong + *wrong == bad)
				st = look_at(c, job, r, s, err);
		}
	c->wrong += *wrong;
	c->checks++;
	return st;
}
