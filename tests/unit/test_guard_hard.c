/* The guard against children, guards and surroundings that do their worst.
 * Cases that need root, or a kernel feature, say so and are skipped without. */
#include "tests/unit/guard_kit.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <sys/resource.h>

static struct proc *begin_spec(const struct proc_spec *changes, const char *mode,
                               struct lines *lines)
{
	const char *argv[] = {"helper", mode, changes->label ? changes->label : "0", NULL};
	struct proc_spec spec = *changes;
	struct proc *p = NULL;

	spec.exe = helper;
	spec.argv = argv;
	spec.on_line = collect;
	spec.arg = lines;
	assert_int_equal(proc_start(&p, &spec, NULL), ST_OK);
	return p;
}

static bool reaped(pid_t pid)
{
	struct timespec pause = {.tv_nsec = 5000000};

	for (int round = 0; round < 6000; round++) {
		if (kill(pid, 0) != 0 && errno == ESRCH)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static int count_named(const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	struct str comm = {0};
	int n = 0;

	while ((entry = readdir(dir)))
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    file_read_line(tmpf("/proc/%s/comm", entry->d_name), &comm))
			n += strcmp(comm.data, name) == 0 && lives(atoi(entry->d_name));
	closedir(dir);
	str_release(&comm);
	return n;
}

/* --- children ------------------------------------------------------------------ */

static void a_last_line_without_newline_counts(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("unended", NULL, 60, NULL, &l);

	(void)state;
	run_to_end(p);
	assert_string_equal(l.text.data, "whole\nunended\n");
	proc_free(p);
	str_release(&l.text);
}

/* No output, all descriptors closed: only the deadline is left, and waiting for
 * it costs no turns of the loop. */
static void a_mute_child_meets_its_deadline(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("mute", NULL, 0.5, NULL, &l);
	int turns = 0;

	(void)state;
	for (; !proc_done(p); turns++)
		proc_pump(&p, 1, 60000);
	assert_true(proc_result(p)->timed_out && !proc_result(p)->stopped);
	assert_int_equal(proc_result(p)->signal, SIGTERM);
	assert_true(turns < 20);
	proc_free(p);
}

/* Under an assay that ignores SIGPIPE a child must still have it. */
static void signals_are_as_a_program_expects_them(void **state)
{
	struct lines l = {0};
	struct proc *p;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	p = begin("sigpipe", NULL, 60, NULL, &l);
	run_to_end(p);
	assert_int_equal(proc_result(p)->signal, SIGPIPE);
	proc_free(p);
}

static void a_process_without_its_first_thread_is_ended(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("headless", NULL, 300, NULL, &l);

	(void)state;
	until_pids(p, &l, 1);
	proc_stop(p);
	run_to_end(p);
	assert_true(proc_result(p)->stopped);
	assert_int_equal(proc_result(p)->signal, SIGKILL);
	assert_true(reaped(l.pids[0]));
	proc_free(p);
	str_release(&l.text);
}

static void a_process_that_never_stands_still_is_ended(void **state)
{
	char name[16];
	struct lines l = {0};
	struct proc *p;

	(void)state;
	snprintf(name, sizeof(name), "comet%d", (int)getpid());
	p = begin("comet", name, 300, NULL, &l);
	run_to_end(p);
	assert_string_equal(l.text.data, "flying\n");
	assert_false(proc_result(p)->unkillable);
	assert_int_equal(count_named(name), 0);
	proc_free(p);
	str_release(&l.text);
}

static void long_argument_lists_arrive_whole(void **state)
{
	const char *argv[202] = {"helper", "count"};
	struct lines l = {0};
	struct proc_spec spec = {
		.exe = helper, .argv = argv, .deadline_s = 60, .on_line = collect, .arg = &l};
	struct proc *p;

	(void)state;
	for (int i = 2; i < 201; i++)
		argv[i] = "x";
	assert_int_equal(proc_start(&p, &spec, NULL), ST_OK);
	run_to_end(p);
	assert_string_equal(l.text.data, "201 arguments\n");
	proc_free(p);
	str_release(&l.text);
}

/* A process that SIGKILL cannot end: the first of a pid namespace in which a
 * zombie of ours is left. It is given up on, and said. */
static void what_cannot_be_killed_is_given_up_on(void **state)
{
	struct proc_spec spec = {.deadline_s = 300, .grace_s = 0.1, .kill_wait_s = 1};
	struct lines l = {0};
	struct proc *p = begin_spec(&spec, "namespace", &l);
	int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC), theirs;
	pid_t zombie;
	siginfo_t info;

	(void)state;
	while (l.count == 0)
		proc_pump(&p, 1, 1000);
	if (l.n_pids == 1) {
		pid_t first = l.pids[0];

		theirs = open(tmpf("/proc/%d/ns/pid", (int)first), O_RDONLY | O_CLOEXEC);
		assert_true(theirs >= 0);
		if (setns(theirs, CLONE_NEWPID) == 0) {
			zombie = fork();
			if (zombie == 0)
				_exit(0);
			assert_int_equal(waitid(P_PID, (id_t)zombie, &info, WEXITED | WNOWAIT), 0);
			assert_int_equal(setns(own, CLONE_NEWPID), 0);
			proc_stop(p);
			run_to_end(p);
			assert_true(proc_result(p)->unkillable);
			assert_false(proc_result(p)->guard_lost);
			/* Now it can end; it was handed to us, its last subreaper. */
			waitpid(zombie, NULL, 0);
			assert_int_equal(waitpid(first, NULL, 0), first);
		}
		close(theirs);
	}
	close(own);
	if (!proc_done(p) || !proc_result(p)->unkillable) {
		proc_free(p);
		str_release(&l.text);
		skip(); /* needs the right to make a pid namespace */
	}
	proc_free(p);
	str_release(&l.text);
}

