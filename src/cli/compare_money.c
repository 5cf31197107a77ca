/* Prices and needs in a comparison; see compare_money.h. The three needs are models of
 * the sizes for which guides name classes of vendors, each with 20 tokens a parameter;
 * days that are too many for a need are ours. */
#include "cli/compare_money.h"

#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "cli/model.h"
#include "cli/prices.h"
#include "report/words.h"
#include "service/quote.h"

static const struct need {
	enum msg title;
	double params, tokens;
	double days_most;
	bool one_node; /* no cluster is needed */
} needs[NEEDS] = {
	{MSG_need_large, 300e9, 6e12, 365, false},
	{MSG_need_medium, 30e9, 600e9, 180, false},
	{MSG_need_short, 3e9, 60e9, 30, true},
};

/* --- quotes of columns ------------------------------------------------------------------ */

/* NAME= before a file, or the n-th of those without; NULL: none. */
static const char *quote_of(const struct options *o, const char *name, int column)
{
	int n, plain = 0;
	const char *const *list = option_list(o, "quote", &n);

	for (int i = 0; i < n; i++) {
		const char *equals = strchr(list[i], '=');

		if (equals && strlen(name) == (size_t)(equals - list[i]) &&
		    strncmp(list[i], name, (size_t)(equals - list[i])) == 0)
			return equals + 1;
		if (!equals && plain++ == column)
			return list[i];
	}
	return NULL;
}

enum status money_check(const struct options *o, const char *const *names, int n, struct error *err)
{
	int quotes, plain = 0;
	const char *const *list = option_list(o, "quote", &quotes);

	for (int i = 0; i < quotes; i++) {
		const char *equals = strchr(list[i], '=');
		bool known = !equals;

		plain += !equals;
		for (int k = 0; k < n && equals; k++)
			known = known || (strlen(names[k]) == (size_t)(equals - list[i]) &&
			                  str_starts(list[i], names[k]));
		if (!known)
			return error_set(err, ST_USAGE, MSG_compare_quote_none, list[i]);
	}
	if (plain > n)
		return error_set(err, ST_USAGE, MSG_compare_quote_many, tmpf("%d", plain),
		                 tmpf("%d", n));
	if (option_given(o, "params") != option_given(o, "tokens"))
		return error_set(err, ST_USAGE, MSG_estimate_missing,
		                 option_given(o, "params") ? "tokens" : "params");
	return ST_OK;
}

static enum status prices_of(struct price_list *list, struct comparison *c, const char *path,
                             const struct price_list *kept, struct rundir *run, double params,
                             struct error *err)
{
	struct quote q;
	enum status st;

	*list = (struct price_list){0};
	/* By the bill or quote that was kept with the run. */
	if (!path && kept->source) {
		list->source = arena_str(c->arena, kept->source);
		list->currency = arena_str(c->arena, kept->currency);
		list->card_hour = kept->card_hour;
		prices_spread(list, c->arena, run, params);
	}
	if (!path)
		return ST_OK;
	st = quote_read(&q, path, err);
	if (st != ST_OK)
		return st;
	if (prices_by_quote(list, c->arena, &q))
		prices_spread(list, c->arena, run, params);
	else
		st = error_set(err, ST_USAGE, MSG_path_error, path, msg_format(MSG_quote_no_hour));
	quote_release(&q);
	return st;
}

/* --- projections -------------------------------------------------------------------------- */

struct asked {
	const char *params, *tokens, *config_dir;
	double cards, price; /* NaN: those of the run; none */
};

/* False: cannot be projected; `why` gets the words. */
static bool project(struct estimate *e, struct rundir *run, const struct asked *a, struct str *why)
{
	const struct model_request request = {
		.params = a->params, .tokens = a->tokens, .config_dir = a->config_dir, .run = run};
	struct error err = {0};
	struct model m;
	enum status st;

	model_init(&m);
	m.in.cards = a->cards;
	m.in.price = a->price;
	st = model_gather(&m, &request, &err);
	if (st == ST_OK)
		st = estimate_make(e, &m.in, &err);
	if (st != ST_OK)
		str_add(why, str_text(&err.text));
	error_release(&err);
	model_release(&m);
	return st == ST_OK;
}

static const char *money_text(double value)
{
	return value >= 1e4 ? words_count((int64_t)llround(value)) : fmt_value(value);
}

static struct compare_cell cell_of(const double of[CASES])
{
	return (struct compare_cell){
		.value = of[CASE_MID], .lo = of[CASE_BEST], .hi = of[CASE_WORST]};
}

