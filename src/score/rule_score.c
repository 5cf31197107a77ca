/* One rule over all subjects it is owed for. Every subject owed ends in
 * exactly one finding, or in the figure its scope makes of many; those without
 * a reading become findings too, gathered per node where they have no name. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "score/judging.h"
#include "score/pairs.h"

/* One pass over a rule. */
struct pass {
	struct judging *j;
	struct resolved *rr;
	int rule;
	struct sample *samples; /* scope other than each */
	int64_t n_samples, cap_samples;
	int64_t missing;        /* subjects owed that are in no sample */
	int64_t unmet, unknown; /* subjects for which `when` fails, is not known */
	const char *unmet_why, *unknown_why;
	/* Per node; spanning subjects use none of it. */
	int64_t *met; /* subjects with a reading */
	const struct entry **star;
	const struct entry *star_spanning;
};

/* --- one subject ------------------------------------------------------------------ */

static struct finding blank(const struct resolved *rr)
{
	return (struct finding){
		.rule = rr->info,
		.subject = {.kind = rr->rule->metric->subject, .index = -1},
		.verdict = VERDICT_NOT_MEASURED,
		.outcome = OUTCOME_NOT_MEASURED,
		.value = NAN,
		.limit = NAN,
		.ci_lo = NAN,
		.ci_hi = NAN,
		.resolution = NAN,
		.subjects = 1,
	};
}

struct finding *finding_add(struct judging *j, const struct resolved *rr)
{
	if (j->n_findings == j->cap_findings) {
		j->cap_findings = j->cap_findings ? j->cap_findings * 2 : 1024;
		j->findings = realloc(j->findings, (size_t)j->cap_findings * sizeof(*j->findings));
		if (!j->findings)
			die_nomem();
	}
	j->findings[j->n_findings] = blank(rr);
	return &j->findings[j->n_findings++];
}

static void add_sample(struct pass *p, const struct entry *e, const struct finding *f)
{
	if (p->n_samples == p->cap_samples) {
		p->cap_samples = p->cap_samples ? p->cap_samples * 2 : 256;
		p->samples = realloc(p->samples, (size_t)p->cap_samples * sizeof(*p->samples));
		if (!p->samples)
			die_nomem();
	}
	p->samples[p->n_samples++] = (struct sample){*e, f->value, f->text};
}

static void keep(struct pass *p, const struct finding *f)
{
	if (f->verdict != VERDICT_NOT_APPLICABLE)
		p->missing++;
	*finding_add(p->j, p->rr) = *f;
}

/* Several readings of one subject (other parameters, no operating point
 * chosen): the worst stands. */
static bool worse(const struct resolved *rr, const struct finding *a, const struct finding *b)
{
	int x = verdict_severity(a->verdict), y = verdict_severity(b->verdict);

	if (x != y)
		return x > y;
	return a->has_value && b->has_value && figure_worse(rr, a->value, b->value);
}

/* `settled`: a finding that stands already, or NULL. */
static void judge_each(struct pass *p, const struct entry *e, int64_t n,
                       const struct finding *settled)
{
	struct finding worst = settled ? *settled : blank(p->rr);

	for (int64_t i = 0; i < n; i++) {
		struct finding f = blank(p->rr);

		if (judge_take(p->j, p->rr, &e[i], &f))
			judge_compare(p->j, p->rr, &e[i], &f);
		if (f.verdict == VERDICT_PASS && f.recovered) {
			f.verdict = VERDICT_WARN;
			f.reason = judging_reason(p->j, MSG_recovered, tmpf("%d", f.attempt));
		}
		if ((i == 0 && !settled) || worse(p->rr, &f, &worst))
			worst = f;
	}
	keep(p, &worst);
}

