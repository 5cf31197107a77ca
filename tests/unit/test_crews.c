/* Who works with whom, as rank 0 leads it: nodes that are simulated here answer its
 * orders. Pairs come in rounds, suspects come again, and what breaks one child or one
 * node ends the unit for all of them, with every reading it owes. */
#include "tests/unit/crews_kit.h"

/* --- pairs come again ----------------------------------------------------------------- */

static void suspects_are_read_again(void **state)
{
	struct desk *d = desk_open(4);

	(void)state;
	suspect(d, 0, "n2", "n0", true); /* in any order */
	suspect(d, 0, "n2", "n0", true); /* and said twice */
	suspect(d, 0, "n1", "nowhere", true);
	suspect(d, 1, "n0", "n2", true);
	suspect(d, 1, "n1", "n3", false);
	assert_true(crews_open(&d->l, "pairs"));
	assert_int_equal(count(&d->said, "6 of 6 pairs, about"), 1);
	work_through(d);
	assert_int_equal(d->asked, 3);
	assert_int_equal(d->crews, 6 + 1 + 2);
	assert_int_equal(d->heard, 3 * d->crews);
	assert_int_equal(ordered(d, "n0|n2", 1), 1);
	assert_int_equal(ordered(d, "n0|n2", 2), 1);
	assert_int_equal(ordered(d, "n0|n2", 3), 1);
	assert_int_equal(ordered(d, "n1|n3", 2), 1);
	assert_int_equal(lines_of(d, "n2|n0", "pair_gbps", "measured"), 3);
	assert_int_equal(count(&d->said, "1 pairs are read again, pass 1 of at most 3: 1 slower"),
	                 1);
	assert_int_equal(count(&d->said, "2 pairs are read again, pass 2 of at most 3: 1 slower "
	                                 "than chance allows, 1 to tell"),
	                 1);
	desk_close(d);
}

static void what_is_read_again_is_bounded(void **state)
{
	struct desk *d = desk_open(16);

	(void)state;
	for (int pass = 0; pass <= AGAIN_PASSES; pass++)
		for (int a = 0; a < 16; a++)
			for (int b = a + 1; b < 16; b++)
				suspect(d, pass, name_of(a), name_of(b), true);
	assert_true(crews_open(&d->l, "pairs"));
	work_through(d);
	assert_int_equal(d->asked, AGAIN_PASSES);
	assert_true(d->crews <= 120 + AGAIN_PASSES * AGAIN_ROUNDS * 8);
	assert_true(d->crews > 120 + AGAIN_PASSES * AGAIN_ROUNDS * 4);
	/* The most suspicious come each time, and never more than PAIR_TIMES. */
	assert_int_equal(ordered(d, "n0|n1", PAIR_TIMES), 1);
	desk_close(d);
}

static void a_pair_that_was_not_met_is_read_first(void **state)
{
	struct desk *d = desk_open(32);
	int met = 0;

	(void)state;
	d->o.pairs = PAIRS_SAMPLE;
	assert_true(crews_open(&d->l, "pairs"));
	for (int b = 1; b < 32; b++)
		suspect(d, 0, "n0", name_of(b), false);
	work_through(d);
	for (int b = 1; b < 32; b++) {
		const char *id = tmpf("n0|%s", name_of(b));

		met += ordered(d, id, 1);
		assert_true(ordered(d, id, 2) <= ordered(d, id, 1));
	}
	/* Its sixteen partners, and those of four rounds that are new or come again. */
	assert_in_range(met, 17, 20);
	desk_close(d);
}

static void nothing_comes_again_without_a_judge_or_after_a_stop(void **state)
{
	struct desk *d = desk_open(4);

	(void)state;
	d->o.judge = NULL;
	assert_true(crews_open(&d->l, "pairs"));
	work_through(d);
	assert_int_equal(d->crews, 6);
	desk_close(d);
	d = desk_open(4);
	suspect(d, 0, "n0", "n1", true);
	assert_true(crews_open(&d->l, "pairs"));
	d->stop = SIGTERM;
	work_through(d);
	assert_int_equal(d->asked, 0);
	desk_close(d);
}

/* --- trouble -------------------------------------------------------------------------- */

static const struct sent *order_to(const struct desk *d, int rank)
{
	for (int i = d->n_sent - 1; i >= 0; i--)
		if (d->sent[i].kind == WIRE_CREW && d->sent[i].to == rank)
			return &d->sent[i];
	fail_msg("no order to %d", rank);
	return NULL;
}

static int cancelled(const struct desk *d, int rank)
{
	int n = 0;

	for (int i = 0; i < d->n_sent; i++)
		n += d->sent[i].kind == WIRE_CANCEL && d->sent[i].to == rank;
	return n;
}

