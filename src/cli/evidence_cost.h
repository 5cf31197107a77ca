/* Quote and bill as evidence beside a run, and what assay bill shares with that. */
#ifndef ASSAY_CLI_EVIDENCE_COST_H
#define ASSAY_CLI_EVIDENCE_COST_H

#include "cli/evidence.h"
#include "service/bill.h"

/* Of the table in evidence.c. */
enum status evidence_quote(struct evidence *e, struct error *err);
enum status evidence_bill(struct evidence *e, struct error *err);

/* The bill, quote and log that --bill, --quote, --usage and --invoice name, and
 * --bill-map, --as-of, --decimal where the command has them. */
struct cost_files {
	struct quote quote;
	struct usage usage;
	struct bill bill;
	bool has_quote, has_usage, has_bill;
};
/* On failure nothing is left open. */
enum status cost_files_read(struct cost_files *f, const struct options *o, const char *config_dir,
                            struct error *err);
/* When the bill at `path` was what it is: --as-of, else when its file was written; seconds. */
enum status cost_as_of(const struct options *o, const char *path, int64_t *as_of,
                       struct error *err);
void cost_files_release(struct cost_files *f);

#endif
