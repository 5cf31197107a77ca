/* What software the nodes have and how far it is known to be good: levels, versions,
 * gains of engines, and where nodes differ. A row a figure about the environment, with
 * what most nodes say; generic, by the kind of the subject and the form of the name. */
#ifndef ASSAY_REPORT_READINESS_H
#define ASSAY_REPORT_READINESS_H

#include "assay/finding.h"
#include "base/arena.h"
#include "base/str.h"

struct readiness_row {
	const char *name;   /* metric, and its operating point where there is one */
	const char *text;   /* what most say; of what is not measured why */
	int alike, nodes;   /* how many say it; of how many */
	const char *others; /* "2.5 (n003); …" */
	bool measured;      /* by most */
	bool digest;        /* words for programs alone: worth a look only where they differ */
	bool tells;         /* for people: not a digest that all have alike, or nothing */
};

struct readiness {
	struct readiness_row *rows; /* in the order of the journal */
	int n;
};

/* All of the arena, in the language that is spoken. */
void readiness_find(struct readiness *r, struct arena *arena, const struct scorecard *card);
/* "runs (7 of 8 nodes)", and who says otherwise. */
void readiness_words(struct str *out, const struct readiness_row *row);

/* --- the gate ---------------------------------------------------------------------------- */

struct gated_line;

/* "REGRESSED; baselines: golden; figures compared: 812". */
void gated_words(struct str *out, const struct gated *g);
/* "the gate, beside golden: REGRESSED", short-lived. */
const char *gated_banner(const struct gated *g);
/* "slower", "breaking software" …; in the language that is spoken. */
const char *gated_what(const struct gated_line *line);
const char *gated_text(const struct gated_line *line);
/* A regression; one that cannot be told. */
bool gated_fails(const struct gated_line *line);
bool gated_is_open(const struct gated_line *line);

#endif
