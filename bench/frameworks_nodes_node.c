/* One node's part of a job over several: which PyTorch it has, how it reaches the first
 * node, and its workers of the job. Whether it failed by itself or only lost the others
 * is told apart by what its workers said, since all of them end when one does. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/msg.h"
#include "frameworks_nodes.h"

#define CONNECT_S 1 /* for each address */
#define ANSWER_S  4

static const char *variable(const char *name)
{
	return getenv(name);
}

void fwn_node_open(struct fwn_node *node, struct probe_ctx *ctx)
{
	const char *only = ctx->param_word(ctx, "interface");

	*node = (struct fwn_node){.ctx = ctx, .cuda = fw_has_cards(ctx)};
	node->ours = net_addresses_read(ctx->arena, ctx->sys_root, *only ? only : NULL);
	node->engine_there = fw_engine_find(&node->engine, ctx->arena, ctx->sys_root, variable);
}

static void answer_line(struct fwn_node *node, const struct fw_line *line, struct fwn_answer *out)
{
	*out = (struct fwn_answer){.outcome = line->outcome};
	if (line->outcome != OUTCOME_MEASURED)
		out->why = arena_str(node->ctx->arena, say_list(line->reason, line->args));
}

/* --- ready ------------------------------------------------------------------------------ */

/* On cards the framework is asked, since it may see fewer than there are. */
static struct fw_line count_workers(struct fwn_node *node, const struct fw_python *py)
{
	struct probe_ctx *ctx = node->ctx;
	struct fw_job job = {.framework = FRAMEWORK_PYTORCH,
	                     .python = py,
	                     .named = node->pythons.named,
	                     .cuda = true,
	                     .counts = true,
	                     .seconds = ctx->param_real(ctx, "load_s")};
	struct fw_line line;

	node->workers = (int)ctx->param_int(ctx, "workers");
	if (!node->cuda && node->workers == 0)
		node->workers = 1;
	if (!node->cuda)
		return fw_line_none(OUTCOME_MEASURED, 0, NULL, NULL);
	fw_job_run(ctx, &job, &line, NULL);
	if (node->workers == 0)
		node->workers = line.cards;
	return line;
}

static void ready(struct fwn_node *node, struct fwn_answer *out)
{
	struct probe_ctx *ctx = node->ctx;
	struct fw_line line;

	fw_pythons_find(&node->pythons, ctx, ctx->param_word(ctx, "python"),
	                ctx->param_real(ctx, "python_s"));
	line = fw_pythons_lack(&node->pythons);
	for (int i = 0; i < node->pythons.n; i++) {
		const struct fw_python *py = &node->pythons.list[i];

		if (!py->found[FRAMEWORK_PYTORCH].version)
			continue;
		line = count_workers(node, py);
		node->python = py;
		if (line.outcome == OUTCOME_MEASURED)
			break;
	}
	answer_line(node, &line, out);
	if (line.outcome != OUTCOME_MEASURED)
		return;
	out->cuda = node->cuda;
	out->workers = node->workers;
	out->version = node->python->found[FRAMEWORK_PYTORCH].version;
	out->python = node->python->path;
	out->engine = node->engine.name;
	out->engine_found = node->engine.found;
	out->engine_on = node->engine.on;
}

/* --- reach ------------------------------------------------------------------------------- */

/* 0: it is the first node, by its token; *interface is ours on the way to it. */
static int try_address(struct fwn_node *node, const struct net_offer *offer,
                       const struct net_address *to, const char **interface)
{
	struct probe_ctx *ctx = node->ctx;
	const struct net_address *from = NULL;
	const char *only = ctx->param_word(ctx, "interface");
	struct net_address end;
	struct net_frame welcome;
	int fd = -1, failed;

	if (*only)
		from = net_address_of(&node->ours, to->at.any.sa_family);
	failed = net_connect(&fd, to, offer->port, from, ctx->clock,
	                     clock_now(ctx->clock) + CONNECT_S * NS_PER_S);
	if (!failed)
		failed = net_frame_send(fd, NET_CONTROL, 0, offer->token);
	if (!failed)
		failed = net_frame_recv(fd, &welcome, ctx->clock,
		                        clock_now(ctx->clock) + ANSWER_S * NS_PER_S);
	if (!failed &&
	    (welcome.kind != NET_WELCOME || memcmp(welcome.token, offer->answer, NET_TOKEN) != 0))
		failed = -1; /* somebody else's port */
	if (!failed) {
		end = net_local_end(ctx->arena, fd, &node->ours);
		*interface = end.interface;
	}
	if (fd >= 0)
		close(fd);
	return failed;
}

