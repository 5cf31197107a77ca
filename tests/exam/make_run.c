/* Makes the run of a whole cluster from a description: what healthy nodes say, how
 * they vary, and what is wrong with one of them. It is for faults that no double of a
 * library can play - storage, software, papers - and for many clean clusters at once.
 * Written through the journal writer and marked simulated: no scorecard of it can ever
 * read ACCEPT.
 *
 *     make_run DESCRIPTION.json DIR
 *
 * tests/faults/README.md has the members of a description.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/unit.h"
#include "probes.h"
#include "run/journal.h"
#include "stats/fluctuation.h"
#include "stats/rng.h"
#include "stats/summary.h"

#define NODES_MOST 4096
#define CARD_ID    "GPU-%04x%04x-0000-4000-8000-%012x"

/* --- metrics: the product's own tables ------------------------------------------------ */

static const struct metric papers[] = {
#define EVIDENCE(name, unit, better, subject, formula)                                             \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_EVIDENCE, formula},
#include "evidence.def"
#undef EVIDENCE
#define PLANNED(name, unit, better, subject, backend, formula)                                     \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_##backend, formula},
#include "planned.def"
#undef PLANNED
	{0},
};

static const struct metric *row_of(const struct metric *rows, const char *name)
{
	for (; rows->name; rows++)
		if (strcmp(rows->name, name) == 0)
			return rows;
	return NULL;
}

static const struct metric *find_metric(const char *name, const char **probe)
{
	const struct metric *found = row_of(papers, name);

	*probe = "papers";
	for (int i = 0; probe_table[i] && !found; i++) {
		found = row_of(probe_table[i]->metrics, name);
		*probe = probe_table[i]->name;
	}
	return found;
}

/* --- the cluster ------------------------------------------------------------------------ */

struct maker {
	struct json_doc doc;
	struct journal *journal;
	struct rng rng;
	int nodes, cards;
	const char *path; /* shared storage */
	const cJSON *points, *changes;
	double *skill; /* of each card, in standard deviations */
	double card_sd, window_sd, rho;
	int64_t wall_ns;
	/* The reading that is being made. */
	const struct metric *metric;
	const char *probe;
	int node, card, peer; /* -1: of none */
	int rails, rail;      /* adapters of a node */
	const char *point;
};

/* A member of the description that is a number in a range. */
static enum status take_number(const struct maker *m, const cJSON *of, const char *name, double lo,
                               double hi, double *out, struct error *err)
{
	const cJSON *n = json_get(of, name);

	if (!cJSON_IsNumber(n) || n->valuedouble < lo || n->valuedouble > hi)
		return error_set(err, ST_RANGE, MSG_run_member,
		                 n ? json_place(&m->doc, n) : m->doc.name, name);
	*out = n->valuedouble;
	return ST_OK;
}

static bool is_place(const cJSON *change, const char *name, int here)
{
	const cJSON *n = json_get(change, name);

	return !n || (cJSON_IsNumber(n) && n->valueint == here);
}

/* The last change that is about this reading, or NULL. */
static const cJSON *change_of(const struct maker *m)
{
	const cJSON *c, *found = NULL;

	cJSON_ArrayForEach(c, m->changes)
	{
		if (strcmp(json_string(c, "metric", ""), m->metric->name) != 0 ||
		    !is_place(c, "node", m->node) || !is_place(c, "card", m->card) ||
		    !is_place(c, "peer", m->peer))
			continue;
		found = c;
	}
	return found;
}

/* --- values ------------------------------------------------------------------------------- */

/* Windows as healthy ones are: gaussian AR(1) around the value; `own` may say otherwise. */
static enum status draw_windows(struct maker *m, const cJSON *own, double value, int n,
                                double stats[STATS])
{
	double sd = json_number(own, "sd", m->window_sd), rho = json_number(own, "rho", m->rho);
	double dips = json_number(own, "dips", 0), depth = json_number(own, "depth", 0);
	struct windows windows = {0.5, rng_next(&m->rng)};
	struct samples samples = {0};
	double x = rng_normal(&m->rng);
	enum status st = ST_OK;

	for (int i = 0; i < n && st == ST_OK; i++) {
		x = rho * x + sqrt(1 - rho * rho) * rng_normal(&m->rng);
		st = samples_add(&samples,
		                 value * (1 + sd * x) * (rng_unit(&m->rng) < dips ? 1 - depth : 1));
	}
	if (st == ST_OK)
		st = samples_to_stats(&samples, &windows, stats);
	samples_release(&samples);
	return st;
}

