/* p2p on stand-ins: figures are those of the node file whatever a call costs the
 * host, and a link or card that is slow, cut off, lost or silent is named. */
#include "tests/probes/cards_kit.h"

#include "coord/plan.h"

extern const struct probe probe_p2p;

#define QUICK "\"bytes\":\"2097152\",\"samples\":\"2\""
#define A100  "{\"model\":\"a100-sxm4-80gb\"}"
#define SMALL "\"memory_divisor\":2048,"
#define ACHIEVED                                                                                   \
	"\"achieved\":{\"nvlink\":0.92,\"sm_copy\":0.9,\"pcie\":0.88},"                            \
	"\"nvlink\":\"switch\","
/* Of an A100 with these shares. */
#define NVLINK (300 * 0.92)
#define PCIE   (31.504 * 0.88)

static struct seen *node_of(int cards, const char *faults, const char *more, const char *params)
{
	return ask((struct ask){
		.probe = "p2p",
		.params = params ? params : QUICK,
		.look = {.faults = faults,
	                 .more = tmpf(SMALL ACHIEVED "\"count\":%d,%s", cards, more ? more : ""),
	                 .cards = A100}});
}

static double stat_of(const struct seen *s, const char *metric, enum stat_id stat)
{
	return reading_of(s, metric, NULL)->stats[stat];
}

/* The card at an end of the worst pair, as its number. */
static int end_of(const struct seen *s, const char *metric, int end)
{
	const struct reading *r = reading_of(s, metric, NULL);

	assert_int_equal(r->subject.n_ends, 2);
	for (int64_t i = 0; i < s->run.n_readings; i++) {
		const struct reading *card = &s->run.readings[i];

		if (card->subject.kind == SUBJECT_CARD &&
		    strcmp(card->subject.id, r->subject.ends[end].card) == 0)
			return card->subject.index;
	}
	return -1;
}

static const char *raw_of(struct seen *s, const char *metric)
{
	struct str text = {0};
	const char *kept;

	assert_int_equal(file_read(&text, tmpf("%s/raw/%s.csv", s->root, metric), 1 << 20, NULL),
	                 ST_OK);
	kept = arena_str(&s->arena, str_text(&text));
	str_release(&text);
	return kept;
}

static int lines_of(const char *text)
{
	int n = 0;

	for (; (text = strchr(text, '\n')); text++)
		n++;
	return n;
}

/* --- sound nodes -------------------------------------------------------------------- */

static void figures_are_those_of_the_node(void **state)
{
	static const int costs[] = {0, 1000, 5000};
	static const struct {
		const char *metric;
		double value;
	} rows[] = {
		{"p2p_push_gbs", NVLINK},
		{"p2p_pull_gbs", NVLINK},
		{"p2p_ce_push_gbs", NVLINK},
		{"p2p_ce_pull_gbs", NVLINK},
		{"p2p_sm_push_gbs", NVLINK * .9},
		{"p2p_sm_pull_gbs", NVLINK * .9},
		{"p2p_ce_both_gbs", 2 * NVLINK},
		{"p2p_sm_both_gbs", 2 * NVLINK * .9},
		{"p2p_flag_oneway_us", 0.9},
		{"p2p_chase_ns", 1100},
		{"p2p_copy_us", 1.8},
	};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct seen *s =
			node_of(4, NULL, tmpf("\"costs\":{\"host_call_ns\":%d},", costs[k]), NULL);

		assert_int_equal(s->status, 0);
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			expect_near(value_of(s, rows[i].metric, NULL), rows[i].value);
			expect_near(stat_of(s, rows[i].metric, STAT_MEDIAN), rows[i].value);
		}
		assert_true(stat_of(s, "p2p_push_gbs", STAT_N) == 12);
		assert_true(stat_of(s, "p2p_flag_oneway_us", STAT_N) == 6);
		assert_int_equal(lines_of(raw_of(s, "p2p_push_gbs")), 13);
		assert_string_equal(param_of(s, reading_of(s, "p2p_push_gbs", NULL), "off"), "[]");
		expect_near(value_of(s, "pcie_h2d_gbs", CARD2), PCIE);
		expect_near(value_of(s, "pcie_d2h_gbs", CARD2), PCIE);
		expect_near(value_of(s, "pcie_rate_gbs", CARD2), 31.508);
		assert_true(value_of(s, "p2p_nvlink_dropped", CARD2) == 0);
		assert_true(value_of(s, "p2p_nvlink_recoveries", CARD2) == 0);
		assert_true(value_of(s, "p2p_nvlink_errors", CARD2) == 0);
		judge(s, "a100-sxm4-80gb", 4);
		expect_no_finding(s, &probe_p2p);
		look_away(s);
	}
}

