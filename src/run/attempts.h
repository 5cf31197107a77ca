/* Between rundir.c and attempts.c: the place of a run's units of work. */
#ifndef ASSAY_RUN_ATTEMPTS_H
#define ASSAY_RUN_ATTEMPTS_H

#include "base/arena.h"

struct works;

/* Empty; filled by the first work_is_open. Lives as long as the arena. */
struct works *works_new(struct arena *arena);

#endif
