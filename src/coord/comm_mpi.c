/* Messages over MPI. The one file that includes mpi.h, built once per MPI
 * family as a module that needs nothing of assay but two headers, so that a
 * site can build it with its own mpicc (scripts/cluster/build-comm).
 *
 * To each peer goes one stream of bytes, cut into chunks: small messages share
 * a chunk, large ones take many. What arrives is taken by matched probes, so
 * that the sender is known before a buffer is tied to it; a receive posted for
 * anybody could be caught half-way by a peer that dies and would hold up all
 * others. After MPI_Init nothing here waits for anybody, and there is no
 * collective, until the orderly MPI_Finalize. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "assay/comm.h"

#define TAG         7
#define TAG_NEVER   8
#define CHUNK       ((size_t)32 << 10) /* below the eager limit of Open MPI's tcp (64 KiB) */
#define FLIGHTS     16                 /* chunks under way to one peer */
#define POLL_CHUNKS 256                /* taken in one poll, then others have their turn */
#define LINGER      25                 /* rounds of 2 ms */
#define HEAD        8                  /* bytes before each message: length, its complement */

/* Bytes for one peer, not under way yet or under way. */
struct block {
	struct block *next;
	size_t len, cap;
	unsigned char *data;
};

/* A chunk on its way in. Those of one sender are taken in their order. */
struct arrival {
	struct arrival *next;
	MPI_Request request;
	size_t len;
	unsigned char data[];
};

struct peer {
	bool gone, broken;
	bool sending, arriving; /* is on the list of the world */
	int flying;
	size_t queued;
	struct block *first, *last;
	struct arrival *next, *newest;
	unsigned char head[HEAD]; /* of the message that comes in */
	size_t head_len;
	unsigned char *body; /* of a message that spans chunks */
	size_t body_len, body_have;
};

struct flight {
	int to;
	struct block *block;
};

struct ranks {
	int *list;
	int n;
};

struct world {
	struct comm comm;
	const struct comm_host *host;
	char library[MPI_MAX_LIBRARY_VERSION_STRING];
	bool ucx;
	struct peer *peers;
	struct ranks sending, arriving;
	/* Parallel arrays: MPI_Testsome wants the requests in a row. */
	MPI_Request *requests;
	struct flight *flights;
	int *indices;
	MPI_Status *states;
	int n_flights, cap_flights;
};

static void *need(const struct world *w, void *memory)
{
	if (!memory)
		w->host->nomem();
	return memory;
}

/* "MPI_Improbe: what MPI says", without its stack of errors. */
static enum status mpi_failed(const struct world *w, int code, const char *call, struct error *err)
{
	char words[32 + MPI_MAX_ERROR_STRING];
	int len = snprintf(words, 32, "%s: ", call);

	MPI_Error_string(code, words + len, &len);
	words[strcspn(words, "\n")] = '\0';
	return w->host->trouble(err, ST_IO, words);
}

/* --- out --------------------------------------------------------------------- */

static void block_free(struct block *b)
{
	free(b->data);
	free(b);
}

static void drop_queue(struct peer *p)
{
	while (p->first) {
		struct block *b = p->first;

		p->first = b->next;
		block_free(b);
	}
	p->last = NULL;
	p->queued = 0;
}

/* The last block if it has room, else a new one: at least one byte fits. */
static struct block *block_for(struct world *w, struct peer *p, size_t len)
{
	struct block *b = p->last;
	size_t cap = b ? b->cap : 0;

	if (!b || b->len == CHUNK) {
		b = need(w, calloc(1, sizeof(*b)));
		*(p->last ? &p->last->next : &p->first) = b;
		p->last = b;
		cap = 512;
	}
	while (cap < CHUNK && cap - b->len < len)
		cap *= 2;
	if (cap > b->cap) {
		b->data = need(w, realloc(b->data, cap));
		b->cap = cap;
	}
	return b;
}

static void put(struct world *w, struct peer *p, const void *what, size_t len)
{
	const unsigned char *bytes = what;

	p->queued += len;
	while (len > 0) {
		struct block *b = block_for(w, p, len);
		size_t part = b->cap - b->len < len ? b->cap - b->len : len;

		memcpy(b->data + b->len, bytes, part);
		b->len += part;
		bytes += part;
		len -= part;
	}
}

static bool head_read(const unsigned char *bytes, size_t *len)
{
	uint32_t head[2];

	memcpy(head, bytes, sizeof(head));
	*len = head[0];
	return head[0] == ~head[1] && head[0] <= COMM_MESSAGE_MAX;
}

