/* The bill: how it comes from what the quote asks for to what is billed, step by step,
 * then by classes, and the lines to ask about. */
#include <math.h>
#include <string.h>

#include "base/msg.h"
#include "report/html.h"
#include "report/service_facts.h"
#include "report/words.h"

#define WIDTH  720.0
#define ROW    26.0
#define BAR    15.0
#define LABELS 175.0 /* names end before it, then amounts: both are seen on a phone */
#define BARS   285.0 /* amounts end before it */
/* Levels far above what is between them: bars that began at 0 would hide that. */
#define NARROW 0.5

/* --- waterfall ---------------------------------------------------------------------- */

static const char *colour_of(const struct service_step *s)
{
	if (s->level)
		return "q5";
	if (s->amount < 0)
		return "strip-up";
	if (strcmp(s->word, "tax") == 0)
		return "q4";
	return strcmp(s->word, "unclassified") == 0 ? "strip-degraded" : "strip-down";
}

static void words_at(struct html *h, double x, double y, const char *class, const char *text)
{
	str_addf(h->out, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">", class, x, y);
	markup_text(h->out, text);
	str_add(h->out, "</text>");
}

struct span_of_bars {
	double lo, hi; /* of the money drawn */
};

static void step(struct html *h, const struct service_step *s, int i, double from, double to,
                 struct span_of_bars span)
{
	double room = WIDTH - BARS - 4, y = i * ROW;
	double x1 = BARS + (fmax(fmin(from, to), span.lo) - span.lo) / (span.hi - span.lo) * room;
	double x2 = BARS + (fmax(from, to) - span.lo) / (span.hi - span.lo) * room;
	const char *words = s->level ? "word end" : "end", *name = service_step_name(s->word);

	words_at(h, LABELS, y + ROW / 2 + 4, words, name);
	words_at(h, BARS - 8, y + ROW / 2 + 4, words, service_step_amount(s));
	str_addf(h->out,
	         "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.1f\"><title>",
	         colour_of(s), x1, y + (ROW - BAR) / 2, fmax(x2 - x1, 1), BAR);
	markup_text(h->out, tmpf("%s: %s", name, service_step_amount(s)));
	str_add(h->out, "</title></rect>");
}

/* From 0 on, unless all that happens is far from it. */
static struct span_of_bars span_of(const struct service_bill *b)
{
	double at = 0, lo = INFINITY, hi = -INFINITY;

	for (int i = 0; i < b->n_steps; i++) {
		at = b->steps[i].level ? b->steps[i].amount : at + b->steps[i].amount;
		lo = fmin(lo, at);
		hi = fmax(hi, at);
	}
	if (hi > 0 && lo > NARROW * hi && hi > lo)
		return (struct span_of_bars){lo - 0.25 * (hi - lo), hi};
	return (struct span_of_bars){fmin(lo, 0), fmax(hi, 0)};
}

static void waterfall(struct html *h, const struct service_bill *b)
{
	struct span_of_bars span = span_of(b);
	double at = 0;

	if (!(span.hi > span.lo))
		return;
	str_add(h->out, "<figure><figcaption><b>");
	markup_text(h->out, say(MSG_view_waterfall, b->currency));
	str_addf(h->out,
	         "</b></figcaption><svg class=\"plot\" width=\"%g\" viewBox=\"0 0 %g %g\" "
	         "role=\"img\" aria-label=\"",
	         WIDTH, WIDTH, b->n_steps * ROW);
	markup_text(h->out, say(MSG_view_waterfall, b->currency));
	str_add(h->out, "\">");
	for (int i = 0; i < b->n_steps; i++) {
		double from = b->steps[i].level ? span.lo : at;

		at = b->steps[i].level ? b->steps[i].amount : at + b->steps[i].amount;
		/* A level below 0 hangs from there. */
		step(h, &b->steps[i], i, b->steps[i].level && span.lo <= 0 ? 0 : from, at, span);
	}
	str_add(h->out, "</svg></figure>\n");
	if (span.lo > 0)
		html_note(h, say(MSG_view_broken, service_money(span.lo), b->currency));
}

/* --- tables -------------------------------------------------------------------------- */

static void classes(struct html *h, const struct service_bill *b)
{
	static const enum msg columns[] = {MSG_view_class, MSG_view_lines, MSG_view_billed,
	                                   MSG_view_hidden};
	const struct html_table t = {"bill-classes", MSG_bill_classes, columns, "tnnn", 4, false};

	html_table_begin(h, &t);
	for (int i = 0; i < b->n_classes; i++) {
		const struct service_class *k = &b->classes[i];

		html_row(h);
		html_cell(h, service_class_name(k->word));
		html_number(h, (double)k->lines, words_count(k->lines));
		html_number(h, k->billed, service_money(k->billed));
		html_number(h, k->excess, service_money(k->excess));
	}
	html_table_end(h);
}

static void lines(struct html *h, const struct service_bill *b)
{
	static const enum msg columns[] = {MSG_view_line, MSG_view_class, MSG_view_what,
	                                   MSG_view_billed, MSG_view_by_quote};
	const struct html_table t = {"bill-lines", MSG_bill_examples, columns, "nttnn", 5, false};

	if (!b->n_examples)
		return;
	html_table_begin(h, &t);
	for (int i = 0; i < b->n_examples; i++) {
		const struct service_line *l = &b->examples[i];

		html_row(h);
		html_number(h, (double)l->line, tmpf("%lld", (long long)l->line));
		html_cell(h, service_class_name(l->class));
		html_cell(h, l->what ? l->what : "");
		html_number(h, l->billed, service_money(l->billed));
		html_number(h, l->quoted ? l->expected : NAN,
		            l->quoted ? service_money(l->expected) : "-");
	}
	html_table_end(h);
}

void html_view_bill(struct html *h)
{
	struct service_bill b;

	if (!service_bill_read(&b, &h->arena, h->card))
		return;
	html_section(h, "bill", MSG_view_bill);
	str_add(h->out, "<p>");
	markup_text(h->out, service_bill_words(&b));
	str_add(h->out, "</p>\n");
	html_note(h, say(MSG_view_bill_head, words_count(b.lines), b.from, b.to, b.currency));
	if (b.n_open)
		html_note(h, msg_format(MSG_view_bill_open));
	for (int i = 0; i < b.n_open; i++)
		html_note(h, b.open[i]);
	waterfall(h, &b);
	classes(h, &b);
	lines(h, &b);
	html_section_end(h);
}
