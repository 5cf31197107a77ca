/* The world of one rank, who started us, and each way in which launcher, module and
 * world do not fit together. */
#include "tests/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "coord/comm.h"
#include "coord/comm_env.h"

/* --- the world of one rank ------------------------------------------------------ */

struct heard {
	struct comm *comm;
	struct str text;
	int n;
	bool answer;
};

static void hear(void *arg, int from, const void *bytes, size_t len)
{
	struct heard *h = arg;

	assert_int_equal(from, 0);
	str_addn(&h->text, bytes, len);
	str_addc(&h->text, '|');
	h->n++;
	if (h->answer)
		assert_int_equal(h->comm->ops->send(h->comm, 0, "again", 5, NULL), ST_OK);
	h->answer = false;
}

static void what_is_sent_to_oneself_comes_with_the_next_poll(void **state)
{
	struct heard h = {.comm = comm_local(), .answer = true};
	const struct comm_ops *ops = h.comm->ops;
	bool moved;

	(void)state;
	assert_int_equal(ops->send(h.comm, 0, "one", 3, NULL), ST_OK);
	assert_int_equal(ops->send(h.comm, 0, NULL, 0, NULL), ST_OK);
	assert_int_equal(ops->send(h.comm, 0, "two", 3, NULL), ST_OK);
	assert_int_equal(ops->queued(h.comm, 0), 6);
	assert_int_equal(ops->poll(h.comm, hear, &h, &moved, NULL), ST_OK);
	assert_true(moved);
	assert_string_equal(h.text.data, "one||two|");
	assert_int_equal(ops->queued(h.comm, 0), 5);
	assert_int_equal(ops->poll(h.comm, hear, &h, NULL, NULL), ST_OK);
	assert_string_equal(h.text.data, "one||two|again|");
	assert_int_equal(ops->poll(h.comm, hear, &h, &moved, NULL), ST_OK);
	assert_false(moved);
	assert_int_equal(h.n, 4);
	assert_false(ops->broken(h.comm, 0));
	assert_true(ops->close(h.comm, true, 1, 0));
	str_release(&h.text);
}

static void what_is_too_much_is_refused(void **state)
{
	struct comm *c = comm_local();
	char *bytes = calloc(1, COMM_MESSAGE_MAX + 1);
	struct error err = {0};

	(void)state;
	assert_non_null(bytes);
	assert_int_equal(c->ops->send(c, 0, bytes, COMM_MESSAGE_MAX + 1, &err), ST_RANGE);
	assert_non_null(strstr(err.text.data, "longer than 64 MiB"));
	error_release(&err);
	for (size_t n = 0; n < COMM_QUEUE_MAX; n += COMM_MESSAGE_MAX)
		assert_int_equal(c->ops->send(c, 0, bytes, COMM_MESSAGE_MAX, NULL), ST_OK);
	assert_int_equal(c->ops->send(c, 0, bytes, 1, &err), ST_NOSPACE);
	assert_non_null(strstr(err.text.data, "192 MiB"));
	assert_int_equal(c->ops->queued(c, 0), COMM_QUEUE_MAX);
	error_release(&err);
	/* What was not fetched goes with the world. */
	assert_true(c->ops->close(c, false, 0, 0));
	free(bytes);
}

/* --- who started us ---------------------------------------------------------------- */

static const char *const *variables; /* name, value, …, NULL */

static char *get(const char *name)
{
	for (const char *const *v = variables; *v; v += 2)
		if (strcmp(v[0], name) == 0)
			return (char *)(uintptr_t)v[1];
	return NULL;
}

static struct comm_launcher found(const char *const *list)
{
	struct comm_launcher l;

	variables = list;
	comm_launcher_find(&l, get);
	return l;
}
#define ENV(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void nobody_started_a_program_by_hand(void **state)
{
	(void)state;
	assert_null(found(ENV()).name);
	/* An allocation, a batch script and an interactive step are no ranks. */
	assert_null(found(ENV("SLURM_JOB_ID", "7", "SLURM_NTASKS", "16")).name);
	assert_null(found(ENV("SLURM_JOB_ID", "7", "SLURM_PROCID", "0")).name);
	assert_null(found(ENV("SLURM_STEP_NUM_TASKS", "1", "SLURM_PROCID", "0")).name);
}

