/* Quote and bill as readings. What a quote says is declared; the lines of a bill are
 * what is asked for, so what they add up to is a fact and not a statement. Hours
 * delivered are one only by our own log. */
#include "cli/evidence_cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/json.h"
#include "cli/evidence_detail.h"
#include "service/stamp.h"

/* --- files ------------------------------------------------------------------------ */

static bool has_row(const struct options *o, const char *name)
{
	for (int i = 0; o->rows[i].name; i++)
		if (strcmp(o->rows[i].name, name) == 0)
			return true;
	return false;
}

static const char *text_of(const struct options *o, const char *name)
{
	return has_row(o, name) ? option_text(o, name, NULL) : NULL;
}

/* When the bill was what it is: now, or when its file was written. */
enum status cost_as_of(const struct options *o, const char *path, int64_t *as_of, struct error *err)
{
	const char *given = text_of(o, "as-of");
	struct stat info;

	*as_of = clock_wall(&clock_system) / NS_PER_S;
	if (given)
		return stamp_parse(given, 0, as_of, NULL)
		               ? ST_OK
		               : error_set(err, ST_USAGE, MSG_bill_as_of, given);
	if (stat(path, &info) != 0)
		return error_errno(err, path, errno);
	if (info.st_mtime < *as_of)
		*as_of = info.st_mtime;
	return ST_OK;
}

static enum status check_bill(struct cost_files *f, const struct options *o, const char *config_dir,
                              struct error *err)
{
	const char *style = text_of(o, "decimal");
	int n;
	struct bill_request request = {
		.path = option_text(o, "bill", NULL),
		.quote = &f->quote,
		.usage = f->has_usage ? &f->usage : NULL,
		.map = text_of(o, "bill-map"),
		.config_dir = config_dir,
		.style_given = style != NULL,
		.style = style && strcmp(style, "comma") == 0 ? DECIMAL_COMMA : DECIMAL_POINT,
		.invoices = option_list(o, "invoice", &n),
	};
	enum status st = cost_as_of(o, request.path, &request.as_of, err);

	if (st == ST_OK)
		st = bill_check(&f->bill, &request, err);
	f->has_bill = st == ST_OK;
	return st;
}

enum status cost_files_read(struct cost_files *f, const struct options *o, const char *config_dir,
                            struct error *err)
{
	const char *quote = option_text(o, "quote", NULL), *bill = option_text(o, "bill", NULL);
	const char *usage = option_text(o, "usage", NULL);
	enum status st = ST_OK;

	*f = (struct cost_files){0};
	if (bill && !quote)
		return error_set(err, ST_USAGE, MSG_bill_needs_quote);
	if ((usage || option_given(o, "invoice")) && !bill)
		return error_set(err, ST_USAGE, MSG_usage_needs_bill);
	if (quote) {
		st = quote_read(&f->quote, quote, err);
		f->has_quote = st == ST_OK;
	}
	if (st == ST_OK && usage) {
		st = usage_read(&f->usage, usage, err);
		f->has_usage = st == ST_OK;
	}
	if (st == ST_OK && bill)
		st = check_bill(f, o, config_dir, err);
	if (st != ST_OK)
		cost_files_release(f);
	return st;
}

void cost_files_release(struct cost_files *f)
{
	if (f->has_bill)
		bill_release(&f->bill);
	if (f->has_usage)
		usage_release(&f->usage);
	if (f->has_quote)
		quote_release(&f->quote);
	*f = (struct cost_files){0};
}

/* --- readings --------------------------------------------------------------------- */

static void set_reason(struct evidence *e, struct reading *r, enum msg id, const char *arg)
{
	const char **args = arena_array(e->arena, 2, sizeof(*args));
	struct str text = {0};

	args[0] = arena_str(e->arena, arg);
	msg_add_list(&text, id, args);
	r->outcome = OUTCOME_NOT_MEASURED;
	r->reason = (struct reason){msg_name(id), args, arg ? 1 : 0,
	                            arena_strn(e->arena, str_text(&text), text.len)};
	str_release(&text);
}

static void add(struct evidence *e, const char *source, const char *metric, double value,
                enum origin origin, enum msg why, const char *arg)
{
	struct reading r = evidence_reading(e, source, metric);

	r.origin = origin;
	if (isfinite(value)) {
		r.value_kind = VALUE_NUMBER;
		r.value = value;
	} else {
		set_reason(e, &r, why, arg);
	}
	evidence_add(e, &r);
}

