/* Reading statements; see claims.h. */
#include "service/claims.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/json.h"
#include "base/unit.h"
#include "service/quote.h"
#include "service/sheet.h"

#define STATEMENTS_MOST 1000 /* each is held against all others */

/* --- what a statement is about ------------------------------------------------------------ */

void statement_measure(struct statement *s, const struct claim_quantity *q)
{
	double factor = claim_factor(s->unit, q->unit);

	s->quantity = q;
	s->scaled = s->figure.bound != BOUND_WORDS && isfinite(factor);
	if (s->scaled) {
		s->figure.lo *= factor;
		s->figure.hi *= factor;
	}
}

static const struct claim_known *known_as(const struct claim_words *w, const char *text)
{
	for (int i = 0; *text && i < w->n_known; i++)
		if (strcmp(w->known[i].text, text) == 0)
			return &w->known[i];
	return NULL;
}

/* Without regard to the case of ASCII letters. */
static bool has_word(const char *text, const char *word)
{
	return *text && strcasestr(text, word);
}

static const struct claim_quantity *by_words(const struct claim_words *w, const struct statement *s)
{
	for (int i = 0; i < w->n_quantities; i++) {
		const struct claim_quantity *q = &w->quantities[i];

		if (s->figure.bound == BOUND_WORDS || isnan(claim_factor(s->unit, q->unit)))
			continue;
		for (int k = 0; k < q->n_words; k++)
			if (has_word(s->meaning, q->words[k]) || has_word(s->phrase, q->words[k]))
				return q;
	}
	return NULL;
}

/* Where the file does not say it: the words of a known statement, else words that tell
 * the quantity. */
static void recognise(struct statement *s, const struct claim_words *w)
{
	const struct claim_known *k = known_as(w, s->phrase);
	const struct claim_quantity *q = NULL;

	if (!k)
		k = known_as(w, s->meaning);
	if (k) {
		q = claim_quantity_find(w, k->quantity);
		s->who = *s->who ? s->who : k->who;
		s->card = *s->card ? s->card : k->card;
		s->product = *s->product ? s->product : k->product;
		s->params = isnan(s->params) ? k->params : s->params;
		s->cards = isnan(s->cards) ? k->cards : s->cards;
		s->tokens = isnan(s->tokens) ? k->tokens : s->tokens;
		s->at = isnan(s->at) ? k->at : s->at;
	} else {
		q = by_words(w, s);
	}
	if (q)
		statement_measure(s, q);
}

static void understand(struct statement *s, const struct claim_words *w)
{
	const struct claim_quantity *q = claim_quantity_find(w, s->wanted);

	s->named = *s->wanted != '\0';
	for (int i = 0; s->named && !q && i < w->n_quantities; i++)
		if (w->quantities[i].metric && strcmp(w->quantities[i].metric, s->wanted) == 0 &&
		    strcmp(w->quantities[i].stat, "value") == 0)
			q = &w->quantities[i];
	if (q)
		statement_measure(s, q);
	else if (!s->named)
		recognise(s, w);
}

static struct statement *add(struct statements *all)
{
	struct statement *s;

	if (all->n == all->cap) {
		int cap = all->cap ? 2 * all->cap : 64;
		struct statement *more = arena_array(&all->arena, (size_t)cap, sizeof(*more));

		if (all->n)
			memcpy(more, all->list, (size_t)all->n * sizeof(*more));
		all->list = more;
		all->cap = cap;
	}
	s = &all->list[all->n++];
	*s = (struct statement){.id = "",
	                        .meaning = "",
	                        .phrase = "",
	                        .kind = "",
	                        .note = "",
	                        .unit = "",
	                        .threshold = "",
	                        .who = "",
	                        .card = "",
	                        .product = "",
	                        .wanted = "",
	                        .cards = NAN,
	                        .params = NAN,
	                        .tokens = NAN,
	                        .at = NAN};
	return s;
}

/* --- a CSV -------------------------------------------------------------------------------- */

struct table {
	struct statements *all;
	struct sheet sheet;
	const struct claim_words *words;
	struct error *err;
};

static const char *field(struct table *t, const char *column)
{
	int at = sheet_column(&t->sheet, column);

	return at < 0 ? "" : arena_str(&t->all->arena, t->sheet.fields[at]);
}

static const char *line_of(const struct table *t)
{
	return tmpf("%lld", (long long)t->sheet.line);
}

static enum status take_count(struct table *t, const char *column, double *out)
{
	const char *text = field(t, column);
	struct claim_figure f;

