/* frameworks_nodes: one job of PyTorch over all nodes, as a customer would start it. That
 * it trains on each node by itself says nothing of the network between them, of a name
 * that leads nowhere, of an interface that is chosen wrongly, of versions that differ.
 * Ranks meet over env://, so no launcher and no shared file system is needed.
 *
 * A child on each node does what the first one says (frameworks_nodes.h), which alone
 * speaks. Where one of them fails all are ended, and the one that failed by itself is
 * named. */
#include "frameworks_nodes.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/msg.h"

#define LEAST_S  10    /* no job is begun with less time than this */
#define MARGIN_S 5     /* between the last job's limit and our deadline */
#define SLACK_S  15    /* for a launcher to say that its job was late, and for the way */
#define LOOK_S   0.002 /* to see whether an answer has come */
#define GRACE_S  1     /* the others of a job that has lost a node */

/* --- orders --------------------------------------------------------------------------------- */

static struct fw_line missing(enum outcome outcome, enum msg reason, const char *a, const char *b)
{
	return fw_line_none(outcome, reason, a, b);
}

/* The one to blame: of several that are missing one that did not only lose others. */
static struct fw_line line_of(struct fwn_lead *l, const struct fwn_answer *answers)
{
	struct arena *arena = l->ctx->arena;
	struct fw_line line;
	int count = 0, told = -1;

	for (int i = 0; i < l->n; i++) {
		if (answers[i].outcome == OUTCOME_MEASURED)
			continue;
		count++;
		if (told < 0 || (answers[told].waited && !answers[i].waited))
			told = i;
	}
	if (count == 0)
		return missing(OUTCOME_MEASURED, 0, NULL, NULL);
	/* What one node lacks and others have is no kind of cluster. */
	line = missing(answers[told].outcome == OUTCOME_UNSUPPORTED ? OUTCOME_NOT_MEASURED
	                                                            : answers[told].outcome,
	               count == 1 ? MSG_training_missing : MSG_training_missing_more,
	               l->ctx->peers[told], answers[told].why);
	line.args[2] = count > 1 ? arena_strf(arena, "%d", count - 1) : NULL;
	return line;
}

static void begin_round(struct fwn_lead *l, struct fwn_answer *answers)
{
	l->answers = answers;
	l->here = arena_array(l->ctx->arena, (size_t)l->n, sizeof(*l->here));
	l->here[0] = true;
	l->asked = 1;
	l->failed_s = NAN;
}

/* Looks whether the next one that is still owed has answered. False: none is owed. */
static bool look(struct fwn_lead *l, double seconds)
{
	for (int k = 0; k < l->n; k++) {
		int i = (l->asked + k) % l->n;

		if (l->here[i])
			continue;
		l->asked = (i + 1) % l->n;
		l->here[i] = fwn_recv_answer(l->ctx, i, seconds, &l->answers[i]);
		return true;
	}
	return false;
}

static void collect(struct fwn_lead *l, double seconds)
{
	const struct clock_source *clock = l->ctx->clock;
	int64_t until = clock_now(clock) + (int64_t)(seconds * NS_PER_S);

	while (look(l, 0.02) && clock_now(clock) < until)
		;
	for (int i = 1; i < l->n; i++)
		if (!l->here[i])
			l->answers[i] = (struct fwn_answer){
				.outcome = OUTCOME_NOT_MEASURED,
				.why = arena_str(l->ctx->arena, say(MSG_training_silent))};
}

static void tell(struct fwn_lead *l, const struct fwn_order *order)
{
	struct fwn_order o = *order;

	for (int i = l->n - 1; i > 0; i--) {
		o.first = l->first ? l->first[i] : 0;
		fwn_send_order(l->ctx, i, &o);
	}
}

static double patience(const struct fwn_lead *l)
{
	return l->ctx->param_real(l->ctx, "patience_s");
}

/* --- ready, reach ------------------------------------------------------------------------------ */

static struct fw_line make_ready(struct fwn_lead *l)
{
	struct probe_ctx *ctx = l->ctx;
	struct fwn_order order = {.step = FWN_READY};
	struct fw_line line;

	begin_round(l, l->ready);
	tell(l, &order);
	fwn_node_do(l->self, &order, &l->ready[0], NULL, NULL);
	collect(l, patience(l) + ctx->param_real(ctx, "load_s") +
	                   2 * ctx->param_real(ctx, "python_s"));
	line = line_of(l, l->ready);
	if (line.outcome != OUTCOME_MEASURED)
		return line;
	l->first = arena_array(ctx->arena, (size_t)l->n, sizeof(*l->first));
	for (int i = 0; i < l->n; i++) {
		if (l->ready[i].cuda != l->self->cuda)
			return missing(OUTCOME_NOT_MEASURED, MSG_training_mixed, ctx->peers[0],
			               ctx->peers[i]);
		if (l->ready[i].workers < 1)
			return missing(OUTCOME_NOT_MEASURED, MSG_training_missing, ctx->peers[i],
			               arena_str(ctx->arena, say(MSG_training_garbled)));
		l->first[i] = l->size;
		l->size += l->ready[i].workers;
	}
	return line;
}

