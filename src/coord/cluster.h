/* Leading a run of many nodes: rank 0's part beside that of an agent. It says what
 * to do when, keeps what comes back, and makes sure that the end comes whatever
 * breaks: a node that falls silent is lost and its figures are said to be, the
 * others go on. */
#ifndef ASSAY_COORD_CLUSTER_H
#define ASSAY_COORD_CLUSTER_H

#include "assay/suspect.h"
#include "coord/agent.h"
#include "coord/crews_plan.h"
#include "run/rundir.h"

struct cluster_options {
	struct agent_options agent;         /* comm among them; idle is ours */
	const struct plan_request *request; /* of rank 0's node; run_info with it */
	const char *dir;
	struct rundir *resume; /* or NULL */
	enum pair_choice pairs;
	/* Nodes that were ordered and could not be started; they are lost from the first. */
	const char *const *absent;
	int n_absent;
	const struct judge *judge; /* of pairs to be read again; NULL: none are */
	double hello_s;            /* how long ranks have for their first word and their plan */
	/* The journal: opened once it is known that there will be a run. */
	enum status (*begin)(void *arg, struct error *err);
	enum status (*store)(void *arg, const char *line, size_t len, struct error *err);
	enum status (*store_work)(void *arg, const char *work, struct error *err);
	enum status (*store_sync)(void *arg, struct error *err);
	void *store_arg;
	/* Lines for a person: on a terminal `transient` ones replace each other. */
	void (*print)(void *arg, const char *text, bool transient);
	void *print_arg;
};

struct cluster_result {
	int64_t readings;
	int nodes, lost;
	bool all_alive; /* every rank said good-bye */
	bool store_failed;
	double seconds;
};

/* Rank 0. ST_USAGE: these ranks are no cluster, err says why and nothing was
 * measured. ST_INTERRUPTED, ST_NOSPACE, ST_IO as coord_run. The comm stays open. */
enum status cluster_lead(struct cluster_result *result, const struct cluster_options *options,
                         struct error *err);
/* All other ranks: until rank 0 says it is over. ST_OK, or why this node gave up.
 * *all_alive: so says rank 0. */
enum status cluster_follow(const struct agent_options *options, bool *all_alive, struct error *err);
/* Rank 0 in the place of cluster_lead: there will be no run. */
void cluster_dismiss(struct comm *comm);

/* --- leave.c ---------------------------------------------------------------------- */

/* Rank 0, when all is judged and written: the others may leave, and wait for it. */
void cluster_say_leave(struct comm *comm);
/* The others: at most so long. */
void cluster_wait_leave(struct comm *comm, double seconds);

#endif
