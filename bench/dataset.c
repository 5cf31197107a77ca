/* dataset: how fast the storage feeds a training job, as streams of whole files in
 * random order and as small samples at random places of them. The files are
 * written here, stamped and incompressible, and looked at before they are read.
 * Named paths give dataset_*, the local disk local_dataset_*, which is information.
 *
 * Buffered reads are what most loaders do, and mean something only where the files
 * are much larger than the memory that could hold them. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/unit.h"
#include "hw/host.h"
#include "storage_data.h"
#include "storage_streams.h"

#define STEM          "dataset"
#define TRIAL         "trial"
#define TRIAL_S       0.5
#define MOST_FILES    512 /* all open at once: 1024 descriptors are usual */
#define VERIFY_BLOCKS 1024
#define VERIFY_LEAST  1000
#define VERIFY_S      20
#define LEAST_SHARE   0.99
#define LEAST_WINDOWS 3
/* Times of the node's memory: below the first, buffered reads say nothing; from
 * the second on (MLPerf Storage) they are beyond what caches could hold. */
#define LEAST_RAM  2
#define BEYOND_RAM 5

enum figure { STREAM, STREAM_BUFFERED, SMALL_IOPS, SMALL_GBS, FIGURES };

/* clang-format off */
#define PATH_METRIC(name, unit, backend, formula) \
	{name, unit, BETTER_HIGHER, SUBJECT_PATH, BACKEND_##backend, formula}
/* In the order of enum figure. */
#define SET(prefix, backend)                                                                    \
	PATH_METRIC(prefix "dataset_stream_gbs", "GB/s", backend,                               \
		"bytes of all streams / seconds; whole files in random order, O_DIRECT"),       \
	PATH_METRIC(prefix "dataset_stream_buffered_gbs", "GB/s", backend,                      \
		"the same through the page cache, one read at a time a stream; files of at "    \
		"least twice the node's memory"),                                               \
	PATH_METRIC(prefix "dataset_small_iops", "IOPS", backend,                               \
		"small random reads of the same files completed / seconds, O_DIRECT"),          \
	PATH_METRIC(prefix "dataset_small_gbs", "GB/s", backend,                                \
		"bytes of those small random reads / seconds")
/* clang-format on */

static const struct metric metrics[] = {SET("", ANY), SET("local_", LOCAL), {0}};

struct dataset {
	struct streams s;
	int streams, block, depth, small_block, small_depth;
	double runtime_s;
	int64_t bytes; /* as planned, then as written */
	int64_t file_bytes;
	int files, made; /* of each thread; of each thread ever made */
	int threads;     /* with files of their own: the streams, or more for psync */
	int made_threads;
	struct fio_job job; /* engine and direct as chosen */
	int64_t ram;        /* <= 0: unknown */
	int64_t until_ns;
	int64_t written; /* whole files so far */
	int64_t verified;
};

/* --- what is planned --------------------------------------------- */

static bool read_params(struct dataset *d)
{
	struct probe_ctx *ctx = d->s.ctx;

	d->streams = (int)ctx->param_int(ctx, "streams");
	d->block = (int)ctx->param_int(ctx, "block");
	d->depth = (int)ctx->param_int(ctx, "depth");
	d->small_block = (int)ctx->param_int(ctx, "small_block");
	d->small_depth = (int)ctx->param_int(ctx, "small_depth");
	d->runtime_s = ctx->param_real(ctx, "runtime_s");
	d->file_bytes = ctx->param_int(ctx, "file");
	return streams_block_valid(&d->s, d->block) && streams_block_valid(&d->s, d->small_block);
}

/* Equal files, as many for each thread: fio shares out no other way. */
static bool lay_out(struct dataset *d)
{
	int64_t unit = d->block > d->small_block ? d->block : d->small_block, each;
	int most;

	d->threads = d->threads < MOST_FILES ? d->threads : MOST_FILES;
	while (d->threads > 1 && d->bytes / d->threads < unit)
		d->threads--;
	each = d->bytes / d->threads;
	if (each < unit)
		return because(&d->s, OUTCOME_NOT_MEASURED, MSG_dataset_too_small,
		               fmt_bytes(d->bytes), fmt_bytes(unit));
	most = MOST_FILES / d->threads;
	d->files = (int)fmin(fmax((double)each / (double)d->file_bytes, 1), most);
	/* Larger ones where that would be too many, smaller ones where it is none. */
	if (d->file_bytes > each || d->files == most)
		d->file_bytes = each / d->files;
	d->file_bytes = d->file_bytes < unit ? unit : d->file_bytes / unit * unit;
	d->bytes = d->file_bytes * d->files * d->threads;
	return true;
}

/* --- the engine, on a small file --------------------------------------------- */

static bool trial_goes_on(void *arg, int64_t done)
{
	struct dataset *d = arg;

	(void)done;
	return clock_now(d->s.ctx->clock) < d->until_ns;
}

static bool write_fault(struct dataset *d, enum status st, const char *why)
{
	if (st == ST_NOSPACE)
		return because(&d->s, OUTCOME_NOT_MEASURED, MSG_fio_no_space, why);
	if (streams_gone(&d->s))
		return false;
	return because(&d->s, st == ST_IO ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED,
	               MSG_storage_write_failed, why);
}

static struct storage_data file_data(struct dataset *d, const char *path, int64_t bytes)
{
	return (struct storage_data){.path = path,
	                             .seed = d->s.ctx->seed,
	                             .bytes = bytes,
	                             .go_on = trial_goes_on,
	                             .arg = d};
}

/* Writes one file; false with the reason. *whole: nothing ended it early. */
static bool write_file(struct dataset *d, const struct storage_data *data, bool *whole)
{
	struct storage_written written;
	struct error err = {0};
	enum status st = storage_write(&written, data, d->s.ctx->clock, &err);

	*whole = written.bytes == data->bytes;
	if (st != ST_OK)
		write_fault(d, st, str_text(&err.text));
	error_release(&err);
	return st == ST_OK;
}

/* The trial runs at the greatest depth: an engine may take one I/O and have no
 * room for a hundred. */
static bool choose_engine(struct dataset *d)
{
	struct streams *s = &d->s;
	const char *path = arena_strf(s->ctx->arena, "%s/" TRIAL, s->ctx->scratch);
	int each = d->depth > d->small_depth ? d->depth : d->small_depth;
	struct storage_data data = file_data(d, path, STREAMS_LEAST_DATA);
	bool whole, works;

	d->until_ns = streams_until(s, s->ctx->param_real(s->ctx, "write_s"));
	if (!write_file(d, &data, &whole)) {
		unlink(path);
		return false;
	}
	d->job = (struct fio_job){.tool = &s->tool,
	                          .dir = s->ctx->scratch,
	                          .way = FIO_RANDOM_READ,
	                          .file = TRIAL,
	                          .bytes = STREAMS_LEAST_DATA,
	                          .block = STORAGE_BLOCK,
	                          .depth = d->streams * each,
	                          .jobs = d->streams,
	                          .runtime_s = TRIAL_S,
	                          .seed = s->ctx->seed};
	works = whole ? streams_choose(s, &d->job)
	              : because(s, OUTCOME_NOT_MEASURED, MSG_storage_slow_write, s->ctx->subject_id,
	                        fmt_bytes(STREAMS_LEAST_DATA),
	                        fmt_duration(s->ctx->param_real(s->ctx, "write_s")));
	unlink(path);
	return works;
}

/* --- data --------------------------------------------- */

static const char *path_of(struct dataset *d, int thread, int file)
{
	return arena_strf(d->s.ctx->arena, "%s/" STEM ".%d.%d", d->s.ctx->scratch, thread, file);
}

static bool writing_goes_on(void *arg, int64_t done)
{
	struct dataset *d = arg;

	d->s.ctx->progress(d->s.ctx, STAGE_PREPARING,
	                   (double)(d->written * d->file_bytes + done) / (double)d->bytes,
	                   MSG_storage_writing);
	return clock_now(d->s.ctx->clock) < d->until_ns;
}

/* Files that were begun in vain go. Fewer threads have one each when not even one
 * for every thread was written. */
static bool use_written(struct dataset *d, double seconds)
{
	int threads = d->threads;

	d->files = (int)(d->written / threads);
	if (d->files == 0) {
		d->threads = (int)d->written;
		d->files = 1;
	}
	for (int k = 0; k < d->made; k++)
		for (int i = 0; i < threads; i++)
			if (k >= d->files || i >= d->threads)
				unlink(path_of(d, i, k));
	d->bytes = d->file_bytes * d->files * d->threads;
	if (d->bytes >= STREAMS_LEAST_DATA)
		return true;
	return because(&d->s, OUTCOME_NOT_MEASURED, MSG_storage_slow_write, d->s.ctx->subject_id,
	               fmt_bytes(d->written * d->file_bytes), fmt_duration(seconds));
}

/* The first file of every thread, then the second: time may run out. */
static bool write_data(struct dataset *d)
{
	struct streams *s = &d->s;
	double write_s = s->ctx->param_real(s->ctx, "write_s");
	int64_t due = (int64_t)d->files * d->threads;

	d->made = d->files;
	d->made_threads = d->threads;
	d->until_ns = streams_until(s, write_s);
	for (d->written = 0; d->written < due; d->written++) {
		struct storage_data data = file_data(
			d,
			path_of(d, (int)(d->written % d->threads), (int)(d->written / d->threads)),
			d->file_bytes);
		bool whole;

		data.go_on = writing_goes_on;
		if (!write_file(d, &data, &whole))
			return false;
		/* Small files are over before their writing asks for the time. */
		if (!whole || clock_now(s->ctx->clock) >= d->until_ns) {
			d->written += whole;
			return use_written(d, write_s);
		}
	}
	return true;
}

static bool check_file(struct dataset *d, const char *path, int64_t samples,
                       struct storage_check *sum)
{
	struct storage_data data = file_data(d, path, d->file_bytes);
	struct storage_check c;
	struct error err = {0};
	enum status st = storage_verify(&c, &data, samples, &err);

	if (st != ST_OK && !streams_gone(&d->s))
		because(&d->s, st == ST_PERMISSION ? OUTCOME_NOT_MEASURED : OUTCOME_FAILED,
		        MSG_storage_read_failed, str_text(&err.text));
	error_release(&err);
	sum->blocks += c.blocks;
	sum->right += c.right;
	sum->zero += c.zero;
	sum->moved += c.moved;
	sum->foreign += c.foreign;
	return st == ST_OK;
}

static bool judge_check(struct dataset *d, const struct storage_check *c)
{
	int64_t blocks = d->bytes / STORAGE_BLOCK;
	int64_t due = blocks < VERIFY_LEAST ? blocks : VERIFY_LEAST;
	double share;

	if (c->right < c->blocks)
		return because(&d->s, OUTCOME_FAILED, MSG_storage_not_real,
		               tmpf("%lld", (long long)(c->blocks - c->right)),
		               tmpf("%lld", (long long)c->blocks), tmpf("%lld", (long long)c->zero),
		               tmpf("%lld", (long long)c->moved),
		               tmpf("%lld", (long long)c->foreign));
	if (c->blocks < due)
		return because(&d->s, OUTCOME_NOT_MEASURED, MSG_storage_slow_verify,
		               tmpf("%lld", (long long)c->blocks), tmpf("%d", VERIFY_S));
	share = streams_allocated(&d->s, STEM, d->threads, d->files, d->bytes);
	if (share > 0 && share < LEAST_SHARE)
		return because(&d->s, OUTCOME_NOT_MEASURED, MSG_storage_sparse,
		               d->s.ctx->subject_id, tmpf("%.0f", share * 100));
	return true;
}

static bool verify_data(struct dataset *d)
{
	int64_t all = (int64_t)d->files * d->threads;
	struct storage_check sum = {0};

	d->until_ns = streams_until(&d->s, VERIFY_S);
	for (int64_t n = 0; n < all; n++)
		if (!check_file(d, path_of(d, (int)(n % d->threads), (int)(n / d->threads)),
		                (VERIFY_BLOCKS + all - 1) / all, &sum))
			return false;
	d->verified = sum.blocks;
	return judge_check(d, &sum);
}

/* --- reading --------------------------------------------- */

/* `each` reads outstanding a stream; psync waits for every one and has a thread
 * and files of its own for each that the streams keep outstanding. */
static struct fio_job job_of(const struct dataset *d, enum fio_way way, int block, int each)
{
	struct fio_job job = d->job;

	job.way = way;
	job.file = STEM;
	job.files = d->files;
	job.bytes = d->file_bytes * d->files;
	job.block = block;
	job.jobs = d->threads;
	job.depth = d->threads * each;
	if (strcmp(job.engine, "psync") == 0)
		job.depth = d->threads;
	job.runtime_s = d->runtime_s;
	job.window_s = 1;
	return job;
}

static const char *run_params(struct dataset *d, const struct fio_job *job,
                              const struct streams_run *run)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	double times = d->ram > 0 ? (double)d->bytes / (double)d->ram : NAN;

	json_object_begin(&j, NULL);
	json_put_int(&j, "streams", d->streams);
	json_put_int(&j, "bytes", d->bytes);
	json_put_int(&j, "files", (int64_t)d->files * d->threads);
	json_put_int(&j, "file_bytes", d->file_bytes);
	json_put_number(&j, "times_ram", times);
	json_put_bool(&j, "beyond_ram", times >= BEYOND_RAM);
	json_put_number(&j, "read_bytes", run->fio.io_bytes);
	/* Above 1 files were read again. */
	json_put_number(&j, "times_read", run->fio.io_bytes / (double)d->bytes);
	json_put_number(&j, "seconds", run->fio.runtime_s);
	json_put_int(&j, "verified_blocks", d->verified);
	json_put_string(&j, "read_of", "own");
	streams_put_job(&d->s, &j, job, run);
	streams_put_seconds(&j, &run->fio, LEAST_WINDOWS);
	return streams_params(&d->s, &j);
}