/* As the probe does it: few windows, and many where few leave it open. */
static enum status fill_windows(struct maker *m, const cJSON *own, struct reading *r)
{
	int n = (int)json_number(own, "n", F95_SHORT);
	enum status st = draw_windows(m, own, r->value, n, r->stats);

	if (st == ST_OK && n == F95_SHORT && f95_judge(r->stats, 0.01, NULL) == F95_EXTEND)
		st = draw_windows(m, own, r->value, F95_LONG, r->stats);
	r->value = r->stats[STAT_MEDIAN];
	return st;
}

/* What this subject differs by from the others. */
static double variation(struct maker *m, const cJSON *healthy)
{
	const cJSON *sd = json_get(healthy, "varies");

	if (cJSON_IsString(sd))
		return 1 + m->card_sd * m->skill[m->node * m->cards + m->card];
	return cJSON_IsNumber(sd) ? 1 + sd->valuedouble * rng_normal(&m->rng) : 1;
}

/* A value is a number, a text, or a list by operating point; %d in a text is the node. */
static enum status fill_value(struct maker *m, const cJSON *value, int point, double factor,
                              struct reading *r, struct error *err)
{
	const cJSON *v = cJSON_IsArray(value) ? cJSON_GetArrayItem(value, point) : value;
	const char *mark;

	if (cJSON_IsNumber(v)) {
		r->value_kind = VALUE_NUMBER;
		r->value = v->valuedouble * factor;
	} else if (cJSON_IsString(v)) {
		r->value_kind = VALUE_TEXT;
		mark = strstr(v->valuestring, "%d");
		r->text = mark ? tmpf("%.*s%d%s", (int)(mark - v->valuestring), v->valuestring,
		                      m->node, mark + 2)
		               : v->valuestring;
	} else {
		return error_set(err, ST_PARSE, MSG_run_member, m->doc.name, m->metric->name);
	}
	return ST_OK;
}

static enum status fill_stats(const struct maker *m, const cJSON *stats, struct reading *r,
                              struct error *err)
{
	const cJSON *s;
	enum stat_id id;

	cJSON_ArrayForEach(s, stats)
	{
		if (!cJSON_IsNumber(s) || !stat_parse(s->string, &id))
			return error_set(err, ST_PARSE, MSG_run_member, json_place(&m->doc, s),
			                 s->string);
		r->stats[id] = s->valuedouble;
	}
	return ST_OK;
}

/* Instead of a figure: an outcome with its reason. */
static enum status fill_outcome(const struct maker *m, const char *outcome, struct reading *r,
                                struct error *err)
{
	if (!outcome_parse(outcome, &r->outcome))
		return error_set(err, ST_PARSE, MSG_run_member, m->doc.name, "outcome");
	r->value_kind = VALUE_NONE;
	r->reason = (struct reason){.code = "no_output", .text = "planted by the exam"};
	return ST_OK;
}

static enum status fill_figure(struct maker *m, const cJSON *healthy, const cJSON *change,
                               int point, struct reading *r, struct error *err)
{
	const cJSON *value = json_get(healthy, "value"), *new = json_get(change, "value");
	const cJSON *own = json_get(change, "windows");
	enum status st;

	if (new)
		st = fill_value(m, new, point, 1, r, err);
	else
		st = fill_value(m, value ? value : healthy, point, variation(m, healthy), r, err);
	if (!new && r->value_kind == VALUE_NUMBER)
		r->value = fmin(r->value, json_number(healthy, "most", INFINITY));
	if (st == ST_OK && json_bool(healthy, "windows", false) && r->value_kind == VALUE_NUMBER &&
	    fill_windows(m, own, r) != ST_OK)
		st = error_set(err, ST_RANGE, MSG_run_member, m->doc.name, m->metric->name);
	if (st == ST_OK)
		st = fill_stats(m, json_get(healthy, "stats"), r, err);
	return st == ST_OK ? fill_stats(m, json_get(change, "stats"), r, err) : st;
}

/* --- readings -------------------------------------------------------------------------- */

static const char *node_name(int node)
{
	return tmpf("node%d", node);
}

static const char *card_name(int node, int card)
{
	return tmpf(CARD_ID, (unsigned)node, (unsigned)card, (unsigned)card);
}

static bool is_of_rail(const struct maker *m)
{
	return str_starts(m->metric->name, "rdma_nic_");
}

