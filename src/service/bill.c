/* A bill, read as a stream; see bill.h. What is kept is per class, per invoice and per
 * quoted item, so half a million lines cost no more memory than their digests. */
#include "service/bill_line.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/intern.h"
#include "service/digests.h"
#include "service/sheet.h"
#include "service/stamp.h"

#define CENT          ((struct decimal){10000000000LL})
#define MOST_S        1e15
#define INVOICES_MOST 4096 /* more of them is another column */
#define ITEMS_CACHED  4096 /* texts of lines whose item is remembered; a power of 2 */

const int64_t bill_steps[BILL_STEPS] = {1, 60, 3600, 86400};

static const struct {
	const char *word;
	bool hidden;
} classes[] = {
#define X(name, word, hidden) {#word, hidden},
	BILL_CLASS_LIST(X)
#undef X
};

const char *bill_class_word(enum bill_class class)
{
	return classes[class].word;
}

bool bill_class_hidden(enum bill_class class)
{
	return classes[class].hidden;
}

struct reader {
	struct bill *b;
	const struct bill_request *request;
	struct sheet sheet;
	int at[BILL_ROLES];
	struct decimal *used; /* by quoted item */
	struct digests digests;
	struct {
		uint64_t key; /* 0: free */
		int item;     /* -1: none */
	} cached[ITEMS_CACHED];
	int cap_invoices, last_invoice;
	/* Lines of machines that the log does not have: counted as not ordered once some
	 * machine of the bill is in it. */
	struct bill_class_total unknown;
	struct decimal unknown_hours;
	struct decimal slack; /* what is billed below the quote */
};

/* --- small parts ------------------------------------------------------------------ */

static const char *field(const struct reader *r, enum bill_role role)
{
	return r->at[role] >= 0 ? r->sheet.fields[r->at[role]] : "";
}

static const char *line_number(const struct reader *r)
{
	return tmpf("%lld", (long long)r->sheet.line);
}

static uint64_t mix(uint64_t h, const char *text)
{
	return (h ^ text_hash(text, strlen(text))) * 0x9e3779b97f4a7c15ULL + 1;
}

/* --- fields ----------------------------------------------------------------------- */

static enum status take_number(const struct reader *r, enum bill_role role, struct decimal *out,
                               bool *there, struct error *err)
{
	/* A file with semicolons may write decimals either way. */
	enum decimal_style style = r->request->style_given     ? r->request->style
	                           : r->sheet.delimiter == ';' ? DECIMAL_EITHER
	                                                       : DECIMAL_POINT;
	const char *text = field(r, role),
		   *column = r->at[role] >= 0 ? r->sheet.columns[r->at[role]] : "";
	enum msg what;

	*there = false;
	*out = decimal_of(0);
	switch (decimal_parse(text, style, out)) {
	case DECIMAL_FINE:
		*there = true;
		return ST_OK;
	case DECIMAL_EMPTY:
		return ST_OK;
	case DECIMAL_AMBIGUOUS:
		what = MSG_bill_number_ambiguous;
		break;
	case DECIMAL_TOO_LARGE:
	case DECIMAL_TOO_FINE:
		what = MSG_bill_number_range;
		break;
	default:
		what = MSG_bill_number;
	}
	return error_set(err, ST_PARSE, what, r->sheet.name, line_number(r), column, text);
}

static enum status take_time(const struct reader *r, enum bill_role role, int64_t *out, bool *month,
                             struct error *err)
{
	const char *text = field(r, role);

	if (!*text || stamp_parse(text, r->b->map->zone_minutes, out, month))
		return ST_OK;
	return error_set(err, ST_PARSE, MSG_sheet_time, r->sheet.name, line_number(r),
	                 r->sheet.columns[r->at[role]], text);
}

static enum status check_currency(struct reader *r, struct error *err)
{
	const char *text = field(r, BILL_AT_CURRENCY);
	struct bill *b = r->b;

