/* The frame of every HTML page Assay writes: head with the style, end with the script.
 * A page has a #verdict to skip to and a #names list for its charts. */
#ifndef ASSAY_REPORT_HTML_PAGE_H
#define ASSAY_REPORT_HTML_PAGE_H

#include "base/error.h"
#include "base/str.h"

/* Up to the beginning of the body. */
enum status html_page_begin(struct str *out, const char *title, struct error *err);
enum status html_page_end(struct str *out, struct error *err);

#endif