static void fill_subject(const struct maker *m, struct subject *s)
{
	s->kind = m->metric->subject;
	switch (s->kind) {
	case SUBJECT_CARD:
		s->id = card_name(m->node, m->card);
		s->pci = tmpf("0000:%02x:00.0", 0x17 + 0x13 * (unsigned)m->card % 0xe0);
		s->index = m->card;
		break;
	case SUBJECT_PAIR:
		s->id = is_of_rail(m) ? tmpf("node%d|node%d|mlx5_%d", m->node, m->peer, m->rail)
		                      : tmpf("node%d|node%d", m->node, m->peer);
		s->n_ends = 2;
		s->ends[0] = (struct subject_end){.node = node_name(m->node),
		                                  .nic = tmpf("mlx5_%d", m->rail)};
		s->ends[1] = (struct subject_end){.node = node_name(m->peer),
		                                  .nic = tmpf("mlx5_%d", m->rail)};
		break;
	case SUBJECT_LINK: /* the worst of the node's matrix */
		s->id = node_name(m->node);
		s->n_ends = 2;
		for (int e = 0; e < 2; e++)
			s->ends[e] = (struct subject_end){.node = node_name(m->node),
			                                  .card = card_name(m->node, e)};
		break;
	case SUBJECT_PATH:
		s->id = m->path;
		break;
	default:
		s->id = s->kind == SUBJECT_CLUSTER ? "cluster" : node_name(m->node);
	}
}

static enum status write_reading(struct maker *m, struct reading *r, struct error *err)
{
	struct str line = {0}, time = {0};
	char work[13];
	enum status st;

	work_id(work, "exam", m->probe, r->subject.id, m->point);
	time_add_utc(&time, m->wall_ns += NS_PER_MS);
	r->time = time.data;
	r->node = node_name(m->node < 0 ? 0 : m->node);
	r->phase = "exam";
	r->work = work;
	r->probe = m->probe;
	r->metric = m->metric->name;
	r->unit = m->metric->unit;
	r->better = m->metric->better;
	r->point = m->point;
	reading_format(&line, r);
	st = journal_append(m->journal, line.data, line.len, err);
	str_release(&line);
	str_release(&time);
	return st;
}

/* Of one subject, at all operating points where the value is a list. */
static enum status add_subject(struct maker *m, const cJSON *healthy, struct error *err)
{
	const cJSON *change = change_of(m), *value = json_get(healthy, "value");
	int points = cJSON_IsArray(value ? value : healthy) ? cJSON_GetArraySize(m->points) : 1;
	const char *origin = json_string(change, "origin", "simulated");
	const char *outcome = json_string(change ? change : healthy, "outcome", NULL);
	enum status st = ST_OK;

	if (json_bool(change, "drop", false))
		return ST_OK;
	for (int p = 0; p < points && st == ST_OK; p++) {
		struct reading r = reading_init();

		m->point =
			points > 1 ? cJSON_GetStringValue(cJSON_GetArrayItem(m->points, p)) : NULL;
		if (!origin_parse(origin, &r.origin))
			return error_set(err, ST_PARSE, MSG_run_member, m->doc.name, "origin");
		fill_subject(m, &r.subject);
		st = outcome ? fill_outcome(m, outcome, &r, err)
		             : fill_figure(m, healthy, change, p, &r, err);
		if (st == ST_OK)
			st = write_reading(m, &r, err);
	}
	return st;
}

/* Of one node: the node, its cards, its pairs with those after it. */
static enum status add_node(struct maker *m, const cJSON *healthy, struct error *err)
{
	enum subject_kind kind = m->metric->subject;
	enum status st = ST_OK;

	if (kind == SUBJECT_CARD)
		for (m->card = 0; m->card < m->cards && st == ST_OK; m->card++)
			st = add_subject(m, healthy, err);
	else if (kind == SUBJECT_PAIR)
		for (m->peer = m->node + 1; m->peer < m->nodes && st == ST_OK; m->peer++)
			for (m->rail = 0; m->rail < (is_of_rail(m) ? m->rails : 1) && st == ST_OK;
			     m->rail++)
				st = add_subject(m, healthy, err);
	else
		st = add_subject(m, healthy, err);
	m->card = m->peer = -1;
	m->rail = 0;
	return st;
}

static enum status add_metric(struct maker *m, const cJSON *healthy, struct error *err)
{
	enum status st = ST_OK;
	bool spans;

