#include "service/table.h"

#include <stdlib.h>

#include "service/sheet.h"

/* Lines, not bytes: a table of people is far below, and a bill has its own reader. */
#define ROWS_MOST 1000000

static const char **copied(struct arena *arena, const char *const *texts, int n)
{
	const char **list = arena_array(arena, (size_t)n + 1, sizeof(*list));

	for (int i = 0; i < n; i++)
		list[i] = arena_str(arena, texts[i]);
	return list;
}

static void add_row(struct csv *csv, const struct sheet *s, int *cap)
{
	if (csv->n_rows == *cap) {
		*cap = *cap ? 2 * *cap : 64;
		csv->rows = reallocarray(csv->rows, (size_t)*cap, sizeof(*csv->rows));
		csv->lines = reallocarray(csv->lines, (size_t)*cap, sizeof(*csv->lines));
		if (!csv->rows || !csv->lines)
			die_nomem();
	}
	csv->rows[csv->n_rows] = copied(&csv->arena, s->fields, s->n_columns);
	csv->lines[csv->n_rows++] = (int)s->line;
}

enum status table_read(struct csv *csv, const char *path, struct error *err)
{
	struct sheet s;
	bool more = true;
	int cap = 0;
	enum status st = sheet_open(&s, path, err);

	*csv = (struct csv){0};
	if (st != ST_OK)
		return st;
	csv->name = arena_str(&csv->arena, path);
	csv->n_columns = s.n_columns;
	csv->columns = copied(&csv->arena, s.columns, s.n_columns);
	while (st == ST_OK) {
		st = sheet_next(&s, &more, err);
		if (st != ST_OK || !more)
			break;
		if (csv->n_rows == ROWS_MOST)
			st = error_set(err, ST_RANGE, MSG_table_long, path, tmpf("%d", ROWS_MOST));
		else
			add_row(csv, &s, &cap);
	}
	sheet_close(&s);
	return st;
}
