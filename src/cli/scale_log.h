/* The log of node changes (--scale-log): what the provider's console or API said of
 * nodes ordered and given back. A CSV with the columns
 *
 *     time,action,node,ready_time[,job]
 *
 * time and ready_time like 2026-12-02T10:00:00+08:00 (or with Z for UTC); action add
 * or remove; ready_time when the node could be used, or was gone, empty: never; job
 * how a training job that ran meanwhile fared: survived, restarted, lost, or empty.
 * Lines may be in any order. */
#ifndef ASSAY_CLI_SCALE_LOG_H
#define ASSAY_CLI_SCALE_LOG_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "stats/samples.h"

struct scale_way {
	int asked, done;        /* changes ordered; those that became ready */
	struct samples minutes; /* of those, in the order of the log */
};

struct scale_log {
	struct scale_way out, in;
	int jobs_survived, jobs_not; /* rows that say so; restarted and lost are not */
	const char *sha256;          /* of the file */
};

/* now_ns: later times are refused. ST_PARSE, ST_NOTFOUND … with file and line.
 * Release it also after an error. */
enum status scale_log_read(struct scale_log *log, struct arena *arena, const char *path,
                           int64_t now_ns, struct error *err);
void scale_log_release(struct scale_log *log);

#endif
