/* The projection in words: the range first, then what it stands on, input by input
 * with its origin, and what limits it. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/unit.h"
#include "cli/cli.h"
#include "cli/model.h"
#include "cli/service_text.h"
#include "estimate/models.h"
#include "report/table.h"
#include "report/words.h"

#define BATCH_TOKENS   4e6
#define TENSOR_CARDS   8
#define BYTES_A_TOKEN  4
#define PUBLISHED_BEST 0.56

static const enum msg sources[] = {[SOURCE_ASSUMED] = MSG_estimate_assumed,
                                   [SOURCE_GIVEN] = MSG_estimate_given,
                                   [SOURCE_MEASURED] = MSG_estimate_measured,
                                   [SOURCE_TABLE] = MSG_estimate_table};
static const char *const source_words[] = {"assumed", "given", "measured", "table"};

/* --- the three cases -------------------------------------------------------------------- */

#define COLUMNS 5
#define MOST    24

struct rows {
	struct str cells[MOST * COLUMNS];
	int count;
};

static const char *figure(double value, double scale)
{
	value *= scale;
	if (!isfinite(value))
		return "-";
	return fabs(value) < 1e4 || fabs(value) > 1e18 ? fmt_value(value)
	                                               : words_count((int64_t)llround(value));
}

static void add_row(struct rows *r, enum msg name, const char *unit, const double of[CASES],
                    double scale, const char *source)
{
	struct str *cells = &r->cells[r->count++ * COLUMNS];

	msg_add(&cells[0], name, unit);
	for (int c = 0; c < CASES; c++)
		str_add(&cells[1 + c], figure(of[c], scale));
	str_add(&cells[4], source);
}

static void add_input(struct rows *r, enum msg name, const struct range *range, double scale)
{
	if (isfinite(range->of[CASE_MID]))
		add_row(r, name, NULL, range->of, scale, msg_format(sources[range->source]));
}

static void add_one(struct rows *r, enum msg name, double value, enum source source)
{
	const struct range range = range_one(value, source);

	add_input(r, name, &range, 1);
}

static void print_rows(struct str *out, struct rows *r, const struct report_options *o)
{
	const struct table_column columns[COLUMNS] = {{"", false},
	                                              {msg_format(MSG_estimate_best), true},
	                                              {msg_format(MSG_estimate_mid), true},
	                                              {msg_format(MSG_estimate_worst), true},
	                                              {"", false}};
	const struct table table = {columns, COLUMNS, true, 2, o->utf8};

	if (!table_print(out, &table, r->cells, r->count))
		die_nomem();
	for (int i = 0; i < r->count * COLUMNS; i++)
		str_release(&r->cells[i]);
	r->count = 0;
}

static void results(struct str *out, const struct estimate *e, const char *currency,
                    const struct report_options *o)
{
	struct rows r = {0};

	add_row(&r, MSG_estimate_days, NULL, e->days, 1, "");
	add_row(&r, MSG_estimate_card_hours, NULL, e->card_hours, 1, "");
	if (isfinite(e->cost[CASE_MID]))
		add_row(&r, MSG_estimate_cost, currency, e->cost, 1, "");
	add_row(&r, MSG_estimate_mfu, NULL, e->mfu, 1, "");
	add_row(&r, MSG_estimate_ettr, NULL, e->ettr, 1, "");
	print_rows(out, &r, o);
}

