/* From outcomes to verdicts and from verdicts to the one word, with every way
 * in which something that was not shown to be good might have passed. */
#include "score_kit.h"

#define SPEED                                                                                      \
	"{\"id\":\"speed\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"       \
	"s\",\"min\":100}"
#define NODE_OK                                                                                    \
	"{\"id\":\"ok\",\"criterion\":\"2\",\"metric\":\"node_ok\",\"unit\":\"1\",\"equals\":1}"
#define PATH_OK                                                                                    \
	"{\"id\":\"iops\",\"criterion\":\"1\",\"metric\":\"path_iops\",\"unit\":\"IOPS\",\"min\":" \
	"100}"

/* One node with one good card. */
static struct kit *good_run(void)
{
	struct kit *k = kit_run(1, 1);

	kit_number(k, "n1", "GPU-1", "card_tflops", 100);
	kit_number(k, "n1", "n1", "node_ok", 1);
	return k;
}

static void accept(void **state)
{
	struct kit *k = good_run();

	(void)state;
	kit_score(k, kit_profile("", SPEED "," NODE_OK));
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.rules, 2);
	assert_int_equal(k->card.rules_judged, 2);
	assert_int_equal(k->card.n_criteria, 2);
	assert_int_equal(k->card.criteria[0].verdict, VERDICT_PASS);
	assert_int_equal(k->card.criteria[0].coverage.due, 1);
	assert_int_equal(k->card.criteria[0].coverage.tested, 1);
	assert_int_equal(k->card.n_culprits, 0);
	assert_true(k->card.seconds == 600);
	assert_null(kit_finding(k, "speed", NULL)->advice);
	assert_string_equal(kit_rule(k, "speed")->rule->limit, ">= 100 TFLOP/s");
	kit_free(k);
}

static void reject_names_the_culprit(void **state)
{
	struct kit *k = kit_run(1, 3);
	const struct finding *f;

	(void)state;
	kit_number(k, "n1", "GPU-1", "card_tflops", 120);
	kit_number(k, "n1", "GPU-2", "card_tflops", 99)->subject.pci = "0000:17:00.0";
	kit_number(k, "n1", "GPU-3", "card_tflops", 50);
	kit_score(k, kit_profile("", SPEED));
	assert_overall(k, "REJECT");
	assert_int_equal(k->card.n_culprits, 2);
	f = k->card.culprits[0];
	assert_string_equal(f->subject.id, "GPU-3"); /* farthest from the limit */
	assert_string_equal(k->card.culprits[1]->subject.pci, "0000:17:00.0");
	assert_string_equal(f->node, "n1");
	assert_true(f->value == 50 && f->limit == 100);
	assert_ptr_equal(f->evidence, &k->readings[2]);
	assert_non_null(strstr(f->advice, "power limit"));
	/* Fails first. */
	assert_string_equal(k->card.findings[2].subject.id, "GPU-1");
	kit_free(k);
}

static void check_outcome(const char *metric, const char *rule, const char *extra,
                          enum outcome outcome, const char *verdict, const char *overall)
{
	struct kit *k = kit_run(1, 1);
	static const char *const storage[] = {"/data"};
	bool path = strcmp(metric, "path_iops") == 0;
	const struct metric *m = metric_find(&kit_metrics, metric, NULL);

	k->run.info.storage = storage;
	k->run.info.n_storage = 1;
	kit_outcome(k, "n1", path ? "/data" : "x", metric, outcome);
	kit_score(k, kit_profile("", tmpf("{\"id\":\"%s\",\"criterion\":\"1\",\"metric\":\"%s\",%s"
	                                  "\"unit\":\"%s\",\"min\":1}",
	                                  rule, metric, extra, m->unit)));
	assert_string_equal(verdict_name(kit_finding(k, rule, NULL)->verdict), verdict);
	assert_overall(k, overall);
	kit_free(k);
}

