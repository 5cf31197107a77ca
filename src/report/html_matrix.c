/* Cells of one step are one path: fifteen thousand of them stay a small file. Of more, a
 * row's cells of one step that lie side by side are one line, and values are told of those
 * only that are worth a look: a quarter of a million pairs stay below 2 MB. */
#include "report/html_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/words.h"
#include "stats/samples.h"

#define SIDE  560.0 /* of the map */
#define LEFT  110.0
#define TOP   16.0
#define STEPS 6

#define FINE        160   /* names, beyond which cells are lines */
#define FINE_STEPS  3     /* the steps whose values are told then */
#define FINE_VALUES 20000 /* and how many at most */

/* Shares of the median, the better way up, where the steps end. */
static const double ends[STEPS - 1] = {0.5, 0.75, 0.9, 0.97, 1.03};

void matrix_make(struct matrix *m, struct html *h, int n)
{
	m->n = n;
	m->name = arena_array(&h->arena, (size_t)n + 1, sizeof(*m->name));
	m->value = arena_array(&h->arena, (size_t)n * (size_t)n + 1, sizeof(*m->value));
	for (int i = 0; i < n * n; i++)
		m->value[i] = NAN;
}

void matrix_put(struct matrix *m, int from, int to, double value)
{
	double *cell = &m->value[from * m->n + to];

	if (isnan(*cell) || (m->better == BETTER_LOWER ? value > *cell : value < *cell))
		*cell = value;
}

static double median_of(struct html *h, const struct matrix *m, int *n)
{
	double *all = arena_array(&h->arena, (size_t)m->n * (size_t)m->n + 1, sizeof(*all));

	*n = 0;
	for (int i = 0; i < m->n * m->n; i++)
		if (isfinite(m->value[i]))
			all[(*n)++] = m->value[i];
	return *n ? median(all, (size_t)*n) : NAN;
}

static int step_of(const struct matrix *m, double value, double middle)
{
	double share = m->better == BETTER_LOWER ? middle / value : value / middle;
	int step = 0;

	while (step < STEPS - 1 && share >= ends[step])
		step++;
	return step;
}

static void draw_cells(struct html *h, const struct matrix *m, double middle, double side)
{
	for (int step = 0; step < STEPS; step++) {
		str_addf(h->out, "<path class=\"q%d\" d=\"", step);
		for (int i = 0; i < m->n * m->n; i++)
			if (isfinite(m->value[i]) && step_of(m, m->value[i], middle) == step)
				str_addf(h->out, "M%.4g %.4gh%.3gv%.3gh-%.3gz",
				         LEFT + side * (i % m->n), TOP + side * (i / m->n), side,
				         side, side);
		str_add(h->out, "\"/>");
	}
}

/* In units of a cell. */
static void draw_lines(struct html *h, const struct matrix *m, double middle, double side)
{
	str_addf(h->out, "<g class=\"fine\" transform=\"translate(%g %g) scale(%.5g)\">", LEFT,
	         TOP + side / 2, side);
	for (int step = 0; step < STEPS; step++) {
		int row = -1, end = 0;

		str_addf(h->out, "<path class=\"r%d\" d=\"", step);
		for (int i = 0, n; i < m->n * m->n; i += n) {
			int x = i % m->n, y = i / m->n;

			for (n = 0; x + n < m->n && isfinite(m->value[i + n]) &&
			            step_of(m, m->value[i + n], middle) == step;)
				n++;
			if (n && y != row)
				str_addf(h->out, "M%d %dh%d", x, y, n);
			else if (n)
				str_addf(h->out, "m%d 0h%d", x - end, n);
			row = n ? y : row;
			end = n ? x + n : end;
			n = n ? n : 1;
		}
		str_add(h->out, "\"/>");
	}
	str_add(h->out, "</g>");
}

