/* Rates by window from fio's logs. A line says how many I/Os a second its thread
 * did up to that moment: since the line before, unless a window passed without
 * an I/O, of which fio writes nothing. On a busy machine lines come late, and a
 * late line looks like a stall. What tells them apart is the count of I/Os: those
 * that no line accounts for were done in the time that no line covers. */
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
/* A line this many windows after the one before it covers one of them. */
#define LATE 1.9

void fio_series_init(struct fio_series *s, struct arena *arena, double runtime_s, double window_s)
{
	size_t n = (size_t)fmin(floor(runtime_s / window_s + 1e-6), MOST_WINDOWS);

	*s = (struct fio_series){.n = n, .window_s = window_s, .runtime_s = runtime_s};
	s->ios = arena_array(arena, n + 1, sizeof(*s->ios));
	s->covered = arena_array(arena, n + 1, sizeof(*s->covered));
	memset(s->ios, 0, (n + 1) * sizeof(*s->ios));
	memset(s->covered, 0, (n + 1) * sizeof(*s->covered));
}

static void spread(struct fio_series *s, double from, double to, double rate)
{
	to = fmin(to, s->runtime_s);
	if (!(to > from))
		return;
	s->ios_all += rate * (to - from);
	s->covered_all += to - from;
	for (size_t i = (size_t)(from / s->window_s); i < s->n; i++) {
		double start = (double)i * s->window_s;
		double inside = fmin(to, start + s->window_s) - fmax(from, start);

		if (start >= to)
			break;
		if (inside <= 0)
			continue;
		s->ios[i] += rate * inside;
		s->covered[i] += inside;
	}
}

bool fio_series_add(struct fio_series *s, const char *text)
{
	double before = 0;
	bool any = false;

	while (*text) {
		char *end;
		double at = strtod(text, &end) / 1e3, rate, from;

		if (end == text || *end != ',')
			return false;
		rate = strtod(end + 1, &end);
		if (*end != ',' || !(at >= before) || !(rate >= 0) || at > 1e9)
			return false;
		from = at - before < LATE * s->window_s ? before : at - s->window_s;
		spread(s, from, at, rate);
		before = at;
		any = true;
		text = end + strcspn(end, "\n");
		text += *text == '\n';
	}
	return any;
}

void fio_series_finish(struct fio_series *s, double total_ios, int threads)
{
	double gap = threads * s->runtime_s - s->covered_all;
	double rest = fmax(total_ios - s->ios_all, 0), rate = gap > 0 ? rest / gap : 0;

	for (size_t i = 0; i < s->n; i++) {
		double open = fmax(threads * s->window_s - s->covered[i], 0);

		s->ios[i] = (s->ios[i] + rate * open) / s->window_s;
	}
}

void fio_series_take(struct fio_result *r, struct arena *arena, const char *dir, const char *stem,
                     int threads, double window_s)
{
	bool all = r->outcome == OUTCOME_MEASURED;
	struct fio_series s;

	/* What hangs is not touched; the directory goes as a whole. */
	if (r->outcome == OUTCOME_TIMED_OUT)
		return;
	fio_series_init(&s, arena, r->runtime_s, window_s);
	for (int i = 1; i <= threads; i++) {
		const char *path = arena_strf(arena, "%s/%s_iops.%d.log", dir, stem, i);
		struct str text = {0};

		all = all && file_read(&text, path, LOG_LIMIT, NULL) == ST_OK &&
		      fio_series_add(&s, str_text(&text));
		str_release(&text);
		unlink(path);
	}
	if (!all)
		return;
	fio_series_finish(&s, r->total_ios, threads);
	r->windows = s.ios;
	r->n_windows = s.n;
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