/* --- guards ---------------------------------------------------------------------- */

static void a_guard_that_hangs_holds_up_nothing(void **state)
{
	struct proc_spec spec = {.deadline_s = 4, .grace_s = 0.1, .kill_wait_s = 0.2};
	struct lines l = {0};
	struct proc *p = begin_spec(&spec, "stubborn", &l);

	(void)state;
	until_pids(p, &l, 2);
	kill(parent_of(l.pids[1]), SIGSTOP);
	run_to_end(p);
	assert_true(proc_result(p)->guard_lost);
	assert_true(proc_result(p)->timed_out);
	assert_true(all_gone(&l));
	proc_free(p);
	str_release(&l.text);
}

static void a_lost_guard_costs_no_other_child(void **state)
{
	struct lines l[2] = {{{0}, 0, {0}, 0}};
	struct proc *p[2];
	pid_t stranger;

	(void)state;
	stranger = fork(); /* a child of ours with a session of its own */
	if (stranger == 0) {
		setsid();
		for (;;)
			pause();
	}
	while (getsid(stranger) != stranger)
		sched_yield();
	for (int i = 0; i < 2; i++) {
		p[i] = begin("stubborn", NULL, 300, NULL, &l[i]);
		until_pids(p[i], &l[i], 2);
	}
	kill(parent_of(l[1].pids[1]), SIGKILL);
	while (!proc_done(p[1]))
		proc_pump(p, 2, 1000);
	assert_true(proc_result(p[1])->guard_lost);
	assert_true(all_gone(&l[1]));
	assert_false(proc_done(p[0]));
	assert_true(lives(l[0].pids[0]) && lives(l[0].pids[1]));
	assert_true(lives(stranger));
	proc_free(p[0]);
	assert_true(all_gone(&l[0]));
	proc_free(p[1]);
	kill(stranger, SIGKILL);
	waitpid(stranger, NULL, 0);
	str_release(&l[0].text);
	str_release(&l[1].text);
}

