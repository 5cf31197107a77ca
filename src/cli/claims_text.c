/* Statements and what was made of them: for a terminal, as JSON and as CSV. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "cli/claims.h"
#include "cli/service_text.h"
#include "report/csv.h"
#include "report/words.h"

const struct claims_order claims_order[CLAIM_VERDICTS] = {
	{CLAIM_REFUTED, MSG_claims_refuted},
	{CLAIM_CONTRADICTS, MSG_claims_contradict},
	{CLAIM_CONFIRMED, MSG_claims_confirmed},
	{CLAIM_UNTESTABLE, MSG_claims_untestable}};

/* --- words ------------------------------------------------------------------------------- */

static const char *count(int64_t n)
{
	return tmpf("%lld", (long long)n);
}

const char *claims_said(const struct statement *s)
{
	bool zh = msg_spoken() == LANGUAGE_ZH;
	const char *first = zh ? s->phrase : s->meaning, *second = zh ? s->meaning : s->phrase;

	return words_shown(*first ? first : second);
}

const char *claims_threshold(const struct statement *s)
{
	bool unit = strcmp(s->unit, "-") != 0;

	if (!*s->threshold || strcmp(s->threshold, "-") == 0)
		return "";
	return tmpf("%s%s%s", words_shown(s->threshold), unit ? " " : "",
	            unit ? words_shown(s->unit) : "");
}

const char *claims_head(const struct claims *c)
{
	return say(MSG_claims_head, words_shown(c->statements.title), count(c->n),
	           c->statements.encoding);
}

const char *claims_counts(const struct claims *c)
{
	return say(MSG_claims_counts, count(c->count[CLAIM_CONFIRMED]),
	           count(c->count[CLAIM_REFUTED]), count(c->count[CLAIM_CONTRADICTS]),
	           count(c->count[CLAIM_UNTESTABLE]));
}

const char *claims_against(const struct claims *c)
{
	return c->run ? say(MSG_claims_run, words_shown(c->run)) : msg_format(MSG_claims_no_run);
}

const char *claims_unknown(const struct claims *c, int *n)
{
	struct str ids = {0};
	const char *text;

	*n = 0;
	for (int i = 0; i < c->n; i++)
		if (!c->list[i].quantity)
			str_addf(&ids, "%s%s", (*n)++ ? ", " : "", words_shown(c->list[i].s->id));
	text = say(MSG_claims_unknown, count(*n), str_text(&ids));
	str_release(&ids);
	return text;
}

/* --- terminal ----------------------------------------------------------------------------- */

static void head(struct str *out, const struct claims *c, const struct report_options *o)
{
	text_line(out, claims_head(c), 0, o);
	text_line(out, claims_counts(c), 2, o);
	text_line(out, claims_against(c), 2, o);
	if (c->altered)
		text_line(out, say(MSG_claim_altered, words_shown(c->altered)), 2, o);
	if (c->simulated)
		text_line(out, msg_format(MSG_claims_simulated), 2, o);
}

static void one(struct str *out, const struct claim *x, const struct report_options *o)
{
	const char *threshold = claims_threshold(x->s);
	struct str head = {0};

	str_addf(&head, "%s %s", words_shown(x->s->id), claims_said(x->s));
	if (*threshold)
		str_addf(&head, " [%s]", threshold);
	text_line(out, str_text(&head), 4, o);
	for (int i = 0; i < x->n_why; i++)
		text_line(out, words_shown(x->why[i]), 8, o);
	str_release(&head);
}

void claims_text(struct str *out, const struct claims *c, const struct report_options *o)
{
	int n;

	head(out, c, o);
	for (int k = 0; k < CLAIM_VERDICTS; k++) {
		enum claim_verdict verdict = claims_order[k].verdict;
		const char *rest;

		if (!c->count[verdict])
			continue;
		str_addc(out, '\n');
		text_line(out, msg_format(claims_order[k].title), 2, o);
		for (int i = 0; i < c->n; i++)
			if (c->list[i].verdict == verdict && c->list[i].quantity)
				one(out, &c->list[i], o);
		/* There is nothing to say of each. */
		rest = claims_unknown(c, &n);
		if (verdict == CLAIM_UNTESTABLE && n)
			text_line(out, rest, 4, o);
	}
}

/* --- for programs --------------------------------------------------------------------------- */

static const char *bound_name(enum claim_bound bound)
{
	static const char *const names[] = {[BOUND_WORDS] = "words",
	                                    [BOUND_ABOUT] = "about",
	                                    [BOUND_LEAST] = "at_least",
	                                    [BOUND_MOST] = "at_most",
	                                    [BOUND_CHANGE] = "change"};

	return names[bound];
}