static void judge_sample(struct pass *p, const struct entry *e, int64_t n,
                         const struct finding *settled)
{
	struct finding worst = settled ? *settled : blank(p->rr), taken = blank(p->rr);
	const struct entry *sample = NULL;
	bool any = settled != NULL;

	for (int64_t i = 0; i < n; i++) {
		struct finding f = blank(p->rr);

		if (!judge_take(p->j, p->rr, &e[i], &f)) {
			if (!any || worse(p->rr, &f, &worst))
				worst = f;
			any = true;
		} else if (!sample || (f.has_value && figure_worse(p->rr, f.value, taken.value))) {
			sample = &e[i];
			taken = f;
		}
	}
	if (sample && (!any || worst.verdict == VERDICT_NOT_APPLICABLE))
		add_sample(p, sample, &taken);
	else
		keep(p, &worst);
}

/* The readings at the operating point: one of each node that looked at the
 * subject. Returns how many; what has no such point is settled in *bad. */
static int64_t take_points(struct pass *p, const struct entry *e, int64_t n, struct entry *out,
                           struct finding *bad, bool *any_bad)
{
	struct judging *j = p->j;
	int64_t count = 0;

	j->mark++;
	for (int64_t i = 0; i < n; i++) {
		struct finding f = blank(p->rr);

		if (j->node_mark[e[i].node + 1] == j->mark)
			continue;
		j->node_mark[e[i].node + 1] = j->mark;
		f.subject = e[i].reading->subject;
		f.node = j->index.subjects[e[i].subject].node_name;
		if (point_choose(j, p->rr, &e[i], &out[count], &f)) {
			count++;
		} else if (!*any_bad || worse(p->rr, &f, bad)) {
			*bad = f;
			*any_bad = true;
		}
	}
	return count;
}

static void judge_subject(struct pass *p, const struct entry *e, int64_t n)
{
	struct finding bad = blank(p->rr);
	bool pair = p->rr->rule->metric->subject == SUBJECT_PAIR && n > 1;
	struct entry *chosen = NULL;
	bool any_bad = false;

	p->j->stamp[e->subject] = p->rule + 1;
	if (p->rr->rule->at_point || pair) {
		chosen = malloc((size_t)n * sizeof(*chosen));
		if (!chosen)
			die_nomem();
		n = p->rr->rule->at_point ? take_points(p, e, n, chosen, &bad, &any_bad)
		                          : pairs_join(e, n, chosen);
		e = chosen;
	}
	if (p->rr->rule->scope == SCOPE_EACH)
		judge_each(p, e, n, any_bad ? &bad : NULL);
	else
		judge_sample(p, e, n, any_bad ? &bad : NULL);
	free(chosen);
}

/* --- subjects without a reading --------------------------------------------------- */

/* A paper that must exist and was not given: what it would show is only stated. */
static bool only_a_word(const struct pass *p)
{
	return p->rr->rule->metric->backend == BACKEND_EVIDENCE && p->rr->rule->must_exist;
}

static struct reason absence(struct pass *p)
{
	const struct run_info *info = &p->j->run->info;
	const char *metric = p->rr->rule->metric->name;

	if (p->rr->rule->planned)
		return judging_reason(p->j, MSG_no_probe_yet);
	if (only_a_word(p))
		return judging_reason_list(p->j, MSG_paper_none, (const char *const[]){NULL});
	if (p->rr->rule->metric->backend == BACKEND_EVIDENCE)
		return judging_reason(p->j, MSG_no_evidence, metric);
	/* Of a metric that others have, this subject was not left out by a choice. */
	if (!p->rr->series && (info->n_only || info->n_skip))
		return judging_reason(p->j, MSG_not_selected, metric);
	return judging_reason(p->j, MSG_no_reading, metric);
}

static struct finding *add_missing(struct pass *p, const char *node, int64_t count,
                                   struct reason reason)
{
	struct finding *f = finding_add(p->j, p->rr);

	f->subject.id = f->subject.kind == SUBJECT_NODE && node ? node : "*";
	f->node = node;
	f->subjects = count;
	f->reason = reason;
	p->missing += count;
	return f;
}

