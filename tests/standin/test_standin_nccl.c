/* The double of libnccl: sums are right on every rank, times are those of the
 * bus figure, ranks meet in one process and across two, and who never comes
 * leaves the others waiting until they give up. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/standin/standin_kit.h"
#include "tests/unit/unit.h"

#define CARDS 4
#define NODE  "{\"cards\":[{\"model\":\"a100-sxm4-80gb\"}],\"count\":4"
#define COUNT 65536

struct ring {
	const struct gpu *g;
	struct bench b[CARDS];
	nccl_comm comm[CARDS];
	cu_ptr from[CARDS], to[CARDS];
};

static void select_card(struct ring *r, int i)
{
	SAME(r->g->cu.context_set(r->b[i].context), CU_OK);
}

static int poll(struct ring *r, int i)
{
	int state = NCCL_IN_PROGRESS;

	for (int n = 0; n < 50 && state == NCCL_IN_PROGRESS; n++)
		SAME(r->g->nccl.async_error(r->comm[i], &state), NCCL_OK);
	return state;
}

static void join(struct ring *r, int i, const nccl_id *id, int ranks, int rank)
{
	nccl_config config = {NCCL_CONFIG_SIZE, NCCL_CONFIG_MAGIC, NCCL_CONFIG_VERSION, 0};

	select_card(r, i);
	SAME(r->g->nccl.init_rank(&r->comm[i], ranks, *id, rank, &config), NCCL_IN_PROGRESS);
}

/* Buffers of floats: rank + 1 in each element of from. */
static void open_ring(struct ring *r, const struct gpu *g, bool join_all)
{
	nccl_id id;

	memset(r, 0, sizeof(*r));
	r->g = g;
	for (int i = 0; i < CARDS; i++) {
		float value = (float)(i + 1);
		unsigned bits;

		memcpy(&bits, &value, 4);
		bench_open(&r->b[i], g, i);
		r->from[i] = bench_alloc(&r->b[i], COUNT * CARDS * 4);
		r->to[i] = bench_alloc(&r->b[i], COUNT * CARDS * 4);
		SAME(g->cu.set32(r->from[i], bits, COUNT * CARDS, r->b[i].stream), CU_OK);
	}
	if (!join_all)
		return;
	SAME(g->nccl.unique_id(&id), NCCL_OK);
	SAME(g->nccl.group_start(), NCCL_OK);
	for (int i = 0; i < CARDS; i++)
		join(r, i, &id, CARDS, i);
	SAME(g->nccl.group_end(), NCCL_OK);
	for (int i = 0; i < CARDS; i++)
		SAME(poll(r, i), NCCL_OK);
}

static float element(struct ring *r, int i, cu_ptr p, size_t at)
{
	float value;

	select_card(r, i);
	SAME(r->g->cu.copy_to_host(&value, p + 4 * at, 4, r->b[i].stream), CU_OK);
	SAME(r->g->cu.stream_sync(r->b[i].stream), CU_OK);
	return value;
}

/* All ranks do one thing; returns seconds of the slowest. */
static double together(struct ring *r, int (*one)(struct ring *r, int i))
{
	double slowest = 0;

	for (int i = 0; i < CARDS; i++) {
		select_card(r, i);
		SAME(r->g->cu.stream_sync(r->b[i].stream), CU_OK);
	}
	SAME(r->g->nccl.group_start(), NCCL_OK);
	for (int i = 0; i < CARDS; i++) {
		select_card(r, i);
		bench_hold(&r->b[i]);
		SAME(one(r, i), NCCL_OK);
		SAME(r->g->cu.event_record(r->b[i].end, r->b[i].stream), CU_OK);
	}
	SAME(r->g->nccl.group_end(), NCCL_OK);
	for (int i = 0; i < CARDS; i++)
		r->b[i].flag[0] = 1;
	for (int i = 0; i < CARDS; i++) {
		float ms;

		select_card(r, i);
		SAME(r->g->cu.stream_sync(r->b[i].stream), CU_OK);
		SAME(r->g->cu.event_elapsed(&ms, r->b[i].begin, r->b[i].end), CU_OK);
		slowest = (double)ms / 1e3 > slowest ? (double)ms / 1e3 : slowest;
	}
	return slowest;
}

