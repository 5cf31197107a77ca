/* Runs and offers side by side, from scorecards made by hand: what is told apart and
 * what is not, the order under a criterion, and what makes them hard to compare. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/compare.h"
#include "report_kit.h"

#define CARDS 8

static const struct metric metrics[] = {
	{"gemm_fp16_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA, "f"},
	{"net_latency_us", "us", BETTER_LOWER, SUBJECT_PAIR, BACKEND_ANY, "f"},
	{"card_name", "text", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA, "f"},
	{0},
};
static const struct metric *const tables[] = {metrics, NULL};
static const struct metric_set set = {.tables = tables};

struct run {
	struct rule_info gemm, latency;
	struct finding f[2 * CARDS];
	struct criterion_result criteria[1];
	struct scorecard card;
};

/* Eight cards about `gemm`, and one pair with `us` and its interval. */
static struct run *run(double gemm, double us, double half, enum verdict verdict)
{
	struct run *x = calloc(1, sizeof(*x));
	struct finding *pair = &x->f[CARDS];

	x->gemm = rule_of("gemm", "1", "gemm_fp16_tflops", "TFLOP/s", ">= 230 TFLOP/s");
	x->latency = rule_of("latency", "1", "net_latency_us", "us", "<= 10 us");
	for (int i = 0; i < CARDS; i++)
		x->f[i] = with_value(finding_of(&x->gemm, SUBJECT_CARD, "GPU", "n1", VERDICT_PASS),
		                     gemm + 0.1 * i, 230);
	*pair = with_value(finding_of(&x->latency, SUBJECT_PAIR, "a|b", "n1", VERDICT_PASS), us,
	                   10);
	pair->ci_lo = us - half;
	pair->ci_hi = us + half;
	x->criteria[0] = (struct criterion_result){
		.id = "1", .title = "compute", .verdict = verdict, .coverage = {9, 9}};
	x->card = card_of(verdict == VERDICT_FAIL ? OVERALL_REJECT : OVERALL_ACCEPT);
	x->card.findings = x->f;
	x->card.n_findings = CARDS + 1;
	x->card.criteria = x->criteria;
	x->card.n_criteria = 1;
	x->card.card = "a100";
	return x;
}

static const struct compare_row *row(const struct comparison *c, const char *metric)
{
	for (int i = 0; i < c->n_rows; i++)
		if (strcmp(c->rows[i].metric, metric) == 0)
			return &c->rows[i];
	fail_msg("no row %s", metric);
	return NULL;
}

static void expect_text(const struct comparison *c, const char *text, bool there)
{
	struct str out = {0};

	assert_int_equal(compare_text(&out, c, 80, true), ST_OK);
	if ((strstr(out.data, text) != NULL) != there)
		fail_msg("\"%s\" %s:\n%s", text, there ? "missing" : "present", out.data);
	str_release(&out);
}

static void intervals_tell_apart(void **state)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct run *a = run(268, 5, 0.2, VERDICT_PASS), *b = run(241, 5.1, 0.2, VERDICT_PASS);
	const struct compare_row *gemm, *latency;

	(void)state;
	compare_add_run(&c, &a->card, "a", &set);
	compare_add_run(&c, &b->card, "b", &set);
	free(a); /* nothing of a run is kept */
	free(b);
	compare_finish(&c);
	gemm = row(&c, "gemm_fp16_tflops");
	latency = row(&c, "net_latency_us");
	assert_int_equal(gemm->stands[0], STAND_BEST);
	assert_int_equal(gemm->stands[1], STAND_WORSE);
	assert_true(fabs(gemm->cells[0].value - 268.35) < 1e-9);
	assert_true(gemm->cells[0].lo >= 268 && gemm->cells[0].lo < 268.35);
	assert_true(gemm->cells[0].hi > 268.35 && gemm->cells[0].hi <= 268.7 + 1e-9);
	assert_true(gemm->cells[0].worst == 268);
	/* 0.1 us is inside the noise: nobody is the best. */
	assert_int_equal(latency->stands[0], STAND_SAME);
	assert_int_equal(latency->stands[1], STAND_SAME);
	assert_int_equal(c.orders[0].place[0], 1);
	assert_int_equal(c.orders[0].place[1], 2);
	expect_text(&c, "not told apart", true);
	expect_text(&c, "gemm_fp16_tflops (higher is better)", true);
	arena_release(&arena);
}

