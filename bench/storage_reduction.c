/* Four pieces: incompressible, compressible, repeated, incompressible again. The
 * first and the last are the control: a gauge that missed either, or was moved by
 * others while it ran, is not believed about those between.
 *
 * Written through the page cache and fsynced: some file systems (btrfs) compress
 * nothing that comes by O_DIRECT, which is not how checkpoints are written. */
#include "storage_reduction.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "storage_data.h"

enum { FIRST, COMPRESSIBLE, REPEATED, LAST, PIECES };
enum { COUNTERS, BLOCKS, FREE, GAUGES };

static const char *const gauge_names[GAUGES] = {"counters", "blocks", "free"};

/* Incompressible data repeat after this: whole blocks of any deduplication, and
 * out of sight of a compressor, which looks at a record of up to 1 MiB. */
#define PERIOD (1LL << 20)
/* Of a compressible block, the part that is not one byte over and over. */
#define UNIQUE 512
/* A gauge that saw this much of the control is believed; less than REDUCED of a
 * piece is reduction, between the two nothing is said. */
#define SEEN    0.9
#define REDUCED 0.7
/* ZFS accounts for blocks when it commits, every 5 s. */
#define SETTLE_S 7

struct work {
	const struct storage_reduction_job *job;
	int fd[PIECES];
	double share[GAUGES][PIECES]; /* of REDUCTION_PIECE; NaN: not offered */
};

static void fill(char *chunk, const struct storage_data *data, int piece, int64_t at)
{
	for (int64_t o = 0; o < PERIOD; o += STORAGE_BLOCK) {
		storage_block(chunk + o, data, piece == REPEATED ? o : at + o);
		if (piece == COMPRESSIBLE)
			memset(chunk + o + UNIQUE, 'a', STORAGE_BLOCK - UNIQUE);
	}
}

/* 0 or the errno; ETIMEDOUT at the deadline. */
static int write_piece(struct work *w, int piece, char *chunk)
{
	const struct storage_reduction_job *job = w->job;
	struct storage_data data = {.path = job->dir, .seed = job->seed + (uint64_t)piece};

	for (int64_t at = 0; at < REDUCTION_PIECE; at += PERIOD) {
		if (clock_now(job->clock) >= job->deadline_ns)
			return ETIMEDOUT;
		fill(chunk, &data, piece, at);
		for (int64_t done = 0; done < PERIOD;) {
			ssize_t n = write(w->fd[piece], chunk + done, (size_t)(PERIOD - done));

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return n == 0 ? ENOSPC : errno;
			done += n;
		}
	}
	return fsync(w->fd[piece]) == 0 ? 0 : errno;
}

/* Open without a name as soon as it is created: it goes when it is closed. */
static int create(struct work *w, int piece)
{
	struct str path = {0};
	int failed = 0;

	str_addf(&path, "%s/reduction-%d", w->job->dir, piece);
	w->fd[piece] = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (w->fd[piece] < 0)
		failed = errno;
	else if (unlink(path.data) != 0)
		failed = errno;
	str_release(&path);
	return failed;
}

/* Free bytes of the file system; NaN: unknown. */
static double free_bytes(const struct work *w)
{
	struct statvfs room;

	if (statvfs(w->job->dir, &room) != 0)
		return NAN;
	return (double)room.f_bfree * (double)room.f_frsize;
}

static int measure_piece(struct work *w, int piece, char *chunk)
{
	const struct storage_reduction_job *job = w->job;
	/* What goes to a server is all of it, and says nothing of what it keeps. */
	bool counted = job->counters->kind == COUNTER_BLOCK && !job->place->over_network;
	struct counted before, after;
	double room;
	int failed = create(w, piece);

	counted = counted && storage_counters_read(job->counters, job->root, &before);
	room = free_bytes(w);
	if (!failed)
		failed = write_piece(w, piece, chunk);
	if (failed)
		return failed;
	counted = counted && storage_counters_read(job->counters, job->root, &after);
	w->share[COUNTERS][piece] =
		counted ? (after.written_bytes - before.written_bytes) / REDUCTION_PIECE : NAN;
	w->share[FREE][piece] = (room - free_bytes(w)) / REDUCTION_PIECE;
	return 0;
}

static bool believed(const double *share)
{
	return share[FIRST] >= SEEN && share[LAST] >= SEEN;
}

