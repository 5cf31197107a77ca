/* Tickets, moments with their zones, and the tables of how long to watch. */
#include "tests/unit/unit.h"

#include <stdio.h>

#include "service/moment.h"
#include "service/support.h"
#include "service/tickets.h"
#include "tests/unit/service_kit.h"

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

static void limits_of_counts(void **state)
{
	static const double m[] = {2.996, 4.744, 6.296, 7.754};

	(void)state;
	for (int k = 0; k < 4; k++)
		near(poisson_upper(k, 0.05), m[k], 0.0005);
	near(poisson_upper(5, 0.05), 10.513, 0.0005);
	near(poisson_lower(0, 0.025), 0, 0);
	near(poisson_lower(5, 0.025), 1.6235, 0.0005); /* exact limits of 5: 1.623, 11.668 */
	near(poisson_upper(5, 0.025), 11.668, 0.0005);
}

/* Node-days that support 99.9 %, by outages seen and their length. */
static void how_long_to_watch(void **state)
{
	static const double minutes[] = {5, 15, 30, 60, 120, 240};
	static const struct {
		int k;
		double alpha, days[6];
	} rows[] = {{0, 0.05, {10.4, 31.2, 62.4, 125, 250, 499}},
	            {1, 0.05, {16.5, 49.4, 98.8, 198, 395, 791}},
	            {2, 0.05, {21.9, 65.6, 131, 262, 525, 1049}},
	            {5, 0.05, {36.5, 110, 219, 438, 876, 1752}},
	            {0, 0.10, {8.0, 24.0, 48.0, 96, 192, 384}}};

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(*rows); r++)
		for (int i = 0; i < 6; i++) {
			double days = support_days(rows[r].k, minutes[i], 0.999, rows[r].alpha);

			near(days, rows[r].days[i], days < 100 ? 0.06 : 0.6);
		}
	near(support_confidence(0, 30, 0.999, 30), 0.76, 0.005);
	near(support_confidence(0, 14.4, 0.999, 30), 0.95, 0.001);
	assert_int_equal(support_tickets(0.90, 0.05), 29);
	assert_int_equal(support_tickets(0.95, 0.05), 59);
	assert_int_equal(support_tickets(0.99, 0.05), 299);
}

static void moments_carry_their_zone(void **state)
{
	int64_t want = at("2026-12-02T03:04:05Z"), ns;
	int minutes;

	(void)state;
	assert_int_equal(moment_parse("2026-12-02T03:04:05Z", &ns), MOMENT_OK);
	assert_true(ns == want);
	assert_int_equal(moment_parse("2026-12-02 11:04:05+08:00", &ns), MOMENT_OK);
	assert_true(ns == want);
	assert_int_equal(moment_parse("2026-12-01T22:34:05.25 -0430", &ns), MOMENT_OK);
	assert_true(ns == want + S / 4);
	assert_int_equal(moment_parse("2028-02-29T00:00Z", &ns), MOMENT_OK);
	assert_int_equal(moment_parse("2027-02-29T00:00Z", &ns), MOMENT_NO_DAY);
	assert_int_equal(moment_parse("2100-02-29T00:00Z", &ns), MOMENT_NO_DAY);
	assert_int_equal(moment_parse("2026-13-01T00:00Z", &ns), MOMENT_NO_DAY);
	assert_int_equal(moment_parse("2262-01-01T00:00Z", &ns), MOMENT_NO_DAY);
	assert_int_equal(moment_parse("9999-12-31T23:59Z", &ns), MOMENT_NO_DAY);
	assert_int_equal(moment_parse("0000-01-01T00:00Z", &ns), MOMENT_NO_DAY);
	assert_int_equal(moment_parse("2026-12-02T03:04:05", &ns), MOMENT_NO_ZONE);
	assert_int_equal(moment_parse("2026-12-02", &ns), MOMENT_FORM);
	assert_int_equal(moment_parse("2026-12-02T25:04:05Z", &ns), MOMENT_FORM);
	assert_int_equal(moment_parse("2026-12-02T03:04:05CST", &ns), MOMENT_FORM);
	assert_int_equal(moment_parse("2026-12-02T03:04:05+0860", &ns), MOMENT_FORM);
	assert_int_equal(moment_parse("02.12.2026 03:04:05Z", &ns), MOMENT_FORM);
	assert_true(offset_parse("-04:30", &minutes) && minutes == -270);
	assert_false(offset_parse("8", &minutes));
	assert_false(offset_parse("+15:00", &minutes));
}

/* --- tickets ----------------------------------------------------------------------------- */

#define HEAD                                                                                       \
	"ticket_id,severity,opened_utc,opened_by,first_auto_utc,first_human_utc,engaged_utc,"      \
	"mitigated_utc,resolved_utc,node,cause,source\n"

static char *dir;
static struct tickets t;

static int begin(void **state)
{
	(void)state;
	dir = fresh_dir();
	t = (struct tickets){0};
	return 0;
}

static int end(void **state)
{
	(void)state;
	tickets_release(&t);
	dir_remove(dir, NULL);
	free(dir);
	return 0;
}

