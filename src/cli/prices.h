/* Price of delivered work: the price of a card-hour, by the bill or else the quote, over
 * what the run measured. */
#ifndef ASSAY_CLI_PRICES_H
#define ASSAY_CLI_PRICES_H

#include "cli/rates.h"

struct quote;

/* Whose tokens are priced where nobody says a model. */
#define PRICES_PARAMS 70e9

/* By the readings of a bill, else of a quote (src/cli/evidence_cost.c); source stays NULL
 * where there is neither, or no price of a card-hour in it. Lines and all, for the model
 * that was projected, else for one of PRICES_PARAMS. */
void prices_take(struct price_list *list, struct arena *arena, struct rundir *run);

/* By a quote alone; false: no GPU item by the hour. */
bool prices_by_quote(struct price_list *list, struct arena *arena, const struct quote *q);

/* Fills the lines of a list with a price; all from the arena. `params`: NaN: not said. */
void prices_spread(struct price_list *list, struct arena *arena, struct rundir *run, double params);

#endif
