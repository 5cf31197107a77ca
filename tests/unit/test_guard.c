/* The guard's promise: whatever dies, nothing of ours lives on and our files
 * go, and nothing else is touched. Zombies do not count as alive. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/proc.h"
#include "tests/unit/guard_kit.h"
#include "tests/cleanup.h"

static void lines_exit_codes_and_signals_come_back(void **state)
{
	static const struct {
		const char *mode, *number;
		int exit_code, signal;
	} rows[] = {{"exit", "0", 0, 0},
	            {"exit", "7", 7, 0},
	            {"abort", "6", -1, 6},
	            {"abort", "9", -1, 9}};
	struct lines l = {0};
	struct proc *p = begin("echo", NULL, 30, NULL, &l);

	(void)state;
	run_to_end(p);
	assert_string_equal(l.text.data, "first\nasked\n");
	assert_non_null(strstr(proc_result(p)->err.data, "to stderr"));
	assert_non_null(strstr(proc_result(p)->err.data, "to stdout"));
	assert_true(proc_result(p)->started && !proc_result(p)->timed_out &&
	            !proc_result(p)->guard_lost);
	proc_free(p);
	str_release(&l.text);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		p = begin(rows[i].mode, rows[i].number, 30, NULL, &l);
		run_to_end(p);
		assert_int_equal(proc_result(p)->exit_code, rows[i].exit_code);
		assert_int_equal(proc_result(p)->signal, rows[i].signal);
		proc_free(p);
	}
}

static void a_deadline_ends_the_whole_tree(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str scratch = {0}, precious = {0}, link = {0};
	struct lines l = {0};
	struct proc *p;
	int lock;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	path_join(&precious, dir, "precious");
	assert_int_equal(file_write(precious.data, "keep", 4, NULL), ST_OK);
	path_join(&link, scratch.data, "link");
	assert_int_equal(symlink(dir, link.data), 0);
	p = begin("stubborn", NULL, 1.0, scratch.data, &l);
	run_to_end(p);
	assert_true(proc_result(p)->timed_out);
	assert_false(proc_result(p)->unkillable);
	assert_int_equal(l.n_pids, 2);
	assert_true(all_gone(&l));
	assert_false(exists(scratch.data));
	assert_false(exists(tmpf("%s/.assay-run1", dir)));
	assert_true(exists(precious.data));
	proc_free(p);
	close(lock);
	dir_remove(dir, NULL);
	str_release(&scratch);
	str_release(&precious);
	str_release(&link);
	str_release(&l.text);
}

static void stopping_ends_it_at_once(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("stubborn", NULL, 300, NULL, &l);

	(void)state;
	until_pids(p, &l, 2);
	proc_stop(p);
	run_to_end(p);
	assert_true(proc_result(p)->stopped);
	assert_true(all_gone(&l));
	proc_free(p);
	str_release(&l.text);
}

static void what_a_child_leaves_behind_is_ended(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("leave", NULL, 300, NULL, &l);

	(void)state;
	run_to_end(p);
	assert_int_equal(proc_result(p)->exit_code, 0);
	assert_int_equal(l.n_pids, 1);
	assert_true(all_gone(&l));
	proc_free(p);
	str_release(&l.text);
}

static void a_lost_guard_is_made_up_for(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str scratch = {0};
	struct lines l = {0};
	struct proc *p;
	int lock;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	p = begin("stubborn", NULL, 300, scratch.data, &l);
	until_pids(p, &l, 2);
	kill(parent_of(l.pids[1]), SIGKILL);
	run_to_end(p);
	assert_true(proc_result(p)->guard_lost);
	assert_true(all_gone(&l));
	assert_false(exists(scratch.data));
	proc_free(p);
	close(lock);
	dir_remove(dir, NULL);
	str_release(&scratch);
	str_release(&l.text);
}

static void killing_assay_leaves_nothing(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str scratch = {0};
	struct lines l = {0};
	pid_t assay;
	int lock;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	assay = start_assay(scratch.data, &l);
	l.pids[l.n_pids++] = parent_of(l.pids[1]); /* the guard goes too, when done */
	kill(assay, SIGKILL);
	waitpid(assay, NULL, 0);
	assert_true(all_gone(&l));
	assert_false(exists(scratch.data));
	close(lock);
	dir_remove(dir, NULL);
	str_release(&scratch);
	str_release(&l.text);
}

