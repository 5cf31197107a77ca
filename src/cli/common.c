/* What several commands need: the metric list, signals, judging a directory,
 * writing reports. */
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "cli/evidence.h"
#include "cli/evidence_kept.h"
#include "cli/prices.h"
#include "import/import.h"
#include "run/gated.h"

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
	int n = 0;

	if (!set.tables) {
		tables[n++] = of_evidence;
		tables[n++] = import_metrics;
		for (int i = 0; probe_table[i] && n < 63; i++)
			tables[n++] = probe_table[i]->metrics;
		set = (struct metric_set){.tables = tables, .planned = planned};
	}
	return &set;
}

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

#define PROFILE_LIMIT ((size_t)16 << 20)

static enum status load_kept(struct profile **out, const struct rundir *run, const char *path,
                             struct error *err)
{
	struct str text = {0};
	char digest[SHA256_HEX];
	enum status st = file_read(&text, path, PROFILE_LIMIT, err);

	if (st == ST_OK) {
		sha256_text(str_text(&text), text.len, digest);
		if (strcmp(digest, run->info.profile_sha256) != 0)
			st = error_set(err, ST_CORRUPT, MSG_profile_kept_altered, path);
	}
	if (st == ST_OK)
		st = profile_load_kept(out, path, str_text(&text), text.len, NULL, cli_metrics(),
		                       err);
	str_release(&text);
	return st;
}

enum status cli_profile_of(struct profile **out, const struct rundir *run, const char *named,
                           const char *config_dir, struct error *err)
{
	const char *name = named ? named : run->info.profile;
	struct str path = {0};
	enum status st;

	*out = NULL;
	path_join(&path, run->path, PROFILE_FILE);
	if (!named && !config_dir && run->info.profile_sha256 && access(path.data, F_OK) == 0)
		st = load_kept(out, run, path.data, err);
	else
		st = profile_load(out, name ? name : DEFAULT_PROFILE, config_dir, cli_metrics(),
		                  err);
	str_release(&path);
	return st;
}

static enum status gather_waivers(struct judged *j, const struct judge_request *request,
                                  struct error *err)
{
	const struct waiver_list *grant = request->grant;
	enum status st =
		waivers_of_run(&j->waivers, &j->arena, &j->run, !request->drop_granted, err);

	if (st == ST_OK && j->waivers.stale && !request->again)
		log_note(MSG_waivers_stale, tmpf("%d", j->waivers.stale), request->dir);
	if (st == ST_OK && grant)
		st = waivers_check(j->profile, grant->items, grant->n, err);
	for (int i = 0; st == ST_OK && grant && i < grant->n; i++)
		waivers_put(&j->waivers, &j->arena, &grant->items[i]);
	return st;
}

/* It decides nothing here, so that it cannot be read stops nothing. */
static void take_gated(struct judged *j, const struct judge_request *request)
{
	struct gated *g = arena_alloc(&j->arena, sizeof(*g));
	struct error why = {0};
	enum status st = gated_read(g, &j->arena, j->run.path, j->run.digest, &why);

	if (st == ST_OK)
		j->card.gated = g;
	else if (st != ST_NOTFOUND && !request->again)
		log_note(MSG_gated_unreadable, GATED_FILE, str_text(&why.text));
	error_release(&why);
}

enum status cli_judge(struct judged *j, const struct judge_request *request, struct error *err)
{
	struct score_options options = {.stage = request->stage};
	const struct evidence_file *files = NULL;
	int n_files = 0;
	enum status st;

	*j = (struct judged){0};
	st = rundir_open(&j->run, request->dir, RUNDIR_CHAIN, err);
	if (st != ST_OK)
		return st;
	j->open = true;
	options.guessed = !request->profile && !j->run.info.profile;
	st = cli_profile_of(&j->profile, &j->run, request->profile, request->config_dir, err);
	if (st == ST_OK)
		st = gather_waivers(j, request, err);
	if (st != ST_OK)
		return st;
	if (!request->again && !request->profile && j->run.info.profile_sha256 &&
	    strcmp(j->run.info.profile_sha256, profile_sha256(j->profile)) != 0)
		log_note(MSG_profile_changed, profile_name(j->profile));
	options.waivers = j->waivers.items;
	options.n_waivers = j->waivers.n;
	if (request->evidence && evidence_given(request->evidence))
		st = evidence_take(&j->run, request->evidence, request->config_dir, &files,
		                   &n_files, err);
	else
		st = evidence_take_kept(&j->run, request->config_dir, &files, &n_files, err);
	if (st == ST_OK)
		st = score_run(&j->card, &j->arena, &j->run, j->profile, cli_metrics(), &options,
		               err);
	if (st == ST_OK)
		prices_take(&j->card.prices, &j->arena, &j->run);
	j->card.evidence = files;
	j->card.n_evidence = n_files;
	if (st == ST_OK)
		take_gated(j, request);
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

int cli_verdict_code(const struct scorecard *card, bool strict)
{
	switch (card->overall) {
	case OVERALL_ACCEPT:
		return strict && card->waivers_used ? EXIT_INCOMPLETE : EXIT_ACCEPT;
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

/* /dev/null must not be replaced by a file. */
static enum status write_special(const char *file, const struct str *text, struct error *err)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC | O_NOCTTY), failed = errno;

	if (fd >= 0) {
		failed = fd_write_all(fd, str_text(text), text->len) == ST_OK ? 0 : errno;
		close(fd);
	}
	return failed ? error_errno(err, file, failed) : ST_OK;
}

enum status cli_write_text(const char *file, const struct str *text, struct error *err)
{
	struct stat at;

	if (strcmp(file, "-") != 0 && stat(file, &at) == 0 && !S_ISREG(at.st_mode))
		return write_special(file, text, err);
	if (strcmp(file, "-") != 0)
		return file_write(file, str_text(text), text->len, err);
	if (fd_write_all(STDOUT_FILENO, str_text(text), text->len) != ST_OK)
		return error_set(err, ST_IO, MSG_stdout_failed);
	return ST_OK;
}