static enum status read_text(const char *text, struct error *err)
{
	static const struct ticket_options options = {.limit_min = 30, .zone_min = 480};
	const char *file = tmpf("%s/tickets.csv", dir);

	assert_int_equal(file_write(file, text, strlen(text), NULL), ST_OK);
	return tickets_read(&t, file, &options, TICKET_NO_TIME, err);
}

static void read_good(const char *text)
{
	struct error err = {0};

	if (read_text(text, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static void an_automatic_receipt_is_no_reply(void **state)
{
	(void)state;
	read_good(HEAD "A,1,2026-12-02T01:00:00Z,customer,2026-12-02T01:00:05Z,,,,,n1,,mail\n"
	               "B,1,2026-12-02T02:00:00Z,customer,,2026-12-02T02:20:00Z,,,"
	               "2026-12-02T04:00:00Z,n1,,mail\n");
	assert_int_equal(t.judged, 2);
	assert_int_equal(t.late, 1);
	assert_true(t.list[0].late && isnan(t.list[0].response_min));
	near(t.list[0].waiting_min, 180, 0);
	assert_int_equal(t.verdict, SERVICE_MISSED);
	near(t.median_min, 20, 0);
	near(t.repair_max_min, 120, 0);
}

static void a_fresh_ticket_counts_neither_way(void **state)
{
	(void)state;
	read_good(HEAD "A,1,2026-12-02T01:00:00Z,customer,,2026-12-02T01:10:00Z,,,,n1,,mail\n"
	               "B,1,2026-12-02T01:05:00Z,customer,,,,,,n1,,mail\n");
	assert_int_equal(t.judged, 1);
	assert_int_equal(t.pending, 1);
	assert_int_equal(t.late, 0);
	assert_int_equal(t.verdict, SERVICE_TOO_SHORT);
}

static void three_in_time_claim_no_rate(void **state)
{
	(void)state;
	read_good("ticket_id,opened_utc,first_human_utc,source\n"
	          "1,2026-12-02T01:00:00Z,2026-12-02T01:10:00Z,mail\n"
	          "2,2026-12-02T01:00:00Z,2026-12-02T01:30:00Z,mail\n"
	          "3,2026-12-02T09:00:00+08:00,2026-12-02T09:20:00+08:00,mail\n");
	assert_int_equal(t.in_time, 3);
	near(t.share, 1, 0);
	near(t.low95, 0.2924, 0.0001); /* 0.025^(1/3) */
	near(t.high95, 1, 0);
	assert_int_equal(t.verdict, SERVICE_TOO_SHORT);
	near(t.max_min, 30, 0);
}

static void many_tickets(const char *source)
{
	struct str text = {0};

	str_add(&text, "ticket_id,opened_utc,first_human_utc,source\n");
	for (int i = 0; i < 59; i++)
		str_addf(&text, "%d,2026-12-02T01:00:00Z,2026-12-02T01:10:00Z,%s\n", i, source);
	read_good(str_text(&text));
	str_release(&text);
}

static void fifty_nine_in_time_are_met(void **state)
{
	(void)state;
	many_tickets("mail");
	assert_int_equal(t.verdict, SERVICE_MET);
}

static void typed_times_are_stated_only(void **state)
{
	(void)state;
	many_tickets("typed");
	assert_int_equal(t.stated, 59);
	assert_int_equal(t.verdict, SERVICE_TOO_SHORT);
}

/* 2 December 2026 is a Wednesday; hours are those of +08:00. */
static void hours_of_the_day(void **state)
{
	(void)state;
	read_good("ticket_id,opened_utc,first_human_utc,source\n"
	          "day,2026-12-02T00:00:00Z,2026-12-02T00:10:00Z,mail\n"
	          "night,2026-12-02T12:00:00Z,2026-12-02T12:50:00Z,mail\n"
	          "weekend,2026-12-04T16:00:00Z,2026-12-04T16:20:00Z,mail\n");
	for (int h = 0; h < HOURS_KINDS; h++)
		assert_int_equal(t.by_hours[h].n, 1);
	near(t.by_hours[HOURS_DAY].median_min, 10, 0);
	near(t.by_hours[HOURS_NIGHT].median_min, 50, 0);
	near(t.by_hours[HOURS_WEEKEND].median_min, 20, 0);
	assert_int_equal(t.by_hours[HOURS_NIGHT].in_time, 0);
}

static void bad_tickets(const char *text, const char *words)
{
	struct error err = {0};

	assert_int_equal(read_text(text, &err), ST_PARSE);
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), words);
	error_release(&err);
	tickets_release(&t);
}

static void what_is_refused(void **state)
{
	(void)state;
	bad_tickets("ticket,opened_utc,first_human_utc\n", "no column \"ticket_id\"");
	bad_tickets("ticket_id,opened_utc,first_human\n", "nearest is \"first_human\"");
	bad_tickets("ticket_id,opened_utc,first_human_utc\nA,2026-12-02T01:00:00,\n",
	            ":2: opened_utc \"2026-12-02T01:00:00\" does not say its zone");
	bad_tickets("ticket_id,opened_utc,first_human_utc\nA,,\n", "ticket A has no opened_utc");
	bad_tickets("ticket_id,opened_utc,first_human_utc\n"
	            "A,2026-12-02T01:00:00Z,2026-12-02T00:59:00Z\n",
	            "ticket A: first_human_utc lies before");
	bad_tickets("ticket_id,opened_utc,first_human_utc\n"
	            "A,2026-12-02T01:00:00Z,\nB,2026-12-02T01:00:00Z,\nA,2026-12-02T01:00:00Z,\n",
	            ":4: ticket A a second time (first on line 2)");
	bad_tickets("ticket_id,opened_utc,first_human_utc\n,2026-12-02T01:00:00Z,\n",
	            "without ticket_id");
}

/* The same ticket as other programs write it. */
static void files_of_other_programs(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} files[] = {
#define FILE_OF(text) {text, sizeof(text) - 1}
		FILE_OF("ticket_id;opened_utc;first_human_utc\nA;2026-12-02T01:00:00Z;\n"),
		FILE_OF("ticket_id\topened_utc\tfirst_human_utc\nA\t2026-12-02T01:00:00Z\t\n"),
		FILE_OF("\xef\xbb\xbfticket_id,opened_utc,first_human_utc\r\n"
	                "A,2026-12-02T01:00:00Z,\r\n"),
		FILE_OF("ticket_id,opened_utc,first_human_utc,cause\n"
	                "A,2026-12-02T01:00:00Z,,\"two\nlines\"\n"),
		/* "A", and a cause in GBK. */
		FILE_OF("ticket_id,opened_utc,first_human_utc,cause\n"
	                "A,2026-12-02T01:00:00Z,,\xb9\xca\xd5\xcf\n"),
	};
	static const char ascii[] = "ticket_id,opened_utc,first_human_utc\n"
				    "A,2026-12-02T01:00:00Z,\n";
	const struct ticket_options options = {.limit_min = 30};
	struct str utf16 = {0};
	char file[256];

	(void)state;
	snprintf(file, sizeof(file), "%s/tickets.csv", dir);
	str_addn(&utf16, "\xff\xfe", 2);
	for (const char *p = ascii; *p; p++)
		str_addn(&utf16, (const char[]){*p, 0}, 2);
	for (size_t i = 0; i <= sizeof(files) / sizeof(*files); i++) {
		bool last = i == sizeof(files) / sizeof(*files);
		const char *text = last ? utf16.data : files[i].text;
		struct error err = {0};

		assert_int_equal(file_write(file, text, last ? utf16.len : files[i].len, &err),
		                 ST_OK);
		if (tickets_read(&t, file, &options, TICKET_NO_TIME, &err) != ST_OK)
			fail_msg("%zu: %s", i, str_text(&err.text));
		assert_int_equal(t.count, 1);
		assert_string_equal(t.list[0].id, "A");
		tickets_release(&t);
	}
	str_release(&utf16);
}