static void draw_names(struct html *h, const struct matrix *m, double side)
{
	int every = side >= 11 ? 1 : (int)ceil(11 / side);

	for (int i = 0; i < m->n; i += every) {
		struct str name = {0};

		words_cut(&name, m->name[i], 16);
		str_addf(h->out, "<text class=\"tick end\" x=\"%.1f\" y=\"%.1f\">", LEFT - 5,
		         TOP + side * (i + 0.5) + 4);
		markup_text(h->out, str_text(&name));
		str_add(h->out, "</text>");
		str_release(&name);
	}
	str_addf(h->out, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\">", LEFT, TOP - 5);
	markup_text(h->out, msg_format(MSG_html_to));
	str_add(h->out, "</text>");
}

/* What the steps mean, with the colours themselves. */
static void draw_key(struct html *h, const struct matrix *m, double middle)
{
	str_add(h->out, "<p class=\"key\">");
	for (int step = 0; step < STEPS; step++) {
		double a = step ? ends[step - 1] : NAN, b = step < STEPS - 1 ? ends[step] : NAN;

		str_addf(
			h->out,
			"<span><svg viewBox=\"0 0 12 12\" aria-hidden=\"true\"><path class=\"q%d\" "
			"d=\"M0 0h12v12h-12z\"/></svg>",
			step);
		if (m->better == BETTER_LOWER) {
			a = step < STEPS - 1 ? 1 / ends[step] : NAN;
			b = step ? 1 / ends[step - 1] : NAN;
		}
		markup_text(h->out, isnan(a)   ? tmpf("< %s", fmt_measure(b * middle, m->unit))
		                    : isnan(b) ? tmpf("> %s", fmt_measure(a * middle, m->unit))
		                               : say(MSG_words_range, fmt_value(a * middle),
		                                     fmt_value(b * middle)));
		str_add(h->out, "</span> ");
	}
	str_add(h->out, "</p>");
}

static void add_values(struct html *h, const struct matrix *m, double middle)
{
	int told = 0;

	str_add(h->out, " data-m=\"");
	for (int i = 0; i < m->n * m->n; i++) {
		if (!isfinite(m->value[i]))
			continue;
		if (m->n > FINE &&
		    (step_of(m, m->value[i], middle) >= FINE_STEPS || told++ >= FINE_VALUES))
			continue;
		str_addf(h->out, "%d %.4g ", i, m->value[i]);
	}
	str_add(h->out, "\" data-names=\"");
	for (int i = 0; i < m->n; i++) {
		markup_text(h->out, m->name[i]);
		str_add(h->out, i + 1 < m->n ? "|" : "");
	}
	str_addc(h->out, '"');
}

void matrix_draw(struct html *h, const struct matrix *m, const char *title)
{
	double side = fmin(SIDE / m->n, 40);
	int n;
	double middle = median_of(h, m, &n);
	const char *words =
		tmpf("%s", say(MSG_html_matrix, words_count(n), fmt_measure(middle, m->unit)));

	str_add(h->out, "<figure><figcaption><b>");
	markup_text(h->out, title);
	str_add(h->out, "</b> ");
	markup_text(h->out, words);
	str_addf(h->out,
	         "</figcaption><svg class=\"plot\" width=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
	         "role=\"img\" "
	         "data-cell=\"%g %g %g %d\" data-unit=\"",
	         LEFT + side * m->n + 8, LEFT + side * m->n + 8, TOP + side * m->n + 8, LEFT, TOP,
	         side, m->n);
	markup_text(h->out, m->unit);
	str_add(h->out, "\" aria-label=\"");
	markup_text(h->out, tmpf("%s: %s", title, words));
	str_addc(h->out, '"');
	add_values(h, m, middle);
	str_addc(h->out, '>');
	if (m->n > FINE)
		draw_lines(h, m, middle, side);
	else
		draw_cells(h, m, middle, side);
	draw_names(h, m, side);
	str_add(h->out, "</svg>");
	draw_key(h, m, middle);
	str_add(h->out, "</figure>\n");
}
