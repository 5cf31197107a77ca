/* From the environment to a world of ranks. A program of one MPI started by the
 * launcher of another becomes n jobs of one rank, each of which would gladly
 * test its own node and call it the cluster: everything here is there to say so
 * instead, once and in one sentence. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/str.h"
#include "coord/comm.h"
#include "coord/comm_env.h"
#include "coord/comm_sockets.h"

/* How much later the silent ranks return: the one with the error prints it
 * before the launcher ends it with them. */
#define SILENCE_NS (2 * NS_PER_S)
#define CLOSE_S    10

/* --- who started us ------------------------------------------------------------ */

static int number_of(char *(*get)(const char *name), const char *name, int otherwise)
{
	const char *text = get(name);
	char *end;
	long n;

	if (!text || !*text)
		return otherwise;
	n = strtol(text, &end, 10);
	return *end || n < 0 || n > INT_MAX ? otherwise : (int)n;
}

/* Said by scripts/cluster/launch, which knows the launcher's options; Slurm
 * and Open MPI show theirs. */
static enum comm_recovery recovery_of(char *(*get)(const char *name), bool slurm, bool openmpi)
{
	const char *said = get("ASSAY_RECOVERY");

	if (said && *said)
		return strcmp(said, "1") == 0 ? COMM_RECOVERY_ON : COMM_RECOVERY_OFF;
	if (openmpi)
		return number_of(get, "OMPI_MCA_orte_enable_recovery", 0) ? COMM_RECOVERY_ON
		                                                          : COMM_RECOVERY_OFF;
	if (slurm)
		return number_of(get, "SLURM_KILL_BAD_EXIT", 0) ? COMM_RECOVERY_OFF
		                                                : COMM_RECOVERY_ON;
	return COMM_RECOVERY_UNKNOWN;
}

void comm_launcher_find(struct comm_launcher *l, char *(*get)(const char *name))
{
	int tasks = number_of(get, "SLURM_STEP_NUM_TASKS", 0);

	*l = (struct comm_launcher){.rank = -1};
	if (get("OMPI_COMM_WORLD_SIZE")) {
		*l = (struct comm_launcher){
			.name = "mpirun (Open MPI)",
			.families = {"openmpi"},
			.rank = number_of(get, "OMPI_COMM_WORLD_RANK", -1),
			.size = number_of(get, "OMPI_COMM_WORLD_SIZE", 0),
			.recovery = recovery_of(get, false, true),
			.bound = number_of(get, "OMPI_MCA_orte_bound_at_launch", 0) != 0};
	} else if (get("PMIX_RANK")) {
		*l = (struct comm_launcher){.name = tasks ? "srun --mpi=pmix" : "PMIx",
		                            .families = {"openmpi", "mpich"},
		                            .rank = number_of(get, "PMIX_RANK", -1),
		                            .size = tasks,
		                            .recovery = recovery_of(get, tasks > 0, false)};
	} else if (get("PMI_RANK")) {
		*l = (struct comm_launcher){.name = tasks ? "srun --mpi=pmi2" : "mpiexec (Hydra)",
		                            .families = {"mpich", tasks ? "openmpi" : NULL},
		                            .rank = number_of(get, "PMI_RANK", -1),
		                            .size = number_of(get, "PMI_SIZE", tasks),
		                            .recovery = recovery_of(get, tasks > 0, false)};
	} else if (tasks > 1) {
		*l = (struct comm_launcher){.name = "srun",
		                            .rank = number_of(get, "SLURM_PROCID", -1),
		                            .size = tasks,
		                            .recovery = recovery_of(get, true, false)};
	}
}

/* Open MPI ties each rank to a core or a socket unless told otherwise, and
 * children inherit that: probes would measure a slice of the node. Its daemon,
 * our parent, has all the CPUs that we are meant to have. */
static void unbind(void)
{
	cpu_set_t *cpus = CPU_ALLOC(CPU_SETSIZE * 8);
	size_t size = CPU_ALLOC_SIZE(CPU_SETSIZE * 8);

	if (cpus && sched_getaffinity(getppid(), size, cpus) == 0)
		sched_setaffinity(0, size, cpus);
	CPU_FREE(cpus);
}

/* --- the module ---------------------------------------------------------------- */

static void nomem(void)
{
	die_nomem();
}

static const struct comm_host host = {.trouble = comm_trouble, .nomem = nomem};

static bool exe_folder(struct str *out)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));

	while (n > 0 && path[n - 1] != '/')
		n--;
	if (n <= 0)
		return false;
	str_addn(out, path, (size_t)n);
	return true;
}

