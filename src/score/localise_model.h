/* Shared by the files of localise: the values, what may be to blame for which of
 * them, and what has been found so far. */
#ifndef ASSAY_SCORE_LOCALISE_MODEL_H
#define ASSAY_SCORE_LOCALISE_MODEL_H

#include "score/localise.h"

#define CULPRIT_WAYS 3
/* Share of a candidate's values, and of each member's, that are nearer to slow. */
#define LEAST_SUPPORT 0.65

/* A candidate. The values it is part of: list[out..in) where it sends (or either
 * way, if there is no telling), list[in..end) where it receives. */
struct part {
	enum culprit_kind kind;
	int node, nic, peer, peer_nic, leaf;
	int out, in, end;
	int members; /* nodes of a group, else 1 */
	double log_prior;
};

struct parts {
	struct part *part;
	int n, cap;
	int *list;
	int n_list, cap_list;
	/* Candidates by what they are, -1: none. */
	int *of_node, *of_leaf, *of_uplink, *of_rail, *of_incast;
	/* Per value: its pair, and the NICs of its ends. */
	int *of_link, *of_from_nic, *of_to_nic;
	int n_leaves, n_nics;
};

struct found {
	int part;
	enum culprit_way way;
	double delta; /* < 0 */
	double price; /* log prior, and log of what the unknown depth costs */
	bool gone;    /* taken back */
};

/* A value explained by something found: a list per value. */
struct cover {
	int found, next; /* -1: last */
};

/* A node of a group looked at: its values, and those nearer to slow. */
struct member {
	int counted, supporting;
};

struct model {
	const struct localise_input *in;
	int n;
	double *y;    /* -inf never: failed pairs are set from mu */
	int *level;   /* per value: which mu */
	double mu[2]; /* within a leaf group or not known; across */
	double mu_se;
	double sigma;     /* of one value */
	double tau, pair; /* between sound nodes; between sound pairs */
	double disturbed; /* share of one-off disturbances */
	bool two_levels;
	bool minimum;
	struct parts parts;
	struct found *found;
	int n_found, cap_found;
	int *head; /* per value: first cover, -1: none */
	struct cover *cover;
	int n_cover, cap_cover;
	double *own; /* per node: what it differs by itself; with tau > 0 */
	/* Of the candidate looked at: n each, and a member per node. */
	double *work, *explained, *off;
	struct member *member;
};

/* A candidate looked at against all found but one. */
struct look {
	double delta, se;
	double price;      /* part of log_odds: see struct found */
	double log_odds;   /* against nothing; -INFINITY: not slow enough to count */
	double support;    /* share of its pairs nearer to slow than to sound */
	size_t n, against; /* values; those that can hardly be slow */
};

/* --- localise_parts.c ------------------------------------------------------------- */

void parts_build(struct parts *p, const struct localise_input *in);
void parts_release(struct parts *p);
/* Its values that way; *n of them. */
const int *part_values(const struct parts *p, int part, enum culprit_way way, int *n);
/* Whether that end of one of its values (0: sender) is inside a group. */
bool part_has_end(const struct localise_input *in, const struct part *part,
                  const struct pair_value *v, int end);
/* Whether it has values of both directions. */
bool part_is_two_way(const struct parts *p, int part);
bool part_has_way(const struct parts *p, int part, enum culprit_way way);

/* --- localise_fit.c --------------------------------------------------------------- */

/* Log of a value against the level of sound pairs; < 0: slower. */
double model_deviation(const struct model *m, int value);
/* Odds of a value being no disturbance, that far from what was expected. */
double model_weight(const struct model *m, double off);
/* What is found explains of a value, without one of the found (-1: with all). */
double model_explained(const struct model *m, int value, int without);
/* Log-likelihood of a deviation from what was expected, up to a constant. */
double model_likelihood(const struct model *m, double deviation);
struct look model_look(const struct model *m, int part, enum culprit_way way, int without);
/* How likely all values are, with what was found and its price. */
double model_worth(const struct model *m);

/* --- localise_rest.c -------------------------------------------------------------- */

/* Median of n > 0 values, whose order changes. */
double model_middle(double *x, int n);
/* Levels and noise before anything is known; `upper`: from the better values. */
void model_start(struct model *m, bool upper);
/* Levels and noise from the values nobody is blamed for. */
void model_rest(struct model *m);
/* Whether what is left can stand for sound pairs. */
bool model_sound(const struct model *m);

/* --- localise_search.c ------------------------------------------------------------ */

/* Fills `found` anew. */
void model_search(struct model *m);

/* --- localise_tell.c -------------------------------------------------------------- */

void model_tell(const struct model *m, struct arena *arena, struct localise_result *out);

#endif
