/* How much a watch of some length can support: outages as a Poisson count, each of a
 * mean length (methods of service: the rule of three and its exact form). Minutes
 * are no independent samples; outages, as far as they have no common cause, are. */
#ifndef ASSAY_SERVICE_SUPPORT_H
#define ASSAY_SERVICE_SUPPORT_H

/* P(X <= k) of a Poisson count with this mean; k >= 0, mean >= 0. */
double poisson_most(int k, double mean);
/* The mean at which k or fewer come with probability alpha: the one-sided upper limit
 * at confidence 1 - alpha. 2.996, 4.744, 6.296 for k = 0, 1, 2 at alpha 0.05. */
double poisson_upper(int k, double alpha);
/* The mean at which k or more come with probability alpha; 0 for k = 0. */
double poisson_lower(int k, double alpha);

/* Days of one node, or calendar days, that support `target` (0.999) at 1 - alpha
 * when k outages of mean length `minutes` were seen. */
double support_days(int k, double minutes, double target, double alpha);
/* Confidence, 0 to 1, at which `days` with k outages of that length support it. */
double support_confidence(int k, double minutes, double target, double days);
/* How many tickets, none of them late, it takes to claim `share` at 1 - alpha. */
int support_tickets(double share, double alpha);

#endif
