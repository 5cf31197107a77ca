/* The environment in which a module opens its world. MPI libraries are told what
 * to use by variables, and read them once. */
#ifndef ASSAY_COORD_COMM_ENV_H
#define ASSAY_COORD_COMM_ENV_H

#define COMM_ENV_MAX 16

/* What was there before, to be put back. */
struct comm_env {
	int n;
	const char *names[COMM_ENV_MAX];
	char *before[COMM_ENV_MAX]; /* NULL: was not set */
};

/* Keeps MPI on plain TCP: off the cards and the fabric that are to be measured,
 * and off networks that end inside a host. */
void comm_env_enter(struct comm_env *env);
/* The variables are the user's again: the programs that measure inherit them. */
void comm_env_leave(struct comm_env *env);

#endif
