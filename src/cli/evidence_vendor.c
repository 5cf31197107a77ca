/* The vendor's own measured report: files that assay import reads, or a run that was
 * imported. That there is one, with compute rates of cards, is a fact; its figures stay the
 * vendor's and are never judged as ours. Where both measured the same, ours over theirs
 * is the second reading. */
#include "cli/evidence_vendor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "import/import.h"
#include "stats/samples.h"

#define NODE "vendor" /* whom files are about that do not say it */

struct report {
	struct evidence *e;
	const struct reading **list; /* compute rates, malloc */
	size_t n;
	int64_t figures; /* all that were read */
	struct str tools;
};

static const struct metric *metric_named(const char *name)
{
	return metric_find(cli_metrics(), name, NULL);
}

/* Rates of floating point work of a card, whoever's tool they are from. */
static bool is_compute(const struct reading *r)
{
	return r->subject.kind == SUBJECT_CARD && r->outcome == OUTCOME_MEASURED &&
	       r->value_kind == VALUE_NUMBER && r->value > 0 && r->unit &&
	       (strcmp(r->unit, "TFLOP/s") == 0 || strcmp(r->unit, "GFLOP/s") == 0);
}

static void take(struct report *p, const struct reading *r)
{
	p->figures++;
	if (!is_compute(r))
		return;
	p->list = reallocarray(p->list, p->n + 1, sizeof(*p->list));
	if (!p->list)
		die_nomem();
	p->list[p->n++] = r;
}

static void note_tool(struct report *p, const char *tool)
{
	if (!word_in(str_text(&p->tools), tool))
		str_addf(&p->tools, "%s%s", p->tools.len ? "|" : "", tool);
}

/* --- where it is ------------------------------------------------------------------------ */

static enum status read_file(struct report *p, const char *path, struct error *err)
{
	struct import in = {.arena = p->e->arena, .metric = metric_named, .node = NODE};
	struct str text = {0};
	enum status st = file_read(&text, path, IMPORT_FILE_MAX, err);

	if (st == ST_OK)
		st = import_text(&in, path, str_text(&text), text.len, err);
	for (int64_t i = 0; i < in.n && st == ST_OK; i++)
		take(p, &in.readings[i]);
	if (st == ST_OK)
		note_tool(p, in.tool);
	str_release(&text);
	return st == ST_OK ? evidence_note_file(p->e, "vendor report", path, err) : st;
}

/* Its readings live as long as the run that was opened: copied into the arena of ours
 * as far as they are looked at. */
static void take_copy(struct report *p, const struct reading *r)
{
	struct reading *copy = arena_alloc(p->e->arena, sizeof(*copy));

	*copy = *r;
	copy->node = arena_str(p->e->arena, r->node);
	copy->metric = arena_str(p->e->arena, r->metric);
	copy->unit = arena_str(p->e->arena, r->unit);
	copy->subject.id = arena_str(p->e->arena, r->subject.id);
	note_tool(p, r->probe);
	take(p, copy);
}

static enum status read_run(struct report *p, const char *path, struct error *err)
{
	static const char *const parts[] = {"run.json", "readings.jsonl"};
	struct str file = {0};
	struct rundir run;
	int64_t imported = 0;
	enum status st = rundir_open(&run, path, RUNDIR_CHAIN, err);

	if (st != ST_OK)
		return st;
	for (int64_t i = 0; i < run.n_readings; i++)
		if (run.readings[i].origin == ORIGIN_IMPORTED) {
			take_copy(p, &run.readings[i]);
			imported++;
		}
	if (!imported)
		st = error_set(err, ST_USAGE, MSG_vendor_report_run, path);
	else if (run.state == JOURNAL_ALTERED)
		st = error_set(err, ST_CORRUPT, MSG_path_error, path, run.trouble);
	for (int i = 0; i < 2 && st == ST_OK; i++)
		st = evidence_note_file(p->e, "vendor report",
		                        arena_str(p->e->arena, path_join(&file, path, parts[i])),
		                        err);
	rundir_close(&run);
	str_release(&file);
	return st;
}

static enum status read_all(struct report *p, struct error *err)
{
	int n;
	const char *const *paths = option_list(p->e->options, "vendor-report", &n);
	enum status st = ST_OK;

