/* The comparison as a page: who, in which order and why, and a dot plot with its
 * interval for every figure that two of them have. */
#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/compare.h"
#include "report/html_page.h"
#include "report/html_plot.h"
#include "report/markup.h"
#include "report/words.h"

#define WIDTH 720
#define ROW   26.0

static void text(struct str *out, const char *tag, const char *words)
{
	str_addf(out, "<%s>", tag);
	markup_text(out, words);
	str_addf(out, "</%s>", tag);
}

static void columns(struct str *out, const struct comparison *c)
{
	str_add(out, "<section id=\"verdict\" aria-labelledby=\"verdict-title\">"
	             "<h2 id=\"verdict-title\">");
	markup_text(out, msg_format(MSG_compare_columns));
	str_add(out, "</h2>\n<ul class=\"troubles\">\n");
	for (int i = 0; i < c->n_columns; i++) {
		const struct compare_column *x = &c->columns[i];
		struct str verdict = {0};

		str_add(out, "<li>");
		text(out, "strong", x->name);
		str_add(out, ": ");
		compare_column_words(&verdict, x);
		markup_text(out, str_text(&verdict));
		str_release(&verdict);
		if (x->card)
			markup_text(out, tmpf(", %s", x->card));
		if (x->nodes > 0)
			markup_text(out, tmpf(", %s", words_subjects(SUBJECT_NODE, x->nodes)));
		if (x->started)
			markup_text(out, tmpf(", %.10s", x->started));
		str_add(out, "</li>\n");
	}
	str_add(out, "</ul>\n");
	for (const char *const *w = c->warnings; *w; w++) {
		str_add(out, "<p class=\"banner\">");
		markup_text(out, *w);
		str_add(out, "</p>\n");
	}
	str_add(out, "</section>\n");
}

