/* Readings of a run beside those of its baselines, by metric and operating point. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/unit.h"
#include "gate/gate.h"
#include "gate/noise.h"

/* Readings of one run sorted by metric, point and subject. */
struct sorted {
	const struct reading **reading;
	int64_t n, at; /* at: begin of the group that is looked at */
};

static int compare_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "");
}

static int by_group(const struct reading *x, const struct reading *y)
{
	int c = strcmp(x->metric, y->metric);

	return c ? c : compare_text(x->point, y->point);
}

static int by_subject(const void *a, const void *b)
{
	const struct reading *x = *(const struct reading *const *)a;
	const struct reading *y = *(const struct reading *const *)b;
	int c = by_group(x, y);

	if (!c)
		c = compare_text(x->subject.id, y->subject.id);
	if (!c)
		c = compare_text(x->node, y->node);
	return c ? c : (x->seq > y->seq) - (x->seq < y->seq);
}

static struct sorted sort_run(struct gate *g, struct rundir *run)
{
	struct effective e = rundir_effective(run);
	struct sorted s = {.n = e.count};

	s.reading = arena_array(g->arena, (size_t)e.count + 1, sizeof(*s.reading));
	memcpy(s.reading, e.readings, (size_t)e.count * sizeof(*s.reading));
	qsort(s.reading, (size_t)s.n, sizeof(*s.reading), by_subject);
	return s;
}

/* Moves s->at to the group of `like`; *end behind it. */
static int64_t group_of(struct sorted *s, const struct reading *like)
{
	int64_t end;

	while (s->at < s->n && by_group(s->reading[s->at], like) < 0)
		s->at++;
	for (end = s->at; end < s->n && by_group(s->reading[end], like) == 0; end++)
		;
	return end;
}

/* --- one group -------------------------------------------------------------------------- */

struct tally {
	int64_t measured, failed, missing; /* readings by what came of them */
	const struct reading *failure, *absent;
};

static struct tally tally_of(const struct sorted *s, int64_t end)
{
	struct tally t = {0};

	for (int64_t i = s->at; i < end; i++) {
		const struct reading *r = s->reading[i];
		bool failed = r->outcome == OUTCOME_FAILED || r->outcome == OUTCOME_TIMED_OUT ||
		              r->outcome == OUTCOME_LOST;

		t.measured += r->outcome == OUTCOME_MEASURED;
		t.failed += failed;
		t.missing += !failed && r->outcome != OUTCOME_MEASURED;
		if (failed && !t.failure)
			t.failure = r;
		if (!failed && r->outcome != OUTCOME_MEASURED && !t.absent)
			t.absent = r;
	}
	return t;
}

static const char *name_of(const struct reading *r)
{
	return r->point ? tmpf("%s (%s)", r->metric, r->point) : r->metric;
}

static bool is_figure(const struct reading *r)
{
	return r->outcome == OUTCOME_MEASURED && r->value_kind == VALUE_NUMBER && r->value > 0 &&
	       r->better != BETTER_NEITHER && r->origin != ORIGIN_DECLARED;
}

/* By the windows behind the value: cv^2 / n, autocorrelation taken off n; 1.57 is what
 * a median costs against a mean. */
static void take_windows(struct noise_sample *s, const struct reading *r)
{
	double n = r->stats[STAT_N], cv = r->stats[STAT_CV], r1 = r->stats[STAT_AC1];

	s->variance = NAN;
	s->df = 0;
	if (!(n >= 3) || !(cv > 0))
		return;
	r1 = r1 > 0 ? fmin(r1, 0.99) : 0;
	n = fmax(n * (1 - r1) / (1 + r1), 2);
	s->variance = 1.57 * cv * cv / n;
	s->df = n - 1;
}

static struct noise_run samples_of(struct arena *arena, const struct sorted *s, int64_t end)
{
	struct noise_sample *list = arena_array(arena, (size_t)(end - s->at) + 1, sizeof(*list));
	struct noise_run run = {.sample = list};

	for (int64_t i = s->at; i < end; i++) {
		const struct reading *r = s->reading[i];
		struct noise_sample *x = &list[run.n];

		if (!is_figure(r))
			continue;
		*x = (struct noise_sample){.id = r->subject.id ? r->subject.id : "",
		                           .value = r->value};
		take_windows(x, r);
		run.n++;
	}
	return run;
}

static const char *percent(double share)
{
	return tmpf("%.2g", 100 * share);
}

static void say_figure(struct gate *g, const struct reading *r, const struct noise_result *n,
                       double tolerance)
{
	const char *now = fmt_measure(n->now, r->unit), *base = fmt_measure(n->base, r->unit);
	const char *by = percent(fabs(n->ratio - 1));
	const char *lo = tmpf("%+.2g", 100 * (n->lo - 1)), *hi = tmpf("%+.2g", 100 * (n->hi - 1));
	const char *name = name_of(r);

	if (n->verdict == NOISE_WORSE)
		gate_add(g, GATE_SLOWER, GATE_WATCH, name,
		         say(MSG_gate_slower, name, now, base, by, lo, hi, percent(tolerance)));
	if (n->verdict == NOISE_UNKNOWN)
		gate_add(g, GATE_UNCLEAR, GATE_WATCH, name,
		         say(MSG_gate_unclear, name, now, base, by));
	if (n->verdict == NOISE_BETTER)
		gate_add(g, GATE_FASTER, GATE_WATCH, name,
		         say(MSG_gate_faster, name, now, base, by, lo, hi));
}

