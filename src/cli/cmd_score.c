/* assay score and assay report: judge a saved run and print it. Both start
 * from the journal alone and need no hardware. */
#include <string.h>

#include "cli/cli.h"
#include "cli/evidence.h"
#include "cli/language.h"
#include "cli/model.h"

static const struct option_row score_rows[] = {
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"strict", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_strict},
	{"params", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_params},
	{"tokens", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_tokens},
	EVIDENCE_OPTIONS,
	{0},
};

static const struct option_row report_rows[] = {
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
	{"json", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_json},
	{"csv", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_csv},
	{"html", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_html},
	{"markdown", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_markdown},
	{"junit", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_junit},
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	EVIDENCE_OPTIONS,
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
		.evidence = o,
	};
}

static int score(const struct options *o, struct error *err)
{
	struct judge_request request = request_of(o);
	struct report_options options = cli_report_options();
	struct judged j = {0};
	enum status st = model_check(o, err);
	int code;

	if (st == ST_OK)
		st = cli_judge(&j, &request, err);
	if (st == ST_OK)
		st = cli_write_report("terminal", "-", &j.card, &options, err);
	if (st == ST_OK)
		model_say(&j.run, o);
	code = st == ST_OK ? cli_verdict_code(&j.card) : cli_status_code(st);
	cli_judged_release(&j);
	return code;
}

static const char *const formats[] = {"json", "csv", "html", "markdown", "junit"};

#define N_FILES (sizeof(formats) / sizeof(*formats))

/* Judging finds the words, so each language has its own; most often it is one. */
static enum status reports_in(enum language language, const struct options *o,
                              struct judge_request *request, bool terminal, struct error *err)
{
	struct report_options options = cli_report_options();
	bool wanted = terminal = terminal && language_of_report("terminal") == language;
	enum language before;
	enum status st;
	struct judged j;

	for (size_t i = 0; i < N_FILES; i++)
		wanted = wanted || (option_given(o, formats[i]) &&
		                    language_of_report(formats[i]) == language);
	if (!wanted)
		return ST_OK;
	options.run_dir = request->dir;
	options.metrics = cli_metrics();
	before = msg_speak(language);
	st = cli_judge(&j, request, err);
	request->again = true;
	if (st == ST_OK && terminal)
		st = cli_write_report("terminal", "-", &j.card, &options, err);
	for (size_t i = 0; i < N_FILES && st == ST_OK; i++)
		if (option_given(o, formats[i]) && language_of_report(formats[i]) == language)
			st = cli_write_report(formats[i], option_text(o, formats[i], NULL), &j.card,
			                      &options, err);
	cli_judged_release(&j);
	msg_speak(before);
	return st;
}

static int report(const struct options *o, struct error *err)
{
	struct judge_request request = request_of(o);
	int on_stdout = option_given(o, "terminal"), given = on_stdout;
	enum status st = ST_OK;

	for (size_t i = 0; i < N_FILES; i++) {
		const char *file = option_text(o, formats[i], NULL);

		given += file != NULL;
		on_stdout += file && strcmp(file, "-") == 0;
	}
	if (on_stdout > 1)
		return cli_status_code(error_set(err, ST_USAGE, MSG_two_on_stdout));
	for (enum language l = 0; l < LANGUAGES && st == ST_OK; l++)
		st = reports_in(l, o, &request, option_given(o, "terminal") || !given, err);
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
