/* The buyer's own account of lost time, and what reading such tables shares. */
#include "service/causes.h"

#include <string.h>

#include "service/moment.h"
#include "service/table.h"

static const char *const names[] = {
#define X(name, text) text,
	CAUSE_LIST(X)
#undef X
};

const char *cause_name(enum cause cause)
{
	return names[cause];
}

enum status columns_need(const struct csv *csv, const char *const *columns, struct error *err)
{
	const char **have;
	enum status st = ST_OK;
	struct arena arena = {0};

	have = arena_array(&arena, (size_t)csv->n_columns + 1, sizeof(*have));
	memcpy(have, csv->columns, (size_t)csv->n_columns * sizeof(*have));
	for (; *columns && st == ST_OK; columns++) {
		const char *near;

		if (csv_column(csv, *columns) >= 0)
			continue;
		near = nearest_word(*columns, have);
		st = near ? error_set(err, ST_PARSE, MSG_table_column_near, csv->name, *columns,
		                      near)
		          : error_set(err, ST_PARSE, MSG_table_column, csv->name, *columns);
	}
	arena_release(&arena);
	return st;
}

enum status moment_read(const char *file, const char *line, const char *column, const char *text,
                        int64_t *ns, struct error *err)
{
	static const enum msg texts[] = {[MOMENT_FORM] = MSG_table_moment,
	                                 [MOMENT_NO_ZONE] = MSG_table_zone,
	                                 [MOMENT_NO_DAY] = MSG_table_day};
	enum moment_fault fault = moment_parse(text, ns);

	return fault == MOMENT_OK
	               ? ST_OK
	               : error_set(err, ST_PARSE, texts[fault], file, line, column, text);
}

enum status cell_moment(const struct csv *csv, int row, const char *column, int64_t *ns,
                        struct error *err)
{
	return moment_read(csv->name, tmpf("%d", csv->lines[row]), column,
	                   csv_field(csv, row, column), ns, err);
}

static enum status read_line(struct cause_line *line, struct arena *arena, const struct csv *csv,
                             int row, struct error *err)
{
	const char *word = csv_field(csv, row, "cause"), *node = csv_field(csv, row, "node");
	const char *where = tmpf("%d", csv->lines[row]);
	enum status st = cell_moment(csv, row, "from_utc", &line->from_ns, err);
	int cause = 0;

	if (st == ST_OK)
		st = cell_moment(csv, row, "to_utc", &line->to_ns, err);
	if (st == ST_OK && line->to_ns <= line->from_ns)
		st = error_set(err, ST_PARSE, MSG_causes_order, csv->name, where);
	if (st == ST_OK && !*node)
		st = error_set(err, ST_PARSE, MSG_causes_node, csv->name, where);
	while (cause < CAUSES && strcmp(names[cause], word) != 0)
		cause++;
	if (st == ST_OK && (cause == CAUSES || cause == CAUSE_NONE))
		st = error_set(err, ST_PARSE, MSG_causes_word, csv->name, where, word,
		               "provider, planned, customer, not_rented");
	line->line = csv->lines[row];
	line->node = arena_str(arena, node);
	line->cause = (enum cause)cause;
	return st;
}

enum status causes_load(struct causes *causes, struct arena *arena, const char *path,
                        struct error *err)
{
	static const char *const columns[] = {"from_utc", "to_utc", "node", "cause", NULL};
	struct cause_line *lines;
	struct csv csv;
	enum status st = table_read(&csv, path, err);

	if (st == ST_OK)
		st = columns_need(&csv, columns, err);
	lines = arena_array(arena, (size_t)csv.n_rows + 1, sizeof(*lines));
	for (int i = 0; i < csv.n_rows && st == ST_OK; i++)
		st = read_line(&lines[i], arena, &csv, i, err);
	if (st == ST_OK)
		*causes = (struct causes){lines, csv.n_rows};
	csv_release(&csv);
	return st;
}

enum cause causes_at(const struct causes *causes, const char *node, int64_t ns, int64_t *until)
{
	enum cause cause = CAUSE_NONE;

	for (int i = 0; i < causes->count; i++) {
		const struct cause_line *line = &causes->lines[i];

		if (strcmp(line->node, "*") != 0 && strcmp(line->node, node) != 0)
			continue;
		if (line->from_ns > ns && line->from_ns < *until)
			*until = line->from_ns;
		if (line->to_ns > ns && line->to_ns < *until)
			*until = line->to_ns;
		if (line->from_ns <= ns && ns < line->to_ns && line->cause > cause)
			cause = line->cause;
	}
	return cause;
}