/* "Unsupported" said once for a whole node holds for the cards that were
 * seen; it cannot excuse those that were promised and never appeared. */
static bool excuses(const struct judging *j, const struct resolved *rr, int node, bool seen)
{
	enum subject_kind kind = rr->rule->metric->subject;
	int64_t stated = j->run->info.expected_cards;

	if (kind == SUBJECT_CARD)
		return seen;
	if (kind == SUBJECT_LINK)
		return j->index.nodes[node].n_cards > 0 && j->index.nodes[node].n_cards >= stated;
	return true;
}

/* `subject`: a card that was seen, or NULL for `count` unnamed ones. */
static void miss(struct pass *p, int node, const struct subject *subject, int64_t count, bool seen)
{
	const struct entry *star = p->star[node];
	const char *name = p->j->index.nodes[node].name;
	struct finding *f;

	if (star) {
		f = add_missing(p, name, count, (struct reason){0});
		judge_take(p->j, p->rr, star, f);
		if (f->verdict == VERDICT_NOT_APPLICABLE && !excuses(p->j, p->rr, node, seen))
			f->verdict = VERDICT_NOT_MEASURED;
		if (f->verdict == VERDICT_NOT_APPLICABLE)
			p->missing -= count;
		f->has_value = false;
		f->value = NAN;
		f->text = NULL;
	} else if (p->rr->rule->metric->subject == SUBJECT_CARD && !seen && !p->rr->rule->planned) {
		f = add_missing(p, name, count,
		                judging_reason(p->j, MSG_cards_not_seen,
		                               tmpf("%lld", (long long)count),
		                               tmpf("%lld", (long long)due_cards(p->j, node))));
	} else {
		f = add_missing(p, name, count, absence(p));
	}
	if (subject)
		f->subject = *subject;
	else if (f->subject.kind == SUBJECT_NODE)
		f->subject.id = name;
}

static void miss_cards(struct pass *p, int node)
{
	const struct node_entry *n = &p->j->index.nodes[node];
	int64_t unseen = due_cards(p->j, node) - n->n_cards, missing = 0;

	for (int i = 0; i < n->n_cards; i++) {
		if (p->j->stamp[n->cards[i]] == p->rule + 1)
			continue;
		if (p->met[node])
			miss(p, node, p->j->index.subjects[n->cards[i]].subject, 1, true);
		else
			missing++;
	}
	if (missing)
		miss(p, node, NULL, missing, true);
	if (unseen > 0)
		miss(p, node, NULL, unseen, false);
}

/* --- whether it applies ----------------------------------------------------------- */

/* True: go on judging. Otherwise `count` subjects are set aside. */
static bool applies(struct pass *p, int node, int64_t count)
{
	const char *why;

	switch (when_holds(p->j, p->rr->rule, node, &why)) {
	case HOLDS_YES:
		return true;
	case HOLDS_NO:
		p->unmet += count;
		if (!p->unmet_why)
			p->unmet_why = arena_str(&p->j->scratch, why);
		return false;
	case HOLDS_UNKNOWN:
		break;
	}
	p->unknown += count;
	if (!p->unknown_why)
		p->unknown_why = arena_str(&p->j->scratch, why);
	return false;
}

static void add_set_aside(struct pass *p)
{
	if (p->unmet) {
		struct finding *f = add_missing(p, NULL, p->unmet,
		                                judging_reason(p->j, MSG_when_unmet, p->unmet_why));

		f->subject.id = "*";
		f->verdict = VERDICT_NOT_APPLICABLE;
		p->missing -= p->unmet;
	}
	if (p->unknown)
		add_missing(p, NULL, p->unknown,
		            judging_reason(p->j, MSG_when_unknown, p->unknown_why));
}

/* --- subjects of nodes ------------------------------------------------------------ */

static bool is_worse_star(const struct entry *a, const struct entry *b)
{
	return !b || a->reading->outcome > b->reading->outcome;
}

