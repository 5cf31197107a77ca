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

/* Whether a bill can be checked without it. Without its category a line of tax or credit
 * would pass for use. */
enum bill_need { BILL_ALWAYS, BILL_IF_NAMED /* by the map */, BILL_AT_WILL };

/* What a line can have. */
#define BILL_ROLE_LIST(X)                                                                          \
	X(BILLED, "billed", BILL_ALWAYS)                                                           \
	X(CURRENCY, "currency", BILL_AT_WILL) /* but needed unless the map says which */           \
	X(START, "start", BILL_ALWAYS)                                                             \
	X(END, "end", BILL_AT_WILL)                                                                \
	X(MONTH, "month", BILL_AT_WILL) /* of the bill, or where its period begins */              \
	X(PERIOD_END, "period_end", BILL_AT_WILL)                                                  \
	X(INVOICE, "invoice", BILL_AT_WILL)                                                        \
	X(CATEGORY, "category", BILL_IF_NAMED)                                                     \
	X(SERVICE, "service", BILL_ALWAYS)                                                         \
	X(SKU, "sku", BILL_AT_WILL)                                                                \
	X(DESCRIPTION, "description", BILL_AT_WILL)                                                \
	X(RESOURCE, "resource", BILL_AT_WILL)                                                      \
	X(QUANTITY, "quantity", BILL_AT_WILL)                                                      \
	X(UNIT, "unit", BILL_AT_WILL)

enum bill_role {
#define X(name, text, need) BILL_AT_##name,
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
/* Columns that the map has and the table lacks, each with the nearest there is; NULL: none. */
const char *bill_map_absent(const struct bill_map *map, const int at[BILL_ROLES],
                            struct arena *arena, const struct sheet *sheet);
enum bill_category bill_map_category(const struct bill_map *map, const char *word);

#endif
