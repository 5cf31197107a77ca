/* The course of training, as the first node has it: devices on all nodes, products
 * alone on all cards at once (the base, and the slowest card), a whole step without
 * sums, then groups: each node for itself, the first two nodes, four, eight, all. */
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/unit.h"
#include "stats/samples.h"
#include "training.h"

/* Of strong scaling: fewer rows a card are another measurement. */
#define LEAST_TOKENS 8
#define LEAST_STEPS  5
#define TRIAL_STEPS  3
/* Of steps that take longer than a run should; then one is enough to warm up. */
#define SLOW_STEPS 3

static bool blame(struct training_lead *l, enum outcome outcome, enum msg id,
                  const char *const *args)
{
	l->outcome = outcome;
	reason_set_list(l->ctx, &l->reason, id, args);
	return false;
}
#define missing(l, id, ...)                                                                        \
	blame(l, OUTCOME_NOT_MEASURED, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static const char *node_name(const struct training_lead *l, int i)
{
	return l->n > 1 ? l->ctx->peers[i] : l->ctx->node;
}

/* --- an order to nodes ----------------------------------------------------------------- */

static struct training_answer *answers_for(const struct training_lead *l)
{
	return arena_array(l->ctx->arena, (size_t)l->n, sizeof(struct training_answer));
}

/* Of several that are missing one is told that did not only wait for others. */
static bool all_are_there(struct training_lead *l, const struct training_answer *answers, int n)
{
	int count = 0, told = -1;

	for (int i = 0; i < n; i++) {
		if (answers[i].outcome == OUTCOME_MEASURED)
			continue;
		count++;
		if (told < 0 || (answers[told].waited && !answers[i].waited))
			told = i;
	}
	if (count == 0)
		return true;
	return blame(l, answers[told].outcome,
	             count == 1 ? MSG_training_missing : MSG_training_missing_more,
	             (const char *const[]){node_name(l, told), answers[told].why,
	                                   count > 1 ? tmpf("%d", count - 1) : NULL, NULL});
}

static double step_limit_s(const struct training_lead *l, const struct training_order *o)
{
	double patience = l->ctx->param_real(l->ctx, "patience_s");

	if (o->step == TRAINING_READY)
		return 120 + patience;
	/* Of a run that takes longer than planned, a hang is known by its own limit. */
	return 2 * l->ctx->param_real(l->ctx, "timeout_s") +
	       2 * l->ctx->param_real(l->ctx, "run_s") + patience;
}

int training_count(const struct training_lead *l, int nodes)
{
	int cards = 0;

	for (int i = 0; i < nodes; i++)
		cards += l->ready[i].n_cards;
	return cards;
}

/* To the first n nodes. */
static bool tell(struct training_lead *l, struct training_order o, int n,
                 struct training_answer *answers)
{
	struct probe_ctx *ctx = l->ctx;
	int64_t until =
		clock_now(l->self->clock) + (int64_t)(step_limit_s(l, &o) * (double)NS_PER_S);

	o.clock_s = training_clock(l->self);
	for (int i = n - 1; i >= 0; i--) {
		o.first = o.step == TRAINING_JOIN && o.nodes > 1 ? training_count(l, i) : 0;
		if (i > 0)
			training_send_order(ctx, i, &o);
	}
	training_node_do(l->self, &o, &answers[0]);
	for (int i = 1; i < n; i++)
		training_recv_answer(
			ctx, i, fmax((double)(until - clock_now(l->self->clock)) / NS_PER_S, 0.1),
			&answers[i]);
	for (int i = 1; i < n; i++)
		training_meet_clock(l->self, answers[i].clock_s);
	return all_are_there(l, answers, n);
}

/* --- runs -------------------------------------------------------------------------------- */

/* The step of the job: of its slowest node in each. */
static bool job_steps(struct training_lead *l, const struct training_answer *answers, int n,
                      double **steps, int *count)
{
	int least = answers[0].n_steps;

	for (int i = 0; i < n; i++)
		least = answers[i].n_steps < least ? answers[i].n_steps : least;
	if (least < 1)
		return missing(l, MSG_training_missing, node_name(l, 0),
		               arena_str(l->ctx->arena, say(MSG_training_garbled)));
	*steps = arena_array(l->ctx->arena, (size_t)least, sizeof(**steps));
	for (int s = 0; s < least; s++)
		for (int i = 0; i < n; i++)
			(*steps)[s] = fmax((*steps)[s], answers[i].steps[s]);
	*count = least;
	return true;
}

static bool run_mode(struct training_lead *l, enum training_mode mode, int n, int tokens,
                     bool together, struct training_answer *answers)
{
	return tell(l,
	            (struct training_order){.step = TRAINING_RUN,
	                                    .mode = mode,
	                                    .tokens = tokens,
	                                    .warm = l->warm,
	                                    .steps = l->steps,
	                                    .together = together},
	            n, answers);
}

static bool run_pace(struct training_lead *l, enum training_mode mode, int n, int tokens,
                     double *pace)
{
	struct training_answer *answers = answers_for(l);
	double *steps;
	int count;

	if (!run_mode(l, mode, n, tokens, true, answers) ||
	    !job_steps(l, answers, n, &steps, &count))
		return false;
	*pace = scaling_pace(steps, (size_t)count, NULL);
	return true;
}

/* Median over all cards of the nodes of their median steps. */
static double median_card(const struct training_answer *answers, int n)
{
	struct samples s = {0};
	double middle;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < answers[i].n_cards; k++)
			samples_add(&s, answers[i].cards[k].step_s);
	middle = median(s.value, s.n);
	samples_release(&s);
	return middle;
}

