/* Response times: each ticket by when it was opened and how long a person's reply took,
 * since one late in two hundred is seen in a picture and in no average. */
#include <math.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/html_plot.h"
#include "report/service_facts.h"
#include "report/words.h"

#define WIDTH  720
#define HEIGHT 250
/* Replies within the second would have no place on a logarithmic scale. */
#define LEAST_MIN 0.1

static double shown_min(const struct service_ticket *k)
{
	return fmax(isfinite(k->response_min) ? k->response_min : k->waiting_min, LEAST_MIN);
}

static const char *title_of(const struct service_ticket *k)
{
	if (isfinite(k->response_min))
		return say(MSG_tickets_late, words_shown(k->id), service_moment(k->opened),
		           service_minutes(k->response_min));
	return say(MSG_tickets_unanswered, words_shown(k->id), service_moment(k->opened),
	           service_minutes(k->waiting_min));
}

static void draw(struct html *h, const struct service_tickets *t)
{
	double least = t->limit_min, most = t->limit_min, days = 0;
	struct plot p;

	for (int i = 0; i < t->n; i++) {
		least = fmin(least, shown_min(&t->list[i]));
		most = fmax(most, shown_min(&t->list[i]));
		days = fmax(days, t->list[i].days);
	}
	str_add(h->out, "<figure><figcaption>");
	markup_text(h->out, msg_format(MSG_view_response_note));
	str_add(h->out, "</figcaption>");
	p.x = scale_over(0, days, false);
	p.y = scale_over(least, most, true);
	plot_begin(&p, h->out, WIDTH, HEIGHT, msg_format(MSG_view_response_chart), "");
	plot_axis_y(&p, msg_format(MSG_view_axis_reply));
	plot_axis_x(&p, msg_format(MSG_view_axis_days));
	plot_limit_y(&p, t->limit_min, say(MSG_view_limit_min, fmt_value(t->limit_min)));
	for (int i = 0; i < t->n; i++) {
		const struct service_ticket *k = &t->list[i];

		plot_mark(&p, k->days, shown_min(k), k->late ? "fail" : "point", title_of(k));
	}
	plot_end(&p);
	str_add(h->out, "</figure>\n");
}

static void hours(struct html *h, const struct service_tickets *t)
{
	static const enum msg columns[] = {MSG_view_opened, MSG_view_tickets, MSG_view_in_time,
	                                   MSG_html_median};
	const struct html_table table = {"ticket-hours", MSG_view_hours, columns, "tnnn", 4, false};

	html_table_begin(h, &table);
	for (int i = 0; i < SERVICE_HOURS; i++) {
		const struct service_hours *g = &t->hours[i];

		html_row(h);
		html_cell(h, msg_format(g->name));
		html_number(h, g->n, words_count(g->n));
		html_number(h, g->in_time, words_count(g->in_time));
		html_number(h, g->median_min, service_minutes(g->median_min));
	}
	html_table_end(h);
}

static void slowest(struct html *h, const struct service_tickets *t)
{
	static const enum msg columns[] = {MSG_view_ticket, MSG_view_opened, MSG_view_reply};
	const struct html_table table = {"tickets-late", MSG_view_slow, columns, "ttn", 3, false};
	int index[SERVICE_ROWS], n = service_slowest(t, index, SERVICE_ROWS);

	if (!n)
		return;
	html_table_begin(h, &table);
	for (int i = 0; i < n; i++) {
		const struct service_ticket *k = &t->list[index[i]];
		bool replied = isfinite(k->response_min);

		html_row(h);
		html_cell(h, k->id);
		html_cell(h, service_moment(k->opened));
		html_number(h, replied ? k->response_min : k->waiting_min,
		            replied ? service_minutes(k->response_min)
		                    : say(MSG_view_no_reply, service_minutes(k->waiting_min)));
	}
	html_table_end(h);
	if (t->late > n)
		html_note(h, say(MSG_and_more, words_count(t->late - n)));
}

void html_view_response(struct html *h)
{
	struct service_tickets t;

	if (!service_tickets_read(&t, &h->arena, h->card))
		return;
	html_section(h, "response", MSG_view_response);
	str_add(h->out, "<p>");
	markup_text(h->out, service_tickets_words(&t));
	str_add(h->out, "</p>\n");
	if (t.judged)
		html_note(h, service_tickets_share(&t));
	if (t.n)
		draw(h, &t);
	hours(h, &t);
	slowest(h, &t);
	if (t.pending)
		html_note(h, say(MSG_tickets_pending, words_count(t.pending)));
	if (t.stated)
		html_note(h, say(MSG_tickets_stated, words_count(t.stated)));
	if (t.repaired)
		html_note(h, say(MSG_tickets_repair, words_count(t.repaired),
		                 service_minutes(t.repair_median_min),
		                 service_minutes(t.repair_max_min)));
	html_section_end(h);
}
