/* The report as one HTML file that needs nothing else: it is mailed, printed and put
 * into a contract's folder. Every chart is an SVG made here and every figure stands
 * in the text too; the script only sorts, filters and shows values on hover. */
#include "report/html.h"

#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/msg.h"
#include "report/head.h"
#include "report/html_page.h"
#include "report/report_writers.h"
#include "report/words.h"

/* --- sections ------------------------------------------------------------------- */

void html_section(struct html *h, const char *id, enum msg title)
{
	str_addf(h->out, "<section id=\"%s\" aria-labelledby=\"%s-title\">\n<h2 id=\"%s-title\">",
	         id, id, id);
	markup_text(h->out, msg_format(title));
	str_add(h->out, "</h2>\n");
	if (h->n_entries < (int)(sizeof(h->entries) / sizeof(*h->entries)))
		h->entries[h->n_entries++] =
			(struct html_entry){id, arena_str(&h->arena, msg_format(title))};
}

void html_section_end(struct html *h)
{
	str_add(h->out, "</section>\n");
}

void html_note(struct html *h, const char *text)
{
	str_add(h->out, "<p class=\"note\">");
	markup_text(h->out, text);
	str_add(h->out, "</p>\n");
}

/* --- tables ------------------------------------------------------------------------ */

void html_table_begin(struct html *h, const struct html_table *t)
{
	if (t->filter) {
		str_addf(h->out, "<label class=\"filter\" hidden>");
		markup_text(h->out, msg_format(MSG_html_filter));
		str_addf(h->out, " <input type=\"search\" data-for=\"%s\"></label>\n", t->id);
	}
	str_addf(h->out, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
	markup_text(h->out, msg_format(t->caption));
	str_addf(h->out, "\"><table id=\"%s\" class=\"sortable\"><caption>", t->id);
	markup_text(h->out, msg_format(t->caption));
	str_add(h->out, "</caption><thead><tr>");
	for (int i = 0; i < t->n_columns; i++) {
		str_addf(h->out, "<th scope=\"col\"%s>",
		         t->numbers[i] == 'n' ? " class=\"n\"" : "");
		markup_text(h->out, msg_format(t->columns[i]));
		str_add(h->out, "</th>");
	}
	str_add(h->out, "</tr></thead><tbody>\n");
}

/* The end tags of cells and rows may be left out, and a table has many. */
void html_row(struct html *h)
{
	str_add(h->out, "<tr>");
}

void html_cell(struct html *h, const char *text)
{
	str_add(h->out, "<td>");
	markup_text(h->out, text);
}

void html_number(struct html *h, double value, const char *shown)
{
	str_add(h->out, "<td class=\"n\"");
	if (isfinite(value))
		str_addf(h->out, " data-v=\"%.6g\"", value);
	str_addc(h->out, '>');
	markup_text(h->out, shown);
}

void html_table_end(struct html *h)
{
	str_add(h->out, "</tbody></table></div>\n");
}

/* A shape for each, so that colour is not all that tells them apart. */
void html_verdict(struct str *out, enum verdict verdict)
{
	static const char *const shapes[VERDICTS] = {
		[VERDICT_PASS] = "&#10003;", [VERDICT_WARN] = "!", [VERDICT_FAIL] = "&#10007;"};

	str_addf(out, "<span class=\"v %s\"><i aria-hidden=\"true\">%s</i>%s</span>",
	         verdict_name(verdict), shapes[verdict] ? shapes[verdict] : "&#9675;",
	         words_verdict(verdict));
}

/* --- what views ask for --------------------------------------------------------------- */

const char *html_who(struct html *h, const struct subject *subject, const char *node)
{
	struct str s = {0};
	const char *kept;

	words_subject(&s, subject, node);
	kept = arena_str(&h->arena, str_text(&s));
	str_release(&s);
	return kept;
}

static unsigned hash(const char *text)
{
	unsigned h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

static void names_grow(struct html *h)
{
	struct html_names *n = &h->names;
	int cap = n->cap ? 2 * n->cap : 256;
	const char **text = arena_array(&h->arena, (size_t)cap, sizeof(*text));

	if (n->n)
		memcpy(text, n->text, (size_t)n->n * sizeof(*text));
	n->text = text;
	n->cap = cap;
	n->slots = arena_array(&h->arena, 2 * (size_t)cap, sizeof(*n->slots));
	for (int i = 0; i < n->n; i++) {
		unsigned at = hash(text[i]);

		while (n->slots[at % (2u * (unsigned)cap)])
			at++;
		n->slots[at % (2u * (unsigned)cap)] = i + 1;
	}
}

int html_name(struct html *h, const struct subject *subject, const char *node)
{
	struct html_names *n = &h->names;
	struct str s = {0};
	unsigned at;
	int found;

	if (n->n == n->cap)
		names_grow(h);
	words_subject(&s, subject, node);
	for (at = hash(str_text(&s)); (found = n->slots[at % (2u * (unsigned)n->cap)]); at++)
		if (strcmp(n->text[found - 1], str_text(&s)) == 0)
			break;
	if (!found) {
		n->text[n->n] = arena_str(&h->arena, str_text(&s));
		found = n->slots[at % (2u * (unsigned)n->cap)] = ++n->n;
	}
	str_release(&s);
	return found - 1;
}

/* Within a script element: no "</" may come of a name. */
static void add_names(struct html *h, struct str *page)
{
	struct str list = {0};
	struct json_out j = json_writer(&list, 0);

	json_array_begin(&j, NULL);
	for (int i = 0; i < h->names.n; i++)
		json_put_string(&j, NULL, h->names.text[i]);
	json_array_end(&j);
	str_add(page, "<script type=\"application/json\" id=\"names\">");
	for (const char *p = list.data; *p; p++)
		if (*p == '<')
			str_add(page, "\\u003c");
		else
			str_addc(page, *p);
	str_add(page, "</script>\n");
	str_release(&list);
}

/* --- the page ----------------------------------------------------------------------------- */

static enum status page_begin(struct html *h, struct str *page, struct error *err)
{
	const struct scorecard *c = h->card;
	struct str verdict = {0};
	enum status st;

	words_overall_waived(&verdict, c->overall, overall_name(c->overall), c->waivers_used);
	st = html_page_begin(page,
	                     say(MSG_html_title, str_text(&verdict), c->vendor ? c->vendor : "",
	                         c->started ? tmpf("%.10s", c->started) : ""),
	                     err);
	str_release(&verdict);
	return st;
}

void html_contents(const struct html *h, struct str *page)
{
	str_add(page, "<nav aria-label=\"");
	markup_text(page, msg_format(MSG_html_contents));
	str_add(page, "\"><ul>");
	for (int i = 0; i < h->n_entries; i++) {
		str_addf(page, "<li><a href=\"#%s\">", h->entries[i].id);
		markup_text(page, h->entries[i].title);
		str_add(page, "</a>");
	}
	str_add(page, "</ul></nav>\n");
}

static void foot(struct html *h, struct str *page)
{
	const struct scorecard *c = h->card;

	str_add(page, "<footer>");
	for (int i = 0; i < c->n_evidence; i++) {
		markup_text(page, head_evidence(&c->evidence[i]));
		str_add(page, "<br>");
	}
	markup_text(page,
	            say(MSG_digest, c->run_digest ? c->run_digest : msg_format(MSG_no_digest)));
	if (c->profile_sha256) {
		str_add(page, "<br>");
		markup_text(page, say(MSG_html_profile_digest, c->profile ? c->profile : "",
		                      c->profile_sha256));
	}
	str_add(page, "<br>");
	markup_text(page, say(MSG_head_version, c->version ? c->version : "?"));
	str_add(page, "</footer>\n");
}

enum status report_html(struct str *out, const struct scorecard *card,
                        const struct report_options *options, struct error *err)
{
	struct str sections = {0};
	struct html h = {.out = &sections, .card = card, .o = options};
	enum status st;

	groups_troubles(&h.troubles, &h.arena, card);
#define VIEW(name) html_view_##name(&h);
#include "report/html_views.def"
#undef VIEW
	st = page_begin(&h, out, err);
	html_contents(&h, out);
	str_add(out, "<main>\n");
	str_addn(out, str_text(&sections), sections.len);
	str_add(out, "</main>\n");
	foot(&h, out);
	add_names(&h, out);
	if (st == ST_OK)
		st = html_page_end(out, err);
	str_release(&sections);
	arena_release(&h.arena);
	return st;
}
