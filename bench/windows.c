/* The timed loop of everything that runs on a GPU in windows. */
#include "windows.h"

#include <math.h>
#include <string.h>

#include "kernels/kernels.h"
#include "stats/samples.h"
#include "stats/series.h"

/* A host that was stopped for this long while it queued a window. */
#define HOLD_NS 10000000000ull

/* Pauses between two looks at an unfinished window: a twentieth of it. */
#define LOOKS        20
#define LEAST_LOOK_S 1e-6
#define MOST_LOOK_S  5e-3

/* One slot's words in pinned memory. */
struct hold {
	volatile uint32_t flag, expired;
};

static struct hold *hold_of(const struct windows_line *line, int slot)
{
	return (struct hold *)line->host + slot;
}

enum status windows_open(struct windows_line *line, struct device_cuda *dev,
                         const struct clock_source *clock, struct error *err)
{
	struct cuda *cuda = dev->cuda;
	cu_event *events[] = {&line->origin, &line->begin[0], &line->begin[1], &line->end[0],
	                      &line->end[1], &line->over[0],  &line->over[1]};
	enum status st;

	*line = (struct windows_line){.dev = dev, .clock = clock};
	st = device_cuda_kernel(dev, "assay_spin", &line->spin, err);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events) && st == ST_OK; i++)
		st = CUDA_TRY(cuda, err, event_create, events[i], CU_EVENT_TIMED);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, host_alloc, &line->host, 2 * sizeof(struct hold),
		              CU_HOST_PORTABLE | CU_HOST_MAPPED);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, host_device_ptr, &line->seen, line->host, 0);
	if (st == ST_OK)
		memset(line->host, 0, 2 * sizeof(struct hold));
	return st;
}

void windows_close(struct windows_line *line)
{
	cu_event events[] = {line->origin, line->begin[0], line->begin[1], line->end[0],
	                     line->end[1], line->over[0],  line->over[1]};

	if (!line->dev)
		return;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (events[i])
			line->dev->cuda->call.event_destroy(events[i]);
	if (line->host)
		line->dev->cuda->call.host_free(line->host);
	*line = (struct windows_line){0};
}

/* --- queueing ---------------------------------------------------------------------- */

static enum status record(struct windows_line *line, cu_event event, struct error *err)
{
	return CUDA_TRY(line->dev->cuda, err, event_record, event, line->dev->stream);
}

static enum status hold(struct windows_line *line, int slot, struct error *err)
{
	struct hold *h = hold_of(line, slot);
	cu_ptr flag = line->seen + (cu_ptr)slot * sizeof(*h), expired = flag + sizeof(uint32_t);
	uint32_t go = 1;
	uint64_t limit = HOLD_NS;

	h->flag = h->expired = 0;
	return device_cuda_single(line->dev, line->spin, (void *[]){&flag, &go, &limit, &expired},
	                          err);
}

static enum status queue_calls(struct windows_line *line, const struct window_work *work, int slot,
                               struct error *err)
{
	enum status st = ST_OK;

	for (int i = 0; i < work->calls && st == ST_OK; i++) {
		if (i == WINDOW_HELD)
			hold_of(line, slot)->flag = 1;
		st = work->call(work->arg, i, err);
	}
	return st;
}

static enum status queue_window(struct windows_line *line, const struct window_work *work,
                                int index, struct error *err)
{
	int slot = index & 1;
	enum status st = ST_OK;

	if (work->before)
		st = work->before(work->arg, slot, err);
	if (st == ST_OK)
		st = hold(line, slot, err);
	if (st == ST_OK && index == 0)
		st = record(line, line->origin, err);
	if (st == ST_OK)
		st = record(line, line->begin[slot], err);
	if (st == ST_OK)
		st = queue_calls(line, work, slot, err);
	line->sure_ns[slot] = clock_now(line->clock);
	if (st == ST_OK)
		st = record(line, line->end[slot], err);
	/* Also after an error: nothing may be left spinning. */
	hold_of(line, slot)->flag = 1;
	if (st == ST_OK && work->after)
		st = work->after(work->arg, slot, err);
	return st == ST_OK ? record(line, line->over[slot], err) : st;
}

/* --- waiting ------------------------------------------------------------------------ */

static void look_away(struct windows_line *line)
{
	double pause = line->expected_s / LOOKS;

	pause = pause < LEAST_LOOK_S ? LEAST_LOOK_S : pause > MOST_LOOK_S ? MOST_LOOK_S : pause;
	clock_sleep(line->clock, (int64_t)(pause * 1e9));
}

/* Samples at least once, after the first pause: the card is at work then. */
static enum status wait_for(struct windows_line *line, int slot, struct error *err)
{
	struct cuda *cuda = line->dev->cuda;
	bool sampled = !line->telemetry;
	int64_t now;
	cu_result code;

	while (now = clock_now(line->clock),
	       (code = cuda->call.event_query(line->end[slot])) == CU_NOT_READY) {
		line->sure_ns[slot] = now;
		look_away(line);
		if (!sampled)
			telemetry_sample(line->telemetry);
		else if (line->telemetry)
			telemetry_poll(line->telemetry);
		sampled = true;
	}
	if (!sampled)
		telemetry_sample(line->telemetry);
	return cuda_check(cuda, code, "event_query", err);
}

