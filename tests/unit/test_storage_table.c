/* Storage in the report: readings made by hand, printed; and the point that the
 * judging chose, from readings to the page. */
#include "unit.h"

#include <locale.h>

#include "base/json.h"
#include "report/words.h"
#include "report_kit.h"
#include "score_kit.h"

#define READINGS 4096

struct made {
	struct reading readings[READINGS];
	const struct reading *list[READINGS];
	struct rule_info rule;
	struct finding findings[2];
	struct scorecard card;
	struct arena arena;
	const char *node, *path;
};

/* --- making ----------------------------------------------------------------------- */

static struct made *made_new(void)
{
	struct made *m = calloc(1, sizeof(*m));

	assert_non_null(m);
	m->card = card_of(OVERALL_INCOMPLETE);
	m->card.readings = m->list;
	m->rule = rule_of("storage-latency", "S", "storage_read_lat_p99_ms", "ms", "<= 1 ms");
	m->node = "n001";
	m->path = "/data";
	return m;
}

static void made_free(struct made *m)
{
	arena_release(&m->arena);
	free(m);
}

static struct reading *add(struct made *m, const char *metric, const char *unit, int depth)
{
	int64_t n = m->card.n_readings++;
	struct reading *r = &m->readings[n];

	assert_true(n < READINGS);
	*r = reading_init();
	r->seq = n;
	r->node = m->node;
	r->metric = metric;
	r->unit = unit;
	r->subject = (struct subject){.kind = SUBJECT_PATH, .id = m->path, .index = -1};
	r->point = depth ? arena_strf(&m->arena, "depth=%d", depth) : NULL;
	m->list[n] = r;
	return r;
}

static struct reading *add_number(struct made *m, const char *metric, const char *unit, int depth,
                                  double value)
{
	struct reading *r = add(m, metric, unit, depth);

	r->value_kind = VALUE_NUMBER;
	r->value = value;
	return r;
}

/* Prefix "" or "local_". */
static struct reading *add_point(struct made *m, const char *prefix, int depth, double iops,
                                 double p99)
{
	const char *names[4] = {"read_iops", "read_lat_mean_ms", "read_lat_p99_ms",
	                        "read_lat_p999_ms"};
	double values[4] = {iops, p99 / 4, p99, p99 * 3};
	struct reading *first = NULL;

	for (int i = 0; i < 4; i++) {
		struct reading *r =
			add_number(m, arena_strf(&m->arena, "%sstorage_%s", prefix, names[i]),
		                   i ? "ms" : "IOPS", depth, values[i]);

		r->params = "{\"cpu_percent\":12.4,\"client_bound\":false,\"held\":false,"
			    "\"runtime_s\":10}";
		first = first ? first : r;
	}
	return first;
}

static void add_missing(struct made *m, int depth, const char *why)
{
	struct reading *r = add(m, "storage_read_iops", "IOPS", depth);

	r->outcome = OUTCOME_NOT_MEASURED;
	r->reason = (struct reason){.code = "why", .text = why};
}

/* What judging says of the path: `point` chosen, or NULL with the reason. */
static void judge(struct made *m, const struct reading *evidence, const char *point)
{
	m->findings[0] = with_value(finding_of(&m->rule, SUBJECT_PATH, m->path, NULL,
	                                       point ? VERDICT_PASS : VERDICT_FAIL),
	                            0.9, 1);
	m->findings[0].evidence = evidence;
	m->findings[0].point = point;
	if (!point)
		m->findings[0].reason = (struct reason){
			.code = "no_point_meets",
			.text = "no operating point meets storage_read_lat_p99_ms <= 1 ms"};
	m->card.findings = m->findings;
	m->card.n_findings = 1;
}

/* The example of a failed acceptance: 610K where it counts, 940K where not. */
static struct made *sweep(void)
{
	struct made *m = made_new();
	struct reading *r;

