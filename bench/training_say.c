/* Readings of training: the efficiency with all that explains it, what the rest of the
 * step goes to and who is to blame, cards and nodes by themselves, and what it would
 * be at more cards. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "base/unit.h"
#include "stats/samples.h"
#include "stats/summary.h"
#include "training.h"

/* Losses below are not told; below the second one nobody is named for them: healthy
 * cards differ too. */
#define WORTH_TELLING 0.005
#define WORTH_NAMING  0.03
#define QUICK         0.1

/* clang-format off */
#define ALL(name, unit, better, backend, formula) \
	{name, unit, BETTER_##better, SUBJECT_CLUSTER, BACKEND_##backend, formula}
#define LOSS(name, what) \
	{"training_loss_" name, "1", BETTER_LOWER, SUBJECT_CLUSTER, BACKEND_CUDA, \
		what ", as a share of the step of all cards; the five shares and the efficiency add up to 1"}
const struct metric training_metrics[] = {
	ALL("training_scaling_efficiency", "1", HIGHER, CUDA,
		"steps/s of n cards / (n x median of one card with all cards of its node busy); fixed "
		"work per card; of steps without the longest one"),
	ALL("training_strong_efficiency", "1", HIGHER, CUDA,
		"tokens/s of a card of all / of the base card, when all cards share the tokens of one "
		"node's cards, of one node those of one card"),
	ALL("training_node_efficiency", "1", HIGHER, CUDA,
		"step of the median node by itself / step of all nodes"),
	ALL("training_step_ms", "ms", LOWER, CUDA,
		"mean step of all cards, each as long as on its slowest card, without the longest one; "
		"sums overlapped with products"),
	ALL("training_card_tflops", "TFLOP/s", HIGHER, CUDA,
		"6 x tokens x width^2 x layers x accumulate / that step: what a card gets done while all "
		"work at one model; products alone count"),
	ALL("training_overlap", "1", HIGHER, CUDA,
		"1 - (step - products alone) / sums alone, within 0 to 1"),
	ALL("training_skew", "1", LOWER, CUDA,
		"(slowest - fastest card) / median card, by the median of their steps without sums"),
	LOSS("serial", "optimiser after the last bucket and what one card cannot overlap"),
	LOSS("slow_card", "slowest card's median products - median card's"),
	LOSS("jitter", "mean over steps of the slowest card in each - median of the slowest card"),
	LOSS("intra_node", "by which sums within the median node lengthen its step"),
	LOSS("fabric", "the rest: what sums between nodes add"),
	{"training_shortfall", "text", BETTER_NEITHER, SUBJECT_CLUSTER, BACKEND_CUDA,
		"the losses in words, the largest first, with the slowest card and the least steady node"},
	ALL("training_projected_efficiency", "1", HIGHER, CUDA,
		"1 / (1 + a + b log2 n) of a project of n cards, fitted to the losses of 3 sizes or "
		"more; interval: Student 95 % of it, and down to Amdahl's fit; information"),
	ALL("training_wrong_elements", "1", LOWER, CUDA,
		"64-bit elements of gradients that differ from their known sum, on all cards"),
	{"training_card_pace", "1", BETTER_HIGHER, SUBJECT_CARD, BACKEND_CUDA,
		"median card's step without sums / this card's"},
	{"training_node_stall", "1", BETTER_LOWER, SUBJECT_NODE, BACKEND_CUDA,
		"1 - 10th percentile / mean of a node's steps without sums, the longest one left out"},
	ALL("cpu_training_scaling_efficiency", "1", HIGHER, CPU,
		"as training_scaling_efficiency, of a CPU socket a node over TCP: shows that it works"),
	ALL("cpu_training_step_ms", "ms", LOWER, CPU, "as training_step_ms, of CPU sockets over TCP"),
	ALL("cpu_training_overlap", "1", HIGHER, CPU, "as training_overlap, of CPU sockets over TCP"),
	ALL("cpu_training_wrong_elements", "1", LOWER, CPU,
		"elements of gradients that differ from their known sum, on all nodes"),
	{0}};
/* clang-format on */

/* --- readings ---------------------------------------------------------------------------- */

static int place_of(const char *metric)
{
	int i = 0;

	while (strcmp(training_metrics[i].name, metric) != 0)
		i++;
	return i;
}

/* "cpu_" before it where there are no cards. */
static const char *named(const struct training_lead *l, const char *metric)
{
	return l->gpus ? metric : arena_strf(l->ctx->arena, "cpu_%s", metric);
}

static const char *node_name(const struct training_lead *l, int i)
{
	return l->n > 1 ? l->ctx->peers[i] : l->ctx->node;
}

static struct reading blank(struct training_lead *l, const char *metric)
{
	struct reading r = reading_init();
	int place = place_of(metric);

	r.metric = training_metrics[place].name;
	r.subject.kind = training_metrics[place].subject;
	r.subject.id = CARDS_ALL;
	l->said |= (uint64_t)1 << place;
	return r;
}

static struct reading number(struct training_lead *l, const char *metric, double value)
{
	struct reading r = blank(l, metric);

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	return r;
}

static void emit_missing(struct training_lead *l, const char *metric, enum msg id,
                         const char *argument)
{
	struct reading r = blank(l, metric);

	r.outcome = OUTCOME_NOT_MEASURED;
	reason_set(l->ctx, &r.reason, id, argument);
	l->ctx->emit(l->ctx, &r);
}

static void owe(struct training_lead *l, int place, int node)
{
	struct reading r = blank(l, training_metrics[place].name);

	if (r.subject.kind != SUBJECT_CLUSTER)
		r.node = node_name(l, node);
	if (r.subject.kind == SUBJECT_NODE)
		r.subject.id = r.node;
	r.outcome = OUTCOME_NOT_MEASURED;
	if (training_metrics[place].backend == BACKEND_CUDA && !l->gpus)
		cards_reason(l->ctx, &r.reason);
	else if (l->reason.code)
		r.reason = l->reason;
	else
		reason_set(l->ctx, &r.reason, MSG_training_no_size);
	/* What stopped all of them is not each card's or each node's fault. */
	if (r.subject.kind == SUBJECT_CLUSTER && r.reason.code == l->reason.code && l->reason.code)
		r.outcome = l->outcome;
	l->ctx->emit(l->ctx, &r);
}

void training_say_rest(struct training_lead *l)
{
	for (int i = 0; training_metrics[i].name; i++) {
		bool each = training_metrics[i].subject != SUBJECT_CLUSTER;

		/* Of CPUs nothing is owed where there are cards. */
		if (l->said >> i & 1 || (training_metrics[i].backend == BACKEND_CPU && l->gpus))
			continue;
		for (int node = 0; node < (each ? l->n : 1); node++)
			owe(l, i, node);
	}
}

static const char *kept(struct training_lead *l, struct json_out *j)
{
	const char *text;

	json_object_end(j);
	text = arena_str(l->ctx->arena, j->out->data);
	str_release(j->out);
	return text;
}

/* --- who it was ----------------------------------------------------------------------------- */

struct culprits {
	int slow_node, slow_card, fast_node, fast_card; /* by their median products */
	int unsteady;                                   /* node */
	double stall;
};

static double card_s(const struct training_lead *l, int node, int card)
{
	return l->products[node].cards[card].step_s;
}

/* Not by the median: a node that is slow in every second step would be steady. */
static double quick_s(const struct training_answer *a)
{
	double *sorted = sorted_copy(a->steps, (size_t)a->n_steps);
	double quick = quantile(sorted, (size_t)a->n_steps, QUICK);

	free(sorted);
	return quick;
}

static double stall_of(const struct training_answer *a)
{
	double pace = scaling_pace(a->steps, (size_t)a->n_steps, NULL);

	return fmax(1 - quick_s(a) / pace, 0);
}

static struct culprits find_culprits(const struct training_lead *l)
{
	struct culprits c = {.stall = -1};

	for (int i = 0; i < l->n; i++) {
		double stall = stall_of(&l->products[i]);

		if (stall > c.stall) {
			c.stall = stall;
			c.unsteady = i;
		}
		for (int k = 0; k < l->products[i].n_cards; k++) {
			if (card_s(l, i, k) > card_s(l, c.slow_node, c.slow_card)) {
				c.slow_node = i;
				c.slow_card = k;
			}
			if (card_s(l, i, k) < card_s(l, c.fast_node, c.fast_card)) {
				c.fast_node = i;
				c.fast_card = k;
			}
		}
	}
	return c;
}

static const char *slowest_name(const struct training_lead *l, const struct culprits *c)
{
	const struct training_card *card = &l->ready[c->slow_node].cards[c->slow_card];

	return arena_strf(l->ctx->arena, "%s %s%s%s%s", node_name(l, c->slow_node), card->id,
	                  card->pci ? " (" : "", card->pci ? card->pci : "", card->pci ? ")" : "");
}

/* --- parameters --------------------------------------------------------------------------- */

static void put_loss(struct json_out *j, const struct scaling_loss *loss)
{
	json_object_begin(j, "loss_ms");
	json_put_number(j, "serial", loss->serial * 1e3);
	json_put_number(j, "slow_card", loss->slow_card * 1e3);
	json_put_number(j, "jitter", loss->jitter * 1e3);
	json_put_number(j, "intra_node", loss->intra_node * 1e3);
	json_put_number(j, "fabric", loss->fabric * 1e3);
	json_object_end(j);
}

static void put_size(struct json_out *j, const struct training_size *s)
{
	json_object_begin(j, NULL);
	json_put_int(j, "nodes", s->nodes);
	json_put_int(j, "cards", s->cards);
	json_put_number(j, "step_ms", s->step_s * 1e3);
	json_put_number(j, "p50_ms", s->p50_s * 1e3);
	json_put_number(j, "p99_ms", s->p99_s * 1e3);
	json_put_number(j, "sums_ms", s->sums_s * 1e3);
	json_put_number(j, "products_ms", s->products_s * 1e3);
	json_put_number(j, "one_after_the_other_ms", s->serial_s * 1e3);
	json_put_number(j, "weak", s->weak);
	json_put_number(j, "strong", s->strong);
	json_put_int(j, "strong_tokens", s->strong_tokens);
	json_put_number(j, "of_node", s->of_node);
	json_put_number(j, "overlap", s->overlap);
	json_put_number(j, "products_beside_sums", s->work_ratio);
	put_loss(j, &s->loss);
	json_object_end(j);
}

static const char *transport(const struct training_lead *l)
{
	if (!l->gpus)
		return "TCP over sockets, CPUs as cards: shows that it works, judges no card";
	return l->n > 1 ? "NCCL, one communicator over all cards of all nodes"
	                : "NCCL within the node";
}

static void put_model(struct json_out *j, const struct training_lead *l)
{
	const struct training_shape *shape = &l->self->shape;

	json_put_string(j, "transport", transport(l));
	json_put_string(j, "library", l->ready[0].library);
	json_put_string(j, "format", l->ready[0].format);
	json_put_int(j, "layers", shape->layers);
	json_put_int(j, "width", shape->width);
	json_put_int(j, "tokens", l->tokens);
	json_put_int(j, "accumulate", shape->accumulate);
	json_put_int(j, "bucket", l->ctx->param_int(l->ctx, l->gpus ? "bucket" : "cpu_bucket"));
	json_put_string(j, "baseline",
	                "median card's products alone, all cards of all nodes at work");
	json_put_number(j, "base_ms", l->base_s * 1e3);
	json_put_int(j, "strong_base_cards", l->strong_cards);
	json_put_int(j, "steps", l->steps);
}

static const char *model_params(struct training_lead *l, const struct training_size *s)
{
	struct culprits c = find_culprits(l);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "nodes", s->nodes);
	json_put_int(&j, "cards", s->cards);
	put_model(&j, l);
	json_put_string(&j, "slowest_card", slowest_name(l, &c));
	json_put_number(&j, "slowest_card_ms", card_s(l, c.slow_node, c.slow_card) * 1e3);
	json_put_string(&j, "least_steady_node", node_name(l, c.unsteady));
	json_array_begin(&j, "curve");
	for (int i = 0; i < l->n_sizes; i++)
		put_size(&j, &l->sizes[i]);
	json_array_end(&j);
	return kept(l, &j);
}

