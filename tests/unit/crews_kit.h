/* A leader without ranks for its tests: what it sends is kept, nodes that are simulated
 * here answer its orders, and a judge says what it is told to. */
#ifndef CREWS_KIT_H
#define CREWS_KIT_H

#include "tests/unit/unit.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "coord/again.h"
#include "coord/leader.h"
#include "run/attempts.h"
#include "run/journal.h"

#define NODES_MOST 32
#define SENT_MOST  4096

/* --- probes ------------------------------------------------------------------------- */

static inline struct support supported(struct probe_ctx *ctx)
{
	(void)ctx;
	return (struct support){.yes = true};
}

static const struct metric pair_metrics[] = {
	{"pair_gbps", "Gb/s", BETTER_HIGHER, SUBJECT_PAIR, BACKEND_ANY, ""},
	{"pair_us", "us", BETTER_LOWER, SUBJECT_PAIR, BACKEND_ANY, ""},
	{0},
};
static const struct metric all_metrics[] = {
	{"all_gbs", "GB/s", BETTER_HIGHER, SUBJECT_PATH, BACKEND_ANY, ""},
	{0},
};
static const struct param all_params[] = {
	{"size", PARAM_SIZE, "B", {"1M", "2M", "3M"}, 1, 1e12, NULL, MSG_help_windows},
	{"stream_size", PARAM_SIZE, "B", {"4M", "5M", "6M"}, 1, 1e12, NULL, MSG_help_windows},
	{0},
};
static const struct probe pair_probe = {
	.name = "pair",
	.subject = SUBJECT_PAIR,
	.phase = "pairs",
	.seconds = {2, 6, 20},
	.metrics = pair_metrics,
	.each_way = (const char *const[]){"pair_gbps", NULL},
	.supported = supported,
};
static const struct probe all_probe = {
	.name = "all",
	.subject = SUBJECT_PATH,
	.phase = "storage",
	.all_nodes = true,
	.needs_storage = true,
	.seconds = {10, 60, 600},
	.params = all_params,
	.metrics = all_metrics,
	.supported = supported,
};
/* The first node asks all for something of each one's cards, and of all together. */
static const struct metric rows_metrics[] = {
	{"rows_wrong", "1", BETTER_LOWER, SUBJECT_CARD, BACKEND_ANY, ""},
	{"rows_ms", "ms", BETTER_LOWER, SUBJECT_CARD, BACKEND_ANY, ""},
	{"rows_all", "1", BETTER_LOWER, SUBJECT_CLUSTER, BACKEND_ANY, ""},
	{"rows_gbps", "Gb/s", BETTER_HIGHER, SUBJECT_PAIR, BACKEND_ANY, ""},
	{0},
};
static const struct probe rows_probe = {
	.name = "rows",
	.subject = SUBJECT_CARD,
	.phase = "groups",
	.all_nodes = true,
	.metrics = rows_metrics,
	.supported = supported,
};
static const struct probe *const probes[] = {&pair_probe, &all_probe, &rows_probe, NULL};

/* --- the world ---------------------------------------------------------------------- */

struct sent {
	int to;
	char kind;
	char *text;
};

struct desk {
	struct leader l;
	struct cluster_options o;
	struct cluster_result result;
	struct plan_request request;
	struct run_info info;
	struct comm comm;
	volatile sig_atomic_t stop;
	struct sent sent[SENT_MOST];
	int n_sent, at;
	struct str lines, works, said;
	/* What the judge says: list[pass], n[pass]. */
	struct judge judge;
	struct suspect list[AGAIN_PASSES + 2][600];
	size_t n[AGAIN_PASSES + 2];
	int asked;
	int heard; /* readings */
	int crews; /* orders to first nodes */
	char units[SENT_MOST][13];
};

static inline struct desk *at_desk(struct comm *c)
{
	return (struct desk *)((char *)c - offsetof(struct desk, comm));
}

static inline enum status fake_send(struct comm *c, int to, const void *bytes, size_t len,
                                    struct error *err)
{
	struct desk *d = at_desk(c);

	(void)err;
	assert_true(d->n_sent < SENT_MOST);
	d->sent[d->n_sent].to = to;
	d->sent[d->n_sent].kind = *(const char *)bytes;
	d->sent[d->n_sent++].text = strndup((const char *)bytes + 1, len - 1);
	return ST_OK;
}

static inline void fake_forget(struct comm *c, int rank)
{
	(void)c;
	(void)rank;
}

static const struct comm_ops fake_ops = {.send = fake_send, .forget = fake_forget};

static inline enum status store(void *arg, const char *line, size_t len, struct error *err)
{
	struct desk *d = arg;

	(void)err;
	str_addn(&d->lines, line, len);
	str_addc(&d->lines, '\n');
	return ST_OK;
}

static inline enum status store_work(void *arg, const char *work, struct error *err)
{
	(void)err;
	str_addf(&((struct desk *)arg)->works, "%s\n", work);
	return ST_OK;
}

