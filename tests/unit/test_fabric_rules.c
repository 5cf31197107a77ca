/* What the profile of a cluster makes of readings between its nodes: ends that do not
 * agree, error counters that rose, adapters that carry too little, wrong sums. */
#include "config_fixture.h"
#include "score_kit.h"

static struct reading *add(struct kit *k, const char *node, const char *id, const char *metric)
{
	struct reading *r = kit_add_of(k, &metrics, node, id, metric);

	r->phase = "groups";
	if (r->subject.kind == SUBJECT_PAIR) {
		r->subject.n_ends = 2;
		r->subject.ends[0].node = "n1";
		r->subject.ends[1].node = "n2";
	}
	return r;
}

/* Of a rule for one figure; NaN: it failed. */
static void expect(const char *metric, const char *node, const char *id, double value,
                   const char *rule, const char *verdict)
{
	struct kit *k = kit_run(2, 1);
	struct error err = {0};
	struct reading *r = add(k, node, id, metric);

	add(k, "n1", "GPU-1", "card_name")->value_kind = VALUE_TEXT;
	k->readings[1].text = "NVIDIA A100-SXM4-80GB";
	if (isnan(value)) {
		r->outcome = OUTCOME_FAILED;
		r->reason = (struct reason){.code = "because", .text = "because"};
	} else {
		r->value_kind = VALUE_NUMBER;
		r->value = value;
	}
	if (profile_load(&k->profile, "a100-sxm4-80gb", SOURCE_DIR "/configs", &metrics, &err) !=
	            ST_OK ||
	    score_run(&k->card, &k->arena, &k->run, k->profile, &metrics,
	              &(struct score_options){0}, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	if (strcmp(verdict_name(kit_finding(k, rule, id)->verdict), verdict) != 0)
		fail_msg("%s of %s at %g: %s, not %s", rule, id, value,
		         verdict_name(kit_finding(k, rule, id)->verdict), verdict);
	kit_free(k);
}

static void ends_of_a_pair(void **state)
{
	(void)state;
	expect("rdma_ends_agree", "n1", "n1|n2", 1, "rdma-ends", "pass");
	expect("rdma_ends_agree", "n1", "n1|n2", NAN, "rdma-ends", "fail");
	expect("rdma_error_rises", "n1", "n1|n2", 0, "rdma-errors", "pass");
	expect("rdma_error_rises", "n1", "n1|n2", 1, "rdma-errors", "warn");
}

static void adapters(void **state)
{
	(void)state;
	expect("collective_nic_share", "n1", "*", 0.8, "allreduce-cluster", "pass");
	expect("collective_nic_share", "n1", "*", 0.7, "allreduce-cluster", "warn");
	expect("collective_nic_share", "n1", "*", 0.5, "allreduce-cluster", "fail");
	expect("collective_node_nic_share", "n2", "n2", 0.8, "allreduce-nodes", "pass");
	expect("collective_node_nic_share", "n2", "n2", 0.7, "allreduce-nodes", "warn");
	expect("collective_node_nic_share", "n2", "n2", 0.5, "allreduce-nodes", "fail");
	expect("collective_node_nic_share", "n2", "n2", NAN, "allreduce-nodes", "fail");
}

static void sums(void **state)
{
	(void)state;
	expect("collective_nodes_wrong_elements", "n1", "*", 0, "collective-cluster-right", "pass");
	expect("collective_nodes_wrong_elements", "n1", "*", NAN, "collective-cluster-right",
	       "fail");
	expect("collective_default_share", "n1", "*", 0.96, "default-speed", "pass");
	expect("collective_default_share", "n1", "*", 0.93, "default-speed", "warn");
	expect("collective_default_share", "n1", "*", 0.89, "default-speed", "fail");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ends_of_a_pair),
		cmocka_unit_test(adapters),
		cmocka_unit_test(sums),
	};

	return cmocka_run_group_tests(tests, config_setup, config_teardown);
}
