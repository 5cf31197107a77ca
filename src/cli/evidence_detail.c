/* Details of evidence for reports. Money stays a decimal text, so that what a report or
 * its JSON says of a bill is the bill to the last place. */
#include "cli/evidence_detail.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "service/moment.h"
#include "service/stamp.h"

/* So many tickets one by one; all count in the figures. The late ones come first. */
#define TICKETS_SHOWN 400

static const char *keep(struct evidence *e, struct str *text)
{
	const char *kept = arena_strn(e->arena, str_text(text), text->len);

	str_release(text);
	return kept;
}

/* --- bill ------------------------------------------------------------------------- */

static void put_money(struct json_out *j, const char *key, struct decimal amount)
{
	struct str text = {0};

	decimal_add_text(&text, amount, 2);
	json_put_string(j, key, text.data);
	str_release(&text);
}

static void put_classes(struct json_out *j, const struct bill *b)
{
	json_array_begin(j, "classes");
	for (int c = 0; c < BILL_CLASSES; c++) {
		if (!b->classes[c].lines)
			continue;
		json_object_begin(j, NULL);
		json_put_string(j, "class", bill_class_word((enum bill_class)c));
		json_put_int(j, "lines", b->classes[c].lines);
		put_money(j, "billed", b->classes[c].billed);
		put_money(j, "excess", b->classes[c].excess);
		json_object_end(j);
	}
	json_array_end(j);
}

static void put_examples(struct json_out *j, const struct bill *b)
{
	json_array_begin(j, "examples");
	for (int i = 0; i < b->n_examples; i++) {
		const struct bill_example *x = &b->examples[i];

		json_object_begin(j, NULL);
		json_put_int(j, "line", x->line);
		json_put_string(j, "class", bill_class_word(x->class));
		json_put_string(j, "what", x->what);
		json_put_string(j, "quoted", x->quoted);
		put_money(j, "billed", x->billed);
		put_money(j, "expected", x->expected);
		json_object_end(j);
	}
	json_array_end(j);
}

const char *evidence_bill_params(struct evidence *e, const struct bill *b)
{
	static const char *const verdicts[] = {"met", "missed", "too_little"};
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "verdict", verdicts[b->verdict]);
	json_put_string(&j, "currency", b->currency);
	json_put_string(&j, "columns", b->map->name);
	json_put_string(&j, "from_utc", stamp_text(b->from));
	json_put_string(&j, "to_utc", stamp_text(b->to));
	json_put_int(&j, "lines", b->lines);
	put_money(&j, "total", b->total);
	put_money(&j, "hidden", b->hidden);
	put_money(&j, "rounding", b->rounding);
	json_put_bool(&j, "rounded_up", b->rounded_up);
	put_money(&j, "tax_on_top", b->tax_on_top);
	put_classes(&j, b);
	put_examples(&j, b);
	json_array_begin(&j, "open");
	for (const char *const *o = b->open; *o; o++)
		json_put_string(&j, NULL, *o);
	json_array_end(&j);
	json_object_end(&j);
	return keep(e, &text);
}

/* --- tickets ---------------------------------------------------------------------- */

static void put_ticket(struct json_out *j, const struct ticket *k, int64_t first_ns)
{
	struct str opened = {0};

	time_add_utc(&opened, k->opened_ns);
	json_object_begin(j, NULL);
	json_put_string(j, "id", k->id);
	json_put_string(j, "opened_utc", opened.data);
	json_put_number(j, "days", (double)(k->opened_ns - first_ns) / (double)DAY_NS);
	json_put_number(j, "response_min", k->response_min);
	json_put_number(j, "waiting_min", k->waiting_min);
	json_put_bool(j, "late", k->late);
	json_object_end(j);
	str_release(&opened);
}

static void put_tickets(struct json_out *j, const struct tickets *t)
{
	int64_t first_ns = INT64_MAX;
	int shown = 0;

	for (int i = 0; i < t->count; i++)
		if (t->list[i].opened_ns < first_ns)
			first_ns = t->list[i].opened_ns;
	json_array_begin(j, "tickets");
	for (int late = 1; late >= 0; late--)
		for (int i = 0; i < t->count && shown < TICKETS_SHOWN; i++)
			if (t->list[i].late == (late == 1)) {
				put_ticket(j, &t->list[i], first_ns);
				shown++;
			}
	json_array_end(j);
}

static void put_hours(struct json_out *j, const struct tickets *t)
{
	static const char *const keys[HOURS_KINDS] = {"day", "night", "weekend"};

	json_object_begin(j, "hours");
	for (int h = 0; h < HOURS_KINDS; h++) {
		json_object_begin(j, keys[h]);
		json_put_int(j, "n", t->by_hours[h].n);
		json_put_int(j, "in_time", t->by_hours[h].in_time);
		json_put_number(j, "median_min", t->by_hours[h].median_min);
		json_object_end(j);
	}
	json_object_end(j);
}

