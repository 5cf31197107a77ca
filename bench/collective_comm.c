/* Communicators of all cards of a node and what their ranks need. Everything that
 * waits has a deadline, and names who it waits for: a node where one card does not
 * take part must not keep the run. */
#include "collective.h"

#include <stdlib.h>
#include <string.h>

#include "base/unit.h"

/* Pauses between two looks at what is not done, growing. */
#define FIRST_LOOK_NS 20000
#define MOST_LOOK_NS  5000000

/* What NCCL and the driver take for themselves beside our buffers. */
#define RESERVE_BYTES ((uint64_t)2 << 30)

const char *collective_name(const struct collective *c, int rank)
{
	const struct cuda_card *card = &c->team.cards[rank].unit.card;

	return tmpf("%s (%s)", card->uuid, card->pci);
}

/* --- memory ---------------------------------------- */

static enum status kernels_of(struct collective *c, int r, struct error *err)
{
	struct device_cuda *dev = c->team.cards[r].dev;
	struct collective_rank *rank = &c->rank[r];
	enum status st = device_cuda_kernel(dev, "assay_pattern_write", &rank->write, err);

	if (st == ST_OK)
		st = device_cuda_kernel(dev, "assay_pattern_check", &rank->check, err);
	return st == ST_OK ? device_cuda_kernel(dev, "assay_spin", &rank->spin, err) : st;
}

/* The largest power of two, not above what was asked, of which the card has room
 * for two. */
static enum status room_of(struct collective *c, int r, uint64_t *bytes, struct error *err)
{
	double reserve = (double)RESERVE_BYTES / c->team.memory_scale;
	uint64_t least = (uint64_t)c->ranks * sizeof(uint64_t);
	size_t memory_free = 0, total = 0;
	enum status st = team_use(&c->team, r, err);

	if (st == ST_OK)
		st = CUDA_TRY(&c->team.cuda, err, memory_info, &memory_free, &total);
	while (st == ST_OK && *bytes >= least &&
	       2.0 * (double)*bytes + reserve > (double)memory_free)
		*bytes /= 2;
	if (st == ST_OK && *bytes < least)
		st = error_set(err, ST_NOMEM, MSG_collective_memory, collective_name(c, r),
		               fmt_bytes((int64_t)memory_free), fmt_bytes((int64_t)(reserve)));
	return st;
}

static enum status pinned_alloc(struct collective *c, struct error *err)
{
	size_t n = (size_t)c->n, checks = n * sizeof(struct kernel_check);
	size_t head = 64, bytes = head + checks + n * checks + sizeof(uint64_t);
	enum status st = team_use(&c->team, 0, err);
	char *at;

	if (st == ST_OK)
		st = CUDA_TRY(&c->team.cuda, err, host_alloc, &c->pinned, bytes,
		              CU_HOST_PORTABLE | CU_HOST_MAPPED);
	if (st != ST_OK)
		return st;
	at = c->pinned;
	memset(at, 0, bytes);
	c->shared.go = (uint32_t *)at;
	c->shared.expired = c->shared.go + 1;
	c->shared.blank = (struct kernel_check *)(at + head);
	c->shared.found = c->shared.blank + n;
	c->shared.got = (uint64_t *)(c->shared.found + n * n);
	for (size_t i = 0; i < n; i++)
		c->shared.blank[i].first = UINT64_MAX;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		st = team_use(&c->team, r, err);
		if (st == ST_OK)
			st = CUDA_TRY(&c->team.cuda, err, host_device_ptr, &c->rank[r].flags,
			              c->pinned, 0);
	}
	return st;
}

static enum status rank_alloc(struct collective *c, int r, struct error *err)
{
	struct collective_rank *rank = &c->rank[r];
	struct cuda *cuda = &c->team.cuda;
	enum status st = team_use(&c->team, r, err);

	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &rank->send, c->buffer_bytes);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, alloc, &rank->recv, c->buffer_bytes);
	return st == ST_OK ? CUDA_TRY(cuda, err, alloc, &rank->checks,
	                              (size_t)c->n * sizeof(struct kernel_check))
	                   : st;
}

enum status collective_alloc(struct collective *c, uint64_t bytes, struct error *err)
{
	enum status st = ST_OK;

