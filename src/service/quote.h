/* A quote: what an offer (configs/offers, or the vendor's own JSON file) promises about
 * prices, in its member "quote":
 *
 *   {"currency": "CNY", "tax": "excluded", "card": "a100-sxm4-80gb",
 *    "valid_from": "2026-11-01", "valid_to": "2027-01-01",
 *    "items": [{"item": "8 x A100 node", "match": ["gn8*"], "per": "hour",
 *               "price": "98.40", "gpus": 8, "granularity": "hour"},
 *              {"item": "traffic out", "match": ["*traffic*"], "per": "GB",
 *               "price": "0.50", "included": "100"}]}
 *
 * What it says of operations support is in "support", any of
 *
 *   {"hours": "24x7", "response_min": 30, "replace_h": 4, "spare_nodes": 2,
 *    "plan": "a named engineer"}
 *
 * Prices are texts, so that they are exact. `match`: patterns with * and ? against the
 * texts of a bill's line, whatever the case. An item without a price is one the vendor
 * names and leaves open. */
#ifndef ASSAY_SERVICE_QUOTE_H
#define ASSAY_SERVICE_QUOTE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "service/decimal.h"
#include "service/quantity.h"

struct quote_item {
	const char *name;
	const char *const *match;
	int n_match;
	enum quantity_kind per;
	bool priced;
	struct decimal price;    /* of one unit */
	struct decimal included; /* units for nothing, a bill */
	int gpus;                /* of one machine; 0: no GPUs */
	int64_t granularity_s;   /* time is rounded up to it; 0: not said */
	bool when_stopped;       /* goes on while the machine is stopped */
};

struct quote {
	struct arena arena;
	const char *file, *name, *title;
	const char *card; /* key, or NULL */
	const char *currency;
	bool tax_included;
	int64_t valid_from, valid_to; /* seconds, end exclusive; INT64_MIN, MAX: not said */
	struct quote_item *items;
	int n_items;
	int support_terms; /* that the member "support" states */
};

/* ST_NOTFOUND also where the file is an offer without a quote. */
enum status quote_read(struct quote *q, const char *path, struct error *err);
void quote_release(struct quote *q);

/* Of the offer's GPU items by the hour and by the month: the first of each. NULL: none. */
const struct quote_item *quote_hourly(const struct quote *q);
const struct quote_item *quote_monthly(const struct quote *q);
/* Price of one GPU for an hour by the hour; false: not quoted. */
bool quote_gpu_hour(const struct quote *q, struct decimal *price);
/* 1 - monthly / (hourly x hours) as a number, and hours from which the month is
 * cheaper; false: not both quoted. */
bool quote_month(const struct quote *q, double hours, double *discount,
                 struct decimal *break_even_hours);

#define QUOTE_MONTH_HOURS 730 /* a twelfth of 365 days */

#endif
