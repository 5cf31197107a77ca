/* The watch itself: beats of this node, looks at others, a line for each into the
 * log. Clock, network and probes come from outside, so that a month passes within a
 * test.
 *
 * The node's own beat is written every period. A look from outside is written when
 * what it saw changed, and else once a minute. Nobody reached, neither a peer nor
 * the reference: then it may be our own network, and their state is unknown. */
#ifndef ASSAY_SERVICE_WATCH_H
#define ASSAY_SERVICE_WATCH_H

#include <signal.h>

#include "base/clock.h"
#include "service/heartbeat_log.h"

/* What one probe of the cards told; counts as they stand since boot. */
struct probe_facts {
	bool ended; /* false: it hung, or could not be started (started tells) */
	bool started;
	int64_t cards;           /* that worked and were right; -1: none can be looked at */
	int bad_cards;           /* that failed, hung or were lost */
	double kernel_ms;        /* of the slowest card, else of the CPU; NaN */
	int64_t xid, ecc, links; /* -1: unknown */
};

/* From the readings that `assay probe heartbeat` prints, one a line. */
void probe_facts_read(struct probe_facts *facts, const char *readings);

struct watch_hooks {
	const struct clock_source *clock;
	/* Tries all of them at once; reached[i] for each. */
	void (*look)(void *arg, bool *reached, int count);
	/* Starts a probe unless one runs; then asks whether it is over. */
	void (*probe_start)(void *arg);
	bool (*probe_over)(void *arg, struct probe_facts *facts);
	/* A day is over: the digest its owner may mail. */
	void (*sealed)(void *arg, const char *day, int64_t lines, const char *digest);
	/* The log could not be written, or can again. */
	void (*trouble)(void *arg, const struct error *err);
	void *arg;
};

struct watch_options {
	const char *dir, *node, *boot_id;
	bool agent;               /* beats of this node too */
	const char *const *peers; /* names, as in the log */
	int n_peers;
	bool reference; /* look tries one more behind the peers */
	int period_s;
	int probe_s;       /* between two probes; 0: none */
	int64_t cards;     /* that must be there; -1: as many as were seen */
	double slow_share; /* a kernel slower by this is degraded; NaN: never, since the
	                      customer's own work slows it too */
	double for_s;      /* NaN: until *stop */
	volatile sig_atomic_t *stop;
};

/* Until *stop is set or for_s is over. ST_OK also when the disk was full for a while;
 * an error only when the log cannot be begun. */
enum status watch_run(const struct watch_options *options, const struct watch_hooks *hooks,
                      struct error *err);

#endif