static void mpirun_of_open_mpi_is_known(void **state)
{
	struct comm_launcher l = found(ENV("OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_RANK", "3",
	                                   "PMIX_RANK", "3", "SLURM_STEP_NUM_TASKS", "2"));

	(void)state;
	assert_string_equal(l.families[0], "openmpi");
	assert_null(l.families[1]);
	assert_int_equal(l.size, 4);
	assert_int_equal(l.rank, 3);
	assert_int_equal(l.recovery, COMM_RECOVERY_OFF);
	assert_false(l.bound);
	l = found(ENV("OMPI_COMM_WORLD_SIZE", "4", "OMPI_COMM_WORLD_RANK", "0",
	              "OMPI_MCA_orte_enable_recovery", "1", "OMPI_MCA_orte_bound_at_launch", "1"));
	assert_int_equal(l.recovery, COMM_RECOVERY_ON);
	assert_true(l.bound);
}

static void hydra_does_not_tell_its_recovery(void **state)
{
	struct comm_launcher l = found(ENV("PMI_SIZE", "8", "PMI_RANK", "7"));

	(void)state;
	assert_string_equal(l.families[0], "mpich");
	assert_null(l.families[1]);
	assert_int_equal(l.size, 8);
	assert_int_equal(l.rank, 7);
	assert_int_equal(l.recovery, COMM_RECOVERY_UNKNOWN);
	assert_int_equal(found(ENV("PMI_RANK", "0", "ASSAY_RECOVERY", "1")).recovery,
	                 COMM_RECOVERY_ON);
	assert_int_equal(found(ENV("PMI_RANK", "0", "ASSAY_RECOVERY", "0")).recovery,
	                 COMM_RECOVERY_OFF);
}

static void srun_is_known_by_its_plug_in(void **state)
{
	struct comm_launcher l = found(ENV("PMIX_RANK", "5", "SLURM_STEP_NUM_TASKS", "6"));

	(void)state;
	assert_string_equal(l.families[0], "openmpi");
	assert_string_equal(l.families[1], "mpich");
	assert_int_equal(l.size, 6);
	assert_int_equal(l.rank, 5);
	assert_int_equal(l.recovery, COMM_RECOVERY_ON);
	l = found(ENV("PMI_RANK", "1", "PMI_SIZE", "6", "SLURM_STEP_NUM_TASKS", "6",
	              "SLURM_KILL_BAD_EXIT", "1"));
	assert_string_equal(l.families[0], "mpich");
	assert_int_equal(l.recovery, COMM_RECOVERY_OFF);
	/* Without a plug-in there is no family that could work. */
	l = found(ENV("SLURM_STEP_NUM_TASKS", "6", "SLURM_PROCID", "2"));
	assert_null(l.families[0]);
	assert_int_equal(l.rank, 2);
}

static void nonsense_in_the_environment_is_not_a_number(void **state)
{
	struct comm_launcher l =
		found(ENV("OMPI_COMM_WORLD_SIZE", "many", "OMPI_COMM_WORLD_RANK", "-3"));

	(void)state;
	assert_int_equal(l.size, 0);
	assert_int_equal(l.rank, -1);
	assert_null(found(ENV("SLURM_STEP_NUM_TASKS", "99999999999999999999")).name);
}

/* --- the module and the world --------------------------------------------------------- */

#define FAKES BINARY_DIR "/tests/cluster/"

static void under(const char *size, const char *rank)
{
	setenv("OMPI_COMM_WORLD_SIZE", size, 1);
	setenv("OMPI_COMM_WORLD_RANK", rank, 1);
}

static int by_hand(void **state)
{
	(void)state;
	unsetenv("OMPI_COMM_WORLD_SIZE");
	unsetenv("OMPI_COMM_WORLD_RANK");
	return 0;
}

static void refused(const char *module, int nodes, const char *says)
{
	const struct comm_request request = {.module = module, .nodes = nodes};
	struct error err = {0};
	struct comm *c;

	assert_int_equal(comm_open(&c, &request, &err), ST_USAGE);
	assert_null(c);
	if (!strstr(str_text(&err.text), says))
		fail_msg("\"%s\" does not say \"%s\"", str_text(&err.text), says);
	error_release(&err);
}

static void without_a_launcher_nothing_is_opened(void **state)
{
	const struct comm_request request = {.module = "/nowhere/module.so", .nodes = 9};
	struct comm *c;

	(void)state;
	assert_int_equal(comm_open(&c, &request, NULL), ST_OK);
	assert_string_equal(c->kind, "local");
	assert_int_equal(c->size, 1);
	c->ops->close(c, true, 1, 0);
}

