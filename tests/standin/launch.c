/* Launches of the kernels of bench/kernels: arguments checked as a memory
 * checker would, the real code run on the host where it computes, time by the
 * card's rates. What was computed from the same contents is not computed again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/target.h"
#include "tests/standin/kernel.h"

_Thread_local struct standin_place standin_place;

#define P(i) ((void *)(uintptr_t)a[i].l)

static void call_read(const union arg *a)
{
	assay_read(P(0), a[1].l, P(2));
}
static void call_write(const union arg *a)
{
	assay_write(P(0), a[1].l, a[2].l);
}
static void call_copy(const union arg *a)
{
	assay_copy(P(0), P(1), a[2].l);
}
static void call_copy_both(const union arg *a)
{
	assay_copy_both(P(0), P(1), P(2), P(3), a[4].l);
}
static void call_triad(const union arg *a)
{
	assay_triad(P(0), P(1), P(2), a[3].d, a[4].l);
}
static void call_ramp(const union arg *a)
{
	assay_ramp(P(0), a[1].l, a[2].l);
}
static void call_triad_check(const union arg *a)
{
	assay_triad_check(P(0), a[1].l, a[2].l, a[3].l, a[4].d, P(5));
}
static void call_pattern_write(const union arg *a)
{
	assay_pattern_write(P(0), a[1].l, a[2].u, a[3].l, a[4].l, a[5].l);
}
static void call_pattern_check(const union arg *a)
{
	assay_pattern_check(P(0), a[1].l, a[2].u, a[3].l, a[4].l, a[5].l, a[6].u, P(7));
}
static void call_compare(const union arg *a)
{
	assay_compare(P(0), P(1), a[2].l, a[3].u, P(4));
}
static void call_digest(const union arg *a)
{
	assay_digest(P(0), a[1].l, P(2));
}
static void call_fill(const union arg *a)
{
	assay_fill(P(0), a[1].l, a[2].u, a[3].u, a[4].l, a[5].d);
}
static void call_ring(const union arg *a)
{
	assay_ring(P(0), a[1].l, a[2].l);
}
static void call_fma32(const union arg *a)
{
	assay_fma32(P(0), a[1].l, a[2].f, a[3].f, P(4));
}
static void call_fma64(const union arg *a)
{
	assay_fma64(P(0), a[1].l, a[2].d, a[3].d, P(4));
}
static void call_chase(const union arg *a)
{
	assay_chase(P(0), a[1].l, P(2));
}

/* Letters of the parameters: r w x memory read, written, both; s a sum and c a
 * check that are added to; o a result; v a flag; l u f d numbers. unit: bytes
 * that one of the count (parameter `count`) means; align: of memory. */
static const struct kernel kernels[] = {
	{"assay_read", "rls", WIDE, 1, 16, 16, call_read},
	{"assay_write", "wll", WIDE, 1, 16, 16, call_write},
	{"assay_copy", "wrl", WIDE, 2, 16, 16, call_copy},
	{"assay_copy_both", "wrwrl", WIDE, 4, 16, 16, call_copy_both},
	{"assay_triad", "wrrdl", WIDE, 4, 16, 16, call_triad},
	{"assay_ramp", "wll", WIDE, 1, 8, 8, call_ramp},
	{"assay_triad_check", "rllldc", WIDE, 1, 8, 8, call_triad_check},
	{"assay_pattern_write", "wlulll", WIDE, 1, 8, 8, call_pattern_write},
	{"assay_pattern_check", "xlullluc", WIDE, 1, 8, 8, call_pattern_check},
	{"assay_compare", "rrluc", WIDE, 2, 8, 8, call_compare},
	{"assay_digest", "rls", WIDE, 1, 8, 8, call_digest},
	{"assay_fill", "wluuld", WIDE, 1, 0, 8, call_fill},
	{"assay_ring", "wll", WIDE, 1, 128, 8, call_ring},
	{"assay_spin", "vulv", SPIN, 0, 0, 4, NULL},
	{"assay_fma32", "olffo", FMA, 1, 0, 4, call_fma32},
	{"assay_fma64", "olddo", FMA, 1, 0, 8, call_fma64},
	{"assay_gaps", "oolll", GAPS, 0, 0, 8, NULL},
	{"assay_chase", "rlo", CHASE, 1, 0, 8, call_chase},
	{"assay_pingpong", "vvlulo", PINGPONG, 2, 0, 8, NULL},
};

