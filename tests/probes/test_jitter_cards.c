/* The cards' half of jitter on stand-ins: a sound node, one whose card is shared,
 * slows beside others or lacks SMs, and cards that fail: what is said of a bad one
 * changes nothing of what is said of the others. */
#include "tests/probes/cards_kit.h"

#include "coord/plan.h"

extern const struct probe probe_jitter;

#define A100  "{\"model\":\"a100-sxm4-80gb\"}"
#define CARDS 8

#define SHORT "\"seconds\":\"0.01\",\"fma_s\":\"0.002\",\"card_s\":\"0.05\""

static const char *const metrics_of_cards[] = {"jitter_card_stolen", "jitter_card_longest_us",
                                               "jitter_card_sm_share", "jitter_card_together"};
static const char *const rules[] = {"no-time-slicing", "sm-all-there", "no-sibling-loss"};

static struct seen *sound; /* a node without a fault */

static const char *pci(int card)
{
	static const char *const all[CARDS] = {"0000:17:00.0", "0000:2a:00.0", "0000:3d:00.0",
	                                       "0000:50:00.0", "0000:63:00.0", "0000:76:00.0",
	                                       "0000:89:00.0", "0000:9c:00.0"};

	return all[card];
}

static struct seen *node_of(int cards, const char *faults, const char *more, const char *params)
{
	return ask((struct ask){.probe = "jitter",
	                        .params = params ? params : SHORT,
	                        .look = {.faults = faults,
	                                 .more = tmpf("\"count\":%d,%s", cards, more ? more : ""),
	                                 .cards = A100}});
}

static const char *raw_of(struct seen *s, int card)
{
	struct str text = {0};
	const char *id = reading_of(s, "jitter_card_stolen", pci(card))->subject.id, *kept;

	assert_int_equal(file_read(&text, tmpf("%s/raw/jitter-%s.csv", s->root, id), 1 << 22, NULL),
	                 ST_OK);
	kept = arena_str(&s->arena, str_text(&text));
	str_release(&text);
	return kept;
}

static double figure_of(struct seen *s, const char *metric, int card, const char *key)
{
	return strtod(param_of(s, reading_of(s, metric, pci(card)), key), NULL);
}

/* What the CPUs' half says does not depend on the cards: all of it is there. */
static void expect_cpus(const struct seen *s)
{
	double stolen = value_of(s, "jitter_cpu_stolen", NULL);

	assert_int_equal(s->status, 0);
	assert_true(stolen >= 0 && stolen <= 1);
	assert_true(value_of(s, "jitter_cpu_longest_us", NULL) > 0);
	assert_non_null(reading_of(s, "jitter_steal", NULL));
	assert_int_equal(reading_of(s, "jitter_cpu_stolen", NULL)->seq, 1);
}

/* All cards but one say the same, bit for bit, as on a node without the fault. */
static void expect_others_untouched(struct seen *s, int but)
{
	for (int i = 0; i < CARDS; i++) {
		for (int m = 0; i != but && m < 4; m++)
			assert_true(value_of(s, metrics_of_cards[m], pci(i)) ==
			            value_of(sound, metrics_of_cards[m], pci(i)));
		if (i != but)
			assert_string_equal(raw_of(s, i), raw_of(sound, i));
	}
	expect_cpus(s);
}

/* --- sound ------------------------------------------------------------------------------ */

static void a_sound_node_passes(void **state)
{
	static const int costs[] = {0, 1000, 5000};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct seen *s = node_of(CARDS, NULL,
		                         tmpf("\"costs\":{\"host_call_ns\":%d},", costs[k]), NULL);

		judge(s, "a100-sxm4-80gb", CARDS);
		for (int i = 0; i < CARDS; i++) {
			assert_true(value_of(s, "jitter_card_stolen", pci(i)) == 0);
			assert_true(value_of(s, "jitter_card_longest_us", pci(i)) == 0);
			assert_true(value_of(s, "jitter_card_sm_share", pci(i)) == 1);
			assert_true(fabs(value_of(s, "jitter_card_together", pci(i)) - 1) < 1e-6);
			expect_near(figure_of(s, "jitter_card_together", i, "alone_tflops"), 19.5);
			assert_true(figure_of(s, "jitter_card_together", i, "cards") == CARDS);
			assert_true(figure_of(s, "jitter_card_sm_share", i, "claimed") == 108);
			expect_near(figure_of(s, "jitter_card_stolen", i, "sm_mhz"), 1410);
			assert_int_equal(reading_of(s, "jitter_card_stolen", pci(i))->origin,
			                 ORIGIN_SIMULATED);
			assert_string_equal(raw_of(s, i), "company,sm,at_us,us\n");
			for (int r = 0; r < 3; r++)
				expect_finding(s, rules[r], pci(i), "pass");
		}
		expect_cpus(s);
		look_away(s);
	}
}

