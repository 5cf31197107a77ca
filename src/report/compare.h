/* Runs and offers side by side. What is compared are the figures that rules judge:
 * of each run the median over its subjects with a 95 % interval, of an offer what it
 * declares. Figures whose intervals overlap are not told apart, and no order is made
 * of them.
 *
 * Everything lives in the arena given; readings of a run may go when it was taken. */
#ifndef ASSAY_REPORT_COMPARE_H
#define ASSAY_REPORT_COMPARE_H

#include "assay/finding.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "score/score.h"

#define COMPARE_MOST 20 /* runs and offers */

/* One figure of one of them. */
struct compare_cell {
	bool there;
	enum origin origin;
	enum verdict verdict; /* of its rule; of an offer not judged: NOT_MEASURED */
	double value, lo, hi; /* lo and hi: interval, or declared range; NaN: none */
	double worst;         /* subject; NaN: one subject, or declared */
	int64_t subjects;
	const char *note; /* of an offer, or NULL */
};

/* How a cell stands to the best of its row. */
enum compare_stand {
	STAND_NONE, /* no figure, or nothing to stand to */
	STAND_BEST, /* told apart from all others, and better */
	STAND_SAME, /* not told apart from the best */
	STAND_WORSE,
	STAND_OPEN, /* no interval: one subject, or declared without range */
};

struct compare_row {
	const char *criterion, *metric, *stat, *unit;
	enum better better;
	struct compare_cell *cells; /* one for each column */
	enum compare_stand *stands;
};

/* Of the software of the runs, or the word of a gate: no figure. */
struct compare_words {
	const char *name;
	const char **texts; /* of each column; NULL: it has none */
	bool digest;        /* shown to people only where runs differ in it */
};

struct compare_column {
	const char *name, *title;
	bool offer;
	enum overall overall;
	int waivers; /* that decide something */
	bool simulated, imported, altered, screen_only, cut;
	const char *card, *profile, *profile_sha256, *budget, *version, *started;
	int64_t nodes, cards;
	const struct criterion_result *criteria; /* of a run */
	int n_criteria;
};

/* Order of the columns under one criterion. */
struct compare_order {
	const char *criterion, *title;
	int *place;       /* of each column, from 1; equal ones share it; 0: nothing to go by */
	const char **why; /* of each column */
};

/* A paragraph of its own under the order: a title, and a line for whom it is about. */
struct compare_line {
	const char *name, *text; /* name: of a column, or NULL */
};

struct compare_part {
	const char *key, *title; /* "model", "need" */
	struct compare_line lines[COMPARE_MOST];
	int n_lines;
};

#define COMPARE_PARTS 8

struct comparison {
	struct arena *arena;
	struct compare_column columns[COMPARE_MOST];
	int n_columns;
	struct compare_row *rows;
	int n_rows, cap_rows;
	struct compare_words *words;
	int n_words, cap_words;
	struct compare_order *orders;
	int n_orders;
	const char *const *warnings; /* why they are hard to compare; ends with NULL */
	struct compare_part parts[COMPARE_PARTS];
	int n_parts;
};

/* Takes a judged run as one more column. */
void compare_add_run(struct comparison *c, const struct scorecard *card, const char *name,
                     const struct metric_set *metrics);
/* An offer: a name in configs/offers or a path. ST_NOTFOUND: no such thing. */
enum status compare_add_offer(struct comparison *c, const char *name, const char *config_dir,
                              const struct metric_set *metrics, struct error *err);
/* Of the column that was added last: a figure no rule judges (value, lo, hi and note of
 * `figure` count), and prices of delivered work with what a unit of money buys. */
void compare_add_figure(struct comparison *c, const char *metric, const char *unit,
                        enum better better, enum origin origin, const struct compare_cell *figure);
void compare_add_cost(struct comparison *c, const char *currency, enum origin origin,
                      const struct compare_cell *cost); /* of the buyer's own model */
void compare_add_prices(struct comparison *c, const struct price_list *list);
/* A part, at most COMPARE_PARTS; its lines are the caller's to fill. */
struct compare_part *compare_part(struct comparison *c, const char *key, const char *title);
/* The row of a figure, made if need be; "": of no criterion. */
struct compare_row *compare_row_of(struct comparison *c, const char *criterion, const char *metric,
                                   const char *stat, const char *unit, enum better better);
/* Once all are there: stands, orders, warnings. */
void compare_finish(struct comparison *c);

/* "268 TFLOP/s (266 to 269)". */
void compare_cell_words(struct str *out, const struct compare_row *row,
                        const struct compare_cell *cell);
/* The same with the worst subject, the origin, and how it stands. */
void compare_stand_words(struct str *out, const struct compare_row *row, int column);
/* "gemm_fp16_tflops (higher is better)", short-lived. */
const char *compare_row_title(const struct compare_row *row);
/* "the same on all: card_* (3)"; nothing where there are no such figures. */
void compare_same_words(struct str *out, const struct comparison *c);
/* Whether two have it, and not the very same. */
bool compare_row_tells(const struct comparison *c, const struct compare_row *row);
const char *compare_stand_name(enum compare_stand stand); /* "best", "same" … */
/* "a, b and 3 more side by side", short-lived. */
const char *compare_title(const struct comparison *c);
/* "ACCEPT with 1 waiver" of a run; the title of an offer. */
void compare_column_words(struct str *out, const struct compare_column *column);

/* --- compare_software.c: parts of the formats below ---------------------------------------- */

/* Of the column that is being added. */
void compare_take_software(struct comparison *c, const struct scorecard *card);
/* "the same on all: sw_* (12)"; nothing where there is none. */
void compare_software_same(struct str *out, const struct comparison *c);
/* The next row from there on that runs do not have alike; -1: no more. */
int compare_software_next(const struct comparison *c, int from);
void compare_software_markdown(struct str *out, const struct comparison *c);
void compare_software_html(struct str *out, const struct comparison *c);
void compare_software_json(struct json_out *j, const struct comparison *c);
void compare_software_csv(struct str *out, const struct comparison *c);
/* Cases of one column, and how many. */
void compare_software_junit(struct str *out, const struct comparison *c, int column);
int compare_software_count(const struct comparison *c, int column);

enum status compare_text(struct str *out, const struct comparison *c, int width, bool utf8);
void compare_json(struct str *out, const struct comparison *c);
void compare_csv(struct str *out, const struct comparison *c);
void compare_markdown(struct str *out, const struct comparison *c);
/* A suite for each of them, a case for each figure. */
void compare_junit(struct str *out, const struct comparison *c);
enum status compare_html(struct str *out, const struct comparison *c, struct error *err);

#endif
