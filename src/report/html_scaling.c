/* How training scales: the efficiency over the number of cards, and for each number
 * where the time of a step goes, so that a low figure shows what it is due to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/html_plot.h"
#include "report/storage_span.h"
#include "report/words.h"

#define SIZES    32
#define CAUSES   5
#define WIDTH    720
#define HEIGHT   250
#define BAR_W    300
#define BAR_H    14
#define PRODUCTS "q4" /* the class of their colour */

/* Keys of "loss_ms" in the order in which they are taken off, products before them. */
static const struct {
	const char *key;
	enum msg name;
	const char *class;
} causes[CAUSES] = {
	{"serial", MSG_training_serial, "q3"}, {"slow_card", MSG_training_slow_card, "q0"},
	{"jitter", MSG_training_jitter, "q1"}, {"intra_node", MSG_training_intra_node, "q2"},
	{"fabric", MSG_training_fabric, "q5"},
};

struct size {
	double cards, step_ms, weak, strong, overlap;
	double loss_ms[CAUSES];
};

struct curve {
	struct size size[SIZES];
	int n;
	double base_ms;
};

/* {"base_ms":…,"curve":[{"cards":…,"step_ms":…,"weak":…,"loss_ms":{…}}, …]} */
static bool read_curve(struct curve *c, const struct reading *r)
{
	const cJSON *item;
	struct json_doc doc;

	*c = (struct curve){.n = 0};
	if (!strstr(r->params ? r->params : "", "\"curve\"") || !span_params(r, &doc))
		return false;
	c->base_ms = json_number(doc.root, "base_ms", NAN);
	cJSON_ArrayForEach(item, json_get(doc.root, "curve"))
	{
		struct size s = {.cards = json_number(item, "cards", NAN),
		                 .step_ms = json_number(item, "step_ms", NAN),
		                 .weak = json_number(item, "weak", NAN),
		                 .strong = json_number(item, "strong", NAN),
		                 .overlap = json_number(item, "overlap", NAN)};

		for (int i = 0; i < CAUSES; i++)
			s.loss_ms[i] =
				fmax(json_number(json_get(item, "loss_ms"), causes[i].key, 0), 0);
		if (c->n < SIZES && s.cards > 0 && s.step_ms > 0 && s.weak > 0)
			c->size[c->n++] = s;
	}
	json_release(&doc);
	return c->n > 0 && c->base_ms > 0;
}

/* --- the curve ------------------------------------------------------------------------- */

static void draw_line(struct plot *p, const struct curve *c, bool strong)
{
	double x[SIZES], y[SIZES];
	int n = 0;

	for (int i = 0; i < c->n; i++) {
		double value = strong ? c->size[i].strong : c->size[i].weak;

		if (!isfinite(value))
			continue;
		x[n] = c->size[i].cards;
		y[n++] = value;
	}
	plot_line(p, x, y, n, strong ? "series more" : "series");
	for (int i = 0; i < n; i++)
		plot_mark(p, x[i], y[i], strong ? "point more" : "point",
		          tmpf("%s: %.0f, %s",
		               msg_format(strong ? MSG_html_scaling_strong : MSG_html_scaling_weak),
		               x[i], fmt_measure(y[i], "1")));
}

static void draw_limits(struct html *h, struct plot *p, const char *metric)
{
	for (int64_t i = 0; i < h->card->n_findings; i++) {
		const struct finding *f = &h->card->findings[i];

		if (strcmp(f->rule->metric, metric) == 0 && isfinite(f->limit))
			plot_limit_y(p, f->limit, f->rule->id);
	}
}

static void draw_curve(struct html *h, const struct reading *r, const struct curve *c)
{
	const struct size *last = &c->size[c->n - 1];
	double low = 0.8, high = 1;
	struct plot p;

	for (int i = 0; i < c->n; i++) {
		low = fmin(low, c->size[i].weak);
		high = fmax(high, c->size[i].weak);
		if (isfinite(c->size[i].strong)) {
			low = fmin(low, c->size[i].strong);
			high = fmax(high, c->size[i].strong);
		}
	}
	str_add(h->out, "<figure><figcaption><b>");
	markup_text(h->out, r->metric);
	str_add(h->out, "</b> ");
	markup_text(h->out, say(MSG_html_scaling_of, tmpf("%.0f", last->cards),
	                        fmt_measure(r->value, r->unit), msg_format(MSG_html_scaling_weak)));
	str_add(h->out, "</figcaption>");
	p.x = scale_over(c->size[0].cards, last->cards, true);
	p.y = scale_over(low, high, false);
	plot_begin(&p, h->out, WIDTH, HEIGHT, r->metric, "");
	plot_axis_y(&p, msg_format(MSG_html_scaling_efficiency));
	plot_axis_x(&p, msg_format(MSG_html_scaling_cards));
	draw_limits(h, &p, r->metric);
	draw_line(&p, c, true);
	draw_line(&p, c, false);
	plot_end(&p);
	str_add(h->out, "</figure>\n");
}

/* --- where the time goes --------------------------------------------------------------- */

static void bar_part(struct html *h, double *at, double ms, double scale, const char *class,
                     const char *title)
{
	double width = ms * scale;

	if (!(width > 0))
		return;
	str_addf(h->out,
	         "<rect class=\"%s\" x=\"%.2f\" y=\"0\" width=\"%.2f\" height=\"%d\"><title>",
	         class, *at, width, BAR_H);
	markup_text(h->out, title);
	str_add(h->out, "</title></rect>");
	*at += width;
}

