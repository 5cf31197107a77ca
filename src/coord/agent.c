/* The agent of a node: rank 0's orders become units of coord, their readings
 * messages. */
#include "coord/agent.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "coord/hello.h"
#include "coord/spool.h"
#include "coord/wire.h"
#include "run/run_json.h"

#define BEAT_NS NS_PER_S

enum job { JOB_NONE, JOB_SETUP, JOB_STATES, JOB_PHASE, JOB_CREW };

/* A text for a child that may not run yet. */
struct early {
	struct early *next;
	char work[13];
	int from;
	char *text;
};

struct agent {
	struct agent_options o;
	struct arena arena;
	struct run_info info;
	struct plan_request request;
	struct plan plan;
	struct coord_options coord_options;
	struct coord_result result;
	struct coord *coord;
	struct spool *spool;
	const char *dir; /* of the run, where this node sees it too; else the spool's */
	bool shared;
	enum job job;
	struct str order; /* text of the job at hand */
	struct unit unit; /* the one in company */
	struct company company;
	bool in_crew;
	struct early *early;
	struct str doing; /* for the next beat */
	double done;
	int64_t beat_ns, heard_ns;
	int64_t sent; /* lines */
	bool stopped; /* rank 0 knows that we stop */
	bool over, all_alive, leave;
	const char *trouble;
};

/* --- sending ------------------------------------------------------------------ */

static enum status tell(struct agent *a, enum wire kind, const char *text, size_t len,
                        struct error *err)
{
	return wire_send(a->o.comm, 0, kind, text, len, err);
}

/* Words for a person, said by rank 0. */
static void tell_trouble(struct agent *a, const char *text)
{
	struct wire_json w;

	wire_begin(&w);
	json_put_string(&w.j, "trouble", text);
	wire_end(&w, a->o.comm, 0, WIRE_BEAT, NULL);
}

static enum status store(void *arg, const char *line, size_t len, struct error *err)
{
	struct agent *a = arg;
	enum status st = tell(a, WIRE_LINE, line, len, err);

	if (st == ST_OK) {
		spool_add(a->spool, line, len);
		a->sent++;
	}
	return st;
}

static enum status store_work(void *arg, const char *work, struct error *err)
{
	return tell(arg, WIRE_WORK, work, strlen(work), err);
}

/* Where rank 0 does not see the file it gets its content. */
static void send_raw(struct agent *a, const char *file)
{
	struct str text = {0}, content = {0};
	struct error err = {0};

	if (spool_take_raw(a->spool, file, &content, &err) == ST_OK) {
		str_addf(&text, "%s\n", file);
		str_addn(&text, str_text(&content), content.len);
		if (tell(a, WIRE_RAW, text.data, text.len, &err) == ST_OK)
			spool_drop_raw(a->spool, file);
	}
	if (err.status)
		tell_trouble(a, str_text(&err.text));
	error_release(&err);
	str_release(&content);
	str_release(&text);
}

/* Its partners wait for the child that did not end well. */
static void tell_broke(struct agent *a, const struct coord_event *e)
{
	struct wire_json w;

	wire_begin(&w);
	json_put_string(&w.j, "work", e->unit->work);
	json_put_string(&w.j, "outcome", outcome_name(e->outcome));
	json_put_string(&w.j, "text", e->reason->text);
	wire_end(&w, a->o.comm, 0, WIRE_BROKE, NULL);
}

static void view(void *arg, const struct coord_event *e)
{
	struct agent *a = arg;

	if (e->kind == COORD_BEGIN || e->kind == COORD_PROGRESS) {
		str_clear(&a->doing);
		str_addf(&a->doing, "%s%s%s", e->unit->probe->name, e->unit->subject ? " " : "",
		         e->unit->subject ? e->unit->subject : "");
		a->done = e->kind == COORD_PROGRESS ? e->done : -1;
	} else if (e->kind == COORD_READING && e->reading->raw.file && !a->shared) {
		send_raw(a, e->reading->raw.file);
	} else if (e->kind == COORD_TROUBLE) {
		tell_trouble(a, e->text);
	} else if (e->kind == COORD_END && e->reason && e->unit->company) {
		tell_broke(a, e);
	}
}

/* --- giving up ------------------------------------------------------------------ */

static void give_up(struct agent *a, const char *text)
{
	if (!a->trouble)
		a->trouble = arena_str(&a->arena, text);
	a->over = true;
	*a->o.stop = *a->o.stop ? *a->o.stop : SIGTERM;
}

/* Cannot take part: rank 0 decides what that means. */
static void refuse(struct agent *a, struct error *err)
{
	tell(a, WIRE_FAILED, str_text(&err->text), err->text.len, NULL);
	error_release(err);
}

/* --- setup ------------------------------------------------------------------------ */

