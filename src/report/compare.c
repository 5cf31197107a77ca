/* Figures of several runs and offers brought into one table. */
#include "report/compare.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "base/unit.h"
#include "report/groups.h"
#include "report/waived.h"
#include "report/words.h"
#include "stats/bootstrap.h"
#include "stats/samples.h"

#define SEED 0x636f6d70617265ull /* the same table every time */

/* --- rows ----------------------------------------------------------------------------- */

struct compare_row *compare_row_of(struct comparison *c, const char *criterion, const char *metric,
                                   const char *stat, const char *unit, enum better better)
{
	struct compare_row *row;

	for (int i = 0; i < c->n_rows; i++)
		if (strcmp(c->rows[i].metric, metric) == 0 && strcmp(c->rows[i].stat, stat) == 0) {
			if (!*c->rows[i].criterion)
				c->rows[i].criterion = arena_str(c->arena, criterion);
			return &c->rows[i];
		}
	if (c->n_rows == c->cap_rows) {
		int cap = c->cap_rows ? 2 * c->cap_rows : 64;
		struct compare_row *more = arena_array(c->arena, (size_t)cap, sizeof(*more));

		if (c->n_rows)
			memcpy(more, c->rows, (size_t)c->n_rows * sizeof(*more));
		c->rows = more;
		c->cap_rows = cap;
	}
	row = &c->rows[c->n_rows++];
	*row = (struct compare_row){
		.criterion = arena_str(c->arena, criterion),
		.metric = arena_str(c->arena, metric),
		.stat = arena_str(c->arena, stat),
		.unit = arena_str(c->arena, unit),
		.better = better,
		.cells = arena_array(c->arena, COMPARE_MOST, sizeof(*row->cells)),
		.stands = arena_array(c->arena, COMPARE_MOST, sizeof(*row->stands)),
	};
	return row;
}

/* --- a run ------------------------------------------------------------------------------ */

static bool counts(const struct finding *f)
{
	return f->has_value && !f->text && isfinite(f->value) && f->subjects == 1 &&
	       f->outcome == OUTCOME_MEASURED;
}

static int severity(enum verdict v)
{
	static const int order[VERDICTS] = {
		[VERDICT_PASS] = 0,         [VERDICT_NOT_APPLICABLE] = 0, [VERDICT_WARN] = 1,
		[VERDICT_INCONCLUSIVE] = 2, [VERDICT_TOO_FEW] = 2,        [VERDICT_TOO_SHORT] = 2,
		[VERDICT_STATED_ONLY] = 2,  [VERDICT_NOT_MEASURED] = 3,   [VERDICT_FAIL] = 4};

	return order[v];
}

/* Figures that are the same number for all sound hardware (a count of faults, a
 * share of agreement) tell nothing apart: rates, times and shares of them do. */
static void fill_cell(struct comparison *c, struct compare_row *row, const struct finding *first,
                      int64_t n)
{
	struct compare_cell *cell = &row->cells[c->n_columns];
	double *value = arena_array(c->arena, (size_t)n + 1, sizeof(*value));
	struct estimate e;
	size_t k = 0;

	if (cell->there) /* a second rule about the same figure */
		return;
	*cell = (struct compare_cell){.lo = NAN, .hi = NAN, .worst = NAN};
	for (int64_t i = 0; i < n; i++) {
		const struct finding *f = &first[i];

		if (severity(f->verdict) > severity(cell->verdict))
			cell->verdict = f->verdict;
		if (!counts(f))
			continue;
		if (k == 0) {
			cell->origin = f->origin;
			cell->lo = f->ci_lo;
			cell->hi = f->ci_hi;
			cell->worst = f->value;
		}
		value[k++] = f->value;
		cell->worst = row->better == BETTER_LOWER ? fmax(cell->worst, f->value)
		                                          : fmin(cell->worst, f->value);
	}
	if (!k)
		return;
	cell->there = true;
	cell->subjects = (int64_t)k;
	cell->value = median(value, k);
	if (k > 1)
		cell->lo = cell->hi = NAN;
	else
		cell->worst = NAN;
	if (k >= 3 && bootstrap_median(value, k, 1, SEED, &e) == ST_OK) {
		cell->lo = e.lo;
		cell->hi = e.hi;
	}
}

