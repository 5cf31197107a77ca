/* Running a plan on this node. Units of one probe run side by side unless the
 * probe wants the node for itself; probes run one after another. Whatever a
 * child does not say, this file says for it: each metric a unit owes ends as a
 * reading, measured or with its reason. */
#include "coord/coord.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/log.h"
#include "coord/card_names.h"
#include "coord/ended.h"
#include "coord/keeper.h"
#include "coord/owed.h"
#include "coord/worker.h"

#define MAX_METRICS 128
#define PUMP_MS     200
#define IDLE_MS     5 /* where there is something to be done meanwhile */

/* One unit being measured. */
struct slot {
	struct coord *coord;
	const struct unit *unit;
	struct proc *proc;
	struct str request, scratch, label;
	int lock; /* of the scratch directory, -1: none */
	enum stage stage;
	bool done;                    /* the child said it ended by itself */
	bool broke, waited;           /* … but not well; it waited in vain */
	bool emitted[2][MAX_METRICS]; /* by reading_way */
	/* Why it did not end well; reason.code NULL: it did, or was stopped. */
	enum outcome outcome;
	struct reason reason;
};

struct coord {
	const struct coord_options *o;
	struct coord_result *result;
	struct arena arena; /* of the unit group at hand */
	struct card_names cards;
	struct keeper keeper;
	struct slot *peer_slot; /* of the unit that works with peers, while it runs */
	int64_t started;
	int position, total;
	double planned_done;
};

/* --- telling ---------------------------------------------------------------- */

static void view(struct coord *c, struct coord_event event)
{
	event.position = c->position;
	event.total = c->total;
	event.elapsed_s = (double)(clock_now(&clock_system) - c->started) / 1e9;
	event.remaining_s = c->o->plan->seconds - c->planned_done;
	if (c->o->view)
		c->o->view(c->o->view_arg, &event);
}

static void trouble(struct coord *c, const struct unit *unit, const char *text)
{
	view(c, (struct coord_event){.kind = COORD_TROUBLE, .unit = unit, .text = text});
}

/* Trouble with saving is said once; the measurement goes on. */
static void store(struct coord *c, const struct unit *unit, const char *line, size_t len)
{
	struct error err = {0};

	if (!keeper_add(&c->keeper, line, len, &err))
		trouble(c, unit, str_text(&err.text));
	error_release(&err);
}

/* --- readings made here ----------------------------------------------------- */

static void owe(struct coord *c, const struct unit *u, const struct metric *m, int way,
                enum outcome outcome, const struct reason *reason)
{
	const struct plan_request *request = c->o->request;
	const struct owed_by by = {.node = request->node,
	                           .writer = c->o->writer,
	                           .simulated = request->sys_root && *request->sys_root,
	                           .cards = &c->cards,
	                           .arena = &c->arena};
	struct reading r;
	struct str line = {0};

	owed_line(&line, &r, &by, u, m, way, outcome, reason);
	store(c, u, line.data, line.len);
	c->result->count[outcome]++;
	view(c, (struct coord_event){.kind = COORD_READING, .unit = u, .reading = &r});
	str_release(&line);
}

static void owe_rest(struct coord *c, const struct slot *s, const struct unit *u,
                     enum outcome outcome, const struct reason *reason)
{
	const struct metric *m = u->probe->metrics;

	for (int i = 0; m[i].name && i < MAX_METRICS; i++)
		for (int way = 0; way < unit_ways(u, &m[i]); way++)
			if (!(s && s->emitted[way][i]) && unit_owes(u, &m[i]))
				owe(c, u, &m[i], way, outcome, reason);
}