static void send_plan(struct agent *a)
{
	const struct plan *plan = &a->plan;
	struct wire_json w;

	wire_begin(&w);
	json_put_number(&w.j, "seconds", plan->seconds);
	json_put_int(&w.j, "bytes", plan->bytes);
	json_array_begin(&w.j, "units");
	for (int i = 0; i < plan->count; i++) {
		const struct unit *u = &plan->units[i];

		json_object_begin(&w.j, NULL);
		json_put_string(&w.j, "probe", u->probe->name);
		json_put_string(&w.j, "subject", u->subject);
		json_put_bool(&w.j, "named", u->named_path);
		json_put_string(&w.j, "work", u->work);
		json_put_bool(&w.j, "run", u->state == UNIT_RUN);
		json_put_number(&w.j, "seconds", u->seconds);
		json_object_end(&w.j);
	}
	json_array_end(&w.j);
	wire_end(&w, a->o.comm, 0, WIRE_PLAN, NULL);
}

static enum status make_plan(struct agent *a, const cJSON *o, struct error *err)
{
	const char *run = json_string(o, "run", "");
	struct setting *settings;
	enum status st = run_json_parse(&a->info, &a->arena, "run.json", run, strlen(run), err);

	if (st != ST_OK)
		return st;
	settings = arena_array(&a->arena, (size_t)a->info.n_settings + 1, sizeof(*settings));
	for (int i = 0; i < a->info.n_settings && st == ST_OK; i++)
		st = setting_parse(&settings[i], &a->arena, a->o.probes, NULL, a->info.settings[i],
		                   err);
	if (st != ST_OK)
		return st;
	a->request = (struct plan_request){
		.probes = a->o.probes,
		.budget = budget_named(a->info.budget),
		.node = arena_str(&a->arena, json_string(o, "name", a->o.host)),
		.local_path = a->o.comm->rank == 0 ? a->dir : spool_dir(a->spool),
		.info = &a->info,
		.settings = settings,
		.n_settings = a->info.n_settings,
		.lib_dir = a->o.lib_dir,
		.sys_root = a->o.sys_root,
		.cluster = true,
	};
	return plan_make(&a->plan, &a->arena, &a->request, err);
}

static enum status setup(struct agent *a, const cJSON *o, struct error *err)
{
	const char *dir = json_string(o, "dir", ""), *run = json_string(o, "id", "");
	enum status st = spool_open(&a->spool, run, a->o.host, a->o.comm->rank, err);

	if (st != ST_OK)
		return st;
	if (err->text.len)
		tell_trouble(a, str_text(&err->text));
	error_release(err);
	*err = (struct error){0};
	a->shared = a->o.comm->rank == 0 || spool_sees(dir, run);
	a->dir = arena_str(&a->arena, a->shared ? dir : spool_dir(a->spool));
	st = make_plan(a, o, err);
	if (st == ST_OK)
		send_plan(a);
	return st;
}

/* {"units":[[done,attempt],…]} in the order of the plan. */
static void take_states(struct agent *a, const cJSON *o)
{
	const cJSON *list = json_get(o, "units");
	int i = 0;

	for (const cJSON *u = list ? list->child : NULL; u && i < a->plan.count; u = u->next, i++) {
		const cJSON *done = cJSON_GetArrayItem(u, 0), *attempt = cJSON_GetArrayItem(u, 1);

		if (cJSON_IsTrue(done) && a->plan.units[i].state == UNIT_RUN)
			a->plan.units[i].state = UNIT_DONE;
		if (cJSON_IsNumber(attempt))
			a->plan.units[i].attempt = attempt->valueint;
	}
}

static void begin(struct agent *a)
{
	a->coord_options = (struct coord_options){
		.request = &a->request,
		.plan = &a->plan,
		.run_id = a->info.id,
		.dir = a->dir,
		.seed = strtoull(a->info.seed, NULL, 16),
		.writer = a->o.comm->rank,
		.exe = a->o.exe,
		.deadline_scale = a->o.deadline_scale,
		.stop = a->o.stop,
		.store = store,
		.store_work = store_work,
		.store_arg = a,
		.view = view,
		.view_arg = a,
		.idle = a->o.idle,
		.idle_arg = a->o.idle_arg,
	};
	a->coord = coord_open(&a->result, &a->coord_options);
}

/* --- company --------------------------------------------------------------------------- */

static void send_text(void *arg, int to, const char *text)
{
	struct agent *a = arg;
	struct wire_json w;

	wire_begin(&w);
	json_put_int(&w.j, "to", to);
	json_put_string(&w.j, "work", a->unit.work);
	json_put_string(&w.j, "text", text);
	wire_end(&w, a->o.comm, 0, WIRE_TEXT, NULL);
}

static void drop_early(struct early **at)
{
	struct early *gone = *at;

	*at = gone->next;
	free(gone->text);
	free(gone);
}