const struct kernel *kernel_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (strcmp(kernels[i].name, name) == 0)
			return &kernels[i];
	return NULL;
}

bool launch_points(const struct launch *l, int i)
{
	return strchr("rwxscov", l->kernel->sig[i]) != NULL;
}

/* --- arguments ----------------------------------------------------------------------- */

static size_t element_bytes(u32 type)
{
	static const size_t sizes[] = {8, 4, 2, 2, 1};

	return type <= KERNEL_E4M3 ? sizes[type] : 0;
}

/* Bytes behind each pointer. */
static void size_arguments(struct launch *l)
{
	const struct kernel *k = l->kernel;
	size_t unit = k->unit, threads = (size_t)l->blocks * l->threads;

	if (k->run == call_fill)
		unit = element_bytes(l->arg[2].u);
	for (int i = 0; i < l->n_args; i++)
		switch (k->sig[i]) {
		case 'r':
		case 'w':
		case 'x':
			l->bytes[i] = unit * l->arg[k->count].l;
			break;
		case 's':
			l->bytes[i] = sizeof(u64);
			break;
		case 'c':
			l->bytes[i] = sizeof(struct kernel_check);
			break;
		case 'v':
			l->bytes[i] = k->align;
			break;
		case 'o':
			l->bytes[i] = sizeof(struct kernel_span);
			break;
		}
	if (k->kind == FMA) {
		l->bytes[0] = threads * k->align;
		l->bytes[4] = l->blocks * sizeof(struct kernel_span);
	} else if (k->kind == GAPS) {
		l->bytes[0] = l->blocks * sizeof(struct kernel_gaps);
		l->bytes[1] = l->blocks * l->arg[2].l * sizeof(struct kernel_gap);
	} else if (k->kind == CHASE) {
		l->bytes[0] = sizeof(u64); /* the ring is followed with care */
	}
}

/* What a card's memory unit would stop it for: a CUresult, 0: nothing. */
static int check_arguments(const struct launch *l)
{
	struct card *own = l->card;

	for (int i = 0; i < l->n_args; i++) {
		struct card *at = memory_card(l->arg[i].l);
		size_t align = strchr("sc", l->kernel->sig[i]) ? 8 : l->kernel->align;

		if (!launch_points(l, i) || (!l->arg[i].l && l->bytes[i] == 0))
			continue;
		if (l->arg[i].l % align)
			return 716;
		if (!memory_at(l->arg[i].l, l->bytes[i]) ||
		    (at && at != own && !own->peer[at->index]))
			return 700;
	}
	return 0;
}

static void copy_parameters(struct launch *l, void **params)
{
	for (l->n_args = 0; l->kernel->sig[l->n_args]; l->n_args++) {
		char letter = l->kernel->sig[l->n_args];

		memcpy(&l->arg[l->n_args], params[l->n_args],
		       letter == 'u' || letter == 'f' ? 4 : 8);
	}
}

/* --- computing -------------------------------------------------------------------------- */

/* Sums and checks by what they were computed from. */
static struct sink {
	u64 key;
	struct kernel_check value;
} sinks[1024];

static void merge(char letter, void *to, const struct kernel_check *from)
{
	struct kernel_check *check = to;

	if (letter == 's') {
		*(u64 *)to += from->bad;
		return;
	}
	check->bad += from->bad;
	check->first = from->first < check->first ? from->first : check->first;
	check->bits |= from->bits;
}

static int sink_of(const struct launch *l)
{
	for (int i = 0; i < l->n_args; i++)
		if (strchr("sc", l->kernel->sig[i]))
			return i;
	return -1;
}

