/* The gate: slowdowns told from noise on seeded data, what was lost, what fails, what
 * software changed, and baselines that cannot be compared with. */
#include "run_fixture.h"

#include <math.h>

#include "base/config.h"
#include "gate/gate.h"
#include "gate/noise.h"
#include "stats/rng.h"

#define CARDS 20

/* --- noise ----------------------------------------------------------------------------- */

static const char *const ids[CARDS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                       "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};
static const char *const others[CARDS] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J",
                                          "K", "L", "M", "N", "O", "P", "Q", "R", "S", "T"};

static struct noise_run run_of(struct noise_sample *list, const char *const *names, size_t n,
                               double level, double sd, struct rng *rng)
{
	for (size_t i = 0; i < n; i++)
		list[i] = (struct noise_sample){.id = names[i],
		                                .value = level * exp(sd * rng_normal(rng)),
		                                .variance = NAN};
	return (struct noise_run){list, n};
}

static const struct noise_limits one_percent = {true, 0.01, 0.002, GATE_FALSE};

/* A true 3 % at 1 % noise with 20 samples each, of other cards than the baseline's. */
static void three_percent_is_found(void **state)
{
	struct noise_sample a[CARDS], b[CARDS];
	int found = 0, false_ones = 0, better = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct noise_result r;
		struct noise_run now, base;
		struct rng rng;

		rng_seed(&rng, seed);
		base = run_of(b, others, CARDS, 268, 0.01, &rng);
		now = run_of(a, ids, CARDS, 268 * 0.97, 0.01, &rng);
		noise_compare(&now, &base, 1, &one_percent, &r);
		found += r.verdict == NOISE_WORSE;
		now = run_of(a, ids, CARDS, 268, 0.01, &rng);
		noise_compare(&now, &base, 1, &one_percent, &r);
		false_ones += r.verdict != NOISE_SAME;
		now = run_of(a, ids, CARDS, 268 * 1.05, 0.01, &rng);
		noise_compare(&now, &base, 1, &one_percent, &r);
		better += r.verdict == NOISE_BETTER;
	}
	assert_true(found >= 95);
	assert_int_equal(false_ones, 0);
	assert_true(better >= 95);
}

/* A hundred whole comparisons of 40 figures, from steady to wild, with few samples and
 * many, of the same cards and of others: nothing changed, and nothing is blamed. */
static void no_false_regression(void **state)
{
	static const double sd[] = {0.0005, 0.003, 0.01, 0.03, 0.1};
	static const size_t n[] = {3, 8, CARDS, 5};
	struct noise_limits limits = one_percent;
	int blamed = 0;

	(void)state;
	limits.alpha = GATE_FALSE / 40;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct rng rng;

		rng_seed(&rng, seed);
		for (int figure = 0; figure < 40; figure++) {
			struct noise_sample a[CARDS], b[CARDS];
			double noise = sd[figure % 5];
			const char *const *names = figure % 2 ? ids : others;
			struct noise_run base = run_of(b, ids, n[figure % 4], 50, noise, &rng);
			struct noise_run now = run_of(a, names, n[figure % 4], 50, noise, &rng);
			struct noise_result r;

			limits.higher_better = figure % 3;
			noise_compare(&now, &base, 1, &limits, &r);
			blamed += r.verdict == NOISE_WORSE;
		}
	}
	assert_int_equal(blamed, 0);
}

static void lower_is_better_too(void **state)
{
	struct noise_limits limits = {false, 0.1, 0.01, GATE_FALSE};
	struct noise_sample a[CARDS], b[CARDS];
	struct noise_run now, base;
	struct noise_result r;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 7);
	base = run_of(b, ids, CARDS, 4, 0.02, &rng);
	now = run_of(a, ids, CARDS, 6, 0.02, &rng);
	noise_compare(&now, &base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_WORSE);
	assert_true(r.ratio > 1.45 && r.ratio < 1.55 && r.lo < r.ratio && r.hi > r.ratio);
	noise_compare(&base, &now, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_BETTER);
}

/* Cards that differ by 5 % among themselves: only in pairs is 2 % seen. */
static void the_same_cards_are_paired(void **state)
{
	struct noise_sample a[CARDS], b[CARDS];
	struct noise_run now, base;
	struct noise_result r;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 11);
	base = run_of(b, ids, CARDS, 100, 0.05, &rng);
	now = run_of(a, ids, CARDS, 100, 0, &rng);
	for (int i = 0; i < CARDS; i++)
		a[i].value = b[i].value * 0.98 * exp(0.001 * rng_normal(&rng));
	noise_compare(&now, &base, 1, &one_percent, &r);
	assert_int_equal(r.verdict, NOISE_WORSE);
	for (int i = 0; i < CARDS; i++)
		a[i].id = others[i];
	noise_compare(&now, &base, 1, &one_percent, &r);
	assert_int_equal(r.verdict, NOISE_SAME);
}

