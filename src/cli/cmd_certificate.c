/* assay certificate: a judged run against the clauses of a contract, to be signed. */
#include <string.h>

#include "cli/cli.h"
#include "cli/outputs.h"
#include "report/certificate.h"
#include "report/words.h"

#define FORMATS "html|markdown"

static const struct option_row rows[] = {
	{"clauses", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_clauses},
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"stage", OPTION_WORD, NULL, 0, 0, "delivery|period", MSG_opt_stage},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
	{0},
};

struct certifying {
	const struct options *o;
	struct judge_request request;
	struct judged judged;
	struct certificate certificate;
};

static enum status certify(void *arg, struct error *err)
{
	struct certifying *x = arg;
	enum status st = cli_judge(&x->judged, &x->request, err);

	x->request.again = true;
	if (st == ST_OK)
		st = certificate_read(&x->certificate, &x->judged.arena, &x->judged.card,
		                      option_text(x->o, "clauses", NULL), x->request.config_dir,
		                      err);
	return st;
}

static enum status put(void *arg, const char *format, struct str *out, struct error *err)
{
	const struct certificate *c = &((struct certifying *)arg)->certificate;
	struct str text = {0};

	if (strcmp(format, "html") == 0)
		return certificate_html(out, c, err);
	certificate_markdown(&text, c);
	if (strcmp(format, "terminal") == 0 && !cli_report_options().utf8)
		words_ascii(out, text.data);
	else
		str_addn(out, text.data, text.len);
	str_release(&text);
	return ST_OK;
}

static void end(void *arg)
{
	cli_judged_release(&((struct certifying *)arg)->judged);
}

static int certificate(const struct options *o, struct error *err)
{
	struct certifying x = {
		.o = o,
		.request = {.dir = o->operands[0],
	                    .profile = option_text(o, "profile", NULL),
	                    .config_dir = option_text(o, "config-dir", NULL),
	                    .stage = strcmp(option_text(o, "stage", "delivery"), "period") == 0
	                                     ? RULE_PERIOD
	                                     : RULE_DELIVERY}};
	const struct output_maker maker = {certify, put, end, &x};
	struct outputs outputs;
	enum status st = outputs_parse(&outputs, o, FORMATS, false, err);

	if (st == ST_OK)
		st = outputs_write(&outputs, &maker, err);
	return cli_status_code(st);
}

const struct command command_certificate = {
	.name = "certificate",
	.summary = MSG_cmd_certificate,
	.operands = "DIR",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.outputs = FORMATS,
	.run = certificate,
};
