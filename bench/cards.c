/* Cards as probes see them: GPUs by CUDA, CPU sockets in the place of cards
 * where there are none. What cannot be measured says why, per metric, so that a
 * rule on it ends as not measured with the true cause. */
#include "cards.h"

#include <string.h>

#include "base/clock.h"
#include "hw/device_cpu.h"
#include "hw/host.h"
#include "hw/sysfs.h"

static const char *const libcuda[] = {"libcuda.so.1", NULL};

/* --- which there are ------------------------------------------------------------- */

/* Addresses of the GPUs. The driver's own list comes first: in a container it
 * has the cards given to it, while /sys has all of the host. */
static const char **gpu_addresses(struct probe_ctx *ctx, int *count)
{
	const char *const *names = sys_names(ctx->arena, ctx->sys_root, "/proc/driver/nvidia/gpus");
	struct host_nvidia bus = {0};
	const char **list;
	int n = 0;

	*count = 0;
	if (ctx->assumed_cards) {
		list = arena_array(ctx->arena, (size_t)ctx->assumed_cards + 1, sizeof(*list));
		for (int i = 0; i < ctx->assumed_cards; i++)
			list[(*count)++] = arena_strf(ctx->arena, "card-%d", i);
		return list;
	}
	while (names[n])
		n++;
	if (n == 0)
		bus = host_nvidia_read(ctx->arena, ctx->sys_root);
	list = arena_array(ctx->arena, (size_t)(n + bus.n_cards + 2), sizeof(*list));
	for (int i = 0; i < n; i++)
		if (pci_address_valid(names[i]))
			list[(*count)++] = names[i];
	for (int i = 0; i < bus.n_cards; i++)
		list[(*count)++] = bus.cards[i].address;
	return list;
}

bool cards_have_driver(struct probe_ctx *ctx)
{
	struct gpu_search where = {ctx->lib_dir, ctx->sys_root};

	return ctx->assumed_cards > 0 ||
	       gpu_lib_find(ctx->arena, &where, libcuda, "cuda_runtime") != NULL;
}

const char *const *cards_subjects(struct probe_ctx *ctx)
{
	int sockets, gpus = 0;
	const int *ids = host_socket_ids(ctx->arena, ctx->sys_root, &sockets);
	const char **addresses = cards_have_driver(ctx) ? gpu_addresses(ctx, &gpus) : NULL;
	const char **list = arena_array(ctx->arena, (size_t)(gpus + sockets) + 2, sizeof(*list));
	int n = 0;

	for (int i = 0; i < gpus; i++)
		list[n++] = addresses[i];
	if (gpus == 0)
		list[n++] = CARDS_ALL;
	for (int i = 0; i < sockets; i++)
		list[n++] = arena_strf(ctx->arena, CPU_SOCKET_PREFIX "%d", ids[i]);
	return list;
}

const char *const *cards_gpus(struct probe_ctx *ctx)
{
	const char *const *all = cards_subjects(ctx);
	const char **gpus;
	int n = 0;

	/* They come first. */
	while (all[n] && !str_starts(all[n], CPU_SOCKET_PREFIX))
		n++;
	gpus = arena_array(ctx->arena, (size_t)n + 1, sizeof(*gpus));
	for (int i = 0; i < n; i++)
		gpus[i] = all[i];
	return gpus;
}

bool cards_are_gpus(const struct probe_ctx *ctx)
{
	return ctx->subject_id && !str_starts(ctx->subject_id, CPU_SOCKET_PREFIX);
}

/* --- what is owed ----------------------------------------------------------------- */

void cards_reason(struct probe_ctx *ctx, struct reason *reason)
{
	reason_set(ctx, reason, MSG_no_driver, libcuda[0]);
}

struct support cards_support(struct probe_ctx *ctx)
{
	struct support s = {.yes = cards_have_driver(ctx)};

	if (!s.yes)
		cards_reason(ctx, &s.reason);
	return s;
}

static enum status owe_all(struct probe_ctx *ctx, const struct reading *like)
{
	struct reading r = *like;
	enum status st = ST_OK;

	for (const struct metric *m = ctx->probe->metrics; m->name && st == ST_OK; m++) {
		if (m->backend != BACKEND_CUDA)
			continue;
		r.metric = m->name;
		r.subject.kind = m->subject;
		st = ctx->emit(ctx, &r);
	}
	return st;
}

enum status cards_owe(struct probe_ctx *ctx)
{
	struct reading r = reading_init();

	r.outcome = OUTCOME_NOT_MEASURED;
	r.subject.id = CARDS_ALL;
	cards_reason(ctx, &r.reason);
	return owe_all(ctx, &r);
}

/* --- GPUs --------------------------------------------------------------------------- */

/* The host's clock of stand-ins; the wall clock stays that of the machine. */
struct standin_time {
	struct clock_source source;
	int64_t (*now_ns)(void);
	void (*sleep_ns)(int64_t ns);
};

static int64_t standin_now(void *self)
{
	return ((const struct standin_time *)self)->now_ns();
}

static int64_t standin_wall(void *self)
{
	(void)self;
	return clock_wall(&clock_system);
}