/* Buffers of the size that real cards get say the same. */
static void figures_do_not_depend_on_the_reduction(void **state)
{
	static const char *const params[] = {
		"\"bytes\":\"17179869184\",\"samples\":\"1\"",
		QUICK ",\"window_s\":\"0.0001\"",
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct seen *s = node_of(2, NULL, NULL, params[i]);

		expect_near(value_of(s, "p2p_ce_push_gbs", NULL), NVLINK);
		expect_near(value_of(s, "p2p_sm_pull_gbs", NULL), NVLINK * .9);
		assert_string_equal(param_of(s, reading_of(s, "p2p_push_gbs", NULL), "bytes"),
		                    i ? "2097152" : "8388608");
		look_away(s);
	}
}

static void one_card_has_no_pairs(void **state)
{
	struct seen *s = node_of(1, NULL, NULL, NULL);

	(void)state;
	expect_not(s, "p2p_push_gbs", NULL, OUTCOME_UNSUPPORTED, "p2p_one_card");
	expect_not(s, "p2p_flag_oneway_us", NULL, OUTCOME_UNSUPPORTED, "p2p_one_card");
	expect_near(value_of(s, "pcie_h2d_gbs", CARD0), PCIE);
	judge(s, "a100-sxm4-80gb", 1);
	expect_finding(s, "nvlink-oneway", NULL, "not_applicable");
	expect_finding(s, "p2p-latency", NULL, "not_applicable");
	expect_no_finding(s, &probe_p2p);
	look_away(s);
}

static void cards_without_links_are_no_fault(void **state)
{
	struct seen *s = ask((struct ask){.probe = "p2p",
	                                  .params = QUICK,
	                                  .look = {.more = "\"memory_divisor\":512,\"count\":2,",
	                                           .cards = "{\"model\":\"rtx-4090\"}"}});

	(void)state;
	expect_not(s, "p2p_push_gbs", NULL, OUTCOME_UNSUPPORTED, "p2p_not_built");
	expect_not(s, "p2p_nvlink_errors", CARD0, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	judge(s, "rtx-4090", 2);
	expect_no_finding(s, &probe_p2p);
	look_away(s);
	/* Over PCIe it is measured, and passes what is asked of it. */
	s = ask((struct ask){.probe = "p2p",
	                     .params = QUICK,
	                     .look = {.more = "\"memory_divisor\":512,\"count\":2,\"achieved\":"
	                                      "{\"pcie\":0.9},",
	                              .cards = "{\"model\":\"l40s\"}"}});
	expect_near(value_of(s, "p2p_push_gbs", NULL), 31.504 * 0.9);
	expect_near(value_of(s, "p2p_flag_oneway_us", NULL), 1.8);
	look_away(s);
}

/* --- faults ---------------------------------------------------------------------------- */

static void a_slow_link_is_named_by_its_ends(void **state)
{
	struct seen *s = node_of(4, "{\"kind\":\"slow_link\",\"card\":2,\"peer\":1,\"factor\":0.5}",
	                         NULL, NULL);
	const struct reading *r = reading_of(s, "p2p_push_gbs", NULL);

	(void)state;
	expect_near(r->value, NVLINK / 2);
	expect_near(stat_of(s, "p2p_push_gbs", STAT_MEDIAN), NVLINK);
	assert_int_equal(end_of(s, "p2p_push_gbs", 0), 2);
	assert_int_equal(end_of(s, "p2p_push_gbs", 1), 1);
	assert_string_equal(param_of(s, r, "suspect"), "");
	assert_non_null(strstr(param_of(s, r, "off"), "[{\"from\":2,\"to\":1,\"value\":"));
	/* Pulled, data goes the same way; both ways wait for the later. */
	assert_int_equal(end_of(s, "p2p_pull_gbs", 0), 2);
	assert_int_equal(end_of(s, "p2p_pull_gbs", 1), 1);
	expect_near(value_of(s, "p2p_ce_both_gbs", NULL), NVLINK);
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_name(finding_of(s, "nvlink-oneway", NULL)->verdict), "fail");
	look_away(s);
}

