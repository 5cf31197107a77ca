/* assay probe: one probe, its readings as JSON Lines on stdout. For scripts,
 * for looking closely at one thing, and for the watch. Nothing is judged and
 * nothing saved. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/run_setup.h"
#include "coord/coord.h"

static const struct option_row rows[] = {
	{"set", OPTION_EACH, "key=value", 0, 0, NULL, MSG_opt_set_one},
	{"budget", OPTION_WORD, NULL, 0, 0, "quick|standard|soak", MSG_opt_budget},
	{"storage", OPTION_EACH, "PATH", 0, 0, NULL, MSG_opt_storage},
	{"lib-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_lib_dir},
	{"sys-root", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_sys_root},
	{0},
};

static enum status print_reading(void *arg, const char *line, size_t len, struct error *err)
{
	(void)arg;
	if (fd_write_all(STDOUT_FILENO, line, len) != ST_OK ||
	    fd_write_all(STDOUT_FILENO, "\n", 1) != ST_OK)
		return error_set(err, ST_IO, MSG_stdout_failed);
	return ST_OK;
}

static int exit_code(const struct coord_result *r)
{
	if (r->count[OUTCOME_FAILED] || r->count[OUTCOME_TIMED_OUT] || r->count[OUTCOME_LOST])
		return 1;
	return r->count[OUTCOME_NOT_MEASURED] || r->count[OUTCOME_UNSUPPORTED] ||
	                       r->count[OUTCOME_MEASURED] == 0
	               ? 2
	               : 0;
}

static enum status parse(struct arena *arena, const struct options *o, const struct probe *probe,
                         struct plan_request *request, struct run_info *info, struct error *err)
{
	int n;
	const char *const *texts = option_list(o, "set", &n);
	struct setting *settings = arena_array(arena, (size_t)n + 1, sizeof(*settings));
	enum status st = ST_OK;

	for (int i = 0; i < n && st == ST_OK; i++)
		st = setting_parse(&settings[i], arena, probe_table, probe, texts[i], err);
	request->settings = settings;
	request->n_settings = n;
	request->budget = budget_named(option_text(o, "budget", "quick"));
	info->storage = option_list(o, "storage", &info->n_storage);
	if (st == ST_OK && probe->needs_storage && info->n_storage == 0)
		st = error_set(err, ST_USAGE, MSG_probe_needs_storage, probe->name);
	return st;
}

static int probe(const struct options *o, struct error *err)
{
	const struct probe *chosen[] = {NULL, NULL};
	struct arena arena = {0};
	struct run_info info = {0};
	struct plan_request request = {.probes = chosen, .info = &info};
	struct plan plan;
	struct progress_view view;
	struct coord_result result = {0};
	struct coord_options options = {.request = &request,
	                                .plan = &plan,
	                                .deadline_scale = 1,
	                                .stop = &cli_signal,
	                                .store = print_reading,
	                                .view = progress_event,
	                                .view_arg = &view};
	enum status st;
	int code;

	/* What it prints are readings. */
	msg_speak(LANGUAGE_EN);
	st = probe_named(&chosen[0], probe_table, o->operands[0], err);
	if (st != ST_OK)
		return cli_status_code(st);
	request.node = local_node_name(&arena);
	request.lib_dir = option_text(o, "lib-dir", NULL);
	request.sys_root = option_text(o, "sys-root", "");
	st = parse(&arena, o, chosen[0], &request, &info, err);
	if (st == ST_OK)
		st = plan_make(&plan, &arena, &request, err);
	if (st == ST_OK) {
		cli_catch_signals();
		proc_init();
		options.run_id = random_hex(&arena, 16);
		options.seed = strtoull(random_hex(&arena, 16), NULL, 16);
		progress_init(&view);
		st = coord_run(&result, &options, err);
		progress_end(&view);
	}
	code = st == ST_OK || st == ST_INTERRUPTED ? exit_code(&result) : cli_status_code(st);
	arena_release(&arena);
	return code;
}

const struct command command_probe = {
	.name = "probe",
	.summary = MSG_cmd_probe,
	.operands = "NAME",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.run = probe,
};
