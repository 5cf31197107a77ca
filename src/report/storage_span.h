/* Readings of storage paths, in spans: of one path, of one node of it. */
#ifndef ASSAY_REPORT_STORAGE_SPAN_H
#define ASSAY_REPORT_STORAGE_SPAN_H

#include "assay/finding.h"
#include "base/json.h"

/* A reading of a path, with its metric less the prefix. */
struct item {
	const struct reading *r;
	const char *name;
	bool local;
	int64_t at; /* in the order taken */
};

/* Items of one path, or of one node of it. */
struct span {
	const struct item *items;
	int64_t n;
};

/* Whether a reading is one of the figures the report shows by path. */
bool span_shows(const struct reading *r);
/* All of them, named paths before local disks, by path and by node. The caller
 * frees `items`. */
struct span span_gather(const struct scorecard *card);
/* The items at the beginning that are of one path, and of one node if so asked. */
struct span span_first(struct span all, bool same_node);
struct span span_rest(struct span all, struct span first);
const char *span_node(struct span s); /* of the first item, "" when not said */

/* The first measured reading; `point` NULL: of any operating point. */
const struct reading *span_find(struct span s, const char *name, const char *point);
double span_number(struct span s, const char *name, const char *point); /* NaN: none */
double span_highest(struct span s, const char *name);                   /* NaN: none */
/* The node whose highest is the least; empty when no node measured it. *nodes:
 * those that did. */
struct span span_slowest(struct span path, const char *name, int64_t *nodes);
struct span span_of_node(struct span path, const char *node);

/* The parameters of a reading; the caller releases the document. False: none. */
bool span_params(const struct reading *r, struct json_doc *doc);

#endif
