/* Readings of the storage probe. Every figure of an operating point is a reading
 * of its own with the same `point`, so that a rule can pick the point by one
 * figure and judge another there. */
#include "storage_figures.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/unit.h"
#include "fio_series.h"
#include "hw/host.h"

/* One CPU is busy with fio from here on: the client is the limit, not the path. */
#define BUSY_PERCENT 90

/* clang-format off */
#define PATH_METRIC(name, unit, better, backend, formula) \
	{name, unit, BETTER_##better, SUBJECT_PATH, BACKEND_##backend, formula}
/* In the order of enum figure. */
#define SET(prefix, backend)                                                                    \
	PATH_METRIC(prefix "storage_read_iops", "IOPS", HIGHER, backend,                                 \
		"4 KiB random reads completed / seconds, one fio run an operating point"),      \
	PATH_METRIC(prefix "storage_read_lat_mean_ms", "ms", LOWER, backend,                             \
		"mean time of a 4 KiB random read, submission to completion"),                  \
	PATH_METRIC(prefix "storage_read_lat_p99_ms", "ms", LOWER, backend,                              \
		"99th percentile of the time of a 4 KiB random read"),                          \
	PATH_METRIC(prefix "storage_read_lat_p999_ms", "ms", LOWER, backend,                             \
		"99.9th percentile of the time of a 4 KiB random read"),                        \
	PATH_METRIC(prefix "storage_read_cv", "1", LOWER, backend,                                       \
		"standard deviation / mean of the reads a second, over a long run at one "      \
		"operating point"),                                                             \
	PATH_METRIC(prefix "storage_read_worst_second", "1", HIGHER, backend,                            \
		"reads of the slowest second / mean, over that run"),                           \
	PATH_METRIC(prefix "storage_read_thirds", "1", HIGHER, backend,                                  \
		"reads of the last third of that run / reads of its first"),                    \
	PATH_METRIC(prefix "storage_lat_depth1_us", "us", LOWER, backend,                                \
		"median time of a 4 KiB random read, one at a time"),                           \
	PATH_METRIC(prefix "storage_read_iops_max", "IOPS", HIGHER, backend,                             \
		"4 KiB random reads a second at the fastest depth, whatever the latency"),      \
	PATH_METRIC(prefix "storage_knee_depth", "1", NEITHER, backend,                                  \
		"smallest depth that reaches 90 % of the fastest"),                             \
	PATH_METRIC(prefix "storage_depth_below_1ms", "1", HIGHER, backend,                              \
		"greatest depth whose 99th percentile is below the limit; 0: none is"),         \
	PATH_METRIC(prefix "storage_offered_iops", "IOPS", NEITHER, backend,                             \
		"greatest depth / mean time of a read at depth 1: no more can be asked for"),   \
	PATH_METRIC(prefix "storage_limit", "text", NEITHER, backend,                                    \
		"what held the chosen point back: storage, client_cpu, client_link or "         \
		"offered_load"),                                                                \
	PATH_METRIC(prefix "storage_data_real", "1", HIGHER, backend,                                    \
		"random blocks read back as Assay wrote them / blocks read back"),              \
	PATH_METRIC(prefix "storage_counter_ratio", "1", HIGHER, backend,                                \
		"bytes the devices or network ports below the path read / bytes fio read; "     \
		"below 0.9 a cache answered"),           \
	PATH_METRIC(prefix "storage_cache_signs", "1", LOWER, backend,                                   \
		"signs in the speeds that a cache answers: second reading faster, small set "   \
		"faster, random faster than sequential, faster than the round trip, faster "    \
		"than the link"),                                                               \
	PATH_METRIC(prefix "storage_burst_signs", "1", LOWER, backend,                                   \
		"signs that speed is lent: last third of the long run slower, and slower "      \
		"after it than before"),                                                        \
	PATH_METRIC(prefix "storage_signs", "text", NEITHER, backend,                                    \
		"the signs of both kinds that show, with ratio and interval; or none"),         \
	PATH_METRIC(prefix "storage_reduction", "text", NEITHER, backend,                                \
		"whether the storage compresses or deduplicates what is written: no, "          \
		"compression, deduplication, both"),                                            \
	PATH_METRIC(prefix "storage_write_mbs", "MB/s", HIGHER, backend,                                 \
		"bytes of the test data / seconds to the end of fsync, one writer"),            \
	PATH_METRIC(prefix "storage_engine", "text", NEITHER, backend, "first I/O engine that worked"),  \
	PATH_METRIC(prefix "storage_direct", "text", NEITHER, backend,                                   \
		"yes if reads went past the page cache (O_DIRECT), else no"),                   \
	PATH_METRIC(prefix "storage_fs", "text", NEITHER, backend,                                       \
		"type of the file system by statfs and the mount table"),                       \
	PATH_METRIC(prefix "storage_shared", "text", NEITHER, backend,                                   \
		"yes when other nodes' files of this run are seen below the path")
/* clang-format on */

const struct metric storage_metrics[] = {SET("", ANY), SET("local_", LOCAL), {0}};

bool storage_stop(struct storage_work *w, enum outcome outcome, enum msg id,
                  const char *const *args)
{
	w->why.outcome = outcome;
	reason_set_list(w->ctx, &w->why.reason, id, args);
	return false;
}

bool storage_path_gone(struct storage_work *w)
{
	struct stat info;
	const char *path = w->created ? w->data.path : w->ctx->scratch;

	if (w->hangs || stat(path, &info) == 0)
		return false;
	because(w, OUTCOME_FAILED, MSG_storage_gone, w->ctx->subject_id, strerror(errno));
	return true;
}

/* --- parameters of a reading --------------------------------------------- */

static void put_place(struct json_out *j, const struct storage_work *w)
{
	json_put_string(j, "fs", w->place.fs);
	json_put_string(j, "kind", w->place.kind);
	json_put_string(j, "mount", w->place.mount);
	json_put_string(j, "source", w->place.source);
}

static const char *keep(struct storage_work *w, struct str *text)
{
	const char *kept = arena_str(w->ctx->arena, text->data);

	str_release(text);
	return kept;
}

static const char *place_params(struct storage_work *w)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	put_place(&j, w);
	json_object_end(&j);
	return keep(w, &text);
}