/* Three baselines that differ by 3 % as a whole: 3 % less is nothing new. */
static void several_baselines_tell_the_run_noise(void **state)
{
	struct noise_sample a[CARDS], b[3][CARDS];
	struct noise_run now, base[3];
	struct noise_result r;
	struct rng rng;

	(void)state;
	rng_seed(&rng, 13);
	for (int i = 0; i < 3; i++)
		base[i] = run_of(b[i], ids, CARDS, 97 + 3 * i, 0.001, &rng);
	now = run_of(a, ids, CARDS, 97, 0.001, &rng);
	noise_compare(&now, base, 3, &one_percent, &r);
	assert_int_equal(r.verdict, NOISE_SAME);
	noise_compare(&now, &base[1], 1, &one_percent, &r);
	assert_int_equal(r.verdict, NOISE_WORSE);
}

static void a_single_value(void **state)
{
	struct noise_sample a = {"x", 90, NAN, 0},
			    b[3] = {{"x", 100, NAN, 0}, {"x", 100.5, NAN, 0}, {"x", 99.8, NAN, 0}};
	struct noise_run now = {&a, 1}, base[3] = {{&b[0], 1}, {&b[1], 1}, {&b[2], 1}};
	struct noise_limits limits = one_percent;
	struct noise_result r;

	(void)state;
	limits.alpha = 0.05;
	noise_compare(&now, base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_UNKNOWN);
	assert_true(isnan(r.lo));
	limits.tolerance = 1; /* taken out */
	noise_compare(&now, base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_SAME);
	limits.tolerance = 0.01;
	a.value = 99.5;
	noise_compare(&now, base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_SAME);
	/* Its windows, or runs that repeat it, tell the noise. */
	a = (struct noise_sample){"x", 90, 1e-6, 100};
	b[0].variance = 1e-6;
	b[0].df = 100;
	noise_compare(&now, base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_WORSE);
	a.variance = NAN;
	noise_compare(&now, base, 3, &limits, &r);
	assert_int_equal(r.verdict, NOISE_WORSE);
}

/* Two cards of three windows: what is surely noise at one in a million reaches far, and a
 * gross slowdown is not called the same. */
static void too_few_to_tell(void **state)
{
	struct noise_sample a[2] = {{"x", 85, 1e-4, 2}, {"y", 86, 1e-4, 2}},
			    b[2] = {{"x", 100, 1e-4, 2}, {"y", 101, 1e-4, 2}};
	struct noise_run now = {a, 2}, base = {b, 2};
	struct noise_limits limits = one_percent;
	struct noise_result r;

	(void)state;
	limits.run_to_run = 0;
	limits.alpha = 1e-7;
	noise_compare(&now, &base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_UNKNOWN);
	assert_true(r.hi < 1);
	for (int i = 0; i < 2; i++)
		a[i].value = b[i].value * 0.995;
	noise_compare(&now, &base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_SAME);
	/* With windows enough it is told. */
	for (int i = 0; i < 2; i++) {
		a[i].value = b[i].value * 0.85;
		a[i].df = b[i].df = 50;
	}
	noise_compare(&now, &base, 1, &limits, &r);
	assert_int_equal(r.verdict, NOISE_WORSE);
}

/* --- whole runs -------------------------------------------------------------------------- */

struct runs {
	struct place now, base;
	struct arena arena;
	struct gate_rules rules;
	struct rundir dir[2];
	struct gate g;
};

static void put_cards(struct journal *j, double level, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (int i = 0; i < CARDS; i++) {
		struct reading r = card_reading(ids[i], level * exp(0.01 * rng_normal(&rng)));

		assert_int_equal(append(j, &r, NULL), ST_OK);
	}
}

static void put_text(struct journal *j, const char *metric, const char *text)
{
	struct reading r = card_reading("c0", 0);

	r.metric = metric;
	r.unit = "text";
	r.better = BETTER_NEITHER;
	r.value_kind = VALUE_TEXT;
	r.text = text;
	assert_int_equal(append(j, &r, NULL), ST_OK);
}

static void close_run(struct journal *j)
{
	char digest[65];

	assert_int_equal(journal_close(j, false, digest, NULL), ST_OK);
}

