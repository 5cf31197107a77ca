/* What a card is rated at and how far that is trusted: rows with and without
 * sources, first principles, guesses, and the fleet beside it all. */
#include "score_kit.h"

#include "score/accel.h"

#define SPEED_H(h, sources)                                                                        \
	"{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":\"TFLOP/s\","       \
	"\"fraction_of\":{\"of\":\"fp16_tensor_tflops\",\"h\":" h ",\"sources\":[" sources "]}}"
#define TWO "\"a\",\"b\""
#define SMS                                                                                        \
	"{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"card_sm_count\",\"unit\":\"1\",\"card_"    \
	"row\":{\"column\":\"sm_count\"}}"

static struct csv table(void)
{
	struct csv csv;

	assert_int_equal(accel_load(&csv, CONFIG, NULL), ST_OK);
	return csv;
}

static void figures_and_trust(void **state)
{
	struct csv csv = table();
	struct figure f;
	const char *cell;
	int good = accel_row(&csv, "good-sxm4-80gb"), pcie = accel_row(&csv, "good-pcie-80gb"),
	    vague = accel_row(&csv, "vague");

	(void)state;
	f = accel_figure(&csv, good, "fp16_tensor_tflops");
	assert_int_equal(f.trust, TRUST_ROW);
	assert_true(f.value == 400);
	/* Tensor peaks take the tensor clock: 100 x 2000 MHz x 2000. */
	assert_true(fabs(f.principles - 400) < 1e-9);
	/* Others the other clock: 100 x 1000 MHz x 128. */
	assert_true(fabs(accel_figure(&csv, good, "fp32_tflops").principles - 12.8) < 1e-9);
	f = accel_figure(&csv, pcie, "fp32_tflops"); /* in unverified_fields */
	assert_int_equal(f.trust, TRUST_PRINCIPLES);
	f = accel_figure(&csv, vague, "fp16_tensor_tflops"); /* empty cell */
	assert_int_equal(f.trust, TRUST_PRINCIPLES);
	assert_true(fabs(f.value - 80) < 1e-9);
	assert_true(isnan(f.row));
	f = accel_figure(&csv, vague, "sm_count");
	assert_int_equal(f.trust, TRUST_UNVERIFIED);
	f = accel_figure(&csv, good, "fp8_tflops");
	assert_int_equal(f.trust, TRUST_NONE);
	assert_true(isnan(f.value)); /* never zero */
	assert_int_equal(accel_figure(&csv, -1, "sm_count").trust, TRUST_NONE);
	assert_true(accel_cell(&csv, good, "memory_type", &cell));
	assert_string_equal(cell, "HBM2");
	assert_false(accel_cell(&csv, vague, "sm_count", &cell));
	assert_false(accel_cell(&csv, pcie, "nvlink_links", &cell));
	csv_release(&csv);
}

static void forms(void **state)
{
	struct arena arena = {0};

	(void)state;
	assert_string_equal(accel_form("a100-sxm4-80gb", &arena), "sxm");
	assert_string_equal(accel_form("b200-sxm", &arena), "sxm");
	assert_string_equal(accel_form("a100-pcie-40gb", &arena), "pcie");
	assert_string_equal(accel_form("h100-nvl-94gb", &arena), "nvl");
	assert_string_equal(accel_form("rtx-4090", &arena), "");
	assert_string_equal(accel_form("x-sxmish", &arena), "");
	arena_release(&arena);
}

static void guesses(void **state)
{
	struct csv csv = table();

	(void)state;
	assert_int_equal(accel_guess(&csv, "Good SXM4"), accel_row(&csv, "good-sxm4-80gb"));
	assert_int_equal(accel_guess(&csv, "10DE:0003"), accel_row(&csv, "good-pcie-80gb"));
	assert_int_equal(accel_guess(&csv, "Good SXM4 renamed"), -1);
	assert_int_equal(accel_guess(&csv, ""), -1);
	csv_release(&csv);
}

/* --- achieved fraction ------------------------------------------------------------ */

static void assert_banded(const char *card, const char *rules, double value, const char *verdict,
                          const char *reason)
{
	struct kit *k = kit_run(1, 1);

	kit_number(k, "n1", "GPU-1", "card_tflops", value);
	kit_score(k, kit_profile(*card ? tmpf("\"card\":\"%s\",", card) : "", rules));
	assert_verdict(k, "r", verdict);
	if (reason)
		assert_reason(k, "r", reason);
	kit_free(k);
}

