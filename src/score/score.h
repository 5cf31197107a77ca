/* Judging: profile + readings -> findings -> scorecard. Pure: no hardware, no
 * raw files, no clock; the same input gives the same scorecard on any machine,
 * years later. */
#ifndef ASSAY_SCORE_SCORE_H
#define ASSAY_SCORE_SCORE_H

#include "assay/finding.h"
#include "assay/probe.h"
#include "base/arena.h"
#include "base/error.h"
#include "run/rundir.h"

/* All metrics there are: tables of built probes, each ending with name NULL,
 * and the planned ones (rules may name them; no probe measures them yet). */
struct metric_set {
	const struct metric *const *tables; /* ends with NULL */
	const struct metric *planned;       /* ends with name NULL; may be NULL */
};
/* *is_planned may be NULL. */
const struct metric *metric_find(const struct metric_set *set, const char *name, bool *is_planned);

struct profile; /* score/profile.h */

/* `name`: a name in config_dir or embedded, or a path. */
enum status profile_load(struct profile **out, const char *name, const char *config_dir,
                         const struct metric_set *metrics, struct error *err);
void profile_free(struct profile *p);
const char *profile_name(const struct profile *p);
/* Digest of the profile with all it extends and its card row, canonical form. */
const char *profile_sha256(const struct profile *p);
/* The canonical form itself, of which profile_sha256 is the digest: kept with a run,
 * it can be loaded again when the files it came from are gone. */
const char *profile_text(const struct profile *p);
/* Loads such a text; `name` is for messages. Its digest is that of the text. */
enum status profile_load_kept(struct profile **out, const char *name, const char *text, size_t len,
                              const char *config_dir, const struct metric_set *metrics,
                              struct error *err);

struct score_options {
	enum rule_stage stage;
	bool guessed; /* the profile was not named by the customer */
	const struct waiver *waivers;
	int n_waivers;
};

/* Whether the profile has the rules that are waived, each once: ST_USAGE with the
 * nearest rule that would have been right. */
enum status waivers_check(const struct profile *p, const struct waiver *list, int n,
                          struct error *err);

/* Fills *card; all memory from `arena`, which must outlive it, as must `run`. */
enum status score_run(struct scorecard *card, struct arena *arena, struct rundir *run,
                      const struct profile *profile, const struct metric_set *metrics,
                      const struct score_options *options, struct error *err);

#endif
