/* Each kind of limit at its boundary, each scope, each condition: what a rule
 * says about readings that are all there. */
#include "score_kit.h"

#define ONE "{\"id\":\"r\",\"criterion\":\"1\",%s}"

static struct profile *rule(const char *members)
{
	return kit_profile("", tmpf(ONE, members));
}

/* The verdict of a rule over a metric of one node. */
static void assert_node(const char *limit, double value, const char *verdict)
{
	struct kit *k = kit_run(1, 0);

	kit_number(k, "n1", "n1", "node_seconds", value);
	kit_score(k, rule(tmpf("\"metric\":\"node_seconds\",\"unit\":\"s\",%s", limit)));
	assert_verdict(k, "r", verdict);
	kit_free(k);
}

static void boundaries(void **state)
{
	(void)state;
	assert_node("\"min\":2", 2, "pass");
	assert_node("\"min\":2", nextafter(2, 0), "fail");
	assert_node("\"max\":2", 2, "pass");
	assert_node("\"max\":2", nextafter(2, 3), "fail");
	assert_node("\"max\":0", 0, "pass");
	assert_node("\"max\":0", -1, "pass");
	assert_node("\"equals\":2", 2, "pass");
	assert_node("\"equals\":2", nextafter(2, 3), "fail");
	assert_node("\"equals\":true", 1, "pass");
	assert_node("\"equals\":true", 0, "fail");
	assert_node("\"equals\":false", 0, "pass");
	assert_node("\"min\":2,\"warn\":{\"min\":3}", 3, "pass");
	assert_node("\"min\":2,\"warn\":{\"min\":3}", 2.5, "warn");
	assert_node("\"min\":2,\"warn\":{\"min\":3}", 2, "warn");
	assert_node("\"min\":2,\"warn\":{\"min\":3}", 1.9, "fail");
	assert_node("\"max\":2,\"warn\":{\"max\":1}", 1, "pass");
	assert_node("\"max\":2,\"warn\":{\"max\":1}", 1.5, "warn");
	assert_node("\"max\":2,\"warn\":{\"max\":1}", 2.5, "fail");
}

static void assert_kernel(const char *limit, const char *text, const char *verdict)
{
	struct kit *k = kit_run(1, 0);

	kit_text(k, "n1", "n1", "node_kernel", text);
	kit_score(k, rule(tmpf("\"metric\":\"node_kernel\",\"unit\":\"text\",%s", limit)));
	assert_verdict(k, "r", verdict);
	kit_free(k);
}

static void words(void **state)
{
	(void)state;
	assert_kernel("\"equals\":\"6.1\"", "6.1", "pass");
	assert_kernel("\"equals\":\"6.1\"", "6.10", "fail");
	assert_kernel("\"equals\":true", "true", "pass");
	assert_kernel("\"equals\":true", "yes", "fail");
	assert_kernel("\"must_exist\":true", "anything", "pass");
	assert_kernel("\"must_exist\":true", "", "not_measured");
	assert_kernel("\"scope\":\"spread\",\"max\":0", "6.1", "not_applicable");
}

/* --- intervals -------------------------------------------------------------------- */

static void assert_interval(const char *limit, double lo, double hi, const char *verdict)
{
	struct kit *k = kit_run(1, 0);
	struct reading *r = kit_number(k, "n1", "n1", "node_seconds", (lo + hi) / 2);

	r->stats[STAT_CI_LO] = lo;
	r->stats[STAT_CI_HI] = hi;
	kit_score(k, rule(tmpf("\"metric\":\"node_seconds\",\"unit\":\"s\",%s", limit)));
	assert_verdict(k, "r", verdict);
	assert_true(kit_finding(k, "r", NULL)->ci_lo == lo);
	assert_true(kit_finding(k, "r", NULL)->resolution == (hi - lo) / 2);
	kit_free(k);
}

