/* Loading profiles: inheritance, digests, and for every mistake a person can
 * make in one the place and the word that would have been right. */
#include "score_kit.h"

#include "score/accel.h"
#include "score/profile.h"

static const struct rule *rule_of(const struct profile *p, const char *id)
{
	for (int i = 0; i < p->n_rules; i++)
		if (strcmp(p->rules[i].info.id, id) == 0)
			return &p->rules[i];
	fail_msg("no rule %s", id);
	return NULL;
}

static void loads_by_name(void **state)
{
	struct profile *p = kit_load("base");

	(void)state;
	assert_string_equal(profile_name(p), "base");
	assert_int_equal(p->card_row, -1);
	assert_int_equal(p->n_rules, 2);
	assert_int_equal(rule_of(p, "speed")->limit.kind, LIMIT_MIN);
	assert_true(rule_of(p, "speed")->limit.number == 100);
	assert_true(rule_of(p, "alive")->info.required);
	assert_true(rule_of(p, "alive")->info.min_coverage == 1);
	assert_string_equal(rule_of(p, "alive")->info.stat, "value");
	assert_string_equal(rule_of(p, "alive")->info.scope, "each");
	assert_int_equal(strlen(profile_sha256(p)), 64);
	assert_int_equal(p->n_noise, 3);
	profile_free(p);
}

static void child_changes_members(void **state)
{
	struct profile *p;

	(void)state;
	kit_file("parent.json",
	         "{\"v\":1,\"name\":\"parent\",\"extends\":\"base\",\"expect\":{\"nvlink\":true},"
	         "\"rules\":[{\"id\":\"speed\",\"max\":7},"
	         "{\"id\":\"extra\",\"criterion\":\"2\",\"metric\":\"later_seconds\",\"unit\":"
	         "\"s\",\"max\":1}]}");
	p = kit_load(kit_file(
		"child.json",
		"{\"v\":1,\"name\":\"child\",\"extends\":\"parent.json\","
		"\"card\":\"good-sxm4-80gb\",\"rules\":[{\"id\":\"extra\",\"required\":false}]}"));
	assert_string_equal(p->name, "child");
	assert_int_equal(p->card_row, accel_row(&p->accelerators, "good-sxm4-80gb"));
	assert_int_equal(p->n_rules, 3);
	/* An inherited limit of another kind is replaced, the rest stays. */
	assert_int_equal(rule_of(p, "speed")->limit.kind, LIMIT_MAX);
	assert_true(rule_of(p, "speed")->limit.number == 7);
	assert_string_equal(rule_of(p, "speed")->info.note, "kept");
	assert_true(rule_of(p, "extra")->planned);
	assert_false(rule_of(p, "extra")->info.required);
	assert_true(p->expect[HAS_RDMA]);
	assert_true(p->expect[HAS_NVLINK]);
	assert_false(p->expect[HAS_SHARED_STORAGE]);
	profile_free(p);
}

static void digest_of(char out[65], const char *more, const char *rules)
{
	struct profile *p = kit_profile(more, rules);

	strcpy(out, profile_sha256(p));
	profile_free(p);
}

static void digest_is_of_the_meaning(void **state)
{
	char a[65], b[65];

	(void)state;
	digest_of(a, "",
	          "{\"id\":\"x\",\"criterion\":\"1\",\"metric\":\"node_ok\",\"unit\":\"1\",\"min\":"
	          "1}");
	digest_of(
		b, "",
		"/* said */ { \"min\": 1.0, "
		"\"unit\":\"1\",\"id\":\"x\",\n\"metric\":\"node_ok\",\"criterion\":\"1\"} // x\n");
	assert_string_equal(a, b);
	digest_of(b, "",
	          "{\"id\":\"x\",\"criterion\":\"1\",\"metric\":\"node_ok\",\"unit\":\"1\",\"min\":"
	          "2}");
	assert_string_not_equal(a, b);
	digest_of(b, "\"card\":\"vague\",",
	          "{\"id\":\"x\",\"criterion\":\"1\",\"metric\":\"node_ok\",\"unit\":\"1\",\"min\":"
	          "1}");
	assert_string_not_equal(a, b);
}

/* --- mistakes --------------------------------------------------------------------- */