static double slowest_card(const struct training_answer *answers, int n)
{
	double slowest = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < answers[i].n_cards; k++)
			slowest = fmax(slowest, answers[i].cards[k].step_s);
	return slowest;
}

/* --- one card ------------------------------------------------------------------------------ */

static bool make_ready(struct training_lead *l)
{
	int most = 0;

	if (!tell(l, (struct training_order){.step = TRAINING_READY}, l->n, l->ready))
		return false;
	l->gpus = l->ready[0].gpus;
	for (int i = 0; i < l->n; i++) {
		l->simulated |= l->ready[i].simulated;
		most = l->ready[i].n_cards > most ? l->ready[i].n_cards : most;
		if (l->ready[i].gpus != l->gpus)
			return missing(l, MSG_training_mixed, node_name(l, 0), node_name(l, i));
		if (l->ready[i].n_cards < 1)
			return missing(l, MSG_training_missing, node_name(l, i),
			               arena_str(l->ctx->arena, say(MSG_training_garbled)));
	}
	l->ctx->simulated |= l->simulated;
	l->cards = training_count(l, l->n);
	/* The base of strong scaling: one node, of one node one card. */
	l->strong_cards = l->n > 1 ? most : 1;
	return true;
}

/* Steps that fill a run, by a trial. */
static bool choose_steps(struct training_lead *l)
{
	struct training_answer *answers = answers_for(l);
	double run_s = l->ctx->param_real(l->ctx, "run_s"), one;
	int most = (int)l->ctx->param_int(l->ctx, "steps");

	l->warm = (int)l->ctx->param_int(l->ctx, "warm");
	l->steps = TRIAL_STEPS;
	if (!run_mode(l, TRAINING_PRODUCTS, l->n, l->tokens, false, answers))
		return false;
	one = median_card(answers, l->n);
	l->steps = run_s / one < most ? (int)(run_s / one) : most;
	l->steps = l->steps < LEAST_STEPS ? LEAST_STEPS : l->steps;
	l->steps = l->most_steps = l->steps > most ? most : l->steps;
	return true;
}

/* Steps with sums may take many times as long: a trial of sums tells. Where even a few
 * would look like a hang there is no figure. */
static bool choose_group_steps(struct training_lead *l, int n)
{
	double run_s = l->ctx->param_real(l->ctx, "run_s"), sums_s, one;
	double limit_s = 2 * l->ctx->param_real(l->ctx, "timeout_s") + run_s;

	l->warm = 1;
	l->steps = TRIAL_STEPS;
	if (!run_pace(l, TRAINING_SUMS, n, l->tokens, &sums_s))
		return false;
	one = l->base_s + sums_s;
	if (one * (SLOW_STEPS + 1) > limit_s)
		return missing(l, MSG_training_slow, fmt_duration(one), fmt_duration(sums_s));
	l->steps = run_s / one < l->most_steps ? (int)(run_s / one) : l->most_steps;
	if (l->steps < LEAST_STEPS)
		l->steps = one > run_s ? SLOW_STEPS : LEAST_STEPS;
	else
		l->warm = (int)l->ctx->param_int(l->ctx, "warm");
	l->warm = l->warm > l->steps ? l->steps : l->warm;
	return true;
}