static void intervals(void **state)
{
	struct kit *k;
	struct reading *r;

	(void)state;
	assert_interval("\"min\":2", 2, 4, "pass");
	assert_interval("\"min\":2", 1.9, 4, "inconclusive");
	assert_interval("\"min\":2", 1, 2, "inconclusive");
	assert_interval("\"min\":2", 1, 1.9, "fail");
	assert_interval("\"max\":2", 1, 2, "pass");
	assert_interval("\"max\":2", 1, 2.1, "inconclusive");
	assert_interval("\"max\":2", 2, 3, "inconclusive");
	assert_interval("\"max\":2", 2.1, 3, "fail");
	/* The interval is of the value and says nothing about another statistic. */
	k = kit_run(1, 0);
	r = kit_number(k, "n1", "n1", "node_seconds", 1);
	r->stats[STAT_CI_LO] = 0;
	r->stats[STAT_CI_HI] = 9;
	r->stats[STAT_P99] = 1;
	kit_score(k, rule("\"metric\":\"node_seconds\",\"unit\":\"s\",\"stat\":\"p99\",\"max\":2"));
	assert_verdict(k, "r", "pass");
	kit_free(k);
}

static void inconclusive_blocks(void **state)
{
	struct kit *k = kit_run(1, 0);
	struct reading *r = kit_number(k, "n1", "n1", "node_seconds", 1);

	(void)state;
	r->stats[STAT_CI_LO] = 0;
	r->stats[STAT_CI_HI] = 9;
	kit_score(k, rule("\"metric\":\"node_seconds\",\"unit\":\"s\",\"max\":2"));
	assert_overall(k, "INCOMPLETE");
	assert_int_equal(kit_rule(k, "r")->coverage.tested, 1);
	assert_int_equal(k->card.n_culprits, 1);
	kit_free(k);
}

/* --- statistics ------------------------------------------------------------------- */

static void statistics(void **state)
{
	(void)state;
	for (enum stat_id s = 0; s < STATS; s++) {
		for (int present = 0; present < 2; present++) {
			struct kit *k = kit_run(1, 0);
			struct reading *r = kit_number(k, "n1", "n1", "node_seconds", 1);

			if (s == STAT_F95 || s == STAT_DIP_SHARE)
				r->stats[STAT_N] = 1200;
			if (present)
				r->stats[s] = 99;
			kit_score(k, rule(tmpf("\"metric\":\"node_seconds\",\"unit\":\"s\","
			                       "\"stat\":\"%s\",\"max\":2",
			                       stat_name(s))));
			if (!present) {
				assert_verdict(k, "r", "not_measured");
				assert_reason(k, "r", "stat_missing");
			} else if (s != STAT_F95 && s != STAT_DIP_SHARE) {
				assert_verdict(k, "r", "fail");
				assert_true(kit_finding(k, "r", NULL)->value == 99);
			}
			kit_free(k);
		}
	}
}

static void median_has_two_names(void **state)
{
	struct kit *k = kit_run(1, 0);

	(void)state;
	kit_number(k, "n1", "n1", "node_seconds", 1)->stats[STAT_MEDIAN] = 7;
	kit_score(k, rule("\"metric\":\"node_seconds\",\"unit\":\"s\",\"stat\":\"p50\",\"max\":7"));
	assert_verdict(k, "r", "pass");
	kit_free(k);
}

static void assert_f95(double n, double f95, double half, double lo999, double ac1,
                       const char *verdict)
{
	struct kit *k = kit_run(1, 1);
	struct reading *r = kit_number(k, "n1", "GPU-1", "card_tflops", 100);

	r->stats[STAT_N] = n;
	r->stats[STAT_F95] = f95;
	r->stats[STAT_F95_LO95] = f95 - half;
	r->stats[STAT_F95_HI95] = f95 + half;
	r->stats[STAT_F95_LO999] = lo999;
	r->stats[STAT_AC1] = ac1;
	kit_score(k,
	          rule("\"metric\":\"card_tflops\",\"unit\":\"1\",\"stat\":\"f95\",\"max\":0.01"));
	assert_verdict(k, "r", verdict);
	assert_string_equal(k->card.rule_results[0].rule->unit, "1");
	kit_free(k);
}