	add_point(m, "", 1, 10200, 0.12);
	add_point(m, "", 128, 940000, 3.2)->params =
		"{\"cpu_percent\":97,\"client_bound\":true,\"runtime_s\":10}";
	add_point(m, "", 16, 610000, 0.94)->params =
		"{\"cpu_percent\":55.6,\"held\":true,\"runtime_s\":60}";
	add_missing(m, 256, "no time left within the budget, which is short");
	add_number(m, "storage_read_cv", "1", 16, 0.042);
	add_number(m, "storage_read_worst_second", "1", 16, 0.91);
	add_number(m, "storage_read_thirds", "1", 16, 0.985);
	add_number(m, "storage_lat_depth1_us", "us", 0, 98);
	add_number(m, "storage_read_iops_max", "IOPS", 0, 940000);
	add_number(m, "storage_knee_depth", "1", 0, 128);
	add_number(m, "storage_depth_below_1ms", "1", 0, 16);
	add_number(m, "storage_offered_iops", "IOPS", 0, 2612000);
	r = add(m, "storage_limit", "text", 0);
	r->value_kind = VALUE_TEXT;
	r->text = "client_cpu";
	r->params = "{\"depth\":16,\"chosen\":true}";
	judge(m, &m->readings[8], "depth=16");
	return m;
}

/* --- asserting -------------------------------------------------------------------- */

static void assert_page(const struct made *m, const char *text, bool said)
{
	struct str out = print("terminal", &m->card, plain(80));

	if ((strstr(out.data, text) != NULL) != said) {
		print_message("%s", out.data);
		fail_msg("%s above:\n%s", said ? "missing" : "present", text);
	}
	str_release(&out);
}

static int count_of(const struct made *m, const char *text)
{
	struct str out = print("terminal", &m->card, plain(80));
	int n = 0;

	for (const char *p = strstr(out.data, text); p; p = strstr(p + 1, text))
		n++;
	str_release(&out);
	return n;
}

