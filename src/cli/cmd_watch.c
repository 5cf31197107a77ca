/* assay watch: the heartbeat log of this node and of others, for days. What it needs
 * of the machine is gathered here; the loop is service/watch.c. Probes run in a
 * thread of their own, which waits for the child: a card that hangs holds up neither
 * the beats nor the looks. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/unit.h"
#include "cli/cli.h"
#include "cli/run_setup.h"
#include "service/peers.h"
#include "service/watch.h"

#define PROBE_LIMIT_S 60
#define LOOK_MOST_MS  3000
#define OUTPUT_MOST   ((size_t)4 << 20)

static const struct option_row rows[] = {
	{"out", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_watch_out},
	{"peers", OPTION_TEXT, "HOSTS|FILE", 0, 0, NULL, MSG_opt_peers},
	{"reference", OPTION_TEXT, "HOST[:PORT]", 0, 0, NULL, MSG_opt_reference},
	{"outside", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_outside},
	{"period", OPTION_INT, "N", 1, 3600, NULL, MSG_opt_period},
	{"probe-every", OPTION_INT, "N", 0, 86400, NULL, MSG_opt_probe_every},
	{"cards", OPTION_INT, "N", 0, 1024, NULL, MSG_opt_watch_cards},
	{"slow-percent", OPTION_INT, "N", 1, 100000, NULL, MSG_opt_slow},
	{"node", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_node},
	{"for", OPTION_INT, "N", 1, 1000000000, NULL, MSG_opt_for},
	{0},
};

struct machine {
	struct arena arena;
	struct peers peers;
	int timeout_ms;
	char exe[PATH_MAX];
	/* The probe's thread has it while running, else the loop. */
	pthread_t thread;
	bool begun;
	atomic_bool over;
	struct probe_facts facts;
	bool in_trouble;
};

static void *probe_main(void *arg)
{
	struct machine *m = arg;
	const char *const argv[] = {m->exe, "probe", "heartbeat", NULL};
	struct spawn_spec spec = {
		.argv = argv, .deadline_s = PROBE_LIMIT_S, .max_out = OUTPUT_MOST};
	struct proc_end end = {0};
	struct str out = {0};
	enum status st = spawn_run(&spec, &out, &end, NULL);

	probe_facts_read(&m->facts, str_text(&out));
	m->facts.started = end.started && st == ST_OK;
	m->facts.ended = m->facts.started && !end.timed_out && !end.unkillable;
	str_release(&end.err);
	str_release(&out);
	str_ring_release();
	atomic_store(&m->over, true);
	return NULL;
}

static void probe_start(void *arg)
{
	struct machine *m = arg;

	atomic_store(&m->over, false);
	m->begun = pthread_create(&m->thread, NULL, probe_main, m) == 0;
	if (m->begun)
		return;
	m->facts = (struct probe_facts){.cards = -1, .kernel_ms = NAN};
	atomic_store(&m->over, true);
}

static bool probe_over(void *arg, struct probe_facts *facts)
{
	struct machine *m = arg;

	if (!atomic_load(&m->over))
		return false;
	if (m->begun)
		pthread_join(m->thread, NULL);
	m->begun = false;
	*facts = m->facts;
	return true;
}

static void look(void *arg, bool *reached, int count)
{
	struct machine *m = arg;

	(void)count;
	peers_look(&m->peers, m->timeout_ms, reached);
}

static void sealed(void *arg, const char *day, int64_t lines, const char *digest)
{
	(void)arg;
	printf("%s\n", say(MSG_watch_sealed, day, tmpf("%lld", (long long)lines), digest));
	fflush(stdout);
}

static void trouble(void *arg, const struct error *err)
{
	(void)arg;
	log_note(MSG_watch_trouble, str_text(&err->text));
}

/* --- the command line --------------------------------------------------------------------- */