static void fluctuation(void **state)
{
	(void)state;
	assert_f95(120, 0.005, 0.001, 0.003, 0.5, "pass");
	assert_f95(120, 0.02, 0.001, 0.018, 0.5, "inconclusive"); /* never fails a short run */
	assert_f95(120, 0.005, 0.001, 0.003, 0.95, "inconclusive");
	assert_f95(119, 0.005, 0.001, 0.003, 0.5, "too_short");
	assert_f95(1200, 0.009, 0.001, 0.008, 0.5, "pass"); /* hi95 on the limit */
	assert_f95(1200, 0.0105, 0.001, 0.009, 0.5, "warn");
	assert_f95(1200, 0.012, 0.001, 0.0101, 0.5, "fail");
	assert_f95(1200, 0.012, 0.004, 0.0099, 0.9, "inconclusive");
	assert_f95(1200, 0.005, NAN, 0.003, 0.5, "not_measured");
}

static void assert_dips(double n, double share, double lo95, const char *verdict)
{
	struct kit *k = kit_run(1, 1);
	struct reading *r = kit_number(k, "n1", "GPU-1", "card_tflops", 100);

	r->stats[STAT_N] = n;
	r->stats[STAT_DIP_SHARE] = share;
	r->stats[STAT_DIP_LO95] = lo95;
	kit_score(k, rule("\"metric\":\"card_tflops\",\"unit\":\"1\",\"stat\":\"dip_share\","
	                  "\"max\":0.01"));
	assert_verdict(k, "r", verdict);
	kit_free(k);
}

static void dips(void **state)
{
	(void)state;
	assert_dips(300, 0.03, 0.011, "fail");
	assert_dips(299, 0.03, 0.011, "warn");
	assert_dips(300, 0.02, 0.009, "pass");
	assert_dips(300, 0.02, NAN, "not_measured");
}

/* --- scopes ----------------------------------------------------------------------- */

static struct kit *three_nodes(double a, double b, double c)
{
	struct kit *k = kit_run(3, 0);

	kit_number(k, "n1", "n1", "node_seconds", a);
	kit_number(k, "n2", "n2", "node_seconds", b);
	kit_number(k, "n3", "n3", "node_seconds", c);
	return k;
}

static void assert_scope(const char *scope, const char *limit, double figure, const char *verdict,
                         const char *subject)
{
	struct kit *k = three_nodes(1, 2, 9);

	kit_score(k, rule(tmpf("\"metric\":\"node_seconds\",\"unit\":\"s\",\"scope\":\"%s\",%s",
	                       scope, limit)));
	assert_int_equal(k->card.n_findings, 1);
	assert_verdict(k, "r", verdict);
	assert_true(k->card.findings[0].value == figure);
	assert_string_equal(k->card.findings[0].subject.id, subject);
	assert_int_equal(kit_rule(k, "r")->coverage.due, 3);
	assert_int_equal(kit_rule(k, "r")->coverage.tested, 3);
	assert_overall(k, strcmp(verdict, "pass") == 0 ? "ACCEPT" : "REJECT");
	kit_free(k);
}

static void scopes(void **state)
{
	(void)state;
	assert_scope("worst", "\"max\":9", 9, "pass", "n3");
	assert_scope("worst", "\"max\":8", 9, "fail", "n3");
	assert_scope("worst", "\"min\":2", 1, "fail", "n1");
	assert_scope("best", "\"max\":1", 1, "pass", "n1");
	assert_scope("best", "\"min\":10", 9, "fail", "n3");
	assert_scope("median", "\"max\":2", 2, "pass", "*");
	assert_scope("median", "\"max\":1", 2, "fail", "*");
	assert_scope("sum", "\"max\":12", 12, "pass", "*");
	assert_scope("sum", "\"min\":13", 12, "fail", "*");
	assert_scope("spread", "\"max\":8", 8, "pass", "*");
	assert_scope("spread", "\"max\":7", 8, "fail", "n3"); /* the odd one out */
}