static void assert_fits(const struct made *m, int width, bool utf8)
{
	struct report_options o = plain(width);
	struct str out;
	char *save = NULL;

	o.utf8 = utf8;
	out = print("terminal", &m->card, o);
	for (const char *p = out.data; *p; p++)
		assert_true(*p == '\n' || (unsigned char)*p >= 0x80 ? utf8 || *p == '\n'
		                                                    : *p >= 0x20 && *p < 0x7f);
	for (char *l = strtok_r(out.data, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		if (words_columns(l) > width)
			fail_msg("wider than %d: %s", width, l);
		assert_false(*l && l[strlen(l) - 1] == ' ');
	}
	str_release(&out);
}

/* --- the table ---------------------------------------------------------------------- */

static void whole(void **state)
{
	struct made *m = sweep();

	(void)state;
	assert_page(
		m,
		"  storage in figures (random reads of 4 KiB)\n"
		"    /data\n"
		"      depth   IOPS  mean ms  p99 ms  p99.9 ms  CPU %  note\n"
		"          1  10.2K   0.0300   0.120     0.360     12\n"
		"       > 16   610K    0.235   0.940      2.82     56  chosen, held 60 s\n"
		"        128   940K    0.800    3.20      9.60     97  client CPU busy\n"
		"        256      -        -       -         -      -  no time left within the...\n"
		"      chosen: depth 16, 610K IOPS at p99 0.940 ms\n"
		"      highest IOPS without the latency limit: 940K IOPS at p99 3.20 ms, beyond\n"
		"        the latency limit\n"
		"      limited by: the CPU of the client\n"
		"      held 60 s at depth 16: 4.20 % variation from second to second, worst\n"
		"        second 91 % of the mean, last third 98.5 % of the first\n"
		"      median 98 us at depth 1, knee at depth 128, p99 within its limit up to\n"
		"        depth 16\n"
		"      ceiling: 2612K IOPS can be offered at the greatest depth\n\n",
		true);
	made_free(m);
}

/* A second opinion would mark 16, which is faster and below 1 ms as well. */
static void point_of_judging(void **state)
{
	struct made *m = sweep();

	(void)state;
	add_point(m, "", 8, 300000, 0.5);
	judge(m, &m->readings[m->card.n_readings - 2], "depth=8");
	assert_page(m, "        > 8   300K", true);
	assert_page(m, "chosen: depth 8, 300K IOPS at p99 0.500 ms", true);
	assert_page(m, "> 16", false);
	assert_page(m, "at depth 16 limited by: the CPU of the client", true);
	made_free(m);
}

static void literal_does_not_choose(void **state)
{
	struct made *m = sweep();

	(void)state;
	m->rule.reading = RULE_LITERAL;
	assert_page(m, "chosen", false);
	assert_page(m, "beyond the latency limit", false);
	assert_page(m, "highest IOPS without the latency limit: 940K IOPS at p99 3.20 ms\n", true);
	made_free(m);
}

static void none_chosen(void **state)
{
	struct made *m = sweep();

	(void)state;
	judge(m, &m->readings[4], NULL);
	assert_page(m, "> 16", false);
	assert_page(
		m,
		"      no point chosen: no operating point meets storage_read_lat_p99_ms <= 1 ms\n",
		true);
	assert_page(m, "3.20 ms, beyond\n        the latency limit", true);
	made_free(m);
}

static void highest_is_chosen(void **state)
{
	struct made *m = made_new();

	(void)state;
	add_point(m, "", 4, 50000, 0.2);
	add_point(m, "", 8, 90000, 0.4);
	judge(m, &m->readings[6], "depth=8");
	assert_page(m, "highest IOPS without the latency limit: the same point\n", true);
	assert_page(m, "limited by", false);
	assert_page(m, "held", false);
	assert_page(m, "ceiling", false);
	made_free(m);
}

/* An old fio says no percentiles: what is not known is not said to be beyond. */
static void without_latency(void **state)
{
	struct made *m = made_new();

	(void)state;
	add_number(m, "storage_read_iops", "IOPS", 4, 50000)->params = "{broken";
	assert_page(m, "          4   50K        -       -         -      -\n", true);
	assert_page(m, "highest IOPS without the latency limit: 50K IOPS\n", true);
	made_free(m);
}

static void limits(void **state)
{
	static const char *const words[][2] = {
		{"storage", "limited by: the storage\n"},
		{"client_link", "limited by: the network link of the client\n"},
		{"offered_load", "limited by: the load offered; more depth may give more\n"},
		{"moon", "limited by: moon\n"},
	};
	struct made *m = sweep();

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		m->readings[m->card.n_readings - 1].text = words[i][0];
		assert_page(m, words[i][1], true);
	}
	made_free(m);
}

/* --- many nodes, several paths ---------------------------------------------------------- */

static void worst_node_only(void **state)
{
	struct made *m = made_new();
	const struct reading *evidence = NULL, *failing = NULL;
	struct reading elsewhere;

	(void)state;
	for (int i = 1; i <= 125; i++) {
		struct reading *first;

		m->node = arena_strf(&m->arena, "n%03d", i);
		first = add_point(m, "", 8, i == 44 ? 7000 : 9000 + i, i == 17 ? 0.97 : 0.5);
		if (i == 17)
			evidence = first + 2;
		if (i == 90)
			failing = first + 3;
		add_point(m, "", 16, 12000, 2);
	}
	assert_page(m, "    /data, n001: the worst of 125 nodes\n", true);
	assert_int_equal(count_of(m, "p99.9 ms"), 1);
	judge(m, evidence, "depth=8");
	assert_page(m, "    /data, n017: the worst of 125 nodes\n", true);
	assert_page(m, "        > 8  9017    0.242   0.970", true);
	assert_int_equal(count_of(m, "p99.9 ms"), 1);
	/* Another rule of the group fails on another node. */
	m->findings[1] = m->findings[0];
	m->findings[1].verdict = VERDICT_FAIL;
	m->findings[1].evidence = failing;
	m->card.n_findings = 2;
	assert_page(m, "    /data, n090: the worst of 125 nodes\n", true);
	/* Of a node that is not in the record. */
	elsewhere = *failing;
	elsewhere.node = "n999";
	m->findings[1].evidence = &elsewhere;
	assert_page(m, "    /data, n001: the worst of 125 nodes\n", true);
	made_free(m);
}

