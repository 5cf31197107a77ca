/* A waiver: what fails or was not tested and a customer takes all the same, with a
 * reason. It changes what a rule decides, never what was measured: its findings keep
 * their figures and verdicts, and every report shows it. */
#ifndef ASSAY_WAIVER_H
#define ASSAY_WAIVER_H

#include <stdbool.h>
#include <stdint.h>

struct waiver {
	const char *rule;    /* its id */
	const char *subject; /* NULL: all that the rule judges */
	const char *reason;
	const char *by;      /* who takes it, or NULL */
	const char *granted; /* RFC 3339; NULL: with the run, before anything was measured */
};

/* What became of it in one scorecard. */
struct waiver_result {
	struct waiver waiver;
	bool known;      /* the profile has such a rule */
	bool too_fine;   /* names one subject where the rule makes one figure of many */
	int64_t matched; /* subjects it speaks of, good ones among them */
	int64_t excused; /* of those, what is not good without it */
	bool decides;    /* some of it would keep ACCEPT away in this stage */
};

#endif
