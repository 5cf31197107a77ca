/* assay run: plan, measure, journal, judge, print. The verdict is the exit
 * code; a signal wins over it. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/unit.h"
#include "cli/cli.h"
#include "cli/deploy.h"
#include "cli/evidence_kept.h"
#include "cli/model.h"
#include "cli/outputs.h"
#include "cli/plan_text.h"
#include "cli/progress.h"
#include "cli/run_cluster.h"
#include "cli/run_setup.h"
#include "coord/coord.h"
#include "run/journal.h"

static const struct option_row rows[] = {
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"nodes", OPTION_INT, "N", 1, 100000, NULL, MSG_opt_nodes},
	{"cards", OPTION_INT, "C", 0, 1024, NULL, MSG_opt_cards},
	{"out", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_out},
	{"storage", OPTION_EACH, "PATH", 0, 0, NULL, MSG_opt_storage},
	{"storage-size", OPTION_TEXT, "SIZE", 0, 0, NULL, MSG_opt_storage_size},
	{"only", OPTION_LIST, "a,b", 0, 0, NULL, MSG_opt_only},
	{"skip", OPTION_LIST, "a,b", 0, 0, NULL, MSG_opt_skip},
	{"budget", OPTION_WORD, NULL, 0, 0, "quick|standard|soak", MSG_opt_budget},
	{"set", OPTION_EACH, "probe.key=value", 0, 0, NULL, MSG_opt_set},
	{"suite", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_suite},
	{"ordered-at", OPTION_TEXT, "TIME", 0, 0, NULL, MSG_opt_ordered_at},
	{"manual-steps", OPTION_INT, "N", 0, 100000, NULL, MSG_opt_manual_steps},
	{"scale-log", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_scale_log},
	{"vendor", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_vendor},
	{"pairs", OPTION_WORD, NULL, 0, 0, "sample|all", MSG_opt_pairs},
	{"lost-after", OPTION_INT, "SECONDS", 1, 3600, NULL, MSG_opt_lost_after},
	{"absent", OPTION_LIST, "HOST,HOST", 0, 0, NULL, MSG_opt_absent},
	{"comm-module", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_comm_module},
	{"waive", OPTION_EACH, "RULE[,SUBJECT]", 0, 0, NULL, MSG_opt_waive},
	{"reason", OPTION_EACH, "TEXT", 0, 0, NULL, MSG_opt_reason},
	{"waived-by", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_waived_by},
	{"resume", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_resume},
	{"dry-run", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_dry_run},
	{"strict", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_strict},
	{"lib-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_lib_dir},
	{"sys-root", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_sys_root},
	{"deadline-percent", OPTION_INT, "N", 1, 100, NULL, MSG_opt_deadline_percent},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	EVIDENCE_OPTIONS,
	{0},
};

static enum status measure(struct run_setup *s, struct journal *journal, struct error *err)
{
	struct run_saving saving = {.journal = journal, .deploy = deploy_open(s)};
	struct progress_view view;
	struct coord_result result;
	struct coord_options options = {
		.request = &s->request,
		.plan = &s->plan,
		.run_id = s->info.id,
		.dir = s->dir,
		.seed = s->seed,
		.deadline_scale = s->deadline_scale,
		.stop = &cli_signal,
		.store = run_store,
		.store_work = run_store_work,
		.store_sync = run_store_sync,
		.store_arg = &saving,
		.view = progress_event,
		.view_arg = &view,
	};
	char digest[65];
	enum status st, ended;

	progress_init(&view);
	st = coord_run(&result, &options, err);
	if (st == ST_OK)
		st = deploy_tell(saving.deploy, run_store, &saving, err);
	deploy_close(saving.deploy);
	progress_end(&view);
	ended = journal_close(journal, st == ST_INTERRUPTED, digest, err);
	return st == ST_OK ? ended : st;
}

/* --- judging ------------------------------------------------------------------------- */

/* With the run, so that it can be judged again as it was now. */
static void keep_evidence(const char *dir, struct judge_request *request)
{
	struct error trouble = {0};

	if (!evidence_given(request->evidence))
		return;
	if (evidence_keep(dir, request->evidence, &trouble) == ST_OK)
		request->evidence = NULL;
	else
		log_note(MSG_evidence_unkept, str_text(&trouble.text));
	error_release(&trouble);
}

