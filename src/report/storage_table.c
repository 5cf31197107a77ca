/* What a storage path gives at which depth: one row an operating point, which
 * one was judged and what held it back. The choice of the point is the judging's,
 * taken from its findings and never made again here: two choices could differ. */
#include "report/storage_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/storage_jobs.h"
#include "report/storage_span.h"
#include "report/table.h"
#include "report/words.h"

#define INDENT      4
#define DETAIL      6
#define TABLE_WIDTH 72 /* narrower pages get lines instead */
#define COLUMNS     7

struct row {
	const struct reading *iops; /* of the operating point */
	int64_t depth;              /* INT64_MAX: the point is called otherwise */
	double cpu, seconds;        /* NaN: not said */
	bool client_bound, held, chosen;
};

struct block {
	struct str *out;
	const struct report_options *options;
	const struct finding *judged; /* of the point; NULL: no rule chose one */
	struct span path, node;
	struct row *rows; /* malloc; by depth */
	int n_rows, width;
};

bool storage_table_shows(const struct scorecard *card, const struct reading *r)
{
	/* A card without its readings has figures to list and none to lay out. */
	return card->n_readings > 0 && r->outcome == OUTCOME_MEASURED && span_shows(r);
}

/* --- the point chosen ------------------------------------------------------------- */

static bool has_code(const struct finding *f, enum msg id)
{
	return f->reason.code && strcmp(f->reason.code, msg_name(id)) == 0;
}

/* Whether a finding is about an operating point of the path. One that says no
 * point was good enough shows the best one as evidence. */
static bool is_of_point(const struct finding *f, const char *path)
{
	return f->subject.kind == SUBJECT_PATH && f->subject.id && f->evidence &&
	       f->rule->reading == RULE_SOUND && strcmp(f->subject.id, path) == 0 &&
	       span_shows(f->evidence) && str_starts(f->evidence->metric, "storage_read_") &&
	       (f->point || has_code(f, MSG_no_point_meets) || has_code(f, MSG_no_reading));
}

/* Rules of a group share the point of a node, and each names the node that is
 * worst by its own figure: one that fails goes before one that does not. */
static const struct finding *judged_point(const struct scorecard *card, const char *path)
{
	const struct finding *found = NULL;

	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];

		if (!is_of_point(f, path))
			continue;
		if (f->verdict == VERDICT_FAIL)
			return f;
		if (!found || (!found->point && f->point))
			found = f;
	}
	return found;
}

static const char *chosen_point(const struct block *b)
{
	return b->judged ? b->judged->point : NULL;
}

/* --- rows ----------------------------------------------------------------------- */

/* "depth=32" -> "32". */
static const char *depth_word(const char *point)
{
	return str_starts(point, "depth=") ? point + strlen("depth=") : point;
}

static void read_params(struct row *row)
{
	struct json_doc doc;

	row->cpu = row->seconds = NAN;
	if (!span_params(row->iops, &doc))
		return;
	row->cpu = json_number(doc.root, "cpu_percent", NAN);
	row->seconds = json_number(doc.root, "runtime_s", NAN);
	row->client_bound = json_bool(doc.root, "client_bound", false);
	row->held = json_bool(doc.root, "held", false);
	json_release(&doc);
}

static int by_depth(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	return strcmp(x->iops->point, y->iops->point);
}

static bool has_row(const struct block *b, const char *point)
{
	for (int i = 0; i < b->n_rows; i++)
		if (strcmp(b->rows[i].iops->point, point) == 0)
			return true;
	return false;
}

static void list_rows(struct block *b)
{
	b->rows = calloc((size_t)b->node.n + 1, sizeof(*b->rows));
	if (!b->rows)
		die_nomem();
	for (int64_t i = 0; i < b->node.n; i++) {
		const struct reading *r = b->node.items[i].r;
		const char *chosen = chosen_point(b);
		struct row row = {.iops = r, .depth = INT64_MAX};

		if (strcmp(b->node.items[i].name, "storage_read_iops") != 0 || !r->point ||
		    has_row(b, r->point))
			continue;
		if (!parse_int64(depth_word(r->point), &row.depth))
			row.depth = INT64_MAX;
		row.chosen = chosen && strcmp(chosen, r->point) == 0;
		read_params(&row);
		b->rows[b->n_rows++] = row;
	}
	qsort(b->rows, (size_t)b->n_rows, sizeof(*b->rows), by_depth);
}

static bool is_measured(const struct row *row)
{
	return row->iops->outcome == OUTCOME_MEASURED && row->iops->value_kind == VALUE_NUMBER;
}

