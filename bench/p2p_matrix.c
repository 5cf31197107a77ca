/* A matrix of cards as one reading: the worst pair is its value and its subject,
 * the spread of all pairs its stats, every pair a line of its raw file. A pair that
 * could not be measured, or was wrong, comes before the slowest.
 *
 * Which pairs are far off the others is told, and whether one card explains them
 * all: then it is the card and not the links. */
#include "p2p.h"

#include <math.h>
#include <string.h>

#include "inventory.h"
#include "stats/summary.h"

/* Off the median by this much: told, not judged. */
#define OFF_SHARE 0.05

struct matrix {
	struct p2p *p;
	const struct metric *metric;
	const struct p2p_cell *cells;
	struct samples values;
	double middle;
	int due, worst, refused; /* worst, refused: index of a cell; -1: none */
};

static bool is_worse(const struct matrix *m, double value, double than)
{
	return m->metric->better == BETTER_LOWER ? value > than : value < than;
}

static bool is_off(const struct matrix *m, const struct p2p_cell *cell)
{
	if (!cell->due)
		return false;
	if (cell->outcome != OUTCOME_MEASURED)
		return true;
	return m->metric->better == BETTER_LOWER ? cell->value > m->middle * (1 + OFF_SHARE)
	                                         : cell->value < m->middle * (1 - OFF_SHARE);
}

/* Wrong or lost before slow to answer, and that before not tried. */
static bool is_graver(enum outcome a, enum outcome b)
{
	static const int rank[OUTCOMES] = {[OUTCOME_FAILED] = 4,
	                                   [OUTCOME_LOST] = 3,
	                                   [OUTCOME_TIMED_OUT] = 2,
	                                   [OUTCOME_NOT_MEASURED] = 1};

	return rank[a] > rank[b];
}

static void read_matrix(struct matrix *m)
{
	int n = m->p->team.count;

	m->worst = m->refused = -1;
	for (int k = 0; k < n * n; k++) {
		const struct p2p_cell *c = &m->cells[k];

		if (!c->due)
			continue;
		m->due++;
		if (c->outcome == OUTCOME_MEASURED) {
			samples_add(&m->values, c->value);
			if (m->worst < 0 || is_worse(m, c->value, m->cells[m->worst].value))
				m->worst = k;
		} else if (m->refused < 0 || is_graver(c->outcome, m->cells[m->refused].outcome)) {
			m->refused = k;
		}
	}
	m->middle = m->values.n ? median(m->values.value, m->values.n) : NAN;
}

/* The card that is in every pair which is off while all of its own are; -1. */
static int suspect_of(const struct matrix *m)
{
	int n = m->p->team.count, found = -1;

	for (int card = 0; card < n && n > 2; card++) {
		bool all = true, any = false, others = false;

		for (int k = 0; k < n * n; k++) {
			bool own = k / n == card || k % n == card;

			if (!m->cells[k].due)
				continue;
			any |= own;
			all &= !own || is_off(m, &m->cells[k]);
			others |= !own && is_off(m, &m->cells[k]);
		}
		if (all && any && !others)
			found = card;
	}
	return found;
}

static void put_card(struct json_out *j, const struct p2p *p, int card)
{
	const struct team_card *c = &p->team.cards[card];

	json_object_begin(j, NULL);
	json_put_string(j, "id", c->id);
	if (c->known)
		json_put_string(j, "pci", c->unit.card.pci);
	json_object_end(j);
}

static void put_off(struct json_out *j, const struct matrix *m)
{
	int n = m->p->team.count;

	json_array_begin(j, "off");
	for (int k = 0; k < n * n; k++) {
		if (!is_off(m, &m->cells[k]))
			continue;
		json_object_begin(j, NULL);
		json_put_int(j, "from", k / n);
		json_put_int(j, "to", k % n);
		if (m->cells[k].outcome == OUTCOME_MEASURED)
			json_put_number(j, "value", m->cells[k].value);
		else
			json_put_string(j, "outcome", outcome_name(m->cells[k].outcome));
		json_object_end(j);
	}
	json_array_end(j);
}

