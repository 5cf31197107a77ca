/* The double of libnccl: communicators and collectives between cards of this
 * process and of others. Never blocking: who does not come is waited for in
 * the streams, and the caller's deadline decides. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tests/standin/nccl.h"

EXPORT extern const char assay_standin[];
const char assay_standin[] = "libnccl of tests/standin";

enum kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, KINDS };
static const char *const kind_names[] = {"all_reduce", "all_gather", "reduce_scatter", "broadcast"};

static struct comm *comms;
static char last_error[128];

int comm_fail(int code, const char *text)
{
	snprintf(last_error, sizeof(last_error), "%s", text);
	return code;
}

static struct comm *comm_of(nccl_comm handle)
{
	for (struct comm *c = comms; c; c = c->next)
		if (c == (struct comm *)handle && !c->gone)
			return c;
	return NULL;
}

int comm_enter(const char *call, nccl_comm handle, struct comm **c)
{
	int result = machine_enter(call, NULL);

	*c = comm_of(handle);
	return result ? result
	       : *c   ? NCCL_OK
	              : comm_fail(NCCL_INVALID_ARGUMENT, "no such communicator");
}

/* --- what it tells ------------------------------------------------------------------------- */

/* To the file that NCCL_DEBUG_FILE names, as the real one with NCCL_DEBUG=INFO. */
static void tell(const char *fmt, ...)
{
	static FILE *log;
	const char *path = getenv("NCCL_DEBUG_FILE"), *level = getenv("NCCL_DEBUG");
	va_list ap;

	if (!log && path && level && strcmp(level, "INFO") == 0)
		log = fopen(path, "w");
	if (!log)
		return;
	fprintf(log, "standin:%d:%d [0] NCCL INFO ", (int)getpid(), (int)getpid());
	va_start(ap, fmt);
	vfprintf(log, fmt, ap);
	va_end(ap);
	fputc('\n', log);
	fflush(log);
}

static void tell_choice(const struct comm *c, enum kind kind, size_t bytes)
{
	static const char *const names[] = {"AllReduce", "AllGather", "ReduceScatter", "Broadcast"};

	if (c->rank == 0)
		tell("%s: %zu Bytes -> Algo %s proto %s channel{Lo..Hi}={0..%d}", names[kind],
		     bytes, c->ring || kind != ALL_REDUCE ? "RING" : "TREE",
		     bytes < 65536 ? "LL" : "SIMPLE", bytes < 65536 ? 1 : 23);
}

/* --- communicators ----------------------------------------------------------------------- */

nccl_result ncclGetVersion(int *version)
{
	int result = machine_enter("ncclGetVersion", NULL);

	if (!result)
		*version = node.nccl;
	return machine_leave(result);
}

nccl_result ncclGetUniqueId(nccl_id *id)
{
	static int count;
	int result = machine_enter("ncclGetUniqueId", NULL);
	/* Memory, where there is a place for it: what goes through is many times as much
	 * as is kept. */
	const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

	/* A folder that all nodes see. */
	if (getenv("ASSAY_STANDIN_MEET"))
		tmp = getenv("ASSAY_STANDIN_MEET");
	memset(id, 0, sizeof(*id));
	snprintf(id->bytes, sizeof(id->bytes), "%.80s/assay-nccl-%d-%d", tmp ? tmp : "/tmp",
	         getpid(), count++);
	return machine_leave(result);
}

static struct comm *comm_new(int ranks, const nccl_id *id, int rank)
{
	struct comm *c = calloc(1, sizeof(*c));

	if (!c || !(c->sends = calloc(2 * (size_t)ranks, sizeof(*c->sends))))
		node_bad("out of memory");
	c->receives = c->sends + ranks;
	c->id = *id;
	c->ranks = ranks;
	c->rank = rank;
	c->card = current_card();
	/* A rank that is absent believes it came. */
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_NCCL_ABSENT, -1));)
		if (f->rank == rank)
			c->error = NCCL_IN_PROGRESS;
	if (!c->error) {
		c->world = world_join(id, ranks);
		tell("ncclCommInitRank comm %p rank %d nranks %d cudaDev %d - Init START",
		     (void *)c, rank, ranks, c->card->index);
	}
	c->ring = getenv("NCCL_ALGO") && strcasecmp(getenv("NCCL_ALGO"), "ring") == 0;
	c->next = comms;
	comms = c;
	return c;
}

