/* Between nodes: who is to blame by all pairs together, and the pairs as heat maps;
 * inside a node likewise, from the matrices its probes have saved. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/html.h"
#include "report/html_matrix.h"
#include "report/html_raw.h"
#include "report/words.h"

#define MOST_NODES 512 /* in a map; of more, the worst */
#define CARDS_MOST 64  /* of a node, in a map */
#define MOST_MAPS  6   /* of the insides of nodes */

/* --- pairs ------------------------------------------------------------------------- */

static bool is_pair(const struct reading *r)
{
	return r->subject.n_ends == 2 && r->value_kind == VALUE_NUMBER &&
	       r->outcome == OUTCOME_MEASURED && r->subject.ends[0].node &&
	       r->subject.ends[1].node &&
	       strcmp(r->subject.ends[0].node, r->subject.ends[1].node) != 0;
}

static int by_figure(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;
	int order = strcmp(x->metric, y->metric);

	if (order == 0)
		order = strcmp(x->point ? x->point : "", y->point ? y->point : "");
	return order ? order : x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int place_of(const struct matrix *m, const char *name)
{
	const char **found = bsearch(&name, m->name, (size_t)m->n, sizeof(*m->name), by_text);

	return found ? (int)(found - m->name) : -1;
}

/* The nodes of the readings, each once; of many, those with the worst figures. */
static void take_names(struct html *h, struct matrix *m, const struct reading *const *r, int n)
{
	const char **all = arena_array(&h->arena, 2 * (size_t)n + 1, sizeof(*all));
	int count = 0;

	for (int i = 0; i < n; i++)
		for (int e = 0; e < 2; e++)
			all[count++] = r[i]->subject.ends[e].node;
	qsort(all, (size_t)count, sizeof(*all), by_text);
	m->n = 0;
	for (int i = 0; i < count; i++)
		if (m->n == 0 || strcmp(all[m->n - 1], all[i]) != 0)
			all[m->n++] = all[i];
	m->name = all;
}

static int by_value(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;

	if (x->better == BETTER_LOWER)
		return x->value > y->value ? -1 : x->value < y->value;
	return x->value < y->value ? -1 : x->value > y->value;
}

/* As many of the worst as have no more than so many nodes. */
static int cut(struct html *h, const struct reading **r, int n)
{
	struct matrix m = {0};

	qsort(r, (size_t)n, sizeof(*r), by_value);
	for (int some = n; some > 1; some /= 2) {
		take_names(h, &m, r, some);
		if (m.n <= MOST_NODES)
			return some;
	}
	return n < 1 ? n : 1;
}

static void draw_pairs(struct html *h, const struct reading **r, int n)
{
	int shown = cut(h, r, n);
	struct matrix names = {0}, m = {.better = r[0]->better, .unit = r[0]->unit};

	take_names(h, &names, r, shown);
	matrix_make(&m, h, names.n);
	m.name = names.name;
	for (int i = 0; i < shown; i++)
		matrix_put(&m, place_of(&m, r[i]->subject.ends[0].node),
		           place_of(&m, r[i]->subject.ends[1].node), r[i]->value);
	matrix_draw(h, &m, r[0]->point ? tmpf("%s %s", r[0]->metric, r[0]->point) : r[0]->metric);
	if (shown < n)
		html_note(h, say(MSG_html_worst_pairs, words_count(shown), words_count(n)));
}

/* --- inside nodes ------------------------------------------------------------------------- */

/* Number of a card in a raw file, which may be anybody's; -1: none that a map has room for. */
static int card_number(const char *text)
{
	int64_t n;

	return parse_int64(text, &n) && n >= 0 && n < CARDS_MOST ? (int)n : -1;
}

/* How many cards the lines are about; 0: one of them is about none. */
static int count_cards(const struct csv *csv, int from, int to)
{
	int most = 0;

	for (int i = 0; i < csv->n_rows; i++) {
		int a = card_number(csv->rows[i][from]), b = card_number(csv->rows[i][to]);

		if (a < 0 || b < 0)
			return 0;
		most = a > most ? a : most;
		most = b > most ? b : most;
	}
	return most + 1;
}

/* "from,to,…,GB/s": the matrix a probe of links saved. */
static bool read_links(struct html *h, struct matrix *m, const struct reading *r)
{
	struct csv csv;
	int from, to, value, n = 0;
	double v;

	if (!r->raw.file || !html_raw(h, &csv, r))
		return false;
	from = csv_column(&csv, "from");
	to = csv_column(&csv, "to");
	value = csv_column(&csv, r->unit);
	if (from >= 0 && to >= 0 && value >= 0)
		n = count_cards(&csv, from, to);
	if (n >= 2) {
		matrix_make(m, h, n);
		m->better = r->better;
		m->unit = r->unit;
		for (int i = 0; i < n; i++)
			m->name[i] =
				arena_strf(&h->arena, "%s", say(MSG_words_card, tmpf("%d", i)));
		for (int i = 0; i < csv.n_rows; i++)
			if (parse_double(csv.rows[i][value], &v))
				matrix_put(m, card_number(csv.rows[i][from]),
				           card_number(csv.rows[i][to]), v);
	}
	csv_release(&csv);
	return n >= 2;
}

static bool is_bad(const struct finding *f)
{
	return f->verdict == VERDICT_FAIL || f->verdict == VERDICT_WARN;
}

/* The links of nodes where a rule about them is not met; of a sound cluster, those
 * of the first node. */
static bool insides(struct html *h)
{
	int drawn = 0;

	for (int pass = 0; pass < 2 && drawn == 0; pass++)
		for (int64_t i = 0; i < h->card->n_findings && drawn < MOST_MAPS; i++) {
			const struct finding *f = &h->card->findings[i];
			const struct reading *r = f->evidence;
			struct matrix m = {0};

			if ((pass == 0 && !is_bad(f)) || (pass == 1 && drawn) || !r ||
			    f->rule->reading == RULE_LITERAL || r->subject.kind != SUBJECT_LINK ||
			    !read_links(h, &m, r))
				continue;
			matrix_draw(h, &m, tmpf("%s, %s", r->node, r->metric));
			drawn++;
		}
	return drawn > 0;
}

/* --- the view -------------------------------------------------------------------------------- */

static void blamed(struct html *h)
{
	bool any = false;

	for (int i = 0; i < h->card->n_localised; i++) {
		const struct localised *l = &h->card->localised[i];

		if (!l->text)
			continue;
		str_add(h->out, any ? "" : "<ul class=\"troubles\">\n");
		any = true;
		str_add(h->out, "<li><strong>");
		markup_text(h->out, l->metric);
		str_add(h->out, "</strong>: ");
		markup_text(h->out, l->text);
		str_add(h->out, "</li>\n");
	}
	str_add(h->out, any ? "</ul>\n" : "");
}

void html_view_between(struct html *h)
{
	const struct scorecard *c = h->card;
	const struct reading **pairs =
		arena_array(&h->arena, (size_t)c->n_readings + 1, sizeof(*pairs));
	int n = 0;

	for (int64_t i = 0; i < c->n_readings; i++)
		if (is_pair(c->readings[i]))
			pairs[n++] = c->readings[i];
	html_section(h, "between", MSG_html_between);
	blamed(h);
	qsort(pairs, (size_t)n, sizeof(*pairs), by_figure);
	for (int at = 0, end; at < n; at = end) {
		for (end = at + 1; end < n; end++)
			if (strcmp(pairs[end]->metric, pairs[at]->metric) != 0 ||
			    strcmp(pairs[end]->point ? pairs[end]->point : "",
			           pairs[at]->point ? pairs[at]->point : "") != 0)
				break;
		draw_pairs(h, pairs + at, end - at);
	}
	if (!insides(h) && !n)
		html_note(h, msg_format(MSG_html_no_links));
	html_section_end(h);
}
