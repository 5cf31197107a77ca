/* Waivers: what they excuse, that they hide nothing, and that they never reach farther
 * than their words. */
#include "score_kit.h"

#include "run/waivers.h"

#define SPEED                                                                                      \
	"{\"id\":\"speed\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"       \
	"s\",\"min\":100}"
#define WORST                                                                                      \
	"{\"id\":\"worst\",\"criterion\":\"1\",\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"       \
	"s\",\"min\":100,\"scope\":\"worst\"}"
#define NODE_OK                                                                                    \
	"{\"id\":\"ok\",\"criterion\":\"2\",\"metric\":\"node_ok\",\"unit\":\"1\",\"equals\":1}"

/* Two nodes of two cards; two of the cards are slow. */
static struct kit *slow_run(void)
{
	struct kit *k = kit_run(2, 2);

	kit_number(k, "n1", "GPU-1", "card_tflops", 120);
	kit_number(k, "n1", "GPU-2", "card_tflops", 90)->subject.index = 1;
	kit_number(k, "n2", "GPU-3", "card_tflops", 110);
	kit_number(k, "n2", "GPU-4", "card_tflops", 50);
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_number(k, "n2", "n2", "node_ok", 1);
	return k;
}

static void waive(struct kit *k, const char *rules, const struct waiver *list, int n)
{
	kit_score_with(k, kit_profile("", rules),
	               (struct score_options){.waivers = list, .n_waivers = n});
}

static void a_whole_rule_is_taken_and_still_told(void **state)
{
	const struct waiver w = {.rule = "speed", .reason = "replaced by May", .by = "J. Doe"};
	struct kit *k = slow_run();
	const struct rule_result *r;

	(void)state;
	waive(k, SPEED "," NODE_OK, &w, 1);
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.overall_unwaived, OVERALL_REJECT);
	assert_int_equal(k->card.waivers_used, 1);
	assert_int_equal(k->card.waivers[0].excused, 2);
	assert_int_equal(k->card.waivers[0].matched, 4);
	assert_string_equal(k->card.waivers[0].waiver.by, "J. Doe");
	r = kit_rule(k, "speed");
	assert_int_equal(r->verdict, VERDICT_PASS); /* of the two that are good */
	assert_int_equal(r->unwaived, VERDICT_FAIL);
	assert_int_equal(r->count[VERDICT_FAIL], 2);
	assert_int_equal(r->waived, 2);
	assert_int_equal(r->coverage.due, 4);
	assert_verdict(k, "speed", "fail");
	assert_non_null(kit_finding(k, "speed", "GPU-4")->waived);
	assert_null(kit_finding(k, "speed", "GPU-1")->waived);
	assert_true(kit_finding(k, "speed", "GPU-4")->value == 50);
	assert_int_equal(k->card.criteria[0].waived, 2);
	assert_int_equal(k->card.criteria[0].unwaived, VERDICT_FAIL);
	assert_int_equal(k->card.n_culprits, 0);
	kit_free(k);
}

/* Each by the words of a report; the other slow card still rejects. */
static void one_subject_does_not_excuse_another(void **state)
{
	static const char *const words[] = {"GPU-4", "n2", "n1 card 1"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		const struct waiver w = {.rule = "speed", .subject = words[i], .reason = "r"};
		struct kit *k = slow_run();

		waive(k, SPEED "," NODE_OK, &w, 1);
		assert_overall(k, "REJECT");
		assert_int_equal(k->card.waivers[0].excused, 1);
		assert_int_equal(k->card.n_culprits, 1);
		assert_string_equal(k->card.culprits[0]->subject.id, i == 2 ? "GPU-4" : "GPU-2");
		kit_free(k);
	}
}

static void two_waivers_accept_together(void **state)
{
	const struct waiver list[] = {{.rule = "speed", .subject = "GPU-4", .reason = "r"},
	                              {.rule = "speed", .subject = "GPU-2", .reason = "s"}};
	struct kit *k = slow_run();

	(void)state;
	waive(k, SPEED "," NODE_OK, list, 2);
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.waivers_used, 2);
	assert_ptr_equal(kit_finding(k, "speed", "GPU-2")->waived, &k->card.waivers[1]);
	kit_free(k);
}

static void what_is_good_needs_no_waiver(void **state)
{
	const struct waiver list[] = {{.rule = "ok", .reason = "r"},
	                              {.rule = "speed", .subject = "GPU-9", .reason = "r"},
	                              {.rule = "gone", .reason = "r"}};
	struct kit *k = slow_run();

	(void)state;
	waive(k, SPEED "," NODE_OK, list, 3);
	assert_overall(k, "REJECT");
	assert_int_equal(k->card.waivers_used, 0);
	assert_true(k->card.waivers[0].known && k->card.waivers[0].matched == 2);
	assert_int_equal(k->card.waivers[0].excused, 0);
	assert_true(k->card.waivers[1].known && k->card.waivers[1].matched == 0);
	assert_false(k->card.waivers[2].known);
	kit_free(k);
}

