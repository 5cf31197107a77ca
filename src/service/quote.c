/* Reading quotes; see quote.h. A member that is misspelt would quietly be no promise,
 * so unknown ones are errors with the nearest known one. */
#include "service/quote.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "service/stamp.h"

static const char *const quote_keys[] = {"currency", "tax",   "card",  "valid_from", "valid_to",
                                         "items",    "terms", "title", "support",    NULL};
static const char *const support_keys[] = {"hours",       "response_min", "replace_h",
                                           "spare_nodes", "plan",         NULL};
static const char *const item_keys[] = {"item",        "match",        "per",  "price",  "included",
                                        "granularity", "when_stopped", "gpus", "source", "note",
                                        NULL};

static enum status check_keys(const struct json_doc *doc, const cJSON *object,
                              const char *const *keys, struct error *err)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, object)
	{
		const char *const *k = keys;
		const char *near;

		while (*k && strcmp(*k, member->string) != 0)
			k++;
		if (*k)
			continue;
		near = nearest_word(member->string, keys);
		return error_set(err, ST_PARSE, MSG_quote_key, json_place(doc, member),
		                 member->string, near ? near : keys[0]);
	}
	return ST_OK;
}

static enum status wrong(const struct json_doc *doc, const cJSON *object, const char *key,
                         enum msg wanted, struct error *err)
{
	const cJSON *at = json_get(object, key);

	return error_set(err, ST_PARSE, MSG_quote_member, json_place(doc, at ? at : object), key,
	                 msg_format(wanted));
}

/* An exact number of 0 or more, as text; absent: *there is false. */
static enum status take_decimal(const struct json_doc *doc, const cJSON *item, const char *key,
                                struct decimal *out, bool *there, struct error *err)
{
	const cJSON *member = json_get(item, key);

	*there = member != NULL;
	*out = (struct decimal){0};
	if (!member)
		return ST_OK;
	if (!cJSON_IsString(member) ||
	    decimal_parse(member->valuestring, DECIMAL_POINT, out) != DECIMAL_FINE ||
	    decimal_sign(*out) < 0)
		return wrong(doc, item, key, MSG_want_price, err);
	return ST_OK;
}

static enum status take_match(struct quote *q, const struct json_doc *doc, const cJSON *item,
                              struct quote_item *out, struct error *err)
{
	const cJSON *list = json_get(item, "match"), *word;
	const char **kept;

	if (!cJSON_IsArray(list) || !cJSON_GetArraySize(list))
		return wrong(doc, item, "match", MSG_want_patterns, err);
	kept = arena_array(&q->arena, (size_t)cJSON_GetArraySize(list), sizeof(*kept));
	cJSON_ArrayForEach(word, list)
	{
		if (!cJSON_IsString(word) || !*word->valuestring)
			return wrong(doc, item, "match", MSG_want_patterns, err);
		kept[out->n_match++] = arena_str(&q->arena, word->valuestring);
	}
	out->match = kept;
	return ST_OK;
}

static enum status take_terms(const struct json_doc *doc, const cJSON *item, struct quote_item *out,
                              struct error *err)
{
	static const struct {
		const char *word;
		int64_t seconds;
	} steps[] = {{"second", 1}, {"minute", 60}, {"hour", 3600}, {"day", 86400}};
	const char *granularity = json_string(item, "granularity", NULL);
	const cJSON *stopped = json_get(item, "when_stopped");
	double gpus = json_number(item, "gpus", json_get(item, "gpus") ? NAN : 0);

	for (size_t i = 0; granularity && i < sizeof(steps) / sizeof(*steps); i++)
		if (strcmp(granularity, steps[i].word) == 0)
			out->granularity_s = steps[i].seconds;
	if (json_get(item, "granularity") && !out->granularity_s)
		return wrong(doc, item, "granularity", MSG_want_step, err);
	if (stopped && !cJSON_IsBool(stopped))
		return wrong(doc, item, "when_stopped", MSG_want_bool, err);
	out->when_stopped = cJSON_IsTrue(stopped);
	if (!(gpus >= 0 && gpus <= 1024 && gpus == floor(gpus)))
		return wrong(doc, item, "gpus", MSG_want_gpus, err);
	out->gpus = (int)gpus;
	return ST_OK;
}

static enum status take_item(struct quote *q, const struct json_doc *doc, const cJSON *item,
                             struct error *err)
{
	struct quote_item *out = &q->items[q->n_items];
	long long numerator = 0, denominator = 0;
	bool there;
	enum status st = cJSON_IsObject(item) ? check_keys(doc, item, item_keys, err)
	                                      : wrong(doc, item, "items", MSG_want_items, err);

	if (st != ST_OK)
		return st;
	out->name = arena_str(&q->arena, json_string(item, "item", NULL));
	if (!out->name || !*out->name)
		return wrong(doc, item, "item", MSG_want_name, err);
	out->per = quantity_unit(json_string(item, "per", ""), &numerator, &denominator);
	if (out->per == QUANTITY_NONE || numerator != denominator)
		return wrong(doc, item, "per", MSG_want_unit, err);
	st = take_decimal(doc, item, "price", &out->price, &out->priced, err);
	if (st == ST_OK)
		st = take_decimal(doc, item, "included", &out->included, &there, err);
	if (st == ST_OK)
		st = take_match(q, doc, item, out, err);
	if (st == ST_OK)
		st = take_terms(doc, item, out, err);
	if (st == ST_OK && out->per == QUANTITY_GPU_HOUR && !out->gpus)
		out->gpus = 1;
	q->n_items++;
	return st;
}

