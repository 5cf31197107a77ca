/* Service and cost in Markdown: what the page shows as pictures, as tables. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "report/markup.h"
#include "report/service_facts.h"
#include "report/service_writers.h"
#include "report/words.h"

struct page {
	struct str *out;
	int items; /* rows of a table; 0: all */
	struct arena arena;
};

static void cell(struct page *p, const char *text)
{
	str_add(p->out, "| ");
	markdown_text(p->out, text);
	str_addc(p->out, ' ');
}

static void row_end(struct page *p)
{
	str_add(p->out, "|\n");
}

/* The head of a table below its title. `numbers`: a letter for each column, 'n' for those
 * that hold numbers. */
static void head(struct page *p, const char *title, const char *const *columns, const char *numbers)
{
	int n = (int)strlen(numbers);

	str_add(p->out, "\n**");
	markdown_text(p->out, title);
	str_add(p->out, "**\n\n");
	for (int i = 0; i < n; i++)
		cell(p, columns[i]);
	row_end(p);
	for (int i = 0; i < n; i++)
		str_add(p->out, numbers[i] == 'n' ? "| ---: " : "| --- ");
	row_end(p);
}

static void section(struct page *p, enum msg title)
{
	str_add(p->out, "\n### ");
	markdown_text(p->out, msg_format(title));
	str_addc(p->out, '\n');
}

static void paragraph(struct page *p, const char *text)
{
	str_addc(p->out, '\n');
	markdown_text(p->out, text);
	str_addc(p->out, '\n');
}

static int most(const struct page *p, int n)
{
	return p->items && p->items < n ? p->items : n;
}

static void left_out(struct page *p, int n)
{
	if (n > most(p, n))
		paragraph(p, say(MSG_and_more, words_count(n - most(p, n))));
}

/* --- availability and tickets ------------------------------------------------------- */

static void availability(struct page *p, const struct scorecard *card)
{
	struct service_node *nodes;
	int n = service_nodes_read(&nodes, &p->arena, card);
	const char *const columns[] = {
		msg_format(MSG_availability_node),     msg_format(MSG_availability_up),
		msg_format(MSG_availability_degraded), msg_format(MSG_availability_down),
		msg_format(MSG_availability_unknown),  msg_format(MSG_availability_planned),
		msg_format(MSG_availability_own)};

	if (!n)
		return;
	section(p, MSG_html_service);
	head(p, msg_format(MSG_view_availability), columns, "tnnnnnn");
	for (int i = 0; i < most(p, n); i++) {
		const double minutes[] = {nodes[i].up_min,      nodes[i].degraded_min,
		                          nodes[i].down_min,    nodes[i].unknown_min,
		                          nodes[i].planned_min, nodes[i].customer_min};

		cell(p, nodes[i].node);
		for (int k = 0; k < 6; k++)
			cell(p, service_minutes(minutes[k]));
		row_end(p);
	}
	left_out(p, n);
}

static void slow_tickets(struct page *p, const struct service_tickets *t)
{
	const char *const columns[] = {msg_format(MSG_view_ticket), msg_format(MSG_view_opened),
	                               msg_format(MSG_view_reply)};
	int slow[SERVICE_ROWS], n = service_slowest(t, slow, SERVICE_ROWS);

	if (!n)
		return;
	head(p, msg_format(MSG_view_slow), columns, "ttn");
	for (int i = 0; i < n; i++) {
		const struct service_ticket *k = &t->list[slow[i]];

		cell(p, k->id);
		cell(p, service_moment(k->opened));
		cell(p, isfinite(k->response_min)
		                ? service_minutes(k->response_min)
		                : say(MSG_view_no_reply, service_minutes(k->waiting_min)));
		row_end(p);
	}
	if (t->late > n)
		paragraph(p, say(MSG_and_more, words_count(t->late - n)));
}

static void tickets(struct page *p, const struct scorecard *card)
{
	const char *const columns[] = {msg_format(MSG_view_opened), msg_format(MSG_view_tickets),
	                               msg_format(MSG_view_in_time), msg_format(MSG_html_median)};
	struct service_tickets t;

	if (!service_tickets_read(&t, &p->arena, card))
		return;
	section(p, MSG_view_response);
	paragraph(p, service_tickets_words(&t));
	if (t.judged)
		paragraph(p, service_tickets_share(&t));
	if (t.stated)
		paragraph(p, say(MSG_tickets_stated, words_count(t.stated)));
	head(p, msg_format(MSG_view_hours), columns, "tnnn");
	for (int i = 0; i < SERVICE_HOURS; i++) {
		cell(p, msg_format(t.hours[i].name));
		cell(p, words_count(t.hours[i].n));
		cell(p, words_count(t.hours[i].in_time));
		cell(p, service_minutes(t.hours[i].median_min));
		row_end(p);
	}
	slow_tickets(p, &t);
}

/* --- bill --------------------------------------------------------------------------- */

