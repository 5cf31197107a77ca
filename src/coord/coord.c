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
#include "base/json.h"
#include "base/log.h"
#include "coord/card_names.h"
#include "coord/worker.h"

#define MAX_METRICS   128
#define PUMP_MS       200
#define WAITING_LIMIT ((size_t)64 << 20)

/* One unit being measured. */
struct slot {
	struct coord *coord;
	const struct unit *unit;
	struct proc *proc;
	struct str request, scratch, label;
	int lock; /* of the scratch directory, -1: none */
	enum stage stage;
	bool done;  /* the child said it ended by itself */
	bool broke; /* … but not well */
	bool emitted[MAX_METRICS];
};

struct coord {
	const struct coord_options *o;
	struct coord_result *result;
	struct error *err;
	struct arena arena; /* of the unit group at hand */
	struct card_names cards;
	struct str waiting; /* lines not saved yet, each with its newline */
	size_t saved;       /* of those, bytes that are */
	int64_t dropped;    /* lines beyond WAITING_LIMIT */
	bool told;
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

/* Saves what could not be saved before; false while something is left. */
static bool store_waiting(struct coord *c, struct error *err)
{
	while (c->saved < c->waiting.len) {
		const char *line = c->waiting.data + c->saved;
		size_t len = strcspn(line, "\n");

		if (c->o->store(c->o->store_arg, line, len, err) != ST_OK)
			return false;
		c->saved += len + 1;
		c->result->readings++;
	}
	str_clear(&c->waiting);
	c->saved = 0;
	return true;
}

/* A full disk may have room again later: lines wait in memory, in their order,
 * the measurement goes on, and the trouble is said once. */
static void store(struct coord *c, const struct unit *unit, const char *line, size_t len)
{
	struct error err = {0};

	if (c->waiting.len + len < WAITING_LIMIT) {
		str_addn(&c->waiting, line, len);
		str_addc(&c->waiting, '\n');
	} else {
		c->dropped++;
	}
	if (!store_waiting(c, &err) && !c->told) {
		trouble(c, unit, str_text(&err.text));
		c->told = true;
	}
	error_release(&err);
}

/* The last try, and what is to be said when it fails. */
static void store_end(struct coord *c)
{
	struct error err = {0};
	int64_t lost = c->dropped;

	if (!store_waiting(c, &err)) {
		for (size_t i = c->saved; i < c->waiting.len; i++)
			lost += c->waiting.data[i] == '\n';
	}
	if (lost) {
		c->result->store_failed = true;
		error_set(c->err, err.status ? err.status : ST_NOSPACE, MSG_store_failed,
		          tmpf("%lld", (long long)lost), str_text(&err.text));
	}
	str_release(&c->waiting);
	error_release(&err);
}

/* --- readings made here ----------------------------------------------------- */

static void name_subject(const struct coord *c, const struct unit *u, const struct metric *m,
                         struct subject *s)
{
	s->kind = m->subject;
	s->id = "*";
	if (m->subject == SUBJECT_NODE || m->subject == SUBJECT_ENVIRONMENT)
		s->id = c->o->request->node;
	else if (u->subject && m->subject == u->probe->subject)
		s->id = u->subject;
	if (m->subject != SUBJECT_CARD || !unit_on_gpu(u) || strcmp(s->id, "*") == 0)
		return;
	s->pci = u->subject;
	s->id = card_names_find(&c->cards, u->subject);
}

static void owe(struct coord *c, const struct unit *u, const struct metric *m, enum outcome outcome,
                const struct reason *reason)
{
	const char *node = c->o->request->node;
	struct reading r = reading_init();
	struct str line = {0}, time = {0};

	time_add_utc(&time, clock_wall(&clock_system));
	r.time = time.data;
	r.node = node;
	r.writer = c->o->writer;
	r.phase = u->probe->phase;
	r.attempt = u->attempt;
	r.work = u->work;
	r.probe = u->probe->name;
	name_subject(c, u, m, &r.subject);
	r.metric = m->name;
	r.unit = m->unit;
	r.better = m->better;
	r.outcome = outcome;
	r.reason = *reason;
	reading_format(&line, &r);
	store(c, u, line.data, line.len);
	c->result->count[outcome]++;
	view(c, (struct coord_event){.kind = COORD_READING, .unit = u, .reading = &r});
	str_release(&line);
	str_release(&time);
}

/* A unit on a CPU socket owes CPU figures, one on a card the rest; one without
 * a subject, such as a probe left out, owes all. */
static bool owes(const struct unit *u, const struct metric *m)
{
	bool cpu = u->subject && str_starts(u->subject, "cpu-");

	if (!u->subject)
		return true;
	switch (m->backend) {
	case BACKEND_CPU:
		return cpu;
	case BACKEND_CUDA:
		return !cpu;
	case BACKEND_LOCAL:
		return !u->named_path;
	case BACKEND_ANY:
		break;
	}
	return !u->probe->needs_storage || u->named_path;
}

static void owe_rest(struct coord *c, const struct slot *s, const struct unit *u,
                     enum outcome outcome, const struct reason *reason)
{
	const struct metric *m = u->probe->metrics;

