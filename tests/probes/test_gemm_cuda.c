/* gemm on doubles of a GPU: figures are those of the node whatever a call costs,
 * and each thing that can be wrong with a card is said of it. */
#include "card_kit.h"

#include <math.h>
#include <sys/stat.h>

#include "cards.h"
#include "freivalds.h"

extern const struct probe probe_gemm;

#define A100 "a100-sxm4-80gb"
#define H100 "h100-sxm5-80gb"

/* Small enough to compute, long enough to judge. */
static void small(struct harness *h)
{
	harness_set(h, "card_order", "128");
	harness_set(h, "card_windows", "40");
	harness_set(h, "short_windows", "4");
	harness_set(h, "card_warmup_s", "0.00002");
	harness_set(h, "window_s", "0.000001");
	harness_set(h, "peak_windows", "1");
}

static void run(struct harness *h)
{
	small(h);
	harness_run(h, ST_OK);
}

static double value(const struct harness *h, const char *metric)
{
	return harness_expect(h, metric, OUTCOME_MEASURED, NULL)->value;
}

static const char *text(const struct harness *h, const char *metric)
{
	return harness_expect(h, metric, OUTCOME_MEASURED, NULL)->text;
}

/* --- figures -------------------------------------------------------------------- */

static void h100_rates(struct harness *h)
{
	const struct reading *r;

	run(h);
	assert_true(h->ctx.simulated);
	near(value(h, "gemm_fp64_tflops"), 34);
	near(value(h, "gemm_fp32_tflops"), 67);
	near(value(h, "gemm_tf32_tflops"), 494.7);
	near(value(h, "gemm_fp16_tflops"), 989.4);
	near(value(h, "gemm_bf16_tflops"), 989.4);
	near(value(h, "gemm_fp8_tflops"), 1978.9);
	near(value(h, "gemm_fp16_peak_tflops"), 989.4);
	near(value(h, "gemm_fp16_tflops_per_ghz"), 989.4 / 1.98);
	near(value(h, "gemm_host_per_event_s"), 1);
	assert_true(value(h, "gemm_wrong_elements") == 0);
	assert_true(value(h, "gemm_throttle_s") == 0);
	assert_true(value(h, "gemm_ecc_errors") == 0);
	assert_string_equal(text(h, "gemm_xids"), "none");
	r = harness_reading(h, "gemm_fp16_tflops");
	assert_true(r->stats[STAT_N] == 40);
	assert_true(r->stats[STAT_F95] < 0.001);
	assert_true(str_starts(r->subject.id, "GPU-"));
	assert_string_equal(r->subject.pci, "0000:17:00.0");
	assert_true(harness_param(r, "m") == 128);
	assert_true(harness_param(r, "sm_mhz") == 1980);
	assert_true(harness_param(r, "products_compared") >= 40);
	assert_true(harness_param(r, "sums_checked") == 128 * 2);
	assert_true(harness_param(r, "worst_of_tolerance") < 1);
	assert_string_equal(harness_param_text(h, r, "blas"), "cublas");
	assert_true(str_starts(harness_raw(h, "gemm-fp16.csv")->data, "window,calls,seconds"));
	/* What the page draws below the rate. */
	assert_non_null(strstr(harness_raw(h, "gemm-fp16.csv")->data,
	                       "sm_mhz_mean,celsius,power_w_mean\n"));
	assert_null(strstr(harness_raw(h, "gemm-fp16.csv")->data, "nan"));
}

/* Held back, queued work is timed the same whatever a call costs the host. */
static void rates_do_not_depend_on_the_host(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(H100), h100_rates);
	on_cards(&probe_gemm, CARDS(H100, ",\"costs\":{\"host_call_ns\":100}"), h100_rates);
	on_cards(&probe_gemm, CARDS(H100, ",\"costs\":{\"host_call_ns\":2000}"), h100_rates);
	on_cards(&probe_gemm, CARDS(H100, ",\"costs\":{\"host_call_ns\":5000}"), h100_rates);
}

