/* gemm on a CPU socket: real products, wrong products, no BLAS; and Freivalds'
 * check by itself. */
#include "probe_harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "freivalds.h"
#include "hw/blas.h"
#include "hw/device_cpu.h"
#include "hw/host.h"
#include "stats/rng.h"

extern const struct probe probe_gemm;

#define NO_LIBRARY "/nonexistent"

static const char *first_socket(struct probe_ctx *ctx)
{
	const char *const *list = probe_gemm.subjects(ctx);

	assert_string_equal(list[0], "*");
	assert_true(str_starts(list[1], CPU_SOCKET_PREFIX));
	return list[1];
}

static void small_run(struct harness *h, const char *lib_dir)
{
	harness_init(h, &probe_gemm);
	h->ctx.lib_dir = lib_dir;
	h->ctx.subject_id = first_socket(&h->ctx);
	harness_set(h, "order", "96");
	harness_set(h, "windows", "4");
	harness_set(h, "window_s", "0.005");
	harness_set(h, "warmup_s", "0");
	harness_run(h, ST_OK);
}

static void needs_blas(void)
{
	struct arena a = {0};
	bool have = blas_find(&a, NULL) != NULL;

	arena_release(&a);
	if (!have) {
		print_message("skipped: no OpenBLAS, BLIS or MKL on this machine\n");
		skip();
	}
}

static void a_good_run(void **state)
{
	static const char *const metrics[] = {"cpu_gemm_fp32_gflops", "cpu_gemm_fp64_gflops"};
	struct harness h;

	(void)state;
	needs_blas();
	small_run(&h, NULL);
	assert_int_equal(h.n_readings, 3);
	for (int i = 0; i < 2; i++) {
		const struct reading *r = harness_expect(&h, metrics[i], OUTCOME_MEASURED, NULL);

		assert_true(r->value > 0 && isfinite(r->value));
		assert_true(r->value == r->stats[STAT_MEDIAN]);
		assert_true(r->stats[STAT_N] == 4);
		assert_true(r->stats[STAT_MIN] <= r->value && r->value <= r->stats[STAT_MAX]);
		assert_true(harness_param(r, "m") == 96);
		assert_true(harness_param(r, "calls_per_window") >= 1);
		assert_true(harness_param(r, "worst_of_tolerance") < 0.5);
		assert_true(harness_param(r, "sums_checked") == 4 * 96);
		assert_int_equal(harness_param_text(&h, r, "library_path")[0], '/');
		assert_string_equal(r->raw.file, "raw/n001/gemm.csv");
	}
	assert_true(harness_expect(&h, "cpu_gemm_errors", OUTCOME_MEASURED, NULL)->value == 0);
	/* A heading, and four windows of two precisions. */
	assert_true(str_starts(harness_raw(&h, "gemm.csv")->data, "format,window,calls,seconds"));
	assert_int_equal(h.stage, STAGE_MEASURING);
	harness_release(&h);
}

static void the_rate_is_the_work_over_the_time(void **state)
{
	struct harness h;
	const char *line;
	char format[8];
	int window, calls;
	double seconds, gflops;

	(void)state;
	small_run(&h, BINARY_DIR "/tests/probes/right_blas");
	line = strchr(harness_raw(&h, "gemm.csv")->data, '\n') + 1;
	assert_int_equal(
		sscanf(line, "%7[^,],%d,%d,%lf,%lf", format, &window, &calls, &seconds, &gflops),
		5);
	assert_string_equal(format, "fp32");
	assert_float_equal(gflops, 2.0 * 96 * 96 * 96 * calls / seconds / 1e9, 0.01 * gflops);
	assert_true(harness_expect(&h, "cpu_gemm_errors", OUTCOME_MEASURED, NULL)->value == 0);
	harness_release(&h);
}

static void one_wrong_element_fails(void **state)
{
	struct harness h;
	const struct reading *r;

	(void)state;
	small_run(&h, BINARY_DIR "/tests/probes/wrong_blas");
	r = harness_expect(&h, "cpu_gemm_fp64_gflops", OUTCOME_FAILED, "gemm_wrong");
	/* Row 94; 96 columns are one block. */
	assert_non_null(strstr(r->reason.text, "4 of 384"));
	assert_non_null(strstr(r->reason.text, "row 94, columns 0 to 95"));
	harness_expect(&h, "cpu_gemm_fp32_gflops", OUTCOME_FAILED, "gemm_wrong");
	/* Once in each of four windows and two precisions. */
	assert_true(harness_expect(&h, "cpu_gemm_errors", OUTCOME_MEASURED, NULL)->value == 8);
	harness_release(&h);
}

