/* assay estimate: days and cost of the buyer's own model on these cards, as a range,
 * with the origin of each input. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "cli/cli.h"
#include "cli/model.h"

static const struct option_row rows[] = {
	{"params", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_params},
	{"tokens", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_tokens},
	{"run", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_estimate_run},
	{"cards", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_estimate_cards},
	{"card", OPTION_TEXT, "KEY", 0, 0, NULL, MSG_opt_card},
	{"mfu", OPTION_TEXT, "X", 0, 0, NULL, MSG_opt_mfu},
	{"mttf-hours", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_mttf},
	{"restart-min", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_restart},
	{"write-gbs", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_write_gbs},
	{"bus-gbs", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_bus_gbs},
	{"price", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_price},
	{"currency", OPTION_TEXT, "C", 0, 0, NULL, MSG_opt_currency},
	{"deadline", OPTION_TEXT, "DAYS", 0, 0, NULL, MSG_opt_deadline},
	{"budget", OPTION_TEXT, "MONEY", 0, 0, NULL, MSG_opt_budget_money},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"json", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_json_figures},
	{0},
};

static enum status given(const struct options *o, const char *name, double min, double max,
                         struct range *r, struct error *err)
{
	double value = NAN;
	enum status st = option_real(o, name, min, max, &value, err);

	if (st == ST_OK && !isnan(value))
		*r = range_one(value, SOURCE_GIVEN);
	return st;
}

static enum status parse(const struct options *o, struct model *m, struct error *err)
{
	struct estimate_inputs *in = &m->in;
	enum status st = option_real(o, "cards", -INFINITY, INFINITY, &in->cards, err);

	/* What no run can have is refused in words of its own (src/estimate). */
	if (st == ST_OK)
		st = given(o, "mfu", -INFINITY, INFINITY, &in->mfu, err);
	if (st == ST_OK)
		st = given(o, "mttf-hours", 0.01, 1e7, &in->mttf_h, err);
	if (st == ST_OK)
		st = given(o, "restart-min", 0, 1e5, &in->restart_min, err);
	if (st == ST_OK)
		st = given(o, "write-gbs", 1e-3, 1e6, &in->write_gbs, err);
	if (st == ST_OK)
		st = given(o, "bus-gbs", 1e-3, 1e5, &m->bus_gbs, err);
	if (st == ST_OK)
		st = option_real(o, "price", 0, 1e6, &in->price, err);
	if (st == ST_OK)
		st = option_real(o, "deadline", 0.01, 36600, &in->deadline_days, err);
	if (st == ST_OK)
		st = option_real(o, "budget", 0.01, 1e15, &in->budget, err);
	if (st == ST_OK && !isnan(in->price) && !option_given(o, "currency"))
		st = error_set(err, ST_USAGE, MSG_estimate_currency);
	return st;
}

/* The MTTF that was given is that of the job as it is, not of 1,000 cards. */
static void scale_mttf(struct model *m)
{
	struct range *r = &m->in.mttf_h;

	for (int c = 0; c < CASES && r->source == SOURCE_GIVEN && !isnan(m->in.cards); c++)
		r->of[c] *= m->in.cards / 1000;
}

static enum status say_it(const struct options *o, const struct model *m, const struct estimate *e,
                          struct error *err)
{
	const char *json = option_text(o, "json", NULL);
	const char *currency = option_text(o, "currency", NULL);
	struct report_options shown = cli_report_options();
	struct str out = {0};
	enum status st = ST_OK;

	if (json) {
		model_json(&out, m, e, currency);
		st = cli_write_text(json, &out, err);
		str_clear(&out);
	}
	if (st == ST_OK && (!json || strcmp(json, "-") != 0)) {
		model_text(&out, m, e, currency, &shown);
		st = cli_write_text("-", &out, err);
	}
	str_release(&out);
	return st;
}

static int estimate(const struct options *o, struct error *err)
{
	const char *dir = option_text(o, "run", NULL);
	struct model_request request = {.params = option_text(o, "params", NULL),
	                                .tokens = option_text(o, "tokens", NULL),
	                                .card = option_text(o, "card", NULL),
	                                .config_dir = option_text(o, "config-dir", NULL)};
	struct rundir run;
	struct model m;
	struct estimate e;
	enum status st;

	model_init(&m);
	st = parse(o, &m, err);
	if (st == ST_OK && dir) {
		st = rundir_open(&run, dir, 0, err);
		request.run = st == ST_OK ? &run : NULL;
	}
	if (st == ST_OK)
		st = model_gather(&m, &request, err);
	if (st == ST_OK) {
		scale_mttf(&m);
		st = estimate_make(&e, &m.in, err);
	}
	if (st == ST_OK)
		st = say_it(o, &m, &e, err);
	if (request.run)
		rundir_close(&run);
	model_release(&m);
	return cli_status_code(st);
}

const struct command command_estimate = {
	.name = "estimate",
	.summary = MSG_cmd_estimate,
	.operands = "",
	.min_operands = 0,
	.max_operands = 0,
	.rows = rows,
	.run = estimate,
};
