/* What a customer takes although it fails or was not tested: with what it is without
 * the waiver. */
#include <string.h>

#include "base/msg.h"
#include "report/html.h"
#include "report/waived.h"

static void row(struct html *h, const struct waiver_result *w)
{
	struct str what = {0}, claim = {0}, why = {0};

	waiver_what(&what, &w->waiver);
	waiver_claim(&claim, h->card, w);
	waiver_why(&why, &w->waiver);
	html_row(h);
	html_cell(h, str_text(&what));
	html_cell(h, str_text(&claim));
	html_cell(h, str_text(&why));
	str_addc(h->out, '\n');
	str_release(&what);
	str_release(&claim);
	str_release(&why);
}

void html_view_waivers(struct html *h)
{
	static const enum msg columns[] = {MSG_waiver_column, MSG_waiver_found, MSG_waiver_reason};
	const struct html_table t = {"all-waivers", MSG_waiver_caption, columns, "ttt", 3, false};

	if (!h->card->n_waivers)
		return;
	html_section(h, "waivers", MSG_waiver_heading);
	html_table_begin(h, &t);
	for (int i = 0; i < h->card->n_waivers; i++)
		row(h, &h->card->waivers[i]);
	html_table_end(h);
	html_section_end(h);
}
