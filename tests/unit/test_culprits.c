/* From pair readings of a run to names in the scorecard: nodes, NICs, paths, leaf
 * groups, and no name where the readings leave several. */
#include "score_kit.h"

#include "base/json.h"
#include "report/report.h"
#include "stats/rng.h"

#define NODES 12
#define FAST                                                                                       \
	"{\"id\":\"fast\",\"criterion\":\"2\",\"metric\":\"pair_gbps\",\"unit\":\"Gb/s\",\"min\":" \
	"330}"
#define QUICK                                                                                      \
	"{\"id\":\"quick\",\"criterion\":\"2\",\"metric\":\"pair_us\",\"unit\":\"us\",\"max\":3}"

/* --- runs ------------------------------------------------------------------------------ */

static const char *node_name(struct kit *k, int node)
{
	return arena_strf(&k->arena, "n%02d", node);
}

/* A reading of one direction; the pair's id is the same both ways. */
static struct reading *add_pair(struct kit *k, int from, int to, const char *metric, double value)
{
	int low = from < to ? from : to, high = from + to - low;
	struct reading *r =
		kit_number(k, node_name(k, from), arena_strf(&k->arena, "n%02d|n%02d", low, high),
	                   metric, value);

	r->subject.n_ends = 2;
	r->subject.ends[0] = (struct subject_end){.node = node_name(k, from)};
	r->subject.ends[1] = (struct subject_end){.node = node_name(k, to)};
	r->phase = "pairs";
	return r;
}

/* All ordered pairs at 2 % noise around `level`. */
static struct kit *all_pairs(int nodes, const char *metric, double level)
{
	struct kit *k = kit_run(nodes, 0);
	struct rng rng;

	rng_seed(&rng, 7);
	for (int from = 0; from < nodes; from++)
		for (int to = 0; to < nodes; to++)
			if (from != to)
				add_pair(k, from, to, metric,
				         level * (1 + 0.02 * rng_normal(&rng)));
	return k;
}

static bool ends_at(const struct reading *r, int end, const char *node)
{
	return strcmp(r->subject.ends[end].node, node) == 0;
}

/* Every reading with the node at that end (2: at either) times `factor`. */
static void slow_down(struct kit *k, const char *node, int end, double factor)
{
	for (int64_t i = 0; i < k->run.n_readings; i++) {
		struct reading *r = &k->readings[i];

		if ((end != 1 && ends_at(r, 0, node)) || (end != 0 && ends_at(r, 1, node)))
			r->value *= factor;
	}
}

/* --- names ------------------------------------------------------------------------------- */

static void a_bad_node_is_named(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);
	const struct localised *l;
	int marked = 0;

	(void)state;
	slow_down(k, "n03", 2, 0.6);
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	l = &k->card.localised[0];
	assert_true(l->identified);
	assert_string_equal(l->metric, "pair_gbps");
	assert_int_equal(l->pairs, 66);
	assert_int_equal(l->due, 66);
	assert_true(fabs(l->healthy - 360) < 3);
	assert_int_equal(l->explanations[0].kind, CULPRIT_NODE);
	assert_string_equal(l->explanations[0].node, "n03");
	assert_null(l->explanations[0].nic);
	assert_true(fabs(l->explanations[0].depth - 0.4) < 0.02);
	assert_true(l->explanations[0].depth_lo < 0.4 && l->explanations[0].depth_hi > 0.4);
	assert_true(l->explanations[0].odds > 0.999);
	assert_non_null(strstr(l->text, "n03, both ways: 21"));
	assert_non_null(strstr(l->text, " Gb/s with 11 of its partners, 36"));
	/* Its pairs say so; no other does. */
	for (int64_t i = 0; i < k->card.n_findings; i++) {
		const struct finding *f = &k->card.findings[i];
		bool own = strstr(f->subject.id, "n03") != NULL;

		assert_int_equal(f->verdict == VERDICT_FAIL, own);
		assert_int_equal(f->culprit != NULL, own);
		marked += f->culprit == l->text;
	}
	assert_int_equal(marked, 11);
	kit_free(k);
}