static void assert_refused(const char *text, const char *expected)
{
	const char *path = kit_file("bad.json", text);
	struct error err = {0};
	struct profile *p;
	const char *place;

	assert_int_not_equal(profile_load(&p, path, CONFIG, &kit_metrics, &err), ST_OK);
	assert_null(p);
	place = str_text(&err.text);
	if (!strstr(place, expected))
		fail_msg("expected \"%s\" in \"%s\"", expected, place);
	error_release(&err);
}

#define HEAD                                                                                       \
	"{\"v\":1,\"name\":\"p\",\"criteria\":[{\"id\":\"1\",\"title\":\"t\",\"subjects\":\"s\"}]" \
	",\n"
#define RULE(members) HEAD "\"rules\":[\n{\"id\":\"x\",\"criterion\":\"1\"," members "}]}"
#define NODE          "\"metric\":\"node_ok\",\"unit\":\"1\","

static void mistakes_at_the_top(void **state)
{
	(void)state;
	assert_refused("[]", "bad.json:1:1: a profile is a JSON object");
	assert_refused("{\"name\":\"p\"}", "has no \"v\"");
	assert_refused("{\"v\":2}", "\"v\": 1 only");
	assert_refused("{\"v\":1}", "has no \"name\"");
	assert_refused("{\"v\":1,\"name\":\"p\"}", "has no \"criteria\"");
	assert_refused("{\"v\":1,\n \"nmae\":\"p\"}",
	               "bad.json:2:2: unknown key \"nmae\"; did you mean \"name\"?");
	assert_refused("{\"v\":1,\"name\":3}", "\"name\" must be a text");
	assert_refused(HEAD "\"card\":\"good-sxm4-80g\"}", "did you mean \"good-sxm4-80gb\"?");
	assert_refused(HEAD "\"expect\":{\"rmda\":true}}", "did you mean \"rdma\"?");
	assert_refused(HEAD "\"expect\":{\"rdma\":1}}", "\"rdma\" must be true or false");
	assert_refused(HEAD "\"excluded\":[{\"row\":\"S1\"}]}", "\"row\" and \"reason\"");
	assert_refused(HEAD "\"rules\":{}}", "\"rules\" must be a list");
	assert_refused("{\"v\":1,\"name\":\"p\",\"criteria\":[{\"id\":\"1\"}]}",
	               "\"id\", \"title\" and \"subjects\"");
	assert_refused("{\"v\":1,\"name\":\"p\",\"criteria\":[{\"id\":\"1\",\"title\":\"t\","
	               "\"subjects\":\"s\"},\n"
	               "{\"id\":\"1\",\"title\":\"t\",\"subjects\":\"s\"}]}",
	               "bad.json:2:2: \"1\" is defined a second time");
	assert_refused("{\"v\":1,", "bad.json:1:");
}

static void mistakes_in_rules(void **state)
{
	(void)state;
	assert_refused(HEAD "\"rules\":[\n{\"criterion\":\"1\"}]}",
	               "bad.json:3:1: a rule without \"id\"");
	assert_refused(RULE("\"matric\":\"node_ok\""), "did you mean \"metric\"?");
	assert_refused(
		RULE("\n\"metric\":\"node_okk\",\"unit\":\"1\",\"min\":1"),
		"bad.json:4:1: no probe has a metric \"node_okk\"; did you mean \"node_ok\"?");
	assert_refused(RULE("\"metric\":\"zebra\",\"unit\":\"1\",\"min\":1"),
	               "no probe has a metric \"zebra\"; see");
	assert_refused(RULE("\"metric\":\"cpu_tflops\",\"unit\":\"TFLOP/s\",\"min\":1"),
	               "CPU back end");
	assert_refused(RULE("\"metric\":\"node_ok\",\"unit\":\"s\",\"min\":1"),
	               "\"s\", but \"1\" is the unit of node_ok");
	assert_refused(RULE("\"metric\":\"node_ok\",\"min\":1"), "rule x has no \"unit\"");
	assert_refused(RULE(NODE "\"min\":\"1\""), "\"min\" must be a number");
	assert_refused(RULE(NODE "\"min\":1,\"max\":2"), "a second limit in rule x");
	assert_refused(RULE("\"metric\":\"node_ok\",\"unit\":\"1\""), "rule x has no limit");
	assert_refused(RULE("\"metric\":\"node_ok\",\"unit\":\"1\",\"must_exist\":true"),
	               "rule x has no limit");
	assert_refused(RULE(NODE "\"min\":1,\"scope\":\"wurst\""), "did you mean \"worst\"?");
	assert_refused(RULE(NODE "\"min\":1,\"stat\":\"p98\""), "unknown stat \"p98\"");
	assert_refused(RULE(NODE "\"min\":1,\"stage\":\"later\""), "valid: delivery, period");
	assert_refused(RULE(NODE "\"min\":1,\"min_coverage\":1.5"), "outside 0 to 1");
	assert_refused(RULE(NODE "\"min\":1,\"when\":{\"has\":[\"crad\"]}"),
	               "did you mean \"card\"?");
	assert_refused(RULE(NODE "\"min\":1,\"when\":{\"nodes_min\":1.5}"), "a whole number");
	assert_refused(RULE(NODE "\"min\":1,\"when\":{\"has\":[\"rdma\"],\"lacks\":[\"rdma\"]}"),
	               "can never hold");
	assert_refused(HEAD "\"rules\":[{\"id\":\"x\",\"criterion\":\"2\"," NODE "\"min\":1}]}",
	               "unknown criterion \"2\"");
	assert_refused(HEAD "\"rules\":[{\"id\":\"x\",\"criterion\":\"1\"," NODE "\"min\":1},\n"
	                    "{\"id\":\"x\",\"criterion\":\"1\"," NODE "\"min\":1}]}",
	               "bad.json:3:2: \"x\" is defined a second time");
}

