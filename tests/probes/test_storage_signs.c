/* storage: when speeds are a sign, windows and their logs, tokens, and a run with
 * everything in it. */
#include "storage_kit.h"

#include <math.h>

#include "base/json.h"
#include "base/proc.h"
#include "fio_series.h"
#include "storage_signs.h"
#include "storage_token.h"

/* --- signs --------------------------------------------- */

static struct storage_sign sign(const double *a, const double *b, int n, double limit, bool above)
{
	struct sign_pairs p = {.n = n};

	memcpy(p.a, a, (size_t)n * sizeof(*a));
	memcpy(p.b, b, (size_t)n * sizeof(*b));
	return storage_sign_of("x", &p, limit, above);
}

static void a_sign_needs_its_whole_interval(void **state)
{
	static const double fast[] = {200, 210, 190}, base[] = {100, 100, 100},
			    noisy[] = {90, 400, 110}, near[] = {123.9, 124, 124.1};
	struct storage_sign s;

	(void)state;
	s = sign(fast, base, 3, 1.2, true);
	assert_true(s.known && s.shows && fabs(s.ratio.value - 1.99833) < 1e-4);
	assert_true(s.ratio.lo > 1.4 && s.ratio.hi < 2.8);
	s = sign(noisy, base, 3, 1.2, true);
	assert_true(s.known && !s.shows && s.ratio.value > 1.2);
	assert_true(sign(near, base, 3, 1.2, true).shows);
	assert_false(sign(near, base, 3, 1.24, true).shows);
	/* A drop: the other direction, as strictly. */
	assert_true(sign(base, fast, 3, 0.9, false).shows);
	assert_false(sign(base, noisy, 3, 0.9, false).shows);
}

static void a_sign_that_cannot_be_known(void **state)
{
	static const double a[] = {5, 0, 5}, b[] = {1, 1, 1};

	(void)state;
	assert_false(sign(b, b, 2, 1.2, true).known);
	assert_false(sign(a, b, 3, 1.2, true).known);
	assert_false(sign(b, a, 3, 1.2, true).known);
	assert_false(sign(b, a, 3, 1.2, true).shows);
}

static void windows_are_cut_into_blocks(void **state)
{
	static const double a[] = {1, 3, 5, 7, 9, 11}, b[] = {2, 2, 4, 4, 6, 6, 8, 8, 10};
	struct sign_pairs p = storage_blocks(a, 6, b, 9);

	(void)state;
	assert_int_equal(p.n, 3);
	assert_true(p.a[0] == 2 && p.a[1] == 6 && p.a[2] == 10);
	assert_true(fabs(p.b[0] - 8.0 / 3) < 1e-12 && fabs(p.b[2] - 26.0 / 3) < 1e-12);
	assert_int_equal(storage_blocks(a, 2, b, 9).n, 0);
	assert_int_equal(storage_blocks(a, 3, b, 3).n, 3);
}

/* --- recorded series of an honest disk --------------------------------------------- */

static struct sign_pairs recorded_pairs(const cJSON *sign)
{
	const cJSON *a = json_get(sign, "a"), *b = json_get(sign, "b");
	struct sign_pairs p = {.n = cJSON_GetArraySize(a)};

	assert_true(p.n >= 3 && p.n <= SIGN_PAIRS && cJSON_GetArraySize(b) == p.n);
	for (int i = 0; i < p.n; i++) {
		p.a[i] = cJSON_GetArrayItem(a, i)->valuedouble;
		p.b[i] = cJSON_GetArrayItem(b, i)->valuedouble;
	}
	return p;
}

static int shows(const cJSON *run, const char *name, double limit, bool above)
{
	struct sign_pairs p = recorded_pairs(json_get(run, name));
	struct storage_sign s = storage_sign_of(name, &p, limit, above);

	assert_true(s.known);
	return s.shows;
}

/* Twenty runs on a shared virtual disk with other work beside them: a single sign
 * may show by chance, two of a kind never did. */
