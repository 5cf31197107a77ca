/* Evidence kept with a run: copies of the logs, the quote, the bill and what else was given
 * beside it, and the options they were given with, so that the run can be judged again
 * without them at hand, by assay verify on an archive or years later:
 *
 *   evidence/1-bill.csv, evidence/2-logs/n1.heartbeat.csv …
 *   evidence.json: {"v":1,"options":[{"option":"bill","value":"bill.csv","file":
 *                   "evidence/1-bill.csv"}, {"option":"invoice","value":"I1=98.40"} …],
 *                   "files":[{"name":…,"bytes":…,"sha256":…}]}
 *
 * Scorecards name the files as they were given. */
#ifndef ASSAY_CLI_EVIDENCE_KEPT_H
#define ASSAY_CLI_EVIDENCE_KEPT_H

#include "cli/evidence.h"

#define EVIDENCE_FILE   "evidence.json"
#define EVIDENCE_FOLDER "evidence"

/* Copies what the options name into the run directory, in place of what was kept there. On
 * failure what was kept before is still there, or nothing. */
enum status evidence_keep(const char *dir, const struct options *options, struct error *err);

/* evidence_take by what is kept with the run; nothing where nothing is. ST_CORRUPT: a file is
 * not the one that was kept. */
enum status evidence_take_kept(struct rundir *run, const char *config_dir,
                               const struct evidence_file **files, int *n, struct error *err);

#endif