static enum status take_day(const struct json_doc *doc, const cJSON *quote, const char *key,
                            int64_t *seconds, struct error *err)
{
	const cJSON *member = json_get(quote, key);

	if (!member)
		return ST_OK;
	if (!cJSON_IsString(member) || !stamp_parse(member->valuestring, 480, seconds, NULL))
		return wrong(doc, quote, key, MSG_want_day, err);
	return ST_OK;
}

/* A statement, whatever it says; but a slip of the pen is none. */
static enum status take_support(struct quote *q, const struct json_doc *doc, const cJSON *quote,
                                struct error *err)
{
	const cJSON *support = json_get(quote, "support"), *member;
	enum status st;

	if (!support)
		return ST_OK;
	if (!cJSON_IsObject(support))
		return wrong(doc, quote, "support", MSG_want_support, err);
	st = check_keys(doc, support, support_keys, err);
	if (st != ST_OK)
		return st;
	cJSON_ArrayForEach(member, support)
	{
		bool words = word_in("hours|plan", member->string);

		if (words && (!cJSON_IsString(member) || !*member->valuestring))
			return wrong(doc, support, member->string, MSG_want_name, err);
		if (!words && !(cJSON_IsNumber(member) && member->valuedouble >= 0))
			return wrong(doc, support, member->string, MSG_want_positive, err);
		q->support_terms++;
	}
	return ST_OK;
}

static enum status take_quote(struct quote *q, const struct json_doc *doc, struct error *err)
{
	const cJSON *quote = json_get(doc->root, "quote"), *items = json_get(quote, "items");
	const char *tax = json_string(quote, "tax", "");
	const cJSON *item;
	enum status st;

	if (!cJSON_IsObject(quote))
		return error_set(err, ST_NOTFOUND, MSG_quote_none, doc->name);
	st = check_keys(doc, quote, quote_keys, err);
	if (st != ST_OK)
		return st;
	q->currency = arena_str(&q->arena, json_string(quote, "currency", ""));
	if (strlen(q->currency) != 3)
		return wrong(doc, quote, "currency", MSG_want_currency, err);
	if (!word_in("included|excluded", tax))
		return wrong(doc, quote, "tax", MSG_want_tax, err);
	q->tax_included = strcmp(tax, "included") == 0;
	q->card = arena_str(&q->arena,
	                    json_string(quote, "card", json_string(doc->root, "card", NULL)));
	st = take_day(doc, quote, "valid_from", &q->valid_from, err);
	if (st == ST_OK)
		st = take_day(doc, quote, "valid_to", &q->valid_to, err);
	if (st == ST_OK)
		st = take_support(q, doc, quote, err);
	if (st == ST_OK && (!cJSON_IsArray(items) || !cJSON_GetArraySize(items)))
		st = wrong(doc, quote, "items", MSG_want_items, err);
	if (st == ST_OK && q->valid_from >= q->valid_to)
		st = wrong(doc, quote, "valid_to", MSG_want_later, err);
	if (st != ST_OK)
		return st;
	q->items = arena_array(&q->arena, (size_t)cJSON_GetArraySize(items), sizeof(*q->items));
	cJSON_ArrayForEach(item, items)
	{
		st = take_item(q, doc, item, err);
		if (st != ST_OK)
			break;
	}
	return st;
}

enum status quote_read(struct quote *q, const char *path, struct error *err)
{
	struct json_doc doc;
	enum status st = json_load(&doc, path, JSON_COMMENTS, err);

	*q = (struct quote){.valid_from = INT64_MIN, .valid_to = INT64_MAX};
	if (st != ST_OK)
		return st;
	q->file = arena_str(&q->arena, path);
	q->name = arena_str(&q->arena, json_string(doc.root, "name", path));
	q->title = arena_str(&q->arena, json_string(doc.root, "title", path));
	st = take_quote(q, &doc, err);
	json_release(&doc);
	if (st != ST_OK)
		quote_release(q);
	return st;
}

void quote_release(struct quote *q)
{
	arena_release(&q->arena);
	*q = (struct quote){0};
}

/* --- what it amounts to ----------------------------------------------------------- */

static const struct quote_item *first_of(const struct quote *q, enum quantity_kind kind)
{
	for (int i = 0; i < q->n_items; i++)
		if (q->items[i].per == kind && q->items[i].gpus && q->items[i].priced)
			return &q->items[i];
	return NULL;
}

const struct quote_item *quote_hourly(const struct quote *q)
{
	const struct quote_item *machine = first_of(q, QUANTITY_HOUR);

	return machine ? machine : first_of(q, QUANTITY_GPU_HOUR);
}

const struct quote_item *quote_monthly(const struct quote *q)
{
	return first_of(q, QUANTITY_MONTH);
}

/* Price of one GPU by this item; that of GPU hours is of one already. */
static bool of_one(const struct quote_item *item, struct decimal *price)
{
	int gpus = item->per == QUANTITY_GPU_HOUR ? 1 : item->gpus;

	return decimal_scale(item->price, 1, gpus, price);
}

bool quote_gpu_hour(const struct quote *q, struct decimal *price)
{
	const struct quote_item *item = quote_hourly(q);

	return item && of_one(item, price);
}

bool quote_month(const struct quote *q, double hours, double *discount,
                 struct decimal *break_even_hours)
{
	const struct quote_item *month = quote_monthly(q);
	struct decimal hourly, monthly;

	if (!month || !quote_gpu_hour(q, &hourly) || !of_one(month, &monthly) ||
	    !decimal_div(monthly, hourly, break_even_hours))
		return false;
	*discount = 1 - decimal_double(*break_even_hours) / hours;
	return true;
}
