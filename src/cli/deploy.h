/* The stopwatch from the order of a cluster to its first verified distributed step,
 * and the log of node changes, as readings of the run. Who ordered when, and how
 * often he had to lend a hand, only the customer knows (--ordered-at,
 * --manual-steps, --scale-log); when the step was right, the run knows. */
#ifndef ASSAY_CLI_DEPLOY_H
#define ASSAY_CLI_DEPLOY_H

#include <stddef.h>

#include "base/error.h"

struct run_setup;
struct deploy;

/* Checks what was given: a time with its zone that is not later than now, a log that
 * can be read (ST_USAGE, ST_PARSE …). */
enum status deploy_check(struct run_setup *setup, struct error *err);

/* Of a run about to measure; of one that is resumed it knows the earlier readings. */
struct deploy *deploy_open(struct run_setup *setup);
/* Each line of a reading, as it is stored. */
void deploy_hear(struct deploy *d, const char *line, size_t len);
/* Stores the readings about the cluster at the end of the run; none where the probe
 * frameworks was left out, whose figures they are. */
enum status deploy_tell(struct deploy *d,
                        enum status (*store)(void *arg, const char *line, size_t len,
                                             struct error *err),
                        void *arg, struct error *err);
void deploy_close(struct deploy *d); /* NULL is fine */

#endif
