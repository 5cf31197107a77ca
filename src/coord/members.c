/* The table of nodes: what each one says, and what is said when one is lost. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "coord/leader.h"
#include "coord/owed.h"
#include "run/journal.h"

/* Beyond what a node has planned: the time its messages may take. */
#define ORDER_SLACK_S 60
/* A soak takes days, and no node may make rank 0 wait for ever. */
#define UNIT_MOST_S (7 * 86400.0)

void leader_say(struct leader *l, const char *text)
{
	l->o->print(l->o->print_arg, text, false);
}

void leader_warn(struct leader *l, const struct member *m, const char *what, const char *text,
                 const char *line)
{
	voice_say(&l->voice, what, (int)(m - l->members), m->name, text, line);
}

void leader_store(struct leader *l, const char *line, size_t len)
{
	struct error err = {0};

	if (!keeper_add(&l->keeper, line, len, &err))
		leader_say(l, str_text(&err.text));
	error_release(&err);
}

bool members_idle(const struct leader *l)
{
	for (int i = 0; i < l->count; i++)
		if (!l->members[i].lost && l->members[i].busy)
			return false;
	return true;
}

int members_left(const struct leader *l)
{
	int n = 0;

	for (int i = 0; i < l->count; i++)
		n += !l->members[i].lost;
	return n;
}

void member_order(struct leader *l, struct member *m, enum wire kind, const char *text, size_t len,
                  double seconds)
{
	struct error err = {0};

	m->busy = true;
	m->until_ns = clock_now(&clock_system) + (int64_t)((seconds + ORDER_SLACK_S) * 1e9);
	if (wire_send(l->comm, (int)(m - l->members), kind, text, len, &err) != ST_OK)
		member_lose(l, m, str_text(&err.text));
	error_release(&err);
}

/* --- loss ------------------------------------------------------------------------- */

static const char *phase_name(const struct leader *l)
{
	const char *phase = plan_phases[l->phase];

	return l->stage < LEAD_PHASE ? "hello" : phase ? phase : "end";
}

static void owe_unit(struct leader *l, struct member *m, const struct member_unit *mu,
                     const struct reason *reason)
{
	struct unit u = {.probe = mu->probe,
	                 .subject = mu->subject,
	                 .named_path = mu->named,
	                 .attempt = mu->attempt};
	const struct owed_by by = {.node = m->name,
	                           .writer = (int)(m - l->members),
	                           .simulated = *l->o->agent.sys_root != '\0',
	                           .cards = &m->cards};

	memcpy(u.work, mu->work, sizeof(u.work));
	for (int i = 0; u.probe->metrics[i].name && i < METRICS_MAX; i++) {
		struct str line = {0};
		struct reading r;

		if ((mu->seen[i / 64] >> i % 64 & 1) || !unit_owes(&u, &u.probe->metrics[i]))
			continue;
		owed_line(&line, &r, &by, &u, &u.probe->metrics[i], 0, OUTCOME_LOST, reason);
		leader_store(l, line.data, line.len);
		str_release(&line);
	}
}

/* Of a node that never told its plan: what the first phase would have said. */
static void owe_first_phase(struct leader *l, struct member *m, const struct reason *reason)
{
	const struct probe *const *probes = l->o->agent.probes;

	for (int i = 0; probes[i]; i++) {
		struct member_unit mu = {.probe = probes[i], .attempt = 1};

		if (strcmp(probes[i]->phase, plan_phases[0]) != 0)
			continue;
		work_id(mu.work, probes[i]->phase, probes[i]->name, tmpf("%s/", m->name),
		        plan_params(&l->arena, l->o->request, probes[i]));
		owe_unit(l, m, &mu, reason);
	}
}

void member_lose(struct leader *l, struct member *m, const char *why)
{
	struct probe_ctx ctx = {.arena = &l->arena};
	struct reason reason;
	struct str sign = {0};

	if (m->lost || m->gone)
		return;
	m->lost = true;
	l->result->lost++;
	/* Who is absent has no rank. */
	if (m < l->members + l->count)
		l->comm->ops->forget(l->comm, (int)(m - l->members));
	time_add_utc(&sign, m->heard_wall_ns);
	reason_set(&ctx, &reason, MSG_node_lost, m->name, phase_name(l), why,
	           m->said_hello ? sign.data : "-");
	str_release(&sign);
	leader_warn(l, m, say(MSG_voice_lost, phase_name(l)), m->name, reason.text);
	if (!m->planned)
		owe_first_phase(l, m, &reason);
	for (int i = 0; i < m->n_units; i++)
		if (m->units[i].run && !m->units[i].over)
			owe_unit(l, m, &m->units[i], &reason);
	if (l->crews)
		crews_lost(l, m, &reason);
}

