/* Rates over the size of the message, and storage over the depth of the queue: a
 * single figure is one point of these curves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/html_plot.h"
#include "report/storage_span.h"
#include "report/storage_table.h"
#include "report/words.h"

#define CURVES 12 /* nodes in one chart, the worst first */
#define SIZES  64
#define WIDTH  720
#define HEIGHT 250

struct curve {
	const struct reading *r;
	double x[SIZES], y[SIZES];
	int n;
};

/* --- sizes -------------------------------------------------------------------------- */

/* {"sizes":[{"bytes":…,"busbw_gbs":…}, …]} of the reading's parameters. */
static bool read_sizes(struct curve *c, const struct reading *r)
{
	const cJSON *item;
	struct json_doc doc;

	c->r = r;
	c->n = 0;
	if (!strstr(r->params ? r->params : "", "\"sizes\"") || !span_params(r, &doc))
		return false;
	cJSON_ArrayForEach(item, json_get(doc.root, "sizes"))
	{
		double bytes = json_number(item, "bytes", NAN);
		double rate = json_number(item, "busbw_gbs", NAN);

		if (c->n < SIZES && bytes > 0 && rate > 0) {
			c->x[c->n] = bytes;
			c->y[c->n++] = rate;
		}
	}
	json_release(&doc);
	return c->n > 1;
}

static double limit_of(const struct html *h, const char *metric)
{
	for (int64_t i = 0; i < h->card->n_findings; i++)
		if (strcmp(h->card->findings[i].rule->metric, metric) == 0 &&
		    h->card->findings[i].rule->reading == RULE_SOUND &&
		    isfinite(h->card->findings[i].limit))
			return h->card->findings[i].limit;
	return NAN;
}

static int by_value(const void *a, const void *b)
{
	const struct curve *x = a, *y = b;

	return x->r->value < y->r->value ? -1 : x->r->value > y->r->value;
}

static void draw_sizes(struct html *h, struct curve *c, int n)
{
	const struct reading *r = c[0].r;
	double x[] = {INFINITY, 0}, y[] = {INFINITY, 0}, limit = limit_of(h, r->metric);
	const char *label = r->metric;
	struct plot p;

	qsort(c, (size_t)n, sizeof(*c), by_value);
	n = n < CURVES ? n : CURVES;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < c[i].n; k++) {
			x[0] = fmin(x[0], c[i].x[k]);
			x[1] = fmax(x[1], c[i].x[k]);
			y[0] = fmin(y[0], c[i].y[k]);
			y[1] = fmax(y[1], c[i].y[k]);
		}
	if (isfinite(limit))
		y[1] = fmax(y[1], limit);
	str_add(h->out, "<figure><figcaption><b>");
	markup_text(h->out, label);
	str_add(h->out, "</b> ");
	markup_text(h->out, say(MSG_html_sizes, c[0].r->node, fmt_measure(c[0].r->value, r->unit)));
	str_add(h->out, "</figcaption>");
	p.x = scale_over(x[0], x[1], true);
	p.x.binary = true;
	p.y = scale_over(y[0], y[1], true);
	plot_begin(&p, h->out, WIDTH, HEIGHT, label, "");
	plot_axis_y(&p, r->unit);
	plot_axis_x(&p, msg_format(MSG_html_size));
	plot_limit_y(&p, limit, msg_format(MSG_html_limit));
	for (int i = 0; i < n; i++) {
		plot_line(&p, c[i].x, c[i].y, c[i].n, i ? "series more" : "series");
		for (int k = 0; k < c[i].n; k++)
			plot_mark(&p, c[i].x[k], c[i].y[k], i ? "point more" : "point",
			          tmpf("%s: %s, %s", c[i].r->node, fmt_bytes((int64_t)c[i].x[k]),
			               fmt_measure(c[i].y[k], r->unit)));
	}
	plot_end(&p);
	str_add(h->out, "</figure>\n");
}

