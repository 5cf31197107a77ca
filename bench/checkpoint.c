/* checkpoint: how fast a training job's ranks, each with a file of its own, write
 * their state to the storage and read it back. Bandwidth is all bytes over the
 * time from the first write to the last end, fsync included: the job waits for the
 * slowest rank, so a mean over ranks would flatter. Named paths give checkpoint_*,
 * the local disk local_checkpoint_*, which is information.
 *
 * Reads are of files that this node wrote itself: a server may have kept them, and
 * each reading says so (read_of). What all nodes get at once is not claimed here. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unit.h"
#include "storage_data.h"
#include "storage_streams.h"

#define STEM        "checkpoint"
#define TRIAL       "trial"
#define TRIAL_S     5
#define MAX_PASSES  64
#define SAMPLES     64 /* blocks looked at, over all files */
#define LEAST_SHARE 0.99
/* Windows of a second from which on their spread is said. */
#define LEAST_WINDOWS 10

/* MLPerf Storage v2: a checkpoint of a model with 70 and with 405 billion
 * parameters, optimizer state included. */
#define BYTES_70B  912e9
#define BYTES_405B 5.29e12

enum figure {
	WRITE,
	WRITE_BUFFERED,
	UNSYNCED_RATIO,
	READ,
	READ_BUFFERED,
	SECONDS_70B,
	SECONDS_405B,
	FIGURES
};

/* clang-format off */
#define PATH_METRIC(name, unit, better, backend, formula) \
	{name, unit, BETTER_##better, SUBJECT_PATH, BACKEND_##backend, formula}
/* In the order of enum figure. */
#define SET(prefix, backend)                                                                    \
	PATH_METRIC(prefix "checkpoint_write_gbs", "GB/s", HIGHER, backend,                     \
		"bytes of all ranks / seconds from the first write to the end of the last "     \
		"fsync; O_DIRECT, new files"),                                                  \
	PATH_METRIC(prefix "checkpoint_write_buffered_gbs", "GB/s", HIGHER, backend,            \
		"the same through the page cache, one write at a time a rank, fsync included: " \
		"as torch.save writes"),                                                        \
	PATH_METRIC(prefix "checkpoint_unsynced_ratio", "1", NEITHER, backend,                  \
		"buffered GB/s without fsync / with fsync; above 1 a cache holds what was "     \
		"written"),                                                                     \
	PATH_METRIC(prefix "checkpoint_read_gbs", "GB/s", HIGHER, backend,                      \
		"bytes of all ranks' files / seconds to the last end; O_DIRECT, each byte once"), \
	PATH_METRIC(prefix "checkpoint_read_buffered_gbs", "GB/s", HIGHER, backend,             \
		"the same through the page cache, emptied of these files before"),              \
	PATH_METRIC(prefix "checkpoint_70b_s", "s", LOWER, backend,                             \
		"912 GB / checkpoint_write_gbs of this node alone"),                            \
	PATH_METRIC(prefix "checkpoint_405b_s", "s", LOWER, backend,                            \
		"5.29 TB / checkpoint_write_gbs of this node alone")
/* clang-format on */

static const struct metric metrics[] = {SET("", ANY), SET("local_", LOCAL), {0}};

struct checkpoint {
	struct streams s;
	int ranks, depth, block;
	double least_s, most_s;
	int64_t rank_bytes;     /* as planned */
	struct fio_job trial;   /* with the engine chosen */
	int threads;            /* most that ever had a file */
	double write_bs;        /* of the direct write; 0: none */
	double buffered_bs;     /* with fsync */
	int64_t buffered_bytes; /* of a thread */
};

/* --- what is planned --------------------------------------------- */

static bool read_params(struct checkpoint *c)
{
	struct probe_ctx *ctx = c->s.ctx;

	c->ranks = (int)ctx->param_int(ctx, "ranks");
	c->depth = (int)ctx->param_int(ctx, "depth");
	c->block = (int)ctx->param_int(ctx, "block");
	c->least_s = ctx->param_real(ctx, "least_s");
	c->most_s = ctx->param_real(ctx, "most_s");
	if (c->least_s > c->most_s)
		return because(&c->s, OUTCOME_NOT_MEASURED, MSG_checkpoint_times,
		               fmt_value(c->least_s), fmt_value(c->most_s));
	return streams_block_valid(&c->s, c->block);
}

/* Each rank has at least as much as it keeps outstanding, or there are fewer. */
static bool choose_size(struct checkpoint *c)
{
	int64_t all, least = (int64_t)c->block * c->depth;

	if (!streams_room(&c->s, &all))
		return false;
	if (all < least)
		return because(&c->s, OUTCOME_NOT_MEASURED, MSG_checkpoint_small, fmt_bytes(all),
		               fmt_bytes(least));
	while (all / c->ranks < least)
		c->ranks--;
	c->rank_bytes = all / c->ranks / c->block * c->block;
	return true;
}

/* A rank has `depth` writes outstanding; psync needs that many threads, each with a
 * part of the rank's bytes in a file of its own. */
static struct fio_job direct_job(const struct checkpoint *c)
{
	struct fio_job job = c->trial;
	int64_t all = c->rank_bytes * c->ranks;

	job.file = STEM;
	job.bytes = all / fio_threads(&job) / c->block * c->block;
	job.most_s = c->most_s;
	job.window_s = 1;
	return job;
}

/* One writer or reader a rank that waits for each block, as torch does. */
static struct fio_job buffered_job(const struct checkpoint *c, int ranks)
{
	struct fio_job job = direct_job(c);

	job.engine = "psync";
	job.direct = false;
	job.depth = job.jobs = ranks;
	job.bytes = c->rank_bytes;
	job.window_s = 0;
	return job;
}

static bool choose_engine(struct checkpoint *c)
{
	struct streams *s = &c->s;
	bool works;

	c->trial = (struct fio_job){.tool = &s->tool,
	                            .dir = s->ctx->scratch,
	                            .way = FIO_STREAM_WRITE,
	                            .file = TRIAL,
	                            .files = 1,
	                            .bytes = (int64_t)c->block * c->depth,
	                            .block = c->block,
	                            .depth = c->ranks * c->depth,
	                            .jobs = c->ranks,
	                            .most_s = TRIAL_S,
	                            .seed = s->ctx->seed};
	works = streams_choose(s, &c->trial);
	streams_remove(s, TRIAL, c->ranks * c->depth, 1);
	return works;
}

/* --- are they there? --------------------------------------------- */

static int open_to_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_NOFOLLOW | O_CLOEXEC);

	return fd >= 0 ? fd : open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static bool read_sample(const char *path, int64_t offset, void *block)
{
	int fd = open_to_read(path);
	bool ok = fd >= 0 && pread(fd, block, STORAGE_BLOCK, offset) == STORAGE_BLOCK;

	if (fd >= 0)
		close(fd);
	return ok;
}

