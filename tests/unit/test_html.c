/* The HTML report of scorecards made by hand: nothing from outside becomes markup,
 * and charts show what they are to show. What a browser makes of it: tests/cli/html.sh. */
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/html_plot.h"
#include "report/report.h"
#include "report_kit.h"

static int count(const char *text, const char *word)
{
	int n = 0;

	for (const char *p = text; (p = strstr(p, word)); p += strlen(word))
		n++;
	return n;
}

static void expect(const struct str *page, const char *text, bool there)
{
	if ((strstr(page->data, text) != NULL) != there)
		fail_msg("\"%s\" %s the page", text, there ? "is not in" : "is in");
}

/* --- scales ------------------------------------------------------------------------ */

static void ticks_are_round(void **state)
{
	struct scale linear = {.lo = 0.3, .hi = 9.8}, narrow = {.lo = 227.4, .hi = 228.1};
	struct scale decades = {.lo = 3, .hi = 40000, .log = true};
	struct scale little = {.lo = 11, .hi = 95, .log = true};
	struct scale bytes = {.lo = 7, .hi = 1.1 * (1 << 30), .log = true, .binary = true};
	double t[8];
	int n;

	(void)state;
	n = scale_ticks(&linear, t, 8);
	assert_int_equal(n, 4);
	assert_true(t[0] == 2 && t[3] == 8);
	n = scale_ticks(&narrow, t, 8);
	assert_in_range(n, 4, 8);
	assert_true(fabs(t[1] - t[0] - 0.1) < 1e-9 && t[0] >= narrow.lo && t[n - 1] <= narrow.hi);
	n = scale_ticks(&decades, t, 8);
	assert_int_equal(n, 4);
	assert_true(fabs(t[0] - 10) < 1e-9 && fabs(t[3] - 10000) < 1e-6);
	n = scale_ticks(&little, t, 8);
	assert_int_equal(n, 2);
	assert_true(t[0] == 20 && t[1] == 50);
	n = scale_ticks(&bytes, t, 8);
	assert_in_range(n, 4, 8);
	for (int i = 0; i < n; i++)
		assert_true(t[i] == exp2(round(log2(t[i]))));
	assert_true(t[0] == 8);
}

static void scales_have_room(void **state)
{
	struct scale one = scale_over(5, 5, false), zero = scale_over(0, 0, false);
	struct scale log = scale_over(2, 2, true), from_zero = scale_over(0, 10, true);

	(void)state;
	assert_true(one.lo < 5 && one.hi > 5);
	assert_true(zero.hi > zero.lo);
	assert_true(log.log && log.lo < 2 && log.hi > 2);
	assert_false(from_zero.log); /* no logarithm of zero */
	assert_true(from_zero.lo == 0);
}

/* --- a page --------------------------------------------------------------------------- */

#define CARDS 8

struct made {
	struct rule_info gemm, same, pair;
	struct finding f[3 * CARDS];
	struct rule_result results[3];
	struct criterion_result criteria[2];
	struct reading r[32];
	const struct reading *readings[32];
	const struct finding *culprits[1];
	struct scorecard card;
	char ids[CARDS][16];
};

/* Eight cards, the third slow; one figure that is the same on all; four nodes. */
static struct made *made(const char *name)
{
	static const char *const nodes[] = {"n1", "n2", "n3", NULL};
	struct made *x = calloc(1, sizeof(*x));
	int n = 0;

	x->gemm = rule_of("gemm", "1", "gemm_fp16_tflops", "TFLOP/s", ">= 230 TFLOP/s");
	x->same = rule_of("sms", "1", "card_sm_count", "1", "108");
	for (int i = 0; i < CARDS; i++) {
		snprintf(x->ids[i], sizeof(x->ids[i]), "GPU-%d", i);
		x->f[i] = with_value(finding_of(&x->gemm, SUBJECT_CARD, x->ids[i], name,
		                                i == 0 ? VERDICT_FAIL : VERDICT_PASS),
		                     i == 0 ? 201 : 268 + i, 230);
		x->f[CARDS + i] = with_value(
			finding_of(&x->same, SUBJECT_CARD, x->ids[i], name, VERDICT_PASS), 108,
			NAN);
	}
	x->f[0].advice = "ask";
	x->f[0].reason = (struct reason){.code = "x", .text = "power capped"};
	for (int a = 0; a < 4; a++)
		for (int b = 0; b < 4; b++) {
			struct reading *r = &x->r[n];

			if (a == b)
				continue;
			*r = reading_init();
			r->metric = "net_tcp_gbps";
			r->unit = "Gb/s";
			r->node = nodes[a] ? nodes[a] : name;
			r->subject.kind = SUBJECT_PAIR;
			r->subject.n_ends = 2;
			r->subject.ends[0].node = nodes[a] ? nodes[a] : name;
			r->subject.ends[1].node = nodes[b] ? nodes[b] : name;
			r->value_kind = VALUE_NUMBER;
			r->value = a == 0 && b == 1 ? 40 : 95 + (a + b) % 2;
			r->better = BETTER_HIGHER;
			x->readings[n++] = r;
		}
	x->results[0] =
		(struct rule_result){.rule = &x->gemm, .verdict = VERDICT_FAIL, .coverage = {8, 8}};
	x->results[0].count[VERDICT_FAIL] = 1;
	x->results[1] =
		(struct rule_result){.rule = &x->same, .verdict = VERDICT_PASS, .coverage = {8, 8}};
	x->criteria[0] = (struct criterion_result){.id = "1",
	                                           .title = "compute",
	                                           .subjects = "card",
	                                           .verdict = VERDICT_FAIL,
	                                           .coverage = {8, 8}};
	x->culprits[0] = &x->f[0];
	x->card = card_of(OVERALL_REJECT);
	x->card.expected_cards = CARDS;
	x->card.criteria = x->criteria;
	x->card.n_criteria = 1;
	x->card.rule_results = x->results;
	x->card.n_rules = 2;
	x->card.findings = x->f;
	x->card.n_findings = 2 * CARDS;
	x->card.readings = x->readings;
	x->card.n_readings = n;
	x->card.culprits = x->culprits;
	x->card.n_culprits = 1;
	return x;
}