/* Of a figure made of many one subject cannot be taken out: the next may be as bad. */
static void a_figure_of_many_is_waived_whole_or_not(void **state)
{
	const struct waiver one = {.rule = "worst", .subject = "GPU-4", .reason = "r"};
	const struct waiver all = {.rule = "worst", .reason = "r"};
	struct kit *k = slow_run();

	(void)state;
	waive(k, WORST "," NODE_OK, &one, 1);
	assert_overall(k, "REJECT");
	assert_true(k->card.waivers[0].too_fine);
	assert_int_equal(k->card.waivers[0].excused, 0);
	kit_free(k);
	k = slow_run();
	waive(k, WORST "," NODE_OK, &all, 1);
	assert_overall(k, "ACCEPT");
	assert_int_equal(kit_rule(k, "worst")->verdict, VERDICT_NOT_APPLICABLE);
	assert_int_equal(kit_rule(k, "worst")->unwaived, VERDICT_FAIL);
	assert_int_equal(kit_rule(k, "worst")->coverage.tested, 4);
	kit_free(k);
}

static void what_was_not_tested_is_not_due(void **state)
{
	const struct waiver w = {.rule = "ok", .subject = "n2", .reason = "r"};
	struct kit *k = kit_run(2, 1);

	(void)state;
	kit_number(k, "n1", "GPU-1", "card_tflops", 120);
	kit_number(k, "n2", "GPU-2", "card_tflops", 120);
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_outcome(k, "n2", "n2", "node_ok", OUTCOME_NOT_MEASURED);
	waive(k, SPEED "," NODE_OK, &w, 1);
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.overall_unwaived, OVERALL_INCOMPLETE);
	assert_int_equal(kit_rule(k, "ok")->coverage.due, 1);
	assert_int_equal(kit_rule(k, "ok")->count[VERDICT_NOT_MEASURED], 1);
	kit_free(k);
}

/* With everything waived nothing was shown. */
static void nothing_left_is_no_acceptance(void **state)
{
	const struct waiver list[] = {{.rule = "speed", .reason = "r"},
	                              {.rule = "ok", .reason = "r"}};
	struct kit *k = kit_run(1, 1);

	(void)state;
	kit_outcome(k, "n1", "GPU-1", "card_tflops", OUTCOME_NOT_MEASURED);
	kit_outcome(k, "n1", "n1", "node_ok", OUTCOME_NOT_MEASURED);
	waive(k, SPEED "," NODE_OK, list, 2);
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

static void an_altered_record_is_not_mended(void **state)
{
	const struct waiver w = {.rule = "speed", .reason = "r"};
	struct kit *k = slow_run();

	(void)state;
	k->run.state = JOURNAL_ALTERED;
	k->run.trouble = "line 3";
	waive(k, SPEED "," NODE_OK, &w, 1);
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

static void slips_are_refused(void **state)
{
	static const struct {
		struct waiver list[2];
		const char *said;
	} rows[] = {{{{.rule = "sped", .reason = "r"}, {.rule = "ok", .reason = "r"}}, "speed"},
	            {{{.rule = "zzzzzzzz", .reason = "r"}, {.rule = "ok", .reason = "r"}}, "zzz"},
	            {{{.rule = "ok", .reason = "r"}, {.rule = "ok", .reason = "s"}}, "twice"}};
	struct profile *p = kit_profile("", SPEED "," NODE_OK);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct error err = {0};

		assert_int_equal(waivers_check(p, rows[i].list, 2, &err), ST_USAGE);
		assert_non_null(strstr(str_text(&err.text), rows[i].said));
		error_release(&err);
	}
	profile_free(p);
}

/* --- options and files ---------------------------------------------------------------- */

static void options_come_in_pairs(void **state)
{
	const char *const waive_[] = {"speed,n1, disk", "ok"}, *const why[] = {"a", "b", "c"};
	const char *const blank[] = {" ", "b"}, *const comma[] = {"speed,"};
	struct waiver_list list;
	struct arena arena = {0};
	struct error err = {0};

	(void)state;
	assert_int_equal(waivers_parse(&list, &arena, waive_, 2, why, 2, "me", &err), ST_OK);
	assert_string_equal(list.items[0].rule, "speed");
	assert_string_equal(list.items[0].subject, "n1, disk");
	assert_null(list.items[1].subject);
	assert_string_equal(list.items[1].by, "me");
	assert_int_equal(waivers_parse(&list, &arena, waive_, 2, why, 1, NULL, &err), ST_USAGE);
	assert_non_null(strstr(str_text(&err.text), "ok"));
	error_release(&err);
	assert_int_equal(waivers_parse(&list, &arena, waive_, 2, why, 3, NULL, &err), ST_USAGE);
	error_release(&err);
	assert_int_equal(waivers_parse(&list, &arena, waive_, 2, blank, 2, NULL, &err), ST_USAGE);
	error_release(&err);
	assert_int_equal(waivers_parse(&list, &arena, comma, 1, why, 1, NULL, &err), ST_USAGE);
	error_release(&err);
	assert_int_equal(waivers_parse(&list, &arena, waive_, 0, why, 0, "me", &err), ST_USAGE);
	error_release(&err);
	arena_release(&arena);
}

static void granted_ones_hold_for_their_record_only(void **state)
{
	struct rundir run = {.path = kit_dir, .digest = "abc"};
	struct waiver_list list = {0};
	struct arena arena = {0};
	struct error err = {0};

	(void)state;
	waivers_put(&list, &arena,
	            &(struct waiver){"speed", "n1", "why \"so\"", "me", "2026-12-02"});
	waivers_put(&list, &arena, &(struct waiver){.rule = "ok", .reason = "of the run"});
	assert_int_equal(waivers_save(&list, &run, &err), ST_OK);
	assert_int_equal(waivers_of_run(&list, &arena, &run, true, &err), ST_OK);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.items[0].reason, "why \"so\"");
	assert_string_equal(list.items[0].subject, "n1");
	assert_int_equal(waivers_of_run(&list, &arena, &run, false, &err), ST_OK);
	assert_int_equal(list.n, 0);
	run.digest = "abd";
	assert_int_equal(waivers_of_run(&list, &arena, &run, true, &err), ST_OK);
	assert_int_equal(list.n, 0);
	assert_int_equal(list.stale, 1);
	assert_int_equal(waivers_save(&list, &run, &err), ST_OK);
	assert_int_not_equal(access(tmpf("%s/waivers.json", kit_dir), F_OK), 0);
	arena_release(&arena);
}

