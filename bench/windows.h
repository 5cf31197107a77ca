/* Timed windows of equal work on a GPU, one after another without a pause.
 *
 * Each window is held back by a kernel that spins until all of it is queued, so
 * that what a call costs the host is not in its time; the next one is queued
 * before the last is waited for, so that the card never runs dry. Only the calls
 * lie between the two events of a window: what is queued before them (poisoning
 * a result) and after them (checking it) is not timed.
 *
 * While it waits, the host takes the telemetry's samples in the same thread: the
 * card has a whole window of work queued, and on stand-ins there is one virtual
 * clock, which a thread that sleeps would move. */
#ifndef ASSAY_BENCH_WINDOWS_H
#define ASSAY_BENCH_WINDOWS_H

#include "base/clock.h"
#include "hw/device_cuda.h"
#include "stats/samples.h"
#include "telemetry.h"

/* Calls queued behind the spinning kernel. More would fill the driver's queue,
 * whose end then waits for a kernel that waits for the host. */
#define WINDOW_HELD 256
/* Calls shorter than this may be over before the host has queued the next one:
 * windows_fit has no more than WINDOW_HELD of them. */
#define WINDOW_SHORT_CALL_S 20e-6

/* One window that is over. */
struct window {
	int slot;       /* 0 or 1: of the two in flight */
	double seconds; /* of the calls, by events */
	double event_s; /* its end since the first window began, by events */
	double host_s;  /* when the host saw its end, since some moment before the first */
	double blind_s; /* … and for how long it had not looked then */
};

/* Functions return ST_OK or end the run; those that queue nothing are NULL. */
struct window_work {
	enum status (*before)(void *arg, int slot, struct error *err);
	enum status (*call)(void *arg, int index, struct error *err); /* 0 to calls - 1 */
	enum status (*after)(void *arg, int slot, struct error *err);
	/* The window is over, and all that was queued for it. */
	enum status (*done)(void *arg, const struct window *window, struct error *err);
	/* Whether window `index` is wanted; all but the last two before it are done. */
	bool (*more)(void *arg, int index);
	void *arg;
	int calls; /* of a window */
};

struct windows_line {
	struct device_cuda *dev;
	const struct clock_source *clock;
	struct telemetry *telemetry; /* or NULL */
	cu_function spin;
	cu_event origin, begin[2], end[2], over[2];
	void *host;         /* the flags the kernels spin on: of the host, seen by the card */
	cu_ptr seen;        /* … as the card addresses them */
	double expected_s;  /* length of the last window */
	int64_t origin_ns;  /* before the first window of this run, by the host */
	int64_t sure_ns[2]; /* the slot's window was not over then, by the host */
	int64_t expired;    /* windows that began before all of them was queued */
};

enum status windows_open(struct windows_line *line, struct device_cuda *dev,
                         const struct clock_source *clock, struct error *err);
void windows_close(struct windows_line *line);

/* Runs windows while work->more. *work is read again for each window. A window
 * that the spinning kernel let go too early is left out and counted. */
enum status windows_run(struct windows_line *line, const struct window_work *work,
                        struct error *err);

/* Queues one call. */
typedef enum status window_call(void *arg, int index, struct error *err);

/* Median seconds of some windows of calls and nothing beside them. */
enum status windows_plain(struct windows_line *line, window_call *call, void *arg, int calls,
                          int windows, double *seconds, struct error *err);
/* How many calls fill window_s, from such windows. */
enum status windows_fit(struct windows_line *line, window_call *call, void *arg, double window_s,
                        int *calls, struct error *err);

/* The host's clock against the card's events. When a window ended the host knows
 * only between two of its looks; what that leaves open is never held against a
 * card. */
struct clock_pairs {
	struct samples event_s, host_s;
	double blind_s[2]; /* of the first and the last window */
	bool closed;       /* windows of a later run have another origin: left out */
};

void clock_pairs_add(struct clock_pairs *p, const struct window *window);
void clock_pairs_release(struct clock_pairs *p);
/* Host seconds per event second (Theil-Sen slope, so that moments in which the
 * host slept do not count); NaN below 2 windows. */
double clock_pairs_ratio(const struct clock_pairs *p);
/* One of the two clocks is not to be trusted: the ratio is off 1 by more than 2 %,
 * and from the first to the last window it cannot be less. */
bool clock_pairs_off(const struct clock_pairs *p);

#endif
