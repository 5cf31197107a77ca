/* gemm_rows: whether cards really multiply, asked by another node. A product can be
 * played back, or left to a library that only claims to; so the matrices come from a
 * seed drawn a moment before, each card is held to its whole product by one digest,
 * and only then is a row of it named, which the first node checks by itself, on its
 * own clock. A host that rewrites Assay can still lie: the formula says so.
 *
 * The first node alone speaks, about the cards of all. */
#include "gemm_rows.h"

#include <math.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/json.h"
#include "cards.h"
#include "gemm_card.h"

/* A row that comes later than allowed is waited for as long again, to be told from
 * one that never comes. */
#define LATE_TIMES 2

/* Between naming and the last answer of a node, as planned. */
#define ASK_NODE_S 0.05
#define ASK_CARD_S 0.01

enum figure { WRONG, ANSWER_MS, FIGURES };

/* By the kind of card: sockets, GPUs. */
static const char *const figure_names[2][FIGURES] = {
	{"cpu_gemm_rows_wrong", "cpu_gemm_rows_answer_ms"},
	{"gemm_rows_wrong", "gemm_rows_answer_ms"},
};

struct lead {
	struct probe_ctx *ctx;
	struct rows_node *self;
	uint64_t seed, secret;
	struct rows_pledge *pledges; /* of ctx->peers */
	enum status *pledged;        /* how they came */
	struct rows_exam exams[2];   /* as figure_names; used ones are open */
	double answer_s;
};

/* One card that was asked for a row. */
struct asked {
	struct rows_exam *exam;
	int place, row;
	int64_t at_ns; /* when it was named, on the machine's clock */
	double ms;     /* until the answer; NaN: none */
};

/* --- readings ---------------------------------------------------------------------------- */

static struct reading blank(const struct lead *l, int node, bool gpu, enum figure f)
{
	struct reading r = reading_init();

	r.node = l->ctx->peers[node];
	r.metric = figure_names[gpu][f];
	r.subject.kind = SUBJECT_CARD;
	r.subject.id = CARDS_ALL;
	return r;
}

static struct reading about(const struct lead *l, int node, const struct rows_card *c,
                            enum figure f)
{
	struct reading r = blank(l, node, c->gpu, f);

	r.subject.id = c->id;
	r.subject.pci = c->pci;
	r.subject.index = c->index;
	return r;
}

/* Both figures of a card, or of all cards of a node, are missing for that. */
static void say_missing(const struct lead *l, struct reading r, bool gpu)
{
	for (int f = 0; f < FIGURES; f++) {
		r.metric = figure_names[gpu][f];
		l->ctx->emit(l->ctx, &r);
	}
}

static void say_unpledged(const struct lead *l, int node)
{
	struct probe_ctx *ctx = l->ctx;
	struct reading r = blank(l, node, true, WRONG);

	if (l->pledged[node] == ST_PARSE) {
		r.outcome = OUTCOME_FAILED;
		reason_set(ctx, &r.reason, MSG_gemm_rows_bad_pledge, ctx->peers[node]);
	} else {
		r.outcome = OUTCOME_TIMED_OUT;
		reason_set(ctx, &r.reason, MSG_gemm_rows_no_pledge, ctx->peers[node],
		           tmpf("%.0f", ctx->param_real(ctx, "patience_s")));
	}
	/* What cards it has it did not say. */
	say_missing(l, r, true);
	say_missing(l, r, false);
}

static void say_no_driver(const struct lead *l, int node)
{
	struct reading r = blank(l, node, true, WRONG);

	r.outcome = OUTCOME_NOT_MEASURED;
	cards_reason(l->ctx, &r.reason);
	say_missing(l, r, true);
}

static void say_refused(const struct lead *l, int node, const struct rows_card *c)
{
	struct reading r = about(l, node, c, WRONG);

	r.outcome = c->outcome;
	reason_set(l->ctx, &r.reason, MSG_card_refused, c->id, c->why);
	say_missing(l, r, c->gpu);
}

static const char *params_of(const struct lead *l, const struct rows_card *c, const struct asked *a,
                             const struct freivalds_result *found)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	const char *kept;

	json_object_begin(&j, NULL);
	json_put_int(&j, "order", a->exam->shape.order);
	json_put_string(&j, "format", number_format_name(a->exam->shape.format));
	json_put_int(&j, "row", a->row);
	json_put_string(&j, "pledge", c->root);
	json_put_string(&j, "seed", tmpf("%016llx", (unsigned long long)l->seed));
	json_put_string(&j, "device", c->device);
	json_put_string(&j, "library", c->library);
	json_put_string(&j, "asked_by", l->ctx->peers[0]);
	json_put_number(&j, "allowed_ms", l->answer_s * 1e3);
	json_put_int(&j, "blocks_checked", found->checked);
	json_put_number(&j, "worst_of_tolerance", found->worst);
	json_object_end(&j);
	kept = arena_str(l->ctx->arena, text.data);
	str_release(&text);
	return kept;
}

