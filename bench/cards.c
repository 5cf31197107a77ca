/* Cards as probes see them. This version has the CPU back end; for GPUs each
 * probe says per metric why there is no figure, so that a rule on it ends as
 * not measured with the true cause. */
#include "cards.h"

#include <string.h>

#include "hw/device_cpu.h"
#include "hw/host.h"
#include "hw/loader.h"

const char *const *cards_subjects(struct probe_ctx *ctx)
{
	int count;
	const int *ids = host_socket_ids(ctx->arena, ctx->sys_root, &count);
	const char **list = arena_array(ctx->arena, (size_t)count + 2, sizeof(*list));

	list[0] = CARDS_ALL;
	for (int i = 0; i < count; i++)
		list[i + 1] = arena_strf(ctx->arena, CPU_SOCKET_PREFIX "%d", ids[i]);
	return list;
}

bool cards_are_gpus(const struct probe_ctx *ctx)
{
	return ctx->subject_id && strcmp(ctx->subject_id, CARDS_ALL) == 0;
}

void cards_reason(struct probe_ctx *ctx, struct reason *reason)
{
	static const char *const cuda[] = {"libcuda.so.1", NULL};

	if (library_find(ctx->arena, cuda, ctx->lib_dir))
		reason_set(ctx, reason, MSG_cuda_not_built);
	else
		reason_set(ctx, reason, MSG_no_driver, cuda[0]);
}

enum status cards_owe(struct probe_ctx *ctx)
{
	struct reading r = reading_init();
	enum status st = ST_OK;

	r.outcome = OUTCOME_NOT_MEASURED;
	r.subject.id = CARDS_ALL;
	cards_reason(ctx, &r.reason);
	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		if (m->backend != BACKEND_CUDA)
			continue;
		r.metric = m->name;
		r.subject.kind = m->subject;
		st = ctx->emit(ctx, &r);
	}
	return st;
}

enum status cards_open(struct probe_ctx *ctx, struct device **dev, int threads, const char *blas,
                       struct error *err)
{
	struct device_cpu_request request = {
		.id = ctx->subject_id ? ctx->subject_id : "",
		.clock = ctx->clock,
		.root = ctx->sys_root,
		.lib_dir = ctx->lib_dir,
		.threads = threads,
		.blas = blas != NULL,
		.family = blas && strcmp(blas, "auto") != 0 ? blas : NULL,
	};

	return device_cpu_open(dev, ctx->arena, &request, err);
}

struct reading cards_reading(struct probe_ctx *ctx, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_CARD;
	r.subject.id = ctx->subject_id;
	return r;
}
