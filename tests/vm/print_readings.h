/* What a probe said, for the judges of machines: lines of metric, subject, outcome,
 * value or "-", reason code or "-", text, params, with tabs between. */
#ifndef ASSAY_TESTS_PRINT_READINGS_H
#define ASSAY_TESTS_PRINT_READINGS_H

#include "tests/probes/probe_harness.h"

#include <stdio.h>

static inline void print_readings(const struct harness *h)
{
	for (int i = 0; i < h->n_readings; i++) {
		const struct reading *r = &h->readings[i];
		bool number = r->value_kind == VALUE_NUMBER;

		printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r->metric, r->subject.id,
		       outcome_name(r->outcome), number ? tmpf("%.9g", r->value) : "-",
		       r->reason.code ? r->reason.code : "-", r->reason.text ? r->reason.text : "-",
		       r->params ? r->params : "{}");
	}
}

#endif
