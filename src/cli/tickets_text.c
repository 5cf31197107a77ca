/* What is said of tickets, and both as JSON. */
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/unit.h"
#include "cli/service_text.h"
#include "report/words.h"
#include "service/support.h"

#define MOST_LATE 8

static const char *min_text(double minutes)
{
	return isfinite(minutes) ? tmpf("%.1f", minutes) : "-";
}

static void verdict_line(struct str *out, const struct tickets *t, const struct report_options *o)
{
	const char *in_time = tmpf("%d", t->in_time), *judged = tmpf("%d", t->judged);
	const char *limit = fmt_value(t->options.limit_min);

	if (t->verdict == SERVICE_MISSED)
		text_line(out, say(MSG_tickets_missed, in_time, judged, limit), 2, o);
	else if (t->verdict == SERVICE_MET)
		text_line(out, say(MSG_tickets_met, in_time, judged, limit), 2, o);
	else if (t->judged == 0)
		text_line(out, say(MSG_tickets_none), 2, o);
	else
		text_line(out,
		          say(MSG_tickets_few, in_time, judged, limit,
		              tmpf("%d", support_tickets(0.90, 0.05)),
		              tmpf("%d", support_tickets(0.95, 0.05)),
		              tmpf("%d", support_tickets(0.99, 0.05))),
		          2, o);
}

static void hours_lines(struct str *out, const struct tickets *t, const struct report_options *o)
{
	static const enum msg names[] = {MSG_tickets_day, MSG_tickets_night, MSG_tickets_weekend};
	int zone = t->options.zone_min, size = zone < 0 ? -zone : zone;

	text_line(out,
	          say(MSG_tickets_hours,
	              tmpf("%c%02d:%02d", zone < 0 ? '-' : '+', size / 60, size % 60)),
	          2, o);
	for (int h = 0; h < HOURS_KINDS; h++) {
		const struct ticket_group *g = &t->by_hours[h];

		text_line(out,
		          say(MSG_tickets_group, msg_format(names[h]), tmpf("%d", g->in_time),
		              tmpf("%d", g->n), min_text(g->median_min)),
		          4, o);
	}
}

static void late_lines(struct str *out, const struct tickets *t, const struct report_options *o)
{
	int shown = 0;

	for (int i = 0; i < t->count; i++) {
		const struct ticket *k = &t->list[i];

		if (!k->late || shown++ >= MOST_LATE)
			continue;
		text_line(out,
		          isfinite(k->response_min)
		                  ? say(MSG_tickets_late, words_shown(k->id),
		                        text_moment(k->opened_ns), min_text(k->response_min))
		                  : say(MSG_tickets_unanswered, words_shown(k->id),
		                        text_moment(k->opened_ns), min_text(k->waiting_min)),
		          4, o);
	}
	if (shown > MOST_LATE)
		text_line(out, say(MSG_availability_more, tmpf("%d", shown - MOST_LATE)), 4, o);
}

void tickets_text(struct str *out, const struct tickets *t, const struct availability *a,
                  const struct report_options *o)
{
	verdict_line(out, t, o);
	if (t->judged)
		text_line(out,
		          say(MSG_tickets_share, text_percent(t->share), text_percent(t->low95),
		              text_percent(t->high95), min_text(t->median_min),
		              min_text(t->max_min)),
		          2, o);
	late_lines(out, t, o);
	if (t->pending)
		text_line(out, say(MSG_tickets_pending, tmpf("%d", t->pending)), 2, o);
	if (t->judged)
		hours_lines(out, t, o);
	if (t->repaired)
		text_line(out,
		          say(MSG_tickets_repair, tmpf("%d", t->repaired),
		              min_text(t->repair_median_min), min_text(t->repair_max_min)),
		          2, o);
	if (t->stated)
		text_line(out, say(MSG_tickets_stated, tmpf("%d", t->stated)), 2, o);
	if (a->n_outages)
		text_line(out,
		          say(MSG_tickets_joined, tmpf("%d", t->n_joined),
		              tmpf("%d", t->unticketed), tmpf("%d", t->by_customer),
		              tmpf("%d", t->by_provider)),
		          2, o);
}

/* --- JSON ------------------------------------------------------------------------------ */