/* --- all groups --------------------------------------------------------------------------- */

struct groups {
	struct gate *g;
	struct sorted now, base[GATE_BASELINES];
	int64_t now_end, base_end[GATE_BASELINES];
	bool counting; /* first pass: how many figures there are to compare */
	int figures;
	int common; /* metrics measured in both, words too */
	struct arena scratch;
};

static void compare_figures(struct groups *x, const struct reading *like)
{
	struct noise_run base[GATE_BASELINES], now = samples_of(&x->scratch, &x->now, x->now_end);
	struct gate_tolerance t = gate_tolerance_of(x->g->rules, like->metric);
	struct noise_limits limits = {.higher_better = like->better == BETTER_HIGHER,
	                              .tolerance = t.tolerance,
	                              .run_to_run = t.run_to_run,
	                              .alpha = GATE_FALSE / (x->figures ? x->figures : 1)};
	struct noise_result result;
	int n = 0;

	for (int b = 0; b < x->g->n_base && now.n; b++) {
		base[n] = samples_of(&x->scratch, &x->base[b], x->base_end[b]);
		n += base[n].n > 0;
	}
	if (!now.n || !n)
		return;
	if (x->counting) {
		x->figures++;
		return;
	}
	noise_compare(&now, base, n, &limits, &result);
	say_figure(x->g, like, &result, t.tolerance);
}

static void compare_outcomes(struct groups *x, const struct reading *like)
{
	struct tally now = tally_of(&x->now, x->now_end);
	bool fails;
	int with = 0, failing = 0, whole = 0;
	const char *name = name_of(like);

	for (int b = 0; b < x->g->n_base; b++) {
		struct tally t = tally_of(&x->base[b], x->base_end[b]);

		with += t.measured > 0;
		failing += t.failed > 0;
		whole += t.measured > 0 && !t.missing && !t.failed;
	}
	x->common += now.measured && with;
	fails = now.failure && !failing;
	if (fails) /* what no baseline measured may have failed there too */
		gate_add(x->g, with ? GATE_FAILURE : GATE_UNCLEAR, GATE_WATCH, name,
		         say(with ? MSG_gate_failure : MSG_gate_fails_first, name,
		             now.failure->subject.id ? now.failure->subject.id : now.failure->node,
		             now.failure->reason.text ? now.failure->reason.text : "?"));
	if (with < x->g->n_base || now.failed)
		return;
	if (!now.measured)
		gate_add(x->g, GATE_LOST, GATE_WATCH, name,
		         say(MSG_gate_lost, name,
		             now.absent && now.absent->reason.text ? now.absent->reason.text
		                                                   : say(MSG_gate_gone)));
	else if (now.missing && whole == x->g->n_base)
		gate_add(x->g, GATE_LOST, GATE_WATCH, name,
		         say(MSG_gate_fewer, name, tmpf("%lld", (long long)now.measured),
		             tmpf("%lld", (long long)(now.measured + now.missing))));
}

/* The next group of any of the runs; NULL: all are through. */
static const struct reading *next_group(struct groups *x)
{
	const struct reading *least = x->now.at < x->now.n ? x->now.reading[x->now.at] : NULL;

	for (int b = 0; b < x->g->n_base; b++) {
		const struct sorted *s = &x->base[b];

		if (s->at < s->n && (!least || by_group(s->reading[s->at], least) < 0))
			least = s->reading[s->at];
	}
	return least;
}

static void walk(struct groups *x)
{
	const struct reading *like;

	x->now.at = 0;
	for (int b = 0; b < x->g->n_base; b++)
		x->base[b].at = 0;
	while ((like = next_group(x))) {
		x->now_end = group_of(&x->now, like);
		for (int b = 0; b < x->g->n_base; b++)
			x->base_end[b] = group_of(&x->base[b], like);
		compare_figures(x, like);
		if (!x->counting)
			compare_outcomes(x, like);
		x->now.at = x->now_end;
		for (int b = 0; b < x->g->n_base; b++)
			x->base[b].at = x->base_end[b];
		arena_reset(&x->scratch);
	}
}

enum status gate_figures(struct gate *g, struct error *err)
{
	struct groups *x = arena_alloc(g->arena, sizeof(*x));

	x->g = g;
	x->now = sort_run(g, g->now);
	for (int b = 0; b < g->n_base; b++)
		x->base[b] = sort_run(g, &g->base[b]);
	/* The more figures are compared, the surer each has to be. */
	x->counting = true;
	walk(x);
	x->counting = false;
	walk(x);
	arena_release(&x->scratch);
	g->compared = x->figures;
	if (!x->common)
		return error_set(err, ST_USAGE, MSG_gate_no_common, g->now->path, g->base[0].path);
	return ST_OK;
}
