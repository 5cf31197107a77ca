/* The comparison on a terminal, and for programs. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/msg.h"
#include "base/unit.h"
#include "report/compare.h"
#include "report/csv.h"
#include "report/words.h"

#define NAME_MOST  24
#define TITLE_MOST 4

static void compare_overall_words(struct str *out, const struct compare_column *x)
{
	struct str verdict = {0};

	words_overall_waived(&verdict, x->overall, overall_name(x->overall), x->waivers);
	str_add(out, x->simulated ? say(MSG_headline_simulated, str_text(&verdict))
	                          : str_text(&verdict));
	str_release(&verdict);
}

void compare_column_words(struct str *out, const struct compare_column *x)
{
	if (x->offer)
		words_add(out, x->title);
	else
		compare_overall_words(out, x);
}

/* "vendor-a, vendor-b and 3 more": as many as fit a heading. */
const char *compare_title(const struct comparison *c)
{
	struct str names = {0};
	int shown = c->n_columns <= TITLE_MOST ? c->n_columns : TITLE_MOST - 1;
	const char *title;

	for (int i = 0; i < shown; i++)
		str_addf(&names, "%s%s", i ? ", " : "", words_shown(c->columns[i].name));
	title = shown == c->n_columns ? say(MSG_compare_title, str_text(&names))
	                              : say(MSG_compare_title_more, str_text(&names),
	                                    tmpf("%d", c->n_columns - shown));
	str_release(&names);
	return title;
}

static const char *stand_words(enum compare_stand stand)
{
	static const enum msg words[] = {[STAND_BEST] = MSG_compare_best,
	                                 [STAND_SAME] = MSG_compare_same,
	                                 [STAND_WORSE] = MSG_compare_worse,
	                                 [STAND_OPEN] = MSG_compare_open};

	return stand == STAND_NONE ? "" : msg_format(words[stand]);
}

void compare_stand_words(struct str *out, const struct compare_row *row, int column)
{
	const struct compare_cell *cell = &row->cells[column];
	const struct rule_info rule = {.stat = row->stat, .unit = row->unit};

	if (!cell->there) {
		str_add(out, msg_format(MSG_compare_missing));
		return;
	}
	compare_cell_words(out, row, cell);
	if (isfinite(cell->worst))
		str_addf(out, ", %s", say(MSG_compare_worst, words_value(&rule, cell->worst)));
	if (cell->origin != ORIGIN_MEASURED)
		str_addf(out, ", %s", words_origin(cell->origin));
	if (row->stands[column] != STAND_NONE)
		str_addf(out, "; %s", stand_words(row->stands[column]));
	if (cell->note)
		str_addf(out, " [%s]", words_shown(cell->note));
}

struct page {
	struct str *out;
	const struct comparison *c;
	int width, name;
};

static void line(const struct page *p, int indent, const char *text)
{
	str_pad(p->out, ' ', (size_t)indent);
	words_wrap(p->out, text, indent, indent + 2, p->width);
}

/* "  name    text", the text wrapped beside it. */
static void named(const struct page *p, const char *name, const char *text)
{
	struct str cut = {0};
	int columns;

	words_cut(&cut, words_shown(name), p->name);
	columns = words_columns(str_text(&cut));
	str_addf(p->out, "    %s", str_text(&cut));
	str_pad(p->out, ' ', (size_t)(p->name - columns + 2));
	words_wrap(p->out, text, 4 + p->name + 2, 4 + p->name + 4, p->width);
	str_release(&cut);
}

static void columns(struct page *p)
{
	for (int i = 0; i < p->c->n_columns; i++) {
		const struct compare_column *x = &p->c->columns[i];
		struct str s = {0};
		int n = words_columns(words_shown(x->name));

		p->name = n > p->name ? (n < NAME_MOST ? n : NAME_MOST) : p->name;
		str_release(&s);
	}
	for (int i = 0; i < p->c->n_columns; i++) {
		const struct compare_column *x = &p->c->columns[i];
		struct str s = {0};

		compare_column_words(&s, x);
		if (!x->offer && strcmp(x->title, x->name) != 0)
			str_addf(&s, ", %s", words_shown(x->title));
		if (x->card)
			str_addf(&s, ", %s", words_shown(x->card));
		if (x->nodes > 0)
			str_addf(&s, ", %s", words_subjects(SUBJECT_NODE, x->nodes));
		if (x->started)
			str_addf(&s, ", %.10s", words_shown(x->started));
		named(p, x->name, str_text(&s));
		str_release(&s);
	}
}

static void order_lines(const struct page *p)
{
	str_addf(p->out, "\n  %s\n", msg_format(MSG_compare_order));
	for (int i = 0; i < p->c->n_orders; i++) {
		const struct compare_order *o = &p->c->orders[i];

		str_addc(p->out, '\n');
		line(p, 2, tmpf("%s %s", words_shown(o->criterion), words_shown(o->title)));
		for (int k = 0; k < p->c->n_columns; k++) {
			if (!o->why[k])
				continue;
			named(p, p->c->columns[k].name,
			      o->place[k] ? tmpf("%s %s",
			                         say(MSG_compare_place, tmpf("%d", o->place[k])),
			                         o->why[k])
			                  : o->why[k]);
		}
	}
}

