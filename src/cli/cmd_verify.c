/* assay verify: is this run what was measured? 0 intact, 1 altered, 2
 * unreadable. */
#include <stdio.h>

#include "cli/cli.h"

static const struct option_row rows[] = {{0}};

static int verify(const struct options *o, struct error *err)
{
	struct rundir run;
	enum status st = rundir_open(&run, o->operands[0], RUNDIR_CHAIN | RUNDIR_RAW, err);
	const char *readings;
	int code = 0;

	if (st != ST_OK)
		return EXIT_INCOMPLETE;
	readings = tmpf("%lld", (long long)run.n_readings);
	switch (run.state) {
	case JOURNAL_INTACT:
		printf("%s\n", say(MSG_verify_intact, readings, run.digest));
		break;
	case JOURNAL_CUT:
		printf("%s\n",
		       say(MSG_verify_cut, readings, run.digest, run.trouble ? run.trouble : ""));
		break;
	case JOURNAL_ALTERED:
		printf("%s\n", say(MSG_verify_altered, run.trouble ? run.trouble : "?"));
		code = EXIT_REJECT;
		break;
	case JOURNAL_UNREADABLE:
		printf("%s\n", say(MSG_verify_unreadable, run.trouble ? run.trouble : "?"));
		code = EXIT_INCOMPLETE;
		break;
	}
	rundir_close(&run);
	return code;
}

const struct command command_verify = {
	.name = "verify",
	.summary = MSG_cmd_verify,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.run = verify,
};
