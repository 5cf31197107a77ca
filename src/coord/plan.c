/* Making the plan. What is left out is part of it: every probe that does not
 * run still owes a reading with the reason, so that nothing untested can look
 * like a pass. */
#include "coord/plan.h"

#include <string.h>

#include "base/clock.h"
#include "base/msg.h"
#include "run/journal.h"

/* Phases in the order of a run; a probe of an unknown phase comes last. */
const char *const plan_phases[] = {"hello",   "cards",    "pairs", "groups",
                                   "storage", "training", NULL};

static int phase_rank(const char *phase)
{
	int i = 0;

	while (plan_phases[i] && strcmp(plan_phases[i], phase) != 0)
		i++;
	return i;
}

struct planner {
	struct plan *plan;
	struct arena *arena;
	const struct plan_request *request;
	int capacity;
};

/* --- parameters as a context gives them ---------------------------------- */

static const char *planned_value(struct probe_ctx *ctx, const char *name, const struct param **row)
{
	const struct plan_request *r = ctx->self;

	*row = param_find(ctx->probe, name);
	return *row ? param_value(ctx->probe, *row, r->budget, r->settings, r->n_settings) : "";
}

static int64_t planned_int(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = planned_value(ctx, name, &row);

	return row ? (int64_t)param_number(row, value) : 0;
}

static double planned_real(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;
	const char *value = planned_value(ctx, name, &row);

	return row ? param_number(row, value) : 0;
}

static const char *planned_word(struct probe_ctx *ctx, const char *name)
{
	const struct param *row;

	return planned_value(ctx, name, &row);
}

void plan_context(struct probe_ctx *ctx, struct arena *arena, const struct probe *probe,
                  const struct plan_request *request)
{
	*ctx = (struct probe_ctx){
		.probe = probe,
		.arena = arena,
		.clock = &clock_system,
		.node = request->node,
		.budget = request->budget,
		.lib_dir = request->lib_dir,
		.assumed_cards = request->assumed_cards,
		.sys_root = request->sys_root ? request->sys_root : "",
		.param_int = planned_int,
		.param_real = planned_real,
		.param_word = planned_word,
		.self = (void *)request,
	};
}

/* --- units ---------------------------------------------------------------- */

static struct unit *add_unit(struct planner *p, const struct probe *probe, const char *subject)
{
	struct plan *plan = p->plan;
	struct unit *u;

	if (plan->count == p->capacity) {
		struct unit *more;

		p->capacity = p->capacity ? p->capacity * 2 : 32;
		more = arena_array(p->arena, (size_t)p->capacity, sizeof(*more));
		if (plan->count)
			memcpy(more, plan->units, (size_t)plan->count * sizeof(*more));
		plan->units = more;
	}
	u = &plan->units[plan->count++];
	*u = (struct unit){.probe = probe,
	                   .subject = subject,
	                   .attempt = 1,
	                   .seconds = probe->seconds[p->request->budget]};
	return u;
}

const char *plan_params(struct arena *arena, const struct plan_request *r,
                        const struct probe *probe)
{
	const char *last = "";
	struct str text = {0};
	const char *kept;

	for (;;) {
		const struct param *next = NULL;

		for (const struct param *row = probe->params; row && row->name; row++)
			if (strcmp(row->name, last) > 0 &&
			    (!next || strcmp(row->name, next->name) < 0))
				next = row;
		if (!next)
			break;
		str_addf(&text, "%s=%s;", next->name,
		         param_value(probe, next, r->budget, r->settings, r->n_settings));
		last = next->name;
	}
	kept = arena_str(arena, str_text(&text));
	str_release(&text);
	return kept;
}

static void finish_unit(struct planner *p, struct unit *u)
{
	const struct plan_request *r = p->request;
	const struct param *size = param_find(u->probe, "size");
	struct probe_ctx ctx;

	plan_context(&ctx, p->arena, u->probe, r);
	ctx.subject_id = u->subject;
	if (u->probe->duration)
		u->seconds = u->probe->duration(&ctx);
	/* With the node: cpu-socket-0 and /data are on every one of them. */
	work_id(u->work, u->probe->phase, u->probe->name,
	        tmpf("%s/%s", r->node, u->subject ? u->subject : ""),
	        plan_params(p->arena, r, u->probe));
	if (u->probe->needs_storage && size)
		u->bytes = (int64_t)param_number(
			size, param_value(u->probe, size, r->budget, r->settings, r->n_settings));
	if (r->resume && !work_is_open(r->resume, u->work, &u->attempt))
		u->state = UNIT_DONE;
}

static void leave_out(struct planner *p, struct unit *u, enum msg id, const char *what)
{
	struct probe_ctx ctx;

	plan_context(&ctx, p->arena, u->probe, p->request);
	u->state = UNIT_OUT;
	reason_set(&ctx, &u->reason, id, what);
}