static enum status mpi_send(struct comm *c, int to, const void *bytes, size_t len,
                            struct error *err)
{
	struct world *w = (struct world *)c;
	struct peer *p = &w->peers[to];
	const uint32_t head[2] = {(uint32_t)len, ~(uint32_t)len};

	if (len > COMM_MESSAGE_MAX)
		return w->host->trouble(err, ST_RANGE, NULL);
	if (p->gone || p->broken)
		return ST_OK;
	if (p->queued + HEAD + len > COMM_QUEUE_MAX)
		return w->host->trouble(err, ST_NOSPACE, NULL);
	put(w, p, head, HEAD);
	put(w, p, bytes, len);
	if (!p->sending) {
		p->sending = true;
		w->sending.list[w->sending.n++] = to;
	}
	return ST_OK;
}

static void flights_grow(struct world *w)
{
	size_t n = (size_t)(w->cap_flights ? 2 * w->cap_flights : 64);

	w->requests = need(w, realloc(w->requests, n * sizeof(*w->requests)));
	w->flights = need(w, realloc(w->flights, n * sizeof(*w->flights)));
	w->indices = need(w, realloc(w->indices, n * sizeof(*w->indices)));
	w->states = need(w, realloc(w->states, n * sizeof(*w->states)));
	w->cap_flights = (int)n;
}

/* The stream of a peer has a hole now, or makes no sense. */
static void break_peer(struct peer *p)
{
	p->broken = true;
	drop_queue(p);
}

static void take_off(struct world *w, int to)
{
	struct peer *p = &w->peers[to];
	struct block *b = p->first;
	int code;

	if (w->n_flights == w->cap_flights)
		flights_grow(w);
	p->first = b->next;
	if (!p->first)
		p->last = NULL;
	/* Synchronous: what a peer does not take stays in our count of its queue. */
	code = MPI_Issend(b->data, (int)b->len, MPI_BYTE, to, TAG, MPI_COMM_WORLD,
	                  &w->requests[w->n_flights]);
	if (code != MPI_SUCCESS) {
		/* Whether MPI still looks at it is not known: it is left to MPI. */
		break_peer(p);
		return;
	}
	w->flights[w->n_flights++] = (struct flight){.to = to, .block = b};
	p->flying++;
}

static bool push(struct world *w)
{
	bool moved = false;
	int kept = 0;

	for (int i = 0; i < w->sending.n; i++) {
		int to = w->sending.list[i];
		struct peer *p = &w->peers[to];

		for (; p->first && p->flying < FLIGHTS; moved = true)
			take_off(w, to);
		p->sending = p->first != NULL;
		if (p->sending)
			w->sending.list[kept++] = to;
	}
	w->sending.n = kept;
	return moved;
}

static void landed(struct world *w, int i, int code)
{
	struct flight *f = &w->flights[i];
	struct peer *p = &w->peers[f->to];

	p->flying--;
	if (code != MPI_SUCCESS) {
		break_peer(p);
	} else {
		p->queued -= f->block->len < p->queued ? f->block->len : p->queued;
		block_free(f->block);
	}
	f->block = NULL;
}

static bool land(struct world *w, struct error *err, enum status *st)
{
	int n = 0, code, kept = 0;

	if (w->n_flights == 0)
		return false;
	code = MPI_Testsome(w->n_flights, w->requests, &n, w->indices, w->states);
	if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) {
		*st = mpi_failed(w, code, "MPI_Testsome", err);
		return false;
	}
	if (n <= 0) /* MPI_UNDEFINED is negative or none is over */
		return false;
	for (int k = 0; k < n; k++)
		landed(w, w->indices[k],
		       code == MPI_SUCCESS ? MPI_SUCCESS : w->states[k].MPI_ERROR);
	for (int i = 0; i < w->n_flights; i++)
		if (w->flights[i].block) {
			w->requests[kept] = w->requests[i];
			w->flights[kept++] = w->flights[i];
		}
	w->n_flights = kept;
	return true;
}

/* --- in ---------------------------------------------------------------------- */

struct taker {
	void (*take)(void *arg, int from, const void *bytes, size_t len);
	void *arg;
};

/* Bytes of the body go to the caller as they lie when all of it is there. */
static size_t feed_body(struct world *w, int from, const unsigned char *bytes, size_t len,
                        const struct taker *to)
{
	struct peer *p = &w->peers[from];
	size_t part = p->body_len - p->body_have;

	if (!p->body && part <= len) {
		p->head_len = 0;
		to->take(to->arg, from, bytes, part);
		return part;
	}
	if (!p->body)
		p->body = need(w, malloc(p->body_len));
	if (part > len)
		part = len;
	memcpy(p->body + p->body_have, bytes, part);
	p->body_have += part;
	if (p->body_have == p->body_len) {
		unsigned char *body = p->body;

		p->head_len = 0;
		p->body = NULL;
		to->take(to->arg, from, body, p->body_len);
		free(body);
	}
	return part;
}

