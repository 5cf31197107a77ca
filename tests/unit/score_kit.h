/* What the tests of judging share: a few metrics, profiles from text, and runs
 * made of readings in memory. A test describes one situation in a few lines
 * and asks for one finding. */
#ifndef SCORE_KIT_H
#define SCORE_KIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "score/score.h"
#include "tests/cleanup.h"

#define CONFIG TESTS_DIR "/unit/data/score"

static const struct metric kit_table[] = {
	{"card_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_alone_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_per_ghz", "TFLOP/s/GHz", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_name", "text", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_pci_device", "text", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_sm_count", "1", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_memory_mib", "MiB", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"card_mig_enabled", "1", BETTER_NEITHER, SUBJECT_CARD, BACKEND_CUDA, ""},
	{"cpu_tflops", "TFLOP/s", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CPU, ""},
	{"node_ok", "1", BETTER_HIGHER, SUBJECT_NODE, BACKEND_ANY, ""},
	{"node_kernel", "text", BETTER_NEITHER, SUBJECT_NODE, BACKEND_ANY, ""},
	{"node_seconds", "s", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY, ""},
	{"env_runs", "1", BETTER_HIGHER, SUBJECT_ENVIRONMENT, BACKEND_ANY, ""},
	{"link_gbs", "GB/s", BETTER_HIGHER, SUBJECT_LINK, BACKEND_CUDA, ""},
	{"pair_gbps", "Gb/s", BETTER_HIGHER, SUBJECT_PAIR, BACKEND_ANY, ""},
	{"pair_us", "us", BETTER_LOWER, SUBJECT_PAIR, BACKEND_ANY, ""},
	{"path_iops", "IOPS", BETTER_HIGHER, SUBJECT_PATH, BACKEND_ANY, ""},
	{"path_lat_ms", "ms", BETTER_LOWER, SUBJECT_PATH, BACKEND_ANY, ""},
	{"cluster_share", "1", BETTER_HIGHER, SUBJECT_CLUSTER, BACKEND_ANY, ""},
	{0},
};

static const struct metric kit_planned[] = {
	{"later_seconds", "s", BETTER_LOWER, SUBJECT_NODE, BACKEND_ANY, ""},
	{0},
};

static const struct metric *const kit_tables[] = {kit_table, NULL};
static const struct metric_set kit_metrics = {kit_tables, kit_planned};

/* --- profiles ------------------------------------------------------------------ */

static char kit_dir[] = "/tmp/assay-score-XXXXXX";

static inline int kit_setup(void **state)
{
	(void)state;
	return mkdtemp(kit_dir) ? 0 : -1;
}

static inline int kit_teardown(void **state)
{
	(void)state;
	return dir_remove(kit_dir, NULL) == ST_OK ? 0 : -1;
}

static inline const char *kit_file(const char *name, const char *text)
{
	static struct str path;

	path_join(&path, kit_dir, name);
	assert_int_equal(file_write(path.data, text, strlen(text), NULL), ST_OK);
	return path.data;
}

