/* Which part of a file was really written, by the file system's own map. Holes
 * and space that was only reserved are read without asking any device. */
#ifndef ASSAY_BENCH_STORAGE_EXTENTS_H
#define ASSAY_BENCH_STORAGE_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

struct storage_extent_marks {
	bool encoded; /* compressed or encrypted on its way down */
	bool shared;  /* with another file or another place of this one */
};

/* Share (0 to 1) of the first `bytes` (> 0) that lie in written extents; unwritten
 * pages are flushed first. NaN: the file system has no such map (network, FUSE,
 * tmpfs). marks, which may be NULL, are of those extents. */
double storage_written_share(int fd, int64_t bytes, struct storage_extent_marks *marks);

#endif
