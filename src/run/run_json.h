/* run.json: written once, digested in the journal's first line. */
#ifndef ASSAY_RUN_RUN_JSON_H
#define ASSAY_RUN_RUN_JSON_H

#include "assay/run.h"
#include "base/arena.h"
#include "base/error.h"

#define RUN_VERSION 1

/* ST_INTERNAL when a member that every run has is missing. */
enum status run_json_format(struct str *out, const struct run_info *info, struct error *err);
/* `path` is for messages; texts go to the arena. A newer major version, a
 * missing member or a wrong type is ST_PARSE with its place. */
enum status run_json_parse(struct run_info *info, struct arena *arena, const char *path,
                           const char *text, size_t len, struct error *err);

#endif
