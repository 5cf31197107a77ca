/* The circle method. */
#include "coord/rounds.h"

#include "stats/rng.h"

static void shuffle(int *list, int n, struct rng *rng)
{
	for (int i = n - 1; i > 0; i--) {
		int k = (int)rng_below(rng, (uint32_t)i + 1), kept = list[i];

		list[i] = list[k];
		list[k] = kept;
	}
}

void rounds_make(struct rounds *r, struct arena *arena, const int *members, int n, int most,
                 uint64_t seed)
{
	int places = n + n % 2, all = places > 1 ? places - 1 : 0;
	int *circle = arena_array(arena, (size_t)places + 1, sizeof(*circle));
	struct rng rng;

	rng_seed(&rng, seed);
	for (int i = 0; i < places; i++)
		circle[i] = i < n ? members[i] : -1;
	*r = (struct rounds){.circle = circle, .places = places};
	r->order = arena_array(arena, (size_t)all + 1, sizeof(*r->order));
	for (int i = 0; i < all; i++)
		r->order[i] = i;
	r->count = all;
	if (most > 0 && most < all) {
		shuffle(circle, places, &rng);
		shuffle(r->order, all, &rng);
		r->count = most;
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