void html_view_sweeps(struct html *h)
{
	const struct scorecard *c = h->card;
	struct curve *curves = arena_array(&h->arena, (size_t)c->n_readings + 1, sizeof(*curves));
	bool *done = arena_array(&h->arena, (size_t)c->n_readings + 1, sizeof(*done));
	bool any = false;

	for (int64_t i = 0; i < c->n_readings; i++) {
		int n = 0;

		if (done[i] || c->readings[i]->outcome != OUTCOME_MEASURED)
			continue;
		for (int64_t k = i; k < c->n_readings; k++)
			if (!done[k] &&
			    strcmp(c->readings[k]->metric, c->readings[i]->metric) == 0) {
				done[k] = true;
				n += c->readings[k]->value_kind == VALUE_NUMBER &&
				     read_sizes(&curves[n], c->readings[k]);
			}
		if (!n)
			continue;
		if (!any)
			html_section(h, "sweeps", MSG_html_sweeps);
		any = true;
		draw_sizes(h, curves, n);
	}
	if (any)
		html_section_end(h);
}

/* --- storage ------------------------------------------------------------------------------ */

static double depth_of(const char *point)
{
	return point && strncmp(point, "depth=", 6) == 0 ? atof(point + 6) : NAN;
}

struct depths {
	double depth[SIZES], value[SIZES];
	int n;
};

static void take_depths(struct depths *d, struct span node, const char *name)
{
	d->n = 0;
	for (int64_t i = 0; i < node.n && d->n < SIZES; i++) {
		const struct reading *r = node.items[i].r;

		if (strcmp(node.items[i].name, name) != 0 || r->outcome != OUTCOME_MEASURED ||
		    !(depth_of(r->point) > 0) || !(r->value > 0))
			continue;
		d->depth[d->n] = depth_of(r->point);
		d->value[d->n++] = r->value;
	}
	for (int i = 1; i < d->n; i++)
		for (int k = i; k > 0 && d->depth[k - 1] > d->depth[k]; k--) {
			double x = d->depth[k], y = d->value[k];

			d->depth[k] = d->depth[k - 1];
			d->value[k] = d->value[k - 1];
			d->depth[k - 1] = x;
			d->value[k - 1] = y;
		}
}

static void draw_depths(struct html *h, struct span node, const char *name, const char *unit)
{
	struct depths d;
	double lo = INFINITY, hi = 0;
	struct plot p;

	take_depths(&d, node, name);
	if (d.n < 2)
		return;
	for (int i = 0; i < d.n; i++) {
		lo = fmin(lo, d.value[i]);
		hi = fmax(hi, d.value[i]);
	}
	p.x = scale_over(d.depth[0], d.depth[d.n - 1], true);
	p.y = scale_over(lo, hi, true);
	plot_begin(&p, h->out, WIDTH, 200,
	           tmpf("%s, %s", node.items[0].r->subject.id, node.items[0].r->metric), "");
	plot_axis_y(&p, unit);
	plot_axis_x(&p, msg_format(MSG_depth_depth));
	plot_line(&p, d.depth, d.value, d.n, "series");
	for (int i = 0; i < d.n; i++)
		plot_mark(&p, d.depth[i], d.value[i], "point",
		          tmpf("%s %g: %s", msg_format(MSG_depth_depth), d.depth[i],
		               fmt_measure(d.value[i], unit)));
	plot_end(&p);
}

void html_view_storage(struct html *h)
{
	struct report_options o = {.width = 80, .utf8 = true};
	struct span all = span_gather(h->card), rest = all, path, node;
	struct str table = {0};
	int64_t nodes;

	if (!all.n) {
		free((void *)all.items);
		return;
	}
	html_section(h, "storage", MSG_html_storage);
	for (; rest.n; rest = span_rest(rest, path)) {
		path = span_first(rest, false);
		node = span_slowest(path, "storage_read_iops", &nodes);
		if (!node.n)
			continue;
		str_add(h->out, "<figure><figcaption><b>");
		markup_text(h->out, path.items[0].r->subject.id);
		str_add(h->out, "</b> ");
		markup_text(h->out, span_node(node));
		str_add(h->out, "</figcaption>");
		draw_depths(h, node, "storage_read_iops", "IOPS");
		draw_depths(h, node, "storage_read_lat_p99_ms", "ms");
		str_add(h->out, "</figure>\n");
	}
	if (storage_table(&table, h->card, &o, 80, NULL) == ST_OK && table.len) {
		str_add(h->out, "<pre>");
		markup_text(h->out, table.data);
		str_add(h->out, "</pre>\n");
	}
	str_release(&table);
	free((void *)all.items);
	html_section_end(h);
}