static void the_next_start_sweeps_what_both_left(void **state)
{
	char dir[] = "/tmp/assay-test-XXXXXX";
	struct str scratch = {0}, other = {0}, mine = {0}, removed = {0};
	struct lines l = {0};
	pid_t assay;
	int lock, other_lock, mine_lock;

	(void)state;
	make_scratch(dir, &scratch, &lock);
	assert_int_equal(scratch_make(dir, "run2", "n1", &mine, &mine_lock, NULL), ST_OK);
	assert_int_equal(scratch_make(dir, "run3", "n2", &other, &other_lock, NULL), ST_OK);
	assay = start_assay(scratch.data, &l);
	l.pids[l.n_pids++] = parent_of(l.pids[1]);
	kill(assay, SIGSTOP);
	kill(l.pids[2], SIGKILL);
	kill(assay, SIGKILL);
	waitpid(assay, NULL, 0);
	/* The child itself dies with its guard; its detached grandchild has no one
	 * left to end it, which is why README names this one case. */
	kill(l.pids[0], SIGKILL);
	assert_true(all_gone(&l));
	assert_true(exists(scratch.data));
	assert_int_equal(guard_sweep(dir, "n1", &removed, NULL), ST_OK);
	assert_true(exists(scratch.data)); /* its lock is still held */
	close(lock);
	close(other_lock);
	assert_int_equal(guard_sweep(dir, "n1", &removed, NULL), ST_OK);
	assert_false(exists(scratch.data));
	assert_true(exists(mine.data));  /* held */
	assert_true(exists(other.data)); /* another node's */
	assert_non_null(strstr(removed.data, ".assay-run1/n1"));
	close(mine_lock);
	dir_remove(dir, NULL);
	str_release(&scratch);
	str_release(&other);
	str_release(&mine);
	str_release(&removed);
	str_release(&l.text);
}

static void floods_do_not_block(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("flood", NULL, 60, NULL, &l);

	(void)state;
	run_to_end(p);
	assert_int_equal(proc_result(p)->exit_code, 0);
	assert_true(proc_result(p)->err.len >= 1 << 20 &&
	            proc_result(p)->err.len < (1 << 20) + 100);
	assert_non_null(strstr(proc_result(p)->err.data, " bytes were cut here]"));
	proc_free(p);
}

static void long_lines_pass_up_to_a_limit(void **state)
{
	struct lines l = {0};
	struct proc *p = begin("long", "1048576", 60, NULL, &l);

	(void)state;
	run_to_end(p);
	assert_int_equal(l.count, 2);
	assert_int_equal(l.text.len, 1048576 + 1 + 6);
	proc_free(p);
	str_release(&l.text);
	p = begin("long", "16777216", 60, NULL, &l);
	run_to_end(p);
	assert_string_equal(l.text.data, "after\n");
	assert_non_null(
		strstr(proc_result(p)->err.data, "1 lines of more than 8.0 MiB were dropped"));
	proc_free(p);
	str_release(&l.text);
}

static void children_get_a_clean_environment(void **state)
{
	struct lines l = {0};
	struct proc *p;

	(void)state;
	setenv("OMPI_COMM_WORLD_RANK", "3", 1);
	setenv("LC_ALL", "de_DE.UTF-8", 1);
	setenv("ASSAY_TEST_KEPT", "1", 1);
	p = begin("env", NULL, 30, NULL, &l);
	run_to_end(p);
	assert_string_equal(l.text.data, "LC_ALL=C\nOMPI=-\nKEPT=there\n");
	proc_free(p);
	str_release(&l.text);
	unsetenv("LC_ALL");
}

static void a_missing_program_is_said(void **state)
{
	const char *argv[] = {"helper", NULL};
	struct proc_spec spec = {
		.exe = "/nonexistent/assay", .argv = argv, .label = "x", .deadline_s = 5};
	struct proc *p;
	struct error err = {0};

	(void)state;
	assert_int_equal(proc_start(&p, &spec, &err), ST_NOTFOUND);
	assert_non_null(strstr(err.text.data, "/nonexistent/assay"));
	error_release(&err);
}

static void eight_at_once(void **state)
{
	struct lines l[8] = {{{0}, 0, {0}, 0}};
	struct proc *p[8];
	int left = 8;

	(void)state;
	for (int i = 0; i < 8; i++)
		p[i] = begin(i % 2 ? "leave" : "echo", NULL, 60, NULL, &l[i]);
	while (left) {
		proc_pump(p, 8, 1000);
		left = 0;
		for (int i = 0; i < 8; i++)
			left += !proc_done(p[i]);
	}
	for (int i = 0; i < 8; i++) {
		assert_int_equal(proc_result(p[i])->exit_code, 0);
		assert_int_equal(l[i].count, i % 2 ? 1 : 2);
		assert_true(all_gone(&l[i]));
		proc_free(p[i]);
		str_release(&l[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_exit_codes_and_signals_come_back),
		cmocka_unit_test(a_deadline_ends_the_whole_tree),
		cmocka_unit_test(stopping_ends_it_at_once),
		cmocka_unit_test(what_a_child_leaves_behind_is_ended),
		cmocka_unit_test(a_lost_guard_is_made_up_for),
		cmocka_unit_test(killing_assay_leaves_nothing),
		cmocka_unit_test(the_next_start_sweeps_what_both_left),
		cmocka_unit_test(floods_do_not_block),
		cmocka_unit_test(long_lines_pass_up_to_a_limit),
		cmocka_unit_test(children_get_a_clean_environment),
		cmocka_unit_test(a_missing_program_is_said),
		cmocka_unit_test(eight_at_once),
	};

	proc_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
