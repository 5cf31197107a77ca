/* Between launch.c, which checks and computes, and launch_time.c, which says
 * how long a kernel takes and plays those whose result is a time. */
#ifndef STANDIN_KERNEL_H
#define STANDIN_KERNEL_H

#include "kernels/kernels_types.h"
#include "tests/standin/standin.h"

#define MAX_ARGS 8

enum kernel_kind { WIDE, SPIN, FMA, GAPS, CHASE, PINGPONG };

union arg {
	u64 l;
	u32 u;
	float f;
	double d;
};

struct kernel {
	const char *name, *sig;
	enum kernel_kind kind;
	int count; /* parameter that counts, or its neighbour */
	size_t unit, align;
	void (*run)(const union arg *a);
};

struct launch {
	const struct kernel *kernel;
	struct card *card;
	unsigned blocks, threads;
	int n_args;
	union arg arg[MAX_ARGS];
	size_t bytes[MAX_ARGS]; /* behind the pointers */
	double seen;            /* SPIN: when the flag was; PINGPONG: when it came */
	bool there, expired;    /* PINGPONG: waits for its partner; both: gave up */
};

bool launch_points(const struct launch *l, int i);
void launch_compute(const struct launch *l);
void launch_place(u64 block); /* for the kernel called next */
/* What the op occupies and waits for. */
void launch_prepare(struct op *op);
/* Does it; returns the end. */
double launch_run(struct op *op, double start);

#endif