	for (int r = 0; r < c->n && st == ST_OK; r++)
		st = room_of(c, r, &bytes, err);
	c->buffer_bytes = bytes;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		st = kernels_of(c, r, err);
		if (st == ST_OK)
			st = rank_alloc(c, r, err);
	}
	return st == ST_OK ? pinned_alloc(c, err) : st;
}

void collective_free(struct collective *c)
{
	const struct cuda_calls *call = &c->team.cuda.call;

	for (int r = 0; r < c->n; r++) {
		struct collective_rank *rank = &c->rank[r];
		cu_ptr all[] = {rank->send, rank->recv, rank->checks};

		if (team_use(&c->team, r, NULL) != ST_OK)
			continue;
		for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
			if (all[i])
				call->free(all[i]);
	}
	if (c->pinned)
		call->host_free(c->pinned);
	c->pinned = NULL;
}

/* --- waiting ---------------------------------------- */

/* A wait that has a limit of its own and ends with the probe's time as well. */
struct patience {
	int64_t until_ns, pause_ns;
	bool cut; /* the probe's time ends first: nobody is to blame */
};

static const struct clock_source *wait_clock(const struct collective *c)
{
	return c->wait_clock ? c->wait_clock : c->ctx->clock;
}

static struct patience patience_new(const struct collective *c)
{
	int64_t until = c->wait_clock ? c->wait_until_ns : c->ctx->deadline_ns;
	int64_t left = until - clock_now(wait_clock(c));
	bool cut = left < c->timeout_ns;

	return (struct patience){clock_now(wait_clock(c)) + (cut ? left : c->timeout_ns),
	                         FIRST_LOOK_NS, cut};
}

/* A moment's pause; false when there is no more time. */
static bool look_again(struct collective *c, struct patience *p)
{
	if (clock_now(wait_clock(c)) >= p->until_ns)
		return false;
	clock_sleep(c->ctx->clock, p->pause_ns);
	/* Stand-ins do not sleep: others want to get on. */
	if (c->wait_clock && c->wait_clock != c->ctx->clock)
		clock_sleep(c->wait_clock, FIRST_LOOK_NS);
	p->pause_ns = p->pause_ns * 3 / 2 > MOST_LOOK_NS ? MOST_LOOK_NS : p->pause_ns * 3 / 2;
	return true;
}

/* Names the ranks that are late. */
static enum status give_up(struct collective *c, const struct patience *p, const char *what,
                           struct error *err)
{
	struct str names = {0};

	/* Of the ranks, not of the card that was looked at last. */
	c->team.at = -1;
	c->cut = p->cut;
	if (p->cut)
		return error_set(err, ST_TIMEOUT, MSG_collective_no_time);
	for (int r = 0; r < c->n; r++)
		if (c->rank[r].late)
			str_addf(&names, "%s%s", names.len ? ", " : "", collective_name(c, r));
	c->what = arena_str(c->ctx->arena, what);
	c->absent = arena_str(c->ctx->arena, str_text(&names));
	str_release(&names);
	return error_set(err, ST_TIMEOUT, MSG_collective_absent, what,
	                 fmt_duration((double)c->timeout_ns / 1e9), c->absent);
}

/* Marks ranks that are in progress. */
static enum status look_at_comms(struct collective *c, const char *call, bool *any,
                                 struct error *err)
{
	enum status st = ST_OK;

	*any = false;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		nccl_result state = NCCL_OK, code;

		code = c->nccl.call.async_error(c->rank[r].comm, &state);
		c->rank[r].busy = code == NCCL_OK && state == NCCL_IN_PROGRESS;
		*any |= c->rank[r].busy;
		st = nccl_check(&c->nccl, c->rank[r].comm, code != NCCL_OK ? code : state, call,
		                err);
	}
	return st;
}

/* All are in progress while one has not come: NCCL's log may tell which. */
static void find_late(struct collective *c)
{
	bool any = false, all = true;

	for (int r = 0; r < c->n; r++) {
		c->rank[r].late = !collective_log_came(c->log, c->rank[r].number, &any);
		all &= !c->rank[r].late;
	}
	for (int r = 0; r < c->n; r++)
		c->rank[r].late = any && !all ? c->rank[r].late : c->rank[r].busy;
}

enum status collective_settle(struct collective *c, const char *call, struct error *err)
{
	struct patience patience = patience_new(c);
	enum status st;
	bool any;

	c->team.at = -1;
	do {
		st = look_at_comms(c, call, &any, err);
		if (st != ST_OK || !any)
			return st;
	} while (look_again(c, &patience));
	find_late(c);
	return give_up(c, &patience, call, err);
}