	for (int i = 0; i < n && st == ST_OK; i++) {
		struct stat at;
		bool folder = stat(paths[i], &at) == 0 && S_ISDIR(at.st_mode);

		st = folder ? read_run(p, paths[i], err) : read_file(p, paths[i], err);
	}
	return st;
}

/* --- what it shows ------------------------------------------------------------------------ */

static int64_t cards_of(const struct report *p)
{
	int64_t cards = 0;

	for (size_t i = 0; i < p->n; i++) {
		bool again = false;

		for (size_t k = 0; k < i && !again; k++)
			again = strcmp(p->list[k]->subject.id, p->list[i]->subject.id) == 0 &&
			        strcmp(p->list[k]->node, p->list[i]->node) == 0;
		cards += !again;
	}
	return cards;
}

static void add_presence(struct report *p)
{
	struct reading r = evidence_reading(p->e, "vendor report", "claim_compute_report");
	struct arena *arena = p->e->arena;

	if (p->n) {
		r.value_kind = VALUE_TEXT;
		r.text = arena_strf(arena, "%zu compute rates of %lld cards (%s)", p->n,
		                    (long long)cards_of(p), str_text(&p->tools));
	} else {
		const char **args = arena_array(arena, 3, sizeof(*args));
		struct str text = {0};

		args[0] = arena_str(arena, str_text(&p->tools));
		args[1] = arena_strf(arena, "%lld", (long long)p->figures);
		msg_add_list(&text, MSG_vendor_report_no_compute, args);
		r.origin = ORIGIN_DECLARED;
		r.outcome = OUTCOME_NOT_MEASURED;
		r.reason = (struct reason){msg_name(MSG_vendor_report_no_compute), args, 2,
		                           arena_str(arena, str_text(&text))};
		str_release(&text);
	}
	evidence_add(p->e, &r);
}

/* Median of ours over all cards; NaN: not measured. */
static double ours(const struct report *p, const char *metric, bool *simulated)
{
	struct samples s = {0};
	double middle;

	for (int64_t i = 0; p->e->run && i < p->e->run->n_readings; i++) {
		const struct reading *r = &p->e->run->readings[i];

		if (strcmp(r->metric, metric) != 0 || !is_compute(r) ||
		    (r->origin != ORIGIN_MEASURED && r->origin != ORIGIN_SIMULATED))
			continue;
		*simulated = *simulated || r->origin == ORIGIN_SIMULATED;
		samples_add(&s, r->value);
	}
	middle = s.n ? median(s.value, s.n) : NAN;
	samples_release(&s);
	return middle;
}

static double theirs(const struct report *p, const char *metric)
{
	struct samples s = {0};
	double middle;

	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->list[i]->metric, metric) == 0)
			samples_add(&s, p->list[i]->value);
	middle = median(s.value, s.n);
	samples_release(&s);
	return middle;
}

/* Each metric once: a report has thousands of cards. */
static bool first_of(const struct report *p, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(p->list[k]->metric, p->list[i]->metric) == 0)
			return false;
	return true;
}

static void add_ratio(struct report *p)
{
	struct reading r = evidence_reading(p->e, "vendor report", "vendor_report_ratio");
	bool simulated = false;
	double worst = NAN;

	for (size_t i = 0; i < p->n; i++) {
		const char *metric = p->list[i]->metric;

		if (!first_of(p, i))
			continue;
		worst = fmin(worst, ours(p, metric, &simulated) / theirs(p, metric));
	}
	if (isfinite(worst)) {
		r.value_kind = VALUE_NUMBER;
		r.value = worst;
		r.origin = simulated ? ORIGIN_SIMULATED : ORIGIN_MEASURED;
	} else {
		r.outcome = OUTCOME_NOT_MEASURED;
		r.reason = (struct reason){
			msg_name(MSG_vendor_report_not_compared), NULL, 0,
			arena_str(p->e->arena, msg_format(MSG_vendor_report_not_compared))};
	}
	evidence_add(p->e, &r);
}

enum status evidence_vendor_report(struct evidence *e, struct error *err)
{
	struct report p = {.e = e};
	enum status st = read_all(&p, err);

	if (st == ST_OK) {
		add_presence(&p);
		if (p.n)
			add_ratio(&p);
	}
	free(p.list);
	str_release(&p.tools);
	return st;
}