/* --- one card --------------------------------------------------------------------------------- */

static bool fails(const struct lead *l, struct reading *r, enum outcome outcome, enum msg id,
                  const char *const *args)
{
	r->outcome = outcome;
	reason_set_list(l->ctx, &r->reason, id, args);
	return false;
}
#define fail(l, r, outcome, id, ...)                                                               \
	fails(l, r, outcome, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* The row named, of the product the card is held to, in time? */
static bool is_answer(const struct lead *l, const struct rows_card *c, int card,
                      const struct asked *a, enum status came, const struct rows_answer *answer,
                      struct reading *r)
{
	const char *node = r->node, *row = tmpf("%d", a->row);

	if (came == ST_PARSE ||
	    (came == ST_OK &&
	     (answer->card != card || answer->bytes != rows_bytes(&a->exam->shape) ||
	      answer->depth != rows_tree_depth(a->exam->shape.order))))
		return fail(l, r, OUTCOME_FAILED, MSG_gemm_rows_garbled, node, c->id, row);
	if (came != ST_OK)
		return fail(l, r, OUTCOME_TIMED_OUT, MSG_gemm_rows_silent, node, c->id,
		            tmpf("%g", LATE_TIMES * l->answer_s));
	if (!rows_tree_holds(c->root, a->row, answer->row, answer->bytes, answer->proof,
	                     answer->depth))
		return fail(l, r, OUTCOME_FAILED, MSG_gemm_rows_broken, node, c->id, row);
	if (a->ms > l->answer_s * 1e3)
		return fail(l, r, OUTCOME_TIMED_OUT, MSG_gemm_rows_late, node, c->id,
		            tmpf("%.0f", a->ms), tmpf("%.0f", l->answer_s * 1e3));
	return true;
}

static void check_row(const struct lead *l, const struct rows_card *c, const struct asked *a,
                      const struct rows_answer *answer, struct freivalds_result *found,
                      struct reading *r)
{
	struct error err = {0};

	if (rows_exam_check(a->exam, a->place, answer->row, found, &err) != ST_OK) {
		fail(l, r, OUTCOME_NOT_MEASURED, MSG_card_refused, c->id, str_text(&err.text));
	} else {
		r->value_kind = VALUE_NUMBER;
		r->value = (double)found->wrong;
		if (found->wrong)
			fail(l, r, OUTCOME_FAILED, MSG_gemm_rows_off, r->node, c->id,
			     tmpf("%lld", (long long)found->wrong),
			     tmpf("%lld", (long long)found->checked), tmpf("%d", a->row),
			     tmpf("%d", found->first_column), tmpf("%d", found->last_column));
	}
	error_release(&err);
}

static void say_card(const struct lead *l, int node, int card, const struct asked *a,
                     enum status came, const struct rows_answer *answer)
{
	const struct rows_card *c = &l->pledges[node].cards[card];
	struct reading wrong = about(l, node, c, WRONG), took = about(l, node, c, ANSWER_MS);
	struct freivalds_result found = {.row = -1};

	if (is_answer(l, c, card, a, came, answer, &wrong))
		check_row(l, c, a, answer, &found, &wrong);
	wrong.params = took.params = params_of(l, c, a, &found);
	took.value_kind = VALUE_NUMBER;
	took.value = a->ms;
	if (!isfinite(a->ms)) {
		took.value_kind = VALUE_NONE;
		took.outcome = wrong.outcome;
		took.reason = wrong.reason;
	}
	l->ctx->emit(l->ctx, &wrong);
	l->ctx->emit(l->ctx, &took);
}

/* --- one node ---------------------------------------------------------------------------------- */

static int64_t now_ns(const struct lead *l)
{
	return clock_now(l->self->clock);
}

/* Names a row of each product of the node; -1: it has none. */
static int *name_rows(struct lead *l, int node, struct asked *asked)
{
	const struct rows_pledge *p = &l->pledges[node];
	int *rows = arena_array(l->ctx->arena, (size_t)p->n_cards, sizeof(*rows));

	for (int c = 0; c < p->n_cards; c++) {
		struct asked *a = &asked[c];

		rows[c] = -1;
		if (p->cards[c].outcome != OUTCOME_MEASURED)
			continue;
		*a = (struct asked){.exam = &l->exams[p->cards[c].gpu], .ms = NAN};
		a->place = rows_exam_draw(a->exam);
		rows[c] = a->row = a->exam->check.rows[a->place];
	}
	return rows;
}

static enum status receive(const struct lead *l, int node, int card, struct asked *a,
                           struct rows_answer *answer)
{
	double left_s = LATE_TIMES * l->answer_s - (double)(now_ns(l) - a->at_ns) / 1e9;
	enum status st;

	if (node == 0)
		st = rows_node_answer(l->self, card, a->row, answer) ? ST_OK : ST_PARSE;
	else
		st = rows_recv_answer(l->ctx, node, left_s, answer);
	if (st == ST_OK || st == ST_PARSE)
		a->ms = (double)(now_ns(l) - a->at_ns) / 1e6;
	return st;
}

/* One node after the other: the answers of many would wait for each other. */
static void ask_node(struct lead *l, int node)
{
	const struct rows_pledge *p = &l->pledges[node];
	struct asked *asked = arena_array(l->ctx->arena, (size_t)p->n_cards, sizeof(*asked));
	int *rows = name_rows(l, node, asked);
	int64_t at_ns = now_ns(l);

	if (!p->driver)
		say_no_driver(l, node);
	if (node > 0)
		rows_send_order(l->ctx, node,
		                &(struct rows_order){
					.step = ROWS_SHOW, .rows = rows, .n_rows = p->n_cards});
	for (int c = 0; c < p->n_cards; c++) {
		struct rows_answer answer;
		enum status came;

		if (rows[c] < 0) {
			say_refused(l, node, &p->cards[c]);
			continue;
		}
		asked[c].at_ns = at_ns;
		came = receive(l, node, c, &asked[c], &answer);
		say_card(l, node, c, &asked[c], came, &answer);
	}
}

/* --- the course ---------------------------------------------------------------------------------- */

static void collect_pledges(struct lead *l)
{
	struct probe_ctx *ctx = l->ctx;
	double seconds = rows_node_seconds(ctx), patience_s = ctx->param_real(ctx, "patience_s");
	int64_t until = now_ns(l) + (int64_t)((seconds + patience_s) * 1e9);
	const struct rows_order order = {.step = ROWS_MULTIPLY, .seed = l->seed};

	for (int i = 1; i < ctx->n_peers; i++)
		rows_send_order(ctx, i, &order);
	rows_node_multiply(l->self, l->seed, seconds + patience_s / 2);
	l->pledges[0] = l->self->pledge;
	for (int i = 1; i < ctx->n_peers; i++) {
		double left_s = (double)(until - now_ns(l)) / 1e9;

		l->pledged[i] = rows_recv_pledge(ctx, i, left_s, &l->pledges[i]);
		ctx->simulated = ctx->simulated || l->pledges[i].simulated;
	}
}

static enum status open_exam(struct lead *l, bool gpu, struct error *err)
{
	struct rows_shape shape = rows_shape(l->ctx, gpu);
	int cards = 0;

	for (int i = 0; i < l->ctx->n_peers; i++)
		for (int c = 0; c < l->pledges[i].n_cards; c++)
			cards += l->pledges[i].cards[c].gpu == gpu &&
			         l->pledges[i].cards[c].outcome == OUTCOME_MEASURED;
	if (cards == 0)
		return ST_OK;
	return rows_exam_open(&l->exams[gpu], l->ctx->arena, &shape, cards, l->seed, l->secret,
	                      err);
}

static enum status lead(struct rows_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	size_t n = (size_t)ctx->n_peers;
	struct lead l = {.ctx = ctx, .self = self, .answer_s = ctx->param_real(ctx, "answer_s")};
	struct error err = {0};
	enum status st;

	l.pledges = arena_array(ctx->arena, n, sizeof(*l.pledges));
	l.pledged = arena_array(ctx->arena, n, sizeof(*l.pledged));
	if (getrandom(&l.seed, sizeof(l.seed), 0) != (ssize_t)sizeof(l.seed) ||
	    getrandom(&l.secret, sizeof(l.secret), 0) != (ssize_t)sizeof(l.secret))
		return ST_IO;
	collect_pledges(&l);
	st = open_exam(&l, false, &err);
	if (st == ST_OK)
		st = open_exam(&l, true, &err);
	for (int i = 0; i < ctx->n_peers && st == ST_OK; i++) {
		ctx->progress(ctx, STAGE_MEASURING, (double)i / ctx->n_peers, MSG_doing_gemm_rows);
		if (l.pledged[i] == ST_OK)
			ask_node(&l, i);
		else
			say_unpledged(&l, i);
	}
	for (int i = 1; i < ctx->n_peers; i++)
		rows_send_order(ctx, i, &(struct rows_order){.step = ROWS_OVER});
	for (int gpu = 0; gpu < 2; gpu++)
		rows_exam_release(&l.exams[gpu]);
	error_release(&err);
	return st;
}

/* --- the others --------------------------------------------------------------------------------- */

static enum status show(struct rows_node *self, const struct rows_order *order)
{
	enum status st = ST_OK;

	for (int c = 0; c < order->n_rows && st == ST_OK; c++) {
		struct rows_answer answer;

		if (rows_node_answer(self, c, order->rows[c], &answer))
			st = rows_send_answer(self->ctx, &answer);
	}
	return st;
}

/* Longer than the first node can be busy with others. */
static double longest_silence_s(struct probe_ctx *ctx)
{
	return rows_node_seconds(ctx) + ctx->param_real(ctx, "patience_s") +
	       ctx->n_peers * LATE_TIMES * ctx->param_real(ctx, "answer_s");
}

static enum status follow(struct rows_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	double longest = longest_silence_s(ctx), patience_s = ctx->param_real(ctx, "patience_s");
	struct rows_order order;

	for (;;) {
		enum status st = rows_recv_order(ctx, longest, &order);

		if (st != ST_OK || order.step == ROWS_OVER)
			return st;
		if (order.step == ROWS_SHOW) {
			st = show(self, &order);
		} else {
			rows_node_multiply(self, order.seed,
			                   rows_node_seconds(ctx) + patience_s / 2);
			st = rows_send_pledge(ctx, &self->pledge);
		}
		if (st != ST_OK)
			return st;
	}
}

static enum status alone(struct probe_ctx *ctx)
{
	struct reading r = reading_init();
	enum status st = ST_OK;

	r.subject.kind = SUBJECT_CARD;
	r.subject.id = CARDS_ALL;
	r.outcome = OUTCOME_NOT_MEASURED;
	reason_set(ctx, &r.reason, MSG_gemm_rows_alone);
	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		r.metric = m->name;
		st = ctx->emit(ctx, &r);
	}
	return st;
}

