/* What assay and a guard say to each other. The guard is started as
 *
 *     EXE --guard DEADLINE GRACE KILL_WAIT N SCRATCH… PROGRAM ARGV0 ARGV…
 *
 * (seconds; N scratch directories) with the descriptors below. Both are the
 * same program, so words are structs by value, one a packet. */
#ifndef ASSAY_BASE_GUARD_H
#define ASSAY_BASE_GUARD_H

#include <stdbool.h>

enum guard_fd {
	GUARD_LINK,    /* packets both ways; its end means the other side is gone */
	GUARD_OUT,     /* the child's stdout, the same pipe as */
	GUARD_ERR,     /* the child's stderr; the guard complains there too */
	GUARD_CHANNEL, /* the child's lines */
	GUARD_REQUEST, /* becomes the child's stdin */
	GUARD_FDS,
};

enum guard_kind {
	GUARD_STARTED, /* the child runs */
	GUARD_ENDED,   /* nothing runs any more (or cannot be killed): all fields */
	GUARD_CLEANED, /* scratch removed, but for `left` directories */
};

struct guard_word {
	enum guard_kind kind;
	bool started, timed_out, stopped, unkillable;
	int exit_code, signal; /* as in struct proc_end */
	double seconds;
	int left;
};

/* assay's only word: one byte that means stop. */
#define GUARD_STOP 's'

#endif
