/* Pinned threads. A condition variable starts them: that costs tens of
 * microseconds in jobs of tens of milliseconds, and unlike spinning it leaves
 * the cores to the BLAS between jobs. */
#include "hw/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#define MAX_CPUS 65536

struct pool_thread {
	struct pool *pool;
	pthread_t id;
	int part, cpu;
};

struct pool {
	pthread_mutex_t lock;
	pthread_cond_t start, done;
	struct pool_thread *threads;
	int count, started;
	int ready; /* threads that have settled on their CPU */
	int bound;
	unsigned generation; /* of the job; a new number starts it */
	int left;            /* threads still at work */
	bool stop;
	pool_fn fn;
	void *arg;
};

bool thread_bind(const int *cpus, int count)
{
	cpu_set_t *mask = CPU_ALLOC(MAX_CPUS);
	size_t size = CPU_ALLOC_SIZE(MAX_CPUS);
	bool ok;

	if (!mask)
		die_nomem();
	CPU_ZERO_S(size, mask);
	for (int i = 0; i < count; i++)
		CPU_SET_S((size_t)cpus[i], size, mask);
	ok = sched_setaffinity(0, size, mask) == 0;
	CPU_FREE(mask);
	return ok;
}

static void *serve(void *arg)
{
	struct pool_thread *t = arg;
	struct pool *p = t->pool;
	unsigned seen = 0;
	bool bound = thread_bind(&t->cpu, 1);

	pthread_mutex_lock(&p->lock);
	p->bound += bound;
	p->ready++;
	pthread_cond_signal(&p->done);
	for (;;) {
		while (!p->stop && p->generation == seen)
			pthread_cond_wait(&p->start, &p->lock);
		if (p->stop)
			break;
		seen = p->generation;
		pthread_mutex_unlock(&p->lock);
		p->fn(p->arg, t->part, p->count);
		pthread_mutex_lock(&p->lock);
		if (--p->left == 0)
			pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

enum status pool_start(struct pool **out, const int *cpus, int count, struct error *err)
{
	struct pool *p = calloc(1, sizeof(*p));
	int failed = 0;

	*out = NULL;
	if (!p || !(p->threads = calloc((size_t)count, sizeof(*p->threads))))
		die_nomem();
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->start, NULL);
	pthread_cond_init(&p->done, NULL);
	p->count = count;
	while (p->started < count && !failed) {
		struct pool_thread *t = &p->threads[p->started];

		*t = (struct pool_thread){.pool = p, .part = p->started, .cpu = cpus[p->started]};
		failed = pthread_create(&t->id, NULL, serve, t);
		p->started += !failed;
	}
	if (failed) {
		pool_stop(p);
		return error_errno(err, "pthread_create", failed);
	}
	pthread_mutex_lock(&p->lock);
	while (p->ready < p->count)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
	*out = p;
	return ST_OK;
}

void pool_run(struct pool *p, pool_fn fn, void *arg)
{
	pthread_mutex_lock(&p->lock);
	p->fn = fn;
	p->arg = arg;
	p->left = p->count;
	p->generation++;
	pthread_cond_broadcast(&p->start);
	while (p->left > 0)
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

int pool_bound(const struct pool *p)
{
	return p->bound;
}

void pool_stop(struct pool *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->start);
	pthread_mutex_unlock(&p->lock);
	for (int i = 0; i < p->started; i++)
		pthread_join(p->threads[i].id, NULL);
	pthread_cond_destroy(&p->start);
	pthread_cond_destroy(&p->done);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p);
}
