/* The circle method. */
#include "coord/rounds.h"

#include <stdlib.h>

#include "base/error.h"
#include "stats/rng.h"

static void shuffle(int *list, int n, struct rng *rng)
{
	for (int i = n - 1; i > 0; i--) {
		int k = (int)rng_below(rng, (uint32_t)i + 1), kept = list[i];

		list[i] = list[k];
		list[k] = kept;
	}
}

int rounds_count(int n, int most)
{
	int all = n > 1 ? n + n % 2 - 1 : 0;

	return most > 0 && most < all ? most : all;
}

void rounds_make(struct rounds *r, struct arena *arena, const int *members, int n, int most,
                 uint64_t seed)
{
	int places = n + n % 2, all = rounds_count(n, 0);
	int *circle = arena_array(arena, (size_t)places + 1, sizeof(*circle));
	struct rng rng;

	rng_seed(&rng, seed);
	for (int i = 0; i < places; i++)
		circle[i] = i < n ? members[i] : -1;
	*r = (struct rounds){.circle = circle, .places = places};
	r->order = arena_array(arena, (size_t)all + 1, sizeof(*r->order));
	for (int i = 0; i < all; i++)
		r->order[i] = i;
	r->count = rounds_count(n, most);
	if (r->count < all) {
		shuffle(circle, places, &rng);
		shuffle(r->order, all, &rng);
	}
	for (int i = 0; i < r->count; i++)
		r->n_pairs += n / 2;
}

/* The first stays, the others go round. */
static int at(const struct rounds *r, int round, int place)
{
	int m = r->places - 1;

	return place == 0 ? r->circle[0] : r->circle[1 + (place - 1 + round) % m];
}

int rounds_get(const struct rounds *r, int round, struct arena *arena,
               const struct round_pair **pairs)
{
	struct round_pair *list = arena_array(arena, (size_t)r->places / 2 + 1, sizeof(*list));
	int n = 0;

	for (int i = 0; i < r->places / 2; i++) {
		int a = at(r, r->order[round], i);
		int b = at(r, r->order[round], r->places - 1 - i);

		if (a >= 0 && b >= 0)
			list[n++] = (struct round_pair){a < b ? a : b, a < b ? b : a};
	}
	*pairs = list;
	return n;
}

static int place_on(const struct rounds *r, int member)
{
	for (int i = 0; i < r->places; i++)
		if (r->circle[i] == member)
			return i;
	return -1;
}

/* Of the m that go round, a and b meet where their places add up to m; twice the
 * round is then known, and m is odd. */
bool rounds_have(const struct rounds *r, int a, int b)
{
	int m = r->places - 1, x = place_on(r, a), y = place_on(r, b);
	int64_t round;

	if (a == b || a < 0 || b < 0 || x < 0 || y < 0)
		return false;
	if (x == 0 || y == 0)
		round = x + y; /* one of them is 0 */
	else
		round = ((int64_t)x + y) * ((m + 1) / 2);
	for (int i = 0; i < r->count; i++)
		if (r->order[i] == round % m)
			return true;
	return false;
}

int rounds_place(const struct round_pair *pairs, int n, int members, int most, int *round_of)
{
	bool *busy = calloc((size_t)members * (size_t)most + 1, sizeof(*busy));
	int rounds = 0;

	if (!busy)
		die_nomem();
	for (int i = 0; i < n; i++) {
		bool *in = busy;
		int k = 0;

		while (k < most && (in[pairs[i].a] || in[pairs[i].b])) {
			in += members;
			k++;
		}
		round_of[i] = k < most ? k : -1;
		if (k == most)
			continue;
		in[pairs[i].a] = in[pairs[i].b] = true;
		rounds = k + 1 > rounds ? k + 1 : rounds;
	}
	free(busy);
	return rounds;
}