const char *evidence_tickets_params(struct evidence *e, const struct tickets *t)
{
	static const char *const verdicts[] = {"met", "missed", "too_short"};
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "verdict", verdicts[t->verdict]);
	json_put_number(&j, "limit_min", t->options.limit_min);
	json_put_int(&j, "judged", t->judged);
	json_put_int(&j, "in_time", t->in_time);
	json_put_int(&j, "late", t->late);
	json_put_int(&j, "pending", t->pending);
	json_put_int(&j, "stated", t->stated);
	json_put_number(&j, "share", t->share);
	json_put_number(&j, "low95", t->low95);
	json_put_number(&j, "high95", t->high95);
	json_put_number(&j, "median_min", t->median_min);
	json_put_number(&j, "max_min", t->max_min);
	json_put_int(&j, "repaired", t->repaired);
	json_put_number(&j, "repair_median_min", t->repair_median_min);
	json_put_number(&j, "repair_max_min", t->repair_max_min);
	put_hours(&j, t);
	put_tickets(&j, t);
	json_object_end(&j);
	return keep(e, &text);
}

/* --- projection ------------------------------------------------------------------- */

/* By the bill, which is what was asked for; else by the quote. */
static double price_told(const struct evidence *e, const char **from)
{
	static const struct {
		const char *metric, *from;
	} prices[] = {{"bill_gpu_hour_cny", "bill"}, {"quote_gpu_hour_cny", "quote"}};

	for (size_t p = 0; p < sizeof(prices) / sizeof(*prices); p++)
		for (int64_t i = 0; i < e->n_readings; i++) {
			const struct reading *r = &e->readings[i];

			*from = prices[p].from;
			if (strcmp(r->metric, prices[p].metric) == 0 &&
			    r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NUMBER)
				return r->value;
		}
	*from = NULL;
	return NAN;
}

static const char *model_params(struct evidence *e, const struct model *m,
                                const struct estimate *est, const char *price_from)
{
	struct str text = {0}, estimate = {0};
	struct json_out j = json_writer(&text, 0);

	model_json(&estimate, m, est, price_from ? "CNY" : NULL);
	json_object_begin(&j, NULL);
	json_put_string(&j, "params", quantity_text(m->in.params));
	json_put_string(&j, "tokens", quantity_text(m->in.tokens));
	json_put_string(&j, "price_from", price_from);
	json_put_bool(&j, "simulated", m->simulated);
	json_put_raw(&j, "estimate", str_text(&estimate));
	json_object_end(&j);
	str_release(&estimate);
	return keep(e, &text);
}

/* Inputs are measured, taken from papers and assumed, so the figure as a whole is a
 * statement. */
static struct reading projection(struct evidence *e, const char *metric, const double of[CASES],
                                 bool simulated)
{
	struct reading r = evidence_reading(e, "estimate", metric);

	r.origin = simulated ? ORIGIN_SIMULATED : ORIGIN_DECLARED;
	r.value_kind = VALUE_NUMBER;
	r.value = of[CASE_MID];
	r.stats[STAT_MIN] = of[CASE_BEST];
	r.stats[STAT_MAX] = of[CASE_WORST];
	return r;
}

static void not_projected(struct evidence *e, const struct error *why)
{
	struct reading r = evidence_reading(e, "estimate", "projected_days");
	const char **args = arena_array(e->arena, 2, sizeof(*args));

	args[0] = arena_str(e->arena, str_text(&why->text));
	r.origin = ORIGIN_DECLARED;
	r.outcome = OUTCOME_NOT_MEASURED;
	r.reason = (struct reason){msg_name(MSG_projection_open), args, 1,
	                           arena_str(e->arena, say(MSG_projection_open, args[0]))};
	evidence_add(e, &r);
}

static void add_projection(struct evidence *e, const struct model *m, const struct estimate *est,
                           const char *price_from)
{
	struct reading r = projection(e, "projected_days", est->days, m->simulated);

	r.params = model_params(e, m, est, price_from);
	evidence_add(e, &r);
	if (!isfinite(est->cost[CASE_MID]))
		return;
	r = projection(e, "projected_cost_cny", est->cost, m->simulated);
	evidence_add(e, &r);
}

enum status evidence_model(struct evidence *e, struct error *err)
{
	const struct options *o = e->options;
	const struct model_request request = {.params = option_text(o, "params", NULL),
	                                      .tokens = option_text(o, "tokens", NULL),
	                                      .config_dir = e->config_dir,
	                                      .run = e->run};
	struct error trouble = {0};
	struct estimate estimate;
	const char *price_from;
	struct model m;
	enum status st = model_check(o, err);

	/* Before there is a run there is nothing to project. */
	if (st != ST_OK || !e->run)
		return st;
	model_init(&m);
	m.in.price = price_told(e, &price_from);
	st = model_gather(&m, &request, &trouble);
	if (st == ST_OK)
		st = estimate_make(&estimate, &m.in, &trouble);
	if (st == ST_OK)
		add_projection(e, &m, &estimate, price_from);
	else
		not_projected(e, &trouble);
	error_release(&trouble);
	model_release(&m);
	return ST_OK;
}

enum status evidence_tokens(struct evidence *e, struct error *err)
{
	return model_check(e->options, err);
}
