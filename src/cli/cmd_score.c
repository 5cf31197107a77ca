/* assay score and assay report: judge a saved run and print it. Both start
 * from the journal alone and need no hardware. */
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/evidence_kept.h"
#include "cli/model.h"
#include "cli/outputs.h"

static const struct option_row score_rows[] = {
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"waive", OPTION_EACH, "RULE[,SUBJECT]", 0, 0, NULL, MSG_opt_waive},
	{"reason", OPTION_EACH, "TEXT", 0, 0, NULL, MSG_opt_reason},
	{"waived-by", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_waived_by},
	{"no-waivers", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_no_waivers},
	{"strict", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_strict},
	EVIDENCE_OPTIONS,
	{"keep-evidence", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_keep_evidence},
	{0},
};

static const struct option_row report_rows[] = {
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
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

/* --- waivers ------------------------------------------------------------------------ */

/* A waiver that excuses nothing is a slip of the pen: it would wait for what it never
 * was granted for. */
static enum status check_use(const struct scorecard *card, const struct waiver *w,
                             struct error *err)
{
	const char *what = w->subject ? tmpf("%s,%s", w->rule, w->subject) : w->rule;

	for (int i = 0; i < card->n_waivers; i++) {
		const struct waiver_result *r = &card->waivers[i];

		if (r->waiver.rule != w->rule && strcmp(r->waiver.rule, w->rule) != 0)
			continue;
		if ((r->waiver.subject == NULL) != (w->subject == NULL) ||
		    (w->subject && strcmp(r->waiver.subject, w->subject) != 0))
			continue;
		if (r->excused)
			return ST_OK;
		if (r->matched)
			return error_set(err, ST_USAGE, MSG_waive_good, what);
		if (r->too_fine)
			return error_set(err, ST_USAGE, MSG_waive_too_fine, what, w->rule);
	}
	return error_set(err, ST_USAGE, MSG_waive_nobody, what, w->rule);
}

static enum status grant(const struct waiver_list *given, struct judge_request request,
                         struct error *err)
{
	struct judged j;
	enum status st;

	request.grant = given;
	st = cli_judge(&j, &request, err);
	for (int i = 0; i < given->n && st == ST_OK; i++)
		st = check_use(&j.card, &given->items[i], err);
	if (st == ST_OK)
		st = waivers_save(&j.waivers, &j.run, err);
	cli_judged_release(&j);
	return st;
}

/* Grants what the options say, and drops what --no-waivers says; *changed: the saved
 * scorecard is not true any more. */
static enum status take_waivers(const struct options *o, const struct judge_request *request,
                                bool *changed, struct error *err)
{
	struct arena arena = {0};
	struct waiver_list given;
	struct str now = {0};
	struct judge_request changing = *request;
	int n_waive, n_reasons;
	const char *const *waive = option_list(o, "waive", &n_waive);
	const char *const *reasons = option_list(o, "reason", &n_reasons);
	enum status st = waivers_parse(&given, &arena, waive, n_waive, reasons, n_reasons,
	                               option_text(o, "waived-by", NULL), err);

	time_add_utc(&now, clock_wall(&clock_system));
	for (int i = 0; i < given.n; i++)
		given.items[i].granted = now.data;
	changing.drop_granted = option_given(o, "no-waivers");
	*changed = given.n || changing.drop_granted;
	if (st == ST_OK && *changed)
		st = grant(&given, changing, err);
	str_release(&now);
	arena_release(&arena);
	return st;
}

/* Keeps what was given with the run, once it is known to be readable; from then on the run
 * is judged with it. */
static enum status take_evidence(const struct options *o, struct judge_request *request,
                                 bool *changed, struct error *err)
{
	enum status st;

	if (!option_given(o, "keep-evidence"))
		return ST_OK;
	if (!evidence_given(o))
		return error_set(err, ST_USAGE, MSG_keep_nothing);
	st = evidence_try(o, request->config_dir, err);
	if (st == ST_OK)
		st = evidence_keep(request->dir, o, err);
	request->evidence = NULL;
	*changed = true;
	return st;
}

/* --- commands ------------------------------------------------------------------------ */

static int score(const struct options *o, struct error *err)
{
	struct judge_request request = request_of(o);
	struct str saved = {0};
	struct outputs outputs;
	bool changed = false;
	int code = 0;
	enum status st = outputs_parse(&outputs, o, OUTPUTS_ALL, true, err);

	if (st == ST_OK)
		st = model_check(o, err);
	if (st == ST_OK)
		st = take_waivers(o, &request, &changed, err);
	if (st == ST_OK)
		st = take_evidence(o, &request, &changed, err);
	if (changed)
		outputs_add(&outputs, "json", path_join(&saved, request.dir, "scorecard.json"));
	if (st == ST_OK)
		st = outputs_of_run(&outputs, &request, option_given(o, "strict"), &code, err);
	if (st == ST_OK && outputs.terminal)
		model_say(request.dir, o);
	str_release(&saved);
	return st == ST_OK ? code : cli_status_code(st);
}

static int report(const struct options *o, struct error *err)
{
	struct judge_request request = request_of(o);
	struct outputs outputs;
	int ignored;
	enum status st = outputs_parse(&outputs, o, OUTPUTS_ALL, false, err);

	if (st == ST_OK)
		st = outputs_of_run(&outputs, &request, false, &ignored, err);
	return cli_status_code(st);
}

const struct command command_score = {
	.name = "score",
	.summary = MSG_cmd_score,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = score_rows,
	.outputs = OUTPUTS_ALL,
	.run = score,
};

const struct command command_report = {
	.name = "report",
	.summary = MSG_cmd_report,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = report_rows,
	.outputs = OUTPUTS_ALL,
	.run = report,
};