static void an_honest_disk_raises_no_finding(void **state)
{
	struct str text = {0};
	struct json_doc doc;
	int runs = 0, alone = 0;

	(void)state;
	assert_int_equal(
		file_read(&text, TESTS_DIR "/probes/data/storage/honest.json", 1 << 20, NULL),
		ST_OK);
	assert_int_equal(json_parse(&doc, "honest", text.data, text.len, 0, NULL), ST_OK);
	for (const cJSON *run = json_get(doc.root, "runs")->child; run; run = run->next, runs++) {
		int cache = shows(run, "reread", REREAD_LIMIT, true) +
		            shows(run, "working_set", WORKING_SET_LIMIT, true) +
		            shows(run, "random_over_sequential", RANDOM_LIMIT, true);
		int burst = shows(run, "thirds", DROP_LIMIT, false) +
		            shows(run, "after_hold", DROP_LIMIT, false);

		assert_true(cache < 2 && burst < 2);
		alone += cache + burst;
	}
	assert_int_equal(runs, 20);
	print_message("single signs in 20 honest runs: %d\n", alone);
	json_release(&doc);
	str_release(&text);
}

/* --- windows --------------------------------------------- */

static struct fio_series series_of(struct place *p, double runtime, const char *one,
                                   const char *two, double total)
{
	struct fio_series s;

	fio_series_init(&s, &p->h.arena, runtime, 1);
	assert_true(fio_series_add(&s, one));
	if (two)
		assert_true(fio_series_add(&s, two));
	fio_series_finish(&s, total, two ? 2 : 1);
	return s;
}

static bool near(double a, double b)
{
	return fabs(a - b) < 1e-9 * fmax(fabs(a), 1);
}

static void logs_of_threads_add_up(void **state)
{
	struct place *p = *state;
	struct fio_series s = series_of(p, 2, "1000, 10, 0, 0, 0\n2000, 30, 0, 0, 0\n",
	                                "1000, 1, 0, 0\n2000, 2, 0, 0\n", 43);

	assert_int_equal(s.n, 2);
	assert_true(near(s.ios[0], 11) && near(s.ios[1], 32));
	fio_series_init(&s, &p->h.arena, 5, 1);
	assert_false(fio_series_add(&s, ""));
	assert_false(fio_series_add(&s, "fio: out of memory\n"));
	assert_false(fio_series_add(&s, "1000, -5, 0\n"));
	assert_false(fio_series_add(&s, "1000\n"));
	assert_false(fio_series_add(&s, "2000, 5, 0\n1000, 5, 0\n"));
}

/* No line for two seconds in which nothing was done: fio counted no more either. */
static void a_stall_is_seen(void **state)
{
	struct fio_series s =
		series_of(*state, 5, "1000, 10, 0\n4000, 10, 0\n5000, 10, 0\n", NULL, 30);

	assert_true(near(s.ios[0], 10) && near(s.ios[3], 10) && near(s.ios[4], 10));
	assert_true(s.ios[1] == 0 && s.ios[2] == 0);
	/* At the end: fio waited for its I/Os. */
	s = series_of(*state, 4, "1000, 10, 0\n2000, 10, 0\n", NULL, 20);
	assert_true(s.n == 4 && near(s.ios[1], 10) && s.ios[2] == 0 && s.ios[3] == 0);
}

/* A busy machine wrote them late: the same lines, but fio counted more. */
static void late_lines_are_no_stall(void **state)
{
	struct fio_series s =
		series_of(*state, 5, "1000, 10, 0\n4000, 10, 0\n5000, 10, 0\n", NULL, 50);

	for (int i = 0; i < 5; i++)
		assert_true(near(s.ios[i], 10));
	s = series_of(*state, 3, "1000, 10, 0\n2600, 10, 0\n3000, 10, 0\n", NULL, 30);
	for (int i = 0; i < 3; i++)
		assert_true(near(s.ios[i], 10));
	/* The last line of one thread was cut off with the end of the run. */
	s = series_of(*state, 2.01, "1000, 10, 0\n2000, 10, 0\n", "1000, 10, 0\n", 40.2);
	assert_true(s.n == 2 && near(s.ios[0], 20) && fabs(s.ios[1] - 20) < 0.3);
}

static void write_log(struct place *p, int thread, const char *text)
{
	const char *path = arena_strf(&p->h.arena, "%s/s_iops.%d.log", p->bin, thread);

	assert_int_equal(file_write(path, text, strlen(text), NULL), ST_OK);
}