static void a_slow_receiver_is_named(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_us", 2);

	(void)state;
	slow_down(k, "n05", 1, 2); /* a latency */
	kit_score(k, kit_profile("", QUICK));
	assert_int_equal(k->card.n_localised, 1);
	assert_true(k->card.localised[0].identified);
	assert_string_equal(k->card.localised[0].explanations[0].node, "n05");
	assert_int_equal(k->card.localised[0].explanations[0].way, CULPRIT_WAY_RECEIVES);
	assert_true(fabs(k->card.localised[0].explanations[0].depth - 0.5) < 0.02);
	assert_non_null(strstr(k->card.localised[0].text, "n05, receiving: "));
	kit_free(k);
}

static void a_nic_is_named(void **state)
{
	struct kit *k = kit_run(8, 0);
	struct rng rng;
	const struct explanation *e;

	(void)state;
	rng_seed(&rng, 3);
	for (int nic = 0; nic < 2; nic++)
		for (int from = 0; from < 8; from++)
			for (int to = 0; to < 8; to++) {
				struct reading *r;
				bool bad = nic == 1 && (from == 4 || to == 4);

				if (from == to)
					continue;
				r = add_pair(k, from, to, "pair_gbps",
				             (bad ? 200 : 360) * (1 + 0.02 * rng_normal(&rng)));
				r->subject.ends[0].nic = r->subject.ends[1].nic =
					nic ? "mlx5_3" : "mlx5_0";
			}
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	assert_true(k->card.localised[0].identified);
	e = &k->card.localised[0].explanations[0];
	assert_int_equal(e->kind, CULPRIT_NIC);
	assert_string_equal(e->node, "n04");
	assert_string_equal(e->nic, "mlx5_3");
	assert_non_null(strstr(k->card.localised[0].text, "n04 mlx5_3, both ways"));
	kit_free(k);
}

static void a_path_is_named(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);

	(void)state;
	for (int64_t i = 0; i < k->run.n_readings; i++)
		if (strcmp(k->readings[i].subject.id, "n02|n09") == 0)
			k->readings[i].value *= 0.5;
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	assert_true(k->card.localised[0].identified);
	assert_int_equal(k->card.localised[0].explanations[0].kind, CULPRIT_LINK);
	assert_string_equal(k->card.localised[0].explanations[0].node, "n02");
	assert_string_equal(k->card.localised[0].explanations[0].peer, "n09");
	assert_non_null(strstr(k->card.localised[0].text, "n02 to n09, both ways"));
	assert_ptr_equal(kit_finding(k, "fast", "n02|n09")->culprit, k->card.localised[0].text);
	kit_free(k);
}

static void a_leaf_group_is_named(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);

	(void)state;
	for (int64_t i = 0; i < k->run.n_readings; i++) {
		struct reading *r = &k->readings[i];
		int from = atoi(r->subject.ends[0].node + 1) / 3,
		    to = atoi(r->subject.ends[1].node + 1) / 3;

		r->params = arena_strf(&k->arena, "{\"leaves\":[\"leaf%d\",\"leaf%d\"]}", from, to);
		if (from != to && (from == 2 || to == 2))
			r->value *= 0.5;
	}
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	assert_true(k->card.localised[0].identified);
	assert_int_equal(k->card.localised[0].explanations[0].kind, CULPRIT_UPLINK);
	assert_string_equal(k->card.localised[0].explanations[0].leaf, "leaf2");
	assert_non_null(strstr(k->card.localised[0].text, "uplink of leaf group leaf2, both ways"));
	kit_free(k);
}

/* Eleven at once to one node, beside rounds of disjoint pairs. */
static void many_senders_are_no_bad_receiver(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);

	(void)state;
	for (int from = 1; from < NODES; from++) {
		struct reading *r = add_pair(k, from, 0, "pair_gbps", 360.0 / 11);

		r->params = "{\"senders\":11}";
		r->work = "incast";
	}
	kit_score(k, kit_profile("", ""));
	assert_int_equal(k->card.n_localised, 0); /* a fair share of one line */
	kit_free(k);
	k = all_pairs(NODES, "pair_gbps", 360);
	for (int from = 1; from < NODES; from++) {
		struct reading *r = add_pair(k, from, 0, "pair_gbps", 0.3 * 360 / 11);

		r->params = "{\"senders\":11}";
		r->work = "incast";
	}
	kit_score(k, kit_profile("", ""));
	assert_int_equal(k->card.n_localised, 1);
	assert_int_equal(k->card.localised[0].explanations[0].kind, CULPRIT_INCAST);
	assert_string_equal(k->card.localised[0].explanations[0].node, "n00");
	assert_true(k->card.localised[0].identified);
	kit_free(k);
}

