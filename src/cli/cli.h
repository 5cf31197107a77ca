/* What the commands share. */
#ifndef ASSAY_CLI_CLI_H
#define ASSAY_CLI_CLI_H

#include <signal.h>

#include "cli/options.h"
#include "report/report.h"
#include "run/rundir.h"
#include "run/waivers.h"
#include "score/score.h"

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.0.0"
#endif

#define COMMAND(name) extern const struct command command_##name;
#include "cli/commands.def"
#undef COMMAND

/* Metrics of all built probes and the planned ones. */
const struct metric_set *cli_metrics(void);

/* The number of the signal that asked us to stop, 0 before. */
extern volatile sig_atomic_t cli_signal;
/* The process is to end by _exit: a library of MPI would wait for the dead. */
extern bool cli_leave;
void cli_catch_signals(void);
/* The error, if there is one, and what the log still owes, on stderr; then both are
 * forgotten. */
void cli_say_error(struct error *err);

/* Terminal options of stdout: width, colour (tty, NO_COLOR), UTF-8. */
struct report_options cli_report_options(void);

/* A judged run and all it needs; zeroed, then opened; release always. */
struct judged {
	struct rundir run;
	struct profile *profile;
	struct arena arena;
	struct scorecard card;
	struct waiver_list waivers; /* those it was judged with */
	bool open;
};

struct judge_request {
	const char *dir;
	const char *profile; /* NULL: the one of the run, as kept with it */
	const char *config_dir;
	enum rule_stage stage;
	bool again;                      /* what there is to note was said the first time */
	const struct waiver_list *grant; /* more waivers than the run has, or NULL */
	bool drop_granted;               /* without those that were granted after it */
	/* Where the command has EVIDENCE_OPTIONS; else NULL. Where none of them was given, what
	 * is kept with the run counts (evidence_kept.h). */
	const struct options *evidence;
};

enum status cli_judge(struct judged *j, const struct judge_request *request, struct error *err);
void cli_judged_release(struct judged *j);
/* `strict`: waivers do not accept. */
int cli_verdict_code(const struct scorecard *card, bool strict);

/* Writes a file whole or not at all; to what is no regular file, and to stdout for "-", as
 * it comes. */
enum status cli_write_text(const char *file, const struct str *text, struct error *err);

/* The profile a run is judged by: the one named; else the one kept in its directory, whose
 * digest must be that of run.json (ST_CORRUPT); else, or with a folder of configuration, the
 * one of the name it was started with. */
enum status cli_profile_of(struct profile **out, const struct rundir *run, const char *named,
                           const char *config_dir, struct error *err);

/* What a run is judged by when no profile was named. */
#define DEFAULT_PROFILE "thousand-card"
/* Where a run keeps its profile, in the canonical form. */
#define PROFILE_FILE "profile.json"

/* A number within min..max; *value stays where the option was not given. */
enum status option_real(const struct options *o, const char *name, double min, double max,
                        double *value, struct error *err);

/* The exit code that fits a status that ended a command. */
int cli_status_code(enum status st);

#endif
