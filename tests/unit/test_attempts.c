/* Attempts and resume: which reading stands when there are several, and which
 * units of work a resume has to run (methods: attempts and resume). */
#include "tests/unit/run_fixture.h"

#define MAX 8

/* A run as an opened one would be, without files. */
struct hand {
	struct reading readings[MAX];
	int64_t resumes[MAX];
	struct rundir run;
};

static void hand_add(struct hand *h, struct reading r)
{
	h->readings[h->run.n_readings++] = r;
	h->run.readings = h->readings;
}

static void hand_resume(struct hand *h)
{
	h->resumes[h->run.n_resumes++] = h->run.n_readings;
	h->run.resumed_at = h->resumes;
}

static struct reading attempt(struct reading r, int number)
{
	r.attempt = number;
	return r;
}

/* The one reading that stands of two, as its index; both of the same thing. */
static int standing(struct reading first, struct reading second, bool *recovered)
{
	struct hand h = {0};
	struct effective e;
	int index;

	hand_add(&h, first);
	hand_resume(&h);
	hand_add(&h, attempt(second, 2));
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 1);
	index = (int)(e.readings[0] - h.readings);
	if (recovered)
		*recovered = e.recovered[0];
	arena_release(&h.run.arena);
	return index;
}

static struct reading of(enum outcome outcome)
{
	struct reading r = card_reading("c0", 100);

	return outcome == OUTCOME_MEASURED ? r : without_value(r, outcome);
}

static void only_what_is_open_is_replaced_and_the_worst_stands(void **state)
{
	enum {
		M = OUTCOME_MEASURED,
		U = OUTCOME_UNSUPPORTED,
		N = OUTCOME_NOT_MEASURED,
		F = OUTCOME_FAILED,
		T = OUTCOME_TIMED_OUT,
		L = OUTCOME_LOST
	};
	static const struct {
		int first, second, stands;
	} rows[] = {
		{N, M, 1}, {N, F, 1}, {N, U, 1}, {N, L, 1}, {N, N, 1}, {L, M, 1},
		{L, N, 1}, {L, T, 1}, {M, N, 0}, {M, L, 0}, {F, N, 0}, {F, L, 0},
		{T, N, 0}, {U, N, 0}, {U, L, 0}, {F, M, 0}, {M, F, 1}, {T, M, 0},
		{M, T, 1}, {F, T, 0}, {T, F, 1}, {U, M, 1}, {M, U, 0}, {M, M, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool recovered;
		int stands = standing(of((enum outcome)rows[i].first),
		                      of((enum outcome)rows[i].second), &recovered);

		if (stands != rows[i].stands)
			fail_msg("%s then %s", outcome_name((enum outcome)rows[i].first),
			         outcome_name((enum outcome)rows[i].second));
		assert_int_equal(recovered, rows[i].first == L);
	}
}

static void of_two_figures_the_worse_stands(void **state)
{
	static const struct {
		enum better better;
		double first, second;
		int stands;
	} rows[] = {
		{BETTER_HIGHER, 268, 200, 1}, {BETTER_HIGHER, 200, 268, 0},
		{BETTER_HIGHER, 5, -5, 1},    {BETTER_LOWER, 8, 12, 1},
		{BETTER_LOWER, 12, 8, 0},     {BETTER_NEITHER, 1, 2, 0},
		{BETTER_NEITHER, 2, 1, 0},
	};
	struct reading a = card_reading("c0", 1), b = a;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		a.better = b.better = rows[i].better;
		a.value = rows[i].first;
		b.value = rows[i].second;
		assert_int_equal(standing(a, b, NULL), rows[i].stands);
	}
	b.value_kind = VALUE_TEXT; /* no order: the first stands */
	b.text = "x";
	assert_int_equal(standing(a, b, NULL), 0);
}

static void a_lost_reading_replaced_twice_stays_visible(void **state)
{
	struct hand h = {0};
	struct effective e;

	(void)state;
	hand_add(&h, of(OUTCOME_LOST));
	hand_add(&h, attempt(of(OUTCOME_NOT_MEASURED), 2));
	hand_add(&h, attempt(of(OUTCOME_MEASURED), 3));
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 1);
	assert_ptr_equal(e.readings[0], &h.readings[2]);
	assert_true(e.recovered[0]);
	arena_release(&h.run.arena);
}