/* --- figures of all ------------------------------------------------------------------------- */

static void say_efficiency(struct training_lead *l, const struct training_size *s,
                           const char *params)
{
	struct reading r = number(l, named(l, "training_scaling_efficiency"), s->weak);
	struct str csv = {0};

	r.params = params;
	if (isfinite(s->half_s) && s->half_s < s->step_s) {
		r.stats[STAT_CI_LO] = l->base_s / (s->step_s + s->half_s);
		r.stats[STAT_CI_HI] = l->base_s / (s->step_s - s->half_s);
	}
	str_add(&csv, "nodes,cards,step_ms,p99_ms,weak,strong,overlap,base_ms,serial_ms,"
	              "slow_card_ms,jitter_ms,intra_node_ms,fabric_ms\n");
	for (int i = 0; i < l->n_sizes; i++) {
		const struct training_size *k = &l->sizes[i];
		const struct scaling_loss *loss = &k->loss;

		str_addf(&csv, "%d,%d,%.6g,%.6g,%.6g,", k->nodes, k->cards, k->step_s * 1e3,
		         k->p99_s * 1e3, k->weak);
		if (isfinite(k->strong))
			str_addf(&csv, "%.6g", k->strong);
		str_addf(&csv, ",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g\n", k->overlap, l->base_s * 1e3,
		         loss->serial * 1e3, loss->slow_card * 1e3, loss->jitter * 1e3,
		         loss->intra_node * 1e3, loss->fabric * 1e3);
	}
	l->ctx->save_raw(l->ctx, "training-curve.csv", csv.data, csv.len, &r.raw);
	l->ctx->emit(l->ctx, &r);
	str_release(&csv);
}