	m->metric = find_metric(healthy->string, &m->probe);
	if (!m->metric)
		return error_set(err, ST_NOTFOUND, MSG_run_member, json_place(&m->doc, healthy),
		                 healthy->string);
	m->node = m->card = m->peer = -1;
	spans = m->metric->subject == SUBJECT_CLUSTER || m->metric->subject == SUBJECT_PATH;
	if (spans)
		return add_subject(m, healthy, err);
	for (m->node = 0; m->node < m->nodes && st == ST_OK; m->node++)
		st = add_node(m, healthy, err);
	return st;
}

/* --- all of it ------------------------------------------------------------------------- */

static enum status take_noise(struct maker *m, struct error *err)
{
	const cJSON *noise = json_get(m->doc.root, "noise");
	double seed;
	enum status st = take_number(m, m->doc.root, "seed", 0, 9e15, &seed, err);

	if (st == ST_OK)
		st = take_number(m, noise, "card", 0, 0.2, &m->card_sd, err);
	if (st == ST_OK)
		st = take_number(m, noise, "window", 0, 0.2, &m->window_sd, err);
	if (st == ST_OK)
		st = take_number(m, noise, "rho", 0, 0.99, &m->rho, err);
	if (st != ST_OK)
		return st;
	rng_seed(&m->rng, (uint64_t)seed);
	m->skill = calloc((size_t)m->nodes * (size_t)m->cards + 1, sizeof(*m->skill));
	if (!m->skill)
		die_nomem();
	for (int i = 0; i < m->nodes * m->cards; i++)
		m->skill[i] = rng_normal(&m->rng);
	return ST_OK;
}

static enum status take(struct maker *m, struct error *err)
{
	double nodes = 0, cards = 0;
	enum status st = take_number(m, m->doc.root, "nodes", 1, NODES_MOST, &nodes, err);

	if (st == ST_OK)
		st = take_number(m, m->doc.root, "cards", 0, 64, &cards, err);
	m->nodes = (int)nodes;
	m->cards = (int)cards;
	m->rails = (int)json_number(m->doc.root, "rails", 1);
	m->points = json_get(m->doc.root, "points");
	m->changes = json_get(m->doc.root, "change");
	m->path = json_string(m->doc.root, "storage", NULL);
	if (st == ST_OK && (!m->path || cJSON_GetArraySize(m->points) < 1))
		st = error_set(err, ST_PARSE, MSG_run_member, m->doc.name, "storage, points");
	return st == ST_OK ? take_noise(m, err) : st;
}

static enum status make(struct maker *m, const char *dir, struct error *err)
{
	struct run_info info = {
		.id = "00000000000000e1",
		.created = "2026-12-02T03:04:05.000Z",
		.version = "0.1.0",
		.build = "make_run",
		.host = "node0",
		.command = "make_run",
		.vendor = "synthetic",
		.profile = json_string(m->doc.root, "profile", NULL),
		.budget = "standard",
		.seed = "0123456789abcdef",
		.expected_nodes = m->nodes,
		.expected_cards = m->cards,
		.storage = &m->path,
		.n_storage = 1,
	};
	const cJSON *healthy = json_get(m->doc.root, "healthy"), *metric;
	char digest[65];
	enum status st = journal_create(&m->journal, dir, &info, err), closed;

	if (st != ST_OK)
		return st;
	m->wall_ns = 1796180645 * NS_PER_S;
	for (metric = healthy ? healthy->child : NULL; metric && st == ST_OK; metric = metric->next)
		st = add_metric(m, metric, err);
	closed = journal_close(m->journal, st != ST_OK, digest, err);
	return st == ST_OK ? closed : st;
}

int main(int argc, char **argv)
{
	struct maker m = {0};
	struct error err = {0};
	enum status st;

	if (argc != 3) {
		fprintf(stderr, "usage: %s DESCRIPTION.json DIR\n", argv[0]);
		return EXIT_USAGE;
	}
	st = json_load(&m.doc, argv[1], JSON_COMMENTS, &err);
	if (st == ST_OK)
		st = take(&m, &err);
	if (st == ST_OK)
		st = make(&m, argv[2], &err);
	if (st != ST_OK)
		fprintf(stderr, "%s\n", str_text(&err.text));
	error_release(&err);
	free(m.skill);
	json_release(&m.doc);
	return st == ST_OK ? 0 : EXIT_USAGE;
}
