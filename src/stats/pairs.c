#include "stats/pairs.h"

#include <math.h>

#include "stats/interval.h"
#include "stats/samples.h"

#define MOST_PAIRS 1000

/* P(|T| > t) = I(df / (df + t^2); df/2, 1/2), by bisection: falling in t. */
double student_t(double alpha, double df)
{
	double lo = 0, hi = 1;

	while (beta_regularized(df / (df + hi * hi), df / 2, 0.5) > alpha && hi < 1e12)
		hi *= 2;
	for (int i = 0; i < 100; i++) {
		double mid = (lo + hi) / 2;

		if (beta_regularized(df / (df + mid * mid), df / 2, 0.5) > alpha)
			lo = mid;
		else
			hi = mid;
	}
	return (lo + hi) / 2;
}

enum status paired_ratio(const double *a, const double *b, size_t n, double alpha,
                         struct estimate *out)
{
	double logs[MOST_PAIRS], middle, reach;

	if (n < 3 || n > MOST_PAIRS)
		return ST_RANGE;
	for (size_t i = 0; i < n; i++) {
		if (!(a[i] > 0) || !(b[i] > 0) || !isfinite(a[i]) || !isfinite(b[i]))
			return ST_RANGE;
		logs[i] = log(a[i] / b[i]);
	}
	middle = mean(logs, n);
	reach = student_t(alpha, (double)n - 1) * standard_deviation(logs, n) / sqrt((double)n);
	*out = (struct estimate){exp(middle), exp(middle - reach), exp(middle + reach)};
	return ST_OK;
}