static void part_lines(const struct page *p)
{
	for (int i = 0; i < p->c->n_parts; i++) {
		const struct compare_part *part = &p->c->parts[i];

		str_addc(p->out, '\n');
		line(p, 2, words_shown(part->title));
		for (int k = 0; k < part->n_lines; k++)
			if (part->lines[k].name)
				named(p, part->lines[k].name, words_shown(part->lines[k].text));
			else
				line(p, 4, words_shown(part->lines[k].text));
	}
}

const char *compare_row_title(const struct compare_row *row)
{
	const char *name = strcmp(row->stat, "value") == 0 ? row->metric
	                                                   : tmpf("%s %s", row->metric, row->stat);

	return tmpf(
		"%s (%s)", name,
		msg_format(row->better == BETTER_LOWER ? MSG_compare_lower : MSG_compare_higher));
}

bool compare_row_tells(const struct comparison *c, const struct compare_row *row)
{
	const struct compare_cell *first = NULL;
	int n = 0;
	bool same = true;

	for (int i = 0; i < c->n_columns; i++) {
		const struct compare_cell *cell = &row->cells[i];

		n += cell->there;
		if (cell->there && first)
			same = same && cell->value == first->value && !(cell->hi > cell->lo) &&
			       cell->worst == first->worst;
		if (cell->there && !first)
			first = cell;
	}
	return n >= 2 && !same;
}

void compare_same_words(struct str *out, const struct comparison *c)
{
	const char **names = arena_array(c->arena, (size_t)c->n_rows + 1, sizeof(*names));
	int n = 0;

	for (int i = 0; i < c->n_rows; i++) {
		int there = 0;

		for (int k = 0; k < c->n_columns; k++)
			there += c->rows[i].cells[k].there;
		if (there >= 2 && !compare_row_tells(c, &c->rows[i]))
			names[n++] = c->rows[i].metric;
	}
	if (!n)
		return;
	str_addf(out, "%s ", msg_format(MSG_compare_alike));
	words_names(out, names, n);
}

/* Words that differ, and in one line those that do not. */
static void software_lines(const struct page *p)
{
	struct str same = {0};

	if (!p->c->n_words)
		return;
	str_addf(p->out, "\n  %s\n", msg_format(MSG_compare_software));
	for (int i = compare_software_next(p->c, 0); i >= 0;
	     i = compare_software_next(p->c, i + 1)) {
		const struct compare_words *row = &p->c->words[i];

		str_addc(p->out, '\n');
		line(p, 2, words_shown(row->name));
		for (int k = 0; k < p->c->n_columns; k++)
			if (row->texts[k])
				named(p, p->c->columns[k].name, words_shown(row->texts[k]));
	}
	compare_software_same(&same, p->c);
	if (same.len) {
		str_addc(p->out, '\n');
		line(p, 2, same.data);
	}
	str_release(&same);
}

enum status compare_text(struct str *out, const struct comparison *c, int width, bool utf8)
{
	struct str text = {0}, same = {0};
	struct page p = {.out = &text, .c = c, .width = width};

	line(&p, 0, compare_title(c));
	str_addc(&text, '\n');
	columns(&p);
	str_addc(&text, '\n');
	for (const char *const *w = c->warnings; *w; w++)
		line(&p, 2, words_shown(*w));
	order_lines(&p);
	part_lines(&p);
	for (int i = 0; i < c->n_rows; i++) {
		if (!compare_row_tells(c, &c->rows[i]))
			continue;
		str_addc(&text, '\n');
		line(&p, 2, compare_row_title(&c->rows[i]));
		for (int k = 0; k < c->n_columns; k++) {
			struct str s = {0};

			if (c->rows[i].cells[k].there) {
				compare_stand_words(&s, &c->rows[i], k);
				named(&p, c->columns[k].name, str_text(&s));
			}
			str_release(&s);
		}
	}
	software_lines(&p);
	str_addc(&text, '\n');
	compare_same_words(&same, c);
	if (same.len)
		line(&p, 2, same.data);
	line(&p, 2, msg_format(MSG_compare_how));
	str_release(&same);
	if (utf8)
		str_addn(out, text.data, text.len);
	else
		words_ascii(out, text.data);
	str_release(&text);
	return ST_OK;
}

/* --- for programs ----------------------------------------------------------------------- */

static void put_column(struct json_out *j, const struct compare_column *x)
{
	json_object_begin(j, NULL);
	json_put_string(j, "name", x->name);
	json_put_string(j, "title", x->title);
	json_put_bool(j, "offer", x->offer);
	json_put_string(j, "overall", x->offer ? NULL : overall_name(x->overall));
	if (!x->offer)
		json_put_int(j, "waivers", x->waivers);
	json_put_bool(j, "simulated", x->simulated);
	json_put_string(j, "card", x->card);
	json_put_string(j, "profile", x->profile);
	json_put_string(j, "profile_sha256", x->profile_sha256);
	json_put_string(j, "budget", x->budget);
	json_put_string(j, "version", x->version);
	json_put_string(j, "started", x->started);
	json_put_number(j, "nodes", x->nodes > 0 ? (double)x->nodes : NAN);
	json_put_number(j, "cards", x->cards > 0 ? (double)x->cards : NAN);
	json_object_end(j);
}

