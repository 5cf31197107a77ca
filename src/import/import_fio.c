/* fio. Taken are 4 KiB random reads past the page cache, which is what the storage rules
 * are about; a job of another kind is named as left. Latencies are lat_ns (submission to
 * completion); fio 2.x wrote microseconds. Percentiles are of clat_ns where lat_ns has
 * none: slightly lower, and params say which. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/msg.h"
#include "import/reader.h"

/* An option of the job, or of all jobs. */
static const char *option(const struct json_doc *doc, const cJSON *job, const char *name)
{
	const char *own = json_string(json_get(job, "job options"), name, NULL);

	return own ? own : json_string(json_get(doc->root, "global options"), name, NULL);
}

static bool is_4k(const char *bs)
{
	return bs && (strcmp(bs, "4k") == 0 || strcmp(bs, "4K") == 0 || strcmp(bs, "4096") == 0 ||
	              strcmp(bs, "4Ki") == 0 || strcmp(bs, "4KiB") == 0);
}

static enum status add(struct import *in, const char *metric, const char *node, const char *path,
                       const char *point, double value, struct error *err)
{
	struct reading *r;

	if (!isfinite(value))
		return ST_OK;
	r = import_add(in, metric, err);
	if (!r)
		return ST_INTERNAL;
	r->node = node;
	r->subject.id = path;
	r->point = point;
	import_value(r, value);
	return ST_OK;
}

/* fio 3.x: nanoseconds, 2.x: microseconds. */
static double milliseconds(const cJSON *read, const char *kind, const char *percentile)
{
	const cJSON *ns = json_get(read, tmpf("%s_ns", kind)), *us = json_get(read, kind);
	const cJSON *from = ns ? ns : us;

	if (percentile)
		return json_number(json_get(from, "percentile"), percentile, NAN) /
		       (ns ? 1e6 : 1e3);
	return json_number(from, "mean", NAN) / (ns ? 1e6 : 1e3);
}

static enum status read_job(struct import *in, const struct json_doc *doc, const cJSON *job,
                            struct error *err)
{
	const char *rw = option(doc, job, "rw"), *name = json_string(job, "jobname", "?");
	const char *directory = option(doc, job, "directory"), *file = option(doc, job, "filename"),
		   *depth = option(doc, job, "iodepth");
	const char *jobs = option(doc, job, "numjobs"), *direct = option(doc, job, "direct");
	const cJSON *read = json_get(job, "read");
	const char *node, *path, *point;
	double p99 = milliseconds(read, "lat", "99.000000"), iops = json_number(read, "iops", NAN);
	enum status st;

	rw = rw ? rw : option(doc, job, "readwrite");
	if (!rw || strcmp(rw, "randread") != 0 || !is_4k(option(doc, job, "bs")) || !direct ||
	    strcmp(direct, "1") != 0 || !(iops > 0)) {
		import_left(in, tmpf("job %s (%s)", name, rw ? rw : "?"));
		return ST_OK;
	}
	if (json_int64(job, "error", 0))
		return error_set(err, ST_PARSE, MSG_import_failed_job, json_place(doc, job), name,
		                 tmpf("%d", (int)json_int64(job, "error", 0)));
	st = import_node(in, json_string(job, "hostname", NULL), &node, err);
	if (st != ST_OK)
		return st;
	path = arena_str(in->arena, directory ? directory : file ? file : "?");
	point = arena_strf(in->arena, "%lld",
	                   (long long)(depth ? strtoll(depth, NULL, 10) : 1) *
	                           (jobs ? strtoll(jobs, NULL, 10) : 1));
	st = add(in, "storage_read_iops", node, path, point, iops, err);
	if (st == ST_OK)
		st = add(in, "storage_read_lat_mean_ms", node, path, point,
		         milliseconds(read, "lat", NULL), err);
	if (st == ST_OK)
		st = add(in, "storage_read_lat_p99_ms", node, path, point,
		         isfinite(p99) ? p99 : milliseconds(read, "clat", "99.000000"), err);
	return st;
}

enum status import_fio(struct import *in, const struct json_doc *doc, struct error *err)
{
	const cJSON *job;
	enum status st = ST_OK;

	cJSON_ArrayForEach(job, json_get(doc->root, "jobs"))
	{
		st = read_job(in, doc, job, err);
		if (st != ST_OK)
			break;
	}
	return st;
}