static enum status take_window(struct windows_line *line, const struct window_work *work, int index,
                               struct error *err)
{
	struct cuda *cuda = line->dev->cuda;
	int slot = index & 1;
	struct window w = {.slot = slot};
	float ms = 0, whole_ms = 0;
	int64_t now;
	enum status st = wait_for(line, slot, err);

	now = clock_now(line->clock);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_elapsed, &ms, line->begin[slot], line->end[slot]);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_elapsed, &whole_ms, line->origin, line->end[slot]);
	if (st == ST_OK)
		st = CUDA_TRY(cuda, err, event_sync, line->over[slot]);
	if (st != ST_OK)
		return st;
	if (hold_of(line, slot)->expired) {
		line->expired++;
		return ST_OK;
	}
	w.seconds = (double)ms / 1e3;
	w.event_s = (double)whole_ms / 1e3;
	w.host_s = (double)(now - line->origin_ns) / 1e9;
	w.blind_s = (double)(now - line->sure_ns[slot]) / 1e9;
	line->expected_s = w.seconds;
	return work->done(work->arg, &w, err);
}

enum status windows_run(struct windows_line *line, const struct window_work *work,
                        struct error *err)
{
	enum status st = ST_OK;
	bool more = work->more(work->arg, 0);

	line->origin_ns = clock_now(line->clock);
	if (more)
		st = queue_window(line, work, 0, err);
	for (int i = 0; more && st == ST_OK; i++) {
		more = work->more(work->arg, i + 1);
		if (more)
			st = queue_window(line, work, i + 1, err);
		if (st == ST_OK)
			st = take_window(line, work, i, err);
	}
	return st;
}

/* --- windows and nothing else ---------------------------------------------------------- */

#define MOST_CALLS 100000

struct plain {
	struct windows_line *line;
	struct samples seconds;
	int wanted;
};

static enum status plain_done(void *arg, const struct window *window, struct error *err)
{
	struct plain *p = arg;

	if (window->seconds > 0 && samples_add(&p->seconds, window->seconds) == ST_OK)
		return ST_OK;
	return error_set(err, ST_RANGE, MSG_device_no_time, p->line->dev->device.info.id);
}

static bool plain_more(void *arg, int index)
{
	return index < ((const struct plain *)arg)->wanted;
}

/* The caller's call and its argument beside ours. */
struct plain_call {
	struct plain plain; /* first: done and more take it */
	window_call *call;
	void *arg;
};

static enum status pass_on(void *arg, int index, struct error *err)
{
	const struct plain_call *p = arg;

	return p->call(p->arg, index, err);
}

enum status windows_plain(struct windows_line *line, window_call *call, void *arg, int calls,
                          int windows, double *seconds, struct error *err)
{
	struct plain_call p = {{.line = line, .wanted = windows}, call, arg};
	struct window_work work = {
		.call = pass_on, .done = plain_done, .more = plain_more, .arg = &p, .calls = calls};
	enum status st = windows_run(line, &work, err);

	if (st == ST_OK && p.plain.seconds.n == 0)
		st = error_set(err, ST_RANGE, MSG_device_no_time, line->dev->device.info.id);
	if (st == ST_OK)
		*seconds = median(p.plain.seconds.value, p.plain.seconds.n);
	samples_release(&p.plain.seconds);
	return st;
}

enum status windows_fit(struct windows_line *line, window_call *call, void *arg, double window_s,
                        int *calls, struct error *err)
{
	double seconds = 0;
	enum status st = ST_OK;

	*calls = 1;
	/* The first trial wakes the card; of the next the better estimate is made. */
	for (int i = 0; i < 3 && st == ST_OK; i++) {
		double wanted, each;

		st = windows_plain(line, call, arg, *calls, 1, &seconds, err);
		if (st != ST_OK)
			break;
		each = seconds / *calls;
		wanted = fmin(ceil(window_s / each - 1e-6), MOST_CALLS);
		/* While it is not known well, not more than a few times the time. */
		if (i < 2)
			wanted = fmin(wanted, *calls * 16.0);
		if (each < WINDOW_SHORT_CALL_S)
			wanted = fmin(wanted, WINDOW_HELD);
		*calls = (int)fmax(1, wanted);
	}
	return st;
}

/* --- two clocks -------------------------------------------------------------------------- */

#define CLOCK_RATIO_OFF 0.02

void clock_pairs_add(struct clock_pairs *p, const struct window *w)
{
	size_t n = p->event_s.n;

	p->closed = p->closed || (n && w->event_s <= p->event_s.value[n - 1]);
	if (p->closed)
		return;
	p->blind_s[n > 0] = w->blind_s;
	samples_add(&p->event_s, w->event_s);
	samples_add(&p->host_s, w->host_s);
}

void clock_pairs_release(struct clock_pairs *p)
{
	samples_release(&p->event_s);
	samples_release(&p->host_s);
}

double clock_pairs_ratio(const struct clock_pairs *p)
{
	return theil_sen(p->event_s.value, p->host_s.value, p->event_s.n);
}

bool clock_pairs_off(const struct clock_pairs *p)
{
	size_t last = p->event_s.n - 1;
	double events, host, ratio = clock_pairs_ratio(p);

	if (!(fabs(ratio - 1) > CLOCK_RATIO_OFF))
		return false;
	events = p->event_s.value[last] - p->event_s.value[0];
	host = p->host_s.value[last] - p->host_s.value[0];
	return (host - p->blind_s[1]) / events > 1 + CLOCK_RATIO_OFF ||
	       (host + p->blind_s[0]) / events < 1 - CLOCK_RATIO_OFF;
}
