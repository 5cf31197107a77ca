/* What a person is told of many nodes. A thousand nodes with one trouble would say it a
 * thousand times: of one kind of trouble the first lines are said, each text once; the
 * others are counted, and the count is said with some of their nodes when a phase ends.
 * Nothing is lost with them: all of it is in the journal. */
#ifndef ASSAY_COORD_VOICE_H
#define ASSAY_COORD_VOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define VOICE_SAID  3   /* texts of one kind that are said */
#define VOICE_KINDS 200 /* more are one kind together */
#define VOICE_NAMES 4   /* nodes named with a count */

struct voice_kind {
	const char *what;
	const char *said[VOICE_SAID]; /* without what differs from node to node */
	int n_said;
	int64_t more; /* not said */
	int nodes;    /* that they are of */
	uint64_t *is_of;
	const char *names[VOICE_NAMES];
};

/* Zeroed but for the first three. */
struct voice {
	void (*tell)(void *arg, const char *text);
	void *arg;
	int count; /* of nodes */
	struct arena arena;
	struct voice_kind *kinds;
	int n_kinds;
};

/* A line about a node: `what` kind of trouble it is, in words that go before a count;
 * `text` what it says, equal on all nodes that have the same; `line` the whole of it. */
void voice_say(struct voice *v, const char *what, int node, const char *name, const char *text,
               const char *line);
/* Says the counts there are by now; they begin again. */
void voice_flush(struct voice *v);
void voice_release(struct voice *v);

#endif
