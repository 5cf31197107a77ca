/* What rank 0 hears from a node that may lie: any messages in any order, each begun by its
 * letter, with a line "--" between them. The line "==" is where rank 0 goes on: to the
 * plans, then to the phases. Nothing of it is written but under the name of that node. */
#include "fuzz.h"

#include <string.h>

#include "coord/leader.h"

#define NODES 2

static char dir[64];

static enum status store(void *arg, const char *line, size_t len, struct error *err)
{
	struct arena arena = {0};
	const char *why = "";
	struct reading r;

	(void)arg;
	(void)err;
	fuzz_promise(!memchr(line, '\n', len) && !memchr(line, '\0', len), "a line that is two");
	fuzz_promise(reading_parse(&r, &arena, line, len, &why) == ST_OK, "a line that is none");
	arena_release(&arena);
	return ST_OK;
}

static enum status store_work(void *arg, const char *work, struct error *err)
{
	(void)arg;
	(void)work;
	(void)err;
	return ST_OK;
}

static enum status store_sync(void *arg, struct error *err)
{
	(void)arg;
	(void)err;
	return ST_OK;
}

static void print(void *arg, const char *text, bool transient)
{
	(void)arg;
	(void)transient;
	fuzz_promise(text != NULL, "nothing is said");
}

static void tell(void *arg, const char *text)
{
	print(arg, text, false);
}

static enum status send_to(struct comm *comm, int to, const void *bytes, size_t len,
                           struct error *err)
{
	(void)comm;
	(void)bytes;
	(void)len;
	(void)err;
	fuzz_promise(to >= 0 && to < NODES, "a rank that is none");
	return ST_OK;
}

static void forget(struct comm *comm, int rank)
{
	(void)comm;
	(void)rank;
}

static void check(const struct leader *l)
{
	for (int i = 0; i < NODES; i++) {
		const struct member *m = &l->members[i];

		fuzz_promise(m->name && *m->name && *m->name != '.' && !strchr(m->name, '/'),
		             "a name that leads elsewhere");
		fuzz_promise(m->seconds >= 0 && m->bytes >= 0, "a plan that cannot be");
		for (int k = 0; k < m->n_units; k++)
			fuzz_promise(m->units[k].probe && m->units[k].seconds >= 0 &&
			                     m->units[k].seconds < 1e7,
			             "a unit that cannot be");
	}
}

/* As cluster.c does between its stages. */
static void go_on(struct leader *l)
{
	if (l->stage == LEAD_HELLO)
		l->stage = LEAD_PLAN;
	else if (l->stage == LEAD_PLAN)
		l->stage = LEAD_PHASE;
	else if (l->stage == LEAD_PHASE && crews_open(l, plan_phases[l->phase]))
		l->stage = LEAD_CREWS;
	else if (l->stage == LEAD_PHASE && plan_phases[l->phase + 1])
		l->phase++;
	else if (l->stage == LEAD_CREWS && !crews_step(l)) {
		crews_close(l);
		l->stage = LEAD_PHASE;
		l->phase += plan_phases[l->phase + 1] != NULL;
	}
}

static void hear(struct leader *l, const char *text, size_t len)
{
	if (len == 2 && memcmp(text, "==", 2) == 0)
		go_on(l);
	else
		member_take(l, 1, text, len);
	check(l);
}

static void hear_all(struct leader *l, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *cut = memmem(text, (size_t)(end - text), "\n--\n", 4);
		const char *stop = cut ? cut : end;

		hear(l, text, (size_t)(stop - text));
		text = cut ? cut + 4 : end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct comm_ops ops = {.send = send_to, .forget = forget};
	static volatile sig_atomic_t stop;
	struct comm comm = {.ops = &ops, .size = NODES};
	struct run_info info = {.id = "0123456789abcdef", .seed = "0123456789abcdef"};
	struct plan_request request = {.probes = probe_table,
	                               .node = "node0",
	                               .info = &info,
	                               .local_path = dir,
	                               .lib_dir = "",
	                               .sys_root = dir,
	                               .cluster = true};
	struct cluster_options o = {.agent = {.comm = &comm,
	                                      .probes = probe_table,
	                                      .version = "1",
	                                      .options = "",
	                                      .sys_root = dir,
	                                      .deadline_scale = 1,
	                                      .stop = &stop},
	                            .request = &request,
	                            .dir = dir,
	                            .store = store,
	                            .store_work = store_work,
	                            .store_sync = store_sync,
	                            .print = print};
	struct cluster_result result = {0};
	struct member members[NODES + 1] = {{.name = "rank-0", .said_hello = true, .planned = true},
	                                    {.name = "rank-1"}};
	struct leader l = {.o = &o,
	                   .result = &result,
	                   .comm = &comm,
	                   .members = members,
	                   .count = NODES,
	                   .keeper = {.save = store},
	                   .voice = {.tell = tell, .count = NODES}};
	struct error err = {0};

	strcpy(dir, fuzz_folder());
	l.err = &err;
	hear_all(&l, (const char *)data, len);
	member_lose(&l, &members[1], "gone");
	if (l.crews)
		crews_close(&l);
	keeper_end(&l.keeper, &err);
	voice_release(&l.voice);
	error_release(&err);
	arena_release(&l.arena);
	return 0;
}
