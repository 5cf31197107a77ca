/* Who meets whom: perfect matchings of n nodes by the circle method, in which after
 * n - 1 rounds (n if odd) every node has met every other once. A sample takes some
 * of the rounds of a shuffled circle: each node then has that many different
 * partners. */
#ifndef ASSAY_COORD_ROUNDS_H
#define ASSAY_COORD_ROUNDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/* Rounds of a sample. */
#define PAIRS_SAMPLE_ROUNDS 16

struct round_pair {
	int a, b; /* members; a before b in the order they were given */
};

struct rounds {
	const int *circle; /* members in turn; -1: nobody, who meets it rests */
	int places;        /* even */
	int *order;        /* of the rounds that are taken */
	int count;
	int n_pairs; /* of all rounds */
};

/* `most` 0: all rounds. The arena keeps it. */
void rounds_make(struct rounds *r, struct arena *arena, const int *members, int n, int most,
                 uint64_t seed);
/* The pairs of one, from the arena. */
int rounds_get(const struct rounds *r, int round, struct arena *arena,
               const struct round_pair **pairs);

/* Whether two of them meet in one of the rounds that are taken. */
bool rounds_have(const struct rounds *r, int a, int b);
/* How many rounds there are of n members at most `most` (0: all of them). */
int rounds_count(int n, int most);

/* Puts pairs of members below `members` into at most `most` rounds, each member once
 * a round, the first pairs first. round_of[i]: of pairs[i], -1: it found no place.
 * Returns how many rounds that took. */
int rounds_place(const struct round_pair *pairs, int n, int members, int most, int *round_of);

#endif