static bool run_job(struct dataset *d, struct fio_job *job, enum msg what, const char *name,
                    struct streams_run *run)
{
	d->s.step++;
	d->s.doing = what;
	return streams_run(&d->s, job, name, run);
}

static bool measure_stream(struct dataset *d)
{
	struct fio_job job = job_of(d, FIO_STREAM_READ, d->block, d->depth);
	struct streams_run run;

	if (!run_job(d, &job, MSG_dataset_streaming, "dataset-stream.json", &run))
		return false;
	streams_emit(&d->s, STREAM, run.fio.bandwidth_bs / 1e9, run_params(d, &job, &run),
	             &run.raw);
	return true;
}

static bool measure_small(struct dataset *d)
{
	struct fio_job job = job_of(d, FIO_RANDOM_READ, d->small_block, d->small_depth);
	struct streams_run run;
	const char *params;

	if (!run_job(d, &job, MSG_dataset_sampling, "dataset-small.json", &run))
		return false;
	params = run_params(d, &job, &run);
	streams_emit(&d->s, SMALL_IOPS, run.fio.iops, params, &run.raw);
	streams_emit(&d->s, SMALL_GBS, run.fio.bandwidth_bs / 1e9, params, &run.raw);
	return true;
}

static bool measure_buffered(struct dataset *d)
{
	struct fio_job job = job_of(d, FIO_STREAM_READ, d->block, 1);
	struct streams_run run;
	const char *params, *shown;
	double gbs;

	job.engine = "psync";
	job.direct = false;
	if (!run_job(d, &job, MSG_dataset_streaming, "dataset-stream-buffered.json", &run))
		return false;
	params = run_params(d, &job, &run);
	gbs = run.fio.bandwidth_bs / 1e9;
	shown = fmt_measure(gbs, d->s.set[STREAM_BUFFERED].unit);
	if (d->ram > 0 && (double)d->bytes >= LEAST_RAM * (double)d->ram) {
		streams_emit(&d->s, STREAM_BUFFERED, gbs, params, &run.raw);
		return true;
	}
	if (d->ram > 0)
		because(&d->s, OUTCOME_NOT_MEASURED, MSG_dataset_in_ram, fmt_bytes(d->bytes),
		        fmt_bytes(d->ram), shown);
	else
		because(&d->s, OUTCOME_NOT_MEASURED, MSG_dataset_no_ram, shown);
	streams_emit_missing(&d->s, STREAM_BUFFERED, params);
	return true;
}