static void the_verdict_comes_first(void **state)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct run *fast = run(300, 2, 0.1, VERDICT_FAIL), *slow = run(241, 5, 0.1, VERDICT_PASS);

	(void)state;
	compare_add_run(&c, &fast->card, "fast", &set);
	compare_add_run(&c, &slow->card, "slow", &set);
	compare_finish(&c);
	assert_int_equal(c.orders[0].place[0], 2);
	assert_int_equal(c.orders[0].place[1], 1);
	assert_non_null(strstr(c.orders[0].why[0], "FAIL"));
	assert_non_null(strstr(c.orders[0].why[0], "better in 2, as worse in 0 of 2"));
	free(fast);
	free(slow);
	arena_release(&arena);
}

/* Two that are equal share the place, and a figure without an interval is no order. */
static void equals_share_a_place(void **state)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct run *a = run(268, 5, NAN, VERDICT_PASS), *b = run(268, 9, NAN, VERDICT_PASS);

	(void)state;
	compare_add_run(&c, &a->card, "a", &set);
	compare_add_run(&c, &b->card, "b", &set);
	compare_finish(&c);
	assert_int_equal(row(&c, "net_latency_us")->stands[0], STAND_OPEN);
	assert_int_equal(c.orders[0].place[0], 1);
	assert_int_equal(c.orders[0].place[1], 1);
	free(a);
	free(b);
	arena_release(&arena);
}

static void what_was_not_tested_has_no_place(void **state)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct run *a = run(268, 5, 0.2, VERDICT_PASS), *b = run(268, 5, 0.2, VERDICT_NOT_MEASURED);

	(void)state;
	for (int i = 0; i <= CARDS; i++) {
		b->f[i].has_value = false;
		b->f[i].verdict = VERDICT_NOT_MEASURED;
	}
	b->criteria[0].coverage.tested = 0;
	b->card.overall = OVERALL_INCOMPLETE;
	compare_add_run(&c, &a->card, "a", &set);
	compare_add_run(&c, &b->card, "b", &set);
	compare_finish(&c);
	assert_int_equal(c.orders[0].place[0], 1);
	assert_int_equal(c.orders[0].place[1], 0);
	assert_false(row(&c, "gemm_fp16_tflops")->cells[1].there);
	assert_int_equal(row(&c, "gemm_fp16_tflops")->stands[0], STAND_NONE);
	free(a);
	free(b);
	arena_release(&arena);
}

static void unlike_runs_are_warned_of(void **state)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct run *a = run(268, 5, 0.2, VERDICT_PASS), *b = run(268, 5, 0.2, VERDICT_PASS);

	(void)state;
	b->card.card = "h100";
	b->card.budget = "quick";
	b->card.simulated = true;
	b->card.altered = "line 7";
	b->card.expected_nodes = 4;
	b->card.version = "0.2.0";
	b->card.profile_sha256 = "other";
	compare_add_run(&c, &a->card, "a", &set);
	compare_add_run(&c, &b->card, "b", &set);
	compare_finish(&c);
	expect_text(&c, "different cards: a has a100, b has h100", true);
	expect_text(&c, "different budgets: a standard, b quick", true);
	expect_text(&c, "judged by different rules", true);
	expect_text(&c, "different versions of Assay", true);
	expect_text(&c, "different sizes: a has 1 nodes, b has 4", true);
	expect_text(&c, "b: figures come from stand-ins", true);
	expect_text(&c, "b: the record was changed", true);
	expect_text(&c, "a: figures come from stand-ins", false);
	free(a);
	free(b);
	arena_release(&arena);
}

