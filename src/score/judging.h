/* Shared by the files that judge a run: the state of one score_run. Findings
 * grow in a scratch array and are copied into the scorecard's arena at the
 * end; everything else lives in the two arenas. */
#ifndef ASSAY_SCORE_JUDGING_H
#define ASSAY_SCORE_JUDGING_H

#include "base/msg.h"
#include "score/accel.h"
#include "score/index.h"
#include "score/profile.h"

/* A rule with its limit resolved for the card of this run. */
struct resolved {
	const struct rule *rule;
	struct rule_info *info;      /* the scorecard's copy */
	const struct series *series; /* NULL: no reading of the metric */
	struct figure figure;        /* of the card row; trust TRUST_NONE otherwise */
	const char *cell;            /* LIMIT_ROW: the cell, NULL if empty */
	bool cell_trusted;
	double limit; /* NaN: depends on the subject, or unknown */
	double warn;  /* NaN: none */
	bool is_min;
	bool thin;           /* h of fewer than 2 sources: fail becomes warn ... */
	double thin_fail;    /* ... unless below this; NaN: always */
	bool unproven;       /* pass becomes warn as well: identity unproven */
	int64_t first, end;  /* its findings */
	int64_t combined_at; /* the finding that is made of many, -1: none */
	int64_t combined;    /* subjects it is made of */
};

struct judging {
	struct arena *arena;  /* the scorecard's */
	struct arena scratch; /* ends with score_run */
	struct rundir *run;
	const struct profile *profile;
	const struct metric_set *metrics;
	const struct score_options *options;
	struct index index;
	int card_row; /* -1: not known */
	bool card_guessed;
	const char *card;       /* key or NULL */
	const char *form;       /* NULL: not known */
	struct resolved *rules; /* by criterion, then as in the profile */
	int n_rules;
	struct finding *findings; /* malloc */
	int64_t n_findings, cap_findings;
	int *stamp;         /* per subject: 1 + last rule that met it */
	int64_t *node_mark; /* per node and one before: last mark, to visit each once */
	int64_t mark;
	const char *advice[MSG_COUNT];
	/* The last comparison of a text with a cell: cards of a cluster say the
	 * same, and matching a pattern costs more than all else about a reading. */
	struct {
		const char *cell, *text;
		bool same;
	} matched;
};

/* A new finding of the rule: subject and numbers empty, one subject. Valid
 * until the next call. */
struct finding *finding_add(struct judging *j, const struct resolved *rr);

/* A reason in the scorecard's arena. */
struct reason judging_reason_list(struct judging *j, enum msg id, const char *const *args);
#define judging_reason(j, id, ...)                                                                 \
	judging_reason_list(j, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})
const char *judging_text_list(struct judging *j, enum msg id, const char *const *args);
#define judging_text(j, id, ...)                                                                   \
	judging_text_list(j, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* How bad a verdict is for what it decides; higher is worse. */
int verdict_severity(enum verdict v);

/* --- limits.c --------------------------------------------------------------------- */

/* Card of the run: the profile's, or a guess from what the cards say. */
void judging_find_card(struct judging *j);
void rule_resolve(struct judging *j, const struct rule *rule, struct resolved *rr);

/* --- judge.c: one reading --------------------------------------------------------- */

/* Takes outcome, origin and figure over into the finding. True: a figure to
 * be compared. False: the verdict is settled. */
bool judge_take(struct judging *j, const struct resolved *rr, const struct entry *e,
                struct finding *f);
/* Compares the finding's figure with the limit. `e`: the reading it is of;
 * NULL for a figure made of many. */
void judge_compare(struct judging *j, const struct resolved *rr, const struct entry *e,
                   struct finding *f);
/* The figure a rule looks at; NaN when absent. */
double reading_figure(const struct reading *r, int stat);
/* True if a is on the worse side of b. */
bool figure_worse(const struct resolved *rr, double a, double b);

/* --- due.c ------------------------------------------------------------------------ */

enum holds { HOLDS_NO, HOLDS_YES, HOLDS_UNKNOWN };

/* Whether the rule applies on a node (index, -1: a node never seen), or to the
 * cluster when its subjects span nodes. *why: the condition that decided. */
enum holds when_holds(struct judging *j, const struct rule *rule, int node, const char **why);
int64_t due_nodes(const struct judging *j);
/* Cards owed by a node; -1: one never seen. */
int64_t due_cards(const struct judging *j, int node);

/* --- rule_score.c, scope.c, point.c ----------------------------------------------- */

void rule_score(struct judging *j, int rule);
/* Readings that are measured figures of one rule, to become one figure. */
struct sample {
	struct entry entry;
	double value;
	const char *text;
};
/* Judges n > 0 samples as one; `complete`: no subject is missing. */
void scope_judge(struct judging *j, struct resolved *rr, struct sample *samples, int64_t n,
                 bool complete);

/* The reading at the operating point of the rule's group, among those that
 * the node of `e` took of its subject. False: settled in the finding. */
bool point_choose(struct judging *j, const struct resolved *rr, const struct entry *e,
                  struct entry *out, struct finding *f);

/* --- fleet_leg.c, fleet_drift.c, culprits.c, advice.c, waivers.c, verdicts.c ------- */

void fleet_warn(struct judging *j);
/* Compares the words of the rule just scored with what most of its subjects say. */
void drift_warn(struct judging *j, struct resolved *rr);
/* Slow pairs of nodes: who is to blame. Marks the findings it explains. */
void culprits_find(struct judging *j, struct scorecard *card);
void advise(struct judging *j, struct finding *f);
/* waivers.c: marks the findings that are waived. */
void waivers_apply(struct judging *j, struct scorecard *card);
/* Counts, coverage, verdicts of rules and criteria, overall. */
void verdicts_gather(struct judging *j, struct scorecard *card);

#endif
