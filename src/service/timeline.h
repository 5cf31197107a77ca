/* From beats to stretches of time: what one observer can vouch for about one node,
 * and where the observers of a node are put together.
 *
 * What an agent's silence means depends on what came after it. The same boot: only
 * the watch was away, so nothing is known. Another boot without a farewell: the
 * node fell over. A farewell and another boot: nobody can tell a reboot from a
 * week of rest, so nothing is known either, unless somebody looked from outside. */
#ifndef ASSAY_SERVICE_TIMELINE_H
#define ASSAY_SERVICE_TIMELINE_H

#include "service/heartbeat.h"

/* Contracts count an outage from a minute of it (service-level texts of clouds). */
#define DOWN_AFTER_NS (60LL * 1000000000)
/* After a boot the agent should be back; later than this it was not started. */
#define BOOT_MOST_NS (600LL * 1000000000)
/* The two clocks may drift apart by so much between two beats; more is a step. */
#define STEP_NS (2LL * 1000000000)

/* A clock that says less has not been set yet (2020): its beats are passed over. */
#define UNSET_NS (1577836800LL * 1000000000)

struct span {
	int64_t from_ns, to_ns; /* wall time, to exclusive */
	enum node_state state;
};

/* In order of time, without overlap, once spans_settle was called. */
struct spans {
	struct span *list;
	int count, cap;
};

void spans_add(struct spans *s, int64_t from_ns, int64_t to_ns, enum node_state state);
/* Sorts; where stretches overlap (a clock was set back, a log was given twice) the
 * worst of them stands: down, unknown, degraded, up. Equal neighbours become one. */
void spans_settle(struct spans *s);
void spans_release(struct spans *s);

/* One observer's beats about one node, in the order of the file. */
struct observed {
	char *node, *observer;
	bool outside; /* observer is another machine */
	struct spans spans;
	int64_t first_ns, last_ns; /* of any beat */
	int64_t period_ns;         /* as its last start line says; 10 s before any */
	int steps;                 /* clock steps */
	int boots;                 /* changes of the boot id: of the node for its agent */
	int starts, stops;
	int64_t lost;         /* beats that could not be written */
	int64_t boot_down_ns; /* down by another boot alone */
	/* The beat before. */
	bool begun;
	int64_t wall_ns, mono_ns;
	enum beat_kind kind;
	enum node_state state;
	char boot_id[64];
};

void observed_beat(struct observed *o, const struct heartbeat *beat);
void observed_release(struct observed *o);

/* All that is known of one node from `first_ns` to `last_ns`, without holes: what
 * nobody vouches for is unknown. Outages (down) less than one period apart are
 * one; what is shorter than a minute is none. *blips counts those. */
void timeline_join(struct spans *out, const struct observed *const *of_node, int count,
                   int64_t first_ns, int64_t last_ns, int *blips);

#endif
