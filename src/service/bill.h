/* A bill held against the quote and our own log: every line gets a class, every invoice
 * is added up, and what was charged outside the quote or above it is named in money.
 * Hidden = billed but not in the quote, or billed above it; a quoted fee is a cost, no
 * hidden one. All money is exact. */
#ifndef ASSAY_SERVICE_BILL_H
#define ASSAY_SERVICE_BILL_H

#include "base/arena.h"
#include "base/error.h"
#include "service/bill_map.h"
#include "service/decimal.h"
#include "service/quote.h"
#include "service/usage.h"

/* Classes of lines; the last word: their excess is hidden money. To add a kind of
 * unquoted fee: a row here, its words in bill_line.c, its message. */
#define BILL_CLASS_LIST(X)                                                                         \
	X(AS_QUOTED, as_quoted, false)                                                             \
	X(FREE, free, false) /* 0 is billed */                                                     \
	X(RATE_ABOVE, rate_above, true)                                                            \
	X(QUANTITY_ABOVE, quantity_above, true) /* more than our log says ran */                   \
	X(UNQUOTED_BANDWIDTH, unquoted_bandwidth, true)                                            \
	X(UNQUOTED_IP, unquoted_ip, true)                                                          \
	X(UNQUOTED_SNAPSHOT, unquoted_snapshot, true)                                              \
	X(UNQUOTED_STORAGE, unquoted_storage, true)                                                \
	X(UNQUOTED_SUPPORT, unquoted_support, true)                                                \
	X(UNQUOTED_LICENCE, unquoted_licence, true)                                                \
	X(UNQUOTED_IMAGE, unquoted_image, true)                                                    \
	X(UNQUOTED_SCHEDULER, unquoted_scheduler, true)                                            \
	X(UNQUOTED_OTHER, unquoted_other, true)                                                    \
	X(DUPLICATE, duplicate, true) /* the same line twice, to the last column */                \
	X(TAX, tax, false)                                                                         \
	X(CREDIT, credit, false)                                                                   \
	X(CORRECTION, correction, false) /* money given back on an earlier line */                 \
	X(UNCLASSIFIED, unclassified, false)

enum bill_class {
#define X(name, word, hidden) BILL_##name,
	BILL_CLASS_LIST(X)
#undef X
		BILL_CLASSES
};

struct bill_class_total {
	int64_t lines;
	struct decimal billed, excess;
};

/* A line worth showing: those with the most hidden money, then unclassified ones. */
struct bill_example {
	int64_t line;
	enum bill_class class;
	const char *what;   /* its texts */
	const char *quoted; /* name of the item it was matched with, or NULL */
	struct decimal billed, expected, excess;
};
#define BILL_EXAMPLES 12

/* What an invoice adds up to. */
struct bill_invoice {
	const char *id; /* "" where the bill has no such column */
	int64_t line;   /* where it came first */
	int64_t month;  /* of its first line: invoices are of one month */
	struct decimal sum, stated;
	bool has_stated; /* by --invoice, or a line that sums up */
};

enum bill_verdict { BILL_MET, BILL_MISSED, BILL_TOO_LITTLE };

/* Steps to which time may be rounded up. */
#define BILL_STEPS 4
extern const int64_t bill_steps[BILL_STEPS]; /* 1, 60, 3600, 86400 s */

struct bill_request {
	const char *path;
	const struct quote *quote;
	const struct usage *usage; /* or NULL */
	const char *map;           /* NULL: by its columns */
	const char *config_dir;    /* or NULL */
	enum decimal_style style;
	bool style_given;
	int64_t as_of;               /* seconds: when the bill was what it is */
	const char *const *invoices; /* "ID=TOTAL" or "TOTAL", ends with NULL */
};

struct bill {
	struct arena arena;
	const struct bill_map *map;
	const char *encoding, *currency;
	const char *absent; /* columns that the map has and it lacks; NULL: none */
	int64_t lines;
	int64_t from, to;         /* charges, seconds */
	int64_t month_end, final; /* when the month ended, and the bill is final */
	bool month_open;          /* it is not yet */
	struct bill_class_total classes[BILL_CLASSES];
	struct decimal total;    /* all lines */
	struct decimal hidden;   /* excess of all hidden classes, and the two below */
	struct decimal rounding; /* net of what single lines were rounded up by */
	struct decimal tax_on_top;
	bool rounded_up; /* rounding is more than chance */
	struct bill_example examples[BILL_EXAMPLES];
	int n_examples;
	struct bill_invoice *invoices; /* from malloc */
	int n_invoices;
	/* GPU hours: billed, and of those delivered by our log; only the latter where a
	 * log was given that knows the machines. */
	struct decimal gpu_hours, gpu_hours_log;
	bool log_used;                   /* some machine of the bill is in the log */
	bool log_foreign;                /* a log was given, and none is */
	struct decimal hours, hours_log; /* of machines billed by time */
	struct decimal stopped;          /* billed where nothing ran at all */
	bool step_fits[BILL_STEPS];      /* billed time is the log's, rounded up to it */
	bool step_known;                 /* some line tells */
	enum bill_verdict verdict;
	const char *open[6]; /* why no more can be said, ends with NULL */
};

enum status bill_check(struct bill *b, const struct bill_request *request, struct error *err);
void bill_release(struct bill *b);

const char *bill_class_word(enum bill_class class); /* "rate_above" */
bool bill_class_hidden(enum bill_class class);
/* What was paid for an hour of one GPU, tax left out: per hour our log knows, else per
 * hour billed. False: no such hours. */
bool bill_gpu_hour(const struct bill *b, struct decimal *price);
/* Share of the billed machine time that our log does not know as running; NaN without
 * a log. */
double bill_idle_share(const struct bill *b);
/* The smallest step that the billed time fits; 0: not known. */
int64_t bill_step(const struct bill *b);

#endif
