/* Faults of a node file in speed, results and calls, seen where a probe would
 * see them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/standin/standin_kit.h"
#include "tests/unit/unit.h"

#define NODE(faults)                                                                               \
	"{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"count\":2,\"faults\":[" faults "]}"

static double gemm_tflops(struct bench *b, int times)
{
	static cu_ptr a, c;

	if (!a) {
		a = bench_alloc(b, 256 * 256 * 2);
		c = bench_alloc(b, 256 * 256 * 2);
		bench_fill(b, a, 65536, KERNEL_FP16, 1);
	}
	bench_hold(b);
	for (int i = 0; i < times; i++)
		SAME(bench_gemm(b, 256, CUDA_FP16, CUBLAS_COMPUTE_FP32, a, a, c), CUBLAS_OK);
	return times * 2.0 * 256 * 256 * 256 / bench_release(b) / 1e12;
}

static nvml_device nvml_card(const struct gpu *g, unsigned index)
{
	nvml_device d = NULL;

	SAME(g->nvml.init(), NVML_OK);
	SAME(g->nvml.by_index(index, &d), NVML_OK);
	return d;
}

/* --- speed ------------------------------------------------------------------------------- */

static void half_speed(const struct gpu *g)
{
	struct bench b;

	bench_open(&b, g, 0);
	NEAR(gemm_tflops(&b, 100), 156, 0.005);
}

static void slow(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"slow\",\"card\":0,\"factor\":0.5}"), half_speed);
	on_node(NODE("{\"kind\":\"foreign_process\",\"card\":0,\"factor\":0.5,\"pid\":7}"),
	        half_speed);
	on_node("{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"achieved\":{\"fp16\":0.5}}",
	        half_speed);
	on_node(NODE("{\"kind\":\"fewer_sms\",\"sm_count\":54}"), half_speed);
}

static void throttled(const struct gpu *g)
{
	struct bench b;
	nvml_device d = nvml_card(g, 0);
	unsigned long long mask;
	unsigned mhz;
	nvml_field field = {.id = NVML_FIELD_THERMAL_TIME};

	bench_open(&b, g, 0);
	NEAR(gemm_tflops(&b, 100), 312, 0.005);
	g->sleep_ns(1000000000);
	NEAR(gemm_tflops(&b, 100), 124.8, 0.005);
	SAME(g->nvml.event_reasons(d, &mask), NVML_OK);
	SAME(mask, NVML_REASON_HW_THERMAL | NVML_REASON_HW_SLOWDOWN);
	SAME(g->nvml.clock(d, NVML_SM_CLOCK, &mhz), NVML_OK);
	SAME(mhz, 564);
	SAME(g->nvml.fields(d, 1, &field), NVML_OK);
	CHECK(field.result == NVML_OK && field.value.u64 > 0);
}

static void throttle(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"throttle\",\"card\":0,\"from_s\":1,\"factor\":0.4,"
	             "\"reason\":\"hw_thermal\"}"),
	        throttled);
}

static void swings(const struct gpu *g)
{
	struct bench b;
	double low = 1e9, high = 0;

	bench_open(&b, g, 0);
	for (int i = 0; i < 20; i++) {
		double figure = gemm_tflops(&b, 10);

		low = fmin(low, figure);
		high = fmax(high, figure);
		g->sleep_ns(70000000);
	}
	NEAR(high, 312, 0.01);
	NEAR(low, 280.8, 0.01);
}

static void capped(const struct gpu *g)
{
	struct bench b;
	nvml_device d = nvml_card(g, 0);
	unsigned limit, power, normal;
	unsigned long long mask;

	bench_open(&b, g, 0);
	NEAR(gemm_tflops(&b, 10), 0.7 * 312, 0.005);
	SAME(g->nvml.power_limit(d, &limit), NVML_OK);
	SAME(g->nvml.power_default(d, &normal), NVML_OK);
	SAME(g->nvml.power(d, &power), NVML_OK);
	SAME(g->nvml.event_reasons(d, &mask), NVML_OK);
	SAME(limit, 300000);
	SAME(normal, 400000);
	SAME(power, 300000);
	SAME(mask, NVML_REASON_POWER_CAP);
}

static void unsteady(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"oscillation\",\"card\":0,\"period_s\":0.3,\"factor\":0.9}"),
	        swings);
	on_node(NODE("{\"kind\":\"power_limit\",\"card\":0,\"limit_w\":300,\"factor\":0.7}"),
	        capped);
}

/* The other card works all the while. */
static void disturbed(const struct gpu *g)
{
	struct bench b, other;
	cu_ptr p;
	u64 rounds = 100000;
	float x = 1, y = 1;
	cu_ptr span;

	bench_open(&b, g, 0);
	NEAR(gemm_tflops(&b, 50), 312, 0.005);
	bench_open(&other, g, 1);
	p = bench_alloc(&other, 4096);
	span = bench_alloc(&other, sizeof(struct kernel_span));
	for (int i = 0; i < 10; i++)
		SAME(LAUNCH(&other, "assay_fma32", 1, 256, &p, &rounds, &x, &y, &span), CU_OK);
	SAME(g->cu.context_set(b.context), CU_OK);
	NEAR(gemm_tflops(&b, 50), 0.8 * 312, 0.005);
}

