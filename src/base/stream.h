/* What a child writes: kept up to a limit, always drained, so that a child
 * that floods us neither blocks nor fills our memory. */
#ifndef ASSAY_BASE_STREAM_H
#define ASSAY_BASE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* Text kept from a stream: beginning and end, as causes stand in either. */
struct capture {
	size_t limit; /* bytes kept, half of them from the end */
	struct str head, tail;
	uint64_t total;
};

void capture_add(struct capture *c, const char *data, size_t len);
/* Moves what was kept to *out, with a line that says how much is missing. */
void capture_finish(struct capture *c, struct str *out);

/* Lines out of a stream. */
struct liner {
	size_t limit; /* longest line, bytes; longer ones are dropped whole */
	void (*on_line)(void *arg, const char *line, size_t len); /* without newline, NUL added */
	void *arg;
	struct str line;
	bool dropping;
	int dropped; /* lines */
};

void liner_add(struct liner *l, const char *data, size_t len);
void liner_finish(struct liner *l); /* hands over a last line without newline */

enum drain { DRAIN_MORE, DRAIN_EMPTY, DRAIN_END };

/* Reads a non-blocking descriptor, at most `budget` bytes, into `take`.
 * MORE: the budget is used up; EMPTY: nothing there now; END: closed. */
enum drain stream_drain(int fd, size_t budget,
                        void (*take)(void *arg, const char *data, size_t len), void *arg);

#endif
