/* The table of probes holds together, and its check finds what would not. */
#include "probe_harness.h"

#include <string.h>

#include "probes.h"

static void the_table_is_sound(void **state)
{
	struct error err = {0};

	(void)state;
	if (probe_table_check(probe_table, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	assert_non_null(probe_find("gemm"));
	assert_string_equal(probe_find("gemm")->name, "gemm");
	assert_null(probe_find("gem"));
	assert_string_equal(probe_metric(probe_find("membw"), "membw_triad_gbs")->unit, "GB/s");
	assert_null(probe_metric(probe_find("membw"), "membw"));
}

static void expect_fault(const struct probe *p, const char *what)
{
	struct error err = {0};

	assert_int_equal(probe_check(p, &err), ST_INTERNAL);
	assert_non_null(strstr(str_text(&err.text), what));
	error_release(&err);
}

static void each_fault_is_found(void **state)
{
	const struct probe *good = probe_find("gemm");
	static const struct metric twice[] = {
		{"a_b", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY, "x"},
		{"a_b", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY, "x"},
		{0}};
	static const struct metric bare[] = {
		{"a", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY, ""}, {0}};
	static const struct metric named[] = {
		{"A-b", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY, "x"}, {0}};
	static const struct param outside[] = {
		{"n", PARAM_INT, "1", {"1", "2", "30"}, 1, 10, NULL, MSG_help_windows}, {0}};
	static const struct param absent[] = {
		{"n", PARAM_INT, "1", {"1", "2", NULL}, 1, 10, NULL, MSG_help_windows}, {0}};
	struct probe p;

	(void)state;
	p = *good, p.run = NULL, expect_fault(&p, "no run()");
	p = *good, p.metrics = twice, expect_fault(&p, "metric twice");
	p = *good, p.metrics = bare, expect_fault(&p, "formula");
	p = *good, p.metrics = named, expect_fault(&p, "metric name");
	p = *good, p.params = outside, expect_fault(&p, "parameter default");
	p = *good, p.params = absent, expect_fault(&p, "parameter default");
	p = *good, p.needs_storage = true, expect_fault(&p, "contradict");
	p = *good, p.name = "Gemm", expect_fault(&p, "probe name");
	p = *good, p.phase = NULL, expect_fault(&p, "no phase");
}

static void two_probes_may_not_share_a_metric(void **state)
{
	struct probe copy = *probe_find("gemm");
	const struct probe *const same[] = {probe_find("gemm"), probe_find("gemm"), NULL};
	const struct probe *const alike[] = {probe_find("gemm"), &copy, NULL};
	struct error err = {0};

	(void)state;
	assert_int_equal(probe_table_check(same, &err), ST_INTERNAL);
	assert_non_null(strstr(err.text.data, "probe twice"));
	error_release(&err);
	copy.name = "other";
	assert_int_equal(probe_table_check(alike, &err), ST_INTERNAL);
	assert_non_null(strstr(err.text.data, "metric of another probe"));
	error_release(&err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_sound),
		cmocka_unit_test(each_fault_is_found),
		cmocka_unit_test(two_probes_may_not_share_a_metric),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
