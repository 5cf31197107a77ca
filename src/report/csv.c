/* CSV (RFC 4180): one row per finding, then one per figure no rule judges, then what
 * papers and logs beside the run came to. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "report/csv.h"
#include "report/report_writers.h"
#include "report/service_writers.h"

/* A spreadsheet runs a cell that begins like a formula (the full-width signs
 * too, in some locales), a terminal runs escape sequences. Texts from hosts
 * must never be run. */
static bool is_formula(const char *text)
{
	static const char *const signs[] = {
		"=", "+", "-", "@", "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d", "\xef\xbc\xa0"};

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++)
		if (str_starts(text, signs[i]))
			return true;
	return false;
}

/* Most cells are words and ids that need no care. */
static bool is_plain(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p >= 0x7f || *p == ',' || *p == '"')
			return false;
	return true;
}

void csv_text(struct str *out, const char *text)
{
	struct str shown = {0};

	if (!text)
		return;
	if (is_formula(text))
		str_addc(&shown, '\'');
	else if (is_plain(text)) {
		str_add(out, text);
		return;
	}
	str_add_printable(&shown, text, strlen(text));
	if (!strpbrk(shown.data, ",\"")) {
		str_addn(out, shown.data, shown.len);
	} else {
		str_addc(out, '"');
		for (const char *p = shown.data; *p; p++)
			str_addn(out, *p == '"' ? "\"\"" : p, *p == '"' ? 2 : 1);
		str_addc(out, '"');
	}
	str_release(&shown);
}

void csv_next_text(struct str *out, const char *text)
{
	str_addc(out, ',');
	csv_text(out, text);
}

void csv_next_number(struct str *out, double value)
{
	str_addc(out, ',');
	if (isfinite(value))
		json_number_text(out, value);
}

static void subject_fields(struct str *out, const struct subject *s, const char *node)
{
	csv_next_text(out, subject_kind_name(s->kind));
	csv_next_text(out, s->id);
	csv_next_text(out, s->pci);
	csv_next_text(out, node);
}

static void finding_row(struct str *out, const struct finding *f)
{
	const struct rule_info *r = f->rule;

	csv_text(out, "finding");
	csv_next_text(out, r->criterion);
	csv_next_text(out, r->id);
	csv_next_text(out, r->stage == RULE_PERIOD ? "period" : "delivery");
	csv_next_text(out, r->reading == RULE_LITERAL ? "literal" : "sound");
	csv_next_text(out, r->required ? "yes" : "no");
	csv_next_text(out, verdict_name(f->verdict));
	subject_fields(out, &f->subject, f->node);
	csv_next_text(out, r->metric);
	csv_next_text(out, r->stat);
	csv_next_text(out, f->evidence ? f->evidence->point : NULL);
	csv_next_number(out, f->has_value ? f->value : NAN);
	csv_next_text(out, f->text);
	csv_next_text(out, r->unit);
	csv_next_text(out, r->limit);
	csv_next_text(out, outcome_name(f->outcome));
	csv_next_text(out, origin_name(f->origin));
	csv_next_text(out, f->reason.code);
	csv_next_text(out, f->reason.text);
	csv_next_text(out, f->advice);
	csv_next_text(out, r->source);
	csv_next_text(out, f->waived ? f->waived->waiver.reason : NULL);
	csv_next_text(out, f->waived ? f->waived->waiver.by : NULL);
	str_add(out, "\r\n");
}

static void information_row(struct str *out, const struct reading *r)
{
	csv_text(out, "information");
	str_add(out, ",,,,,,");
	subject_fields(out, &r->subject, r->node);
	csv_next_text(out, r->metric);
	csv_next_text(out, "value");
	csv_next_text(out, r->point);
	csv_next_number(out, r->value_kind == VALUE_NUMBER ? r->value : NAN);
	csv_next_text(out, r->value_kind == VALUE_TEXT ? r->text : NULL);
	csv_next_text(out, r->unit);
	csv_next_text(out, NULL);
	csv_next_text(out, outcome_name(r->outcome));
	csv_next_text(out, origin_name(r->origin));
	csv_next_text(out, r->reason.code);
	csv_next_text(out, r->reason.text);
	str_add(out, ",,,,\r\n");
}

enum status report_csv(struct str *out, const struct scorecard *card,
                       const struct report_options *options, struct error *err)
{
	(void)options;
	(void)err;
	str_add(out,
	        "row,criterion,rule,stage,reading,required,verdict,subject_kind,subject,pci,node,"
	        "metric,stat,point,value,text,unit,limit,outcome,origin,reason_code,reason,advice,"
	        "source,waived,waived_by\r\n");
	for (int64_t i = 0; i < card->n_findings; i++)
		finding_row(out, &card->findings[i]);
	for (int64_t i = 0; i < card->n_information; i++)
		information_row(out, card->information[i]);
	service_csv(out, card);
	return ST_OK;
}