static void pairs_that_fail_name_the_node_too(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);

	(void)state;
	for (int64_t i = 0; i < k->run.n_readings; i++) {
		struct reading *r = &k->readings[i];

		if (!ends_at(r, 0, "n07") && !ends_at(r, 1, "n07"))
			continue;
		r->outcome = i % 2 ? OUTCOME_FAILED : OUTCOME_TIMED_OUT;
		r->value_kind = VALUE_NONE;
		r->reason = (struct reason){.code = "because", .text = "because"};
	}
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	assert_true(k->card.localised[0].identified);
	assert_string_equal(k->card.localised[0].explanations[0].node, "n07");
	kit_free(k);
}

/* --- no name ------------------------------------------------------------------------------- */

static void clean_pairs_name_nobody(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);

	(void)state;
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 0);
	assert_int_equal(kit_rule(k, "fast")->count[VERDICT_PASS], 66);
	kit_free(k);
}

static void all_slow_alike(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 180);

	(void)state;
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	assert_false(k->card.localised[0].identified);
	assert_int_equal(k->card.localised[0].n_explanations, 0);
	assert_non_null(strstr(k->card.localised[0].text, "66 of 66 pairs fail"));
	assert_null(kit_finding(k, "fast", NULL)->culprit);
	kit_free(k);
}

static void two_nodes_are_not_told_apart(void **state)
{
	struct kit *k = all_pairs(2, "pair_gbps", 180);
	const struct localised *l;

	(void)state;
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 1);
	l = &k->card.localised[0];
	assert_false(l->identified);
	assert_true(l->n_explanations >= 3);
	assert_non_null(strstr(l->text, "not told apart: "));
	assert_non_null(strstr(l->text, "n00 ("));
	assert_non_null(strstr(l->text, "n01 ("));
	assert_non_null(strstr(l->text, "n00 to n01 ("));
	assert_true(fabs(l->healthy - 330) < 1e-6); /* the limit: no others to compare with */
	assert_null(kit_finding(k, "fast", NULL)->culprit);
	kit_free(k);
}

/* What somebody else says, what has no ends, a node with itself, words for params. */
static void unusable_readings_are_left_out(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);
	struct reading *r;

	(void)state;
	for (int64_t i = 0, n = k->run.n_readings; i < n; i++)
		if (ends_at(&k->readings[i], 0, "n03"))
			k->readings[i].params = "{\"senders\":\"many\",\"leaves\":7}";
	r = add_pair(k, 3, 4, "pair_gbps", 1);
	r->origin = ORIGIN_IMPORTED;
	r->work = "w1";
	r = add_pair(k, 5, 6, "pair_gbps", 1);
	r->outcome = OUTCOME_LOST;
	r->work = "w2";
	r = add_pair(k, 8, 8, "pair_gbps", 1);
	r->work = "w3";
	r = add_pair(k, 1, 2, "pair_gbps", 1);
	r->subject.n_ends = 0;
	r->work = "w4";
	r = add_pair(k, 1, 2, "pair_gbps", 0);
	r->work = "w5";
	r = add_pair(k, 1, 2, "pair_gbps", 360);
	r->params = "\"senders\" {";
	r->work = "w6";
	r = kit_outcome(k, "n01", "*", "pair_gbps", OUTCOME_FAILED);
	kit_score(k, kit_profile("", ""));
	assert_int_equal(k->card.n_localised, 0);
	kit_free(k);

	k = kit_run(2, 0); /* nothing usable at all */
	kit_outcome(k, "n01", "*", "pair_gbps", OUTCOME_NOT_MEASURED);
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(k->card.n_localised, 0);
	kit_free(k);
}

