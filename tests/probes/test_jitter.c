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
	} rows[] = {{40, -1}, {999, -1}, {1000, 0}, {1999, 0}, {2000, 1}, {9999, 3}, {128000, 7},
	            {1000000, 9}, {(int64_t)1 << 62, GAP_CLASSES - 1}};

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
	harness_expect(&h, "jitter_card_stolen", OUTCOME_NOT_MEASURED, NULL);
	harness_release(&h);
}

