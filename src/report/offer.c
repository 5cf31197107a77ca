/* Offers: what a vendor or a guide declares, as a file of configs/offers. */
#include <math.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "base/msg.h"
#include "report/compare.h"

static enum status add_figure(struct comparison *c, const struct json_doc *doc, const cJSON *item,
                              const struct metric_set *metrics, struct error *err)
{
	const char *name = json_string(item, "metric", "");
	const struct metric *metric = metric_find(metrics, name, NULL);
	double value = json_number(item, "value", NAN), lo = json_number(item, "lo", NAN);
	double hi = json_number(item, "hi", NAN);
	struct compare_cell *cell;

	if (!metric)
		return error_set(err, ST_PARSE, MSG_offer_metric, json_place(doc, item), name);
	if (strcmp(json_string(item, "unit", ""), metric->unit) != 0)
		return error_set(err, ST_PARSE, MSG_offer_unit, json_place(doc, item), name,
		                 metric->unit);
	if (isnan(value) == (isnan(lo) || isnan(hi)) || lo > hi)
		return error_set(err, ST_PARSE, MSG_offer_value, json_place(doc, item), name);
	cell = &compare_row_of(c, "", name, "value", metric->unit, metric->better)
	                ->cells[c->n_columns];
	*cell = (struct compare_cell){.there = true,
	                              .origin = ORIGIN_DECLARED,
	                              .verdict = VERDICT_NOT_MEASURED,
	                              .value = isnan(value) ? (lo + hi) / 2 : value,
	                              .lo = lo,
	                              .hi = hi,
	                              .worst = NAN,
	                              .note = arena_str(c->arena, json_string(item, "note", NULL))};
	return ST_OK;
}

static enum status add_figures(struct comparison *c, const struct json_doc *doc, const char *name,
                               const struct metric_set *metrics, struct error *err)
{
	const cJSON *item, *figures = json_get(doc->root, "figures");
	enum status st = ST_OK;

	if (json_int64(doc->root, "v", 0) != 1 || !cJSON_IsArray(figures))
		return error_set(err, ST_PARSE, MSG_offer_form, doc->name);
	c->columns[c->n_columns] = (struct compare_column){
		.name = arena_str(c->arena, json_string(doc->root, "name", name)),
		.title = arena_str(c->arena, json_string(doc->root, "title", name)),
		.card = arena_str(c->arena, json_string(doc->root, "card", NULL)),
		.offer = true,
		.overall = OVERALL_INCOMPLETE,
	};
	cJSON_ArrayForEach(item, figures)
	{
		st = add_figure(c, doc, item, metrics, err);
		if (st != ST_OK)
			return st;
	}
	c->n_columns++;
	return ST_OK;
}

enum status compare_add_offer(struct comparison *c, const char *name, const char *config_dir,
                              const struct metric_set *metrics, struct error *err)
{
	struct str text = {0}, where = {0};
	struct json_doc doc = {0};
	enum status st;

	if (str_ends(name, ".json")) {
		st = json_load(&doc, name, JSON_COMMENTS, err);
	} else {
		st = config_read(&text, &where, config_dir, tmpf("offers/%s.json", name), err);
		if (st == ST_OK)
			st = json_parse(&doc, str_text(&where), str_text(&text), text.len,
			                JSON_COMMENTS, err);
	}
	if (st == ST_OK) {
		st = add_figures(c, &doc, name, metrics, err);
		json_release(&doc);
	}
	str_release(&text);
	str_release(&where);
	return st;
}
