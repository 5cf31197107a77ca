/* The writers behind report_formats, one file each. */
#ifndef ASSAY_REPORT_WRITERS_H
#define ASSAY_REPORT_WRITERS_H

#include "report/report.h"

#define WRITER(name)                                                                               \
	enum status report_##name(struct str *out, const struct scorecard *card,                   \
	                          const struct report_options *options, struct error *err)
WRITER(terminal);
WRITER(json);
WRITER(csv);
WRITER(html);
WRITER(markdown);
WRITER(junit);
#undef WRITER

#endif