static int compare_blocks(const void *a, const void *b)
{
	return memcmp(a, b, STORAGE_BLOCK);
}

/* fio fills every block with other random bytes: a block of zeros, or two that
 * are alike, were not kept as they were written. */
static int count_false(char *blocks, int n)
{
	static const char zeros[STORAGE_BLOCK];
	int wrong = 0;

	qsort(blocks, (size_t)n, STORAGE_BLOCK, compare_blocks);
	for (int i = 0; i < n; i++) {
		const char *block = blocks + (size_t)i * STORAGE_BLOCK;

		wrong += compare_blocks(block, zeros) == 0 ||
		         (i > 0 && compare_blocks(block, block - STORAGE_BLOCK) == 0);
	}
	return wrong;
}

/* A different block of each part of each file in turn. */
static bool check_blocks(struct checkpoint *c, int threads, int64_t file_bytes)
{
	struct streams *s = &c->s;
	int64_t each = file_bytes / STORAGE_BLOCK;
	int n = each * threads < SAMPLES ? (int)(each * threads) : SAMPLES, wrong;
	int parts = (n + threads - 1) / threads;
	uint64_t random = s->ctx->seed;
	void *blocks = NULL;

	if (posix_memalign(&blocks, STORAGE_BLOCK, (size_t)n * STORAGE_BLOCK) != 0)
		die_nomem();
	for (int i = 0; i < n; i++) {
		int64_t from = each * (i / threads) / parts, to = each * (i / threads + 1) / parts;
		int64_t at;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		at = from + (int64_t)((random >> 33) % (uint64_t)(to > from ? to - from : 1));
		if (!read_sample(tmpf("%s/" STEM ".%d.0", s->ctx->scratch, i % threads),
		                 at * STORAGE_BLOCK, (char *)blocks + (size_t)i * STORAGE_BLOCK)) {
			free(blocks);
			return streams_gone(s)
			               ? false
			               : because(s, OUTCOME_FAILED, MSG_checkpoint_unreadable);
		}
	}
	wrong = count_false(blocks, n);
	free(blocks);
	return wrong == 0 || because(s, OUTCOME_FAILED, MSG_checkpoint_not_real, tmpf("%d", wrong),
	                             tmpf("%d", n));
}

