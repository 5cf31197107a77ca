/* assay claims: what a vendor says, held against itself and against a run. Exit code: 0
 * none refuted, 1 any refuted or contradicted by its own other figures, 2 none could be
 * tested. */
#include <string.h>

#include "cli/claims.h"
#include "cli/cli.h"
#include "cli/evidence.h"
#include "cli/outputs.h"
#include "report/words.h"

#define FORMATS "html|csv|json"

static const struct option_row rows[] = {
	{"run", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_claims_run},
	EVIDENCE_OPTIONS,
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
	{0},
};

struct checking {
	const struct options *o;
	struct claims claims;
	int code;
};

static int code_of(const struct claims *c)
{
	if (c->count[CLAIM_REFUTED] || c->count[CLAIM_CONTRADICTS])
		return EXIT_REJECT;
	return c->count[CLAIM_CONFIRMED] ? EXIT_ACCEPT : EXIT_INCOMPLETE;
}

static enum status check_begin(void *arg, struct error *err)
{
	struct checking *x = arg;
	enum status st;

	x->claims = (struct claims){0};
	st = claims_make(&x->claims, x->o, err);
	if (st == ST_OK)
		x->code = code_of(&x->claims);
	return st;
}

static enum status check_write(void *arg, const char *format, struct str *out, struct error *err)
{
	const struct claims *c = &((struct checking *)arg)->claims;
	struct report_options options = cli_report_options();

	if (strcmp(format, "html") == 0)
		return claims_html(out, c, err);
	if (strcmp(format, "json") == 0)
		claims_json(out, c);
	else if (strcmp(format, "csv") == 0)
		claims_csv(out, c);
	else
		claims_text(out, c, &options);
	return ST_OK;
}

static void check_end(void *arg)
{
	claims_release(&((struct checking *)arg)->claims);
}

/* Papers are held against statements as part of a run. */
static enum status check_options(const struct options *o, struct error *err)
{
	static const struct option_row evidence[] = {EVIDENCE_OPTIONS, {0}};

	for (const struct option_row *row = evidence; row->name; row++)
		if (option_given(o, row->name) && !option_given(o, "run"))
			return error_set(err, ST_USAGE, MSG_claims_need_run, row->name);
	return ST_OK;
}

static int claims(const struct options *o, struct error *err)
{
	struct checking x = {.o = o};
	const struct output_maker maker = {check_begin, check_write, check_end, &x};
	struct outputs outputs;
	enum status st = outputs_parse(&outputs, o, FORMATS, false, err);

	if (st == ST_OK)
		st = check_options(o, err);
	if (st == ST_OK)
		st = outputs_write(&outputs, &maker, err);
	return st == ST_OK ? x.code : cli_status_code(st);
}

const struct command command_claims = {
	.name = "claims",
	.summary = MSG_cmd_claims,
	.operands = "FILE|OFFER",
	.min_operands = 1,
	.max_operands = 1,
	.rows = rows,
	.outputs = FORMATS,
	.run = claims,
};