static void read_blocks(struct work *w)
{
	struct stat info;

	for (int i = 0; i < PIECES; i++)
		w->share[BLOCKS][i] = fstat(w->fd[i], &info) == 0
		                              ? (double)info.st_blocks * 512 / REDUCTION_PIECE
		                              : NAN;
}

/* The last piece is accounted for last; then all are. */
static void settle(struct work *w)
{
	int64_t until = clock_now(w->job->clock) + SETTLE_S * NS_PER_S;

	read_blocks(w);
	while (!believed(w->share[BLOCKS]) && clock_now(w->job->clock) < until &&
	       clock_now(w->job->clock) < w->job->deadline_ns) {
		clock_sleep(w->job->clock, NS_PER_S / 2);
		read_blocks(w);
	}
}

/* The gauge to go by, -1: none. Counters and blocks err upwards alone, so the one
 * that saw least is right; free space moves both ways with others' files, so it
 * must have told the control exactly. */
static int choose_gauge(const struct work *w)
{
	const double *counters = w->share[COUNTERS], *blocks = w->share[BLOCKS];
	const double *room = w->share[FREE];
	bool count = believed(counters), account = believed(blocks);

	if (count && account)
		return fmin(blocks[COMPRESSIBLE], blocks[REPEATED]) <
		                       fmin(counters[COMPRESSIBLE], counters[REPEATED])
		               ? BLOCKS
		               : COUNTERS;
	if (count || account)
		return count ? COUNTERS : BLOCKS;
	if (believed(room) && fmax(room[FIRST], room[LAST]) <= 2 - SEEN)
		return FREE;
	return -1;
}

static bool is_whole(const double *share)
{
	return share[COMPRESSIBLE] >= SEEN && share[REPEATED] >= SEEN;
}

/* Only bytes that did arrive at a disk show that nothing was saved on the way:
 * accounts of a file system know of its compression, and seldom of deduplication.
 * ZFS writes its log in full, whatever becomes of the data later. */
static bool shows_absence(const struct work *w)
{
	return believed(w->share[COUNTERS]) && is_whole(w->share[COUNTERS]) &&
	       strcmp(w->job->place->fs, "zfs") != 0;
}

static enum storage_reduction judge(const struct work *w, int gauge)
{
	double compressible = w->share[gauge][COMPRESSIBLE], repeated = w->share[gauge][REPEATED];

	if (compressible < REDUCED && repeated < REDUCED)
		return REDUCTION_BOTH;
	if (compressible < REDUCED)
		return REDUCTION_COMPRESSION;
	if (repeated < REDUCED)
		return REDUCTION_DEDUPLICATION;
	if (is_whole(w->share[gauge]) && shows_absence(w))
		return REDUCTION_NONE;
	return REDUCTION_UNKNOWN;
}

static void conclude(struct storage_reduced *out, const struct work *w)
{
	int gauge = choose_gauge(w);

	if (gauge < 0)
		return;
	out->gauge = gauge_names[gauge];
	out->incompressible = fmin(w->share[gauge][FIRST], w->share[gauge][LAST]);
	out->compressible = w->share[gauge][COMPRESSIBLE];
	out->repeated = w->share[gauge][REPEATED];
	out->result = judge(w, gauge);
}

enum status storage_reduction_find(struct storage_reduced *out,
                                   const struct storage_reduction_job *job, struct error *err)
{
	struct work w = {.job = job, .fd = {-1, -1, -1, -1}};
	char *chunk = aligned_alloc(STORAGE_BLOCK, PERIOD);
	int failed = 0;

	if (!chunk)
		die_nomem();
	*out = (struct storage_reduced){
		.incompressible = NAN, .compressible = NAN, .repeated = NAN};
	for (int i = 0; i < PIECES && !failed; i++)
		failed = measure_piece(&w, i, chunk);
	free(chunk);
	if (!failed) {
		settle(&w);
		conclude(out, &w);
	}
	for (int i = 0; i < PIECES; i++)
		if (w.fd[i] >= 0)
			close(w.fd[i]);
	return failed && failed != ETIMEDOUT ? error_errno(err, job->dir, failed) : ST_OK;
}

const char *storage_reduction_name(enum storage_reduction result)
{
	switch (result) {
	case REDUCTION_NONE:
		return "no";
	case REDUCTION_COMPRESSION:
		return "compression";
	case REDUCTION_DEDUPLICATION:
		return "deduplication";
	case REDUCTION_BOTH:
		return "both";
	default:
		return NULL;
	}
}