/* Half of a card's links are down: all of its pairs are slow, and nobody else's. */
static void a_card_with_links_down_is_the_suspect(void **state)
{
	static const char down[] = "{\"kind\":\"nvlink_down\",\"card\":3,\"link\":0},"
				   "{\"kind\":\"nvlink_down\",\"card\":3,\"link\":5},"
				   "{\"kind\":\"nvlink_down\",\"card\":3,\"link\":11}";
	struct seen *s = node_of(4, down, NULL, NULL);
	const struct reading *r = reading_of(s, "p2p_push_gbs", NULL);

	(void)state;
	expect_near(r->value, NVLINK * 9 / 12);
	assert_string_equal(param_of(s, r, "suspect"),
	                    tmpf("\"%s\"", reading_of(s, "pcie_h2d_gbs", CARD3)->subject.id));
	assert_string_equal(param_of(s, reading_of(s, "p2p_nvlink_dropped", CARD3), "before"), "9");
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_name(finding_of(s, "nvlink-oneway", NULL)->verdict), "fail");
	look_away(s);
}

static void errors_of_links_are_told_link_by_link(void **state)
{
	static const char errors[] =
		"{\"kind\":\"nvlink_errors\",\"card\":1,\"link\":4,\"counter\":\"replay\","
		"\"count\":7,\"rate\":1000},"
		"{\"kind\":\"nvlink_errors\",\"card\":2,\"link\":9,\"counter\":\"recovery\","
		"\"count\":1,\"rate\":1000},"
		"{\"kind\":\"nvlink_errors\",\"card\":3,\"link\":1,\"counter\":\"replay\","
		"\"count\":50}";
	struct seen *s = node_of(4, errors, NULL, NULL);

	(void)state;
	assert_true(value_of(s, "p2p_nvlink_errors", CARD1) > 0);
	assert_non_null(strstr(param_of(s, reading_of(s, "p2p_nvlink_errors", CARD1), "replay"),
	                       "{\"4\":"));
	assert_true(value_of(s, "p2p_nvlink_recoveries", CARD1) == 0);
	assert_true(value_of(s, "p2p_nvlink_recoveries", CARD2) > 0);
	assert_true(value_of(s, "p2p_nvlink_errors", CARD2) == 0);
	/* What it counted before is not of now. */
	assert_true(value_of(s, "p2p_nvlink_errors", CARD3) == 0);
	judge(s, "a100-sxm4-80gb", 4);
	expect_finding(s, "nvlink-recoveries-load", CARD2, "fail");
	expect_finding(s, "nvlink-errors-load", CARD1, "warn");
	look_away(s);
}

