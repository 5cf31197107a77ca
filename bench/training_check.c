/* Whether sums over all ranks are right: every gradient becomes 64-bit numbers whose
 * sum is known, goes through the same buffers, buckets and communicator as in a
 * step, and is compared on the card. Numbers of 16 bits would be exact for a few ranks
 * only, and alike at many places: a bucket that arrived elsewhere would pass.
 *
 * Element i of rank r is base + 8 i, of every second rank the complement, so that a
 * ramp is left of an odd number of ranks; of an even one the last sends a constant. */
#include "kernels/kernels.h"
#include "training_cards.h"

#define WORD sizeof(uint64_t)

/* Bits of a 64-bit number that have nothing to do with one another. */
static uint64_t scatter(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t base_of(const struct cards *t, int rank)
{
	return scatter(t->turn * 0x2545f4914f6cdd1du + (uint64_t)rank * 0x9e3779b97f4a7c15u);
}

static bool constant(const struct cards *t, int rank)
{
	return t->ranks % 2 == 0 && rank == t->ranks - 1;
}

/* ~x = -x - 1, so ramps and their complements leave one ramp. */
static uint64_t base_of_sum(const struct cards *t)
{
	uint64_t sum = 0;

	for (int r = 0; r < t->ranks; r++)
		sum += constant(t, r) || r % 2 == 0 ? base_of(t, r) : ~base_of(t, r);
	return sum;
}

static uint64_t words_of(const struct cards *t, int card)
{
	return t->work[card].gradients.bytes / WORD;
}

static enum status fill_card(struct cards *t, int card, struct error *err)
{
	int rank = t->first + card;
	cu_ptr at = device_cuda_address(&t->work[card].gradients);
	uint64_t n = words_of(t, card), base = base_of(t, rank);
	uint64_t invert = rank % 2 && !constant(t, rank) ? ~(uint64_t)0 : 0;
	uint32_t kind = constant(t, rank) ? PATTERN_CONSTANT : PATTERN_ADDRESS;
	enum status st = team_use(&t->c.team, card, err);

	return st == ST_OK
	               ? device_cuda_wide(t->c.team.cards[card].dev, t->c.rank[card].write,
	                                  (void *[]){&at, &n, &kind, &base, &base, &invert}, err)
	               : st;
}

static enum status compare_card(struct cards *t, int card, uint64_t *wrong, struct error *err)
{
	struct device *device = &t->c.team.cards[card].dev->device;
	struct kernel_check found = {0, UINT64_MAX, 0};
	struct device_buffer check = {0};
	cu_ptr at = device_cuda_address(&t->work[card].gradients), to;
	uint64_t n = words_of(t, card), base = base_of_sum(t), none = 0;
	uint32_t kind = PATTERN_ADDRESS, rewrite = 0;
	enum status st = team_use(&t->c.team, card, err);

	*wrong = 0;
	if (st == ST_OK)
		st = device->ops->alloc(device, &check, sizeof(found), err);
	if (st != ST_OK)
		return st;
	to = device_cuda_address(&check);
	st = device->ops->write(device, &check, 0, &found, sizeof(found), err);
	if (st == ST_OK)
		st = device_cuda_wide(
			t->c.team.cards[card].dev, t->c.rank[card].check,
			(void *[]){&at, &n, &kind, &base, &none, &none, &rewrite, &to}, err);
	if (st == ST_OK)
		st = device->ops->read(device, &check, 0, &found, sizeof(found), err);
	device->ops->release(device, &check);
	*wrong = found.bad;
	return st;
}

static enum status sum_all(struct cards *t, struct error *err)
{
	enum status st = ST_OK;

	for (int b = 0; b < t->n_buckets && st == ST_OK; b++)
		st = training_queue_sum(t, &t->buckets[b], NCCL_UINT64,
		                        WORD / number_format_bytes(t->format), err);
	if (st == ST_OK)
		st = training_await_sums(t, err);
	return st == ST_OK ? collective_wait(&t->c, "ncclAllReduce", err) : st;
}

enum status training_check_step(struct team *team, void *arg, struct error *err)
{
	struct cards_check *k = arg;
	struct cards *t = k->cards;
	enum status st = ST_OK;

	(void)team;
	for (int i = 0; i < t->c.n && st == ST_OK; i++)
		st = fill_card(t, i, err);
	if (st == ST_OK)
		st = sum_all(t, err);
	for (int i = 0; i < t->c.n && st == ST_OK; i++) {
		uint64_t wrong;

		st = compare_card(t, i, &wrong, err);
		k->out->cards[i].wrong = (double)wrong;
		k->out->checked += (double)words_of(t, i);
	}
	return st;
}