static void say_step(struct training_lead *l, const struct training_size *s, const char *params)
{
	struct reading r = number(l, named(l, "training_step_ms"), s->step_s * 1e3);
	struct samples ms = {0};
	struct str csv = {0};

	str_add(&csv, "cards,step,ms\n");
	for (int i = 0; i < l->n_sizes; i++)
		for (int k = 0; k < l->sizes[i].n_steps; k++)
			str_addf(&csv, "%d,%d,%.6g\n", l->sizes[i].cards, k,
			         l->sizes[i].steps[k] * 1e3);
	for (int k = 0; k < s->n_steps; k++)
		samples_add(&ms, s->steps[k] * 1e3);
	samples_to_stats(&ms, NULL, r.stats);
	r.params = params;
	l->ctx->save_raw(l->ctx, "training-steps.csv", csv.data, csv.len, &r.raw);
	l->ctx->emit(l->ctx, &r);
	samples_release(&ms);
	str_release(&csv);
}

/* Forward a product a layer and pass, backward two: 6 FLOP a token and parameter. */
static void say_work(struct training_lead *l, const struct training_size *s, const char *params)
{
	const struct training_shape *shape = &l->self->shape;
	double tera =
		6e-12 * l->tokens * shape->width * shape->width * shape->layers * shape->accumulate;
	struct reading r = number(l, "training_card_tflops", tera / s->step_s);

	r.params = params;
	if (isfinite(s->half_s) && s->half_s < s->step_s) {
		r.stats[STAT_CI_LO] = tera / (s->step_s + s->half_s);
		r.stats[STAT_CI_HI] = tera / (s->step_s - s->half_s);
	}
	l->ctx->emit(l->ctx, &r);
}