static struct runs *open_runs(struct runs *x, void (*now)(struct journal *),
                              void (*base)(struct journal *))
{
	struct str text = {0}, where = {0};
	struct error err = {0};
	struct journal *j;

	*x = (struct runs){.now = place_make(), .base = place_make()};
	j = create(&x->base);
	base(j);
	close_run(j);
	j = create(&x->now);
	now(j);
	close_run(j);
	assert_int_equal(config_read(&text, &where, NULL, "gate/default.json", NULL), ST_OK);
	if (gate_rules_read(&x->rules, &x->arena, where.data, text.data, text.len, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	str_release(&text);
	str_release(&where);
	assert_int_equal(rundir_open(&x->dir[0], x->now.dir, RUNDIR_CHAIN, NULL), ST_OK);
	assert_int_equal(rundir_open(&x->dir[1], x->base.dir, RUNDIR_CHAIN, NULL), ST_OK);
	x->g = (struct gate){.arena = &x->arena,
	                     .rules = &x->rules,
	                     .now = &x->dir[0],
	                     .base = &x->dir[1],
	                     .n_base = 1};
	return x;
}

static void close_runs(struct runs *x)
{
	rundir_close(&x->dir[0]);
	rundir_close(&x->dir[1]);
	arena_release(&x->arena);
	place_remove(&x->now);
	place_remove(&x->base);
}

static int lines(const struct gate *g, enum gate_kind kind)
{
	int n = 0;

	for (int i = 0; i < g->n_lines; i++)
		n += g->lines[i].kind == kind;
	return n;
}

static void expect_gate(struct runs *x, enum gate_verdict verdict, enum gate_kind kind, int n)
{
	struct error err = {0};

	if (gate_compare(&x->g, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	assert_int_equal(x->g.verdict, verdict);
	assert_int_equal(lines(&x->g, kind), n);
}

static void expect_refused(struct runs *x, const char *word)
{
	struct error err = {0};

	assert_int_not_equal(gate_compare(&x->g, &err), ST_OK);
	if (!strstr(str_text(&err.text), word))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), word);
	error_release(&err);
}

static void healthy(struct journal *j)
{
	put_text(j, "card_name", "NVIDIA A100-SXM4-80GB");
	put_cards(j, 268, 3);
}

static void healthy_again(struct journal *j)
{
	put_text(j, "card_name", "NVIDIA A100-SXM4-80GB");
	put_cards(j, 268, 4);
}

static void slow(struct journal *j)
{
	put_text(j, "card_name", "NVIDIA A100-SXM4-80GB");
	put_cards(j, 250, 4);
}

static void other_card(struct journal *j)
{
	put_text(j, "card_name", "NVIDIA H100");
	put_cards(j, 268, 4);
}

static void nothing_measured(struct journal *j)
{
	struct reading r = without_value(card_reading("a", 0), OUTCOME_NOT_MEASURED);

	assert_int_equal(append(j, &r, NULL), ST_OK);
}

static void one_fails(struct journal *j)
{
	struct reading r = without_value(card_reading("z", 0), OUTCOME_FAILED);

	healthy_again(j);
	assert_int_equal(append(j, &r, NULL), ST_OK);
}

static void one_is_left_out(struct journal *j)
{
	struct reading r = without_value(card_reading("z", 0), OUTCOME_NOT_MEASURED);

	healthy_again(j);
	assert_int_equal(append(j, &r, NULL), ST_OK);
}

static void put_job(struct journal *j, enum outcome outcome)
{
	struct reading r = without_value(card_reading("n1", 0), outcome);

	healthy_again(j);
	r.metric = "fw_pytorch_runs";
	assert_int_equal(append(j, &r, NULL), ST_OK);
}

static void job_fails(struct journal *j)
{
	put_job(j, OUTCOME_FAILED);
}

static void no_job(struct journal *j)
{
	put_job(j, OUTCOME_NOT_MEASURED);
}

static void no_names(struct journal *j)
{
	put_cards(j, 268, 4);
}

static void whole_runs(void **state)
{
	static const struct {
		void (*now)(struct journal *);
		enum gate_verdict verdict;
		enum gate_kind kind;
	} rows[] = {{healthy_again, GATE_SAME, GATE_NOTE},
	            {slow, GATE_WORSE, GATE_SLOWER},
	            {one_fails, GATE_WORSE, GATE_FAILURE},
	            {one_is_left_out, GATE_OPEN, GATE_LOST},
	            {no_names, GATE_OPEN, GATE_LOST}};
	struct runs x;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		open_runs(&x, rows[i].now, healthy);
		expect_gate(&x, rows[i].verdict, rows[i].kind, 1);
		assert_int_equal(x.g.compared, 1);
		close_runs(&x);
	}
	/* What fails and was never measured: nobody knows whether it is new. */
	open_runs(&x, job_fails, no_job);
	expect_gate(&x, GATE_OPEN, GATE_UNCLEAR, 1);
	close_runs(&x);
	open_runs(&x, job_fails, healthy);
	expect_gate(&x, GATE_OPEN, GATE_UNCLEAR, 1);
	close_runs(&x);
	open_runs(&x, job_fails, job_fails);
	expect_gate(&x, GATE_SAME, GATE_FAILURE, 0);
	close_runs(&x);
	/* What the new run measures beyond the baseline is no loss. */
	open_runs(&x, healthy, no_names);
	expect_gate(&x, GATE_SAME, GATE_LOST, 0);
	close_runs(&x);
}

static void runs_that_do_not_compare(void **state)
{
	struct runs x;

	(void)state;
	open_runs(&x, healthy, other_card);
	expect_refused(&x, "figures of different cards do not compare");
	close_runs(&x);
	open_runs(&x, healthy, nothing_measured);
	expect_refused(&x, "no measured figure");
	close_runs(&x);
	open_runs(&x, healthy, healthy_again);
	x.dir[1].state = JOURNAL_ALTERED;
	expect_refused(&x, "was altered");
	x.dir[1].state = JOURNAL_INTACT;
	x.dir[1].info.created = "2026-12-09T03:04:05.678Z";
	expect_gate(&x, GATE_SAME, GATE_NOTE, 2); /* never accepted; the clock */
	close_runs(&x);
}

static void accepted_baselines(void **state)
{
	struct error err = {0};
	struct runs x;

	(void)state;
	open_runs(&x, healthy_again, healthy);
	assert_int_equal(baseline_check(&x.dir[1], &err), ST_NOTFOUND);
	assert_int_equal(baseline_accept(&x.dir[1], "2026-12-02T03:04:05.678Z", &err), ST_OK);
	assert_int_equal(baseline_check(&x.dir[1], &err), ST_OK);
	expect_gate(&x, GATE_SAME, GATE_NOTE, 0);
	x.dir[1].digest = "0000";
	expect_refused(&x, "is not the run that was accepted");
	x.dir[1].state = JOURNAL_CUT;
	assert_int_equal(baseline_accept(&x.dir[1], "t", &err), ST_USAGE);
	error_release(&err);
	close_runs(&x);
}

/* --- fingerprints and the file ---------------------------------------------------------------- */

static void software_is_classed(void **state)
{
	static const char before[] =
		"{\"gpu\":{\"kernel_driver\":\"550\",\"ofed\":\"24\"},"
		"\"packages\":{\"deb vim\":\"9\",\"wheel a in /x\":\"1\"},\"v\":1}";
	static const char now[] = "{\"gpu\":{\"kernel_driver\":\"570\",\"ofed\":\"24\"},"
				  "\"mounts\":{\"/data\":\"nfs4\"},"
				  "\"packages\":{\"wheel a in /x\":\"2\"},\"v\":1}";
	struct str a = {0}, b = {0};
	struct error err = {0};
	struct runs x;
	int count[GATE_CLASSES] = {0};

	(void)state;
	open_runs(&x, healthy_again, healthy);
	str_add(&a, before);
	str_add(&b, now);
	assert_int_equal(gate_diff(&x.g, "a", &a, "b", &b, &err), ST_OK);
	for (int i = 0; i < x.g.n_lines; i++)
		count[x.g.lines[i].class]++;
	assert_int_equal(count[GATE_BREAKING], 1);
	assert_int_equal(count[GATE_WATCH], 2);
	assert_int_equal(count[GATE_HARMLESS], 1);
	assert_string_equal(x.g.lines[0].text, "gpu kernel_driver: 550 -> 570");
	str_add(&b, "}");
	assert_int_equal(gate_diff(&x.g, "a", &a, "b", &b, &err), ST_PARSE);
	error_release(&err);
	str_release(&a);
	str_release(&b);
	expect_gate(&x, GATE_WORSE, GATE_SOFTWARE, 4);
	close_runs(&x);
}

/* Documents of a node: one part, the driver. */
static const char *document(const char *driver)
{
	return tmpf("{\"gpu\":{\"kernel_driver\":\"%s\"},\"v\":1}", driver);
}

static void put_print(struct journal *j, const char *node, const char *driver)
{
	struct reading r = card_reading(node, 0);
	const char *text = document(driver);
	char hex[SHA256_HEX];

	sha256_text(text, strlen(text), hex);
	r.node = node;
	r.metric = "sw_fingerprint";
	r.unit = "text";
	r.better = BETTER_NEITHER;
	r.value_kind = VALUE_TEXT;
	r.text = hex;
	r.params = tmpf("{\"gpu\":\"%s\"}", driver);
	r.raw = (struct raw_file){tmpf("%s.json", node), hex, (int64_t)strlen(text)};
	assert_int_equal(append(j, &r, NULL), ST_OK);
}

/* Node n1 has had another driver ever since. */
static void four_nodes(struct journal *j)
{
	put_print(j, "n1", "535");
	for (int i = 2; i <= 4; i++)
		put_print(j, tmpf("n%d", i), "550");
}

static void one_node_changed(struct journal *j)
{
	put_print(j, "n1", "535");
	put_print(j, "n2", "550");
	put_print(j, "n3", "570");
	put_print(j, "n4", "550");
}

static void one_node_is_new(struct journal *j)
{
	put_print(j, "n1", "535");
	put_print(j, "n9", "550");
}

static void put_document(const struct place *p, const char *node, const char *driver)
{
	const char *text = document(driver);

	assert_int_equal(file_write(tmpf("%s/%s.json", p->dir, node), text, strlen(text), NULL),
	                 ST_OK);
}

static void documents(const struct runs *x, const char *n3)
{
	for (int i = 1; i <= 4; i++) {
		put_document(&x->base, tmpf("n%d", i), i == 1 ? "535" : "550");
		put_document(&x->now, tmpf("n%d", i), i == 1 ? "535" : i == 3 ? n3 : "550");
	}
}

static void each_node_beside_itself(void **state)
{
	struct runs x;

	(void)state;
	open_runs(&x, one_node_changed, four_nodes);
	documents(&x, "570");
	expect_gate(&x, GATE_WORSE, GATE_SOFTWARE, 1);
	assert_string_equal(x.g.lines[0].text,
	                    "gpu kernel_driver: 550 -> 570 (nodes: 1 of 4, n3 first)");
	close_runs(&x);
	open_runs(&x, one_node_is_new, four_nodes);
	expect_gate(&x, GATE_SAME, GATE_SOFTWARE, 0);
	close_runs(&x);
	/* Not there, or not what was recorded: that it is harmless cannot be told. */
	for (int i = 0; i < 2; i++) {
		open_runs(&x, one_node_changed, four_nodes);
		if (i)
			documents(&x, "550");
		expect_gate(&x, GATE_OPEN, GATE_UNCLEAR, 1);
		assert_non_null(strstr(x.g.lines[0].text, "n3 differs (gpu)"));
		close_runs(&x);
	}
}

static void bad_tolerance_files(void **state)
{
	static const struct {
		const char *text, *word;
	} rows[] = {
		{"{\"v\":2}", "\"v\" is not 1"},
		{"{\"v\":1,\"tolerances\":[{\"pattern\":\"*\",\"tolerance\":3,\"run_to_run\":0}]}",
	         "\"tolerance\" is a share"},
		{"{\"v\":1,\"tolerances\":[{\"tolerance\":0.1,\"run_to_run\":0}]}", "\"pattern\""},
		{"{\"v\":1,\"classes\":[{\"pattern\":\"*\",\"class\":\"bad\"}]}",
	         "breaking, watch"},
		{"{\"v\":1,\"classes\":[{\"class\":\"watch\"}]}", "\"pattern\""},
		{"nothing", "1:1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gate_rules rules;
		struct arena arena = {0};
		struct error err = {0};

		assert_int_equal(gate_rules_read(&rules, &arena, "file", rows[i].text,
		                                 strlen(rows[i].text), &err),
		                 ST_PARSE);
		if (!strstr(str_text(&err.text), rows[i].word))
			fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), rows[i].word);
		error_release(&err);
		arena_release(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_percent_is_found),
		cmocka_unit_test(no_false_regression),
		cmocka_unit_test(lower_is_better_too),
		cmocka_unit_test(the_same_cards_are_paired),
		cmocka_unit_test(several_baselines_tell_the_run_noise),
		cmocka_unit_test(a_single_value),
		cmocka_unit_test(too_few_to_tell),
		cmocka_unit_test(whole_runs),
		cmocka_unit_test(runs_that_do_not_compare),
		cmocka_unit_test(accepted_baselines),
		cmocka_unit_test(software_is_classed),
		cmocka_unit_test(each_node_beside_itself),
		cmocka_unit_test(bad_tolerance_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
