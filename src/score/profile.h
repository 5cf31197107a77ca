/* A profile as judging uses it: rules with their limits checked against the
 * metrics and the table of accelerators. Loading is in profile.c (files,
 * inheritance), rule.c (one rule) and rule_check.c (rules together).
 *
 * Everything belongs to the arena of the profile; a profile never changes
 * after profile_load. */
#ifndef ASSAY_SCORE_PROFILE_H
#define ASSAY_SCORE_PROFILE_H

#include "assay/finding.h"
#include "assay/probe.h"
#include "base/arena.h"
#include "base/csv.h"
#include "base/sha256.h"
#include "score/score.h"

/* How the subjects of a rule become one figure. spread: largest less smallest;
 * of words: how many different ones less one. distinct, of words: how many
 * subjects have one that another has too. worst and best follow the
 * direction of the limit. */
#define SCOPE_WORDS(X)                                                                             \
	X(EACH, "each")                                                                            \
	X(WORST, "worst")                                                                          \
	X(BEST, "best")                                                                            \
	X(MEDIAN, "median")                                                                        \
	X(SUM, "sum")                                                                              \
	X(DISTINCT, "distinct") /* how many share theirs with another one */                       \
	X(SPREAD, "spread")

enum scope {
#define X(name, text) SCOPE_##name,
	SCOPE_WORDS(X)
#undef X
};

enum limit_kind {
	LIMIT_EXISTS,   /* must_exist of a text: any word passes */
	LIMIT_MIN,      /* number */
	LIMIT_MAX,      /* number */
	LIMIT_NUMBER,   /* equals number */
	LIMIT_TEXT,     /* equals text */
	LIMIT_FRACTION, /* factor x (column of the card row | metric) */
	LIMIT_ROW,      /* equals a column of the card row */
	LIMIT_FLEET,    /* not worse than its like by more than chance; warns only */
	LIMIT_MAJORITY, /* as that share of its like say; warns only */
};

struct limit {
	enum limit_kind kind;
	double number;
	const char *text;
	/* LIMIT_FRACTION, LIMIT_ROW: */
	const char *of;                 /* column or metric */
	const struct metric *of_metric; /* NULL: a column */
	bool is_min;                    /* LIMIT_FRACTION: direction */
	double factor;                  /* share, or h of a banded limit */
	bool banded;                    /* fail < 0.85 h, warn < 0.92 h */
	int sources;                    /* of h; 1: fail < 0.6 h only, 0: warn only */
	double tolerance;               /* LIMIT_ROW: relative */
};

#define BAND_FAIL    0.85
#define BAND_WARN    0.92
#define BAND_SOURCES 2
/* Of one source: no other benchmark, shape or library explains less than this share of it. */
#define BAND_ALONE 0.6

/* What must hold on the expected inventory for a rule to be due. */
#define HAS_WORDS(X)                                                                               \
	X(CARD, "card")                                                                            \
	X(NVLINK, "nvlink")                                                                        \
	X(RDMA, "rdma")                                                                            \
	X(SHARED_STORAGE, "shared_storage")                                                        \
	X(MIG, "mig")

enum has {
#define X(name, text) HAS_##name,
	HAS_WORDS(X)
#undef X
		HAS_COUNT
};

struct when {
	const char *form;             /* NULL: any */
	int64_t nodes_min, cards_min; /* 0: none; cards of the whole cluster */
	unsigned has, lacks;          /* bits 1 << HAS_… */
};

#define STAT_VALUE (-1) /* the reading's value itself */

struct constraint {
	const struct metric *metric;
	int stat; /* enum stat_id or STAT_VALUE */
	bool is_min;
	double value;
};

/* The operating point of a group of rules: the one that maximises a metric
 * among those that meet all constraints. Rules of a group share the struct. */
struct at_point {
	const char *group;
	const struct metric *maximize;
	const struct constraint *subject_to;
	int n_subject_to;
};

struct rule {
	struct rule_info info; /* `limit` is filled when judging */
	const struct metric *metric;
	bool planned; /* no probe measures it yet */
	int stat;     /* enum stat_id or STAT_VALUE */
	enum scope scope;
	struct limit limit;
	bool has_warn;
	double warn;
	struct when when;
	const struct at_point *at_point; /* NULL: none */
	bool must_exist;
	int criterion; /* index */
};

struct criterion {
	const char *id, *title, *subjects;
};

/* Healthy spread of a metric between like subjects, as a fraction (sd). */
struct noise {
	const char *metric;
	double sd;
};

struct profile {
	struct arena arena;
	const char *name, *title;
	int card_row; /* -1: no card */
	struct csv accelerators;
	bool expect[HAS_COUNT];
	struct criterion *criteria;
	int n_criteria;
	struct rule *rules;
	int n_rules;
	struct noise *noise;
	int n_noise;
	const char *text; /* canonical form, what the digest is of */
	char sha256[SHA256_HEX];
};

#endif
