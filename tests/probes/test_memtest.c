/* memtest on stand-ins: a sound card passes with all of its memory tested, and
 * memory that is bad, not there or lost is found at its place. */
#include "tests/probes/cards_kit.h"

#include "coord/plan.h"

extern const struct probe probe_memtest;

#define SHORT   "\"walking\":\"2\",\"random\":\"1\""
#define SMALL   "\"memory_divisor\":16384,"
#define BASE1   0x210000000000u /* where the memory of card 1 begins */
#define CLAIMED (81920.0 * 1048576 / 16384)

static struct seen *test_card1(const char *faults, const char *more, const char *params)
{
	return ask((struct ask){.probe = "memtest",
	                        .subject = CARD1,
	                        .params = params,
	                        .look = {.faults = faults,
	                                 .more = more ? more : SMALL "\"count\":4,",
	                                 .cards = "{\"model\":\"a100-sxm4-80gb\"}"}});
}

static void a_sound_card_passes(void **state)
{
	static const char *const costs[] = {"0", "1000", "5000"};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct seen *s = test_card1(
			NULL, tmpf(SMALL "\"count\":4,\"costs\":{\"host_call_ns\":%s},", costs[i]),
			SHORT);
		const struct reading *r;

		assert_int_equal(s->status, 0);
		assert_true(value_of(s, "memtest_errors", CARD1) == 0);
		r = reading_of(s, "memtest_share", CARD1);
		assert_true(r->value > 0.95 && r->value <= 1);
		assert_int_equal(r->origin, ORIGIN_SIMULATED);
		assert_string_equal(param_of(s, r, "patterns_done"), "6");
		assert_true(strtod(param_of(s, r, "tested_bytes"), NULL) > 0.9 * CLAIMED);
		assert_true(value_of(s, "memtest_ecc_uncorrected", CARD1) == 0);
		assert_true(value_of(s, "memtest_ecc_corrected", CARD1) == 0);
		judge(s, "a100-sxm4-80gb", 1);
		expect_no_finding(s, &probe_memtest);
		look_away(s);
	}
}

static void a_stuck_bit_is_found_where_it_is(void **state)
{
	static const struct {
		const char *fault;
		uint64_t address;
	} rows[] = {
		{"{\"kind\":\"bad_memory\",\"card\":1,\"address\":1048584,\"bit\":3,\"set\":true}",
	         BASE1 + 1048584},
		{"{\"kind\":\"bad_memory\",\"card\":1,\"address\":4000000,\"bit\":17,\"set\":"
	         "false}",
	         BASE1 + 4000000},
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct seen *s = test_card1(rows[i].fault, NULL, SHORT);
		const struct reading *r =
			expect_not(s, "memtest_errors", CARD1, OUTCOME_FAILED, "memtest_wrong");

		/* Found by some patterns, and not by their complements. */
		assert_true(r->value >= 3 && r->value <= 8);
		assert_string_equal(param_of(s, r, "first_bad_address"),
		                    tmpf("\"0x%llx\"", (unsigned long long)rows[i].address));
		assert_string_equal(param_of(s, r, "counted_all"), "true");
		assert_string_equal(param_of(s, r, "bad_bits"), i ? "\"0x20000\"" : "\"0x8\"");
		assert_string_equal(param_of(s, r, "patterns_done"), "6");
		assert_true(value_of(s, "memtest_share", CARD1) > 0.95);
		judge(s, "a100-sxm4-80gb", 1);
		expect_finding(s, "memory-right", CARD1, "fail");
		expect_finding(s, "memory-tested", CARD1, "pass");
		look_away(s);
	}
}

/* Half, and all but a little, are there. */
static void memory_that_is_not_there_is_found(void **state)
{
	static const double factors[] = {0.5, 0.9, 0.3};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct seen *s = test_card1(
			tmpf("{\"kind\":\"aliased_memory\",\"card\":1,\"factor\":%g}", factors[i]),
			NULL, SHORT);
		const struct reading *r =
			expect_not(s, "memtest_errors", CARD1, OUTCOME_FAILED, "memtest_aliased");
		double there = strtod(param_of(s, r, "share_there"), NULL);

		assert_true(fabs(there - factors[i]) < 0.05);
		assert_non_null(strstr(r->reason.text, "both are the same memory"));
		judge(s, "a100-sxm4-80gb", 1);
		expect_finding(s, "memory-right", CARD1, "fail");
		look_away(s);
	}
}

static void memory_of_others_is_not_counted_as_tested(void **state)
{
	struct seen *s = test_card1(
		"{\"kind\":\"foreign_process\",\"card\":1,\"memory_mib\":40960}", NULL, SHORT);
	const struct reading *r = reading_of(s, "memtest_share", CARD1);

	(void)state;
	assert_true(strtod(param_of(s, r, "tested_bytes"), NULL) < 0.5 * CLAIMED);
	assert_true(strtod(param_of(s, r, "card_bytes"), NULL) == CLAIMED);
	assert_true(r->value > 0.9);
	look_away(s);
}