static int all_reduce(struct ring *r, int i)
{
	return r->g->nccl.all_reduce((void *)r->from[i], (void *)r->to[i], COUNT * CARDS, NCCL_FP32,
	                             NCCL_SUM, r->comm[i], r->b[i].stream);
}
static int all_gather(struct ring *r, int i)
{
	return r->g->nccl.all_gather((void *)r->from[i], (void *)r->to[i], COUNT, NCCL_FP32,
	                             r->comm[i], r->b[i].stream);
}
static int reduce_scatter(struct ring *r, int i)
{
	return r->g->nccl.reduce_scatter((void *)r->from[i], (void *)r->to[i], COUNT, NCCL_FP32,
	                                 NCCL_MAX, r->comm[i], r->b[i].stream);
}
static int broadcast(struct ring *r, int i)
{
	return r->g->nccl.broadcast((void *)r->from[i], (void *)r->to[i], COUNT, NCCL_FP32, 2,
	                            r->comm[i], r->b[i].stream);
}
static int all_to_all(struct ring *r, int i)
{
	for (int p = 0; p < CARDS; p++) {
		size_t at = (size_t)p * COUNT * 4;

		SAME(r->g->nccl.send((void *)(r->from[i] + at), COUNT, NCCL_FP32, p, r->comm[i],
		                     r->b[i].stream),
		     NCCL_OK);
		SAME(r->g->nccl.recv((void *)(r->to[i] + at), COUNT, NCCL_FP32, p, r->comm[i],
		                     r->b[i].stream),
		     NCCL_OK);
	}
	return NCCL_OK;
}

static void collectives(const struct gpu *g)
{
	struct ring r;
	double bytes = COUNT * CARDS * 4.0, s;

	open_ring(&r, g, true);
	s = together(&r, all_reduce);
	NEAR(bytes / s / 1e9 * 2 * 3 / 4, 300, 0.005);
	for (int i = 0; i < CARDS; i++)
		CHECK(element(&r, i, r.to[i], 77) == 10);
	s = together(&r, all_gather);
	NEAR(bytes / s / 1e9 * 3 / 4, 300, 0.1);
	for (int i = 0; i < CARDS; i++)
		CHECK(element(&r, 0, r.to[0], (size_t)i * COUNT + 5) == (float)(i + 1));
	together(&r, reduce_scatter);
	CHECK(element(&r, 1, r.to[1], COUNT - 1) == 4);
	together(&r, broadcast);
	CHECK(element(&r, 3, r.to[3], 0) == 3);
	for (int i = 0; i < CARDS; i++)
		SAME(g->nccl.destroy(r.comm[i]), NCCL_OK);
}

/* The end was recorded before the group's sends were queued: time is not asked. */
static void exchange(const struct gpu *g)
{
	struct ring r;

	open_ring(&r, g, true);
	together(&r, all_to_all);
	for (int i = 0; i < CARDS; i++)
		for (int p = 0; p < CARDS; p++)
			CHECK(element(&r, i, r.to[i], (size_t)p * COUNT) == (float)(p + 1));
}

static void right(void **state)
{
	(void)state;
	on_node(NODE ",\"costs\":{\"collective_us\":1}}", collectives);
	on_node(NODE ",\"costs\":{\"collective_us\":1,\"host_call_ns\":5000}}", collectives);
	on_node(NODE "}", exchange);
}

static void spoiled(const struct gpu *g)
{
	struct ring r;

	open_ring(&r, g, true);
	together(&r, all_reduce);
	CHECK(element(&r, 2, r.to[2], 0) != 10);
	CHECK(element(&r, 2, r.to[2], 1) == 10);
	CHECK(element(&r, 1, r.to[1], 0) == 10);
	together(&r, all_reduce);
	CHECK(element(&r, 2, r.to[2], 0) == 10);
}

static void wrong_sum(void **state)
{
	(void)state;
	on_node(NODE ",\"faults\":[{\"kind\":\"nccl_wrong\",\"rank\":2,\"op\":\"all_reduce\"}]}",
	        spoiled);
}

static void slow_hop(const struct gpu *g)
{
	struct ring r;

	open_ring(&r, g, true);
	NEAR(COUNT * CARDS * 4.0 / together(&r, all_reduce) / 1e9 * 2 * 3 / 4, 150, 0.005);
}

