/* SVG by hand: a few element kinds, two decimals, no script. */
#include "report/html_plot.h"

#include <float.h>
#include <math.h>

#include "base/unit.h"
#include "report/html.h"

#define LEFT   64
#define RIGHT  24
#define TOP    12
#define BOTTOM 38
#define TICKS  8

struct scale scale_over(double lo, double hi, bool log)
{
	struct scale s = {.lo = lo, .hi = hi, .log = log && lo > 0};
	double margin;

	if (s.log) {
		margin = hi > lo ? pow(hi / lo, 0.04) : 1.2;
		s.lo /= margin;
		s.hi *= margin;
		return s;
	}
	margin = hi > lo ? 0.05 * (hi - lo) : fabs(hi) > 0 ? 0.05 * fabs(hi) : 1;
	s.lo -= margin;
	s.hi += margin;
	if (lo >= 0 && s.lo < 0)
		s.lo = 0;
	return s;
}

double scale_at(const struct scale *s, double value)
{
	double share = s->log ? log(value / s->lo) / log(s->hi / s->lo)
	                      : (value - s->lo) / (s->hi - s->lo);

	return s->from + share * (s->to - s->from);
}

static int log_ticks(const struct scale *s, double *ticks, int max)
{
	double decades = log10(s->hi / s->lo), step = 10;
	int n = 0;

	if (decades > max)
		step = pow(10, ceil(decades / max));
	for (double t = pow(10, ceil(log10(s->lo) - 1e-9)); t <= s->hi && n < max; t *= step)
		ticks[n++] = t;
	if (n >= 2)
		return n;
	/* Less than a decade: 1, 2, 5. */
	n = 0;
	for (double t = pow(10, floor(log10(s->lo))); t <= s->hi; t *= 10)
		for (int k = 0; k < 3 && n < max; k++) {
			double value = t * (double[]){1, 2, 5}[k];

			if (value >= s->lo && value <= s->hi)
				ticks[n++] = value;
		}
	return n;
}

/* 8 B, 512 B, 32 KiB …: equal steps of 2, 4, 8 … that fit. */
static int binary_ticks(const struct scale *s, double *ticks, int max)
{
	double lo = ceil(log2(s->lo) - 1e-9), hi = floor(log2(s->hi) + 1e-9);
	double step = fmax(1, ceil((hi - lo) / (max - 1)));
	int n = 0;

	for (double t = lo; t <= hi && n < max; t += step)
		ticks[n++] = exp2(t);
	return n;
}

int scale_ticks(const struct scale *s, double *ticks, int max)
{
	double rough = (s->hi - s->lo) / (max - 1), unit, step;
	int n = 0;

	if (s->log)
		return s->binary ? binary_ticks(s, ticks, max) : log_ticks(s, ticks, max);
	unit = pow(10, floor(log10(rough)));
	step = unit * (rough / unit <= 1 ? 1 : rough / unit <= 2 ? 2 : rough / unit <= 5 ? 5 : 10);
	for (double t = ceil(s->lo / step - 1e-9) * step; t <= s->hi && n < max; t += step)
		ticks[n++] = fabs(t) < step * 1e-9 ? 0 : t;
	return n;
}

void plot_begin(struct plot *p, struct str *out, double width, double height, const char *label,
                const char *data)
{
	p->out = out;
	p->width = width;
	p->height = height;
	p->x.from = LEFT;
	p->x.to = width - RIGHT;
	p->y.from = height - BOTTOM;
	p->y.to = TOP;
	str_addf(
		out,
		"<svg class=\"plot\" width=\"%g\" viewBox=\"0 0 %g %g\" role=\"img\" aria-label=\"",
		width, width, height);
	markup_text(out, label);
	str_addf(out, "\" %s>", data);
}

static void text(struct plot *p, double x, double y, const char *class, const char *words)
{
	str_addf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
	markup_text(p->out, words);
	str_add(p->out, "</text>");
}