	if (!*text && b->map->currency)
		text = b->map->currency;
	if (!*text)
		return error_set(err, ST_PARSE, MSG_sheet_empty_field, r->sheet.name,
		                 line_number(r), r->sheet.columns[r->at[BILL_AT_CURRENCY]]);
	/* What people write for the yuan. */
	if (word_in("RMB|rmb|人民币|元|cny", text))
		text = "CNY";
	if (!b->currency) {
		b->currency = arena_str(&b->arena, text);
		if (strcmp(text, r->request->quote->currency) != 0)
			return error_set(err, ST_PARSE, MSG_bill_currency, r->sheet.name, text,
			                 r->request->quote->file, r->request->quote->currency);
	}
	if (strcmp(b->currency, text) != 0)
		return error_set(err, ST_PARSE, MSG_bill_currencies, r->sheet.name, line_number(r),
		                 text, b->currency);
	return ST_OK;
}

static enum status take_period(struct reader *r, struct bill_line *l, int64_t *month,
                               struct error *err)
{
	struct bill *b = r->b;
	int zone = b->map->zone_minutes;
	int64_t begin = 0, end = 0, until;
	bool alone = false;
	enum status st = take_time(r, BILL_AT_START, &l->start, &alone, err);

	if (st == ST_OK)
		st = take_time(r, BILL_AT_END, &l->end, NULL, err);
	if (st == ST_OK)
		st = take_time(r, BILL_AT_MONTH, &begin, NULL, err);
	if (st == ST_OK)
		st = take_time(r, BILL_AT_PERIOD_END, &end, NULL, err);
	if (st != ST_OK)
		return st;
	if (!l->start)
		l->start = begin ? begin : end;
	if (!l->start)
		return error_set(err, ST_PARSE, MSG_sheet_empty_field, r->sheet.name,
		                 line_number(r), r->sheet.columns[r->at[BILL_AT_START]]);
	if (l->end && l->end < l->start)
		return error_set(err, ST_PARSE, MSG_bill_backwards, r->sheet.name, line_number(r));
	until = end ? end : stamp_next_month(begin ? begin : l->start, zone);
	if (until > b->month_end)
		b->month_end = until;
	*month = begin ? begin : until;
	b->from = !b->lines || l->start < b->from ? l->start : b->from;
	if (l->end > b->to || l->start > b->to)
		b->to = l->end ? l->end : l->start;
	return ST_OK;
}

static enum status take_line(struct reader *r, struct bill_line *l, int64_t *month,
                             struct error *err)
{
	long long numerator, denominator;
	uint64_t digest = 0;
	bool there;
	enum status st = check_currency(r, err);

	*l = (struct bill_line){
		.number = r->sheet.line,
		.category = bill_map_category(r->b->map, field(r, BILL_AT_CATEGORY)),
		.service = field(r, BILL_AT_SERVICE),
		.sku = field(r, BILL_AT_SKU),
		.description = field(r, BILL_AT_DESCRIPTION),
		.resource = field(r, BILL_AT_RESOURCE),
		.has_unit = *field(r, BILL_AT_UNIT) != '\0',
	};
	if (st == ST_OK)
		st = take_number(r, BILL_AT_BILLED, &l->billed, &there, err);
	if (st == ST_OK && !there)
		st = error_set(err, ST_PARSE, MSG_sheet_empty_field, r->sheet.name, line_number(r),
		               r->sheet.columns[r->at[BILL_AT_BILLED]]);
	if (st == ST_OK)
		st = take_number(r, BILL_AT_QUANTITY, &l->quantity, &l->has_quantity, err);
	if (st == ST_OK)
		st = take_period(r, l, month, err);
	if (st != ST_OK)
		return st;
	l->unit = quantity_unit(field(r, BILL_AT_UNIT), &numerator, &denominator);
	if (l->unit != QUANTITY_NONE &&
	    !decimal_scale(l->quantity, numerator, denominator, &l->quantity))
		return error_set(err, ST_PARSE, MSG_bill_number_range, r->sheet.name,
		                 line_number(r), r->sheet.columns[r->at[BILL_AT_QUANTITY]],
		                 field(r, BILL_AT_QUANTITY));
	for (int i = 0; i < r->sheet.n_columns; i++)
		digest = mix(digest, r->sheet.fields[i]);
	/* Lines without a machine and a thing may be alike and both be owed. */
	l->again = digests_add(&r->digests, digest) && *l->resource && (*l->sku || *l->description);
	return ST_OK;
}