static void local_disk(void **state)
{
	struct made *m = sweep();

	(void)state;
	m->path = "/a/run";
	add_point(m, "local_", 4, 61500, 0.6);
	assert_page(m, "    /a/run: local disk, for information\n      depth", true);
	assert_int_equal(count_of(m, "p99.9 ms"), 2);
	assert_int_equal(count_of(m, "chosen: "), 1);
	made_free(m);
}

static void nothing_measured(void **state)
{
	struct made *m = made_new();

	(void)state;
	add_missing(m, 4, "no fio");
	m->card.information = m->list;
	m->card.n_information = 1;
	assert_page(m, "storage in figures", false);
	assert_page(m, "no figure of storage_read_iops: no fio", true);
	made_free(m);
}

/* Shown by path, so not again among all other figures. */
static void not_twice(void **state)
{
	struct made *m = sweep();

	(void)state;
	m->path = "/data";
	add_number(m, "storage_write_mbs", "MB/s", 0, 700)->better = BETTER_HIGHER;
	m->card.information = m->list;
	m->card.n_information = m->card.n_readings;
	assert_page(m, "storage_write_mbs  700 MB/s", true);
	assert_page(m, "storage_knee_depth", false);
	assert_page(m, "no figure of storage_read_iops", true);
	made_free(m);
}

/* --- jobs --------------------------------------------------------------------------- */

static void checkpoint_lines(void **state)
{
	struct made *m = made_new();

	(void)state;
	add_number(m, "checkpoint_write_gbs", "GB/s", 0, 2.1);
	add_number(m, "checkpoint_read_gbs", "GB/s", 0, 3);
	add_number(m, "checkpoint_70b_s", "s", 0, 434)->params = "{\"checkpoint_bytes\":912e9}";
	assert_page(m,
	            "    /data\n"
	            "      checkpoint: 2.10 GB/s written, 3 GB/s read; a 70B checkpoint (912 GB)\n"
	            "        takes 7 min 14 s from this node alone\n",
	            true);
	assert_page(m, "depth", false);
	add_number(m, "checkpoint_write_buffered_gbs", "GB/s", 0, 2.5);
	add_number(m, "checkpoint_405b_s", "s", 0, 2519)->params = "{\"checkpoint_bytes\":5.29e12}";
	assert_page(m, "2.10 GB/s written (buffered 2.50 GB/s), 3 GB/s read; a", true);
	assert_page(m, "7 min 14 s, a 405B checkpoint (5.29 TB) takes\n", true);
	made_free(m);
}

static void slowest_job(void **state)
{
	struct made *m = made_new();

	(void)state;
	for (int i = 1; i <= 3; i++) {
		m->node = arena_strf(&m->arena, "n%d", i);
		add_number(m, "dataset_stream_gbs", "GB/s", 0, i == 2 ? 1.1 : 1.5);
		add_number(m, "dataset_small_iops", "IOPS", 0, 45000 + i);
		add_number(m, "checkpoint_read_buffered_gbs", "GB/s", 0, i);
	}
	assert_page(m,
	            "      checkpoint: 1 GB/s read (buffered); n1: the slowest of 3 nodes\n"
	            "      dataset: 1.10 GB/s streamed, 45.0K IOPS of small random reads; n2: the\n"
	            "        slowest of 3 nodes\n",
	            true);
	made_free(m);
}

/* --- any page ----------------------------------------------------------------------- */

static void every_width(void **state)
{
	struct made *m = sweep();

	(void)state;
	m->path = "/a/\033[31mred/\xe6\x95\xb0\xe6\x8d\xae/\xff/with a very long name that goes on "
		  "and on";
	add_point(m, "", 4, 61500, 0.6);
	add_missing(m, 1000000, "\033]0;title\007 \xe6\x97\xa0\xe6\xb3\x95");
	for (int utf8 = 0; utf8 < 2; utf8++) {
		assert_fits(m, 80, utf8);
		assert_fits(m, 72, utf8);
		assert_fits(m, 71, utf8);
		assert_fits(m, 40, utf8);
	}
	made_free(m);
}

