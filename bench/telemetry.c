/* Sampling NVML beside a measurement. */
#include "telemetry.h"

#include <math.h>

/* Clocks held down by these are a fault of cooling, power supply or board. */
#define SLOWDOWN                                                                                   \
	(NVML_REASON_HW_SLOWDOWN | NVML_REASON_SW_THERMAL | NVML_REASON_HW_THERMAL |               \
	 NVML_REASON_POWER_BRAKE)

#define MOST_XIDS 32

static enum status find_card(struct telemetry *t, struct arena *arena,
                             const struct gpu_search *where, const char *pci, struct error *err)
{
	enum status st = nvml_open(&t->nvml, arena, where, err);

	if (st == ST_OK)
		st = nvml_start(&t->nvml, arena, err);
	if (st == ST_OK)
		st = nvml_check(&t->nvml, t->nvml.call.by_pci(pci, &t->device),
		                "nvmlDeviceGetHandleByPciBusId_v2", err);
	return st;
}

static void watch_xids(struct telemetry *t)
{
	const struct nvml_calls *call = &t->nvml.call;

	if (!call->event_wait || !call->event_register ||
	    NVML_ASK(&t->nvml, event_set_create, &t->events) != NVML_OK)
		return;
	if (call->event_register(t->device, NVML_EVENT_XID, t->events) == NVML_OK)
		return;
	NVML_ASK(&t->nvml, event_set_free, t->events);
	t->events = NULL;
}

void telemetry_open(struct telemetry *t, struct arena *arena, const struct gpu_search *where,
                    const struct clock_source *clock, const char *pci)
{
	struct error err = {0};
	unsigned mhz = 0;

	*t = (struct telemetry){.clock = clock, .max_sm_mhz = -1};
	t->ready = find_card(t, arena, where, pci, &err) == ST_OK;
	if (!t->ready)
		t->why = arena_str(arena, str_text(&err.text));
	error_release(&err);
	if (!t->ready)
		return;
	if (NVML_ASK(&t->nvml, max_clock, t->device, NVML_SM_CLOCK, &mhz) == NVML_OK)
		t->max_sm_mhz = (int)mhz;
	watch_xids(t);
}

void telemetry_close(struct telemetry *t)
{
	if (t->events)
		NVML_ASK(&t->nvml, event_set_free, t->events);
	t->events = NULL;
}

/* --- a stretch --------------------------------------------------------------------- */

static int64_t heat(const struct telemetry *t)
{
	int64_t ns;

	return nvml_heat_held(&t->nvml, t->device, &ns) == NVML_OK ? ns : -1;
}

static int64_t power(const struct telemetry *t)
{
	int64_t ns;

	return nvml_power_held(&t->nvml, t->device, &ns) == NVML_OK ? ns : -1;
}

static int64_t energy(const struct telemetry *t)
{
	unsigned long long mj;

	return NVML_ASK(&t->nvml, energy, t->device, &mj) == NVML_OK ? (int64_t)mj : -1;
}

void telemetry_begin(struct telemetry *t)
{
	t->sum = (struct telemetry_sum){
		.sm_mhz = NAN,
		.sm_mhz_least = NAN,
		.memory_mhz = NAN,
		.power_w = NAN,
		.celsius = NAN,
		.celsius_most = NAN,
		.power_cap_s = NAN,
		.slowdown_s = NAN,
	};
	t->sm_sum = t->memory_sum = t->power_sum = t->reason_cap_s = t->reason_slow_s = 0;
	t->sm_samples = t->memory_samples = t->power_samples = t->reason_samples = 0;
	if (!t->ready)
		return;
	t->heat_ns = heat(t);
	t->power_ns = power(t);
	t->energy_mj = energy(t);
	t->begun_ns = t->last_ns = clock_now(t->clock);
}

static void take_clocks(struct telemetry *t)
{
	struct telemetry_sum *s = &t->sum;
	unsigned value;
	int celsius;

	if (NVML_ASK(&t->nvml, clock, t->device, NVML_SM_CLOCK, &value) == NVML_OK) {
		t->sm_sum += value;
		t->sm_samples++;
		s->sm_mhz_least = fmin(s->sm_mhz_least, value);
	}
	if (NVML_ASK(&t->nvml, clock, t->device, NVML_MEMORY_CLOCK, &value) == NVML_OK) {
		t->memory_sum += value;
		t->memory_samples++;
	}
	if (NVML_ASK(&t->nvml, power, t->device, &value) == NVML_OK) {
		t->power_sum += value / 1000.0;
		t->power_samples++;
	}
	if (nvml_temperature_read(&t->nvml, t->device, &celsius) == NVML_OK) {
		s->celsius = celsius;
		s->celsius_most = fmax(s->celsius_most, celsius);
	}
}