static void put_declared(struct json_out *j, const struct claim *x)
{
	const struct claim_figure *f = &x->s->figure;

	if (!x->quantity || !x->s->scaled) {
		json_put_null(j, "declared");
		return;
	}
	json_object_begin(j, "declared");
	json_put_string(j, "bound", bound_name(f->bound));
	json_put_number(j, "lo", f->lo);
	json_put_number(j, "hi", f->hi);
	json_put_string(j, "unit", x->quantity->unit);
	json_object_end(j);
}

static void put_measured(struct json_out *j, const struct claim *x)
{
	if (!x->tested) {
		json_put_null(j, "measured");
		return;
	}
	json_object_begin(j, "measured");
	json_put_string(j, "origin", origin_name(x->rate.origin));
	json_put_number(j, "value", x->rate.value);
	json_put_number(j, "lo", x->rate.lo);
	json_put_number(j, "hi", x->rate.hi);
	json_put_number(j, "worst", x->rate.worst);
	json_put_int(j, "subjects", x->rate.subjects);
	json_put_int(j, "without", x->rate.without);
	json_put_number(j, "shortfall", x->shortfall);
	json_put_bool(j, "class_3", x->class_3);
	json_object_end(j);
}

static void put_claim(struct json_out *j, const struct claim *x)
{
	json_object_begin(j, NULL);
	json_put_string(j, "id", x->s->id);
	if (x->s->line)
		json_put_int(j, "line", x->s->line);
	json_put_string(j, "statement", *x->s->meaning ? x->s->meaning : x->s->phrase);
	json_put_string(j, "threshold", x->s->threshold);
	json_put_string(j, "unit", x->s->unit);
	json_put_string(j, "who", *x->s->who ? x->s->who : NULL);
	json_put_string(j, "quantity", x->quantity ? x->quantity->name : NULL);
	json_put_string(j, "metric", x->quantity ? x->quantity->metric : NULL);
	json_put_string(j, "verdict", claim_verdict_name(x->verdict));
	put_declared(j, x);
	put_measured(j, x);
	json_array_begin(j, "why");
	for (int i = 0; i < x->n_why; i++)
		json_put_string(j, NULL, x->why[i]);
	json_array_end(j);
	json_object_end(j);
}

void claims_json(struct str *out, const struct claims *c)
{
	struct json_out j = json_writer(out, 2);

	json_object_begin(&j, NULL);
	json_put_int(&j, "v", 1);
	json_put_string(&j, "name", c->statements.name);
	json_put_string(&j, "title", c->statements.title);
	json_put_string(&j, "encoding", c->statements.encoding);
	json_put_string(&j, "run", c->run);
	json_put_string(&j, "altered", c->altered);
	json_put_bool(&j, "simulated", c->simulated);
	json_object_begin(&j, "count");
	for (int v = 0; v < CLAIM_VERDICTS; v++)
		json_put_int(&j, claim_verdict_name((enum claim_verdict)v), c->count[v]);
	json_object_end(&j);
	json_array_begin(&j, "claims");
	for (int i = 0; i < c->n; i++)
		put_claim(&j, &c->list[i]);
	json_array_end(&j);
	json_object_end(&j);
	str_addc(out, '\n');
}

void claims_csv(struct str *out, const struct claims *c)
{
	str_add(out, "id,verdict,quantity,metric,declared_lo,declared_hi,unit,measured,lo,hi,worst,"
	             "subjects,shortfall,class_3,origin,why\r\n");
	for (int i = 0; i < c->n; i++) {
		const struct claim *x = &c->list[i];
		bool scaled = x->quantity && x->s->scaled;
		struct str why = {0};

		for (int k = 0; k < x->n_why; k++)
			str_addf(&why, "%s%s", k ? "; " : "", x->why[k]);
		csv_text(out, x->s->id);
		csv_next_text(out, claim_verdict_name(x->verdict));
		csv_next_text(out, x->quantity ? x->quantity->name : NULL);
		csv_next_text(out, x->quantity ? x->quantity->metric : NULL);
		csv_next_number(out, scaled ? x->s->figure.lo : NAN);
		csv_next_number(out, scaled ? x->s->figure.hi : NAN);
		csv_next_text(out, x->quantity ? x->quantity->unit : x->s->unit);
		csv_next_number(out, x->rate.value);
		csv_next_number(out, x->rate.lo);
		csv_next_number(out, x->rate.hi);
		csv_next_number(out, x->rate.worst);
		csv_next_number(out, x->tested ? (double)x->rate.subjects : NAN);
		csv_next_number(out, x->shortfall);
		csv_next_text(out, x->class_3 ? "yes" : "no");
		csv_next_text(out, x->tested ? origin_name(x->rate.origin) : NULL);
		csv_next_text(out, str_text(&why));
		str_add(out, "\r\n");
		str_release(&why);
	}
}
