/* The quantities and known statements of configs/claims. A member that is misspelt would
 * quietly change what a statement means, so unknown ones are errors. */
#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "service/claims.h"

#define FILE_NAME "claims/default.json"

struct reader {
	struct claim_words *w;
	const struct json_doc *doc;
	struct error *err;
};

static enum status wrong(const struct reader *r, const cJSON *at, const char *what)
{
	return error_set(r->err, ST_PARSE, MSG_claim_words_member, json_place(r->doc, at), what);
}

static enum status check_keys(const struct reader *r, const cJSON *object, const char *keys)
{
	const cJSON *member;

	if (!cJSON_IsObject(object))
		return wrong(r, object, keys);
	cJSON_ArrayForEach(member, object)
	{
		if (!word_in(keys, member->string))
			return wrong(r, member, keys);
	}
	return ST_OK;
}

static const char *text_of(const struct reader *r, const cJSON *item, const char *key,
                           const char *fallback)
{
	return arena_str(&r->w->arena, json_string(item, key, fallback));
}

static enum status take_words(const struct reader *r, const cJSON *list, struct claim_quantity *q)
{
	const char **words =
		arena_array(&r->w->arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(*words));
	const cJSON *word;

	cJSON_ArrayForEach(word, list)
	{
		if (!cJSON_IsString(word) || !*word->valuestring)
			return wrong(r, word, "words");
		words[q->n_words++] = arena_str(&r->w->arena, word->valuestring);
	}
	q->words = words;
	return ST_OK;
}

static enum status take_quantity(const struct reader *r, const cJSON *item)
{
	struct claim_quantity *q = &r->w->quantities[r->w->n_quantities++];
	enum status st = check_keys(r, item, "name|metric|stat|unit|column|tolerance|sum|words");

	if (st != ST_OK)
		return st;
	*q = (struct claim_quantity){
		.name = text_of(r, item, "name", NULL),
		.metric = text_of(r, item, "metric", NULL),
		.stat = text_of(r, item, "stat", "value"),
		.unit = text_of(r, item, "unit", NULL),
		.column = text_of(r, item, "column", NULL),
		.tolerance = json_number(item, "tolerance", 0),
		.sum = json_bool(item, "sum", false),
	};
	if (!q->name || !q->unit)
		return wrong(r, item, "name, unit");
	if (!(q->tolerance >= 0 && q->tolerance < 0.5))
		return wrong(r, item, "tolerance");
	return take_words(r, json_get(item, "words"), q);
}

static enum status take_known(const struct reader *r, const cJSON *item)
{
	struct claim_known *k = &r->w->known[r->w->n_known++];
	enum status st =
		check_keys(r, item, "text|quantity|who|card|product|params|cards|tokens|at");

	if (st != ST_OK)
		return st;
	*k = (struct claim_known){
		.text = text_of(r, item, "text", NULL),
		.quantity = text_of(r, item, "quantity", ""),
		.who = text_of(r, item, "who", ""),
		.card = text_of(r, item, "card", ""),
		.product = text_of(r, item, "product", ""),
		.params = json_number(item, "params", NAN),
		.cards = json_number(item, "cards", NAN),
		.tokens = json_number(item, "tokens", NAN),
		.at = json_number(item, "at", NAN),
	};
	return k->text && claim_quantity_find(r->w, k->quantity) ? ST_OK
	                                                         : wrong(r, item, "text, quantity");
}

static enum status take_domain(const struct reader *r, const cJSON *item)
{
	struct claim_domain *d = &r->w->domains[r->w->n_domains++];
	enum status st = check_keys(r, item, "card|cards");

	*d = (struct claim_domain){text_of(r, item, "card", NULL), json_number(item, "cards", NAN)};
	return st != ST_OK || (d->card && d->cards >= 1) ? st : wrong(r, item, "card, cards");
}

static enum status take_product(const struct reader *r, const cJSON *item)
{
	struct claim_product *p = &r->w->products[r->w->n_products++];
	enum status st = check_keys(r, item, "product|card|source");

	*p = (struct claim_product){text_of(r, item, "product", NULL),
	                            text_of(r, item, "card", NULL), text_of(r, item, "source", "")};
	return st != ST_OK || (p->product && p->card) ? st : wrong(r, item, "product, card");
}

/* Every item of a list; *out has room for all. */
static enum status take_all(const struct reader *r, const char *key, void **out, size_t size,
                            enum status (*take)(const struct reader *, const cJSON *))
{
	const cJSON *list = json_get(r->doc->root, key), *item;
	enum status st = ST_OK;

	if (!cJSON_IsArray(list))
		return wrong(r, list ? list : r->doc->root, key);
	*out = arena_array(&r->w->arena, (size_t)cJSON_GetArraySize(list) + 1, size);
	cJSON_ArrayForEach(item, list)
	{
		st = take(r, item);
		if (st != ST_OK)
			break;
	}
	return st;
}

static enum status take_file(const struct reader *r)
{
	struct claim_words *w = r->w;
	enum status st = check_keys(r, r->doc->root, "v|quantities|known|domains|products");

	if (st == ST_OK && json_int64(r->doc->root, "v", 0) != 1)
		st = wrong(r, r->doc->root, "v");
	if (st == ST_OK)
		st = take_all(r, "quantities", (void **)&w->quantities, sizeof(*w->quantities),
		              take_quantity);
	if (st == ST_OK)
		st = take_all(r, "known", (void **)&w->known, sizeof(*w->known), take_known);
	if (st == ST_OK)
		st = take_all(r, "domains", (void **)&w->domains, sizeof(*w->domains), take_domain);
	if (st == ST_OK)
		st = take_all(r, "products", (void **)&w->products, sizeof(*w->products),
		              take_product);
	return st;
}

enum status claim_words_load(struct claim_words *w, const char *config_dir, struct error *err)
{
	struct str text = {0}, where = {0};
	struct json_doc doc;
	enum status st = config_read(&text, &where, config_dir, FILE_NAME, err);

	*w = (struct claim_words){0};
	if (st == ST_OK)
		st = json_parse(&doc, str_text(&where), str_text(&text), text.len, JSON_COMMENTS,
		                err);
	if (st == ST_OK) {
		st = take_file(&(struct reader){w, &doc, err});
		json_release(&doc);
	}
	str_release(&text);
	str_release(&where);
	return st;
}

void claim_words_release(struct claim_words *w)
{
	arena_release(&w->arena);
	*w = (struct claim_words){0};
}

const struct claim_quantity *claim_quantity_find(const struct claim_words *w, const char *name)
{
	for (int i = 0; i < w->n_quantities; i++)
		if (strcmp(w->quantities[i].name, name) == 0)
			return &w->quantities[i];
	return NULL;
}
