/* Arithmetic of contradictions; see contradict.h. */
#include "estimate/contradict.h"

#include <math.h>

static struct between ordered(double a, double b)
{
	return (struct between){fmin(a, b), fmax(a, b)};
}

struct between speed_up(struct between before, struct between after)
{
	return ordered(before.lo / after.hi, before.hi / after.lo);
}

struct between pair_efficiency(struct between before, struct between after, double times_cards)
{
	struct between s = speed_up(before, after);

	return ordered(s.lo / times_cards, s.hi / times_cards);
}

struct between time_saved(struct between before, struct between after)
{
	return ordered(1 - after.hi / before.lo, 1 - after.lo / before.hi);
}

struct between days_after(struct between before, double times_cards, double efficiency)
{
	return ordered(before.lo / (times_cards * efficiency),
	               before.hi / (times_cards * efficiency));
}

static double middle(struct between b)
{
	return (b.lo + b.hi) / 2;
}

struct between days_expected(struct between days_a, struct between speed_a, struct between use_a,
                             struct between speed_b, struct between use_b)
{
	double ratio = middle(speed_a) * middle(use_a) / (middle(speed_b) * middle(use_b));

	return ordered(days_a.lo * ratio, days_a.hi * ratio);
}

struct between loss_against(struct between speed, double best)
{
	return ordered(1 - speed.hi / best, 1 - speed.lo / best);
}

double checkpoint_share(double cut, double gain)
{
	return (1 - 1 / (1 + gain)) / cut;
}

double checkpoint_gain(double share, double cut)
{
	return 1 / (1 - share * cut) - 1;
}

struct between price_saved(struct between a, struct between b)
{
	return ordered(1 - a.lo / b.lo, 1 - a.hi / b.hi);
}

struct between run_saved(struct between price_a, struct between days_a, struct between price_b,
                         struct between days_b)
{
	return ordered(1 - price_a.lo * days_a.lo / (price_b.lo * days_b.lo),
	               1 - price_a.hi * days_a.hi / (price_b.hi * days_b.hi));
}

double utilisation_before(double after, double time_change)
{
	return after * (1 - fabs(time_change));
}

struct between cards_saving(double money_a_year, double share, struct between price_hour)
{
	double hours = 8760 * share;

	return ordered(money_a_year / (hours * price_hour.hi),
	               money_a_year / (hours * price_hour.lo));
}

double seconds_each(double availability, double days, double interruptions)
{
	return (1 - availability) * days * 86400 / interruptions;
}