static void a100_rates(struct harness *h)
{
	run(h);
	near(value(h, "gemm_fp64_tflops"), 9.7);
	near(value(h, "gemm_fp32_tflops"), 19.5);
	near(value(h, "gemm_fp16_tflops"), 312);
	harness_expect(h, "gemm_fp8_tflops", OUTCOME_UNSUPPORTED, "device_format");
	harness_expect(h, "gemm_fp8_peak_tflops", OUTCOME_UNSUPPORTED, "device_format");
	/* What it does not have is not missing from its digest. */
	assert_null(strstr(text(h, "gemm_digest"), "fp8"));
	assert_non_null(strstr(text(h, "gemm_digest"), "fp64:"));
}

static void v100_rates(struct harness *h)
{
	run(h);
	near(value(h, "gemm_fp16_tflops"), 125);
	harness_expect(h, "gemm_bf16_tflops", OUTCOME_UNSUPPORTED, "device_format");
	harness_expect(h, "gemm_tf32_tflops", OUTCOME_UNSUPPORTED, "device_format");
}

static void what_a_card_has_not_is_unsupported(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100), a100_rates);
	on_cards(&probe_gemm, CARDS("v100-sxm2-32gb"), v100_rates);
}

static void old_libraries(struct harness *h)
{
	h->ctx.lib_dir = OLDER;
	run(h);
	near(value(h, "gemm_fp16_tflops"), 312);
	assert_true(value(h, "gemm_throttle_s") == 0);
}

static void a_driver_of_cuda_11_will_do(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100, ",\"cuda\":11000"), old_libraries);
}

/* --- slow and unsteady ------------------------------------------------------------ */

static void slow_rates(struct harness *h)
{
	run(h);
	near(value(h, "gemm_fp16_tflops"), 0.8 * 312);
	near(value(h, "gemm_fp32_tflops"), 0.8 * 19.5);
	/* No clock explains it. */
	near(value(h, "gemm_fp16_tflops_per_ghz"), 0.8 * 312 / 1.41);
	assert_true(value(h, "gemm_throttle_s") == 0);
}

static void hot_rates(struct harness *h)
{
	const struct reading *r;

	run(h);
	near(value(h, "gemm_fp16_tflops"), 0.7 * 312);
	near(value(h, "gemm_fp16_tflops_per_ghz"), 312 / 1.41);
	assert_true(value(h, "gemm_throttle_s") > 0);
	r = harness_reading(h, "gemm_fp16_tflops");
	assert_true(harness_param(r, "celsius_most") == 91);
	assert_true(harness_param(r, "slowdown_s") > 0);
	assert_non_null(strstr(r->params, "\"hw_slowdown\",\"hw_thermal\""));
}

static void capped_rates(struct harness *h)
{
	const struct reading *r;

	run(h);
	assert_true(value(h, "gemm_throttle_s") == 0);
	r = harness_reading(h, "gemm_fp16_tflops");
	assert_true(harness_param(r, "power_cap_s") > 0);
	assert_non_null(strstr(r->params, "\"clock_reasons\":[\"power_cap\"]"));
}

static void slow_hot_and_capped_are_told_apart(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100, ",\"faults\":[{\"kind\":\"slow\",\"factor\":0.8}]"),
	         slow_rates);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"throttle\",\"factor\":0.7,"
	                     "\"reason\":\"hw_thermal\"}]"),
	         hot_rates);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"throttle\",\"factor\":0.9,"
	                     "\"reason\":\"power\"}]"),
	         capped_rates);
}

static void swinging(struct harness *h)
{
	const struct reading *r;

	small(h);
	harness_set(h, "card_windows", "120");
	harness_set(h, "extended_windows", "1200");
	harness_run(h, ST_OK);
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_MEASURED, NULL);
	/* 120 windows may not fail a card: it was measured on. */
	assert_true(r->stats[STAT_N] == 1200);
	assert_true(r->stats[STAT_F95] > 0.01);
	assert_non_null(strstr(r->params, "\"steady_before\":false"));
}

static void a_swinging_card_is_measured_on(void **state)
{
	(void)state;
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"oscillation\",\"factor\":0.96,"
	                     "\"period_s\":0.0001,\"reason\":\"none\"}]"),
	         swinging);
}

/* --- wrong results ------------------------------------------------------------------ */