/* --- invoices --------------------------------------------------------------------- */

static struct bill_invoice *invoice_of(struct reader *r, const char *id)
{
	struct bill *b = r->b;

	/* Lines of an invoice stand together; bills have few of them. */
	for (int k = 0; k < b->n_invoices; k++) {
		int i = (r->last_invoice + k) % b->n_invoices;

		if (strcmp(b->invoices[i].id, id) == 0) {
			r->last_invoice = i;
			return &b->invoices[i];
		}
	}
	if (b->n_invoices == INVOICES_MOST)
		return NULL;
	if (b->n_invoices == r->cap_invoices) {
		r->cap_invoices = r->cap_invoices ? r->cap_invoices * 2 : 16;
		b->invoices =
			reallocarray(b->invoices, (size_t)r->cap_invoices, sizeof(*b->invoices));
		if (!b->invoices)
			die_nomem();
	}
	r->last_invoice = b->n_invoices;
	b->invoices[b->n_invoices] = (struct bill_invoice){
		.id = arena_str(&b->arena, id), .line = r->sheet.line, .month = 0};
	return &b->invoices[b->n_invoices++];
}

static enum status add_to_invoice(struct reader *r, const struct bill_line *l, int64_t month,
                                  struct error *err)
{
	struct bill_invoice *i = invoice_of(r, field(r, BILL_AT_INVOICE));

	if (!i)
		return error_set(err, ST_PARSE, MSG_bill_invoices_many, r->sheet.name,
		                 line_number(r), r->sheet.columns[r->at[BILL_AT_INVOICE]]);
	if (!i->month)
		i->month = month;
	if (*i->id && i->month != month)
		return error_set(err, ST_PARSE, MSG_bill_invoice_twice, r->sheet.name,
		                 line_number(r), i->id, tmpf("%lld", (long long)i->line));
	i->sum = decimal_add(i->sum, l->billed);
	return ST_OK;
}

/* A line that sums up others: "合计". True: it was one. */
static bool take_sum(struct reader *r)
{
	struct bill_invoice *i;
	struct decimal stated;
	bool there, any = false;

	for (int c = 0; c < r->sheet.n_columns && !any; c++)
		for (const char *const *w = r->b->map->totals; *w && !any; w++)
			any = strcmp(r->sheet.fields[c], *w) == 0;
	if (!any || *field(r, BILL_AT_RESOURCE) || *field(r, BILL_AT_START) ||
	    take_number(r, BILL_AT_BILLED, &stated, &there, NULL) != ST_OK || !there)
		return false;
	i = invoice_of(r, field(r, BILL_AT_INVOICE));
	if (!i)
		return false;
	i->stated = stated;
	i->has_stated = true;
	return true;
}

static enum status state_invoice(struct reader *r, const char *text, struct error *err)
{
	const char *mark = strrchr(text, '=');
	struct bill *b = r->b;
	struct decimal stated;
	size_t len = mark ? (size_t)(mark - text) : 0;

	if (decimal_parse(mark ? mark + 1 : text, DECIMAL_POINT, &stated) != DECIMAL_FINE)
		return error_set(err, ST_USAGE, MSG_bill_invoice_option, text);
	for (int i = 0; i < b->n_invoices; i++) {
		struct bill_invoice *v = &b->invoices[i];

		if (mark ? strlen(v->id) != len || strncmp(v->id, text, len) != 0
		         : b->n_invoices > 1)
			continue;
		v->stated = stated;
		v->has_stated = true;
		return ST_OK;
	}
	return error_set(err, ST_USAGE, MSG_bill_invoice_unknown, text, r->sheet.name,
	                 tmpf("%d", b->n_invoices), b->n_invoices ? b->invoices[0].id : "");
}

/* --- counting --------------------------------------------------------------------- */

