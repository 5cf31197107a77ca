/* Aligning is the library's; what it prints is indented here and freed of the
 * blanks at the ends of lines, which show in a diff and wrap on a narrow page. */
#include "report/table.h"

#include <libsmartcols/libsmartcols.h>
#include <stdlib.h>
#include <string.h>

#include "report/words.h"

/* Outside text may hold what this terminal cannot show, and the library
 * cannot measure in its locale. */
static bool set_cell(struct libscols_line *line, size_t column, const struct str *cell, bool utf8)
{
	struct str text = {0};
	bool ok;

	if (utf8)
		str_add(&text, str_text(cell));
	else
		words_ascii(&text, str_text(cell));
	ok = scols_line_set_data(line, column, str_text(&text)) == 0;
	str_release(&text);
	return ok;
}

static bool add_column(struct libscols_table *table, const struct table_column *c, bool utf8)
{
	struct str title = {0};
	bool ok;

	if (utf8)
		str_add(&title, c->title);
	else
		words_ascii(&title, c->title);
	ok = scols_table_new_column(table, str_text(&title), 0, c->right ? SCOLS_FL_RIGHT : 0);
	str_release(&title);
	return ok;
}

static struct libscols_table *new_table(const struct table *t, const struct str *cells, int n_rows)
{
	struct libscols_table *table = scols_new_table();
	bool ok = table != NULL;

	for (int c = 0; c < t->n_columns && ok; c++)
		ok = add_column(table, &t->columns[c], t->utf8);
	for (int i = 0; i < n_rows && ok; i++) {
		struct libscols_line *line = scols_table_new_line(table, NULL);

		ok = line != NULL;
		for (int c = 0; c < t->n_columns && ok; c++)
			ok = set_cell(line, (size_t)c, &cells[i * t->n_columns + c], t->utf8);
	}
	if (ok) {
		/* Rows fit already; the library shall align, not cut. */
		scols_table_enable_noheadings(table, !t->titles);
		scols_table_set_termforce(table, SCOLS_TERMFORCE_ALWAYS);
		scols_table_set_termwidth(table, 1000);
		scols_table_set_column_separator(table, TABLE_GAP);
		return table;
	}
	scols_unref_table(table);
	return NULL;
}

bool table_print(struct str *out, const struct table *t, const struct str *cells, int n_rows)
{
	struct libscols_table *table = new_table(t, cells, n_rows);
	char *text = NULL;
	bool ok = table && scols_print_table_to_string(table, &text) == 0 && text;

	for (char *row = text, *end; ok && *row; row = end + (*end != '\0')) {
		size_t len;

		end = row + strcspn(row, "\n");
		len = (size_t)(end - row);
		while (len && row[len - 1] == ' ')
			len--;
		str_pad(out, ' ', (size_t)t->indent);
		str_addn(out, row, len);
		str_addc(out, '\n');
	}
	free(text);
	scols_unref_table(table);
	return ok;
}