static void one_bit(struct harness *h)
{
	const struct reading *r;

	run(h);
	r = harness_expect(h, "gemm_bf16_tflops", OUTCOME_FAILED, "gemm_different");
	/* Row and column as written: the library counts the other way round. */
	assert_non_null(strstr(r->reason.text, "1 elements of bf16"));
	assert_non_null(strstr(r->reason.text, "row 42, column 64"));
	harness_expect(h, "gemm_bf16_peak_tflops", OUTCOME_FAILED, "gemm_different");
	assert_true(value(h, "gemm_wrong_elements") == 1);
	/* The other precisions are what they are. */
	near(value(h, "gemm_fp16_tflops"), 312);
	near(value(h, "gemm_fp64_tflops"), 9.7);
}

static void a_tile(struct harness *h)
{
	run(h);
	harness_expect(h, "gemm_fp64_tflops", OUTCOME_FAILED, "gemm_different");
	assert_true(value(h, "gemm_wrong_elements") == 256);
}

static void a_nan(struct harness *h)
{
	run(h);
	harness_expect(h, "gemm_fp32_tflops", OUTCOME_FAILED, "gemm_different");
	assert_true(value(h, "gemm_wrong_elements") == 1);
}

static void always(struct harness *h)
{
	const struct reading *r;

	run(h);
	/* Always the same: only the host's own sums can tell. */
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_FAILED, "gemm_wrong");
	assert_non_null(strstr(r->reason.text, "row 42"));
	assert_true(harness_param(r, "elements_different") == 0);
	assert_true(value(h, "gemm_wrong_elements") == 1);
}

/* With a bad first result, which the others are held against, all of them look wrong:
 * the host's own sums say that it was the first. A NaN compares with no limit, and is
 * found by its bits. */
static void the_first(struct harness *h)
{
	const struct reading *r;

	run(h);
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_FAILED, "gemm_wrong");
	assert_non_null(strstr(r->reason.text, "row 42"));
	assert_true(harness_param(r, "elements_different") ==
	            harness_param(r, "products_compared"));
	assert_true(value(h, "gemm_wrong_elements") > 40);
	near(value(h, "gemm_bf16_tflops"), 312);
}

static void wrong_results_are_found(void **state)
{
	(void)state;
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"bf16\",\"what\":\"bit\","
	                     "\"bit\":0,\"after\":200}]"),
	         one_bit);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"fp64\",\"what\":\"tile\","
	                     "\"after\":20}]"),
	         a_tile);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"fp32\",\"what\":\"nan\","
	                     "\"after\":20}]"),
	         a_nan);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"fp16\",\"what\":\"bit\","
	                     "\"bit\":14,\"every\":1}]"),
	         always);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"fp16\",\"what\":\"bit\","
	                     "\"bit\":14}]"),
	         the_first);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"wrong\",\"of\":\"fp16\",\"what\":\"nan\"}]"),
	         the_first);
}

/* Both cards of a node; the second is wrong in the last bit, every time. */
static void two_digests(struct harness *h)
{
	const struct reading *a, *b;

	run(h);
	a = card_reading_of(h, "gemm_digest", "0000:17:00.0");
	b = card_reading_of(h, "gemm_digest", "0000:2a:00.0");
	assert_string_not_equal(a->text, b->text);
	/* FP16 alone differs; up to there nothing does. */
	assert_string_equal(strchr(a->text, ' '), strchr(b->text, ' '));
}

static void like_digests(struct harness *h)
{
	run(h);
	assert_string_equal(card_reading_of(h, "gemm_digest", "0000:17:00.0")->text,
	                    card_reading_of(h, "gemm_digest", "0000:2a:00.0")->text);
}

static void a_vote_finds_what_no_tolerance_can(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100, ",\"count\":2"), like_digests);
	on_cards(&probe_gemm,
	         CARDS(A100,
	               ",\"count\":2,\"faults\":[{\"kind\":\"wrong\",\"card\":1,\"of\":\"fp16\","
	               "\"what\":\"bit\",\"bit\":0,\"every\":1}]"),
	         two_digests);
}