static void own_model(struct money *m, struct money_column *x, struct comparison *c,
                      struct judged *j, const struct price_list *prices, double cards)
{
	const struct asked a = {.params = option_text(m->o, "params", NULL),
	                        .tokens = option_text(m->o, "tokens", NULL),
	                        .config_dir = option_text(m->o, "config-dir", NULL),
	                        .cards = cards,
	                        .price = prices->source ? prices->card_hour : NAN};
	enum origin origin = j->card.simulated ? ORIGIN_SIMULATED : ORIGIN_MEASURED;
	struct compare_cell days, cost;
	struct str text = {0};
	struct estimate e;

	if (!project(&e, &j->run, &a, &text)) {
		x->model = arena_str(c->arena, str_text(&text));
		str_release(&text);
		return;
	}
	days = cell_of(e.days);
	cost = cell_of(e.cost);
	if (e.fits) {
		msg_add(&text, MSG_compare_model_days, fmt_value(days.value), fmt_value(days.lo),
		        fmt_value(days.hi), words_count((int64_t)e.cards));
		compare_add_figure(c, "model_days", "days", BETTER_LOWER, origin, &days);
	} else {
		msg_add(&text, MSG_compare_model_fits_not, fmt_value(e.least_cards));
	}
	if (e.fits && isfinite(cost.value)) {
		str_add(&text, "; ");
		msg_add(&text, MSG_compare_model_cost, money_text(cost.value), prices->currency,
		        money_text(cost.lo), money_text(cost.hi));
		compare_add_cost(c, prices->currency, origin, &cost);
	}
	x->model = arena_str(c->arena, str_text(&text));
	str_release(&text);
}

/* --- needs -------------------------------------------------------------------------------------- */

static bool is_rejected(const struct scorecard *card)
{
	return (card->simulated ? card->overall_if_measured : card->overall) == OVERALL_REJECT;
}

static void fit(struct need_fit *f, const struct need *n, struct judged *j, struct arena *arena,
                const struct asked *like)
{
	static const char *const rates[] = {"gemm_bf16_tflops", "gemm_fp16_tflops"};
	struct effective all = rundir_effective(&j->run);
	struct asked a = *like;
	struct str why = {0};
	struct rate r = {.value = NAN};
	struct estimate e;

	*f = (struct need_fit){.state = NEED_UNMEASURED, .cost = NAN, .lo = NAN, .hi = NAN};
	for (int i = 0; i < 2 && !(r.value > 0); i++)
		rate_of(&r, arena, &all, metric_find(cli_metrics(), rates[i], NULL), "value",
		        false);
	f->cards = a.cards = (double)rates_cards(&j->run);
	if (n->one_node && j->run.info.expected_nodes > 0)
		f->cards = a.cards = floor(a.cards / (double)j->run.info.expected_nodes);
	a.params = arena_str(arena, tmpf("%.0f", n->params));
	a.tokens = arena_str(arena, tmpf("%.0f", n->tokens));
	if (!(r.value > 0) || !(a.cards >= 1) || !project(&e, &j->run, &a, &why)) {
		str_release(&why);
		return;
	}
	f->days = e.days[CASE_MID];
	f->cost = e.cost[CASE_MID];
	f->least_cards = e.least_cards;
	f->lo = r.lo / r.value;
	f->hi = r.hi / r.value;
	f->state = is_rejected(&j->card)    ? NEED_REJECTED
	           : !e.fits                ? NEED_MEMORY
	           : f->days > n->days_most ? NEED_SLOW
	                                    : NEED_FINE;
}

enum status money_take(struct money *m, struct comparison *c, const char *name, struct judged *j,
                       struct error *err)
{
	struct money_column *x = &m->columns[m->n];
	const char *path = quote_of(m->o, name, m->n);
	struct price_list prices;
	double params = NAN, cards = NAN;
	struct asked like;
	enum status st = option_real(m->o, "cards", 1, 1e6, &cards, err);

	*x = (struct money_column){.name = arena_str(c->arena, name), .run = true};
	if (option_given(m->o, "params") &&
	    !quantity_parse(option_text(m->o, "params", ""), &params))
		return error_set(err, ST_USAGE, MSG_estimate_quantity, "params",
		                 option_text(m->o, "params", ""));
	if (st == ST_OK)
		st = prices_of(&prices, c, path, &j->card.prices, &j->run, params, err);
	if (st != ST_OK)
		return st;
	m->n++;
	x->currency = prices.source ? prices.currency : NULL;
	compare_add_prices(c, &prices);
	if (option_given(m->o, "params"))
		own_model(m, x, c, j, &prices, cards);
	like = (struct asked){.config_dir = option_text(m->o, "config-dir", NULL),
	                      .price = prices.source ? prices.card_hour : NAN};
	for (int i = 0; i < NEEDS; i++)
		fit(&x->fits[i], &needs[i], j, c->arena, &like);
	return ST_OK;
}

