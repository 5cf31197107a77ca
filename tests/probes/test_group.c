/* group: three nodes that add up round a ring, and one of them wrong, gone, hanging
 * or away. */
#include "company_kit.h"

#include <math.h>

extern const struct probe probe_group;

#define N 3

static int set_up(void **state)
{
	struct company *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	company_init(c, &probe_group, N, "*");
	company_set(c, "interface", "lo");
	company_set(c, "bytes", "300000");
	company_set(c, "seconds", "0.1");
	company_set(c, "calls", "20");
	company_set(c, "silence_s", "30");
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	company_release(*state);
	free(*state);
	return 0;
}

static struct harness *first(struct company *c)
{
	return &c->all[0].h;
}

/* Every figure is missing for this. */
static const struct reading *expect_none(struct company *c, enum outcome outcome, const char *code)
{
	const struct reading *r = NULL;

	for (const struct metric *m = probe_group.metrics; m->name; m++)
		r = harness_expect(first(c), m->name, outcome, code);
	return r;
}

static void expect_words(const struct reading *r, const char *words)
{
	if (!strstr(r->reason.text, words))
		fail_msg("\"%s\" is not in: %s", words, r->reason.text);
}

/* --- as it should be ------------------------------------------------------------------- */

static int lines(const struct company *c, const char *name)
{
	const struct harness_raw *raw = harness_raw(&c->all[0].h, name);
	int n = 0;

	assert_non_null(raw);
	for (const char *p = raw->data; *p; p++)
		n += *p == '\n';
	return n;
}

static void all_add_up(void **state)
{
	struct company *c = *state;
	const struct reading *time, *rate;
	double calls;

	company_run(c);
	assert_int_equal(first(c)->n_readings, 3);
	time = harness_expect(first(c), "group_allreduce_time_us", OUTCOME_MEASURED, NULL);
	assert_int_equal(time->subject.kind, SUBJECT_CLUSTER);
	assert_string_equal(time->subject.id, "*");
	assert_true(time->value > 0 && time->value == time->stats[STAT_MAX]);
	assert_true(time->stats[STAT_N] == N);
	assert_true(harness_param(time, "bytes") == 8);
	calls = harness_param(time, "calls");
	assert_true(calls >= 10 && calls <= 20);
	assert_int_equal(lines(c, "group-small.csv"), 1 + N);

	rate = harness_expect(first(c), "group_allreduce_busbw_gbs", OUTCOME_MEASURED, NULL);
	/* 2 (n-1)/n of the bytes of every call, in all their time. */
	assert_true(fabs(rate->value / (4.0 / 3 * 300000 / 1e9 * rate->stats[STAT_N] /
	                                harness_param(rate, "seconds")) -
	                 1) < 1e-3);
	assert_true(harness_param(rate, "calls") == rate->stats[STAT_N]);
	assert_true(rate->stats[STAT_CI_LO] < rate->value && rate->value < rate->stats[STAT_CI_HI]);
	assert_int_equal(lines(c, "group-large.csv"), 1 + (int)rate->stats[STAT_N]);
	assert_string_equal(harness_param_text(first(c), rate, "interface"), "lo");
	assert_string_equal(harness_param_text(first(c), rate, "address"), "127.0.0.1");
	assert_non_null(strstr(rate->params, "TCP over sockets"));
	assert_non_null(strstr(rate->params, "not NCCL"));
	/* Too short for that. */
	harness_expect(first(c), "group_allreduce_worst_second", OUTCOME_NOT_MEASURED,
	               "net_no_second");
}

/* A clock on which a tenth of a second lasts two. */
static int64_t fast_from;

static int64_t fast_now(void *self)
{
	(void)self;
	return fast_from + 20 * (clock_now(&clock_system) - fast_from);
}

/* The lowest of whole seconds over the mean, from the times that were kept. */
static double worst_of(const char *csv)
{
	double at = 0, total = 0, least = INFINITY, s;
	int calls = 0, all = 0;

	for (csv = strchr(csv, '\n') + 1; *csv; csv = strchr(csv, '\n') + 1) {
		s = strtod(csv, NULL);
		total += s;
		at += s;
		all++;
		calls++;
		if (at >= 1) {
			least = fmin(least, calls / at);
			at = calls = 0;
		}
	}
	return least / (all / total);
}

static void the_worst_second_needs_two(void **state)
{
	struct company *c = *state;
	const struct reading *worst;

	fast_from = clock_now(&clock_system);
	for (int i = 0; i < N; i++)
		c->all[i].clock.now_ns = fast_now;
	company_set(c, "seconds", "4");
	company_set(c, "silence_s", "60");
	company_set(c, "meet_s", "600");
	for (int i = 0; i < N; i++)
		c->all[i].h.ctx.deadline_ns = INT64_MAX;
	company_run(c);
	worst = harness_expect(first(c), "group_allreduce_worst_second", OUTCOME_MEASURED, NULL);
	assert_true(fabs(worst->value - worst_of(harness_raw(first(c), "group-large.csv")->data)) <
	            1e-3);
	assert_true(isnan(worst->stats[STAT_N]));
	assert_non_null(worst->raw.file);
}