static void a_nan_fails(void **state)
{
	struct harness h;

	(void)state;
	small_run(&h, BINARY_DIR "/tests/probes/nan_blas");
	harness_expect(&h, "cpu_gemm_fp32_gflops", OUTCOME_FAILED, "gemm_wrong");
	harness_release(&h);
}

static void no_blas_is_not_measured(void **state)
{
	struct harness h;
	struct support s;

	(void)state;
	small_run(&h, NO_LIBRARY);
	assert_int_equal(h.n_readings, 3);
	harness_expect(&h, "cpu_gemm_fp32_gflops", OUTCOME_NOT_MEASURED, "blas_missing");
	harness_expect(&h, "cpu_gemm_fp64_gflops", OUTCOME_NOT_MEASURED, "blas_missing");
	harness_expect(&h, "cpu_gemm_errors", OUTCOME_NOT_MEASURED, "blas_missing");
	s = probe_gemm.supported(&h.ctx);
	assert_false(s.yes);
	assert_string_equal(s.reason.code, "no_card_no_blas");
	assert_non_null(strstr(s.reason.text, "libcuda.so.1"));
	assert_non_null(strstr(s.reason.text, "libopenblas0-pthread"));
	assert_false(probe_gemm.try_run(&h.ctx).yes);
	harness_release(&h);
}

static void gpus_owe_their_figures(void **state)
{
	struct harness h;
	int owed = 0;

	(void)state;
	harness_init(&h, &probe_gemm);
	h.ctx.lib_dir = NO_LIBRARY;
	h.ctx.subject_id = "*";
	harness_run(&h, ST_OK);
	for (const struct metric *m = probe_gemm.metrics; m->name; m++) {
		if (m->backend != BACKEND_CUDA)
			continue;
		owed++;
		assert_string_equal(
			harness_expect(&h, m->name, OUTCOME_NOT_MEASURED, "no_driver")->subject.id,
			"*");
	}
	assert_int_equal(h.n_readings, owed);
	assert_true(owed >= 6);
	/* With a libcuda that is none the reason is another one. */
	harness_clear(&h);
	h.ctx.lib_dir = BINARY_DIR "/tests/probes/right_blas";
	harness_run(&h, ST_OK);
	harness_expect(&h, "gemm_fp64_tflops", OUTCOME_NOT_MEASURED, "card_refused");
	harness_release(&h);
}

static void an_unknown_socket_is_refused(void **state)
{
	struct harness h;
	const struct reading *r;

	(void)state;
	harness_init(&h, &probe_gemm);
	h.ctx.subject_id = "cpu-socket-4711";
	harness_run(&h, ST_OK);
	r = harness_expect(&h, "cpu_gemm_fp32_gflops", OUTCOME_NOT_MEASURED, "card_refused");
	assert_non_null(strstr(r->reason.text, "cpu-socket-4711"));
	harness_release(&h);
}

static void the_plan_knows_the_duration(void **state)
{
	struct harness h;

	(void)state;
	harness_init(&h, &probe_gemm);
	h.ctx.subject_id = "*";
	assert_true(probe_gemm.duration(&h.ctx) == 0);
	h.ctx.subject_id = "cpu-socket-0";
	harness_set(&h, "order", "4096");
	harness_set(&h, "windows", "100");
	harness_set(&h, "window_s", "1");
	assert_true(probe_gemm.duration(&h.ctx) > 200);
	harness_release(&h);
}

/* --- Freivalds' check ------------------------------------------------------------ */

enum { M = 130, N = 260, K = 97 };

struct product {
	struct arena arena;
	struct device *dev;
	struct device_buffer a, b, c;
	struct device_gemm job;
	struct freivalds f;
	float host[M * N];
};

static void fill(struct product *p, struct device_buffer *to, float *host, int count, uint64_t seed)
{
	struct rng rng;

	rng_seed(&rng, seed);
	for (int i = 0; i < count; i++)
		host[i] = (float)rng_normal(&rng);
	assert_int_equal(p->dev->ops->write(p->dev, to, 0, host, (size_t)count * 4, NULL), ST_OK);
}

