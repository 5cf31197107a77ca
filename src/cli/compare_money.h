/* Prices, the buyer's own model, and for which need: what assay compare works out of a run
 * while it is open, beside the figures that rules judge. */
#ifndef ASSAY_CLI_COMPARE_MONEY_H
#define ASSAY_CLI_COMPARE_MONEY_H

#include "cli/cli.h"
#include "report/compare.h"

#define NEEDS 3

enum need_state { NEED_UNMEASURED, NEED_REJECTED, NEED_MEMORY, NEED_SLOW, NEED_FINE };

/* What a run would take for a need. */
struct need_fit {
	enum need_state state;
	double cards, least_cards; /* it has, the memory takes */
	double days, cost;         /* cost NaN: no price */
	double lo, hi; /* measured rate of its cards over the median; NaN: no interval */
};

struct money_column {
	const char *name, *currency; /* NULL: no price */
	bool run;
	const char *model; /* what the buyer's own model would take, or NULL */
	struct need_fit fits[NEEDS];
};

struct money {
	const struct options *o; /* of a command with --quote, --params, --tokens, --cards */
	struct money_column columns[COMPARE_MOST];
	int n;
};

/* Whether the options go together with the columns' names. */
enum status money_check(const struct options *o, const char *const *names, int n,
                        struct error *err);
/* After compare_add_run; `name` is the column's. */
enum status money_take(struct money *m, struct comparison *c, const char *name, struct judged *j,
                       struct error *err);
/* An offer has nothing measured. */
void money_take_offer(struct money *m, const char *name);
/* The parts of the comparison, once all are there. */
void money_finish(struct money *m, struct comparison *c);

#endif
