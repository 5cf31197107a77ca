/* Statements of a vendor or a guide, one a line of a CSV or one a figure of an offer
 * (configs/offers). A statement is a quantity, a bound and what it is said of; what the
 * words mean is looked up in configs/claims/default.json, never guessed: a statement of
 * no known quantity stays one nobody can test here.
 *
 * Columns of the CSV: id, meaning or phrase_zh, unit, threshold; and, where it has them,
 * quantity (a name of that file, or a metric of Assay), who, card, cards, params,
 * tokens, at, product, kind, note. Thresholds: ">=312", "<1", "180-220", "1500K", "92",
 * "-54", "+33", "90 -> 55", each with words behind it. */
#ifndef ASSAY_SERVICE_CLAIMS_H
#define ASSAY_SERVICE_CLAIMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum claim_bound {
	BOUND_WORDS, /* no figure */
	BOUND_ABOUT, /* one figure, or a range */
	BOUND_LEAST,
	BOUND_MOST,
	BOUND_CHANGE, /* from lo to hi, in this order */
};

struct claim_figure {
	enum claim_bound bound;
	double lo, hi; /* of LEAST and MOST both are the limit */
	bool bad;      /* "<50 = fail": what a bad one has */
};

/* False: a number that is none ("1.2.3", "5-3"). Words alone are BOUND_WORDS. */
bool claim_figure_parse(const char *text, struct claim_figure *out);
/* What a figure in `unit` is multiplied by to be in `into`; NaN: no such units. */
double claim_factor(const char *unit, const char *into);

struct claim_quantity {
	const char *name;
	const char *metric; /* of Assay, or NULL: no run has it */
	const char *stat;   /* "value" … */
	const char *unit;
	const char *column; /* of accelerators.csv with the rated figure, or NULL */
	double tolerance;   /* share */
	bool sum;           /* over the nodes, not one by one */
	const char *const *words;
	int n_words;
};

struct claim_known {
	const char *text, *quantity, *who, *card, *product;
	double params, cards, tokens, at;
};

struct claim_domain {
	const char *card; /* beginning of its key */
	double cards;
};

struct claim_product {
	const char *product, *card, *source;
};

/* The file of configuration. */
struct claim_words {
	struct arena arena;
	struct claim_quantity *quantities;
	struct claim_known *known;
	struct claim_domain *domains;
	struct claim_product *products;
	int n_quantities, n_known, n_domains, n_products;
};

enum status claim_words_load(struct claim_words *w, const char *config_dir, struct error *err);
void claim_words_release(struct claim_words *w);
const struct claim_quantity *claim_quantity_find(const struct claim_words *w, const char *name);

struct statement {
	int64_t line; /* 0: of an offer */
	const char *id, *meaning, *phrase, *kind, *note, *unit, *threshold;
	const char *who, *card, *product; /* "" where not said */
	double cards, params, tokens, at; /* NaN */
	/* NULL: not known. `wanted`: as the file names it, which may be a metric. */
	const struct claim_quantity *quantity;
	const char *wanted;
	struct claim_figure figure; /* in the quantity's unit, where `scaled` */
	bool scaled;
	bool named; /* the file itself says the quantity */
};

/* Sets the quantity, and brings the figure into its unit where there is a way. */
void statement_measure(struct statement *s, const struct claim_quantity *q);

struct statements {
	struct arena arena;
	const char *name, *title, *encoding;
	const char *card; /* an offer's, or "" */
	struct statement *list;
	int n, cap;
};

/* A CSV, an offer as a JSON file, or the name of a built-in offer. ST_PARSE with file
 * and line; a missing column is named with the nearest there is. Quantities refer to
 * `words`, which must outlive it. */
enum status statements_read(struct statements *s, const char *path, const struct claim_words *words,
                            const char *config_dir, struct error *err);
void statements_release(struct statements *s);

#endif
