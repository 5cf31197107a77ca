/* Charts as SVG. A plot has two scales; everything is given in data coordinates and
 * what is not finite is left out. Colours come from the style sheet by class, so
 * that dark mode and printing need nothing of a plot. */
#ifndef ASSAY_REPORT_HTML_PLOT_H
#define ASSAY_REPORT_HTML_PLOT_H

#include <stdbool.h>

#include "base/str.h"

struct scale {
	double lo, hi; /* of the data; lo < hi */
	bool log;      /* then lo > 0 */
	bool binary;   /* ticks at powers of two */
	double from, to;
};

struct plot {
	struct str *out;
	double width, height;
	struct scale x, y;
};

/* Makes room: a scale over the values from lo to hi, with a margin; equal ones get
 * some width. */
struct scale scale_over(double lo, double hi, bool log);
double scale_at(const struct scale *s, double value);
/* Round values within; at most `max`. Their number. */
int scale_ticks(const struct scale *s, double *ticks, int max);

/* `label`: what a screen reader says of it. `data`: attributes for the script that
 * shows values on hover, or "". Margins are for axes on the left and below. */
void plot_begin(struct plot *p, struct str *out, double width, double height, const char *label,
                const char *data);
/* Ticks as fmt_value writes them, those of a binary scale as bytes. */
void plot_axis_x(struct plot *p, const char *title);
void plot_axis_y(struct plot *p, const char *title);
void plot_line(struct plot *p, const double *x, const double *y, int n, const char *class);
/* Many dots at once. */
void plot_dots(struct plot *p, const double *x, const double *y, int n, const char *class);
/* One with a text on hover. */
void plot_mark(struct plot *p, double x, double y, const char *class, const char *title);
/* Words that end at x of the drawing, beside y of the data. */
void plot_label(struct plot *p, double x, double y, const char *words);
/* A line across the whole plot with a word at its end. */
void plot_limit_x(struct plot *p, double value, const char *label);
void plot_limit_y(struct plot *p, double value, const char *label);
/* A band of values of x. */
void plot_band_x(struct plot *p, double lo, double hi, const char *class);
void plot_end(struct plot *p);

#endif