static void take_column(struct comparison *c, const struct scorecard *card, const char *name)
{
	struct compare_column *column = &c->columns[c->n_columns];
	struct criterion_result *criteria =
		arena_array(c->arena, (size_t)card->n_criteria + 1, sizeof(*criteria));

	*column = (struct compare_column){
		.name = arena_str(c->arena, name),
		.title = arena_str(c->arena, card->vendor ? card->vendor : name),
		.overall = card->simulated ? card->overall_if_measured : card->overall,
		.waivers = card->waivers_used,
		.simulated = card->simulated,
		.imported = card->imported,
		.altered = card->altered != NULL,
		.screen_only = card->screen_only,
		.cut = card->cut,
		.card = arena_str(c->arena, card->card),
		.profile = arena_str(c->arena, card->profile),
		.profile_sha256 = arena_str(c->arena, card->profile_sha256),
		.budget = arena_str(c->arena, card->budget),
		.version = arena_str(c->arena, card->version),
		.started = arena_str(c->arena, card->started),
		.nodes = card->expected_nodes,
		.cards = card->expected_cards,
		.criteria = criteria,
		.n_criteria = card->n_criteria,
	};
	for (int i = 0; i < card->n_criteria; i++) {
		criteria[i] = card->criteria[i];
		criteria[i].id = arena_str(c->arena, criteria[i].id);
		criteria[i].title = arena_str(c->arena, words_title(&criteria[i]));
		criteria[i].subjects = NULL;
	}
}

void compare_add_run(struct comparison *c, const struct scorecard *card, const char *name,
                     const struct metric_set *metrics)
{
	int64_t end;

	take_column(c, card, name);
	for (int64_t at = 0; at < card->n_findings; at = end) {
		const struct rule_info *rule = card->findings[at].rule;
		const struct metric *metric = metric_find(metrics, rule->metric, NULL);

		for (end = at + 1; end < card->n_findings && card->findings[end].rule == rule;)
			end++;
		if (rule->reading == RULE_LITERAL || !metric || metric->better == BETTER_NEITHER ||
		    strcmp(metric->unit, "text") == 0)
			continue;
		fill_cell(
			c,
			compare_row_of(c, rule->criterion, rule->metric, rule->stat, rule->unit,
		                       words_is_share(rule->stat) ? BETTER_LOWER : metric->better),
			&card->findings[at], end - at);
	}
	compare_take_software(c, card);
	c->n_columns++;
}

/* --- how they stand ------------------------------------------------------------------------ */

static bool better_than(const struct compare_row *row, double a, double b)
{
	return row->better == BETTER_LOWER ? a < b : a > b;
}

static bool has_interval(const struct compare_cell *cell)
{
	return isfinite(cell->lo) && isfinite(cell->hi);
}

static bool overlap(const struct compare_cell *a, const struct compare_cell *b)
{
	return a->lo <= b->hi && b->lo <= a->hi;
}

static void stand(struct comparison *c, struct compare_row *row)
{
	const struct compare_cell *best = NULL;
	int there = 0;
	bool alone = true;

	for (int i = 0; i < c->n_columns; i++) {
		const struct compare_cell *cell = &row->cells[i];

		there += cell->there;
		/* A declared figure is no yardstick. */
		if (cell->there && cell->origin != ORIGIN_DECLARED && has_interval(cell) &&
		    (!best || better_than(row, cell->value, best->value)))
			best = cell;
	}
	for (int i = 0; i < c->n_columns; i++) {
		const struct compare_cell *cell = &row->cells[i];

		row->stands[i] = !cell->there || there < 2                    ? STAND_NONE
		                 : !best || !has_interval(cell)               ? STAND_OPEN
		                 : cell == best                               ? STAND_BEST
		                 : overlap(cell, best)                        ? STAND_SAME
		                 : better_than(row, cell->value, best->value) ? STAND_OPEN
		                                                              : STAND_WORSE;
		alone = alone && row->stands[i] != STAND_SAME;
	}
	for (int i = 0; i < c->n_columns && !alone; i++)
		if (row->stands[i] == STAND_BEST)
			row->stands[i] = STAND_SAME;
}

