/* Counting over a whole scorecard: how many subjects are to blame, how many
 * were tested. */
#ifndef ASSAY_REPORT_BLAME_H
#define ASSAY_REPORT_BLAME_H

#include "assay/finding.h"
#include "base/str.h"

/* "2 of 1,000 cards, 1 node": the distinct subjects of failed findings that
 * decide. */
void blame_summary(struct str *out, const struct scorecard *card);
/* "1,000 of 1,000 cards tested" where every rule about them agrees on it,
 * else "20,100 of 28,000 checks done". */
void coverage_words(struct str *out, const struct scorecard *card,
                    const struct criterion_result *c);

/* Median of the figures of all subjects of the finding's rule; NaN when they are
 * too few (under 8) to be compared with. f: one of card->findings. */
double fleet_median(const struct scorecard *card, const struct finding *f);

#endif