static void operating_points_are_kept_apart(void **state)
{
	struct kit *k = all_pairs(8, "pair_gbps", 360);
	struct rng rng;

	(void)state;
	rng_seed(&rng, 5);
	for (int64_t i = 0; i < k->run.n_readings; i++)
		k->readings[i].point = "1M";
	for (int from = 0; from < 8; from++)
		for (int to = 0; to < 8; to++)
			if (from != to)
				add_pair(k, from, to, "pair_gbps",
				         (from == 2 ? 10 : 20) * (1 + 0.02 * rng_normal(&rng)))
					->point = "4K";
	kit_score(k, kit_profile("", ""));
	assert_int_equal(k->card.n_localised, 1);
	assert_string_equal(k->card.localised[0].point, "4K");
	assert_string_equal(k->card.localised[0].explanations[0].node, "n02");
	assert_int_equal(k->card.localised[0].explanations[0].way, CULPRIT_WAY_SENDS);
	assert_true(fabs(k->card.localised[0].healthy - 20) < 0.5);
	kit_free(k);
}

/* --- read again --------------------------------------------------------------------------------- */

static struct reading *add_again(struct kit *k, int from, int to, double value, int times)
{
	struct reading *r = add_pair(k, from, to, "pair_gbps", value);

	r->work = arena_strf(&k->arena, "again %d", times);
	return r;
}

/* The worst would punish a pair for having been looked at more often. */
static void of_a_pair_read_again_the_median_is_judged(void **state)
{
	struct kit *k = kit_run(4, 0);

	(void)state;
	add_again(k, 0, 1, 300, 1);
	add_again(k, 0, 1, 350, 2);
	add_again(k, 0, 1, 360, 3);
	add_again(k, 0, 2, 360, 1); /* of two the worse */
	add_again(k, 0, 2, 300, 2);
	add_again(k, 0, 3, 310, 1); /* of four the second worst */
	add_again(k, 0, 3, 360, 2);
	add_again(k, 0, 3, 300, 3);
	add_again(k, 0, 3, 350, 4);
	add_again(k, 1, 2, 360, 1); /* what failed stands */
	add_again(k, 1, 2, 350, 2)->outcome = OUTCOME_FAILED;
	add_again(k, 1, 3, 340, 1); /* both ways are not one */
	add_again(k, 3, 1, 335, 1);
	add_again(k, 2, 3, 350, 1);
	kit_score(k, kit_profile("", FAST));
	assert_true(kit_finding(k, "fast", "n00|n01")->value == 350);
	assert_int_equal(kit_finding(k, "fast", "n00|n01")->verdict, VERDICT_PASS);
	assert_true(kit_finding(k, "fast", "n00|n02")->value == 300);
	assert_int_equal(kit_finding(k, "fast", "n00|n02")->verdict, VERDICT_FAIL);
	assert_true(kit_finding(k, "fast", "n00|n03")->value == 310);
	assert_ptr_equal(kit_finding(k, "fast", "n00|n03")->evidence, &k->readings[5]);
	assert_int_equal(kit_finding(k, "fast", "n01|n02")->verdict, VERDICT_FAIL);
	assert_true(kit_finding(k, "fast", "n01|n03")->value == 335);
	assert_int_equal(kit_rule(k, "fast")->coverage.tested, 6);
	assert_int_equal(kit_rule(k, "fast")->coverage.due, 6);
	assert_int_equal(k->card.n_pairs, 1);
	assert_string_equal(k->card.pairs[0].probe, "kit");
	assert_int_equal(k->card.pairs[0].pairs, 6);
	assert_int_equal(k->card.pairs[0].due, 6);
	assert_int_equal(k->card.pairs[0].again, 4);
	kit_free(k);
}

static const char *terminal_of(struct kit *k)
{
	struct str text = {0};
	const char *kept;

	assert_int_equal(report_find("terminal")
	                         ->write(&text, &k->card,
	                                 &(struct report_options){.width = 200, .max_items = 5},
	                                 NULL),
	                 ST_OK);
	kept = arena_str(&k->arena, str_text(&text));
	str_release(&text);
	return kept;
}