static void make_reason(struct coord *c, struct reason *reason, enum msg id,
                        const char *const *args)
{
	struct probe_ctx ctx = {.arena = &c->arena};

	reason_set_list(&ctx, reason, id, args);
}
#define because(c, reason, id, ...)                                                                \
	make_reason(c, reason, id, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* --- lines from a child ------------------------------------------------------ */

static void take_reading(struct slot *s, const char *line, size_t len)
{
	struct coord *c = s->coord;
	const struct metric *m = s->unit->probe->metrics;
	struct reading r;
	const char *why = NULL;
	struct arena scratch = {0};

	if (reading_parse(&r, &scratch, line, len, &why) != ST_OK) {
		trouble(c, s->unit, say(MSG_child_line, s->label.data, why ? why : "?"));
	} else {
		for (int i = 0; m[i].name && i < MAX_METRICS; i++)
			if (r.metric && strcmp(m[i].name, r.metric) == 0)
				s->emitted[reading_way(s->unit, &m[i], &r)][i] = true;
		c->result->count[r.outcome]++;
		card_names_learn(&c->cards, &r.subject);
		/* Raw samples go to rank 0 by this view, before the line that names them. */
		view(c,
		     (struct coord_event){.kind = COORD_READING, .unit = s->unit, .reading = &r});
		store(c, s->unit, line, len);
	}
	arena_release(&scratch);
}

static void take_progress(struct slot *s, const cJSON *o)
{
	const char *name = json_string(o, "stage", "");
	enum msg what;

	for (int i = 0; i < STAGES; i++)
		if (strcmp(stage_names[i], name) == 0)
			s->stage = (enum stage)i;
	view(s->coord, (struct coord_event){.kind = COORD_PROGRESS,
	                                    .unit = s->unit,
	                                    .stage = s->stage,
	                                    .done = json_number(o, "done", -1),
	                                    .text = msg_parse(json_string(o, "what", ""), &what)
	                                                    ? msg_format(what)
	                                                    : ""});
}

/* From this child to one it works with on another node. */
static void take_peer_text(const struct slot *s, const cJSON *o)
{
	const struct company *company = s->unit->company;
	int to = json_int(o, "to", -1);

	if (company && to >= 0 && to < company->count)
		company->send(company->arg, to, json_string(o, "text", ""));
}

static void on_line(void *arg, const char *line, size_t len)
{
	struct slot *s = arg;
	struct json_doc doc;
	const char *kind;

	if (len > 5 && strncmp(line, "{\"v\":", 5) == 0) {
		take_reading(s, line, len);
		return;
	}
	if (json_parse(&doc, "channel", line, len, JSON_STRICT, NULL) != ST_OK) {
		trouble(s->coord, s->unit, say(MSG_child_line, s->label.data, "not JSON"));
		return;
	}
	kind = json_string(doc.root, "kind", "");
	if (strcmp(kind, "progress") == 0) {
		take_progress(s, doc.root);
	} else if (strcmp(kind, "peer") == 0) {
		take_peer_text(s, doc.root);
	} else if (strcmp(kind, "done") == 0) {
		s->done = true;
		s->broke = strcmp(json_string(doc.root, "status", ""), status_name(ST_OK)) != 0;
		s->waited =
			strcmp(json_string(doc.root, "status", ""), status_name(ST_TIMEOUT)) == 0;
	}
	json_release(&doc);
}

/* --- starting a unit ---------------------------------------------------------- */

static double deadline_of(const struct coord *c, const struct unit *u)
{
	return unit_limit_s(u, c->o->request->budget, c->o->deadline_scale);
}

/* Every unit its own seed from the run's: the same one for all cards of a run,
 * so that equal cards get equal data. */
static uint64_t unit_seed(const struct coord *c, const struct unit *u)
{
	return hash_add(c->o->seed, u->probe->name, strlen(u->probe->name));
}

static void make_request(struct coord *c, struct slot *s)
{
	const struct plan_request *r = c->o->request;
	const struct unit *u = s->unit;
	struct json_out j = json_writer(&s->request, 0);

	json_object_begin(&j, NULL);
	json_put_string(&j, "probe", u->probe->name);
	json_put_string(&j, "phase", u->probe->phase);
	json_put_string(&j, "work", u->work);
	json_put_string(&j, "node", r->node);
	json_put_int(&j, "writer", c->o->writer);
	json_put_int(&j, "attempt", u->attempt);
	json_put_int(&j, "times", u->times);
	json_put_int(&j, "budget", r->budget);
	json_put_string(&j, "seed", tmpf("%016" PRIx64, unit_seed(c, u)));
	/* Not shortened: on doubles the child's clock is a virtual one. */
	json_put_number(&j, "deadline_s", unit_limit_s(u, r->budget, 1));
	json_put_string(&j, "subject", u->subject);
	json_put_string(&j, "scratch", s->scratch.len ? s->scratch.data : NULL);
	json_put_string(&j, "lib_dir", r->lib_dir);
	json_put_string(&j, "sys_root", r->sys_root ? r->sys_root : "");
	if (u->company) {
		json_put_int(&j, "self", u->company->self);
		json_put_number(&j, "ahead_s", u->company->ahead_s);
		json_array_begin(&j, "peers");
		for (int i = 0; i < u->company->count; i++)
			json_put_string(&j, NULL, u->company->nodes[i]);
		json_array_end(&j);
	}
	if (c->o->dir)
		json_put_string(&j, "raw_dir", tmpf("%s/raw/%s", c->o->dir, r->node));
	json_object_begin(&j, "params");
	for (int i = 0; i < r->n_settings; i++) {
		const struct param *row = param_find(u->probe, r->settings[i].key);

		/* Of two for one key the last holds. */
		if (strcmp(r->settings[i].probe, u->probe->name) == 0 && row &&
		    param_value(u->probe, row, r->budget, r->settings, r->n_settings) ==
		            r->settings[i].value)
			json_put_string(&j, r->settings[i].key, r->settings[i].value);
	}
	if (u->probe->needs_storage && param_find(u->probe, "shared"))
		json_put_string(&j, "shared", u->named_path ? "named" : "local");
	json_object_end(&j);
	json_object_end(&j);
	str_addc(&s->request, '\n');
}

/* What it has not said is owed for slot's reason. */
static void fail(struct coord *c, struct slot *s, enum outcome outcome)
{
	s->outcome = outcome;
	owe_rest(c, s, s->unit, outcome, &s->reason);
}

static void fail_start(struct coord *c, struct slot *s, struct error *err)
{
	bool path = s->unit->probe->needs_storage && !s->proc && s->scratch.len == 0;

	/* A path one cannot write to is a property of the path, not a fault of
	 * the machine that tried. */
	because(c, &s->reason, path ? MSG_path_unusable : MSG_child_start, str_text(&err->text));
	fail(c, s, path ? OUTCOME_NOT_MEASURED : OUTCOME_FAILED);
	error_release(err);
}

static void fail_silent(struct coord *c, struct slot *s)
{
	because(c, &s->reason, MSG_path_silent, s->unit->subject, tmpf("%d", ANSWER_S));
	fail(c, s, OUTCOME_TIMED_OUT);
}

static bool start_unit(struct coord *c, struct slot *s)
{
	const char *const argv[] = {"assay", "--child", NULL};
	const char *scratch_list[1];
	struct proc_spec spec = {
		.exe = c->o->exe ? c->o->exe : "/proc/self/exe",
		.argv = argv,
		.deadline_s = deadline_of(c, s->unit),
		.grace_s = 2,
		.on_line = on_line,
		.arg = s,
	};
	struct error err = {0};

	str_addf(&s->label, "%s %s", s->unit->probe->name,
	         s->unit->subject ? s->unit->subject : c->o->request->node);
	if (s->unit->probe->needs_storage && !path_answers(s->unit->subject, ANSWER_S)) {
		fail_silent(c, s);
		return false;
	}
	if (s->unit->probe->needs_storage &&
	    scratch_make(s->unit->subject, c->o->run_id, c->o->request->node, &s->scratch, &s->lock,
	                 &err) != ST_OK) {
		str_clear(&s->scratch);
		fail_start(c, s, &err);
		return false;
	}
	make_request(c, s);
	if (s->scratch.len) {
		scratch_list[0] = s->scratch.data;
		spec.scratch = scratch_list;
		spec.n_scratch = 1;
	}
	spec.request = s->request.data;
	spec.keep_input = s->unit->company != NULL;
	spec.label = s->label.data;
	if (proc_start(&s->proc, &spec, &err) != ST_OK) {
		fail_start(c, s, &err);
		return false;
	}
	return true;
}

/* --- the end of a unit --------------------------------------------------------- */

/* Before it measures, a child waits for libraries and disks; once its card is open,
 * for that card. */
static bool at_fault(const struct slot *s)
{
	return s->stage == STAGE_MEASURING || (s->stage == STAGE_PREPARING && unit_on_gpu(s->unit));
}

static void end_unit(struct coord *c, struct slot *s)
{
	const struct proc_end *end = s->proc ? proc_result(s->proc) : NULL;
	const struct company *company = s->unit->company;
	bool well = s->done && !s->broke && end && !end->signal && end->exit_code == 0, failed;
	/* Those that only answer the first one wait for nobody else. */
	bool waited = s->waited && company && company->self;
	struct error err = {0};

	if (end && !well)
		fail(c, s,
		     child_outcome(&(struct ended){.name = s->unit->probe->name,
		                                   .end = end,
		                                   .at_work = at_fault(s),
		                                   .broke = s->done && s->broke,
		                                   .waited_for = waited ? company->nodes[0] : NULL},
		                   &c->arena, &s->reason));
	/* Done only once its readings are saved: a resume must not skip it. Of a unit in
	 * company the first node says so, which has them. */
	if (!(end && end->stopped) && !(company && company->self) && c->o->store_work &&
	    keeper_empty(&c->keeper))
		c->o->store_work(c->o->store_arg, s->unit->work, &err);
	error_release(&err);
	failed = s->reason.code && !(end && end->stopped);
	view(c, (struct coord_event){.kind = COORD_END,
	                             .unit = s->unit,
	                             .reason = failed ? &s->reason : NULL,
	                             .outcome = s->outcome});
}

static void free_slot(struct slot *s)
{
	/* Where a process hangs, touching its directory would hang us: the lock stays
	 * ours until we end, and the next run there removes what is left. */
	bool hangs = s->proc && proc_result(s->proc)->unkillable;
	bool left = s->proc && proc_result(s->proc)->left;

	proc_free(s->proc);
	if (s->scratch.len && hangs)
		lock_abandon(s->lock);
	else if (s->scratch.len)
		scratch_close(s->scratch.data, s->lock);
	/* Until now our own lock file may have been all that was left. */
	if (left && (hangs || access(s->scratch.data, F_OK) == 0))
		log_note(MSG_scratch_left, str_text(&s->label), s->scratch.data);
	str_release(&s->request);
	str_release(&s->scratch);
	str_release(&s->label);
}

/* --- groups of units -------------------------------------------------------------- */

static void wait_group(struct coord *c, struct slot *slots, struct proc **procs, int count)
{
	bool asked = false;
	int running;

	do {
		running = 0;
		for (int i = 0; i < count; i++)
			if (slots[i].proc && !proc_done(slots[i].proc))
				procs[running++] = slots[i].proc;
		if (*c->o->stop && !asked) {
			for (int i = 0; i < running; i++)
				proc_stop(procs[i]);
			asked = true;
		}
		if (c->o->idle)
			c->o->idle(c->o->idle_arg);
		if (running)
			proc_pump(procs, running, c->o->idle ? IDLE_MS : PUMP_MS);
	} while (running);
}

static void run_group(struct coord *c, const struct unit *units, int count)
{
	struct slot *slots = arena_array(&c->arena, (size_t)count, sizeof(*slots));
	struct proc **procs = arena_array(&c->arena, (size_t)count, sizeof(struct proc *));

	for (int i = 0; i < count; i++) {
		slots[i] = (struct slot){.coord = c, .unit = &units[i], .lock = -1};
		c->position++;
		view(c, (struct coord_event){.kind = COORD_BEGIN, .unit = &units[i]});
		if (units[i].company)
			c->peer_slot = &slots[i];
		start_unit(c, &slots[i]);
	}
	wait_group(c, slots, procs, count);
	c->peer_slot = NULL;
	for (int i = 0; i < count; i++) {
		end_unit(c, &slots[i]);
		free_slot(&slots[i]);
	}
	c->planned_done += units[0].seconds;
	arena_reset(&c->arena);
}

/* Units from `first` on that may run side by side with it. */
static int group_size(const struct plan *plan, int first)
{
	const struct unit *u = plan->units;
	int n = 1;

	while (first + n < plan->count && unit_beside(&u[first + n - 1], &u[first + n]))
		n++;
	return n;
}

/* Units that will not run say why first, so that even a cut run has it. */
static void owe_left_out(struct coord *c)
{
	const struct plan *plan = c->o->plan;

	for (int i = 0; i < plan->count; i++)
		if (plan->units[i].state == UNIT_OUT)
			owe_rest(c, NULL, &plan->units[i], OUTCOME_NOT_MEASURED,
			         &plan->units[i].reason);
}

/* Whether a unit before that one is about the path. */
static bool on_path(const struct plan *plan, int before, const char *path)
{
	for (int i = 0; i < before; i++)
		if (plan->units[i].probe->needs_storage && plan->units[i].subject &&
		    strcmp(plan->units[i].subject, path) == 0)
			return true;
	return false;
}

/* Whether nodes will work there together, by units that no plan of a node has. */
static bool in_company(const struct plan_request *r)
{
	bool any = false;

	for (int i = 0; r->cluster && r->probes[i]; i++)
		any = any || (r->probes[i]->needs_storage && probe_in_company(r->probes[i]) &&
		              plan_selects(r->info, r->probes[i]));
	return any;
}

/* Left-overs of a run that was killed with its guards. A path that hangs says so
 * when its probes begin. */
static void sweep(const struct coord *c)
{
	const struct plan *plan = c->o->plan;
	const struct plan_request *r = c->o->request;
	struct str removed = {0};

	for (int i = 0; i < plan->count; i++) {
		const struct unit *u = &plan->units[i];

		if (u->probe->needs_storage && u->subject && !on_path(plan, i, u->subject) &&
		    path_answers(u->subject, ANSWER_S))
			guard_sweep(u->subject, r->node, &removed, NULL);
	}
	for (int i = 0; in_company(r) && i < r->info->n_storage; i++) {
		const char *path = r->info->storage[i];

		if (!on_path(plan, plan->count, path) && path_answers(path, ANSWER_S))
			guard_sweep(path, r->node, &removed, NULL);
	}
	if (removed.len)
		log_note(MSG_swept, removed.data);
	str_release(&removed);
}

/* --- a run ------------------------------------------------------------------------- */

struct coord *coord_open(struct coord_result *result, const struct coord_options *options)
{
	struct coord *c = calloc(1, sizeof(*c));

	if (!c)
		die_nomem();
	*result = (struct coord_result){0};
	*c = (struct coord){.o = options,
	                    .result = result,
	                    .keeper = {.save = options->store, .arg = options->store_arg},
	                    .started = clock_now(&clock_system)};
	for (int i = 0; i < options->plan->count; i++)
		c->total += options->plan->units[i].state == UNIT_RUN;
	owe_left_out(c);
	sweep(c);
	return c;
}

void coord_phase(struct coord *c, const char *phase)
{
	const struct plan *plan = c->o->plan;

	for (int i = 0, n = 1; i < plan->count && !*c->o->stop; i += n) {
		const struct unit *u = &plan->units[i];

		n = 1;
		if (u->state != UNIT_RUN || strcmp(u->probe->phase, phase) != 0)
			continue;
		n = group_size(plan, i);
		run_group(c, u, n);
	}
}

void coord_unit(struct coord *c, const struct unit *u)
{
	if (!*c->o->stop)
		run_group(c, u, 1);
}

void coord_peer_text(struct coord *c, int from, const char *text)
{
	struct str line = {0};
	struct json_out j = json_writer(&line, 0);

	if (!c->peer_slot || !c->peer_slot->proc)
		return;
	json_object_begin(&j, NULL);
	json_put_int(&j, "from", from);
	json_put_string(&j, "text", text);
	json_object_end(&j);
	str_addc(&line, '\n');
	proc_send(c->peer_slot->proc, line.data, line.len);
	str_release(&line);
}

void coord_cancel(struct coord *c)
{
	if (c->peer_slot && c->peer_slot->proc)
		proc_stop(c->peer_slot->proc);
}

enum status coord_close(struct coord *c, struct error *err)
{
	struct coord_result *result = c->result;
	enum status st = keeper_end(&c->keeper, err);

	result->readings = c->keeper.lines;
	result->store_failed = st != ST_OK;
	result->interrupted = *c->o->stop != 0;
	result->seconds = (double)(clock_now(&clock_system) - c->started) / 1e9;
	card_names_release(&c->cards);
	arena_release(&c->arena);
	free(c);
	return result->interrupted ? ST_INTERRUPTED : st;
}

enum status coord_run(struct coord_result *result, const struct coord_options *options,
                      struct error *err)
{
	const struct plan *plan = options->plan;
	struct coord *c = coord_open(result, options);
	const char *phase = "";

	for (int i = 0; i < plan->count; i++) {
		if (strcmp(phase, plan->units[i].probe->phase) == 0)
			continue;
		phase = plan->units[i].probe->phase;
		coord_phase(c, phase);
		if (options->store_sync)
			options->store_sync(options->store_arg, NULL);
	}
	return coord_close(c, err);
}