static void line(struct plot *p, double x1, double y1, double x2, double y2, const char *class)
{
	str_addf(p->out, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>", class, x1, y1, x2, y2);
}

void plot_axis_x(struct plot *p, const char *title)
{
	double ticks[TICKS];
	int n = scale_ticks(&p->x, ticks, TICKS);

	line(p, p->x.from, p->y.from, p->x.to, p->y.from, "axis");
	for (int i = 0; i < n; i++) {
		double at = scale_at(&p->x, ticks[i]);

		line(p, at, p->y.from, at, p->y.from + 4, "axis");
		text(p, at, p->y.from + 15, "tick mid",
		     p->x.binary ? fmt_bytes((int64_t)ticks[i]) : fmt_value(ticks[i]));
	}
	text(p, p->x.to, p->height - 6, "title end", title);
}

void plot_axis_y(struct plot *p, const char *title)
{
	double ticks[TICKS];
	int n = scale_ticks(&p->y, ticks, 6);

	for (int i = 0; i < n; i++) {
		double at = scale_at(&p->y, ticks[i]);

		line(p, p->x.from, at, p->x.to, at, "grid");
		text(p, p->x.from - 6, at + 4, "tick end", fmt_value(ticks[i]));
	}
	text(p, 4, TOP - 1, "title", title);
}

static bool shown(const struct scale *s, double value)
{
	return isfinite(value) && (!s->log || value > 0);
}

void plot_line(struct plot *p, const double *x, const double *y, int n, const char *class)
{
	char pen = 'M';

	str_addf(p->out, "<path class=\"%s\" d=\"", class);
	for (int i = 0; i < n; i++) {
		if (!shown(&p->x, x[i]) || !shown(&p->y, y[i])) {
			pen = 'M';
			continue;
		}
		str_addf(p->out, "%c%.1f %.1f", pen, scale_at(&p->x, x[i]), scale_at(&p->y, y[i]));
		pen = 'L';
	}
	str_add(p->out, "\"/>");
}

/* Strokes without length: round ends make dots of them. */
void plot_dots(struct plot *p, const double *x, const double *y, int n, const char *class)
{
	str_addf(p->out, "<path class=\"dots %s\" d=\"", class);
	for (int i = 0; i < n; i++)
		if (shown(&p->x, x[i]) && shown(&p->y, y[i]))
			str_addf(p->out, "M%.1f %.1fh0", scale_at(&p->x, x[i]),
			         scale_at(&p->y, y[i]));
	str_add(p->out, "\"/>");
}

void plot_mark(struct plot *p, double x, double y, const char *class, const char *title)
{
	if (!shown(&p->x, x) || !shown(&p->y, y))
		return;
	str_addf(p->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\"><title>", class,
	         scale_at(&p->x, x), scale_at(&p->y, y));
	markup_text(p->out, title);
	str_add(p->out, "</title></circle>");
}

void plot_label(struct plot *p, double x, double y, const char *words)
{
	text(p, x, scale_at(&p->y, y) + 4, "tick end", words);
}

static bool within(const struct scale *s, double value)
{
	return shown(s, value) && value >= s->lo && value <= s->hi;
}

void plot_limit_x(struct plot *p, double value, const char *label)
{
	double at;

	if (!within(&p->x, value))
		return;
	at = scale_at(&p->x, value);
	line(p, at, p->y.from, at, p->y.to, "limit");
	text(p, at + 4, p->y.to + 10, "word", label);
}

void plot_limit_y(struct plot *p, double value, const char *label)
{
	double at;

	if (!within(&p->y, value))
		return;
	at = scale_at(&p->y, value);
	line(p, p->x.from, at, p->x.to, at, "limit");
	text(p, p->x.to - 4, at - 4, "word end", label);
}

void plot_band_x(struct plot *p, double lo, double hi, const char *class)
{
	double from = scale_at(&p->x, fmax(lo, p->x.lo)), to = scale_at(&p->x, fmin(hi, p->x.hi));

	if (to > from)
		str_addf(p->out,
		         "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%.1f\"/>",
		         class, from, TOP, to - from, p->y.from - TOP);
}

void plot_end(struct plot *p)
{
	str_add(p->out, "</svg>\n");
}
