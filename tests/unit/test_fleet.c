/* Subjects beside their like, through score_run: how often the fleet finds a slow
 * card and how hardly ever a sound one, and words that differ from the majority's. */
#include "score_kit.h"

#include "stats/rng.h"

#define FLEET(id, metric, unit)                                                                    \
	"{\"id\":\"" id "\",\"criterion\":\"1\",\"metric\":\"" metric "\",\"unit\":\"" unit        \
	"\",\"fleet\":true,\"required\":false}"
#define RATE  FLEET("rate", "card_alone_tflops", "TFLOP/s")
#define CLOCK FLEET("clock", "card_per_ghz", "TFLOP/s/GHz")
#define DRIFT(id, metric, unit, share)                                                             \
	"{\"id\":\"" id "\",\"criterion\":\"2\",\"metric\":\"" metric "\",\"unit\":\"" unit        \
	"\",\"majority\":" share ",\"required\":false}"
#define KERNEL DRIFT("kernel", "node_kernel", "text", "0.6")

/* --- many fleets ---------------------------------------------------------------------- */

/* `cards` cards, two metrics, values to be set for each trial. */
struct trials {
	struct kit *kit;
	struct profile *profile;
	int cards;
	struct rng rng;
	int runs, found, accused; /* runs; the slow card warned of; runs with another warning */
};

static void trials_begin(struct trials *t, int cards, const char *rules, uint64_t seed)
{
	*t = (struct trials){.kit = kit_run(1, cards), .cards = cards};
	t->profile = kit_profile("", rules);
	rng_seed(&t->rng, seed);
	for (int i = 0; i < cards; i++) {
		const char *id = arena_strf(&t->kit->arena, "GPU-%d", i);

		kit_number(t->kit, "n1", id, "card_alone_tflops", 1);
		kit_number(t->kit, "n1", id, "card_per_ghz", 1);
	}
}

static void trials_end(struct trials *t)
{
	profile_free(t->profile);
	t->profile = NULL;
	kit_free(t->kit);
}

/* One fleet: card 0 loses `loss` of its rate and `share` of its rate per clock. */
static void trial(struct trials *t, double loss, double share)
{
	struct error err = {0};
	struct arena arena = {0};
	struct scorecard card;
	bool found = false, accused = false;

	for (int i = 0; i < t->cards; i++) {
		t->kit->readings[2 * i].value =
			300 * (1 + 0.03 * rng_normal(&t->rng) - (i ? 0 : loss));
		t->kit->readings[2 * i + 1].value =
			200 * (1 + 0.01 * rng_normal(&t->rng) - (i ? 0 : share));
	}
	assert_int_equal(score_run(&card, &arena, &t->kit->run, t->profile, &kit_metrics,
	                           &(struct score_options){0}, &err),
	                 ST_OK);
	for (int64_t i = 0; i < card.n_findings; i++) {
		const struct finding *f = &card.findings[i];

		assert_int_not_equal(f->verdict, VERDICT_FAIL);
		if (f->verdict != VERDICT_WARN)
			continue;
		assert_string_equal(f->reason.code, "fleet_worse");
		if (strcmp(f->subject.id, "GPU-0") == 0 && (loss > 0 || share > 0))
			found = true;
		else
			accused = true;
	}
	t->runs++;
	t->found += found;
	t->accused += accused;
	arena_release(&arena);
	arena_release(&t->kit->run.arena);
	t->kit->run.works = NULL;
}

/* Published: a card 20 % slow is found in 0.9 to 0.98, 15 % in about 0.7, 10 % in
 * 0.1 to 0.2, with 3 % between cards. */
static void slow_cards_are_found_as_published(void **state)
{
	static const struct {
		int cards;
		double loss, least, most;
	} rows[] = {
		{8, 0.20, 0.86, 0.95},   {8, 0.15, 0.58, 0.74},   {8, 0.10, 0.13, 0.28},
		{32, 0.20, 0.93, 1.00},  {32, 0.15, 0.63, 0.82},  {32, 0.10, 0.12, 0.27},
		{128, 0.20, 0.93, 1.00}, {128, 0.15, 0.56, 0.78}, {128, 0.10, 0.06, 0.20},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct trials t;
		double share;

		trials_begin(&t, rows[i].cards, RATE, 40 + i);
		for (int run = 0; run < 400; run++)
			trial(&t, rows[i].loss, 0);
		share = (double)t.found / t.runs;
		print_message("%3d cards, one %.0f %% slow: found in %.2f\n", rows[i].cards,
		              100 * rows[i].loss, share);
		if (share < rows[i].least || share > rows[i].most)
			fail_msg("outside %.2f to %.2f", rows[i].least, rows[i].most);
		assert_in_range(t.accused, 0, 3);
		trials_end(&t);
	}
}