static void logs_are_taken_from_the_directory(void **state)
{
	struct place *p = *state;
	struct fio_result r = {.outcome = OUTCOME_MEASURED, .runtime_s = 2, .total_ios = 20};

	write_log(p, 1, "1000, 5, 0\n2000, 5, 0\n");
	write_log(p, 2, "1000, 5, 0\n2000, 5, 0\n");
	fio_series_take(&r, &p->h.arena, p->bin, "s", 2, 1);
	assert_true(r.n_windows == 2 && near(r.windows[0], 10) && near(r.windows[1], 10));
	assert_int_equal(files_in(p->bin), 0);
	/* A thread without a log: no series, rather than half of one. */
	r = (struct fio_result){.outcome = OUTCOME_MEASURED, .runtime_s = 1, .total_ios = 5};
	write_log(p, 1, "1000, 5, 0\n");
	fio_series_take(&r, &p->h.arena, p->bin, "s", 2, 1);
	assert_int_equal(r.n_windows, 0);
	assert_int_equal(files_in(p->bin), 0);
}

static void steadiness_of_windows(void **state)
{
	static const double w[] = {100, 100, 100, 50, 100, 100, 90, 80, 70};
	struct fio_steadiness s;

	(void)state;
	assert_true(fio_steadiness(&s, w, 9));
	assert_true(fabs(s.worst - 50 / (790.0 / 9)) < 1e-12);
	assert_true(fabs(s.thirds - 0.8) < 1e-12);
	assert_true(fabs(s.cv - 0.2036) < 1e-3);
	assert_false(fio_steadiness(&s, w, 2));
	assert_false(fio_steadiness(&s, (const double[]){0, 0, 0}, 3));
	assert_false(fio_steadiness(&s, NULL, 0));
}

/* --- tokens --------------------------------------------- */

static const char *node_dir(struct place *p, const char *run, const char *node)
{
	const char *dir = arena_strf(&p->h.arena, "%s/%s/%s", p->bin, run, node);

	assert_int_equal(dir_make(dir, NULL), ST_OK);
	return dir;
}

static void tokens_of_other_nodes(void **state)
{
	struct place *p = *state;
	struct arena *a = &p->h.arena;
	const char *one = node_dir(p, ".assay-1", "n001"), *two = node_dir(p, ".assay-1", "n002");
	const char *other = node_dir(p, ".assay-2", "n003"), *list;
	struct error err = {0};

	assert_int_equal(storage_token_put(one, NULL), ST_OK);
	assert_int_equal(storage_token_others(a, one, &list), 0);
	assert_int_equal(storage_token_put(two, NULL), ST_OK);
	assert_int_equal(storage_token_others(a, one, &list), 1);
	assert_string_equal(list, "n002");
	assert_int_equal(storage_token_others(a, two, &list), 1);
	/* Another run's directory, a copied one and an empty one are nobody. */
	assert_int_equal(storage_token_put(other, NULL), ST_OK);
	assert_int_equal(rename(other, arena_strf(a, "%s/.assay-1/n003", p->bin)), 0);
	node_dir(p, ".assay-1", "n004");
	assert_int_equal(rename(arena_strf(a, "%s/token", two),
	                        arena_strf(a, "%s/.assay-1/n004/token", p->bin)),
	                 0);
	assert_int_equal(storage_token_others(a, one, &list), 0);
	assert_int_equal(storage_token_put("/nonexistent/run/node", &err), ST_NOTFOUND);
	error_release(&err);
}

/* Of two runs on one path the later gives way; a lock nobody holds is nobody. */
static void another_run_on_the_path(void **state)
{
	struct place *p = *state;
	struct arena *a = &p->h.arena;
	struct str first = {0}, second = {0};
	int lock, later;

	assert_int_equal(scratch_make(p->bin, "1", "n001", &first, &lock, NULL), ST_OK);
	assert_int_equal(scratch_make(p->bin, "2", "n001", &second, &later, NULL), ST_OK);
	assert_null(storage_other_run(a, first.data));
	assert_string_equal(storage_other_run(a, second.data), ".assay-1");
	p->h.ctx.scratch = second.data;
	harness_run(&p->h, ST_OK);
	expect_rest(&p->h, OUTCOME_NOT_MEASURED, "storage_busy", "storage_fs");
	scratch_close(first.data, lock);
	assert_null(storage_other_run(a, second.data));
	scratch_close(second.data, later);
	/* Not a directory of ours at all. */
	assert_null(storage_other_run(a, p->scratch));
	assert_null(storage_other_run(a, "/nonexistent"));
	p->h.ctx.scratch = p->scratch;
	str_release(&first);
	str_release(&second);
}