static void say_wrong(struct training_lead *l)
{
	struct reading r = number(l, named(l, "training_wrong_elements"), l->wrong);
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_number(&j, "checked", l->checked);
	json_put_string(&j, "first_at", l->wrong_at);
	r.params = kept(l, &j);
	l->ctx->emit(l->ctx, &r);
}

static void say_plain(struct training_lead *l, const char *metric, double value, const char *params)
{
	struct reading r;

	if (!isfinite(value)) {
		emit_missing(l, metric, MSG_training_no_size, NULL);
		return;
	}
	r = number(l, metric, value);
	r.params = params;
	l->ctx->emit(l->ctx, &r);
}

/* --- what it is lost to ---------------------------------------------------------------------- */

struct cause {
	const char *metric;
	enum msg text;
	double share;
};
#define CAUSES 5

static int by_share(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return x->share > y->share ? -1 : x->share < y->share;
}

static void causes_of(const struct training_size *s, struct cause causes[CAUSES])
{
	const struct scaling_loss *loss = &s->loss;
	const struct cause all[CAUSES] = {
		{"training_loss_serial", MSG_training_serial, loss->serial},
		{"training_loss_slow_card", MSG_training_slow_card, loss->slow_card},
		{"training_loss_jitter", MSG_training_jitter, loss->jitter},
		{"training_loss_intra_node", MSG_training_intra_node, loss->intra_node},
		{"training_loss_fabric", MSG_training_fabric, loss->fabric},
	};

	for (int i = 0; i < CAUSES; i++) {
		causes[i] = all[i];
		causes[i].share = all[i].share / s->step_s;
	}
}

static void say_shortfall(struct training_lead *l, const struct training_size *s,
                          const struct cause *causes)
{
	struct culprits c = find_culprits(l);
	const char *who[2] = {slowest_name(l, &c), node_name(l, c.unsteady)};
	struct reading r = blank(l, "training_shortfall");
	struct str text = {0};

	str_addf(&text, "%.1f %% of the speed of %d cards", s->weak * 100, s->cards);
	for (int i = 0; i < CAUSES; i++) {
		const char *name = causes[i].text == MSG_training_slow_card ? who[0]
		                   : causes[i].text == MSG_training_jitter  ? who[1]
		                                                            : NULL;

		if (causes[i].share < WORTH_TELLING)
			break;
		if (causes[i].share < WORTH_NAMING)
			name = NULL;
		str_addf(&text, "; %s %.1f %%%s%s", say(causes[i].text), causes[i].share * 100,
		         name ? ": " : "", name ? name : "");
	}
	r.value_kind = VALUE_TEXT;
	r.text = arena_str(l->ctx->arena, text.data);
	l->ctx->emit(l->ctx, &r);
	str_release(&text);
}