static void bill_tables(struct page *p, const struct service_bill *b)
{
	const char *const classes[] = {msg_format(MSG_view_class), msg_format(MSG_view_lines),
	                               msg_format(MSG_view_billed), msg_format(MSG_view_hidden)};
	const char *const steps[] = {msg_format(MSG_view_step), msg_format(MSG_view_amount)};

	head(p, msg_format(MSG_bill_classes), classes, "tnnn");
	for (int i = 0; i < b->n_classes; i++) {
		cell(p, service_class_name(b->classes[i].word));
		cell(p, words_count(b->classes[i].lines));
		cell(p, service_money(b->classes[i].billed));
		cell(p, service_money(b->classes[i].excess));
		row_end(p);
	}
	head(p, say(MSG_view_waterfall, b->currency), steps, "tn");
	for (int i = 0; i < b->n_steps; i++) {
		cell(p, service_step_name(b->steps[i].word));
		cell(p, service_step_amount(&b->steps[i]));
		row_end(p);
	}
}

static void bill_lines(struct page *p, const struct service_bill *b)
{
	const char *const columns[] = {msg_format(MSG_view_line), msg_format(MSG_view_class),
	                               msg_format(MSG_view_what), msg_format(MSG_view_billed),
	                               msg_format(MSG_view_by_quote)};

	if (!b->n_examples)
		return;
	head(p, msg_format(MSG_bill_examples), columns, "nttnn");
	for (int i = 0; i < b->n_examples; i++) {
		const struct service_line *l = &b->examples[i];

		cell(p, tmpf("%lld", (long long)l->line));
		cell(p, service_class_name(l->class));
		cell(p, l->what ? l->what : "");
		cell(p, service_money(l->billed));
		cell(p, l->quoted ? service_money(l->expected) : "-");
		row_end(p);
	}
}

static void bill(struct page *p, const struct scorecard *card)
{
	struct service_bill b;

	if (!service_bill_read(&b, &p->arena, card))
		return;
	section(p, MSG_view_bill);
	paragraph(p, service_bill_words(&b));
	paragraph(p, say(MSG_view_bill_head, words_count(b.lines), b.from, b.to, b.currency));
	if (b.n_open)
		paragraph(p, msg_format(MSG_view_bill_open));
	for (int i = 0; i < b.n_open; i++)
		paragraph(p, b.open[i]);
	bill_tables(p, &b);
	bill_lines(p, &b);
}

/* --- projection ----------------------------------------------------------------------- */

static void case_row(struct page *p, const char *name, const double of[SERVICE_CASES],
                     const char *(*text)(double))
{
	cell(p, name);
	for (int i = 0; i < SERVICE_CASES; i++)
		cell(p, isfinite(of[i]) ? text(of[i]) : "-");
}

static void results(struct page *p, const struct service_projection *j)
{
	const char *const columns[] = {msg_format(MSG_html_figure), msg_format(MSG_estimate_best),
	                               msg_format(MSG_estimate_mid),
	                               msg_format(MSG_estimate_worst)};

	head(p, msg_format(MSG_view_projection_case), columns, "tnnn");
	case_row(p, msg_format(MSG_estimate_days), j->days, fmt_value);
	row_end(p);
	case_row(p, msg_format(MSG_estimate_card_hours), j->hours, service_large);
	row_end(p);
	if (isfinite(j->cost[1])) {
		case_row(p, say(MSG_estimate_cost, j->currency), j->cost, service_large);
		row_end(p);
	}
	case_row(p, msg_format(MSG_estimate_mfu), j->mfu, fmt_value);
	row_end(p);
	case_row(p, msg_format(MSG_estimate_ettr), j->ettr, fmt_value);
	row_end(p);
}

static void inputs(struct page *p, const struct service_projection *j)
{
	const char *const columns[] = {msg_format(MSG_view_input), msg_format(MSG_estimate_best),
	                               msg_format(MSG_estimate_mid), msg_format(MSG_estimate_worst),
	                               msg_format(MSG_html_origin)};

	head(p, msg_format(MSG_view_projection_inputs), columns, "tnnnt");
	for (int i = 0; i < j->n_inputs; i++) {
		case_row(p, msg_format(j->inputs[i].name), j->inputs[i].of, fmt_value);
		cell(p, service_origin_name(j->inputs[i].origin));
		row_end(p);
	}
}

static void projection(struct page *p, const struct scorecard *card)
{
	struct service_projection j;
	struct str why = {0};

	if (!service_projection_read(&j, &p->arena, card))
		return;
	section(p, MSG_view_projection);
	if (j.open) {
		words_said(&why, j.open);
		paragraph(p, str_text(&why));
		str_release(&why);
		return;
	}
	paragraph(p, service_projection_words(&j));
	if (j.simulated)
		paragraph(p, msg_format(MSG_estimate_simulated));
	paragraph(p, service_price_words(&j));
	results(p, &j);
	inputs(p, &j);
	paragraph(p, msg_format(MSG_view_projection_note));
}

void service_markdown(struct str *out, const struct scorecard *card, int items)
{
	struct str text = {0};
	struct page p = {.out = &text, .items = items};

	availability(&p, card);
	tickets(&p, card);
	bill(&p, card);
	projection(&p, card);
	if (text.len) {
		str_add(out, "\n## ");
		markdown_text(out, msg_format(MSG_view_service));
		str_addc(out, '\n');
		str_addn(out, text.data, text.len);
	}
	str_release(&text);
	arena_release(&p.arena);
}