/* Whoever comes is told that he is right here, until all have said where they came. */
static void receive_callers(struct fwn_lead *l, int listener, const struct net_offer *offer)
{
	const struct clock_source *clock = l->ctx->clock;
	int64_t until = clock_now(clock) +
	                (int64_t)((patience(l) + 6.0 * offer->addresses.count) * NS_PER_S);
	bool owed = true;

	while (owed && clock_now(clock) < until) {
		struct net_frame hello;
		int fd, failed = net_accept(listener, &fd, &hello, offer->token, clock,
		                            clock_now(clock) + 10 * NS_PER_MS);

		if (failed)
			owed = look(l, LOOK_S);
		else
			net_frame_send(fd, NET_WELCOME, 0, offer->answer);
		if (!failed)
			close(fd);
	}
	collect(l, 0);
}

static bool reaches(const struct fwn_answer *a, const char *address)
{
	for (int i = 0; i < a->n_reached; i++)
		if (strcmp(a->reached[i], address) == 0)
			return true;
	return false;
}

/* The first of our addresses, IPv4 before IPv6, that all others reach. */
static bool choose_address(struct fwn_lead *l, const struct net_offer *offer,
                           const struct fwn_answer *answers, int *lacking)
{
	int best = -1;

	for (int pass = 0; pass < 2; pass++)
		for (int k = 0; k < offer->addresses.count; k++) {
			const struct net_address *at = &offer->addresses.list[k];
			int count = 0, first = 0;

			if ((at->at.any.sa_family == AF_INET) != (pass == 0))
				continue;
			for (int i = l->n - 1; i > 0; i--) {
				bool there = reaches(&answers[i], at->text);

				count += there;
				first = there ? first : i;
			}
			if (count > best) {
				best = count;
				*lacking = first;
				l->address = at->text;
				l->interface = at->interface;
			}
		}
	return best == l->n - 1;
}

static const char *list_addresses(struct fwn_lead *l, const struct net_addresses *all)
{
	struct str text = {0};
	const char *kept;

	for (int i = 0; i < all->count; i++)
		str_addf(&text, "%s%s", i ? ", " : "", all->list[i].text);
	kept = arena_str(l->ctx->arena, str_text(&text));
	str_release(&text);
	return kept;
}

static struct fw_line be_reached(struct fwn_lead *l)
{
	struct probe_ctx *ctx = l->ctx;
	struct fwn_order order = {.step = FWN_REACH, .offer = {.addresses = l->self->ours}};
	struct fwn_answer *answers = arena_array(ctx->arena, (size_t)l->n, sizeof(*answers));
	const char *only = ctx->param_word(ctx, "interface");
	int listener = -1, lacking = 0;
	int failed = l->self->ours.count
	                     ? net_listen(&listener, &order.offer.port, *only ? only : NULL)
	                     : EADDRNOTAVAIL;
	struct fw_line line;

	if (!failed && !net_offer_tokens(&order.offer))
		failed = EAGAIN;
	if (!failed) {
		begin_round(l, answers);
		tell(l, &order);
		receive_callers(l, listener, &order.offer);
	}
	if (listener >= 0)
		close(listener);
	if (failed)
		return missing(OUTCOME_NOT_MEASURED, MSG_fwn_no_address, ctx->peers[0],
		               arena_str(ctx->arena, strerror(failed)));
	line = line_of(l, answers);
	if (line.outcome != OUTCOME_MEASURED || choose_address(l, &order.offer, answers, &lacking))
		return line;
	line = missing(OUTCOME_FAILED, MSG_fwn_unreached, ctx->peers[lacking], ctx->peers[0]);
	line.args[2] = list_addresses(l, &order.offer.addresses);
	return line;
}

/* --- jobs ------------------------------------------------------------------------------------------ */

/* Asked while our own part runs: when another one's has ended badly ours is of no use. */
static bool lead_goes_on(void *arg, double seconds)
{
	struct fwn_lead *l = arg;

	l->ctx->progress(l->ctx, STAGE_MEASURING, -1, MSG_doing_frameworks_nodes);
	look(l, LOOK_S);
	for (int i = 1; i < l->n && isnan(l->failed_s); i++)
		if (l->here[i] && l->answers[i].outcome != OUTCOME_MEASURED)
			l->failed_s = seconds;
	return isnan(l->failed_s) || seconds < l->failed_s + GRACE_S;
}

