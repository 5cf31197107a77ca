/* Service and cost in reports: what is read back from readings, and that every format says
 * it, in both languages; formulas, of which each metric has a Chinese twin. */
#include "report_kit.h"

#include "assay/probe.h"
#include "base/config.h"
#include "base/json.h"
#include "import/import.h"
#include "report/formulas.h"
#include "report/service_facts.h"
#include "report/words.h"

/* A quote of 100, a rate 1.50 above it, traffic of 30 that nobody quoted, rounding of 0.40
 * in what is as quoted, tax of 5 of which 2 stand on top, 40 given back: 96.90 in all. */
static const char bill_params[] =
	"{\"verdict\":\"missed\",\"currency\":\"CNY\",\"columns\":\"focus\","
	"\"from_utc\":\"2024-11-01 00:00 UTC\",\"to_utc\":\"2024-12-01 00:00 UTC\",\"lines\":6,"
	"\"total\":\"96.90\",\"hidden\":\"33.90\",\"rounding\":\"0.40\",\"rounded_up\":true,"
	"\"tax_on_top\":\"2.00\",\"classes\":["
	"{\"class\":\"as_quoted\",\"lines\":2,\"billed\":\"80.40\",\"excess\":\"0.00\"},"
	"{\"class\":\"rate_above\",\"lines\":1,\"billed\":\"21.50\",\"excess\":\"1.50\"},"
	"{\"class\":\"unquoted_bandwidth\",\"lines\":1,\"billed\":\"30.00\",\"excess\":\"30.00\"},"
	"{\"class\":\"tax\",\"lines\":1,\"billed\":\"5.00\",\"excess\":\"0.00\"},"
	"{\"class\":\"credit\",\"lines\":1,\"billed\":\"-40.00\",\"excess\":\"0.00\"}],"
	"\"examples\":[{\"line\":4,\"class\":\"unquoted_bandwidth\",\"what\":"
	"\"<script>alert(1)</script>|egress\",\"quoted\":null,\"billed\":\"30.00\","
	"\"expected\":\"0.00\"}],\"open\":[\"one reason\"]}";

static const char tickets_params[] =
	"{\"verdict\":\"missed\",\"limit_min\":30,\"judged\":4,\"in_time\":2,\"late\":2,"
	"\"pending\":1,\"stated\":0,\"share\":0.5,\"low95\":0.0676,\"high95\":0.9324,"
	"\"median_min\":12,\"max_min\":95.5,\"repaired\":1,\"repair_median_min\":240,"
	"\"repair_max_min\":240,\"hours\":{\"day\":{\"n\":3,\"in_time\":2,\"median_min\":8},"
	"\"night\":{\"n\":0,\"in_time\":0,\"median_min\":null},"
	"\"weekend\":{\"n\":1,\"in_time\":0,\"median_min\":95.5}},\"tickets\":["
	"{\"id\":\"T2\",\"opened_utc\":\"2026-11-07T23:00:00.000Z\",\"days\":6.8,"
	"\"response_min\":95.5,\"waiting_min\":null,\"late\":true},"
	"{\"id\":\"T3\",\"opened_utc\":\"2026-11-09T10:00:00.000Z\",\"days\":8.3,"
	"\"response_min\":null,\"waiting_min\":400,\"late\":true},"
	"{\"id\":\"=T1\",\"opened_utc\":\"2026-11-01T03:00:00.000Z\",\"days\":0,"
	"\"response_min\":0,\"waiting_min\":null,\"late\":false}]}";

static const char node_params[] =
	"{\"from_utc\":\"2026-11-01T00:00:00.000Z\",\"seconds\":86400,\"up_min\":1400,"
	"\"degraded_min\":10,\"down_min\":25.5,\"unknown_min\":4.5,\"planned_min\":0,"
	"\"customer_min\":0,\"not_up\":[[60,1530,\"down\"]]}";