static void standin_sleep(void *self, int64_t ns)
{
	((const struct standin_time *)self)->sleep_ns(ns);
}

const struct clock_source *standin_clock(struct probe_ctx *ctx, const struct library *lib)
{
	struct standin_time *t = arena_alloc(ctx->arena, sizeof(*t));

	*(void **)&t->now_ns = library_symbol(lib, "assay_standin_now_ns");
	*(void **)&t->sleep_ns = library_symbol(lib, "assay_standin_sleep_ns");
	if (!t->now_ns || !t->sleep_ns)
		return ctx->clock;
	t->source = (struct clock_source){standin_now, standin_wall, standin_sleep, t};
	return &t->source;
}

static void take_clock(struct probe_ctx *ctx, const struct library *lib)
{
	const struct clock_source *clock = standin_clock(ctx, lib);

	ctx->simulated = true;
	ctx->deadline_ns += clock_now(clock) - clock_now(ctx->clock);
	ctx->clock = clock;
}

enum status cards_cuda(struct probe_ctx *ctx, struct cuda *cuda, const struct gpu_search *where,
                       double *memory_scale, struct error *err)
{
	double (*divisor)(void) = NULL;
	enum status st = cuda_open(cuda, ctx->arena, where, err);

	*memory_scale = 1;
	if (st != ST_OK)
		return st;
	if (gpu_lib_simulated(&cuda->lib)) {
		take_clock(ctx, &cuda->lib);
		*(void **)&divisor = library_symbol(&cuda->lib, "assay_standin_memory_divisor");
	}
	if (divisor)
		*memory_scale = divisor();
	return cuda_start(cuda, ctx->clock, ctx->deadline_ns, err);
}

struct reading card_reading(const struct card_unit *unit, const char *metric)
{
	struct reading r = reading_init();

	r.metric = metric;
	r.subject.kind = SUBJECT_CARD;
	r.subject.id = unit->card.uuid;
	r.subject.pci = unit->card.pci;
	r.subject.index = unit->card.index;
	return r;
}

static void refuse(struct probe_ctx *ctx, struct reading *r, const char *id,
                   const struct gpu_cause *cause, const struct error *err)
{
	r->value_kind = VALUE_NONE;
	r->outcome = cause ? cause->outcome : OUTCOME_NOT_MEASURED;
	reason_set(ctx, &r->reason, MSG_card_refused, id, str_text(&err->text));
}

void card_refuse(const struct card_unit *unit, struct reading *r, const struct gpu_cause *cause,
                 const struct error *err)
{
	refuse(unit->ctx, r, unit->card.uuid, cause, err);
}

enum status card_owe(const struct card_unit *unit, const struct gpu_cause *cause,
                     const struct error *err)
{
	struct reading r = card_reading(unit, NULL);

	card_refuse(unit, &r, cause, err);
	return owe_all(unit->ctx, &r);
}

/* A unit, or card i of it, without its card. */
static enum status owe_unit(struct probe_ctx *ctx, const struct cuda *cuda, const char *id,
                            const struct error *err)
{
	struct reading r = reading_init();

	r.subject.id = id;
	if (gpu_pci(ctx->arena, id))
		r.subject.pci = id;
	refuse(ctx, &r, id, cuda->fault, err);
	if (!cuda->lib.handle && err->status == ST_NOTFOUND)
		reason_set(ctx, &r.reason, MSG_no_driver, libcuda[0]);
	return owe_all(ctx, &r);
}

enum status cards_each(struct probe_ctx *ctx, enum status (*measure)(struct card_unit *unit))
{
	struct gpu_search where = {ctx->lib_dir, ctx->sys_root};
	struct cuda *cuda = arena_alloc(ctx->arena, sizeof(*cuda));
	struct card_unit unit = {.ctx = ctx, .cuda = cuda, .where = &where};
	const char *subject = ctx->subject_id;
	bool all = strcmp(subject, CARDS_ALL) == 0;
	struct error err = {0};
	enum status st;

	ctx->progress(ctx, STAGE_LOADING, -1, MSG_doing_load);
	if (cards_cuda(ctx, cuda, &where, &unit.memory_scale, &err) != ST_OK) {
		st = owe_unit(ctx, cuda, ctx->subject_id, &err);
		error_release(&err);
		return st;
	}
	st = ST_OK;
	for (int i = 0; i < (all ? cuda->count : 1) && st == ST_OK; i++) {
		enum status found =
			all ? cuda_card_read(cuda, ctx->arena, i, &unit.card, &err)
			    : cuda_card_find(cuda, ctx->arena, ctx->subject_id, &unit.card, &err);

		/* Raw files are named after it. */
		if (all && found == ST_OK)
			ctx->subject_id = unit.card.pci;
		st = found == ST_OK ? measure(&unit)
		                    : owe_unit(ctx, cuda,
		                               all ? tmpf("cuda-%d", i) : ctx->subject_id, &err);
		ctx->subject_id = subject;
		error_release(&err);
	}
	return st;
}

/* --- CPU sockets ------------------------------------------------------------------------ */

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