/* Texts for the child that runs; others are of units that are over. */
static void hand_over(struct agent *a)
{
	while (a->early) {
		if (strcmp(a->early->work, a->unit.work) == 0)
			coord_peer_text(a->coord, a->early->from, a->early->text);
		drop_early(&a->early);
	}
}

static void take_text(struct agent *a, const cJSON *o)
{
	struct early *e = calloc(1, sizeof(*e)), **at = &a->early;

	if (!e || !(e->text = strdup(json_string(o, "text", ""))))
		die_nomem();
	snprintf(e->work, sizeof(e->work), "%s", json_string(o, "work", ""));
	e->from = json_int(o, "from", -1);
	while (*at)
		at = &(*at)->next;
	*at = e;
}

static bool read_company(struct agent *a, struct arena *arena, const cJSON *o)
{
	const cJSON *nodes = json_get(o, "nodes");
	int n = nodes ? cJSON_GetArraySize(nodes) : 0, i = 0;
	const char **names = arena_array(arena, (size_t)n + 1, sizeof(*names));

	for (const cJSON *name = n ? nodes->child : NULL; name; name = name->next)
		names[i++] = arena_str(arena, cJSON_IsString(name) ? name->valuestring : "?");
	a->company = (struct company){.nodes = names,
	                              .count = n,
	                              .self = json_int(o, "self", 0),
	                              .ahead_s = json_number(o, "ahead_s", NAN),
	                              .send = send_text,
	                              .arg = a};
	return n > 0 && a->company.self >= 0 && a->company.self < n;
}

static void run_crew(struct agent *a, const cJSON *o)
{
	struct arena arena = {0};
	const struct probe *probe;

	if (probe_named(&probe, a->o.probes, json_string(o, "probe", ""), NULL) == ST_OK &&
	    read_company(a, &arena, o)) {
		a->unit = (struct unit){.probe = probe,
		                        .subject = arena_str(&arena, json_string(o, "id", "")),
		                        .attempt = json_int(o, "attempt", 1),
		                        .times = json_int(o, "times", 1),
		                        .seconds = json_number(o, "seconds", 1),
		                        .named_path = probe->needs_storage,
		                        .company = &a->company};
		snprintf(a->unit.work, sizeof(a->unit.work), "%s", json_string(o, "work", ""));
		a->in_crew = true;
		coord_unit(a->coord, &a->unit);
		a->in_crew = false;
	}
	tell(a, WIRE_OVER, a->unit.work, strlen(a->unit.work), NULL);
	arena_release(&arena);
}

/* --- orders ---------------------------------------------------------------------------- */

static void order(struct agent *a, enum job job, const char *text, size_t len)
{
	if (a->job != JOB_NONE)
		log_note(MSG_agent_busy, a->o.host);
	a->job = job;
	str_clear(&a->order);
	str_addn(&a->order, text, len);
}

static void answer_ping(struct agent *a, const char *number)
{
	const char *text = tmpf("%s %" PRId64, number, clock_wall(&clock_system));

	tell(a, WIRE_CLOCK, text, strlen(text), NULL);
}

static void take_json(struct agent *a, const char *text, size_t len,
                      void (*take)(struct agent *a, const cJSON *o))
{
	struct json_doc doc;

	if (json_parse(&doc, "message", text, len, JSON_STRICT, NULL) != ST_OK)
		return;
	take(a, doc.root);
	json_release(&doc);
}

/* The unit at work, or one whose order waits: that is then over before it began. */
static void cancel(struct agent *a, const char *work)
{
	struct json_doc doc;
	bool waits;

	if (a->in_crew && strcmp(work, a->unit.work) == 0) {
		coord_cancel(a->coord);
		return;
	}
	if (a->job != JOB_CREW || json_parse(&doc, "message", str_text(&a->order), a->order.len,
	                                     JSON_STRICT, NULL) != ST_OK)
		return;
	waits = strcmp(work, json_string(doc.root, "work", "")) == 0;
	json_release(&doc);
	if (!waits)
		return;
	a->job = JOB_NONE;
	tell(a, WIRE_OVER, work, strlen(work), NULL);
}

