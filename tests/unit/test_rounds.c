/* The circle method: everybody meets everybody once, one partner a round. */
#include "tests/unit/unit.h"

#include "coord/rounds.h"

/* met[a * n + b] counts meetings of the a-th and b-th member. */
static void meet(const struct rounds *r, int n, const int *place, int *met)
{
	struct arena arena = {0};

	for (int i = 0; i < r->count; i++) {
		const struct round_pair *pairs;
		int count = rounds_get(r, i, &arena, &pairs), *seen;

		seen = arena_array(&arena, (size_t)n, sizeof(*seen));
		assert_int_equal(count, n / 2);
		for (int k = 0; k < count; k++) {
			int a = place[pairs[k].a], b = place[pairs[k].b];

			assert_true(pairs[k].a < pairs[k].b);
			assert_int_equal(seen[a]++ + seen[b]++, 0);
			met[a * n + b]++;
			met[b * n + a]++;
		}
	}
	arena_release(&arena);
}

static void run(int n, int most, int least_partners, int most_partners)
{
	struct arena arena = {0};
	int *members = arena_array(&arena, (size_t)n, sizeof(int));
	int *place = arena_array(&arena, (size_t)n * 3 + 7, sizeof(int));
	int *met = arena_array(&arena, (size_t)n * (size_t)n, sizeof(int));
	struct rounds r;

	/* Ranks need not be dense: some nodes are lost. */
	for (int i = 0; i < n; i++) {
		members[i] = 3 * i + 1;
		place[members[i]] = i;
	}
	rounds_make(&r, &arena, members, n, most, 7);
	meet(&r, n, place, met);
	for (int a = 0; a < n; a++) {
		int partners = 0;

		assert_int_equal(met[a * n + a], 0);
		for (int b = 0; b < n; b++) {
			assert_true(met[a * n + b] <= 1);
			partners += met[a * n + b];
		}
		assert_true(partners >= least_partners && partners <= most_partners);
	}
	arena_release(&arena);
}

static void all_pairs_come_once(void **state)
{
	(void)state;
	run(2, 0, 1, 1);
	run(3, 0, 2, 2);
	run(8, 0, 7, 7);
	run(125, 0, 124, 124);
}

static void a_sample_gives_each_node_its_partners(void **state)
{
	(void)state;
	run(128, 16, 16, 16);
	/* Of an odd number one rests in each round. */
	run(125, 16, 14, 16);
	/* No more rounds than there are. */
	run(8, 16, 7, 7);
}

static void a_sample_is_of_the_seed(void **state)
{
	int members[64];
	struct arena arena = {0};
	struct rounds a, b, c;
	const struct round_pair *x, *y, *z;
	int differ = 0;

	(void)state;
	for (int i = 0; i < 64; i++)
		members[i] = i;
	rounds_make(&a, &arena, members, 64, 4, 1);
	rounds_make(&b, &arena, members, 64, 4, 1);
	rounds_make(&c, &arena, members, 64, 4, 2);
	assert_int_equal(a.n_pairs, 4 * 32);
	rounds_get(&a, 0, &arena, &x);
	rounds_get(&b, 0, &arena, &y);
	rounds_get(&c, 0, &arena, &z);
	for (int i = 0; i < 32; i++) {
		assert_int_equal(x[i].b, y[i].b);
		differ += x[i].a != z[i].a || x[i].b != z[i].b;
	}
	assert_true(differ > 20);
	arena_release(&arena);
}

/* rounds_have beside what the rounds say themselves. */
static void check_meetings(int n, int most)
{
	struct arena arena = {0};
	int *members = arena_array(&arena, (size_t)n, sizeof(int));
	bool *met = arena_array(&arena, (size_t)n * (size_t)n, sizeof(bool));
	struct rounds r;

	for (int i = 0; i < n; i++)
		members[i] = 2 * i;
	rounds_make(&r, &arena, members, n, most, 3);
	for (int i = 0; i < r.count; i++) {
		const struct round_pair *pairs;
		int count = rounds_get(&r, i, &arena, &pairs);

		for (int k = 0; k < count; k++)
			met[pairs[k].a / 2 * n + pairs[k].b / 2] = true;
	}
	for (int a = 0; a < n; a++)
		for (int b = 0; b < n; b++)
			assert_int_equal(rounds_have(&r, 2 * a, 2 * b),
			                 met[a * n + b] || met[b * n + a]);
	assert_false(rounds_have(&r, 0, 1)); /* nobody of ours */
	assert_false(rounds_have(&r, 0, -1));
	arena_release(&arena);
}

static void who_has_met_is_known(void **state)
{
	(void)state;
	check_meetings(2, 0);
	check_meetings(3, 0);
	check_meetings(3, 1);
	check_meetings(8, 3);
	check_meetings(9, 4);
	check_meetings(64, 16);
	check_meetings(65, 16);
}

static void pairs_find_a_place_in_few_rounds(void **state)
{
	const struct round_pair pairs[] = {{0, 1}, {0, 2}, {1, 2}, {3, 4}, {0, 3}, {0, 4}};
	int round[6];

	(void)state;
	assert_int_equal(rounds_place(pairs, 6, 5, 3, round), 3);
	assert_int_equal(round[0], 0);
	assert_int_equal(round[1], 1);
	assert_int_equal(round[2], 2);
	assert_int_equal(round[3], 0);
	assert_int_equal(round[4], 2); /* beside 1 and 2 */
	assert_int_equal(round[5], -1);
	assert_int_equal(rounds_place(pairs, 0, 5, 3, round), 0);
	assert_int_equal(rounds_count(125, 0), 125);
	assert_int_equal(rounds_count(128, 16), 16);
	assert_int_equal(rounds_count(2, 16), 1);
	assert_int_equal(rounds_count(1, 16), 0);
}

static void one_node_meets_nobody(void **state)
{
	struct arena arena = {0};
	const int member = 5;
	struct rounds r;

	(void)state;
	rounds_make(&r, &arena, &member, 1, 16, 1);
	assert_int_equal(r.n_pairs, 0);
	rounds_make(&r, &arena, &member, 0, 16, 1);
	assert_int_equal(r.count, 0);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_pairs_come_once),
		cmocka_unit_test(a_sample_gives_each_node_its_partners),
		cmocka_unit_test(a_sample_is_of_the_seed),
		cmocka_unit_test(who_has_met_is_known),
		cmocka_unit_test(pairs_find_a_place_in_few_rounds),
		cmocka_unit_test(one_node_meets_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