/* Cards differ and vary, and each is compared with itself. */
static void noise_is_no_loss(void **state)
{
	struct seen *s = node_of(CARDS, NULL,
	                         "\"noise\":{\"seed\":7,\"card\":0.02,\"window\":0.002,"
	                         "\"rho\":0.5,\"tick_ms\":1},",
	                         NULL);
	double first = figure_of(s, "jitter_card_together", 0, "alone_tflops");
	bool differ = false;

	(void)state;
	judge(s, "a100-sxm4-80gb", CARDS);
	for (int i = 0; i < CARDS; i++) {
		double alone = figure_of(s, "jitter_card_together", i, "alone_tflops");

		differ |= fabs(alone / first - 1) > 0.01;
		assert_true(fabs(value_of(s, "jitter_card_together", pci(i)) - 1) < 0.01);
		expect_finding(s, "no-sibling-loss", pci(i), "pass");
	}
	assert_true(differ);
	look_away(s);
}

/* --- cards that are not one's own --------------------------------------------------------- */

static void a_shared_card_is_found(void **state)
{
	static const struct {
		double factor, period_s;
	} rows[] = {{0.5, 0.01}, {0.9, 0.002}, {0.5, 0.0002}, {0.6, 0.03}, {0.97, 0.01}};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		double pause = (1 - rows[k].factor) * rows[k].period_s;
		struct seen *s = node_of(CARDS,
		                         tmpf("{\"kind\":\"time_sliced\",\"card\":3,\"factor\":%g,"
		                              "\"period_s\":%g}",
		                              rows[k].factor, rows[k].period_s),
		                         NULL, NULL);
		double stolen = value_of(s, "jitter_card_stolen", pci(3));

		/* As many whole slices as there was time for: up to one more or less. */
		assert_true(fabs(stolen - (1 - rows[k].factor)) <= (pause + 1e-5) / 0.05 + 0.01);
		assert_true(stolen > 0.01 && stolen < 1);
		expect_near(value_of(s, "jitter_card_longest_us", pci(3)), pause * 1e6);
		assert_true(value_of(s, "jitter_card_sm_share", pci(3)) == 1);
		assert_non_null(strstr(raw_of(s, 3), "\nalone,107,"));
		assert_non_null(strstr(raw_of(s, 3), "\ntogether,0,"));
		judge(s, "a100-sxm4-80gb", CARDS);
		expect_finding(s, "no-time-slicing", pci(3), "fail");
		expect_others_untouched(s, 3);
		look_away(s);
	}
}

/* A watch within one slice would see nothing: none that short can be asked for.
 * Pauses below the threshold are not counted, whatever the clock is said to be. */
static void what_counts_as_a_pause(void **state)
{
	static const struct {
		const char *threshold;
		double stolen;
	} rows[] = {{"60", 0}, {"40", 0.5}};
	const struct param *p = probe_jitter.params;

	(void)state;
	while (strcmp(p->name, "card_s") != 0)
		p++;
	assert_true(p->min >= 0.05);
	for (int k = 0; k < 4; k++) {
		struct seen *s = node_of(
			2,
			tmpf("{\"kind\":\"time_sliced\",\"card\":1,\"factor\":0.5,"
		             "\"period_s\":0.0001},{\"kind\":\"claim\",\"card\":1,\"layer\":"
		             "\"cuda\",\"field\":\"sm_clock_mhz\",\"value\":\"%d\"}",
		             k < 2 ? 1 : 100000),
			NULL, tmpf(SHORT ",\"threshold_us\":\"%s\"", rows[k % 2].threshold));

		assert_true(fabs(value_of(s, "jitter_card_stolen", pci(1)) - rows[k % 2].stolen) <
		            0.01);
		assert_true(value_of(s, "jitter_card_stolen", pci(0)) == 0);
		look_away(s);
	}
}

static void a_card_slower_beside_others_is_found(void **state)
{
	static const double factors[] = {0.85, 0.95, 0.5};
	static const char *const verdicts[] = {"fail", "warn", "fail"};

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct seen *s = node_of(
			CARDS, tmpf("{\"kind\":\"siblings\",\"card\":4,\"factor\":%g}", factors[k]),
			NULL, NULL);

		expect_near(value_of(s, "jitter_card_together", pci(4)), factors[k]);
		expect_near(figure_of(s, "jitter_card_together", 4, "alone_tflops"), 19.5);
		assert_true(value_of(s, "jitter_card_stolen", pci(4)) == 0);
		judge(s, "a100-sxm4-80gb", CARDS);
		expect_finding(s, "no-sibling-loss", pci(4), verdicts[k]);
		expect_others_untouched(s, 4);
		look_away(s);
	}
}

