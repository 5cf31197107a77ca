/* gemm_alone on doubles of a GPU: the FP16 rate of a card in no company. */
#include "card_kit.h"

extern const struct probe probe_gemm_alone;

#define METRIC "gemm_alone_fp16_tflops"

static void run(struct harness *h)
{
	harness_set(h, "card_order", "128");
	harness_set(h, "window_s", "0.000001");
	harness_run(h, ST_OK);
}

static void two_cards(struct harness *h)
{
	const struct reading *r;

	run(h);
	assert_int_equal(h->n_readings, 2);
	r = card_reading_of(h, METRIC, "0000:17:00.0");
	assert_int_equal(r->outcome, OUTCOME_MEASURED);
	near(r->value, 312);
	assert_true(r->stats[STAT_N] == 2);
	near(card_reading_of(h, METRIC, "0000:2a:00.0")->value, 0.7 * 312);
	assert_true(str_starts(harness_raw(h, "gemm-alone.csv")->data, "window,calls,seconds"));
}

static void wrong_card(struct harness *h)
{
	run(h);
	harness_expect(h, METRIC, OUTCOME_FAILED, "gemm_wrong");
}

static void broken_card(struct harness *h)
{
	run(h);
	harness_expect(h, METRIC, OUTCOME_FAILED, "card_refused");
}

static void each_card_has_its_rate(void **state)
{
	(void)state;
	on_cards(&probe_gemm_alone,
	         CARDS("a100-sxm4-80gb", ",\"count\":2,\"faults\":[{\"kind\":\"slow\",\"card\":1,"
	                                 "\"factor\":0.7}]"),
	         two_cards);
}

static void a_rate_of_wrong_results_is_none(void **state)
{
	(void)state;
	on_cards(&probe_gemm_alone,
	         CARDS("a100-sxm4-80gb", ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"fp16\","
	                                 "\"what\":\"bit\",\"bit\":14,\"every\":1}]"),
	         wrong_card);
	on_cards(&probe_gemm_alone,
	         CARDS("a100-sxm4-80gb", ",\"faults\":[{\"kind\":\"error\",\"call\":"
	                                 "\"cuLaunchKernel\",\"code\":719,\"every\":1,"
	                                 "\"sticky\":true}]"),
	         broken_card);
}

static void units_are_gpus_only(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_gemm_alone);
	h.ctx.lib_dir = "/nonexistent";
	assert_string_equal(probe_gemm_alone.subjects(&h.ctx)[0], "*");
	assert_null(probe_gemm_alone.subjects(&h.ctx)[1]);
	assert_false(probe_gemm_alone.supported(&h.ctx).yes);
	harness_release(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_card_has_its_rate),
		cmocka_unit_test(a_rate_of_wrong_results_is_none),
		cmocka_unit_test(units_are_gpus_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