/* The scorecard is said first: a disk that is full by now changes nothing. */
static int judge(struct run_setup *s, struct outputs *outputs, const struct options *o,
                 struct error *err)
{
	struct judge_request request = {
		.dir = s->dir, .config_dir = option_text(o, "config-dir", NULL), .evidence = o};
	struct str json = {0}, html = {0};
	int code = 0;
	enum status st;

	keep_evidence(s->dir, &request);
	outputs_add(outputs, "json", path_join(&json, s->dir, "scorecard.json"));
	outputs_add(outputs, "html", path_join(&html, s->dir, "report.html"));
	st = outputs_of_run(outputs, &request, option_given(o, "strict"), &code, err);
	if (st == ST_OK && outputs->terminal)
		printf("  %s\n", say(MSG_run_details, html.data));
	if (st == ST_OK && outputs->terminal)
		model_say(s->dir, o);
	str_release(&json);
	str_release(&html);
	return st == ST_OK ? code : cli_status_code(st);
}

/* The run proper: from here on there is a directory, and so a scorecard. */
static int run_planned(struct run_setup *s, struct outputs *outputs, const struct options *o,
                       struct comm *comm, struct error *err)
{
	struct error trouble = {0};
	struct journal *journal;
	bool all_alive = true, begun = true;
	enum status st;
	int code;

	cli_catch_signals();
	proc_init();
	if (comm->size > 1) {
		st = run_lead(s, o, comm, &all_alive, &begun, &trouble);
	} else {
		st = run_open_journal(&journal, s, &trouble);
		begun = st == ST_OK;
		if (begun) {
			msg_speak(msg_reader());
			plan_print(stderr, s);
			msg_speak(LANGUAGE_EN);
			st = measure(s, journal, &trouble);
		}
	}
	if (begun) {
		msg_speak(msg_reader());
		code = judge(s, outputs, o, err);
		if (trouble.status != ST_OK)
			log_note(MSG_run_trouble, str_text(&trouble.text), s->dir);
	} else {
		code = cli_status_code(st);
		*err = trouble;
		trouble = (struct error){0};
	}
	error_release(&trouble);
	fflush(NULL);
	run_leave(comm, all_alive, code, err);
	return code;
}

static int dry_run(const struct options *o, struct error *err)
{
	struct run_setup s = {.dry = true};
	enum status st = evidence_try(o, option_text(o, "config-dir", NULL), err);

	if (st == ST_OK)
		st = run_setup_make(&s, o, o->argc, o->argv, err);
	msg_speak(msg_reader());
	if (st == ST_OK && s.request.cluster)
		plan_print_cluster(stdout, &s, strcmp(option_text(o, "pairs", ""), "all") == 0);
	else if (st == ST_OK)
		plan_print(stdout, &s);
	run_setup_release(&s);
	return cli_status_code(st);
}

static int run(const struct options *o, struct error *err)
{
	struct run_setup s = {0};
	struct outputs outputs;
	struct comm *comm = NULL;
	enum status st;
	int code;

	/* From here on words go into readings: English, but for what is shown. */
	msg_speak(LANGUAGE_EN);
	if (option_given(o, "dry-run"))
		return dry_run(o, err);
	st = run_join(&comm, o, err);
	if (st != ST_OK)
		return cli_status_code(st);
	if (comm->rank > 0)
		return run_follow(comm, o, err);
	s.world = comm->size;
	st = outputs_parse(&outputs, o, OUTPUTS_ALL, true, err);
	if (st == ST_OK)
		st = evidence_try(o, option_text(o, "config-dir", NULL), err);
	if (st == ST_OK)
		st = run_setup_make(&s, o, o->argc, o->argv, err);
	code = cli_status_code(st);
	if (st == ST_OK) {
		code = run_planned(&s, &outputs, o, comm, err);
	} else {
		cluster_dismiss(comm);
		run_leave(comm, true, code, err);
	}
	run_setup_release(&s);
	return code;
}

const struct command command_run = {
	.name = "run",
	.summary = MSG_cmd_run,
	.operands = "",
	.rows = rows,
	.outputs = OUTPUTS_ALL,
	.run = run,
};
