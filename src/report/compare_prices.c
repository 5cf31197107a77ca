/* Prices of delivered work and the buyer's own model as rows of a comparison. Rows carry
 * their currency in their name, so that no two currencies ever stand beside each other. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "report/compare.h"

/* What a price is of, as the unit of what money buys. */
static const char *bought(const char *name)
{
	static const struct {
		const char *name, *unit;
	} units[] = {{"trained_tflops_hour", "TFLOP/s h"}, {"tflops_hour", "TFLOP/s h"},
	             {"trained_1e9_tokens", "1e9 tokens"}, {"1e9_tokens", "1e9 tokens"},
	             {"memory_gbs_hour", "GB/s h"},        {"nccl_gbs_hour", "GB/s h"},
	             {"rdma_gbs_hour", "GB/s h"},          {"ring_gbs_hour", "GB/s h"},
	             {"tcp_gbs_hour", "GB/s h"},           {"storage_gbs_hour", "GB/s h"},
	             {"kiops_hour", "1,000 IOPS h"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strcmp(units[i].name, name) == 0)
			return units[i].unit;
	return name;
}

static const char *lower(const char *text)
{
	struct str s = {0};
	const char *kept;

	for (; *text; text++)
		str_addc(&s, (char)tolower((unsigned char)*text));
	kept = tmpf("%s", str_text(&s));
	str_release(&s);
	return kept;
}

void compare_add_figure(struct comparison *c, const char *metric, const char *unit,
                        enum better better, enum origin origin, const struct compare_cell *figure)
{
	struct compare_cell *cell =
		&compare_row_of(c, "", metric, "value", unit, better)->cells[c->n_columns - 1];

	*cell = *figure;
	cell->there = true;
	cell->origin = origin;
	cell->verdict = VERDICT_NOT_MEASURED;
	cell->worst = NAN;
	cell->subjects = 1;
}

/* What is delivered for one unit of money: the price turned round. */
static struct compare_cell turned(const struct compare_cell *price)
{
	return (struct compare_cell){.value = 1 / price->value,
	                             .lo = 1 / price->hi,
	                             .hi = 1 / price->lo,
	                             .note = price->note};
}

void compare_add_cost(struct comparison *c, const char *currency, enum origin origin,
                      const struct compare_cell *cost)
{
	compare_add_figure(c, tmpf("model_cost_%s", lower(currency)), currency, BETTER_LOWER,
	                   origin, cost);
}

void compare_add_prices(struct comparison *c, const struct price_list *list)
{
	const char *money = arena_str(c->arena, list->source ? lower(list->currency) : "");

	for (int i = 0; i < list->n; i++) {
		const struct price_line *line = &list->lines[i];
		const struct compare_cell price = {.value = line->value,
		                                   .lo = line->lo,
		                                   .hi = line->hi,
		                                   .note = arena_str(c->arena, line->metric)};
		const struct compare_cell per = turned(&price);

		compare_add_figure(c, tmpf("price_%s_%s", line->name, money), list->currency,
		                   BETTER_LOWER, line->origin, &price);
		compare_add_figure(c, tmpf("%s_per_%s", line->name, money),
		                   tmpf("%s/%s", bought(line->name), list->currency), BETTER_HIGHER,
		                   line->origin, &per);
	}
}

struct compare_part *compare_part(struct comparison *c, const char *key, const char *title)
{
	struct compare_part *part = &c->parts[c->n_parts++];

	*part = (struct compare_part){.key = arena_str(c->arena, key),
	                              .title = arena_str(c->arena, title)};
	return part;
}
