/* What every fuzz target defines, and what some share. */
#ifndef ASSAY_TESTS_FUZZ_H
#define ASSAY_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "assay/probe.h"

/* A crash, a leak or a broken promise (abort) is a fault; any answer else is fine. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The input as a file that is there until the next one: its path. */
const char *fuzz_file(const uint8_t *data, size_t len);
/* The same under a name of its own in a folder of this process, for readers that go by it;
 * "a/b" is in a folder of its own. At most 32 names; the path holds until the next call. */
const char *fuzz_folder(void);
const char *fuzz_named(const char *name, const void *data, size_t len);
/* A run.json in that folder. */
void fuzz_run_json(void);
/* A metric of any built probe. */
const struct metric *fuzz_metric(const char *name);
const struct metric_set *fuzz_metrics(void);
void fuzz_promise(int holds, const char *what);

#endif