static void inputs(struct str *out, const struct model *m, const struct estimate *e,
                   const struct report_options *o)
{
	const struct estimate_inputs *in = &m->in;
	struct rows r = {0};

	text_line(out, msg_format(MSG_estimate_inputs), 2, o);
	add_one(&r, MSG_estimate_in_peak, in->peak_tflops, SOURCE_TABLE);
	add_one(&r, MSG_estimate_in_memory, in->memory_gb, SOURCE_TABLE);
	add_input(&r, MSG_estimate_in_mfu, &in->mfu, 1);
	if (isnan(in->mfu.of[CASE_MID])) {
		add_input(&r, MSG_estimate_in_gemm, &in->gemm_share, 1);
		add_input(&r, MSG_estimate_in_step, &in->step_share, 1);
		add_input(&r, MSG_estimate_in_scaling, &in->scaling, 1);
		add_input(&r, MSG_estimate_in_step_most, &in->step_most, 1);
	}
	add_input(&r, MSG_estimate_in_mttf, &in->mttf_h, 1000 / e->cards);
	if (isnan(in->write_gbs.of[CASE_MID]))
		add_input(&r, MSG_estimate_in_write_s, &in->write_s, 1);
	else
		add_input(&r, MSG_estimate_in_write, &in->write_gbs, 1);
	add_input(&r, MSG_estimate_in_restart, &in->restart_min, 1);
	add_input(&r, MSG_estimate_in_bus, &m->bus_gbs, 1);
	add_input(&r, MSG_estimate_in_read, &m->read_gbs, 1);
	add_one(&r, MSG_estimate_in_price, in->price, SOURCE_GIVEN);
	print_rows(out, &r, o);
}

/* --- what limits it ------------------------------------------------------------------------ */

static void memory_lines(struct str *out, const struct model *m, const struct estimate *e,
                         const struct report_options *o)
{
	const char *states = fmt_value(e->state_bytes / 1e12);

	if (isnan(e->least_cards))
		return;
	text_line(out,
	          say(e->fits ? MSG_estimate_fits : MSG_estimate_fits_not, states,
	              fmt_value(m->in.memory_gb), fmt_value(e->least_cards),
	              words_count((int64_t)e->cards)),
	          2, o);
}

static void interconnect_line(struct str *out, const struct model *m, const struct estimate *e,
                              const struct report_options *o)
{
	double mfu = e->mfu[CASE_MID], bytes = gradient_bytes(m->in.params, TENSOR_CARDS, 1);
	double gbs = m->bus_gbs.of[CASE_WORST];
	double compute_s = FLOP_PER_TOKEN * m->in.params * BATCH_TOKENS /
	                   (e->cards * m->in.peak_tflops * 1e12 * mfu);
	double transfer_s = bytes / (gbs * 1e9);
	double bare = compute_s / step_seconds(compute_s, transfer_s, 0);
	double hidden = compute_s / step_seconds(compute_s, transfer_s, 1);

	if (isnan(gbs)) {
		text_line(out, msg_format(MSG_estimate_bus_unknown), 2, o);
		return;
	}
	text_line(out,
	          say(MSG_estimate_bus, fmt_value(bytes / 1e9), fmt_value(gbs),
	              fmt_value(transfer_s), fmt_value(compute_s), text_percent(hidden),
	              text_percent(bare),
	              m->bus_metric ? m->bus_metric : msg_format(MSG_estimate_given)),
	          2, o);
}

static void storage_line(struct str *out, const struct model *m, const struct estimate *e,
                         const struct report_options *o)
{
	double rate = m->in.tokens * BYTES_A_TOKEN / (e->days[CASE_MID] * 86400);
	double step_s = e->days[CASE_MID] * 86400 * BATCH_TOKENS / m->in.tokens;
	double gbs = m->read_gbs.of[CASE_WORST];

	if (isnan(gbs))
		text_line(out, say(MSG_estimate_data, fmt_value(rate / 1e6)), 2, o);
	else
		text_line(out,
		          say(MSG_estimate_data_of, fmt_value(rate / 1e6), fmt_value(gbs),
		              text_percent(storage_utilisation(step_s, BATCH_TOKENS * BYTES_A_TOKEN,
		                                               gbs * 1e9))),
		          2, o);
}

