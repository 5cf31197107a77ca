/* What is owed never shrinks by what was left out, and everything owed is
 * counted exactly once. */
#include "score_kit.h"

#define SPEED                                                                                      \
	"{\"id\":\"speed\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"       \
	"s\",%s\"min\":100}"
#define NODE_OK                                                                                    \
	"{\"id\":\"ok\",\"criterion\":\"2\",\"metric\":\"node_ok\",\"unit\":\"1\",\"equals\":1}"
#define PAIRS                                                                                      \
	"{\"id\":\"pairs\",\"criterion\":\"1\",\"metric\":\"pair_gbps\",\"unit\":\"Gb/"            \
	"s\",%s\"min\":100}"

static struct profile *speed(const char *extra)
{
	return kit_profile("", tmpf(SPEED, extra));
}

static void cards(struct kit *k, const char *node, int from, int to, double value)
{
	for (int i = from; i < to; i++)
		kit_number(k, node, arena_strf(&k->arena, "%s-GPU-%d", node, i), "card_tflops",
		           value);
}

static void assert_covered(const struct kit *k, const char *rule, int64_t tested, int64_t due)
{
	assert_int_equal(kit_rule(k, rule)->coverage.tested, tested);
	assert_int_equal(kit_rule(k, rule)->coverage.due, due);
}

static void seven_of_eight(void **state)
{
	struct kit *k = kit_run(1, 8);
	const struct finding *f;

	(void)state;
	cards(k, "n1", 0, 7, 120);
	kit_score(k, speed(""));
	assert_overall(k, "INCOMPLETE");
	assert_covered(k, "speed", 7, 8);
	assert_true(kit_rule(k, "speed")->coverage_short);
	f = kit_finding(k, "speed", "*");
	assert_string_equal(f->reason.code, "cards_not_seen");
	assert_string_equal(f->reason.text, "1 of 8 expected cards were never seen on this node");
	assert_string_equal(f->node, "n1");
	assert_int_equal(f->subjects, 1);
	assert_int_equal(k->card.expected_cards, 8);
	assert_ptr_equal(k->card.culprits[0], f);
	kit_free(k);
}

static void a_seen_card_without_reading_is_named(void **state)
{
	struct kit *k = kit_run(1, 3);

	(void)state;
	cards(k, "n1", 0, 2, 120);
	kit_text(k, "n1", "n1-GPU-9", "card_name", "Good SXM4");
	kit_score(k, speed(""));
	assert_covered(k, "speed", 2, 3);
	assert_string_equal(kit_finding(k, "speed", "n1-GPU-9")->reason.code, "no_reading");
	assert_int_equal(kit_rule(k, "speed")->count[VERDICT_NOT_MEASURED], 1);
	kit_free(k);
}

static void one_more_card_is_judged_too(void **state)
{
	struct kit *k = kit_run(1, 2);

	(void)state;
	cards(k, "n1", 0, 2, 120);
	cards(k, "n1", 2, 3, 1);
	kit_score(k, speed(""));
	assert_covered(k, "speed", 3, 3);
	assert_overall(k, "REJECT");
	kit_free(k);
}

static void unstated_cards(void **state)
{
	struct kit *k = kit_run(2, -1);

	(void)state;
	cards(k, "n1", 0, 4, 120);
	kit_number(k, "n2", "n2", "node_ok", 1);
	kit_score(k, speed(""));
	assert_covered(k, "speed", 4, 5); /* four seen, and at least one on n2 */
	assert_int_equal(k->card.expected_cards, 4);
	kit_free(k);
}

static void sockets_are_no_cards(void **state)
{
	struct kit *k = kit_run(1, -1);

	(void)state;
	kit_number(k, "n1", "cpu-socket-0", "cpu_tflops", 1);
	kit_number(k, "n1", "cpu-socket-1", "cpu_tflops", 1);
	kit_score(k, speed(""));
	assert_covered(k, "speed", 0, 1);
	assert_int_equal(k->card.expected_cards, 0);
	kit_free(k);
}

