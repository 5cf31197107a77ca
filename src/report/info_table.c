/* Figures that no rule judges: one row a metric, however many subjects and
 * operating points it was taken of, then what was found as words, then what
 * could not be measured. */
#include "report/info_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/msg.h"
#include "base/unit.h"
#include "report/storage_table.h"
#include "report/table.h"
#include "report/words.h"

#define MAX_ROWS     24
#define INDENT       4
#define NAME_COLUMNS 36
#define TABLE_WIDTH  72 /* narrower pages get lines instead */
#define MAX_METRICS  512

/* All readings of one metric with the same outcome. */
struct figure {
	const struct reading *first, *last; /* in the order taken */
	int64_t n;                          /* readings */
	int64_t subjects;                   /* readings at the first one's operating point */
	bool points;                        /* more than one operating point */
	bool differs; /* texts, of which it cannot be said what lies between */
	double lo, hi;
	double *values; /* malloc: n of them, for the median */
	int64_t capacity;
};

struct figures {
	struct figure *list;
	int n, last;
};

/* --- gathering ------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool belongs(const struct figure *f, const struct reading *r)
{
	return strcmp(f->first->metric, r->metric) == 0 && f->first->outcome == r->outcome &&
	       f->first->value_kind == r->value_kind &&
	       (r->outcome == OUTCOME_MEASURED || same_text(f->first->reason.text, r->reason.text));
}

/* Nodes report the same metrics in the same order: the next is a good guess. */
static struct figure *figure_of(struct figures *all, const struct reading *r)
{
	for (int k = 1; k <= all->n; k++) {
		int i = (all->last + k) % all->n;

		if (!belongs(&all->list[i], r))
			continue;
		all->last = i;
		return &all->list[i];
	}
	if (all->n == MAX_METRICS)
		return NULL;
	all->last = all->n;
	all->list[all->n] = (struct figure){.first = r, .lo = INFINITY, .hi = -INFINITY};
	return &all->list[all->n++];
}

static void add_value(struct figure *f, double value)
{
	if (f->n == f->capacity) {
		f->capacity = f->capacity ? 2 * f->capacity : 4;
		f->values = realloc(f->values, (size_t)f->capacity * sizeof(*f->values));
		if (!f->values)
			die_nomem();
	}
	f->values[f->n] = value;
	f->lo = fmin(f->lo, value);
	f->hi = fmax(f->hi, value);
}

/* The same storage read twice is one path; shared, it is one from all nodes. */
static bool same_subject(const struct reading *a, const struct reading *b)
{
	return same_text(a->subject.id, b->subject.id) &&
	       (a->subject.kind == SUBJECT_PATH || same_text(a->node, b->node));
}

static void gather(struct figures *all, const struct scorecard *card)
{
	all->list = calloc(MAX_METRICS, sizeof(*all->list));
	if (!all->list)
		die_nomem();
	for (int64_t i = 0; i < card->n_information; i++) {
		const struct reading *r = card->information[i];
		struct figure *f = storage_table_shows(card, r) ? NULL : figure_of(all, r);

		if (!f)
			continue;
		if (r->value_kind == VALUE_NUMBER)
			add_value(f, r->value);
		else if (r->value_kind == VALUE_TEXT)
			f->differs = f->differs || !same_text(f->first->text, r->text);
		if (!same_text(f->first->point, r->point))
			f->points = true;
		else if (!f->last || !same_subject(f->last, r))
			f->subjects++;
		f->last = r;
		f->n++;
	}
}

static void release(struct figures *all)
{
	for (int i = 0; i < all->n; i++)
		free(all->list[i].values);
	free(all->list);
}

/* --- words ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Operating points are not alternatives of one figure: only many subjects at
 * one point have a middle. */
static void add_number(struct str *out, struct figure *f)
{
	const char *unit = f->first->unit;
	struct str range = {0};

	words_range(&range, fmt_measure(f->lo, unit), fmt_measure(f->hi, unit));
	if (f->points || f->n < 3 || f->lo == f->hi) {
		str_add(out, range.data);
	} else {
		qsort(f->values, (size_t)f->n, sizeof(*f->values), by_value);
		msg_add(out, MSG_words_spread, fmt_measure(f->values[(f->n - 1) / 2], unit),
		        range.data);
	}
	str_release(&range);
}