/* Two metrics a card, all tests of the run together: one run in 1,000 at most. Of
 * 10,000 runs that is 10, and 20 would be three standard deviations more. */
static void sound_fleets_are_left_alone(void **state)
{
	static const struct {
		int cards, runs;
	} rows[] = {{8, 7000}, {32, 2000}, {128, 1000}};
	int runs = 0, accused = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct trials t;

		trials_begin(&t, rows[i].cards, RATE "," CLOCK, 60 + i);
		for (int run = 0; run < rows[i].runs; run++)
			trial(&t, 0, 0);
		print_message("%3d cards: %d of %d runs with a warning\n", rows[i].cards, t.accused,
		              t.runs);
		runs += t.runs;
		accused += t.accused;
		trials_end(&t);
	}
	assert_int_equal(runs, 10000);
	assert_in_range(accused, 0, 20);
}

/* 8 % less at the same clock drowns in what clocks do to the rate itself. */
static void the_rate_per_clock_sees_what_clocks_hide(void **state)
{
	struct trials rate, clock;

	(void)state;
	trials_begin(&rate, 64, RATE, 70);
	trials_begin(&clock, 64, RATE "," CLOCK, 70);
	for (int run = 0; run < 200; run++) {
		trial(&rate, 0.08, 0.08);
		trial(&clock, 0.08, 0.08);
	}
	print_message("8 %% slow at the same clock: by the rate %d, with the rate per clock %d\n",
	              rate.found, clock.found);
	assert_in_range(rate.found, 0, 30);
	assert_in_range(clock.found, 198, 200);
	trials_end(&rate);
	trials_end(&clock);
}

/* --- one fleet -------------------------------------------------------------------------- */

static struct kit *cards(int n, double last, const char *metric)
{
	struct kit *k = kit_run(1, n);

	for (int i = 0; i < n; i++)
		kit_number(k, "n1", arena_strf(&k->arena, "GPU-%d", i), metric,
		           i == n - 1 ? last : 300 + 0.1 * (i % 3));
	return k;
}

static void what_is_said_of_a_slow_card(void **state)
{
	struct kit *k = cards(9, 240, "card_alone_tflops");
	const struct finding *f;

	(void)state;
	kit_score(k, kit_profile("", RATE));
	assert_int_equal(kit_rule(k, "rate")->count[VERDICT_WARN], 1);
	assert_int_equal(kit_rule(k, "rate")->count[VERDICT_PASS], 8);
	assert_string_equal(kit_rule(k, "rate")->rule->limit,
	                    "not worse than its fleet by more than chance");
	f = kit_finding(k, "rate", "GPU-8");
	assert_string_equal(f->reason.code, "fleet_worse");
	assert_non_null(strstr(f->reason.text, "median of 9 alike 300 TFLOP/s"));
	assert_non_null(strstr(f->reason.text, "it is 6.7 spreads away"));
	assert_non_null(f->advice);
	assert_true(kit_rule(k, "rate")->verdict == VERDICT_WARN);
	assert_overall(k, "INCOMPLETE"); /* nothing required: nothing was judged */
	kit_free(k);
}

static void fleets_that_cannot_be_compared(void **state)
{
	struct kit *k = cards(7, 240, "card_alone_tflops");

	(void)state;
	kit_score(k, kit_profile("", RATE)); /* one too few */
	assert_int_equal(kit_rule(k, "rate")->count[VERDICT_TOO_FEW], 7);
	assert_reason(k, "rate", "fleet_too_few");
	assert_string_equal(kit_finding(k, "rate", NULL)->reason.text,
	                    "7 like subjects measured, 8 needed to compare them");
	kit_free(k);

	k = kit_run(9, 0); /* no row of healthy.json */
	for (int i = 0; i < 9; i++)
		kit_number(k, arena_strf(&k->arena, "n%d", i), arena_strf(&k->arena, "n%d", i),
		           "node_seconds", 10);
	kit_score(k, kit_profile("", FLEET("r", "node_seconds", "s")));
	assert_verdict(k, "r", "not_measured");
	assert_reason(k, "r", "fleet_no_noise");
	kit_free(k);

	k = cards(9, -1, "card_alone_tflops"); /* the others without a figure */
	for (int i = 0; i < 8; i++)
		k->readings[i].outcome = OUTCOME_NOT_MEASURED;
	kit_score(k, kit_profile("", RATE));
	assert_int_equal(kit_rule(k, "rate")->count[VERDICT_NOT_MEASURED], 8);
	assert_int_equal(kit_rule(k, "rate")->count[VERDICT_TOO_FEW], 1);
	kit_free(k);
}

