/* Odd answers that people have met on machines like these, given by stand-ins: each
 * is told for what it is, spoils nothing beside it, and neither passes nor fails a
 * card that it says nothing about. */
#include "tests/probes/inventory_kit.h"

#define CARD0 "0000:17:00.0"
#define CARD1 "0000:2a:00.0"
#define CARD2 "0000:3d:00.0"
#define CARD3 "0000:50:00.0"

#define ERROR(card, call, code)                                                                    \
	"{\"kind\":\"error\",\"card\":" #card ",\"call\":\"" call "\",\"code\":" #code             \
	",\"every\":1}"

static const char *verdict_of(const struct seen *s, const char *rule, const char *pci)
{
	return verdict_name(finding_of(s, rule, pci)->verdict);
}

/* A card or link of the inventory that a rule fails. */
static int failed_findings(const struct seen *s)
{
	int n = 0;

	for (int64_t i = 0; i < s->card.n_findings; i++) {
		const struct finding *f = &s->card.findings[i];

		n += f->verdict == VERDICT_FAIL && f->rule->reading != RULE_LITERAL &&
		     (str_starts(f->rule->metric, "card_") ||
		      str_starts(f->rule->metric, "nvlink_"));
	}
	return n;
}

/* --- one field ----------------------------------------------------------------------- */

/* A card answers the question for its clock with "N/A" where a number is expected, as
 * guests' cards do: the clock is not told and no zero, the rest of the row stands. */
static void a_clock_that_is_not_told_costs_the_clock(void **state)
{
	struct seen *s =
		look_at((struct look){.faults = ERROR(1, "nvmlDeviceGetMaxClockInfo", 3) "," ERROR(
					      2, "nvmlDeviceGetMaxClockInfo", 4)});

	(void)state;
	expect_not(s, "card_max_sm_clock_mhz", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	expect_not(s, "card_max_sm_clock_mhz", CARD2, OUTCOME_NOT_MEASURED, "nvml_no_permission");
	assert_true(value_of(s, "card_max_sm_clock_mhz", CARD3) == 1410);
	for (int i = 0; i < 2; i++) {
		const char *pci = i ? CARD2 : CARD1;

		assert_string_equal(text_of(s, "card_name", pci), "NVIDIA A100-SXM4-80GB");
		assert_true(value_of(s, "card_memory_mib", pci) == 81920);
		assert_true(value_of(s, "card_sources_agree", pci) == 1);
	}
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_of(s, "identity-clock", CARD1), "not_applicable");
	assert_string_equal(verdict_of(s, "identity-clock", CARD2), "not_measured");
	assert_string_equal(verdict_of(s, "identity-memory", CARD1), "pass");
	look_away(s);
}

/* A slice (MIG) in a pod: one row holds both "N/A" and "Insufficient Permissions".
 * The two stay apart, and that the card is cut up is the finding. */