/* --- words of a node ------------------------------------------------------------------ */

static struct member_unit *unit_of(struct member *m, const char *work)
{
	for (int i = 0; i < m->n_units; i++)
		if (strcmp(m->units[i].work, work) == 0)
			return &m->units[i];
	return NULL;
}

static void mark_seen(struct member *m, const struct reading *r)
{
	struct member_unit *u = r->work ? unit_of(m, r->work) : NULL;

	for (int i = 0; u && u->probe->metrics[i].name && i < METRICS_MAX; i++)
		if (strcmp(u->probe->metrics[i].name, r->metric) == 0)
			u->seen[i / 64] |= (uint64_t)1 << i % 64;
}

static void warn_bad(struct leader *l, const struct member *m, const struct reading *r)
{
	const char *text = r->reason.text ? r->reason.text : "",
		   *what = tmpf("%s: %s", r->metric, outcome_name(r->outcome));

	leader_warn(l, m, what, text,
	            say(MSG_cluster_bad, m->name, r->metric, outcome_name(r->outcome), text));
}

static void take_line(struct leader *l, struct member *m, const char *line, size_t len)
{
	struct arena scratch = {0};
	struct reading r;
	const char *why = "?";

	m->lines++;
	if (reading_parse(&r, &scratch, line, len, &why) != ST_OK || !r.metric) {
		leader_warn(l, m, say(MSG_voice_line), why, say(MSG_child_line, m->name, why));
	} else if (r.writer != (int)(m - l->members)) {
		why = say(MSG_line_of_other, tmpf("%d", r.writer));
		leader_warn(l, m, say(MSG_voice_line), why, say(MSG_child_line, m->name, why));
	} else if (!(l->crews && r.work && crews_refuse(l, r.work, r.attempt))) {
		mark_seen(m, &r);
		if (l->crews)
			crews_saw(l, m, &r);
		card_names_learn(&m->cards, &r.subject);
		leader_store(l, line, len);
		if (r.outcome == OUTCOME_FAILED || r.outcome == OUTCOME_TIMED_OUT)
			warn_bad(l, m, &r);
	}
	arena_release(&scratch);
}

static void take_hello(struct leader *l, struct member *m, const cJSON *o)
{
	/* Once: its name was compared with the others', and files go by it. */
	if (l->stage != LEAD_HELLO || m->said_hello)
		return;
	identity_parse(&m->id, &l->arena, o);
	m->said_hello = true;
	m->name = m->id.host;
}

static const struct probe *probe_by_name(const struct leader *l, const char *name)
{
	const struct probe *probe;

	return probe_named(&probe, l->o->agent.probes, name, NULL) == ST_OK ? probe : NULL;
}

/* What a node says it needs; no longer than any probe may take. */
static double told_seconds(const cJSON *o)
{
	return fmin(fmax(json_number(o, "seconds", 0), 0), UNIT_MOST_S);
}

static void take_plan(struct leader *l, struct member *m, const cJSON *o)
{
	const cJSON *list = json_get(o, "units");
	int n = list ? cJSON_GetArraySize(list) : 0;

	if (m->planned)
		return;
	m->units = arena_array(&l->arena, (size_t)n + 1, sizeof(*m->units));
	m->seconds = told_seconds(o);
	m->bytes = json_int64(o, "bytes", 0);
	m->bytes = m->bytes > 0 ? m->bytes : 0;
	for (const cJSON *u = list ? list->child : NULL; u; u = u->next) {
		struct member_unit *mu = &m->units[m->n_units];
		const char *subject = json_string(u, "subject", NULL);

		mu->probe = probe_by_name(l, json_string(u, "probe", ""));
		if (!mu->probe)
			continue;
		mu->subject = subject ? arena_str(&l->arena, subject) : NULL;
		mu->named = json_bool(u, "named", false);
		mu->run = json_bool(u, "run", false);
		mu->seconds = told_seconds(u);
		mu->attempt = 1;
		memcpy(mu->work, tmpf("%-12.12s", json_string(u, "work", "")), 13);
		if (mu->run && l->o->resume)
			mu->run = work_is_open(l->o->resume, mu->work, &mu->attempt);
		m->n_units++;
	}
	m->planned = true;
	m->busy = false;
}