static enum status look_at_streams(struct collective *c, bool *any, struct error *err)
{
	struct cuda *cuda = &c->team.cuda;
	enum status st = ST_OK;

	*any = false;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		cu_result code;

		st = team_use(&c->team, r, err);
		if (st != ST_OK)
			break;
		code = cuda->call.stream_query(c->team.cards[r].dev->stream);
		c->rank[r].late = code == CU_NOT_READY;
		*any |= c->rank[r].late;
		if (!c->rank[r].late)
			st = cuda_check(cuda, code, "stream_query", err);
	}
	return st;
}

enum status collective_wait(struct collective *c, const char *what, struct error *err)
{
	struct patience patience = patience_new(c);
	enum status st;
	bool any, busy;

	do {
		st = look_at_streams(c, &any, err);
		if (st != ST_OK || !any)
			return st;
		/* A rank that was lost leaves the others waiting for good. */
		st = look_at_comms(c, what, &busy, err);
		if (st != ST_OK)
			return st;
	} while (look_again(c, &patience));
	return give_up(c, &patience, what, err);
}

/* --- communicators ---------------------------------------- */

static enum status join_all(struct collective *c, const nccl_id *ids, struct error *err)
{
	struct nccl *nccl = &c->nccl;
	enum status st, ended;

	st = nccl_check(nccl, NULL, nccl->call.group_start(), "ncclGroupStart", err);
	if (st != ST_OK)
		return st;
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		nccl_config config = nccl_config_make();

		st = team_use(&c->team, r, err);
		if (st == ST_OK)
			st = nccl_check(nccl, NULL,
			                nccl->call.init_rank(&c->rank[r].comm, c->ranks, ids[r],
			                                     c->rank[r].number, &config),
			                "ncclCommInitRankConfig", err);
	}
	ended = nccl_check(nccl, NULL, nccl->call.group_end(), "ncclGroupEnd", err);
	return st == ST_OK ? ended : st;
}

enum status collective_join(struct collective *c, const char *algorithm, const nccl_id *ids,
                            struct error *err)
{
	const char *found = arena_str(c->ctx->arena, getenv("NCCL_ALGO"));
	enum status st;

	collective_log_mark(c->log);
	/* Read when a communicator opens. */
	if (algorithm)
		setenv("NCCL_ALGO", algorithm, 1);
	st = join_all(c, ids, err);
	if (st == ST_OK)
		st = collective_settle(c, "ncclCommInitRankConfig", err);
	if (found)
		setenv("NCCL_ALGO", found, 1);
	else
		unsetenv("NCCL_ALGO");
	return st;
}

enum status collective_open(struct collective *c, const char *algorithm, struct error *err)
{
	nccl_id *ids = arena_array(c->ctx->arena, (size_t)c->n, sizeof(*ids));
	enum status st;

	st = nccl_check(&c->nccl, NULL, c->nccl.call.unique_id(&ids[0]), "ncclGetUniqueId", err);
	for (int r = 1; r < c->n; r++)
		ids[r] = ids[0];
	return st == ST_OK ? collective_join(c, algorithm, ids, err) : st;
}

enum status collective_close(struct collective *c, struct error *err)
{
	struct nccl *nccl = &c->nccl;
	enum status st = ST_OK;

	for (int r = 0; r < c->n && st == ST_OK; r++)
		st = nccl_check(nccl, c->rank[r].comm, nccl->call.finalize(c->rank[r].comm),
		                "ncclCommFinalize", err);
	if (st == ST_OK)
		st = collective_settle(c, "ncclCommFinalize", err);
	for (int r = 0; r < c->n && st == ST_OK; r++) {
		st = nccl_check(nccl, NULL, nccl->call.destroy(c->rank[r].comm), "ncclCommDestroy",
		                err);
		c->rank[r].comm = NULL;
	}
	return st;
}

void collective_abort(struct collective *c)
{
	for (int r = 0; r < c->n; r++) {
		struct error ignored = {0};

		/* In a step too: an abort that hangs has a limit as well. */
		if (c->rank[r].comm)
			nccl_check(&c->nccl, NULL, c->nccl.call.abort(c->rank[r].comm),
			           "ncclCommAbort", &ignored);
		c->rank[r].comm = NULL;
		error_release(&ignored);
	}
}