static bool writes(const struct launch *l, int i)
{
	/* A check that leaves nothing behind only reads. */
	if (l->kernel->run == call_pattern_check)
		return i == 0 && l->arg[6].u;
	return l->kernel->sig[i] == 'w';
}

static u64 content_key(const struct launch *l)
{
	u64 key = content_digest(l->kernel->name, strlen(l->kernel->name));

	for (int i = 0; i < l->n_args; i++)
		if (strchr("rx", l->kernel->sig[i]))
			key = hash64(key, content_tag(l->arg[i].l, l->bytes[i]));
		else if (!launch_points(l, i))
			key = hash64(key, l->arg[i].l);
	return key;
}

static bool already_there(const struct launch *l, u64 key)
{
	for (int i = 0; i < l->n_args; i++)
		if (writes(l, i) && !content_is(l->arg[i].l, l->bytes[i], hash64(key, (u64)i)))
			return false;
	return true;
}

void launch_place(u64 at_block)
{
	standin_place = (struct standin_place){.block = at_block, .threads = 1};
}

static void call_kernel(const struct launch *l, struct kernel_check *sink, int sink_at)
{
	union arg at[MAX_ARGS];

	for (int i = 0; i < l->n_args; i++) {
		at[i] = l->arg[i];
		if (launch_points(l, i))
			at[i].l = (uintptr_t)memory_at(l->arg[i].l, l->bytes[i]);
		if (i == sink_at)
			at[i].l = (uintptr_t)sink;
	}
	launch_place(0);
	l->kernel->run(at);
}

void launch_compute(const struct launch *l)
{
	u64 key = content_key(l);
	int sink_at = sink_of(l);
	struct sink *sink = &sinks[key % (sizeof(sinks) / sizeof(*sinks))];

	if (!already_there(l, key) || (sink_at >= 0 && sink->key != key)) {
		struct kernel_check fresh = {
			0, l->kernel->sig[sink_at < 0 ? 0 : sink_at] == 'c' ? UINT64_MAX : 0, 0};

		call_kernel(l, &fresh, sink_at);
		if (sink_at >= 0)
			*sink = (struct sink){key, fresh};
		for (int i = 0; i < l->n_args; i++)
			if (writes(l, i)) {
				memory_wrote(l->arg[i].l, l->bytes[i]);
				content_set(l->arg[i].l, l->bytes[i], hash64(key, (u64)i));
			}
	}
	if (sink_at >= 0) {
		merge(l->kernel->sig[sink_at], memory_at(l->arg[sink_at].l, l->bytes[sink_at]),
		      &sink->value);
		memory_wrote(l->arg[sink_at].l, l->bytes[sink_at]);
	}
}

/* --- launching ----------------------------------------------------------------------------- */

static bool shape_fits(const struct launch *l)
{
	bool single =
		l->kernel->kind == SPIN || l->kernel->kind == CHASE || l->kernel->kind == PINGPONG;

	if (l->blocks == 0 || l->threads == 0 || l->threads > 1024)
		return false;
	return (!single || l->blocks * l->threads == 1) &&
	       (l->kernel->kind != GAPS || l->threads == 1);
}

static double run_launch(struct op *op, double start)
{
	struct launch *l = op->data;
	int result = check_arguments(l);

	if (result) {
		l->card->sticky = result;
		return start;
	}
	return launch_run(op, start) + node.kernel_ns;
}

int kernel_launch(const struct kernel *k, struct stream *s, const unsigned grid[3],
                  const unsigned block[3], void **params)
{
	struct launch l = {.kernel = k, .card = s->card};
	struct op *op;

	if (!params)
		return 1;
	l.blocks = grid[0] * grid[1] * grid[2];
	l.threads = block[0] * block[1] * block[2];
	copy_parameters(&l, params);
	size_arguments(&l);
	if (!shape_fits(&l))
		return 1;
	op = op_new(s, run_launch, sizeof(l));
	*(struct launch *)op->data = l;
	launch_prepare(op);
	op_submit(op);
	return 0;
}
