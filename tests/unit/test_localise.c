/* Which end is bad: planted faults in 1,000 clusters a kind at 5 % noise. What the
 * data can tell must be named, what they cannot must be listed, and no wrong name
 * may ever be given. Seeds are fixed; ASSAY_FULL=1 takes ten times as many. */
#include "tests/unit/localise_kit.h"

#include <stdio.h>

#define NOISE 0.05
#define WHOLE 0.2 /* depth that must be found */

#if defined(__SANITIZE_ADDRESS__)
#define SLOW 10 /* the sanitizer looks at memory, not at statistics */
#else
#define SLOW 1
#endif

static int runs(int usual)
{
	const char *full = getenv("ASSAY_FULL");

	if (full && *full == '1')
		return 10 * usual;
	return usual > SLOW ? usual / SLOW : 1;
}

/* --- counting ---------------------------------------------------------------------- */

static struct tally count(const char *what, struct cluster c, int n, uint64_t seed)
{
	struct tally t = tally_runs(c, n, seed);

	print_message("%-44s right %d of %d, open %d (all listed in %d), wrong %d\n", what, t.right,
	              t.runs, t.open, t.listed, t.wrong);
	/* None in 1,000; of ten times as many one may be chance. */
	if (t.wrong > t.runs / 10000)
		fail_msg("%s: %d wrong names", what, t.wrong);
	return t;
}

/* Named right in at least 99.9 %, and depth inside its interval about as often as
 * it claims. */
static void assert_named(const char *what, struct cluster c, int usual)
{
	struct tally t = count(what, c, runs(usual), 11);
	double covered = (double)t.covered / t.named;

	if (t.right < ceil(0.999 * t.runs))
		fail_msg("%s: %d of %d", what, t.right, t.runs);
	if (t.way_wrong > t.runs / 500)
		fail_msg("%s: %d wrong ways", what, t.way_wrong);
	if (covered < 0.88)
		fail_msg("%s: %.3f of the depths inside their intervals", what, covered);
}

/* Never named, and in nearly all cases among what is listed. */
static void assert_listed(const char *what, struct cluster c, int usual, double share)
{
	struct tally t = count(what, c, runs(usual), 12);

	if (t.named)
		fail_msg("%s: named %d times", what, t.named);
	if (t.listed < share * t.runs)
		fail_msg("%s: listed in %d of %d", what, t.listed, t.runs);
}

