/* What the statements of two buying guides say of each other, figure by figure. */
#include "tests/unit/unit.h"

#include <math.h>

#include "estimate/contradict.h"
#include "estimate/models.h"

static void near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("%.12g is not %.12g +- %g", got, want, tolerance);
}

static void within(struct between got, double lo, double hi, double tolerance)
{
	near(got.lo, lo, tolerance);
	near(got.hi, hi, tolerance);
}

static const struct between one_card = {180, 220}, thousand = {14, 21};

static void days_on_one_card_and_on_a_thousand(void **state)
{
	(void)state;
	within(speed_up(one_card, thousand), 8.6, 15.7, 0.05);
	within(pair_efficiency(one_card, thousand, 1000), 0.0086, 0.0157, 5e-5);
	within(time_saved(one_card, thousand), 0.883, 0.936, 5e-4);
	/* At the 90 % that is stated: hours on a thousand cards. */
	within(days_after(one_card, 1000, 0.9), 4.8 / 24, 5.9 / 24, 0.05 / 24);
}

static void days_of_two_classes_agree(void **state)
{
	const struct between days = {18, 18}, other = {19, 20};
	struct between got =
		days_expected(days, (struct between){0.91, 0.92}, (struct between){0.92, 0.92},
	                      (struct between){0.89, 0.91}, (struct between){0.88, 0.90});

	(void)state;
	near(got.lo / ((other.lo + other.hi) / 2), 1, 0.04);
}

static void loss_at_low_bandwidth(void **state)
{
	(void)state;
	within(loss_against((struct between){0.6, 0.7}, 0.91), 0.23, 0.34, 0.005);
	near(1 - interconnect_efficiency(100, 0.099, 300) / 0.91, 0.15, 0.005);
	near(1 - interconnect_efficiency(50, 0.099, 300) / 0.91, 0.31, 0.005);
}

static void a_faster_checkpoint_is_not_a_third(void **state)
{
	static const struct {
		double share, gain;
	} rows[] = {{0.02, 0.011}, {0.05, 0.028}, {0.10, 0.057}, {0.20, 0.121}};

	(void)state;
	near(checkpoint_share(0.54, 0.33), 0.46, 0.005);
	for (int i = 0; i < 4; i++)
		near(checkpoint_gain(rows[i].share, 0.54), rows[i].gain, 5e-4);
}

static void what_the_second_class_saves(void **state)
{
	const struct between first = {4.9, 19.9}, second = {3.5, 12};

	(void)state;
	within(price_saved(second, first), 0.286, 0.397, 5e-4);
	within(run_saved(second, (struct between){19, 20}, first, (struct between){18, 18}), 0.25,
	       0.33, 0.005);
}

static void faster_storage(void **state)
{
	(void)state;
	near(utilisation_before(0.92, -0.30), 0.64, 0.005);
	within(cards_saving(5e6, 0.3, (struct between){4.9, 19.9}), 96, 388, 0.6);
}

static void three_nines_of_a_thousand_cards(void **state)
{
	(void)state;
	near(seconds_each(0.999, 30, INTERRUPTIONS_LEAST) / 60, 3.1, 0.05);
	near(seconds_each(0.999, 30, INTERRUPTIONS_MOST), 28.5, 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_on_one_card_and_on_a_thousand),
		cmocka_unit_test(days_of_two_classes_agree),
		cmocka_unit_test(loss_at_low_bandwidth),
		cmocka_unit_test(a_faster_checkpoint_is_not_a_third),
		cmocka_unit_test(what_the_second_class_saves),
		cmocka_unit_test(faster_storage),
		cmocka_unit_test(three_nines_of_a_thousand_cards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
