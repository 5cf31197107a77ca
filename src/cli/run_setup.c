/* From a command line to a plan. Every check that can be made before anything
 * is written is made here. */
#include "cli/run_setup.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/answers.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/cli.h"
#include "cli/deploy.h"
#include "cli/suite.h"
#include "coord/hello.h"

#ifndef ASSAY_BUILD
#define ASSAY_BUILD "unknown"
#endif

const char *local_node_name(struct arena *arena)
{
	char name[HOST_NAME_MAX + 1] = "";

	if (gethostname(name, sizeof(name) - 1) != 0 || !*name)
		return "localhost";
	return host_name_fit(arena, name);
}

const char *random_hex(struct arena *arena, int digits)
{
	struct str text = {0};
	const char *kept;

	while ((int)text.len < digits) {
		unsigned char byte;

		if (getrandom(&byte, 1, 0) == 1)
			str_addf(&text, "%02x", byte);
	}
	kept = arena_strn(arena, text.data, (size_t)digits);
	str_release(&text);
	return kept;
}

static const char *absolute(struct arena *arena, const char *path)
{
	char cwd[PATH_MAX];

	if (*path == '/' || !getcwd(cwd, sizeof(cwd)))
		return arena_str(arena, path);
	return arena_strf(arena, "%s/%s", cwd, path);
}

const char *command_line(struct arena *arena, int argc, char *const *argv)
{
	struct str text = {0};
	const char *kept;

	str_add(&text, "assay");
	for (int i = 0; i < argc; i++) {
		bool plain = *argv[i] != '\0';

		for (const char *p = argv[i]; *p; p++)
			plain = plain && (isalnum((unsigned char)*p) || strchr("/._-=,:+@%", *p));
		str_addc(&text, ' ');
		if (plain) {
			str_add(&text, argv[i]);
			continue;
		}
		str_addc(&text, '\'');
		for (const char *p = argv[i]; *p; p++)
			str_addn(&text, *p == '\'' ? "'\\''" : p, *p == '\'' ? 4 : 1);
		str_addc(&text, '\'');
	}
	kept = arena_str(arena, text.data);
	str_release(&text);
	return kept;
}

static enum status check_storage(struct run_setup *s, struct error *err)
{
	const char **paths = arena_array(&s->arena, (size_t)s->info.n_storage + 1, sizeof(*paths));

	for (int i = 0; i < s->info.n_storage; i++) {
		struct stat info;

		paths[i] = absolute(&s->arena, s->info.storage[i]);
		/* A path that hangs is a finding, and for the probes to say. */
		if (!path_answers(paths[i], ANSWER_S))
			continue;
		if (stat(paths[i], &info) != 0)
			return error_set(err, ST_USAGE, MSG_storage_path, paths[i],
			                 strerror(errno));
		if (!S_ISDIR(info.st_mode))
			return error_set(err, ST_USAGE, MSG_storage_path, paths[i],
			                 strerror(ENOTDIR));
		if (access(paths[i], W_OK | X_OK) != 0)
			return error_set(err, ST_USAGE, MSG_storage_path, paths[i],
			                 strerror(errno));
		for (int k = 0; k < i; k++)
			if (strcmp(paths[k], paths[i]) == 0)
				return error_set(err, ST_USAGE, MSG_storage_twice, paths[i]);
	}
	s->info.storage = paths;
	return ST_OK;
}

/* A run that goes on has its own profile, whatever became of the file. What is waived
 * must be among its rules. */
static enum status load_profile(struct run_setup *s, const char *config_dir, struct error *err)
{
	const struct run_info *info = &s->info;
	struct waiver_list waivers;
	struct profile *profile;
	enum status st;

