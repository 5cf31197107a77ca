/* jitter: gaps by hand and by a fake clock, and a real watch of this machine. */
#include "probe_harness.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "gaps.h"
#include "hw/host.h"

extern const struct probe probe_jitter;

static void gaps_are_sorted_by_length(void **state)
{
	static const struct {
		int64_t ns;
		int class; /* -1: below a microsecond */
	} rows[] = {{40, -1},    {999, -1},    {1000, 0},
	            {1999, 0},   {2000, 1},    {9999, 3},
	            {128000, 7}, {1000000, 9}, {(int64_t)1 << 62, GAP_CLASSES - 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gaps g = {0};
		int64_t sum = 0;

		gaps_add(&g, rows[i].ns, 5, 10000);
		for (int k = 0; k < GAP_CLASSES; k++)
			sum += g.count[k];
		assert_int_equal(sum, rows[i].class >= 0);
		if (rows[i].class >= 0)
			assert_true(g.total_ns[rows[i].class] == rows[i].ns);
		assert_true(g.longest_ns == rows[i].ns);
		assert_int_equal(g.over_count, rows[i].ns >= 10000);
	}
}

/* Ticks 100 ns a reading, except for one leap of 3 ms. */
struct leaping {
	struct clock_source source;
	int64_t now;
	int readings;
};

static int64_t leaping_now(void *self)
{
	struct leaping *c = self;

	c->now += ++c->readings == 5000 ? 3 * NS_PER_MS : 100;
	return c->now;
}

static void a_stolen_slice_is_found(void **state)
{
	struct leaping c = {.source = {.now_ns = leaping_now}};
	struct gaps g = {0};

	(void)state;
	c.source.self = &c;
	gaps_watch(&g, &c.source, 10 * NS_PER_MS, 10000);
	assert_int_equal(g.watched_ns, 10 * NS_PER_MS);
	assert_int_equal(g.longest_ns, 3 * NS_PER_MS);
	assert_int_equal(g.longest_at_ns, 3 * NS_PER_MS + 4998 * 100);
	assert_int_equal(g.over_count, 1);
	assert_int_equal(g.over_ns, 3 * NS_PER_MS);
	assert_int_equal(g.count[11], 1);
	assert_int_equal(g.readings, 1 + 7 * NS_PER_MS / 100);
}

static void this_machine(void **state)
{
	struct harness h;
	const struct reading *stolen, *longest;
	int allowed;

	(void)state;
	harness_init(&h, &probe_jitter);
	harness_set(&h, "seconds", "0.2");
	harness_run(&h, ST_OK);
	stolen = harness_expect(&h, "jitter_cpu_stolen", OUTCOME_MEASURED, NULL);
	longest = harness_expect(&h, "jitter_cpu_longest_us", OUTCOME_MEASURED, NULL);
	host_allowed_cpus(&h.arena, "", &allowed);
	assert_true(stolen->value >= 0 && stolen->value < 1);
	assert_true(stolen->stats[STAT_N] >= 1 && stolen->stats[STAT_N] <= allowed);
	assert_true(stolen->value == stolen->stats[STAT_MAX]);
	assert_true(harness_param(stolen, "stolen") == stolen->value);
	assert_true(harness_param(longest, "longest_us") == longest->value);
	assert_true(harness_param(stolen, "seconds") >= 0.2);
	assert_true(harness_param(stolen, "cpus_pinned") == stolen->stats[STAT_N]);
	assert_true(harness_param(stolen, "clock_read_ns") > 0);
	assert_true(str_starts(harness_raw(&h, "jitter.csv")->data, "cpu,from_us,gaps,total_ns\n"));
	assert_int_equal(harness_reading(&h, "jitter_card_stolen")->outcome, OUTCOME_NOT_MEASURED);
	harness_release(&h);
}

static void one_after_the_other(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_jitter);
	harness_set(&h, "seconds", "0.01");
	harness_set(&h, "mode", "in_turn");
	harness_run(&h, ST_OK);
	assert_string_equal(
		harness_param_text(&h, harness_reading(&h, "jitter_cpu_stolen"), "mode"),
		"in_turn");
	assert_true(probe_jitter.duration(&h.ctx) > 1);
	harness_release(&h);
}

/* A recorded machine: its quota of 1.5 CPUs leaves one to watch, its counters
 * stand still, so nothing can be said about steal. */
static void a_quota_is_kept_to(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_jitter);
	h.ctx.sys_root = TESTS_DIR "/nodes/vm-cgroup1";
	harness_set(&h, "seconds", "0.01");
	harness_run(&h, ST_OK);
	assert_true(harness_param(harness_reading(&h, "jitter_cpu_stolen"), "cpus_watched") == 1);
	assert_true(harness_param(harness_reading(&h, "jitter_cpu_stolen"), "quota_throttled_us") ==
	            0);
	harness_expect(&h, "jitter_steal", OUTCOME_NOT_MEASURED, "host_unreadable");
	harness_release(&h);
}

static void a_virtual_clock_measures_nothing(void **state)
{
	static const char *const metrics[] = {"jitter_cpu_stolen", "jitter_cpu_longest_us",
	                                      "jitter_steal"};
	struct fake_clock clock;
	struct harness h;

	(void)state;
	fake_clock_init(&clock, 0, 1);
	harness_init(&h, &probe_jitter);
	h.ctx.clock = &clock.source;
	harness_run(&h, ST_OK);
	for (int i = 0; i < 3; i++)
		harness_expect(&h, metrics[i], OUTCOME_NOT_MEASURED, "virtual_clock");
	harness_release(&h);
}

static void unsaved_raw_data_is_an_error(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_jitter);
	harness_set(&h, "seconds", "0.01");
	h.raw_status = ST_NOSPACE;
	harness_run(&h, ST_NOSPACE);
	assert_int_equal(harness_count(&h, "jitter_cpu_stolen"), 0);
	harness_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gaps_are_sorted_by_length),
		cmocka_unit_test(a_stolen_slice_is_found),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(one_after_the_other),
		cmocka_unit_test(a_quota_is_kept_to),
		cmocka_unit_test(a_virtual_clock_measures_nothing),
		cmocka_unit_test(unsaved_raw_data_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