/* The files of a pass hold what fio wrote. *least: bytes of the shortest. */
static bool check_files(struct checkpoint *c, int threads, double written, int64_t *least)
{
	struct streams *s = &c->s;
	double found = 0, share;
	struct stat info;

	*least = INT64_MAX;
	for (int i = 0; i < threads; i++) {
		int64_t size = stat(tmpf("%s/" STEM ".%d.0", s->ctx->scratch, i), &info) == 0
		                       ? (int64_t)info.st_size
		                       : 0;

		found += (double)size;
		*least = size < *least ? size : *least;
	}
	if (found < written)
		return streams_gone(s)
		               ? false
		               : because(s, OUTCOME_FAILED, MSG_checkpoint_short,
		                         fmt_bytes((int64_t)found), fmt_bytes((int64_t)written));
	share = streams_allocated(s, STEM, threads, 1, (int64_t)found);
	if (share > 0 && share < LEAST_SHARE)
		return because(s, OUTCOME_NOT_MEASURED, MSG_checkpoint_sparse, s->ctx->subject_id,
		               tmpf("%.0f", share * 100));
	if (*least < c->block)
		return because(s, OUTCOME_NOT_MEASURED, MSG_storage_slow_write, s->ctx->subject_id,
		               fmt_bytes((int64_t)written), fmt_duration(c->most_s));
	return check_blocks(c, threads, *least);
}

/* --- writing --------------------------------------------- */

/* Passes of one way of writing, each into new files. */
struct passes {
	struct streams_run last;
	double bytes, seconds, wall_s;
	double first_s;
	double bs[MAX_PASSES];
	int n;
	int64_t file_bytes; /* of the shortest file of the last pass */
};

static void remove_files(struct checkpoint *c)
{
	streams_remove(&c->s, STEM, c->threads, 1);
}

static bool write_pass(struct checkpoint *c, struct fio_job *job, const char *name,
                       struct passes *p)
{
	int threads = fio_threads(job);

	remove_files(c);
	c->threads = threads > c->threads ? threads : c->threads;
	job->seed = c->s.ctx->seed * 31 + (uint64_t)p->n;
	if (!streams_run(&c->s, job, name, &p->last))
		return false;
	/* What was not flushed need not be there. */
	if (!job->unsynced && !check_files(c, threads, p->last.fio.io_bytes, &p->file_bytes))
		return false;
	p->bytes += p->last.fio.io_bytes;
	p->seconds += p->last.seconds;
	p->wall_s += p->last.wall_s;
	p->first_s = p->n ? p->first_s : p->last.seconds;
	p->bs[p->n++] = p->last.fio.io_bytes / p->last.seconds;
	return true;
}

/* A checkpoint that is written in less than least_s is written again: short
 * bursts end in caches of drives and servers. The last pass leaves at least half
 * of the data for reading. */
static bool write_passes(struct checkpoint *c, struct fio_job *job, const char *name,
                         struct passes *p)
{
	*p = (struct passes){0};
	do {
		job->most_s = fmax(c->most_s - p->seconds, p->n ? p->first_s / 2 : 0);
		if (!write_pass(c, job, name, p))
			return false;
	} while (p->seconds < c->least_s && p->n < MAX_PASSES && !job->unsynced);
	return true;
}

static const char *write_params(struct checkpoint *c, const struct fio_job *job,
                                const struct passes *p)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "ranks", c->ranks);
	json_put_number(&j, "bytes", p->bytes);
	json_put_number(&j, "seconds", p->seconds);
	json_put_number(&j, "wall_s", p->wall_s);
	json_put_int(&j, "passes", p->n);
	json_put_int(&j, "file_bytes", p->file_bytes);
	json_put_bool(&j, "whole", p->file_bytes >= job->bytes);
	json_put_bool(&j, "long_enough", p->seconds >= c->least_s);
	json_put_bool(&j, "fsync", !job->unsynced);
	streams_put_job(&c->s, &j, job, &p->last);
	streams_put_seconds(&j, &p->last.fio, LEAST_WINDOWS);
	return streams_params(&c->s, &j);
}

