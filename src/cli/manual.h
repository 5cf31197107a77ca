/* The man page and the completion of bash, made of the tables that --help is made of, so
 * that neither can be behind. Both are for the build: `assay --man`, `assay --completion`. */
#ifndef ASSAY_CLI_MANUAL_H
#define ASSAY_CLI_MANUAL_H

#include "base/str.h"
#include "cli/options.h"

/* The list ends with NULL. */
void manual_page(struct str *out, const struct command *const *commands);
void manual_completion(struct str *out, const struct command *const *commands);

#endif