static void joined_with_outages(void **state)
{
	struct made_log log = log_begin("w");
	const struct availability_options usual = {.target = 0.999, .days = 30, .repair_min = 30};
	const char *const paths[] = {dir};
	int64_t t0 = at("2026-12-02T00:00:00Z");
	struct availability a;

	(void)state;
	log_beats(&log, "n1", t0, t0 + 600 * S, 10 * S, NODE_UP);
	log_beats(&log, "n1", t0 + 610 * S, t0 + 1200 * S, 10 * S, NODE_DOWN);
	log_beats(&log, "n1", t0 + 1210 * S, t0 + 1800 * S, 10 * S, NODE_UP);
	log_beats(&log, "n2", t0, t0 + 1800 * S, 10 * S, NODE_DOWN);
	log_save(&log, dir, "w");
	assert_int_equal(availability_read(&a, paths, 1, &usual, NULL), ST_OK);
	read_good(HEAD "late,1,2026-12-02T00:40:00Z,provider,,,,,,n1,,mail\n"
	               "first,1,2026-12-02T00:13:10Z,customer,,,,,,n1,,mail\n"
	               "other,1,2026-12-01T00:13:10Z,customer,,,,,,n2,,mail\n");
	tickets_join(&t, &a);
	assert_int_equal(t.n_joined, 2);
	assert_int_equal(t.unticketed, 1);
	assert_int_equal(t.by_customer, 1);
	assert_int_equal(t.by_provider, 0);
	for (int i = 0; i < t.n_joined; i++)
		if (t.joined[i].ticket >= 0) {
			assert_string_equal(t.list[t.joined[i].ticket].id, "first");
			near(t.joined[i].noticed_min, 3, 0);
		}
	availability_release(&a);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_of_counts),
		cmocka_unit_test(how_long_to_watch),
		cmocka_unit_test(moments_carry_their_zone),
		TEST(an_automatic_receipt_is_no_reply),
		TEST(a_fresh_ticket_counts_neither_way),
		TEST(three_in_time_claim_no_rate),
		TEST(fifty_nine_in_time_are_met),
		TEST(typed_times_are_stated_only),
		TEST(hours_of_the_day),
		TEST(what_is_refused),
		TEST(files_of_other_programs),
		TEST(joined_with_outages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
