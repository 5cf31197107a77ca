/* assay compare: runs and offers side by side. A run is judged first, each by its own
 * profile or all by one. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/language.h"
#include "report/compare.h"

static const struct option_row rows[] = {
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
	{"json", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_json},
	{"csv", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_csv},
	{"html", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_html},
	{0},
};

/* "runs/vendor-a/" -> "vendor-a". */
static const char *last_of(const char *dir)
{
	size_t len = strlen(dir);
	const char *begin;

	while (len > 1 && dir[len - 1] == '/')
		len--;
	begin = memrchr(dir, '/', len - 1);
	begin = begin ? begin + 1 : dir;
	return tmpf("%.*s", (int)(dir + len - begin), begin);
}

/* The path where two end alike. */
static const char *name_of(const struct options *o, const char *operand)
{
	int alike = 0;

	for (int i = 0; i < o->n_operands; i++)
		alike += strcmp(last_of(o->operands[i]), last_of(operand)) == 0;
	return alike > 1 ? operand : last_of(operand);
}

static enum status add(struct comparison *c, const char *operand, const struct options *o,
                       bool again, struct error *err)
{
	const char *config_dir = option_text(o, "config-dir", NULL);
	const struct judge_request request = {.dir = operand,
	                                      .profile = option_text(o, "profile", NULL),
	                                      .config_dir = config_dir,
	                                      .again = again};
	struct error why = {0};
	struct stat at;
	struct judged j;
	enum status st;

	if (stat(operand, &at) == 0 && S_ISDIR(at.st_mode)) {
		st = cli_judge(&j, &request, err);
		if (st == ST_OK)
			compare_add_run(c, &j.card, name_of(o, operand), cli_metrics());
		cli_judged_release(&j);
		return st;
	}
	st = compare_add_offer(c, operand, config_dir, cli_metrics(), &why);
	if (st == ST_NOTFOUND)
		st = error_set(err, ST_NOTFOUND, MSG_compare_nothing, operand, str_text(&why.text));
	else if (st != ST_OK)
		st = error_set(err, st, MSG_path_error, operand, str_text(&why.text));
	error_release(&why);
	return st;
}

static enum status write_one(const struct comparison *c, const char *format, const char *file,
                             struct error *err)
{
	struct report_options options = cli_report_options();
	struct str out = {0};
	enum status st = ST_OK;

	if (strcmp(format, "json") == 0)
		compare_json(&out, c);
	else if (strcmp(format, "csv") == 0)
		compare_csv(&out, c);
	else if (strcmp(format, "html") == 0)
		st = compare_html(&out, c, err);
	else
		st = compare_text(&out, c, options.width, options.utf8);
	if (st == ST_OK)
		st = cli_write_text(file, &out, err);
	str_release(&out);
	return st;
}

static const char *const formats[] = {"json", "csv", "html"};

#define N_FILES (sizeof(formats) / sizeof(*formats))

/* Judging and comparing find the words, so each language has its own. */
static enum status compare_in(enum language language, const struct options *o, bool terminal,
                              bool again, struct error *err)
{
	struct arena arena = {0};
	struct comparison c = {.arena = &arena};
	enum language before = msg_speak(language);
	enum status st = ST_OK;

	for (int i = 0; i < o->n_operands && st == ST_OK; i++)
		st = add(&c, o->operands[i], o, again, err);
	if (st == ST_OK)
		compare_finish(&c);
	if (st == ST_OK && terminal && language_of_report("terminal") == language)
		st = write_one(&c, "terminal", "-", err);
	for (size_t i = 0; i < N_FILES && st == ST_OK; i++)
		if (option_given(o, formats[i]) && language_of_report(formats[i]) == language)
			st = write_one(&c, formats[i], option_text(o, formats[i], NULL), err);
	arena_release(&arena);
	msg_speak(before);
	return st;
}

static int compare(const struct options *o, struct error *err)
{
	bool wanted[LANGUAGES] = {false}, terminal, again = false;
	int on_stdout = option_given(o, "terminal"), given = on_stdout;
	enum status st = ST_OK;

	for (size_t i = 0; i < N_FILES; i++) {
		const char *file = option_text(o, formats[i], NULL);

		if (file)
			wanted[language_of_report(formats[i])] = true;
		given += file != NULL;
		on_stdout += file && strcmp(file, "-") == 0;
	}
	if (on_stdout > 1)
		return cli_status_code(error_set(err, ST_USAGE, MSG_two_on_stdout));
	terminal = !given || option_given(o, "terminal");
	if (terminal)
		wanted[language_of_report("terminal")] = true;
	for (enum language l = 0; l < LANGUAGES && st == ST_OK; l++) {
		if (!wanted[l])
			continue;
		st = compare_in(l, o, terminal, again, err);
		again = true;
	}
	return cli_status_code(st);
}

const struct command command_compare = {
	.name = "compare",
	.summary = MSG_cmd_compare,
	.operands = "DIR|OFFER DIR|OFFER...",
	.min_operands = 2,
	.max_operands = COMPARE_MOST,
	.rows = rows,
	.run = compare,
};