static void emit_write(struct checkpoint *c, enum figure f, const struct fio_job *job,
                       const struct passes *p)
{
	struct reading r = streams_reading(&c->s, f, write_params(c, job, p));

	r.value_kind = VALUE_NUMBER;
	r.value = p->bytes / p->seconds / 1e9;
	r.raw = p->last.raw;
	r.stats[STAT_N] = p->n;
	r.stats[STAT_MIN] = INFINITY;
	r.stats[STAT_MAX] = 0;
	for (int i = 0; i < p->n; i++) {
		r.stats[STAT_MIN] = fmin(r.stats[STAT_MIN], p->bs[i] / 1e9);
		r.stats[STAT_MAX] = fmax(r.stats[STAT_MAX], p->bs[i] / 1e9);
	}
	c->s.ctx->emit(c->s.ctx, &r);
}

static void emit_model(struct checkpoint *c, enum figure f, double bytes,
                       const struct raw_file *raw)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_number(&j, "checkpoint_bytes", bytes);
	json_put_number(&j, "write_gbs", c->write_bs / 1e9);
	json_put_int(&j, "nodes", 1);
	streams_emit(&c->s, f, bytes / c->write_bs, streams_params(&c->s, &j), raw);
}

/* --- reading --------------------------------------------- */

static bool read_files(struct checkpoint *c, enum figure f, struct fio_job job, int64_t file_bytes,
                       const char *name)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	struct streams_run run;

	job.way = FIO_STREAM_READ;
	job.unsynced = false;
	job.most_s = c->most_s;
	job.bytes = file_bytes / job.block * job.block;
	if (!streams_run(&c->s, &job, name, &run))
		return false;
	json_object_begin(&j, NULL);
	json_put_int(&j, "ranks", c->ranks);
	json_put_number(&j, "bytes", run.fio.io_bytes);
	json_put_number(&j, "seconds", run.seconds);
	json_put_number(&j, "wall_s", run.wall_s);
	json_put_int(&j, "file_bytes", file_bytes);
	/* Of the node itself: a cache on the way may still have had them. */
	json_put_string(&j, "read_of", "own");
	streams_put_job(&c->s, &j, &job, &run);
	streams_put_seconds(&j, &run.fio, LEAST_WINDOWS);
	streams_emit(&c->s, f, run.fio.io_bytes / run.seconds / 1e9, streams_params(&c->s, &j),
	             &run.raw);
	return true;
}

static void begin_step(struct checkpoint *c, enum msg what)
{
	c->s.step++;
	c->s.doing = what;
}

/* --- the steps --------------------------------------------- */

/* Files that went past the cache are not in it: those the readings are of. */
static bool measure_direct(struct checkpoint *c)
{
	struct fio_job job = direct_job(c);
	struct passes p;

	begin_step(c, MSG_checkpoint_writing);
	if (!write_passes(c, &job, "checkpoint-write.json", &p))
		return false;
	c->write_bs = p.bytes / p.seconds;
	emit_write(c, WRITE, &job, &p);
	emit_model(c, SECONDS_70B, BYTES_70B, &p.last.raw);
	emit_model(c, SECONDS_405B, BYTES_405B, &p.last.raw);
	begin_step(c, MSG_checkpoint_reading);
	if (!read_files(c, READ, job, p.file_bytes, "checkpoint-read.json"))
		return false;
	begin_step(c, MSG_checkpoint_reading);
	return read_files(c, READ_BUFFERED, buffered_job(c, fio_threads(&job)), p.file_bytes,
	                  "checkpoint-read-buffered.json");
}

static void miss_direct(struct checkpoint *c)
{
	static const enum figure figures[] = {WRITE, READ, SECONDS_70B, SECONDS_405B};

	because(&c->s, OUTCOME_NOT_MEASURED, MSG_checkpoint_no_direct, c->s.ctx->subject_id);
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++)
		streams_emit_missing(&c->s, (int)figures[i], NULL);
}

