/* What the commands share. */
#ifndef ASSAY_CLI_CLI_H
#define ASSAY_CLI_CLI_H

#include <signal.h>

#include "cli/options.h"
#include "report/report.h"
#include "run/rundir.h"
#include "score/score.h"

#ifndef ASSAY_VERSION
#define ASSAY_VERSION "0.0.0"
#endif

extern const struct command command_list, command_run, command_probe, command_score, command_report,
	command_compare, command_verify, command_bill;

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
	bool open;
};

struct judge_request {
	const char *dir;
	const char *profile; /* NULL: the one of the run */
	const char *config_dir;
	enum rule_stage stage;
	bool again; /* what there is to note was said the first time */
	/* Where the command has EVIDENCE_OPTIONS; else NULL. */
	const struct options *evidence;
};

enum status cli_judge(struct judged *j, const struct judge_request *request, struct error *err);
void cli_judged_release(struct judged *j);
int cli_verdict_code(const struct scorecard *card);

/* Writes a report to a file, or to stdout for "-". */
enum status cli_write_report(const char *format, const char *file, const struct scorecard *card,
                             const struct report_options *options, struct error *err);

/* A text likewise. */
enum status cli_write_text(const char *file, const struct str *text, struct error *err);

/* What a run is judged by when no profile was named. */
#define DEFAULT_PROFILE "thousand-card"

/* The exit code that fits a status that ended a command. */
int cli_status_code(enum status st);

#endif