static void no_peer_access_is_a_finding_and_no_low_figure(void **state)
{
	struct seen *s = node_of(4, "{\"kind\":\"no_p2p\",\"card\":0,\"peer\":2}", NULL, NULL);
	const struct reading *r = expect_not(s, "p2p_push_gbs", NULL, OUTCOME_FAILED, "p2p_pair");

	(void)state;
	assert_int_equal(end_of(s, "p2p_push_gbs", 0), 0);
	assert_int_equal(end_of(s, "p2p_push_gbs", 1), 2);
	assert_non_null(strstr(r->reason.text, CARD0 " to " CARD2 ": no peer access"));
	assert_non_null(strstr(r->reason.text, "(2 of 12 pairs not measured)"));
	assert_true(r->stats[STAT_N] == 10);
	expect_near(r->stats[STAT_MIN], NVLINK);
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_name(finding_of(s, "nvlink-oneway", NULL)->verdict), "fail");
	look_away(s);
	/* Nobody reaches anybody, on cards with links. */
	s = node_of(3, NULL, "\"p2p\":false,", NULL);
	expect_not(s, "p2p_push_gbs", NULL, OUTCOME_FAILED, "p2p_pair");
	expect_not(s, "p2p_copy_us", NULL, OUTCOME_FAILED, "p2p_pair");
	look_away(s);
}

static void a_narrow_slot_is_found_on_its_card(void **state)
{
	static const char *const faults[] = {
		"{\"kind\":\"pcie\",\"card\":1,\"width\":8}",
		"{\"kind\":\"pcie\",\"card\":1,\"generation\":3}",
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct seen *s = node_of(2, faults[i], NULL, NULL);

		expect_near(value_of(s, "pcie_h2d_gbs", CARD0), PCIE);
		expect_near(value_of(s, "pcie_h2d_gbs", CARD1), PCIE / 2);
		expect_near(value_of(s, "pcie_rate_gbs", CARD1), 31.508);
		judge(s, "a100-sxm4-80gb", 2);
		expect_finding(s, "pcie-to-card", CARD1, "fail");
		look_away(s);
	}
}

static void memory_that_forgets_is_no_bandwidth(void **state)
{
	/* Within the buffer that the others write. */
	struct seen *s = node_of(
		3, "{\"kind\":\"bad_memory\",\"card\":1,\"address\":8192,\"bit\":5,\"set\":true}",
		NULL, NULL);

	(void)state;
	expect_not(s, "p2p_push_gbs", NULL, OUTCOME_FAILED, "p2p_pair");
	assert_non_null(
		strstr(reading_of(s, "p2p_ce_push_gbs", NULL)->reason.text, "did not arrive"));
	assert_int_equal(end_of(s, "p2p_ce_push_gbs", 1), 1);
	look_away(s);
}

/* The others' figures are the same as without it. */
static void a_lost_card_takes_nobody_along(void **state)
{
	struct seen *s = node_of(4, "{\"kind\":\"lost\",\"card\":1,\"after\":150}", NULL, NULL);
	const struct reading *r = expect_not(s, "p2p_push_gbs", NULL, OUTCOME_FAILED, "p2p_pair");

	(void)state;
	assert_int_equal(s->status, 0);
	assert_non_null(strstr(r->reason.text, "999"));
	assert_true(r->stats[STAT_N] >= 6 && r->stats[STAT_N] < 12);
	expect_near(r->stats[STAT_MIN], NVLINK);
	assert_string_equal(param_of(s, r, "suspect"),
	                    tmpf("\"%s\"", reading_of(s, "pcie_rate_gbs", CARD1)->subject.id));
	expect_near(reading_of(s, "p2p_flag_oneway_us", NULL)->stats[STAT_MAX], 0.9);
	assert_int_equal(reading_of(s, "p2p_nvlink_errors", CARD1)->outcome, OUTCOME_FAILED);
	assert_true(value_of(s, "p2p_nvlink_errors", CARD2) == 0);
	look_away(s);
	/* From the start. */
	s = node_of(4, "{\"kind\":\"lost\",\"card\":1}", NULL, NULL);
	r = reading_of(s, "p2p_push_gbs", NULL);
	assert_int_equal(r->outcome, OUTCOME_FAILED);
	assert_true(r->stats[STAT_N] == 6);
	expect_near(value_of(s, "pcie_h2d_gbs", CARD2), PCIE);
	look_away(s);
}

