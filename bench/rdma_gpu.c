/* The same rails between the memories of cards: an adapter with the card nearest to it
 * on the PCI bus. Memory reaches the adapter by dma-buf, else by nvidia-peermem; a way
 * by the host would be another measurement and is not taken. */
#include "rdma.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cards.h"
#include "hw/host.h"
#include "hw/sysfs.h"

#define HANDLE_DMABUF 1 /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
#define SYNC_MEMOPS   6 /* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS */
#define PAGE          ((size_t)64 << 10)

/* Since CUDA 11.7; older drivers lack the first. */
struct range_calls {
	cu_result (*handle)(void *handle, cu_ptr at, size_t bytes, int type,
	                    unsigned long long flags);
	cu_result (*set)(const void *value, int attribute, cu_ptr at);
};

struct card_memory {
	struct cuda *cuda;
	struct cuda_card card;
	cu_ptr at;
};

/* --- cards ------------------------------------------------------------------------------ */

/* Length of the path both devices have in common: the lower the bridge, the longer. */
static size_t nearness(const char *root, const char *a, const char *b)
{
	char *x = realpath(tmpf("%s/sys/bus/pci/devices/%s", root, a), NULL);
	char *y = realpath(tmpf("%s/sys/bus/pci/devices/%s", root, b), NULL);
	size_t same = 0, n = 0;

	for (size_t i = 0; x && y && x[i] && x[i] == y[i]; i++) {
		n++;
		if (x[i] == '/')
			same = n;
	}
	free(x);
	free(y);
	return same;
}

/* As nvidia-smi topo calls it: by one PCIe switch or several (PXB), by the host bridge
 * (PHB), by others of the same NUMA node (NODE), or between those (SYS), which halves
 * the rate. NULL: the kernel does not tell. */
static const char *distance(const char *root, const char *a, const char *b)
{
	char *path = realpath(tmpf("%s/sys/bus/pci/devices/%s", root, a), NULL);
	const char *bridge = path ? strstr(path, "/devices/pci") : NULL;
	size_t whole = bridge ? (size_t)(bridge - path) + strlen("/devices/pci0000:00/") : 0;
	size_t same = bridge ? nearness(root, a, b) : 0;
	int64_t nodes[2] = {sys_number(-1, root, "/sys/bus/pci/devices/%s/numa_node", a),
	                    sys_number(-1, root, "/sys/bus/pci/devices/%s/numa_node", b)};
	const char *name = NULL;

	if (bridge && same > whole)
		name = "PXB";
	else if (bridge && same == whole)
		name = "PHB";
	else if (bridge && nodes[0] >= 0 && nodes[1] >= 0)
		name = nodes[0] == nodes[1] ? "NODE" : "SYS";
	free(path);
	return name;
}

static const char *card_text(struct rdma *r, const struct rdma_port *p, const struct card_memory *m)
{
	const char *far = p->pci ? distance(r->ctx->sys_root, p->pci, m->card.pci) : NULL;

	return arena_strf(r->ctx->arena, "%s%s%s", m->card.pci, far ? ", " : "", far ? far : "");
}

/* The nearest card; of several the one with the rail's own number among them. */
static bool choose_card(struct rdma *r, struct card_memory *m, const struct rdma_port *p,
                        int number)
{
	size_t best = 0;
	int found = 0;

	for (int pass = 0; pass < 2; pass++) {
		int nth = 0;

		for (int i = 0; i < m->cuda->count; i++) {
			struct cuda_card card;
			size_t near;

			if (cuda_card_read(m->cuda, r->ctx->arena, i, &card, NULL) != ST_OK)
				continue;
			near = p->pci ? nearness(r->ctx->sys_root, p->pci, card.pci) : 0;
			if (pass == 0 && (!found || near > best))
				best = near, found = 1;
			else if (pass == 0 && near == best)
				found++;
			else if (pass == 1 && near == best && nth++ == number % found)
				m->card = card;
		}
		if (!found)
			return false;
	}
	return true;
}

/* --- memory -------------------------------------------------------------------------------- */

static bool to_card(void *self, size_t at, const void *from, size_t bytes)
{
	struct card_memory *m = self;

	return CUDA_TRY(m->cuda, NULL, copy_to_device, m->at + at, from, bytes, NULL) == ST_OK &&
	       cuda_check(m->cuda, m->cuda->call.context_sync(), "cuCtxSynchronize", NULL) == ST_OK;
}

static bool from_card(void *self, size_t at, void *to, size_t bytes)
{
	struct card_memory *m = self;

	return CUDA_TRY(m->cuda, NULL, copy_to_host, to, m->at + at, bytes, NULL) == ST_OK &&
	       cuda_check(m->cuda, m->cuda->call.context_sync(), "cuCtxSynchronize", NULL) == ST_OK;
}

static struct range_calls range_calls(const struct cuda *cuda)
{
	struct range_calls c;
	void *symbols[] = {library_symbol(&cuda->lib, "cuMemGetHandleForAddressRange"),
	                   library_symbol(&cuda->lib, "cuPointerSetAttribute")};

	_Static_assert(sizeof(c) == sizeof(symbols), "pointers alone");
	memcpy(&c, symbols, sizeof(c));
	return c;
}

static void no_gpudirect(struct rdma *r, struct net_fault *fault, const char *why)
{
	rdma_blame(r, fault, OUTCOME_UNSUPPORTED, MSG_rdma_no_gpudirect, r->ctx->peers[r->self],
	           why);
}

