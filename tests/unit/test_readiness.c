/* Software and the gate in reports: what most nodes say and who says otherwise, what a
 * gate said of the record at hand and of no other, in every format and both languages. */
#include "report_kit.h"
#include "run_fixture.h"

#include "report/compare.h"
#include "report/readiness.h"
#include "run/gated.h"

#define NODES 3

/* --- a scorecard ------------------------------------------------------------------------- */

struct made {
	struct reading reading[16];
	const struct reading *list[16];
	struct scorecard card;
	struct gated gated;
	struct gated_line lines[3];
};

static void put(struct made *m, const char *metric, const char *node, const char *text,
                double value)
{
	struct reading *r = &m->reading[m->card.n_readings];

	*r = reading_init();
	r->metric = metric;
	r->unit = text ? "text" : "1";
	r->node = node;
	r->subject.kind = node ? SUBJECT_ENVIRONMENT : SUBJECT_CLUSTER;
	r->value_kind = text ? VALUE_TEXT : VALUE_NUMBER;
	r->text = text;
	r->value = value;
	m->list[m->card.n_readings++] = r;
}

static const char *const baselines[] = {"runs/golden"};

/* Three nodes, one of which has an older PyTorch; an engine's gain over all of them; and a
 * gate that regressed. */
static struct made *made(void)
{
	static const char *const nodes[NODES] = {"n001", "n002", "n003"};
	struct made *m = calloc(1, sizeof(*m));

	m->card = card_of(OVERALL_INCOMPLETE);
	m->card.readings = m->list;
	for (int i = 0; i < NODES; i++) {
		put(m, "sw_pytorch", nodes[i], i == 2 ? "2.5 <old>" : "2.6", 0);
		put(m, "fw_pytorch_level", nodes[i], "runs", 0);
		put(m, "sw_image", nodes[i], "0123456789abcdef", 0);
	}
	put(m, "training_engine_ratio", NULL, NULL, 1.25);
	m->reading[9].stats[STAT_CI_LO] = 1.1;
	m->reading[9].stats[STAT_CI_HI] = 1.4;
	put(m, "collective_busbw", NULL, NULL, 7);
	m->lines[0] = (struct gated_line){
		GATED_SLOWER, false, "gemm_fp16_tflops", {"gemm is 3 % worse", "gemm 差 3 %"}};
	m->lines[1] =
		(struct gated_line){GATED_LOST, false, "p2p_gbs", {"p2p is lost", "p2p 丢失"}};
	m->lines[2] = (struct gated_line){GATED_SOFTWARE,
	                                  true,
	                                  "gpu kernel_driver",
	                                  {"driver: 550 -> 570 <new>", "驱动：550 -> 570 <new>"}};
	m->gated = (struct gated){.verdict = GATED_REGRESSED,
	                          .time = "2026-12-02T03:04:05.678Z",
	                          .baselines = baselines,
	                          .n_baselines = 1,
	                          .compared = 812,
	                          .left_out = 4,
	                          .lines = m->lines,
	                          .n_lines = 3};
	m->card.gated = &m->gated;
	return m;
}

static void most_stand_for_all(void **state)
{
	struct made *m = made();
	struct arena arena = {0};
	struct readiness r;
	struct str words = {0};

	(void)state;
	readiness_find(&r, &arena, &m->card);
	assert_int_equal(r.n, 4); /* what is neither software nor job is elsewhere */
	assert_string_equal(r.rows[0].name, "sw_pytorch");
	readiness_words(&words, &r.rows[0]);
	assert_string_equal(words.data, "2.6 (2 of 3 nodes); 2.5 <old> (n003)");
	assert_true(r.rows[0].tells && r.rows[1].tells && r.rows[3].tells);
	assert_false(r.rows[2].tells); /* a digest that all have */
	assert_string_equal(r.rows[3].text, "1.25 (1.10 to 1.40)");
	/* Nothing measured is nothing to tell, unless nodes differ in it. */
	for (int i = 0; i < NODES; i++) {
		m->reading[3 * i + 1].outcome = OUTCOME_NOT_MEASURED;
		m->reading[3 * i + 1].reason.text = "left out";
	}
	readiness_find(&r, &arena, &m->card);
	assert_false(r.rows[1].tells);
	m->reading[1].outcome = OUTCOME_MEASURED;
	readiness_find(&r, &arena, &m->card);
	assert_true(r.rows[1].tells);
	str_release(&words);
	arena_release(&arena);
	free(m);
}