static void siblings(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"siblings\",\"card\":0,\"factor\":0.8}"), disturbed);
}

static void sliced(const struct gpu *g)
{
	struct bench b;
	cu_ptr summary, rows;
	u64 max_rows = 8, duration = 100000000, threshold = 100000;
	struct kernel_gaps gaps;

	bench_open(&b, g, 0);
	summary = bench_alloc(&b, sizeof(gaps));
	rows = bench_alloc(&b, 8 * sizeof(struct kernel_gap));
	SAME(LAUNCH(&b, "assay_gaps", 1, 1, &summary, &rows, &max_rows, &duration, &threshold),
	     CU_OK);
	SAME(g->cu.copy_to_host(&gaps, summary, sizeof(gaps), b.stream), CU_OK);
	CHECK(gaps.gaps >= 9 && gaps.gaps <= 11);
	SAME(gaps.longest_cycles, 1410 * 4000);
	/* Long enough to see all slices: 60 % of the time is ours. */
	NEAR(gemm_tflops(&b, 500000), 0.6 * 312, 0.1);
}

static void time_sliced(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"time_sliced\",\"card\":0,\"period_s\":0.01,\"factor\":0.6}"),
	        sliced);
}

/* --- results ------------------------------------------------------------------------------ */

/* Bits that differ between the product and the same again; -1: NaN. */
static int differing(struct bench *b, cu_ptr a, cu_ptr c, cu_ptr d)
{
	static float x[64 * 64], y[64 * 64];
	int count = 0;

	SAME(bench_gemm(b, 64, CUDA_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, a, a, c), CUBLAS_OK);
	SAME(bench_gemm(b, 64, CUDA_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, a, a, d), CUBLAS_OK);
	SAME(b->g->cu.copy_to_host(x, c, sizeof(x), b->stream), CU_OK);
	SAME(b->g->cu.copy_to_host(y, d, sizeof(y), b->stream), CU_OK);
	for (int i = 0; i < 64 * 64; i++) {
		if (isnan(x[i]) || isnan(y[i]))
			return -1;
		count += memcmp(&x[i], &y[i], 4) != 0;
	}
	return count;
}

static int spoiled(const struct gpu *g, struct bench *b)
{
	cu_ptr a, c, d;

	bench_open(b, g, 0);
	a = bench_alloc(b, 64 * 64 * 4);
	c = bench_alloc(b, 64 * 64 * 4);
	d = bench_alloc(b, 64 * 64 * 4);
	bench_fill(b, a, 64 * 64, KERNEL_FP32, 1);
	SAME(differing(b, a, c, d), 0);
	return differing(b, a, c, d);
}

static void one_bit(const struct gpu *g)
{
	struct bench b;

	SAME(spoiled(g, &b), 1);
}
static void one_tile(const struct gpu *g)
{
	struct bench b;

	SAME(spoiled(g, &b), 256);
}
static void one_nan(const struct gpu *g)
{
	struct bench b;

	SAME(spoiled(g, &b), -1);
}
/* The same wrong element each time: comparing a card with itself is blind. */
static void always(const struct gpu *g)
{
	struct bench b;
	cu_ptr a, c;
	float wrong[64 * 64], right[64 * 64];
	int count = 0;

	SAME(spoiled(g, &b), 0);
	a = bench_alloc(&b, 64 * 64 * 4);
	c = bench_alloc(&b, 64 * 64 * 4);
	bench_fill(&b, a, 64 * 64, KERNEL_FP32, 1);
	SAME(bench_gemm(&b, 64, CUDA_FP32, CUBLAS_COMPUTE_FP32_PEDANTIC, a, a, c), CUBLAS_OK);
	SAME(g->cu.copy_to_host(wrong, c, sizeof(wrong), b.stream), CU_OK);
	SAME(bench_gemm(&b, 64, CUDA_FP32, CUBLAS_COMPUTE_TF32, a, a, c), CUBLAS_OK);
	SAME(g->cu.copy_to_host(right, c, sizeof(right), b.stream), CU_OK);
	for (int i = 0; i < 64 * 64; i++)
		count += fabsf(wrong[i] - right[i]) > 1;
	SAME(count, 1);
}

static void wrong(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"wrong\",\"card\":0,\"after\":2,\"what\":\"bit\"}"), one_bit);
	on_node(NODE("{\"kind\":\"wrong\",\"card\":0,\"after\":2,\"what\":\"tile\"}"), one_tile);
	on_node(NODE("{\"kind\":\"wrong\",\"card\":0,\"after\":3,\"what\":\"nan\"}"), one_nan);
	on_node(NODE("{\"kind\":\"wrong\",\"card\":0,\"every\":1,\"bit\":30,\"of\":\"fp32\"}"),
	        always);
}