static void reach(struct fwn_node *node, const struct net_offer *offer, struct fwn_answer *out)
{
	struct net_addresses theirs = offer->addresses;

	*out = (struct fwn_answer){.outcome = OUTCOME_MEASURED};
	node->n_ways = 0;
	net_addresses_order(&theirs, &node->ours);
	for (int i = 0; i < theirs.count && node->n_ways < FWN_REACHED_MOST; i++) {
		const char *interface = NULL;

		if (try_address(node, offer, &theirs.list[i], &interface) != 0)
			continue;
		node->ways[node->n_ways].address = theirs.list[i].text;
		node->ways[node->n_ways].interface = interface;
		out->reached[node->n_ways++] = theirs.list[i].text;
	}
	out->n_reached = node->n_ways;
}

const char *fwn_way(const struct fwn_node *node, const char *address)
{
	for (int i = 0; i < node->n_ways; i++)
		if (strcmp(node->ways[i].address, address) == 0)
			return node->ways[i].interface;
	return NULL;
}

/* --- run ---------------------------------------------------------------------------------- */

/* What workers say when one of the others has gone. */
static bool lost_others(const struct fw_line *line)
{
	static const char *const words[] = {"connection", "closed by peer", "broken pipe",
	                                    "timed out",  "timeout",        "remote process",
	                                    "socket"};

	if (line->reason == MSG_fw_time || line->reason == MSG_fwn_stopped)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		for (int a = 0; a < 4 && line->args[a]; a++)
			if (strcasestr(line->args[a], words[i]))
				return true;
	return false;
}

static void run(struct fwn_node *node, const struct fwn_order *o, struct fwn_answer *out,
                bool (*goes_on)(void *arg, double seconds), void *arg)
{
	struct probe_ctx *ctx = node->ctx;
	struct fw_job job = {.framework = FRAMEWORK_PYTORCH,
	                     .python = node->python,
	                     .named = node->pythons.named,
	                     .brief = o->brief,
	                     .sums = o->sums,
	                     .cuda = node->cuda,
	                     .workers = node->workers,
	                     .steps = (int)ctx->param_int(ctx, "steps"),
	                     .seconds = o->seconds,
	                     .env = o->off ? node->engine.off : NULL,
	                     .size = o->size,
	                     .first = o->first,
	                     .address = o->address,
	                     .port = o->port,
	                     .interface = fwn_way(node, o->address),
	                     .goes_on = goes_on,
	                     .arg = arg};

	fw_job_run(ctx, &job, &node->line, &node->text);
	answer_line(node, &node->line, out);
	out->waited = out->outcome != OUTCOME_MEASURED && lost_others(&node->line);
}

void fwn_node_do(struct fwn_node *node, const struct fwn_order *order, struct fwn_answer *answer,
                 bool (*goes_on)(void *arg, double seconds), void *arg)
{
	*answer = (struct fwn_answer){.outcome = OUTCOME_MEASURED};
	if (order->step == FWN_READY)
		ready(node, answer);
	else if (order->step == FWN_REACH)
		reach(node, &order->offer, answer);
	else if (order->step == FWN_RUN && node->python)
		run(node, order, answer, goes_on, arg);
	else /* never asked whether it is ready */
		*answer = (struct fwn_answer){
			.outcome = OUTCOME_NOT_MEASURED,
			.why = arena_str(node->ctx->arena, say(MSG_training_garbled))};
}
