/* The end of a run of many nodes. A launcher may end all ranks in haste once one has left
 * (Hydra breaks over it when several leave at the same time): nobody leaves before rank 0
 * has judged and written, and says so. */
#include <string.h>

#include "base/clock.h"
#include "coord/cluster.h"
#include "coord/wire.h"

#define STEP_NS (5 * NS_PER_MS)
#define SEND_S  5 /* for the word to be on its way */

struct word {
	bool came;
};

static void take(void *arg, int from, const void *bytes, size_t len)
{
	struct word *w = arg;

	w->came = w->came || (from == 0 && len > 0 && *(const char *)bytes == WIRE_LEAVE);
}

void cluster_wait_leave(struct comm *comm, double seconds)
{
	int64_t until = clock_now(&clock_system) + (int64_t)(seconds * 1e9);
	struct word w = {0};

	while (!w.came && clock_now(&clock_system) < until && !comm->ops->broken(comm, 0)) {
		bool moved = false;

		if (comm->ops->poll(comm, take, &w, &moved, NULL) != ST_OK)
			break;
		if (!moved)
			clock_sleep(&clock_system, STEP_NS);
	}
}

static bool on_their_way(const struct comm *comm)
{
	for (int i = 1; i < comm->size; i++)
		if (comm->ops->queued(comm, i) && !comm->ops->broken(comm, i))
			return false;
	return true;
}

static void flush(struct comm *comm)
{
	int64_t until = clock_now(&clock_system) + SEND_S * NS_PER_S;
	struct word w = {0};

	do {
		if (comm->ops->poll(comm, take, &w, NULL, NULL) != ST_OK)
			break;
		clock_sleep(&clock_system, STEP_NS);
	} while (!on_their_way(comm) && clock_now(&clock_system) < until);
}

void cluster_say_leave(struct comm *comm)
{
	for (int i = 1; i < comm->size; i++)
		wire_send(comm, i, WIRE_LEAVE, "", 0, NULL);
	flush(comm);
}

void cluster_dismiss(struct comm *comm)
{
	for (int i = 1; i < comm->size; i++)
		wire_send(comm, i, WIRE_END, WIRE_ALL_ALIVE, strlen(WIRE_ALL_ALIVE), NULL);
	flush(comm);
}
