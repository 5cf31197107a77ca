/* JSON has what the evidence came to as it was worked out; CSV a row for each figure. */
#include "report/service_writers.h"

#include <math.h>
#include <string.h>

#include "report/csv.h"
#include "report/service_facts.h"

/* --- JSON ------------------------------------------------------------------------- */

static const struct reading *newest(const struct scorecard *c, const char *metric)
{
	for (int64_t i = c->n_readings - 1; i >= 0; i--)
		if (strcmp(c->readings[i]->metric, metric) == 0 && c->readings[i]->params)
			return c->readings[i];
	return NULL;
}

static void put_nodes(struct json_out *j, const struct scorecard *card)
{
	json_array_begin(j, "availability");
	for (int64_t i = 0; i < card->n_readings; i++) {
		const struct reading *r = card->readings[i];

		if (strcmp(r->metric, "availability_share") != 0 || !r->params)
			continue;
		json_object_begin(j, NULL);
		json_put_string(j, "node", r->node);
		json_put_raw(j, "watched", r->params);
		json_object_end(j);
	}
	json_array_end(j);
}

void service_json(struct json_out *j, const struct scorecard *card)
{
	static const struct {
		const char *key, *metric;
	} parts[] = {{"tickets", "ticket_response_min"},
	             {"bill", "bill_unquoted_cny"},
	             {"projection", "projected_days"}};
	bool nodes = newest(card, "availability_share") != NULL, any = nodes;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		any = any || newest(card, parts[i].metric);
	if (!any)
		return;
	json_object_begin(j, "service");
	if (nodes)
		put_nodes(j, card);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		const struct reading *r = newest(card, parts[i].metric);

		if (r)
			json_put_raw(j, parts[i].key, r->params);
	}
	json_object_end(j);
}

/* --- CSV -------------------------------------------------------------------------- */

/* What a row can say; the other columns stay empty. */
struct row {
	const char *id; /* of the ticket or the line, where it is about one */
	const char *node, *metric, *stat, *point;
	double value;
	const char *text, *unit;
};

/* Columns as in csv.c: row, criterion … verdict, subject_kind, subject, pci, node, metric,
 * stat, point, value, text, unit, limit … waived_by. */
static void add_row(struct str *out, const struct row *r)
{
	str_add(out, "service,,,,,,,");
	csv_next_text(out, r->id);
	str_addc(out, ',');
	csv_next_text(out, r->node);
	csv_next_text(out, r->metric);
	csv_next_text(out, r->stat);
	csv_next_text(out, r->point);
	csv_next_number(out, r->value);
	csv_next_text(out, r->text);
	csv_next_text(out, r->unit);
	str_add(out, ",,,,,,,,,\r\n");
}

static void node_rows(struct str *out, struct arena *arena, const struct scorecard *card)
{
	struct service_node *nodes;
	int n = service_nodes_read(&nodes, arena, card);

	for (int i = 0; i < n; i++) {
		const struct {
			const char *state;
			double minutes;
		} states[] = {
			{"up", nodes[i].up_min},           {"degraded", nodes[i].degraded_min},
			{"down", nodes[i].down_min},       {"unknown", nodes[i].unknown_min},
			{"planned", nodes[i].planned_min}, {"customer", nodes[i].customer_min}};

		for (size_t s = 0; s < sizeof(states) / sizeof(*states); s++)
			add_row(out, &(struct row){.node = nodes[i].node,
			                           .metric = "availability_min",
			                           .point = states[s].state,
			                           .value = states[s].minutes,
			                           .unit = "min"});
	}
}

static void ticket_rows(struct str *out, struct arena *arena, const struct scorecard *card)
{
	struct service_tickets t;

	if (!service_tickets_read(&t, arena, card))
		return;
	add_row(out, &(struct row){.metric = "tickets_in_time",
	                           .value = t.share,
	                           .text = tmpf("%d of %d", t.in_time, t.judged),
	                           .unit = "1"});
	for (int i = 0; i < t.n; i++) {
		bool replied = isfinite(t.list[i].response_min);

		add_row(out,
		        &(struct row){
				.id = t.list[i].id,
				.metric = replied ? "ticket_response_min" : "ticket_waiting_min",
				.point = t.list[i].opened,
				.value = replied ? t.list[i].response_min : t.list[i].waiting_min,
				.text = t.list[i].late ? "late" : "",
				.unit = "min"});
	}
}

static void bill_rows(struct str *out, struct arena *arena, const struct scorecard *card)
{
	struct service_bill b;

	if (!service_bill_read(&b, arena, card))
		return;
	for (int i = 0; i < b.n_classes; i++) {
		const struct service_class *k = &b.classes[i];

		add_row(out, &(struct row){.metric = "bill_class_billed",
		                           .point = k->word,
		                           .value = k->billed,
		                           .text = tmpf("%lld lines", (long long)k->lines),
		                           .unit = b.currency});
		if (k->excess > 0 || k->excess < 0)
			add_row(out, &(struct row){.metric = "bill_class_hidden",
			                           .point = k->word,
			                           .value = k->excess,
			                           .unit = b.currency});
	}
	for (int i = 0; i < b.n_steps; i++)
		add_row(out, &(struct row){.metric = "bill_step",
		                           .point = b.steps[i].word,
		                           .value = b.steps[i].amount,
		                           .unit = b.currency});
}

static void case_rows(struct str *out, const char *metric, const char *point,
                      const double of[SERVICE_CASES], const char *unit, const char *text)
{
	static const char *const cases[SERVICE_CASES] = {"best", "mid", "worst"};

	for (int i = 0; i < SERVICE_CASES; i++)
		if (isfinite(of[i]))
			add_row(out, &(struct row){.metric = metric,
			                           .stat = cases[i],
			                           .point = point,
			                           .value = of[i],
			                           .text = text,
			                           .unit = unit});
}

static void projection_rows(struct str *out, struct arena *arena, const struct scorecard *card)
{
	struct service_projection p;

	if (!service_projection_read(&p, arena, card) || p.open)
		return;
	case_rows(out, "projected_days", NULL, p.days, "d", NULL);
	case_rows(out, "projected_cost", NULL, p.cost, p.currency, NULL);
	case_rows(out, "projected_card_hours", NULL, p.hours, "h", NULL);
	case_rows(out, "projected_mfu", NULL, p.mfu, "1", NULL);
	case_rows(out, "projected_ettr", NULL, p.ettr, "1", NULL);
	for (int i = 0; i < p.n_inputs; i++)
		case_rows(out, "projection_input", p.inputs[i].key, p.inputs[i].of, NULL,
		          p.inputs[i].origin);
}

static void price_rows(struct str *out, const struct price_list *list)
{
	for (int i = 0; i < list->n; i++) {
		const struct price_line *line = &list->lines[i];
		const struct {
			const char *stat;
			double value;
		} of[] = {{"value", line->value}, {"lo", line->lo}, {"hi", line->hi}};

		for (size_t k = 0; k < sizeof(of) / sizeof(*of); k++)
			if (isfinite(of[k].value))
				add_row(out, &(struct row){.metric = tmpf("price_%s", line->name),
				                           .stat = of[k].stat,
				                           .value = of[k].value,
				                           .text = line->metric,
				                           .unit = list->currency});
	}
}

void service_csv(struct str *out, const struct scorecard *card)
{
	struct arena arena = {0};

	node_rows(out, &arena, card);
	ticket_rows(out, &arena, card);
	bill_rows(out, &arena, card);
	projection_rows(out, &arena, card);
	price_rows(out, &card->prices);
	arena_release(&arena);
}