static const char projection_params[] =
	"{\"params\":\"70B\",\"tokens\":\"1.4T\",\"price_from\":\"bill\",\"simulated\":false,"
	"\"estimate\":{\"card\":\"A100\",\"cards\":1000,\"cards_found\":false,\"fits\":true,"
	"\"least_cards\":18,\"currency\":\"CNY\",\"days\":{\"best\":50,\"mid\":56,\"worst\":70},"
	"\"card_hours\":{\"best\":1200000,\"mid\":1344000,\"worst\":1680000},"
	"\"cost\":{\"best\":5880000,\"mid\":6585600,\"worst\":8232000},"
	"\"mfu\":{\"best\":0.45,\"mid\":0.42,\"worst\":0.35},"
	"\"ettr\":{\"best\":0.97,\"mid\":0.93,\"worst\":0.9},"
	"\"inputs\":{\"params\":7e10,\"tokens\":1.4e12,\"peak_tflops\":312,\"memory_gb\":80,"
	"\"price\":4.9,\"mttf_h_1000_cards\":{\"best\":50,\"mid\":20,\"worst\":8,"
	"\"origin\":\"assumed\"},\"scaling\":{\"best\":0.95,\"mid\":0.9,\"worst\":0.8,"
	"\"origin\":\"measured\"}}}}";

#define READINGS 4

struct made {
	struct reading r[READINGS];
	const struct reading *readings[READINGS];
	struct scorecard card;
};

static struct made *made(void)
{
	static const struct {
		const char *metric, *params;
	} all[READINGS] = {{"bill_unquoted_cny", bill_params},
	                   {"ticket_response_min", tickets_params},
	                   {"availability_share", node_params},
	                   {"projected_days", projection_params}};
	struct made *x = calloc(1, sizeof(*x));

	for (int i = 0; i < READINGS; i++) {
		x->r[i] = reading_init();
		x->r[i].metric = all[i].metric;
		x->r[i].params = all[i].params;
		x->r[i].node = i == 2 ? "n1" : NULL;
		x->r[i].unit = "1";
		x->readings[i] = &x->r[i];
	}
	x->card = card_of(OVERALL_INCOMPLETE);
	x->card.readings = x->readings;
	x->card.n_readings = READINGS;
	return x;
}

static void expect(const struct str *page, const char *text, bool there)
{
	if ((strstr(page->data, text) != NULL) != there)
		fail_msg("\"%s\" %s the report", text, there ? "is not in" : "is in");
}

/* --- what is read back ---------------------------------------------------------------- */

static void steps_lead_from_the_quote_to_the_bill(void **state)
{
	static const struct {
		const char *word;
		double amount;
	} want[] = {{"quote", 100},    {"rate_above", 1.5}, {"unquoted_bandwidth", 30},
	            {"rounding", 0.4}, {"tax_on_top", 2},   {"tax", 3},
	            {"credit", -40},   {"billed", 96.9}};
	struct made *x = made();
	struct arena arena = {0};
	struct service_bill b;
	double at = 0;

	(void)state;
	assert_true(service_bill_read(&b, &arena, &x->card));
	assert_int_equal(b.n_steps, 8);
	for (int i = 0; i < 8; i++) {
		assert_string_equal(b.steps[i].word, want[i].word);
		assert_true(fabs(b.steps[i].amount - want[i].amount) < 1e-9);
		assert_int_equal(b.steps[i].level, i == 0 || i == 7);
		if (i < 7)
			at += b.steps[i].amount;
	}
	assert_true(fabs(at - b.total) < 1e-9);
	arena_release(&arena);
	free(x);
}

static void tickets_and_projection_are_read(void **state)
{
	struct made *x = made();
	struct arena arena = {0};
	struct service_tickets t;
	struct service_projection p;
	int slow[SERVICE_ROWS];

	(void)state;
	assert_true(service_tickets_read(&t, &arena, &x->card));
	assert_int_equal(t.n, 3);
	assert_int_equal(service_slowest(&t, slow, 1), 1);
	assert_int_equal(slow[0], 1); /* 400 min without a reply, before 95.5 with one */
	assert_int_equal(service_slowest(&t, slow, SERVICE_ROWS), 2);
	assert_int_equal(slow[1], 0);
	assert_true(isnan(t.hours[1].median_min));
	assert_true(service_projection_read(&p, &arena, &x->card));
	assert_int_equal(p.n_inputs, 4);
	assert_int_equal(p.inputs[3].name, MSG_estimate_in_mttf);
	assert_true(p.inputs[3].of[1] == 20); /* of 1,000 cards, and there are 1,000 */
	arena_release(&arena);
	free(x);
}