/* Detached, in a session of its own, environment wiped: still found. */
static void a_lost_guards_most_hidden_process_is_found(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("bare", NULL, 300, NULL, &l);
	struct timespec pause = {.tv_nsec = 1000000};

	(void)state;
	until_pids(p, &l, 1);
	/* Its parent ends in its own time; then it is the guard's. */
	while (parent_of(parent_of(l.pids[0])) != getpid())
		nanosleep(&pause, NULL);
	kill(parent_of(l.pids[0]), SIGKILL);
	run_to_end(p);
	assert_true(proc_result(p)->guard_lost);
	assert_true(all_gone(&l));
	proc_free(p);
	str_release(&l.text);
}

static void a_terminated_guard_ends_its_child(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("stubborn", NULL, 300, NULL, &l);

	(void)state;
	until_pids(p, &l, 2);
	kill(parent_of(l.pids[1]), SIGTERM);
	run_to_end(p);
	assert_true(proc_result(p)->stopped);
	assert_false(proc_result(p)->guard_lost);
	assert_true(all_gone(&l));
	proc_free(p);
	str_release(&l.text);
}

/* As the first process of a container assay is everybody's ancestor. */
static void a_lost_guard_is_made_up_for_in_a_container(void **state)
{
	struct str out = {0};
	const char *argv[] = {"unshare", "--pid", "--fork", "--mount-proc",
	                      helper,    "lose",  helper,   NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = 60, .max_out = 10000};
	struct proc_end end;

	(void)state;
	if (spawn_run(&spec, &out, &end, NULL) != ST_OK || end.exit_code != 0) {
		str_release(&end.err);
		str_release(&out);
		skip(); /* needs unshare(1) and root */
	}
	assert_string_equal(out.data, "self 1 lost 1 alive 0\n");
	str_release(&end.err);
	str_release(&out);
}

/* --- assay -------------------------------------------------------------------------- */

/* Ctrl-C reaches assay's process group; the child is in another, and ends
 * because assay does. */
static void an_interrupt_of_the_group_ends_all(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str scratch = {0};
	struct lines l = {0};
	pid_t assay;
	int lock, status;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	assay = start_assay(scratch.data, &l);
	l.pids[l.n_pids++] = parent_of(l.pids[1]); /* the guard goes last */
	assert_int_equal(kill(-assay, SIGINT), 0);
	assert_int_equal(waitpid(assay, &status, 0), assay);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	assert_true(all_gone(&l));
	close(lock);
	assert_false(exists(tmpf("%s/.assay-run1", dir)));
	assert_int_equal(rmdir(dir), 0);
	str_release(&scratch);
	str_release(&l.text);
}

/* A run resumed right after kill -9: the old guard is still at work in the
 * very directory. */
static void a_resumed_run_waits_for_the_old_guard(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str scratch = {0}, again = {0}, removed = {0};
	struct lines l = {0};
	pid_t assay, guard;
	int lock;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	assay = start_assay(scratch.data, &l);
	guard = parent_of(l.pids[1]);
	kill(guard, SIGSTOP);
	kill(assay, SIGKILL);
	waitpid(assay, NULL, 0);
	close(lock);
	assert_int_equal(guard_sweep(dir, "n1", &removed, NULL), ST_OK);
	assert_true(exists(scratch.data)); /* the guard holds it */
	kill(guard, SIGCONT);
	assert_int_equal(scratch_make(dir, "run1", "n1", &again, &lock, NULL), ST_OK);
	l.pids[l.n_pids++] = guard;
	assert_true(all_gone(&l));
	assert_true(exists(again.data)); /* the old guard took only its own */
	close(lock);
	guard_sweep(dir, "n1", &removed, NULL);
	assert_int_equal(rmdir(dir), 0);
	str_release(&scratch);
	str_release(&again);
	str_release(&removed);
	str_release(&l.text);
}

