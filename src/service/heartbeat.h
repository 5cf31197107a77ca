/* The heartbeat log: what an observer saw of a node and when, one CSV line each,
 * appended and never rewritten. Each line ends with the SHA-256 of the line before
 * it, so that a log cannot be mended afterwards without its seals telling.
 *
 *   ts_utc,mono_s,node,observer,seq,boot_id,kind,gpus_ok,kernel_ms,xid,ecc,
 *   link_flaps,state,note,prev_sha256
 *
 * Both clocks stand on every line: wall time says when, the monotonic one whether
 * the wall clock was moved. A line whose node is its observer is the node's own
 * agent; any other is a look from outside. Counts are those since the last probe;
 * an empty cell is unknown, never 0. The first line of a file names the columns
 * and is the first link of the chain. */
#ifndef ASSAY_SERVICE_HEARTBEAT_H
#define ASSAY_SERVICE_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/sha256.h"

#define HEARTBEAT_ENDING ".heartbeat.csv"
#define HEARTBEAT_COLUMNS                                                                          \
	"ts_utc,mono_s,node,observer,seq,boot_id,kind,gpus_ok,kernel_ms,xid,ecc,link_flaps,"       \
	"state,note,prev_sha256"

/* start: the watch began, its note has "period_s=10"; beat; stop: it was ended on
 * purpose; lost: beats that could not be written (full disk), the worst state of
 * them; seal: a day is over, the digest on this line is the one of its last line. */
#define BEAT_KIND_LIST(X)                                                                          \
	X(START, "start")                                                                          \
	X(BEAT, "beat")                                                                            \
	X(STOP, "stop")                                                                            \
	X(LOST, "lost")                                                                            \
	X(SEAL, "seal")

enum beat_kind {
#define X(name, text) BEAT_##name,
	BEAT_KIND_LIST(X)
#undef X
		BEAT_KINDS
};

/* From good to bad, but unknown, which is neither. */
#define NODE_STATE_LIST(X)                                                                         \
	X(UP, "up")                                                                                \
	X(DEGRADED, "degraded") /* answers, with fewer cards, a lost link, errors */               \
	X(DOWN, "down")                                                                            \
	X(UNKNOWN, "unknown")

enum node_state {
#define X(name, text) NODE_##name,
	NODE_STATE_LIST(X)
#undef X
		NODE_STATES
};

const char *node_state_name(enum node_state state);

struct heartbeat {
	int64_t wall_ns, mono_ns;
	const char *node, *observer; /* names without comma, quote and control characters */
	int64_t seq;                 /* of the file, from 1 */
	const char *boot_id;
	enum beat_kind kind;
	enum node_state state;
	int64_t cards, xid, ecc, links; /* -1: unknown */
	double kernel_ms;               /* NaN: unknown */
	const char *note;               /* likewise; "" */
};

/* Whether a text may stand in a cell. */
bool heartbeat_word(const char *text);
/* Adds the line with its newline. */
void heartbeat_format(struct str *out, const struct heartbeat *beat, const char *prev);

/* What a file is besides its lines. */
struct heartbeat_file {
	int64_t lines; /* whole ones, the header too */
	int64_t torn;  /* bytes of a last line that never ended; they are left out */
	char head[SHA256_HEX];
};

/* Calls `take` for each line; texts of the beat live until it returns. Stops with
 * its status. A line that does not fit (foreign text, a wrong number, another
 * digest than that of the line before) is ST_PARSE or ST_CORRUPT with file and
 * line: evidence with a hole in its chain is none. */
typedef enum status heartbeat_take(void *arg, const struct heartbeat *beat, int64_t line,
                                   struct error *err);
enum status heartbeat_read(const char *path, struct heartbeat_file *file, heartbeat_take *take,
                           void *arg, struct error *err);

#endif
