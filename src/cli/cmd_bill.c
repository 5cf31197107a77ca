/* assay bill: a bill against the quote and our own log. Exit code: 0 met, 1 missed,
 * 2 too little to say. Before there is a bill the quote alone is read, and the questions
 * that a buyer should have answered before signing are asked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "cli/evidence_cost.h"
#include "report/words.h"
#include "service/availability.h"
#include "service/stamp.h"

#define NAME_COLUMNS  34
#define MONEY_COLUMNS 20

static const struct option_row rows[] = {
	{"quote", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_quote},
	{"bill", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_bill},
	{"usage", OPTION_TEXT, "FILE", 0, 0, NULL, MSG_opt_usage},
	{"invoice", OPTION_EACH, "ID=TOTAL", 0, 0, NULL, MSG_opt_invoice},
	{"availability", OPTION_EACH, "DIR", 0, 0, NULL, MSG_opt_bill_availability},
	{"causes", OPTION_TEXT, "CSV", 0, 0, NULL, MSG_opt_causes},
	{"bill-map", OPTION_TEXT, "NAME", 0, 0, NULL, MSG_opt_bill_map},
	{"decimal", OPTION_WORD, NULL, 0, 0, "point|comma", MSG_opt_decimal},
	{"as-of", OPTION_TEXT, "TIME", 0, 0, NULL, MSG_opt_as_of},
	{"config-dir", OPTION_TEXT, "DIR", 0, 0, NULL, MSG_opt_config_dir},
	{0},
};

struct page {
	struct str out;
	int width;
};

static void line(struct page *p, int indent, const char *text)
{
	str_pad(&p->out, ' ', (size_t)indent);
	words_wrap(&p->out, words_shown(text), indent, indent + 2, p->width);
}

static void title(struct page *p, enum msg id)
{
	str_addc(&p->out, '\n');
	line(p, 2, msg_format(id));
}

static const char *count(int64_t n)
{
	return tmpf("%lld", (long long)n);
}

/* name, a figure at its right, and a money column. */
static void row(struct page *p, const char *name, const char *figure, const char *money)
{
	int used = words_columns(name);

	str_pad(&p->out, ' ', 4);
	str_add(&p->out, words_shown(name));
	str_pad(&p->out, ' ', used < NAME_COLUMNS ? (size_t)(NAME_COLUMNS - used) : 1);
	str_addf(&p->out, "%10s", figure);
	used = words_columns(money);
	str_pad(&p->out, ' ', used < MONEY_COLUMNS ? (size_t)(MONEY_COLUMNS - used) : 1);
	str_addf(&p->out, "%s\n", money);
}

/* --- quote ------------------------------------------------------------------------ */

static const char *price_text(const struct quote *q, const struct quote_item *item)
{
	struct str s = {0};
	const char *text;

	decimal_add_text(&s, item->price, 2);
	text = tmpf("%s %s/%s", s.data, q->currency, quantity_name(item->per));
	str_release(&s);
	return text;
}

static void quote_part(struct page *p, const struct quote *q, double hours)
{
	struct decimal hour, even;
	double discount;

	line(p, 0,
	     say(MSG_quote_head, q->file, words_shown(q->title), count(q->n_items), q->currency,
	         msg_format(q->tax_included ? MSG_quote_with_tax : MSG_quote_without_tax)));
	for (int i = 0; i < q->n_items; i++)
		row(p, q->items[i].name, "",
		    q->items[i].priced ? price_text(q, &q->items[i])
		                       : msg_format(MSG_quote_unpriced));
	if (quote_gpu_hour(q, &hour))
		line(p, 2, say(MSG_quote_hour, decimal_money(hour, 4), q->currency));
	if (quote_month(q, hours, &discount, &even))
		line(p, 2,
		     say(MSG_quote_month_line, tmpf("%.1f", discount * 100), tmpf("%.0f", hours),
		         decimal_money(even, 1)));
	else
		line(p, 2, msg_format(MSG_quote_no_month));
}

/* --- bill ------------------------------------------------------------------------- */

static enum msg class_title(enum bill_class class)
{
	switch (class) {
#define X(name, word, hidden)                                                                      \
	case BILL_##name:                                                                          \
		return MSG_class_##word;
		BILL_CLASS_LIST(X)
#undef X
	case BILL_CLASSES:
		break;
	}
	return MSG_class_unclassified;
}