	if (s->resume)
		st = cli_profile_of(&profile, &s->earlier, NULL, config_dir, err);
	else
		st = profile_load(&profile, info->profile ? info->profile : DEFAULT_PROFILE,
		                  config_dir, cli_metrics(), err);
	if (st != ST_OK)
		return st;
	s->profile_sha256 = arena_str(&s->arena, profile_sha256(profile));
	s->profile_text = arena_str(&s->arena, profile_text(profile));
	st = waivers_parse(&waivers, &s->arena, info->waive, info->n_waive, info->reasons,
	                   info->n_reasons, info->waived_by, err);
	if (st == ST_OK)
		st = waivers_check(profile, waivers.items, waivers.n, err);
	profile_free(profile);
	return st;
}

static enum status parse_settings(struct run_setup *s, struct error *err)
{
	int n = s->info.n_settings;
	struct setting *settings = arena_array(&s->arena, (size_t)n + 1, sizeof(*settings));
	enum status st = ST_OK;

	for (int i = 0; i < n && st == ST_OK; i++)
		st = setting_parse(&settings[i], &s->arena, probe_table, NULL, s->info.settings[i],
		                   err);
	s->request.settings = settings;
	s->request.n_settings = n;
	return st;
}

/* What the customer knows of the deployment, as settings of the probe that has its
 * figures. */
static int add_deployment(struct run_setup *s, const struct options *o, const char **all, int n)
{
	const char *log = option_text(o, "scale-log", NULL);

	if (option_given(o, "ordered-at"))
		all[n++] = arena_strf(&s->arena, "frameworks.ordered_at=%s",
		                      option_text(o, "ordered-at", ""));
	if (option_given(o, "manual-steps"))
		all[n++] = arena_strf(&s->arena, "frameworks.manual_steps=%s",
		                      option_text(o, "manual-steps", ""));
	if (log)
		all[n++] =
			arena_strf(&s->arena, "frameworks.scale_log=%s", absolute(&s->arena, log));
	return n;
}

/* Of two settings of one key the last holds: a suite's give way. --storage-size is
 * the short form of a setting. */
static enum status gather_settings(struct run_setup *s, const struct options *o, struct error *err)
{
	const char *suite = option_text(o, "suite", NULL),
		   *size = option_text(o, "storage-size", NULL);
	int n, n_kept = 0;
	const char *const *given = option_list(o, "set", &n), *const *kept = NULL;
	const char **all;
	enum status st = ST_OK;

	if (suite)
		st = suite_read(&s->arena, suite, &kept, &n_kept, err);
	if (st != ST_OK)
		return st;
	all = arena_array(&s->arena, (size_t)(n_kept + n) + 5, sizeof(*all));
	for (int i = 0; i < n_kept; i++)
		all[i] = kept[i];
	for (int i = 0; i < n; i++)
		all[n_kept + i] = given[i];
	n += n_kept;
	if (size)
		all[n++] = arena_strf(&s->arena, "storage.size=%s", size);
	n = add_deployment(s, o, all, n);
	s->info.settings = all;
	s->info.n_settings = n;
	return ST_OK;
}

