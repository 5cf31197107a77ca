/* Exact decimals, times and units as bills write them. */
#include "tests/unit/unit.h"

#include <string.h>

#include "service/decimal.h"
#include "service/quantity.h"
#include "service/stamp.h"

static const char *read_as(const char *text, enum decimal_style style)
{
	static const char *const faults[] = {"fine",      "empty",     "malformed",
	                                     "ambiguous", "too large", "too fine"};
	struct decimal d;
	enum decimal_fault fault = decimal_parse(text, style, &d);
	struct str s = {0};
	const char *kept;

	if (fault != DECIMAL_FINE) {
		assert_int_equal(decimal_sign(d), 0);
		return faults[fault];
	}
	decimal_add_text(&s, d, 0);
	kept = tmpf("%s", s.data);
	str_release(&s);
	return kept;
}

static void numbers_as_bills_write_them(void **state)
{
	static const char *const rows[][2] = {
		{"0.1", "0.1"},
		{"-12.50", "-12.5"},
		{"1,234,567.89", "1234567.89"},
		{"1,234", "1234"},
		{"(12.50)", "-12.5"},
		{"￥1,000.00", "1000"},
		{"CNY -3.5", "-3.5"},
		{"1.2E-05", "0.000012"},
		{"5e3", "5000"},
		{".5", "0.5"},
		{"0.000000000001", "0.000000000001"},
		{"999999999999999", "999999999999999"},
		{"", "empty"},
		{" - ", "malformed"},
		{"-", "empty"},
		{"1,23", "malformed"},
		{"12,34,567", "malformed"},
		{"1.2.3", "malformed"},
		{"12a", "malformed"},
		{"--5", "malformed"},
		{"nan", "malformed"},
		{"0x10", "malformed"},
		{"1e16", "too large"},
		{"99999999999999999999999999999999999999999999", "too large"},
		{"0.0000000000001", "too fine"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (strcmp(read_as(rows[i][0], DECIMAL_POINT), rows[i][1]) != 0)
			fail_msg("%s: %s", rows[i][0], read_as(rows[i][0], DECIMAL_POINT));
}

static void commas_and_what_can_be_both(void **state)
{
	(void)state;
	assert_string_equal(read_as("1.234,56", DECIMAL_COMMA), "1234.56");
	assert_string_equal(read_as("1.234", DECIMAL_COMMA), "1234");
	assert_string_equal(read_as("1.234,56", DECIMAL_EITHER), "1234.56");
	assert_string_equal(read_as("1,234.56", DECIMAL_EITHER), "1234.56");
	assert_string_equal(read_as("12,5", DECIMAL_EITHER), "12.5");
	assert_string_equal(read_as("1.234.567", DECIMAL_EITHER), "1234567");
	assert_string_equal(read_as("0.125", DECIMAL_EITHER), "0.125");
	assert_string_equal(read_as("1.234", DECIMAL_EITHER), "ambiguous");
	assert_string_equal(read_as("12,345", DECIMAL_EITHER), "ambiguous");
}

static void sums_are_exact(void **state)
{
	struct decimal tenth, sum = decimal_of(0), product;

	(void)state;
	assert_int_equal(decimal_parse("0.1", DECIMAL_POINT, &tenth), DECIMAL_FINE);
	for (int i = 0; i < 1000000; i++)
		sum = decimal_add(sum, tenth);
	assert_int_equal(decimal_compare(sum, decimal_of(100000)), 0);
	assert_true(decimal_mul(tenth, tenth, &product));
	assert_string_equal(decimal_money(product, 2), "0.01");
	assert_true(decimal_div(decimal_of(1), decimal_of(3), &product));
	assert_string_equal(decimal_money(product, 12), "0.333333333333");
	assert_false(decimal_div(decimal_of(1), decimal_of(0), &product));
	assert_false(decimal_mul(decimal_of(999999999999999), decimal_of(999999999), &product));
	assert_string_equal(decimal_money(decimal_of(-1234567), 2), "-1,234,567.00");
	assert_true(decimal_scale(decimal_of(1), -2, 3, &product));
	assert_string_equal(decimal_money(product, 2), "-0.67");
}

static void times_and_the_calendar(void **state)
{
	int64_t t, u;
	bool month;

	(void)state;
	assert_true(stamp_parse("2026-11-30T08:00:00Z", 480, &t, &month) && !month);
	assert_true(stamp_parse("2026/11/30 16:00", 480, &u, NULL) && t == u);
	assert_true(stamp_parse("2026-11-30T16:00:00.5+08:00", 0, &u, NULL) && t == u);
	assert_true(stamp_parse("202611", 0, &t, &month) && month);
	assert_true(stamp_parse("20261101", 0, &u, &month) && !month && t == u);
	assert_string_equal(stamp_text(stamp_next_month(t, 0)), "2026-12-01 00:00 UTC");
	assert_true(stamp_parse("2026-12-01", 480, &t, NULL));
	assert_string_equal(stamp_text(stamp_next_month(t, 480)), "2026-12-31 16:00 UTC");
	assert_true(stamp_parse("2028-02-29", 0, &t, NULL));
	assert_false(stamp_parse("2026-02-29", 0, &t, NULL));
	assert_false(stamp_parse("2026-13-01", 0, &t, NULL));
	assert_false(stamp_parse("2026-11-00", 0, &t, NULL));
	assert_false(stamp_parse("2026-11-01 25:00", 0, &t, NULL));
	assert_false(stamp_parse("yesterday", 0, &t, NULL));
	assert_false(stamp_parse("", 0, &t, NULL));
}

static void units(void **state)
{
	long long n, d;

	(void)state;
	assert_int_equal(quantity_unit("Hrs", &n, &d), QUANTITY_HOUR);
	assert_int_equal(quantity_unit("秒", &n, &d), QUANTITY_HOUR);
	assert_int_equal(d, 3600);
	assert_int_equal(quantity_unit("GB-Mo", &n, &d), QUANTITY_GB_MONTH);
	assert_int_equal(quantity_unit("parsecs", &n, &d), QUANTITY_NONE);
	assert_string_equal(quantity_name(QUANTITY_GPU_HOUR), "GPU-hour");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_as_bills_write_them),
		cmocka_unit_test(commas_and_what_can_be_both),
		cmocka_unit_test(sums_are_exact),
		cmocka_unit_test(times_and_the_calendar),
		cmocka_unit_test(units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