/* The price of a card-hour in whatever currency, for prices of delivered work. */
static const char *hour_params(struct evidence *e, const struct quote *q)
{
	struct str text = {0};
	struct json_out j = json_writer(&text, 0);
	struct decimal hour;
	const char *kept;

	if (!quote_gpu_hour(q, &hour) || decimal_sign(hour) <= 0)
		return NULL;
	json_object_begin(&j, NULL);
	json_put_number(&j, "card_hour", decimal_double(hour));
	json_put_string(&j, "currency", q->currency);
	json_object_end(&j);
	kept = arena_str(e->arena, text.data);
	str_release(&text);
	return kept;
}

enum status evidence_quote(struct evidence *e, struct error *err)
{
	const char *path = option_text(e->options, "quote", NULL);
	struct quote q;
	struct decimal hour, even;
	double discount = NAN;
	int priced = 0;
	bool yuan;
	enum status st = quote_read(&q, path, err);

	if (st != ST_OK)
		return st;
	yuan = strcmp(q.currency, "CNY") == 0;
	for (int i = 0; i < q.n_items; i++)
		priced += q.items[i].priced;
	add(e, "quote", "quote_priced_share", (double)priced / q.n_items, ORIGIN_DECLARED, 0, NULL);
	e->readings[e->n_readings - 1].params = hour_params(e, &q);
	quote_month(&q, QUOTE_MONTH_HOURS, &discount, &even);
	add(e, "quote", "quote_month_discount", discount, ORIGIN_DECLARED, MSG_quote_no_month,
	    NULL);
	add(e, "quote", "quote_gpu_hour_cny",
	    yuan && quote_gpu_hour(&q, &hour) ? decimal_double(hour) : NAN, ORIGIN_DECLARED,
	    yuan ? MSG_quote_no_hour : MSG_quote_not_yuan, q.currency);
	add(e, "quote", "quote_support_terms", q.support_terms ? q.support_terms : NAN,
	    ORIGIN_DECLARED, MSG_quote_no_support, NULL);
	quote_release(&q);
	return evidence_note_file(e, "quote", path, err);
}

/* What may be said of hidden fees: nothing where the bill is open. */
static void add_hidden(struct evidence *e, const struct bill *b, bool yuan)
{
	bool said = b->verdict != BILL_TOO_LITTLE;

	add(e, "bill", "bill_unquoted_cny", said && yuan ? decimal_double(b->hidden) : NAN,
	    ORIGIN_MEASURED, yuan ? MSG_bill_open : MSG_quote_not_yuan,
	    yuan ? b->open[0] : b->currency);
}

/* A price needs the whole bill: lines left out would make it a bargain. */
static void add_price(struct evidence *e, const struct bill *b, bool yuan)
{
	struct decimal hour;
	double price = NAN;

	if (yuan && !b->open[0] && bill_gpu_hour(b, &hour))
		price = decimal_double(hour);
	if (!yuan)
		add(e, "bill", "bill_gpu_hour_cny", NAN, ORIGIN_MEASURED, MSG_quote_not_yuan,
		    b->currency);
	else if (b->open[0])
		add(e, "bill", "bill_gpu_hour_cny", NAN, ORIGIN_MEASURED, MSG_bill_open,
		    b->open[0]);
	else
		add(e, "bill", "bill_gpu_hour_cny", price,
		    b->log_used ? ORIGIN_MEASURED : ORIGIN_DECLARED, MSG_bill_no_hours, NULL);
}

enum status evidence_bill(struct evidence *e, struct error *err)
{
	struct cost_files f;
	const struct bill *b = &f.bill;
	enum status st = cost_files_read(&f, e->options, e->config_dir, err);
	bool yuan;

	if (st != ST_OK)
		return st;
	yuan = strcmp(b->currency, "CNY") == 0;
	add_hidden(e, b, yuan);
	e->readings[e->n_readings - 1].params = evidence_bill_params(e, b);
	add_price(e, b, yuan);
	if (b->month_open)
		add(e, "bill", "bill_idle_share", NAN, ORIGIN_MEASURED, MSG_bill_open, b->open[0]);
	else
		add(e, "bill", "bill_idle_share", bill_idle_share(b), ORIGIN_MEASURED,
		    MSG_bill_no_log, NULL);
	cost_files_release(&f);
	st = evidence_note_file(e, "bill", option_text(e->options, "bill", NULL), err);
	if (st == ST_OK && option_given(e->options, "usage"))
		st = evidence_note_file(e, "usage log", option_text(e->options, "usage", NULL),
		                        err);
	return st;
}
