/* Software and gates of runs side by side: words, of which none is better by itself, so
 * they stand in a table of their own and make no order. What all say alike is named in
 * one line on a terminal; files have all of it. */
#include <string.h>

#include "base/msg.h"
#include "report/compare.h"
#include "report/csv.h"
#include "report/markup.h"
#include "report/readiness.h"
#include "report/words.h"
#include "run/gated.h"

#define GATE_NAME "gate"

/* --- taking ------------------------------------------------------------------------------ */

static struct compare_words *words_of(struct comparison *c, const char *name)
{
	struct compare_words *row;

	for (int i = 0; i < c->n_words; i++)
		if (strcmp(c->words[i].name, name) == 0)
			return &c->words[i];
	if (c->n_words == c->cap_words) {
		int cap = c->cap_words ? 2 * c->cap_words : 64;
		struct compare_words *more = arena_array(c->arena, (size_t)cap, sizeof(*more));

		if (c->n_words)
			memcpy(more, c->words, (size_t)c->n_words * sizeof(*more));
		c->words = more;
		c->cap_words = cap;
	}
	row = &c->words[c->n_words++];
	*row = (struct compare_words){
		.name = arena_str(c->arena, name),
		.texts = arena_array(c->arena, COMPARE_MOST, sizeof(*row->texts))};
	return row;
}

static void take(struct comparison *c, const char *name, struct str *text, bool digest)
{
	struct compare_words *row = words_of(c, name);

	row->texts[c->n_columns] = arena_str(c->arena, str_text(text));
	row->digest = digest;
	str_clear(text);
}

void compare_take_software(struct comparison *c, const struct scorecard *card)
{
	struct arena arena = {0};
	struct readiness r;
	struct str text = {0};

	readiness_find(&r, &arena, card);
	for (int i = 0; i < r.n; i++) {
		const struct readiness_row *row = &r.rows[i];

		if (!row->tells && !row->digest)
			continue;
		/* That all nodes of a run agree need not be said for each figure. */
		if (row->alike == row->nodes)
			str_add(&text, row->text);
		else
			readiness_words(&text, row);
		take(c, row->name, &text, row->digest);
	}
	if (card->gated) {
		gated_words(&text, card->gated);
		take(c, GATE_NAME, &text, false);
	}
	str_release(&text);
	arena_release(&arena);
}

/* Whether two have it, and not the very same; the gate's word always. */
static bool tells(const struct comparison *c, const struct compare_words *row)
{
	const char *first = NULL;

	if (strcmp(row->name, GATE_NAME) == 0)
		return true;
	for (int k = 0; k < c->n_columns; k++) {
		if (first && row->texts[k] && strcmp(first, row->texts[k]) != 0)
			return true;
		first = first ? first : row->texts[k];
	}
	return false;
}

static bool is_shown(const struct comparison *c, const struct compare_words *row)
{
	return !row->digest || tells(c, row);
}

/* --- showing ------------------------------------------------------------------------------- */

void compare_software_same(struct str *out, const struct comparison *c)
{
	const char **names = arena_array(c->arena, (size_t)c->n_words + 1, sizeof(*names));
	int n = 0;

	for (int i = 0; i < c->n_words; i++) {
		int there = 0;

		for (int k = 0; k < c->n_columns; k++)
			there += c->words[i].texts[k] != NULL;
		if (there >= 2 && !tells(c, &c->words[i]))
			names[n++] = c->words[i].name;
	}
	if (!n)
		return;
	str_addf(out, "%s ", msg_format(MSG_compare_alike));
	words_names(out, names, n);
}

int compare_software_next(const struct comparison *c, int from)
{
	while (from < c->n_words && !tells(c, &c->words[from]))
		from++;
	return from < c->n_words ? from : -1;
}

static void markdown_cell(struct str *out, const char *text)
{
	str_add(out, "| ");
	markdown_text(out, text ? text : "");
	str_addc(out, ' ');
}