static void a_card_that_hangs_is_named_and_left(void **state)
{
	static const char *const calls[] = {"cuStreamSynchronize", "cuEventSynchronize",
	                                    "cuMemAlloc"};
	static const int after[] = {14, 6, 0};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct seen *s =
			node_of(4,
		                tmpf("{\"kind\":\"hang\",\"card\":2,\"call\":\"%s\",\"after\":%d}",
		                     calls[i], after[i]),
		                NULL, QUICK ",\"hang_s\":\"0.3\"");
		const struct reading *r =
			expect_not(s, "p2p_push_gbs", NULL, OUTCOME_TIMED_OUT, "p2p_pair");

		assert_int_equal(s->status, 0);
		assert_non_null(strstr(r->reason.text, "no answer from the driver in 0.3 s"));
		assert_true(end_of(s, "p2p_push_gbs", 0) == 2 || end_of(s, "p2p_push_gbs", 1) == 2);
		assert_string_equal(
			param_of(s, r, "suspect"),
			tmpf("\"%s\"", reading_of(s, "pcie_rate_gbs", CARD2)->subject.id));
		assert_true(r->stats[STAT_N] >= 6);
		expect_near(r->stats[STAT_MIN], NVLINK);
		expect_near(value_of(s, "pcie_h2d_gbs", CARD3), PCIE);
		judge(s, "a100-sxm4-80gb", 4);
		assert_string_equal(verdict_name(finding_of(s, "nvlink-oneway", NULL)->verdict),
		                    "fail");
		look_away(s);
	}
}

static void what_the_deadline_left_out_is_said(void **state)
{
	struct seen *s = ask((struct ask){
		.probe = "p2p",
		.params = QUICK,
		.look = {.more = SMALL "\"count\":4,\"costs\":{\"first_call_ms\":1000},",
	                 .cards = A100,
	                 .deadline_s = 2.001}});
	const struct reading *r = reading_of(s, "p2p_copy_us", NULL);

	(void)state;
	assert_int_equal(r->outcome, OUTCOME_NOT_MEASURED);
	assert_non_null(strstr(r->reason.text, "the deadline came first"));
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_name(finding_of(s, "nvlink-oneway", NULL)->verdict),
	                    "not_measured");
	look_away(s);
}

static void without_a_card_everything_is_owed(void **state)
{
	struct seen *s = ask((struct ask){.probe = "p2p",
	                                  .params = QUICK,
	                                  .look = {.more = SMALL, .cards = A100, .visible = ""}});

	(void)state;
	expect_not(s, "p2p_push_gbs", NULL, OUTCOME_NOT_MEASURED, "card_refused");
	expect_not(s, "pcie_h2d_gbs", NULL, OUTCOME_NOT_MEASURED, "card_refused");
	look_away(s);
}

static void a_plan_counts_the_pairs(void **state)
{
	struct arena arena = {0};
	struct probe_ctx ctx;

	(void)state;
	plan_context(&ctx, &arena, &probe_p2p,
	             &(struct plan_request){.lib_dir = "/nonexistent", .node = "n001"});
	assert_false(probe_p2p.supported(&ctx).yes);
	assert_true(probe_p2p.duration(&ctx) > 0);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_the_node),
		cmocka_unit_test(figures_do_not_depend_on_the_reduction),
		cmocka_unit_test(one_card_has_no_pairs),
		cmocka_unit_test(cards_without_links_are_no_fault),
		cmocka_unit_test(a_slow_link_is_named_by_its_ends),
		cmocka_unit_test(a_card_with_links_down_is_the_suspect),
		cmocka_unit_test(errors_of_links_are_told_link_by_link),
		cmocka_unit_test(no_peer_access_is_a_finding_and_no_low_figure),
		cmocka_unit_test(a_narrow_slot_is_found_on_its_card),
		cmocka_unit_test(memory_that_forgets_is_no_bandwidth),
		cmocka_unit_test(a_lost_card_takes_nobody_along),
		cmocka_unit_test(a_card_that_hangs_is_named_and_left),
		cmocka_unit_test(what_the_deadline_left_out_is_said),
		cmocka_unit_test(without_a_card_everything_is_owed),
		cmocka_unit_test(a_plan_counts_the_pairs),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
