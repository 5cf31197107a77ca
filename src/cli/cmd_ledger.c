/* assay ledger: the account of cards and nodes over runs. A run is judged when it is
 * added, so that the ledger knows which cards were found bad. */
#include <string.h>

#include "cli/cli.h"
#include "gate/ledger.h"

static const struct option_row rows[] = {
	{"ledger", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_ledger},
	{"profile", OPTION_TEXT, "P", 0, 0, NULL, MSG_opt_profile},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{0},
};

/* Cards with a finding that decides and fails. */
static struct ledger_bad *bad_cards(struct judged *j, int *n)
{
	const struct scorecard *card = &j->card;
	struct ledger_bad *bad = arena_array(&j->arena, (size_t)card->n_findings + 1, sizeof(*bad));

	*n = 0;
	for (int64_t i = 0; i < card->n_findings; i++) {
		const struct finding *f = &card->findings[i];

		if (f->verdict == VERDICT_FAIL && f->rule->required &&
		    f->subject.kind == SUBJECT_CARD && f->subject.id)
			bad[(*n)++] = (struct ledger_bad){
				f->subject.id, f->reason.text
						       ? arena_strf(&j->arena, "%s: %s",
			                                            f->rule->id, f->reason.text)
						       : f->rule->id};
	}
	return bad;
}

static enum status add(const struct options *o, const char *file, struct error *err)
{
	const struct judge_request request = {.dir = o->operands[1],
	                                      .profile = option_text(o, "profile", NULL),
	                                      .config_dir = option_text(o, "config-dir", NULL)};
	struct ledger_added added;
	struct str line = {0};
	struct judged j;
	enum status st = cli_judge(&j, &request, err);

	if (st == ST_OK) {
		int n;
		const struct ledger_bad *bad = bad_cards(&j, &n);

		st = ledger_add(file, &j.run, bad, n, &added, err);
	}
	if (st == ST_OK) {
		if (added.again)
			msg_add(&line, MSG_ledger_again, j.run.info.id, file);
		else
			msg_add(&line, MSG_ledger_added, file, tmpf("%d", added.nodes),
			        tmpf("%d", added.cards), j.run.info.id);
		str_addc(&line, '\n');
		st = cli_write_text("-", &line, err);
	}
	str_release(&line);
	cli_judged_release(&j);
	return st;
}

static int ledger(const struct options *o, struct error *err)
{
	const char *file = option_text(o, "ledger", LEDGER_FILE), *verb = o->operands[0];
	struct str out = {0};
	enum status st;

	if (strcmp(verb, "add") == 0) {
		st = o->n_operands == 2 ? add(o, file, err)
		                        : error_set(err, ST_USAGE, MSG_ledger_needs_run);
	} else if (strcmp(verb, "show") != 0) {
		st = error_set(err, ST_USAGE, MSG_ledger_verb, verb);
	} else if (o->n_operands == 2) {
		st = error_set(err, ST_USAGE, MSG_ledger_show_alone, o->operands[1]);
	} else {
		st = ledger_show(file, &out, err);
		if (st == ST_OK)
			st = cli_write_text("-", &out, err);
		str_release(&out);
	}
	return cli_status_code(st);
}

const struct command command_ledger = {
	.name = "ledger",
	.summary = MSG_cmd_ledger,
	.operands = "add DIR | show",
	.min_operands = 1,
	.max_operands = 2,
	.rows = rows,
	.run = ledger,
};