	*out = NAN;
	if (!*text || strcmp(text, "-") == 0)
		return ST_OK;
	if (!claim_figure_parse(text, &f) || f.bound != BOUND_ABOUT || !(f.lo > 0) || f.lo != f.hi)
		return error_set(t->err, ST_PARSE, MSG_claim_count, t->sheet.name, line_of(t),
		                 column, text);
	*out = f.lo;
	return ST_OK;
}

static enum status take_counts(struct table *t, struct statement *s)
{
	enum status st = take_count(t, "cards", &s->cards);

	if (st == ST_OK)
		st = take_count(t, "params", &s->params);
	if (st == ST_OK)
		st = take_count(t, "tokens", &s->tokens);
	if (st == ST_OK)
		st = take_count(t, "at", &s->at);
	return st;
}

static enum status take_line(struct table *t)
{
	struct statement *s = add(t->all);
	enum status st;

	s->line = t->sheet.line;
	s->id = field(t, "id");
	s->meaning = field(t, "meaning");
	s->phrase = field(t, "phrase_zh");
	s->kind = field(t, "kind");
	s->note = field(t, "note");
	s->unit = field(t, "unit");
	s->threshold = field(t, "threshold");
	s->who = field(t, "who");
	s->card = field(t, "card");
	s->product = field(t, "product");
	s->wanted = field(t, "quantity");
	if (t->all->n > STATEMENTS_MOST)
		return error_set(t->err, ST_PARSE, MSG_claim_many, t->sheet.name, line_of(t),
		                 tmpf("%d", STATEMENTS_MOST));
	if (!*s->id)
		return error_set(t->err, ST_PARSE, MSG_claim_no_id, t->sheet.name, line_of(t));
	for (int i = 0; i < t->all->n - 1; i++)
		if (strcmp(t->all->list[i].id, s->id) == 0)
			return error_set(t->err, ST_PARSE, MSG_claim_twice, t->sheet.name,
			                 line_of(t), s->id,
			                 tmpf("%lld", (long long)t->all->list[i].line));
	if (!claim_figure_parse(s->threshold, &s->figure))
		return error_set(t->err, ST_PARSE, MSG_claim_threshold, t->sheet.name, line_of(t),
		                 s->threshold);
	st = take_counts(t, s);
	if (st == ST_OK)
		understand(s, t->words);
	return st;
}

static enum status read_lines(struct table *t)
{
	bool more = true;
	enum status st = sheet_need(&t->sheet, "id", NULL, t->err);

	if (st == ST_OK)
		st = sheet_need(&t->sheet, "meaning", "phrase_zh", t->err);
	if (st == ST_OK)
		st = sheet_need(&t->sheet, "unit", NULL, t->err);
	if (st == ST_OK)
		st = sheet_need(&t->sheet, "threshold", NULL, t->err);
	while (st == ST_OK) {
		st = sheet_next(&t->sheet, &more, t->err);
		if (st != ST_OK || !more)
			break;
		st = take_line(t);
	}
	if (st == ST_OK && !t->all->n)
		st = error_set(t->err, ST_PARSE, MSG_sheet_no_lines, t->sheet.name);
	return st;
}

static enum status read_table(struct statements *all, const char *path,
                              const struct claim_words *words, struct error *err)
{
	struct table t = {.all = all, .words = words, .err = err};
	enum status st = sheet_open(&t.sheet, path, err);

	if (st != ST_OK)
		return st;
	all->title = all->name;
	all->encoding = arena_str(&all->arena, t.sheet.encoding);
	st = read_lines(&t);
	sheet_close(&t.sheet);
	return st;
}

/* --- an offer ----------------------------------------------------------------------------- */

static enum status take_figure(struct statements *all, const struct json_doc *doc,
                               const cJSON *item, const struct claim_words *words,
                               struct error *err)
{
	double value = json_number(item, "value", NAN), lo = json_number(item, "lo", value);
	double hi = json_number(item, "hi", value);
	struct statement *s = add(all);

	s->wanted = arena_str(&all->arena, json_string(item, "metric", ""));
	if (!*s->wanted || !(lo <= hi))
		return error_set(err, ST_PARSE, MSG_offer_value, json_place(doc, item), s->wanted);
	s->id = s->wanted;
	s->meaning = s->wanted;
	s->who = all->name;
	s->note = arena_str(&all->arena, json_string(item, "note", ""));
	s->kind = "offer";
	s->card = all->card;
	s->unit = arena_str(&all->arena, json_string(item, "unit", ""));
	s->threshold = lo < hi ? arena_strf(&all->arena, "%g-%g", lo, hi)
	                       : arena_strf(&all->arena, "%g", lo);
	s->figure = (struct claim_figure){.bound = BOUND_ABOUT, .lo = lo, .hi = hi};
	understand(s, words);
	if (s->quantity && !s->scaled)
		return error_set(err, ST_PARSE, MSG_offer_unit, json_place(doc, item), s->wanted,
		                 s->quantity->unit);
	return ST_OK;
}

