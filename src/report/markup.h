/* Text from outside inside markup. */
#ifndef ASSAY_REPORT_MARKUP_H
#define ASSAY_REPORT_MARKUP_H

#include "base/str.h"

/* For HTML and XML, also within quotes: escaped and printable; NULL adds nothing. */
void markup_text(struct str *out, const char *text);
/* For Markdown (CommonMark, and cells of its tables): on one line, nothing in it
 * means anything. */
void markdown_text(struct str *out, const char *text);

#endif