static const struct row *fastest(const struct block *b)
{
	const struct row *found = NULL;

	for (int i = 0; i < b->n_rows; i++)
		if (is_measured(&b->rows[i]) &&
		    (!found || b->rows[i].iops->value > found->iops->value))
			found = &b->rows[i];
	return found;
}

/* --- words ------------------------------------------------------------------------ */

static void line(const struct block *b, int indent, const struct str *text)
{
	str_pad(b->out, ' ', (size_t)indent);
	words_wrap(b->out, str_text(text), indent, indent + 2, b->width);
}

static void add_part(struct str *out, const char *text)
{
	if (*text)
		str_addf(out, "%s%s", out->len ? ", " : "", text);
}

/* "60 s": the methods say it so, and fmt_duration "1 min 00 s". */
static const char *seconds_word(double seconds)
{
	return seconds < 10 ? fmt_duration(seconds) : fmt_measure(round(seconds), "s");
}

static void add_note(struct str *out, const struct row *row)
{
	if (!is_measured(row)) {
		words_said(out, &row->iops->reason);
		return;
	}
	if (row->chosen)
		add_part(out, msg_format(MSG_depth_chosen));
	if (row->held && isfinite(row->seconds))
		add_part(out, say(MSG_depth_held, seconds_word(row->seconds)));
	if (row->client_bound)
		add_part(out, msg_format(MSG_depth_client));
}

static void row_cells(struct str *cells, const struct block *b, const struct row *row)
{
	static const char *const latencies[] = {
		"storage_read_lat_mean_ms", "storage_read_lat_p99_ms", "storage_read_lat_p999_ms"};
	const char *iops = is_measured(row) ? fmt_measure(row->iops->value, "IOPS") : "-";

	str_add(&cells[0], row->chosen ? "> " : "");
	words_add(&cells[0], depth_word(row->iops->point));
	str_addn(&cells[1], iops, strcspn(iops, " "));
	for (int i = 0; i < 3; i++)
		str_add(&cells[2 + i],
		        fmt_value(span_number(b->node, latencies[i], row->iops->point)));
	str_add(&cells[5], is_measured(row) ? fmt_value(round(row->cpu)) : "-");
	add_note(&cells[6], row);
}

/* --- the table ---------------------------------------------------------------------- */

static void titles(struct table_column columns[COLUMNS])
{
	columns[0] = (struct table_column){msg_format(MSG_depth_depth), true};
	columns[1] = (struct table_column){"IOPS", true};
	columns[2] = (struct table_column){msg_format(MSG_depth_mean), true};
	columns[3] = (struct table_column){"p99 ms", true};
	columns[4] = (struct table_column){"p99.9 ms", true};
	columns[5] = (struct table_column){"CPU %", true};
	columns[6] = (struct table_column){msg_format(MSG_depth_note), false};
}

/* Figures are never cut; what there is to note is, where the page ends. */
static void fit(struct str *cells, const struct table_column *columns, int rows, int width)
{
	int room = width - DETAIL;

	for (int c = 0; c < COLUMNS - 1; c++) {
		int widest = words_columns(columns[c].title);

		for (int i = 0; i < rows; i++) {
			int own = words_columns(str_text(&cells[i * COLUMNS + c]));

			widest = own > widest ? own : widest;
		}
		room -= widest + (int)strlen(TABLE_GAP);
	}
	for (int i = 0; i < rows; i++) {
		struct str *note = &cells[i * COLUMNS + COLUMNS - 1], cut = {0};

		if (room >= 4)
			words_cut(&cut, str_text(note), room);
		str_release(note);
		*note = cut;
	}
}

/* A page too narrow for a table. */
static void row_lines(const struct block *b, const struct str *cells)
{
	for (int i = 0; i < b->n_rows; i++, cells += COLUMNS) {
		const char *note = str_text(&cells[COLUMNS - 1]);
		struct str s = {0};

		if (is_measured(&b->rows[i]))
			msg_add(&s, MSG_depth_row, str_text(&cells[0]), str_text(&cells[1]),
			        str_text(&cells[2]), str_text(&cells[3]), str_text(&cells[4]),
			        str_text(&cells[5]));
		else
			msg_add(&s, MSG_depth_row_none, str_text(&cells[0]));
		str_addf(&s, "%s%s", *note ? ", " : "", note);
		line(b, DETAIL, &s);
		str_release(&s);
	}
}

