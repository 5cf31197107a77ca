/* membw on a CPU socket: a good run, wrong memory, too little memory. */
#include "probe_harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hw/device_cpu.h"
#include "hw/host.h"

extern const struct probe probe_membw;

static void init(struct harness *h)
{
	harness_init(h, &probe_membw);
	h->ctx.subject_id = probe_membw.subjects(&h->ctx)[1];
	harness_set(h, "windows", "6");
	harness_set(h, "window_s", "0.002");
}

static void a_good_run(void **state)
{
	struct harness h;
	const struct reading *r;
	int window, passes;
	double seconds, payload;

	(void)state;
	init(&h);
	harness_set(&h, "size", "1M");
	harness_run(&h, ST_OK);
	assert_int_equal(h.n_readings, 1);
	r = harness_expect(&h, "cpu_membw_triad_gbs", OUTCOME_MEASURED, NULL);
	assert_true(r->value > 0 && isfinite(r->value));
	assert_true(r->stats[STAT_N] == 6);
	assert_true(harness_param(r, "array_bytes") == 1 << 20);
	assert_true(harness_param(r, "payload_bytes_per_pass") == 3 << 20);
	assert_float_equal(harness_param(r, "traffic_gbs"), r->value * 4 / 3, r->value * 1e-9);
	assert_true(harness_param(r, "threads") >= 1);
	assert_int_equal(sscanf(strchr(harness_raw(&h, "membw.csv")->data, '\n') + 1,
	                        "%d,%d,%lf,%lf", &window, &passes, &seconds, &payload),
	                 4);
	assert_int_equal(window, 0);
	assert_true(payload == 3.0 * (1 << 20) * passes);
	harness_release(&h);
}

static void odd_sizes_and_threads(void **state)
{
	struct harness h;

	(void)state;
	init(&h);
	harness_set(&h, "size", "1000003");
	harness_set(&h, "threads", "3");
	harness_run(&h, ST_OK);
	assert_true(harness_param(harness_expect(&h, "cpu_membw_triad_gbs", OUTCOME_MEASURED, NULL),
	                          "array_bytes") == 1000000);
	harness_release(&h);
}

static void too_little_memory_is_no_figure(void **state)
{
	struct harness h;
	const struct reading *r;

	(void)state;
	init(&h);
	harness_set(&h, "size", "900G");
	harness_run(&h, ST_OK);
	r = harness_expect(&h, "cpu_membw_triad_gbs", OUTCOME_NOT_MEASURED, "card_refused");
	assert_non_null(strstr(r->reason.text, "2.6 TiB"));
	harness_release(&h);
}

static void gpus_owe_their_figure(void **state)
{
	struct harness h;

	(void)state;
	init(&h);
	h.ctx.subject_id = "*";
	h.ctx.lib_dir = "/nonexistent";
	assert_true(probe_membw.supported(&h.ctx).yes);
	harness_run(&h, ST_OK);
	assert_int_equal(h.n_readings, 4);
	assert_string_equal(harness_expect(&h, "membw_triad_gbs", OUTCOME_NOT_MEASURED, "no_driver")
	                            ->subject.id,
	                    "*");
	harness_release(&h);
}

static void the_check_counts_wrong_elements(void **state)
{
	struct arena arena = {0};
	int sockets;
	struct device_cpu_request request = {.clock = &clock_system, .root = "", .threads = 2};
	struct device_buffer a, b, c;
	struct device_triad job = {&a, &b, &c, 5000, 7};
	struct device *dev;
	double seconds, value = 1, bad = 0.5;
	int64_t wrong;

	(void)state;
	request.id = arena_strf(&arena, CPU_SOCKET_PREFIX "%d",
	                        host_socket_ids(&arena, "", &sockets)[0]);
	assert_int_equal(device_cpu_open(&dev, &arena, &request, NULL), ST_OK);
	assert_int_equal(dev->ops->alloc(dev, &a, 5000 * 8, NULL), ST_OK);
	assert_int_equal(dev->ops->alloc(dev, &b, 5000 * 8, NULL), ST_OK);
	assert_int_equal(dev->ops->alloc(dev, &c, 5000 * 8, NULL), ST_OK);
	assert_int_equal(dev->ops->triad_fill(dev, &job, NULL), ST_OK);
	/* Before any pass everything is poisoned. */
	assert_int_equal(dev->ops->triad_check(dev, &job, &wrong, NULL), ST_OK);
	assert_int_equal(wrong, 5000);
	assert_int_equal(dev->ops->triad(dev, &job, 2, &seconds, NULL), ST_OK);
	assert_true(seconds > 0);
	assert_int_equal(dev->ops->triad_check(dev, &job, &wrong, NULL), ST_OK);
	assert_int_equal(wrong, 0);
	assert_int_equal(dev->ops->read(dev, &a, 2047 * 8, &value, 8, NULL), ST_OK);
	assert_true(value == 2047 % 1024 + 7 * (2047 % 509));
	assert_int_equal(dev->ops->write(dev, &a, 4999 * 8, &bad, 8, NULL), ST_OK);
	assert_int_equal(dev->ops->triad_check(dev, &job, &wrong, NULL), ST_OK);
	assert_int_equal(wrong, 1);
	/* The result of another scalar is stale. */
	job.scalar = 8;
	assert_int_equal(dev->ops->triad_check(dev, &job, &wrong, NULL), ST_OK);
	assert_true(wrong > 4900);
	job.n = 5001;
	assert_int_equal(dev->ops->triad(dev, &job, 1, &seconds, NULL), ST_RANGE);
	dev->ops->release(dev, &a);
	dev->ops->release(dev, &b);
	dev->ops->release(dev, &c);
	dev->ops->close(dev);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_run),
		cmocka_unit_test(odd_sizes_and_threads),
		cmocka_unit_test(too_little_memory_is_no_figure),
		cmocka_unit_test(gpus_owe_their_figure),
		cmocka_unit_test(the_check_counts_wrong_elements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
