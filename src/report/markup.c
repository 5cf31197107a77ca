/* Escaping, once for all writers of markup. */
#include "report/markup.h"

#include <string.h>

#include "report/words.h"

void markup_text(struct str *out, const char *text)
{
	struct str clean = {0};

	words_add(&clean, text);
	for (const char *p = str_text(&clean); *p; p++)
		switch (*p) {
		case '&':
			str_add(out, "&amp;");
			break;
		case '<':
			str_add(out, "&lt;");
			break;
		case '>':
			str_add(out, "&gt;");
			break;
		case '"':
			str_add(out, "&quot;");
			break;
		case '\'':
			str_add(out, "&#39;");
			break;
		default:
			str_addc(out, *p);
		}
	str_release(&clean);
}

void markdown_text(struct str *out, const char *text)
{
	struct str clean = {0};

	words_add(&clean, text);
	for (const char *p = str_text(&clean); *p; p++) {
		if (strchr("\\`*_{}[]<>()#+-.!|~&=:", *p))
			str_addc(out, '\\');
		str_addc(out, *p);
	}
	str_release(&clean);
}