/* A path that no rule looked at is this node's own disk. */
static bool is_local(const struct scorecard *card, const char *path)
{
	for (int64_t i = 0; i < card->n_findings; i++)
		if (card->findings[i].subject.kind == SUBJECT_PATH &&
		    same_text(card->findings[i].subject.id, path))
			return false;
	return true;
}

static void add_part(struct str *out, const char *text)
{
	if (*text)
		str_addf(out, "%s%s", out->len ? ", " : "", text);
}

static void add_subject(struct str *out, const struct figure *f, const struct scorecard *card)
{
	const struct reading *r = f->first;
	bool many = card->expected_nodes > 1;
	struct str name = {0};

	if (f->subjects > 1)
		str_add(&name, words_subjects(r->subject.kind, f->subjects));
	else if (many || r->subject.kind != SUBJECT_NODE)
		words_subject(&name, &r->subject, many ? r->node : NULL);
	add_part(out, str_text(&name));
	str_release(&name);
}

/* "depth=4 to 64" */
static void add_points(struct str *out, const struct figure *f)
{
	struct str points = {0};

	words_add(&points, f->first->point);
	if (f->points && f->last->point && f->first->point) {
		const char *last = f->last->point;
		size_t key = strcspn(last, "=") + 1;
		struct str text = {0};

		words_add(&text, strncmp(last, f->first->point, key) == 0 ? last + key : last);
		str_add(&points, say(MSG_words_upto, text.data));
		str_release(&text);
	}
	add_part(out, str_text(&points));
	str_release(&points);
}

/* --- the table ----------------------------------------------------------------------- */

/* Better is higher or lower: a figure to compare. The rest are facts. */
static bool is_row(const struct figure *f)
{
	return f->first->outcome == OUTCOME_MEASURED && f->first->value_kind == VALUE_NUMBER &&
	       f->first->better != BETTER_NEITHER;
}

struct row {
	struct str name, value, of;
};

static void row_texts(struct row *row, struct figure *f, const struct scorecard *card)
{
	const struct subject *subject = &f->first->subject;
	struct str name = {0};

	words_add(&name, f->first->metric);
	words_cut(&row->name, name.data, NAME_COLUMNS);
	str_release(&name);
	add_number(&row->value, f);
	if (subject->kind == SUBJECT_PATH && is_local(card, subject->id))
		add_part(&row->of, msg_format(MSG_words_local));
	add_points(&row->of, f);
	add_subject(&row->of, f, card);
}

static int widest(int columns, const struct str *text)
{
	int own = words_columns(str_text(text));

	return own > columns ? own : columns;
}

/* The figure is never cut; whom it is of is, where the page ends. */
static void fit(struct row *rows, int n, int width)
{
	int name = 0, value = 0, room;

	for (int i = 0; i < n; i++) {
		name = widest(name, &rows[i].name);
		value = widest(value, &rows[i].value);
	}
	room = width - INDENT - name - value - 2 * (int)strlen(TABLE_GAP);
	for (int i = 0; i < n; i++) {
		struct str cut = {0};

		if (room >= 4)
			words_cut(&cut, str_text(&rows[i].of), room);
		str_release(&rows[i].of);
		rows[i].of = cut;
	}
}

static bool print_table(struct str *out, const struct row *rows, int n, bool utf8)
{
	static const struct table_column columns[] = {
		{"figure", false}, {"value", false}, {"of", false}};
	const struct table table = {
		.columns = columns, .n_columns = 3, .indent = INDENT, .utf8 = utf8};
	struct str cells[3 * MAX_ROWS];

	for (int i = 0; i < n; i++) {
		cells[3 * i] = rows[i].name;
		cells[3 * i + 1] = rows[i].value;
		cells[3 * i + 2] = rows[i].of;
	}
	return table_print(out, &table, cells, n);
}