static void draw_bar(struct html *h, const struct curve *c, const struct size *s, double longest)
{
	double at = 0, scale = BAR_W / longest;

	str_addf(h->out,
	         "<td><svg class=\"plot\" role=\"img\" width=\"%d\" height=\"%d\" "
	         "viewBox=\"0 0 %d %d\" aria-label=\"",
	         BAR_W, BAR_H, BAR_W, BAR_H);
	markup_text(h->out, msg_format(MSG_html_scaling_loss));
	str_add(h->out, "\">");
	bar_part(h, &at, fmin(c->base_ms, s->step_ms), scale, PRODUCTS,
	         tmpf("%s %s", msg_format(MSG_training_base), fmt_measure(c->base_ms, "ms")));
	for (int i = 0; i < CAUSES; i++)
		bar_part(h, &at, s->loss_ms[i], scale, causes[i].class,
		         tmpf("%s %s", msg_format(causes[i].name),
		              fmt_measure(s->loss_ms[i], "ms")));
	str_add(h->out, "</svg></td>");
}

static void draw_key(struct html *h)
{
	str_add(h->out, "<div class=\"key\">");
	for (int i = -1; i < CAUSES; i++) {
		str_addf(h->out,
		         "<span><svg viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect class=\"%s\" "
		         "width=\"10\" height=\"10\"/></svg>",
		         i < 0 ? PRODUCTS : causes[i].class);
		markup_text(h->out, msg_format(i < 0 ? MSG_training_base : causes[i].name));
		str_add(h->out, "</span>");
	}
	str_add(h->out, "</div>\n");
}

static void number_or_dash(struct html *h, double value, const char *unit)
{
	html_number(h, value, isfinite(value) ? fmt_measure(value, unit) : "-");
}

static void draw_sizes(struct html *h, const char *id, const struct curve *c)
{
	static const enum msg columns[] = {MSG_html_scaling_cards,   MSG_html_scaling_step,
	                                   MSG_html_scaling_weak,    MSG_html_scaling_strong,
	                                   MSG_html_scaling_overlap, MSG_html_scaling_loss};
	const struct html_table table = {.id = id,
	                                 .caption = MSG_html_scaling_loss,
	                                 .columns = columns,
	                                 .numbers = "nnnnnt",
	                                 .n_columns = 6};
	double longest = 0;

	for (int i = 0; i < c->n; i++)
		longest = fmax(longest, c->size[i].step_ms);
	draw_key(h);
	html_table_begin(h, &table);
	for (int i = 0; i < c->n; i++) {
		const struct size *s = &c->size[i];

		html_row(h);
		html_number(h, s->cards, tmpf("%.0f", s->cards));
		number_or_dash(h, s->step_ms, "ms");
		number_or_dash(h, s->weak, "1");
		number_or_dash(h, s->strong, "1");
		number_or_dash(h, s->overlap, "1");
		draw_bar(h, c, s, longest);
	}
	html_table_end(h);
}

/* --- the view ------------------------------------------------------------------------------- */

static const struct reading *newest(const struct scorecard *c, const char *metric)
{
	const struct reading *found = NULL;

	for (int64_t i = 0; i < c->n_readings; i++)
		if (strcmp(c->readings[i]->metric, metric) == 0)
			found = c->readings[i];
	return found;
}

/* "86.1 % of the speed of 32 cards; fabric 10.0 %; slow card 2.1 %: n1 card 3", as it is
 * stored, with its words in the language that is spoken. */
static void shortfall(struct html *h, const char *stored)
{
	struct str said = {0};
	double percent;
	int cards, len;

	if (sscanf(stored, "%lf %% of the speed of %d cards%n", &percent, &cards, &len) == 2) {
		msg_add(&said, MSG_html_scaling_speed, tmpf("%.1f", percent), tmpf("%d", cards));
		stored += len;
	}
	while (*stored) {
		const char *name = str_starts(stored, "; ") ? stored + 2 : stored;
		int i = 0;

		while (i < CAUSES && !str_starts(name, msg_text(LANGUAGE_EN, causes[i].name)))
			i++;
		if (name == stored || i == CAUSES) {
			str_addc(&said, *stored++);
			continue;
		}
		str_addf(&said, "; %s", msg_format(causes[i].name));
		stored = name + strlen(msg_text(LANGUAGE_EN, causes[i].name));
	}
	html_note(h, str_text(&said));
	str_release(&said);
}

static void words(struct html *h)
{
	const struct reading *loss = newest(h->card, "training_shortfall");
	const struct reading *p = newest(h->card, "training_projected_efficiency");
	struct json_doc doc;

	if (loss && loss->value_kind == VALUE_TEXT)
		shortfall(h, loss->text);
	if (!p || p->outcome != OUTCOME_MEASURED || !span_params(p, &doc))
		return;
	html_note(h,
	          say(MSG_html_scaling_projected, tmpf("%.0f", json_number(doc.root, "cards", NAN)),
	              fmt_measure(p->value, "1"), fmt_measure(p->stats[STAT_CI_LO], "1"),
	              fmt_measure(p->stats[STAT_CI_HI], "1"),
	              tmpf("%.0f", json_number(doc.root, "sizes", NAN))));
	json_release(&doc);
}

void html_view_scaling(struct html *h)
{
	static const char *const metrics[] = {"training_scaling_efficiency",
	                                      "cpu_training_scaling_efficiency"};
	static const char *const ids[] = {"scaling-cards", "scaling-cpus"};
	bool any = false;

	for (int i = 0; i < 2; i++) {
		const struct reading *r = newest(h->card, metrics[i]);
		struct curve c;

		if (!r || r->outcome != OUTCOME_MEASURED || !read_curve(&c, r))
			continue;
		if (!any)
			html_section(h, "scaling", MSG_html_scaling);
		any = true;
		draw_curve(h, r, &c);
		draw_sizes(h, ids[i], &c);
	}
	if (!any)
		return;
	words(h);
	html_section_end(h);
}