nccl_result ncclCommInitRankConfig(nccl_comm *comm, int ranks, nccl_id id, int rank,
                                   nccl_config *config)
{
	int result = machine_enter("ncclCommInitRankConfig", NULL);

	if (!result && (!current_card() || ranks < 1 || ranks > WORLD_RANKS || rank < 0 ||
	                rank >= ranks || (config && config->magic != NCCL_CONFIG_MAGIC)))
		result = comm_fail(NCCL_INVALID_ARGUMENT, "rank, ranks or config out of range");
	if (!result && (!config || config->blocking))
		result = comm_fail(NCCL_INVALID_USAGE, "the double has no blocking communicators");
	if (!result) {
		host_now += 50e6; /* what a bootstrap costs at the least */
		*comm = (nccl_comm)comm_new(ranks, &id, rank);
		result = NCCL_IN_PROGRESS;
	}
	return machine_leave(result);
}

nccl_result ncclCommGetAsyncError(nccl_comm comm, nccl_result *error)
{
	struct comm *c;
	int result = comm_enter("ncclCommGetAsyncError", comm, &c);

	if (result)
		return machine_leave(result);
	if (!c->ready && c->world &&
	    __atomic_load_n(&c->world->joined, __ATOMIC_ACQUIRE) == (uint32_t)c->ranks)
		c->ready = true;
	*error = !c->ready ? NCCL_IN_PROGRESS : c->error;
	if (*error == NCCL_IN_PROGRESS) {
		host_polled();
		machine_yield();
	}
	return machine_leave(NCCL_OK);
}

static void end_comm(struct comm *c)
{
	c->gone = true;
	engine_pump();
	if (c->world)
		world_leave(c->world, &c->id, c->ranks);
	c->world = NULL;
}

nccl_result ncclCommFinalize(nccl_comm comm)
{
	struct comm *c;

	return machine_leave(comm_enter("ncclCommFinalize", comm, &c));
}

nccl_result ncclCommDestroy(nccl_comm comm)
{
	struct comm *c;
	int result = comm_enter("ncclCommDestroy", comm, &c);

	if (!result) {
		card_wait(c->card);
		end_comm(c);
	}
	return machine_leave(result);
}

/* What waits in streams sees `gone` and goes on without data. */
nccl_result ncclCommAbort(nccl_comm comm)
{
	struct comm *c;
	int result = comm_enter("ncclCommAbort", comm, &c);

	if (!result) {
		end_comm(c);
	}
	return machine_leave(result);
}

const char *ncclGetErrorString(nccl_result result)
{
	static const char *const texts[] = {
		"no error",       "unhandled cuda error",      "unhandled system error",
		"internal error", "invalid argument",          "invalid usage",
		"remote error",   "NCCL operation in progress"};

	return result >= 0 && result <= NCCL_IN_PROGRESS ? texts[result] : "unknown result code";
}

const char *ncclGetLastError(nccl_comm comm)
{
	(void)comm;
	return last_error;
}

/* --- collectives ---------------------------------------------------------------------------- */

struct collective {
	struct comm *comm;
	enum kind kind;
	device_ptr from, to;
	size_t count, from_bytes, to_bytes;
	int type, operation, root;
	uint64_t number;
	bool here;
};

double bus_rate(const struct comm *c)
{
	const struct fault *slow = fault_of(FAULT_NCCL_SLOW, -1);

	/* "chosen": not where the caller wants the ring. */
	if (slow && slow->word[0] && c->ring)
		slow = NULL;
	return c->card->rate[RATE_COLLECTIVE] * (slow ? slow->factor : 1);
}

double hop_share(int from, int to)
{
	struct card *a = &node.cards[from];
	double rated = a->is.links * a->rate[RATE_NVLINK];

	if (from == to || rated <= 0)
		return 1;
	return fmin(1, pair_rate(a, &node.cards[to], false) / rated);
}

uint64_t this_node(void)
{
	const char *uuid = node.cards[0].is.uuid;

	return content_digest(uuid, strlen(uuid));
}

/* Bytes per ns that the card's share of its adapter has; 0: there is none to hold it up. */
static double nic_rate(int card)
{
	int nic = node.nics ? card * node.nics / node.n_cards : 0;
	double rate = node.nics * node.nic_gbps / 8 / node.n_cards;

	for (struct fault *f = NULL; (f = fault_next(f, FAULT_SLOW_NIC, -1));)
		if (f->rank < 0 || f->rank == nic)
			rate *= f->factor;
	return rate;
}

static struct arrival *arrival_of(const struct collective *x, int rank)
{
	return &x->comm->world->arrivals[rank][x->number % 2];
}

