/* Waivers of a run: those it was started with stand in run.json, which never changes;
 * those granted when it was judged again in waivers.json beside it, bound to the record
 * they were granted for by its digest:
 *
 *     {"v":1,"run_digest":"…","waivers":[{"rule","subject","reason","by","granted"}]} */
#ifndef ASSAY_RUN_WAIVERS_H
#define ASSAY_RUN_WAIVERS_H

#include "assay/waiver.h"
#include "run/rundir.h"

#define WAIVERS_FILE "waivers.json"

struct waiver_list {
	struct waiver *items; /* of the arena that was given */
	int n;
	int stale; /* in waivers.json for another record: left out */
};

/* From "rule" or "rule,subject"; ST_USAGE when one of them, or the reason, is empty. */
enum status waiver_parse(struct waiver *w, struct arena *arena, const char *text,
                         const char *reason, const char *by, struct error *err);
/* Those of options: as many reasons as waivers, else ST_USAGE. */
enum status waivers_parse(struct waiver_list *list, struct arena *arena, const char *const *waive,
                          int n_waive, const char *const *reasons, int n_reasons, const char *by,
                          struct error *err);
/* Those that hold for the run; `granted_too`: also those of waivers.json. ST_PARSE with
 * the place where that file is no such list. */
enum status waivers_of_run(struct waiver_list *list, struct arena *arena, const struct rundir *run,
                           bool granted_too, struct error *err);
/* Adds, or puts in place of one of the same rule and subject. */
void waivers_put(struct waiver_list *list, struct arena *arena, const struct waiver *w);
/* Writes those that were granted later; a file that would hold none is removed. */
enum status waivers_save(const struct waiver_list *list, const struct rundir *run,
                         struct error *err);

#endif
