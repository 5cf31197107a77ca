/* The loop of the watch; see watch.h. */
#include "service/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "service/moment.h"
#include "service/timeline.h"

struct peer {
	enum node_state state, written;
	int64_t written_ns; /* monotonic */
	bool begun;
};

struct watch {
	const struct watch_options *o;
	const struct watch_hooks *h;
	struct heartbeat_log log;
	struct peer *peers;
	bool *reached;
	/* Of this node. */
	enum node_state state;
	const char *why;
	int64_t probe_due_ns;
	bool probing;
	struct probe_facts last; /* the newest probe, and since when counts rise */
	bool told;               /* its figures stand in the log */
	bool probed;
	double fastest_ms;
	int64_t cards_seen;
	int64_t rise_xid, rise_ecc, rise_links;
	/* Beats that could not be written. */
	int64_t lost;
	enum node_state lost_worst;
};

/* --- the cards ------------------------------------------------------------------------ */

static int64_t rise(int64_t before, int64_t after)
{
	if (before < 0 || after < 0)
		return -1;
	/* Counters that begin anew (another driver) say nothing. */
	return after >= before ? after - before : -1;
}

static const char *fault_of(const struct watch *w, const struct probe_facts *f)
{
	int64_t wanted = w->o->cards >= 0 ? w->o->cards : w->cards_seen;

	if (!f->started)
		return NULL; /* our own trouble, no card's */
	if (!f->ended)
		return "probe hung";
	if (f->bad_cards)
		return "card failed";
	if (f->cards < wanted)
		return "fewer cards";
	if (w->rise_xid > 0)
		return "Xid";
	if (w->rise_ecc > 0)
		return "ECC";
	if (w->rise_links > 0)
		return "link went down";
	if (f->kernel_ms > w->fastest_ms * (1 + w->o->slow_share))
		return "slow kernel";
	return NULL;
}

static void take_facts(struct watch *w, const struct probe_facts *f)
{
	const struct probe_facts *before = &w->last;

	w->rise_xid = w->probed ? rise(before->xid, f->xid) : -1;
	w->rise_ecc = w->probed ? rise(before->ecc, f->ecc) : -1;
	w->rise_links = w->probed ? rise(before->links, f->links) : -1;
	if (f->ended && f->cards > w->cards_seen)
		w->cards_seen = f->cards;
	w->why = fault_of(w, f);
	w->state = w->why ? NODE_DEGRADED : NODE_UP;
	if (!f->ended)
		return;
	if (f->kernel_ms < w->fastest_ms)
		w->fastest_ms = f->kernel_ms;
	w->last = *f;
	w->probed = true;
	w->told = false;
}

static void probe(struct watch *w, int64_t now_ns)
{
	struct probe_facts facts;

	if (w->o->probe_s == 0)
		return;
	if (w->probing && w->h->probe_over(w->h->arg, &facts)) {
		w->probing = false;
		take_facts(w, &facts);
	}
	if (!w->probing && now_ns >= w->probe_due_ns) {
		w->h->probe_start(w->h->arg);
		w->probing = true;
		w->probe_due_ns = now_ns + w->o->probe_s * NS_PER_S;
	}
}

/* --- lines ------------------------------------------------------------------------------ */

static struct heartbeat line_of(const struct watch *w, const char *node, enum beat_kind kind,
                                enum node_state state, const char *note)
{
	const struct clock_source *clock = w->h->clock;

	return (struct heartbeat){.wall_ns = clock_wall(clock),
	                          .mono_ns = clock_now(clock),
	                          .node = node,
	                          .observer = w->o->node,
	                          .boot_id = w->o->boot_id,
	                          .kind = kind,
	                          .state = state,
	                          .note = note,
	                          .cards = -1,
	                          .xid = -1,
	                          .ecc = -1,
	                          .links = -1,
	                          .kernel_ms = NAN};
}

static bool append(struct watch *w, struct heartbeat *b)
{
	struct error err = {0};
	bool ok = heartbeat_log_append(&w->log, b, &err) == ST_OK;

	if (!ok)
		w->h->trouble(w->h->arg, &err);
	error_release(&err);
	return ok;
}

/* Before the first line of another day. A clock that was set back seals nothing
 * twice: the newest day counts. */
static bool seal(struct watch *w)
{
	struct heartbeat b = line_of(w, w->o->node, BEAT_SEAL, NODE_UNKNOWN, "");
	char digest[SHA256_HEX];
	struct str day = {0}, note = {0};
	int64_t lines = w->log.lines;
	bool ok;

	if (w->log.day < 0 || b.wall_ns / DAY_NS <= w->log.day)
		return true;
	time_add_utc(&day, w->log.day * DAY_NS);
	str_addf(&note, "%.10s lines=%lld", day.data, (long long)lines);
	b.note = note.data;
	memcpy(digest, w->log.head, sizeof(digest));
	ok = append(w, &b);
	if (ok)
		w->h->sealed(w->h->arg, tmpf("%.10s", day.data), lines, digest);
	str_release(&day);
	str_release(&note);
	return ok;
}

static void lose(struct watch *w)
{
	if (w->lost++ == 0 || w->state > w->lost_worst)
		w->lost_worst = w->state;
}