static void add_card(struct statements *all, const struct claim_words *words)
{
	struct statement *s = add(all);

	s->id = "card";
	s->meaning = all->card;
	s->kind = "offer";
	s->who = all->name;
	s->card = all->card;
	s->wanted = "card_model";
	understand(s, words);
}

/* What the quote of an offer promises, beside its figures. */
static enum status add_quote(struct statements *all, const char *path,
                             const struct claim_words *words, struct error *err)
{
	struct decimal hour, even;
	struct quote q;
	double discount, of[2] = {NAN, NAN};
	static const char *const names[] = {"gpu_hour", "month_discount"};
	enum status st = quote_read(&q, path, err);

	if (st != ST_OK)
		return st;
	if (strcmp(q.currency, "CNY") == 0 && quote_gpu_hour(&q, &hour))
		of[0] = decimal_double(hour);
	if (quote_month(&q, QUOTE_MONTH_HOURS, &discount, &even))
		of[1] = discount;
	for (int i = 0; i < 2; i++) {
		struct statement *s;

		if (isnan(of[i]))
			continue;
		s = add(all);
		s->id = s->wanted = names[i];
		s->meaning = names[i];
		s->kind = "quote";
		s->who = all->name;
		s->unit = i ? "1" : "CNY/h";
		s->threshold = arena_strf(&all->arena, "%.6g", of[i]);
		s->figure = (struct claim_figure){BOUND_ABOUT, of[i], of[i], false};
		understand(s, words);
	}
	quote_release(&q);
	return ST_OK;
}

static enum status take_offer(struct statements *all, const struct json_doc *doc, const char *path,
                              const struct claim_words *words, struct error *err)
{
	const cJSON *item, *figures = json_get(doc->root, "figures");
	enum status st = ST_OK;

	if (json_int64(doc->root, "v", 0) != 1 || !cJSON_IsArray(figures))
		return error_set(err, ST_PARSE, MSG_offer_form, doc->name);
	all->encoding = "UTF-8";
	all->title = arena_str(&all->arena, json_string(doc->root, "title", path));
	all->name = arena_str(&all->arena, json_string(doc->root, "name", path));
	all->card = arena_str(&all->arena, json_string(doc->root, "card", ""));
	if (*all->card)
		add_card(all, words);
	cJSON_ArrayForEach(item, figures)
	{
		st = take_figure(all, doc, item, words, err);
		if (st != ST_OK)
			return st;
	}
	if (json_get(doc->root, "quote") && str_ends(path, ".json"))
		st = add_quote(all, path, words, err);
	if (st == ST_OK && !all->n)
		st = error_set(err, ST_PARSE, MSG_claim_offer_empty, doc->name);
	return st;
}

static enum status read_offer(struct statements *all, const char *path,
                              const struct claim_words *words, const char *config_dir,
                              struct error *err)
{
	struct str text = {0}, where = {0};
	struct json_doc doc = {0};
	enum status st;

	if (str_ends(path, ".json")) {
		st = json_load(&doc, path, JSON_COMMENTS, err);
	} else {
		st = config_read(&text, &where, config_dir, tmpf("offers/%s.json", path), err);
		if (st == ST_OK)
			st = json_parse(&doc, str_text(&where), str_text(&text), text.len,
			                JSON_COMMENTS, err);
	}
	if (st == ST_OK) {
		st = take_offer(all, &doc, path, words, err);
		json_release(&doc);
	}
	str_release(&text);
	str_release(&where);
	return st;
}

/* --- either ------------------------------------------------------------------------------- */

enum status statements_read(struct statements *s, const char *path, const struct claim_words *words,
                            const char *config_dir, struct error *err)
{
	bool offer = str_ends(path, ".json");
	char **names = config_list(config_dir, "offers", ".json");
	enum status st;

	*s = (struct statements){.card = ""};
	s->name = arena_str(&s->arena, path);
	for (int i = 0; names[i] && !offer; i++)
		offer = strcmp(names[i], path) == 0;
	config_list_free(names);
	st = offer ? read_offer(s, path, words, config_dir, err) : read_table(s, path, words, err);
	if (st != ST_OK)
		statements_release(s);
	return st;
}

void statements_release(struct statements *s)
{
	arena_release(&s->arena);
	*s = (struct statements){0};
}
