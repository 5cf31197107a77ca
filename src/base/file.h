/* Files: whole-file reading with a bound, durable writing. */
#ifndef ASSAY_BASE_FILE_H
#define ASSAY_BASE_FILE_H

#include <sys/types.h>
#include <stdint.h>

#include "base/error.h"

/* Reads a whole file, at most `limit` bytes (more is ST_RANGE). The text is
 * NUL-terminated. Works for /proc and /sys, whose sizes read as 0. */
enum status file_read(struct str *out, const char *path, size_t limit, struct error *err);
/* The same from an open descriptor, to its end; `name` is for messages. */
enum status fd_read_all(struct str *out, int fd, const char *name, size_t limit, struct error *err);
/* First line of a small file without its newline; false when unreadable. */
bool file_read_line(const char *path, struct str *out);
/* A new file beside `path` under a name nobody can guess, with the mode of the umask and
 * never through a link; -1 and errno. To be renamed to `path` or removed by the caller. */
int file_beside(struct str *name, const char *path);
/* Writes such a sibling, fsyncs, renames: all or nothing. */
enum status file_write(const char *path, const char *text, size_t len, struct error *err);
/* mkdir -p; mode 0755 less umask. */
enum status dir_make(const char *path, struct error *err);
/* write(2) until done; handles EINTR and short writes. */
enum status fd_write_all(int fd, const void *data, size_t len);

const char *path_join(struct str *out, const char *dir, const char *name);

#endif