static bool rows_table(const struct block *b)
{
	size_t n = (size_t)b->n_rows * COLUMNS;
	struct table_column columns[COLUMNS];
	struct table table = {.columns = columns,
	                      .n_columns = COLUMNS,
	                      .titles = true,
	                      .indent = DETAIL,
	                      .utf8 = b->options->utf8};
	struct str *cells = calloc(n, sizeof(*cells));
	bool ok = cells != NULL;

	for (int i = 0; i < b->n_rows && ok; i++)
		row_cells(&cells[i * COLUMNS], b, &b->rows[i]);
	titles(columns);
	if (ok && b->width >= TABLE_WIDTH) {
		fit(cells, columns, b->n_rows, b->width);
		ok = table_print(b->out, &table, cells, b->n_rows);
	} else if (ok) {
		row_lines(b, cells);
	}
	for (size_t i = 0; cells && i < n; i++)
		str_release(&cells[i]);
	free(cells);
	return ok;
}

/* --- below the table -------------------------------------------------------------- */

static void chosen_line(const struct block *b)
{
	const char *point = chosen_point(b);
	struct str s = {0}, why = {0};

	if (!b->judged)
		return;
	if (point) {
		double iops = span_number(b->node, "storage_read_iops", point);
		double p99 = span_number(b->node, "storage_read_lat_p99_ms", point);

		words_add(&why, depth_word(point));
		msg_add(&s, MSG_depth_judged, str_text(&why), fmt_measure(iops, "IOPS"),
		        fmt_measure(p99, "ms"));
	} else {
		words_reason(&why, b->judged, NULL);
		msg_add(&s, MSG_depth_none_chosen, str_text(&why));
	}
	line(b, DETAIL, &s);
	str_release(&why);
	str_release(&s);
}

/* Beside the judged figure, never in its place. */
static void highest_line(const struct block *b)
{
	const struct row *top = fastest(b);
	const char *point = chosen_point(b);
	double most = span_highest(b->node, "storage_read_iops_max"), p99 = NAN;
	struct str s = {0};

	if (!top)
		return;
	if (!(most > top->iops->value)) {
		most = top->iops->value;
		p99 = span_number(b->node, "storage_read_lat_p99_ms", top->iops->point);
	}
	if (top->chosen && most == top->iops->value)
		str_add(&s, msg_format(MSG_depth_highest_same));
	else if (isfinite(p99))
		msg_add(&s, MSG_depth_highest, fmt_measure(most, "IOPS"), fmt_measure(p99, "ms"));
	else
		msg_add(&s, MSG_depth_highest_alone, fmt_measure(most, "IOPS"));
	/* The judging takes the highest that meets its conditions: a higher one
	 * whose latency is known does not meet them. */
	if (b->judged && isfinite(p99) && !top->chosen &&
	    (!point || most > span_number(b->node, "storage_read_iops", point)))
		add_part(&s, msg_format(MSG_depth_beyond));
	line(b, DETAIL, &s);
	str_release(&s);
}

static const char *limit_words(const char *limit)
{
	static const struct {
		const char *word;
		enum msg id;
	} known[] = {
		{"storage", MSG_depth_limit_storage},
		{"client_cpu", MSG_depth_limit_cpu},
		{"client_link", MSG_depth_limit_link},
		{"offered_load", MSG_depth_limit_load},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(known[i].word, limit) == 0)
			return msg_format(known[i].id);
	return limit;
}

/* The probe says at which depth it looked; that goes without saying where the
 * judging chose the same. */
static void limit_line(const struct block *b)
{
	const struct reading *r = span_find(b->node, "storage_limit", NULL);
	const char *point = chosen_point(b), *depth = NULL;
	struct str s = {0}, limit = {0};
	struct json_doc doc;

	if (!r || !r->text)
		return;
	if (span_params(r, &doc)) {
		double at = json_number(doc.root, "depth", NAN);

		depth = isfinite(at) ? fmt_value(at) : NULL;
		json_release(&doc);
	}
	words_add(&limit, limit_words(r->text));
	if (depth && (!point || strcmp(depth_word(point), depth) != 0))
		msg_add(&s, MSG_depth_limited_at, depth, str_text(&limit));
	else
		msg_add(&s, MSG_depth_limited, str_text(&limit));
	line(b, DETAIL, &s);
	str_release(&s);
	str_release(&limit);
}

static void add_percent(struct str *out, enum msg id, double share)
{
	if (isfinite(share))
		add_part(out, say(id, fmt_measure(100 * share, "%")));
}