static void a_claim_of_more_sms_is_found(void **state)
{
	static const struct {
		const char *faults;
		int seen, claimed;
		const char *verdict;
	} rows[] = {
		{"{\"kind\":\"fewer_sms\",\"card\":4,\"sm_count\":96},"
	         "{\"kind\":\"claim\",\"card\":4,\"field\":\"sm_count\",\"value\":\"108\"}",
	         96, 108, "fail"},
		{"{\"kind\":\"claim\",\"card\":4,\"layer\":\"cuda\",\"field\":\"sm_count\","
	         "\"value\":\"128\"}",
	         108, 128, "fail"},
		/* Said as it is: others compare it with the model's. */
		{"{\"kind\":\"fewer_sms\",\"card\":4,\"sm_count\":96}", 96, 96, "pass"},
	};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct seen *s = node_of(CARDS, rows[k].faults, NULL, NULL);

		assert_true(value_of(s, "jitter_card_sm_share", pci(4)) ==
		            (double)rows[k].seen / rows[k].claimed);
		assert_true(figure_of(s, "jitter_card_sm_share", 4, "seen") == rows[k].seen);
		assert_true(figure_of(s, "jitter_card_sm_share", 4, "claimed") == rows[k].claimed);
		judge(s, "a100-sxm4-80gb", CARDS);
		expect_finding(s, "sm-all-there", pci(4), rows[k].verdict);
		expect_others_untouched(s, 4);
		look_away(s);
	}
}

/* --- cards that fail ------------------------------------------------------------------------ */

static void expect_out(struct seen *s, int card, enum outcome outcome, const char *words)
{
	assert_int_equal(s->status, 0);
	for (int m = 0; m < 4; m++) {
		const struct reading *r =
			expect_not(s, metrics_of_cards[m], pci(card), outcome, "card_refused");

		assert_int_equal(r->value_kind, VALUE_NONE);
		if (!strstr(r->reason.text, words))
			fail_msg("%s: no %s in it", r->reason.text, words);
	}
	expect_others_untouched(s, card);
}

/* At the first call, while it is alone, and while all work. */
static void a_lost_card_takes_nobody_along(void **state)
{
	static const char *const when[] = {"\"after\":0", "\"after\":40", "\"from_s\":0.75"};

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct seen *s = node_of(CARDS, tmpf("{\"kind\":\"lost\",\"card\":2,%s}", when[k]),
		                         NULL, NULL);

		expect_out(s, 2, OUTCOME_FAILED, "999");
		judge(s, "a100-sxm4-80gb", CARDS);
		for (int r = 0; r < 3; r++)
			expect_finding(s, rules[r], pci(2), "fail");
		look_away(s);
	}
}

static void a_card_that_hangs_is_named_and_left(void **state)
{
	static const struct {
		const char *call;
		int after;
	} rows[] = {{"cuMemAlloc", 0}, {"cuLaunchKernel", 9}, {"cuStreamSynchronize", 5}};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct seen *s =
			node_of(CARDS,
		                tmpf("{\"kind\":\"hang\",\"card\":6,\"call\":\"%s\",\"after\":%d}",
		                     rows[k].call, rows[k].after),
		                NULL, SHORT ",\"hang_s\":\"0.3\"");

		expect_out(s, 6, OUTCOME_TIMED_OUT, "no answer from the driver in 0.3 s");
		judge(s, "a100-sxm4-80gb", CARDS);
		expect_finding(s, "no-time-slicing", pci(6), "fail");
		look_away(s);
	}
}

static void a_refused_call_is_about_its_card(void **state)
{
	static const struct {
		const char *call, *more, *words;
		enum outcome outcome;
	} rows[] = {
		{"cuLaunchKernel", "\"code\":719,\"sticky\":true", "719", OUTCOME_FAILED},
		{"cuLaunchKernel", "\"code\":719,\"sticky\":true,\"after\":12", "719",
	         OUTCOME_FAILED},
		{"cuModuleGetFunction", "\"code\":500,\"after\":3", "500", OUTCOME_NOT_MEASURED},
		{"cuMemAlloc", "\"code\":2,\"every\":1", "2", OUTCOME_NOT_MEASURED},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++) {
		struct seen *s = node_of(CARDS,
		                         tmpf("{\"kind\":\"error\",\"card\":7,\"call\":\"%s\",%s}",
		                              rows[k].call, rows[k].more),
		                         NULL, NULL);

		expect_out(s, 7, rows[k].outcome, rows[k].words);
		look_away(s);
	}
}

