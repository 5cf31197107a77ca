/* assay claims: what is made of each statement. First they are held against each other
 * and against what is known of cards (claims_check.c), then against a run
 * (claims_run.c). A verdict is only ever made worse, and nothing that was not tested is
 * confirmed. */
#ifndef ASSAY_CLI_CLAIMS_H
#define ASSAY_CLI_CLAIMS_H

#include "base/csv.h"
#include "cli/options.h"
#include "cli/rates.h"
#include "report/report.h"
#include "run/rundir.h"
#include "service/claims.h"

/* From the least to the most decided; a later one stands over an earlier one. */
#define CLAIM_VERDICT_LIST(X)                                                                      \
	X(UNTESTABLE, "not_testable") /* here */                                                   \
	X(CONFIRMED, "confirmed")                                                                  \
	X(CONTRADICTS, "contradicts") /* its own other figures */                                  \
	X(REFUTED, "refuted")

enum claim_verdict {
#define X(name, text) CLAIM_##name,
	CLAIM_VERDICT_LIST(X)
#undef X
		CLAIM_VERDICTS
};
const char *claim_verdict_name(enum claim_verdict verdict);

#define CLAIM_REASONS 8
/* Short by so much is the guides' third class. */
#define CLASS_3_SHORT 0.20

struct claim {
	const struct statement *s;
	const struct claim_quantity *quantity; /* NULL: not known */
	enum claim_verdict verdict;
	const char *why[CLAIM_REASONS]; /* the arithmetic, in the language that is spoken */
	int n_why;
	/* Against a run; NaN where it has nothing. */
	bool tested;
	struct rate rate;
	double shortfall; /* share by which it misses what was declared; below 0: none */
	bool class_3;
};

struct claims {
	struct arena arena;
	struct claim_words words;
	struct statements statements;
	struct csv cards; /* accelerators.csv */
	struct claim *list;
	int n;
	int count[CLAIM_VERDICTS];
	/* The run, where there is one. */
	const char *run, *altered;
	int64_t run_cards;
	bool simulated;
};

/* Reads and checks; `o` is the command's options. Release also after an error. */
enum status claims_make(struct claims *c, const struct options *o, struct error *err);
void claims_release(struct claims *c);

/* Parts of claims_make. */
void claims_check(struct claims *c);
void claims_against_run(struct claims *c, struct rundir *run);
/* One more line of arithmetic; the verdict where it is more decided than before. */
void claim_say(struct claims *c, struct claim *x, enum claim_verdict verdict, const char *why);

/* In the order of reports, with their headings. */
extern const struct claims_order {
	enum claim_verdict verdict;
	enum msg title;
} claims_order[CLAIM_VERDICTS];

/* Words that reports share; short-lived. What was said stands in the language that is
 * spoken, where the file has it; "unknown" are those of no quantity, and how many. */
const char *claims_said(const struct statement *s);
const char *claims_threshold(const struct statement *s);
const char *claims_head(const struct claims *c);
const char *claims_counts(const struct claims *c);
const char *claims_against(const struct claims *c);
const char *claims_unknown(const struct claims *c, int *n);
/* "268 TFLOP/s (267 to 269)" */
const char *claims_measured(const struct claim *x);

enum status claims_html(struct str *out, const struct claims *c, struct error *err);
void claims_text(struct str *out, const struct claims *c, const struct report_options *o);
void claims_json(struct str *out, const struct claims *c);
void claims_csv(struct str *out, const struct claims *c);

#endif
