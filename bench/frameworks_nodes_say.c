/* Readings of frameworks_nodes: all of them about the cluster, all from the first node.
 * Those of jobs on CPUs have names of their own (cpu_…), so that no rule about cards
 * can be met by them. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/msg.h"
#include "frameworks_nodes.h"
#include "inventory.h"

#define DIFFERENT_MOST 20 /* nodes named whose PyTorch is another */

#define ALL(name, unit, better, backend, formula)                                                  \
	{                                                                                          \
		name, unit, BETTER_##better, SUBJECT_CLUSTER, BACKEND_##backend, formula           \
	}

const struct metric fwn_metrics[] = {
	ALL("fw_nodes_pytorch_runs", "1", NEITHER, ANY,
            "1 if one job of PyTorch over all nodes gave the right numbers, a worker a card"),
	ALL("cpu_fw_nodes_pytorch_runs", "1", NEITHER, CPU,
            "the same with a worker a node on the CPU over gloo: proves function only"),
	ALL("fw_nodes_pytorch_step_ms", "ms", LOWER, CUDA,
            "median time of a data parallel step of that job, slowest worker of all"),
	ALL("cpu_fw_nodes_pytorch_step_ms", "ms", LOWER, CPU, "the same on the CPUs"),
	ALL("fw_nodes_parallel_modes", "1", HIGHER, ANY,
            "of data, tensor and pipeline parallel over all workers: how many were right"),
	ALL("cpu_fw_nodes_parallel_modes", "1", HIGHER, CPU, "the same on the CPUs"),
	ALL("training_engine_ratio", "1", HIGHER, CUDA,
            "step time of a job over all nodes without / with the acceleration engine that the "
            "environment switches on: geometric mean of alternated pairs; unsupported where "
            "there is none"),
	ALL("fw_nodes_engine_allreduce_ratio", "1", HIGHER, CUDA,
            "the same of an all-reduce of 64 KiB, 4 MiB and 256 MiB, a point each"),
	{0},
};

static struct subject cluster(void)
{
	struct subject s = {.kind = SUBJECT_CLUSTER, .id = "cluster"};

	return s;
}

static void put_different(struct json_out *j, const struct fwn_lead *l)
{
	int n = 0;

	json_array_begin(j, "other_versions");
	for (int i = 1; i < l->n && n < DIFFERENT_MOST; i++) {
		const char *version = l->ready[i].version;

		if (!version || !l->ready[0].version || strcmp(version, l->ready[0].version) == 0)
			continue;
		json_put_string(j, NULL, tmpf("%s: %s", l->ctx->peers[i], version));
		n++;
	}
	json_array_end(j);
}

static const char *job_params(const struct fwn_lead *l, const struct fw_line *line)
{
	bool ran = line->outcome == OUTCOME_MEASURED;
	struct json_text t = json_text_begin();

	json_put_int(&t.j, "nodes", l->n);
	json_put_int(&t.j, "workers", l->size);
	json_put_string(&t.j, "version", ran ? line->version : l->ready[0].version);
	json_put_string(&t.j, "python", l->ready[0].python);
	put_different(&t.j, l);
	json_put_string(&t.j, "device", l->self->cuda ? "cuda" : "cpu");
	json_put_string(&t.j, "backend", ran ? line->backend : NULL);
	json_put_string(&t.j, "address", l->address);
	json_put_string(&t.j, "interface", l->interface);
	json_put_number(&t.j, "alone_ms", ran ? line->alone_ms : NAN);
	json_put_number(&t.j, "loss_first", ran ? line->loss_first : NAN);
	json_put_number(&t.j, "loss_last", ran ? line->loss_last : NAN);
	if (!l->self->cuda)
		json_put_string(&t.j, "proves", "function only");
	return json_text_end(&t, l->ctx->arena);
}

static enum status emit_one(struct fwn_lead *l, const char *metric, const struct fw_line *line,
                            double value, const char *params)
{
	struct probe_ctx *ctx = l->ctx;
	struct reading r = reading_init();

	r.metric = metric;
	r.subject = cluster();
	r.params = params;
	r.raw = l->raw;
	r.outcome = line->outcome;
	if (line->outcome == OUTCOME_MEASURED) {
		r.value_kind = VALUE_NUMBER;
		r.value = value;
	} else {
		reason_set_list(ctx, &r.reason, line->reason, line->args);
	}
	return ctx->emit(ctx, &r);
}

/* Of cards, and where there are none that of CPUs beside it. */
static enum status emit_both(struct fwn_lead *l, const char *metric, const struct fw_line *line,
                             double value, const char *params)
{
	struct fw_line cards = l->self->cuda ? *line : fw_line_of_cards(line, FRAMEWORK_PYTORCH);
	enum status st = emit_one(l, metric, &cards, value, params);

	if (st != ST_OK || l->self->cuda)
		return st;
	return emit_one(l, arena_strf(l->ctx->arena, "cpu_%s", metric), line, value, params);
}

enum status fwn_say_job(struct fwn_lead *l, const struct fw_line *line)
{
	const char *params = job_params(l, line);
	struct fw_line modes = *line;
	int right = 0;
	enum status st = emit_both(l, "fw_nodes_pytorch_runs", line, 1, params);

	if (st == ST_OK)
		st = emit_both(l, "fw_nodes_pytorch_step_ms", line, line->step_ms, params);
	if (line->outcome == OUTCOME_MEASURED && l->size > FWN_MODES_WORKERS_MOST)
		modes = fw_line_none(OUTCOME_NOT_MEASURED, MSG_fwn_modes_many,
		                     arena_strf(l->ctx->arena, "%d", l->size),
		                     arena_strf(l->ctx->arena, "%d", FWN_MODES_WORKERS_MOST));
	else if (line->outcome == OUTCOME_MEASURED)
		right = fw_parts_right(l->ctx, line->modes, &modes);
	modes.backend = line->backend;
	return st == ST_OK ? emit_both(l, "fw_nodes_parallel_modes", &modes, right, params) : st;
}

enum status fwn_say_gain(struct fwn_lead *l, const struct fw_pairs *pairs,
                         const struct fw_line *line)
{
	const struct fw_engine *engine = &l->self->engine;
	struct json_text t = json_text_begin();

	json_put_string(&t.j, "engine", engine->name);
	json_put_string(&t.j, "found", engine->found);
	json_put_string(&t.j, "off", engine->off);
	json_put_int(&t.j, "pairs", pairs->n);
	json_put_int(&t.j, "nodes", l->n);
	json_put_int(&t.j, "workers", l->size);
	return fw_gain_say(
		l->ctx,
		&(struct fw_gain_of){{"training_engine_ratio", "fw_nodes_engine_allreduce_ratio"},
	                             cluster(),
	                             json_text_end(&t, l->ctx->arena)},
		pairs, line);
}