static inline void print(void *arg, const char *text, bool transient)
{
	(void)transient;
	str_addf(&((struct desk *)arg)->said, "%s\n", text);
}

static inline void on_reading(void *arg, const struct reading *r)
{
	struct desk *d = arg;

	/* Figures of pairs, whoever asked for them. */
	assert_int_equal(r->subject.kind, SUBJECT_PAIR);
	d->heard++;
}

static inline size_t suspects(void *arg, const char *probe, const struct suspect **list)
{
	struct desk *d = arg;
	int i = d->asked++;

	assert_string_equal(probe, "pair");
	assert_true(i <= AGAIN_PASSES);
	*list = d->list[i];
	return d->n[i];
}

static const char *name_of(int node)
{
	static const char *const names[NODES_MOST] = {
		"n0",  "n1",  "n2",  "n3",  "n4",  "n5",  "n6",  "n7",  "n8",  "n9",  "n10",
		"n11", "n12", "n13", "n14", "n15", "n16", "n17", "n18", "n19", "n20", "n21",
		"n22", "n23", "n24", "n25", "n26", "n27", "n28", "n29", "n30", "n31"};

	return names[node];
}

static inline void say_line(void *arg, const char *text)
{
	print(arg, text, false);
}

static inline struct desk *desk_open(int nodes)
{
	struct desk *d = calloc(1, sizeof(*d));
	struct leader *l;

	assert_non_null(d);
	l = &d->l;
	d->info = (struct run_info){.id = "1", .seed = "1", .expected_nodes = nodes};
	d->request = (struct plan_request){.probes = probes, .info = &d->info, .node = "n0"};
	d->comm = (struct comm){.ops = &fake_ops, .size = nodes};
	d->judge = (struct judge){on_reading, suspects, d};
	d->o = (struct cluster_options){
		.agent = {.comm = &d->comm,
	                  .probes = probes,
	                  .sys_root = "",
	                  .deadline_scale = 1,
	                  .stop = &d->stop},
		.request = &d->request,
		.pairs = PAIRS_ALL,
		.judge = &d->judge,
		.store = store,
		.store_work = store_work,
		.store_arg = d,
		.print = print,
		.print_arg = d,
	};
	l->o = &d->o;
	l->result = &d->result;
	l->comm = &d->comm;
	l->count = nodes;
	l->members = arena_array(&l->arena, (size_t)nodes, sizeof(*l->members));
	l->keeper = (struct keeper){.save = store, .arg = d};
	l->voice = (struct voice){.tell = say_line, .arg = d, .count = nodes};
	l->stage = LEAD_CREWS;
	l->phase = 2; /* pairs */
	for (int i = 0; i < nodes; i++) {
		l->members[i].name = name_of(i);
		l->members[i].said_hello = l->members[i].planned = true;
	}
	return d;
}

static inline void desk_close(struct desk *d)
{
	crews_close(&d->l);
	keeper_end(&d->l.keeper, NULL);
	voice_release(&d->l.voice);
	for (int i = 0; i < d->n_sent; i++)
		free(d->sent[i].text);
	str_release(&d->lines);
	str_release(&d->works);
	str_release(&d->said);
	arena_release(&d->l.arena);
	free(d);
}

static inline void take(struct desk *d, int rank, char kind, const char *text)
{
	struct str message = {0};

	str_addc(&message, kind);
	str_add(&message, text);
	member_take(&d->l, rank, message.data, message.len);
	str_release(&message);
}

static inline int count(const struct str *in, const char *what)
{
	int n = 0;

	for (const char *p = str_text(in); (p = strstr(p, what)); p++)
		n++;
	return n;
}

/* Lines with all of this in them. */
static inline int lines_with(const struct desk *d, const char *a, const char *b, const char *c)
{
	int n = 0;

	for (const char *p = str_text(&d->lines); *p;) {
		const char *end = strchr(p, '\n');
		char *line = strndup(p, (size_t)(end - p));

		n += strstr(line, a) && strstr(line, b) && strstr(line, c);
		free(line);
		p = end + 1;
	}
	return n;
}

/* Lines of this subject, metric and outcome. */
static inline int lines_of(const struct desk *d, const char *id, const char *metric,
                           const char *outcome)
{
	return lines_with(d, tmpf("\"id\":\"%s\"", id), tmpf("\"metric\":\"%s\"", metric),
	                  tmpf("\"outcome\":\"%s\"", outcome));
}

/* … of all cards of a node. */
static inline int cards_of(const struct desk *d, const char *node, const char *metric,
                           const char *outcome)
{
	return lines_with(d, tmpf("\"node\":\"%s\"", node), tmpf("\"metric\":\"%s\"", metric),
	                  tmpf("\"outcome\":\"%s\"", outcome));
}

/* --- nodes -------------------------------------------------------------------------- */