static const char *boot_id(struct arena *arena)
{
	struct str line = {0};
	const char *id;

	/* Without one (no /proc) each start counts as a boot of its own. */
	if (!file_read_line("/proc/sys/kernel/random/boot_id", &line))
		return random_hex(arena, 32);
	id = arena_str(arena, str_text(&line));
	str_release(&line);
	return id;
}

static enum status take_peers(struct machine *m, const struct options *o, struct watch_options *w,
                              struct error *err)
{
	const char *text = option_text(o, "peers", NULL);
	const char *reference = option_text(o, "reference", NULL);
	enum status st = ST_OK;

	if (!text && (reference || !w->agent))
		return error_set(err, ST_USAGE, MSG_watch_no_peers);
	if (!text)
		return ST_OK;
	st = peers_parse(&m->peers, &m->arena, text, err);
	w->n_peers = m->peers.count;
	w->reference = reference != NULL;
	if (st == ST_OK && reference)
		st = peers_add(&m->peers, &m->arena, tmpf("reference=%s", reference), err);
	if (st == ST_OK)
		st = peers_resolve(&m->peers, err);
	w->peers = m->peers.names;
	return st;
}

static enum status parse(struct machine *m, const struct options *o, struct watch_options *w,
                         struct error *err)
{
	*w = (struct watch_options){
		.dir = option_text(o, "out", NULL),
		.node = option_text(o, "node", local_node_name(&m->arena)),
		.boot_id = boot_id(&m->arena),
		.agent = !option_given(o, "outside"),
		.period_s = (int)option_int(o, "period", 10),
		.probe_s = option_given(o, "outside") ? 0 : (int)option_int(o, "probe-every", 300),
		.cards = option_int(o, "cards", -1),
		.slow_share = option_given(o, "slow-percent")
	                              ? (double)option_int(o, "slow-percent", 0) / 100
	                              : NAN,
		.for_s = option_given(o, "for") ? (double)option_int(o, "for", 0) : NAN,
		.stop = &cli_signal,
	};
	if (!w->dir)
		return error_set(err, ST_USAGE, MSG_watch_no_out);
	if (!heartbeat_word(w->node) || strchr(w->node, '/'))
		return error_set(err, ST_USAGE, MSG_watch_node, w->node);
	m->timeout_ms = w->period_s * 500 < LOOK_MOST_MS ? w->period_s * 500 : LOOK_MOST_MS;
	return take_peers(m, o, w, err);
}

/* A probe that still runs is ended with us: its thread ends, and it dies with that. */
static int watch(const struct options *o, struct error *err)
{
	struct machine *m = calloc(1, sizeof(*m));
	const struct watch_hooks hooks = {.clock = &clock_system,
	                                  .look = look,
	                                  .probe_start = probe_start,
	                                  .probe_over = probe_over,
	                                  .sealed = sealed,
	                                  .trouble = trouble,
	                                  .arg = m};
	struct watch_options w;
	enum status st;

	if (!m)
		die_nomem();
	st = parse(m, o, &w, err);
	if (st == ST_OK && readlink("/proc/self/exe", m->exe, sizeof(m->exe) - 1) < 0)
		st = error_errno(err, "/proc/self/exe", errno);
	if (st == ST_OK && w.n_peers == 1 && !w.reference)
		log_note(MSG_watch_one_peer, w.peers[0]);
	if (st == ST_OK) {
		cli_catch_signals();
		st = watch_run(&w, &hooks, err);
	}
	if (m->begun && !atomic_load(&m->over)) {
		cli_leave = true; /* the thread waits for its child */
		return cli_status_code(st);
	}
	if (m->begun)
		pthread_join(m->thread, NULL);
	arena_release(&m->arena);
	free(m);
	return cli_status_code(st);
}

const struct command command_watch = {
	.name = "watch",
	.summary = MSG_cmd_watch,
	.operands = "",
	.min_operands = 0,
	.max_operands = 0,
	.rows = rows,
	.run = watch,
};