static void a_slice_in_a_pod_is_a_slice(void **state)
{
	struct seen *s =
		look_at((struct look){.faults = "{\"kind\":\"mig\",\"card\":1}," ERROR(
					      1, "nvmlDeviceGetMemoryInfo",
					      4) "," ERROR(1, "nvmlDeviceGetTotalEccErrors", 3)});

	(void)state;
	expect_not(s, "card_memory_mib", CARD1, OUTCOME_NOT_MEASURED, "nvml_no_permission");
	expect_not(s, "card_ecc_uncorrected", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	assert_true(value_of(s, "card_mig_enabled", CARD1) == 1);
	judge(s, "a100-sxm4-80gb", 4);
	expect_finding(s, "not-partitioned", CARD1, "fail");
	expect_finding(s, "identity-memory", CARD1, "not_measured");
	expect_finding(s, "ecc-clean", CARD1, "not_applicable");
	look_away(s);
}

/* "Requested functionality has been deprecated" in the place of a figure, since drivers
 * of branch 570: not a figure, and no fault of the card either. */
static void a_deprecated_question_is_not_measured(void **state)
{
	struct seen *s = look_at((struct look){.faults = ERROR(1, "nvmlDeviceGetFieldValues", 26)});
	const struct reading *r = expect_not(s, "card_recovery_action", CARD1, OUTCOME_NOT_MEASURED,
	                                     "nvml_deprecated");

	(void)state;
	assert_non_null(strstr(r->reason.text, "GPU Recovery Action"));
	judge(s, "a100-sxm4-80gb", 4);
	expect_finding(s, "no-recovery-needed", CARD1, "not_measured");
	look_away(s);
}

/* Rows that are remapped "N/A": cards that cannot are no bad cards, and a card with HBM
 * that keeps silent is not taken for a good one. */
static void silence_about_remapped_rows(void **state)
{
	struct seen *s = look_at((struct look){.cards = "{\"model\":\"rtx-4090\"}",
	                                       .more = "\"count\":2,",
	                                       .faults = ERROR(1, "nvmlDeviceGetRemappedRows", 3)});

	(void)state;
	expect_not(s, "card_remap_pending", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	judge(s, "rtx-4090", 2);
	assert_string_equal(verdict_of(s, "no-pending-remap", CARD1), "not_applicable");
	look_away(s);
	s = look_at((struct look){.faults = ERROR(1, "nvmlDeviceGetRemappedRows", 3)});
	expect_not(s, "card_remap_pending", CARD1, OUTCOME_NOT_MEASURED, "remap_absent");
	judge(s, "a100-sxm4-80gb", 4);
	expect_finding(s, "no-pending-remap", CARD1, "not_measured");
	look_away(s);
}

/* More errors than a 32-bit counter holds stay positive, and fail. */
static void large_counts_are_not_negative(void **state)
{
	struct seen *s = look_at(
		(struct look){.faults = "{\"kind\":\"ecc\",\"card\":1,\"uncorrected\":5000000000,"
	                                "\"corrected\":3770679296}"});
	const struct reading *r = reading_of(s, "card_ecc_uncorrected", CARD1);

	(void)state;
	assert_true(r->value == 5e9);
	assert_string_equal(param_of(s, r, "corrected"), "3770679296");
	judge(s, "a100-sxm4-80gb", 4);
	expect_finding(s, "ecc-clean", CARD1, "fail");
	look_away(s);
}

/* --- which card ------------------------------------------------------------------------- */

/* CUDA puts the fastest card first by itself, NVML goes by address, and the wrong card is
 * blamed. Addresses join them, and CUDA is asked to count by address too. */
static void the_fastest_card_is_not_the_first(void **state)
{
	struct seen *s;

	(void)state;
	setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST", 1);
	s = look_at((struct look){.cards = "{\"model\":\"a100-sxm4-80gb\"},"
	                                   "{\"model\":\"h100-sxm5-80gb\"}"});
	unsetenv("CUDA_DEVICE_ORDER");
	assert_string_equal(text_of(s, "card_name", CARD0), "NVIDIA A100-SXM4-80GB");
	assert_true(value_of(s, "card_sm_count", CARD0) == 108);
	assert_true(value_of(s, "card_sm_count", CARD1) == 132);
	assert_string_equal(param_of(s, reading_of(s, "card_sm_count", CARD1), "cuda_index"), "1");
	assert_true(value_of(s, "card_sources_agree", CARD0) == 1);
	assert_true(value_of(s, "card_sources_agree", CARD1) == 1);
	look_away(s);
}

/* Forms of CUDA_VISIBLE_DEVICES: the order is kept, a duplicate and a number that is none
 * end the list, blanks do not matter. Cards that are not named are hidden, not missing. */
static void the_list_is_cudas_own(void **state)
{
	static const struct {
		const char *list;
		int cuda_index[4]; /* of each card; -1: hidden */
	} rows[] = {
		{"1,0", {1, 0, -1, -1}}, {"0,0", {0, -1, -1, -1}},   {"0,-1,1", {0, -1, -1, -1}},
		{" 2", {-1, -1, 0, -1}}, {"3,9,1", {-1, -1, -1, 0}},
	};
	static const char *const cards[] = {CARD0, CARD1, CARD2, CARD3};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct seen *s = look_at((struct look){.visible = rows[i].list});

		assert_true(value_of(s, "node_cards_agree", NULL) == 1);
		for (int k = 0; k < 4; k++) {
			if (rows[i].cuda_index[k] < 0) {
				expect_not(s, "card_sm_count", cards[k], OUTCOME_NOT_MEASURED,
				           "card_hidden");
				continue;
			}
			assert_string_equal(
				param_of(s, reading_of(s, "card_sm_count", cards[k]), "cuda_index"),
				tmpf("%d", rows[i].cuda_index[k]));
		}
		look_away(s);
	}
}

/* A card was drained: minors are 0, 2 and 3 and numbers 0, 1 and 2. Names and addresses
 * stay what they were. */
static void numbers_shift_and_names_do_not(void **state)
{
	struct seen *well = look_at((struct look){0});
	struct seen *s = look_at((struct look){.faults = "{\"kind\":\"missing\",\"card\":1}"});
	const struct reading *r = reading_of(s, "card_name", CARD2);

	(void)state;
	assert_string_equal(r->subject.id, reading_of(well, "card_name", CARD2)->subject.id);
	assert_string_equal(param_of(s, r, "nvml_index"), "1");
	assert_string_equal(param_of(s, r, "minor_number"), "2");
	assert_string_equal(param_of(s, reading_of(s, "card_sm_count", CARD2), "cuda_index"), "1");
	look_away(well);
	look_away(s);
}

/* A host reloads its services and a container loses the devices in the midst of a run:
 * NVML answers "unknown error" from then on. That is the container, and not a card. */
static void a_container_that_lost_its_devices_blames_no_card(void **state)
{
	static const char *const calls[] = {
		"nvmlDeviceGetTotalEccErrors",
		"nvmlDeviceGetRemappedRows",
		"nvmlDeviceGetEnforcedPowerLimit",
		"nvmlDeviceGetFieldValues",
		"nvmlDeviceGetMigMode",
		"nvmlDeviceGetVirtualizationMode",
		"nvmlDeviceGetNvLinkState",
		"nvmlDeviceGetCurrPcieLinkWidth",
	};
	struct str faults = {0};
	struct seen *s;
	int unknown = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		for (int card = 2; card < 4; card++)
			str_addf(&faults,
			         "%s{\"kind\":\"error\",\"card\":%d,\"call\":\"%s\",\"code\":999,"
			         "\"every\":1}",
			         faults.len ? "," : "", card, calls[i]);
	s = look_at((struct look){.faults = faults.data});
	str_release(&faults);
	for (int64_t i = 0; i < s->run.n_readings; i++) {
		const struct reading *r = &s->run.readings[i];

		assert_int_not_equal(r->outcome, OUTCOME_FAILED);
		unknown += r->reason.code && strcmp(r->reason.code, "nvml_unknown") == 0;
	}
	assert_true(unknown >= 2 * 8);
	assert_non_null(
		strstr(reading_of(s, "card_pcie_width", CARD2)->reason.text, "start it afresh"));
	assert_true(value_of(s, "card_pcie_width", CARD1) == 16);
	judge(s, "a100-sxm4-80gb", 4);
	assert_string_equal(verdict_of(s, "ecc-clean", CARD3), "not_measured");
	assert_int_equal(failed_findings(s), 0);
	look_away(s);
	/* It goes while the list of cards is read. */
	s = look_at((struct look){
		.faults = "{\"kind\":\"error\",\"call\":\"nvmlDeviceGetHandleByIndex\","
			  "\"code\":999,\"after\":2,\"every\":1},"
			  "{\"kind\":\"error\",\"call\":\"nvmlDeviceGetHandleByPciBusId\","
			  "\"code\":999,\"every\":1}"});
	expect_not(s, "card_name", CARD3, OUTCOME_NOT_MEASURED, "nvml_unknown");
	assert_string_equal(text_of(s, "card_name", CARD1), "NVIDIA A100-SXM4-80GB");
	judge(s, "a100-sxm4-80gb", 4);
	assert_int_equal(failed_findings(s), 0);
	look_away(s);
}

/* --- links -------------------------------------------------------------------------------- */

/* Links 3 and 5 of six are inactive while the others show 25.781 GB/s: the card fails,
 * its links are named, and its rate is that of four, not a mean of those that are up. */
static void inactive_links_are_named(void **state)
{
	static const char profile[] = "{\"v\":1,\"name\":\"mine\",\"title\":\"t\",\"extends\":"
				      "\"thousand-card\",\"card\":\"v100-sxm2-32gb\"}";
	struct seen *s = look_at((struct look){
		.cards = "{\"model\":\"v100-sxm2-32gb\"},{\"model\":\"v100-sxm2-32gb\"}",
		.faults = "{\"kind\":\"nvlink_down\",\"card\":1,\"link\":3},"
			  "{\"kind\":\"nvlink_down\",\"card\":1,\"link\":5}"});
	const struct reading *r = reading_of(s, "nvlink_links_active", CARD1);
	const char *each = param_of(s, r, "each");

	(void)state;
	assert_true(r->value == 4);
	assert_string_equal(param_of(s, r, "links"), "6");
	assert_non_null(strstr(each, "{\"link\":3,\"state\":\"down\"}"));
	assert_non_null(strstr(each, "{\"link\":5,\"state\":\"down\"}"));
	assert_non_null(strstr(each, "{\"link\":4,\"state\":\"up\""));
	assert_true(value_of(s, "nvlink_rate_gbs", CARD1) == 100);
	assert_true(value_of(s, "nvlink_rate_gbs", CARD0) == 150);
	kit_put(s, "/mine.json", profile);
	judge(s, tmpf("%s/tree/mine.json", s->root), 2);
	expect_finding(s, "nvlink-links", CARD1, "fail");
	look_away(s);
}

/* Every link of an SXM card is down, or its driver says it knows no links: both fail by
 * what the card is. A card that is built without links does not. */
static void cards_without_links_are_told_from_cards_that_lost_them(void **state)
{
	struct seen *s = look_at((struct look){.cards = "{\"model\":\"h100-sxm5-80gb\"}",
	                                       .more = "\"count\":2,",
	                                       .faults = "{\"kind\":\"nvlink_down\",\"card\":1}"});

	(void)state;
	assert_true(value_of(s, "nvlink_links_active", CARD1) == 0);
	assert_true(value_of(s, "nvlink_links_active", CARD0) == 18);
	expect_not(s, "nvlink_version", CARD1, OUTCOME_FAILED, "nvlink_all_down");
	judge(s, "h100-sxm5-80gb", 2);
	expect_finding(s, "nvlink-links", CARD1, "fail");
	look_away(s);

	s = look_at((struct look){.cards = "{\"model\":\"h100-sxm5-80gb\"}",
	                          .more = "\"count\":2,",
	                          .faults = ERROR(1, "nvmlDeviceGetNvLinkState", 3)});
	expect_not(s, "nvlink_links_active", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	judge(s, "h100-sxm5-80gb", 2);
	expect_finding(s, "nvlink-version", CARD1, "fail");
	look_away(s);

	s = look_at((struct look){.cards = "{\"model\":\"l40s\"}", .more = "\"count\":2,"});
	expect_not(s, "nvlink_links_active", CARD1, OUTCOME_UNSUPPORTED, "nvml_unsupported");
	judge(s, "l40s", 2);
	assert_int_equal(failed_findings(s), 0);
	look_away(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_is_not_told_costs_the_clock),
		cmocka_unit_test(a_slice_in_a_pod_is_a_slice),
		cmocka_unit_test(a_deprecated_question_is_not_measured),
		cmocka_unit_test(silence_about_remapped_rows),
		cmocka_unit_test(large_counts_are_not_negative),
		cmocka_unit_test(the_fastest_card_is_not_the_first),
		cmocka_unit_test(the_list_is_cudas_own),
		cmocka_unit_test(numbers_shift_and_names_do_not),
		cmocka_unit_test(a_container_that_lost_its_devices_blames_no_card),
		cmocka_unit_test(inactive_links_are_named),
		cmocka_unit_test(cards_without_links_are_told_from_cards_that_lost_them),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
