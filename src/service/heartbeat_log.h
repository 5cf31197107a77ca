/* The heartbeat log being written: one file, one writer, lines that are never
 * rewritten. A line is in the file whole or not at all: what a full disk took half
 * of is cut off again, and so is what a crash left of one. */
#ifndef ASSAY_SERVICE_HEARTBEAT_LOG_H
#define ASSAY_SERVICE_HEARTBEAT_LOG_H

#include "service/heartbeat.h"

struct heartbeat_log {
	int fd;
	char *path;
	int64_t seq;
	int64_t whole; /* bytes of whole lines */
	int64_t torn;  /* bytes of a torn line that were cut off at the opening */
	bool broken;   /* half a line could not be cut off yet */
	char head[SHA256_HEX];
	int64_t day;   /* newest UTC day that has a line, counted from 1970; -1: none */
	int64_t lines; /* of that day */
};

/* <dir>/<observer>.heartbeat.csv, made or gone on with. What is there is checked
 * first; a chain that does not hold is not continued. ST_EXISTS: another watch
 * writes it. */
enum status heartbeat_log_open(struct heartbeat_log *log, const char *dir, const char *observer,
                               struct error *err);
/* Sets beat->seq. On failure the file is as before. */
enum status heartbeat_log_append(struct heartbeat_log *log, struct heartbeat *beat,
                                 struct error *err);
/* Onto the disk, what was appended. */
enum status heartbeat_log_sync(struct heartbeat_log *log, struct error *err);
void heartbeat_log_close(struct heartbeat_log *log);

#endif
