/* Gathering the inputs of a projection. What a run measured comes first, then what
 * the table says of the card; what is left is assumed by src/estimate. */
#include "cli/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "cli/rates.h"
#include "score/accel.h"

void model_init(struct model *m)
{
	const struct range unknown = range_one(NAN, SOURCE_ASSUMED);

	*m = (struct model){.in = {.params = NAN,
	                           .tokens = NAN,
	                           .cards = NAN,
	                           .peak_tflops = NAN,
	                           .memory_gb = NAN,
	                           .mfu = unknown,
	                           .gemm_share = unknown,
	                           .step_share = unknown,
	                           .step_most = unknown,
	                           .scaling = unknown,
	                           .mttf_h = unknown,
	                           .write_gbs = unknown,
	                           .write_s = unknown,
	                           .restart_min = unknown,
	                           .price = NAN,
	                           .deadline_days = NAN,
	                           .budget = NAN},
	                    .run_cards = NAN,
	                    .bus_gbs = unknown,
	                    .read_gbs = unknown};
}

void model_release(struct model *m)
{
	arena_release(&m->arena);
}

/* --- readings of a run ---------------------------------------------------------------- */

struct seen {
	double *value;
	int count;
	double best, mid, worst;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* All measured values of a metric; more is better. */
static bool see(struct model *m, const struct effective *all, const char *metric, struct seen *s)
{
	*s = (struct seen){.value = arena_array(&m->arena, (size_t)all->count + 1, sizeof(double))};
	for (int64_t i = 0; i < all->count; i++) {
		const struct reading *r = all->readings[i];

		if (strcmp(r->metric, metric) != 0 || r->outcome != OUTCOME_MEASURED ||
		    r->value_kind != VALUE_NUMBER || !(r->value > 0))
			continue;
		m->simulated |= r->origin == ORIGIN_SIMULATED;
		s->value[s->count++] = r->value;
	}
	if (!s->count)
		return false;
	qsort(s->value, (size_t)s->count, sizeof(double), by_value);
	s->worst = s->value[0];
	s->mid = s->value[s->count / 2];
	s->best = s->value[s->count - 1];
	return true;
}

static struct range range_seen(const struct seen *s, double unit)
{
	return (struct range){{s->best / unit, s->mid / unit, s->worst / unit}, SOURCE_MEASURED};
}

static const char *card_text(const struct effective *all)
{
	for (int64_t i = 0; i < all->count; i++)
		if (strcmp(all->readings[i]->metric, "card_name") == 0 &&
		    all->readings[i]->value_kind == VALUE_TEXT)
			return all->readings[i]->text;
	return NULL;
}

/* A rate above the peak is another card's. */
static enum status take_gemm(struct model *m, const struct effective *all, struct error *err)
{
	struct seen s;

