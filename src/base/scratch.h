/* Scratch directories: <storage>/.assay-<run>/<node>, made by scratch_make
 * (base/proc.h) and removed here, whatever the child put in or made of them.
 * Removal follows no symbolic link below the storage path, stays on the file
 * system, and never touches a path without an ".assay-" component. */
#ifndef ASSAY_BASE_SCRATCH_H
#define ASSAY_BASE_SCRATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* One directory to be removed later, as it was when taken note of: another
 * directory under the same name (a resumed run's) is left alone. */
struct scratch {
	char *path;
	bool known; /* was there */
	dev_t dev;
	ino_t ino;
	int lock_fd; /* shared lock on <path>/lock, or -1 */
};

/* Notes `path`; with `hold` also takes a shared lock, so that no sweep mistakes
 * the directory for a left-over. ST_USAGE: not a path Assay may remove; s is released. */
enum status scratch_note(struct scratch *s, const char *path, bool hold, struct error *err);
/* Removes it and its emptied parents down from the ".assay-" component. Gone
 * already is ST_OK. */
enum status scratch_remove(struct scratch *s, struct error *err);
void scratch_release(struct scratch *s);

#endif
