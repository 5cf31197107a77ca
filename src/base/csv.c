/* RFC 4180 in one pass; every field is copied into the arena of the table. */
#include "base/csv.h"

#include <stdlib.h>
#include <string.h>

struct csv_reader {
	struct csv *csv;
	const char *p, *end;
	int line;
	const char **fields; /* of the row being read */
	int n_fields, cap_fields;
	int cap_rows;
};

static const char *place_name(const struct csv_reader *r)
{
	return r->csv->name;
}

static void add_field(struct csv_reader *r, const char *text)
{
	if (r->n_fields == r->cap_fields) {
		r->cap_fields = r->cap_fields ? r->cap_fields * 2 : 64;
		r->fields = realloc(r->fields, (size_t)r->cap_fields * sizeof(*r->fields));
		if (!r->fields)
			die_nomem();
	}
	r->fields[r->n_fields++] = text;
}

static enum status read_quoted(struct csv_reader *r, struct error *err)
{
	struct str text = {0};
	int began = r->line;

	for (r->p++;; r->p++) {
		if (r->p == r->end) {
			str_release(&text);
			return error_set(err, ST_PARSE, MSG_csv_quote, place_name(r),
			                 tmpf("%d", began));
		}
		if (*r->p == '"' && r->p + 1 < r->end && r->p[1] == '"')
			r->p++;
		else if (*r->p == '"')
			break;
		if (*r->p == '\n')
			r->line++;
		str_addc(&text, *r->p);
	}
	r->p++;
	add_field(r, arena_strn(&r->csv->arena, str_text(&text), text.len));
	str_release(&text);
	if (r->p < r->end && *r->p != ',' && *r->p != '\n' && *r->p != '\r')
		return error_set(err, ST_PARSE, MSG_csv_after_quote, place_name(r),
		                 tmpf("%d", r->line));
	return ST_OK;
}

static enum status read_plain(struct csv_reader *r, struct error *err)
{
	const char *from = r->p;

	while (r->p < r->end && *r->p != ',' && *r->p != '\n' && *r->p != '\r') {
		if (*r->p == '\0')
			return error_set(err, ST_PARSE, MSG_csv_nul, place_name(r),
			                 tmpf("%d", r->line));
		r->p++;
	}
	add_field(r, arena_strn(&r->csv->arena, from, (size_t)(r->p - from)));
	return ST_OK;
}

/* One row into r->fields; leaves r->p at the start of the next. */
static enum status read_row(struct csv_reader *r, struct error *err)
{
	r->n_fields = 0;
	for (;;) {
		enum status st =
			r->p < r->end && *r->p == '"' ? read_quoted(r, err) : read_plain(r, err);

		if (st != ST_OK)
			return st;
		if (r->p < r->end && *r->p == ',') {
			r->p++;
			continue;
		}
		if (r->p < r->end && *r->p == '\r')
			r->p++;
		if (r->p < r->end && *r->p == '\n')
			r->p++;
		return ST_OK;
	}
}

static const char **keep_fields(struct csv_reader *r)
{
	const char **kept = arena_array(&r->csv->arena, (size_t)r->n_fields, sizeof(*kept));

	memcpy(kept, r->fields, (size_t)r->n_fields * sizeof(*kept));
	return kept;
}

static void add_row(struct csv_reader *r, int line)
{
	struct csv *csv = r->csv;

	if (csv->n_rows == r->cap_rows) {
		r->cap_rows = r->cap_rows ? r->cap_rows * 2 : 64;
		csv->rows = realloc(csv->rows, (size_t)r->cap_rows * sizeof(*csv->rows));
		csv->lines = realloc(csv->lines, (size_t)r->cap_rows * sizeof(*csv->lines));
		if (!csv->rows || !csv->lines)
			die_nomem();
	}
	csv->lines[csv->n_rows] = line;
	csv->rows[csv->n_rows++] = keep_fields(r);
}

static enum status read_header(struct csv_reader *r, struct error *err)
{
	struct csv *csv = r->csv;
	enum status st = read_row(r, err);

	if (st != ST_OK)
		return st;
	csv->columns = keep_fields(r);
	csv->n_columns = r->n_fields;
	for (int i = 0; i < csv->n_columns; i++)
		for (int j = 0; j < i; j++)
			if (strcmp(csv->columns[i], csv->columns[j]) == 0)
				return error_set(err, ST_PARSE, MSG_csv_duplicate, csv->name,
				                 csv->columns[i]);
	return ST_OK;
}

enum status csv_parse(struct csv *csv, const char *name, const char *text, size_t len,
                      struct error *err)
{
	struct csv_reader r = {.csv = csv, .p = text, .end = text + len, .line = 1};
	enum status st;

	*csv = (struct csv){0};
	csv->name = arena_str(&csv->arena, name);
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.p += 3;
	if (r.p == r.end) {
		st = error_set(err, ST_PARSE, MSG_csv_empty, name);
		goto out;
	}
	st = read_header(&r, err);
	while (st == ST_OK && r.p < r.end) {
		int line = ++r.line;

		st = read_row(&r, err);
		if (st != ST_OK)
			break;
		if (r.n_fields == 1 && !*r.fields[0])
			continue; /* an empty line */
		if (r.n_fields != csv->n_columns)
			st = error_set(err, ST_PARSE, MSG_csv_fields, csv->name, tmpf("%d", line),
			               tmpf("%d", r.n_fields), tmpf("%d", csv->n_columns));
		else
			add_row(&r, line);
	}
out:
	free(r.fields);
	if (st != ST_OK)
		csv_release(csv);
	return st;
}

void csv_release(struct csv *csv)
{
	free(csv->rows);
	free(csv->lines);
	arena_release(&csv->arena);
	*csv = (struct csv){0};
}

int csv_column(const struct csv *csv, const char *name)
{
	for (int i = 0; i < csv->n_columns; i++)
		if (strcmp(csv->columns[i], name) == 0)
			return i;
	return -1;
}

const char *csv_field(const struct csv *csv, int row, const char *column)
{
	int c = csv_column(csv, column);

	return c < 0 ? NULL : csv->rows[row][c];
}