	if (!see(m, all, "gemm_bf16_tflops", &s) && !see(m, all, "gemm_fp16_tflops", &s))
		return ST_OK;
	if (s.best > m->in.peak_tflops)
		return error_set(err, ST_RANGE, MSG_estimate_above_peak, fmt_value(s.best),
		                 m->card_name, fmt_value(m->in.peak_tflops));
	m->run_cards = s.count;
	m->in.gemm_share = range_seen(&s, m->in.peak_tflops);
	return ST_OK;
}

/* Between nodes, the nearest first to what the cards of a rail have of gradients that
 * they add up: one rail of many, all at once; all cards in one ring; two nodes; TCP. What
 * a node has its cards share. */
static void take_bus(struct model *m, const struct effective *all, double node_cards)
{
	static const struct {
		const char *metric;
		double unit;
		bool adapter, of_card;
	} buses[] = {{"collective_rail_busbw_gbs", 1, false, true},
	             {"collective_nodes_ring_busbw_gbs", 1, false, false},
	             {"rdma_gpu_write_gbps", 8, true, false},
	             {"rdma_write_gbps", 8, true, false},
	             {"cpu_collective_nodes_busbw_gbs", 1, false, false},
	             {"group_allreduce_busbw_gbs", 1, false, false},
	             {"net_tcp_gbps", 8, false, false}};
	struct seen s;

	for (size_t i = 0; i < sizeof(buses) / sizeof(*buses); i++) {
		double share = buses[i].of_card ? 1 : node_cards;

		if (!(share >= 1) || !see(m, all, buses[i].metric, &s))
			continue;
		if (buses[i].adapter)
			share /= rates_adapters(&m->arena, all);
		m->bus_metric = buses[i].metric;
		m->bus_gbs = range_seen(&s, buses[i].unit * share);
		return;
	}
}

static void take_rates(struct model *m, const struct effective *all)
{
	struct seen s;

	/* What was given stands. */
	if (isnan(m->in.write_gbs.of[CASE_MID])) {
		bool together = see(m, all, "storage_all_write_gbs", &s);

		if (together || see(m, all, "checkpoint_write_gbs", &s)) {
			m->in.write_gbs = range_seen(&s, 1);
			m->one_node_rate = !together;
		}
	}
	if (see(m, all, "storage_all_read_gbs", &s) || see(m, all, "dataset_stream_gbs", &s))
		m->read_gbs = range_seen(&s, 1);
}

/* A step of products and sums, which no model's step outdoes. */
static void take_step(struct model *m, const struct effective *all)
{
	struct seen s;

	if (see(m, all, "training_card_tflops", &s))
		m->in.step_most = range_seen(&s, m->in.peak_tflops);
}

static void take_scaling(struct model *m, const struct effective *all)
{
	struct seen s;

	if (!see(m, all, "training_scaling_efficiency", &s))
		return;
	m->scaling_open = isnan(m->in.cards);
	m->other_run = m->run_cards * 16 < m->in.cards;
	if (!m->other_run && !m->scaling_open)
		m->in.scaling = range_seen(&s, 1);
}

/* --- the card ---------------------------------------------------------------------------- */

static enum status find_card(struct model *m, const struct csv *table, const char *key,
                             const char *text, int *row, struct error *err)
{
	const char *near;

	if (!key && !text)
		return error_set(err, ST_USAGE, MSG_estimate_no_card);
	*row = key ? accel_row(table, key) : accel_guess(table, text);
	if (*row >= 0 && key && text && accel_guess(table, text) != *row)
		return error_set(err, ST_USAGE, MSG_estimate_other_card, key, text);
	if (*row >= 0)
		return ST_OK;
	near = key ? nearest_word(key, accel_keys(table, &m->arena)) : NULL;
	if (near)
		return error_set(err, ST_USAGE, MSG_estimate_card_near, key, near);
	return error_set(err, ST_USAGE, MSG_estimate_card, key ? key : text);
}

static enum status take_card(struct model *m, const struct model_request *r, const char *text,
                             struct error *err)
{
	struct csv table;
	enum status st = accel_load(&table, r->config_dir, err);
	int row = -1;

	if (st != ST_OK)
		return st;
	st = find_card(m, &table, r->card, text, &row, err);
	if (st == ST_OK) {
		m->card_name = arena_str(&m->arena, csv_field(&table, row, "marketing_name"));
		m->in.peak_tflops = accel_figure(&table, row, "bf16_tensor_tflops").value;
		if (isnan(m->in.peak_tflops))
			m->in.peak_tflops = accel_figure(&table, row, "fp16_tensor_tflops").value;
		m->in.memory_gb = accel_figure(&table, row, "memory_gb_nominal").value;
		if (isnan(m->in.peak_tflops))
			st = error_set(err, ST_UNSUPPORTED, MSG_estimate_no_rate, m->card_name);
	}
	csv_release(&table);
	return st;
}

static enum status quantity(const char *name, const char *text, double *value, struct error *err)
{
	if (!text)
		return error_set(err, ST_USAGE, MSG_estimate_missing, name);
	if (!quantity_parse(text, value))
		return error_set(err, ST_USAGE, MSG_estimate_quantity, name, text);
	return ST_OK;
}

enum status model_gather(struct model *m, const struct model_request *r, struct error *err)
{
	struct effective all = {0};
	enum status st = quantity("params", r->params, &m->in.params, err);

	if (st == ST_OK)
		st = quantity("tokens", r->tokens, &m->in.tokens, err);
	if (st == ST_OK && r->run)
		all = rundir_effective(r->run);
	if (st == ST_OK)
		st = take_card(m, r, card_text(&all), err);
	if (st == ST_OK)
		st = take_gemm(m, &all, err);
	if (st != ST_OK)
		return st;
	if (isnan(m->in.cards) && isnan(m->in.budget) && isnan(m->in.deadline_days))
		m->in.cards = m->run_cards;
	take_rates(m, &all);
	if (r->run && isnan(m->bus_gbs.of[CASE_MID]))
		take_bus(m, &all, rates_node_cards(r->run));
	take_step(m, &all);
	take_scaling(m, &all);
	estimate_assume(&m->in);
	return ST_OK;
}
