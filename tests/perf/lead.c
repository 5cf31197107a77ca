/* What leading a run costs rank 0, by the number of nodes: the product's own leader,
 * journal and search for suspects, with nodes that are simulated in this process and
 * answer at once. So the time is the coordinator's alone - no launcher, no network, no
 * probe - and 10,000 nodes fit on any machine.
 *
 *     lead NODES CARDS DIR
 *
 * Each card gives 15 readings, each node meets 16 others and each pair gives two. Prints
 * "nodes seconds processor_seconds peak_mib readings".
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/unit.h"
#include "coord/cluster.h"
#include "coord/wire.h"
#include "probes.h"
#include "run/journal.h"
#include "score/suspects.h"
#include "stats/rng.h"

#define CARD_LINES 15
#define AT_ONCE    512 /* messages of one poll */

/* One thing that a node will say; its words are made when it is said. */
struct saying {
	int from;
	char kind;
	int unit, line; /* WIRE_LINE and WIRE_WORK of a card */
	char *text;     /* of all others; owned */
};

struct world {
	struct comm comm;
	struct run_info info;
	struct journal *journal;
	struct rng rng;
	struct suspects *suspects;
	const char *dir;
	int cards;
	struct saying *queue;
	size_t first, last, room;
	volatile sig_atomic_t stop;
	int64_t beat_ns;
	struct str line;
};

static struct world *of(const struct comm *c)
{
	return (struct world *)((char *)c - offsetof(struct world, comm));
}

/* --- what nodes say ------------------------------------------------------------------- */

static void queue(struct world *w, struct saying s)
{
	if (w->last == w->room) {
		memmove(w->queue, w->queue + w->first, (w->last - w->first) * sizeof(*w->queue));
		w->last -= w->first;
		w->first = 0;
		if (2 * w->last >= w->room) {
			w->room = w->room ? 2 * w->room : 4096;
			w->queue = realloc(w->queue, w->room * sizeof(*w->queue));
			if (!w->queue)
				die_nomem();
		}
	}
	w->queue[w->last++] = s;
}

static void answer(struct world *w, int from, char kind, const char *text)
{
	char *kept = strdup(text);

	if (!kept)
		die_nomem();
	queue(w, (struct saying){.from = from, .kind = kind, .text = kept});
}

static const char *work_of(int node, int card)
{
	return tmpf("%08x%04x", (unsigned)node, (unsigned)card);
}

static void say_hello(struct world *w, int node)
{
	answer(w, node, WIRE_HELLO,
	       tmpf("{\"host\":\"n%05d\",\"version\":\"0.1.0\",\"machine_id\":\"m%05d\","
	            "\"boot_id\":\"b%05d\",\"cards\":[\"GPU-%08x-0\",\"GPU-%08x-1\"]}",
	            node, node, node, (unsigned)node, (unsigned)node));
}

static void say_plan(struct world *w, int node)
{
	struct str text = {0};

	str_add(&text, "{\"seconds\":60,\"bytes\":0,\"units\":[");
	for (int c = 0; c < w->cards; c++)
		str_addf(&text,
		         "%s{\"probe\":\"gemm\",\"subject\":\"GPU-%08x-%d\",\"named\":false,"
		         "\"work\":\"%s\",\"run\":true,\"seconds\":60}",
		         c ? "," : "", (unsigned)node, c, work_of(node, c));
	str_add(&text, "]}");
	answer(w, node, WIRE_PLAN, text.data);
	str_release(&text);
}

static void run_phase(struct world *w, int node, const char *phase)
{
	for (int c = 0; c < w->cards; c++) {
		for (int i = 0; i < CARD_LINES; i++)
			queue(w, (struct saying){
					 .from = node, .kind = WIRE_LINE, .unit = c, .line = i});
		queue(w, (struct saying){.from = node, .kind = WIRE_WORK, .unit = c});
	}
	answer(w, node, WIRE_OVER, phase);
}

static void say_pair(struct world *w, int node, const char *from, const char *to, const char *work,
                     int attempt)
{
	answer(w, node, WIRE_LINE,
	       tmpf("{\"v\":1,\"time\":\"2026-12-02T03:04:05.678Z\",\"node\":\"%s\",\"writer\":%d,"
	            "\"phase\":\"pairs\",\"attempt\":%d,\"work\":\"%s\",\"probe\":\"net\","
	            "\"subject\":{\"kind\":\"pair\",\"id\":\"%s|%s\",\"ends\":[{\"node\":\"%s\","
	            "\"nic\":\"eth0\"},{\"node\":\"%s\",\"nic\":\"eth0\"}]},"
	            "\"metric\":\"net_tcp_gbps\",\"unit\":\"Gb/s\",\"value\":%.6f,"
	            "\"better\":\"higher\",\"outcome\":\"measured\",\"reason\":null,"
	            "\"origin\":\"simulated\",\"params\":{\"streams\":4}}",
	            from, node, attempt, work, from, to, from, to,
	            92 * (1 + 0.01 * rng_normal(&w->rng))));
}

