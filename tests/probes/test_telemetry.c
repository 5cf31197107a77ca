/* Telemetry on a function table filled by hand: reasons that hold clocks down come
 * several at a time, and each bit counts for itself. */
#include "probe_harness.h"

#include <math.h>
#include <string.h>

#include "telemetry.h"

static unsigned long long mask;
static nvml_result mask_code;

static nvml_result reasons(nvml_device dev, unsigned long long *out)
{
	(void)dev;
	*out = mask;
	return mask_code;
}

/* One second with that mask; the words of the reading's params. */
static struct telemetry_sum second_of(unsigned long long bits, struct str *words)
{
	struct fake_clock clock;
	struct telemetry t = {.clock = &clock.source, .ready = true};
	struct telemetry_sum sum;
	struct json_out j = json_writer(words, 0);

	mask = bits;
	t.nvml.call.event_reasons = reasons;
	fake_clock_init(&clock, NS_PER_S, 0);
	telemetry_begin(&t);
	clock.now_ns += NS_PER_S;
	telemetry_sample(&t);
	telemetry_end(&t, &sum);
	str_clear(words);
	json_object_begin(&j, NULL);
	telemetry_put(&sum, &j);
	json_object_end(&j);
	return sum;
}

/* Checkers that compare the mask with single flags let combined ones fall through. Idling
 * and the power limit are information; heat, the board and the brake are faults. */
static void each_bit_counts_for_itself(void **state)
{
	static const struct {
		unsigned long long mask;
		double cap_s, slow_s;
		const char *words;
	} rows[] = {
		{0x0, 0, 0, "\"clock_reasons\":[]"},
		{0x1, 0, 0, "\"clock_reasons\":[]"},
		{0x5, 1, 0, "[\"power_cap\"]"},
		{0x48, 0, 1, "[\"hw_slowdown\",\"hw_thermal\"]"},
		{0x24, 1, 1, "[\"power_cap\",\"sw_thermal\"]"},
		{0x80, 0, 1, "[\"power_brake\"]"},
		{0x112, 0, 0, "[\"application_clocks\",\"sync_boost\",\"display\"]"},
		/* Bits of drivers to come are no fault, and hide none. */
		{0x8000000000000000ULL, 0, 0, "\"clock_reasons\":[]"},
		{0x8000000000000040ULL, 0, 1, "[\"hw_thermal\"]"},
	};
	struct str words = {0};

	(void)state;
	mask_code = NVML_OK;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct telemetry_sum sum = second_of(rows[i].mask, &words);

		if (sum.power_cap_s != rows[i].cap_s || sum.slowdown_s != rows[i].slow_s)
			fail_msg("%llx: capped %g s, slowed %g s", rows[i].mask, sum.power_cap_s,
			         sum.slowdown_s);
		if (!strstr(words.data, rows[i].words))
			fail_msg("%llx: %s", rows[i].mask, words.data);
	}
	str_release(&words);
}

/* No answer is not "no reason". */
static void no_answer_is_no_zero(void **state)
{
	struct str words = {0};
	struct telemetry_sum sum;

	(void)state;
	mask_code = NVML_NO_PERMISSION;
	sum = second_of(0x48, &words);
	assert_true(isnan(sum.power_cap_s) && isnan(sum.slowdown_s));
	assert_int_equal(sum.samples, 1);
	assert_non_null(strstr(words.data, "\"slowdown_s\":null"));
	str_release(&words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_bit_counts_for_itself),
		cmocka_unit_test(no_answer_is_no_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
