/* spawn_run: streams, ends, deadlines and limits of one program. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/proc.h"

static enum status shell(const char *script, double deadline, size_t max_out, struct str *out,
                         struct proc_end *end, struct error *err)
{
	const char *argv[] = {"sh", "-c", script, NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = deadline, .max_out = max_out};

	return spawn_run(&spec, out, end, err);
}

static void both_streams_and_the_code_come_back(void **state)
{
	struct str out = {0};
	struct proc_end end;

	(void)state;
	assert_int_equal(shell("echo out; echo err >&2; exit 3", 30, 1000, &out, &end, NULL),
	                 ST_OK);
	assert_string_equal(str_text(&out), "out\n");
	assert_string_equal(str_text(&end.err), "err\n");
	assert_int_equal(end.exit_code, 3);
	assert_int_equal(end.signal, 0);
	assert_true(end.started && !end.timed_out && !end.stopped);
	str_release(&out);
	str_release(&end.err);
}

static void a_signal_is_not_an_exit_code(void **state)
{
	struct str out = {0};
	struct proc_end end;

	(void)state;
	assert_int_equal(shell("kill -9 $$", 30, 1000, &out, &end, NULL), ST_OK);
	assert_int_equal(end.exit_code, -1);
	assert_int_equal(end.signal, SIGKILL);
	str_release(&end.err);
}

static void a_deadline_ends_the_group(void **state)
{
	struct str out = {0};
	struct proc_end end;

	(void)state;
	/* The inner sleep holds the pipe; it must go with the group. */
	assert_int_equal(shell("trap '' TERM; echo begun; sleep 600 & wait; sleep 600", 3, 1000,
	                       &out, &end, NULL),
	                 ST_OK);
	assert_true(end.timed_out);
	assert_false(end.unkillable);
	assert_string_equal(str_text(&out), "begun\n");
	str_release(&out);
	str_release(&end.err);
}

static void an_orphan_holding_the_pipe_does_not_hold_us(void **state)
{
	struct str out = {0};
	struct proc_end end;

	(void)state;
	assert_int_equal(shell("sleep 600 & echo done", 600, 1000, &out, &end, NULL), ST_OK);
	assert_string_equal(str_text(&out), "done\n");
	assert_false(end.timed_out);
	assert_true(end.seconds < 300);
	str_release(&out);
	str_release(&end.err);
}

static void too_much_output_is_an_error(void **state)
{
	struct str out = {0};
	struct proc_end end;
	struct error err = {0};

	(void)state;
	assert_int_equal(shell("yes", 60, 100000, &out, &end, &err), ST_RANGE);
	assert_int_equal(out.len, 100000);
	assert_non_null(strstr(err.text.data, "sh: wrote more output"));
	error_release(&err);
	str_release(&out);
	str_release(&end.err);
}

static void a_missing_program_is_named(void **state)
{
	const char *argv[] = {"no-such-program-here", NULL};
	struct spawn_spec spec = {.argv = argv, .deadline_s = 5, .max_out = 10};
	struct str out = {0};
	struct proc_end end;
	struct error err = {0};

	(void)state;
	assert_int_equal(spawn_run(&spec, &out, &end, &err), ST_NOTFOUND);
	assert_false(end.started);
	assert_non_null(strstr(err.text.data, "no-such-program-here: not found in PATH"));
	error_release(&err);
	argv[0] = "/etc/passwd";
	assert_int_not_equal(spawn_run(&spec, &out, &end, &err), ST_OK);
	error_release(&err);
}

static bool stop_at_once(void *arg, double seconds)
{
	int *calls = arg;

	(void)seconds;
	(*calls)++;
	return false;
}

static void the_tick_can_end_it(void **state)
{
	const char *argv[] = {"sleep", "600", NULL};
	int calls = 0;
	struct spawn_spec spec = {.argv = argv,
	                          .deadline_s = 600,
	                          .max_out = 10,
	                          .tick = stop_at_once,
	                          .arg = &calls};
	struct str out = {0};
	struct proc_end end;

	(void)state;
	assert_int_equal(spawn_run(&spec, &out, &end, NULL), ST_OK);
	assert_true(end.stopped);
	assert_int_equal(calls, 1);
	assert_int_equal(end.signal, SIGTERM);
	str_release(&end.err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_streams_and_the_code_come_back),
		cmocka_unit_test(a_signal_is_not_an_exit_code),
		cmocka_unit_test(a_deadline_ends_the_group),
		cmocka_unit_test(an_orphan_holding_the_pipe_does_not_hold_us),
		cmocka_unit_test(too_much_output_is_an_error),
		cmocka_unit_test(a_missing_program_is_named),
		cmocka_unit_test(the_tick_can_end_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