static inline void say_reading(struct desk *d, const cJSON *order, int from, const char *metric,
                               double value)
{
	const cJSON *nodes = json_get(order, "nodes");
	const char *a = cJSON_GetArrayItem(nodes, from)->valuestring;
	const char *b = cJSON_GetArrayItem(nodes, !from)->valuestring;
	struct reading r = reading_init();
	struct str line = {0};
	char *id = strdup(tmpf("%s|%s", a, b));

	r.time = "2026-12-02T03:00:00.000Z";
	r.node = cJSON_GetArrayItem(nodes, 0)->valuestring;
	r.writer = atoi(r.node + 1);
	r.phase = "pairs";
	r.probe = "pair";
	r.attempt = (int)json_number(order, "attempt", 0);
	r.work = json_string(order, "work", "");
	r.metric = metric;
	r.unit = "Gb/s";
	r.better = BETTER_HIGHER;
	r.subject = (struct subject){.kind = SUBJECT_PAIR, .id = id, .n_ends = 2, .index = -1};
	r.subject.ends[0] = (struct subject_end){.node = a};
	r.subject.ends[1] = (struct subject_end){.node = b};
	r.value_kind = VALUE_NUMBER;
	r.value = value;
	reading_format(&line, &r);
	take(d, atoi(r.node + 1), WIRE_LINE, line.data);
	str_release(&line);
	free(id);
}

/* The text is a node's order; what its child has to say, it says. */
static inline void say_all(struct desk *d, const char *text)
{
	struct json_doc doc;

	assert_int_equal(json_parse(&doc, "order", text, strlen(text), JSON_STRICT, NULL), ST_OK);
	say_reading(d, doc.root, 0, "pair_gbps", 20);
	say_reading(d, doc.root, 1, "pair_gbps", 20);
	say_reading(d, doc.root, 0, "pair_us", 5);
	json_release(&doc);
}

static const char *work_in(const char *text)
{
	struct json_doc doc;
	const char *work;

	assert_int_equal(json_parse(&doc, "order", text, strlen(text), JSON_STRICT, NULL), ST_OK);
	work = tmpf("%s", json_string(doc.root, "work", ""));
	json_release(&doc);
	return work;
}

static inline bool is_first(const char *text)
{
	return strstr(text, "\"self\":0,") != NULL;
}

static inline void node_over(struct desk *d, int rank, const char *text)
{
	char *work = strdup(work_in(text));

	take(d, rank, WIRE_OVER, work);
	free(work);
}

/* Node 0 says that of a card of another one; of all together only that it could not. */
static inline void say_card(struct desk *d, const char *work, const char *node, const char *metric)
{
	bool all = strcmp(metric, "rows_all") == 0;
	struct reading r = reading_init();
	struct str line = {0};

	r.time = "2026-12-02T03:00:00.000Z";
	r.node = node;
	r.phase = "groups";
	r.probe = "rows";
	r.attempt = 1;
	r.work = work;
	r.metric = metric;
	r.unit = "1";
	r.subject = (struct subject){.kind = SUBJECT_CARD, .id = "GPU-0", .index = 0};
	if (all) {
		r.subject = (struct subject){.kind = SUBJECT_CLUSTER, .id = "*", .index = -1};
		r.outcome = OUTCOME_NOT_MEASURED;
		r.reason = (struct reason){.code = "because", .text = "because"};
	} else {
		r.value_kind = VALUE_NUMBER;
	}
	reading_format(&line, &r);
	take(d, 0, WIRE_LINE, line.data);
	str_release(&line);
}

/* Answers all orders that came; no node may have two at a time. */
static inline void answer(struct desk *d)
{
	bool busy[NODES_MOST] = {false};

	for (int end = d->n_sent; d->at < end; d->at++) {
		const struct sent *s = &d->sent[d->at];

		if (s->kind != WIRE_CREW)
			continue;
		assert_false(busy[s->to]);
		busy[s->to] = true;
		if (is_first(s->text)) {
			strcpy(d->units[d->crews++], work_in(s->text));
			if (strstr(s->text, "\"probe\":\"pair\""))
				say_all(d, s->text);
		}
		node_over(d, s->to, s->text);
	}
}

static inline void work_through(struct desk *d)
{
	for (int i = 0; i < 1000 && crews_step(&d->l); i++)
		answer(d);
	assert_false(crews_step(&d->l));
}

/* Work ids of the reading of a pair. */
static const char *unit_id(const char *id, int times)
{
	struct arena arena = {0};
	char work[13];

	work_id(work, "pairs", "pair", again_unit(&arena, id, times), "");
	arena_release(&arena);
	return tmpf("%s", work);
}

static inline int ordered(const struct desk *d, const char *id, int times)
{
	const char *work = unit_id(id, times);
	int n = 0;

	for (int i = 0; i < d->crews; i++)
		n += strcmp(d->units[i], work) == 0;
	return n;
}

static inline void suspect(struct desk *d, int pass, const char *a, const char *b, bool slow)
{
	d->list[pass][d->n[pass]++] = (struct suspect){a, b, slow};
}

#endif
