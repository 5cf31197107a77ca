/* What software the nodes have, one row a figure about the environment: what most of
 * them say, how many, and who says otherwise. Generic: it knows the kind of the
 * subject and no probe by name. */
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/words.h"

#define METRICS_MOST 128
#define OTHERS_SHOWN 3

/* Readings of one metric. */
struct row {
	const char *metric;
	const struct reading **readings;
	const char **texts;
	int n, cap;
};

static const char *text_of(struct html *h, const struct reading *r)
{
	struct str why = {0};
	const char *text;

	if (r->outcome == OUTCOME_MEASURED)
		return r->text ? r->text : arena_str(&h->arena, fmt_measure(r->value, r->unit));
	reason_say(&why, &r->reason);
	text = arena_strf(&h->arena, "%s: %s", outcome_name(r->outcome), str_text(&why));
	str_release(&why);
	return text;
}

static struct row *row_of(struct row *rows, int *n, const char *metric)
{
	for (int i = 0; i < *n; i++)
		if (strcmp(rows[i].metric, metric) == 0)
			return &rows[i];
	if (*n == METRICS_MOST)
		return NULL;
	rows[*n] = (struct row){.metric = metric};
	return &rows[(*n)++];
}

static void add(struct html *h, struct row *row, const struct reading *r)
{
	if (row->n == row->cap) {
		const struct reading **more;
		const char **texts;

		row->cap = row->cap ? row->cap * 2 : 8;
		more = arena_array(&h->arena, (size_t)row->cap, sizeof(*more));
		texts = arena_array(&h->arena, (size_t)row->cap, sizeof(*texts));
		if (row->n) {
			memcpy(more, row->readings, (size_t)row->n * sizeof(*more));
			memcpy(texts, row->texts, (size_t)row->n * sizeof(*texts));
		}
		row->readings = more;
		row->texts = texts;
	}
	row->readings[row->n] = r;
	row->texts[row->n++] = text_of(h, r);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The text of most nodes; *alike: how many. */
static const char *usual(struct html *h, const struct row *row, int *alike)
{
	const char **sorted = arena_array(&h->arena, (size_t)row->n, sizeof(*sorted)), *best = "";

	memcpy(sorted, row->texts, (size_t)row->n * sizeof(*sorted));
	qsort(sorted, (size_t)row->n, sizeof(*sorted), by_text);
	*alike = 0;
	for (int i = 0, k; i < row->n; i = k) {
		for (k = i; k < row->n && strcmp(sorted[k], sorted[i]) == 0; k++)
			;
		if (k - i > *alike) {
			*alike = k - i;
			best = sorted[i];
		}
	}
	return best;
}

static void others(struct str *out, const struct row *row, const char *most)
{
	int n = 0;

	for (int i = 0; i < row->n; i++) {
		if (strcmp(row->texts[i], most) == 0)
			continue;
		if (n < OTHERS_SHOWN) {
			str_add(out, n ? "; " : "");
			msg_add(out, MSG_html_software_other, row->texts[i],
			        row->readings[i]->node ? row->readings[i]->node : "?");
		}
		n++;
	}
	if (n > OTHERS_SHOWN)
		str_addf(out, "; %s", say(MSG_and_more, words_count(n - OTHERS_SHOWN)));
}

static void draw(struct html *h, const struct row *row)
{
	struct str rest = {0};
	int alike;
	const char *most = usual(h, row, &alike);

	others(&rest, row, most);
	html_row(h);
	html_cell(h, row->metric);
	html_cell(h, most);
	html_number(h, alike, tmpf("%d / %d", alike, row->n));
	html_cell(h, str_text(&rest));
	str_addc(h->out, '\n');
	str_release(&rest);
}

void html_view_software(struct html *h)
{
	static const enum msg columns[] = {MSG_html_figure, MSG_html_software_most,
	                                   MSG_html_software_alike, MSG_html_software_others};
	const struct html_table t = {
		"software-of-nodes", MSG_html_software_table, columns, "ttnt", 4, true};
	struct row rows[METRICS_MOST];
	int n = 0;

	for (int64_t i = 0; i < h->card->n_readings; i++) {
		const struct reading *r = h->card->readings[i];
		struct row *row =
			r->subject.kind == SUBJECT_ENVIRONMENT ? row_of(rows, &n, r->metric) : NULL;

		if (row)
			add(h, row, r);
	}
	if (!n)
		return;
	html_section(h, "software", MSG_html_software);
	html_note(h, msg_format(MSG_html_software_note));
	html_table_begin(h, &t);
	for (int i = 0; i < n; i++)
		draw(h, &rows[i]);
	html_table_end(h);
	html_section_end(h);
}