	for (int i = 0; m[i].name && i < MAX_METRICS; i++)
		if (!(s && s->emitted[i]) && owes(u, &m[i]))
			owe(c, u, &m[i], outcome, reason);
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
				s->emitted[i] = true;
		c->result->count[r.outcome]++;
		card_names_learn(&c->cards, &r.subject);
		store(c, s->unit, line, len);
		view(c,
		     (struct coord_event){.kind = COORD_READING, .unit = s->unit, .reading = &r});
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
	} else if (strcmp(kind, "done") == 0) {
		s->done = true;
		s->broke = strcmp(json_string(doc.root, "status", ""), status_name(ST_OK)) != 0;
	}
	json_release(&doc);
}

/* --- starting a unit ---------------------------------------------------------- */

static double deadline_of(const struct coord *c, const struct unit *u)
{
	double extension = u->probe->extension_s[c->o->request->budget];

	return (u->seconds * 3 + 60 + extension) * c->o->deadline_scale;
}

/* Every unit its own seed from the run's: the same one for all cards of a run,
 * so that equal cards get equal data. */
static uint64_t unit_seed(const struct coord *c, const struct unit *u)
{
	uint64_t seed = c->o->seed;

	for (const char *p = u->probe->name; *p; p++)
		seed = (seed ^ (unsigned char)*p) * 0x100000001b3ULL;
	return seed;
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
	json_put_int(&j, "budget", r->budget);
	json_put_string(&j, "seed", tmpf("%016" PRIx64, unit_seed(c, u)));
	json_put_number(&j, "deadline_s", deadline_of(c, u));
	json_put_string(&j, "subject", u->subject);
	json_put_string(&j, "scratch", s->scratch.len ? s->scratch.data : NULL);
	json_put_string(&j, "lib_dir", r->lib_dir);
	json_put_string(&j, "sys_root", r->sys_root ? r->sys_root : "");
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

static void fail_start(struct coord *c, struct slot *s, struct error *err)
{
	struct reason reason;
	bool path = s->unit->probe->needs_storage && !s->proc && s->scratch.len == 0;

	/* A path one cannot write to is a property of the path, not a fault of
	 * the machine that tried. */
	because(c, &reason, path ? MSG_path_unusable : MSG_child_start, str_text(&err->text));
	owe_rest(c, s, s->unit, path ? OUTCOME_NOT_MEASURED : OUTCOME_FAILED, &reason);
	error_release(err);
}

static void fail_silent(struct coord *c, struct slot *s)
{
	struct reason reason;

	because(c, &reason, MSG_path_silent, s->unit->subject, tmpf("%d", ANSWER_S));
	owe_rest(c, s, s->unit, OUTCOME_TIMED_OUT, &reason);
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
	spec.label = s->label.data;
	if (proc_start(&s->proc, &spec, &err) != ST_OK) {
		fail_start(c, s, &err);
		return false;
	}
	return true;
}

/* --- the end of a unit --------------------------------------------------------- */

/* Last line of what the child wrote to stderr: usually the cause. */
static const char *last_words(const struct proc_end *end)
{
	const char *text = str_text(&end->err), *line = text;
	size_t len = strlen(text);

	while (len > 0 && text[len - 1] == '\n')
		len--;
	for (const char *p = text; p < text + len; p++)
		if (*p == '\n')
			line = p + 1;
	return len ? tmpf("%.*s", (int)(text + len - line), line) : say(MSG_no_output);
}

static enum outcome why_ended(struct coord *c, const struct slot *s, const struct proc_end *end,
                              struct reason *reason)
{
	const char *name = s->unit->probe->name;
	const char *seconds = tmpf("%.0f", end->seconds);

	if (end->unkillable && !end->stopped) {
		because(c, reason, MSG_child_stuck, name, seconds);
		return OUTCOME_TIMED_OUT;
	}
	if (end->guard_lost) {
		because(c, reason, MSG_guard_lost, name);
		return OUTCOME_FAILED;
	}
	if (end->stopped) {
		because(c, reason, MSG_interrupted, name);
		return OUTCOME_NOT_MEASURED;
	}
	if (end->timed_out && s->stage < STAGE_MEASURING) {
		because(c, reason, MSG_slow_load, name, seconds);
		return OUTCOME_NOT_MEASURED;
	}
	if (end->timed_out) {
		because(c, reason, MSG_child_deadline, name, seconds);
		return OUTCOME_TIMED_OUT;
	}
	if (end->signal)
		because(c, reason, MSG_child_signal, name, strsignal(end->signal), last_words(end));
	else if (s->done && s->broke)
		because(c, reason, MSG_child_broke, name, last_words(end));
	else
		because(c, reason, MSG_child_exit, name, tmpf("%d", end->exit_code),
		        last_words(end));
	return OUTCOME_FAILED;
}

static void end_unit(struct coord *c, struct slot *s)
{
	const struct proc_end *end = s->proc ? proc_result(s->proc) : NULL;
	bool well = s->done && !s->broke && end && !end->signal && end->exit_code == 0;
	struct error err = {0};

	if (end && !well) {
		struct reason reason;
		enum outcome outcome = why_ended(c, s, end, &reason);

		owe_rest(c, s, s->unit, outcome, &reason);
	}
	/* Done only once its readings are saved: a resume must not skip it. */
	if (!(end && end->stopped) && c->o->store_work && c->waiting.len == 0)
		c->o->store_work(c->o->store_arg, s->unit->work, &err);
	error_release(&err);
	view(c, (struct coord_event){.kind = COORD_END, .unit = s->unit});
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
		if (running)
			proc_pump(procs, running, PUMP_MS);
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
		start_unit(c, &slots[i]);
	}
	wait_group(c, slots, procs, count);
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

/* Left-overs of a run that was killed with its guards. A path that hangs says so
 * when its probes begin. */
static void sweep(const struct coord *c)
{
	const struct plan *plan = c->o->plan;
	const char *last = NULL;
	struct str removed = {0};

	for (int i = 0; i < plan->count; i++) {
		const struct unit *u = &plan->units[i];

		if (!u->probe->needs_storage || !u->subject ||
		    (last && strcmp(last, u->subject) == 0))
			continue;
		last = u->subject;
		if (path_answers(u->subject, ANSWER_S))
			guard_sweep(u->subject, c->o->request->node, &removed, NULL);
	}
	if (removed.len)
		log_note(MSG_swept, removed.data);
	str_release(&removed);
}

enum status coord_run(struct coord_result *result, const struct coord_options *options,
                      struct error *err)
{
	struct coord c = {.o = options, .result = result, .err = err};
	const struct plan *plan = options->plan;
	const char *phase = "";

	*result = (struct coord_result){0};
	c.started = clock_now(&clock_system);
	for (int i = 0; i < plan->count; i++)
		c.total += plan->units[i].state == UNIT_RUN;
	owe_left_out(&c);
	sweep(&c);
	for (int i = 0, n = 1; i < plan->count && !*options->stop; i += n) {
		const struct unit *u = &plan->units[i];

		n = 1;
		if (u->state != UNIT_RUN)
			continue;
		if (strcmp(phase, u->probe->phase) != 0 && options->store_sync)
			options->store_sync(options->store_arg, NULL);
		phase = u->probe->phase;
		n = group_size(plan, i);
		run_group(&c, u, n);
	}
	store_end(&c);
	result->interrupted = *options->stop != 0;
	result->seconds = (double)(clock_now(&clock_system) - c.started) / 1e9;
	card_names_release(&c.cards);
	arena_release(&c.arena);
	if (result->interrupted)
		return ST_INTERRUPTED;
	return result->store_failed ? err ? err->status : ST_IO : ST_OK;
}