/* The entries of one subject from `at` on; returns how many. */
static int64_t group_len(const struct series *s, int64_t at)
{
	int64_t end = at + 1;

	while (end < s->n && s->entries[end].subject == s->entries[at].subject)
		end++;
	return end - at;
}

static int64_t owed_by(const struct pass *p, int node)
{
	int64_t owed = p->rr->rule->metric->subject == SUBJECT_CARD ? due_cards(p->j, node) : 1;

	return node >= 0 && p->met[node] > owed ? p->met[node] : owed;
}

static void count_readings(struct pass *p)
{
	const struct series *s = p->rr->series;

	for (int64_t i = 0; s && i < s->n; i += group_len(s, i)) {
		const struct subject_entry *sub = &p->j->index.subjects[s->entries[i].subject];

		if (!sub->star)
			p->met[sub->node]++;
		for (int64_t k = i; sub->star && k < i + group_len(s, i); k++)
			if (is_worse_star(&s->entries[k], p->star[sub->node]))
				p->star[sub->node] = &s->entries[k];
	}
}

static void judge_readings(struct pass *p, const bool *due)
{
	const struct series *s = p->rr->series;

	for (int64_t i = 0; s && i < s->n; i += group_len(s, i)) {
		const struct subject_entry *sub = &p->j->index.subjects[s->entries[i].subject];

		if (!sub->star && due[sub->node])
			judge_subject(p, &s->entries[i], group_len(s, i));
	}
}

/* Nodes that were promised and never heard of. */
static void miss_nodes(struct pass *p)
{
	int64_t expected = p->j->run->info.expected_nodes;
	int64_t silent = expected - p->j->index.n_nodes;

	if (silent <= 0 || !applies(p, -1, silent * owed_by(p, -1)))
		return;
	add_missing(p, NULL, silent * owed_by(p, -1),
	            judging_reason(p->j, MSG_nodes_not_seen, tmpf("%lld", (long long)silent),
	                           tmpf("%lld", (long long)expected)));
}

/* No reading of the metric anywhere: one finding says so for all. */
static void miss_everywhere(struct pass *p)
{
	int64_t owed = 0;

	for (int node = 0; node < due_nodes(p->j); node++) {
		int known = node < p->j->index.n_nodes ? node : -1;
		int64_t count = owed_by(p, known);

		if (applies(p, known, count))
			owed += count;
	}
	if (owed)
		add_missing(p, NULL, owed, absence(p))->subject.id = "*";
}

static void score_nodes(struct pass *p)
{
	struct index *x = &p->j->index;
	bool *due = calloc((size_t)x->n_nodes + 1, sizeof(*due));

	p->met = calloc((size_t)x->n_nodes + 1, sizeof(*p->met));
	p->star = calloc((size_t)x->n_nodes + 1, sizeof(*p->star));
	if (!due || !p->met || !p->star)
		die_nomem();
	if (!p->rr->series) {
		miss_everywhere(p);
		goto out;
	}
	count_readings(p);
	for (int node = 0; node < x->n_nodes; node++)
		due[node] = applies(p, node, owed_by(p, node));
	judge_readings(p, due);
	for (int node = 0; node < x->n_nodes; node++) {
		if (!due[node])
			continue;
		if (p->rr->rule->metric->subject == SUBJECT_CARD)
			miss_cards(p, node);
		else if (!p->met[node])
			miss(p, node, NULL, 1, true);
	}
	miss_nodes(p);
out:
	free(due);
	free(p->met);
	free(p->star);
}

/* --- subjects that span nodes: cluster, pairs, paths ------------------------------ */

static bool named_path(const struct run_info *info, const char *id, int *which)
{
	for (int i = 0; i < info->n_storage; i++) {
		if (strcmp(info->storage[i], id) == 0) {
			*which = i;
			return true;
		}
	}
	return false;
}