static bool listed(const char *const *list, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

bool plan_selects(const struct run_info *info, const struct probe *probe)
{
	if (info->n_only && !listed(info->only, info->n_only, probe->name))
		return false;
	return !listed(info->skip, info->n_skip, probe->name);
}

static void plan_storage(struct planner *p, const struct probe *probe)
{
	const struct run_info *info = p->request->info;

	for (int i = 0; i < info->n_storage; i++) {
		struct unit *u = add_unit(p, probe, info->storage[i]);

		u->named_path = true;
		finish_unit(p, u);
	}
	if (info->n_storage == 0 && p->request->local_path)
		finish_unit(p, add_unit(p, probe, p->request->local_path));
}

bool probe_in_company(const struct probe *probe)
{
	return probe->subject == SUBJECT_PAIR || probe->all_nodes;
}

/* What the watch takes belongs to no run, unless it is all that is asked for. */
static bool of_watch(const struct plan_request *r, const struct probe *probe)
{
	return strcmp(probe->phase, "watch") == 0 && r->probes[1] &&
	       !listed(r->info->only, r->info->n_only, probe->name);
}

static void plan_probe(struct planner *p, const struct probe *probe)
{
	const struct run_info *info = p->request->info;
	const char *const *subjects = NULL;
	struct probe_ctx ctx;
	struct support support;

	if (info->n_only && !listed(info->only, info->n_only, probe->name)) {
		leave_out(p, add_unit(p, probe, NULL), MSG_not_selected_only, probe->name);
		return;
	}
	if (listed(info->skip, info->n_skip, probe->name)) {
		leave_out(p, add_unit(p, probe, NULL), MSG_not_selected_skip, probe->name);
		return;
	}
	plan_context(&ctx, p->arena, probe, p->request);
	support = probe->supported(&ctx);
	if (!support.yes) {
		struct unit *u = add_unit(p, probe, NULL);

		u->state = UNIT_OUT;
		u->reason = support.reason;
		return;
	}
	if (probe_in_company(probe) && (p->request->cluster || !probe->alone_too)) {
		if (!p->request->cluster)
			leave_out(p, add_unit(p, probe, NULL), MSG_pairs_one_node, probe->name);
		return;
	}
	if (probe->needs_storage) {
		plan_storage(p, probe);
		return;
	}
	if (probe->subjects)
		subjects = probe->subjects(&ctx);
	if (!probe->subjects)
		finish_unit(p, add_unit(p, probe, NULL));
	for (; subjects && *subjects; subjects++)
		finish_unit(p, add_unit(p, probe, *subjects));
}

static enum status check_names(const struct plan_request *r, const char *const *names, int count,
                               struct error *err)
{
	const struct probe *probe;
	enum status st = ST_OK;

	for (int i = 0; i < count && st == ST_OK; i++)
		st = probe_named(&probe, r->probes, names[i], err);
	return st;
}

bool unit_on_gpu(const struct unit *u)
{
	return u->probe->subject == SUBJECT_CARD && u->subject && !str_starts(u->subject, "cpu-");
}

bool unit_beside(const struct unit *a, const struct unit *b)
{
	if (a->probe != b->probe || a->state != UNIT_RUN || b->state != UNIT_RUN)
		return false;
	return !a->probe->exclusive ||
	       (a->probe->cards_together && unit_on_gpu(a) && unit_on_gpu(b));
}

static void add_up(struct plan *plan)
{
	const struct unit *last = NULL;

	for (int i = 0; i < plan->count; i++) {
		const struct unit *u = &plan->units[i];

		if (u->state != UNIT_RUN)
			continue;
		plan->bytes += u->bytes;
		if (!last || !unit_beside(last, u))
			plan->seconds += u->seconds;
		last = u;
	}
}

enum status plan_make(struct plan *plan, struct arena *arena, const struct plan_request *request,
                      struct error *err)
{
	struct planner p = {.plan = plan, .arena = arena, .request = request};
	const struct run_info *info = request->info;
	enum status st;

	*plan = (struct plan){0};
	st = check_names(request, info->only, info->n_only, err);
	if (st == ST_OK)
		st = check_names(request, info->skip, info->n_skip, err);
	if (st != ST_OK)
		return st;
	for (int phase = 0; phase == 0 || plan_phases[phase - 1]; phase++)
		for (int i = 0; request->probes[i]; i++)
			if (phase_rank(request->probes[i]->phase) == phase &&
			    !of_watch(request, request->probes[i]))
				plan_probe(&p, request->probes[i]);
	add_up(plan);
	return ST_OK;
}

double unit_limit_s(const struct unit *u, enum budget budget, double scale)
{
	double extension = u->probe->extension_s[budget];

	/* Who shortens it has nothing that a longer measurement could settle. */
	return scale < 1 ? (u->seconds * 3 + 60) * scale : u->seconds * 3 + 60 + extension;
}

enum budget budget_named(const char *name)
{
	return strcmp(name, "quick") == 0  ? BUDGET_QUICK
	       : strcmp(name, "soak") == 0 ? BUDGET_SOAK
	                                   : BUDGET_STANDARD;
}