static void silent_nodes(void **state)
{
	struct kit *k = kit_run(4, 2);
	const struct finding *f;

	(void)state;
	cards(k, "n1", 0, 2, 120);
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_score(k, kit_profile("", tmpf(SPEED "," NODE_OK, "")));
	assert_covered(k, "speed", 2, 8);
	assert_covered(k, "ok", 1, 4);
	f = kit_finding(k, "speed", "*");
	assert_string_equal(f->reason.code, "nodes_not_seen");
	assert_int_equal(f->subjects, 6);
	assert_int_equal(kit_rule(k, "speed")->count[VERDICT_NOT_MEASURED], 6);
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

static void only_leaves_everything_owed(void **state)
{
	static const char *const only[] = {"inventory"};
	struct kit *k = kit_run(1, 2);

	(void)state;
	k->run.info.only = only;
	k->run.info.n_only = 1;
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_text(k, "n1", "n1-GPU-0", "card_name", "Good SXM4");
	kit_text(k, "n1", "n1-GPU-1", "card_name", "Good SXM4");
	kit_score(k, kit_profile("", tmpf(SPEED "," NODE_OK, "")));
	assert_overall(k, "INCOMPLETE");
	assert_covered(k, "speed", 0, 2);
	assert_reason(k, "speed", "not_selected");
	assert_non_null(strstr(kit_finding(k, "speed", NULL)->advice, "--only"));
	assert_int_equal(k->card.rules, 2);
	assert_int_equal(k->card.rules_judged, 1);
	kit_free(k);
}

/* What was left out by choice has nothing to do with a card that others outlive. */
static void a_card_that_has_no_figure_was_not_left_out(void **state)
{
	static const char *const skip[] = {"storage"};
	struct kit *k = kit_run(1, 3);

	(void)state;
	k->run.info.skip = skip;
	k->run.info.n_skip = 1;
	cards(k, "n1", 0, 2, 120);
	kit_text(k, "n1", "n1-GPU-2", "card_name", "Good SXM4");
	kit_score(k, speed(""));
	assert_covered(k, "speed", 2, 3);
	assert_reason(k, "speed", "no_reading");
	kit_free(k);
}

static void planned_metrics(void **state)
{
	struct kit *k = kit_run(3, 8);

	(void)state;
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_score(k,
	          kit_profile("",
	                      "{\"id\":\"later\",\"criterion\":\"1\",\"metric\":\"later_seconds\","
	                      "\"unit\":\"s\",\"max\":1}"));
	assert_reason(k, "later", "no_probe_yet");
	assert_covered(k, "later", 0, 3);
	assert_int_equal(k->card.n_findings, 1);
	assert_int_equal(k->card.findings[0].subjects, 3);
	kit_free(k);
}

/* --- one reason for all ----------------------------------------------------------- */

static void star_gives_the_reason(void **state)
{
	struct kit *k = kit_run(1, 8);
	const struct finding *f;

	(void)state;
	kit_outcome(k, "n1", "*", "card_tflops", OUTCOME_NOT_MEASURED)->reason.text = "no driver";
	kit_text(k, "n1", "GPU-0", "card_name", "Good SXM4");
	kit_text(k, "n1", "GPU-1", "card_name", "Good SXM4");
	kit_score(k, speed(""));
	f = kit_finding(k, "speed", "*");
	assert_string_equal(f->reason.text, "no driver");
	assert_covered(k, "speed", 0, 8);
	assert_int_equal(k->card.n_findings, 2); /* two seen, six never seen */
	kit_free(k);
}

static void star_failure_fails_all(void **state)
{
	struct kit *k = kit_run(1, 8);

	(void)state;
	kit_outcome(k, "n1", "*", "card_tflops", OUTCOME_LOST);
	kit_score(k, speed(""));
	assert_overall(k, "REJECT");
	assert_int_equal(kit_rule(k, "speed")->count[VERDICT_FAIL], 8);
	kit_free(k);
}

static void star_unsupported_excuses_only_seen_cards(void **state)
{
	struct kit *k = kit_run(1, 2);

	(void)state;
	kit_outcome(k, "n1", "*", "card_tflops", OUTCOME_UNSUPPORTED);
	kit_score(k, speed(""));
	assert_covered(k, "speed", 0, 2);
	assert_verdict(k, "speed", "not_measured");
	kit_free(k);

	k = kit_run(1, 2);
	kit_outcome(k, "n1", "*", "card_tflops", OUTCOME_UNSUPPORTED);
	kit_text(k, "n1", "GPU-0", "card_name", "Good SXM4");
	kit_score(k, speed(""));
	assert_covered(k, "speed", 0, 1);
	assert_int_equal(kit_rule(k, "speed")->count[VERDICT_NOT_APPLICABLE], 1);
	kit_free(k);

	/* A machine that was never said to have cards, and has none. */
	k = kit_run(1, -1);
	kit_outcome(k, "n1", "*", "card_tflops", OUTCOME_UNSUPPORTED);
	kit_score(k, speed(""));
	assert_verdict(k, "speed", "not_measured");
	kit_free(k);
}

/* --- sampling --------------------------------------------------------------------- */

static struct kit *paired(int64_t nodes, int pairs)
{
	struct kit *k = kit_run(nodes, 0);

	for (int i = 0; i < pairs; i++)
		kit_number(k, "n0", arena_strf(&k->arena, "pair-%d", i), "pair_gbps", 200);
	return k;
}

static void pairs_are_owed_by_expected_nodes(void **state)
{
	struct kit *k = paired(5, 4);

	(void)state;
	kit_score(k, kit_profile("", tmpf(PAIRS, "")));
	assert_covered(k, "pairs", 4, 10);
	assert_overall(k, "INCOMPLETE");
	assert_int_equal(kit_finding(k, "pairs", "*")->subjects, 6);
	kit_free(k);
}

static void coverage_boundary(void **state)
{
	struct kit *k = paired(5, 4);

	(void)state;
	kit_score(k, kit_profile("", tmpf(PAIRS, "\"min_coverage\":0.4,")));
	assert_covered(k, "pairs", 4, 10);
	assert_false(kit_rule(k, "pairs")->coverage_short);
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.n_culprits, 0);
	kit_free(k);
	k = paired(5, 4);
	kit_score(k, kit_profile("", tmpf(PAIRS, "\"min_coverage\":0.41,")));
	assert_true(kit_rule(k, "pairs")->coverage_short);
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

static void no_coverage_asked_and_none_given(void **state)
{
	struct kit *k = paired(5, 0);

	(void)state;
	kit_number(k, "n0", "n0", "node_ok", 1);
	kit_score(k, kit_profile("", tmpf(PAIRS "," NODE_OK, "\"min_coverage\":0,")));
	assert_overall(k, "INCOMPLETE");
	assert_int_equal(kit_rule(k, "pairs")->verdict, VERDICT_NOT_MEASURED);
	kit_free(k);
}

static void one_node_owes_no_pair(void **state)
{
	struct kit *k = paired(1, 0);

	(void)state;
	kit_score(k, kit_profile("", tmpf(PAIRS, "")));
	assert_verdict(k, "pairs", "not_applicable");
	assert_covered(k, "pairs", 0, 0);
	assert_overall(k, "INCOMPLETE"); /* nothing judged */
	assert_int_equal(k->card.criteria[0].verdict, VERDICT_NOT_APPLICABLE);
	assert_int_equal(k->card.criteria[1].verdict, VERDICT_NOT_APPLICABLE); /* no rules at all */
	kit_free(k);
}

static void paths_by_name(void **state)
{
	static const char *const storage[] = {"/data", "/scratch"};
	struct kit *k = kit_run(1, 0);

	(void)state;
	k->run.info.storage = storage;
	k->run.info.n_storage = 2;
	kit_number(k, "n1", "/data", "path_iops", 500);
	kit_number(k, "n1", "/tmp", "path_iops", 1);
	kit_score(k, kit_profile("", "{\"id\":\"iops\",\"criterion\":\"1\",\"metric\":\"path_"
	                             "iops\",\"unit\":\"IOPS\",\"min\":100}"));
	assert_covered(k, "iops", 1, 2);
	assert_string_equal(verdict_name(kit_finding(k, "iops", "/data")->verdict), "pass");
	assert_string_equal(verdict_name(kit_finding(k, "iops", "/scratch")->verdict),
	                    "not_measured");
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

/* Scopes that a missing subject could still lift do not fail early. */
static void partial_sums(void **state)
{
	static const char *const storage[] = {"/a", "/b"};

	(void)state;
	for (int missing = 0; missing < 2; missing++) {
		struct kit *k = kit_run(1, 0);

		k->run.info.storage = storage;
		k->run.info.n_storage = 2;
		kit_number(k, "n1", "/a", "path_iops", 400);
		if (!missing)
			kit_number(k, "n1", "/b", "path_iops", 500);
		kit_score(k,
		          kit_profile("",
		                      "{\"id\":\"iops\",\"criterion\":\"1\",\"metric\":\"path_"
		                      "iops\",\"unit\":\"IOPS\",\"scope\":\"sum\",\"min\":1000}"));
		assert_overall(k, missing ? "INCOMPLETE" : "REJECT");
		kit_free(k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seven_of_eight),
		cmocka_unit_test(a_seen_card_without_reading_is_named),
		cmocka_unit_test(one_more_card_is_judged_too),
		cmocka_unit_test(unstated_cards),
		cmocka_unit_test(sockets_are_no_cards),
		cmocka_unit_test(silent_nodes),
		cmocka_unit_test(only_leaves_everything_owed),
		cmocka_unit_test(a_card_that_has_no_figure_was_not_left_out),
		cmocka_unit_test(planned_metrics),
		cmocka_unit_test(star_gives_the_reason),
		cmocka_unit_test(star_failure_fails_all),
		cmocka_unit_test(star_unsupported_excuses_only_seen_cards),
		cmocka_unit_test(pairs_are_owed_by_expected_nodes),
		cmocka_unit_test(coverage_boundary),
		cmocka_unit_test(no_coverage_asked_and_none_given),
		cmocka_unit_test(one_node_owes_no_pair),
		cmocka_unit_test(paths_by_name),
		cmocka_unit_test(partial_sums),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
