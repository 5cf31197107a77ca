/* Work that may hang in a driver, in a thread of its own with a limit of time. */
#ifndef ASSAY_BENCH_LIMITED_H
#define ASSAY_BENCH_LIMITED_H

#include <stdint.h>

#include "base/error.h"

/* Returns ST_OK or what is in err. */
typedef enum status limited_work(void *arg, struct error *err);

/* Waits for the work, by the system's clock. ST_TIMEOUT: it is not done by then and
 * its thread is left behind, where it may use `arg` until the process ends: what it
 * was given belongs to an arena that lives as long. */
enum status limited_run(limited_work *work, void *arg, int64_t limit_ns, struct error *err);

#endif
