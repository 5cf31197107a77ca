/* Who sends to whom in each pattern. Arithmetic on numbers of nodes: the same seed and
 * number give the same patterns everywhere. */
#include "patterns.h"

#include "stats/rng.h"

const char *const pattern_names[PATTERNS] = {[PATTERN_PERMUTATION] = "permutation",
                                             [PATTERN_BISECTION] = "bisection",
                                             [PATTERN_INCAST] = "incast"};

/* So many groups that each has senders + 1 nodes, or as near to it as can be. */
static int groups_of(int nodes, int senders)
{
	int groups = (2 * nodes + senders + 1) / (2 * (senders + 1));

	return groups > 0 ? groups : 1;
}

/* The first node of a group; the first groups are one larger where it does not come out
 * even. */
static int group_at(int nodes, int groups, int group)
{
	int least = nodes / groups, longer = nodes % groups;

	return group * least + (group < longer ? group : longer);
}

int patterns_incast_turns(int nodes, int senders)
{
	int groups = groups_of(nodes, senders);

	return (nodes + groups - 1) / groups;
}

void patterns_incast(int nodes, int senders, int turn, int *to)
{
	int groups = groups_of(nodes, senders);

	for (int g = 0; g < groups; g++) {
		int first = group_at(nodes, groups, g), end = group_at(nodes, groups, g + 1);
		int receiver = first + turn;

		for (int i = first; i < end; i++)
			to[i] = i == receiver || receiver >= end ? -1 : receiver;
	}
}

void patterns_bisection(const int *order, int nodes, int *to)
{
	int half = nodes / 2;

	for (int i = 0; i < nodes; i++)
		to[order[i]] = -1;
	for (int i = 0; i < half; i++) {
		to[order[i]] = order[i + half];
		to[order[i + half]] = order[i];
	}
}

void patterns_permutation(int nodes, uint64_t seed, int turn, int *to)
{
	struct rng rng;

	rng_seed(&rng, seed ^ (uint64_t)(turn + 1) << 40);
	for (int i = 0; i < nodes; i++)
		to[i] = i;
	for (int i = nodes - 1; i > 0; i--) {
		int k = (int)rng_below(&rng, (uint32_t)i), held = to[i];

		to[i] = to[k];
		to[k] = held;
	}
}

int patterns_senders(const int *to, int nodes, int node)
{
	int n = 0;

	for (int i = 0; i < nodes; i++)
		n += to[i] == node;
	return n;
}
