/* Prices of delivered work in words; see prices.h. */
#include "report/prices.h"

#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/words.h"

static const struct {
	const char *name;
	enum msg what;
} names[] = {
	{"trained_tflops_hour", MSG_price_trained_tflops_hour},
	{"tflops_hour", MSG_price_tflops_hour},
	{"memory_gbs_hour", MSG_price_memory_gbs_hour},
	{"nccl_gbs_hour", MSG_price_nccl_gbs_hour},
	{"rdma_gbs_hour", MSG_price_rdma_gbs_hour},
	{"ring_gbs_hour", MSG_price_ring_gbs_hour},
	{"tcp_gbs_hour", MSG_price_tcp_gbs_hour},
	{"storage_gbs_hour", MSG_price_storage_gbs_hour},
	{"kiops_hour", MSG_price_kiops_hour},
	{"trained_1e9_tokens", MSG_price_1e9_tokens},
	{"1e9_tokens", MSG_price_1e9_tokens},
};

static const enum msg leasts[] = {
	[PRICE_PRODUCTS] = MSG_price_at_least, [PRICE_STEPS] = MSG_price_at_least_steps};

static const char *params_text(double params)
{
	return tmpf("%sB", fmt_value(params / 1e9));
}

void prices_head(struct str *out, const struct price_list *list)
{
	bool bill = strcmp(list->source, "bill") == 0;

	msg_add(out, MSG_price_head, fmt_value(list->card_hour), words_shown(list->currency),
	        msg_format(bill ? MSG_price_bill : MSG_price_quote));
}

void prices_what(struct str *out, const struct price_list *list, const struct price_line *line)
{
	const char *rate = words_shown(line->metric);

	if (line->adapters > 1)
		rate = say(MSG_price_adapters, rate, fmt_value(line->adapters));
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(names[i].name, line->name) == 0)
			msg_add(out, names[i].what, rate, params_text(list->params));
}

void prices_value(struct str *out, const struct price_list *list, const struct price_line *line)
{
	const char *currency = words_shown(list->currency);
	const char *text = isfinite(line->lo) && line->hi > line->lo
	                           ? say(MSG_price_range, fmt_value(line->value), currency,
	                                 fmt_value(line->lo), fmt_value(line->hi))
	                           : say(MSG_price_one, fmt_value(line->value), currency);

	text = say(MSG_price_origin, text, words_origin(line->origin));
	str_add(out, line->least ? say(leasts[line->least], text) : text);
}

void prices_json(struct json_out *j, const struct price_list *list)
{
	if (!list->source)
		return;
	json_object_begin(j, "prices");
	json_put_string(j, "source", list->source);
	json_put_string(j, "currency", list->currency);
	json_put_number(j, "card_hour", list->card_hour);
	json_put_number(j, "params", list->params);
	json_array_begin(j, "lines");
	for (int i = 0; i < list->n; i++) {
		const struct price_line *line = &list->lines[i];

		json_object_begin(j, NULL);
		json_put_string(j, "name", line->name);
		json_put_string(j, "metric", line->metric);
		json_put_number(j, "rate", line->rate);
		json_put_string(j, "origin", origin_name(line->origin));
		json_put_number(j, "value", line->value);
		json_put_number(j, "lo", line->lo);
		json_put_number(j, "hi", line->hi);
		json_put_string(j, "of", line->of);
		json_put_number(j, "adapters", line->adapters);
		json_put_bool(j, "at_least", line->least != PRICE_WHOLE);
		json_put_bool(j, "fallback", line->fallback);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}
