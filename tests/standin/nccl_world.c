/* The meeting place of nccl_world.h: the file is named by the unique id and has
 * lost its name when everybody is in. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/standin/nccl_world.h"

#define HEAD (((sizeof(struct world) + 4095) / 4096) * 4096)

static size_t world_bytes(int ranks)
{
	return HEAD + WORLD_BYTES * ((size_t)ranks * 2 + (size_t)ranks * (size_t)ranks);
}

void *world_slot(struct world *w, int rank, int buffer)
{
	return (char *)w + HEAD + WORLD_BYTES * ((size_t)rank * 2 + (size_t)buffer);
}

void *world_channel_bytes(struct world *w, int ranks, int from, int to)
{
	size_t at = (size_t)ranks * 2 + (size_t)from * (size_t)ranks + (size_t)to;

	return (char *)w + HEAD + WORLD_BYTES * at;
}

struct world *world_join(const nccl_id *id, int ranks)
{
	int fd = open(id->bytes, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct world *w;

	if (fd < 0 || ftruncate(fd, (off_t)world_bytes(ranks)) != 0)
		node_bad("no room for %s", id->bytes);
	w = mmap(NULL, world_bytes(ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
	         0);
	close(fd);
	if (w == MAP_FAILED)
		node_bad("no room for %s", id->bytes);
	if (__atomic_add_fetch(&w->joined, 1, __ATOMIC_ACQ_REL) == (uint32_t)ranks)
		unlink(id->bytes);
	return w;
}

void world_leave(struct world *w, const nccl_id *id, int ranks)
{
	if (w->joined < (uint32_t)ranks)
		unlink(id->bytes);
	munmap(w, world_bytes(ranks));
}