static const struct quote_item *item_of(struct reader *r, const struct bill_line *l)
{
	const struct quote *q = r->request->quote;
	uint64_t key = mix(mix(mix(0, l->sku), l->service), l->description) | 1;
	size_t at = key >> 1 & (ITEMS_CACHED - 1);
	const struct quote_item *item;

	if (r->cached[at].key == key)
		return r->cached[at].item < 0 ? NULL : &q->items[r->cached[at].item];
	item = bill_line_item(q, l);
	r->cached[at].key = key;
	r->cached[at].item = item ? (int)(item - q->items) : -1;
	return item;
}

static bool more_telling(const struct bill_example *a, const struct bill_example *b)
{
	int order = decimal_compare(a->excess, b->excess);

	return order ? order > 0 : decimal_compare(a->billed, b->billed) > 0;
}

static void keep_example(struct bill *b, const struct bill_line *l, const struct bill_told *t)
{
	struct bill_example e = {l->number, t->class,    NULL,     t->item ? t->item->name : NULL,
	                         l->billed, t->expected, t->excess};
	int at = b->n_examples;

	if (!bill_class_hidden(t->class) && t->class != BILL_UNCLASSIFIED)
		return;
	while (at > 0 && more_telling(&e, &b->examples[at - 1]))
		at--;
	if (at == BILL_EXAMPLES)
		return;
	e.what = arena_strf(&b->arena, "%s%s%s%s%s", *l->sku ? l->sku : l->service,
	                    *l->description ? ", " : "", l->description, *l->resource ? ", " : "",
	                    l->resource);
	if (b->n_examples < BILL_EXAMPLES)
		b->n_examples++;
	memmove(&b->examples[at + 1], &b->examples[at],
	        (size_t)(b->n_examples - at - 1) * sizeof(e));
	b->examples[at] = e;
}

static void count_time(struct reader *r, const struct bill_line *l, const struct bill_told *t)
{
	struct bill *b = r->b;
	/* Hours up to 1e15 are a bill's to state. */
	double seconds = decimal_double(t->machine_hours) * 3600 + 0.5;
	int64_t billed_s = (int64_t)fmin(fmax(seconds, -MOST_S), MOST_S), exact;
	struct decimal gpu, ran;
	int gpus = t->item ? t->item->gpus : 0;

	if (!gpus || !t->priced || !decimal_scale(t->machine_hours, gpus, 1, &gpu))
		return;
	b->gpu_hours = decimal_add(b->gpu_hours, gpu);
	if (t->unknown_machine)
		r->unknown_hours = decimal_add(r->unknown_hours, t->machine_hours);
	if (!t->in_log)
		return;
	b->log_used = true;
	if (decimal_scale(decimal_of(t->log_s), gpus, 3600, &ran))
		b->gpu_hours_log = decimal_add(b->gpu_hours_log, ran);
	if (t->item->per == QUANTITY_MONTH)
		return;
	b->hours = decimal_add(b->hours, t->machine_hours);
	if (decimal_scale(decimal_of(t->log_s < billed_s ? t->log_s : billed_s), 1, 3600, &ran))
		b->hours_log = decimal_add(b->hours_log, ran);
	if (!t->log_s)
		b->stopped = decimal_add(b->stopped, l->billed);
	for (int i = 0; t->log_s && i < BILL_STEPS; i++) {
		int64_t rounded = usage_seconds(r->request->usage, l->resource, l->start, l->end,
		                                bill_steps[i], &exact);

		b->step_fits[i] = b->step_fits[i] && llabs(rounded - billed_s) <= 1;
		b->step_known = true;
	}
}

