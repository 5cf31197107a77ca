/* Two ends of the RDMA probe in two processes, over a libibverbs that is none
 * (double_verbs.c), on nodes whose /sys is made here. */
#ifndef ASSAY_TESTS_RDMA_KIT_H
#define ASSAY_TESTS_RDMA_KIT_H

#include "company_kit.h"
#include "tree_kit.h"

#include "rdma.h"

extern const struct probe probe_rdma;

#define IB_GID(last) "fe80:0000:0000:0000:0e42:a103:0000:000" last
#define GID4(last)   "0000:0000:0000:0000:0000:ffff:0a00:000" last

struct rdma_test {
	struct tree *tree[2];
	struct company *c;
};

/* --- nodes ---------------------------------------------------------------------------------- */

static inline void put_port(struct tree *t, const char *device, const char *bus)
{
	const char *at = arena_strf(&t->arena, "/sys/devices/pci0000:%s/0000:%s:00.0/infiniband/%s",
	                            bus, bus, device);
	const char *port = arena_strf(&t->arena, "%s/ports/1", at);

	put(t, arena_strf(&t->arena, "%s/state", port), "4: ACTIVE\n");
	put(t, arena_strf(&t->arena, "%s/link_layer", port), "Ethernet\n");
	put(t, arena_strf(&t->arena, "%s/rate", port), "100 Gb/sec (4X EDR)\n");
	put(t, arena_strf(&t->arena, "%s/hw_counters/out_of_sequence", port), "7\n");
	put_link(t, arena_strf(&t->arena, "/sys/class/infiniband/%s", device),
	         arena_strf(&t->arena, "../../%s", at + strlen("/sys/")));
}

static inline void put_gid(struct tree *t, const char *device, int i, const char *gid,
                           const char *type)
{
	const char *port = arena_strf(&t->arena, "/sys/class/infiniband/%s/ports/1", device);

	put(t, arena_strf(&t->arena, "%s/gids/%d", port, i), gid);
	put(t, arena_strf(&t->arena, "%s/gid_attrs/types/%d", port, i), type);
	put(t, arena_strf(&t->arena, "%s/gid_attrs/ndevs/%d", port, i), "eth0\n");
}

static inline void port_says(struct tree *t, const char *device, const char *file, const char *text)
{
	put(t, arena_strf(&t->arena, "/sys/class/infiniband/%s/ports/1/%s", device, file), text);
}

static inline int set_up(void **state)
{
	struct rdma_test *x = calloc(1, sizeof(*x));

#ifndef HAVE_VERBS
	print_message("no verbs in this build\n");
	exit(77);
#endif
	assert_non_null(x);
	for (int e = 0; e < 2; e++) {
		void *tree = NULL;

		tree_set_up(&tree);
		x->tree[e] = tree;
		put_port(x->tree[e], "mlx5_0", "17");
		put_gid(x->tree[e], "mlx5_0", 0, e ? GID4("2") : GID4("1"), "RoCE v2\n");
	}
	x->c = malloc(sizeof(*x->c));
	assert_non_null(x->c);
	company_init(x->c, &probe_rdma, 2, "n001|n002");
	for (int e = 0; e < 2; e++) {
		x->c->all[e].h.ctx.sys_root = x->tree[e]->root;
		x->c->all[e].h.ctx.lib_dir = BINARY_DIR "/tests/probes/double_verbs";
	}
	company_set(x->c, "sizes", "4096,65536");
	company_set(x->c, "qps", "1,2");
	company_set(x->c, "point_s", "0.02");
	company_set(x->c, "seconds", "0.1");
	company_set(x->c, "others_s", "0.02");
	company_set(x->c, "pings", "50");
	company_set(x->c, "tcp_s", "0");
	company_set(x->c, "silence_s", "3");
	setenv("VERBS_DOUBLE", tmpf("%s/fabric", x->tree[0]->root), 1);
	setenv("VERBS_FIRST", tmpf("%d", (int)getpid()), 1);
	unsetenv("VERBS_FAULT");
	*state = x;
	return 0;
}

static inline int tear_down(void **state)
{
	struct rdma_test *x = *state;

	company_release(x->c);
	free(x->c);
	for (int e = 0; e < 2; e++) {
		void *tree = x->tree[e];

		tree_tear_down(&tree);
	}
	free(x);
	return 0;
}

static inline const struct reading *about(struct rdma_test *x, const char *metric, const char *id)
{
	const struct harness *h = &x->c->all[0].h;
	const struct reading *found = NULL;

	for (int i = 0; i < h->n_readings; i++)
		if (strcmp(h->readings[i].metric, metric) == 0 &&
		    strcmp(h->readings[i].subject.id, id) == 0) {
			assert_null(found);
			found = &h->readings[i];
		}
	if (!found)
		fail_msg("no %s about %s", metric, id);
	return found;
}

static inline const struct reading *expect(struct rdma_test *x, const char *metric, const char *id,
                                           enum outcome outcome, const char *code)
{
	const struct reading *r = about(x, metric, id);

	if (r->outcome != outcome || (code && (!r->reason.code || strcmp(r->reason.code, code))))
		fail_msg("%s of %s: %s, %s", metric, id, outcome_name(r->outcome),
		         r->reason.code ? r->reason.text : "no reason");
	return r;
}

#define PAIR  "n001|n002"
#define THERE "n001|n002|mlx5_0"
#define BACK  "n002|n001|mlx5_0"

#endif