static void feed(struct world *w, int from, const unsigned char *bytes, size_t len,
                 const struct taker *to)
{
	struct peer *p = &w->peers[from];

	while (!p->gone && !p->broken && (len > 0 || (p->head_len == HEAD && p->body_len == 0))) {
		size_t part = HEAD - p->head_len;

		if (part == 0) {
			part = feed_body(w, from, bytes, len, to);
		} else {
			part = part < len ? part : len;
			memcpy(p->head + p->head_len, bytes, part);
			p->head_len += part;
			p->body_have = 0;
			if (p->head_len == HEAD && !head_read(p->head, &p->body_len))
				break_peer(p);
		}
		bytes += part;
		len -= part;
	}
}

/* Those of one sender whose turn it is. */
static bool unload(struct world *w, int from, const struct taker *to)
{
	struct peer *p = &w->peers[from];
	bool moved = false;

	while (p->next) {
		struct arrival *a = p->next;
		int done = 0;
		bool fault = MPI_Test(&a->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;

		if (!done && !fault)
			break;
		p->next = a->next;
		moved = true;
		if (fault) { /* whether MPI still writes there is not known: it is left to MPI */
			break_peer(p);
			continue;
		}
		feed(w, from, a->data, a->len, to);
		free(a);
	}
	return moved;
}

/* Receives what a probe has matched: it is this sender's from now on. */
static void receive(struct world *w, MPI_Message *message, const MPI_Status *state)
{
	struct peer *p = &w->peers[state->MPI_SOURCE];
	struct arrival *a;
	int len = 0;

	MPI_Get_count(state, MPI_BYTE, &len);
	a = need(w, malloc(sizeof(*a) + (len > 0 ? (size_t)len : 0)));
	*a = (struct arrival){.len = len > 0 ? (size_t)len : 0};
	if (MPI_Imrecv(a->data, (int)a->len, MPI_BYTE, message, &a->request) != MPI_SUCCESS) {
		break_peer(p);
		return;
	}
	if (!p->next)
		p->newest = NULL;
	*(p->newest ? &p->newest->next : &p->next) = a;
	p->newest = a;
	if (!p->arriving) {
		p->arriving = true;
		w->arriving.list[w->arriving.n++] = state->MPI_SOURCE;
	}
}

static bool pull(struct world *w, const struct taker *to, struct error *err, enum status *st)
{
	bool moved = false;
	int kept = 0;

	for (int n = 0; n < POLL_CHUNKS; n++) {
		MPI_Message message;
		MPI_Status state;
		int there = 0;
		int code =
			MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &message, &state);

		if (code != MPI_SUCCESS)
			*st = mpi_failed(w, code, "MPI_Improbe", err);
		if (code != MPI_SUCCESS || !there)
			break;
		receive(w, &message, &state);
		moved |= unload(w, state.MPI_SOURCE, to);
	}
	for (int i = 0; i < w->arriving.n; i++) {
		int from = w->arriving.list[i];
		struct peer *p = &w->peers[from];

		moved |= unload(w, from, to);
		p->arriving = p->next != NULL;
		if (p->arriving)
			w->arriving.list[kept++] = from;
	}
	w->arriving.n = kept;
	return moved;
}

/* --- the rest ----------------------------------------------------------------- */

static enum status mpi_poll(struct comm *c,
                            void (*take)(void *arg, int from, const void *bytes, size_t len),
                            void *arg, bool *moved, struct error *err)
{
	struct world *w = (struct world *)c;
	struct taker to = {.take = take, .arg = arg};
	enum status st = ST_OK;
	bool any;

	any = pull(w, &to, err, &st);
	any |= land(w, err, &st);
	any |= push(w);
	if (moved)
		*moved = any;
	return st;
}

static size_t mpi_queued(const struct comm *c, int to)
{
	return ((const struct world *)c)->peers[to].queued;
}

static bool mpi_broken(const struct comm *c, int rank)
{
	return ((const struct world *)c)->peers[rank].broken;
}

