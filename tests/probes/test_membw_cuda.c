/* membw on doubles of a GPU: figures are those of the node whatever a call
 * costs, and memory that is wrong, too small or slow is said of its card. */
#include "card_kit.h"

extern const struct probe probe_membw;

#define A100 "a100-sxm4-80gb"

static const char *const all[] = {"membw_read_gbs", "membw_write_gbs", "membw_copy_gbs",
                                  "membw_triad_gbs"};

static void small(struct harness *h)
{
	harness_set(h, "size", "256K");
	harness_set(h, "window_s", "0.000001");
	harness_set(h, "windows", "40");
}

static void expect_all(const struct harness *h, double gbs)
{
	for (int i = 0; i < 4; i++)
		near(harness_expect(h, all[i], OUTCOME_MEASURED, NULL)->value, gbs);
}

static void rates(struct harness *h)
{
	const struct reading *r;

	small(h);
	harness_run(h, ST_OK);
	assert_int_equal(h->n_readings, 4);
	expect_all(h, 2039);
	r = harness_reading(h, "membw_triad_gbs");
	assert_true(h->ctx.simulated);
	assert_string_equal(r->subject.pci, "0000:17:00.0");
	assert_true(r->stats[STAT_N] == 40);
	assert_true(harness_param(r, "array_bytes") == 256 << 10);
	assert_true(harness_param(r, "payload_bytes_per_pass") == 3 * (256 << 10));
	assert_true(harness_param(r, "memory_mhz") == 1593);
	assert_true(harness_param(harness_reading(h, "membw_copy_gbs"), "traffic_bytes_per_pass") ==
	            2 * (256 << 10));
	assert_true(
		str_starts(harness_raw(h, "membw_copy_gbs.csv")->data, "window,passes,seconds"));
}

static void rates_do_not_depend_on_the_host(void **state)
{
	(void)state;
	on_cards(&probe_membw, CARDS(A100), rates);
	on_cards(&probe_membw, CARDS(A100, ",\"costs\":{\"host_call_ns\":2000}"), rates);
	on_cards(&probe_membw, CARDS(A100, ",\"costs\":{\"host_call_ns\":5000}"), rates);
	on_cards(&probe_membw, CARDS(A100, ",\"cuda\":11000"), rates);
}

static void own_size(struct harness *h)
{
	small(h);
	harness_set(h, "size", "0");
	harness_set(h, "windows", "5");
	harness_run(h, ST_OK);
	expect_all(h, 2039);
	/* 1 GiB, by the share of its memory that a stand-in has. */
	assert_true(harness_param(harness_reading(h, all[0]), "array_bytes") >= 1 << 20);
}

static void too_large(struct harness *h)
{
	small(h);
	harness_set(h, "size", "30M");
	harness_run(h, ST_OK);
	for (int i = 0; i < 4; i++)
		assert_non_null(
			strstr(harness_expect(h, all[i], OUTCOME_NOT_MEASURED, "card_refused")
		                       ->reason.text,
		               "90.0 MiB of memory are needed"));
}

static void arrays_are_not_cut_to_fit(void **state)
{
	(void)state;
	on_cards(&probe_membw, CARDS(A100), own_size);
	on_cards(&probe_membw, CARDS(A100), too_large);
}

static void slow_memory(struct harness *h)
{
	small(h);
	harness_run(h, ST_OK);
	expect_all(h, 0.7 * 2039);
}

/* The second array, b, is read by all but the writing; the first is written. */
static void stuck_bit(struct harness *h)
{
	const struct reading *r;

	small(h);
	harness_run(h, ST_OK);
	r = harness_expect(h, "membw_copy_gbs", OUTCOME_FAILED, "membw_wrong");
	assert_non_null(strstr(r->reason.text, "of 32768 elements"));
	harness_expect(h, "membw_triad_gbs", OUTCOME_FAILED, "membw_wrong");
	harness_expect(h, "membw_write_gbs", OUTCOME_FAILED, "membw_sum");
	near(harness_expect(h, "membw_read_gbs", OUTCOME_MEASURED, NULL)->value, 2039);
}

static void clock_is_off(struct harness *h)
{
	small(h);
	harness_run(h, ST_OK);
	for (int i = 0; i < 4; i++)
		harness_expect(h, all[i], OUTCOME_FAILED, "card_clock");
}

static void lost(struct harness *h)
{
	small(h);
	harness_run(h, ST_OK);
	assert_int_equal(card_reading_of(h, "membw_triad_gbs", "0000:17:00.0")->outcome,
	                 OUTCOME_FAILED);
	near(card_reading_of(h, "membw_triad_gbs", "0000:2a:00.0")->value, 2039);
}

static void what_is_wrong_is_said(void **state)
{
	(void)state;
	on_cards(&probe_membw,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"slow\",\"factor\":0.7,\"of\":\"memory\"}]"),
	         slow_memory);
	on_cards(&probe_membw,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"bad_memory\",\"address\":4096,\"bit\":3,"
	                     "\"set\":true}]"),
	         stuck_bit);
	on_cards(&probe_membw,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"event_clock\",\"factor\":1.1}]"),
	         clock_is_off);
	on_cards(&probe_membw,
	         CARDS(A100, ",\"count\":2,\"faults\":[{\"kind\":\"lost\",\"card\":0,"
	                     "\"after\":1500}]"),
	         lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_do_not_depend_on_the_host),
		cmocka_unit_test(arrays_are_not_cut_to_fit),
		cmocka_unit_test(what_is_wrong_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
