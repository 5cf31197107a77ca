/* A suite: settings of probes kept in a file, in place of many --set. */
#ifndef ASSAY_CLI_SUITE_H
#define ASSAY_CLI_SUITE_H

#include "base/arena.h"
#include "base/error.h"

/* Reads {"v": 1, "title": "…", "settings": ["probe.key=value", …]}, with comments.
 * The list is NULL-terminated, from the arena; whether there are such probes and
 * keys is for setting_parse to say. */
enum status suite_read(struct arena *arena, const char *path, const char *const **settings,
                       int *count, struct error *err);

#endif