static void not_fp32(struct harness *h)
{
	run(h);
	harness_expect(h, "gemm_fp32_tflops", OUTCOME_FAILED, "gemm_not_fp32");
	near(harness_reading(h, "gemm_fp32_tflops")->value, 156);
	near(value(h, "gemm_tf32_tflops"), 156);
}

static void tf32_in_the_place_of_fp32_is_no_rate(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100, ",\"faults\":[{\"kind\":\"tf32_as_fp32\"}]"), not_fp32);
}

static void bad_clock(struct harness *h)
{
	run(h);
	harness_expect(h, "gemm_fp16_tflops", OUTCOME_FAILED, "card_clock");
	near(value(h, "gemm_host_per_event_s"), 1 / 0.9);
}

static void good_clock(struct harness *h)
{
	run(h);
	near(value(h, "gemm_fp16_tflops"), 312 / 0.99);
}

static void an_event_clock_is_held_against_the_hosts(void **state)
{
	(void)state;
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"event_clock\",\"factor\":0.9}]"), bad_clock);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"event_clock\",\"factor\":0.99}]"),
	         good_clock);
}

/* --- errors and losses ----------------------------------------------------------------- */

static void lost_halfway(struct harness *h)
{
	const struct reading *r;

	run(h);
	/* What was done before stands. */
	near(card_reading_of(h, "gemm_fp16_tflops", "0000:17:00.0")->value, 312);
	r = card_reading_of(h, "gemm_fp64_tflops", "0000:17:00.0");
	assert_int_equal(r->outcome, OUTCOME_FAILED);
	assert_string_equal(r->reason.code, "card_refused");
	r = card_reading_of(h, "gemm_digest", "0000:17:00.0");
	assert_int_equal(r->outcome, OUTCOME_FAILED);
	/* And the other card does not notice. */
	for (const struct metric *m = probe_gemm.metrics; m->name; m++)
		if (m->backend == BACKEND_CUDA && !strstr(m->name, "fp8"))
			assert_int_equal(card_reading_of(h, m->name, "0000:2a:00.0")->outcome,
			                 OUTCOME_MEASURED);
	near(card_reading_of(h, "gemm_fp64_tflops", "0000:2a:00.0")->value, 9.7);
}

static void launch_fails(struct harness *h)
{
	const struct reading *r;

	run(h);
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_FAILED, "card_refused");
	assert_non_null(strstr(r->reason.text, "CUDA error 714 to 719"));
	harness_expect(h, "gemm_wrong_elements", OUTCOME_NOT_MEASURED, "card_refused");
}

static void old_ptx(struct harness *h)
{
	const struct reading *r;

	run(h);
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_NOT_MEASURED, "card_refused");
	assert_non_null(strstr(r->reason.text, "too old for Assay's device code"));
}

static void errors_counted(struct harness *h)
{
	run(h);
	assert_true(value(h, "gemm_ecc_errors") > 0);
	assert_string_equal(text(h, "gemm_xids"), "94");
}

static void failures_are_readings_of_the_card(void **state)
{
	(void)state;
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"count\":2,\"faults\":[{\"kind\":\"lost\",\"card\":0,"
	                     "\"after\":14000}]"),
	         lost_halfway);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"error\",\"call\":\"cuLaunchKernel\","
	                     "\"code\":719,\"every\":1,\"sticky\":true}]"),
	         launch_fails);
	on_cards(&probe_gemm, CARDS(A100, ",\"max_ptx\":50"), old_ptx);
	on_cards(&probe_gemm,
	         CARDS(A100, ",\"faults\":[{\"kind\":\"ecc\",\"rate\":100000},"
	                     "{\"kind\":\"xid\",\"code\":94,\"from_s\":0}]"),
	         errors_counted);
}

/* A directory with some of the doubles. */
static const char *only(struct harness *h, const char *const *names)
{
	static char dir[] = "/tmp/card-libs-XXXXXX";

	assert_non_null(mkdtemp(dir));
	for (; *names; names++)
		assert_int_equal(symlink(tmpf(STANDINS "/%s", *names), tmpf("%s/%s", dir, *names)),
		                 0);
	h->ctx.lib_dir = dir;
	return dir;
}