static void mistakes_in_limits(void **state)
{
	(void)state;
	assert_refused(RULE("\"metric\":\"node_kernel\",\"unit\":\"text\",\"min\":1"),
	               "needs a number, node_kernel is text");
	assert_refused(RULE("\"metric\":\"node_kernel\",\"unit\":\"text\",\"equals\":1"),
	               "must be a text");
	assert_refused(RULE(NODE "\"equals\":\"yes\""), "must be a number");
	assert_refused(RULE("\"metric\":\"node_kernel\",\"unit\":\"text\",\"scope\":\"median\","
	                    "\"equals\":\"x\""),
	               "needs numbers");
	assert_refused(RULE(NODE "\"min\":1,\"warn\":{\"max\":2}"), "must go the way of its limit");
	assert_refused(RULE(NODE "\"equals\":1,\"warn\":{\"min\":2}"),
	               "must go the way of its limit");
	assert_refused(RULE(NODE "\"min\":1,\"warn\":{\"min\":0.5}"), "lies beyond the limit 1");
	assert_refused(RULE(NODE "\"max\":1,\"warn\":{\"max\":1.5}"), "lies beyond the limit 1");
	assert_refused(RULE("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
	                    "s\",\"fraction_of\":{\"of\":\"fp16_tensor_tflop\",\"min\":1}"),
	               "did you mean \"fp16_tensor_tflops\"?");
	assert_refused(RULE("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
	                    "s\",\"fraction_of\":{\"of\":\"memory_type\",\"min\":1}"),
	               "unknown numeric column");
	assert_refused(RULE("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
	                    "s\",\"fraction_of\":{\"of\":\"fp32_tflops\",\"min\":1,\"h\":1}"),
	               "one of \"min\", \"max\", \"h\"");
	assert_refused(RULE("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
	                    "s\",\"fraction_of\":{\"of\":\"node_ok\",\"min\":1}"),
	               "node_ok is about a node, card_tflops about a card");
	assert_refused(RULE("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
	                    "s\",\"scope\":\"worst\",\"fraction_of\":{\"of\":\"card_alone_tflops\","
	                    "\"min\":1}"),
	               "its scope must be each");
	assert_refused(RULE("\"metric\":\"card_tflops\",\"unit\":\"TFLOP/"
	                    "s\",\"fraction_of\":{\"of\":\"card_alone_tflops\",\"h\":1}"),
	               "is a share of a rated figure");
	assert_refused(RULE("\"metric\":\"card_sm_count\",\"unit\":\"1\",\"card_row\":{\"column\":"
	                    "\"sm_cnt\"}"),
	               "did you mean \"sm_count\"?");
	assert_refused(RULE("\"metric\":\"card_sm_count\",\"unit\":\"1\",\"card_row\":{\"column\":"
	                    "\"memory_type\"}"),
	               "holds text");
	assert_refused(RULE("\"metric\":\"card_sm_count\",\"unit\":\"1\",\"card_row\":{}"),
	               "has no \"column\"");
	assert_refused(RULE(NODE "\"min\":1,\"stat\":\"f95\""), "needs a \"max\"");
	assert_refused(RULE(NODE "\"max\":1,\"scope\":\"sum\",\"stat\":\"dip_share\""),
	               "scope each or worst");
}