static bool measure_cards(struct training_lead *l)
{
	struct training_answer *answers = answers_for(l);

	if (!choose_steps(l) ||
	    !run_mode(l, TRAINING_PRODUCTS, l->n, l->tokens, false, l->products))
		return false;
	l->base_s = median_card(l->products, l->n);
	if (!run_mode(l, TRAINING_ALONE, l->n, l->tokens, false, answers))
		return false;
	l->serial_s = fmax(median_card(answers, l->n) - l->base_s, 0);
	if (!(l->base_s > 0))
		return missing(l, MSG_training_missing, node_name(l, 0),
		               arena_str(l->ctx->arena, say(MSG_training_garbled)));
	return true;
}

/* --- groups --------------------------------------------------------------------------------- */

static bool check_sums(struct training_lead *l, int n)
{
	struct training_answer *answers = answers_for(l);

	if (!tell(l, (struct training_order){.step = TRAINING_CHECK, .turn = ++l->turn}, n,
	          answers))
		return false;
	for (int i = 0; i < n; i++) {
		l->checked += answers[i].checked;
		for (int k = 0; k < answers[i].n_cards; k++) {
			double wrong = answers[i].cards[k].wrong;

			if (wrong > 0 && l->wrong == 0)
				l->wrong_at = arena_strf(l->ctx->arena, "%s %s", node_name(l, i),
				                         answers[i].cards[k].id);
			l->wrong += wrong;
		}
	}
	/* A step whose sums are wrong has no speed. */
	return l->wrong == 0 ||
	       blame(l, OUTCOME_FAILED, MSG_training_wrong,
	             (const char *const[]){tmpf("%.0f", l->wrong), tmpf("%.0f", l->checked),
	                                   l->wrong_at, NULL});
}

static bool join(struct training_lead *l, int nodes, int n)
{
	struct training_answer *named = answers_for(l);
	struct training_order o = {.step = TRAINING_JOIN,
	                           .nodes = nodes,
	                           .ranks = nodes > 1 ? training_count(l, nodes) : 0};

	if (nodes > 1 && l->gpus) {
		if (!tell(l, (struct training_order){.step = TRAINING_ID}, 1, named))
			return false;
		o.id = named[0].id;
	}
	return tell(l, o, n, named) && check_sums(l, n) && choose_group_steps(l, n);
}

/* Each node for itself: what sums within it cost. */
static bool measure_node(struct training_lead *l)
{
	struct training_answer *answers = answers_for(l);
	struct samples longer = {0}, steps = {0};

	if (!join(l, 1, l->n) || !run_mode(l, TRAINING_OVERLAP, l->n, l->tokens, true, answers))
		return false;
	for (int i = 0; i < l->n; i++) {
		double with = scaling_pace(answers[i].steps, (size_t)answers[i].n_steps, NULL);
		double alone =
			scaling_pace(l->products[i].steps, (size_t)l->products[i].n_steps, NULL);

		samples_add(&longer, fmax(with - alone - l->serial_s, 0));
		samples_add(&steps, with);
	}
	l->node_s = median(longer.value, longer.n);
	l->node_step_s = median(steps.value, steps.n);
	samples_release(&longer);
	samples_release(&steps);
	return check_sums(l, l->n) &&
	       (l->n == 1 ||
	        tell(l, (struct training_order){.step = TRAINING_LEAVE}, l->n, answers));
}

static void find_loss(struct training_lead *l, struct training_size *s)
{
	double *paced;
	int count;

	if (!job_steps(l, l->products, s->nodes, &paced, &count))
		return;
	s->products_s = scaling_pace(paced, (size_t)count, NULL);
	scaling_split(
		&(struct scaling_levels){.base_s = l->base_s,
	                                 .serial_s = l->serial_s,
	                                 .slowest_s = slowest_card(l->products, s->nodes),
	                                 .paced_s = s->products_s,
	                                 .node_s = s->nodes > 1 ? l->node_s : s->step_s - l->base_s,
	                                 .step_s = s->step_s},
		&s->loss);
	s->weak = l->base_s / s->step_s;
	s->of_node = s->nodes > 1 && l->node_step_s > 0 ? l->node_step_s / s->step_s : NAN;
	s->overlap = scaling_overlap(s->products_s, s->sums_s, s->step_s);
}

static double work_of(const struct training_answer *answers, int n)
{
	double longest = 0;

	for (int i = 0; i < n; i++)
		longest = fmax(longest, answers[i].work_s);
	return longest;
}

