/* One node's part in a run of many: it does what rank 0 says, and sends what comes
 * of it. Every rank has one, rank 0 too, which then talks to itself.
 *
 * Lines are also spooled on the node's own disk until rank 0 has saved them. When
 * rank 0 falls silent the agent ends its children and keeps the spool. */
#ifndef ASSAY_COORD_AGENT_H
#define ASSAY_COORD_AGENT_H

#include <signal.h>

#include "assay/comm.h"
#include "coord/coord.h"

struct agent_options {
	struct comm *comm;
	const struct probe *const *probes;
	const char *host;    /* name of this node, as far as it knows */
	const char *version; /* of Assay */
	const char *program; /* SHA-256 of its file; "": not known */
	const char *options; /* coord/hello.h */
	const char *lib_dir;
	const char *sys_root;
	const char *exe; /* NULL: /proc/self/exe */
	double deadline_scale;
	double lost_after_s; /* silence of rank 0 that ends this node's part */
	volatile sig_atomic_t *stop;
	/* Called while children are waited for: lets the messages flow. */
	void (*idle)(void *arg);
	void *idle_arg;
};

struct agent;

/* Says hello. */
struct agent *agent_open(const struct agent_options *options);
/* A message from rank 0. */
void agent_take(struct agent *a, const void *bytes, size_t len);
/* To be called often: does what it was told; gives signs of life. May take as long
 * as a phase does. */
void agent_step(struct agent *a);
/* The signs of life alone: from within idle. */
void agent_tick(struct agent *a);
/* It has nothing more to do; the run ended in order. */
bool agent_over(const struct agent *a);
/* Rank 0 said that no node was lost. */
bool agent_all_alive(const struct agent *a);
/* Rank 0 said that it has judged. */
bool agent_leave(const struct agent *a);
/* What went wrong on this node so that it gave up, or NULL. */
const char *agent_trouble(const struct agent *a);
/* Ends its part: the last lines, then good-bye. close: frees. */
void agent_end(struct agent *a);
void agent_close(struct agent *a);

#endif
