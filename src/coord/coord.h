/* The coordinator: who measures what, when. It starts one guarded child per
 * unit of the plan, journals what comes back, and turns every crash, hang and
 * omission into a reading. It measures nothing and judges nothing itself. */
#ifndef ASSAY_COORD_COORD_H
#define ASSAY_COORD_COORD_H

#include <signal.h>

#include "base/proc.h"
#include "coord/plan.h"
#include "run/journal.h"

enum coord_event_kind {
	COORD_BEGIN,    /* a unit starts */
	COORD_PROGRESS, /* stage, done, what */
	COORD_READING,  /* one reading came in */
	COORD_END,      /* the unit is over */
	COORD_TROUBLE,  /* text: something a person should know now */
};

struct coord_event {
	enum coord_event_kind kind;
	const struct unit *unit;
	enum stage stage;
	double done;                   /* 0 to 1, negative: unknown */
	const char *text;              /* PROGRESS: what; TROUBLE */
	const struct reading *reading; /* READING */
	/* END: why the child did not end well, and what its figures are then; NULL: it
	 * did, or was stopped. */
	const struct reason *reason;
	enum outcome outcome;
	int position, total;           /* of units to run */
	double elapsed_s, remaining_s; /* of the plan */
};

struct coord_options {
	const struct plan_request *request;
	const struct plan *plan;
	const char *run_id;
	const char *dir; /* run directory; NULL: nothing is saved (assay probe) */
	uint64_t seed;
	int writer;
	const char *exe;             /* NULL: /proc/self/exe */
	double deadline_scale;       /* 1; less in tests */
	volatile sig_atomic_t *stop; /* a signal number once one arrived */
	/* Where finished readings go: the journal, or the caller. */
	enum status (*store)(void *arg, const char *line, size_t len, struct error *err);
	enum status (*store_work)(void *arg, const char *work, struct error *err);
	enum status (*store_sync)(void *arg, struct error *err);
	void *store_arg;
	void (*view)(void *arg, const struct coord_event *event);
	void *view_arg;
	/* Called again and again while children are waited for, at most 200 times a
	 * second; may be NULL. */
	void (*idle)(void *arg);
	void *idle_arg;
};

struct coord_result {
	int64_t readings;
	int64_t count[OUTCOMES];
	bool interrupted;
	bool store_failed; /* some readings could not be saved; err says why */
	double seconds;
};

/* A run in parts: open owes what is left out of the plan, phase runs the units of
 * one of its phases, unit one that is not in the plan. All from one thread. */
struct coord;
struct coord *coord_open(struct coord_result *result, const struct coord_options *options);
void coord_phase(struct coord *c, const char *phase);
void coord_unit(struct coord *c, const struct unit *u);
/* From within idle: hands a text of nodes[from] to the child of the unit that runs
 * in company; ends that unit. */
void coord_peer_text(struct coord *c, int from, const char *text);
void coord_cancel(struct coord *c);
enum status coord_close(struct coord *c, struct error *err);

/* All phases of the plan. Troubles of probes are readings, not errors; ST_NOSPACE or
 * ST_IO: not everything could be saved. ST_INTERRUPTED: *stop was set. */
enum status coord_run(struct coord_result *result, const struct coord_options *options,
                      struct error *err);

#endif