static void expect_in(const struct str *out, const char *format, const char *const *words)
{
	for (; *words; words++)
		if (!strstr(out->data, *words))
			fail_msg("%s lacks \"%s\": %s", format, *words, out->data);
}

/* In the four forms for people and for CI systems. */
static void every_report_has_them(void **state)
{
	static const char *const markdown[] = {"2 / 3",
	                                       "n003",
	                                       "1\\.25",
	                                       "runs",
	                                       "REGRESSED; baselines\\: runs/golden",
	                                       "gemm is 3 % worse",
	                                       "and 4 more",
	                                       NULL};
	static const char *const html[] = {"2 / 3",
	                                   "2.5 &lt;old&gt; (n003)",
	                                   "1.25 (1.10 to 1.40)",
	                                   "REGRESSED; baselines: runs/golden",
	                                   "driver: 550 -&gt; 570 &lt;new&gt;",
	                                   NULL};
	static const char *const junit[] = {"tests=\"7\" failures=\"2\" errors=\"0\" skipped=\"1\"",
	                                    "<testsuite name=\"software\" tests=\"3\"",
	                                    "2.5 &lt;old&gt; (n003)",
	                                    "<testsuite name=\"gate\" tests=\"4\" failures=\"2\"",
	                                    "<failure message=\"gemm is 3 % worse\"/>",
	                                    "<skipped message=\"p2p is lost\"/>",
	                                    NULL};
	static const char *const terminal[] = {"the gate, beside runs/golden: REGRESSED", NULL};
	static const struct {
		const char *format;
		const char *const *words;
	} rows[] = {
		{"markdown", markdown}, {"html", html}, {"junit", junit}, {"terminal", terminal}};
	struct made *m = made();

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str out = print(rows[i].format, &m->card, plain(80));

		expect_in(&out, rows[i].format, rows[i].words);
		str_release(&out);
	}
	/* Without either there is no section and no suite. */
	m->card.n_readings = 0;
	m->card.gated = NULL;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct str out = print(rows[i].format, &m->card, plain(80));

		assert_null(strstr(out.data, "REGRESSED"));
		assert_null(strstr(out.data, "\"software\""));
		str_release(&out);
	}
	free(m);
}

static void in_chinese_too(void **state)
{
	static const char *const words[] = {"gemm 差 3 %", "驱动", "门禁", NULL};
	struct made *m = made();
	enum language before = msg_speak(LANGUAGE_ZH);
	struct str page = print("html", &m->card, plain(80)),
		   ticket = print("markdown", &m->card, plain(80));

	(void)state;
	msg_speak(before);
	expect_in(&page, "html", words);
	expect_in(&ticket, "markdown", words);
	str_release(&page);
	str_release(&ticket);
	free(m);
}

/* Two runs: what differs is shown for each, what does not is one line on a terminal. */
static void side_by_side(void **state)
{
	static const char *const text[] = {"software and gate", "2.6 (2 of 3 nodes)", "REGRESSED",
	                                   "fw_pytorch_level",  "fedcba9876543210",   NULL};
	struct made *a = made(), *b = made();
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	struct metric_set none = {0};
	struct str out = {0};
	struct error err = {0};
	struct json_doc doc;

	(void)state;
	for (int i = 0; i < NODES; i++) {
		b->reading[3 * i].text = "2.7";
		b->reading[3 * i + 2].text = "fedcba9876543210";
	}
	b->card.gated = NULL;
	compare_add_run(&c, &a->card, "a", &none);
	compare_add_run(&c, &b->card, "b", &none);
	compare_finish(&c);
	assert_int_equal(compare_text(&out, &c, 80, true), ST_OK);
	expect_in(&out, "terminal", text);
	str_clear(&out);
	compare_markdown(&out, &c);
	expect_in(&out, "markdown", (const char *const[]){"| sw\\_pytorch |", "2\\.7", NULL});
	str_clear(&out);
	compare_junit(&out, &c);
	/* Each has three figures and a digest that differs; the first a gate's word too. */
	expect_in(&out, "junit",
	          (const char *const[]){"name=\"a\" tests=\"5\"", "name=\"b\" tests=\"4\"",
	                                "classname=\"software\" name=\"gate\"", NULL});
	str_clear(&out);
	compare_csv(&out, &c);
	expect_in(&out, "csv",
	          (const char *const[]){"software,sw_pytorch,value,text,neither,b,,,,,,,,,2.7",
	                                NULL});
	str_clear(&out);
	assert_int_equal(compare_html(&out, &c, &err), ST_OK);
	expect_in(&out, "html", (const char *const[]){"2.5 &lt;old&gt; (n003)", NULL});
	str_clear(&out);
	compare_json(&out, &c);
	assert_int_equal(json_parse(&doc, "c", out.data, out.len, JSON_STRICT, &err), ST_OK);
	assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "software")), c.n_words);
	json_release(&doc);
	str_release(&out);
	arena_release(&arena);
	free(a);
	free(b);
}