/* Seconds a job may take now; 0: too few are left. */
static double time_left(const struct fwn_lead *l)
{
	struct probe_ctx *ctx = l->ctx;
	double left = (double)(ctx->deadline_ns - clock_now(ctx->clock)) / NS_PER_S;
	double most = ctx->param_real(ctx, "job_s");

	left -= MARGIN_S + SLACK_S;
	return left < fmin(LEAST_S, most) ? 0 : fmin(left, most);
}

/* A port that was free a moment ago: the job listens there itself. */
static int free_port(void)
{
	int fd = -1, port = 0;

	if (net_listen(&fd, &port, NULL) != 0)
		return 0;
	close(fd);
	return port;
}

static void run_job(struct fwn_lead *l, struct fwn_order order, struct fw_line *line)
{
	struct probe_ctx *ctx = l->ctx;
	struct fwn_answer *answers = arena_array(ctx->arena, (size_t)l->n, sizeof(*answers));

	order.step = FWN_RUN;
	order.address = l->address;
	order.size = l->size;
	order.seconds = time_left(l);
	order.port = free_port();
	if (order.seconds <= 0 || order.port == 0) {
		*line = missing(OUTCOME_NOT_MEASURED, MSG_fw_no_time, "PyTorch", NULL);
		return;
	}
	begin_round(l, answers);
	tell(l, &order);
	order.first = 0;
	fwn_node_do(l->self, &order, &answers[0], lead_goes_on, l);
	if (answers[0].outcome != OUTCOME_MEASURED)
		tell(l, &(struct fwn_order){.step = FWN_STOP});
	collect(l, fmin(SLACK_S, order.seconds) + patience(l));
	*line = line_of(l, answers);
	if (line->outcome == OUTCOME_MEASURED)
		*line = l->self->line;
	if (l->self->text && !order.brief)
		ctx->save_raw(ctx, "frameworks-nodes.txt", l->self->text, strlen(l->self->text),
		              &l->raw);
}

static void run_pair(void *arg, bool off, struct fw_line *line)
{
	run_job(arg, (struct fwn_order){.brief = true, .sums = true, .off = off}, line);
}

/* The engine is the same everywhere, or its gain is nobody's. */
static struct fw_line same_engine(const struct fwn_lead *l)
{
	for (int i = 1; i < l->n; i++) {
		const struct fwn_answer *a = &l->ready[0], *b = &l->ready[i];

		if (a->engine_on != b->engine_on ||
		    strcmp(a->engine ? a->engine : "-", b->engine ? b->engine : "-") != 0) {
			struct fw_line line = missing(OUTCOME_NOT_MEASURED, MSG_fwn_engines_differ,
			                              l->ctx->peers[0], l->ctx->peers[i]);

			line.args[2] = a->engine && a->engine_on ? a->engine : "-";
			line.args[3] = b->engine && b->engine_on ? b->engine : "-";
			return line;
		}
	}
	return missing(OUTCOME_MEASURED, 0, NULL, NULL);
}

static enum status engine(struct fwn_lead *l, const struct fw_line *job)
{
	int pairs = (int)l->ctx->param_int(l->ctx, "pairs");
	struct fw_pairs *p = arena_alloc(l->ctx->arena, sizeof(*p));
	struct fw_line line =
		fw_engine_fit(&l->self->engine, l->self->engine_there, l->self->cuda, pairs);

	/* What is not there on the first node may be on others. */
	if (l->size > 0) {
		struct fw_line same = same_engine(l);

		line = same.outcome == OUTCOME_MEASURED ? line : same;
	}
	if (line.outcome == OUTCOME_MEASURED && job->outcome != OUTCOME_MEASURED)
		line = *job;
	else if (line.outcome == OUTCOME_MEASURED)
		fw_pairs_take(p, pairs, run_pair, l, &line);
	return fwn_say_gain(l, p, &line);
}

/* --- the course ---------------------------------------------------------------------------------------- */

static struct fw_line measure(struct fwn_lead *l)
{
	struct probe_ctx *ctx = l->ctx;
	struct fw_line line;

	if (!l->self->cuda && l->n > FWN_CPU_NODES_MOST)
		return missing(OUTCOME_NOT_MEASURED, MSG_fwn_many_cpus,
		               arena_strf(ctx->arena, "%d", l->n),
		               arena_strf(ctx->arena, "%d", FWN_CPU_NODES_MOST));
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_doing_frameworks_nodes);
	line = make_ready(l);
	if (line.outcome == OUTCOME_MEASURED)
		line = be_reached(l);
	if (line.outcome == OUTCOME_MEASURED)
		run_job(l, (struct fwn_order){.brief = l->size > FWN_MODES_WORKERS_MOST}, &line);
	return line;
}