static void orders(struct str *out, const struct comparison *c)
{
	str_add(out,
	        "<section id=\"order\" aria-labelledby=\"order-title\"><h2 id=\"order-title\">");
	markup_text(out, msg_format(MSG_compare_order));
	str_add(out, "</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
	markup_text(out, msg_format(MSG_compare_order));
	str_add(out, "\"><table><thead><tr>");
	text(out, "th", msg_format(MSG_html_criterion));
	for (int k = 0; k < c->n_columns; k++)
		text(out, "th", c->columns[k].name);
	str_add(out, "</tr></thead><tbody>\n");
	for (int i = 0; i < c->n_orders; i++) {
		const struct compare_order *o = &c->orders[i];

		str_add(out, "<tr><th scope=\"row\">");
		markup_text(out, tmpf("%s %s", o->criterion, o->title));
		str_add(out, "</th>");
		for (int k = 0; k < c->n_columns; k++) {
			str_add(out, "<td>");
			if (o->place[k])
				text(out, "strong",
				     say(MSG_compare_place, tmpf("%d", o->place[k])));
			markup_text(out, tmpf(" %s", o->why[k]));
			str_add(out, "</td>");
		}
		str_add(out, "</tr>\n");
	}
	str_add(out, "</tbody></table></div></section>\n");
}

static void parts(struct str *out, const struct comparison *c)
{
	for (int i = 0; i < c->n_parts; i++) {
		const struct compare_part *part = &c->parts[i];

		str_addf(out, "<section id=\"part-%d\" aria-labelledby=\"part-%d-title\">", i, i);
		str_addf(out, "<h2 id=\"part-%d-title\">", i);
		markup_text(out, part->title);
		str_add(out, "</h2>\n<ul class=\"cells\">");
		for (int k = 0; k < part->n_lines; k++) {
			str_add(out, "<li>");
			if (part->lines[k].name)
				text(out, "b", part->lines[k].name);
			str_addc(out, ' ');
			markup_text(out, part->lines[k].text);
			str_add(out, "</li>\n");
		}
		str_add(out, "</ul></section>\n");
	}
}

static void range(const struct comparison *c, const struct compare_row *row, double *lo, double *hi)
{
	*lo = INFINITY;
	*hi = -INFINITY;
	for (int k = 0; k < c->n_columns; k++) {
		const struct compare_cell *cell = &row->cells[k];

		if (!cell->there)
			continue;
		*lo = fmin(*lo, fmin(cell->value, isfinite(cell->lo) ? cell->lo : cell->value));
		*hi = fmax(*hi, fmax(cell->value, isfinite(cell->hi) ? cell->hi : cell->value));
	}
}

static const char *class_of(enum compare_stand stand)
{
	return stand == STAND_BEST ? "best" : stand == STAND_WORSE ? "worse" : "point";
}

static void plot(struct str *out, const struct comparison *c, const struct compare_row *row)
{
	double lo, hi, height = 46, at = 0;
	struct plot p;

	for (int k = 0; k < c->n_columns; k++)
		height += row->cells[k].there ? ROW : 0;
	range(c, row, &lo, &hi);
	p.x = scale_over(lo, hi, false);
	p.y = (struct scale){.lo = 0, .hi = (height - 46) / ROW};
	plot_begin(&p, out, WIDTH, height, compare_row_title(row), "");
	p.x.from = 190;
	plot_axis_x(&p, strcmp(row->unit, "1") == 0 ? "" : row->unit);
	for (int k = 0; k < c->n_columns; k++) {
		const struct compare_cell *cell = &row->cells[k];
		struct str words = {0}, name = {0};
		double y = p.y.hi - at - 0.5;

		if (!cell->there)
			continue;
		at++;
		words_cut(&name, words_shown(c->columns[k].name), 26);
		plot_label(&p, 182, y, str_text(&name));
		if (isfinite(cell->lo) && isfinite(cell->hi))
			plot_line(
				&p, (const double[]){cell->lo, cell->hi}, (const double[]){y, y}, 2,
				cell->origin == ORIGIN_DECLARED ? "interval declared" : "interval");
		compare_stand_words(&words, row, k);
		plot_mark(&p, cell->value, y, class_of(row->stands[k]), str_text(&words));
		str_release(&words);
		str_release(&name);
	}
	plot_end(&p);
}

static void figures(struct str *out, const struct comparison *c)
{
	struct str same = {0};

	str_add(out, "<section id=\"figures\" aria-labelledby=\"figures-title\">"
	             "<h2 id=\"figures-title\">");
	markup_text(out, msg_format(MSG_compare_figures));
	str_add(out, "</h2>\n<p class=\"note\">");
	markup_text(out, msg_format(MSG_compare_how));
	str_add(out, "</p>\n");
	for (int i = 0; i < c->n_rows; i++) {
		const struct compare_row *row = &c->rows[i];

		if (!compare_row_tells(c, row))
			continue;
		str_add(out, "<figure><figcaption>");
		text(out, "b", compare_row_title(row));
		str_add(out, "</figcaption>");
		plot(out, c, row);
		str_add(out, "<ul class=\"cells\">");
		for (int k = 0; k < c->n_columns; k++) {
			struct str words = {0};

			compare_stand_words(&words, row, k);
			str_add(out, "<li>");
			text(out, "b", c->columns[k].name);
			str_addc(out, ' ');
			markup_text(out, str_text(&words));
			str_add(out, "</li>");
			str_release(&words);
		}
		str_add(out, "</ul></figure>\n");
	}
	compare_same_words(&same, c);
	str_add(out, "<p class=\"note\">");
	markup_text(out, str_text(&same));
	str_add(out, "</p></section>\n");
	str_release(&same);
}

enum status compare_html(struct str *out, const struct comparison *c, struct error *err)
{
	const char *title = compare_title(c);
	enum status st = html_page_begin(out, title, err);

	str_add(out, "<main>\n<header class=\"headline\">");
	text(out, "h1", compare_title(c));
	str_add(out, "</header>\n");
	columns(out, c);
	orders(out, c);
	parts(out, c);
	figures(out, c);
	compare_software_html(out, c);
	str_add(out, "</main>\n<script type=\"application/json\" id=\"names\">[]</script>\n");
	return st == ST_OK ? html_page_end(out, err) : st;
}
