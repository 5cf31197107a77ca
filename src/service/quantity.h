/* Units of quotes and bills: hours, months, GB, GB-hours, things. */
#ifndef ASSAY_SERVICE_QUANTITY_H
#define ASSAY_SERVICE_QUANTITY_H

#include <stdbool.h>

#include "service/decimal.h"

/* What is counted; each has one base unit, see quantity_name. */
enum quantity_kind {
	QUANTITY_NONE,     /* unknown unit */
	QUANTITY_HOUR,     /* hours of a machine or another whole thing */
	QUANTITY_GPU_HOUR, /* hours of one GPU */
	QUANTITY_MONTH,
	QUANTITY_GB,
	QUANTITY_GB_HOUR,
	QUANTITY_GB_MONTH,
	QUANTITY_COUNT, /* things, once */
};

/* A unit as written ("Hrs", "GB-Mo", "小时") and what one of it is in base units:
 * numerator / denominator. QUANTITY_NONE: not known. */
enum quantity_kind quantity_unit(const char *text, long long *numerator, long long *denominator);
/* "hour", "GB-month"; "" for none. */
const char *quantity_name(enum quantity_kind kind);

#endif