/* --- who is there ----------------------------------------------------------------------------- */

static void a_card_without_siblings_has_none_to_lose_to(void **state)
{
	struct seen *s = node_of(1, NULL, NULL, NULL);

	(void)state;
	assert_true(value_of(s, "jitter_card_stolen", CARD0) == 0);
	assert_true(value_of(s, "jitter_card_sm_share", CARD0) == 1);
	expect_not(s, "jitter_card_together", CARD0, OUTCOME_UNSUPPORTED, "p2p_one_card");
	expect_cpus(s);
	judge(s, "a100-sxm4-80gb", 1);
	assert_string_equal(verdict_name(finding_of(s, "no-sibling-loss", CARD0)->verdict),
	                    "not_applicable");
	look_away(s);
	/* Its one sibling is lost: it could have lost something, and was not tried. */
	s = node_of(2, "{\"kind\":\"lost\",\"card\":1}", NULL, NULL);
	assert_true(value_of(s, "jitter_card_stolen", CARD0) == 0);
	expect_not(s, "jitter_card_together", CARD0, OUTCOME_NOT_MEASURED, "jitter_no_siblings");
	judge(s, "a100-sxm4-80gb", 2);
	assert_string_equal(verdict_name(finding_of(s, "no-sibling-loss", CARD0)->verdict),
	                    "not_measured");
	look_away(s);
}

static void without_a_card_all_is_owed(void **state)
{
	struct seen *hidden = ask((struct ask){
		.probe = "jitter", .params = SHORT, .look = {.cards = A100, .visible = ""}});
	struct seen *bare = ask((struct ask){.probe = "jitter",
	                                     .params = SHORT,
	                                     .only = "/nonexistent",
	                                     .look = {.cards = A100}});

	(void)state;
	for (int m = 0; m < 4; m++) {
		expect_not(hidden, metrics_of_cards[m], NULL, OUTCOME_NOT_MEASURED, "card_refused");
		expect_not(bare, metrics_of_cards[m], NULL, OUTCOME_NOT_MEASURED, "no_driver");
	}
	expect_cpus(hidden);
	expect_cpus(bare);
	look_away(hidden);
	look_away(bare);
}

/* A screen of eight cards has a quarter of a minute for this probe. */
static void a_plan_counts_the_cards(void **state)
{
	static const double most[] = {15, 60, 300};
	struct look look = {.cards = A100, .more = "\"count\":8,"};
	struct seen s = {0};

	(void)state;
	kit_make_node(&s, &look);
	for (int budget = 0; budget < 3; budget++) {
		struct arena arena = {0};
		struct probe_ctx ctx;
		struct plan_request request = {
			.lib_dir = tmpf("%s/tests/standin/lib", BINARY_DIR),
			.sys_root = tmpf("%s/tree", s.root),
			.node = "n001",
			.budget = (enum budget)budget,
		};
		double with, without;

		plan_context(&ctx, &arena, &probe_jitter, &request);
		with = probe_jitter.duration(&ctx);
		request.lib_dir = "/nonexistent";
		plan_context(&ctx, &arena, &probe_jitter, &request);
		without = probe_jitter.duration(&ctx);
		assert_true(with > without + 9 * ctx.param_real(&ctx, "card_s"));
		assert_true(with <= most[budget]);
		arena_release(&arena);
	}
	assert_int_equal(dir_remove(s.root, NULL), ST_OK);
	arena_release(&s.arena);
}

static int setup(void **state)
{
	int result = config_setup(state);

	sound = node_of(CARDS, NULL, NULL, NULL);
	return result;
}

static int teardown(void **state)
{
	look_away(sound);
	return config_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_node_passes),
		cmocka_unit_test(noise_is_no_loss),
		cmocka_unit_test(a_shared_card_is_found),
		cmocka_unit_test(what_counts_as_a_pause),
		cmocka_unit_test(a_card_slower_beside_others_is_found),
		cmocka_unit_test(a_claim_of_more_sms_is_found),
		cmocka_unit_test(a_lost_card_takes_nobody_along),
		cmocka_unit_test(a_card_that_hangs_is_named_and_left),
		cmocka_unit_test(a_refused_call_is_about_its_card),
		cmocka_unit_test(a_card_without_siblings_has_none_to_lose_to),
		cmocka_unit_test(without_a_card_all_is_owed),
		cmocka_unit_test(a_plan_counts_the_cards),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
