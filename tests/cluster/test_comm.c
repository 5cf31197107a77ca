/* The world of one rank, who started us, and each way in which launcher, module and
 * world do not fit together. */
#include "tests/unit/unit.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "coord/comm.h"
#include "coord/comm_env.h"
#include "coord/comm_sockets.h"

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

/* --- sockets of peers that are gone ------------------------------------------- */

/* A connection whose other end has been reset. */
static int reset_socket(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct linger at_once = {.l_onoff = 1};
	socklen_t len = sizeof(at);
	int door = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), peer;

	assert_int_equal(bind(door, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(door, 1), 0);
	assert_int_equal(getsockname(door, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, len), 0);
	peer = accept(door, NULL, NULL);
	assert_true(peer >= 0);
	setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	close(peer);
	close(door);
	return fd;
}

static ssize_t write_word(int fd)
{
	char word[] = "word";
	struct iovec part = {.iov_base = word, .iov_len = 4};

	return writev(fd, &part, 1);
}

static ssize_t read_word(int fd)
{
	char bytes[8];
	struct iovec part = {.iov_base = bytes, .iov_len = sizeof(bytes)};

	return readv(fd, &part, 1);
}

/* errno of a write in a thread of its own. */
static void *write_elsewhere(void *arg)
{
	int *fd = arg;

	*fd = write_word(*fd) < 0 ? errno : 0;
	return NULL;
}

static void a_socket_whose_peer_is_gone_falls_silent(void **state)
{
	int written = reset_socket(), read_from = reset_socket(), other = reset_socket(), pipes[2];
	pthread_t thread;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	comm_sockets_quiet();
	assert_int_equal(write_word(written), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read_word(written), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(read_word(read_from), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(pthread_create(&thread, NULL, write_elsewhere, &other), 0);
	pthread_join(thread, NULL);
	assert_int_equal(other, ECONNRESET);
	/* What is no socket ends as ever, and what lives is read and written. */
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write_word(pipes[1]), 4);
	assert_int_equal(read_word(pipes[0]), 4);
	close(pipes[1]);
	assert_int_equal(read_word(pipes[0]), 0);
	close(pipes[0]);
	close(written);
	close(read_from);
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
		cmocka_unit_test(a_socket_whose_peer_is_gone_falls_silent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
