/* CSV (RFC 4180): one row per finding, then one per figure no rule judges. */
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/report_writers.h"

/* A spreadsheet runs a cell that begins like a formula; a number may begin
 * with a minus. Texts from hosts must never be run. */
static void text_cell(struct str *out, const char *text)
{
	bool quote;

	if (!text)
		return;
	quote = strpbrk(text, ",\"\r\n") != NULL;
	if (quote)
		str_addc(out, '"');
	if (*text && strchr("=+-@\t\r", *text))
		str_addc(out, '\'');
	for (const char *p = text, *end = text + strlen(text); p < end;) {
		int n = utf8_len(p, end);

		if (n == 0)
			str_add(out, "\xef\xbf\xbd");
		else if (*p == '"')
			str_add(out, "\"\"");
		else
			str_addn(out, p, (size_t)n);
		p += n ? n : 1;
	}
	if (quote)
		str_addc(out, '"');
}

static void text_field(struct str *out, const char *text)
{
	str_addc(out, ',');
	text_cell(out, text);
}

static void number_field(struct str *out, bool known, double value)
{
	str_addc(out, ',');
	if (known && isfinite(value))
		json_number_text(out, value);
}

static void subject_fields(struct str *out, const struct subject *s, const char *node)
{
	text_field(out, subject_kind_name(s->kind));
	text_field(out, s->id);
	text_field(out, s->pci);
	text_field(out, node);
}

static void finding_row(struct str *out, const struct finding *f)
{
	const struct rule_info *r = f->rule;

	text_cell(out, "finding");
	text_field(out, r->criterion);
	text_field(out, r->id);
	text_field(out, r->stage == RULE_PERIOD ? "period" : "delivery");
	text_field(out, r->reading == RULE_LITERAL ? "literal" : "sound");
	text_field(out, r->required ? "yes" : "no");
	text_field(out, verdict_name(f->verdict));
	subject_fields(out, &f->subject, f->node);
	text_field(out, r->metric);
	text_field(out, r->stat);
	number_field(out, f->has_value, f->value);
	text_field(out, f->text);
	text_field(out, r->unit);
	text_field(out, r->limit);
	text_field(out, outcome_name(f->outcome));
	text_field(out, origin_name(f->origin));
	text_field(out, f->reason.code);
	text_field(out, f->reason.text);
	text_field(out, f->advice);
	text_field(out, r->source);
	str_add(out, "\r\n");
}

static void information_row(struct str *out, const struct reading *r)
{
	text_cell(out, "information");
	str_add(out, ",,,,,,");
	subject_fields(out, &r->subject, r->node);
	text_field(out, r->metric);
	text_field(out, "value");
	number_field(out, r->value_kind == VALUE_NUMBER, r->value);
	text_field(out, r->value_kind == VALUE_TEXT ? r->text : NULL);
	text_field(out, r->unit);
	text_field(out, NULL);
	text_field(out, outcome_name(r->outcome));
	text_field(out, origin_name(r->origin));
	text_field(out, r->reason.code);
	text_field(out, r->reason.text);
	str_add(out, ",,\r\n");
}

enum status report_csv(struct str *out, const struct scorecard *card,
                       const struct report_options *options, struct error *err)
{
	(void)options;
	(void)err;
	str_add(out, "row,criterion,rule,stage,reading,required,verdict,subject_kind,subject,pci,node,"
	             "metric,stat,value,text,unit,limit,outcome,origin,reason_code,reason,advice,source\r\n");
	for (int64_t i = 0; i < card->n_findings; i++)
		finding_row(out, &card->findings[i]);
	for (int64_t i = 0; i < card->n_information; i++)
		information_row(out, card->information[i]);
	return ST_OK;
}