/* A name for each direction: a pair owes two, and a sample is no more than it is. */
static void a_sample_says_what_it_misses(void **state)
{
	struct kit *k = kit_run(5, 0);

	(void)state;
	for (int a = 0; a < 4; a++)
		for (int way = 0; way < 2; way++)
			add_again(k, way ? a + 1 : a, way ? a : a + 1, 360, 1)->subject.id =
				arena_strf(&k->arena, "n%02d|n%02d", way ? a + 1 : a,
			                   way ? a : a + 1);
	add_again(k, 0, 1, 350, 2);
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(kit_rule(k, "fast")->coverage.tested, 8);
	assert_int_equal(kit_rule(k, "fast")->coverage.due, 20);
	assert_int_equal(k->card.pairs[0].pairs, 4);
	assert_int_equal(k->card.pairs[0].due, 10);
	assert_int_equal(k->card.pairs[0].again, 1);
	assert_non_null(strstr(terminal_of(k), "kit: 4 of 10 pairs of nodes; a single bad cable is "
	                                       "missed with probability 0.6"));
	assert_non_null(strstr(terminal_of(k), "kit: 1 of the pairs were read again"));
	kit_free(k);
	/* All of them: nothing to say. */
	k = all_pairs(4, "pair_gbps", 360);
	kit_score(k, kit_profile("", FAST));
	assert_null(strstr(terminal_of(k), "pairs of nodes"));
	assert_null(strstr(terminal_of(k), "read again"));
	kit_free(k);
}

/* --- as JSON ---------------------------------------------------------------------------------- */

static void the_scorecard_has_them(void **state)
{
	struct kit *k = all_pairs(NODES, "pair_gbps", 360);
	struct str text = {0};
	struct json_doc doc;
	const cJSON *l, *e, *f;
	int with = 0;

	(void)state;
	slow_down(k, "n03", 2, 0.6);
	kit_score(k, kit_profile("", FAST));
	assert_int_equal(
		report_find("json")->write(&text, &k->card, &(struct report_options){0}, NULL),
		ST_OK);
	assert_int_equal(json_parse(&doc, "card", str_text(&text), text.len, JSON_STRICT, NULL),
	                 ST_OK);
	assert_int_equal(cJSON_GetArraySize(json_get(doc.root, "localised")), 1);
	l = json_get(doc.root, "localised")->child;
	assert_true(json_bool(l, "identified", false));
	assert_string_equal(json_string(l, "metric", ""), "pair_gbps");
	assert_int_equal(json_int64(l, "pairs", 0), 66);
	assert_int_equal(json_int64(json_get(doc.root, "pairs")->child, "due", 0), 66);
	e = json_get(l, "explanations")->child;
	assert_string_equal(json_string(e, "kind", ""), "node");
	assert_string_equal(json_string(e, "node", ""), "n03");
	assert_string_equal(json_string(e, "way", ""), "both");
	assert_true(fabs(json_number(e, "depth", 0) - 0.4) < 0.02);
	assert_int_equal(cJSON_GetArraySize(json_get(e, "depth_ci")), 2);
	assert_int_equal(json_int64(e, "partners", 0), 11);
	for (f = json_get(doc.root, "findings")->child; f; f = f->next)
		with += json_get(f, "culprit") != NULL;
	assert_int_equal(with, 11);
	json_release(&doc);
	str_release(&text);
	kit_free(k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_node_is_named),
		cmocka_unit_test(a_slow_receiver_is_named),
		cmocka_unit_test(a_nic_is_named),
		cmocka_unit_test(a_path_is_named),
		cmocka_unit_test(a_leaf_group_is_named),
		cmocka_unit_test(many_senders_are_no_bad_receiver),
		cmocka_unit_test(pairs_that_fail_name_the_node_too),
		cmocka_unit_test(clean_pairs_name_nobody),
		cmocka_unit_test(all_slow_alike),
		cmocka_unit_test(two_nodes_are_not_told_apart),
		cmocka_unit_test(unusable_readings_are_left_out),
		cmocka_unit_test(operating_points_are_kept_apart),
		cmocka_unit_test(of_a_pair_read_again_the_median_is_judged),
		cmocka_unit_test(a_sample_says_what_it_misses),
		cmocka_unit_test(the_scorecard_has_them),
	};

	return cmocka_run_group_tests(tests, kit_setup, kit_teardown);
}