static void different_things_are_kept_apart_in_order(void **state)
{
	struct reading base = card_reading("c0", 1), r;
	struct hand h = {0};
	struct effective e;

	(void)state;
	hand_add(&h, base);
	r = base;
	r.subject.id = "c1";
	hand_add(&h, r);
	r = base;
	r.metric = "gemm_fp32_tflops";
	hand_add(&h, r);
	r = base;
	r.point = "qd=8";
	hand_add(&h, r);
	r = base;
	r.node = "n002";
	hand_add(&h, r);
	r = base;
	r.work = "0123456789ab";
	hand_add(&h, r);
	r = base;
	r.subject.kind = SUBJECT_LINK;
	r.subject.n_ends = 2;
	r.subject.ends[0].card = "a";
	r.subject.ends[1].card = "b";
	hand_add(&h, r);
	r.subject.ends[0].card = "b";
	r.subject.ends[1].card = "a";
	hand_add(&h, r);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 8);
	for (int i = 0; i < 8; i++)
		assert_ptr_equal(e.readings[i], &h.readings[i]);
	arena_release(&h.run.arena);
}

static void a_star_gives_way_to_later_readings_of_subjects(void **state)
{
	struct reading star = without_value(card_reading("*", 0), OUTCOME_LOST), r;
	struct hand h = {0};
	struct effective e;

	(void)state;
	/* same attempt: a star for what else is owed stays */
	hand_add(&h, card_reading("c0", 1));
	hand_add(&h, star);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 2);
	/* the unit again: dropped, and its loss stays visible */
	hand_add(&h, attempt(card_reading("c1", 2), 2));
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 2);
	assert_string_equal(e.readings[0]->subject.id, "c0");
	assert_false(e.recovered[0]);
	assert_string_equal(e.readings[1]->subject.id, "c1");
	assert_true(e.recovered[1]);
	arena_release(&h.run.arena);
	/* another unit in a later session, but not in the same */
	h = (struct hand){0};
	hand_add(&h, without_value(star, OUTCOME_NOT_MEASURED));
	r = card_reading("c0", 1);
	r.work = "0123456789ab";
	hand_add(&h, r);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 2);
	hand_resume(&h);
	r.subject.id = "c1";
	hand_add(&h, r);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 2);
	assert_false(e.recovered[1]);
	arena_release(&h.run.arena);
	/* another node, kind or metric does not count */
	h = (struct hand){0};
	hand_add(&h, star);
	hand_resume(&h);
	r = attempt(card_reading("c0", 1), 2);
	r.node = "n002";
	hand_add(&h, r);
	r.node = "n001";
	r.metric = "other";
	hand_add(&h, r);
	r = attempt(card_reading("c0", 1), 2);
	r.subject.kind = SUBJECT_LINK;
	hand_add(&h, r);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 4);
	arena_release(&h.run.arena);
}

static void what_was_owed_for_all_points_gives_way_to_one(void **state)
{
	struct reading owed = without_value(card_reading("c0", 0), OUTCOME_NOT_MEASURED), r;
	struct hand h = {0};
	struct effective e;

	(void)state;
	owed.point = NULL;
	r = attempt(card_reading("c0", 5), 2);
	r.point = "depth=8";
	hand_add(&h, owed);
	hand_resume(&h);
	hand_add(&h, r);
	r.point = "depth=64";
	hand_add(&h, r);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 2);
	assert_string_equal(e.readings[0]->point, "depth=8");
	assert_string_equal(e.readings[1]->point, "depth=64");
	arena_release(&h.run.arena);
	/* another subject's points do not count */
	h = (struct hand){0};
	hand_add(&h, owed);
	hand_resume(&h);
	r.subject.id = "c1";
	hand_add(&h, r);
	e = rundir_effective(&h.run);
	assert_int_equal(e.count, 2);
	arena_release(&h.run.arena);
}

static void an_empty_run_has_nothing(void **state)
{
	struct hand h = {0};

	(void)state;
	assert_int_equal(rundir_effective(&h.run).count, 0);
	arena_release(&h.run.arena);
}

