/* Merging fio's job entries. Counts and rates add up; a latency is the worst of
 * the entries, or exact when all of them printed bins. cJSON's valueint
 * saturates at 2^31: only valuedouble is used, exact to 2^53. */
#include "fio_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct fio_latency absent = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* One entry, before it is merged. */
struct entry {
	double ios, bytes, runtime_s;
	struct fio_latency slat, clat, lat;
	struct fio_bin *bins;
	size_t n_bins;
	bool bins_of_lat;
};

void fio_job_clear(struct fio_result *r)
{
	r->slat = r->clat = r->lat = absent;
	r->share_below_1ms = r->depth = r->util = NAN;
	r->usr_cpu = r->sys_cpu = r->short_ios = r->dropped_ios = NAN;
	r->version = "";
	r->notes = "";
}

/* A number that must not be negative; NaN when absent or null. */
static double optional(const cJSON *o, const char *key, bool *bad)
{
	const cJSON *n = json_get(o, key);

	if (!n || cJSON_IsNull(n))
		return NAN;
	if (cJSON_IsNumber(n) && n->valuedouble >= 0)
		return n->valuedouble;
	*bad = true;
	return NAN;
}

static double required(const cJSON *o, const char *key, bool *bad)
{
	double value = optional(o, key, bad);

	if (!isnan(value))
		return value;
	*bad = true;
	return 0;
}

/* Known values only, as in a sum of which some terms were not printed. */
static double plus(double a, double b)
{
	return isnan(a) ? b : isnan(b) ? a : a + b;
}

