/* One line of a bill: what it says, and the class it is given. */
#ifndef ASSAY_SERVICE_BILL_LINE_H
#define ASSAY_SERVICE_BILL_LINE_H

#include "service/bill.h"

struct bill_line {
	int64_t number;
	enum bill_category category;
	const char *service, *sku, *description, *resource; /* "" where absent */
	bool again;                                         /* the same line was there before */
	struct decimal billed, quantity;
	bool has_quantity;
	enum quantity_kind unit; /* quantity is in its base unit */
	bool has_unit;
	int64_t start, end; /* seconds; end 0: not said */
};

/* What the class was told by. */
struct bill_told {
	enum bill_class class;
	const struct quote_item *item; /* or NULL */
	struct decimal expected;       /* by the quote, for the quantity billed */
	struct decimal excess;         /* hidden */
	bool priced;                   /* expected is known */
	struct decimal machine_hours;  /* of an item with GPUs */
	int64_t log_s, allowed_s;      /* by the log: exact, rounded as quoted */
	bool in_log;
	bool unknown_machine; /* a log was given and does not have it */
};

/* The item of the quote that a line is matched with, or NULL. */
const struct quote_item *bill_line_item(const struct quote *q, const struct bill_line *l);
/* `used`: units of the item that earlier lines took, for what is included; counted on. */
struct bill_told bill_line_tell(const struct quote *q, const struct usage *usage,
                                const struct quote_item *item, const struct bill_line *l,
                                struct decimal *used);

#endif