void telemetry_sample(struct telemetry *t)
{
	unsigned long long mask;
	int64_t now;
	double span;

	if (!t->ready)
		return;
	now = clock_now(t->clock);
	span = (double)(now - t->last_ns) / 1e9;
	t->last_ns = now;
	t->sum.samples++;
	take_clocks(t);
	if (nvml_reasons(&t->nvml, t->device, &mask) != NVML_OK)
		return;
	t->reason_samples++;
	t->sum.reasons |= mask;
	if (mask & NVML_REASON_POWER_CAP)
		t->reason_cap_s += span;
	if (mask & SLOWDOWN)
		t->reason_slow_s += span;
}

void telemetry_poll(struct telemetry *t)
{
	if (t->ready && clock_now(t->clock) - t->last_ns >= TELEMETRY_PAUSE_NS)
		telemetry_sample(t);
}

/* Seconds by a counter or by samples, whichever has more: polling misses what is
 * short, and not every driver counts all kinds. */
static double held_s(int64_t before, int64_t after, double sampled, int samples)
{
	double counted = before >= 0 && after >= before ? (double)(after - before) / 1e9 : NAN;

	return fmax(counted, samples ? sampled : NAN);
}

void telemetry_end(struct telemetry *t, struct telemetry_sum *sum)
{
	struct telemetry_sum *s = &t->sum;
	double seconds;
	int64_t mj;

	*sum = *s;
	if (!t->ready)
		return;
	seconds = (double)(clock_now(t->clock) - t->begun_ns) / 1e9;
	mj = energy(t);
	if (t->sm_samples)
		sum->sm_mhz = t->sm_sum / t->sm_samples;
	if (t->memory_samples)
		sum->memory_mhz = t->memory_sum / t->memory_samples;
	if (t->power_samples)
		sum->power_w = t->power_sum / t->power_samples;
	/* A sensor looks a quarter of the time only; the counter has all of it, in
	 * steps that a short stretch would read as zero. */
	if (t->energy_mj >= 0 && mj > t->energy_mj && seconds >= 1)
		sum->power_w = (double)(mj - t->energy_mj) / 1e3 / seconds;
	sum->power_cap_s = held_s(t->power_ns, power(t), t->reason_cap_s, t->reason_samples);
	sum->slowdown_s = held_s(t->heat_ns, heat(t), t->reason_slow_s, t->reason_samples);
}

/* --- in words ----------------------------------------------------------------------- */

static void put_reasons(unsigned long long mask, struct json_out *j)
{
	static const struct {
		unsigned long long bit;
		const char *word;
	} words[] = {
		{NVML_REASON_APP_CLOCKS, "application_clocks"},
		{NVML_REASON_POWER_CAP, "power_cap"},
		{NVML_REASON_HW_SLOWDOWN, "hw_slowdown"},
		{NVML_REASON_SYNC_BOOST, "sync_boost"},
		{NVML_REASON_SW_THERMAL, "sw_thermal"},
		{NVML_REASON_HW_THERMAL, "hw_thermal"},
		{NVML_REASON_POWER_BRAKE, "power_brake"},
		{NVML_REASON_DISPLAY, "display"},
	};

	json_array_begin(j, "clock_reasons");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (mask & words[i].bit)
			json_put_string(j, NULL, words[i].word);
	json_array_end(j);
}

void telemetry_put(const struct telemetry_sum *s, struct json_out *j)
{
	json_put_int(j, "telemetry_samples", s->samples);
	json_put_number(j, "sm_mhz", s->sm_mhz);
	json_put_number(j, "sm_mhz_least", s->sm_mhz_least);
	json_put_number(j, "memory_mhz", s->memory_mhz);
	json_put_number(j, "power_w", s->power_w);
	json_put_number(j, "celsius_most", s->celsius_most);
	put_reasons(s->reasons, j);
	json_put_number(j, "power_cap_s", s->power_cap_s);
	json_put_number(j, "slowdown_s", s->slowdown_s);
}

/* --- errors ------------------------------------------------------------------------- */

int64_t telemetry_ecc(const struct telemetry *t, nvml_result *code)
{
	unsigned long long count = 0;

	*code = NVML_ASK(&t->nvml, ecc_total, t->device, NVML_ECC_UNCORRECTED, NVML_ECC_SINCE_BOOT,
	                 &count);
	return *code == NVML_OK && count <= INT64_MAX ? (int64_t)count : -1;
}

const char *telemetry_xids(struct telemetry *t, struct arena *arena)
{
	struct str text = {0};
	nvml_event event;
	const char *kept;

	if (!t->ready || !t->events)
		return NULL;
	for (int i = 0; i < MOST_XIDS; i++) {
		if (t->nvml.call.event_wait(t->events, &event, 0) != NVML_OK)
			break;
		if (event.type & NVML_EVENT_XID)
			str_addf(&text, "%s%llu", text.len ? " " : "", event.data);
	}
	kept = arena_str(arena, str_text(&text));
	str_release(&text);
	return kept;
}
