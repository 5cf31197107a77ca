/* How the figures of all subjects lie to each other and to the limit, a chart a rule:
 * one card that is slow, a fleet that is slow, and a limit that nobody meets are
 * three pictures that cannot be confused. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/html_plot.h"
#include "report/words.h"
#include "stats/samples.h"

#define LEAST  4    /* figures that make a distribution */
#define MOST   2000 /* dots; more become a histogram */
#define BINS   80
#define MARKED 60 /* subjects with a verdict of their own */
#define WIDTH  720
#define HEIGHT 150

/* Figures of one rule. */
struct set {
	const struct rule_info *rule;
	const struct finding **all; /* with a number; those with a bad verdict first */
	double *value;              /* in the unit shown */
	int n;
	double median, spread; /* of a normal distribution, robust; NaN */
	double factor;         /* from the rule's unit to the one shown */
};

static bool counts(const struct finding *f)
{
	return f->has_value && !f->text && isfinite(f->value) && f->subjects == 1;
}

/* `at`: the first finding of the rule; returns the one after its last. */
static int64_t gather(struct html *h, struct set *s, int64_t at)
{
	const struct scorecard *c = h->card;
	int64_t end = at;

	*s = (struct set){.rule = c->findings[at].rule, .median = NAN, .spread = NAN};
	while (end < c->n_findings && c->findings[end].rule == s->rule)
		end++;
	s->all = arena_array(&h->arena, (size_t)(end - at) + 1, sizeof(*s->all));
	s->value = arena_array(&h->arena, (size_t)(end - at) + 1, sizeof(*s->value));
	s->factor = words_is_share(s->rule->stat) ? 100 : 1;
	for (int64_t i = at; i < end; i++)
		if (counts(&c->findings[i])) {
			s->value[s->n] = s->factor * c->findings[i].value;
			s->all[s->n++] = &c->findings[i];
		}
	if (s->n) {
		s->median = median(s->value, (size_t)s->n);
		s->spread = 1.4826 * median_deviation(s->value, (size_t)s->n, s->median);
	}
	return end;
}

static bool is_bad(const struct finding *f)
{
	return f->verdict == VERDICT_FAIL || f->verdict == VERDICT_WARN;
}

static const char *shown(const struct set *s, double value)
{
	return words_value(s->rule, value / s->factor);
}

static const char *unit_of(const struct set *s)
{
	return s->factor > 1 ? "%" : strcmp(s->rule->unit, "1") == 0 ? "" : s->rule->unit;
}

static void range(const struct set *s, double *lo, double *hi)
{
	*lo = *hi = s->value[0];
	for (int i = 1; i < s->n; i++) {
		*lo = fmin(*lo, s->value[i]);
		*hi = fmax(*hi, s->value[i]);
	}
}

/* Heights that keep neighbours apart, the same in every report. */
static double height_of(int i)
{
	return 0.12 + 0.76 * fmod(i * 0.6180339887, 1);
}

static void draw_dots(struct html *h, struct plot *p, const struct set *s)
{
	double *y = arena_array(&h->arena, (size_t)s->n, sizeof(*y));

	for (int i = 0; i < s->n; i++)
		y[i] = height_of(i);
	plot_dots(p, s->value, y, s->n, "card");
}

static void draw_bins(struct plot *p, const struct set *s)
{
	int count[BINS] = {0}, most = 1;
	double width = (p->x.hi - p->x.lo) / BINS;

	for (int i = 0; i < s->n; i++) {
		int bin = (int)((s->value[i] - p->x.lo) / width);

		bin = bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin;
		most = ++count[bin] > most ? count[bin] : most;
	}
	for (int i = 0; i < BINS; i++) {
		double x[] = {p->x.lo + (i + 0.5) * width, p->x.lo + (i + 0.5) * width};

		if (count[i])
			plot_line(p, x, (const double[]){0, (double)count[i] / most}, 2, "bin");
	}
}

