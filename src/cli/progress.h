/* What a person sees while a run goes on: on a terminal one line that is
 * rewritten, elsewhere one plain line per unit. On stderr, so that stdout
 * stays the scorecard's. */
#ifndef ASSAY_CLI_PROGRESS_H
#define ASSAY_CLI_PROGRESS_H

#include <stdbool.h>

#include "coord/coord.h"

struct progress_view {
	bool tty;
	int width;
	bool line_open; /* an unfinished line stands on the terminal */
	double shown_at;
	int64_t logged_ns; /* off a terminal: the last line, of whatever kind */
};

void progress_init(struct progress_view *view);
void progress_event(void *view, const struct coord_event *event);
/* A line from elsewhere; a transient one is redrawn on a terminal, and elsewhere only
 * written after a minute without a line. */
void progress_line(struct progress_view *view, const char *text, bool transient);
/* Clears the open line. */
void progress_end(struct progress_view *view);

#endif
