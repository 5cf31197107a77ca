/* Poisson limits by bisection; the counts are small. */
#include "service/support.h"

#include <math.h>

#define MIN_PER_DAY 1440.0

double poisson_most(int k, double mean)
{
	double sum = 0;

	for (int i = 0; i <= k; i++)
		sum += mean > 0 ? exp(-mean + i * log(mean) - lgamma(i + 1.0)) : i == 0;
	return sum < 1 ? sum : 1;
}

/* The mean with poisson_most(k) = p; it falls as the mean rises. */
static double mean_of(int k, double p)
{
	double lo = 0, hi = k + 10 * sqrt(k + 1.0) + 40;

	for (int step = 0; step < 200; step++) {
		double middle = (lo + hi) / 2;

		if (poisson_most(k, middle) > p)
			lo = middle;
		else
			hi = middle;
	}
	return (lo + hi) / 2;
}

double poisson_upper(int k, double alpha)
{
	return mean_of(k, alpha);
}

double poisson_lower(int k, double alpha)
{
	return k > 0 ? mean_of(k - 1, 1 - alpha) : 0;
}

double support_days(int k, double minutes, double target, double alpha)
{
	return poisson_upper(k, alpha) * minutes / (1 - target) / MIN_PER_DAY;
}

double support_confidence(int k, double minutes, double target, double days)
{
	return 1 - poisson_most(k, days * MIN_PER_DAY * (1 - target) / minutes);
}

int support_tickets(double share, double alpha)
{
	return (int)ceil(log(alpha) / log(share) - 1e-9);
}