static void forget(const char *dir, const char *const *names)
{
	for (; *names; names++)
		unlink(tmpf("%s/%s", dir, *names));
	rmdir(dir);
}

static void no_nvml(struct harness *h)
{
	static const char *const names[] = {"libcuda.so.1", "libcublas.so.13", "libcublasLt.so.13",
	                                    NULL};
	const char *dir = only(h, names);

	run(h);
	forget(dir, names);
	/* The figures stand; what explains them says why it is not there. */
	near(value(h, "gemm_fp16_tflops"), 312);
	harness_expect(h, "gemm_throttle_s", OUTCOME_NOT_MEASURED, "card_refused");
	harness_expect(h, "gemm_fp16_tflops_per_ghz", OUTCOME_NOT_MEASURED, "card_refused");
	harness_expect(h, "gemm_ecc_errors", OUTCOME_NOT_MEASURED, "card_refused");
	harness_expect(h, "gemm_xids", OUTCOME_NOT_MEASURED, "card_refused");
}

static void no_cublas(struct harness *h)
{
	static const char *const names[] = {"libcuda.so.1", "libnvidia-ml.so.1", NULL};
	const char *dir = only(h, names);
	const struct reading *r;

	run(h);
	forget(dir, names);
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_NOT_MEASURED, "card_refused");
	assert_non_null(strstr(r->reason.text, "libcublas.so"));
	assert_true(str_starts(r->subject.id, "GPU-"));
}

static void no_lt(struct harness *h)
{
	static const char *const names[] = {"libcuda.so.1", "libcublas.so.13", "libnvidia-ml.so.1",
	                                    NULL};
	const char *dir = only(h, names);

	run(h);
	forget(dir, names);
	near(value(h, "gemm_fp16_tflops"), 989.4);
	harness_expect(h, "gemm_fp8_tflops", OUTCOME_NOT_MEASURED, "card_refused");
}

static void missing_libraries_cost_their_own_figures(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100), no_nvml);
	on_cards(&probe_gemm, CARDS(A100), no_cublas);
	on_cards(&probe_gemm, CARDS(H100), no_lt);
}

static void too_large(struct harness *h)
{
	small(h);
	harness_set(h, "card_order", "8192");
	harness_run(h, ST_OK);
	assert_non_null(
		strstr(harness_expect(h, "gemm_fp16_tflops", OUTCOME_NOT_MEASURED, "card_refused")
	                       ->reason.text,
	               "no 128 MiB of memory"));
}

static void memory_that_is_taken_is_no_slow_card(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100), too_large);
}

/* --- units ------------------------------------------------------------------- */

static void by_address(struct harness *h)
{
	h->ctx.subject_id = "0000:2a:00.0";
	run(h);
	assert_int_equal(harness_count(h, "gemm_fp16_tflops"), 1);
	assert_string_equal(harness_reading(h, "gemm_fp16_tflops")->subject.pci, "0000:2a:00.0");
	assert_int_equal(harness_reading(h, "gemm_fp16_tflops")->subject.index, 1);
}

static void by_wrong_address(struct harness *h)
{
	const struct reading *r;

	h->ctx.subject_id = "0000:99:00.0";
	run(h);
	r = harness_expect(h, "gemm_fp16_tflops", OUTCOME_NOT_MEASURED, "card_refused");
	assert_string_equal(r->subject.id, "0000:99:00.0");
	assert_string_equal(r->subject.pci, "0000:99:00.0");
	assert_non_null(strstr(r->reason.text, "CUDA_VISIBLE_DEVICES"));
}

static void a_unit_is_one_card(void **state)
{
	(void)state;
	on_cards(&probe_gemm, CARDS(A100, ",\"count\":2"), by_address);
	on_cards(&probe_gemm, CARDS(A100, ",\"count\":2"), by_wrong_address);
}

static void make_tree(char *root, const char *const *paths)
{
	assert_non_null(mkdtemp(root));
	for (; *paths; paths++)
		assert_int_equal(system(tmpf("mkdir -p '%s%s'", root, *paths)), 0);
}