static void one_rank_needs_no_module(void **state)
{
	const struct comm_request request = {.module = "/nowhere/module.so", .nodes = 1};
	struct comm *c;

	(void)state;
	under("1", "0");
	assert_int_equal(comm_open(&c, &request, NULL), ST_OK);
	assert_string_equal(c->kind, "local");
	c->ops->close(c, true, 1, 0);
	refused(NULL, 4, "--nodes 4, but mpirun (Open MPI) started 1 ranks");
}

static void each_misfit_has_its_sentence(void **state)
{
	(void)state;
	under("4", "0");
	refused("/nowhere/module.so", 4, "/nowhere/module.so: No such file");
	refused(SOURCE_DIR "/README.md", 4, "does not load");
	refused(FAKES "fake_old.so", 4, "build it again with scripts/cluster/build-comm");
	refused(FAKES "fake_other.so", 4,
	        "was built for mpich and cannot be started by mpirun (Open MPI)");
	refused(FAKES "fake_alone.so", 4,
	        "started 4 ranks, but they do not find each other: the MPI world has 1 (Fake MPI "
	        "1.0)");
	/* This test lies where no module is. */
	refused(NULL, 4, "/tests/cluster/../lib/assay/assay_comm_openmpi.so");
}

static void ranks_without_mpi_are_told_how(void **state)
{
	(void)state;
	setenv("SLURM_STEP_NUM_TASKS", "3", 1);
	setenv("SLURM_PROCID", "0", 1);
	refused(NULL, 3, "use srun --mpi=pmix");
	unsetenv("SLURM_STEP_NUM_TASKS");
	unsetenv("SLURM_PROCID");
}

/* --- the environment -------------------------------------------------------------------- */

static void the_environment_is_the_users_again(void **state)
{
	struct comm_env env;

	(void)state;
	setenv("UCX_TLS", "rc", 1);
	setenv("UCX_NET_DEVICES", "mlx5_0:1", 1);
	unsetenv("OMPI_MCA_btl");
	comm_env_enter(&env);
	assert_string_equal(getenv("UCX_TLS"), "tcp,sm,self");
	assert_null(getenv("UCX_NET_DEVICES"));
	assert_string_equal(getenv("OMPI_MCA_btl"), "self,tcp");
	assert_non_null(strstr(getenv("OMPI_MCA_btl_tcp_if_exclude"), "127.0.0.1/8"));
	comm_env_leave(&env);
	assert_string_equal(getenv("UCX_TLS"), "rc");
	assert_string_equal(getenv("UCX_NET_DEVICES"), "mlx5_0:1");
	assert_null(getenv("OMPI_MCA_btl"));
	assert_null(getenv("OMPI_MCA_btl_tcp_if_exclude"));
	/* What the user says of networks stands. */
	setenv("UCX_NET_DEVICES", "eth0", 1);
	setenv("OMPI_MCA_btl_tcp_if_include", "eth0", 1);
	comm_env_enter(&env);
	assert_string_equal(getenv("UCX_NET_DEVICES"), "eth0");
	assert_null(getenv("OMPI_MCA_btl_tcp_if_exclude"));
	comm_env_leave(&env);
	unsetenv("UCX_TLS");
	unsetenv("UCX_NET_DEVICES");
	unsetenv("OMPI_MCA_btl_tcp_if_include");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent_to_oneself_comes_with_the_next_poll),
		cmocka_unit_test(what_is_too_much_is_refused),
		cmocka_unit_test(nobody_started_a_program_by_hand),
		cmocka_unit_test(mpirun_of_open_mpi_is_known),
		cmocka_unit_test(hydra_does_not_tell_its_recovery),
		cmocka_unit_test(srun_is_known_by_its_plug_in),
		cmocka_unit_test(nonsense_in_the_environment_is_not_a_number),
		cmocka_unit_test_teardown(without_a_launcher_nothing_is_opened, by_hand),
		cmocka_unit_test_teardown(one_rank_needs_no_module, by_hand),
		cmocka_unit_test_teardown(each_misfit_has_its_sentence, by_hand),
		cmocka_unit_test_teardown(ranks_without_mpi_are_told_how, by_hand),
		cmocka_unit_test(the_environment_is_the_users_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
