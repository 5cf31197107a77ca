/* The virtual clock and the work it times. Work runs in the order of its
 * virtual start, whatever stream or card it is on, so that cards which disturb
 * each other and events between streams come out as they would. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/standin/standin.h"

double host_now = START_NS;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream *streams;

static void *must_alloc(size_t bytes)
{
	void *p = calloc(1, bytes);

	if (!p)
		node_bad("out of memory");
	return p;
}

/* --- streams and ops ------------------------------------------------------------- */

struct stream *stream_new(struct card *card)
{
	struct stream *s = must_alloc(sizeof(*s));

	s->card = card;
	s->next = streams;
	streams = s;
	return s;
}

bool stream_valid(const struct stream *s)
{
	for (const struct stream *t = streams; t; t = t->next)
		if (t == s)
			return true;
	return false;
}

struct op *op_new(struct stream *s, double (*run)(struct op *, double), size_t data_bytes)
{
	struct op *op = must_alloc(sizeof(*op));

	op->stream = s;
	op->run = run;
	op->data = data_bytes ? must_alloc(data_bytes) : NULL;
	return op;
}

void op_submit(struct op *op)
{
	struct stream *s = op->stream;

	op->enqueued = host_now;
	if (s->last)
		s->last->next = op;
	else
		s->head = op;
	s->last = op;
}

static void op_free(struct op *op)
{
	if (op->release)
		op->release(op);
	if (op->mark)
		mark_release(op->mark);
	free(op->data);
	free(op);
}

void stream_free(struct stream *s)
{
	for (struct stream **p = &streams; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	for (struct op *op = s->head, *next; op; op = next) {
		next = op->next;
		op_free(op);
	}
	free(s);
}

struct mark *mark_new(void)
{
	struct mark *m = must_alloc(sizeof(*m));

	m->refs = 1;
	return m;
}

void mark_release(struct mark *m)
{
	if (m && --m->refs == 0)
		free(m);
}

/* --- running ------------------------------------------------------------------------- */

/* When the stream's next op could start; false: it waits for something. */
static bool next_start(struct stream *s, double *start)
{
	struct op *op = s->head;

	if (!op)
		return false;
	*start = fmax(s->tail, op->enqueued);
	for (int i = 0; i < 3; i++)
		if (op->uses[i])
			*start = fmax(*start, *op->uses[i]);
	return !op->ready || op->ready(op, start);
}

static struct stream *earliest(double *start)
{
	struct stream *best = NULL;
	double t;

	for (struct stream *s = streams; s; s = s->next)
		if (next_start(s, &t) && (!best || t < *start)) {
			best = s;
			*start = t;
		}
	return best;
}

static void run_head(struct stream *s, double start)
{
	struct op *op = s->head;
	double end = op->run(op, start);

	s->tail = end;
	for (int i = 0; i < 3; i++)
		if (op->uses[i])
			*op->uses[i] = end;
	if (op->mark) {
		op->mark->time = end;
		op->mark->done = true;
	}
	s->head = op->next;
	if (!s->head)
		s->last = NULL;
	op_free(op);
}

void engine_pump(void)
{
	struct stream *s;
	double start;

	while ((s = earliest(&start)) && start <= host_now)
		run_head(s, start);
}

/* Nothing can run: others may still release it; else what gives up by itself
 * is given the time to. */
static void stuck(void)
{
	double until = INFINITY;

	for (int i = 0; i < 20; i++) {
		double start;

		machine_yield();
		if (earliest(&start))
			return;
	}
	for (struct stream *s = streams; s; s = s->next)
		if (s->head && s->head->expires)
			until = fmin(until, s->head->expires(s->head));
	if (isfinite(until))
		host_now = fmax(host_now, until);
}

static void step(void)
{
	double start;
	struct stream *s = earliest(&start);

	/* The last to arrive at a meeting makes those before it ready. */
	if (!s)
		s = earliest(&start);
	if (s)
		run_head(s, start);
	else
		stuck();
}

bool stream_idle(const struct stream *s)
{
	return !s->head && s->tail <= host_now;
}

void stream_wait(struct stream *s)
{
	while (s->head)
		step();
	host_now = fmax(host_now, s->tail);
}

void card_wait(struct card *card)
{
	for (struct stream *s = streams; s; s = s->next)
		if (s->card == card)
			stream_wait(s);
}

void mark_wait(struct mark *m)
{
	while (!m->done)
		step();
	host_now = fmax(host_now, m->time);
}

void host_polled(void)
{
	host_now += node.poll_ns;
}

/* --- calls ------------------------------------------------------------------------------ */

void machine_yield(void)
{
	pthread_mutex_unlock(&lock);
	usleep(200);
	pthread_mutex_lock(&lock);
}

/* cuMemAlloc names cuMemAlloc_v2 too. */
static bool names(const char *word, const char *call)
{
	size_t len = strlen(word);

	return strncmp(word, call, len) == 0 && (!call[len] || strncmp(call + len, "_v", 2) == 0);
}

static int call_faults(const char *call, int card)
{
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_HANG, card));)
		if (names(f->word, call) && (card >= 0 || f->card < 0) && f->seen++ >= f->after)
			for (;;)
				machine_yield();
	for (struct fault *f = NULL; (f = fault_next(f, FAULT_ERROR, card));)
		if (names(f->word, call) && (card >= 0 || f->card < 0) && fault_strikes(f)) {
			if (f->flag && card >= 0)
				node.cards[card].sticky = (int)f->number;
			return (int)f->number;
		}
	return 0;
}

int machine_enter(const char *call, struct card *card)
{
	pthread_mutex_lock(&lock);
	node_load();
	host_now += node.host_call_ns;
	engine_pump();
	return node.n_faults ? call_faults(call, card ? card->index : -1) : 0;
}

int machine_leave(int result)
{
	pthread_mutex_unlock(&lock);
	return result;
}

double assay_standin_memory_divisor(void)
{
	pthread_mutex_lock(&lock);
	node_load();
	pthread_mutex_unlock(&lock);
	return node.memory_divisor;
}

int64_t assay_standin_now_ns(void)
{
	int64_t now;

	pthread_mutex_lock(&lock);
	now = (int64_t)host_now;
	pthread_mutex_unlock(&lock);
	return now;
}

void assay_standin_sleep_ns(int64_t ns)
{
	pthread_mutex_lock(&lock);
	node_load();
	if (ns > 0)
		host_now += (double)ns;
	engine_pump();
	pthread_mutex_unlock(&lock);
}