void money_take_offer(struct money *m, const char *name)
{
	m->columns[m->n++] = (struct money_column){.name = name};
}

/* --- which one ------------------------------------------------------------------------------------ */

/* Cost where all that will do have a price in one currency, else days. */
static bool by_cost(const struct money *m, int need)
{
	const char *currency = NULL;

	for (int i = 0; i < m->n; i++) {
		const struct money_column *x = &m->columns[i];

		if (x->fits[need].state != NEED_FINE)
			continue;
		if (!x->currency || (currency && strcmp(currency, x->currency) != 0))
			return false;
		currency = x->currency;
	}
	return currency != NULL;
}

/* A faster card is done sooner and costs less: the ends turn round. Without an interval
 * nothing is told apart. */
static bool told_apart(const struct need_fit *best, const struct need_fit *other, bool cost)
{
	double a = (cost ? best->cost : best->days) / best->lo;
	double b = (cost ? other->cost : other->days) / other->hi;

	return isfinite(a) && isfinite(b) && a < b;
}

static void say_why_not(struct str *out, const struct money_column *x, const struct need_fit *f)
{
	const char *name = words_shown(x->name);

	str_add(out, out->len ? "; " : "");
	switch (f->state) {
	case NEED_REJECTED:
		msg_add(out, MSG_need_why_reject, name);
		break;
	case NEED_MEMORY:
		msg_add(out, MSG_need_why_memory, name, fmt_value(f->least_cards));
		break;
	case NEED_SLOW:
		msg_add(out, MSG_need_why_slow, name, fmt_value(f->days));
		break;
	default:
		msg_add(out, MSG_need_why_unmeasured, name);
		break;
	}
}

static void say_pick(struct str *out, const struct money_column *x, const struct need_fit *f,
                     bool cost)
{
	if (cost)
		msg_add(out, MSG_need_cheapest, words_shown(x->name), money_text(f->cost),
		        words_shown(x->currency), fmt_value(f->days));
	else
		msg_add(out, MSG_need_fastest, words_shown(x->name), fmt_value(f->days));
}

static void need_line(const struct money *m, int need, struct str *out)
{
	bool cost = by_cost(m, need);
	const struct money_column *best = NULL;
	struct str not_these = {0}, alike = {0};
	int n_alike = 0;

	for (int i = 0; i < m->n; i++) {
		const struct money_column *x = &m->columns[i];
		const struct need_fit *f = &x->fits[need];

		if (f->state != NEED_FINE)
			say_why_not(&not_these, x, f);
		else if (!best ||
		         (cost ? f->cost < best->fits[need].cost : f->days < best->fits[need].days))
			best = x;
	}
	for (int i = 0; i < m->n && best; i++) {
		const struct money_column *x = &m->columns[i];

		if (x->fits[need].state != NEED_FINE ||
		    (x != best && told_apart(&best->fits[need], &x->fits[need], cost)))
			continue;
		str_add(&alike, n_alike++ ? "; " : "");
		say_pick(&alike, x, &x->fits[need], cost);
	}
	if (!best)
		str_add(out, say(MSG_need_none, str_text(&not_these)));
	else if (n_alike > 1)
		str_add(out, say(MSG_need_same, str_text(&alike)));
	else
		str_add(out, str_text(&alike));
	if (best && needs[need].one_node)
		str_addf(out, "; %s",
		         say(MSG_need_one_node, words_shown(best->name),
		             words_count((int64_t)best->fits[need].cards)));
	str_release(&not_these);
	str_release(&alike);
}

void money_finish(struct money *m, struct comparison *c)
{
	struct compare_part *part;

	if (option_given(m->o, "params")) {
		part = compare_part(c, "model",
		                    say(MSG_compare_model, option_text(m->o, "params", ""),
		                        option_text(m->o, "tokens", "")));
		for (int i = 0; i < m->n; i++)
			part->lines[part->n_lines++] = (struct compare_line){
				m->columns[i].name, m->columns[i].run
							    ? m->columns[i].model
							    : msg_format(MSG_compare_model_offer)};
	}
	part = compare_part(c, "need", msg_format(MSG_need_title));
	for (int i = 0; i < NEEDS; i++) {
		struct str text = {0};

		msg_add(&text, needs[i].title, quantity_text(needs[i].params),
		        quantity_text(needs[i].tokens));
		str_add(&text, ": ");
		need_line(m, i, &text);
		part->lines[part->n_lines++] =
			(struct compare_line){NULL, arena_str(c->arena, str_text(&text))};
		str_release(&text);
	}
}
