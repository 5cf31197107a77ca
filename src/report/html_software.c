/* What software the nodes have, one row a figure about the environment: what most of
 * them say, how many, and who says otherwise; and under it what a gate found when the run
 * was held against its baselines. */
#include "base/msg.h"
#include "report/html.h"
#include "report/readiness.h"
#include "run/gated.h"

static void draw(struct html *h, const struct readiness_row *row)
{
	html_row(h);
	html_cell(h, row->name);
	html_cell(h, row->text);
	html_number(h, row->alike, tmpf("%d / %d", row->alike, row->nodes));
	html_cell(h, row->others);
	str_addc(h->out, '\n');
}

static void software(struct html *h, const struct readiness *r)
{
	static const enum msg columns[] = {MSG_html_figure, MSG_html_software_most,
	                                   MSG_html_software_alike, MSG_html_software_others};
	const struct html_table t = {
		"software-of-nodes", MSG_html_software_table, columns, "ttnt", 4, true};

	html_note(h, msg_format(MSG_html_software_note));
	html_table_begin(h, &t);
	/* What tells something first: most of a run that left jobs out does not. */
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < r->n; i++)
			if (r->rows[i].tells == (pass == 0))
				draw(h, &r->rows[i]);
	html_table_end(h);
}

/* Failures red, what cannot be told as open, the rest plain. */
static void draw_line(struct html *h, const struct gated_line *l)
{
	html_row(h);
	html_cell(h, gated_what(l));
	html_cell(h, l->name);
	str_add(h->out, "<td>");
	if (gated_fails(l) || gated_is_open(l)) {
		html_verdict(h->out, gated_fails(l) ? VERDICT_FAIL : VERDICT_INCONCLUSIVE);
		str_addc(h->out, ' ');
	}
	markup_text(h->out, gated_text(l));
	str_add(h->out, "</td>\n");
}

static void gate(struct html *h, const struct gated *g)
{
	static const enum msg columns[] = {MSG_gated_what, MSG_html_figure, MSG_gated_text};
	const struct html_table t = {"gate", MSG_gated_table, columns, "ttt", 3, true};
	struct str words = {0};

	str_add(h->out, "<h3>");
	markup_text(h->out, msg_format(MSG_gated_heading));
	str_add(h->out, "</h3>\n");
	gated_words(&words, g);
	html_note(h, str_text(&words));
	str_release(&words);
	if (g->n_lines) {
		html_table_begin(h, &t);
		for (int i = 0; i < g->n_lines; i++)
			draw_line(h, &g->lines[i]);
		html_table_end(h);
	}
	if (g->left_out)
		html_note(h, say(MSG_gated_more, tmpf("%lld", (long long)g->left_out)));
}

void html_view_software(struct html *h)
{
	const struct gated *g = h->card->gated;
	struct readiness r;

	readiness_find(&r, &h->arena, h->card);
	if (!r.n && !g)
		return;
	html_section(h, "software", MSG_html_software);
	if (g)
		gate(h, g);
	if (r.n)
		software(h, &r);
	html_section_end(h);
}