static void spread_of_words(void **state)
{
	struct kit *k = kit_run(3, 0);

	(void)state;
	kit_text(k, "n1", "n1", "node_kernel", "6.1");
	kit_text(k, "n2", "n2", "node_kernel", "5.4");
	kit_text(k, "n3", "n3", "node_kernel", "6.1");
	kit_score(k, rule("\"metric\":\"node_kernel\",\"unit\":\"text\",\"scope\":\"spread\","
	                  "\"max\":0"));
	assert_verdict(k, "r", "fail");
	assert_true(k->card.findings[0].value == 1);
	assert_string_equal(k->card.findings[0].subject.id, "n2");
	assert_string_equal(k->card.findings[0].text, "5.4");
	kit_free(k);
}

/* Of two that differ nobody can tell which one is wrong. */
static void two_that_differ_name_nobody(void **state)
{
	struct kit *k = kit_run(2, 0);

	(void)state;
	kit_text(k, "n1", "n1", "node_kernel", "6.1");
	kit_text(k, "n2", "n2", "node_kernel", "5.4");
	kit_score(k, rule("\"metric\":\"node_kernel\",\"unit\":\"text\",\"scope\":\"spread\","
	                  "\"max\":0"));
	assert_verdict(k, "r", "fail");
	assert_string_equal(k->card.findings[0].subject.id, "*");
	kit_free(k);
}

static void distinct_words(void **state)
{
	static const char *const rule_text =
		"\"metric\":\"node_kernel\",\"unit\":\"text\",\"scope\":\"distinct\",\"max\":0";
	struct kit *k = kit_run(3, 0);

	(void)state;
	kit_text(k, "n1", "n1", "node_kernel", "a");
	kit_text(k, "n2", "n2", "node_kernel", "b");
	kit_text(k, "n3", "n3", "node_kernel", "c");
	kit_score(k, rule(rule_text));
	assert_verdict(k, "r", "pass");
	kit_free(k);
	k = kit_run(3, 0);
	kit_text(k, "n1", "n1", "node_kernel", "a");
	kit_text(k, "n2", "n2", "node_kernel", "b");
	kit_text(k, "n3", "n3", "node_kernel", "a");
	kit_score(k, rule(rule_text));
	assert_verdict(k, "r", "fail");
	assert_true(k->card.findings[0].value == 1);
	/* Either of the two, and who has it too. */
	assert_true(strcmp(k->card.findings[0].subject.id, "n2") != 0);
	assert_non_null(strstr(k->card.findings[0].reason.text, "has it too: a"));
	kit_free(k);
}

static void spread_needs_two(void **state)
{
	struct kit *k = kit_run(2, 0);

	(void)state;
	kit_number(k, "n1", "n1", "node_seconds", 1);
	kit_score(
		k,
		rule("\"metric\":\"node_seconds\",\"unit\":\"s\",\"scope\":\"spread\",\"max\":0"));
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_TOO_FEW], 1);
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

static void a_failed_subject_is_not_hidden(void **state)
{
	struct kit *k = kit_run(3, 0);

	(void)state;
	kit_number(k, "n1", "n1", "node_seconds", 1);
	kit_number(k, "n2", "n2", "node_seconds", 1);
	kit_outcome(k, "n3", "n3", "node_seconds", OUTCOME_FAILED);
	kit_score(
		k,
		rule("\"metric\":\"node_seconds\",\"unit\":\"s\",\"scope\":\"median\",\"max\":5"));
	assert_overall(k, "REJECT");
	assert_string_equal(k->card.culprits[0]->subject.id, "n3");
	kit_free(k);
}

