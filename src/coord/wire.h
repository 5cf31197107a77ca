/* What the ranks of a run say to each other: a letter, then what the row says.
 * Rank 0 leads; on its node it also measures, by messages to itself. Both sides
 * are of one version: another one is refused at the first word. */
#ifndef ASSAY_COORD_WIRE_H
#define ASSAY_COORD_WIRE_H

#include "assay/comm.h"
#include "base/json.h"

enum wire {
	/* A node to rank 0. */
	WIRE_HELLO = 'h',  /* JSON: who it is (coord/hello.h) */
	WIRE_PLAN = 'p',   /* JSON: its units, in the order of its plan */
	WIRE_LINE = 'l',   /* a reading, as the journal gets it */
	WIRE_WORK = 'w',   /* id of a unit that is done and whose lines came before */
	WIRE_RAW = 'r',    /* name, newline, content of a raw file */
	WIRE_OVER = 'o',   /* what it was told to do is done: the phase, or a pair's id */
	WIRE_BROKE = 'x',  /* JSON: its child of a unit in company did not end well, and why */
	WIRE_BEAT = 'b',   /* it lives; JSON: what it is at */
	WIRE_CLOCK = 'c',  /* answer to a ping: its number, wall clock in ns */
	WIRE_FAILED = 'f', /* it cannot take part: why, in words */
	WIRE_BYE = 'y',    /* it has ended in order */
	/* Rank 0 to a node. */
	WIRE_SETUP = 'S',  /* JSON: run.json, directory, name of the node */
	WIRE_STATES = 'U', /* JSON: what of its plan is left to do (--resume) */
	WIRE_PHASE = 'G',  /* run this phase */
	WIRE_CREW = 'C',   /* JSON: run this unit with others */
	WIRE_CANCEL = 'X', /* end the unit of that id */
	WIRE_PING = 'K',   /* a number */
	WIRE_ALIVE = 'B',  /* rank 0 lives; how many lines of the node are saved */
	WIRE_STOP = 'Q',   /* the run was interrupted: end what you do */
	WIRE_LEAVE = 'V',  /* rank 0 has judged: leave the world */
	WIRE_END = 'E',    /* all is done: WIRE_ALL_ALIVE, or some are lost */
	/* Both ways. */
	WIRE_TEXT = 't', /* JSON: from one child of a unit to another */
};

#define WIRE_ALL_ALIVE "all"

/* Sends text; what cannot be queued is an error of the transport. */
enum status wire_send(struct comm *comm, int to, enum wire kind, const char *text, size_t len,
                      struct error *err);
/* The same for a JSON text being made: closes its object, sends and releases. */
struct wire_json {
	struct str text;
	struct json_out j;
};
void wire_begin(struct wire_json *w);
enum status wire_end(struct wire_json *w, struct comm *comm, int to, enum wire kind,
                     struct error *err);

#endif