static void take_beat(struct leader *l, struct member *m, const cJSON *o)
{
	const char *trouble = json_string(o, "trouble", NULL);

	if (trouble) {
		leader_warn(l, m, say(MSG_voice_trouble), trouble,
		            say(MSG_path_error, m->name, trouble));
		return;
	}
	m->done = json_number(o, "done", -1);
	memcpy(m->doing, tmpf("%-63.63s", json_string(o, "doing", "")), sizeof(m->doing));
	for (size_t n = strlen(m->doing); n && m->doing[n - 1] == ' ';)
		m->doing[--n] = '\0';
}

static void take_json(struct leader *l, struct member *m, const char *text, size_t len,
                      void (*take)(struct leader *l, struct member *m, const cJSON *o))
{
	struct json_doc doc;

	if (json_parse(&doc, m->name, text, len, JSON_STRICT, NULL) == ST_OK) {
		take(l, m, doc.root);
		json_release(&doc);
	}
}

static void take_text(struct leader *l, struct member *m, const cJSON *o)
{
	if (l->crews)
		crews_carry(l, m, o);
}

static void take_broke(struct leader *l, struct member *m, const cJSON *o)
{
	if (l->crews)
		crews_broke(l, m, o);
}

static void take_work(struct leader *l, struct member *m, const char *work)
{
	struct member_unit *u = unit_of(m, work);

	if (u)
		u->over = true;
	/* Done only once its readings are saved: a resume must not skip it. */
	if (keeper_empty(&l->keeper))
		l->o->store_work(l->o->store_arg, work, NULL);
}

/* "raw/<node>/<name>": into the directory of that node and nowhere else. */
static void take_raw(struct leader *l, struct member *m, const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len), *name = NULL;
	struct str path = {0};
	struct error err = {0};
	size_t n;

	if (!end)
		return;
	for (const char *p = text; p < end; p++)
		name = *p == '/' ? p + 1 : name;
	n = name ? (size_t)(end - name) : 0;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("._-", name[i]))
			return;
	if (n == 0 || *name == '.')
		return;
	str_addf(&path, "%s/raw/%s/%.*s", l->o->dir, m->name, (int)n, name);
	if (!keeper_file(&l->keeper, path.data, end + 1, len - (size_t)(end + 1 - text), &err))
		leader_say(l, str_text(&err.text));
	error_release(&err);
	str_release(&path);
}

/* "asked theirs", both in ns of a wall clock. */
static void take_clock(struct member *m, const char *text)
{
	char *end;
	double asked = strtod(text, &end), theirs = strtod(end, NULL);

	m->pings[m->n_pings++ % PINGS] =
		(struct ping){asked / 1e9, theirs / 1e9, (double)clock_wall(&clock_system) / 1e9};
}

double member_offset_s(const struct member *m, double *error_s)
{
	int n = m->n_pings < PINGS ? m->n_pings : PINGS;

	return n ? clock_offset(m->pings, (size_t)n, error_s) : NAN;
}

void member_take(struct leader *l, int rank, const void *bytes, size_t len)
{
	struct member *m = &l->members[rank];
	const char *text = (const char *)bytes + 1;
	struct str kept = {0};

	if (len == 0 || m->lost)
		return;
	m->heard_ns = clock_now(&clock_system);
	m->heard_wall_ns = clock_wall(&clock_system);
	str_addn(&kept, text, len - 1);
	switch (*(const char *)bytes) {
	case WIRE_HELLO:
		take_json(l, m, text, len - 1, take_hello);
		break;
	case WIRE_PLAN:
		take_json(l, m, text, len - 1, take_plan);
		break;
	case WIRE_LINE:
		take_line(l, m, str_text(&kept), len - 1);
		break;
	case WIRE_WORK:
		take_work(l, m, str_text(&kept));
		break;
	case WIRE_RAW:
		take_raw(l, m, text, len - 1);
		break;
	case WIRE_OVER:
		if (m->crew)
			crews_over(l, m, str_text(&kept));
		m->busy = false;
		break;
	case WIRE_BEAT:
		take_json(l, m, text, len - 1, take_beat);
		break;
	case WIRE_CLOCK:
		take_clock(m, str_text(&kept));
		break;
	case WIRE_TEXT:
		take_json(l, m, text, len - 1, take_text);
		break;
	case WIRE_BROKE:
		take_json(l, m, text, len - 1, take_broke);
		break;
	case WIRE_FAILED:
		/* The launcher's signal comes to all ranks. */
		if (!*l->o->agent.stop)
			member_lose(l, m, str_text(&kept));
		break;
	case WIRE_BYE:
		m->gone = true;
		m->busy = false;
		break;
	}
	str_release(&kept);
}
