/* nvbandwidth. Its matrices give every pair of cards; a pair test becomes one reading a
 * node with the worst pair as value, like the matrices of our own. "GPU(row) <-
 * GPU(column)" is data flowing from column to row; either way the worst is the worst. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

#define MAX_CARDS 64

static const struct {
	const char *test, *metric;
} tests[] = {
	{"host_to_device_memcpy_ce", "pcie_h2d_gbs"},
	{"device_to_host_memcpy_ce", "pcie_d2h_gbs"},
	{"device_to_device_memcpy_write_ce", "p2p_ce_push_gbs"},
	{"device_to_device_memcpy_read_ce", "p2p_ce_pull_gbs"},
	{"device_to_device_memcpy_write_sm", "p2p_sm_push_gbs"},
	{"device_to_device_memcpy_read_sm", "p2p_sm_pull_gbs"},
	{"device_to_device_bidirectional_memcpy_write_ce_total", "p2p_ce_both_gbs"},
};

static const char *metric_of(const char *test)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (strcmp(tests[i].test, test) == 0)
			return tests[i].metric;
	return NULL;
}

/* One test's values; NaN where there is none (a card with itself). */
struct matrix {
	const char *test;
	int rows, columns;
	double value[MAX_CARDS][MAX_CARDS];
};

/* host_to_device: one row, a value a card. */
static enum status add_cards(struct import *in, const struct matrix *m, const char *metric,
                             const char *node, struct error *err)
{
	for (int i = 0; i < m->columns; i++) {
		struct reading *r;

		if (isnan(m->value[0][i]))
			continue;
		r = import_add(in, metric, err);
		if (!r)
			return ST_INTERNAL;
		import_card(in, r, node, NULL, NULL, i);
		import_value(r, m->value[0][i]);
	}
	return ST_OK;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static enum status add_pairs(struct import *in, const struct matrix *m, const char *metric,
                             const char *node, struct error *err)
{
	double *all =
		arena_array(in->arena, (size_t)m->rows * (size_t)m->columns + 1, sizeof(*all));
	int n = 0, worst_row = -1, worst_column = -1;
	struct reading *r;

	for (int i = 0; i < m->rows; i++)
		for (int k = 0; k < m->columns; k++) {
			if (isnan(m->value[i][k]))
				continue;
			if (worst_row < 0 || m->value[i][k] < m->value[worst_row][worst_column]) {
				worst_row = i;
				worst_column = k;
			}
			all[n++] = m->value[i][k];
		}
	if (!n)
		return ST_OK;
	r = import_add(in, metric, err);
	if (!r)
		return ST_INTERNAL;
	qsort(all, (size_t)n, sizeof(*all), by_value);
	r->node = node;
	r->subject.id = "*";
	r->subject.n_ends = 2;
	for (int e = 0; e < 2; e++)
		r->subject.ends[e] = (struct subject_end){
			.node = node,
			.card = arena_strf(in->arena, "card %d", e ? worst_column : worst_row)};
	r->subject.id =
		arena_strf(in->arena, "%s|%s", r->subject.ends[0].card, r->subject.ends[1].card);
	import_value(r, all[0]);
	r->stats[STAT_N] = n;
	r->stats[STAT_MIN] = all[0];
	r->stats[STAT_MAX] = all[n - 1];
	r->stats[STAT_MEDIAN] = n % 2 ? all[n / 2] : (all[n / 2 - 1] + all[n / 2]) / 2;
	return ST_OK;
}

static enum status matrix_end(struct import *in, struct matrix *m, struct error *err)
{
	const char *metric = m->test ? metric_of(m->test) : NULL, *node;
	enum status st = ST_OK;

	if (m->test && m->rows && !metric)
		import_left(in, m->test);
	if (m->test && m->rows && metric) {
		st = import_node(in, NULL, &node, err);
		if (st == ST_OK)
			st = in->metric(metric) && in->metric(metric)->subject == SUBJECT_LINK
			             ? add_pairs(in, m, metric, node, err)
			             : add_cards(in, m, metric, node, err);
	}
	m->test = NULL;
	m->rows = m->columns = 0;
	return st;
}

/* " 0       N/A    276.07   275.94": an index and a value a column. */
static bool add_row(struct import *in, const char *line, struct matrix *m)
{
	const char *words[MAX_CARDS + 1];
	int n = import_split(in, line, words, MAX_CARDS + 1);
	double index;

	if (n < 2 || m->rows == MAX_CARDS || !import_number(words[0], &index) || index != m->rows)
		return false;
	for (int i = 1; i < n; i++)
		if (!import_number(words[i], &m->value[m->rows][i - 1])) {
			if (strcmp(words[i], "N/A") != 0)
				return false;
			m->value[m->rows][i - 1] = NAN;
		}
	m->columns = n - 1;
	m->rows++;
	return true;
}

enum status import_nvbandwidth_text(struct import *in, const char *text, size_t len,
                                    struct error *err)
{
	struct text_lines lines = {.next = text, .end = text + len};
	struct matrix *m = arena_alloc(in->arena, sizeof(*m));
	bool head = false, open = false;
	enum status st = ST_OK;
	char *line;

	memset(m, 0, sizeof(*m));
	while (st == ST_OK && (line = import_line(in, &lines))) {
		if (str_starts(line, "Running ") && str_ends(line, ".")) {
			m->test = arena_strn(in->arena, line + 8, strlen(line + 8) - 1);
			m->rows = 0;
			open = true;
		} else if (m->test && strstr(line, "bandwidth (GB/s)")) {
			head = true; /* the next line numbers the columns */
		} else if (head) {
			head = false;
		} else if (str_starts(line, "SUM ")) {
			st = matrix_end(in, m, err);
			open = false;
		} else if (m->test && *line) {
			add_row(in, line, m);
		}
	}
	if (st == ST_OK && open && m->rows)
		return error_set(err, ST_PARSE, MSG_import_cut, in->name, in->tool,
		                 tmpf("SUM %s", m->test ? m->test : ""));
	return st;
}

static enum status read_case(struct import *in, const cJSON *item, struct matrix *m,
                             struct error *err)
{
	const cJSON *row, *cell, *rows = json_get(item, "bandwidth_matrix");
	const char *status = json_string(item, "status", "Passed");

	m->test = json_string(item, "name", NULL);
	m->rows = m->columns = 0;
	if (m->test && strcmp(status, "Passed") != 0) {
		import_left(in, tmpf("%s: %s", m->test, status));
		return ST_OK;
	}
	cJSON_ArrayForEach(row, rows)
	{
		if (m->rows == MAX_CARDS)
			break;
		m->columns = 0;
		cJSON_ArrayForEach(cell, row)
		{
			double *to = &m->value[m->rows][m->columns];

			if (m->columns == MAX_CARDS)
				break;
			m->columns++;
			if (cJSON_IsNumber(cell))
				*to = cell->valuedouble;
			else if (!cJSON_IsString(cell) || !import_number(cell->valuestring, to))
				*to = NAN;
		}
		m->rows++;
	}
	return matrix_end(in, m, err);
}

enum status import_nvbandwidth_json(struct import *in, const struct json_doc *doc,
                                    struct error *err)
{
	struct matrix *m = arena_alloc(in->arena, sizeof(*m));
	const cJSON *item, *all = json_get(json_get(doc->root, "nvbandwidth"), "testcases");
	enum status st = ST_OK;

	cJSON_ArrayForEach(item, all)
	{
		st = read_case(in, item, m, err);
		if (st != ST_OK)
			break;
	}
	return st;
}
