/* Counters of a rail before and after, of both ends: a fabric can carry its rate and
 * lose packets all the while. */
#include "rdma.h"

#include <string.h>

void rdma_counters_begin(struct rdma *r, struct rdma_rail *rail)
{
	const struct rdma_port *p = &rail->ends[r->self].at;

	rail->before = rdma_counters_read(r->ctx->arena, r->ctx->sys_root, p->device, p->port,
	                                  &rail->n_before);
}

/* Ours; -1: the driver has no counter of errors. */
static int64_t add_up(struct rdma *r, struct rdma_rail *rail, struct json_out *j)
{
	const struct rdma_port *p = &rail->ends[r->self].at;
	int64_t sum = -1;
	int n;
	const struct rdma_counter *after =
		rdma_counters_read(r->ctx->arena, r->ctx->sys_root, p->device, p->port, &n);

	for (int i = 0; i < n; i++) {
		int64_t rise = rdma_counter_rise(rail->before, rail->n_before, &after[i]);

		if (!rdma_counter_is_error(after[i].name) || rise < 0)
			continue;
		sum = (sum < 0 ? 0 : sum) + rise;
		if (rise > 0)
			json_put_int(j, after[i].name, rise);
	}
	return sum;
}

bool rdma_counters_end(struct rdma *r, struct rdma_rail *rail)
{
	struct net_fault none = {0};
	struct str mine = {0};
	struct json_out j = json_writer(&mine, 0);
	struct rdma_text t;
	struct json_doc doc;
	char *theirs;

	json_object_begin(&j, NULL);
	rail->n_rises[r->self] = add_up(r, rail, &j);
	json_object_end(&j);
	rail->rises[r->self] = arena_str(r->ctx->arena, mine.data);
	str_release(&mine);
	r->step++;
	rdma_text_begin(r, &t, &none);
	json_put_int(&t.j, "sum", rail->n_rises[r->self]);
	json_put_raw(&t.j, "rises", rail->rises[r->self]);
	if (!rdma_text_send(r, &t) || !rdma_text_await(r, &doc, &none, 2 * r->silence_s))
		return false;
	rail->n_rises[r->other] = json_int64(doc.root, "sum", -1);
	theirs = cJSON_PrintUnformatted(json_get(doc.root, "rises"));
	rail->rises[r->other] = arena_str(r->ctx->arena, theirs);
	cJSON_free(theirs);
	json_release(&doc);
	return true;
}