static const char *default_dir(struct run_setup *s)
{
	time_t now = time(NULL);
	char text[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
	return arena_strf(&s->arena, "assay-%s", text);
}

/* A new run: everything from the command line. */
static enum status new_run(struct run_setup *s, const struct options *o, struct error *err)
{
	struct run_info *info = &s->info;
	struct str now = {0};
	enum status st;

	time_add_utc(&now, clock_wall(&clock_system));
	info->created = arena_str(&s->arena, now.data);
	str_release(&now);
	info->id = random_hex(&s->arena, 16);
	info->seed = random_hex(&s->arena, 16);
	info->vendor = option_text(o, "vendor", NULL);
	info->profile = option_text(o, "profile", NULL);
	if (info->profile && strchr(info->profile, '/'))
		info->profile = absolute(&s->arena, info->profile);
	info->budget = option_text(o, "budget", "standard");
	info->expected_nodes = option_int(o, "nodes", s->world > 1 ? s->world : 1);
	info->expected_cards = option_int(o, "cards", -1);
	info->storage = option_list(o, "storage", &info->n_storage);
	info->only = option_list(o, "only", &info->n_only);
	info->skip = option_list(o, "skip", &info->n_skip);
	info->waive = option_list(o, "waive", &info->n_waive);
	info->reasons = option_list(o, "reason", &info->n_reasons);
	info->waived_by = option_text(o, "waived-by", NULL);
	st = gather_settings(s, o, err);
	if (st != ST_OK)
		return st;
	s->dir = absolute(&s->arena, option_text(o, "out", default_dir(s)));
	return check_storage(s, err);
}

/* A resume keeps what run.json says: another plan would be another run. */
static enum status resumed_run(struct run_setup *s, const struct options *o, struct error *err)
{
	static const char *const fixed[] = {
		"profile", "nodes",     "cards",  "storage",    "only",         "skip",
		"budget",  "vendor",    "out",    "set",        "storage-size", "suite",
		"waive",   "waived-by", "reason", "ordered-at", "manual-steps", "scale-log"};
	enum status st;

	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		if (option_given(o, fixed[i]))
			return error_set(err, ST_USAGE, MSG_resume_fixed, fixed[i]);
	s->resume = true;
	s->dir = absolute(&s->arena, option_text(o, "resume", "."));
	st = rundir_open(&s->earlier, s->dir, RUNDIR_CHAIN, err);
	if (st != ST_OK)
		return st;
	s->earlier_open = true;
	if (s->earlier.state == JOURNAL_ALTERED || s->earlier.state == JOURNAL_UNREADABLE)
		return error_set(err, ST_CORRUPT, MSG_resume_altered, s->dir,
		                 s->earlier.trouble ? s->earlier.trouble : "?");
	s->info = s->earlier.info;
	s->request.resume = &s->earlier;
	return ST_OK;
}

/* Shorter deadlines would blame a real machine for what is our haste. */
static enum status deadline_scale(struct run_setup *s, const struct options *o, struct error *err)
{
	if (option_given(o, "deadline-percent") && !*s->request.sys_root)
		return error_set(err, ST_USAGE, MSG_option_needs, "deadline-percent", "sys-root");
	s->deadline_scale = (double)option_int(o, "deadline-percent", 100) / 100;
	return ST_OK;
}

enum status run_setup_make(struct run_setup *s, const struct options *o, int argc,
                           char *const *argv, struct error *err)
{
	enum status st;

	st = option_given(o, "resume") ? resumed_run(s, o, err) : new_run(s, o, err);
	if (st != ST_OK)
		return st;
	st = load_profile(s, option_text(o, "config-dir", NULL), err);
	if (st != ST_OK)
		return st;
	st = parse_settings(s, err);
	if (st == ST_OK)
		st = deploy_check(s, err);
	if (st != ST_OK)
		return st;
	if (!s->resume) {
		s->info.version = ASSAY_VERSION;
		s->info.build = ASSAY_BUILD;
		s->info.command = command_line(&s->arena, argc, argv);
		s->info.profile_sha256 = s->profile_sha256;
	}
	s->seed = strtoull(s->info.seed, NULL, 16);
	s->request.probes = probe_table;
	s->request.budget = budget_named(s->info.budget);
	s->request.node = local_node_name(&s->arena);
	if (!s->resume)
		s->info.host = s->request.node;
	s->request.local_path = s->dir;
	s->request.cluster = s->world > 1 || (s->dry && s->info.expected_nodes > 1);
	if (s->dry && s->info.expected_cards > 0)
		s->request.assumed_cards = (int)s->info.expected_cards;
	s->request.info = &s->info;
	s->request.lib_dir = option_text(o, "lib-dir", NULL);
	s->request.sys_root = option_text(o, "sys-root", "");
	st = deadline_scale(s, o, err);
	if (st != ST_OK)
		return st;
	return plan_make(&s->plan, &s->arena, &s->request, err);
}

void run_setup_release(struct run_setup *s)
{
	if (s->earlier_open)
		rundir_close(&s->earlier);
	arena_release(&s->arena);
}
