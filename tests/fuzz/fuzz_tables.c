/* The small tables people keep: tickets, causes of outages, starts and stops, changes of
 * nodes. Each reader gets every input; it refuses those of the others by their columns. */
#include "fuzz.h"

#include <math.h>

#include "cli/scale_log.h"
#include "service/tickets.h"
#include "service/usage.h"

static void tickets(const char *path)
{
	const struct ticket_options options = {.limit_min = TICKETS_LIMIT_MIN, .zone_min = 480};
	struct error err = {0};
	struct tickets t = {0};

	if (tickets_read(&t, path, &options, TICKET_NO_TIME, &err) == ST_OK) {
		int by_hours = 0;

		for (int h = 0; h < HOURS_KINDS; h++)
			by_hours += t.by_hours[h].n;
		fuzz_promise(t.in_time + t.late == t.judged, "neither in time nor late");
		fuzz_promise(t.judged + t.pending == t.count && by_hours == t.judged,
		             "tickets that are lost");
		fuzz_promise(!t.judged || (t.low95 <= t.share && t.share <= t.high95),
		             "a share outside its interval");
	}
	tickets_release(&t);
	error_release(&err);
}

static void causes(const char *path)
{
	struct arena arena = {0};
	struct causes c = {0};
	struct error err = {0};
	int64_t until = INT64_MAX;

	if (causes_load(&c, &arena, path, &err) == ST_OK) {
		for (int i = 0; i < c.count; i++)
			fuzz_promise(c.lines[i].from_ns < c.lines[i].to_ns, "an empty cause");
		causes_at(&c, "n1", 1793491200LL * 1000000000, &until);
	}
	error_release(&err);
	arena_release(&arena);
}

static void usage(const char *path)
{
	struct error err = {0};
	struct usage u = {0};

	if (usage_read(&u, path, &err) == ST_OK) {
		for (int i = 0; i < u.n_runs; i++)
			fuzz_promise(u.runs[i].start <= u.runs[i].end, "time that runs backwards");
		usage_release(&u);
	}
	error_release(&err);
}

static void scale_log(const char *path)
{
	struct arena arena = {0};
	struct scale_log log = {0};
	struct error err = {0};

	if (scale_log_read(&log, &arena, path, 1798761600LL * 1000000000, &err) == ST_OK)
		fuzz_promise(log.out.done <= log.out.asked && log.in.done <= log.in.asked,
		             "more done than asked for");
	scale_log_release(&log);
	error_release(&err);
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	tickets(fuzz_file(data, len));
	causes(fuzz_file(data, len));
	usage(fuzz_file(data, len));
	scale_log(fuzz_file(data, len));
	return 0;
}