/* --- offers ----------------------------------------------------------------------------- */

static enum status offer(struct comparison *c, const char *text, struct str *said)
{
	char path[] = "/tmp/assay-offer-XXXXXX.json";
	struct error err = {0};
	int fd = mkstemps(path, 5);
	enum status st;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	st = compare_add_offer(c, path, NULL, &set, &err);
	str_clear(said);
	str_add(said, str_text(&err.text));
	error_release(&err);
	unlink(path);
	return st;
}

#define OFFER(figure) "{\"v\":1,\"name\":\"x\",\"figures\":[" figure "]}"

static void declared_beside_measured(void **state)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct run *a = run(268, 5, 0.2, VERDICT_PASS);
	struct str said = {0};
	const struct compare_row *gemm;

	(void)state;
	assert_int_equal(offer(&c,
	                       OFFER("{\"metric\":\"gemm_fp16_tflops\",\"unit\":\"TFLOP/s\","
	                             "\"value\":312,\"note\":\"rated\"},"
	                             "{\"metric\":\"net_latency_us\",\"unit\":\"us\",\"lo\":4,"
	                             "\"hi\":8}"),
	                       &said),
	                 ST_OK);
	compare_add_run(&c, &a->card, "a", &set);
	compare_finish(&c);
	gemm = row(&c, "gemm_fp16_tflops");
	assert_int_equal(gemm->cells[0].origin, ORIGIN_DECLARED);
	/* However high it is: a word is told apart from nothing and is no yardstick. */
	assert_int_equal(gemm->stands[0], STAND_OPEN);
	assert_int_equal(gemm->stands[1], STAND_BEST);
	assert_int_equal(c.orders[0].place[0], 0);
	assert_string_equal(c.orders[0].why[0], "declared only");
	expect_text(&c, "312 TFLOP/s, declared", true);
	expect_text(&c, "4 to 8 us, declared", true);
	expect_text(&c, "[rated]", true);
	str_release(&said);
	free(a);
	arena_release(&arena);
}

static void bad_offers_say_where(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"{}", "not an offer"},
		{"{\"v\":2,\"figures\":[]}", "not an offer"},
		{OFFER("{\"metric\":\"gemm\"}"), ":1:30: \"gemm\" is no metric"},
		{OFFER("{\"metric\":\"net_latency_us\",\"unit\":\"ms\",\"value\":1}"),
	         "net_latency_us is given in us"},
		{OFFER("{\"metric\":\"net_latency_us\",\"unit\":\"us\"}"), "wants either"},
		{OFFER("{\"metric\":\"net_latency_us\",\"unit\":\"us\",\"lo\":2,\"hi\":1}"),
	         "wants either"},
		{OFFER("{\"metric\":\"net_latency_us\",\"unit\":\"us\",\"value\":1,\"lo\":1,"
	               "\"hi\":2}"),
	         "wants either"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct arena arena = {0};
		struct comparison c = {.arena = &arena};
		struct str said = {0};

		assert_int_equal(offer(&c, bad[i].text, &said), ST_PARSE);
		if (!strstr(said.data, bad[i].says))
			fail_msg("\"%s\" is not in: %s", bad[i].says, said.data);
		assert_int_equal(c.n_columns, 0);
		str_release(&said);
		arena_release(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intervals_tell_apart),
		cmocka_unit_test(the_verdict_comes_first),
		cmocka_unit_test(equals_share_a_place),
		cmocka_unit_test(what_was_not_tested_has_no_place),
		cmocka_unit_test(unlike_runs_are_warned_of),
		cmocka_unit_test(declared_beside_measured),
		cmocka_unit_test(bad_offers_say_where),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