static void bad_files_say_where(void **state)
{
	static const char *const texts[] = {
		"{",
		"[]",
		"{\"v\":2,\"waivers\":[]}",
		"{\"v\":1,\"run_digest\":\"abc\"}",
		"{\"v\":1,\"run_digest\":\"abc\",\"waivers\":[{\"rule\":\"a\",\"reason\":\"b\"}]}",
		"{\"v\":1,\"run_digest\":\"abc\",\"waivers\":[7]}"};
	struct rundir run = {.path = kit_dir, .digest = "abc"};
	struct arena arena = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct waiver_list list;
		struct error err = {0};

		kit_file("waivers.json", texts[i]);
		assert_int_equal(waivers_of_run(&list, &arena, &run, true, &err), ST_PARSE);
		assert_non_null(strstr(str_text(&err.text), "waivers.json"));
		error_release(&err);
	}
	unlink(tmpf("%s/waivers.json", kit_dir));
	arena_release(&arena);
}

/* --- the profile that is kept ------------------------------------------------------------ */

static void a_kept_profile_judges_alike(void **state)
{
	struct profile *p = kit_profile("\"expect\":{\"rdma\":true},", SPEED "," NODE_OK), *q;
	struct error err = {0};
	struct kit *k;

	(void)state;
	assert_int_equal(profile_load_kept(&q, "kept", profile_text(p), strlen(profile_text(p)),
	                                   CONFIG, &kit_metrics, &err),
	                 ST_OK);
	assert_string_equal(profile_sha256(p), profile_sha256(q));
	assert_string_equal(profile_text(p), profile_text(q));
	assert_string_equal(profile_name(q), "p");
	profile_free(p);
	k = slow_run();
	kit_score(k, q);
	assert_overall(k, "REJECT");
	kit_free(k);
	assert_int_equal(profile_load_kept(&q, "kept", "{}", 2, CONFIG, &kit_metrics, &err),
	                 ST_PARSE);
	error_release(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_rule_is_taken_and_still_told),
		cmocka_unit_test(one_subject_does_not_excuse_another),
		cmocka_unit_test(two_waivers_accept_together),
		cmocka_unit_test(what_is_good_needs_no_waiver),
		cmocka_unit_test(a_figure_of_many_is_waived_whole_or_not),
		cmocka_unit_test(what_was_not_tested_is_not_due),
		cmocka_unit_test(nothing_left_is_no_acceptance),
		cmocka_unit_test(an_altered_record_is_not_mended),
		cmocka_unit_test(slips_are_refused),
		cmocka_unit_test(options_come_in_pairs),
		cmocka_unit_test(granted_ones_hold_for_their_record_only),
		cmocka_unit_test(bad_files_say_where),
		cmocka_unit_test(a_kept_profile_judges_alike),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