/* --- drift ------------------------------------------------------------------------------- */

/* Nodes n0, n1 … saying the words; NULL ends them. */
static struct kit *kernels(const char *const *words)
{
	int n = 0;
	struct kit *k;

	while (words[n])
		n++;
	k = kit_run(n, 0);
	for (int i = 0; i < n; i++)
		kit_text(k, arena_strf(&k->arena, "n%d", i), arena_strf(&k->arena, "n%d", i),
		         "node_kernel", words[i]);
	return k;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void one_node_differs(void **state)
{
	struct kit *k = kernels(WORDS("6.1", "6.1", "5.10", "6.1", "6.1"));
	const struct finding *f;

	(void)state;
	kit_score(k, kit_profile("", KERNEL));
	assert_int_equal(kit_rule(k, "kernel")->count[VERDICT_PASS], 4);
	assert_int_equal(kit_rule(k, "kernel")->count[VERDICT_WARN], 1);
	assert_int_equal(kit_rule(k, "kernel")->coverage.tested, 5);
	assert_string_equal(kit_rule(k, "kernel")->rule->limit, "as the majority (60 % or more)");
	f = kit_finding(k, "kernel", "n2");
	assert_string_equal(verdict_name(f->verdict), "warn");
	assert_string_equal(f->reason.code, "drift_other");
	assert_string_equal(f->reason.text, "5.10 here, 6.1 on 4 of 5");
	assert_string_equal(f->node, "n2");
	assert_string_equal(f->text, "5.10");
	assert_int_equal(f->evidence->seq, 3);
	assert_non_null(strstr(f->advice, "others"));
	kit_free(k);
}

static void a_majority_is_needed(void **state)
{
	/* Exactly 60 %. */
	struct kit *k = kernels(WORDS("a", "a", "a", "b", "c"));

	(void)state;
	kit_score(k, kit_profile("", KERNEL));
	assert_int_equal(kit_rule(k, "kernel")->count[VERDICT_WARN], 2);
	assert_string_equal(kit_finding(k, "kernel", "n4")->reason.text, "c here, a on 3 of 5");
	kit_free(k);

	k = kernels(WORDS("b", "a", "a", "b", "c", "e", "d", "d", "a"));
	kit_score(k, kit_profile("", KERNEL));
	assert_int_equal(k->card.n_findings, 1);
	assert_verdict(k, "kernel", "warn");
	assert_reason(k, "kernel", "drift_mixed");
	assert_string_equal(kit_finding(k, "kernel", NULL)->subject.id, "*");
	assert_string_equal(kit_finding(k, "kernel", NULL)->reason.text,
	                    "mixed: no value on 60 % of 9 or more; "
	                    "a on 3, b on 2, d on 2, 2 more values on 2");
	assert_int_equal(kit_rule(k, "kernel")->coverage.due, 9);
	assert_int_equal(kit_rule(k, "kernel")->coverage.tested, 9);
	kit_free(k);

	k = kernels(WORDS("a", "b"));
	kit_score(k, kit_profile("", KERNEL));
	assert_string_equal(kit_finding(k, "kernel", NULL)->reason.text,
	                    "mixed: no value on 60 % of 2 or more; a on 1, b on 1");
	kit_free(k);
}

static void the_share_is_the_profiles(void **state)
{
	struct kit *k = kernels(WORDS("a", "a", "a", "a", "b"));

	(void)state;
	kit_score(k, kit_profile("", DRIFT("kernel", "node_kernel", "text", "0.9")));
	assert_reason(k, "kernel", "drift_mixed");
	kit_free(k);
}

static void all_alike_or_alone(void **state)
{
	struct kit *k = kernels(WORDS("a", "a", "a"));

	(void)state;
	kit_score(k, kit_profile("", KERNEL));
	assert_int_equal(kit_rule(k, "kernel")->count[VERDICT_PASS], 3);
	kit_free(k);
	k = kernels(WORDS("a"));
	kit_score(k, kit_profile("", KERNEL));
	assert_verdict(k, "kernel", "not_applicable");
	assert_reason(k, "kernel", "nothing_to_compare");
	kit_free(k);
}

/* Missing readings stay what they are, beside a mixture as beside a majority. */
static void nodes_that_say_nothing(void **state)
{
	struct kit *k = kernels(WORDS("a", "b", "c", "a", ""));

	(void)state;
	k->readings[3].outcome = OUTCOME_NOT_MEASURED;
	k->readings[3].reason = (struct reason){.code = "because", .text = "because"};
	kit_score(k, kit_profile("", KERNEL "," DRIFT("later", "node_kernel", "text", "0.5")));
	assert_int_equal(kit_rule(k, "kernel")->count[VERDICT_NOT_MEASURED], 2);
	assert_int_equal(kit_rule(k, "kernel")->count[VERDICT_WARN], 1);
	assert_int_equal(kit_rule(k, "kernel")->coverage.due, 5);
	assert_int_equal(kit_rule(k, "kernel")->coverage.tested, 3);
	assert_string_equal(kit_finding(k, "kernel", "n3")->reason.code, "because");
	assert_string_equal(kit_finding(k, "kernel", "n4")->reason.code, "value_missing");
	assert_int_equal(kit_rule(k, "later")->count[VERDICT_WARN], 1); /* findings kept apart */
	kit_free(k);
}

static void numbers_drift_too(void **state)
{
	struct kit *k = kit_run(1, 4);

	(void)state;
	for (int i = 0; i < 4; i++)
		kit_number(k, "n1", arena_strf(&k->arena, "GPU-%d", i), "card_memory_mib",
		           i == 1 ? 81920.5 : 81559);
	kit_score(k, kit_profile("", DRIFT("memory", "card_memory_mib", "MiB", "0.6")));
	assert_string_equal(kit_finding(k, "memory", "GPU-1")->reason.text,
	                    "81920.5 here, 81559 on 3 of 4");
	assert_string_equal(verdict_name(kit_finding(k, "memory", "GPU-0")->verdict), "pass");
	kit_free(k);
}

/* --- bad profiles ---------------------------------------------------------------------------- */

static void assert_refused(const char *rule, const char *why)
{
	struct error err = {0};
	struct profile *p;
	const char *file = kit_file(
		"bad.json", tmpf("{\"v\":1,\"name\":\"p\",\"criteria\":[{\"id\":\"1\","
	                         "\"title\":\"one\",\"subjects\":\"card\"}],\"rules\":[%s]}",
	                         rule));

	assert_int_not_equal(profile_load(&p, file, CONFIG, &kit_metrics, &err), ST_OK);
	if (!strstr(str_text(&err.text), why))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), why);
	error_release(&err);
}