static void outcomes(void **state)
{
	static const char *const fail_kinds[] = {"card_tflops", "node_ok", "link_gbs", "path_iops",
	                                         "cluster_share"};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		check_outcome(fail_kinds[i], "r", "", OUTCOME_FAILED, "fail", "REJECT");
		check_outcome(fail_kinds[i], "r", "", OUTCOME_LOST, "fail", "REJECT");
		check_outcome(fail_kinds[i], "r", "", OUTCOME_TIMED_OUT, "fail", "REJECT");
		check_outcome(fail_kinds[i], "r", "", OUTCOME_NOT_MEASURED, "not_measured",
		              "INCOMPLETE");
		/* Nothing else was judged, so nothing is proved. */
		check_outcome(fail_kinds[i], "r", "", OUTCOME_UNSUPPORTED, "not_applicable",
		              "INCOMPLETE");
		check_outcome(fail_kinds[i], "r", "\"must_exist\":true,", OUTCOME_UNSUPPORTED,
		              "fail", "REJECT");
	}
	check_outcome("env_runs", "r", "", OUTCOME_TIMED_OUT, "not_measured", "INCOMPLETE");
	check_outcome("env_runs", "r", "", OUTCOME_FAILED, "fail", "REJECT");
	check_outcome("card_tflops", "r", "\"required\":false,", OUTCOME_FAILED, "fail",
	              "INCOMPLETE");
}

static void reasons_travel(void **state)
{
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_outcome(k, "n1", "GPU-1", "card_tflops", OUTCOME_NOT_MEASURED)->reason.code =
		"too_short";
	kit_outcome(k, "n1", "n1", "node_ok", OUTCOME_NOT_MEASURED)->reason.code = "too_few";
	kit_score(k, kit_profile("", SPEED "," NODE_OK));
	assert_verdict(k, "speed", "too_short");
	assert_verdict(k, "ok", "too_few");
	assert_overall(k, "INCOMPLETE");
	assert_int_equal(k->card.rules_judged, 0);
	kit_free(k);
}

static void not_applicable_leaves_the_denominator(void **state)
{
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_outcome(k, "n1", "GPU-1", "card_tflops", OUTCOME_UNSUPPORTED);
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_score(k, kit_profile("", SPEED "," NODE_OK));
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.criteria[0].verdict, VERDICT_NOT_APPLICABLE);
	assert_int_equal(k->card.criteria[0].coverage.due, 0);
	assert_int_equal(k->card.rules, 1);
	kit_free(k);
}

/* --- statements ------------------------------------------------------------------- */

static void statements_are_stated_only(void **state)
{
	static const enum origin origins[] = {ORIGIN_IMPORTED, ORIGIN_DECLARED};
	static const double values[] = {1e6, 0};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct kit *k = kit_run(1, 1);

		kit_number(k, "n1", "GPU-1", "card_tflops", values[i / 2])->origin = origins[i % 2];
		kit_score(k, kit_profile("", SPEED));
		assert_verdict(k, "speed", "stated_only");
		assert_reason(k, "speed", i % 2 ? "stated_declared" : "stated_import");
		assert_true(kit_finding(k, "speed", NULL)->has_value);
		assert_overall(k, "INCOMPLETE");
		assert_int_equal(k->card.imported, i % 2 == 0);
		kit_free(k);
	}
}

