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
	{"html", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_html},
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
	static const char *const formats[] = {"json", "csv", "html"};
	struct judge_request request = request_of(o);
	struct report_options options = cli_report_options();
	int on_stdout = option_given(o, "terminal"), given = on_stdout;
	struct judged j;
	enum status st;

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		const char *file = option_text(o, formats[i], NULL);

		given += file != NULL;
		on_stdout += file && strcmp(file, "-") == 0;
	}
	if (on_stdout > 1)
		return cli_status_code(error_set(err, ST_USAGE, MSG_two_on_stdout));
	options.run_dir = request.dir;
	options.metrics = cli_metrics();
	st = cli_judge(&j, &request, err);
	if (st == ST_OK && (option_given(o, "terminal") || !given))
		st = cli_write_report("terminal", "-", &j.card, &options, err);
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats) && st == ST_OK; i++)
		if (option_text(o, formats[i], NULL))
			st = cli_write_report(formats[i], option_text(o, formats[i], NULL), &j.card,
			                      &options, err);
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
