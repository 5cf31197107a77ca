/* Statements and what was made of them as a page: what was declared beside what was
 * measured first, then each statement with its arithmetic, the worst verdict first. */
#include <math.h>
#include <string.h>

#include "base/unit.h"
#include "cli/claims.h"
#include "report/html.h"
#include "report/html_page.h"
#include "report/html_plot.h"
#include "report/words.h"

#define WIDTH     720
#define ROW       22.0
#define PLOTTED   40  /* at most */
#define FAR       4.0 /* beyond so many times the declared a dot stands at the border */
#define FILTER_AT 12

static void element(struct str *out, const char *tag, const char *text)
{
	str_addf(out, "<%s>", tag);
	markup_text(out, text);
	str_addf(out, "</%.*s>", (int)strcspn(tag, " "), tag);
}

/* --- head ------------------------------------------------------------------------------ */

static void head(struct str *out, const struct claims *c)
{
	bool bad = c->count[CLAIM_REFUTED] || c->count[CLAIM_CONTRADICTS];
	const char *title = c->statements.title, *slash = strrchr(title, '/');

	str_addf(out, "<header id=\"verdict\" class=\"headline %s\">",
	         bad                         ? "fail"
	         : c->count[CLAIM_CONFIRMED] ? "pass"
	                                     : "open");
	element(out, "h1", words_shown(slash ? slash + 1 : title));
	element(out, "p class=\"rest\"", claims_counts(c));
	element(out, "p class=\"facts\"", claims_head(c));
	element(out, "p class=\"facts\"", claims_against(c));
	str_add(out, "</header>\n");
	if (c->altered)
		element(out, "p class=\"banner\"", say(MSG_claim_altered, words_shown(c->altered)));
	if (c->simulated)
		element(out, "p class=\"banner\"", msg_format(MSG_claims_simulated));
}

/* --- declared and measured ---------------------------------------------------------------- */

/* What it is held against; NaN: there is nothing to divide by. */
static double declared_of(const struct claim *x)
{
	double declared = x->s->figure.bound == BOUND_MOST ? x->s->figure.hi : x->s->figure.lo;

	return x->tested && x->s->scaled && declared > 0 && x->rate.value >= 0 ? declared : NAN;
}

static void dot(struct plot *p, const struct claim *x, double y)
{
	double declared = declared_of(x);
	struct str name = {0};

	words_cut(&name, words_shown(x->s->id), 26);
	plot_label(p, 182, y, str_text(&name));
	if (isfinite(x->rate.lo) && isfinite(x->rate.hi))
		plot_line(p,
		          (const double[]){fmin(x->rate.lo / declared, FAR),
		                           fmin(x->rate.hi / declared, FAR)},
		          (const double[]){y, y}, 2, "interval");
	plot_mark(p, fmin(x->rate.value / declared, FAR), y,
	          x->verdict == CLAIM_REFUTED     ? "fail"
	          : x->verdict == CLAIM_CONFIRMED ? "best"
	                                          : "point",
	          claims_measured(x));
	str_release(&name);
}

static void plot(struct html *h, const struct claims *c)
{
	double most = 1.1;
	struct plot p;
	int n = 0, at = 0;

	for (int i = 0; i < c->n && n < PLOTTED; i++) {
		double declared = declared_of(&c->list[i]);

		if (isnan(declared))
			continue;
		n++;
		most = fmax(most,
		            fmin(fmax(c->list[i].rate.value, c->list[i].rate.hi) / declared, FAR));
	}
	if (!n)
		return;
	html_section(h, "measured", MSG_claims_plot);
	html_note(h, msg_format(MSG_claims_plot_note));
	p.x = scale_over(0, most, false);
	p.y = (struct scale){.lo = 0, .hi = n};
	str_add(h->out, "<figure>");
	plot_begin(&p, h->out, WIDTH, 46 + n * ROW, msg_format(MSG_claims_plot), "");
	p.x.from = 190;
	plot_axis_x(&p, msg_format(MSG_claims_share));
	plot_limit_x(&p, 1, msg_format(MSG_claims_declared));
	for (int i = 0; i < c->n && at < n; i++)
		if (!isnan(declared_of(&c->list[i])))
			dot(&p, &c->list[i], n - at++ - 0.5);
	plot_end(&p);
	str_add(h->out, "</figure>\n");
	html_section_end(h);
}