void agent_take(struct agent *a, const void *bytes, size_t len)
{
	const char *text = (const char *)bytes + 1;
	struct str kept = {0};

	if (len == 0)
		return;
	a->heard_ns = clock_now(&clock_system);
	str_addn(&kept, text, len - 1);
	switch (*(const char *)bytes) {
	case WIRE_SETUP:
		order(a, JOB_SETUP, text, len - 1);
		break;
	case WIRE_STATES:
		order(a, JOB_STATES, text, len - 1);
		break;
	case WIRE_PHASE:
		order(a, JOB_PHASE, text, len - 1);
		break;
	case WIRE_CREW:
		order(a, JOB_CREW, text, len - 1);
		break;
	case WIRE_CANCEL:
		cancel(a, str_text(&kept));
		break;
	case WIRE_TEXT:
		take_json(a, text, len - 1, take_text);
		break;
	case WIRE_PING:
		answer_ping(a, str_text(&kept));
		break;
	case WIRE_ALIVE:
		spool_saved(a->spool, strtoll(str_text(&kept), NULL, 10));
		break;
	case WIRE_STOP:
		a->stopped = true;
		*a->o.stop = *a->o.stop ? *a->o.stop : SIGTERM;
		break;
	case WIRE_LEAVE:
		a->leave = true;
		break;
	case WIRE_END:
		a->over = true;
		a->all_alive = strcmp(str_text(&kept), WIRE_ALL_ALIVE) == 0;
		break;
	}
	str_release(&kept);
}

static void do_setup(struct agent *a, const cJSON *o)
{
	struct error err = {0};

	if (setup(a, o, &err) != ST_OK)
		refuse(a, &err);
}

static void do_states(struct agent *a, const cJSON *o)
{
	take_states(a, o);
	begin(a);
	tell(a, WIRE_OVER, "", 0, NULL);
}

void agent_step(struct agent *a)
{
	enum job job = a->job;
	struct str text = a->order;

	agent_tick(a);
	if (job == JOB_NONE || a->over)
		return;
	/* The next order may come while this one is carried out. */
	a->order = (struct str){0};
	a->job = JOB_NONE;
	if (job == JOB_SETUP) {
		take_json(a, str_text(&text), text.len, do_setup);
	} else if (job == JOB_STATES) {
		take_json(a, str_text(&text), text.len, do_states);
	} else if (a->coord && job == JOB_PHASE) {
		coord_phase(a->coord, str_text(&text));
		tell(a, WIRE_OVER, text.data, text.len, NULL);
	} else if (a->coord && job == JOB_CREW) {
		take_json(a, str_text(&text), text.len, run_crew);
	}
	str_clear(&a->doing);
	str_release(&text);
}

/* --- life -------------------------------------------------------------------------------- */

static void beat(struct agent *a)
{
	struct wire_json w;

	wire_begin(&w);
	json_put_string(&w.j, "doing", str_text(&a->doing));
	json_put_number(&w.j, "done", a->done);
	wire_end(&w, a->o.comm, 0, WIRE_BEAT, NULL);
}

void agent_tick(struct agent *a)
{
	int64_t now = clock_now(&clock_system);

	if (a->in_crew)
		hand_over(a);
	if (*a->o.stop && !a->stopped && a->o.comm->rank != 0) {
		const char *why = say(MSG_interrupted, a->o.host);

		a->stopped = true;
		tell(a, WIRE_FAILED, why, strlen(why), NULL);
	}
	if (now - a->beat_ns >= BEAT_NS) {
		a->beat_ns = now;
		beat(a);
	}
	if (!a->over && ((double)(now - a->heard_ns) / 1e9 > a->o.lost_after_s ||
	                 a->o.comm->ops->broken(a->o.comm, 0)))
		give_up(a, say(MSG_agent_alone, tmpf("%.0f", a->o.lost_after_s),
		               a->spool ? spool_dir(a->spool) : "-"));
}

struct agent *agent_open(const struct agent_options *options)
{
	struct agent *a = calloc(1, sizeof(*a));
	struct identity id;
	struct wire_json w;

	if (!a)
		die_nomem();
	a->o = *options;
	a->heard_ns = a->beat_ns = clock_now(&clock_system);
	identity_read(&id, &a->arena, options->sys_root, options->host, options->version,
	              options->options);
	id.program = options->program;
	wire_begin(&w);
	identity_write(&id, &w.j);
	wire_end(&w, options->comm, 0, WIRE_HELLO, NULL);
	return a;
}

bool agent_over(const struct agent *a)
{
	return a->over;
}

bool agent_all_alive(const struct agent *a)
{
	return a->all_alive;
}

bool agent_leave(const struct agent *a)
{
	return a->leave;
}

const char *agent_trouble(const struct agent *a)
{
	return a->trouble;
}

void agent_end(struct agent *a)
{
	struct error err = {0};

	if (a->coord)
		coord_close(a->coord, &err);
	a->coord = NULL;
	if (err.status && err.status != ST_INTERRUPTED)
		tell_trouble(a, str_text(&err.text));
	error_release(&err);
	tell(a, WIRE_BYE, "", 0, NULL);
}

void agent_close(struct agent *a)
{
	if (a->coord)
		coord_close(a->coord, NULL);
	spool_close(a->spool, a->trouble != NULL);
	while (a->early)
		drop_early(&a->early);
	str_release(&a->order);
	str_release(&a->doing);
	arena_release(&a->arena);
	free(a);
}