/* One unknown among several makes the worst of them unknown. */
static double worse(double a, double b)
{
	return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

static double weighted(double a, double n, double b, double m)
{
	return n <= 0 ? b : m <= 0 ? a : (a * n + b * m) / (n + m);
}

/* --- latency --------------------------------------------------------------------- */

static double percentile(const cJSON *list, double p)
{
	for (const cJSON *e = list ? list->child : NULL; e; e = e->next)
		if (cJSON_IsNumber(e) && e->string && fabs(strtod(e->string, NULL) - p) < 1e-6)
			return e->valuedouble;
	return NAN;
}

/* NAME_ns (nanoseconds, from 3.0) or NAME (microseconds, before). Zeros of a
 * latency nobody took are absent, but for N, which is then 0. */
static struct fio_latency latency(const cJSON *direction, const char *name, const cJSON **source,
                                  double *to_us, bool *bad)
{
	struct fio_latency l = absent;
	const cJSON *o = json_get(direction, tmpf("%s_ns", name)), *list;

	*to_us = o ? 1e-3 : 1;
	*source = o = o ? o : json_get(direction, name);
	if (!cJSON_IsObject(o))
		return l;
	l.n = optional(o, "N", bad);
	if (l.n == 0 ||
	    (isnan(l.n) && json_number(o, "max", 0) == 0 && json_number(o, "mean", 0) == 0))
		return l;
	l.min = optional(o, "min", bad) * *to_us;
	l.mean = optional(o, "mean", bad) * *to_us;
	l.max = optional(o, "max", bad) * *to_us;
	l.sd = optional(o, "stddev", bad) * *to_us;
	list = json_get(o, "percentile");
	l.p50 = percentile(list, 50) * *to_us;
	l.p90 = percentile(list, 90) * *to_us;
	l.p95 = percentile(list, 95) * *to_us;
	l.p99 = percentile(list, 99) * *to_us;
	l.p99_9 = percentile(list, 99.9) * *to_us;
	l.p99_99 = percentile(list, 99.99) * *to_us;
	return l;
}

/* Ungrouped entries: mean weighted by the count, all else the worst. */
static void merge_latency(struct fio_latency *to, const struct fio_latency *from, double ios,
                          double from_ios)
{
	bool counted = !isnan(to->n) && !isnan(from->n);

	to->mean =
		weighted(to->mean, counted ? to->n : ios, from->mean, counted ? from->n : from_ios);
	to->n = counted ? to->n + from->n : NAN;
	to->min = isnan(to->min) || isnan(from->min) ? NAN : fmin(to->min, from->min);
	to->sd = NAN;
	to->max = worse(to->max, from->max);
	to->p50 = worse(to->p50, from->p50);
	to->p90 = worse(to->p90, from->p90);
	to->p95 = worse(to->p95, from->p95);
	to->p99 = worse(to->p99, from->p99);
	to->p99_9 = worse(to->p99_9, from->p99_9);
	to->p99_99 = worse(to->p99_99, from->p99_99);
}

static int by_ns(const void *a, const void *b)
{
	double d = ((const struct fio_bin *)a)->ns - ((const struct fio_bin *)b)->ns;

	return (d > 0) - (d < 0);
}

/* json+ bins keyed by duration; the raw-index form of before 2.20 carries
 * FIO_IO_U_PLAT_* entries and is left alone. */
static size_t read_bins(struct arena *arena, const cJSON *o, double to_us, struct fio_bin **out,
                        bool *bad)
{
	const cJSON *list = json_get(o, "bins");
	size_t n = 0;

	if (!cJSON_IsObject(list) || json_get(list, "FIO_IO_U_PLAT_BITS"))
		return 0;
	*out = arena_array(arena, (size_t)cJSON_GetArraySize(list) + 1, sizeof(**out));
	for (const cJSON *e = list->child; e; e = e->next) {
		char *end;
		double at = strtod(e->string, &end);

		if (end == e->string || *end || !(at >= 0) || !cJSON_IsNumber(e) ||
		    e->valuedouble < 0)
			*bad = true;
		else if (e->valuedouble > 0)
			(*out)[n++] = (struct fio_bin){at * to_us * 1e3, e->valuedouble};
	}
	qsort(*out, n, sizeof(**out), by_ns);
	return n;
}

/* Bins of part of the entries, or of clat here and lat there, are of nothing. */
static void merge_bins(struct fio_result *r, struct arena *arena, const struct entry *e,
                       bool *of_lat)
{
	if (r->jobs > 0 && (r->n_bins == 0 || e->n_bins == 0 || *of_lat != e->bins_of_lat)) {
		r->bins = NULL;
		r->n_bins = 0;
		return;
	}
	*of_lat = e->bins_of_lat;
	r->n_bins = fio_bins_merge(arena, r->bins, r->n_bins, e->bins, e->n_bins, &r->bins);
}

static void percentiles_from_bins(struct fio_latency *l, const struct fio_bin *bins, size_t n)
{
	l->p50 = fio_bins_percentile(bins, n, 0.5) * 1e-3;
	l->p90 = fio_bins_percentile(bins, n, 0.9) * 1e-3;
	l->p95 = fio_bins_percentile(bins, n, 0.95) * 1e-3;
	l->p99 = fio_bins_percentile(bins, n, 0.99) * 1e-3;
	l->p99_9 = fio_bins_percentile(bins, n, 0.999) * 1e-3;
	l->p99_99 = fio_bins_percentile(bins, n, 0.9999) * 1e-3;
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

static double sum_of(const cJSON *o)
{
	double sum = 0;

	for (const cJSON *e = o ? o->child : NULL; e; e = e->next)
		sum += cJSON_IsNumber(e) ? e->valuedouble : 0;
	return sum;
}

/* latency_ns, _us and _ms hold the percentage of clat between their bounds; the
 * last bound of _us is 1000. All zero: nothing was timed. */
static double share_below_1ms(const cJSON *job)
{
	double below = sum_of(json_get(job, "latency_ns")) + sum_of(json_get(job, "latency_us"));
	double all = below + sum_of(json_get(job, "latency_ms"));

	return json_get(job, "latency_ms") && all > 0 ? fmin(below / 100, 1) : NAN;
}

/* Mean of the submission depths, in percent per power of two. */
static double mean_depth(const cJSON *job)
{
	const cJSON *o = json_get(job, "iodepth_level");
	double sum = 0, shares = 0;

	for (const cJSON *e = o ? o->child : NULL; e; e = e->next) {
		if (!cJSON_IsNumber(e) || !e->string)
			continue;
		sum += strtod(e->string + (*e->string == '>' ? 2 : 0), NULL) * e->valuedouble;
		shares += e->valuedouble;
	}
	return shares > 0 ? sum / shares : NAN;
}

/* --- one entry -------------------------------------------------------------------- */

/* fio prints -1 as 4294967295. */
static int signed_error(const cJSON *job, bool *bad)
{
	const cJSON *n = json_get(job, "error");
	double e = cJSON_IsNumber(n) ? n->valuedouble : 0;

	if ((n && !cJSON_IsNumber(n)) || e > 4294967295.0 || e < -2147483648.0) {
		*bad = true;
		return 0;
	}
	return e > 2147483647.0 ? (int)(e - 4294967296.0) : (int)e;
}

/* 1 % of the larger; fio before 2.2.6 cut its rates to whole numbers. */
static bool disagree(double printed, double computed)
{
	return fabs(printed - computed) > fmax(0.01 * fmax(printed, computed), 1);
}

static void check_rates(struct arena *arena, const cJSON *d, const struct entry *e,
                        struct fio_checks *checks)
{
	double iops = optional(d, "iops", &checks->bad),
	       bytes = optional(d, "bw_bytes", &checks->bad);

	if (!(e->runtime_s > 0) || checks->printed)
		return;
	if (!isnan(iops) && disagree(iops, e->ios / e->runtime_s)) {
		checks->printed = arena_strf(arena, "%.0f IOPS", iops);
		checks->computed = arena_strf(arena, "%.0f IOPS", e->ios / e->runtime_s);
	} else if (!isnan(bytes) && disagree(bytes, e->bytes / e->runtime_s)) {
		checks->printed = arena_strf(arena, "%.0f B/s", bytes);
		checks->computed = arena_strf(arena, "%.0f B/s", e->bytes / e->runtime_s);
	}
}

/* io_bytes was KiB until io_kbytes appeared beside it (2.21). fio 2.1 printed no
 * count: its rate, cut to a whole number, is all there is. */
static struct entry read_entry(struct arena *arena, const cJSON *d, struct fio_checks *checks)
{
	struct entry e = {.runtime_s = required(d, "runtime", &checks->bad) / 1000};
	const cJSON *slat, *clat, *lat;
	double slat_us, clat_us, lat_us;

	e.bytes = required(d, "io_bytes", &checks->bad) * (json_get(d, "io_kbytes") ? 1 : 1024);
	e.ios = json_get(d, "total_ios") ? required(d, "total_ios", &checks->bad)
	                                 : round(required(d, "iops", &checks->bad) * e.runtime_s);
	e.slat = latency(d, "slat", &slat, &slat_us, &checks->bad);
	e.clat = latency(d, "clat", &clat, &clat_us, &checks->bad);
	e.lat = latency(d, "lat", &lat, &lat_us, &checks->bad);
	e.n_bins = read_bins(arena, lat, lat_us, &e.bins, &checks->bad);
	e.bins_of_lat = e.n_bins > 0;
	if (e.n_bins == 0)
		e.n_bins = read_bins(arena, clat, clat_us, &e.bins, &checks->bad);
	check_rates(arena, d, &e, checks);
	return e;
}

static bool other_way_only(const cJSON *job, const cJSON *d, bool write)
{
	return json_number(d, "total_ios", 0) == 0 &&
	       json_number(json_get(job, write ? "read" : "write"), "total_ios", 0) > 0;
}

static void merge_entry(struct fio_result *r, const struct entry *e, const cJSON *job, bool *bad)
{
	if (r->jobs == 0) {
		r->slat = e->slat;
		r->clat = e->clat;
		r->lat = e->lat;
		r->share_below_1ms = share_below_1ms(job);
		r->depth = mean_depth(job);
	} else {
		merge_latency(&r->slat, &e->slat, r->total_ios, e->ios);
		merge_latency(&r->clat, &e->clat, r->total_ios, e->ios);
		merge_latency(&r->lat, &e->lat, r->total_ios, e->ios);
		r->share_below_1ms =
			weighted(r->share_below_1ms, r->total_ios, share_below_1ms(job), e->ios);
		r->depth = weighted(r->depth, r->total_ios, mean_depth(job), e->ios);
	}
	r->total_ios += e->ios;
	r->io_bytes += e->bytes;
	r->runtime_s = fmax(r->runtime_s, e->runtime_s);
	r->usr_cpu = fmax(r->usr_cpu, optional(job, "usr_cpu", bad));
	r->sys_cpu = fmax(r->sys_cpu, optional(job, "sys_cpu", bad));
	r->jobs++;
}

static void read_job(struct fio_result *r, struct arena *arena, const cJSON *job, bool write,
                     struct fio_checks *checks, bool *bins_of_lat)
{
	const cJSON *d = json_get(job, write ? "write" : "read");
	int error = signed_error(job, &checks->bad);
	struct entry e;

	checks->entries++;
	if (!r->error)
		r->error = error;
	if (json_number(job, "total_err", 0) > 0) {
		checks->errors = true;
		if (!r->error)
			r->error = (int)fmin(fabs(json_number(job, "first_error", 0)), 65535);
	}
	if (!cJSON_IsObject(d)) {
		checks->bad = true;
		return;
	}
	if (other_way_only(job, d, write))
		return;
	e = read_entry(arena, d, checks);
	checks->idle = checks->idle || e.ios == 0;
	checks->no_latency = checks->no_latency || (isnan(e.clat.mean) && isnan(e.lat.mean));
	checks->shortest_s = r->jobs ? fmin(checks->shortest_s, e.runtime_s) : e.runtime_s;
	r->short_ios = plus(r->short_ios, optional(d, "short_ios", &checks->bad));
	r->dropped_ios = plus(r->dropped_ios, optional(d, "drop_ios", &checks->bad));
	merge_bins(r, arena, &e, bins_of_lat);
	merge_entry(r, &e, job, &checks->bad);
}

static bool sum_of_clients(const cJSON *job)
{
	return strcmp(json_string(job, "jobname", ""), "All clients") == 0;
}

void fio_job_read(struct fio_result *r, struct arena *arena, const cJSON *root, bool write,
                  struct fio_checks *checks)
{
	const cJSON *list = json_get(root, "jobs"), *disks = json_get(root, "disk_util");
	bool clients = !list, bins_of_lat = false;
	double group = NAN;

	if (clients)
		list = json_get(root, "client_stats");
	*checks = (struct fio_checks){0};
	r->version = arena_str(arena, json_string(root, "fio version", ""));
	for (const cJSON *job = cJSON_IsArray(list) ? list->child : NULL; job; job = job->next) {
		if (clients && sum_of_clients(job))
			continue;
		checks->groups = checks->groups ||
		                 (!isnan(group) && json_number(job, "groupid", 0) != group);
		group = json_number(job, "groupid", 0);
		read_job(r, arena, job, write, checks, &bins_of_lat);
	}
	for (const cJSON *d = cJSON_IsArray(disks) ? disks->child : NULL; d; d = d->next) {
		r->has_disk_util = true;
		r->util = fmax(r->util, json_number(d, "util", NAN));
	}
	if (r->runtime_s > 0) {
		r->iops = r->total_ios / r->runtime_s;
		r->bandwidth_bs = r->io_bytes / r->runtime_s;
	}
	if (r->jobs > 1 && r->n_bins)
		percentiles_from_bins(bins_of_lat ? &r->lat : &r->clat, r->bins, r->n_bins);
	complete_latency(r);
}