static void a_lost_pair_owes_both_ways(void **state)
{
	struct desk *d = desk_open(2);
	const struct sent *first;

	(void)state;
	assert_true(crews_open(&d->l, "pairs"));
	assert_true(crews_step(&d->l));
	first = order_to(d, 0);
	member_lose(&d->l, &d->l.members[1], "silent");
	assert_int_equal(cancelled(d, 0), 1);
	assert_int_equal(lines_of(d, "n0|n1", "pair_gbps", "lost"), 1);
	assert_int_equal(lines_of(d, "n1|n0", "pair_gbps", "lost"), 1);
	assert_int_equal(lines_of(d, "n0|n1", "pair_us", "lost"), 1);
	assert_int_equal(lines_of(d, "n1|n0", "pair_us", "lost"), 0);
	assert_int_equal(count(&d->lines, "\"ends\":[{\"node\":\"n1\"},{\"node\":\"n0\"}]"), 1);
	/* What the other one still says of it is refused. */
	say_all(d, first->text);
	assert_int_equal(count(&d->lines, "\"outcome\":\"measured\""), 0);
	assert_int_equal(d->works.len, 0);
	node_over(d, 0, first->text);
	work_through(d);
	desk_close(d);
}

static void what_came_before_is_not_owed(void **state)
{
	struct desk *d = desk_open(2);
	struct json_doc doc;
	const struct sent *first;

	(void)state;
	assert_true(crews_open(&d->l, "pairs"));
	assert_true(crews_step(&d->l));
	first = order_to(d, 0);
	assert_int_equal(
		json_parse(&doc, "order", first->text, strlen(first->text), JSON_STRICT, NULL),
		ST_OK);
	say_reading(d, doc.root, 1, "pair_gbps", 20);
	json_release(&doc);
	member_lose(&d->l, &d->l.members[1], "silent");
	assert_int_equal(lines_of(d, "n0|n1", "pair_gbps", "lost"), 1);
	assert_int_equal(lines_of(d, "n1|n0", "pair_gbps", "lost"), 0);
	assert_int_equal(lines_of(d, "n1|n0", "pair_gbps", "measured"), 1);
	desk_close(d);
}

static void broke(struct desk *d, int rank, const char *outcome)
{
	char *work = strdup(work_in(order_to(d, rank)->text));

	take(d, rank, WIRE_BROKE,
	     tmpf("{\"work\":\"%s\",\"outcome\":\"%s\",\"text\":\"it was ended by a signal\"}",
	          work, outcome));
	free(work);
}

static void a_broken_child_ends_the_pair(void **state)
{
	struct desk *d = desk_open(2);
	const struct sent *first;

	(void)state;
	assert_true(crews_open(&d->l, "pairs"));
	assert_true(crews_step(&d->l));
	first = order_to(d, 0);
	broke(d, 1, "failed");
	assert_int_equal(cancelled(d, 0), 1);
	assert_int_equal(lines_of(d, "n0|n1", "pair_gbps", "failed"), 1);
	assert_int_equal(lines_of(d, "n1|n0", "pair_gbps", "failed"), 1);
	assert_int_equal(lines_of(d, "n0|n1", "pair_us", "failed"), 1);
	assert_int_equal(count(&d->lines, "on n1: it was ended by a signal"), 3);
	assert_int_equal(count(&d->said, "on n1: it was ended by a signal"), 1);
	assert_int_equal(d->heard, 3); /* a pair that cannot is as good as a slow one */
	/* Done as far as a resume goes; what comes late or again changes nothing. */
	assert_int_equal(count(&d->works, unit_id("n0|n1", 1)), 1);
	broke(d, 1, "failed");
	broke(d, 0, "timed_out");
	say_all(d, first->text);
	assert_int_equal(count(&d->lines, "\n"), 3);
	node_over(d, 0, first->text);
	node_over(d, 1, first->text);
	work_through(d);
	desk_close(d);
}

/* The first one's own words are better than what is told of it. */
static void a_broken_first_child_frees_the_others(void **state)
{
	struct desk *d = desk_open(2);

	(void)state;
	assert_true(crews_open(&d->l, "pairs"));
	assert_true(crews_step(&d->l));
	say_all(d, order_to(d, 0)->text);
	broke(d, 0, "failed");
	assert_int_equal(cancelled(d, 1), 1);
	assert_int_equal(count(&d->lines, "\n"), 3);
	assert_int_equal(count(&d->lines, "\"outcome\":\"measured\""), 3);
	desk_close(d);
}