static void limit_lines(struct str *out, const struct model *m, const struct estimate *e,
                        const struct report_options *o)
{
	memory_lines(out, m, e, o);
	text_line(out,
	          say(MSG_estimate_checkpoint, fmt_value(e->checkpoint_bytes / 1e12),
	              fmt_value(e->write_s[CASE_MID]), fmt_value(e->interval_s[CASE_MID] / 60),
	              fmt_value(e->mttf_h[CASE_MID])),
	          2, o);
	interconnect_line(out, m, e, o);
	storage_line(out, m, e, o);
	if (e->mfu[CASE_MID] > PUBLISHED_BEST)
		text_line(out,
		          say(MSG_estimate_high_mfu, fmt_value(e->mfu[CASE_MID]),
		              fmt_value(PUBLISHED_BEST)),
		          2, o);
	if (m->other_run)
		text_line(out, say(MSG_estimate_other_run, fmt_value(m->run_cards)), 2, o);
	if (m->scaling_open)
		text_line(out, say(MSG_estimate_scaling_open, fmt_value(m->run_cards)), 2, o);
	if (m->one_node_rate)
		text_line(out, msg_format(MSG_estimate_one_node), 2, o);
	if (m->simulated)
		text_line(out, msg_format(MSG_estimate_simulated), 2, o);
	if (isnan(m->in.price))
		text_line(out, msg_format(MSG_estimate_without_price), 2, o);
	if (!e->within_deadline)
		text_line(out, say(MSG_estimate_late, fmt_value(m->in.deadline_days)), 2, o);
	if (!e->within_budget)
		text_line(out, say(MSG_estimate_dear, fmt_value(m->in.budget)), 2, o);
}

void model_text(struct str *out, const struct model *m, const struct estimate *e,
                const char *currency, const struct report_options *o)
{
	text_line(out,
	          say(e->solved ? MSG_estimate_head_solved : MSG_estimate_head,
	              quantity_text(m->in.params), quantity_text(m->in.tokens),
	              words_count((int64_t)e->cards), m->card_name),
	          0, o);
	str_addc(out, '\n');
	if (!e->fits)
		text_line(out, msg_format(MSG_estimate_impossible), 2, o);
	results(out, e, currency, o);
	str_addc(out, '\n');
	inputs(out, m, e, o);
	str_addc(out, '\n');
	limit_lines(out, m, e, o);
}

void model_line(struct str *out, const struct model *m, const struct estimate *e)
{
	msg_add(out, e->fits ? MSG_model_enough : MSG_model_not_enough, quantity_text(m->in.params),
	        quantity_text(m->in.tokens), words_count((int64_t)e->cards), m->card_name,
	        fmt_value(e->days[CASE_BEST]), fmt_value(e->days[CASE_WORST]),
	        fmt_value(e->least_cards));
}

enum status model_check(const struct options *o, struct error *err)
{
	static const char *const names[] = {"params", "tokens"};
	double value;

	if (!option_given(o, "params") && !option_given(o, "tokens"))
		return ST_OK;
	for (int i = 0; i < 2; i++) {
		const char *text = option_text(o, names[i], NULL);

		if (!text)
			return error_set(err, ST_USAGE, MSG_estimate_missing, names[i]);
		if (!quantity_parse(text, &value))
			return error_set(err, ST_USAGE, MSG_estimate_quantity, names[i], text);
	}
	return ST_OK;
}

void model_say(const char *dir, const struct options *o)
{
	struct rundir run;
	const struct model_request request = {.params = option_text(o, "params", NULL),
	                                      .tokens = option_text(o, "tokens", NULL),
	                                      .config_dir = option_text(o, "config-dir", NULL),
	                                      .run = &run};
	const struct report_options shown = cli_report_options();
	struct str text = {0}, out = {0};
	struct error err = {0};
	struct estimate e;
	struct model m;
	enum status st;
	bool opened;

	if (!request.params)
		return;
	model_init(&m);
	st = rundir_open(&run, dir, 0, &err);
	opened = st == ST_OK;
	if (st == ST_OK)
		st = model_gather(&m, &request, &err);
	if (st == ST_OK)
		st = estimate_make(&e, &m.in, &err);
	if (st == ST_OK) {
		model_line(&text, &m, &e);
		text_line(&out, str_text(&text), 2, &shown);
		st = cli_write_text("-", &out, &err);
	}
	if (st != ST_OK)
		log_note(MSG_model_unknown, str_text(&err.text));
	error_release(&err);
	str_release(&text);
	str_release(&out);
	model_release(&m);
	if (opened)
		rundir_close(&run);
}

