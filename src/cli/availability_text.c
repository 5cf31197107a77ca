/* What assay availability says. The verdict first, then what it rests on: minutes by
 * node, bounds, what the length of the watch supports, each outage. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/unit.h"
#include "cli/service_text.h"
#include "report/table.h"
#include "report/words.h"
#include "service/moment.h"

#define MOST_ROWS 12

void text_line(struct str *out, const char *text, int indent, const struct report_options *o)
{
	struct str shown = {0};

	if (o->utf8)
		str_add(&shown, text);
	else
		words_ascii(&shown, text);
	str_pad(out, ' ', (size_t)indent);
	words_wrap(out, str_text(&shown), indent, indent + 2, o->width);
	str_release(&shown);
}

const char *text_percent(double share)
{
	if (!isfinite(share))
		return "-";
	/* 99.99996 must not read as 100. */
	return tmpf("%.6g %%", floor(share * 1e6 + 1e-6) / 1e4);
}

const char *text_moment(int64_t ns)
{
	struct str text = {0};
	const char *shown;

	time_add_utc(&text, ns);
	shown = tmpf("%.10s %.5s UTC", text.data, text.data + 11);
	str_release(&text);
	return shown;
}

static const char *minutes(double s)
{
	return tmpf("%.1f", s / 60);
}

static const char *days(double d)
{
	return tmpf(d < 100 ? "%.1f" : "%.0f", d);
}

/* --- verdict ------------------------------------------------------------------------ */

static void verdict_line(struct str *out, const struct availability *a,
                         const struct report_options *o)
{
	const char *share = text_percent(a->a_node), *target = text_percent(a->options.target);
	const char *period = fmt_value(a->options.days);

	if (a->verdict == SERVICE_MET)
		text_line(out, say(MSG_availability_met, share, target), 2, o);
	else if (a->already)
		text_line(out, say(MSG_availability_spent, share, target, period), 2, o);
	else if (a->verdict == SERVICE_MISSED)
		text_line(out, say(MSG_availability_missed, share, target), 2, o);
	else if (a->open_unknown)
		text_line(out,
		          say(MSG_availability_open, text_percent(a->unknown_share),
		              text_percent(AVAILABILITY_UNKNOWN_MOST), target),
		          2, o);
	else
		text_line(
			out,
			say(MSG_availability_short, share, target, days(a->calendar_days), period),
			2, o);
}

/* --- nodes ----------------------------------------------------------------------------- */

static double lost(const struct node_time *n)
{
	return n->down_s + n->degraded_s + n->unknown_s;
}