static void make_card_memory(struct rdma *r, struct rdma_rail *rail, struct card_memory *m)
{
	struct range_calls range = range_calls(m->cuda);
	size_t bytes = (rdma_memory_needed(r) + PAGE - 1) / PAGE * PAGE;
	bool peermem = host_nvidia_read(r->ctx->arena, r->ctx->sys_root).peermem;
	struct error err = {0};
	unsigned on = 1;
	cu_context context;
	int fd = VERBS_CARD;

	if (cuda_context(m->cuda, m->card.device, &context, &err) != ST_OK ||
	    CUDA_TRY(m->cuda, &err, alloc, &m->at, bytes) != ST_OK) {
		rdma_blame(r, &rail->fault, OUTCOME_NOT_MEASURED, MSG_rdma_refused,
		           r->ctx->peers[r->self], str_text(&err.text));
		error_release(&err);
		return;
	}
	/* What the card is told to copy is there before the adapter looks. */
	if (range.set)
		range.set(&on, SYNC_MEMOPS, m->at);
	if (!range.handle || range.handle(&fd, m->at, bytes, HANDLE_DMABUF, 0) != CU_OK)
		fd = VERBS_CARD;
	if (fd < 0 && !peermem) {
		no_gpudirect(r, &rail->fault, say(MSG_rdma_gpu_path_missing));
		return;
	}
	rail->memory = (struct rdma_memory){.at = (void *)(uintptr_t)m->at,
	                                    .bytes = bytes,
	                                    .dmabuf = fd,
	                                    .peermem = peermem,
	                                    .path = fd >= 0 ? "dma-buf" : "nvidia-peermem",
	                                    .card = card_text(r, &rail->ends[r->self].at, m),
	                                    .self = m,
	                                    .write = to_card,
	                                    .read = from_card};
}

/* --- measuring ------------------------------------------------------------------------------- */

static void measure(struct rdma *r, struct rdma_rail *rail, const struct rdma_rail *host)
{
	const struct rdma_flow *like = &host->flows[0][VERBS_WRITE];
	bool going = rdma_rail_open(r, rail) && rdma_latency(r, rail, VERBS_SEND);

	for (int d = 0; d < 2 && going; d++)
		going = rdma_flow(r, rail, &rail->flows[d][VERBS_WRITE], d, VERBS_WRITE, like->size,
		                  like->qps, r->others_s);
}

static void measure_rail(struct rdma *r, struct cuda *cuda, int number)
{
	const struct rdma_rail *host = &r->rails[number];
	struct rdma_rail *rail = &r->gpu[r->n_gpu];
	struct card_memory *m = arena_alloc(r->ctx->arena, sizeof(*m));
	int fd;

	*rail = (struct rdma_rail){.expected = host->expected, .n_rises = {-1, -1}};
	memcpy(rail->ends, host->ends, sizeof(rail->ends));
	r->n_gpu++;
	m->cuda = cuda;
	if (!choose_card(r, m, &host->ends[r->self].at, number))
		rdma_blame(r, &rail->fault, OUTCOME_NOT_MEASURED, MSG_rdma_gpu_no_card,
		           r->ctx->peers[r->self]);
	else
		make_card_memory(r, rail, m);
	fd = rail->memory.dmabuf;
	if (rdma_agree(r, &rail->fault))
		measure(r, rail, host);
	rdma_rail_close(rail);
	if (rail->memory.write && fd >= 0)
		close(fd);
	if (m->at)
		cuda->call.free(m->at);
}

/* Both ends have to have cards for any of it. */
static bool start(struct rdma *r, struct cuda *cuda, struct gpu_search *where)
{
	struct probe_ctx *ctx = r->ctx;
	const struct clock_source *clock = ctx->clock;
	int64_t deadline = ctx->deadline_ns;
	struct error err = {0};
	double scale;

	if (!cards_have_driver(r->ctx)) {
		r->gpu_fault.outcome = OUTCOME_NOT_MEASURED;
		cards_reason(r->ctx, &r->gpu_fault.reason);
	} else if (cards_cuda(r->ctx, cuda, where, &scale, &err) != ST_OK) {
		rdma_blame(r, &r->gpu_fault, OUTCOME_NOT_MEASURED, MSG_rdma_refused,
		           r->ctx->peers[r->self], str_text(&err.text));
	}
	error_release(&err);
	/* Doubles bring their own time with them; what passes between adapters is not in it. */
	ctx->clock = clock;
	ctx->deadline_ns = deadline;
	return rdma_agree(r, &r->gpu_fault);
}

void rdma_gpu(struct rdma *r)
{
	struct gpu_search where = {r->ctx->lib_dir, r->ctx->sys_root};
	struct cuda cuda;

	if (!start(r, &cuda, &where))
		return;
	r->gpu = arena_array(r->ctx->arena, (size_t)r->n_rails, sizeof(*r->gpu));
	for (int i = 0; i < r->n_rails && !r->trouble.reason.code; i++)
		if (isfinite(rdma_gbps(&r->rails[i].flows[0][VERBS_WRITE])) &&
		    isfinite(rdma_gbps(&r->rails[i].flows[1][VERBS_WRITE])))
			measure_rail(r, &cuda, i);
	if (r->n_gpu == 0 && r->n_rails)
		r->gpu_fault = r->rails[0].fault;
}