static void somebody_elses_unsupported_excuses_nothing(void **state)
{
	struct kit *k = good_run();

	(void)state;
	k->run.n_readings = 0;
	kit_outcome(k, "n1", "GPU-1", "card_tflops", OUTCOME_UNSUPPORTED)->origin = ORIGIN_IMPORTED;
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_score(k, kit_profile("", SPEED "," NODE_OK));
	assert_verdict(k, "speed", "stated_only");
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

static void simulated_never_accepts(void **state)
{
	struct kit *k = good_run();

	(void)state;
	k->readings[0].origin = ORIGIN_SIMULATED;
	kit_score(k, kit_profile("", SPEED "," NODE_OK));
	assert_true(k->card.simulated);
	assert_overall(k, "INCOMPLETE");
	assert_int_equal(k->card.overall_if_measured, OVERALL_ACCEPT);
	kit_free(k);
	k = good_run();
	k->readings[0].origin = ORIGIN_SIMULATED;
	k->readings[0].value = 1;
	kit_score(k, kit_profile("", SPEED));
	assert_overall(k, "REJECT");
	assert_int_equal(k->card.overall_if_measured, OVERALL_REJECT);
	kit_free(k);
}

/* --- what keeps ACCEPT away although all passed ----------------------------------- */

static void screens_guesses_and_alterations(void **state)
{
	struct kit *k = good_run();

	(void)state;
	k->run.info.budget = "quick";
	kit_score(k, kit_profile("", SPEED));
	assert_true(k->card.screen_only);
	assert_overall(k, "INCOMPLETE");
	kit_free(k);

	k = good_run();
	kit_score_with(k, kit_profile("", SPEED), (struct score_options){.guessed = true});
	assert_overall(k, "INCOMPLETE");
	kit_free(k);

	k = good_run();
	k->run.state = JOURNAL_ALTERED;
	k->run.trouble = "line 3";
	kit_score(k, kit_profile("", SPEED));
	assert_string_equal(k->card.altered, "line 3");
	assert_overall(k, "INCOMPLETE");
	kit_free(k);

	k = good_run();
	k->run.state = JOURNAL_CUT;
	kit_score(k, kit_profile("", SPEED));
	assert_true(k->card.cut);
	assert_overall(k, "ACCEPT");
	kit_free(k);
}

static void quick_still_rejects(void **state)
{
	struct kit *k = good_run();

	(void)state;
	k->run.info.budget = "quick";
	k->readings[0].value = 1;
	kit_score(k, kit_profile("", SPEED));
	assert_overall(k, "REJECT");
	kit_free(k);
}

static void unreadable_runs_are_refused(void **state)
{
	struct kit *k = good_run();
	struct error err = {0};
	struct score_options options = {0};

	(void)state;
	k->profile = kit_profile("", SPEED);
	k->run.state = JOURNAL_UNREADABLE;
	assert_int_equal(
		score_run(&k->card, &k->arena, &k->run, k->profile, &kit_metrics, &options, &err),
		ST_CORRUPT);
	error_release(&err);
	k->run.state = JOURNAL_INTACT;
	k->run.info.expected_nodes = 0;
	assert_int_equal(
		score_run(&k->card, &k->arena, &k->run, k->profile, &kit_metrics, &options, &err),
		ST_RANGE);
	error_release(&err);
	kit_free(k);
}

static void nothing_read_is_not_good(void **state)
{
	struct kit *k = kit_run(1, -1);

	(void)state;
	kit_score(k, kit_profile("", SPEED "," NODE_OK "," PATH_OK));
	assert_overall(k, "INCOMPLETE");
	assert_verdict(k, "speed", "not_measured");
	assert_verdict(k, "ok", "not_measured");
	assert_reason(k, "ok", "no_reading");
	assert_reason(k, "iops", "no_storage_named");
	assert_int_equal(k->card.rules_judged, 0);
	kit_free(k);
}

static void broken_figures_do_not_pass(void **state)
{
	struct kit *k = kit_run(1, 1);
	struct reading *r = kit_number(k, "n1", "GPU-1", "card_tflops", NAN);

	(void)state;
	kit_score(k, kit_profile("", SPEED));
	assert_verdict(k, "speed", "not_measured");
	assert_reason(k, "speed", "value_missing");
	assert_overall(k, "INCOMPLETE");
	kit_free(k);

	k = kit_run(1, 1);
	kit_number(k, "n1", "GPU-1", "card_tflops", INFINITY);
	kit_score(k, kit_profile("", SPEED));
	assert_verdict(k, "speed", "not_measured");
	kit_free(k);

	k = kit_run(1, 1); /* no value at all */
	kit_add(k, "n1", "GPU-1", "card_tflops");
	kit_score(k, kit_profile("", SPEED));
	assert_verdict(k, "speed", "not_measured");
	kit_free(k);

	k = kit_run(1, 1); /* words instead of a number */
	kit_text(k, "n1", "GPU-1", "card_tflops", "1000");
	kit_score(k, kit_profile("", SPEED));
	assert_verdict(k, "speed", "not_measured");
	kit_free(k);

	k = kit_run(1, 1);
	r = kit_number(k, "n1", "GPU-1", "card_tflops", 120000);
	r->unit = "GFLOP/s";
	kit_score(k, kit_profile("", SPEED));
	assert_reason(k, "speed", "reading_unit");
	kit_free(k);

	k = kit_run(1, 1); /* about the wrong kind of subject */
	kit_number(k, "n1", "n1", "card_tflops", 120)->subject.kind = SUBJECT_NODE;
	kit_score(k, kit_profile("", SPEED));
	assert_verdict(k, "speed", "not_measured");
	kit_free(k);

	k = kit_run(1, 1); /* a measured reading about everybody is about nobody */
	kit_number(k, "n1", "*", "card_tflops", 120);
	kit_score(k, kit_profile("", SPEED));
	assert_reason(k, "speed", "star_measured");
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

/* --- stages, literal rules, recovery ---------------------------------------------- */

#define PERIOD                                                                                     \
	"{\"id\":\"later\",\"criterion\":\"2\",\"stage\":\"period\",\"metric\":\"node_seconds\","  \
	"\"unit\":\"s\",\"max\":5}"

static void period_rules_stand_apart(void **state)
{
	struct kit *k = good_run();

	(void)state;
	kit_number(k, "n1", "n1", "node_seconds", 9);
	kit_score(k, kit_profile("", SPEED "," NODE_OK "," PERIOD));
	assert_overall(k, "ACCEPT");
	assert_true(k->card.criteria[1].has_period);
	assert_int_equal(k->card.criteria[1].verdict, VERDICT_PASS);
	assert_int_equal(k->card.criteria[1].period_verdict, VERDICT_FAIL);
	assert_int_equal(k->card.criteria[1].period_coverage.due, 1);
	kit_free(k);

	k = good_run();
	kit_number(k, "n1", "n1", "node_seconds", 9);
	kit_score_with(k, kit_profile("", SPEED "," PERIOD),
	               (struct score_options){.stage = RULE_PERIOD});
	assert_overall(k, "REJECT");
	assert_int_equal(k->card.n_culprits, 1);
	kit_free(k);
}

static void literal_never_decides(void **state)
{
	static const char literal[] =
		"{\"id\":\"guide\",\"criterion\":\"1\",\"reading\":\"literal\",\"twin\":\"speed\","
		"%s\"metric\":\"card_tflops\",\"unit\":\"TFLOP/s\",\"min\":312}";
	struct str rules = {0};
	struct kit *k = good_run();

	(void)state;
	str_addf(&rules, "%s,", SPEED);
	str_addf(&rules, literal, "");
	kit_score(k, kit_profile("", rules.data));
	assert_verdict(k, "guide", "fail");
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.criteria[0].verdict, VERDICT_PASS);
	assert_int_equal(k->card.criteria[0].coverage.due, 1);
	assert_int_equal(k->card.n_culprits, 0);
	assert_string_equal(kit_rule(k, "guide")->rule->twin, "speed");
	kit_free(k);

	/* Unless the customer makes it required. */
	k = good_run();
	str_clear(&rules);
	str_addf(&rules, "%s,", SPEED);
	str_addf(&rules, literal, "\"required\":true,");
	kit_score(k, kit_profile("", rules.data));
	assert_overall(k, "REJECT");
	kit_free(k);
	str_release(&rules);
}

static void recovered_warns(void **state)
{
	struct kit *k = kit_run(1, 1);
	struct reading *r;

	(void)state;
	kit_outcome(k, "n1", "GPU-1", "card_tflops", OUTCOME_LOST);
	r = kit_number(k, "n1", "GPU-1", "card_tflops", 120);
	r->attempt = 2;
	kit_score(k, kit_profile("", SPEED));
	assert_verdict(k, "speed", "warn");
	assert_reason(k, "speed", "recovered");
	assert_true(kit_finding(k, "speed", NULL)->recovered);
	assert_int_equal(kit_finding(k, "speed", NULL)->attempt, 2);
	assert_overall(k, "ACCEPT");
	kit_free(k);
}

static void unjudged_readings_are_information(void **state)
{
	struct kit *k = good_run();

	(void)state;
	kit_number(k, "n1", "cpu-socket-0", "cpu_tflops", 1);
	kit_number(k, "n1", "n1", "node_seconds", 1);
	kit_number(k, "n1", "/tmp", "path_iops", 1); /* not named by --storage */
	kit_score(k, kit_profile("", SPEED "," NODE_OK "," PATH_OK));
	assert_int_equal(k->card.n_information, 3);
	assert_string_equal(k->card.information[0]->metric, "cpu_tflops");
	assert_string_equal(k->card.information[2]->metric, "path_iops");
	assert_verdict(k, "iops", "not_measured");
	kit_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept),
		cmocka_unit_test(reject_names_the_culprit),
		cmocka_unit_test(outcomes),
		cmocka_unit_test(reasons_travel),
		cmocka_unit_test(not_applicable_leaves_the_denominator),
		cmocka_unit_test(statements_are_stated_only),
		cmocka_unit_test(somebody_elses_unsupported_excuses_nothing),
		cmocka_unit_test(simulated_never_accepts),
		cmocka_unit_test(screens_guesses_and_alterations),
		cmocka_unit_test(quick_still_rejects),
		cmocka_unit_test(unreadable_runs_are_refused),
		cmocka_unit_test(nothing_read_is_not_good),
		cmocka_unit_test(broken_figures_do_not_pass),
		cmocka_unit_test(period_rules_stand_apart),
		cmocka_unit_test(literal_never_decides),
		cmocka_unit_test(recovered_warns),
		cmocka_unit_test(unjudged_readings_are_information),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
