/* Between journal_open.c, which makes or checks the directory, and journal.c,
 * which writes: an open, locked descriptor and where to go on. */
#ifndef ASSAY_RUN_JOURNAL_OPEN_H
#define ASSAY_RUN_JOURNAL_OPEN_H

#include "run/journal.h"

struct journal_place {
	int64_t size, lines, readings; /* of whole lines */
	int64_t torn_bytes;            /* behind them: dropped */
	const char *digest;            /* of the last whole line */
};

/* Both take the descriptor over, also on failure. */
enum status journal_begin_new(struct journal **out, int fd, const char *path,
                              const char *run_sha256, struct error *err);
enum status journal_begin_resumed(struct journal **out, int fd, const char *path,
                                  const struct journal_place *place, const char *version,
                                  struct error *err);

#endif
