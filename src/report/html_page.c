/* Style and script are part of the page: nothing is fetched, and the page says that
 * nothing may be. */
#include "report/html_page.h"

#include "base/config.h"
#include "base/msg.h"
#include "report/markup.h"

static enum status add_file(struct str *out, const char *name, struct error *err)
{
	struct str where = {0};
	enum status st = config_read(out, &where, NULL, name, err);

	str_release(&where);
	return st;
}

enum status html_page_begin(struct str *out, const char *title, struct error *err)
{
	enum status st;

	str_addf(out,
	         "<!DOCTYPE html>\n<html lang=\"%s\"><head><meta charset=\"utf-8\">"
	         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
	         "<meta name=\"color-scheme\" content=\"light dark\">"
	         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	         "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:\">\n<title>",
	         msg_format(MSG_html_language));
	markup_text(out, title);
	str_add(out, "</title>\n<style>\n");
	st = add_file(out, "reports/report.css", err);
	str_add(out, "</style></head><body>\n<a class=\"skip\" href=\"#verdict\">");
	markup_text(out, msg_format(MSG_html_skip));
	str_add(out, "</a>\n");
	return st;
}

enum status html_page_end(struct str *out, struct error *err)
{
	enum status st;

	str_add(out, "<div id=\"tip\" role=\"status\" hidden></div>\n<script>\n");
	st = add_file(out, "reports/report.js", err);
	str_add(out, "</script></body></html>\n");
	return st;
}