static void count(struct reader *r, const struct bill_line *l, const struct bill_told *t)
{
	struct bill_class_total *total = &r->b->classes[t->class];
	struct bill *b = r->b;

	total->lines++;
	total->billed = decimal_add(total->billed, l->billed);
	total->excess = decimal_add(total->excess, t->excess);
	b->total = decimal_add(b->total, l->billed);
	if (t->priced && decimal_compare(t->expected, l->billed) > 0)
		r->slack = decimal_add(r->slack, decimal_sub(t->expected, l->billed));
	if (t->class == BILL_AS_QUOTED) {
		struct decimal off = decimal_sub(l->billed, t->expected);

		if (decimal_compare(off, decimal_sub(decimal_of(0), CENT)) >= 0)
			b->rounding = decimal_add(b->rounding, off);
		if (t->unknown_machine) {
			r->unknown.lines++;
			r->unknown.billed = decimal_add(r->unknown.billed, l->billed);
		}
	}
	count_time(r, l, t);
	keep_example(b, l, t);
}

static bool is_empty(const struct sheet *s)
{
	for (int i = 0; i < s->n_columns; i++)
		if (*s->fields[i])
			return false;
	return true;
}

static enum status read_lines(struct reader *r, struct error *err)
{
	const struct bill_request *q = r->request;
	struct bill *b = r->b;

	for (;;) {
		struct decimal nothing = {0};
		const struct quote_item *item;
		struct bill_told told;
		struct bill_line l;
		int64_t month = 0;
		bool more;
		enum status st = sheet_next(&r->sheet, &more, err);

		if (st != ST_OK || !more)
			return st;
		if (is_empty(&r->sheet) || take_sum(r))
			continue;
		st = take_line(r, &l, &month, err);
		if (st == ST_OK)
			st = add_to_invoice(r, &l, month, err);
		if (st != ST_OK)
			return st;
		item = item_of(r, &l);
		told = bill_line_tell(q->quote, q->usage, item, &l,
		                      item ? &r->used[item - q->quote->items] : &nothing);
		count(r, &l, &told);
		b->lines++;
	}
}

/* --- what it amounts to ----------------------------------------------------------- */

/* Machines that a log of the others does not have were not ordered. */
static void settle_unknown(struct reader *r)
{
	struct bill *b = r->b;
	struct bill_class_total *from = &b->classes[BILL_AS_QUOTED];
	struct bill_class_total *to = &b->classes[BILL_QUANTITY_ABOVE];

	b->log_foreign = r->request->usage && !b->log_used;
	if (!b->log_used || !r->unknown.lines)
		return;
	from->lines -= r->unknown.lines;
	from->billed = decimal_sub(from->billed, r->unknown.billed);
	to->lines += r->unknown.lines;
	to->billed = decimal_add(to->billed, r->unknown.billed);
	to->excess = decimal_add(to->excess, r->unknown.billed);
	b->hours = decimal_add(b->hours, r->unknown_hours);
	b->stopped = decimal_add(b->stopped, r->unknown.billed);
}

static void settle_hidden(struct reader *r)
{
	struct bill *b = r->b;
	struct decimal tax = b->classes[BILL_TAX].billed, most;

	for (int c = 0; c < BILL_CLASSES; c++)
		if (bill_class_hidden((enum bill_class)c))
			b->hidden = decimal_add(b->hidden, b->classes[c].excess);
	/* Single cents go up and down; all of them up is a price. */
	if (decimal_scale(b->classes[BILL_AS_QUOTED].billed, 1, 1000, &most))
		b->rounded_up = decimal_compare(b->rounding, most) > 0 &&
		                decimal_compare(b->rounding, decimal_of(1)) > 0;
	if (b->rounded_up)
		b->hidden = decimal_add(b->hidden, b->rounding);
	if (r->request->quote->tax_included &&
	    decimal_compare(tax, decimal_add(r->slack, CENT)) > 0) {
		b->tax_on_top = decimal_sub(tax, r->slack);
		b->hidden = decimal_add(b->hidden, b->tax_on_top);
	}
}

static const char *keep(struct bill *b, const char *text)
{
	return arena_str(&b->arena, text);
}

