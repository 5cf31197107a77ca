/* What statements about the same training runs, prices and networks say of each other:
 * the arithmetic that needs no hardware. A statement is a range, and so is what
 * follows from two of them: the ends are combined so that nothing a vendor may have
 * meant lies outside. Shares are fractions: 0.9 is 90 %. */
#ifndef ASSAY_ESTIMATE_CONTRADICT_H
#define ASSAY_ESTIMATE_CONTRADICT_H

/* lo <= hi; of one figure both are the same. */
struct between {
	double lo, hi;
};

/* Best published share of peak that a training run on such cards reached (A100 and
 * H100, MegaScale and others: 0.50 to 0.56). */
#define MFU_BEST 0.56
/* Share of wall time that checkpoints take where they take much. */
#define CHECKPOINT_SHARE_MOST 0.2
/* Interruptions of a 1,000-card job in 30 days at published failure rates. */
#define INTERRUPTIONS_LEAST 14
#define INTERRUPTIONS_MOST  91

/* Days of the same run on fewer and on more cards. */
struct between speed_up(struct between before, struct between after);
/* … over how many times the cards it took. */
struct between pair_efficiency(struct between before, struct between after, double times_cards);
/* 1 - after / before. */
struct between time_saved(struct between before, struct between after);
/* Days, at that efficiency on so many times the cards. */
struct between days_after(struct between before, double times_cards, double efficiency);

/* Days of b, were they a's by speed-up x utilisation alone. */
struct between days_expected(struct between days_a, struct between speed_a, struct between use_a,
                             struct between speed_b, struct between use_b);

/* Share of `best` that is lost at speed-ups from lo to hi. */
struct between loss_against(struct between speed, double best);

/* Share of wall time in checkpoints that a cut of them needs to speed training up by
 * `gain`; what a cut gains where they take `share`. */
double checkpoint_share(double cut, double gain);
double checkpoint_gain(double share, double cut);

/* 1 - a / b at the lower and at the upper ends of both, the smaller saving first; the
 * same with the days each takes. */
struct between price_saved(struct between a, struct between b);
struct between run_saved(struct between price_a, struct between days_a, struct between price_b,
                         struct between days_b);

/* What the utilisation was before a change of time that removed idling alone. */
double utilisation_before(double after, double time_change);
/* Cards that must run all year to save so much, `share` of their hours saved. */
struct between cards_saving(double money_a_year, double share, struct between price_hour);

/* Seconds an interruption may take, restart included, so that so many in `days` days
 * leave an availability. */
double seconds_each(double availability, double days, double interruptions);

#endif
