/* What every probe test includes first: cmocka, and a context that runs a
 * probe inside the test process and keeps what it hands over. It checks each
 * reading as the worker does and more strictly: a faulty one fails the test at
 * once, with its metric.
 *
 *	struct harness h;
 *	const struct reading *r;
 *
 *	harness_init(&h, &probe_membw);
 *	harness_set(&h, "size", "1M");
 *	harness_run(&h, ST_OK);
 *	r = harness_reading(&h, "cpu_membw_triad_gbs");
 *	harness_release(&h);
 */
#ifndef ASSAY_TESTS_PROBE_HARNESS_H
#define ASSAY_TESTS_PROBE_HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "assay/probe.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "coord/params.h"

struct harness_raw {
	const char *name;
	const char *data; /* NUL-terminated copy */
	size_t len;
};

/* All that is kept lives in the arena of the harness. */
struct harness {
	struct probe_ctx ctx; /* set node, budget, seed, scratch, sys_root … here */
	struct arena arena;
	struct setting settings[32];
	int n_settings;
	struct reading readings[512];
	int n_readings;
	struct harness_raw raws[64];
	int n_raws;
	enum stage stage; /* the last one reported */
	double done;
	int n_progress;
	/* What save_raw answers; other than ST_OK nothing is kept. */
	enum status raw_status;
};

/* Quick budget, node "n001", seed 1, a deadline of 60 s, the real machine. */
void harness_init(struct harness *h, const struct probe *probe);
/* Sets a parameter; a value the row refuses fails the test. */
void harness_set(struct harness *h, const char *key, const char *value);
/* Runs the probe and expects this status. */
void harness_run(struct harness *h, enum status expected);
/* Forgets readings and raw files, keeps the settings. */
void harness_clear(struct harness *h);
void harness_release(struct harness *h);

/* The one reading of the metric; none or several fail the test. */
const struct reading *harness_reading(const struct harness *h, const char *metric);
/* The one of that metric at an operating point, likewise. */
const struct reading *harness_reading_at(const struct harness *h, const char *metric,
                                         const char *point);
int harness_count(const struct harness *h, const char *metric);
/* Expects that reading with this outcome and reason code (NULL: none). */
const struct reading *harness_expect(const struct harness *h, const char *metric,
                                     enum outcome outcome, const char *code);
/* The raw file, or NULL. */
const struct harness_raw *harness_raw(const struct harness *h, const char *name);
/* A member of the reading's params; a missing one fails the test. */
double harness_param(const struct reading *r, const char *key);
const char *harness_param_text(struct harness *h, const struct reading *r, const char *key);

/* A clock that moves only when told to (and by `step_ns` at each reading). */
struct fake_clock {
	struct clock_source source;
	int64_t now_ns;
	int64_t step_ns;
};

void fake_clock_init(struct fake_clock *c, int64_t now_ns, int64_t step_ns);

#endif
