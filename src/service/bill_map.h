/* Column maps: how the export of a provider names what a bill's line has. Data files,
 * configs/bills/NAME.json:
 *
 *   {"v": 1, "name": "alibaba", "title": "Alibaba Cloud instance bill",
 *    "columns": {"billed": ["PretaxAmount", "…"], …}, "categories": {"PayAsYouGoBill": "usage"},
 *    "currency": "CNY", "zone": "+08:00", "final_hours": 60, "totals": ["合计"]}
 *
 * "columns": for each role the names it goes by, the first that is there counts. */
#ifndef ASSAY_SERVICE_BILL_MAP_H
#define ASSAY_SERVICE_BILL_MAP_H

#include "base/arena.h"
#include "base/error.h"
#include "service/sheet.h"

/* What a line can have. REQUIRED: a bill without it cannot be checked. */
#define BILL_ROLE_LIST(X)                                                                          \
	X(BILLED, "billed", true)                                                                  \
	X(CURRENCY, "currency", false) /* unless the map says which */                             \
	X(START, "start", true)                                                                    \
	X(END, "end", false)                                                                       \
	X(MONTH, "month", false) /* of the bill, or where its period begins */                     \
	X(PERIOD_END, "period_end", false)                                                         \
	X(INVOICE, "invoice", false)                                                               \
	X(CATEGORY, "category", false)                                                             \
	X(SERVICE, "service", true)                                                                \
	X(SKU, "sku", false)                                                                       \
	X(DESCRIPTION, "description", false)                                                       \
	X(RESOURCE, "resource", false)                                                             \
	X(QUANTITY, "quantity", false)                                                             \
	X(UNIT, "unit", false)

enum bill_role {
#define X(name, text, required) BILL_AT_##name,
	BILL_ROLE_LIST(X)
#undef X
		BILL_ROLES
};

/* What kind of line its category makes it. */
enum bill_category {
	BILL_IS_USAGE,
	BILL_IS_TAX,
	BILL_IS_CREDIT,
	BILL_IS_CORRECTION,
	BILL_IS_UNKNOWN
};

struct bill_category_row {
	const char *word;
	enum bill_category category;
};

struct bill_map {
	const char *name, *title;
	const char *const *columns[BILL_ROLES]; /* each ends with NULL */
	const struct bill_category_row *categories;
	int n_categories;
	const char *currency;      /* where no column says it; NULL: it must */
	int zone_minutes;          /* of times without one */
	int final_hours;           /* after the month's end until the bill is final */
	const char *const *totals; /* first words of lines that sum up; end with NULL */
};

/* The map by name, or where that is NULL the one whose columns the table has; *at: index
 * of each role's column, -1: none. None fits: ST_PARSE with the columns missed and the
 * nearest there are. All from the arena. */
enum status bill_map_find(const struct bill_map **map, int at[BILL_ROLES], struct arena *arena,
                          const struct sheet *sheet, const char *name, const char *config_dir,
                          struct error *err);
enum bill_category bill_map_category(const struct bill_map *map, const char *word);

#endif
