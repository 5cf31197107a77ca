/* What several commands need: the metric list, signals, judging a directory,
 * writing reports. */
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/evidence.h"

/* --- metrics ------------------------------------------------------------------ */

/* What papers and logs tell, bench/evidence.def. */
static const struct metric of_evidence[] = {
#define EVIDENCE(name, unit, better, subject, formula)                                             \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_EVIDENCE, formula},
#include "evidence.def"
#undef EVIDENCE
	{0},
};

static const struct metric planned[] = {
#define PLANNED(name, unit, better, subject, backend, formula)                                     \
	{#name, unit, BETTER_##better, SUBJECT_##subject, BACKEND_##backend, formula},
#include "planned.def"
#undef PLANNED
	{0},
};

const struct metric_set *cli_metrics(void)
{
	static const struct metric *tables[64];
	static struct metric_set set;

	if (!set.tables) {
		tables[0] = of_evidence;
		for (int i = 0; probe_table[i] && i < 62; i++)
			tables[i + 1] = probe_table[i]->metrics;
		set = (struct metric_set){.tables = tables, .planned = planned};
	}
	return &set;
}

/* --- words ------------------------------------------------------------ */

/* --- signals --------------------------------------------------------------------- */

volatile sig_atomic_t cli_signal;
bool cli_leave;

static void on_signal(int number)
{
	cli_signal = number;
}

void cli_catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* --- the last word ---------------------------------------------------------------- */

void cli_say_error(struct error *err)
{
	struct str said = {0}, shown = {0};

	if (err->status != ST_OK) {
		msg_again(&said, str_text(&err->text));
		str_add_printable(&shown, str_text(&said), said.len);
		fprintf(stderr, "%s\n", say(MSG_log_line, str_text(&shown)));
	}
	log_flush();
	error_release(err);
	str_release(&said);
	str_release(&shown);
}

/* --- judging ---------------------------------------------------------------------- */

enum status cli_judge(struct judged *j, const struct judge_request *request, struct error *err)
{
	struct score_options options = {.stage = request->stage};
	const struct evidence_file *files = NULL;
	const char *name;
	int n_files = 0;
	enum status st;

	*j = (struct judged){0};
	st = rundir_open(&j->run, request->dir, RUNDIR_CHAIN, err);
	if (st != ST_OK)
		return st;
	j->open = true;
	name = request->profile ? request->profile : j->run.info.profile;
	options.guessed = name == NULL;
	st = profile_load(&j->profile, name ? name : DEFAULT_PROFILE, request->config_dir,
	                  cli_metrics(), err);
	if (st != ST_OK)
		return st;
	if (!request->again && !request->profile && j->run.info.profile_sha256 &&
	    strcmp(j->run.info.profile_sha256, profile_sha256(j->profile)) != 0)
		log_note(MSG_profile_changed, profile_name(j->profile));
	if (request->evidence)
		st = evidence_take(&j->run, request->evidence, request->config_dir, &files,
		                   &n_files, err);
	if (st == ST_OK)
		st = score_run(&j->card, &j->arena, &j->run, j->profile, cli_metrics(), &options,
		               err);
	j->card.evidence = files;
	j->card.n_evidence = n_files;
	return st;
}

void cli_judged_release(struct judged *j)
{
	if (j->open)
		rundir_close(&j->run);
	if (j->profile)
		profile_free(j->profile);
	arena_release(&j->arena);
}

int cli_verdict_code(const struct scorecard *card)
{
	switch (card->overall) {
	case OVERALL_ACCEPT:
		return EXIT_ACCEPT;
	case OVERALL_REJECT:
		return EXIT_REJECT;
	case OVERALL_INCOMPLETE:
		break;
	}
	return EXIT_INCOMPLETE;
}

int cli_status_code(enum status st)
{
	switch (st) {
	case ST_OK:
		return 0;
	case ST_NOMEM:
	case ST_INTERNAL:
		return EXIT_INTERNAL;
	default:
		return EXIT_USAGE;
	}
}

/* --- output -------------------------------------------------------------------------- */

struct report_options cli_report_options(void)
{
	bool tty = isatty(STDOUT_FILENO);
	struct winsize size;
	struct report_options o = {.width = 80, .max_items = 12};

	if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
		o.width = size.ws_col < 80 ? size.ws_col : 80;
	o.color = tty && !getenv("NO_COLOR") && getenv("TERM") && strcmp(getenv("TERM"), "dumb");
	o.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	return o;
}

enum status cli_write_report(const char *format, const char *file, const struct scorecard *card,
                             const struct report_options *options, struct error *err)
{
	const struct report_format *f = report_find(format);
	struct str out = {0};
	enum status st = f->write(&out, card, options, err);

	if (st == ST_OK)
		st = cli_write_text(file, &out, err);
	str_release(&out);
	return st;
}

enum status cli_write_text(const char *file, const struct str *text, struct error *err)
{
	if (strcmp(file, "-") != 0)
		return file_write(file, str_text(text), text->len, err);
	if (fd_write_all(STDOUT_FILENO, str_text(text), text->len) != ST_OK)
		return error_set(err, ST_IO, MSG_stdout_failed);
	return ST_OK;
}