static void miss_direct(struct dataset *d)
{
	because(&d->s, OUTCOME_NOT_MEASURED, MSG_dataset_no_direct, d->s.ctx->subject_id);
	streams_emit_missing(&d->s, STREAM, NULL);
	streams_emit_missing(&d->s, SMALL_IOPS, NULL);
	streams_emit_missing(&d->s, SMALL_GBS, NULL);
}

/* --- the probe --------------------------------------------- */

static bool measure(struct dataset *d)
{
	if (!read_params(d) || !streams_begin(&d->s) || !streams_room(&d->s, &d->bytes) ||
	    !choose_engine(d))
		return false;
	d->threads = d->streams;
	if (strcmp(d->job.engine, "psync") == 0)
		d->threads *= d->depth;
	if (!lay_out(d) || !write_data(d) || !verify_data(d))
		return false;
	d->s.steps = d->s.direct ? 3 : 1;
	if (!d->s.direct)
		miss_direct(d);
	else if (!measure_stream(d) || !measure_small(d))
		return false;
	return measure_buffered(d);
}

static enum status run(struct probe_ctx *ctx)
{
	struct dataset d = {.s = streams_init(ctx, metrics, FIGURES),
	                    .ram = host_memory_read(ctx->sys_root).total_bytes};

	d.s.doing = MSG_storage_writing;
	ctx->progress(ctx, STAGE_PREPARING, -1, MSG_storage_writing);
	measure(&d);
	streams_emit_rest(&d.s);
	streams_remove(&d.s, STEM, d.made_threads, d.made);
	return ST_OK;
}