static void put_cell(struct json_out *j, const struct compare_row *row, int column)
{
	const struct compare_cell *cell = &row->cells[column];

	if (!cell->there) {
		json_put_null(j, NULL);
		return;
	}
	json_object_begin(j, NULL);
	json_put_string(j, "origin", origin_name(cell->origin));
	json_put_number(j, "value", cell->value);
	json_put_number(j, "lo", cell->lo);
	json_put_number(j, "hi", cell->hi);
	json_put_number(j, "worst", cell->worst);
	json_put_int(j, "subjects", cell->subjects);
	json_put_string(j, "verdict", verdict_name(cell->verdict));
	json_put_string(j, "stand", compare_stand_name(row->stands[column]));
	json_put_string(j, "note", cell->note);
	json_object_end(j);
}

static void put_order(struct json_out *j, const struct comparison *c, const struct compare_order *o)
{
	json_object_begin(j, NULL);
	json_put_string(j, "criterion", o->criterion);
	json_array_begin(j, "places");
	for (int k = 0; k < c->n_columns; k++) {
		json_object_begin(j, NULL);
		json_put_number(j, "place", o->place[k] ? o->place[k] : NAN);
		json_put_string(j, "why", o->why[k]);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

static void put_part(struct json_out *j, const struct compare_part *part)
{
	json_object_begin(j, NULL);
	json_put_string(j, "key", part->key);
	json_put_string(j, "title", part->title);
	json_array_begin(j, "lines");
	for (int i = 0; i < part->n_lines; i++) {
		json_object_begin(j, NULL);
		json_put_string(j, "name", part->lines[i].name);
		json_put_string(j, "text", part->lines[i].text);
		json_object_end(j);
	}
	json_array_end(j);
	json_object_end(j);
}

void compare_json(struct str *out, const struct comparison *c)
{
	struct json_out j = json_writer(out, 2);

	json_object_begin(&j, NULL);
	json_put_int(&j, "v", 1);
	json_array_begin(&j, "columns");
	for (int i = 0; i < c->n_columns; i++)
		put_column(&j, &c->columns[i]);
	json_array_end(&j);
	json_array_begin(&j, "warnings");
	for (const char *const *w = c->warnings; *w; w++)
		json_put_string(&j, NULL, *w);
	json_array_end(&j);
	json_array_begin(&j, "order");
	for (int i = 0; i < c->n_orders; i++)
		put_order(&j, c, &c->orders[i]);
	json_array_end(&j);
	json_array_begin(&j, "parts");
	for (int i = 0; i < c->n_parts; i++)
		put_part(&j, &c->parts[i]);
	json_array_end(&j);
	json_array_begin(&j, "figures");
	for (int i = 0; i < c->n_rows; i++) {
		const struct compare_row *row = &c->rows[i];

		json_object_begin(&j, NULL);
		json_put_string(&j, "criterion", row->criterion);
		json_put_string(&j, "metric", row->metric);
		json_put_string(&j, "stat", row->stat);
		json_put_string(&j, "unit", row->unit);
		json_put_string(&j, "better", better_name(row->better));
		json_array_begin(&j, "cells");
		for (int k = 0; k < c->n_columns; k++)
			put_cell(&j, row, k);
		json_array_end(&j);
		json_object_end(&j);
	}
	json_array_end(&j);
	compare_software_json(&j, c);
	json_object_end(&j);
	str_addc(out, '\n');
}

void compare_csv(struct str *out, const struct comparison *c)
{
	str_add(out, "criterion,metric,stat,unit,better,name,origin,value,lo,hi,worst,subjects,"
	             "verdict,stand,note\r\n");
	for (int i = 0; i < c->n_rows; i++)
		for (int k = 0; k < c->n_columns; k++) {
			const struct compare_row *row = &c->rows[i];
			const struct compare_cell *cell = &row->cells[k];

			if (!cell->there)
				continue;
			csv_text(out, row->criterion);
			csv_next_text(out, row->metric);
			csv_next_text(out, row->stat);
			csv_next_text(out, row->unit);
			csv_next_text(out, better_name(row->better));
			csv_next_text(out, c->columns[k].name);
			csv_next_text(out, origin_name(cell->origin));
			csv_next_number(out, cell->value);
			csv_next_number(out, cell->lo);
			csv_next_number(out, cell->hi);
			csv_next_number(out, cell->worst);
			csv_next_number(out, (double)cell->subjects);
			csv_next_text(out, verdict_name(cell->verdict));
			csv_next_text(out, compare_stand_name(row->stands[k]));
			csv_next_text(out, cell->note);
			str_add(out, "\r\n");
		}
	compare_software_csv(out, c);
}
