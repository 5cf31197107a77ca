/* Figures that no rule judges, as a table: name, value, of what. Laid out by
 * libsmartcols, which knows about column widths and wide characters. */
#include "report/info_table.h"

#include <libsmartcols/libsmartcols.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/words.h"

#define MAX_ROWS 40

/* On a single node every figure is of that node: its name would only repeat. */
static bool add_row(struct libscols_table *table, const struct reading *r, bool one_node)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	struct str value = {0}, subject = {0}, name = {0};
	bool ok;

	if (!line)
		return false;
	str_add_printable(&name, r->metric, strlen(r->metric));
	if (r->point)
		str_addf(&name, " (%s)", r->point);
	if (r->value_kind == VALUE_TEXT)
		str_add_printable(&value, r->text, strlen(r->text));
	else
		str_add(&value, fmt_measure(r->value, r->unit));
	if (!one_node || r->subject.kind == SUBJECT_CARD || r->subject.kind == SUBJECT_PATH)
		words_subject(&subject, &r->subject, one_node ? NULL : r->node);
	ok = scols_line_set_data(line, 0, name.data) == 0 && scols_line_set_data(line, 1, value.data) == 0 &&
	     scols_line_set_data(line, 2, str_text(&subject)) == 0;
	str_release(&name);
	str_release(&value);
	str_release(&subject);
	return ok;
}

static struct libscols_table *new_table(int width)
{
	struct libscols_table *table = scols_new_table();

	if (!table)
		return NULL;
	scols_table_enable_noheadings(table, 1);
	scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
	scols_table_set_termwidth(table, (size_t)width - 4);
	scols_table_enable_nowrap(table, 0);
	if (!scols_table_new_column(table, "figure", 0, 0) ||
	    !scols_table_new_column(table, "value", 0.3, SCOLS_FL_WRAP) ||
	    !scols_table_new_column(table, "subject", 0.2, SCOLS_FL_TRUNC)) {
		scols_unref_table(table);
		return NULL;
	}
	return table;
}

enum status info_table(struct str *out, const struct scorecard *card, const struct report_options *options,
                       int width, struct error *err)
{
	struct libscols_table *table;
	int64_t rows = 0, left = 0;
	char *text = NULL;

	(void)options;
	if (card->n_information == 0)
		return ST_OK;
	table = new_table(width);
	if (!table)
		return error_set(err, ST_NOMEM, MSG_no_table);
	for (int64_t i = 0; i < card->n_information; i++) {
		const struct reading *r = card->information[i];

		if (r->outcome != OUTCOME_MEASURED || r->value_kind == VALUE_NONE)
			continue;
		if (rows == MAX_ROWS) {
			left++;
			continue;
		}
		if (!add_row(table, r, card->expected_nodes == 1))
			break;
		rows++;
	}
	if (rows && scols_print_table_to_string(table, &text) == 0 && text) {
		str_addf(out, "\n  %s\n", msg_format(MSG_information));
		for (char *row = text, *end; *row; row = end + (*end != '\0')) {
			size_t len;

			end = row + strcspn(row, "\n");
			len = (size_t)(end - row);
			while (len && row[len - 1] == ' ')
				len--;
			str_addf(out, "    %.*s\n", (int)len, row);
		}
		if (left)
			str_addf(out, "    %s\n", say(MSG_and_more, words_count(left)));
	}
	free(text);
	scols_unref_table(table);
	return ST_OK;
}