static int worst_first(const void *a, const void *b)
{
	const struct node_time *x = *(const struct node_time *const *)a;
	const struct node_time *y = *(const struct node_time *const *)b;

	if (lost(x) != lost(y))
		return lost(x) > lost(y) ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void node_row(struct str *cells, const struct node_time *n)
{
	str_add(&cells[0], words_shown(n->name));
	str_add(&cells[1], minutes(n->up_s));
	str_add(&cells[2], minutes(n->degraded_s));
	str_add(&cells[3], minutes(n->down_s));
	str_add(&cells[4], minutes(n->unknown_s));
	str_add(&cells[5], minutes(n->planned_s));
	str_add(&cells[6], minutes(n->customer_s));
	str_addf(&cells[7], "%d", n->outages);
}

#define NODE_COLUMNS 8

static bool node_table(struct str *out, const struct availability *a,
                       const struct report_options *o)
{
	const struct table_column columns[NODE_COLUMNS] = {
		{msg_format(MSG_availability_node), false},
		{msg_format(MSG_availability_up), true},
		{msg_format(MSG_availability_degraded), true},
		{msg_format(MSG_availability_down), true},
		{msg_format(MSG_availability_unknown), true},
		{msg_format(MSG_availability_planned), true},
		{msg_format(MSG_availability_own), true},
		{msg_format(MSG_availability_outages), true}};
	const struct table table = {columns, NODE_COLUMNS, true, 2, o->utf8};
	int rows = a->n_nodes < MOST_ROWS ? a->n_nodes : MOST_ROWS;
	const struct node_time **order = calloc((size_t)a->n_nodes + 1, sizeof(*order));
	struct str cells[MOST_ROWS * NODE_COLUMNS] = {{0}};
	bool ok;

	if (!order)
		die_nomem();
	for (int i = 0; i < a->n_nodes; i++)
		order[i] = &a->nodes[i];
	qsort(order, (size_t)a->n_nodes, sizeof(*order), worst_first);
	for (int i = 0; i < rows; i++)
		node_row(&cells[i * NODE_COLUMNS], order[i]);
	ok = table_print(out, &table, cells, rows);
	for (int i = 0; i < rows * NODE_COLUMNS; i++)
		str_release(&cells[i]);
	free(order);
	if (a->n_nodes > rows)
		text_line(out, say(MSG_availability_more_nodes, tmpf("%d", a->n_nodes - rows)), 2,
		          o);
	return ok;
}

/* --- shares and what they support -------------------------------------------------------- */

static void share_lines(struct str *out, const struct availability *a,
                        const struct report_options *o)
{
	text_line(out,
	          say(MSG_availability_pair, text_percent(a->a_node_low),
	              text_percent(a->a_node_high), minutes(a->unknown_s)),
	          2, o);
	text_line(out,
	          say(MSG_availability_contract, text_percent(a->a_contract),
	              text_percent(a->a_all_in)),
	          2, o);
	if (a->n_nodes > 1)
		text_line(out,
		          say(MSG_availability_all, tmpf("%d", a->n_nodes), text_percent(a->a_all),
		              text_percent(a->a_all_high)),
		          2, o);
}

static void support_lines(struct str *out, const struct availability *a,
                          const struct report_options *o)
{
	const char *target = text_percent(a->options.target);

	text_line(out,
	          a->alone ? say(MSG_availability_seen, tmpf("%d", a->alone),
	                         fmt_value(a->alone_min), text_percent(a->low95),
	                         text_percent(a->high95), text_percent(a->bound95))
	                   : say(MSG_availability_assumed, fmt_value(a->options.repair_min),
	                         text_percent(a->low95), text_percent(a->high95),
	                         text_percent(a->bound95)),
	          2, o);
	text_line(out,
	          say(MSG_availability_support, target, tmpf("%.0f", floor(a->confidence * 100)),
	              days(a->node_days), days(a->needed_days), days(a->missing_days)),
	          2, o);
	if (isfinite(a->low95_common))
		text_line(out,
		          say(MSG_availability_common, tmpf("%d", a->common),
		              text_percent(a->low95_common), days(a->calendar_days),
		              days(a->missing_calendar_days)),
		          2, o);
}

/* --- outages ------------------------------------------------------------------------------- */

static const struct outage_ticket *ticket_of(const struct tickets *t, int outage)
{
	for (int i = 0; t && i < t->n_joined; i++)
		if (t->joined[i].outage == outage)
			return &t->joined[i];
	return NULL;
}

static void outage_line(struct str *out, const struct availability *a, int index,
                        const struct tickets *t, const struct report_options *o)
{
	const struct outage *x = &a->outages[index];
	const struct outage_ticket *j = ticket_of(t, index);
	struct str text = {0};

	msg_add(&text, MSG_availability_outage, text_moment(x->from_ns),
	        words_shown(a->nodes[x->node].name), minutes((double)(x->to_ns - x->from_ns) / 1e9),
	        tmpf("%lld", (long long)outage_minutes(x)));
	if (x->cause == CAUSE_PLANNED)
		msg_add(&text, MSG_availability_was_planned);
	if (x->cause == CAUSE_CUSTOMER)
		msg_add(&text, MSG_availability_was_own);
	if (x->common)
		msg_add(&text, MSG_availability_was_common, tmpf("%d", x->common));
	if (j && j->ticket < 0)
		msg_add(&text, MSG_availability_no_ticket);
	if (j && j->ticket >= 0)
		msg_add(&text, MSG_availability_ticket, words_shown(t->list[j->ticket].id),
		        tmpf("%.0f", j->noticed_min));
	text_line(out, str_text(&text), 4, o);
	str_release(&text);
}

static void outage_lines(struct str *out, const struct availability *a, const struct tickets *t,
                         const struct report_options *o)
{
	int shown = a->n_outages < MOST_ROWS ? a->n_outages : MOST_ROWS, blips = 0;

	if (a->n_outages)
		text_line(out, say(MSG_availability_outages_head, tmpf("%d", a->n_outages)), 2, o);
	for (int i = 0; i < shown; i++)
		outage_line(out, a, i, t, o);
	if (a->n_outages > shown)
		text_line(out, say(MSG_availability_more, tmpf("%d", a->n_outages - shown)), 4, o);
	for (int i = 0; i < a->n_nodes; i++)
		blips += a->nodes[i].blips;
	text_line(out, say(MSG_availability_blind, tmpf("%d", blips), fmt_value(a->period_s)), 2,
	          o);
}

/* --- what went wrong with the watch itself -------------------------------------------------- */

static void watch_lines(struct str *out, const struct availability *a,
                        const struct report_options *o)
{
	int steps = 0, inside_only = 0, outside_only = 0;
	int64_t lost_beats = 0;
	double boot_down_s = 0;

	for (int i = 0; i < a->n_nodes; i++) {
		steps += a->nodes[i].steps;
		lost_beats += a->nodes[i].lost_beats;
		boot_down_s += a->nodes[i].boot_down_s;
		inside_only += !a->nodes[i].outside;
		outside_only += !a->nodes[i].agent;
	}
	if (inside_only)
		text_line(out, say(MSG_availability_inside, tmpf("%d", inside_only)), 2, o);
	if (outside_only)
		text_line(out, say(MSG_availability_outside, tmpf("%d", outside_only)), 2, o);
	if (boot_down_s > 0)
		text_line(out, say(MSG_availability_by_boot, minutes(boot_down_s)), 2, o);
	if (steps)
		text_line(out, say(MSG_availability_steps, tmpf("%d", steps)), 2, o);
	if (lost_beats)
		text_line(out,
		          say(MSG_availability_lost_beats, tmpf("%lld", (long long)lost_beats)), 2,
		          o);
	for (int i = 0; i < a->n_notes; i++)
		text_line(out, words_shown(a->notes[i]), 2, o);
}

bool availability_text(struct str *out, const struct availability *a, const struct tickets *t,
                       const struct report_options *o)
{
	bool ok;

	text_line(out,
	          say(MSG_availability_head, tmpf("%d", a->n_nodes), text_moment(a->first_ns),
	              text_moment(a->last_ns), days(a->calendar_days)),
	          0, o);
	str_addc(out, '\n');
	verdict_line(out, a, o);
	str_addc(out, '\n');
	ok = node_table(out, a, o);
	str_addc(out, '\n');
	share_lines(out, a, o);
	support_lines(out, a, o);
	outage_lines(out, a, t, o);
	watch_lines(out, a, o);
	if (t) {
		str_addc(out, '\n');
		tickets_text(out, t, a, o);
	}
	return ok;
}
