/* What NVML tells of a card while it works: clocks, power, heat, why clocks are
 * held down, energy, and the error counters before and after. It explains a
 * figure; without NVML the figure stands, and what was asked says why not.
 *
 * Samples are taken by whoever waits for the card (bench/windows.h). What a
 * sample shows counts for the time since the one before. */
#ifndef ASSAY_BENCH_TELEMETRY_H
#define ASSAY_BENCH_TELEMETRY_H

#include "assay/probe.h"
#include "base/clock.h"
#include "base/json.h"
#include "hw/nvml.h"

/* Not more often than this, but at least once a window. */
#define TELEMETRY_PAUSE_NS 250000000

/* Of a stretch of time. What was never told is NaN, or -1 for counts. */
struct telemetry_sum {
	int samples;
	double sm_mhz, sm_mhz_least, memory_mhz; /* means and the lowest */
	double power_w;                          /* by the energy counter, else of samples */
	double celsius, celsius_most;            /* the last and the highest */
	unsigned long long reasons;              /* NVML_REASON_* bits seen in any sample */
	double power_cap_s;                      /* held by the power limit: normal under load */
	double slowdown_s; /* by heat, the board or the slot: the counter or the samples,
	                      whichever has more; NaN: neither is told */
};

struct telemetry {
	struct nvml nvml;
	nvml_device device;
	const struct clock_source *clock;
	bool ready;            /* device holds */
	const char *why;       /* when not */
	int max_sm_mhz;        /* -1: not told */
	nvml_event_set events; /* NULL: Xid cannot be watched */
	/* Of the current stretch. */
	int64_t begun_ns, last_ns;
	int64_t heat_ns, power_ns, energy_mj; /* counters at its begin; -1: not told */
	double sm_sum, memory_sum, power_sum, reason_cap_s, reason_slow_s;
	int sm_samples, memory_samples, power_samples, reason_samples;
	struct telemetry_sum sum;
};

/* Never an error: says in `why` what is missing. */
void telemetry_open(struct telemetry *t, struct arena *arena, const struct gpu_search *where,
                    const struct clock_source *clock, const char *pci);
void telemetry_close(struct telemetry *t);
/* Begins a stretch; takes the sample that is due; ends it. */
void telemetry_begin(struct telemetry *t);
void telemetry_poll(struct telemetry *t);
void telemetry_sample(struct telemetry *t);
void telemetry_end(struct telemetry *t, struct telemetry_sum *sum);
/* Members of a reading's params. */
void telemetry_put(const struct telemetry_sum *sum, struct json_out *j);

/* Uncorrected memory errors since the driver loaded; -1: not told, *code why. */
int64_t telemetry_ecc(const struct telemetry *t, nvml_result *code);
/* Numbers of the Xid errors that came since it was opened, "79 48" (arena);
 * "": none, NULL: they cannot be watched. */
const char *telemetry_xids(struct telemetry *t, struct arena *arena);

#endif