static void arrive(struct collective *x, double start)
{
	struct comm *c = x->comm;
	struct arrival *a = arrival_of(x, c->rank);
	void *slot = world_slot(c->world, c->rank, (int)(x->number % 2));
	const void *from = memory_at(x->from, x->from_bytes);
	uint64_t tag = from ? content_tag(x->from, x->from_bytes) : 0;

	if (from && a->tag != tag)
		memcpy(slot, from, x->from_bytes);
	a->start = start;
	a->rate = bus_rate(c);
	a->nic = nic_rate(c->card->index);
	a->node = this_node();
	a->card = (uint64_t)c->card->index;
	a->tag = tag;
	a->bytes = x->from_bytes;
	a->shape = hash64(hash64(x->kind, x->count), hash64((uint64_t)x->type, (uint64_t)x->root));
	shared_set(&a->number, x->number);
	x->here = true;
}

static bool collective_ready(struct op *op, double *start)
{
	struct collective *x = op->data;
	struct comm *c = x->comm;
	bool others = false;

	if (c->gone)
		return true;
	if (!c->world || c->ran + 1 != x->number)
		return false;
	if (!x->here)
		arrive(x, *start);
	for (int r = 0; r < c->ranks; r++) {
		const struct arrival *a = arrival_of(x, r);

		if (shared_get(&a->number) != x->number)
			return false;
		*start = fmax(*start, a->start);
		others |= a->node != this_node();
	}
	/* The clocks of nodes agree: it is then here too. Otherwise each would catch up
	 * while the other, waiting for it, went on. */
	if (others)
		host_now = fmax(host_now, *start);
	return true;
}

static uint64_t outcome_tag(const struct collective *x)
{
	uint64_t tag = hash64(arrival_of(x, 0)->shape, (uint64_t)x->operation);

	if (x->kind == REDUCE_SCATTER)
		tag = hash64(tag, (uint64_t)x->comm->rank);
	if (x->kind == BROADCAST)
		return arrival_of(x, x->root)->tag;
	for (int r = 0; r < x->comm->ranks; r++)
		tag = hash64(tag, arrival_of(x, r)->tag);
	return tag;
}

static void compute(const struct collective *x, void *to)
{
	struct comm *c = x->comm;
	size_t part = x->kind == ALL_GATHER ? x->from_bytes : x->to_bytes;
	const void *in[WORLD_RANKS];

	for (int r = 0; r < c->ranks; r++) {
		in[r] = world_slot(c->world, r, (int)(x->number % 2));
		if (x->kind == REDUCE_SCATTER)
			in[r] = (const char *)in[r] + part * (size_t)c->rank;
		if (x->kind == ALL_GATHER)
			memcpy((char *)to + part * (size_t)r, in[r], part);
	}
	if (x->kind == BROADCAST)
		memcpy(to, in[x->root], part);
	if (x->kind == ALL_REDUCE || x->kind == REDUCE_SCATTER)
		nccl_reduce(to, in, c->ranks, part / nccl_type_bytes(x->type), x->type,
		            x->operation);
}

static bool spoiled(const struct collective *x)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_NCCL_WRONG, -1));)
		if ((f->rank < 0 || f->rank == x->comm->rank) &&
		    (!*f->word || strcmp(f->word, kind_names[x->kind]) == 0) && fault_strikes(f))
			return true;
	return false;
}

static bool agreed(const struct collective *x)
{
	for (int r = 1; r < x->comm->ranks; r++)
		if (arrival_of(x, r)->shape != arrival_of(x, 0)->shape)
			return false;
	return true;
}

/* What goes in and out of the node of a rank: a ring for each of its adapters, all of
 * them as slow as the slowest. */
static double wire_rate(const struct collective *x, int rank)
{
	uint64_t which = arrival_of(x, rank)->node;
	double least = INFINITY;
	int cards = 0;

	for (int r = 0; r < x->comm->ranks; r++) {
		const struct arrival *a = arrival_of(x, r);

		if (a->node != which)
			continue;
		cards++;
		least = fmin(least, a->nic > 0 ? a->nic : INFINITY);
	}
	return cards * least;
}

static double collective_ns(const struct collective *x)
{
	double n = x->comm->ranks, rate = INFINITY, bytes = (double)x->to_bytes, share;

	/* A ring is as slow as its slowest hop. */
	for (int r = 0; r < x->comm->ranks; r++) {
		const struct arrival *a = arrival_of(x, r);
		const struct arrival *b = arrival_of(x, (r + 1) % x->comm->ranks);
		bool near = a->node == b->node && a->node == this_node();

		rate = fmin(rate, a->rate * (near ? hop_share((int)a->card, (int)b->card) : 1));
		if (a->node != b->node)
			rate = fmin(rate,
			            fmin(wire_rate(x, r), wire_rate(x, (r + 1) % x->comm->ranks)));
	}
	if (x->kind == REDUCE_SCATTER)
		bytes = (double)x->from_bytes;
	share = x->kind == BROADCAST ? 1 : (x->kind == ALL_REDUCE ? 2 : 1) * (n - 1) / n;
	return fmax(node.collective_ns, bytes * share / rate);
}