/* --- order under a criterion ------------------------------------------------------------------ */

static const struct criterion_result *criterion_of(const struct compare_column *column,
                                                   const char *id)
{
	for (int i = 0; i < column->n_criteria; i++)
		if (strcmp(column->criteria[i].id, id) == 0)
			return &column->criteria[i];
	return NULL;
}

struct standing {
	bool counts;
	enum verdict verdict;
	int best, worse, of;
};

/* The verdict first; among equal verdicts, where one is told apart more often for
 * the better than another. */
static int order_of(const struct standing *a, const struct standing *b)
{
	if (severity(a->verdict) != severity(b->verdict))
		return severity(a->verdict) < severity(b->verdict) ? -1 : 1;
	return b->best - b->worse != a->best - a->worse
	               ? (b->best - b->worse < a->best - a->worse ? -1 : 1)
	               : 0;
}

static const char *verdict_words(const struct comparison *c, int column,
                                 const struct compare_order *o)
{
	const struct criterion_result *r = criterion_of(&c->columns[column], o->criterion);
	const char *words = words_verdict(criterion_unwaived(r));

	return r->waived ? tmpf("%s, %s", words, say(MSG_waived_count, words_count(r->waived)))
	                 : words;
}

static void order(struct comparison *c, struct compare_order *o)
{
	struct standing all[COMPARE_MOST] = {0};

	o->place = arena_array(c->arena, COMPARE_MOST, sizeof(*o->place));
	o->why = arena_array(c->arena, COMPARE_MOST, sizeof(*o->why));
	for (int i = 0; i < c->n_columns; i++) {
		const struct criterion_result *r = criterion_of(&c->columns[i], o->criterion);

		if (!r)
			continue;
		all[i].verdict = criterion_unwaived(r);
		all[i].counts = r->coverage.tested > 0;
		for (int k = 0; k < c->n_rows; k++)
			if (strcmp(c->rows[k].criterion, o->criterion) == 0) {
				all[i].best += c->rows[k].stands[i] == STAND_BEST;
				all[i].worse += c->rows[k].stands[i] == STAND_WORSE;
				all[i].of += c->rows[k].stands[i] != STAND_NONE;
			}
	}
	for (int i = 0; i < c->n_columns; i++) {
		if (!all[i].counts) {
			o->why[i] = msg_format(c->columns[i].offer ? MSG_compare_declared
			                                           : MSG_compare_untested);
			continue;
		}
		o->place[i] = 1;
		for (int k = 0; k < c->n_columns; k++)
			o->place[i] += all[k].counts && order_of(&all[k], &all[i]) < 0;
		o->why[i] =
			arena_str(c->arena, say(MSG_compare_why, verdict_words(c, i, o),
		                                tmpf("%d", all[i].best), tmpf("%d", all[i].worse),
		                                tmpf("%d", all[i].of)));
	}
}

static void orders(struct comparison *c)
{
	c->orders = arena_array(c->arena, 64, sizeof(*c->orders));
	for (int i = 0; i < c->n_columns; i++)
		for (int k = 0; k < c->columns[i].n_criteria; k++) {
			const struct criterion_result *r = &c->columns[i].criteria[k];
			bool known = false;

			for (int m = 0; m < c->n_orders; m++)
				known = known || strcmp(c->orders[m].criterion, r->id) == 0;
			if (!known && c->n_orders < 64)
				c->orders[c->n_orders++] = (struct compare_order){
					.criterion = r->id, .title = r->title};
		}
	for (int i = 0; i < c->n_orders; i++)
		order(c, &c->orders[i]);
}

/* --- warnings ------------------------------------------------------------------------------------ */

static bool differs(const char *a, const char *b)
{
	return a && b && strcmp(a, b) != 0;
}

static void warn(struct comparison *c, const char **list, int *n, const char *text)
{
	for (int i = 0; i < *n; i++)
		if (strcmp(list[i], text) == 0)
			return;
	list[(*n)++] = arena_str(c->arena, text);
}