void compare_software_markdown(struct str *out, const struct comparison *c)
{
	if (!c->n_words)
		return;
	str_add(out, "\n## ");
	markdown_text(out, msg_format(MSG_compare_software));
	str_add(out, "\n\n");
	markdown_cell(out, msg_format(MSG_html_figure));
	for (int k = 0; k < c->n_columns; k++)
		markdown_cell(out, c->columns[k].name);
	str_add(out, "|\n");
	for (int k = 0; k <= c->n_columns; k++)
		str_add(out, "| --- ");
	str_add(out, "|\n");
	for (int i = 0; i < c->n_words; i++) {
		if (!is_shown(c, &c->words[i]))
			continue;
		markdown_cell(out, c->words[i].name);
		for (int k = 0; k < c->n_columns; k++)
			markdown_cell(out, c->words[i].texts[k]);
		str_add(out, "|\n");
	}
}

static void html_text(struct str *out, const char *tag, const char *text)
{
	str_addf(out, "<%s>", tag);
	markup_text(out, text ? text : "");
	str_addf(out, "</%s>", tag);
}

void compare_software_html(struct str *out, const struct comparison *c)
{
	const char *title = msg_format(MSG_compare_software);

	if (!c->n_words)
		return;
	str_add(out, "<section id=\"software\" aria-labelledby=\"software-title\">"
	             "<h2 id=\"software-title\">");
	markup_text(out, title);
	str_add(out, "</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
	markup_text(out, title);
	str_add(out, "\"><table class=\"sortable\"><thead><tr>");
	html_text(out, "th", msg_format(MSG_html_figure));
	for (int k = 0; k < c->n_columns; k++)
		html_text(out, "th", c->columns[k].name);
	str_add(out, "</tr></thead><tbody>\n");
	for (int i = 0; i < c->n_words; i++) {
		if (!is_shown(c, &c->words[i]))
			continue;
		str_add(out, "<tr>");
		html_text(out, "td", c->words[i].name);
		for (int k = 0; k < c->n_columns; k++)
			html_text(out, "td", c->words[i].texts[k]);
		str_add(out, "</tr>\n");
	}
	str_add(out, "</tbody></table></div></section>\n");
}

/* --- for programs ------------------------------------------------------------------------------ */

void compare_software_json(struct json_out *j, const struct comparison *c)
{
	json_array_begin(j, "software");
	for (int i = 0; i < c->n_words; i++) {
		json_object_begin(j, NULL);
		json_put_string(j, "name", c->words[i].name);
		json_array_begin(j, "texts");
		for (int k = 0; k < c->n_columns; k++)
			json_put_string(j, NULL, c->words[i].texts[k]);
		json_array_end(j);
		json_object_end(j);
	}
	json_array_end(j);
}

/* Under the columns of figures: what it says stands as the note. */
void compare_software_csv(struct str *out, const struct comparison *c)
{
	for (int i = 0; i < c->n_words; i++)
		for (int k = 0; k < c->n_columns; k++) {
			if (!c->words[i].texts[k])
				continue;
			csv_text(out, "software");
			csv_next_text(out, c->words[i].name);
			csv_next_text(out, "value");
			csv_next_text(out, "text");
			csv_next_text(out, better_name(BETTER_NEITHER));
			csv_next_text(out, c->columns[k].name);
			str_add(out, ",,,,,,,,");
			csv_next_text(out, c->words[i].texts[k]);
			str_add(out, "\r\n");
		}
}

void compare_software_junit(struct str *out, const struct comparison *c, int column)
{
	for (int i = 0; i < c->n_words; i++) {
		const char *text = c->words[i].texts[column];

		if (!text || !is_shown(c, &c->words[i]))
			continue;
		str_add(out, "    <testcase classname=\"software\" name=\"");
		markup_text(out, c->words[i].name);
		str_add(out, "\">\n      <system-out>");
		markup_text(out, text);
		str_add(out, "</system-out>\n    </testcase>\n");
	}
}

int compare_software_count(const struct comparison *c, int column)
{
	int n = 0;

	for (int i = 0; i < c->n_words; i++)
		n += c->words[i].texts[column] && is_shown(c, &c->words[i]);
	return n;
}
