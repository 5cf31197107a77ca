/* Inside the leader (coord/cluster.h): the table of nodes, and who works together. */
#ifndef ASSAY_COORD_LEADER_H
#define ASSAY_COORD_LEADER_H

#include "coord/card_names.h"
#include "coord/cluster.h"
#include "coord/hello.h"
#include "coord/keeper.h"
#include "coord/voice.h"
#include "coord/wire.h"
#include "stats/together.h"

#define METRICS_MAX 128
#define PINGS       16

/* A unit of a node's plan, as far as it matters to who leads. */
struct member_unit {
	const struct probe *probe;
	const char *subject;
	bool named, run, over;
	int attempt;
	double seconds;
	char work[13];
	uint64_t seen[METRICS_MAX / 64]; /* metrics that came */
};

struct member {
	const char *name;
	struct identity id;
	bool said_hello, planned, busy, gone, lost;
	int64_t heard_ns, heard_wall_ns;
	int64_t until_ns; /* of what it is busy with */
	struct member_unit *units;
	int n_units;
	double seconds;
	int64_t bytes;
	struct card_names cards;
	int64_t lines;
	char doing[64];
	double done;
	/* Its clock and ours: the last questions, in turn. */
	struct ping pings[PINGS];
	int n_pings;
	bool clock_told;   /* it was compared with the first node's */
	struct crew *crew; /* it works in */
};

enum leader_stage {
	LEAD_HELLO,
	LEAD_PLAN,
	LEAD_READY,
	LEAD_PHASE,
	LEAD_CREWS,
	LEAD_END,
	LEAD_OVER
};

struct leader {
	const struct cluster_options *o;
	struct cluster_result *result;
	struct comm *comm;
	struct arena arena;
	struct member *members;
	int count;
	enum leader_stage stage;
	int phase; /* of plan_phases */
	int64_t started_ns, stage_ns, alive_ns, shown_ns, stopped_ns;
	int64_t turn_ns; /* of the last look at the nodes */
	struct keeper keeper;
	struct voice voice;
	double phase_s;      /* that the slowest node needs for it, by its plan */
	struct crews *crews; /* of the phase */
	enum status end;     /* how it ends */
	struct error *err;   /* … and why */
};

/* --- members.c ------------------------------------------------------------------- */

void member_take(struct leader *l, int rank, const void *bytes, size_t len);
/* Out of the run, for this reason; what it owes is said to be lost. */
void member_lose(struct leader *l, struct member *m, const char *why);
/* What to add to our wall clock to get the node's, in seconds; NaN: not known yet. */
double member_offset_s(const struct member *m, double *error_s);
/* Whether all that are left are waiting for orders. */
bool members_idle(const struct leader *l);
int members_left(const struct leader *l);
/* Gives an order that is done within `seconds`. */
void member_order(struct leader *l, struct member *m, enum wire kind, const char *text, size_t len,
                  double seconds);
/* A line for the journal, made here. */
void leader_store(struct leader *l, const char *line, size_t len);
void leader_say(struct leader *l, const char *text);
/* About a node, and maybe about many: see coord/voice.h. */
void leader_warn(struct leader *l, const struct member *m, const char *what, const char *text,
                 const char *line);

/* --- show.c ----------------------------------------------------------------------- */

/* Where the run stands, for a line that is redrawn; short-lived. NULL: nothing to say. */
const char *leader_show(const struct leader *l);

/* --- crews.c ---------------------------------------------------------------------- */

/* All that nodes do together in the phase, over those that are left. False: nothing. */
bool crews_open(struct leader *l, const char *phase);
/* Begins what can be begun. False: all is done. */
bool crews_step(struct leader *l);
/* The node said that its part of that work is over. */
void crews_over(struct leader *l, struct member *m, const char *work);
/* A line came: true if it is of a unit that was given up. */
bool crews_refuse(struct leader *l, const char *work, int attempt);
/* One of its readings came. */
void crews_saw(struct leader *l, struct member *m, const struct reading *r);
void crews_lost(struct leader *l, struct member *m, const struct reason *reason);
/* The node's child did not end well: {"work","outcome","text"}. Those of the others
 * need not wait for it. */
void crews_broke(struct leader *l, struct member *m, const cJSON *o);
/* One text from a child to another. */
void crews_carry(struct leader *l, const struct member *from, const cJSON *o);
/* "net 12/56", short-lived. */
const char *crews_state(const struct leader *l);
/* For the rounds that are left of what is at work. */
double crews_left_s(const struct leader *l);
void crews_close(struct leader *l);

#endif
