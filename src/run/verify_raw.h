/* Raw samples: whether the files the readings name are what was written. */
#ifndef ASSAY_RUN_VERIFY_RAW_H
#define ASSAY_RUN_VERIFY_RAW_H

#include "run/rundir.h"

/* What is wrong with the first bad file, from the arena of the run; NULL if all
 * are there with their size and digest. */
const char *raw_trouble(struct rundir *run);

#endif