static void run_crew(struct world *w, int node, const char *text)
{
	struct json_doc doc;
	const cJSON *nodes;
	const char *a, *b, *work;
	int attempt;

	if (json_parse(&doc, "crew", text, strlen(text), JSON_STRICT, NULL) != ST_OK)
		abort();
	nodes = json_get(doc.root, "nodes");
	work = json_string(doc.root, "work", "");
	attempt = (int)json_number(doc.root, "attempt", 1);
	if (json_number(doc.root, "self", -1) == 0 && cJSON_GetArraySize(nodes) == 2) {
		a = cJSON_GetStringValue(cJSON_GetArrayItem(nodes, 0));
		b = cJSON_GetStringValue(cJSON_GetArrayItem(nodes, 1));
		say_pair(w, node, a, b, work, attempt);
		say_pair(w, node, b, a, work, attempt);
	}
	answer(w, node, WIRE_OVER, work);
	json_release(&doc);
}

/* An order of the leader: every node obeys at once. */
static enum status hear(struct comm *c, int to, const void *bytes, size_t len, struct error *err)
{
	struct world *w = of(c);
	char *text = strndup((const char *)bytes + 1, len - 1);

	(void)err;
	if (!text)
		die_nomem();
	switch (*(const char *)bytes) {
	case WIRE_SETUP:
		say_plan(w, to);
		break;
	case WIRE_STATES:
		answer(w, to, WIRE_OVER, "");
		break;
	case WIRE_PHASE:
		run_phase(w, to, text);
		break;
	case WIRE_CREW:
		run_crew(w, to, text);
		break;
	case WIRE_PING:
		answer(w, to, WIRE_CLOCK, tmpf("%s %" PRId64, text, clock_wall(&clock_system)));
		break;
	case WIRE_END:
		answer(w, to, WIRE_BYE, "");
		/* The real part of rank 0 has to hear of it too. */
		if (to == 0)
			answer(w, to, WIRE_END, text);
		break;
	}
	free(text);
	return ST_OK;
}

static void card_line(struct world *w, const struct saying *s)
{
	const struct metric *m = &probe_table[0]->metrics[0];

	for (int i = 0; probe_table[i]; i++)
		if (strcmp(probe_table[i]->name, "gemm") == 0)
			m = &probe_table[i]->metrics[s->line];
	str_addf(&w->line,
	         "{\"v\":1,\"time\":\"2026-12-02T03:04:05.678Z\",\"node\":\"n%05d\",\"writer\":%d,"
	         "\"phase\":\"cards\",\"attempt\":1,\"work\":\"%s\",\"probe\":\"gemm\","
	         "\"subject\":{\"kind\":\"card\",\"id\":\"GPU-%08x-%d\",\"pci\":\"0000:17:00.0\","
	         "\"index\":%d},\"metric\":\"%s\",\"unit\":\"%s\",\"value\":%.6f,"
	         "\"better\":\"higher\",\"outcome\":\"measured\",\"reason\":null,"
	         "\"origin\":\"simulated\",\"params\":{\"m\":8192,\"n\":8192,\"k\":8192,"
	         "\"window_s\":0.5,\"library\":\"cublas 12.4.5\",\"data\":\"normal\"}}",
	         s->from, s->from, work_of(s->from, s->unit), (unsigned)s->from, s->unit, s->unit,
	         m->name, m->unit, 268 * (1 + 0.01 * rng_normal(&w->rng)));
}

/* --- the comm ---------------------------------------------------------------------------- */

static void beat(struct world *w)
{
	int64_t now = clock_now(&clock_system);

	if (now - w->beat_ns < NS_PER_S)
		return;
	w->beat_ns = now;
	for (int i = 1; i < w->comm.size; i++)
		answer(w, i, WIRE_BEAT, "{\"doing\":\"gemm\",\"done\":0.5}");
}

static enum status move(struct comm *c,
                        void (*take)(void *arg, int from, const void *bytes, size_t len), void *arg,
                        bool *moved, struct error *err)
{
	struct world *w = of(c);
	size_t n = w->last - w->first;

	(void)err;
	beat(w);
	*moved = n > 0;
	for (size_t i = 0; i < n && i < AT_ONCE; i++) {
		struct saying s = w->queue[w->first++];

		str_clear(&w->line);
		str_addc(&w->line, s.kind);
		if (s.text)
			str_add(&w->line, s.text);
		else if (s.kind == WIRE_LINE)
			card_line(w, &s);
		else
			str_add(&w->line, work_of(s.from, s.unit));
		take(arg, s.from, w->line.data, w->line.len);
		free(s.text);
	}
	return ST_OK;
}