bool storage_client_bound(const struct storage_work *w, const struct fio_job *job,
                          const struct fio_result *r)
{
	double cpu = r->usr_cpu + r->sys_cpu;
	int cpus; /* 0: unknown */

	host_allowed_cpus(w->ctx->arena, w->ctx->sys_root, &cpus);
	return cpu >= BUSY_PERCENT || (cpus > 0 && cpu * fio_threads(job) >= BUSY_PERCENT * cpus);
}

static const char *point_params(struct storage_work *w, const struct storage_point *p)
{
	const struct fio_result *r = &p->r;
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);

	json_object_begin(&j, NULL);
	json_put_int(&j, "depth", p->depth);
	json_put_int(&j, "jobs", p->threads);
	json_put_string(&j, "engine", w->job.engine);
	json_put_bool(&j, "direct", w->job.direct);
	json_put_int(&j, "block_bytes", STORAGE_BLOCK);
	json_put_int(&j, "size_bytes", w->data.bytes);
	json_put_number(&j, "runtime_s", r->runtime_s);
	json_put_bool(&j, "held", p->held);
	json_put_string(&j, "fio", r->version);
	json_put_number(&j, "reads", r->total_ios);
	json_put_number(&j, "cpu_percent", r->usr_cpu + r->sys_cpu);
	json_put_bool(&j, "client_bound", p->client_bound);
	json_put_number(&j, "share_below_1ms", r->share_below_1ms);
	json_put_number(&j, "mean_depth", r->depth);
	/* Little: what was really outstanding, over all threads. */
	json_put_number(&j, "outstanding", r->iops * r->lat.mean / 1e6);
	json_put_bool(&j, "lat_from_clat", r->lat_from_clat);
	json_put_number(&j, "window_s", p->window_s);
	json_put_int(&j, "windows", (int64_t)r->n_windows);
	if (r->short_ios > 0 || r->dropped_ios > 0) {
		json_put_number(&j, "short_reads", r->short_ios);
		json_put_number(&j, "dropped_reads", r->dropped_ios);
	}
	put_place(&j, w);
	json_object_end(&j);
	return keep(w, &text);
}

/* --- readings --------------------------------------------- */

static struct reading blank(struct storage_work *w, enum figure f, const char *params)
{
	struct reading r = reading_init();

	r.metric = w->set[f].name;
	r.subject.kind = SUBJECT_PATH;
	r.subject.id = w->ctx->subject_id;
	r.params = params ? params : place_params(w);
	w->emitted[f] = true;
	return r;
}