static void narrow_page_has_lines(void **state)
{
	struct made *m = sweep();
	struct str out = print("terminal", &m->card, plain(60));

	(void)state;
	assert_non_null(strstr(out.data, "depth > 16: 610K IOPS, mean 0.235 ms, p99 0.940 ms,"));
	assert_non_null(strstr(out.data, "depth 256: not measured, no time left within the"));
	assert_null(strstr(out.data, "p99.9 ms  CPU"));
	str_release(&out);
	made_free(m);
}

/* --- from the judging ----------------------------------------------------------------- */

#define RULE                                                                                       \
	"{\"id\":\"lat\",\"criterion\":\"1\",\"source\":\"s\",\"metric\":\"path_lat_ms\","         \
	"\"unit\":\"ms\",\"max\":1,\"at_point\":{\"group\":\"g\",\"maximize\":\"path_iops\","      \
	"\"subject_to\":[{\"metric\":\"path_lat_ms\",\"max\":1}]}}"

static void kit_depths(struct kit *k, const char *node, const double values[][2], int n)
{
	static const char *const storage[] = {"/data"};

	k->run.info.storage = storage;
	k->run.info.n_storage = 1;
	for (int i = 0; i < n; i++) {
		const char *point = arena_strf(&k->arena, "depth=%d", 1 << i);

		kit_number(k, node, "/data", "path_iops", values[i][0])->point = point;
		kit_number(k, node, "/data", "path_lat_ms", values[i][1])->point = point;
	}
}

static void judging_keeps_the_point(void **state)
{
	static const double good[][2] = {{100, 0.2}, {190, 0.5}, {300, 3}};
	static const double bad[][2] = {{100, 1.2}, {190, 1.5}};
	struct kit *k = kit_run(1, 0);

	(void)state;
	kit_depths(k, "n001", good, 3);
	kit_score(k, kit_profile("", RULE));
	assert_string_equal(kit_finding(k, "lat", "/data")->point, "depth=2");
	assert_string_equal(kit_finding(k, "lat", "/data")->evidence->point, "depth=2");
	assert_int_equal(k->card.n_readings, 6);
	kit_free(k);

	k = kit_run(1, 0);
	kit_depths(k, "n001", bad, 2);
	kit_score(k, kit_profile("", RULE));
	assert_null(kit_finding(k, "lat", "/data")->point);
	assert_string_equal(kit_finding(k, "lat", "/data")->evidence->point, "depth=2");
	assert_reason(k, "lat", "no_point_meets");
	kit_free(k);
}

static void json_says_the_point(void **state)
{
	struct made *m = sweep();
	struct str out = print("json", &m->card, plain(80));
	struct json_doc doc;
	struct error err = {0};

	(void)state;
	assert_int_equal(json_parse(&doc, "card", out.data, out.len, JSON_STRICT, &err), ST_OK);
	assert_string_equal(
		json_string(cJSON_GetArrayItem(json_get(doc.root, "findings"), 0), "point", ""),
		"depth=16");
	json_release(&doc);
	str_release(&out);
	out = print("csv", &m->card, plain(80));
	assert_non_null(strstr(out.data, ",storage_read_lat_p99_ms,value,depth=16,"));
	str_release(&out);
	made_free(m);
}

int main(void)
{
	setlocale(LC_CTYPE, "C.UTF-8");

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(point_of_judging),
		cmocka_unit_test(literal_does_not_choose),
		cmocka_unit_test(none_chosen),
		cmocka_unit_test(highest_is_chosen),
		cmocka_unit_test(without_latency),
		cmocka_unit_test(limits),
		cmocka_unit_test(worst_node_only),
		cmocka_unit_test(local_disk),
		cmocka_unit_test(nothing_measured),
		cmocka_unit_test(not_twice),
		cmocka_unit_test(checkpoint_lines),
		cmocka_unit_test(slowest_job),
		cmocka_unit_test(every_width),
		cmocka_unit_test(narrow_page_has_lines),
		cmocka_unit_test(judging_keeps_the_point),
		cmocka_unit_test(json_says_the_point),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