static void bands(void **state)
{
	(void)state;
	/* h = 0.8 of 400: fail below 272, warn below 294.4. */
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", TWO), 271.9, "fail", NULL);
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", TWO), 272.1, "warn", "near_limit");
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", TWO), 294.3, "warn", "near_limit");
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", TWO), 294.5, "pass", NULL);
	/* 20 % short of a healthy card fails. */
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", TWO), 320 * 0.8, "fail", NULL);
	/* One source fails what nothing but a fault explains, below 192; no source never does. */
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", "\"a\""), 191.9, "fail", NULL);
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", "\"a\""), 192.1, "warn", "few_sources");
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", "\"a\""), 271.9, "warn", "few_sources");
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", ""), 1, "warn", "few_sources");
	assert_banded("good-sxm4-80gb", SPEED_H("0.8", "\"a\""), 300, "pass", NULL);
	/* An unverified row: at best and at worst a warning. */
	assert_banded("vague", SPEED_H("0.8", TWO), 1, "warn", "identity_unproven");
	assert_banded("vague", SPEED_H("0.8", TWO), 80, "warn", "identity_unproven");
	/* No card at all: no figure. */
	assert_banded("", SPEED_H("0.8", TWO), 300, "not_measured", "limit_unknown");
}

static void limit_is_printed_in_figures(void **state)
{
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_number(k, "n1", "GPU-1", "card_tflops", 300);
	kit_score(k, kit_profile("\"card\":\"good-sxm4-80gb\",", SPEED_H("0.8", TWO)));
	assert_string_equal(k->card.rule_results[0].rule->limit,
	                    ">= 272 TFLOP/s (0.680 of fp16_tensor_tflops 400)");
	assert_null(k->card.rule_results[0].rule->note);
	assert_string_equal(k->card.card, "good-sxm4-80gb");
	assert_false(k->card.card_guessed);
	kit_free(k);
}

static void legs_that_disagree_are_noted(void **state)
{
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_number(k, "n1", "GPU-1", "card_tflops", 300);
	kit_score(k, kit_profile("\"card\":\"apart-sxm5\",", SPEED_H("0.8", TWO)));
	assert_string_equal(k->card.rule_results[0].rule->note,
	                    "fp16_tensor_tflops: 350 in the table, 400 from units x clock x rate");
	/* The table decides: 0.68 x 350. */
	assert_true(fabs(kit_finding(k, "r", NULL)->limit - 238) < 1e-9);
	kit_free(k);
}

/* --- identity --------------------------------------------------------------------- */

static void assert_sms(const char *card, double value, const char *verdict, const char *reason)
{
	struct kit *k = kit_run(1, 1);

	kit_text(k, "n1", "GPU-1", "card_name", "Good SXM4");
	kit_number(k, "n1", "GPU-1", "card_sm_count", value);
	kit_score(k, kit_profile(*card ? tmpf("\"card\":\"%s\",", card) : "", SMS));
	assert_verdict(k, "r", verdict);
	if (reason)
		assert_reason(k, "r", reason);
	kit_free(k);
}

static void identity_by_number(void **state)
{
	(void)state;
	assert_sms("good-sxm4-80gb", 100, "pass", NULL);
	assert_sms("good-sxm4-80gb", 99, "fail", NULL);
	assert_sms("vague", 80, "warn", "figure_unverified");
	assert_sms("vague", 1, "warn", "figure_unverified");
	assert_sms("", 100, "stated_only", "identity_stated");
	assert_sms("", 1, "stated_only", "identity_stated");
}

static void assert_identity(const char *metric, const char *unit, const char *column,
                            const char *text, const char *verdict)
{
	struct kit *k = kit_run(1, 1);

	kit_text(k, "n1", "GPU-1", metric, text);
	kit_score(k, kit_profile("\"card\":\"good-sxm4-80gb\",",
	                         tmpf("{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"%s\","
	                              "\"unit\":\"%s\",\"card_row\":{\"column\":\"%s\"}}",
	                              metric, unit, column)));
	assert_verdict(k, "r", verdict);
	kit_free(k);
}

static void identity_by_words(void **state)
{
	(void)state;
	assert_identity("card_name", "text", "nvml_name_patterns", "Good SXM4", "pass");
	assert_identity("card_name", "text", "nvml_name_patterns", "Good sxm", "pass");
	assert_identity("card_name", "text", "nvml_name_patterns", "Very Good SXM4", "fail");
	assert_identity("card_pci_device", "text", "pci_device_ids", "10de:0002", "pass");
	assert_identity("card_pci_device", "text", "pci_device_ids", "10DE:0001", "pass");
	assert_identity("card_pci_device", "text", "pci_device_ids", "10de:000", "fail");
	assert_identity("card_pci_device", "text", "pci_subsystem_ids", "10de:1463", "pass");
	assert_identity("card_name", "text", "memory_type", "HBM2", "pass");
	assert_identity("card_name", "text", "memory_type", "HBM3", "fail");
}

static void tolerance(void **state)
{
	static const struct {
		double value;
		const char *verdict;
	} rows[] = {{81920, "pass"}, {81920 * 0.9801, "pass"}, {81920 * 0.979, "fail"}};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct kit *k = kit_run(1, 1);

		kit_number(k, "n1", "GPU-1", "card_memory_mib", rows[i].value);
		kit_score(k, kit_profile("\"card\":\"good-sxm4-80gb\",",
		                         "{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"card_"
		                         "memory_mib\",\"unit\":\"MiB\","
		                         "\"card_row\":{\"column\":\"nvml_memory_total_mib\","
		                         "\"tolerance\":0.02}}"));
		assert_verdict(k, "r", rows[i].verdict);
		kit_free(k);
	}
}

