/* Signs of tricks that show in speeds alone. One of them is a noisy disk as
 * easily as a trick: each is taken in alternated pairs and has an interval, and
 * only two of a kind together are a finding (the profile says so). */
#ifndef ASSAY_BENCH_STORAGE_SIGNS_H
#define ASSAY_BENCH_STORAGE_SIGNS_H

#include "stats/pairs.h"
#include "storage_points.h"

#define SIGN_PAIRS 10
/* Two signs of a kind accuse a vendor: an honest disk must not show one often. */
#define SIGN_ALPHA 0.01

/* Beyond these, with the whole interval: a second reading or a set of a quarter
 * of the size this much faster; random reads above sequential ones; the end of
 * a run this much slower than its beginning. */
#define REREAD_LIMIT      1.2
#define WORKING_SET_LIMIT 1.2
#define RANDOM_LIMIT      1.0
#define DROP_LIMIT        0.9

/* a_i against b_i, measured one right after the other. */
struct sign_pairs {
	double a[SIGN_PAIRS], b[SIGN_PAIRS];
	int n;
};

struct storage_sign {
	const char *name;
	bool known; /* could be looked for */
	bool shows;
	struct estimate ratio; /* value NaN: unknown */
	struct sign_pairs pairs;
};

/* The ratio a / b lies above (`above`) or below the limit with its interval. */
struct storage_sign storage_sign_of(const char *name, const struct sign_pairs *pairs, double limit,
                                    bool above);
/* Two stretches of a steady load, n and m windows, cut into pairs of blocks. */
struct sign_pairs storage_blocks(const double *a, size_t n, const double *b, size_t m);

/* What is looked for; the order they are reported in. */
enum { SIGN_REREAD, SIGN_WORKING_SET, SIGN_RANDOM, SIGN_ROUND_TRIP, SIGN_LINK, CACHE_SIGN_KINDS };
struct storage_signs {
	struct storage_sign cache[CACHE_SIGN_KINDS];
	struct storage_sign burst[2]; /* thirds, after_hold */
	/* Why pairs or the long run are missing, when they are. */
	struct storage_why cache_why, burst_why;
};

/* Parts of the data nobody has read yet, each read twice: to be run first. */
void storage_look_rereading(struct storage_work *w, struct storage_signs *s);
/* A quarter of the data, all of it, and all in order, in turns. */
void storage_look_working_set(struct storage_work *w, struct storage_signs *s);
/* The figures of the points against round trip and link. */
void storage_look_network(struct storage_work *w, struct storage_signs *s);
/* Holds the chosen point: the long run, and the short ones before and after it. */
void storage_look_burst(struct storage_work *w, struct storage_signs *s);
/* Both readings, or why not. Leaves in w why there is no long run. */
void storage_emit_signs(struct storage_work *w, const struct storage_signs *s);

/* Seconds all of it takes at most, for the plan. */
double storage_signs_seconds(struct probe_ctx *ctx);

#endif