#define CLUSTER(...) ((struct cluster){.noise = NOISE, __VA_ARGS__})
#define ALONE        .senders = 1
#define DRAW(what, count, low, high, ways)                                                         \
	.draw = {.kind = CULPRIT_##what, .n = count, .least = low, .most = high, .any_way = ways}

/* --- nothing wrong ------------------------------------------------------------------ */

static void clean_clusters_have_no_culprit(void **state)
{
	static const struct {
		const char *what;
		int usual;
		struct cluster c;
	} rows[] = {
		{"clean, 2 nodes", 1000, {.nodes = 2, ALONE}},
		{"clean, 3 nodes", 1000, {.nodes = 3, ALONE}},
		{"clean, 4 nodes", 1000, {.nodes = 4, ALONE}},
		{"clean, 6 nodes", 1000, {.nodes = 6, ALONE}},
		{"clean, 8 nodes", 1000, {.nodes = 8, ALONE}},
		{"clean, 16 nodes", 300, {.nodes = 16, ALONE}},
		{"clean, 32 nodes, 8 partners", 300, {.nodes = 32, .partners = 8, ALONE}},
		{"clean, 64 nodes, 2 partners", 300, {.nodes = 64, .partners = 2, ALONE}},
		{"clean, 8 x 4 NICs, 4 leaves", 100, {.nodes = 8, .nics = 4, .leaves = 4, ALONE}},
		{"clean, many to one", 1000, {.nodes = 8, .senders = 4}},
		{"clean, latency", 1000, {.nodes = 8, .better = BETTER_LOWER, ALONE}},
		{"clean, nodes differ by 5 %",
	         40,
	         {.nodes = 64, .node_noise = 0.05, .partners = 16, ALONE}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct cluster c = rows[i].c;
		struct tally t;

		c.noise = NOISE;
		t = count(rows[i].what, c, runs(rows[i].usual), 10 + i);
		/* Below 4 nodes there is no majority; what is said then names nobody. */
		assert_true(c.nodes < 4 || t.right >= 0.99 * t.runs);
	}
}

/* --- what can be told ---------------------------------------------------------------- */

static void bad_nodes(void **state)
{
	(void)state;
	assert_named("a node of 8, 20 %, any way",
	             CLUSTER(.nodes = 8, ALONE, DRAW(NODE, 1, WHOLE, WHOLE, true)), 1000);
	assert_named("a node of 16, 20 %, any way",
	             CLUSTER(.nodes = 16, ALONE, DRAW(NODE, 1, WHOLE, WHOLE, true)), 500);
	assert_named("a node of 64, 20 %, 8 partners",
	             CLUSTER(.nodes = 64, .partners = 8, ALONE, DRAW(NODE, 1, WHOLE, WHOLE, true)),
	             300);
	assert_named(
		"a node of 8, 20 to 90 %, latency",
		CLUSTER(.nodes = 8, .better = BETTER_LOWER, ALONE, DRAW(NODE, 1, WHOLE, 0.9, true)),
		1000);
}

static void a_quarter_of_the_nodes(void **state)
{
	(void)state;
	assert_named("2 of 8 nodes, 20 %",
	             CLUSTER(.nodes = 8, ALONE, DRAW(NODE, 2, WHOLE, WHOLE, false)), 1000);
	assert_named("2 of 8 nodes, 20 to 80 %, any way",
	             CLUSTER(.nodes = 8, ALONE, DRAW(NODE, 2, WHOLE, 0.8, true)), 1000);
	assert_named("2 of 8 nodes, the tighter limit counts",
	             CLUSTER(.nodes = 8, .minimum = true, ALONE, DRAW(NODE, 2, WHOLE, 0.8, false)),
	             1000);
	assert_named("4 of 16 nodes, 20 to 80 %, any way",
	             CLUSTER(.nodes = 16, ALONE, DRAW(NODE, 4, WHOLE, 0.8, true)), 100);
	assert_named(
		"4 of 16 nodes, the tighter limit counts",
		CLUSTER(.nodes = 16, .minimum = true, ALONE, DRAW(NODE, 4, WHOLE, WHOLE, false)),
		100);
	assert_named("2 of 16 nodes in 4 leaves, 20 %",
	             CLUSTER(.nodes = 16, .leaves = 4, ALONE, DRAW(NODE, 2, WHOLE, WHOLE, false)),
	             200);
}

static void bad_nics(void **state)
{
	(void)state;
	assert_named("a NIC of 8 x 4, 20 %, any way",
	             CLUSTER(.nodes = 8, .nics = 4, ALONE, DRAW(NIC, 1, WHOLE, WHOLE, true)), 1000);
	assert_named("2 NICs of 8 x 2, 20 to 80 %",
	             CLUSTER(.nodes = 8, .nics = 2, ALONE, DRAW(NIC, 2, WHOLE, 0.8, true)), 500);
	assert_named("a rail of 8 x 4, 20 %",
	             CLUSTER(.nodes = 8, .nics = 4, ALONE, DRAW(RAIL, 1, WHOLE, WHOLE, false)),
	             200);
}

/* One cable has two values where a node has 14: at 5 % noise it must be deep, or be
 * read again. */
static void bad_cables(void **state)
{
	struct tally t;

	(void)state;
	assert_named("a cable of 8 nodes, 20 %, read 4 times",
	             CLUSTER(.nodes = 8, .repeats = 4, ALONE, DRAW(LINK, 1, WHOLE, WHOLE, false)),
	             500);
	assert_named("a cable of 8 nodes, 30 %, read twice",
	             CLUSTER(.nodes = 8, .repeats = 2, ALONE, DRAW(LINK, 1, 0.3, 0.3, false)),
	             1000);
	assert_named("a cable of 16 nodes, 35 to 90 %, read twice",
	             CLUSTER(.nodes = 16, .repeats = 2, ALONE, DRAW(LINK, 1, 0.35, 0.9, false)),
	             200);
	assert_named("a cable one way, 35 %, read 4 times",
	             CLUSTER(.nodes = 8, .repeats = 4, ALONE, DRAW(LINK, 1, 0.35, 0.35, true)),
	             500);
	assert_named("2 cables of 8 nodes, 35 to 80 %, read twice",
	             CLUSTER(.nodes = 8, .repeats = 2, ALONE, DRAW(LINK, 2, 0.35, 0.8, false)),
	             500);
	t = count("a cable of 8 nodes, 40 %, read once",
	          CLUSTER(.nodes = 8, ALONE, DRAW(LINK, 1, 0.4, 0.4, false)), runs(1000), 11);
	assert_true(t.right >= 0.995 * t.runs);
	/* Nearer to the noise: sometimes named, never wrongly. */
	t = count("a cable of 8 nodes, 20 %, read once",
	          CLUSTER(.nodes = 8, ALONE, DRAW(LINK, 1, WHOLE, WHOLE, false)), runs(1000), 11);
	assert_in_range(t.right, 4 * t.runs / 10, 7 * t.runs / 10);
}

static void bad_leaves(void **state)
{
	(void)state;
	assert_named("a leaf of 4 with 3 nodes, 20 %",
	             CLUSTER(.nodes = 12, .leaves = 4, ALONE, DRAW(LEAF, 1, WHOLE, WHOLE, false)),
	             500);
	assert_named("an uplink of 4 leaves with 4 nodes, 20 %",
	             CLUSTER(.nodes = 16, .leaves = 4, ALONE, DRAW(UPLINK, 1, WHOLE, WHOLE, true)),
	             200);
}

static void incast_is_not_the_receiver(void **state)
{
	(void)state;
	assert_named("incast at a node of 8",
	             CLUSTER(.nodes = 8, .senders = 4, DRAW(INCAST, 1, WHOLE, 0.8, false)), 1000);
	assert_named("a receiver, alone and with 4 senders",
	             CLUSTER(.nodes = 8, .senders = 4,
	                     .plant = {{CULPRIT_NODE, 5, -1, -1, -1, CULPRIT_WAY_RECEIVES, WHOLE}},
	                     .n_plants = 1),
	             1000);
}

/* --- what cannot be told --------------------------------------------------------------- */

static void too_few_partners(void **state)
{
	(void)state;
	assert_listed("a node of 3", CLUSTER(.nodes = 3, ALONE, DRAW(NODE, 1, 0.3, 0.3, false)),
	              1000, 0.99);
	assert_listed("a node of 64, 1 partner",
	              CLUSTER(.nodes = 64, .partners = 1, ALONE, DRAW(NODE, 1, 0.35, 0.35, false)),
	              300, 0.95);
	assert_listed("a node of 64, 2 partners",
	              CLUSTER(.nodes = 64, .partners = 2, ALONE, DRAW(NODE, 1, 0.3, 0.3, false)),
	              300, 0.95);
	assert_listed("a leaf of 2 nodes",
	              CLUSTER(.nodes = 8, .leaves = 4, ALONE, DRAW(LEAF, 1, WHOLE, WHOLE, false)),
	              500, 0.99);
}

static void a_pattern_not_told_apart(void **state)
{
	(void)state;
	assert_listed("a receiver, 4 senders only",
	              CLUSTER(.nodes = 8, .senders = 4, .only_many = true,
	                      .plant = {{CULPRIT_NODE, 5, -1, -1, -1, CULPRIT_WAY_RECEIVES, WHOLE}},
	                      .n_plants = 1),
	              1000, 0.99);
	assert_listed("incast, 4 senders only",
	              CLUSTER(.nodes = 8, .senders = 4, .only_many = true,
	                      DRAW(INCAST, 1, WHOLE, WHOLE, false)),
	              1000, 0.99);
	assert_listed("a receiver, pattern not said",
	              CLUSTER(.nodes = 8, .senders = 0, .only_many = true,
	                      .plant = {{CULPRIT_NODE, 5, -1, -1, -1, CULPRIT_WAY_RECEIVES, WHOLE}},
	                      .n_plants = 1),
	              1000, 0.99);
}

static void single_readings_and_shallow_faults(void **state)
{
	(void)state;
	assert_listed("a cable one way, read once",
	              CLUSTER(.nodes = 8, ALONE,
	                      .plant = {{CULPRIT_LINK, 2, 6, -1, -1, CULPRIT_WAY_SENDS, 0.5}},
	                      .n_plants = 1),
	              1000, 0.2);
	count("a node of 8, 4 %", CLUSTER(.nodes = 8, ALONE, DRAW(NODE, 1, 0.04, 0.04, true)),
	      runs(1000), 13);
	count("a node of 8, 10 %", CLUSTER(.nodes = 8, ALONE, DRAW(NODE, 1, 0.1, 0.1, true)),
	      runs(1000), 13);
	count("a cable of 8 nodes, 10 %", CLUSTER(.nodes = 8, ALONE, DRAW(LINK, 1, 0.1, 0.1, true)),
	      runs(1000), 13);
	/* More than a quarter is bad: rather one cause for many than many names. */
	count("3 of 8 nodes, 30 %", CLUSTER(.nodes = 8, ALONE, DRAW(NODE, 3, 0.3, 0.3, false)),
	      runs(1000), 13);
	count("an uplink of 2 leaves",
	      CLUSTER(.nodes = 8, .leaves = 2, ALONE, DRAW(UPLINK, 1, 0.3, 0.3, false)), runs(1000),
	      13);
}

/* --- one cluster looked at ---------------------------------------------------------------- */

struct one {
	struct values values;
	struct arena arena;
	struct localise_result result;
};

static void look(struct one *o, const struct cluster *c, double expected)
{
	struct localise_input in = kit_input(c, &o->values);

	in.expected = expected;
	assert_int_equal(localise(&in, &o->arena, &o->result), ST_OK);
}

static void one_free(struct one *o)
{
	values_free(&o->values);
	arena_release(&o->arena);
}

static void two_nodes_leave_three_explanations(void **state)
{
	struct cluster c = CLUSTER(.nodes = 2, ALONE);
	struct one o = {.values = kit_values(&c, 1)};
	double odds = 0;
	bool node[2] = {false}, cable = false;

	(void)state;
	o.values.pairs[0].value = 12;
	o.values.pairs[1].value = 12.2;
	look(&o, &c, NAN); /* alike, and nothing to compare with */
	assert_int_equal(o.result.n_faults, 0);
	look(&o, &c, 24);
	assert_int_equal(o.result.n_faults, 1);
	assert_false(o.result.faults[0].identified);
	for (int i = 0; i < o.result.faults[0].n; i++) {
		const struct blame *b = &o.result.faults[0].list[i];

		odds += b->odds;
		if (b->kind == CULPRIT_NODE)
			node[b->node] = true;
		cable = cable || b->kind == CULPRIT_LINK;
		assert_true(b->odds < 0.6);
		if (b->kind != CULPRIT_NOTHING)
			assert_true(fabs(b->depth - 0.5) < 0.05);
	}
	assert_true(node[0] && node[1] && cable);
	assert_true(fabs(odds - 1) < 1e-6);
	assert_true(isnan(o.result.resolution));
	one_free(&o);
}

static void what_is_said_of_a_node(void **state)
{
	struct cluster c = CLUSTER(.nodes = 16, .nics = 1, ALONE,
	                           .plant = {{CULPRIT_NODE, 4, -1, -1, -1, CULPRIT_WAY_SENDS, 0.5}},
	                           .n_plants = 1);
	struct one o = {.values = kit_values(&c, 3)};
	const struct blame *b;

	(void)state;
	look(&o, &c, NAN);
	assert_int_equal(o.result.n_faults, 1);
	assert_true(o.result.faults[0].identified);
	b = &o.result.faults[0].list[0];
	assert_int_equal(b->kind, CULPRIT_NODE);
	assert_int_equal(b->node, 4);
	assert_int_equal(b->nic, 0); /* the only one it was measured over */
	assert_int_equal(b->way, CULPRIT_WAY_SENDS);
	assert_true(b->way_odds > 0.99);
	assert_int_equal(b->partners, 15);
	assert_int_equal(b->readings, 15);
	assert_int_equal(b->against, 0);
	assert_true(b->lo < 0.5 && b->hi > 0.5 && b->hi - b->lo < 0.06);
	assert_true(fabs(b->level - 12) < 0.5);
	assert_true(fabs(o.result.base - 24) < 0.5);
	assert_true(fabs(o.result.noise - NOISE) < 0.008);
	assert_true(o.result.spread == 0);
	assert_int_equal(o.result.nodes, 16);
	assert_int_equal(o.result.readings, 240);
	assert_true(isnan(o.result.across));
	assert_true(o.result.resolution >= LOCALISE_DEPTH && o.result.resolution < 0.13);
	one_free(&o);
}

static void levels_across_leaves_are_no_fault(void **state)
{
	struct cluster c = CLUSTER(.nodes = 16, .leaves = 4, ALONE);
	struct one o = {.values = kit_values(&c, 3)};

	(void)state;
	for (size_t i = 0; i < o.values.n; i++)
		if (o.values.leaf[o.values.pairs[i].from] != o.values.leaf[o.values.pairs[i].to])
			o.values.pairs[i].value *= 0.5;
	look(&o, &c, NAN);
	assert_int_equal(o.result.n_faults, 0);
	assert_true(fabs(o.result.across - 0.5) < 0.03);
	one_free(&o);
}

static void pairs_that_failed(void **state)
{
	struct cluster c = CLUSTER(.nodes = 8, ALONE);
	struct one o = {.values = kit_values(&c, 3)};

	(void)state;
	for (size_t i = 0; i < o.values.n; i++)
		if (o.values.pairs[i].to == 6) {
			o.values.pairs[i].failed = true;
			o.values.pairs[i].value = NAN;
		}
	look(&o, &c, NAN);
	assert_int_equal(o.result.n_faults, 1);
	assert_true(o.result.faults[0].identified);
	assert_int_equal(o.result.faults[0].list[0].node, 6);
	assert_int_equal(o.result.faults[0].list[0].way, CULPRIT_WAY_RECEIVES);
	assert_true(fabs(o.result.faults[0].list[0].depth - 0.99) < 0.005);
	one_free(&o);
}

/* More senders at once share the receiver's line: no fault of anybody. */
static void a_fair_share_is_no_incast(void **state)
{
	struct cluster c = CLUSTER(.nodes = 8, ALONE);
	struct one o = {.values = kit_values(&c, 3)};

	(void)state;
	for (size_t i = 0; i < o.values.n; i++)
		if (o.values.pairs[i].to == 6) {
			o.values.pairs[i].senders = 7;
			o.values.pairs[i].value /= 7;
		}
	look(&o, &c, NAN);
	assert_int_equal(o.result.n_faults, 0);
	one_free(&o);
}

static void the_order_of_pairs_does_not_matter(void **state)
{
	struct cluster c = CLUSTER(.nodes = 16, .nics = 2, .leaves = 4, ALONE,
	                           DRAW(NODE, 3, WHOLE, 0.5, true));
	struct one a = {0}, b = {0};
	struct rng rng;

	(void)state;
	rng_seed(&rng, 4);
	draw_plants(&c, &rng);
	a.values = kit_values(&c, 5);
	b.values = kit_values(&c, 5);
	for (size_t i = b.values.n - 1; i > 0; i--) {
		size_t k = rng_below(&rng, (uint32_t)i + 1);
		struct pair_value swap = b.values.pairs[i];

		b.values.pairs[i] = b.values.pairs[k];
		b.values.pairs[k] = swap;
	}
	look(&a, &c, NAN);
	look(&b, &c, NAN);
	assert_int_equal(a.result.n_faults, 3);
	assert_int_equal(b.result.n_faults, 3);
	for (int f = 0; f < 3; f++) {
		assert_true(a.result.faults[f].identified && b.result.faults[f].identified);
		assert_int_equal(a.result.faults[f].list[0].node, b.result.faults[f].list[0].node);
		assert_true(fabs(a.result.faults[f].list[0].depth -
		                 b.result.faults[f].list[0].depth) < 1e-9);
	}
	one_free(&a);
	one_free(&b);
}

static void large_clusters(void **state)
{
	struct cluster all = CLUSTER(.nodes = 128, ALONE, DRAW(NODE, 8, WHOLE, 0.6, true)),
		       sampled = CLUSTER(.nodes = 10000, .partners = 16, ALONE,
	                                 DRAW(NODE, 20, WHOLE, 0.6, true));

	(void)state;
	assert_named("8 of 128 nodes, all 16,256 ordered pairs", all, 1);
	assert_named("20 of 10,000 nodes, 16 partners", sampled, 1);
}

/* --- bad input ------------------------------------------------------------------------------ */

static enum status refused(struct pair_value bad, int n_nodes, const int *leaf, enum better better)
{
	struct pair_value pairs[] = {
		{0, 1, -1, -1, 10, false, 1}, {1, 0, -1, -1, 10, false, 1}, bad};
	struct localise_input in = {n_nodes, leaf, pairs, 3, better, NAN, 0};
	struct arena arena = {0};
	struct localise_result out;
	enum status st = localise(&in, &arena, &out);

	arena_release(&arena);
	return st;
}

static void bad_input_is_refused(void **state)
{
	static const struct pair_value good = {1, 2, -1, -1, 10, false, 1};
	static const int leaf[] = {0, 1, 2}, far[] = {0, 1, 3};
	struct pair_value bad[10];
	struct localise_input none = {.n_nodes = 2, .better = BETTER_HIGHER};
	struct pair_value failed = {0, 1, -1, -1, 0, true, 1};
	struct localise_input dead = {2, NULL, &failed, 1, BETTER_HIGHER, NAN, 0};
	struct localise_result out;

	(void)state;
	for (int i = 0; i < 10; i++)
		bad[i] = good;
	bad[0].from = 3;
	bad[1].to = -1;
	bad[2].to = 1;
	bad[3].value = 0;
	bad[4].value = NAN;
	bad[5].value = INFINITY;
	bad[6].from_nic = -2;
	bad[7].to_nic = 1 << 20;
	bad[8].senders = -1;
	bad[9].value = -3;
	assert_int_equal(refused(good, 3, leaf, BETTER_HIGHER), ST_OK);
	for (int i = 0; i < 10; i++)
		assert_int_equal(refused(bad[i], 3, leaf, BETTER_HIGHER), ST_RANGE);
	assert_int_equal(refused(good, 2, NULL, BETTER_HIGHER), ST_RANGE);
	assert_int_equal(refused(good, 3, far, BETTER_HIGHER), ST_RANGE);
	assert_int_equal(refused(good, 3, leaf, BETTER_NEITHER), ST_RANGE);
	assert_int_equal(localise(&none, NULL, &out), ST_RANGE);
	assert_int_equal(localise(&dead, NULL, &out), ST_RANGE); /* nothing that works */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_clusters_have_no_culprit),
		cmocka_unit_test(bad_nodes),
		cmocka_unit_test(a_quarter_of_the_nodes),
		cmocka_unit_test(bad_nics),
		cmocka_unit_test(bad_cables),
		cmocka_unit_test(bad_leaves),
		cmocka_unit_test(incast_is_not_the_receiver),
		cmocka_unit_test(too_few_partners),
		cmocka_unit_test(a_pattern_not_told_apart),
		cmocka_unit_test(single_readings_and_shallow_faults),
		cmocka_unit_test(two_nodes_leave_three_explanations),
		cmocka_unit_test(what_is_said_of_a_node),
		cmocka_unit_test(levels_across_leaves_are_no_fault),
		cmocka_unit_test(pairs_that_failed),
		cmocka_unit_test(a_fair_share_is_no_incast),
		cmocka_unit_test(the_order_of_pairs_does_not_matter),
		cmocka_unit_test(large_clusters),
		cmocka_unit_test(bad_input_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
