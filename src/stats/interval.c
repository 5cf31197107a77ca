/* The incomplete beta function and what is inverted from it. Written here
 * because the C library has none and the usual library is GPL-3. */
#include "stats/interval.h"

#include <math.h>

double normal_tail(double z)
{
	return erfc(z / sqrt(2)) / 2;
}

/* Modified Lentz: Thompson and Barnett, J. Comput. Phys. 64 (1986). Converges
 * in O(sqrt(max(a, b))) steps for x < (a + 1)/(a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	const double tiny = 1e-300;
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < tiny ? tiny : d);
	f = d;
	for (int m = 1; m < 100000; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= c * d;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < tiny ? tiny : d);
		c = fabs(c) < tiny ? tiny : c;
		f *= c * d;
		if (fabs(c * d - 1) < 1e-15)
			break;
	}
	return f;
}

static double log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign); /* lgamma writes a global */
}

double beta_regularized(double x, double a, double b)
{
	double front;

	if (!(x >= 0 && x <= 1) || !(a > 0 && b > 0))
		return NAN;
	if (x == 0 || x == 1)
		return x;
	if (x > (a + 1) / (a + b + 2))
		return 1 - beta_regularized(1 - x, b, a);
	front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log1p(-x));
	return front * beta_fraction(x, a, b) / a;
}

/* p with I_p(a, b) = share; I rises with p. */
static double beta_inverse(double share, double a, double b)
{
	double lo = 0, hi = 1;

	for (int step = 0; step < 100; step++) {
		double middle = (lo + hi) / 2;

		if (beta_regularized(middle, a, b) < share)
			lo = middle;
		else
			hi = middle;
	}
	return (lo + hi) / 2;
}

/* P(X >= k) = I_p(k, n - k + 1) */
double binomial_lower(uint64_t k, uint64_t n, double alpha)
{
	if (!n || k > n || !(alpha > 0 && alpha < 1))
		return NAN;
	return k ? beta_inverse(alpha, (double)k, (double)(n - k) + 1) : 0;
}

/* P(X <= k) = 1 - I_p(k + 1, n - k) */
double binomial_upper(uint64_t k, uint64_t n, double alpha)
{
	if (!n || k > n || !(alpha > 0 && alpha < 1))
		return NAN;
	return k < n ? beta_inverse(1 - alpha, (double)k + 1, (double)(n - k)) : 1;
}
