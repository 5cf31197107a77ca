/* A thread, a wait with an end, and who frees what both share. */
#include "limited.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"

/* Shared by the thread and who waits; freed by the last of them. */
struct job {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done, left;
	limited_work *work;
	void *arg;
	enum status status;
	struct error err;
};

static void job_free(struct job *job)
{
	error_release(&job->err);
	pthread_cond_destroy(&job->changed);
	pthread_mutex_destroy(&job->lock);
	free(job);
}

static void *job_main(void *arg)
{
	struct job *job = arg;
	enum status st = job->work(job->arg, &job->err);
	bool left;

	str_ring_release();
	pthread_mutex_lock(&job->lock);
	job->status = st;
	job->done = true;
	left = job->left;
	pthread_cond_signal(&job->changed);
	pthread_mutex_unlock(&job->lock);
	if (left)
		job_free(job);
	return NULL;
}

static struct job *job_new(limited_work *work, void *arg)
{
	struct job *job = calloc(1, sizeof(*job));
	pthread_condattr_t monotonic;

	if (!job)
		die_nomem();
	job->work = work;
	job->arg = arg;
	pthread_mutex_init(&job->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&job->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return job;
}

/* False: it is not done by then, and is left behind. */
static bool job_await(struct job *job, int64_t limit_ns)
{
	int64_t until = clock_now(&clock_system) + limit_ns;
	struct timespec at = {until / NS_PER_S, until % NS_PER_S};
	bool done;

	pthread_mutex_lock(&job->lock);
	while (!job->done && pthread_cond_timedwait(&job->changed, &job->lock, &at) != ETIMEDOUT)
		;
	done = job->done;
	job->left = !done;
	pthread_mutex_unlock(&job->lock);
	return done;
}

enum status limited_run(limited_work *work, void *arg, int64_t limit_ns, struct error *err)
{
	struct job *job = job_new(work, arg);
	pthread_t thread;
	enum status st;

	if (pthread_create(&thread, NULL, job_main, job) != 0) {
		job_free(job);
		return error_set(err, ST_NOMEM, MSG_team_no_thread);
	}
	if (!job_await(job, limit_ns)) {
		pthread_detach(thread);
		return error_set(err, ST_TIMEOUT, MSG_team_hangs,
		                 tmpf("%.3g", (double)limit_ns / 1e9));
	}
	pthread_join(thread, NULL);
	st = job->status;
	if (st != ST_OK) {
		error_release(err);
		*err = job->err;
		job->err = (struct error){0};
	}
	job_free(job);
	return st;
}