/* --- work --------------------------------------------------------------------------- */

static void work_ids_depend_on_all_parts(void **state)
{
	char id[13], other[13];

	(void)state;
	work_id(id, "cards", "gemm", "GPU-1", "m=8192;n=8192;");
	/* printf 'cards\0gemm\0GPU-1\0m=8192;n=8192;\0' | sha256sum */
	assert_string_equal(id, "1dfda5a4ea7a");
	work_id(other, "cards", "gemm", "GPU-1", "m=8192;n=8192;");
	assert_string_equal(id, other);
	work_id(other, "cardsg", "emm", "GPU-1", "m=8192;n=8192;");
	assert_string_not_equal(id, other);
	work_id(other, "cards", "gemm", "GPU-2", "m=8192;n=8192;");
	assert_string_not_equal(id, other);
	work_id(id, "cards", "gemm", NULL, NULL);
	work_id(other, "cards", "gemm", "", "");
	assert_string_equal(id, other);
}

static void add(struct journal *j, const char *work, const char *card, enum outcome outcome, int n)
{
	struct reading r = of(outcome);

	r.work = work;
	r.subject.id = card;
	r.attempt = n;
	assert_int_equal(append(j, &r, NULL), ST_OK);
}

static void expect_work(const struct place *p, const char *work, bool open, int attempt_due)
{
	struct rundir run;
	int number = 0;

	assert_int_equal(rundir_open(&run, p->dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(work_is_open(&run, work, &number), open);
	assert_int_equal(number, attempt_due);
	rundir_close(&run);
}

static void resume_runs_what_is_open_and_nothing_else(void **state)
{
	struct place p = place_make();
	struct journal *j = create(&p);
	char digest[65];

	(void)state;
	add(j, "good", "c0", OUTCOME_MEASURED, 1);
	add(j, "good", "c1", OUTCOME_FAILED, 1);
	journal_work_done(j, "good", NULL);
	add(j, "lacks", "c0", OUTCOME_MEASURED, 1);
	add(j, "lacks", "c1", OUTCOME_NOT_MEASURED, 1);
	journal_work_done(j, "lacks", NULL);
	add(j, "lost", "*", OUTCOME_LOST, 1);
	journal_work_done(j, "lost", NULL);
	journal_work_done(j, "silent", NULL);
	add(j, "half", "c0", OUTCOME_MEASURED, 1);
	assert_int_equal(journal_close(j, true, digest, NULL), ST_OK);
	expect_work(&p, "good", false, 2);
	expect_work(&p, "lacks", true, 2);
	expect_work(&p, "lost", true, 2);
	expect_work(&p, "silent", false, 1);
	expect_work(&p, "half", true, 2);
	expect_work(&p, "never", true, 1);

	assert_int_equal(journal_resume(&j, p.dir, "0.1.0", "9f2c", NULL), ST_OK);
	add(j, "lacks", "c0", OUTCOME_MEASURED, 2);
	add(j, "lacks", "c1", OUTCOME_MEASURED, 2);
	journal_work_done(j, "lacks", NULL);
	add(j, "lost", "c0", OUTCOME_MEASURED, 2);
	add(j, "half", "c0", OUTCOME_LOST, 2); /* the first figure stands */
	journal_work_done(j, "half", NULL);
	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
	expect_work(&p, "lacks", false, 3);
	expect_work(&p, "lost", false, 3);
	expect_work(&p, "half", false, 3);
	expect_work(&p, "never", true, 1);
	place_remove(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_open_is_replaced_and_the_worst_stands),
		cmocka_unit_test(of_two_figures_the_worse_stands),
		cmocka_unit_test(a_lost_reading_replaced_twice_stays_visible),
		cmocka_unit_test(different_things_are_kept_apart_in_order),
		cmocka_unit_test(a_star_gives_way_to_later_readings_of_subjects),
		cmocka_unit_test(what_was_owed_for_all_points_gives_way_to_one),
		cmocka_unit_test(an_empty_run_has_nothing),
		cmocka_unit_test(work_ids_depend_on_all_parts),
		cmocka_unit_test(resume_runs_what_is_open_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