static enum status run(struct probe_ctx *ctx)
{
	struct rows_node *self;
	enum status st;

	if (ctx->n_peers < 2)
		return alone(ctx);
	self = arena_alloc(ctx->arena, sizeof(*self));
	*self = (struct rows_node){.ctx = ctx, .clock = ctx->clock};
	st = ctx->self_index == 0 ? lead(self) : follow(self);
	rows_node_release(self);
	return st;
}

static double duration(struct probe_ctx *ctx)
{
	return rows_node_seconds(ctx) +
	       ctx->n_peers * (ASK_NODE_S + rows_node_cards(ctx) * ASK_CARD_S);
}

/* clang-format off */
static const struct param params[] = {
	{"card_order", PARAM_INT, "1", {"2048", "4096", "4096"}, 128, 4096, NULL,
		MSG_help_gemm_rows_card_order},
	{"order", PARAM_INT, "1", {"512", "1024", "2048"}, 64, 2048, NULL,
		MSG_help_gemm_rows_order},
	{"answer_s", PARAM_REAL, "s", {"5", "5", "5"}, 0.001, 600, NULL,
		MSG_help_gemm_rows_answer},
	{"patience_s", PARAM_REAL, "s", {"30", "30", "60"}, 0.1, 3600, NULL,
		MSG_help_gemm_rows_patience},
	{0},
};

