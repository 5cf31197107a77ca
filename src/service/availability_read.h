/* The logs of a watch, read: what each observer vouches for about each node. */
#ifndef ASSAY_SERVICE_AVAILABILITY_READ_H
#define ASSAY_SERVICE_AVAILABILITY_READ_H

#include "base/arena.h"
#include "service/timeline.h"

struct watched {
	struct arena *arena;
	struct observed *list; /* settled; one a log and node */
	int count, cap;
	const char **notes;
	int n_notes;
};

enum status watched_read(struct watched *w, const char *const *paths, int n_paths,
                         struct error *err);
void watched_release(struct watched *w);

#endif
