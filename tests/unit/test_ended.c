/* How a child ended: every way has its outcome and its words. */
#include "tests/unit/unit.h"

#include <signal.h>
#include <string.h>

#include "base/msg.h"
#include "coord/ended.h"

static void check(struct proc_end end, bool at_work, bool broke, enum outcome outcome, enum msg id,
                  const char *words)
{
	struct arena arena = {0};
	struct reason reason;
	struct ended e = {.name = "net", .end = &end, .at_work = at_work, .broke = broke};

	str_add(&end.err, "first\nthe cause\n\n");
	assert_int_equal(child_outcome(&e, &arena, &reason), outcome);
	assert_string_equal(reason.code, msg_name(id));
	if (!strstr(reason.text, words))
		fail_msg("no \"%s\" in \"%s\"", words, reason.text);
	str_release(&end.err);
	arena_release(&arena);
}

static void every_end_has_its_words(void **state)
{
	(void)state;
	check((struct proc_end){.signal = SIGSEGV}, true, false, OUTCOME_FAILED, MSG_child_signal,
	      "Segmentation fault): the cause");
	check((struct proc_end){.exit_code = 7}, true, false, OUTCOME_FAILED, MSG_child_exit, "7");
	check((struct proc_end){.exit_code = 4}, true, true, OUTCOME_FAILED, MSG_child_broke,
	      "the cause");
	check((struct proc_end){.timed_out = true, .seconds = 61}, true, false, OUTCOME_TIMED_OUT,
	      MSG_child_deadline, "61");
	/* Before it measures it waits for others than the hardware. */
	check((struct proc_end){.timed_out = true, .seconds = 61}, false, false,
	      OUTCOME_NOT_MEASURED, MSG_slow_load, "61");
	check((struct proc_end){.unkillable = true, .seconds = 9}, true, false, OUTCOME_TIMED_OUT,
	      MSG_child_stuck, "9");
	check((struct proc_end){.unkillable = true, .stopped = true}, true, false,
	      OUTCOME_NOT_MEASURED, MSG_interrupted, "net");
	check((struct proc_end){.guard_lost = true, .signal = SIGKILL}, true, false, OUTCOME_FAILED,
	      MSG_guard_lost, "net");
	check((struct proc_end){.stopped = true, .signal = SIGTERM}, true, false,
	      OUTCOME_NOT_MEASURED, MSG_interrupted, "net");
}

static void silence_is_said(void **state)
{
	struct proc_end end = {.exit_code = 1};
	struct ended e = {.name = "net", .end = &end};
	struct arena arena = {0};
	struct reason reason;

	(void)state;
	assert_int_equal(child_outcome(&e, &arena, &reason), OUTCOME_FAILED);
	assert_non_null(strstr(reason.text, "no output"));
	arena_release(&arena);
}

/* Another node's silence says nothing of this one. */
static void who_waits_in_vain_is_not_to_blame(void **state)
{
	struct proc_end end = {.exit_code = 4};
	struct ended e = {.name = "net", .end = &end, .broke = true, .waited_for = "n0"};
	struct arena arena = {0};
	struct reason reason;

	(void)state;
	assert_int_equal(child_outcome(&e, &arena, &reason), OUTCOME_NOT_MEASURED);
	assert_non_null(strstr(reason.text, "waited in vain for word of n0"));
	end.signal = SIGSEGV;
	assert_int_equal(child_outcome(&e, &arena, &reason), OUTCOME_FAILED);
	arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_end_has_its_words),
		cmocka_unit_test(silence_is_said),
		cmocka_unit_test(who_waits_in_vain_is_not_to_blame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
