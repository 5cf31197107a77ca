/* Papers and logs given to assay run, score and report beside a run: heartbeat logs,
 * tickets, quotes, bills, the model to be trained. Each becomes readings that are judged
 * together with those of the run; the journal is never touched, so the scorecard says
 * which files were used, with their digests. They can be kept with the run:
 * evidence_kept.h.
 *
 * To add one: a row in EVIDENCE_OPTIONS, a function and its row in evidence.c, its
 * metrics in bench/evidence.def. */
#ifndef ASSAY_CLI_EVIDENCE_H
#define ASSAY_CLI_EVIDENCE_H

#include "assay/finding.h"
#include "base/sha256.h"
#include "cli/options.h"
#include "run/rundir.h"

/* Option rows of every command that judges a run with evidence. */
#define EVIDENCE_OPTIONS                                                                           \
	{"availability", OPTION_EACH, "DIR", 0, 0, NULL, MSG_opt_availability},                    \
		{"causes", OPTION_TEXT, "CSV", 0, 0, NULL, MSG_opt_causes},                        \
		{"tickets", OPTION_TEXT, "CSV", 0, 0, NULL, MSG_opt_tickets},                      \
		{"quote", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_quote},                         \
		{"bill", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_bill},                           \
		{"usage", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_usage},                         \
		{"vendor-report", OPTION_EACH, "FILE|DIR", 0, 0, NULL, MSG_opt_vendor_report},     \
		{"invoice", OPTION_EACH, "ID=TOTAL", 0, 0, NULL, MSG_opt_invoice},                 \
		{"params", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_params},                          \
	{                                                                                          \
		"tokens", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_tokens                             \
	}

/* What the functions of evidence.c are given and fill. */
struct evidence {
	struct arena *arena; /* the run's: what is handed out lives as long */
	const struct options *options;
	struct rundir *run;       /* as measured; NULL: papers are only tried */
	const char *config_dir;   /* or NULL */
	const char *time;         /* of now, as in a reading */
	int64_t wall_ns;          /* the same */
	struct reading *readings; /* malloc */
	int64_t n_readings, cap_readings;
	struct evidence_file *files; /* malloc */
	int n_files;
};

/* A reading about the cluster, ready for value and outcome: origin `measured`, no
 * place in the journal. `source`: what stands in place of the probe ("bill"). */
struct reading evidence_reading(const struct evidence *e, const char *source, const char *metric);
/* Takes a reading; its texts must live in the arena. */
void evidence_add(struct evidence *e, const struct reading *r);
/* Notes a file that was used, by what it is ("bill"). */
enum status evidence_note_file(struct evidence *e, const char *kind, const char *path,
                               struct error *err);

/* Whether the options, of a command with EVIDENCE_OPTIONS, name any evidence. */
bool evidence_given(const struct options *options);
/* Reads what the options name and throws it away: what cannot be read is said before half
 * an hour is spent on measuring. */
enum status evidence_try(const struct options *options, const char *config_dir, struct error *err);
/* Size and digest of a file. */
enum status evidence_digest(const char *path, char hex[SHA256_HEX], int64_t *bytes,
                            struct error *err);
/* Reads what the options name and adds it to the readings of the open run. *files, *n:
 * for the scorecard, from the run's arena. */
enum status evidence_take(struct rundir *run, const struct options *options, const char *config_dir,
                          const struct evidence_file **files, int *n, struct error *err);

#endif
