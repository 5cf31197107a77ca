/* The certificate: what goes into the folder of a contract. Its clauses come from a file
 * that says which rules show each of them; a clause is as good as the worst of its rules,
 * and one that no rule shows is not met.
 *
 *     {"v":1,"title":"…","title_zh":"…","clauses":[{"clause":"4.1","title":"…",
 *      "title_zh":"…","rule":"gemm-fp16"} or {…,"rules":["…","…"]}]}
 *
 * Everything lives in the arena given. */
#ifndef ASSAY_REPORT_CERTIFICATE_H
#define ASSAY_REPORT_CERTIFICATE_H

#include "assay/finding.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

#define CLAUSES_DEFAULT "thousand-card" /* of configs/clauses */

struct clause {
	const char *id, *title;
	int first, n_rules; /* of the list of rules below */
	/* What became of it: */
	enum verdict verdict; /* where all that is wrong is waived: the one without */
	int64_t waived;
	bool later, shown;                 /* over a period only; the profile has a rule of it */
	const struct rule_result *decides; /* the worst of its rules, or NULL */
	const struct finding *finding;     /* the worst of that, or NULL */
};

struct certificate {
	const struct scorecard *card;
	struct arena *arena;
	const char *title;
	struct clause *clauses;
	int n_clauses;
	const char **rules; /* ids, of all clauses one after the other */
	int n_rules;
};

/* Titles are read in the language that is spoken. `name`: of configs/clauses, or a path;
 * NULL: the default, of which rules that the profile has not are passed over. Those of a
 * file given by name must be there: ST_PARSE with the place. */
enum status certificate_read(struct certificate *c, struct arena *arena,
                             const struct scorecard *card, const char *name, const char *config_dir,
                             struct error *err);
/* "gemm_fp16_tflops 262 TFLOP/s; limit >= 228 TFLOP/s". */
void clause_figure(struct str *out, const struct clause *clause);
/* "PASS", "FAIL, 1 waived", "later". */
void clause_verdict(struct str *out, const struct clause *clause);

void certificate_markdown(struct str *out, const struct certificate *c);
/* Two pages A4 with the clauses that are built in. */
enum status certificate_html(struct str *out, const struct certificate *c, struct error *err);

#endif