static void the_page_shows_what_is_wrong(void **state)
{
	struct made *x = made("n4");
	struct str page = print("html", &x->card, plain(0));

	(void)state;
	expect(&page, "<h1>REJECT</h1>", true);
	expect(&page, "1 of 8 cards", true);
	expect(&page, "power capped", true);
	expect(&page, "<b>Next:</b> ask", true);
	/* The one slow card by name on hover, the limit, and the dots of all. */
	expect(&page, "<circle class=\"fail\"", true);
	expect(&page, "n4 card 0 (GPU-0): 201 TFLOP/s</title>", true);
	expect(&page, "class=\"limit\"", true);
	expect(&page, "8 cards: median 272 TFLOP/s, 201 TFLOP/s to 275 TFLOP/s", true);
	/* What is the same on all is no picture. */
	expect(&page, "<b>card_sm_count</b>", false);
	/* The slow direction alone is of the worst step. */
	expect(&page, "<b>net_tcp_gbps</b> 12 figures, median 9", true);
	assert_int_equal(count(strstr(page.data, "<path class=\"q0\""), "h40v40h-40z") -
	                         count(strstr(page.data, "<path class=\"q1\""), "h40v40h-40z"),
	                 1);
	expect(&page, "data-names=\"n1|n2|n3|n4\"", true);
	str_release(&page);
	free(x);
}

static void contents_and_sections_agree(void **state)
{
	struct made *x = made("n4");
	struct str page = print("html", &x->card, plain(0));
	int links = 0;

	(void)state;
	for (const char *p = page.data; (p = strstr(p, "<li><a href=\"#")); p += 5) {
		const char *id = p + strlen("<li><a href=\"#");

		assert_int_equal(
			count(page.data, tmpf("<section id=\"%.*s\"", (int)strcspn(id, "\""), id)),
			1);
		links++;
	}
	assert_int_equal(links, count(page.data, "<section "));
	assert_in_range(links, 6, 16);
	str_release(&page);
	free(x);
}

/* Of a hostile host: no tag, no attribute, no script, no control character. */
static void names_stay_text(void **state)
{
	static const char *const names[] = {"</script><script>alert(1)</script>",
	                                    "\" onmouseover=\"alert(1)",
	                                    "' x='<b>",
	                                    "<img src=x onerror=alert(1)>",
	                                    "\033[2Ja\001b",
	                                    "a&lt;script&gt;",
	                                    "--><!--",
	                                    "\xff\xfe|\n"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct made *x = made(names[i]);
		struct str page;

		x->f[0].advice = x->f[0].reason.text = x->gemm.limit = x->card.vendor = names[i];
		x->gemm.metric = x->gemm.note = x->criteria[0].title = x->card.profile = names[i];
		x->r[0].unit = x->r[0].metric = x->card.altered = x->card.version = names[i];
		page = print("html", &x->card, plain(0));
		assert_int_equal(count(page.data, "<script"), 2);
		assert_int_equal(count(page.data, "</script"), 2);
		assert_null(strpbrk(page.data, "\033\001"));
		assert_int_equal(strlen(page.data), page.len);
		/* The names are JSON from here on. */
		*strstr(page.data, "<script") = '\0';
		expect(&page, "<img", false);
		expect(&page, "<b>'", false);
		expect(&page, "\" onmouseover", false);
		expect(&page, "<!--", false);
		str_release(&page);
		free(x);
	}
}

static void nothing_measured_is_a_page_too(void **state)
{
	struct scorecard card = card_of(OVERALL_INCOMPLETE);
	struct str page = print("html", &card, plain(0));

	(void)state;
	expect(&page, "<h1>INCOMPLETE</h1>", true);
	expect(&page, "No pair of nodes and no link of cards was measured.", true);
	expect(&page, "<svg", false);
	str_release(&page);
}

/* Many figures become a histogram; the file does not grow with them. */
static void a_large_fleet_stays_small(void **state)
{
	enum { N = 5000 };
	struct made *x = made("n4");
	struct finding *f = calloc(N, sizeof(*f));
	struct str page;

	(void)state;
	for (int i = 0; i < N; i++)
		f[i] = with_value(finding_of(&x->gemm, SUBJECT_CARD, "GPU-1", "n1", VERDICT_PASS),
		                  260 + i % 17, 230);
	x->card.findings = f;
	x->card.n_findings = N;
	page = print("html", &x->card, plain(0));
	expect(&page, "class=\"bin\"", true);
	expect(&page, "class=\"dots", false);
	expect(&page, "and 3,000 more", true);
	assert_true(page.len < 1 << 20);
	str_release(&page);
	free(f);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round),
		cmocka_unit_test(scales_have_room),
		cmocka_unit_test(the_page_shows_what_is_wrong),
		cmocka_unit_test(contents_and_sections_agree),
		cmocka_unit_test(names_stay_text),
		cmocka_unit_test(nothing_measured_is_a_page_too),
		cmocka_unit_test(a_large_fleet_stays_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