static int64_t owed_spanning(const struct pass *p)
{
	int64_t nodes = p->j->run->info.expected_nodes;

	switch (p->rr->rule->metric->subject) {
	case SUBJECT_PAIR:
		return nodes * (nodes - 1) / 2;
	case SUBJECT_PATH:
		return p->j->run->info.n_storage ? p->j->run->info.n_storage : 1;
	default:
		return 1;
	}
}

/* The reason given for all, or why there is nothing. */
static void miss_spanning(struct pass *p, int64_t count, const char *path)
{
	struct finding *f = add_missing(p, NULL, count, (struct reason){0});

	if (p->star_spanning)
		judge_take(p->j, p->rr, p->star_spanning, f);
	else if (p->rr->rule->metric->subject == SUBJECT_PATH && !p->j->run->info.n_storage)
		f->reason = judging_reason_list(p->j, MSG_no_storage_named,
		                                (const char *const[]){NULL});
	else
		f->reason = absence(p);
	if (only_a_word(p) && !p->star_spanning)
		f->verdict = VERDICT_STATED_ONLY;
	if (f->verdict == VERDICT_NOT_APPLICABLE)
		p->missing -= count;
	f->has_value = false;
	f->value = NAN;
	f->text = NULL;
	if (path)
		f->subject.id = path;
}

static void score_spanning(struct pass *p)
{
	const struct run_info *info = &p->j->run->info;
	const struct series *s = p->rr->series;
	bool paths = p->rr->rule->metric->subject == SUBJECT_PATH;
	bool *met = calloc((size_t)info->n_storage + 1, sizeof(*met));
	int64_t owed = owed_spanning(p), found = 0;
	int which;

	if (!met)
		die_nomem();
	if (!owed) { /* pairs of a single node */
		p->unmet = 1;
		p->unmet_why = arena_str(&p->j->scratch, say(MSG_when_nodes, "2"));
		goto out;
	}
	if (!applies(p, -1, owed))
		goto out;
	for (int64_t i = 0; s && i < s->n; i += group_len(s, i)) {
		const struct subject_entry *sub = &p->j->index.subjects[s->entries[i].subject];

		if (sub->star) {
			for (int64_t k = i; k < i + group_len(s, i); k++)
				if (is_worse_star(&s->entries[k], p->star_spanning))
					p->star_spanning = &s->entries[k];
			continue;
		}
		if (paths && !named_path(info, sub->subject->id ? sub->subject->id : "", &which))
			continue;
		if (paths)
			met[which] = true;
		found++;
		judge_subject(p, &s->entries[i], group_len(s, i));
	}
	for (int i = 0; paths && i < info->n_storage; i++)
		if (!met[i])
			miss_spanning(p, 1, info->storage[i]);
	/* Where each direction is a subject of its own, a pair owes two. */
	if (s && p->rr->rule->metric->subject == SUBJECT_PAIR) {
		struct pairs_seen seen = pairs_count(s, false);

		owed *= 2 * seen.subjects > 3 * seen.pairs ? 2 : 1;
	}
	if (!(paths && info->n_storage) && found < owed)
		miss_spanning(p, owed - found, NULL);
out:
	free(met);
}

/* --- the rule --------------------------------------------------------------------- */

void rule_score(struct judging *j, int rule)
{
	struct resolved *rr = &j->rules[rule];
	struct pass p = {.j = j, .rr = rr, .rule = rule};

	rr->first = j->n_findings;
	if (kind_spans_nodes(rr->rule->metric->subject))
		score_spanning(&p);
	else
		score_nodes(&p);
	add_set_aside(&p);
	if (p.n_samples == 1 && rr->rule->scope == SCOPE_SPREAD && !p.missing) {
		struct finding *f = add_missing(&p, NULL, 1, (struct reason){0});

		f->verdict = VERDICT_NOT_APPLICABLE;
		f->reason =
			judging_reason_list(j, MSG_nothing_to_compare, (const char *const[]){NULL});
	} else if (p.n_samples) {
		scope_judge(j, rr, p.samples, p.n_samples, !p.missing);
	}
	free(p.samples);
	rr->end = j->n_findings;
}
