/* Writing of reports, for all commands alike. */
#include "cli/outputs.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/cli.h"
#include "cli/language.h"

const struct option_row output_rows[] = {
	{"html", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_html},
	{"markdown", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_markdown},
	{"csv", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_csv},
	{"json", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_json},
	{"junit", OPTION_TEXT, "FILE|-", 0, 0, NULL, MSG_opt_junit},
	{0},
};

/* --- what is wanted --------------------------------------------------------------- */

static bool is_stdout(const struct output *x)
{
	return strcmp(x->file, "-") == 0;
}

/* A run takes half an hour: that its report has nowhere to go is said before. */
static enum status check_file(const struct output *x, struct error *err)
{
	char *copy = strdup(x->file);
	struct stat info;
	int failed = 0;

	if (!copy)
		die_nomem();
	if (stat(x->file, &info) == 0 && S_ISDIR(info.st_mode))
		failed = EISDIR;
	else if (access(dirname(copy), W_OK | X_OK) != 0)
		failed = errno;
	free(copy);
	if (!failed)
		return ST_OK;
	return error_set(err, ST_USAGE, MSG_output_place, x->format, x->file, strerror(failed));
}

enum status outputs_parse(struct outputs *out, const struct options *o, const char *formats,
                          bool always, struct error *err)
{
	bool asked = !always && option_given(o, "terminal");
	int on_stdout = asked;
	enum status st = ST_OK;

	*out = (struct outputs){0};
	for (const struct option_row *row = output_rows; row->name && st == ST_OK; row++) {
		struct output *x = &out->list[out->n];

		if (!word_in(formats, row->name) || !option_given(o, row->name))
			continue;
		*x = (struct output){row->name, option_text(o, row->name, NULL), false};
		out->n++;
		for (int i = 0; i < out->n - 1 && !is_stdout(x); i++)
			if (strcmp(out->list[i].file, x->file) == 0)
				return error_set(err, ST_USAGE, MSG_output_twice,
				                 out->list[i].format, x->format, x->file);
		on_stdout += is_stdout(x);
		st = is_stdout(x) ? ST_OK : check_file(x, err);
	}
	if (st == ST_OK && on_stdout > 1)
		return error_set(err, ST_USAGE, MSG_two_on_stdout);
	out->terminal = always ? !on_stdout : asked || !out->n;
	return st;
}

void outputs_add(struct outputs *out, const char *format, const char *file)
{
	if (out->n == MAX_OUTPUTS)
		abort(); /* a bug: too many of a command's own */
	out->list[out->n++] = (struct output){format, file, true};
}

/* --- writing ---------------------------------------------------------------------- */

static enum status write_one(const struct output_maker *maker, const char *format, const char *file,
                             struct error *err)
{
	struct str text = {0};
	enum status st = maker->write(maker->arg, format, &text, err);

	if (st == ST_OK)
		st = cli_write_text(file, &text, err);
	str_release(&text);
	return st;
}

/* What nobody asked for must not hide the verdict. */
static void write_own(const struct output_maker *maker, const struct output *x)
{
	struct error trouble = {0};

	if (write_one(maker, x->format, x->file, &trouble) != ST_OK)
		log_note(MSG_report_unsaved, x->file, str_text(&trouble.text));
	error_release(&trouble);
}

static bool wanted(const struct outputs *out, const struct output *x, enum language language)
{
	return x ? language_of_report(x->format) == language
	         : out->terminal && language_of_report("terminal") == language;
}

static enum status write_in(enum language language, const struct outputs *out,
                            const struct output_maker *maker, struct error *err)
{
	bool terminal = wanted(out, NULL, language), any = terminal, asked = terminal;
	struct error trouble = {0};
	enum language before;
	enum status st;

	for (int i = 0; i < out->n; i++) {
		any = any || wanted(out, &out->list[i], language);
		asked = asked || (!out->list[i].own && wanted(out, &out->list[i], language));
	}
	if (!any)
		return ST_OK;
	before = msg_speak(language);
	st = maker->begin(maker->arg, asked ? err : &trouble);
	if (st == ST_OK && terminal)
		st = write_one(maker, "terminal", "-", err);
	for (int i = 0; i < out->n && st == ST_OK; i++)
		if (!out->list[i].own && wanted(out, &out->list[i], language))
			st = write_one(maker, out->list[i].format, out->list[i].file, err);
	for (int i = 0; i < out->n && st == ST_OK; i++)
		if (out->list[i].own && wanted(out, &out->list[i], language))
			write_own(maker, &out->list[i]);
	maker->end(maker->arg);
	msg_speak(before);
	if (!asked && st != ST_OK) {
		log_note(MSG_report_unsaved, out->list[out->n - 1].file, str_text(&trouble.text));
		st = ST_OK;
	}
	error_release(&trouble);
	return st;
}

enum status outputs_write(const struct outputs *out, const struct output_maker *maker,
                          struct error *err)
{
	enum language first = language_of_report("terminal");
	enum status st = write_in(first, out, maker, err);

	for (enum language l = 0; l < LANGUAGES && st == ST_OK; l++)
		if (l != first)
			st = write_in(l, out, maker, err);
	return st;
}

/* --- of a run ------------------------------------------------------------------------ */

struct run_reports {
	struct judge_request *request;
	struct judged judged;
	bool strict;
	int *code;
};

static enum status judge_run(void *arg, struct error *err)
{
	struct run_reports *r = arg;
	enum status st = cli_judge(&r->judged, r->request, err);

	if (st == ST_OK && !r->request->again)
		*r->code = cli_verdict_code(&r->judged.card, r->strict);
	r->request->again = true;
	return st;
}

static enum status report_run(void *arg, const char *format, struct str *text, struct error *err)
{
	struct run_reports *r = arg;
	struct report_options options = cli_report_options();

	options.run_dir = r->request->dir;
	options.metrics = cli_metrics();
	return report_find(format)->write(text, &r->judged.card, &options, err);
}

static void release_run(void *arg)
{
	struct run_reports *r = arg;

	cli_judged_release(&r->judged);
}

enum status outputs_of_run(const struct outputs *out, struct judge_request *request, bool strict,
                           int *code, struct error *err)
{
	struct run_reports reports = {.request = request, .strict = strict, .code = code};
	const struct output_maker maker = {judge_run, report_run, release_run, &reports};

	return outputs_write(out, &maker, err);
}
