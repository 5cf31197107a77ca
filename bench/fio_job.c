/* Merging fio's job entries. Counts and rates add up; a latency is the worst of
 * the jobs, or exact when all of them printed bins. cJSON's valueint saturates
 * at 2^31: only valuedouble is used, exact to 2^53. */
#include "fio_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct fio_latency absent = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

void fio_job_clear(struct fio_result *r)
{
	r->slat = r->clat = r->lat = absent;
	r->share_below_1ms = r->depth = r->util = NAN;
	r->version = "";
	r->notes = "";
}

/* A number that must not be negative; *bad is set when it is, or is no number. */
static double count_of(const cJSON *o, const char *key, bool *bad)
{
	const cJSON *n = json_get(o, key);

	if (!n || cJSON_IsNull(n))
		return 0;
	if (!cJSON_IsNumber(n) || n->valuedouble < 0)
		*bad = true;
	return cJSON_IsNumber(n) ? n->valuedouble : 0;
}

static void worst(double *a, double b)
{
	if (isnan(*a) || b > *a)
		*a = b;
}

/* --- latency --------------------------------------------------------------------- */

static double percentile(const cJSON *list, double p)
{
	for (const cJSON *e = list ? list->child : NULL; e; e = e->next)
		if (cJSON_IsNumber(e) && fabs(strtod(e->string, NULL) - p) < 1e-6)
			return e->valuedouble;
	return NAN;
}

/* lat_ns (nanoseconds, from 3.0) or lat (microseconds, before). */
static struct fio_latency latency(const cJSON *direction, const char *name, const cJSON **source, double *to_us,
                                  bool *bad)
{
	struct fio_latency l = absent;
	const cJSON *o = json_get(direction, tmpf("%s_ns", name)), *list;
	double scale = 1e-3;

	if (!o) {
		o = json_get(direction, name);
		scale = 1;
	}
	*source = o;
	*to_us = scale;
	if (!cJSON_IsObject(o))
		return l;
	l.n = json_get(o, "N") ? count_of(o, "N", bad) : NAN;
	l.min = count_of(o, "min", bad) * scale;
	l.mean = count_of(o, "mean", bad) * scale;
	l.max = count_of(o, "max", bad) * scale;
	l.sd = count_of(o, "stddev", bad) * scale;
	list = json_get(o, "percentile");
	l.p50 = percentile(list, 50) * scale;
	l.p90 = percentile(list, 90) * scale;
	l.p95 = percentile(list, 95) * scale;
	l.p99 = percentile(list, 99) * scale;
	l.p99_9 = percentile(list, 99.9) * scale;
	l.p99_99 = percentile(list, 99.99) * scale;
	return l;
}

/* Several ungrouped jobs: mean weighted by N, all else the worst. */
static void merge_latency(struct fio_latency *to, const struct fio_latency *from)
{
	double n = isnan(to->n) ? 0 : to->n, m = isnan(from->n) ? 0 : from->n;

	if (isnan(to->mean)) {
		*to = *from;
		return;
	}
	to->mean = n + m > 0 ? (to->mean * n + from->mean * m) / (n + m) : fmax(to->mean, from->mean);
	to->n = n + m;
	to->min = fmin(to->min, from->min);
	to->sd = NAN;
	worst(&to->max, from->max);
	worst(&to->p50, from->p50);
	worst(&to->p90, from->p90);
	worst(&to->p95, from->p95);
	worst(&to->p99, from->p99);
	worst(&to->p99_9, from->p99_9);
	worst(&to->p99_99, from->p99_99);
}

static int by_ns(const void *a, const void *b)
{
	double d = ((const struct fio_bin *)a)->ns - ((const struct fio_bin *)b)->ns;

	return (d > 0) - (d < 0);
}

/* json+ bins keyed by duration; the raw-index form of before 2.20 carries
 * FIO_IO_U_PLAT_* entries and is left alone. */
static size_t read_bins(struct arena *arena, const cJSON *o, double to_us, struct fio_bin **out)
{
	const cJSON *list = json_get(o, "bins");
	size_t n = 0;

	if (!cJSON_IsObject(list) || json_get(list, "FIO_IO_U_PLAT_BITS"))
		return 0;
	*out = arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(**out));
	for (const cJSON *e = list->child; e; e = e->next)
		if (cJSON_IsNumber(e) && e->valuedouble > 0)
			(*out)[n++] = (struct fio_bin){strtod(e->string, NULL) * to_us * 1e3, e->valuedouble};
	qsort(*out, n, sizeof(**out), by_ns);
	return n;
}

/* latency_us and _ms hold the share of clat up to each bound; the last bound of
 * _us is 1000. Sum of _ns and _us is the share below 1 ms. */
static double share_below_1ms(const cJSON *job)
{
	static const char *const parts[] = {"latency_ns", "latency_us"};
	double sum = 0;
	bool any = json_get(job, "latency_ms") != NULL;

	for (int i = 0; i < 2; i++) {
		const cJSON *o = json_get(job, parts[i]);

		for (const cJSON *e = o ? o->child : NULL; e; e = e->next)
			sum += cJSON_IsNumber(e) ? e->valuedouble : 0;
	}
	return any ? fmin(sum / 100, 1) : NAN;
}

