/* Who else is on a path. Every node of a run leaves a token in its own directory
 * below it: what is shared shows the others'. And two runs at the same time
 * would measure each other. */
#ifndef ASSAY_BENCH_STORAGE_TOKEN_H
#define ASSAY_BENCH_STORAGE_TOKEN_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* `scratch` is <path>/.assay-<run>/<node>, as the runner makes it. Writes
 * SCRATCH/token, naming run and node, to stable storage. */
enum status storage_token_put(const char *scratch, struct error *err);

/* Other nodes of this run whose tokens lie beside `scratch`: their number, and in
 * *names their names with commas between (arena). Tokens of another run and of a
 * copied directory, where the name inside is not the directory's, do not count. */
int storage_token_others(struct arena *arena, const char *scratch, const char **names);

/* Whether the token of that node of this run lies beside `scratch`. */
bool storage_token_seen(const char *scratch, const char *node);

/* Another run (another ".assay-" directory) whose lock on this path is held and
 * whose directory is older than ours, so that of two only the later gives way:
 * its directory's name (arena). NULL: none seen; a file system may keep locks to
 * each node. */
const char *storage_other_run(struct arena *arena, const char *scratch);

#endif
