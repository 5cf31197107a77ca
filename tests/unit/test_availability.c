/* From beats to minutes, bounds and verdict: what silence, boots, clock steps, two
 * observers and causes are taken for, and what a log must not have. */
#include "tests/unit/unit.h"

#include "service/moment.h"
#include "tests/unit/service_kit.h"

#define T0  at("2026-11-01T00:00:00Z")
#define DAY (86400 * S)

static const struct availability_options usual = {.target = 0.999, .days = 30, .repair_min = 30};
static char *dir;
static struct availability a;

static int begin(void **state)
{
	(void)state;
	dir = fresh_dir();
	a = (struct availability){0};
	return 0;
}

static int end(void **state)
{
	(void)state;
	availability_release(&a);
	dir_remove(dir, NULL);
	free(dir);
	return 0;
}

static void read_with(const struct availability_options *options)
{
	struct error err = {0};
	const char *const paths[] = {dir};

	if (availability_read(&a, paths, 1, options, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static void refused(enum status want, const char *words)
{
	struct error err = {0};
	const char *const paths[] = {dir};

	assert_int_equal(availability_read(&a, paths, 1, &usual, &err), want);
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), words);
	error_release(&err);
	availability_release(&a);
}

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

/* --- one observer ------------------------------------------------------------------- */

static void a_month_without_an_outage(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 30 * DAY, 50 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	assert_int_equal(a.verdict, SERVICE_MET);
	near(a.node_days, 30, 1e-9);
	near(a.a_node, 1, 0);
	near(a.confidence, 0.763, 0.001);
	near(a.bound95, 0.99792, 1e-5);
	near(a.missing_days, 62.4 - 30, 0.02);
	assert_int_equal(a.n_outages, 0);
	assert_true(isnan(a.low95_common));
}

static void a_short_watch_says_too_short(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + DAY, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	assert_int_equal(a.verdict, SERVICE_TOO_SHORT);
	assert_false(a.open_unknown);
	near(a.calendar_days, 1, 1e-9);
}

static void silence_in_the_same_boot_is_unknown(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log_beats(&log, "n001", T0 + 1200 * S, T0 + 1800 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.up_s, 1200, 0);
	near(a.unknown_s, 600, 0);
	near(a.down_s, 0, 0);
	near(a.a_node, 1, 0);
	near(a.a_node_low, 1200 / 1800.0, 1e-12);
}

static void another_boot_without_farewell_is_down(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log.boot = "boot-2";
	log.start_ns = T0 + 850 * S;
	log_line(&log, "n001", T0 + 900 * S, BEAT_START, NODE_UP, "period_s=10");
	log_beats(&log, "n001", T0 + 910 * S, T0 + 1800 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.down_s, 300, 0);
	near(a.up_s, 1500, 0);
	assert_int_equal(a.n_outages, 1);
	assert_int_equal(outage_minutes(&a.outages[0]), 5);
	assert_int_equal(a.nodes[0].boots, 1);
	near(a.nodes[0].boot_down_s, 300, 0);
}

/* The watch was ended on purpose and came back after a boot: a reboot or a week off. */
static void a_farewell_and_another_boot_is_unknown(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log_line(&log, "n001", T0 + 605 * S, BEAT_STOP, NODE_UP, "");
	log.boot = "boot-2";
	log.start_ns = T0 + 7 * DAY;
	log_beats(&log, "n001", T0 + 7 * DAY + 60 * S, T0 + 7 * DAY + 120 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.down_s, 0, 0);
	assert_true(a.unknown_s > 604000);
}

/* The agent came back long after the boot: from the boot on it was not started. */
static void a_late_agent_is_down_only_until_the_boot(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log.boot = "boot-2";
	log.start_ns = T0 + 700 * S;
	log_beats(&log, "n001", T0 + DAY, T0 + DAY + 60 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.down_s, 700, 0); /* to the boot and ten minutes */
	near(a.unknown_s, 86400 - 1300, 0);
}

static void clock_steps_are_unknown(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log.start_ns += 3600 * S; /* an hour ahead */
	log_beats(&log, "n001", T0 + 4210 * S, T0 + 4810 * S, 10 * S, NODE_UP);
	log.start_ns -= 3600 * S; /* and back */
	log_beats(&log, "n001", T0 + 1220 * S, T0 + 1820 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	assert_int_equal(a.nodes[0].steps, 2);
	near(a.down_s, 0, 0);
	/* Nobody knows what happened between, and no minute counts twice. */
	near(a.up_s + a.unknown_s, 4810, 0);
	near(a.up_s, 600 + 10, 0.001 + 10);
}

/* A machine without a clock of its own begins in 1970 until somebody tells it. */
static void a_clock_that_is_not_set_yet_says_nothing(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log.start_ns = 0;
	log_beats(&log, "n001", 60 * S, 120 * S, 10 * S, NODE_UP);
	log.start_ns = T0 - 130 * S;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.up_s, 600, 0);
	near(a.unknown_s, 0, 0);
}

static void a_clock_that_was_never_set_is_no_log(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", 60 * S, 120 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	refused(ST_NOTFOUND, "no beat yet");
}

static void the_same_log_twice_counts_once(void **state)
{
	struct made_log log = log_begin("n001"), twin;

	(void)state;
	log_beats(&log, "n001", T0, T0 + 3600 * S, 10 * S, NODE_UP);
	twin = log;
	twin.text = (struct str){0};
	str_add(&twin.text, str_text(&log.text));
	log_save(&log, dir, "a");
	log_save(&twin, dir, "b");
	read_with(&usual);
	near(a.up_s, 3600, 0);
	assert_int_equal(a.n_nodes, 1);
}

static void a_restart_counts_nothing_twice(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_line(&log, "n001", T0, BEAT_START, NODE_UP, "period_s=10");
	log_beats(&log, "n001", T0 + 10 * S, T0 + 600 * S, 10 * S, NODE_UP);
	log_line(&log, "n001", T0 + 603 * S, BEAT_START, NODE_UP, "period_s=10");
	log_beats(&log, "n001", T0 + 613 * S, T0 + 1213 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.up_s, 1213, 0);
	near(a.unknown_s, 0, 0);
}

static void beats_lost_to_a_full_disk_count_as_told(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log_line(&log, "n001", T0 + 4200 * S, BEAT_LOST, NODE_DEGRADED, "360 beats");
	log_beats(&log, "n001", T0 + 4210 * S, T0 + 4800 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.degraded_s, 3610, 0);
	near(a.up_s, 4800 - 3610, 0);
	assert_int_equal(a.nodes[0].lost_beats, 360);
}

static void the_leap_day_has_its_minutes(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", at("2028-02-28T00:00:00Z"), at("2028-03-01T00:00:00Z"), 50 * S,
	          NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	near(a.up_s, 2 * 86400, 50);
	near(a.calendar_days, 2, 0.001);
}

/* --- from outside ---------------------------------------------------------------------- */

static void outside(enum node_state during, int64_t seconds)
{
	struct made_log agent = log_begin("n001"), watcher = log_begin("w");

	log_beats(&agent, "n001", T0, T0 + 3600 * S, 10 * S, NODE_UP);
	log_save(&agent, dir, "n001");
	log_beats(&watcher, "n001", T0, T0 + 600 * S, 60 * S, NODE_UP);
	log_beats(&watcher, "n001", T0 + 610 * S, T0 + 610 * S + (seconds - 10) * S, 10 * S,
	          during);
	log_beats(&watcher, "n001", T0 + 610 * S + seconds * S, T0 + 3600 * S, 10 * S, NODE_UP);
	log_save(&watcher, dir, "w");
	read_with(&usual);
}

static void unreachable_is_down_though_the_agent_runs(void **state)
{
	(void)state;
	outside(NODE_DOWN, 300);
	near(a.down_s, 300, 0);
	assert_int_equal(a.n_outages, 1);
}

static void half_a_minute_is_no_outage(void **state)
{
	(void)state;
	outside(NODE_DOWN, 30);
	near(a.down_s, 0, 0);
	assert_int_equal(a.nodes[0].blips, 1);
}

static void a_watcher_without_network_knows_nothing(void **state)
{
	(void)state;
	outside(NODE_UNKNOWN, 300);
	near(a.down_s, 0, 0);
	near(a.up_s, 3600, 0);
}

static void reachable_with_a_silent_agent_is_up(void **state)
{
	struct made_log agent = log_begin("n001"), watcher = log_begin("w");

	(void)state;
	log_beats(&agent, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log_save(&agent, dir, "n001");
	log_beats(&watcher, "n001", T0, T0 + 3600 * S, 60 * S, NODE_UP);
	log_save(&watcher, dir, "w");
	read_with(&usual);
	near(a.up_s, 3600, 0);
	near(a.unknown_s, 0, 0);
}

static void a_node_that_never_came_back_is_not_forgotten(void **state)
{
	struct made_log one = log_begin("n001"), two = log_begin("n002");

	(void)state;
	log_beats(&one, "n001", T0, T0 + 600 * S, 10 * S, NODE_UP);
	log_save(&one, dir, "n001");
	log_beats(&two, "n002", T0, T0 + 3600 * S, 10 * S, NODE_UP);
	log_save(&two, dir, "n002");
	read_with(&usual);
	near(a.unknown_s, 3000, 0);
	near(a.a_all, 600 / 3600.0, 1e-12);
	near(a.a_all_high, 1, 0);
}

static void outages_less_than_a_period_apart_are_one(void **state)
{
	struct made_log log = log_begin("w");

	(void)state;
	log_line(&log, "n001", T0, BEAT_START, NODE_UP, "period_s=10");
	log_line(&log, "n001", T0 + 10 * S, BEAT_BEAT, NODE_DOWN, "");
	log_line(&log, "n001", T0 + 85 * S, BEAT_BEAT, NODE_UP, "");
	log_line(&log, "n001", T0 + 90 * S, BEAT_BEAT, NODE_DOWN, "");
	log_line(&log, "n001", T0 + 165 * S, BEAT_BEAT, NODE_UP, "");
	log_line(&log, "n001", T0 + 180 * S, BEAT_BEAT, NODE_DOWN, "");
	log_line(&log, "n001", T0 + 255 * S, BEAT_BEAT, NODE_UP, "");
	log_line(&log, "n001", T0 + 315 * S, BEAT_BEAT, NODE_UP, "");
	log_save(&log, dir, "w");
	read_with(&usual);
	assert_int_equal(a.n_outages, 2);
	near(a.down_s, 155 + 75, 0);
	assert_int_equal(outage_minutes(&a.outages[0]), 3);
}

/* --- whose fault, which verdict --------------------------------------------------------- */

/* A month of one node with one outage of so many minutes on 10 November, 12:00. */
static void month_with_outage(int minutes, const char *causes)
{
	struct availability_options options = usual;
	struct made_log log = log_begin("w");
	int64_t noon = at("2026-11-10T12:00:00Z");
	const char *file = tmpf("%s/causes.csv", dir);

	log_beats(&log, "n001", T0, noon - 60 * S, 60 * S, NODE_UP);
	log_beats(&log, "n001", noon, noon + (minutes - 1) * 60 * S, 60 * S, NODE_DOWN);
	log_beats(&log, "n001", noon + minutes * 60 * S, T0 + 30 * DAY, 60 * S, NODE_UP);
	log_save(&log, dir, "w");
	if (causes) {
		assert_int_equal(file_write(file, causes, strlen(causes), NULL), ST_OK);
		options.causes = file;
	}
	read_with(&options);
}

static void forty_three_minutes_are_allowed(void **state)
{
	(void)state;
	month_with_outage(43, NULL);
	assert_int_equal(a.verdict, SERVICE_MET);
	near(a.down_s, 43 * 60, 0);
	near(a.alone_min, 43, 0);
	near(a.a_node, 1 - 43 / 43200.0, 1e-12);
	assert_true(a.low95 < a.a_node && a.a_node < a.high95);
	near(a.bound95, 1 - 4.744 * 43 / 43200, 1e-5);
}

static void forty_four_are_not(void **state)
{
	(void)state;
	month_with_outage(44, NULL);
	assert_int_equal(a.verdict, SERVICE_MISSED);
	assert_false(a.already);
}

static void planned_minutes_stand_apart(void **state)
{
	(void)state;
	month_with_outage(90,
	                  "from_utc,to_utc,node,cause,note\n"
	                  "2026-11-10T20:00:00+08:00,2026-11-10T21:00:00+08:00,*,planned,switch\n");
	assert_int_equal(a.verdict, SERVICE_MET);
	near(a.planned_s, 3600, 0);
	near(a.down_s, 1800, 0);
	near(a.a_all_in, 1 - 90 / 43200.0, 1e-12);
	assert_int_equal(a.n_outages, 2);
	assert_int_equal(a.alone, 1);
}

static void own_reboots_are_not_the_vendors(void **state)
{
	(void)state;
	month_with_outage(90, "from_utc,to_utc,node,cause\r\n"
	                      "2026-11-10 12:00:00Z,2026-11-10 13:30:00Z,n001,customer\r\n");
	assert_int_equal(a.verdict, SERVICE_MET);
	near(a.customer_s, 5400, 0);
	near(a.a_node, 1, 0);
}

/* The budget of 30 days is spent on the second. */
static void a_miss_needs_not_wait_for_the_end(void **state)
{
	struct made_log log = log_begin("w");

	(void)state;
	log_beats(&log, "n001", T0, T0 + DAY, 60 * S, NODE_UP);
	log_beats(&log, "n001", T0 + DAY + 60 * S, T0 + DAY + 3600 * S, 60 * S, NODE_DOWN);
	log_beats(&log, "n001", T0 + DAY + 3660 * S, T0 + 2 * DAY, 60 * S, NODE_UP);
	log_save(&log, dir, "w");
	read_with(&usual);
	assert_int_equal(a.verdict, SERVICE_MISSED);
	assert_true(a.already);
}

static void too_much_unknown_is_no_verdict(void **state)
{
	struct made_log log = log_begin("n001");

	(void)state;
	log_beats(&log, "n001", T0, T0 + 15 * DAY, 50 * S, NODE_UP);
	log_beats(&log, "n001", T0 + 15 * DAY + 1200 * S, T0 + 30 * DAY + 50 * S, 50 * S, NODE_UP);
	log_save(&log, dir, "n001");
	read_with(&usual);
	assert_int_equal(a.verdict, SERVICE_TOO_SHORT);
	assert_true(a.open_unknown);
}

static void together_is_one_event(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		const char *name = tmpf("n%d", i);
		struct made_log log = log_begin(tmpf("w%d", i));
		int64_t from = T0 + 600 * S + i * 30 * S;

		log_beats(&log, name, T0, from - 10 * S, 10 * S, NODE_UP);
		log_beats(&log, name, from, from + 600 * S, 10 * S, NODE_DOWN);
		log_beats(&log, name, from + 610 * S, T0 + 7200 * S, 10 * S, NODE_UP);
		if (i == 2) {
			log_beats(&log, name, T0 + 7210 * S, T0 + 7400 * S, 10 * S, NODE_DOWN);
			log_line(&log, name, T0 + 7410 * S, BEAT_BEAT, NODE_UP, "");
		}
		log_save(&log, dir, log.observer);
	}
	read_with(&usual);
	assert_int_equal(a.n_outages, 4);
	assert_int_equal(a.common, 1);
	assert_int_equal(a.alone, 1);
	near(a.common_min, 610 / 60.0, 1e-9);
	assert_int_equal(a.outages[0].common, 1);
	assert_int_equal(a.outages[3].common, 0);
	assert_true(isfinite(a.low95_common));
}

/* --- what is refused ----------------------------------------------------------------------- */

static void change_byte(int64_t line, char from, char to)
{
	struct str text = {0};
	char *p;

	file_read(&text, tmpf("%s/n001%s", dir, HEARTBEAT_ENDING), 1 << 20, NULL);
	p = text.data;
	while (--line)
		p = strchr(p, '\n') + 1;
	*strchr(p, from) = to;
	file_write(tmpf("%s/n001%s", dir, HEARTBEAT_ENDING), text.data, text.len, NULL);
	str_release(&text);
}

static void short_log(void)
{
	struct made_log log = log_begin("n001");

	log_beats(&log, "n001", T0, T0 + 100 * S, 10 * S, NODE_UP);
	log_save(&log, dir, "n001");
}

static void an_altered_line_is_named(void **state)
{
	(void)state;
	short_log();
	change_byte(5, 'u', 'U');
	refused(ST_PARSE, ":5: state cannot be \"Up\"");
}

static void an_altered_figure_breaks_the_chain(void **state)
{
	(void)state;
	short_log();
	change_byte(5, '8', '7');
	refused(ST_CORRUPT, ":6: not the line that followed line 5");
}

static void a_foreign_line_is_named(void **state)
{
	struct str text = {0};

	(void)state;
	short_log();
	file_read(&text, tmpf("%s/n001%s", dir, HEARTBEAT_ENDING), 1 << 20, NULL);
	str_add(&text, "Dec  2 03:04:05 kernel: hello\n");
	file_write(tmpf("%s/n001%s", dir, HEARTBEAT_ENDING), text.data, text.len, NULL);
	str_release(&text);
	refused(ST_PARSE, ":13: not a line of a heartbeat log");
}

static void a_torn_line_is_dropped_and_said(void **state)
{
	struct str text = {0};

	(void)state;
	short_log();
	file_read(&text, tmpf("%s/n001%s", dir, HEARTBEAT_ENDING), 1 << 20, NULL);
	file_write(tmpf("%s/n001%s", dir, HEARTBEAT_ENDING), text.data, text.len - 20, NULL);
	str_release(&text);
	read_with(&usual);
	near(a.up_s, 90, 0);
	assert_int_equal(a.n_notes, 1);
	assert_non_null(strstr(a.notes[0], ":12: torn off"));
}

static void empty_folders_and_files_are_named(void **state)
{
	(void)state;
	refused(ST_NOTFOUND, HEARTBEAT_ENDING);
	file_write(tmpf("%s/x%s", dir, HEARTBEAT_ENDING), "a,b\n", 4, NULL);
	refused(ST_PARSE, ":1: not the header");
	file_write(tmpf("%s/x%s", dir, HEARTBEAT_ENDING), HEARTBEAT_COLUMNS "\n",
	           strlen(HEARTBEAT_COLUMNS) + 1, NULL);
	refused(ST_NOTFOUND, "no beat yet");
}

static void bad_causes(const char *text, const char *words)
{
	struct availability_options options = usual;
	struct error err = {0};
	const char *const paths[] = {dir};
	const char *file = tmpf("%s/causes.csv", dir);

	file_write(file, text, strlen(text), NULL);
	options.causes = file;
	assert_int_equal(availability_read(&a, paths, 1, &options, &err), ST_PARSE);
	if (!strstr(str_text(&err.text), words))
		fail_msg("\"%s\" lacks \"%s\"", str_text(&err.text), words);
	error_release(&err);
	availability_release(&a);
}

static void causes_are_read_strictly(void **state)
{
	(void)state;
	short_log();
	bad_causes("from_utc,to_utc,nodes,cause\n", "nearest is \"nodes\"");
	bad_causes(
		"from_utc,to_utc,node,cause\n2026-11-01T00:00:00,2026-11-02T00:00:00Z,*,planned\n",
		":2: from_utc \"2026-11-01T00:00:00\" does not say its zone");
	bad_causes(
		"from_utc,to_utc,node,cause\n2026-02-29T00:00:00Z,2026-11-02T00:00:00Z,*,planned\n",
		"does not exist");
	bad_causes(
		"from_utc,to_utc,node,cause\n2026-11-03T00:00:00Z,2026-11-02T00:00:00Z,*,planned\n",
		":2: to_utc is not after");
	bad_causes(
		"from_utc,to_utc,node,cause\n2026-11-01T00:00:00Z,2026-11-02T00:00:00Z,*,weather\n",
		"\"weather\" is none of");
	bad_causes("from_utc,to_utc,node,cause\nyesterday,2026-11-02T00:00:00Z,*,planned\n",
	           "not a date and time");
	bad_causes(
		"from_utc,to_utc,node,cause\n2026-11-01T00:00:00Z,2026-11-02T00:00:00Z,,planned\n",
		"no node");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_month_without_an_outage),
		TEST(a_short_watch_says_too_short),
		TEST(silence_in_the_same_boot_is_unknown),
		TEST(another_boot_without_farewell_is_down),
		TEST(a_farewell_and_another_boot_is_unknown),
		TEST(a_late_agent_is_down_only_until_the_boot),
		TEST(clock_steps_are_unknown),
		TEST(a_clock_that_is_not_set_yet_says_nothing),
		TEST(a_clock_that_was_never_set_is_no_log),
		TEST(the_same_log_twice_counts_once),
		TEST(a_restart_counts_nothing_twice),
		TEST(beats_lost_to_a_full_disk_count_as_told),
		TEST(the_leap_day_has_its_minutes),
		TEST(unreachable_is_down_though_the_agent_runs),
		TEST(half_a_minute_is_no_outage),
		TEST(a_watcher_without_network_knows_nothing),
		TEST(reachable_with_a_silent_agent_is_up),
		TEST(a_node_that_never_came_back_is_not_forgotten),
		TEST(outages_less_than_a_period_apart_are_one),
		TEST(forty_three_minutes_are_allowed),
		TEST(forty_four_are_not),
		TEST(planned_minutes_stand_apart),
		TEST(own_reboots_are_not_the_vendors),
		TEST(a_miss_needs_not_wait_for_the_end),
		TEST(too_much_unknown_is_no_verdict),
		TEST(together_is_one_event),
		TEST(an_altered_line_is_named),
		TEST(an_altered_figure_breaks_the_chain),
		TEST(a_foreign_line_is_named),
		TEST(a_torn_line_is_dropped_and_said),
		TEST(empty_folders_and_files_are_named),
		TEST(causes_are_read_strictly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
