/* What the tests of the fio reader share: comparing figures and outcomes. */
#ifndef ASSAY_TESTS_FIO_KIT_H
#define ASSAY_TESTS_FIO_KIT_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/msg.h"
#include "bench/fio.h"

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
#define MEASURED (-1)

static inline void near(double value, double expected, double tolerance, const char *what)
{
	if (isnan(value) && isnan(expected))
		return;
	if (!(fabs(value - expected) <= tolerance))
		fail_msg("%s: %.6g instead of %.6g", what, value, expected);
}

static inline void expect(const struct fio_result *r, const char *what, int reason)
{
	bool failed = reason == MSG_fio_io_error || reason == MSG_fio_nothing_done ||
	              reason == MSG_fio_disagrees;

	if (reason == MEASURED ? r->outcome != OUTCOME_MEASURED
	                       : r->outcome == OUTCOME_MEASURED || (int)r->reason != reason)
		fail_msg("%s: outcome %s, %s", what, outcome_name(r->outcome),
		         r->outcome == OUTCOME_MEASURED ? "" : say_list(r->reason, r->args));
	if (reason == MEASURED)
		return;
	assert_int_equal(r->outcome, failed ? OUTCOME_FAILED : OUTCOME_NOT_MEASURED);
	if (strchr(say_list(r->reason, r->args), '?'))
		fail_msg("%s: an argument is missing: %s", what, say_list(r->reason, r->args));
}

#endif
