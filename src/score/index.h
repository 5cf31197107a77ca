/* Readings by metric and subject. Built once per judging in time linear in
 * the readings, so that a rule costs only what it judges. */
#ifndef ASSAY_SCORE_INDEX_H
#define ASSAY_SCORE_INDEX_H

#include "assay/probe.h"
#include "base/arena.h"
#include "run/rundir.h"
#include "score/score.h"

struct entry {
	const struct reading *reading;
	int subject; /* index into subjects */
	int node;    /* index of the node that measured it, -1: not said */
	bool recovered;
};

/* All readings of one metric about subjects of its kind, by subject. */
struct series {
	const char *metric;
	const struct metric *def; /* NULL: no probe of this version has it */
	const struct entry *entries;
	int64_t n;
};

struct subject_entry {
	const struct subject *subject; /* of the first reading about it */
	const char *node_name;         /* NULL: spans nodes */
	int node;                      /* index, -1: spans nodes */
	bool star;                     /* id "*": every subject of the node */
};

struct node_entry {
	const char *name;
	const int *cards; /* subjects: accelerators seen, not sockets */
	int n_cards;
};

struct index {
	struct series *series;
	int n_series;
	struct subject_entry *subjects;
	int n_subjects;
	struct node_entry *nodes;
	int n_nodes;
	int64_t n_cards; /* seen on all nodes */
	struct effective readings;
	const int *series_of; /* per effective reading: its series, -1: wrong subject kind */
	struct key_table *metrics;
};

/* Everything from `arena`; strings stay the run's. */
void index_build(struct index *x, struct arena *arena, struct rundir *run,
                 const struct metric_set *metrics);
/* NULL: no reading of it. */
const struct series *index_series(const struct index *x, const char *metric);
/* Entries of one subject: the first of *n, NULL if none. */
const struct entry *series_of_subject(const struct series *s, int subject, int64_t *n);
/* Subjects of this kind belong to no single node. */
bool kind_spans_nodes(enum subject_kind kind);

#endif
