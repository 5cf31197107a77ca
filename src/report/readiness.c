/* Figures about the environment gathered over nodes, and the gate in words, for all
 * reports alike. What most nodes say stands for all, and who says otherwise is named:
 * a table of a thousand equal rows hides the one that is not. */
#include "report/readiness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/words.h"
#include "run/gated.h"

#define ROWS_MOST    192
#define OTHERS_SHOWN 3
#define DIGEST_LEAST 16 /* hex digits */

/* Readings of one figure. */
struct gathered {
	const char *metric, *point;
	const struct reading **readings;
	const char **texts;
	int n, cap;
};

/* Figures of jobs and engines stand with the software, also those of all nodes. */
static bool is_software(const struct reading *r)
{
	if (r->subject.kind == SUBJECT_ENVIRONMENT)
		return true;
	return r->subject.kind == SUBJECT_CLUSTER &&
	       (str_starts(r->metric, "fw_") || str_starts(r->metric, "cpu_fw_") ||
	        strstr(r->metric, "_engine_"));
}

static const char *text_of(struct arena *arena, const struct reading *r)
{
	double lo = r->stats[STAT_CI_LO], hi = r->stats[STAT_CI_HI];
	struct str why = {0};
	const char *text;

	if (r->outcome == OUTCOME_MEASURED && r->text)
		return r->text;
	if (r->outcome == OUTCOME_MEASURED && isfinite(lo) && isfinite(hi))
		return arena_str(arena, say(MSG_readiness_interval, fmt_measure(r->value, r->unit),
		                            fmt_measure(lo, r->unit), fmt_measure(hi, r->unit)));
	if (r->outcome == OUTCOME_MEASURED)
		return arena_str(arena, fmt_measure(r->value, r->unit));
	reason_say(&why, &r->reason);
	text = arena_strf(arena, "%s: %s", outcome_name(r->outcome), str_text(&why));
	str_release(&why);
	return text;
}

