/* Prices of delivered work; see prices.h. A table: name, what is delivered, of whom. */
#include "cli/prices.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "estimate/estimate.h"
#include "estimate/models.h"
#include "service/quote.h"

/* To add one: a row, and MSG_price_<name>. Of the metrics the first that was measured
 * counts. */
static const struct delivered {
	const char *name;
	const char *metrics[3];
	double unit;   /* so many of the metric's unit are one */
	bool of_card;  /* else of all cards together */
	bool sum;      /* over the nodes */
	bool at_least; /* training reaches less */
	bool tokens;
} table[] = {
	{"tflops_hour", {"gemm_bf16_tflops", "gemm_fp16_tflops"}, 1, true, false, true, false},
	{"memory_gbs_hour", {"membw_triad_gbs"}, 1, true, false, false, false},
	{"storage_gbs_hour", {"storage_all_read_gbs"}, 1, false, true, false, false},
	{"kiops_hour", {"storage_all_read_iops"}, 1000, false, true, false, false},
	{"1e9_tokens", {"gemm_bf16_tflops", "gemm_fp16_tflops"}, 1, true, false, true, true},
};
#define ROWS ((int)(sizeof(table) / sizeof(*table)))

bool prices_by_quote(struct price_list *list, struct arena *arena, const struct quote *q)
{
	struct decimal hour;

	if (!quote_gpu_hour(q, &hour) || decimal_sign(hour) <= 0)
		return false;
	*list = (struct price_list){.source = "quote",
	                            .currency = arena_str(arena, q->currency),
	                            .card_hour = decimal_double(hour)};
	return true;
}

/* What the work costs at a rate; the dearer end is that of the lower rate. */
static double cost(const struct price_list *list, const struct delivered *d, double rate,
                   double cards)
{
	if (d->tokens)
		return price_of_1e9_tokens(list->card_hour, list->params, rate);
	return list->card_hour * (d->of_card ? 1 : cards) * d->unit / rate;
}

static bool spread(struct price_line *line, const struct price_list *list, struct arena *arena,
                   const struct effective *all, const struct delivered *d, double cards)
{
	const struct metric *m = NULL;
	struct rate r;

	for (int i = 0; i < 3 && d->metrics[i]; i++) {
		m = metric_find(cli_metrics(), d->metrics[i], NULL);
		if (m && rate_of(&r, arena, all, m, "value", d->sum) && r.value > 0)
			break;
		m = NULL;
	}
	if (!m || (!d->of_card && !(cards > 0)))
		return false;
	*line = (struct price_line){.name = d->name,
	                            .metric = m->name,
	                            .value = cost(list, d, r.value, cards),
	                            .lo = NAN,
	                            .hi = NAN,
	                            .rate = r.value,
	                            .origin = r.origin,
	                            .of_card = d->of_card,
	                            .at_least = d->at_least};
	if (isfinite(r.hi) && r.lo > 0) {
		line->lo = cost(list, d, r.hi, cards);
		line->hi = cost(list, d, r.lo, cards);
	}
	return true;
}

void prices_spread(struct price_list *list, struct arena *arena, struct rundir *run, double params)
{
	struct price_line *lines = arena_array(arena, ROWS, sizeof(*lines));
	struct effective all = rundir_effective(run);
	double cards = (double)rates_cards(run);

	list->params = params > 0 ? params : PRICES_PARAMS;
	for (int i = 0; i < ROWS; i++)
		list->n += spread(&lines[list->n], list, arena, &all, &table[i], cards);
	list->lines = lines;
}

/* --- from readings ------------------------------------------------------------------- */

static const struct reading *reading_named(const struct rundir *run, const char *metric)
{
	for (int64_t i = run->n_readings; i-- > 0;)
		if (strcmp(run->readings[i].metric, metric) == 0)
			return &run->readings[i];
	return NULL;
}

/* A member of the reading's parameters; NULL: none. `doc` is the caller's to release. */
static const cJSON *param(struct json_doc *doc, const struct reading *r, const char *key)
{
	struct error ignored = {0};
	enum status st = !r || !r->params ? ST_NOTFOUND
	                                  : json_parse(doc, "params", r->params, strlen(r->params),
	                                               JSON_STRICT, &ignored);

	error_release(&ignored);
	return st == ST_OK ? json_get(doc->root, key) : NULL;
}

static void by_bill(struct price_list *list, const struct rundir *run)
{
	const struct reading *r = reading_named(run, "bill_gpu_hour_cny");

	if (r && r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NUMBER && r->value > 0)
		*list = (struct price_list){
			.source = "bill", .currency = "CNY", .card_hour = r->value};
}

static void by_quote(struct price_list *list, struct arena *arena, const struct rundir *run)
{
	struct json_doc doc = {0};
	double hour = cJSON_GetNumberValue(
		param(&doc, reading_named(run, "quote_priced_share"), "card_hour"));

	if (hour > 0)
		*list = (struct price_list){
			.source = "quote",
			.currency = arena_str(arena, json_string(doc.root, "currency", "?")),
			.card_hour = hour};
	if (doc.root)
		json_release(&doc);
}

static double projected_params(const struct rundir *run)
{
	struct json_doc doc = {0};
	const char *text =
		cJSON_GetStringValue(param(&doc, reading_named(run, "projected_days"), "params"));
	double params = NAN;

	if (text && !quantity_parse(text, &params))
		params = NAN;
	if (doc.root)
		json_release(&doc);
	return params;
}

void prices_take(struct price_list *list, struct arena *arena, struct rundir *run)
{
	*list = (struct price_list){0};
	by_bill(list, run);
	if (!list->source)
		by_quote(list, arena, run);
	if (list->source)
		prices_spread(list, arena, run, projected_params(run));
}
