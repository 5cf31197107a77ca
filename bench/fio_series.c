/* Rates by window from fio's logs. fio writes no line for a window without an
 * I/O: a gap is a window of 0, and the worst there is. */
#include "fio_series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "stats/samples.h"

#define MOST_WINDOWS 100000
#define LOG_LIMIT    ((size_t)8 << 20)

bool fio_series_add(double *sum, int *seen, size_t n, const char *text, double window_s)
{
	bool any = false;

	while (*text) {
		char *end;
		double msec = strtod(text, &end), rate;
		long at;

		if (end == text || *end != ',')
			return false;
		rate = strtod(end + 1, &end);
		if (*end != ',' || !(msec >= 0) || !(rate >= 0) || msec > 1e12)
			return false;
		at = lround(msec / 1e3 / window_s) - 1;
		if (at >= 0 && (size_t)at < n) {
			sum[at] += rate;
			seen[at]++;
		}
		any = true;
		text = end + strcspn(end, "\n");
		text += *text == '\n';
	}
	return any;
}

/* The last window is cut off in threads that began a moment later. */
static size_t whole_windows(const int *seen, size_t n, int threads)
{
	while (n > 0 && seen[n - 1] == 0)
		n--;
	return n > 0 && seen[n - 1] < threads ? n - 1 : n;
}

void fio_series_take(struct fio_result *r, struct arena *arena, const char *dir, const char *stem,
                     int threads, double window_s)
{
	size_t most = (size_t)fmin(ceil(r->runtime_s / window_s) + 1, MOST_WINDOWS), whole, due;
	double *sum = arena_array(arena, most, sizeof(*sum));
	int *seen = arena_array(arena, most, sizeof(*seen));
	bool all = r->outcome == OUTCOME_MEASURED;

	memset(sum, 0, most * sizeof(*sum));
	memset(seen, 0, most * sizeof(*seen));
	for (int i = 1; i <= threads; i++) {
		const char *path = arena_strf(arena, "%s/%s_iops.%d.log", dir, stem, i);
		struct str text = {0};

		all = all && file_read(&text, path, LOG_LIMIT, NULL) == ST_OK &&
		      fio_series_add(sum, seen, most, str_text(&text), window_s);
		str_release(&text);
		unlink(path);
	}
	if (!all)
		return;
	whole = whole_windows(seen, most, threads);
	/* Threads that all fell silent before the end: fio waited for their I/Os. */
	due = (size_t)fmax(floor(r->runtime_s / window_s + 0.5) - 1, 0);
	r->windows = sum;
	r->n_windows = whole > due ? whole : due;
}

bool fio_steadiness(struct fio_steadiness *out, const double *windows, size_t n)
{
	size_t third = n / 3;
	double whole = n ? mean(windows, n) : 0, least = INFINITY;

	if (third == 0 || !(whole > 0) || !(mean(windows, third) > 0))
		return false;
	for (size_t i = 0; i < n; i++)
		least = fmin(least, windows[i]);
	out->cv = standard_deviation(windows, n) / whole;
	out->worst = least / whole;
	out->thirds = mean(windows + n - third, third) / mean(windows, third);
	return true;
}