/* The same tokens in all, on more cards. */
static bool measure_strong(struct training_lead *l, struct training_size *s)
{
	double share = (double)l->tokens * l->strong_cards / s->cards, pace;

	s->strong = NAN;
	s->strong_tokens = (int)fmin(floor(share), l->tokens);
	if (s->strong_tokens < LEAST_TOKENS)
		return true;
	if (s->strong_tokens == l->tokens) {
		s->strong = s->weak;
		return true;
	}
	if (!run_pace(l, TRAINING_OVERLAP, s->nodes, s->strong_tokens, &pace))
		return false;
	/* Tokens a second of a card, of those of the base. */
	s->strong = s->strong_tokens / pace / (l->tokens / l->base_s);
	return true;
}

/* Of the group that has joined. */
static bool measure_group(struct training_lead *l, int nodes)
{
	struct training_answer *answers = answers_for(l);
	struct training_size s = {
		.nodes = nodes, .cards = training_count(l, nodes), .sums_s = NAN, .serial_s = NAN};
	double *sorted;

	if (!run_pace(l, TRAINING_SUMS, nodes, l->tokens, &s.sums_s) ||
	    !run_mode(l, TRAINING_OVERLAP, nodes, l->tokens, true, answers) ||
	    !job_steps(l, answers, nodes, &s.steps, &s.n_steps))
		return false;
	s.step_s = scaling_pace(s.steps, (size_t)s.n_steps, &s.half_s);
	sorted = sorted_copy(s.steps, (size_t)s.n_steps);
	s.p50_s = quantile(sorted, (size_t)s.n_steps, 0.5);
	s.p99_s = quantile(sorted, (size_t)s.n_steps, 0.99);
	free(sorted);
	s.work_ratio = work_of(answers, nodes) / work_of(l->products, nodes);
	find_loss(l, &s);
	if ((nodes == l->n && !run_pace(l, TRAINING_SERIAL, nodes, l->tokens, &s.serial_s)) ||
	    !measure_strong(l, &s) || !check_sums(l, nodes) ||
	    !tell(l, (struct training_order){.step = TRAINING_LEAVE}, nodes, answers))
		return false;
	l->sizes[l->n_sizes++] = s;
	return true;
}

static bool measure_groups(struct training_lead *l)
{
	bool all = *l->ctx->param_word(l->ctx, "sizes") == 'd', ones = l->cards == l->n;

	/* Nodes of one card have nothing to sum within. */
	if (!ones && !measure_node(l))
		return false;
	if (l->n == 1)
		return measure_group(l, 1);
	if (!ones && (!join(l, 1, 1) || !measure_group(l, 1)))
		return false;
	for (int nodes = 2; nodes < l->n && all && clock_now(l->self->clock) < l->half_ns;
	     nodes *= 2) {
		l->ctx->progress(l->ctx, STAGE_MEASURING, (double)nodes / (2 * l->n),
		                 MSG_doing_training);
		if (!join(l, nodes, nodes) || !measure_group(l, nodes))
			return false;
	}
	return join(l, l->n, l->n) && measure_group(l, l->n);
}

static bool measure(struct training_lead *l)
{
	/* Of one node without cards nothing need be opened to know. */
	if (l->n == 1 && !l->gpus)
		return missing(l, MSG_training_one);
	l->ctx->progress(l->ctx, STAGE_PREPARING, -1, MSG_doing_training);
	if (!make_ready(l))
		return false;
	if (l->cards < 2)
		return missing(l, MSG_training_one);
	l->ctx->progress(l->ctx, STAGE_MEASURING, 0.1, MSG_doing_training);
	return measure_cards(l) && measure_groups(l);
}

void training_lead(struct training_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	int n = ctx->n_peers > 1 ? ctx->n_peers : 1;
	struct training_lead *l = arena_alloc(ctx->arena, sizeof(*l));

	*l = (struct training_lead){
		.ctx = ctx,
		.self = self,
		.n = n,
		.tokens = self->shape.tokens,
		/* Of a cluster of GPUs whose first node has none, it is said so. */
		.gpus = self->back == &training_cards};
	l->ready = answers_for(l);
	l->products = answers_for(l);
	l->half_ns = clock_now(self->clock) / 2 + self->deadline_ns / 2;
	if (measure(l))
		l->reason.code = NULL;
	training_say(l);
	training_say_rest(l);
	for (int i = 1; i < n; i++)
		training_send_order(ctx, i, &(struct training_order){.step = TRAINING_OVER});
}