static double duration(struct probe_ctx *ctx)
{
	/* Writing at 100 MB/s is what a slow shared file system takes. */
	return 3 * (ctx->param_real(ctx, "runtime_s") + 0.5) +
	       fmin((double)ctx->param_int(ctx, "size") / 100e6, ctx->param_real(ctx, "write_s")) +
	       TRIAL_S + 1;
}

/* clang-format off */
static const struct param params[] = {
	{"size", PARAM_SIZE, "B", {"512M", "8G", "64G"}, 16 << 20, 0x1p50, NULL,
	 MSG_help_dataset_size},
	{"file", PARAM_SIZE, "B", {"64M", "128M", "256M"}, 1 << 20, 0x1p40, NULL,
	 MSG_help_dataset_file},
	{"streams", PARAM_INT, "1", {"8", "8", "8"}, 1, 256, NULL, MSG_help_dataset_streams},
	{"block", PARAM_SIZE, "B", {"1M", "1M", "1M"}, 4096, 16 << 20, NULL,
	 MSG_help_dataset_block},
	{"depth", PARAM_INT, "1", {"4", "4", "4"}, 1, 256, NULL, MSG_help_dataset_depth},
	{"small_block", PARAM_SIZE, "B", {"128K", "128K", "128K"}, 4096, 1 << 20, NULL,
	 MSG_help_dataset_small_block},
	{"small_depth", PARAM_INT, "1", {"8", "8", "8"}, 1, 256, NULL,
	 MSG_help_dataset_small_depth},
	{"runtime_s", PARAM_REAL, "s", {"2", "10", "60"}, 0.5, 86400, NULL,
	 MSG_help_dataset_runtime},
	{"write_s", PARAM_REAL, "s", {"5", "25", "110"}, 1, 86400, NULL, MSG_help_storage_write},
	STREAMS_PARAMS,
	{0},
};
/* clang-format on */

const struct probe probe_dataset = {
	.name = "dataset",
	.title = MSG_probe_dataset,
	.subject = SUBJECT_PATH,
	.phase = "storage",
	.exclusive = true,
	.needs_storage = true,
	.seconds = {15, 60, 295},
	.duration = duration,
	.params = params,
	.metrics = metrics,
	.supported = streams_supported,
	.try_run = streams_try_run,
	.run = run,
};