static void money_is_written_to_the_cent(void **state)
{
	(void)state;
	assert_string_equal(service_money(1234567.891), "1,234,567.89");
	assert_string_equal(service_money(-0.001), "0.00");
	assert_string_equal(service_money(-1234.5), "-1,234.50");
	assert_string_equal(service_money(999), "999.00");
	assert_string_equal(service_money(NAN), "-");
	assert_string_equal(service_step_amount(&(struct service_step){"tax", 30, false}),
	                    "+30.00");
	assert_string_equal(service_step_amount(&(struct service_step){"credit", -30, false}),
	                    "-30.00");
	assert_string_equal(service_step_amount(&(struct service_step){"billed", 30, true}),
	                    "30.00");
}

/* Parameters of another version, or that are no JSON: no view, and no crash. */
static void what_cannot_be_read_is_not_shown(void **state)
{
	static const char *const bad[] = {NULL,
	                                  "",
	                                  "[]",
	                                  "{",
	                                  "{\"verdict\":7}",
	                                  "{\"verdict\":\"met\",\"currency\":\"CNY\"}",
	                                  "{\"verdict\":\"met\",\"currency\":\"CNY\",\"total\":1}"};
	struct made *x = made();

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct str page;

		for (int k = 0; k < READINGS; k++)
			x->r[k].params = bad[i];
		page = print("html", &x->card, plain(0));
		expect(&page, "id=\"bill\"", false);
		str_release(&page);
		page = print("csv", &x->card, plain(0));
		expect(&page, "bill_step", false);
		str_release(&page);
		page = print("markdown", &x->card, plain(0));
		expect(&page, "waterfall", false);
		str_release(&page);
	}
	free(x);
}

/* --- every format ----------------------------------------------------------------------- */

static void pages_show_it(void **state)
{
	struct made *x = made();
	struct str page = print("html", &x->card, plain(0));

	(void)state;
	expect(&page, "<section id=\"response\"", true);
	expect(&page, "2 of 4 tickets had a person", true);
	expect(&page, "<circle class=\"fail\"", true);
	expect(&page, "400.0, no reply yet", true);
	expect(&page, "<section id=\"bill\"", true);
	expect(&page, "33.90 CNY outside the quote or above it, 34.98 % of the bill", true);
	expect(&page, "unquoted: traffic: +30.00</title>", true);
	expect(&page, "credit: -40.00</title>", true);
	expect(&page, "one reason", true);
	expect(&page, "<script>alert", false);
	expect(&page, "&lt;script&gt;alert(1)&lt;/script&gt;|egress", true);
	expect(&page, "<section id=\"projection\"", true);
	expect(&page, "days: 50 to 70, middle 56</title>", true);
	expect(&page, "cost CNY: 5,880,000 to 8,232,000, middle 6,585,600</title>", true);
	expect(&page, "Price: 4.90 CNY a card-hour, as paid by the bill.", true);
	str_release(&page);
	free(x);
}

static void texts_show_it(void **state)
{
	struct made *x = made();
	struct str page = print("markdown", &x->card, plain(0));

	(void)state;
	expect(&page, "## Service and cost", true);
	expect(&page, "| unquoted\\: traffic | 1 | 30\\.00 | 30\\.00 |", true);
	expect(&page, "| billed | 96\\.90 |", true);
	expect(&page, "| n1 | 1400\\.0 | 10\\.0 | 25\\.5 | 4\\.5 | 0\\.0 | 0\\.0 |", true);
	expect(&page, "<script>", false);
	expect(&page, "| days | 50 | 56 | 70 |", true);
	str_release(&page);
	page = print("csv", &x->card, plain(0));
	expect(&page, "bill_class_billed,,rate_above,21.5,1 lines,CNY,", true);
	expect(&page, "bill_step,,credit,-40,,CNY,", true);
	expect(&page, ",'=T1,,,ticket_response_min,", true);
	expect(&page, "projected_cost,worst,,8232000,,CNY,", true);
	for (const char *p = page.data, *end; (end = strchr(p, '\n')); p = end + 1) {
		int commas = 0;

		for (const char *c = p; c < end; c++)
			commas += *c == ',';
		/* None of the texts above has one. */
		if (str_starts(p, "service,"))
			assert_int_equal(commas, 25);
	}
	str_release(&page);
	free(x);
}