static void too_little_memory_is_not_a_pass(void **state)
{
	struct seen *s =
		test_card1("{\"kind\":\"error\",\"card\":1,\"call\":\"cuMemAlloc\",\"code\":2,"
	                   "\"every\":1}",
	                   NULL, SHORT);

	(void)state;
	expect_not(s, "memtest_errors", CARD1, OUTCOME_NOT_MEASURED, "card_refused");
	expect_not(s, "memtest_share", CARD1, OUTCOME_NOT_MEASURED, "card_refused");
	judge(s, "a100-sxm4-80gb", 1);
	expect_finding(s, "memory-tested", CARD1, "not_measured");
	look_away(s);
	/* The largest pieces are refused, smaller ones are not: so much less is tested. */
	s = test_card1(
		"{\"kind\":\"error\",\"card\":1,\"call\":\"cuMemAlloc\",\"code\":2,\"every\":2}",
		NULL, SHORT);
	assert_true(value_of(s, "memtest_errors", CARD1) == 0);
	assert_true(reading_of(s, "memtest_share", CARD1)->value > 0.9);
	assert_string_not_equal(param_of(s, reading_of(s, "memtest_share", CARD1), "pieces"), "1");
	look_away(s);
}

static void a_deadline_is_no_pass(void **state)
{
	struct seen *s = ask((struct ask){.probe = "memtest",
	                                  .subject = CARD1,
	                                  .params = SHORT ",\"fade_s\":\"100\"",
	                                  .look = {.more = SMALL "\"count\":2,",
	                                           .cards = "{\"model\":\"a100-sxm4-80gb\"}",
	                                           .deadline_s = 60}});

	(void)state;
	assert_string_equal(
		expect_not(s, "memtest_errors", CARD1, OUTCOME_NOT_MEASURED, "memtest_cut")
			->reason.text,
		"6 of 7 patterns went through the memory before the deadline; allow "
		"more time");
	expect_not(s, "memtest_share", CARD1, OUTCOME_NOT_MEASURED, "memtest_cut");
	look_away(s);
	s = test_card1(NULL, NULL, SHORT ",\"fade_s\":\"100\"");
	assert_true(value_of(s, "memtest_errors", CARD1) == 0);
	assert_string_equal(param_of(s, reading_of(s, "memtest_errors", CARD1), "patterns_done"),
	                    "7");
	look_away(s);
}

static void what_the_card_counts_meanwhile_is_told(void **state)
{
	struct seen *s =
		test_card1("{\"kind\":\"ecc\",\"card\":1,\"corrected\":3,\"uncorrected\":2,"
	                   "\"rate\":20}",
	                   NULL, SHORT ",\"fade_s\":\"10\"");
	struct seen *old = test_card1(
		"{\"kind\":\"ecc\",\"card\":1,\"corrected\":3,\"uncorrected\":2}", NULL, SHORT);

	(void)state;
	assert_true(value_of(s, "memtest_ecc_uncorrected", CARD1) >= 200);
	assert_true(value_of(s, "memtest_ecc_corrected", CARD1) == 0);
	assert_true(value_of(old, "memtest_ecc_uncorrected", CARD1) == 0);
	look_away(s);
	look_away(old);
	s = ask((struct ask){.probe = "memtest",
	                     .subject = CARD0,
	                     .params = SHORT,
	                     .look = {.cards = "{\"model\":\"rtx-4090\"}", .more = SMALL}});
	expect_not(s, "memtest_ecc_uncorrected", CARD0, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	look_away(s);
}

static void a_lost_card_is_lost(void **state)
{
	struct seen *s = test_card1("{\"kind\":\"lost\",\"card\":1,\"after\":60}", NULL, SHORT);

	(void)state;
	expect_not(s, "memtest_errors", CARD1, OUTCOME_FAILED, "card_refused");
	expect_not(s, "memtest_share", CARD1, OUTCOME_FAILED, "card_refused");
	judge(s, "a100-sxm4-80gb", 1);
	expect_finding(s, "memory-right", CARD1, "fail");
	look_away(s);
	/* The other three do not notice. */
	s = ask((struct ask){.probe = "memtest",
	                     .subject = CARD2,
	                     .params = SHORT,
	                     .look = {.faults = "{\"kind\":\"lost\",\"card\":1}",
	                              .more = SMALL "\"count\":4,",
	                              .cards = "{\"model\":\"a100-sxm4-80gb\"}"}});
	assert_true(value_of(s, "memtest_errors", CARD2) == 0);
	look_away(s);
}

static void a_card_that_hangs_says_nothing(void **state)
{
	struct seen *s = ask((struct ask){
		.probe = "memtest",
		.subject = CARD1,
		.params = SHORT,
		.look = {.faults = "{\"kind\":\"hang\",\"card\":1,\"call\":\"cuStreamSynchronize\","
	                           "\"after\":20}",
	                 .more = SMALL "\"count\":2,",
	                 .cards = "{\"model\":\"a100-sxm4-80gb\"}",
	                 .hangs = true}});

	(void)state;
	assert_true(WIFSIGNALED(s->status));
	assert_int_equal(s->run.n_readings, 0);
	look_away(s);
}

static void without_a_driver_it_is_said(void **state)
{
	struct arena arena = {0};
	struct probe_ctx ctx;
	struct support s;

	(void)state;
	plan_context(&ctx, &arena, &probe_memtest,
	             &(struct plan_request){.lib_dir = "/nonexistent", .node = "n001"});
	s = probe_memtest.supported(&ctx);
	assert_false(s.yes);
	assert_string_equal(s.reason.code, "no_driver");
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_card_passes),
		cmocka_unit_test(a_stuck_bit_is_found_where_it_is),
		cmocka_unit_test(memory_that_is_not_there_is_found),
		cmocka_unit_test(memory_of_others_is_not_counted_as_tested),
		cmocka_unit_test(too_little_memory_is_not_a_pass),
		cmocka_unit_test(a_deadline_is_no_pass),
		cmocka_unit_test(what_the_card_counts_meanwhile_is_told),
		cmocka_unit_test(a_lost_card_is_lost),
		cmocka_unit_test(a_card_that_hangs_says_nothing),
		cmocka_unit_test(without_a_driver_it_is_said),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
