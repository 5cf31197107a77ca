/* What rank 0 says of many nodes: a thousand equal lines once with a count, and where the
 * run stands in one line. */
#include "tests/unit/crews_kit.h"

#include "base/clock.h"

static void warn(struct desk *d, const char *what, int node, const char *text)
{
	const struct member *m = &d->l.members[node];

	leader_warn(&d->l, m, what, text, tmpf("%s: %s", m->name, text));
}

static void equal_lines_are_said_once_with_a_count(void **state)
{
	struct desk *d = desk_open(32);

	(void)state;
	for (int i = 0; i < 1000; i++)
		warn(d, "disk", i % 32, "the disk is full");
	assert_string_equal(d->said.data, "n0: the disk is full\n");
	voice_flush(&d->l.voice);
	assert_string_equal(d->said.data,
	                    "n0: the disk is full\n"
	                    "disk: 999 more like that, on 32 nodes (n1, n2, n3, n4, ...)\n");
	/* Said is said, and what comes later is counted anew. */
	voice_flush(&d->l.voice);
	warn(d, "disk", 7, "the disk is full");
	voice_flush(&d->l.voice);
	assert_int_equal(count(&d->said, "disk: 1 more like that, on 1 nodes (n7)"), 1);
	assert_int_equal(count(&d->said, "\n"), 3);
	desk_close(d);
}

static void of_one_kind_a_few_texts_are_said(void **state)
{
	struct desk *d = desk_open(4);

	(void)state;
	for (int i = 0; i < 100; i++)
		warn(d, "gemm: failed", i % 4, tmpf("%d wrong", i));
	warn(d, "gemm: timed_out", 3, "5 wrong");
	assert_int_equal(count(&d->said, "\n"), VOICE_SAID + 1);
	assert_int_equal(count(&d->said, "n3: 5 wrong"), 1);
	voice_flush(&d->l.voice);
	assert_int_equal(
		count(&d->said, "gemm: failed: 97 more like that, on 4 nodes (n3, n0, n1, n2)"), 1);
	assert_int_equal(count(&d->said, "\n"), VOICE_SAID + 2);
	desk_close(d);
}

/* However many kinds there are, what is said is bounded, and nothing goes uncounted. */
static void kinds_are_bounded(void **state)
{
	struct desk *d = desk_open(4);

	(void)state;
	for (int i = 0; i < 5000; i++)
		warn(d, tmpf("kind %d", i), 2, "trouble");
	assert_int_equal(count(&d->said, "\n"), VOICE_KINDS);
	voice_flush(&d->l.voice);
	assert_int_equal(count(&d->said, tmpf("other kinds of trouble: %d more like that",
	                                      5000 - VOICE_KINDS)),
	                 1);
	desk_close(d);
}

static void readings_that_fail_are_such_lines(void **state)
{
	struct desk *d = desk_open(8);

	(void)state;
	d->l.stage = LEAD_PHASE;
	for (int i = 0; i < 8; i++) {
		const char *line =
			tmpf("{\"v\":1,\"time\":\"2026-12-02T03:04:05.678Z\",\"node\":\"n%d\","
		             "\"writer\":%d,"
		             "\"phase\":\"cards\",\"attempt\":1,\"probe\":\"gemm\",\"subject\":{"
		             "\"kind\":"
		             "\"card\",\"id\":\"GPU-%d\"},\"metric\":\"gemm_wrong\",\"unit\":\"1\","
		             "\"value\":null,\"better\":\"lower\",\"outcome\":\"failed\","
		             "\"reason\":{\"code\":"
		             "\"x\",\"args\":[],\"text\":\"it is wrong\"},\"origin\":\"measured\"}",
		             i, i, i);

		take(d, i, WIRE_LINE, line);
	}
	assert_int_equal(count(&d->lines, "\n"), 8);
	assert_string_equal(d->said.data, "n0 gemm_wrong: failed: it is wrong\n");
	for (int i = 0; i < 8; i++)
		take(d, i, WIRE_BEAT, "{\"trouble\":\"no space\"}");
	voice_flush(&d->l.voice);
	assert_string_equal(
		d->said.data,
		"n0 gemm_wrong: failed: it is wrong\n"
		"n0: no space\n"
		"gemm_wrong: failed: 7 more like that, on 7 nodes (n1, n2, n3, n4, ...)\n"
		"trouble on the nodes themselves: 7 more like that, on 7 nodes "
		"(n1, n2, n3, n4, ...)\n");
	desk_close(d);
}

static void at_work(struct desk *d, int node, const char *doing)
{
	struct member *m = &d->l.members[node];

	m->busy = true;
	take(d, node, WIRE_BEAT, tmpf("{\"doing\":\"%s\",\"done\":0.5}", doing));
}

static void a_phase_in_one_line(void **state)
{
	struct desk *d = desk_open(32);

	(void)state;
	d->l.stage = LEAD_PHASE;
	d->l.phase = 1;
	d->l.stage_ns = clock_now(&clock_system);
	for (int i = 0; i < 20; i++)
		at_work(d, i, i < 11 ? "gemm GPU-1" : i < 18 ? "membw" : "jitter");
	at_work(d, 20, "");
	assert_string_equal(leader_show(&d->l),
	                    "phase cards: 11/32 nodes done, 0 lost; at work: gemm "
	                    "11, membw 7, jitter 2, ... 1");
	for (int i = 3; i < 21; i++)
		d->l.members[i].busy = false;
	member_lose(&d->l, &d->l.members[2], "silent");
	d->l.phase_s = 1e6;
	/* Those that all others wait for are named. */
	assert_non_null(strstr(leader_show(&d->l),
	                       "phase cards: 29/31 nodes done, 1 lost; at work: "
	                       "n0 gemm GPU-1, n1 gemm GPU-1; about "));
	assert_non_null(strstr(leader_show(&d->l), " left"));
	desk_close(d);
}

static void other_stages_in_one_line(void **state)
{
	struct desk *d = desk_open(4);

	(void)state;
	assert_true(crews_open(&d->l, "pairs"));
	assert_true(crews_step(&d->l));
	/* The first of three rounds of 2 s. */
	assert_string_equal(leader_show(&d->l),
	                    "phase pairs, nodes together: pair 0/6, 0 lost; about 6.0 s left");
	d->l.stage = LEAD_HELLO;
	d->l.members[3].said_hello = false;
	assert_string_equal(leader_show(&d->l), "3/4 nodes have said hello");
	d->l.stage = LEAD_END;
	assert_null(leader_show(&d->l));
	desk_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_lines_are_said_once_with_a_count),
		cmocka_unit_test(of_one_kind_a_few_texts_are_said),
		cmocka_unit_test(kinds_are_bounded),
		cmocka_unit_test(readings_that_fail_are_such_lines),
		cmocka_unit_test(a_phase_in_one_line),
		cmocka_unit_test(other_stages_in_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
