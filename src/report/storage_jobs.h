/* The jobs of a training run on a storage path, in a line each. */
#ifndef ASSAY_REPORT_STORAGE_JOBS_H
#define ASSAY_REPORT_STORAGE_JOBS_H

#include "base/str.h"
#include "report/storage_span.h"

/* Where on a page lines go. */
struct page_part {
	struct str *out;
	int indent, width;
};

/* Nothing for jobs of which no node measured anything. */
void job_lines(const struct page_part *to, struct span path);

#endif
