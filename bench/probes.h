/* Checking the table of probes; the table itself is in assay/probe.h. */
#ifndef ASSAY_BENCH_PROBES_H
#define ASSAY_BENCH_PROBES_H

#include "assay/probe.h"
#include "base/error.h"

/* Whether one probe is complete and without contradictions: required hooks,
 * names in lower_snake_case, no metric or parameter twice, a formula for each
 * metric, defaults inside their row's range. ST_INTERNAL with what is wrong. */
enum status probe_check(const struct probe *probe, struct error *err);

/* probe_check of all, and that no two probes share a name or a metric. */
enum status probe_table_check(const struct probe *const *table, struct error *err);

#endif
