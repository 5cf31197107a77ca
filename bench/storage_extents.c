/* FIEMAP in portions; extents come in the order of the file. */
#include "storage_extents.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/error.h"

#define PORTION 256
/* Reserved, or in memory alone: the device has nothing of it. */
#define NOT_THERE (FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_DELALLOC)

struct sum {
	uint64_t end;     /* of the part asked for */
	uint64_t reached; /* of the map */
	double written;
	bool last;
	struct storage_extent_marks marks;
};

static void add_extent(struct sum *s, const struct fiemap_extent *e)
{
	uint64_t from = e->fe_logical > s->reached ? e->fe_logical : s->reached;
	uint64_t to = e->fe_logical + e->fe_length;

	s->last = s->last || e->fe_flags & FIEMAP_EXTENT_LAST;
	if (to > s->end)
		to = s->end;
	if (to <= from)
		return;
	s->reached = to;
	if (e->fe_flags & NOT_THERE)
		return;
	s->written += (double)(to - from);
	s->marks.encoded = s->marks.encoded || e->fe_flags & FIEMAP_EXTENT_ENCODED;
	s->marks.shared = s->marks.shared || e->fe_flags & FIEMAP_EXTENT_SHARED;
}

/* Adds what follows s->reached; false: no map. */
static bool read_portion(int fd, struct sum *s, struct fiemap *map)
{
	uint64_t before = s->reached;

	map->fm_start = s->reached;
	map->fm_length = s->end - s->reached;
	map->fm_flags = FIEMAP_FLAG_SYNC;
	map->fm_extent_count = PORTION;
	map->fm_mapped_extents = 0;
	if (ioctl(fd, FS_IOC_FIEMAP, map) != 0)
		return false;
	for (unsigned i = 0; i < map->fm_mapped_extents && i < PORTION; i++)
		add_extent(s, &map->fm_extents[i]);
	s->last = s->last || s->reached == before || s->reached >= s->end;
	return true;
}

double storage_written_share(int fd, int64_t bytes, struct storage_extent_marks *marks)
{
	struct sum s = {.end = bytes > 0 ? (uint64_t)bytes : 0};
	struct fiemap *map = calloc(1, sizeof(*map) + PORTION * sizeof(struct fiemap_extent));
	bool offered = bytes > 0;

	if (!map)
		die_nomem();
	while (offered && !s.last)
		offered = read_portion(fd, &s, map);
	free(map);
	if (marks)
		*marks = s.marks;
	return offered ? s.written / (double)bytes : NAN;
}
