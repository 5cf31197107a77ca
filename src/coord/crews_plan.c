/* Rounds times seconds, and the sizes of files. */
#include "coord/crews_plan.h"

#include "coord/rounds.h"

/* Parameters that are bytes of files a node writes. */
static int64_t file_bytes(const struct plan_request *r, const struct probe *probe)
{
	static const char *const names[] = {"size", "stream_size"};
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const struct param *row = param_find(probe, names[i]);

		if (probe->needs_storage && row)
			sum += (int64_t)param_number(row, param_value(probe, row, r->budget,
			                                              r->settings, r->n_settings));
	}
	return sum;
}

static double unit_seconds(const struct plan_request *request, const struct probe *probe, int peers)
{
	struct arena arena = {0};
	struct probe_ctx ctx;
	double seconds;

	plan_context(&ctx, &arena, probe, request);
	ctx.n_peers = peers;
	seconds = probe->duration ? probe->duration(&ctx) : probe->seconds[request->budget];
	arena_release(&arena);
	return seconds;
}

struct crews_plan crews_estimate(const struct plan_request *request, const struct probe *probe,
                                 int nodes, enum pair_choice pairs)
{
	int paths = probe->needs_storage ? request->info->n_storage : 1, again;
	struct crews_plan p = {.rounds = 1};

	p.round_s = unit_seconds(request, probe, probe->all_nodes ? nodes : 2);
	p.bytes = paths * nodes * file_bytes(request, probe);
	if (!probe->all_nodes) {
		p.rounds = rounds_count(nodes, pairs == PAIRS_ALL ? 0 : PAIRS_SAMPLE_ROUNDS);
		p.pairs = (int64_t)p.rounds * (nodes / 2);
		again = rounds_count(nodes, AGAIN_ROUNDS);
		p.again_s = AGAIN_PASSES * again * p.round_s;
	}
	p.seconds = paths * p.rounds * p.round_s;
	return p;
}

struct crews_plan crews_estimate_all(const struct plan_request *request, int nodes,
                                     enum pair_choice pairs)
{
	struct crews_plan all = {0};

	for (int i = 0; nodes > 1 && request->probes[i]; i++) {
		const struct probe *probe = request->probes[i];
		struct crews_plan p;

		if (!probe_in_company(probe) || !plan_selects(request->info, probe))
			continue;
		p = crews_estimate(request, probe, nodes, pairs);
		all.seconds += p.seconds;
		all.again_s += p.again_s;
		all.bytes += p.bytes;
	}
	return all;
}
