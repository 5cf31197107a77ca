/* What a node has found and rank 0 may not have saved yet, on the node's own disk:
 * a directory of its own below TMPDIR, /var/tmp, /tmp or /dev/shm, the first that can
 * be had (launchers carry a TMPDIR to nodes that have no such directory); removed at the
 * end of a run that ended in order. */
#ifndef ASSAY_COORD_SPOOL_H
#define ASSAY_COORD_SPOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct spool;

/* Makes <tmp>/.assay-<run>/<host>-<rank>, mode 0700; one that is there already and
 * ours is used (a resume), anything else by that name is refused. What an earlier attempt
 * left under another rank of this host is removed. `err` says also with ST_OK what could
 * not be had before. */
enum status spool_open(struct spool **out, const char *run, const char *host, int rank,
                       struct error *err);
const char *spool_dir(const struct spool *s);
/* Whether `dir` is the run directory of that run as seen from here. */
bool spool_sees(const char *dir, const char *run);
/* Appends a line. A spool that is full is no reason to stop: the line is on its
 * way to rank 0 all the same. */
void spool_add(struct spool *s, const char *line, size_t len);
/* So many lines of this node are saved by rank 0. */
void spool_saved(struct spool *s, int64_t lines);
/* Content of a raw file, "raw/<node>/<name>", that a probe left here. */
enum status spool_take_raw(struct spool *s, const char *file, struct str *content,
                           struct error *err);
void spool_drop_raw(struct spool *s, const char *file);
/* Removes it, unless it is to be kept and has lines that are not saved. */
void spool_close(struct spool *s, bool keep);

#endif
