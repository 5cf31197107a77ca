/* Lines on their way to where they are saved: the journal, or the rank that
 * writes it, and files of raw samples that they name. A full disk may have room
 * again later: both wait in memory, in their order, and the measurement goes on.
 * No line is saved before the files that came before it: a journal that names a
 * file which never was would read as altered. */
#ifndef ASSAY_COORD_KEEPER_H
#define ASSAY_COORD_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

struct keeper {
	/* Saves one line, without its newline. */
	enum status (*save)(void *arg, const char *line, size_t len, struct error *err);
	void *arg;
	struct kept_file *files, **last; /* that wait */
	size_t file_bytes;
	bool file_dropped;  /* one was too much to wait: no line is saved any more */
	struct str waiting; /* each with its newline */
	size_t saved;       /* of those, bytes that are */
	int64_t lines;      /* saved so far */
	int64_t dropped;    /* beyond what may wait */
	bool told;          /* trouble was said */
};

/* Takes a line and saves it and all that wait, if that can be done now. False
 * with err at the first failure only: say it once. */
bool keeper_add(struct keeper *k, const char *line, size_t len, struct error *err);
/* The same of a file, by its path; the directory is made. */
bool keeper_file(struct keeper *k, const char *path, const void *data, size_t len,
                 struct error *err);
/* Whether all that was taken is saved. */
bool keeper_empty(const struct keeper *k);
/* The last try. Releases. ST_OK, or how many lines are lost and why. */
enum status keeper_end(struct keeper *k, struct error *err);

#endif