#define BAD(metric, unit, more)                                                                    \
	"{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"" metric "\",\"unit\":\"" unit "\"," more  \
	"}"

static void bad_rules_are_refused(void **state)
{
	(void)state;
	assert_refused(BAD("card_tflops", "TFLOP/s", "\"fleet\":false"), "can only be true");
	assert_refused(BAD("card_tflops", "TFLOP/s", "\"fleet\":1"),
	               "\"fleet\" must be true or false");
	assert_refused(BAD("card_name", "text", "\"fleet\":true"), "card_name is text");
	assert_refused(BAD("card_sm_count", "1", "\"fleet\":true"), "neither more nor less");
	assert_refused(BAD("card_tflops", "TFLOP/s", "\"fleet\":true,\"scope\":\"worst\""),
	               "scope must be each");
	assert_refused(BAD("card_tflops", "TFLOP/s", "\"fleet\":true,\"stat\":\"median\""),
	               "stat the value");
	assert_refused(BAD("card_tflops", "TFLOP/s", "\"fleet\":true,\"min\":3"), "a second limit");
	assert_refused(BAD("card_tflops", "TFLOP/s", "\"fleet\":true,\"warn\":{\"min\":3}"),
	               "the way of its limit");
	assert_refused(BAD("card_name", "text", "\"majority\":0.4"), "outside 0.500 to 1");
	assert_refused(BAD("card_name", "text", "\"majority\":\"most\""), "must be a number");
	assert_refused(BAD("card_name", "text", "\"majority\":0.6,\"scope\":\"spread\""),
	               "scope must be each");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_cards_are_found_as_published),
		cmocka_unit_test(sound_fleets_are_left_alone),
		cmocka_unit_test(the_rate_per_clock_sees_what_clocks_hide),
		cmocka_unit_test(what_is_said_of_a_slow_card),
		cmocka_unit_test(fleets_that_cannot_be_compared),
		cmocka_unit_test(one_node_differs),
		cmocka_unit_test(a_majority_is_needed),
		cmocka_unit_test(the_share_is_the_profiles),
		cmocka_unit_test(all_alike_or_alone),
		cmocka_unit_test(nodes_that_say_nothing),
		cmocka_unit_test(numbers_drift_too),
		cmocka_unit_test(bad_rules_are_refused),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