static void classes_part(struct page *p, const struct bill *b)
{
	title(p, MSG_bill_classes);
	for (int c = 0; c < BILL_CLASSES; c++)
		if (b->classes[c].lines)
			row(p, msg_format(class_title((enum bill_class)c)),
			    count(b->classes[c].lines),
			    tmpf("%s %s", decimal_money(b->classes[c].billed, 2), b->currency));
	row(p, msg_format(MSG_bill_total), count(b->lines),
	    tmpf("%s %s", decimal_money(b->total, 2), b->currency));
}

static void examples_part(struct page *p, const struct bill *b)
{
	if (!b->n_examples)
		return;
	title(p, MSG_bill_examples);
	for (int i = 0; i < b->n_examples; i++) {
		const struct bill_example *e = &b->examples[i];
		const char *billed = decimal_money(e->billed, 2);

		line(p, 4,
		     e->quoted ? say(MSG_bill_example_quoted, count(e->line),
		                     msg_format(class_title(e->class)), words_shown(e->what),
		                     billed, e->quoted, decimal_money(e->expected, 2))
		               : say(MSG_bill_example, count(e->line),
		                     msg_format(class_title(e->class)), words_shown(e->what),
		                     billed));
	}
}

static enum msg step_name(int64_t step)
{
	return step == 1      ? MSG_step_second
	       : step == 60   ? MSG_step_minute
	       : step == 3600 ? MSG_step_hour
	                      : MSG_step_day;
}

static void use_part(struct page *p, const struct bill *b)
{
	struct decimal hour;
	int64_t step = bill_step(b);
	double idle = bill_idle_share(b);

	title(p, MSG_bill_use);
	if (bill_gpu_hour(b, &hour))
		line(p, 4,
		     say(b->log_used ? MSG_bill_price_log : MSG_bill_price, decimal_money(hour, 4),
		         b->currency,
		         decimal_money(b->log_used ? b->gpu_hours_log : b->gpu_hours, 1)));
	else
		line(p, 4, msg_format(MSG_bill_no_hours));
	if (!isfinite(idle)) {
		line(p, 4, msg_format(MSG_bill_no_log));
		return;
	}
	line(p, 4,
	     say(MSG_bill_idle, decimal_money(b->hours, 1), decimal_money(b->hours_log, 1),
	         tmpf("%.2f", idle * 100)));
	if (decimal_sign(b->stopped) > 0)
		line(p, 4, say(MSG_bill_stopped, decimal_money(b->stopped, 2), b->currency));
	line(p, 4,
	     step ? say(MSG_bill_step, msg_format(step_name(step)))
	          : msg_format(b->step_known ? MSG_bill_step_none : MSG_bill_step_unknown));
}

static void verdict_part(struct page *p, const struct bill *b)
{
	static const enum msg words[] = {MSG_bill_met, MSG_bill_missed, MSG_bill_too_little};
	double total = decimal_double(b->total);

	str_addc(&p->out, '\n');
	line(p, 2,
	     say(words[b->verdict], decimal_money(b->hidden, 2), b->currency,
	         tmpf("%.2f", total > 0 ? 100 * decimal_double(b->hidden) / total : 0)));
	if (b->rounded_up)
		line(p, 4, say(MSG_bill_rounded, decimal_money(b->rounding, 2), b->currency));
	if (decimal_sign(b->tax_on_top) > 0)
		line(p, 4, say(MSG_bill_tax_on_top, decimal_money(b->tax_on_top, 2), b->currency));
	for (const char *const *o = b->open; *o; o++)
		line(p, 4, *o);
	for (int i = 0; i < b->n_invoices && i < BILL_EXAMPLES; i++)
		if (b->invoices[i].has_stated &&
		    !decimal_compare(b->invoices[i].sum, b->invoices[i].stated))
			line(p, 4,
			     say(MSG_bill_reconciled, *b->invoices[i].id ? b->invoices[i].id : "-",
			         decimal_money(b->invoices[i].sum, 2), b->currency));
}

static void bill_part(struct page *p, const char *path, const struct bill *b)
{
	line(p, 0,
	     say(MSG_bill_head, path, count(b->lines), b->map->title, b->encoding,
	         stamp_text(b->from), stamp_text(b->to), b->currency));
	if (b->absent)
		line(p, 2, say(MSG_bill_absent, words_shown(b->absent)));
	verdict_part(p, b);
	classes_part(p, b);
	examples_part(p, b);
	use_part(p, b);
}