static void held_line(const struct block *b, const struct row *row)
{
	const char *point = row->iops->point;
	struct str s = {0}, what = {0}, depth = {0};

	add_percent(&what, MSG_depth_cv, span_number(b->node, "storage_read_cv", point));
	add_percent(&what, MSG_depth_worst_second,
	            span_number(b->node, "storage_read_worst_second", point));
	add_percent(&what, MSG_depth_thirds, span_number(b->node, "storage_read_thirds", point));
	if (what.len) {
		words_add(&depth, depth_word(point));
		if (isfinite(row->seconds))
			msg_add(&s, MSG_depth_held_for, seconds_word(row->seconds),
			        str_text(&depth), what.data);
		else
			msg_add(&s, MSG_depth_held_at, str_text(&depth), what.data);
		line(b, DETAIL, &s);
	}
	str_release(&s);
	str_release(&what);
	str_release(&depth);
}

/* How latency grows with depth, and how much was offered. */
static void shape_line(const struct block *b)
{
	double base = span_number(b->node, "storage_lat_depth1_us", NULL);
	double knee = span_number(b->node, "storage_knee_depth", NULL);
	double below = span_number(b->node, "storage_depth_below_1ms", NULL);
	double offered = span_number(b->node, "storage_offered_iops", NULL);
	struct str s = {0};

	if (isfinite(base))
		add_part(&s, say(MSG_depth_base, fmt_measure(base, "us")));
	if (isfinite(knee))
		add_part(&s, say(MSG_depth_knee, fmt_value(knee)));
	if (isfinite(below))
		add_part(&s, below > 0 ? say(MSG_depth_below, fmt_value(below))
		                       : msg_format(MSG_depth_below_none));
	if (s.len)
		line(b, DETAIL, &s);
	str_clear(&s);
	if (isfinite(offered))
		add_part(&s, say(MSG_depth_ceiling, fmt_measure(offered, "IOPS")));
	if (s.len)
		line(b, DETAIL, &s);
	str_release(&s);
}

/* --- a path ----------------------------------------------------------------------- */

/* "/data, n017: the worst of 125 nodes" */
static void head(const struct block *b, int64_t nodes)
{
	const struct item *first = b->path.items;
	struct str s = {0}, path = {0}, node = {0};

	words_add(&path, first->r->subject.id);
	if (nodes > 1) {
		words_add(&node, span_node(b->node));
		msg_add(&s, MSG_depth_node, path.data, str_text(&node),
		        words_subjects(SUBJECT_NODE, nodes));
	} else {
		str_add(&s, path.data);
	}
	if (first->local) {
		str_clear(&path);
		msg_add(&path, MSG_depth_local, s.data);
		line(b, INDENT, &path);
	} else {
		line(b, INDENT, &s);
	}
	str_release(&s);
	str_release(&path);
	str_release(&node);
}

static bool any_measured(struct span s)
{
	for (int64_t i = 0; i < s.n; i++)
		if (s.items[i].r->outcome == OUTCOME_MEASURED)
			return true;
	return false;
}

/* The node whose figures decided; without a verdict, the slowest. */
static void choose_node(struct block *b, int64_t *nodes)
{
	const char *node = b->judged ? b->judged->evidence->node : NULL;
	struct span deciding = {0};

	b->node = span_slowest(b->path, "storage_read_iops", nodes);
	if (node)
		deciding = span_of_node(b->path, node);
	if (*nodes && deciding.n)
		b->node = deciding;
}

static bool path_block(struct block *b, const struct scorecard *card)
{
	const struct page_part jobs = {b->out, DETAIL, b->width};
	bool ok = true;
	int64_t nodes;

	b->judged = b->path.items->local ? NULL : judged_point(card, b->path.items->r->subject.id);
	choose_node(b, &nodes);
	head(b, nodes);
	if (nodes)
		list_rows(b);
	if (b->n_rows) {
		ok = rows_table(b);
		chosen_line(b);
		highest_line(b);
		limit_line(b);
		for (int i = 0; i < b->n_rows; i++)
			held_line(b, &b->rows[i]);
		shape_line(b);
	}
	job_lines(&jobs, b->path);
	free(b->rows);
	return ok;
}

static void title(struct str *out, int width)
{
	str_add(out, "\n  ");
	words_wrap(out, msg_format(MSG_depth_title), 2, 4, width);
}

enum status storage_table(struct str *out, const struct scorecard *card,
                          const struct report_options *options, int width, struct error *err)
{
	struct span all = span_gather(card), left = all;
	bool ok = true, any = false;

	while (left.n && ok) {
		struct block b = {.out = out,
		                  .options = options,
		                  .path = span_first(left, false),
		                  .width = width};

		left = span_rest(left, b.path);
		if (!any_measured(b.path))
			continue;
		if (!any)
			title(out, width);
		any = true;
		ok = path_block(&b, card);
	}
	free((void *)all.items);
	return ok ? ST_OK : error_set(err, ST_NOMEM, MSG_no_table);
}