static void units_come_from_the_kernels_list(void **state)
{
	static const char *const driver[] = {"/proc/driver/nvidia/gpus/0000:17:00.0",
	                                     "/proc/driver/nvidia/gpus/0000:2a:00.0", NULL};
	char root[] = "/tmp/card-tree-XXXXXX";
	const char *const *list;
	struct harness h;

	(void)state;
	make_tree(root, driver);
	harness_init(&h, &probe_gemm);
	h.ctx.sys_root = root;
	h.ctx.lib_dir = STANDINS;
	list = probe_gemm.subjects(&h.ctx);
	assert_string_equal(list[0], "0000:17:00.0");
	assert_string_equal(list[1], "0000:2a:00.0");
	assert_true(str_starts(list[2], "cpu-socket-"));
	/* Without a driver's library there is nobody to ask. */
	h.ctx.lib_dir = "/nonexistent";
	assert_string_equal(probe_gemm.subjects(&h.ctx)[0], "*");
	assert_true(str_starts(probe_gemm.subjects(&h.ctx)[1], "cpu-socket-"));
	harness_release(&h);
	assert_int_equal(system(tmpf("rm -rf '%s'", root)), 0);
}

static void the_plan_knows_how_long_a_card_takes(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_gemm);
	h.ctx.lib_dir = STANDINS;
	h.ctx.subject_id = "0000:17:00.0";
	h.ctx.budget = BUDGET_STANDARD;
	assert_true(probe_gemm.duration(&h.ctx) > 100);
	assert_true(probe_gemm.duration(&h.ctx) < 360);
	h.ctx.budget = BUDGET_QUICK;
	assert_true(probe_gemm.duration(&h.ctx) < 150);
	h.ctx.lib_dir = "/nonexistent";
	assert_true(probe_gemm.duration(&h.ctx) == 0);
	harness_release(&h);
}

/* --- values of formats ------------------------------------------------------------------ */

static void narrow_numbers_have_their_values(void **state)
{
	static const uint16_t half[] = {0x3c00, 0xc000, 0x7bff, 0x0001, 0x0400, 0x7c00};
	static const uint16_t brain[] = {0x3f80, 0xc2f7};
	static const uint8_t eight[] = {0x38, 0xc0, 0x7e, 0x01, 0x08, 0x7f};
	double out[6];

	(void)state;
	number_format_decode(NUMBER_FP16, half, out, 6);
	assert_true(out[0] == 1 && out[1] == -2 && out[2] == 65504);
	assert_true(out[3] == 0x1p-24 && out[4] == 0x1p-14 && isinf(out[5]));
	number_format_decode(NUMBER_BF16, brain, out, 2);
	assert_true(out[0] == 1 && out[1] == -123.5);
	number_format_decode(NUMBER_FP8, eight, out, 6);
	assert_true(out[0] == 1 && out[1] == -2 && out[2] == 448);
	assert_true(out[3] == 0x1p-9 && out[4] == 0x1p-6 && isnan(out[5]));
	assert_int_equal(number_format_result(NUMBER_FP8), NUMBER_BF16);
	assert_int_equal(number_format_result(NUMBER_TF32), NUMBER_TF32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_do_not_depend_on_the_host),
		cmocka_unit_test(what_a_card_has_not_is_unsupported),
		cmocka_unit_test(a_driver_of_cuda_11_will_do),
		cmocka_unit_test(slow_hot_and_capped_are_told_apart),
		cmocka_unit_test(a_swinging_card_is_measured_on),
		cmocka_unit_test(wrong_results_are_found),
		cmocka_unit_test(a_vote_finds_what_no_tolerance_can),
		cmocka_unit_test(tf32_in_the_place_of_fp32_is_no_rate),
		cmocka_unit_test(an_event_clock_is_held_against_the_hosts),
		cmocka_unit_test(failures_are_readings_of_the_card),
		cmocka_unit_test(missing_libraries_cost_their_own_figures),
		cmocka_unit_test(memory_that_is_taken_is_no_slow_card),
		cmocka_unit_test(a_unit_is_one_card),
		cmocka_unit_test(units_come_from_the_kernels_list),
		cmocka_unit_test(the_plan_knows_how_long_a_card_takes),
		cmocka_unit_test(narrow_numbers_have_their_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