/* The first of the likely files that is there; false, and what was looked for. */
static bool module_find(struct str *path, const struct comm_launcher *l, struct str *looked)
{
	static const char *const folders[] = {"", "../lib/assay/"};
	struct str exe = {0};
	bool found = false;

	exe_folder(&exe);
	for (int f = 0; l->families[f] && !found; f++)
		for (int d = 0; d < 2 && !found; d++) {
			str_clear(path);
			str_addf(path, "%s%sassay_comm_%s.so", str_text(&exe), folders[d],
			         l->families[f]);
			str_addf(looked, "%s%s", looked->len ? ", " : "", path->data);
			found = access(path->data, F_OK) == 0;
		}
	str_release(&exe);
	return found;
}

static bool family_fits(const struct comm_launcher *l, const char *family)
{
	for (int i = 0; l->families[i]; i++)
		if (strcmp(l->families[i], family) == 0)
			return true;
	return false;
}

/* Never closed again: MPI libraries do not survive it. */
static enum status module_open(const struct comm_module **out, const char *path,
                               const struct comm_launcher *l, struct error *err)
{
	void *handle;

	if (access(path, R_OK) != 0)
		return error_set(err, ST_USAGE, MSG_path_error, path, strerror(errno));
	handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	if (!handle)
		return error_set(err, ST_USAGE, MSG_comm_module_load, dlerror());
	*out = dlsym(handle, COMM_MODULE_SYMBOL);
	if (!*out || (*out)->abi != COMM_ABI)
		return error_set(err, ST_USAGE, MSG_comm_module_other, path);
	if (!family_fits(l, (*out)->family))
		return error_set(err, ST_USAGE, MSG_comm_module_family, path, (*out)->family,
		                 l->name);
	return ST_OK;
}

static enum status module_for(const struct comm_module **out, const char *path,
                              const struct comm_launcher *l, struct error *err)
{
	struct str found = {0}, looked = {0};
	enum status st;

	if (!l->families[0])
		st = error_set(err, ST_USAGE, MSG_comm_no_mpi, l->name, tmpf("%d", l->size));
	else if (path)
		/* dlopen takes a name without a slash for one to be searched. */
		st = module_open(out, strchr(path, '/') ? path : tmpf("./%s", path), l, err);
	else if (module_find(&found, l, &looked))
		st = module_open(out, found.data, l, err);
	else
		st = error_set(err, ST_USAGE, MSG_comm_module_missing, l->name, looked.data);
	str_release(&found);
	str_release(&looked);
	return st;
}

/* --- the world ------------------------------------------------------------------ */

static enum status world_check(const struct comm *c, const struct comm_launcher *l,
                               const struct comm_request *request, struct error *err)
{
	if (l->size && c->size != l->size)
		return error_set(err, ST_USAGE, MSG_comm_world_split, l->name, tmpf("%d", l->size),
		                 tmpf("%d", c->size), c->library);
	if (request->nodes && c->size + request->absent != request->nodes)
		return error_set(err, ST_USAGE, MSG_comm_world_size, tmpf("%d", request->nodes),
		                 l->name, tmpf("%d", c->size), tmpf("%d", request->absent));
	return ST_OK;
}

static enum status world_open(struct comm **out, const struct comm_request *request,
                              const struct comm_launcher *l, struct error *err)
{
	const struct comm_module *module;
	struct comm_env env;
	enum status st;

	if (l->size == 1) {
		*out = comm_local();
	} else {
		st = module_for(&module, request->module, l, err);
		if (st == ST_OK) {
			/* MPI writes to the sockets of ranks that are gone. */
			signal(SIGPIPE, SIG_IGN);
			comm_sockets_quiet();
			comm_env_enter(&env);
			st = module->open(out, &host, err);
			comm_env_leave(&env);
		}
		if (st != ST_OK)
			return st;
		(*out)->recovery = l->recovery;
	}
	st = world_check(*out, l, request, err);
	if (st != ST_OK) {
		(*out)->ops->close(*out, true, CLOSE_S, EXIT_USAGE);
		*out = NULL;
	}
	return st;
}

enum status comm_open(struct comm **out, const struct comm_request *request, struct error *err)
{
	struct error own = {0};
	struct comm_launcher l;
	enum status st;

	*out = NULL;
	comm_launcher_find(&l, getenv);
	if (!l.name) {
		*out = comm_local();
		return ST_OK;
	}
	if (l.bound)
		unbind();
	st = world_open(out, request, &l, l.rank <= 0 ? err : &own);
	error_release(&own);
	if (st != ST_OK && l.rank > 0)
		clock_sleep(&clock_system, SILENCE_NS);
	return st;
}

void comm_tell_exit(int code)
{
	struct comm_launcher l;
	char line[32];
	ssize_t written;
	int len;

	if (!getenv("ASSAY_TELL_EXIT"))
		return;
	comm_launcher_find(&l, getenv);
	if (l.rank > 0)
		return;
	len = snprintf(line, sizeof(line), "assay-exit %d\n", code);
	written = write(STDERR_FILENO, line, (size_t)len);
	(void)written;
}