static void one_alone_makes_no_ring(void **state)
{
	struct company *c = *state;

	for (int n = 0; n < 2; n++) {
		harness_clear(first(c));
		first(c)->ctx.n_peers = n;
		harness_run(first(c), ST_OK);
		expect_none(c, OUTCOME_NOT_MEASURED, "group_alone");
	}
}

/* --- wrong -------------------------------------------------------------------------------- */

/* One adds up other numbers than are expected of it: that shows on every node. */
static void a_wrong_sum_is_no_figure(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[2].h.ctx.seed ^= 1;
	company_run(c);
	r = expect_none(c, OUTCOME_FAILED, "group_wrong");
	expect_words(r, "sums were wrong on 3 of 3 nodes; on n001 ");
}

static bool no_port(cJSON *text, int n)
{
	(void)n;
	cJSON_ReplaceItemInObject(text, "port", cJSON_CreateNumber(0));
	cJSON_ReplaceItemInObject(text, "why", cJSON_CreateString("Too many open files"));
	return true;
}

static void one_that_cannot_listen(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[1].meddle = no_port;
	company_set(c, "meet_s", "1.5");
	company_run(c);
	r = expect_none(c, OUTCOME_NOT_MEASURED, "group_broke");
	expect_words(r, "joining of 3 nodes: n002 cannot listen for n001: Too many open files");
	assert_string_equal(harness_param_text(first(c), r, "blamed"), "n002");
}

/* --- gone ---------------------------------------------------------------------------------- */

static bool says_nothing(cJSON *text, int n)
{
	(void)text;
	(void)n;
	return false;
}

static void one_that_never_comes(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[1].meddle = says_nothing;
	company_set(c, "meet_s", "1.5");
	company_run(c);
	r = expect_none(c, OUTCOME_NOT_MEASURED, "group_broke");
	expect_words(r, "n001 heard nothing of n002 by way of the coordinator");
	assert_string_equal(harness_param_text(first(c), r, "blamed"), "n002");
}

/* In the first large sum: what was measured before stays. */
static void dies_at_once(struct probe_ctx *ctx, enum stage stage, double done, enum msg what)
{
	(void)ctx;
	(void)done;
	(void)what;
	if (stage == STAGE_MEASURING)
		raise(SIGKILL);
}

static void one_that_dies(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[2].h.ctx.progress = dies_at_once;
	c->all[2].dies = true;
	company_run(c);
	harness_expect(first(c), "group_allreduce_time_us", OUTCOME_MEASURED, NULL);
	harness_expect(first(c), "group_allreduce_worst_second", OUTCOME_NOT_MEASURED,
	               "group_broke");
	r = harness_expect(first(c), "group_allreduce_busbw_gbs", OUTCOME_NOT_MEASURED,
	                   "group_broke");
	expect_words(r, " of 3 nodes: n003 is gone: its connection to ");
	assert_string_equal(harness_param_text(first(c), r, "blamed"), "n003");
}

/* Longer than the others wait. */
static void hangs(struct probe_ctx *ctx, enum stage stage, double done, enum msg what)
{
	(void)done;
	(void)what;
	if (stage == STAGE_MEASURING)
		clock_sleep(ctx->clock, 8 * NS_PER_S);
}

static void one_that_hangs(void **state)
{
	struct company *c = *state;
	const struct reading *r;

	c->all[1].h.ctx.progress = hangs;
	company_set(c, "silence_s", "6");
	company_run(c);
	harness_expect(first(c), "group_allreduce_time_us", OUTCOME_MEASURED, NULL);
	r = harness_expect(first(c), "group_allreduce_busbw_gbs", OUTCOME_TIMED_OUT, "group_broke");
	expect_words(r, "barrier of 3 nodes: n002 did not arrive: it did not answer n003");
	assert_string_equal(harness_param_text(first(c), r, "blamed"), "n002");
}

#define COMPANY_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		COMPANY_TEST(all_add_up),
		COMPANY_TEST(the_worst_second_needs_two),
		COMPANY_TEST(one_alone_makes_no_ring),
		COMPANY_TEST(a_wrong_sum_is_no_figure),
		COMPANY_TEST(one_that_cannot_listen),
		COMPANY_TEST(one_that_never_comes),
		COMPANY_TEST(one_that_dies),
		COMPANY_TEST(one_that_hangs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