static bool same_point(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static struct gathered *figure_of(struct gathered *list, int *n, const struct reading *r)
{
	for (int i = 0; i < *n; i++)
		if (strcmp(list[i].metric, r->metric) == 0 && same_point(list[i].point, r->point))
			return &list[i];
	if (*n == ROWS_MOST)
		return NULL;
	list[*n] = (struct gathered){.metric = r->metric, .point = r->point};
	return &list[(*n)++];
}

static void add(struct arena *arena, struct gathered *g, const struct reading *r)
{
	if (g->n == g->cap) {
		int cap = g->cap ? g->cap * 2 : 8;
		const struct reading **more = arena_array(arena, (size_t)cap, sizeof(*more));
		const char **texts = arena_array(arena, (size_t)cap, sizeof(*texts));

		if (g->n) {
			memcpy(more, g->readings, (size_t)g->n * sizeof(*more));
			memcpy(texts, g->texts, (size_t)g->n * sizeof(*texts));
		}
		g->readings = more;
		g->texts = texts;
		g->cap = cap;
	}
	g->readings[g->n] = r;
	g->texts[g->n++] = text_of(arena, r);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The text of most nodes; *alike: how many. */
static const char *usual(struct arena *arena, const struct gathered *g, int *alike)
{
	const char **sorted = arena_array(arena, (size_t)g->n, sizeof(*sorted)), *best = "";

	memcpy(sorted, g->texts, (size_t)g->n * sizeof(*sorted));
	qsort(sorted, (size_t)g->n, sizeof(*sorted), by_text);
	*alike = 0;
	for (int i = 0, k; i < g->n; i = k) {
		for (k = i; k < g->n && strcmp(sorted[k], sorted[i]) == 0; k++)
			;
		if (k - i > *alike) {
			*alike = k - i;
			best = sorted[i];
		}
	}
	return best;
}

static const char *others_of(struct arena *arena, const struct gathered *g, const char *most)
{
	struct str out = {0};
	const char *kept;
	int n = 0;

	for (int i = 0; i < g->n; i++) {
		if (strcmp(g->texts[i], most) == 0)
			continue;
		if (n < OTHERS_SHOWN) {
			str_add(&out, n ? "; " : "");
			msg_add(&out, MSG_html_software_other, g->texts[i],
			        g->readings[i]->node ? g->readings[i]->node : "?");
		}
		n++;
	}
	if (n > OTHERS_SHOWN)
		str_addf(&out, "; %s", say(MSG_and_more, words_count(n - OTHERS_SHOWN)));
	kept = arena_str(arena, str_text(&out));
	str_release(&out);
	return kept;
}

static bool is_digest(const char *text)
{
	size_t len = strspn(text, "0123456789abcdef");

	return len >= DIGEST_LEAST && text[len] == '\0';
}

static struct readiness_row row_of(struct arena *arena, const struct gathered *g)
{
	struct readiness_row row = {
		.name = g->point ? arena_strf(arena, "%s (%s)", g->metric, g->point) : g->metric,
		.nodes = g->n};

	row.text = usual(arena, g, &row.alike);
	row.others = others_of(arena, g, row.text);
	for (int i = 0; i < g->n; i++)
		row.measured = row.measured || (strcmp(g->texts[i], row.text) == 0 &&
		                                g->readings[i]->outcome == OUTCOME_MEASURED);
	row.digest = row.measured && is_digest(row.text);
	row.tells = row.alike < row.nodes || (row.measured && !row.digest);
	return row;
}

void readiness_find(struct readiness *r, struct arena *arena, const struct scorecard *card)
{
	struct gathered *list = arena_array(arena, ROWS_MOST, sizeof(*list));
	int n = 0;

	for (int64_t i = 0; i < card->n_readings; i++) {
		const struct reading *reading = card->readings[i];
		struct gathered *g = is_software(reading) ? figure_of(list, &n, reading) : NULL;

		if (g)
			add(arena, g, reading);
	}
	r->rows = arena_array(arena, (size_t)n + 1, sizeof(*r->rows));
	for (r->n = 0; r->n < n; r->n++)
		r->rows[r->n] = row_of(arena, &list[r->n]);
}

void readiness_words(struct str *out, const struct readiness_row *row)
{
	if (row->nodes > 1)
		msg_add(out, MSG_readiness_alike, row->text, tmpf("%d", row->alike),
		        tmpf("%d", row->nodes));
	else
		str_add(out, row->text);
	if (*row->others)
		str_addf(out, "; %s", row->others);
}

/* --- the gate ---------------------------------------------------------------------------- */

static const enum msg verdicts[GATED_VERDICTS] = {MSG_gate_same, MSG_gate_worse, MSG_gate_open};

static void add_baselines(struct str *out, const struct gated *g)
{
	for (int i = 0; i < g->n_baselines; i++)
		str_addf(out, "%s%s", i ? ", " : "", g->baselines[i]);
}

void gated_words(struct str *out, const struct gated *g)
{
	struct str names = {0};

	add_baselines(&names, g);
	msg_add(out, MSG_gated_verdict, msg_format(verdicts[g->verdict]), str_text(&names),
	        tmpf("%lld", (long long)g->compared));
	str_release(&names);
}

const char *gated_banner(const struct gated *g)
{
	struct str names = {0};
	const char *text;

	add_baselines(&names, g);
	text = say(MSG_gated_banner, words_shown(str_text(&names)),
	           msg_format(verdicts[g->verdict]));
	str_release(&names);
	return text;
}

const char *gated_what(const struct gated_line *line)
{
	static const enum msg titles[GATED_KINDS] = {
		MSG_gate_title_failures, MSG_gate_title_slower,   MSG_gate_title_lost,
		MSG_gate_title_unclear,  MSG_gate_title_software, MSG_gate_title_faster,
		MSG_gate_title_notes,
	};

	if (line->kind == GATED_SOFTWARE && line->breaks)
		return tmpf("%s, %s", msg_format(titles[line->kind]),
		            msg_format(MSG_gate_class_breaking));
	return msg_format(titles[line->kind]);
}

const char *gated_text(const struct gated_line *line)
{
	return line->text[msg_spoken()];
}

bool gated_fails(const struct gated_line *line)
{
	return line->kind == GATED_FAILURE || line->kind == GATED_SLOWER ||
	       (line->kind == GATED_SOFTWARE && line->breaks);
}

bool gated_is_open(const struct gated_line *line)
{
	return line->kind == GATED_LOST || line->kind == GATED_UNCLEAR;
}
