/* assay compare: runs and offers side by side. A run is judged first, each by its own
 * profile or all by one. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cli/cli.h"
#include "cli/compare_money.h"
#include "cli/outputs.h"
#include "report/compare.h"

static const struct option_row rows[] = {
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"quote", OPTION_EACH, "[NAME=]FILE", 0, 0, NULL, MSG_opt_compare_quote},
	{"params", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_params},
	{"tokens", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_tokens},
	{"cards", OPTION_TEXT, "N", 0, 0, NULL, MSG_opt_compare_cards},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{"terminal", OPTION_FLAG, NULL, 0, 0, NULL, MSG_opt_terminal},
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

struct comparing {
	const struct options *o;
	struct arena arena;
	struct comparison c;
	struct money money;
	bool again;
};

static enum status add(struct comparing *all, const char *operand, struct error *err)
{
	struct comparison *c = &all->c;
	const struct options *o = all->o;
	const char *config_dir = option_text(o, "config-dir", NULL);
	const struct judge_request request = {.dir = operand,
	                                      .profile = option_text(o, "profile", NULL),
	                                      .config_dir = config_dir,
	                                      .again = all->again};
	struct error why = {0};
	struct stat at;
	struct judged j;
	enum status st;

	if (stat(operand, &at) == 0 && S_ISDIR(at.st_mode)) {
		st = cli_judge(&j, &request, err);
		if (st == ST_OK) {
			compare_add_run(c, &j.card, name_of(o, operand), cli_metrics());
			st = money_take(&all->money, c, name_of(o, operand), &j, err);
		}
		cli_judged_release(&j);
		return st;
	}
	st = compare_add_offer(c, operand, config_dir, cli_metrics(), &why);
	if (st == ST_NOTFOUND)
		st = error_set(err, ST_NOTFOUND, MSG_compare_nothing, operand, str_text(&why.text));
	else if (st != ST_OK)
		st = error_set(err, st, MSG_path_error, operand, str_text(&why.text));
	else
		money_take_offer(&all->money, c->columns[c->n_columns - 1].name);
	error_release(&why);
	return st;
}

/* Judging and comparing find the words, so each language has its own. */
static enum status compare_begin(void *arg, struct error *err)
{
	struct comparing *x = arg;
	enum status st = ST_OK;

	x->arena = (struct arena){0};
	x->c = (struct comparison){.arena = &x->arena};
	x->money = (struct money){.o = x->o};
	for (int i = 0; i < x->o->n_operands && st == ST_OK; i++)
		st = add(x, x->o->operands[i], err);
	x->again = true;
	if (st == ST_OK) {
		compare_finish(&x->c);
		money_finish(&x->money, &x->c);
	}
	return st;
}

static enum status compare_write(void *arg, const char *format, struct str *out, struct error *err)
{
	const struct comparison *c = &((struct comparing *)arg)->c;
	struct report_options options = cli_report_options();

	if (strcmp(format, "html") == 0)
		return compare_html(out, c, err);
	if (strcmp(format, "terminal") == 0)
		return compare_text(out, c, options.width, options.utf8);
	if (strcmp(format, "json") == 0)
		compare_json(out, c);
	else if (strcmp(format, "csv") == 0)
		compare_csv(out, c);
	else if (strcmp(format, "junit") == 0)
		compare_junit(out, c);
	else
		compare_markdown(out, c);
	return ST_OK;
}

static void compare_end(void *arg)
{
	struct comparing *x = arg;

	arena_release(&x->arena);
}

/* That a price belongs to nobody is said before runs are read. */
static enum status check_names(const struct options *o, struct error *err)
{
	const char *names[COMPARE_MOST];
	struct arena arena = {0};
	enum status st;

	for (int i = 0; i < o->n_operands; i++)
		names[i] = arena_str(&arena, name_of(o, o->operands[i]));
	st = money_check(o, names, o->n_operands, err);
	arena_release(&arena);
	return st;
}

static int compare(const struct options *o, struct error *err)
{
	struct comparing x = {.o = o};
	const struct output_maker maker = {compare_begin, compare_write, compare_end, &x};
	struct outputs outputs;
	enum status st = outputs_parse(&outputs, o, OUTPUTS_ALL, false, err);

	if (st == ST_OK)
		st = check_names(o, err);
	if (st == ST_OK)
		st = outputs_write(&outputs, &maker, err);
	return cli_status_code(st);
}

const struct command command_compare = {
	.name = "compare",
	.summary = MSG_cmd_compare,
	.operands = "DIR|OFFER DIR|OFFER...",
	.min_operands = 2,
	.max_operands = COMPARE_MOST,
	.rows = rows,
	.outputs = OUTPUTS_ALL,
	.run = compare,
};