void storage_emit_number(struct storage_work *w, enum figure f, double value, const char *params)
{
	struct reading r = blank(w, f, params);

	r.value_kind = VALUE_NUMBER;
	r.value = value;
	w->ctx->emit(w->ctx, &r);
}

void storage_emit_text(struct storage_work *w, enum figure f, const char *text, const char *params)
{
	struct reading r = blank(w, f, params);

	r.value_kind = VALUE_TEXT;
	r.text = text;
	w->ctx->emit(w->ctx, &r);
}

void storage_emit_missing(struct storage_work *w, enum figure f, const char *point)
{
	struct reading r = blank(w, f, NULL);

	r.outcome = w->why.outcome;
	r.reason = w->why.reason;
	r.point = point;
	w->ctx->emit(w->ctx, &r);
}

void storage_emit_rest(struct storage_work *w)
{
	for (int f = 0; f < FIGURES; f++)
		if (!w->emitted[f])
			storage_emit_missing(w, (enum figure)f, NULL);
}

static void latency_stats(struct reading *r, const struct fio_latency *l, double scale)
{
	r->stats[STAT_N] = l->n;
	r->stats[STAT_MEAN] = l->mean * scale;
	r->stats[STAT_MIN] = l->min * scale;
	r->stats[STAT_MAX] = l->max * scale;
	r->stats[STAT_P50] = l->p50 * scale;
	r->stats[STAT_P95] = l->p95 * scale;
	r->stats[STAT_P99] = l->p99 * scale;
	r->stats[STAT_P99_9] = l->p99_9 * scale;
}

struct shown {
	enum figure figure;
	double value, scale; /* scale: of the latency, from us; 0: no latency */
};

static void emit_shown(struct storage_work *w, const struct shown *s, const char *name,
                       const struct storage_point *p, const char *params)
{
	struct reading reading = blank(w, s->figure, params);

	reading.point = name;
	reading.raw = p->raw;
	if (!isfinite(s->value)) {
		/* fio had its reasons: an old version without percentiles, no windows. */
		reading.outcome = OUTCOME_NOT_MEASURED;
		reason_set(w->ctx, &reading.reason,
		           s->scale > 0 ? MSG_fio_no_latency : MSG_storage_no_windows);
	} else if (!w->job.direct) {
		reading.outcome = OUTCOME_NOT_MEASURED;
		reason_set(w->ctx, &reading.reason, MSG_storage_buffered, w->ctx->subject_id,
		           fmt_measure(s->value, w->set[s->figure].unit));
	} else {
		reading.value_kind = VALUE_NUMBER;
		reading.value = s->value;
		if (s->scale > 0)
			latency_stats(&reading, &p->r.lat, s->scale);
	}
	w->ctx->emit(w->ctx, &reading);
}

static void emit_missing_point(struct storage_work *w, const struct storage_point *p,
                               const char *name)
{
	w->why = p->why;
	for (int f = 0; f < READ_CV; f++)
		storage_emit_missing(w, (enum figure)f, name);
	if (p->depth == 1)
		storage_emit_missing(w, LAT_DEPTH1, NULL);
}

void storage_emit_point(struct storage_work *w, const struct storage_point *p)
{
	const char *name = arena_strf(w->ctx->arena, "depth=%d", p->depth), *params;
	const struct fio_result *r = &p->r;
	struct fio_steadiness s = {NAN, NAN, NAN};

	if (!p->measured) {
		emit_missing_point(w, p, name);
		return;
	}
	params = point_params(w, p);
	fio_steadiness(&s, r->windows, r->n_windows);
	const struct shown all[] = {
		{READ_IOPS, r->iops, 0},
		{LAT_MEAN, r->lat.mean * 1e-3, 1e-3},
		{LAT_P99, r->lat.p99 * 1e-3, 1e-3},
		{LAT_P999, r->lat.p99_9 * 1e-3, 1e-3},
		{READ_CV, s.cv, 0},
		{READ_WORST, s.worst, 0},
		{READ_THIRDS, s.thirds, 0},
		{LAT_DEPTH1, r->lat.p50, 1},
	};

	for (int i = 0; i < (p->held ? POINT_FIGURES : READ_CV); i++)
		emit_shown(w, &all[i], name, p, params);
	if (p->depth == 1)
		emit_shown(w, &all[POINT_FIGURES], NULL, p, params);
}
