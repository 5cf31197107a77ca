/* Findings gathered for people. A page of 200,000 findings says the same few
 * things over and over: one card is slow by six rules, one rule fails on every
 * card, forty rules lack one library. Each of these is one group.
 *
 * Everything lives in the arena given at the start. */
#ifndef ASSAY_REPORT_GROUPS_H
#define ASSAY_REPORT_GROUPS_H

#include "assay/finding.h"
#include "base/arena.h"
#include "base/str.h"

enum group_kind {
	GROUP_SUBJECT, /* one subject, one or more rules with a figure */
	GROUP_RULE,    /* one rule, many subjects with a figure */
	GROUP_REASON,  /* one reason without a figure, any rules and subjects */
};

#define GROUP_NODES  3 /* nodes named */
#define GROUP_OTHERS 3 /* further figures of one subject */

struct group {
	enum group_kind kind;
	enum verdict verdict;
	const char *criterion;       /* NULL: not tied to one */
	const struct finding *first; /* the most important of them */
	int64_t rank;                /* smaller is more important */
	bool mixed;                  /* more than one subject */
	int64_t subjects;            /* distinct ones: most under any of its rules */
	const char *nodes[GROUP_NODES];
	int64_t n_nodes; /* distinct ones, those named included */
	const char **metrics;
	int n_metrics;
	int n_rules;
	const struct finding *others[GROUP_OTHERS]; /* GROUP_SUBJECT */
	int n_others;                               /* all of them, also beyond the array */
	double lo, hi;                              /* GROUP_RULE: of the figures */
	const struct finding *worst;                /* GROUP_RULE: farthest from its limit */
	/* While gathering one rule. */
	const struct rule_info *rule;
	int64_t rule_subjects, rule_nodes;
	const char *rule_node;
};

struct group_list {
	struct arena *arena;
	struct group **groups; /* by rank after groups_* */
	int n_groups, capacity;
	int64_t left_out; /* findings of groups beyond the most that are kept */
	int last;         /* group of the finding before */
};

/* What is wrong, uncertain or doubtful (fail, inconclusive, warn), by criterion
 * and importance. `stage`: the stage judged; literal rules only if required. */
void groups_troubles(struct group_list *list, struct arena *arena, const struct scorecard *card);
/* Why required rules of the stage have no verdict, over all criteria; the
 * reason with most rules first. */
void groups_untested(struct group_list *list, struct arena *arena, const struct scorecard *card);
/* The same for what does not apply. */
void groups_inapplicable(struct group_list *list, struct arena *arena,
                         const struct scorecard *card);

/* Whether the rule is judged in the stage of the scorecard. */
bool rule_in_stage(const struct scorecard *card, const struct rule_info *rule);
/* "3 nodes (n001, n002, n044)", "n044", "n017 card 3 (...)": whom the group is
 * about; nothing where that is simply all there is. */
void group_where(struct str *out, const struct group *g, const struct scorecard *card);
/* Who, what, held against which limit; or why there is no figure. */
void group_claim(struct str *out, const struct scorecard *card, const struct group *g);
/* What else is known of it: the worst, further figures, the reason. */
void group_evidence(struct str *out, const struct group *g);

#endif