static const char *params_of(const struct matrix *m)
{
	const struct p2p *p = m->p;
	struct json_text t = json_text_begin();
	int suspect = suspect_of(m);

	json_put_int(&t.j, "pairs", m->due);
	json_put_int(&t.j, "pairs_measured", (int64_t)m->values.n);
	json_put_int(&t.j, "bytes", (int64_t)p->bytes);
	json_put_int(&t.j, "samples", p->samples);
	json_array_begin(&t.j, "cards");
	for (int i = 0; i < p->team.count; i++)
		put_card(&t.j, p, i);
	json_array_end(&t.j);
	put_off(&t.j, m);
	if (suspect >= 0)
		json_put_string(&t.j, "suspect", p->team.cards[suspect].id);
	return json_text_end(&t, p->team.ctx->arena);
}

static enum status save(const struct matrix *m, struct raw_file *raw)
{
	const struct p2p *p = m->p;
	struct str text = {0};
	int n = p->team.count;
	enum status st;

	str_addf(&text, "from,to,from_id,to_id,outcome,%s,copies,samples\n", m->metric->unit);
	for (int k = 0; k < n * n; k++) {
		const struct p2p_cell *c = &m->cells[k];

		if (!c->due)
			continue;
		str_addf(&text, "%d,%d,%s,%s,%s,", k / n, k % n, p->team.cards[k / n].id,
		         p->team.cards[k % n].id, outcome_name(c->outcome));
		if (c->outcome == OUTCOME_MEASURED)
			str_addf(&text, "%.9g", c->value);
		str_addf(&text, ",%d,", c->reps);
		for (size_t i = 0; i < c->samples.n; i++)
			str_addf(&text, "%s%.9g", i ? " " : "", c->samples.value[i]);
		str_addc(&text, '\n');
	}
	st = p->team.ctx->save_raw(p->team.ctx, tmpf("%s.csv", m->metric->name), text.data,
	                           text.len, raw);
	str_release(&text);
	return st;
}

static void name_ends(const struct p2p *p, int cell, struct reading *r)
{
	int n = p->team.count, ends[2] = {cell / n, cell % n};

	r->subject.n_ends = 2;
	for (int e = 0; e < 2; e++)
		r->subject.ends[e] = (struct subject_end){.node = p->team.ctx->node,
		                                          .card = p->team.cards[ends[e]].id};
}

static void refuse(const struct matrix *m, struct reading *r)
{
	const struct p2p_cell *c = &m->cells[m->refused];
	int n = m->p->team.count;
	const struct team_card *from = &m->p->team.cards[m->refused / n];
	const struct team_card *to = &m->p->team.cards[m->refused % n];

	r->outcome = c->outcome;
	reason_set(m->p->team.ctx, &r->reason, MSG_p2p_pair,
	           from->known ? from->unit.card.pci : from->id,
	           to->known ? to->unit.card.pci : to->id, c->why,
	           tmpf("%d", m->due - (int)m->values.n), tmpf("%d", m->due));
}

enum status p2p_emit(struct p2p *p, const char *metric, const struct p2p_cell *cells)
{
	struct matrix m = {
		.p = p, .metric = probe_metric(p->team.ctx->probe, metric), .cells = cells};
	struct reading r = reading_init();
	enum status st;

	read_matrix(&m);
	r.metric = metric;
	r.subject.kind = SUBJECT_LINK;
	r.subject.id = p->team.ctx->node;
	name_ends(p, m.refused >= 0 ? m.refused : m.worst, &r);
	if (m.worst >= 0) {
		r.value_kind = VALUE_NUMBER;
		r.value = m.cells[m.worst].value;
		samples_to_stats(&m.values, NULL, r.stats);
	}
	r.params = params_of(&m);
	if (m.refused >= 0)
		refuse(&m, &r);
	st = save(&m, &r.raw);
	samples_release(&m.values);
	return st == ST_OK ? p->team.ctx->emit(p->team.ctx, &r) : st;
}

enum status p2p_emit_none(struct p2p *p, const char *metric, const struct reason *reason)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_LINK;
	r.subject.id = CARDS_ALL;
	r.outcome = OUTCOME_UNSUPPORTED;
	r.reason = *reason;
	return p->team.ctx->emit(p->team.ctx, &r);
}