static bool tell_lost(struct watch *w)
{
	struct heartbeat b = line_of(w, w->o->node, BEAT_LOST, w->lost_worst, "");
	struct str note = {0};
	bool ok;

	if (!w->lost)
		return true;
	str_addf(&note, "%lld beats", (long long)w->lost);
	b.note = note.data;
	ok = append(w, &b);
	if (ok)
		w->lost = 0;
	str_release(&note);
	return ok;
}

static void beat(struct watch *w)
{
	struct heartbeat b = line_of(w, w->o->node, BEAT_BEAT, w->state, w->why ? w->why : "");

	if (w->probed && !w->told) {
		b.cards = w->last.cards;
		b.kernel_ms = w->last.kernel_ms;
		b.xid = w->rise_xid;
		b.ecc = w->rise_ecc;
		b.links = w->rise_links;
	}
	if (tell_lost(w) && append(w, &b))
		w->told = true;
	else
		lose(w);
}

/* --- others ----------------------------------------------------------------------------- */

static void look(struct watch *w, int64_t now_ns)
{
	int n = w->o->n_peers, all = n + w->o->reference;
	bool any = false;

	if (n == 0)
		return;
	w->h->look(w->h->arg, w->reached, all);
	for (int i = 0; i < all; i++)
		any |= w->reached[i];
	for (int i = 0; i < n; i++) {
		struct peer *p = &w->peers[i];
		struct heartbeat b;

		p->state = w->reached[i] ? NODE_UP : any ? NODE_DOWN : NODE_UNKNOWN;
		if (p->begun && p->state == p->written && now_ns - p->written_ns < DOWN_AFTER_NS)
			continue;
		b = line_of(w, w->o->peers[i], BEAT_BEAT, p->state, any ? "" : "nobody reached");
		if (!append(w, &b))
			continue;
		p->begun = true;
		p->written = p->state;
		p->written_ns = now_ns;
	}
}

/* --- running ---------------------------------------------------------------------------- */

/* Of this node and all others. */
static void frame(struct watch *w, enum beat_kind kind)
{
	struct str note = {0};

	if (kind == BEAT_START)
		str_addf(&note, "period_s=%d", w->o->period_s);
	if (kind == BEAT_START && w->log.torn)
		str_addf(&note, " torn=%lld", (long long)w->log.torn);
	for (int i = -1; i < w->o->n_peers; i++) {
		struct heartbeat b = line_of(w, i < 0 ? w->o->node : w->o->peers[i], kind,
		                             i < 0                ? w->state
		                             : kind == BEAT_START ? NODE_UNKNOWN
		                                                  : w->peers[i].state,
		                             str_text(&note));

		if (i >= 0 || w->o->agent)
			append(w, &b);
	}
	str_release(&note);
}

static void sync_log(struct watch *w)
{
	struct error err = {0};

	if (heartbeat_log_sync(&w->log, &err) != ST_OK)
		w->h->trouble(w->h->arg, &err);
	error_release(&err);
}

static void tick(struct watch *w)
{
	int64_t now = clock_now(w->h->clock);

	if (!seal(w) && w->o->agent) {
		lose(w);
		return;
	}
	if (w->o->agent) {
		probe(w, now);
		beat(w);
	}
	look(w, now);
	sync_log(w);
}

/* In short sleeps: a signal that comes just before one is seen after it. */
static void wait_until(const struct watch *w, int64_t until_ns)
{
	const struct clock_source *clock = w->h->clock;
	int64_t now;

	while (!*w->o->stop && (now = clock_now(clock)) < until_ns)
		clock_sleep(clock, until_ns - now < NS_PER_S ? until_ns - now : NS_PER_S);
}

static void loop(struct watch *w)
{
	const struct clock_source *clock = w->h->clock;
	int64_t start = clock_now(clock), period = w->o->period_s * NS_PER_S, next = start;
	int64_t end = isfinite(w->o->for_s) ? start + (int64_t)(w->o->for_s * 1e9) : INT64_MAX;

	while (!*w->o->stop && clock_now(clock) < end) {
		int64_t now;

		tick(w);
		now = clock_now(clock);
		/* What took longer than a period leaves beats out, it does not pile them up. */
		next = start + ((now - start) / period + 1) * period;
		wait_until(w, next < end ? next : end);
	}
}

enum status watch_run(const struct watch_options *options, const struct watch_hooks *hooks,
                      struct error *err)
{
	struct watch w = {.o = options,
	                  .h = hooks,
	                  .state = NODE_UP,
	                  .fastest_ms = INFINITY,
	                  .cards_seen = -1,
	                  .probe_due_ns = INT64_MIN};
	enum status st = heartbeat_log_open(&w.log, options->dir, options->node, err);

	if (st != ST_OK)
		return st;
	w.peers = calloc((size_t)options->n_peers + 1, sizeof(*w.peers));
	w.reached = calloc((size_t)options->n_peers + 1, sizeof(*w.reached));
	if (!w.peers || !w.reached)
		die_nomem();
	for (int i = 0; i < options->n_peers; i++)
		w.peers[i].state = NODE_UNKNOWN;
	seal(&w);
	frame(&w, BEAT_START);
	loop(&w);
	frame(&w, BEAT_STOP);
	sync_log(&w);
	heartbeat_log_close(&w.log);
	free(w.peers);
	free(w.reached);
	return ST_OK;
}