static inline struct profile *kit_load(const char *name)
{
	struct error err = {0};
	struct profile *p;

	if (profile_load(&p, name, CONFIG, &kit_metrics, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
	return p;
}

/* A whole profile from its rules; `more`: further top-level members with a
 * trailing comma. */
static inline struct profile *kit_profile(const char *more, const char *rules)
{
	return kit_load(
		kit_file("p.json", tmpf("{\"v\":1,\"name\":\"p\",%s\"criteria\":["
	                                "{\"id\":\"1\",\"title\":\"one\",\"subjects\":\"card\"},"
	                                "{\"id\":\"2\",\"title\":\"two\",\"subjects\":\"node\"}],"
	                                "\"rules\":[%s]}",
	                                more, rules)));
}

/* --- runs ------------------------------------------------------------------------ */

#define KIT_READINGS 512

struct kit {
	struct rundir run;
	struct reading readings[KIT_READINGS];
	struct arena arena;
	struct profile *profile;
	struct scorecard card;
};

static inline struct kit *kit_run(int64_t nodes, int64_t cards)
{
	struct kit *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	k->run.readings = k->readings;
	k->run.info = (struct run_info){
		.created = "2026-12-02T03:00:00.000Z",
		.version = "0.1.0",
		.budget = "standard",
		.expected_nodes = nodes,
		.expected_cards = cards,
	};
	k->run.ended = "2026-12-02T03:10:00.000Z";
	k->run.digest = "d";
	return k;
}

static inline struct reading *kit_add_of(struct kit *k, const struct metric_set *known,
                                         const char *node, const char *id, const char *metric)
{
	const struct metric *m = metric_find(known, metric, NULL);
	struct reading *r = &k->readings[k->run.n_readings++];

	assert_true(k->run.n_readings <= KIT_READINGS);
	assert_non_null(m);
	*r = reading_init();
	r->seq = k->run.n_readings;
	r->node = node;
	r->metric = metric;
	r->unit = m->unit;
	r->better = m->better;
	r->subject.kind = m->subject;
	r->subject.id = id;
	r->work = arena_strf(&k->arena, "%s/%s", metric, id);
	r->probe = "kit";
	r->phase = "cards";
	return r;
}

static inline struct reading *kit_add(struct kit *k, const char *node, const char *id,
                                      const char *metric)
{
	return kit_add_of(k, &kit_metrics, node, id, metric);
}

static inline struct reading *kit_number(struct kit *k, const char *node, const char *id,
                                         const char *metric, double value)
{
	struct reading *r = kit_add(k, node, id, metric);

	r->value_kind = VALUE_NUMBER;
	r->value = value;
	return r;
}

static inline struct reading *kit_text(struct kit *k, const char *node, const char *id,
                                       const char *metric, const char *text)
{
	struct reading *r = kit_add(k, node, id, metric);

	r->value_kind = VALUE_TEXT;
	r->text = text;
	return r;
}

static inline struct reading *kit_outcome(struct kit *k, const char *node, const char *id,
                                          const char *metric, enum outcome outcome)
{
	struct reading *r = kit_add(k, node, id, metric);

	r->outcome = outcome;
	r->reason = (struct reason){.code = "because", .text = "because"};
	return r;
}

/* --- judging ------------------------------------------------------------------------ */

static inline void kit_score_with(struct kit *k, struct profile *p, struct score_options options)
{
	struct error err = {0};

	k->profile = p;
	if (score_run(&k->card, &k->arena, &k->run, p, &kit_metrics, &options, &err) != ST_OK)
		fail_msg("%s", str_text(&err.text));
}

static inline void kit_score(struct kit *k, struct profile *p)
{
	kit_score_with(k, p, (struct score_options){0});
}

static inline void kit_free(struct kit *k)
{
	profile_free(k->profile);
	arena_release(&k->arena);
	arena_release(&k->run.arena);
	free(k);
}

static inline const struct rule_result *kit_rule(const struct kit *k, const char *id)
{
	for (int i = 0; i < k->card.n_rules; i++)
		if (strcmp(k->card.rule_results[i].rule->id, id) == 0)
			return &k->card.rule_results[i];
	fail_msg("no rule %s", id);
	return NULL;
}

/* First finding of a rule about a subject id; NULL id: its first finding. */
static inline const struct finding *kit_finding(const struct kit *k, const char *rule,
                                                const char *id)
{
	for (int64_t i = 0; i < k->card.n_findings; i++) {
		const struct finding *f = &k->card.findings[i];

		if (strcmp(f->rule->id, rule) == 0 &&
		    (!id || strcmp(f->subject.id ? f->subject.id : "", id) == 0))
			return f;
	}
	fail_msg("no finding of %s about %s", rule, id ? id : "anything");
	return NULL;
}

/* About the first, which is the worst, finding of a rule. */
#define assert_verdict(k, id, word)                                                                \
	assert_string_equal(verdict_name(kit_finding(k, id, NULL)->verdict), word)
#define assert_reason(k, id, word) assert_string_equal(kit_finding(k, id, NULL)->reason.code, word)
#define assert_overall(k, word)    assert_string_equal(overall_name((k)->card.overall), word)

#endif
