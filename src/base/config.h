/* Files of configs/, embedded at build and overridden by --config-dir. */
#ifndef ASSAY_BASE_CONFIG_H
#define ASSAY_BASE_CONFIG_H

#include <stddef.h>

#include "base/error.h"
#include "base/str.h"

struct embedded_file {
	const char *name; /* relative to configs/: "profiles/thousand-card.json" */
	const char *data;
	size_t len;
};

extern const struct embedded_file embedded_files[]; /* sorted by name, ends with NULL */

/* Reads config file `name`: from `dir` if given and it is there, else the
 * embedded one. `where` gets the path, or "built-in:NAME". */
enum status config_read(struct str *out, struct str *where, const char *dir, const char *name,
                        struct error *err);
/* Names (without folder and ending) of all files "folder/X.ending", embedded and
 * in dir; NULL-terminated, sorted, from malloc: free each and the list. */
char **config_list(const char *dir, const char *folder, const char *ending);
void config_list_free(char **names);

#endif