/* "index value index value …" in the order of the dots. */
static void add_values(struct html *h, struct str *out, const struct set *s)
{
	str_add(out, "data-unit=\"");
	markup_text(out, unit_of(s));
	str_add(out, "\" data-p=\"");
	for (int i = 0; i < s->n; i++)
		str_addf(out, "%d %.4g ", html_name(h, &s->all[i]->subject, s->all[i]->node),
		         s->value[i]);
	str_addc(out, '"');
}

static void draw(struct html *h, const struct set *s, const char *label)
{
	double lo, hi, limit = s->factor * s->all[0]->limit;
	struct str data = {0};
	struct plot p;
	int marked = 0;

	range(s, &lo, &hi);
	/* A limit far away is said, and leaves room for the figures. */
	if (isfinite(limit) && fabs(limit - s->median) < 4 * fmax(hi - lo, 0.05 * fabs(hi))) {
		lo = fmin(lo, limit);
		hi = fmax(hi, limit);
	}
	p.x = scale_over(lo, hi, false);
	p.y = (struct scale){.lo = 0, .hi = 1};
	if (s->n <= MOST)
		add_values(h, &data, s);
	plot_begin(&p, h->out, WIDTH, HEIGHT, label, str_text(&data));
	if (s->spread > 0)
		plot_band_x(&p, s->median - 3 * s->spread, s->median + 3 * s->spread, "band");
	plot_axis_x(&p, unit_of(s));
	if (s->n <= MOST)
		draw_dots(h, &p, s);
	else
		draw_bins(&p, s);
	plot_limit_x(&p, limit, msg_format(MSG_html_limit));
	for (int i = 0; i < s->n && marked < MARKED; i++)
		if (is_bad(s->all[i])) {
			const char *who = html_who(h, &s->all[i]->subject, s->all[i]->node);

			plot_mark(&p, s->value[i], s->n <= MOST ? height_of(i) : 0.5,
			          verdict_name(s->all[i]->verdict),
			          tmpf("%s: %s", who, shown(s, s->value[i])));
			marked++;
		}
	plot_end(&p);
	str_release(&data);
}

/* One value on all is no distribution; the rules and the figures have it. */
static bool differs(const struct set *s)
{
	double lo, hi;

	range(s, &lo, &hi);
	return hi > lo;
}

static void chart(struct html *h, const struct set *s)
{
	double lo, hi;
	struct str title = {0}, words = {0};
	int bad = 0;

	range(s, &lo, &hi);
	for (int i = 0; i < s->n; i++)
		bad += is_bad(s->all[i]);
	words_add(&title, s->rule->metric);
	if (strcmp(s->rule->stat, "value") != 0)
		str_addf(&title, " %s", s->rule->stat);
	msg_add(&words, MSG_html_spread, words_subjects(s->all[0]->subject.kind, s->n),
	        shown(s, s->median), shown(s, lo), shown(s, hi),
	        s->rule->limit ? s->rule->limit : msg_format(MSG_html_no_limit), words_count(bad));
	str_add(h->out, "<figure><figcaption><b>");
	markup_text(h->out, title.data);
	str_add(h->out, "</b> ");
	markup_text(h->out, words.data);
	str_add(h->out, "</figcaption>");
	draw(h, s, tmpf("%s: %s", title.data, words.data));
	str_add(h->out, "</figure>\n");
	str_release(&title);
	str_release(&words);
}

void html_view_spread(struct html *h)
{
	bool any = false;
	struct set s;

	for (int64_t at = 0; at < h->card->n_findings;) {
		at = gather(h, &s, at);
		if (s.n < LEAST || s.rule->reading == RULE_LITERAL || !differs(&s))
			continue;
		if (!any) {
			html_section(h, "spread", MSG_html_spread_title);
			html_note(h, msg_format(MSG_html_spread_note));
		}
		any = true;
		chart(h, &s);
	}
	if (any)
		html_section_end(h);
}
