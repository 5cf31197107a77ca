/* The plan of a run in words, before it starts. */
#ifndef ASSAY_CLI_PLAN_TEXT_H
#define ASSAY_CLI_PLAN_TEXT_H

#include <stdio.h>

#include "cli/run_setup.h"

/* Of this node. */
void plan_print(FILE *to, const struct run_setup *s);
/* Of a whole cluster of nodes like the one that was planned for; `all_pairs`: no
 * sample. */
void plan_print_cluster(FILE *to, const struct run_setup *s, bool all_pairs);

#endif
