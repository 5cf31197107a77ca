/* Modules that are wrong, one fault each, by FAKE: for another version of Assay, of
 * the other MPI, or of an MPI in which each rank is alone. */
#include <stdlib.h>

#include "assay/comm.h"

enum fake { OLD, OTHER, ALONE };

static bool close_world(struct comm *c, bool all_alive, double seconds, int code)
{
	(void)all_alive;
	(void)seconds;
	(void)code;
	free(c);
	return true;
}

static const struct comm_ops ops = {.close = close_world};

static enum status open_world(struct comm **out, const struct comm_host *host, struct error *err)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		host->nomem();
	(void)err;
	**out = (struct comm){.ops = &ops, .size = 1, .kind = "mpi", .library = "Fake MPI 1.0"};
	return ST_OK;
}

extern const struct comm_module assay_comm_module;

const struct comm_module assay_comm_module = {
	.abi = FAKE == OLD ? COMM_ABI + 1 : COMM_ABI,
	.family = FAKE == OTHER ? "mpich" : "openmpi",
	.open = open_world,
};
