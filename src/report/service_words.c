/* Service and cost in words, alike in all reports; see service_facts.h. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "report/service_facts.h"
#include "report/words.h"

const char *service_money(double amount)
{
	const char *whole = tmpf("%.2f", fabs(amount));
	size_t len = strcspn(whole, ".");
	struct str grouped = {0};
	const char *shown;

	if (!isfinite(amount))
		return "-";
	if (amount < 0 && strpbrk(whole, "123456789"))
		str_addc(&grouped, '-');
	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			str_addc(&grouped, ',');
		str_addc(&grouped, whole[i]);
	}
	str_add(&grouped, whole + len);
	shown = tmpf("%s", grouped.data);
	str_release(&grouped);
	return shown;
}

const char *service_moment(const char *utc)
{
	return strlen(utc) > 16 ? tmpf("%.10s %.5s UTC", utc, utc + 11) : utc;
}

const char *service_minutes(double minutes)
{
	return isfinite(minutes) ? tmpf("%.1f", minutes) : "-";
}

const char *service_step_amount(const struct service_step *s)
{
	const char *amount = service_money(s->amount);

	return s->level || s->amount < 0 ? amount : tmpf("+%s", amount);
}

const char *service_large(double value)
{
	return fabs(value) < 1e4 || fabs(value) > 1e18 ? fmt_value(value)
	                                               : words_count((int64_t)llround(value));
}

const char *service_class_name(const char *word)
{
	enum msg id;

	return msg_parse(tmpf("class_%s", word ? word : ""), &id) ? msg_format(id)
	                                                          : words_shown(word);
}

const char *service_step_name(const char *word)
{
	static const struct {
		const char *word;
		enum msg name;
	} steps[] = {{"quote", MSG_view_by_quote},
	             {"rounding", MSG_view_rounding},
	             {"tax_on_top", MSG_view_tax_on_top},
	             {"billed", MSG_view_billed}};

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (strcmp(steps[i].word, word) == 0)
			return msg_format(steps[i].name);
	return service_class_name(word);
}

const char *service_origin_name(const char *origin)
{
	static const struct {
		const char *word;
		enum msg name;
	} origins[] = {{"assumed", MSG_estimate_assumed},
	               {"given", MSG_estimate_given},
	               {"measured", MSG_estimate_measured},
	               {"table", MSG_estimate_table}};

	for (size_t i = 0; i < sizeof(origins) / sizeof(*origins); i++)
		if (origin && strcmp(origins[i].word, origin) == 0)
			return msg_format(origins[i].name);
	return "";
}

const char *service_bill_words(const struct service_bill *b)
{
	const char *hidden = service_money(b->hidden);
	const char *share = tmpf("%.2f", b->total > 0 ? 100 * b->hidden / b->total : 0);

	if (strcmp(b->verdict, "met") == 0)
		return say(MSG_bill_met, hidden, b->currency, share);
	return say(strcmp(b->verdict, "missed") == 0 ? MSG_bill_missed : MSG_bill_too_little,
	           hidden, b->currency, share);
}

const char *service_tickets_words(const struct service_tickets *t)
{
	const char *in_time = tmpf("%d", t->in_time), *judged = tmpf("%d", t->judged);
	const char *limit = fmt_value(t->limit_min);

	if (strcmp(t->verdict, "missed") == 0)
		return say(MSG_tickets_missed, in_time, judged, limit);
	if (strcmp(t->verdict, "met") == 0)
		return say(MSG_tickets_met, in_time, judged, limit);
	/* Tickets without a miss that claim 90, 95, 99 % at 95 % confidence. */
	return t->judged ? say(MSG_tickets_few, in_time, judged, limit, "29", "59", "299")
	                 : msg_format(MSG_tickets_none);
}

static const char *percent(double share)
{
	/* Never rounded up to more than it is. */
	return isfinite(share) ? tmpf("%.1f %%", floor(share * 1000) / 10) : "-";
}

const char *service_tickets_share(const struct service_tickets *t)
{
	return say(MSG_tickets_share, percent(t->share), percent(t->low95), percent(t->high95),
	           service_minutes(t->median_min), service_minutes(t->max_min));
}

const char *service_projection_words(const struct service_projection *p)
{
	return tmpf("%s%s%s",
	            say(MSG_estimate_head, p->params, p->tokens, service_large(p->cards), p->card),
	            p->fits ? "" : ". ", p->fits ? "" : msg_format(MSG_estimate_impossible));
}

const char *service_price_words(const struct service_projection *p)
{
	if (!p->price_from)
		return msg_format(MSG_view_no_price);
	return say(strcmp(p->price_from, "bill") == 0 ? MSG_view_price_bill : MSG_view_price_quote,
	           service_money(p->price), p->currency);
}