static void a_guessed_card_proves_nothing(void **state)
{
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_text(k, "n1", "GPU-1", "card_name", "Good SXM4");
	kit_number(k, "n1", "GPU-1", "card_sm_count", 100);
	kit_number(k, "n1", "GPU-1", "card_tflops", 320);
	kit_score(
		k,
		kit_profile(
			"", SMS
			",{\"id\":\"f\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":"
			"\"TFLOP/s\","
			"\"fraction_of\":{\"of\":\"fp16_tensor_tflops\",\"h\":0.8,\"sources\":[" TWO
			"]}}"));
	assert_true(k->card.card_guessed);
	assert_string_equal(k->card.card, "good-sxm4-80gb");
	assert_overall(k, "INCOMPLETE");
	assert_verdict(k, "r", "stated_only");
	assert_verdict(k, "f", "warn");
	assert_reason(k, "f", "identity_unproven");
	kit_free(k);
}

/* What a card says of itself makes rules apply and excuses none. */
static void a_guess_excuses_nothing(void **state)
{
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_text(k, "n1", "GPU-1", "card_name", "Good SXM4");
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_score(k, kit_profile("", "{\"id\":\"sxm\",\"criterion\":\"1\",\"metric\":\"node_ok\","
	                             "\"unit\":\"1\",\"min\":1,\"when\":{\"form\":\"sxm\"}},"
	                             "{\"id\":\"pcie\",\"criterion\":\"1\",\"metric\":\"node_ok\","
	                             "\"unit\":\"1\",\"min\":1,\"when\":{\"form\":\"pcie\"}}"));
	assert_verdict(k, "sxm", "pass");
	assert_verdict(k, "pcie", "not_measured");
	assert_reason(k, "pcie", "when_unknown");
	kit_free(k);
}

/* --- fleet ------------------------------------------------------------------------ */

#define ABOVE                                                                                      \
	"{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"           \
	"s\",\"min\":%s}"

/* n cards around 300, the last one at `last`. */
static struct kit *fleet(int n, double last, const char *min)
{
	struct kit *k = kit_run(1, n);

	for (int i = 0; i < n; i++)
		kit_number(k, "n1", arena_strf(&k->arena, "GPU-%d", i), "card_tflops",
		           i == n - 1 ? last : 300 + i % 3 - 1);
	kit_score(k, kit_profile("", tmpf(ABOVE, min)));
	return k;
}

static void the_fleet_warns_and_never_fails(void **state)
{
	struct kit *k = fleet(8, 240, "200");

	(void)state;
	assert_string_equal(verdict_name(kit_finding(k, "r", "GPU-7")->verdict), "warn");
	assert_string_equal(kit_finding(k, "r", "GPU-7")->reason.code, "fleet_worse");
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_WARN], 1);
	assert_overall(k, "ACCEPT");
	kit_free(k);
	k = fleet(8, 297, "200"); /* inside the healthy spread of 1 % */
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_PASS], 8);
	kit_free(k);
	k = fleet(8, 400, "200"); /* better than the others */
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_PASS], 8);
	kit_free(k);
	k = fleet(7, 240, "200"); /* too few to compare */
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_PASS], 7);
	kit_free(k);
}

static void the_fleet_never_raises(void **state)
{
	struct kit *k = fleet(8, 240, "299");

	(void)state;
	assert_string_equal(verdict_name(kit_finding(k, "r", "GPU-7")->verdict), "fail");
	assert_null(kit_finding(k, "r", "GPU-7")->reason.code);
	kit_free(k);
	k = fleet(8, 400, "350"); /* all others below the limit: their fleet excuses none */
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_FAIL], 7);
	kit_free(k);
}

static void fleet_beside_the_expected_figure(void **state)
{
	struct kit *k = kit_run(1, 8);

	(void)state;
	for (int i = 0; i < 8; i++)
		kit_number(k, "n1", arena_strf(&k->arena, "GPU-%d", i), "card_tflops", 300);
	kit_score(k, kit_profile("\"card\":\"good-sxm4-80gb\",", SPEED_H("0.8", TWO)));
	assert_string_equal(k->card.rule_results[0].rule->note,
	                    "fleet median 300 TFLOP/s, expected of this card 320 TFLOP/s");
	kit_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_and_trust),
		cmocka_unit_test(forms),
		cmocka_unit_test(guesses),
		cmocka_unit_test(bands),
		cmocka_unit_test(limit_is_printed_in_figures),
		cmocka_unit_test(legs_that_disagree_are_noted),
		cmocka_unit_test(identity_by_number),
		cmocka_unit_test(identity_by_words),
		cmocka_unit_test(tolerance),
		cmocka_unit_test(a_guessed_card_proves_nothing),
		cmocka_unit_test(a_guess_excuses_nothing),
		cmocka_unit_test(the_fleet_warns_and_never_fails),
		cmocka_unit_test(the_fleet_never_raises),
		cmocka_unit_test(fleet_beside_the_expected_figure),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
