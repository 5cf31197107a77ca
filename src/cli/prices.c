/* Prices of delivered work; see prices.h. A table: name, what is delivered, of whom. */
#include "cli/prices.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/cli.h"
#include "estimate/estimate.h"
#include "estimate/models.h"
#include "service/quote.h"

#define GEMMS "gemm_bf16_tflops", "gemm_fp16_tflops"

enum thing { TFLOPS, TOKENS, MEMORY, FABRIC, STORAGE_RATE, STORAGE_IOPS };
enum payer { CARD, NODE, CLUSTER };

/* To add one: a row, MSG_price_<name> and its unit in src/report/compare_prices.c. Of the
 * metrics the first that was measured counts; of the rows of a thing the first one is
 * shown, the others are for comparing like with like. */
static const struct delivered {
	const char *name;
	enum thing thing;
	enum payer of;
	const char *metrics[3];
	double unit; /* so many of the metric's unit are one; 0: by the unit, in GB/s */
	bool sum;    /* over the nodes */
	enum price_least least;
} table[] = {
	{"trained_tflops_hour", TFLOPS, CARD, {"training_card_tflops"}, 1, false, PRICE_STEPS},
	{"tflops_hour", TFLOPS, CARD, {GEMMS}, 1, false, PRICE_PRODUCTS},
	{"trained_1e9_tokens", TOKENS, CARD, {"training_card_tflops"}, 1, false, PRICE_STEPS},
	{"1e9_tokens", TOKENS, CARD, {GEMMS}, 1, false, PRICE_PRODUCTS},
	{"memory_gbs_hour", MEMORY, CARD, {"membw_triad_gbs"}, 0, false, PRICE_WHOLE},
	{"nccl_gbs_hour", FABRIC, NODE, {"collective_nodes_ring_busbw_gbs"}, 0, false, PRICE_WHOLE},
	{"rdma_gbs_hour", FABRIC, NODE, {"rdma_write_gbps"}, 0, false, PRICE_WHOLE},
	{"ring_gbs_hour",
         FABRIC,
         NODE,
         {"group_allreduce_busbw_gbs", "cpu_collective_nodes_busbw_gbs"},
         0,
         false,
         PRICE_WHOLE},
	{"tcp_gbs_hour", FABRIC, NODE, {"net_tcp_gbps"}, 0, false, PRICE_WHOLE},
	{"storage_gbs_hour", STORAGE_RATE, CLUSTER, {"storage_all_read_gbs"}, 0, true, PRICE_WHOLE},
	{"kiops_hour", STORAGE_IOPS, CLUSTER, {"storage_all_read_iops"}, 1000, true, PRICE_WHOLE},
};
#define ROWS ((int)(sizeof(table) / sizeof(*table)))

static const char *const payers[] = {[CARD] = "card", [NODE] = "node", [CLUSTER] = "cluster"};

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
	if (d->thing == TOKENS)
		return price_of_1e9_tokens(list->card_hour, list->params, rate);
	return list->card_hour * cards / rate;
}

static const struct metric *measured(struct rate *r, struct arena *arena,
                                     const struct effective *all, const struct delivered *d)
{
	for (int i = 0; i < 3 && d->metrics[i]; i++) {
		const struct metric *m = metric_find(cli_metrics(), d->metrics[i], NULL);

		if (m && rate_of(r, arena, all, m, "value", d->sum) && r->value > 0)
			return m;
	}
	return NULL;
}

static double unit_of(const struct delivered *d, const struct metric *m)
{
	return d->unit > 0 ? d->unit : strcmp(m->unit, "Gb/s") == 0 ? 8 : 1;
}

static bool spread(struct price_line *line, const struct price_list *list, struct arena *arena,
                   const struct effective *all, const struct delivered *d,
                   const double cards[CLUSTER + 1])
{
	struct rate r;
	const struct metric *m = measured(&r, arena, all, d);
	double adapters = 1, unit;

	if (!m || !(cards[d->of] > 0))
		return false;
	/* Of a pair the weakest adapter is told. */
	if (strcmp(m->name, "rdma_write_gbps") == 0)
		adapters = rates_adapters(arena, all);
	unit = unit_of(d, m) / adapters;
	*line = (struct price_line){.name = d->name,
	                            .metric = m->name,
	                            .value = cost(list, d, r.value / unit, cards[d->of]),
	                            .lo = NAN,
	                            .hi = NAN,
	                            .rate = r.value,
	                            .adapters = adapters,
	                            .origin = r.origin,
	                            .of = payers[d->of],
	                            .least = d->least};
	if (isfinite(r.hi) && r.lo > 0) {
		line->lo = cost(list, d, r.hi / unit, cards[d->of]);
		line->hi = cost(list, d, r.lo / unit, cards[d->of]);
	}
	return true;
}

void prices_spread(struct price_list *list, struct arena *arena, struct rundir *run, double params)
{
	struct price_line *lines = arena_array(arena, ROWS, sizeof(*lines));
	struct effective all = rundir_effective(run);
	const double cards[] = {
		[CARD] = 1, [NODE] = rates_node_cards(run), [CLUSTER] = (double)rates_cards(run)};
	bool shown[STORAGE_IOPS + 1] = {false};

	list->params = params > 0 ? params : PRICES_PARAMS;
	for (int i = 0; i < ROWS; i++) {
		if (!spread(&lines[list->n], list, arena, &all, &table[i], cards))
			continue;
		lines[list->n++].fallback = shown[table[i].thing];
		shown[table[i].thing] = true;
	}
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