static void the_worst_of_several_readings_stands(void **state)
{
	struct kit *k = kit_run(1, 0);

	(void)state;
	kit_number(k, "n1", "n1", "node_seconds", 1)->work = "a";
	kit_number(k, "n1", "n1", "node_seconds", 9)->work = "b";
	kit_number(k, "n1", "n1", "node_seconds", 2)->work = "c";
	kit_score(k, rule("\"metric\":\"node_seconds\",\"unit\":\"s\",\"max\":5"));
	assert_verdict(k, "r", "fail");
	assert_int_equal(kit_rule(k, "r")->coverage.due, 1);
	assert_true(k->card.findings[0].value == 9);
	kit_free(k);
}

/* --- when ------------------------------------------------------------------------- */

static void assert_when(const char *card, const char *when, int64_t nodes, int64_t cards,
                        const char *verdict)
{
	struct kit *k = kit_run(nodes, cards);
	const char *more = *card ? tmpf("\"card\":\"%s\",\"expect\":{\"rdma\":true},", card)
	                         : "\"expect\":{\"rdma\":true},";

	for (int64_t i = 0; i < nodes; i++)
		kit_number(k, arena_strf(&k->arena, "n%d", (int)i),
		           arena_strf(&k->arena, "n%d", (int)i), "node_ok", 1);
	kit_score(k, kit_profile(more, tmpf("{\"id\":\"r\",\"criterion\":\"1\",\"metric\":\"node_"
	                                    "ok\",\"unit\":\"1\","
	                                    "\"equals\":1,\"when\":{%s}}",
	                                    when)));
	assert_verdict(k, "r", verdict);
	kit_free(k);
}

static void conditions(void **state)
{
	(void)state;
	assert_when("good-sxm4-80gb", "\"form\":\"sxm\"", 1, 8, "pass");
	assert_when("good-sxm4-80gb", "\"form\":\"pcie\"", 1, 8, "not_applicable");
	assert_when("vague", "\"form\":\"sxm\"", 1, 8, "not_applicable");
	assert_when("", "\"form\":\"sxm\"", 1, 8, "not_measured"); /* nobody knows */
	assert_when("", "\"nodes_min\":2", 2, 0, "pass");
	assert_when("", "\"nodes_min\":3", 2, 0, "not_applicable");
	assert_when("", "\"cards_min\":16", 2, 8, "pass");
	assert_when("", "\"cards_min\":17", 2, 8, "not_applicable");
	assert_when("", "\"cards_min\":2", 1, -1, "not_measured");
	assert_when("", "\"has\":[\"card\"]", 1, 8, "pass");
	assert_when("", "\"has\":[\"card\"]", 1, 0, "not_applicable");
	assert_when("", "\"has\":[\"card\"]", 1, -1, "not_applicable");
	assert_when("", "\"has\":[\"rdma\"]", 1, 0, "pass");
	assert_when("", "\"has\":[\"shared_storage\"]", 1, 0, "not_applicable");
	assert_when("", "\"lacks\":[\"rdma\"]", 1, 0, "not_applicable");
	assert_when("", "\"lacks\":[\"shared_storage\",\"mig\"]", 1, 0, "pass");
	assert_when("", "\"has\":[\"nvlink\"]", 1, 8, "not_measured");
	assert_when("good-sxm4-80gb", "\"has\":[\"nvlink\"]", 1, 8, "pass");
	assert_when("good-pcie-80gb", "\"has\":[\"nvlink\"]", 1, 8,
	            "not_applicable"); /* no source for it */
}

static void cards_seen_decide_per_node(void **state)
{
	struct kit *k = kit_run(2, -1);

	(void)state;
	kit_number(k, "n1", "n1", "node_ok", 1);
	kit_number(k, "n2", "n2", "node_ok", 0);
	kit_number(k, "n1", "GPU-1", "card_mig_enabled", 1);
	kit_score(k, kit_profile("", tmpf(ONE ",{\"id\":\"m\",\"criterion\":\"1\",\"metric\":"
	                                      "\"node_ok\",\"unit\":\"1\",\"equals\":1,"
	                                      "\"when\":{\"has\":[\"mig\"]}}",
	                                  "\"metric\":\"node_ok\",\"unit\":\"1\",\"equals\":1,"
	                                  "\"when\":{\"has\":[\"card\"]}")));
	assert_int_equal(kit_rule(k, "r")->coverage.due, 1);
	assert_int_equal(kit_rule(k, "r")->count[VERDICT_NOT_APPLICABLE], 1);
	assert_int_equal(kit_rule(k, "m")->coverage.due, 1);
	assert_overall(k, "ACCEPT");
	kit_free(k);
}