#define ROW_METRIC(name, unit, backend, formula) \
	{name, unit, BETTER_LOWER, SUBJECT_CARD, BACKEND_##backend, formula}
#define OFF "column blocks of the row named that miss their sums, of a product the card was " \
	"held to before; a host that rewrites Assay can feign it"
#define TOOK "from the naming of a row to its arrival, by the first node's clock"
static const struct metric metrics[] = {
	ROW_METRIC("gemm_rows_wrong", "1", CUDA, OFF),
	ROW_METRIC("gemm_rows_answer_ms", "ms", CUDA, TOOK),
	ROW_METRIC("cpu_gemm_rows_wrong", "1", CPU, OFF),
	ROW_METRIC("cpu_gemm_rows_answer_ms", "ms", CPU, TOOK),
	{0},
};
/* clang-format on */

const struct probe probe_gemm_rows = {
	.name = "gemm_rows",
	.title = MSG_probe_gemm_rows,
	.subject = SUBJECT_CARD,
	.phase = "groups",
	.exclusive = true,
	.all_nodes = true,
	.seconds = {10, 15, 15},
	.duration = duration,
	/* Nodes that are late, and rows that never come. */
	.extension_s = {60, 120, 120},
	.params = params,
	.metrics = metrics,
	.supported = gemm_supported,
	.run = run,
};