/* --- bad requests -------------------------------------------------------------------- */

static void times_that_are_none_are_refused(void **state)
{
	const double bad[] = {0, -1, NAN, INFINITY, 1e12};
	const char *argv[] = {"helper", NULL};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct proc_spec spec = {.exe = helper, .argv = argv, .deadline_s = bad[i]};
		struct spawn_spec program = {.argv = (const char *[]){"true", NULL},
		                             .deadline_s = bad[i]};
		struct proc_end end;
		struct str out = {0};
		struct proc *p;

		assert_int_equal(proc_start(&p, &spec, NULL), ST_RANGE);
		assert_null(p);
		assert_int_equal(spawn_run(&program, &out, &end, NULL), ST_RANGE);
	}
}

static void a_scratch_path_that_is_none_starts_nothing(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	const char *argv[] = {"helper", NULL};
	struct error err = {0};
	struct proc *p;

	(void)state;
	assert_non_null(mkdtemp(dir));
	struct proc_spec spec = {.exe = helper,
	                         .argv = argv,
	                         .deadline_s = 60,
	                         .scratch = (const char *[]){dir},
	                         .n_scratch = 1};
	assert_int_equal(proc_start(&p, &spec, &err), ST_USAGE);
	assert_non_null(strstr(err.text.data, dir));
	assert_true(exists(dir));
	rmdir(dir);
	error_release(&err);
}

static void a_failed_start_removes_the_scratch(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	const char *argv[] = {"helper", NULL};
	struct str scratch = {0};
	struct proc *p;
	int lock;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	struct proc_spec spec = {.exe = "/etc/passwd",
	                         .argv = argv,
	                         .deadline_s = 60,
	                         .scratch = (const char *[]){scratch.data},
	                         .n_scratch = 1};
	assert_int_equal(proc_start(&p, &spec, NULL), ST_PERMISSION);
	scratch_close(scratch.data, lock);
	assert_int_equal(rmdir(dir), 0);
	str_release(&scratch);
}

static void a_guard_started_by_hand_says_who_it_is(void **state)
{
	const char *argv[] = {helper, "--guard", NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = 60, .max_out = 1000};
	struct str out = {0};
	struct proc_end end;

	(void)state;
	assert_int_equal(spawn_run(&spec, &out, &end, NULL), ST_OK);
	assert_int_equal(end.exit_code, EXIT_USAGE);
	assert_non_null(strstr(end.err.data, "--guard is for assay itself"));
	str_release(&end.err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_last_line_without_newline_counts),
		cmocka_unit_test(a_mute_child_meets_its_deadline),
		cmocka_unit_test(signals_are_as_a_program_expects_them),
		cmocka_unit_test(a_process_without_its_first_thread_is_ended),
		cmocka_unit_test(a_process_that_never_stands_still_is_ended),
		cmocka_unit_test(long_argument_lists_arrive_whole),
		cmocka_unit_test(what_cannot_be_killed_is_given_up_on),
		cmocka_unit_test(a_guard_that_hangs_holds_up_nothing),
		cmocka_unit_test(a_lost_guard_costs_no_other_child),
		cmocka_unit_test(a_lost_guards_most_hidden_process_is_found),
		cmocka_unit_test(a_terminated_guard_ends_its_child),
		cmocka_unit_test(a_lost_guard_is_made_up_for_in_a_container),
		cmocka_unit_test(an_interrupt_of_the_group_ends_all),
		cmocka_unit_test(a_resumed_run_waits_for_the_old_guard),
		cmocka_unit_test(times_that_are_none_are_refused),
		cmocka_unit_test(a_scratch_path_that_is_none_starts_nothing),
		cmocka_unit_test(a_failed_start_removes_the_scratch),
		cmocka_unit_test(a_guard_started_by_hand_says_who_it_is),
	};

	proc_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