static size_t nothing_queued(const struct comm *c, int to)
{
	(void)c;
	(void)to;
	return 0;
}

static bool sound(const struct comm *c, int rank)
{
	(void)c;
	(void)rank;
	return false;
}

static void forget(struct comm *c, int rank)
{
	fprintf(stderr, "%s: rank %d was given up\n", c->kind, rank);
	abort();
}

static const struct comm_ops ops = {
	.send = hear, .poll = move, .queued = nothing_queued, .broken = sound, .forget = forget};

/* --- the run ------------------------------------------------------------------------------- */

static enum status begin(void *arg, struct error *err)
{
	struct world *w = arg;

	return journal_create(&w->journal, w->dir, &w->info, err);
}

static enum status store(void *arg, const char *line, size_t len, struct error *err)
{
	return journal_append(((struct world *)arg)->journal, line, len, err);
}

static enum status store_work(void *arg, const char *work, struct error *err)
{
	return journal_work_done(((struct world *)arg)->journal, work, err);
}

static enum status store_sync(void *arg, struct error *err)
{
	return journal_sync(((struct world *)arg)->journal, err);
}

static void print(void *arg, const char *text, bool transient)
{
	(void)arg;
	if (!transient)
		fprintf(stderr, "%s\n", text);
}

static enum status lead(struct world *w, struct cluster_result *result, struct error *err)
{
	const struct judge judge = {suspects_hear, suspects_find, w->suspects};
	struct plan_request request = {.probes = probe_table,
	                               .budget = BUDGET_STANDARD,
	                               .node = "n00000",
	                               .info = &w->info,
	                               .sys_root = "",
	                               .cluster = true};
	struct cluster_options options = {
		.agent = {.comm = &w->comm,
	                  .probes = probe_table,
	                  .host = "n00000",
	                  .version = "0.1.0",
	                  .sys_root = "/nonexistent",
	                  .deadline_scale = 1,
	                  .lost_after_s = 600,
	                  .stop = &w->stop},
		.request = &request,
		.dir = w->dir,
		.pairs = PAIRS_SAMPLE,
		.judge = &judge,
		.hello_s = 600,
		.begin = begin,
		.store = store,
		.store_work = store_work,
		.store_sync = store_sync,
		.store_arg = w,
		.print = print,
	};
	char digest[65];
	enum status st = cluster_lead(result, &options, err);

	if (w->journal && st == ST_OK)
		st = journal_close(w->journal, false, digest, err);
	return st;
}

static void open_world(struct world *w, int nodes, int cards, const char *dir)
{
	static const char *const only[] = {"gemm", "net"};

	*w = (struct world){
		.comm = {.ops = &ops, .size = nodes, .kind = "simulated", .library = ""},
		.cards = cards,
		.dir = dir,
		.suspects = suspects_open()};
	w->info = (struct run_info){.id = "00000000000000c1",
	                            .created = "2026-12-02T03:04:05.000Z",
	                            .version = "0.1.0",
	                            .build = "lead",
	                            .host = "n00000",
	                            .command = "lead",
	                            .budget = "standard",
	                            .seed = "0123456789abcdef",
	                            .expected_nodes = nodes,
	                            .expected_cards = cards,
	                            .only = only,
	                            .n_only = 2};
	rng_seed(&w->rng, 1);
	w->beat_ns = clock_now(&clock_system);
	for (int i = 0; i < nodes; i++)
		say_hello(w, i);
}

int main(int argc, char **argv)
{
	int64_t nodes = 0, cards = 0, start;
	struct cluster_result result;
	struct error err = {0};
	struct world w;
	struct rusage used;
	enum status st;

	if (argc != 4 || !parse_int64(argv[1], &nodes) || !parse_int64(argv[2], &cards) ||
	    nodes < 2 || nodes > 20000 || cards < 1 || cards > 16) {
		fprintf(stderr, "usage: %s NODES CARDS DIR\n", argv[0]);
		return EXIT_USAGE;
	}
	open_world(&w, (int)nodes, (int)cards, argv[3]);
	start = clock_now(&clock_system);
	st = lead(&w, &result, &err);
	getrusage(RUSAGE_SELF, &used);
	suspects_close(w.suspects);
	free(w.queue);
	str_release(&w.line);
	if (st != ST_OK) {
		fprintf(stderr, "%s\n", str_text(&err.text));
		error_release(&err);
		return EXIT_USAGE;
	}
	printf("%" PRId64 " %.3f %.3f %.1f %" PRId64 "\n", nodes,
	       (double)(clock_now(&clock_system) - start) / 1e9,
	       (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
	               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
	       (double)used.ru_maxrss / 1024, result.readings);
	return 0;
}