/* --- statement by statement ------------------------------------------------------------------ */

static void row(struct html *h, const struct claim *x, bool run)
{
	html_row(h);
	html_cell(h, words_shown(x->s->id));
	html_cell(h, claims_said(x->s));
	html_cell(h, words_shown(x->s->who));
	html_cell(h, claims_threshold(x->s));
	if (run) {
		html_number(h, x->rate.value, x->tested ? claims_measured(x) : "-");
		html_number(h, x->shortfall,
		            isfinite(x->shortfall) ? tmpf("%.1f %%", 100 * fmax(x->shortfall, 0))
		                                   : "-");
	}
	str_add(h->out, "<td>");
	for (int i = 0; i < x->n_why; i++) {
		str_add(h->out, i ? "<br>" : "");
		markup_text(h->out, words_shown(x->why[i]));
	}
	str_addc(h->out, '\n');
}

static const enum msg headings[] = {[CLAIM_REFUTED] = MSG_claims_head_refuted,
                                    [CLAIM_CONTRADICTS] = MSG_claims_head_contradict,
                                    [CLAIM_CONFIRMED] = MSG_claims_head_confirmed,
                                    [CLAIM_UNTESTABLE] = MSG_claims_head_untestable};

static void verdict_section(struct html *h, const struct claims *c, enum claim_verdict verdict)
{
	static const enum msg with[] = {MSG_claims_id,        MSG_claims_statement,
	                                MSG_claims_who,       MSG_claims_declared,
	                                MSG_claims_measured,  MSG_claims_short,
	                                MSG_claims_arithmetic},
			      without[] = {MSG_claims_id, MSG_claims_statement, MSG_claims_who,
	                                   MSG_claims_declared, MSG_claims_arithmetic};
	const struct html_table t = {
		.id = arena_strf(&h->arena, "%s-table", claim_verdict_name(verdict)),
		.caption = MSG_claims_caption,
		.columns = c->run ? with : without,
		.numbers = c->run ? "ttttnnt" : "ttttt",
		.n_columns = c->run ? 7 : 5,
		.filter = c->count[verdict] >= FILTER_AT};
	int n = 0, unknown;
	const char *rest;

	html_section(h, claim_verdict_name(verdict), headings[verdict]);
	for (int i = 0; i < c->n; i++) {
		if (c->list[i].verdict != verdict || !c->list[i].quantity)
			continue;
		if (!n++)
			html_table_begin(h, &t);
		row(h, &c->list[i], c->run != NULL);
	}
	if (n)
		html_table_end(h);
	rest = claims_unknown(c, &unknown);
	if (verdict == CLAIM_UNTESTABLE && unknown)
		html_note(h, rest);
	html_section_end(h);
}

enum status claims_html(struct str *out, const struct claims *c, struct error *err)
{
	struct str sections = {0};
	struct html h = {.out = &sections};
	enum status st = html_page_begin(out, claims_head(c), err);

	plot(&h, c);
	for (int k = 0; k < CLAIM_VERDICTS; k++)
		if (c->count[claims_order[k].verdict])
			verdict_section(&h, c, claims_order[k].verdict);
	html_contents(&h, out);
	str_add(out, "<main>\n");
	head(out, c);
	str_addn(out, str_text(&sections), sections.len);
	str_add(out, "</main>\n<script type=\"application/json\" id=\"names\">[]</script>\n");
	str_release(&sections);
	arena_release(&h.arena);
	return st == ST_OK ? html_page_end(out, err) : st;
}