static enum status lead(struct fwn_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	struct fwn_lead l = {.ctx = ctx, .self = self, .n = ctx->n_peers};
	struct fw_line line;
	enum status st;

	l.ready = arena_array(ctx->arena, (size_t)l.n, sizeof(*l.ready));
	line = measure(&l);
	st = fwn_say_job(&l, &line);
	if (st == ST_OK)
		st = engine(&l, &line);
	l.first = NULL;
	tell(&l, &(struct fwn_order){.step = FWN_OVER});
	return st;
}

/* Any word of the first node while a job runs: it is to end. */
static bool follower_goes_on(void *arg, double seconds)
{
	struct fwn_node *self = arg;
	struct fwn_order order;

	(void)seconds;
	return fwn_recv_order(self->ctx, LOOK_S, &order) == ST_TIMEOUT;
}

static enum status follow(struct fwn_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	struct fwn_order order;
	struct fwn_answer answer;

	for (;;) {
		double left = (double)(ctx->deadline_ns - clock_now(ctx->clock)) / NS_PER_S;
		enum status st = fwn_recv_order(ctx, fmax(left, 0), &order);

		if (st != ST_OK || order.step == FWN_OVER)
			return st;
		if (order.step == FWN_STOP)
			continue; /* it had ended already */
		fwn_node_do(self, &order, &answer, follower_goes_on, self);
		st = fwn_send_answer(ctx, &answer);
		if (st != ST_OK)
			return st;
	}
}

static enum status alone(struct fwn_node *self)
{
	struct probe_ctx *ctx = self->ctx;
	struct fwn_answer none = {0};
	struct fwn_lead l = {.ctx = ctx, .self = self, .ready = &none};
	struct fw_line line = missing(OUTCOME_NOT_MEASURED, MSG_fwn_one_node, NULL, NULL);
	struct fw_pairs *p = arena_alloc(ctx->arena, sizeof(*p));
	enum status st = fwn_say_job(&l, &line);

	return st == ST_OK ? fwn_say_gain(&l, p, &line) : st;
}

static enum status run(struct probe_ctx *ctx)
{
	struct fwn_node *self = arena_alloc(ctx->arena, sizeof(*self));

	fwn_node_open(self, ctx);
	if (ctx->n_peers < 2)
		return alone(self);
	return ctx->self_index == 0 ? lead(self) : follow(self);
}

/* Without cards jobs are small; on cards large libraries are loaded from slow disks. */
static double duration(struct probe_ctx *ctx)
{
	static const double cpu[BUDGETS] = {15, 20, 40};

	return fw_has_cards(ctx) ? ctx->probe->seconds[ctx->budget] : cpu[ctx->budget];
}

/* clang-format off */
static const struct param params[] = {
	{"python", PARAM_WORD, "", {"auto", "auto", "auto"}, 0, 0, NULL, MSG_help_fw_python},
	{"python_s", PARAM_REAL, "s", {"10", "20", "60"}, 0.1, 600, NULL, MSG_help_fw_python_s},
	{"load_s", PARAM_REAL, "s", {"60", "120", "300"}, 1, 3600, NULL, MSG_help_fwn_load_s},
	{"job_s", PARAM_REAL, "s", {"90", "180", "300"}, 1, 3600, NULL, MSG_help_fw_job_s},
	{"device", PARAM_WORD, "", {"auto", "auto", "auto"}, 0, 0, "auto|cpu|cuda",
		MSG_help_fw_device},
	{"workers", PARAM_INT, "1", {"0", "0", "0"}, 0, 1024, NULL, MSG_help_fwn_workers},
	{"steps", PARAM_INT, "1", {"6", "10", "30"}, 4, 10000, NULL, MSG_help_fw_steps},
	{"pairs", PARAM_INT, "1", {"0", "5", "10"}, 0, FW_PAIRS_MOST, NULL, MSG_help_fw_pairs},
	{"interface", PARAM_WORD, "", {"", "", ""}, 0, 0, NULL, MSG_help_group_interface},
	{"patience_s", PARAM_REAL, "s", {"30", "30", "60"}, 0.1, 3600, NULL,
		MSG_help_training_patience},
	{0},
};
/* clang-format on */

const struct probe probe_frameworks_nodes = {
	.name = "frameworks_nodes",
	.title = MSG_probe_frameworks_nodes,
	.subject = SUBJECT_CLUSTER,
	.phase = "training",
	.exclusive = true,
	.all_nodes = true,
	.seconds = {40, 90, 200},
	.duration = duration,
	/* Slow loading, and an engine's pairs. */
	.extension_s = {150, 1500, 3600},
	.params = params,
	.metrics = fwn_metrics,
	.supported = fw_supported,
	.run = run,
};