static void slow_link(void **state)
{
	(void)state;
	on_node(NODE ",\"costs\":{\"collective_us\":1},\"faults\":[{\"kind\":\"slow_link\","
	             "\"card\":1,\"peer\":2,\"factor\":0.5}]}",
	        slow_hop);
}

static void never_comes(const struct gpu *g)
{
	struct ring r;
	nccl_id id;

	open_ring(&r, g, false);
	SAME(g->nccl.unique_id(&id), NCCL_OK);
	for (int i = 0; i < CARDS; i++)
		join(&r, i, &id, CARDS, i);
	for (int i = 0; i < CARDS; i++)
		SAME(poll(&r, i), NCCL_IN_PROGRESS);
	for (int i = 0; i < CARDS; i++)
		SAME(g->nccl.abort(r.comm[i]), NCCL_OK);
	CHECK(access(id.bytes, F_OK) != 0);
}

/* One rank stays away from a collective: aborting lets the streams go on. */
static void stays_away(const struct gpu *g)
{
	struct ring r;

	open_ring(&r, g, true);
	for (int i = 0; i < CARDS - 1; i++) {
		select_card(&r, i);
		SAME(all_reduce(&r, i), NCCL_OK);
		SAME(g->cu.stream_query(r.b[i].stream), CU_NOT_READY);
	}
	for (int i = 0; i < CARDS; i++)
		SAME(g->nccl.abort(r.comm[i]), NCCL_OK);
	for (int i = 0; i < CARDS; i++) {
		select_card(&r, i);
		SAME(g->cu.stream_sync(r.b[i].stream), CU_OK);
	}
}

static void absent(void **state)
{
	(void)state;
	on_node(NODE ",\"faults\":[{\"kind\":\"nccl_absent\",\"rank\":3}]}", never_comes);
	on_node(NODE "}", stays_away);
}

/* Two processes, a card each: the id goes through a file. */
static char id_path[] = "/tmp/standin-id-XXXXXX";

static void one_of_two(const struct gpu *g, int rank)
{
	struct ring r;
	nccl_id id = {""};
	int state;

	open_ring(&r, g, false);
	if (rank == 0) {
		FILE *f = fopen(id_path, "w");

		SAME(g->nccl.unique_id(&id), NCCL_OK);
		SAME(fwrite(&id, sizeof(id), 1, f), 1);
		fclose(f);
	}
	for (int n = 0; !*id.bytes && n < 2000; n++) {
		FILE *f = fopen(id_path, "r");

		if (f && fread(&id, sizeof(id), 1, f) != 1)
			*id.bytes = '\0';
		if (f)
			fclose(f);
		usleep(1000);
	}
	join(&r, rank, &id, 2, rank);
	do
		SAME(g->nccl.async_error(r.comm[rank], &state), NCCL_OK);
	while (state == NCCL_IN_PROGRESS);
	for (int n = 0; n < 5; n++)
		SAME(all_reduce(&r, rank), NCCL_OK);
	CHECK(element(&r, rank, r.to[rank], 9) == 3);
	SAME(g->nccl.group_start(), NCCL_OK);
	SAME(g->nccl.send((void *)r.from[rank], 16, NCCL_FP32, !rank, r.comm[rank],
	                  r.b[rank].stream),
	     NCCL_OK);
	SAME(g->nccl.recv((void *)r.to[rank], 16, NCCL_FP32, !rank, r.comm[rank], r.b[rank].stream),
	     NCCL_OK);
	SAME(g->nccl.group_end(), NCCL_OK);
	CHECK(element(&r, rank, r.to[rank], 3) == (rank ? 1 : 2));
	SAME(g->nccl.destroy(r.comm[rank]), NCCL_OK);
}

static void first_process(const struct gpu *g)
{
	one_of_two(g, 0);
}
static void second_process(const struct gpu *g)
{
	one_of_two(g, 1);
}

static void processes(void **state)
{
	int fd = mkstemp(id_path), status;
	pid_t pid = fork();

	(void)state;
	assert_true(fd >= 0 && pid >= 0);
	close(fd);
	if (pid == 0) {
		on_node(NODE "}", second_process);
		_exit(0);
	}
	on_node(NODE "}", first_process);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	unlink(id_path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right),  cmocka_unit_test(wrong_sum), cmocka_unit_test(slow_link),
		cmocka_unit_test(absent), cmocka_unit_test(processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