static void json_has_it_whole(void **state)
{
	struct made *x = made();
	struct str page = print("json", &x->card, plain(0));
	struct json_doc doc;
	struct error err = {0};
	const cJSON *service;

	(void)state;
	assert_int_equal(json_parse(&doc, "card", page.data, page.len, 0, &err), ST_OK);
	service = json_get(doc.root, "service");
	assert_string_equal(json_string(json_get(service, "bill"), "total", ""), "96.90");
	assert_int_equal(cJSON_GetArraySize(json_get(service, "availability")), 1);
	assert_true(json_number(json_get(json_get(service, "projection"), "estimate"), "cards",
	                        0) == 1000);
	assert_int_equal(cJSON_GetArraySize(json_get(json_get(service, "tickets"), "tickets")), 3);
	json_release(&doc);
	str_release(&page);
	x->card.n_readings = 0;
	page = print("json", &x->card, plain(0));
	expect(&page, "\"service\"", false);
	str_release(&page);
	free(x);
}

static void chinese_is_spoken_throughout(void **state)
{
	struct made *x = made();
	struct str page;

	(void)state;
	msg_speak(LANGUAGE_ZH);
	page = print("html", &x->card, plain(0));
	expect(&page, "从报价到账单金额（CNY）", true);
	expect(&page, "未报价：", true);
	expect(&page, "waterfall", false);
	expect(&page, "unquoted: ", false);
	expect(&page, "measured<", false);
	str_release(&page);
	page = print("markdown", &x->card, plain(0));
	expect(&page, "## 服务与费用", true);
	expect(&page, "| 按报价应付 | 100\\.00 |", true);
	str_release(&page);
	msg_speak(LANGUAGE_EN);
	free(x);
}

/* --- formulas ------------------------------------------------------------------------------ */

static const struct metric of_evidence[] = {
#define EVIDENCE(name, unit, better, subject, formula)                                             \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_EVIDENCE, formula},
#include "bench/evidence.def"
#undef EVIDENCE
	{0},
};

static bool is_chinese(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0xe3 && (unsigned char)*text <= 0xef)
			return true;
	return false;
}

static void check_formulas(const struct metric *metrics)
{
	for (const struct metric *m = metrics; m && m->name; m++) {
		msg_speak(LANGUAGE_EN);
		assert_string_equal(formula_said(m->formula), m->formula);
		msg_speak(LANGUAGE_ZH);
		if (!is_chinese(formula_said(m->formula)) && *m->formula != '/')
			fail_msg("%s: no Chinese row in report/formulas_zh.def for \"%s\"", m->name,
			         m->formula);
		msg_speak(LANGUAGE_EN);
	}
}

static void every_formula_is_said_in_chinese(void **state)
{
	(void)state;
	check_formulas(of_evidence);
	check_formulas(import_metrics);
	for (int i = 0; probe_table[i]; i++)
		check_formulas(probe_table[i]->metrics);
}

/* --- notes --------------------------------------------------------------------------------- */

static void check_notes(const cJSON *item, const char *file)
{
	struct str said = {0};
	const cJSON *child;

	if (cJSON_IsString(item) && item->string && strcmp(item->string, "note") == 0) {
		words_note(&said, item->valuestring);
		if (!is_chinese(str_text(&said)))
			fail_msg("%s: no row in messages/notes.def for \"%s\"", file,
			         item->valuestring);
		str_release(&said);
	}
	cJSON_ArrayForEach(child, item) check_notes(child, file);
}

static void every_note_of_a_profile_is_said_in_chinese(void **state)
{
	char **names = config_list(NULL, "profiles", ".json");

	(void)state;
	msg_speak(LANGUAGE_ZH);
	for (int i = 0; names[i]; i++) {
		const char *file = tmpf("profiles/%s.json", names[i]);
		struct str text = {0}, where = {0};
		struct error err = {0};
		struct json_doc doc;

		assert_int_equal(config_read(&text, &where, NULL, file, &err), ST_OK);
		assert_int_equal(json_parse(&doc, file, text.data, text.len, JSON_COMMENTS, &err),
		                 ST_OK);
		check_notes(doc.root, file);
		json_release(&doc);
		str_release(&text);
		str_release(&where);
	}
	msg_speak(LANGUAGE_EN);
	config_list_free(names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_lead_from_the_quote_to_the_bill),
		cmocka_unit_test(tickets_and_projection_are_read),
		cmocka_unit_test(money_is_written_to_the_cent),
		cmocka_unit_test(what_cannot_be_read_is_not_shown),
		cmocka_unit_test(pages_show_it),
		cmocka_unit_test(texts_show_it),
		cmocka_unit_test(json_has_it_whole),
		cmocka_unit_test(chinese_is_spoken_throughout),
		cmocka_unit_test(every_formula_is_said_in_chinese),
		cmocka_unit_test(every_note_of_a_profile_is_said_in_chinese),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