static void say_losses(struct training_lead *l, const struct training_size *s, const char *params)
{
	struct cause causes[CAUSES];

	causes_of(s, causes);
	for (int i = 0; i < CAUSES; i++)
		say_plain(l, causes[i].metric, causes[i].share, params);
	qsort(causes, CAUSES, sizeof(*causes), by_share);
	say_shortfall(l, s, causes);
}

static void say_projection(struct training_lead *l, const char *params)
{
	double cards[TRAINING_SIZES_MOST], loss[TRAINING_SIZES_MOST];
	int to = (int)l->ctx->param_int(l->ctx, "project_cards");
	struct scaling_projection p;
	struct reading r;

	for (int i = 0; i < l->n_sizes; i++) {
		cards[i] = l->sizes[i].cards;
		loss[i] = l->sizes[i].step_s / l->base_s - 1;
	}
	if (scaling_project(cards, loss, (size_t)l->n_sizes, to, &p) != ST_OK) {
		emit_missing(l, "training_projected_efficiency", MSG_training_few_sizes,
		             tmpf("%d", l->n_sizes));
		return;
	}
	r = number(l, "training_projected_efficiency", p.efficiency);
	r.stats[STAT_CI_LO] = p.lo;
	r.stats[STAT_CI_HI] = p.hi;
	r.params = arena_strf(l->ctx->arena,
	                      "{\"cards\":%d,\"sizes\":%d,\"serial_share\":%.6g,\"curve_of\":%s}",
	                      to, l->n_sizes, p.serial_share, params ? "\"training\"" : "null");
	l->ctx->emit(l->ctx, &r);
}

/* --- cards and nodes -------------------------------------------------------------------------- */

static void say_cards(struct training_lead *l)
{
	for (int i = 0; i < l->n; i++)
		for (int k = 0; k < l->products[i].n_cards && k < l->ready[i].n_cards; k++) {
			const struct training_card *card = &l->ready[i].cards[k];
			struct reading r =
				number(l, "training_card_pace", l->base_s / card_s(l, i, k));

			r.node = node_name(l, i);
			r.subject.id = card->id;
			r.subject.pci = card->pci;
			r.subject.index = card->index;
			r.params = arena_strf(l->ctx->arena, "{\"step_ms\":%.6g,\"base_ms\":%.6g}",
			                      card_s(l, i, k) * 1e3, l->base_s * 1e3);
			l->ctx->emit(l->ctx, &r);
		}
}

static void say_nodes(struct training_lead *l)
{
	for (int i = 0; i < l->n; i++) {
		const struct training_answer *a = &l->products[i];
		struct reading r = number(l, "training_node_stall", stall_of(a));

		r.node = r.subject.id = node_name(l, i);
		r.params =
			arena_strf(l->ctx->arena, "{\"steps\":%d,\"p10_ms\":%.6g,\"pace_ms\":%.6g}",
		                   a->n_steps, quick_s(a) * 1e3,
		                   scaling_pace(a->steps, (size_t)a->n_steps, NULL) * 1e3);
		l->ctx->emit(l->ctx, &r);
	}
}

static double skew_of(const struct training_lead *l)
{
	struct culprits c = find_culprits(l);

	return (card_s(l, c.slow_node, c.slow_card) - card_s(l, c.fast_node, c.fast_card)) /
	       l->base_s;
}

void training_say(struct training_lead *l)
{
	const struct training_size *s = l->n_sizes ? &l->sizes[l->n_sizes - 1] : NULL;
	const char *params;

	/* Wrong sums stand, whatever came after. */
	if (l->wrong > 0 || (l->checked > 0 && !l->reason.code))
		say_wrong(l);
	if (l->base_s > 0 && l->gpus && !l->reason.code) {
		say_cards(l);
		say_nodes(l);
	}
	if (l->reason.code || !s)
		return;
	params = model_params(l, s);
	say_efficiency(l, s, params);
	say_step(l, s, params);
	say_plain(l, named(l, "training_overlap"), s->overlap, params);
	if (!l->gpus)
		return;
	say_work(l, s, params);
	say_plain(l, "training_strong_efficiency", s->strong, params);
	say_plain(l, "training_node_efficiency", s->of_node, params);
	say_plain(l, "training_skew", skew_of(l), params);
	say_losses(l, s, params);
	say_projection(l, params);
}