static const char *const verdicts[] = {"met", "missed", "too_short"};

static void put_moment(struct json_out *j, const char *key, int64_t ns)
{
	struct str text = {0};

	time_add_utc(&text, ns);
	json_put_string(j, key, text.data);
	str_release(&text);
}

static void put_nodes(struct json_out *j, const struct availability *a)
{
	json_array_begin(j, "nodes");
	for (int i = 0; i < a->n_nodes; i++) {
		const struct node_time *n = &a->nodes[i];

		json_object_begin(j, NULL);
		json_put_string(j, "node", n->name);
		json_put_number(j, "up_min", n->up_s / 60);
		json_put_number(j, "degraded_min", n->degraded_s / 60);
		json_put_number(j, "down_min", n->down_s / 60);
		json_put_number(j, "unknown_min", n->unknown_s / 60);
		json_put_number(j, "planned_min", n->planned_s / 60);
		json_put_number(j, "customer_min", n->customer_s / 60);
		json_put_int(j, "outages", n->outages);
		json_put_int(j, "below_a_minute", n->blips);
		json_put_int(j, "clock_steps", n->steps);
		json_put_bool(j, "agent", n->agent);
		json_put_bool(j, "outside", n->outside);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_outages(struct json_out *j, const struct availability *a)
{
	json_array_begin(j, "outages");
	for (int i = 0; i < a->n_outages; i++) {
		const struct outage *x = &a->outages[i];

		json_object_begin(j, NULL);
		json_put_string(j, "node", a->nodes[x->node].name);
		put_moment(j, "from_utc", x->from_ns);
		put_moment(j, "to_utc", x->to_ns);
		json_put_int(j, "contract_min", outage_minutes(x));
		json_put_string(j, "cause", cause_name(x->cause));
		json_put_int(j, "common", x->common);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_tickets(struct json_out *j, const struct tickets *t)
{
	json_object_begin(j, "tickets");
	json_put_string(j, "verdict", verdicts[t->verdict]);
	json_put_int(j, "judged", t->judged);
	json_put_int(j, "in_time", t->in_time);
	json_put_int(j, "pending", t->pending);
	json_put_int(j, "stated", t->stated);
	json_put_number(j, "limit_min", t->options.limit_min);
	json_put_number(j, "median_min", t->median_min);
	json_put_number(j, "max_min", t->max_min);
	json_put_number(j, "share", t->share);
	json_put_number(j, "low95", t->low95);
	json_put_number(j, "high95", t->high95);
	json_put_number(j, "repair_median_min", t->repair_median_min);
	json_put_int(j, "outages_without_ticket", t->unticketed);
	json_object_end(j);
}

void availability_json(struct str *out, const struct availability *a, const struct tickets *t)
{
	const struct {
		const char *key;
		double value;
	} figures[] = {{"target", a->options.target},
	               {"a_node", a->a_node},
	               {"a_node_unknown_down", a->a_node_low},
	               {"a_node_unknown_up", a->a_node_high},
	               {"a_node_contract", a->a_contract},
	               {"a_node_all_in", a->a_all_in},
	               {"a_all", a->a_all},
	               {"a_all_unknown_up", a->a_all_high},
	               {"unknown_share", a->unknown_share},
	               {"node_days", a->node_days},
	               {"calendar_days", a->calendar_days},
	               {"outage_min", a->assumed_min},
	               {"low95", a->low95},
	               {"high95", a->high95},
	               {"bound95", a->bound95},
	               {"low95_common", a->low95_common},
	               {"supported", a->confidence},
	               {"needed_node_days", a->needed_days},
	               {"missing_node_days", a->missing_days}};
	struct json_out j = json_writer(out, 1);

	json_object_begin(&j, NULL);
	json_put_string(&j, "verdict", verdicts[a->verdict]);
	put_moment(&j, "from_utc", a->first_ns);
	put_moment(&j, "to_utc", a->last_ns);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		json_put_number(&j, figures[i].key, figures[i].value);
	json_put_int(&j, "outages_alone", a->alone);
	json_put_int(&j, "outages_common", a->common);
	put_nodes(&j, a);
	put_outages(&j, a);
	if (t)
		put_tickets(&j, t);
	json_object_end(&j);
	str_addc(out, '\n');
}