static void warn_of_one(struct comparison *c, const struct compare_column *x, const char **list,
                        int *n)
{
	if (x->waivers)
		warn(c, list, n, say(MSG_compare_waivers, x->name, tmpf("%d", x->waivers)));
}

/* What is true of several is said once, with their names. */
static void warn_of_all(struct comparison *c, const char **list, int *n)
{
	static const struct {
		size_t at; /* of a bool in the column */
		enum msg what;
	} all[] = {
		{offsetof(struct compare_column, offer), MSG_compare_offer},
		{offsetof(struct compare_column, simulated), MSG_compare_simulated},
		{offsetof(struct compare_column, imported), MSG_compare_imported},
		{offsetof(struct compare_column, altered), MSG_compare_altered},
		{offsetof(struct compare_column, cut), MSG_compare_cut},
	};

	for (size_t k = 0; k < sizeof(all) / sizeof(*all); k++) {
		struct str names = {0};

		for (int i = 0; i < c->n_columns; i++)
			if (*(const bool *)((const char *)&c->columns[i] + all[k].at))
				str_addf(&names, "%s%s", names.len ? ", " : "", c->columns[i].name);
		if (names.len)
			warn(c, list, n, say(all[k].what, str_text(&names)));
		str_release(&names);
	}
}

static void warn_of_two(struct comparison *c, const struct compare_column *a,
                        const struct compare_column *b, const char **list, int *n)
{
	if (differs(a->card, b->card))
		warn(c, list, n, say(MSG_compare_cards, a->name, a->card, b->name, b->card));
	if (differs(a->budget, b->budget))
		warn(c, list, n, say(MSG_compare_budgets, a->name, a->budget, b->name, b->budget));
	if (differs(a->profile_sha256, b->profile_sha256))
		warn(c, list, n,
		     say(MSG_compare_profiles, a->name,
		         tmpf("%s %.8s", a->profile, a->profile_sha256), b->name,
		         tmpf("%s %.8s", b->profile, b->profile_sha256)));
	if (differs(a->version, b->version))
		warn(c, list, n,
		     say(MSG_compare_versions, a->name, a->version, b->name, b->version));
	if (!a->offer && !b->offer && a->nodes > 0 && b->nodes > 0 && a->nodes != b->nodes)
		warn(c, list, n,
		     say(MSG_compare_sizes, a->name, words_count(a->nodes), b->name,
		         words_count(b->nodes)));
}

void compare_finish(struct comparison *c)
{
	const char **list = arena_array(c->arena, 6 * COMPARE_MOST * 2 + 1, sizeof(*list));
	int n = 0;

	for (int i = 0; i < c->n_rows; i++)
		stand(c, &c->rows[i]);
	orders(c);
	warn_of_all(c, list, &n);
	for (int i = 0; i < c->n_columns; i++) {
		warn_of_one(c, &c->columns[i], list, &n);
		if (i)
			warn_of_two(c, &c->columns[0], &c->columns[i], list, &n);
	}
	c->warnings = list;
}

/* --- words ------------------------------------------------------------------------------------------ */

void compare_cell_words(struct str *out, const struct compare_row *row,
                        const struct compare_cell *cell)
{
	const struct rule_info rule = {.stat = row->stat, .unit = row->unit};
	struct str range = {0};

	if (!cell->there)
		return;
	if (cell->origin == ORIGIN_DECLARED && has_interval(cell)) {
		words_range(out, words_value(&rule, cell->lo), words_value(&rule, cell->hi));
		return;
	}
	str_add(out, words_value(&rule, cell->value));
	if (has_interval(cell) && cell->hi > cell->lo) {
		words_range(&range, words_value(&rule, cell->lo), words_value(&rule, cell->hi));
		str_addf(out, " (%s)", range.data);
	}
	str_release(&range);
}

const char *compare_stand_name(enum compare_stand stand)
{
	static const char *const names[] = {[STAND_NONE] = "none",
	                                    [STAND_BEST] = "best",
	                                    [STAND_SAME] = "not_told_apart",
	                                    [STAND_WORSE] = "worse",
	                                    [STAND_OPEN] = "no_interval"};

	return names[stand];
}
