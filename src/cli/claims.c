/* Gathering statements, configuration and run for assay claims; see claims.h. */
#include "cli/claims.h"

#include <math.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/evidence_kept.h"
#include "report/words.h"
#include "score/accel.h"

static const char *const names[] = {
#define X(name, text) text,
	CLAIM_VERDICT_LIST(X)
#undef X
};

const char *claim_verdict_name(enum claim_verdict verdict)
{
	return names[verdict];
}

void claim_say(struct claims *c, struct claim *x, enum claim_verdict verdict, const char *why)
{
	x->verdict = verdict > x->verdict ? verdict : x->verdict;
	for (int i = 0; i < x->n_why; i++)
		if (strcmp(x->why[i], why) == 0)
			return;
	if (x->n_why < CLAIM_REASONS)
		x->why[x->n_why++] = arena_str(&c->arena, why);
}

/* --- quantities ------------------------------------------------------------------------- */

/* A metric that a statement names is a quantity without words. */
static const struct claim_quantity *of_metric(struct claims *c, const char *name)
{
	const struct metric *m = metric_find(cli_metrics(), name, NULL);
	struct claim_quantity *q;

	if (!m || strcmp(m->unit, "text") == 0)
		return NULL;
	q = arena_alloc(&c->arena, sizeof(*q));
	*q = (struct claim_quantity){
		.name = m->name, .metric = m->name, .stat = "value", .unit = m->unit};
	return q;
}

static enum status unknown(const struct claims *c, const struct statement *s, struct error *err)
{
	const char **known;
	const char *near;
	struct arena arena = {0};
	enum status st;

	if (!s->line) /* an offer's */
		return error_set(err, ST_PARSE, MSG_offer_metric, c->statements.name, s->wanted);
	known = arena_array(&arena, (size_t)c->words.n_quantities + 1, sizeof(*known));
	for (int i = 0; i < c->words.n_quantities; i++)
		known[i] = c->words.quantities[i].name;
	near = nearest_word(s->wanted, known);
	st = error_set(err, ST_PARSE, MSG_claim_quantity, c->statements.name,
	               tmpf("%lld", (long long)s->line), s->wanted, near ? near : known[0]);
	arena_release(&arena);
	return st;
}

static enum status check_unit(const struct claims *c, const struct statement *s, struct error *err)
{
	if (!s->named || s->scaled || s->figure.bound == BOUND_WORDS)
		return ST_OK;
	if (!s->line)
		return error_set(err, ST_PARSE, MSG_offer_unit, c->statements.name, s->wanted,
		                 s->quantity->unit);
	return error_set(err, ST_PARSE, MSG_claim_unit, c->statements.name,
	                 tmpf("%lld", (long long)s->line), s->unit, s->quantity->name,
	                 s->quantity->unit);
}

static enum status take(struct claims *c, struct error *err)
{
	enum status st = ST_OK;

	c->n = c->statements.n;
	c->list = arena_array(&c->arena, (size_t)c->n + 1, sizeof(*c->list));
	for (int i = 0; i < c->n && st == ST_OK; i++) {
		struct statement *s = &c->statements.list[i];
		const struct claim_quantity *q = s->quantity;

		if (!q && *s->wanted) {
			q = of_metric(c, s->wanted);
			if (!q)
				return unknown(c, s, err);
			statement_measure(s, q);
		}
		c->list[i] = (struct claim){.s = s,
		                            .quantity = q,
		                            .rate = {.value = NAN,
		                                     .lo = NAN,
		                                     .hi = NAN,
		                                     .worst = NAN,
		                                     .origin = ORIGIN_MEASURED},
		                            .shortfall = NAN};
		st = q ? check_unit(c, s, err) : ST_OK;
	}
	return st;
}

/* --- the run -------------------------------------------------------------------------------- */

static enum status with_run(struct claims *c, const char *dir, const struct options *o,
                            struct error *err)
{
	const char *config_dir = option_text(o, "config-dir", NULL);
	const struct evidence_file *files;
	struct rundir run;
	int n;
	enum status st = rundir_open(&run, dir, RUNDIR_CHAIN, err);

	if (st != ST_OK)
		return st;
	c->run = arena_str(&c->arena, dir);
	if (run.state == JOURNAL_ALTERED || run.state == JOURNAL_UNREADABLE)
		c->altered = arena_str(&c->arena, run.trouble);
	c->run_cards = rates_cards(&run);
	st = evidence_given(o) ? evidence_take(&run, o, config_dir, &files, &n, err)
	                       : evidence_take_kept(&run, config_dir, &files, &n, err);
	if (st == ST_OK)
		claims_against_run(c, &run);
	rundir_close(&run);
	return st;
}

/* --- all --------------------------------------------------------------------------------------- */

/* What nothing was said about: why it cannot be tested. */
static void say_untestable(struct claims *c, struct claim *x)
{
	if (x->n_why)
		return;
	if (!x->quantity)
		claim_say(c, x, CLAIM_UNTESTABLE, msg_format(MSG_claim_no_quantity));
	else if (!x->quantity->metric)
		claim_say(c, x, CLAIM_UNTESTABLE, msg_format(MSG_claim_nothing_beside));
	else if (!x->s->scaled)
		claim_say(c, x, CLAIM_UNTESTABLE, msg_format(MSG_claim_no_figure));
	else
		claim_say(c, x, CLAIM_UNTESTABLE, say(MSG_claim_needs_run, x->quantity->metric));
}

enum status claims_make(struct claims *c, const struct options *o, struct error *err)
{
	const char *config_dir = option_text(o, "config-dir", NULL);
	const char *dir = option_text(o, "run", NULL);
	enum status st = claim_words_load(&c->words, config_dir, err);

	if (st == ST_OK)
		st = accel_load(&c->cards, config_dir, err);
	if (st == ST_OK)
		st = statements_read(&c->statements, o->operands[0], &c->words, config_dir, err);
	if (st == ST_OK)
		st = take(c, err);
	if (st != ST_OK)
		return st;
	claims_check(c);
	if (dir)
		st = with_run(c, dir, o, err);
	for (int i = 0; i < c->n && st == ST_OK; i++) {
		say_untestable(c, &c->list[i]);
		c->count[c->list[i].verdict]++;
	}
	return st;
}

void claims_release(struct claims *c)
{
	csv_release(&c->cards);
	statements_release(&c->statements);
	claim_words_release(&c->words);
	arena_release(&c->arena);
	*c = (struct claims){0};
}