/* --- JSON ----------------------------------------------------------------------------------- */

static void put_cases(struct json_out *j, const char *key, const double of[CASES],
                      const char *source)
{
	json_object_begin(j, key);
	json_put_number(j, "best", of[CASE_BEST]);
	json_put_number(j, "mid", of[CASE_MID]);
	json_put_number(j, "worst", of[CASE_WORST]);
	if (source)
		json_put_string(j, "origin", source);
	json_object_end(j);
}

/* What another input stands in place of is none. */
static bool is_used(const struct model *m, const struct range *r)
{
	const struct estimate_inputs *in = &m->in;
	bool of_mfu = r == &in->gemm_share || r == &in->step_share || r == &in->scaling ||
	              r == &in->step_most;

	return isfinite(r->of[CASE_MID]) && !(of_mfu && isfinite(in->mfu.of[CASE_MID])) &&
	       !(r == &in->write_s && isfinite(in->write_gbs.of[CASE_MID]));
}

static void put_inputs(struct json_out *j, const struct model *m)
{
	const struct estimate_inputs *in = &m->in;
	const struct {
		const char *key;
		const struct range *range;
	} ranges[] = {{"mfu", &in->mfu},
	              {"gemm_share", &in->gemm_share},
	              {"step_share", &in->step_share},
	              {"scaling", &in->scaling},
	              {"step_most", &in->step_most},
	              {"mttf_h_1000_cards", &in->mttf_h},
	              {"write_gbs", &in->write_gbs},
	              {"write_s", &in->write_s},
	              {"restart_min", &in->restart_min},
	              {"bus_gbs", &m->bus_gbs},
	              {"read_gbs", &m->read_gbs}};

	json_object_begin(j, "inputs");
	json_put_number(j, "params", in->params);
	json_put_number(j, "tokens", in->tokens);
	json_put_number(j, "peak_tflops", in->peak_tflops);
	json_put_number(j, "memory_gb", in->memory_gb);
	json_put_number(j, "price", in->price);
	if (m->bus_metric)
		json_put_string(j, "bus_metric", m->bus_metric);
	for (size_t i = 0; i < sizeof(ranges) / sizeof(*ranges); i++)
		if (is_used(m, ranges[i].range))
			put_cases(j, ranges[i].key, ranges[i].range->of,
			          source_words[ranges[i].range->source]);
	json_object_end(j);
}

void model_json(struct str *out, const struct model *m, const struct estimate *e,
                const char *currency)
{
	struct json_out j = json_writer(out, 1);

	json_object_begin(&j, NULL);
	json_put_string(&j, "card", m->card_name);
	json_put_number(&j, "cards", e->cards);
	json_put_bool(&j, "cards_found", e->solved);
	json_put_bool(&j, "fits", e->fits);
	json_put_number(&j, "least_cards", e->least_cards);
	json_put_string(&j, "currency", currency);
	put_cases(&j, "days", e->days, NULL);
	put_cases(&j, "card_hours", e->card_hours, NULL);
	put_cases(&j, "cost", e->cost, NULL);
	put_cases(&j, "mfu", e->mfu, NULL);
	put_cases(&j, "ettr", e->ettr, NULL);
	put_inputs(&j, m);
	json_object_end(&j);
	str_addc(out, '\n');
}