/* What is under way stays MPI's for good: it may be written to at any time. */
static void mpi_forget(struct comm *c, int rank)
{
	struct world *w = (struct world *)c;
	struct peer *p = &w->peers[rank];
	int kept = 0;

	if (p->gone)
		return;
	p->gone = true;
	drop_queue(p);
	for (int i = 0; i < w->n_flights; i++)
		if (w->flights[i].to != rank) {
			w->requests[kept] = w->requests[i];
			w->flights[kept++] = w->flights[i];
		}
	w->n_flights = kept;
	p->flying = 0;
	free(p->body);
	p->body = NULL;
}

static void world_free(struct world *w)
{
	for (int i = 0; i < w->comm.size; i++) {
		drop_queue(&w->peers[i]);
		free(w->peers[i].body);
	}
	free(w->peers);
	free(w->sending.list);
	free(w->arriving.list);
	free(w->requests);
	free(w->flights);
	free(w->indices);
	free(w->states);
	free(w);
}

struct deadline {
	struct timespec left;
	int code;
};

static void *deadline_main(void *arg)
{
	struct deadline *d = arg;

	while (nanosleep(&d->left, &d->left) != 0)
		;
	_exit(d->code);
}

/* MPI_Finalize waits for all ranks and knows no deadline. */
static bool finalize(double seconds, int code)
{
	struct deadline d = {.left.tv_sec = (time_t)seconds, .code = code};
	pthread_t thread;

	d.left.tv_nsec = (long)((seconds - (double)d.left.tv_sec) * 1e9);
	if (pthread_create(&thread, NULL, deadline_main, &d) != 0)
		return false; /* rather not in order than for ever */
	MPI_Finalize();
	pthread_cancel(thread);
	pthread_join(thread, NULL);
	return true;
}

/* What was handed over may still wait inside MPI for its socket, which it looks at in
 * any call. */
static void linger(void)
{
	const struct timespec pause = {.tv_nsec = 2000000};

	for (int i = 0; i < LINGER; i++) {
		int there;

		MPI_Iprobe(MPI_ANY_SOURCE, TAG_NEVER, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
		nanosleep(&pause, NULL);
	}
}

/* MPICH before 4.2 on UCX: the first ranks through with closing their
 * connections wait for the launcher and answer nobody, the others wait for
 * their answers (MPICH pull request 6596). Hydra takes it well when a rank, alone
 * on its host, leaves without goodbye; several on one host it would end all. */
static bool finalize_hangs(const struct world *w)
{
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40200000
	const char *here = getenv("MPI_LOCALNRANKS");

	return w->ucx && (!here || strcmp(here, "1") == 0);
#else
	(void)w;
	return false;
#endif
}

static bool mpi_close(struct comm *c, bool all_alive, double seconds, int code)
{
	struct world *w = (struct world *)c;

	if (!all_alive)
		return false;
	if (finalize_hangs(w)) {
		linger();
		return false;
	}
	if (!finalize(seconds, code))
		return false;
	world_free(w);
	return true;
}

static const struct comm_ops ops = {
	.send = mpi_send,
	.poll = mpi_poll,
	.queued = mpi_queued,
	.broken = mpi_broken,
	.forget = mpi_forget,
	.close = mpi_close,
};

/* --- the start ------------------------------------------------------------------ */

static enum status mpi_open(struct comm **out, const struct comm_host *host, struct error *err)
{
	struct world *w;
	int provided, len = 0;
	size_t size;

	*out = NULL;
	w = calloc(1, sizeof(*w));
	if (!w)
		host->nomem();
	w->host = host;
	/* The environment keeps it on plain TCP (coord/comm_env.c). */
	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
		free(w);
		return host->trouble(err, ST_IO, "MPI_Init_thread");
	}
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &w->comm.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &w->comm.size);
	MPI_Get_library_version(w->library, &len);
	w->ucx = strstr(w->library, "ch4:ucx") != NULL;
	/* "MPICH Version:\t4.0.2\nMPICH Release date:…" */
	w->library[strcspn(w->library, "\n")] = '\0';
	for (char *p = w->library; (p = strchr(p, '\t')) != NULL;)
		*p = ' ';
	size = (size_t)w->comm.size;
	w->peers = need(w, calloc(size, sizeof(*w->peers)));
	w->sending.list = need(w, calloc(size, sizeof(int)));
	w->arriving.list = need(w, calloc(size, sizeof(int)));
	w->comm.ops = &ops;
	w->comm.kind = "mpi";
	w->comm.library = w->library;
	*out = &w->comm;
	return ST_OK;
}

extern const struct comm_module assay_comm_module;

__attribute__((visibility("default"))) const struct comm_module assay_comm_module = {
	.abi = COMM_ABI,
#ifdef OPEN_MPI
	.family = "openmpi",
#else
	.family = "mpich",
#endif
	.open = mpi_open,
};