/* A page too narrow for a table. */
static void print_lines(struct str *out, const struct row *rows, int n, int width)
{
	for (int i = 0; i < n; i++) {
		struct str s = {0};

		str_addf(&s, "%s %s %s", str_text(&rows[i].name), str_text(&rows[i].value),
		         str_text(&rows[i].of));
		str_pad(out, ' ', INDENT);
		words_wrap(out, s.data, INDENT, INDENT + 2, width);
		str_release(&s);
	}
}

static bool add_rows(struct str *out, struct figures *all, const struct scorecard *card,
                     const struct report_options *options, int width)
{
	struct row rows[MAX_ROWS] = {0};
	int n = 0, more = 0;
	bool ok = true;

	for (int i = 0; i < all->n; i++) {
		if (!is_row(&all->list[i]))
			continue;
		if (n < MAX_ROWS)
			row_texts(&rows[n++], &all->list[i], card);
		else
			more++;
	}
	if (n && width >= TABLE_WIDTH) {
		fit(rows, n, width);
		ok = print_table(out, rows, n, options->utf8);
	} else {
		print_lines(out, rows, n, width);
	}
	if (more)
		str_addf(out, "    %s\n", say(MSG_and_more, words_count(more)));
	for (int i = 0; i < n; i++) {
		str_release(&rows[i].name);
		str_release(&rows[i].value);
		str_release(&rows[i].of);
	}
	return ok;
}

/* --- facts, and what is missing ------------------------------------------------------- */

static void add_facts(struct str *out, struct figures *all, int width)
{
	struct str s = {0};

	for (int i = 0; i < all->n; i++) {
		struct figure *f = &all->list[i];

		if (f->first->outcome != OUTCOME_MEASURED || is_row(f) ||
		    f->first->value_kind == VALUE_NONE)
			continue;
		str_add(&s, s.len ? "; " : "");
		words_add(&s, f->first->metric);
		str_addc(&s, ' ');
		if (f->first->value_kind == VALUE_NUMBER)
			words_range(&s, fmt_measure(f->lo, f->first->unit),
			            fmt_measure(f->hi, f->first->unit));
		else if (f->differs)
			str_add(&s, msg_format(MSG_words_differs));
		else
			words_add(&s, f->first->text);
	}
	if (s.len) {
		struct str line = {0};

		msg_add(&line, MSG_information_facts, s.data);
		str_pad(out, ' ', INDENT);
		words_wrap(out, line.data, INDENT, INDENT + 2, width);
		str_release(&line);
	}
	str_release(&s);
}

/* One line a reason, with the metrics it keeps from us. */
static void add_missing(struct str *out, struct figures *all, int width)
{
	for (int i = 0; i < all->n; i++) {
		const struct reading *r = all->list[i].first;
		const char *names[MAX_METRICS];
		struct str metrics = {0}, reason = {0}, line = {0};
		bool told = r->outcome == OUTCOME_MEASURED;
		int n = 0;

		for (int k = 0; k < all->n && !told; k++) {
			const struct reading *other = all->list[k].first;

			if (other->outcome == OUTCOME_MEASURED ||
			    !same_text(other->reason.text, r->reason.text))
				continue;
			told = k < i;
			names[n++] = other->metric;
		}
		if (told)
			continue;
		words_names(&metrics, names, n);
		words_said(&reason, &r->reason);
		msg_add(&line, MSG_information_none, metrics.data, reason.data);
		str_pad(out, ' ', INDENT);
		words_wrap(out, line.data, INDENT, INDENT + 2, width);
		str_release(&metrics);
		str_release(&reason);
		str_release(&line);
	}
}

enum status info_table(struct str *out, const struct scorecard *card,
                       const struct report_options *options, int width, struct error *err)
{
	struct figures all = {0};
	enum status st = ST_OK;

	if (card->n_information == 0)
		return ST_OK;
	gather(&all, card);
	if (all.n)
		str_addf(out, "\n  %s\n", msg_format(MSG_information));
	if (!add_rows(out, &all, card, options, width))
		st = error_set(err, ST_NOMEM, MSG_no_table);
	add_facts(out, &all, width);
	add_missing(out, &all, width);
	release(&all);
	return st;
}