/* Words that are wrong when own addresses are read back from all memory. The
 * counter is the host's: on a card whose memory is not there it would be
 * written over too. */
static struct kernel_check address_check(const struct gpu *g)
{
	struct bench b;
	cu_ptr p, out;
	size_t bytes, total;
	u64 n, base = 0, seed = 0, invert = 0;
	u32 kind = PATTERN_ADDRESS, rewrite = 0;
	struct kernel_check *check;
	void *host;

	bench_open(&b, g, 0);
	SAME(g->cu.host_alloc(&host, sizeof(*check), 0), CU_OK);
	check = host;
	*check = (struct kernel_check){0, UINT64_MAX, 0};
	out = (cu_ptr)(uintptr_t)host;
	SAME(g->cu.memory_info(&bytes, &total), CU_OK);
	bytes &= ~(size_t)4095;
	n = bytes / 8;
	p = bench_alloc(&b, bytes);
	SAME(LAUNCH(&b, "assay_pattern_write", 8, 256, &p, &n, &kind, &base, &seed, &invert),
	     CU_OK);
	SAME(LAUNCH(&b, "assay_pattern_check", 8, 256, &p, &n, &kind, &base, &seed, &invert,
	            &rewrite, &out),
	     CU_OK);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	return *check;
}

static void sound_memory(const struct gpu *g)
{
	SAME(address_check(g).bad, 0);
}

static void stuck_bit(const struct gpu *g)
{
	struct kernel_check check = address_check(g);

	SAME(check.bad, 1);
	SAME(check.first, 40960 / 8);
	SAME(check.bits, 1ull << 40);
}

static void not_there(const struct gpu *g)
{
	/* Half of 80 MiB is there: what was written first is overwritten. */
	NEAR((double)address_check(g).bad, 40 * 1048576 / 8, 0.03);
}

static void memory(void **state)
{
	(void)state;
	on_node(NODE(""), sound_memory);
	on_node(NODE("{\"kind\":\"bad_memory\",\"card\":0,\"address\":40960,\"bit\":40,\"set\":"
	             "true}"),
	        stuck_bit);
	on_node(NODE("{\"kind\":\"aliased_memory\",\"card\":0,\"factor\":0.5}"), not_there);
}

/* --- failures ------------------------------------------------------------------------------ */

static void lose_card(const struct gpu *g)
{
	struct bench b, other;
	nvml_device d = nvml_card(g, 0);
	cu_ptr p;
	char name[NVML_TEXT_BYTES];
	unsigned count;
	int result = CU_OK;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 64);
	for (int i = 0; i < 200 && !result; i++)
		result = g->cu.set8(p, 0, 64, b.stream);
	SAME(result, CU_UNKNOWN);
	SAME(g->cu.stream_sync(b.stream), CU_UNKNOWN);
	SAME(g->nvml.name(d, name, sizeof(name)), NVML_GPU_LOST);
	SAME(g->nvml.by_index(0, &d), NVML_GPU_LOST);
	SAME(g->nvml.by_index(1, &d), NVML_OK);
	SAME(g->nvml.count(&count), NVML_OK);
	SAME(count, 2);
	bench_open(&other, g, 1);
	p = bench_alloc(&other, 64);
}

static void launch_fails(const struct gpu *g)
{
	struct bench b;
	cu_ptr p;
	u64 n = 4, base = 0;

	bench_open(&b, g, 0);
	p = bench_alloc(&b, 64);
	SAME(LAUNCH(&b, "assay_write", 1, 256, &p, &n, &base), CU_OK);
	SAME(LAUNCH(&b, "assay_write", 1, 256, &p, &n, &base), CU_LAUNCH_FAILED);
	SAME(g->cu.stream_sync(b.stream), CU_LAUNCH_FAILED);
}

static void no_fabric(const struct gpu *g)
{
	SAME(g->cu.init(0), CU_SYSTEM_NOT_READY);
}

static void hangs(const struct gpu *g)
{
	struct bench b;

	bench_open(&b, g, 0);
	SAME(g->cu.stream_sync(b.stream), CU_OK);
	g->cu.stream_sync(b.stream);
}

static void failures(void **state)
{
	(void)state;
	on_node(NODE("{\"kind\":\"lost\",\"card\":0,\"after\":100}"), lose_card);
	on_node(NODE("{\"kind\":\"error\",\"card\":0,\"call\":\"cuLaunchKernel\",\"code\":719,"
	             "\"after\":1,\"sticky\":true}"),
	        launch_fails);
	on_node(NODE("{\"kind\":\"error\",\"call\":\"cuInit\",\"code\":802}"), no_fabric);
	stuck_on_node(
		NODE("{\"kind\":\"hang\",\"card\":0,\"call\":\"cuStreamSynchronize\",\"after\":1}"),
		hangs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow),        cmocka_unit_test(throttle),
		cmocka_unit_test(unsteady),    cmocka_unit_test(siblings),
		cmocka_unit_test(time_sliced), cmocka_unit_test(wrong),
		cmocka_unit_test(memory),      cmocka_unit_test(failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