/* Mean of the submission depths, in percent per power of two. */
static double mean_depth(const cJSON *job)
{
	const cJSON *o = json_get(job, "iodepth_level");
	double sum = 0, shares = 0;

	for (const cJSON *e = o ? o->child : NULL; e; e = e->next) {
		if (!cJSON_IsNumber(e))
			continue;
		sum += strtod(e->string + (*e->string == '>' ? 2 : 0), NULL) * e->valuedouble;
		shares += e->valuedouble;
	}
	return shares > 0 ? sum / shares : NAN;
}

/* --- one job ---------------------------------------------------------------------- */

/* bw_bytes from 3.2; before, bw in KiB/s (3.x) or KB/s (2.x). io_bytes was KiB
 * until io_kbytes appeared beside it (2.21). */
static double bytes_of(const cJSON *direction, bool *bad)
{
	double bytes = count_of(direction, "io_bytes", bad);

	return json_get(direction, "io_kbytes") ? bytes : bytes * 1024;
}

static int signed_error(const cJSON *job)
{
	double e = json_number(job, "error", 0);

	return e > 2147483647.0 ? (int)(e - 4294967296.0) : (int)e;
}

static bool read_job(struct fio_result *r, struct arena *arena, const cJSON *job, bool write, double *printed_iops)
{
	const cJSON *d = json_get(job, write ? "write" : "read"), *clat_at, *lat_at, *slat_at;
	struct fio_latency slat, clat, lat;
	struct fio_bin *bins = NULL;
	double clat_us, lat_us, slat_us, runtime;
	bool bad = false;
	size_t n;

	if (!r->error)
		r->error = signed_error(job);
	if (!cJSON_IsObject(d))
		return r->error != 0;
	runtime = count_of(d, "runtime", &bad) / 1000;
	r->total_ios += count_of(d, "total_ios", &bad);
	r->io_bytes += bytes_of(d, &bad);
	r->short_ios += count_of(d, "short_ios", &bad);
	r->dropped_ios += count_of(d, "drop_ios", &bad);
	r->runtime_s = fmax(r->runtime_s, runtime);
	*printed_iops += count_of(d, "iops", &bad);
	slat = latency(d, "slat", &slat_at, &slat_us, &bad);
	clat = latency(d, "clat", &clat_at, &clat_us, &bad);
	lat = latency(d, "lat", &lat_at, &lat_us, &bad);
	merge_latency(&r->slat, &slat);
	merge_latency(&r->clat, &clat);
	merge_latency(&r->lat, &lat);
	n = read_bins(arena, lat_at, lat_us, &bins);
	if (n == 0)
		n = read_bins(arena, clat_at, clat_us, &bins);
	r->n_bins = fio_bins_merge(arena, r->bins, r->n_bins, bins, n, &r->bins);
	worst(&r->share_below_1ms, share_below_1ms(job));
	r->depth = (isnan(r->depth) ? 0 : r->depth) + mean_depth(job);
	r->usr_cpu = fmax(r->usr_cpu, count_of(job, "usr_cpu", &bad));
	r->sys_cpu = fmax(r->sys_cpu, count_of(job, "sys_cpu", &bad));
	r->jobs++;
	return !bad;
}

/* The p99 of lat where fio printed it, else clat's plus the mean of slat: at
 * worst too high by what slat varies. */
static void complete_latency(struct fio_result *r)
{
	double add = isnan(r->slat.mean) ? 0 : r->slat.mean;

	if (!isnan(r->lat.p99) || isnan(r->clat.p99))
		return;
	r->lat_from_clat = true;
	r->lat.p50 = r->clat.p50 + add;
	r->lat.p90 = r->clat.p90 + add;
	r->lat.p95 = r->clat.p95 + add;
	r->lat.p99 = r->clat.p99 + add;
	r->lat.p99_9 = r->clat.p99_9 + add;
	r->lat.p99_99 = r->clat.p99_99 + add;
}

static bool all_clients(const cJSON *job)
{
	return strcmp(json_string(job, "jobname", ""), "All clients") == 0;
}

bool fio_job_read(struct fio_result *r, struct arena *arena, const cJSON *root, bool write, double *printed_iops)
{
	const cJSON *list = json_get(root, "jobs");
	const cJSON *disks = json_get(root, "disk_util");
	bool ok = true;

	if (!list)
		list = json_get(root, "client_stats");
	r->version = arena_str(arena, json_string(root, "fio version", ""));
	for (const cJSON *job = cJSON_IsArray(list) ? list->child : NULL; job; job = job->next)
		if (!all_clients(job))
			ok = read_job(r, arena, job, write, printed_iops) && ok;
	for (const cJSON *d = cJSON_IsArray(disks) ? disks->child : NULL; d; d = d->next) {
		r->has_disk_util = true;
		worst(&r->util, json_number(d, "util", NAN));
	}
	if (r->runtime_s > 0) {
		r->iops = r->total_ios / r->runtime_s;
		r->bandwidth_bs = r->io_bytes / r->runtime_s;
	}
	complete_latency(r);
	return ok && r->jobs > 0;
}
