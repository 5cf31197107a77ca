/* The kit of inventory_kit.h for the other probes of cards: the probe, the card it
 * is for and its parameters can be said, and the same is asked of nodes whose
 * calls cost the host different times. */
#ifndef ASSAY_TESTS_CARDS_KIT_H
#define ASSAY_TESTS_CARDS_KIT_H

#include "tests/probes/inventory_kit.h"

#include <math.h>

#define CARD0 "0000:17:00.0"
#define CARD1 "0000:2a:00.0"
#define CARD2 "0000:3d:00.0"
#define CARD3 "0000:50:00.0"

struct ask {
	const char *probe;
	const char *subject; /* PCI address; NULL: none, the unit is for the node */
	const char *params;  /* members of a JSON object */
	const char *only;    /* folder of libraries that is no stand-in's; NULL: lib */
	struct look look;
};

static inline struct seen *ask(struct ask a)
{
	struct seen *s = calloc(1, sizeof(*s));
	const char *folder = a.only ? a.only : tmpf("%s/tests/standin/lib", BINARY_DIR);
	FILE *f;
	pid_t pid;

	assert_non_null(s);
	kit_make_node(s, &a.look);
	f = fopen(tmpf("%s/request", s->root), "w");
	assert_non_null(f);
	fprintf(f,
	        "{\"probe\":\"%s\",\"node\":\"n001\",\"work\":\"5f0c5f0c5f0c\",\"budget\":0,"
	        "\"seed\":\"1234abcd\",\"deadline_s\":%g,\"lib_dir\":\"%s\",\"raw_dir\":\"%s/raw\","
	        "\"sys_root\":\"%s/tree\",%s\"params\":{%s}}\n",
	        a.probe, a.look.deadline_s > 0 ? a.look.deadline_s : 600, folder, s->root, s->root,
	        a.subject ? tmpf("\"subject\":\"%s\",", a.subject) : "", a.params ? a.params : "");
	assert_int_equal(fclose(f), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		kit_child(s, &a.look);
	assert_int_equal(waitpid(pid, &s->status, 0), pid);
	kit_take_lines(s);
	return s;
}

/* A finding that speaks against somebody, of the probe's metrics alone. */
static inline bool speaks_against(const struct finding *f, const struct probe *probe)
{
	return probe_metric(probe, f->rule->metric) && f->rule->reading != RULE_LITERAL &&
	       (f->verdict == VERDICT_FAIL || f->verdict == VERDICT_WARN);
}

static inline void expect_no_finding(const struct seen *s, const struct probe *probe)
{
	int judged = 0;

	for (int64_t i = 0; i < s->card.n_findings; i++) {
		const struct finding *f = &s->card.findings[i];

		if (speaks_against(f, probe))
			fail_msg("%s: %s: %s", f->rule->id, verdict_name(f->verdict),
			         f->reason.text ? f->reason.text : "");
		judged += probe_metric(probe, f->rule->metric) && f->verdict == VERDICT_PASS;
	}
	assert_true(judged > 0);
}

/* Within half a percent. */
static inline void expect_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 0.005 * wanted))
		fail_msg("%g, not %g", value, wanted);
}

#endif