/* --- operating points ------------------------------------------------------------- */

#define IOPS_AT                                                                                    \
	"{\"id\":\"iops\",\"criterion\":\"1\",\"metric\":\"path_iops\",\"unit\":\"IOPS\",\"min\":" \
	"1000,"                                                                                    \
	"\"at_point\":{\"group\":\"g\",\"maximize\":\"path_iops\",\"subject_to\":[{\"metric\":"    \
	"\"path_lat_ms\",\"stat\":\"p99\",\"max\":1}]}}"
#define LAT_AT                                                                                     \
	"{\"id\":\"lat\",\"criterion\":\"1\",\"metric\":\"path_lat_ms\",\"unit\":\"ms\",\"stat\":" \
	"\"p99\",\"max\":1,\"at_point\":{\"group\":\"g\"}}"

static struct kit *points(void)
{
	static const char *const storage[] = {"/data"};
	struct kit *k = kit_run(1, 0);

	k->run.info.storage = storage;
	k->run.info.n_storage = 1;
	return k;
}

static void point(struct kit *k, const char *name, double iops, double p99)
{
	struct reading *r;

	kit_number(k, "n1", "/data", "path_iops", iops)->point = name;
	r = kit_number(k, "n1", "/data", "path_lat_ms", p99 / 2);
	r->point = name;
	r->stats[STAT_P99] = p99;
}

static void one_point_for_all(void **state)
{
	struct kit *k = points();

	(void)state;
	point(k, "qd1", 400, 0.2);
	point(k, "qd8", 1100, 1.0);
	point(k, "qd64", 2000, 3.2);
	kit_score(k, kit_profile("", IOPS_AT "," LAT_AT));
	assert_verdict(k, "iops", "pass");
	assert_true(kit_finding(k, "iops", NULL)->value == 1100);
	assert_string_equal(kit_finding(k, "iops", NULL)->evidence->point, "qd8");
	assert_true(kit_finding(k, "lat", NULL)->value == 1);
	assert_overall(k, "ACCEPT");
	assert_int_equal(k->card.n_information, 0);
	kit_free(k);
}

static void fast_alone_is_not_enough(void **state)
{
	struct kit *k = points();

	(void)state;
	point(k, "qd1", 610, 0.9);
	point(k, "qd64", 2000, 3.2);
	kit_score(k, kit_profile("", IOPS_AT "," LAT_AT));
	assert_verdict(k, "iops", "fail");
	assert_true(kit_finding(k, "iops", NULL)->value == 610);
	assert_verdict(k, "lat", "pass");
	assert_overall(k, "REJECT");
	kit_free(k);
}

static void no_point_at_all(void **state)
{
	struct kit *k = points();

	(void)state;
	point(k, "qd1", 610, 1.9);
	point(k, "qd64", 2000, 3.2);
	kit_score(k, kit_profile("", IOPS_AT "," LAT_AT));
	assert_verdict(k, "iops", "fail");
	assert_reason(k, "iops", "no_point_meets");
	assert_string_equal(kit_finding(k, "iops", NULL)->reason.text,
	                    "no operating point meets path_lat_ms <= 1 ms");
	assert_verdict(k, "lat", "fail");
	assert_true(kit_finding(k, "lat", NULL)->value == 3.2);
	kit_free(k);

	k = points(); /* a condition not measured: nobody knows */
	point(k, "qd1", 610, 1.9);
	point(k, "qd64", 2000, NAN);
	kit_score(k, kit_profile("", IOPS_AT));
	assert_verdict(k, "iops", "not_measured");
	kit_free(k);
}