static void product_init(struct product *p)
{
	static float a[M * K], b[K * N];
	int sockets;
	struct device_cpu_request request = {.clock = &clock_system, .root = "", .threads = 2};

	*p = (struct product){0};
	request.id = arena_strf(&p->arena, CPU_SOCKET_PREFIX "%d",
	                        host_socket_ids(&p->arena, "", &sockets)[0]);
	assert_int_equal(device_cpu_open(&p->dev, &p->arena, &request, NULL), ST_OK);
	assert_int_equal(p->dev->ops->alloc(p->dev, &p->a, sizeof(a), NULL), ST_OK);
	assert_int_equal(p->dev->ops->alloc(p->dev, &p->b, sizeof(b), NULL), ST_OK);
	assert_int_equal(p->dev->ops->alloc(p->dev, &p->c, sizeof(p->host), NULL), ST_OK);
	fill(p, &p->a, a, M * K, 11);
	fill(p, &p->b, b, K * N, 12);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			float sum = 0;

			for (int l = 0; l < K; l++)
				sum += a[i * K + l] * b[l * N + j];
			p->host[i * N + j] = sum;
		}
	p->job = (struct device_gemm){NUMBER_FP32, M, N, K, &p->a, &p->b, &p->c};
	assert_int_equal(freivalds_init(&p->f, p->dev, &p->job, 5, NULL), ST_OK);
}

static struct freivalds_result check(struct product *p)
{
	struct freivalds_result result = {.row = -1};

	assert_int_equal(p->dev->ops->write(p->dev, &p->c, 0, p->host, sizeof(p->host), NULL),
	                 ST_OK);
	assert_int_equal(freivalds_check(&p->f, p->dev, &p->job, &result, NULL), ST_OK);
	return result;
}

static void product_release(struct product *p)
{
	freivalds_release(&p->f);
	p->dev->ops->release(p->dev, &p->a);
	p->dev->ops->release(p->dev, &p->b);
	p->dev->ops->release(p->dev, &p->c);
	p->dev->ops->close(p->dev);
	arena_release(&p->arena);
}

static void freivalds_sees_every_element(void **state)
{
	struct product p;
	struct freivalds_result r;

	(void)state;
	product_init(&p);
	r = check(&p);
	assert_int_equal(r.wrong, 0);
	assert_int_equal(r.row, -1);
	assert_int_equal(r.checked, M * 4); /* 260 columns: 4 blocks of 65 */
	assert_true(r.worst > 0 && r.worst < 0.5);
	/* A thousandth of the typical element, anywhere. */
	for (int at = 0; at < M * N; at += 997) {
		float kept = p.host[at];

		p.host[at] += 0.01F;
		r = check(&p);
		assert_int_equal(r.wrong, 1);
		assert_int_equal(r.row, at / N);
		assert_true(r.first_column <= at % N && at % N <= r.last_column);
		assert_int_equal(r.last_column - r.first_column, 64);
		p.host[at] = kept;
	}
	product_release(&p);
}

static void freivalds_sees_nan_and_swaps(void **state)
{
	struct product p;
	struct freivalds_result r;
	float kept;

	(void)state;
	product_init(&p);
	kept = p.host[3 * N + 200];
	p.host[3 * N + 200] = NAN;
	r = check(&p);
	assert_int_equal(r.wrong, 1);
	assert_true(isinf(r.worst));
	/* Two neighbours exchanged leave plain sums right, signed ones not. */
	p.host[3 * N + 200] = p.host[3 * N + 201];
	p.host[3 * N + 201] = kept;
	r = check(&p);
	assert_int_equal(r.row, 3);
	product_release(&p);
}

static void what_it_cannot_read_is_refused(void **state)
{
	struct product p;
	struct error err = {0};

	(void)state;
	product_init(&p);
	/* Buffers are guarded. */
	assert_int_equal(p.dev->ops->read(p.dev, &p.a, p.a.bytes - 1, p.host, 2, &err), ST_RANGE);
	error_release(&err);
	assert_int_equal(p.dev->ops->alloc(p.dev, &p.c, (size_t)1 << 60, &err), ST_NOMEM);
	error_release(&err);
	product_release(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_run),
		cmocka_unit_test(the_rate_is_the_work_over_the_time),
		cmocka_unit_test(one_wrong_element_fails),
		cmocka_unit_test(a_nan_fails),
		cmocka_unit_test(no_blas_is_not_measured),
		cmocka_unit_test(gpus_owe_their_figures),
		cmocka_unit_test(an_unknown_socket_is_refused),
		cmocka_unit_test(the_plan_knows_the_duration),
		cmocka_unit_test(freivalds_sees_every_element),
		cmocka_unit_test(freivalds_sees_nan_and_swaps),
		cmocka_unit_test(what_it_cannot_read_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
