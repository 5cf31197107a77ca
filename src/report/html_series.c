/* Over time: what a card reached in every window of its test, with clock, power and
 * temperature below it on the same axis. A drop with the clock is throttling, one
 * without it is not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/html_plot.h"
#include "report/html_raw.h"
#include "report/words.h"

#define MOST   6 /* subjects shown */
#define WIDTH  720
#define TALL   170
#define SMALL  96
#define POINTS 1200 /* of a line; more are thinned to their extremes */

static const struct {
	const char *column, *unit;
} below[] = {{"sm_mhz_mean", "MHz"}, {"power_w_mean", "W"}, {"celsius", "°C"}};

struct series {
	double *x, *y;
	int n;
};

static double number(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	return end == text ? NAN : value;
}

static void take(struct html *h, struct series *s, const struct csv *csv, int time, int column)
{
	int step = csv->n_rows / POINTS + 1;

	s->x = arena_array(&h->arena, (size_t)csv->n_rows + 1, sizeof(*s->x));
	s->y = arena_array(&h->arena, (size_t)csv->n_rows + 1, sizeof(*s->y));
	s->n = 0;
	for (int i = 0; i < csv->n_rows; i += step) {
		double least = number(csv->rows[i][column]);

		/* A dip must not fall between two points. */
		for (int k = i + 1; k < i + step && k < csv->n_rows; k++)
			least = fmin(least, number(csv->rows[k][column]));
		s->x[s->n] = number(csv->rows[i][time]);
		s->y[s->n++] = least;
	}
}

static bool range(const double *v, int n, double *lo, double *hi)
{
	*lo = INFINITY;
	*hi = -INFINITY;
	for (int i = 0; i < n; i++)
		if (isfinite(v[i])) {
			*lo = fmin(*lo, v[i]);
			*hi = fmax(*hi, v[i]);
		}
	return *lo <= *hi;
}

static void draw(struct html *h, const struct series *s, double height, const char *unit,
                 const char *label)
{
	double lo, hi, from, to;
	struct str data = {0};
	struct plot p;

	if (!range(s->y, s->n, &lo, &hi) || !range(s->x, s->n, &from, &to))
		return;
	/* A steady line is to look steady. */
	if (hi - lo < 0.04 * fabs(hi)) {
		lo -= 0.02 * fabs(hi);
		hi += 0.02 * fabs(hi);
	}
	p.x = scale_over(from, to, false);
	p.y = scale_over(lo, hi, false);
	str_addf(&data, "data-unit=\"%s\"", unit);
	plot_begin(&p, h->out, WIDTH, height, label, data.data);
	plot_axis_y(&p, unit);
	plot_axis_x(&p, "s");
	plot_line(&p, s->x, s->y, s->n, "series");
	plot_end(&p);
	str_release(&data);
}

/* The column of the reading's own figure: "tflops" of gemm_fp16_tflops. */
static int own_column(const struct csv *csv, const char *metric)
{
	const char *last = strrchr(metric, '_');

	return last ? csv_column(csv, last + 1) : -1;
}

static bool chart(struct html *h, const struct reading *r)
{
	struct csv csv;
	struct series s;
	const char *who = html_who(h, &r->subject, r->node);
	int time, column;
	bool good;

	if (!html_raw(h, &csv, r))
		return false;
	time = csv_column(&csv, "host_s");
	column = own_column(&csv, r->metric);
	good = time >= 0 && column >= 0 && csv.n_rows > 1;
	if (good) {
		str_add(h->out, "<figure><figcaption><b>");
		markup_text(h->out, who);
		str_add(h->out, "</b> ");
		markup_text(h->out, tmpf("%s %s", r->metric, fmt_measure(r->value, r->unit)));
		str_add(h->out, "</figcaption>");
		take(h, &s, &csv, time, column);
		draw(h, &s, TALL, r->unit, tmpf("%s, %s", who, r->metric));
		for (size_t i = 0; i < sizeof(below) / sizeof(*below); i++) {
			column = csv_column(&csv, below[i].column);
			if (column < 0)
				continue;
			take(h, &s, &csv, time, column);
			draw(h, &s, SMALL, below[i].unit, tmpf("%s, %s", who, below[i].column));
		}
		str_add(h->out, "</figure>\n");
	}
	csv_release(&csv);
	return good;
}

static bool same_subject(const struct reading *a, const struct reading *b)
{
	return strcmp(a->node, b->node) == 0 && a->subject.kind == b->subject.kind &&
	       strcmp(a->subject.id ? a->subject.id : "", b->subject.id ? b->subject.id : "") == 0;
}

/* Subjects with a figure that is not good enough; where all are sound, one to see
 * what sound looks like. */
void html_view_series(struct html *h)
{
	const struct reading *done[MOST];
	int n = 0;
	size_t before = h->out->len, after;

	html_section(h, "series", MSG_html_series);
	after = h->out->len;
	for (int pass = 0; pass < 2 && n < (pass ? 1 : MOST); pass++)
		for (int64_t i = 0; i < h->card->n_findings && n < (pass ? 1 : MOST); i++) {
			const struct finding *f = &h->card->findings[i];
			bool bad = f->verdict == VERDICT_FAIL || f->verdict == VERDICT_WARN ||
			           f->verdict == VERDICT_INCONCLUSIVE;
			bool known = false;

			if (f->rule->reading == RULE_LITERAL || !f->evidence ||
			    !f->evidence->raw.file || (pass == 0) != bad ||
			    f->evidence->value_kind != VALUE_NUMBER)
				continue;
			for (int k = 0; k < n; k++)
				known = known || same_subject(done[k], f->evidence);
			if (!known && chart(h, f->evidence))
				done[n++] = f->evidence;
		}
	if (h->out->len == after) {
		h->out->len = before;
		h->out->data[before] = '\0';
		h->n_entries--;
		return;
	}
	html_section_end(h);
}
