/* assay score and assay report: judge a saved run and print it. Both start
 * from the journal alone and need no hardware. */
#include <string.h>

#include "cli/cli.h"

static const struct option_row score_rows[] = {
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"strict", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_strict},
	{0},
};

static const struct option_row report_rows[] = {
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
	{"json", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_json},
	{"csv", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_csv},
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{0},
};

static struct judge_request request_of(const struct options *o)
{
	return (struct judge_request){
		.dir = o->operands[0],
		.profile = option_text(o, "profile", NULL),
		.config_dir = option_text(o, "config-dir", NULL),
		.stage = strcmp(option_text(o, "stage", "delivery"), "period") == 0 ? RULE_PERIOD
	                                                                            : RULE_DELIVERY,
	};
}

static int score(const struct options *o, struct error *err)
{
	struct judge_request request = request_of(o);
	struct report_options options = cli_report_options();
	struct judged j;
	enum status st = cli_judge(&j, &request, err);
	int code;

	if (st == ST_OK)
		st = cli_write_report("terminal", "-", &j.card, &options, err);
	code = st == ST_OK ? cli_verdict_code(&j.card) : cli_status_code(st);
	cli_judged_release(&j);
	return code;
}

static int report(const struct options *o, struct error *err)
{
	struct judge_request request = request_of(o);
	struct report_options options = cli_report_options();
	const char *json = option_text(o, "json", NULL), *csv = option_text(o, "csv", NULL);
	struct judged j;
	enum status st;

	if (json && csv && strcmp(json, "-") == 0 && strcmp(csv, "-") == 0)
		return cli_status_code(error_set(err, ST_USAGE, MSG_two_on_stdout));
	st = cli_judge(&j, &request, err);
	if (st == ST_OK && (option_given(o, "terminal") || (!json && !csv)))
		st = cli_write_report("terminal", "-", &j.card, &options, err);
	if (st == ST_OK && json)
		st = cli_write_report("json", json, &j.card, &options, err);
	if (st == ST_OK && csv)
		st = cli_write_report("csv", csv, &j.card, &options, err);
	cli_judged_release(&j);
	return cli_status_code(st);
}

const struct command command_score = {
	.name = "score",
	.summary = MSG_cmd_score,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = score_rows,
	.run = score,
};

const struct command command_report = {
	.name = "report",
	.summary = MSG_cmd_report,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = report_rows,
	.run = report,
};
