/* How long and how dear a training run would be on cards of a kind, from what was
 * measured, is given, or must be assumed. Every input is a range from worst to best
 * with its origin; the same three cases go through all formulas, so a range is not
 * a confidence interval.
 *
 *   MFU  = GEMM share of peak x share of it that a training step reaches x E(n),
 *          no more than a measured step of products and sums alone, unless MFU itself
 *          is given
 *   ETTR = Daly's form, checkpoints at sqrt(2 w M), M = MTTF of 1,000 cards x 1000/n
 *   days = 6 N D / (n x peak x MFU x ETTR x 86400), after the memory gate */
#ifndef ASSAY_ESTIMATE_ESTIMATE_H
#define ASSAY_ESTIMATE_ESTIMATE_H

#include <stdbool.h>

#include "base/error.h"

enum source { SOURCE_ASSUMED, SOURCE_GIVEN, SOURCE_MEASURED, SOURCE_TABLE };

enum estimate_case { CASE_BEST, CASE_MID, CASE_WORST, CASES };

struct range {
	double of[CASES]; /* NaN: unknown */
	enum source source;
};

struct range range_one(double value, enum source source);
struct range range_assumed(double best, double mid, double worst);

/* Share of its memory a card has left for states: the rest is activations with full
 * recomputation, buffers, the context. */
#define STATES_MOST 0.8
/* So many cards at most are looked for. */
#define CARDS_MOST 1e6

struct estimate_inputs {
	double params, tokens;
	double cards;            /* NaN: to be found */
	double peak_tflops;      /* of one card */
	double memory_gb;        /* of one card; NaN: unknown */
	struct range mfu;        /* given; NaN: from the three below */
	struct range gemm_share; /* of peak */
	struct range step_share; /* of the GEMM rate */
	struct range step_most;  /* share of peak that MFU does not exceed; NaN: none */
	struct range scaling;    /* E(n) */
	struct range mttf_h;     /* of a job on 1,000 cards */
	struct range write_gbs;  /* checkpoint writing; NaN: write_s instead */
	struct range write_s;
	struct range restart_min;
	double price;                 /* of a card-hour; NaN: none */
	double deadline_days, budget; /* NaN: none */
};

/* What assumptions stand for inputs that nobody gave; see their table in estimate.c. */
void estimate_assume(struct estimate_inputs *in);

struct estimate {
	double cards; /* given or found */
	bool solved;  /* … found */
	double state_bytes, checkpoint_bytes;
	double least_cards; /* that hold the states; NaN: memory unknown */
	bool fits;
	double mfu[CASES], ettr[CASES], days[CASES], card_hours[CASES], cost[CASES];
	double mttf_h[CASES], write_s[CASES], interval_s[CASES];
	bool within_deadline, within_budget; /* in the middle case; true where none is set */
};

/* ST_RANGE with clear words for inputs no run can have: no cards, 1e30 tokens, an
 * MFU above 1. ST_UNSUPPORTED: no number of cards meets deadline or budget. */
enum status estimate_make(struct estimate *e, const struct estimate_inputs *in, struct error *err);

/* "70B", "1.4T", "350M", "7e10"; false: malformed. */
bool quantity_parse(const char *text, double *value);
/* 7e10 -> "70B", 1.4e12 -> "1.4T" */
const char *quantity_text(double value);

#endif