#define PATHS "\"metric\":\"path_iops\",\"unit\":\"IOPS\",\"min\":1,"

static void mistakes_between_rules(void **state)
{
	(void)state;
	assert_refused(RULE(NODE "\"min\":1,\"reading\":\"literal\""),
	               "literal rule x has no \"twin\"");
	assert_refused(RULE(NODE "\"min\":1,\"twin\":\"y\""), "only a literal rule has a twin");
	assert_refused(HEAD "\"rules\":[{\"id\":\"speed\",\"criterion\":\"1\"," NODE "\"min\":1},"
	                    "{\"id\":\"x\",\"criterion\":\"1\",\"reading\":\"literal\",\n\"twin\":"
	                    "\"sped\"," NODE "\"min\":1}]}",
	               "bad.json:3:1: unknown sound rule \"sped\"; did you mean \"speed\"?");
	assert_refused(RULE(NODE "\"min\":1,\"reading\":\"literal\",\"twin\":\"x\""),
	               "is a literal rule itself");
	assert_refused(RULE(PATHS "\"at_point\":{\"maximize\":\"path_iops\"}"),
	               "needs a \"group\"");
	assert_refused(RULE(PATHS "\"at_point\":{\"group\":\"g\"}"),
	               "no rule of group \"g\" says what to maximize");
	assert_refused(RULE(PATHS "\"at_point\":{\"group\":\"g\",\"maximize\":\"node_ok\"}"),
	               "node_ok is about a node");
	assert_refused(RULE(PATHS "\"at_point\":{\"group\":\"g\",\"maximize\":\"path_iops\","
	                          "\"subject_to\":[{\"metric\":\"path_lat_ms\"}]}"),
	               "one of \"min\", \"max\"");
	assert_refused(HEAD "\"rules\":[{\"id\":\"a\",\"criterion\":\"1\"," PATHS
	                    "\"at_point\":{\"group\":\"g\",\"maximize\":\"path_iops\"}},\n{\"id\":"
	                    "\"b\",\"criterion\":\"1\"," PATHS
	                    "\"at_point\":{\"group\":\"g\",\"maximize\":\"path_lat_ms\"}}]}",
	               "picks its operating point differently");
}

static void mistakes_in_chains(void **state)
{
	struct error err = {0};
	struct profile *p;

	(void)state;
	kit_file("one.json", "{\"v\":1,\"name\":\"one\",\"extends\":\"two.json\"}");
	kit_file("two.json", "{\"v\":1,\"name\":\"two\",\n\"extends\":\"one.json\"}");
	assert_int_equal(
		profile_load(
			&p,
			kit_file("one.json", "{\"v\":1,\"name\":\"one\",\"extends\":\"two.json\"}"),
			CONFIG, &kit_metrics, &err),
		ST_PARSE);
	assert_non_null(strstr(str_text(&err.text),
	                       "two.json:2:1: \"one.json\" extends this profile itself"));
	error_release(&err);
	assert_int_equal(profile_load(&p, "bose", CONFIG, &kit_metrics, &err), ST_NOTFOUND);
	assert_string_equal(str_text(&err.text), "no profile \"bose\"; did you mean \"base\"?");
	error_release(&err);
	assert_int_equal(profile_load(&p, "/nonexistent/p.json", CONFIG, &kit_metrics, &err),
	                 ST_NOTFOUND);
	error_release(&err);
	/* A child changing an inherited rule into nonsense is told in the child. */
	assert_refused("{\"v\":1,\"name\":\"c\",\"extends\":\"base\",\n\"rules\":[{\"id\":"
	               "\"speed\",\n\"warn\":{\"min\":1}}]}",
	               "bad.json:3:9: the warn line 1 lies beyond the limit 100");
	assert_refused("{\"v\":1,\"extends\":\"base\"}", "has no \"name\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loads_by_name),
		cmocka_unit_test(child_changes_members),
		cmocka_unit_test(digest_is_of_the_meaning),
		cmocka_unit_test(mistakes_at_the_top),
		cmocka_unit_test(mistakes_in_rules),
		cmocka_unit_test(mistakes_in_limits),
		cmocka_unit_test(mistakes_between_rules),
		cmocka_unit_test(mistakes_in_chains),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
