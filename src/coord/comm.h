/* Joining the world a launcher made: which launcher, which module, and whether
 * the world is the one that was asked for. Without a launcher the world is this
 * process alone, and no MPI library is looked for. */
#ifndef ASSAY_COORD_COMM_H
#define ASSAY_COORD_COMM_H

#include "assay/comm.h"
#include "base/error.h"

/* What the environment says of who started us. By the variables
 *   OMPI_COMM_WORLD_SIZE, _RANK   mpirun of Open MPI
 *   PMI_SIZE, PMI_RANK            Hydra (MPICH and its kin), srun --mpi=pmi2
 *   PMIX_RANK                     srun --mpi=pmix; size: SLURM_STEP_NUM_TASKS
 *   SLURM_STEP_NUM_TASKS > 1      srun without MPI
 * An interactive shell or a batch script of Slurm is no launcher. */
struct comm_launcher {
	const char *name;        /* "mpirun (Open MPI)"; NULL: none */
	const char *families[3]; /* whose modules may fit, the likeliest first; NULL-ended */
	int rank, size;          /* size 0: not told */
	enum comm_recovery recovery;
	bool bound; /* we are tied to some of the CPUs the launcher has */
};

/* `get` is getenv, or a double. */
void comm_launcher_find(struct comm_launcher *l, char *(*get)(const char *name));

struct comm_request {
	const char *module; /* --comm-module: the file; NULL: beside the executable, then
	                       <prefix>/lib/assay, as assay_comm_<family>.so */
	int nodes;          /* --nodes; 0: not said */
	int absent;         /* of those that could not be started */
};

/* ST_USAGE (exit 3): no fitting module, or another world than asked for. One
 * rank has the error; on the others err stays empty, and the call returns a
 * little later, since many launchers end all ranks with the first. Under a
 * launcher this may take seconds, and waits for all ranks. To be called before
 * there are other threads; SIGPIPE is ignored from then on. */
enum status comm_open(struct comm **out, const struct comm_request *request, struct error *err);

/* Under scripts/cluster/launch, on the first rank: writes the exit code to stderr as
 * "assay-exit N", since no launcher's own status can be trusted with it; before the
 * world is left and, where that comes to an end, once more. */
void comm_tell_exit(int code);

/* The world of one rank. */
struct comm *comm_local(void);

/* What comm_host.trouble is: ST_RANGE and ST_NOSPACE have sentences of their own. */
enum status comm_trouble(struct error *err, enum status st, const char *words);

#endif
