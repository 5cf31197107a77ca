/* What a piece of delivered work costs: a table of its own, where a price was given. */
#include <string.h>

#include "base/msg.h"
#include "report/html.h"
#include "report/prices.h"

void html_view_prices(struct html *h)
{
	const struct price_list *list = &h->card->prices;
	struct str head = {0};

	if (!list->source)
		return;
	prices_head(&head, list);
	html_section(h, "prices", MSG_html_price);
	html_note(h, str_text(&head));
	if (!list->n)
		html_note(h, msg_format(MSG_price_nothing));
	str_add(h->out, list->n ? "<ul class=\"cells\">\n" : "");
	for (int i = 0; i < list->n; i++) {
		struct str what = {0}, value = {0};

		if (list->lines[i].fallback)
			continue;
		prices_what(&what, list, &list->lines[i]);
		prices_value(&value, list, &list->lines[i]);
		str_add(h->out, "<li>");
		markup_text(h->out, str_text(&what));
		str_add(h->out, ": <b>");
		markup_text(h->out, str_text(&value));
		str_add(h->out, "</b></li>\n");
		str_release(&what);
		str_release(&value);
	}
	str_add(h->out, list->n ? "</ul>\n" : "");
	html_section_end(h);
	str_release(&head);
}