/* Why the bill proves nothing more, though no line is wrong. */
static void settle_open(struct reader *r)
{
	struct bill *b = r->b;
	const struct bill_class_total *unclear = &b->classes[BILL_UNCLASSIFIED];
	int n = 0, unstated = 0;

	if (b->month_open)
		b->open[n++] = keep(b, say(MSG_bill_open_month, stamp_text(b->final)));
	for (int i = 0; i < b->n_invoices; i++) {
		const struct bill_invoice *v = &b->invoices[i];

		unstated += !v->has_stated;
		if (v->has_stated && decimal_compare(v->sum, v->stated) != 0 && n < 2)
			b->open[n++] = keep(b, say(MSG_bill_unreconciled, *v->id ? v->id : "-",
			                           decimal_money(v->sum, 2),
			                           decimal_money(v->stated, 2), b->currency));
	}
	if (unstated)
		b->open[n++] = keep(
			b, say(MSG_bill_unstated, tmpf("%d", unstated), tmpf("%d", b->n_invoices)));
	if (unclear->lines)
		b->open[n++] =
			keep(b, say(MSG_bill_unclear, tmpf("%lld", (long long)unclear->lines),
		                    tmpf("%lld", (long long)b->lines),
		                    decimal_money(unclear->billed, 2), b->currency));
	if (b->log_foreign)
		b->open[n++] = keep(b, msg_format(MSG_bill_log_foreign));
	b->open[n] = NULL;
}

static enum status settle(struct reader *r, struct error *err)
{
	struct bill *b = r->b;
	enum status st = ST_OK;

	if (!b->lines)
		return error_set(err, ST_PARSE, MSG_sheet_no_lines, r->sheet.name);
	for (const char *const *i = r->request->invoices; i && *i && st == ST_OK; i++)
		st = state_invoice(r, *i, err);
	if (st != ST_OK)
		return st;
	b->final = b->month_end + (int64_t)b->map->final_hours * 3600;
	b->month_open = r->request->as_of < b->final;
	settle_unknown(r);
	settle_hidden(r);
	settle_open(r);
	if (b->month_open)
		b->verdict = BILL_TOO_LITTLE;
	else if (decimal_compare(b->hidden, CENT) > 0)
		b->verdict = BILL_MISSED;
	else
		b->verdict = b->open[0] ? BILL_TOO_LITTLE : BILL_MET;
	return ST_OK;
}

enum status bill_check(struct bill *b, const struct bill_request *request, struct error *err)
{
	struct reader *r = calloc(1, sizeof(*r));
	enum status st;

	if (!r)
		die_nomem();
	*b = (struct bill){.month_end = INT64_MIN, .to = INT64_MIN};
	for (int i = 0; i < BILL_STEPS; i++)
		b->step_fits[i] = true;
	r->b = b;
	r->request = request;
	st = sheet_open(&r->sheet, request->path, err);
	if (st != ST_OK)
		goto out;
	b->encoding = arena_str(&b->arena, r->sheet.encoding);
	r->used = arena_array(&b->arena, (size_t)request->quote->n_items, sizeof(*r->used));
	st = bill_map_find(&b->map, r->at, &b->arena, &r->sheet, request->map, request->config_dir,
	                   err);
	if (st == ST_OK)
		b->absent = bill_map_absent(b->map, r->at, &b->arena, &r->sheet);
	if (st == ST_OK)
		st = read_lines(r, err);
	if (st == ST_OK)
		st = settle(r, err);
	sheet_close(&r->sheet);
out:
	free(r->digests.slots);
	free(r);
	if (st != ST_OK)
		bill_release(b);
	return st;
}

void bill_release(struct bill *b)
{
	free(b->invoices);
	arena_release(&b->arena);
	*b = (struct bill){0};
}

bool bill_gpu_hour(const struct bill *b, struct decimal *price)
{
	return decimal_div(decimal_sub(b->total, b->classes[BILL_TAX].billed),
	                   b->log_used ? b->gpu_hours_log : b->gpu_hours, price);
}

double bill_idle_share(const struct bill *b)
{
	double hours = decimal_double(b->hours);

	return b->log_used && hours > 0 ? 1 - decimal_double(b->hours_log) / hours : NAN;
}

int64_t bill_step(const struct bill *b)
{
	for (int i = 0; b->step_known && i < BILL_STEPS; i++)
		if (b->step_fits[i])
			return bill_steps[i];
	return 0;
}
