/* How a figure is computed, in the language that is spoken. */
#ifndef ASSAY_REPORT_FORMULAS_H
#define ASSAY_REPORT_FORMULAS_H

/* `formula` as the metric has it; the same where it has no Chinese twin, or NULL. */
const char *formula_said(const char *formula);

#endif