static void words_that_make_no_sense_change_nothing(void **state)
{
	static const char *const texts[] = {
		"{", "{}", "{\"work\":\"x\",\"outcome\":\"failed\"}", "[]", "",
	};
	struct desk *d = desk_open(2);

	(void)state;
	assert_true(crews_open(&d->l, "pairs"));
	assert_true(crews_step(&d->l));
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		take(d, 1, WIRE_BROKE, texts[i]);
	broke(d, 1, "measured");
	broke(d, 1, "sad");
	assert_int_equal(d->lines.len, 0);
	assert_int_equal(cancelled(d, 0), 0);
	desk_close(d);
}

static void a_node_lost_while_reading_again(void **state)
{
	struct desk *d = desk_open(4);

	(void)state;
	suspect(d, 0, "n0", "n2", true);
	suspect(d, 0, "n1", "n3", true);
	suspect(d, 1, "n0", "n2", true); /* it is gone by then */
	assert_true(crews_open(&d->l, "pairs"));
	while (!d->asked) {
		assert_true(crews_step(&d->l));
		if (!d->asked)
			answer(d);
	}
	member_lose(&d->l, &d->l.members[2], "silent");
	assert_int_equal(lines_of(d, "n0|n2", "pair_gbps", "lost"), 1);
	assert_int_equal(lines_of(d, "n2|n0", "pair_gbps", "lost"), 1);
	assert_int_equal(count(&d->lines, tmpf("\"work\":\"%s\"", unit_id("n0|n2", 2))), 3);
	answer(d);
	work_through(d);
	assert_int_equal(ordered(d, "n1|n3", 2), 1);
	assert_int_equal(ordered(d, "n0|n2", 3), 0);
	desk_close(d);
}

/* --- all nodes together ---------------------------------------------------------------- */

/* A desk at which all nodes work together. */
static struct desk *desk_together(int nodes)
{
	struct desk *d = desk_open(nodes);

	d->l.phase = 3; /* groups */
	assert_true(crews_open(&d->l, "groups"));
	assert_true(crews_step(&d->l));
	return d;
}