/* --- everything at once --------------------------------------------- */

static void check_signs(struct place *p)
{
	const struct reading *cache =
		harness_expect(&p->h, "storage_cache_signs", OUTCOME_MEASURED, NULL);
	const struct reading *burst =
		harness_expect(&p->h, "storage_burst_signs", OUTCOME_MEASURED, NULL);

	assert_true(cache->value >= 0 && cache->value <= CACHE_SIGN_KINDS);
	assert_true(burst->value >= 0 && burst->value <= 2);
	assert_string_equal(harness_expect(&p->h, "storage_signs", OUTCOME_MEASURED, NULL)->text,
	                    cache->value + burst->value == 0
	                            ? "none"
	                            : harness_reading(&p->h, "storage_signs")->text);
	assert_non_null(strstr(cache->params, "\"working_set\":{\"known\":true"));
	assert_non_null(strstr(burst->params, "\"after_hold\":{\"known\":true"));
	assert_non_null(harness_raw(&p->h, "fio-second3.json"));
	assert_non_null(harness_raw(&p->h, "fio-stream1.json"));
}

static void a_held_point_tells_how_steady_it_was(void **state)
{
	struct place *p = *state;
	const struct reading *limit, *cv;
	char point[20];

	set_short(&p->h);
	harness_set(&p->h, "depths", "2");
	harness_set(&p->h, "hold_s", "1.5");
	harness_set(&p->h, "pairs", "3");
	harness_set(&p->h, "pair_s", "0.1");
	harness_set(&p->h, "p99_ms", "1000");
	harness_run(&p->h, ST_OK);
	limit = harness_expect(&p->h, "storage_limit", OUTCOME_MEASURED, NULL);
	snprintf(point, sizeof(point), "depth=%.0f", harness_param(limit, "depth"));
	cv = harness_reading_at(&p->h, "storage_read_cv", point);
	assert_int_equal(cv->outcome, OUTCOME_MEASURED);
	assert_true(harness_param(cv, "windows") >= 9 && harness_param(cv, "runtime_s") >= 1.4);
	assert_true(harness_reading_at(&p->h, "storage_read_thirds", point)->value > 0);
	assert_true(harness_reading_at(&p->h, "storage_read_worst_second", point)->value <= 1);
	assert_true(harness_reading_at(&p->h, "storage_read_iops", point)->value ==
	            harness_expect(&p->h, "storage_read_iops_max", OUTCOME_MEASURED, NULL)->value);
	assert_true(harness_expect(&p->h, "storage_offered_iops", OUTCOME_MEASURED, NULL)->value >
	            0);
	check_signs(p);
	assert_int_equal(files_in(p->scratch), 0);
}

/* No depth is below the limit: nothing to hold, and the readings say that. */
static void no_point_below_the_limit(void **state)
{
	struct place *p = *state;

	set_short(&p->h);
	harness_set(&p->h, "depths", "2");
	harness_set(&p->h, "hold_s", "1");
	harness_set(&p->h, "p99_ms", "0.001");
	harness_run(&p->h, ST_OK);
	harness_expect(&p->h, "storage_read_cv", OUTCOME_NOT_MEASURED, "storage_no_point");
	harness_expect(&p->h, "storage_burst_signs", OUTCOME_NOT_MEASURED, "storage_no_point");
	harness_expect(&p->h, "storage_cache_signs", OUTCOME_NOT_MEASURED, "storage_left_out");
	assert_true(
		harness_expect(&p->h, "storage_depth_below_1ms", OUTCOME_MEASURED, NULL)->value ==
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sign_needs_its_whole_interval), TEST(a_sign_that_cannot_be_known),
		TEST(windows_are_cut_into_blocks),     TEST(an_honest_disk_raises_no_finding),
		TEST(logs_of_threads_add_up),          TEST(a_stall_is_seen),
		TEST(late_lines_are_no_stall),         TEST(logs_are_taken_from_the_directory),
		TEST(steadiness_of_windows),           TEST(tokens_of_other_nodes),
		TEST(another_run_on_the_path),         TEST(a_held_point_tells_how_steady_it_was),
		TEST(no_point_below_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