static double collective_run(struct op *op, double start)
{
	struct collective *x = op->data;
	struct comm *c = x->comm;
	void *to;
	uint64_t tag;

	if (c->gone)
		return start;
	c->ran = x->number;
	to = memory_at(x->to, x->to_bytes);
	if (!to || !agreed(x)) {
		c->error = comm_fail(NCCL_INVALID_USAGE, "ranks do not do the same");
		return start;
	}
	tag = outcome_tag(x);
	if (!content_is(x->to, x->to_bytes, tag)) {
		compute(x, to);
		memory_wrote(x->to, x->to_bytes);
		content_set(x->to, x->to_bytes, tag);
	}
	if (spoiled(x)) {
		nccl_spoil(to, x->type);
		memory_wrote(x->to, x->to_bytes);
	}
	return card_end(c->card, RATE_COLLECTIVE, start, collective_ns(x));
}

int comm_check(struct comm *c, const void *from, const void *to, size_t from_bytes, size_t to_bytes,
               cu_stream stream, struct stream **s)
{
	*s = stream_of(stream);
	if (!c->ready)
		return comm_fail(NCCL_INVALID_USAGE, "the communicator is not ready");
	if (!*s || (*s)->card != c->card)
		return comm_fail(NCCL_INVALID_ARGUMENT, "the stream is another card's");
	if (from_bytes > WORLD_BYTES || to_bytes > WORLD_BYTES * (size_t)c->ranks ||
	    (from_bytes && !memory_at((device_ptr)(uintptr_t)from, from_bytes)) ||
	    (to_bytes && !memory_at((device_ptr)(uintptr_t)to, to_bytes)))
		return comm_fail(NCCL_INVALID_ARGUMENT, "no such buffer");
	return c->error;
}

static int collective(enum kind kind, const void *from, void *to, size_t count, int type,
                      int operation, int root, nccl_comm comm, cu_stream stream)
{
	static const char *const calls[] = {"ncclAllReduce", "ncclAllGather", "ncclReduceScatter",
	                                    "ncclBroadcast"};
	struct comm *c;
	struct stream *s;
	int result = comm_enter(calls[kind], comm, &c);
	size_t bytes = count * nccl_type_bytes(type), n = result ? 1 : (size_t)c->ranks;
	size_t from_bytes = bytes * (kind == REDUCE_SCATTER ? n : 1);
	size_t to_bytes = bytes * (kind == ALL_GATHER ? n : 1);
	struct op *op;

	if (!result && (bytes == 0 || root < 0 || root >= c->ranks))
		result = bytes || !nccl_type_bytes(type)
		                 ? comm_fail(NCCL_INVALID_ARGUMENT, "no such type or root")
		                 : NCCL_OK;
	else if (!result)
		result = comm_check(c, from, to, from_bytes, to_bytes, stream, &s);
	if (!result && bytes) {
		tell_choice(c, kind, kind == REDUCE_SCATTER ? from_bytes : to_bytes);
		op = op_new(s, collective_run, sizeof(struct collective));
		*(struct collective *)op->data = (struct collective){c,
		                                                     kind,
		                                                     (device_ptr)(uintptr_t)from,
		                                                     (device_ptr)(uintptr_t)to,
		                                                     count,
		                                                     from_bytes,
		                                                     to_bytes,
		                                                     type,
		                                                     operation,
		                                                     root,
		                                                     ++c->submitted,
		                                                     false};
		op->ready = collective_ready;
		op_submit(op);
	}
	return machine_leave(result);
}

nccl_result ncclAllReduce(const void *from, void *to, size_t count, nccl_type type,
                          nccl_operation operation, nccl_comm comm, cu_stream stream)
{
	return collective(ALL_REDUCE, from, to, count, type, operation, 0, comm, stream);
}

nccl_result ncclAllGather(const void *from, void *to, size_t count, nccl_type type, nccl_comm comm,
                          cu_stream stream)
{
	return collective(ALL_GATHER, from, to, count, type, 0, 0, comm, stream);
}

nccl_result ncclReduceScatter(const void *from, void *to, size_t count, nccl_type type,
                              nccl_operation operation, nccl_comm comm, cu_stream stream)
{
	return collective(REDUCE_SCATTER, from, to, count, type, operation, 0, comm, stream);
}

nccl_result ncclBroadcast(const void *from, void *to, size_t count, nccl_type type, int root,
                          nccl_comm comm, cu_stream stream)
{
	return collective(BROADCAST, from, to, count, type, 0, root, comm, stream);
}