static void a_lost_node_leaves_the_others_blameless(void **state)
{
	struct desk *d = desk_together(2);

	(void)state;
	member_lose(&d->l, &d->l.members[1], "silent");
	assert_int_equal(cancelled(d, 0), 1);
	assert_int_equal(cards_of(d, "n1", "rows_wrong", "lost"), 1);
	assert_int_equal(cards_of(d, "n1", "rows_ms", "lost"), 1);
	assert_int_equal(cards_of(d, "n0", "rows_wrong", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n0", "rows_ms", "not_measured"), 1);
	/* What belongs to all: that it broke is on record, and who broke it. */
	assert_int_equal(cards_of(d, "n0", "rows_all", "lost"), 1);
	assert_int_equal(count(&d->lines, "\n"), 6);
	assert_int_equal(count(&d->lines, "n1 was lost in phase groups: silent"), 6);
	/* One node alone is no company: it is not begun again. */
	node_over(d, 0, order_to(d, 0)->text);
	assert_false(crews_step(&d->l));
	desk_close(d);
}

static void a_lost_first_node_is_the_one_that_is_lost(void **state)
{
	struct desk *d = desk_together(3);

	(void)state;
	/* What came of others before stands: it is not owed a second time. */
	say_card(d, work_in(order_to(d, 0)->text), "n1", "rows_wrong");
	say_card(d, work_in(order_to(d, 0)->text), "n0", "rows_wrong");
	say_card(d, work_in(order_to(d, 0)->text), "elsewhere", "rows_ms");
	say_card(d, work_in(order_to(d, 0)->text), "n0", "rows_all");
	member_lose(&d->l, &d->l.members[0], "silent");
	/* The last that was named may have more cards than one. */
	assert_int_equal(cards_of(d, "n0", "rows_wrong", "lost"), 1);
	assert_int_equal(cards_of(d, "n0", "rows_ms", "lost"), 1);
	assert_int_equal(cards_of(d, "n1", "rows_wrong", "not_measured"), 0);
	assert_int_equal(cards_of(d, "n1", "rows_ms", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n2", "rows_wrong", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n2", "rows_ms", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n0", "rows_all", "lost"), 1);
	/* The two that are left begin again. */
	node_over(d, 1, order_to(d, 1)->text);
	node_over(d, 2, order_to(d, 2)->text);
	assert_true(crews_step(&d->l));
	assert_non_null(strstr(order_to(d, 1)->text, "\"attempt\":2"));
	assert_non_null(strstr(order_to(d, 1)->text, "\"nodes\":[\"n1\",\"n2\"]"));
	desk_close(d);
}

static void what_a_broken_child_did_not_ask_is_owed(void **state)
{
	struct desk *d = desk_together(3);

	(void)state;
	say_card(d, work_in(order_to(d, 0)->text), "n0", "rows_wrong");
	say_card(d, work_in(order_to(d, 0)->text), "n0", "rows_ms");
	say_card(d, work_in(order_to(d, 0)->text), "n1", "rows_wrong");
	broke(d, 0, "failed");
	assert_int_equal(cards_of(d, "n0", "rows_wrong", "failed"), 0);
	assert_int_equal(cards_of(d, "n0", "rows_ms", "failed"), 0);
	/* Of the cards of n1 there may be more. */
	assert_int_equal(cards_of(d, "n1", "rows_wrong", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n1", "rows_ms", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n2", "rows_wrong", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n2", "rows_ms", "not_measured"), 1);
	assert_int_equal(lines_with(d, "rows_all", "\"failed\"", "on n0: it was ended by"), 1);
	assert_int_equal(count(&d->lines, "on n0: it was ended by a signal"), 6);
	desk_close(d);
}

static void a_broken_child_is_of_its_node(void **state)
{
	struct desk *d = desk_together(3);

	(void)state;
	broke(d, 1, "timed_out");
	assert_int_equal(cards_of(d, "n1", "rows_wrong", "timed_out"), 1);
	assert_int_equal(cards_of(d, "n0", "rows_wrong", "not_measured"), 1);
	assert_int_equal(cards_of(d, "n2", "rows_wrong", "not_measured"), 1);
	/* Of pairs among them none is named: they did not fail. */
	assert_int_equal(lines_with(d, "rows_gbps", "\"timed_out\"", "\"id\":\"*\""), 1);
	assert_int_equal(lines_with(d, "rows_gbps", "\"timed_out\"", "\"ends\""), 0);
	desk_close(d);
}

static void who_goes_on_when_all_is_said_is_stopped(void **state)
{
	struct desk *d;

	(void)state;
	d = desk_together(3);
	node_over(d, 0, order_to(d, 0)->text);
	node_over(d, 1, order_to(d, 1)->text);
	d->o.agent.deadline_scale = 1e-12;
	assert_true(crews_step(&d->l));
	assert_true(crews_step(&d->l));
	assert_int_equal(cancelled(d, 2), 1);
	assert_int_equal(cancelled(d, 1), 0);
	assert_int_equal(count(&d->said, "rows *: all is said, but on 1 of 3 nodes (n2)"), 1);
	/* Nothing is lost with it. */
	assert_int_equal(d->lines.len, 0);
	node_over(d, 2, order_to(d, 2)->text);
	assert_false(crews_step(&d->l));
	desk_close(d);
}

static void others_wait_for_the_first_until_its_deadline(void **state)
{
	struct desk *d = desk_together(3);

	(void)state;
	d->o.agent.deadline_scale = 1e-12;
	node_over(d, 1, order_to(d, 1)->text);
	node_over(d, 2, order_to(d, 2)->text);
	assert_true(crews_step(&d->l));
	assert_int_equal(cancelled(d, 0), 0);
	desk_close(d);
}

/* --- resume --------------------------------------------------------------------------- */

static struct reading earlier(const char *a, const char *b, const char *id, int times,
                              enum outcome outcome, struct arena *arena)
{
	struct reading r = reading_init();

	r.node = a;
	r.probe = "pair";
	r.metric = "pair_gbps";
	r.better = BETTER_HIGHER;
	r.work = arena_str(arena, unit_id(id, times));
	r.attempt = 1;
	r.subject = (struct subject){.kind = SUBJECT_PAIR, .id = id, .n_ends = 2, .index = -1};
	r.subject.ends[0].node = a;
	r.subject.ends[1].node = b;
	r.outcome = outcome;
	if (outcome == OUTCOME_MEASURED) {
		r.value_kind = VALUE_NUMBER;
		r.value = 20;
	} else {
		r.reason = (struct reason){.code = "because", .text = "because"};
	}
	return r;
}

static void a_resume_reads_what_was_lost_of_it(void **state)
{
	struct desk *d = desk_open(3);
	struct rundir run = {0};
	struct reading list[5];
	const char *done[4];
	struct arena *arena = &d->l.arena;

	(void)state;
	list[0] = earlier("n0", "n1", "n0|n1", 1, OUTCOME_MEASURED, arena);
	list[1] = earlier("n0", "n2", "n0|n2", 1, OUTCOME_MEASURED, arena);
	list[2] = earlier("n1", "n2", "n1|n2", 1, OUTCOME_MEASURED, arena);
	list[3] = earlier("n0", "n2", "n0|n2", 2, OUTCOME_MEASURED, arena);
	list[4] = earlier("n0", "n2", "n0|n2", 3, OUTCOME_LOST, arena);
	for (int i = 0; i < 4; i++)
		done[i] = list[i].work;
	run.readings = list;
	run.n_readings = 5;
	run.done = done;
	run.n_done = 4;
	run.works = works_new(&run.arena);
	d->o.resume = &run;
	suspect(d, 1, "n0", "n2", true);
	assert_true(crews_open(&d->l, "pairs"));
	work_through(d);
	/* Nothing that is there is read again; then the third, then a fourth. */
	assert_int_equal(d->crews, 2);
	assert_int_equal(ordered(d, "n0|n2", 3), 1);
	assert_int_equal(ordered(d, "n0|n2", 4), 1);
	assert_int_equal(d->heard, 5 + 3 * 2); /* what was lost says nothing to a judge */
	assert_int_equal(count(&d->said, "1 lost before"), 1);
	assert_int_equal(count(&d->lines, "\"attempt\":2"), 3);
	arena_release(&run.arena);
	desk_close(d);
}

/* --- the plan ----------------------------------------------------------------------- */

static void the_plan_has_all_that_nodes_do_together(void **state)
{
	struct desk *d = desk_open(2);
	const char *const paths[] = {"/a", "/b"};
	struct crews_plan p;

	(void)state;
	d->request.budget = BUDGET_STANDARD;
	p = crews_estimate(&d->request, &pair_probe, 125, PAIRS_SAMPLE);
	assert_int_equal(p.rounds, 16);
	assert_int_equal(p.pairs, 16 * 62);
	assert_true(p.round_s == 6 && p.seconds == 96);
	assert_true(p.again_s == AGAIN_PASSES * AGAIN_ROUNDS * 6);
	p = crews_estimate(&d->request, &pair_probe, 125, PAIRS_ALL);
	assert_int_equal(p.pairs, 7750);
	assert_true(p.seconds == 125 * 6);
	p = crews_estimate(&d->request, &pair_probe, 2, PAIRS_ALL);
	assert_true(p.pairs == 1 && p.again_s == AGAIN_PASSES * 6);
	/* Storage: nothing without a path. */
	p = crews_estimate(&d->request, &all_probe, 4, PAIRS_ALL);
	assert_true(p.seconds == 0 && p.bytes == 0);
	d->info.storage = paths;
	d->info.n_storage = 2;
	p = crews_estimate(&d->request, &all_probe, 4, PAIRS_ALL);
	assert_true(p.seconds == 120 && p.again_s == 0);
	assert_int_equal(p.bytes, (int64_t)2 * 4 * (7 << 20));
	p = crews_estimate_all(&d->request, 4, PAIRS_ALL);
	assert_true(p.seconds == 120 + 3 * 6);
	assert_int_equal(p.bytes, (int64_t)2 * 4 * (7 << 20));
	assert_true(crews_estimate_all(&d->request, 1, PAIRS_ALL).seconds == 0);
	d->info.skip = (const char *const[]){"all"};
	d->info.n_skip = 1;
	assert_int_equal(crews_estimate_all(&d->request, 4, PAIRS_ALL).bytes, 0);
	desk_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(suspects_are_read_again),
		cmocka_unit_test(what_is_read_again_is_bounded),
		cmocka_unit_test(a_pair_that_was_not_met_is_read_first),
		cmocka_unit_test(nothing_comes_again_without_a_judge_or_after_a_stop),
		cmocka_unit_test(a_lost_pair_owes_both_ways),
		cmocka_unit_test(what_came_before_is_not_owed),
		cmocka_unit_test(a_broken_child_ends_the_pair),
		cmocka_unit_test(a_broken_first_child_frees_the_others),
		cmocka_unit_test(words_that_make_no_sense_change_nothing),
		cmocka_unit_test(a_node_lost_while_reading_again),
		cmocka_unit_test(a_lost_node_leaves_the_others_blameless),
		cmocka_unit_test(a_lost_first_node_is_the_one_that_is_lost),
		cmocka_unit_test(what_a_broken_child_did_not_ask_is_owed),
		cmocka_unit_test(a_broken_child_is_of_its_node),
		cmocka_unit_test(who_goes_on_when_all_is_said_is_stopped),
		cmocka_unit_test(others_wait_for_the_first_until_its_deadline),
		cmocka_unit_test(a_resume_reads_what_was_lost_of_it),
		cmocka_unit_test(the_plan_has_all_that_nodes_do_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