/* --- the file ------------------------------------------------------------------------------- */

static void a_gate_is_kept(void **state)
{
	struct place p = place_make();
	struct made *m = made();
	struct arena arena = {0};
	struct error err = {0};
	struct gated g;

	(void)state;
	assert_int_equal(gated_read(&g, &arena, p.root, DIGEST, &err), ST_NOTFOUND);
	error_release(&err);
	assert_int_equal(gated_save(&m->gated, p.root, DIGEST, &err), ST_OK);
	assert_int_equal(gated_read(&g, &arena, p.root, DIGEST, &err), ST_OK);
	assert_int_equal(g.verdict, GATED_REGRESSED);
	assert_int_equal(g.n_lines, 3);
	assert_int_equal(g.compared, 812);
	assert_int_equal(g.left_out, 4);
	assert_string_equal(g.baselines[0], "runs/golden");
	assert_string_equal(g.lines[0].text[LANGUAGE_ZH], "gemm 差 3 %");
	assert_true(g.lines[2].breaks && gated_fails(&g.lines[2]) && !gated_fails(&g.lines[1]));
	/* Of another record: what was said of that is nothing here. */
	assert_int_equal(gated_read(&g, &arena, p.root, "9f2d", &err), ST_CORRUPT);
	assert_non_null(strstr(str_text(&err.text), "another record"));
	error_release(&err);
	/* A place that cannot be written is said. */
	assert_int_not_equal(gated_save(&m->gated, "/proc/1/nowhere", DIGEST, &err), ST_OK);
	error_release(&err);
	arena_release(&arena);
	place_remove(&p);
	free(m);
}

static void files_that_no_gate_wrote(void **state)
{
	static const char *const texts[] = {
		"",
		"no json",
		"[]",
		"{\"v\":1}",
		"{\"v\":2,\"verdict\":\"same\",\"lines\":[],"
		"\"baselines\":[]}",
		"{\"v\":1,\"verdict\":\"fine\",\"lines\":[],\"baselines\":[]}",
		"{\"v\":1,\"verdict\":\"same\",\"lines\":[{}],\"baselines\":[]}",
		"{\"v\":1,\"verdict\":\"same\",\"lines\":[],\"baselines\":[1]}",
		"{\"v\":1,\"verdict\":\"same\",\"baselines\":[],\"lines\":[{\"kind\":\"slower\","
		"\"name\":\"x\",\"text\":{\"en\":\"y\"}}]}",
	};
	struct place p = place_make();
	struct arena arena = {0};
	struct gated g;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct error err = {0};
		struct str path = {0};

		assert_int_equal(file_write(path_join(&path, p.root, GATED_FILE), texts[i],
		                            strlen(texts[i]), NULL),
		                 ST_OK);
		if (gated_read(&g, &arena, p.root, DIGEST, &err) != ST_PARSE)
			fail_msg("%s: %s", texts[i], str_text(&err.text));
		error_release(&err);
		str_release(&path);
	}
	arena_release(&arena);
	place_remove(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_stand_for_all), cmocka_unit_test(every_report_has_them),
		cmocka_unit_test(in_chinese_too),     cmocka_unit_test(side_by_side),
		cmocka_unit_test(a_gate_is_kept),     cmocka_unit_test(files_that_no_gate_wrote),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
