/* What papers and logs given beside a run came to, for the writers of reports: a bill by
 * classes, tickets, availability by node, a projection. Each is read back from the
 * parameters of its readings (src/cli/evidence_detail.c, evidence_service.c), so that a
 * report needs nothing but the scorecard.
 *
 * Money is in the currency named, minutes and days in those units; NaN: not known. Texts
 * from files are as they came; everything lives in the arena given. */
#ifndef ASSAY_REPORT_SERVICE_FACTS_H
#define ASSAY_REPORT_SERVICE_FACTS_H

#include "assay/finding.h"
#include "base/arena.h"
#include "base/msg.h"

struct service_class {
	const char *word; /* "rate_above" */
	int64_t lines;
	double billed, excess;
};

/* From what the quote asks for to what is billed. */
struct service_step {
	const char *word; /* "quote", a class, "rounding", "tax_on_top", "billed" */
	double amount;    /* of "quote" and "billed" the level, else what it adds */
	bool level;
};

struct service_line {
	int64_t line;
	const char *class, *what, *quoted; /* quoted: item of the quote, or NULL */
	double billed, expected;
};

#define SERVICE_CLASSES 24
#define SERVICE_STEPS   (SERVICE_CLASSES + 4)
#define SERVICE_ROWS    12

struct service_bill {
	const char *currency, *verdict, *from, *to; /* verdict: "met", "missed" … */
	int64_t lines;
	double total, hidden;
	struct service_class classes[SERVICE_CLASSES];
	struct service_step steps[SERVICE_STEPS];
	struct service_line examples[SERVICE_ROWS];
	const char *open[SERVICE_ROWS];
	int n_classes, n_steps, n_examples, n_open;
};

struct service_ticket {
	const char *id, *opened; /* "2026-11-03T04:05:06.000Z" */
	double days;             /* since the first one was opened */
	double response_min;     /* NaN: no person replied yet */
	double waiting_min;      /* … and so long it waits */
	bool late;
};

struct service_hours {
	enum msg name;
	int n, in_time;
	double median_min;
};

#define SERVICE_HOURS 3

struct service_tickets {
	const char *verdict; /* "met", "missed", "too_short" */
	double limit_min, share, low95, high95, median_min, max_min;
	int judged, in_time, late, pending, stated, repaired;
	double repair_median_min, repair_max_min;
	struct service_hours hours[SERVICE_HOURS];
	struct service_ticket *list; /* in the order of the file */
	int n;
};

struct service_node {
	const char *node;
	double up_min, degraded_min, down_min, unknown_min, planned_min, customer_min;
};

#define SERVICE_CASES  3 /* best, middle, worst */
#define SERVICE_INPUTS 16

struct service_input {
	enum msg name;
	const char *key; /* "mfu" */
	double of[SERVICE_CASES];
	const char *origin; /* "measured", "assumed", "given", "table" */
};

struct service_projection {
	const struct reason *open; /* why there is none; the rest is empty then */
	const char *params, *tokens, *card, *currency;
	const char *price_from; /* "bill", "quote"; NULL: no price */
	double cards, least_cards, price;
	bool fits, simulated;
	double days[SERVICE_CASES], hours[SERVICE_CASES], cost[SERVICE_CASES];
	double mfu[SERVICE_CASES], ettr[SERVICE_CASES];
	struct service_input inputs[SERVICE_INPUTS];
	int n_inputs;
};

/* False where the run was judged without such a paper. */
bool service_bill_read(struct service_bill *b, struct arena *arena, const struct scorecard *c);
bool service_tickets_read(struct service_tickets *t, struct arena *arena,
                          const struct scorecard *c);
bool service_projection_read(struct service_projection *p, struct arena *arena,
                             const struct scorecard *c);
/* Nodes whose watch was read, in their order; their number. */
int service_nodes_read(struct service_node **nodes, struct arena *arena, const struct scorecard *c);

/* "1,234.50", short-lived; "-" where it is not known. */
const char *service_money(double amount);
/* "2026-11-03 04:05 UTC" of "2026-11-03T04:05:06.000Z"; short-lived. */
const char *service_moment(const char *utc);
/* "12.5" minutes; "-". */
const char *service_minutes(double minutes);
/* The words of a class or step in the language spoken. */
const char *service_class_name(const char *word);
const char *service_step_name(const char *word);
/* Of an input's origin: "measured". */
const char *service_origin_name(const char *origin);
/* "+30.00" of a step, "98.40" of a level; short-lived. */
const char *service_step_amount(const struct service_step *s);
/* Figures up to 1e4 by three digits, larger ones whole with separators; short-lived. */
const char *service_large(double value);
/* The verdict on a bill, on response times, as the commands say it; short-lived. */
const char *service_bill_words(const struct service_bill *b);
const char *service_tickets_words(const struct service_tickets *t);
const char *service_tickets_share(const struct service_tickets *t);
/* "Training 70B parameters on …", and whether they fit; short-lived. */
const char *service_projection_words(const struct service_projection *p);
/* Where the price of a projection is from; short-lived. */
const char *service_price_words(const struct service_projection *p);
/* The tickets that waited longest, as indices of the list, at most `most`; their number.
 * Those in time are none of them. */
int service_slowest(const struct service_tickets *t, int *index, int most);

#endif
