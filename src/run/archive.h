/* The archive of a run's evidence: one tar file (POSIX ustar) that is the same byte for
 * byte whoever makes it when from the same run: members in the order of their names,
 * no owner, no time. Plain tar, so that it can be looked into in ten years, and small
 * enough to write here: what tar libraries are for - links, owners, devices - is just
 * what evidence must not contain, and is refused when read. */
#ifndef ASSAY_RUN_ARCHIVE_H
#define ASSAY_RUN_ARCHIVE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

#define ARCHIVE_MANIFEST "manifest.json"
/* A member is at most this long, all together 16 times that. */
#define ARCHIVE_MEMBER_MAX ((int64_t)8 << 30)

struct archive_file {
	const char *name; /* relative to the top, "raw/n001/gemm.csv" */
	const char *text; /* what is in it; NULL: the file of that name in the directory */
	int64_t bytes;
	char sha256[65];
};

struct archive_list {
	struct archive_file *files;
	int64_t n, cap;
};

/* Adds what `names` (NULL-terminated; a folder ends in '/') has of regular files in
 * `dir`, with size and digest. A name that is not there is left out; a link or anything
 * else that is no file is ST_CORRUPT. */
enum status archive_add(struct archive_list *list, struct arena *arena, const char *dir,
                        const char *const *names, struct error *err);
void archive_add_text(struct archive_list *list, struct arena *arena, const char *name,
                      const char *text);
void archive_sort(struct archive_list *list);

/* Writes `path` (whole or not at all): the manifest's text, then the files, all below the
 * folder `top`. ST_CORRUPT if a file is not what the list says any more. */
enum status archive_write(const char *path, const char *top, const char *dir, const char *manifest,
                          const struct archive_list *list, struct error *err);

/* Unpacks into `dir`, which is empty and ours alone. *top: the folder all of it is below.
 * ST_CORRUPT with the member for anything archive_write does not write: a link, an
 * absolute name, "..", a name twice, a wrong checksum, an end that is missing. */
enum status archive_unpack(const char *path, const char *dir, struct arena *arena, const char **top,
                           struct error *err);

/* Removes a directory that archive_unpack filled, with everything in it. */
void archive_remove(const char *dir);

#endif