/* A page cache takes at once what its fsync may need minutes for: no more than
 * the storage was seen to take within most_s. */
static bool measure_buffered(struct checkpoint *c)
{
	struct fio_job job = buffered_job(c, c->ranks);
	double bs = c->s.direct ? c->write_bs : c->s.trial_bs;
	double most = bs * c->most_s / c->ranks / c->block;
	struct passes p;

	if (most < (double)(job.bytes / c->block))
		job.bytes = (int64_t)fmax(most, 1) * c->block;
	begin_step(c, MSG_checkpoint_writing);
	if (!write_passes(c, &job, "checkpoint-write-buffered.json", &p))
		return false;
	c->buffered_bs = p.bytes / p.seconds;
	c->buffered_bytes = job.bytes;
	emit_write(c, WRITE_BUFFERED, &job, &p);
	if (c->s.direct)
		return true;
	begin_step(c, MSG_checkpoint_reading);
	return read_files(c, READ_BUFFERED, job, p.file_bytes, "checkpoint-read-buffered.json");
}

static bool measure_unsynced(struct checkpoint *c)
{
	struct fio_job job = buffered_job(c, c->ranks);
	struct passes p;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	double bs;

	job.bytes = c->buffered_bytes;
	job.unsynced = true;
	begin_step(c, MSG_checkpoint_writing);
	if (!write_passes(c, &job, "checkpoint-unsynced.json", &p))
		return false;
	bs = p.bytes / p.seconds;
	json_object_begin(&j, NULL);
	json_put_number(&j, "unsynced_gbs", bs / 1e9);
	json_put_number(&j, "synced_gbs", c->buffered_bs / 1e9);
	json_put_number(&j, "bytes", p.bytes);
	streams_put_job(&c->s, &j, &job, &p.last);
	streams_emit(&c->s, UNSYNCED_RATIO, bs / c->buffered_bs, streams_params(&c->s, &j),
	             &p.last.raw);
	return true;
}

/* --- the probe --------------------------------------------- */

static bool measure(struct checkpoint *c)
{
	if (!read_params(c) || !streams_begin(&c->s) || !choose_size(c) || !choose_engine(c))
		return false;
	c->s.steps = c->s.direct ? 5 : 3;
	if (!c->s.direct)
		miss_direct(c);
	else if (!measure_direct(c))
		return false;
	return measure_buffered(c) && measure_unsynced(c);
}

static enum status run(struct probe_ctx *ctx)
{
	struct checkpoint c = {.s = streams_init(ctx, metrics, FIGURES)};

	c.s.doing = MSG_checkpoint_writing;
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_checkpoint_writing);
	measure(&c);
	streams_emit_rest(&c.s);
	remove_files(&c);
	return ST_OK;
}

static double duration(struct probe_ctx *ctx)
{
	/* Three ways of writing, two of reading, and the trial. */
	return 5 * (ctx->param_real(ctx, "most_s") + 0.5) + 2;
}

/* clang-format off */
static const struct param params[] = {
	{"ranks", PARAM_INT, "1", {"8", "8", "8"}, 1, 256, NULL, MSG_help_checkpoint_ranks},
	{"size", PARAM_SIZE, "B", {"2G", "16G", "64G"}, 1 << 20, 0x1p50, NULL,
	 MSG_help_checkpoint_size},
	{"block", PARAM_SIZE, "B", {"4M", "4M", "4M"}, 1 << 20, 16 << 20, NULL,
	 MSG_help_checkpoint_block},
	{"depth", PARAM_INT, "1", {"4", "4", "4"}, 1, 64, NULL, MSG_help_checkpoint_depth},
	{"least_s", PARAM_REAL, "s", {"1.5", "10", "60"}, 0, 86400, NULL,
	 MSG_help_checkpoint_least},
	{"most_s", PARAM_REAL, "s", {"2", "11", "78"}, 1, 86400, NULL, MSG_help_checkpoint_most},
	STREAMS_PARAMS,
	{0},
};
/* clang-format on */

const struct probe probe_checkpoint = {
	.name = "checkpoint",
	.title = MSG_probe_checkpoint,
	.subject = SUBJECT_PATH,
	.phase = "storage",
	.exclusive = true,
	.needs_storage = true,
	.seconds = {15, 60, 395},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = streams_supported,
	.try_run = streams_try_run,
	.run = run,
};
