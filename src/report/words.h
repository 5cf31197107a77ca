/* How findings are put into words; shared by the writers meant for people.
 * All results are appended to a buffer; nothing is owned. */
#ifndef ASSAY_REPORT_WORDS_H
#define ASSAY_REPORT_WORDS_H

#include "assay/finding.h"
#include "base/str.h"

/* "n017 card 3 (GPU-1b2c…, 0000:8a:00.0)", "/data", "n001 - n002". What comes
 * from outside is made printable. */
void words_subject(struct str *out, const struct subject *subject, const char *node);
/* "PASS", "not measured": for the verdict column. */
const char *words_verdict(enum verdict verdict);
/* "gemm_fp16_tflops 201 TFLOP/s (limit >= 268 TFLOP/s)" with whatever of it
 * is known. */
void words_figure(struct str *out, const struct finding *f);
/* Plural of the unit of coverage: "cards", "nodes", "rules". */
const char *words_subjects(const char *kind);
/* 1234567 -> "1,234,567". */
const char *words_count(int64_t count);

/* Appends `text` wrapped at `width` columns: the first line begins where the
 * caller stands (`column`), later ones at `indent`. Ends with a newline. */
void words_wrap(struct str *out, const char *text, int column, int indent, int width);
/* Columns a text takes on a terminal. */
int words_columns(const char *text);

#endif