/* --- credits -------------------------------------------------------------------------- */

/* Outages that are the vendor's and begin within the bill's time. */
static int outages_billed(const struct availability *a, const struct bill *b, int64_t *min)
{
	int n = 0;

	*min = 0;
	for (int i = 0; i < a->n_outages; i++) {
		const struct outage *o = &a->outages[i];
		int64_t begun = o->from_ns / NS_PER_S;

		if ((o->cause != CAUSE_NONE && o->cause != CAUSE_PROVIDER) || begun < b->from ||
		    begun >= b->to)
			continue;
		n++;
		*min += outage_minutes(o);
	}
	return n;
}

/* A credit is paid to who asks for it: one that is due and not on the bill is said. */
static void credit_part(struct page *p, const struct bill *b, const struct availability *a)
{
	const struct bill_class_total *credit = &b->classes[BILL_CREDIT];
	int64_t min;
	int n = outages_billed(a, b, &min);

	if (a->last_ns / NS_PER_S <= b->from || a->first_ns / NS_PER_S >= b->to)
		line(p, 4, msg_format(MSG_bill_log_apart));
	else if (!n)
		line(p, 4, msg_format(MSG_bill_no_outage));
	else if (credit->lines)
		line(p, 4,
		     say(MSG_bill_credited, count(n), count(min), decimal_money(credit->billed, 2),
		         b->currency));
	else
		line(p, 4, say(MSG_bill_credit_missing, count(n), count(min)));
}

static enum status credits(struct page *p, const struct bill *b, const struct options *o,
                           struct error *err)
{
	const struct availability_options wanted = {.target = AVAILABILITY_TARGET,
	                                            .days = AVAILABILITY_DAYS,
	                                            .repair_min = AVAILABILITY_REPAIR_MIN,
	                                            .causes = option_text(o, "causes", NULL)};
	struct availability a = {0};
	int n;
	const char *const *paths = option_list(o, "availability", &n);
	enum status st = n ? availability_read(&a, paths, n, &wanted, err) : ST_OK;

	if (st == ST_OK && n) {
		title(p, MSG_bill_credits);
		credit_part(p, b, &a);
	}
	availability_release(&a);
	return st;
}

static int code_of(const struct bill *b)
{
	return b->verdict == BILL_MET      ? EXIT_ACCEPT
	       : b->verdict == BILL_MISSED ? EXIT_REJECT
	                                   : EXIT_INCOMPLETE;
}

static int bill(const struct options *o, struct error *err)
{
	const char *path = option_text(o, "bill", NULL);
	struct report_options terminal = cli_report_options();
	struct page p = {.width = terminal.width};
	struct cost_files f;
	double hours = QUOTE_MONTH_HOURS;
	int code = EXIT_INCOMPLETE;
	enum status st;

	if (!option_given(o, "quote"))
		return cli_status_code(error_set(err, ST_USAGE, MSG_bill_needs_quote));
	if (!path && option_given(o, "availability"))
		return cli_status_code(error_set(err, ST_USAGE, MSG_credits_need_bill));
	st = cost_files_read(&f, o, option_text(o, "config-dir", NULL), err);
	if (st != ST_OK)
		return cli_status_code(st);
	if (path) {
		bill_part(&p, path, &f.bill);
		st = credits(&p, &f.bill, o, err);
		str_addc(&p.out, '\n');
		code = code_of(&f.bill);
	}
	quote_part(&p, &f.quote, hours);
	if (!path) {
		str_addc(&p.out, '\n');
		line(&p, 2, msg_format(MSG_bill_none_yet));
		line(&p, 2, msg_format(MSG_bill_questions));
	}
	if (!terminal.utf8) {
		struct str ascii = {0};

		words_ascii(&ascii, str_text(&p.out));
		str_release(&p.out);
		p.out = ascii;
	}
	if (st == ST_OK)
		st = cli_write_text("-", &p.out, err);
	str_release(&p.out);
	cost_files_release(&f);
	return st == ST_OK ? code : cli_status_code(st);
}

const struct command command_bill = {
	.name = "bill",
	.summary = MSG_cmd_bill,
	.operands = "",
	.rows = rows,
	.run = bill,
};