/* Two nodes look at one path: the good one does not answer for the other. */
static void each_node_has_its_own_point(void **state)
{
	struct kit *k = points();

	(void)state;
	point(k, "qd8", 1100, 0.5);
	point(k, "qd8", 600, 0.5);
	k->readings[2].node = k->readings[3].node = "n2";
	for (int i = 0; i < 4; i++)
		k->readings[i].work = arena_strf(&k->arena, "%d", i);
	kit_score(k, kit_profile("", IOPS_AT));
	assert_verdict(k, "iops", "fail");
	assert_true(kit_finding(k, "iops", NULL)->value == 600);
	assert_int_equal(kit_rule(k, "iops")->coverage.due, 1);
	kit_free(k);
}

static void point_readings_may_be_missing(void **state)
{
	struct kit *k = points();

	(void)state;
	point(k, "qd8", 1100, 0.5);
	k->run.n_readings = 1; /* iops without latency */
	kit_score(k, kit_profile("", IOPS_AT));
	assert_verdict(k, "iops", "not_measured");
	assert_overall(k, "INCOMPLETE");
	kit_free(k);
}

/* --- another metric as the measure ------------------------------------------------ */

static void shares_of_another_metric(void **state)
{
	static const struct {
		double value;
		const char *verdict;
	} rows[] = {{90, "warn"}, {95, "pass"}, {89.9, "fail"}};
	struct kit *k;

	(void)state;
	for (int i = 0; i < 3; i++) {
		k = kit_run(1, 2);
		kit_number(k, "n1", "GPU-1", "card_alone_tflops", 100);
		kit_number(k, "n1", "GPU-2", "card_alone_tflops", 10);
		kit_number(k, "n1", "GPU-1", "card_tflops", rows[i].value);
		kit_number(k, "n1", "GPU-2", "card_tflops", 10);
		kit_score(k, rule("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
		                  "s\",\"warn\":{\"min\":0.95},"
		                  "\"fraction_of\":{\"of\":\"card_alone_tflops\",\"min\":0.9}"));
		assert_string_equal(verdict_name(kit_finding(k, "r", "GPU-1")->verdict),
		                    rows[i].verdict);
		assert_true(kit_finding(k, "r", "GPU-1")->limit == 90);
		assert_string_equal(verdict_name(kit_finding(k, "r", "GPU-2")->verdict), "pass");
		kit_free(k);
	}
	k = kit_run(1, 1);
	kit_number(k, "n1", "GPU-1", "card_tflops", 100);
	kit_score(k, rule("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/s\","
	                  "\"fraction_of\":{\"of\":\"card_alone_tflops\",\"min\":0.9}"));
	assert_verdict(k, "r", "not_measured");
	assert_reason(k, "r", "reference_missing");
	kit_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(boundaries),
		cmocka_unit_test(words),
		cmocka_unit_test(intervals),
		cmocka_unit_test(inconclusive_blocks),
		cmocka_unit_test(statistics),
		cmocka_unit_test(median_has_two_names),
		cmocka_unit_test(fluctuation),
		cmocka_unit_test(dips),
		cmocka_unit_test(scopes),
		cmocka_unit_test(spread_of_words),
		cmocka_unit_test(two_that_differ_name_nobody),
		cmocka_unit_test(distinct_words),
		cmocka_unit_test(spread_needs_two),
		cmocka_unit_test(a_failed_subject_is_not_hidden),
		cmocka_unit_test(the_worst_of_several_readings_stands),
		cmocka_unit_test(conditions),
		cmocka_unit_test(cards_seen_decide_per_node),
		cmocka_unit_test(one_point_for_all),
		cmocka_unit_test(fast_alone_is_not_enough),
		cmocka_unit_test(no_point_at_all),
		cmocka_unit_test(each_node_has_its_own_point),
		cmocka_unit_test(point_readings_may_be_missing),
		cmocka_unit_test(shares_of_another_metric),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
